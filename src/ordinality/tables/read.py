"""Reading data files: CSV, Parquet, Arrow and JSON lines, plain or compressed with gzip.

The suffix names the format, and the first bytes must agree with it. Files are read by polars,
which is imported with the first file. A file that cannot be read is refused in one sentence
that says where the problem is.

A gzip file of one megabyte can hold a gigabyte of zeros, and a Parquet file of one kilobyte a
billion equal rows. Both are refused before the memory is taken.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import zlib
from pathlib import Path
from typing import Any

import narwhals as nw

from ordinality._text import nested_deeper

from .binary import frame_apart
from .delimited import decoded, frame_of_text
from .frames import Table, TableError, nearest

__all__ = ["FORMATS", "format_suffix", "need_polars", "read", "unpacked"]

# Suffix -> kind of file.
FORMATS = {
    ".csv": "text",
    ".tsv": "text",
    ".parquet": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".jsonl": "lines",
    ".ndjson": "lines",
}
SHEETS = {".xlsx", ".xls", ".xlsm", ".ods", ".numbers"}
PARQUET, ARROW, GZIP = b"PAR1", b"ARROW1", b"\x1f\x8b"  # first bytes
NESTED = 32  # levels of lists and objects within one line of JSON; deeper ones are refused

VARIABLE = "ORDINALITY_MAX_UNPACKED"
MAX_UNPACKED = 2 * 2**30  # bytes; reading a table takes several times its size in memory
MAX_RATIO = 200  # text tables compress 3 to 30 times; gzip reaches 1032 on equal bytes
RATIO_FROM = 64 * 2**20  # bytes; what unpacks to less is harmless at any ratio
PIECE = 2**20  # bytes unpacked at a time


def read(path: str | Path) -> Table:
    r"""Read a data file; its suffix names the format.

    Parameters
    ----------
    path : str or Path
        A ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``, ``.ipc``, ``.jsonl`` or
        ``.ndjson`` file, also with ``.gz`` appended; or ``"-"`` for standard input, whose
        format is detected. Text may be in any of the usual encodings and separated by commas,
        semicolons, tabs or bars; with the latter three, commas may be decimal points.
        Compressed files may unpack to at most 2 GiB and 200 times their size; the environment
        variable ``ORDINALITY_MAX_UNPACKED`` sets another number of bytes.

    Returns
    -------
    Table
        Table with at least one column and one row; its notes say what was guessed.

    Raises
    ------
    TableError
        If the file does not exist or does not hold a table in that format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "trial.csv")
    ...     _ = path.write_text("dose,effect\n1,none\n2,some\n")
    ...     read(path).names
    ('dose', 'effect')
    """
    raw, suffix, source = _contents(path)
    if not raw.strip():
        raise TableError(f"{source} is empty; expected a table with a line of column names.")
    need_polars()
    kind = FORMATS[suffix] if suffix else _detected(raw)
    if kind == "text":
        text, notes = decoded(raw, source)
        native, more = frame_of_text(text, source, "\t" if suffix == ".tsv" else "")
        notes += more
    elif kind == "lines":
        native, notes = _json_lines(raw, source)
    else:
        native, notes = _binary(raw, kind, suffix or f".{kind}", source), []
    frame = nw.from_native(native, eager_only=True)
    if not len(frame) or not frame.columns:
        raise TableError(f"{source} names columns but has no rows; add the data below them.")
    return Table(frame, source, tuple(notes))


def _contents(path: str | Path) -> tuple[bytes, str, str]:
    """The bytes of a file, unpacked, with the suffix that names its format and its name."""
    if str(path) == "-":
        raw = sys.stdin.buffer.read()
        return unpacked(raw, "standard input"), "", "standard input"
    path = Path(path)
    # A file name may hold bytes that are not text; a source is printed and stored as UTF-8.
    source = str(path).encode("utf-8", "backslashreplace").decode()
    try:
        suffix = _suffix(path, source)
        raw = path.read_bytes()
    except TableError:
        raise
    except PermissionError:
        raise TableError(f"{source} cannot be read: permission denied.") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise TableError(f"{source} cannot be read ({reason}); check the path.") from None
    if path.suffix.lower() == ".gz" and raw and not raw.startswith(GZIP):
        raise TableError(f"{source} is not compressed with gzip; remove .gz from its name.")
    return unpacked(raw, source), suffix, source


def _suffix(path: Path, source: str) -> str:
    """The suffix of a file that exists and is in a format that can be read."""
    if path.is_dir():
        raise TableError(f"{source} is a folder; name a file in it.")
    if not path.exists():
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = nearest(path.name, beside) or "check the path."
        raise TableError(f"There is no file {source}; {hint}")
    suffix = format_suffix(path)
    if suffix in SHEETS:
        raise TableError(f"{source} is a spreadsheet; save the sheet with the table as CSV.")
    if suffix == ".json":
        raise TableError(
            f"{source} is called .json; save it as JSON lines (.jsonl), one object per line."
        )
    if suffix not in FORMATS:
        raise TableError(
            f"{source} does not end in a format that can be read; "
            f"save it as one of {', '.join(FORMATS)} (also with .gz appended)."
        )
    return suffix


def format_suffix(path: Path) -> str:
    """The suffix that names the format, in lower case, without ``.gz``."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def _detected(raw: bytes) -> str:
    """Kind of a file that has no name."""
    if raw.startswith(PARQUET):
        return "parquet"
    if raw.startswith(ARROW):
        return "ipc"
    return "lines" if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "text"


