"""Specifications of the contents of objects in a model file, and their checks.

A specification is a function of a value and of the sizes known so far; it raises a
`ContentError` with the reason if the value does not conform. Sizes have names: the first array
that mentions ``n`` says what n is, and all others must agree. An object has sizes of its own;
`part` says which of them are also sizes of the object around it. `layouts` holds the
specifications of all types.

Last come trial predictions: rows of the right width, answers of the right shape. The trial runs
after every array has been checked, so that it is safe. It finds what a check of each part alone
does not: a transformer with another number of output columns, a regressor with two outputs.
"""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from . import sklearn_parts
from .names import type_name
from .sklearn_parts import LARGEST, ContentError

__all__ = [
    "ROUNDING", "TOLERANCE", "Layout", "Sizes", "anything", "arrays", "check_answers",
    "check_model", "check_object", "check_part", "choice", "count", "either", "equal", "every",
    "flag", "floats", "forget", "ints", "labels", "number", "optional", "part", "random",
    "theirs",
]  # fmt: skip

Sizes = dict[str, int]
Spec = Callable[[Any, Sizes], None]
Layout = Mapping[str, Any]

ROUNDING = 1e-9  # share that a sum of a million float64 may lose: 1e6 eps = 2e-10
# Share by which two computations of one number may differ: eps times a condition of 1e9.
TOLERANCE = 1e-6

_DIMENSION = re.compile(r"([a-zA-Z]\w*)([+-]\d+)?$")


def check_model(model: Any) -> None:
    """Check an estimator of ours, or a pipeline of parts of scikit-learn that ends in one."""
    if not isinstance(model, Pipeline):
        check_object(model, {})
        return
    sklearn_parts.check_pipeline(model)
    for name, step in model.steps:
        try:
            if isinstance(step, Pipeline) or type_name(step) is not None:
                check_model(step)
            elif not isinstance(step, str):
                sklearn_parts.check_estimator(step, math.inf)
        except ContentError as wrong:
            raise wrong.inside(f"step {name!r}") from None


def check_object(value: Any, sizes: Sizes) -> None:
    """Check the attributes of an object of ours, in the order of its layout.

    A layout maps attribute names to specifications. A name that ends in ``?`` may be missing.
    ``"also"`` is a function of the object that returns whether its parts fit together; it runs
    when each part is known to conform.
    """
    from .layouts import LAYOUTS

    name = type_name(value)
    assert name is not None
    layout = LAYOUTS[name]
    also = layout.get("also")
    specs = {name: spec for name, spec in layout.items() if name != "also"}
    if isinstance(value, BaseEstimator):
        parameters = inspect.signature(type(value)).parameters
        specs = {**{name: anything for name in parameters if name not in specs}, **specs}
    for name, parameter in inspect.signature(type(value)).parameters.items():
        if parameter.default is not inspect.Parameter.empty:  # it may be newer than the file
            vars(value).setdefault(name, parameter.default)
    _check_names(vars(value), specs)
    for name, spec in specs.items():
        name = name.removesuffix("?")
        if name not in vars(value):
            continue
        try:
            spec(vars(value)[name], sizes)
        except ContentError as wrong:
            raise wrong.inside(f"{type(value).__name__}.{name}") from None
        if spec is forget:
            del vars(value)[name]
    if also is not None and not also(value):
        raise ContentError(f"{type(value).__name__}: its parts do not fit together")


def check_part(value: Any) -> None:
    """Check an object of ours inside a part of scikit-learn, fitted or not."""
    parameters = inspect.signature(type(value)).parameters
    if isinstance(value, BaseEstimator) and vars(value).keys() == parameters.keys():
        sklearn_parts.check_plain(vars(value))  # not fitted
    else:
        check_object(value, {})


