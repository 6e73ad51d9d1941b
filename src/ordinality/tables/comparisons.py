"""Answers of people from tables: pairs, rankings, choices, best and worst, ratings.

Columns are found by their names, in any order and case. Rows are counted as in the file, the
line of names being row 1. A word that is not known is refused with its row; rows that say
nothing are left out and counted in a note. Columns of covariates are taken as they are called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from .._answer_sets import best_worst_pairs, set_weight
from .choices import choices_to_pairs, compared
from .columns import Table, TableError, column, counted, listed, nearest, parsed, words
from .task import features_of

__all__ = ["AnswerTable", "comparisons", "described_items", "kind_of_answers"]

Cells = list[str | None]

# Role -> names that its column may have.
ROLES = {
    "left": ("left", "a", "model_a", "item_a"),
    "right": ("right", "b", "model_b", "item_b"),
    "winner": ("winner", "answer"),
    "judge": ("judge",),
    "weight": ("weight",),
    "loser": ("loser",),
    "count": ("count", "games", "times"),
    "seconds": ("seconds",),
    "best": ("best",),
    "worst": ("worst",),
    "case": ("case", "question", "set"),
    "chosen": ("chosen",),
    "item": ("item", "alternative"),
    "rating": ("rating", "stars", "score"),
}
# Columns that tell a table of answers from others.
_TELLING = (
    ("pairs", ("left", "right", "winner")),
    ("pairs", ("winner", "loser")),
    ("choice", ("case", "item", "chosen")),
    ("best-worst", ("best", "worst")),
)
SIDES = {
    **dict.fromkeys(("left", "a", "model_a", "item_a"), 1),
    **dict.fromkeys(("right", "b", "model_b", "item_b"), -1),
}
TIES = dict.fromkeys(("tie", "draw", "both", "equal", "tie (bothbad)"), 0)
GRADES = 10  # of an answer, at most
LEVELS = 20  # of ratings, at most
LARGEST = 10**12  # number of a weight, of games, of seconds
MOST = 10_000_000  # answers
NOBODY = "(not named)"
SIDE = "side"  # the covariate that is one for every answer
RANK = re.compile(r"(?i)(rank|place|position)?[ _.#-]*(\d+)(st|nd|rd|th)?")


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Answers as `panel.rank_answers` takes them.

    Parameters
    ----------
    items : tuple of str
        Names of the items, sorted.
    pairs : ndarray of str, shape (m, 2)
        Names of the two items of each comparison.
    answers : ndarray of int, shape (m,)
        Above 0 if the first was preferred, below if the second, 0 for a tie.
    judges : ndarray of str, shape (m,), or None
        Who answered.
    weights : ndarray of shape (m,) or None
        Weights of the comparisons.
    seconds : ndarray of shape (m,) or None
        How long each answer took, NaN if that is not known.
    groups : ndarray of shape (m,) or None
        Comparisons with equal numbers come from one answer, such as a ranking, or have the
        same value in the column of groups.
    ratings : (items, levels) or None
        Names of rated items and their ratings.
    sides : bool
        Whether the first item of a pair is the one that was called left.
    notes : tuple of str
        What was left out or guessed, as sentences.
    covariates : mapping of str to ndarray of shape (m,), or None
        Differences in presentation, left less right, by their names.

    Examples
    --------
    >>> import polars
    >>> from ordinality.tables import comparisons
    >>> table = polars.DataFrame({"left": ["Ran"], "right": ["Stalker"], "winner": ["tie"]})
    >>> comparisons(table).items
    ('Ran', 'Stalker')
    """

    items: tuple[str, ...]
    pairs: np.ndarray
    answers: np.ndarray
    judges: np.ndarray | None = None
    weights: np.ndarray | None = None
    seconds: np.ndarray | None = None
    groups: np.ndarray | None = None
    ratings: tuple[np.ndarray, np.ndarray] | None = None
    sides: bool = False
    notes: tuple[str, ...] = ()
    covariates: Mapping[str, np.ndarray] | None = None


