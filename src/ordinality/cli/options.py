"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable
from typing import Any

import click

__all__ = [
    "BASELINES",
    "MODELS",
    "Names",
    "as_argument",
    "json_option",
    "run_options",
    "seed_option",
    "table_options",
]

# The names in ordinality.workbench, copied so that --help need not import it.
MODELS = (
    "gp",
    "linear",
    "ard",
    "laplace",
    "plsor",
    "boost",
    "trees",
    "rankboost",
    "svm",
    "svm-search",
)
BASELINES = ("frequencies", "rounded")


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
