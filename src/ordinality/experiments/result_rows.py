"""Rows of results in a file of JSON lines, which is only appended to.

A row is written whole, flushed and synced to the disk before the next cell begins, so that a
killed process loses at most the cell it was computing. It may leave an unfinished last line:
reading skips it, and the next writer removes it. Any other line that is not a row is left out
and reported, so that one odd line costs one cell and not the file. One process writes at a
time, ensured by a lock that the system releases with the process.
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

from ordinality.experiments.spec import Cell

__all__ = ["Row", "Store", "cell_of"]


Row = dict[str, Any]


class Store:
    """The rows of one experiment.

    Parameters
    ----------
    path : str or path
        Of a file that need not exist yet.

    Attributes
    ----------
    problems : list of str
        What the last call of `rows` left out, one sentence per line of the file.

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
        self.problems: list[str] = []

    def rows(self) -> dict[str, Row]:
        """Rows by the key of their cell; the later of two rows of one cell is taken.

        Lines that are not rows are left out and listed in `problems`, except an unfinished last
        line, which a killed writer leaves behind.
        """
        found: dict[str, Row] = {}
        self.problems = []
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        for number, line in enumerate(lines, start=1):
            if not line.strip() or (number == len(lines) and not _is_json(line)):
                continue
            try:
                key, row = _row(line)
            except ValueError as problem:
                self.problems.append(
                    f"{self.path}, line {number}: {problem}; the line is left out."
                )
            else:
                found[key] = row
        return found

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A function that appends a row; no other process can write meanwhile."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file, _alone(file, self.path):
            _mend(file)

            def append(row: Mapping[str, Any]) -> None:
                line = json.dumps(_plain(row), allow_nan=False, ensure_ascii=False).encode()
                _row(line)  # what could not be read again is not written
                file.write(line + b"\n")
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


# ------------------------------------------------------------------------------ reading


def _row(line: bytes) -> tuple[str, Row]:
    """Key and row of a line; a ValueError says what is wrong with it."""
    try:
        row = DECODER.decode(line.decode())
        _check(row)
        row["metrics"] = {name: _number(v, name) for name, v in row.get("metrics", {}).items()}
        return cell_of(row).key, row
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("it is torn or corrupt (not JSON)") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value


def _integer(text: str) -> int:
    if len(text) > 300:  # the largest float has 309 digits
        raise ValueError(f"it holds a number of {len(text)} digits")
    return int(text)


# Infinities and NaN are written as text; as numbers they come from elsewhere.
DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_finite,
    parse_int=_integer,
    parse_constant=_finite,
)


def _check(row: Any) -> None:
    """Refuse JSON that is not a row: each entry must have its type."""
    if not isinstance(row, dict):
        raise ValueError("it is not an object")
    for name in ("experiment", "set", "method"):
        if not isinstance(row.get(name), str):
            raise ValueError(f"{name} is {_shown(row.get(name))}, not text")
    partition = row.get("partition")
    if type(partition) is not int or not 0 <= partition < 2**31:
        raise ValueError(f"partition is {_shown(partition)}, not a number of a partition")
    for name in ("settings", "metrics", "error"):
        if not isinstance(row.get(name, {}), dict):
            raise ValueError(f"{name} is {_shown(row[name])}, not an object")
    if "metrics" not in row and "error" not in row:
        raise ValueError("it has neither metrics nor an error")


def _shown(value: Any) -> str:
    """The start of a value as JSON, for a message."""
    text = json.dumps(value)
    return text if len(text) <= 20 else f"{text[:20]}..."


def _number(value: Any, name: str) -> Any:
    """A metric: a number, null, or a list of them; "inf", "-inf" and "nan" are numbers."""
    if isinstance(value, list):
        return [_number(item, name) for item in value]
    if value in ("inf", "-inf", "nan"):
        return float(value)
    if isinstance(value, str | dict):
        raise ValueError(f"the metric {name} is {_shown(value)}, not a number")
    return value


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


# ------------------------------------------------------------------------------ writing


def _plain(value: Any) -> Any:
    """The same value of Python's own numbers, lists and dicts, for JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def _mend(file: Any) -> None:
    """End the last line: with a newline if it is complete, else by removing it."""
    file.seek(0)
    content = file.read()
    whole, _, tail = content.rpartition(b"\n")
    if not tail:
        return
    if _is_json(tail):
        file.write(b"\n")
    else:
        file.truncate(len(whole) + 1 if whole else 0)
    file.flush()


@contextmanager
def _alone(file: Any, path: Path) -> Iterator[None]:
    """Hold the file's lock; the system releases it with the process, however that ends."""
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