def comparisons(
    table: Any,
    kind: str = "pairs",
    *,
    items: Any = None,
    covariates: Sequence[str] = (),
    group: str | None = None,
) -> AnswerTable:
    """Read the answers of people from a table.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or Table
        The answers.
    kind : {"pairs", "ranking", "choice", "best-worst", "ratings"}, default="pairs"
        "pairs" has columns left, right and winner or answer: the name of an item, left, right
        or tie (also a, b, model_a, model_b, draw, both), or a whole number, above 0 for the
        left item; or columns winner and loser. A column count says how often.
        "ranking" has a row for each ranking: a column of ranks for each item, or columns
        rank 1, rank 2 and so on with the names of items. "choice" has a row for each
        alternative, with columns case, item and chosen. "best-worst" has columns best and
        worst; the others hold the items that were shown. "ratings" has columns item and
        rating. All may have columns judge and weight, and pairs one of seconds; a rating has
        the weight 1, or 0 if it is to be left out.
    items : sequence of str, default=None
        The names there are; another name is refused.
    covariates : sequence of str, default=()
        Columns of differences in presentation, left less right, of a table of pairs; rows
        without a value are left out. "side", if no column is called so, is the side itself:
        one for every answer.
    group : str, default=None
        Column whose equal values are one group; an empty cell is a group of its own.

    Returns
    -------
    AnswerTable
        Comparisons, or ratings, with notes on rows that were left out.

    Raises
    ------
    TableError
        If a column is missing, or a cell is not understood; the message names its row.

    Examples
    --------
    >>> import polars
    >>> from ordinality.tables import comparisons
    >>> table = polars.DataFrame({
    ...     "left": ["Ran", "Ran", "Ikiru"],
    ...     "right": ["Stalker", "Ikiru", "Stalker"],
    ...     "winner": ["Ran", "tie", "Stalker"],
    ... })
    >>> comparisons(table).answers
    array([ 1,  0, -1])
    """
    if kind not in _KINDS:
        raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(_KINDS)}.")
    if not isinstance(table, Table):
        table = Table(nw.from_native(table, eager_only=True))
    if not len(table):
        raise TableError(f"{table.source} has no rows; add the answers.")
    if covariates and kind != "pairs":
        raise TableError(
            f"Covariates tell the two sides of an answer apart, and {table.source} has none; "
            "they need a table of pairs."
        )
    if group is not None and kind == "ratings":
        raise TableError(
            f"{table.source} holds ratings, of which none are kept together; leave out the "
            "column of groups."
        )
    sheet = _Sheet(table, None if items is None else frozenset(map(str, items)))
    sheet.covariates, sheet.group = tuple(dict.fromkeys(covariates)), group
    found = _KINDS[kind](sheet)
    return replace(found, notes=(*table.notes, *found.notes))


def described_items(
    table: Table, key: str | None, features: Sequence[str] | None
) -> tuple[Any, str, tuple[str, ...]]:
    """A frame of items with names and features as numbers, its column of names, and notes."""
    name = table.names[0] if key is None else key
    cells = words(column(table, name))
    if None in cells:
        row = cells.index(None) + 2
        raise TableError(f"{name} is empty in row {row} of {table.source}; name every item.")
    seen: dict[str, int] = {}
    for row, cell in enumerate(cells, 2):
        if seen.setdefault(str(cell), row) != row:
            raise TableError(
                f"{table.source} names {cell!r} in rows {seen[str(cell)]} and {row}; every "
                "item needs a row, and a name, of its own."
            )
    names = nw.new_series(name, cells, nw.String, backend=table.frame.implementation)
    if not features:
        return names.to_frame().to_native(), name, ()
    found = features_of(table, features, "describe items")
    X = np.asarray(found.encoder.fit_transform(found.frame))
    encoded = (
        nw.new_series(f"x{k}", x.tolist(), nw.Float64, backend=table.frame.implementation)
        for k, x in enumerate(X.T)
    )
    return names.to_frame().with_columns(*encoded).to_native(), name, tuple(found.notes)


def kind_of_answers(names: Iterable[str]) -> str | None:
    """What kind of answers columns of these names look like; None for other tables."""
    known = {name.strip().lower() for name in names}
    for kind, roles in _TELLING:
        if all(known & set(ROLES[role]) for role in roles):
            return kind
    return None


# ---------------------------------------------------------------- columns by role


