"""Data files in, named columns out: the only module that knows file formats.

A table becomes a matrix of numbers and a column of labels by a few plain rules: numbers and
truth values stay, text is one-hot encoded, and columns that cannot help (constant, a name for
every row, dates) are left out. Every rule that was applied is returned as a sentence, so that
a command can say aloud what happened to somebody's data.

Files are read by polars, which is imported when the first one is; any eager frame that narwhals
understands, pandas' among them, may be wrapped in a `Table` directly.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

__all__ = ["Table", "TableError", "Task", "features_and_target", "read"]

# Suffix -> the polars function that reads it.
FORMATS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".arrow": "read_ipc",
    ".feather": "read_ipc",
    ".ipc": "read_ipc",
    ".jsonl": "read_ndjson",
    ".ndjson": "read_ndjson",
}

# Cells of a text file that stand for "not known", besides the empty one.
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "?"]

# More values than these, with fewer rows for each, are a measurement rather than levels.
MANY_LEVELS, ROWS_PER_LEVEL = 25, 10


class TableError(ValueError):
    """A table that cannot be used as asked; the message says why and what to do."""


@dataclass(frozen=True)
class Table:
    """Named columns of equal length.

    Examples
    --------
    >>> import narwhals, pandas
    >>> frame = pandas.DataFrame({"dose": [1.0, 2.0, 4.0], "effect": ["none", "some", "some"]})
    >>> table = Table(narwhals.from_native(frame, eager_only=True), source="trial")
    >>> table.names, len(table)
    (('dose', 'effect'), 3)
    """

    frame: nw.DataFrame[Any]
    source: str = "the table"  # what messages call it

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(self.frame.columns)

    def __len__(self) -> int:
        return len(self.frame)


class Task(NamedTuple):
    """A table read as a problem of ordinal regression.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features as numbers.
    names : tuple of str, length d
        What each column of `X` is: ``"age"``, or ``"temp=warm"`` for an encoded category.
    y : ndarray of shape (n,)
        Labels as they stand in the table.
    order : tuple or None
        The order of the labels where the file itself states one (an Enum column).
    notes : tuple of str
        What was left out or encoded, as sentences.
    """

    X: np.ndarray
    names: tuple[str, ...]
    y: np.ndarray
    order: tuple[str, ...] | None
    notes: tuple[str, ...]


def read(path: str | Path) -> Table:
    r"""Read a data file; its suffix names the format.

    Parameters
    ----------
    path : str or Path
        A ``.csv`` or ``.tsv`` file (also with ``.gz`` behind), ``.parquet``, ``.arrow``,
        ``.feather``, ``.ipc``, ``.jsonl`` or ``.ndjson``; or ``"-"`` for CSV text on standard
        input. A ``.csv`` file may be separated by semicolons or tabs.

    Returns
    -------
    Table
        At least one column and one row.

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
    frame = nw.from_native(_parse(raw, suffix, source), eager_only=True)
    if not len(frame) or not frame.columns:
        raise TableError(f"{source} names columns but has no rows; add the data below them.")
    return Table(frame, source)


