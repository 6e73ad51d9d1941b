"""Metrics of predicted probabilities and of scores."""

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

    Examples
    --------
    >>> ranked_probability_score([0, 2], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], levels=[0, 1, 2])
    0.125
    """
    true, p, weight, order = probabilities(y_true, proba, levels, sample_weight)
    happened = true[:, None] <= np.arange(order.n_levels - 1)
    error = np.cumsum(p, axis=1)[:, :-1] - happened
    return float(np.average(np.sum(error**2, axis=1), weights=weight))


def log_score(
    y_true: Any, proba: ArrayLike, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Mean negative logarithm of the probability given to the true level.

    Infinite when a level that happened was called impossible: nothing is clipped.

    Examples
    --------
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

    Equal scores count half. With two levels it is the area under the ROC curve. The time is
    that of sorting the scores and passing over them once for each level.

    Examples
    --------
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
    """How often the label exceeded one level, against the probability predicted for it."""

    level: Any  # the event is "above this level"
    predicted: Floats  # (B,) mean probability of the event in each bin
    observed: Floats  # (B,) share of rows where it happened
    count: Floats  # (B,) total weight: the number of rows, when they have none


def reliability(
    y_true: Any,
    proba: ArrayLike,
    *,
    levels: Any = None,
    sample_weight: Any = None,
    n_bins: int = 10,
) -> list[Reliability]:
    """Predicted and observed frequency of exceeding each level but the highest.

    Rows are put into `n_bins` bins of equal width by P(y > level); empty bins are left out.

    Examples
    --------
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
    """The ranked probability score in parts, one entry for each level but the highest."""

    level: NDArray[Any]  # (K-1,) the event is "above this level"
    reliability: Floats  # (K-1,) the price of probabilities that are not frequencies
    resolution: Floats  # (K-1,) the gain from telling rows apart
    uncertainty: Floats  # (K-1,) the score of the overall frequency

    @property
    def score(self) -> Floats:
        """The parts put together, (K-1,): their sum is the ranked probability score."""
        return self.reliability - self.resolution + self.uncertainty


def score_decomposition(
    y_true: Any,
    proba: ArrayLike,
    bins: int = 10,
    *,
    levels: Any = None,
    sample_weight: Any = None,
) -> ScoreDecomposition:
    """Ranked probability score as reliability - resolution + uncertainty, by threshold.

    Each threshold has a Brier score, that of the event "above this level", which Murphy (1973)
    splits by bins of the predicted probability. Where the probabilities of a bin differ, two
    more terms arise, the variance within bins and the covariance with what happened
    (Stephenson, Coelho & Jolliffe, 2008). As there, they are counted into the resolution, and
    the sum is exact whatever the bins.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    proba : array-like of shape (n, K)
        Columns in order of level.
    bins : int, default=10
        Bins of equal width.
    levels, sample_weight
        See `ordinality.metrics`.

    Returns
    -------
    ScoreDecomposition

    Examples
    --------
    >>> parts = score_decomposition([0, 0, 1, 1], [[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0, 1]])
    >>> parts.reliability, parts.resolution, parts.uncertainty
    (array([0.01333333]), array([0.08333333]), array([0.25]))
    >>> parts.score
    array([0.18])
    """
    true, p, weight, order = probabilities(y_true, proba, levels, sample_weight)
    counted = weight > 0  # a bin of no weight has no mean
    above, true, share = _above(p[counted], bins), true[counted], weight[counted]
    share = share / share.sum()
    parts = [
        _murphy(above[:, k], (true > k).astype(np.float64), share, bins)
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
        raise ValueError(f"n_bins is {n_bins}; at least one bin is needed.")
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
