"""Perceptrons by random coordinate descent, and the sigmoids made of them.

A perceptron is judged by the weight of the rows on its wrong side. Along a direction p the side
of row n flips where ``(w + t p) . x_n = 0``, at the break-point ``-(w . x_n) / (p . x_n)``;
between break-points nothing changes, so the best step is found exactly from the order of the
break-points. Directions come in cycles: the bias alone, then d random ones (RCD-bias).

Sorting all break-points is not needed. They are counted into bins; the running sum at the edges
of the bins and the negative part inside each bound what a bin can hold, and only bins that may
hold the optimum (a handful) are sorted.

Li (2005), *Perceptron learning with random coordinate descent*; Lin & Li (2006), section 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._compile import loop

__all__ = ["Halfspace", "Perceptron", "Sigmoid", "SoftHalfspace"]

_BLOCK = 16  # directions at a time: enough for BLAS, few enough for the cache
_ROUNDING = 1e-12  # break-points (scaled to -1..1) that are nearer than this are one
_FAR = 1e5  # a length of (w, bias) that is brought back to one


@dataclass(frozen=True, eq=False)
class Halfspace:
    """+1 where ``w . x + bias >= 0`` and -1 elsewhere."""

    w: np.ndarray  # (d,)
    bias: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.where(X @ self.w + self.bias >= 0.0, 1.0, -1.0)

    def relevance(self, d: int) -> np.ndarray:
        """Share of each feature in the length of w: squares, adding up to one."""
        return _squares(self.w)


@dataclass(frozen=True, eq=False)
class SoftHalfspace:
    """``tanh(w . x + bias)``."""

    w: np.ndarray  # (d,)
    bias: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.tanh(X @ self.w + self.bias)

    def relevance(self, d: int) -> np.ndarray:
        """Share of each feature in the length of w: squares, adding up to one."""
        return _squares(self.w)


def _squares(w: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(w)
    return (w / length) ** 2 if length > 0 else np.zeros_like(w)


@dataclass(frozen=True)
class Perceptron:
    """Trainer of a `Halfspace` by random coordinate descent."""

    updates: int = 200  # exact line searches per perceptron, as in the authors' program

    def prepare(self, X: np.ndarray) -> _Descent:
        """Ready for rounds on the rows of `X`."""
        return _Descent.on(X, self.updates, None)


@dataclass(frozen=True)
class Sigmoid:
    """Trainer of a `SoftHalfspace`: a perceptron scaled to length `gamma`, then smoothed."""

    gamma: float = 4.0  # length of (w, bias); the features should be standardised first
    updates: int = 200  # exact line searches per perceptron, as in the authors' program

    def prepare(self, X: np.ndarray) -> _Descent:
        """Ready for rounds on the rows of `X`."""
        return _Descent.on(X, self.updates, self.gamma)


@dataclass(frozen=True, eq=False)
class _Descent:
    """Rows with a one appended, as columns; and memory for line searches."""

    X: np.ndarray
    columns: np.ndarray  # (d + 1, n)
    updates: int
    gamma: float | None
    memory: tuple[np.ndarray, ...]

    @classmethod
    def on(cls, X: np.ndarray, updates: int, gamma: float | None) -> _Descent:
        columns = np.vstack([X.T, np.ones(len(X))])
        return cls(X, columns, updates, gamma, _memory(len(X)))

    def learn(
        self, gradient: np.ndarray, mass: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[Halfspace | SoftHalfspace, np.ndarray]:
        """Halfspace against `gradient`, and its output on the rows."""
        w = _descended(self.columns, gradient, self.updates, rng, self.memory)
        value: Halfspace | SoftHalfspace
        if self.gamma is None:
            value = Halfspace(w[:-1], float(w[-1]))
        else:
            w = w * (self.gamma / np.linalg.norm(w))
            value = SoftHalfspace(w[:-1], float(w[-1]))
        return value, value(self.X)


def _descended(
    columns: np.ndarray,
    g: np.ndarray,
    updates: int,
    rng: np.random.Generator,
    memory: tuple[np.ndarray, ...],
) -> np.ndarray:
    """Weights and bias, shape (d + 1,), that try to minimise ``sign(w . x) @ g``."""
    m = len(columns)
    w = rng.uniform(-0.05, 0.05, (m,))
    P = rng.uniform(-1.0, 1.0, (updates, m))
    P[:, -1] = 0.0
    P[::m] = np.eye(m)[-1]  # a cycle opens with the bias alone
    s = w @ columns
    for first in range(0, updates, _BLOCK):
        block = P[first : first + _BLOCK]
        w += _searches(block @ columns, s, g, *memory) @ block
        length = np.linalg.norm(w)
        if length > _FAR:
            w /= length
            s /= length
    return w


def _memory(n: int) -> tuple[np.ndarray, ...]:
    """Room for one line search over n rows: bins of about four rows, in the nearest cache."""
    bins = 1 << int(np.clip(np.ceil(np.log2(n / 4.0)), 4, 11))
    rows = np.empty((2, n), np.int32)
    return np.zeros((bins, 2)), np.zeros(bins, np.bool_), rows[0], rows[1], np.empty((2, n))


@loop
def _searches(
    Q: np.ndarray,
    s: np.ndarray,
    g: np.ndarray,
    sums: np.ndarray,
    chosen: np.ndarray,
    bins: np.ndarray,
    rows: np.ndarray,
    room: np.ndarray,
) -> np.ndarray:
    # An exact search along each row of Q; s, the value w . x of every row, follows.
    steps, jumps, places = np.empty(Q.shape[0]), room[0], room[1]
    for j in range(Q.shape[0]):
        q = Q[j]
        scale = _scale(s, q)
        _binned(q, s, g, scale, chosen.size, bins, jumps)
        best, edge = _bounded(bins, jumps, sums, chosen)
        m = _gathered(q, s, scale, bins, jumps, chosen, rows, places)
        left, right = _best_gap(rows[:m], places, bins, jumps, sums, best, edge)
        steps[j] = _middle(left, right, s, q)
        for i in range(s.size):
            s[i] += steps[j] * q[i]
    return steps


@loop
def _scale(s: np.ndarray, q: np.ndarray) -> float:
    # A typical break-point, from some sixty rows: it only decides how evenly bins fill.
    a, b = 0.0, 0.0
    for i in range(0, s.size, 1 + s.size // 64):
        a += abs(s[i])
        b += abs(q[i])
    return a / b if a > 0.0 and b > 0.0 else 1.0


@loop
def _binned(
    q: np.ndarray,
    s: np.ndarray,
    g: np.ndarray,
    scale: float,
    n_bins: int,
    bins: np.ndarray,
    jumps: np.ndarray,
) -> None:
    # Break-points t = -s / q have Cauchy tails; u = t / (scale + |t|) rises with t from -1 to
    # 1 and asks for no division by a q near zero. Where t is passed, the sum of side * g jumps
    # by twice g if q > 0, by -2 g if q < 0.
    # Just under a half, so that u = 1 belongs to the last bin and no bin ends at u = 0, where
    # rows that mirror one another meet.
    half = 0.4987 * n_bins
    for i in range(s.size):
        t = -s[i] if q[i] > 0.0 else s[i]
        u = t / (scale * abs(q[i]) + abs(s[i]) + 1e-300)  # a row of zeros must not be 0 / 0
        bins[i] = np.int32((u + 1.0) * half)
        jumps[i] = g[i] if q[i] > 0.0 else (-g[i] if q[i] < 0.0 else 0.0)


@loop
def _bounded(
    bins: np.ndarray, jumps: np.ndarray, sums: np.ndarray, chosen: np.ndarray
) -> tuple:
    # The best value at an edge of bins, and that edge; chosen are the bins that may hold a
    # better one and the two that meet at the edge. Leaves values at lower edges in sums[:, 0].
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
def _gathered(
    q: np.ndarray,
    s: np.ndarray,
    scale: float,
    bins: np.ndarray,
    jumps: np.ndarray,
    chosen: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
) -> int:
    # The rows of chosen bins, in order of u; rows that do not matter left out.
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
        for a in range(m):  # assigning slices takes two seconds to compile
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
def _best_gap(
    rows: np.ndarray,
    places: np.ndarray,
    bins: np.ndarray,
    jumps: np.ndarray,
    sums: np.ndarray,
    best: float,
    edge: int,
) -> tuple:
    # The rows whose break-points enclose the best gap; -1 for none.
    left, right, inside, value, current = -1, -1, False, 0.0, -1
    for a in range(rows.size):
        b = bins[rows[a]]
        if b != current:
            value, current = sums[b, 0], b
        value += jumps[rows[a]]
        last = a + 1 == rows.size or bins[rows[a + 1]] != b
        if not last and places[a + 1] - places[a] > _ROUNDING and value < best:
            best, left, right, inside = value, rows[a], rows[a + 1], True
        elif not inside and b < edge:
            left = rows[a]
        elif not inside and right < 0:
            right = rows[a]
    return left, right


@loop
def _middle(left: int, right: int, s: np.ndarray, q: np.ndarray) -> float:
    if left < 0 and right < 0:
        return 0.0  # nothing depends on this direction
    if left < 0:
        return -s[right] / q[right] - 1.0
    if right < 0:
        return -s[left] / q[left] + 1.0
    return -0.5 * (s[left] / q[left] + s[right] / q[right])
