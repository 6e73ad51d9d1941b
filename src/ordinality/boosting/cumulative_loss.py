"""Cumulative logit loss of a score, with thresholds and perhaps a noise of each row.

Level k is seen when ``thresholds[k-1] < f + s e <= thresholds[k]`` with logistic e. The loss is
minus the log of that probability,

    u = (thresholds[k] - f) / s,    l = (thresholds[k-1] - f) / s,
    d/df = -(S(u) + S(l) - 1) / s,  d2/df2 = (S(u) S(-u) + S(l) S(-l)) / s^2 > 0,

S the sigmoid; infinite ends contribute nothing to the second derivative. In ``log s`` the
second derivative can be negative; its expectation, the Fisher information, takes its place. For
given scores the loss is convex in the thresholds, with a tridiagonal second derivative.

McCullagh (1980), *Regression models for ordinal data*.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, solveh_banded
from scipy.special import logit

from .._compile import check_shape, loop

__all__ = [
    "fitted_thresholds",
    "gradients",
    "level_proba",
    "log_proba",
    "newton_thresholds",
    "scale_information",
    "threshold_terms",
    "thresholds_of_shares",
]

# A noise beyond exp(+-3) of the usual one makes no difference that a held-out row would notice,
# and a score that ran away could not come back.
_WIDEST = 3.0


def thresholds_of_shares(totals: np.ndarray) -> np.ndarray:
    """Best thresholds where all scores are zero, from the total weight of each level, (K,)."""
    return logit(np.cumsum(totals)[:-1] / totals.sum())


def gradients(
    y: np.ndarray,
    weights: np.ndarray,
    f: np.ndarray,
    log_s: np.ndarray,
    thresholds: np.ndarray,
    information: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivatives in the scores, in single precision as LightGBM takes them.

    ``log_s`` is empty if all rows have the same noise. Otherwise the derivatives in ``log s``
    follow those in ``f``; ``information`` stands for the second one of each row.
    """
    check_shape(y.shape, weights=weights, f=f)
    check_shape((y.size if log_s.size else 0,), log_s=log_s, information=information)
    first = np.empty(y.size + log_s.size, dtype=np.float32)
    second = np.empty_like(first)
    _gradients(y, weights, f, log_s, thresholds, information, first, second)
    return first, second


def scale_information(f: np.ndarray, log_s: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Fisher information of ``log s`` in one row at each score, shape (n,)."""
    check_shape(f.shape, log_s=log_s)
    found = np.empty(f.size)
    _information(f, log_s, thresholds, found)
    return found


def log_proba(
    y: np.ndarray, f: np.ndarray, log_s: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    """Log of the probability of level ``y`` of each row, shape (n,)."""
    check_shape(y.shape, f=f)
    check_shape((y.size if log_s.size else 0,), log_s=log_s)
    found = np.empty(y.size)
    _log_proba(y, f, log_s, thresholds, found)
    return found


def level_proba(f: np.ndarray, log_s: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Probability of every level, shape (n, K); rows sum to one."""
    proba = np.empty((f.size, thresholds.size + 1))
    for k in range(proba.shape[1]):
        proba[:, k] = np.exp(log_proba(np.full(f.size, k), f, log_s, thresholds))
    return proba / proba.sum(axis=1, keepdims=True)


def fitted_thresholds(
    y: np.ndarray,
    weights: np.ndarray,
    f: np.ndarray,
    log_s: np.ndarray,
    thresholds: np.ndarray,
    steps: int,
) -> np.ndarray:
    """Thresholds after some Newton steps on the loss of rows whose scores are given.

    Every level must occur in `y`.
    """
    return newton_thresholds(
        lambda moved: threshold_terms(y, weights, f, log_s, moved), thresholds, steps
    )


def newton_thresholds(
    terms: Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]],
    thresholds: np.ndarray,
    steps: int,
) -> np.ndarray:
    """Thresholds after some Newton steps; ``terms`` is `threshold_terms` of all rows.

    Steps that leave the order or raise the loss are halved.
    """
    value, gradient, bands = terms(thresholds)
    for _ in range(steps):
        try:
            step = solveh_banded(bands, gradient)
        except LinAlgError:  # scores that separate the levels: curvature below rounding
            return thresholds
        for _halving in range(30):
            moved = thresholds + step
            if np.all(np.diff(moved) > 0):
                found = terms(moved)
                if found[0] >= value:
                    break
            step = 0.5 * step
        else:
            return thresholds  # a step of 1e-9 does not help: this is the optimum
        thresholds, (value, gradient, bands) = moved, found
    return thresholds