class _Sheet:
    """A table whose columns are found by their role."""

    def __init__(self, table: Table, items: frozenset[str] | None) -> None:
        self.table, self.items, self.source = table, items, table.source
        self.notes: list[str] = []
        self.covariates: tuple[str, ...] = ()
        self.group: str | None = None

    def role(self, role: str) -> str | None:
        """Name of the column that has a role."""
        found = [n for n in self.table.names if n.strip().lower() in ROLES[role]]
        if len(found) > 1:
            raise TableError(
                f"{self.source} has the columns {listed([repr(n) for n in found])}, which mean "
                "the same; keep one of them."
            )
        return found[0] if found else None

    def needed(self, *roles: str) -> list[str]:
        """Names of the columns that have roles, all of them there."""
        found = {role: self.role(role) for role in roles}
        missing = [" or ".join(ROLES[role][:2]) for role, name in found.items() if name is None]
        if missing:
            raise TableError(
                f"{self.source} has no column {listed(missing)}; it has "
                f"{listed(self.table.names)}. Give the columns these names."
            )
        return [str(name) for name in found.values()]

    def cells(self, name: str) -> Cells:
        """Cells of a column as text."""
        return words(column(self.table, name))

    def others(self, *roles: str) -> list[str]:
        """Names of the columns that have none of some roles."""
        taken = {self.group, *(self.role(role) for role in roles)}
        return [name for name in self.table.names if name not in taken]

    def judges(self) -> np.ndarray | None:
        """Who answered in each row."""
        name = self.role("judge")
        if name is None:
            return None
        cells = self.cells(name)
        self.count(f"{name} is empty in", cells, f"which count as one judge, {NOBODY}")
        return np.array([cell or NOBODY for cell in cells], dtype=str)

    def numbers(self, role: str, empty: float) -> np.ndarray | None:
        """A column of numbers from 0 to `LARGEST`."""
        name = self.role(role)
        if name is None:
            return None
        values, odd = parsed(self.cells(name))
        outside = (values < 0) | (values > LARGEST)
        if not odd and np.any(outside):
            odd = {int(np.argmax(outside)): f"{values[outside][0]:g}"}
        if odd:
            row = min(odd)
            raise TableError(
                f"{name} is {odd[row]!r} in row {row + 2} of {self.source}; it must be a "
                f"number from 0 to {LARGEST:,}."
            )
        return np.where(np.isnan(values), empty, values)

    def groups(self, rows: np.ndarray) -> np.ndarray | None:
        """Numbers of the groups of some rows; an empty cell is a group of its own."""
        if self.group is None:
            return None
        cells = self.cells(self.group)
        return np.unique([cells[k] or f"\0{k}" for k in rows], return_inverse=True)[1]

    def presented(self) -> dict[str, np.ndarray] | None:
        """Columns of covariates, NaN where a cell is empty."""
        if not self.covariates:
            return None
        found = {}
        for name in self.covariates:
            if name == SIDE and SIDE not in self.table.names:
                found[name] = np.ones(len(self.table))
                if self.role("loser") is not None:
                    raise TableError(
                        f"{self.source} has columns of winners and losers, which do not tell "
                        "the side; it needs columns left, right and winner."
                    )
                continue
            found[name], odd = parsed(self.cells(name))
            if odd:
                row = min(odd)
                raise TableError(
                    f"{name} is {odd[row]!r} in row {row + 2} of {self.source}; a covariate is "
                    "a number, left less right."
                )
        return found

    def count(self, what: str, cells: Cells, then: str) -> None:
        """Note in how many rows a column is empty."""
        rows = [row for row, cell in enumerate(cells, 2) if cell is None]
        if rows:
            self.notes.append(f"{what} {_rows(rows)}, {then}.")

    def check_item(self, name: str, row: int) -> None:
        """Refuse an item that is not one of those there are."""
        if self.items is not None and name not in self.items:
            hint = nearest(name, self.items) or f"the items are {listed(sorted(self.items))}."
            raise TableError(
                f"Row {row} of {self.source} names {name!r}, which is not one of the items; "
                f"{hint}"
            )

    def refuse_none(self, count: int) -> None:
        """Refuse a table in which nothing is left."""
        if not count:
            why = f" {self.notes[-1]}" if self.notes else ""
            raise TableError(f"{self.source} compares nothing; add answers.{why}")


