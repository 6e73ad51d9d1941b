"""Full variational Gaussian inference.

The best Gaussian in the sense of Kullback and Leibler has sites with precision ``-E[d2 log p]``
and shifts such that ``alpha = E[d1 log p]``, expectations under itself: a fixed point that the
site loop finds (with half steps: whole ones diverge on a third of hard problems). The bound is
stationary there, so gradients need no derivative of the sites.

Opper & Archambeau (2009); as natural gradients, Khan & Lin (2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .design import Design
from .likelihoods import Jet, Likelihood
from .posterior.choose import Posterior, Prior, prior_of
from .site_loop import Approximation, Settled, settle

__all__ = ["divergence", "variational"]


@dataclass(frozen=True)
class _Visit:
    """The posterior under some sites and what the likelihood says under it."""

    posterior: Posterior  # inverted
    mean: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    var: np.ndarray
    jet: Jet  # weighted
    proposal: np.ndarray
    residual: float


def variational(
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
    """Variational posterior; ``log_evidence`` is its lower bound. Parameters as for `ep`."""
    weights = np.ones(len(y)) if weights is None else weights
    prior = prior_of(design, K, likelihood.max_precision * np.max(weights))
    noise = np.broadcast_to(likelihood.noise, len(y))
    scale = np.concatenate([noise**2, noise])  # makes sites dimensionless

    def visit(x: np.ndarray) -> _Visit:
        tau, nu = np.split(x / scale, 2)
        posterior = prior.given(tau)
        mean, alpha = posterior.moments(nu)
        posterior = posterior.inverted()
        beta, var = posterior.marginals()
        jet = likelihood.expected_log(y, mean, var).times(weights)
        proposal = np.concatenate([-jet.d2, jet.d1 - jet.d2 * mean]) * scale
        gaps = noise * np.abs(alpha - jet.d1), noise**2 * np.abs(tau + jet.d2)
        residual = float(np.max(np.maximum(*gaps) / np.maximum(weights, 1.0)))
        return _Visit(posterior, mean, alpha, beta, var, jet, proposal, residual)

    x = _first_sites(prior, likelihood, y, weights, scale) if start is None else start
    ceiling = weights * likelihood.max_precision * noise**2
    copies = np.maximum(weights, 1.0)
    settled = settle(
        visit, x, ceiling=ceiling, copies=copies, mixing=0.5, tol=tol, max_iter=max_iter
    )
    return _approximation(likelihood, y, weights, settled, scale, gradient)


def divergence(
    half_log_det: float, beta: np.ndarray, alpha: np.ndarray, mean: np.ndarray
) -> float:
    """Kullback-Leibler divergence of the posterior from the prior (eq. 13 of GPOR)."""
    return half_log_det + 0.5 * float(np.sum(beta) - len(beta) + alpha @ mean)


def _first_sites(
    prior: Prior, likelihood: Likelihood, y: np.ndarray, weights: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """EP's sites with the prior as cavity."""
    mu = np.zeros(len(y))
    jet = likelihood.log_expected(y, mu, prior.diagonal)
    tau, nu = -jet.d2 / jet.shrink, jet.d1 / jet.shrink
    return np.concatenate([weights * tau, weights * nu]) * scale


def _approximation(
    likelihood: Likelihood,
    y: np.ndarray,
    weights: np.ndarray,
    settled: Settled[_Visit],
    scale: np.ndarray,
    gradient: bool,
) -> Approximation:
    state = settled.state
    tau, nu = np.split(settled.x / scale, 2)
    copies = np.maximum(weights, 1.0)
    lam = state.var / (1.0 - (1.0 - state.beta) / copies)
    bound = float(state.jet.value.sum()) - divergence(
        state.posterior.half_log_det, state.beta, state.alpha, state.mean
    )
    ones, zero = np.ones(len(y)), np.zeros(len(y))
    d_likelihood = likelihood.pull(y, state.jet, ones)
    G = state.posterior.evidence_gradient(state.alpha, zero) if gradient else None
    return Approximation(
        tau=tau,
        nu=nu,
        mean=state.mean,
        var=state.var,
        alpha=state.alpha,
        cavity_mean=state.mean - lam * state.alpha / copies,
        cavity_var=lam,
        log_evidence=bound,
        d_kernel=G,
        d_likelihood=d_likelihood,
        jet=state.jet,
        start=settled.x,
        n_iter=settled.n_iter,
        converged=settled.converged,
        residual=state.residual,
    )
