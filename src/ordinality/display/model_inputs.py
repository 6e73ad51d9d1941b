"""What displays ask of estimators and tables, whatever these are made of.

An estimator may stand at the end of a pipeline, and a table may be an array or a frame: here
both are reduced to the fitted model, its inputs, names, and copies of rows with one column set.
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
    "names_in",
    "names_out",
    "repeated",
    "row",
    "thinned",
    "transformed",
    "typical",
    "wanted",
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


def wanted(estimator: Any, method: str, display: str, instead: str) -> Any:
    """The model, if it has the method that a display draws from."""
    model = final(estimator)
    if not hasattr(model, method):
        raise TypeError(
            f"{display} draws what {method} gives, and {type(model).__name__} has no such "
            f"method; {instead}"
        )
    return model


def levels_of(estimator: Any) -> list[Any]:
    """Labels in order, lowest first."""
    return np.asarray(final(estimator).levels_).tolist()


def level_proba(estimator: Any, X: Any, display: str) -> np.ndarray:
    """Probabilities of the levels, in order, shape (n, K)."""
    instead = "choose one with probabilities, such as OrdinalGP, or ask it to calibrate them."
    model = wanted(estimator, "predict_level_proba", display, instead)
    return np.asarray(model.predict_level_proba(transformed(estimator, X)))


# ---------------------------------------------------------------- columns and their names


def names_in(estimator: Any, X: Any = None) -> list[str]:
    """Names of the columns that a person passes in."""
    if _is_frame(X):
        return [str(name) for name in nw.from_native(X, eager_only=True).columns]
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        d = np.shape(X)[1] if X is not None else getattr(estimator, "n_features_in_", 0)
        names = [f"feature {j + 1}" for j in range(d)]
    return [str(name) for name in names]


def names_out(estimator: Any, d: int) -> list[str]:
    """Names of the columns that the model itself sees, behind a pipeline's steps."""
    names = getattr(final(estimator), "feature_names_in_", None)
    if isinstance(estimator, Pipeline) and names is None and len(estimator.steps) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step that does not name what it makes
            names = None
    elif names is None:
        names = names_in(estimator)
    if names is None or len(names) != d:
        names = [f"feature {j + 1}" for j in range(d)]
    return [str(name) for name in names]


def column_number(names: Sequence[str], feature: int | str) -> int:
    """Place of a feature that is called by its name or by its place."""
    if isinstance(feature, str):
        if feature not in names:
            listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            raise ValueError(f"there is no feature {feature!r}; the features are {listed}.")
        return list(names).index(feature)
    if not -len(names) <= feature < len(names):
        raise ValueError(f"feature {feature} of {len(names)}; they are counted from 0.")
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


def thinned(X: Any, most: int) -> Any:
    """At most so many rows, evenly spaced: the same ones each time."""
    n = len(X)
    if n <= most:
        return X
    return _rows(X, np.linspace(0, n - 1, most).round().astype(int))


def row(X: Any, number: int) -> Any:
    """The row of that number, as a table of one row."""
    if not -len(X) <= number < len(X):
        raise ValueError(f"row {number} of {len(X)}; they are counted from 0.")
    return _rows(X, np.array([number % len(X)]))


def typical(X: Any) -> Any:
    """One row: the median of every number, the commonest of everything else."""
    d = len(_frame_names(X)) if _is_frame(X) else np.shape(X)[1]
    found = row(X, 0)
    for j in range(d):
        found = _with_column(found, j, [_middle(column(X, j))])
    return found


def repeated(X: Any, settings: dict[int, Sequence[Any]]) -> Any:
    """All rows of `X` once for each setting, with columns set to what the settings say.

    Rows of one setting stand together, so that results reshape to (settings, rows).
    """
    times = len(next(iter(settings.values())))
    rows = _rows(X, np.tile(np.arange(len(X)), times))
    for j, values in settings.items():
        rows = _with_column(rows, j, [value for value in values for _ in range(len(X))])
    return rows


def _is_frame(X: Any) -> bool:
    return X is not None and hasattr(X, "columns")


def _frame_names(X: Any) -> list[str]:
    return nw.from_native(X, eager_only=True).columns


def _rows(X: Any, at: np.ndarray) -> Any:
    if _is_frame(X):
        return nw.from_native(X, eager_only=True)[at.tolist(), :].to_native()
    return np.asarray(X)[at]


def _with_column(X: Any, j: int, values: list[Any]) -> Any:
    if not _is_frame(X):
        X = np.array(X, dtype=object if isinstance(values[0], str) else None)
        if X.dtype.kind in "iub":  # a median of whole numbers need not be one
            X = X.astype(np.float64)
        X[:, j] = values
        return X
    frame = nw.from_native(X, eager_only=True)
    old = frame.get_column(frame.columns[j])
    numeric = old.dtype.is_numeric() or old.dtype == nw.Boolean
    kind = nw.Float64() if numeric else old.dtype
    new = nw.new_series(old.name, values, kind, backend=frame.implementation)
    return frame.with_columns(new).to_native()


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
