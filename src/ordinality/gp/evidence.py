"""Learning kernel, thresholds and noise by maximising a criterion.

The free parameters are ``theta = [log kernel parameters, log noise, first threshold, log
gaps]``. One evaluation builds the kernel matrix, settles an engine from where it last was, and
pulls the gradient back. On large sets the search goes *coarse to fine*: it starts on a subset,
and the optimum there with its curvature (which grows in proportion to the number of rows)
leaves only a few steps to do on all the rows.

Chu & Ghahramani (2005), section 3; hyperpriors as in its equation for P(theta | D).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from . import implicit
from .ascent import Ascent, climb, curvature, refine
from .design import Direct
from .ep import ep
from .hyperpriors import Hyperprior, boxes
from .inference import Approximation
from .kernels import Kernel
from .laplace import laplace
from .likelihoods import Ordinal
from .variational import variational

__all__ = ["CRITERIA", "ENGINES", "Evaluation", "Fit", "Problem", "maximise", "scattered"]

ENGINES: dict[str, Callable[..., Approximation]] = {
    "laplace": laplace,
    "ep": ep,
    "variational": variational,
}
CRITERIA = ("evidence", "bound", "loo")

# The first subset has rows enough for a dozen parameters and is almost free; each further level
# has about twice the rows, so that the curvature brought along is good.
_DIRECT = 400  # rows up to which there is nothing to gain
_COARSEST = 250
_GROWTH = 2.5
_ROUGH = 1e-2  # nats that do not matter on a subset
_LOOSE = 1e-4  # engine tolerance while searching on a subset: value exact to about 1e-8


@dataclass(frozen=True)
class Evaluation:
    """A criterion (plus log prior) at one theta, with its gradient and the approximation."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray
    criterion: float
    approximation: Approximation


@dataclass(frozen=True)
class Problem:
    """Data, model and criterion: everything about a fit but the search.

    ``y`` are ranks from 0; ``weights`` are positive.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    kernel: Kernel
    likelihood: Ordinal
    engine: str = "ep"
    criterion: str = "evidence"
    prior: Hyperprior | None = None
    tol: float = 1e-6
    max_iter: int = 200

    @property
    def theta(self) -> np.ndarray:
        """Free parameters of ``kernel`` and ``likelihood``."""
        return np.concatenate([self.kernel.theta, self.likelihood.theta])

    def model(self, theta: np.ndarray) -> tuple[Kernel, Ordinal]:
        """Kernel and likelihood at theta."""
        k = self.kernel.n_theta
        return self.kernel.with_theta(theta[:k]), self.likelihood.with_theta(theta[k:])

    def rows(self, index: np.ndarray) -> Problem:
        """The same problem on some of the rows."""
        X = self.X[np.ix_(index, index)] if self.kernel.inputs == "gram" else self.X[index]
        return replace(self, X=X, y=self.y[index], weights=self.weights[index])

    def evaluate(self, theta: np.ndarray, start: np.ndarray | None = None) -> Evaluation:
        """Criterion, log prior and gradient at theta, the engine started from ``start``."""
        kernel, likelihood = self.model(theta)
        K = kernel(self.X)
        a = ENGINES[self.engine](
            K, Direct(), likelihood, self.y, weights=self.weights, start=start,
            tol=self.tol, max_iter=self.max_iter, gradient=self.criterion == "evidence",
        )  # fmt: skip
        value, G, d_likelihood = self._criterion(K, likelihood, a)
        gradient = np.concatenate([kernel.pullback(self.X, G, K), d_likelihood])
        total = value
        if self.prior is not None:
            total += self.prior.value(theta)
            gradient += self.prior.gradient(theta)
        return Evaluation(theta, total, gradient, value, replace(a, d_kernel=None))

    def _criterion(
        self, K: np.ndarray, likelihood: Ordinal, a: Approximation
    ) -> tuple[float, np.ndarray, np.ndarray]:
        if self.criterion == "evidence":
            assert a.d_kernel is not None
            return a.log_evidence, a.d_kernel, a.d_likelihood
        function = implicit.bound if self.criterion == "bound" else implicit.leave_one_out
        c = function(self.engine, K, likelihood, self.y, self.weights, a)
        return c.value, c.d_kernel, c.d_likelihood


@dataclass(frozen=True)
class Fit:
    """The best model found, and how the search went."""

    problem: Problem
    best: Evaluation
    n_evaluations: int  # on all the rows
    path: tuple[tuple[int, int], ...]  # (rows, evaluations) of every level
    converged: bool

    @property
    def kernel(self) -> Kernel:
        """The learnt kernel."""
        return self.problem.model(self.best.theta)[0]

    @property
    def likelihood(self) -> Ordinal:
        """The learnt thresholds and noise."""
        return self.problem.model(self.best.theta)[1]


def maximise(
    problem: Problem,
    *,
    starts: Iterable[np.ndarray] = (),
    coarse_to_fine: bool = True,
    max_evaluations: int = 60,
    gain: float = 2e-3,
    mapper: Callable[..., Iterable[Any]] = map,
    hold: Callable[[int], AbstractContextManager[None]] = lambda rows: nullcontext(),
    rng: np.random.Generator | None = None,
) -> Fit:
    """Maximise the criterion plus log prior over theta.

    Parameters
    ----------
    problem : Problem
        Its kernel and likelihood are the first start.
    starts : iterable of ndarray
        Further starts; the best end point is kept.
    coarse_to_fine : bool
        Whether large problems are first solved on subsets.
    max_evaluations : int
        Most evaluations per level and start.
    gain : float
        Stop when another step promises less than this many nats.
    mapper : callable
        Runs the starts; ``map`` or a parallel one.
    hold : callable
        Gives the context in which a level with so many rows is worked on.
    rng : numpy Generator
        Chooses the subsets; the same seed gives the same fit.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    subsets = _subsets(problem.y, rng) if coarse_to_fine else []
    levels = [_loose(problem.rows(index)) for index in subsets] + [problem]
    box = boxes(problem.kernel, problem.likelihood)
    gains = [max(gain, _ROUGH)] * len(subsets) + [gain]
    first = levels[0]
    scale = _scale(first)

    def search(theta: np.ndarray) -> Ascent:
        return climb(first.evaluate, theta, box, scale, max_evaluations, gains[0])

    with hold(len(first.y)):
        ascents = list(mapper(search, [problem.theta, *starts]))
    best = max(ascents, key=lambda ascent: ascent.best.value)
    path = [(len(first.y), sum(ascent.n_evaluations for ascent in ascents))]
    for (coarse, fine), enough in zip(pairwise(levels), gains[1:], strict=True):
        with hold(len(coarse.y)):
            hessian = _grown(curvature(coarse.evaluate, best.best, box), coarse, fine)
        with hold(len(fine.y)):
            best = refine(fine.evaluate, best.best.theta, hessian, box, max_evaluations, enough)
        path.append((len(fine.y), best.n_evaluations))
    return Fit(problem, best.best, path[-1][1], tuple(path), best.converged)


