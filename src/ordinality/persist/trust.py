"""What may be built from a model file, and what may not.

A pickle is a program, and opening one is running it. skops takes a model apart instead, into
arrays and a schema that names the type of every part and the way in which it is put together.
Here the schema is read before anything is built: every way must be one of a few that are
harmless whatever a file says, and every type one that skops vouches for or that stands in the
lists below. The lists are explicit. A new part of a fitted model is added by hand, and a test
that saves every estimator says when that was forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ordinality.boosting.trees import Grown

__all__ = ["LOADERS", "TRUSTED", "ModelFileError", "check_trees", "check_types"]

OLDEST_PROTOCOL = 2  # of skops: the one it wrote when model files of ours began

# What skops may build from a file; of these, only what is harmless whatever the file says.
# Bound methods, partial functions, operators and constructor calls are not among them.
_HARMLESS = """
    DictNode DTypeNode FunctionNode JsonNode ListNode LossNode NdArrayNode ObjectNode
    RandomGeneratorNode RandomStateNode SetNode SliceNode TreeNode TupleNode TypeNode
"""
LOADERS = frozenset(_HARMLESS.split())

# Every type of ours that a fitted model holds, and the way in which it may be built.
_OURS = """
    boosting.ensemble: Ensemble
    boosting.learners: Borrowed Cut
    boosting.perceptron: Halfspace SoftHalfspace
    boosting.trees: Grown
    estimators._answers: Answers
    estimators._catalogue: Catalogue
    estimators._judges: Panel
    estimators._learners: Vote
    estimators._link: OrdinalLink
    estimators._scaling: Scaling
    estimators._svm_kernels: Powers
    estimators.boosting: OrdinalBoost RankBoost
    estimators.label_ranking_gp: LabelRankingGP
    estimators.label_ranking_svm: LabelRankingSVM
    estimators.least_squares: LeastSquaresOrdinalGP
    estimators.low_rank_imputer: LowRankImputer
    estimators.ordinal_gp: OrdinalGP
    estimators.preference_gp: PreferenceGP
    estimators.preference_svm: PreferenceSVM
    estimators.rounded: RoundedRegressor
    estimators.svm: OrdinalSVM OrdinalSVMCV
    gp.algebra: Constant Product Sum
    gp.comparisons: Several Symmetric
    gp.correlation: Correlation Precomputed
    gp.design: Differences Direct Rows
    gp.evidence: Evaluation Problem
    gp.hyperpriors: Hyperprior
    gp.inference: Approximation
    gp.items: PerItem
    gp.kernels: Foreign Linear Polynomial Spline
    gp.label_model: LabelPredictor LabelProblem _Piece
    gp.labels: Labels
    gp.least_squares: LeastSquares Score
    gp.likelihoods: Jet Ordinal
    gp.posterior: Factor Predictor
    gp.prediction: LatentPredictor
    gp.search: Fit
    gp.stationary: Gaussian Matern RationalQuadratic
    levels: Order
"""
# Of scikit-learn's, what skops leaves to the reader: kernels are plain values; a tree's nodes
# are numbers that are followed without a check, which `_check_trees` makes up for.
_THEIRS = """
    sklearn.compose._column_transformer: make_column_selector
    sklearn.gaussian_process.kernels: CompoundKernel ConstantKernel DotProduct ExpSineSquared
    sklearn.gaussian_process.kernels: Exponentiation Matern PairwiseKernel Product RBF
    sklearn.gaussian_process.kernels: RationalQuadratic Sum WhiteKernel
