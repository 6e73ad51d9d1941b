"""``ordinality fit``: from a table to a model, what it is worth, and what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import click

from .options import MODELS, as_argument, common, machine, of_table
from .output import (
    number,
    progress,
    results,
    say,
    show,
    show_bars,
    show_json,
    tell,
    titles,
    warn,
)
from .paths import check_output, check_table

if TYPE_CHECKING:
    from rich.console import Console

    from ordinality.tables import Table
    from ordinality.workbench import Problem, Study

__all__ = ["fit", "read_problem"]

EXAMPLE = """\b
Example:
  ordinality fit examples/wine.csv --target rating --out wine.skops --report wine.html
"""


@click.command(epilog=EXAMPLE)
@click.argument("table")
@of_table
@click.option(
    "--model",
    type=click.Choice([*MODELS, "auto"]),
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"One of {', '.join(MODELS)}; auto tries several and takes the best.",
)
@click.option("--out", metavar="FILE.skops", help="Keep the model in this file.")
@click.option("--report", metavar="FILE.html", help="Write a report with pictures.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Processor time for auto to try models, as estimated from the size of the table.",
)
@click.option(
    "--max-time",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Emergency stop of auto, in processor time really used. [default: 10 x --budget]",
)
@click.option("--folds", type=click.IntRange(min=2), help="Folds of the cross-validation.")
@common
@click.option("--force", is_flag=True, help="Replace files that exist.")
@machine
def fit(
    table: str,
    model: str,
    out: str | None,
    report: str | None,
    budget: float,
    max_time: float | None,
    folds: int | None,
    seed: int,
    jobs: int,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Fit an ordinal model to a table.

    TABLE is a .csv, .tsv, .parquet, .arrow or .jsonl file (also .csv.gz), @NAME for one that
    comes along (ordinality data lists them), or - for standard input. Every column but the
    target is learnt from; text is encoded as categories, gaps are filled in and marked.
    """
    check_table(table)
    check_output(out, (".skops",), force)
    check_output(report, (".html",), force)
    problem, notes, source = read_problem(table, **options)
    from ordinality.workbench import study_of

    say(notes)
    with progress("fitting") as tick:
        found = study_of(
            problem, model, budget=budget, max_seconds=max_time, n_splits=folds, seed=seed,
            jobs=jobs, tick=tick,
        )  # fmt: skip
    found = replace(found, notes=notes, source=source)
    warn(found.warnings)
    if as_json:
        show_json(found.summary())
    else:
        _show(found)
    _keep(found, out, report, force)


def read_problem(
    table: str,
    *,
    target: str,
    order: list[str] | None,
    accept_order: bool,
    features: tuple[list[str], ...],
    drop: tuple[list[str], ...],
    **rest: Any,
) -> tuple[Problem, tuple[str, ...], str]:
    """The problem, what was done with its columns, and what its table is called."""
    from ordinality import tables
    from ordinality.workbench import NoOrderError, problem_of

    _check_order(order)
    known = _known(table)
    options = {
        "features": [*chain(*features)] if features else None,
        "drop": [*chain(*drop)],
        **rest,
    }
    try:
        return *problem_of(known, target, order=order, **options), known.source
    except NoOrderError as wanted:
        argument = as_argument(wanted.labels)
        if not wanted.family:
            raise ValueError(
                f"{target} is text whose order I do not know; put its labels in order, lowest "
                f"first: --order {argument}"
            ) from None
        if not accept_order:
            raise ValueError(
                f"{target} is text without a stated order; it looks like {wanted.family}: "
                f"{' < '.join(wanted.labels)}; --accept-order takes that, or state another: "
                f"--order {argument}"
            ) from None
        say([f"Took {target} as {wanted.family}: {' < '.join(wanted.labels)}."])
        return *problem_of(known, target, order=wanted.labels, **options), known.source
    except tables.TableError:
        raise
    except ValueError as problem:
        said = str(problem).replace(", for instance with numpy.digitize,", "")
        raise ValueError(said) from None


def _check_order(order: list[str] | None) -> None:
    """Refuse an order of fewer than two labels, or with one of them twice."""
    if order is None:
        return
    if len(order) < 2:
        raise ValueError("--order lists fewer than two labels; list all, lowest first.")
    twice = next((name for name in order if order.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"--order lists {twice!r} twice; list every label once, lowest first.")


def _known(table: str) -> Table:
    """The table at a path, or an embedded one, which goes by the name it was asked for by."""
    from ordinality import tables

    if not table.startswith("@"):
        return tables.read(table)
    from ordinality.datasets import embedded_path

    return replace(tables.read(embedded_path(table[1:])), source=table)


def _keep(found: Study, out: str | None, report: str | None, force: bool) -> None:
    if out is not None:
        found.save(out, force=force)
        say([f"Wrote {out}; ordinality predict {out} TABLE predicts with it."])
    if report is not None:
        from ordinality.workbench import write_report

        with progress("drawing") as tick:
            write_report(found, report, model_file=out, force=force, tick=tick)
        say([f"Wrote {report}."])
    if out is None:
        say(["The model was not kept; --out model.skops keeps it."])


# ------------------------------------------------------------------ what is shown


def _show(found: Study) -> None:
    console = results()
    _show_levels(console, found)
    _show_scores(console, found)
    _show_choice(console, found)
    _show_columns(console, found)


def _show_levels(console: Console, found: Study) -> None:
    n = len(found.problem)
    rows = [
        [str(level), str(count), f"{count / n:.0%}", where]
        for level, count, where in zip(
            found.problem.order.levels.tolist(),
            found.counts,
            _intervals(found.model.thresholds_),
            strict=True,
        )
    ]
    show(console, [found.problem.target, "rows", "share", "hidden scale"], rows)


def _intervals(thresholds: Any) -> Iterator[str]:
    yield f"up to {thresholds[0]:.3g}"
    for lower, upper in pairwise(thresholds):
        yield f"{lower:.3g} to {upper:.3g}"
    yield f"above {thresholds[-1]:.3g}"


def _show_scores(console: Console, found: Study) -> None:
    from ordinality.workbench import SCORES

    rows = [
        [
            f"{one.name} (taken)" if one is found.choice.taken else one.name,
            *(number(one.scores[name]) for name in SCORES),
        ]
        for one in (*found.found, *found.beside)
    ]
    show(console, [f"{found.n_folds} folds", *titles(SCORES)], rows)


def _show_choice(console: Console, found: Study) -> None:
    if len(found.found) + len(found.skipped) > 1:
        tell(console, f"Why: {found.choice.why}")
    for one in found.skipped:
        tell(
            console,
            f"Not tried: {one.name}; {one.reason}; --model {one.name} tries it alone.",
        )
    tell(console, found.verdict[1])
    console.print()


def _show_columns(console: Console, found: Study) -> None:
    from ordinality.workbench import relevance

    show_bars(console, "worse without it", found.choice.taken.importance)
    show_bars(console, "relevance", relevance(found))
