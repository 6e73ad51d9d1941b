"""Rows of a cumulative link model, and their log-likelihood in one pass by blocks.

The parameters are one vector: alpha (q,), then gamma (q,) for each nominal column, beta (d,)
and zeta (c,). Rows are kept sorted by level, so that a block has one upper and one lower
threshold, and sums over a level are sums over blocks. Location columns cost one product
``X' diag(om) X`` a block, and thresholds are tridiagonal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from .links import LOG_P, OM_L, OM_U, R_L, R_U, Link, interval_terms
from .structures import Structure

__all__ = ["Block", "Expansion", "Parameters", "RowExpansion", "RowTerms", "Rows"]

_BLOCK = 1 << 18  # numbers of X in a block: 2 MB, which stays in the cache between two uses


@dataclass(frozen=True, eq=False)
class Parameters:
    """The vector of parameters, in parts."""

    A: np.ndarray  # (1 + p, q): alpha, then gamma of each nominal column
    beta: np.ndarray  # (d,)
    zeta: np.ndarray  # (c,)

    @property
    def vector(self) -> np.ndarray:
        """All in one."""
        return np.concatenate([self.A.ravel(), self.beta, self.zeta])


@dataclass(frozen=True, eq=False)
class Expansion:
    """Log-likelihood, its gradient and minus its second derivatives at a vector."""

    value: float
    gradient: np.ndarray
    information: np.ndarray


@dataclass(frozen=True, eq=False)
class RowExpansion:
    """The same without the products of all pairs of location columns; no scale effects."""

    value: float
    gradient: np.ndarray
    T: np.ndarray  # information of the thresholds and nominal effects, (t, t)
    TX: np.ndarray  # of these and the location columns, (t, d)
    a: np.ndarray  # (n,): that of the location columns is X' diag(a) X
    diagonal: np.ndarray  # (d,), of that


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of one level, with what their interval depends on."""

    part: slice
    level: int
    X: Any  # (b, d), dense or CSR
    M: np.ndarray  # (b, 1 + p): ones and the nominal columns
    Z: np.ndarray  # (b, c)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows sorted by level, ``y`` ascending."""

    link: Link
    structure: Structure
    X: Any  # (n, d) float64, dense or CSR
    N: np.ndarray  # (n, p), nominal columns
    Z: np.ndarray  # (n, c), scale columns
    y: np.ndarray  # (n,), ranks, ascending
    weights: np.ndarray  # (n,)
    offset: np.ndarray  # (n,)

    @property
    def n_levels(self) -> int:
        """Number of levels, K."""
        return len(self.structure.J) + 1

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of parameters: thresholds with nominal effects, location, scale."""
        q = self.structure.J.shape[1]
        return (1 + self.N.shape[1]) * q, self.X.shape[1], self.Z.shape[1]

    @property
    def places(self) -> tuple[slice, slice, slice]:
        """Where these three stand in the vector."""
        t, d, c = self.sizes
        return slice(0, t), slice(t, t + d), slice(t + d, t + d + c)

    def parts(self, vector: np.ndarray) -> Parameters:
        """The vector of parameters in its parts."""
        thresholds, location, scale = (vector[place] for place in self.places)
        return Parameters(thresholds.reshape(1 + self.N.shape[1], -1), *(location, scale))

    @cached_property
    def blocks(self) -> list[Block]:
        """The rows by level and in pieces."""
        n, d = self.X.shape
        step = max(256, _BLOCK // max(d, 8))
        if hasattr(self.X, "toarray"):
            step = max(step, _BLOCK * n // max(self.X.nnz, 1))
        cuts = np.searchsorted(self.y, np.arange(self.n_levels + 1))
        M = np.column_stack([np.ones(n), self.N])
        found = []
        for level, (start, stop) in enumerate(pairwise(cuts)):
            for a in range(start, stop, step):
                at = slice(a, min(a + step, stop))
                found.append(Block(at, level, self.X[at], M[at], self.Z[at]))
        return found

    def take(self, index: np.ndarray) -> Rows:
        """Some rows; `index` ascending."""
        parts = ("X", "N", "Z", "y", "weights", "offset")
        return replace(self, **{name: getattr(self, name)[index] for name in parts})

    def ends(
        self, block: Block, p: Parameters
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Upper and lower end of each row of a block, its width and the noise."""
        theta, b = p.A @ self.structure.J.T, block.part  # (1 + p, K - 1)
        centre = block.X @ p.beta + self.offset[b]
        s = np.exp(block.Z @ p.zeta) if len(p.zeta) else np.ones(len(centre))
        top = block.level == self.n_levels - 1
        upper = np.inf if top else block.M @ theta[:, block.level]
        lower = block.M @ theta[:, block.level - 1] if block.level else -np.inf
        return (upper - centre) / s, (lower - centre) / s, (upper - lower) / s, s

    def value(self, vector: np.ndarray) -> float:
        """Log-likelihood; minus infinity outside its domain."""
        p, value = self.parts(vector), 0.0
        for block in self.blocks:
            u, l, w, _ = self.ends(block, p)  # noqa: E741
            if not np.all(w > 0):
                return -np.inf
            value += self.weights[block.part] @ interval_terms(self.link, u, l, w)[LOG_P]
        return float(value) if np.isfinite(value) else -np.inf

    def evaluate(self, vector: np.ndarray) -> Expansion | None:
        """Value, gradient and information; None outside the domain."""
        p, sums = self.parts(vector), _Sums.empty(self, pairs=True)
        for block in self.blocks:
            terms = self.row_terms(block, p)
            if terms is None:
                return None
            sums.add(block, terms)
        return sums.evaluation(self.structure)

    def evaluate_rows(self, vector: np.ndarray) -> RowExpansion | None:
        """The same for many columns; None outside the domain."""
        p, sums, a = self.parts(vector), _Sums.empty(self, pairs=False), np.empty(len(self.y))
        for block in self.blocks:
            terms = self.row_terms(block, p)
            if terms is None:
                return None
            sums.add(block, terms)
            a[block.part] = terms.a_u + terms.a_l
        gradient, T, TX, _ = sums.in_parameters(self.structure)
        return RowExpansion(float(sums.value), gradient, T, TX, a, sums.XX)

    def row_terms(self, block: Block, p: Parameters) -> RowTerms | None:
        """What the sums need of each row of a block; None if one is outside the domain."""
        u, l, w, s = self.ends(block, p)  # noqa: E741
        if not np.all(w > 0):
            return None
        v = self.weights[block.part]
        terms = interval_terms(self.link, u, l, w)
        if not np.all(np.isfinite(terms[LOG_P])):
            return None
        g_u, g_l = v * terms[R_U] / s, v * terms[R_L] / s
        vs2 = v / s**2
        # Infinite ends meet zeros below.
        if not np.isfinite(u[0]):
            u = w = np.zeros_like(u)
        if not np.isfinite(l[0]):
            l = w = np.zeros_like(l)  # noqa: E741
        return RowTerms(
            float(v @ terms[LOG_P]),
            g_u, g_l, vs2 * terms[OM_U], vs2 * terms[OM_L], vs2 * terms[R_U] * terms[R_L],
            s * u, s * l, s * w,
        )  # fmt: skip

    def scores(self, vector: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Gradient of each row, (b, parameters), by blocks of rows."""
        p, J = self.parts(vector), self.structure.J
        for block in self.blocks:
            t = self.row_terms(block, p)
            if t is None:
                raise ValueError("scores are defined inside the domain of the likelihood only.")
            X = block.X.toarray() if hasattr(block.X, "toarray") else block.X
            A = np.zeros((len(t.g_u), block.M.shape[1], J.shape[1]))
            if block.level < self.n_levels - 1:
                A += (t.g_u[:, None] * block.M)[:, :, None] * J[block.level]
            if block.level:
                A -= (t.g_l[:, None] * block.M)[:, :, None] * J[block.level - 1]
            in_location = (t.g_l - t.g_u)[:, None] * X
            in_scale = (t.l * t.g_l - t.u * t.g_u)[:, None] * block.Z
            yield block.part, np.hstack([A.reshape(len(A), -1), in_location, in_scale])


@dataclass(frozen=True, eq=False)
class RowTerms:
    """Terms of the rows of a block, weighted; ends and width in units of the latent value."""

    value: float
    g_u: np.ndarray  # derivative in the upper and in the lower threshold (the latter negative)
    g_l: np.ndarray
    a_u: np.ndarray  # om_u, om_l and om_m, over the squared noise
    a_l: np.ndarray
    a_m: np.ndarray
    u: np.ndarray  # noise times the ends and the width; 0 where infinite
    l: np.ndarray  # noqa: E741
    w: np.ndarray


@dataclass(eq=False)
class _Sums:
    """Sums over blocks, thresholds as if flexible."""

    concave: bool
    value: float
    G: np.ndarray  # (K-1, 1+p): gradient of each threshold
    D: np.ndarray  # (K-1, 1+p, 1+p): information of a threshold
    O: np.ndarray  # noqa: E741 (K-2, 1+p, 1+p): of one and the next
    g: np.ndarray  # (d,)
    XX: np.ndarray  # (d, d), or (d,) for its diagonal
    TX: np.ndarray  # (K-1, 1+p, d)
    h: np.ndarray  # (c,)
    ZZ: np.ndarray  # (c, c)
    TZ: np.ndarray  # (K-1, 1+p, c)
    XZ: np.ndarray  # (d, c)

    @classmethod
    def empty(cls, rows: Rows, *, pairs: bool) -> _Sums:
        m, r = rows.n_levels - 1, 1 + rows.N.shape[1]
        d, c = rows.X.shape[1], rows.Z.shape[1]
        location = (d, d) if pairs else (d,)
        shapes = [(m, r), (m, r, r), (m - 1, r, r), (d,), location, (m, r, d), (c,)]
        shapes += [(c, c), (m, r, c), (d, c)]
        zeros: Any = [np.zeros(shape) for shape in shapes]
        return cls(rows.link.log_concave, 0.0, *zeros)

    def add(self, block: Block, t: RowTerms) -> None:
        """Add the rows of a block."""
        k, X, M = block.level, block.X, block.M
        self.value += t.value
        self.g += X.T @ (t.g_l - t.g_u)
        if self.XX.ndim == 2:
            self.XX += _gram(X, t.a_u + t.a_l, self.concave)
        else:
            squares = X.multiply(X).tocsr() if hasattr(X, "toarray") else X**2
            self.XX += squares.T @ (t.a_u + t.a_l)
        if k < len(self.G):
            self.G[k] += M.T @ t.g_u
            self.D[k] += M.T @ ((t.a_u + t.a_m)[:, None] * M)
            self.TX[k] -= (X.T @ (t.a_u[:, None] * M)).T
        if k:
            self.G[k - 1] -= M.T @ t.g_l
            self.D[k - 1] += M.T @ ((t.a_l + t.a_m)[:, None] * M)
            self.TX[k - 1] -= (X.T @ (t.a_l[:, None] * M)).T
        if 0 < k < len(self.G):
            self.O[k - 1] -= M.T @ (t.a_m[:, None] * M)
        if len(self.h):
            self._add_scale(block, t)

    def _add_scale(self, block: Block, t: RowTerms) -> None:
        k, M, Z = block.level, block.M, block.Z
        slope = t.u * t.g_u - t.l * t.g_l
        bend = t.a_u * t.u**2 + t.a_l * t.l**2 + t.a_m * t.w**2
        self.h -= Z.T @ slope
        self.ZZ += Z.T @ ((bend - slope)[:, None] * Z)
        if k < len(self.G):
            weight = t.g_u - t.a_u * t.u - t.a_m * t.w
            self.TZ[k] += M.T @ (weight[:, None] * Z)
        if k:
            weight = t.a_m * t.w - t.g_l - t.a_l * t.l
            self.TZ[k - 1] += M.T @ (weight[:, None] * Z)
        weight = t.a_u * t.u + t.a_l * t.l - t.g_u + t.g_l
        self.XZ += block.X.T @ (weight[:, None] * Z)

    def in_parameters(
        self, structure: Structure
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Gradient, and the information of thresholds with themselves, location and scale."""
        J, (m, r, d) = structure.J, self.TX.shape
        q, c = J.shape[1], len(self.h)
        if structure.flexible:  # J = I: no products of K^3
            T, at = np.zeros((r, m, r, m)), np.arange(m)
            T[:, at, :, at] = self.D
            T[:, at[:-1], :, at[1:]] = T[:, at[1:], :, at[:-1]] = self.O
            TX, TZ = self.TX.transpose(1, 0, 2), self.TZ.transpose(1, 0, 2)
        else:
            T = np.einsum("kij,ka,kb->iajb", self.D, J, J)
            cross = np.einsum("kij,ka,kb->iajb", self.O, J[:-1], J[1:])
            T += cross + cross.transpose(2, 3, 0, 1)
            TX, TZ = (np.einsum("ka,kjx->jax", J, part) for part in (self.TX, self.TZ))
        gradient = np.concatenate([(self.G.T @ J).ravel(), self.g, self.h])
        t = r * q
        return gradient, T.reshape(t, t), TX.reshape(t, d), TZ.reshape(t, c)

    def evaluation(self, structure: Structure) -> Expansion:
        """The sums as functions of the parameters."""
        gradient, T, TX, TZ = self.in_parameters(structure)
        parts = [[T, TX, TZ], [TX.T, self.XX, self.XZ], [TZ.T, self.XZ.T, self.ZZ]]
        return Expansion(float(self.value), gradient, np.block(parts))


def _gram(X: Any, weights: np.ndarray, positive: bool) -> np.ndarray:
    """X' diag(weights) X as a dense array."""
    if hasattr(X, "toarray"):
        return (X.T @ X.multiply(weights[:, None]).tocsr()).toarray()
    if not positive:
        return X.T @ (weights[:, None] * X)
    scaled = np.sqrt(weights)[:, None] * X
    return scaled.T @ scaled  # of one array with itself NumPy computes one half
