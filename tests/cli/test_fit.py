"""The command ``ordinality fit``, with a stand-in for the estimator where speech is tested."""

import csv
import io
import shlex
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest
from click.testing import CliRunner

from ordinality.cli import COMMANDS, main
from ordinality.cli.fit import Names

WINE = Path(__file__).parents[2] / "examples" / "wine.csv"


class StandIn:
    """Keeps what it was asked and answers with the frequencies of the levels."""

    asked: "StandIn"

    def __init__(self, **parameters):
        self.parameters = parameters
        StandIn.asked = self

    def fit(self, X, y):
        self.X, self.y = X, y
        levels = np.asarray(self.parameters["levels"])
        share = (y[:, None] == levels).mean(axis=0)
        self.loo_proba_ = np.tile(share, (len(y), 1))
        self.thresholds_ = np.linspace(-1.0, 1.0, len(levels) - 1)
        self.noise_, self.log_evidence_ = 0.5, -12.25
        self.converged_, self.n_iter_ = True, 7
        kernel = self.parameters["kernel"]
        self.relevance_ = np.ones(X.shape[1]) if kernel is None else np.arange(X.shape[1]) + 1.0
        return self


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setitem(
        sys.modules, "ordinality.estimators", SimpleNamespace(OrdinalGP=StandIn)
    )
    return StandIn


def run(*args, **more):
    return CliRunner().invoke(main, [str(arg) for arg in args], catch_exceptions=False, **more)


@pytest.fixture
def trial(tmp_path):
    """A table of three levels with a feature of each kind."""
    path = tmp_path / "trial.csv"
    rows = [
        f"{i},{'xyz'[i % 3]},p{i},{level}" for i, level in enumerate(["low", "mid", "high"] * 4)
    ]
    path.write_text("dose,site,patient,effect\n" + "\n".join(rows) + "\n")
    return path


# ---------------------------------------------------------------- results and talk


def test_levels_scores_and_model_go_to_stdout_and_notes_to_stderr(stand_in):
    result = run("fit", WINE, "--target", "rating")
    assert result.exit_code == 0
    for word in ("rating", "latent value", "zero-one error", "log score", "-12.25", "noise"):
        assert word in result.stdout
    assert "Encoded temp as temp=warm." in result.stderr
    assert "Encoded" not in result.stdout


def test_the_wine_levels_are_counted(stand_in):
    # Counted in the file: 5, 22, 26, 12 and 7 of the 72 ratings are 1, 2, 3, 4 and 5.
    shown = run("fit", WINE, "--target", "rating").stdout.splitlines()
    rows = [line.split()[:3] for line in shown if line[:1].isdigit()]
    counts = ["5", "22", "26", "12", "7"]
    shares = ["7%", "31%", "36%", "17%", "10%"]
    assert rows == [list(row) for row in zip("12345", counts, shares, strict=True)]


def test_scores_stand_beside_those_of_the_commonest_level(stand_in):
    # The stand-in predicts the frequencies, so both columns agree: 46 of 72 are not a 3.
    shown = run("fit", WINE, "--target", "rating").stdout
    line = next(line for line in shown.splitlines() if line.startswith("zero-one error"))
    assert line.split()[-2:] == ["0.639", "0.639"]


def test_one_length_scale_is_a_sentence_and_many_are_bars(stand_in):
    assert (
        "One length scale for all 19 features" in run("fit", WINE, "--target", "rating").stdout
    )
    shown = run("fit", WINE, "--target", "rating", "--drop", "bottle", "--ard").stdout
    names = [line.split()[0] for line in shown.splitlines() if "█" in line]
    assert names[0] == "judge=j9"
    assert names[-1] == "temp=warm"
    kernel = StandIn.asked.parameters["kernel"]
    np.testing.assert_allclose(kernel.length_scale, np.full(11, np.sqrt(11)))


def test_options_reach_the_estimator(stand_in):
    run("fit", WINE, "--target", "rating", "--inference", "laplace", "--seed", 3)
    asked = StandIn.asked.parameters
    assert (asked["inference"], asked["random_state"], asked["kernel"]) == ("laplace", 3, None)


def test_features_and_drop_take_names_with_commas_between_or_options_repeated(stand_in):
    run("fit", WINE, "--target", "rating", "--features", "temp, contact")
    assert StandIn.asked.X.shape == (72, 2)
    run("fit", WINE, "--target", "rating", "--drop", "temp", "--drop", "judge,bottle")
    assert StandIn.asked.X.shape == (72, 1)


def test_a_table_is_read_from_standard_input(stand_in):
    result = run("fit", "-", "--target", "y", input="x,y\n1,1\n2,1\n3,2\n4,2\n")
    assert result.exit_code == 0
    assert StandIn.asked.y.tolist() == [1, 1, 2, 2]


