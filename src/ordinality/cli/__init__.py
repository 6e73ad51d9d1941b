"""The command line: each command translates between a person and one call of the library.

Results go to stdout, talk goes to stderr, and a mistake is one sentence and exit code 2. A
command is a module of this package that is imported when it is asked for, and imports the
heavy libraries when it runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from ordinality import __version__

__all__ = ["Commands", "Refusal", "main"]

# Command name -> the module that defines it under the same name.
COMMANDS = {"fit": "ordinality.cli.fit"}


class Refusal(click.ClickException):
    """What was asked cannot be done; the message says why and what to do."""

    exit_code = 2


class Commands(click.Group):
    """A group whose commands are imported on demand and whose errors are sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order a newcomer meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the command called `name`."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[name]), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what the library refuses becomes a sentence, not a traceback."""
        try:
            return super().invoke(ctx)
        except (ValueError, ImportError) as problem:
            raise Refusal(" ".join(str(problem).split())) from problem
        except MemoryError:
            raise Refusal(
                "There is not enough memory for a table of this size; give fewer rows."
            ) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ordinality")
def main() -> None:
    """Learn from ordered labels and preferences."""
