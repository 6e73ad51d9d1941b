"""A support vector machine among the levels that were seen: its terms, score and thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..svm.linear import solve_linear
from ..svm.rows import KernelRows
from ..svm.solver import Solution, solve
from ..svm.terms import FORMULATIONS, Terms

__all__ = ["Machine", "Trained", "train"]

_NO_WIDTH = 1e-8  # ten times what the solver may leave where the best bands have no width


def train(
    terms: Terms, rows: KernelRows, start: Solution | None = None, *, tol: float, **limits: Any
) -> Solution:
    """Solve a machine, over the weights of the features where there are some."""
    features = getattr(rows, "features", None)
    if features is None:
        return solve(terms, rows, start=start, tol=tol, **limits)
    return solve_linear(terms, features, tol=tol)


@dataclass(frozen=True, eq=False)
class Trained:
    """A solution as a score and the thresholds that cut it.

    Parameters
    ----------
    solution : Solution
    length : float
        What scores were divided by: ``|w|`` for the sum of margins, else one.
    thresholds : ndarray of shape (K - 1,)
        Ascending; equal around a level never seen, infinite beyond the outermost seen.
    bands : ndarray of shape (K - 1, 2)
        What rows should keep out of around each.
    collapsed : bool
        Whether the bands of the sum of margins have no width, so that ``|w|`` is zero.
    """

    solution: Solution
    length: float
    thresholds: np.ndarray
    bands: np.ndarray
    collapsed: bool

    @property
    def beta(self) -> np.ndarray:
        """Weight of each row in the score, shape (n,)."""
        return self.solution.beta / self.length

    @property
    def scores(self) -> np.ndarray:
        """Scores of the training rows, shape (n,)."""
        return self.solution.scores / self.length


@dataclass(frozen=True, eq=False)
class Machine:
    """The hinge terms of a formulation, at C = 1.

    Parameters
    ----------
    n_levels : int
        K, seen or not.
    seen : ndarray of shape (L,)
        Ranks that occur. The machine is stated among these; a threshold that they have between
        them stands for all in the same place, which rows pay for under implicit constraints.
    terms : Terms

    Examples
    --------
    >>> import numpy as np
    >>> y, x = np.array([1, 3]), np.array([[0.0], [2.0]])
    >>> machine = Machine.of("explicit", y, 5, np.ones(2))
    >>> machine.solve(KernelRows.of_features(x), C=10.0, tol=1e-3).thresholds.round(2)
    array([-inf,   1.,   1.,  inf])
    """

    n_levels: int
    seen: np.ndarray
    terms: Terms

    @classmethod
    def of(cls, constraints: str, y: np.ndarray, n_levels: int, weights: np.ndarray) -> Machine:
        """The machine of some rows, given by rank and weight."""
        seen, places = np.unique(y, return_inverse=True)
        terms = FORMULATIONS[constraints](places, len(seen), weights)
        if constraints == "implicit":
            terms = replace(terms, upper=terms.upper * np.diff(seen)[terms.node])
        return cls(n_levels, seen, terms)

    @property
    def least_C(self) -> float:
        """Below this the sum of margins has no bound; zero for the others."""
        if self.terms.hinge:
            return 0.0
        first = self.terms.first
        ends = self.terms.upper[: first[1]].sum(), self.terms.upper[first[-2] :].sum()
        return 1.0 / min(ends)

    def solve(
        self, rows: KernelRows, C: float, start: Trained | None = None, **limits: Any
    ) -> Trained:
        """Train at a price C, from an earlier solution at another if there is one."""
        before = None if start is None else start.solution
        if before is not None and not self.terms.hinge:
            # What is shared out is fixed, so that prices can only rise.
            before = before if np.all(before.alpha <= C * self.terms.upper) else None
        found = train(self.terms.scaled(C), rows, before, **limits)
        return self._cut(found, float(np.max(rows.diag)))

    def _cut(self, found: Solution, longest: float) -> Trained:
        b, length, collapsed = found.thresholds, 1.0, False
        if self.terms.hinge:
            b = np.maximum.accumulate(b)
            low, high = b - 1.0, b + 1.0
        else:
            square = float(found.beta @ found.scores)
            # Narrower bands than this part of the longest row are what the tolerance leaves.
            collapsed = not square > _NO_WIDTH * longest * self.terms.n_nodes
            length = 1.0 if collapsed else np.sqrt(square)
            low, high = b[::2] / length, b[1::2] / length
            b = 0.5 * (low + high)
        bands = np.column_stack([self._placed(low), self._placed(high)])
        return Trained(found, float(length), self._placed(b), bands, collapsed)

    def _placed(self, b: np.ndarray) -> np.ndarray:
        """What lies between levels that were seen, for the thresholds between all levels."""
        edges = np.concatenate([[-np.inf], b, [np.inf]])
        return edges[np.searchsorted(self.seen, np.arange(self.n_levels - 1), side="right")]
