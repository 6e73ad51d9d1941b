"""The data folder: where it is, what it holds, what is missing, and how its files are read.

The folder is named by the environment variable ``ORDINALITY_DATA``; without it, it is the
user's data directory. Its layout is that of the inventory: ``regression/abalone.csv.gz``. The
files are CSV of known columns, so that the standard library and NumPy are enough to read them.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .inventory import INVENTORY, Entry

__all__ = [
    "VARIABLE",
    "Check",
    "MissingDataError",
    "available",
    "data_folder",
    "find",
    "locate",
    "missing",
    "read",
    "read_columns",
    "verify",
]

VARIABLE = "ORDINALITY_DATA"
KEPT = 8  # files whose columns stay in memory: the twenty partitions of a set are in one file

Array = NDArray[Any]


class MissingDataError(FileNotFoundError, ValueError):
    """A file is not in the data folder; the message says where to get it.

    Examples
    --------
    >>> from ordinality import datasets
    >>> issubclass(datasets.MissingDataError, FileNotFoundError)
    True
    """


@dataclass(frozen=True)
class Check:
    """What was found where a file of the inventory should be.

    Parameters
    ----------
    entry : Entry
        What the file should be.
    rows, columns : int or None
        Shape of the file; None if there is no readable file.
    problem : str
        What is wrong; empty if nothing is.

    Examples
    --------
    >>> Check(find("ordinal/era"), 999, 5, "has 999 rows of 5 columns, not 1000 of 5").ok
    False
    """

    entry: Entry
    rows: int | None
    columns: int | None
    problem: str

    @property
    def ok(self) -> bool:
        """Whether the file is there and has the right shape."""
        return not self.problem


def data_folder() -> Path:
    """The folder of data sets, which need not exist.

    Returns
    -------
    Path
        ``$ORDINALITY_DATA`` if that is set, else ``ordinality`` in the user's data directory:
        ``$XDG_DATA_HOME`` or ``~/.local/share``, ``~/Library/Application Support`` on macOS,
        ``%LOCALAPPDATA%`` on Windows.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", {"ORDINALITY_DATA": "sets"}):
    ...     data_folder().name
    'sets'
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        home = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return home / "ordinality"


def find(name: str, *, among: tuple[Entry, ...] = INVENTORY) -> Entry:
    """Entry of the inventory by its name, or by ``folder/name`` where folders share a name.

    Parameters
    ----------
    name : str
        Such as ``"abalone"`` or ``"multiclass/segment"``.
    among : tuple of Entry, default=INVENTORY
        Entries to choose from.

    Returns
    -------
    Entry
        The one entry of that name.

    Examples
    --------
    >>> find("ordinal/era").rows
    1000
    >>> find("triazines").file
    'regression/triazines.csv'
    """
    found = [entry for entry in among if name in (entry.key, entry.name, entry.file)]
    if len(found) == 1:
        return found[0]
    if found:
        keys = " or ".join(repr(entry.key) for entry in found)
        raise ValueError(f"{name!r} is in more than one folder; say {keys}.")
    names = [e.key for e in among] if "/" in name else [e.name for e in among]
    close = dict.fromkeys(get_close_matches(name, names, n=2, cutoff=0.7))
    meant = " or ".join(map(repr, close))
    hint = f"did you mean {meant}?" if meant else "`INVENTORY` lists them all."
    raise ValueError(f"{name!r} is not a data set of the inventory; {hint}")


def locate(entry: Entry) -> Path | None:
    """Where the file is, packed or not; None if it is not there."""
    base = data_folder() / entry.folder
    for suffix in (".csv.gz", ".csv") if entry.packed else (".csv", ".csv.gz"):
        path = base / f"{entry.name}{suffix}"
        if path.is_file():
            return path
    return None


def available() -> tuple[Entry, ...]:
    """Entries whose files are in the data folder.

    Returns
    -------
    tuple of Entry
        In the order of the inventory.

    Examples
    --------
    >>> len(available()) + len(missing()) == len(INVENTORY)
    True
    """
    return tuple(entry for entry in INVENTORY if locate(entry) is not None)


def missing() -> tuple[Entry, ...]:
    """Entries whose files are not in the data folder.

    Returns
    -------
    tuple of Entry
        In the order of the inventory.

    Examples
    --------
    >>> set(available()) & set(missing())
    set()
    """
    return tuple(entry for entry in INVENTORY if locate(entry) is None)


def verify(name: str) -> Check:
    """Compare the shape of a file with the one it must have.

    Parameters
    ----------
    name : str
        As in `find`.

    Returns
    -------
    Check
        The shape that was found, and the problem if there is one.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", {"ORDINALITY_DATA": "nowhere"}):
    ...     verify("ordinal/era").problem
    'missing; get it from Python package skordinal 0.2.0'
    """
    entry = find(name)
    path = locate(entry)
    if path is None:
        return Check(entry, None, None, f"missing; get it from {entry.origin.where}")
    try:
        names, *below = _rows(path)
    except ValueError as problem:
        return Check(entry, None, None, f"cannot be read: {problem}")
    rows, columns = len(below), len(names)
    if (rows, columns) == (entry.rows, entry.columns):
        return Check(entry, rows, columns, "")
    wanted = f"{entry.rows} of {entry.columns}"
    return Check(entry, rows, columns, f"has {rows} rows of {columns} columns, not {wanted}")


# ---------------------------------------------------------------- reading files


def read(entry: Entry) -> Mapping[str, Array]:
    """Columns of the file of an entry; a missing one is an error that says where to get it."""
    path = locate(entry)
    if path is None:
        raise MissingDataError(
            f"{entry.file} is not in {data_folder()}; get it from {entry.origin.where} "
            f"(licence: {entry.origin.licence}), or set {VARIABLE} to the folder that holds "
            f"{entry.folder}/."
        )
    return read_columns(path)


def read_columns(path: Path) -> Mapping[str, Array]:
    """Columns of a CSV file by name: floats with NaN for empty cells, or text.

    The arrays are shared between calls and cannot be written to.
    """
    state = path.stat()
    return _columns(path, state.st_mtime_ns, state.st_size)  # a file that changed is read again


@lru_cache(maxsize=KEPT)
def _columns(path: Path, changed: int, size: int) -> Mapping[str, Array]:
    names, *rows = _rows(path)
    return dict(zip(names, map(_column, zip(*rows, strict=True)), strict=True))


def _rows(path: Path) -> list[list[str]]:
    """Header and rows of a CSV file, all of equal length; gzipped if it ends in ``.gz``."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
        if len(rows) < 2:
            raise csv.Error("no row under the header")
        for number, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise csv.Error(f"row {number} has {len(row)} cells, the header {len(rows[0])}")
    except (csv.Error, OSError, EOFError, zlib.error, UnicodeDecodeError) as problem:
        raise ValueError(
            f"{path} cannot be read as a table ({problem}); expected comma-separated lines of "
            "equal length in UTF-8: download the file again."
        ) from problem
    return rows


def _column(cells: Sequence[str]) -> Array:
    values: Array
    try:
        values = np.array([cell or "nan" for cell in cells], dtype=np.float64)
    except ValueError:
        values = np.array(cells, dtype=np.str_)
    values.setflags(write=False)
    return values
