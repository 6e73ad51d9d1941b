"""Reading Parquet and Arrow files in a process of their own.

Damage in such a file can make polars panic, which writes a backtrace past ``sys.stderr``, or
abort, which ends the process. So a child process reads files, and writes blocks of rows to its
standard output as Arrow files that are known to be sound. If it ends before it says so, the
file that it was reading is damaged. The child runs this file as a script; nothing of the
package is imported there.
"""

from __future__ import annotations

import io
import json
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["CELL", "Described", "UnreadableError", "blocks_apart", "described", "frame_apart"]

CELL = 8  # bytes of a number in memory
HEAD = struct.Struct("<qqq")  # file, its first row in this block, number of bytes that follow
ABOUT, DONE = -1, -1  # as first row: the bytes describe the file; as file: nothing follows


class UnreadableError(Exception):
    """A file that is not what its first bytes say; its place in the list is the argument."""


class Described(NamedTuple):
    """What the end of a file says of it."""

    rows: int
    kinds: dict[str, str]  # of each column: number, text, truth value, nothing, or a type

    @property
    def size(self) -> int:
        """Bytes that its cells would take in memory, if all were numbers."""
        return CELL * self.rows * len(self.kinds)


def frame_apart(raw: bytes, kind: str, limit: int) -> tuple[Any, int]:
    """The polars frame of a "parquet" or "ipc" file, or None if it cannot be read.

    Also its size in memory, if that exceeds the limit; the file is then not read.
    """
    import polars

    about, frame = None, None
    try:
        for _, first, content in _received([None], kind, limit=limit, raw=raw):
            if first == ABOUT:
                about = Described(*json.loads(content))
            else:
                frame = polars.read_ipc(io.BytesIO(content))
    except UnreadableError:
        return None, 0
    return frame, about.size if about is not None and frame is None else 0


def described(files: Sequence[str], kind: str, hive: bool = False) -> list[Described]:
    """Rows and columns of each file, without reading the rows."""
    found = _received(files, kind, limit=-1, hive=hive)
    return [Described(*json.loads(content)) for _, _, content in found]


def blocks_apart(
    files: Sequence[str], kind: str, rows: int, columns: Sequence[str] | None, hive: bool
) -> Iterator[tuple[int, int, Any]]:
    """Blocks of at most so many rows: place of the file, first row, polars frame."""
    import polars

    for file, first, content in _received(
        files, kind, rows=rows, columns=columns and list(columns), hive=hive
    ):
        if first != ABOUT:
            yield file, first, polars.read_ipc(io.BytesIO(content))


def _received(
    files: Sequence[str | None], kind: str, *, raw: bytes = b"", **request: Any
) -> Iterator[tuple[int, int, bytes]]:
    """What the child sends, in order; a file None is ``raw``."""
    import polars

    home = str(Path(polars.__file__).parents[1])
    request = {"files": list(files), "kind": kind, **request}
    # -P: no file of the current folder is imported, whatever its name is.
    command = [sys.executable or "python3", "-P", __file__, home]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert child.stdin is not None
    assert child.stdout is not None
    file = 0
    try:
        with suppress(BrokenPipeError), child.stdin:  # it may have ended already
            child.stdin.write(json.dumps(request).encode() + b"\n" + raw)
        while len(head := child.stdout.read(HEAD.size)) == HEAD.size:
            file, first, size = HEAD.unpack(head)
            if file == DONE:
                return
            content = child.stdout.read(size)
            if len(content) < size:
                break
            if content:
                yield file, first, content
        if child.wait() == -getattr(signal, "SIGKILL", 9):  # the system, short of memory
            raise MemoryError("the table does not fit into memory")
        raise UnreadableError(file)
    finally:
        child.kill()
        child.stdout.close()
        child.wait()


def _child(home: str) -> None:
    """Read the files that standard input names, write blocks to standard output."""
    sys.path.append(home)  # where the parent found polars
    request = json.loads(sys.stdin.buffer.readline())
    for place, path in enumerate(request["files"]):
        _send(place, ABOUT)  # from now on, damage is in this file
        _send_file(place, path or sys.stdin.buffer.read(), **request)
    _send(DONE, 0)


def _send_file(
    place: int, source: str | bytes, files: list[str | None], kind: str, rows: int = 0,
    columns: list[str] | None = None, limit: int | None = None, hive: bool = False,
) -> None:  # fmt: skip
    import polars

    scan: Any = polars.scan_parquet if kind == "parquet" else polars.scan_ipc
    if isinstance(source, bytes):
        lazy = scan(io.BytesIO(source))
    else:
        lazy = scan(source, hive_partitioning=hive)
    schema = lazy.collect_schema()
    count = lazy.select(polars.len()).collect().item()  # from the end of the file alone
    about = count, {name: _kind(dtype) for name, dtype in schema.items()}
    _send(place, ABOUT, json.dumps(about).encode())
    if limit is not None and Described(*about).size > limit:
        return
    lazy = lazy if columns is None else lazy.select(columns)
    for first in range(0, max(count, 1), rows or max(count, 1)):
        block = io.BytesIO()
        # Not all at once, and not `collect_batches`, which reads ahead.
        (lazy.slice(first, rows) if rows else lazy).collect().write_ipc(block)
        _send(place, first, block.getvalue())


def _kind(dtype: Any) -> str:
    """What a column holds, in a word."""
    import polars

    if dtype.is_numeric():
        return "number"
    names = {polars.String: "text", polars.Categorical: "text", polars.Boolean: "truth value"}
    return {**names, polars.Null: "nothing"}.get(dtype.base_type(), str(dtype))


def _send(place: int, first: int, content: bytes = b"") -> None:
    sys.stdout.buffer.write(HEAD.pack(place, first, len(content)))
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    _child(sys.argv[1])
