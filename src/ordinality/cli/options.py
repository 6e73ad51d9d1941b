"""Options that several commands share, their values, and checks of the files they name.

Nothing heavy is imported here, so that a wrong name is refused at once. Every file that a
command may write goes through `check_output` (or `may_write`), which notes the state of the
file; after Ctrl-C `what_was_written` compares. It asks the file system and not the command, so
its answer is right wherever the command was stopped.
"""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

__all__ = [
    "BASELINES",
    "DECIDE",
    "DECISIONS",
    "MODELS",
    "Names",
    "as_argument",
    "check_input",
    "check_output",
    "check_table",
    "json_option",
    "may_write",
    "run_options",
    "seed_option",
    "table_options",
    "what_was_written",
]

# The names in ordinality.workbench, copied so that --help need not import it.
MODELS = (
    "gp",
    "linear",
    "mlr",
    "ard",
    "laplace",
    "plsor",
    "boost",
    "trees",
    "boost-trees",
    "class-trees",
    "forest",
    "rankboost",
    "svm",
    "svm-search",
)
BASELINES = ("frequencies", "rounded")

DECISIONS = ("mode", "median", "mean", "quadratic-kappa")
DECIDE = (
    "Predict the most probable level (mode), the median, the rounded mean, or for the largest "
    "quadratic kappa (quadratic-kappa)."
)

EMBEDDED = Path(__file__).parents[1] / "datasets" / "embedded"

STATES = f"{__name__}.states"  # key of the click context: path -> state before the command


class Names(click.ParamType):
    """Names separated by commas; one that contains a comma is put in double quotes."""

    name = "names"

    def __init__(self, known: tuple[str, ...] = ()) -> None:
        self.known = known  # names of models; if given, others are refused

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        """Split like a line of CSV."""
        try:
            found = next(csv.reader([value], skipinitialspace=True), [])
        except csv.Error:
            self.fail("a name with a line break must be in double quotes.", param, ctx)
        names = [name.strip() for name in found if name.strip()]
        wrong = [name for name in names if self.known and name not in self.known]
        if wrong:
            self.fail(
                f"there is no model named {wrong[0]!r}; the names are {', '.join(self.known)}."
            )
        return names


def _stacked(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


table_options = _stacked(
    click.option("--target", required=True, metavar="COLUMN", help="Column of ordered labels."),
    click.option("--order", type=Names(), metavar="A,B,C", help="All labels, lowest first."),
    click.option(
        "--accept-order",
        is_flag=True,
        help="Accept the order that is suggested for text labels.",
    ),
    click.option(
        "--features",
        type=Names(),
        multiple=True,
        metavar="A,B",
        help="Columns to use. [default: all but the target]",
    ),
    click.option(
        "--drop", type=Names(), multiple=True, metavar="A,B", help="Columns to leave out."
    ),
    click.option("--weights", metavar="COLUMN", help="Column of row weights."),
    click.option("--counts", metavar="COLUMN", help="Column with the number of cases per row."),
    click.option("--group", metavar="COLUMN", help="Column of groups; each stays in one fold."),
    click.option("--wide", is_flag=True, help="Accept many more columns than rows."),
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of the random numbers.",
)

run_options = _stacked(
    seed_option,
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Number of processes.",
    ),
)

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON instead of tables."
)


def as_argument(names: list[str]) -> str:
    """Names as one argument of a command line, so that `Names` reads them back."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return shlex.quote(line.getvalue())


# ---------------------------------------------------------------- files to read


def check_input(path: str, *, folder: bool = False) -> None:
    """Refuse a file that does not exist, and suggest one with a similar name."""
    where = Path(path)
    if path == "-":  # standard input
        return
    if os.path.isdir(path) and not folder:
        raise ValueError(f"{path} is a folder; name a file in it.")
    if os.path.isdir(path) and not any(where.rglob("*.parquet")):
        first = next((p for p in sorted(where.rglob("*")) if p.is_file()), None)
        if first is None:
            raise ValueError(f"{path} is an empty folder; name a file, or a folder of Parquet.")
        raise ValueError(
            f"{path} is a folder without a Parquet file; name one of its files, such as "
            f"{first.relative_to(where)}."
        )
    if not os.path.exists(path):  # also false for names that no file can have
        home = where.parent
        beside = {p.name.lower(): p.name for p in home.iterdir()} if home.is_dir() else {}
        near = get_close_matches(where.name.lower(), beside, n=1, cutoff=0.75)
        hint = f"did you mean {beside[near[0]]!r}?" if near else "check the path."
        raise ValueError(f"There is no file {path}; {hint}")


def check_table(table: str) -> None:
    """The same for a table, which may also be a folder or one that comes with the package."""
    if not table.startswith("@"):
        return check_input(table, folder=True)
    names = sorted(path.stem for path in EMBEDDED.glob("*.csv"))
    if table[1:] not in names:
        raise ValueError(
            f"{table} is not a table of the package; the tables are @{', @'.join(names)}."
        )
    return None


# ---------------------------------------------------------------- files to write


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
