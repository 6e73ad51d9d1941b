"""Metrics of predicted probabilities: proper scores, calibration, and the concordance index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinality.levels import Floats, order_of
from ordinality.metrics.checks import floats, ordered, probabilities, ratio, weights

__all__ = [
    "Reliability",
    "ScoreDecomposition",
    "log_score",
    "ordinal_c_index",
    "ranked_probability_score",
    "reliability",
    "score_decomposition",
]


def ranked_probability_score(
    y_true: Any, proba: ArrayLike, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Squared error of the cumulative probabilities, summed over thresholds; mean over rows.

    Not divided by K-1, so that it is in units of levels: for certain predictions it equals
    `mean_absolute_error`, and for two levels it is the Brier score (Epstein, 1969).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, K)
        Predicted probabilities, columns in order of level.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From 0, the best, to K-1.

    Examples
    --------
    >>> from ordinality.metrics import ranked_probability_score
    >>> ranked_probability_score([0, 2], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], levels=[0, 1, 2])
    0.125
    """
    true, p, weight, order = probabilities(y_true, proba, levels, sample_weight)
    occurred = true[:, None] <= np.arange(order.n_levels - 1)
    error = np.cumsum(p, axis=1)[:, :-1] - occurred
    return float(np.average(np.sum(error**2, axis=1), weights=weight))


