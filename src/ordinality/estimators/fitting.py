"""What every fit does: check parameters, sort rows, succeed whole or change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np

__all__ = [
    "DistinctRows",
    "atomic",
    "canonical_order",
    "check_choices",
    "check_positive",
    "check_weights",
    "check_whole",
    "first_copies",
    "rows_of",
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


def check_weights(weights: Any, n: int) -> np.ndarray:
    """Sample weights as floats, one a row; ones if None."""
    if weights is None:
        return np.ones(n)
    try:
        checked = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"sample_weight is {weights!r}; pass one number for each row."
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
        raise ValueError("all sample weights are zero: there is nothing to learn from.")
    return checked


def rows_of(y: Any, checked: np.ndarray, kept: np.ndarray) -> Any:
    """The labels of some rows, in the container that may carry their order."""
    if getattr(y, "dtype", None) is None or getattr(y, "ndim", 1) != 1:
        y = checked  # a list, or a column that scikit-learn has flattened
    if len(kept) == len(checked):
        return y
    return y.iloc[kept] if hasattr(y, "iloc") else y[kept]


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
    columns = np.column_stack([X, *ties])
    before, after = columns[:-1], columns[1:]
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    new = np.append(True, ~np.all(same, axis=1))
    return np.flatnonzero(new)[np.cumsum(new) - 1]


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

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> DistinctRows:
        """Sort the rows and merge those that agree in features and level."""
        order, moved, new = _runs(X, y, weights)
        total = np.bincount(np.cumsum(new) - 1, weights[order])
        groups = np.cumsum(moved)[new] - 1
        first = np.minimum.reduceat(order, np.flatnonzero(new))
        return cls(X[order][new], y[order][new], total, groups, first)

    @staticmethod
    def places(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Which of the distinct rows each of the rows given became."""
        order, _, new = _runs(X, y, weights)
        places = np.empty(len(y), dtype=np.int64)
        places[order] = np.cumsum(new) - 1
        return places

    def take(self, index: np.ndarray) -> DistinctRows:
        """Some of the rows, in the order of `index`."""
        parts = (self.X, self.y, self.weights, self.groups, self.first)
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
    moved = np.append(True, np.any(X[1:] != X[:-1], axis=1))
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
