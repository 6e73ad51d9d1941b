"""The command ``ordinality fit``: what it says, writes and refuses."""

import csv
import io
import json
import re
import shlex
import sys

import numpy as np
import pytest

import ordinality
from ordinality import persist, workbench
from ordinality.cli.options import Names
from ordinality.cli.output import titles

QUICK = ("--model", "linear", "--folds", "2")


def fit(run, *args, **more):
    return run("fit", *args, *QUICK, **more)


# ---------------------------------------------------------------- results and notes


def test_results_go_to_stdout_and_notes_to_stderr(fitted):
    _, result = fitted
    for word in ("effect", "latent interval", "ranked probability", "frequencies", "rounded"):
        assert word in result.stdout
    assert "Encoded site as 3 categories." in result.stderr
    assert "Encoded" not in result.stdout
    assert "Left out patient" in result.stderr


def test_the_table_of_scores_fits_into_80_characters():
    # Three spaces between columns. boost-trees is the longest name that auto tries.
    for first in ("stack (selected)", "linear (selected)", "boost-trees"):
        assert len("   ".join([first, *titles(workbench.SCORES)])) <= 80


def test_the_wine_levels_are_counted(run, wine):
    # Counted in the file: 5, 22, 26, 12 and 7 of the 72 ratings are 1, 2, 3, 4 and 5.
    shown = fit(run, wine, "--target", "rating").stdout.splitlines()
    rows = [line.split()[:3] for line in shown if line[:1].isdigit() and "%" in line]
    counts, shares = ["5", "22", "26", "12", "7"], ["7%", "31%", "36%", "17%", "10%"]
    assert rows == [list(row) for row in zip("12345", counts, shares, strict=True)]


def test_the_dose_is_the_column_that_matters(fitted):
    _, result = fitted
    table = result.stdout.partition("permutation importance")[2].splitlines()
    first = next(line for line in table[2:] if line.strip())
    assert first.split()[0] == "dose"
    assert "█" in first


def test_a_model_better_than_the_baselines_is_reported(fitted):
    assert "Better than both baselines: ranked probability score" in fitted[1].stdout


def test_a_model_not_better_than_the_baselines_is_reported(run):
    rng = np.random.default_rng(1)
    noise = "\n".join(f"{x:.3f},{1 + i % 2}" for i, x in enumerate(rng.normal(size=40)))
    result = fit(run, "-", "--target", "y", input=f"x,y\n{noise}\n")
    assert result.exit_code == 0
    assert "Not better than the baseline" in result.stdout
    assert "Do not rely on this model" in result.stdout


def test_json_is_one_document_of_everything(run, trial):
    args = ("--target", "effect", "--order", "low,mid,high", "--drop", "weight", "--json")
    result = fit(run, trial, *args)
    found = json.loads(result.stdout)
    assert found["levels"] == ["low", "mid", "high"]
    assert found["counts"] == [21, 21, 18]
    assert found["model"]["name"] == "linear"
    assert found["better_than_baselines"] is True
    assert set(found["scores"]) == {"linear", "frequencies", "rounded"}
    assert len(found["learnt"]["thresholds"]) == 2


def test_the_same_seed_gives_the_same_output(run, trial):
    args = ("--target", "effect", "--order", "low,mid,high", "--seed", 5, "--json")

    first = fit(run, trial, *args).stdout
    assert json.loads(first)["seed"] == 5
    assert fit(run, trial, *args).stdout == first


def test_auto_without_a_budget_names_the_models_it_skipped(run, wine):
    result = run("fit", wine, "--target", "rating", "--folds", 2, "--budget", 0)
    assert result.stdout.count("(selected)") == 1
    assert "is the only model that was assessed." in result.stdout
    assert result.stdout.count("of the budget of 0 s; force it with --model") == 5


def test_auto_that_reaches_the_time_limit_says_so(run, wine):
    args = ("--target", "rating", "--folds", 2, "--budget", 1, "--max-time", 0)
    result = run("fit", wine, *args)
    assert result.exit_code == 0
    assert "stopped after 1 of 2 folds by the time limit of 0 s" in result.stdout
    assert "Warning: the time limit was reached" in result.stderr


