"""Rows as the ensembles learn from them: in an order of their own, copies merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Rows"]


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
    """

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,), ranks
    weights: np.ndarray  # (n,), above zero
    groups: np.ndarray  # (n,), 0, 1, ...: rows that agree in all features share a number

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Rows:
        """Sort the rows and merge those that agree in features and level."""
        order = np.lexsort((y, *X.T[::-1]))
        X, y = X[order], y[order]
        moved = np.append(True, np.any(X[1:] != X[:-1], axis=1))  # a row with other features
        new = moved | np.append(True, y[1:] != y[:-1])
        total = np.bincount(np.cumsum(new) - 1, weights[order])
        return cls(X[new], y[new], total, np.cumsum(moved)[new] - 1)

    def take(self, index: np.ndarray) -> Rows:
        """Some of the rows, in the order of `index`."""
        return Rows(self.X[index], self.y[index], self.weights[index], self.groups[index])

    def __len__(self) -> int:
        return len(self.y)
