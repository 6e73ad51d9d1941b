"""Metrics as scikit-learn scorers, and out-of-fold probabilities of ordered labels.

scikit-learn's scorers know labels in alphabetical order only. These take the order from the
fitted estimator, and probabilities by level whatever the order of its columns.

scikit-learn's ``cross_val_predict`` with ``method="predict_proba"`` replaces labels by codes in
alphabetical order before `fit`. Here every fold is fitted to a part of `y` as it was passed, so
an ordered Series keeps its order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ordinality.levels import Array, Floats, Order, order_of
from ordinality.metrics import of_labels, of_probabilities
from ordinality.metrics.checks import ordered

__all__ = ["Scorer", "cross_val_level_proba", "scorer"]


@dataclass(frozen=True, repr=False)
class Scorer:
    """A metric of a fitted estimator, the larger the better; made by `scorer`.

    Parameters
    ----------
    name : str
        One of the names that `scorer` lists.
    levels : tuple or None, default=None
        The labels, lowest first.

    Examples
    --------
    >>> from ordinality.metrics import scorer
    >>> scorer("mae", levels=["low", "high"])
    scorer('mae', levels=['low', 'high'])
    """

    name: str
    levels: tuple[Any, ...] | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the predictions of `estimator` at `X` against the labels `y`."""
        entry = _ENTRIES[self.name]
        order = _order(estimator, y, self.levels)
        predicted = entry.reads(estimator, X, order)
        # A guessed order is not passed on as if it were stated: metrics refuse to guess.
        levels = None if order.guessed else order.levels
        return entry.sign * entry.metric(
            y, predicted, levels=levels, sample_weight=sample_weight
        )

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
    >>> from ordinality.metrics import scorer
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


def cross_val_level_proba(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    params: dict[str, Any] | None = None,
) -> Floats:
    """Predict the probabilities of the levels of each row by a model fitted without that row.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`; also a pipeline or a search that ends in one. It is cloned.
    X : array-like of shape (n, d)
        Whatever the estimator takes.
    y : array-like of shape (n,)
        Labels. Their order is the parameter ``levels`` of the estimator, else the one that they
        carry (ordered pandas Categorical, polars Enum), else that of numbers. Text without an
        order is refused.
    groups : array-like of shape (n,), default=None
        Groups of rows that a splitter keeps together.
    cv : int, splitter or iterable, default=None
        Number of folds, 5 by default, or how to split, as for ``cross_val_predict``.
    n_jobs : int, default=None
        Number of folds fitted at once.
    params : dict, default=None
        Passed to `fit`, such as ``{"sample_weight": weights}``. Those with an entry for each
        row are cut to the rows of the fold.

    Returns
    -------
    proba : ndarray of shape (n, K)
        Columns in order of level. A level that the training rows of a fold lack has
        probability 0 there, unless the order of the estimator includes it.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalGP
    >>> from ordinality.metrics import cross_val_level_proba, ranked_probability_score
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.array(["low", "mid", "high"])[np.digitize(np.sin(X[:, 0]), [-0.4, 0.4])]
    >>> levels = ["low", "mid", "high"]
    >>> proba = cross_val_level_proba(OrdinalGP(levels=levels), X, y)
    >>> proba.shape, bool(ranked_probability_score(y, proba, levels=levels) < 0.1)
    ((40, 3), True)
    """
    from sklearn.model_selection import cross_val_predict

    order = ordered(order_of(y, levels=_inner(estimator, "levels", "estimator")))
    order.encode(y)  # refuses labels outside the order before anything is fitted
    proba: Floats = cross_val_predict(
        _ByLevel(estimator, order), X, y, groups=groups, cv=cv, n_jobs=n_jobs, params=params
    )
    return proba


def _order(estimator: Any, y: Any, levels: Any) -> Order:
    if levels is None:
        levels = _inner(estimator, "levels_", "best_estimator_")
    # The classes seen in fit, so that a level missing from a small test set keeps its place.
    known = [estimator.classes_] if hasattr(estimator, "classes_") else []
    return order_of(y, *known, levels=levels)


