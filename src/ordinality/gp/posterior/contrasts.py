"""The posterior of label preferences, by contrasts of the labels.

Each of L labels has a latent function of its own, all with the same kernel, and an observation
sees the difference of two labels at one input. Stacked label by label the latent vector has
covariance ``I_L x K``, but nothing of that size is ever made: designs and gradients are in
terms of the n x n matrix K, and the mean of an input's labels, which no difference sees, is
left out.

With H of shape (L, L - 1), orthonormal columns that sum to zero, the contrasts ``(H' x I) f ~
N(0, I_{L-1} x K)`` carry the same evidence and the same mode. Writing ``K = U U'`` with U of
shape (n, r), r the rank of K, leaves one matrix to factorise, of side ``N = r (L - 1)``:

    B = I + (I x U)' Lambda (I x U),    Lambda: n blocks of (L - 1) x (L - 1).

Operations: ``n N^2`` to make B and ``N^3 / 3`` to factorise it, all that a step of Laplace
needs; ``2/3 N^3`` to invert it and ``n N^2`` for the marginals, in each step of EP and once for
Laplace; ``(1 + n / r) n N^2`` for the gradient. Without use of blocks and rank, the whitened
form would spend 4/3 and 2 times the cube of n (L - 1) on the two steps. A linear kernel
of d features has r = d, and a smooth kernel of few features often much less than n.

Chu & Ghahramani (2005, ICML), section 3, with a shared kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas, lapack

from ...kernels.base import scratch
from ..design import Combinations, Labels
from .observations import diagnosis

__all__ = ["Contrasts", "ContrastsPosterior", "contrast_basis"]

# EP costs 2/3 m^3 a step over m observations, and N^3 + 3 n N^2 here.
_TALL = 1.25


def contrast_basis(L: int) -> np.ndarray:
    """Orthonormal columns that sum to zero, shape (L, L - 1) (Helmert's)."""
    k = np.arange(1, L)
    H = np.where(np.arange(L)[:, None] < k, 1.0, 0.0)
    H[k, k - 1] = -k
    return H / np.sqrt(k * (k + 1.0))


@dataclass(frozen=True)
class Contrasts:
    """The prior of label differences, in whitened contrasts."""

    design: Labels
    K: np.ndarray  # (n, n)
    H: np.ndarray  # (L, L - 1)
    U: np.ndarray  # (n, r), K = U U' up to the rounding of K

    @classmethod
    def of(cls, design: Labels, K: np.ndarray) -> Contrasts:
        """Factorise K with pivots."""
        if not np.isfinite(K.sum()):  # LAPACK would take it for the end of the rank
            raise FloatingPointError(diagnosis(K, np.ones(len(K))))
        lower, pivots, rank, _ = lapack.dpstrf(K, lower=1)
        U = np.empty((len(K), rank))
        U[pivots - 1] = np.tril(lower)[:, :rank]
        return cls(design, K, contrast_basis(design.L), U)

    @property
    def side(self) -> int:
        """Rows of B."""
        return self.U.shape[1] * self.H.shape[1]

    @property
    def is_cheaper(self) -> bool:
        """Than the covariance of the observations themselves."""
        return len(self.design) > _TALL * self.side

    @property
    def effort(self) -> float:
        return float((self.side**3 + 3.0 * len(self.K) * self.side**2) ** (1 / 3))

    @property
    def diagonal(self) -> np.ndarray:
        return 2.0 * np.diagonal(self.K)[self.design.at]

    def __matmul__(self, alpha: np.ndarray) -> np.ndarray:
        return self.seen(self.K @ self.pulled(alpha))

    def pulled(self, x: np.ndarray) -> np.ndarray:
        """``A' x`` in contrasts, (n, L - 1)."""
        return self.design.by_input(x) @ self.H

    def seen(self, g: np.ndarray) -> np.ndarray:
        """What observations see of contrasts g, (n, L - 1)."""
        return self.design.see((g @ self.H.T).T.ravel())

    def given(self, tau: np.ndarray) -> ContrastsPosterior:
        """Contrasts number a and b share the block ``U' diag(Lambda_ab) U`` of B."""
        U, (n, r), q = self.U, self.U.shape, self.H.shape[1]
        Lambda = self.H.T @ self.design.laplacians(tau) @ self.H
        B = scratch(self.side, "factor")
        for a in range(q):
            weighted = Lambda[:, a, a:, None] * U[:, None, :]
            B[a * r : (a + 1) * r, a * r :] = U.T @ weighted.reshape(n, -1)
        B[np.diag_indices(self.side)] += 1.0
        factor, info = lapack.dpotrf(B, clean=0, overwrite_a=1)
        half_log_det = float(np.sum(np.log(np.diagonal(factor)))) if info == 0 else np.inf
        if not np.isfinite(half_log_det):
            raise FloatingPointError(diagnosis(self.K, np.full(n, np.sqrt(tau.max()))))
        return ContrastsPosterior(self, tau, Lambda, factor, half_log_det)

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        n, q, some = len(self.K), self.H.shape[1], self.design.take(block)
        index = np.arange(q) * n + some.at[:, None]
        return Combinations(index, self.H[some.first] - self.H[some.second], n * q).see


@dataclass(frozen=True)
class ContrastsPosterior:
    """The posterior under some sites, by the factor of B, or its inverse once `inverted`."""

    prior: Contrasts
    tau: np.ndarray
    Lambda: np.ndarray  # (n, L - 1, L - 1)
    matrix: np.ndarray  # factor or inverse of B; only the upper triangle means anything
    half_log_det: float
    inverse: bool = False

    @property
    def basis(self) -> np.ndarray:
        """The rows of `explained` in terms of the labels, (L, L - 1)."""
        return self.prior.H

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = self.prior.seen(self._contrasts(nu))
        return mean, nu - self.tau * mean

    def inverted(self) -> ContrastsPosterior:
        if self.inverse:
            return self
        inverse, _ = lapack.dpotri(self.matrix, overwrite_c=1)
        return replace(self, matrix=inverse, inverse=True)

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        U, H, (n, r) = self.prior.U, self.prior.H, self.prior.U.shape
        q = H.shape[1]
        cov = np.empty((n, q, q))
        for a in range(q):
            half = U @ self._inverse_rows(a)
            cov[:, a, a:] = np.einsum("ibk,ik->ib", half.reshape(n, -1, r), U)
            cov[:, a:, a] = cov[:, a, a:]
        var = np.maximum(self.prior.design.seen_variances(H @ cov @ H.T), 0.0)
        return np.maximum(1.0 - self.tau * var, np.finfo(float).eps), var

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = self._contrasts(nu).T.ravel()
        return mean, self.inverted().covariance().reshape(len(mean), -1)

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        """Gradient in K: the sum of the diagonal blocks, none of which is made in full.

        ``Lambda_ab`` are diagonal, so entry (i, j) of the sum of ``Lambda Cov Lambda`` is a
        sum over pairs b, c of contrasts of ``Cov_bc[i, j] (Lambda_i Lambda_j)[b, c]``.
        """
        a, v, Lambda = self.prior.pulled(alpha), self.prior.pulled(implicit), self.Lambda
        G = np.diag(np.trace(Lambda, axis1=1, axis2=2))
        for b, c, cov in self._covariances():
            part = cov * (Lambda[:, b] @ Lambda[:, c].T)
            G -= part if b == c else part + part.T
        cross = v @ a.T
        return 0.5 * (a @ a.T - G + cross + cross.T)

    def covariance(self) -> np.ndarray:
        """Posterior covariance of contrasts, (L - 1, n, L - 1, n); needs the inverse."""
        n, q = len(self.prior.K), self.prior.H.shape[1]
        out = np.empty((q, n, q, n))
        for b, c, cov in self._covariances():
            out[b, :, c], out[c, :, b] = cov, cov.T
        return out

    def explained(self) -> np.ndarray:
        """``G = Lambda - Lambda Cov Lambda`` of contrasts, (n (L - 1), n (L - 1))."""
        n, q = len(self.prior.K), self.prior.H.shape[1]
        cov = self.covariance().transpose(1, 0, 2, 3).reshape(n, q, -1)
        half = (self.Lambda @ cov).reshape(n, q, q, n)  # input, contrast | contrast, input
        whole = self.Lambda @ half.transpose(3, 2, 1, 0).reshape(n, q, -1)
        whole = whole.reshape(n, q, q, n).transpose(1, 0, 2, 3)
        G = -np.ascontiguousarray(whole)
        i = np.arange(n)
        G[:, i, :, i] += self.Lambda
        return G.reshape(n * q, n * q)

    def _contrasts(self, nu: np.ndarray) -> np.ndarray:
        """Posterior mean of the contrasts, (n, L - 1)."""
        U, q = self.prior.U, self.prior.H.shape[1]
        shift = (U.T @ self.prior.pulled(nu)).T.ravel()
        if self.inverse:
            e = blas.dsymv(1.0, self.matrix, shift)
        else:
            e = lapack.dpotrs(self.matrix, shift)[0]
        return U @ e.reshape(q, -1).T

    def _inverse_rows(self, a: int) -> np.ndarray:
        """Rows of B^-1 that belong to contrast a, from its own columns on."""
        r = self.prior.U.shape[1]
        rows = np.ascontiguousarray(self.matrix[a * r : (a + 1) * r, a * r :])
        rows[:, :r] = np.triu(rows[:, :r]) + np.triu(rows[:, :r], 1).T
        return rows

    def _covariances(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """(b, c, Cov_bc) for all pairs of contrasts with b <= c."""
        U, r = self.prior.U, self.prior.U.shape[1]
        for b in range(self.prior.H.shape[1]):
            half = U @ self._inverse_rows(b)
            for k in range(half.shape[1] // r):
                yield b, b + k, half[:, k * r : (k + 1) * r] @ U.T
