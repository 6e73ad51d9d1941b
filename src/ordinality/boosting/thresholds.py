"""Thresholds of least error for given scores, and finite places for infinite thresholds.

For absolute and zero-one error one pass over the sorted scores counts the errors.

The threshold of least exponential loss (`losses`) with no training row on one side is infinite,
which takes its terms out of the loss; `finite_thresholds` then puts it one unit beyond the
other scores and thresholds, where no row changes its rank.

Lin & Li (2006), section 4.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compile import loop

__all__ = [
    "finite_thresholds",
    "least_error_thresholds",
    "midpoint",
]


def finite_thresholds(thresholds: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The same, with infinite thresholds one unit beyond all scores and finite thresholds."""
    known = np.isfinite(thresholds)
    if known.all():
        return thresholds
    finite = thresholds[known]
    low = min(H.min(), *finite) if finite.size else H.min()
    high = max(H.max(), *finite) if finite.size else H.max()
    return np.clip(thresholds, low - 1.0, high + 1.0)


# ---------------------------------------------------------------- counting errors


def least_error_thresholds(
    H: np.ndarray, y: np.ndarray, n_levels: int, weights: np.ndarray, error: str = "absolute"
) -> np.ndarray:
    """Thresholds of least absolute or zero-one training error (4).

    Each lies in the middle of its gap between scores (the lowest of the best gaps), or one unit
    beyond the extreme score.
    """
    order = np.argsort(H, kind="stable")
    scores = H[order]
    count = {"absolute": _least_absolute, "zero-one": _least_zero_one}[error]
    at = count(scores, y[order], weights[order], n_levels)
    ends = np.concatenate([[scores[0] - 2.0], scores, [scores[-1] + 2.0]])
    return midpoint(ends[at], ends[at + 1])


def midpoint(low: Any, high: Any) -> Any:
    """Middle of two values, ``low < high``; never `high`, to which it may round."""
    middle = low + 0.5 * (high - low)
    return np.where(middle < high, middle, low)[()]


@loop
def _least_absolute(H, y, w, n_levels):
    # H ascending. The error of threshold k is the weight of the rows of rank <= k above it and
    # of the others below it. It starts below all scores; passing row i adds -w[i] or +w[i].
    n, m = H.size, n_levels - 1
    error, best, at = np.zeros(m), np.zeros(m), np.zeros(m, dtype=np.int64)
    for i in range(n):
        for k in range(m):
            error[k] += -w[i] if y[i] <= k else w[i]
        if i + 1 == n or H[i] < H[i + 1]:
            for k in range(m):
                if error[k] < best[k]:
                    best[k], at[k] = error[k], i + 1
    # Ordered in exact arithmetic; the rounding of sums of weights may break a tie wrongly.
    for k in range(1, m):
        at[k] = max(at[k], at[k - 1])
    return at


@loop
def _least_zero_one(H, y, w, n_levels):
    # H ascending. gain[k]: the largest weight of correctly ranked rows among those so far if
    # the next row has rank k; start[k, i]: how many of the first i lie below threshold k-1.
    n = H.size
    gain, start = np.zeros(n_levels), np.zeros((n_levels, n + 1), dtype=np.int64)
    for i in range(n):
        gain[y[i]] += w[i]
        for k in range(n_levels):
            start[k, i + 1] = start[k, i]
        if i + 1 < n and H[i] == H[i + 1]:
            continue
        for k in range(1, n_levels):
            if gain[k - 1] > gain[k]:
                gain[k], start[k, i + 1] = gain[k - 1], i + 1
    at = np.empty(n_levels - 1, dtype=np.int64)
    end = n
    for k in range(n_levels - 1, 0, -1):
        end = start[k, end]
        at[k - 1] = end
    return at
