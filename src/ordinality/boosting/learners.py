"""What a base learner is, the simplest one, and those of others.

A *trainer* (`Stump` and `Foreign` here; `Tree`, `Perceptron` and `Sigmoid` next door) is
prepared once for the rows of a fit, which is when it sorts or bins them. Each round it is given
the gradient of the loss in every score, the mass (second derivative), and a random generator;
it returns a *value*, a frozen function of X with outputs in [-1, 1] that goes against the
gradient, and the value's outputs on the rows. Values know what they rest on: ``relevance(d)``.

Lin & Li (2006), section 4.2, "choosing h_t".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._compile import loop

__all__ = [
    "Binned",
    "Borrowed",
    "Cut",
    "Foreign",
    "Prepared",
    "Stump",
    "Trainer",
    "Value",
    "between",
]


class Value(Protocol):
    """A learnt confidence function: rows (n, d) to outputs (n,) in [-1, 1]."""

    def __call__(self, X: np.ndarray) -> np.ndarray: ...

    def relevance(self, d: int) -> np.ndarray:
        """How much the function rests on each of d features: nonnegative, sum at most one."""


class Prepared(Protocol):
    """A trainer that has seen the rows."""

    def learn(
        self, gradient: np.ndarray, mass: np.ndarray, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray]:
        """A value with small ``h @ gradient``, and ``h``, its outputs on the rows."""


class Trainer(Protocol):
    """A way of learning confidence functions."""

    def prepare(self, X: np.ndarray) -> Prepared:
        """Ready for rounds on the rows of `X`."""


# ---------------------------------------------------------------- stumps


@dataclass(frozen=True)
class Cut:
    """``polarity`` where ``x[feature] > cut`` and ``-polarity`` elsewhere."""

    feature: int
    cut: float  # -inf: a constant
    polarity: float

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.where(X[:, self.feature] > self.cut, self.polarity, -self.polarity)

    def relevance(self, d: int) -> np.ndarray:
        """One for the feature that is cut; zeros for a constant."""
        shares = np.zeros(d)
        shares[self.feature] = float(np.isfinite(self.cut))
        return shares


@dataclass(frozen=True)
class Stump:
    """Trainer of a `Cut`: the best of all features, cuts and polarities."""

    # at most this many bins of equal frequency (256 at most) in which cuts are looked for; by
    # default every gap between two values of a feature
    bins: int | None = None

    def prepare(self, X: np.ndarray) -> Prepared:
        """Ready for rounds on the rows of `X`: sorted, or binned."""
        X = np.asfortranarray(X)  # a value reads one column
        if self.bins is not None:
            return _BinnedStump(X, Binned.of(X, self.bins))
        order = np.argsort(X.T, axis=1, kind="stable").astype(np.int32)
        return _SortedStump(X, order, np.take_along_axis(X.T, order, axis=1))


@dataclass(frozen=True, eq=False)
class _SortedStump:
    X: np.ndarray
    order: np.ndarray  # (d, n)
    columns: np.ndarray  # (d, n), each ascending

    def learn(
        self, gradient: np.ndarray, mass: np.ndarray, rng: np.random.Generator
    ) -> tuple[Cut, np.ndarray]:
        feature, at, side = _best_sorted(self.columns, self.order, gradient)
        x = self.columns[feature]
        cut = float(between(x[at - 1], x[at])) if at else -np.inf
        value = Cut(feature, cut, 1.0 if side >= 0 else -1.0)
        return value, value(self.X)


@loop
def _best_sorted(columns: np.ndarray, order: np.ndarray, g: np.ndarray) -> tuple:
    # h @ g = -polarity * side with side = g of the rows below the cut minus g of those above:
    # the largest |side| is wanted. `at` counts the rows below the cut; none: a constant.
    total = g.sum()
    feature, at, best, side = 0, 0, abs(total), -total
    for f in range(columns.shape[0]):
        x, rows, below = columns[f], order[f], 0.0
        for i in range(g.size - 1):
            below += g[rows[i]]
            if abs(total - 2.0 * below) > best and x[i] < x[i + 1]:
                feature, at, side = f, i + 1, 2.0 * below - total
                best = abs(side)
    return feature, at, side


@dataclass(frozen=True, eq=False)
class _BinnedStump:
    X: np.ndarray
    binned: Binned

    def learn(
        self, gradient: np.ndarray, mass: np.ndarray, rng: np.random.Generator
    ) -> tuple[Cut, np.ndarray]:
        feature, at, side = _best_binned(self.binned.codes, gradient)
        value = Cut(feature, self.binned.cut(feature, at), 1.0 if side >= 0 else -1.0)
        return value, value(self.X)


@loop
def _best_binned(codes: np.ndarray, g: np.ndarray) -> tuple:
    # As `_best_sorted`, but `at` is the last bin below the cut, and -1 stands for a constant.
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


# ---------------------------------------------------------------- learners of others


@dataclass(frozen=True, eq=False)
class Borrowed:
    """Somebody else's function, its outputs held to [-1, 1]."""

    function: Callable[[np.ndarray], np.ndarray]

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.clip(np.asarray(self.function(X), dtype=np.float64), -1.0, 1.0)

    def relevance(self, d: int) -> np.ndarray:
        """The function's own ``relevance(d)`` if it has one, else zeros."""
        own = getattr(self.function, "relevance", None)
        return np.zeros(d) if own is None else np.asarray(own(d), dtype=np.float64)


