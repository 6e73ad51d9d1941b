"""Commands are run in this process, and their two streams are kept apart."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from ordinality.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def _quick(few_refits):
    """The levels of these tables are separated, so that standard errors need refits."""


@pytest.fixture(scope="session")
def run():
    """``run("fit", path, ...)`` gives click's result: stdout, stderr, exit_code."""

    def invoke(*args, **more):
        return CliRunner().invoke(
            main, [str(arg) for arg in args], catch_exceptions=False, **more
        )

    return invoke


@pytest.fixture(scope="session")
def wine():
    return ROOT / "examples" / "wine.csv"


@pytest.fixture(scope="session")
def trial(tmp_path_factory):
    """A table of three levels that are text, with a feature of each kind."""
    path = tmp_path_factory.mktemp("tables") / "trial.csv"
    levels = ["low", "mid", "high"]
    rows = [
        f"{i % 20},{'xyz'[i % 3]},p{i},{levels[(i % 20) * 3 // 20]},{1 + i % 2}"
        for i in range(60)
    ]
    path.write_text("dose,site,patient,effect,weight\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def fitted(run, trial, tmp_path_factory):
    """A model file and what the command said when it wrote it."""
    out = tmp_path_factory.mktemp("models") / "trial.skops"
    result = run(
        "fit", trial, "--target", "effect", "--order", "low,mid,high", "--drop", "weight",
        "--model", "linear", "--folds", 3, "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    return out, result
