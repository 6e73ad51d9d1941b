"""Checks that estimators share: each refusal names what was found, wanted, and what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["check_choices", "check_positive", "check_weights", "check_whole", "rows_of"]


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
