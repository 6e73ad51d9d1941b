"""Designs: what each observation sees of the latent vector.

Observation ``i`` sees ``h_i = a_i' g`` of a latent vector ``g ~ N(0, K)``; the rows ``a_i``
make the design A. Ordinal regression sees latent values one by one (`Direct`), a comparison
sees the difference of two (`Differences`). Both are weighted sums of a few latent values
(`Combinations`), as are ratings and comparisons together, or differences of labels in a
contrast basis. `Labels` are differences of several latent functions at one input.

The engines never look at rows: `ordinality.gp.posterior.choose` turns a design and K into the
prior of h.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from .._compile import check_shape, loop

__all__ = ["Combinations", "Design", "Differences", "Direct", "Labels"]


class Design(Protocol):
    """What the posterior forms ask of any design."""

    def covariance(self, K: np.ndarray) -> np.ndarray:
        """Prior covariance of what the observations see, ``A K A'``."""
        ...

    def pullback(self, G: np.ndarray) -> np.ndarray:
        """Turn a gradient in ``A K A'`` into a gradient in ``K``: ``A' G A``."""
        ...


@dataclass(frozen=True)
class Direct:
    """Each observation sees its own latent value: ordinal regression."""

    def covariance(self, K: np.ndarray) -> np.ndarray:
        """``A`` is the identity."""
        return K

    def pullback(self, G: np.ndarray) -> np.ndarray:
        """``A`` is the identity."""
        return G