def features_and_target(
    table: Table,
    target: str,
    features: Sequence[str] | None = None,
    drop: Iterable[str] = (),
) -> Task:
    """Split a table into a matrix of features and a column of ordered labels.

    Parameters
    ----------
    table : Table
        The columns.
    target : str
        Name of the column of labels. Rows without a label are left out.
    features : sequence of str, optional
        Columns to learn from; by default all but the target.
    drop : iterable of str
        Columns to leave out.

    Returns
    -------
    Task
        The features, their names, the labels, and notes on what was done.

    Raises
    ------
    TableError
        When a column is not there, cells are missing, or nothing is left to learn from.

    Examples
    --------
    >>> import narwhals, polars
    >>> frame = polars.DataFrame({"temp": ["cold", "warm", "cold"], "rating": [1, 2, 1]})
    >>> task = features_and_target(Table(narwhals.from_native(frame)), target="rating")
    >>> task.names, task.X.ravel(), task.notes
    (('temp=warm',), array([0., 1., 0.]), ('Encoded temp as temp=warm.',))
    """
    chosen = _chosen(table, target, features, drop)
    known = ~_missing(table.frame[target])
    if not known.any():
        raise TableError(f"{target} is empty in every row; choose a column that holds labels.")
    frame, notes = table.frame, []
    if not known.all():
        frame = frame.filter(known.tolist())
        rows = int((~known).sum())
        notes.append(f"Left out {rows} {'row' if rows == 1 else 'rows'} without {target}.")
    y, order = _labels(frame[target])
    columns = [_encode(frame[name]) for name in chosen]
    _refuse_holes(columns)
    notes += [column.note for column in columns if column.note]
    names = tuple(name for column in columns for name in column.names)
    if not names:
        raise TableError(
            f"No column is left to predict {target} from; {table.source} has "
            f"{', '.join(table.names)}. Name columns that vary and are numbers or categories."
        )
    X = np.column_stack([values for column in columns for values in column.values])
    return Task(X, names, y, order, tuple(notes))


# ---------------------------------------------------------------- reading files


def _contents(path: str | Path) -> tuple[bytes, str, str]:
    """The bytes of a file, unzipped, with the suffix that names its format and its name."""
    if str(path) == "-":
        return sys.stdin.buffer.read(), ".csv", "standard input"
    path = Path(path)
    zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if zipped else path.name).suffix.lower()
    if path.is_dir():
        raise TableError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = _nearest(path.name, beside) or "check the path."
        raise TableError(f"There is no file {path}; {hint}")
    if suffix not in FORMATS:
        raise TableError(
            f"{path} does not end in a format that can be read; "
            f"save it as one of {', '.join(FORMATS)} (.csv.gz and .tsv.gz too)."
        )
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if zipped else raw, suffix, str(path)
    except (EOFError, zlib.error, OSError) as problem:  # a broken gzip file is an OSError too
        raise TableError(f"{path} cannot be read: {problem}.") from None


def _parse(raw: bytes, suffix: str, source: str) -> Any:
    """A polars frame of the bytes."""
    try:
        import polars
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reading data files needs polars, which is not installed; "
            'type: pip install "ordinality[cli]"'
        ) from None
    options = _text_options(raw, suffix, source) if suffix in (".csv", ".tsv") else {}
    try:
        return getattr(polars, FORMATS[suffix])(io.BytesIO(raw), **options)
    except polars.exceptions.PolarsError as problem:
        reason = str(problem).strip().splitlines()[0].rstrip(".")
        raise TableError(
            f"{source} cannot be read as {suffix} ({reason}); "
            "mend the file, or give it the suffix of its true format."
        ) from None


