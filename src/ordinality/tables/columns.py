"""Tables and their columns: numbers, truth values, categories, or a column to leave out.

A `Table` is a frame of narwhals with its source and notes on how it was read. The frame is over
polars for files that were read, or over any eager frame, such as one of pandas.

As features, numbers stay. Text is a set of categories, unless nearly all of it can be read as
numbers. Columns that cannot help (empty, constant, a name for every row, dates, lists) are left
out. Each decision is kept as a remark, since a table may have thousands of columns: `sentences`
reports those of one kind together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

__all__ = [
    "MANY_CATEGORIES",
    "MOSTLY",
    "Column",
    "Remark",
    "Table",
    "TableError",
    "column",
    "counted",
    "dated",
    "feature_column",
    "is_text",
    "listed",
    "nearest",
    "numbers",
    "parsed",
    "sentences",
    "words",
]

LISTED = 8  # names in one sentence, at most
LARGEST = 1e150  # its square is 1e300: the sum over 1e8 cells is still finite
MOSTLY = 0.95  # share of cells that must be numbers for the others to count as missing
FEW_ROWS, LIKE_NAMES = 20, 0.8  # from this many rows on, this share different: names
MANY_CATEGORIES = 50  # columns one text column may become, the one for all others included

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))"
    r"([ T]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?"
)
# Names of columns that number the rows: row, customer_id, customerId.
COUNTERS = re.compile(
    r"(.*[ _.-])?(?i:id|ids|index|idx|row|rownames|no|nr|number)|.*[a-z]I[dD]"
)


class TableError(ValueError):
    """A table that cannot be used as asked; the message says why and what to do.

    Examples
    --------
    >>> from ordinality.tables import TableError, read
    >>> try:
    ...     read("no-such-file.csv")
    ... except TableError as error:
    ...     print("refused")
    refused
    """


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Parameters
    ----------
    frame : narwhals DataFrame
        The columns.
    source : str, default="the table"
        What messages call the table.
    notes : tuple of str, default=()
        What was guessed when it was read, as sentences.

    Examples
    --------
    >>> import narwhals, pandas
    >>> frame = pandas.DataFrame({"dose": [1.0, 2.0, 4.0], "effect": ["none", "some", "some"]})
    >>> table = Table(narwhals.from_native(frame, eager_only=True), source="trial")
    >>> table.names, len(table)
    (('dose', 'effect'), 3)
    """

    frame: nw.DataFrame[Any]
    source: str = "the table"
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(self.frame.columns)

    @cached_property
    def known(self) -> frozenset[str]:
        """Column names, to look one up among thousands."""
        return frozenset(self.names)

    def __len__(self) -> int:
        return len(self.frame)


def column(table: Table, name: str) -> nw.Series[Any]:
    """A column by its name; an unknown name is refused with the nearest known one."""
    if name in table.known:
        return _typed(table.frame[name])
    hint = nearest(name, table.names) or f"it has {listed(table.names)}."
    if len(table.names) == 1:  # an unknown separator, or a title above the table
        hint = (
            f"its one column is {table.names[0]!r}: the first line must name the columns, with "
            "commas between them."
        )
    raise TableError(f"{table.source} has no column {name!r}; {hint}")


def _typed(series: nw.Series[Any]) -> nw.Series[Any]:
    """A column of pandas objects with the type that all of them have, if there is one."""
    if series.dtype != nw.Object or not series.implementation.is_pandas_like():
        return series
    native = series.to_native().convert_dtypes()
    kinds = {type(cell) for cell in native.dropna()}
    if str in kinds and kinds <= {str, int, float, bool}:  # as one text file would hold them
        native = native.map(str, na_action="ignore").convert_dtypes()
    return nw.from_native(native, series_only=True)


# ---------------------------------------------------------------- features


class Column(NamedTuple):
    """A column of a table as a feature."""

    name: str
    # Floats with NaN for missing, truth values, or objects: text with None for missing. None
    # if the column is left out.
    cells: np.ndarray | None
    # Distinct text in alphabetical order, then None if cells are missing; empty for numbers.
    categories: list[str | None]
    missing: int  # number of missing cells
    remarks: list[Remark]


def feature_column(series: nw.Series[Any], rows: np.ndarray | None = None) -> Column:
    """Decide what a column is, from the rows of a boolean mask; by default from all."""
    name, dtype = series.name, series.dtype
    if not name.strip():  # row numbers, as pandas and R write them
        return _left_out(name, "unnamed")
    if dtype.is_numeric() or dtype == nw.Boolean:
        return _number_column(series, slice(None) if rows is None else rows)
    if rows is not None and not rows.all():
        series = series.filter(rows.tolist())
    if is_text(dtype):
        return _text_column(name, words(series))
    if series.null_count() == len(series):
        return _left_out(name, "empty")
    if dtype.is_temporal():
        return _left_out(name, "dates")
    return _left_out(name, "nested", str(dtype))


