"""Training and test rows: partitions as published, and fresh ones by seed.

Published partitions come with their labels: Chu's twenty of nine sets in bins of equal length,
twenty of twelve sets in bins of equal frequency, and the thirty of the ORCA review. Fresh ones
are drawn from the raw stream of PCG64, which NumPy keeps the same for all versions and
machines; what its `Generator` makes of the stream may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from .folder import find, read
from .inventory import INVENTORY
from .loading import load

__all__ = [
    "KINDS",
    "Partitions",
    "RowSplit",
    "Split",
    "fresh_partitions",
    "partitions",
    "standardised",
]

Array = NDArray[Any]
Floats = NDArray[np.float64]

# Kind of partitions -> folder, number of partitions.
KINDS = {
    "chu": ("chu_partitions", 20),
    "equal-frequency": ("equal_frequency_partitions", 20),
    "orca": ("orca_partitions", 30),
}


class Split(NamedTuple):
    """Rows to learn from and rows to be tested on.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Inputs to learn from.
    y : ndarray of shape (n,)
        Their labels 1..K; of rankings, the ranks of shape (n, L).
    X_test : ndarray of shape (m, d)
        Inputs to be tested on.
    y_test : ndarray of shape (m,)
        Their labels.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, X_test, y_test = Split(np.zeros((3, 2)), np.ones(3), np.ones((1, 2)), np.ones(1))
    >>> X.shape, X_test.shape
    ((3, 2), (1, 2))
    """

    X: Floats
    y: Array
    X_test: Floats
    y_test: Array


class RowSplit(NamedTuple):
    """Numbers of the rows to learn from and of those to be tested on.

    Parameters
    ----------
    train : ndarray of int, shape (n,)
        Rows to learn from.
    test : ndarray of int, shape (m,)
        Rows to be tested on.

    Examples
    --------
    >>> import numpy as np
    >>> rows = RowSplit(np.array([2, 0]), np.array([1]))
    >>> rows.of(np.array([[5.0], [6.0], [7.0]]), np.array([1, 2, 3])).y.tolist()
    [3, 1]
    """

    train: NDArray[np.int64]
    test: NDArray[np.int64]

    def of(self, X: Array, y: Array) -> Split:
        """The rows of `X` and `y` that have these numbers.

        Parameters
        ----------
        X : ndarray of shape (N, d)
            Inputs of all rows.
        y : ndarray of shape (N,)
            Labels of all rows.

        Returns
        -------
        Split
            The rows themselves.
        """
        return Split(X[self.train], y[self.train], X[self.test], y[self.test])


class Partitions(Sequence[Split]):
    """Published partitions of one set, number 1 at index 0, each read when it is asked for.

    Parameters
    ----------
    name, kind : str
        As for `partitions`.
    bins : int, optional
        As for `partitions`.

    Examples
    --------
    >>> len(Partitions("era", "orca"))
    30
    """

    def __init__(self, name: str, kind: str, bins: int | None = None) -> None:
        self.name, self.kind, self.bins = name, kind, bins
        folder, self._count = KINDS[kind]
        stem = f"{name}_{bins}" if kind == "chu" else name
        entries = tuple(entry for entry in INVENTORY if entry.folder == folder)
        self._entry = find(stem, among=entries)

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        bins = f", {self.bins} bins" if self.bins else ""
        return f"Partitions({self.name!r}, {self.kind}{bins}: {self._count})"

    @overload
    def __getitem__(self, at: int) -> Split: ...
    @overload
    def __getitem__(self, at: slice) -> list[Split]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        number = range(1, self._count + 1)[at]
        return self._masked(number) if self.kind == "equal-frequency" else self._listed(number)

    def _listed(self, number: int) -> Split:
        """A partition of a file that repeats the rows for each, with their roles."""
        columns = read(self._entry)
        inputs = [columns[n] for n in columns if n not in ("partition", "role", "target")]
        of_number = np.flatnonzero(columns["partition"] == number)
        train = columns["role"][of_number] == "train"
        parts: list[Array] = []
        for rows in (of_number[train], of_number[~train]):
            X = np.column_stack([column[rows] for column in inputs])
            parts += [X, columns["target"][rows].astype(np.int64)]
        return Split(*parts)

    def _masked(self, number: int) -> Split:
        """A partition of a file that has a mask over the rows of the metric set for each."""
        columns = read(self._entry)
        train = columns[f"train{self.bins}_{number:02d}"] == 1
        y = columns[f"label_{self.bins}"].astype(np.int64)
        X = load(f"regression/{self.name}").X
        return Split(X[train], y[train], X[~train], y[~train])


def partitions(name: str, kind: str, bins: int | None = None) -> Partitions:
    """Partitions as they were published.

    Parameters
    ----------
    name : str
        Name of the set, such as ``"abalone"``.
    kind : {"chu", "equal-frequency", "orca"}
        Chu's 20 of nine sets cut into `bins` of equal length; 20 of twelve sets cut into
        `bins` of equal frequency; the ORCA review's 30 of thirteen ordinal sets.
    bins : {5, 10}, optional
        Number of bins, for the first two kinds.

    Returns
    -------
    Partitions
        A sequence of `Split` in original units; abalone's sex is three indicators. Use
        `standardised` for methods that do not scale their inputs.

    Examples
    --------
    >>> from ordinality.datasets import partitions
    >>> twenty = partitions("diabetes", "chu", bins=5)
    >>> twenty
    Partitions('diabetes', chu, 5 bins: 20)
    >>> for X, y, X_test, y_test in twenty[:1]:  # doctest: +SKIP
    ...     print(X.shape, X_test.shape)
    (30, 2) (13, 2)
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not known; choose one of {list(KINDS)}.")
    if kind == "orca":
        if bins is not None:
            raise ValueError(f"bins={bins!r} has no meaning for ordinal sets; leave it out.")
    elif bins not in (5, 10):
        raise ValueError(f"bins={bins!r} was not published for {kind} partitions; say 5 or 10.")
    return Partitions(name, kind, bins)


