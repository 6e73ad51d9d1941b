"""Kernel rows: computed when they are needed, and kept within a bound of memory.

`kernel_rows` chooses how the rows of a kernel are computed: from the whole matrix if it fits in
memory, from features if the kernel is linear, else block by block. `RowCache` keeps the rows
that the solver used last.

`PairRows` and `EdgeRows` are kernel rows of comparisons. The score of a pair is a difference of
two scores, so its kernel is a sum of four. The matrix of all pairs is never formed: some of its
rows follow from twice as many rows of the smaller matrix, and products with it are products
with the smaller matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from ..kernels.stationary import exponentials

__all__ = ["Block", "EdgeRows", "KernelRows", "PairRows", "RowCache", "kernel_rows", "part"]

Block = Callable[[np.ndarray, np.ndarray], np.ndarray]  # numbers of rows and of columns

_AHEAD = 32  # rows computed at a time: enough for a matrix product to be efficient
_MIN_KEPT = 2 * _AHEAD  # rows that are kept whatever the bound
_FEW_ROWS = 300  # below this a submatrix is taken by one index operation
_BLOCK_SIZE = 2**22  # entries of a block of the kernel in `KernelRows.times`: 32 MB
_MAX_FEATURES = 2000
_MAX_BYTES = 2**28  # of the features of edges; beyond it kernel rows are used


def kernel_rows(kernel: Any, X: np.ndarray, n_bytes: int) -> KernelRows:
    """Rows of the kernel matrix of `X`; the whole matrix if it fits in `n_bytes`."""
    if getattr(kernel, "inputs", "") == "gram":
        return KernelRows.of_matrix(np.ascontiguousarray(X))
    # By weights of the features 1000 rows of 50 features took 0.02 s; SMO was far from the end
    # after 0.5 s. The time grows with the square of the features.
    if isinstance(kernel, kernels.Linear) and X.shape[1] <= min(len(X), _MAX_FEATURES):
        return KernelRows.of_features(X * np.sqrt(kernel.relevance))
    if 8 * len(X) ** 2 <= n_bytes:
        return KernelRows.of_matrix(kernel(X))
    if isinstance(kernel, kernels.Gaussian):
        return KernelRows(_gaussian_block(X / kernel.length_scale), np.ones(len(X)))
    return KernelRows(lambda i, j: kernel(X[i], X[j]), kernel.diag(X))


def _gaussian_block(Z: np.ndarray) -> Block:
    """Exponentials of ``z_i'z_j - |z_i|^2 / 2 - |z_j|^2 / 2``, the squares computed once."""
    Z = Z - Z.mean(axis=0)  # the difference of large products would lose digits
    half, one = 0.5 * np.einsum("il,il->i", Z, Z)[:, None], np.ones((len(Z), 1))
    left, right = np.hstack([Z, half, one]), np.hstack([Z, -one, -half])
    held: tuple[np.ndarray | None, np.ndarray] = (None, right)

    def block(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        # The solver asks for the same columns until it shrinks. They are replaced together with
        # their numbers, since several threads may call this function.
        nonlocal held
        last, columns = held
        if last is not j:
            last, columns = held = j, right[j]
        t = left[i] @ columns.T
        exponentials(t, t, 0, 1.0, False)
        return t

    return block


def part(rows: KernelRows, index: np.ndarray) -> KernelRows:
    """The kernel matrix of a subset of the rows."""
    features, matrix = getattr(rows, "features", None), getattr(rows, "matrix", None)
    if features is not None:
        return KernelRows.of_features(features[index])
    if matrix is not None:
        return KernelRows.of_matrix(matrix[np.ix_(index, index)])
    return KernelRows(lambda i, j: rows.block(index[i], index[j]), rows.diag[index])


class KernelRows:
    """A kernel matrix that is computed in blocks when they are needed."""

    def __init__(self, block: Block, diag: np.ndarray) -> None:
        self.block, self.diag = block, np.ascontiguousarray(diag, dtype=np.float64)

    @classmethod
    def of_matrix(cls, K: np.ndarray) -> KernelRows:
        """Rows of a given matrix."""
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
            height = max(1, _BLOCK_SIZE // len(support))
            for start in range(0, len(at), height):
                part = slice(start, start + height)
                f[part] = self.block(at[part], support) @ beta[support]
        return f


class _Matrix(KernelRows):
    def __init__(self, K: np.ndarray) -> None:
        self.matrix = K
        super().__init__(lambda i, j: _submatrix(K, i, j), np.diag(K).copy())

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
    """Kernel rows at the active columns; the least recently used are replaced first.

    If the whole matrix fits within the bound it is computed once. The kernel row of active row
    i is ``store[slot[i]]``, and missing if the slot is -1; ``stamp`` holds when each slot was
    last used, and the clock in its last entry.
    """

    def __init__(self, rows: KernelRows, n_bytes: int) -> None:
        self._rows, self._bytes = rows, n_bytes
        n = len(rows)
        self._whole: np.ndarray | None = getattr(rows, "matrix", None)
        if self._whole is None and 8 * n * n <= n_bytes:
            every = np.arange(n)
            self._whole = rows.block(every, every)
        self.unshrink()

    def unshrink(self) -> None:
        """Make all rows active."""
        self._active = np.arange(len(self._rows))
        if self._whole is not None:
            self._keep_all(self._whole)
        else:
            self._empty()

    def shrink(self, keep: np.ndarray) -> None:
        """Keep some of the active rows, given by their places among them."""
        self._active = self._active[keep]
        if self._whole is not None:
            self._keep_all(
                np.ascontiguousarray(self._whole[np.ix_(self._active, self._active)])
            )
            return
        old, stamps, kept = self.store, self.stamp, self.slot[keep]
        there = np.flatnonzero(kept >= 0)
        self._empty()  # rows are shorter, so it holds at least as many
        self.store[: len(there)] = _submatrix(old, kept[there], keep)
        self.slot[there] = np.arange(len(there))
        self._owner[: len(there)] = there
        self.stamp[: len(there)] = stamps[kept[there]]
        self.stamp[-1] = stamps[-1]

    def fetch(self, wanted: np.ndarray) -> None:
        """Compute rows, given by their places; they replace the least recently used."""
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

    def several(self, places: np.ndarray) -> np.ndarray | None:
        """Several rows, (len(places), active); None if they would fill half the store.

        Then they would replace rows that the steps use.
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
        """How many rows to compute at a time: one if each would replace another."""
        return _AHEAD if np.count_nonzero(self._owner < 0) >= _AHEAD else 1

    def _keep_all(self, K: np.ndarray) -> None:
        n = len(K)
        self.store, self.slot = K, np.arange(n)
        self._owner, self.stamp = np.arange(n), np.zeros(n + 1, dtype=np.int64)

    def _empty(self) -> None:
        width = len(self._active)
        capacity = min(width, max(_MIN_KEPT, self._bytes // (8 * max(width, 1))))
        self.store = np.empty((capacity, width))
        self.slot = np.full(width, -1)
        self._owner = np.full(capacity, -1)
        self.stamp = np.zeros(capacity + 1, dtype=np.int64)


def _submatrix(K: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Some rows and columns of a matrix; many rows are taken one at a time, which is faster."""
    if len(rows) < _FEW_ROWS:
        return K[np.ix_(rows, columns)]
    part = np.empty((len(rows), len(columns)))
    for i, row in enumerate(rows):
        np.take(K[row], columns, out=part[i])
    return part


# ---------------------------------------------------------------- comparisons


class PairRows(KernelRows):
    """``K_vv' - K_vu' - K_uv' + K_uu'`` for pairs of items, v preferred to u."""

    def __init__(self, items: KernelRows, winners: np.ndarray, losers: np.ndarray) -> None:
        self.items, self.winners, self.losers = items, winners, losers
        every = np.unique([winners, losers], return_inverse=True)
        self._seen, (self._v, self._u) = every[0], every[1].reshape(2, -1)
        X = getattr(items, "features", None)
        self.features = None if X is None else X[winners] - X[losers]
        square = items.diag[winners] + items.diag[losers]
        super().__init__(self._block, square - 2.0 * self._between())

    def _block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        first = self.items.block(self.winners[i], self._seen)
        first = first - self.items.block(self.losers[i], self._seen)
        return np.take(first, self._v[j], axis=1) - np.take(first, self._u[j], axis=1)

    def _between(self) -> np.ndarray:
        """Kernel of winner and loser of each pair, in small square blocks."""
        parts = np.array_split(np.arange(len(self.winners)), 1 + len(self.winners) // 32)
        blocks = [self.items.block(self.winners[p], self.losers[p]) for p in parts]
        return np.concatenate([np.diagonal(block) for block in blocks])

    def gathered(self, beta: np.ndarray) -> np.ndarray:
        """Weights of the items, shape (n,), that give the same score as weights of pairs."""
        n = len(self.items)
        return np.bincount(self.winners, beta, n) - np.bincount(self.losers, beta, n)

    def times(self, beta: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        """Scores of pairs, as differences of the items' scores."""
        at = np.arange(len(self)) if at is None else at
        scores = self.items.times(self.gathered(beta))
        return scores[self.winners[at]] - scores[self.losers[at]]


class EdgeRows(KernelRows):
    """``K(x, x') (d_aa' - d_ab' - d_ba' + d_bb')`` for labels a preferred to b at input x."""

    def __init__(
        self,
        inputs: KernelRows,
        n_labels: int,
        at: np.ndarray,
        better: np.ndarray,
        worse: np.ndarray,
    ) -> None:
        self.inputs, self.at, self.better, self.worse = inputs, at, better, worse
        self.signs = np.eye(n_labels)[better] - np.eye(n_labels)[worse]
        self.features = self._features(getattr(inputs, "features", None))
        super().__init__(self._block, 2.0 * inputs.diag[at])

    def _features(self, X: np.ndarray | None) -> np.ndarray | None:
        """Features of the edges, (m, L d), if the inputs have few."""
        m, L = self.signs.shape
        if X is None or L * X.shape[1] > m or 8 * m * L * X.shape[1] > _MAX_BYTES:
            return None
        return (self.signs[:, :, None] * X[self.at][:, None]).reshape(m, -1)

    def _block(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        block = self.signs[i] @ self.signs[j].T
        every = np.arange(len(self.inputs))
        block *= np.take(self.inputs.block(self.at[i], every), self.at[j], axis=1)
        return block

    def gathered(self, beta: np.ndarray) -> np.ndarray:
        """Weights of inputs and labels, (n, L), that give the same score as those of edges."""
        W = np.zeros((len(self.inputs), self.signs.shape[1]))
        np.add.at(W, (self.at, self.better), beta)
        np.add.at(W, (self.at, self.worse), -beta)
        return W

    def times(self, beta: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        """Scores of edges, as differences of the labels' scores."""
        at = np.arange(len(self)) if at is None else at
        W = self.gathered(beta)
        F = np.column_stack([self.inputs.times(w) for w in W.T])
        return F[self.at[at], self.better[at]] - F[self.at[at], self.worse[at]]
