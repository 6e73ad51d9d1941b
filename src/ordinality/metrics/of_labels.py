"""Metrics of predicted labels: errors in levels, rank correlations, weighted kappas."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinality.levels import Floats, order_of
from ordinality.metrics.checks import ranks, ratio

__all__ = [
    "kendall_tau",
    "linear_kappa",
    "macro_mae",
    "max_mae",
    "mean_absolute_error",
    "off_by_one_accuracy",
    "quadratic_kappa",
    "spearman",
    "zero_one_error",
]


def mean_absolute_error(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Mean number of levels between the predicted label and the true label.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From 0, the best, to K-1.

    Examples
    --------
    >>> from ordinality.metrics import mean_absolute_error
    >>> mean_absolute_error(["low", "high"], ["low", "low"], levels=["low", "mid", "high"])
    1.0
    """
    true, pred, weight, _ = ranks(y_true, y_pred, levels, sample_weight)
    return float(np.average(np.abs(pred - true), weights=weight))


def zero_one_error(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Share of wrong predictions.

    It needs no order, so text without one is accepted.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From 0, the best, to 1.

    Examples
    --------
    >>> from ordinality.metrics import zero_one_error
    >>> zero_one_error([1, 2, 3, 3], [1, 2, 3, 1])
    0.25
    """
    order = order_of(y_true, y_pred, levels=levels)
    true, pred, weight, _ = ranks(y_true, y_pred, order.levels, sample_weight)
    return float(np.average(pred != true, weights=weight))


def macro_mae(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Mean absolute error within each true level, averaged over the levels present.

    Every level counts equally, however rare (Baccianella, Esuli & Sebastiani, 2009).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From 0, the best, to K-1.

    Examples
    --------
    >>> from ordinality.metrics import macro_mae
    >>> macro_mae([1, 1, 1, 3], [1, 1, 1, 2])
    0.5
    """
    return float(np.mean(_mae_by_level(y_true, y_pred, levels, sample_weight)))


def max_mae(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Mean absolute error within the true level for which it is largest.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From 0, the best, to K-1.

    Examples
    --------
    >>> from ordinality.metrics import max_mae
    >>> max_mae([1, 1, 1, 3], [1, 1, 1, 2])
    1.0
    """
    return float(np.max(_mae_by_level(y_true, y_pred, levels, sample_weight)))


def off_by_one_accuracy(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Share of predictions at most one level from the truth.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From 0 to 1, the best.

    Examples
    --------
    >>> from ordinality.metrics import off_by_one_accuracy
    >>> off_by_one_accuracy([1, 2, 3, 3], [1, 1, 2, 1])
    0.75
    """
    true, pred, weight, _ = ranks(y_true, y_pred, levels, sample_weight)
    return float(np.average(np.abs(pred - true) <= 1, weights=weight))


def kendall_tau(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Kendall's tau-b between true and predicted levels.

    From the K x K table of counts rather than `scipy.stats.kendalltau`, which takes no weights.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From -1 to 1, the best; NaN if all true or all predicted levels are equal.

    Examples
    --------
    >>> from ordinality.metrics import kendall_tau
    >>> kendall_tau([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    """
    table = _table(y_true, y_pred, levels, sample_weight)
    # Concordant less discordant pairs: each cell against those below it in the table, to the
    # right less to the left.
    below = table.sum(0) - np.cumsum(table, axis=0)
    after = below.sum(1, keepdims=True) - np.cumsum(below, axis=1)
    before = np.cumsum(below, axis=1) - below
    excess = np.sum(table * (after - before))
    # Pairs of different level, summed one by one: as a difference of squares they might not
    # vanish exactly when all levels are equal.
    untied = [t @ (np.cumsum(t) - t) for t in (table.sum(0), table.sum(1))]
    return ratio(excess, np.sqrt(untied[0] * untied[1]))


def spearman(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Spearman's rank correlation between true and predicted levels, with mid-ranks for ties.

    From the K x K table of counts rather than `scipy.stats.spearmanr`, which takes no weights.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        From -1 to 1, the best; NaN if all true or all predicted levels are equal.

    Examples
    --------
    >>> from ordinality.metrics import spearman
    >>> spearman([1, 2, 3], [1, 3, 2])
    0.5
    """
    table = _table(y_true, y_pred, levels, sample_weight)
    totals = table.sum(1), table.sum(0)
    # Mid-rank of each level, measured from the middle of all: its weighted mean is zero.
    a, b = (np.cumsum(t) - t / 2 - t.sum() / 2 for t in totals)
    return ratio(a @ table @ b, np.sqrt((totals[0] @ a**2) * (totals[1] @ b**2)))


def linear_kappa(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Cohen's kappa with disagreement measured in levels.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        At most 1, the best; 0 is chance; NaN if all labels are equal.

    Examples
    --------
    >>> from ordinality.metrics import linear_kappa
    >>> round(linear_kappa([1, 2, 3], [1, 2, 2]), 4)
    0.5714
    """
    return _kappa("linear", y_true, y_pred, levels, sample_weight)


def quadratic_kappa(
    y_true: Any, y_pred: Any, *, levels: Any = None, sample_weight: Any = None
) -> float:
    """Cohen's kappa with disagreement measured in squared levels.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    levels : array-like of shape (K,), default=None
        The labels, lowest first. By default the order that they carry, or numbers sorted.
    sample_weight : array-like of shape (n,), default=None
        How many times each row counts; once by default.

    Returns
    -------
    float
        At most 1, the best; 0 is chance; NaN if all labels are equal.

    Examples
    --------
    >>> from ordinality.metrics import quadratic_kappa
    >>> round(quadratic_kappa([1, 2, 3], [1, 2, 2]), 4)
    0.6667
    """
    return _kappa("quadratic", y_true, y_pred, levels, sample_weight)


def _mae_by_level(y_true: Any, y_pred: Any, levels: Any, sample_weight: Any) -> Floats:
    true, pred, weight, _ = ranks(y_true, y_pred, levels, sample_weight)
    total = np.bincount(true, weight)
    error = np.bincount(true, weight * np.abs(pred - true))
    return error[total > 0] / total[total > 0]


def _table(y_true: Any, y_pred: Any, levels: Any, sample_weight: Any) -> Floats:
    """Weight of each pair of true level (row) and predicted level (column)."""
    true, pred, weight, order = ranks(y_true, y_pred, levels, sample_weight)
    table = np.zeros((order.n_levels, order.n_levels))
    np.add.at(table, (true, pred), weight)
    return table


def _kappa(weights: str, y_true: Any, y_pred: Any, levels: Any, sample_weight: Any) -> float:
    from sklearn.metrics import cohen_kappa_score

    true, pred, weight, order = ranks(y_true, y_pred, levels, sample_weight)
    if np.unique(np.concatenate([true, pred])[np.tile(weight > 0, 2)]).size < 2:
        return float("nan")  # chance disagreement is zero; scikit-learn would divide by it
    every = np.arange(order.n_levels)
    return float(
        cohen_kappa_score(true, pred, labels=every, weights=weights, sample_weight=weight)
    )
