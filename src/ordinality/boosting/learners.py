"""Base learners: the confidence function, its trainer, stumps, trees, classifiers of others.

A *trainer* (`Stump`, `Tree` and `SklearnTrainer` here; `Perceptron` and `Sigmoid` in
`perceptron`) is prepared once for the rows of a fit, when it sorts or bins them. In each round
it is given the gradient and the second derivative of the loss in every score and a random
generator. It returns a *confidence function*, a frozen function of X with outputs in [-1, 1]
whose product with the gradient is as negative as it can find, and the outputs on the rows.

Stumps and trees may look for cuts in binned features. A byte per value takes 8 MB for a million
rows of eight features, and the best cut of a feature follows from at most 256 sums. A feature
with no more distinct values than bins loses nothing.

Lin & Li (2006), section 4.2, "choosing h_t".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np

from .._compile import loop
from .thresholds import midpoint

__all__ = [
    "Binned",
    "ClippedFunction",
    "ConfidenceFunction",
    "DecisionStump",
    "DecisionTree",
    "PreparedTrainer",
    "SklearnTrainer",
    "Stump",
    "Trainer",
    "Tree",
]


class ConfidenceFunction(Protocol):
    """A learnt function: rows (n, d) to outputs (n,) in [-1, 1]."""

    def __call__(self, X: np.ndarray) -> np.ndarray: ...

    def relevance(self, d: int) -> np.ndarray:
        """Importance of each of d features for the output: nonnegative, sum at most one."""


class PreparedTrainer(Protocol):
    """A trainer that has sorted or binned the rows."""

    def learn(
        self, gradient: np.ndarray, hessian: np.ndarray, rng: np.random.Generator
    ) -> tuple[ConfidenceFunction, np.ndarray]:
        """A confidence function with small ``h @ gradient``, and ``h``, its outputs."""


class Trainer(Protocol):
    """A way of learning confidence functions."""

    def prepare(self, X: np.ndarray) -> PreparedTrainer:
        """Ready for rounds on the rows of `X`."""


# ---------------------------------------------------------------- stumps


@dataclass(frozen=True)
class DecisionStump:
    """``polarity`` where ``x[feature] > cut`` and ``-polarity`` elsewhere."""

    feature: int
    cut: float  # -inf: a constant
    polarity: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.where(X[:, self.feature] > self.cut, self.polarity, -self.polarity)

    def relevance(self, d: int) -> np.ndarray:
        """One for the feature that is cut; zeros for a constant."""
        shares = np.zeros(d)
        shares[self.feature] = float(isfinite(self.cut))
        return shares


@dataclass(frozen=True)
class Stump:
    """Trainer of a `DecisionStump`: the best of all features, cuts and polarities."""

    # most bins per feature in which cuts are looked for, 256 at most; None tries every gap
    # between two values
    bins: int | None = None

    def prepare(self, X: np.ndarray) -> PreparedTrainer:
        """Sort or bin the rows of `X`."""
        X = np.asfortranarray(X)  # a stump reads one column
        if self.bins is not None:
            return _BinnedStumpTrainer(X, Binned.of(X, self.bins))
        order = np.argsort(X.T, axis=1, kind="stable").astype(np.int32)
        return _SortedStumpTrainer(X, order, np.take_along_axis(X.T, order, axis=1))


@dataclass(frozen=True, eq=False)
class _SortedStumpTrainer:
    X: np.ndarray
    order: np.ndarray  # (d, n)
    columns: np.ndarray  # (d, n), each ascending

    def learn(
        self, gradient: np.ndarray, hessian: np.ndarray, rng: np.random.Generator
    ) -> tuple[DecisionStump, np.ndarray]:
        feature, cut, polarity, h = _best_sorted(self.X, self.columns, self.order, gradient)
        return DecisionStump(feature, cut, polarity), h


@loop
def _best_sorted(X, columns, order, g):
    # h @ g = -polarity * side, where side is the sum of g below the cut less the sum above it:
    # the largest |side| is best. `at` counts the rows below the cut; zero gives a constant.
    # All outputs in one call: with some hundred rows, calls from Python take most of a round.
    total = g.sum()
    feature, at, best, side = 0, 0, abs(total), -total
    for f in range(columns.shape[0]):
        x, rows, below = columns[f], order[f], 0.0
        for i in range(g.size - 1):
            below += g[rows[i]]
            if abs(total - 2.0 * below) > best and x[i] < x[i + 1]:
                feature, at, side = f, i + 1, 2.0 * below - total
                best = abs(side)
    cut, polarity, h = -np.inf, 1.0 if side >= 0.0 else -1.0, np.empty(g.size)
    if at > 0:
        low, high = columns[feature, at - 1], columns[feature, at]
        cut = low + 0.5 * (high - low)
        if not cut < high:  # rounded up, to a value that belongs above
            cut = low
    for i in range(g.size):
        h[i] = polarity if X[i, feature] > cut else -polarity
    return feature, cut, polarity, h


@dataclass(frozen=True, eq=False)
class _BinnedStumpTrainer:
    X: np.ndarray
    binned: Binned

    def learn(
        self, gradient: np.ndarray, hessian: np.ndarray, rng: np.random.Generator
    ) -> tuple[DecisionStump, np.ndarray]:
        feature, at, side = _best_binned(self.binned.codes, gradient)
        stump = DecisionStump(feature, self.binned.cut(feature, at), 1.0 if side >= 0 else -1.0)
        return stump, stump(self.X)


@loop
def _best_binned(codes, g):
    # As `_best_sorted`, but `at` is the last bin below the cut, and -1 gives a constant.
    total = g.sum()
    feature, at, best, side = 0, -1, abs(total), -total
    sums = np.empty(256)
    for f in range(codes.shape[0]):
        sums[:] = 0.0
        for i in range(g.size):
            sums[codes[f, i]] += g[i]
        below = 0.0
        for b in range(255):
            below += sums[b]
            if abs(total - 2.0 * below) > best:
                feature, at, side = f, b, 2.0 * below - total
                best = abs(side)
    return feature, at, side


# ---------------------------------------------------------------- bins

_MAX_BINS = 256  # values of a byte


@dataclass(frozen=True, eq=False)
class Binned:
    """Features as codes of bins; ``x > cuts[f][b]`` exactly where the code exceeds b."""

    codes: np.ndarray  # (d, n), uint8
    cuts: tuple[np.ndarray, ...]  # d ascending arrays of at most 255

    @classmethod
    def of(cls, X: np.ndarray, bins: int) -> Binned:
        """Bins of equal frequency, at most `bins` of them for each feature."""
        cuts = tuple(_cuts(x, min(bins, _MAX_BINS)) for x in X.T)
        codes = np.empty(X.T.shape, dtype=np.uint8)
        for row, x, c in zip(codes, X.T, cuts, strict=True):
            row[:] = np.searchsorted(c, x, side="left")
        return cls(codes, cuts)

    def cut(self, feature: int, last: int) -> float:
        """Upper end of bin `last`; -inf before the first bin, +inf for the last."""
        if last < 0:
            return -np.inf
        cuts = self.cuts[feature]
        return float(cuts[last]) if last < cuts.size else np.inf


def _cuts(x: np.ndarray, bins: int) -> np.ndarray:
    values, counts = np.unique(x, return_counts=True)
    if values.size > bins:
        # A bin ends at the value with which the next share of the rows is reached.
        below = np.cumsum(counts)
        ends = np.searchsorted(below, np.arange(1, bins) / bins * x.size)
        ends = np.unique(ends[ends < values.size - 1])
    else:
        ends = np.arange(values.size - 1)
    return midpoint(values[ends], values[ends + 1])


# ---------------------------------------------------------------- trees

# A node with sums G of the gradient and M of the second derivative lowers the quadratic model
# of the loss by ``G^2 / (2 M)``, with the Newton step ``-G / M``. It is cut where its two
# children together lower it most. The outputs of the leaves are their Newton steps, divided by
# the longest so that all lie in [-1, 1].


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


# ---------------------------------------------------------------- classifiers of scikit-learn


@dataclass(frozen=True, eq=False)
class ClippedFunction:
    """A function given by the caller, its outputs clipped to [-1, 1]."""

    function: Callable[[np.ndarray], np.ndarray]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.clip(np.asarray(self.function(X), dtype=np.float64), -1.0, 1.0)

    def relevance(self, d: int) -> np.ndarray:
        """The function's own ``relevance(d)`` if it has one, else zeros."""
        own = getattr(self.function, "relevance", None)
        return np.zeros(d) if own is None else np.asarray(own(d), dtype=np.float64)


@dataclass(frozen=True)
class SklearnTrainer:
    """Trainer of a `ClippedFunction` by any solver of a weighted two-class problem."""

    # ``fit(X, target, weight, rng)`` with targets +1 and -1; the weights average one, so that
    # a penalty means the same in every round; returns a function of X
    fit: Callable[..., Callable[[np.ndarray], np.ndarray]]

    def prepare(self, X: np.ndarray) -> PreparedTrainer:
        """Keep the rows of `X`."""
        return _ClassifierTrainer(X, self.fit)


@dataclass(frozen=True, eq=False)
class _ClassifierTrainer:
    X: np.ndarray
    fit: Callable[..., Callable[[np.ndarray], np.ndarray]]

    def learn(
        self, gradient: np.ndarray, hessian: np.ndarray, rng: np.random.Generator
    ) -> tuple[ClippedFunction, np.ndarray]:
        weight = np.abs(gradient)
        average = weight.mean() or 1.0  # a gradient of zeros: all weights stay zero
        target = np.where(gradient <= 0.0, 1.0, -1.0)
        function = ClippedFunction(self.fit(self.X, target, weight / average, rng))
        return function, function(self.X)
