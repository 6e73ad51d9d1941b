"""The linear machine for many rows: an interior-point method whose systems are d + J wide.

With scores ``X w`` the unknowns are few, w and the J thresholds, however many rows there are.
Each of some twenty Newton steps weighs the rows, ``X' diag(theta) X``, and solves one small
system, so the cost is O(n d^2) whatever C is, and the solution is good to many digits
(Mehrotra, 1992; Ferris and Munson, 2003, *Interior-point methods for massive support vector
machines*). With slack xi and distance m = sign (f - b) - hinge + xi, all of

    alpha m = 0,   (upper - alpha) xi = 0,   mu gap = 0   (gap = b_j - b_{j-1}, where chained)

are led to zero together along with the stationarity of w and b.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .solver import Report, Solution, check_price, recover, term_brackets
from .terms import Terms

__all__ = ["LinearSolution", "solve_linear"]

_ROWS = 20_000  # at once, lest weighted copies of X take as much memory as X
_DIGITS = 1e-6  # the gap to reach, as a part of the tolerance
_ENOUGH = 1e-3  # and the one that will do where rounding allows no more
_SNAP = 1e-6  # multipliers within this part of their bound are taken to lie on it
# Some roundings' worth on the diagonal, lest the pivot of a hardly held threshold be negative.
_PROP = 1 + 1e-14
_PATIENCE = 10  # steps without any gain, after which rounding has the upper hand
_BACK = 0.995  # part of the way to the nearest bound that a step goes at most


@dataclass(frozen=True, eq=False)
class LinearSolution(Solution):
    """A solution with the weights of the features."""

    weights: np.ndarray  # (d,); w, which gives the scores as ``X w``


@dataclass
class _Point:
    """Where the method stands, or which way it goes: unknowns, multipliers and slacks."""

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
        """The duality gap, if all equations are met."""
        return sum(float(product.sum()) for product in self.products())

    def pairs(self) -> tuple[np.ndarray, ...]:
        """What must stay positive."""
        return self.alpha, self.free, self.m, self.xi, self.mu, self.gap


class _Rows:
    """Products with the rows, signed and gathered by term; thresholds come with the scores."""

    def __init__(self, terms: Terms, X: np.ndarray) -> None:
        self.terms, self.X = terms, X

    def distance(self, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        """``sign (f - b)`` of each term."""
        terms = self.terms
        return terms.sign * ((self.X @ w)[terms.row] - b[terms.node])

    def pull(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The transpose of `distance`."""
        terms = self.terms
        signed = terms.sign * values
        by_row = np.bincount(terms.row, signed, minlength=terms.n_rows)
        return by_row @ self.X, -np.bincount(terms.node, signed, minlength=terms.n_nodes)

    def normal(self, theta: np.ndarray) -> np.ndarray:
        """`distance`, weighed by theta, and its transpose: (d + J, d + J)."""
        terms, (n, d) = self.terms, self.X.shape
        J = terms.n_nodes
        by_row = np.bincount(terms.row, theta, minlength=n)
        place = terms.row * J + terms.node
        by_both = np.bincount(place, theta, minlength=n * J).reshape(n, J)
        H = np.zeros((d + J, d + J))
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            X = self.X[part]
            weighed = np.sqrt(by_row[part])[:, None] * X
            H[:d, :d] += weighed.T @ weighed
            H[d:, :d] -= by_both[part].T @ X
        H[:d, d:] = H[d:, :d].T
        H[d:, d:] = np.diag(by_both.sum(axis=0))
        return H


def solve_linear(
    terms: Terms, X: np.ndarray, *, tol: float = 1e-3, max_steps: int = 100
) -> LinearSolution:
    """Solve a machine with the linear kernel ``X X'``; the problem is that of `solve`."""
    check_price(terms)
    rows, at = _Rows(terms, X), _beginning(terms, X.shape[1])
    within, least, nearest, kept, since = _DIGITS * tol, np.inf, np.inf, at, 0
    for done in range(max_steps + 1):
        residuals = _residuals(terms, rows, at)
        violation, gap = _violation(terms, at, residuals), at.total()
        # Of a dear and separable problem the gap is far above the objective for many steps.
        since = 0 if violation < least or gap < nearest else since + 1
        nearest = min(nearest, gap)
        if violation < least:
            least, kept = violation, at
        if least <= within or since == _PATIENCE or done == max_steps:
            break
        try:
            at = _step(terms, rows, at, residuals)
        except LinAlgError:  # rounding has eaten the last digits
            break
    return _finished(terms, X, kept, Report(done, least, least <= _ENOUGH * tol))


def _violation(terms: Terms, at: _Point, residuals: tuple[np.ndarray, ...]) -> float:
    """The duality gap as a part of the objective, or what is left of an equation if larger.

    Stationarity is measured by all prices together, which is what multipliers can come to.
    """
    dual = terms.hinge * at.alpha.sum() - 0.5 * at.w @ at.w
    gap = at.total() / (1.0 + abs(dual))
    of_w, of_b, of_m, of_gap = (float(np.max(np.abs(r), initial=0.0)) for r in residuals)
    return float(max(gap, of_m, of_gap, max(of_w, of_b) / (1.0 + terms.upper.sum())))


