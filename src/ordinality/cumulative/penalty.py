"""Penalised location effects: ridge, and the elastic net by proximal Newton steps.

The elastic net minimises ``-loglik / V + lam (a |beta|_1 + (1 - a) / 2 |beta|^2)``, V the sum
of the weights. Each step minimises the quadratic model of the first term plus the penalty over
the columns in use: thresholds are eliminated exactly and coordinates descend in turn. Columns
whose gradient exceeds their penalty join until none does.

Friedman, Hastie & Tibshirani (2010); Lee, Sun & Saunders (2014).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve

from .._compile import loop
from .newton import ARMIJO, Maximum, damped_cholesky, maximise
from .rows import Rows

__all__ = ["Penalty", "elastic_net", "largest_alpha", "net_path"]

Progress = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Penalty:
    """Ridge (``l1_ratio`` 0) or elastic net."""

    alpha: float
    l1_ratio: float
    standardized: bool  # whether effects of scaled columns are penalised

    def factors(self, spread: np.ndarray) -> np.ndarray:
        """What the effect of each scaled column is multiplied by before it is penalised."""
        return np.ones_like(spread) if self.standardized else 1 / spread


def largest_alpha(rows: Rows, factors: np.ndarray, l1_ratio: float) -> float:
    """The smallest penalty under which no column has an effect."""
    slope = _without_location(rows).evaluation.gradient[rows.places[1]]
    return float(np.max(np.abs(slope) / factors, initial=0.0) / (rows.weights.sum() * l1_ratio))


def net_path(
    rows: Rows,
    factors: np.ndarray,
    alphas: np.ndarray,
    l1_ratio: float,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    tell: Progress | None = None,
) -> list[Maximum]:
    """Elastic nets for descending penalties, each from the one before."""
    found = _without_location(rows)
    path: list[Maximum] = []
    for alpha in alphas:
        net = _Net(rows, alpha * l1_ratio * factors, alpha * (1 - l1_ratio) * factors**2)
        found = net.minimise(found.vector, tol, max_iter)
        if tell is not None:
            tell(len(path) + 1, found.evaluation.value, found.decrement)
        path.append(found)
    return path


def elastic_net(
    rows: Rows, factors: np.ndarray, penalty: Penalty, tol: float, max_iter: int,
    tell: Progress | None = None,
) -> Maximum:  # fmt: skip
    """One elastic net, reached from the largest penalty in steps of a factor of four."""
    top = largest_alpha(rows, factors, penalty.l1_ratio)
    steps = max(int(np.ceil(np.log(max(top / penalty.alpha, 1.0)) / np.log(4.0))), 1)
    start = max(top, penalty.alpha)
    alphas = np.geomspace(start, penalty.alpha, steps + 1)[1:]
    alphas[-1] = penalty.alpha
    path = net_path(
        rows, factors, alphas, penalty.l1_ratio, tol=tol, max_iter=max_iter, tell=tell
    )
    return replace(path[-1], n_iter=sum(point.n_iter for point in path))


def _without_location(rows: Rows) -> Maximum:
    """The fit without location effects, evaluated for all columns."""
    thresholds, location, _ = rows.places
    none = maximise(replace(rows, X=rows.X[:, :0]))
    vector = np.zeros(sum(rows.sizes))
    vector[thresholds] = none.vector[thresholds]
    if rows.Z.shape[1]:
        vector[location.stop :] = none.vector[thresholds.stop :]
    return replace(none, vector=vector, evaluation=rows.evaluate_rows(vector))


@dataclass(frozen=True, eq=False)
class _Net:
    """One penalty of the path."""

    rows: Rows
    l1: np.ndarray  # (d,), for each effect of a scaled column
    l2: np.ndarray

    def minimise(self, vector: np.ndarray, tol: float, max_iter: int) -> Maximum:
        """Proximal Newton steps on a working set that grows until no column should join."""
        place, total = self.rows.places[1], self.rows.weights.sum()
        used = vector[place] != 0
        n_iter, converged = 0, False
        while True:
            vector, more, decrement, converged = self._on(used, vector, tol, max_iter)
            n_iter += more
            now = self.rows.evaluate_rows(vector)
            assert now is not None
            slope = np.abs(now.gradient[place]) / total
            bound = self.l1 * (1 + 1e-9) + 1e-13  # rounding of means of numbers of size one
            joining = ~used & (slope > bound)
            if not np.any(joining) or n_iter >= max_iter:
                return Maximum(
                    vector, now, n_iter, decrement, converged and not joining.any(), False
                )
            used |= joining

    def _on(
        self, used: np.ndarray, vector: np.ndarray, tol: float, max_iter: int
    ) -> tuple[np.ndarray, int, float, bool]:
        """Minimise over the columns in use."""
        rows, total = self.rows, self.rows.weights.sum()
        thresholds, location, scale = rows.places
        part = replace(rows, X=rows.X[:, used])
        here = part.places[1]
        l1, l2 = self.l1[used], self.l2[used]
        x = np.concatenate([vector[thresholds], vector[location][used], vector[scale]])
        decrement, converged, n_iter = np.inf, False, 0
        now = part.evaluate(x)
        assert now is not None
        while n_iter < max_iter and not converged:
            n_iter += 1
            step = _proximal_step(
                now.information / total, -now.gradient / total, x, here, l1, l2
            )
            b, moved = x[here], x[here] + step[here]
            fall = now.gradient @ step / total - (_cost(moved, l1, l2) - _cost(b, l1, l2))
            decrement = float(fall) * total
            before, t = now.value / total - _cost(b, l1, l2), 1.0
            for _ in range(40):
                ahead = x + t * step
                found = part.evaluate(ahead)
                if found is not None:
                    after = found.value / total - _cost(ahead[here], l1, l2)
                    slack = 1e-14 * abs(before)  # rounding of sums: some dozens of eps
                    if after >= before + ARMIJO * t * fall - slack:
                        x, now = ahead, found
                        break
                t *= 0.5
            else:
                break
            converged = decrement < tol * total / len(rows.y)
        out = vector.copy()
        out[thresholds], out[scale] = x[thresholds], x[here.stop :]
        effects = np.zeros(len(used))
        effects[used] = x[here]
        out[location] = effects
        return out, n_iter, decrement, converged


def _cost(beta: np.ndarray, l1: np.ndarray, l2: np.ndarray) -> float:
    return float(l1 @ np.abs(beta) + 0.5 * l2 @ beta**2)


def _proximal_step(
    H: np.ndarray, c: np.ndarray, x: np.ndarray, here: slice, l1: np.ndarray, l2: np.ndarray
) -> np.ndarray:
    """Minimise c'd + d'Hd/2 + penalty of x + d; only the entries `here` are penalised."""
    free = np.ones(len(x), dtype=bool)
    free[here] = False
    factor, _ = damped_cholesky(H[np.ix_(free, free)])
    across = H[np.ix_(free, ~free)]
    left = cho_solve(factor, np.column_stack([across, c[free]]))
    small = H[np.ix_(~free, ~free)] - across.T @ left[:, :-1]
    slope = c[~free] - across.T @ left[:, -1]
    beta = x[here].copy()
    _descend(np.ascontiguousarray(small), slope, beta, x[here].copy(), l1, l2)
    step = np.empty_like(x)
    step[here] = beta - x[here]
    step[free] = -left[:, -1] - left[:, :-1] @ step[here]
    return step


@loop
def _descend(H, c, beta, start, l1, l2):
    """Coordinate descent on ``c'(beta - start) + |beta - start|_H^2 / 2`` and the penalty."""
    p = c.copy()  # gradient of the smooth part
    for _ in range(10000):
        largest = 0.0
        for j in range(beta.size):
            curvature = H[j, j] + l2[j]
            if curvature <= 0.0:
                continue
            pull = H[j, j] * beta[j] - p[j]
            new = 0.0
            if pull > l1[j]:
                new = (pull - l1[j]) / curvature
            elif pull < -l1[j]:
                new = (pull + l1[j]) / curvature
            by = new - beta[j]
            if by != 0.0:
                beta[j] = new
                for i in range(beta.size):
                    p[i] += H[i, j] * by
                largest = max(largest, curvature * by * by)
        # Twice the largest fall of the objective by one coordinate, in units of a mean log
        # probability: squared rounding.
        if largest < 1e-22:
            break
