"""Expectation propagation for interval likelihoods.

Every site is refreshed at once from its cavity. For log-concave likelihoods the new precisions
are non-negative and at most ``likelihood.max_precision``, so the posterior stays proper without
a safeguard. Given the cavity *variances*, one parallel update is a Newton step for the means,
so the means are iterated with the old factor (cheap) before the next factorisation
(expensive).

On rare problems parallel updates cycle. There sites are refreshed one after another, each
seeing the ones before it, by blocks of 64: rank-one updates within the block, then two matrix
products for the rest of the covariance.

A sample weight w >= 1 is w copies of an observation, each with its own site; they are equal by
symmetry, so one of them is stored. A weight below one is the tempered factor p^w.

Minka (2001); Rasmussen & Williams (2006), section 3.6; evidence as in Chu & Ghahramani (2005).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .likelihoods import Jet, Likelihood
from .posterior.choose import Posterior, Prior
from .site_loop import Approximation, FixedPoint, iterate

__all__ = ["ep", "evidence_terms", "swept"]

_MEAN_STEPS = 6  # per factorisation, at most
# After a factorisation the residual is a few hundredths of the last gap of the variances, so
# means need not be better than this share of it.
_ENOUGH = 0.01

_PARALLEL = 60  # parallel updates before sequential sweeps take over,
_SWEEPS = 30  # and how many of those, each at the price of seven updates
_BLOCK = 64


def ep(
    prior: Prior,
    likelihood: Likelihood,
    y: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    gradient: bool = True,
) -> Approximation:
    """Expectation propagation, its evidence and the exact gradient.

    ``start`` is that of an earlier `Approximation`. ``tol`` bounds the dimensionless gap of
    site and tilted moments: the gradient's error is of this order, the evidence's of its
    square. ``max_iter`` counts factorisations.
    """
    weights = np.ones(len(y)) if weights is None else weights
    power = np.minimum(weights, 1.0) if np.any(weights < 1.0) else None
    copies, noise = np.maximum(weights, 1.0), likelihood.noise
    scale = np.concatenate([np.broadcast_to(s, len(y)) for s in (noise**2, noise)])
    rule = _MomentMatching(prior, likelihood, y, copies, power, scale, tol)
    if start is None:  # matched to the prior as cavity: an update without a factorisation
        zero = np.zeros(len(y))
        jet = likelihood.log_expected(y, zero, prior.diagonal, power)
        start = scale * np.concatenate(jet.matched_site(zero))
    ceiling = np.broadcast_to(likelihood.max_precision * noise**2, len(y))
    parallel = min(max_iter, _PARALLEL)
    found = iterate(
        rule.update, start, ceiling=ceiling, copies=copies, mixing=1.0, tol=tol,
        max_iter=parallel,
    )  # fmt: skip
    if not found.converged and max_iter > parallel:
        found = rule.sequential(found, min(max_iter - parallel, _SWEEPS))
    return rule.approximation(found, gradient)


@dataclass(frozen=True)
class _Update:
    """The posterior under some sites, the cavities, and where the sites should move."""

    posterior: Posterior  # inverted
    mean: np.ndarray
    alpha: np.ndarray
    var: np.ndarray
    mu: np.ndarray  # cavity mean
    lam: np.ndarray  # cavity variance
    jet: Jet  # of the likelihood over the cavities
    proposal: np.ndarray
    residual: float


@dataclass(frozen=True)
class _MomentMatching:
    """EP's rule for the sites, kept dimensionless as ``x = scale * (tau, nu)`` of one copy."""

    prior: Prior
    likelihood: Likelihood
    y: np.ndarray
    copies: np.ndarray
    power: np.ndarray | None
    scale: np.ndarray  # (2 n,), noise**2 and noise
    tol: float

    def update(self, x: np.ndarray) -> _Update:
        """Condition on the sites, leave each out in turn, match moments."""
        c = self.copies
        tau, nu = np.split(x / self.scale, 2)
        posterior = self.prior.given(c * tau)
        mean, alpha = posterior.moments(c * nu)
        posterior = posterior.inverted()
        beta, var = posterior.marginals()
        lam = var / (1.0 - (1.0 - beta) / c)
        mu = mean - lam * alpha / c
        jet = self.likelihood.log_expected(self.y, mu, lam, self.power)
        width2 = self.likelihood.noise**2 + lam
        gap_mean = np.max(np.sqrt(width2) * np.abs(alpha / c - jet.d1))
        gap_var = np.max(width2 * np.abs(tau * (1.0 - (1.0 - beta) / c) + jet.d2))
        residual = float(max(gap_mean, gap_var))
        here = _Update(posterior, mean, alpha, var, mu, lam, jet, x, residual)
        enough = max(_ENOUGH * float(gap_var), 0.1 * self.tol)
        mu, jet = self._improved_means(here, tau, np.sqrt(width2), enough)
        return replace(here, proposal=self.scale * np.concatenate(jet.matched_site(mu)))

    def _improved_means(
        self, here: _Update, tau: np.ndarray, width: np.ndarray, enough: float
    ) -> tuple[np.ndarray, Jet]:
        """Cavity means and jets after Newton steps with cavity variances and factor held."""
        c, lam = self.copies, here.lam
        mean, alpha, mu, jet = here.mean, here.alpha, here.mu, here.jet
        gap = np.max(width * np.abs(jet.d1 - alpha / c))
        for _ in range(_MEAN_STEPS):
            shift = (1.0 + tau * lam) * (jet.d1 - alpha / c)
            d_mean, d_alpha = here.posterior.moments(c * shift)
            new_mean, new_alpha = mean + d_mean, alpha + d_alpha
            new_mu = new_mean - lam * new_alpha / c
            new_jet = self.likelihood.log_expected(self.y, new_mu, lam, self.power)
            new_gap = np.max(width * np.abs(new_jet.d1 - new_alpha / c))
            if not new_gap < 0.5 * gap:
                break
            mean, alpha, mu, jet, gap = new_mean, new_alpha, new_mu, new_jet, new_gap
            if gap < enough:
                break
        return mu, jet

    def sequential(self, found: FixedPoint[_Update], max_sweeps: int) -> FixedPoint[_Update]:
        """Sweeps of one site after another, for problems on which parallel updates cycle."""
        best, x = found, found.x
        for sweep in range(1, max_sweeps + 1):
            tau, nu = np.split(x / self.scale, 2)
            sites = swept(self.prior, self.copies, tau, nu, self._matched_alone)
            x = self.scale * np.concatenate(sites)
            state = self.update(x)
            if state.residual < best.state.residual:
                best = FixedPoint(state, x, found.n_iter + sweep, state.residual < self.tol)
            if best.converged:
                return best
        return FixedPoint(
            self.update(best.x), best.x, found.n_iter + max_sweeps, converged=False
        )

    def _matched_alone(self, i: int, mu: float, lam: float) -> tuple[float, float]:
        """Matched precision and shift of observation i alone."""
        power = None if self.power is None else self.power[i : i + 1]
        one = self.likelihood.only(slice(i, i + 1))
        jet = one.log_expected(self.y[i : i + 1], np.array([mu]), np.array([lam]), power)
        (tau,), (nu,) = jet.matched_site(mu)
        return tau, nu

    def approximation(self, found: FixedPoint[_Update], gradient: bool) -> Approximation:
        """The result, with the evidence and its gradient; overwrites the posterior."""
        c, s = self.copies, found.state
        tau, nu = np.split(found.x / self.scale, 2)
        terms = evidence_terms(s.jet, tau, s.alpha / c, s.mu, s.lam)
        d_likelihood = self.likelihood.pull(self.y, s.jet, c)
        d_variance = c * s.jet.by_variance()
        log_evidence = float(np.sum(c * terms)) - s.posterior.half_log_det
        zero = np.zeros(len(c))
        return Approximation(
            tau=c * tau,
            nu=c * nu,
            mean=s.mean,
            var=s.var,
            alpha=s.alpha,
            cavity_mean=s.mu,
            cavity_var=s.lam,
            log_evidence=log_evidence,
            d_kernel=s.posterior.evidence_gradient(s.alpha, zero) if gradient else None,
            d_likelihood=d_likelihood,
            d_variance=d_variance,
            jet=s.jet,
            start=s.proposal,  # one step further than x, at next to no cost
            n_iter=found.n_iter,
            converged=found.converged,
            residual=s.residual,
        )


def evidence_terms(
    jet: Jet, tau: np.ndarray, alpha: np.ndarray, mu: np.ndarray, lam: np.ndarray
) -> np.ndarray:
    """Terms whose sum, less half the log determinant of B, is EP's evidence.

    ``jet`` is that of the likelihood integrated over the cavities N(mu, lam).
    """
    return jet.value + 0.5 * np.log1p(tau * lam) - 0.5 * alpha * mu


_Match = Callable[[int, float, float], tuple[float, float]]


def swept(
    prior: Prior, copies: np.ndarray, tau: np.ndarray, nu: np.ndarray, match: _Match
) -> tuple[np.ndarray, np.ndarray]:
    """Sites of one copy of each observation after a sweep over all of them.

    ``match`` maps (observation, cavity mean, cavity variance) to its (precision, shift).
    """
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
        # Next to sites 1e9 times as precise, updates leave nothing but rounding of a variance,
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
