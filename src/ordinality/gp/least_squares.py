"""Probabilistic least squares: regression on the ranks, followed by an ordinal link.

Ranks are taken as numbers ``t`` (centred at zero) and a Gaussian process is fitted to them with
Gaussian noise, which needs no approximation. The mean and variance of that regression at an
input then pass through the ordinal likelihood, with a slope and thresholds of its own, to give
probabilities (eq. 9 of PLSOR). All parameters are learnt by the leave-one-out
log probability (eq. 11), for which one factorisation is enough:

    Q = (K + noise^2 I)^-1,    mean_i = t_i - (Q t)_i / Q_ii,    var_i = 1 / Q_ii   (12, 13)

*One convention for the variance*: it is always that of a noisy rank, ``noise^2`` included, here
as in prediction. (The paper's eq. 13 includes it and its eq. 5 does not; a slope learnt with
the one and used with the other is too steep.)

*One scale*: thresholds stand between the ranks on the ranks' own scale and ``likelihood.noise``
is one over the slope, so that the paper's are ``alpha = -slope``, ``beta = slope thresholds``;
the sign of the slope cannot come out wrong.

*Weights*: a row of weight w stands for w equal rows of which one is left out at a time.

Srijith, Shevade & Sundararajan (2012), "A probabilistic least squares approach to ordinal
regression"; the moments are Sundararajan & Keerthi's (2001).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas, lapack

from .._compile import loop
from ..kernels.base import Kernel, scratch, widened
from .hyperpriors import Hyperprior
from .likelihoods import Ordinal
from .posterior.observations import Predictor, factorise

__all__ = ["LeastSquares", "Score"]

# Below exp(-4.5) = 1/90 of a rank the noise no longer matters to a probability, and without it
# the regression could not be factorised.
_NOISE_BOX = (-4.5, 3.0)
_PANEL = 128  # columns at a time: they stay in the cache between being made and multiplied


@dataclass(frozen=True)
class Score:
    """Leave-one-out log probability (plus log prior) at one theta, with its gradient."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray
    criterion: float
    mean: np.ndarray  # (n,) leave-one-out moments
    var: np.ndarray
    start: None = None  # nothing iterates, so there is nothing to start from

    @property
    def converged(self) -> bool:
        """Whether the engine met its tolerance: nothing iterates."""
        return True

    @property
    def credible(self) -> bool:
        """Whether the criterion can be trusted: it is exact."""
        return True


