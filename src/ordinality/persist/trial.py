"""Trial predictions of a loaded model: rows of the right width, answers of the right shape.

The trial runs after every array has been checked, so that it is safe. It finds what a check of
each part alone does not: a transformer with another number of output columns, a regressor with
two outputs.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from .contents import TOLERANCE
from .sklearn_parts import ContentError

__all__ = ["check_answers"]


def check_answers(model: Any) -> None:
    """Check predictions for two rows and for one, of a model or a pipeline that ends in one.

    Two numbers of rows, since an array of two rows would broadcast to an answer of two.
    """
    last = model
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    rows = _rows(model, last)
    if rows is None:  # named columns, and no pandas: at least the last step can be tried
        model, rows = last, _sample(last)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _try(model, last, rows)
        _try(model, last, rows[:1])


def _try(model: Any, last: Any, rows: Any) -> None:
    n = len(rows)
    if hasattr(last, "transform"):
        _expect(model.transform(rows), (n, last.n_features_in_))
        return
    labels = len(last.classes_)
    ranks_labels = hasattr(last, "scores")
    _expect(model.predict(rows), (n, labels) if ranks_labels else (n,))
    if hasattr(model, "predict_proba"):
        proba = _expect(model.predict_proba(rows), (n, labels))
        if not np.allclose(proba.sum(axis=1), 1.0, atol=TOLERANCE):
            raise ContentError("gives probabilities that do not sum to one")
    if model is last and ranks_labels:
        _expect(model.scores(rows), (n, labels))
    if model is last and hasattr(last, "regressor_"):
        _expect(model.predict_latent(rows), (n,))


def _expect(found: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(found)
    if array.shape != shape:
        raise ContentError(
            f"answers {shape[0]} rows with shape {array.shape} instead of {shape}"
        )
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise ContentError("answers with values that are not finite")
    return array


def _rows(model: Any, last: Any) -> Any:
    if last.__class__.__name__.startswith("Preference"):
        if len(last._items) < 2:
            raise ContentError("has fewer than two items")
        return np.array([[0, 1], [1, 0]])
    return _sample(model)


def _sample(part: Any) -> Any:
    """Two rows that a fitted transformer or estimator takes."""
    if isinstance(part, Pipeline):
        return _sample(part.steps[0][1])
    if isinstance(part, ColumnTransformer):
        return _frame(part)
    if hasattr(part, "categories_"):
        return np.array([[cells[0] for cells in part.categories_]] * 2, dtype=object)
    rows = np.linspace(-0.5, 0.5, part.n_features_in_)
    return np.stack([rows, rows[::-1]])


def _frame(part: ColumnTransformer) -> Any:
    """Two rows of named columns, or of numbered ones."""
    columns: dict[Any, Any] = {}
    for _, transformer, used in part.transformers_:
        if isinstance(transformer, str) or not len(np.atleast_1d(used)):
            continue
        sample = _sample(transformer)
        for i, name in enumerate(np.atleast_1d(used)):
            columns.setdefault(name, sample[:, i])
    names = getattr(part, "feature_names_in_", None)
    if names is None:
        numbered = [columns.get(i, np.zeros(2)) for i in range(part.n_features_in_)]
        return np.array(numbered, dtype=object).T
    return _data_frame({name: columns.get(name, np.zeros(2)) for name in names})


def _data_frame(columns: dict[str, Any]) -> Any:
    """A data frame of pandas; None where there is no pandas."""
    try:
        import pandas
    except ImportError:
        return None
    return pandas.DataFrame(columns)
