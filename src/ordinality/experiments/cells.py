"""Cells to rows: what is not in the store yet is computed, and kept as soon as it is done.

Work is spread by a *mapper*, ``mapper(function, works)``, which gives results in any order as
they finish: by default processes of joblib with one BLAS thread each; a cluster's works as
well. A cell that fails leaves a row that says how, and the run continues.
"""

from __future__ import annotations

import platform
import random
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from ordinality.experiments.result_rows import Row, Store, cell_of, converted
from ordinality.experiments.spec import Cell, Method, Spec

__all__ = [
    "Work",
    "execute",
    "processes",
    "recompute",
    "rounded",
    "run",
    "same",
    "todo",
    "versions",
]

Mapper = Callable[[Callable[[Any], Row], Iterable[Any]], Iterable[Row]]
Progress = Callable[[int, int, Row], Any]
DECIMALS = 6  # of the metrics in a row


@dataclass(frozen=True)
class Work:
    """A cell with what it takes to compute it."""

    cell: Cell
    method: Method
    problem: Callable[[str, int], Any]


def run(
    spec: Spec,
    store: Store,
    *,
    cells: Sequence[Cell] | None = None,
    jobs: int = 1,
    mapper: Mapper | None = None,
    progress: Progress | None = None,
    retry: bool = False,
    fresh: bool = False,
) -> list[Row]:
    """Compute the cells that the store lacks, and give the rows of all, in their order.

    Stopping in the middle (Ctrl-C, or worse) leaves a store from which the next call continues.

    Parameters
    ----------
    spec : Spec
        The experiment.
    store : Store
        Where its rows are kept.
    cells : list of Cell, default=None
        Some of the spec's cells; None is all that are not optional.
    jobs : int, default=1
        Processes, each with one BLAS thread.
    mapper : callable, default=None
        ``mapper(function, works)`` gives results as they finish, in place of processes.
    progress : callable, default=None
        Called as ``progress(done, total, row)`` after each cell.
    retry : bool, default=False
        Whether cells whose row is a failure are computed again.
    fresh : bool, default=False
        Whether all cells are computed again; the new rows take the place of the old.

    Returns
    -------
    rows : list of dict
        One for each cell: what it is the result of (``experiment``, ``set``, ``partition``,
        ``method``, ``settings``), ``seed``, ``metrics`` or ``error``, ``seconds`` of the
        processor and ``versions``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ordinality.experiments import Method, Metric, Spec, Store, run
    >>> def guess(problem, seed):
    ...     return {"error": problem / seed}
    >>> spec = Spec("demo/table-1", "A demonstration", "nowhere", "demo", sets=("a",),
    ...             partitions=2, methods=(Method("guess", "Guess", guess),),
    ...             metrics=(Metric("error", "error"),), problem=lambda name, partition: 1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = run(spec, Store(Path(folder) / "demo.jsonl"))
    >>> [row["metrics"]["error"] for row in rows]
    [1.0, 0.5]
    """
    cells = list(spec.cells() if cells is None else cells)
    waiting = list(dict.fromkeys(cells)) if fresh else todo(cells, store, retry=retry)
    if waiting:
        works = [Work(cell, spec.computes(cell), spec.problem) for cell in waiting]
        mapper = mapper or processes(jobs)
        with store.writing() as append:
            for done, row in enumerate(mapper(execute, works), start=1):
                append(row)
                if progress is not None:
                    progress(done, len(works), row)
    rows = store.rows()
    return [rows[cell.key] for cell in cells]


def recompute(
    spec: Spec,
    store: Store,
    count: int,
    *,
    cells: Sequence[Cell] | None = None,
    seed: int | None = None,
    mapper: Mapper = map,
    progress: Progress | None = None,
) -> list[tuple[Row, Row]]:
    """Compute some rows of the store again: pairs of the stored row and the new one.

    They are drawn by the seed from `cells`, by default from every cell of the spec that has a
    row; all are taken if there are fewer than `count`. The store is only read.
    """
    rows = store.rows()
    if cells is None:
        cells = list(spec.cells(methods=[method.name for method in spec.methods]))
    kept = {cell.key: cell for cell in cells if cell.key in rows}
    drawn = random.Random(seed).sample(sorted(kept), min(count, len(kept)))
    works = [Work(kept[key], spec.computes(kept[key]), spec.problem) for key in drawn]
    pairs = []
    for done, row in enumerate(mapper(execute, works), start=1):
        pairs.append((rows[cell_of(row).key], row))
        if progress is not None:
            progress(done, len(works), row)
    return pairs


def same(stored: Row, new: Row) -> bool:
    """Whether two rows have the same numbers, to six decimals, or the same failure."""
    one, other = ((rounded(row.get("metrics", {})), row.get("error")) for row in (stored, new))
    return repr(one) == repr(other)  # as text, since NaN is not equal to itself


def todo(cells: Iterable[Cell], store: Store, *, retry: bool = False) -> list[Cell]:
    """The cells without a row; with `retry` also those whose row is a failure."""
    rows = store.rows()
    return [
        cell
        for cell in dict.fromkeys(cells)
        if cell.key not in rows or (retry and "error" in rows[cell.key])
    ]


def execute(work: Work) -> Row:
    """Compute one cell; whatever happens to the method, the outcome is a row."""
    from threadpoolctl import threadpool_limits

    cell, began = work.cell, time.process_time()
    row: Row = {
        "experiment": cell.experiment,
        "set": cell.set,
        "partition": cell.partition,
        "method": cell.method,
        "settings": dict(cell.settings),
        "seed": cell.partition,
    }
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            problem = work.problem(cell.set, cell.partition)
            began = time.process_time()  # reading is not part of the method
            metrics = work.method.function(problem, cell.partition, **cell.settings)
            row["metrics"] = rounded(dict(metrics))
        except FileNotFoundError:  # data that are not there: no failure of the method
            raise
        except Exception as problem:  # the run continues; the row says why
            row["error"] = {"type": type(problem).__name__, "message": str(problem)}
    row["seconds"] = round(time.process_time() - began, 3)
    if caught:
        row["warned"] = sorted({warning.category.__name__ for warning in caught})
    row["versions"] = versions()
    return row


def rounded(value: Any) -> Any:
    """Numbers as rows keep them, to six decimals; also in lists and dicts."""
    return converted(value, lambda x: round(x, DECIMALS) if isinstance(x, float) else x)


@cache
def versions() -> dict[str, str]:
    """What computed a row: libraries, and the processor whose kernels BLAS has chosen.

    The last digits of a matrix product depend on these kernels. Where a method has to choose
    between almost equal values, so do its errors.
    """
    import numpy  # noqa: F401  # so that its BLAS is among the loaded libraries
    from threadpoolctl import threadpool_info

    from ordinality import __version__

    found = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    kernels = {pool.get("architecture") for pool in threadpool_info()} - {None}
    blas = " ".join(sorted(kernels))
    return {
        "ordinality": __version__,
        **found,
        "python": platform.python_version(),
        "blas": blas,
    }


def processes(jobs: int) -> Mapper:
    """A mapper over this many processes of joblib; one is this process itself."""
    if jobs < 1:
        raise ValueError(f"jobs is {jobs}; give the number of processes, 1 or more.")
    if jobs == 1:
        return map

    def mapper(function: Callable[[Any], Row], works: Iterable[Any]) -> Iterable[Row]:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config("loky", inner_max_num_threads=1):
            results: Iterable[Row] = Parallel(
                n_jobs=jobs, return_as="generator_unordered", batch_size=1
            )(delayed(function)(work) for work in works)
        return results

    return mapper
