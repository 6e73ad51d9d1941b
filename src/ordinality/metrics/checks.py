"""Checks of the input of metrics: labels to ranks, probabilities, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ordinality.levels import Floats, Order, Ranks, order_of
from ordinality.scales import order_to_state

__all__ = ["floats", "ordered", "probabilities", "ranks", "ratio", "weights"]


def ranks(
    y_true: Any, y_pred: Any, levels: Any, sample_weight: Any
) -> tuple[Ranks, Ranks, Floats, Order]:
    """Ranks of true and predicted labels, weights, and the order they are ranked by."""
    order = ordered(order_of(y_true, y_pred, levels=levels))
    true, pred = order.encode(y_true), order.encode(y_pred)
    if true.size != pred.size:
        raise ValueError(
            f"y_true has {true.size} labels and y_pred has {pred.size}; pass one prediction "
            "for each true label."
        )
    return true, pred, weights(sample_weight, true.size), order


def probabilities(
    y_true: Any, proba: ArrayLike, levels: Any, sample_weight: Any
) -> tuple[Ranks, Floats, Floats, Order]:
    """Ranks of true labels, checked probabilities, weights, and the order."""
    order = ordered(order_of(y_true, levels=levels))
    true = order.encode(y_true)
    p = np.asarray(proba, dtype=np.float64)
    if p.shape != (true.size, order.n_levels):
        raise ValueError(
            f"proba has shape {p.shape}, but {true.size} labels of {order.n_levels} levels "
            f"{order.levels.tolist()} need {(true.size, order.n_levels)}; list every level in "
            "`levels`, in the order of the columns."
        )
    # Rounding K probabilities to three digits moves their sum by at most K * 0.0005, which is
    # 0.02 for K = 40. Cumulative probabilities, scores and percentages are further off.
    if not (np.all(p >= 0) and np.all(np.abs(p.sum(1) - 1) < 0.02)):
        raise ValueError(
            "proba must hold probabilities, not negative and summing to one in each row, but "
            f"entries range from {p.min():.3g} to {p.max():.3g} and sums from "
            f"{p.sum(1).min():.3g} to {p.sum(1).max():.3g}."
        )
    return true, p, weights(sample_weight, true.size), order


def ordered(order: Order) -> Order:
    """The same order; one that is only alphabetical is an error."""
    if order.guessed:
        labels = order.levels.tolist()
        raise ValueError(
            f"the labels {labels} are text without an order; state it, lowest first, with "
            f"levels={order_to_state(labels)}."
        )
    return order


def weights(sample_weight: Any, n: int) -> Floats:
    """Weights of `n` rows: ones by default."""
    if sample_weight is None:
        return np.ones(n)
    weight = floats(sample_weight, (n,), "sample_weight")
    if np.any(weight < 0) or not 0 < weight.sum() < np.inf:
        raise ValueError(
            "sample_weight must be finite, not negative and not all zero, but its sum is "
            f"{weight.sum():.3g} and its smallest entry {weight.min():.3g}."
        )
    return weight


def floats(values: ArrayLike, shape: tuple[int, ...], name: str) -> Floats:
    """Numbers of a given shape, none missing."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape or np.any(np.isnan(array)):
        raise ValueError(
            f"{name} must hold one number for each label, shape {shape} without NaN, but it "
            f"has shape {array.shape} and {np.isnan(array).sum()} NaN."
        )
    return array


def ratio(numerator: float, denominator: float) -> float:
    """Quotient, or NaN where the denominator is zero."""
    return float(numerator / denominator) if denominator > 0 else float("nan")
