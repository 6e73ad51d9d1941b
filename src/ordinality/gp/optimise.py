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
from scipy.optimize import minimize

from ..kernels.base import workspace
from .hyperpriors import Hyperprior

__all__ = [
    "Ascent",
    "Fit",
    "Learnable",
    "Outlook",
    "climb",
    "curvature",
    "maximise",
    "rank",
    "refine",
    "scattered",
]


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
    """Maximise the criterion plus log prior over theta."""
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


# ----------------------------------------------------------------
# Maximise a smooth function that is expensive to evaluate.
#
# `climb` starts from nothing: L-BFGS-B. `refine` starts near the top with a good guess of the
# curvature: a Newton step or two with secant updates, stopped as soon as the next step
# promises less than matters. The optimisers see only ``evaluate(theta, start)``, which is
# handed the best state so far to start its engine from.


class _Evaluated(Protocol):
    @property
    def theta(self) -> np.ndarray: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> np.ndarray: ...
    @property
    def start(self) -> Any: ...
    @property
    def settled(self) -> bool: ...
    @property
    def credible(self) -> bool: ...


_Evaluate = Callable[..., Any]


_REACH = 3.0  # of a climb made again: a factor of twenty in any parameter


# Times the gain: of 298 fits of label rankings 295 ended with at most 2.3 ahead, three in a
# corner with 98 and more.
_SLOPE = 10.0


# Share of the evaluations that may come from an engine that did not settle. Such a one costs 60
# visits and 30 sweeps of seven each, 270 in all, and nine in ten others at most 27: so this
# share at most doubles the price of the longest search. Gradients that far off lead nowhere.
_UNSETTLED = 0.1


@dataclass(frozen=True)
class Outlook:
    """A step that was not taken: where it leads, and what those after it go by."""

    theta: np.ndarray
    inverse: np.ndarray  # of the negative curvature, as far as it is known
    start: Any = None  # of the engine

    @classmethod
    def of(cls, theta: np.ndarray, hessian: np.ndarray) -> Outlook:
        """From a point near the top with a guess of the curvature, right or wrong."""
        return cls(theta, _positive_inverse(-hessian))


@dataclass(frozen=True)
class Ascent:
    """The best evaluation of a climb, and how it would go on."""

    best: Any
    n_evaluations: int
    converged: bool
    outlook: Outlook
    n_unsettled: int = 0  # evaluations whose engine did not settle


class _ExhaustedError(Exception):
    """No evaluations are left."""


