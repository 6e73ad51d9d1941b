"""Places by score, and what follows from the scores of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LabelRanker", "places"]


class LabelRanker:
    """Predictions of an estimator with a score for each label, `scores`."""

    classes_: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """A score for each label, shape (q, L)."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Ranks of the labels, 1 for the best, whatever Y was; `predict_top` names one label.

        Parameters
        ----------
        X : array-like of shape (q, d)

        Returns
        -------
        ranks : ndarray of int, shape (q, L)
        """
        return places(self.scores(X))

    def predict_top(self, X: Any) -> np.ndarray:
        """The best label of each row.

        Parameters
        ----------
        X : array-like of shape (q, d)

        Returns
        -------
        labels : ndarray of shape (q,)
        """
        return self.classes_[np.argmax(self.scores(X), axis=1)]


def places(scores: np.ndarray) -> np.ndarray:
    """Places by descending score, 1 for the largest, in each row; the first of equals wins.

    Examples
    --------
    >>> import numpy as np
    >>> places(np.array([[0.1, 0.7, 0.2]]))
    array([[3, 1, 2]])
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty(scores.shape, dtype=int)
    np.put_along_axis(ranks, order, np.arange(1, scores.shape[1] + 1), axis=1)
    return ranks