@dataclass(frozen=True)
class Foreign:
    """Trainer of a `Borrowed` function: any way of solving a weighted two-class problem."""

    # ``fit(X, target, weight, rng)`` with targets +1 and -1 and weights that average one, so
    # that a penalty means the same in every round, and the generator of the run; returns a
    # function of X with values in [-1, 1]
    fit: Callable[..., Callable[[np.ndarray], np.ndarray]]

    def prepare(self, X: np.ndarray) -> Prepared:
        """Ready for rounds on the rows of `X`."""
        return _Guest(X, self.fit)


@dataclass(frozen=True, eq=False)
class _Guest:
    X: np.ndarray
    fit: Callable[..., Callable[[np.ndarray], np.ndarray]]

    def learn(
        self, gradient: np.ndarray, mass: np.ndarray, rng: np.random.Generator
    ) -> tuple[Borrowed, np.ndarray]:
        weight = np.abs(gradient)
        average = weight.mean() or 1.0  # nothing to learn: all weights stay zero
        target = np.where(gradient <= 0.0, 1.0, -1.0)
        value = Borrowed(self.fit(self.X, target, weight / average, rng))
        return value, value(self.X)


# ----------------------------------------------------------------
# Features as bytes: which of at most 256 bins of equal frequency each value falls in.
#
# A million rows of eight features then take 8 MB, and the best cut of a feature is found from
# 256 sums. A feature with no more distinct values than bins loses nothing.


_MOST = 256  # what a byte can tell apart


def between(low: Any, high: Any) -> Any:
    """Middle of two values, ``low < high``; never `high`, which must stay above the cut."""
    middle = low + 0.5 * (high - low)
    return np.where(middle < high, middle, low)[()]


@dataclass(frozen=True, eq=False)
class Binned:
    """Rows as codes; ``x > cuts[f][b]`` exactly where the code exceeds b."""

    codes: np.ndarray  # (d, n), bytes
    cuts: tuple[np.ndarray, ...]  # d ascending arrays of at most 255

    @classmethod
    def of(cls, X: np.ndarray, bins: int) -> Binned:
        """Bins of equal frequency, at most `bins` of them for each feature."""
        cuts = tuple(_cuts(x, min(bins, _MOST)) for x in X.T)
        codes = np.empty(X.T.shape, dtype=np.uint8)
        for row, x, c in zip(codes, X.T, cuts, strict=True):
            row[:] = np.searchsorted(c, x, side="left")
        return cls(codes, cuts)

    def cut(self, feature: int, last: int) -> float:
        """Where the bins up to `last` end; -inf before the first, +inf after the last."""
        if last < 0:
            return -np.inf
        cuts = self.cuts[feature]
        return float(cuts[last]) if last < cuts.size else np.inf


def _cuts(x: np.ndarray, bins: int) -> np.ndarray:
    values, counts = np.unique(x, return_counts=True)
    if values.size > bins:
        # The value in which each share of the rows is reached ends a bin.
        below = np.cumsum(counts)
        ends = np.searchsorted(below, np.arange(1, bins) / bins * x.size)
        ends = np.unique(ends[ends < values.size - 1])
    else:
        ends = np.arange(values.size - 1)
    return between(values[ends], values[ends + 1])
