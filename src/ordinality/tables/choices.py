"""Paired comparisons from tables of choices and of rankings.

Choosing one of five alternatives compares it with each of the other four, and not those with
each other; ranking five items compares every two of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from .columns import Table, TableError, column, counted
from .encoding import feature_names, rows_for
from .task import features_of

__all__ = ["Comparisons", "choices_to_pairs", "compared", "rankings_to_pairs"]


class Comparisons(NamedTuple):
    """What `PreferenceGP` learns from: ``PreferenceGP(c.items).fit(c.pairs, c.answers)``.

    Parameters
    ----------
    items : ndarray of shape (n, d), or int
        Features of the items; their number if they have none.
    pairs : ndarray of int, shape (m, 2)
        Numbers of the two items of each comparison.
    answers : ndarray of int, shape (m,)
        +1, the first was preferred; 0, neither.
    names : tuple, length n
        Name of each item: its value in the column of items, the column of its ranks, or the
        number of the first row that has its features.
    features : tuple of str, length d
        Name of each column of ``items``.
    cases : ndarray of shape (m,)
        The case, or the row of ranks, that each comparison comes from: groups to split by, or
        the judges of `PreferenceGP.fit`.
    notes : tuple of str
        What was left out or encoded, as sentences.
    encoder : ColumnTransformer, optional
        Encoder of the columns as ``items``; None if there are no features.

    Examples
    --------
    >>> import polars
    >>> from ordinality.tables import rankings_to_pairs
    >>> rankings_to_pairs(polars.DataFrame({"tea": [1, 2], "milk": [2, 1]})).pairs
    array([[0, 1],
           [1, 0]])
    """

    items: Any
    pairs: np.ndarray
    answers: np.ndarray
    names: tuple[Any, ...]
    features: tuple[str, ...]
    cases: np.ndarray
    notes: tuple[str, ...]
    encoder: Any = None

    def encoded(self, table: Any) -> np.ndarray:
        """Features of further alternatives, encoded as in ``items``.

        For `PreferenceGP.predict_choice`, `utility` and the like. Values that were not seen
        before, such as another category, are reported in a warning.

        Parameters
        ----------
        table : DataFrame of pandas or polars, or Table
            Alternatives, with the columns that describe them; others are ignored.

        Returns
        -------
        X : ndarray of shape (q, d)
            A row for each alternative.

        Examples
        --------
        >>> import pandas
        >>> from ordinality.tables import choices_to_pairs
        >>> trips = pandas.DataFrame({
        ...     "case": [1, 1, 2, 2],
        ...     "by": ["bus", "car", "bus", "car"],
        ...     "fare": [2.0, 5.0, 3.0, 5.0],
        ...     "chosen": [0, 1, 1, 0],
        ... })
        >>> found = choices_to_pairs(trips)
        >>> found.encoded(pandas.DataFrame({"fare": [4.0], "by": ["car"]}))
        array([[4., 1.]])
        """
        if self.encoder is None:
            raise TableError("These items have no features; refer to them by their numbers.")
        frame, notes = rows_for(self.encoder, _table(table))
        if notes:
            warnings.warn(" ".join(notes), stacklevel=2)
        return np.asarray(self.encoder.transform(frame))


class _Alternatives(NamedTuple):
    """Rows of a table as items."""

    number: np.ndarray  # of the item in each row
    items: Any
    names: tuple[Any, ...]
    features: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    encoder: Any = None


def choices_to_pairs(
    table: Any,
    case: str = "case",
    chosen: str = "chosen",
    item: str | None = None,
    features: Sequence[str] | None = None,
) -> Comparisons:
    """Comparisons from a table with a row for each alternative of each choice.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or Table
        The alternatives.
    case : str, default="case"
        Column that says which rows were offered together.
    chosen : str, default="chosen"
        Column that is true, or 1, in the one row of each case that was chosen, else false or 0.
    item : str, optional
        Column that names the alternative, if it has the same features in every case. By
        default rows with equal features are one item.
    features : sequence of str, optional
        Columns that describe alternatives; by default all others. Text is one-hot encoded. An
        empty list means none, and needs ``item``.

    Returns
    -------
    Comparisons
        The chosen alternative of each case against every other of it.

    Raises
    ------
    TableError
        If a column does not exist, cells are missing, or a case has not exactly one choice.

    Examples
    --------
    >>> import pandas
    >>> from ordinality import PreferenceGP
    >>> from ordinality.tables import choices_to_pairs
    >>> trips = pandas.DataFrame({
    ...     "trip": [1, 1, 1, 2, 2],
    ...     "minutes": [20, 25, 40, 20, 30],
    ...     "fare": [3.0, 2.0, 0.0, 3.0, 1.0],
    ...     "chosen": [0, 1, 0, 0, 1],
    ... })
    >>> found = choices_to_pairs(trips, case="trip")
    >>> found.pairs
    array([[1, 0],
           [1, 2],
           [3, 0]])
    >>> PreferenceGP(found.items).fit(found.pairs).predict([[1, 0]])
    array([1])
    """
    table = _table(table, [case, chosen, *([] if item is None else [item]), *(features or ())])
    taken = _taken(table, chosen)
    group, labels = _groups(table, case)
    _one_choice_each(taken, group, labels, case, chosen)
    number, items, names, encoded, notes, encoder = _items(table, case, chosen, item, features)
    winner = np.empty(len(labels), dtype=np.intp)
    winner[group[taken]] = number[taken]
    others = np.flatnonzero(~taken)
    others = others[np.argsort(group[others], kind="stable")]
    pairs = np.column_stack([winner[group[others]], number[others]])
    equal = pairs[:, 0] == pairs[:, 1]
    if equal.any():
        count = counted(int(equal.sum()), "comparison")
        notes += (f"Left out {count} of a chosen alternative with an equal one.",)
    single = np.bincount(group) == 1
    if single.any():
        count = counted(int(single.sum()), "case")
        notes += (f"Learnt nothing from {count} with one alternative.",)
    pairs, cases = pairs[~equal], labels[group[others[~equal]]]
    _refuse_none(table, pairs, notes)
    answers = np.ones(len(pairs), int)
    return Comparisons(items, pairs, answers, names, encoded, cases, notes, encoder)


def rankings_to_pairs(
    table: Any,
    columns: Sequence[str] | None = None,
    *,
    best: str = "lowest",
    ties: bool = False,
    neighbours: bool = False,
) -> Comparisons:
    """Comparisons from a table with a row for each ranking and a column for each item.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or Table
        Ranks; an empty cell is an item that was not ranked.
    columns : sequence of str, optional
        Columns of ranks; by default all.
    best : {"lowest", "highest"}, default="lowest"
        Whether rank 1 is the best, or the largest number is, as for scores.
    ties : bool, default=False
        Whether items of equal rank are comparisons with the answer 0, for
        ``PreferenceGP(ties=True)``; else they are left out.
    neighbours : bool, default=False
        Whether each item is compared only with those of the next rank instead of with all:
        fewer comparisons, and less dependent ones.

    Returns
    -------
    Comparisons
        The item of better rank first. ``items`` is a number; features of the items, a row each
        in the order of ``names``, may take its place.

    Raises
    ------
    TableError
        If a column does not exist or does not hold numbers, or nothing is compared.

    Examples
    --------
    >>> import polars
    >>> from ordinality import PreferenceGP
    >>> from ordinality.tables import rankings_to_pairs
    >>> ranks = polars.DataFrame({"tea": [1, 2, 1], "coffee": [2, 1, 3], "milk": [3, None, 2]})
    >>> found = rankings_to_pairs(ranks)
    >>> len(found.pairs), found.names
    (7, ('tea', 'coffee', 'milk'))
    >>> PreferenceGP(found.items).fit(found.pairs, found.answers).rank()
    array([1, 2, 3])
    """
    if best not in ("lowest", "highest"):
        raise ValueError(f"best is {best!r}; it must be 'lowest' or 'highest'.")
    table = _table(table, columns or ())
    names = table.names if columns is None else tuple(dict.fromkeys(columns))
    if len(names) < 2:
        count = counted(len(names), "column")
        raise TableError(f"{table.source} has {count} of ranks; at least two are needed.")
    ranks = np.column_stack([_numbers(table, name) for name in names])
    ranks = ranks if best == "lowest" else -ranks
    found = [compared(row, neighbours) for row in ranks]
    rows = np.repeat(np.arange(len(ranks)), [len(pairs) for pairs in found])
    pairs = np.concatenate([np.empty((0, 2), dtype=np.intp), *found])
    tied = ranks[rows, pairs[:, 0]] == ranks[rows, pairs[:, 1]]
    notes = table.notes
    if tied.any() and not ties:
        count = counted(int(tied.sum()), "comparison")
        notes += (f"Left out {count} of items with equal ranks.",)
        pairs, rows, tied = pairs[~tied], rows[~tied], tied[~tied]
    _refuse_none(table, pairs, notes)
    return Comparisons(len(names), pairs, np.where(tied, 0, 1), names, (), rows, notes)


def compared(ranks: np.ndarray, neighbours: bool) -> np.ndarray:
    """Pairs of the items that one row ranks, the better first; equal ones in their order."""
    known = np.flatnonzero(np.isfinite(ranks))
    order = known[np.argsort(ranks[known], kind="stable")]
    i, j = np.triu_indices(len(order), 1)
    if neighbours:
        step = np.unique(ranks[order], return_inverse=True)[1]
        near = step[j] - step[i] <= 1
        i, j = i[near], j[near]
    return np.column_stack([order[i], order[j]])


def _table(table: Any, names: Sequence[str] = ()) -> Table:
    """A frame as a `Table` that has rows and these columns."""
    if not isinstance(table, Table):
        try:
            table = Table(nw.from_native(table, eager_only=True))
        except TypeError:
            raise TypeError(
                f"table is a {type(table).__name__}; expected a DataFrame of pandas or polars, "
                "or what `ordinality.tables.read` returns."
            ) from None
    for name in names:
        column(table, name)
    if not len(table):
        raise TableError(f"{table.source} has no rows; add the data.")
    return table


def _taken(table: Table, chosen: str) -> np.ndarray:
    """Which rows were chosen."""
    cells = table.frame[chosen].to_list()
    wrong = [cell for cell in cells if cell not in (0, 1)]  # True and False are 1 and 0
    if wrong:
        raise TableError(
            f"{chosen} holds {wrong[0]!r}; it must be 1 (or true) in the row that was chosen "
            "and 0 (or false) in the others."
        )
    return np.array(cells, dtype=bool)


def _groups(table: Table, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Number of the group of each row, and the label of each group, by first appearance."""
    cells = table.frame[name].to_list()
    missing = [cell is None or cell != cell for cell in cells]  # NaN is not equal to itself
    if any(missing):
        raise TableError(f"{name} is empty in row {missing.index(True) + 1}; fill it in.")
    number = {label: k for k, label in enumerate(dict.fromkeys(cells))}
    return np.array([number[cell] for cell in cells]), np.array(list(number))


