"""Checks of the files that a command reads and writes.

Nothing heavy is imported here, so that a wrong name is refused at once. Every file that a
command may write goes through `check_output` (or `may_write`), which notes the state of the
file; after Ctrl-C `what_was_written` compares. It asks the file system and not the command, so
its answer is right wherever the command was stopped.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

__all__ = ["check_input", "check_output", "check_table", "may_write", "what_was_written"]

EMBEDDED = Path(__file__).parents[1] / "datasets" / "embedded"

STATES = f"{__name__}.states"  # key of the click context: path -> state before the command


# ---------------------------------------------------------------- reading


def check_input(path: str) -> None:
    """Refuse a file that does not exist, and suggest one with a similar name."""
    where = Path(path)
    if path == "-":  # standard input
        return
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder; name a file in it.")
    if not os.path.exists(path):  # also false for names that no file can have
        folder = where.parent
        beside = {p.name.lower(): p.name for p in folder.iterdir()} if folder.is_dir() else {}
        near = get_close_matches(where.name.lower(), beside, n=1, cutoff=0.75)
        hint = f"did you mean {beside[near[0]]!r}?" if near else "check the path."
        raise ValueError(f"There is no file {path}; {hint}")


def check_table(table: str) -> None:
    """The same for a table, which may also be one that comes with the package."""
    if not table.startswith("@"):
        return check_input(table)
    names = sorted(path.stem for path in EMBEDDED.glob("*.csv"))
    if table[1:] not in names:
        raise ValueError(
            f"{table} is not a table of the package; the tables are @{', @'.join(names)}."
        )
    return None


# ---------------------------------------------------------------- writing


def check_output(path: str | None, suffixes: tuple[str, ...], force: bool) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path is None:
        return
    where = Path(path)
    if not path.lower().endswith(suffixes):
        *most, last = suffixes
        ends = f"{', '.join(most)} or {last}" if most else last
        raise ValueError(
            f"{path} should end in {ends}, such as {where.stem or 'model'}{suffixes[0]}."
        )
    if where.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it.")
    if not where.absolute().parent.is_dir():
        raise ValueError(f"There is no folder {where.parent}; create it first.")
    if where.exists() and not force:
        raise ValueError(f"{path} exists; replace it with --force.")
    may_write(path)


def may_write(path: str) -> None:
    """Note the state of a file that the running command may write."""
    click.get_current_context().meta.setdefault(STATES, {})[path] = _state(path)


def what_was_written(ctx: click.Context) -> str:
    """Which of the files that the command may write have been written, in words."""
    states: dict[str, Any] = ctx.meta.get(STATES, {})
    written = [path for path, before in states.items() if _state(path) != before]
    if not written:
        return "no file was changed"
    rest = [path for path in states if path not in written]
    kept = f"; not changed: {', '.join(rest)}" if rest else ""
    return f"written completely: {', '.join(written)}{kept}"


def _state(path: str) -> tuple[int, ...] | None:
    """A value that changes whenever a file is written, even with the same contents."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