def _rows(rows: list[int]) -> str:
    """How many rows, and the first."""
    return f"row {rows[0]}" if len(rows) == 1 else f"{len(rows):,} rows (first: row {rows[0]})"


def _names_in(pairs: np.ndarray) -> tuple[str, ...]:
    return tuple(np.unique(pairs).tolist())


# ---------------------------------------------------------------- pairs


def _pairs(sheet: _Sheet) -> AnswerTable:
    """Answers to pairs: left, right, and who won."""
    has_loser = sheet.role("loser") is not None
    roles = ("winner", "loser", "winner") if has_loser else ("left", "right", "winner")
    names = sheet.needed(*dict.fromkeys(roles))
    names = [*names, names[0]] if has_loser else names
    left, right, said = (sheet.cells(name) for name in names)
    presented = sheet.presented()
    rows = _presented_rows(sheet, _complete(sheet, left, right, said), presented)
    pairs = np.array([(left[k], right[k]) for k in rows], dtype=str).reshape(-1, 2)
    for k in rows:
        sheet.check_item(str(left[k]), k + 2)
        sheet.check_item(str(right[k]), k + 2)
    cells = [(str(left[k]), str(right[k]), str(said[k])) for k in rows]
    answers = _understood(sheet, names[2], cells, rows)
    who, weights = sheet.judges(), sheet.numbers("weight", 1.0)
    seconds = sheet.numbers("seconds", np.nan)
    judges = None if who is None else who[rows]
    _note_repeats(sheet, pairs, answers, judges, rows)
    every = _repeated(sheet, rows)
    rows = rows[every]
    return AnswerTable(
        _names_in(pairs), pairs[every], answers[every],
        None if who is None else who[rows],
        None if weights is None else weights[rows],
        None if seconds is None else seconds[rows],
        sheet.groups(rows), sides=not has_loser, notes=tuple(sheet.notes),
        covariates=presented and {name: value[rows] for name, value in presented.items()},
    )  # fmt: skip


def _presented_rows(
    sheet: _Sheet, rows: np.ndarray, presented: Mapping[str, np.ndarray] | None
) -> np.ndarray:
    """Those of some rows that have a value of every covariate."""
    for name, value in (presented or {}).items():
        empty = rows[np.isnan(value[rows])]
        if len(empty):
            sheet.notes.append(f"Left out {_rows((empty + 2).tolist())} without {name}.")
            rows = np.setdiff1d(rows, empty)
    sheet.refuse_none(len(rows))
    return rows


def _repeated(sheet: _Sheet, rows: np.ndarray) -> np.ndarray:
    """Places in ``rows``, each as often as the column of counts says."""
    counts = sheet.numbers("count", 1.0)
    if counts is None:
        return np.arange(len(rows))
    odd = np.flatnonzero(counts[rows] != np.round(counts[rows]))
    if len(odd):
        row = rows[odd[0]]
        raise TableError(
            f"{sheet.role('count')} is {counts[row]:g} in row {row + 2} of {sheet.source}; it "
            "must be a whole number. Call a column of weights weight."
        )
    if counts[rows].sum() > MOST:
        raise TableError(
            f"{sheet.role('count')} of {sheet.source} adds up to {counts[rows].sum():,.0f} "
            f"answers, more than {MOST:,}; divide it, and call it weight."
        )
    every = np.repeat(np.arange(len(rows)), counts[rows].astype(np.intp))
    sheet.refuse_none(len(every))
    return every


def _complete(sheet: _Sheet, left: Cells, right: Cells, said: Cells) -> np.ndarray:
    """Numbers of the rows that compare two items."""
    every = list(zip(left, right, said, strict=True))
    empty = [k for k, row in enumerate(every) if None in row]
    same = [k for k, row in enumerate(every) if None not in row and row[0] == row[1]]
    for found, what in ((empty, "with an empty cell"), (same, "of an item with itself")):
        if found:
            said_of = _rows([k + 2 for k in found])
            sheet.notes.append(f"Left out {said_of} {what}.")
    rows = np.setdiff1d(np.arange(len(every)), empty + same)
    sheet.refuse_none(len(rows))
    return rows


