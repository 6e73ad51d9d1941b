"""Gaussian processes for label ranking: a utility for each label, a function of the input.

Rankings, classes, levels and lists of pairs are all graphs of preferences between labels; each
edge is an ordinal observation of a difference of two utilities at one input.

Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML, section 3.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ..gp.criteria import ENGINES, InducingLabelObjective, LabelObjective
from ..gp.design import Labels
from ..gp.likelihoods import Symmetric
from ..gp.optimise import Fit
from ..gp.posterior.choose import labels_effort
from ..gp.predict import InducingLabelPredictor, LabelPredictor, choice_probabilities
from ..gp.stream import Belief, Settled, settle_seen
from ..kernels.foreign import translate
from .base_gp import (
    POINTS,
    SEARCHED,
    Learner,
    inducing_points,
    n_distinct,
    sample_size,
)
from .fitting import (
    Scaling,
    atomic,
    canonical_order,
    check_choices,
    check_positive,
    check_weights,
    check_whole,
)
from .label_graphs import GRAPHS, Edges, LabelRanker, edges_to_learn, labels_of
from .threads import one_pool

__all__ = ["LabelRankingGP"]


_BATCH = 500  # rows predicted at once: bounds the memory for their covariances


_LARGE = 400  # rows of a factor from which learning goes coarse to fine

# Rows of the matrix up to which "auto" is exact, and inducing values of all contrasts together,
# the rows of the matrix beyond: for rankings of five labels and more, one goes over into the
# other.
_VALUES = 2000

# Theta is learnt on as many inputs as cost what 10,000 preferences cost with 500 points, about
# a second an evaluation; but on a thousand at least.
_SEARCHED_WORK, _FEWEST = 10_000 * 500**2, 1000


class LabelRankingGP(LabelRanker, Learner, BaseEstimator):
    """Gaussian process that ranks labels for each input.

    Every label has a utility of its own, a smooth function of the input; all share one kernel.
    A statement that one label is preferred to another at an input is an ordinal observation of
    the difference of their utilities there. Rankings, classes, levels of a scale, hierarchies
    and lists of pairs are all read as such statements. Kernel and noise are learnt by
    maximising the evidence.

    Parameters
    ----------
    kernel : kernel, str or None, default=None
        From `ordinality.kernels`, or a scikit-learn kernel; its values are where learning
        starts. None is `kernels.LinearGaussian` with a scale for each feature: a linear
        function plus a smooth one. "gaussian" is the paper's ``Gaussian(sqrt(d))``;
        "precomputed" takes kernel matrices as X.
    inducing : "auto", int, array-like of shape (M, d) or None, default="auto"
        Inducing points: rows are seen through the utilities at M points, which costs M^2 for
        each preference, instead of the cube of the rows. A number chooses as many among the
        rows, an array gives them, None is exact. "auto" is exact while n (L - 1), or the number
        of preferences if that is smaller, is at most 2000 (classes: for more, about 500 rows of
        ten), and for kernels that have no rectangular gradients; beyond it takes 500 points,
        and fewer from six labels on: 2000 / (L - 1).
    graph : {"ranking", "layers", "multiclass", "ordinal", "edges"}, default="ranking"
        What Y says, and which pairs of labels it compares:

        "ranking"
            ranks (n, L), every two labels of different rank; or a class label for each row,
            read as by "multiclass".
        "layers"
            ranks (n, L), labels of one rank with those of the next only: a hierarchy, or of a
            ranking without ties its L - 1 consecutive pairs.
        "multiclass"
            a class label for each row, preferred to every other.
        "ordinal"
            a level of a scale for each row, preferred to its neighbours, each of which is
            preferred to the next one outwards.
        "edges"
            a list of pairs (better, worse) for each row.
    ties : bool, default=False
        Whether equal ranks say that two labels are equally good, how close being learnt. If
        not, equal ranks say nothing about two labels.
    labels : array-like of shape (L,), default=None
        The labels, in order for "ordinal". None: numbers of columns for ranks, else the
        labels that occur, in the order they carry or sorted.
    inference : {"laplace", "ep", "variational"}, default="laplace"
        Approximation of the posterior: Laplace (the paper's, fastest), expectation propagation
        (most accurate), or the variational Gaussian (a lower bound).
    noise : float, default=1.0
        Noise of one utility, where learning starts; the kernel's variance is one by default.
    link : {"probit", "logit"}, default="probit"
        Normal or logistic noise.
    hyperprior : "weak", None or mapping, default="weak"
        Prior of the learnt parameters; see `ordinality.gp.hyperpriors`.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first.
    optimizer : {"lbfgs", None}, default="lbfgs"
        None keeps kernel, noise and tie width as given.
    n_restarts : int, default=0
        Further starts, drawn around the first; the best is kept.
    tol : float, default=1e-6
        Tolerance of the inference engine.
    max_iter : int, default=200
        Most iterations of the inference engine.
    max_evaluations : int, default=150
        Most evaluations of the evidence, per start.
    random_state : int, RandomState or None, default=None
        Chooses restarts; None is a fixed seed, so equal calls give equal models.
    n_jobs : int, default=None
        Restarts run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
        The labels: columns of all that is predicted.
    kernel_ : kernel
        Learnt kernel, of the standardised features.
    noise_ : float
        Learnt noise of one utility.
    tie_width_ : float
        How far apart two utilities with noise may be and still tie; 0 without ties.
    relevance_ : ndarray of shape (d,)
        How much each standardised feature matters: 1 / length_scale**2.
    log_evidence_ : float
        Log marginal likelihood (a lower bound for ``inference="variational"``). With inducing
        points it is no bound otherwise, and cannot be compared across points.
    inducing_points_ : ndarray of shape (M, d) or None
        The inducing points, in the units of X; None if inference was exact.
    unexplained_ : float
        Share of the prior variance of what preferences see that the inducing points do not
        explain, 0 if inference was exact. A warning says where it is large.
    converged_ : bool
        Whether both the inference engine and the search for parameters converged.
    n_iter_ : int
        Evaluations of the evidence.

    References
    ----------
    Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import LabelRankingGP
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> Y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, np.nan, 1]]  # 1 is the best
    >>> model = LabelRankingGP().fit(X, Y)
    >>> model.predict([[-1.5], [1.5]])
    array([[1, 2, 3],
           [3, 2, 1]])
    >>> model.predict_top([[-1.5], [1.5]])
    array([0, 2])
    >>> model.predict_top_proba([[-1.5], [1.5]]).argmax(axis=1)
    array([0, 2])
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        inducing: Any = "auto",
        graph: str = "ranking",
        ties: bool = False,
        labels: Any = None,
        inference: str = "laplace",
        noise: float = 1.0,
        link: str = "probit",
        hyperprior: Any = "weak",
        standardize: bool = True,
        optimizer: str | None = "lbfgs",
        n_restarts: int = 0,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_evaluations: int = 150,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.inducing = inducing
        self.graph = graph
        self.ties = ties
        self.labels = labels
        self.inference = inference
        self.noise = noise
        self.link = link
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.tol = tol
        self.max_iter = max_iter
        self.max_evaluations = max_evaluations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, Y: Any, *, sample_weight: Any = None) -> Self:
        """Learn the utilities of the labels.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Or the (n, n) kernel matrix if that is precomputed.
        Y : array-like of shape (n, L) or (n,), or list of n lists of pairs
            What ``graph`` says: ranks of the labels, 1 for the best, NaN for a label that was
            not ranked; or a label for each row; or pairs (better, worse) of labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows: 2 counts as two copies of a row, 0 as none.

        Returns
        -------
        self : LabelRankingGP
            The fitted model.
        """
        self._check_parameters()
        X = self._validated(X, reset=True)
        weights = check_weights(sample_weight, len(X))
        self.classes_ = labels_of(Y, self.graph, self.labels)
        edges = edges_to_learn(Y, self.graph, self.classes_, weights, self.ties)
        objective = self._objective(X, edges, weights)
        if isinstance(objective, InducingLabelObjective):
            self._keep(self._learn_inducing(objective, coarse_to_fine=True))
        else:
            # Rows of the matrix to factorise: observations, or contrasts of labels.
            side = min(len(objective.y), len(objective.X) * (len(self.classes_) - 1))
            coarse_to_fine = side > _LARGE and objective.kernel.inputs != "gram"
            self._keep(self._learn(objective, coarse_to_fine))
        self._warn_unless_converged()
        self._warn_of_points()
        return self

    def scores(self, X: Any) -> np.ndarray:
        """Posterior mean of each label's utility, the larger the better.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Kernel values with the training rows, (q, n), if the kernel is precomputed.

        Returns
        -------
        scores : ndarray of shape (q, L)
            Columns in the order of ``classes_``; they sum to zero in each row, for preferences
            say nothing about the mean of all labels.
        """
        check_is_fitted(self)
        X = self._validated(X)
        batches = gen_batches(len(X), _BATCH)
        return np.concatenate([self.predictor_.mean(self._cross(X[b])[1]) for b in batches])

    def predict_pairs_proba(self, X: Any) -> np.ndarray:
        """Probability that one label is preferred to another, for every two labels.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Inputs; kernel values with the training rows, (q, n), if the kernel is precomputed.

        Returns
        -------
        proba : ndarray of shape (q, L, L)
            Entry ``[i, a, b]``: ``classes_[a]`` is preferred to ``classes_[b]`` at row i. With
            ties, ``[i, a, b]`` and ``[i, b, a]`` leave the probability of a tie.
        """
        check_is_fitted(self)
        X, L = self._validated(X), len(self.classes_)
        proba = np.empty((len(X), L, L))
        likelihood = self.fit_.likelihood
        for batch in gen_batches(len(X), _BATCH):
            Z, cross = self._cross(X[batch])
            mean, variance = self.predictor_.differences(cross, self.kernel_.diag(Z))
            found = likelihood.proba(mean.ravel(), variance.ravel())[:, -1]
            proba[batch] = found.reshape(mean.shape)
        return proba

    def posterior(self, X: Any, joint: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the utilities of the labels at rows of X, together.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Inputs.
        joint : bool, default=True
            Whether covariances between rows are wanted; if not, only those between the labels
            of each row are computed.

        Returns
        -------
        mean : ndarray of shape (q, L)
            Posterior means, columns in the order of ``classes_``; see `scores`.
        covariance : ndarray of shape (q, L, q, L) or (q, L, L)
            Posterior covariances. Their parts common to all labels are those of the prior.
        """
        check_is_fitted(self)
        X, L = self._validated(X), len(self.classes_)
        if joint:
            if self.kernel_.inputs == "gram":
                raise ValueError(
                    "the joint posterior needs the prior covariances between the rows of X, "
                    "which a precomputed kernel does not give; use a kernel over features."
                )
            Z, cross = self._cross(X)
            prior = self.kernel_(Z)[:, None, :, None] * np.eye(L)[:, None, :]
            return self.predictor_.mean(cross), prior - self.predictor_.explained_jointly(cross)
        mean, covariance = np.empty((len(X), L)), np.empty((len(X), L, L))
        for batch in gen_batches(len(X), _BATCH):
            mean[batch], covariance[batch] = self._of_rows(X[batch])
        return mean, covariance

    def predict_top_proba(self, X: Any) -> np.ndarray:
        """Probability that each label is preferred to all others.

        That is, that its utility plus noise is the largest; the widths of ties play no part.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Inputs; kernel values with the training rows, (q, n), if the kernel is precomputed.

        Returns
        -------
        proba : ndarray of shape (q, L)
            Columns in the order of ``classes_``; rows sum to one. Exact for two labels; for
            more, an average over fixed points, with errors below 0.001 (``link="logit"``: an
            average also for two, 0.005).
        """
        check_is_fitted(self)
        X, L = self._validated(X), len(self.classes_)
        proba = np.empty((len(X), L))
        for batch in gen_batches(len(X), _BATCH):
            proba[batch] = choice_probabilities(*self._of_rows(X[batch]), self.fit_.likelihood)
        return proba

    def log_evidence(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> float | tuple[float, np.ndarray]:
        """Log marginal likelihood of the preferences at other parameters.

        Parameters
        ----------
        theta : array-like, default=None
            ``[kernel_.theta, log noise_]``, with ties also log ``tie_width_``; None is the fit.
        eval_gradient : bool, default=False
            Whether the gradient in theta is wanted too.

        Returns
        -------
        value : float
            The log marginal likelihood.
        gradient : ndarray
            Its gradient in theta; only if ``eval_gradient``.
        """
        return self._criterion_at(theta, eval_gradient)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._inputs() == "gram"
        return tags

    def _check_parameters(self) -> None:
        check_choices(
            self,
            graph=GRAPHS,
            ties=(True, False),
            inference=tuple(ENGINES),
            link=("probit", "logit"),
            standardize=(True, False),
            optimizer=("lbfgs", None),
        )
        check_positive(self, "noise", "tol")
        check_whole(self, n_restarts=0, max_iter=1, max_evaluations=1)

    def _validated(self, X: Any, reset: bool = False) -> np.ndarray:
        finite: Any = "allow-nan" if self._inputs() == "ratings" else True
        return validate_data(self, X, dtype=np.float64, ensure_all_finite=finite, reset=reset)

    def _objective(self, X: np.ndarray, edges: Edges, weights: np.ndarray) -> LabelObjective:
        """Edges, and the model where learning starts; rows without edges are left out."""
        n, d = X.shape
        kernel = translate(self.kernel, d)
        gram = kernel.inputs == "gram"
        if gram:
            kernel = kernel.prepared(X)  # refuses what is not square before rows are dropped
        L = len(self.classes_)
        small = labels_effort(Labels(edges.at, edges.better, edges.worse, n, L).compact()[1])
        auto = isinstance(self.inducing, str) and self.inducing == "auto"
        inducing = None if auto and small <= _VALUES else self.inducing
        order = np.arange(n)
        if inducing is not None or np.any(weights != 1.0):
            order = self._row_order(X, edges, weights, gram)
        edges = edges.renumbered(order)
        scaled = self.standardize and kernel.inputs == "features"
        self._scaling = Scaling.of(X[order], weights[order]) if scaled else Scaling.none(d)
        kept, design = Labels(edges.at, edges.better, edges.worse, n, L).compact()
        self._kept = order[kept]
        Z = X[np.ix_(self._kept, self._kept)] if gram else self._scaling(X[self._kept])
        kernel.check(Z.shape[1])
        noise = float(self.noise)
        steps = [0.5 * noise] * self.ties  # a tie is where the noise decides
        likelihood = Symmetric.of(steps, ties=self.ties, sigma=noise, link=self.link)
        level = np.where(edges.tied, 1, likelihood.n_levels - 1)
        objective = LabelObjective(
            Z, level, weights[order][edges.at], kernel.prepared(Z), likelihood,
            engine=self.inference, tol=self.tol, max_iter=self.max_iter, design=design,
        )  # fmt: skip
        objective = replace(objective, prior=self._prior(objective))
        points = inducing_points(
            inducing, Z, kernel, self._scaling, size=min(len(design), design.n * (L - 1)),
            points=min(POINTS, max(_VALUES // (L - 1), 1)),
        )  # fmt: skip
        if points is None:
            return objective
        # Points are chosen among all inputs, although theta is learnt on some.
        pool = Z if len(Z) <= sample_size(points["count"]) else None
        return InducingLabelObjective(**vars(objective), **points, pool=pool)

    def _row_order(
        self, X: np.ndarray, edges: Edges, weights: np.ndarray, gram: bool
    ) -> np.ndarray:
        """An order of the rows that does not depend on how they were given.

        Weights over many decades magnify rounding, which depends on the order; points and
        subsets of the rows are chosen among rows in order.
        """
        order = canonical_order(X, gram=gram)
        if not gram and n_distinct(X[order]) == len(X):
            return order
        counts = edges.counts(len(X), len(self.classes_))
        return canonical_order(X, weights, *counts.T, gram=gram)

    def _searched_rows(self, problem: Any, rng: np.random.Generator) -> np.ndarray | None:
        n, M = len(problem.X), problem.count
        wanted = int(_SEARCHED_WORK * n / (len(problem.y) * M**2))
        wanted = min(max(wanted, _FEWEST), SEARCHED)
        return None if n <= wanted else np.sort(rng.permutation(n)[:wanted])

    def _visited(
        self, whole: Any, fit: Fit[Any], belief: Belief, tell: Any
    ) -> tuple[Belief, Settled]:
        prior, _ = whole.prior_at(fit.best.theta)
        say = None if tell is None else partial(tell, len(whole.y))
        return settle_seen(
            belief, fit.likelihood, prior, whole.y, whole.weights, engine=self.inference,
            tell=say,
        )  # fmt: skip

    def _keep(self, fit: Fit[Any]) -> None:
        """Keep what was learnt, and what predicts."""
        self.fit_, self.kernel_ = fit, fit.kernel
        objective, a, likelihood = fit.problem, fit.best.approximation, fit.likelihood
        with one_pool(len(objective.y)):
            if isinstance(objective, InducingLabelObjective):
                values = self.predictor_  # of the contrasts, which `_learn_inducing` has kept
                L = len(self.classes_)
                self.predictor_ = InducingLabelPredictor.of_values(values, L)
                self.inducing_points_: Any = self._scaling.undone(objective.support)
                self.unexplained_ = a.unexplained
            else:
                K = self.kernel_(objective.X)
                self.predictor_ = LabelPredictor.of(objective.design, K, a)
                self.inducing_points_, self.unexplained_ = None, 0.0
        self.noise_ = float(likelihood.sigma)
        self.tie_width_ = float(likelihood.steps[0]) if self.ties else 0.0
        self.relevance_ = self.kernel_.feature_relevance(self.n_features_in_)
        self.log_evidence_ = a.log_evidence
        self.converged_ = bool(fit.converged and a.converged)
        self.n_iter_ = fit.n_evaluations

    def _cross(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kernel inputs, and their prior covariances with what was learnt from."""
        Z = X[:, self._kept] if self.kernel_.inputs == "gram" else self._scaling(X)
        return Z, self.kernel_(Z, self.fit_.problem.support)

    def _of_rows(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (q, L) and covariance (q, L, L) of the labels at each of some checked rows."""
        Z, cross = self._cross(X)
        prior = self.kernel_.diag(Z)[:, None, None] * np.eye(len(self.classes_))
        return self.predictor_.mean(cross), prior - self.predictor_.explained(cross)
