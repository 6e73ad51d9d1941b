"""The posterior by the covariance of what the observations see, never inverting it.

With C the prior covariance of h, everything is computed from ``B = I + sq C sq``, ``sq =
sqrt(tau)``, whose eigenvalues are at least one even where C is singular (repeated rows) or tau
vanishes, and is written so that nothing cancels:

    alpha = C^-1 mean = sq B^-1 (nu / sq)           not nu - tau mean
    var_i = (1 - (B^-1)_ii) / tau_i                 not C_ii minus a sum of squares
    G     = sq B^-1 sq = (C + diag(1/tau))^-1

Rasmussen & Williams (2006), sections 3.4 and 3.6, rearranged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas, lapack

from ..._compile import loop
from ...kernels.base import scratch
from ..design import Design

__all__ = [
    "Factor",
    "Observations",
    "ObservationsPosterior",
    "Predictor",
    "diagnosis",
    "factorise",
]

# sqrt(tau) is kept above this so that 0/0 cannot arise for a site without information; its
# square is still above the smallest normal number, 2e-308.
_SMALLEST_ROOT = 1e-150
_HALVED = (100, 575)  # rows between which a triangle is inverted by halves


@dataclass(frozen=True)
class Observations:
    """The prior of h by its covariance."""

    design: Design
    C: np.ndarray  # (m, m), A K A'
    memory: np.ndarray

    @classmethod
    def of(cls, design: Design, K: np.ndarray) -> Observations:
        """From the covariance of g."""
        C = design.covariance(K)
        return cls(design, C, scratch(len(C), "factor"))

    @property
    def effort(self) -> float:
        return len(self.C)

    @property
    def diagonal(self) -> np.ndarray:
        return np.ascontiguousarray(np.diagonal(self.C))

    def __matmul__(self, alpha: np.ndarray) -> np.ndarray:
        return self.C @ alpha

    def given(self, tau: np.ndarray) -> ObservationsPosterior:
        return ObservationsPosterior(self, factorise(self.C, tau, self.memory))

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda x: x[block]


@dataclass(frozen=True)
class ObservationsPosterior:
    """The posterior under some sites, by the factor of B."""

    prior: Observations
    factor: Factor

    @property
    def half_log_det(self) -> float:
        return self.factor.half_log_det

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        alpha = self.factor.solve(nu)  # not nu - tau mean, which would cancel
        return self.prior.C @ alpha, alpha

    def inverted(self) -> ObservationsPosterior:
        return replace(self, factor=self.factor.inverted())

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        beta = self.factor.inverse_diagonal()
        return beta, self.factor.variances(self.prior.C, beta)

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.moments(nu)[0], self.factor.covariance(self.prior.C)

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        return self.prior.design.pullback(self.factor.evidence_gradient(alpha, implicit))


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
        """Mean and variance of f at q new inputs, from prior covariances (q, n) and (q,)."""
        half = self._explained(cross)
        explained = np.einsum("ij,ij->j", half, half)
        return cross @ self.alpha, np.maximum(prior - explained, 0.0)

    def joint(self, cross: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of f at q new inputs, from prior covariances (q, n), (q, q)."""
        half = self._explained(cross)
        return cross @ self.alpha, prior - half.T @ half

    def _explained(self, cross: np.ndarray) -> np.ndarray:
        """A factor of what the training set explains of the prior covariance, (n, q)."""
        scaled = np.asfortranarray((cross * self.factor.sq).T)
        return blas.dtrsm(1.0, self.factor.upper, scaled, trans_a=1, overwrite_b=1)


