"""What an ensemble leaves between its scores and its thresholds.

Lin & Li (2006), section 3: Definition 1 and the three errors at a margin.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

__all__ = ["left_right", "margin_error", "margins", "normaliser"]


def margins(H: np.ndarray, thresholds: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Margin of each row to each threshold (Definition 1): positive on the right side.

    Parameters
    ----------
    H : ndarray of shape (n,)
        Scores.
    thresholds : ndarray of shape (K-1,)
        Ascending.
    y : ndarray of shape (n,)
        Ranks 0..K-1.

    Returns
    -------
    ndarray of shape (n, K-1)

    Examples
    --------
    >>> import numpy as np
    >>> margins(np.array([0.5]), np.array([0.0, 2.0]), np.array([1]))
    array([[0.5, 1.5]])
    """
    above = y[:, None] > np.arange(thresholds.size)
    distance = H[:, None] - thresholds
    return np.where(above, distance, -distance)


def normaliser(alphas: np.ndarray, thresholds: np.ndarray) -> float:
    """What margins are divided by to be normalised: ``sum |alpha| + sum |threshold|``.

    Examples
    --------
    >>> import numpy as np
    >>> normaliser(np.array([1.0, -0.5]), np.array([-2.0, 1.0]))
    4.5
    """
    return float(np.abs(alphas).sum() + np.abs(thresholds).sum())


def left_right(rho: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The margins to the two ends of a row's own interval, shape (n, 2); infinite at an end.

    Examples
    --------
    >>> import numpy as np
    >>> left_right(np.array([[0.5, 1.5], [1.0, 3.0]]), np.array([1, 0]))
    array([[0.5, 1.5],
           [inf, 1. ]])
    """
    ends = np.full((len(rho), 1), np.inf)
    padded = np.hstack([ends, rho, ends])  # column k + 1 holds threshold k
    rows = np.arange(len(rho))
    return np.column_stack([padded[rows, y], padded[rows, y + 1]])


def margin_error(
    rho: np.ndarray,
    y: np.ndarray,
    delta: float = 0.0,
    kind: Literal["absolute", "boundary", "classification"] = "absolute",
    weights: np.ndarray | None = None,
) -> float:
    """Training error at a margin: what the bounds of Theorems 1 and 2 speak of.

    Parameters
    ----------
    rho : ndarray of shape (n, K-1)
        Margins, usually normalised; see `margins` and `normaliser`.
    y : ndarray of shape (n,)
        Ranks 0..K-1.
    delta : float, default=0.0
        A margin of at most this is an error.
    kind : {"absolute", "boundary", "classification"}
        How many thresholds are too near; which share of the (one or two) own ones; whether
        any own one is. Half the classification error is at most the boundary error, which is
        at most the classification error (1).
    weights : ndarray of shape (n,), default=None
        Of the rows in the mean.

    Examples
    --------
    >>> import numpy as np
    >>> rho, y = np.array([[0.5, -1.5, -0.1]]), np.array([1])
    >>> [margin_error(rho, y, kind=k) for k in ("absolute", "boundary", "classification")]
    [2.0, 0.5, 1.0]
    """
    if kind == "absolute":
        errors = np.sum(rho <= delta, axis=1)
    else:
        own = left_right(rho, y)
        near = np.sum(own <= delta, axis=1)
        errors = near > 0 if kind == "classification" else near / np.isfinite(own).sum(axis=1)
    return float(np.average(errors, weights=weights))
