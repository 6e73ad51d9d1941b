"""Prediction sets of neighbouring levels with guaranteed coverage, around any classifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.stats import beta
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from .base_ordinal import OrdinalClassifier
from .calibration import fold_splits
from .fitting import (
    FitLog,
    atomic,
    check_choices,
    check_labels,
    check_weights,
    check_whole,
    rows_of,
    take_rows,
)
from .ordinal_gp import OrdinalGP
from .threads import thread_map
from .wrapped import checked_rows, fit_member, ordered_proba, own_levels, ready_copy

__all__ = [
    "OrdinalConformal",
    "density_scores",
    "growth_scores",
    "pooled_levels",
    "score_bound",
]

_FEW = 1000  # rows below which "auto" is the cross-conformal method
_ROUNDING = 1e-9  # relative: a sum of a million weights loses 1e6 eps = 2e-10


class OrdinalConformal(MetaEstimatorMixin, OrdinalClassifier):
    """Sets of neighbouring levels that hold the true one as often as is asked.

    A classifier gives each level a probability, which may be wrong. Rows that it has not seen
    tell how wrong, and sets of levels are widened until they hold the true level in the share
    ``coverage`` of new rows. That holds for any classifier and any data, provided the new rows
    come from where the old ones came from; a better classifier has smaller sets.

    Parameters
    ----------
    estimator : classifier, default=None
        A classifier with `predict_proba`: one of this package, of scikit-learn, or a pipeline.
        None: ``OrdinalGP()``.
    coverage : float, default=0.9
        Share of new rows whose level lies in its set.
    method : {"auto", "split", "cross"}, default="auto"
        Whether a part of the rows is set aside for calibration; or every row calibrates a model
        of the other folds (CV+), which needs ``calibration_folds`` more fits and gives smaller
        sets on few rows. "auto": "cross" below 1000 rows.
    per_level : bool, default=False
        Whether the coverage holds for the rows of each level, not only for all together. Rare
        levels are pooled with a neighbour until there are enough rows. Sets are larger.
    conformity : {"mass", "density"}, default="mass"
        What is bounded. "mass": the probability of the set before a level joins. "density": one
        minus the probability of a level, or the mean over levels that have to join together;
        sets are somewhat smaller on average, but larger if probabilities are far too even.
    calibration_fraction : float, default=0.25
        Share of the rows set aside by "split".
    calibration_folds : int, default=5
        Folds of "cross".
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: those of ``estimator``, else the order `y`
        carries, else sorted.
    random_state : int, RandomState or None, default=None
        Chooses the rows set aside, or the folds; None is a fixed seed.
    n_jobs : int, default=None
        The folds of "cross" are fitted in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr. The logger "ordinality" gets them in any
        case.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    estimator_ : classifier
        What `predict` and `predict_proba` ask: fitted to the rows not set aside ("split") or to
        all rows ("cross").
    estimators_ : list of classifiers
        Those of the folds; none for "split".
    method_ : {"split", "cross"}
        The method that was used.
    groups_ : ndarray of shape (K,)
        Group of each level: levels of a group share their coverage.
    n_calibration_ : ndarray of shape (G,)
        Rows that calibrate each group.
    coverage_spread_ : ndarray of shape (G, 2)
        Between which shares the coverage of this very model lies with probability 0.9: the
        guarantee is a mean over sets of calibration rows. For "cross" an approximation.

    Notes
    -----
    A set starts with the most probable level and takes the more probable of its two neighbours
    until the probability of the set *before* the last level joined exceeds a bound. With
    ``conformity="density"`` it takes the run of levels that adds most probability for each of
    them. So sets have no gaps, those for higher coverage contain those for lower, and nothing
    is random.
    "split" guarantees the coverage; "cross" guarantees 1 - 2 (1 - coverage), and in practice
    keeps to the coverage.

    Sample weights count rows in learning and in calibration: weights by which the old rows
    would look like the new ones correct for a shift between the two. A new row is taken to
    weigh as much as the heaviest.

    References
    ----------
    Vovk, Gammerman & Shafer (2005), *Algorithmic Learning in a Random World*; Romano, Sesia &
    Candès (2020), "Classification with valid and adaptive coverage", NeurIPS 33; Barber,
    Candès, Ramdas & Tibshirani (2021), "Predictive inference with the jackknife+", Annals of
    Statistics 49.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ordinality import OrdinalConformal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-1, 0, 1]) + 1
    >>> model = OrdinalConformal(LogisticRegression(), coverage=0.9).fit(X, y)
    >>> model.predict_set([[-2.0], [0.0], [2.0]])
    array([[1, 1],
           [2, 3],
           [4, 4]])
    """

    # Of the base; here the wrapped classifier decides and weighs.
    decision = "mode"
    class_weight = None

    def __init__(
        self,
        estimator: Any = None,
        coverage: Any = 0.9,
        *,
        method: str = "auto",
        per_level: bool = False,
        conformity: str = "mass",
        calibration_fraction: Any = 0.25,
        calibration_folds: int = 5,
        levels: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.method = method
        self.per_level = per_level
        self.conformity = conformity
        self.calibration_fraction = calibration_fraction
        self.calibration_folds = calibration_folds
        self.levels = levels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier, and calibrate sets on rows that it has not seen.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Whatever the classifier takes.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows; 0 drops a row. The classifier must take them.

        Returns
        -------
        self : OrdinalConformal
            The fitted estimator.
        """
        self._check_parameters()
        log = FitLog(self)
        X = checked_rows(self, X, reset=True)
        checked = check_labels(y, X.shape[0])
        weights = check_weights(sample_weight, X.shape[0])
        kept = np.flatnonzero(weights > 0)
        labels = rows_of(y, checked, kept)
        ranks, X, weights = (
            self._learn_levels(labels, checked),
            take_rows(X, kept),
            weights[kept],
        )
        weighted = None if sample_weight is None else weights
        fit = self._fitting(X, checked[kept], weighted)
        seed = 0 if self.random_state is None else self.random_state
        rng = np.random.default_rng(check_random_state(seed).randint(2**31))
        few = len(ranks) < _FEW
        self.method_ = ("cross" if few else "split") if self.method == "auto" else self.method
        held = (self._cross if self.method_ == "cross" else self._split)(X, ranks, fit, rng)
        log.stage("%s: %d rows calibrate", self.method_, len(held))
        self._calibrate(ranks[held], weights[held])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """What the classifier predicts.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n,)
            Predicted labels.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(checked_rows(self, X)))

    def predict_set(self, X: Any) -> np.ndarray:
        """First and last level of the set of each row; the levels between belong to it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        ends : ndarray of shape (n, 2)
            Labels, the lower end first.
        """
        check_is_fitted(self)
        X = checked_rows(self, X)
        proba = self._ordered(self.estimator_, X)
        if self.method_ == "split":
            member = self._scored(proba) <= self._bounds[self.groups_]
        else:
            member = self._p_values(X) > (1 - self.coverage) * (1 + _ROUNDING)
        # The most probable level belongs to every set: that can only raise the coverage.
        member[np.arange(len(proba)), proba.argmax(axis=1)] = True
        first = member.argmax(axis=1)
        last = member.shape[1] - 1 - member[:, ::-1].argmax(axis=1)
        return self._order.decode(np.column_stack([first, last]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags

    def _check_parameters(self) -> None:
        check_choices(
            self, method=("auto", "split", "cross"), per_level=(True, False),
            conformity=tuple(_SCORES),
        )  # fmt: skip
        check_whole(self, calibration_folds=2)
        for name, usual in (("coverage", 0.9), ("calibration_fraction", 0.25)):
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0 < float(value) < 1):
                raise ValueError(
                    f"{name}={value!r} must lie between 0 and 1; give a share, such as {usual}."
                )
        given = self.estimator
        if given is not None and not hasattr(given, "predict_proba"):
            raise TypeError(
                f"estimator={given!r} has no predict_proba; pass a classifier with "
                "probabilities, such as OrdinalGP()."
            )

    def _resolve(self, y: Any, given: Any) -> Any:
        """Order of the labels; that of the wrapped classifier if none was stated here."""
        stated = own_levels(self.estimator)
        if self.levels is None and stated:
            return clone(self).set_params(levels=stated[0])._resolve(y, given)
        return super()._resolve(y, given)

    def _level_proba(self, X: Any) -> np.ndarray:
        return self._ordered(self.estimator_, checked_rows(self, X))

    def _ordered(self, fitted: Any, X: Any) -> np.ndarray:
        """Probabilities of the levels in order; zero for one that the model has not seen."""
        return ordered_proba(fitted, X, self._order)

    def _scored(self, proba: np.ndarray) -> np.ndarray:
        """How little each level belongs to the set of a row; 0 for the most probable one."""
        return _SCORES[self.conformity](proba)

    def _fitting(
        self, X: Any, y: np.ndarray, weights: np.ndarray | None
    ) -> Callable[[np.ndarray], Any]:
        """A function that fits a copy of the classifier to some rows."""
        given = OrdinalGP() if self.estimator is None else self.estimator

        def fit(index: np.ndarray) -> Any:
            some = None if weights is None else weights[index]
            model = ready_copy(given, self.levels_)
            return fit_member(model, take_rows(X, index), y[index], some)

        return fit

    def _split(
        self, X: Any, ranks: np.ndarray, fit: Callable[..., Any], rng: np.random.Generator
    ) -> np.ndarray:
        """Fit without the rows set aside, and score those; which they are."""
        # Not by level: drawn at random they are exchangeable with new rows.
        order = rng.permutation(len(ranks))
        aside = max(1, round(float(self.calibration_fraction) * len(ranks)))
        if aside == len(ranks):
            raise ValueError(
                f"calibration_fraction={self.calibration_fraction} of {len(ranks)} rows leaves "
                "none to learn from; lower it, or set method='cross'."
            )
        held = np.sort(order[:aside])
        self.estimator_ = fit(np.sort(order[aside:]))
        self.estimators_: list[Any] = []
        scores = self._scored(self._ordered(self.estimator_, take_rows(X, held)))
        self._scores = scores[np.arange(len(held)), ranks[held]]
        self._folds = np.zeros(len(held), dtype=np.int64)
        return held

    def _cross(
        self, X: Any, ranks: np.ndarray, fit: Callable[..., Any], rng: np.random.Generator
    ) -> np.ndarray:
        """Fit to all rows and without each fold in turn, and score the rows of each fold."""
        splits = fold_splits(ranks, int(self.calibration_folds), rng)
        parts = [np.arange(len(ranks)), *(train for train, _ in splits)]
        self.estimator_, *self.estimators_ = thread_map(self.n_jobs)(fit, parts)
        scores = []
        for model, (_, test) in zip(self.estimators_, splits, strict=True):
            found = self._scored(self._ordered(model, take_rows(X, test)))
            scores.append(found[np.arange(len(test)), ranks[test]])
        held = [test for _, test in splits]
        self._folds = np.repeat(np.arange(len(held)), [len(test) for test in held])
        self._scores = np.concatenate([*scores, np.empty(0)])
        return np.concatenate([*held, np.empty(0, dtype=np.int64)])

    def _calibrate(self, ranks: np.ndarray, weights: np.ndarray) -> None:
        """Groups of levels, and what bounds their scores."""
        alpha, K = 1 - float(self.coverage), len(self.levels_)
        least = max(20.0, 2 / alpha) if self.per_level else np.inf
        self.groups_ = pooled_levels(np.bincount(ranks, minlength=K), least)
        self._row_groups, self._weights = self.groups_[ranks], weights
        G = int(self.groups_.max()) + 1
        self.n_calibration_ = np.bincount(self._row_groups, minlength=G)
        rows = [self._row_groups == g for g in range(G)]
        self._bounds = np.array([score_bound(self._scores[r], weights[r], alpha) for r in rows])
        self.coverage_spread_ = np.array([_spread(weights[r], alpha) for r in rows])
        if np.any(np.isinf(self._bounds)):
            self._warn_of_few([weights[r] for r in rows], alpha)

    def _warn_of_few(self, weights: list[np.ndarray], alpha: float) -> None:
        """Say that the rows of some group are too few for the coverage."""
        few = min(w.sum() / w.max(initial=1e-300) for w in weights)  # as a new one may weigh
        unit = "" if all(np.ptp(w) == 0 for w in weights if len(w)) else ", by the heaviest"
        needed = int(np.ceil(1 / alpha - _ROUNDING)) - 1
        warnings.warn(
            f"{few:.3g} rows calibrate{unit}, but coverage={self.coverage} needs {needed}, so "
            "sets hold all levels; use more rows, "
            + ("set method='cross', " if self.method_ == "split" else "")
            + "or ask for a lower coverage.",
            UserWarning,
            stacklevel=5,
        )

    def _p_values(self, X: Any) -> np.ndarray:
        """Share of calibration rows that fit their level no better than a row fits each."""
        total = np.zeros((X.shape[0], len(self.levels_)))
        new = [self._weights[self._row_groups == g].max(initial=0) for g in self._places()]
        for fold, model in enumerate(self.estimators_):
            scores = self._scored(self._ordered(model, X))
            for g in self._places():
                rows = (self._folds == fold) & (self._row_groups == g)
                total[:, self.groups_ == g] += _weight_from(
                    self._scores[rows], self._weights[rows], scores[:, self.groups_ == g]
                )
        weight = np.bincount(self._row_groups, self._weights, len(new)) + new
        return (total + np.array(new)[self.groups_]) / np.maximum(weight, 1e-300)[self.groups_]

    def _places(self) -> range:
        return range(len(self.n_calibration_))


def growth_scores(proba: np.ndarray) -> np.ndarray:
    """Probability of a growing set just before each level joins it, shape (n, K).

    The set starts with the most probable level and takes the more probable neighbour in
    turn, the higher one of two that are equal.
    """
    n, K = proba.shape
    rows, scores = np.arange(n), np.zeros((n, K))
    first = last = proba.argmax(axis=1)
    mass = proba[rows, first]
    padded = np.column_stack([np.full(n, -1.0), proba, np.full(n, -1.0)])
    for _ in range(K - 1):
        down = padded[rows, first] > padded[rows, last + 2]
        joined = np.where(down, first - 1, last + 1)
        scores[rows, joined] = mass
        mass = mass + proba[rows, joined]
        first, last = np.where(down, joined, first), np.where(down, last, joined)
    return scores


def density_scores(proba: np.ndarray) -> np.ndarray:
    """One minus the mean probability of the levels that join a set together, shape (n, K).

    The most probable intervals of each length, as far as they are on the concave majorant of
    their probabilities, have the most probability less any constant times their length. Where
    levels fall off to both sides of the mode, a level joins alone and has 1 - p.
    """
    n, K = proba.shape
    rows, lengths, levels = np.arange(n), np.arange(K + 1), np.arange(K)
    total = np.column_stack([np.zeros(n), np.cumsum(proba, axis=1)])
    mass, start = np.zeros((n, K + 1)), np.zeros((n, K + 1), dtype=np.int64)
    for length in lengths[1:]:
        of_intervals = total[:, length:] - total[:, : K + 1 - length]
        start[:, length] = of_intervals.argmax(axis=1)
        mass[:, length] = of_intervals.max(axis=1)
    scores, size = np.full((n, K), np.inf), np.zeros(n, dtype=np.int64)
    first, last = np.full(n, K), np.full(n, -1)
    while np.any(size < K):
        more = lengths - size[:, None]
        gain = (mass - mass[rows, size][:, None]) / np.maximum(more, 1)
        best = np.where(more > 0, gain, -np.inf).argmax(axis=1)
        size = np.where(size < K, best, K)
        gained = gain[rows, size]
        first = np.minimum(first, start[rows, size])
        last = np.maximum(last, start[rows, size] + size - 1)
        inside = (first[:, None] <= levels) & (levels <= last[:, None])
        scores = np.where(inside & np.isinf(scores), 1 - gained[:, None], scores)
    scores[rows, proba.argmax(axis=1)] = 0.0
    return scores


_SCORES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mass": growth_scores,
    "density": density_scores,
}


def pooled_levels(counts: np.ndarray, least: float) -> np.ndarray:
    """Group of each level: the smallest joins its smaller neighbour until all have enough."""
    groups = [[k] for k in range(len(counts))]
    sizes = [float(count) for count in counts]
    while len(groups) > 1 and min(sizes) < least:
        at = int(np.argmin(sizes))
        beside = [k for k in (at - 1, at + 1) if 0 <= k < len(groups)]
        a, b = sorted((at, min(beside, key=lambda k: sizes[k])))
        groups[a : b + 1], sizes[a : b + 1] = [groups[a] + groups[b]], [sizes[a] + sizes[b]]
    return np.repeat(np.arange(len(groups)), [len(group) for group in groups])


def score_bound(scores: np.ndarray, weights: np.ndarray, alpha: float) -> float:
    """Least bound that holds the wanted weight, with that of a new row counted as outside."""
    order = np.argsort(scores)
    reached = np.cumsum(weights[order])
    wanted = (1 - alpha) * (weights.sum() + weights.max(initial=0)) * (1 - _ROUNDING)
    at = int(np.searchsorted(reached, wanted))
    return float(scores[order][at]) if at < len(scores) else np.inf


def _spread(weights: np.ndarray, alpha: float) -> tuple[float, float]:
    """Interval of probability 0.9 for the coverage given so many calibration rows."""
    n = weights.sum() ** 2 / np.sum(weights**2) if len(weights) else 0.0  # effective number
    k = np.ceil((n + 1) * (1 - alpha) * (1 - _ROUNDING))
    if k > n:
        return 1.0, 1.0
    low, high = beta.ppf([0.05, 0.95], k, n + 1 - k)
    return float(low), float(high)


def _weight_from(scores: np.ndarray, weights: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Total weight of the scores that are not below each of those asked for."""
    order = np.argsort(scores)
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    return below[-1] - below[np.searchsorted(scores[order], asked)]
