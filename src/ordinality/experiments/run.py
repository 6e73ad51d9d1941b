"""Cells to rows: what is not in the store yet is computed, and kept as soon as it is done.

Work is spread by a *mapper*, ``mapper(function, works)``, which gives results in any order as
they finish: by default processes of joblib with one BLAS thread each; a cluster's works as
well. A cell that fails leaves a row that says how, and the run goes on.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from ordinality.experiments.store import Row, Store
from ordinality.experiments.values import Cell, Method, Spec

__all__ = ["Work", "execute", "processes", "run", "todo", "versions"]

Mapper = Callable[[Callable[[Any], Row], Iterable[Any]], Iterable[Row]]
Progress = Callable[[int, int, Row], Any]


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
) -> list[Row]:
    """Compute the cells that the store lacks, and give the rows of all, in their order.

    Stopping in the middle (Ctrl-C, or worse) leaves a store from which the next call goes on.

    Parameters
    ----------
    spec : Spec
    store : Store
    cells : list of Cell, optional
        Some of the spec's cells; default all that are not optional.
    jobs : int
        Processes, each with one BLAS thread.
    mapper : callable, optional
        ``mapper(function, works)`` gives results as they finish, in place of processes.
    progress : callable, optional
        Called as ``progress(done, total, row)`` after each cell.
    retry : bool
        Compute cells again whose row is a failure.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ordinality.experiments.values import Method, Metric, Spec
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
    waiting = todo(cells, store, retry=retry)
    if waiting:
        works = [Work(cell, spec.method(cell.method), spec.problem) for cell in waiting]
        mapper = mapper or processes(jobs)
        with store.writing() as append:
            for done, row in enumerate(mapper(execute, works), start=1):
                append(row)
                if progress is not None:
                    progress(done, len(works), row)
    rows = store.rows()
    return [rows[cell.key] for cell in cells]


def todo(cells: Iterable[Cell], store: Store, *, retry: bool = False) -> list[Cell]:
    """The cells without a row; with `retry` also those whose row is a failure.

    Examples
    --------
    >>> cell = Cell("demo", "a", 1, "ep")
    >>> todo([cell], Store("there is no such file")) == [cell]
    True
    """
    rows = store.rows()
    return [
        cell
        for cell in dict.fromkeys(cells)
        if cell.key not in rows or (retry and "error" in rows[cell.key])
    ]


def execute(work: Work) -> Row:
    """Compute one cell; whatever happens to the method, the outcome is a row.

    Examples
    --------
    >>> def fails(problem, seed):
    ...     raise ValueError("too few rows")
    >>> cell, method = Cell("demo", "a", 1, "fails"), Method("fails", "Fails", fails)
    >>> work = Work(cell, method, problem=lambda name, partition: None)
    >>> execute(work)["error"]
    {'type': 'ValueError', 'message': 'too few rows'}
    """
    from threadpoolctl import threadpool_limits

    cell, began = work.cell, time.perf_counter()
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
            began = time.perf_counter()  # reading is no part of the method
            metrics = work.method.function(problem, cell.partition, **cell.settings)
            row["metrics"] = dict(metrics)
        except FileNotFoundError:  # data that are not there: no failure of the method
            raise
        except Exception as problem:  # the run goes on; the row tells
            row["error"] = {"type": type(problem).__name__, "message": str(problem)}
    row["seconds"] = round(time.perf_counter() - began, 3)
    if caught:
        row["warned"] = sorted({warning.category.__name__ for warning in caught})
    row["versions"] = versions()
    return row


@cache
def versions() -> dict[str, str]:
    """What computed a row.

    Examples
    --------
    >>> sorted(versions())
    ['numpy', 'ordinality', 'python', 'scikit-learn', 'scipy']
    """
    from ordinality import __version__

    found = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {"ordinality": __version__, **found, "python": platform.python_version()}


def processes(jobs: int) -> Mapper:
    """A mapper over so many processes of joblib; one is this process itself.

    Examples
    --------
    >>> list(processes(1)(abs, [-1, -2]))
    [1, 2]
    """
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
