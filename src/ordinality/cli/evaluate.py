"""``ordinality evaluate``: how well a model predicts a table whose labels are known."""

from __future__ import annotations

from typing import Any

import click

from .options import check_input, json_option
from .output import number, results, say, show, show_json, tell

__all__ = ["evaluate"]

EXAMPLE = """\b
Example:
  ordinality evaluate wine.skops new-wines.csv
"""


@click.command(epilog=EXAMPLE)
@click.argument("model")
@click.argument("table")
@click.option("--target", metavar="COLUMN", help="Column of labels. [default: as in training]")
@click.option("--weights", metavar="COLUMN", help="Column of row weights.")
@json_option
def evaluate(
    model: str, table: str, target: str | None, weights: str | None, as_json: bool
) -> None:
    """Score a model on a table with known labels.

    The scores of MODEL on the rows of TABLE are shown beside those of a baseline: the
    frequencies of the levels in training. On the table that the model was fitted to, its scores
    are too optimistic.
    """
    check_input(model)
    check_input(table)
    from ordinality import tables
    from ordinality.workbench import evaluation, labelled_rows

    from .model_input import load

    loaded = load(model)
    known = tables.read(table)
    rows = labelled_rows(loaded.pipeline, known, target or loaded.target, weights)
    found = evaluation(
        loaded.pipeline,
        *rows,
        counts=loaded.summary.get("counts"),
        proba=loaded.proba(rows[0]),
    )
    say(found.notes)
    if as_json:
        show_json(found.as_dict())
        return
    _show(found, loaded.levels)


def _show(found: Any, levels: list[Any]) -> None:
    console = results()
    titles = [f"{found.rows} rows", "model", "frequencies"]
    rows = [
        [name, number(value), number(found.baseline[name])]
        for name, value in found.scores.items()
    ]
    show(console, titles, rows)
    counted = [
        [str(level), *(str(count) for count in row)]
        for level, row in zip(levels, found.confusion.tolist(), strict=True)
    ]
    show(console, ["true \\ predicted", *(str(level) for level in levels)], counted)
    tell(console, found.verdict)
