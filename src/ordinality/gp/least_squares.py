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

*Inducing points*: a rank is ``q_i = p_i' e`` plus a residual of variance lam_i plus noise (see
`posterior.inducing`), so that the regression is exact for the covariance ``P P' + diag(lam)``.
A copy of row i has the noise ``s_i = noise^2 + lam_i``: copies are rows, whose residuals are
independent. With ``tau_i = w_i / s_i``, ``r_i = min(w_i, 1) / s_i`` for the copy left out, and
q_i, v_i the posterior mean and variance of what the points say,

    gap_i = (t_i - q_i) / (1 - r_i v_i),    mean_i = t_i - gap_i,
    var_i = v_i / (1 - r_i v_i) + s_i.

Srijith, Shevade & Sundararajan (2012), "A probabilistic least squares approach to ordinal
regression"; the moments are Sundararajan & Keerthi's (2001). Snelson & Ghahramani (2006),
"Sparse Gaussian processes using pseudo-inputs", for the inducing points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from .._compile import loop
from ..kernels.base import Kernel, scratch, widened
from .design import Direct
from .hyperpriors import Hyperprior
from .likelihoods import Ordinal
from .posterior.inducing import (
    Inducing,
    InducingPoints,
    InducingPosterior,
    InducingPredictor,
    PriorGradient,
    add_gram,
    factorised,
    variances,
)
from .posterior.observations import Predictor, factorise
from .posterior.precision import mirrored

