"""Metrics as scikit-learn's ``scoring=`` wants them.

scikit-learn's own scorers know labels in alphabetical order only. These take the order from the
fitted estimator, and probabilities by level whatever the order of its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ordinality.levels import Array, Floats, Order, order_of
from ordinality.metrics import labels, probabilities

__all__ = ["Scorer", "level_proba", "scorer"]


@dataclass(frozen=True, repr=False)
class Scorer:
    """A metric of a fitted estimator, the larger the better; made by `scorer`."""

    name: str
    levels: tuple[Any, ...] | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the predictions of `estimator` at `X` against the labels `y`."""
        entry = _ENTRIES[self.name]
        order = _order(estimator, y, self.levels)
        seen = entry.reads(estimator, X, order)
        # A guess is not passed on as if it were stated: a metric that needs an order refuses.
        levels = None if order.guessed else order.levels
        return entry.sign * entry.metric(y, seen, levels=levels, sample_weight=sample_weight)

    def __repr__(self) -> str:
        stated = "" if self.levels is None else f", levels={list(self.levels)}"
        return f"scorer({self.name!r}{stated})"


def scorer(name: str, *, levels: Any = None) -> Scorer:
    """Make a scorer for ``scoring=`` that knows the order of the labels.

    Parameters
    ----------
    name : str
        Errors, negated: "mae", "macro_mae", "max_mae", "zero_one", "rps", "log_score".
        The larger the better as they are: "off_by_one", "kendall_tau", "spearman",
        "linear_kappa", "quadratic_kappa", "c_index".
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default `levels_` of the fitted estimator, also within a
        pipeline or a search; else the order that the labels carry, or the numbers sorted.

    Returns
    -------
    Scorer
        Callable as ``scorer(estimator, X, y, sample_weight=None)``.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [0], [0]], ["low", "high", "low"])
    >>> scorer("mae", levels=["low", "mid", "high"])(model, [[0], [0]], ["low", "high"])
    -1.0
    """
    if name not in _ENTRIES:
        raise ValueError(
            f"there is no score named {name!r}; choose one of {', '.join(_ENTRIES)}."
        )
    return Scorer(
        name, None if levels is None else tuple(order_of(levels=levels).levels.tolist())
    )


def _order(estimator: Any, y: Any, levels: Any) -> Order:
    if levels is None:
        levels = getattr(_ordinal(estimator), "levels_", None)
    # The classes learnt from, lest a level missing from a small test set lose its place.
    known = [estimator.classes_] if hasattr(estimator, "classes_") else []
    return order_of(y, *known, levels=levels)


def _ordinal(estimator: Any) -> Any:
    """The estimator that knows the order, inside pipelines and searches, or None."""
    while not hasattr(estimator, "levels_"):
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            return None
    return estimator


def _labels(estimator: Any, X: Any, order: Order) -> Array:
    return np.asarray(estimator.predict(X))


def level_proba(estimator: Any, X: Any, order: Order) -> Floats:
    """Probabilities with columns in order of level; zero for a level never seen."""
    if hasattr(estimator, "predict_level_proba"):
        proba, columns = estimator.predict_level_proba(X), estimator.levels_
    elif hasattr(estimator, "predict_proba"):
        proba, columns = estimator.predict_proba(X), estimator.classes_
    else:
        raise TypeError(
            f"{type(estimator).__name__} has no predict_proba, and probabilities are wanted; "
            "choose another estimator, or a score of labels, such as 'mae'."
        )
    placed = np.zeros((len(proba), order.n_levels))
    placed[:, order.encode(columns)] = proba
    return placed


def _score(estimator: Any, X: Any, order: Order) -> Floats:
    """One number for each row that rises with the level predicted."""
    # Only where the estimator knows the order: the decision function of another one rises
    # with the alphabet, or has a column for each class.
    if _ordinal(estimator) is not None and hasattr(estimator, "decision_function"):
        score = np.asarray(estimator.decision_function(X))
        if score.ndim == 1:
            # Of two levels scikit-learn's score rises with the class that sorts last.
            turned = order.n_levels == 2 and order.classes[1] != order.levels[1]
            return -score if turned else score
    if hasattr(estimator, "predict_level_proba") or hasattr(estimator, "predict_proba"):
        return level_proba(estimator, X, order) @ np.arange(order.n_levels)
    return order.encode(estimator.predict(X)).astype(np.float64)


class _Entry(NamedTuple):
    metric: Callable[..., float]
    sign: int  # -1 for errors: scikit-learn maximises
    reads: Callable[[Any, Any, Order], Any]


_ENTRIES = {
    "mae": _Entry(labels.mean_absolute_error, -1, _labels),
    "macro_mae": _Entry(labels.macro_mae, -1, _labels),
    "max_mae": _Entry(labels.max_mae, -1, _labels),
    "zero_one": _Entry(labels.zero_one_error, -1, _labels),
    "rps": _Entry(probabilities.ranked_probability_score, -1, level_proba),
    "log_score": _Entry(probabilities.log_score, -1, level_proba),
    "off_by_one": _Entry(labels.off_by_one_accuracy, 1, _labels),
    "kendall_tau": _Entry(labels.kendall_tau, 1, _labels),
    "spearman": _Entry(labels.spearman, 1, _labels),
    "linear_kappa": _Entry(labels.linear_kappa, 1, _labels),
    "quadratic_kappa": _Entry(labels.quadratic_kappa, 1, _labels),
    "c_index": _Entry(probabilities.ordinal_c_index, 1, _score),
}
