"""Solve a support vector machine in its dual: steps, leaps, kernel rows and leaving out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv

from .._compile import loop
from .kernel_rows import KernelRows, RowCache
from .smo import CONVERGED, MISSING, brackets, place_all, steps, violations
from .terms import Terms

__all__ = ["Report", "Solution", "check_price", "climb", "recover", "solve", "term_brackets"]


_PERIOD = 1000  # steps between two looks at what can be left out


_WORTH_IT = 0.8  # leave terms out when no more than this part of them stays


_SMALL = 300  # terms; with fewer, leaving some out saves nothing


_PACE = 300  # the same period where a leap may be taken then


_LEAP = 100.0  # a leap of q terms pays after q**3 / (_LEAP terms) steps, by measurement


_PUSH = 0.01  # part of the tolerance that a leap's ridge comes to at the dearest multiplier


@dataclass(frozen=True)
class Report:
    """How a solution was reached."""

    n_steps: int  # pairs of multipliers moved
    violation: float  # by how much brackets of thresholds still overlap
    converged: bool  # whether that is within the tolerance


@dataclass(frozen=True, eq=False)
class Solution:
    """Multipliers of a machine and what follows from them."""

    terms: Terms
    alpha: np.ndarray  # (M,); multiplier of each term, between zero and ``terms.upper``
    mu: np.ndarray  # (J,); ``mu[j]`` belongs to ``b[j-1] <= b[j]``; ``mu[0]`` is zero
    scores: np.ndarray  # (n,); ``K beta``
    lower: np.ndarray  # (J,); brackets of the thresholds; infinite where nothing bounds one
    upper: np.ndarray  # (J,); brackets of the thresholds; infinite where nothing bounds one
    thresholds: np.ndarray  # (J,); one choice within the brackets, see `recover`
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
        """``beta' K beta / 2`` and the price of all slack, at the thresholds chosen."""
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
    """
    work = _Work(terms, rows, *_beginning(terms, start), RowCache(rows, cache_bytes))
    n_steps, looked, widened, within = 0, 0, False, work.tolerance(tol)
    period, leapt = _PACE if terms.pinned else _PERIOD, 0
    while True:
        budget = min(looked + period, max_steps) - n_steps
        outcome, missing, done, violation = work.steps(within, budget)
        n_steps += done
        if tell is not None and done and outcome != MISSING:
            tell(n_steps, float(violation))
        over = outcome == CONVERGED or n_steps >= max_steps
        if outcome == MISSING:
            work.fetch(missing)
        elif work.narrowed and (over or (violation <= 10 * within and not widened)):
            # What was left out is looked at once more near the end, and at the end.
            widened = True
            work.widen()
        elif outcome == CONVERGED and within > work.tolerance(tol):
            within = 0.5 * work.tolerance(tol)
        elif over:
            break
        else:
            looked = n_steps
            work.narrow()
            if terms.pinned and work.leap(n_steps - leapt, within):
                leapt = n_steps
    violation = max(work.violations()[1], 0.0)
    return _finished(work, Report(n_steps, violation, violation <= work.tolerance(tol)))


def _weights(terms: Terms, alpha: np.ndarray) -> np.ndarray:
    return np.bincount(terms.row, terms.sign * alpha, minlength=terms.n_rows)


def _beginning(terms: Terms, start: Solution | None) -> tuple[np.ndarray, np.ndarray]:
    """A feasible point: an earlier one scaled to the new price, or the simplest."""
    if start is not None and terms.pinned:
        # No sums to keep: what was at its bound goes to the new one, the rest stays.
        bound = start.alpha >= start.terms.upper
        alpha = np.where(bound, terms.upper, np.minimum(start.alpha, terms.upper))
        return alpha, np.zeros(1)
    if start is not None:
        ratio = np.max(terms.upper) / np.max(start.terms.upper) if terms.hinge else 1.0
        alpha = ratio * start.alpha
        if np.all(alpha <= (1 + 1e-12) * terms.upper):  # or the sums would not be kept
            return np.minimum(alpha, terms.upper), ratio * start.mu
    alpha, mu = np.zeros(len(terms.row)), np.zeros(terms.n_nodes)
    if not terms.hinge:
        _fill(terms, alpha, mu)
    return alpha, mu


def check_price(terms: Terms) -> np.ndarray:
    """What the terms of each node can bear; refuse a C for which bands would widen for ever."""
    room = np.bincount(terms.node, terms.upper, minlength=terms.n_nodes)
    if not terms.hinge and min(room[0], room[-1]) < 1.0:
        raise ValueError(
            "C is too small for the sum of margins: times the rows (or their weights) of the "
            f"lowest level and of the highest it must come to at least 1, and comes to "
            f"{min(room[0], room[-1]):.3g}."
        )
    return room


def _fill(terms: Terms, alpha: np.ndarray, mu: np.ndarray) -> None:
    """Spread one unit over the terms of each side of a band, as far as their prices allow.

    The two sides that bound a level have the same rows, so what one lacks the other lacks too,
    and the chain's multiplier between them makes up for it. The outermost have no such pair.
    """
    room = check_price(terms)
    share = np.minimum(1.0, room)
    mu[2::2] = 1.0 - share[2::2]
    np.divide(share, room, out=share, where=room > 0)
    alpha[:] = share[terms.node] * terms.upper


class _Work:
    """The multipliers while they are being moved, and the part of them that is active."""

    def __init__(
        self, terms: Terms, rows: KernelRows, alpha: np.ndarray, mu: np.ndarray, cache: RowCache
    ) -> None:
        self.terms, self.rows, self.cache = terms, rows, cache
        self.alpha, self.mu = alpha, mu
        self.f = rows.times(_weights(terms, alpha))
        self.target = terms.hinge * terms.sign
        self.rules = (terms.chained, terms.pinned)
        self._activate(np.arange(len(terms.row)), np.arange(terms.n_rows))

    @property
    def narrowed(self) -> bool:
        return len(self._terms) < len(self.terms.row)

    def tolerance(self, tol: float) -> float:
        """How much brackets may overlap: ``tol`` as a part of the distance to keep.

        Where bands are made wide instead, their widths come to ``|w|^2`` in all when no row
        pays, and half the mean width is what compares with a margin of one. Not less than what
        rounding leaves: bands may have no width at all.
        """
        if self.terms.hinge:
            return tol
        self._store()
        widths = float(_weights(self.terms, self.alpha) @ self.f)
        return max(tol * widths / self.terms.n_nodes, 1e-12 * float(np.max(self.rows.diag)))

    def _activate(self, active: np.ndarray, active_rows: np.ndarray) -> None:
        """Gather what belongs to some terms and rows, given by number."""
        terms = self.terms
        self._terms, self._rows = active, active_rows
        places = np.empty(terms.n_rows, dtype=np.int64)
        places[active_rows] = np.arange(len(active_rows))
        row = places[terms.row[active]]
        node = terms.node[active]
        sign, target = terms.sign[active], self.target[active]
        upper, alpha = terms.upper[active], self.alpha[active]
        self._arrays = (row, node, sign, target, upper, alpha)
        self._hot = np.zeros(len(active) + 1, dtype=np.int64)
        self._goal = np.zeros(1)
        self._f, self._diag = self.f[active_rows], self.rows.diag[active_rows]
        self._up, self._low = np.empty(len(active)), np.empty(len(active))
        place_all(sign, target, upper, alpha, self._up, self._low)

    def steps(self, tol: float, budget: int) -> Any:
        cache = self.cache
        return steps(
            cache.store, cache.slot, cache.stamp, self._f, self._diag, self._arrays,
            self._up, self._low, self.mu, self.rules, self._hot, self._goal, tol, budget,
        )  # fmt: skip

    def violations(self) -> tuple[np.ndarray, float]:
        """By how much each active term violates optimality, and the most that a pair does."""
        worst, (row, node) = np.empty(len(self._terms)), self._arrays[:2]
        most = violations(self._f, row, node, self._up, self._low, self.mu, self.rules, worst)
        return worst, float(most)

    def fetch(self, missing: int) -> None:
        """Compute the row that is missing, and with it others that will be wanted soon."""
        wanted = np.array([missing])
        if self.cache.ahead > 1:
            worst = np.argsort(-self.violations()[0])[: 4 * self.cache.ahead]
            likely = self._arrays[0][worst]
            likely = likely[self.cache.slot[likely] < 0]
            wanted = np.concatenate([wanted, likely])
            wanted = wanted[np.sort(np.unique(wanted, return_index=True)[1])]
            wanted = wanted[: self.cache.ahead]
        self.cache.fetch(wanted)

    def narrow(self) -> None:
        """Leave out terms that are at a bound and on the right side of every bracket."""
        if len(self._terms) < _SMALL:
            return
        keep = np.flatnonzero(self.violations()[0] >= 0)
        if not len(keep) or len(keep) > _WORTH_IT * len(self._terms):
            return  # none: what is left is for the steps to notice
        self._store()
        kept_rows = np.unique(self._arrays[0][keep])
        self.cache.narrow(kept_rows)
        self._activate(self._terms[keep], self._rows[kept_rows])

    def leap(self, since: int, tol: float) -> bool:
        """Move all terms between their bounds at once, if so many steps were as dear.

        Only without thresholds: then each term has a row of its own and no sum to keep.
        """
        row, _, sign, target, upper, alpha = self._arrays
        free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
        if not len(free) or since * _LEAP * len(alpha) < float(len(free)) ** 3:
            return False
        rows = self.cache.together(row[free])
        if rows is None:
            return False
        slope = target[free] - self._f[row[free]]
        ridge = _PUSH * tol / float(np.max(upper))
        there = climb(rows[:, row[free]], alpha[free], slope, upper[free], ridge)
        self._f += (there - alpha[free]) @ rows
        alpha[free] = there
        place_all(sign, target, upper, alpha, self._up, self._low)
        self._hot[-1] = 0
        return True

    def widen(self) -> None:
        """Bring back what was left out; its scores are computed anew."""
        self._store()
        out = np.setdiff1d(np.arange(self.terms.n_rows), self._rows, assume_unique=True)
        self.f[out] = self.rows.times(_weights(self.terms, self.alpha), out)
        self.cache.widen()
        self._activate(np.arange(len(self.terms.row)), np.arange(self.terms.n_rows))

    def finish(self) -> Terms:
        """Leave the multipliers and scores of all terms in ``alpha`` and ``f``."""
        self._store()
        return self.terms

    def _store(self) -> None:
        self.alpha[self._terms] = self._arrays[-1]
        self.f[self._rows] = self._f


def _finished(work: _Work, report: Report) -> Solution:
    terms = work.finish()
    if terms.pinned:
        zero = np.zeros(1)
        return Solution(terms, work.alpha, work.mu, work.f, zero, zero, zero, report)
    below, above = term_brackets(terms, work.f, work.alpha)
    lower, upper, middle = recover(below, above, work.mu, terms.chained)
    return Solution(terms, work.alpha, work.mu, work.f, lower, upper, middle, report)


def term_brackets(
    terms: Terms, f: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What bounds each threshold from below and from above, at given scores and multipliers."""
    n, target = terms.n_nodes, terms.hinge * terms.sign
    up, low = np.empty(len(alpha)), np.empty(len(alpha))
    place_all(terms.sign, target, terms.upper, alpha, up, low)
    above, below, where = np.empty(n), np.empty(n), np.empty((2, n), dtype=np.int64)
    every = np.arange(len(alpha))
    brackets(f, terms.row, every, terms.first, up, low, False, above, below, *where)
    return below, above


