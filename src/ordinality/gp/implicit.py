"""Exact gradients of criteria that are not stationary in the sites.

The evidence of EP and the variational bound need no derivative of the sites. The paper's bound
(eq. 13) at the EP posterior and the leave-one-out score do: when a parameter moves, the fixed
point moves with it. Writing the move of the sites of one observation as a linear map of the
move of its marginal moments,

    d(tau_i, eta_i) = D_i d(mean_i, var_i) + parameters,      eta_i: shift seen at the mean,
    d mean = Cov d eta + A dK alpha,                          A = Cov K^-1,
    d var  = -(Cov o Cov) d tau + diag(A dK A'),

one linear system, solved for the adjoint, gives the gradient in every parameter at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from .inference import Approximation
from .likelihoods import Jet, Likelihood
from .posterior import factorise
from .variational import divergence

__all__ = ["Criterion", "bound", "leave_one_out"]


@dataclass(frozen=True)
class Criterion:
    """A model-selection criterion and its gradients."""

    value: float
    d_kernel: np.ndarray
    d_likelihood: np.ndarray


@dataclass(frozen=True)
class _Response:
    """How the site (tau, eta) of an observation moves: with its moments, and with (d1, d2)."""

    moments: np.ndarray  # (2, 2, n)
    views: np.ndarray  # (2, 2, n)


def leave_one_out(
    engine: str,
    K: np.ndarray,
    likelihood: Likelihood,
    y: np.ndarray,
    weights: np.ndarray,
    approximation: Approximation,
) -> Criterion:
    """Sum of log probabilities of each level given all the others, from the cavities."""
    a = approximation
    copies, lam = np.maximum(weights, 1.0), a.cavity_var
    jet = likelihood.log_expected(y, a.cavity_mean, lam)
    grow = 1.0 + a.tau / copies * lam  # = lam / var
    slope = weights * (0.5 * (jet.d1**2 + jet.d2) - jet.d1 * a.alpha / copies)
    by_moments = np.stack([weights * jet.d1 * grow, slope * grow**2])
    by_sites = np.stack([slope * lam**2, -weights * jet.d1 * lam]) / copies
    direct = likelihood.pull(y, jet, weights)
    return _total(
        engine,
        K,
        likelihood,
        y,
        weights,
        a,
        float(weights @ jet.value),
        np.zeros_like(K),
        direct,
        by_moments,
        by_sites,
    )


def bound(
    engine: str,
    K: np.ndarray,
    likelihood: Likelihood,
    y: np.ndarray,
    weights: np.ndarray,
    approximation: Approximation,
) -> Criterion:
    """The variational lower bound at the posterior of any engine (eq. 13 of GPOR)."""
    a = approximation
    factor = factorise(K, a.tau).inverted()
    beta = factor.inverse_diagonal()
    jet = likelihood.expected_log(y, a.mean, a.var).times(weights)
    value = float(jet.value.sum()) - divergence(factor.half_log_det, beta, a.alpha, a.mean)
    by_moments = np.stack([jet.d1 - a.alpha, 0.5 * (jet.d2 + a.tau)])
    zero = np.zeros(len(y))
    direct = likelihood.pull(y, jet, np.ones(len(y)))
    frozen = factor.evidence_gradient(a.alpha, zero)
    return _total(
        engine,
        K,
        likelihood,
        y,
        weights,
        a,
        value,
        frozen,
        direct,
        by_moments,
        np.zeros_like(by_moments),
    )


def _total(
    engine: str,
    K: np.ndarray,
    likelihood: Likelihood,
    y: np.ndarray,
    weights: np.ndarray,
    a: Approximation,
    value: float,
    G: np.ndarray,
    direct: np.ndarray,
    by_moments: np.ndarray,
    by_sites: np.ndarray,
) -> Criterion:
    """Add to the direct derivatives what flows through the fixed point."""
    response = _RESPONSES[engine](a, weights)
    cov = factorise(K, a.tau).covariance(K)
    adjoint = _adjoint(response, cov, by_moments, by_sites)
    on_mean, on_var = adjoint
    on_sites = by_sites + _through_covariance(cov, adjoint)
    pulled = on_mean - a.tau * (cov @ on_mean)  # A' on_mean
    A = -cov * a.tau
    A[np.diag_indices_from(A)] += 1.0
    cross = 0.5 * np.outer(pulled, a.alpha)
    G = G + cross + cross.T + A.T @ (on_var[:, None] * A)
    w1, w2 = np.einsum("svn,sn->vn", response.views, on_sites)
    flow = likelihood.pull(y, a.jet, np.zeros(len(y)), w1, w2)
    return Criterion(value, G, direct + flow)


def _adjoint(
    response: _Response, cov: np.ndarray, by_moments: np.ndarray, by_sites: np.ndarray
) -> np.ndarray:
    """Solve ``adj = by_moments + D' (by_sites + Pi' adj)`` for the adjoint of (mean, var)."""
    shape, size = by_moments.shape, by_moments.size

    def back(sites: np.ndarray) -> np.ndarray:
        return np.einsum("smn,sn->mn", response.moments, sites)

    def residual_map(flat: np.ndarray) -> np.ndarray:
        adj = flat.reshape(shape)
        return (adj - back(_through_covariance(cov, adj))).ravel()

    rhs = (by_moments + back(by_sites)).ravel()
    operator = LinearOperator((size, size), matvec=residual_map, dtype=float)
    solution, info = gmres(
        operator, rhs, rtol=1e-12, atol=0.0, restart=min(size, 100), maxiter=5
    )
    if info != 0:  # rare: the iteration it linearises hardly contracts
        dense = np.stack([residual_map(e) for e in np.eye(size)], axis=1)
        solution = np.linalg.solve(dense, rhs)
    return solution.reshape(shape)


def _through_covariance(cov: np.ndarray, adjoint: np.ndarray) -> np.ndarray:
    """Adjoint of (tau, eta) from the adjoint of (mean, var)."""
    on_mean, on_var = adjoint
    return np.stack([-np.einsum("ij,ij,i->j", cov, cov, on_var), cov @ on_mean])


def _from_expectations(jet: Jet, with_variance: bool) -> _Response:
    """Sites ``tau = -L'', alpha = L'`` of a weighted view L(mean, var) with dL/dvar = L''/2."""
    zero, one = np.zeros_like(jet.d1), np.ones_like(jet.d1)
    half = 0.5 if with_variance else 0.0
    moments = np.array([[-jet.d3, -half * jet.d4], [zero, half * jet.d3]])
    return _Response(moments, np.array([[zero, -one], [one, zero]]))


