"""Kernel of items with features and an independent effect of each item.

Features rarely explain all of an item's utility. An independent effect of each item, added to
the function of the features, takes up the rest. Its variance is learnt with the other
parameters.

Often this variance is zero. It is therefore optimised as ``log(variance + NEGLIGIBLE)``, which
is logarithmic for effects that matter, linear for those that do not, and reaches zero. In the
plain logarithm zero is infinitely far away and the criterion is flat near it, so an optimiser
that went there on a few answers would not come back on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .base import (
    BOXES,
    Array,
    Kernel,
    matching,
    matrix,
    rectangle,
    shaped,
    square,
    widened,
)

__all__ = ["NEGLIGIBLE", "PerItem"]

#: A negligible variance: effects of a tenth where the features' utility has a spread of one.
NEGLIGIBLE = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class PerItem(Kernel):
    """``kernel`` of the features, plus ``variance`` where both rows are the same item.

    The last column of the inputs numbers the items; rows with a negative number are all
    different items.
    """

    # Kernel of the other columns. None: items without features, whose variance is one and not
    # learnt, because the noise sets the scale.
    kernel: Kernel | None
    variance: float = 1.0  # of the independent effects; not negative

    def __post_init__(self) -> None:
        if not 0.0 <= self.variance < np.inf:
            raise ValueError(f"PerItem needs variance of zero or more, got {self.variance!r}.")

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        X = matrix(X)
        if Y is not None:
            Y = matrix(Y)
            K = self._features(X, Y)
            K[_same_between(X, Y)] += self.variance
            return K
        K = self._features(X)
        K[self._same(X[:, -1])] += self.variance
        return K

    def _features(self, X: Array, Y: Array | None = None) -> Array:
        if self.kernel is None:
            return np.zeros((len(X), len(X if Y is None else Y)))
        return self.kernel(X[:, :-1], None if Y is None else Y[:, :-1])

    def _same(self, number: Array) -> Any:
        """Where two rows of one table are the same item, as an index."""
        if len(np.unique(number[number >= 0])) == np.sum(number >= 0):
            return np.diag_indices(len(number))
        same = np.equal.outer(number, number) & (number >= 0)
        np.fill_diagonal(same, True)
        return same

    def diag(self, X: ArrayLike) -> Array:
        X = matrix(X)
        features = 0.0 if self.kernel is None else self.kernel.diag(X[:, :-1])
        return np.full(len(X), self.variance) + features

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        X = matrix(X)
        G = square(G, len(X))
        if self.kernel is None:
            return np.zeros(0)
        same = self._same(X[:, -1])
        if K is not None:
            K = K.copy()
            K[same] -= self.variance
        inner = self.kernel.pullback(X[:, :-1], G, K)
        return self._appended(inner, G[same])

    def _appended(self, inner: Array, G: Array) -> Array:
        """Gradient in theta; `G` holds the derivatives in the entries with an item's effect."""
        return np.append(inner, (self.variance + NEGLIGIBLE) * G.sum())

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        X, Y, F = rectangle(X, Y, F)
        if self.kernel is None:
            return np.zeros(0)
        same = _same_between(X, Y)
        if K is not None:
            K = shaped(K, F.shape, "K").copy()
            K[same] -= self.variance
        return self._appended(self.kernel.pullback_between(X[:, :-1], Y[:, :-1], F, K), F[same])

    def paired(self, X: ArrayLike, Y: ArrayLike) -> Array:
        """Covariance of matching rows, of which a negative number makes different items."""
        X, Y = matching(X, Y)
        features = 0.0 if self.kernel is None else self.kernel.paired(X[:, :-1], Y[:, :-1])
        return self.variance * _same_pairs(X, Y) + features

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        X, Y = matching(X, Y)
        c = shaped(c, (len(X),), "c")
        if self.kernel is None:
            return np.zeros(0)
        inner = self.kernel.pullback_paired(X[:, :-1], Y[:, :-1], c)
        return self._appended(inner, c[_same_pairs(X, Y)])

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        X, Y, F = rectangle(X, Y, F)
        total = np.zeros(Y.shape)  # numbers of items have no derivative
        if self.kernel is not None:
            total[:, :-1] = self.kernel.slope(X[:, :-1], Y[:, :-1], F)
        return total

    @property
    def theta(self) -> Array:
        if self.kernel is None:
            return np.zeros(0)
        return np.append(self.kernel.theta, np.log(self.variance + NEGLIGIBLE))

    def with_theta(self, theta: ArrayLike) -> Self:
        theta = self._fitting(theta)
        if self.kernel is None:
            return self
        # Not exp(theta) - NEGLIGIBLE: that would not be zero at the end of the box.
        variance = max(0.0, NEGLIGIBLE * float(np.expm1(theta[-1] - np.log(NEGLIGIBLE))))
        return replace(self, kernel=self.kernel.with_theta(theta[:-1]), variance=variance)

    @property
    def theta_kinds(self) -> tuple[str, ...]:
        return () if self.kernel is None else (*self.kernel.theta_kinds, "item_variance")

    @property
    def theta_names(self) -> list[str]:
        return [] if self.kernel is None else [*self.kernel.theta_names, "item_variance"]

    @property
    def bounds(self) -> Array:
        if self.kernel is None:
            return np.zeros((0, 2))
        own = widened([(np.log(NEGLIGIBLE), BOXES["variance"][1])], self.theta[-1:])
        return np.concatenate([self.kernel.bounds, own])

    def feature_relevance(self, d: int) -> Array:
        return np.zeros(d) if self.kernel is None else self.kernel.feature_relevance(d)

    def __repr__(self) -> str:
        return f"PerItem({self.kernel!r}, variance={self.variance!r})"


def _same_between(X: Array, Y: Array) -> Any:
    """Where a row of one table and a row of another are the same item."""
    return np.equal.outer(X[:, -1], Y[:, -1]) & (X[:, -1] >= 0)[:, None]


def _same_pairs(X: Array, Y: Array) -> Any:
    """Which matching rows of two tables are the same item."""
    return (X[:, -1] == Y[:, -1]) & (X[:, -1] >= 0)
