"""Classifiers inside another one: copies that know the order, their fits and probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter, validate_data

from ..levels import Order
from .base_ordinal import OrdinalClassifier

__all__ = [
    "checked_rows",
    "fit_member",
    "last_step",
    "ordered_proba",
    "own_levels",
    "ready_copy",
    "weight_parameter",
]


def checked_rows(estimator: Any, X: Any, reset: bool = False) -> Any:
    """Rows as a classifier is to see them: a frame as it is, anything else as an array."""
    if hasattr(X, "columns"):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        return X
    return validate_data(
        estimator, X, dtype=None, ensure_all_finite=False, accept_sparse="csr", reset=reset
    )


def last_step(model: Any) -> Any:
    """The classifier itself: the last step of a pipeline, or the model."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def ready_copy(given: Any, levels: np.ndarray, rng: np.random.Generator | None = None) -> Any:
    """A copy that is not fitted; what is ordinal inside it, at any depth, knows the levels.

    With ``rng``, every random state that is None becomes a number drawn from it.
    """
    model = clone(given)
    for part in _ordinal_parts(model):
        if part.levels is None:
            part.set_params(levels=levels)
    if rng is not None:
        states = [
            name
            for name, value in sorted(model.get_params().items())
            if name.split("__")[-1] == "random_state" and value is None
        ]
        model.set_params(**{name: int(rng.integers(2**31)) for name in states})
    return model


def own_levels(given: Any) -> list[Any]:
    """The orders that a classifier and its parts state."""
    return [part.levels for part in _ordinal_parts(given) if part.levels is not None]


def _ordinal_parts(model: Any) -> Iterator[OrdinalClassifier]:
    parts = [model, *model.get_params().values()] if hasattr(model, "get_params") else []
    yield from (part for part in parts if isinstance(part, OrdinalClassifier))


def weight_parameter(model: Any) -> str | None:
    """Name under which `fit` takes sample weights; None if it takes none."""
    prefix = ""
    while isinstance(model, Pipeline):
        name, model = model.steps[-1]
        prefix += f"{name}__"
    return f"{prefix}sample_weight" if has_fit_parameter(model, "sample_weight") else None


def fit_member(model: Any, X: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
    """Fit in place, with weights if there are any; they are refused where `fit` takes none."""
    if weights is None:
        return model.fit(X, y)
    name = weight_parameter(model)
    if name is None:
        raise ValueError(
            f"{type(last_step(model)).__name__} takes no sample weights; leave sample_weight "
            "out, or choose a classifier that takes them."
        )
    return model.fit(X, y, **{name: weights})


def ordered_proba(fitted: Any, X: Any, order: Order) -> np.ndarray:
    """Probabilities (n, K) of the levels in order; zero for one that the model has not seen."""
    proba = np.zeros((X.shape[0], order.n_levels))
    proba[:, order.encode(fitted.classes_)] = fitted.predict_proba(X)
    return proba
