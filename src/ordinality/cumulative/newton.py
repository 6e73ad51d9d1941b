"""Maximum likelihood of a cumulative link model by Newton's method.

Without scale effects and for log-concave links the log-likelihood is concave where the levels
of all rows have positive width, and falls to minus infinity at the edge of that set if every
level is observed. So thresholds need no other parametrisation: steps that leave the set are
halved. Elsewhere the information may be indefinite, and multiples of its diagonal are added.

Pratt (1981), Burridge (1981) for concavity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from .rows import RowExpansion, Rows

__all__ = ["ARMIJO", "Maximum", "damped_cholesky", "maximise", "start_vector"]

_SUBSET = 20_000  # rows of the fit from which a larger one starts
_HALVINGS = 40
_TAIL = 1e-3  # share of rows at least beyond each threshold of a start, which need not be best
_APART = 1e-3  # of the noise between the starts of thresholds that empty levels would share
ARMIJO = 1e-4  # share of the gain promised by the slope that a step has to bring, as is usual
_EPS = float(np.finfo(np.float64).eps)

Progress = Callable[[int, float, float], None]


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the search ended."""

    vector: np.ndarray
    evaluation: Any  # without the penalty: Expansion, or RowExpansion if it had many columns
    n_iter: int
    decrement: float  # expected gain of the last step, twice
    converged: bool
    singular: bool  # whether the information was not positive definite at the end


def start_vector(rows: Rows) -> np.ndarray:
    """Thresholds by the shares of the levels, all effects zero."""
    counts = np.bincount(rows.y, rows.weights, rows.n_levels)
    share = np.cumsum(counts)[:-1] / counts.sum()
    J, shift = rows.structure.J, rows.structure.shift
    wanted = rows.link.ppf(np.clip(share, _TAIL, 1 - _TAIL))  # 0 and 1 have no quantile
    wanted = np.maximum.accumulate(wanted) + _APART * np.arange(len(wanted))
    alpha = np.linalg.lstsq(J, wanted, rcond=None)[0]
    if shift is not None:
        alpha += shift * np.average(rows.offset, weights=rows.weights)
    vector = np.zeros(sum(rows.sizes))
    vector[: len(alpha)] = alpha
    return vector


def maximise(
    rows: Rows,
    *,
    ridge: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
    constraint: np.ndarray | None = None,
    pairs: bool = True,
    tell: Progress | None = None,
    evaluate: Callable[[np.ndarray], Any] | None = None,
) -> Maximum:
    """Maximise the log-likelihood less ``ridge @ vector**2 / 2``, or what `evaluate` gives.

    The search ends with the first step whose decrement is below `tol` times the mean weight.
    With a `constraint` a, ``a @ vector`` keeps its value at the start. Without products of
    `pairs` of columns, steps are found by conjugate gradients.
    """
    if start is None and len(rows.y) > 2 * _SUBSET:
        start = _subset_start(rows, ridge, tol, max_iter) if pairs else None
    vector = start_vector(rows) if start is None else start
    if evaluate is None:
        evaluate = rows.evaluate if pairs else rows.evaluate_rows
    now: Any = evaluate(vector)
    if now is None:
        raise ValueError(
            "the log-likelihood is not finite where the search starts; look for an offset or "
            "columns of enormous size."
        )
    penalty = np.zeros(len(vector)) if ridge is None else ridge
    total = float(rows.weights.sum())  # not their mean: copies of a row weigh as much as one
    least = min(total, 1.0)  # less than one row in all: a gain is measured by what there is
    decrement, converged, singular, n_iter = np.inf, False, False, 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        slope = now.gradient - penalty * vector
        if pairs:
            information = now.information + np.diag(penalty)
            step, singular = _newton_step(information, slope, constraint)
        else:
            accuracy = min(0.1, (decrement / least) ** 0.25)
            step = _cg_step(rows, now, penalty, slope, accuracy)
        decrement = float(slope @ step)
        found = _line_search(evaluate, penalty, vector, now, step, decrement)
        if found is None:
            # No gain is left above rounding; a slope that is left says that something is wrong.
            rounding = 1e-10 * total  # far below the 1 that one standard error costs
            converged = decrement < max(tol, 1e-6) * least + rounding
            break
        vector, now = found
        converged = decrement < tol * least
        if tell is not None:
            tell(n_iter, now.value, decrement)
    return Maximum(vector, now, n_iter, decrement, converged, singular)


