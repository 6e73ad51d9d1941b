"""``ordinality evaluate``: how well a model predicts a table whose labels are known."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import click

from .options import check_input, json_option
from .output import number, results, say, show, show_json, tell

if TYPE_CHECKING:
    from ordinality.tables import Scan, Table
    from ordinality.workbench import Evaluation

    from .model_input import Loaded

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
    are too optimistic. TABLE may be a folder of Parquet files or larger than the memory.
    """
    check_input(model)
    check_input(table, folder=True)
    from ordinality import tables

    from .model_input import load

    loaded = load(model)
    found = _evaluated(loaded, tables.open_table(table), target or loaded.target, weights)
    say(found.notes)
    if as_json:
        show_json(found.as_dict())
        return
    _show(found, loaded.levels)


def _evaluated(
    loaded: Loaded, known: Table | Scan, target: str, weights: str | None
) -> Evaluation:
    """The scores on all rows with a label, added up over blocks."""
    from ordinality.tables.encoding import Unseen, unseen_sentences
    from ordinality.workbench.evaluate import evaluation, pooled
    from ordinality.workbench.labelled import labelled, left_out, unlabelled

    from .model_input import blocks_of

    encoder, model = loaded.pipeline[0], loaded.pipeline[-1]
    parts, without, unseen = [], 0, cast(Unseen, Counter())
    with blocks_of(known, loaded.columns(target, weights)) as blocks:
        for block, tick in blocks:
            if block is not known and (empty := unlabelled(block, target, weights)).all():
                without += len(empty)
                continue
            frame, y, w, lost, new = labelled(encoder, model.levels_, block, target, weights)
            without += lost
            unseen.update(new)
            part = evaluation(
                loaded.pipeline, frame, y, w, counts=loaded.summary.get("counts"),
                proba=loaded.proba(frame, tick),
            )  # fmt: skip
            parts.append((len(y) if w is None else float(w.sum()), part))
    if not parts:
        raise ValueError(f"No row of {known.source} has a value in {target}.")
    notes = (*left_out(without, target, weights), *unseen_sentences(unseen))
    return pooled(parts, notes)


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