def _left_out(name: str, kind: str, detail: str = "") -> Column:
    return Column(name, None, [], 0, [Remark(kind, name, detail)])


def _number_column(series: nw.Series[Any], rows: slice | np.ndarray) -> Column:
    name, values = series.name, numbers(series)[rows]
    known = values[~np.isnan(values)]
    if not len(known):
        return _left_out(name, "empty")
    if known.min() == known.max():
        value = bool(known[0]) if series.dtype == nw.Boolean else known[0].item()
        return _left_out(name, "constant", _word(value))
    missing = len(values) - len(known)
    remarks = _imputed(name, missing)
    if series.dtype == nw.Boolean and not missing:
        return Column(name, values.astype(bool), [], 0, [])
    if series.dtype.is_integer() and _counts_rows(name, known):
        remarks.append(Remark("counter", name))
    return Column(name, values, [], missing, remarks)


def _imputed(name: str, missing: int) -> list[Remark]:
    return [Remark("imputed", name, counted(missing, "row"))] if missing else []


def _counts_rows(name: str, known: np.ndarray) -> bool:
    """Whether integers seem to number the rows: all different, without gaps or named so."""
    if len(known) < FEW_ROWS or len(np.unique(known)) < len(known):
        return False
    return bool(COUNTERS.fullmatch(name)) or known.max() - known.min() == len(known) - 1


def _text_column(name: str, cells: list[str | None]) -> Column:
    counts = Counter(cells)
    missing = counts.pop(None, 0)
    known = len(cells) - missing
    if not known:
        return _left_out(name, "empty")
    if len(counts) == 1:
        return _left_out(name, "constant", repr(next(iter(counts))))
    odd = {cell: count for cell, count in counts.items() if not NUMBER.fullmatch(str(cell))}
    if sum(odd.values()) <= (1 - MOSTLY) * known:
        return _mostly_numbers(name, cells, odd, missing)
    if dated(counts):
        return _left_out(name, "dates")
    mixed = 2 * sum(odd.values()) < known
    if len(counts) == known or (known >= FEW_ROWS and len(counts) > LIKE_NAMES * known):
        return _left_out(name, "unreadable" if mixed else "names", _quoted(odd))
    remarks = [Remark("mixed", name, _quoted(odd))] if mixed else []
    categories: list[str | None] = [*sorted(str(cell) for cell in counts)]
    if missing:
        categories.append(None)
        remarks.append(Remark("category", name, counted(missing, "row")))
    many = len(categories) > MANY_CATEGORIES
    remarks.append(Remark("many" if many else "categories", name, f"{len(categories):,}"))
    return Column(name, np.array(cells, dtype=object), categories, missing, remarks)


def _mostly_numbers(
    name: str, cells: list[str | None], odd: dict[Any, int], missing: int
) -> Column:
    values = _finite(name, [np.nan if c is None or c in odd else float(c) for c in cells])
    known = values[~np.isnan(values)]
    if known.min() == known.max():
        return _left_out(name, "constant", _word(known[0].item()))
    if not odd:
        return Column(name, values, [], missing, _imputed(name, missing))
    count = sum(odd.values())
    are = "1 other cell counts" if count == 1 else f"{count:,} other cells count"
    remark = Remark("odd", name, f"{are} as missing ({_quoted(odd)})")
    return Column(name, values, [], missing + count, [remark])


# ---------------------------------------------------------------- cells


def numbers(series: nw.Series[Any]) -> np.ndarray:
    """Numbers or truth values as floats, NaN for missing."""
    return _finite(series.name, series.cast(nw.Float64).to_numpy())


def _finite(name: str, values: Any) -> np.ndarray:
    infinite = np.isinf(values)
    if infinite.any():
        raise TableError(
            f"{name} is infinite in row {infinite.argmax() + 1}; give the cell a finite number "
            "or leave it empty."
        )
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(large.argmax())
        raise TableError(
            f"{name} is {values[row]:g} in row {row + 1}, too large to compute with; divide "
            "the column by a constant."
        )
    return np.asarray(values, dtype=np.float64)


def words(series: nw.Series[Any]) -> list[str | None]:
    """Cells as text without blanks around it; None for missing and blank ones."""
    if not is_text(series.dtype):
        return [None if cell is None or cell != cell else _word(cell) for cell in series]
    cells = (cell.strip() if isinstance(cell, str) else None for cell in series.to_list())
    return [cell or None for cell in cells]


def _word(cell: Any) -> str:
    """A number or truth value as a text file would have it."""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if whole else str(cell)


