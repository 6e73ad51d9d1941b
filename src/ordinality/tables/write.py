"""Writing columns to data files, in the formats that `read` reads.

A file is written under another name in the same folder and then moved into place, so that
nobody reads half a file, and a full disk leaves the old file as it was. Blocks of rows are
written as they come: text is appended, and blocks of Parquet and Arrow wait in files beside.
"""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from ordinality._files import writing

from .columns import TableError, listed
from .read import FORMATS, format_suffix, need_polars

__all__ = ["formula_cells", "write", "write_blocks"]

# A spreadsheet takes a cell that begins so for a formula, unless it is a number.
FORMULA = r"^[=+\-@\t\r]"


def write(
    path: str | Path,
    columns: Mapping[str, Sequence[Any] | Any],
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
) -> None:
    """Write named columns to a file; its suffix names the format.

    Parameters
    ----------
    path : str or Path
        Any of the names that `read` takes; ``"-"`` is CSV on standard output.
    columns : mapping of str to sequence
        Columns of equal length. Their cells are written unchanged.
    force : bool, default=False
        Whether a file of that name may be replaced.
    spreadsheet_safe : bool, default=False
        Whether text that a spreadsheet would take for a formula (see `formula_cells`) gets an
        apostrophe before it. Applies to CSV and TSV; other formats have typed cells.

    Raises
    ------
    TableError
        If the file exists and ``force`` is not set, or the folder does not exist, or the
        format cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "out.csv")
    ...     write(path, {"level": ["low", "high"], "probability": [0.25, 0.75]})
    ...     path.read_text().splitlines()
    ['level,probability', 'low,0.25', 'high,0.75']
    """
    frame = _frame(columns)
    with write_blocks(path, force=force, spreadsheet_safe=spreadsheet_safe) as append:
        append(frame)


@contextmanager
def write_blocks(
    path: str | Path, *, force: bool = False, spreadsheet_safe: bool = False
) -> Iterator[Callable[[Any], None]]:
    """Write named columns block by block; the file is complete when the ``with`` block ends.

    Parameters
    ----------
    path : str or Path
        As for `write`.
    force : bool, default=False
        Whether a file of that name may be replaced.
    spreadsheet_safe : bool, default=False
        As for `write`.

    Yields
    ------
    callable
        ``append(columns)``, to be called with the columns of each block, the same ones.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ordinality.tables import write_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "out.csv")
    ...     with write_blocks(path) as append:
    ...         append({"level": ["low", "high"]})
    ...         append({"level": ["low"]})
    ...     path.read_text().splitlines()
    ['level', 'low', 'high', 'low']
    """
    suffix = ".csv" if str(path) == "-" else _writable(Path(path), force)
    kind = FORMATS[suffix]

    def framed(columns: Any) -> Any:
        frame = _frame(columns) if isinstance(columns, Mapping) else columns
        return _safe(frame) if spreadsheet_safe and kind == "text" else frame

    if str(path) == "-":
        with _text_blocks(None, suffix) as append:
            yield lambda columns: append(framed(columns))
        return
    try:
        with writing(Path(path)) as file:
            packed = Path(path).suffix.lower() == ".gz"
            # Without the time and the name: the same table, the same bytes.
            sink: Any = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else None
            with sink or nullcontext(file) as out:
                blocks = _text_blocks if kind in ("text", "lines") else _binary_blocks
                with blocks(out, suffix, Path(path).absolute().parent) as append:
                    yield lambda columns: append(framed(columns))
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise TableError(
            f"{path} cannot be written ({reason}); correct this or choose another folder."
        ) from None


def formula_cells(columns: Mapping[str, Sequence[Any] | Any]) -> int:
    """Number of texts that a spreadsheet would take for a formula, column names included.

    These begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and are not
    numbers. A formula can send the other cells of a sheet elsewhere when the file is opened.

    Parameters
    ----------
    columns : mapping of str to sequence
        As for `write`.

    Returns
    -------
    int
        Number of cells and column names.

    Examples
    --------
    >>> formula_cells({"level": ["low", "=1+1", "-5"], "change": [-1.0, 0.5, 2.0]})
    1
    """
    frame = _frame(columns)
    return sum(int(_formulas(text).sum()) for text in [_names(frame), *_texts(frame)])


def _frame(columns: Mapping[str, Any]) -> Any:
    """A polars frame of named columns."""
    need_polars()
    import polars

    return polars.DataFrame({name: polars.Series(name, c) for name, c in columns.items()})


def _names(frame: Any) -> Any:
    """The column names of a polars frame, as a column of text."""
    import polars

    return polars.Series(frame.columns, dtype=polars.String)


