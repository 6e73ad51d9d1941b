"""Problems of ordinal regression from tables: target, features, weights and groups.

One column holds the labels, one may hold weights of the rows and one their groups; the others
are features, unless they cannot help. Every rule that was applied is reported as a sentence.
Labels are few, numbers or names but not both, and each level is written in one way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from ordinality.scales import suggest

from .columns import (
    Table,
    TableError,
    column,
    counted,
    dated,
    feature_column,
    is_text,
    listed,
    numbers,
    parsed,
    sentences,
    words,
)
from .encoding import frame_of, make_encoder

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

__all__ = ["Features", "Task", "features_and_target", "features_of", "missing", "weights_of"]


# More columns than these, with fewer rows than a tenth of them: perhaps transposed.
WIDE, ROWS_PER_COLUMN = 1000, 0.1
# More values than these, with fewer rows for each: a measurement rather than levels.
MANY_LEVELS, ROWS_PER_LEVEL = 25, 10


class Task(NamedTuple):
    """A table as a problem of ordinal regression.

    Parameters
    ----------
    frame : DataFrame of pandas or polars
        The features: floats, truth values, and text, with null for missing.
    y : ndarray of shape (n,)
        Labels as in the table.
    order : tuple or None
        The order of the labels if the column states one (an Enum column).
    weights : ndarray of shape (n,), or None
        Weight of each row, if a column of them was named.
    groups : ndarray of shape (n,), or None
        Which rows belong together, if a column of groups was named.
    encoder : ColumnTransformer
        Turns `frame` into a matrix; not fitted, so that it can be fitted in every fold.
    notes : tuple of str
        What was guessed, left out and encoded, as sentences.

    Examples
    --------
    >>> import narwhals, polars
    >>> frame = polars.DataFrame({"temp": ["cold", "warm", "cold"], "rating": [1, 2, 1]})
    >>> features_and_target(Table(narwhals.from_native(frame)), "rating").y
    array([1, 2, 1])
    """

    frame: Any
    y: np.ndarray
    order: tuple[str, ...] | None
    weights: np.ndarray | None
    groups: np.ndarray | None
    encoder: ColumnTransformer
    notes: tuple[str, ...]


class Features(NamedTuple):
    """Columns to learn from, and how they are encoded."""

    frame: Any
    encoder: ColumnTransformer  # turns `frame` into a matrix; not fitted
    notes: list[str]


def features_and_target(
    table: Table,
    target: str,
    features: Sequence[str] | None = None,
    drop: Iterable[str] = (),
    weights: str | None = None,
    group: str | None = None,
    wide: bool = False,
) -> Task:
    """Split a table into features and a column of ordered labels.

    Parameters
    ----------
    table : Table
        The columns.
    target : str
        Name of the column of labels. Rows without a label are left out.
    features : sequence of str, optional
        Columns to learn from; by default all that have no other role.
    drop : iterable of str, default=()
        Columns to leave out.
    weights : str, optional
        Column of weights, none negative. Rows without one are left out.
    group : str, optional
        Column that says which rows belong together. Rows without a group are left out.
    wide : bool, default=False
        Whether far more columns than rows are accepted.

    Returns
    -------
    Task
        The features, the labels, an encoder, and notes on what was done.

    Raises
    ------
    TableError
        If a column does not exist or does not suit its role, or no feature is left.

    Examples
    --------
    >>> import narwhals, polars
    >>> frame = polars.DataFrame({"temp": ["cold", "warm", "cold"], "rating": [1, 2, 1]})
    >>> task = features_and_target(Table(narwhals.from_native(frame)), target="rating")
    >>> task.y, task.notes
    (array([1, 2, 1]), ('Encoded temp as 2 categories.',))
    >>> task.encoder.fit_transform(task.frame).ravel()
    array([0., 1., 0.])
    """
    drop = list(drop)
    chosen = _chosen(table, target, features, drop, weights, group)
    _refuse_wide(table, chosen, wide)
    parts = [name for name in (target, weights, group) if name is not None]
    rows, left_out = _complete(table, parts)
    y, order = _labels(_rows(table, target, rows))
    weight = None if weights is None else weights_of(_rows(table, weights, rows))
    groups = None if group is None else _groups(_rows(table, group, rows))
    found = features_of(table, chosen, f"predict {target} from", rows)
    notes = (*table.notes, *left_out, *found.notes)
    return Task(found.frame, y, order, weight, groups, found.encoder, notes)


def features_of(
    table: Table, names: Sequence[str], purpose: str, rows: np.ndarray | None = None
) -> Features:
    """Those of some columns that can be learnt from; `purpose` is for the error if none can."""
    found = [feature_column(column(table, name), rows) for name in names]
    notes = sentences(remark for each in found for remark in each.remarks)
    kept = [each for each in found if each.cells is not None]
    if not kept:
        why = "; ".join(note[0].lower() + note[1:-1] for note in notes)
        raise TableError(
            f"No column is left to {purpose} "
            f"({why or f'{table.source} has {listed(table.names)}'}); name columns that vary "
            "and are numbers or categories."
        )
    return Features(frame_of(kept, table.frame), make_encoder(kept), notes)


# ------------------------------------------------------------- choosing columns


def _chosen(
    table: Table, target: str, features: Sequence[str] | None, drop: list[str],
    weights: str | None, group: str | None,
) -> list[str]:  # fmt: skip
    """Names of the columns to learn from, all of them in the table."""
    if features is not None and not any(name.strip() for name in features):
        raise TableError("`features` names no column; name one or leave it out.")
    parts = {"target": target, "weights": weights, "group": group}
    taken: dict[str, str] = {}
    for part, name in parts.items():
        if name is None:
            continue
        column(table, name)
        if name in taken:
            raise TableError(f"{name} is both {taken[name]} and {part}; choose another column.")
        taken[name] = part
    for name in (*(features or ()), *drop):
        column(table, name)
        if name in taken:
            raise TableError(
                f"{name} is the {taken[name]}; it can be neither a feature nor left out."
            )
    wanted = table.names if features is None else dict.fromkeys(features)
    return [name for name in wanted if name not in taken and name not in drop]


def _refuse_wide(table: Table, chosen: list[str], wide: bool) -> None:
    if not wide and len(chosen) > WIDE and len(table) < ROWS_PER_COLUMN * len(chosen):
        raise TableError(
            f"{table.source} has {len(chosen):,} columns to learn from and only "
            f"{counted(len(table), 'row')}; is it transposed? If not, add `wide`."
        )


# ------------------------------------------------------------- rows


def _complete(table: Table, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Mask of the rows in which all these columns have a value, and notes on the others."""
    rows, notes = np.ones(len(table), dtype=bool), []
    for name in names:
        series = column(table, name)
        without = missing(series)
        if without.all():
            raise TableError(f"{name} is empty in every row; choose a filled column.")
        lost = int((without & rows).sum())
        if lost:
            notes.append(f"Left out {counted(lost, 'row')} without {name}.")
        rows &= ~without
    if rows.sum() < 2:
        raise TableError(
            f"{table.source} has {counted(int(rows.sum()), 'row')} with {' and '.join(names)}; "
            "two are needed at least."
        )
    return rows, notes


