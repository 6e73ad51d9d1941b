"""The data folder: where it is, what it holds, what is missing and where to get that.

The folder is named by the environment variable ``ORDINALITY_DATA``; without it, it is the
user's data directory. Its layout is that of the inventory: ``regression/abalone.csv.gz``.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ordinality.datasets.inventory import INVENTORY, Entry
from ordinality.datasets.reading import Table, read_csv, shape

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
    "verify",
]

VARIABLE = "ORDINALITY_DATA"


class MissingDataError(FileNotFoundError, ValueError):
    """A file is not in the data folder; the message says where to get it."""


@dataclass(frozen=True)
class Check:
    """What was found where a file of the inventory should be.

    Examples
    --------
    >>> Check(find("ordinal/era"), 999, 5, "has 999 rows of 5 columns, not 1000 of 5").ok
    False
    """

    entry: Entry
    rows: int | None  # None if there is no readable file
    columns: int | None
    problem: str  # empty if the file is as it should be

    @property
    def ok(self) -> bool:
        """Whether the file is there and has the right shape."""
        return not self.problem


def data_folder() -> Path:
    """Return the folder of data sets, which need not exist.

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
    """Entry of the inventory called `name`, or ``folder/name`` where folders share it.

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
    raise ValueError(f"{name!r} is no data set of the inventory; {_nearest(name, among)}")


def _nearest(name: str, among: tuple[Entry, ...]) -> str:
    from difflib import get_close_matches

    names = [e.key for e in among] if "/" in name else [e.name for e in among]
    close = dict.fromkeys(get_close_matches(name, names, n=2, cutoff=0.7))
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return "`ordinality data --json` lists them all."


def locate(entry: Entry) -> Path | None:
    """Where the file is, packed or not; None if it is not there."""
    base = data_folder() / entry.folder
    for suffix in (".csv.gz", ".csv") if entry.packed else (".csv", ".csv.gz"):
        path = base / f"{entry.name}{suffix}"
        if path.is_file():
            return path
    return None


def read(entry: Entry) -> Table:
    """Read the file of an entry; a missing one is an error that says where to get it."""
    path = locate(entry)
    if path is None:
        raise MissingDataError(
            f"{entry.file} is not in {data_folder()}; get it from {entry.origin.where} "
            f"(licence: {entry.origin.licence}), or set {VARIABLE} to the folder that holds "
            f"{entry.folder}/."
        )
    return read_csv(path)


def available() -> tuple[Entry, ...]:
    """Entries whose files are in the data folder.

    Examples
    --------
    >>> len(available()) + len(missing()) == len(INVENTORY)
    True
    """
    return tuple(entry for entry in INVENTORY if locate(entry) is not None)


def missing() -> tuple[Entry, ...]:
    """Entries whose files are not in the data folder.

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
        found, wanted = shape(path), (entry.rows, entry.columns)
    except ValueError as problem:
        return Check(entry, None, None, f"cannot be read: {problem}")
    if found == wanted:
        return Check(entry, *found, "")
    (rows, columns), (r, c) = found, wanted
    return Check(entry, rows, columns, f"has {rows} rows of {columns} columns, not {r} of {c}")
