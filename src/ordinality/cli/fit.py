"""``ordinality fit``: select and fit a model of a table, with its scores and effects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import click

from .cluster import cluster_option, on_cluster
from .options import (
    DECIDE,
    DECISIONS,
    MODELS,
    Names,
    as_argument,
    check_output,
    check_table,
    json_option,
    run_options,
    table_options,
)
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

if TYPE_CHECKING:
    from rich.console import Console

    from ordinality.tables import Scan, Table
    from ordinality.workbench import Problem, Study

__all__ = ["fit", "named_table", "read_problem"]

# Columns of tables of comparisons that somebody may take for labels.
ANSWERS = ("winner", "answer", "chosen", "best", "worst")
# The links of OrdinalRegression, copied so that --help need not import it.
LINKS = ("logit", "probit", "cloglog", "loglog", "cauchit")
LINEAR = "For --model linear"
LINK = f"noise of the latent value: {', '.join(LINKS)}. [default: logit]"

EXAMPLE = """\b
Example:
  ordinality fit examples/wine.csv --target rating --out wine.skops --report wine.html
"""


@click.command(epilog=EXAMPLE)
@click.argument("table")
@table_options
@click.option(
    "--model",
    type=click.Choice([*MODELS, "auto"]),
    default="auto",
    show_default=True,
    metavar="NAME",
    help=f"One of {', '.join(MODELS)}; auto tries several and averages them.",
)
@click.option(
    "--simple", is_flag=True, help="With --model auto, take one model in place of an average."
)
@click.option("--link", type=click.Choice(LINKS), metavar="NAME", help=f"{LINEAR}: {LINK}")
@click.option(
    "--nominal",
    type=Names(),
    metavar="A,B",
    help=f"{LINEAR}: columns with an effect of their own at each threshold.",
)
@click.option(
    "--scale", type=Names(), metavar="A,B", help=f"{LINEAR}: columns that change the noise."
)
@click.option(
    "--random",
    type=Names(),
    metavar="A,B/C",
    help=f"{LINEAR}: columns of groups with random effects; B/C is B with a slope of C too.",
)
@click.option(
    "--decision",
    type=click.Choice(DECISIONS),
    default="mode",
    show_default=True,
    metavar="RULE",
    help=f"{DECIDE} Stored in the model.",
)
@click.option("--out", metavar="FILE.skops", help="Save the model to this file.")
@click.option("--report", metavar="FILE.html", help="Write a report with figures to this file.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=180.0,
    show_default=True,
    metavar="SECONDS",
    help="Processor time for --model auto, as estimated from the size of the table.",
)
@click.option(
    "--max-time",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Limit of the processor time that auto really uses. [default: 10 x --budget]",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    help="Folds of the cross-validation. [default: 10 for at most 500 rows, else 5]",
)
@run_options
@cluster_option
@click.option("--force", is_flag=True, help="Replace files that exist.")
@json_option
def fit(
    table: str,
    model: str,
    simple: bool,
    link: str | None,
    nominal: list[str] | None,
    scale: list[str] | None,
    random: list[str] | None,
    decision: str,
    out: str | None,
    report: str | None,
    budget: float,
    max_time: float | None,
    folds: int | None,
    seed: int,
    jobs: int,
    cluster: str | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Fit an ordinal model to a table.

    TABLE is a .csv, .tsv, .parquet, .arrow or .jsonl file (also .csv.gz), a folder of Parquet
    files, @NAME for a table of the package (ordinality data lists them), or - for standard
    input. It may be larger than the memory. Every column but the target is a feature; text is
    encoded as categories, missing values are filled in and marked.

    Several models are tried, and averaged with weights that are learnt from the rows that each
    has not seen. Of more than 20,000 rows, models are compared on a sample, and fitted to all
    rows, or to as many as they can take.
    """
    check_table(table)
    check_output(out, (".skops",), force)
    check_output(report, (".html",), force)
    parts = {"link": link, "nominal": nominal, "scale": scale, "random": random}
    _check_terms(model, parts)
    if simple and model != "auto":
        raise ValueError(
            f"--simple takes one of the models that auto tries, but --model {model} is one "
            "already; leave out one of the two."
        )
    rule = decision.replace("-", "_")
    problem = read_problem(table, seed=seed, decision=rule, **options)
    from ordinality.workbench import study_of

    with on_cluster(cluster) as client, progress("fitting") as tick:
        found = study_of(
            problem, model, budget=budget, max_seconds=max_time, n_splits=folds, seed=seed,
            jobs=jobs, client=client, terms=_terms(parts), simple=simple,
            progress=tick,
        )  # fmt: skip
    warn(found.warnings)
    say(_of_sample(found))
    if as_json:
        show_json(found.summary())
    else:
        _show(found)
    _write(found, out, report, force)


def _check_terms(model: str, parts: dict[str, Any]) -> None:
    """Refuse the parts of a linear model for any other."""
    given = next((name for name, value in parts.items() if value is not None), None)
    if given is not None and model != "linear":
        raise ValueError(
            f"--{given} describes a linear model, but the model is {model}; add --model "
            f"linear, or leave out --{given}."
        )


def _terms(parts: dict[str, Any]) -> Any:
    """The parts as the workbench takes them."""
    from ordinality.workbench.linear_model import LinearTerms

    found = {name: value for name, value in parts.items() if value is not None}
    if "random" in found:
        found["random"] = tuple(tuple(term.split("/")) for term in found["random"])
    return LinearTerms(**found)


