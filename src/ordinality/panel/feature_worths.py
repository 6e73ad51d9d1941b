"""What features of items are worth: the linear part of the posterior of the utilities.

Utilities may depend on features in any smooth way, and on the item beside them. Their
least-squares plane over the items has a slope for each feature: a linear function of the
utilities, so that its posterior is exact. In conjoint analysis these are part-worths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..elicitation.gains import points_of

__all__ = ["FeatureWorth", "feature_worths"]


class FeatureWorth(NamedTuple):
    """By how much the utility rises with a step of one feature, the others held."""

    feature: str
    step: float  # from one value to the other if there are two, else a standard deviation
    worth: float
    sd: float  # of the posterior


def feature_worths(
    believed: Any, features: np.ndarray, names: list[str]
) -> tuple[FeatureWorth, ...]:
    """The worth of each column of features, (n, d), that is not the same for all items.

    Where columns are tied, such as 0 and 1 for each of several brands, the slopes are the
    smallest that fit: those of the brands sum to zero.
    """
    varies = np.ptp(features, axis=0) > 0.0
    X, names = features[:, varies], [n for n, v in zip(names, varies, strict=True) if v]
    if not names:
        return ()
    two = [len(np.unique(column)) == 2 for column in X.T]
    step = np.where(two, np.ptp(X, axis=0), X.std(axis=0))
    slopes = np.linalg.pinv((X - X.mean(axis=0)) / step)  # of utilities, (d, n)
    points = points_of(believed, np.arange(len(X)))
    each = points.mean @ slopes.T
    worth = points.weights @ each
    spread = np.einsum("di,gij,dj->gd", slopes, points.cov, slopes, optimize=True)
    sd = np.sqrt(points.weights @ (np.maximum(spread, 0.0) + (each - worth) ** 2))
    columns = zip(names, step.tolist(), worth.tolist(), sd.tolist(), strict=True)
    return tuple(FeatureWorth(*column) for column in columns)
