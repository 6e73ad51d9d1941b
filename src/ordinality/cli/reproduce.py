"""``ordinality reproduce``: tables and figures of the papers, beside the published ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ordinality._files import put

from .cluster import cluster_option, on_cluster
from .options import Names, check_output, may_write
from .output import json_text, progress, results, say, show, show_json, show_text, warn

if TYPE_CHECKING:
    from ordinality.experiments.result_rows import Store
    from ordinality.experiments.results_page import ResultTable
    from ordinality.experiments.spec import Cell, Spec

__all__ = ["Numbers", "reproduce"]

VARIABLE = "ORDINALITY_RESULTS"
SUFFIXES = {"text": ".txt", "markdown": ".md", "html": ".html", "json": ".json"}
MAX_WARNED = 5  # lines of result files that are named in warnings
INTERRUPTED = 130  # exit code that shells give for Ctrl-C

EXAMPLE = """\b
Example:
  ordinality reproduce gpor/table-2 --sets diabetes_5,stocks_5 --methods map,ep --jobs 2
"""


class Numbers(click.ParamType):
    """Numbers and ranges separated by commas, such as 1-5,8."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[int]:
        """All the numbers, ascending."""
        found: set[int] = set()
        for part in str(value).split(","):
            first, dash, last = part.strip().partition("-")
            wrong = not first.isdigit() or (dash and not last.isdigit())
            if wrong or int(last or first) < int(first):
                self.fail(f"{part.strip()!r} is neither a number nor a range such as 1-5.")
            found.update(range(int(first), int(last or first) + 1))
        return sorted(found)


@click.command(epilog=EXAMPLE)
@click.argument("name", required=False)
@click.option(
    "--list", "listing", is_flag=True, help="List the experiments with their progress."
)
@click.option(
    "--show", "only_show", is_flag=True, help="Compute nothing; report the stored rows."
)
@click.option("--sets", type=Names(), metavar="A,B", help="Only these data sets.")
@click.option(
    "--methods", type=Names(), metavar="A,B", help="Only these methods, optional ones included."
)
@click.option("--partitions", type=Numbers(), metavar="1-5", help="Only these partitions.")
@click.option("--retry", is_flag=True, help="Compute failed cells again.")
@click.option(
    "--check",
    type=click.IntRange(min=1),
    metavar="N",
    help="Recompute N stored rows, drawn at random, and compare.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of processes.",
)
@cluster_option
@click.option(
    "--results",
    "folder",
    metavar="FOLDER",
    envvar=VARIABLE,
    help=f"Folder of stored rows. [default: ${VARIABLE}, else beside the data folder]",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(SUFFIXES)),
    default="text",
    show_default=True,
    help="Format of the report.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--out", metavar="FILE", help="Write the report here instead of printing it.")
@click.option("--figure", metavar="FILE", help="Draw the figure, as .svg or .png.")
@click.option("--page", metavar="FILE.md", help="Write the reports of all experiments.")
@click.option("--pack", is_flag=True, help="Compress the rows that are kept.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def reproduce(
    name: str | None,
    listing: bool,
    only_show: bool,
    sets: list[str] | None,
    methods: list[str] | None,
    partitions: list[int] | None,
    retry: bool,
    check: int | None,
    jobs: int,
    cluster: str | None,
    folder: str | None,
    kind: str,
    as_json: bool,
    out: str | None,
    figure: str | None,
    page: str | None,
    pack: bool,
    force: bool,
) -> None:
    """Compute a table or figure of a paper and compare it with the published one.

    NAME is for example gpor/table-2; without it the experiments are listed. Computed cells are
    stored and not computed again: stop with Ctrl-C at any time, and continue with the same
    command. The data sets are read from the data folder (see ordinality data).
    """
    kind = "json" if as_json else kind
    check_output(page, (".md",), force)
    check_output(out, (SUFFIXES[kind],), force)
    check_output(figure, (".svg", ".png"), force)
    home = Path(folder) if folder else _default_folder()
    if pack:
        return _pack(home)
    if name is None or listing:
        return _write_page(page, home) if page else _list(home, kind)
    from ordinality.experiments.papers import get
    from ordinality.experiments.result_rows import Store
    from ordinality.experiments.results_page import table

    spec = get(name)
    store = Store(home / f"{spec.experiment}.jsonl")
    may_write(str(store.path))
    cells = list(spec.cells(sets, methods, partitions))
    if check:
        return _check(
            spec, store, cells if sets or methods or partitions else None, check, jobs
        )
    if not only_show:
        _compute(spec, store, cells, jobs, retry, cluster)
    rows = store.rows()
    _warn_of(store.problems)
    _report(table(_narrowed(spec, sets, methods), rows), kind, out)
    if figure:
        _draw(spec, rows, figure)
    return None