def _of_sample(found: Study) -> Iterator[str]:
    """What was learnt from how many rows, if not everything was learnt from all."""
    rows, problem = len(found.whole), found.problem
    if problem.whole is not None and found.fitted_rows < rows:
        which = f"{found.choice.selected.name} was fitted to a random sample of"
        if found.choice.weights:
            which = "Some of the averaged models were fitted to random samples of at least"
        yield f"{which} {found.fitted_rows:,} of {rows:,} rows; raise --budget to use more."


def read_problem(
    table: str,
    *,
    target: str,
    order: list[str] | None,
    accept_order: bool,
    features: tuple[list[str], ...],
    drop: tuple[list[str], ...],
    **rest: Any,
) -> Problem:
    """Read the table as a problem, with notes to stderr; a missing order is asked for."""
    _check_order(order)
    from ordinality.tables.comparisons import kind_of_answers
    from ordinality.workbench import NoOrderError, problem_of

    known = named_table(table)
    kind = kind_of_answers(known.names)
    if kind is not None and target not in set(known.names) - {*ANSWERS}:
        more = "" if kind == "pairs" else f" --format {kind}"
        raise ValueError(
            f"{known.source} looks like a table of comparisons, not of ordered labels; rank "
            f"its items with: ordinality rank {as_argument([table])}{more}"
        )
    options = {
        "features": [*chain(*features)] if features else None,
        "drop": [*chain(*drop)],
        **rest,
    }
    try:
        problem = problem_of(known, target, order=order, **options)
    except NoOrderError as wanted:
        argument = as_argument(wanted.labels)
        if not wanted.family:
            raise ValueError(
                f"{target} holds text in an unknown order; put its labels, which are sorted "
                f"alphabetically here, in order, lowest first: --order {argument}"
            ) from None
        suggested = f"{wanted.family}: {' < '.join(wanted.labels)}"
        if not accept_order:
            raise ValueError(
                f"{target} holds text without a stated order; it looks like {suggested}; "
                f"accept this with --accept-order, or state another order: --order {argument}"
            ) from None
        say([f"Ordered {target} as {suggested}."])
        problem = problem_of(known, target, order=wanted.labels, **options)
    say(problem.notes)
    return problem


def _check_order(order: list[str] | None) -> None:
    """Refuse an order of fewer than two labels, or with one of them twice."""
    if order is None:
        return
    if len(order) < 2:
        raise ValueError("--order lists fewer than two labels; list all of them, lowest first.")
    twice = next((name for name in order if order.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"--order lists {twice!r} twice; list every label once, lowest first.")


def named_table(table: str) -> Table | Scan:
    """The table at a path, or an embedded one, called by its name with @."""
    from ordinality import tables

    if not table.startswith("@"):
        return tables.open_table(table)
    from ordinality.datasets import embedded_path

    return replace(tables.read(embedded_path(table[1:])), source=table)


def _write(found: Study, out: str | None, report: str | None, force: bool) -> None:
    if out is not None:
        found.save(out, force=force)
        say([f"Wrote {out}; predict with: ordinality predict {out} TABLE"])
    if report is not None:
        with progress("drawing") as tick:
            found.report(report, model_file=out, force=force, progress=tick)
        say([f"Wrote {report}."])
    if out is None:
        say(["The model was not saved; save it with --out model.skops."])


# ---------------------------------------------------------------- tables


def _show(found: Study) -> None:
    console = results()
    _show_levels(console, found)
    _show_scores(console, found)
    _show_choice(console, found)
    _show_coefficients(console, found)
    show_bars(console, "permutation importance", found.choice.selected.importance)
    show_bars(console, "relevance", found.relevance)


def _show_levels(console: Console, found: Study) -> None:
    problem, counts = found.problem, found.whole.counts
    titles = [problem.target, "rows", "share"]
    rows = [
        [str(level), str(count), f"{count / sum(counts):.0%}"]
        for level, count in zip(problem.order.levels.tolist(), counts, strict=True)
    ]
    thresholds = getattr(found.model, "thresholds_", None)
    if thresholds is not None:  # an average of models has none
        titles.append("latent interval")
        rows = [[*row, one] for row, one in zip(rows, _intervals(thresholds), strict=True)]
    show(console, titles, rows)


def _intervals(thresholds: Any) -> Iterator[str]:
    yield f"up to {thresholds[0]:.3g}"
    for lower, upper in pairwise(thresholds):
        yield f"{lower:.3g} to {upper:.3g}"
    yield f"above {thresholds[-1]:.3g}"


def _show_scores(console: Console, found: Study) -> None:
    from ordinality.workbench import SCORES

    several = len(found.assessments) + len(found.skipped) > 1
    rows = [
        [
            f"{one.name} (selected)" if several and one is found.choice.selected else one.name,
            *(number(one.scores[name]) for name in SCORES),
        ]
        for one in (*found.assessments, *found.baselines)
    ]
    show(console, [f"{found.n_folds} folds", *titles(SCORES)], rows)


def _show_coefficients(console: Console, found: Study) -> None:
    from ordinality.workbench.linear_model import odds_sentence

    if found.coefficients is None:
        return
    console.print(str(found.coefficients), soft_wrap=True)
    console.print()
    for sentence in odds_sentence(found.proportional_odds):
        tell(console, sentence)
    console.print()


def _show_choice(console: Console, found: Study) -> None:
    if len(found.assessments) + len(found.skipped) > 1:
        take = " Take it with --simple." if found.choice.simple is not None else ""
        tell(console, f"Selected: {found.choice.reason}{take}")
    for one in found.skipped:
        tell(
            console,
            f"Not assessed: {one.name}, {one.reason}; force it with --model {one.name}.",
        )
    tell(console, found.verdict[1])
    console.print()
