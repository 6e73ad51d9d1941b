"""Data do not control the terminal: control characters are printed as escapes."""

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from ordinality._text import visible
from ordinality.cli import main, predict

# Clear the screen, set the window's title, change colours (C1), delete, write from the right.
EVIL = "\x1b[2J\x1b]0;t\x07\x9b31m\x7f\u2028\u0085\u202e\u2066"
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
LEVELS = [f"low{EVIL}", "mid\nError: no", f"high{EVIL}"]
DOSE, SITE, TARGET = f"dose{EVIL}", "=site\t", f"effect{EVIL}"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table whose labels, categories, column names and file name are hostile."""
    path = tmp_path_factory.mktemp("evil") / f"t{EVIL}.jsonl"
    rows = [
        {DOSE: i % 20, SITE: "xyz"[i % 3] + EVIL, TARGET: LEVELS[(i % 20) * 3 // 20]}
        for i in range(60)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def options():
    order = ",".join(f'"{level}"' for level in LEVELS)
    return ["--target", TARGET, "--order", order, "--folds", "3"]


@pytest.fixture(scope="module")
def model(run, table, options):
    out = table.parent / f"m{EVIL}.skops"
    done = run("fit", table, *options, "--model", "linear", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert not ACTIVE.search(done.stdout + done.stderr)
    return out


def commands(table, options, model):
    linear = ["--models", "linear,frequencies", "--repeats", "1"]
    return {
        "fit": ["fit", table, *options, "--model", "linear"],
        "an order that is asked for": ["fit", table, "--target", TARGET],
        "a column that is missing": ["fit", table, "--target", f"x{EVIL}"],
        "compare": ["compare", table, *options, *linear],
        "evaluate": ["evaluate", model, table],
        "explain": ["explain", model],
        "info": ["info", model],
        "a model that is not there": ["info", f"{EVIL}.skops"],
        "a table that is not there": ["predict", model, f"{EVIL}.csv"],
        "a data set that is not there": ["data", EVIL],
        "an experiment that is not there": ["reproduce", EVIL],
        "an option that is not there": ["fit", f"--{EVIL}"],
        "a command that is not there": [EVIL],
        "a value that is no choice": ["fit", table, "--target", "a", "--model", EVIL],
        "a value that is no number": ["fit", table, "--target", "a", "--seed", EVIL],
        "an argument too many": ["info", model, EVIL],
        "a file name that is not text": ["fit", "a\udcff.csv", "--target", "\udcff"],
    }


@pytest.mark.parametrize("name", commands(*"abc"))
def test_no_command_sends_control_characters_of_data(run, table, options, model, name):
    done = run(*commands(table, options, model)[name])
    assert "Traceback" not in done.stderr
    assert done.exit_code in (0, 2)
    assert not ACTIVE.search(done.stdout + done.stderr)
    assert "Error: no" not in done.stdout.splitlines()
    if name not in ("compare", "a file name that is not text"):
        assert r"\x1b[2J" in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["fit", "compare", "evaluate", "explain", "info"])
def test_json_holds_the_data_and_no_control_characters(run, table, options, model, name):
    done = run(*commands(table, options, model)[name], "--json")
    assert done.exit_code == 0
    assert not ACTIVE.search(done.stdout)
    found = json.loads(done.stdout)
    if name in ("fit", "info"):
        about = found if name == "fit" else found["summary"]
        assert about["target"] == TARGET


def test_predictions_are_escaped_on_a_terminal_and_unchanged_in_a_pipe(
    run, table, model, monkeypatch
):
    piped = run("predict", model, table).stdout
    assert LEVELS[0] in piped
    monkeypatch.setattr(predict, "sys", Terminal)
    shown = run("predict", model, table).stdout
    assert not ACTIVE.search(shown)
    assert visible(LEVELS[0]) in shown


class Terminal:
    """What `predict` sees of sys if stdout is a terminal."""

    class stdout:  # noqa: N801
        @staticmethod
        def isatty():
            return True


def test_a_report_of_hostile_data_is_html(run, table, options):
    out = table.parent / "report.html"
    done = run("fit", table, *options, "--model", "linear", "--report", out)
    assert done.exit_code == 0
    page = out.read_text(encoding="utf-8")
    assert not ACTIVE.search(page)


def test_an_internal_error_is_a_traceback_without_control_characters(tmp_path):
    (tmp_path / EVIL).touch()
    code = (
        "import ordinality.cli as cli, ordinality.persist as persist\n"
        "def fail(path): raise RuntimeError(path)\n"
        "persist.metadata = fail\n"
        "cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "info", EVIL],
        capture_output=True, text=True, timeout=60, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert r"RuntimeError: \x1b[2J" in done.stderr
    assert not ACTIVE.search(done.stderr)


def test_warnings_are_sentences(monkeypatch, tmp_path):
    import warnings

    from ordinality import persist

    def warned(path):
        warnings.warn("old\nfile \x1b[2J\u202e", stacklevel=2)
        raise ValueError("no")

    monkeypatch.setattr(persist, "metadata", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        (tmp_path / "a.skops").touch()
        done = CliRunner().invoke(main, ["info", str(tmp_path / "a.skops")])
    assert done.stderr.splitlines() == [r"Warning: old file \x1b[2J\u202e", "Error: no"]
