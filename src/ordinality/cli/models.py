"""What commands on a model file share: the pipeline, its words, and a table to put to it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from .speaking import progress, say, warn

if TYPE_CHECKING:
    import numpy as np

    from ordinality.tables import Table

__all__ = ["Loaded", "load"]

PIECE = 2000  # rows predicted at a time: a second or so of a Gaussian process


class Loaded(NamedTuple):
    """A model file that is open: the pipeline and what was written beside it."""

    solver: Any
    about: dict[str, Any]
    path: str

    @property
    def summary(self) -> dict[str, Any]:
        """What its training found out; empty for a file that was saved in Python."""
        return self.about.get("summary") or {}

    @property
    def target(self) -> str:
        """What the labels are called."""
        return str(self.summary.get("target", "level"))

    @property
    def levels(self) -> list[Any]:
        """The labels in order."""
        found: list[Any] = self.solver[-1].levels_.tolist()
        return found

    def rows(self, table: Table) -> Any:
        """The columns that the pipeline wants, from a table; what is odd is said aloud."""
        from ordinality import tables

        frame, notes = tables.rows_for(self.solver[0], table)
        say(notes)
        return frame

    def proba(self, frame: Any) -> np.ndarray:
        """Probabilities of the levels, columns in order of level; in pieces, with a bar."""
        import narwhals as nw
        import numpy as np

        from ordinality.workbench import level_proba

        rows = nw.from_native(frame, eager_only=True)
        found = []
        with progress("predicting") as tick:
            for start in range(0, len(rows), PIECE):
                piece = rows[start : start + PIECE].to_native()
                found.append(level_proba(self.solver, piece))
                tick(min(start + PIECE, len(rows)), len(rows))
        return np.concatenate(found)


def load(path: str) -> Loaded:
    """Open a model file of ``ordinality fit``; warnings are said, not shown as code."""
    from sklearn.pipeline import Pipeline

    from ordinality import persist

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solver = persist.load(path)
    warn(dict.fromkeys(str(one.message) for one in caught))
    if not (isinstance(solver, Pipeline) and hasattr(solver[-1], "predict_level_proba")):
        raise ValueError(
            f"{path} holds a {type(solver).__name__} that was saved in Python; load it there "
            "with ordinality.load, or make a model of a table with ordinality fit."
        )
    return Loaded(solver, persist.metadata(path), path)
