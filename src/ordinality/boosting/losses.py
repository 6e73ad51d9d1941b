"""Exponential losses over margins and over pairs, in the log domain.

All three losses of the paper are one sum,

    sum_n w_n ( exp(H_n + up[y_n]) + exp(-H_n + down[y_n]) ),

whose offsets `up` and `down` depend on the rank alone: on the thresholds for ORBoost (5, 8), on
sums over the other ranks for RankBoost (3). The first term pulls the score of a row down and
the second pulls it up; their difference is the gradient that a base learner is asked to oppose.
``exp(H)`` is only ever formed relative to the largest of its rank, so nothing overflows.

Lin & Li (2006), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._compile import loop

__all__ = [
    "Exponentials",
    "Pulls",
    "all_offsets",
    "chord_step",
    "exponentials",
    "left_right_offsets",
    "pair_offsets",
    "pair_step",
    "pulled",
]

# A learner without a single wrong row asks for an infinite step. Taking the smaller of the two
# sums as at least this share of the larger bounds steps by log(1e10) / 2 = 11.5: the loss of
# every such row shrinks a hundred thousandfold, and other learners still count afterwards.
_SHARE = 1e-10


@dataclass(frozen=True, eq=False)
class Exponentials:
    """``w exp(H)`` and ``w exp(-H)`` of every row, relative to the largest of its rank."""

    plus: np.ndarray  # (n,), exp(H - highest[y]) times the weight
    minus: np.ndarray  # (n,), exp(lowest[y] - H) times the weight
    highest: np.ndarray  # (K,), largest score of each rank; -inf where the rank is empty
    lowest: np.ndarray  # (K,), smallest score of each rank; +inf where the rank is empty
    log_plus: np.ndarray  # (K,), log of the sum of w exp(H) over the rank
    log_minus: np.ndarray  # (K,), log of the sum of w exp(-H) over the rank


def exponentials(
    H: np.ndarray, y: np.ndarray, n_levels: int, weights: np.ndarray
) -> Exponentials:
    """Exponentials of the scores and their sums over ranks, the losses' raw material."""
    return Exponentials(*_exponentials(H, y, weights, n_levels))


@loop
def _exponentials(H: np.ndarray, y: np.ndarray, weights: np.ndarray, n_levels: int) -> tuple:
    # By numbers and not by arrays, which take a second longer to compile.
    highest, lowest, span = np.empty(n_levels), np.empty(n_levels), np.empty(n_levels)
    for k in range(n_levels):
        highest[k], lowest[k] = -np.inf, np.inf
    for i in range(H.size):
        highest[y[i]] = max(highest[y[i]], H[i])
        lowest[y[i]] = min(lowest[y[i]], H[i])
    plus, minus, sums = np.empty(H.size), np.empty(H.size), np.zeros((2, n_levels))
    # minus = span / relative: a division is cheaper than another exponential.
    for k in range(n_levels):
        span[k] = np.exp(lowest[k] - highest[k])
    for i in range(H.size):
        k = y[i]
        relative = np.exp(H[i] - highest[k])
        plus[i] = weights[i] * relative
        if span[k] > 1e-300:  # neither it nor `relative`, which is larger, underflows
            minus[i] = weights[i] * (span[k] / relative)
        else:
            minus[i] = weights[i] * np.exp(lowest[k] - H[i])
        sums[0, k] += plus[i]
        sums[1, k] += minus[i]
    log_plus, log_minus = np.empty(n_levels), np.empty(n_levels)  # -inf for an empty rank
    for k in range(n_levels):
        log_plus[k] = np.log(sums[0, k]) + highest[k]
        log_minus[k] = np.log(sums[1, k]) - lowest[k]
    return plus, minus, highest, lowest, log_plus, log_minus


# ---------------------------------------------------------------- offsets of each loss