def parsed(cells: Sequence[str | None]) -> tuple[np.ndarray, dict[int, str]]:
    """Text as floats, and by row the cells that are not numbers or too large for a float."""
    truth = {"true": 1.0, "false": 0.0}
    if all(cell is None or cell.lower() in truth for cell in cells):
        return np.array([np.nan if c is None else truth[c.lower()] for c in cells]), {}
    values, odd = np.full(len(cells), np.nan), {}
    for row, cell in enumerate(cells):
        if cell and NUMBER.fullmatch(cell) and abs(float(cell)) < np.inf:
            values[row] = float(cell)
        elif cell:
            odd[row] = cell
    return values, odd


def dated(cells: Iterable[Any]) -> bool:
    """Whether every cell is written like a date."""
    return all(DATE.fullmatch(str(cell)) for cell in cells)


def is_text(dtype: Any) -> bool:
    """Whether a column of this type holds text, or categories that text names."""
    return isinstance(dtype, nw.String | nw.Categorical | nw.Enum)


def _quoted(cells: Iterable[Any]) -> str:
    return listed([repr(cell) for cell in cells])


# ---------------------------------------------------------------- remarks

# Kind of remark -> sentence about one column and about several, or only the first if each
# column needs its own; the most important first.
SENTENCES: dict[str, tuple[str, ...]] = {
    "unnamed": (
        "Left out the column without a name.",
        "Left out {count} columns without a name.",
    ),
    "empty": ("Left out {name}, which is empty.", "Left out {count} empty columns: {names}."),
    "constant": (
        "Left out {name}, which has only the value {detail}.",
        "Left out {count} columns that have one value only: {details}.",
    ),
    "names": (
        "Left out {name}, which is different in nearly every row, like a name.",
        "Left out {count} columns that are different in nearly every row, like names: {names}.",
    ),
    "dates": (
        "Left out {name}, which holds dates; to use it, convert it to numbers, such as days.",
        "Left out {count} columns of dates: {names}; to use them, convert them to numbers, "
        "such as days.",
    ),
    "nested": (
        "Left out {name}, which holds neither numbers nor categories ({detail}).",
        "Left out {count} columns that hold neither numbers nor categories: {details}.",
    ),
    "unreadable": (
        "Left out {name}, which is numbers except for {detail}; correct or empty these cells.",
    ),
    "odd": ("{name} is read as numbers; {detail}.",),
    "mixed": (
        "{name} is read as categories, because some cells are not numbers: {detail}.",
        "Read as categories, because some cells are not numbers: {details}.",
    ),
    "imputed": (
        "{name} is missing in {detail}; replaced by the median, and a column marks where.",
        "Cells are missing in {details}; replaced by medians, and columns mark where.",
    ),
    "category": (
        "{name} is missing in {detail}; missing is one of its categories.",
        "Cells are missing in {details}; missing is one category of each.",
    ),
    "categories": (
        "Encoded {name} as {detail} categories.",
        "Encoded as categories: {details}.",
    ),
    "many": (
        f"Encoded {{name}} as its {MANY_CATEGORIES - 1} most frequent categories, and the "
        "others of {detail} as one.",
    ),
    "counter": (
        "{name} counts the rows; leave it out if it only names them.",
        "{count} columns count the rows: {names}; leave them out if they only name them.",
    ),
}


class Remark(NamedTuple):
    """A decision on one column: a key of `SENTENCES`, the column, and what to fill in."""

    kind: str
    name: str
    detail: str = ""


def sentences(remarks: Iterable[Remark]) -> list[str]:
    """Remarks in words, those of one kind together."""
    found, text = list(remarks), []
    for kind, (one, *several) in SENTENCES.items():
        alike = [remark for remark in found if remark.kind == kind]
        if len(alike) == 1 or not several:
            text += [one.format(name=r.name, detail=r.detail) for r in alike]
        elif alike:
            names = listed([r.name for r in alike])
            details = listed([f"{r.name} ({r.detail})" for r in alike])
            count = f"{len(alike):,}"
            text.append(several[0].format(count=count, names=names, details=details))
    return text


# ---------------------------------------------------------------- names in sentences


def nearest(name: str, known: Iterable[str]) -> str:
    """Which of `known` was probably meant by `name`, as a question; empty if none is near."""
    spelt = {k.strip().lower(): k for k in known}
    close = get_close_matches(name.strip().lower(), spelt, n=1)
    return f"did you mean {spelt[close[0]]!r}?" if close else ""


def listed(names: Sequence[Any]) -> str:
    """Names in one line, the first few of them if there are many."""
    # One more name is as short as "and 1 more".
    shown = len(names) if len(names) <= LISTED + 1 else LISTED
    text = ", ".join(str(name) for name in names[:shown])
    return text if shown == len(names) else f"{text} and {len(names) - shown} more"


def counted(count: int, what: str) -> str:
    """A number with its noun."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
