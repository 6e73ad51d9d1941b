"""Random effects in cumulative link models: the marginal likelihood and its maximum.

The latent value is ``eta = X beta + o + A v`` with ``v ~ N(0, I)``; the columns of A are the
designs of the terms times the factors L of their covariances, so that the effects of a group
are ``b = L v``. The integral over v is approximated around the mode of the integrand: by
Laplace's method or, for one term, by adaptive Gauss-Hermite quadrature, of which Laplace is the
case of one node. Gradients are exact: they include how mode and curvature move with the
parameters.

L enters with free signs, not by the logarithm of its diagonal. The likelihood is an even,
smooth function of a standard deviation, so that a variance of zero is an ordinary stationary
point, where the logarithm would have a valley that leads to minus infinity.

Pinheiro & Chao (2006), *Efficient Laplacian and adaptive Gaussian quadrature algorithms for
multilevel generalized linear mixed models*.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from .._compile import loop
from .effects import EffectPosterior
from .group_factor import GroupFactor, Layout, Term
from .links import (
    KAPPA_L,
    KAPPA_U,
    LOG_P,
    OM_L,
    OM_U,
    R_L,
    R_U,
    Link,
    interval_point,
    interval_terms,
)

__all__ = ["MixedFit", "MixedProblem", "fit_mixed"]

# A standard deviation below this, in units of the noise for a design column of root mean square
# one, is reported as zero: the log-likelihood is even in it, and so within some 1e-6 times its
# curvature of the value at zero.
_ZERO = 1e-3
_START = math.exp(-0.5)  # of all standard deviations, in the same units
_ROUNDING = 1e-13  # of a sum of up to millions of log-probabilities, relative
_STEP = 1e-4  # of differences of the gradient, in standard errors: truncation and rounding 1e-8


@dataclass(frozen=True, eq=False)
class MixedProblem:
    """A cumulative link model with random effects, and the rows to fit it to."""

    link: Link
    y: np.ndarray  # (n,), ranks 0..K-1
    X: Any  # (n, d), dense or sparse
    terms: tuple[Term, ...]
    J: np.ndarray  # (K-1, a): thresholds are J @ alpha
    weights: np.ndarray  # (n,)
    offset: np.ndarray  # (n,)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Lengths of alpha, of beta, and of the triangle of every term."""
        triangles = (t.width * (t.width + 1) // 2 for t in self.terms)
        return (self.J.shape[1], self.X.shape[1], *triangles)


@dataclass(frozen=True, eq=False)
class MixedFit:
    """Maximum of the marginal likelihood.

    Parameters are alpha, beta and, for every term, the lower triangle of L by rows, with the
    logarithm of its diagonal. `covariance` is in this order; its rows are zero for parameters
    that are fixed because a variance is zero.
    """

    alpha: np.ndarray
    beta: np.ndarray
    factors: tuple[np.ndarray, ...]  # L of each term, (r, r)
    log_likelihood: float
    covariance: np.ndarray
    modes: tuple[np.ndarray, ...]  # b of each term, (G, r)
    mode_covariances: tuple[np.ndarray, ...]  # (G, r, r), parameters held
    effects: EffectPosterior
    decrement: float  # twice the log-likelihood that a Newton step would still gain
    n_iter: int

    @property
    def log_factors(self) -> np.ndarray:
        """Parameters of the covariances; -inf for a standard deviation of zero."""
        with np.errstate(divide="ignore"):
            logs = [np.where(np.eye(len(L)) > 0, np.log(np.abs(L)), L) for L in self.factors]
        return np.concatenate([log[np.tril_indices(len(log))] for log in logs])


def fit_mixed(
    problem: MixedProblem,
    start: np.ndarray,
    information: np.ndarray,
    *,
    nodes: int = 1,
    max_iter: int = 200,
) -> MixedFit:
    """Maximise the marginal likelihood, starting where there are no random effects.

    `start` is (alpha, beta) of the model without them, `information` its observed information.
    More than one node takes a single term.
    """
    rows = _Rows.of(problem, nodes)
    triangles = [_START * np.eye(t.width) for t in problem.terms]
    x = np.concatenate([start, *(L[np.tril_indices(len(L))] for L in triangles)])
    sizes = problem.sizes[2:]
    # G groups seen without noise would give an information of 2 G for the log deviation.
    guess = [np.full(s, float(t.n_groups)) for s, t in zip(sizes, problem.terms, strict=True)]
    curvature = linalg.block_diag(information, np.diag(np.concatenate(guess)))
    found = _maximise(rows, x, curvature, np.full(len(x), True), max_iter)
    free = ~rows.zeros(found.x)
    if not np.all(free):  # hold these at zero and fit the others again
        again = _maximise(rows, np.where(free, found.x, 0.0), found.curvature, free, max_iter)
        found = replace(again, n_iter=found.n_iter + again.n_iter)
    return rows.fitted(found, free)


@dataclass(frozen=True, eq=False)
class _Mode:
    """Maximum of the integrand over v: terms of the rows there (7, n), and the factor of M."""

    v: np.ndarray
    A: np.ndarray
    terms: np.ndarray
    factor: GroupFactor


@dataclass(frozen=True, eq=False)
class _Marginal:
    """Log-likelihood at x = (alpha, beta, triangles of L), its gradient, and the mode."""

    value: float
    gradient: np.ndarray
    v: np.ndarray


@dataclass(frozen=True, eq=False)
class _Rows:
    """The problem with rows in the order of its layout and designs of root mean square one."""

    problem: MixedProblem
    layout: Layout
    Z: np.ndarray  # (n, sum of widths), columns as in `layout.own`
    scales: tuple[np.ndarray, ...]  # (r,) of each term: root mean squares of its design
    nodes: np.ndarray  # (N, r) of the quadrature; none for Laplace's method
    log_weights: np.ndarray  # (N,)

    @classmethod
    def of(cls, problem: MixedProblem, nodes: int) -> _Rows:
        layout = Layout.of(list(problem.terms))
        order = layout.order
        scales = tuple(np.sqrt(np.mean(t.design**2, axis=0)) for t in problem.terms)
        Z = np.hstack([problem.terms[t].design[order] / scales[t] for t in layout.terms])
        ordered = replace(
            problem,
            y=problem.y[order],
            X=problem.X[order],
            weights=problem.weights[order],
            offset=problem.offset[order],
        )
        return cls(ordered, layout, Z, scales, *_hermite_grid(nodes, layout.width))

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Alpha, beta, and L of each term."""
        alpha, beta, *triangles = np.split(x, np.cumsum(self.problem.sizes)[:-1])
        factors = []
        for term, triangle in zip(self.problem.terms, triangles, strict=True):
            L = np.zeros((term.width, term.width))
            L[np.tril_indices(term.width)] = triangle
            factors.append(L)
        return alpha, beta, factors

    def spans(self) -> list[tuple[int, slice]]:
        """Each term, in the order of the layout, with its columns of `Z`."""
        ends = np.cumsum([0, *(self.problem.terms[t].width for t in self.layout.terms)])
        return [(t, slice(ends[i], ends[i + 1])) for i, t in enumerate(self.layout.terms)]

    def marginal(self, x: np.ndarray, v: np.ndarray) -> _Marginal | None:
        """Log-likelihood and gradient; None where thresholds cross or the mode is lost."""
        problem, (alpha, beta, factors) = self.problem, self.split(x)
        ends = np.concatenate([[-np.inf], problem.J @ alpha, [np.inf]])
        if not np.all(np.diff(ends) > 0):
            return None
        fixed = problem.offset + problem.X @ beta
        A = np.hstack([self.Z[:, at] @ factors[t] for t, at in self.spans()])
        mode = self._mode(ends, fixed, A, v)
        if mode is None:
            return None
        value, d_eta, d_upper, d_lower, d_A = self._value(ends, fixed, mode)
        d_thresholds = np.bincount(problem.y, d_upper, len(ends))[: len(ends) - 2]
        d_thresholds += np.bincount(problem.y, d_lower, len(ends))[1 : len(ends) - 1]
        triangles = {}
        for t, at in self.spans():
            triangles[t] = (self.Z[:, at].T @ d_A[:, at])[np.tril_indices(at.stop - at.start)]
        ordered = (triangles[t] for t in range(len(factors)))
        gradient = [d_thresholds @ problem.J, problem.X.T @ d_eta, *ordered]
        return _Marginal(value, np.concatenate(gradient), mode.v)

    def _terms(self, ends: np.ndarray, latent: np.ndarray, third: bool = False) -> np.ndarray:
        """Weighted terms of the rows, (5 or 7, n)."""
        y = self.problem.y
        upper, lower = ends[y + 1], ends[y]
        terms = interval_terms(
            self.problem.link, upper - latent, lower - latent, upper - lower, third=third
        )
        return terms * self.problem.weights

    def _mode(
        self, ends: np.ndarray, fixed: np.ndarray, A: np.ndarray, v: np.ndarray
    ) -> _Mode | None:
        """Newton's method with halved steps, from `v`."""
        layout, last = self.layout, math.inf
        terms = self._terms(ends, fixed + layout.gather(A, v), third=True)
        height = terms[LOG_P].sum() - 0.5 * v @ v
        if not math.isfinite(height):
            return None if not np.any(v) else self._mode(ends, fixed, A, np.zeros_like(v))
        for _ in range(100):
            W = terms[OM_U] + terms[OM_L]
            factor = exact = GroupFactor.of(layout, A, W)
            if factor is None:  # Cauchy noise, away from a mode
                factor = GroupFactor.of(layout, A, np.maximum(W, 0.0))
            assert factor is not None  # the identity and squares
            slope = layout.scatter(A, terms[R_L] - terms[R_U]) - v
            step = factor.solve(slope)
            gain = slope @ step
            # Newton doubles the digits, so 1e-20 costs no more than 1e-12; below that a gain
            # that has stopped shrinking is rounding.
            if gain < 1e-20 or (gain < 1e-12 and gain > 0.25 * last):
                return _Mode(v, A, terms, exact) if exact is not None else None
            last, t = gain, 1.0
            while t > 1e-9:
                trial = self._terms(ends, fixed + layout.gather(A, v + t * step), third=True)
                new = trial[LOG_P].sum() - 0.5 * np.sum((v + t * step) ** 2)
                if new >= height + 1e-4 * t * gain or (gain < 1e-8 and math.isfinite(new)):
                    break
                t *= 0.5
            else:
                return None
            v, terms, height = v + t * step, trial, new
        return None

    def _value(self, ends: np.ndarray, fixed: np.ndarray, mode: _Mode) -> tuple[Any, ...]:
        """Log-likelihood, and its whole derivatives in eta, in both ends and in A."""
        layout, A, v, terms = self.layout, mode.A, mode.v, mode.terms
        g, W = terms[R_L] - terms[R_U], terms[OM_U] + terms[OM_L]
        log_p, mean_g, mean_up, mean_low = terms[LOG_P].sum(), g, terms[R_U], terms[R_L]
        mean_gv, slope = g[:, None] * v[layout.own], np.zeros_like(v)
        if len(self.nodes):
            log_p, mean_g, mean_up, mean_low, mean_gv, slope, blocks = self._quadrature(
                ends, fixed, mode
            )
            own = np.einsum("iab,ib->ia", blocks[layout.own[:, 0] // layout.width], A)
        else:
            own, _, _ = mode.factor.selected_inverse(A)
            log_p -= 0.5 * v @ v
        h = np.einsum("ij,ij->i", own, A)
        s = -0.5 * h * (terms[KAPPA_U] + terms[KAPPA_L])
        p = mode.factor.solve(layout.scatter(A, s) + slope)
        c = layout.gather(A, p)
        t = s - W * c
        return (
            float(log_p - 0.5 * mode.factor.log_det),
            mean_g + t,
            mean_up + 0.5 * h * terms[KAPPA_U] + c * terms[OM_U],
            -mean_low + 0.5 * h * terms[KAPPA_L] + c * terms[OM_L],
            mean_gv
            + t[:, None] * v[layout.own]
            + g[:, None] * p[layout.own]
            - W[:, None] * own,
        )

    def _quadrature(self, ends: np.ndarray, fixed: np.ndarray, mode: _Mode) -> tuple[Any, ...]:
        """Averages over the nodes of every group; what follows from moving and scaling them.

        Nodes are v + sqrt(2) R^-T x with M = R R' in each group. Moving v changes the log
        integral by the mean slope; scaling by R turns M^-1 in the derivative of the log
        determinant into R^-T (I + E) R^-1, E the mean of sqrt(2) x times R^-1 slope.
        """
        r = self.layout.width
        lower = np.linalg.cholesky(mode.factor.blocks[:, ::-1, ::-1])
        upper = np.ascontiguousarray(lower[:, ::-1, ::-1])  # R^-T: its square is M^-1
        n, y = len(fixed), self.problem.y
        means, gv = np.empty((3, n)), np.empty((n, r))
        slope, moved = np.empty(mode.v.size), np.empty((mode.v.size // r, r, r))
        longest = int(np.max(np.diff(self.layout.start)))
        log_p = _average_nodes(
            *(self.problem.link.code, self.layout.start, ends[y], ends[y + 1], fixed),
            *(self.problem.weights, mode.A, mode.v.reshape(-1, r), upper),
            *(self.nodes, self.log_weights, np.empty((2, len(self.nodes), longest))),
            *(means, gv, slope.reshape(-1, r), moved),
        )
        return log_p, *means, gv, slope, moved

    def zeros(self, x: np.ndarray) -> np.ndarray:
        """Which parameters belong to a column of L whose diagonal is zero."""
        _, _, factors = self.split(x)
        marks = [np.full(len(x) - sum(self.problem.sizes[2:]), False)]
        for L in factors:
            column = np.tile(np.abs(np.diag(L)) < _ZERO, (len(L), 1))
            marks.append(column[np.tril_indices(len(L))])
        return np.concatenate(marks)

    def fitted(self, found: _Optimum, free: np.ndarray) -> MixedFit:
        """The answer in the units of the designs, with positive diagonals of L."""
        x, J, v = found.x.copy(), np.ones(len(found.x)), found.v.copy()
        at = sum(self.problem.sizes[:2])
        for t, L in enumerate(self.split(x)[2]):
            diagonal = np.where(np.diag(L) == 0.0, 1.0, np.diag(L))
            signs, places = np.sign(diagonal), np.tril_indices(len(L))
            triangle = slice(at, at + len(places[0]))
            x[triangle] = (L * signs)[places]
            # From L to its logarithm on the diagonal, and to the units of the design below it.
            J[triangle] = np.where(
                np.eye(len(L)) > 0, 1.0 / diagonal, signs / self.scales[t][:, None]
            )[places]
            own = slice(*self.layout.first[(i := self.layout.terms.index(t)) : i + 2])
            v[own] = (v[own].reshape(-1, len(L)) * signs).ravel()
            at = triangle.stop
        covariance = np.zeros((len(x), len(x)))
        covariance[np.ix_(free, free)] = linalg.inv(found.curvature[np.ix_(free, free)])
        return self._answer(found, x, v, covariance * np.outer(J, J))

    def _answer(
        self, found: _Optimum, x: np.ndarray, v: np.ndarray, covariance: np.ndarray
    ) -> MixedFit:
        """Effects at the answer, and everything in one value."""
        layout, (alpha, beta, scaled) = self.layout, self.split(x)
        factors = [L / scale[:, None] for L, scale in zip(scaled, self.scales, strict=True)]
        ends = np.concatenate([[-np.inf], self.problem.J @ alpha, [np.inf]])
        fixed = self.problem.offset + self.problem.X @ beta
        A = np.hstack([self.Z[:, at] @ scaled[t] for t, at in self.spans()])
        mode = self._mode(ends, fixed, A, v)
        assert mode is not None  # it was found on the way
        _, blocks, inverse = mode.factor.selected_inverse(A)
        modes, covariances = {}, {}
        for at, t in enumerate(layout.terms):
            L, own = (
                factors[t],
                np.arange(*layout.first[at : at + 2]).reshape(-1, len(factors[t])),
            )
            rest = own - layout.first[1]
            within = inverse[rest[:, :, None], rest[:, None, :]] if at else blocks
            modes[t], covariances[t] = mode.v[own] @ L.T, L @ within @ L.T
        return MixedFit(
            alpha=alpha,
            beta=beta,
            factors=tuple(factors),
            log_likelihood=found.value,
            covariance=covariance,
            modes=tuple(modes[t] for t in range(len(factors))),
            mode_covariances=tuple(covariances[t] for t in range(len(factors))),
            effects=EffectPosterior(
                terms=layout.terms,
                first=layout.first,
                factors=tuple(factors),
                mode=mode.v,
                blocks=mode.factor.blocks,
                multipliers=mode.factor.multipliers,
                ptr=layout.ptr,
                partners=layout.partners,
                rest_inverse=inverse,
            ),
            decrement=found.decrement,
            n_iter=found.n_iter,
        )


def _hermite_grid(nodes: int, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (N^r, r) and log weights for the integrand itself; nothing for one node."""
    if nodes == 1:
        return np.empty((0, r)), np.empty(0)
    x, w = np.polynomial.hermite.hermgauss(nodes)
    grid = np.array(list(itertools.product(range(nodes), repeat=r)))
    return x[grid], np.sum((np.log(w / np.sqrt(np.pi)) + x**2)[grid], axis=1)


@dataclass(frozen=True, eq=False)
class _Optimum:
    """Where the search ended, with minus the second derivatives there."""

    x: np.ndarray
    value: float
    v: np.ndarray
    curvature: np.ndarray
    decrement: float
    n_iter: int


def _maximise(
    rows: _Rows, x: np.ndarray, curvature: np.ndarray, free: np.ndarray, max_iter: int
) -> _Optimum:
    """BFGS, then Newton steps with differences of the exact gradient."""
    at = rows.marginal(x, np.zeros(rows.layout.first[-1]))
    if at is None:
        raise ValueError(
            "the likelihood with random effects cannot be computed at the estimates without "
            "them; rescale the columns of the slopes, or leave a term out."
        )
    B, n_random = curvature[np.ix_(free, free)], sum(rows.problem.sizes[2:])
    n_iter = 0
    while n_iter < max_iter:
        step = np.zeros(len(x))
        step[free] = linalg.solve(B, at.gradient[free], assume_a="pos")
        gain = at.gradient @ step
        if gain < 1e-12:  # a millionth of a standard error, as the second derivatives need
            break
        # A deviation that moves by more than the noise leaves where the model of it is good.
        t = min(1.0, 1.0 / max(np.max(np.abs(step[-n_random:])), 1e-300))
        while (new := rows.marginal(x + t * step, at.v)) is None or (
            new.value < at.value + 1e-4 * t * gain - _ROUNDING * abs(at.value)
        ):
            t *= 0.5
            if t < 1e-9:
                break
        if t < 1e-9 or new is None:
            break
        B = _secant_update(B, t * step[free], (at.gradient - new.gradient)[free])
        x, at, n_iter = x + t * step, new, n_iter + 1
    return _polished(rows, x, at, B, free, n_iter)


def _secant_update(B: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """BFGS, damped after Powell so that B stays positive definite."""
    Bs = B @ s
    sBs, sy = s @ Bs, s @ y
    if sy < 0.2 * sBs:
        mix = 0.8 * sBs / (sBs - sy)
        y = mix * y + (1.0 - mix) * Bs
        sy = s @ y
    return B - np.outer(Bs, Bs) / sBs + np.outer(y, y) / sy


def _polished(
    rows: _Rows, x: np.ndarray, at: _Marginal, B: np.ndarray, free: np.ndarray, n_iter: int
) -> _Optimum:
    """Newton steps until they gain nothing; second derivatives where they ended."""
    gain = math.inf
    for _ in range(5):
        H = _second_differences(rows, x, at, B, free)
        if np.linalg.eigvalsh(H)[0] <= 0.0:  # no maximum was reached; B is what is known
            gain = math.inf
            break
        B, moved = H, 0.0
        for _ in range(5):
            step = np.zeros(len(x))
            step[free] = linalg.solve(B, at.gradient[free], assume_a="pos")
            gain = float(at.gradient @ step)
            new = rows.marginal(x + step, at.v) if gain > 1e-18 else None
            if new is None or new.value < at.value - _ROUNDING * abs(at.value):
                break
            x, at, moved, n_iter = x + step, new, moved + math.sqrt(gain), n_iter + 1
        if moved < 1e-4:  # the second derivatives have changed by no more than that
            break
    curvature = np.eye(len(x))
    curvature[np.ix_(free, free)] = B
    return _Optimum(x, at.value, at.v, curvature, gain, n_iter)


def _second_differences(
    rows: _Rows, x: np.ndarray, at: _Marginal, B: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Minus the second derivatives, by differences of the gradient along the axes of B."""
    R = linalg.cholesky(B, lower=True)
    axes = linalg.solve_triangular(R, np.eye(len(R)), lower=True, trans="T")
    H = np.empty_like(B)
    for j in range(len(R)):
        step = np.zeros(len(x))
        step[free] = _STEP * axes[:, j]
        above, below = rows.marginal(x + step, at.v), rows.marginal(x - step, at.v)
        if above is None or below is None:
            return np.zeros_like(B)
        H[:, j] = (below.gradient - above.gradient)[free] / (2.0 * _STEP)
    H = linalg.solve_triangular(R, H, lower=True)  # in units of the axes, where it is about I
    return R @ (0.5 * (H + H.T)) @ R.T


@loop
def _average_nodes(
    link, start, lower, upper, fixed, weights, A, v, U, nodes, log_weights, seen,
    means, gv, slope, moved,
):  # fmt: skip
    """Sum of the groups' log integrals; writes averages over nodes into the last four."""
    r, total = v.shape[1], 0.0
    points, share = np.empty((len(nodes), r)), np.empty(len(nodes))
    for g in range(start.size - 1):
        for k in range(len(nodes)):
            share[k] = log_weights[k]
            for a in range(r):
                points[k, a] = v[g, a]
                for b in range(r):
                    points[k, a] += math.sqrt(2.0) * U[g, a, b] * nodes[k, b]
                share[k] -= 0.5 * points[k, a] ** 2
            for i in range(start[g], start[g + 1]):
                f = fixed[i]
                for a in range(r):
                    f += A[i, a] * points[k, a]
                terms = interval_point(link, upper[i] - f, lower[i] - f, upper[i] - lower[i])
                share[k] += weights[i] * terms[0]
                seen[0, k, i - start[g]] = weights[i] * terms[1]
                seen[1, k, i - start[g]] = weights[i] * terms[2]
        top = np.max(share)
        share[:] = np.exp(share - top)
        total += top + math.log(np.sum(share))
        share /= np.sum(share)
        _average_group(
            start[g], start[g + 1], A, U[g], nodes, points, share, seen,
            means, gv, slope[g], moved[g],
        )  # fmt: skip
    return total


@loop
def _average_group(first, last, A, U, nodes, points, share, seen, means, gv, slope, moved):
    """Averages of one group, over nodes that have each its share of the integral."""
    r = U.shape[0]
    E, down = np.zeros((r, r)), np.empty(r)  # E: mean of sqrt(2) x times R^-1 slope
    means[:, first:last] = 0.0
    gv[first:last] = 0.0
    slope[:] = 0.0
    for k in range(len(nodes)):
        down[:] = -points[k]  # slope of the log integrand
        for i in range(first, last):
            up, low = share[k] * seen[0, k, i - first], share[k] * seen[1, k, i - first]
            means[0, i] += low - up
            means[1, i] += up
            means[2, i] += low
            for a in range(r):
                gv[i, a] += (low - up) * points[k, a]
                down[a] += (seen[1, k, i - first] - seen[0, k, i - first]) * A[i, a]
        slope += share[k] * down
        for b in range(r):
            along = 0.0
            for a in range(r):
                along += U[a, b] * down[a]
            for a in range(b, r):
                E[a, b] += share[k] * math.sqrt(2.0) * nodes[k, a] * along
    for a in range(r):
        for b in range(a):
            E[b, a] = E[a, b]
        E[a, a] += 1.0
    moved[:] = 0.0
    for a in range(r):
        for b in range(r):
            for c in range(r):
                for d in range(r):
                    moved[a, b] += U[a, c] * E[c, d] * U[b, d]