def all_offsets(thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets `up` and `down`, each of shape (K,), of the loss over all margins (8)."""
    up = np.logaddexp.accumulate(-thresholds[::-1])[::-1]
    down = np.logaddexp.accumulate(thresholds)
    return np.append(up, -np.inf), np.append(-np.inf, down)


def left_right_offsets(thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the loss over the two margins next to the rank (5)."""
    return np.append(-thresholds, -np.inf), np.append(-np.inf, thresholds)


def pair_offsets(log_plus: np.ndarray, log_minus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the loss over pairs of different rank (3): sums over the other ranks.

    Every pair is met twice, from its lower and from its upper row, so the sum of the pulls is
    twice the loss.
    """
    above = np.logaddexp.accumulate(log_minus[:0:-1])[::-1]
    below = np.logaddexp.accumulate(log_plus[:-1])
    return np.append(above, -np.inf), np.append(-np.inf, below)


# ---------------------------------------------------------------- pulls and steps


@dataclass(frozen=True, eq=False)
class Pulls:
    """How hard the loss pulls every score down and up, in units of ``exp(log_unit)``."""

    down: np.ndarray  # (n,), the terms that shrink when the score falls
    up: np.ndarray  # (n,), those that shrink when it rises
    log_unit: float

    @property
    def gradient(self) -> np.ndarray:
        """Derivative of the loss in each score, shape (n,), in the same units."""
        return self.down - self.up

    @property
    def mass(self) -> np.ndarray:
        """Second derivative of the loss in each score, shape (n,)."""
        return self.down + self.up

    @property
    def log_total(self) -> float:
        """Logarithm of the sum of all pulls."""
        return self.log_unit + float(np.log(self.down.sum() + self.up.sum()))


def pulled(e: Exponentials, y: np.ndarray, up: np.ndarray, down: np.ndarray) -> Pulls:
    """Pulls of every row under the offsets of a loss."""
    return Pulls(*_pulled(e.plus, e.minus, e.highest, e.lowest, y, up, down))


@loop
def _pulled(
    plus: np.ndarray,
    minus: np.ndarray,
    highest: np.ndarray,
    lowest: np.ndarray,
    y: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
) -> tuple:
    a, b, unit = np.empty(up.size), np.empty(up.size), -np.inf
    for k in range(a.size):
        a[k], b[k] = highest[k] + up[k], down[k] - lowest[k]
        if highest[k] >= lowest[k]:  # an empty rank has no rows to pull
            unit = max(unit, a[k], b[k])
    for k in range(a.size):
        a[k], b[k] = np.exp(a[k] - unit), np.exp(b[k] - unit)
    pull_down, pull_up = np.empty(y.size), np.empty(y.size)
    for i in range(y.size):
        pull_down[i] = plus[i] * a[y[i]]
        pull_up[i] = minus[i] * b[y[i]]
    return pull_down, pull_up, unit


def chord_step(pulls: Pulls, h: np.ndarray) -> float:
    """Step that minimises the chord bound on the loss (section 4.2); exact if h is -1, 0, 1."""
    w_plus, w_minus = _chord_sums(h, pulls.down, pulls.up)
    return 0.5 * _log_ratio(w_minus, w_plus)


@loop
def _chord_sums(h: np.ndarray, down: np.ndarray, up: np.ndarray) -> tuple:
    w_plus, w_minus = 0.0, 0.0
    for i in range(h.size):
        w_plus += h[i] * down[i] if h[i] > 0.0 else -h[i] * up[i]
        w_minus += h[i] * up[i] if h[i] > 0.0 else -h[i] * down[i]
    return w_plus, w_minus


def pair_step(pulls: Pulls, h: np.ndarray) -> float:
    """Step of RankBoost's bound for confidences in [-1, 1]: ``log((1 + r) / (1 - r)) / 4``.

    The exact step is infinite under partial matching, when no pair is ordered wrongly by `h`;
    this one only when all pairs are ordered rightly with full confidence, and is then capped.
    """
    total = pulls.down.sum() + pulls.up.sum()
    edge = (pulls.up - pulls.down) @ h
    return 0.25 * _log_ratio(float(total + edge), float(total - edge))


def _log_ratio(a: float, b: float) -> float:
    if a == b:  # both zero where a learner abstains everywhere
        return 0.0
    return float(np.log(max(a, _SHARE * b)) - np.log(max(b, _SHARE * a)))
