"""Dual solver of the support vector machines: SMO with shrinking, and Newton steps.

`solve` takes compiled steps of two multipliers (`smo`) and computes the kernel rows they need.
Now and then it leaves out terms that are at a bound and likely to stay there (shrinking, as in
LIBSVM); all are checked again before the end.

Without thresholds it also takes Newton steps. Steps of two multipliers soon find which of them
end at a bound, but where rows are nearly dependent and C is large they then converge slowly.
What is left is a linear system in the multipliers between their bounds, a face of the box. A
Newton step that would leave the box is projected onto it, and multipliers that reached a bound
stay there while the rest is solved again (Bertsekas, 1982, *Projected Newton methods for
optimization problems with simple constraints*; More and Toraldo, 1991).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv

from .._compile import loop
from .kernel_rows import KernelRows, RowCache
from .smo import CONVERGED, MISSING, brackets, classify_terms, take_steps, violations
from .terms import Terms

__all__ = [
    "Report",
    "Solution",
    "check_cost",
    "newton_on_face",
    "recover_thresholds",
    "solve",
    "term_brackets",
]

_SHRINK_PERIOD = 1000  # steps between two attempts to shrink
_NEWTON_PERIOD = 300  # the same where a Newton step may be taken too
_SHRINK_SHARE = 0.8  # shrink only if at most this share of the terms stays
_SHRINK_SIZE = 300  # terms below which shrinking saves nothing

# A Newton step of q of M terms costs as much as q**3 / (_NEWTON_COST M) steps, by measurement.
_NEWTON_COST = 100.0
_NEWTON_ROUNDS = 12  # linear systems per Newton step at most
# Share of the tolerance by which the ridge of a Newton step changes F if the largest possible
# multiplier moves from one bound to the other.
_RIDGE_SHARE = 0.01
# Multipliers within this share of a bound are set to it: the solution of a system has rounding
# errors of 1e-16 times a condition number, which the ridge holds down.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Report:
    """How a solution was reached."""

    n_steps: int  # pairs of multipliers moved
    violation: float  # by how much the brackets of thresholds still overlap
    converged: bool  # whether the violation is within the tolerance


@dataclass(frozen=True, eq=False)
class Solution:
    """Multipliers of a machine, its scores and thresholds."""

    terms: Terms
    alpha: np.ndarray  # (M,); multiplier of each term, between zero and ``terms.upper``
    mu: np.ndarray  # (J,); ``mu[j]`` belongs to ``b[j-1] <= b[j]``; ``mu[0]`` is zero
    scores: np.ndarray  # (n,); ``K beta``
    lower: np.ndarray  # (J,); lower ends of the brackets of the thresholds, or -inf
    upper: np.ndarray  # (J,); upper ends, or inf
    thresholds: np.ndarray  # (J,); one choice within the brackets, see `recover_thresholds`
    report: Report

    @property
    def beta(self) -> np.ndarray:
        """Weight of each kernel row in the score, shape (n,)."""
        return _weights(self.terms, self.alpha)

    @property
    def objective(self) -> float:
        """Value of the dual, ``hinge sum alpha - beta' K beta / 2``."""
        return float(self.terms.hinge * self.alpha.sum() - 0.5 * self.beta @ self.scores)

    @property
    def primal(self) -> float:
        """``beta' K beta / 2 + push' b`` plus the cost of all slack, b as chosen."""
        terms = self.terms
        margin = terms.sign * (self.scores[terms.row] - self.thresholds[terms.node])
        slack = np.maximum(terms.hinge - margin, 0.0)
        return float(
            0.5 * self.beta @ self.scores + terms.upper @ slack + terms.push @ self.thresholds
        )

    @property
    def gap(self) -> float:
        """How far the dual may still be from the optimum, ``primal - objective``."""
        return self.primal - self.objective