def _from_matching(a: Approximation, weights: np.ndarray) -> _Response:
    """EP: moments of the tilted density match those of the posterior.

    In terms of the cavity, with mu' = mean shift plus d1 times variance shift,
    ``M d(mu', lam) = d(mean, var) - (lam d1, lam^2 d2)`` and ``d(tau, eta) = N d(mu', lam) +
    ...``.
    """
    jet, lam, copies = a.jet, a.cavity_var, np.maximum(weights, 1.0)
    shrink, zero = jet.shrink, np.zeros_like(lam)
    M = np.array(
        [[shrink, 0.5 * lam * jet.d3], [lam**2 * jet.d3, shrink**2 + 0.5 * lam**2 * jet.d4]]
    )
    N = np.array(
        [[-jet.d3 / shrink**2, -0.5 * jet.d4 / shrink**2], [zero, 0.5 * jet.d3 / shrink]]
    )
    inverse = np.array([[M[1, 1], -M[0, 1]], [-M[1, 0], M[0, 0]]])
    inverse = inverse / (M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0])
    moments = np.einsum("abn,bcn->acn", N, inverse)
    views = -moments * np.stack([lam, lam**2])[None]
    views[1, 0] += 1.0 / shrink
    views[0, 1] -= 1.0 / shrink**2
    return _Response(copies * moments, copies * views)


_RESPONSES = {
    "laplace": lambda a, weights: _from_expectations(a.jet, with_variance=False),
    "variational": lambda a, weights: _from_expectations(a.jet, with_variance=True),
    "ep": _from_matching,
}
