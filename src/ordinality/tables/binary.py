"""Reading Parquet and Arrow files in a process of their own.

Damage in such a file can make polars panic, which writes a backtrace past ``sys.stderr``, or
abort, which ends the process. So a child process reads the file from its standard input, and
writes the table to its standard output as an Arrow file that is known to be sound. The child
runs this file as a script; nothing of the package is imported there.
"""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["frame_apart"]

CELL = 8  # bytes of a number in memory
TOO_LARGE = 3  # exit code; the number of bytes is then on standard output


def frame_apart(raw: bytes, kind: str, limit: int) -> tuple[Any, int]:
    """The polars frame of a "parquet" or "ipc" file, or None if it cannot be read.

    Also its size in memory, if that exceeds the limit; the file is then not read.
    """
    import polars

    home = str(Path(polars.__file__).parents[1])
    # -P: no file of the current folder is imported, whatever its name is.
    command = [sys.executable or "python3", "-P", __file__, kind, str(limit), home]
    child = subprocess.run(
        command, input=raw, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    if child.returncode == 0:
        return polars.read_ipc(io.BytesIO(child.stdout)), 0
    if child.returncode == TOO_LARGE:
        return None, int(child.stdout)
    if child.returncode == -getattr(signal, "SIGKILL", 9):  # the system, short of memory
        raise MemoryError("the table does not fit into memory")
    return None, 0


def _child(kind: str, limit: int, home: str) -> None:
    """Read standard input, write the table to standard output."""
    sys.path.append(home)  # where the parent found polars
    import polars

    parquet = kind == "parquet"
    scan: Any = polars.scan_parquet if parquet else polars.scan_ipc
    read: Any = polars.read_parquet if parquet else polars.read_ipc
    raw = sys.stdin.buffer.read()
    lazy = scan(io.BytesIO(raw))
    rows = lazy.select(polars.len()).collect().item()  # from the footer alone
    size = CELL * rows * len(lazy.collect_schema())
    if size > limit:
        sys.stdout.write(str(size))
        sys.stdout.flush()
        sys.exit(TOO_LARGE)
    read(io.BytesIO(raw)).write_ipc(sys.stdout.buffer)


if __name__ == "__main__":
    _child(sys.argv[1], int(sys.argv[2]), sys.argv[3])