def _warn_of(problems: list[str]) -> None:
    """Warn of lines in result files that were left out, of the first few if there are many."""
    distinct = list(dict.fromkeys(problems))  # tables of one experiment share a file
    warn(distinct[:MAX_WARNED])
    if len(distinct) > MAX_WARNED:
        warn([f"{len(distinct) - MAX_WARNED} more lines of result files are left out."])


def _default_folder() -> Path:
    """The default folder of stored rows: beside the data folder."""
    from ordinality.datasets import data_folder

    data = data_folder()
    return data.with_name(f"{data.name}-results")


# ---------------------------------------------------------------- computing


def _compute(
    spec: Spec, store: Store, cells: list[Cell], jobs: int, retry: bool, cluster: str | None
) -> None:
    """Compute the missing cells, with progress; after Ctrl-C say how many are done."""
    from ordinality.distributed.cluster import mapped_calls
    from ordinality.experiments.cells import run, todo

    waiting = todo(cells, store, retry=retry)
    if not cells:
        return
    if not waiting:
        say([f"All {len(cells)} cells are already computed, in {store.path}"])
        return
    # The data are read here first: if they are missing, no cell has failed.
    spec.problem(waiting[0].set, waiting[0].partition)
    say([f"{len(waiting)} of {len(cells)} cells are to be computed; rows go to {store.path}"])
    failures: list[str] = []
    done = 0

    def report(count: int, total: int, row: Any) -> None:
        nonlocal done
        done = count
        tick(f"{count} of {total} cells done", count / total)
        if "error" in row:
            error = row["error"]
            failures.append(
                f"{row['method']} on {row['set']}, partition {row['partition']}: "
                f"{error['type']}: {error['message']}"
            )

    try:
        with on_cluster(cluster) as client, progress(spec.name) as tick:
            mapper = None if client is None else partial(mapped_calls, client, ordered=False)
            run(
                spec, store, cells=cells, jobs=jobs, mapper=mapper, progress=report,
                retry=retry,
            )  # fmt: skip
    except ConnectionError as lost:
        kept = f" {done} of {len(waiting)} cells are stored." if done else ""
        raise ValueError(f"{lost}{kept}") from lost
    except KeyboardInterrupt:
        say([f"Stopped after {done} of {len(waiting)} cells; continue with the same command."])
        raise click.exceptions.Exit(INTERRUPTED) from None
    if failures:
        warn([f"{len(failures)} cells failed; compute them again with --retry. {failures[0]}"])


def _check(spec: Spec, store: Store, cells: list[Cell] | None, count: int, jobs: int) -> None:
    """Recompute stored rows; differences are listed, and the exit code is then 1."""
    from ordinality.experiments.cells import processes, recompute, same

    with progress(spec.name) as tick:
        pairs = recompute(
            spec, store, count, cells=cells, mapper=processes(jobs),
            progress=lambda done, total, _: tick(f"{done} of {total} rows", done / total),
        )  # fmt: skip
    if not pairs:
        raise ValueError(f"{store.path} has no row of {spec.name} to check; compute it first.")
    differ = [(old, new) for old, new in pairs if not same(old, new)]
    if differ:
        lines = [line for old, new in differ for line in _differences(old, new)]
        show(results(), ["set", "method", "partition", "", "stored", "now"], lines)
        _name_kernels(differ)
    click.echo(f"{len(pairs) - len(differ)} of {len(pairs)} rows are the same to six decimals.")
    if differ:
        raise click.exceptions.Exit(1)


def _pack(home: Path) -> None:
    """Compress every file of rows in the folder."""
    from ordinality.experiments import Store

    for path in sorted(home.glob("*.jsonl")):
        store = Store(path)
        say([f"{store.pack()} rows are in {store.packed}"])


def _name_kernels(differ: list[tuple[Any, Any]]) -> None:
    """Warn if rows that differ were computed with the BLAS kernels of another processor."""
    ours = differ[0][1]["versions"]["blas"]
    theirs = {old.get("versions", {}).get("blas", ours) for old, _ in differ} - {ours}
    if theirs:
        warn(
            [
                "rows above were computed with the BLAS kernels of another processor; select "
                f"those with the environment variable OPENBLAS_CORETYPE={min(theirs)}."
            ]
        )