def recover(
    below: np.ndarray, above: np.ndarray, mu: np.ndarray, chained: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Brackets of the thresholds and their middles.

    Where thresholds are chained, a bracket is cut by those on either side, and a run of nodes
    whose multipliers of the chain are positive must share one value (complementary slackness).
    Where a bracket has one finite end, that is the choice; where it has none, the next one's.
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
    return lower, upper, _filled(middle)


def _filled(values: np.ndarray) -> np.ndarray:
    """Give what is infinite the value before it, or else after it; zero if there is none."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return np.zeros_like(values)
    nearest = np.searchsorted(known, np.arange(len(values)), side="right") - 1
    return values[known[np.maximum(nearest, 0)]]


# ----------------------------------------------------------------
# Newton's method on a face of the box: every multiplier between its bounds moved at once.
#
# Steps of two multipliers find quickly which of them end on a bound. Where rows are nearly
# dependent and prices high they then crawl: each undoes part of the last. What is left is a
# small linear system in the multipliers between their bounds, and that is solved here. A step
# that would leave the box is bent along its sides, and multipliers that came to a bound stay
# there while the rest is solved again (Bertsekas, 1982, *Projected Newton methods for
# optimization problems with simple constraints*; More and Toraldo, 1991).


_ROUNDS = 12  # solutions at most; what is left by then is for the steps in between


_ROUNDING = 1e-12  # multipliers as near as this part to a bound are there


def climb(
    K: np.ndarray, alpha: np.ndarray, slope: np.ndarray, upper: np.ndarray, ridge: float
) -> np.ndarray:
    """Maximise ``slope' d - d' K d / 2`` with alpha + d in the box; never ends lower."""
    found, slope, free = alpha.copy(), slope.copy(), np.arange(len(alpha))
    # Below this, rounding alone can make the factor of a singular matrix fail.
    ridge = max(ridge, len(K) * np.finfo(float).eps * float(np.trace(K)))
    for _ in range(_ROUNDS):
        part = K[np.ix_(free, free)]
        _, way, failed = dposv(part + ridge * np.eye(len(free)), slope[free], overwrite_a=True)
        if failed:  # not a kernel, but some function of a user's
            break
        here, most = found[free], upper[free]
        reach = _reach(here, most, way)
        t = _farthest(part, slope[free], way, reach, np.argsort(reach))
        there = np.where(reach <= t, np.where(way > 0, most, 0.0), here + t * way)
        found[free] = there = _placed(there, most)
        move = np.zeros(len(K))
        move[free] = there - here
        slope -= K @ move
        free = free[(there > 0.0) & (there < most)]
        if np.min(reach) >= 1.0 or not len(free):
            break
    return found


def _reach(alpha: np.ndarray, upper: np.ndarray, way: np.ndarray) -> np.ndarray:
    """How far each multiplier can go that way."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(way > 0, upper - alpha, alpha) / np.abs(way)


def _placed(alpha: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """What rounding left next to a bound, on it."""
    alpha = np.where(alpha < _ROUNDING * upper, 0.0, alpha)
    return np.where(upper - alpha < _ROUNDING * upper, upper, alpha)


@loop
def _farthest(
    K: np.ndarray, slope: np.ndarray, way: np.ndarray, reach: np.ndarray, order: np.ndarray
) -> float:
    """Where between 0 and 1 the dual is highest along a way that is bent at the bounds.

    Multipliers stop in the ``order`` of their ``reach``. Between two stops the dual is a
    parabola, whose slope and curvature follow from the last one's.
    """
    n, moving, slope = len(way), way.copy(), slope.copy()
    curve = np.zeros(n)  # K moving
    for i in range(n):
        for j in range(n):
            curve[i] += K[i, j] * way[j]
    t = height = best = at = 0.0
    for i in range(n):
        stop = min(reach[order[i]], 1.0)
        first, second = np.sum(slope * moving), np.sum(moving * curve)
        top = stop - t
        if second * top > first:
            top = max(first / second, 0.0)
        if height + top * (first - 0.5 * top * second) > best:
            best, at = height + top * (first - 0.5 * top * second), t + top
        height += (stop - t) * (first - 0.5 * (stop - t) * second)
        slope -= (stop - t) * curve
        t = stop
        if t == 1.0:
            break
        curve -= moving[order[i]] * K[order[i]]
        moving[order[i]] = 0.0
    return at
