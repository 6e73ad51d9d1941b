"""Criteria by which kernel, thresholds and noise are learnt, with exact gradients.

The free parameters are ``theta = [log kernel parameters, log noise, first threshold, log
gaps]``. One evaluation builds the kernel matrix, runs an engine from where it last converged,
and pulls the gradient back to theta.

The evidence needs no derivative of the sites. The paper's bound (eq. 13) at the EP posterior
and the leave-one-out score do: when a parameter moves, the fixed point moves with it. Writing
the move of the site of one observation as a linear map of the move of its marginal moments,

    d(tau_i, eta_i) = D_i d(mean_i, var_i) + parameters,      eta_i: shift seen at the mean,
    d mean = Cov d eta + A dK alpha,                          A = Cov K^-1,
    d var  = -(Cov o Cov) d tau + diag(A dK A'),

one linear system, solved for the adjoint, gives the gradient in every parameter at once.

After the latent values at the inputs there may be coefficients of known covariates: independent
of these and of one another, with the noise of a difference as their standard deviation. Answers
with more noise then have larger effects before anything is known.

Chu & Ghahramani (2005), section 3; hyperpriors as in its equation for P(theta | D).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.linalg import LinearOperator, gmres

from ..kernels.base import Kernel
from ..kernels.items import PerItem
from .design import Combinations, Design, Direct, Labels
from .ep import ep
from .factorised import FactorisedApproximation, factorised_ep
from .hyperpriors import Hyperprior
from .laplace import is_credible, laplace
from .likelihoods import Blurred, Jet, LearntLikelihood, Likelihood
from .posterior.choose import Prior, labels_effort, prior_of
from .posterior.inducing import EXACT_ROWS, Inducing, InducingPoints, greedy_points
from .posterior.inducing_items import InducingItems, basis_of, features_of
from .posterior.inducing_labels import InducingLabels
from .posterior.observations import factorise
from .site_loop import Approximation
from .variational import divergence, variational

__all__ = [
    "CRITERIA",
    "ENGINES",
    "InducingLabelObjective",
    "InducingObjective",
    "ItemObjective",
    "LabelObjective",
    "Objective",
    "ObjectiveValue",
    "noise_variance",
]

ENGINES: dict[str, Callable[..., Approximation]] = {
    "laplace": laplace,
    "ep": ep,
    "variational": variational,
}
CRITERIA = ("evidence", "bound", "loo")

_INPUTS_PER_POINT = 2  # of a subset of label rankings: an input has preferences of many pairs


@dataclass(frozen=True)
class ObjectiveValue:
    """A criterion plus the log prior at one theta, with its gradient and the approximation."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray
    criterion: float  # without the log prior
    approximation: Any  # of the engine, or a `Settled`
    credible: bool = True  # False where Laplace's evidence is far from what it approximates

    @property
    def start(self) -> np.ndarray:
        """What the engine is started from at a nearby theta."""
        return self.approximation.start

    @property
    def converged(self) -> bool:
        """Whether the engine met its tolerance."""
        return self.approximation.converged

    def without_rows(self) -> ObjectiveValue:
        """The same value with inducing points, without what it keeps of each row."""
        settled: Any = self.approximation
        light = replace(settled, cavity_mean=None, cavity_var=None)
        return replace(self, approximation=light)


