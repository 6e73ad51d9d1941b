"""Kernel rows of comparisons, from kernel rows of the items or inputs compared.

The score of a pair is a difference of two scores, so its kernel is a sum of four. The matrix of
all pairs is never formed: some of its rows follow from twice as many rows of the smaller
matrix, and products with it are products with the smaller matrix.
"""

from __future__ import annotations

import numpy as np

from .kernel_rows import KernelRows

__all__ = ["EdgeRows", "PairRows"]

_MAX_BYTES = 2**28  # of the features of edges; beyond it kernel rows are used


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
