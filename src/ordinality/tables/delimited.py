"""Delimited text: its encoding, separator, decimal commas and blank margins.

The separator is the one that gives the first rows the most equal numbers of cells, by the rules
of quoting: a comma within quotes or within a number is not taken for it. Rows are checked for
equal length before polars reads them.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from .frames import TableError, counted, listed

__all__ = ["decoded", "frame_of_text"]

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


def decoded(raw: bytes, source: str) -> tuple[str, list[str]]:
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


def frame_of_text(text: str, source: str, separator: str = "") -> tuple[Any, list[str]]:
    """A polars frame of delimited text, and sentences on what was guessed."""
    separator = separator or _separator(text)
    header, body, quote = _plain_text(text, separator) or _quoted_text(text, separator, source)
    _refuse_names(header, source)
    return _numbers_in_text(_parsed(header, body, separator, quote), separator)


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


# ---------------------------------------------------------------- rows


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


# ---------------------------------------------------------------- cells


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
