"""Columns out: the same formats that are read, each file whole or not there at all.

A file is written beside its place under another name and then moved there, so that nobody meets
half of one, and a disk that fills up leaves the old one as it was.
"""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ordinality._files import put

from .files import FORMATS, need_polars
from .frames import TableError

__all__ = ["write"]


def write(
    path: str | Path, columns: Mapping[str, Sequence[Any] | Any], *, force: bool = False
) -> None:
    """Write named columns to a file; its suffix names the format.

    Parameters
    ----------
    path : str or Path
        Any of the names that `read` takes; ``"-"`` is CSV on standard output.
    columns : mapping of str to sequence
        Columns of equal length. Their cells are written as they are.
    force : bool, default=False
        Whether a file of that name may be replaced.

    Raises
    ------
    TableError
        When there is such a file and ``force`` is not set, or no such folder or format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "out.csv")
    ...     write(path, {"level": ["low", "high"], "probability": [0.25, 0.75]})
    ...     path.read_text().splitlines()
    ['level,probability', 'low,0.25', 'high,0.75']
    """
    need_polars()
    import polars

    frame = polars.DataFrame(
        {name: polars.Series(name, cells) for name, cells in columns.items()}
    )
    if str(path) == "-":
        sys.stdout.write(frame.write_csv())
        return
    path = Path(path)
    suffix = _writable(path, force)
    content = _content(frame, suffix)
    if path.suffix.lower() == ".gz":
        content = gzip.compress(content, mtime=0)  # the same table, the same bytes
    _put(path, content)


def _writable(path: Path, force: bool) -> str:
    """The suffix that names the format of a file that may be written."""
    zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if zipped else path.name).suffix.lower()
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a file in it.")
    if suffix not in FORMATS:
        raise TableError(
            f"{path} does not end in a format that can be written; "
            f"choose one of {', '.join(FORMATS)} (also with .gz behind)."
        )
    if not path.parent.is_dir():
        raise TableError(
            f"There is no folder {path.parent} to write {path.name} into; make it."
        )
    if path.exists() and not force:
        raise TableError(f"{path} exists; --force replaces it.")
    return suffix


def _content(frame: Any, suffix: str) -> bytes:
    buffer = io.BytesIO()
    kind = FORMATS[suffix]
    if kind == "text":
        frame.write_csv(buffer, separator="\t" if suffix == ".tsv" else ",")
    elif kind == "lines":
        frame.write_ndjson(buffer)
    elif kind == "parquet":
        frame.write_parquet(buffer)
    else:
        frame.write_ipc(buffer)
    return buffer.getvalue()


def _put(path: Path, content: bytes) -> None:
    try:
        put(path, content)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise TableError(
            f"{path} cannot be written ({reason}); choose another place or mend this one."
        ) from None
