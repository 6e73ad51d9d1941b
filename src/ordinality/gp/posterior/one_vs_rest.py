"""The posterior where one label of each input is compared with others, by n x n matrices.

In a multiclass problem all comparisons at an input are of one label c, its class. The Laplacian
of its labels is then that of a star graph. With tau the precisions of the other labels and t
their sum, it is diagonal except for two products:

    Lambda_i = D_i - u v' - v u' = D_i + b b' - p p',    D_i = diag(tau, and t at c),
    u = sqrt(t) e_c,   v = tau / sqrt(t),   b = (u - v) / sqrt(2),   p = (u + v) / sqrt(2).

D alone leaves labels independent: L posteriors ``P_l = (K^-1 + diag(D_l))^-1`` of side n, by
``J_l = (I + sq K sq)^-1``, ``sq = sqrt(D_l)``. The b and p of all inputs, ``W = [b p]``, shape
(n L, 2 n), are brought in by

    Cov = P - P W S^-1 W' P,    S = [[I + b'Pb, b'Pp], [p'Pb, p'Pp - I]].

S has n positive and n negative eigenvalues. Eliminating its first half A leaves -Z, and since
``sq P sq = I - J`` and b / sq and p / sq are of unit length at every input, nothing cancels in

    A = 2 I - [b'Jb],    B = -[b'Jp],    Z = [p'Jp] + B' A^-1 B,

where brackets mean sums over labels of J_l with rows and columns scaled by b / sq and p / sq.

Operations: ``(L + 3) n^3`` to find the posterior, ``(5 L + 17) n^3`` with its marginals, and
``4 L n^3`` for the gradient, against 1/3, 2/3 and more of the cube of n (L - 1) otherwise. From
six labels on that is less; with ten a whole fit takes a fifth of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas, lapack

from ..._compile import loop
from ..design import Labels
from .contrasts import Contrasts, ContrastsPosterior
from .observations import Factor, factorise
from .precision import mirrored

__all__ = ["OneVsRest", "OneVsRestPosterior"]

# Total precision at an input times the prior variance, up to which Z keeps ten digits of 16.
_SHARP = 1e6
_SURE = 0.9  # small matrices are slower for their size than a large one


@dataclass(frozen=True)
class OneVsRest:
    """The prior of label differences, where all at an input are with one label."""

    contrasts: Contrasts  # the same prior in the form for any differences
    centre: np.ndarray  # (n,), the label of each input
    other: np.ndarray  # (m,), the label that each observation sets against it

    @classmethod
    def of(cls, contrasts: Contrasts, precision: float = 0.0) -> OneVsRest | None:
        """None if there are other comparisons, or sites of ``precision`` need more digits."""
        design, K = contrasts.design, contrasts.K
        centre = _centres(design)
        most = (design.L - 1) * precision * float(np.max(np.diagonal(K)))
        if centre is None or not most < _SHARP:
            return None
        other = np.where(design.first == centre[design.at], design.second, design.first)
        return cls(contrasts, centre, other)

    @property
    def design(self) -> Labels:
        return self.contrasts.design

    @staticmethod
    def effort_of(design: Labels) -> float:
        """`effort` from a design alone; infinite if some input has no shared label."""
        if _centres(design) is None:
            return np.inf
        return float((5.0 * design.L + 17.0) ** (1 / 3) * design.n)

    @property
    def effort(self) -> float:
        return self.effort_of(self.design)

    @property
    def is_cheaper(self) -> bool:
        """Than contrasts, and than the covariance of the observations themselves."""
        dense = (2 / 3) ** (1 / 3) * len(self.design)
        return self.effort < _SURE * min(self.contrasts.effort, dense)

    @property
    def diagonal(self) -> np.ndarray:
        return self.contrasts.diagonal

    def __matmul__(self, alpha: np.ndarray) -> np.ndarray:
        return self.contrasts @ alpha

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return self.design.take(block).see

    def given(self, tau: np.ndarray) -> OneVsRestPosterior | ContrastsPosterior:
        """The posterior under sites of precision ``tau``; by contrasts if Z is singular."""
        d, K = self.design, self.contrasts.K
        n, L, rows = d.n, d.L, np.arange(d.n)
        D = np.bincount(d.at * L + self.other, tau, n * L).reshape(n, L)
        t = D.sum(axis=1)
        p = np.sqrt(0.5 * D / np.where(t > 0, t, 1.0)[:, None])
        p[rows, self.centre] = np.sqrt(0.5)
        b = -p
        b[rows, self.centre] = np.sqrt(0.5)
        D[rows, self.centre] = t
        factors = [factorise(K, column) for column in D.T]
        J = np.stack([mirrored(lapack.dpotri(f.upper)[0]) for f in factors])
        joint = _Joint.of(J, np.ascontiguousarray(b.T), np.ascontiguousarray(p.T))
        if joint is None:
            return self.contrasts.given(tau)
        half_log_det = sum(f.half_log_det for f in factors) + joint.half_log_det
        return OneVsRestPosterior(self, tau, tuple(factors), J, joint, half_log_det)


@dataclass(frozen=True)
class _Joint:
    """``S = [[A, B], [B', -C]]`` by the factors of A and of ``Z = C + B' A^-1 B``."""

    b: np.ndarray  # (L, n), over sq
    p: np.ndarray  # (L, n), over sq
    first: np.ndarray  # upper factor of A
    across: np.ndarray  # first'^-1 B
    last: np.ndarray  # upper factor of Z

    @classmethod
    def of(cls, J: np.ndarray, b: np.ndarray, p: np.ndarray) -> _Joint | None:
        n = b.shape[1]
        A, B, Z = 2.0 * np.eye(n), np.zeros((n, n)), np.zeros((n, n))
        for k in range(len(J)):
            _add_label(J[k], b[k], p[k], A, B, Z)
        first, failed = lapack.dpotrf(A.T, clean=1)
        across = blas.dtrsm(1.0, first, B, trans_a=1)
        last, singular = lapack.dpotrf((Z + across.T @ across).T, clean=1)
        found = cls(b, p, first, across, last)
        return None if failed or singular or not np.isfinite(found.half_log_det) else found

    @property
    def half_log_det(self) -> float:
        return float(sum(np.sum(np.log(np.diagonal(f))) for f in (self.first, self.last)))

    def solve(self, x: np.ndarray) -> np.ndarray:
        """``W S^-1 W' x`` of labels, (L, n), everything over sq."""
        one, two = np.sum(self.b * x, axis=0), np.sum(self.p * x, axis=0)
        half = blas.dtrsv(self.first, one, trans=1)
        two = lapack.dpotrs(self.last, self.across.T @ half - two)[0]
        one = blas.dtrsv(self.first, half - self.across @ two)
        return self.b * one + self.p * two

    def inverse(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Blocks (1, 1), (1, 2) and (2, 2) of S^-1."""
        A, Z = (mirrored(lapack.dpotri(f)[0]) for f in (self.first, self.last))
        Y = blas.dtrsm(1.0, self.first, self.across)
        YZ = Y @ Z
        return A - YZ @ Y.T, YZ, -Z


@dataclass(frozen=True)
class OneVsRestPosterior:
    """The posterior under some sites."""

    prior: OneVsRest
    tau: np.ndarray
    factors: tuple[Factor, ...]  # of each label
    J: np.ndarray  # (L, n, n)
    joint: _Joint
    half_log_det: float
    blocks: tuple[np.ndarray, ...] = ()  # of S^-1, once inverted

    @property
    def basis(self) -> np.ndarray:
        """The rows of `explained` in terms of the labels: they are the same."""
        return np.eye(len(self.J))

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = self.prior.design.see(self._labels(nu).ravel())
        return mean, nu - self.tau * mean

    def inverted(self) -> OneVsRestPosterior:
        return self if self.blocks else replace(self, blocks=self.joint.inverse())

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        c, other, at = self.prior.centre, self.prior.other, self.prior.design.at
        P, scaled = self._independent()
        var, with_own = np.empty(P.shape[:2]), np.empty(P.shape[:2])
        own = scaled[c, np.arange(len(c))]
        one, two = self._through(own * self.joint.b[c], own * self.joint.p[c])
        for k, (b, p) in enumerate(zip(self.joint.b, self.joint.p, strict=True)):
            # D leaves labels independent: what ties this one to the own label went through S.
            with_own[k] = -((scaled[k] * one) @ b + (scaled[k] * two) @ p)
            lost = np.einsum("ij,ij->i", scaled[k] @ self._between(k, k), scaled[k])
            var[k] = np.diagonal(P[k]) - lost
        seen = var[c[at], at] + var[other, at] - 2.0 * with_own[other, at]
        seen = np.maximum(seen, 0.0)
        return np.maximum(1.0 - self.tau * seen, np.finfo(float).eps), seen

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        P, scaled = self._independent()
        L, n = P.shape[:2]
        cov, inverted = np.empty((L, n, L, n)), self.inverted()
        for k in range(L):
            for j in range(L):
                cov[k, :, j] = -scaled[k] @ inverted._between(k, j) @ scaled[j].T
            cov[k, :, k] += P[k]
        return self._labels(nu).ravel(), cov.reshape(n * L, n * L)

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        """Gradient in K: the sum of the blocks of `explained` on the diagonal."""
        a, v = (self.prior.design.by_input(x) for x in (alpha, implicit))
        cross = v @ a.T
        G = a @ a.T + cross + cross.T
        for k in range(len(self.J)):
            G -= self._explained(k, k)
        return 0.5 * G

    def explained(self) -> np.ndarray:
        """``Lambda - Lambda Cov Lambda`` of labels, (n L, n L)."""
        L, n = self.J.shape[:2]
        G = np.empty((L, n, L, n))
        for k in range(L):
            for j in range(k, L):
                G[k, :, j] = self._explained(k, j)
                G[j, :, k] = G[k, :, j].T
        return G.reshape(n * L, n * L)

    def _explained(self, k: int, j: int) -> np.ndarray:
        """``K^-1 (K - Cov) K^-1`` of labels k and j, with ``K^-1 P = sq J / sq``."""
        found = self.J[k] @ self._between(k, j) @ self.J[j]
        if k == j:
            found += self.J[k]
        return self.factors[k].sq[:, None] * found * self.factors[j].sq

    def _labels(self, nu: np.ndarray) -> np.ndarray:
        """Posterior mean of the labels, (L, n)."""
        sq = self._roots()
        x = self.prior.design.by_input(nu).T / sq
        x = x - self.joint.solve(x - self._times(x))
        return (sq * self._times(x)) @ self.prior.contrasts.K

    def _times(self, x: np.ndarray) -> np.ndarray:
        """J of every label times its row of x."""
        return (self.J @ x[:, :, None])[:, :, 0]

    def _roots(self) -> np.ndarray:
        return np.stack([factor.sq for factor in self.factors])

    def _independent(self) -> tuple[np.ndarray, np.ndarray]:
        """P, and P sq, of every label, (L, n, n)."""
        P = np.stack([factor.covariance(self.prior.contrasts.K) for factor in self.factors])
        return P, P * self._roots()[:, None, :]

    def _through(self, one: np.ndarray, two: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows in two halves times S^-1."""
        bb, bp, pp = self.blocks
        return one @ bb + two @ bp.T, one @ bp + two @ pp

    def _between(self, k: int, j: int) -> np.ndarray:
        """``W S^-1 W'`` from label k to label j, over sq on both sides, (n, n)."""
        bb, bp, pp = self.blocks
        b, p = self.joint.b[k][:, None], self.joint.p[k][:, None]
        return (b * bb + p * bp.T) * self.joint.b[j] + (b * bp + p * pp) * self.joint.p[j]


def _centres(design: Labels) -> np.ndarray | None:
    """The label that all comparisons at an input share, for each; None if some share none."""
    n, L = design.n, design.L
    touched = [design.at * L + label for label in (design.first, design.second)]
    degree = np.bincount(np.concatenate(touched), minlength=n * L).reshape(n, L)
    shared = np.max(degree, axis=1) == np.bincount(design.at, minlength=n)
    return np.argmax(degree, axis=1) if np.all(shared) else None


@loop
def _add_label(J, b, p, A, B, Z):
    """Add one label: ``A - bJb``, ``B - bJp`` and ``Z + pJp``."""
    for i in range(b.size):
        for j in range(b.size):
            A[i, j] -= b[i] * b[j] * J[i, j]
            B[i, j] -= b[i] * p[j] * J[i, j]
            Z[i, j] += p[i] * p[j] * J[i, j]
