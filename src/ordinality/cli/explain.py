"""``ordinality explain``: what a model makes of the columns."""

from __future__ import annotations

from typing import Any

import click

from .output import progress, results, show, show_bars, show_json, tell
from .paths import check_input

__all__ = ["explain"]

EXAMPLE = """\b
Example:
  ordinality explain wine.skops examples/wine.csv
"""


@click.command(epilog=EXAMPLE)
@click.argument("model")
@click.argument("table", required=False)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed for drawing rows.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def explain(model: str, table: str | None, seed: int, as_json: bool) -> None:
    """Show which columns matter and how.

    For every column: the average probability of a level above each threshold when the column is
    set to several values (partial dependence), and how the levels' probabilities change from a
    low to a high value (marginal effect). The averages are over the rows of TABLE; without one,
    over the rows the model was fitted to, as the file remembers them.
    """
    check_input(model)
    if table:
        check_input(table)
    from .model_input import description

    about = description(model)
    summary = about.get("summary") or {}
    found = _again(model, table, seed) if table else summary.get("effects")
    if found is None:
        raise ValueError(
            f"{model} says nothing of the columns it was fitted to; give a table as well: "
            f"ordinality explain {model} TABLE"
        )
    levels = [str(level) for level in about.get("levels") or ()]
    words = _words(found, levels)
    if as_json:
        ours = {name: summary.get(name) or {} for name in ("importance", "relevance")}
        show_json({**ours, "levels": levels, "effects": found, "words": words})
        return
    _show(summary, found, levels, words)


def _again(model: str, table: str, seed: int) -> list[dict[str, Any]]:
    from ordinality import tables
    from ordinality.workbench import effects, plain_effect

    from .model_input import load

    loaded = load(model)
    frame = loaded.rows(tables.read(table))
    with progress("explaining") as tick:
        found = effects(loaded.solver, frame, seed=seed, tick=tick)
    return [plain_effect(effect) for effect in found]


def _words(found: list[dict[str, Any]], levels: list[str]) -> list[str]:
    from ordinality.workbench import effect_of, moves

    return moves([effect_of(one) for one in found], levels)


def _show(
    summary: dict[str, Any], found: list[dict[str, Any]], levels: list[str], words: list[str]
) -> None:
    console = results()
    show_bars(console, "worse without it", summary.get("importance") or {})
    show_bars(console, "relevance", summary.get("relevance") or {})
    for one in found:
        titles = [one["column"], *(f"P(> {level})" for level in levels[:-1])]
        rows = [
            [_value(value), *(f"{chance:.2f}" for chance in row)]
            for value, row in zip(one["values"], one["above"], strict=True)
        ]
        show(console, titles, rows)
    changes = [
        [one["column"], *(f"{change:+.3f}" for change in one["change"])] for one in found
    ]
    show(console, ["marginal effect on", *(f"P({level})" for level in levels)], changes)
    for sentence in words:
        tell(console, sentence)


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
