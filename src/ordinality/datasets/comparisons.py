"""Paired comparisons drawn from metric targets, labels or utilities of items.

Chu & Ghahramani (2005, ICML) turn metric targets into preferences (table 1) and levels of
relevance into preferences (figure 2); the larger is preferred, and equal ones are not compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PairSplit", "label_pairs", "utility_pairs"]

Pairs = NDArray[np.int64]

SPARE = 50  # pairs drawn beyond those to learn from, since some may be drawn twice


class PairSplit(NamedTuple):
    """Pairs of items to learn from and to test on, the preferred one first.

    Parameters
    ----------
    train : ndarray of int, shape (m, 2)
        Pairs to learn from.
    test : ndarray of int, shape (q, 2)
        Pairs to test on.

    Examples
    --------
    >>> utility_pairs([0.0, 1.0, 2.0], 2, 1).train.shape
    (2, 2)
    """

    train: Pairs
    test: Pairs


def utility_pairs(
    utility: ArrayLike,
    n_train: int,
    n_test: int,
    *,
    noise: float = 0.0,
    disjoint: bool = True,
    seed: ArrayLike = 0,
) -> PairSplit:
    """Pairs drawn at random, the one of larger utility preferred.

    Training pairs are all different. A test pair may be drawn again: few items make few pairs
    (74 pyrimidines have 2701, and the paper tests 20,000).

    Parameters
    ----------
    utility : array-like of shape (n,)
        Utility of each item, such as the metric targets of table 1 of the paper.
    n_train, n_test : int
        Number of pairs to learn from and to test on.
    noise : float, default=0.0
        Standard deviation of normal noise on each of the two utilities of a pair; with noise,
        equal utilities are compared too.
    disjoint : bool, default=True
        Whether training pairs are left out of the test pairs. False draws test pairs from
        among all, as the experiments on table 1 do.
    seed : int or sequence of int, default=0
        Seed of the draws.

    Returns
    -------
    PairSplit
        Pairs to learn from and to test on.

    Examples
    --------
    >>> import numpy as np
    >>> u = np.array([0.1, 0.9, 0.5, 0.5])
    >>> train, test = utility_pairs(u, 3, 10)
    >>> bool(np.all(u[train[:, 0]] > u[train[:, 1]]))
    True
    >>> {frozenset(p) for p in train.tolist()} & {frozenset(p) for p in test.tolist()}
    set()
    """
    u = np.asarray(utility, dtype=np.float64)
    _check(u, n_train, n_test, noise)
    rng, n = np.random.default_rng(seed), len(u)  # type: ignore[arg-type]
    train, test = np.empty((0, 2), np.int64), np.empty((0, 2), np.int64)
    while len(train) < n_train or len(test) < n_test:
        pairs = rng.integers(n, size=(4 * max(n_train, n_test), 2))
        seen = u[pairs]
        if noise:
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
            seen = u[pairs] + noise * rng.standard_normal(pairs.shape)
        pairs = pairs[seen[:, 0] > seen[:, 1]]
        if len(train) < n_train:
            drawn = np.concatenate([train, pairs[: n_train + SPARE]])
            pairs = pairs[n_train + SPARE :]
            _, first = np.unique(_numbers(drawn, n), return_index=True)
            train = rng.permutation(np.unique(drawn[first], axis=0))[:n_train]
        if len(train) == n_train:
            if disjoint:
                pairs = pairs[~np.isin(_numbers(pairs, n), _numbers(train, n))]
            test = np.concatenate([test, pairs])[:n_test]
    return PairSplit(train, test)


def _check(u: NDArray[np.float64], n_train: int, n_test: int, noise: float) -> None:
    if u.ndim != 1 or not np.all(np.isfinite(u)):
        raise ValueError(f"utility has shape {u.shape}; pass one finite number for each item.")
    n, sizes = len(u), np.unique(u, return_counts=True)[1]
    possible = n * (n - 1) // 2 - (0 if noise else int(np.sum(sizes * (sizes - 1) // 2)))
    if n_train + (n_test > 0) > possible:
        raise ValueError(
            f"n_train={n_train} and n_test={n_test}, but only {possible} pairs of these {n} "
            "items differ; ask for fewer pairs."
        )


def _numbers(pairs: Pairs, n: int) -> Pairs:
    """A number for each pair of n items, the same for both orders."""
    return pairs.min(axis=1) * n + pairs.max(axis=1)


def label_pairs(y: ArrayLike, groups: ArrayLike | None = None) -> Pairs:
    """All pairs of rows with different labels, the larger label first.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels, numbers whose order is that of the levels.
    groups : array-like of shape (n,), optional
        Only rows of the same group are compared, such as answers to one query.

    Returns
    -------
    ndarray of int, shape (m, 2)
        Row numbers of each pair.

    Examples
    --------
    >>> label_pairs([1, 3, 3]).tolist()
    [[1, 0], [2, 0]]
    """
    labels = np.asarray(y)
    better = labels[:, None] > labels[None, :]
    if groups is not None:
        same = np.asarray(groups)
        better &= same[:, None] == same[None, :]
    return np.argwhere(better)
