"""Wrong options and files: refused before anything heavy is loaded. Files after Ctrl-C."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ordinality import tables, workbench
from ordinality.cli.options import BASELINES, EMBEDDED, MODELS
from ordinality.cli.predict import FORMATS
from ordinality.datasets import CLASSICS
from ordinality.tables.read import FORMATS as OF_TABLES

HEAVY = {"numpy", "scipy", "sklearn", "numba", "polars", "narwhals", "matplotlib", "skops"}

# Runs several commands in one interpreter and prints exit codes, last lines and modules.
RUN = """
import contextlib, io, json, sys
from ordinality.cli import main

found = []
for args in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            main(args, prog_name="ordinality")
        except SystemExit as end:
            found.append((end.code, said.getvalue().splitlines()[-1]))
print(json.dumps([found, sorted({name.split(".")[0] for name in sys.modules}),
                  "scipy.stats" in sys.modules]))
"""


def answers(commands, folder):
    """Exit codes and last lines of commands, and the modules that were loaded for them."""
    args = [command.split() for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(args)],
        capture_output=True, text=True, check=True, cwd=folder, timeout=120,
    )  # fmt: skip
    return json.loads(done.stdout)


REFUSED = {
    "fit nowhere.csv --target y": "There is no file nowhere.csv",
    "fit @nowhere --target y": "@nowhere is not a table of the package",
    "fit . --target y": ". is a folder",
    "fit table.csv --target y --out model.skops": "model.skops exists; replace it with --force",
    "fit table.csv --target y --report page.html": "page.html exists; replace it with --force",
    "fit table.csv --target y --out model.pkl": "should end in .skops",
    "fit table.csv --target y --modle gp": "No such option",
    "fit table.csv --target y --model oracle": "'oracle' is not one of",
    "fit table.csv": "Missing option '--target'",
    "compare nowhere.csv --target y": "There is no file nowhere.csv",
    "compare table.csv --target y --models gp,oracle": "no model named 'oracle'; the names are",
    "predict nowhere.skops table.csv": "There is no file nowhere.skops",
    "predict model.skops nowhere.csv": "There is no file nowhere.csv",
    "predict model.skops table.csv --out table.csv": "exists; replace it with --force",
    "predict model.skops table.csv --out found.xyz": "should end in .csv, .tsv",
    "predict model.skops table.csv --colour": "No such option",
    "evaluate nowhere.skops table.csv": "There is no file nowhere.skops",
    "evaluate model.skops nowhere.csv": "There is no file nowhere.csv",
    "explain nowhere.skops": "There is no file nowhere.skops",
    "explain model.skops nowhere.csv": "There is no file nowhere.csv",
    "rank nowhere.csv": "There is no file nowhere.csv",
    "rank @nowhere": "@nowhere is not a table of the package",
    "rank table.csv --report page.html": "page.html exists; replace it with --force",
    "rank table.csv --format pair": "'pair' is not one of",
    "info nowhere.skops": "There is no file nowhere.skops",
    "info": "Missing argument",
    "data --colour": "No such option",
    "reproduce gpor/table-2 --out table.txt": "table.txt exists; replace it with --force",
    "reproduce --page page.md": "page.md exists; replace it with --force",
    "reproduce gpor/table-2 --partitions x": "neither a number nor a range",
    "completion ksh": "'ksh' is not one of",
    "fitt": "No such command",
}


def test_a_wrong_option_or_file_is_refused_before_anything_heavy_is_loaded(tmp_path):
    for name in ("table.csv", "model.skops", "page.html", "page.md", "table.txt"):
        (tmp_path / name).write_text("mine")
    found, loaded, _ = answers(REFUSED, tmp_path)
    for (code, said), (command, message) in zip(found, REFUSED.items(), strict=True):
        assert code == 2, command
        assert message in said, command
    assert not HEAVY & set(loaded)
    assert all(path.read_text() == "mine" for path in tmp_path.iterdir())


def test_a_name_that_has_to_be_looked_up_is_refused_without_the_slow_libraries(tmp_path):
    commands = ["data nowhere", "reproduce nowhere/table-1", "reproduce gpor/table-2 --sets x"]
    found, loaded, statistics = answers(commands, tmp_path)
    assert [code for code, _ in found] == [2, 2, 2]
    assert not {"sklearn", "numba", "polars", "matplotlib", "skops"} & set(loaded)
    assert not statistics  # of SciPy, half a second


def test_names_copied_into_the_command_line_are_those_of_the_library():
    assert tuple(workbench.MODELS) == MODELS
    assert workbench.BASELINES == BASELINES
    assert tuple(OF_TABLES) == FORMATS
    assert {path.stem for path in EMBEDDED.glob("*.csv")} == set(CLASSICS)


# ---------------------------------------------------------------- Ctrl-C


@pytest.fixture(scope="module")
def study(trial):
    return workbench.study(
        str(trial), "effect", order=["low", "mid", "high"], model="linear", n_splits=2
    )


def stop(*args, **more):
    raise KeyboardInterrupt


def then_stop(function):
    """`function`, and Ctrl-C as soon as it has returned."""

    def both(*args, **more):
        function(*args, **more)
        raise KeyboardInterrupt

    return both


@pytest.fixture
def fit(run, study, trial, tmp_path, monkeypatch):
    """``fit()``: a fit that writes two files over old ones, without the time it takes."""
    monkeypatch.setattr(workbench, "study_of", lambda *args, **more: study)
    out, report = tmp_path / "model.skops", tmp_path / "page.html"
    for path in (out, report):
        path.write_text("old")

    def call():
        args = ("--target", "effect", "--accept-order", "--out", out, "--report", report)
        result = run("fit", trial, *args, "--force")
        assert result.exit_code == 130
        last = result.stderr.splitlines()[-1]
        return last, [path.read_bytes() != b"old" for path in (out, report)], (out, report)

    return call


def test_an_interruption_before_the_first_file_says_that_none_was_changed(fit, monkeypatch):
    monkeypatch.setattr(workbench, "study_of", stop)
    said, changed, _ = fit()
    assert changed == [False, False]
    assert said == "Error: Interrupted; no file was changed."


def test_an_interruption_while_the_first_file_is_put_in_place_changes_none(fit, monkeypatch):
    monkeypatch.setattr(os, "replace", stop)
    said, changed, (out, _) = fit()
    assert changed == [False, False]
    assert said == "Error: Interrupted; no file was changed."
    assert len(list(out.parent.iterdir())) == 2  # nothing half written is left


def test_an_interruption_right_after_the_first_file_names_it(fit, monkeypatch):
    monkeypatch.setattr(os, "replace", then_stop(os.replace))
    said, changed, (out, report) = fit()
    assert changed == [True, False]
    assert said == f"Error: Interrupted; written completely: {out}; not changed: {report}."


def test_an_interruption_between_two_files_names_both(fit, monkeypatch):
    monkeypatch.setattr(workbench.Study, "report", stop)
    said, changed, (out, report) = fit()
    assert changed == [True, False]
    assert said == f"Error: Interrupted; written completely: {out}; not changed: {report}."


def test_an_interruption_after_the_last_file_names_all(fit, monkeypatch):
    write = then_stop(lambda found, path, **more: Path(path).write_text("new"))
    monkeypatch.setattr(workbench.Study, "report", write)
    said, changed, (out, report) = fit()
    assert changed == [True, True]
    assert said == f"Error: Interrupted; written completely: {out}, {report}."


def test_an_interrupted_prediction_says_whether_its_file_was_written(
    run, fitted, trial, tmp_path, monkeypatch
):
    out = tmp_path / "found.csv"
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", then_stop(os.replace))
        written = run("predict", fitted[0], trial, "--out", out)
    assert written.exit_code == 130
    assert f"Interrupted; written completely: {out}." in written.stderr
    monkeypatch.setattr(tables, "write_blocks", stop)
    kept = run("predict", fitted[0], trial, "--out", out, "--force")
    assert "Interrupted; no file was changed." in kept.stderr
