"""What all commands share: help, exit codes, error messages."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ordinality
from ordinality.cli import COMMANDS, main

HERE = Path(__file__).parent


def malformed():
    """The table of malformed inputs that the tests of `tables` use too."""
    path = HERE.parent / "tables" / "malformed.py"
    spec = importlib.util.spec_from_file_location("malformed", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(run, name):
    assert isinstance(main.get_command(click.Context(main), name), click.Command)
    result = run(name, "--help")
    assert result.exit_code == 0
    assert f"ordinality {name}" in result.stdout.partition("Example")[2]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere.csv", "--target", "y"], "There is no file nowhere.csv"),
        (["{wine}", "--target", "ratings"], "did you mean 'rating'?"),
        (["{wine}", "--target", "rating", "--drop", "hue"], "has no column 'hue'"),
        (["{folder}", "--target", "y"], "is a folder"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(run, wine, args, message):
    given = [arg.format(wine=wine, folder=wine.parent) for arg in args]
    result = run("fit", *given)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_an_unknown_command_is_refused_with_exit_code_2(run):
    result = run("fitt")
    assert result.exit_code == 2
    assert "fitt" in result.stderr


def test_the_version_is_that_of_the_package(run):
    assert run("--version").stdout.split()[-1] == ordinality.__version__


def test_an_interruption_is_exit_code_130(run, wine, monkeypatch):
    from ordinality import workbench

    def interrupted(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(workbench, "study_of", interrupted)
    result = run("fit", wine, "--target", "rating")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_set_up_for_a_shell(run, shell):
    assert "_ORDINALITY_COMPLETE" in run("completion", shell).stdout


def test_a_pipe_that_closes_early_is_no_error():
    """``ordinality data | head -1`` must not end in a traceback."""
    code = "from ordinality.cli import main; main(['data', '--json'], prog_name='ordinality')"
    command = f'"{sys.executable}" -c "{code}" | head -c 1'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- malformed tables

CASES = {name: case for name, case in malformed().CASES.items() if case.values is None}
FLAGS = {"features": "--features", "drop": "--drop", "weights": "--weights", "group": "--group"}


def arguments(options):
    """Arguments of the library as options of the command."""
    for name, value in options.items():
        if name == "wide":
            yield from ["--wide"] * bool(value)
        else:
            yield FLAGS[name]
            yield value if isinstance(value, str) else ",".join(value)


def test_there_are_sixty_malformed_tables():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_table_is_one_sentence_and_exit_code_2(run, tmp_path, name):
    case = CASES[name]
    path = case.make(tmp_path)
    args = ["--target", case.target, *arguments(case.options)]
    result = run("fit", path, *args, "--model", "linear")
    assert result.exit_code == 2
    assert re.search(case.says, result.stderr)
    assert result.stdout == ""
    said = result.stderr.splitlines()
    assert said[-1].startswith(("Error: ", "Try "))
    assert "Traceback" not in result.stderr