def solve(
    terms: Terms,
    rows: KernelRows,
    *,
    start: Solution | None = None,
    tol: float = 1e-3,
    max_steps: int = 1_000_000,
    cache_bytes: int = 2**28,
    tell: Callable[[int, float], None] | None = None,
) -> Solution:
    """Maximise the dual ``hinge sum alpha - beta' K beta / 2``.

    Subject to ``0 <= alpha <= upper`` and ``sum sign alpha = -push[j] + mu[j] - mu[j+1]`` over
    the terms of each node j, where mu is zero unless thresholds are chained and the constraint
    is absent where the threshold is pinned; ``beta[i]`` sums ``sign alpha`` over row i.

    ``start`` is a solution for the same terms, perhaps at another C. ``tol`` is the overlap of
    brackets allowed, as a share of the margin. ``tell(n_steps, violation)`` is called now and
    then.
    """
    work = _ActiveProblem(terms, rows, *_initial_point(terms, start), cache_bytes)
    n_steps, shrunk_at, unshrunk, within = 0, 0, False, work.tolerance(tol)
    period, newton_at = _NEWTON_PERIOD if terms.pinned else _SHRINK_PERIOD, 0
    while True:
        budget = min(shrunk_at + period, max_steps) - n_steps
        outcome, missing, done, violation = work.take_steps(within, budget)
        n_steps += done
        if tell is not None and done and outcome != MISSING:
            tell(n_steps, float(violation))
        over = outcome == CONVERGED or n_steps >= max_steps
        if outcome == MISSING:
            work.fetch(missing)
        elif work.shrunk and (over or (violation <= 10 * within and not unshrunk)):
            # As in LIBSVM: terms left out are checked once near the end, and at the end.
            unshrunk = True
            work.unshrink()
        elif outcome == CONVERGED and within > work.tolerance(tol):
            # The widths of the bands, and with them the tolerance, have shrunk on the way.
            within = 0.5 * work.tolerance(tol)
        elif over:
            break
        else:
            shrunk_at = n_steps
            work.shrink()
            if terms.pinned and work.newton_step(n_steps - newton_at, within):
                newton_at = n_steps
    violation = max(work.violations()[1], 0.0)
    return work.solution(Report(n_steps, violation, violation <= work.tolerance(tol)))


def _weights(terms: Terms, alpha: np.ndarray) -> np.ndarray:
    return np.bincount(terms.row, terms.sign * alpha, minlength=terms.n_rows)


def _initial_point(terms: Terms, start: Solution | None) -> tuple[np.ndarray, np.ndarray]:
    """Feasible alpha and mu: an earlier solution scaled to the new C, or zeros if possible."""
    if start is not None and terms.pinned:
        # No sums to keep: multipliers at their bound go to the new bound, the others stay.
        bound = start.alpha >= start.terms.upper
        alpha = np.where(bound, terms.upper, np.minimum(start.alpha, terms.upper))
        return alpha, np.zeros(1)
    if start is not None:
        ratio = np.max(terms.upper) / np.max(start.terms.upper) if terms.hinge else 1.0
        alpha = ratio * start.alpha
        # Beyond the bounds the costs have changed by different factors, and clipping would
        # break the sums.
        limit = (1 + 1e-12) * terms.upper  # ratio and product err by 1e-16 each
        if np.all(alpha <= limit):
            return np.minimum(alpha, terms.upper), ratio * start.mu
    alpha, mu = np.zeros(len(terms.row)), np.zeros(terms.n_nodes)
    if not terms.hinge:
        # Bands: one unit is spread over the terms of each side, as far as their costs allow.
        # The two sides that bound a level have the same rows and lack the same amount, which
        # the chain's multiplier between them supplies; the outermost must have enough.
        room = check_cost(terms)
        share = np.minimum(1.0, room)
        mu[2::2] = 1.0 - share[2::2]
        np.divide(share, room, out=share, where=room > 0)
        alpha[:] = share[terms.node] * terms.upper
    return alpha, mu


