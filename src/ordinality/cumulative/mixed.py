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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import spsolve

from .._compile import loop
from .group_effects import EffectPosterior
from .group_factor import GroupFactor, Layout, Term
from .links import (
    KAPPA_L,
    KAPPA_U,
    LOG_P,
    OM_L,
    OM_U,
    R_L,
    R_U,
    interval_point,
    interval_terms,
)
from .newton import ARMIJO, Maximum, damped_cholesky
from .regression import Regression
from .rows import Rows

__all__ = ["MixedFit", "add_random_effects", "at_modes", "fit_mixed"]

# A standard deviation below this, in units of the noise for a design column of root mean square
# one, is reported as zero: the log-likelihood is even in it, and so within some 1e-6 times its
# curvature of the value at zero.
_ZERO = 1e-3
_INFINITE = (
    50.0  # one above this, in the same units, has no maximum: exp(50) to one are the odds
)
_START = math.exp(-0.5)  # of all standard deviations, in the same units
_ROUNDING = 1e-13  # of a sum of up to millions of log-probabilities, relative
_STEP = 1e-4  # of differences of the gradient, in standard errors: truncation and rounding 1e-8


@dataclass(frozen=True, eq=False)
class MixedFit:
    """Maximum of the marginal likelihood.

    Parameters are the vector of the fixed effects, as `Rows` has it, and then, for every term,
    the lower triangle of L by rows, with the logarithm of its diagonal. `covariance` is in this
    order; its rows are zero for parameters that are fixed because a variance is zero.
    """

    vector: np.ndarray
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
    rows: Rows,
    terms: Sequence[Term],
    start: Maximum,
    *,
    nodes: int = 1,
    max_iter: int = 200,
) -> MixedFit:
    """Maximise the marginal likelihood, starting from the fit without random effects.

    Terms have the order of `rows`, which have no scale columns. More than one node takes a
    single term.
    """
    grouped = _Grouped.of(rows, tuple(terms), nodes)
    triangles = [_START * np.eye(t.width) for t in terms]
    x = np.concatenate([start.vector, *(L[np.tril_indices(len(L))] for L in triangles)])
    # G groups seen without noise would give an information of 2 G for the log deviation.
    guess = [np.full(t.width * (t.width + 1) // 2, float(t.n_groups)) for t in terms]
    curvature = linalg.block_diag(start.evaluation.information, np.diag(np.concatenate(guess)))
    found = _maximise(grouped, x, curvature, np.full(len(x), True), max_iter)
    free = ~grouped.zeros(found.x)
    if not np.all(free):  # hold these at zero and fit the others again
        x = np.where(free, found.x, 0.0)
        again = _maximise(grouped, x, found.curvature, free, max_iter)
        found = replace(again, n_iter=found.n_iter + again.n_iter)
    return grouped.fitted(found, free)


def add_random_effects(
    regression: Regression, terms: Sequence[Term], *, nodes: int = 1, max_iter: int = 200
) -> MixedFit:
    """Fit random effects beside those of a regression, in the units of its columns.

    Terms have the order of the rows given to the regression.
    """
    order, units = regression.order, regression.units
    terms = [term.take(order) for term in terms]
    found = fit_mixed(
        regression.rows, terms, regression.maximum, nodes=nodes, max_iter=max_iter
    )
    n_random = len(found.covariance) - len(found.vector)
    change = sparse.block_diag([units, sparse.identity(n_random)], format="csr")
    covariance = change @ (change @ found.covariance).T
    return replace(found, vector=units @ found.vector, covariance=covariance)


def at_modes(regression: Regression, fit: MixedFit, terms: Sequence[Term]) -> Regression:
    """The regression with the estimates of `fit`, its effects at their modes as an offset."""
    mean, _ = fit.effects.moments([t.groups for t in terms], [t.design for t in terms])
    rows, vector = regression.rows, spsolve(regression.units.tocsc(), fit.vector)
    return replace(
        regression,
        rows=replace(rows, offset=rows.offset + mean[regression.order]),
        maximum=replace(regression.maximum, vector=np.atleast_1d(vector)),
    )


@dataclass(frozen=True, eq=False)
class _Mode:
    """Maximum of the integrand over v: terms of the rows there (7, n), and the factor of M."""

    v: np.ndarray
    terms: np.ndarray
    factor: GroupFactor


@dataclass(frozen=True, eq=False)
class _Integrand:
    """Interval and latent value of every row, the latter without its effects, and A."""

    upper: np.ndarray  # (n,)
    lower: np.ndarray  # (n,)
    fixed: np.ndarray  # (n,)
    A: np.ndarray  # (n, sum of widths)


@dataclass(frozen=True, eq=False)
class _Marginal:
    """Log-likelihood at x = (fixed effects, triangles of L), its gradient, and the mode."""

    value: float
    gradient: np.ndarray
    mode: _Mode


@dataclass(frozen=True, eq=False)
class _Grouped:
    """Rows in the order of the layout, with designs of root mean square one."""

    rows: Rows  # not sorted by level here, so without blocks
    terms: tuple[Term, ...]
    layout: Layout
    M: np.ndarray  # (n, 1 + p): ones and the nominal columns
    Z: np.ndarray  # (n, sum of widths), columns as in `layout.own`
    scales: tuple[np.ndarray, ...]  # (r,) of each term: root mean squares of its design
    nodes: np.ndarray  # (N, r) of the quadrature; none for Laplace's method
    log_weights: np.ndarray  # (N,)

    @classmethod
    def of(cls, rows: Rows, terms: tuple[Term, ...], nodes: int) -> _Grouped:
        layout = Layout.of(terms)
        ordered = rows.take(layout.order)
        M = np.column_stack([np.ones(len(rows.y)), ordered.N])
        squares = (np.mean(t.design**2, axis=0) for t in terms)
        scales = tuple(np.sqrt(np.where(square > 0, square, 1.0)) for square in squares)
        Z = np.hstack([terms[t].design[layout.order] / scales[t] for t in layout.terms])
        return cls(ordered, terms, layout, M, Z, scales, *_hermite_grid(nodes, layout.width))

    @property
    def n_fixed(self) -> int:
        return sum(self.rows.sizes)

    def factors(self, x: np.ndarray) -> list[np.ndarray]:
        """L of each term, for designs of root mean square one."""
        found, at = [], self.n_fixed
        for term in self.terms:
            L, places = np.zeros((term.width, term.width)), np.tril_indices(term.width)
            L[places] = x[at : at + len(places[0])]
            found.append(L)
            at += len(places[0])
        return found

    def spans(self) -> list[tuple[int, slice]]:
        """Each term, in the order of the layout, with its columns of `Z`."""
        ends = np.cumsum([0, *(self.terms[t].width for t in self.layout.terms)])
        return [(t, slice(ends[i], ends[i + 1])) for i, t in enumerate(self.layout.terms)]

    def integrand(self, x: np.ndarray) -> _Integrand:
        """What the integral is taken of, at some parameters."""
        p, y, last = self.rows.parts(x[: self.n_fixed]), self.rows.y, self.rows.n_levels - 1
        theta = p.A @ self.rows.structure.J.T  # (1 + p, K - 1)
        upper = np.einsum("im,mi->i", self.M, theta[:, np.minimum(y, last - 1)])
        lower = np.einsum("im,mi->i", self.M, theta[:, np.maximum(y - 1, 0)])
        factors = self.factors(x)
        return _Integrand(
            upper=np.where(y < last, upper, np.inf),
            lower=np.where(y > 0, lower, -np.inf),
            fixed=self.rows.offset + self.rows.X @ p.beta,
            A=np.hstack([self.Z[:, at] @ factors[t] for t, at in self.spans()]),
        )

    def marginal(self, x: np.ndarray, v: np.ndarray) -> _Marginal | None:
        """Log-likelihood and gradient; None where thresholds cross or the mode is lost."""
        at = self.integrand(x)
        mode = self._mode(at, v) if np.all(at.upper > at.lower) else None
        if mode is None:
            return None
        value, d_eta, d_upper, d_lower, d_A = self._value(at, mode)
        y, K = self.rows.y, self.rows.n_levels
        d_theta = [
            np.bincount(y, d_upper * m, K)[:-1] + np.bincount(y, d_lower * m, K)[1:]
            for m in self.M.T
        ]
        triangles = {}
        for t, columns in self.spans():
            d_L = self.Z[:, columns].T @ d_A[:, columns]
            triangles[t] = d_L[np.tril_indices(len(d_L))]
        ordered = (triangles[t] for t in range(len(self.terms)))
        d_fixed = (np.ravel(d_theta @ self.rows.structure.J), self.rows.X.T @ d_eta)
        return _Marginal(value, np.concatenate([*d_fixed, *ordered]), mode)

    def _terms(self, at: _Integrand, v: np.ndarray) -> np.ndarray:
        """Weighted terms of the rows, (7, n)."""
        latent = at.fixed + self.layout.gather(at.A, v)
        ends = (at.upper - latent, at.lower - latent, at.upper - at.lower)
        return interval_terms(self.rows.link, *ends, third=True) * self.rows.weights

    def _mode(self, at: _Integrand, v: np.ndarray) -> _Mode | None:
        """Newton's method with halved steps, from `v`."""
        layout, A, last = self.layout, at.A, math.inf
        terms = self._terms(at, v)
        height = terms[LOG_P].sum() - 0.5 * v @ v
        if not math.isfinite(height):
            return None if not np.any(v) else self._mode(at, np.zeros_like(v))
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
                return _Mode(v, terms, exact) if exact is not None else None
            last, t = gain, 1.0
            while t > 1e-9:
                trial = self._terms(at, v + t * step)
                new = trial[LOG_P].sum() - 0.5 * np.sum((v + t * step) ** 2)
                # Below 1e-8 a gain drowns in the rounding of the sum.
                if new >= height + ARMIJO * t * gain or (gain < 1e-8 and math.isfinite(new)):
                    break
                t *= 0.5
            else:
                return None
            v, terms, height = v + t * step, trial, new
        return None

    def _value(self, at: _Integrand, mode: _Mode) -> tuple[Any, ...]:
        """Log-likelihood, and its whole derivatives in eta, in both ends and in A."""
        layout, A, v, terms = self.layout, at.A, mode.v, mode.terms
        g, W = terms[R_L] - terms[R_U], terms[OM_U] + terms[OM_L]
        log_p, mean_g, mean_up, mean_low = terms[LOG_P].sum(), g, terms[R_U], terms[R_L]
        mean_gv, slope = g[:, None] * v[layout.own], np.zeros_like(v)
        if len(self.nodes):
            log_p, mean_g, mean_up, mean_low, mean_gv, slope, blocks = self._quadrature(
                at, mode
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

    def _quadrature(self, at: _Integrand, mode: _Mode) -> tuple[Any, ...]:
        """Averages over the nodes of every group; what follows from moving and scaling them.

        Nodes are v + sqrt(2) R^-T x with M = R R' in each group. Moving v changes the log
        integral by the mean slope; scaling by R turns M^-1 in the derivative of the log
        determinant into R^-T (I + E) R^-1, E the mean of sqrt(2) x times R^-1 slope.
        """
        r = self.layout.width
        lower = np.linalg.cholesky(mode.factor.blocks[:, ::-1, ::-1])
        upper = np.ascontiguousarray(lower[:, ::-1, ::-1])  # R^-T: its square is M^-1
        n = len(at.fixed)
        means, gv = np.empty((3, n)), np.empty((n, r))
        slope, moved = np.empty(mode.v.size), np.empty((mode.v.size // r, r, r))
        longest = int(np.max(np.diff(self.layout.start)))
        log_p = _average_nodes(
            *(self.rows.link.code, self.layout.start, at.lower, at.upper, at.fixed),
            *(self.rows.weights, at.A, mode.v.reshape(-1, r), upper),
            *(self.nodes, self.log_weights, np.empty((2, len(self.nodes), longest))),
            *(means, gv, slope.reshape(-1, r), moved),
        )
        return log_p, *means, gv, slope, moved

    def zeros(self, x: np.ndarray) -> np.ndarray:
        """Which parameters belong to a column of L whose diagonal is zero."""
        marks = [np.full(self.n_fixed, False)]
        for L in self.factors(x):
            column = np.tile(np.abs(np.diag(L)) < _ZERO, (len(L), 1))
            marks.append(column[np.tril_indices(len(L))])
        return np.concatenate(marks)

    def fitted(self, found: _Optimum, free: np.ndarray) -> MixedFit:
        """The answer in the units of the designs, with positive diagonals of L."""
        x, layout, mode = found.x, self.layout, found.at.mode
        scaled = zip(self.factors(x), self.scales, strict=True)
        factors = tuple(L / scale[:, None] for L, scale in scaled)
        _, blocks, inverse = mode.factor.selected_inverse(self.integrand(x).A)
        modes, covariances = {}, {}
        for i, t in enumerate(layout.terms):
            L = factors[t]
            own = np.arange(*layout.first[i : i + 2]).reshape(-1, len(L))
            rest = own - layout.first[1]
            within = inverse[rest[:, :, None], rest[:, None, :]] if i else blocks
            modes[t], covariances[t] = mode.v[own] @ L.T, L @ within @ L.T
        return MixedFit(
            vector=x[: self.n_fixed],
            factors=tuple(L * np.where(np.diag(L) < 0.0, -1.0, 1.0) for L in factors),
            log_likelihood=found.at.value,
            covariance=self._covariance(found, free),
            modes=tuple(modes[t] for t in range(len(factors))),
            mode_covariances=tuple(covariances[t] for t in range(len(factors))),
            effects=EffectPosterior(
                terms=layout.terms,
                first=layout.first,
                factors=factors,
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

    def _covariance(self, found: _Optimum, free: np.ndarray) -> np.ndarray:
        """Of the fixed effects and of the triangles of L, with the log of their diagonals."""
        slopes = [np.ones(self.n_fixed)]  # of these in what was searched over
        for L, scale in zip(self.factors(found.x), self.scales, strict=True):
            diagonal = np.where(np.diag(L) == 0.0, 1.0, np.diag(L))
            below = np.sign(diagonal) / scale[:, None]
            slope = np.where(np.eye(len(L)) > 0, 1.0 / diagonal, below)
            slopes.append(slope[np.tril_indices(len(L))])
        J, covariance = np.concatenate(slopes), np.zeros((len(free), len(free)))
        factor, _ = damped_cholesky(found.curvature[np.ix_(free, free)])
        unit = np.eye(int(np.count_nonzero(free)))
        covariance[np.ix_(free, free)] = linalg.cho_solve(factor, unit)
        return covariance * np.outer(J, J)


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
    at: _Marginal
    curvature: np.ndarray
    decrement: float
    n_iter: int


def _maximise(
    grouped: _Grouped, x: np.ndarray, curvature: np.ndarray, free: np.ndarray, max_iter: int
) -> _Optimum:
    """BFGS, then Newton steps with differences of the exact gradient."""
    at = grouped.marginal(x, np.zeros(grouped.layout.first[-1]))
    if at is None:
        raise ValueError(
            "the likelihood with random effects cannot be computed at the estimates without "
            "them; rescale the columns of the slopes, or leave a term out."
        )
    B = curvature[np.ix_(free, free)]
    n_iter = 0
    while n_iter < max_iter:
        step = np.zeros(len(x))
        step[free] = linalg.cho_solve(damped_cholesky(B)[0], at.gradient[free])
        gain = at.gradient @ step
        largest = np.max(np.abs(x[grouped.n_fixed :]))
        # A millionth of a standard error, as the second derivatives need.
        if gain < 1e-12 or largest > _INFINITE:
            break
        # A deviation that moves by more than the noise leaves where the model of it is good.
        t = min(1.0, 1.0 / max(np.max(np.abs(step[grouped.n_fixed :])), 1e-300))
        while (new := grouped.marginal(x + t * step, at.mode.v)) is None or (
            new.value < at.value + ARMIJO * t * gain - _ROUNDING * abs(at.value)
        ):
            t *= 0.5
            if t < 1e-9:
                break
        if t < 1e-9 or new is None:
            break
        B = _secant_update(B, t * step[free], (at.gradient - new.gradient)[free])
        x, at, n_iter = x + t * step, new, n_iter + 1
    return _polished(grouped, x, at, B, free, n_iter)


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
    grouped: _Grouped,
    x: np.ndarray,
    at: _Marginal,
    B: np.ndarray,
    free: np.ndarray,
    n_iter: int,
) -> _Optimum:
    """Newton steps until they gain nothing; second derivatives where they ended."""
    gain = math.inf
    for _ in range(5):
        H = _second_differences(grouped, x, at, B, free)
        if np.linalg.eigvalsh(H)[0] <= 0.0:  # no maximum was reached; B is what is known
            gain = math.inf
            break
        B, moved = H, 0.0
        for _ in range(5):
            step = np.zeros(len(x))
            step[free] = linalg.cho_solve(damped_cholesky(B)[0], at.gradient[free])
            gain = float(at.gradient @ step)
            new = grouped.marginal(x + step, at.mode.v) if gain > 1e-18 else None
            if new is None or new.value < at.value - _ROUNDING * abs(at.value):
                break
            x, at, moved, n_iter = x + step, new, moved + math.sqrt(gain), n_iter + 1
        if moved < 1e-4:  # the second derivatives have changed by no more than that
            break
    curvature = np.eye(len(x))
    curvature[np.ix_(free, free)] = B
    return _Optimum(x, at, curvature, gain, n_iter)


def _second_differences(
    grouped: _Grouped, x: np.ndarray, at: _Marginal, B: np.ndarray, free: np.ndarray
) -> np.ndarray:
    """Minus the second derivatives, by differences of the gradient along the axes of B."""
    R = np.tril(damped_cholesky(B)[0][0])
    axes = linalg.solve_triangular(R, np.eye(len(R)), lower=True, trans="T")
    H = np.empty_like(B)
    for j in range(len(R)):
        step = np.zeros(len(x))
        step[free] = _STEP * axes[:, j]
        above, below = (
            grouped.marginal(x + step, at.mode.v),
            grouped.marginal(x - step, at.mode.v),
        )
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