def missing(series: nw.Series[Any]) -> np.ndarray:
    """Which cells have no value: null, NaN or blank."""
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return np.isnan(numbers(series))
    if is_text(series.dtype):
        return np.array([cell is None for cell in words(series)])
    return np.asarray(series.is_null().to_numpy(), dtype=bool)


def _rows(table: Table, name: str, rows: np.ndarray) -> nw.Series[Any]:
    series = column(table, name)
    return series if rows.all() else series.filter(rows.tolist())


def weights_of(series: nw.Series[Any]) -> np.ndarray:
    """Row weights; numbers of 0 or more, not all of them 0."""
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        odd = next((c for c in words(series) if c), "")
        found = repr(odd) if is_text(series.dtype) else f"{series.dtype} values"
        raise TableError(f"{series.name} holds {found}; weights are numbers of 0 or more.")
    weights = numbers(series)
    if (weights < 0).any():
        raise TableError(
            f"{series.name} holds {weights.min():g}; weights are numbers of 0 or more."
        )
    if not weights.any():
        raise TableError(
            f"{series.name} is 0 in every row; at least one weight must be above 0."
        )
    return weights


def _groups(series: nw.Series[Any]) -> np.ndarray:
    text = is_text(series.dtype) or not series.dtype.is_numeric()
    wide = series.dtype in (nw.Int128, nw.UInt128)  # NumPy has no such integers
    groups = np.array(words(series), dtype=np.str_) if text or wide else series.to_numpy()
    if len(np.unique(groups)) < 2:
        raise TableError(
            f"{series.name} has only the group {groups[0]!s}; two are needed to leave one out."
        )
    return groups


# ------------------------------------------------------------- labels


def _labels(series: nw.Series[Any]) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Labels of a column without missing cells, and their order if the column states one."""
    dtype = series.dtype
    if is_text(dtype):
        return _label_names(series)
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise TableError(
            f"{series.name} holds {dtype} values; labels are numbers or names of levels."
        )
    values = numbers(series)
    _refuse_count(series.name, np.unique(values).tolist(), len(values))
    if dtype == nw.Boolean:
        return values.astype(bool), None
    if np.all(values == np.rint(values)) and np.abs(values).max() < 2**53:
        # Beside empty cells, integers are read as floats.
        return values.astype(np.int64), None
    return values, None


def _label_names(series: nw.Series[Any]) -> tuple[np.ndarray, tuple[str, ...] | None]:
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
    _refuse_count(name, distinct, len(cells))
    return np.array(cells, dtype=np.str_), order


def _refuse_count(name: str, distinct: list[Any], rows: int) -> None:
    if len(distinct) == 1:
        only = distinct[0]
        shown = f"{only:g}" if isinstance(only, float) else repr(only)
        raise TableError(
            f"{name} has only the level {shown}; at least two are needed to learn an order."
        )
    if len(distinct) > MANY_LEVELS and len(distinct) * ROWS_PER_LEVEL > rows:
        raise TableError(
            f"{name} has {len(distinct):,} different values in {counted(rows, 'row')}, too "
            "many for levels; divide it into a few levels, or choose another column."
        )


def _refuse_alike(name: str, raw: list[str]) -> None:
    """Refuse labels that differ only in case or blanks: a typing error, not two levels."""
    seen: dict[str, str] = {}
    for label in raw:
        twin = seen.setdefault(" ".join(label.split()).casefold(), label)
        if twin != label:
            raise TableError(
                f"{name} holds both {twin!r} and {label!r}, which differ only in case or "
                "blanks; write them in one way in the table."
            )


def _refuse_mixed(name: str, distinct: list[str]) -> None:
    """Refuse numbers among words, unless their order is known: "none", "1", "2 or more"."""
    _, odd = parsed(distinct)
    plain = [label for i, label in enumerate(distinct) if i not in odd]
    worded = [repr(label) for label in odd.values() if not any(c.isdigit() for c in label)]
    if plain and worded and suggest(distinct) is None:
        raise TableError(
            f"{name} holds both numbers ({listed(plain)}) and words ({listed(worded)}); write "
            "all levels in one way, and leave cells without a level empty."
        )
