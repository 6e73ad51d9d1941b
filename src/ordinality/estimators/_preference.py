"""What lies behind `PreferenceGP`: stating the problem, keeping the result, asking pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

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
from ._answers import Answers, check_pairs, check_places, grades_of
from ._catalogue import Catalogue
from ._learning import Learner
from ._threads import one_pool
from ._validation import check_choices, check_positive, check_weights, check_whole

__all__ = ["PreferenceModel", "Utility", "turned"]

# Variance of the items' own effects where learning starts, the features' being one.
_OWN = 0.3
_ENTRIES = 10**7  # pairs or items, times items learnt from, at once: some 300 megabytes
_TOGETHER = 500  # alternatives whose joint covariance is worked out at once
_LARGE = 400  # rows of a factor from which learning goes coarse to fine


class Utility(NamedTuple):
    """Posterior mean and standard deviation of the utility of each item."""

    mean: np.ndarray
    std: np.ndarray


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


class PreferenceModel(Learner, ClassifierMixin, BaseEstimator):
    """The private half of `PreferenceGP`."""

    items: Any
    kernel: Any
    item_effects: bool
    ties: bool
    grades: int
    inference: str
    standardize: bool
    tol: float
    max_iter: int
    classes_: np.ndarray
    predictor_: LatentPredictor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False  # without answers, the first item always won
        return tags

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

    # Learning

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
        check_whole(self, grades=1, restarts=0, max_iter=1, max_evaluations=1)

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

    # Prediction

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
