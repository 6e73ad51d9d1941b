"""What the support vector machines of comparisons share: parameters and training."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..svm.rows import KernelRows
from ..svm.solver import Solution
from ..svm.terms import comparisons
from ._machine import train
from ._progress import FitLog
from ._svm_kernels import check_shape, chosen, gamma_of
from ._threads import one_pool
from ._validation import check_choices, check_positive, check_whole

__all__ = ["ComparisonMachine"]


class ComparisonMachine(BaseEstimator):
    """What the two share: a machine with one hinge term for each comparison and no bias."""

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
        """Train, keep the report, and warn if it did not settle."""
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
            "%d comparisons, %d steps of the solver: %d matter",
            *(len(rows), self.n_iter_, self.n_support_),
        )
        if not self.converged_:
            warnings.warn(
                f"training stopped after {self.n_iter_} steps with comparisons still off by "
                f"{found.report.violation:.1e}, tol being {self.tol:g}. Raise max_iter, or "
                "lower C or gamma, or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found
