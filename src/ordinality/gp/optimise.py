"""Maximisation of a learning criterion over the free parameters of a model.

On large sets the search goes *coarse to fine*: it starts on a subset, and the maximum there,
with its Hessian (which grows in proportion to the number of rows), leaves only a few steps to
do on all the rows.

Two optimisers serve for that, both for smooth functions that are expensive to evaluate. `lbfgs`
starts from nothing. `refine` starts near the maximum with a good guess of the Hessian: a Newton
step or two with secant updates, until the next is expected to gain too little. Both see only
``evaluate(theta, start)``, which is handed the best state so far to start its engine from.

Nocedal & Wright (2006), "Numerical optimization", chapters 6 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from scipy.optimize import minimize

from ..kernels.base import workspace
from .hyperpriors import Hyperprior

__all__ = [
    "Fit",
    "Learnable",
    "NextStep",
    "SearchResult",
    "curvature",
    "lbfgs",
    "learn_points",
    "maximise",
    "refine",
    "scattered",
    "stratified_order",
]

# The first subset has rows enough for a dozen parameters and costs next to nothing; each
# further stage has about twice the rows, so that the Hessian brought along is good.
_DIRECT = 400  # rows up to which there is nothing to gain
_COARSEST = 250
_GROWTH = 2.5
_CHEAPER = 0.7  # share of the effort from which a stage costs as much as it saves

# Nats (log units of the criterion) that an optimiser need not gain any more.
_ROUGH = 0.05  # on a subset
_NEAR = 0.1  # one more step, with the exact engine, leaves next to nothing of them
# For L-BFGS on all the rows, because it crosses plateaus: with 2e-3 four of 214 small problems
# stopped up to 5 nats below the maximum, with this none, for two more evaluations in 16.
_LEAST = 2e-4
# For inducing points, for each row: hundreds of parameters, none of which matters by itself.
_A_ROW = 1e-4

# Tolerances of the engine. A line search would not see its end with gradients worse than the
# first; a Hessian is a difference of gradients; the Newton steps on all the rows lose some 2e-4
# nats by the last, and the first of them a tenth of its expected gain with one ten times that.
_SEARCHING, _DIFFERENCING, _STEPPING = 3e-5, 1e-4, 1e-3

# How much better level and scale of the latent function are known on more rows: powers of the
# ratio of rows, as seen on synthetic problems of 500 to 2000.
_LEVEL, _SCALE = 0.3, 0.55

_REACH = 3.0  # of a repeated search: a factor of twenty in any parameter

# Times the gain: of 298 fits of label rankings 295 ended with at most 2.3 expected, three in a
# corner with 98 and more.
_SLOPE = 10.0

# Share of the evaluations that may come from an engine that did not converge. Such a one costs
# 60 updates and 30 sweeps of seven each, 270 in all, and nine in ten others at most 27: so this
# share at most doubles the price of the longest search. Gradients that far off lead nowhere.
_UNCONVERGED = 0.1


class Learnable(Protocol):
    """Data, model and criterion: a function of theta to be maximised."""

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
    def near(self, theta: np.ndarray) -> Self: ...
    def gauge(self, theta: np.ndarray) -> np.ndarray: ...
    def model(self, theta: np.ndarray) -> tuple[Any, ...]: ...
    def subset(self, index: np.ndarray) -> Self: ...
    def rough(self, tol: float) -> Self: ...
    def evaluate(self, theta: np.ndarray, start: Any = None) -> Any: ...


Model = TypeVar("Model", bound=Learnable)
Tell = Callable[[int, float], None]
_Evaluate = Callable[..., Any]


class _Evaluated(Protocol):
    """What ``evaluate`` returns."""

    @property
    def theta(self) -> np.ndarray: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> np.ndarray: ...
    @property
    def start(self) -> Any: ...
    @property
    def converged(self) -> bool: ...
    @property
    def credible(self) -> bool: ...


@dataclass(frozen=True)
class Fit(Generic[Model]):
    """The best model found, and how the search went."""

    problem: Model
    best: Any  # the evaluation
    n_evaluations: int  # on all the rows
    path: tuple[tuple[int, int], ...]  # (rows, evaluations) of every stage
    converged: bool

    @cached_property
    def kernel(self) -> Any:
        """The learnt kernel."""
        return self.problem.model(self.best.theta)[0]

    @cached_property
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
    """Maximise criterion plus log prior, from ``problem.theta`` and further ``starts``.

    A step expected to gain less than ``gain`` nats is not taken; ``max_evaluations`` counts
    per stage and start. ``mapper`` runs the starts, ``hold(rows)`` is the context of a stage,
    and ``tell(observations, value)`` is called after every evaluation, from any thread.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    exact = max_evaluations == 1  # then that one is exact
    subsets = _subproblems(problem, rng) if coarse_to_fine and not exact else []
    tol = 0.0 if exact else _STEPPING if subsets else _SEARCHING
    if not subsets:
        problem = problem.near(problem.theta)
    coarse = subsets[0].near(problem.theta) if subsets else problem.rough(tol)
    box, scale = problem.box, _scale(coarse)
    enough = _ROUGH if subsets else min(gain, _LEAST)
    ends_rough = bool(subsets) or coarse is not problem
    most = max_evaluations - ends_rough  # one is left for the exact end

    def search(theta: np.ndarray) -> SearchResult:
        with workspace():
            return lbfgs(_telling(coarse, tell), theta, box, scale, most, enough)

    with hold(len(coarse.y)):
        found = list(mapper(search, [problem.theta, *starts]))
    best = max(found, key=lambda result: _merit(result.best))
    path = [(len(coarse.y), sum(result.n_evaluations for result in found))]
    for stage in [*subsets[1:], problem] if subsets else []:
        theta = best.best.theta
        with hold(len(coarse.y)), workspace():
            hessian = curvature(_telling(coarse, tell), best.best, box)
        fine = stage.near(theta)
        if stage is problem:
            problem, enough = fine, max(gain, _NEAR)
            fine = fine.rough(tol)
        with hold(len(fine.y)), workspace():
            step = NextStep.of(theta, _grown(hessian, theta, coarse, fine))
            best = refine(_telling(fine, tell), step, box, most, enough)
        path.append((len(fine.y), best.n_evaluations))
        coarse = fine
    if ends_rough:
        with hold(len(problem.y)), workspace():
            last = _exact_end(problem, best, box, max_evaluations, gain, tell)
        path[-1] = (len(problem.y), path[-1][1] + last.n_evaluations)
        best = replace(last, converged=best.converged and last.converged)
    return Fit(problem, best.best, path[-1][1], tuple(path), best.converged)