def log_score(
    y_true: Any, proba: ArrayLike, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Mean negative logarithm of the probability given to the true level.

    Infinite if a level that occurred was given probability zero: nothing is clipped.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, K)
        Predicted probabilities, columns in order of level.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From 0, the best, to infinity.

    Examples
    --------
    >>> from ordinality.metrics import log_score
    >>> round(log_score([0, 1], [[0.5, 0.5], [0.0, 1.0]]), 4)
    0.3466
    """
    true, p, weight, _ = probabilities(y_true, proba, levels, sample_weight)
    counted = weight > 0  # 0 * inf is not a number
    with np.errstate(divide="ignore"):
        log_p = np.log(p[np.arange(true.size), true][counted])
    return float(-np.average(log_p, weights=weight[counted]))


def ordinal_c_index(
    y_true: Any, score: ArrayLike, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Probability that of two rows of different level the higher has the higher score.

    Equal scores count half. With two levels it is the area under the ROC curve. It takes the
    time of sorting the scores and of K passes over them.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    score : array-like of shape (n,)
        Numbers that should rise with the level.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From 0 to 1, the best; 0.5 is chance; NaN if all labels are equal.

    Examples
    --------
    >>> from ordinality.metrics import ordinal_c_index
    >>> ordinal_c_index([1, 2, 3], [0.1, 0.9, 0.5])
    0.6666666666666666
    """
    order = ordered(order_of(y_true, levels=levels))
    true = order.encode(y_true)
    weight = weights(sample_weight, true.size)
    values = floats(score, true.shape, "score")
    place = np.unique(values, return_inverse=True)[1]
    lower: Floats = np.zeros(place.max() + 1)  # weight of lower levels at each distinct score
    wins = pairs = 0.0
    for level in range(order.n_levels):
        rows = true == level
        here = np.bincount(place[rows], weights=weight[rows], minlength=lower.size)
        wins += float(here @ (np.cumsum(lower) - lower / 2))
        pairs += float(here.sum() * lower.sum())
        lower += here
    return ratio(wins, pairs)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted probability and observed frequency of exceeding one level.

    Parameters
    ----------
    level : label
        The event is "above this level".
    predicted : ndarray of shape (B,)
        Mean probability of the event in each bin.
    observed : ndarray of shape (B,)
        Share of the rows of each bin in which it occurred.
    count : ndarray of shape (B,)
        Total weight of each bin: the number of rows, if they have no weights.

    Examples
    --------
    >>> from ordinality.metrics import reliability
    >>> curve = reliability([0, 1], [[0.8, 0.2], [0.3, 0.7]])[0]
    >>> curve.level, curve.count
    (0, array([1., 1.]))
    """

    level: Any
    predicted: Floats
    observed: Floats
    count: Floats


def reliability(
    y_true: Any,
    proba: ArrayLike,
    *,
    levels: Any = None,
    sample_weight: Any = None,
    n_bins: int = 10,
) -> list[Reliability]:
    """Calibration curves: predicted and observed frequency of exceeding each level.

    Rows are put into `n_bins` bins of equal width by P(y > level); empty bins are left out.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, K)
        Predicted probabilities, columns in order of level.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.
    n_bins : int, default=10
        Number of bins.

    Returns
    -------
    list of Reliability
        One for each level but the highest, in order.

    Examples
    --------
    >>> from ordinality.metrics import reliability
    >>> curve = reliability([0, 1, 1, 1], [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.3, 0.7]])[0]
    >>> curve.predicted, curve.observed
    (array([0.2, 0.7]), array([0.5, 1. ]))
    """
    true, p, weight, order = probabilities(y_true, proba, levels, sample_weight)
    above = _above(p, n_bins)
    return [
        Reliability(order.levels[k].item(), *_binned(above[:, k], true > k, weight, n_bins))
        for k in range(order.n_levels - 1)
    ]


@dataclass(frozen=True, eq=False)
class ScoreDecomposition:
    """The ranked probability score in parts, one entry for each level but the highest.

    Parameters
    ----------
    level : ndarray of shape (K-1,)
        The event is "above this level".
    reliability : ndarray of shape (K-1,)
        Loss by probabilities that differ from the observed frequencies.
    resolution : ndarray of shape (K-1,)
        Gain by probabilities that differ between rows of different frequency.
    uncertainty : ndarray of shape (K-1,)
        Score of the overall frequency as the prediction.

    Examples
    --------
    >>> from ordinality.metrics import score_decomposition
    >>> score_decomposition([0, 1], [[1.0, 0.0], [0.0, 1.0]]).resolution
    array([0.25])
    """

    level: NDArray[Any]
    reliability: Floats
    resolution: Floats
    uncertainty: Floats

    @property
    def score(self) -> Floats:
        """Brier scores, (K-1,); their sum is the ranked probability score."""
        return self.reliability - self.resolution + self.uncertainty


def score_decomposition(
    y_true: Any,
    proba: ArrayLike,
    n_bins: int = 10,
    *,
    levels: Any = None,
    sample_weight: Any = None,
) -> ScoreDecomposition:
    """Ranked probability score as reliability - resolution + uncertainty, by threshold.

    Each threshold has a Brier score, that of the event "above this level", which Murphy (1973)
    splits by bins of the predicted probability. Where the probabilities of a bin differ, two
    more terms arise, the variance within bins and the covariance with the event (Stephenson,
    Coelho & Jolliffe, 2008). As there, they are part of the resolution, and the sum is exact
    whatever the bins.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n, K)
        Predicted probabilities, columns in order of level.
    n_bins : int, default=10
        Number of bins of equal width.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    ScoreDecomposition
        Reliability, resolution and uncertainty of each threshold.

    Examples
    --------
    >>> from ordinality.metrics import score_decomposition
    >>> parts = score_decomposition([0, 0, 1, 1], [[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0, 1]])
    >>> parts.reliability, parts.resolution, parts.uncertainty
    (array([0.01333333]), array([0.08333333]), array([0.25]))
    >>> parts.score
    array([0.18])
    """
    true, p, weight, order = probabilities(y_true, proba, levels, sample_weight)
    counted = weight > 0  # a bin of no weight has no mean
    above, true, share = _above(p[counted], n_bins), true[counted], weight[counted]
    share = share / share.sum()
    parts = [
        _murphy(above[:, k], (true > k).astype(np.float64), share, n_bins)
        for k in range(order.n_levels - 1)
    ]
    return ScoreDecomposition(order.levels[:-1], *np.array(parts).reshape(-1, 3).T)


def _murphy(chance: Floats, event: Floats, share: Floats, n_bins: int) -> tuple[float, ...]:
    """Reliability, resolution and uncertainty of one event."""
    overall = float(share @ event)
    predicted, observed, mass = _binned(chance, event > 0, share, n_bins)
    place = np.unique(_bins(chance, n_bins), return_inverse=True)[1]
    off, odd = chance - predicted[place], event - observed[place]  # within the bins
    between = float(mass @ (observed - overall) ** 2)
    within = float(share @ off**2) - 2.0 * float(share @ (off * odd))
    reliable = float(mass @ (predicted - observed) ** 2)
    return reliable, between - within, overall * (1.0 - overall)


def _above(p: Floats, n_bins: int) -> Floats:
    """Probability of exceeding each level but the highest, (n, K-1)."""
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}; it must be at least 1.")
    # Summed from the top: one minus the sum from the bottom would lose small probabilities.
    return np.cumsum(p[:, ::-1], axis=1)[:, ::-1][:, 1:]


def _binned(
    chance: Floats, event: NDArray[np.bool_], weight: Floats, n_bins: int
) -> tuple[Floats, Floats, Floats]:
    bins = _bins(chance, n_bins)
    count: Floats = np.bincount(bins, weights=weight).astype(np.float64)
    kept = count > 0
    predicted = np.bincount(bins, weights=weight * chance)[kept] / count[kept]
    observed = np.bincount(bins, weights=weight * event)[kept] / count[kept]
    return predicted, observed, count[kept]


def _bins(chance: Floats, n_bins: int) -> NDArray[np.int64]:
    return (chance * n_bins).astype(np.int64).clip(max=n_bins - 1)  # 1 goes into the last bin
