"""``ordinality completion``: completion of commands and options by a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["completion"]

EXAMPLE = """\b
Example:
  ordinality completion bash >> ~/.bashrc
"""


@click.command(epilog=EXAMPLE)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the lines that set up completion in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows all three
    from . import main

    click.echo(kind(main, {}, "ordinality", "_ORDINALITY_COMPLETE").source())