def check_cost(terms: Terms) -> np.ndarray:
    """Sum of ``upper`` over each node; refuse a C for which bands could grow without limit."""
    room = np.bincount(terms.node, terms.upper, minlength=terms.n_nodes)
    if not terms.hinge and min(room[0], room[-1]) < 1.0:
        raise ValueError(
            "C is too small for the sum of margins: C times the number of rows (or the sum of "
            f"their weights) of the lowest and of the highest level must be at least 1, and is "
            f"{min(room[0], room[-1]):.3g}; choose a larger C."
        )
    return room


class _ActiveProblem:
    """Multipliers and scores during the solution, and the arrays of the active terms."""

    def __init__(
        self, terms: Terms, rows: KernelRows, alpha: np.ndarray, mu: np.ndarray, n_bytes: int
    ) -> None:
        self.terms, self.rows, self.cache = terms, rows, RowCache(rows, n_bytes)
        self.alpha, self.mu = alpha, mu
        self.f = rows.times(_weights(terms, alpha))
        self.target = terms.hinge * terms.sign
        self.rules = (terms.chained, terms.pinned)
        self._activate(np.arange(len(terms.row)), np.arange(terms.n_rows))

    @property
    def shrunk(self) -> bool:
        return len(self._terms) < len(self.terms.row)

    def tolerance(self, tol: float) -> float:
        """How much brackets may overlap: ``tol`` as a share of the margin.

        For bands, whose widths sum to ``|w|^2`` when no row has slack, half the mean width
        takes the place of a margin of one. Bands may have no width at all; then rounding of
        the scores, 1e-12 of the diagonal after some thousand steps, is the tolerance.
        """
        if self.terms.hinge:
            return tol
        self._store()
        widths = float(_weights(self.terms, self.alpha) @ self.f)
        return max(tol * widths / self.terms.n_nodes, 1e-12 * float(np.max(self.rows.diag)))

    def take_steps(self, tol: float, budget: int) -> Any:
        cache = self.cache
        return take_steps(
            cache.store, cache.slot, cache.stamp, self._f, self._diag, self._arrays, self._up,
            self._low, self.mu, self.rules, self._working, self._goal, tol, budget,
        )  # fmt: skip

    def violations(self) -> tuple[np.ndarray, float]:
        """Violation of optimality of each active term, and the largest of a pair."""
        by_term, (row, node) = np.empty(len(self._terms)), self._arrays[:2]
        most = violations(self._f, row, node, self._up, self._low, self.mu, self.rules, by_term)
        return by_term, float(most)

    def fetch(self, missing: int) -> None:
        """Compute a missing kernel row, and with it those of the most violating terms."""
        wanted = np.array([missing])
        if self.cache.ahead > 1:
            worst = np.argsort(-self.violations()[0])[: 4 * self.cache.ahead]
            likely = self._arrays[0][worst]
            likely = likely[self.cache.slot[likely] < 0]
            wanted = np.concatenate([wanted, likely])
            wanted = wanted[np.sort(np.unique(wanted, return_index=True)[1])]
            wanted = wanted[: self.cache.ahead]
        self.cache.fetch(wanted)

    def shrink(self) -> None:
        """Leave out terms that are at a bound and on the correct side of every bracket."""
        if len(self._terms) < _SHRINK_SIZE:
            return
        keep = np.flatnonzero(self.violations()[0] >= 0)
        if not len(keep) or len(keep) > _SHRINK_SHARE * len(self._terms):
            return  # with none left the next steps report convergence
        self._store()
        kept_rows = np.unique(self._arrays[0][keep])
        self.cache.shrink(kept_rows)
        self._activate(self._terms[keep], self._rows[kept_rows])

    def unshrink(self) -> None:
        """Make all terms active again; the scores of rows left out are computed anew."""
        self._store()
        out = np.setdiff1d(np.arange(self.terms.n_rows), self._rows, assume_unique=True)
        self.f[out] = self.rows.times(_weights(self.terms, self.alpha), out)
        self.cache.unshrink()
        self._activate(np.arange(len(self.terms.row)), np.arange(self.terms.n_rows))

    def newton_step(self, since: int, tol: float) -> bool:
        """Move all multipliers between their bounds, if ``since`` steps cost as much.

        Only without thresholds: then each term has its own row and there are no sums to keep.
        """
        row, _, sign, target, upper, alpha = self._arrays
        free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
        if not len(free) or since * _NEWTON_COST * len(alpha) < float(len(free)) ** 3:
            return False
        rows = self.cache.several(row[free])
        if rows is None:
            return False
        slope = target[free] - self._f[row[free]]
        ridge = _RIDGE_SHARE * tol / float(np.max(upper))
        found = newton_on_face(rows[:, row[free]], alpha[free], slope, upper[free], ridge)
        self._f += (found - alpha[free]) @ rows
        alpha[free] = found
        classify_terms(sign, target, upper, alpha, self._up, self._low)
        self._working[-1] = 0
        return True

    def solution(self, report: Report) -> Solution:
        self._store()
        terms, alpha, mu, f = self.terms, self.alpha, self.mu, self.f
        if terms.pinned:
            zero = np.zeros(1)
            return Solution(terms, alpha, mu, f, zero, zero, zero, report)
        below, above = term_brackets(terms, f, alpha)
        lower, upper, middle = recover_thresholds(below, above, mu, terms.chained)
        return Solution(terms, alpha, mu, f, lower, upper, middle, report)

    def _activate(self, active: np.ndarray, active_rows: np.ndarray) -> None:
        """Gather the arrays of the terms and rows with these numbers."""
        terms = self.terms
        self._terms, self._rows = active, active_rows
        places = np.empty(terms.n_rows, dtype=np.int64)
        places[active_rows] = np.arange(len(active_rows))
        row = places[terms.row[active]]
        node = terms.node[active]
        sign, target = terms.sign[active], self.target[active]
        upper, alpha = terms.upper[active], self.alpha[active]
        self._arrays = (row, node, sign, target, upper, alpha)
        self._working = np.zeros(len(active) + 1, dtype=np.int64)
        self._goal = np.zeros(1)
        self._f, self._diag = self.f[active_rows], self.rows.diag[active_rows]
        self._up, self._low = np.empty(len(active)), np.empty(len(active))
        classify_terms(sign, target, upper, alpha, self._up, self._low)

    def _store(self) -> None:
        """Copy the multipliers and scores of the active terms to ``alpha`` and ``f``."""
        self.alpha[self._terms] = self._arrays[-1]
        self.f[self._rows] = self._f


