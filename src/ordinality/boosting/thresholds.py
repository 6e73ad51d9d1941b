"""The best thresholds for given scores: by closed form, by pooling, by counting.

For the exponential loss over all margins every threshold is found on its own, and they come out
ordered; over left and right margins they must be told to be, and adjacent violators are pooled.
For absolute and zero-one error the sorted scores are walked once and mistakes are counted.

A threshold with no training row on one side would like to be infinite. The exponential rules
return it so, which takes its terms out of the loss; `placed` then puts it one unit beyond the
other scores and thresholds, where no row changes its rank.

Lin & Li (2006), sections 4.1 to 4.3; pooling as in Robertson, Wright & Dykstra (1988).
"""

from __future__ import annotations

import numpy as np

from .._compile import loop

__all__ = ["all_thresholds", "counted", "left_right_thresholds", "placed"]


def all_thresholds(log_plus: np.ndarray, log_minus: np.ndarray) -> np.ndarray:
    """Minimiser of the loss over all margins (8), from sums over ranks."""
    below = np.logaddexp.accumulate(log_plus[:-1])
    above = np.logaddexp.accumulate(log_minus[:0:-1])[::-1]
    return 0.5 * (below - above)


def left_right_thresholds(log_plus: np.ndarray, log_minus: np.ndarray) -> np.ndarray:
    """Ordered minimiser of the loss over left and right margins (7), by pooling violators.

    Parameters and result are those of `all_thresholds`.
    """
    blocks: list[tuple[float, float, int]] = []  # log A, log B, how many thresholds
    for a, b in zip(log_plus[:-1].tolist(), log_minus[1:].tolist(), strict=True):
        block = (a, b, 1)
        while blocks and _violated(blocks[-1], block):
            block = _pooled(blocks.pop(), block)
        blocks.append(block)
    return np.repeat([0.5 * (a - b) for a, b, _ in blocks], [size for *_, size in blocks])


def _violated(low: tuple[float, float, int], high: tuple[float, float, int]) -> bool:
    # A threshold between two empty ranks has nothing to say (-inf, -inf): its value is not a
    # number, which is not `<=` anything, and it joins its neighbour.
    return not low[0] - low[1] <= high[0] - high[1]


def _pooled(
    low: tuple[float, float, int], high: tuple[float, float, int]
) -> tuple[float, float, int]:
    a, b = np.logaddexp(low[0], high[0]), np.logaddexp(low[1], high[1])
    return float(a), float(b), low[2] + high[2]


def placed(thresholds: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The same thresholds with infinite ones a unit beyond all scores and other thresholds."""
    if np.all(np.isfinite(thresholds)):
        return thresholds
    finite = thresholds[np.isfinite(thresholds)]
    low = min(H.min(), *finite) if finite.size else H.min()
    high = max(H.max(), *finite) if finite.size else H.max()
    return np.clip(thresholds, low - 1.0, high + 1.0)


# ---------------------------------------------------------------- counting


def counted(
    H: np.ndarray, y: np.ndarray, n_levels: int, weights: np.ndarray, error: str = "absolute"
) -> np.ndarray:
    """Thresholds with the least absolute or zero-one error on the rows at hand (4)."""
    order = np.argsort(H, kind="stable")
    scores = H[order]
    walk = {"absolute": _least_absolute, "zero-one": _least_zero_one}[error]
    at = walk(scores, y[order], weights[order], n_levels)
    gaps = np.concatenate([[scores[0] - 2.0], scores, [scores[-1] + 2.0]])
    left, right = gaps[at], gaps[at + 1]
    middle = left + 0.5 * (right - left)
    # Between neighbouring floats the middle may round up, and a score must exceed it.
    return np.where(middle < right, middle, left)


@loop
def _least_absolute(H: np.ndarray, y: np.ndarray, w: np.ndarray, n_levels: int) -> np.ndarray:
    # H ascending. The error of threshold k: rows of rank <= k above it, and others below it;
    # relative to the threshold below all scores, passing a row changes it by -w or +w.
    n, m = H.size, n_levels - 1
    error, best, at = np.zeros(m), np.zeros(m), np.zeros(m, dtype=np.int64)
    for i in range(n):
        for k in range(m):
            error[k] += -w[i] if y[i] <= k else w[i]
        if i + 1 == n or H[i] < H[i + 1]:
            for k in range(m):
                if error[k] < best[k]:
                    best[k], at[k] = error[k], i + 1
    for k in range(1, m):  # ordered in exact arithmetic; weights that do not add up exactly
        at[k] = max(at[k], at[k - 1])  # may break a tie the wrong way
    return at


@loop
def _least_zero_one(H: np.ndarray, y: np.ndarray, w: np.ndarray, n_levels: int) -> np.ndarray:
    # H ascending. gain[k]: the most weight put right among the rows so far when the last of
    # them may still get rank k; start[k, i]: how many rows lie below threshold k-1 then.
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
