"""``ordinality rank``: a ranking with intervals from a table of answers."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .options import (
    Names,
    check_output,
    check_table,
    json_option,
    seed_option,
)
from .output import on_terminal, progress, results, say, show, show_json, tell

if TYPE_CHECKING:
    from rich.console import Console

    from ordinality.panel import Ranking
    from ordinality.tables import AnswerTable, Table

__all__ = ["rank"]

# The kinds of ordinality.tables.comparisons, copied so that --help need not import it.
FORMATS = ("pairs", "ranking", "choice", "best-worst", "ratings")
COLUMNS = (".csv", ".tsv", ".parquet", ".arrow", ".jsonl")

EXAMPLE = """\b
Examples:
  ordinality rank @baseball
  ordinality rank answers.csv --top 3 --next 10 --report ranking.html
  ordinality rank battles.csv --covariates side,length_diff --group prompt
"""


@click.command(epilog=EXAMPLE)
@click.argument("table")
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default="pairs",
    show_default=True,
    help="What a row of TABLE is.",
)
@click.option("--items", metavar="FILE", help="Table of all items; others are refused.")
@click.option("--key", metavar="COLUMN", help="Column of their names. [default: the first]")
@click.option("--features", type=Names(), metavar="A,B", help="Columns that describe items.")
@click.option("--ratings", metavar="FILE", help="Table of ratings of the same items.")
@click.option(
    "--covariates",
    type=Names(),
    metavar="A,B",
    help="Columns of differences in presentation, left less right, whose effects are learnt "
    "and left out of the ranking; side is the side itself.",
)
@click.option(
    "--judge-sides/--no-judge-sides",
    default=None,
    help="Whether each judge may like one side more; the ranking is that of fair sides. "
    "[default: if some take one side more often than the items explain]",
)
@click.option(
    "--ties/--no-ties",
    default=None,
    help="Whether answers may be ties; with --no-ties those that are, are left out. "
    "[default: if some are]",
)
@click.option(
    "--grades",
    type=click.IntRange(1, 10),
    metavar="G",
    help="Strongest answer; stronger ones count as this. [default: that of the data]",
)
@click.option(
    "--group",
    metavar="COLUMN",
    help="Keep answers with the same value, such as a prompt, together in the check: all of "
    "them are learnt from, or all kept aside.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many of the best matter.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="Probability of the intervals of places.",
)
@click.option(
    "--next",
    "n_next",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Propose the N questions that tell most.",
)
@click.option("-o", "--out", metavar="FILE.skops", help="Save the model to this file.")
@click.option("--report", metavar="FILE.html", help="Write a report to this file.")
@click.option("--judges-out", metavar="FILE.csv", help="Write a table of the judges.")
@seed_option
@click.option("--force", is_flag=True, help="Replace files that exist.")
@json_option
def rank(
    table: str,
    kind: str,
    items: str | None,
    key: str | None,
    features: list[str] | None,
    ratings: str | None,
    covariates: list[str] | None,
    judge_sides: bool | None,
    ties: bool | None,
    grades: int | None,
    group: str | None,
    top: int,
    level: float,
    n_next: int,
    out: str | None,
    report: str | None,
    judges_out: str | None,
    seed: int,
    force: bool,
    as_json: bool,
) -> None:
    """Rank items from a table of answers.

    TABLE has columns left, right and winner: the name of an item, left, right or tie, or a
    number (above 0: left). Columns judge, weight and seconds may be there. Other formats:
    ranking (a column of ranks for each item), choice (case, item, chosen), best-worst (the
    items shown, best, worst), ratings (item, rating). @NAME is a table of the package, - is
    standard input.

    Prints a table on a terminal and CSV elsewhere. Places have intervals; a tenth of the
    answers is kept aside to check the model.
    """
    for path in (table, items, ratings):
        if path is not None:
            check_table(path)
    check_output(out, (".skops",), force)
    check_output(report, (".html",), force)
    check_output(judges_out, COLUMNS, force)
    if items is None and (key is not None or features):
        raise ValueError(
            f"--{'features' if features else 'key'} names columns of items; add --items FILE."
        )
    known, said = _read(table, kind, items, key, features, ratings, covariates, group)
    if judges_out is not None and said.judges is None:
        raise ValueError("The answers do not name judges; leave out --judges-out.")
    if judge_sides and (not said.sides or said.judges is None or len(set(said.judges)) < 2):
        raise ValueError(
            "--judge-sides needs the answers of several judges to pairs that were shown left "
            "and right; leave it out."
        )
    say(said.notes)
    from ordinality.panel import rank_answers

    sides: bool | str = "auto" if judge_sides is None else judge_sides
    with progress("ranking") as tick:
        found = rank_answers(
            said.pairs, said.answers, items=said.items if known is None else known[0],
            key=None if known is None else known[1], judges=said.judges, weights=said.weights,
            seconds=said.seconds, groups=said.groups, ratings=said.ratings, sides=said.sides,
            covariates=said.covariates, judge_sides=sides,
            ties=ties, grades=grades, top=top, level=level, n_next=n_next, seed=seed,
            progress=tick,
        )  # fmt: skip
    found = replace(found, notes=(*said.notes, *found.notes))
    say(found.notes[len(said.notes) :])
    if as_json:
        show_json(found.as_dict())
    else:
        _show(found)
    _write(found, out, report, judges_out, force)


def _read(
    table: str,
    kind: str,
    items: str | None,
    key: str | None,
    features: list[str] | None,
    ratings: str | None,
    covariates: list[str] | None,
    group: str | None,
) -> tuple[tuple[Any, str] | None, AnswerTable]:
    """The frame of items and its column of names, if there is one, and the answers."""
    from ordinality.tables.comparisons import comparisons, described_items

    frame, names = None, None
    notes: tuple[str, ...] = ()
    if items is not None:
        listed = _whole(items)
        native, key, notes = described_items(listed, key, features)
        frame, names = (native, key), [str(name) for name in native[key].to_list()]
    said = comparisons(
        _whole(table), kind, items=names, covariates=covariates or (), group=group
    )
    if ratings is not None:
        rated = comparisons(_whole(ratings), "ratings", items=names)
        if said.ratings is not None:
            raise ValueError("TABLE holds ratings already; leave out --ratings.")
        every = tuple(sorted({*said.items, *rated.items}))
        notes = (*notes, *rated.notes)
        said = replace(said, items=every, ratings=rated.ratings)
    return frame, replace(said, notes=(*notes, *said.notes))


def _whole(path: str) -> Table:
    """A table in memory."""
    from .fit import named_table

    found = named_table(path)
    return found.whole() if hasattr(found, "whole") else found


def _write(
    found: Ranking, out: str | None, report: str | None, judges_out: str | None, force: bool
) -> None:
    if out is not None:
        found.save(out, force=force)
        say([f"Wrote {out}; in Python: ordinality.load({out!r}).rank()"])
    if report is not None:
        command = shlex.join(["ordinality", *sys.argv[1:]])
        found.report(report, command=command, force=force)
        say([f"Wrote {report}."])
    if judges_out is not None:
        from dataclasses import asdict

        from ordinality import tables

        rows = [asdict(one) for one in found.judges]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        tables.write(judges_out, columns, force=force)
        say([f"Wrote {judges_out}."])


# ---------------------------------------------------------------- tables


def _show(found: Ranking) -> None:
    """A table with sentences on a terminal; elsewhere CSV, and the sentences to stderr."""
    if not on_terminal():
        _show_csv(found)
        say(found.sentences())
        say(_presented(found))
        say(f"Ask next: {left} or {right}?" for left, right, _ in found.next)
        return
    console = results()
    _show_items(console, found)
    for sentence in found.sentences():
        tell(console, sentence)
    if found.covariates:
        console.print()
        rows = [[name, mean, between] for name, mean, between in _effects(found)]
        show(console, ["covariate", "coefficient", f"{found.level:.0%}"], rows, text=[0])
    if found.next:
        console.print()
        rows = [[left, right, f"{gain:.3f}"] for left, right, gain in found.next]
        show(console, ["ask next", "or", "gain"], rows, text=[0, 1])


def _show_items(console: Console, found: Ranking) -> None:
    titles = [
        "rank", "item", "utility", f"{found.level:.0%} of places", "answers",
        f"P(in the best {found.top})",
    ]  # fmt: skip
    rows = [
        [
            str(one.rank), one.item, f"{one.utility:.2f}",
            f"{one.places[0]} to {one.places[1]}", str(one.answers), f"{one.p_best:.3f}",
        ]
        for one in found.items
    ]  # fmt: skip
    show(console, titles, rows, text=[1])


def _show_csv(found: Ranking) -> None:
    from ordinality import tables

    items = found.items
    columns = {
        "rank": [one.rank for one in items],
        "item": [one.item for one in items],
        "utility": [one.utility for one in items],
        "first_place": [one.places[0] for one in items],
        "last_place": [one.places[1] for one in items],
        "answers": [one.answers for one in items],
        "p_best": [one.p_best for one in items],
    }
    tables.write("-", columns)


def _effects(found: Ranking) -> list[tuple[str, str, str]]:
    """Name, coefficient and interval of each covariate, as text."""
    return [
        (one.name, f"{one.coefficient:.3g}", f"{one.interval[0]:.3g} to {one.interval[1]:.3g}")
        for one in found.covariates
    ]


def _presented(found: Ranking) -> list[str]:
    return [
        f"{name}: coefficient {mean} ({found.level:.0%}: {between})"
        for name, mean, between in _effects(found)
    ]
