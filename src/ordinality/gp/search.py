"""The search for the best free parameters of a model, whatever its criterion.

On large sets it goes *coarse to fine*: it starts on a subset, and the optimum there with its
curvature (which grows in proportion to the number of rows) leaves only a few steps to do on
all the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from .arrays import workspace
from .ascent import Ascent, climb, curvature, refine
from .hyperpriors import Hyperprior

__all__ = ["Fit", "Learnable", "maximise", "scattered"]

# The first subset has rows enough for a dozen parameters and is almost free; each further level
# has about twice the rows, so that the curvature brought along is good.
_DIRECT = 400  # rows up to which there is nothing to gain
_COARSEST = 250
_GROWTH = 2.5
_ROUGH = 1e-2  # nats that do not matter on a subset
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
    def model(self, theta: np.ndarray) -> tuple[Any, ...]: ...
    def subset(self, index: np.ndarray) -> Self: ...
    def rough(self) -> Self: ...
    def evaluate(self, theta: np.ndarray, start: Any = None) -> Any: ...
    def finished(self, rough: Any) -> Any: ...


Model = TypeVar("Model", bound=Learnable)


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
    """
    rng = np.random.default_rng(0) if rng is None else rng
    subsets = _subsets(problem.y, rng) if coarse_to_fine else []
    parts = [problem.subset(index) for index in subsets]
    # A few comparisons see most of the items, and then cost what all of them do.
    levels = [part for part in parts if part.effort < _CHEAPER * problem.effort]
    # A search that has begun on a subset ends with a few Newton steps, which need no exact
    # engine; a line search from nothing is left undisturbed.
    levels.append(problem.rough() if levels else problem)
    box = problem.box
    gains = [max(gain, _ROUGH)] * (len(levels) - 1) + [gain]
    if len(levels) == 1:
        gains = [min(gain, _LEAST)]
    first = levels[0]
    scale = _scale(first)

    def search(theta: np.ndarray) -> Ascent:
        with workspace():
            return climb(first.evaluate, theta, box, scale, max_evaluations, gains[0])

    with hold(len(first.y)):
        ascents = list(mapper(search, [problem.theta, *starts]))
    best = max(ascents, key=lambda ascent: ascent.best.value)
    path = [(len(first.y), sum(ascent.n_evaluations for ascent in ascents))]
    for (coarse, fine), enough in zip(pairwise(levels), gains[1:], strict=True):
        with hold(len(coarse.y)), workspace():
            hessian = _grown(curvature(coarse.evaluate, best.best, box), coarse, fine)
        with hold(len(fine.y)), workspace():
            best = refine(fine.evaluate, best.best.theta, hessian, box, max_evaluations, enough)
        path.append((len(fine.y), best.n_evaluations))
    with hold(len(problem.y)), workspace():
        found = problem.finished(best.best)
    return Fit(problem, found, path[-1][1], tuple(path), best.converged)


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


def _grown(hessian: np.ndarray, coarse: Learnable, fine: Learnable) -> np.ndarray:
    """Curvature on more rows: that of the data grows with their number, the prior's stays."""
    prior = np.zeros(len(hessian)) if coarse.prior is None else coarse.prior.sd**-2.0
    data = hessian + np.diag(prior)
    return data * (fine.weights.sum() / coarse.weights.sum()) - np.diag(prior)


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
