"""Base learners by name or from scikit-learn, and how rich each set of functions is."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, log2
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from ..boosting.learners import SklearnTrainer, Stump, Trainer, Tree
from ..boosting.perceptron import Perceptron, Sigmoid

__all__ = ["NAMES", "ClassifierFit", "Vote", "trainer", "tree_depth", "vc_dimension"]


NAMES = ("perceptron", "sigmoid", "stump", "tree")


_EXACT = 50_000  # rows up to which stumps try every cut

# Rows from which trees are one cut deeper. Chosen on training rows alone, by the log score of
# those left out; see docs/thresholded-ensembles.md.
_DEEPER = (1000, 3000, 10_000)


def trainer(
    learner: Any, n: int, steepness: float, depth: int, updates: int, bins: Any
) -> Trainer:
    """Trainer for `n` rows of a learner, which is a name or a classifier."""
    _check_learner(learner)
    if not isinstance(learner, str):
        return SklearnTrainer(ClassifierFit(learner))
    if learner == "perceptron":
        return Perceptron(int(updates))
    if learner == "sigmoid":
        return Sigmoid(float(steepness), int(updates))
    if learner == "tree":
        return Tree(int(depth), 256 if bins is None else int(bins))
    if bins is None and n > _EXACT:
        return Stump(256)
    return Stump(None if bins is None else int(bins))


def tree_depth(n: int) -> int:
    """Depth of trees for `n` rows: 3 below 1000, 4 below 3000, 5 below 10,000, then 6."""
    return 3 + int(np.searchsorted(_DEEPER, n, side="right"))


def _check_learner(learner: Any) -> None:
    """Refuse what is neither a name nor a classifier that takes sample weights."""
    if isinstance(learner, str):
        if learner not in NAMES:
            raise ValueError(
                f"learner={learner!r} is not known; choose one of {list(NAMES)}, or pass a "
                "scikit-learn classifier that takes sample weights."
            )
        return
    if isinstance(learner, type):
        raise TypeError(
            f"learner is the class {learner.__name__}; pass {learner.__name__}(), an instance."
        )
    if not (isinstance(learner, BaseEstimator) and is_classifier(learner)):
        raise TypeError(
            f"learner={learner!r} is not a classifier; choose one of {list(NAMES)}, or pass a "
            "scikit-learn classifier that takes sample weights."
        )
    if not has_fit_parameter(learner, "sample_weight"):
        raise ValueError(
            f"{type(learner).__name__} takes no sample weights, which boosting needs; choose a "
            "classifier that does, such as LogisticRegression or DecisionTreeClassifier."
        )


# ---------------------------------------------------------------- learners of scikit-learn


@dataclass(frozen=True, eq=False)
class ClassifierFit:
    """Fits a copy of a scikit-learn classifier to a weighted two-class problem."""

    classifier: Any

    def __call__(
        self, X: np.ndarray, target: np.ndarray, weight: np.ndarray, rng: np.random.Generator
    ) -> Vote:
        seed = int(rng.integers(2**31))
        kept = weight > 0  # a row of weight zero has no side to be on
        sides = np.unique(target[kept])
        if len(sides) < 2:
            return Vote(None, float(sides[0]) if len(sides) else 1.0)
        chosen = clone(self.classifier)
        seeds = {
            name: seed
            for name, value in chosen.get_params().items()
            if name.split("__")[-1] == "random_state" and value is None
        }
        chosen.set_params(**seeds)
        chosen.fit(X[kept], target[kept].astype(np.int64), sample_weight=weight[kept])
        return Vote(chosen)


@dataclass(frozen=True, eq=False)
class Vote:
    """+1 or -1, as a fitted classifier predicts; a constant where there was nothing to fit."""

    classifier: Any
    constant: float = 1.0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        if self.classifier is None:
            return np.full(len(X), self.constant)
        return np.asarray(self.classifier.predict(X), dtype=np.float64)

    def relevance(self, d: int) -> np.ndarray:
        """Importances or squared coefficients of the classifier as shares; zeros without."""
        shares = getattr(self.classifier, "feature_importances_", None)
        if shares is None:
            coef = getattr(self.classifier, "coef_", None)
            shares = np.zeros(d) if coef is None else np.ravel(coef) ** 2
        total = np.sum(shares)
        return shares / total if total > 0 else np.zeros(d)


# ---------------------------------------------------------------- richness


def vc_dimension(learner: Any, d: int, depth: int) -> int:
    """VC dimension of a named set of confidence functions of d features, or a bound on it.

    Halfspaces: d + 1; sigmoids are counted as the halfspaces they smooth. Stumps: at most the
    largest m with ``comb(m, m // 2) <= 2 d``, for the order of m points along a feature offers
    two sets of any size, one from either end (Gey, 2018, shows that log2(d) is the order).
    Trees of N = 2^depth - 1 cuts: at most the largest m with ``2^m <= (d m)^N 2^(N + 1)``, the
    number of ways to cut m points and to label the leaves.
    """
    if learner in ("perceptron", "sigmoid"):
        return d + 1
    m = 2
    if learner == "stump":
        while comb(m + 1, (m + 1) // 2) <= 2 * d:
            m += 1
        return m
    if learner == "tree":
        cuts = 2**depth - 1
        while m + 1 <= cuts * log2(d * (m + 1)) + cuts + 1:
            m += 1
        return m
    raise ValueError(
        f"the VC dimension of {type(learner).__name__} is not known here; state it with "
        "vc_dimension=."
    )
