"""Rows in an order of their own, so that a fit does not depend on how they were given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Rows", "canonical_order", "first_copies"]


def canonical_order(X: np.ndarray, *ties: np.ndarray, gram: bool = False) -> np.ndarray:
    """Places of rows sorted by their features, equal ones by each of ``ties`` in turn.

    The rows of a kernel matrix (``gram``) have no features: the set of their values takes that
    part, because it does not depend on the order of rows and columns.
    """
    if gram:
        X = np.column_stack([np.diagonal(X), np.sort(X, axis=1)])
    return np.lexsort((*ties[::-1], *X.T[::-1]))


def first_copies(X: np.ndarray, *ties: np.ndarray) -> np.ndarray:
    """Of rows in canonical order, the place of the first that equals each."""
    columns = np.column_stack([X, *ties])
    before, after = columns[:-1], columns[1:]
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    new = np.append(True, ~np.all(same, axis=1))
    return np.flatnonzero(new)[np.cumsum(new) - 1]


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows, sorted; how often each was seen is its weight.

    A fit from these depends neither on the order of the rows given, nor on whether one was
    given twice or with weight two, to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[2.0], [1.0], [2.0], [2.0]]), np.array([0, 1, 0, 1])
    >>> rows = Rows.of(X, y, np.ones(4))
    >>> rows.X.ravel(), rows.y, rows.weights, rows.groups
    (array([1., 2., 2.]), array([1, 0, 1]), array([1., 2., 1.]), array([0, 1, 1]))
    >>> rows.first
    array([1, 0, 3])
    """

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,), ranks
    weights: np.ndarray  # (n,), above zero
    groups: np.ndarray  # (n,), 0, 1, ...: rows that agree in all features share a number
    first: np.ndarray  # (n,), where the first copy of each was among the rows given

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Rows:
        """Sort the rows and merge those that agree in features and level."""
        order, moved, new = _runs(X, y, weights)
        total = np.bincount(np.cumsum(new) - 1, weights[order])
        groups = np.cumsum(moved)[new] - 1
        first = np.minimum.reduceat(order, np.flatnonzero(new))
        return cls(X[order][new], y[order][new], total, groups, first)

    @staticmethod
    def places(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Which of the distinct rows each of the rows given became."""
        order, _, new = _runs(X, y, weights)
        places = np.empty(len(y), dtype=np.int64)
        places[order] = np.cumsum(new) - 1
        return places

    def take(self, index: np.ndarray) -> Rows:
        """Some of the rows, in the order of `index`."""
        parts = (self.X, self.y, self.weights, self.groups, self.first)
        return Rows(*(part[index] for part in parts))

    def __len__(self) -> int:
        return len(self.y)


def _runs(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An order of the rows; in it, where features change, and where features or level do."""
    # Weights too: the rounding of their sum depends on the order.
    order = canonical_order(X, y, weights)
    X, y = X[order], y[order]
    moved = np.append(True, np.any(X[1:] != X[:-1], axis=1))
    return order, moved, moved | np.append(True, y[1:] != y[:-1])
