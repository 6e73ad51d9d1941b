"""CSV files as named columns, with nothing but the standard library and NumPy.

A column whose every filled cell is a number becomes floats, with NaN for the empty ones; any
other stays text. Files may be gzipped. A table that was read is kept for the next call, since
the twenty partitions of a set stand in one file and are asked for one at a time.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Encoded", "Table", "encode", "read_csv", "shape"]

Array = NDArray[Any]
Floats = NDArray[np.float64]

KEPT = 8  # tables held in memory


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, in the order of the file. The arrays are shared: read, do not write."""

    names: tuple[str, ...]
    columns: tuple[Array, ...]  # float64 with NaN for empty cells, or text

    def __getitem__(self, name: str) -> Array:
        return self.columns[self.names.index(name)]

    @property
    def n_rows(self) -> int:
        """How many rows there are under the header."""
        return len(self.columns[0])


@dataclass(frozen=True, eq=False)
class Encoded:
    """Columns as numbers, and what each of them is called."""

    X: Floats  # (n, d)
    names: tuple[str, ...]  # (d,)


def read_csv(path: str | Path) -> Table:
    """Read a CSV file with a header row, gzipped if its name ends in ``.gz``."""
    path = Path(path)
    state = path.stat()
    return _read(path, state.st_mtime_ns, state.st_size)  # a file that changed is read again


def shape(path: str | Path) -> tuple[int, int]:
    """Rows under the header, and columns, without keeping what the cells say."""
    names, lines = _lines(Path(path))
    return len(lines), len(names)


@lru_cache(maxsize=KEPT)
def _read(path: Path, changed: int, size: int) -> Table:
    names, lines = _lines(path)
    if lines and isinstance(lines[0], str):
        # One list of all cells, every so-many of which are a column: rows as lists would cost
        # more than all the rest.
        cells = ",".join(lines).split(",")
        width = len(names)
        return Table(names, tuple(_column(cells[i::width]) for i in range(width)))
    return Table(names, tuple(_column(column) for column in zip(*lines, strict=True)))


def _lines(path: Path) -> tuple[tuple[str, ...], list[Any]]:
    """Names, and rows of as many cells: lists of them, or lines if nothing is quoted."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            text = file.read()
        if '"' in text:
            rows: list[Any] = list(filter(None, csv.reader(io.StringIO(text, newline=""))))
            widths: Iterator[int] = map(len, rows)
        else:
            rows = list(filter(None, text.split("\n")))
            widths = (line.count(",") + 1 for line in rows)
        if len(rows) < 2:
            raise csv.Error("no row under the header")
        width = next(widths)
        for number, cells in enumerate(widths, start=1):
            if cells != width:
                raise csv.Error(f"row {number} has {cells} cells, the header {width}")
    except (csv.Error, OSError, EOFError, zlib.error, UnicodeDecodeError) as problem:
        raise ValueError(
            f"{path} cannot be read as a table ({problem}); wanted comma-separated lines of "
            "equal length in UTF-8: fetch the file again."
        ) from problem
    names = rows[0].split(",") if isinstance(rows[0], str) else rows[0]
    return tuple(names), rows[1:]


def _column(cells: Sequence[str]) -> Array:
    values: Array
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        try:
            values = np.array([cell or "nan" for cell in cells], dtype=np.float64)
        except ValueError:
            values = np.array(cells, dtype=np.str_)
    values.setflags(write=False)
    return values


def encode(
    table: Table, leave_out: Sequence[str] = (), *, nominal: Sequence[str] = ()
) -> Encoded:
    """Columns of a table as one matrix of numbers.

    Numbers stay as they are, NaN where a cell is empty. Text becomes indicators ``name=value``,
    one for each value in alphabetical order; of two values the first is left out, since the
    second says everything. A row whose text is empty has zeros in all of them.
    """
    names: list[str] = []
    parts: list[Array] = []
    for name, column in zip(table.names, table.columns, strict=True):
        if name in leave_out:
            continue
        if column.dtype.kind == "f" and name not in nominal:
            names.append(name)
            parts.append(column)
            continue
        known = column[~np.isnan(column)] if column.dtype.kind == "f" else column[column != ""]
        values = np.unique(known).tolist()
        for value in values[1:] if len(values) == 2 else values:
            names.append(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}")
            parts.append(column == value)
    X = np.empty((table.n_rows, len(parts)))
    for i, part in enumerate(parts):
        X[:, i] = part
    return Encoded(X, tuple(names))
