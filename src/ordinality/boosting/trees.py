"""Small trees on binned features, grown level by level.

A node is cut where the two halves differ most in the step they would like to take, ``-G / M``
(G the sum of the gradient, M of the mass: a Newton step), weighed by M. These steps, divided by
the longest so that the surest leaf says +1 or -1, are the leaves' outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._compile import loop
from .learners import Binned

__all__ = ["Grown", "Tree"]


@dataclass(frozen=True, eq=False)
class Grown:
    """A complete tree in the order of a heap: children of node i are 2 i + 1 and 2 i + 2.

    A row goes right where ``x[feature] > cut``; nodes that were not cut have infinite cuts.
    """

    feature: np.ndarray  # (2**depth - 1,), integer
    cut: np.ndarray  # (2**depth - 1,)
    gain: np.ndarray  # (2**depth - 1,), what each cut was worth
    leaf: np.ndarray  # (2**depth,), in [-1, 1]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.leaf[_routed(X, self.feature, self.cut)]

    def relevance(self, d: int) -> np.ndarray:
        """Share of each feature in the gains of all cuts."""
        shares = np.bincount(self.feature, weights=self.gain, minlength=d)
        total = shares.sum()
        return shares / total if total > 0 else shares


@dataclass(frozen=True)
class Tree:
    """Trainer of a `Grown` tree."""

    depth: int = 3  # cuts on the way to a leaf, at most
    # bins of equal frequency per feature in which cuts are looked for; 256 at most
    bins: int = 256

    def prepare(self, X: np.ndarray) -> _Nursery:
        """Ready for rounds on the rows of `X`: binned."""
        return _Nursery(Binned.of(X, self.bins), self.depth)


@dataclass(frozen=True, eq=False)
class _Nursery:
    binned: Binned
    depth: int

    def learn(
        self, gradient: np.ndarray, mass: np.ndarray, rng: np.random.Generator | None
    ) -> tuple[Grown, np.ndarray]:
        """Tree against `gradient`, and its output on the rows."""
        codes = self.binned.codes
        feature, last, gain, place = _grown(codes, gradient, mass, self.depth)
        pairs = zip(feature, last, strict=True)
        cut = np.array([self.binned.cut(f, b) for f, b in pairs])
        leaf = _leaves(place, gradient, mass, self.depth)
        value = Grown(feature, cut, gain, leaf)
        return value, leaf[place]


def _leaves(place: np.ndarray, g: np.ndarray, mass: np.ndarray, depth: int) -> np.ndarray:
    G = np.bincount(place, weights=g, minlength=1 << depth)
    M = np.bincount(place, weights=mass, minlength=1 << depth)
    steps = np.divide(-G, M, out=np.zeros_like(G), where=M > 0)
    longest = np.abs(steps).max()
    return steps / longest if longest > 0 else steps


@loop
def _grown(codes: np.ndarray, g: np.ndarray, mass: np.ndarray, depth: int) -> tuple:
    # `last[node]` is the last bin that goes left: 255 sends all rows there.
    nodes = (1 << depth) - 1
    feature, last = np.zeros(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    for k in range(nodes):
        last[k] = 255
    gain, place = np.zeros(nodes), np.zeros(g.size, dtype=np.int32)
    for level in range(depth):
        first, count = (1 << level) - 1, 1 << level
        sums = np.empty((count, 256, 2))
        for f in range(codes.shape[0]):
            sums[:] = 0.0
            row = codes[f]
            for i in range(g.size):
                sums[place[i], row[i], 0] += g[i]
                sums[place[i], row[i], 1] += mass[i]
            for k in range(count):
                b, won = _best_cut(sums[k])
                if won > gain[first + k]:
                    feature[first + k], last[first + k], gain[first + k] = f, b, won
        for i in range(g.size):
            node = first + place[i]
            place[i] = 2 * place[i] + (1 if codes[feature[node], i] > last[node] else 0)
    return feature, last, gain, place


@loop
def _best_cut(sums: np.ndarray) -> tuple:
    G, M = 0.0, 0.0
    for b in range(256):
        G += sums[b, 0]
        M += sums[b, 1]
    last, best, left_G, left_M = 255, 0.0, 0.0, 0.0
    for b in range(255):
        left_G += sums[b, 0]
        left_M += sums[b, 1]
        right_M = M - left_M
        if sums[b, 1] > 0.0 and right_M > 1e-12 * M:  # what is left of rounding is no mass
            won = left_G**2 / left_M + (G - left_G) ** 2 / right_M - G**2 / M
            if won > best:
                last, best = b, won
    return last, best


@loop
def _routed(X: np.ndarray, feature: np.ndarray, cut: np.ndarray) -> np.ndarray:
    place = np.empty(X.shape[0], dtype=np.int64)
    for i in range(X.shape[0]):
        node = 0
        while node < feature.size:
            node = 2 * node + (2 if X[i, feature[node]] > cut[node] else 1)
        place[i] = node - feature.size
    return place
