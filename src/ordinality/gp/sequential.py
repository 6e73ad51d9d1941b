"""One sweep of sequential expectation propagation, by blocks.

Sites are refreshed one after another, each seeing the ones before it. Within a block of 64 the
rank-one updates touch the block only; the rest of the covariance follows with two matrix
products, which gives the iterates of site-by-site EP at matrix-product speed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .forms import Prior

__all__ = ["swept"]

_BLOCK = 64
_Match = Callable[[int, float, float], tuple[float, float]]


def swept(
    prior: Prior, copies: np.ndarray, tau: np.ndarray, nu: np.ndarray, match: _Match
) -> tuple[np.ndarray, np.ndarray]:
    """Sites of one copy of each observation after a sweep over all of them.

    Parameters
    ----------
    prior : Prior
        Of what the observations see.
    copies : ndarray of shape (n,)
        How often each site counts.
    tau, nu : ndarray of shape (n,)
        Sites before.
    match : callable
        Maps (observation, cavity mean, cavity variance) to the matched (precision, shift).
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