@dataclass(frozen=True)
class Objective:
    """Data, model and criterion: a function of theta to be maximised.

    ``y`` are ranks from 0; ``weights`` are positive; ``design`` says what each observation saw
    of the latent values at the rows of ``X``, and after these of ``n_coefficients`` more.
    Criteria other than the evidence need `Direct`.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    kernel: Kernel
    likelihood: LearntLikelihood
    engine: str = "ep"
    criterion: str = "evidence"
    prior: Hyperprior | None = None
    tol: float = 1e-6
    max_iter: int = 200
    design: Design = field(default_factory=Direct)
    n_coefficients: int = 0

    def evaluate(self, theta: np.ndarray, start: np.ndarray | None = None) -> ObjectiveValue:
        """Criterion, log prior and gradient at theta, the engine started from ``start``."""
        if not len(self.y):
            nothing = Approximation.of_nothing()
            return self._with_prior(theta, 0.0, np.zeros(len(theta)), nothing, True)
        kernel, likelihood = self.model(theta)
        sharpest = likelihood.max_precision * max(1.0, np.max(self.weights))
        K, evidence = self.covariance(kernel, likelihood), self.criterion == "evidence"
        credible = True
        a = self._run(prior_of(self.design, K, sharpest), likelihood, start, evidence)
        if evidence:
            value, G, d_likelihood = a.log_evidence, a.d_kernel, a.d_likelihood
            if self.engine == "laplace" and isinstance(self.design, Direct):
                credible = is_credible(likelihood, self.y, self.weights, a)
        else:
            value, G, d_likelihood = self._with_moving_sites(K, likelihood, a)
        if self.n_coefficients:
            n = len(self.X)
            slope = noise_variance(likelihood)[1]
            d_likelihood = d_likelihood + np.trace(G[n:, n:]) * slope
            G, K = np.ascontiguousarray(G[:n, :n]), np.ascontiguousarray(K[:n, :n])
        gradient = np.concatenate([kernel.pullback(self.X, G, K), d_likelihood])
        return self._with_prior(theta, value, gradient, a, credible)

    def covariance(self, kernel: Kernel, likelihood: LearntLikelihood) -> np.ndarray:
        """Prior covariance of the latent values at ``X``, and after these the coefficients."""
        K = kernel(self.X)
        if not self.n_coefficients:
            return K
        return block_diag(K, noise_variance(likelihood)[0] * np.eye(self.n_coefficients))

    def _run(
        self, prior: Prior, likelihood: Likelihood, start: np.ndarray | None, gradient: bool
    ) -> Approximation:
        return ENGINES[self.engine](
            prior, likelihood, self.y, weights=self.weights, start=start,
            tol=self.tol, max_iter=self.max_iter, gradient=gradient,
        )  # fmt: skip

    def _with_prior(
        self,
        theta: np.ndarray,
        value: float,
        gradient: np.ndarray,
        a: Approximation | FactorisedApproximation,
        credible: bool,
    ) -> ObjectiveValue:
        """The evaluation, with the log prior of theta added."""
        total = value
        if self.prior is not None:
            total += self.prior.value(theta)
            gradient += self.prior.gradient(theta)
        return ObjectiveValue(theta, total, gradient, value, a.light(), credible)

    def _with_moving_sites(
        self, K: np.ndarray, likelihood: Likelihood, a: Approximation
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """A criterion with its gradients in K and in the likelihood's theta."""
        criterion = _bound if self.criterion == "bound" else _leave_one_out
        partial = criterion(K, likelihood, self.y, self.weights, a)
        if self.engine == "ep":
            response = _matched_response(a, self.weights)
        else:
            response = _expected_response(a.jet, with_variance=self.engine == "variational")
        return partial.value, *_total_gradients(K, likelihood, self.y, a, response, partial)

    @property
    def theta(self) -> np.ndarray:
        """Free parameters of ``kernel`` and ``likelihood``."""
        return np.concatenate([self.kernel.theta, self.likelihood.theta])

    def model(self, theta: np.ndarray) -> tuple[Kernel, LearntLikelihood]:
        """Kernel and likelihood at theta."""
        k = self.kernel.n_theta
        return self.kernel.with_theta(theta[:k]), self.likelihood.with_theta(theta[k:])

    @property
    def box(self) -> np.ndarray:
        """Bounds of the search for theta, shape (p, 2)."""
        return np.concatenate([self.kernel.bounds, self.likelihood.bounds])

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each entry of theta is."""
        return (*self.kernel.theta_kinds, *self.likelihood.theta_kinds)

    @property
    def effort(self) -> float:
        """Rows of the matrices that an evaluation works on, about."""
        m, n = len(self.y), len(self.X)
        of_items = isinstance(self.design, Combinations) and not isinstance(self.design, Labels)
        return min(m, 1.5 * n) if of_items else m  # 1.5: where the two forms cost the same

    @property
    def support(self) -> np.ndarray:
        """Inputs with which covariances are taken for prediction."""
        return self.X

    def near(self, theta: np.ndarray) -> Self:
        """The same objective, prepared for a search near theta."""
        return self

    def gauge(self, theta: np.ndarray) -> np.ndarray:
        """Directions in theta of a shift and a stretch of the latent function, shape (p, 2).

        Thresholds and noise that move with it leave the likelihood as it was. None, shape
        (p, 0), where no thresholds are learnt.
        """
        kinds = np.array(self.kinds)
        level = kinds == "first_threshold"
        if level.sum() != 1:
            return np.zeros((len(theta), 0))
        stretch = np.isin(kinds, ["noise", "gap"]) + level * theta
        return np.column_stack([level, stretch]).astype(float)

    def rough(self, tol: float) -> Objective:
        """The same objective, with a looser tolerance of the engine where that is safe."""
        # Laplace's tolerance is a squared decrement; and criteria other than the evidence are
        # first order in the error of the sites.
        second_order = self.engine != "laplace" and self.criterion == "evidence"
        return replace(self, tol=tol) if second_order and tol > self.tol else self

    def subset(self, index: np.ndarray) -> Objective:
        """The same objective on some of the observations, and the inputs that they see."""
        kept, design, coefficients = index, self.design, 0
        if isinstance(design, Combinations):
            kept, design = design.take(index).compact()
        if self.n_coefficients:
            inputs = kept < len(self.X)
            kept, coefficients = kept[inputs], int(np.sum(~inputs))
        X = self.X[np.ix_(kept, kept)] if self.kernel.inputs == "gram" else self.X[kept]
        return replace(
            self, X=X, y=self.y[index], weights=self.weights[index], design=design,
            likelihood=self.likelihood.only(index), n_coefficients=coefficients,
        )  # fmt: skip


def noise_variance(likelihood: LearntLikelihood) -> tuple[float, np.ndarray]:
    """Squared noise of a difference, the geometric mean of judges, and its slope in theta."""
    own = np.array(likelihood.theta_kinds) == "comparison_noise"
    variance = 2.0 * float(np.exp(2.0 * np.mean(likelihood.theta[own])))
    return variance, own * (2.0 * variance / own.sum())


@dataclass(frozen=True)
class LabelObjective(Objective):
    """An objective whose subsets hold some of the inputs with all their observations.

    A share of the observations would see almost all of the inputs, and cost as much.
    """

    @property
    def labels(self) -> Labels:
        """The design."""
        assert isinstance(self.design, Labels)
        return self.design

    @property
    def effort(self) -> float:
        """Rows of the matrices that an evaluation works on, about."""
        return labels_effort(self.labels)

    def subset(self, index: np.ndarray) -> Objective:
        """All observations of as large a share of the inputs as ``index`` is of theirs."""
        design = self.labels
        count = min(design.n, 1 + design.n * len(index) // len(design))
        # A fixed shuffle: the rows of a table may lie in an order, and subsets are nested.
        some = np.random.default_rng(0).permutation(design.n)[:count]
        return super().subset(np.flatnonzero(np.isin(design.at, some)))


@dataclass(frozen=True)
class InducingObjective(InducingPoints, Objective):
    """The evidence with inducing points ``Z``: rows see the latent function through them."""

    exact = Objective
    form: ClassVar[type[Inducing]] = Inducing

    def prior_at(self, theta: np.ndarray) -> tuple[Inducing, Blurred]:
        """The prior of what the points say, and the likelihood of that."""
        kernel, likelihood = self.model(theta)
        assert self.Z is not None
        prior = self.form.of(kernel, self.X, self.Z, self.design)
        return prior, Blurred(likelihood, prior.residual)

    def evaluate(self, theta: np.ndarray, start: np.ndarray | None = None) -> ObjectiveValue:
        """Evidence, log prior and gradient at theta, the points held."""
        a, credible = self._inferred(theta, start)
        gradient = np.concatenate([a.d_kernel.pullback(a.d_variance), a.d_likelihood])
        return self._with_prior(theta, a.log_evidence, gradient, a, credible)

    def evaluate_with_points(
        self, theta: np.ndarray, start: np.ndarray | None = None
    ) -> tuple[ObjectiveValue, np.ndarray]:
        """The same, and the gradient in the points, shape (M, d)."""
        a, credible = self._inferred(theta, start)
        by_kernel, by_points = a.d_kernel.pullback_with_points(a.d_variance)
        gradient = np.concatenate([by_kernel, a.d_likelihood])
        return self._with_prior(theta, a.log_evidence, gradient, a, credible), by_points

    def _inferred(
        self, theta: np.ndarray, start: np.ndarray | None
    ) -> tuple[Approximation, bool]:
        """The engine's answer at theta, and whether its evidence is credible."""
        prior, blurred = self.prior_at(theta)
        a = self._run(prior, blurred, start, gradient=True)
        judged = self.engine == "laplace" and isinstance(self.design, Direct)
        return a, not judged or is_credible(blurred, self.y, self.weights, a)


