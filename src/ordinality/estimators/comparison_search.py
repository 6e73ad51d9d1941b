"""Cross-validation of C and the kernel width for support vector machines of comparisons.

The grid is that of `svm_search`. Where the matrix of all training comparisons of a fold fits
into the cache it is computed once for each width, and every fit starts from that of the next
smaller C. Else, and for kernels without a width, the machine itself is fitted at each point.

Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML, section 4.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from ..svm.kernel_rows import KernelRows
from ..svm.solver import solve
from ..svm.terms import comparisons
from .fitting import FitLog, check_whole
from .svm_search import best, coarse_to_fine, n_points, whole_powers

__all__ = ["ComparisonSearch", "Fold"]


@dataclass(frozen=True, eq=False)
class Fold:
    """Training comparisons of a fold, and how multipliers of them do on those held out."""

    K: np.ndarray  # (m, m)
    weights: np.ndarray  # (m,)
    share: Callable[[np.ndarray], float]  # of held-out comparisons predicted correctly


@dataclass(frozen=True, eq=False)
class _Folds:
    """What `svm_search.try_grid` asks of a search."""

    splits: list[Any]
    path: Callable[[Any, np.ndarray, Any], np.ndarray]


class ComparisonSearch(BaseEstimator):
    """A machine of comparisons whose C and kernel width are found by a coarse and a fine grid.

    A subclass gives `_machine`, `_at`, `_fold` and `_share`.
    """

    kernel: Any
    gamma: Any
    cv: Any
    fine_steps: int
    search_max_iter: int
    tol: float
    max_iter: int
    verbose: int
    _data: Any  # of the search, and gone after it

    def _machine(self, C: float, gamma: Any, **changes: Any) -> Any:
        """The plain estimator at one point."""
        raise NotImplementedError

    def _at(self, kappa: float) -> Any:
        """What the folds share at one width, for `_fold`; NaN stands for a kernel without."""
        raise NotImplementedError

    def _fold(self, at: Any, split: Any) -> Fold | None:
        """A fold at one width, or None if its machine has to be fitted as it is."""
        raise NotImplementedError

    def _share(self, machine: Any, split: Any) -> float:
        """Fit a machine to the training part, and score it on the rest."""
        raise NotImplementedError

    def _check_search(self) -> None:
        check_whole(self, fine_steps=0, search_max_iter=1)
        if isinstance(self.cv, Integral):
            check_whole(self, cv=2)
        for name in ("log_C", "log_kappa"):
            whole_powers(name, getattr(self, name))
        self._machine(1.0, self.gamma)._check_parameters()

    @property
    def _wide(self) -> bool:
        """Whether the kernel has a width to search."""
        return isinstance(self.kernel, str) and self.kernel == "rbf"

    def _indices(self, Y: np.ndarray, weights: np.ndarray, classes: bool) -> list[Any]:
        """Training and test rows of each fold, without rows of weight zero."""
        parts = check_cv(self.cv, Y, classifier=classes).split(Y, Y)
        return [(a[weights[a] > 0], b[weights[b] > 0]) for a, b in parts]

    def _fit_best(self, splits: list[Any], *data: Any, sample_weight: Any) -> None:
        """Search, then fit the plain estimator of the same name to all data."""
        given = self.gamma
        self.C, self.gamma = self._search(splits)
        del self._data
        super().fit(*data, sample_weight=sample_weight)
        self.gamma = given
        del self.C

    def _search(self, splits: list[Any]) -> tuple[float, Any]:
        """The best C and gamma; of equally good points the least C, then the least kappa."""
        log_C = whole_powers("log_C", self.log_C)
        log_kappa = (
            whole_powers("log_kappa", self.log_kappa) if self._wide else np.array([np.nan])
        )
        fine, log = int(self.fine_steps), FitLog(self)
        total = n_points(log_C, log_kappa, fine) * len(splits)
        folds: Any = _Folds(splits, self._path)
        tried, _ = coarse_to_fine(
            folds, self._at, log_C, log_kappa, fine, tick=log.counter("search: fit", total)
        )
        # A point of both grids was fitted from different starts, so its two scores may differ
        # within the tolerance of the solver: only those of the last grid are compared.
        mean = np.where(tried.stage == tried.stage[-1], tried.score.mean(axis=1), np.nan)
        at = best(tried.C, tried.kappa, mean)
        self.C_, self.best_score_ = float(tried.C[at]), float(mean[at])
        gamma = self.gamma
        if self._wide:
            gamma = self.gamma_ = 0.5 * float(tried.kappa[at])
        columns = tried.columns()
        self.cv_results_ = {k: v for k, v in columns.items() if not k.endswith(_ERRORS)}
        log.stage("search: %d fits, C %.3g, score %.4g", total, self.C_, self.best_score_)
        self._warn_of_search(int(np.sum(~columns["converged"])), len(mean))
        return self.C_, gamma

    def _path(self, at: Any, Cs: np.ndarray, split: Any) -> np.ndarray:
        """Rising prices for one fold; columns as of `svm_search.Search.path`."""
        found, before, fold = np.empty((len(Cs), 5)), None, self._fold(at, split)
        steps = min(self.search_max_iter, self.max_iter)
        rows = None if fold is None else KernelRows.of_matrix(fold.K)
        for i, C in enumerate(Cs):
            if fold is None or rows is None:
                gamma = 0.5 * at if self._wide else self.gamma
                machine = self._machine(float(C), gamma, max_iter=steps, verbose=0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    share = self._share(machine, split)
                done = machine.n_iter_, machine.converged_
            else:
                prices = comparisons(C * fold.weights)
                before = solve(prices, rows, start=before, tol=self.tol, max_steps=steps)
                share = fold.share(before.beta)
                done = before.report.n_steps, before.report.converged
            found[i] = 1.0 - share, 1.0 - share, share, *done
        return found

    def _warn_of_search(self, cut: int, points: int) -> None:
        if cut:
            warnings.warn(
                f"fits of the search stopped after {self.search_max_iter} steps at {cut} of "
                f"{points} points, which are scored as they were then. Raise search_max_iter, "
                "or choose smaller C with log_C.",
                ConvergenceWarning,
                stacklevel=4,
            )


_ERRORS = ("_mae", "_zero_one")  # of ordered labels, which comparisons have not
