"""Inducing values learnt from blocks of rows, visited once or a few times.

Given the inducing points, what a set of rows says about them is a matrix and a vector,
``P' diag(tau) P`` and ``P' nu``: statistics of rows add up, whatever block or machine the rows
are on. A visit of a block takes the present belief without what the block itself had said (the
cavities), matches moments, and returns new sites and their statistics.

Rows never seen start from the belief of a model of fewer rows: its prediction is their cavity.
Two or three visits of all rows then are enough. One visit from no sites, each block seeing the
blocks before it, is assumed-density filtering: a stream.

Minka (2001), "Expectation propagation for approximate Bayesian inference"; Csato & Opper
(2002), "Sparse on-line Gaussian processes"; Bui, Nguyen & Turner (2017), "Streaming sparse
Gaussian process approximations", for the change of points without the old rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from .ep import evidence_terms
from .likelihoods import Blurred, Jet, LearntLikelihood, Likelihood
from .posterior.inducing import (
    Adjoint,
    Basis,
    Inducing,
    InducingPredictor,
    add_gram,
    factorised,
    greedy_points,
    variances,
)
from .posterior.precision import mirrored
from .site_loop import Approximation

__all__ = [
    "Belief",
    "Settled",
    "Slopes",
    "Stream",
    "Sums",
    "evidence",
    "extended",
    "fold",
    "settle",
    "settle_by",
    "settle_seen",
    "slopes",
    "visit",
]

_ROWS = 2**14  # of a block that is handed to a thread
# A gap of 0.01 at the worst of 200,000 rows was one of 0.001 nats in EP's evidence, of which
# the error is of second order. That of Laplace's is of first.
_TOLERANCE = {"ep": 1e-2, "laplace": 1e-5, "variational": 1e-2}
_SHORTEST = 0.1  # step; a half suffices where rows go back and forth between two places


@dataclass(frozen=True, eq=False)
class Belief:
    """What rows have said about the whitened values at the points of a basis."""

    basis: Basis
    gram: np.ndarray  # (M, M), upper triangle of P' diag(tau) P
    shift: np.ndarray  # (M,), P' nu
    # Share of the way to their matched sites that rows go in a visit.
    step: float = field(default=1.0, kw_only=True)

    @classmethod
    def none(cls, basis: Basis) -> Belief:
        """The prior."""
        M = len(basis)
        return cls(basis, np.zeros((M, M), order="F"), np.zeros(M))

    @cached_property
    def _factor(self) -> tuple[np.ndarray, float]:
        return factorised(self.gram.copy("F"))

    @property
    def factor(self) -> np.ndarray:
        """Upper factor of the precision, ``I + gram``."""
        return self._factor[0]

    @cached_property
    def inverse_factor(self) -> np.ndarray:
        """The inverse of `factor`."""
        return lapack.dtrtri(self.factor)[0]

    @property
    def half_log_det(self) -> float:
        """Half the log determinant of the precision."""
        return self._factor[1]

    @cached_property
    def mean(self) -> np.ndarray:
        """Posterior mean of the whitened values."""
        return lapack.dpotrs(self.factor, self.shift)[0]

    def predictor(self) -> InducingPredictor:
        """The same belief, for prediction."""
        return InducingPredictor(self.basis.lower, self.factor, self.mean)

    @classmethod
    def of(cls, basis: Basis, predictor: InducingPredictor) -> Belief:
        """From what predicts."""
        U = np.triu(predictor.factor)
        precision = U.T @ U
        shift = precision @ predictor.mean
        precision[np.diag_indices_from(precision)] -= 1.0
        return cls(basis, np.asfortranarray(precision), shift)

    def on(self, basis: Basis) -> Belief:
        """The same belief by the points of another basis.

        What rows have said is what M rows say that see combinations of the old values with unit
        noise. These are seen through the new points like any others. Nothing is lost if the
        old points are among the new ones.
        """
        values, vectors = np.linalg.eigh(mirrored(self.gram))
        # Below the rounding of the largest there is nothing but rounding.
        some = values > len(values) * np.finfo(float).eps * max(values[-1], 1.0)
        root, vectors = np.sqrt(values[some]), vectors[:, some]
        nu = (self.shift @ vectors) / root
        weights = blas.dtrsm(1.0, self.basis.lower, root * vectors, lower=1, trans_a=1)
        P = (basis.whitened(self.basis.Z).T @ weights).T
        prior = np.einsum("ij,ij->j", weights, basis.kernel(self.basis.Z) @ weights)
        blur = 1.0 + np.maximum(prior - np.einsum("ij,ij->i", P, P), 0.0)
        gram = np.zeros((len(basis),) * 2, order="F")
        add_gram(P, 1.0 / blur, gram)
        return Belief(basis, gram, (nu / blur) @ P)

    def moved(self, sites: np.ndarray, new: _Matched) -> tuple[np.ndarray, np.ndarray]:
        """Precisions and shifts of rows after a visit."""
        if self.step == 1.0:
            return new.tau, new.nu
        tau, nu = sites
        return tau + self.step * (new.tau - tau), nu + self.step * (new.nu - nu)

    def plus(self, sums: Sums) -> Belief:
        """The belief after further rows have been seen."""
        return Belief(self.basis, self.gram + sums.gram, self.shift + sums.shift)


@dataclass(eq=False)
class Sums:
    """Statistics of the rows that were visited; those of several blocks add up."""

    gram: np.ndarray  # (M, M), upper triangle
    shift: np.ndarray  # (M,)
    value: float = 0.0  # terms of the evidence under the belief before
    residual: float = 0.0  # largest gap between sites and matched moments
    unexplained: float = 0.0  # prior variance that the points leave, summed by weight
    variance: float = 0.0  # prior variance, summed by weight

    def add(self, other: Sums) -> None:
        """Add the statistics of other rows."""
        self.gram += other.gram
        self.shift += other.shift
        self.value += other.value
        self.residual = max(self.residual, other.residual)
        self.unexplained += other.unexplained
        self.variance += other.variance


@dataclass(frozen=True, eq=False)
class Stream:
    """How many rows a stream has had, and the first of them as long as they are kept."""

    n_seen: int
    n_learnt: int  # rows from which theta was learnt
    X: np.ndarray  # (r, d), as given; no rows once there are too many
    y: np.ndarray  # (r,), ranks
    weights: np.ndarray  # (r,)

    def plus(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray, most: int) -> Stream:
        """The stream after further rows, of which it keeps ``most`` in all or none."""
        n = self.n_seen + len(y)
        if n > most or len(self.y) < self.n_seen:
            none = slice(0)
            return Stream(n, self.n_learnt, X[none], y[none], weights[none])
        return Stream(
            n,
            self.n_learnt,
            np.vstack([self.X, X]),
            np.append(self.y, y),
            np.append(self.weights, weights),
        )


@dataclass(frozen=True, eq=False)
class Settled:
    """A posterior with inducing points, and how it was reached."""

    log_evidence: float
    unexplained: float  # share of the prior variance that the points do not explain
    n_iter: int  # visits of all rows, or iterations of the engine
    converged: bool
    residual: float
    cavity_mean: np.ndarray | None = None  # (n,), moments of f at each row without that row
    cavity_var: np.ndarray | None = None

    @classmethod
    def of(cls, a: Approximation, unexplained: float, left: np.ndarray) -> Settled:
        """From an engine's answer, and the prior variances that points leave."""
        return cls(
            a.log_evidence, unexplained, a.n_iter, a.converged, a.residual,
            a.cavity_mean, a.cavity_var + left,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Seen:
    """What a block of rows sees under a belief, and the sites it has put into that belief."""

    likelihood: Blurred
    y: np.ndarray
    weights: np.ndarray
    mean: np.ndarray  # of q
    var: np.ndarray
    tau: np.ndarray  # of all copies of a row
    nu: np.ndarray
    copies: np.ndarray
    alpha: np.ndarray  # nu - tau mean
    lam: np.ndarray  # moments of q with one copy left out
    mu: np.ndarray

    @classmethod
    def of(
        cls, likelihood: Blurred, y: np.ndarray, w: np.ndarray, mean: np.ndarray,
        var: np.ndarray, tau: np.ndarray, nu: np.ndarray,
    ) -> _Seen:  # fmt: skip
        copies = np.maximum(w, 1.0)
        # Less than a site takes away is left by rounding alone, next to far sharper sites.
        lam = var / np.maximum(1.0 - tau / copies * var, np.finfo(float).eps)
        alpha = nu - tau * mean
        mu = mean - lam * alpha / copies
        return cls(likelihood, y, w, mean, var, tau, nu, copies, alpha, lam, mu)


@dataclass(frozen=True, eq=False)
class _Matched:
    """New sites of a block, the terms of the evidence, and the gap to the old sites."""

    tau: np.ndarray
    nu: np.ndarray
    value: float
    gap: float


def _tilted(s: _Seen) -> Jet:
    """The likelihood integrated over the cavities, and its derivatives."""
    power = np.minimum(s.weights, 1.0) if np.any(s.weights < 1.0) else None
    return s.likelihood.log_expected(s.y, s.mu, s.lam, power)


def _moments(s: _Seen) -> _Matched:
    """Expectation propagation: the moments of the tilted density."""
    return _matched(s, _tilted(s))


def _matched(s: _Seen, jet: Jet) -> _Matched:
    c, width2 = s.copies, np.square(s.likelihood.noise) + s.lam
    tau, alpha = s.tau / c, s.alpha / c
    by_mean = np.sqrt(width2) * np.abs(alpha - jet.d1)
    by_var = width2 * np.abs(tau * (1.0 - tau * s.var) + jet.d2)
    new_tau, new_nu = jet.matched_site(s.mu)
    value = float(c @ evidence_terms(jet, tau, alpha, s.mu, s.lam))
    return _Matched(c * new_tau, c * new_nu, value, float(max(by_mean.max(), by_var.max())))


def _mode(s: _Seen) -> _Matched:
    """Laplace: curvature and slope at the mean, a step of Newton's method."""
    return _newton(s, s.likelihood.point(s.y, s.mean), 1.0, 0.0)


def _expectations(s: _Seen) -> _Matched:
    """Variational: expected curvature and slope, by half steps as in the engine."""
    return _newton(s, s.likelihood.expected_log(s.y, s.mean, s.var), 0.5, 0.5 * s.tau @ s.var)


def _newton(s: _Seen, jet: Jet, mixing: float, more: float) -> _Matched:
    jet, noise = jet.times(s.weights), s.likelihood.noise
    gaps = noise * np.abs(s.alpha - jet.d1), noise**2 * np.abs(s.tau + jet.d2)
    tau, nu = -jet.d2, jet.d1 - jet.d2 * s.mean
    return _Matched(
        s.tau + mixing * (tau - s.tau),
        s.nu + mixing * (nu - s.nu),
        float(jet.value.sum()) + more,
        float(np.max(np.maximum(*gaps) / s.copies)),
    )


_RULES: dict[str, Callable[[_Seen], _Matched]] = {
    "ep": _moments,
    "laplace": _mode,
    "variational": _expectations,
}


def visit(
    belief: Belief,
    likelihood: Likelihood,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    sites: np.ndarray,
    cavities: np.ndarray | None = None,
    engine: str = "ep",
) -> Sums:
    """Give every row a new site under the belief, and sum up what the rows say.

    ``sites`` (2, n), precision and shift of each row, which the belief holds already, are
    overwritten; moments of f without the row are put into ``cavities`` (2, n).
    """
    basis = belief.basis
    M = len(basis)
    sums = Sums(np.zeros((M, M), order="F"), np.zeros(M))
    for rows in basis.blocks(len(X)):
        P, prior, left, seen = _block(
            belief, likelihood.only(rows), X[rows], y[rows], weights[rows], sites[:, rows]
        )
        new = _RULES[engine](seen)
        sites[:, rows] = tau, nu = belief.moved(sites[:, rows], new)
        if cavities is not None:
            cavities[:, rows] = seen.mu, seen.lam + left
        sums.value += new.value
        sums.residual = max(sums.residual, new.gap)
        sums.unexplained += float(seen.weights @ left)
        sums.variance += float(seen.weights @ prior)
        add_gram(P, tau, sums.gram)
        sums.shift += nu @ P
    return sums


def _block(
    belief: Belief, likelihood: Likelihood, X: np.ndarray, y: np.ndarray, weights: np.ndarray,
    sites: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, _Seen]:  # fmt: skip
    """P of a few rows, their prior variances, what is left of these, and what they see."""
    P, prior = belief.basis.whitened(X), belief.basis.kernel.diag(X)
    left = np.maximum(prior - np.einsum("ij,ij->i", P, P), 0.0)
    var = variances(P, belief.inverse_factor)
    blurred = Blurred(likelihood, left)
    return P, prior, left, _Seen.of(blurred, y, weights, P @ belief.mean, var, *sites)


@dataclass(eq=False)
class Slopes:
    """The parts of EP's evidence and of its gradient that are sums over rows."""

    gram: np.ndarray  # (M, M), upper triangle, rows weighed by twice d/d residual variance
    kernel: np.ndarray  # gradient in the kernel's theta, the points' own covariance held
    likelihood: np.ndarray  # gradient in the likelihood's theta
    value: float = 0.0
    residual: float = 0.0

    def add(self, other: Slopes) -> None:
        """Add the sums of other rows."""
        self.gram += other.gram
        self.kernel += other.kernel
        self.likelihood += other.likelihood
        self.value += other.value
        self.residual = max(self.residual, other.residual)


def slopes(
    belief: Belief, likelihood: LearntLikelihood, X: np.ndarray, y: np.ndarray,
    weights: np.ndarray, sites: np.ndarray,
) -> Slopes:  # fmt: skip
    """What rows add to EP's evidence and its gradient, at sites that the belief holds."""
    basis, kernel, M = belief.basis, belief.basis.kernel, len(belief.basis)
    adjoint = Adjoint.of(belief.factor, belief.mean, np.zeros(M))
    sums = Slopes(
        np.zeros((M, M), order="F"), np.zeros(kernel.n_theta), np.zeros(len(likelihood.theta))
    )
    for rows in basis.blocks(len(X)):
        P, _, _, s = _block(
            belief, likelihood.only(rows), X[rows], y[rows], weights[rows], sites[:, rows]
        )
        jet = _tilted(s)
        matched = _matched(s, jet)
        c = s.copies * jet.by_variance()
        F = adjoint.by_whitened(
            s.tau[:, None] * P, (2.0 * c)[:, None] * P, s.alpha, np.zeros(len(c))
        )
        sums.kernel += kernel.pullback_between(X[rows], basis.Z, basis.by_rows(F))
        sums.kernel += kernel.pullback_paired(X[rows], X[rows], c)
        sums.likelihood += s.likelihood.pull(s.y, jet, s.copies)
        sums.value += matched.value
        sums.residual = max(sums.residual, matched.gap)
        add_gram(P, 2.0 * c, sums.gram)
    return sums


def evidence(belief: Belief, sums: Slopes) -> tuple[float, np.ndarray]:
    """EP's evidence and its gradient in theta, from the sums of all rows."""
    basis = belief.basis
    adjoint = Adjoint.of(belief.factor, belief.mean, np.zeros(len(basis)))
    by_kernel = sums.kernel + basis.pullback(adjoint.inner(sums.gram))
    value = sums.value - belief.half_log_det
    return value, np.concatenate([by_kernel, sums.likelihood])


def fold(
    belief: Belief,
    likelihood: Likelihood,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    engine: str = "ep",
) -> tuple[Belief, Sums]:
    """The belief after a block of new rows, and what the block was before it was seen.

    The value of the sums is the log probability of the labels given all earlier blocks, each
    row by itself. A second visit lets the rows of the block know of each other.
    """
    sites = np.zeros((2, len(y)))
    before = visit(belief, likelihood, X, y, weights, sites, engine=engine)
    after = visit(belief.plus(before), likelihood, X, y, weights, sites, engine=engine)
    return belief.plus(after), before


def extended(belief: Belief, X: np.ndarray, count: int, tol: float) -> Belief:
    """The same belief, with points added where it says nothing about rows of ``X``.

    Rows of which more than ``tol`` of the prior variance is left become points, until there
    are ``count``. Where there are as many already, all points are chosen anew among the old
    ones and the rows.
    """
    basis, kernel = belief.basis, belief.basis.kernel
    room = count - len(basis)
    if room > 0:
        chosen, _ = greedy_points(kernel, X, room, tol, basis)
        if not len(chosen):
            return belief
        return belief.on(Basis.of(kernel, np.vstack([basis.Z, X[chosen]])))
    pool = np.vstack([basis.Z, X])
    chosen, _ = greedy_points(kernel, pool, count)
    return belief.on(Basis.of(kernel, pool[np.sort(chosen)]))


def settle(
    belief: Belief,
    likelihood: Likelihood,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    *,
    engine: str = "ep",
    tol: float | None = None,
    max_visits: int = 20,
    mapper: Callable[..., Iterable[Any]] = map,
    tell: Callable[[int, float], None] | None = None,
) -> tuple[Belief, Settled]:
    """Visit all rows until their sites settle, starting from what a model of fewer believes."""
    n = len(y)
    sites, cavities = np.zeros((2, n)), np.empty((2, n))
    parts = [slice(first, min(first + _ROWS, n)) for first in range(0, n, _ROWS)]

    def visit_all(belief: Belief) -> Sums:
        def of_part(rows: slice) -> Sums:
            return visit(
                belief, likelihood.only(rows), X[rows], y[rows], weights[rows],
                sites[:, rows], cavities[:, rows], engine,
            )  # fmt: skip

        first, *others = mapper(of_part, parts)
        for other in others:  # in the order of the rows: rounding does not depend on threads
            first.add(other)
        return first

    say = None if tell is None else partial(tell, n)
    belief, done = settle_by(
        visit_all, belief, engine=engine, tol=tol, max_visits=max_visits, tell=say
    )
    return belief, replace(done, cavity_mean=cavities[0], cavity_var=cavities[1])


def settle_seen(
    belief: Belief,
    likelihood: Likelihood,
    prior: Inducing,
    y: np.ndarray,
    weights: np.ndarray,
    *,
    engine: str = "ep",
    tell: Callable[[float], None] | None = None,
) -> tuple[Belief, Settled]:
    """Visit observations of any design, by what ``prior`` sees, until their sites settle."""
    blurred, sites = Blurred(likelihood, prior.residual), np.zeros((2, len(y)))
    left, explained = float(weights @ prior.residual), float(weights @ prior.explained)

    def visit_all(belief: Belief) -> Sums:
        # Laplace's sites ask for the mean alone, and variances are half of the work.
        needed = engine != "laplace"
        var = prior.norms(belief.factor) if needed else np.zeros(len(y))
        mean = prior.see(belief.mean)
        new = _RULES[engine](_Seen.of(blurred, y, weights, mean, var, *sites))
        sites[:] = tau, nu = belief.moved(sites, new)
        gram, shift = prior.gram(tau), prior.pull(nu)
        return Sums(gram, shift, new.value, new.gap, left, left + explained)

    return settle_by(visit_all, belief, engine=engine, tell=tell)


def settle_by(
    visit_all: Callable[[Belief], Sums],
    belief: Belief,
    *,
    engine: str = "ep",
    tol: float | None = None,
    max_visits: int = 20,
    tell: Callable[[float], None] | None = None,
) -> tuple[Belief, Settled]:
    """Visit all rows, wherever they are, until their sites settle.

    ``tol`` bounds the gap of sites and matched moments that the next visit would find. All rows
    move at once, so that with little noise they may go back and forth: where the gap grows,
    the steps are halved.
    """
    tol = _TOLERANCE[engine] if tol is None else tol
    last, before, step, halved = np.inf, np.inf, 1.0, False
    for count in range(1, max_visits + 1):
        sums = visit_all(belief)
        value = sums.value - belief.half_log_det
        if engine != "ep":
            value -= 0.5 * float(belief.mean @ belief.mean)
        if tell is not None:
            tell(value)
        # Right after a change of the step, the residual is still that of the longer one.
        halved = count > 2 and sums.residual > last and step > _SHORTEST and not halved
        step *= 0.5 if halved else 1.0
        belief = Belief(belief.basis, sums.gram, sums.shift, step=step)
        # A residual is that of the sites before the visit, and falls by at least as much again,
        # unless it rose before. Sites of the first visit are not in the belief, so its residual
        # says nothing.
        falls = max(sums.residual / last, last / before if count > 3 else 0.0)
        ahead = sums.residual * min(1.0, falls) if count > 1 else np.inf
        last, before = sums.residual, last
        if ahead < tol:
            break
    share = sums.unexplained / sums.variance
    belief = belief if step == 1.0 else replace(belief, step=1.0)
    return belief, Settled(value, share, count, bool(ahead < tol), float(ahead))