_PER_POINT = 20  # items to choose a point from: a choice among more is no better


@dataclass(frozen=True)
class ItemObjective(InducingPoints, Objective):
    """The evidence of answers about items, by factorised EP with inducing points ``Z``.

    Rows of ``X`` are items, rows of ``Z`` features; ``design`` says what the answers saw.
    """

    exact = Objective

    def near(self, theta: np.ndarray) -> Self:
        """The same objective, with points chosen for the kernel at theta."""
        if self.fixed:
            return self
        smooth, X = features_of(self.model(theta)[0], self.X)
        if isinstance(smooth, PerItem):  # no features
            return replace(self, Z=basis_of(smooth, X).Z)
        if len(X) > _PER_POINT * self.count:
            some = np.random.default_rng(0).permutation(len(X))[: _PER_POINT * self.count]
            X = X[np.sort(some)]
        return replace(self, Z=X[greedy_points(smooth, X, self.count)[0]])

    def without_rows(self) -> Self:
        """The same model and points without data."""
        none = np.arange(0)
        return replace(
            self, X=self.X[none], y=self.y[none], weights=self.weights[none],
            likelihood=self.likelihood.only(none),
            design=Combinations(np.zeros((0, 2), dtype=np.intp), np.zeros((0, 2)), 1),
        )  # fmt: skip

    def among(self, items: np.ndarray) -> Objective:
        """The exact objective of what was said about some items among themselves."""
        design = self.design
        assert isinstance(design, Combinations)
        chosen = np.zeros(design.size, dtype=bool)
        chosen[items] = True
        inside = np.all(chosen[design.index] | (design.value == 0), axis=1)
        part = Objective.subset(self, np.flatnonzero(inside))
        return Objective(**{f.name: getattr(part, f.name) for f in fields(Objective)})

    def prior_at(self, theta: np.ndarray) -> tuple[InducingItems, Likelihood]:
        """The prior of the items, and the likelihood of the answers."""
        kernel, likelihood = self.model(theta)
        assert self.Z is not None
        assert isinstance(self.design, Combinations)
        basis = basis_of(kernel, self.Z)
        return InducingItems.on(kernel, self.X, basis, self.design), likelihood

    def solve(self, theta: np.ndarray, start: np.ndarray | None = None) -> Any:
        """The factorised posterior at theta, and its prior."""
        prior, likelihood = self.prior_at(theta)
        found = factorised_ep(
            prior, likelihood, self.y, weights=self.weights, start=start, tol=self.tol,
            max_iter=self.max_iter,
        )  # fmt: skip
        return found, prior

    def evaluate(self, theta: np.ndarray, start: np.ndarray | None = None) -> ObjectiveValue:
        """Evidence, log prior and gradient at theta, the points held."""
        a, _ = self.solve(theta, start)
        gradient = np.concatenate([a.d_prior.pullback(a.d_rest), a.d_likelihood])
        return self._with_prior(theta, a.log_evidence, gradient, a, True)


