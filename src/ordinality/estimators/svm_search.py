"""Grid search for C and the width of the kernel: coarse, then fine.

As in Chu and Ghahramani (2005) and Chu and Keerthi (2007): five folds, a grid of whole powers
of ten, and a finer one in steps of 0.2 of the logarithm around the best point.

`ComparisonSearch` runs it for machines of comparisons. Where the matrix of all training
comparisons of a fold fits into the cache it is computed once for each width, and every fit
starts from that of the next smaller C. Otherwise, and for kernels without a width, the machine
itself is fitted at each point.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from .. import levels as _levels
from .. import metrics
from ..svm.kernel_rows import KernelRows, part
from ..svm.solver import solve
from ..svm.terms import comparisons
from .base_svm import Machine
from .fitting import FitLog, check_whole

__all__ = [
    "COSTLY",
    "ComparisonSearch",
    "Fold",
    "Search",
    "Tried",
    "best",
    "coarse_to_fine",
    "distinct_split",
    "n_points",
    "try_grid",
    "whole_powers",
]


_FINE = 0.2  # step of the fine grid, in log10


# C times weight exceeds this only with extreme weights: the papers' grid ends at 10^3.8. The
# number of steps grows with it, so above it a whole path of rising C gets _PER_TERM steps for
# each hinge term. Paths of unit weights took 6 per term with 20 overlapping rows and 190 with
# 100 (three levels, rbf kernel).
COSTLY = 1e5


_PER_TERM = 200


Split = tuple[np.ndarray, ...]  # training and test rows; and weights, if not the rows' own


Tick = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Search:
    """Folds of rows, and how a machine is trained and scored on them."""

    y: np.ndarray  # (n,); ranks 0..K-1
    n_levels: int
    constraints: str
    # rows by number, and how often each was seen on either side of the split
    splits: list[Split]
    price: np.ndarray  # (n,); what slack of each row costs at C = 1 and for a weight of one
    # (n,); how much each row counts in training and in an error, where the split does not say
    weights: np.ndarray
    # "mae", "zero_one" or another name of `ordinality.metrics.scorer` that takes labels
    scoring: str = "mae"
    tol: float = 1e-3
    max_steps: int = 1_000_000  # for each fit
    cache_bytes: int = 2**28

    def path(self, rows: KernelRows, Cs: np.ndarray, split: Split) -> np.ndarray:
        """Errors, steps and convergence for rising C in one fold, shape (len(Cs), 5)."""
        train, test = split[:2]
        counts, test_counts = split[2:] or (self.weights[train], self.weights[test])
        cost = self.price[train] * counts
        machine = Machine.of(self.constraints, self.y[train], self.n_levels, cost)
        inner = part(rows, train)
        found, before, beta = np.full((len(Cs), 5), np.nan), None, np.zeros(len(self.y))
        left = _PER_TERM * len(machine.terms.row)
        for i, C in enumerate(Cs):
            costly = C * np.max(cost) > COSTLY
            if machine.least_C > C:
                continue
            if before is not None and before.collapsed:
                found[i] = *found[i - 1, :3], 0, True  # it stays so at a larger C
                continue
            if costly and before is not None and left <= 0:
                found[i] = *found[i - 1, :3], 0, False
                continue
            before = machine.solve(
                inner, C, before, tol=self.tol, cache_bytes=self.cache_bytes,
                max_steps=min(self.max_steps, left) if costly else self.max_steps,
            )  # fmt: skip
            beta[train] = before.beta
            ranks = _levels.rank_from_scores(rows.times(beta, test), before.thresholds)
            report = before.solution.report
            left -= report.n_steps if costly else 0
            errors = self._errors(ranks, self.y[test], test_counts)
            found[i] = *errors, report.n_steps, report.converged
        return found

    def _errors(
        self, ranks: np.ndarray, y: np.ndarray, weights: np.ndarray
    ) -> tuple[float, float, float]:
        away = np.abs(ranks - y)
        mae = float(np.average(away, weights=weights))
        wrong = float(np.average(away > 0, weights=weights))
        if self.scoring in ("mae", "zero_one"):
            return mae, wrong, -(mae if self.scoring == "mae" else wrong)
        levels = range(self.n_levels)
        score = metrics.scorer(self.scoring, levels=levels)(_Echo(), ranks, y, weights)
        return mae, wrong, score


class _Echo:
    """An estimator that predicts what it is given, for scorers."""

    def predict(self, ranks: np.ndarray) -> np.ndarray:
        return ranks


@dataclass(frozen=True, eq=False)
class Tried:
    """Points of a grid and their scores; arrays of shape (points,) or (points, folds)."""

    C: np.ndarray
    kappa: np.ndarray
    stage: np.ndarray  # 0 coarse, 1 fine
    mae: np.ndarray
    zero_one: np.ndarray
    score: np.ndarray  # the larger the better
    n_steps: np.ndarray
    converged: np.ndarray

    def joined(self, other: Tried) -> Tried:
        """The points of both."""
        names = [field.name for field in fields(self)]
        return Tried(*(np.concatenate([getattr(t, n) for t in (self, other)]) for n in names))

    def columns(self) -> dict[str, np.ndarray]:
        """The points as a table: means over folds, and deviations."""
        table = {"C": self.C, "kappa": self.kappa, "gamma": 0.5 * self.kappa}
        table["stage"] = np.array(["coarse", "fine"])[self.stage]
        for name in ("mae", "zero_one", "score"):
            folds = getattr(self, name)
            table[f"mean_test_{name}"] = folds.mean(axis=1)
            table[f"std_test_{name}"] = folds.std(axis=1)
        table["mean_n_iter"] = self.n_steps.mean(axis=1)
        table["converged"] = np.all(self.converged == 1, axis=1)
        return table


def whole_powers(name: str, value: Any) -> np.ndarray:
    """The logarithms from the least to the largest in whole steps."""
    try:
        low, high = (operator.index(v) for v in value)
    except (TypeError, ValueError):
        low, high = 1, 0
    if low > high:
        raise ValueError(
            f"{name}={value!r} must be two whole numbers, the smallest and the largest "
            "logarithm to base ten, such as (-3, 3)."
        )
    return np.arange(low, high + 1, dtype=np.float64)


def n_points(log_C: np.ndarray, log_kappa: np.ndarray, fine_steps: int) -> int:
    """How many points a search will try."""
    side = 2 * fine_steps + 1
    fine = side if np.isnan(log_kappa[0]) else side**2
    return len(log_C) * len(log_kappa) + (fine if fine_steps else 0)


def distinct_split(
    place: np.ndarray, weights: np.ndarray, train: np.ndarray, test: np.ndarray
) -> Split:
    """A split of rows as given as one of distinct rows and how often each was seen."""
    sides, counts = [], []
    for index in (train, test):
        index = index[place[index] >= 0]
        rows, where = np.unique(place[index], return_inverse=True)
        sides.append(rows)
        counts.append(np.bincount(where, weights[index], len(rows)))
    return sides[0], sides[1], counts[0], counts[1]


def coarse_to_fine(
    search: Search,
    rows_at: Callable[[float], KernelRows],
    log_C: np.ndarray,
    log_kappa: np.ndarray,
    fine_steps: int = 4,
    *,
    mapper: Callable[..., Iterable[Any]] = map,
    tick: Tick = lambda done: None,
) -> tuple[Tried, int]:
    """Try a grid, then a finer one around its best point."""
    tried = try_grid(search, rows_at, log_C, log_kappa, 0, mapper, tick)
    at = best(tried.C, tried.kappa, tried.score.mean(axis=1))
    if fine_steps:
        around = _FINE * np.arange(-fine_steps, fine_steps + 1)
        fine_C = np.log10(tried.C[at]) + around
        fine_kappa = np.log10(tried.kappa[at]) + around
        if np.isnan(log_kappa[0]):
            fine_kappa = log_kappa
        fine = try_grid(search, rows_at, fine_C, fine_kappa, 1, mapper, tick)
        tried = tried.joined(fine)
        at = best(tried.C, tried.kappa, tried.score.mean(axis=1))
    return tried, at


def best(C: np.ndarray, kappa: np.ndarray, score: np.ndarray) -> int:
    """The point of the best score; of several the one of least C, then of least kappa."""
    if np.all(np.isnan(score)):
        raise ValueError(
            "no point of the search has a score in every fold. For the sum of margins C times "
            "the number of rows of the lowest and of the highest level must be at least 1: "
            "raise log_C. Otherwise choose a score that is defined where all predictions are "
            "equal: 'mae'."
        )
    # Sums of the same errors in another order differ by rounding, some 1e-16 per row.
    top = np.flatnonzero(score >= np.nanmax(score) - 1e-12)
    return int(top[np.lexsort((kappa[top], C[top]))[0]])


def try_grid(
    search: Search,
    rows_at: Callable[[float], KernelRows],
    log_C: np.ndarray,
    log_kappa: np.ndarray,
    stage: int = 0,
    mapper: Callable[..., Iterable[Any]] = map,
    tick: Tick = lambda done: None,
) -> Tried:
    """Train and score every point of a grid."""
    Cs, kappas = 10.0**log_C, 10.0**log_kappa

    def run(rows: KernelRows, split: Split) -> np.ndarray:
        found = search.path(rows, Cs, split)
        tick(len(Cs))
        return found

    folds = []
    for kappa in kappas:
        rows = rows_at(float(kappa))
        folds.append(list(mapper(lambda split, rows=rows: run(rows, split), search.splits)))
    # (kappas, folds, Cs, 5) to five arrays (kappas * Cs, folds)
    parts = np.array(folds).transpose(3, 0, 2, 1).reshape(5, -1, len(search.splits))
    points = np.array(list(product(kappas, Cs)))
    mae, wrong, score, n_steps, converged = parts
    return Tried(
        points[:, 1], points[:, 0], np.full(len(points), stage), mae, wrong, score, n_steps,
        converged,
    )  # fmt: skip


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
