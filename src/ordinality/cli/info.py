"""``ordinality info``: the description in a model file, without loading the model."""

from __future__ import annotations

from typing import Any

import click

from .options import check_input, json_option
from .output import number, results, show, show_json, tell, titles

__all__ = ["info"]

EXAMPLE = """\b
Example:
  ordinality info wine.skops
"""


@click.command(epilog=EXAMPLE)
@click.argument("model")
@json_option
def info(model: str, as_json: bool) -> None:
    """Show what is in a model file.

    Only the description in the file is read; the model is not loaded.
    """
    check_input(model)
    from .model_input import description

    about = description(model)
    if as_json:
        show_json(about)
        return
    console = results()
    summary = about.get("summary") or {}
    show(console, [model, ""], _facts(about, summary))
    scored = summary.get("scores") or {}
    if scored:
        names = [name for name in next(iter(scored.values())) if name != "words"]
        rows = [[one, *(number(scored[one][name]) for name in names)] for one in scored]
        show(console, [f"{summary['folds']} folds", *titles(names)], rows)
    for sentence in (summary.get("verdict"), *(summary.get("words") or ())):
        if sentence:
            tell(console, sentence)


def _facts(about: dict[str, Any], summary: dict[str, Any]) -> list[list[str]]:
    facts = {
        "model": (summary.get("model") or {}).get("words") or about.get("model"),
        "target": summary.get("target"),
        "levels": " < ".join(str(level) for level in about.get("levels") or ()),
        "columns": ", ".join(summary.get("columns") or about.get("feature_names") or ()),
        "trained on": summary and f"{summary['rows']} rows of {summary['source']}",
        "written": about.get("created"),
        "by": ", ".join(f"{name} {version}" for name, version in about["versions"].items()),
    }
    return [[name, str(value)] for name, value in facts.items() if value]