def learn_points(
    problem: Model, at: _Evaluated, max_evaluations: int, tell: Tell | None = None
) -> Fit[Model]:
    """Maximise over theta and the inducing points of a problem together, from an evaluation.

    With points free the evidence is no bound, and may pass that of exact inference: it leads
    the search, but says nothing about which of two sets of points is better.
    """
    whole: Any = problem
    p, Z, rows = len(at.theta), whole.Z, float(whole.weights.sum())
    # A point is felt by its share of the rows.
    scale = np.append(_scale(whole), np.full(Z.size, (0.25 * rows / len(Z)) ** -0.5))
    box = np.vstack([whole.box, np.full((Z.size, 2), (-np.inf, np.inf))])
    search = _lbfgs_once(
        _of_theta_and_points(whole.rough(_SEARCHING), p, tell), np.append(at.theta, Z), box,
        scale, max_evaluations, _A_ROW * rows,
    )  # fmt: skip
    theta, learnt = search.best.theta[:p], search.best.theta[p:].reshape(Z.shape)
    whole, count = replace(whole, Z=learnt), search.n_evaluations + 1
    best = whole.evaluate(theta, search.best.start)
    return Fit(whole, best, count, ((len(whole.y), count),), search.converged)


def _of_theta_and_points(problem: Any, p: int, tell: Tell | None = None) -> _Evaluate:
    """The evaluation as a function of theta, of length p, followed by the points."""

    def evaluate(joint: np.ndarray, start: Any = None) -> Any:
        moved = replace(problem, Z=joint[p:].reshape(problem.Z.shape))
        found, by_points = moved.evaluate_with_points(joint[:p], start)
        if tell is not None:
            tell(len(moved.y), found.value)
        return replace(found, theta=joint, gradient=np.append(found.gradient, by_points))

    return evaluate


