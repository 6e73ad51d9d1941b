"""``ordinality explain``: importance, partial dependence and marginal effects of columns."""

from __future__ import annotations

from typing import Any

import click

from .options import check_input, json_option, seed_option
from .output import progress, results, show, show_bars, show_json, tell

__all__ = ["explain"]

SAMPLE = 20_000  # rows of a table that is larger than the memory

EXAMPLE = """\b
Example:
  ordinality explain wine.skops examples/wine.csv
"""


@click.command(epilog=EXAMPLE)
@click.argument("model")
@click.argument("table", required=False)
@seed_option
@json_option
def explain(model: str, table: str | None, seed: int, as_json: bool) -> None:
    """Show which columns matter and how.

    For every column: the average probability of a level above each threshold when the column is
    set to several values (partial dependence), and how the levels' probabilities change from a
    low to a high value (marginal effect), with an interval of 95 % where the model knows one.
    The averages are over the rows of TABLE, or without TABLE over the training rows, as stored
    in the model file.
    """
    check_input(model)
    if table:
        check_input(table, folder=True)
    from .model_input import description

    about = description(model)
    summary = about.get("summary") or {}
    found = _computed(model, table, seed) if table else summary.get("effects")
    if found is None:
        raise ValueError(
            f"{model} was saved without the effects of its columns; give a table as well: "
            f"ordinality explain {model} TABLE"
        )
    from ordinality.inspect import Effect
    from ordinality.workbench.study import threshold_sentences

    levels = [str(level) for level in about.get("levels") or ()]
    known = [Effect.from_dict(one) for one in found]
    sentences = threshold_sentences(known, levels)
    if as_json:
        ours = {name: summary.get(name) or {} for name in ("importance", "relevance")}
        show_json({**ours, "levels": levels, "effects": found, "words": sentences})
        return
    _show(summary, known, levels, sentences)


def _computed(model: str, table: str, seed: int) -> list[dict[str, Any]]:
    """The effects on a table, as the model file has those on the training rows."""
    from ordinality import tables
    from ordinality.inspect import effects

    from .model_input import load

    loaded = load(model)
    known = tables.open_table(table)
    if isinstance(known, tables.Scan):  # the averages are over few rows in any case
        known = known.sample(SAMPLE, seed, loaded.columns())
    frame = loaded.rows(known)
    with progress("explaining") as tick:
        found = effects(loaded.pipeline, frame, seed=seed, progress=tick)
    return [effect.as_dict() for effect in found]


def _show(
    summary: dict[str, Any], found: list[Any], levels: list[str], sentences: list[str]
) -> None:
    console = results()
    show_bars(console, "permutation importance", summary.get("importance") or {})
    show_bars(console, "relevance", summary.get("relevance") or {})
    for one in found:
        titles = [one.column, *(f"P(> {level})" for level in levels[:-1])]
        rows = [
            [_value(value), *(f"{chance:.2f}" for chance in row)]
            for value, row in zip(one.values, one.above, strict=True)
        ]
        show(console, titles, rows)
    changes = [
        [one.column, *(f"{change:+.3f}" for change in one.change), _expected(one)]
        for one in found
    ]
    titles = ["marginal effect on", *(f"P({level})" for level in levels), "expected level"]
    show(console, titles, changes)
    for sentence in sentences:
        tell(console, sentence)


def _expected(effect: Any) -> str:
    """Change of the expected level, with its interval of 95 % if there is one."""
    low, high = effect.interval("expected")
    known = "" if low != low else f" ({low:+.2f} to {high:+.2f})"
    return f"{effect.expected:+.2f}{known}"


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