@dataclass(frozen=True, eq=False)
class Combinations:
    """Each observation sees a weighted sum of a few latent values."""

    index: np.ndarray  # (m, w), which latent values; short rows are padded with weight 0
    value: np.ndarray  # (m, w), their weights
    size: int  # n, the number of latent values

    def __post_init__(self) -> None:
        index = self.index
        if index.ndim != 2:
            raise ValueError(f"index has shape {index.shape}, but must have shape (m, w).")
        check_shape(index.shape, value=self.value)
        # Without any latent value only entries of weight 0 are left, which point to the first.
        if index.size and not 0 <= index.min() <= index.max() < max(self.size, 1):
            raise ValueError(
                f"index goes from {index.min()} to {index.max()}, but there are {self.size} "
                "latent values, counted from 0."
            )

    def __len__(self) -> int:
        return len(self.index)

    def take(self, which: np.ndarray) -> Combinations:
        """Some of the observations."""
        return Combinations(self.index[which], self.value[which], self.size)

    def compact(self) -> tuple[np.ndarray, Combinations]:
        """The latent values that some row sees, and the same rows over them alone."""
        seen = np.zeros(self.size, dtype=bool)
        seen[self.index[self.value != 0]] = True
        place = np.maximum(np.cumsum(seen) - 1, 0)  # entries of weight 0 may point anywhere
        kept = np.flatnonzero(seen)
        return kept, Combinations(place[self.index], self.value, len(kept))

    def renumbered(self, place: np.ndarray) -> Combinations:
        """The same rows over a latent vector in which entry i has moved to ``place[i]``."""
        return Combinations(place[self.index], self.value, self.size)

    def see(self, g: np.ndarray) -> np.ndarray:
        """``A g`` for a vector, or for each column of a matrix."""
        if g.ndim == 1:
            check_shape((self.size,), g=g)
            seen = np.empty(len(self))
            _see(self.index, self.value, g, seen)
            return seen
        return np.sum(self.value[:, :, None] * g[self.index], axis=1)

    def gather(self, x: np.ndarray) -> np.ndarray:
        """``A' x``, shape (n,)."""
        check_shape((len(self),), x=x)
        total = np.empty(self.size)
        _gather(self.index, self.value, x, total)
        return total

    def covariance(self, K: np.ndarray) -> np.ndarray:
        """``A K A'``, exactly symmetric, in O(m^2) beyond a pass over K."""
        check_shape((self.size, self.size), K=K)
        C = np.empty((len(self), len(self)))
        _covariance(self.index, self.value, K, np.empty(len(K)), C)
        return C

    def variances(self, K: np.ndarray) -> np.ndarray:
        """Diagonal of ``A K A'``, for a K of which the upper triangle counts; O(m)."""
        check_shape((self.size, self.size), K=K)
        found = np.empty(len(self))
        _variances(self.index, self.value, K, found)
        return found

    def norms(self, V: np.ndarray) -> np.ndarray:
        """Squared length of each row of ``A V``."""
        check_shape((self.size, V.shape[1]), V=V)
        found = np.empty(len(self))
        _norms(self.index, self.value, np.ascontiguousarray(V), found)
        return found

    def products(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Pairs of latent values that a row sees, with the weight of their covariance."""
        for a in range(self.index.shape[1]):
            for b in range(a + 1):
                weight = self.value[:, a] * self.value[:, b] * (1.0 if a == b else 2.0)
                yield self.index[:, a], self.index[:, b], weight

    def connected(self, effort: float, rng: np.random.Generator) -> np.ndarray:
        """Latent values chosen one by one, each with most rows in common with those before.

        As many as exact inference on matrices of ``effort`` rows can take, of the values or of
        the rows among them. Random ones would have few rows among themselves if each is seen by
        few. Growth starts from ten random values, so that rows between neighbours do not
        confine it to one place.
        """
        A = (self.sparse() != 0).astype(float)
        graph = csr_array(A.T @ A)
        # Rows among the values so far, with each value: to begin with, those that see it alone.
        inside = np.maximum(2.0 * graph.diagonal() - graph.sum(axis=0), 0.0)
        shuffled = rng.permutation(self.size)
        turn, taken = np.argsort(shuffled), np.zeros(self.size, dtype=bool)
        heap = [(-np.inf, k, shuffled[k]) for k in range(min(10, self.size))]
        order: list[int] = []
        rows = 0.0
        while len(order) < self.size and min(rows, 1.5 * len(order)) < effort:
            if not heap:  # a part of the graph is used up
                k = int(np.argmax(~taken[shuffled]))
                heap.append((0.0, k, shuffled[k]))
            i = heapq.heappop(heap)[2]
            if taken[i]:
                continue
            taken[i] = True
            order.append(i)
            rows += inside[i]
            near = slice(graph.indptr[i], graph.indptr[i + 1])
            for j, shared in zip(graph.indices[near], graph.data[near], strict=True):
                if not taken[j]:
                    inside[j] += shared
                    heapq.heappush(heap, (-inside[j], turn[j], j))
        return np.array(order)

    def sparse(self) -> csr_array:
        """``A`` as a sparse matrix."""
        m, w = self.index.shape
        parts = self.value.ravel(), self.index.ravel(), np.arange(0, m * w + 1, w)
        return csr_array(parts, shape=(m, self.size))

    def pullback(self, G: np.ndarray) -> np.ndarray:
        """``A' G A`` of a symmetric G."""
        check_shape((len(self), len(self)), G=G)
        half, out = np.zeros((self.size, len(self))), np.zeros((self.size, self.size))
        _pullback(self.index, self.value, G, half, out)
        return out

    def precision(self, tau: np.ndarray, out: np.ndarray) -> np.ndarray:
        """``A' diag(tau) A`` in the memory ``out``, (n, n): for comparisons a graph Laplacian.

        Singular (a shift of all utilities is never seen) and therefore never inverted.
        """
        check_shape((len(self),), tau=tau)
        check_shape((self.size, self.size), out=out)
        out[...] = 0.0
        _precision(self.index, self.value, tau, out)
        return out


class Differences(Combinations):
    """Row k, a comparison, sees ``g[pairs[k, 0]] - g[pairs[k, 1]]``."""

    def __init__(self, pairs: ArrayLike, size: int) -> None:
        index = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        super().__init__(index, np.tile([1.0, -1.0], (len(index), 1)), size)


class Labels(Differences):
    """Row k, a preference between labels, sees ``f_first(x_at) - f_second(x_at)``.

    As a `Differences` it sees the stacked vector of all labels, n L long; its covariance and
    pullback are those of the n x n kernel matrix that the labels share.
    """

    def __init__(
        self, at: np.ndarray, first: np.ndarray, second: np.ndarray, n: int, L: int
    ) -> None:
        super().__init__(np.column_stack([first * n + at, second * n + at]), n * L)
        # Frozen as a value, so fields of its own are set as its parent's are.
        for name, value in {"at": at, "first": first, "second": second, "n": n, "L": L}.items():
            object.__setattr__(self, name, value)

    at: np.ndarray  # (m,), input of each
    first: np.ndarray  # (m,), the two labels, 0..L-1
    second: np.ndarray
    n: int  # number of inputs
    L: int  # number of labels

    def take(self, which: np.ndarray) -> Labels:
        """Some of the observations."""
        return Labels(self.at[which], self.first[which], self.second[which], self.n, self.L)

    def compact(self) -> tuple[np.ndarray, Labels]:
        """The inputs of which anything is seen, and the same observations of them alone."""
        kept, at = np.unique(self.at, return_inverse=True)
        return kept, Labels(at.ravel(), self.first, self.second, len(kept), self.L)

    @property
    def signs(self) -> np.ndarray:
        """+1 and -1 at the two labels of each observation, shape (m, L)."""
        return np.eye(self.L)[self.first] - np.eye(self.L)[self.second]

    def covariance(self, K: np.ndarray) -> np.ndarray:
        """``A (I x K) A'`` from K of shape (n, n)."""
        C = self.signs @ self.signs.T
        C *= K[np.ix_(self.at, self.at)]
        return C

    def pullback(self, G: np.ndarray) -> np.ndarray:
        """Gradient in K, (n, n): the sum of the diagonal blocks of ``A' G A``."""
        order = np.argsort(self.at, kind="stable")
        seen, starts = np.unique(self.at[order], return_index=True)
        product = G * (self.signs @ self.signs.T)
        product = np.add.reduceat(product[:, order], starts, axis=1)
        out = np.zeros((self.n, self.n))
        out[np.ix_(seen, seen)] = np.add.reduceat(product[order], starts, axis=0)
        return out

    def by_input(self, x: np.ndarray) -> np.ndarray:
        """``A' x`` with a row for each input and a column for each label."""
        return self.gather(x).reshape(self.L, self.n).T

    def laplacians(self, tau: np.ndarray) -> np.ndarray:
        """Graph Laplacian of the labels at each input, edges of weight ``tau``: (n, L, L)."""
        L = self.L
        each = self.at * L**2
        places = ((self.first, self.first, 1.0), (self.second, self.second, 1.0),
                  (self.first, self.second, -1.0), (self.second, self.first, -1.0))  # fmt: skip
        total = np.zeros(self.n * L**2)
        for a, b, sign in places:
            total += np.bincount(each + a * L + b, sign * tau, len(total))
        return total.reshape(self.n, L, L)

    def seen_variances(self, cov: np.ndarray) -> np.ndarray:
        """Variances of what is seen, from the covariance of labels at each input, (n, L, L)."""
        at, a, b = self.at, self.first, self.second
        return cov[at, a, a] + cov[at, b, b] - 2.0 * cov[at, a, b]


@loop
def _see(index, value, g, h):
    m, w = index.shape
    for i in range(m):
        h[i] = 0.0
        for a in range(w):
            h[i] += value[i, a] * g[index[i, a]]


@loop
def _gather(index, value, x, total):
    m, w = index.shape
    for j in range(total.size):
        total[j] = 0.0
    for i in range(m):
        for a in range(w):
            total[index[i, a]] += value[i, a] * x[i]


@loop
def _covariance(index, value, K, row, C):
    m, w = index.shape
    for i in range(m):
        for c in range(row.size):
            row[c] = 0.0
        for a in range(w):
            p, v = index[i, a], value[i, a]
            for c in range(row.size):
                row[c] += v * K[p, c]
        for j in range(i + 1):
            total = 0.0
            for b in range(w):
                total += value[j, b] * row[index[j, b]]
            C[i, j] = total
            C[j, i] = total


@loop
def _variances(index, value, K, total):
    m, w = index.shape
    for i in range(m):
        total[i] = 0.0
        for a in range(w):
            p = index[i, a]
            total[i] += value[i, a] ** 2 * K[p, p]
            for b in range(a):
                q = index[i, b]
                total[i] += 2.0 * value[i, a] * value[i, b] * K[min(p, q), max(p, q)]


@loop
def _norms(index, value, V, total):
    m, w = index.shape
    for i in range(m):
        total[i] = 0.0
        for c in range(V.shape[1]):
            x = 0.0
            for a in range(w):
                x += value[i, a] * V[index[i, a], c]
            total[i] += x * x


@loop
def _pullback(index, value, G, half, out):
    m, w = index.shape
    n = len(out)
    for i in range(m):
        for a in range(w):
            r, v = index[i, a], value[i, a]
            for j in range(m):
                half[r, j] += v * G[j, i]  # A' G; G is symmetric, and read by columns
    for r in range(n):
        for j in range(m):
            for b in range(w):
                out[r, index[j, b]] += value[j, b] * half[r, j]


@loop
def _precision(index, value, tau, out):
    m, w = index.shape
    for i in range(m):
        for a in range(w):
            for b in range(w):
                out[index[i, a], index[i, b]] += tau[i] * value[i, a] * value[i, b]
