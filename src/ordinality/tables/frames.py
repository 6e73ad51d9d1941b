"""Tables: named columns, where they came from, and notes on how they were read.

The frame is one of narwhals: over polars for files that were read, or over any eager frame,
such as one of pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import narwhals as nw

__all__ = ["Table", "TableError", "column", "counted", "listed", "nearest"]

LISTED = 8  # names in one sentence, at most


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