@pytest.fixture(scope="module")
def averaged(run, trial, tmp_path_factory):
    """A model file of auto, its report, and what the command printed."""
    folder = tmp_path_factory.mktemp("averaged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ordinality.workbench.models.TRIED", ("linear", "mlr"))
        result = run(
            "fit", trial, "--target", "effect", "--accept-order", "--features", "dose,site",
            "--folds", 3, "--out", folder / "trial.skops", "--report", folder / "trial.html",
        )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    return folder, result


def test_auto_prints_the_weights_and_what_one_model_would_cost(averaged):
    _, result = averaged
    (said,) = [line for line in result.stdout.splitlines() if line.startswith("Selected: ")]
    weights = [float(w) for w in re.findall(r"(?:linear|mlr) \((\d\.\d\d)\)", said)]
    assert sum(weights) == pytest.approx(1.0, abs=0.011)
    assert re.search(r"nearest single model is \w+: .* \(difference -?\d\.\d+ ± \d", said)
    assert said.endswith("Take it with --simple.")
    assert "stack (selected)" in result.stdout
    assert "latent interval" not in result.stdout  # an average has no thresholds


def test_the_commands_take_an_average_of_models_as_they_take_one(run, averaged, trial):
    model = averaged[0] / "trial.skops"
    predicted = run("predict", model, trial, "--proba", "--coverage", 90, "--json")
    proba = json.loads(predicted.stdout)
    total = sum(np.array(proba[f"P({level})"]) for level in ("low", "mid", "high"))
    np.testing.assert_allclose(total, 1.0)
    assert "dose" in run("explain", model).stdout
    assert "dose" in run("explain", model, trial).stdout
    assert "Better than the frequencies" in run("evaluate", model, trial).stdout
    assert json.loads(run("info", model, "--json").stdout)["model"] == "OrdinalStack"


def test_the_report_of_an_average_lists_the_weights(averaged):
    folder, _ = averaged
    page = (folder / "trial.html").read_text()
    weights = persist.metadata(folder / "trial.skops")["summary"]["weights"]
    for name, weight in weights.items():
        assert f"<tr><td>{name}</td><td>{weight:.2f}</td>" in page
    assert "The model averages the probabilities" in page


def test_one_model_in_place_of_an_average_is_taken_from_auto_only(run, trial, monkeypatch):
    monkeypatch.setattr("ordinality.workbench.models.TRIED", ("linear", "mlr"))
    args = ("--target", "effect", "--accept-order", "--features", "dose,site", "--folds", 3)
    found = json.loads(run("fit", trial, *args, "--simple", "--json").stdout)
    assert found["model"]["name"] in ("linear", "mlr")
    assert "weights" not in found
    refused = run("fit", trial, *args, "--simple", "--model", "gp")
    assert refused.exit_code == 2
    assert "--model gp is one already; leave out one of the two" in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize("name", ["svm", "linear"])
def test_two_processes_print_what_one_does(run, trial, name):
    args = ("--target", "effect", "--accept-order", "--model", name, "--folds", 3, "--json")
    one, two = (run("fit", trial, *args, "--jobs", n) for n in (1, 2))
    assert one.stdout == two.stdout


def test_a_comparison_prints_the_same_twice(run, trial):
    args = ("--target", "effect", "--accept-order", "--models", "svm,linear,rounded")
    first, second = (
        run("compare", trial, *args, "--folds", 2, "--repeats", 2) for _ in range(2)
    )
    assert first.exit_code == 0
    assert first.stdout == second.stdout
    assert "Processor time: svm " in first.stderr


def test_features_and_drop_take_names_with_commas_between_or_options_repeated(run, wine):
    chosen = fit(run, wine, "--target", "rating", "--features", "temp, contact", "--json")
    assert json.loads(chosen.stdout)["columns"] == ["temp", "contact"]
    without = ("--drop", "temp", "--drop", "judge,bottle")
    left = fit(run, wine, "--target", "rating", *without, "--json")
    assert json.loads(left.stdout)["columns"] == ["contact"]