@dataclass(frozen=True)
class InducingLabelObjective(InducingObjective, LabelObjective):
    """The evidence of preferences between labels, with inducing points ``Z``."""

    exact, form = LabelObjective, InducingLabels

    def subset(self, index: np.ndarray) -> Objective:
        """All observations of some of the inputs; without points where that is cheaper."""
        part: Any = LabelObjective.subset(self, index)
        exact = LabelObjective(
            **{f.name: getattr(part, f.name) for f in fields(LabelObjective)}
        )
        if exact.effort <= EXACT_ROWS:
            return exact
        count = min(self.count, 1 + len(part.X) // _INPUTS_PER_POINT)
        return part if self.fixed else replace(part, count=count, pool=None)

    def on_rows(self, rows: Any) -> InducingLabelObjective:
        """The same problem and points, on some of the inputs."""
        d, X = self.labels, self.X[rows]
        place = np.full(d.n, -1)
        place[rows] = np.arange(len(X))
        kept = place[d.at] >= 0
        design = Labels(place[d.at[kept]], d.first[kept], d.second[kept], len(X), d.L)
        return replace(
            self, X=X, y=self.y[kept], weights=self.weights[kept], design=design,
            likelihood=self.likelihood.only(kept),
        )  # fmt: skip

    @property
    def effort(self) -> float:
        """Rows of the matrices that an evaluation works on, about."""
        m, M, q = len(self.y), self.count, self.labels.L - 1
        return float((3.0 * m * M**2 + (q * M) ** 3) ** (1 / 3))


@dataclass(frozen=True)
class _Partial:
    """A criterion and its partial derivatives: in K and theta, in moments, in sites."""

    value: float
    d_kernel: np.ndarray
    d_likelihood: np.ndarray
    by_moments: np.ndarray  # (2, n), in (mean, var)
    by_sites: np.ndarray  # (2, n), in (tau, eta)


def _leave_one_out(
    K: np.ndarray, likelihood: Likelihood, y: np.ndarray, weights: np.ndarray, a: Approximation
) -> _Partial:
    """Sum of log probabilities of each level given all the others, from the cavities."""
    copies, lam = np.maximum(weights, 1.0), a.cavity_var
    jet = likelihood.log_expected(y, a.cavity_mean, lam)
    grow = 1.0 + a.tau / copies * lam  # = lam / var
    slope = weights * (0.5 * (jet.d1**2 + jet.d2) - jet.d1 * a.alpha / copies)
    return _Partial(
        value=float(weights @ jet.value),
        d_kernel=np.zeros_like(K),
        d_likelihood=likelihood.pull(y, jet, weights),
        by_moments=np.stack([weights * jet.d1 * grow, slope * grow**2]),
        by_sites=np.stack([slope * lam**2, -weights * jet.d1 * lam]) / copies,
    )


def _bound(
    K: np.ndarray, likelihood: Likelihood, y: np.ndarray, weights: np.ndarray, a: Approximation
) -> _Partial:
    """The variational lower bound at the posterior of any engine (eq. 13 of GPOR)."""
    factor = factorise(K, a.tau).inverted()
    beta = factor.inverse_diagonal()
    jet = likelihood.expected_log(y, a.mean, a.var).times(weights)
    return _Partial(
        value=float(jet.value.sum()) - divergence(factor.half_log_det, beta, a.alpha, a.mean),
        d_kernel=factor.evidence_gradient(a.alpha, np.zeros(len(y))),
        d_likelihood=likelihood.pull(y, jet, np.ones(len(y))),
        by_moments=np.stack([jet.d1 - a.alpha, 0.5 * (jet.d2 + a.tau)]),
        by_sites=np.zeros((2, len(y))),
    )


@dataclass(frozen=True)
class _Response:
    """How the site (tau, eta) of an observation moves: with its moments, and with (d1, d2)."""

    moments: np.ndarray  # (2, 2, n), D in the module's docstring
    views: np.ndarray  # (2, 2, n)


def _expected_response(jet: Jet, with_variance: bool) -> _Response:
    """Sites ``tau = -L'', alpha = L'`` of a weighted view L(mean, var) with dL/dvar = L''/2."""
    zero, one = np.zeros_like(jet.d1), np.ones_like(jet.d1)
    half = 0.5 if with_variance else 0.0
    moments = np.array([[-jet.d3, -half * jet.d4], [zero, half * jet.d3]])
    return _Response(moments, np.array([[zero, -one], [one, zero]]))


def _matched_response(a: Approximation, weights: np.ndarray) -> _Response:
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


def _total_gradients(
    K: np.ndarray,
    likelihood: Likelihood,
    y: np.ndarray,
    a: Approximation,
    response: _Response,
    partial: _Partial,
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients in K and in the likelihood's theta, with what flows through the sites."""
    cov = factorise(K, a.tau).covariance(K)
    adjoint = _adjoint(response, cov, partial.by_moments, partial.by_sites)
    on_mean, on_var = adjoint
    on_sites = partial.by_sites + _through_covariance(cov, adjoint)
    pulled = on_mean - a.tau * (cov @ on_mean)  # A' on_mean
    A = -cov * a.tau
    A[np.diag_indices_from(A)] += 1.0
    cross = 0.5 * np.outer(pulled, a.alpha)
    G = partial.d_kernel + cross + cross.T + A.T @ (on_var[:, None] * A)
    w1, w2 = np.einsum("svn,sn->vn", response.views, on_sites)
    flow = likelihood.pull(y, a.jet, np.zeros(len(y)), w1, w2)
    return G, partial.d_likelihood + flow


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
    # Near rounding: gradients then agree with those of a direct solution to nine digits.
    solution, info = gmres(
        operator, rhs, rtol=1e-12, atol=0.0, restart=min(size, 100), maxiter=5
    )
    if info != 0:  # rare: the fixed-point iteration that it linearises hardly contracts
        dense = np.stack([residual_map(e) for e in np.eye(size)], axis=1)
        solution = np.linalg.solve(dense, rhs)
    return solution.reshape(shape)


def _through_covariance(cov: np.ndarray, adjoint: np.ndarray) -> np.ndarray:
    """Adjoint of (tau, eta) from the adjoint of (mean, var)."""
    on_mean, on_var = adjoint
    return np.stack([-np.einsum("ij,ij,i->j", cov, cov, on_var), cov @ on_mean])
