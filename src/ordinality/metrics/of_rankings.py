"""Metrics of predicted comparisons and of rankings by utility."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ordinality.levels import Floats
from ordinality.metrics.checks import floats, ratio, weights

__all__ = ["pair_error", "top_k_overlap"]


def pair_error(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of comparisons whose winner was predicted wrongly.

    Parameters
    ----------
    y_true : array-like of shape (m,)
        Answers: positive where the first item won, negative where the second did. Ties, 0,
        have no winner and are left out.
    y_pred : array-like of shape (m,)
        Predicted answers, or predicted differences of utility: the sign counts, and a zero is
        half an error.
    sample_weight : array-like of shape (m,), default=None
        How many times each comparison counts; once by default.

    Returns
    -------
    float
        From 0, the best, to 1; NaN if all answers are ties.

    Examples
    --------
    >>> from ordinality.metrics import pair_error
    >>> pair_error([1, 1, -1, 0], [0.3, -2.0, 0.0, 5.0])
    0.5
    """
    true = floats(y_true, np.shape(y_true)[:1], "y_true")
    pred = floats(y_pred, true.shape, "y_pred")
    weight = weights(sample_weight, true.size) * (true != 0)
    wrong = 0.5 * (1.0 - np.sign(true) * np.sign(pred))
    return ratio(float(weight @ wrong), float(weight.sum()))


def top_k_overlap(y_true: ArrayLike, y_pred: ArrayLike, k: int) -> float:
    """Share of the k best items that are among the k predicted to be best.

    Where items tie for the last of the k places, it is the mean over all ways to break the tie.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted utilities, the larger the better.
    k : int
        From 1 to n.

    Returns
    -------
    float
        From 0 to 1, the best.

    Examples
    --------
    >>> from ordinality.metrics import top_k_overlap
    >>> top_k_overlap([9.0, 8.0, 1.0, 2.0], [0.9, 0.1, 0.2, 0.3], k=2)
    0.5
    """
    true = floats(y_true, np.shape(y_true)[:1], "y_true")
    pred = floats(y_pred, true.shape, "y_pred")
    if k != int(k) or not 1 <= k <= true.size:
        raise ValueError(
            f"k={k!r} must be a whole number from 1 to the number of items, {true.size}."
        )
    return float(_chance(true, int(k)) @ _chance(pred, int(k)) / k)


def _chance(utility: Floats, k: int) -> Floats:
    """Probability of each item to be among the best k if ties are broken at random."""
    last = np.partition(utility, -k)[-k]
    above, at = utility > last, utility == last
    return above + at * (k - above.sum()) / at.sum()
