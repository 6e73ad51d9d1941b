"""The problems that the papers posed: a set and the number of a partition to arrays.

Partitions that were published are those of the data folder. Where they were not, ours are
drawn with the paper's numbers of rows, from a seed that is the partition's number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinality.datasets import (
    Split,
    bands_2d,
    five_levels_1d,
    label_pairs,
    load,
    partitions,
    standardised,
    three_ranks_2d,
    utility_pairs,
)
from ordinality.datasets import equal_frequency as cut
from ordinality.datasets import expected_utilities as utilities

__all__ = [
    "LARGE",
    "Pairs",
    "bands",
    "documents",
    "equal_frequency",
    "equal_length",
    "expected_utilities",
    "five_levels",
    "items",
    "labelled",
    "ten_levels",
    "three_ranks",
]

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# Training rows of Lin & Li's large sets, whose partitions were not published.
LARGE = {"bank32nh": 3000, "cpu_act": 4000, "california_housing": 5000, "house_16h": 6000}
N_PAIRS = {
    "pyrimidines": 100,
    "triazines": 300,
    "machine_cpu": 500,
    "boston_housing": 700,
    "abalone": 1000,
}
N_TEST_PAIRS = 20_000
NOISE = {"lower noise": 0.2, "higher noise": 0.8}


class Pairs(NamedTuple):
    """Items and comparisons of them, the preferred one first."""

    X: Floats
    train: Numbers  # (m, 2) rows of X
    test: Numbers


# ------------------------------------------------------------------------------ ordered labels


def equal_length(name: str, partition: int) -> Split:
    """Chu's partitions of a set such as ``"diabetes_5"``: five bins of equal length."""
    stem, _, bins = name.rpartition("_")
    return partitions(stem, "chu", bins=int(bins))[partition - 1]


def equal_frequency(name: str, partition: int) -> Split:
    """Ten levels of equal frequency, few training rows (GPOR, table 4)."""
    return partitions(name, "equal-frequency", bins=10)[partition - 1]


def ten_levels(name: str, partition: int) -> Split:
    """Ten levels of equal frequency, standardised on the training rows (ORBoost)."""
    if name in LARGE:
        metric = load(f"regression/{name}")
        y = cut(metric.y, 10)
        order = np.random.default_rng([2006, partition]).permutation(len(y))
        train = np.isin(np.arange(len(y)), order[: LARGE[name]])
        split = Split(metric.X[train], y[train], metric.X[~train], y[~train])
    else:
        split = equal_frequency(name, partition)
    split = standardised(split)
    return split._replace(y=split.y - 1, y_test=split.y_test - 1)


# ------------------------------------------------------------------------------ comparisons


def items(name: str, partition: int) -> Pairs:
    """Comparisons of the rows of a metric set: the larger target is preferred.

    As many training pairs as the paper had, and 20,000 test pairs from among all: two of the
    sets have fewer, so that pairs must have been drawn more than once.
    """
    metric = load(f"regression/{name}")
    drawn = utility_pairs(metric.y, N_PAIRS[name], N_TEST_PAIRS, disjoint=False, seed=partition)
    return Pairs(metric.X, *drawn)


def documents(name: str, partition: int) -> Pairs:
    """Documents of one OHSUMED query, compared where their relevance differs.

    `name` is the number of training pairs; all other pairs are tested. The features are those
    of LETOR, since the words of the documents are not in the data folder.
    """
    X, relevance = _query(3)
    pairs = np.random.default_rng([partition]).permutation(label_pairs(relevance))
    m = int(name)
    return Pairs(X, pairs[:m], pairs[m:])


@lru_cache
def _query(number: int) -> tuple[Floats, Numbers]:
    letor = load("research_only/ohsumed_letor3")
    rows = letor.aside["query"].astype(int) == number
    # Documents as unit vectors, as the paper's were.
    X = letor.X[rows]
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1.0), letor.y[rows]


# ------------------------------------------------------------------------------ labels


def labelled(name: str, partition: int) -> Split:
    """300 training and 500 test rows of a set of unordered classes, drawn by seed.

    Inputs lie between -1 and 1 over the whole set.
    """
    from sklearn.preprocessing import minmax_scale

    whole = load(f"multiclass/{name}")
    X, y = minmax_scale(whole.X, (-1, 1)), whole.y
    order = np.random.default_rng([2004, partition]).permutation(len(y))
    train, test = order[:300], order[300:800]
    return Split(X[train], y[train], X[test], y[test])


def expected_utilities(name: str, partition: int) -> Split:
    """Actions ranked by expected utility; `name` is the number of actions.

    50 rows to learn from, as in the paper, and 1000 to test.
    """
    return utilities(int(name), seed=[partition, int(name)])


# ------------------------------------------------------------------------------ made-up data


def three_ranks(name: str, partition: int) -> Split:
    """Three ranks in the plane, with lower or higher noise."""
    return three_ranks_2d(noise=NOISE[name], seed=partition)


def five_levels(name: str, partition: int) -> Split:
    """Five levels on a line."""
    return five_levels_1d(seed=partition)


def bands(name: str, partition: int) -> Split:
    """Five bands in the plane; ranks begin with 0."""
    split = bands_2d(seed=partition)
    return split._replace(y=split.y - 1, y_test=split.y_test - 1)
