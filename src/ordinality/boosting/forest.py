"""A sum of regression trees as arrays, read from a trained LightGBM model.

The arrays are all that prediction needs: a model predicts without LightGBM, and a model file
holds numbers that can be checked before use, not text for a parser of another library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._compile import loop

__all__ = ["Forest", "forests_of", "gains_of"]

_CATEGORICAL, _DEFAULT_LEFT, _MISSING_IS_NAN = 1, 2, 8  # bits of LightGBM's decision_type


@dataclass(frozen=True, eq=False)
class Forest:
    """Regression trees, whose leaves are summed.

    A child or root that is not negative is a node, another one is the leaf ``-1 - child``. A
    row goes left where ``x[feature] <= cut``; at a node with words, where bit ``x[feature]`` of
    its words is set. Children come after their parents, so every walk ends.
    """

    root: np.ndarray  # (T,)
    feature: np.ndarray  # (N,)
    cut: np.ndarray  # (N,)
    left: np.ndarray  # (N,)
    right: np.ndarray  # (N,)
    missing_left: np.ndarray  # (N,), 1 where a missing value goes left
    first_word: np.ndarray  # (N,)
    n_words: np.ndarray  # (N,), 0 for a node with a cut
    words: np.ndarray  # (W,), sets of categories, 32 bits each
    leaf: np.ndarray  # (L,)

    @classmethod
    def constant(cls, value: float = 0.0) -> Forest:
        """One tree without a split, whose leaf has this value."""
        none = np.empty(0, dtype=np.int64)
        fields = dict.fromkeys(cls.__dataclass_fields__, none)
        return cls(
            **fields | {"root": np.array([-1]), "cut": np.empty(0), "leaf": np.array([value])}
        )

    def score(self, X: np.ndarray) -> np.ndarray:
        """Sum of the leaves that each row reaches, shape (n,)."""
        return _scores(
            X, self.root, self.feature, self.cut, self.left, self.right, self.missing_left,
            self.first_word, self.n_words, self.words, self.leaf,
        )  # fmt: skip

    def is_sound(self, d: int) -> bool:
        """Whether every walk of a row of `d` features stays inside the arrays and ends."""
        n, above = len(self.feature), np.arange(len(self.feature))
        children = (self.left, self.right)
        return bool(
            all(np.all((c < 0) | ((c > above) & (c < n))) for c in children)
            and all(np.all(c >= -len(self.leaf)) for c in (*children, self.root))
            and np.all(self.root < n)
            and np.all((self.feature >= 0) & (self.feature < d))
            and np.all((self.first_word >= 0) & (self.n_words >= 0))
            and np.all(self.first_word <= len(self.words) - self.n_words)
        )


def forests_of(booster: Any) -> list[Forest]:
    """The trees of a trained LightGBM booster, one forest for each of its outputs."""
    outputs, trees = _parsed(booster)
    return [_joined(trees[k::outputs]) for k in range(outputs)]


def gains_of(booster: Any, d: int) -> np.ndarray:
    """By how much the cuts of each feature lowered the loss in each output, (outputs, d)."""
    outputs, trees = _parsed(booster)
    total = np.zeros((outputs, d))
    for t, tree in enumerate(trees):
        if tree["left_child"].size:
            feature = tree["split_feature"].astype(np.int64)
            total[t % outputs] += np.bincount(feature, tree["split_gain"], d)
    return total


def _parsed(booster: Any) -> tuple[int, list[dict[str, np.ndarray]]]:
    """Number of outputs, and the arrays of every tree by LightGBM's names."""
    head, *parts = booster.model_to_string().split("\nTree=")
    outputs = int(head.partition("num_tree_per_iteration=")[2].partition("\n")[0])
    trees = []
    for part in parts:
        lines = (line.partition("=") for line in part.partition("\n\n")[0].splitlines()[1:])
        trees.append({name: np.array(values.split(), float) for name, _, values in lines})
    for tree in trees:
        if tree["num_leaves"][0] == 1:  # a constant; some versions write empty arrays for it
            for name in _OF_NODES:
                tree[name] = np.empty(0)
    return outputs, trees


_OF_NODES = (
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child",
    "internal_count",
)  # fmt: skip


def _joined(trees: list[dict[str, np.ndarray]]) -> Forest:
    """Trees of one output as one set of arrays."""
    parts, nodes, leaves, words = [], 0, 0, 0
    for tree in trees:
        part = _arrays(tree)
        for child in ("left", "right"):
            part[child] += np.where(part[child] < 0, -leaves, nodes)
        part["first_word"] += np.where(part["n_words"] > 0, words, 0)
        part["root"] = np.array([nodes if len(part["feature"]) else -1 - leaves])
        parts.append(part)
        nodes, leaves = nodes + len(part["feature"]), leaves + len(part["leaf"])
        words += len(part["words"])
    names = parts[0]
    return Forest(**{name: np.concatenate([part[name] for part in parts]) for name in names})


def _arrays(tree: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays of one tree as `Forest` has them, numbered from zero."""
    kind, left, right = (
        tree[name].astype(np.int64) for name in ("decision_type", "left_child", "right_child")
    )
    categorical = (kind & _CATEGORICAL) > 0
    bounds = tree.get("cat_boundaries", np.zeros(1)).astype(np.int64)
    at = np.where(categorical, tree["threshold"], 0).astype(np.int64)  # number of the set
    # Where no value was missing in training, one goes with the larger part of the rows. In a
    # set of categories it is none of them: it goes right.
    larger = _rows_below(tree, left) >= _rows_below(tree, right)
    stated = (kind & _MISSING_IS_NAN) > 0
    missing_left = np.where(stated, (kind & _DEFAULT_LEFT) > 0, larger) & ~categorical
    return {
        "feature": tree["split_feature"].astype(np.int64),
        "cut": np.where(categorical, 0.0, tree["threshold"]),
        "left": left,
        "right": right,
        "missing_left": missing_left.astype(np.int64),
        "first_word": np.where(categorical, bounds[at], 0),
        "n_words": np.where(categorical, np.append(np.diff(bounds), 0)[at], 0),
        "words": tree.get("cat_threshold", np.empty(0)).astype(np.int64),
        "leaf": tree["leaf_value"],
    }


def _rows_below(tree: dict[str, np.ndarray], child: np.ndarray) -> np.ndarray:
    """Training rows that went to each child."""
    nodes, leaves = tree["internal_count"], tree.get("leaf_count", np.zeros(1))
    if not child.size:
        return np.empty(0)
    return np.where(child >= 0, nodes[np.maximum(child, 0)], leaves[np.maximum(-1 - child, 0)])


@loop
def _scores(
    X, root, feature, cut, left, right, missing_left, first_word, n_words, words, leaf
):  # fmt: skip
    total = np.zeros(X.shape[0])
    for i in range(X.shape[0]):
        for t in range(root.size):
            at = root[t]
            while at >= 0:
                x = X[i, feature[at]]
                if x != x:
                    goes_left = missing_left[at] == 1
                elif n_words[at] > 0:
                    goes_left = False
                    if 0.0 <= x < 32.0 * n_words[at]:
                        code = int(x)
                        goes_left = (words[first_word[at] + code // 32] >> (code % 32)) & 1 == 1
                else:
                    goes_left = x <= cut[at]
                at = left[at] if goes_left else right[at]
            total[i] += leaf[-1 - at]
    return total
