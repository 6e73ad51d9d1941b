"""What the benchmarks share: rows kept by `ordinality.experiments`, and progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ordinality.experiments import Metric, Spec, Store, run

RESULTS = Path(__file__).parent / "results"


def benchmark(name: str, title: str, *, metrics: tuple[str, ...], **given: Any) -> Spec:
    """A spec whose rows are in ``results/NAME.jsonl.gz``, new ones in ``NAME.jsonl``."""
    measured = tuple(Metric(metric, metric) for metric in metrics)
    return Spec(name, title, "benchmarks", name, metrics=measured, **given)


def compute(spec: Spec, cells: Iterable[Any] | None = None, **options: Any) -> None:
    """Compute the cells without a row; the options are those of `run`."""
    store = Store(RESULTS / f"{spec.experiment}.jsonl")
    cells = list(spec.cells() if cells is None else cells)
    run(spec, store, cells=cells, progress=tell, **options)


def rows(spec: Spec, cells: Iterable[Any] | None = None) -> list[dict[str, Any]]:
    """Rows without failures, by partition, as flat dicts of cell, settings and metrics."""
    found = Store(RESULTS / f"{spec.experiment}.jsonl").rows()
    wanted = found if cells is None else [cell.key for cell in cells if cell.key in found]
    kept = [found[key] for key in wanted if "metrics" in found[key]]
    kept.sort(key=lambda row: row["partition"])
    return [{**row, **row["settings"], **row["metrics"]} for row in kept]


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def tell(done: int, total: int, row: dict[str, Any]) -> None:
    what = f"{row['method']} on {row['set']}, {row['partition']}"
    if "error" in row:
        say(f"{done} of {total}: {what} failed: {row['error']['message']}")
    else:
        say(f"{done} of {total}: {what} ({row['seconds']:.2f} s of this processor)")
