"""``ordinality predict``: levels and their probabilities for the rows of a table."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from .options import DECIDE, DECISIONS, check_input, check_output, json_option
from .output import say, show_json, show_text

if TYPE_CHECKING:
    from ordinality.tables import Scan, Table

    from .model_input import Loaded

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
    type=click.Choice(DECISIONS),
    metavar="RULE",
    help=f"{DECIDE} [default: as the model was fitted]",
)
@click.option(
    "--coverage",
    type=click.IntRange(50, 99),
    metavar="PERCENT",
    help="Add the first and the last level of a range that holds the true one so often.",
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
    decision: str | None,
    coverage: int | None,
    keep: bool,
    out: str,
    force: bool,
    spreadsheet_safe: bool,
    as_json: bool,
) -> None:
    """Predict the level of every row of TABLE.

    MODEL is a file written by ordinality fit. TABLE needs the columns that the model was fitted
    to; others are ignored. It may be a folder of Parquet files or larger than the memory.
    """
    check_input(model)
    check_input(table, folder=True)
    check_output(None if out == "-" else out, WRITTEN, force)
    from ordinality import tables

    from .model_input import load

    loaded = load(model)
    rule = None if decision is None else decision.replace("-", "_")
    bound = _bound(loaded, model, coverage)
    blocks = _predicted(loaded, tables.open_table(table), rule, proba, keep, bound)
    if as_json:
        found: dict[str, list[Any]] = {}
        for columns in blocks:
            for name, cells in columns.items():
                found.setdefault(name, []).extend(cells)
        show_json(found)
        return
    count = formulas = 0
    with tables.write_blocks(out, force=force, spreadsheet_safe=spreadsheet_safe) as append:
        for columns in blocks:
            append(columns) if out != "-" else _print(append, columns)
            count += len(next(iter(columns.values())))
            formulas += _formulas(out, columns) if not spreadsheet_safe else 0
    if out != "-":
        say([f"Wrote {count} predictions to {out}."])
    if formulas:
        say(
            [
                f"Text cells that begin with =, +, - or @: {formulas}. A spreadsheet reads "
                "them as formulas; put an apostrophe before them with --spreadsheet-safe."
            ]
        )


def _predicted(
    loaded: Loaded,
    known: Table | Scan,
    rule: str | None,
    proba: bool,
    keep: bool,
    bound: float | None,
) -> Iterator[dict[str, list[Any]]]:
    """Columns of predictions, block by block; at the end, notes on what was not known."""
    from ordinality.tables.columns import TableError
    from ordinality.tables.encoding import Unseen, rows_and_unseen, unseen_sentences

    from .model_input import blocks_of

    unseen: Unseen = Counter()
    with blocks_of(known, None if keep else loaded.columns()) as blocks:
        for block, tick in blocks:
            try:
                frame, new = rows_and_unseen(loaded.pipeline[0], block)
            except TableError as wrong:
                if block is known:
                    raise
                raise TableError(f"{block.source}: {wrong}") from None
            unseen.update(new)
            chances = loaded.proba(frame, tick)
            columns = _columns(loaded, chances, rule, proba)
            if bound is not None:
                columns |= _range(loaded, chances, bound)
            yield _beside(block, columns) if keep else columns
    say(unseen_sentences(unseen))


def _print(append: Callable[[Any], None], columns: dict[str, list[Any]]) -> None:
    """CSV to stdout: unchanged into a pipe or a file, escaped on a terminal."""
    with redirect_stdout(io.StringIO()) as text:
        append(columns)
    if sys.stdout.isatty():
        show_text(text.getvalue())
    else:
        sys.stdout.write(text.getvalue())


def _formulas(out: str, columns: dict[str, list[Any]]) -> int:
    """How many cells a spreadsheet would read as formulas."""
    from ordinality.tables import formula_cells

    if out != "-" and not out.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        return 0
    return formula_cells(columns)


def _columns(loaded: Any, chances: Any, rule: str | None, proba: bool) -> dict[str, list[Any]]:
    from ordinality.estimators.base_ordinal import decided, kappa_rule
    from ordinality.levels import Order

    model = loaded.pipeline[-1]
    rule = getattr(model, "decision", "mode") if rule is None else rule
    kappa = getattr(model, "kappa_rule_", None)
    if kappa is None and isinstance(rule, str) and rule == "quadratic_kappa":
        kappa = kappa_rule(chances)  # of the rows at hand
    ranks = decided(chances, rule, kappa)
    order = Order(model.levels_, "stated")
    columns = {f"predicted {loaded.target}": order.decode(ranks).tolist()}
    if proba:
        for k, level in enumerate(loaded.levels):
            columns[f"P({level})"] = chances[:, k].tolist()
    return columns


def _bound(loaded: Loaded, model: str, coverage: int | None) -> float | None:
    """The bound of ranges of this coverage, as the model file has it."""
    if coverage is None:
        return None
    bounds = loaded.summary.get("range_bounds") or {}
    if str(coverage) not in bounds:
        raise ValueError(
            f"{model} has no bounds of ranges of levels; fit the model again with ordinality "
            "fit, or leave out --coverage."
        )
    return float(bounds[str(coverage)])


def _range(loaded: Loaded, chances: Any, bound: float) -> dict[str, list[Any]]:
    """Columns with the first and the last level of the range of each row."""
    from ordinality.workbench.prediction_sets import level_ranges

    ends = level_ranges(chances, bound).T
    levels, names = loaded.levels, (f"lowest {loaded.target}", f"highest {loaded.target}")
    return {n: [levels[rank] for rank in end] for n, end in zip(names, ends, strict=True)}


def _beside(known: Any, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    clash = next((name for name in columns if name in known.names), None)
    if clash is not None:
        raise ValueError(
            f"{known.source} already has a column {clash!r}; rename it, or leave out --keep."
        )
    return {**{name: known.frame[name].to_list() for name in known.names}, **columns}
