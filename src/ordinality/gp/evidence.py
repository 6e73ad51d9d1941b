"""The criteria by which kernel, thresholds and noise are learnt.

The free parameters are ``theta = [log kernel parameters, log noise, first threshold, log
gaps]``. One evaluation builds the kernel matrix, settles an engine from where it last was, and
pulls the gradient back.

Chu & Ghahramani (2005), section 3; hyperpriors as in its equation for P(theta | D).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..kernels.base import Kernel
from . import implicit
from .design import Design, Direct, Rows
from .ep import ep
from .hyperpriors import Hyperprior
from .inference import Approximation
from .labels import Labels
from .laplace import laplace, sound
from .likelihoods import Likelihood
from .variational import variational

__all__ = ["CRITERIA", "ENGINES", "Evaluation", "Problem"]

ENGINES: dict[str, Callable[..., Approximation]] = {
    "laplace": laplace,
    "ep": ep,
    "variational": variational,
}
CRITERIA = ("evidence", "bound", "loo")


@dataclass(frozen=True)
class Evaluation:
    """A criterion (plus log prior) at one theta, with its gradient and the approximation."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray
    criterion: float
    approximation: Approximation
    credible: bool = True  # whether the criterion is what it approximates, about

    @property
    def start(self) -> np.ndarray:
        """What the engine is started from at a nearby theta."""
        return self.approximation.start

    @property
    def settled(self) -> bool:
        """Whether the engine met its tolerance."""
        return self.approximation.converged


@dataclass(frozen=True)
class Problem:
    """Data, model and criterion: everything about a fit but the search.

    ``y`` are ranks from 0; ``weights`` are positive; ``design`` says what each of them saw of
    the latent values at the rows of ``X``. Criteria other than the evidence are for `Direct`.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    kernel: Kernel
    likelihood: Likelihood
    engine: str = "ep"
    criterion: str = "evidence"
    prior: Hyperprior | None = None
    tol: float = 1e-6
    max_iter: int = 200
    design: Design = field(default_factory=Direct)

    @property
    def theta(self) -> np.ndarray:
        """Free parameters of ``kernel`` and ``likelihood``."""
        return np.concatenate([self.kernel.theta, self.likelihood.theta])

    def model(self, theta: np.ndarray) -> tuple[Kernel, Likelihood]:
        """Kernel and likelihood at theta."""
        k = self.kernel.n_theta
        return self.kernel.with_theta(theta[:k]), self.likelihood.with_theta(theta[k:])

    @property
    def box(self) -> np.ndarray:
        """Where theta is looked for, shape (p, 2)."""
        return np.concatenate([self.kernel.bounds, self.likelihood.bounds])

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each entry of theta is."""
        return (*self.kernel.theta_kinds, *self.likelihood.theta_kinds)

    @property
    def effort(self) -> float:
        """Rows of the matrices that an evaluation works on, about."""
        m, n = len(self.y), len(self.X)
        of_items = isinstance(self.design, Rows) and not isinstance(self.design, Labels)
        return min(m, 1.5 * n) if of_items else m  # 1.5: where the two forms cost the same

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

    def rough(self, tol: float) -> Problem:
        """The same problem, solved less exactly."""
        # Laplace's tolerance is a squared decrement; and what is first order in the sites, as
        # all criteria are but the evidence, is not to be had for less.
        second_order = self.engine != "laplace" and self.criterion == "evidence"
        return replace(self, tol=tol) if second_order and tol > self.tol else self

    def subset(self, index: np.ndarray) -> Problem:
        """The same problem on some of the rows."""
        if isinstance(self.design, Rows):
            return self._observations(index)
        X = self.X[np.ix_(index, index)] if self.kernel.inputs == "gram" else self.X[index]
        return replace(self, X=X, y=self.y[index], weights=self.weights[index])

    def _observations(self, index: np.ndarray) -> Problem:
        """Some of the observations, and the inputs that they see."""
        assert isinstance(self.design, Rows)
        kept, design = self.design.take(index).compact()
        X = self.X[np.ix_(kept, kept)] if self.kernel.inputs == "gram" else self.X[kept]
        return replace(
            self, X=X, y=self.y[index], weights=self.weights[index], design=design,
            likelihood=self.likelihood.only(index),
        )  # fmt: skip

    def evaluate(self, theta: np.ndarray, start: np.ndarray | None = None) -> Evaluation:
        """Criterion, log prior and gradient at theta, the engine started from ``start``."""
        kernel, likelihood = self.model(theta)
        K = kernel(self.X)
        a = self._settled(K, likelihood, start, gradient=self.criterion == "evidence")
        value, G, d_likelihood = self._criterion(K, likelihood, a)
        gradient = np.concatenate([kernel.pullback(self.X, G, K), d_likelihood])
        total = value
        if self.prior is not None:
            total += self.prior.value(theta)
            gradient += self.prior.gradient(theta)
        a = replace(a, d_kernel=None)
        return Evaluation(theta, total, gradient, value, a, self._credible(likelihood, a))

    def _credible(self, likelihood: Likelihood, a: Approximation) -> bool:
        """Whether the evidence may guide a search: Laplace's is wrong where noise is small."""
        checked = self.engine == "laplace" and self.criterion == "evidence"
        if not checked or not isinstance(self.design, Direct):
            return True
        return sound(likelihood, self.y, self.weights, a)

    def _settled(
        self, K: np.ndarray, likelihood: Likelihood, start: np.ndarray | None, gradient: bool
    ) -> Approximation:
        return ENGINES[self.engine](
            K, self.design, likelihood, self.y, weights=self.weights, start=start,
            tol=self.tol, max_iter=self.max_iter, gradient=gradient,
        )  # fmt: skip

    def _criterion(
        self, K: np.ndarray, likelihood: Likelihood, a: Approximation
    ) -> tuple[float, np.ndarray, np.ndarray]:
        if self.criterion == "evidence":
            assert a.d_kernel is not None
            return a.log_evidence, a.d_kernel, a.d_likelihood
        function = implicit.bound if self.criterion == "bound" else implicit.leave_one_out
        c = function(self.engine, K, likelihood, self.y, self.weights, a)
        return c.value, c.d_kernel, c.d_likelihood