def _beginning(terms: Terms, d: int) -> _Point:
    half, ones = 0.5 * terms.upper, np.ones(len(terms.row))
    chain = np.ones(terms.n_nodes - 1 if terms.chained else 0)
    b = np.zeros(terms.n_nodes)
    return _Point(np.zeros(d), b, half, half.copy(), ones, ones.copy(), chain, chain.copy())


def _residuals(terms: Terms, rows: _Rows, at: _Point) -> tuple[np.ndarray, ...]:
    """What is left of stationarity in w and b, and of the definitions of m and of the gaps."""
    pulled_w, pulled_b = rows.pull(at.alpha)
    r_b = terms.push - pulled_b
    if terms.chained:
        r_b = r_b + np.append(at.mu, 0.0) - np.append(0.0, at.mu)
    r_b = 0.0 * r_b if terms.pinned else r_b
    r_m = rows.distance(at.w, at.b) - terms.hinge + at.xi - at.m
    r_gap = np.diff(at.b) - at.gap if terms.chained else at.gap
    return at.w - pulled_w, r_b, r_m, r_gap


def _step(terms: Terms, rows: _Rows, at: _Point, residuals: tuple[np.ndarray, ...]) -> _Point:
    """One step: straight ahead to see how far it goes, then with a correction for the bend."""
    theta = 1.0 / (at.m / at.alpha + at.xi / at.free)
    H = rows.normal(theta)
    d, J = len(at.w), terms.n_nodes
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
    # Thresholds that nothing holds (no terms, or pinned) stay where they are.
    own = np.arange(d, d + J)
    held = H[own, own] > 0
    H[own, own] = np.where(held, _PROP * H[own, own], 1.0)
    factor = cho_factor(H, lower=True)
    products = at.products()
    ahead = _direction(terms, rows, at, residuals, theta, factor, [-p for p in products])
    count = sum(map(len, products))
    mean, left = at.total() / count, _moved(at, ahead, _reach(at, ahead)).total() / count
    aim = mean * (left / mean) ** 3
    targets = [aim - p - c for p, c in zip(products, ahead.products(), strict=True)]
    way = _direction(terms, rows, at, residuals, theta, factor, targets)
    return _moved(at, way, min(1.0, _BACK * _reach(at, way, limit=np.inf)))


def _direction(
    terms: Terms,
    rows: _Rows,
    at: _Point,
    residuals: tuple[np.ndarray, ...],
    theta: np.ndarray,
    factor: tuple[np.ndarray, bool],
    targets: list[np.ndarray],
) -> _Point:
    """Newton's direction to zero residuals and products changed by the targets."""
    r_w, r_b, r_m, r_gap = residuals
    by_m, by_xi, by_gap = targets
    wanted = by_m / at.alpha - r_m - by_xi / at.free
    pulled_w, pulled_b = rows.pull(theta * wanted)
    chain = (by_gap - at.mu * r_gap) / at.gap
    right_b = pulled_b - r_b
    if terms.chained:
        right_b = right_b - np.append(chain, 0.0) + np.append(0.0, chain)
    right_b = np.zeros_like(right_b) if terms.pinned else right_b
    u = cho_solve(factor, np.concatenate([pulled_w - r_w, right_b]))
    w, b = u[: len(at.w)], u[len(at.w) :]
    alpha = theta * (wanted - rows.distance(w, b))
    xi = (by_xi + at.xi * alpha) / at.free
    m = (by_m - at.m * alpha) / at.alpha
    gap = np.diff(b) + r_gap if terms.chained else at.gap
    mu = (by_gap - at.mu * gap) / at.gap
    return _Point(w, b, alpha, -alpha, m, xi, mu, gap)


def _reach(at: _Point, way: _Point, limit: float = 1.0) -> float:
    """How far one can go before something that must be positive is not."""
    for here, change in zip(at.pairs(), way.pairs(), strict=True):
        falls = change < 0
        limit = min(limit, float(np.min(here[falls] / -change[falls], initial=np.inf)))
    return limit


def _moved(at: _Point, way: _Point, t: float) -> _Point:
    return _Point(*(getattr(at, f.name) + t * getattr(way, f.name) for f in fields(_Point)))


def _finished(terms: Terms, X: np.ndarray, at: _Point, report: Report) -> LinearSolution:
    """Put multipliers that came close to a bound on it."""
    edge = _SNAP * terms.upper
    alpha = np.where(at.alpha < edge, 0.0, np.where(at.free < edge, terms.upper, at.alpha))
    mu, scores = np.append(0.0, at.mu), X @ at.w
    mu = np.where(mu < _SNAP * np.max(terms.upper), 0.0, mu) if terms.chained else 0.0 * at.b
    below, above = term_brackets(terms, scores, alpha)
    lower, upper, _ = recover(below, above, mu, terms.chained)
    return LinearSolution(terms, alpha, mu, scores, lower, upper, at.b, report, at.w)
