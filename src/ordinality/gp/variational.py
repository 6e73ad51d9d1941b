"""Full variational Gaussian inference.

The best Gaussian in the sense of Kullback and Leibler has sites with precision ``-E[d2 log p]``
and shifts such that ``alpha = E[d1 log p]``, expectations under itself: a fixed point, found by
`iterate` (with half steps: whole ones diverge on a third of hard problems). The bound is
stationary there, so gradients need no derivative of the sites.

Opper & Archambeau (2009); as natural gradients, Khan & Lin (2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .likelihoods import Jet, Likelihood
from .posterior.choose import Posterior, Prior
from .site_loop import Approximation, FixedPoint, iterate

__all__ = ["divergence", "variational"]


def variational(
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
    """Variational posterior; ``log_evidence`` is its lower bound. Parameters as for `ep`.

    ``tol`` bounds the dimensionless gap between sites and expectations.
    """
    weights = np.ones(len(y)) if weights is None else weights
    noise = np.broadcast_to(likelihood.noise, len(y))
    scale = np.concatenate([noise**2, noise])  # makes sites dimensionless

    def update(x: np.ndarray) -> _Expectations:
        tau, nu = np.split(x / scale, 2)
        posterior = prior.given(tau)
        mean, alpha = posterior.moments(nu)
        posterior = posterior.inverted()
        beta, var = posterior.marginals()
        jet = likelihood.expected_log(y, mean, var).times(weights)
        proposal = np.concatenate([-jet.d2, jet.d1 - jet.d2 * mean]) * scale
        gaps = noise * np.abs(alpha - jet.d1), noise**2 * np.abs(tau + jet.d2)
        residual = float(np.max(np.maximum(*gaps) / np.maximum(weights, 1.0)))
        return _Expectations(posterior, mean, alpha, beta, var, jet, proposal, residual)

    if start is None:  # EP's sites with the prior as cavity
        zero = np.zeros(len(y))
        tau, nu = likelihood.log_expected(y, zero, prior.diagonal).matched_site(zero)
        start = np.concatenate([weights * tau, weights * nu]) * scale
    ceiling = weights * likelihood.max_precision * noise**2
    copies = np.maximum(weights, 1.0)
    found = iterate(
        update, start, ceiling=ceiling, copies=copies, mixing=0.5, tol=tol, max_iter=max_iter
    )
    return _approximation(likelihood, y, copies, found, scale, gradient)


def divergence(
    half_log_det: float, beta: np.ndarray, alpha: np.ndarray, mean: np.ndarray
) -> float:
    """Kullback-Leibler divergence of the posterior from the prior (eq. 13 of GPOR)."""
    return half_log_det + 0.5 * float(np.sum(beta) - len(beta) + alpha @ mean)


@dataclass(frozen=True)
class _Expectations:
    """The posterior under some sites, and the expected log-likelihood under it."""

    posterior: Posterior  # inverted
    mean: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    var: np.ndarray
    jet: Jet  # weighted
    proposal: np.ndarray
    residual: float


def _approximation(
    likelihood: Likelihood,
    y: np.ndarray,
    copies: np.ndarray,
    found: FixedPoint[_Expectations],
    scale: np.ndarray,
    gradient: bool,
) -> Approximation:
    state = found.state
    tau, nu = np.split(found.x / scale, 2)
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
        d_variance=0.5 * state.jet.d2,
        jet=state.jet,
        start=found.x,
        n_iter=found.n_iter,
        converged=found.converged,
        residual=state.residual,
    )