@dataclass(frozen=True)
class _Refused:
    """A theta at which the criterion cannot be computed, or must not be believed."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray


class _Recorder:
    """Evaluates, counts, keeps the best and hands its engine state on."""

    def __init__(self, evaluate: _Evaluate, start: Any = None) -> None:
        self.evaluate = evaluate
        self.start = start
        self.best: Any = None
        self.count = 0
        self.unsettled = 0
        self.walled = False  # whether it came where the criterion is not credible

    def spent(self, max_evaluations: int) -> bool:
        """Whether evaluations are used up, or too many of them were no good."""
        too_many = self.unsettled > _UNSETTLED * max_evaluations
        return self.count >= max_evaluations or too_many

    def ascent(self, converged: bool, outlook: Outlook | None = None) -> Ascent:
        """What was found, and where it ends unless there is an outlook."""
        if outlook is None:
            p = len(self.best.theta)
            outlook = Outlook(self.best.theta, np.zeros((p, p)), self.best.start)
        return Ascent(self.best, self.count, converged, outlook, self.unsettled)

    def __call__(self, theta: np.ndarray) -> Any:
        start = self.start if self.best is None else self.best.start
        self.count += 1
        try:
            found = self.evaluate(theta, start)
        except FloatingPointError:
            if self.best is None:  # the very start: the caller must hear of it
                raise
            return self._wall(theta)
        self.unsettled += not found.settled
        if self.best is None or rank(found) > rank(self.best):
            self.best = found
        if found.credible >= self.best.credible:
            return found
        self.walled = True
        return self._wall(theta)

    def _wall(self, theta: np.ndarray) -> _Refused:
        """What a line search walks back from; finite, for it interpolates."""
        return _Refused(theta, self.best.value - 1e6, np.zeros_like(theta))


def rank(found: _Evaluated) -> tuple[bool, float]:
    """What makes one evaluation better than another: first that it is credible."""
    return found.credible, found.value


def climb(
    evaluate: _Evaluate,
    theta: np.ndarray,
    box: np.ndarray,
    scale: np.ndarray,
    max_evaluations: int,
    gain: float,
) -> Ascent:
    """L-BFGS-B in units of ``scale``, until two steps running gain less than ``gain``.

    Where the first two gradients are alike the secant sees no curvature, and the next step ends
    in a corner of the box, where the criterion may be too inexact for any step to lead out. A
    climb that ends on a slope is made again near its start, and the better end is kept.
    """
    hill = _Hill(evaluate, scale, gain)
    best = hill.climbed(theta, box, max_evaluations)
    left, at_hand = max_evaluations - best.n_evaluations, hill.promise(best.best, box)
    if at_hand < _SLOPE * gain:
        # A line search that cannot tell better from worse any more has done its work.
        return replace(best, converged=best.converged or at_hand < gain)
    if best.n_unsettled > _UNSETTLED * max_evaluations:
        return best
    near = np.clip(box, (theta - _REACH)[:, None], (theta + _REACH)[:, None])
    for within in (near, box):
        if left > 0:
            found = hill.climbed(theta, within, left)
            best = max(best, found, key=lambda ascent: rank(ascent.best))
            theta, left = found.best.theta, left - found.n_evaluations
    return replace(best, n_evaluations=max_evaluations - left)


@dataclass(frozen=True)
class _Hill:
    """What is climbed, in which units, and which gain is too small to go on for."""

    evaluate: _Evaluate
    scale: np.ndarray
    gain: float

    def promise(self, at: _Evaluated, box: np.ndarray) -> float:
        """Nats ahead of a point, were the curvature one in units of ``scale``."""
        return 0.5 * float(np.sum((at.gradient * self.scale)[_free(at, box)] ** 2))

    def climbed(self, theta: np.ndarray, box: np.ndarray, max_evaluations: int) -> Ascent:
        """One run of L-BFGS-B."""
        record, scale = _Recorder(self.evaluate), self.scale
        small_steps, last = 0, -np.inf

        def negative(z: np.ndarray) -> tuple[float, np.ndarray]:
            if record.spent(max_evaluations):  # L-BFGS-B asks only between line searches
                raise _ExhaustedError
            # From unit to unit and back a bound may be missed by its last digit.
            found = record(np.clip(z * scale, box[:, 0], box[:, 1]))
            return -found.value, -found.gradient * scale

        def enough(z: np.ndarray) -> None:
            nonlocal small_steps, last
            small_steps = small_steps + 1 if record.best.value - last < self.gain else 0
            last = record.best.value
            if small_steps >= 2:
                raise StopIteration

        try:
            result = minimize(
                negative, theta / scale, jac=True, method="L-BFGS-B",
                bounds=box / scale[:, None], callback=enough,
                options={"maxls": 10, "ftol": 1e-12},
            )  # fmt: skip
        except _ExhaustedError:
            return record.ascent(converged=False)
        # Where belief ends the search is over, as it is at an end of the box.
        done = bool(result.success) or small_steps >= 2 or record.walled
        return record.ascent(converged=done)


def curvature(evaluate: _Evaluate, at: _Evaluated, box: np.ndarray) -> np.ndarray:
    """Hessian by forward differences of the exact gradient, one evaluation a parameter."""
    p, step = len(at.theta), 1e-3  # on logarithms: rounding and truncation both near 1e-4
    hessian = np.empty((p, p))
    for i in range(p):
        # Step inwards at the upper end of the box.
        h = -step if at.theta[i] + step > box[i, 1] else step
        moved = at.theta.copy()
        moved[i] += h
        hessian[i] = (evaluate(moved, at.start).gradient - at.gradient) / h
    return 0.5 * (hessian + hessian.T)


def refine(
    evaluate: _Evaluate, outlook: Outlook, box: np.ndarray, max_evaluations: int, gain: float
) -> Ascent:
    """Quasi-Newton ascent near the top, until a step promises less than ``gain``."""
    record = _Recorder(evaluate, outlook.start)
    here, inverse = record(_inside(outlook.theta, box)), outlook.inverse
    while True:
        step = _step(here, inverse, box)
        ahead = Outlook(_inside(here.theta + step, box), inverse, here.start)
        enough = 0.5 * float(here.gradient @ step) < gain
        if enough or record.spent(max_evaluations):
            return record.ascent(enough, ahead)
        there = record(ahead.theta)
        while there.value < here.value and not record.spent(max_evaluations):
            step *= 0.3
            if 0.5 * float(here.gradient @ step) < gain:
                return record.ascent(converged=True)
            there = record(_inside(here.theta + step, box))
        inverse = _secant(inverse, there.theta - here.theta, here.gradient - there.gradient)
        here = there


def _inside(theta: np.ndarray, box: np.ndarray) -> np.ndarray:
    return np.clip(theta, box[:, 0], box[:, 1])


def _step(at: _Evaluated, inverse: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Newton's step over the parameters that may move, by a factor of e^2 at most in any."""
    free = _free(at, box)
    step = np.where(free, inverse @ np.where(free, at.gradient, 0.0), 0.0)
    return step * (2.0 / max(float(np.max(np.abs(step))), 2.0))


def _free(at: _Evaluated, box: np.ndarray) -> np.ndarray:
    """Parameters that may move: not at an end of the box with the gradient pointing out."""
    low = (at.theta <= box[:, 0]) & (at.gradient < 0)
    high = (at.theta >= box[:, 1]) & (at.gradient > 0)
    return ~(low | high)


def _positive_inverse(matrix: np.ndarray) -> np.ndarray:
    """Inverse with negative or vanishing eigenvalues turned into moderate positive ones."""
    values, vectors = np.linalg.eigh(matrix)
    # One nat per unit squared: the curvature of a prior of unit width on a logarithm.
    return (vectors / np.maximum(np.abs(values), 1.0)) @ vectors.T


def _secant(inverse: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """BFGS update of the inverse curvature; skipped where the secant sees no curvature."""
    sy = float(s @ y)
    if sy <= 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):  # rounding of the product
        return inverse
    left = np.eye(len(s)) - np.outer(s, y) / sy
    return left @ inverse @ left.T + np.outer(s, s) / sy
