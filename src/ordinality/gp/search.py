"""The search for the best free parameters of a model, whatever its criterion.

On large sets it goes *coarse to fine*: it starts on a subset, and the optimum there with its
curvature (which grows in proportion to the number of rows) leaves only a few steps to do on
all the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from ..kernels.base import workspace
from .ascent import Ascent, Outlook, climb, curvature, rank, refine
from .hyperpriors import Hyperprior

__all__ = ["Fit", "Learnable", "maximise", "scattered"]

# The first subset has rows enough for a dozen parameters and is almost free; each further level
# has about twice the rows, so that the curvature brought along is good.
_DIRECT = 400  # rows up to which there is nothing to gain
_COARSEST = 250
_GROWTH = 2.5
_ROUGH = 0.05  # nats that do not matter on a subset
# Engine tolerances. A line search would not see its end with gradients worse than the first;
# curvature is a difference of gradients; the Newton steps on all the rows lose some 2e-4 nats
# by the last, and the first of them a tenth of what it promises with one ten times that.
_SEARCHING, _DIFFERENCING, _STEPPING = 3e-5, 1e-4, 1e-3
_NEAR = 0.1  # nats of which one step more, with the exact engine, leaves next to nothing
# How much better level and scale of the latent function are known on more rows: powers of the
# ratio of rows, as seen on synthetic problems of 500 to 2000.
_LEVEL, _SCALE = 0.3, 0.55
# Least step of a line search from nothing, for it crosses plateaus: with 2e-3 four of 214 small
# problems stopped up to 5 nats below the top, with this none, for two more evaluations in 16.
_LEAST = 2e-4
_CHEAPER = 0.7  # share of the effort from which a level costs as much as it saves


class Learnable(Protocol):
    """Data, model and criterion: everything about a fit but the search."""

    @property
    def y(self) -> np.ndarray: ...
    @property
    def weights(self) -> np.ndarray: ...
    @property
    def prior(self) -> Hyperprior | None: ...
    @property
    def theta(self) -> np.ndarray: ...
    @property
    def box(self) -> np.ndarray: ...
    @property
    def effort(self) -> float: ...
    def gauge(self, theta: np.ndarray) -> np.ndarray: ...
    def model(self, theta: np.ndarray) -> tuple[Any, ...]: ...
    def subset(self, index: np.ndarray) -> Self: ...
    def rough(self, tol: float) -> Self: ...
    def evaluate(self, theta: np.ndarray, start: Any = None) -> Any: ...


Model = TypeVar("Model", bound=Learnable)
Tell = Callable[[int, float], None]


@dataclass(frozen=True)
class Fit(Generic[Model]):
    """The best model found, and how the search went."""

    problem: Model
    best: Any  # the evaluation
    n_evaluations: int  # on all the rows
    path: tuple[tuple[int, int], ...]  # (rows, evaluations) of every level
    converged: bool

    @property
    def kernel(self) -> Any:
        """The learnt kernel."""
        return self.problem.model(self.best.theta)[0]

    @property
    def likelihood(self) -> Any:
        """The learnt thresholds and noise."""
        return self.problem.model(self.best.theta)[-1]


def maximise(
    problem: Model,
    *,
    starts: Iterable[np.ndarray] = (),
    coarse_to_fine: bool = True,
    max_evaluations: int = 60,
    gain: float = 2e-3,
    mapper: Callable[..., Iterable[Any]] = map,
    hold: Callable[[int], AbstractContextManager[None]] = lambda rows: nullcontext(),
    rng: np.random.Generator | None = None,
    tell: Tell | None = None,
) -> Fit[Model]:
    """Maximise the criterion plus log prior over theta.

    Parameters
    ----------
    problem : Learnable
        Its own theta is the first start.
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
    tell : callable, optional
        Called as ``tell(observations, value)`` after every evaluation, from any thread.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    levels = _levels(problem, rng if coarse_to_fine else None)
    if max_evaluations == 1:  # then that one is exact
        levels = [problem]
    box, first, scale = problem.box, levels[0], _scale(levels[0])
    enough = _ROUGH if len(levels) > 1 else min(gain, _LEAST)
    ends_rough = len(levels) > 1 or first is not problem
    most = max_evaluations - ends_rough  # one is left for the exact end

    def search(theta: np.ndarray) -> Ascent:
        with workspace():
            return climb(_told(first, tell), theta, box, scale, most, enough)

    with hold(len(first.y)):
        ascents = list(mapper(search, [problem.theta, *starts]))
    best = max(ascents, key=lambda ascent: rank(ascent.best))
    path = [(len(first.y), sum(ascent.n_evaluations for ascent in ascents))]
    for coarse, fine in pairwise(levels):
        with hold(len(coarse.y)), workspace():
            hessian = curvature(_told(coarse, tell), best.best, box)
        enough = max(gain, _NEAR) if fine is levels[-1] else _ROUGH
        with hold(len(fine.y)), workspace():
            theta = best.best.theta
            outlook = Outlook.of(theta, _grown(hessian, theta, coarse, fine))
            best = refine(_told(fine, tell), outlook, box, most, enough)
        path.append((len(fine.y), best.n_evaluations))
    if ends_rough:
        with hold(len(problem.y)), workspace():
            last = _finished(problem, best, box, max_evaluations, gain, tell)
        path[-1] = (len(problem.y), path[-1][1] + last.n_evaluations)
        best = replace(last, converged=best.converged and last.converged)
    return Fit(problem, best.best, path[-1][1], tuple(path), best.converged)


