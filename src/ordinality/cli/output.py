r"""Output of commands: results to stdout, notes and progress to stderr, JSON for programs.

Labels, column names and file names are data, and data may contain characters that control a
terminal: escape sequences, deletions, changes of the writing direction. Everything a command
prints passes through this module, which shows such characters as escapes (``\x1b``).
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click

from ordinality._compile import watch
from ordinality._text import ACTIVE, visible

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "json_text",
    "number",
    "on_terminal",
    "progress",
    "results",
    "say",
    "show",
    "show_bars",
    "show_json",
    "show_text",
    "tell",
    "titles",
    "warn",
]


SHORT_NAMES = {
    "ranked probability score": "ranked probability",
    "mean absolute error": "absolute error",
    "zero-one error": "error rate",
}

MAX_BARS = 12  # columns listed with bars; the rest is counted

BAR_WIDTH = 24  # characters of the longest bar


def say(sentences: Iterable[str]) -> None:
    """Print notes to stderr, one sentence per line."""
    for sentence in sentences:
        click.echo(visible(sentence), err=True)


def warn(sentences: Iterable[str]) -> None:
    """Print warnings to stderr, one per line, without the line breaks that some have."""
    say(f"Warning: {' '.join(sentence.split())}" for sentence in sentences)


def show_text(text: str) -> None:
    """Print text of several lines to stdout."""
    click.echo(visible(text, keep="\n\t"), nl=False)


def results() -> Console:
    """A console for tables. Names and labels are data: brackets in them are no markup."""
    from rich.console import Console

    class Results(Console):
        """A console whose plain text has no active control characters."""

        def print(self, *objects: Any, **options: Any) -> None:
            shown = (visible(o, keep="\n\t") if isinstance(o, str) else o for o in objects)
            super().print(*shown, **options)

    return Results(markup=False, emoji=False, highlight=False)


def on_terminal() -> bool:
    """Whether results are read by a person, and not by a program or from a file."""
    return sys.stdout.isatty()


def tell(console: Console, sentence: str) -> None:
    """Print one sentence to stdout, without line breaks."""
    console.print(visible(sentence), soft_wrap=True)


def show(
    console: Console, titles: list[str], rows: Iterable[list[Any]], text: Iterable[int] = (0,)
) -> None:
    """Print a table; a cell is text, or rich's Text where it has a style.

    Columns of the numbers ``text`` are aligned to the left, and those without a title.
    """
    of_text = set(text)
    from rich import box
    from rich.table import Table
    from rich.text import Text

    def shown(cell: str | Text) -> str | Text:
        if isinstance(cell, str):
            return visible(cell)
        return Text(visible(cell.plain), style=cell.style)

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, title in enumerate(titles):
        justify: Literal["left", "right"] = "left" if i in of_text or not title else "right"
        table.add_column(visible(title), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(shown(cell) for cell in row))
    console.print(table)
    console.print()


def show_bars(console: Console, title: str, values: Mapping[str, float]) -> None:
    """Print columns with a bar for each value, the largest first; nothing if there are none."""
    most = sorted(values, key=lambda name: -values[name])[:MAX_BARS]
    if not most:
        return
    ink = "#" if console.options.ascii_only else "█"
    largest = values[most[0]]
    unit = BAR_WIDTH / largest if largest > 0 else 0.0
    rows = [
        [name, f"{values[name]:.3g}", ink * round(unit * max(values[name], 0.0))]
        for name in most
    ]
    show(console, ["column", title, ""], rows)
    if len(values) > MAX_BARS:
        console.print(f"and {len(values) - MAX_BARS} more columns with smaller values\n")


def titles(scores: Iterable[str]) -> list[str]:
    """Names of scores, short enough for a table of 80 characters."""
    return [SHORT_NAMES.get(name, name) for name in scores]


def number(value: float | None, digits: int = 3) -> str:
    """A score as text; JSON has None for what is not finite."""
    return "∞" if value is None or value == float("inf") else f"{value:.{digits}f}"


def show_json(value: Any) -> None:
    """Print one JSON document to stdout."""
    click.echo(json_text(value))


def json_text(value: Any) -> str:
    r"""A JSON document, control characters as ``\u001b``."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    # json escapes only C0. The other active characters are within strings, except the line
    # breaks of the layout.
    return ACTIVE.sub(
        lambda found: f"\\u{ord(found[0]):04x}" if found[0] != "\n" else "\n", text
    )


@contextmanager
def progress(words: str) -> Iterator[Callable[[str, float], None]]:
    """Show how far the work is; yields ``tick(what, share)``, to be called before each part.

    A terminal gets a bar with the current step and the time left; elsewhere, as in a log file,
    long work gets plain lines. If code has to be compiled, a line says so.
    """
    from rich.console import Console

    console = Console(stderr=True)
    with watch(_say_that_code_is_compiled):
        if console.is_terminal:
            with _bar(words, console) as tick:
                yield tick
        else:
            yield _Lines(words)


@functools.cache  # once in a process
def _say_that_code_is_compiled() -> None:
    say(["Compiling code for this machine; this takes some seconds, once after installation."])


@contextmanager
def _bar(words: str, console: Console) -> Iterator[Callable[[str, float], None]]:
    """A progress bar in a terminal."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(elapsed_when_finished=False),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(visible(words), total=1.0)
        yield lambda what, share: bar.update(
            task, description=visible(f"{words}: {what}"), completed=share
        )


class _Lines:
    """Progress as a few plain lines, none for short work."""

    BETWEEN_SUBJECTS, WITHIN_SUBJECT = 2.0, 10.0  # least seconds between lines

    def __init__(self, words: str) -> None:
        self.words, self.subject = words, ""
        self.began = self.last = time.monotonic()

    def __call__(self, what: str, share: float) -> None:
        now, subject = time.monotonic(), what.partition(",")[0].strip("0123456789")
        if now - self.last < (
            self.WITHIN_SUBJECT if subject == self.subject else self.BETWEEN_SUBJECTS
        ):
            return
        self.last, self.subject = now, subject
        # Before 5 %, loading and compiling would distort the estimate.
        left = (now - self.began) * (1 - share) / share if share >= 0.05 else None
        more = "" if left is None else f"; about {_duration(left)} left"
        say([f"{self.words}: {what}{more}"])


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