def test_a_table_is_read_from_standard_input(run):
    table = "x,y\n" + "\n".join(f"{i},{1 + i // 10}" for i in range(20)) + "\n"
    result = fit(run, "-", "--target", "y", "--json", input=table)
    assert json.loads(result.stdout)["counts"] == [10, 10]


def test_a_table_of_the_package_is_called_by_its_name(run):
    result = fit(run, "@wine", "--target", "rating", "--json")
    assert json.loads(result.stdout)["counts"] == [5, 22, 26, 12, 7]
    refused = fit(run, "@whine", "--target", "rating")
    assert refused.exit_code == 2
    assert "wine" in refused.stderr
    refused = fit(run, "@wine", "--target", "colour")
    assert "@wine has no column 'colour'" in refused.stderr


def test_brackets_in_names_and_labels_are_not_markup(run):
    rows = "\n".join(f"{i},{'[red]' if i < 10 else '[/blue]'}" for i in range(20))
    result = fit(
        run, "-", "--target", "y", "--order", "[red],[/blue]", input=f"[bold],y\n{rows}\n"
    )
    for name in ("[red]", "[/blue]", "[bold]"):
        assert name in result.stdout


def test_weights_and_groups_reach_the_study(run, trial):
    args = ("--target", "effect", "--order", "low,mid,high", "--features", "dose", "--json")
    result = fit(run, trial, *args, "--weights", "weight", "--group", "patient")
    found = json.loads(result.stdout)
    assert (found["weighted"], found["grouped"]) == (True, True)


# ---------------------------------------------------------------- files


def test_the_model_file_predicts_and_has_a_description(fitted, trial):
    out, result = fitted
    assert f"Wrote {out}" in result.stderr
    about = persist.metadata(out)
    assert about["levels"] == ["low", "mid", "high"]
    assert about["summary"]["target"] == "effect"
    assert ordinality.load(out).classes_.tolist() == ["high", "low", "mid"]


def test_without_a_file_a_note_says_how_to_save_the_model(run, wine):
    assert "save it with --out model.skops" in fit(run, wine, "--target", "rating").stderr


def test_an_existing_file_is_kept_unless_forced(run, wine, tmp_path):
    out = tmp_path / "wine.skops"
    out.write_text("mine")
    refused = fit(run, wine, "--target", "rating", "--out", out)
    assert refused.exit_code == 2
    assert "replace it with --force" in refused.stderr
    assert out.read_text() == "mine"
    assert fit(run, wine, "--target", "rating", "--out", out, "--force").exit_code == 0
    assert persist.metadata(out)["summary"]["target"] == "rating"


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--out", "wine.pkl", "should end in .skops"),
        ("--out", "no/wine.skops", "There is no folder"),
        ("--report", "wine.txt", "should end in .html"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    run, wine, tmp_path, option, name, message
):
    result = fit(run, wine, "--target", "rating", option, tmp_path / name)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


# ---------------------------------------------------------------- the order of labels


def test_text_without_an_order_is_refused_with_a_suggestion(run, trial):
    result = fit(run, trial, "--target", "effect")
    assert result.exit_code == 2
    assert "low < mid < high; accept this with --accept-order" in result.stderr
    assert "--order low,mid,high" in result.stderr
    assert result.stdout == ""


def test_a_suggested_order_is_used_when_it_is_accepted(run, trial):
    result = fit(run, trial, "--target", "effect", "--accept-order", "--json")
    assert json.loads(result.stdout)["levels"] == ["low", "mid", "high"]
    assert "Ordered effect as" in result.stderr


def test_the_order_of_numbers_may_be_stated_and_may_hold_unseen_ones(run, wine):
    result = fit(run, wine, "--target", "rating", "--order", "5,4,3,2,1,0", "--json")
    assert json.loads(result.stdout)["levels"] == [5, 4, 3, 2, 1, 0]


def test_a_label_outside_the_order_is_named_with_the_option(run, trial):
    result = fit(run, trial, "--target", "effect", "--order", "low,mid")
    assert result.exit_code == 2
    assert "'high'" in result.stderr
    assert "--order" in result.stderr


