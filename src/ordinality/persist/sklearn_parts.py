"""What parts of scikit-learn must contain before their code may run.

Most of scikit-learn predicts with NumPy, which checks indices and shapes: for these it is
enough that attributes are plain data and hide no method. Compiled code that trusts its arrays
is checked further: trees, gradient boosting, libsvm, and the one-hot encoder, whose sparse
matrix is expanded without a check of its column numbers.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree, DecisionTreeRegressor

from .names import THEIRS, type_name
from .trust import nodes, plain_value

__all__ = [
    "LARGEST",
    "ContentError",
    "check_estimator",
    "check_pipeline",
    "check_plain",
    "check_trees",
]

_SCALARS = (type(None), bool, int, float, str, np.generic)
_RANDOM = (np.random.Generator, np.random.RandomState)
_TYPES = (bool, int, float, str, object)
_COMPILED = ("sklearn.tree._tree", "_loss", "sklearn._loss._loss")

# NaN stands for a missing value in the first two; the others are for information, or have
# infinite ends. Elsewhere a fitted number is finite.
_MAY_BE_MISSING = ("categories_", "statistics_")
_MAY_BE_ANYTHING = ("bin_edges_", "pvalues_", "scores_")

# Coefficients of a fitted model stay far below; beyond it squares overflow.
LARGEST = 1e150
_DIVISORS = ("length_scale", "periodicity", "scale_")


class ContentError(Exception):
    """A part of a model does not contain what it should; says where and why."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(f"{place} {reason}" if place else reason)
        self.reason, self.place = reason, place

    def inside(self, name: str) -> ContentError:
        """The same, seen from the object around it."""
        return ContentError(self.reason, f"{name}.{self.place}" if self.place else name)


def check_plain(value: Any) -> None:
    """Refuse anything but data, and estimators and kernels that are made of data."""
    for _, part, _ in _walk(value, math.inf):
        _check_part(part)


def check_estimator(value: Any, width: float) -> None:
    """Refuse an estimator that could look beyond its arrays at rows of ``width`` features."""
    if not isinstance(value, BaseEstimator) or _qualified(value) not in THEIRS:
        raise ContentError(f"is a {type(value).__name__} where an estimator was expected")
    for name, part, columns in _walk(value, width):
        _check_part(part)
        if isinstance(part, np.ndarray) and (name.endswith("_") or name.startswith("_")):
            _check_numbers(name, part)
        if name in _DIVISORS and isinstance(part, float | np.floating | np.ndarray):
            _check_divisor(name, part)
        for kind, check in _CHECKS.items():
            if kind in {base.__name__ for base in type(part).__mro__}:
                try:
                    check(part, columns)
                except ContentError as wrong:
                    raise wrong.inside(type(part).__name__) from None


def check_pipeline(pipeline: Pipeline) -> None:
    """Refuse a pipeline that has other attributes than a pipeline; not its steps."""
    known = {*pipeline.get_params(deep=False), "feature_names_in_", "_sklearn_output_config"}
    extra = [name for name in vars(pipeline) if name not in known]
    if extra:
        raise ContentError(f"has an attribute {extra[0]!r}, which is not known", "Pipeline")
    steps = pipeline.steps
    named = type(steps) is list and all(
        type(step) is tuple and len(step) == 2 and type(step[0]) is str for step in steps
    )
    if not named or not steps:
        raise ContentError("has steps that are not pairs of a name and a part", "Pipeline")
    check_plain({name: value for name, value in vars(pipeline).items() if name != "steps"})


def check_trees(schema: dict[str, Any], members: dict[str, bytes]) -> None:
    """Refuse trees whose arrays do not have the stated sizes, before they are built.

    The compiled constructor of a tree copies its arrays without a check of their sizes.
    """
    for node in nodes(schema):
        if node["__loader__"] == "TreeNode":
            try:
                sound = _is_tree(node, members)
            except (KeyError, IndexError, TypeError, ValueError):
                sound = False
            if not sound:
                raise ContentError("holds a tree whose arrays are not valid")


