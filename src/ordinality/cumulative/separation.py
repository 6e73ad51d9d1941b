"""Separation: data whose likelihood has no maximum because a direction only improves it.

A direction d of the parameters separates if it raises no lower end and lowers no upper end of
any row, and moves at least one. The largest set of rows that can be moved at once is found by a
linear programme: maximise sum(t) over d and 0 <= t <= 1 with t <= A d, where the rows of A are
the upper ends and minus the lower ends.

Albert & Anderson (1984); Konis (2007), *Linear programming algorithms for detecting separated
data in binary logistic regression models*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from .rows import Rows

__all__ = ["Separation", "separation"]

_LARGEST = 4_000_000  # entries of A: the programme takes minutes beyond
_MOST_BEFORE = 100_000_000  # the same before equal rows are joined: 800 MB
_FEW = 20  # columns that are also tried alone


@dataclass(frozen=True, eq=False)
class Separation:
    """A direction along which the likelihood never falls."""

    direction: np.ndarray  # (parameters without scale effects,), zeros for those not involved
    levels: np.ndarray  # ranks of the rows that end up certain on one side at least


def separation(rows: Rows) -> Separation | None:
    """The direction that separates most rows; None if there is none, or too many rows."""
    if 2 * len(rows.y) * sum(rows.sizes) > _MOST_BEFORE:
        return None
    A, levels = _ends(rows)
    if A.size > _LARGEST:
        return None
    whole = _direction(A)
    if whole is None:
        return None
    d, moved = whole
    # Where a column separates alone, the others in the direction only widen the gap.
    thresholds, columns = rows.sizes[0], np.flatnonzero(d)
    columns = columns[columns >= thresholds]
    if 1 < len(columns) <= _FEW:
        alone = [j for j in columns if _direction(A[:, [*range(thresholds), j]]) is not None]
        if alone:
            d[np.setdiff1d(columns, alone)] = 0.0
    return Separation(d, np.unique(levels[moved]))


def _direction(A: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The direction that moves most rows of A, and which it moves; None if it moves none."""
    m, p = A.shape
    # t <= A d as [-A I] (d, t) <= 0.
    G = sparse.hstack([sparse.csr_matrix(-A), sparse.identity(m)], format="csr")
    cost = np.append(np.zeros(p), -np.ones(m))
    bounds = [(None, None)] * p + [(0.0, 1.0)] * m
    found = linprog(cost, A_ub=G, b_ub=np.zeros(m), bounds=bounds, method="highs")
    if found.x is None or -found.fun < 0.5:  # t is 0 or 1: any direction can be made longer
        return None
    d, t = found.x[:p], found.x[p:]
    return np.where(np.abs(d) > 1e-6 * np.abs(d).max(), d, 0.0), t > 0.5


def _ends(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of A and the level of each."""
    J, parts = rows.structure.J, []
    for block in rows.blocks:
        X = block.X.toarray() if hasattr(block.X, "toarray") else block.X
        for k, sign in ((block.level, 1.0), (block.level - 1, -1.0)):
            if 0 <= k < len(J):
                thresholds = (block.M[:, :, None] * J[k]).reshape(len(X), -1)
                level = np.full((len(X), 1), float(block.level))
                ends = np.hstack([level, sign * np.hstack([thresholds, -X])])
                parts.append(np.unique(ends, axis=0))
    found = np.vstack(parts)
    return found[:, 1:], found[:, 0].astype(np.int64)
