"""Utilities from comparisons and ratings: the estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from ._answers import Answers, check_pairs, check_places, levels_of
from ._atomic import atomic
from ._catalogue import paired
from ._judges import Panel, check_ratings
from ._preference import PreferenceModel, Utility, turned
from ._threads import one_pool

__all__ = ["PreferenceGP"]

_BATCH = 1000  # items predicted at once: bounds the memory for their covariances


class PreferenceGP(PreferenceModel):
    """Gaussian process for comparisons of items, and ratings beside them.

    Every item has a utility, a smooth function of its features plus an effect of its own. An
    answer to "which of these two?" is an ordinal observation of the difference of two
    utilities, a rating one of a single utility. Kernel, noise, the width of ties and the
    thresholds of ratings are learnt by maximising the evidence.

    Parameters
    ----------
    items : array-like of shape (n, d), int or None, default=None
        Features of the items, a row each; or how many items there are, if they have none; None
        is as many as the pairs name.
    kernel : kernel, str or None, default=None
        From `ordinality.kernels`, or a scikit-learn kernel; its values are where learning
        starts. None is ``Gaussian(sqrt(d))``; a vector of length scales learns the relevance
        of each feature. "precomputed" takes the (n, n) covariances of items as ``items``.
    item_effects : bool, default=True
        Whether each item also has an effect of its own, whose variance is learnt.
    ties : bool, default=False
        Whether an answer may be 0, neither; how close two items must be is learnt.
    grades : int, default=1
        How strong an answer may be: 2 has +1 "better" and +2 "much better", and so on.
    inference : {"ep", "laplace", "variational"}, default="ep"
        Approximation of the posterior: expectation propagation (most accurate), Laplace (the
        paper's, fastest), or the variational Gaussian (a lower bound).
    noise : float, default=1.0
        Noise of one utility as a judge feels it, where learning starts.
    link : {"probit", "logit"}, default="probit"
        Normal or logistic noise.
    hyperprior : "weak", None or mapping, default="weak"
        Prior of the learnt parameters; see `ordinality.gp.hyperpriors`.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first.
    levels : array-like, default=None
        The labels of ratings in order, lowest first. None: the order they carry, else sorted.
    optimizer : {"lbfgs", None}, default="lbfgs"
        None keeps kernel, noise and thresholds as given.
    restarts : int, default=0
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
    classes_ : ndarray of shape (K,)
        The answers there are, -1 and +1 by default: columns of ``predict_proba``.
    kernel_ : kernel or None
        Learnt kernel, of the standardised features.
    item_variance_ : float
        Variance of the items' own effects, on the same scale; 0 without them.
    noise_ : float or ndarray
        Learnt noise; one for each of ``judges_`` if there are several.
    judges_ : ndarray or None
    steps_ : ndarray
        Thresholds of answers above zero (for each judge): half the width of a tie, and so on.
    rating_levels_, thresholds_ : ndarray or None
        Levels of ratings, and the learnt thresholds between them.
    relevance_ : ndarray of shape (d,)
        How much each standardised feature matters: 1 / length_scale**2.
    log_evidence_ : float
    converged_ : bool
    n_iter_ : int
        Evaluations of the evidence.

    References
    ----------
    Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> pairs = [[0, 1], [0, 2], [1, 2], [3, 0], [3, 2]]  # the first was preferred
    >>> model = PreferenceGP().fit(pairs)
    >>> model.rank()  # of items 0, 1, 2 and 3
    array([2, 3, 4, 1])
    >>> model.predict([[3, 1], [2, 0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        items: Any = None,
        kernel: Any = None,
        *,
        item_effects: bool = True,
        ties: bool = False,
        grades: int = 1,
        inference: str = "ep",
        noise: float = 1.0,
        link: str = "probit",
        hyperprior: Any = "weak",
        standardize: bool = True,
        levels: Any = None,
        optimizer: str | None = "lbfgs",
        restarts: int = 0,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_evaluations: int = 150,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.items = items
        self.kernel = kernel
        self.item_effects = item_effects
        self.ties = ties
        self.grades = grades
        self.inference = inference
        self.noise = noise
        self.link = link
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.levels = levels
        self.optimizer = optimizer
        self.restarts = restarts
        self.tol = tol
        self.max_iter = max_iter
        self.max_evaluations = max_evaluations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic
    def fit(
        self,
        pairs: Any,
        answers: Any = None,
        *,
        ratings: Any = None,
        judges: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn utilities from comparisons, and from ratings beside them.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
            Numbers of the two items compared, rows of ``items`` counted from 0.
        answers : array-like of shape (m,), default=None
            +1 if the first was preferred, -1 if the second; 0 for a tie; larger numbers for
            stronger answers. None: the first always was.
        ratings : (items, levels), default=None
            Numbers of items that were rated, and the levels they got.
        judges : array-like of shape (m,), default=None
            Who answered; each judge has a noise of their own.
        sample_weight : array-like of shape (m,), default=None
            Weights of the answers: 2 counts as two equal answers, 0 as none.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        rated, labels = check_ratings(ratings)
        self._catalogue = self._read_items(pairs, rated)
        self.classes_ = levels_of(self.grades, self.ties)
        self.n_features_in_ = 2
        self._panel = Panel.of(judges, labels, self.levels)
        self._answers = self._comparisons(pairs, answers, judges, sample_weight, labels is None)
        if labels is not None:
            items = self._catalogue.twin[check_places(rated, len(self._catalogue), "ratings")]
            levels = self._panel.rank(labels)
            stars = Answers.ratings(self._panel.n_judges, items, levels)
            self._answers = self._answers.joined(stars)
        problem = self._problem()
        self._settle(self._learn(problem, self._is_large(problem)))
        self._warn_unless_settled()
        return self

    @atomic
    def update(
        self, pairs: Any, answers: Any = None, *, judges: Any = None, sample_weight: Any = None
    ) -> Self:
        """Take in further answers; kernel, noise and thresholds stay as they were learnt.

        One settling of the posterior from where it was, instead of a search for parameters.

        Parameters
        ----------
        pairs, answers, judges, sample_weight
            As for `fit`; these are added to what the model has learnt from.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, "predictor_")
        further = self._comparisons(pairs, answers, judges, sample_weight, False)
        now, old, best = self._answers.joined(further), self.fit_.problem, self.fit_.best
        problem = replace(self._stated(now, old.kernel, old.likelihood), prior=old.prior)
        with one_pool(len(problem.y)):
            found = problem.evaluate(best.theta, now.carried(best.start, self._answers))
        self._answers = now
        self._settle(replace(self.fit_, problem=problem, best=found))
        self._warn_unless_settled()
        return self

    def utility(self, X: Any = None) -> Utility:
        """Utility of items: of all of them, or of new ones with features X.

        Comparisons leave a shift of all utilities open, and ``std`` includes what the prior
        says about that; differences are surer than ``std`` suggests.

        Parameters
        ----------
        X : array-like of shape (q, d), default=None

        Returns
        -------
        mean, std : ndarray of shape (n,) or (q,)
        """
        check_is_fitted(self, "predictor_")
        new = None if X is None else self._features(X, "X")
        n = len(self._catalogue) if new is None else len(new)
        mean, variance = np.empty(n), np.empty(n)
        for batch in gen_batches(n, _BATCH):
            which = np.arange(n)[batch]
            Z = self._inputs(which) if new is None else new[batch]
            kernel, cross = self.fit_.kernel, self._cross(Z)
            known = new is None
            prior = self._catalogue.variances(kernel, which) if known else kernel.diag(Z)
            mean[batch] = self.predictor_.mean(cross)
            variance[batch] = self.predictor_.variance(cross, prior)
        return Utility(mean, np.sqrt(variance))

    def posterior(self, items: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the utilities of items of the model, together.

        Parameters
        ----------
        items : array-like of int, shape (q,), default=None
            Numbers of the items; None is all of them.

        Returns
        -------
        mean : ndarray of shape (q,)
        covariance : ndarray of shape (q, q)
        """
        check_is_fitted(self, "predictor_")
        n = len(self._catalogue)
        which = np.arange(n) if items is None else check_places(items, n, "items")
        return self._together(which, known=True)

    def rank(self, X: Any = None) -> np.ndarray:
        """Place of each item by mean utility, 1 for the best.

        Parameters
        ----------
        X : array-like of shape (q, d), default=None
            Features of new items; None ranks all items of the model.

        Returns
        -------
        rank : ndarray of int
        """
        mean = self.utility(X).mean
        rank = np.empty(len(mean), dtype=int)
        rank[np.argsort(-mean, kind="stable")] = np.arange(1, len(mean) + 1)
        return rank

    def predict_ratings(self, X: Any = None) -> np.ndarray:
        """Probability of each rating: of all items, or of new ones with features X.

        Parameters
        ----------
        X : array-like of shape (q, d), default=None

        Returns
        -------
        proba : ndarray of shape (n, L) or (q, L)
            Columns in the order of ``rating_levels_``.
        """
        mean, std = self.utility(X)
        if self.rating_levels_ is None:
            raise ValueError(
                "the model was fitted without ratings; pass ratings=(items, levels) to fit."
            )
        return self._parts()[-1].proba(mean, std**2)

    def predict(self, pairs: Any) -> np.ndarray:
        """Most probable answer to each pair.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)

        Returns
        -------
        answers : ndarray of shape (m,)
        """
        check_is_fitted(self, "predictor_")
        if len(self.classes_) > 2:
            return self.classes_[np.argmax(self.predict_proba(pairs), axis=1)]
        pairs = check_pairs(pairs, len(self._catalogue))  # whose mean is larger decides
        which, place = np.unique(pairs, return_inverse=True)
        mean = self.predictor_.mean(self._cross(self._inputs(which)))
        left, right = mean[place.reshape(pairs.shape)].T
        return np.where(left > right, 1, -1)

    def predict_proba(self, pairs: Any, judge: Any = None) -> np.ndarray:
        """Probability of each answer to each pair of items.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
        judge : label, default=None
            Who is asked; None is a judge drawn as often as each answered.

        Returns
        -------
        proba : ndarray of shape (m, K)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self, "predictor_")
        pairs = check_pairs(pairs, len(self._catalogue))
        swapped = pairs[:, 0] > pairs[:, 1]  # one way round, as in learning
        ordered = np.where(swapped[:, None], pairs[:, ::-1], pairs)
        mean, variance = np.empty(len(pairs)), np.empty(len(pairs))
        for batch in self._batches(len(pairs), len(np.unique(ordered))):
            which, place = np.unique(ordered[batch], return_inverse=True)
            place = place.reshape(-1, 2)
            prior = self._catalogue.differences(self.fit_.kernel, which, place)
            cross = self._cross(self._inputs(which))
            moments = self.predictor_.differences(cross, place, prior)
            mean[batch], variance[batch] = moments
        return turned(self._proba(mean, variance, judge), swapped)

    def predict_pairs(self, X_left: Any, X_right: Any, judge: Any = None) -> np.ndarray:
        """Probability of each answer to pairs of new items.

        Parameters
        ----------
        X_left, X_right : array-like of shape (m, d)
            Features of the first and of the second item of each pair. All are taken for items
            not seen before; `predict_proba` knows those of the model.
        judge : label, default=None
            As for `predict_proba`.

        Returns
        -------
        proba : ndarray of shape (m, K)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self, "predictor_")
        left, right = self._features(X_left, "X_left"), self._features(X_right, "X_right")
        if len(left) != len(right):
            raise ValueError(
                f"X_left has {len(left)} rows and X_right {len(right)}; wanted one row in each "
                "for every pair."
            )
        rows, first = np.arange(len(left)), np.argmax(left != right, axis=1)
        swapped = left[rows, first] > right[rows, first]
        left, right = (
            np.where(swapped[:, None], *sides) for sides in ((right, left), (left, right))
        )
        mean, variance = np.empty(len(left)), np.empty(len(left))
        kernel = self.fit_.kernel
        for batch in self._batches(len(left), 2 * len(left)):
            Z = np.concatenate([left[batch], right[batch]])
            place = np.arange(len(Z)).reshape(2, -1).T
            prior = kernel.diag(Z)[place].sum(axis=1) - 2.0 * paired(kernel, Z, place)
            moments = self.predictor_.differences(self._cross(Z), place, prior)
            mean[batch], variance[batch] = moments
        return turned(self._proba(mean, variance, judge), swapped)