# ---------------------------------------------------------------- thresholds


def term_brackets(
    terms: Terms, f: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds of each threshold, at given scores and multipliers."""
    n, target = terms.n_nodes, terms.hinge * terms.sign
    up, low = np.empty(len(alpha)), np.empty(len(alpha))
    classify_terms(terms.sign, target, terms.upper, alpha, up, low)
    above, below, where = np.empty(n), np.empty(n), np.empty((2, n), dtype=np.int64)
    every = np.arange(len(alpha))
    brackets(f, terms.row, every, terms.first, up, low, False, above, below, *where)
    return below, above


def recover_thresholds(
    below: np.ndarray, above: np.ndarray, mu: np.ndarray, chained: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Brackets of the thresholds, and the middles of the brackets.

    Where thresholds are chained, a bracket is cut by those on either side, and a run of nodes
    whose multipliers of the chain are positive must share one value (complementary slackness).
    A bracket with one finite end gives that end, one with none the value of its neighbour.
    """
    lower, upper = below, above
    if chained:
        lower = np.maximum.accumulate(below)
        upper = np.minimum.accumulate(above[::-1])[::-1]
        run = np.cumsum(~(mu > 0.0)) - 1  # mu[0] is zero
        last = np.searchsorted(run, run, side="right") - 1
        lower, upper = lower[last], upper[np.searchsorted(run, run)]
    middle = np.where(np.isfinite(lower), lower, upper)
    both = np.isfinite(lower) & np.isfinite(upper)
    middle[both] = 0.5 * (lower[both] + upper[both])
    return lower, upper, _fill_infinite(middle)


def _fill_infinite(values: np.ndarray) -> np.ndarray:
    """Replace infinite values by the one before, or else after them; by zero if all are."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return np.zeros_like(values)
    nearest = np.searchsorted(known, np.arange(len(values)), side="right") - 1
    return values[known[np.maximum(nearest, 0)]]


# ---------------------------------------------------------------- Newton on a face of the box


def newton_on_face(
    K: np.ndarray, alpha: np.ndarray, slope: np.ndarray, upper: np.ndarray, ridge: float
) -> np.ndarray:
    """Increase ``slope' d - d' K d / 2`` by a step d with alpha + d in the box; alpha + d.

    All alpha begin strictly between their bounds. The ridge on the diagonal of K shortens the
    steps along directions with little curvature; it does not move the optimum.
    """
    found, slope, free = alpha.copy(), slope.copy(), np.arange(len(alpha))
    # n eps |K| bounds the rounding of a Cholesky factor: with less, it may fail if singular.
    ridge = max(ridge, len(K) * np.finfo(float).eps * float(np.trace(K)))
    for _ in range(_NEWTON_ROUNDS):
        part = K[np.ix_(free, free)]
        regular = part + ridge * np.eye(len(free))
        _, direction, failed = dposv(regular, slope[free], overwrite_a=True)
        if failed:  # a user's function that is not positive semidefinite
            break
        here, most = found[free], upper[free]
        reach = _distance_to_bounds(here, most, direction)
        t = _projected_line_search(part, slope[free], direction, reach, np.argsort(reach))
        bound = np.where(direction > 0, most, 0.0)
        there = np.where(reach <= t, bound, here + t * direction)
        there = np.where(there < _ROUNDING * most, 0.0, there)
        there = np.where(most - there < _ROUNDING * most, most, there)
        found[free] = there
        move = np.zeros(len(K))
        move[free] = there - here
        slope -= K @ move
        free = free[(there > 0.0) & (there < most)]
        if np.min(reach) >= 1.0 or not len(free):
            break
    return found


def _distance_to_bounds(
    alpha: np.ndarray, upper: np.ndarray, direction: np.ndarray
) -> np.ndarray:
    """How many times ``direction`` each multiplier can go before its bound."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(direction > 0, upper - alpha, alpha) / np.abs(direction)


@loop
def _projected_line_search(
    K: np.ndarray,
    slope: np.ndarray,
    direction: np.ndarray,
    reach: np.ndarray,
    order: np.ndarray,
) -> float:
    """Step between 0 and 1 with the largest dual along a path that is projected onto the box.

    Multipliers stop in the ``order`` of their ``reach``. Between two stops the dual is a
    parabola, whose slope and curvature follow from those of the one before.
    """
    n, moving, slope = len(direction), direction.copy(), slope.copy()
    curve = np.zeros(n)  # K moving
    for i in range(n):
        for j in range(n):
            curve[i] += K[i, j] * direction[j]
    t = value = best = at = 0.0
    for i in range(n):
        stop = min(reach[order[i]], 1.0)
        first, second = np.sum(slope * moving), np.sum(moving * curve)
        top = stop - t
        if second * top > first:
            top = max(first / second, 0.0)
        if value + top * (first - 0.5 * top * second) > best:
            best, at = value + top * (first - 0.5 * top * second), t + top
        value += (stop - t) * (first - 0.5 * (stop - t) * second)
        slope -= (stop - t) * curve
        t = stop
        if t == 1.0:
            break
        curve -= moving[order[i]] * K[order[i]]
        moving[order[i]] = 0.0
    return at