def test_brackets_in_names_and_labels_are_not_markup(stand_in):
    table = "[bold],y\n1,[red]\n2,[red]\n3,[/blue]\n4,[/blue]\n"
    result = run("fit", "-", "--target", "y", "--order", "[red],[/blue]", input=table)
    assert "[red]" in result.stdout
    assert "[/blue]" in result.stdout


def test_warnings_of_the_estimator_are_said_once(stand_in, monkeypatch):
    def fit(self, X, y):
        for _ in range(2):
            warnings.warn("EP stopped early; raise max_iter.", UserWarning, stacklevel=2)
        return plain(self, X, y)

    plain = StandIn.fit
    monkeypatch.setattr(StandIn, "fit", fit)
    result = run("fit", WINE, "--target", "rating")
    assert result.stderr.count("Warning: EP stopped early; raise max_iter.") == 1


# ---------------------------------------------------------------- the order of labels


def test_text_without_an_order_is_told_what_to_type(stand_in, trial):
    result = run("fit", trial, "--target", "effect")
    assert "effect is text without a stated order" in result.stderr
    assert "high < low < mid" in result.stderr
    assert "--order high,low,mid" in result.stderr


def test_a_stated_order_is_taken_without_a_warning(stand_in, trial):
    result = run("fit", trial, "--target", "effect", "--order", "low,mid,high")
    assert "Warning" not in result.stderr
    assert list(StandIn.asked.parameters["levels"]) == ["low", "mid", "high"]


def test_the_order_of_numbers_may_be_stated_and_may_hold_unseen_ones(stand_in):
    run("fit", WINE, "--target", "rating", "--order", "5,4,3,2,1,0")
    assert list(StandIn.asked.parameters["levels"]) == [5, 4, 3, 2, 1, 0]


def test_a_label_outside_the_order_is_named_with_the_option(stand_in, trial):
    result = run("fit", trial, "--target", "effect", "--order", "low,mid")
    assert result.exit_code == 2
    assert "'high'" in result.stderr
    assert "--order" in result.stderr


def test_words_for_labels_that_are_numbers_are_refused(stand_in):
    result = run("fit", WINE, "--target", "rating", "--order", "low,high")
    assert result.exit_code == 2
    assert "--order lists low, high, but the labels are numbers such as 2" in result.stderr


@pytest.mark.parametrize("labels", [["a", "b"], ["a,b", "c d"], ['"so"', "it's"]])
def test_an_order_we_say_is_an_order_we_read(stand_in, labels):
    table = io.StringIO()
    csv.writer(table).writerows([("x", "y"), *enumerate(labels * 2)])
    result = run("fit", "-", "--target", "y", input=table.getvalue())
    (said,) = shlex.split(result.stderr.partition("--order ")[2])
    assert Names().convert(said, None, None) == labels


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere.csv", "--target", "y"], "There is no file nowhere.csv"),
        ([WINE, "--target", "ratings"], "did you mean 'rating'?"),
        ([WINE, "--target", "rating", "--drop", "hue"], "has no column 'hue'"),
        ([WINE.parent, "--target", "y"], "is a folder"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(args, message):
    result = run("fit", *args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_too_large_a_table_is_a_sentence(stand_in, monkeypatch):
    def fit(self, X, y):
        raise MemoryError

    monkeypatch.setattr(StandIn, "fit", fit)
    result = run("fit", WINE, "--target", "rating")
    assert result.exit_code == 2
    assert "not enough memory" in result.stderr


def test_a_missing_reader_is_told_how_to_be_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    result = run("fit", WINE, "--target", "rating")
    assert result.exit_code == 2
    assert 'pip install "ordinality[cli]"' in result.stderr


def test_every_command_of_the_group_can_be_asked_for_help():
    for name in COMMANDS:
        assert isinstance(main.get_command(click.Context(main), name), click.Command)
        assert run(name, "--help").exit_code == 0


def test_an_unknown_command_is_refused_with_exit_code_2():
    result = run("fitt")
    assert result.exit_code == 2
    assert "fitt" in result.stderr


def test_the_version_is_that_of_the_package():
    import ordinality

    assert run("--version").stdout.split()[-1] == ordinality.__version__


# ---------------------------------------------------------------- end to end


@pytest.mark.parametrize("inference", ["ep", "laplace", "variational"])
def test_the_wine_fit_beats_the_commonest_level(inference):
    result = run("fit", WINE, "--target", "rating", "--inference", inference)
    assert result.exit_code == 0, result.stderr
    for score in ("zero-one error", "mean absolute error", "log score"):
        (line,) = [line for line in result.stdout.splitlines() if line.startswith(score)]
        model, baseline = (float(number) for number in line.split()[-2:])
        assert model < baseline
