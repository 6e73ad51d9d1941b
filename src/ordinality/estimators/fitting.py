"""What every fit does: check, sort and scale the rows, log, succeed whole or change nothing.

Every estimator has a logger named after its class below "ordinality". Nothing here configures
logging; lines for stderr are written only where no handler of the user's writes them.
"""

from __future__ import annotations

import logging
import reprlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import column_or_1d, validate_data

from ..levels import as_labels

__all__ = [
    "DistinctRows",
    "FitLog",
    "Scaling",
    "SearchLog",
    "atomic",
    "canonical_order",
    "check_choices",
    "check_labels",
    "check_positive",
    "check_weights",
    "check_whole",
    "checked_data",
    "first_copies",
    "rows_of",
    "take_rows",
]


def check_choices(estimator: Any, **choices: tuple[Any, ...]) -> None:
    """Each named parameter is one of its choices."""
    for name, allowed in choices.items():
        value = getattr(estimator, name)
        if not (value is None or isinstance(value, (str, bool))) or value not in allowed:
            raise ValueError(f"{name}={value!r} is not known; choose one of {list(allowed)}.")


def check_positive(estimator: Any, *names: str) -> None:
    """Each named parameter is a positive finite number."""
    for name in names:
        value = getattr(estimator, name)
        if not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(f"{name}={value!r} must be a number above zero.")


