"""Newton's method on a face of the box: every multiplier between its bounds moved at once.

Steps of two multipliers find quickly which of them end on a bound. Where rows are nearly
dependent and prices high they then crawl: each undoes part of the last. What is left is a small
linear system in the multipliers between their bounds, and that is solved here. A step that
would leave the box is bent along its sides, and multipliers that came to a bound stay there
while the rest is solved again (Bertsekas, 1982, *Projected Newton methods for optimization
problems with simple constraints*; More and Toraldo, 1991).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from .._compile import loop

__all__ = ["climb"]

_ROUNDS = 12  # solutions at most; what is left by then is for the steps in between
_ROUNDING = 1e-12  # multipliers as near as this part to a bound are there


def climb(
    K: np.ndarray, alpha: np.ndarray, slope: np.ndarray, upper: np.ndarray, ridge: float
) -> np.ndarray:
    """Maximise ``slope' d - d' K d / 2`` with alpha + d in the box; never ends lower.

    Parameters
    ----------
    K : ndarray of shape (q, q)
        Kernel of the terms between their bounds; copies among them do no harm.
    alpha : ndarray of shape (q,)
        Strictly between zero and ``upper``.
    slope : ndarray of shape (q,)
        Derivatives of the dual there.
    upper : ndarray of shape (q,)
    ridge : float
        Added to the diagonal, lest copies make it singular. It shortens steps along what the
        kernel hardly sees; it does not move the optimum.

    Returns
    -------
    ndarray of shape (q,)
        The new multipliers; those on a bound are so exactly.

    Examples
    --------
    >>> K, upper = np.diag([1.0, 4.0]), np.array([2.0, 2.0])
    >>> climb(K, np.array([0.5, 0.5]), np.array([3.0, 1.0]), upper, 0.0)
    array([2.  , 0.75])
    """
    found, slope, free = alpha.copy(), slope.copy(), np.arange(len(alpha))
    # Below this, rounding alone can make the factor of a singular matrix fail.
    ridge = max(ridge, len(K) * np.finfo(float).eps * float(np.trace(K)))
    for _ in range(_ROUNDS):
        part = K[np.ix_(free, free)]
        _, way, failed = dposv(part + ridge * np.eye(len(free)), slope[free], overwrite_a=True)
        if failed:  # not a kernel, but some function of a user's
            break
        here, most = found[free], upper[free]
        reach = _reach(here, most, way)
        t = _farthest(part, slope[free], way, reach, np.argsort(reach))
        there = np.where(reach <= t, np.where(way > 0, most, 0.0), here + t * way)
        found[free] = there = _placed(there, most)
        move = np.zeros(len(K))
        move[free] = there - here
        slope -= K @ move
        free = free[(there > 0.0) & (there < most)]
        if np.min(reach) >= 1.0 or not len(free):
            break
    return found


def _reach(alpha: np.ndarray, upper: np.ndarray, way: np.ndarray) -> np.ndarray:
    """How far each multiplier can go that way."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(way > 0, upper - alpha, alpha) / np.abs(way)


def _placed(alpha: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """What rounding left next to a bound, on it."""
    alpha = np.where(alpha < _ROUNDING * upper, 0.0, alpha)
    return np.where(upper - alpha < _ROUNDING * upper, upper, alpha)


@loop
def _farthest(
    K: np.ndarray, slope: np.ndarray, way: np.ndarray, reach: np.ndarray, order: np.ndarray
) -> float:
    """Where between 0 and 1 the dual is highest along a way that is bent at the bounds.

    Multipliers stop in the ``order`` of their ``reach``. Between two stops the dual is a
    parabola, whose slope and curvature follow from the last one's.
    """
    n, moving, slope = len(way), way.copy(), slope.copy()
    curve = np.zeros(n)  # K moving
    for i in range(n):
        for j in range(n):
            curve[i] += K[i, j] * way[j]
    t = height = best = at = 0.0
    for i in range(n):
        stop = min(reach[order[i]], 1.0)
        first, second = np.sum(slope * moving), np.sum(moving * curve)
        top = stop - t
        if second * top > first:
            top = max(first / second, 0.0)
        if height + top * (first - 0.5 * top * second) > best:
            best, at = height + top * (first - 0.5 * top * second), t + top
        height += (stop - t) * (first - 0.5 * (stop - t) * second)
        slope -= (stop - t) * curve
        t = stop
        if t == 1.0:
            break
        curve -= moving[order[i]] * K[order[i]]
        moving[order[i]] = 0.0
    return at