@dataclass(frozen=True)
class Factor:
    """Upper Cholesky factor U of B = U' U, or its inverse once `inverted`.

    Upper, because LAPACK inverts it a fifth faster than a lower one.
    """

    sq: np.ndarray  # (n,)
    upper: np.ndarray  # (n, n) Fortran order; only the upper triangle means anything
    half_log_det: float
    inverse: bool = False

    def solve(self, x: np.ndarray) -> np.ndarray:
        """``(I + diag(tau) K)^-1 x = sq B^-1 (x / sq)``."""
        return self.sq * self.solve_plain(x / self.sq)

    def solve_plain(self, x: np.ndarray) -> np.ndarray:
        """``B^-1 x``."""
        if not self.inverse:
            return lapack.dpotrs(self.upper, x)[0]
        return blas.dtrmv(self.upper, blas.dtrmv(self.upper, x, trans=1))

    def covariance(self, K: np.ndarray) -> np.ndarray:
        """Posterior covariance, from the factor itself."""
        half = blas.dtrsm(1.0, self.upper, np.asfortranarray(self.sq[:, None] * K), trans_a=1)
        return K - half.T @ half

    def inverted(self) -> Factor:
        """The same factor holding U^-1; overwrites the memory of this one."""
        return Factor(self.sq, _inverse(self.upper), self.half_log_det, inverse=True)

    def inverse_diagonal(self) -> np.ndarray:
        """Diagonal of B^-1, from the inverted factor."""
        total = np.zeros(len(self.upper))
        _row_squares(self.upper, total)
        return total

    def variances(self, K: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Posterior variances from ``beta``, the diagonal of B^-1."""
        tau, prior = self.sq**2, np.diagonal(K)
        # Below 1e-8 the difference 1 - beta keeps fewer than eight digits: use the long form.
        weak = np.flatnonzero(tau * prior < 1e-8)
        with np.errstate(divide="ignore", invalid="ignore"):
            var = (1.0 - beta) / tau
        for i in weak:
            var[i] = prior[i] - np.sum(blas.dtrmv(self.upper, self.sq * K[i], trans=1) ** 2)
        return np.maximum(var, 0.0)

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        """``(alpha alpha' - G + implicit alpha' + alpha implicit') / 2``, full and symmetric.

        Needs the inverted factor and overwrites its memory.
        """
        product, _ = lapack.dlauum(self.upper, overwrite_c=1)
        _symmetric_gradient(product, self.sq, alpha, implicit)
        return product


def factorise(K: np.ndarray, tau: np.ndarray, out: np.ndarray | None = None) -> Factor:
    """Cholesky factor of ``I + sqrt(tau) K sqrt(tau)``, in the memory ``out`` if given.

    Reads K at and below the diagonal only. FloatingPointError if no digits are left.
    """
    n = len(tau)
    B = np.empty((n, n), order="F") if out is None else out
    sq = np.maximum(np.sqrt(tau), _SMALLEST_ROOT)
    _identity_plus(K, sq, B)
    upper, info = lapack.dpotrf(B, clean=0, overwrite_a=1)
    half_log_det = float(np.sum(np.log(np.diagonal(upper)))) if info == 0 else np.inf
    if not np.isfinite(half_log_det):
        raise FloatingPointError(diagnosis(K, sq))
    return Factor(sq, upper, half_log_det)


def diagnosis(K: np.ndarray, sq: np.ndarray) -> str:
    """Why B, whose eigenvalues are at least one, could not be factorised."""
    if not np.all(np.isfinite(np.tril(K))):
        return "the kernel matrix holds values that are not finite; scale the features."
    ratio = float(np.max(np.diagonal(K) * sq**2))
    return (
        f"the kernel's variance is {ratio:.0e} times the squared noise, which leaves no digits "
        "for the noise; raise the noise or lower the kernel's variance."
    )


def _inverse(upper: np.ndarray) -> np.ndarray:
    """Inverse of an upper triangular matrix, in its memory.

    By halves where that is a tenth faster than LAPACK, which works by columns of blocks.
    """
    n = len(upper)
    if not _HALVED[0] < n <= _HALVED[1]:
        return lapack.dtrtri(upper, overwrite_c=1)[0]
    h = n // 2
    # BLAS is handed copies: it takes no part of an array without one.
    first, last = (_inverse(upper[k, k].copy("F")) for k in (slice(h), slice(h, None)))
    across = blas.dtrmm(-1.0, first, upper[:h, h:].copy("F"), overwrite_b=1)
    upper[:h, :h], upper[h:, h:] = first, last
    upper[:h, h:] = blas.dtrmm(1.0, last, across, side=1, overwrite_b=1)
    return upper


@loop
def _identity_plus(K, sq, out):
    """Upper triangle of I + sq K sq, by columns; rows of K are its columns."""
    for j in range(sq.size):
        scale = sq[j]
        for i in range(j + 1):
            out[i, j] = K[j, i] * scale * sq[i]
        out[j, j] += 1.0


@loop
def _row_squares(upper, total):
    for j in range(total.size):
        for i in range(j + 1):
            total[i] += upper[i, j] ** 2


@loop
def _symmetric_gradient(B, sq, alpha, v):
    """In place: the upper triangle holds B^-1 on entry, all of it the gradient on exit."""
    n = sq.size
    block = 32  # both triangles are written; blocks keep the strided side in cache
    for jb in range(0, n, block):
        for ib in range(0, jb + 1, block):
            for j in range(jb, min(jb + block, n)):
                a, s, w = alpha[j], sq[j], v[j]
                for i in range(ib, min(ib + block, j + 1)):
                    g = 0.5 * ((alpha[i] + v[i]) * a + alpha[i] * w - sq[i] * B[i, j] * s)
                    B[i, j] = g
                    B[j, i] = g
