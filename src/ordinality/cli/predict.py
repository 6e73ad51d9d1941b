"""``ordinality predict``: levels and their probabilities for the rows of a table."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from typing import Any

import click

from .options import check_input, check_output, json_option
from .output import say, show_json, show_text

__all__ = ["predict"]

EXAMPLE = """\b
Example:
  ordinality predict wine.skops examples/wine.csv --proba --out predictions.csv
"""
# The formats of ordinality.tables.write, copied so that a wrong one is refused at once.
FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".ipc", ".jsonl", ".ndjson")
WRITTEN = (*FORMATS, *(f"{suffix}.gz" for suffix in FORMATS))


@click.command(epilog=EXAMPLE)
@click.argument("model")
@click.argument("table")
@click.option("--proba", is_flag=True, help="Add a column with the probability of each level.")
@click.option(
    "--decision",
    type=click.Choice(["mode", "median", "mean", "quadratic-kappa"]),
    default="mode",
    show_default=True,
    metavar="RULE",
    help="Predict the most probable level (mode), the median, the rounded mean, or for the "
    "largest quadratic kappa on the rows of TABLE (quadratic-kappa).",
)
@click.option("--keep", is_flag=True, help="Keep the columns of TABLE beside the predictions.")
@click.option(
    "--out", default="-", metavar="FILE", help="Output file. [default: CSV on stdout]"
)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="In CSV, put an apostrophe before text that a spreadsheet would read as a formula.",
)
@json_option
def predict(
    model: str,
    table: str,
    proba: bool,
    decision: str,
    keep: bool,
    out: str,
    force: bool,
    spreadsheet_safe: bool,
    as_json: bool,
) -> None:
    """Predict the level of every row of TABLE.

    MODEL is a file written by ordinality fit. TABLE needs the columns that the model was fitted
    to; others are ignored.
    """
    check_input(model)
    check_input(table)
    check_output(None if out == "-" else out, WRITTEN, force)
    from ordinality import tables

    from .model_input import load

    loaded = load(model)
    known = tables.read(table)
    chances = loaded.proba(loaded.rows(known))
    columns = _columns(loaded, chances, decision.replace("-", "_"), proba)
    if as_json:
        show_json({name: list(cells) for name, cells in columns.items()})
        return
    if keep:
        columns = _beside(known, columns)
    if out == "-":
        _print(columns, spreadsheet_safe)
    else:
        tables.write(out, columns, force=force, spreadsheet_safe=spreadsheet_safe)
        say([f"Wrote {len(chances)} predictions to {out}."])
    if not spreadsheet_safe:
        _note_formulas(out, columns)


def _print(columns: dict[str, list[Any]], spreadsheet_safe: bool) -> None:
    """CSV to stdout: unchanged into a pipe or a file, escaped on a terminal."""
    from ordinality import tables

    with redirect_stdout(io.StringIO()) as text:
        tables.write("-", columns, spreadsheet_safe=spreadsheet_safe)
    if sys.stdout.isatty():
        show_text(text.getvalue())
    else:
        sys.stdout.write(text.getvalue())


def _note_formulas(out: str, columns: dict[str, list[Any]]) -> None:
    """Note how many cells a spreadsheet would read as formulas."""
    from ordinality.tables import formula_cells

    if out != "-" and not out.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        return
    if count := formula_cells(columns):
        say(
            [
                f"Text cells that begin with =, +, - or @: {count}. A spreadsheet reads them "
                "as formulas; put an apostrophe before them with --spreadsheet-safe."
            ]
        )


def _columns(loaded: Any, chances: Any, decision: str, proba: bool) -> dict[str, list[Any]]:
    from ordinality.estimators.base_ordinal import decided, kappa_rule
    from ordinality.levels import Order

    order = Order(loaded.pipeline[-1].levels_, "stated")
    ranks = decided(chances, decision, kappa_rule(chances))
    columns = {f"predicted {loaded.target}": order.decode(ranks).tolist()}
    if proba:
        for k, level in enumerate(loaded.levels):
            columns[f"P({level})"] = chances[:, k].tolist()
    return columns


def _beside(known: Any, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    clash = next((name for name in columns if name in known.names), None)
    if clash is not None:
        raise ValueError(
            f"{known.source} already has a column {clash!r}; rename it, or leave out --keep."
        )
    return {**{name: known.frame[name].to_list() for name in known.names}, **columns}