def _understood(
    sheet: _Sheet, name: str, cells: list[tuple[str, str, str]], rows: np.ndarray
) -> np.ndarray:
    """Answers as numbers: all by name, all by side, or all as numbers."""
    # Items may be called "a" or "1": what fits every row decides.
    readers = [_by_name, _by_side, _by_number]
    if name.strip().lower() == "answer":
        readers = [_by_number, _by_name, _by_side]
    found = [[reader(*cell) for cell in cells] for reader in readers]
    best = min(found, key=lambda read: read.count(None))
    if None in best:
        k = best.index(None)
        left, right, word = cells[k]
        raise TableError(
            f"{name} is {word!r} in row {rows[k] + 2} of {sheet.source}; it must be {left!r} "
            f"or {right!r}, one of {', '.join([*SIDES, *TIES])}, or a whole number from "
            f"-{GRADES} to {GRADES} (above 0: the left one)."
        )
    return np.array(best, dtype=np.intp)


def _by_name(left: str, right: str, word: str) -> int | None:
    if word in (left, right):
        return 1 if word == left else -1
    return TIES.get(word.lower())


def _by_side(left: str, right: str, word: str) -> int | None:
    return {**SIDES, **TIES}.get(word.lower())


def _by_number(left: str, right: str, word: str) -> int | None:
    if not re.fullmatch(r"[+-]?\d{1,3}(\.0*)?", word, re.ASCII):
        return TIES.get(word.lower())
    value = int(float(word))
    return value if abs(value) <= GRADES else None


def _note_repeats(
    sheet: _Sheet,
    pairs: np.ndarray,
    answers: np.ndarray,
    judges: np.ndarray | None,
    rows: np.ndarray,
) -> None:
    """Note rows in which the same judge says the same of the same items again."""
    who = np.zeros(len(rows), dtype=np.intp)
    if judges is not None:
        who = np.unique(judges, return_inverse=True)[1]
    items = np.unique(pairs, return_inverse=True)[1].reshape(-1, 2)
    said = np.column_stack([who, items, answers])
    first = np.unique(said, axis=0, return_index=True)[1]
    again = np.setdiff1d(np.arange(len(rows)), first)
    if len(again):
        which = _rows((rows[again] + 2).tolist())
        sheet.notes.append(f"An earlier answer is repeated in {which}; each counts.")


# ---------------------------------------------------------------- rankings


def _ranking(sheet: _Sheet) -> AnswerTable:
    """A row for each ranking: ranks of items, or items by rank."""
    columns = sheet.others("judge", "weight")
    cells = [sheet.cells(name) for name in columns]
    by_rank = _ranks_named(columns, cells)
    names, ranks = (
        _ranks_of_items(sheet, columns, cells)
        if by_rank is None
        else _ranks_of_places(sheet, by_rank, cells)
    )
    if len(names) < 2:
        raise TableError(
            f"{sheet.source} ranks {counted(len(names), 'item')}; at least two are needed, "
            "each with a column of ranks."
        )
    sizes = np.sum(np.isfinite(ranks), axis=1)
    short = np.flatnonzero(sizes < 2)
    if len(short):
        sheet.notes.append(
            f"Learnt nothing from {_rows((short + 2).tolist())} with fewer than two ranks."
        )
    found = [compared(row, neighbours=False) for row in ranks]
    sheet.refuse_none(sum(len(pairs) for pairs in found))
    rows = np.repeat(np.arange(len(ranks)), [len(pairs) for pairs in found])
    number = np.concatenate(found)
    answers = np.where(ranks[rows, number[:, 0]] == ranks[rows, number[:, 1]], 0, 1)
    return _of_sets(sheet, "ranking", np.array(names, dtype=str)[number], answers, rows, sizes)


def _ranks_named(columns: list[str], cells: list[Cells]) -> list[int] | None:
    """The rank that each column stands for, if the columns stand for ranks."""
    found = [RANK.fullmatch(name.strip()) for name in columns]
    if not columns or not all(found):
        return None
    bare = not any(match[1] for match in found if match)
    if bare and all(not parsed(column)[1] for column in cells):
        return None  # items that are called 1, 2, 3, with their ranks
    return [int(match[2]) for match in found if match]


