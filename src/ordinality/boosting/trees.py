"""Small regression trees on binned features, grown level by level.

A node with sums G of the gradient and M of the second derivative lowers the quadratic model of
the loss by ``G^2 / (2 M)``, with the Newton step ``-G / M``. It is cut where its two children
together lower it most. The outputs of the leaves are their Newton steps, divided by the longest
so that all lie in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._compile import loop
from .learners import Binned

__all__ = ["DecisionTree", "Tree"]


@dataclass(frozen=True, eq=False)
class DecisionTree:
    """A complete binary tree in heap order: the children of node i are 2 i + 1 and 2 i + 2.

    A row goes right where ``x[feature] > cut``; a node that was not cut has an infinite cut.
    """

    feature: np.ndarray  # (2**depth - 1,), integer
    cut: np.ndarray  # (2**depth - 1,)
    gain: np.ndarray  # (2**depth - 1,), twice what each cut lowers the loss
    leaf: np.ndarray  # (2**depth,), in [-1, 1]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.leaf[_leaf_of_rows(X, self.feature, self.cut)]

    def relevance(self, d: int) -> np.ndarray:
        """Share of each feature in the gains of all cuts."""
        shares = np.bincount(self.feature, weights=self.gain, minlength=d)
        total = shares.sum()
        return shares / total if total > 0 else shares


@dataclass(frozen=True)
class Tree:
    """Trainer of a `DecisionTree`."""

    depth: int = 3
    bins: int = 256  # most bins per feature in which cuts are looked for; 256 at most

    def prepare(self, X: np.ndarray) -> _TreeTrainer:
        """Bin the rows of `X`."""
        return _TreeTrainer(Binned.of(X, self.bins), self.depth)


@dataclass(frozen=True, eq=False)
class _TreeTrainer:
    binned: Binned
    depth: int

    def learn(
        self, gradient: np.ndarray, hessian: np.ndarray, rng: np.random.Generator | None
    ) -> tuple[DecisionTree, np.ndarray]:
        codes = self.binned.codes
        feature, last, gain, place = _grow_tree(codes, gradient, hessian, self.depth)
        pairs = zip(feature, last, strict=True)
        cut = np.array([self.binned.cut(f, b) for f, b in pairs])
        leaf = _leaf_outputs(place, gradient, hessian, self.depth)
        return DecisionTree(feature, cut, gain, leaf), leaf[place]


def _leaf_outputs(
    place: np.ndarray, g: np.ndarray, hessian: np.ndarray, depth: int
) -> np.ndarray:
    G = np.bincount(place, weights=g, minlength=1 << depth)
    M = np.bincount(place, weights=hessian, minlength=1 << depth)
    steps = np.divide(-G, M, out=np.zeros_like(G), where=M > 0)
    longest = np.abs(steps).max()
    return steps / longest if longest > 0 else steps


@loop
def _grow_tree(codes, g, hessian, depth):
    # `last[node]` is the last bin that goes left; 255 sends all rows there. `place[i]` is the
    # number of row i's node within the current level, in the end its leaf.
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
                sums[place[i], row[i], 1] += hessian[i]
            for k in range(count):
                b, reduction = _best_cut(sums[k])
                if reduction > gain[first + k]:
                    feature[first + k], last[first + k], gain[first + k] = f, b, reduction
        for i in range(g.size):
            node = first + place[i]
            place[i] = 2 * place[i] + (1 if codes[feature[node], i] > last[node] else 0)
    return feature, last, gain, place


@loop
def _best_cut(sums):
    G, M = 0.0, 0.0
    for b in range(256):
        G += sums[b, 0]
        M += sums[b, 1]
    last, best, left_G, left_M = 255, 0.0, 0.0, 0.0
    for b in range(255):
        left_G += sums[b, 0]
        left_M += sums[b, 1]
        right_M = M - left_M
        # M - left_M errs by the rounding of some 256 sums, about 256 * 1e-16 * M at most:
        # below 1e-12 * M no row need be on the right.
        if sums[b, 1] > 0.0 and right_M > 1e-12 * M:
            reduction = left_G**2 / left_M + (G - left_G) ** 2 / right_M - G**2 / M
            if reduction > best:
                last, best = b, reduction
    return last, best


@loop
def _leaf_of_rows(X, feature, cut):
    place = np.empty(X.shape[0], dtype=np.int64)
    for i in range(X.shape[0]):
        node = 0
        while node < feature.size:
            node = 2 * node + (2 if X[i, feature[node]] > cut[node] else 1)
        place[i] = node - feature.size
    return place