def scattered(problem: Learnable, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Random starts around the first, as wide as the prior (a factor of e where it is flat)."""
    box = problem.box
    sd = np.ones(len(box)) if problem.prior is None else np.minimum(problem.prior.sd, 1.0)
    draws = problem.theta + sd * rng.normal(size=(count, len(box)))
    return list(np.clip(draws, box[:, 0], box[:, 1]))


def _subproblems(problem: Model, rng: np.random.Generator) -> list[Model]:
    """Problems on subsets to solve one after another, each as exactly as a search needs."""
    parts = [problem.subset(index).rough(_DIFFERENCING) for index in _subsets(problem.y, rng)]
    # A few comparisons see most of the items, and then cost what all of them do.
    return [part for part in parts if part.effort < _CHEAPER * problem.effort]


def _subsets(y: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Growing nested subsets that keep the proportions of the levels, smallest first."""
    n = len(y)
    if n <= _DIRECT:
        return []
    # A last stage of a third more than the growth is better done whole than split in two.
    steps = max(1, int(np.ceil(np.log(n / _COARSEST) / np.log(_GROWTH) - 0.35)))
    sizes = [round(n * (_COARSEST / n) ** (step / steps)) for step in range(steps, 0, -1)]
    order = stratified_order(y, rng)
    return [np.sort(order[:size]) for size in sizes]


def stratified_order(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random order of the rows of which every beginning keeps the shares of the levels."""
    # Random within a level, then interleaved by relative place.
    place = np.empty(len(y))
    for level in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == level))
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(place, kind="stable")


def _scale(problem: Learnable) -> np.ndarray:
    """Units in which the Hessian at the start is near one, so that first steps are moderate.

    An observation carries about a quarter of a nat per unit squared about a logarithm.
    """
    prior = 0.0 if problem.prior is None else problem.prior.sd**-2.0
    return np.full(len(problem.theta), (0.25 * problem.weights.sum() + prior) ** -0.5)


def _telling(problem: Learnable, tell: Tell | None) -> _Evaluate:
    """The function that evaluates a problem, and tells what was found."""
    if tell is None:
        return problem.evaluate

    def evaluate(theta: np.ndarray, start: Any = None) -> Any:
        found = problem.evaluate(theta, start)
        tell(len(problem.y), found.value)
        return found

    return evaluate


def _grown(
    hessian: np.ndarray, theta: np.ndarray, coarse: Learnable, fine: Learnable
) -> np.ndarray:
    """Hessian on more rows: that of the data grows with their number, the prior's stays.

    Not so along the gauge: a shift or a stretch of the latent function that thresholds and
    noise compensate is seen by its prior alone, so that more rows say little about it.
    """
    prior = np.zeros(len(hessian)) if coarse.prior is None else coarse.prior.curvature(theta)
    data, ratio = -hessian - np.diag(prior), fine.weights.sum() / coarse.weights.sum()
    grown, along = ratio * data, np.linalg.pinv(coarse.gauge(theta))
    if len(along) and np.linalg.eigvalsh(data)[0] > 0.0:
        # Precision of the coordinates along the gauge, whatever the others.
        known = np.linalg.inv(along @ np.linalg.solve(data, along.T))
        root = ratio ** (0.5 * np.array([_LEVEL, _SCALE]))
        grown += along.T @ (root[:, None] * known * root - ratio * known) @ along
    return -grown - np.diag(prior)


def _exact_end(
    problem: Learnable,
    rough: SearchResult,
    box: np.ndarray,
    max_evaluations: int,
    gain: float,
    tell: Tell | None,
) -> SearchResult:
    """The last steps, with the exact engine: at least one, and as a rule no more.

    The first is where the rough search would have gone next; that costs no more than to
    evaluate again where it stopped.
    """
    left = max(max_evaluations - rough.n_evaluations, 1)
    evaluate = _telling(problem, tell)
    there = refine(evaluate, rough.next_step, box, left, gain)
    if _merit(there.best) >= (rough.best.credible, rough.best.value - gain):
        return there
    back = evaluate(rough.best.theta, rough.best.start)
    return replace(there, best=back, n_evaluations=there.n_evaluations + 1)


@dataclass(frozen=True)
class NextStep:
    """A step that was not taken: where it leads, and what is known for those after it."""

    theta: np.ndarray
    inverse: np.ndarray  # of the negative Hessian, as far as it is known
    start: Any = None  # of the engine

    @classmethod
    def of(cls, theta: np.ndarray, hessian: np.ndarray) -> NextStep:
        """To a point near the maximum with a guess of the Hessian, right or wrong."""
        values, vectors = np.linalg.eigh(-hessian)
        # Eigenvalues that are negative or vanish become one nat per unit squared at least: the
        # Hessian of a prior of unit width on a logarithm.
        return cls(theta, (vectors / np.maximum(np.abs(values), 1.0)) @ vectors.T)


@dataclass(frozen=True)
class SearchResult:
    """The best evaluation of an optimiser, and how it would go on."""

    best: Any
    n_evaluations: int
    converged: bool
    next_step: NextStep
    n_unconverged: int = 0  # evaluations whose engine did not converge


class _ExhaustedError(Exception):
    """No evaluations are left."""


@dataclass(frozen=True)
class _Rejected:
    """A theta at which the criterion cannot be computed, or is not credible."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray


def _merit(found: _Evaluated) -> tuple[bool, float]:
    """What makes one evaluation better than another: first that it is credible."""
    return found.credible, found.value


class _Recorder:
    """Evaluates, counts, keeps the best and hands on its engine state."""

    def __init__(self, evaluate: _Evaluate, start: Any = None) -> None:
        self.evaluate = evaluate
        self.start = start
        self.best: Any = None
        self.count = 0
        self.unconverged = 0
        self.rejected = False  # whether it came where the criterion is not credible

    def spent(self, max_evaluations: int) -> bool:
        """Whether evaluations are used up, or too many of their engines did not converge."""
        too_many = self.unconverged > _UNCONVERGED * max_evaluations
        return self.count >= max_evaluations or too_many

    def result(self, converged: bool, next_step: NextStep | None = None) -> SearchResult:
        """What was found; without a next step, one that stays at the best."""
        if next_step is None:
            p = len(self.best.theta)
            next_step = NextStep(self.best.theta, np.zeros((p, p)), self.best.start)
        return SearchResult(self.best, self.count, converged, next_step, self.unconverged)

    def __call__(self, theta: np.ndarray) -> Any:
        start = self.start if self.best is None else self.best.start
        self.count += 1
        try:
            found = self.evaluate(theta, start)
        except FloatingPointError:
            if self.best is None:  # at the very start: the caller must know
                raise
            return self._reject(theta)
        self.unconverged += not found.converged
        if self.best is None or _merit(found) > _merit(self.best):
            self.best = found
        if found.credible >= self.best.credible:
            return found
        self.rejected = True
        return self._reject(theta)

    def _reject(self, theta: np.ndarray) -> _Rejected:
        # Lower than the best by far more than a step gains, so that a line search steps back;
        # finite, because it interpolates.
        return _Rejected(theta, self.best.value - 1e6, np.zeros_like(theta))


def lbfgs(
    evaluate: _Evaluate,
    theta: np.ndarray,
    box: np.ndarray,
    scale: np.ndarray,
    max_evaluations: int,
    gain: float,
) -> SearchResult:
    """L-BFGS-B in units of ``scale``, until two steps running gain less than ``gain``.

    Where the first two gradients are alike the secant sees no curvature, and the next step ends
    in a corner of the box, where the criterion may be too inexact for any step to lead out. A
    search that ends on a slope is repeated near its start, and the better end is kept.
    """
    best = _lbfgs_once(evaluate, theta, box, scale, max_evaluations, gain)
    left, at = max_evaluations - best.n_evaluations, best.best
    # Nats still to gain, were the Hessian one in units of ``scale``.
    expected = 0.5 * float(np.sum((at.gradient * scale)[_free(at, box)] ** 2))
    if expected < _SLOPE * gain:
        # A line search that cannot tell better from worse any more has done its work.
        return replace(best, converged=best.converged or expected < gain)
    if best.n_unconverged > _UNCONVERGED * max_evaluations:
        return best
    near = np.clip(box, (theta - _REACH)[:, None], (theta + _REACH)[:, None])
    for within in (near, box):
        if left > 0:
            found = _lbfgs_once(evaluate, theta, within, scale, left, gain)
            best = max(best, found, key=lambda result: _merit(result.best))
            theta, left = found.best.theta, left - found.n_evaluations
    return replace(best, n_evaluations=max_evaluations - left)


def _lbfgs_once(
    evaluate: _Evaluate,
    theta: np.ndarray,
    box: np.ndarray,
    scale: np.ndarray,
    max_evaluations: int,
    gain: float,
) -> SearchResult:
    """One run of L-BFGS-B."""
    record = _Recorder(evaluate)
    small_steps, last = 0, -np.inf

    def negative(z: np.ndarray) -> tuple[float, np.ndarray]:
        if record.spent(max_evaluations):  # L-BFGS-B asks only between line searches
            raise _ExhaustedError
        # From unit to unit and back a bound may be missed by its last digit.
        found = record(np.clip(z * scale, box[:, 0], box[:, 1]))
        return -found.value, -found.gradient * scale

    def stop_at_small_steps(z: np.ndarray) -> None:
        nonlocal small_steps, last
        small_steps = small_steps + 1 if record.best.value - last < gain else 0
        last = record.best.value
        if small_steps >= 2:
            raise StopIteration

    try:
        result = minimize(
            negative, theta / scale, jac=True, method="L-BFGS-B",
            bounds=box / scale[:, None], callback=stop_at_small_steps,
            # The callback stops the search; ftol does where values agree in twelve digits, of
            # which the last are rounding.
            options={"maxls": 10, "ftol": 1e-12},
        )  # fmt: skip
    except _ExhaustedError:
        return record.result(converged=False)
    # The end of the credible region ends the search, as an end of the box does.
    done = bool(result.success) or small_steps >= 2 or record.rejected
    return record.result(converged=done)


def curvature(evaluate: _Evaluate, at: _Evaluated, box: np.ndarray) -> np.ndarray:
    """Hessian by forward differences of the exact gradient, one evaluation per parameter."""
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
    evaluate: _Evaluate, first: NextStep, box: np.ndarray, max_evaluations: int, gain: float
) -> SearchResult:
    """Quasi-Newton steps near the maximum, while one is expected to gain ``gain`` or more."""
    record = _Recorder(evaluate, first.start)
    here, inverse = record(_inside(first.theta, box)), first.inverse
    while True:
        step = _newton_step(here, inverse, box)
        ahead = NextStep(_inside(here.theta + step, box), inverse, here.start)
        enough = 0.5 * float(here.gradient @ step) < gain
        if enough or record.spent(max_evaluations):
            return record.result(enough, ahead)
        there = record(ahead.theta)
        while there.value < here.value and not record.spent(max_evaluations):
            step *= 0.3
            if 0.5 * float(here.gradient @ step) < gain:
                return record.result(converged=True)
            there = record(_inside(here.theta + step, box))
        inverse = _secant(inverse, there.theta - here.theta, here.gradient - there.gradient)
        here = there


def _inside(theta: np.ndarray, box: np.ndarray) -> np.ndarray:
    return np.clip(theta, box[:, 0], box[:, 1])


def _newton_step(at: _Evaluated, inverse: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Newton's step over the free parameters, by a factor of e^2 at most in any."""
    free = _free(at, box)
    step = np.where(free, inverse @ np.where(free, at.gradient, 0.0), 0.0)
    return step * (2.0 / max(float(np.max(np.abs(step))), 2.0))


def _free(at: _Evaluated, box: np.ndarray) -> np.ndarray:
    """Parameters that may move: not at an end of the box with the gradient pointing out."""
    low = (at.theta <= box[:, 0]) & (at.gradient < 0)
    high = (at.theta >= box[:, 1]) & (at.gradient > 0)
    return ~(low | high)


def _secant(inverse: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """BFGS update of the inverse Hessian; skipped where the secant sees no curvature."""
    sy = float(s @ y)
    if sy <= 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):  # rounding of the product
        return inverse
    left = np.eye(len(s)) - np.outer(s, y) / sy
    return left @ inverse @ left.T + np.outer(s, s) / sy
