"""Kernel rows on demand, kept within a bound of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ordinality import kernels as ours

from ..kernels.stationary import exponentials

__all__ = ["Block", "KernelRows", "RowCache", "kernel_rows", "part"]


Block = Callable[[np.ndarray, np.ndarray], np.ndarray]


_AHEAD = 32  # rows computed at a time: enough for matrix products to pay


_FEW = 300  # rows; of fewer, a part is taken at once


_FEWEST = 2 * _AHEAD  # rows that are kept whatever the bound


class KernelRows:
    """A kernel matrix that is computed in blocks when it is asked for."""

    def __init__(self, block: Block, diag: np.ndarray) -> None:
        self.block, self.diag = block, np.ascontiguousarray(diag, dtype=np.float64)

    @classmethod
    def of_matrix(cls, K: np.ndarray) -> KernelRows:
        """Rows of a matrix that is there already."""
        return _Matrix(K)

    @classmethod
    def of_features(cls, X: np.ndarray) -> KernelRows:
        """Rows of ``X X'``, which is never formed."""
        return _Features(X)

    def __len__(self) -> int:
        return len(self.diag)

    def times(self, beta: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        """Scores ``K beta`` at some rows, default all, in blocks of bounded size."""
        at = np.arange(len(self)) if at is None else at
        support, f = np.flatnonzero(beta), np.zeros(len(at))
        if len(support) and len(at):
            height = max(1, 2**22 // len(support))
            for start in range(0, len(at), height):
                part = slice(start, start + height)
                f[part] = self.block(at[part], support) @ beta[support]
        return f


class _Matrix(KernelRows):
    def __init__(self, K: np.ndarray) -> None:
        self.matrix = K
        super().__init__(lambda i, j: _part(K, i, j), np.diag(K).copy())

    def times(self, beta: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        return (self.matrix if at is None else self.matrix[at]) @ beta


class _Features(KernelRows):
    def __init__(self, X: np.ndarray) -> None:
        self.features = X
        super().__init__(lambda i, j: X[i] @ X[j].T, np.einsum("il,il->i", X, X))

    def times(self, beta: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        w = beta @ self.features
        return (self.features if at is None else self.features[at]) @ w


class RowCache:
    """Rows of the kernel at the active columns, the least recently used given up first.

    Where the whole matrix fits within the bound it is computed once.
    """

    def __init__(self, rows: KernelRows, n_bytes: int) -> None:
        self._rows, self._bytes = rows, n_bytes
        n = len(rows)
        self._whole: np.ndarray | None = getattr(rows, "matrix", None)
        if self._whole is None and 8 * n * n <= n_bytes:
            every = np.arange(n)
            self._whole = rows.block(every, every)
        self.widen()

    def widen(self) -> None:
        """Make every row active again."""
        self._active = np.arange(len(self._rows))
        if self._whole is not None:
            self._keep_all(self._whole)
        else:
            self._empty()

    def narrow(self, keep: np.ndarray) -> None:
        """Go on with some of the active rows, given by their places among them."""
        self._active = self._active[keep]
        if self._whole is not None:
            self._keep_all(
                np.ascontiguousarray(self._whole[np.ix_(self._active, self._active)])
            )
            return
        old, stamps, kept = self.store, self.stamp, self.slot[keep]
        there = np.flatnonzero(kept >= 0)
        self._empty()  # being narrower it holds at least as many
        self.store[: len(there)] = _part(old, kept[there], keep)
        self.slot[there] = np.arange(len(there))
        self._owner[: len(there)] = there
        self.stamp[: len(there)] = stamps[kept[there]]
        self.stamp[-1] = stamps[-1]

    def fetch(self, wanted: np.ndarray) -> None:
        """Compute rows, given by their places, in the stead of those used longest ago."""
        wanted = wanted[self.slot[wanted] < 0][: len(self.store) // 2]
        last = len(wanted) - 1
        ages = self.stamp[:-1]
        freed = np.argpartition(ages, last)[: last + 1] if last else np.array([ages.argmin()])
        gone = self._owner[freed]
        self.slot[gone[gone >= 0]] = -1
        self.store[freed] = self._rows.block(self._active[wanted], self._active)
        self.slot[wanted], self._owner[freed] = freed, wanted
        self.stamp[-1] += 1
        self.stamp[freed] = self.stamp[-1]

    def together(self, places: np.ndarray) -> np.ndarray | None:
        """Several rows at once, (len(places), active); none if they would fill half the store.

        Half, that others need not go for them.
        """
        if len(self.store) < len(self.slot) and 2 * len(places) > len(self.store):
            return None
        self.stamp[-1] += 1
        here = self.slot[places]
        self.stamp[here[here >= 0]] = self.stamp[-1]
        if np.any(here < 0):
            self.fetch(places[here < 0])
        return self.store[self.slot[places]]

    @property
    def ahead(self) -> int:
        """How many rows to compute at a time: one where each costs another its place."""
        return _AHEAD if np.count_nonzero(self._owner < 0) >= _AHEAD else 1

    def _keep_all(self, K: np.ndarray) -> None:
        n = len(K)
        self.store, self.slot = K, np.arange(n)
        self._owner, self.stamp = np.arange(n), np.zeros(n + 1, dtype=np.int64)

    def _empty(self) -> None:
        width = len(self._active)
        capacity = min(width, max(_FEWEST, self._bytes // (8 * max(width, 1))))
        self.store = np.empty((capacity, width))
        self.slot = np.full(width, -1)
        self._owner = np.full(capacity, -1)
        self.stamp = np.zeros(capacity + 1, dtype=np.int64)


def _part(K: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Some rows and columns; of many, a row at a time is several times faster than both."""
    if len(rows) < _FEW:
        return K[np.ix_(rows, columns)]
    part = np.empty((len(rows), len(columns)))
    for i, row in enumerate(rows):
        np.take(K[row], columns, out=part[i])
    return part


def kernel_rows(kernel: Any, X: np.ndarray, n_bytes: int) -> KernelRows:
    """Rows of the kernel matrix of `X`: all at once if they fit, else when asked for."""
    if getattr(kernel, "inputs", "") == "gram":
        return KernelRows.of_matrix(np.ascontiguousarray(X))
    if isinstance(kernel, ours.Linear) and _few_features(X):
        return KernelRows.of_features(X * np.sqrt(kernel.relevance))
    if 8 * len(X) ** 2 <= n_bytes:
        return KernelRows.of_matrix(kernel(X))
    if isinstance(kernel, ours.Gaussian):
        return KernelRows(_gaussian_block(X / kernel.length_scale), np.ones(len(X)))
    return KernelRows(lambda i, j: kernel(X[i], X[j]), kernel.diag(X))


def _gaussian_block(Z: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Exponentials of ``z_i'z_j - |z_i|^2 / 2 - |z_j|^2 / 2``, the squares computed once."""
    Z = Z - Z.mean(axis=0)  # squares and products of large offsets would eat digits
    half, one = 0.5 * np.einsum("il,il->i", Z, Z)[:, None], np.ones((len(Z), 1))
    left, right = np.hstack([Z, half, one]), np.hstack([Z, -one, -half])
    held: tuple[np.ndarray | None, np.ndarray] = (None, right)

    def columns(j: np.ndarray) -> np.ndarray:
        """The solver asks for the same columns again and again, until it leaves some out."""
        nonlocal held
        last, there = held
        if last is not j:
            last, there = held = j, right[j]
        return there

    def block(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        t = left[i] @ columns(j).T
        exponentials(t, t, 0, 1.0, False)
        return t

    return block


def _few_features(X: np.ndarray) -> bool:
    """Whether the way over the weights of the features is the shorter one.

    With 1000 rows of 50 features it took 0.02 s, and pairwise steps were far from done after
    0.5 s. Its time grows with the square of the features.
    """
    return X.shape[1] <= min(len(X), 2000)


def part(rows: KernelRows, index: np.ndarray) -> KernelRows:
    """The kernel matrix of some of the rows."""
    features, matrix = getattr(rows, "features", None), getattr(rows, "matrix", None)
    if features is not None:
        return KernelRows.of_features(features[index])
    if matrix is not None:
        return KernelRows.of_matrix(matrix[np.ix_(index, index)])
    return KernelRows(lambda i, j: rows.block(index[i], index[j]), rows.diag[index])
