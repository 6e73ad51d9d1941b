"""Split-half reliability: whether two halves of the judges come to the same ranking.

Intervals, checks and betting tests take one order for granted, with noise about it, and two
camps of judges who disagree look like noise to them. Halves tell the two apart. Where judges
are divided, two halves of the judges agree less than two halves of the answers with every judge
in both.

Verhavert, De Maeyer, Donche & Coertjens (2018), "Scale separation reliability: what does it
mean in the context of comparative judgment?", Applied Psychological Measurement 42.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from ..estimators import PreferenceGP

__all__ = ["SplitHalf", "split_half"]


@dataclass(frozen=True)
class SplitHalf:
    """Agreement of rankings by two halves of the judges, means over random splits.

    Parameters
    ----------
    pearson : float
        Correlation of the utilities.
    kendall : float
        Kendall's tau of the two rankings.
    spearman_brown : float
        What ``pearson`` becomes for the whole panel, twice as long as its halves:
        2 r / (1 + r).
    pearson_of_answers, kendall_of_answers : float
        The same for halves of the answers of every judge. Judges who are of one mind reach
        this too.
    splits : int
        Number of splits of each kind.

    Examples
    --------
    >>> from ordinality.panel import SplitHalf
    >>> SplitHalf(0.8, 0.6, 0.89, 0.81, 0.61, 20).sentence()
    'Halves of the judges agree to 0.80, halves of the answers to 0.81.'
    """

    pearson: float
    kendall: float
    spearman_brown: float
    pearson_of_answers: float
    kendall_of_answers: float
    splits: int

    def sentence(self) -> str:
        """The two correlations in words.

        Returns
        -------
        str
            One sentence.
        """
        return (
            f"Halves of the judges agree to {self.pearson:.2f}, halves of the answers to "
            f"{self.pearson_of_answers:.2f}."
        )


def split_half(
    pairs: Any,
    answers: Any,
    judges: Any,
    *,
    weights: Any = None,
    splits: int = 20,
    seed: int = 0,
) -> SplitHalf:
    """Compare the rankings that two halves of the judges give, over random splits.

    Each half is ranked by a `PreferenceGP` of its own, without features and with one noise for
    all judges. It is the only statistic here that shows camps. Judges who flip coins lower it
    too: leave them out first. Compare ``pearson`` with
    ``pearson_of_answers``: with two equal camps among few judges the first is clearly below
    the second. With many judges both halves are mixed alike, and the difference is small.

    Parameters
    ----------
    pairs : array-like of str or int, shape (m, 2)
        The two items of each question.
    answers : array-like of int, shape (m,)
        +1 if the first was preferred, -1 if the second; 0 for a tie; larger numbers for
        stronger answers.
    judges : array-like of shape (m,)
        Who answered; two judges at least.
    weights : array-like of shape (m,), default=None
        Weights of the answers.
    splits : int, default=20
        Number of splits. Four models are fitted for each.
    seed : int, default=0
        Of the splits.

    Returns
    -------
    agreement : SplitHalf
        Correlations; a half that cannot tell the items apart agrees to 0.

    Examples
    --------
    >>> from ordinality.panel import split_half
    >>> pairs = [["tea", "milk"], ["milk", "soup"], ["tea", "soup"]] * 8
    >>> found = split_half(pairs, [1] * 24, ["ann", "bob", "eve", "kim"] * 6, splits=2)
    >>> found.kendall
    1.0
    """
    place, said, number, weight = _read(pairs, answers, judges, weights)
    n_items, n_judges = 1 + int(place.max(initial=-1)), 1 + int(number.max(initial=-1))
    if n_judges < 2 or splits < 1:
        raise ValueError(
            f"there are {n_judges} judges and {splits} splits; wanted two judges and one split "
            "at least."
        )
    ties, grades = bool(np.any(said == 0)), max(1, int(np.max(np.abs(said))))
    rng = np.random.default_rng(seed)

    def utilities(rows: np.ndarray) -> np.ndarray:
        """By some of the answers alone."""
        model = PreferenceGP(n_items, ties=ties, grades=grades)
        model.fit(place[rows], said[rows], sample_weight=weight[rows])
        return model.utility().mean

    def agreement(halves: Iterator[np.ndarray]) -> list[float]:
        """Means of Pearson's and Kendall's correlation."""
        found = [_correlations(utilities(half), utilities(~half)) for half in halves]
        return np.mean(found, axis=0).tolist()

    r, tau = agreement(_of_judges(number, n_judges, splits, rng))
    r_of_answers, tau_of_answers = agreement(_of_answers(number, splits, rng))
    whole = 2.0 * r / (1.0 + r) if r > -1.0 else -np.inf
    return SplitHalf(r, tau, whole, r_of_answers, tau_of_answers, splits)


def _read(pairs: Any, answers: Any, judges: Any, weights: Any) -> tuple[np.ndarray, ...]:
    """Numbers of items, (m, 2), answers, numbers of judges and weights of all that count."""
    _, place = np.unique(np.asarray(pairs, dtype=str), return_inverse=True)
    place, said = place.reshape(-1, 2), np.asarray(answers).reshape(-1)
    who = np.asarray(judges, dtype=str).reshape(-1)
    weight = np.ones(len(said)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not len(place) == len(said) == len(who) == len(weight):
        raise ValueError(
            f"there are {len(place)} pairs, {len(said)} answers, {len(who)} judges and "
            f"{len(weight)} weights; pass one of each for every question."
        )
    counts = weight > 0.0  # repeats, and judges who are left out, do not
    number = np.unique(who[counts], return_inverse=True)[1]
    return place[counts], said[counts], number, weight[counts]


def _of_judges(
    number: np.ndarray, count: int, splits: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Answers of a random half of the judges."""
    for _ in range(splits):
        yield np.isin(number, rng.permutation(count)[: count // 2])


def _of_answers(
    number: np.ndarray, splits: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """A random half of the answers of every judge."""
    for _ in range(splits):
        order = np.lexsort((rng.random(len(number)), number))
        half = np.zeros(len(number), dtype=bool)
        half[order[::2]] = True
        yield half


def _correlations(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Pearson's and Kendall's; 0 where one of them is the same for all items."""
    if not (np.ptp(one) > 0.0 and np.ptp(other) > 0.0):
        return 0.0, 0.0
    return float(np.corrcoef(one, other)[0, 1]), float(kendalltau(one, other).statistic)
