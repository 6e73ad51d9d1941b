"""Which of several methods is better, from the scores they got on the same blocks.

A *block* is whatever all methods were scored on: a data set, a partition, a fold. Scores are
errors: lower is better. Blocks that are independent (data sets, fresh samples) may be tested by
ranks: `rank_sum`, as the papers do, `signed_rank`, `friedman` with
`nemenyi_critical_difference` and `holm`, `bayesian_signed_rank`. Folds of one table share their
training rows, and a test that takes them for independent finds differences where there are
none; `corrected_t` widens the variance for it. `verdict` states the outcome in words.

Demšar (2006), JMLR 7; Nadeau & Bengio (2003), Machine Learning 52; Benavoli, Corani, Demšar &
Zaffalon (2017), JMLR 18.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Friedman",
    "Interval",
    "Outcome",
    "Practical",
    "bayesian_signed_rank",
    "corrected_t",
    "friedman",
    "holm",
    "listed",
    "nemenyi_critical_difference",
    "rank_sum",
    "signed_rank",
    "verdict",
]


Floats = NDArray[np.float64]


class Outcome(NamedTuple):
    """A statistic, and how probable one as extreme is when the methods are alike."""

    statistic: float
    p_value: float


class Interval(NamedTuple):
    """A mean difference with its 95 % interval, and the test of its being zero."""

    mean: float
    low: float
    high: float
    statistic: float
    p_value: float


class Practical(NamedTuple):
    """Probabilities that the first is lower, that neither matters, that the second is."""

    p_left: float
    p_rope: float
    p_right: float


@dataclass(frozen=True, eq=False)
class Friedman:
    """Mean ranks of the methods (1 is best) and the tests of their being equal."""

    mean_ranks: Floats  # (k,), in the order of the columns
    chi_square: float  # Friedman's statistic, k - 1 degrees of freedom
    statistic: float  # Iman and Davenport's F, of k - 1 and (k - 1)(n - 1) degrees
    p_value: float  # of the F statistic


# ------------------------------------------------------------------------------ two methods


def rank_sum(a: ArrayLike, b: ArrayLike) -> Outcome:
    """Wilcoxon's rank-sum test of two samples that are not paired (two-sided).

    The papers mark by it which methods are worse than the best on a set. The p-value is exact
    for small samples without ties, else from the normal approximation corrected for ties.

    Parameters
    ----------
    a : array-like of shape (n,)
        Scores of one method.
    b : array-like of shape (m,)
        Scores of the other.

    Returns
    -------
    outcome : Outcome
        The ``statistic`` is Mann and Whitney's U of `a`, the number of pairs in which `a` is
        the higher; and the ``p_value``.

    Examples
    --------
    >>> from ordinality.experiments import rank_sum
    >>> rank_sum([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    Outcome(statistic=0.0, p_value=0.1)
    """
    a, b = _sample(a, "a"), _sample(b, "b")
    if np.all(np.concatenate([a, b]) == a[0]):
        return Outcome(a.size * b.size / 2, 1.0)
    found = scipy.stats.mannwhitneyu(a, b, alternative="two-sided")
    return Outcome(float(found.statistic), float(found.pvalue))


def signed_rank(a: ArrayLike, b: ArrayLike) -> Outcome:
    """Wilcoxon's signed-rank test of two methods on the same blocks (two-sided).

    The ranks of blocks where both are equal are shared between the sides, as Demšar (2006,
    section 3.1.3) has it.

    Parameters
    ----------
    a : array-like of shape (n,)
        Scores of one method, a block each.
    b : array-like of shape (n,)
        Scores of the other on the same blocks.

    Returns
    -------
    outcome : Outcome
        The ``statistic`` is the smaller of the two rank sums; and the ``p_value``.

    Examples
    --------
    >>> from ordinality.experiments import signed_rank
    >>> signed_rank([0.1, 0.2, 0.3, 0.4, 0.5], [0.2, 0.4, 0.6, 0.8, 1.0])
    Outcome(statistic=0.0, p_value=0.0625)
    """
    z = _paired(a, b)
    if not np.any(z):
        return Outcome(z.size * (z.size + 1) / 4, 1.0)
    found = scipy.stats.wilcoxon(z, zero_method="zsplit")
    return Outcome(float(found.statistic), float(found.pvalue))


def corrected_t(
    differences: ArrayLike, test_fraction: float = 0.0, *, confidence: float = 0.95
) -> Interval:
    """Test differences over folds by Student's t, corrected for shared training rows.

    The variance of the mean is s² (1/n + test/train) in place of s²/n (Nadeau & Bengio, 2003):
    however often the same table is split, it stays one table.

    Parameters
    ----------
    differences : array-like of shape (n,)
        Score of one method minus that of the other, a fold each.
    test_fraction : float, default=0.0
        Share of the rows that each fold tests: 0.1 for ten folds. 0 gives Student's test for
        independent blocks.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    interval : Interval
        The ``mean`` difference, ``low`` and ``high`` ends of its interval, the ``statistic``
        t and the ``p_value``.

    Examples
    --------
    >>> from ordinality.experiments import corrected_t
    >>> found = corrected_t([0.02, 0.04, 0.03, 0.05, 0.01], test_fraction=0.2)
    >>> print(f"{found.mean:.2f} ({found.low:.3f} to {found.high:.3f}), p {found.p_value:.3f}")
    0.03 (0.001 to 0.059), p 0.047
    """
    z = _sample(differences, "differences")
    if not 0 <= test_fraction < 1:
        raise ValueError(
            f"test_fraction is {test_fraction}; give the share of rows that a fold tests, "
            "such as 0.1 for ten folds, or 0 for independent blocks."
        )
    n, mean = z.size, float(z.mean())
    if n == 1:  # one difference says nothing of its own spread
        return Interval(mean, -np.inf, np.inf, 0.0, 1.0)
    if np.all(z == z[0]):
        return Interval(
            mean, mean, mean, np.sign(mean) * np.inf if mean else 0.0, float(not mean)
        )
    error = np.sqrt(z.var(ddof=1) * (1 / n + test_fraction / (1 - test_fraction)))
    reach = error * scipy.stats.t.ppf(0.5 + confidence / 2, n - 1)
    p = 2 * scipy.stats.t.sf(abs(mean) / error, n - 1)
    return Interval(mean, mean - reach, mean + reach, float(mean / error), float(p))


def bayesian_signed_rank(
    a: ArrayLike, b: ArrayLike, rope: float, draws: int = 50_000, seed: int = 0
) -> Practical:
    """How probably `a` is lower, how probably neither matters, how probably `b` is lower.

    Differences smaller than `rope` do not matter (the region of practical equivalence). The
    distribution of the differences has a Dirichlet process for a prior, of strength 1/2 and
    centred on no difference; a draw gives every block a weight, and is won by the region that
    holds most of the weighted pairwise means of differences (Benavoli et al., 2017, section
    4.2).

    Parameters
    ----------
    a : array-like of shape (n,)
        Scores of one method, a block each.
    b : array-like of shape (n,)
        Scores of the other on the same blocks.
    rope : float
        Smallest difference that matters.
    draws : int, default=50_000
        Draws from the posterior.
    seed : int, default=0
        Of the draws.

    Returns
    -------
    practical : Practical
        The shares of draws ``p_left`` (`a` is lower), ``p_rope`` (the difference does not
        matter) and ``p_right`` (`b` is lower), which sum to one.

    Examples
    --------
    >>> from ordinality.experiments import bayesian_signed_rank
    >>> a = [0.10, 0.12, 0.11, 0.30, 0.20, 0.15]
    >>> b = [0.19, 0.21, 0.18, 0.31, 0.33, 0.24]
    >>> found = bayesian_signed_rank(a, b, rope=0.01)
    >>> bool(found.p_left > 0.95)
    True
    """
    if not rope >= 0 or draws < 1:
        raise ValueError(
            f"rope is {rope} and draws is {draws}; give a smallest difference that matters, "
            "0 or more, and at least one draw."
        )
    z = np.append(0.0, _paired(a, b))  # the first is the prior's pseudo-observation
    means = (z[:, None] + z) / 2
    regions = [means < -rope, np.abs(means) <= rope, means > rope]
    rng = np.random.default_rng(seed)
    strength = np.append(0.5, np.ones(z.size - 1))
    wins = np.zeros(3)
    for size in _batches(draws, 2**22 // z.size + 1):
        w = rng.dirichlet(strength, size)
        held = np.stack([np.sum((w @ region) * w, axis=1) for region in regions])
        # Two regions that hold exactly the same share the draw.
        best = held == held.max(axis=0)
        wins += np.sum(best / best.sum(axis=0), axis=1)
    return Practical(*(float(p) for p in wins / draws))


def _batches(total: int, size: int) -> list[int]:
    """Parts of at most `size` that sum to `total`, so that the draws fit in memory."""
    return [min(size, total - start) for start in range(0, total, size)]


# ------------------------------------------------------------------------------ several methods


def friedman(scores: ArrayLike) -> Friedman:
    """Friedman's test over blocks, with Iman and Davenport's F.

    chi² = 12n/(k(k+1)) (Σ R² - k(k+1)²/4) and F = (n-1) chi² / (n(k-1) - chi²), as Demšar
    (2006, section 3.2.2) and with him the ordinal papers have it: not corrected for ties, so
    that with many of them it is cautious.

    Parameters
    ----------
    scores : array-like of shape (n, k)
        A row for each block, a column for each method; lower is better.

    Returns
    -------
    found : Friedman
        The ``mean_ranks`` of the methods, ``chi_square``, the ``statistic`` F and its
        ``p_value``.

    Examples
    --------
    >>> from ordinality.experiments import friedman
    >>> found = friedman([[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.2, 0.1, 0.3], [0.1, 0.2, 0.3]])
    >>> found.mean_ranks.tolist(), found.chi_square
    ([1.25, 2.0, 2.75], 4.5)
    """
    scores = _table(scores)
    n, k = scores.shape
    ranks = scipy.stats.rankdata(scores, axis=1).mean(axis=0)
    chi_square = 12 * n / (k * (k + 1)) * float(np.sum((ranks - (k + 1) / 2) ** 2))
    left = n * (k - 1) - chi_square
    # Every block has the same order: (k!)^n orders, k! such cases. Else `left` is least where
    # one block ties two neighbours, about 12 / k^2, and its terms are rounded by eps n k.
    if left <= 1e-12 * n * k:
        return Friedman(ranks, chi_square, np.inf, float(factorial(k)) ** (1 - n))
    statistic = (n - 1) * chi_square / left
    p = scipy.stats.f.sf(statistic, k - 1, (k - 1) * (n - 1)) if n > 1 else 1.0
    return Friedman(ranks, chi_square, statistic, float(p))


def nemenyi_critical_difference(k: int, n: int, alpha: float = 0.05) -> float:
    """Difference of mean ranks above which two of `k` methods differ over `n` blocks.

    From the studentised range with infinitely many degrees of freedom, divided by √2, times
    √(k(k+1)/6n). `CriticalDifferenceDisplay` draws it.

    Parameters
    ----------
    k : int
        Number of methods.
    n : int
        Number of blocks.
    alpha : float, default=0.05
        Level of the test.

    Returns
    -------
    difference : float
        Critical difference of mean ranks.

    Examples
    --------
    >>> from ordinality.experiments import nemenyi_critical_difference
    >>> round(nemenyi_critical_difference(k=4, n=14, alpha=0.10), 2)  # Demšar (2006): 1.12
    1.12
    """
    if k < 2 or n < 1 or not 0 < alpha < 1:
        raise ValueError(
            f"k is {k}, n is {n} and alpha is {alpha}; give at least two methods, at least "
            "one block and a level between 0 and 1."
        )
    q = scipy.stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))


def holm(p_values: ArrayLike) -> Floats:
    """Correct p-values for their number, step down; compare each with the level as it is.

    Parameters
    ----------
    p_values : array-like of shape (m,)
        Of m tests.

    Returns
    -------
    corrected : ndarray of shape (m,)
        In the same order.

    Examples
    --------
    >>> from ordinality.experiments import holm
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"p_values must be a list of numbers from 0 to 1; found {p_values!r}.")
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


# ------------------------------------------------------------------------------ in words


def verdict(
    scores: ArrayLike,
    names: list[str],
    *,
    measure: str = "error",
    blocks: str = "blocks",
    test_fraction: float | None = None,
    alpha: float = 0.05,
) -> str:
    """State in words what the scores show.

    The method of lowest mean is set against each of the others: by `corrected_t` when
    `test_fraction` says that the blocks are folds of one table, else by `signed_rank`; with
    more than two methods the p-values are those of `holm`, and over independent blocks
    `friedman` goes before.

    Parameters
    ----------
    scores : array-like of shape (n, k)
        A row for each block, a column for each method; lower is better.
    names : list of str
        Of the methods.
    measure : str, default="error"
        What the scores are called.
    blocks : str, default="blocks"
        What the rows are called.
    test_fraction : float, default=None
        Share of the rows that each fold tests; None if the blocks are independent.
    alpha : float, default=0.05
        Level of the tests.

    Returns
    -------
    verdict : str
        A few sentences.

    Examples
    --------
    >>> from ordinality.experiments import verdict
    >>> scores = [[0.30, 0.33], [0.31, 0.36], [0.28, 0.30], [0.33, 0.37], [0.29, 0.33]]
    >>> print(verdict(scores, ["gp", "svm"], blocks="folds", test_fraction=0.2))
    gp has the lower error in all 5 folds. Its mean is 0.302 against 0.338 of svm, lower by
    0.036 (95 % interval 0.0148 to 0.0572, corrected for shared training rows); the difference
    is significant (p = 0.0093).
    """
    table = _table(scores)
    if len(names) != table.shape[1]:
        raise ValueError(
            f"there are {len(names)} names for {table.shape[1]} columns of scores; give one "
            "name for each method."
        )
    best = int(np.argmin(table.mean(axis=0)))
    others = [j for j in range(table.shape[1]) if j != best]
    tests = [_against(table[:, best], table[:, j], test_fraction) for j in others]
    p_values = holm([test.p_value for test in tests])
    pairs = [
        _Pair(names[best], names[j], table[:, best], table[:, j], test, float(p))
        for j, test, p in zip(others, tests, p_values, strict=True)
    ]
    if len(pairs) == 1:
        return _of_two(pairs[0], measure, blocks, alpha, shared=bool(test_fraction))
    over = None if test_fraction is not None else friedman(table)
    return _of_several(pairs, over, measure, blocks, alpha)


def _against(best: Floats, other: Floats, test_fraction: float | None) -> Interval:
    """Interval of the difference, with the p-value that suits the blocks."""
    interval = corrected_t(best - other, test_fraction or 0.0)
    if test_fraction is None:
        return interval._replace(p_value=signed_rank(best, other).p_value)
    return interval


@dataclass(frozen=True, eq=False)
class _Pair:
    """The method of lower mean against another, on the same blocks."""

    better: str
    worse: str
    ours: Floats  # (n,) scores of the better
    theirs: Floats  # (n,)
    test: Interval  # of ours - theirs
    p_value: float  # corrected for the number of pairs

    @property
    def gain(self) -> float:
        return float(self.theirs.mean() - self.ours.mean())


def _of_two(pair: _Pair, measure: str, blocks: str, alpha: float, *, shared: bool) -> str:
    """Which is lower how often, by how much, and whether chance would explain it."""
    if np.all(pair.ours == pair.theirs):
        return f"{pair.better} and {pair.worse} have the same {measure} in every one of " + (
            f"{pair.ours.size} {blocks}."
        )
    correction = ", corrected for shared training rows" if shared else ""
    low, high = -pair.test.high, -pair.test.low
    spread = f" (95 % interval {low:.3g} to {high:.3g}{correction})" if np.isfinite(low) else ""
    sure = "is significant" if pair.p_value < alpha else "may be chance"
    chance = f"the difference {sure} ({_p_in_words(pair.p_value)})"
    if pair.ours.mean() == pair.theirs.mean():
        return f"{_wins(pair, measure, blocks)} The means are equal{spread}; {chance}."
    return (
        f"{_wins(pair, measure, blocks)} Its mean is {pair.ours.mean():.3g} against "
        f"{pair.theirs.mean():.3g} of {pair.worse}, lower by {pair.gain:.3g}{spread}; {chance}."
    )


def _of_several(
    pairs: Sequence[_Pair], over: Friedman | None, measure: str, blocks: str, alpha: float
) -> str:
    """The best of several, which of the others it beats, and which it may not."""
    best, n = pairs[0].better, pairs[0].ours.size
    words = [
        f"Of {len(pairs) + 1} methods {best} has the lowest mean {measure}, "
        f"{pairs[0].ours.mean():.3g} over {n} {blocks}."
    ]
    if over is not None:
        differ = "differ" if over.p_value < alpha else "may all be alike"
        words.append(
            f"By their ranks the methods {differ} (Friedman, F = {over.statistic:.3g}, "
            f"{_p_in_words(over.p_value)})."
        )
    for beaten, start in ((True, "It is better than"), (False, "It cannot be told apart from")):
        some = [
            f"{pair.worse} (by {pair.gain:.3g}, {_p_in_words(pair.p_value)})"
            for pair in pairs
            if (pair.p_value < alpha) is beaten
        ]
        if some:
            words.append(f"{start} {listed(some)}.")
    words.append("(p-values corrected for their number by Holm's method.)")
    return " ".join(words)


def listed(words: Sequence[str]) -> str:
    """Words in a row, with commas and a last "and"."""
    *others, end = words
    return f"{', '.join(others)} and {end}" if others else end


def _p_in_words(p: float) -> str:
    """A p-value to two digits; below 0.0001 the digits depend on the tails of the models."""
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"


def _wins(pair: _Pair, measure: str, blocks: str) -> str:
    n, equal = pair.ours.size, int(np.sum(pair.ours == pair.theirs))
    wins = int(np.sum(pair.ours < pair.theirs))
    if n == 1:
        return f"{pair.better} has the lower {measure}, on a single one of the {blocks}."
    if wins == n:
        return f"{pair.better} has the lower {measure} in all {n} {blocks}."
    ties = f" ({equal} equal)" if equal else ""
    return f"{pair.better} has the lower {measure} in {wins} of {n} {blocks}{ties}."


# ------------------------------------------------------------------------------ checks


def _sample(values: ArrayLike, name: str) -> Floats:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size == 0 or not np.all(np.isfinite(sample)):
        raise ValueError(
            f"{name} has shape {sample.shape} and {np.sum(~np.isfinite(sample))} values that "
            "are not numbers; give one finite score for each block."
        )
    return sample


def _paired(a: ArrayLike, b: ArrayLike) -> Floats:
    a, b = _sample(a, "a"), _sample(b, "b")
    if a.size != b.size:
        raise ValueError(
            f"a has {a.size} scores and b has {b.size}; score both on the same blocks."
        )
    return a - b


def _table(scores: ArrayLike) -> Floats:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(
            f"scores has shape {table.shape}; give a row for each block and a column for each "
            "of at least two methods."
        )
    if not np.all(np.isfinite(table)):
        raise ValueError(
            f"scores has {np.sum(~np.isfinite(table))} values that are not finite numbers; "
            "leave out the blocks on which a method failed."
        )
    return table