def scattered(problem: Problem, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Random starts around the first, as wide as the prior (a factor of e where it is flat)."""
    box = boxes(problem.kernel, problem.likelihood)
    sd = np.ones(len(box)) if problem.prior is None else np.minimum(problem.prior.sd, 1.0)
    draws = problem.theta + sd * rng.normal(size=(count, len(box)))
    return list(np.clip(draws, box[:, 0], box[:, 1]))


def _scale(problem: Problem) -> np.ndarray:
    """Units in which the curvature at the start is near one, so that first steps are sober.

    An observation carries about a quarter of a nat per unit squared about a logarithm.
    """
    prior = 0.0 if problem.prior is None else problem.prior.sd**-2.0
    return np.full(len(problem.theta), (0.25 * problem.weights.sum() + prior) ** -0.5)


def _grown(hessian: np.ndarray, coarse: Problem, fine: Problem) -> np.ndarray:
    """Curvature on more rows: that of the data grows with their number, the prior's stays."""
    prior = np.zeros(len(hessian)) if coarse.prior is None else coarse.prior.sd**-2.0
    data = hessian + np.diag(prior)
    return data * (fine.weights.sum() / coarse.weights.sum()) - np.diag(prior)


def _loose(problem: Problem) -> Problem:
    # Laplace's tolerance is a squared decrement, and its evidence first order in the mode.
    return (
        problem
        if problem.engine == "laplace"
        else replace(problem, tol=max(problem.tol, _LOOSE))
    )


def _subsets(y: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Growing nested subsets that keep the proportions of the levels, smallest first."""
    n = len(y)
    if n <= _DIRECT:
        return []
    # A last step of a third more than the growth is better taken whole than split in two.
    steps = max(1, int(np.ceil(np.log(n / _COARSEST) / np.log(_GROWTH) - 0.35)))
    sizes = [round(n * (_COARSEST / n) ** (step / steps)) for step in range(steps, 0, -1)]
    # Random within a level, then interleaved by relative place: every prefix is stratified.
    place = np.empty(n)
    for level in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == level))
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    order = np.argsort(place, kind="stable")
    return [np.sort(order[:size]) for size in sizes]
