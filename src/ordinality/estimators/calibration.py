"""Calibration that shares the fits of a cross-validation.

A score becomes probabilities through a link, and the link must be learnt on scores of rows that
were left out. A classifier alone fits itself several times more to get such scores. A
cross-validation has them already: the model of each fold gives scores to the rows of that fold.
One fit a fold is then enough for the links of all folds and of the final model.

Each fold's scores are brought to the scale of the model that is calibrated, by mean and spread
on rows that both models have learnt from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._link import aligned, learn_link
from ._scored import ScoredClassifier

__all__ = ["calibrate_from_folds", "needs_link"]


def needs_link(estimator: Any) -> bool:
    """Whether a fit of `estimator` would end with calibration folds of its own.

    Examples
    --------
    >>> from ordinality import OrdinalGP, OrdinalSVM
    >>> needs_link(OrdinalSVM()), needs_link(OrdinalGP())
    (True, False)
    """
    return isinstance(estimator, ScoredClassifier) and estimator.calibration_folds is not None


def calibrate_from_folds(
    model: ScoredClassifier,
    own: np.ndarray,
    fold_scores: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    y: Any,
    sample_weight: np.ndarray | None = None,
    *,
    fold: int | None = None,
) -> None:
    """Give a fitted model its link, from the scores of a cross-validation.

    Parameters
    ----------
    model : ScoredClassifier
        Fitted with ``calibration_folds=None``.
    own : ndarray of shape (n,)
        Its scores of all rows.
    fold_scores : ndarray of shape (n_folds, n)
        Scores of all rows by the model of each fold.
    splits : sequence of (train, test)
        The folds; every row is in one test part.
    y : array-like of shape (n,)
        Labels.
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows.
    fold : int, optional
        Which fold `model` belongs to. The rows of that fold are not used, so that the
        probabilities of a row never come from a link that has seen it. By default `model` has
        learnt from all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalSVM
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> y = np.digitize(X.ravel() + np.tile([-0.4, 0.4], 20), [-0.5, 0.5])
    >>> fold = np.arange(40) % 4
    >>> splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(4)]
    >>> machines = [OrdinalSVM(calibration_folds=None).fit(X[a], y[a]) for a, _ in splits]
    >>> scores = np.array([machine.predict_score(X) for machine in machines])
    >>> calibrate_from_folds(machines[0], scores[0], scores, splits, y, fold=0)
    >>> machines[0].predict_proba(X[:1]).argmax()
    np.int64(0)
    """
    weights = np.ones(len(own)) if sample_weight is None else sample_weight
    left_out = np.zeros(len(own), dtype=bool)
    if fold is not None:
        left_out[splits[fold][1]] = True
    scores = np.full(len(own), np.nan)
    for k, (train, test) in enumerate(splits):
        if k != fold:
            both = train[~left_out[train] & (weights[train] > 0)]
            s = fold_scores[k]
            scores[test] = aligned(s[test], s[both], own[both], weights[both])
    used = np.flatnonzero(~left_out & (weights > 0))
    order = model._order
    ranks = order.encode(np.asarray(y)[used])
    model.link_ = learn_link(scores[used], ranks, order.n_levels, weights[used])