def _check_names(found: Mapping[str, Any], specs: Layout) -> None:
    for name in found:
        if name not in specs and f"{name}?" not in specs:
            raise ContentError(f"has an attribute {name!r}, which is not known")
    for name in specs:
        if not name.endswith("?") and name not in found:
            raise ContentError(f"has no attribute {name!r}")


# ---------------------------------------------------------------- sizes


def _agree(dimension: str | int, found: int, sizes: Sizes) -> None:
    """A dimension is a number, ``"?"`` (any), a size ``"n"``, or ``"n-1"``, or ``"n*L"``."""
    if dimension == "?":
        return
    if isinstance(dimension, int):
        wanted = dimension
    elif "*" in dimension:
        wanted = int(np.prod([sizes[name] for name in dimension.split("*")]))
    else:
        name, shift = _parsed(dimension)
        wanted = sizes.setdefault(name, found - shift) + shift
    if found != wanted:
        raise ContentError(f"has {found} where {dimension} = {wanted} was expected")


def _parsed(dimension: str) -> tuple[str, int]:
    match = _DIMENSION.match(dimension)
    assert match is not None
    return match[1], int(match[2] or 0)


def _bound(limit: str | float | None, sizes: Sizes) -> float | None:
    if not isinstance(limit, str):
        return limit
    name, shift = _parsed(limit)
    return sizes[name] + shift


# ---------------------------------------------------------------- arrays


def _array(value: Any, kinds: str, shape: tuple[str | int, ...], sizes: Sizes) -> None:
    if type(value) is not np.ndarray:
        raise ContentError(f"is a {type(value).__name__} where an array was expected")
    if value.dtype.kind not in kinds or not value.dtype.isnative:
        raise ContentError(f"is an array of {value.dtype}")
    if value.ndim != len(shape):
        raise ContentError(f"has {value.ndim} axes where {len(shape)} were expected")
    for dimension, found in zip(shape, value.shape, strict=True):
        _agree(dimension, found, sizes)


def floats(
    *shape: str | int,
    low: float = -LARGEST,
    high: float = LARGEST,
    nan: bool = False,
    infinite: bool = False,
    increasing: bool = False,
    proba: bool = False,
) -> Spec:
    """An array of float64 with entries from ``low`` to ``high``.

    ``infinite`` lifts the bounds; ``increasing`` concerns the last axis, equal neighbours
    allowed; ``proba`` asks rows to sum to one.
    """
    low, high = (0.0, 1.0 + ROUNDING) if proba else (low, high)

    def check(value: Any, sizes: Sizes) -> None:
        _array(value, "f", shape, sizes)
        if value.dtype != np.float64:
            raise ContentError(f"is an array of {value.dtype}")
        seen = value[~np.isnan(value)] if nan else value
        sound = ~np.isnan(seen) if infinite else (seen >= low) & (seen <= high)
        if not np.all(sound):
            raise ContentError(f"holds {seen[~sound].flat[0]}")
        # Not np.diff: the difference of two infinities is not a number.
        if increasing and np.any(value[..., 1:] < value[..., :-1]):
            raise ContentError("is not increasing")
        if proba and not np.allclose(value.sum(axis=-1), 1.0, atol=TOLERANCE):
            raise ContentError("holds rows that do not sum to one")

    return check


def ints(*shape: str | int, low: float | None = None, high: str | float | None = None) -> Spec:
    """An array of int64 with ``low <= entry < high``; ``high`` may be a size."""

    def check(value: Any, sizes: Sizes) -> None:
        _array(value, "i", shape, sizes)
        if value.dtype != np.int64:
            raise ContentError(f"is an array of {value.dtype}")
        top = _bound(high, sizes)
        outside = np.zeros(value.shape, dtype=bool)
        if low is not None:
            outside |= value < low
        if top is not None:
            outside |= value >= top
        if np.any(outside):
            raise ContentError(f"holds {value[outside].flat[0]}, outside of {low} to {top}")

    return check