__all__ = ["InducingLeastSquares", "LeastSquares", "Score"]

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
    unexplained: float = 0.0  # share of the prior variance that inducing points leave

    @property
    def converged(self) -> bool:
        """Whether the engine met its tolerance: nothing iterates."""
        return True

    @property
    def credible(self) -> bool:
        """Whether the criterion can be trusted: it is exact."""
        return True

    def without_rows(self) -> Score:
        """The same score, without what it keeps of each row."""
        return replace(self, mean=self.mean[:0], var=self.var[:0])


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
        value, d_mean, d_var, d_link = self._linked(likelihood, mean, out.var)
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
                d_link,
            ]
        )
        return self._with_prior(Score(theta, value, gradient, value, mean, out.var))

    def _linked(
        self, likelihood: Ordinal, mean: np.ndarray, var: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Eq. 11 at the moments, with derivatives in mean, variance and the link's theta."""
        w = self.weights
        jet = likelihood.log_expected(self.y, mean, var)
        d_mean = w * jet.d1
        # The heat equation: a derivative in the variance is half a second one in the mean.
        d_var = 0.5 * (d_mean * jet.d1 + w * jet.d2)
        return float(w @ jet.value), d_mean, d_var, likelihood.pull(self.y, jet, w)

    def _with_prior(self, score: Score) -> Score:
        """The score, with the log prior of theta added."""
        if self.prior is None:
            return score
        theta = score.theta
        gradient = score.gradient + self.prior.gradient(theta)
        return replace(score, value=score.value + self.prior.value(theta), gradient=gradient)

    def predictor(self, theta: np.ndarray) -> Predictor | InducingPredictor:
        """Regression on the centred ranks (eqs. 4 and 5), for the latent at new inputs."""
        kernel, noise, _ = self.model(theta)
        tau = self.weights / noise**2
        return Predictor.from_sites(kernel(self.X), tau, tau * (self.y - self.centre))


@dataclass(frozen=True)
class InducingLeastSquares(InducingPoints, LeastSquares):
    """The same criterion with inducing points ``Z``, which rows are seen through."""

    exact = LeastSquares

    def evaluate(self, theta: np.ndarray, start: None = None) -> Score:
        """Leave-one-out log probability, log prior and gradient, the points held."""
        at, (_, noise, likelihood) = self._regression(theta), self.model(theta)
        mean = at.mean + self.centre
        value, d_mean, d_var, d_link = self._linked(likelihood, mean, at.var)
        back = _LeaveOneOutGradient(at, d_mean, d_var)
        c = back.by_residual
        gradient = np.concatenate(
            [back.pullback(c), [2.0 * noise**2 * float(np.sum(c))], d_link]
        )
        share = at.prior.unexplained(self.weights)
        score = Score(theta, value, gradient, value, mean, at.var, unexplained=share)
        return self._with_prior(score)

    def settle(self, found: Score) -> tuple[InducingPredictor, Score]:
        """The posterior given all rows at theta found on some of them, and their score.

        The gradient stays that of the rows on which theta was found.
        """
        theta = found.theta
        at, (_, _, likelihood) = self._regression(theta), self.model(theta)
        mean = at.mean + self.centre
        value = float(self.weights @ likelihood.log_expected(self.y, mean, at.var).value)
        score = replace(
            found, criterion=value, mean=mean, var=at.var,
            value=value if self.prior is None else value + self.prior.value(theta),
            unexplained=at.prior.unexplained(self.weights),
        )  # fmt: skip
        return at.predictor, score

    def predictor(self, theta: np.ndarray) -> InducingPredictor:
        """Regression on the centred ranks, for the latent at new inputs."""
        return self._regression(theta).predictor

    def _regression(self, theta: np.ndarray) -> _Regression:
        kernel, noise, _ = self.model(theta)
        assert self.Z is not None
        prior = Inducing.of(kernel, self.X, self.Z, Direct())
        return _Regression.of(prior, self.y - self.centre, self.weights, noise**2)


@dataclass(frozen=True, eq=False)
class _Regression:
    """The regression on what inducing points say, and the moments of ranks left out."""

    prior: Inducing
    posterior: InducingPosterior
    e: np.ndarray  # (M,), posterior mean of the whitened inducing values
    own: np.ndarray  # (n,), s: noise and residual of a copy
    one: np.ndarray  # (n,), r: precision of the copy left out
    stay: np.ndarray  # (n,), 1 - r v
    gap: np.ndarray  # (n,), centred rank less its mean given the others
    left: np.ndarray  # (n,), variance of q without the copy
    mean: np.ndarray  # (n,), of the centred rank given the others
    var: np.ndarray  # (n,)

    @classmethod
    def of(cls, prior: Inducing, t: np.ndarray, w: np.ndarray, noise2: float) -> _Regression:
        """From centred ranks and their weights."""
        own = noise2 + prior.residual
        tau, one = w / own, np.minimum(w, 1.0) / own
        M = len(prior.basis)
        gram, shift = np.zeros((M, M), order="F"), np.zeros(M)
        for rows, P in prior.parts():
            add_gram(P, tau[rows], gram)
            shift += (tau[rows] * t[rows]) @ P
        posterior = InducingPosterior(prior, tau, *factorised(gram))
        e, _ = lapack.dpotrs(posterior.factor, shift)
        q, v, inverse = np.empty(len(t)), np.empty(len(t)), lapack.dtrtri(posterior.factor)[0]
        for rows, P in prior.parts():  # a second pass: P may not be kept between passes
            q[rows], v[rows] = P @ e, variances(P, inverse)
        # Less than that a copy's precision leaves by rounding alone.
        stay = np.maximum(1.0 - one * v, np.finfo(float).eps)
        gap, left = (t - q) / stay, v / stay
        return cls(prior, posterior, e, own, one, stay, gap, left, t - gap, left + own)

    @property
    def predictor(self) -> InducingPredictor:
        """The regression at new inputs."""
        return InducingPredictor(self.prior.basis.lower, self.posterior.factor, self.e)


@dataclass(frozen=True, eq=False)
class _LeaveOneOutGradient(PriorGradient):
    """The gradient of a function of the moments of ranks left out.

    With ``m_i = d_mean_i / (1 - r_i v_i)`` the derivative in q_i, V_i that in v_i,
    ``z = B^-1 P' m``, ``S = B^-1 P' diag(V) P B^-1``, and c_i that in s_i, derivatives are

        dp_i:    (m_i - tau_i p_i' z) e + tau_i (t_i - q_i) z
                 + 2 V_i B^-1 p_i - 2 tau_i S p_i - 2 c_i p_i
        dtau_i:  (t_i - q_i) p_i' z - p_i' S p_i
    """

    at: _Regression
    d_mean: np.ndarray  # (n,)
    d_var: np.ndarray  # (n,)

    @property
    def prior(self) -> Inducing:
        return self.at.prior

    @cached_property
    def by_residual(self) -> np.ndarray:
        """Derivatives in the residual variances, or in the noise of each row."""
        at, tau = self.at, self.at.posterior.tau
        by_tau = at.gap * at.stay * self._seen - self.prior.forms(self._S)
        by_one = at.left * (self.d_var * at.left - self.d_mean * at.gap)
        return self.d_var - (tau * by_tau + at.one * by_one) / at.own

    def by_whitened(self, c: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        at, tau, z = self.at, self.at.posterior.tau, self._z
        on_e = self._by_q - tau * self._seen
        on_z = tau * at.gap * at.stay
        inverse, _ = lapack.dpotri(at.posterior.factor)
        for rows, (v, s, p) in self.prior.weighed(2.0 * self._by_v, 2.0 * tau, 2.0 * c):
            F = blas.dsymm(-1.0, self._S, s.T, beta=-1.0, c=p.T, overwrite_c=1)
            F = blas.dsymm(1.0, inverse, v.T, beta=1.0, c=F, overwrite_c=1)
            F += np.outer(at.e, on_e[rows]) + np.outer(z, on_z[rows])
            yield rows, F

    def inner(self, c: np.ndarray) -> np.ndarray:
        cross = np.outer(self.at.e, self._z)
        return cross + cross.T + 2.0 * self._S - mirrored(self.prior.gram(2.0 * c))

    @cached_property
    def _by_q(self) -> np.ndarray:
        """Derivatives in q_i."""
        return self.d_mean / self.at.stay

    @cached_property
    def _by_v(self) -> np.ndarray:
        """Derivatives in v_i."""
        at = self.at
        return (self.d_var / at.stay - self.d_mean * at.gap * at.one) / at.stay

    @cached_property
    def _z(self) -> np.ndarray:
        return self.at.posterior.mean(self._by_q)

    @cached_property
    def _seen(self) -> np.ndarray:
        """``p_i' z`` of every row."""
        return self.prior.see(self._z)

    @cached_property
    def _S(self) -> np.ndarray:
        factor = self.at.posterior.factor
        half, _ = lapack.dpotrs(factor, mirrored(self.prior.gram(self._by_v)))
        whole, _ = lapack.dpotrs(factor, half.T)
        return np.asfortranarray(0.5 * (whole + whole.T))


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
