"""What the support vector machines share: training, thresholds, the choice of a kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ordinality import kernels as ours

from ..kernels.features import FixedPolynomial
from ..kernels.foreign import Function, translate
from ..svm.kernel_rows import KernelRows
from ..svm.linear import solve_linear
from ..svm.solver import Solution, solve
from ..svm.terms import FORMULATIONS, Terms, comparisons
from .fitting import FitLog, check_choices, check_positive, check_whole
from .threads import one_pool

__all__ = [
    "NAMES",
    "ComparisonMachine",
    "Machine",
    "Trained",
    "check_shape",
    "chosen",
    "gamma_of",
    "train",
]


NAMES = ("rbf", "linear", "poly", "polynomial", "precomputed")

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
    """A solution as a score and the thresholds that cut it."""

    solution: Solution
    length: float  # what scores were divided by: ``|w|`` for the sum of margins, else one
    # (K - 1,); ascending; equal around a level never seen, infinite beyond the outermost seen
    thresholds: np.ndarray
    bands: np.ndarray  # (K - 1, 2); what rows should keep out of around each
    # whether the bands of the sum of margins have no width, so that ``|w|`` is zero
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
    """The hinge terms of a formulation, at C = 1."""

    n_levels: int  # K, seen or not
    # (L,); ranks that occur. The machine is stated among these; a threshold that they have
    # between them stands for all in the same place, which rows pay for under implicit
    # constraints
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
            # A start is feasible only if no multiplier exceeds its new bound.
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
            # Bands narrower than this share of the longest row are due to the tolerance.
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


def chosen(
    kernel: Any, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0
) -> ours.Kernel | Function | FixedPolynomial:
    """What a user may pass as ``kernel=`` as something to call."""
    if isinstance(kernel, str):
        if kernel not in NAMES:
            raise ValueError(
                f"there is no kernel named {kernel!r}; the names are {', '.join(NAMES)}, and a "
                "function (X, Y) -> matrix or a kernel object will do."
            )
        if kernel == "rbf":
            return ours.Gaussian((2.0 * gamma) ** -0.5)
        if kernel == "precomputed":
            return ours.Precomputed()
        return ours.Linear() if kernel == "linear" else FixedPolynomial(gamma, degree, coef0)
    if isinstance(kernel, ours.Kernel | type) or hasattr(kernel, "clone_with_theta"):
        return translate(kernel)
    if callable(kernel):
        return Function(kernel)
    raise TypeError(
        f"kernel={kernel!r} is not a kernel; pass one of {list(NAMES)}, a function (X, Y) -> "
        "matrix, or a kernel object of ordinality.kernels or scikit-learn."
    )


def check_shape(gamma: Any, coef0: Any) -> None:
    """Refuse a gamma or coef0 that a kernel cannot have."""
    named = isinstance(gamma, str) and gamma in ("scale", "auto")
    if not (named or (isinstance(gamma, Real) and 0 < float(gamma) < np.inf)):
        raise ValueError(f"gamma={gamma!r} must be 'scale', 'auto' or a number above zero.")
    if not (isinstance(coef0, Real) and 0 <= float(coef0) < np.inf):
        raise ValueError(f"coef0={coef0!r} must be a number, zero or more.")


def gamma_of(gamma: Any, X: np.ndarray, weights: np.ndarray) -> float:
    """The number behind "scale", 1 / (d variance of X), or "auto", 1 / d."""
    if not isinstance(gamma, str):
        return float(gamma)
    d = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    entries = np.broadcast_to(weights[:, None], X.shape)
    variance = np.average((X - np.average(X, weights=entries)) ** 2, weights=entries)
    # All entries are equal: any number will do.
    return 1.0 / (d * float(variance)) if variance > 0 else 1.0


class ComparisonMachine(BaseEstimator):
    """A machine with one hinge term for each comparison and no bias."""

    C: float
    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    standardize: bool
    tol: float
    max_iter: int
    cache_size: float
    verbose: int

    def _check_parameters(self) -> None:
        chosen(self.kernel)
        check_choices(self, standardize=(True, False))
        check_positive(self, "C", "tol", "cache_size")
        check_whole(self, degree=1, max_iter=1)
        check_shape(self.gamma, self.coef0)

    def _kernel_of(self, X: np.ndarray, weights: np.ndarray) -> Any:
        gamma = gamma_of(self.gamma, X, weights)
        return chosen(self.kernel, gamma, self.degree, self.coef0)

    def _cache_bytes(self) -> int:
        return int(self.cache_size * 2**20)

    def _solve(self, weights: np.ndarray, rows: KernelRows) -> Solution:
        """Train, keep the report, and warn if the solver did not converge."""
        log = FitLog(self)
        with one_pool(len(rows)):
            found = train(
                comparisons(float(self.C) * weights), rows,
                tol=self.tol, max_steps=self.max_iter, cache_bytes=self._cache_bytes(),
                tell=log.solver if log.wanted else None,
            )  # fmt: skip
        self.dual_objective_, self.duality_gap_ = found.objective, found.gap
        self.n_support_ = int(np.count_nonzero(found.beta))
        self.n_iter_, self.converged_ = max(1, found.report.n_steps), found.report.converged
        log.stage(
            "%d comparisons, %d steps of the solver: %d support vectors",
            *(len(rows), self.n_iter_, self.n_support_),
        )
        if not self.converged_:
            warnings.warn(
                f"the solver did not converge in {self.n_iter_} steps: violation "
                f"{found.report.violation:.1e} is above tol={self.tol:g}. Raise max_iter, "
                "lower C or gamma, or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found
