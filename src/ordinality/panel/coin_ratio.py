"""Whether a judge follows the common order or flips a coin: a ratio of two likelihoods.

The answers of a judge are predicted one after another: from the posterior of the other judges'
answers, and from the earlier answers of this judge. Under one hypothesis the judge feels the
common utilities with r times the typical signal, r unknown; under the other each answer is a
coin flip, whatever is shown. Each answer changes the posterior by a step of rank one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..elicitation.gains import difference_variance

__all__ = ["Sites", "coin_log_ratio", "removed", "sites_of"]

# Signal of a judge over the typical one, log-normal about one.
_SIGNALS, _SPREAD = np.array([0.35, 0.5, 0.7, 1.0, 1.4, 2.0]), 0.35
_MOST = 100  # answers of one judge that are looked at: enough to tell, in 30 ms


class Sites(NamedTuple):
    """Gaussian factors of answers about pairs of items, (m,) each."""

    i: np.ndarray
    j: np.ndarray
    tau: np.ndarray  # of what an answer sees: slope times the difference
    nu: np.ndarray


def sites_of(
    mean: np.ndarray,
    cov: np.ndarray,
    slope: float,
    pair: tuple[np.ndarray, np.ndarray],
    level: np.ndarray,
    weights: np.ndarray,
    likelihood: Any,
    shift: np.ndarray | float = 0.0,
) -> Sites:
    """EP sites of answers, found from the posterior that holds them.

    A site is a fixed point of its own cavity, which the posterior and the site give. As in
    `gp.ep`, a weight above one is copies, one below is a power of the likelihood; an answer of
    weight zero has no site. ``shift`` is what the presentation adds to what each answer sees;
    it is taken as known.
    """
    i, j = pair
    # `tiny` only avoids 1 / 0, where two items are the same to the model.
    variance = np.maximum(slope**2 * difference_variance(cov, i, j), np.finfo(float).tiny)
    seen = slope * (mean[i] - mean[j]) + shift
    tau, nu = np.zeros_like(seen), np.zeros_like(seen)
    counts, copies = weights > 0.0, np.maximum(weights, 1.0)
    # Power one has closed forms, which are far faster than quadrature.
    power = np.minimum(weights, 1.0) if np.any(counts & (weights < 1.0)) else None
    for _ in range(100):
        # A cavity is at most a thousand times as wide as the posterior: beyond, rounding in the
        # difference of two near precisions would leave a negative one, and the answer alone
        # has made the posterior anyway.
        least = 1e-3 / variance
        v = 1.0 / np.maximum(1.0 / variance - tau, least)
        m = v * (seen / variance - nu)
        before = tau
        found = likelihood.log_expected(level, m, v, power).matched_site(m)
        tau, nu = (np.where(counts, x, 0.0) for x in found)
        # Four digits beyond the tolerance of EP, which left the posterior that is taken apart.
        if np.all(np.abs(tau - before) <= 1e-10 * (tau + 1.0 / variance)):
            break
    return Sites(i, j, copies * tau, copies * (nu - tau * shift))


def removed(
    mean: np.ndarray, cov: np.ndarray, slope: float, sites: Sites
) -> tuple[np.ndarray, np.ndarray]:
    """Moments of the utilities of q items with some sites taken out."""
    rows = np.arange(len(sites.i))
    A = np.zeros((len(rows), len(mean)))
    A[rows, sites.i], A[rows, sites.j] = slope, -slope
    B, b = A.T @ (sites.tau[:, None] * A), A.T @ sites.nu
    # (C^-1 - B)^-1 without C^-1, which does not exist where two items are the same.
    left = np.eye(len(mean)) - cov @ B
    solved = np.linalg.solve(left, np.column_stack([cov, mean - cov @ b]))
    return solved[:, -1], 0.5 * (solved[:, :-1] + solved[:, :-1].T)


def coin_log_ratio(
    mean: np.ndarray,
    cov: np.ndarray,
    slope: float,
    pair: tuple[np.ndarray, np.ndarray],
    level: np.ndarray,
    weights: np.ndarray,
    likelihood: Any,
    shift: np.ndarray | float = 0.0,
    side: np.ndarray | None = None,
) -> float:
    """Log likelihood of a judge as one who follows the order, less that as a coin.

    ``mean`` and ``cov`` are of the posterior without the judge's answers; ``likelihood`` is
    that of the typical judge; ``shift`` (m,) is what the presentation adds, and ``side`` (m,)
    the part of it that is this judge's liking for a side: the coin has it too.
    """
    said = np.flatnonzero(weights > 0.0)
    said = said[np.linspace(0, len(said) - 1, min(len(said), _MOST)).astype(np.intp)]
    i, j = pair[0][said], pair[1][said]
    D = cov[i] - cov[j]
    seen, between = slope * (mean[i] - mean[j]), slope**2 * (D[:, i] - D[:, j])
    # Where EP had not quite settled, taking sites out may leave a negative variance.
    values, axes = np.linalg.eigh(between)
    between = (axes * np.maximum(values, 0.0)) @ axes.T
    shift = np.broadcast_to(shift, weights.shape)[said]
    each = _log_side_ratios(seen, between, shift, level[said], weights[said], likelihood)
    x = np.log(_SIGNALS)
    log_prior = -0.5 * (x / _SPREAD) ** 2 + np.log(np.gradient(x))
    ratio = float(logsumexp(log_prior + each) - logsumexp(log_prior))
    if side is None:
        return ratio
    log_p = likelihood.log_proba(side[said], np.zeros(len(said)))
    came, turned = log_p[np.arange(len(said)), [level[said], log_p.shape[1] - 1 - level[said]]]
    return ratio - float(weights[said] @ (np.log(2.0) + came - np.logaddexp(came, turned)))


def _log_side_ratios(
    seen: np.ndarray,
    between: np.ndarray,
    shift: np.ndarray,
    level: np.ndarray,
    weights: np.ndarray,
    likelihood: Any,
) -> np.ndarray:
    """Log of 2 P(side of each answer | those before), summed, at each signal.

    ``seen`` (m,) and ``between`` (m, m) are mean and covariance of the differences that the
    answers see, beside what the presentation adds. The side alone counts, given how strong the
    answer is: a tie moves the posterior only.
    """
    r = _SIGNALS[:, None]
    mean, cov = r * seen + shift, r[:, :, None] ** 2 * between
    K, total = likelihood.n_levels, np.zeros(len(_SIGNALS))
    for t, (k, weight) in enumerate(zip(level.tolist(), weights.tolist(), strict=True)):
        m, c = mean[:, t].copy(), cov[:, t].copy()
        v = np.maximum(c[:, t], 0.0)
        came, turned = likelihood.log_proba(m, v)[:, [k, K - 1 - k]].T
        total += weight * (np.log(2.0) + came - np.logaddexp(came, turned))
        jet = likelihood.log_expected(np.full(len(m), k), m, v)
        tau, nu = (weight * x for x in jet.matched_site(m))
        shrink = 1.0 / (1.0 + tau * v)
        mean += ((nu - tau * m) * shrink)[:, None] * c
        cov -= (tau * shrink)[:, None, None] * c[:, :, None] * c[:, None, :]
    return total
