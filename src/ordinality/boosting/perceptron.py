"""Perceptrons by random coordinate descent, and the sigmoids made of them.

The loss of a perceptron is the weight of the rows on its wrong side. Along a direction p the
side of row n changes where ``(w + t p) . x_n = 0``, at the break-point
``-(w . x_n) / (p . x_n)``. Between break-points the loss is constant, so the best step is found
exactly from the order of the break-points. Directions come in cycles: the bias alone, then d
random ones (RCD-bias).

Not all break-points need sorting. They are put into bins; the running sum at the edges of the
bins and the sum of the negative jumps inside each bound the loss within a bin, and only the few
bins that may hold the minimum are sorted.

Li (2005), *Perceptron learning with random coordinate descent*; Lin & Li (2006), section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._compile import loop

__all__ = ["Halfspace", "Perceptron", "Sigmoid", "SoftHalfspace"]

_BLOCK = 16  # directions per matrix product: enough for BLAS, few enough for the cache
# Break-points (scaled to -1..1) nearer than this are one. Rounding moves each by a few 1e-16,
# and the values w . x, which are updated up to some hundred times, by about 1e-14.
_SAME_BREAKPOINT = 1e-12
# Above this length (w, bias) is scaled to one: steps are of order one, and added to a vector of
# length 1e5 they would lose five of sixteen digits.
_MAX_LENGTH = 1e5


@dataclass(frozen=True, eq=False)
class Halfspace:
    """+1 where ``w . x + bias >= 0`` and -1 elsewhere."""

    w: np.ndarray  # (d,)
    bias: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.where(X @ self.w + self.bias >= 0.0, 1.0, -1.0)

    def relevance(self, d: int) -> np.ndarray:
        """Squares of w, scaled to sum to one."""
        length = np.linalg.norm(self.w)
        return (self.w / length) ** 2 if length > 0 else np.zeros_like(self.w)


@dataclass(frozen=True, eq=False)
class SoftHalfspace(Halfspace):
    """``tanh(w . x + bias)``."""

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.tanh(X @ self.w + self.bias)


@dataclass(frozen=True)
class Perceptron:
    """Trainer of a `Halfspace` by random coordinate descent."""

    updates: int = 200  # exact line searches per perceptron, as in the authors' program

    def prepare(self, X: np.ndarray) -> _PerceptronTrainer:
        """Append a column of ones to the rows of `X`, for the bias."""
        return _PerceptronTrainer(X, self.updates, None)


@dataclass(frozen=True)
class Sigmoid:
    """Trainer of a `SoftHalfspace`: a perceptron scaled to length `gamma`, then smoothed."""

    gamma: float = 4.0  # length of (w, bias); the features should be standardised first
    updates: int = 200  # exact line searches per perceptron, as in the authors' program

    def prepare(self, X: np.ndarray) -> _PerceptronTrainer:
        """Append a column of ones to the rows of `X`, for the bias."""
        return _PerceptronTrainer(X, self.updates, self.gamma)


class _PerceptronTrainer:
    def __init__(self, X: np.ndarray, updates: int, gamma: float | None) -> None:
        self.X, self.updates, self.gamma = X, updates, gamma
        self.columns = np.vstack([X.T, np.ones(len(X))])  # (d + 1, n)
        self.workspace = _workspace(len(X))

    def learn(
        self, gradient: np.ndarray, hessian: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[Halfspace, np.ndarray]:
        w = _coordinate_descent(self.columns, gradient, self.updates, rng, self.workspace)
        kind = Halfspace
        if self.gamma is not None:
            w, kind = w * (self.gamma / np.linalg.norm(w)), SoftHalfspace
        halfspace = kind(w[:-1], float(w[-1]))
        return halfspace, halfspace(self.X)


def _coordinate_descent(
    columns: np.ndarray,
    g: np.ndarray,
    updates: int,
    rng: np.random.Generator,
    workspace: tuple[np.ndarray, ...],
) -> np.ndarray:
    """Weights and bias, shape (d + 1,), for which ``sign(w . x) @ g`` is small."""
    m = len(columns)
    w = rng.uniform(-0.05, 0.05, (m,))
    P = rng.uniform(-1.0, 1.0, (updates, m))
    P[:, -1] = 0.0
    P[::m] = np.eye(m)[-1]  # each cycle begins with the bias alone
    s = w @ columns
    for first in range(0, updates, _BLOCK):
        block = P[first : first + _BLOCK]
        w += _line_searches(block @ columns, s, g, *workspace) @ block
        length = np.linalg.norm(w)
        if length > _MAX_LENGTH:
            w /= length
            s /= length
    return w


def _workspace(n: int) -> tuple[np.ndarray, ...]:
    """Arrays for one line search over n rows: bins of about four rows, 2048 bins at most.

    More bins would not fit the first-level cache.
    """
    bins = 1 << int(np.clip(np.ceil(np.log2(n / 4.0)), 4, 11))
    rows = np.empty((2, n), np.int32)
    return np.zeros((bins, 2)), np.zeros(bins, np.bool_), rows[0], rows[1], np.empty((2, n))


@loop
def _line_searches(Q, s, g, sums, chosen, bins, rows, room):
    # An exact search along each direction; Q[j] holds p . x of every row, s holds w . x and is
    # updated after each step.
    steps, jumps, places = np.empty(Q.shape[0]), room[0], room[1]
    for j in range(Q.shape[0]):
        q = Q[j]
        scale = _typical_breakpoint(s, q)
        _bin_breakpoints(q, s, g, scale, chosen.size, bins, jumps)
        best, edge = _choose_bins(bins, jumps, sums, chosen)
        m = _sort_chosen(q, s, scale, bins, jumps, chosen, rows, places)
        left, right = _best_gap(rows[:m], places, bins, jumps, sums, best, edge)
        steps[j] = _step_to_middle(left, right, s, q)
        for i in range(s.size):
            s[i] += steps[j] * q[i]
    return steps


@loop
def _typical_breakpoint(s, q):
    # From some sixty rows: it only decides how evenly the bins fill.
    a, b = 0.0, 0.0
    for i in range(0, s.size, 1 + s.size // 64):
        a += abs(s[i])
        b += abs(q[i])
    return a / b if a > 0.0 and b > 0.0 else 1.0


@loop
def _bin_breakpoints(q, s, g, scale, n_bins, bins, jumps):
    # Break-points t = -s / q have Cauchy tails; u = t / (scale + |t|) rises with t from -1 to
    # 1 and needs no division by a q near zero. At t, the sum of side * g jumps by 2 g if q > 0
    # and by -2 g if q < 0; jumps hold half of that.
    # Just under a half: u = 1 then falls in the last bin, and no edge of a bin lies at u = 0,
    # where rows that are mirror images of each other have their break-points.
    half = 0.4987 * n_bins
    for i in range(s.size):
        t = -s[i] if q[i] > 0.0 else s[i]
        # 1e-300 avoids 0 / 0 for a row of zeros, and is below the rounding of any other.
        u = t / (scale * abs(q[i]) + abs(s[i]) + 1e-300)
        bins[i] = np.int32((u + 1.0) * half)
        jumps[i] = g[i] if q[i] > 0.0 else (-g[i] if q[i] < 0.0 else 0.0)


@loop
def _choose_bins(bins, jumps, sums, chosen):
    # The least sum at an edge of a bin, and that edge. Chosen are the bins in which the sum may
    # be less, and the nearest non-empty bins on both sides of the edge. sums[:, 0] is left with
    # the sum at the lower edge of each bin.
    sums[:] = 0.0
    for i in range(bins.size):
        sums[bins[i], 1 if jumps[i] < 0.0 else 0] += jumps[i]
    value, best, edge, n_bins = 0.0, 0.0, 0, chosen.size
    for b in range(n_bins):
        value += sums[b, 0] + sums[b, 1]
        if value < best:
            best, edge = value, b + 1
    left, right = edge - 1, edge
    while left > 0 and sums[left, 0] == 0.0 and sums[left, 1] == 0.0:
        left -= 1
    while right < n_bins - 1 and sums[right, 0] == 0.0 and sums[right, 1] == 0.0:
        right += 1
    value = 0.0
    for b in range(n_bins):
        after = value + (sums[b, 0] + sums[b, 1])
        chosen[b] = value + sums[b, 1] < best
        sums[b, 0] = value
        value = after
    if left >= 0:
        chosen[left] = True
    if right < n_bins:
        chosen[right] = True
    return best, edge


@loop
def _sort_chosen(q, s, scale, bins, jumps, chosen, rows, places):
    # The rows of the chosen bins in order of u, without rows of no weight.
    m = 0
    for i in range(bins.size):
        if chosen[bins[i]] and jumps[i] != 0.0:
            rows[m] = i
            m += 1
    for a in range(m):
        i = rows[a]
        t = -s[i] if q[i] > 0.0 else s[i]
        places[a] = t / (scale * abs(q[i]) + abs(s[i]) + 1e-300)
    if m > 64:
        order, old_rows, old_places = np.argsort(places[:m]), rows[:m].copy(), places[:m].copy()
        for a in range(m):  # assignments of slices take two seconds to compile
            rows[a], places[a] = old_rows[order[a]], old_places[order[a]]
        return m
    for a in range(1, m):
        row, place, b = rows[a], places[a], a
        while b > 0 and places[b - 1] > place:
            rows[b], places[b] = rows[b - 1], places[b - 1]
            b -= 1
        rows[b], places[b] = row, place
    return m


@loop
def _best_gap(rows, places, bins, jumps, sums, best, edge):
    # The two rows between whose break-points the sum is least; -1 where a side has none.
    left, right, inside, value, current = -1, -1, False, 0.0, -1
    for a in range(rows.size):
        b = bins[rows[a]]
        if b != current:
            value, current = sums[b, 0], b
        value += jumps[rows[a]]
        last = a + 1 == rows.size or bins[rows[a + 1]] != b
        if not last and places[a + 1] - places[a] > _SAME_BREAKPOINT and value < best:
            best, left, right, inside = value, rows[a], rows[a + 1], True
        elif not inside and b < edge:
            left = rows[a]
        elif not inside and right < 0:
            right = rows[a]
    return left, right


@loop
def _step_to_middle(left, right, s, q):
    if left < 0 and right < 0:
        return 0.0  # the sum does not depend on this direction
    if left < 0:
        return -s[right] / q[right] - 1.0
    if right < 0:
        return -s[left] / q[left] + 1.0
    return -0.5 * (s[left] / q[left] + s[right] / q[right])
