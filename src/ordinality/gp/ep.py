"""Expectation propagation for interval likelihoods.

Every site is refreshed at once from its cavity. For log-concave likelihoods the new precisions
are non-negative and at most ``likelihood.max_precision``, so the posterior stays proper without
a safeguard. Given the cavity *variances*, one parallel update is a Newton step for the means,
so the means are polished with the factor at hand (cheap) before the next factorisation (dear).

A sample weight w >= 1 is w copies of an observation, each with its own site; they are equal by
symmetry, so one of them is stored. A weight below one is the tempered factor p^w.

Minka (2001); Rasmussen & Williams (2006), section 3.6; evidence as in Chu & Ghahramani (2005).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .design import Design
from .likelihoods import Jet, Likelihood
from .posterior.choose import Posterior, Prior, prior_of
from .site_loop import Approximation, Settled, settle

__all__ = ["ep", "swept"]


_POLISH = 6  # mean-only steps per factorisation, at most


# After a factorisation the residual is a few hundredths of the last gap of the variances, so
# means need not be better than this share of it.
_ENOUGH = 0.01


_PARALLEL = 60  # visits before the sequential sweeps take over,


_SWEEPS = 30  # and how many of those, each as dear as seven visits


@dataclass(frozen=True)
class _Visit:
    """The posterior under some sites, the cavities and what the likelihood says there."""

    posterior: Posterior  # inverted
    mean: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    var: np.ndarray
    lam: np.ndarray  # cavity variance
    mu: np.ndarray  # cavity mean
    jet: Jet
    proposal: np.ndarray
    residual: float


@dataclass(frozen=True)
class _Problem:
    """Prior, likelihood and labels; sites are kept in units of the noise."""

    K: Prior
    likelihood: Likelihood
    y: np.ndarray
    copies: np.ndarray
    power: np.ndarray | None

    def sites(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Precision and shift of one copy from dimensionless x."""
        n, s = len(self.y), self.likelihood.noise
        return x[:n] / s**2, x[n:] / s

    def pack(self, tau: np.ndarray, nu: np.ndarray) -> np.ndarray:
        s = self.likelihood.noise
        return np.concatenate([tau * s**2, nu * s])

    def tilted(self, mu: np.ndarray, lam: np.ndarray) -> Jet:
        return self.likelihood.log_expected(self.y, mu, lam, self.power)

    def one_site(self, i: int, mu: float, lam: float) -> tuple[float, float]:
        """Matched precision and shift of observation i alone."""
        power = None if self.power is None else self.power[i : i + 1]
        one = self.likelihood.only(slice(i, i + 1))
        jet = one.log_expected(self.y[i : i + 1], np.array([mu]), np.array([lam]), power)
        d1, d2, shrink = jet.d1[0], jet.d2[0], jet.shrink[0]
        return -d2 / shrink, (d1 - mu * d2) / shrink

    def matched(self, mu: np.ndarray, jet: Jet) -> np.ndarray:
        """Sites that give the tilted moments (MATH: tau = hh / (1 - lam hh))."""
        return self.pack(-jet.d2 / jet.shrink, (jet.d1 - mu * jet.d2) / jet.shrink)


def ep(
    K: np.ndarray,
    design: Design,
    likelihood: Likelihood,
    y: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    gradient: bool = True,
) -> Approximation:
    """Expectation propagation, its evidence and the exact gradient."""
    weights = np.ones(len(y)) if weights is None else weights
    power = np.minimum(weights, 1.0) if np.any(weights < 1.0) else None
    copies = np.maximum(weights, 1.0)
    prior = prior_of(design, K, likelihood.max_precision * np.max(copies))
    problem = _Problem(prior, likelihood, y, copies, power)
    x = _first_sites(problem) if start is None else start
    ceiling = np.broadcast_to(likelihood.max_precision * likelihood.noise**2, len(y))

    def visit(x: np.ndarray) -> _Visit:
        return _visit(problem, x, tol)

    parallel = min(max_iter, _PARALLEL)
    settled = settle(
        visit, x, ceiling=ceiling, copies=problem.copies, mixing=1.0, tol=tol, max_iter=parallel
    )
    if not settled.converged and max_iter > parallel:
        sweeps = min(max_iter - parallel, _SWEEPS)
        settled = _sequential(problem, visit, settled, tol, sweeps)
    return _approximation(problem, settled, gradient)