def _texts(frame: Any) -> list[Any]:
    """The columns of text of a polars frame, as strings."""
    import polars

    kinds = (polars.String, polars.Categorical, polars.Enum)
    return [c.cast(polars.String) for c in frame if isinstance(c.dtype, kinds)]


def _formulas(text: Any) -> Any:
    """Which cells of a polars column of text begin like a formula and are not numbers."""
    return text.str.contains(FORMULA) & text.cast(float, strict=False).is_null()


def _quoted(text: Any) -> Any:
    """The same polars column of text with an apostrophe before what looks like a formula."""
    quoted = ("'" + text).alias(text.name)
    return quoted.zip_with(_formulas(text).fill_null(False), text)


def _safe(frame: Any) -> Any:
    """A polars frame without cells or names that a spreadsheet takes for formulas."""
    frame = frame.with_columns(_quoted(text) for text in _texts(frame))
    names = _names(frame)
    return frame.rename(dict(zip(names, _quoted(names), strict=True)))


def _writable(path: Path, force: bool) -> str:
    """The suffix that names the format of a file that may be written."""
    suffix = format_suffix(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a file in it.")
    if suffix not in FORMATS:
        raise TableError(
            f"{path} does not end in a format that can be written; "
            f"choose one of {', '.join(FORMATS)} (also with .gz appended)."
        )
    if not path.parent.is_dir():
        raise TableError(
            f"There is no folder {path.parent} to write {path.name} into; create it first."
        )
    if path.exists() and not force:
        raise TableError(f"{path} exists; add `force` to replace it.")
    return suffix


@contextmanager
def _text_blocks(
    out: BinaryIO | None, suffix: str, home: Path | None = None
) -> Iterator[Callable[[Any], None]]:
    """Blocks of text, one after another; None is standard output."""
    first = True

    def append(frame: Any) -> None:
        nonlocal first
        content = _content(frame, suffix, header=first)
        first = False
        if out is None:
            sys.stdout.write(content.decode())
        else:
            out.write(content)

    yield append


@contextmanager
def _binary_blocks(out: BinaryIO, suffix: str, home: Path) -> Iterator[Callable[[Any], None]]:
    """Blocks of a format whose end says where they are: one, or several by way of files."""
    import polars

    blocks: list[Any] = []  # the first as a frame, then how many rows are in its file
    with tempfile.TemporaryDirectory(prefix=".", dir=home) as folder:

        def append(frame: Any) -> None:
            if len(blocks) == 1:
                blocks[0].write_ipc(Path(folder, "0.arrow"))
            if blocks:
                frame = _cast(frame, blocks[0].schema)
                frame.write_ipc(Path(folder, f"{len(blocks)}.arrow"))
            blocks.append(frame if not blocks else frame.height)

        yield append
        if len(blocks) == 1:
            out.write(_content(blocks[0], suffix))
        elif blocks:
            parts = [Path(folder, f"{i}.arrow") for i in range(len(blocks))]
            lazy: Any = polars.scan_ipc(parts)
            whole = Path(folder, "whole")
            (lazy.sink_parquet if FORMATS[suffix] == "parquet" else lazy.sink_ipc)(whole)
            with open(whole, "rb") as file:
                shutil.copyfileobj(file, out)


def _cast(frame: Any, schema: Any) -> Any:
    """A block with the types of the first one."""
    import polars

    try:
        return frame.cast(schema)
    except polars.exceptions.PolarsError:
        odd = next(name for name, dtype in frame.schema.items() if dtype != schema[name])
        raise TableError(
            f"{odd} holds values of different types in different rows, which one column of "
            "Parquet or Arrow cannot; write a .csv or .jsonl file."
        ) from None


def _content(frame: Any, suffix: str, header: bool = True) -> bytes:
    buffer = io.BytesIO()
    kind = FORMATS[suffix]
    if kind == "text":
        _refuse_nested(frame)
        separator = "\t" if suffix == ".tsv" else ","
        frame.write_csv(buffer, separator=separator, include_header=header)
    elif kind == "lines":
        frame.write_ndjson(buffer)
    elif kind == "parquet":
        frame.write_parquet(buffer)
    else:
        frame.write_ipc(buffer)
    return buffer.getvalue()


def _refuse_nested(frame: Any) -> None:
    """Refuse columns that delimited text cannot hold."""
    import polars

    odd = [
        name for name, kind in frame.schema.items() if kind.is_nested() or kind == polars.Binary
    ]
    if odd:
        raise TableError(
            f"CSV cannot hold lists, objects or bytes, as in {listed(odd)}; write a .parquet "
            "file, or leave them out."
        )
