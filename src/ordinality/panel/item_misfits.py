"""Misfit of items: mean square of the standardised residuals of the answers about each.

At most near 1 for an item on which judges agree as the model expects, less where few answers
made its utility, more for one that wins and loses against the order of the others: people see
different things in it, or its picture is the wrong one. It is the outfit of Rasch models, of
items instead of judges.

Wright & Masters (1982), "Rating scale analysis", chapter 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..metrics.of_judges import standardised_residuals
from .judges import GivenAnswers

__all__ = ["item_misfits"]

FEWEST = 5  # answers from which a mean square says anything: its own spread is then below one


def item_misfits(believed: Any, classes: np.ndarray, given: GivenAnswers) -> np.ndarray:
    """Mean square of the residuals of each item, (n,); NaN where answers are too few.

    Repeats count, and judges who are left out do not: an answer counts if the model learnt
    from its judge at all.
    """
    n = len(believed.utility()[0])
    total, count = np.zeros(n), np.zeros(n)
    for judge in np.unique(given.judges):
        own = given.by(judge)
        if not own.learnt.any():
            continue
        proba = believed.predict_proba(own.pairs, judge)
        square = standardised_residuals(own.answers, proba, classes) ** 2
        known = np.isfinite(square)
        for items in own.pairs[known].T:  # the residual of one side is minus that of the other
            total += np.bincount(items, square[known], n)
            count += np.bincount(items, minlength=n)
    return np.divide(total, count, out=np.full(n, np.nan), where=count >= FEWEST)
