"""The column of labels: what can be levels, and what only looks like them.

Levels are few, numbers or names but not both, and written alike wherever they are meant alike.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from ordinality.scales import suggest

from .frames import TableError, counted, listed
from .judging import dated, is_text, numbers, parsed, words

__all__ = ["labels_of"]

# More values than these, with fewer rows for each, are a measurement rather than levels.
MANY_LEVELS, ROWS_PER_LEVEL = 25, 10


def labels_of(series: nw.Series[Any]) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Labels as an array, and their order where the column itself states one.

    Parameters
    ----------
    series : narwhals Series
        Without missing cells.

    Raises
    ------
    TableError
        When the column cannot be levels, or has only one.

    Examples
    --------
    >>> import narwhals, polars
    >>> stated = polars.Series("y", ["lo", "hi"], dtype=polars.Enum(["lo", "mid", "hi"]))
    >>> labels_of(narwhals.from_native(stated, series_only=True))
    (array(['lo', 'hi'], dtype='<U2'), ('lo', 'mid', 'hi'))
    """
    dtype = series.dtype
    if is_text(dtype):
        return _names(series)
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise TableError(
            f"{series.name} holds {dtype} values; labels are numbers or names of levels."
        )
    values = numbers(series)
    _count(series.name, np.unique(values).tolist(), len(values))
    if dtype == nw.Boolean:
        return values.astype(bool), None
    if np.all(values == np.rint(values)) and np.abs(values).max() < 2**53:
        # Numbered levels may have become floats beside empty cells.
        return values.astype(np.int64), None
    return values, None


def _names(series: nw.Series[Any]) -> tuple[np.ndarray, tuple[str, ...] | None]:
    name, dtype = series.name, series.dtype
    raw = dict.fromkeys(str(cell) for cell in series.to_list())
    _refuse_alike(name, list(raw))
    cells = [str(cell) for cell in words(series)]
    distinct = list(dict.fromkeys(cells))
    order = tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None
    if order is None:
        _refuse_mixed(name, distinct)
        if dated(distinct):
            raise TableError(f"{name} holds dates; labels are numbers or names of levels.")
    _count(name, distinct, len(cells))
    return np.array(cells, dtype=np.str_), order


def _count(name: str, distinct: list[Any], rows: int) -> None:
    if len(distinct) == 1:
        only = distinct[0]
        shown = f"{only:g}" if isinstance(only, float) else repr(only)
        raise TableError(
            f"{name} has only the level {shown}; at least two are needed to learn an order."
        )
    if len(distinct) > MANY_LEVELS and len(distinct) * ROWS_PER_LEVEL > rows:
        raise TableError(
            f"{name} has {len(distinct):,} different values in {counted(rows, 'row')}, too "
            "many for levels; cut it into a few first, or choose another column."
        )


def _refuse_alike(name: str, raw: list[str]) -> None:
    """Two levels that a person would read as one are a slip, not an order."""
    seen: dict[str, str] = {}
    for label in raw:
        twin = seen.setdefault(" ".join(label.split()).casefold(), label)
        if twin != label:
            raise TableError(
                f"{name} holds both {twin!r} and {label!r}, which differ only in case or "
                "blanks; write them alike in the table."
            )


def _refuse_mixed(name: str, distinct: list[str]) -> None:
    """Numbers and words have no order, unless of a known kind: "none", "1", "2 or more"."""
    _, odd = parsed(distinct)
    plain = [label for i, label in enumerate(distinct) if i not in odd]
    worded = [repr(label) for label in odd.values() if not any(c.isdigit() for c in label)]
    if plain and worded and suggest(distinct) is None:
        raise TableError(
            f"{name} holds both numbers ({listed(plain)}) and words ({listed(worded)}); write "
            "all levels in one way, or leave the cells empty that are none."
        )
