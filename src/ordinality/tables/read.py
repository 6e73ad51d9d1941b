"""Reading data files: CSV, Parquet, Arrow and JSON lines, plain or compressed with gzip.

The suffix names the format, and the first bytes must agree with it. Files are read by polars,
which is imported with the first file. A file that cannot be read is refused in one sentence
that says where the problem is.

Delimited text may have any usual encoding and separator, decimal commas and blank margins. The
separator is the one that gives the first rows the most equal numbers of cells, by the rules of
quoting: a comma within quotes or within a number is not taken for it. Rows are checked for
equal length before polars reads them.

A gzip file of one megabyte can hold a gigabyte of zeros, and a Parquet file of one kilobyte a
billion equal rows. Both are refused before the memory is taken.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals as nw

from ordinality._text import nested_deeper

from .binary import frame_apart
from .columns import Table, TableError, counted, listed, nearest

__all__ = [
    "FORMATS",
    "GZIP",
    "MAX_RATIO",
    "MAX_UNPACKED",
    "RATIO_FROM",
    "Delimited",
    "format_suffix",
    "json_lines",
    "need_polars",
    "printable",
    "read",
    "refuse_binary",
    "stated_limit",
    "suffix_of",
    "too_large",
    "unpacked",
]

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
        variable ``ORDINALITY_MAX_UNPACKED`` sets another number of bytes. Also a folder of
        Parquet files; see `scan` for tables that do not fit in memory.

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
    if os.path.isdir(path) or str(path) == "":  # false for names that no file can have
        from .scan import scan

        return scan(path).whole()
    raw, suffix, source = _contents(path)
    if not raw.strip():
        raise TableError(f"{source} is empty; expected a table with a line of column names.")
    need_polars()
    kind = FORMATS[suffix] if suffix else _detected(raw)
    if kind == "text":
        native, notes = Delimited("\t" if suffix == ".tsv" else "").frame(raw, source)
    elif kind == "lines":
        native, notes = json_lines(raw, source)
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
    path, source = Path(path), printable(path)
    try:
        suffix = suffix_of(path, source)
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


def printable(path: str | Path) -> str:
    """A path as text that can be printed and stored as UTF-8, whatever bytes its name has."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def suffix_of(path: Path, source: str) -> str:
    """The suffix of a file that exists and is in a format that can be read."""
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
    magic, name = refuse_binary(raw, kind, suffix, source)
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


def refuse_binary(raw: bytes, kind: str, suffix: str, source: str) -> tuple[bytes, str]:
    """Refuse a file that does not begin as its kind does; how it begins, and its name."""
    magic, name = (PARQUET, "Parquet") if kind == "parquet" else (ARROW, "Arrow")
    if not raw.startswith(magic):
        raise TableError(
            f"{source} cannot be read as {suffix}: it does not begin as {name} files do; give "
            "it the suffix of its actual format."
        )
    return magic, name


def json_lines(raw: bytes, source: str) -> tuple[Any, list[str]]:
    """A polars frame of JSON lines, one object each."""
    import polars

    text, notes = _decoded(raw, source)
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


# ---------------------------------------------------------------- delimited text

# Cells of a text file that stand for "not known", besides the empty one.
MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", "#N/A"]
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
TRIED, SAMPLE = 100, 4_000_000  # rows and characters that decide on the separator
LONGEST_CELL = 10_000_000  # characters; the csv module stops at a hundredth of it
CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\v\f\r")  # hardly ever in text

# First bytes -> what a file is that was expected to be text.
OTHERS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save the sheet as CSV",
    b"PAR1": "a Parquet file; give it the suffix .parquet",
    b"ARROW1": "an Arrow file; give it the suffix .arrow",
    b"%PDF": "a PDF document; save the table as CSV",
    b"\x89PNG": "a picture; expected a table as CSV",
    b"SQLite format 3": "a database; save the table as CSV",
    b"\x1f\x8b": "compressed twice; unpack it once",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or compress it with gzip",
    b"\xfd7zXZ\0": "compressed with xz; unpack it, or compress it with gzip",
    b"BZh91AY&SY": "compressed with bzip2; unpack it, or compress it with gzip",
    b"\x80\x04": "a Python pickle; save the table as CSV",
    b"\x80\x05": "a Python pickle; save the table as CSV",
}