def _first_sites(problem: _Problem) -> np.ndarray:
    """Sites matched to the prior as cavity: one free update without a factorisation."""
    lam = problem.K.diagonal
    mu = np.zeros(len(lam))
    return problem.matched(mu, problem.tilted(mu, lam))


def _visit(problem: _Problem, x: np.ndarray, tol: float) -> _Visit:
    """Condition on the sites, leave each out in turn, match moments."""
    c = problem.copies
    tau, nu = problem.sites(x)
    posterior = problem.K.given(c * tau)
    mean, alpha = posterior.moments(c * nu)
    posterior = posterior.inverted()
    beta, var = posterior.marginals()
    lam = var / (1.0 - (1.0 - beta) / c)
    mu = mean - lam * alpha / c
    jet = problem.tilted(mu, lam)
    width2 = problem.likelihood.noise**2 + lam
    gap_mean = np.max(np.sqrt(width2) * np.abs(alpha / c - jet.d1))
    gap_var = np.max(width2 * np.abs(tau * (1.0 - (1.0 - beta) / c) + jet.d2))
    residual = float(max(gap_mean, gap_var))
    visit = _Visit(posterior, mean, alpha, beta, var, lam, mu, jet, x, residual)
    enough = max(_ENOUGH * float(gap_var), 0.1 * tol)
    mu, jet = _polished(problem, visit, tau, np.sqrt(width2), enough)
    return replace(visit, proposal=problem.matched(mu, jet))


def _polished(
    problem: _Problem, visit: _Visit, tau: np.ndarray, width: np.ndarray, enough: float
) -> tuple[np.ndarray, Jet]:
    """Newton steps for the means with cavity variances and the factor held."""
    c, lam = problem.copies, visit.lam
    mean, alpha, mu, jet = visit.mean, visit.alpha, visit.mu, visit.jet
    gap = np.max(width * np.abs(jet.d1 - alpha / c))
    for _ in range(_POLISH):
        pull = (1.0 + tau * lam) * (jet.d1 - alpha / c)
        d_mean, d_alpha = visit.posterior.moments(c * pull)
        new_mean, new_alpha = mean + d_mean, alpha + d_alpha
        new_mu = new_mean - lam * new_alpha / c
        new_jet = problem.tilted(new_mu, lam)
        new_gap = np.max(width * np.abs(new_jet.d1 - new_alpha / c))
        if not new_gap < 0.5 * gap:
            break
        mean, alpha, mu, jet, gap = new_mean, new_alpha, new_mu, new_jet, new_gap
        if gap < enough:
            break
    return mu, jet


def _sequential(
    problem: _Problem,
    visit: Callable[[np.ndarray], _Visit],
    settled: Settled[_Visit],
    tol: float,
    max_sweeps: int,
) -> Settled[_Visit]:
    """Sweeps of one site after another, for the rare problem on which all at once cycles."""
    best, x = settled, settled.x
    for sweep in range(1, max_sweeps + 1):
        x = problem.pack(*swept(problem.K, problem.copies, *problem.sites(x), problem.one_site))
        state = visit(x)
        if state.residual < best.state.residual:
            best = Settled(state, x, settled.n_iter + sweep, state.residual < tol)
        if best.converged:
            return best
    return Settled(visit(best.x), best.x, settled.n_iter + max_sweeps, converged=False)