def _differences(old: Any, new: Any) -> list[list[str]]:
    """A line for each metric in which two rows of a cell differ, or for an error."""
    cell = [old["set"], old["method"], str(old["partition"])]
    stored, now = ({"": row.get("error"), **row.get("metrics", {})} for row in (old, new))
    return [
        [*cell, name, str(stored.get(name)), str(now.get(name))]
        for name in stored | now
        if stored.get(name) != now.get(name)
    ]


def _narrowed(spec: Spec, sets: list[str] | None, methods: list[str] | None) -> Spec:
    """The spec of these sets and methods, so that the others are not reported as missing."""
    from dataclasses import replace

    if spec.build is not None:
        return spec
    kept = tuple(
        replace(m, optional=m.optional and not methods)
        for m in spec.methods
        if not methods or m.name in methods
    )
    return replace(
        spec, methods=kept, sets=tuple(s for s in spec.sets if not sets or s in sets)
    )


# ---------------------------------------------------------------- reporting


def _report(found: ResultTable, kind: str, out: str | None) -> None:
    from ordinality.experiments import results_page

    if kind == "text" and not out:
        _show(found)
        return
    write: dict[str, Callable[[ResultTable], str]] = {
        "text": _as_text,
        "markdown": results_page.markdown,
        "html": results_page.html,
        "json": lambda found: json_text(results_page.as_data(found)) + "\n",
    }
    text = write[kind](found)
    if out:
        _put(out, text.encode())
    else:
        show_text(text)


def _show(found: ResultTable) -> None:
    from rich.text import Text

    console = results()
    if not console.is_terminal:
        console.width = 200  # a pipe has no width to wrap at
    spec = found.spec
    console.print(f"{spec.name}: {spec.title}\n{spec.source}\n")
    rows: Any = [
        [
            Text(cell, style="bold" if (i, j) in found.bold else "")
            for j, cell in enumerate(line)
        ]
        for i, line in enumerate(found.lines)
    ]
    show(console, found.titles, rows)
    console.print(found.verdict)
    for note in spec.notes:
        console.print(f"\n{note}")


def _as_text(found: ResultTable) -> str:
    return "\n".join("\t".join(line) for line in [found.titles, *found.lines, [found.verdict]])


def _list(home: Path, kind: str) -> None:
    """Print every experiment with the number of cells that are computed."""
    from ordinality.experiments import papers
    from ordinality.experiments.cells import todo
    from ordinality.experiments.result_rows import Store

    found, problems = [], []
    for name in papers.names():
        spec = papers.get(name)
        cells = list(spec.cells())
        store = Store(home / f"{spec.experiment}.jsonl")
        left = len(todo(cells, store))
        problems += store.problems
        found.append((name, spec.title, len(cells) - left, len(cells)))
    _warn_of(problems)
    if kind == "json":
        keys = ("name", "title", "done", "cells")
        show_json([dict(zip(keys, line, strict=True)) for line in found])
        return
    say([f"Rows are stored in {home}"])
    lines = [[name, f"{done}/{cells}", title] for name, title, done, cells in found]
    show(results(), ["experiment", "cells", ""], lines)


def _write_page(path: str, home: Path) -> None:
    from ordinality.experiments import papers, results_page
    from ordinality.experiments.papers import published
    from ordinality.experiments.result_rows import Store
    from ordinality.experiments.results_page import table

    every = [papers.get(name) for name in papers.names()]
    stores = {spec.experiment: Store(home / f"{spec.experiment}.jsonl") for spec in every}
    rows = {key: row for store in stores.values() for key, row in store.rows().items()}
    _warn_of([problem for store in stores.values() for problem in store.problems])
    page = results_page.page([table(spec, rows) for spec in every], published.times(rows))
    _put(path, page.encode())


# ---------------------------------------------------------------- files


def _draw(spec: Spec, rows: Any, path: str) -> None:
    from ordinality.experiments.results_page import draw

    figure = io.BytesIO()
    draw(spec, rows, figure, kind=path[-3:].lower())  # svg or png, as checked
    _put(path, figure.getvalue())


def _put(path: str, content: bytes) -> None:
    put(Path(path), content)
    say([f"Wrote {path}"])