DECIMAL_COMMA = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?$"
THOUSANDS = r"^[+-]?(\d{1,3}(,\d{3})+|\d{1,3})(\.\d*)?$"
# What polars takes for integers and cannot convert: beyond 128 bits, digits of other scripts.
NO_INTEGER = r"\d{39}|[^\x00-\x7f]"
LONG_INTEGER = r"^[+-]?\d{39,}$"


def _decoded(raw: bytes, source: str) -> tuple[str, list[str]]:
    """Text of a file in any usual encoding, and a sentence if the encoding was guessed."""
    what = next((what for magic, what in OTHERS.items() if raw.startswith(magic)), None)
    if what is not None:
        raise TableError(f"{source} is {what}.")
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),  # its mark begins with that of UTF-16
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if raw.startswith(mark):
            try:
                return raw.decode(encoding), []
            except UnicodeDecodeError as problem:
                raise TableError(
                    f"{source} is marked as {encoding.upper().removesuffix('-SIG')} but is "
                    f"truncated or corrupt at byte {problem.start:,}; save it as UTF-8."
                ) from None
    controls = len(raw) - len(raw.translate(None, CONTROLS))
    if b"\0" in raw or controls > len(raw) / 100:
        raise TableError(
            f"{source} is not text: it contains bytes that CSV files do not have; export the "
            "table as CSV in UTF-8."
        )
    try:
        return raw.decode("utf-8"), []
    except UnicodeDecodeError:
        note = f"{source} is not UTF-8 text; it was read as Windows-1252 (Western European)."
    try:
        return raw.decode("cp1252"), [note]
    except UnicodeDecodeError:  # five bytes are undefined in Windows-1252, none in Latin-1
        return raw.decode("latin-1"), [note.replace("Windows-1252", "Latin-1")]


class Delimited:
    """Reads delimited text, the first piece with its line of names, then further pieces."""

    def __init__(self, separator: str = "") -> None:
        self.separator = separator  # found in the first piece, if it is not given
        self.header = ""  # the line of names, once it is known

    def frame(self, raw: bytes, source: str) -> tuple[Any, list[str]]:
        """A polars frame of some rows, and sentences on what was guessed."""
        text, notes = _decoded(raw, source)
        self.separator = self.separator or _separator(text)
        separator, text = self.separator, self.header + text
        header, body, quote = _plain_text(text, separator) or _quoted_text(
            text, separator, source
        )
        _refuse_names(header, source)
        if not self.header:
            line = io.StringIO()
            csv.writer(line, delimiter=separator, lineterminator="\n").writerow(header)
            self.header = line.getvalue()
        native, more = _numbers_in_text(_parsed(header, body, separator, quote), separator)
        return native, notes + more


def _parsed(header: list[str], body: str, separator: str, quote: str | None) -> Any:
    """A polars frame of rows of equal length, each column with the type of all its cells."""
    import polars

    # With a first line c0,c1,...: polars unpacks text that begins with "x^" as a zlib stream.
    names = [f"c{j}" for j in range(len(header))]
    content = f"{separator.join(names)}\n{body}".encode()

    def parsed(**options: Any) -> Any:
        return polars.read_csv(
            content, separator=separator, quote_char=quote, null_values=MISSING, **options
        )

    try:
        # Types are inferred from all rows: "12" may be followed by "12a" far below.
        frame = parsed(infer_schema_length=None)
    except polars.exceptions.ComputeError:
        # Such columns stay text here; `_numbers_in_text` makes floats of them where it can.
        text = parsed(infer_schema=False)
        odd = [name for name in names if text[name].str.contains(NO_INTEGER).any()]
        types = dict.fromkeys(odd or names, polars.String)
        frame = parsed(infer_schema_length=None, schema_overrides=types)
    frame.columns = header
    return frame


