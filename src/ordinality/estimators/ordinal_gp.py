"""Gaussian processes for ordinal regression: the estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from .. import levels as _levels
from ..gp.criteria import CRITERIA, ENGINES, InducingObjective, Objective
from ..gp.laplace import excess
from ..gp.likelihoods import LogLinear, Ordinal
from ..gp.optimise import Fit
from ..gp.posterior.inducing import Basis, greedy_points
from ..gp.posterior.observations import Predictor
from ..gp.stream import Belief, Stream, extended, fold
from ..kernels.base import Kernel
from .base_gp import (
    MUCH,
    POINTS,
    SEARCHED,
    GaussianProcessClassifier,
    inducing_points,
    n_distinct,
    warn_unexplained,
)
from .fitting import (
    Scaling,
    atomic,
    canonical_order,
    check_choices,
    check_positive,
    check_weights,
    check_whole,
    rows_of,
)
from .threads import one_pool

__all__ = ["OrdinalGP"]

# Share of the prior variance that the points of a stream may leave at a row, so that it is not
# new: noise of a quarter of the spread of the latent function.
_NEW = 0.05
# Noise where learning starts: distribution functions as near to each other as they get, about.
_NOISE = {
    "logit": 0.58,
    "probit": 1.0,
    "cloglog": 0.86,
    "loglog": 0.86,
    "student": 0.84,
}


class OrdinalGP(GaussianProcessClassifier):
    """Gaussian process for ordered labels.

    A smooth latent function ``f`` with a Gaussian-process prior, plus noise, falls between two
    of K - 1 thresholds; the label tells which two. Kernel, thresholds and noise are learnt by
    maximising the marginal likelihood (evidence), so there is nothing to cross-validate.

    Parameters
    ----------
    kernel : kernel, str or None, default=None
        From `ordinality.kernels`, or a scikit-learn kernel; its values are where learning
        starts. None is `kernels.LinearGaussian` with a scale for each feature: a linear
        function plus a smooth one. "gaussian" is the papers' ``Gaussian(sqrt(d))``, one length
        scale for all features; "ard" has one for each.
    inducing : "auto", int, array-like of shape (M, d) or None, default="auto"
        Inducing points: rows are seen through the values of the latent function at M points,
        which costs n M^2 instead of n^3. A number chooses as many among the rows, an array
        gives them, None is exact. "auto" is exact up to 2000 rows and for kernels that have no
        rectangular gradients, and 500 points for more rows.
    learn_points : bool, default=False
        Whether inducing points move: from those chosen or given, they and the other parameters
        are learnt together. Worth it where points must be few; more points are cheaper
        otherwise. The evidence may then pass that of exact inference, and leave-one-out scores
        are too good: never compare them with those of another model. Restarts are compared
        before points move.
    inference : {"ep", "laplace", "variational"}, default="ep"
        Approximation of the posterior: expectation propagation (most accurate), Laplace
        (fastest), or the variational Gaussian (a lower bound).
    criterion : {"evidence", "bound", "loo"}, default="evidence"
        What learning maximises: the engine's evidence, the variational bound at its posterior
        (eq. 13 of the paper), or the leave-one-out log score.
    noise : float, default=None
        Scale of the noise where learning starts. None is 1 for normal noise, 0.58 for logistic,
        0.86 for Gumbel and 0.84 for Student noise, which then have about the same spread.
    thresholds : array-like of shape (K - 1,), default=None
        Thresholds where learning starts; None is the papers' -1, -1 + 2/K, ...
    link : {"logit", "probit", "cloglog", "loglog", "student"}, default="logit"
        Logistic or normal noise; Gumbel noise with a long lower tail (complementary log-log),
        or with a long upper one; or Student noise with four degrees of freedom, for labels of
        which some are far off (``inference="ep"`` and ``criterion="evidence"`` only).
    scale : {"log-linear", None}, default=None
        None is one noise for all rows. "log-linear" learns how its logarithm depends on each
        feature; whether that predicts better, cross-validation tells and the evidence does
        not. All rows must be in memory.
    hyperprior : "weak", None or mapping, default="weak"
        Prior of the learnt parameters. "weak" keeps small samples from overfitting; None is
        pure evidence; a mapping gives standard deviations (or (centre, sd) pairs) by kind of
        parameter, see `ordinality.gp.hyperpriors`.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first.
    optimizer : {"lbfgs", None}, default="lbfgs"
        None keeps kernel, noise and thresholds as given.
    n_restarts : int, default=0
        Further starts, drawn around the first; the best is kept.
    coarse_to_fine : bool, default=True
        Learn on growing subsets first when there are more than about 400 rows. Deterministic
        for a given ``random_state``.
    decision : {"mode", "median", "mean", "quadratic_kappa"} or array, default="mode"
        How `predict` chooses a level: the most probable (least zero-one error), the median
        (least absolute error), the rounded mean of the ranks (least squared error), or the one
        of least expected cost, where entry (i, j) is the cost of predicting level j when level
        i is true.
        "quadratic_kappa" stretches the rounded mean for the largest quadratic kappa, as the
        rows of `fit` tell.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which the weights of their rows are
        multiplied; "balanced" gives every level the same total weight.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    tol : float, default=1e-6
        Tolerance of the inference engine.
    max_iter : int, default=200
        Most iterations of the inference engine.
    max_evaluations : int, default=150
        Most evaluations of the criterion, per start and per subset.
    random_state : int, RandomState or None, default=None
        Chooses restarts and subsets; None is a fixed seed, so equal calls give equal models.
    n_jobs : int, default=None
        Restarts run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Learnt thresholds, increasing, on the scale of the latent function.
    noise_ : float
        Learnt noise; with ``scale="log-linear"`` that of a row of average features.
    scale_coef_ : ndarray of shape (d,) or None
        What one standard deviation of each feature adds to the logarithm of the noise.
    total_noise_ : float
        The noise and what inducing points leave of the prior variance, together: the deviation
        of a row from what the points say. Compare this, not ``noise_``, across points.
    kernel_ : kernel
        Learnt kernel, of the standardised features.
    log_evidence_ : float
        Log marginal likelihood (a lower bound for ``inference="variational"``). With inducing
        points it is no bound otherwise, and cannot be compared across points; with
        ``learn_points`` it may pass the exact one, and cannot be compared at all.
    inducing_points_ : ndarray of shape (M, d) or None
        The inducing points, in the units of X; None if inference was exact.
    unexplained_ : float
        Share of the prior variance of the rows that the inducing points do not explain, 0 if
        inference was exact. A warning says where it is large.
    relevance_ : ndarray of shape (d,)
        Weight of each feature in the kernel, per standard deviation of the feature: larger
        matters more. NaN where the kernel does not look at features one by one.
    length_scale_ : ndarray of shape (d,)
        The same as a distance in the units of each feature.
    loo_proba_ : ndarray of shape (n, K)
        Probabilities of the levels (in order) of every training row, given all the others. Not
        there after a fit to Dask collections of more than 4000 rows.
    converged_ : bool
        Whether the engine and the search met their tolerances.
    n_iter_ : int
        Evaluations of the criterion on all rows.

    References
    ----------
    Chu & Ghahramani (2005), "Gaussian processes for ordinal regression", JMLR 6.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalGP
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.array(["low", "mid", "high"])[np.digitize(np.sin(X[:, 0]), [-0.4, 0.4])]
    >>> model = OrdinalGP(levels=["low", "mid", "high"]).fit(X, y)
    >>> model.predict([[1.5], [3.1], [4.7]])
    array(['high', 'mid', 'low'], dtype='<U4')
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        inducing: Any = "auto",
        learn_points: bool = False,
        inference: str = "ep",
        criterion: str = "evidence",
        noise: float | None = None,
        thresholds: Any = None,
        link: str = "logit",
        scale: str | None = None,
        hyperprior: Any = "weak",
        standardize: bool = True,
        optimizer: str | None = "lbfgs",
        n_restarts: int = 0,
        coarse_to_fine: bool = True,
        decision: Any = "mode",
        class_weight: Any = None,
        levels: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_evaluations: int = 150,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.inducing = inducing
        self.learn_points = learn_points
        self.inference = inference
        self.criterion = criterion
        self.noise = noise
        self.thresholds = thresholds
        self.link = link
        self.scale = scale
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.coarse_to_fine = coarse_to_fine
        self.decision = decision
        self.class_weight = class_weight
        self.levels = levels
        self.tol = tol
        self.max_iter = max_iter
        self.max_evaluations = max_evaluations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @available_if(lambda self: self._streams())
    @atomic
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from further rows, without the earlier ones.

        The first 4000 rows are kept: kernel, thresholds and noise are learnt again whenever
        their number has doubled. Later blocks are folded into the inducing values, with points
        added where rows are new, in a time that does not depend on how many rows came before.
        A model that was fitted goes on from there. ``loo_proba_`` is not computed;
        ``log_evidence_`` then adds up the log probabilities of labels before they were seen.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Numbers, the same columns in every call.
        y : array-like of shape (n,)
            Labels, as for `fit`.
        classes : array-like of shape (K,), default=None
            In the first call, all labels that will come; those of `levels` or of the first
            block by default.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows, as for `fit`.

        Returns
        -------
        self : object
            The estimator.
        """
        self._check_parameters()
        first = not hasattr(self, "fit_")
        X, checked = validate_data(self, X, y, dtype=np.float64, y_numeric=False, reset=first)
        weights = check_weights(sample_weight, len(X))
        kept = np.flatnonzero(weights > 0)
        labels = rows_of(y, checked, kept)
        if first:
            self._order = _levels.order_of(
                labels if classes is None else classes, levels=self.levels
            )
            self.levels_, self.classes_ = self._order.levels, self._order.classes
        ranks = self._order.encode(labels)
        weights = weights[kept] * self._stream_factors()[ranks]
        stream = self._streamed(X).plus(X[kept], ranks, weights, SEARCHED)
        if len(stream.y):
            self._learn_stream(stream)
        else:
            self._fold(X[kept], ranks, weights, stream.n_seen)
            self._stream = stream
        self._kept = np.zeros(0, dtype=np.int64)
        self.__dict__.pop("loo_proba_", None)
        return self

    def _fit_blocks(self, blocks: Iterator[Any], y: Any, sample_weight: Any) -> Self:
        if y is not None or sample_weight is not None:
            raise ValueError(
                "X is an iterator of blocks, so y and sample_weight must be None; let it give "
                "(X, y) or (X, y, sample_weight)."
            )
        for name in ("fit_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        count = 0
        for count, block in enumerate(blocks, start=1):
            if not isinstance(block, tuple) or len(block) not in (2, 3):
                raise ValueError(
                    f"block {count} is {type(block).__name__}; wanted (X, y) or "
                    "(X, y, sample_weight)."
                )
            X, labels, *weights = block
            try:
                self.partial_fit(X, labels, sample_weight=weights[0] if weights else None)
            except ValueError as wrong:
                raise ValueError(f"block {count}: {wrong}") from wrong
        if not count:
            raise ValueError("X is an iterator without any block; nothing can be learnt.")
        return self

    def _streams(self) -> bool:
        """Whether rows may come in blocks; where not, `partial_fit` does not exist."""
        if self.learn_points:
            raise ValueError(
                "partial_fit chooses its points among the rows as they come; set "
                "learn_points=False, or fit all rows at once."
            )
        if self.scale is not None:
            raise ValueError(
                f"partial_fit has one noise for all rows; set scale=None, not {self.scale!r}, "
                "or fit all rows at once."
            )
        if self.inducing is None or self.criterion != "evidence":
            raise ValueError(
                "partial_fit needs inducing points and the evidence; set inducing to 'auto' or "
                "a number of points, and criterion='evidence'."
            )
        return True

    def _stream_factors(self) -> np.ndarray:
        """Weights of levels that need no count of them."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once; use a dict "
                "{label: weight} with partial_fit."
            )
        return self._class_factors(np.zeros(0, dtype=np.int64), np.zeros(0))

    def _streamed(self, X: np.ndarray) -> Stream:
        """What has come before this block."""
        if hasattr(self, "_stream"):
            return self._stream
        if not hasattr(self, "fit_"):
            return Stream(0, 0, X[:0], np.zeros(0, dtype=np.int64), np.zeros(0))
        problem = self.fit_.problem
        n, rows = self.fit_.path[-1][0], self._scaling.undone(problem.X)
        return Stream(n, n, rows, problem.y, problem.weights)

    def _learn_stream(self, stream: Stream) -> None:
        """Learn from all rows so far: theta too, if there are twice as many as then."""
        learn = stream.n_seen >= 2 * stream.n_learnt
        order = canonical_order(stream.X, stream.y, stream.weights)
        X, ranks, weights = stream.X[order], stream.y[order], stream.weights[order]
        d = X.shape[1]
        if learn:
            self._scaling = Scaling.of(X, weights) if self.standardize else Scaling.none(d)
            kernel = self._start_kernel(d)
        else:
            kernel = self.kernel_
        Z = self._scaling(X)
        given = POINTS if isinstance(self.inducing, str) else self.inducing
        if np.ndim(given) == 0:
            given = min(given, n_distinct(Z))
        points = inducing_points(given, Z, kernel, self._scaling) or {}
        objective = InducingObjective(**vars(self._exact(Z, ranks, weights, kernel)), **points)
        if not learn:
            objective = replace(objective, likelihood=self.fit_.likelihood)
        fit = self._learn_inducing(objective, self.coarse_to_fine, held=not learn)
        self._keep(fit)
        n_learnt = stream.n_seen if learn else stream.n_learnt
        self._stream = replace(stream, n_learnt=n_learnt)
        self._warn_unless_converged()

    def _fold(self, X: np.ndarray, ranks: np.ndarray, weights: np.ndarray, n: int) -> None:
        """Fold a block into the inducing values, the ``n``-th row being its last."""
        Z, fit = self._scaling(X), self.fit_
        problem, kernel = fit.problem, self.kernel_
        if not isinstance(problem, InducingObjective):  # exact until now
            problem = InducingObjective(**vars(problem), count=POINTS)
            fit = self._learn_inducing(
                replace(problem, kernel=kernel, likelihood=fit.likelihood), False, held=True
            )
            problem = fit.problem
        with one_pool(len(Z) if len(Z) > SEARCHED else 0):  # few rows: one thread
            belief = Belief.of(Basis.of(kernel, problem.Z), self.predictor_)
            if not problem.fixed:
                belief = self._with_points(belief, Z, weights, problem.count)
            belief, sums = fold(belief, fit.likelihood, Z, ranks, weights, self.inference)
        share = float(weights.sum() / max(n, 1))  # of the block, about
        a = fit.best.approximation
        unexplained = (1.0 - share) * a.unexplained + share * sums.unexplained / sums.variance
        done = replace(
            a, log_evidence=a.log_evidence + sums.value, unexplained=unexplained,
            cavity_mean=None, cavity_var=None,
        )  # fmt: skip
        problem = replace(problem.without_rows(), Z=belief.basis.Z)
        self.predictor_ = belief.predictor()
        best = replace(fit.best, approximation=done)
        self._keep(replace(fit, problem=problem, best=best, path=(*fit.path[:-1], (n, 1))))

    def _with_points(
        self, belief: Belief, Z: np.ndarray, weights: np.ndarray, count: int
    ) -> Belief:
        """The belief with points where rows are new to it."""
        _, left = greedy_points(self.kernel_, Z, 0, given=belief.basis)
        share = float(weights @ left / (weights @ self.kernel_.diag(Z)))
        if len(belief.basis) < count or share > max(_NEW, 2.0 * self.unexplained_):
            return extended(belief, Z, count, _NEW)
        return belief

    def log_evidence(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> float | tuple[float, np.ndarray]:
        """Log marginal likelihood of the training data at other parameters.

        Parameters
        ----------
        theta : array-like of shape (p,), default=None
            ``[kernel_.theta, log noise, thresholds[0], log diff(thresholds)]``, then
            ``scale_coef_`` if there is one; None is the fit.
        eval_gradient : bool, default=False
            Whether the gradient in theta is wanted too.

        Returns
        -------
        value : float
            Log evidence, without the hyperprior.
        gradient : ndarray of the shape of theta
            Only if ``eval_gradient``.
        """
        return self._criterion_at(theta, eval_gradient, criterion="evidence")

    def _check_parameters(self) -> None:
        check_choices(
            self,
            inference=tuple(ENGINES),
            criterion=CRITERIA,
            link=tuple(_NOISE),
            scale=("log-linear", None),
            optimizer=("lbfgs", None),
            standardize=(True, False),
            coarse_to_fine=(True, False),
            learn_points=(True, False),
        )
        if self.link == "student" and (self.inference, self.criterion) != ("ep", "evidence"):
            raise ValueError(
                f"link='student' is not log-concave, and inference={self.inference!r} with "
                f"criterion={self.criterion!r} needs a noise that is; use inference='ep' with "
                "criterion='evidence', or link='logit'."
            )
        check_positive(self, "tol", *(() if self.noise is None else ("noise",)))
        check_whole(self, n_restarts=0, max_iter=1, max_evaluations=1)
        self._check_decision()
        exact = self.inducing is None or self.criterion != "evidence"
        if self.learn_points and (exact or self.optimizer is None):
            raise ValueError(
                "learn_points=True needs inducing points, the evidence and a search; set "
                "inducing to 'auto', a number or an array of points, criterion='evidence' and "
                "optimizer='lbfgs'."
            )

    @property
    def total_noise_(self) -> float:
        prior = float(np.mean(self.kernel_.diag(self.fit_.problem.support)))
        return float(np.sqrt(self.noise_**2 + self.unexplained_ * prior))

    def _exact(
        self, Z: np.ndarray, ranks: np.ndarray, weights: np.ndarray, kernel: Kernel
    ) -> Objective:
        """The objective without inducing points."""
        K = len(self.levels_)
        start = (
            -1.0 + 2.0 / K * np.arange(K - 1) if self.thresholds is None else self.thresholds
        )
        noise = _NOISE[self.link] if self.noise is None else float(self.noise)
        likelihood: Any = Ordinal(_levels.check_thresholds(start, K), noise, self.link)
        if self.scale is not None:
            if kernel.inputs != "features":
                raise ValueError(
                    "scale='log-linear' needs rows of complete features, but the kernel takes "
                    f"{kernel.inputs}; use a kernel over features, or scale=None."
                )
            likelihood = LogLinear(likelihood, np.zeros(Z.shape[1]), Z)
        objective = Objective(
            Z, ranks, weights, kernel, likelihood, self.inference, self.criterion,
            None, self.tol, self.max_iter,
        )  # fmt: skip
        return replace(objective, prior=self._prior(objective))

    def _objective(
        self, Z: np.ndarray, ranks: np.ndarray, weights: np.ndarray, kernel: Kernel
    ) -> Objective:
        objective, given = self._exact(Z, ranks, weights, kernel), self.inducing
        if self.criterion != "evidence":
            if given is not None and not (isinstance(given, str) and given == "auto"):
                raise ValueError(
                    f"criterion={self.criterion!r} needs exact inference, but inducing points "
                    "are given; use criterion='evidence' or inducing=None."
                )
            given = None
        points = inducing_points(given, Z, kernel, self._scaling)
        return objective if points is None else InducingObjective(**vars(objective), **points)

    def _fit_partitions(self, X: Any, y: Any, sample_weight: Any) -> Self:
        if self.scale is not None:
            return super()._fit_partitions(X, y, sample_weight)
        from .partitioned import fit_partitions

        fit_partitions(self, X, y, sample_weight)
        return self

    def _takes_blocks(self) -> bool:
        exact = self.inducing is None or self.criterion != "evidence"
        return not exact and self.scale is None and self._inputs() == "features"

    def _fit_mapped(self, X: np.memmap, y: Any, sample_weight: Any) -> Self:
        from .partitioned import fit_mapped

        fit_mapped(self, X, y, sample_weight)
        return self

    def _keep(self, fit: Fit[Objective]) -> tuple[np.ndarray, np.ndarray]:
        self._keep_latent(fit)
        a = fit.best.approximation
        scaled = isinstance(fit.likelihood, LogLinear)
        self.noise_ = fit.likelihood.base.noise if scaled else fit.likelihood.noise
        self.scale_coef_ = fit.likelihood.zeta if scaled else None
        self.log_evidence_ = a.log_evidence
        self.converged_ = bool(fit.converged and a.converged)
        if isinstance(fit.problem, InducingObjective):  # `_learn` has kept its predictor
            self.unexplained_ = a.unexplained
            self.inducing_points_: Any = self._scaling.undone(fit.problem.support)
        else:
            self.predictor_ = Predictor.from_sites(self.kernel_(fit.problem.X), a.tau, a.nu)
            self.unexplained_ = 0.0
            self.inducing_points_ = None
        return a.cavity_mean, a.cavity_var

    def _likelihood_of(self, X: Any) -> Any:
        likelihood = self.fit_.likelihood
        if not isinstance(likelihood, LogLinear):
            return likelihood
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return replace(likelihood, X=self._scaling(X))

    def _warn_unless_converged(self) -> None:
        fit, a = self.fit_, self.fit_.best.approximation
        if not a.converged:
            self._warn_of_engine(self.inference, self.tol)
        elif not fit.converged:
            self._warn_of_search(f"the {self.criterion}")
        if self.unexplained_ > MUCH:
            warn_unexplained(self.unexplained_, len(fit.problem.support), stacklevel=5)
        if not fit.best.credible and isinstance(fit.problem, InducingObjective):
            warnings.warn(
                "Laplace's evidence is not credible with this little noise; use "
                "inference='ep', or start with more noise.",
                UserWarning,
                stacklevel=4,
            )
        elif not fit.best.credible:
            wrong = excess(fit.likelihood, fit.problem.y, fit.problem.weights, a)
            warnings.warn(
                f"Laplace's evidence, {a.log_evidence:.1f}, is not credible: integrating each "
                f"label's probability instead gives {a.log_evidence - wrong:.1f}. The noise, "
                f"{self.noise_:.2g}, is too small for a Gaussian at the mode. Use "
                "inference='ep', or start with more noise.",
                UserWarning,
                stacklevel=4,
            )
