"""Rows of results: a compressed file of JSON lines, and a plain one that is appended to.

A row is written whole, flushed and synced to the disk before the next cell begins, so that a
killed process loses at most the cell it was computing. It may leave an unfinished last line:
reading skips it, and the next writer removes it. Any other line that is not a row is left out
and reported, so that one odd line costs one cell and not the file. One process writes at a
time, ensured by a lock that the system releases with the process.

`Store.pack` moves the rows of the plain file into the compressed one beside it. Equal rows
give equal bytes there, whatever the order in which they were computed.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ordinality._files import put
from ordinality.experiments.spec import Cell

__all__ = ["Row", "Store", "cell_of", "converted"]


Row = dict[str, Any]


class Store:
    """The rows of one experiment.

    Parameters
    ----------
    path : str or path
        Of the file that rows are appended to, such as ``results/mine.jsonl``. Neither it nor
        the compressed ``results/mine.jsonl.gz`` beside it need exist yet.

    Attributes
    ----------
    problems : list of str
        What the last call of `rows` left out, one sentence per line of a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ordinality.experiments import Store
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
        self.packed = self.path.with_name(f"{self.path.name}.gz")
        self.problems: list[str] = []

    def rows(self) -> dict[str, Row]:
        """Rows by the key of their cell; the later of two rows of one cell is taken.

        Lines that are not rows are left out and listed in `problems`, except an unfinished last
        line, which a killed writer leaves behind.

        Returns
        -------
        rows : dict of str to dict
            By `Cell.key`.
        """
        return {key: row for key, (row, _) in self._read().items()}

    @contextmanager
    def writing(self) -> Iterator[Callable[[Mapping[str, Any]], None]]:
        """A function that appends a row; no other process can write meanwhile.

        Yields
        ------
        append : callable
            Takes a row as a mapping. The row is on the disk when it returns.
        """
        with self._locked() as file:

            def append(row: Mapping[str, Any]) -> None:
                plain = converted(row, _no_infinities)
                line = json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()
                _row(line)  # what could not be read again is not written
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())

            yield append

    def pack(self) -> int:
        """Move all rows into the compressed file, sorted by their keys.

        Killed in the middle, it leaves rows in both files, and the next call continues. A file
        with lines that are not rows is not packed: they would be lost.

        Returns
        -------
        count : int
            Rows in the compressed file.
        """
        with self._locked() as file:
            found = self._read()
            if self.problems:
                raise ValueError(
                    f"{self.problems[0]} Remove what is not a row before packing "
                    f"({len(self.problems)} in all)."
                )
            if found:
                content = b"".join(found[key][1] + b"\n" for key in sorted(found))
                put(self.packed, gzip.compress(content, mtime=0))  # no name, no time
            file.truncate(0)
            with contextlib.suppress(PermissionError):  # of Windows, where the file is open
                self.path.unlink()
        return len(found)

    def _read(self) -> dict[str, tuple[Row, bytes]]:
        """Rows with the lines they come from, of the compressed file and then of the plain."""
        found: dict[str, tuple[Row, bytes]] = {}
        self.problems = []
        for path, content in self._contents():
            lines = content.split(b"\n")
            for number, line in enumerate(lines, start=1):
                if not line.strip() or (number == len(lines) and not _is_json(line)):
                    continue
                try:
                    key, row = _row(line)
                except ValueError as problem:
                    self.problems.append(
                        f"{path}, line {number}: {problem}; the line is left out."
                    )
                else:
                    found[key] = row, line
        return found

    def _contents(self) -> Iterator[tuple[Path, bytes]]:
        if self.packed.exists():
            unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)  # 16: a gzip header
            with contextlib.suppress(zlib.error):
                yield self.packed, unpacker.decompress(self.packed.read_bytes())
            if not unpacker.eof:
                self.problems.append(
                    f"{self.packed} is truncated or corrupt; its last rows are left out."
                )
        if self.path.exists():
            yield self.path, self.path.read_bytes()

    @contextmanager
    def _locked(self) -> Iterator[Any]:
        """The plain file, open for appending, its lock held and its last line whole."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file, _exclusive(file, self.path):
            there = self.path.exists() and os.path.samestat(
                os.fstat(file.fileno()), self.path.stat()
            )
            if not there:  # packed and removed between opening and locking
                raise ValueError(f"{self.path} was packed by another run; start again.")
            _end_last_line(file)
            yield file


def cell_of(row: Mapping[str, Any]) -> Cell:
    """The cell that a row is the result of."""
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


def converted(value: Any, number: Callable[[Any], Any]) -> Any:
    """The same in Python's own dicts, lists and numbers, each number given to a function."""
    if isinstance(value, Mapping):
        return {str(key): converted(item, number) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [converted(item, number) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return converted(value.tolist(), number)
    return number(value)


def _no_infinities(value: Any) -> Any:
    """Infinities and NaN as text, since JSON has none."""
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _end_last_line(file: Any) -> None:
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
def _exclusive(file: Any, path: Path) -> Iterator[None]:
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
