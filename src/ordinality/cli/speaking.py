"""How commands speak: results to stdout, talk and progress to stderr, numbers for machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "number",
    "progress",
    "results",
    "say",
    "show",
    "show_bars",
    "show_json",
    "titles",
    "warn",
]

SHORT = {
    "ranked probability score": "ranked probability",
    "mean absolute error": "absolute error",
}
SHOWN = 12  # columns listed with bars; the others only counted
BAR = 24  # columns of the terminal for the longest bar


def say(sentences: Iterable[str]) -> None:
    """Talk: one sentence a line, to stderr."""
    for sentence in sentences:
        click.echo(sentence, err=True)


def warn(sentences: Iterable[str]) -> None:
    """The same for what somebody should worry about."""
    say(f"Warning: {sentence}" for sentence in sentences)


def results() -> Console:
    """Where tables are shown. Names and labels are data: brackets in them are no markup."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


def show(console: Console, titles: list[str], rows: Iterable[list[str]]) -> None:
    """One table: words on the left, then numbers under their titles."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, title in enumerate(titles):
        justify: Literal["left", "right"] = "right" if i and title else "left"
        table.add_column(title, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()


def show_bars(console: Console, title: str, values: Mapping[str, float]) -> None:
    """Columns with a bar for each value, the largest first; nothing if there are none."""
    most = sorted(values, key=lambda name: -values[name])[:SHOWN]
    if not most:
        return
    ink = "#" if console.options.ascii_only else "█"
    unit = BAR / max(values[most[0]], 1e-300)  # nothing is above zero: no bars, no division
    rows = [
        [name, f"{values[name]:.3g}", ink * round(unit * max(values[name], 0.0))]
        for name in most
    ]
    show(console, ["column", title, ""], rows)
    if len(values) > SHOWN:
        console.print(f"and {len(values) - SHOWN} more that matter less\n")


def titles(scores: Iterable[str]) -> list[str]:
    """Names of scores, short enough to stand side by side in 80 columns."""
    return [SHORT.get(name, name) for name in scores]


def number(value: float | None, digits: int = 3) -> str:
    """A score for a person; what is not finite is infinite."""
    return "∞" if value is None or value == float("inf") else f"{value:.{digits}f}"


def show_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


@contextmanager
def progress(words: str) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left, for whoever watches; yields ``tick(done, total)``."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        task = bar.add_task(words, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
