"""The posterior of label preferences by inducing values of the contrasts of labels.

Each of L - 1 contrasts of the labels (`contrasts`) has values of its own at the M points, with
``(L - 1) M`` whitened values e in all. With p the whitened row of an input x and H the basis of
contrasts, a preference for label a over label b at x sees

    sum_j g_j p' e_j  plus a residual,    g = H_a - H_b,    |g|^2 = 2,

of variance ``2 (k(x, x) - |p|^2)``. A row p is made once for an input, however many preferences
are stated there, and what costs is one M x M matrix for each *pair* of labels:

    S_ab = sum_i w_i p_i p_i',    w_i: precisions of the sites that compare a and b at input i,
    V_ab = sum_jk g_j g_k (B^-1)_jk,    the variance of what is seen is ``p' V_ab p``,

from which block (j, k) of ``B - I`` is the sum of ``g_j g_k S_ab`` over pairs. So m preferences
take m M^2 operations for B, 2 m M^2 for their variances and 2 m M^2 for the gradient, in
which the derivatives of an input sum over its preferences, and those of K_uu over the blocks.

Residuals of different preferences at one input are correlated, but taken as independent. The
variational bound sees the variance of one preference at a time, and stays a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from ...kernels.base import Kernel
from ..design import Design, Labels
from .contrasts import contrast_basis
from .inducing import (
    Basis,
    Inducing,
    InducingGradient,
    InducingPosterior,
    add_gram,
    factorised,
)
from .precision import mirrored

__all__ = ["InducingLabels", "InducingLabelsPosterior", "LabelsGradient"]


@dataclass(frozen=True, eq=False)
class InducingLabels(Inducing):
    """The prior of what inducing values of the contrasts say of differences of labels."""

    design: Labels
    H: np.ndarray  # (L, L - 1)

    @classmethod
    def of(cls, kernel: Kernel, X: np.ndarray, Z: np.ndarray, design: Design) -> InducingLabels:
        """Project what the preferences see on the contrasts at ``Z``."""
        assert isinstance(design, Labels)
        basis = Basis.of(kernel, Z)
        P, own = basis.projected(X)
        left = np.maximum(kernel.diag(X) - own, 0.0)
        at = design.at
        return cls(basis, X, P, 2.0 * own[at], 2.0 * left[at], design, contrast_basis(design.L))

    @property
    def effort(self) -> float:
        m, M, q = len(self.design), len(self.basis), self.H.shape[1]
        return float((3.0 * m * M**2 + (q * M) ** 3) ** (1 / 3))

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Which pair each preference compares, (m,), and g of each pair, (pairs, L - 1)."""
        d = self.design
        low, high = np.minimum(d.first, d.second), np.maximum(d.first, d.second)
        pairs, pair = np.unique(low * d.L + high, return_inverse=True)
        return pair.ravel(), self.H[pairs // d.L] - self.H[pairs % d.L]

    def by_pairs(self, x: np.ndarray) -> np.ndarray:
        """Sums of ``x`` over the preferences of each input between each pair, (n, pairs)."""
        pair, g = self._pairs
        shape = self.design.n, len(g)
        return np.bincount(self.design.at * len(g) + pair, x, shape[0] * shape[1]).reshape(
            shape
        )

    @cached_property
    def compared(self) -> np.ndarray:
        """Whether anything was said about each pair at each input, (n, pairs)."""
        return self.by_pairs(np.ones(len(self.design))) > 0.0

    def by_input(self, x: np.ndarray) -> np.ndarray:
        """Sums of ``x`` over the preferences of each input, (n,)."""
        return np.bincount(self.design.at, x, self.design.n)

    def contrasts(self, x: np.ndarray) -> np.ndarray:
        """``A' x`` in contrasts, (n, L - 1)."""
        return self.design.by_input(x) @ self.H

    def see(self, e: np.ndarray) -> np.ndarray:
        each = e.reshape(self.H.shape[1], -1)
        g = np.empty((len(self.X), len(each)))
        for rows, P in self.parts():
            g[rows] = P @ each.T
        return self.design.see((g @ self.H.T).T.ravel())

    def pull(self, x: np.ndarray) -> np.ndarray:
        g = self.contrasts(x)
        total = np.zeros((g.shape[1], len(self.basis)))
        for rows, P in self.parts():
            total += g[rows].T @ P
        return total.ravel()

    def gram(self, weight: np.ndarray) -> np.ndarray:
        (_, g), w, M = self._pairs, self.by_pairs(weight), len(self.basis)
        S = np.zeros((M, M, len(g)), order="F")
        for rows, P in self.parts():
            for k, column in enumerate(w[rows].T):
                add_gram(P, column, S[:, :, k])
        q = g.shape[1]
        total = np.zeros((q * M, q * M), order="F")
        # One product for all blocks: far faster than a sum over pairs for each.
        blocks = S.reshape(M * M, -1, order="F") @ np.column_stack(
            [g[:, j] * g[:, k] for j in range(q) for k in range(j, q)]
        )
        each = iter(blocks.T)
        for j in range(q):
            for k in range(j, q):
                upper = next(each).reshape(M, M, order="F")
                total[j * M : (j + 1) * M, k * M : (k + 1) * M] = mirrored(upper)
        return total

    def of_pairs(self, inverse: np.ndarray) -> np.ndarray:
        """V of each pair, (pairs, M, M), from the inverse of B, (L - 1, M, L - 1, M)."""
        _, g = self._pairs
        q, M = inverse.shape[:2]
        weight = (g[:, :, None] * g[:, None, :]).reshape(len(g), -1)
        blocks = inverse.transpose(0, 2, 1, 3).reshape(q * q, M * M)
        return (weight @ blocks).reshape(-1, M, M)

    def forms_of_pairs(self, V: np.ndarray) -> np.ndarray:
        """``p' V p`` of the input and the pair of each preference, (m,)."""
        found = np.zeros(self.compared.shape)
        for rows, P in self.parts():
            for k, some in enumerate(self.compared[rows].T):
                part = P if np.all(some) else P[some]
                found[rows][some, k] = np.einsum("ij,ij->i", part @ V[k], part)
        return np.maximum(found[self.design.at, self._pairs[0]], 0.0)

    def norms(self, factor: np.ndarray) -> np.ndarray:
        return self.forms_of_pairs(self.of_pairs(self._blocks(lapack.dpotri(factor)[0])))

    def _blocks(self, upper: np.ndarray) -> np.ndarray:
        """A symmetric matrix over e by its upper triangle, as (L - 1, M, L - 1, M)."""
        q, M = self.H.shape[1], len(self.basis)
        return mirrored(upper).reshape(q, M, q, M)

    def pulled_variances(self, c: np.ndarray) -> np.ndarray:
        return super().pulled_variances(2.0 * self.by_input(c))

    def given(self, tau: np.ndarray) -> InducingLabelsPosterior:
        return InducingLabelsPosterior(self, tau, *factorised(self.gram(tau)))

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        at, (pair, g) = self.design.at[block], self._pairs
        p = self.basis.whitened(self.X[at]) if self.P is None else self.P[at]
        sign = np.where(self.design.first[block] < self.design.second[block], 1.0, -1.0)
        rows = ((sign[:, None] * g[pair[block]])[:, :, None] * p[:, None]).reshape(len(at), -1)
        return lambda x: rows @ x


@dataclass(frozen=True, eq=False)
class InducingLabelsPosterior(InducingPosterior):
    """The posterior under some sites, by the factor of the precision of all blocks of e."""

    prior: InducingLabels

    @cached_property
    def inverse(self) -> np.ndarray:
        """The inverse of B by blocks, (L - 1, M, L - 1, M)."""
        return self.prior._blocks(lapack.dpotri(self.factor)[0])

    @cached_property
    def of_pairs(self) -> np.ndarray:
        """V of each pair of labels, (pairs, M, M)."""
        return self.prior.of_pairs(self.inverse)

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        var = self.prior.forms_of_pairs(self.of_pairs)
        return np.maximum(1.0 - self.tau * var, np.finfo(float).eps), var

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> LabelsGradient:
        return LabelsGradient(self, alpha, implicit)


@dataclass(frozen=True, eq=False)
class LabelsGradient(InducingGradient):
    """The gradient of the evidence in the prior, as vectors over the preferences."""

    posterior: InducingLabelsPosterior

    @property
    def prior(self) -> InducingLabels:
        return self.posterior.prior

    @cached_property
    def _means(self) -> tuple[np.ndarray, np.ndarray]:
        """e and e_w by contrasts, (L - 1, M)."""
        e, e_w = (self.prior.pull(x) for x in (self.alpha, self.implicit))
        q = self.prior.H.shape[1]
        return e.reshape(q, -1), e_w.reshape(q, -1)

    def by_whitened(self, c: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        prior, (e, e_w) = self.prior, self._means
        alpha, implicit = (prior.contrasts(x) for x in (self.alpha, self.implicit))
        w, four_c = prior.by_pairs(self.posterior.tau), 4.0 * prior.by_input(c)
        for rows, P in prior.parts():
            F = (-four_c[rows, None] * P).T  # 2 c of each preference, times |g|^2 = 2
            for V, column, some in zip(
                self.posterior.of_pairs, w[rows].T, prior.compared[rows].T, strict=True
            ):
                if np.all(some):
                    F = blas.dsymm(-1.0, V.T, (column[:, None] * P).T, beta=1.0, c=F,
                                   overwrite_c=1)  # fmt: skip
                elif np.any(some):
                    F[:, some] -= V @ (column[some, None] * P[some]).T
            F += e.T @ (alpha + implicit)[rows].T
            F += e_w.T @ alpha[rows].T
            yield rows, F

    def inner(self, c: np.ndarray) -> np.ndarray:
        e, e_w = self._means
        cross = e.T @ e_w
        inner = e.T @ e + cross + cross.T + np.einsum("jajb->ab", self.posterior.inverse)
        inner[np.diag_indices_from(inner)] -= len(e)
        return inner - mirrored(Inducing.gram(self.prior, 4.0 * self.prior.by_input(c)))