def _approximation(
    problem: _Problem, settled: Settled[_Visit], gradient: bool
) -> Approximation:
    c, visit = problem.copies, settled.state
    tau, nu = problem.sites(settled.x)
    terms = visit.jet.value + 0.5 * np.log1p(tau * visit.lam) - 0.5 * visit.alpha / c * visit.mu
    log_evidence = float(np.sum(c * terms)) - visit.posterior.half_log_det
    zero = np.zeros(len(c))
    G = visit.posterior.evidence_gradient(visit.alpha, zero) if gradient else None
    return Approximation(
        tau=c * tau,
        nu=c * nu,
        mean=visit.mean,
        var=visit.var,
        alpha=visit.alpha,
        cavity_mean=visit.mu,
        cavity_var=visit.lam,
        log_evidence=log_evidence,
        d_kernel=G,
        d_likelihood=problem.likelihood.pull(problem.y, visit.jet, c),
        jet=visit.jet,
        start=visit.proposal,  # a step on from where it settled, for it costs next to nothing
        n_iter=settled.n_iter,
        converged=settled.converged,
        residual=visit.residual,
    )


# ----------------------------------------------------------------
# One sweep of sequential expectation propagation, by blocks.
#
# Sites are refreshed one after another, each seeing the ones before it. Within a block of 64
# the rank-one updates touch the block only; the rest of the covariance follows with two matrix
# products, which gives the iterates of site-by-site EP at matrix-product speed.


_BLOCK = 64


_Match = Callable[[int, float, float], tuple[float, float]]


def swept(
    prior: Prior, copies: np.ndarray, tau: np.ndarray, nu: np.ndarray, match: _Match
) -> tuple[np.ndarray, np.ndarray]:
    """Sites of one copy of each observation after a sweep over all of them."""
    mean, cov = prior.given(copies * tau).latent(copies * nu)
    tau, nu = tau.copy(), nu.copy()
    for first in range(0, len(tau), _BLOCK):
        block = np.arange(first, min(first + _BLOCK, len(tau)))
        view = prior.view(block)
        outer = view(cov).T  # covariance with what the block sees
        inner, local_mean = view(outer), view(mean)
        d_tau, d_nu = _swept_block(
            block, inner.copy(), local_mean.copy(), copies, tau, nu, match
        )
        middle = np.eye(len(block)) + d_tau[:, None] * inner
        mean = mean + outer @ np.linalg.solve(middle, d_nu - d_tau * local_mean)
        cov = cov - outer @ np.linalg.solve(middle, d_tau[:, None] * outer.T)
    return tau, nu


def _swept_block(
    block: np.ndarray,
    cov: np.ndarray,
    mean: np.ndarray,
    copies: np.ndarray,
    tau: np.ndarray,
    nu: np.ndarray,
    match: _Match,
) -> tuple[np.ndarray, np.ndarray]:
    """Refresh the sites of a block in place; the changes of their totals."""
    d_tau, d_nu = np.zeros(len(block)), np.zeros(len(block))
    for j, i in enumerate(block):
        # Next to sites 1e9 times as sharp, updates leave nothing but rounding of a variance,
        # which may be negative. Such an observation keeps its site until the next sweep.
        left = 1.0 - tau[i] * cov[j, j]
        if not (cov[j, j] > 0.0 and left > 0.0):
            continue
        lam = cov[j, j] / left
        mu = mean[j] - lam * (nu[i] - tau[i] * mean[j])
        new_tau, new_nu = match(i, mu, lam)
        d_tau[j], d_nu[j] = copies[i] * (new_tau - tau[i]), copies[i] * (new_nu - nu[i])
        column, denominator = cov[:, j].copy(), 1.0 + d_tau[j] * cov[j, j]
        if not denominator > 0.0:
            d_tau[j] = d_nu[j] = 0.0
            continue
        tau[i], nu[i] = new_tau, new_nu
        mean += (d_nu[j] - d_tau[j] * mean[j]) / denominator * column
        cov -= d_tau[j] / denominator * np.outer(column, column)
    return d_tau, d_nu
