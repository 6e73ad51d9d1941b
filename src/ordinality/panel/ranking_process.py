"""The process that ranks for an export: ``python -m ordinality.panel.ranking_process``.

A fit in a thread of the server would hold the interpreter, and judges would wait. This reads
answers as JSON from its standard input, and writes model.skops and report.html into a folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw

from .model_process import NICE
from .ranking import rank_answers
from .study_model import KEY

__all__ = ["main", "rank_into"]


def main() -> None:
    """Rank the answers that come from standard input."""
    sent = json.loads(sys.stdin.buffer.read())
    with contextlib.suppress(AttributeError):  # Windows
        os.nice(NICE)
    rank_into(Path(sent.pop("folder")), sent.pop("items"), sent)


def rank_into(folder: Path, items: Mapping[str, Mapping[str, float]], given: Any) -> None:
    """Rank items, by name with their features, and write the two files."""
    found = rank_answers(**given, **_described(items))
    found.save(folder / "model.skops")
    found.report(folder / "report.html")


def _described(items: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """The items as `rank_answers` takes them, in the order that `StudyModel` has."""
    features = sorted({name for each in items.values() for name in each})
    if not features:
        return {"items": sorted(items)}
    columns: dict[str, list[Any]] = {KEY: list(items)}
    for name in features:
        columns[name] = [each.get(name, 0.0) for each in items.values()]
    return {"items": nw.from_dict(columns, backend="polars").to_native(), "key": KEY}


if __name__ == "__main__":
    main()
