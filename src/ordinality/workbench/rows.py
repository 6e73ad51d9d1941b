"""Rows of a table with labels, as a fitted pipeline takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinality.tables import Table, TableError, rows_for
from ordinality.tables.columns import column, counted, is_text, numbers, parsed, words
from ordinality.tables.task import missing, weights_of

__all__ = ["labelled_rows"]


def labelled_rows(
    pipeline: Any, table: Table, target: str, weights: str | None = None
) -> tuple[Any, np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """The rows of a table that have a label, as `evaluation` takes them.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted to a table.
    table : Table
        Rows with labels.
    target : str
        Column of labels.
    weights : str, optional
        Column of row weights.

    Returns
    -------
    frame : pandas or polars DataFrame
        The columns that the pipeline was fitted to.
    y : ndarray of shape (n,)
        Labels.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    notes : tuple of str
        What was done with the table.

    Examples
    --------
    >>> import narwhals, numpy as np, polars
    >>> from ordinality.tables import Table
    >>> from ordinality.workbench import labelled_rows, study
    >>> frame = polars.DataFrame({"dose": np.arange(20.0), "effect": np.arange(20) // 10})
    >>> found = study(frame, "effect", model="linear")
    >>> new = polars.DataFrame({"dose": [3.0, 15.0], "effect": [0, None]})
    >>> rows, y, _, notes = labelled_rows(
    ...     found.pipeline, Table(narwhals.from_native(new)), "effect"
    ... )
    >>> y, notes
    (array([0]), ('Left out 1 row without effect.',))
    """
    wanted = [target] if weights is None else [target, weights]
    series = [column(table, name) for name in wanted]
    empty = np.any([missing(one) for one in series], axis=0)
    if empty.all():
        raise TableError(f"No row of {table.source} has a value in {' and '.join(wanted)}.")
    left_out = counted(int(empty.sum()), "row")
    notes = [f"Left out {left_out} without {' or '.join(wanted)}."] if empty.any() else []
    kept = np.flatnonzero(~empty).tolist()
    frame, said = rows_for(pipeline[0], Table(table.frame[kept, :], table.source))
    y = _as_levels(series[0][kept], pipeline[-1].levels_)
    weight = None if weights is None else weights_of(series[1][kept])
    return frame, y, weight, (*notes, *said)


def _as_levels(series: Any, levels: np.ndarray) -> np.ndarray:
    """Labels as the text or the numbers that the levels are; others are refused."""
    if levels.dtype.kind == "U":
        y = np.array([str(cell) for cell in words(series)])
    elif is_text(series.dtype):
        y, odd = parsed(words(series))
        y = np.array([odd.get(i, value) for i, value in enumerate(y.tolist())], dtype=object)
    else:
        y = numbers(series)
    known = levels.tolist()
    extra = next((i for i, label in enumerate(y.tolist()) if label not in known), None)
    if extra is not None:
        raise TableError(
            f"{series.name} holds {words(series)[extra]!r}, which is not one of the levels "
            f"the model knows: {', '.join(str(level) for level in known)}."
        )
    return y.astype(levels.dtype)
