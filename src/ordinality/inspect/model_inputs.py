"""Predictions of a fitted model for changed rows of a table: partial dependence and its parts.

The model may be the last step of a pipeline, and the table may be an array or a frame: here
both are reduced to the fitted model, its inputs, names, and copies of rows with one column set.

Friedman (2001), "Greedy function approximation: a gradient boosting machine", section 8.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

__all__ = [
    "column",
    "column_number",
    "final",
    "level_proba",
    "levels_of",
    "model_with",
    "names_in",
    "names_out",
    "partial_dependence",
    "repeated",
    "row",
    "rows_at",
    "sampled",
    "thinned",
    "transformed",
    "typical",
    "with_column",
]


def final(estimator: Any) -> Any:
    """The model itself: the last step of a pipeline, or the estimator; fitted."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    check_is_fitted(estimator)
    return estimator


def transformed(estimator: Any, X: Any) -> Any:
    """`X` as the model itself sees it, behind the steps of a pipeline."""
    while isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            X = X if step is None or step == "passthrough" else step.transform(X)
        estimator = estimator.steps[-1][1]
    return X


def model_with(estimator: Any, method: str, instead: str) -> Any:
    """The model, if it has the method that is needed."""
    model = final(estimator)
    if not hasattr(model, method):
        raise TypeError(f"{type(model).__name__} has no method {method}; {instead}")
    return model


def levels_of(estimator: Any) -> list[Any]:
    """Labels in order, lowest first."""
    return np.asarray(final(estimator).levels_).tolist()


def level_proba(estimator: Any, X: Any) -> np.ndarray:
    """Probabilities of the levels, in order, shape (n, K)."""
    instead = "choose a model with probabilities, such as OrdinalGP, or calibrate this one."
    model = model_with(estimator, "predict_level_proba", instead)
    return np.asarray(model.predict_level_proba(transformed(estimator, X)))


def partial_dependence(estimator: Any, X: Any, j: int, values: Sequence[Any]) -> np.ndarray:
    """Mean probability of each level if column j had each of the values, (len(values), K)."""
    proba = level_proba(estimator, repeated(X, {j: values}))
    return np.asarray(proba.reshape(len(values), -1, proba.shape[1]).mean(axis=1))


# ---------------------------------------------------------------- columns and their names


def names_in(estimator: Any, X: Any = None) -> list[str]:
    """Names of the columns of the table."""
    if _is_frame(X):
        return [str(name) for name in nw.from_native(X, eager_only=True).columns]
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        d = np.shape(X)[1] if X is not None else getattr(estimator, "n_features_in_", 0)
        names = [f"feature {j + 1}" for j in range(d)]
    return [str(name) for name in names]


def names_out(estimator: Any, d: int) -> list[str]:
    """Names of the columns that the model itself takes, behind the steps of a pipeline."""
    names = getattr(final(estimator), "feature_names_in_", None)
    if isinstance(estimator, Pipeline) and names is None and len(estimator.steps) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step without names of its output
            names = None
    elif names is None:
        names = names_in(estimator)
    if names is None or len(names) != d:
        names = [f"feature {j + 1}" for j in range(d)]
    return [str(name) for name in names]


def column_number(names: Sequence[str], feature: int | str) -> int:
    """Place of a feature that is given by name or by place."""
    if isinstance(feature, str):
        if feature not in names:
            listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise ValueError(f"there is no feature {feature!r}; the features are {listed}.")
        return list(names).index(feature)
    if not -len(names) <= feature < len(names):
        raise ValueError(f"there is no feature {feature}; there are {len(names)}, from 0 on.")
    return int(feature) % len(names)


def column(X: Any, j: int) -> np.ndarray:
    """One column: numbers as floats, anything else as objects."""
    if _is_frame(X):
        series = nw.from_native(X, eager_only=True).get_column(_frame_names(X)[j])
        numeric = series.dtype.is_numeric() or series.dtype == nw.Boolean
        return series.cast(nw.Float64).to_numpy() if numeric else _objects(series.to_list())
    cells = np.asarray(X)[:, j]
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        return _objects(cells.tolist())


# ---------------------------------------------------------------- rows


def rows_at(X: Any, at: np.ndarray) -> Any:
    """Some rows of a table, by place."""
    if _is_frame(X):
        return nw.from_native(X, eager_only=True)[at.tolist(), :].to_native()
    return np.asarray(X)[at]


def sampled(X: Any, most: int | None, seed: int) -> Any:
    """At most ``most`` rows, drawn at random, in their order."""
    n = len(X)
    if most is None or n <= most:
        return X
    return rows_at(X, np.sort(np.random.default_rng(seed).choice(n, most, replace=False)))


def thinned(X: Any, most: int) -> Any:
    """At most ``most`` rows, evenly spaced."""
    n = len(X)
    if n <= most:
        return X
    return rows_at(X, np.linspace(0, n - 1, most).round().astype(int))


def row(X: Any, number: int) -> Any:
    """The row of that number, as a table of one row."""
    if not -len(X) <= number < len(X):
        raise ValueError(f"there is no row {number}; there are {len(X)}, from 0 on.")
    return rows_at(X, np.array([number % len(X)]))


def typical(X: Any) -> Any:
    """One row: the median of each numerical column, the commonest value of any other."""
    d = len(_frame_names(X)) if _is_frame(X) else np.shape(X)[1]
    found = row(X, 0)
    for j in range(d):
        found = with_column(found, j, [_middle(column(X, j))])
    return found


def repeated(X: Any, settings: dict[int, Sequence[Any]]) -> Any:
    """All rows of ``X`` once for each setting; predictions reshape to (settings, rows)."""
    times = len(next(iter(settings.values())))
    rows = rows_at(X, np.tile(np.arange(len(X)), times))
    for j, values in settings.items():
        rows = with_column(rows, j, [value for value in values for _ in range(len(X))])
    return rows


def with_column(X: Any, j: int, values: list[Any]) -> Any:
    """``X`` with other values in column j; numbers are stored as floats."""
    if not _is_frame(X):
        X = np.array(X, dtype=object if isinstance(values[0], str) else None)
        if X.dtype.kind in "iub":  # a median of whole numbers need not be one
            X = X.astype(np.float64)
        X[:, j] = values
        return X
    frame = nw.from_native(X, eager_only=True)
    old = frame.get_column(frame.columns[j])
    numeric = old.dtype.is_numeric() or old.dtype == nw.Boolean
    kind = nw.Float64() if numeric and not isinstance(values[0], bool) else old.dtype
    new = nw.new_series(old.name, values, kind, backend=frame.implementation)
    return frame.with_columns(new).to_native()


def _is_frame(X: Any) -> bool:
    return X is not None and hasattr(X, "columns")


def _frame_names(X: Any) -> list[str]:
    return nw.from_native(X, eager_only=True).columns


def _middle(cells: np.ndarray) -> Any:
    if cells.dtype == np.float64:
        numbers = np.sort(cells[np.isfinite(cells)])
        return float(numbers[len(numbers) // 2]) if len(numbers) else float("nan")
    known = [cell for cell in cells if cell is not None and cell == cell]
    return max(sorted(set(known), key=str), key=known.count) if known else None


def _objects(values: list[Any]) -> np.ndarray:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells
