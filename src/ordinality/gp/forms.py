"""The posterior of what is observed, in two forms of one expression.

Sites (tau, nu) on ``h = A g``, ``g ~ N(0, K)``, give whatever the design

    precision = K^-1 + A' diag(tau) A,    precision @ mean = A' nu.

Engines ask for the moments of h only, and for ``alpha = nu - tau E[h]``, the pull of the
observations with ``K^-1 E[g] = A' alpha``. With m observations of n latent values:

`Dense`, the m-form
    works on ``B = I + sq A K A' sq``, m x m. Right for few observations, and for `Direct`.
`Whitened`, the n-form
    writes ``K = U U'``, ``g = U e``, and works on ``B = I + U' Lambda U``, n x n, where
    ``Lambda = A' diag(tau) A`` costs one pass over the observations. Neither K nor Lambda is
    inverted: both may be singular (repeated items; disconnected comparisons).

The two determinants are equal, and both have eigenvalues of at least one. Where K is far from
singular, `ordinality.gp.canonical` does the work of the n-form at half its price.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas, lapack

from .._compile import loop
from ..kernels.base import scratch
from .canonical import Canonical
from .design import Design, Rows
from .labels import Contrasts, Labels
from .posterior import Factor, diagnosis, factorise
from .stars import Stars

__all__ = ["Dense", "DensePosterior", "Posterior", "Prior", "Whitened", "WhitenedPosterior"]
__all__ += ["prior_of"]

# One step of EP costs 2/3 m^3 in the m-form and about 2 n^3 in the n-form, one of Laplace 1/3
# and 4/3: the forms break even near m = 1.5 n.
_TALL = 1.5
_SOONER = 0.8  # of that ratio, where K can be inverted and the n-form costs half as much
_SMALL = 120  # rows of a triangle that are not worth splitting


class Posterior(Protocol):
    """What engines ask of the posterior under some sites."""

    @property
    def half_log_det(self) -> float:
        """Half the log determinant of B."""
        ...

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean of h under shifts ``nu``, and alpha: both linear in ``nu``."""
        ...

    def inverted(self) -> Self:
        """The same posterior, ready for `marginals`; overwrites the memory of this one."""
        ...

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        """``1 - tau_i var_i``, the share of itself each h_i owes to the others; and var."""
        ...

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean under shifts ``nu`` and covariance of the vector that `Prior.view` looks at."""
        ...

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        """``(a a' - G + v a' + a v') / 2``, ``a = A' alpha``, ``v = A' implicit``: in K.

        Needs the inverted posterior and overwrites its memory.
        """
        ...


class Prior(Protocol):
    """What engines ask of the prior of h."""

    @property
    def effort(self) -> float:
        """Rows of a matrix whose Cholesky factor costs what `given` costs."""
        ...

    @property
    def diagonal(self) -> np.ndarray:
        """Prior variances of h, shape (m,)."""
        ...

    def __matmul__(self, alpha: np.ndarray) -> np.ndarray:
        """``A K A' alpha``."""
        ...

    def given(self, tau: np.ndarray) -> Posterior:
        """The posterior under sites of precision ``tau``."""
        ...

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """What observations ``block`` see of the vector of `Posterior.latent`."""
        ...


def prior_of(design: Design, K: np.ndarray, precision: ArrayLike = 0.0) -> Prior:
    """The prior of what ``design`` sees of ``g ~ N(0, K)``, in the cheapest form.

    ``precision`` is the largest that sites may have: sharp ones need more digits.
    """
    if isinstance(design, Labels):
        contrasts = Contrasts.of(design, K)
        stars = Stars.of(contrasts, float(np.max(precision)))
        if stars is not None and stars.is_cheaper:
            return stars
        return contrasts if contrasts.is_cheaper else Dense.of(design, K)
    if isinstance(design, Rows) and len(design) > _SOONER * _TALL * len(K):
        inverted = Canonical.of(design, K, float(np.max(precision)))
        if inverted is not None:
            return inverted
        if len(design) > _TALL * len(K):
            return Whitened.of(design, K)
    return Dense.of(design, K)


@dataclass(frozen=True)
class Dense:
    """The m-form: the covariance of h itself."""

    design: Design
    C: np.ndarray  # (m, m), A K A'
    memory: np.ndarray

    @classmethod
    def of(cls, design: Design, K: np.ndarray) -> Dense:
        """Work out what the design sees."""
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

    def given(self, tau: np.ndarray) -> DensePosterior:
        return DensePosterior(self, factorise(self.C, tau, self.memory))

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda x: x[block]


@dataclass(frozen=True)
class DensePosterior:
    """The posterior under some sites, by the factor of the m x m matrix B."""

    prior: Dense
    factor: Factor

    @property
    def half_log_det(self) -> float:
        return self.factor.half_log_det

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        alpha = self.factor.solve(nu)  # not nu - tau mean, which would cancel
        return self.prior.C @ alpha, alpha

    def inverted(self) -> DensePosterior:
        return replace(self, factor=self.factor.inverted())

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        beta = self.factor.inverse_diagonal()
        return beta, self.factor.variances(self.prior.C, beta)

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.moments(nu)[0], self.factor.covariance(self.prior.C)

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        return self.prior.design.pullback(self.factor.evidence_gradient(alpha, implicit))


@dataclass(frozen=True)
class Whitened:
    """The n-form: ``g = U e`` with e standard normal.

    Latent values are taken in the order in which pivots were found, last first: then U is
    upper triangular, and so is the factor of the posterior covariance. ``U U'`` misses K by
    its rounding only, however singular it is.
    """

    design: Rows
    K: np.ndarray  # (n, n)
    rows: Rows  # over latent values in the order of U
    order: np.ndarray  # (n,), that order
    upper: np.ndarray  # (n, n), U
    lower: np.ndarray  # (n, n), U with rows and columns reversed

    @classmethod
    def of(cls, design: Rows, K: np.ndarray) -> Whitened:
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
        rows, pull = self.prior.rows, self.prior.rows.gather(nu)
        if self.inverse:
            g = blas.dtrmv(self.factor, blas.dtrmv(self.factor, pull, trans=1))
        else:
            e = lapack.dpotrs(self.factor, blas.dtrmv(self.prior.upper, pull, trans=1))[0]
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
