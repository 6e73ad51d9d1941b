"""Comparisons made from what is known of the items: metric targets, labels, utilities.

Chu & Ghahramani (2005, ICML) turn metric targets into preferences (table 1) and levels of
relevance into preferences (figure 2); the larger is preferred, and equal ones are not compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["PairSplit", "label_pairs", "utility_pairs"]

Pairs = NDArray[np.int64]


class PairSplit(NamedTuple):
    """Pairs of items to learn from and to test on, (m, 2), the preferred one first.

    Examples
    --------
    >>> utility_pairs([0.0, 1.0, 2.0], 2, 1).train.shape
    (2, 2)
    """

    train: Pairs
    test: Pairs


def utility_pairs(
    utility: ArrayLike, n_train: int, n_test: int, *, noise: float = 0.0, seed: ArrayLike = 0
) -> PairSplit:
    """Pairs drawn at random, the one of larger utility preferred.

    No pair is trained on twice, and none is tested that was trained on; a test pair may come
    again, since of few items there are few pairs (74 pyrimidines have 2701, and the paper
    tests 20 000).

    Parameters
    ----------
    utility : array-like of shape (n,)
        Metric targets, for table 1 of the paper.
    n_train, n_test : int
        How many pairs.
    noise : float, default=0.0
        Standard deviation of normal noise on each of the two utilities of a pair; with noise,
        equal utilities are compared too.
    seed : int or sequence of int

    Returns
    -------
    PairSplit

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
    rng = np.random.default_rng(seed)  # type: ignore[arg-type]
    n = len(u)
    train, test = np.empty((0, 2), np.int64), np.empty((0, 2), np.int64)
    while len(train) < n_train or len(test) < n_test:
        pairs = rng.integers(n, size=(4 * (n_train + n_test) + 64, 2))
        seen = u[pairs] + noise * rng.standard_normal(pairs.shape)
        pairs = np.where(seen[:, :1] >= seen[:, 1:], pairs, pairs[:, ::-1])
        pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (seen[:, 0] != seen[:, 1])]
        fresh = pairs[~np.isin(_numbers(pairs, n), _numbers(train, n))]
        _, first = np.unique(_numbers(fresh, n), return_index=True)
        new = fresh[np.sort(first)][: n_train - len(train)]
        train = np.concatenate([train, new])
        if len(train) == n_train:
            rest = fresh[~np.isin(_numbers(fresh, n), _numbers(train, n))]
            test = np.concatenate([test, rest])[:n_test]
    return PairSplit(train, test)


def _check(u: NDArray[np.float64], n_train: int, n_test: int, noise: float) -> None:
    if u.ndim != 1 or not np.all(np.isfinite(u)):
        raise ValueError(f"utility has shape {u.shape}; pass one finite number for each item.")
    n, sizes = len(u), np.unique(u, return_counts=True)[1]
    possible = n * (n - 1) // 2 - (0 if noise else int(np.sum(sizes * (sizes - 1) // 2)))
    if n_train + (n_test > 0) > possible:
        raise ValueError(
            f"{n_train} pairs to learn from and {n_test} to test on are wanted, but only "
            f"{possible} pairs of these {n} items differ; ask for fewer."
        )


def _numbers(pairs: Pairs, n: int) -> Pairs:
    """A number for each pair, the same whichever comes first."""
    return pairs.min(axis=1) * n + pairs.max(axis=1)


def label_pairs(y: ArrayLike, groups: ArrayLike | None = None) -> Pairs:
    """All pairs of rows with different labels, the larger label first.

    Parameters
    ----------
    y : array-like of shape (n,)
    groups : array-like of shape (n,), optional
        Only rows of the same group are compared, such as answers to one query.

    Returns
    -------
    ndarray of shape (m, 2)

    Examples
    --------
    >>> label_pairs([1, 3, 3]).tolist()
    [[1, 0], [2, 0]]
    """
    labels = np.asarray(y)
    same = np.ones(1) if groups is None else np.asarray(groups)
    better = labels[:, None] > labels[None, :]
    if groups is not None:
        better &= same[:, None] == same[None, :]
    return np.argwhere(better)
