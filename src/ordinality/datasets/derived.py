"""Problems derived from other data: levels and comparisons from targets, inputs from ratings.

*Levels.* The usual sets of ordinal regression are metric ones whose target was cut: Chu &
Ghahramani (2005) into bins of equal length (tables 2 and 3) and of equal frequency (table 4),
Lin & Li (2006) into bins of equal frequency. The rules here reproduce every published label of
the twelve sets of equal frequency, and of the nine sets of equal length with what Chu changed
by hand, which `chu_labels` knows.

*Comparisons.* Chu & Ghahramani (2005, ICML) turn metric targets into preferences (table 1) and
levels of relevance into preferences (figure 2); the larger is preferred, and equal ones are not
compared.

*Ratings.* Chu & Ghahramani (2005), section 6.3, predict the stars one user gives to films from
the stars that 1500 others gave to them. `collaborative_filtering` is that problem: the sample
of EachMovie in the data folder holds their user, 52647, with the 449 films and the counts of
stars that the paper prints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .loading import Dataset

__all__ = [
    "PairSplit",
    "chu_labels",
    "collaborative_filtering",
    "equal_frequency",
    "equal_length",
    "label_pairs",
    "rating_matrix",
    "utility_pairs",
]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Numbers = NDArray[np.int64]
Pairs = NDArray[np.int64]

SPARE = 50  # pairs drawn beyond those to learn from, since some may be drawn twice


# ---------------------------------------------------------------- levels of a metric target


def equal_length(
    target: ArrayLike, bins: int, *, low: float | None = None, high: float | None = None
) -> Labels:
    """Levels 1..bins by intervals of equal length, closed on the right.

    Parameters
    ----------
    target : array-like of shape (n,)
        Metric values.
    bins : int
        Number of levels; one may come out empty.
    low, high : float, optional
        Where the first interval begins and the last one ends; values outside fall into these.
        By default the extremes of `target`.

    Returns
    -------
    ndarray of int, shape (n,)
        The level of each value.

    Examples
    --------
    >>> equal_length([0.0, 2.0, 2.1, 9.0, 10.0], 5).tolist()
    [1, 1, 2, 5, 5]
    """
    values = _checked_target(target, bins)
    start = values.min() if low is None else low
    stop = values.max() if high is None else high
    edges = start + (stop - start) * np.arange(1, bins) / bins
    # An edge such as 3 + 3.6 / 5 may round to just below a value that equals it on paper. The
    # roundings of four operations, of the ends and of the value are below 5 eps together.
    slack = 8 * np.finfo(float).eps * max(abs(start), abs(stop))
    return np.searchsorted(edges + slack, values, side="left") + 1


def equal_frequency(target: ArrayLike, bins: int) -> Labels:
    """Levels 1..bins by shares of equal size; equal values may fall into two levels.

    The rows are sorted by their target, equal ones in their order, and cut into `bins` runs;
    if their number is not a multiple of `bins`, the first runs are longer by one.

    Parameters
    ----------
    target : array-like of shape (n,)
        Metric values.
    bins : int
        Number of levels, at most n.

    Returns
    -------
    ndarray of int, shape (n,)
        The level of each value.

    Examples
    --------
    >>> equal_frequency([5.0, 1.0, 1.0, 1.0, 7.0], 3).tolist()
    [2, 1, 1, 2, 3]
    """
    values = _checked_target(target, bins)
    if bins > len(values):
        raise ValueError(
            f"bins={bins} is more than the {len(values)} values of target; ask for fewer."
        )
    short, longer = divmod(len(values), bins)
    sizes = short + (np.arange(bins) < longer)
    labels = np.empty(len(values), dtype=np.int64)
    labels[np.argsort(values, kind="stable")] = np.repeat(np.arange(1, bins + 1), sizes)
    return labels


def chu_labels(name: str, target: ArrayLike, bins: int) -> Labels:
    """Labels of Chu's nine sets from their metric targets, with what he changed by hand.

    Equal lengths, except: of the machine CPU set the nine largest performances are reduced;
    of the pyrimidines the outlying activity 0.1 is ignored and the first bin begins at
    0.451 (5 bins) or 0.44 (10 bins). In the published diabetes set of ten bins six further
    labels were moved so that every level has two rows; those are not moved here.

    Parameters
    ----------
    name : str
        Name of a set in the folder ``regression``, such as ``"machine_cpu"``.
    target : array-like of shape (n,)
        Metric targets of that set.
    bins : int
        Number of levels.

    Returns
    -------
    ndarray of int, shape (n,)
        The level of each value.

    Examples
    --------
    >>> chu_labels("machine_cpu", [6, 100, 465, 1150], 5).tolist()
    [1, 1, 5, 5]
    >>> equal_length([6, 100, 465, 1150], 5).tolist()
    [1, 1, 3, 5]
    """
    values = np.asarray(target, dtype=np.float64)
    if name == "machine_cpu":
        reduced = {636: 500, 915: 500, 1144: 500, 1150: 500, 510: 460, 489: 439, 465: 425}
        return equal_length([reduced.get(value, value) for value in values.tolist()], bins)
    if name == "pyrimidines" and bins in (5, 10):
        return equal_length(values, bins, low={5: 0.451, 10: 0.44}[bins])
    return equal_length(values, bins)


def _checked_target(target: Any, bins: int) -> Floats:
    values = np.asarray(target, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.all(np.isfinite(values)):
        raise ValueError(
            f"target has shape {values.shape} with {np.sum(~np.isfinite(values))} values that "
            "are not finite; pass one number for each row."
        )
    if bins != int(bins) or bins < 2:
        raise ValueError(f"bins={bins!r} must be a whole number, 2 or more.")
    return values


# ---------------------------------------------------------------- comparisons


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
    _check_utility(u, n_train, n_test, noise)
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


def _check_utility(u: NDArray[np.float64], n_train: int, n_test: int, noise: float) -> None:
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


# ---------------------------------------------------------------- ratings


def rating_matrix(ratings: Dataset) -> tuple[Floats, Numbers, Numbers]:
    """Ratings as a matrix of items by users, NaN where there is none.

    Parameters
    ----------
    ratings : Dataset
        A set of kind ``"ratings"``: user ``X[:, 0]`` gave item ``X[:, 1]`` the label ``y``.

    Returns
    -------
    matrix : ndarray of shape (n_items, n_users)
        The labels.
    items, users : ndarray of int
        Numbers of the items and users of its rows and columns, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> given = np.array([[7.0, 1.0], [7.0, 2.0], [9.0, 2.0]])
    >>> stars = Dataset("stars", "ratings", given, np.array([5, 3, 4]), ("user", "item"))
    >>> rating_matrix(stars)[0]
    array([[ 5., nan],
           [ 3.,  4.]])
    """
    if ratings.kind != "ratings":
        raise ValueError(
            f"{ratings.name!r} holds {ratings.kind}; pass ratings, such as "
            "load('movielens_100k_ratings')."
        )
    users, column = np.unique(ratings.X[:, 0].astype(np.int64), return_inverse=True)
    items, row = np.unique(ratings.X[:, 1].astype(np.int64), return_inverse=True)
    matrix = np.full((len(items), len(users)), np.nan)
    matrix[row, column] = ratings.y
    return matrix, items, users


def collaborative_filtering(
    ratings: Dataset, user: int | None = None, *, n_users: int = 1500
) -> Dataset:
    """One user's ratings as the target, those of the most active others as inputs.

    Parameters
    ----------
    ratings : Dataset
        A set of kind ``"ratings"``.
    user : int, optional
        Whose ratings are to be predicted; by default the user whose number of ratings is
        nearest to 449. The paper's user had 449, and is the default of
        ``load("eachmovie_sample_ratings")``.
    n_users : int, default=1500
        Number of inputs: the others with the most ratings of the user's items, all others if
        there are fewer. Among equals, those with smaller numbers are taken.

    Returns
    -------
    Dataset
        Rows are the items that `user` rated; ``X`` has a column for each of the others, NaN
        where they gave no rating; ``aside["item"]`` has the numbers of the items.

    Examples
    --------
    >>> import numpy as np
    >>> given = np.array([[7.0, 1.0], [7.0, 2.0], [9.0, 2.0], [8.0, 3.0], [9.0, 1.0]])
    >>> stars = Dataset("stars", "ratings", given, np.array([5, 3, 4, 1, 2]), ("user", "item"))
    >>> problem = collaborative_filtering(stars, user=7, n_users=1)
    >>> problem.feature_names, problem.X.tolist(), problem.y.tolist()
    (('user 9',), [[2.0], [4.0]], [5, 3])
    """
    matrix, items, users = rating_matrix(ratings)
    given = ~np.isnan(matrix)
    if user is None:
        at = int(np.argmin(np.abs(given.sum(axis=0) - 449)))
    elif user in users:
        at = int(np.searchsorted(users, user))
    else:
        raise ValueError(f"user={user!r} rated nothing in {ratings.name!r}; choose another.")
    rows = np.flatnonzero(given[:, at])
    shared = given[rows].sum(axis=0)
    shared[at] = -1
    others: Any = np.sort(np.argsort(-shared, kind="stable")[: min(n_users, len(users) - 1)])
    return replace(
        ratings,
        name=f"{ratings.name}, user {users[at]}",
        kind="ordinal",
        X=matrix[np.ix_(rows, others)],
        y=matrix[rows, at].astype(np.int64),
        feature_names=tuple(f"user {number}" for number in users[others].tolist()),
        aside={"item": items[rows]},
    )