def _text_options(raw: bytes, suffix: str, source: str) -> dict[str, Any]:
    """How to read delimited text, once it is known to be text with distinct column names."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise TableError(f"{source} is not UTF-8 text; save it as CSV in that encoding.")
    header = text.partition("\n")[0]
    usual = ",;\t" if suffix == ".csv" else "\t"
    separator = next((character for character in usual if character in header), usual[0])
    # polars would rename the second of two equal names without a word.
    names = Counter(next(csv.reader([header], delimiter=separator)))
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise TableError(
            f"{source} has {names[twice]} columns named {twice!r}; "
            "give every column a name of its own."
        )
    # Types are inferred from all rows: "12" may be followed by "12a" far below.
    return {"separator": separator, "infer_schema_length": None, "null_values": MISSING}


# ------------------------------------------------------------- choosing columns


def _chosen(
    table: Table, target: str, features: Sequence[str] | None, drop: Iterable[str]
) -> list[str]:
    """Names of the columns to learn from, all of them in the table."""
    drop = list(drop)
    asked = [target, *(features or ()), *drop]
    for name in asked:
        if name not in table.names:
            hint = _nearest(name, table.names) or f"it has {', '.join(table.names)}."
            raise TableError(f"{table.source} has no column {name!r}; {hint}")
    if target in [*(features or ()), *drop]:
        raise TableError(f"{target} is the target; it can be neither a feature nor left out.")
    wanted = table.names if features is None else dict.fromkeys(features)
    return [name for name in wanted if name != target and name not in drop]


def _nearest(name: str, known: Iterable[str]) -> str:
    """Question to somebody who typed `name` and meant one of `known`, or nothing."""
    spelt = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), spelt, n=1)
    return f"did you mean {spelt[close[0]]!r}?" if close else ""


# ------------------------------------------------------------- encoding columns


class _Column(NamedTuple):
    """A column of the table as columns of numbers; none of them if it is left out."""

    name: str
    names: list[str]
    values: list[np.ndarray]
    holes: int  # cells without a usable value
    note: str  # empty if the column was taken as it is


def _encode(series: nw.Series[Any]) -> _Column:
    """Numbers and truth values as they are, categories one-hot, anything else left out."""
    name, number = series.name, series.dtype.is_numeric() or series.dtype == nw.Boolean

    def left_out(why: str) -> _Column:
        return _Column(name, [], [], 0, f"Left out {name}, which {why}.")

    if not name:  # row numbers, as pandas and R write them
        return _Column(name, [], [], 0, "Left out the column without a name.")
    if series.null_count() == len(series):
        return left_out("is empty")
    if not (number or _is_text(series.dtype)):
        return left_out(f"holds neither numbers nor categories ({series.dtype})")
    known = series.filter((~_missing(series)).tolist())
    holes, distinct = len(series) - len(known), known.unique().to_list()
    if len(distinct) < 2:
        return left_out(f"has no value but {distinct[0]!r}" if distinct else "is not finite")
    if number:
        return _Column(name, [name], [series.cast(nw.Float64).to_numpy()], holes, "")
    if len(distinct) == len(known):
        return left_out("is different in every row, like a name")
    return _one_hot(name, np.array(series.to_list()), sorted(distinct), holes)


def _one_hot(name: str, cells: np.ndarray, distinct: list[str], holes: int) -> _Column:
    # Of two values one says everything; of more, dropping one would make it special.
    shown = distinct[1:] if len(distinct) == 2 else distinct
    names = [f"{name}={value}" for value in shown]
    values = [(cells == value).astype(np.float64) for value in shown]
    spoken = names[0] if len(names) == 1 else f"{len(names)} columns, {names[0]} to {names[-1]}"
    return _Column(name, names, values, holes, f"Encoded {name} as {spoken}.")


def _refuse_holes(columns: list[_Column]) -> None:
    holes = {column.name: column.holes for column in columns if column.holes}
    if holes:
        cells = ", ".join(f"{name} ({count})" for name, count in holes.items())
        raise TableError(
            f"Cells are missing or infinite in {cells}; every feature needs a value in every "
            "row: fill them in, or drop these columns."
        )


def _labels(series: nw.Series[Any]) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Labels as an array, and their order where the column itself states one."""
    dtype, levels = series.dtype, series.n_unique()
    if not (dtype.is_numeric() or dtype == nw.Boolean or _is_text(dtype)):
        raise TableError(
            f"{series.name} holds {dtype} values; labels are numbers or names of levels."
        )
    if levels > MANY_LEVELS and levels * ROWS_PER_LEVEL > len(series):
        raise TableError(
            f"{series.name} has {levels} different values in {len(series)} rows, too many for "
            "levels; cut it into a few first, or choose another column."
        )
    if _is_text(dtype):
        order = tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None
        return np.array(series.to_list(), dtype=np.str_), order
    y = series.to_numpy()
    if dtype.is_float() and np.all(y == np.rint(y)):
        y = y.astype(np.int64)  # numbered levels that shared their column with empty cells
    return y, None


def _missing(series: nw.Series[Any]) -> np.ndarray:
    """Where a column has no value, or none that is finite."""
    if series.dtype.is_numeric():
        return ~np.isfinite(series.cast(nw.Float64).to_numpy())
    return np.asarray(series.is_null().to_numpy(), dtype=bool)


def _is_text(dtype: Any) -> bool:
    return isinstance(dtype, nw.String | nw.Categorical | nw.Enum)