def labels(size: str) -> Spec:
    """Distinct labels: numbers, booleans or text, in an array of one axis."""

    def check(value: Any, sizes: Sizes) -> None:
        _array(value, "biufU", (size,), sizes)
        if value.dtype.kind == "f" and not np.all(np.isfinite(value)):
            raise ContentError("holds labels that are not finite")
        if len(np.unique(value)) != len(value):
            raise ContentError("holds a label twice")

    return check


def arrays(value: Any, sizes: Sizes) -> None:
    """A dict of arrays of numbers, booleans or text, for information only."""
    if type(value) is not dict:
        raise ContentError(f"is a {type(value).__name__} where a dict was expected")
    for key, array in value.items():
        if type(key) is not str or type(array) is not np.ndarray or array.dtype.kind == "O":
            raise ContentError(f"holds {key!r}, which is not an array")


# ---------------------------------------------------------------- scalars


def number(
    low: float = -LARGEST, high: float = LARGEST, *, above: bool = False, open: bool = False
) -> Spec:
    """A float or an int from ``low`` to ``high``; ``above`` zero; ``open``: any number."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) not in (float, int) and not isinstance(value, np.floating | np.integer):
            raise ContentError(f"is a {type(value).__name__} where a number was expected")
        if open:
            return
        if not low <= value <= high or (above and not value > 0):
            raise ContentError(f"is {value}")

    return check


def count(size: str | None = None, *, low: int = 0, high: str | None = None) -> Spec:
    """A whole number; with ``size`` it says what that size is, or must agree with it."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) is not int and not isinstance(value, np.integer):
            raise ContentError(f"is a {type(value).__name__} where a whole number was expected")
        top = _bound(high, sizes)
        if value < low or (top is not None and value >= top) or value > 2**53:
            raise ContentError(f"is {value}")
        if size is not None:
            _agree(size, int(value), sizes)

    return check


def flag(value: Any, sizes: Sizes) -> None:
    """True or False."""
    if type(value) is not bool and not isinstance(value, np.bool_):
        raise ContentError(f"is {value!r:.40} where True or False was expected")


def choice(*words: Any) -> Spec:
    """One of a few values."""

    def check(value: Any, sizes: Sizes) -> None:
        if not any(type(value) is type(word) and value == word for word in words):
            raise ContentError(f"is {value!r:.40}; known are {list(words)}")

    return check


def random(value: Any, sizes: Sizes) -> None:
    """A random generator."""
    if type(value) not in (np.random.Generator, np.random.RandomState):
        raise ContentError(f"is a {type(value).__name__} where a random generator was expected")


# ---------------------------------------------------------------- combinations


def optional(spec: Spec) -> Spec:
    """None, or what ``spec`` says."""
    return lambda value, sizes: None if value is None else spec(value, sizes)


def either(*specs: Spec) -> Spec:
    """What one of several specifications says."""

    def check(value: Any, sizes: Sizes) -> None:
        reasons = []
        for spec in specs:
            tried = dict(sizes)
            try:
                spec(value, tried)
            except ContentError as wrong:
                reasons.append(str(wrong))
            else:
                sizes.update(tried)
                return
        raise ContentError(" or ".join(dict.fromkeys(reasons)))

    return check


def every(spec: Spec, size: str = "?", kind: type[Any] = tuple) -> Spec:
    """A tuple or list of entries of one specification, ``size`` of them."""

    def check(value: Any, sizes: Sizes) -> None:
        if type(value) is not kind:
            raise ContentError(f"is a {type(value).__name__}; expected a {kind.__name__}")
        _agree(size, len(value), sizes)
        for i, entry in enumerate(value):
            try:
                spec(entry, sizes)
            except ContentError as wrong:
                raise wrong.inside(f"[{i}]") from None

    return check


