"""A Gaussian from a prior covariance and Gaussian sites, never inverting the prior.

Sites ``exp(nu_i h_i - tau_i h_i^2 / 2)`` give every approximation the same posterior,

    precision = K^-1 + diag(tau),    precision @ mean = nu,

computed from ``B = I + sq K sq``, ``sq = sqrt(tau)``, whose eigenvalues are at least one even
where K is singular (repeated rows) or tau vanishes. Everything is written so that nothing
cancels:

    alpha = K^-1 mean = sq B^-1 (nu / sq)           not nu - tau mean
    var_i = (1 - (B^-1)_ii) / tau_i                 not K_ii minus a sum of squares
    G     = sq B^-1 sq = (K + diag(1/tau))^-1

Rasmussen & Williams (2006), sections 3.4 and 3.6, rearranged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from .._jit import loop

__all__ = ["Factor", "Predictor", "factorise"]

# sqrt(tau) is kept above this so that 0/0 cannot arise for a site that says nothing.
_SMALLEST_ROOT = 1e-150


@dataclass(frozen=True)
class Factor:
    """Lower Cholesky factor of B, or its inverse once `inverted`."""

    sq: np.ndarray  # (n,)
    lower: np.ndarray  # (n, n) Fortran order; only the lower triangle means anything
    half_log_det: float
    inverse: bool = False

    def solve(self, x: np.ndarray) -> np.ndarray:
        """``(I + diag(tau) K)^-1 x = sq B^-1 (x / sq)``."""
        return self.sq * self.solve_plain(x / self.sq)

    def solve_plain(self, x: np.ndarray) -> np.ndarray:
        """``B^-1 x``."""
        if not self.inverse:
            return lapack.dpotrs(self.lower, x, lower=1)[0]
        half = blas.dtrmv(self.lower, x, lower=1)
        return blas.dtrmv(self.lower, half, lower=1, trans=1)

    def inverted(self) -> Factor:
        """The same factor holding L^-1; overwrites the memory of this one."""
        lower, _ = lapack.dtrtri(self.lower, lower=1, overwrite_c=1)
        return Factor(self.sq, lower, self.half_log_det, inverse=True)

    def inverse_diagonal(self) -> np.ndarray:
        """Diagonal of B^-1, from the inverted factor."""
        return _column_squares(self.lower)

    def variances(self, K: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Posterior variances from ``beta``, the diagonal of B^-1."""
        tau, prior = self.sq**2, np.diagonal(K)
        # Below 1e-8 the difference 1 - beta keeps fewer than eight digits: use the long form.
        weak = np.flatnonzero(tau * prior < 1e-8)
        with np.errstate(divide="ignore", invalid="ignore"):
            var = (1.0 - beta) / tau
        for i in weak:
            var[i] = prior[i] - np.sum(blas.dtrmv(self.lower, self.sq * K[:, i], lower=1) ** 2)
        return np.maximum(var, 0.0)

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        """``(alpha alpha' - G + implicit alpha' + alpha implicit') / 2``, full and symmetric.

        Needs the inverted factor and overwrites its memory.
        """
        product, _ = lapack.dlauum(self.lower, lower=1, overwrite_c=1)
        _symmetric_gradient(product, self.sq, alpha, implicit)
        return product


def factorise(K: np.ndarray, tau: np.ndarray, out: np.ndarray | None = None) -> Factor:
    """Cholesky factor of ``I + sqrt(tau) K sqrt(tau)`` into the memory ``out`` if given."""
    n = len(tau)
    B = np.empty((n, n), order="F") if out is None else out
    sq = np.maximum(np.sqrt(tau), _SMALLEST_ROOT)
    _identity_plus(K, sq, B)
    lower, info = lapack.dpotrf(B, lower=1, clean=0, overwrite_a=1)
    if info != 0:  # eigenvalues are at least one: only overflow or a NaN gets here
        raise FloatingPointError("the kernel matrix holds values that are not finite")
    return Factor(sq, lower, float(np.sum(np.log(np.diagonal(lower)))))


@dataclass(frozen=True)
class Predictor:
    """Latent mean and variance at new inputs, given the sites of a training set."""

    factor: Factor
    alpha: np.ndarray

    @classmethod
    def from_sites(cls, K: np.ndarray, tau: np.ndarray, nu: np.ndarray) -> Predictor:
        """Condition a prior on sites."""
        factor = factorise(K, tau)
        return cls(factor, factor.solve(nu))

    def latent(self, cross: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at new inputs.

        Parameters
        ----------
        cross : ndarray of shape (m, n)
            Prior covariance between new and training inputs.
        prior : ndarray of shape (m,)
            Prior variance at the new inputs.
        """
        scaled = np.asfortranarray((cross * self.factor.sq).T)
        half = blas.dtrsm(1.0, self.factor.lower, scaled, lower=1, overwrite_b=1)
        explained = np.einsum("ij,ij->j", half, half)
        return cross @ self.alpha, np.maximum(prior - explained, 0.0)


@loop
def _identity_plus(K, sq, out):
    """Lower triangle of I + sq K sq; walks K by rows, which are its columns."""
    n = sq.size
    for j in range(n):
        scale = sq[j]
        for i in range(j, n):
            out[i, j] = K[j, i] * scale * sq[i]
        out[j, j] += 1.0


@loop
def _column_squares(lower):
    n = lower.shape[0]
    total = np.empty(n)
    for j in range(n):
        s = 0.0
        for i in range(j, n):
            s += lower[i, j] ** 2
        total[j] = s
    return total


@loop
def _symmetric_gradient(B, sq, alpha, v):
    """In place: the lower triangle holds B^-1 on entry, all of it the gradient on exit."""
    n = sq.size
    block = 32  # both triangles are written; blocks keep the strided side in cache
    for jb in range(0, n, block):
        for ib in range(jb, n, block):
            for j in range(jb, min(jb + block, n)):
                a, s, w = alpha[j], sq[j], v[j]
                for i in range(max(ib, j), min(ib + block, n)):
                    g = 0.5 * ((alpha[i] + v[i]) * a + alpha[i] * w - sq[i] * B[i, j] * s)
                    B[i, j] = g
                    B[j, i] = g