def fresh_partitions(
    n: int, train_size: int, repeats: int, seed: int, *, test_size: int | None = None
) -> list[RowSplit]:
    """Random partitions, the same for a seed on every machine and under every NumPy.

    Partition k depends on `n`, `seed` and k alone: with more repeats the first ones stay the
    same, and a smaller training set is part of a larger one.

    Parameters
    ----------
    n : int
        Number of rows to divide.
    train_size : int
        Number of rows to learn from, below `n`.
    repeats : int
        Number of partitions.
    seed : int
        Seed of the draws, 0 or above.
    test_size : int, optional
        Number of rows to be tested on; by default all that are left.

    Returns
    -------
    list of RowSplit
        Row numbers in random order; ``rows.of(X, y)`` is the `Split`.

    Examples
    --------
    >>> first, second = fresh_partitions(6, 4, 2, seed=0)
    >>> first.train.tolist(), first.test.tolist()
    ([3, 2, 1, 0], [4, 5])
    """
    rest = n - train_size if test_size is None else test_size
    if not (train_size > 0 and rest > 0 and train_size + rest <= n):
        raise ValueError(
            f"{train_size} rows to learn from and {rest} to test on were asked for, of {n}; "
            "both must be above zero, and their sum at most the number of rows."
        )
    return [
        RowSplit(order[:train_size], order[train_size : train_size + rest])
        for order in _orders(n, repeats, seed)
    ]


def _orders(n: int, repeats: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Random orders of n rows: those that sort n random 64-bit numbers."""
    for number in range(repeats):
        bits = np.random.PCG64(np.random.SeedSequence([seed, number]))
        yield np.argsort(bits.random_raw(n), kind="stable")


def standardised(split: Split, *, by: str = "train", ddof: int = 0) -> Split:
    """Inputs shifted and scaled to mean zero and standard deviation one; constant ones zero.

    Parameters
    ----------
    split : Split
        Rows in any units.
    by : {"train", "all"}, default="train"
        Rows that the mean and deviation are taken from: the training rows, which is what a
        method may know; or all rows, as Chu & Ghahramani (2005) state for table 4 and as the
        ORCA review did.
    ddof : {0, 1}, default=0
        The deviation's divisor is ``n - ddof``; the ORCA review has 1.

    Returns
    -------
    Split
        The same rows and labels with scaled inputs.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0, 5.0], [3.0, 5.0], [4.0, 5.0]]), np.array([1, 2, 2])
    >>> standardised(Split(X[:2], y[:2], X[2:], y[2:])).X_test
    array([[2., 0.]])
    """
    if by not in ("train", "all"):
        raise ValueError(f"by={by!r} is not known; choose 'train' or 'all'.")
    known = split.X if by == "train" else np.concatenate([split.X, split.X_test])
    mean, spread = known.mean(axis=0), known.std(axis=0, ddof=ddof)
    constant = np.ptp(known, axis=0) == 0  # their deviation may round to above zero
    spread = np.where(constant, 1.0, spread)
    X, X_test = ((part - mean) / spread for part in (split.X, split.X_test))
    X[:, constant] = X_test[:, constant] = 0.0
    return Split(X, split.y, X_test, split.y_test)