def _is_tree(node: dict[str, Any], members: dict[str, bytes]) -> bool:
    arguments, state = node["__reduce__"]["args"]["content"], node["content"]["content"]
    features, classes, outputs = arguments
    n_features, n_outputs, n_nodes, depth = (
        plain_value(part)
        for part in (features, outputs, state["node_count"], state["max_depth"])
    )
    if any(type(number) is not int for number in (n_features, n_outputs, n_nodes, depth)):
        return False
    stored = (classes, state["nodes"], state["values"])
    if any(part["__loader__"] != "NdArrayNode" or part["type"] != "numpy" for part in stored):
        return False
    n_classes, table, values = (
        np.load(io.BytesIO(members[part["file"]]), allow_pickle=False) for part in stored
    )
    counted = n_classes.dtype == np.int64 and n_classes.shape == (n_outputs,) and n_outputs > 0
    return bool(
        counted
        and np.all((n_classes > 0) & (n_classes < 2**16))
        and n_features > 0
        and n_nodes > 0
        and table.dtype == _node_type()
        and table.shape == (n_nodes,)
        and values.dtype == np.float64
        and values.shape == (n_nodes, n_outputs, np.max(n_classes))
        and values.flags.c_contiguous
    )


@functools.cache
def _node_type() -> np.dtype[Any]:
    """The dtype of a node in scikit-learn, taken from a tree of one node."""
    found: np.dtype[Any] = (
        DecisionTreeRegressor().fit([[0.0]], [0.0]).tree_.__getstate__()["nodes"].dtype
    )
    return found


