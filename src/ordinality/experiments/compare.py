"""Which of several methods is better, from the scores they got on the same blocks.

A *block* is whatever all methods were scored on: a data set, a partition, a fold. Scores are
errors: lower is better. Blocks that are independent (data sets, fresh samples) may be tested by
ranks: `rank_sum`, as the papers do, `signed_rank`, `friedman` with
`nemenyi_critical_difference` and `holm`, `bayesian_signed_rank`. Folds of one table share their
training rows, and a test that takes them for independent finds differences where there are
none; `corrected_t` widens the variance for it. `verdict` says the outcome in words.

Demšar (2006), JMLR 7; Nadeau & Bengio (2003), Machine Learning 52; Benavoli, Corani, Demšar &
Zaffalon (2017), JMLR 18.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Friedman",
    "Interval",
    "Outcome",
    "Paired",
    "Practical",
    "bayesian_signed_rank",
    "corrected_t",
    "friedman",
    "holm",
    "in_words",
    "listed",
    "nemenyi_critical_difference",
    "p_in_words",
    "rank_sum",
    "ranked_in_words",
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

    Returns
    -------
    Outcome
        Mann and Whitney's U of `a`: the pairs in which `a` is the higher.

    Examples
    --------
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

    Returns
    -------
    Outcome
        The smaller of the two rank sums.

    Examples
    --------
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
    """t-test of differences over folds, its variance corrected for shared training rows.

    The variance of the mean is s² (1/n + test/train) in place of s²/n (Nadeau & Bengio, 2003):
    however often the same table is split, it stays one table.

    Parameters
    ----------
    differences : (n,) array-like
        Score of one method minus that of the other, a fold each.
    test_fraction : float
        Share of the rows that each fold tests: 0.1 for ten folds. 0, the default, gives
        Student's test for independent blocks.
    confidence : float

    Examples
    --------
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
    4.2). The three shares of draws sum to one.

    Examples
    --------
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
    scores : (n, k) array-like
        A row for each block, a column for each method; lower is better.

    Examples
    --------
    >>> found = friedman([[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.2, 0.1, 0.3], [0.1, 0.2, 0.3]])
    >>> found.mean_ranks.tolist(), found.chi_square
    ([1.25, 2.0, 2.75], 4.5)
    """
    scores = _table(scores)
    n, k = scores.shape
    ranks = scipy.stats.rankdata(scores, axis=1).mean(axis=0)
    chi_square = 12 * n / (k * (k + 1)) * float(np.sum((ranks - (k + 1) / 2) ** 2))
    left = n * (k - 1) - chi_square
    if left <= 1e-12 * n * k:  # every block has the same order: (k!)^n orders, k! such cases
        return Friedman(ranks, chi_square, np.inf, float(factorial(k)) ** (1 - n))
    statistic = (n - 1) * chi_square / left
    p = scipy.stats.f.sf(statistic, k - 1, (k - 1) * (n - 1)) if n > 1 else 1.0
    return Friedman(ranks, chi_square, statistic, float(p))


def nemenyi_critical_difference(k: int, n: int, alpha: float = 0.05) -> float:
    """Difference of mean ranks above which two of `k` methods differ over `n` blocks.

    From the studentised range with infinitely many degrees of freedom, divided by √2, times
    √(k(k+1)/6n). `CriticalDifferenceDisplay` draws it.

    Examples
    --------
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
    """p-values corrected for their number, step down; compare each with the level as it is.

    Examples
    --------
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
    rope: float | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> str:
    """What the scores say, in words.

    The method of lowest mean is set against each of the others: by `corrected_t` when
    `test_fraction` says that the blocks are folds of one table, else by `signed_rank`; with
    more than two methods the p-values are those of `holm`, and over independent blocks
    `friedman` goes before.

    Parameters
    ----------
    scores : (n, k) array-like
        A row for each block, a column for each method; lower is better.
    names : list of str
        Of the methods.
    measure, blocks : str
        What the scores are and what the rows are, as they are to be called.
    test_fraction : float, optional
        Share of the rows that each fold tests.
    rope : float, optional
        Smallest difference that matters; asks for `bayesian_signed_rank` in addition.
    alpha : float
        Level of the tests.
    seed : int
        Of the draws behind the probabilities.

    Examples
    --------
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
        Paired(
            better=names[best], worse=names[j], ours=table[:, best], theirs=table[:, j],
            interval=(-interval.high, -interval.low), p_value=float(p),
            practical=None if rope is None
            else bayesian_signed_rank(table[:, best], table[:, j], rope, seed=seed),
        )
        for j, interval, p in zip(others, tests, p_values, strict=True)
    ]  # fmt: skip
    said: dict[str, Any] = {"measure": measure, "blocks": blocks, "alpha": alpha, "rope": rope}
    if len(pairs) == 1:
        return in_words(pairs[0], shared=bool(test_fraction), **said)
    over = None if test_fraction is not None else friedman(table)
    return ranked_in_words(pairs, over, **said)


def _against(best: Floats, other: Floats, test_fraction: float | None) -> Interval:
    """Interval of the difference, with the p-value that suits the blocks."""
    interval = corrected_t(best - other, test_fraction or 0.0)
    if test_fraction is None:
        return interval._replace(p_value=signed_rank(best, other).p_value)
    return interval


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


# ----------------------------------------------------------------
# A comparison of methods as sentences, for people who do not read test statistics.


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
