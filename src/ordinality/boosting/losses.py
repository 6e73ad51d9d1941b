"""Exponential losses over margins and over pairs, and their best thresholds, in the log domain.

All three losses of the paper are one sum,

    sum_n w_n ( exp(H_n + rising[y_n]) + exp(-H_n + falling[y_n]) ),

whose offsets `rising` and `falling` depend on the rank alone: on the thresholds for ORBoost
(5, 8), on sums over the other ranks for RankBoost (3). The first term rises with the score of
the row and the second falls; their difference is the gradient and their sum the second
derivative of the loss. ``exp(H)`` is only formed relative to the largest of its rank, so
nothing overflows.

For the loss over all margins each threshold has a closed form, and they come out ordered. Over
left and right margins they need not, and adjacent violators are pooled.

Lin & Li (2006), section 4; pooling as in Robertson, Wright & Dykstra (1988).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._compile import loop

__all__ = [
    "LossTerms",
    "ScaledExponentials",
    "all_offsets",
    "all_thresholds",
    "chord_step",
    "left_right_offsets",
    "left_right_thresholds",
    "loss_terms",
    "margin_terms",
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


# ---------------------------------------------------------------- the best thresholds

# Sums over ranks (K,) are logarithms, -inf for an empty rank; a threshold with no row on one
# side is infinite.


@loop
def all_thresholds(log_plus, log_minus):
    """Minimiser of the loss over all margins (8), shape (K-1,), from sums over ranks (K,)."""
    thresholds, m = np.empty(log_plus.size - 1), log_plus.size - 1
    below, above = -np.inf, -np.inf
    for k in range(m):
        below = np.logaddexp(below, log_plus[k])
        thresholds[k] = below
    for k in range(m - 1, -1, -1):
        above = np.logaddexp(above, log_minus[k + 1])
        thresholds[k] = 0.5 * (thresholds[k] - above)
    return thresholds


@loop
def left_right_thresholds(log_plus, log_minus):
    """Ordered minimiser of the loss over left and right margins (7), by pooling violators."""
    m, blocks = log_plus.size - 1, 0
    a, b, size = np.empty(m), np.empty(m), np.empty(m, dtype=np.int64)  # of each block
    for k in range(m):
        a[blocks], b[blocks], size[blocks] = log_plus[k], log_minus[k + 1], 1
        # Between two empty ranks both sums are -inf and the threshold is NaN, which is not `<=`
        # anything: it is pooled with its neighbour.
        while blocks and not a[blocks - 1] - b[blocks - 1] <= a[blocks] - b[blocks]:
            a[blocks - 1] = np.logaddexp(a[blocks - 1], a[blocks])
            b[blocks - 1] = np.logaddexp(b[blocks - 1], b[blocks])
            size[blocks - 1] += size[blocks]
            blocks -= 1
        blocks += 1
    thresholds, k = np.empty(m), 0
    for block in range(blocks):
        for _ in range(size[block]):
            thresholds[k] = 0.5 * (a[block] - b[block])
            k += 1
    return thresholds


# ---------------------------------------------------------------- offsets of each loss


@loop
def all_offsets(thresholds):
    """Offsets `rising` and `falling`, each of shape (K,), of the loss over all margins (8)."""
    return _accumulated(-thresholds, thresholds)


@loop
def left_right_offsets(thresholds):
    """Offsets of the loss over the two margins next to the rank (5)."""
    m = thresholds.size
    rising, falling = np.empty(m + 1), np.empty(m + 1)
    rising[m], falling[0] = -np.inf, -np.inf
    for k in range(m):
        rising[k], falling[k + 1] = -thresholds[k], thresholds[k]
    return rising, falling


@loop
def pair_offsets(log_plus, log_minus):
    """Offsets of the loss over pairs of different rank (3): sums over the other ranks.

    Every pair is counted twice, once for each of its rows, so the sum of all terms is twice
    the loss.
    """
    return _accumulated(log_minus[1:], log_plus[:-1])


@loop
def _accumulated(up, down):
    # rising[k] adds the exponentials of up[k:], falling[k] those of down[:k].
    m = up.size
    rising, falling = np.empty(m + 1), np.empty(m + 1)
    rising[m], falling[0] = -np.inf, -np.inf
    for k in range(m):
        falling[k + 1] = np.logaddexp(falling[k], down[k])
    for k in range(m - 1, -1, -1):
        rising[k] = np.logaddexp(rising[k + 1], up[k])
    return rising, falling


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


def margin_terms(
    H: np.ndarray, y: np.ndarray, n_levels: int, weights: np.ndarray, margins: str
) -> tuple[np.ndarray, LossTerms]:
    """Best thresholds of the loss over "all" or "left-right" margins, and its terms there."""
    # One loop in place of five: with some hundred rows, calls from Python take most of a round.
    *terms, best = _margin_terms(H, y, weights, n_levels, margins == "all")
    return best, LossTerms(*terms)


@loop
def _margin_terms(H, y, weights, n_levels, over_all):
    plus, minus, highest, lowest, log_plus, log_minus = _scaled_exponentials(
        H, y, weights, n_levels
    )
    if over_all:
        best = all_thresholds(log_plus, log_minus)
        rising, falling = all_offsets(best)
    else:
        best = left_right_thresholds(log_plus, log_minus)
        rising, falling = left_right_offsets(best)
    terms = _loss_terms(plus, minus, highest, lowest, y, rising, falling)
    return terms[0], terms[1], terms[2], best


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
