"""Collaborative filtering: matrices of ratings, and one user's ratings as the target.

Chu & Ghahramani (2005), section 6.3, predict the stars one user gives to films from the stars
that 1500 others gave to them. `collaborative_filtering` is that problem: the sample of
EachMovie in the data folder holds their user, 52647, with the 449 films and the counts of stars
that the paper prints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .loading import Dataset

__all__ = ["collaborative_filtering", "rating_matrix"]

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


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