def need_polars() -> None:
    """Refuse with the command that installs polars if it is missing."""
    try:
        import polars  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Data files are read and written with polars, which is not installed; "
            'type: pip install "ordinality[cli]"'
        ) from None


# ---------------------------------------------------------------- formats


def _binary(raw: bytes, kind: str, suffix: str, source: str) -> Any:
    """A polars frame of a Parquet or an Arrow file."""
    magic, name = (PARQUET, "Parquet") if kind == "parquet" else (ARROW, "Arrow")
    if not raw.startswith(magic):
        raise TableError(
            f"{source} cannot be read as {suffix}: it does not begin as {name} files do; give "
            "it the suffix of its actual format."
        )
    found, size = None, 0
    if raw.endswith(magic):  # both formats begin and end with it
        found, size = frame_apart(raw, kind, _limit())
    if size:
        _refuse_size(size, source)
    if found is None:
        raise TableError(
            f"{source} cannot be read as {suffix}: the {name} file is truncated or corrupt; "
            "write or download it again."
        )
    return found


def _json_lines(raw: bytes, source: str) -> tuple[Any, list[str]]:
    """A polars frame of JSON lines, one object each."""
    import polars

    text, notes = decoded(raw, source)
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if line.strip():
            rows.append(_object(line, number, source))
    if not rows:
        raise TableError(f"{source} is empty; expected one JSON object per line.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: _series(name, [row.get(name) for row in rows]) for name in names}
    return polars.DataFrame(columns), notes


def _object(line: str, number: int, source: str) -> dict[str, Any]:
    """One line of JSON as a dict."""
    try:
        row = DECODER.decode(line.strip())
        if not isinstance(row, dict):
            raise TableError(
                f"{source} holds {line.strip()[:20]!r} in line {number}; every line must hold "
                'one JSON object, such as {"dose": 1.5, "effect": "none"}.'
            )
        if nested_deeper(row, NESTED):
            raise RecursionError
    except (json.JSONDecodeError, RecursionError) as problem:
        reason = getattr(problem, "msg", "nested too deeply")
        raise TableError(
            f"{source} is broken in line {number} ({reason}); every line must hold one JSON "
            "object."
        ) from None
    if "\\u" in line:
        _refuse_surrogates(row, number, source)
    return row


def _integer(digits: str) -> int | float:
    """An integer; a float where polars has no type that is wide enough."""
    return int(digits) if len(digits) <= 38 else float(digits)


DECODER = json.JSONDecoder(parse_int=_integer)


def _refuse_surrogates(row: dict[str, Any], number: int, source: str) -> None:
    """Refuse half a character, which JSON can express and no encoding can."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        half = f"\\u{ord(problem.object[problem.start]):04x}"
        raise TableError(
            f"{source} holds {half} in line {number}, which is half of a character (a lone "
            "surrogate); write the whole character."
        ) from None


def _series(name: str, cells: list[Any]) -> Any:
    """A polars column of JSON values; numbers among words become words, as in CSV."""
    import polars

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} and float in kinds:
        cells = [None if cell is None else float(cell) for cell in cells]
    elif len(kinds) > 1 and kinds <= {str, int, float, bool}:
        cells = [cell if cell is None else str(cell) for cell in cells]
    try:
        return polars.Series(name, cells)
    except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError):
        return polars.Series(name, [str(cell) for cell in cells], dtype=polars.Object)


# ---------------------------------------------------------------- compressed files


def unpacked(raw: bytes, source: str) -> bytes:
    """Contents of a gzip file of one or several members; other bytes are returned unchanged."""
    if not raw.startswith(GZIP):
        return raw
    pieces, size, packed = [], 0, io.BytesIO(raw)
    try:
        with gzip.GzipFile(fileobj=packed) as file:
            while piece := file.read(PIECE):
                pieces.append(piece)
                size += len(piece)
                _refuse_size(size, source, packed=packed.tell())
    except (EOFError, zlib.error, OSError):
        raise TableError(
            f"{source} is truncated or corrupt (gzip); download or compress it again."
        ) from None
    return b"".join(pieces)


def _refuse_size(size: int, source: str, packed: int | None = None) -> None:
    """Refuse a table that takes more bytes unpacked than the limit.

    `packed` is how many bytes of the file it took, if their ratio is limited too: Parquet and
    Arrow store repeated values at any ratio.
    """
    stated, limit = _stated_limit(), _limit()
    if size > limit:
        what = f"more than {_bytes(limit)}"
    elif stated is None and packed and size > max(RATIO_FROM, MAX_RATIO * packed):
        what = f"more than {MAX_RATIO} times its compressed size"
    else:
        return
    raise TableError(
        f"{source} unpacks to {what}, the limit for compressed tables; if you trust the file, "
        f"set the environment variable {VARIABLE} to the number of bytes it may take."
    )


def _limit() -> int:
    """Bytes that a table may take unpacked."""
    stated = _stated_limit()
    return MAX_UNPACKED if stated is None else stated


def _stated_limit() -> int | None:
    """The limit set in the environment, or None."""
    stated = os.environ.get(VARIABLE, "")
    if not stated:
        return None
    if not (stated.isdecimal() and stated.isascii() and len(stated) < 20):
        raise TableError(f"{VARIABLE} is {stated!r}; set it to a number of bytes or unset it.")
    return int(stated)


def _bytes(size: float) -> str:
    """A number of bytes in a readable unit."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size = round(size / 1000, 1)
    return f"{size:.1f} GB"
