"""The posterior by inducing values: what observations see of a latent function at M inputs.

With ``u = f(Z) ~ N(0, L L')`` and ``u = L e``, a latent value at x is ``p' e`` plus a residual,
``p = L^-1 k(Z, x)``, of variance ``k(x, x) - |p|^2``; what an observation sees is a weighted
sum of such values. Residuals of different observations are taken as independent, so that they
are nothing but a variance added where the likelihood is asked (`likelihoods.Blurred`), and the
engines work with the M-dimensional prior ``q = A P e``, of which they need

    B = I + P' A' diag(tau) A P,    P' A' nu,    A P e,    |LB^-1 (A P)_i|^2,    B = LB LB'.

Each is a sum or a map over blocks of rows. Rows of K are whitened before they are summed: in
whitened coordinates ``|p|^2`` is at most the prior variance and B is right to its rounding.

The gradient has one formula for the three engines, because L is only a way to write the inverse
of K_uu and sites need no derivative. With c_i the derivative in the residual variance,

    dk(Z, x_i):  L^-T (alpha_i e + implicit_i e + alpha_i e_w - tau_i B^-1 p_i - 2 c_i p_i)
    dK_uu:       -1/2 L^-T (e e' + e e_w' + e_w e' - I + B^-1 - P' A' diag(2 c) A P) L^-1

where ``e = P' A' alpha`` and ``e_w = P' A' implicit``.

Snelson & Ghahramani (2006), "Sparse Gaussian processes using pseudo-inputs"; Naish-Guzman &
Holden (2008), "The generalized FITC approximation", for EP; Titsias (2009), "Variational
learning of inducing variables in sparse Gaussian processes", for the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import blas, lapack

from ...kernels.base import Kernel
from ..design import Combinations, Design
from .precision import mirrored

__all__ = [
    "EXACT_ROWS",
    "Adjoint",
    "Basis",
    "Inducing",
    "InducingCombinations",
    "InducingGradient",
    "InducingPoints",
    "InducingPosterior",
    "InducingPredictor",
    "PriorGradient",
    "add_gram",
    "factorised",
    "greedy_points",
    "variances",
]

_BLOCK = 2**18  # entries of a block of P, 2 MB: a few fit in the cache
_KEPT = 2**26  # entries of P that are kept between passes, 512 MB

# Half of the digits of L are right where a pivot is this share of the largest: points nearer
# to one another than that are told apart by rounding alone. There the prior gets a variance of
# its own at each point, too small to matter beside any noise.
_SMALLEST_PIVOT, _JITTER = 1e-12, 1e-8

# Products with the inverse of a triangle take half the time of solutions with the triangle.
# Their rounding is that of a solution times the condition of L at most, which is about 1e3
# where the least pivot is this share; where it is less, solutions are taken.
_INVERTIBLE = 1e-6

# Rows up to which a subset is cheaper without inducing points, and rows for each point on
# larger ones: theta is learnt as well from fewer points on fewer rows.
EXACT_ROWS, _ROWS_PER_POINT = 800, 4


@dataclass(frozen=True, eq=False)
class Basis:
    """Inducing inputs of a kernel, and the factor that whitens their values."""

    kernel: Kernel
    Z: np.ndarray  # (M, d)
    K: np.ndarray  # (M, M), K_uu
    lower: np.ndarray  # (M, M), L, in Fortran order
    jitter: float = 0.0  # variance added at each point, a share of their mean prior variance

    @classmethod
    def of(cls, kernel: Kernel, Z: np.ndarray) -> Basis:
        """Factorise the covariance of the inducing values."""
        K = kernel(Z)
        diagonal = np.diagonal(K)
        for share in (0.0, _JITTER):
            jittered = np.asfortranarray(K)
            jittered[np.diag_indices_from(K)] += share * diagonal.mean()
            lower, info = lapack.dpotrf(jittered, lower=1, overwrite_a=1)
            pivots = np.diagonal(lower) ** 2
            if info == 0 and np.min(pivots) > _SMALLEST_PIVOT * np.max(diagonal):
                break
        if info != 0 or not np.all(np.isfinite(pivots)):
            raise FloatingPointError(
                "the covariance of the inducing points cannot be factorised; use fewer points."
            )
        return cls(kernel, Z, K, lower, share)

    def __len__(self) -> int:
        return len(self.Z)

    def whitened(self, X: np.ndarray) -> np.ndarray:
        """Rows p of the inputs, shape (n, M)."""
        return self._solved(self.kernel(X, self.Z).T, trans=0).T

    def projected(
        self, X: np.ndarray, always: bool = False
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """P of all inputs, kept where there is room or ``always``, and ``|p|^2`` of each."""
        n = len(X)
        P = np.empty((n, len(self))) if always or n * len(self) <= _KEPT else None
        own = np.empty(n)
        for rows in self.blocks(n):
            p = self.whitened(X[rows])
            own[rows] = np.einsum("ij,ij->i", p, p)
            if P is not None:
                P[rows] = p
        return P, own

    def by_rows(self, F: np.ndarray) -> np.ndarray:
        """Derivatives in k(x, Z) of a block, (b, M), from those in whitened rows, (M, b)."""
        return self._solved(F, trans=1).T

    def _solved(self, B: np.ndarray, trans: int) -> np.ndarray:
        """``L^-1 B``, or with the transpose of L; overwrites B."""
        if self._inverse is None:
            return blas.dtrsm(1.0, self.lower, B, lower=1, trans_a=trans, overwrite_b=1)
        return blas.dtrmm(1.0, self._inverse, B, lower=1, trans_a=trans, overwrite_b=1)

    @cached_property
    def _inverse(self) -> np.ndarray | None:
        """The inverse of L, if it is right to enough digits."""
        least = np.min(np.diagonal(self.lower)) ** 2
        if least < _INVERTIBLE * np.max(self.kernel.diag(self.Z)):
            return None
        return lapack.dtrtri(self.lower, lower=1)[0]

    def by_covariance(self, inner: np.ndarray) -> np.ndarray:
        """Derivatives in K_uu, symmetric, from the sum of ``p_i F_i'`` over all rows."""
        half = blas.dtrsm(-0.5, self.lower, np.asfortranarray(inner), lower=1, trans_a=1)
        whole = blas.dtrsm(1.0, self.lower, half, side=1, lower=1, overwrite_b=1)
        return 0.5 * (whole + whole.T)

    def pullback(self, inner: np.ndarray) -> np.ndarray:
        """Gradient in the kernel's theta through K_uu."""
        G = self.by_covariance(inner)
        total = self.kernel.pullback(self.Z, G, self.K)
        if self.jitter:  # it moves with the prior variances
            each = self.jitter * np.trace(G) / len(self)
            total += self.kernel.pullback_paired(self.Z, self.Z, np.full(len(self), each))
        return total

    def blocks(self, n: int) -> Iterator[slice]:
        """Slices of n rows whose P fits in the cache."""
        size = max(_BLOCK // max(len(self), 1), 64)
        return (slice(start, min(start + size, n)) for start in range(0, n, size))


@dataclass(frozen=True, eq=False)
class Inducing:
    """The prior of ``q = P e``, what inducing values say of f at each row of the inputs."""

    basis: Basis
    X: np.ndarray  # (n, d)
    P: np.ndarray | None  # (n, M), kept where there is room
    explained: np.ndarray  # (m,), prior variance of q
    residual: np.ndarray  # (m,), variance of what is seen less q

    @classmethod
    def of(cls, kernel: Kernel, X: np.ndarray, Z: np.ndarray, design: Design) -> Inducing:
        """Project what the observations see on the values at ``Z``."""
        basis, combines = Basis.of(kernel, Z), isinstance(design, Combinations)
        P, own = basis.projected(X, always=combines)
        if not isinstance(design, Combinations):
            return cls(basis, X, P, own, _left(kernel.diag(X), own))
        assert P is not None
        own = design.norms(P)
        left = _left(_seen_variances(kernel, X, design), own)
        return InducingCombinations(basis, X, P, own, left, design)

    @property
    def effort(self) -> float:
        """Rows of a matrix whose Cholesky factor costs what `given` costs."""
        return float((3.0 * len(self.X) * len(self.basis) ** 2) ** (1 / 3))

    @property
    def diagonal(self) -> np.ndarray:
        return self.explained

    def parts(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows of the inputs, each with its part of P."""
        for rows in self.basis.blocks(len(self.X)):
            P = self.basis.whitened(self.X[rows]) if self.P is None else self.P[rows]
            yield rows, P

    def see(self, e: np.ndarray) -> np.ndarray:
        """What is seen of ``e``, shape (m,)."""
        seen = np.empty(len(self.X))
        for rows, P in self.parts():
            seen[rows] = P @ e
        return seen

    def pull(self, x: np.ndarray) -> np.ndarray:
        """The transpose of `see`, shape (M,)."""
        total = np.zeros(len(self.basis))
        for rows, P in self.parts():
            total += x[rows] @ P
        return total

    def gram(self, weight: np.ndarray) -> np.ndarray:
        """Sum of ``weight_i`` times the square of what i sees, (M, M), upper triangle."""
        total = np.zeros((len(self.basis),) * 2, order="F")
        for rows, P in self.parts():
            add_gram(P, weight[rows], total)
        return total

    def norms(self, factor: np.ndarray) -> np.ndarray:
        """Variances of what is seen, from the upper factor of the precision of e."""
        found, inverse = np.empty(len(self.X)), lapack.dtrtri(factor)[0]
        for rows, P in self.parts():
            found[rows] = variances(P, inverse)
        return found

    def forms(self, S: np.ndarray) -> np.ndarray:
        """Quadratic forms ``p_i' S p_i`` of a symmetric matrix, by rows of the inputs."""
        found = np.empty(len(self.X))
        for rows, P in self.parts():
            found[rows] = np.einsum("ij,ij->i", P, blas.dsymm(1.0, S, P.T).T)
        return found

    def unexplained(self, weights: np.ndarray) -> float:
        """Share of the prior variance of what is seen that the points do not explain."""
        return float(weights @ self.residual / (weights @ (self.explained + self.residual)))

    def weighed(self, *weights: np.ndarray) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Blocks of ``A' diag(w) A P`` for each of several weights w."""
        for rows, P in self.parts():
            yield rows, [w[rows, None] * P for w in weights]

    def gather(self, x: np.ndarray) -> np.ndarray:
        """From observations to the rows of the inputs that they see."""
        return x

    def pulled_variances(self, c: np.ndarray) -> np.ndarray:
        """Gradient in theta of the prior variances of what is seen, weighed by ``c``."""
        return self.basis.kernel.pullback_paired(self.X, self.X, c)

    def __matmul__(self, alpha: np.ndarray) -> np.ndarray:
        return self.see(self.pull(alpha))

    def given(self, tau: np.ndarray) -> InducingPosterior:
        return InducingPosterior(self, tau, *factorised(self.gram(tau)))

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        rows = self.basis.whitened(self.X[block]) if self.P is None else self.P[block]
        return lambda x: rows @ x


@dataclass(frozen=True, eq=False)
class InducingCombinations(Inducing):
    """The prior of ``q = A P e`` for observations of weighted sums of a few latent values."""

    design: Combinations

    def see(self, e: np.ndarray) -> np.ndarray:
        return self.design.see(super().see(e))

    def pull(self, x: np.ndarray) -> np.ndarray:
        return super().pull(self.design.gather(x))

    def gram(self, weight: np.ndarray) -> np.ndarray:
        # By latent values, of which there are fewer than observations.
        total = np.zeros((len(self.basis),) * 2, order="F")
        for (_, P), (_, (product,)) in zip(self.parts(), self.weighed(weight), strict=True):
            total = blas.dgemm(1.0, P.T, product.T, trans_b=1, beta=1.0, c=total, overwrite_c=1)
        return total

    def norms(self, factor: np.ndarray) -> np.ndarray:
        assert self.P is not None
        inverse, _ = lapack.dtrtri(factor)
        return self.design.norms(blas.dtrmm(1.0, inverse, self.P.T, trans_a=1).T)

    def weighed(self, *weights: np.ndarray) -> Iterator[tuple[slice, list[np.ndarray]]]:
        A = self.design.sparse()
        graphs = [(A.T * w) @ A for w in weights]
        for rows in self.basis.blocks(len(self.X)):
            yield rows, [graph[rows] @ self.P for graph in graphs]

    def gather(self, x: np.ndarray) -> np.ndarray:
        return self.design.gather(x)

    def pulled_variances(self, c: np.ndarray) -> np.ndarray:
        kernel, X = self.basis.kernel, self.X
        total = np.zeros(kernel.n_theta)
        for a, b, weight in self.design.products():
            total += kernel.pullback_paired(X[a], X[b], c * weight)
        return total

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        assert self.P is not None
        rows = self.design.take(block).see(self.P)
        return lambda x: rows @ x


@dataclass(frozen=True, eq=False)
class InducingPosterior:
    """The posterior under some sites, by the factor of the precision of e."""

    prior: Inducing
    tau: np.ndarray
    factor: np.ndarray  # upper factor of B
    half_log_det: float

    def mean(self, nu: np.ndarray) -> np.ndarray:
        """Posterior mean of e under shifts ``nu``."""
        return lapack.dpotrs(self.factor, self.prior.pull(nu))[0]

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = self.prior.see(self.mean(nu))
        # As in the whitened form, rounding of this difference goes no further.
        return mean, nu - self.tau * mean

    def inverted(self) -> InducingPosterior:
        return self

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        var = self.prior.norms(self.factor)
        return np.maximum(1.0 - self.tau * var, np.finfo(float).eps), var

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        covariance, _ = lapack.dpotri(self.factor)
        return self.mean(nu), mirrored(covariance)

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> PriorGradient:
        return InducingGradient(self, alpha, implicit)


class PriorGradient:
    """A gradient in the prior, from derivatives in whitened rows and in residual variances.

    L is only a way to write the inverse of K_uu, so that derivatives F_i in the rows p_i make
    ``sum_i p_i F_i'`` symmetric, and no derivative of L is needed.
    """

    @property
    def prior(self) -> Inducing:
        """The prior that the gradient is in."""
        raise NotImplementedError

    def by_whitened(self, c: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows with the derivatives in their p, shape (M, rows), Fortran order.

        ``c`` are the derivatives in the residual variances.
        """
        raise NotImplementedError

    def inner(self, c: np.ndarray) -> np.ndarray:
        """Sum of ``p_i F_i'`` over the rows of `by_whitened`, (M, M)."""
        raise NotImplementedError

    def pullback(self, c: np.ndarray) -> np.ndarray:
        """Gradient in the kernel's theta."""
        prior, basis = self.prior, self.prior.basis
        total = basis.pullback(self.inner(c))
        for rows, F in self.by_whitened(c):
            total += basis.kernel.pullback_between(prior.X[rows], basis.Z, basis.by_rows(F))
        whole = prior.pulled_variances(c)
        whole[: len(total)] += total  # variances of items' own effects come after the kernel's
        return whole

    def pullback_with_points(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients in theta and in the inducing inputs, shape (M, d), any jitter held."""
        prior, basis, inner = self.prior, self.prior.basis, self.inner(c)
        kernel, Z = basis.kernel, basis.Z
        total = basis.pullback(inner) + prior.pulled_variances(c)
        by_points = 2.0 * kernel.slope(Z, Z, basis.by_covariance(inner))
        for rows, F in self.by_whitened(c):
            G = basis.by_rows(F)
            total += kernel.pullback_between(prior.X[rows], Z, G)
            by_points += kernel.slope(prior.X[rows], Z, G)
        return total, by_points


@dataclass(frozen=True, eq=False)
class InducingGradient(PriorGradient):
    """The gradient of the evidence in the prior, as vectors over the observations."""

    posterior: InducingPosterior
    alpha: np.ndarray  # (m,)
    implicit: np.ndarray  # (m,)

    @property
    def prior(self) -> Inducing:
        return self.posterior.prior

    @cached_property
    def _adjoint(self) -> Adjoint:
        prior = self.posterior.prior
        means = prior.pull(self.alpha), prior.pull(self.implicit)
        return Adjoint.of(self.posterior.factor, *means)

    def by_whitened(self, c: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        prior = self.prior
        alpha, implicit = prior.gather(self.alpha), prior.gather(self.implicit)
        for rows, (one, two) in prior.weighed(self.posterior.tau, 2.0 * c):
            yield rows, self._adjoint.by_whitened(one, two, alpha[rows], implicit[rows])

    def inner(self, c: np.ndarray) -> np.ndarray:
        return self._adjoint.inner(self.prior.gram(2.0 * c))


@dataclass(frozen=True, eq=False)
class Adjoint:
    """The two formulas of the evidence's gradient: for a block of rows, and for the points.

    ``tau P`` and ``2 c P`` stand for ``A' diag(w) A P`` of the rows of a block.
    """

    mean: np.ndarray  # (M,), e
    implicit: np.ndarray  # (M,), e_w
    inverse: np.ndarray  # (M, M), upper triangle of the inverse of B

    @classmethod
    def of(cls, factor: np.ndarray, mean: np.ndarray, implicit: np.ndarray) -> Adjoint:
        """From the upper factor of B."""
        inverse, _ = lapack.dpotri(factor)
        return cls(mean, implicit, inverse)

    def by_whitened(
        self, tau_P: np.ndarray, two_c_P: np.ndarray, alpha: np.ndarray, implicit: np.ndarray
    ) -> np.ndarray:
        """Derivatives in the whitened rows of a block, (M, b); overwrites ``two_c_P``."""
        F = blas.dsymm(-1.0, self.inverse, tau_P.T, beta=-1.0, c=two_c_P.T, overwrite_c=1)
        F += np.outer(self.mean, alpha + implicit)
        if self.implicit.any():
            F += np.outer(self.implicit, alpha)
        return F

    def inner(self, gram: np.ndarray) -> np.ndarray:
        """Sum of ``p_i F_i'`` over all rows, from their gram weighed by 2 c."""
        e, e_w = self.mean, self.implicit
        inner = mirrored(self.inverse - gram)
        inner += np.outer(e, e) + np.outer(e, e_w) + np.outer(e_w, e)
        inner[np.diag_indices_from(inner)] -= 1.0
        return inner


@dataclass(frozen=True, eq=False)
class InducingPredictor:
    """Latent mean and variance at new inputs, from M inducing values."""

    lower: np.ndarray  # (M, M), L
    factor: np.ndarray  # (M, M), upper factor of B
    mean: np.ndarray  # (M,), posterior mean of e

    def latent(self, cross: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at q new inputs, from prior covariances (q, M) and (q,)."""
        half = blas.dtrsm(1.0, self.lower, cross.T, lower=1)
        explained = np.einsum("ij,ij->j", half, half)
        mean = self.mean @ half
        half = blas.dtrsm(1.0, self.factor, half, trans_a=1, overwrite_b=1)
        left = np.maximum(prior - explained, 0.0)
        return mean, left + np.einsum("ij,ij->j", half, half)

    def joint(self, cross: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of f at q new inputs, from prior covariances (q, M), (q, q)."""
        half = blas.dtrsm(1.0, self.lower, cross.T, lower=1)
        mean, left = self.mean @ half, prior - half.T @ half
        half = blas.dtrsm(1.0, self.factor, half, trans_a=1, overwrite_b=1)
        return mean, left + half.T @ half


@dataclass(frozen=True)
class InducingPoints:
    """What a problem with inducing points has beside the exact one that it extends.

    Without points of the user's own, `near` chooses ``count`` of them among ``pool``.
    """

    exact: ClassVar[type]  # the problem without points

    count: int = 0
    Z: np.ndarray | None = None
    fixed: bool = False  # whether the points are the user's
    pool: np.ndarray | None = None  # rows to choose from; None: X

    def near(self: Any, theta: np.ndarray) -> Any:
        """The same problem, with points chosen for the kernel at theta."""
        if self.fixed:
            return self
        kernel = self.model(theta)[0]
        pool = self.X if self.pool is None else self.pool
        chosen, _ = greedy_points(kernel, pool, self.count)
        return replace(self, Z=pool[chosen])

    def subset(self: Any, index: np.ndarray) -> Any:
        """The same problem on some of the rows; without points where that is cheaper."""
        part = self.exact.subset(self, index)
        if len(index) <= EXACT_ROWS:
            return self.exact(**{f.name: getattr(part, f.name) for f in fields(self.exact)})
        count = min(self.count, len(index) // _ROWS_PER_POINT)
        return part if self.fixed else replace(part, count=count, pool=None)

    def on_rows(self: Any, rows: Any) -> Any:
        """The same problem and points, on some of the rows."""
        return replace(
            self, X=self.X[rows], y=self.y[rows], weights=self.weights[rows],
            likelihood=self.likelihood.only(rows),
        )  # fmt: skip

    def without_rows(self: Any) -> Any:
        """The same problem and points, without data."""
        return self.on_rows(slice(0))

    @property
    def support(self) -> np.ndarray:
        """Inputs with which covariances are taken for prediction."""
        assert self.Z is not None
        return self.Z

    @property
    def effort(self: Any) -> float:
        """Rows of the matrices that an evaluation works on, about."""
        return float((3.0 * len(self.X) * self.count**2) ** (1 / 3))


def factorised(gram: np.ndarray) -> tuple[np.ndarray, float]:
    """Upper factor of ``I + gram``, and half its log determinant; overwrites ``gram``."""
    gram[np.diag_indices_from(gram)] += 1.0
    factor, info = lapack.dpotrf(gram, clean=0, overwrite_a=1)
    half_log_det = float(np.sum(np.log(np.diagonal(factor)))) if info == 0 else np.inf
    if not np.isfinite(half_log_det):
        raise FloatingPointError(
            "the precision of the inducing values is not finite; raise the noise or lower the "
            "kernel's variance."
        )
    return factor, half_log_det


def add_gram(P: np.ndarray, weight: np.ndarray, total: np.ndarray) -> None:
    """Add ``P' diag(weight) P`` to the upper triangle of ``total``."""
    signs = ((1.0, weight > 0.0), (-1.0, weight < 0.0))
    for sign, some in signs:
        if not np.any(some):
            continue
        part, w = (P, weight) if np.all(some) else (P[some], weight[some])
        scaled = np.sqrt(np.abs(w))[:, None] * part
        blas.dsyrk(sign, scaled.T, beta=1.0, c=total, overwrite_c=1)


def variances(P: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Variances of ``P e``, from the inverse of the upper factor of the precision of e."""
    # No eigenvalue of the precision is below one, so that none of the inverse is large.
    half = blas.dtrmm(1.0, inverse, P.T, trans_a=1)
    return np.einsum("ij,ij->j", half, half)


def greedy_points(
    kernel: Kernel, X: np.ndarray, count: int, tol: float = 1e-6, given: Basis | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ``X`` chosen one by one, each where the ones before explain least.

    A pivoted Cholesky factorisation: nested, so that the first of them are the answer for
    fewer. Returns the places of the rows, at most ``count``, and the variance that is left at
    each row of ``X``; stops where the largest is below ``tol`` of the mean prior variance.
    Points that are ``given`` come before the first.
    """
    prior, count = kernel.diag(X), min(count, len(X))
    known = 0 if given is None else len(given)
    half = np.empty((known + count, len(X)))
    if given is not None:
        half[:known] = given.whitened(X).T
    left = _left(prior, np.einsum("ij,ij->j", half[:known], half[:known]))
    least, chosen = tol * float(prior.mean()), np.empty(count, dtype=np.intp)
    for k in range(count):
        i = chosen[k] = int(np.argmax(left))
        if not left[i] > least:
            return chosen[:k], left
        before = half[: known + k]
        row = kernel(X[i : i + 1], X)[0]
        row -= before[:, i] @ before
        row /= np.sqrt(left[i])
        half[known + k] = row
        left = np.maximum(left - row**2, 0.0)
        left[i] = 0.0
    return chosen, left


def _left(total: np.ndarray, explained: np.ndarray) -> np.ndarray:
    """Variances that are left; rounding may leave a small negative number."""
    return np.maximum(total - explained, 0.0)


def _seen_variances(kernel: Kernel, X: np.ndarray, design: Combinations) -> np.ndarray:
    """Prior variances of what is seen."""
    total = np.zeros(len(design))
    for a, b, weight in design.products():
        total += weight * kernel.paired(X[a], X[b])
    return total
