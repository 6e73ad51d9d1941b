"""A study in words: what the model is, what moves rows over each threshold, how it errs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .effects import Effect
    from .studies import Study

__all__ = ["in_words", "moves"]

NAMED = 3  # columns named for each threshold
SLIGHT = 0.01  # changes of probability below this are not worth a word


def in_words(found: Study) -> list[str]:
    """Sentences about the model of a study.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import study
    >>> dose = np.linspace(0, 4, 40)
    >>> frame = polars.DataFrame({"dose": dose, "effect": np.digitize(dose, [1.5, 2.8])})
    >>> print(in_words(study(frame, "effect", model="linear"))[-1])
    Of rows it had not seen, it names the right level for 95%, and misses by two levels or
    more for 0%.
    """
    levels = [str(level) for level in found.problem.order.levels.tolist()]
    cuts = f"{len(levels) - 1} thresholds cut" if len(levels) > 2 else "one threshold cuts"
    sentences = [
        f"The model gives every row a place on a hidden scale of {found.problem.target}, from "
        f"{levels[0]} to {levels[-1]}, and {cuts} the scale into the levels."
    ]
    return [*sentences, *moves(found.effects, levels), _errors(found)]


def moves(effects: Sequence[Effect], levels: list[str]) -> list[str]:
    """For every threshold, the columns that move most rows over it."""
    sentences = []
    for k, (lower, upper) in enumerate(pairwise(levels)):
        rises = sorted(
            ((-float(np.cumsum(effect.change)[k]), effect) for effect in effects),
            key=lambda pair: -abs(pair[0]),
        )
        named = [_move(rise, effect) for rise, effect in rises[:NAMED] if abs(rise) >= SLIGHT]
        top = k == len(levels) - 2
        what = f"of {upper}" if top else f"of {upper} or higher"
        if named:
            sentences.append(
                f"Moving from {lower} to {upper}: the average probability {what} changes by "
                f"{'; '.join(named)}."
            )
        else:
            sentences.append(
                f"Moving from {lower} to {upper}: no column by itself changes the average "
                f"probability {what} by {SLIGHT:.0%} or more."
            )
    return sentences


def _move(rise: float, effect: Effect) -> str:
    low, high = effect.between
    if low.startswith("half a standard deviation"):
        return f"{rise:+.2f} when {effect.column} is one standard deviation larger"
    return f"{rise:+.2f} when {effect.column} is {high} instead of {low}"


def _errors(found: Study) -> str:
    ranks = found.problem.order.encode(found.problem.y)
    off = np.abs(found.choice.taken.proba.argmax(axis=1) - ranks)
    far = f", and misses by two levels or more for {np.mean(off > 1):.0%}"
    return (
        f"Of rows it had not seen, it names the right level for {np.mean(off == 0):.0%}"
        f"{far if found.problem.order.n_levels > 2 else ''}."
    )
