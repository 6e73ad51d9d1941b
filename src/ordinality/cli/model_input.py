"""Model files as input of commands: the description, the pipeline, and its predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from .output import progress, say, warn

if TYPE_CHECKING:
    import numpy as np

    from ordinality.tables import Scan, Table

__all__ = ["Loaded", "blocks_of", "description", "load"]

BATCH = 2000  # rows predicted at a time: about a second for a Gaussian process

# Types of what commands read in a description: a type, [of each entry], {str: of each value}.
NUMBER = (float, int, NoneType)

SUMMARY: dict[str, Any] = {
    "source": str,
    "target": str,
    "rows": int,
    "columns": [str],
    "counts": [int],
    "folds": int,
    "scores": {str: {str: (str, *NUMBER)}},
    "verdict": str,
    "importance": {str: (float, int)},
    "relevance": {str: (float, int)},
    "weights": {str: (float, int)},
    "nearest": {str: (str, *NUMBER)},
    "words": [str],
    "range_bounds": {str: (float, int)},
}

EFFECT: dict[str, Any] = {
    "column": str,
    "values": [(str, float, int, bool)],
    "above": [[(float, int)]],
    "change": [(float, int)],
    "between": [(str, float, int, bool)],
}


class Loaded(NamedTuple):
    """A loaded model file: the pipeline and the description stored with it."""

    pipeline: Any
    about: dict[str, Any]

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of its training; empty for a file that was saved in Python."""
        return self.about.get("summary") or {}

    @property
    def target(self) -> str:
        """Name of the label column."""
        return str(self.summary.get("target", "level"))

    @property
    def levels(self) -> list[Any]:
        """The labels in order."""
        found: list[Any] = self.pipeline[-1].levels_.tolist()
        return found

    def columns(self, *others: str | None) -> list[str]:
        """The columns of a table that are needed, with others that have a role."""
        used = self.pipeline[0].feature_names_in_.tolist()
        return [*dict.fromkeys([*used, *(name for name in others if name is not None)])]

    def rows(self, table: Table) -> Any:
        """The columns that the pipeline was fitted to, from a table; notes are printed."""
        from ordinality import tables

        frame, notes = tables.rows_for(self.pipeline[0], table)
        say(notes)
        return frame

    def proba(self, frame: Any, tick: Callable[[int], Any]) -> np.ndarray:
        """Probabilities of the levels, columns in order of level; told each row it begins."""
        import narwhals as nw
        import numpy as np

        from ordinality.workbench.problem import level_proba

        rows = nw.from_native(frame, eager_only=True)
        found = []
        for start in range(0, len(rows), BATCH):
            tick(start)
            piece = rows[start : start + BATCH].to_native()
            found.append(level_proba(self.pipeline, piece))
        return np.concatenate(found)


@contextmanager
def blocks_of(
    table: Table | Scan, columns: list[str] | None
) -> Iterator[Iterator[tuple[Table, Callable[[int], None]]]]:
    """The blocks of a table that is scanned, or the whole; each with what to tell of its rows.

    Notes on how they were read are printed once each.
    """
    from ordinality.tables import Table

    rows = len(table) if isinstance(table, Table) else table.rows
    with progress("predicting") as tick:

        def at_row(first: int, row: int) -> None:
            tick(f"row {first + row + 1} of {rows}", (first + row) / rows)

        def blocks() -> Iterator[tuple[Table, Callable[[int], None]]]:
            first, said = 0, set[str]()
            for block in [table] if isinstance(table, Table) else table.batches(columns):
                say(note for note in block.notes if note not in said)
                said.update(block.notes)
                yield block, partial(at_row, first)
                first += len(block)

        yield blocks()


def load(path: str) -> Loaded:
    """Load a model file of ``ordinality fit``; warnings are printed as sentences."""
    from sklearn.pipeline import Pipeline

    from ordinality import persist

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipeline = persist.load(path)
    warn(dict.fromkeys(str(one.message) for one in caught))
    if not (isinstance(pipeline, Pipeline) and hasattr(pipeline[-1], "predict_level_proba")):
        raise ValueError(
            f"{path} contains a {type(pipeline).__name__} that was saved in Python; load it "
            "in Python with ordinality.load, or fit a model to a table with ordinality fit."
        )
    return Loaded(pipeline, description(path))


def description(path: str) -> dict[str, Any]:
    """The description in a model file, if it has the types that ``ordinality fit`` writes."""
    from ordinality import persist

    about = persist.metadata(path)
    levels, summary = about.get("levels") or [], about.get("summary") or {}
    if not (isinstance(levels, list) and _is_summary(summary, len(levels))):
        raise ValueError(
            f"{path} is corrupt: its description is not one that ordinality fit writes; fit "
            "the model again."
        )
    return about


def _is_summary(summary: Any, n_levels: int) -> bool:
    if not isinstance(summary, dict):
        return False
    if summary and not {"rows", "source", "folds"} <= set(summary):
        return False
    effects = summary.get("effects") or []
    return (
        all(_fits(summary[name], SUMMARY[name]) for name in SUMMARY if name in summary)
        and _fits(summary.get("model") or {}, {str: str})
        and isinstance(effects, list)
        and all(_is_effect(effect, n_levels) for effect in effects)
    )


def _is_effect(effect: Any, n_levels: int) -> bool:
    return (
        isinstance(effect, dict)
        and all(name in effect and _fits(effect[name], EFFECT[name]) for name in EFFECT)
        and len(effect["values"]) == len(effect["above"])
        and len(effect["change"]) == n_levels
        and all(len(row) == n_levels - 1 for row in effect["above"])
    )


def _fits(value: Any, shape: Any) -> bool:
    """Whether a value of JSON has a shape of `SUMMARY`."""
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            _fits(item, shape[str]) for item in value.values()
        )
    return isinstance(value, shape)