def _subset_start(
    rows: Rows, ridge: np.ndarray | None, tol: float, max_iter: int
) -> np.ndarray | None:
    """Estimates from equally spaced rows and some of each level; None if they are unusable."""
    n = len(rows.y)
    spread = np.linspace(0, n - 1, _SUBSET).astype(np.int64)
    first = np.searchsorted(rows.y, np.arange(rows.n_levels))
    some = (first[:, None] + np.arange(50)).ravel()
    index = np.union1d(spread, some[some < n])
    part = rows.take(index)
    if len(np.unique(part.y)) < len(np.unique(rows.y)):
        return None
    scaled = None if ridge is None else ridge * len(index) / n
    found = maximise(part, ridge=scaled, tol=max(tol, 1e-4), max_iter=min(max_iter, 20))
    return found.vector if found.converged and rows.value(found.vector) > -np.inf else None


def _newton_step(
    information: np.ndarray, slope: np.ndarray, constraint: np.ndarray | None
) -> tuple[np.ndarray, bool]:
    """Solve for the step; whether the information had to be made positive definite."""
    factor, singular = damped_cholesky(information)
    step = cho_solve(factor, slope)
    if constraint is not None:
        along = cho_solve(factor, constraint)
        step = step - along * (constraint @ step) / (constraint @ along)
    return step, singular


def damped_cholesky(information: np.ndarray) -> tuple[tuple[np.ndarray, bool], bool]:
    """Cholesky factor, with multiples of the diagonal added until it exists (Levenberg)."""
    diagonal = np.abs(np.diagonal(information))
    # A parameter that no row sees has no curvature at all: any positive number will do.
    diagonal = np.where(diagonal > 0, diagonal, max(float(diagonal.max(initial=0.0)), 1.0))
    scale = 1 / np.sqrt(diagonal)
    scaled = information * scale[:, None] * scale
    damping = 0.0
    while True:
        try:
            lower, flag = cho_factor(scaled + damping * np.eye(len(scaled)), lower=True)
        except LinAlgError:
            damping = max(4 * damping, 1e-6)
            continue
        return (lower / scale[:, None], flag), damping > 0


def _cg_step(
    rows: Rows, now: RowExpansion, penalty: np.ndarray, slope: np.ndarray, accuracy: float
) -> np.ndarray:
    """Solve for the step by conjugate gradients, to a relative accuracy."""
    t, X = len(now.T), rows.X
    curvature = now.diagonal + penalty[t:]
    curvature = np.where(curvature > 0, curvature, 1.0)  # a column that no row has
    factor = cho_factor(now.T)

    def product(p: np.ndarray) -> np.ndarray:
        head, tail = p[:t], p[t:]
        below = now.TX.T @ head + X.T @ (now.a * (X @ tail)) + penalty[t:] * tail
        return np.concatenate([now.T @ head + now.TX @ tail, below])

    def near_inverse(p: np.ndarray) -> np.ndarray:
        return np.concatenate([cho_solve(factor, p[:t]), p[t:] / curvature])

    shape = (len(slope), len(slope))
    step, _ = cg(
        LinearOperator(shape, product), slope, rtol=accuracy, maxiter=500,
        M=LinearOperator(shape, near_inverse),
    )  # fmt: skip
    return np.asarray(step)


def _line_search(
    evaluate: Callable[[np.ndarray], Any],
    penalty: np.ndarray,
    vector: np.ndarray,
    now: Any,
    step: np.ndarray,
    decrement: float,
) -> tuple[np.ndarray, Any] | None:
    """Halve the step until the objective gains enough; None if it never does."""
    before = now.value - 0.5 * penalty @ vector**2
    # Sums by blocks round to some dozens of eps of their size.
    slack = 64 * _EPS * abs(before)
    t = 1.0
    for _ in range(_HALVINGS):
        ahead = vector + t * step
        found = evaluate(ahead)
        if found is not None:
            after = found.value - 0.5 * penalty @ ahead**2
            if after >= before + ARMIJO * t * decrement - slack:
                return ahead, found
        t *= 0.5
    return None
