"""The posterior of latent values by its precision, where the prior can be inverted.

Where K is well conditioned, ``K^-1 + Lambda`` with ``Lambda = A' diag(tau) A`` is the cheapest
form: one factor and one inverse of an n x n matrix, half the price of the whitened form. An
effect of its own for every item keeps K well conditioned; items in the same place do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import blas, lapack

from ..._compile import loop
from ...kernels.base import scratch
from ..design import Combinations
from .observations import diagnosis

__all__ = ["Precision", "PrecisionPosterior", "mirrored"]

# Moments lose about as many digits as K^-1 does, and nine of 16 are enough for engines.
_CONDITION = 1e-7

# What all observations leave open, such as the common level of utilities, keeps its prior
# variance. The mean has an error of eps times that scale, and alpha one of as much times tau:
# up to this ratio of prior variance to that of a site, ten digits are left.
_SHARP = 1e6

# Entries of the design, for each of K, from which a product of full matrices is quicker than
# a pass over the rows (measured: 0.06 at 800 items, 0.13 at 200).
_FULL = 0.08


@dataclass(frozen=True)
class Precision:
    """The prior of ``h = A g`` by the inverse of K."""

    design: Combinations
    K: np.ndarray  # (n, n)
    inverse: np.ndarray  # (n, n), upper triangle of K^-1
    half_log_det: float  # of K

    @classmethod
    def of(cls, design: Combinations, K: np.ndarray, precision: float = 0.0) -> Self | None:
        """Invert K; None if that, or sites of such ``precision``, cost too many digits."""
        norm = float(np.max(np.sum(np.abs(K), axis=0)))
        if not precision * norm < _SHARP:  # so written for NaN
            return None
        factor = scratch(len(K), "whitening")
        factor[...] = K.T  # by columns, for LAPACK
        factor, info = lapack.dpotrf(factor, clean=0, overwrite_a=1)
        if info or lapack.dpocon(factor, norm)[0] < _CONDITION:
            return None
        half_log_det = float(np.sum(np.log(np.diagonal(factor))))
        inverse, _ = lapack.dpotri(factor, overwrite_c=1)
        return cls(design, K, inverse, half_log_det)

    @property
    def effort(self) -> float:
        return len(self.K)

    @property
    def diagonal(self) -> np.ndarray:
        return self.design.variances(self.K.T)  # by columns

    def __matmul__(self, alpha: np.ndarray) -> np.ndarray:
        return self.design.see(self.K @ self.design.gather(alpha))

    def given(self, tau: np.ndarray) -> PrecisionPosterior:
        n = len(self.K)
        P = self.design.precision(tau, scratch(n, "factor"))
        _add_upper(self.inverse, P)
        factor, info = lapack.dpotrf(P, clean=0, overwrite_a=1)
        half = float(np.sum(np.log(np.diagonal(factor)))) if info == 0 else np.inf
        if not np.isfinite(half):
            raise FloatingPointError(diagnosis(self.K, np.full(n, np.sqrt(tau.max()))))
        return PrecisionPosterior(self, tau, factor, half + self.half_log_det)

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return self.design.take(block).see


@dataclass(frozen=True)
class PrecisionPosterior:
    """The posterior under some sites, by the factor of its precision, or its covariance."""

    prior: Precision
    tau: np.ndarray
    factor: np.ndarray  # upper factor of the precision, or upper triangle of its inverse
    half_log_det: float
    is_covariance: bool = False

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shift = self.prior.design.gather(nu)
        if self.is_covariance:
            g = blas.dsymv(1.0, self.factor, shift)
        else:
            g = lapack.dpotrs(self.factor, shift)[0]
        mean = self.prior.design.see(g)
        return mean, nu - self.tau * mean

    def inverted(self) -> PrecisionPosterior:
        covariance, _ = lapack.dpotri(self.factor, overwrite_c=1)
        return PrecisionPosterior(self.prior, self.tau, covariance, self.half_log_det, True)

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        var = np.maximum(self.prior.design.variances(self.factor), 0.0)
        return np.maximum(1.0 - self.tau * var, np.finfo(float).eps), var

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cov = mirrored(self.inverted().factor)
        return cov @ self.prior.design.gather(nu), cov

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        # G = Lambda Cov K^-1; with little noise Lambda - Lambda Cov Lambda has no digits left.
        rows, n = self.prior.design, len(self.prior.K)
        if rows.index.size > _FULL * n * n:
            precision = rows.precision(self.tau, scratch(n, "precision"))
            half = blas.dsymm(1.0, self.factor, precision)
        else:
            M, smooth = mirrored(self.factor), np.zeros((n, n))
            _smooth(rows.index, rows.value, self.tau, M, np.empty(n), smooth)
            half = smooth.T
        G = blas.dsymm(1.0, self.prior.inverse, half)
        out = np.empty((n, n))
        _gradient(G, rows.gather(alpha), rows.gather(implicit), out)
        return out


@loop
def _add_upper(upper, out):
    """Add one upper triangle to another, by columns."""
    for j in range(len(upper)):
        for i in range(j + 1):
            out[i, j] += upper[i, j]


def mirrored(upper: np.ndarray) -> np.ndarray:
    """The symmetric matrix of an upper triangle."""
    out = np.empty(upper.shape)
    _mirror(upper, out)
    return out


@loop
def _mirror(upper, out):
    for j in range(len(upper)):
        for i in range(j + 1):
            out[i, j] = upper[i, j]
            out[j, i] = upper[i, j]


@loop
def _smooth(index, value, tau, M, seen, out):
    """Add ``A' diag(tau) A M`` to `out`, row by row of A: a comparison sees two rows of M."""
    m, w = index.shape
    n = seen.size
    for k in range(m):
        for c in range(n):
            seen[c] = 0.0
        for a in range(w):
            r, v = index[k, a], value[k, a]
            for c in range(n):  # written out: a slice times a number would be a new array
                seen[c] += v * M[r, c]
        for a in range(w):
            r, v = index[k, a], tau[k] * value[k, a]
            for c in range(n):
                out[r, c] += v * seen[c]


@loop
def _gradient(G, a, v, out):
    """``(a a' - G + v a' + a v') / 2``, of the two triangles of G their mean."""
    for j in range(a.size):
        for i in range(j + 1):
            g = a[i] * a[j] + v[i] * a[j] + a[i] * v[j] - 0.5 * (G[i, j] + G[j, i])
            out[i, j] = 0.5 * g
            out[j, i] = 0.5 * g
