"""Out-of-fold probabilities of ordered labels.

scikit-learn's ``cross_val_predict`` with ``method="predict_proba"`` replaces the labels by
codes in alphabetical order before `fit`. Here every fold is fitted to a part of `y` as it was
passed, so an ordered Series keeps its order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ordinality.levels import Floats, Order, order_of
from ordinality.metrics.inputs import ordered
from ordinality.metrics.scoring import level_proba

__all__ = ["cross_val_level_proba"]


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
    """Probabilities of the levels of each row, by a model that was fitted without that row.

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
    groups, cv, n_jobs, params
        As for scikit-learn's ``cross_val_predict``. ``cv`` is a number of folds, 5 by default,
        or a splitter. ``params`` are passed to `fit`, such as ``{"sample_weight": weights}``;
        those with an entry for each row are cut to the rows of the fold.

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

    order = ordered(order_of(y, levels=_stated_levels(estimator)))
    order.encode(y)  # refuses labels outside the order before anything is fitted
    proba: Floats = cross_val_predict(
        _ByLevel(estimator, order), X, y, groups=groups, cv=cv, n_jobs=n_jobs, params=params
    )
    return proba


def _stated_levels(estimator: Any) -> Any:
    """The parameter ``levels`` of a classifier, inside pipelines and searches, or None."""
    while not hasattr(estimator, "levels"):
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "estimator"):
            estimator = estimator.estimator
        else:
            return None
    return estimator.levels


@dataclass
class _ByLevel:
    """A classifier whose predictions are probabilities, columns in order of level.

    For the sake of ``cross_val_predict``, which leaves labels alone only for `predict`.
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
        return level_proba(self.estimator, X, self.order)
