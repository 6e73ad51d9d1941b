"""What a column is: numbers, truth values, categories, or nothing to learn from.

The rules are plain. Numbers stay. Text is a set of categories, unless nearly all of it reads as
numbers. Columns that cannot help (empty, constant, a name for every row, dates, lists) are left
out. Whatever was decided comes back with the column, as remarks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from .frames import TableError, counted, listed

__all__ = [
    "MANY_CATEGORIES",
    "Column",
    "Remark",
    "dated",
    "is_text",
    "judge",
    "numbers",
    "parsed",
    "sentences",
    "words",
]


LARGEST = 1e150  # its square, summed over all cells, is still a finite number


MOSTLY = 0.95  # share of cells that must read as numbers for the others to count as missing


FEW_ROWS, LIKE_NAMES = 20, 0.8  # of so many rows, this share different: names, not categories


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))"
    r"([ T]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?"
)


COUNTERS = re.compile(r"(.*[ _.-])?(id|ids|index|idx|row|rownames|no|nr|number)", re.IGNORECASE)


NAMED_AFTER_IT = re.compile(r".*[a-z]I[dD]")  # customerId


class Column(NamedTuple):
    """A column of a table, judged."""

    name: str
    # floats with NaN for missing, truth values, or objects: text with None for missing. None
    # if the column is left out
    cells: np.ndarray | None
    # distinct text in alphabetical order, then None if cells are missing; empty for numbers
    categories: list[str | None]
    holes: int  # how many cells are missing
    remarks: list[Remark]


def judge(series: nw.Series[Any], rows: np.ndarray | None = None) -> Column:
    """Decide what a column is."""
    name, dtype = series.name, series.dtype
    if not name.strip():  # row numbers, as pandas and R write them
        return _left_out(name, "unnamed")
    if dtype.is_numeric() or dtype == nw.Boolean:
        return _judge_numbers(series, slice(None) if rows is None else rows)
    if rows is not None and not rows.all():
        series = series.filter(rows.tolist())
    if is_text(dtype):
        return _judge_text(name, words(series))
    if series.null_count() == len(series):
        return _left_out(name, "empty")
    if dtype.is_temporal():
        return _left_out(name, "dates")
    return _left_out(name, "nested", str(dtype))


def _left_out(name: str, kind: str, detail: str = "") -> Column:
    return Column(name, None, [], 0, [Remark(kind, name, detail)])


def _judge_numbers(series: nw.Series[Any], rows: slice | np.ndarray) -> Column:
    name, values = series.name, numbers(series)[rows]
    known = values[~np.isnan(values)]
    if not len(known):
        return _left_out(name, "empty")
    if known.min() == known.max():
        value = bool(known[0]) if series.dtype == nw.Boolean else known[0].item()
        return _left_out(name, "constant", _word(value))
    holes = len(values) - len(known)
    remarks = [Remark("holed", name, counted(holes, "row"))] if holes else []
    if series.dtype == nw.Boolean and not holes:
        return Column(name, values.astype(bool), [], 0, [])
    if series.dtype.is_integer() and _counts_rows(name, known):
        remarks.append(Remark("counter", name))
    return Column(name, values, [], holes, remarks)


def _counts_rows(name: str, known: np.ndarray) -> bool:
    """Whether integers seem to number the rows: all different, and unbroken or called so."""
    if len(known) < FEW_ROWS or len(np.unique(known)) < len(known):
        return False
    called = COUNTERS.fullmatch(name) or NAMED_AFTER_IT.fullmatch(name)
    return bool(called) or known.max() - known.min() == len(known) - 1


def _judge_text(name: str, cells: list[str | None]) -> Column:
    counts = Counter(cells)
    holes = counts.pop(None, 0)
    known = len(cells) - holes
    if not known:
        return _left_out(name, "empty")
    if len(counts) == 1:
        return _left_out(name, "constant", repr(next(iter(counts))))
    odd = {cell: count for cell, count in counts.items() if not NUMBER.fullmatch(str(cell))}
    if sum(odd.values()) <= (1 - MOSTLY) * known:
        return _mostly_numbers(name, cells, odd, holes)
    if dated(counts):
        return _left_out(name, "dates")
    mixed = 2 * sum(odd.values()) < known
    if len(counts) == known or (known >= FEW_ROWS and len(counts) > LIKE_NAMES * known):
        return _left_out(name, "spoilt" if mixed else "names", _quoted(odd))
    remarks = [Remark("mixed", name, _quoted(odd))] if mixed else []
    return _categories(name, cells, [str(cell) for cell in counts], holes, remarks)


def _mostly_numbers(
    name: str, cells: list[str | None], odd: dict[Any, int], holes: int
) -> Column:
    values = _finite(name, [np.nan if c is None or c in odd else float(c) for c in cells])
    known = values[~np.isnan(values)]
    if known.min() == known.max():
        return _left_out(name, "constant", _word(known[0].item()))
    if not odd:
        remarks = [Remark("holed", name, counted(holes, "row"))] if holes else []
        return Column(name, values, [], holes, remarks)
    count = sum(odd.values())
    are = "1 cell that is none counts" if count == 1 else f"{count:,} cells that are none count"
    remark = Remark("odd", name, f"{are} as missing ({_quoted(odd)})")
    return Column(name, values, [], holes + count, [remark])


def _categories(
    name: str, cells: list[str | None], distinct: list[str], holes: int, remarks: list[Remark]
) -> Column:
    categories: list[str | None] = [*sorted(distinct)]
    if holes:
        categories.append(None)
        remarks.append(Remark("gap", name, counted(holes, "row")))
    if len(categories) > MANY_CATEGORIES:
        remarks.append(Remark("many", name, f"{len(categories):,}"))
    else:
        remarks.append(Remark("categories", name, f"{len(categories)}"))
    return Column(name, np.array(cells, dtype=object), categories, holes, remarks)


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
    """Cells as text without blanks around it; None for a missing or blank one."""
    if not is_text(series.dtype):
        return [None if cell is None or cell != cell else _word(cell) for cell in series]
    cells = (cell.strip() if isinstance(cell, str) else None for cell in series.to_list())
    return [cell or None for cell in cells]


def _word(cell: Any) -> str:
    """A number or truth value as a file of text would have it."""
    whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if whole else str(cell)


def parsed(cells: Sequence[str | None]) -> tuple[np.ndarray, dict[int, str]]:
    """Text as floats, and the cells that are none with the rows they stand in.

    A number too large for a float is none.
    """
    truth = {"true": 1.0, "false": 0.0}
    if all(cell is None or cell.lower() in truth for cell in cells):
        return np.array([np.nan if c is None else truth[c.lower()] for c in cells]), {}
    fits = [
        cell is not None and NUMBER.fullmatch(cell) is not None and abs(float(cell)) < np.inf
        for cell in cells
    ]
    values = [float(str(c)) if fit else np.nan for c, fit in zip(cells, fits, strict=True)]
    both = zip(cells, fits, strict=True)
    return np.array(values), {i: c for i, (c, fit) in enumerate(both) if not fit and c}


def dated(cells: Iterable[Any]) -> bool:
    """Whether every cell is written like a date."""
    return all(DATE.fullmatch(str(cell)) for cell in cells)


def is_text(dtype: Any) -> bool:
    """Whether a column of this type holds text, or categories that text names."""
    return isinstance(dtype, nw.String | nw.Categorical | nw.Enum)


def _quoted(cells: Iterable[Any]) -> str:
    return listed([repr(cell) for cell in cells])


# ----------------------------------------------------------------
# What is said of columns: each thing that may happen to one, in words.
#
# A table may have thousands of columns. So what happened is kept as remarks, one for each
# column, and spoken at the end: many of one kind in one sentence, the worst first.


MANY_CATEGORIES = 50  # columns one text column may become, the one for all others included


# Kind of remark -> what is said of one column, and of several.
SAID: dict[str, tuple[str, str]] = {
    "unnamed": (
        "Left out the column without a name.",
        "Left out {count} columns without a name.",
    ),
    "empty": ("Left out {name}, which is empty.", "Left out {count} empty columns: {names}."),
    "constant": (
        "Left out {name}, which has no value but {detail}.",
        "Left out {count} columns that have one value only: {details}.",
    ),
    "names": (
        "Left out {name}, which is different in nearly every row, like a name.",
        "Left out {count} columns that are different in nearly every row, like names: {names}.",
    ),
    "dates": (
        "Left out {name}, which holds dates; as numbers, such as days, they could be used.",
        "Left out {count} columns of dates: {names}; as numbers, such as days, they could be "
        "used.",
    ),
    "nested": (
        "Left out {name}, which holds neither numbers nor categories ({detail}).",
        "Left out {count} columns that hold neither numbers nor categories: {details}.",
    ),
    "spoilt": (
        "Left out {name}, which would be numbers but for {detail}; mend or empty these cells.",
    )
    * 2,
    "odd": ("{name} is taken as numbers; {detail}.",) * 2,
    "mixed": (
        "{name} is taken as categories, because some cells are no numbers: {detail}.",
        "Taken as categories, because some cells are no numbers: {details}.",
    ),
    "holed": (
        "{name} is missing in {detail}; its median stands in, and a column marks where.",
        "Cells are missing in {details}; medians stand in, and columns mark where.",
    ),
    "gap": (
        "{name} is missing in {detail}, which is a category of its own.",
        "Cells are missing in {details}, which is a category of its own in each.",
    ),
    "categories": (
        "Encoded {name} as {detail} categories.",
        "Encoded as categories: {details}.",
    ),
    "many": (
        f"Encoded {{name}} as its {MANY_CATEGORIES - 1} commonest categories, and the others "
        "of {detail} as one.",
    )
    * 2,
    "counter": (
        "{name} counts the rows; leave it out if it only names them.",
        "{count} columns count the rows: {names}; leave them out if they only name them.",
    ),
}


SEPARATELY = {"spoilt", "odd", "many"}  # each column has its own story


class Remark(NamedTuple):
    """Something that happened to one column: a kind of `SAID`, the column, and particulars."""

    kind: str
    name: str
    detail: str = ""


def sentences(remarks: Iterable[Remark]) -> list[str]:
    """Remarks in words, those of one kind together."""
    found = list(remarks)
    said: list[str] = []
    for kind in SAID:
        alike = [remark for remark in found if remark.kind == kind]
        said += _said(kind, alike) if alike else []
    return said


def _said(kind: str, alike: list[Remark]) -> list[str]:
    one, several = SAID[kind]
    if len(alike) == 1 or kind in SEPARATELY:
        return [one.format(name=r.name, detail=r.detail) for r in alike]
    names = listed([r.name for r in alike])
    details = listed([f"{r.name} ({r.detail})" for r in alike])
    return [several.format(count=f"{len(alike):,}", names=names, details=details)]