def _levels(problem: Model, rng: np.random.Generator | None) -> list[Model]:
    """The problems to solve one after another, each as exactly as a search needs."""
    subsets = [] if rng is None else _subsets(problem.y, rng)
    levels = [problem.subset(index).rough(_DIFFERENCING) for index in subsets]
    # A few comparisons see most of the items, and then cost what all of them do.
    levels = [level for level in levels if level.effort < _CHEAPER * problem.effort]
    return [*levels, problem.rough(_STEPPING if levels else _SEARCHING)]


def _told(problem: Learnable, tell: Tell | None) -> Callable[..., Any]:
    """Evaluate a problem, and tell what was found."""
    if tell is None:
        return problem.evaluate

    def evaluate(theta: np.ndarray, start: Any = None) -> Any:
        found = problem.evaluate(theta, start)
        tell(len(problem.y), found.value)
        return found

    return evaluate


def _finished(
    problem: Learnable,
    rough: Ascent,
    box: np.ndarray,
    max_evaluations: int,
    gain: float,
    tell: Tell | None,
) -> Ascent:
    """The last steps, with the exact engine: one as a rule, and at least.

    To settle where the rough search would have gone next costs no more than where it is.
    """
    left = max(max_evaluations - rough.n_evaluations, 1)
    evaluate = _told(problem, tell)
    there = refine(evaluate, rough.outlook, box, left, gain)
    if rank(there.best) >= (rough.best.credible, rough.best.value - gain):
        return there
    back = evaluate(rough.best.theta, rough.best.start)
    return replace(there, best=back, n_evaluations=there.n_evaluations + 1)


def scattered(problem: Learnable, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Random starts around the first, as wide as the prior (a factor of e where it is flat)."""
    box = problem.box
    sd = np.ones(len(box)) if problem.prior is None else np.minimum(problem.prior.sd, 1.0)
    draws = problem.theta + sd * rng.normal(size=(count, len(box)))
    return list(np.clip(draws, box[:, 0], box[:, 1]))


def _scale(problem: Learnable) -> np.ndarray:
    """Units in which the curvature at the start is near one, so that first steps are sober.

    An observation carries about a quarter of a nat per unit squared about a logarithm.
    """
    prior = 0.0 if problem.prior is None else problem.prior.sd**-2.0
    return np.full(len(problem.theta), (0.25 * problem.weights.sum() + prior) ** -0.5)


def _grown(
    hessian: np.ndarray, theta: np.ndarray, coarse: Learnable, fine: Learnable
) -> np.ndarray:
    """Curvature on more rows: that of the data grows with their number, the prior's stays.

    Not so along the gauge: a shift or a stretch of the latent function that thresholds and
    noise make up for is seen by its prior alone, so that more rows tell little more about it.
    """
    prior = np.zeros(len(hessian)) if coarse.prior is None else coarse.prior.sd**-2.0
    data, ratio = -hessian - np.diag(prior), fine.weights.sum() / coarse.weights.sum()
    grown, along = ratio * data, np.linalg.pinv(coarse.gauge(theta))
    if len(along) and np.linalg.eigvalsh(data)[0] > 0.0:
        # Precision of the coordinates along the gauge, whatever the others.
        known = np.linalg.inv(along @ np.linalg.solve(data, along.T))
        root = ratio ** (0.5 * np.array([_LEVEL, _SCALE]))
        grown += along.T @ (root[:, None] * known * root - ratio * known) @ along
    return -grown - np.diag(prior)


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