def part(*names: str, **shared: str) -> Spec:
    """An object of one of our types, by stable name without version.

    ``part("Scaling", d="p")``: what the object calls d is p here.
    """

    def check(value: Any, sizes: Sizes) -> None:
        if type_name(value) not in names:
            raise ContentError(f"is a {type(value).__name__}; expected {' or '.join(names)}")
        inner = {mine: sizes[its] for mine, its in shared.items() if its in sizes}
        check_object(value, inner)
        for mine, its in shared.items():
            if mine in inner:
                sizes.setdefault(its, inner[mine])

    return check


def theirs(size: str) -> Spec:
    """A fitted estimator of scikit-learn that takes rows of ``size`` features."""
    return lambda value, sizes: sklearn_parts.check_estimator(value, sizes[size])


def forget(value: Any, sizes: Sizes) -> None:
    """A cached value, which is deleted, for it can be computed again."""


def anything(value: Any, sizes: Sizes) -> None:
    """Plain data, a kernel, or an estimator that is not fitted; for information only."""
    sklearn_parts.check_plain(value)


def equal(*values: Any) -> bool:
    """Whether arrays are the same up to rounding, or the same labels."""
    first, *rest = (np.asarray(value) for value in values)
    if first.dtype.kind != "f":
        return all(np.array_equal(first, other) for other in rest)
    return all(
        first.shape == other.shape and np.allclose(first, other, rtol=TOLERANCE, equal_nan=True)
        for other in rest
    )


# ---------------------------------------------------------------- trial predictions


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
            raise ContentError("predicts probabilities that do not sum to one")
    if model is last and ranks_labels:
        _expect(model.scores(rows), (n, labels))
    if model is last and hasattr(last, "regressor_"):
        _expect(model.predict_latent(rows), (n,))


def _expect(found: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(found)
    if array.shape != shape:
        raise ContentError(
            f"predicts an array of shape {array.shape} where {shape} was expected"
        )
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise ContentError("predicts values that are not finite")
    return array


def _rows(model: Any, last: Any) -> Any:
    if last.__class__.__name__.startswith("Preference"):
        if len(last._items) < 2:
            raise ContentError("has fewer than two items")
        return np.array([[0, 1], [1, 0]])
    return _sample(model)


def _sample(fitted: Any) -> Any:
    """Two rows that a fitted transformer or estimator takes."""
    if isinstance(fitted, Pipeline):
        return _sample(fitted.steps[0][1])
    if isinstance(fitted, ColumnTransformer):
        return _frame(fitted)
    if hasattr(fitted, "categories_"):
        return np.array([[cells[0] for cells in fitted.categories_]] * 2, dtype=object)
    filled = getattr(fitted, "statistics_", None)
    if isinstance(filled, np.ndarray) and filled.dtype.kind == "O":
        return np.array([filled] * 2)  # text for text
    rows = np.linspace(-0.5, 0.5, fitted.n_features_in_)
    rows = np.stack([rows, rows[::-1]])
    effects: Any = getattr(fitted, "_random", None)
    if type_name(effects) != "RandomEffects":
        return rows
    rows = rows.astype(object)  # groups may be text
    for term in effects.terms:
        rows[:, term.columns[0]] = term.groups[0]
    return rows


def _frame(fitted: ColumnTransformer) -> Any:
    """Two rows of named columns, or of numbered ones."""
    columns: dict[Any, Any] = {}
    for _, transformer, used in fitted.transformers_:
        if isinstance(transformer, str) or not len(np.atleast_1d(used)):
            continue
        sample = _sample(transformer)
        for i, name in enumerate(np.atleast_1d(used)):
            columns.setdefault(name, sample[:, i])
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        numbered = [columns.get(i, np.zeros(2)) for i in range(fitted.n_features_in_)]
        return np.array(numbered, dtype=object).T
    return _data_frame({name: columns.get(name, np.zeros(2)) for name in names})


def _data_frame(columns: dict[str, Any]) -> Any:
    """A data frame of pandas; None where there is no pandas."""
    try:
        import pandas
    except ImportError:
        return None
    return pandas.DataFrame(columns)
