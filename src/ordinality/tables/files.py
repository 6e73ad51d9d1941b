"""Data files in, named columns out: the only module that knows file formats.

The suffix names the format, and the first bytes may contradict it. Files are read by polars,
which is imported when the first one is. Whatever cannot be read is refused in one sentence that
says where the trouble is.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import narwhals as nw

from .delimited import decoded, frame_of_text
from .frames import Table, TableError, nearest

__all__ = ["need_polars", "read"]

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
PARQUET, ARROW, GZIP = b"PAR1", b"ARROW1", b"\x1f\x8b"


def read(path: str | Path) -> Table:
    r"""Read a data file; its suffix names the format.

    Parameters
    ----------
    path : str or Path
        A ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``, ``.ipc``, ``.jsonl`` or
        ``.ndjson`` file, also with ``.gz`` behind; or ``"-"`` for standard input, whose format
        is recognised. Text may be in any of the usual encodings and separated by commas,
        semicolons, tabs or bars; with the latter three, commas may be decimal points.

    Returns
    -------
    Table
        At least one column and one row; its notes say what was guessed.

    Raises
    ------
    TableError
        When there is no such file, or it does not hold a table in that format.

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
        raise TableError(f"{source} is empty; a table with a line of column names was wanted.")
    need_polars()
    kind = FORMATS[suffix] if suffix else _recognised(raw)
    if kind == "text":
        text, notes = decoded(raw, source)
        if not text.strip():
            raise TableError(f"{source} is empty; a line of column names was wanted.")
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


# ---------------------------------------------------------------- bytes


def _contents(path: str | Path) -> tuple[bytes, str, str]:
    """The bytes of a file, unzipped, with the suffix that names its format and its name."""
    if str(path) == "-":
        raw = sys.stdin.buffer.read()
        return _unzipped(raw, "standard input"), "", "standard input"
    path = Path(path)
    try:
        suffix = _suffix(path)
        raw = path.read_bytes()
    except TableError:
        raise
    except PermissionError:
        raise TableError(f"{path} may not be read by you; ask for the permission.") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise TableError(f"{path} cannot be read ({reason}); check the path.") from None
    if path.suffix.lower() == ".gz" and raw and not raw.startswith(GZIP):
        raise TableError(f"{path} is not compressed with gzip; take .gz off its name.")
    return _unzipped(raw, str(path)), suffix, str(path)


def _suffix(path: Path) -> str:
    """The suffix of a file that is there and in a format that can be read."""
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = nearest(path.name, beside) or "check the path."
        raise TableError(f"There is no file {path}; {hint}")
    zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if zipped else path.name).suffix.lower()
    if suffix in SHEETS:
        raise TableError(f"{path} is a spreadsheet; save the sheet with the table as CSV.")
    if suffix == ".json":
        raise TableError(
            f"{path} is called .json; save it as JSON lines (.jsonl), one object on each line."
        )
    if suffix not in FORMATS:
        raise TableError(
            f"{path} does not end in a format that can be read; "
            f"save it as one of {', '.join(FORMATS)} (also with .gz behind)."
        )
    return suffix


def _unzipped(raw: bytes, source: str) -> bytes:
    if not raw.startswith(GZIP):
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, zlib.error, OSError):
        raise TableError(
            f"{source} breaks off or is damaged within its gzip compression; fetch or compress "
            "it again."
        ) from None


def _recognised(raw: bytes) -> str:
    """Kind of a file that has no name."""
    if raw.startswith(PARQUET):
        return "parquet"
    if raw.startswith(ARROW):
        return "ipc"
    return "lines" if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "text"


def need_polars() -> None:
    """Say what to install where polars is missing.

    Raises
    ------
    ModuleNotFoundError
        With the command that installs it.

    Examples
    --------
    >>> need_polars()
    """
    try:
        import polars  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading data files needs polars, which is not installed; "
            'type: pip install "ordinality[cli]"'
        ) from None


# ---------------------------------------------------------------- formats


def _binary(raw: bytes, kind: str, suffix: str, source: str) -> Any:
    """A polars frame of a Parquet or an Arrow file."""
    import polars

    magic, name = (PARQUET, "Parquet") if kind == "parquet" else (ARROW, "Arrow")
    if not raw.startswith(magic):
        raise TableError(
            f"{source} cannot be read as {suffix}: it does not begin as {name} files do; give "
            "it the suffix of its true format."
        )
    broken = TableError(
        f"{source} cannot be read as {suffix}: the {name} file is cut off or damaged; write or "
        "fetch it again."
    )
    if not raw.endswith(magic):  # both begin and end alike
        raise broken
    try:
        if kind == "parquet":
            return polars.read_parquet(io.BytesIO(raw))
        return polars.read_ipc(io.BytesIO(raw))
    # Damage shows as any of polars' errors, or as a panic of its core, which is no Exception.
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise broken from None


def _json_lines(raw: bytes, source: str) -> tuple[Any, list[str]]:
    """A polars frame of JSON lines, one object each."""
    import polars

    text, notes = decoded(raw, source)
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if line.strip():
            rows.append(_object(line, number, source))
    if not rows:
        raise TableError(f"{source} is empty; one JSON object on each line was wanted.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    return polars.DataFrame([_series(name, cells) for name, cells in columns.items()]), notes


def _object(line: str, number: int, source: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as problem:
        reason = getattr(problem, "msg", "nested too deeply")
        raise TableError(
            f"{source} is broken in line {number} ({reason}); every line must hold one JSON "
            "object."
        ) from None
    if not isinstance(row, dict):
        raise TableError(
            f"{source} holds {line.strip()[:20]!r} in line {number}; every line must hold one "
            'JSON object, such as {"dose": 1.5, "effect": "none"}.'
        )
    return row


def _series(name: str, cells: list[Any]) -> Any:
    """A polars column of what JSON holds; numbers among words become words, as in CSV."""
    import polars

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} and float in kinds:
        cells = [None if cell is None else float(cell) for cell in cells]
    elif str in kinds and kinds <= {str, int, float, bool}:
        cells = [cell if cell is None else str(cell) for cell in cells]
    try:
        return polars.Series(name, cells)
    except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError):
        return polars.Series(name, [str(cell) for cell in cells], dtype=polars.Object)