def _ranks_of_items(
    sheet: _Sheet, columns: list[str], cells: list[Cells]
) -> tuple[list[str], np.ndarray]:
    """Items, and a row of their ranks for each ranking, NaN where an item has none."""
    ranks = np.empty((len(sheet.table), len(columns)))
    for j, (name, column_cells) in enumerate(zip(columns, cells, strict=True)):
        sheet.check_item(name, 1)
        ranks[:, j], odd = parsed(column_cells)
        if odd:
            row = min(odd)
            raise TableError(
                f"The rank of {name} is {odd[row]!r} in row {row + 2} of {sheet.source}; ranks "
                "are numbers, the lowest for the best, or empty. Name a column of judges judge."
            )
    return columns, ranks


def _ranks_of_places(
    sheet: _Sheet, places: list[int], cells: list[Cells]
) -> tuple[list[str], np.ndarray]:
    """The same from the names of the items in each place."""
    names = sorted({cell for column_cells in cells for cell in column_cells if cell})
    number = {name: k for k, name in enumerate(names)}
    ranks = np.full((len(sheet.table), len(names)), np.nan)
    for place, column_cells in zip(places, cells, strict=True):
        for row, cell in enumerate(column_cells):
            if cell is None:
                continue
            sheet.check_item(cell, row + 2)
            if np.isfinite(ranks[row, number[cell]]):
                raise TableError(
                    f"Row {row + 2} of {sheet.source} names {cell!r} twice; give every item "
                    "one rank."
                )
            ranks[row, number[cell]] = place
    return names, ranks


def _of_sets(
    sheet: _Sheet,
    kind: str,
    pairs: np.ndarray,
    answers: np.ndarray,
    rows: np.ndarray,
    sizes: np.ndarray,
) -> AnswerTable:
    """Pairs from answers about sets, with their weights; ``rows`` are those they come from."""
    who, given = sheet.judges(), sheet.numbers("weight", 1.0)
    if who is None:
        who = np.array([f"row {k + 2}" for k in range(len(sheet.table))])
    each = np.array([set_weight(kind, int(size)) for size in sizes])
    weights = each if given is None else each * given
    groups = sheet.groups(rows)
    return AnswerTable(
        _names_in(pairs), pairs, answers, who[rows], weights[rows],
        groups=rows if groups is None else groups, notes=tuple(sheet.notes),
    )  # fmt: skip


# ---------------------------------------------------------------- best and worst


def _best_worst(sheet: _Sheet) -> AnswerTable:
    """Sets of items with the best and the worst of each."""
    names = sheet.needed("best", "worst")
    best, worst = (sheet.cells(name) for name in names)
    columns = sheet.others("best", "worst", "judge", "weight")
    shown = list(zip(*(sheet.cells(name) for name in columns), strict=True))
    pairs, rows, sizes, empty = [], [], np.zeros(len(best), dtype=np.intp), []
    for row, (b, w) in enumerate(zip(best, worst, strict=True)):
        offered = [cell for cell in (shown[row] if shown else ()) if cell is not None]
        if b is None or w is None or len(offered) < 2:
            empty.append(row + 2)
            continue
        _check_set(sheet, offered, b, w, row + 2)
        found = best_worst_pairs(offered, b, w)
        pairs += found
        rows += [row] * len(found)
        sizes[row] = len(offered)
    if empty:
        sheet.notes.append(f"Left out {_rows(empty)} with an empty cell.")
    sheet.refuse_none(len(pairs))
    answers = np.ones(len(pairs), dtype=np.intp)
    return _of_sets(sheet, "best-worst", np.array(pairs, str), answers, np.array(rows), sizes)


def _check_set(sheet: _Sheet, offered: list[str], best: str, worst: str, row: int) -> None:
    """Refuse a set whose best or worst was not shown, or is the same, or an item twice."""
    for name in offered:
        sheet.check_item(name, row)
    twice = next((name for name in offered if offered.count(name) > 1), None)
    what = ""
    if twice is not None:
        what = f"shows {twice!r} twice; show every item once"
    elif best == worst:
        what = f"has {best!r} as the best and the worst; they must differ"
    for name in (best, worst):
        if not what and name not in offered:
            what = (
                f"has {name!r} as best or worst, but shows {listed(offered)}; choose of those"
            )
    if what:
        raise TableError(f"Row {row} of {sheet.source} {what}.")