def threshold_terms(
    y: np.ndarray,
    weights: np.ndarray,
    f: np.ndarray,
    log_s: np.ndarray,
    thresholds: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-likelihood, its gradient, and minus its Hessian as two bands."""
    gradient, bands = np.zeros(thresholds.size), np.zeros((2, thresholds.size))
    value = _threshold_sums(y, weights, f, log_s, thresholds, gradient, bands)
    return value, gradient, bands if thresholds.size > 1 else bands[1:]


@loop
def _noise(log_s, i):
    return math.exp(min(max(log_s[i], -_WIDEST), _WIDEST)) if log_s.size else 1.0


@loop
def _sigmoids(x):  # S(x) and S(-x), without cancellation
    e = math.exp(-abs(x))
    small, large = e / (1.0 + e), 1.0 / (1.0 + e)
    return (large, small) if x >= 0.0 else (small, large)


@loop
def _softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@loop
def _log_proba(y, f, log_s, thresholds, found):
    last = thresholds.size
    for i in range(y.size):
        s, k, value = _noise(log_s, i), y[i], 0.0
        if k < last:
            value -= _softplus((f[i] - thresholds[k]) / s)
        if k > 0:
            value -= _softplus((thresholds[k - 1] - f[i]) / s)
            if k < last:
                width = (thresholds[k] - thresholds[k - 1]) / s
                value += math.log(-math.expm1(-width))
        found[i] = value


@loop
def _gradients(y, weights, f, log_s, thresholds, information, first, second):
    n, last = y.size, thresholds.size
    for i in range(n):
        s, k, w = _noise(log_s, i), y[i], weights[i]
        up, above, down, below = 1.0, 0.0, 0.0, 1.0
        u, l, q = 0.0, 0.0, 0.0  # noqa: E741 - letters of the head
        if k < last:
            u = (thresholds[k] - f[i]) / s
            up, above = _sigmoids(u)
        if k > 0:
            l = (thresholds[k - 1] - f[i]) / s  # noqa: E741
            down, below = _sigmoids(l)
            if k < last and log_s.size:
                q = 1.0 / math.expm1((thresholds[k] - thresholds[k - 1]) / s)
        first[i] = -w * (down - above) / s
        second[i] = w * (up * above + down * below) / (s * s)
        if log_s.size:
            first[n + i] = w * (u * (above + q) - l * (down + q))
            second[n + i] = w * information[i]


@loop
def _information(f, log_s, thresholds, found):
    # Sum over levels of (dP/dlog s)^2 / P, where P(y <= k) has the derivative -T S(T) S(-T),
    # T = (threshold - f) / s. The difference of two sigmoids is taken in the tail where both
    # are small.
    for i in range(f.size):
        s = _noise(log_s, i)
        total, before, up, above = 0.0, 0.0, 0.0, 1.0
        for k in range(thresholds.size):
            T = (thresholds[k] - f[i]) / s
            last_up, last_above = up, above
            up, above = _sigmoids(T)
            after = T * up * above
            p = up - last_up if T < 0.0 else last_above - above
            if p > 0.0:
                total += (after - before) ** 2 / p
            before = after
        found[i] = total + before**2 / above if above > 0.0 else total


@loop
def _threshold_sums(y, weights, f, log_s, thresholds, gradient, bands):
    # bands[1] is the diagonal, bands[0, k] couples the thresholds k - 1 and k.
    last, total = thresholds.size, 0.0
    for i in range(y.size):
        s, k, w = _noise(log_s, i), y[i], weights[i]
        q, r_u, r_l, value = 0.0, 0.0, 0.0, 0.0
        if 0 < k < last:
            width = (thresholds[k] - thresholds[k - 1]) / s
            q = 1.0 / math.expm1(width)
            value += math.log(-math.expm1(-width))
        curve_u, curve_l = 0.0, 0.0
        if k < last:
            x = (thresholds[k] - f[i]) / s
            up, above = _sigmoids(x)
            r_u, curve_u = above + q, up * above
            value -= _softplus(-x)
        if k > 0:
            x = (thresholds[k - 1] - f[i]) / s
            down, below = _sigmoids(x)
            r_l, curve_l = down + q, down * below
            value -= _softplus(x)
        total += w * value
        both, square = r_u * r_l, w / (s * s)
        if k < last:
            gradient[k] += w * r_u / s
            bands[1, k] += square * (curve_u + both)
        if k > 0:
            gradient[k - 1] -= w * r_l / s
            bands[1, k - 1] += square * (curve_l + both)
            if k < last:
                bands[0, k] -= square * both
    return total
