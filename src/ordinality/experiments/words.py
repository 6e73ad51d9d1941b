"""A comparison of methods as sentences, for people who do not read test statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ordinality.experiments.compare import Friedman, Practical

__all__ = ["Paired", "in_words", "listed", "p_in_words", "ranked_in_words"]


@dataclass(frozen=True, eq=False)
class Paired:
    """The method of lower mean against another, on the same blocks."""

    better: str
    worse: str
    ours: NDArray[np.float64]  # (n,) scores of the better
    theirs: NDArray[np.float64]  # (n,)
    interval: tuple[float, float]  # 95 %, of theirs - ours
    p_value: float
    practical: Practical | None


def in_words(
    pair: Paired, *, measure: str, blocks: str, alpha: float, rope: float | None, shared: bool
) -> str:
    """Who is lower how often, by how much, and whether chance would do as much.

    Examples
    --------
    >>> ours, theirs = np.array([0.1, 0.2]), np.array([0.3, 0.2])
    >>> pair = Paired("gp", "svm", ours, theirs, (-1, 1.2), 0.5, None)
    >>> said = {"measure": "error", "blocks": "sets", "alpha": 0.05, "rope": None}
    >>> print(in_words(pair, shared=False, **said))
    gp has the lower error in 1 of 2 sets (1 equal). Its mean is 0.15 against 0.25 of svm, lower
    by 0.1 (95 % interval -1 to 1.2); the difference may be chance (p = 0.5).
    """
    mean, other = pair.ours.mean(), pair.theirs.mean()
    if np.all(pair.ours == pair.theirs):
        return f"{pair.better} and {pair.worse} have the same {measure} in every one of " + (
            f"{pair.ours.size} {blocks}."
        )
    correction = ", corrected for shared training rows" if shared else ""
    low, high = pair.interval
    spread = f" (95 % interval {low:.3g} to {high:.3g}{correction})" if np.isfinite(low) else ""
    words = [_wins(pair, measure, blocks)]
    if mean == other:
        words.append(f"The means are equal{spread}; {_chance(pair, alpha)}.")
    else:
        words.append(
            f"Its mean is {mean:.3g} against {other:.3g} of {pair.worse}, lower by "
            f"{other - mean:.3g}{spread}; {_chance(pair, alpha)}."
        )
    if pair.practical is not None:
        words.append(_practical(pair, rope))
    return " ".join(words)


def ranked_in_words(
    pairs: Sequence[Paired],
    over: Friedman | None,
    *,
    measure: str,
    blocks: str,
    alpha: float,
    rope: float | None,
) -> str:
    """The best of several, which of the others it beats, and which it may not.

    Examples
    --------
    >>> ours, theirs = np.array([0.1, 0.1, 0.1]), np.array([0.2, 0.2, 0.3])
    >>> pairs = [Paired("gp", "svm", ours, theirs, (0.05, 0.2), 0.02, None),
    ...          Paired("gp", "boost", ours, ours + 0.01, (-0.01, 0.03), 0.4, None)]
    >>> said = {"measure": "error", "blocks": "folds", "alpha": 0.05, "rope": None}
    >>> print(ranked_in_words(pairs, None, **said))
    Of 3 methods gp has the lowest mean error, 0.1 over 3 folds. It is better than svm (by
    0.133, p = 0.02). It cannot be told apart from boost (by 0.01, p = 0.4). (p-values
    corrected for their number by Holm's method.)
    """
    best, n = pairs[0].better, pairs[0].ours.size
    words = [
        f"Of {len(pairs) + 1} methods {best} has the lowest mean {measure}, "
        f"{pairs[0].ours.mean():.3g} over {n} {blocks}."
    ]
    if over is not None:
        differ = "differ" if over.p_value < alpha else "may all be alike"
        words.append(
            f"By their ranks the methods {differ} (Friedman, F = {over.statistic:.3g}, "
            f"{p_in_words(over.p_value)})."
        )
    for told, start in ((True, "It is better than"), (False, "It cannot be told apart from")):
        some = [
            f"{pair.worse} (by {pair.theirs.mean() - pair.ours.mean():.3g}, "
            f"{p_in_words(pair.p_value)})"
            for pair in pairs
            if (pair.p_value < alpha) is told
        ]
        if some:
            words.append(f"{start} {listed(some)}.")
    words += [_practical(pair, rope) for pair in pairs if pair.practical is not None]
    words.append("(p-values corrected for their number by Holm's method.)")
    return " ".join(words)


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words in a row, with commas and a last conjunction.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end


def p_in_words(p: float) -> str:
    """A p-value to two digits, and no smaller than one would believe.

    Examples
    --------
    >>> p_in_words(0.01234), p_in_words(1e-9)
    ('p = 0.012', 'p < 0.0001')
    """
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"


def _wins(pair: Paired, measure: str, blocks: str) -> str:
    n, equal = pair.ours.size, int(np.sum(pair.ours == pair.theirs))
    wins = int(np.sum(pair.ours < pair.theirs))
    if n == 1:
        return f"{pair.better} has the lower {measure}, on a single one of the {blocks}."
    if wins == n:
        return f"{pair.better} has the lower {measure} in all {n} {blocks}."
    ties = f" ({equal} equal)" if equal else ""
    return f"{pair.better} has the lower {measure} in {wins} of {n} {blocks}{ties}."


def _chance(pair: Paired, alpha: float) -> str:
    sure = "is significant" if pair.p_value < alpha else "may be chance"
    return f"the difference {sure} ({p_in_words(pair.p_value)})"


def _practical(pair: Paired, rope: float | None) -> str:
    assert pair.practical is not None
    left, same, right = (f"{p:.0%}" for p in pair.practical)
    return (
        f"With differences below {rope:g} counted as none, {pair.better} is better with "
        f"probability {left}, {pair.worse} with {right}, and neither matters with {same}."
    )