# ---------------------------------------------------------------- choices


def _choice(sheet: _Sheet) -> AnswerTable:
    """A row for each alternative of each choice."""
    case, item, chosen = sheet.needed("case", "item", "chosen")
    for name in (case, item, chosen):
        cells = sheet.cells(name)
        if None in cells:
            row = cells.index(None) + 2
            raise TableError(f"{name} is empty in row {row} of {sheet.source}; fill it in.")
        for row, cell in enumerate(cells, 2):
            if name == item:
                sheet.check_item(str(cell), row)
            if name == chosen and str(cell).lower() not in ("0", "1", "true", "false"):
                raise TableError(
                    f"{chosen} is {cell!r} in row {row} of {sheet.source}; it must be 1 in the "
                    "row that was chosen and 0 in the others."
                )
    table = replace(sheet.table, notes=())
    found = choices_to_pairs(table, case=case, chosen=chosen, item=item, features=[])
    sheet.notes += found.notes
    names = np.array([str(name) for name in found.names], dtype=str)
    # A pair comes from the first row of its case, whose judge answered and weight counts.
    labels = table.frame[case].to_numpy()
    every, first, size = np.unique(labels, return_index=True, return_counts=True)
    sizes = np.zeros(len(table), dtype=np.intp)
    sizes[first] = size
    rows = first[np.searchsorted(every, found.cases)]
    return _of_sets(sheet, "choice", names[found.pairs], found.answers, rows, sizes)


# ---------------------------------------------------------------- ratings


def _ratings(sheet: _Sheet) -> AnswerTable:
    """A row for each rating of an item."""
    item, rating = sheet.needed("item", "rating")
    names, (values, odd) = sheet.cells(item), parsed(sheet.cells(rating))
    if odd:
        row = min(odd)
        raise TableError(
            f"{rating} is {odd[row]!r} in row {row + 2} of {sheet.source}; it must be a number."
        )
    empty = [k for k, name in enumerate(names) if name is None or np.isnan(values[k])]
    if empty:
        sheet.notes.append(f"Left out {_rows([k + 2 for k in empty])} with an empty cell.")
    rows = _weighted_ratings(sheet, np.setdiff1d(np.arange(len(names)), empty))
    sheet.refuse_none(len(rows))
    for k in rows:
        sheet.check_item(str(names[k]), k + 2)
    levels = np.unique(values[rows])
    if not 2 <= len(levels) <= LEVELS:
        raise TableError(
            f"{rating} of {sheet.source} has {counted(len(levels), 'different value')}; wanted "
            f"2 at least, and {LEVELS} at most: round them."
        )
    if sheet.role("judge") is not None:
        sheet.notes.append("Ratings of all judges are taken as those of one.")
    rated = np.array([names[k] for k in rows], dtype=str)
    none = np.empty((0, 2), dtype=str)
    return AnswerTable(
        _names_in(rated), none, np.empty(0, dtype=np.intp), ratings=(rated, values[rows]),
        notes=tuple(sheet.notes),
    )  # fmt: skip


def _weighted_ratings(sheet: _Sheet, rows: np.ndarray) -> np.ndarray:
    """Those of some rows that have a weight; all weights count as one."""
    weights = sheet.numbers("weight", 1.0)
    if weights is None:
        return rows
    none, odd = rows[weights[rows] == 0], rows[~np.isin(weights[rows], (0.0, 1.0))]
    if len(none):
        sheet.notes.append(f"Left out {_rows((none + 2).tolist())} of weight 0.")
    if len(odd):
        where = _rows((odd + 2).tolist())
        sheet.notes.append(f"The weight in {where} is taken as 1: ratings have no others.")
    return np.setdiff1d(rows, none)


_KINDS: dict[str, Callable[[_Sheet], AnswerTable]] = {
    "pairs": _pairs,
    "ranking": _ranking,
    "choice": _choice,
    "best-worst": _best_worst,
    "ratings": _ratings,
}
