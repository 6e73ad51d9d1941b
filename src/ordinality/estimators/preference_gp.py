"""Utilities of items from comparisons and ratings, by Gaussian processes: the estimator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from ..gp.criteria import ENGINES, Problem
from ..gp.design import Rows
from ..gp.likelihoods import Likelihood, Ordinal, Several, Symmetric
from ..gp.optimise import Fit
from ..gp.predict import LatentPredictor, favourites
from ..kernels.base import Kernel
from ..kernels.foreign import translate
from ..kernels.items import PerItem
from ..kernels.stationary import Gaussian
from .base_gp import Learner
from .fitting import atomic, check_choices, check_positive, check_weights, check_whole
from .preference_data import (
    Answers,
    Catalogue,
    Panel,
    check_pairs,
    check_places,
    check_ratings,
    grades_of,
    levels_of,
    paired,
)
from .threads import one_pool

__all__ = ["PreferenceGP", "Utility", "turned"]


# Variance of the items' own effects where learning starts, the features' being one.
_OWN = 0.3


_ENTRIES = 10**7  # pairs or items, times items learnt from, at once: some 300 megabytes


_TOGETHER = 500  # alternatives whose joint covariance is worked out at once


_BATCH = 1000  # items predicted at once: bounds the memory for their covariances


_LARGE = 400  # rows of a factor from which learning goes coarse to fine


class Utility(NamedTuple):
    """Posterior mean and standard deviation of the utility of each item."""

    mean: np.ndarray
    std: np.ndarray


class PreferenceGP(Learner, ClassifierMixin, BaseEstimator):
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
        n_restarts: int = 0,
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
        self.n_restarts = n_restarts
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

    def predict_choice(
        self, alternatives: Any, cases: Any = None, judge: Any = None
    ) -> np.ndarray:
        """Probability of each alternative to be chosen from those on offer with it.

        That is, that its utility is felt to be the largest; the widths of ties play no part.

        Parameters
        ----------
        alternatives : array-like of shape (q,) or (q, d)
            Numbers of items of the model; or features, a row for each, and then they are taken
            for items not seen before.
        cases : array-like of shape (q,), default=None
            Alternatives with equal labels are on offer together; None is all of them.
        judge : label, default=None
            Who chooses; None is a judge drawn as often as each answered.

        Returns
        -------
        proba : ndarray of shape (q,)
            Sums to one over each case. Exact for two alternatives; for more, an average over
            fixed points, with errors of about 0.001 (``link="logit"``: 0.005). The cost grows
            with the cube of their number: a fifth of a second for a hundred.

        Examples
        --------
        >>> from ordinality import PreferenceGP
        >>> model = PreferenceGP().fit([[0, 1], [0, 2], [1, 2], [3, 0], [3, 2]])
        >>> cases = ["mon", "mon", "mon", "tue", "tue"]
        >>> model.predict_choice([3, 1, 2, 0, 1], cases).round(2)
        array([0.64, 0.27, 0.09, 0.61, 0.39])
        """
        check_is_fitted(self, "predictor_")
        given = check_array(
            alternatives, ensure_2d=False, dtype=None, input_name="alternatives"
        )
        known = given.ndim == 1
        asked = (
            check_places(given, len(self._catalogue), "alternatives")
            if known
            else self._features(given, "alternatives")
        )
        judges, proba = self._asked(judge), np.ones(len(asked))
        for rows in _on_offer(cases, len(asked)):
            mean, covariance = self._together(asked[rows.ravel()], known)
            each = np.arange(rows.size).reshape(rows.shape)
            blocks = covariance[each[:, :, None], each[:, None, :]]
            found = [w * favourites(mean[each], blocks, part) for w, part in judges]
            proba[rows] = np.sum(found, axis=0)
        return proba

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

    def score(self, pairs: Any, answers: Any = None, sample_weight: Any = None) -> float:
        """Share of answers predicted rightly.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
        answers : array-like of shape (m,), default=None
            None: the first always won.
        sample_weight : array-like of shape (m,), default=None

        Returns
        -------
        score : float
        """
        predicted = self.predict(pairs)
        levels = grades_of(answers, len(predicted), self.grades, self.ties)
        weights = check_weights(sample_weight, len(predicted))
        return float(np.average(predicted == self.classes_[levels], weights=weights))

    def log_evidence(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> float | tuple[float, np.ndarray]:
        """Log marginal likelihood of the answers at other parameters.

        Parameters
        ----------
        theta : array-like, default=None
            ``[kernel_.theta, log(item_variance_ + 0.01)]``, then for each judge log noise and
            the log steps between thresholds, then for ratings log noise, first threshold, log
            gaps; None is the fit.
        eval_gradient : bool, default=False
            Whether the gradient in theta is wanted too.

        Returns
        -------
        value : float
        gradient : ndarray, only if ``eval_gradient``
        """
        fit, theta = self._at(theta)
        with one_pool(len(fit.problem.y)):
            found = replace(fit.problem, prior=None).evaluate(theta)
        return (found.value, found.gradient) if eval_gradient else found.value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # without answers, the first item always won
        return tags

    def _check_parameters(self) -> None:
        check_choices(
            self,
            inference=tuple(ENGINES),
            link=("probit", "logit"),
            optimizer=("lbfgs", None),
            standardize=(True, False),
            item_effects=(True, False),
            ties=(True, False),
        )
        check_positive(self, "noise", "tol")
        check_whole(self, grades=1, n_restarts=0, max_iter=1, max_evaluations=1)

    def _read_items(self, pairs: Any, rated: Any) -> Catalogue:
        """The items; how many are named matters only if nothing else tells their number."""
        inputs = "features" if self.kernel is None else translate(self.kernel).inputs
        largest = None
        if self.items is None:
            named = [check_pairs(pairs, None).ravel()]
            named += [] if rated is None else [check_places(rated, None, "ratings")]
            numbers = np.concatenate(named)
            largest = int(numbers.max()) if len(numbers) else None
        numbered = self.item_effects or np.ndim(self.items) == 0
        catalogue = Catalogue.of(self.items, inputs, self.standardize, numbered, largest)
        if self.kernel is not None and not catalogue.n_features:
            raise ValueError(
                f"kernel={self.kernel!r} needs features, but items={self.items!r} has none; "
                "pass a row of features for each item as `items`, or leave the kernel out."
            )
        return catalogue

    def _comparisons(
        self, pairs: Any, answers: Any, judges: Any, sample_weight: Any, needed: bool
    ) -> Answers:
        pairs = check_pairs(pairs, len(self._catalogue))
        m = len(pairs)
        if needed and not m:
            raise ValueError("there are no pairs and no ratings: nothing to learn from.")
        level = grades_of(answers, m, self.grades, self.ties)
        part = self._panel.places(judges, m)
        weight = check_weights(sample_weight, m) if m else np.ones(0)
        twins = self._catalogue.twin[pairs]
        return Answers.of(part, twins, level, weight, len(self.classes_))

    def _kernel_to_learn(self) -> Kernel:
        d = self._catalogue.n_features
        if not d:
            return PerItem(None)
        kernel = Gaussian(np.sqrt(d)) if self.kernel is None else translate(self.kernel, d)
        kernel.check(d)
        seen = self._answers.seen()
        inputs = self._catalogue.inputs(seen, seen)
        kernel = kernel.prepared(inputs[:, :-1] if self._catalogue.numbered else inputs)
        return PerItem(kernel, _OWN) if self.item_effects else kernel

    def _problem(self) -> Problem:
        a = self._answers
        likelihood = self._panel.likelihood(self, a.part, a.level, a.weight)
        problem = self._stated(a, self._kernel_to_learn(), likelihood)
        return replace(problem, prior=self._prior(problem))

    def _stated(self, a: Answers, kernel: Kernel, likelihood: Likelihood) -> Problem:
        """What answers say about a model."""
        seen = a.seen()
        if isinstance(likelihood, Several):
            likelihood = replace(likelihood, kind=a.part)
        return Problem(
            self._catalogue.inputs(seen, seen), a.level, a.weight, kernel, likelihood,
            engine=self.inference, tol=self.tol, max_iter=self.max_iter, design=a.design(),
        )  # fmt: skip

    def _learn(self, problem: Problem, coarse_to_fine: bool) -> Fit[Problem]:
        return replace(super()._learn(_AmongItems.of(problem), coarse_to_fine), problem=problem)

    def _is_large(self, problem: Problem) -> bool:
        """Whether subsets of the answers are much cheaper than all of them."""
        return problem.effort > _LARGE and not self._catalogue.gram

    def _settle(self, fit: Fit[Problem]) -> None:
        """Keep what was found, and what predicts."""
        self.fit_ = fit
        problem, a = fit.problem, fit.best.approximation
        with one_pool(len(problem.y)):
            K = fit.kernel(problem.X)
            self.predictor_ = LatentPredictor.of(self._answers.design(), K, a)
        items = fit.kernel if isinstance(fit.kernel, PerItem) else None
        self.kernel_ = fit.kernel if items is None else items.kernel
        self.item_variance_ = 0.0 if items is None else items.variance
        self.relevance_ = fit.kernel.feature_relevance(self._catalogue.n_features)
        self._settle_likelihood(self._parts())
        self.log_evidence_ = a.log_evidence
        self.converged_ = bool(fit.converged and a.converged)
        self.n_iter_ = fit.n_evaluations

    def _parts(self) -> tuple[Ordinal, ...]:
        likelihood = self.fit_.likelihood
        return likelihood.parts if isinstance(likelihood, Several) else (likelihood,)

    def _settle_likelihood(self, parts: tuple[Ordinal, ...]) -> None:
        panel = self._panel
        own = [part for part in parts if isinstance(part, Symmetric)]
        noise = np.array([part.sigma for part in own])
        steps = np.array([part.thresholds[part.thresholds > 0] for part in own])
        several = panel.judges is not None
        self.judges_ = panel.judges
        self.noise_ = noise if several else float(noise[0])
        self.steps_ = steps if several else steps[0]
        rated = panel.order is not None
        self.rating_levels_ = panel.order.levels if panel.order is not None else None
        self.thresholds_ = parts[-1].thresholds if rated else None
        self.rating_noise_ = parts[-1].noise if rated else None

    def _warn_unless_settled(self) -> None:
        if not self.fit_.best.approximation.converged:
            self._warn_of_unsettled(self.inference, self.tol)
        elif not self.fit_.converged:
            self._warn_of_cut_search("the evidence")

    def _features(self, X: Any, name: str) -> np.ndarray:
        """Kernel inputs of new items."""
        d = self._catalogue.n_features
        if not d or self._catalogue.gram:
            raise ValueError(
                f"{name} holds features, but the items of this model were given without; "
                "only those items can be asked about."
            )
        try:
            X = check_array(X, dtype=np.float64, input_name=name)
        except ValueError as problem:
            if np.asarray(X).dtype.kind not in "OUS":
                raise
            raise ValueError(
                f"{name} holds what is no number ({problem}); encode words as the items were "
                "encoded, such as by `encoded` of what `tables.choices_to_pairs` returned."
            ) from None
        if X.shape[1] != d:
            raise ValueError(f"{name} has {X.shape[1]} features, but the items have {d}.")
        return self._catalogue.new(X)

    def _inputs(self, which: np.ndarray) -> np.ndarray:
        """Kernel inputs of items of the model."""
        return self._catalogue.inputs(which, self._answers.seen())

    def _cross(self, Z: np.ndarray) -> np.ndarray:
        """Prior covariances of kernel inputs with what was learnt from."""
        return self.fit_.kernel(Z, self.fit_.problem.X)

    def _batches(self, m: int, distinct: int) -> Any:
        """Slices of m pairs whose covariances with all that was learnt from fit in memory.

        All at once if the ``distinct`` items do: an item is dear, and a further pair is not.
        """
        n = len(self.fit_.problem.X)
        if distinct * n <= _ENTRIES:
            return [slice(0, m)]
        return gen_batches(m, max(500, _ENTRIES // n))

    def _together(self, asked: np.ndarray, known: bool) -> tuple[np.ndarray, np.ndarray]:
        """Joint moments of utilities: of items by their numbers, else of kernel inputs."""
        kernel = self.fit_.kernel
        cross = self._cross(self._inputs(asked) if known else asked)
        prior = self._catalogue.covariance(kernel, asked) if known else kernel(asked)
        return self.predictor_.mean(cross), self.predictor_.covariance(cross, prior)

    def _asked(self, judge: Any) -> list[tuple[float, Ordinal]]:
        """One judge; or all, and how often each answered."""
        parts = self._parts()
        if judge is not None:
            return [(1.0, parts[self._panel.place(judge)])]
        n = self._panel.n_judges
        share = np.bincount(self._answers.part, self._answers.weight, n)[:n]
        share = share / share.sum() if share.any() else np.full(n, 1.0 / n)
        return list(zip(share.tolist(), parts[:n], strict=True))

    def _proba(self, mean: np.ndarray, var: np.ndarray, judge: Any) -> np.ndarray:
        """Of each answer, by one judge or by one of them drawn as often as each answered."""
        return np.sum([w * part.proba(mean, var) for w, part in self._asked(judge)], axis=0)


class _AmongItems(Problem):
    """A problem whose subsets hold what was said about some of the items among themselves.

    A share of all answers would see almost all of the items, at almost the full price, and each
    of them so seldom that noise can hardly be told from effects of items.
    """

    @classmethod
    def of(cls, problem: Problem) -> _AmongItems:
        return cls(**{field.name: getattr(problem, field.name) for field in fields(problem)})

    def subset(self, index: np.ndarray) -> Problem:
        """As many observations as ``index`` has, of as few items as a fixed shuffle allows."""
        design = self.design
        assert isinstance(design, Rows)
        turn = np.random.default_rng(0).permutation(design.size)
        last = np.max(np.where(design.value != 0, turn[design.index], 0), axis=1)
        return super().subset(np.sort(np.argsort(last, kind="stable")[: len(index)]))


def _on_offer(cases: Any, q: int) -> Iterator[np.ndarray]:
    """Rows of each case with two alternatives or more, shape (b, size), for some cases."""
    labels = np.zeros(q, int) if cases is None else column_or_1d(cases)
    if len(labels) != q:
        raise ValueError(
            f"cases has {len(labels)} labels for {q} alternatives; wanted one for each."
        )
    _, place, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    together = np.split(np.argsort(place, kind="stable"), np.cumsum(sizes)[:-1])
    for size in np.unique(sizes[sizes > 1]):
        alike = np.array([rows for rows in together if len(rows) == size])
        for batch in gen_batches(len(alike), max(1, _TOGETHER // size)):
            yield alike[batch]


def turned(proba: np.ndarray, swapped: np.ndarray) -> np.ndarray:
    """Columns reversed in the rows that were asked the other way round."""
    return np.where(swapped[:, None], proba[:, ::-1], proba)