def _one_choice_each(
    taken: np.ndarray, group: np.ndarray, labels: np.ndarray, case: str, chosen: str
) -> None:
    counts = np.bincount(group[taken], minlength=len(labels))
    wrong = np.flatnonzero(counts != 1)
    if len(wrong):
        k = wrong[0]
        found = "no row that was" if counts[k] == 0 else f"{counts[k]} rows that were"
        raise TableError(
            f"{case} {labels[k].item()!r} has {found} chosen; {chosen} must be 1 in one row "
            "of every case."
        )


def _items(
    table: Table, case: str, chosen: str, item: str | None, features: Sequence[str] | None
) -> _Alternatives:
    if (features is not None and not len(features)) or set(table.names) <= {case, chosen, item}:
        if item is None:
            raise TableError(
                f"{table.source} has no features and no column of items; name one of them."
            )
        number, labels = _groups(table, item)
        names = tuple(labels.tolist())
        return _Alternatives(number, len(labels), names, notes=table.notes)
    wanted = features or [name for name in table.names if name not in {case, chosen, item}]
    found = features_of(table, wanted, "tell alternatives apart")
    X = found.encoder.fit_transform(found.frame)
    columns, notes = tuple(feature_names(found.encoder)), (*table.notes, *found.notes)
    if item is None:
        number, first = _distinct(X)
        names = tuple(first.tolist())
        return _Alternatives(number, X[first], names, columns, notes, found.encoder)
    number, labels = _groups(table, item)
    first = np.unique(number, return_index=True)[1]
    differs = np.argwhere(X[first[number]] != X)
    if len(differs):
        row, j = differs[0]
        raise TableError(
            f"{columns[j]} of {item} {labels[number[row]].item()!r} differs between "
            f"rows {first[number[row]] + 1} and {row + 1}; leave `item` out, so that rows "
            "with different features are different items."
        )
    names = tuple(labels.tolist())
    return _Alternatives(number, X[first], names, columns, notes, found.encoder)


def _distinct(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of the distinct row that each row equals, and the first row of each, in order."""
    _, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[place.ravel()], first[order]


def _numbers(table: Table, name: str) -> np.ndarray:
    series = table.frame[name]
    if not series.dtype.is_numeric() and series.null_count() < len(series):
        raise TableError(
            f"{name} holds {series.dtype} values; ranks are numbers. Name the columns of "
            "ranks in `columns`."
        )
    return series.cast(nw.Float64).to_numpy().astype(np.float64)


def _refuse_none(table: Table, pairs: np.ndarray, notes: tuple[str, ...]) -> None:
    if not len(pairs):
        why = f" {notes[-1]}" if notes else ""
        raise TableError(
            f"{table.source} compares nothing: no pair is left to learn from.{why}"
        )