def _plain_text(text: str, separator: str) -> tuple[list[str], str, None] | None:
    """Header and body of text without quotes and with lines of equal length, or None."""
    if '"' in text or f"{separator} " in text or not text.strip():
        return None
    first, *lines = filter(None, text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    header = [name.strip() for name in first.split(separator)]
    if not all(header) or any(line.count(separator) != len(header) - 1 for line in lines):
        return None
    if not lines or not lines[-1].strip(separator + " "):
        return None
    return header, "\n".join(lines), None


def _quoted_text(text: str, separator: str, source: str) -> tuple[list[str], str, str]:
    """Header and body of any text, checked and rewritten with the fewest quotes."""
    rows = _rows(text, separator, source)
    if not rows:
        raise TableError(f"{source} is empty; expected a line of column names.")
    header = [name.strip() for name in rows[0][1]]
    cells = _of_equal_length(rows, header, separator, source)
    header, cells = _without_margin(header, cells)
    body = io.StringIO()
    csv.writer(body, delimiter=separator, lineterminator="\n").writerows(cells)
    return header, body.getvalue(), '"'


# ---------------------------------------------------------------- rows of text


@contextmanager
def _reader(text: str, separator: str, strict: bool) -> Iterator[Any]:
    """A CSV reader of long cells; the limit of the csv module is for the whole process."""
    limit = csv.field_size_limit(LONGEST_CELL)
    lines = io.StringIO(text, newline="")
    try:
        yield csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=strict)
    finally:
        csv.field_size_limit(limit)


def _separator(text: str) -> str:
    """The separator that cuts most of the first rows into equally many cells, then the most."""
    sample = text[:SAMPLE]

    def evenness(separator: str) -> tuple[bool, float, int]:
        try:
            with _reader(sample, separator, strict=False) as reader:
                widths = [len(row) for row in islice(reader, TRIED) if row]
        except csv.Error:
            return False, 0.0, 0
        if len(sample) < len(text) and len(widths) > 1 and len(widths) < TRIED:
            widths.pop()  # cut off with the sample
        alike = sum(width == widths[0] for width in widths) / max(len(widths), 1)
        return widths[:1] > [1], alike, (widths or [0])[0]

    return max(SEPARATORS, key=evenness)  # the first of equals: a comma


