"""Exponential losses over margins and over pairs, in the log domain.

All three losses of the paper are one sum,

    sum_n w_n ( exp(H_n + rising[y_n]) + exp(-H_n + falling[y_n]) ),

whose offsets `rising` and `falling` depend on the rank alone: on the thresholds for ORBoost
(5, 8), on sums over the other ranks for RankBoost (3). The first term rises with the score of
the row and the second falls; their difference is the gradient and their sum the second
derivative of the loss. ``exp(H)`` is only formed relative to the largest of its rank, so
nothing overflows.

Lin & Li (2006), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._compile import loop

__all__ = [
    "LossTerms",
    "ScaledExponentials",
    "all_offsets",
    "chord_step",
    "left_right_offsets",
    "loss_terms",
    "pair_offsets",
    "pair_step",
    "scaled_exponentials",
]

# The best step of a learner that is right on every row is infinite. Taking the smaller of the
# two sums as at least this share of the larger bounds steps by log(1e10) / 2 = 11.5: the loss
# of every such row shrinks by a factor of 1e5, and later learners still have an effect.
_SHARE = 1e-10

# Below this the share of a sum is subnormal and may underflow to zero, whose logarithm is
# infinite. Such sums come from outputs as small, of a learner that nearly abstains.
_SUBNORMAL_SHARE = float(np.finfo(float).tiny) / _SHARE


@dataclass(frozen=True, eq=False)
class ScaledExponentials:
    """``w exp(H)`` and ``w exp(-H)`` of every row, relative to the largest of its rank."""

    plus: np.ndarray  # (n,), exp(H - highest[y]) times the weight
    minus: np.ndarray  # (n,), exp(lowest[y] - H) times the weight
    highest: np.ndarray  # (K,), largest score of each rank; -inf where the rank is empty
    lowest: np.ndarray  # (K,), smallest score of each rank; +inf where the rank is empty
    log_plus: np.ndarray  # (K,), log of the sum of w exp(H) over the rank
    log_minus: np.ndarray  # (K,), log of the sum of w exp(-H) over the rank


def scaled_exponentials(
    H: np.ndarray, y: np.ndarray, n_levels: int, weights: np.ndarray
) -> ScaledExponentials:
    """Exponentials of scores of any size and their sums over ranks; weights are positive."""
    return ScaledExponentials(*_scaled_exponentials(H, y, weights, n_levels))


@loop
def _scaled_exponentials(H, y, weights, n_levels):
    # Scalar loops: array expressions take a second longer to compile.
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
        # span <= relative <= 1. Above 1e-300, well over the smallest normal number 2e-308,
        # neither has lost digits and the quotient is as accurate as the exponential.
        if span[k] > 1e-300:
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
    """Offsets `rising` and `falling`, each of shape (K,), of the loss over all margins (8)."""
    rising = np.logaddexp.accumulate(-thresholds[::-1])[::-1]
    falling = np.logaddexp.accumulate(thresholds)
    return np.append(rising, -np.inf), np.append(-np.inf, falling)


def left_right_offsets(thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the loss over the two margins next to the rank (5)."""
    return np.append(-thresholds, -np.inf), np.append(-np.inf, thresholds)


def pair_offsets(log_plus: np.ndarray, log_minus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the loss over pairs of different rank (3): sums over the other ranks.

    Every pair is counted twice, once for each of its rows, so the sum of all terms is twice
    the loss.
    """
    above = np.logaddexp.accumulate(log_minus[:0:-1])[::-1]
    below = np.logaddexp.accumulate(log_plus[:-1])
    return np.append(above, -np.inf), np.append(-np.inf, below)


# ---------------------------------------------------------------- terms and steps


@dataclass(frozen=True, eq=False)
class LossTerms:
    """The two terms of every row in the loss, in units of ``exp(log_unit)``."""

    rising: np.ndarray  # (n,), proportional to exp(H)
    falling: np.ndarray  # (n,), proportional to exp(-H)
    log_unit: float

    @property
    def gradient(self) -> np.ndarray:
        """Derivative of the loss in each score, shape (n,), in the same units."""
        return self.rising - self.falling

    @property
    def hessian(self) -> np.ndarray:
        """Second derivative of the loss in each score, shape (n,)."""
        return self.rising + self.falling

    @property
    def log_total(self) -> float:
        """Logarithm of the sum of all terms."""
        return self.log_unit + float(np.log(self.rising.sum() + self.falling.sum()))


def loss_terms(
    e: ScaledExponentials, y: np.ndarray, rising: np.ndarray, falling: np.ndarray
) -> LossTerms:
    """Terms of every row under the offsets of a loss."""
    return LossTerms(*_loss_terms(e.plus, e.minus, e.highest, e.lowest, y, rising, falling))


@loop
def _loss_terms(plus, minus, highest, lowest, y, rising, falling):
    a, b, unit = np.empty(rising.size), np.empty(rising.size), -np.inf
    for k in range(a.size):
        a[k], b[k] = highest[k] + rising[k], falling[k] - lowest[k]
        if highest[k] >= lowest[k]:  # not so for a rank without rows
            unit = max(unit, a[k], b[k])
    for k in range(a.size):
        a[k], b[k] = np.exp(a[k] - unit), np.exp(b[k] - unit)
    row_rising, row_falling = np.empty(y.size), np.empty(y.size)
    for i in range(y.size):
        row_rising[i] = plus[i] * a[y[i]]
        row_falling[i] = minus[i] * b[y[i]]
    return row_rising, row_falling, unit


def chord_step(terms: LossTerms, h: np.ndarray) -> float:
    """Step that minimises the chord bound on the loss (section 4.2); exact if h is -1, 0, 1."""
    w_plus, w_minus = _chord_sums(h, terms.rising, terms.falling)
    return 0.5 * _log_ratio(w_minus, w_plus)


@loop
def _chord_sums(h, rising, falling):
    w_plus, w_minus = 0.0, 0.0
    for i in range(h.size):
        w_plus += h[i] * rising[i] if h[i] > 0.0 else -h[i] * falling[i]
        w_minus += h[i] * falling[i] if h[i] > 0.0 else -h[i] * rising[i]
    return w_plus, w_minus


def pair_step(terms: LossTerms, h: np.ndarray) -> float:
    """Step of RankBoost's bound for confidences in [-1, 1]: ``log((1 + r) / (1 - r)) / 4``.

    The exact step is infinite under partial matching, when `h` orders no pair wrongly; this one
    only when it orders all pairs correctly with full confidence, and is then bounded.
    """
    total = terms.rising.sum() + terms.falling.sum()
    edge = (terms.falling - terms.rising) @ h
    return 0.25 * _log_ratio(float(total + edge), float(total - edge))


def _log_ratio(a: float, b: float) -> float:
    if a == b:  # both zero where a learner abstains everywhere
        return 0.0
    if max(a, b) < _SUBNORMAL_SHARE:  # a power of two: exact, and the ratio stays
        a, b = 2.0**100 * a, 2.0**100 * b
    return float(np.log(max(a, _SHARE * b)) - np.log(max(b, _SHARE * a)))