def check_whole(estimator: Any, **least: int) -> None:
    """Each named parameter is a whole number, not below its least."""
    for name, least_value in least.items():
        value = getattr(estimator, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not (whole and int(value) >= least_value):
            raise ValueError(f"{name}={value!r} must be a whole number, {least_value} or more.")


def check_labels(y: Any, n: int) -> np.ndarray:
    """Labels as an array of one axis, one for each row."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    checked = column_or_1d(y, warn=True)
    if len(checked) != n:
        raise ValueError(
            f"X and y have inconsistent numbers of samples: [{n}, {len(checked)}]; pass one "
            "label for each row."
        )
    return checked


def checked_data(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    text: str = "encode text as numbers, for instance as columns of 0 and 1 by OneHotEncoder",
    **how: Any,
) -> Any:
    """`validate_data` of scikit-learn; what cannot be used is named, with what to do."""
    try:
        return validate_data(estimator, X, y, **how)
    except ValueError as error:
        found = str(error).partition("\n")[0]
        if found.startswith("could not convert string"):
            advice = text
        elif found.startswith("Input X contains NaN"):
            advice = "fill missing values, for instance by SimpleImputer, or drop those rows"
        elif found.startswith("Input X contains infinity"):
            advice = "give finite numbers"
        else:
            if "contains NaN" in found:
                as_labels(y)  # says which label
            raise
        where = _unusable(X, missing=how.get("ensure_all_finite") == "allow-nan")
        raise ValueError(f"{found.rstrip('.')}{where}; {advice}.") from None


def _unusable(X: Any, *, missing: bool) -> str:
    """Where the first cell is that is no finite number, in words; nothing for sparse rows."""
    if hasattr(X, "toarray"):
        return ""
    names = getattr(X, "columns", None)
    for j, cells in enumerate(np.asarray(X, dtype=object).T):
        for i, cell in enumerate(cells):
            try:
                value = np.nan if cell is None else float(cell)
                usable = np.isfinite(value) or (missing and np.isnan(value))
            except (TypeError, ValueError):
                usable = False
            if not usable:
                column = j if names is None else str(names[j])
                return f", in column {column!r} at position {i}"
    return ""


def check_weights(weights: Any, n: int) -> np.ndarray:
    """Sample weights as floats, one a row; ones if None."""
    if weights is None:
        return np.ones(n)
    try:
        checked = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"sample_weight is {reprlib.repr(weights)}; pass one number for each row."
        ) from None
    if checked.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {checked.shape}, but there are {n} rows; pass one weight "
            "for each."
        )
    if not np.all((checked >= 0) & (checked < np.inf)):
        raise ValueError(
            "sample_weight holds negative, infinite or missing values; use 0 to drop a row."
        )
    if not np.any(checked > 0):
        raise ValueError(
            "all sample weights are zero, so there is nothing to learn from; give some rows a "
            "weight above zero."
        )
    return checked


def rows_of(y: Any, checked: np.ndarray, kept: np.ndarray) -> Any:
    """The labels of some rows, in the container that may carry their order."""
    if getattr(y, "dtype", None) is None or getattr(y, "ndim", 1) != 1:
        y = checked  # a list, or a column that scikit-learn has flattened
    if len(kept) == len(checked):
        return y
    return y.iloc[kept] if hasattr(y, "iloc") else y[kept]


def take_rows(X: Any, index: np.ndarray) -> Any:
    """Some of the rows of an array or a frame."""
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def canonical_order(X: np.ndarray, *ties: np.ndarray, gram: bool = False) -> np.ndarray:
    """Places of rows sorted by their features, equal ones by each of ``ties`` in turn.

    The rows of a kernel matrix (``gram``) have no features: the set of their values takes that
    part, because it does not depend on the order of rows and columns.
    """
    if gram:
        X = np.column_stack([np.diagonal(X), np.sort(X, axis=1)])
    return np.lexsort((*ties[::-1], *X.T[::-1]))


def first_copies(X: np.ndarray, *ties: np.ndarray) -> np.ndarray:
    """Of rows in canonical order, the place of the first that equals each."""
    new = _changes(np.column_stack([X, *ties]))
    return np.flatnonzero(new)[np.cumsum(new) - 1]


def _changes(rows: np.ndarray) -> np.ndarray:
    """Whether each row differs from the one before it; missing values are equal."""
    before, after = rows[:-1], rows[1:]
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    return np.append(True, ~np.all(same, axis=1))


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct rows, sorted; how often each was seen is its weight.

    A fit from these depends neither on the order of the rows given, nor on whether one was
    given twice or with weight two, to the last bit.
    """

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,), ranks
    weights: np.ndarray  # (n,), above zero
    groups: np.ndarray  # (n,), 0, 1, ...: rows that agree in all features share a number
    first: np.ndarray  # (n,), where the first copy of each was among the rows given
    copies: np.ndarray  # (n,), how many of the rows given became each

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> DistinctRows:
        """Sort the rows and merge those that agree in features and level."""
        order, moved, new = _runs(X, y, weights)
        starts = np.flatnonzero(new)
        total = np.bincount(np.cumsum(new) - 1, weights[order])
        groups = np.cumsum(moved)[new] - 1
        first = np.minimum.reduceat(order, starts)
        copies = np.diff(starts, append=len(y))
        return cls(X[order][new], y[order][new], total, groups, first, copies)

    @staticmethod
    def places(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Which of the distinct rows each of the rows given became."""
        order, _, new = _runs(X, y, weights)
        places = np.empty(len(y), dtype=np.int64)
        places[order] = np.cumsum(new) - 1
        return places

    def take(self, index: np.ndarray) -> DistinctRows:
        """Some of the rows, in the order of `index`."""
        parts = (self.X, self.y, self.weights, self.groups, self.first, self.copies)
        return DistinctRows(*(part[index] for part in parts))

    def __len__(self) -> int:
        return len(self.y)


def _runs(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An order of the rows; in it, where features change, and where features or level do."""
    # Weights too: the rounding of their sum depends on the order.
    order = canonical_order(X, y, weights)
    X, y = X[order], y[order]
    moved = _changes(X)
    return order, moved, moved | np.append(True, y[1:] != y[:-1])


Method = TypeVar("Method", bound=Callable[..., Any])


def atomic(method: Method) -> Method:
    """Run a method that fits on a copy of its estimator, and keep the copy's state at the end.

    An error or an interrupt on the way leaves the estimator as it was. The copy is shallow:
    the method may replace fitted attributes, but must not change them in place.
    """

    @wraps(method)  # scikit-learn reads the signature
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        method(copy, *args, **kwargs)
        self.__dict__ = copy.__dict__  # one assignment, which an interrupt cannot divide
        return self

    return cast(Method, whole)


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - centre) / spread``: features of mean zero and standard deviation one."""

    centre: np.ndarray  # (d,)
    spread: np.ndarray  # (d,), one for a feature that never varies

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> Scaling:
        """The scaling under which these rows are standardised."""
        centre = np.average(X, axis=0, weights=weights)
        reach = np.max(np.abs(X - centre), axis=0)
        unit = np.where(reach > 0, reach, 1.0)  # squares of 1e200 overflow
        squares = ((X - centre) / unit) ** 2
        spread = unit * np.sqrt(np.average(squares, axis=0, weights=weights))
        return cls.by_moments(centre, spread, len(X))

    @classmethod
    def by_moments(cls, centre: np.ndarray, spread: np.ndarray, n: int) -> Scaling:
        """From means and standard deviations of n rows."""
        # Below this a column is constant up to the rounding of its mean.
        floor = 10 * np.finfo(float).eps * np.abs(centre) * np.sqrt(n)
        return cls(centre, np.where(spread > floor, spread, 1.0))

    @classmethod
    def none(cls, d: int) -> Scaling:
        """Features as they are."""
        return cls(np.zeros(d), np.ones(d))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (X - self.centre) / self.spread

    def undone(self, Z: np.ndarray) -> np.ndarray:
        """Scaled rows in the units of the features."""
        return Z * self.spread + self.centre


logging.getLogger("ordinality").addHandler(logging.NullHandler())


_SILENCE = 5.0  # seconds after which the next step is logged like a stage


class FitLog:
    """Messages of one fit.

    Stages are logged as INFO and written at ``verbose=1``, steps as DEBUG and at ``verbose=2``.
    """

    def __init__(self, estimator: Any) -> None:
        verbose = estimator.verbose
        if not isinstance(verbose, Integral) or verbose < 0:
            raise ValueError(
                f"verbose={verbose!r} must be a whole number: 0 for no messages, 1 for the "
                "stages of a fit, 2 for every step."
            )
        self._verbose, self._name = int(verbose), type(estimator).__name__
        self._logger = logging.getLogger(f"ordinality.{self._name}")
        # Whether any message will be shown or logged.
        self.wanted = self._verbose > 0 or self._logger.isEnabledFor(logging.INFO)
        self._lock = threading.Lock()
        self._begun = self._last = time.monotonic()

    def stage(self, text: str, *values: Any) -> None:
        """A part of the fit is done; values are put into the text as by logging."""
        self._tell(logging.INFO, text, values)

    def step(self, text: str, *values: Any) -> None:
        """One of many steps is done; after 5 s of silence it is logged as a stage."""
        silent = time.monotonic() - self._last >= _SILENCE
        self._tell(logging.INFO if silent else logging.DEBUG, text, values)

    def counter(self, what: str, total: int) -> Callable[[int], None]:
        """A function to call with the number of pieces done, from any thread."""
        done, begun = 0, time.monotonic()

        def tick(more: int = 1) -> None:
            nonlocal done
            with self._lock:
                done += more
                left = (time.monotonic() - begun) * (total - done) / done
            self.step("%s %d of %d, about %s left", what, done, total, _duration(left))

        return tick

    def solver(self, n_steps: int, violation: float) -> None:
        """Progress of the solver of a support vector machine."""
        self.step("%d steps of the solver, violation %.2g", n_steps, violation)

    def _tell(self, level: int, text: str, values: tuple[Any, ...]) -> None:
        shown = self._verbose >= (1 if level == logging.INFO else 2)
        if not (shown or self._logger.isEnabledFor(level)):
            return
        now = time.monotonic()
        line = f"{text % values} ({_duration(now - self._begun)})"
        self._last = now if level == logging.INFO else self._last
        if shown and not _handled(self._logger, level):
            print(f"{self._name}: {line}", file=sys.stderr, flush=True)
        self._logger.log(level, "%s", line)


class SearchLog:
    """Messages of the search of a Gaussian process: evaluations, and a line for each subset."""

    def __init__(self, log: FitLog, n: int) -> None:
        self._log, self._n, self._lock = log, n, threading.Lock()
        self._now, self._count, self._best = 0, 0, float("-inf")

    def __call__(self, observations: int, value: float) -> None:
        """An evaluation on so many observations gave this value of the criterion."""
        with self._lock:  # starts may run in several threads
            if observations != self._now:
                self.end()
                self._now, self._count, self._best = observations, 0, float("-inf")
            self._count, self._best = self._count + 1, max(self._best, value)
            self._log.step(
                "%d of %d observations, evaluation %d: criterion %.6g",
                *(observations, self._n, self._count, value),
            )

    def end(self) -> None:
        """The search of this subset is over."""
        if self._count:
            self._log.stage(
                "%d of %d observations, %d evaluations: criterion %.6g",
                *(self._now, self._n, self._count, self._best),
            )


def _handled(logger: logging.Logger, level: int) -> bool:
    """Whether a handler of the user's takes messages of this level."""
    at: logging.Logger | None = logger if logger.isEnabledFor(level) else None
    while at is not None:
        own = [h for h in at.handlers if not isinstance(h, logging.NullHandler)]
        if any(handler.level <= level for handler in own):
            return True
        at = at.parent if at.propagate else None
    return False


def _duration(seconds: float) -> str:
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"
