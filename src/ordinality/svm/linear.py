"""Linear support vector machines for many rows: a primal-dual interior-point method.

With scores ``X w`` there are d + J unknowns, w and the J thresholds, however many rows there
are. Each of some twenty Newton steps forms ``X' diag(theta) X`` and solves one system of that
size, so the cost is O(n d^2) whatever C is, and the solution has many correct digits (Mehrotra,
1992; Ferris and Munson, 2003, *Interior-point methods for massive support vector machines*).
With slack xi and distance m = sign (f - b) - hinge + xi, the products of complementarity

    alpha m = 0,   (upper - alpha) xi = 0,   mu gap = 0   (gap = b_j - b_{j-1}, where chained)

go to zero together with the residuals of stationarity in w and b.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .solver import Report, Solution, check_cost, recover_thresholds, term_brackets
from .terms import Terms

__all__ = ["LinearSolution", "solve_linear"]

_ROWS = 20_000  # per block: a weighted copy of all of X would double the memory
# Relative duality gap to reach, as a share of the tolerance. Digits are cheap here, since the
# method converges fast at the end: scores are better than those of `solve` with the same tol.
_GAP_SHARE = 1e-6
_ACCEPTED_SHARE = 1e-3  # the share that is accepted where rounding allows no less
# Multipliers within this share of a bound are set to it: the products end at about 1e-9 of the
# objective, with tol 1e-3, and so does a multiplier whose partner in the product is not small.
_SNAP = 1e-6
# Factor of the thresholds' diagonal, so that the pivot of a threshold that few multipliers
# hold does not become negative.
_DIAGONAL = 1 + 1e-14  # a hundred roundings of 1e-16
_PATIENCE = 10  # steps without progress after which rounding dominates
_TO_BOUND = 0.995  # largest share of the distance to a bound that a step goes


@dataclass(frozen=True, eq=False)
class LinearSolution(Solution):
    """A solution with the weights of the features."""

    weights: np.ndarray  # (d,); w of the scores ``X w``


def solve_linear(
    terms: Terms, X: np.ndarray, *, tol: float = 1e-3, max_steps: int = 100
) -> LinearSolution:
    """Solve the problem of `solve` with the kernel ``X X'``.

    For comparisons the rows of X are differences of items.
    """
    check_cost(terms)
    problem = _LinearProblem(terms, X)
    at = problem.initial()
    goal, least, nearest, kept, since = _GAP_SHARE * tol, np.inf, np.inf, at, 0
    for done in range(max_steps + 1):
        residuals = problem.residuals(at)
        violation, gap = problem.violation(at, residuals), at.total()
        # With a large C and separable rows the gap stays far above the objective for many
        # steps; a smaller absolute gap counts as progress too.
        since = 0 if violation < least or gap < nearest else since + 1
        nearest = min(nearest, gap)
        if violation < least:
            least, kept = violation, at
        if least <= goal or since == _PATIENCE or done == max_steps:
            break
        try:
            at = problem.step(at, residuals)
        except LinAlgError:  # rounding dominates
            break
    return problem.solution(kept, Report(done, least, least <= _ACCEPTED_SHARE * tol))


@dataclass
class _Iterate:
    """Unknowns, multipliers and slacks of the method, or a direction in all of them."""

    w: np.ndarray
    b: np.ndarray
    alpha: np.ndarray
    free: np.ndarray  # upper - alpha
    m: np.ndarray
    xi: np.ndarray
    mu: np.ndarray  # (J - 1,), of the chain
    gap: np.ndarray

    def products(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.alpha * self.m, self.free * self.xi, self.mu * self.gap

    def total(self) -> float:
        """Sum of the products: the duality gap, if all residuals are zero."""
        return sum(float(product.sum()) for product in self.products())

    def longest_step(self, direction: _Iterate) -> float:
        """Step at which the first variable that must stay positive becomes zero, or inf."""
        limit = np.inf
        for name in ("alpha", "free", "m", "xi", "mu", "gap"):
            here, change = getattr(self, name), getattr(direction, name)
            falls = change < 0
            limit = min(limit, float(np.min(here[falls] / -change[falls], initial=np.inf)))
        return limit

    def moved(self, direction: _Iterate, t: float) -> _Iterate:
        changes = ((getattr(self, f.name), getattr(direction, f.name)) for f in fields(self))
        return _Iterate(*(here + t * change for here, change in changes))


Residuals = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class _LinearProblem:
    """The equations of the method, and Newton steps towards their solution."""

    def __init__(self, terms: Terms, X: np.ndarray) -> None:
        self.terms, self.X = terms, X

    def initial(self) -> _Iterate:
        terms, w = self.terms, np.zeros(self.X.shape[1])
        half, ones = 0.5 * terms.upper, np.ones(len(terms.row))
        chain = np.ones(terms.n_nodes - 1 if terms.chained else 0)
        b = np.zeros(terms.n_nodes)
        return _Iterate(w, b, half, half.copy(), ones, ones.copy(), chain, chain.copy())

    def residuals(self, at: _Iterate) -> Residuals:
        """Residuals of stationarity in w and b, and of the definitions of m and of the gaps."""
        terms, (sums_w, sums_b) = self.terms, self.transpose(at.alpha)
        r_b = terms.push - sums_b
        if terms.chained:
            r_b = r_b + np.append(at.mu, 0.0) - np.append(0.0, at.mu)
        r_b = 0.0 * r_b if terms.pinned else r_b
        r_m = self.distance(at.w, at.b) - terms.hinge + at.xi - at.m
        r_gap = np.diff(at.b) - at.gap if terms.chained else at.gap
        return at.w - sums_w, r_b, r_m, r_gap

    def violation(self, at: _Iterate, residuals: Residuals) -> float:
        """The duality gap relative to the objective, or the largest residual if larger.

        Residuals of stationarity are relative to the sum of all costs, the largest possible sum
        of multipliers.
        """
        dual = self.terms.hinge * at.alpha.sum() - 0.5 * at.w @ at.w
        gap = at.total() / (1.0 + abs(dual))
        of_w, of_b, of_m, of_gap = (float(np.max(np.abs(r), initial=0.0)) for r in residuals)
        return float(max(gap, of_m, of_gap, max(of_w, of_b) / (1.0 + self.terms.upper.sum())))

    def step(self, at: _Iterate, residuals: Residuals) -> _Iterate:
        """One predictor-corrector step (Mehrotra, 1992)."""
        theta = 1.0 / (at.m / at.alpha + at.xi / at.free)
        system = theta, cho_factor(self.newton_matrix(at, theta), lower=True)
        products = at.products()
        predictor = self.direction(at, residuals, system, [-p for p in products])
        count, predicted = sum(map(len, products)), min(1.0, at.longest_step(predictor))
        mean, left = at.total() / count, at.moved(predictor, predicted).total() / count
        aim = mean * (left / mean) ** 3
        targets = [aim - p - c for p, c in zip(products, predictor.products(), strict=True)]
        corrected = self.direction(at, residuals, system, targets)
        return at.moved(corrected, min(1.0, _TO_BOUND * at.longest_step(corrected)))

    def newton_matrix(self, at: _Iterate, theta: np.ndarray) -> np.ndarray:
        """Matrix of the Newton system in (w, b), after everything else is eliminated."""
        terms, (n, d) = self.terms, self.X.shape
        J = terms.n_nodes
        by_row = np.bincount(terms.row, theta, minlength=n)
        place = terms.row * J + terms.node
        by_both = np.bincount(place, theta, minlength=n * J).reshape(n, J)
        H = np.zeros((d + J, d + J))
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            X = self.X[part]
            weighted = np.sqrt(by_row[part])[:, None] * X
            H[:d, :d] += weighted.T @ weighted
            H[d:, :d] -= by_both[part].T @ X
        H[:d, d:] = H[d:, :d].T
        H[d:, d:] = np.diag(by_both.sum(axis=0))
        H[np.arange(d), np.arange(d)] += 1.0
        if terms.chained:
            stiff = at.mu / at.gap
            low, high = np.arange(d, d + J - 1), np.arange(d + 1, d + J)
            H[low, low] += stiff
            H[high, high] += stiff
            H[low, high] -= stiff
            H[high, low] -= stiff
        if terms.pinned:
            H[d:, :], H[:, d:] = 0.0, 0.0
        # Thresholds without terms, or pinned, stay where they are.
        own = np.arange(d, d + J)
        held = H[own, own] > 0
        H[own, own] = np.where(held, _DIAGONAL * H[own, own], 1.0)
        return H

    def direction(
        self, at: _Iterate, residuals: Residuals, system: Any, targets: list[np.ndarray]
    ) -> _Iterate:
        """Newton direction to zero residuals and to products changed by the targets."""
        terms, (theta, factor) = self.terms, system
        r_w, r_b, r_m, r_gap = residuals
        by_m, by_xi, by_gap = targets
        wanted = by_m / at.alpha - r_m - by_xi / at.free
        sums_w, sums_b = self.transpose(theta * wanted)
        chain = (by_gap - at.mu * r_gap) / at.gap
        right_b = sums_b - r_b
        if terms.chained:
            right_b = right_b - np.append(chain, 0.0) + np.append(0.0, chain)
        right_b = np.zeros_like(right_b) if terms.pinned else right_b
        u = cho_solve(factor, np.concatenate([sums_w - r_w, right_b]))
        w, b = u[: len(at.w)], u[len(at.w) :]
        alpha = theta * (wanted - self.distance(w, b))
        xi = (by_xi + at.xi * alpha) / at.free
        m = (by_m - at.m * alpha) / at.alpha
        gap = np.diff(b) + r_gap if terms.chained else at.gap
        mu = (by_gap - at.mu * gap) / at.gap
        return _Iterate(w, b, alpha, -alpha, m, xi, mu, gap)

    def distance(self, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``sign (X w - b)`` of each term."""
        terms = self.terms
        return terms.sign * ((self.X @ w)[terms.row] - b[terms.node])

    def transpose(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The transpose of `distance`."""
        terms = self.terms
        signed = terms.sign * values
        by_row = np.bincount(terms.row, signed, minlength=terms.n_rows)
        return by_row @ self.X, -np.bincount(terms.node, signed, minlength=terms.n_nodes)

    def solution(self, at: _Iterate, report: Report) -> LinearSolution:
        """Set multipliers close to a bound to it, and find the brackets of the thresholds."""
        terms, edge = self.terms, _SNAP * self.terms.upper
        alpha = np.where(at.alpha < edge, 0.0, np.where(at.free < edge, terms.upper, at.alpha))
        mu, scores = np.append(0.0, at.mu), self.X @ at.w
        mu = (
            np.where(mu < _SNAP * np.max(terms.upper), 0.0, mu) if terms.chained else 0.0 * at.b
        )
        below, above = term_brackets(terms, scores, alpha)
        lower, upper, _ = recover_thresholds(below, above, mu, terms.chained)
        return LinearSolution(terms, alpha, mu, scores, lower, upper, at.b, report, at.w)
