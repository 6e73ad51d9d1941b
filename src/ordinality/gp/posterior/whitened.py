"""The posterior of latent values, whitened by a factor of their prior covariance.

Writing ``K = U U'`` and ``g = U e`` with e standard normal leaves ``B = I + U' Lambda U`` to
factorise, n x n, whose eigenvalues are at least one; ``Lambda = A' diag(tau) A`` costs one pass
over the observations. Neither K nor Lambda is inverted: both may be singular (repeated items;
disconnected comparisons).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas, lapack

from ..._compile import loop
from ...kernels.base import scratch
from ..design import Combinations
from .observations import diagnosis

__all__ = ["Whitened", "WhitenedPosterior"]

_SMALL = 120  # rows of a triangle that are not worth splitting


@dataclass(frozen=True)
class Whitened:
    """The prior of ``h = A g`` by the factor U of K.

    Latent values are taken in the order in which pivots were found, last first: then U is
    upper triangular, and so is the factor of the posterior covariance. ``U U'`` misses K by
    its rounding only, however singular it is.
    """

    design: Combinations
    K: np.ndarray  # (n, n)
    rows: Combinations  # over latent values in the order of U
    order: np.ndarray  # (n,), that order
    upper: np.ndarray  # (n, n), U
    lower: np.ndarray  # (n, n), U with rows and columns reversed

    @classmethod
    def of(cls, design: Combinations, K: np.ndarray) -> Whitened:
        """Factorise K with pivots."""
        n = len(K)
        if not np.isfinite(K.sum()):  # LAPACK would take it for the end of the rank
            raise FloatingPointError(diagnosis(K, np.ones(n)))
        lower, upper = scratch(n, "whitening"), scratch(n, "upper")
        lower[...] = K.T
        # LAPACK has K = L L' only; read backwards it is what is wanted.
        lower, pivots, rank, _ = lapack.dpstrf(lower, lower=1, overwrite_a=1)
        lower[:, rank:] = 0.0
        order = pivots[::-1].astype(np.intp) - 1
        place = np.empty(n, dtype=np.intp)
        place[order] = np.arange(n)
        _reversed(lower, upper)
        return cls(design, K, design.renumbered(place), order, upper, lower)

    @property
    def effort(self) -> float:
        return 1.6 * len(self.K)  # 4/3 n^3 against n^3/3

    @property
    def diagonal(self) -> np.ndarray:
        return self.design.variances(self.K.T)  # by columns

    def __matmul__(self, alpha: np.ndarray) -> np.ndarray:
        return self.design.see(self.K @ self.design.gather(alpha))

    def given(self, tau: np.ndarray) -> WhitenedPosterior:
        n = len(self.K)
        # The rows reversed, for LAPACK transforms L' Lambda L and nothing like U' Lambda U.
        backwards = self.rows.renumbered(np.arange(n)[::-1])
        product = backwards.precision(tau, scratch(n, "precision"))
        product, _ = lapack.dsygst(product, self.lower, itype=2, lower=1, overwrite_a=1)
        B = scratch(n, "factor")
        _reversed(product, B)
        B[np.diag_indices(n)] += 1.0
        factor, info = lapack.dpotrf(B, clean=0, overwrite_a=1)
        half_log_det = float(np.sum(np.log(np.diagonal(factor)))) if info == 0 else np.inf
        if not np.isfinite(half_log_det):
            raise FloatingPointError(diagnosis(self.K, np.full(n, np.sqrt(tau.max()))))
        return WhitenedPosterior(self, tau, factor, half_log_det)

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return self.rows.take(block).see


@dataclass(frozen=True)
class WhitenedPosterior:
    """The posterior under some sites: ``B = F' F``; once `inverted`, ``Cov[g] = V V'``."""

    prior: Whitened
    tau: np.ndarray
    factor: np.ndarray  # F, or V = U F^-1 once inverted; upper triangular
    half_log_det: float
    inverse: bool = False

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows, shift = self.prior.rows, self.prior.rows.gather(nu)
        if self.inverse:
            g = blas.dtrmv(self.factor, blas.dtrmv(self.factor, shift, trans=1))
        else:
            e = lapack.dpotrs(self.factor, blas.dtrmv(self.prior.upper, shift, trans=1))[0]
            g = blas.dtrmv(self.prior.upper, e)
        mean = rows.see(g)
        # The mean does not come from alpha here, so the rounding of this difference, some
        # eps tau mean, goes no further.
        return mean, nu - self.tau * mean

    def inverted(self) -> WhitenedPosterior:
        V = _over(self.prior.upper, self.factor)
        return replace(self, factor=V, inverse=True)

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        cov, _ = lapack.dlauum(self.factor)
        var = np.maximum(self.prior.rows.variances(cov), 0.0)
        return np.maximum(1.0 - self.tau * var, np.finfo(float).eps), var

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        V = np.triu(self.inverted().factor)
        return V @ (V.T @ self.prior.rows.gather(nu)), V @ V.T

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        rows, n, order = self.prior.rows, len(self.prior.K), self.prior.order
        precision = rows.precision(self.tau, scratch(n, "precision"))
        # G = Lambda - (V' Lambda)' (V' Lambda)
        half = blas.dtrmm(1.0, self.factor, precision, trans_a=1)
        explained = blas.dsyrk(1.0, half, trans=1)
        a, v = rows.gather(alpha), rows.gather(implicit)
        out = np.empty((n, n))
        _gradient(precision, explained, a, v, order, out)
        return out


def _over(upper: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """``upper @ inv(factor)`` of two upper triangles, by halves: a third of the full price."""
    n = len(upper)
    if n <= _SMALL:
        return blas.dtrsm(1.0, factor, np.asfortranarray(np.triu(upper)), side=1)
    h = n // 2
    first, last = slice(h), slice(h, None)
    # BLAS is handed copies: it takes no part of an array without one.
    F22 = factor[last, last].copy("F")
    out = np.empty((n, n), order="F")
    out[last, first] = 0.0
    V11 = out[first, first] = _over(upper[first, first], factor[first, first].copy("F"))
    out[last, last] = _over(upper[last, last], F22)
    across = blas.dtrmm(-1.0, V11, factor[first, last].copy("F"), overwrite_b=1)
    across += upper[first, last]
    out[first, last] = blas.dtrsm(1.0, F22, across, side=1, overwrite_b=1)
    return out


@loop
def _reversed(lower, upper):
    """Upper triangle from a lower one with rows and columns reversed; by columns."""
    n = lower.shape[0]
    for j in range(n):
        for i in range(j + 1):
            upper[i, j] = lower[n - 1 - i, n - 1 - j]


@loop
def _gradient(precision, explained, a, v, order, out):
    """``(a a' - (precision - explained) + v a' + a v') / 2``, at the places of `order`."""
    n = a.size
    for j in range(n):
        for i in range(j + 1):
            g = a[i] * a[j] + v[i] * a[j] + a[i] * v[j] - precision[i, j] + explained[i, j]
            out[order[i], order[j]] = 0.5 * g
            out[order[j], order[i]] = 0.5 * g
