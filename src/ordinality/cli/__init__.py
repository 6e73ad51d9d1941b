"""The command-line interface: each command translates its options into one library call.

Results go to stdout, notes go to stderr, and a mistake is one sentence and exit code 2. A
command is a module of this package. It is imported on demand, and imports the heavy libraries
only when it runs, so that ``--help`` is printed at once.
"""

from __future__ import annotations

import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any

import click

from ordinality import __version__
from ordinality._text import visible

from .options import what_was_written
from .output import warn

__all__ = ["Commands", "Interruption", "Refusal", "main"]

# Each is defined in the module of its name, and listed in the order in which a user needs it.
COMMANDS = [
    "ask",
    "fit",
    "predict",
    "evaluate",
    "explain",
    "compare",
    "rank",
    "serve",
    "info",
    "data",
    "reproduce",
    "completion",
]

# What errors of the library name -> what to type instead.
TYPED = {
    "`INVENTORY`": "ordinality data --json",
    "`counts`": "--counts",
    "`features`": "--features",
    "`force`": "--force",
    "`levels`": "--order",
    "`order`": "--order",
    "`weights`": "--weights",
    "`wide`": "--wide",
    "ordinality.save": "ordinality fit",
}


class Refusal(click.ClickException):
    """The request cannot be carried out; the message says why and what to do."""

    exit_code = 2


class Interruption(click.ClickException):
    """The command was stopped; the exit code is the one shells give for Ctrl-C."""

    exit_code = 130


class Commands(click.Group):
    """A group whose commands are imported on demand and whose errors are sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return COMMANDS

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the command called `name`."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"{__name__}.{name}"), name)
        return command

    def __call__(self, *args: Any, **more: Any) -> Any:
        """Run as a program: an internal error is a traceback without control characters."""
        sys.excepthook = _show_traceback
        return self.main(*args, **more)

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the arguments; a mistake quotes them without control characters."""
        with _visible_messages():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error of the library becomes a sentence, not a traceback."""
        with _visible_messages(), _shown_warnings():
            return self._invoke(ctx)

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, ImportError, FloatingPointError) as problem:
            raise Refusal(_with_options(problem)) from problem
        except MemoryError:
            raise Refusal(
                "There is not enough memory for a table of this size; use fewer rows."
            ) from None
        except BrokenPipeError:
            raise  # the reader of our output has closed it; click exits silently
        except OSError as problem:
            if problem.filename is None:  # raised by the library, with a message of its own
                raise Refusal(_with_options(problem)) from problem
            sentence = f"{problem.filename} cannot be used: {problem.strerror}."
            raise Refusal(sentence) from problem
        except KeyboardInterrupt:
            raise Interruption(f"Interrupted; {what_was_written(ctx)}.") from None


def _with_options(problem: Exception) -> str:
    """The message of an error in one line, with options in place of parameters."""
    said = " ".join(str(problem).split())
    return re.sub("|".join(map(re.escape, TYPED)), lambda found: TYPED[found[0]], said)


@contextmanager
def _visible_messages() -> Iterator[None]:
    """Show the control characters in error messages, click's own included."""
    try:
        yield
    except click.ClickException as problem:
        vars(problem)["message"] = visible(problem.message)  # final in click's types
        raise


@contextmanager
def _shown_warnings() -> Iterator[None]:
    """Show Python's warnings as sentences, without the line of code that gave them."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: warn([str(message)])
        yield


def _show_traceback(
    kind: type[BaseException], problem: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback; its messages may quote data."""
    text = "".join(traceback.format_exception(kind, problem, trace))
    click.echo(visible(text, keep="\n\t"), err=True, nl=False)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ordinality")
def main() -> None:
    """Learn from ordered labels and preferences.

    Results go to standard output, everything else to standard error. The exit code is 0 for
    success, 2 for a request that cannot be carried out (a message says why and what to do),
    130 after Ctrl-C, and 1 for an internal error (please report it).
    """
