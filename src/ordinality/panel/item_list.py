"""The items to ask about: a table with a column of names, or a text file with a name a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..tables import Table, TableError, read
from ..tables.columns import column, counted, is_text, listed, numbers, words

__all__ = ["ItemList", "read_items"]

TEXT = (".txt", ".text", ".md", ".list", "")  # suffixes of files with a name a line
MOST = 500  # items; a question about one of 600 takes half a second
MANY_WORDS = 50  # different words of a feature


class ItemList(NamedTuple):
    """Features of items by their names, and what was left out, as sentences."""

    features: dict[str, dict[str, float]]
    notes: tuple[str, ...]


def read_items(
    path: str | Path,
    key: str | None = None,
    most: int = MOST,
    features: Sequence[str] | None = None,
) -> ItemList:
    """Read the names of items from a file, and their features.

    Features are the columns of numbers, or those that are named; of text there is a column of
    0 and 1 for each word. ``@NAME`` is the items that a table of the package compares.
    """
    plain = str(path).startswith("@") or Path(path).suffix.lower() in TEXT
    if features and plain:
        raise TableError(f"{path} has no columns, and so no features {listed(features)}.")
    if str(path).startswith("@"):
        return ItemList({name: {} for name in _embedded(str(path))}, ())
    if Path(path).suffix.lower() in TEXT:
        if key is not None:
            raise TableError(f"{path} is a text file without columns, so it has no {key!r}.")
        names = [line.strip() for line in _lines(Path(path))]
        return ItemList({name: {} for name in _different(names, path, most, skip=True)}, ())
    table = read(path)
    key = _key_of(table) if key is None else key
    names = _different(words(column(table, key)), path, most)
    if features:
        kept = {k: v for name in features for k, v in _named_feature(table, name).items()}
        rest = []
    else:
        kept = {name: values for name in table.names if name != key
                if (values := _feature(table, name)) is not None}  # fmt: skip
        rest = [name for name in table.names if name != key and name not in kept]
    notes = [*table.notes]
    if kept:
        notes.append(f"Features of the items: {listed(list(kept))}.")
    if rest:
        notes.append(f"Not used, since not all cells are different numbers: {listed(rest)}.")
    rows = {name: {c: float(kept[c][i]) for c in kept} for i, name in enumerate(names)}
    return ItemList(rows, tuple(notes))


def _embedded(called: str) -> list[str]:
    """Names of the items that a table of the package compares, as they first come."""
    from ..datasets import CLASSICS, embedded_path

    compared = [name for name, one in CLASSICS.items() if one.pair[0]]
    name = called.removeprefix("@")
    if name not in compared:
        raise TableError(
            f"{called} has no list of items; the tables of the package that have one are "
            f"{listed([f'@{each}' for each in compared])}."
        )
    table = read(embedded_path(name))
    cells = [cell for title in CLASSICS[name].pair for cell in words(column(table, title))]
    return [cell for cell in dict.fromkeys(cells) if cell is not None]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise TableError(
            f"{path} is not text in UTF-8; save it as such, with one name a line."
        ) from None


def _key_of(table: Table) -> str:
    """The first column of text."""
    for name in table.names:
        if is_text(table.frame[name].dtype):
            return name
    raise TableError(
        f"{table.source} has no column of text; say which of its columns has the names of the "
        f"items: {listed(table.names)}."
    )


def _feature(table: Table, name: str) -> np.ndarray | None:
    """A column of numbers without gaps, of which two at least differ; None for others."""
    series = column(table, name)
    if not series.dtype.is_numeric():
        return None
    values = numbers(series)
    return values if np.all(np.isfinite(values)) and np.ptp(values) > 0.0 else None


def _named_feature(table: Table, name: str) -> dict[str, np.ndarray]:
    """Columns of numbers for a column that was asked for; of text one for each word."""
    series = column(table, name)
    if not is_text(series.dtype):
        values = _feature(table, name)
        if values is None:
            raise TableError(
                f"{name} of {table.source} has empty cells, or is the same for all items; it "
                "cannot be a feature."
            )
        return {name: values}
    cells = words(series)
    if None in cells:
        row = cells.index(None) + 2
        raise TableError(f"{name} is empty in line {row} of {table.source}; fill the cell.")
    found = list(dict.fromkeys(str(cell) for cell in cells))
    if not 2 <= len(found) <= MANY_WORDS:
        raise TableError(
            f"{name} of {table.source} has {counted(len(found), 'different word')}; a feature "
            f"has from 2 to {MANY_WORDS} of them."
        )
    return {f"{name}: {word}": np.array([float(c == word) for c in cells]) for word in found}


def _different(
    cells: list[str | None] | list[str], path: str | Path, most: int, skip: bool = False
) -> list[str]:
    """Names, refused where one is missing (or passed over), or comes twice."""
    row_of: dict[str, int] = {}
    for row, name in enumerate(cells, start=1 if skip else 2):
        if not name:
            if skip:
                continue
            raise TableError(f"{path} has no name in line {row}; name every item.")
        if name in row_of:
            raise TableError(
                f"{path} names {name!r} twice, in lines {row_of[name]} and {row}; every item "
                "needs a name of its own."
            )
        row_of[name] = row
    if not 2 <= len(row_of) <= most:
        raise TableError(f"{path} has {len(row_of)} items; wanted from 2 to {most} of them.")
    return list(row_of)
