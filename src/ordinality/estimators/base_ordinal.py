"""What every ordinal classifier shares: the order of its labels and what follows from it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import levels as _levels
from ..scales import order_to_state

__all__ = ["OrdinalClassifier", "SometimesProbabilistic"]


class OrdinalClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose labels have an order.

    Subclasses have parameters ``levels`` and ``decision`` and a method ``_level_proba``; in
    ``fit`` they call ``_learn_levels``. Fitted to codes of text levels, as some tools of
    scikit-learn assign them, a model predicts codes: ``classes_`` holds them sorted and
    ``levels_`` in order of level.
    """

    levels: Any
    decision: str

    def _learn_levels(self, y: Any, given: Any) -> np.ndarray:
        """Find the order of the labels, warn of what was assumed, return the ranks of `y`.

        `given` holds the labels of all rows, also of those that `y` lacks for their weight 0.
        """
        order = self._resolve(y, given)
        if order.guessed:
            warnings.warn(_guessed(order.levels.tolist()), UserWarning, stacklevel=4)
        if order.source == "coded" and np.any(order.levels != order.classes):
            warnings.warn(_coded(_levels.as_labels(self.levels)), UserWarning, stacklevel=4)
        self._order = order
        self.levels_ = order.levels
        self.classes_ = order.classes
        return order.encode(y)

    def _resolve(self, y: Any, given: Any) -> _levels.Order:
        """Order of the labels; of their codes, where a tool has recoded the stated levels."""
        codes = None if self.levels is None else _levels.codes_in_order(given, self.levels)
        if codes is None:
            return _levels.resolve(y, self.levels)
        return replace(_levels.resolve(y, codes), source="coded")

    def predict(self, X: Any) -> np.ndarray:
        """Most probable level of each row, or the median one (``decision``).

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        y : ndarray of shape (n,)
        """
        proba = self.predict_level_proba(X)
        if self.decision == "median":
            ranks = np.argmax(np.cumsum(proba, axis=1) >= 0.5, axis=1)
        else:
            ranks = np.argmax(proba, axis=1)
        return self._order.decode(ranks)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each label, columns in the order of ``classes_`` (sorted).

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        proba : ndarray of shape (n, K)

        See Also
        --------
        predict_level_proba : columns in order of level.
        """
        return self.predict_level_proba(X)[:, self._order.columns]

    def predict_level_proba(self, X: Any, *, cumulative: bool = False) -> np.ndarray:
        """Probability of each level, columns in the order of ``levels_``.

        Parameters
        ----------
        X : array-like of shape (n, d)
        cumulative : bool, default=False
            Probability of each level *or a lower one* instead.

        Returns
        -------
        proba : ndarray of shape (n, K)
        """
        check_is_fitted(self)
        proba = self._level_proba(X)
        return np.minimum(np.cumsum(proba, axis=1), 1.0) if cumulative else proba

    def _level_proba(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's accuracy check uses blobs whose classes lie in no order.
        tags.classifier_tags.poor_score = True
        return tags


def _guessed(labels: list[str]) -> str:
    """What to say of text without an order, with the line to type."""
    return (
        "The labels are text and no order was stated, so they are taken in alphabetical order: "
        f"{', '.join(map(repr, labels))}. State the order, lowest first, with "
        f"levels={order_to_state(labels)}, or pass an ordered pandas Categorical or a polars "
        "Enum."
    )


def _coded(labels: np.ndarray) -> str:
    """What to say of codes that mean something else as places in the stated order."""
    read = ", ".join(f"{code} is {name!r}" for code, name in enumerate(sorted(labels.tolist())))
    return (
        f"y holds the codes 0 to {len(labels) - 1} in place of the stated levels. They are "
        f"read as scikit-learn's tools assign them, by sorted label: {read}. If you numbered "
        "the labels yourself, 0 for the lowest, leave `levels` out."
    )


class SometimesProbabilistic(OrdinalClassifier):
    """An ordinal classifier with probabilities only where its parameters provide them.

    Subclasses say by ``_has_proba`` whether they do; where not, the methods do not exist.
    """

    def _has_proba(self) -> bool:
        raise NotImplementedError

    @available_if(lambda self: self._has_proba())
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each label, columns in the order of ``classes_`` (sorted).

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        proba : ndarray of shape (n, K)
        """
        return super().predict_proba(X)

    @available_if(lambda self: self._has_proba())
    def predict_level_proba(self, X: Any, *, cumulative: bool = False) -> np.ndarray:
        """Probability of each level, columns in the order of ``levels_``.

        Parameters
        ----------
        X : array-like of shape (n, d)
        cumulative : bool, default=False
            Probability of each level *or a lower one* instead.

        Returns
        -------
        proba : ndarray of shape (n, K)
        """
        return super().predict_level_proba(X, cumulative=cumulative)