def _inner(estimator: Any, name: str, searched: str) -> Any:
    """Attribute `name` of an estimator, pipeline, or the `searched` of a search, or None."""
    while not hasattr(estimator, name):
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, searched):
            estimator = getattr(estimator, searched)
        else:
            return None
    return getattr(estimator, name)


def _labels(estimator: Any, X: Any, order: Order) -> Array:
    return np.asarray(estimator.predict(X))


def _level_proba(estimator: Any, X: Any, order: Order) -> Floats:
    """Probabilities with columns in order of level; zero for a level not seen in fit."""
    if hasattr(estimator, "predict_level_proba"):
        proba, columns = estimator.predict_level_proba(X), estimator.levels_
    elif hasattr(estimator, "predict_proba"):
        proba, columns = estimator.predict_proba(X), estimator.classes_
    else:
        raise TypeError(
            f"{type(estimator).__name__} has no predict_proba, but probabilities are needed; "
            "choose another estimator, or a score of labels, such as 'mae'."
        )
    placed = np.zeros((len(proba), order.n_levels))
    placed[:, order.encode(columns)] = proba
    return placed


def _score(estimator: Any, X: Any, order: Order) -> Floats:
    """One number for each row that rises with the predicted level."""
    # Only where the estimator knows the order: the decision function of another one rises
    # with the alphabet, or has a column for each class.
    known = _inner(estimator, "levels_", "best_estimator_") is not None
    if known and hasattr(estimator, "decision_function"):
        score = np.asarray(estimator.decision_function(X))
        if score.ndim == 1:
            # With two levels scikit-learn's score rises with the class that sorts last.
            turned = order.n_levels == 2 and order.classes[1] != order.levels[1]
            return -score if turned else score
    if hasattr(estimator, "predict_level_proba") or hasattr(estimator, "predict_proba"):
        return _level_proba(estimator, X, order) @ np.arange(order.n_levels)
    return order.encode(estimator.predict(X)).astype(np.float64)


class _Entry(NamedTuple):
    metric: Callable[..., float]
    sign: int  # -1 for errors: scikit-learn maximises
    reads: Callable[[Any, Any, Order], Any]


_ENTRIES = {
    "mae": _Entry(of_labels.mean_absolute_error, -1, _labels),
    "macro_mae": _Entry(of_labels.macro_mae, -1, _labels),
    "max_mae": _Entry(of_labels.max_mae, -1, _labels),
    "zero_one": _Entry(of_labels.zero_one_error, -1, _labels),
    "rps": _Entry(of_probabilities.ranked_probability_score, -1, _level_proba),
    "log_score": _Entry(of_probabilities.log_score, -1, _level_proba),
    "off_by_one": _Entry(of_labels.off_by_one_accuracy, 1, _labels),
    "kendall_tau": _Entry(of_labels.kendall_tau, 1, _labels),
    "spearman": _Entry(of_labels.spearman, 1, _labels),
    "linear_kappa": _Entry(of_labels.linear_kappa, 1, _labels),
    "quadratic_kappa": _Entry(of_labels.quadratic_kappa, 1, _labels),
    "c_index": _Entry(of_probabilities.ordinal_c_index, 1, _score),
}


@dataclass
class _ByLevel:
    """A classifier whose `predict` gives probabilities, columns in order of level.

    ``cross_val_predict`` leaves labels as they are for `predict` only.
    """

    estimator: Any
    order: Order

    def __sklearn_clone__(self) -> _ByLevel:
        from sklearn.base import clone

        return _ByLevel(clone(self.estimator), self.order)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        return get_tags(self.estimator)

    def get_metadata_routing(self) -> Any:
        return self.estimator.get_metadata_routing()

    def fit(self, X: Any, y: Any, **params: Any) -> _ByLevel:
        self.estimator.fit(X, y, **params)
        return self

    def predict(self, X: Any) -> Floats:
        return _level_proba(self.estimator, X, self.order)