def _rows(text: str, separator: str, source: str) -> list[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line it begins in."""
    rows, line = [], 1
    try:
        with _reader(text, separator, strict=True) as reader:
            for row in reader:
                if row and (len(row) > 1 or row[0].strip()):
                    rows.append((line, row))
                line = reader.line_num + 1
    except csv.Error as problem:
        raise _misquoted(str(problem), line, separator, source) from None
    while rows and not any(cell.strip() for cell in rows[-1][1]):
        rows.pop()  # what a spreadsheet leaves below its table
    return rows


def _misquoted(problem: str, line: int, separator: str, source: str) -> TableError:
    """The error for wrong quotation marks in the row that begins in a line."""
    if "end of data" in problem or "field limit" in problem:
        what = f"opens a quotation mark in line {line} that is never closed"
    else:
        what = (
            f"has text after a closing quotation mark in line {line}, where "
            f"{SEPARATORS[separator]} were expected"
        )
    return TableError(f'{source} {what}; a quotation mark within a cell is written twice, "".')


def _of_equal_length(
    rows: list[tuple[int, list[str]]], header: list[str], separator: str, source: str
) -> list[list[str]]:
    """The rows below the header, all as long as it is."""
    width = len(header)
    cells = []
    for line, row in rows[1:]:
        if len(row) > width and not any(cell.strip() for cell in row[width:]):
            row = row[:width]
        if len(row) != width:
            more = "more" if len(row) > width else "fewer"
            raise TableError(
                f"{source} has {counted(len(row), 'cell')} in line {line}, {more} than the "
                f"{counted(width, 'column')} that line {rows[0][0]} names (separated by "
                f"{SEPARATORS[separator]}); correct that line."
            )
        cells.append(row)
    return cells


def _without_margin(
    header: list[str], cells: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """Header and rows without columns that have neither a name nor a cell."""
    blank = {j for j, name in enumerate(header) if not name}
    blank = {j for j in blank if not any(row[j].strip() for row in cells)}
    if not blank:
        return header, cells
    kept = [j for j in range(len(header)) if j not in blank]
    return [header[j] for j in kept], [[row[j] for j in kept] for row in cells]


def _refuse_names(header: list[str], source: str) -> None:
    """Refuse two columns without a name or of one name; row numbers often have none."""
    unnamed = [j + 1 for j, name in enumerate(header) if not name]
    if len(unnamed) > 1:
        raise TableError(
            f"{source} has {len(unnamed)} columns without a name (number {listed(unnamed)}); "
            "name every column in the first line."
        )
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise TableError(
            f"{source} has {count} columns named {name!r}; give each column a different name."
        )


# ---------------------------------------------------------------- cells of text


def _numbers_in_text(frame: Any, separator: str) -> tuple[Any, list[str]]:
    """The frame with text as numbers or missing where only blanks or commas hid that."""
    import polars

    text = [name for name, dtype in frame.schema.items() if dtype == polars.String]
    if text:
        missing = polars.col(*text).str.strip_chars().is_in(MISSING)
        frame = frame.with_columns(polars.when(~missing).then(polars.col(*text)))
    styles: dict[str, list[str]] = {"decimal points": [], "thousands separators": []}
    rounded: list[str] = []
    for name in text:
        cells = frame[name].str.strip_chars()
        known = cells.drop_nulls()
        if not known.cast(float, strict=False).null_count():
            frame = frame.with_columns(cells.cast(float).alias(name))
            if known.str.contains(LONG_INTEGER).any():
                rounded.append(name)
        elif style := _comma_style(known, separator):
            styles[style].append(name)
            if style == "decimal points":
                cells = cells.str.replace_all(".", "", literal=True)
                cells = cells.str.replace(",", ".", literal=True)
            cells = cells.str.replace_all(",", "", literal=True)
            frame = frame.with_columns(cells.cast(float).alias(name))
    notes = [
        f"Read the commas in {listed(names)} as {style}."
        for style, names in styles.items()
        if names
    ]
    if rounded:
        notes.append(f"Rounded the integers of 39 and more digits in {listed(rounded)}.")
    return frame, notes


def _comma_style(known: Any, separator: str) -> str:
    """What the commas within cells are, if all cells are numbers then; else nothing."""
    if not known.str.contains(",", literal=True).any():
        return ""
    # Where commas separate the cells, decimal points are not commas if that is possible.
    if separator == "," and known.str.contains(THOUSANDS).all():
        return "thousands separators"
    return "decimal points" if known.str.contains(DECIMAL_COMMA).all() else ""


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
    stated, limit = stated_limit(), _limit()
    if size > limit:
        raise too_large(source, f"more than {_bytes(limit)}")
    if stated is None and packed and size > max(RATIO_FROM, MAX_RATIO * packed):
        raise too_large(source, f"more than {MAX_RATIO} times its compressed size")


def too_large(source: str, what: str) -> TableError:
    """The error for a table that unpacks to too much."""
    return TableError(
        f"{source} unpacks to {what}, the limit for compressed tables; if you trust the file, "
        f"set the environment variable {VARIABLE} to the number of bytes it may take."
    )


def _limit() -> int:
    """Bytes that a table may take unpacked."""
    stated = stated_limit()
    return MAX_UNPACKED if stated is None else stated


def stated_limit() -> int | None:
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