def _qualified(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


# ---------------------------------------------------------------- every part


def _walk(value: Any, width: float) -> Iterator[tuple[str, Any, float]]:
    """Everything in a part, each with its name and the number of features around it."""
    waiting = [("", value, width)]
    while waiting:
        name, part, columns = waiting.pop()
        if isinstance(part, dict):
            inside = [(str(key), entry) for key, entry in part.items()]
            inside += [("", key) for key in part if type(key) is not str]
        elif isinstance(part, list | tuple | set):
            inside = [(name, entry) for entry in part]
        elif type(part) is np.ndarray:
            inside = [(name, entry) for entry in part.flat] if part.dtype.kind == "O" else []
        elif isinstance(part, type | np.ufunc) or type_name(part) is not None:
            inside = []  # a ufunc is stored by its name, and keeps a signature once it is asked
        else:
            inside = list(getattr(part, "__dict__", {}).items())
            columns = _width(part, dict(inside), columns)
        yield name, part, columns
        for key, entry in inside:
            # The final estimator of a stack has other inputs.
            waiting.append((key, entry, math.inf if key == "final_estimator_" else columns))


def _width(part: Any, inside: dict[str, Any], columns: float) -> float:
    """Features that an estimator is given."""
    if isinstance(part, Pipeline):
        return math.inf  # each step has other inputs
    own = inside.get("n_features_in_", columns)
    if type(own) is not int and not isinstance(own, np.integer) and own is not columns:
        raise ContentError(f"has n_features_in_ = {own!r:.40}", type(part).__name__)
    if "estimators_" in inside and not hasattr(part, "n_features_in_"):
        raise ContentError("has no number of features", type(part).__name__)
    # Forests do not check the number of features again for their trees: the smaller decides.
    return float(min(columns, own) if isinstance(part, BaseDecisionTree) else own)


def _check_part(part: Any) -> None:
    """Plain data, a part of a listed type whose attributes hide nothing, or a ufunc."""
    if isinstance(part, _SCALARS) or type(part) in (dict, list, tuple, set, slice, *_RANDOM):
        return
    if isinstance(part, np.ndarray | np.dtype | np.ufunc):
        return
    if isinstance(part, type):
        if part in _TYPES or issubclass(part, np.generic):
            return
    elif type_name(part) is not None:
        from .contents import check_part  # here, for the two modules call each other

        check_part(part)
        return
    elif _qualified(part) in THEIRS or type(part).__module__ in _COMPILED:
        for name in getattr(part, "__dict__", {}):
            if _is_method(getattr(type(part), name, None)):
                raise ContentError(f"has an attribute {name!r}, which hides a method")
        return
    raise ContentError(f"holds a {type(part).__name__}, which is not plain data")


def _is_method(found: Any) -> bool:
    return callable(found) or hasattr(found, "__get__")


def _check_numbers(name: str, array: np.ndarray) -> None:
    if array.dtype.kind != "f" or name in _MAY_BE_ANYTHING:
        return
    wrong = ~(np.abs(array) <= LARGEST)
    if name in _MAY_BE_MISSING:
        wrong &= ~np.isnan(array)
    if np.any(wrong):
        raise ContentError(f"holds {array[wrong].flat[0]}", name)


def _check_divisor(name: str, value: Any) -> None:
    size = np.abs(np.asarray(value, dtype=np.float64))
    if not np.all((size >= 1.0 / LARGEST) & (size <= LARGEST)):
        raise ContentError(f"is {value!r:.40}", name)


# ---------------------------------------------------------------- compiled code


def _tree(tree: Any, width: float) -> None:
    """Children that come later in the tree, and features within the row."""
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    node = np.arange(len(left))
    inner = left != -1
    # Children come after their parents, so that every path through the tree ends.
    onward = (left > node) & (right > node) & (left < len(node)) & (right < len(node))
    within = (feature >= 0) & (feature < min(width, tree.n_features))
    if not math.isfinite(width):
        raise ContentError("has no number of features")
    if not len(node) or np.any(inner & ~(onward & within)):
        raise ContentError("points outside of its nodes or features")
    if len(tree.value) != len(node) or not np.all(np.isfinite(tree.value)):
        raise ContentError("has values that are missing or not finite")


def _gradient_boosting(model: Any, width: float) -> None:
    """One tree in each round, which a compiled loop assumes."""
    trees = getattr(model, "estimators_", None)
    if trees is None:
        return  # not fitted
    sound = type(trees) is np.ndarray and trees.ndim == 2 and trees.shape[1] == 1
    if not sound or any(type(one).__name__ != "DecisionTreeRegressor" for one in trees.flat):
        raise ContentError("has no column of trees", "estimators_")
    if any(one.tree_.n_outputs != 1 for one in trees.flat):
        raise ContentError("has trees of several outputs", "estimators_")


def _support_vectors(model: Any, width: float) -> None:
    """Arrays of one length, in the types and the memory layout that libsvm reads."""
    if not hasattr(model, "support_vectors_"):
        return  # not fitted
    vectors = model.support_vectors_
    if type(vectors) is not np.ndarray or vectors.ndim != 2:
        raise ContentError("is not a table", "support_vectors_")
    s = len(vectors)
    wanted = {
        "support_vectors_": ((s, model.n_features_in_), np.float64),
        "support_": ((s,), np.int32),
        "dual_coef_": ((1, s), np.float64),
        "_dual_coef_": ((1, s), np.float64),
        "intercept_": ((1,), np.float64),
        "_intercept_": ((1,), np.float64),
        "_n_support": ((2,), np.int32),
        "_probA": ((0,), np.float64),
        "_probB": ((0,), np.float64),
    }
    for name, (shape, dtype) in wanted.items():
        array = getattr(model, name, None)
        if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
            raise ContentError(f"is not an array of {dtype.__name__} of shape {shape}", name)
        if not array.flags.c_contiguous or not np.all(np.isfinite(array)):
            raise ContentError("is not finite, or not contiguous in memory", name)
    if model._n_support[0] != s or np.any(model.support_ < 0):
        raise ContentError("does not have the number of support vectors that it states")
    if model._sparse is not False or model.kernel not in ("linear", "poly", "rbf", "sigmoid"):
        raise ContentError("is sparse or has a custom kernel; neither can be stored")
    for name in ("degree", "coef0", "_gamma", "cache_size"):
        if not isinstance(getattr(model, name), int | float | np.number):
            raise ContentError("is not a number", name)


def _one_hot(encoder: Any, width: float) -> None:
    """Columns for every category that is kept, since the sparse matrix is not checked."""
    columns = getattr(encoder, "_n_features_outs", None)
    if columns is None:
        return  # not fitted
    kept = [len(cells) for cells in encoder.categories_]
    groups = getattr(encoder, "_default_to_infrequent_mappings", None)
    dropped = getattr(encoder, "_drop_idx_after_grouping", None)
    for i, total in enumerate(list(kept)):
        group = None if groups is None else groups[i]
        if group is not None:
            if len(group) != total or np.min(group) < 0:
                raise ContentError("groups categories that do not exist")
            kept[i] = int(np.max(group)) + 1
        drop = None if dropped is None else dropped[i]
        if drop is not None:
            if not 0 <= drop < kept[i]:
                raise ContentError("drops a category that does not exist")
            kept[i] -= 1
    if list(columns) != kept or len(kept) != encoder.n_features_in_:
        raise ContentError("has columns that do not match its categories")


_CHECKS: dict[str, Callable[[Any, float], None]] = {
    "Tree": _tree,
    "GradientBoostingRegressor": _gradient_boosting,
    "BaseLibSVM": _support_vectors,
    "OneHotEncoder": _one_hot,
}
