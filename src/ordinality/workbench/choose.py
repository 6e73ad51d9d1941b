"""Which of several assessed models to take, and the sentence that says why.

The one with the least ranked probability score, unless one that comes earlier in the list is
not worse by more than the standard error of the difference: then the earlier one, because the
folds cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .assess import SCORES, Assessment, row_scores
from .problem import Problem

__all__ = ["Choice", "Difference", "against_baselines", "choose", "difference"]

RPS = SCORES[0]


@dataclass(frozen=True)
class Difference:
    """How much lower the first model's ranked probability score is, per row.

    Attributes
    ----------
    mean, error : float
        Mean of first minus second over the rows, and its standard error.
    share : float
        Share of the rows in which the first is strictly better.
    """

    mean: float
    error: float
    share: float


@dataclass(frozen=True)
class Choice:
    """The model taken and why, in a sentence."""

    taken: Assessment
    why: str


def difference(problem: Problem, first: Assessment, second: Assessment) -> Difference:
    """First minus second in ranked probability score, paired row by row."""
    gap = row_scores(problem, first.proba) - row_scores(problem, second.proba)
    weights = np.ones(len(gap)) if problem.weights is None else problem.weights
    mean = float(np.average(gap, weights=weights))
    spread = np.average((gap - mean) ** 2, weights=weights)
    # Kish's effective number of rows; with equal weights it is their number.
    n = weights.sum() ** 2 / np.sum(weights**2)
    error = float(np.sqrt(spread / max(n - 1, 1)))
    return Difference(mean, error, float(np.average(gap < 0, weights=weights)))


def choose(problem: Problem, found: Sequence[Assessment]) -> Choice:
    """The model to take of those assessed on the same folds.

    Parameters
    ----------
    problem : Problem
        The rows.
    found : sequence of Assessment
        In order of preference.

    Returns
    -------
    Choice
        The first model that is within one standard error of the best.
    """
    best = min(found, key=lambda one: one.scores[RPS])
    for one in found:
        gap = difference(problem, one, best)
        if one is best or gap.mean <= gap.error:
            break
    if len(found) == 1:
        return Choice(one, f"{one.name} was the only model that could be tried.")
    if one is best:
        others = [other for other in found if other is not one]
        second = min(others, key=lambda other: other.scores[RPS])
        gap = difference(problem, one, second)
        return Choice(
            one,
            f"{one.name} ({one.words}) has the least ranked probability score of "
            f"{len(found)} models, {one.scores[RPS]:.3f}; next is {second.name} with "
            f"{second.scores[RPS]:.3f} (difference {-gap.mean:.3f} ± {gap.error:.3f}).",
        )
    return Choice(
        one,
        f"{one.name} ({one.words}) has a ranked probability score of {one.scores[RPS]:.3f}; "
        f"{best.name} has {best.scores[RPS]:.3f}, but the difference is within its standard "
        f"error ({gap.mean:.3f} ± {gap.error:.3f}), and {one.name} comes first in the list.",
    )


def against_baselines(
    problem: Problem, one: Assessment, baselines: Sequence[Assessment]
) -> tuple[bool, str]:
    """Whether a model beats every baseline in ranked probability score, and that in words.

    Parameters
    ----------
    problem : Problem
        The rows.
    one : Assessment
        The model.
    baselines : sequence of Assessment
        What it should beat.

    Returns
    -------
    better : bool
        Whether its score is less than all of theirs.
    sentence : str
        The same for a person, with the difference and its standard error.
    """
    rival = min(baselines, key=lambda other: other.scores[RPS])
    gap = difference(problem, one, rival)
    size = f"{abs(gap.mean):.3f} ± {gap.error:.3f}"
    if gap.mean >= 0:
        return False, (
            f"Not better than the baseline: its ranked probability score is "
            f"{one.scores[RPS]:.3f}, that of {rival.words} {rival.scores[RPS]:.3f} "
            f"(difference {size}). Do not rely on this model; more rows or other columns "
            "may help."
        )
    firm = "" if -gap.mean > 2 * gap.error else ", which may be luck"
    return True, (
        f"Better than both baselines: ranked probability score {one.scores[RPS]:.3f} against "
        f"{rival.scores[RPS]:.3f} for {rival.words}, the better of them "
        f"(difference {size}{firm})."
    )
