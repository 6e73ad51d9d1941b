"""Rows of a table with labels, as a fitted pipeline takes them: all at once, or in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ordinality.levels import Order
from ordinality.tables import Scan, Table, TableError, feature_names
from ordinality.tables.columns import column, counted, is_text, numbers, parsed, words
from ordinality.tables.encoding import Unseen, rows_and_unseen, unseen_sentences
from ordinality.tables.scan import IN_MEMORY
from ordinality.tables.task import missing, weights_of

__all__ = [
    "ScannedRows",
    "labelled",
    "labelled_rows",
    "left_out",
    "load_rows",
    "unlabelled",
]


@dataclass(frozen=True)
class ScannedRows:
    """All rows of a table of which a problem holds a sample."""

    scan: Scan
    target: str
    weights: str | None
    order: Order

    @cached_property
    def counts(self) -> list[int]:
        """Number of rows of each level, in order; those without a label are not counted."""
        total = np.zeros(self.order.n_levels, dtype=np.int64)
        for block in self.scan.batches([self.target]):
            series = column(block, self.target)
            y = _as_levels(series.filter((~missing(series)).tolist()), self.order.levels)
            total += np.bincount(self.order.encode(y), minlength=len(total))
        return total.tolist()

    def __len__(self) -> int:
        return sum(self.counts)

    def parts(self) -> list[ScannedRows]:
        """The rows of each file."""
        return [replace(self, scan=part) for part in self.scan.parts()]

    def blocks(
        self, encoder: Any, progress: Callable[[float], Any]
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """Encoded features, labels and weights, block by block; told the share that is read."""
        extra = [name for name in (self.target, self.weights) if name is not None]
        columns = [*dict.fromkeys([*encoder.feature_names_in_, *extra])]
        read = 0
        for block in self.scan.batches(columns):
            progress(read / self.scan.rows)
            read += len(block)
            if found := _encoded_rows(encoder, self.order.levels, block, *extra):
                yield found

    def sample(self, encoder: Any, count: int, seed: int) -> tuple[np.ndarray, ...]:
        """Encoded features, labels and weights of random rows, at most as memory takes."""
        extra = [name for name in (self.target, self.weights) if name is not None]
        columns = [*dict.fromkeys([*encoder.feature_names_in_, *extra])]
        # Of all rows, some of which have no label.
        count = int(np.ceil(count * self.scan.rows / max(len(self), 1)))
        count = min(count, IN_MEMORY // (8 * len(columns)))
        drawn = self.scan.sample(count, seed, columns, self.target)
        return _encoded_rows(encoder, self.order.levels, drawn, *extra) or ()


def load_rows(rows: ScannedRows, encoder: Any) -> list[np.ndarray]:
    """Encoded features, labels and weights of all rows, where this is called."""
    parts = list(rows.blocks(encoder, lambda share: None))
    if not parts:
        none = np.empty((0, len(feature_names(encoder)))), np.empty(0)
        return [*none, *([] if rows.weights is None else [np.empty(0)])]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _encoded_rows(
    encoder: Any, levels: np.ndarray, table: Table, target: str, weights: str | None = None
) -> tuple[np.ndarray, ...] | None:
    """Features as numbers, labels, and weights if there are, of the rows that have a label."""
    if unlabelled(table, target, weights).all():
        return None
    try:
        frame, y, weight, _, _ = labelled(encoder, levels, table, target, weights)
    except TableError as wrong:
        raise TableError(f"{table.source}: {wrong}") from None
    X = encoder.transform(frame)
    return (X, y) if weight is None else (X, y, weight)


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
    frame, y, weight, without, unseen = labelled(
        pipeline[0], pipeline[-1].levels_, table, target, weights
    )
    notes = (*left_out(without, target, weights), *unseen_sentences(unseen))
    return frame, y, weight, notes


def left_out(count: int, target: str, weights: str | None) -> list[str]:
    """A sentence on rows that lack a label or a weight, if there are any."""
    wanted = target if weights is None else f"{target} or {weights}"
    return [f"Left out {counted(count, 'row')} without {wanted}."] if count else []


def unlabelled(table: Table, target: str, weights: str | None = None) -> np.ndarray:
    """Which rows lack a label or a weight."""
    wanted = [target] if weights is None else [target, weights]
    return np.any([missing(column(table, name)) for name in wanted], axis=0)


def labelled(
    encoder: Any, levels: np.ndarray, table: Table, target: str, weights: str | None
) -> tuple[Any, np.ndarray, np.ndarray | None, int, Unseen]:
    """As `labelled_rows`, with counts of the rows left out and of the cells not seen before."""
    empty = unlabelled(table, target, weights)
    if empty.all():
        wanted = target if weights is None else f"{target} and {weights}"
        raise TableError(f"No row of {table.source} has a value in {wanted}.")
    if empty.any():
        kept = np.flatnonzero(~empty).tolist()
        table = Table(table.frame[kept, :], table.source)
    frame, unseen = rows_and_unseen(encoder, table)
    y = _as_levels(column(table, target), levels)
    weight = None if weights is None else weights_of(column(table, weights))
    return frame, y, weight, int(empty.sum()), unseen


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
    extra = [label for label in dict.fromkeys(y.tolist()) if label not in known]
    if extra:
        cell = words(series)[y.tolist().index(extra[0])]
        raise TableError(
            f"{series.name} holds {cell!r}, which is not one of the levels "
            f"the model knows: {', '.join(str(level) for level in known)}."
        )
    return y.astype(levels.dtype)