@dataclass(frozen=True)
class LeastSquares:
    """Ranks, inputs and model: the leave-one-out criterion as a function of theta.

    ``theta = [log kernel parameters, log noise, -log slope, first threshold, log gaps]``.
    """

    X: np.ndarray
    y: np.ndarray  # ranks from 0
    weights: np.ndarray  # positive
    kernel: Kernel
    noise: float  # standard deviation of a rank about the regression
    likelihood: Ordinal  # thresholds between ranks; its noise is 1 / slope
    centre: float  # prior mean of a rank
    prior: Hyperprior | None = None

    @property
    def theta(self) -> np.ndarray:
        """Free parameters."""
        return np.concatenate([self.kernel.theta, [np.log(self.noise)], self.likelihood.theta])

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each entry of theta is."""
        _, *thresholds = self.likelihood.theta_kinds
        return (*self.kernel.theta_kinds, "noise", "slope", *thresholds)

    @property
    def box(self) -> np.ndarray:
        """Bounds of the search for theta, shape (p, 2)."""
        noise = widened([_NOISE_BOX], np.array([np.log(self.noise)]))
        return np.concatenate([self.kernel.bounds, noise, self.likelihood.bounds])

    def model(self, theta: np.ndarray) -> tuple[Kernel, float, Ordinal]:
        """Kernel, noise and link at theta."""
        k = self.kernel.n_theta
        likelihood = self.likelihood.with_theta(theta[k + 1 :])
        return self.kernel.with_theta(theta[:k]), float(np.exp(theta[k])), likelihood

    @property
    def effort(self) -> float:
        """Rows of the matrices that an evaluation works on."""
        return len(self.y)

    def subset(self, index: np.ndarray) -> LeastSquares:
        """The same problem on some of the rows."""
        X = self.X[np.ix_(index, index)] if self.kernel.inputs == "gram" else self.X[index]
        return replace(self, X=X, y=self.y[index], weights=self.weights[index])

    @property
    def support(self) -> np.ndarray:
        """Inputs with which covariances are taken for prediction."""
        return self.X

    def near(self, theta: np.ndarray) -> LeastSquares:
        """The same problem, prepared for a search near theta."""
        return self

    def gauge(self, theta: np.ndarray) -> np.ndarray:
        """No direction: targets are numbers, which fix level and scale."""
        return np.zeros((len(theta), 0))

    def rough(self, tol: float) -> LeastSquares:
        """The same problem: nothing iterates, so no tolerance can be loosened."""
        return self

    def evaluate(self, theta: np.ndarray, start: None = None) -> Score:
        """Leave-one-out log probability, log prior and gradient: eq. 11, signs reversed."""
        kernel, noise, likelihood = self.model(theta)
        K, t, w = kernel.lower(self.X), self.y - self.centre, self.weights
        factor = factorise(K, w / noise**2, out=scratch(len(t), "factor"))
        sq = factor.sq
        inverse, _ = lapack.dlauum(factor.inverted().upper, overwrite_c=1)  # Q = sq B^-1 sq
        solution = sq * blas.dsymv(1.0, inverse, sq * t)
        diagonal = sq**2 * np.diagonal(inverse)
        out = _left_out_moments(t, w, solution, diagonal, noise**2)
        mean = out.mean + self.centre
        jet = likelihood.log_expected(self.y, mean, out.var)
        value = float(w @ jet.value)
        d_mean = w * jet.d1
        # The heat equation: a derivative in the variance is half a second one in the mean.
        d_var = 0.5 * (d_mean * jet.d1 + w * jet.d2)
        on_diagonal = d_mean * out.by_diagonal[0] + d_var * out.by_diagonal[1]
        G = _kernel_gradient(inverse, sq, solution, on_diagonal, -d_mean * out.lever)
        if not kernel.own_derivative:  # that would read one triangle only
            _mirror(G)
        d_noise = np.diagonal(G) @ (1.0 / w)
        if out.by_noise is not None:
            d_noise += d_mean @ out.by_noise[0] + d_var @ out.by_noise[1]
        gradient = np.concatenate(
            [
                kernel.pullback(self.X, G, K),
                [2.0 * noise**2 * d_noise],
                likelihood.pull(self.y, jet, w),
            ]
        )
        total = value
        if self.prior is not None:
            total += self.prior.value(theta)
            gradient += self.prior.gradient(theta)
        return Score(theta, total, gradient, value, mean, out.var)

    def predictor(self, theta: np.ndarray) -> Predictor:
        """Regression on the centred ranks (eqs. 4 and 5), for the latent at new inputs."""
        kernel, noise, _ = self.model(theta)
        tau = self.weights / noise**2
        return Predictor.from_sites(kernel(self.X), tau, tau * (self.y - self.centre))


@dataclass(frozen=True)
class _LeaveOneOut:
    """Moments of every rank given the others, and how they move with Q and with the noise."""

    mean: np.ndarray  # (n,)
    var: np.ndarray  # (n,)
    lever: np.ndarray  # (n,) minus the derivative of mean in (Q t)_i
    by_diagonal: tuple[np.ndarray, np.ndarray]  # derivatives of mean and var in Q_ii
    by_noise: tuple[np.ndarray, np.ndarray] | None  # in noise^2, Q held; None: they are zero


def _left_out_moments(
    t: np.ndarray, w: np.ndarray, solution: np.ndarray, diagonal: np.ndarray, noise2: float
) -> _LeaveOneOut:
    """Eqs. 12 and 13, with one of ``w`` copies left out; less than one copy goes whole.

    By Woodbury's identity one copy has ``Q_ii / w^2 + (1 - 1/w) / noise^2`` on the diagonal
    of the inverse of the problem written out row by row, and ``(Q t)_i / w`` in its solution.
    """
    if np.all(w == 1.0):
        var = 1.0 / diagonal
        by_diagonal = var**2 * solution, -(var**2)
        return _LeaveOneOut(t - var * solution, var, var, by_diagonal, None)
    copies, stay = np.maximum(w, 1.0), 1.0 - 1.0 / w
    more, less = np.maximum(stay, 0.0), np.minimum(stay, 0.0)
    pooled = 1.0 / (diagonal / copies**2 + more / noise2)
    lever = pooled / copies
    d_noise = more * (pooled / noise2) ** 2
    return _LeaveOneOut(
        mean=t - lever * solution,
        var=pooled + less * noise2,
        lever=lever,
        by_diagonal=(lever**2 * solution / copies, -(lever**2)),
        by_noise=(-d_noise * solution / copies, d_noise + less),
    )


def _kernel_gradient(
    inverse: np.ndarray,
    sq: np.ndarray,
    solution: np.ndarray,
    on_diagonal: np.ndarray,
    on_solution: np.ndarray,
) -> np.ndarray:
    """dL/dK = -Q diag(on_diagonal) Q - (h solution' + solution h') / 2, h = Q on_solution.

    Upper triangle, from that of B^-1 in ``inverse``. The matrix in the middle has both signs,
    so the symmetric product, of n^3 flops, is made in two parts, and each of those in panels.
    """
    n = len(sq)
    h = sq * blas.dsymv(1.0, inverse, sq * on_solution)
    root, G, beta = np.sqrt(np.abs(on_diagonal)), scratch(n, "gradient"), 0.0
    for sign, of_sign in ((1.0, on_diagonal <= 0.0), (-1.0, on_diagonal > 0.0)):
        columns = np.flatnonzero(of_sign)
        for first in range(0, len(columns), _PANEL):
            some = columns[first : first + _PANEL]
            panel = np.empty((n, len(some)), order="F")
            # Transposed, because a single column in Fortran order also is in C order, and
            # each order would be compiled for itself.
            _scaled_columns(inverse.T, sq, root, some, panel.T)
            G, beta = blas.dsyrk(sign, panel, beta=beta, c=G, overwrite_c=1), 1.0
    return blas.dsyr2(-0.5, solution, h, a=G, overwrite_a=1)


@loop
def _scaled_columns(inverse, sq, root, columns, panel):
    """Some columns of Q diag(root), as rows; the lower triangle of `inverse` holds B^-1."""
    n, block = sq.size, 32
    for c in range(columns.size):
        j = columns[c]
        scale = sq[j] * root[j]
        for i in range(j + 1):
            panel[c, i] = sq[i] * inverse[j, i] * scale
    for ib in range(0, n, block):  # below the diagonal: rows, a few at a time
        for cb in range(0, columns.size, block):
            for c in range(cb, min(cb + block, columns.size)):
                j = columns[c]
                scale = sq[j] * root[j]
                for i in range(max(ib, j + 1), min(ib + block, n)):
                    panel[c, i] = sq[i] * inverse[i, j] * scale


@loop
def _mirror(G):
    """Copy the upper triangle to the lower one."""
    n, block = len(G), 32  # blocks keep the strided side in cache
    for jb in range(0, n, block):
        for ib in range(0, jb + 1, block):
            for j in range(jb, min(jb + block, n)):
                for i in range(ib, min(ib + block, j)):
                    G[j, i] = G[i, j]
