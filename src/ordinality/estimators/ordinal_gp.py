"""Gaussian processes for ordinal regression: the estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import levels as _levels
from ..gp.evidence import CRITERIA, ENGINES, Fit, Problem, maximise, scattered
from ..gp.hyperpriors import hyperprior
from ..gp.kernels import Gaussian, Kernel
from ..gp.likelihoods import Ordinal
from ..gp.posterior import Predictor
from ._ordinal import OrdinalClassifier
from ._threads import one_pool, thread_map
from ._translate import translate
from ._validation import check_choices, check_positive, check_weights, check_whole, rows_of

__all__ = ["OrdinalGP"]

_BATCH = 2000  # rows predicted at once: bounds the memory for their covariances


class OrdinalGP(OrdinalClassifier):
    """Gaussian process for ordered labels.

    A smooth latent function ``f`` with a Gaussian-process prior, plus noise, falls between two
    of K - 1 thresholds; the label tells which two. Kernel, thresholds and noise are learnt by
    maximising the marginal likelihood (evidence), so there is nothing to cross-validate.

    Parameters
    ----------
    kernel : kernel, str or None, default=None
        From `ordinality.kernels`, or a scikit-learn kernel; its values are where learning
        starts. None is ``Gaussian(sqrt(d))``, the papers' kappa = 1/d. A vector of length
        scales, ``Gaussian(np.full(d, np.sqrt(d)))``, learns the relevance of each feature.
    inference : {"ep", "laplace", "variational"}, default="ep"
        Approximation of the posterior: expectation propagation (most accurate), Laplace
        (fastest), or the variational Gaussian (a lower bound).
    criterion : {"evidence", "bound", "loo"}, default="evidence"
        What learning maximises: the engine's evidence, the variational bound at its posterior
        (eq. 13 of the paper), or the leave-one-out log score.
    noise : float, default=1.0
        Scale of the noise where learning starts.
    thresholds : array-like of shape (K - 1,), default=None
        Thresholds where learning starts; None is the papers' -1, -1 + 2/K, ...
    link : {"probit", "logit"}, default="probit"
        Normal or logistic noise.
    hyperprior : "weak", None or mapping, default="weak"
        Prior of the learnt parameters. "weak" keeps small samples from overfitting; None is
        pure evidence; a mapping gives standard deviations (or (centre, sd) pairs) by kind of
        parameter, see `ordinality.gp.hyperpriors`.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first.
    optimizer : {"lbfgs", None}, default="lbfgs"
        None keeps kernel, noise and thresholds as given.
    restarts : int, default=0
        Further starts, drawn around the first; the best is kept.
    coarse_to_fine : bool, default=True
        Learn on growing subsets first when there are more than about 400 rows. Deterministic
        for a given ``random_state``.
    decision : {"mode", "median"}, default="mode"
        Prediction: the most probable level (least zero-one error) or the median one (least
        absolute error).
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

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Learnt thresholds, increasing, on the scale of the latent function.
    noise_ : float
        Learnt noise.
    kernel_ : kernel
        Learnt kernel, of the standardised features.
    log_evidence_ : float
        Log marginal likelihood (a lower bound for ``inference="variational"``).
    relevance_ : ndarray of shape (d,)
        Weight of each feature in the kernel, per standard deviation of the feature: larger
        matters more. NaN where the kernel does not look at features one by one.
    length_scale_ : ndarray of shape (d,)
        The same as a distance in the units of each feature.
    loo_proba_ : ndarray of shape (n, K)
        Probabilities of the levels (in order) of every training row, given all the others.
    converged_ : bool
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
        inference: str = "ep",
        criterion: str = "evidence",
        noise: float = 1.0,
        thresholds: Any = None,
        link: str = "probit",
        hyperprior: Any = "weak",
        standardize: bool = True,
        optimizer: str | None = "lbfgs",
        restarts: int = 0,
        coarse_to_fine: bool = True,
        decision: str = "mode",
        levels: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_evaluations: int = 150,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.inference = inference
        self.criterion = criterion
        self.noise = noise
        self.thresholds = thresholds
        self.link = link
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.optimizer = optimizer
        self.restarts = restarts
        self.coarse_to_fine = coarse_to_fine
        self.decision = decision
        self.levels = levels
        self.tol = tol
        self.max_iter = max_iter
        self.max_evaluations = max_evaluations
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OrdinalGP:
        """Learn kernel, thresholds and noise.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Numbers; NaN only with a kernel that takes missing entries.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum.
        sample_weight : array-like of shape (n,), default=None
            Weights of the log-likelihood terms: 2 counts as two copies of a row, 0 as none.

        Returns
        -------
        self : OrdinalGP
        """
        self._check_parameters()
        inputs = self._inputs()
        X, checked = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite=_finite(inputs), y_numeric=False
        )
        weights = check_weights(sample_weight, len(X))
        kept = np.flatnonzero(weights > 0)
        ranks = self._learn_levels(rows_of(y, checked, kept))
        kernel = (
            Gaussian(np.sqrt(X.shape[1])) if self.kernel is None else translate(self.kernel)
        )
        if inputs == "gram":
            kernel = kernel.prepared(X)  # refuses what is not square before rows are dropped
        Z = self._learn_scaling(X, weights, inputs)
        Z = Z[np.ix_(kept, kept)] if inputs == "gram" else Z[kept]
        kernel.check(Z.shape[1])
        fit = self._learn(self._problem(Z, ranks, weights[kept], kernel))
        with one_pool(len(Z)):
            self._settle(fit)
            self.loo_proba_ = self._leave_one_out(X, kept)
        self._warn_unless_settled()
        return self

    def log_evidence(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> float | tuple[float, np.ndarray]:
        """Log marginal likelihood of the training data at other parameters.

        Parameters
        ----------
        theta : array-like, default=None
            ``[kernel_.theta, log noise, thresholds[0], log diff(thresholds)]``; None is the
            fit.
        eval_gradient : bool, default=False
            Whether the gradient in theta is wanted too.

        Returns
        -------
        value : float
        gradient : ndarray, only if ``eval_gradient``
        """
        check_is_fitted(self)
        fit = self.fit_
        theta = fit.best.theta if theta is None else np.asarray(theta, dtype=np.float64)
        if theta.shape != fit.best.theta.shape:
            raise ValueError(
                f"theta has shape {theta.shape}, wanted {fit.best.theta.shape}: kernel "
                "parameters, log noise, first threshold, log gaps."
            )
        with one_pool(len(fit.problem.y)):
            found = replace(fit.problem, criterion="evidence", prior=None).evaluate(theta)
        return (found.value, found.gradient) if eval_gradient else found.value

    def predict_latent(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the latent function at each row of X.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        mean, variance : ndarray of shape (n,)
            On the scale of ``thresholds_``; the variance does not include the noise.
        """
        check_is_fitted(self)
        kernel = self.kernel_
        X = validate_data(
            self, X, dtype=np.float64, ensure_all_finite=_finite(kernel.inputs), reset=False
        )
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for batch in gen_batches(len(X), _BATCH):
            Z = self._scaled(X[batch], kernel.inputs)
            cross = kernel(Z, self.fit_.problem.X)
            mean[batch], variance[batch] = self.predictor_.latent(cross, kernel.diag(Z))
        return mean, variance

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores as scikit-learn expects them; see `predict_latent` for the latent function.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,) or (n, K)
            Two levels: log odds of ``classes_[1]``. More: log probabilities in the order of
            ``classes_``.
        """
        check_is_fitted(self)
        scores = self.fit_.likelihood.log_proba(*self.predict_latent(X))
        scores = scores[:, self._order.columns]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = self._inputs()
        tags.input_tags.pairwise = inputs == "gram"
        tags.input_tags.allow_nan = inputs == "ratings"
        return tags

    def _inputs(self) -> str:
        """What the kernel takes; a wrong kernel is for `fit` to refuse."""
        try:
            return "features" if self.kernel is None else translate(self.kernel).inputs
        except (TypeError, ValueError):
            return "features"

    def _level_proba(self, X: Any) -> np.ndarray:
        return self.fit_.likelihood.proba(*self.predict_latent(X))

    def _check_parameters(self) -> None:
        check_choices(
            self,
            inference=tuple(ENGINES),
            criterion=CRITERIA,
            link=("probit", "logit"),
            optimizer=("lbfgs", None),
            decision=("mode", "median"),
            standardize=(True, False),
            coarse_to_fine=(True, False),
        )
        check_positive(self, "noise", "tol")
        check_whole(self, restarts=0, max_iter=1, max_evaluations=1)

    def _learn_scaling(self, X: np.ndarray, weights: np.ndarray, inputs: str) -> np.ndarray:
        """Shift and scale of the features; all zeros and ones if they stay as they are."""
        d = X.shape[1]
        self._centre, self._spread = np.zeros(d), np.ones(d)
        if self.standardize and inputs == "features":
            self._centre = np.average(X, axis=0, weights=weights)
            reach = np.max(np.abs(X - self._centre), axis=0)
            unit = np.where(reach > 0, reach, 1.0)  # squares of 1e200 overflow
            squares = ((X - self._centre) / unit) ** 2
            spread = unit * np.sqrt(np.average(squares, axis=0, weights=weights))
            # Below this a column is constant up to the rounding of its mean.
            floor = 10 * np.finfo(float).eps * np.abs(self._centre) * np.sqrt(len(X))
            self._spread = np.where(spread > floor, spread, 1.0)
        return (X - self._centre) / self._spread

    def _scaled(self, X: np.ndarray, inputs: str) -> np.ndarray:
        if inputs == "gram":
            return X[:, self._kept]
        return (X - self._centre) / self._spread

    def _problem(
        self, Z: np.ndarray, ranks: np.ndarray, weights: np.ndarray, kernel: Kernel
    ) -> Problem:
        K = len(self.levels_)
        start = (
            -1.0 + 2.0 / K * np.arange(K - 1) if self.thresholds is None else self.thresholds
        )
        likelihood = Ordinal(_levels.check_thresholds(start, K), float(self.noise), self.link)
        kernel = kernel.prepared(Z)
        return Problem(
            Z, ranks, weights, kernel, likelihood, self.inference, self.criterion,
            hyperprior(self.hyperprior, kernel, likelihood), self.tol, self.max_iter,
        )  # fmt: skip

    def _learn(self, problem: Problem) -> Fit:
        if self.optimizer is None:
            with one_pool(len(problem.y)):
                found = problem.evaluate(problem.theta)
            return Fit(problem, found, 1, ((len(problem.y), 1),), True)
        seed = 0 if self.random_state is None else self.random_state
        rng = np.random.default_rng(check_random_state(seed).randint(2**31))
        return maximise(
            problem,
            starts=scattered(problem, self.restarts, rng),
            coarse_to_fine=self.coarse_to_fine,
            max_evaluations=self.max_evaluations,
            mapper=thread_map(self.n_jobs) if self.restarts else map,
            hold=one_pool,
            rng=rng,
        )

    def _settle(self, fit: Fit) -> None:
        self.fit_, a = fit, fit.best.approximation
        self.kernel_, likelihood = fit.kernel, fit.likelihood
        self.thresholds_, self.noise_ = likelihood.thresholds, likelihood.noise
        self.predictor_ = Predictor.from_sites(self.kernel_(fit.problem.X), a.tau, a.nu)
        self.log_evidence_ = a.log_evidence
        self.relevance_ = self.kernel_.feature_relevance(self.n_features_in_)
        with np.errstate(divide="ignore"):  # nothing of a feature: an infinite length
            self.length_scale_ = self._spread / np.sqrt(self.relevance_)
        self.converged_ = bool(fit.converged and a.converged)
        self.n_iter_ = fit.n_evaluations

    def _leave_one_out(self, X: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Probabilities of every row without itself; rows of weight zero were never in."""
        self._kept = kept
        a = self.fit_.best.approximation
        proba = np.empty((len(X), len(self.levels_)))
        proba[kept] = self.fit_.likelihood.proba(a.cavity_mean, a.cavity_var)
        out = np.setdiff1d(np.arange(len(X)), kept)
        if len(out):
            proba[out] = self._level_proba(X[out])
        return proba

    def _warn_unless_settled(self) -> None:
        fit, a = self.fit_, self.fit_.best.approximation
        if not a.converged:
            warnings.warn(
                f"{self.inference} stopped after {a.n_iter} iterations with sites still off by "
                f"{a.residual:.1e} (tol={self.tol:.0e}); the model is usable but its evidence "
                "is approximate. Raise max_iter or tol, or try inference='laplace'.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not fit.converged:
            warnings.warn(
                f"learning stopped after {fit.n_evaluations} evaluations while the "
                f"{self.criterion} was still rising; the best model found is kept. Raise "
                "max_evaluations, or start from a better kernel.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _finite(inputs: str) -> bool | str:
    return "allow-nan" if inputs == "ratings" else True