def test_an_order_of_text_for_labels_that_are_numbers_is_refused(run, wine):
    result = fit(run, wine, "--target", "rating", "--order", "low,high")
    assert result.exit_code == 2
    assert "lists low, high, but the labels are numbers such as 2" in result.stderr


@pytest.mark.parametrize("labels", [["blue", "red"], ["a,b", "c d"], ['"so"', "it's"]])
def test_an_order_that_is_printed_can_be_typed(run, labels):
    table = io.StringIO()
    csv.writer(table).writerows([("x", "y"), *enumerate(labels * 2)])
    result = fit(run, "-", "--target", "y", input=table.getvalue())
    (said,) = shlex.split(result.stderr.partition("--order ")[2])
    assert Names().convert(said, None, None) == labels


# ---------------------------------------------------------------- refusals


def test_too_large_a_table_is_one_sentence(run, wine, monkeypatch):
    def exhausted(*args, **more):
        raise MemoryError

    monkeypatch.setattr(workbench, "study_of", exhausted)
    result = fit(run, wine, "--target", "rating")
    assert result.exit_code == 2
    assert "not enough memory" in result.stderr


def test_a_missing_package_is_named_with_the_command_that_installs_it(run, wine, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    result = fit(run, wine, "--target", "rating")
    assert result.exit_code == 2
    assert 'pip install "ordinality[cli]"' in result.stderr


# ---------------------------------------------------------------- terms of a linear model

TERMS = {
    "--nominal age": "nominal effects name 'age', which is not a feature .*features are dose",
    "--scale effect": "the scale effects name 'effect', which is not a feature",
    "--random age": "the random effects name 'age', which is not a feature",
    "--random site/age": "the random effects name 'age', which is not a feature",
    "--nominal dose,dose": "the nominal effects name 'dose' twice; name each column once",
    "--random site,site": "the random effects name 'site' twice; name each column once",
    "--random site/site": "the random effects name 'site' twice; name each column once",
    "--nominal site --random site": "site groups rows and can have no other effect; leave one",
    "--scale dose --random site": "random and scale effects cannot be combined; leave one out",
    "--drop dose --nominal dose": "name 'dose', which is not a feature .*are site",
    "--link normal": "'normal' is not one of 'logit', 'probit', 'cloglog', 'loglog', 'cauchit'",
    "--decision best": "'best' is not one of 'mode', 'median', 'mean', 'quadratic-kappa'",
    "--weights site": "site holds '[xyz]'; weights are numbers of 0 or more",
    "--weights age": "has no column 'age'; it has dose, site, patient, effect, weight",
    "--target age": "has no column 'age'; it has dose",
    "--order low,mid": "effect holds 'high', which is not in the order low < mid; add it to --",
    "--model gp --nominal dose": "--nominal describes a linear model, .*add --model linear, or",
    "--model trees --link logit": "--link describes a linear model, .* or leave out --link",
}  # fmt: skip


@pytest.mark.parametrize("options", TERMS)
def test_terms_that_make_no_model_are_refused_in_one_sentence(run, trial, options):
    given = ["--target", "effect", "--order", "low,mid,high", "--model", "linear"]
    done = run("fit", trial, *given, *options.split())
    assert done.exit_code != 0
    said = done.stderr.strip().splitlines()[-1].removeprefix("Error: ")
    assert re.search(TERMS[options], said)
    assert not re.search(r"[.!?] [A-Z]|nominal=|random=|scale=", said)
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        (
            "site",
            "",
            "site groups rows, but 1 of them have no value there; fill it in, or leave",
        ),
        ("dose", "inf", "dose is infinite in row 5; give the cell a finite number or leave it"),
        ("effect", "huge", "effect holds 'huge', which is not in the order .*leave those rows"),
    ],
)
def test_a_bad_cell_of_a_linear_model_is_named(run, trial, tmp_path, column, cell, message):
    lines = [line.split(",") for line in trial.read_text().splitlines()]
    lines[5][lines[0].index(column)] = cell
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(map(",".join, lines)))
    options = ("--target", "effect", "--order", "low,mid,high", "--random", "site")
    done = run("fit", path, *options, "--model", "linear")
    assert done.exit_code != 0
    assert re.search(message, done.stderr.strip().splitlines()[-1])
