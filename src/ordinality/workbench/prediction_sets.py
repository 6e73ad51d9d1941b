"""Ranges of levels that hold the true one as often as is asked, from out-of-fold probabilities.

A range grows from the most probable level by the more probable neighbour, until its probability
exceeds a bound. Rows predicted by models that had not seen them give the bound for each
coverage, as in `OrdinalConformal`; the model of all rows is then used with it, so no fold's
model need be kept. Its coverage is approximate, where that of a split is guaranteed.

Vovk (2015), "Cross-conformal predictors".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinality.estimators.ordinal_conformal import growth_scores, score_bound

from .problem import Problem

__all__ = ["level_ranges", "range_bounds", "range_sentence"]

PERCENT = range(50, 100)  # coverages that a model file has bounds for


def range_bounds(problem: Problem, proba: np.ndarray) -> dict[str, float]:
    """The bound for each coverage in percent; 1, all levels, where rows are too few for one."""
    ranks = problem.order.encode(problem.y)
    scores = growth_scores(proba)[np.arange(len(ranks)), ranks]
    weights = np.ones(len(ranks)) if problem.weights is None else problem.weights
    return {
        str(percent): min(score_bound(scores, weights, 1 - percent / 100), 1.0)
        for percent in PERCENT
    }


def level_ranges(proba: np.ndarray, bound: float) -> np.ndarray:
    """First and last rank of the range of each row, (n, 2)."""
    member = growth_scores(proba) <= bound
    first = member.argmax(axis=1)
    return np.column_stack([first, member.shape[1] - 1 - member[:, ::-1].argmax(axis=1)])


def range_sentence(problem: Problem, proba: np.ndarray, bounds: dict[str, Any]) -> str:
    """How wide the ranges of nine in ten are, in words."""
    ranges = level_ranges(proba, bounds["90"])
    width = ranges[:, 1] - ranges[:, 0] + 1
    kinds, counts = np.unique(ranges, axis=0, return_counts=True)
    low, high = (problem.order.levels[rank] for rank in kinds[counts.argmax()])
    between = f"between {low} and {high}" if low != high else f"at {low}"
    return (
        "Nine times in ten the answer lies in a range of "
        f"{width.mean():.1f} levels on average, "
        f"for {np.mean(width == 1):.0%} of the rows in a single level; most often, for "
        f"{counts.max() / len(ranges):.0%} of the rows, the range is {between}."
    )