"""


def _listed(text: str, package: str) -> dict[str, str]:
    lines = [line.split(":") for line in text.strip().splitlines()]
    names = [f"{package}{module.strip()}.{name}" for module, at in lines for name in at.split()]
    return dict.fromkeys(names, "ObjectNode")


TRUSTED = _listed(_OURS, "ordinality.") | _listed(_THEIRS, "")
TRUSTED |= {"sklearn.tree._tree.Tree": "TreeNode", "numpy.dtype": "DTypeNode"}
TRUSTED |= {"builtins.object": "TypeNode"}  # the dtype of text, in a column selector


class ModelFileError(ValueError):
    """A file that is not a model file to be trusted, or a model that no file can hold."""


def check_types(raw: bytes, schema: dict[str, Any], name: str) -> None:
    """Refuse a file that names anything but what is trusted; nothing is built or imported.

    Parameters
    ----------
    raw : bytes
        The file.
    schema : dict
        Its schema, from the same bytes.
    name : str
        What to call the file in a message.
    """
    import skops.io

    protocol = schema.get("protocol")
    if not isinstance(protocol, int) or protocol < OLDEST_PROTOCOL:
        raise ModelFileError(
            f"{name} follows protocol {protocol!r} of skops, and model files began with "
            f"{OLDEST_PROTOCOL}; it was not written by ordinality."
        )
    try:
        _refuse(_misplaced(schema), name)
        _refuse(set(skops.io.get_untrusted_types(data=raw)) - set(TRUSTED), name)
    except ModelFileError:
        raise
    except Exception as error:  # skops says by many kinds of error that a schema makes no sense
        raise ModelFileError(
            f"{name} is damaged: its schema makes no sense ({type(error).__name__}: {error}); "
            "fetch it again, or fit and save the model anew."
        ) from None


def _misplaced(schema: Any) -> set[str]:
    """Types that are to be built in a way that is not harmless, or is not theirs."""
    found, waiting = set(), [schema]
    while waiting:  # not recursive: a file decides how deep this goes
        value = waiting.pop()
        if isinstance(value, dict):
            loader = value.get("__loader__")
            if isinstance(loader, str):
                full = f"{value.get('__module__')}.{value.get('__class__')}"
                if loader not in LOADERS or TRUSTED.get(full, loader) != loader:
                    found.add(full)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def _refuse(types: set[str], name: str) -> None:
    if types:
        raise ModelFileError(
            f"{name} holds {', '.join(sorted(types)[:3])}, which is not among the types that a "
            "model file may hold: parts of ordinality, of scikit-learn and of NumPy."
        )


# ---------------------------------------------------------------- trees


def check_trees(model: Any, name: str) -> None:
    """Refuse trees that would send a row outside of the tree, or look outside of the row.

    Compiled code follows these numbers without a look; types alone do not make them safe.
    """
    for value, width in _parts(model, math.inf, set()):
        if type(value).__name__ == "Tree":
            sound = _sound(value, width)
        elif isinstance(value, Grown):
            inside = (value.feature >= 0).all() and (value.feature < width).all()
            sound = bool(inside) and value.cut.shape == value.feature.shape
        else:
            continue
        if not sound:
            raise ModelFileError(
                f"{name} is damaged: a tree in it points outside of its nodes or features; "
                "fetch it again, or fit and save the model anew."
            )


def _sound(tree: Any, width: float) -> bool:
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    node = np.arange(len(left))
    inner = left != -1
    # Children come after their parents, so that every way through the tree has an end.
    onward = (left > node) & (right > node) & (left < len(node)) & (right < len(node))
    within = (feature >= 0) & (feature < min(width, tree.n_features))
    return bool(len(node) and np.all(~inner | (onward & within)))


def _parts(value: Any, width: float, seen: set[Any]) -> Iterator[tuple[Any, float]]:
    """Everything a model holds, each with the number of features of the estimator around it."""
    if (id(value), width) in seen:
        return
    seen.add((id(value), width))
    if isinstance(value, dict):
        inside = value
    elif isinstance(value, list | tuple):
        inside = dict(enumerate(value))
    elif isinstance(value, np.ndarray):
        inside = dict(enumerate(value.flat)) if value.dtype == object else {}
    else:
        inside = getattr(value, "__dict__", {}) if not isinstance(value, type) else {}
        # Forests ask their trees without a check of their own, so the fewer features count; a
        # pipeline's steps, and what is put on top of a stack, have inputs of their own.
        width = math.inf if isinstance(value, Pipeline) else width
        if "tree_" in inside:  # which would not count the features of a row without a number
            width = min(width, inside.get("n_features_in_", 0))
        else:
            width = inside.get("n_features_in_", width)
    yield value, width
    for key, part in inside.items():
        yield from _parts(part, math.inf if key == "final_estimator_" else width, seen)
