"""Rows of results in a file of JSON lines, which only grows.

A row is written whole, flushed and forced to the disk before the next cell begins, so that a
process that is killed loses at most what it was computing. Half a line that it left behind is
taken off when the file is next written to; reading passes over it. One process writes at a
time, held by a lock that the system drops with the process.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ordinality.experiments.values import Cell

__all__ = ["Row", "Store", "cell_of"]

Row = dict[str, Any]


class Store:
    """The rows of one experiment.

    Parameters
    ----------
    path : str or path
        Of a file that need not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "demo.jsonl")
    ...     with store.writing() as append:
    ...         append({"experiment": "demo", "set": "a", "partition": 1, "method": "ep",
    ...                 "settings": {}, "metrics": {"mae": 0.5}})
    ...     [row["metrics"] for row in store.rows().values()]
    [{'mae': 0.5}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def rows(self) -> dict[str, Row]:
        """Rows by the key of their cell; of two of one cell the later counts.

        A line that is no row (half of one, at the end of a file whose writer was killed) is
        passed over.
        """
        found: dict[str, Row] = {}
        if self.path.exists():
            for line in self.path.read_bytes().split(b"\n"):
                row = _row(line)
                if row is not None:
                    found[cell_of(row).key] = row
        return found

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A function that appends a row, for as long as the file is ours alone."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file, _alone(file, self.path):
            _mend(file)

            def append(row: Mapping[str, Any]) -> None:
                line = json.dumps(_plain(row), allow_nan=False, ensure_ascii=False)
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())

            yield append


def cell_of(row: Mapping[str, Any]) -> Cell:
    """The cell that a row is the result of.

    Examples
    --------
    >>> cell_of({"experiment": "demo", "set": "a", "partition": 1, "method": "ep"}).set
    'a'
    """
    return Cell(
        row["experiment"],
        row["set"],
        int(row["partition"]),
        row["method"],
        row.get("settings", {}),
    )


def _row(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
        cell_of(row)
    except (ValueError, KeyError, TypeError):
        return None
    row["metrics"] = {name: _number(value) for name, value in row.get("metrics", {}).items()}
    return dict(row)


def _number(value: Any) -> Any:
    """A number again, where JSON has none: "inf", "-inf" and "nan" are written as text."""
    return float(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """The same with Python's own numbers, lists and dicts, for JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def _mend(file: Any) -> None:
    """End the last line: with a newline if it is whole, else by taking it off."""
    file.seek(0)
    content = file.read()
    whole, _, tail = content.rpartition(b"\n")
    if not tail:
        return
    if _row(tail) is not None:
        file.write(b"\n")
    else:
        file.truncate(len(whole) + 1 if whole else 0)
    file.flush()


@contextmanager
def _alone(file: Any, path: Path) -> Iterator[None]:
    """Hold the file's lock; the system drops it with the process, however that ends."""
    try:
        _lock(file)
    except OSError:
        raise ValueError(
            f"another run is writing to {path}; wait until it has ended, or name another "
            "folder of results."
        ) from None
    yield


if sys.platform == "win32":

    def _lock(file: Any) -> None:
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 2**30)

else:

    def _lock(file: Any) -> None:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
