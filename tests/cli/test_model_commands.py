"""``predict``, ``evaluate``, ``explain``, ``info`` and ``compare`` on a small table."""

import json

import numpy as np
import polars
import pytest

from ordinality import persist
from ordinality.estimators import OrdinalGP
from ordinality.estimators.base_ordinal import decided, kappa_rule


@pytest.fixture
def model(fitted):
    return fitted[0]


# ---------------------------------------------------------------- predict


def test_predictions_are_csv_on_stdout(run, model, trial):
    result = run("predict", model, trial, "--proba")
    table = polars.read_csv(result.stdout.encode())
    assert table.columns == ["predicted effect", "P(low)", "P(mid)", "P(high)"]
    chances = table.select(table.columns[1:]).to_numpy()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    levels = np.array(["low", "mid", "high"])
    assert table["predicted effect"].to_list() == levels[chances.argmax(axis=1)].tolist()


@pytest.mark.parametrize("rule", ["mode", "median", "mean", "quadratic-kappa"])
def test_predictions_follow_the_rule_that_was_asked_for(run, model, trial, rule):
    result = run("predict", model, trial, "--proba", "--decision", rule)
    table = polars.read_csv(result.stdout.encode())
    chances = table.select(table.columns[1:]).to_numpy()
    ranks = decided(chances, rule.replace("-", "_"), kappa_rule(chances))
    wanted = np.array(["low", "mid", "high"])[ranks]
    assert table["predicted effect"].to_list() == wanted.tolist()


def test_ranges_hold_the_prediction_and_widen_with_their_coverage(run, model, trial):
    levels, widths = ["low", "mid", "high"], []
    for percent in (50, 99):
        result = run("predict", model, trial, "--coverage", percent)
        table = polars.read_csv(result.stdout.encode())
        assert table.columns == ["predicted effect", "lowest effect", "highest effect"]
        predicted, low, high = (
            np.array([levels.index(c) for c in table[n]]) for n in table.columns
        )
        assert np.all((low <= predicted) & (predicted <= high))
        widths.append(high - low)
    assert np.all(widths[0] <= widths[1])
    assert np.any(widths[0] < widths[1])


def test_a_model_without_bounds_refuses_a_coverage(run, model, trial, monkeypatch):
    about = persist.metadata(model)
    del about["summary"]["range_bounds"]
    monkeypatch.setattr(persist, "metadata", lambda path: about)
    result = run("predict", model, trial, "--coverage", 90)
    assert result.exit_code == 2
    assert "leave out --coverage" in result.stderr


def test_predictions_are_written_in_the_format_of_the_suffix(run, model, trial, tmp_path):
    out = tmp_path / "found.parquet"
    result = run("predict", model, trial, "--keep", "--out", out)
    assert result.exit_code == 0
    assert "Wrote 60 predictions" in result.stderr
    table = polars.read_parquet(out)
    assert table.columns[0] == "dose"
    assert table.columns[-1] == "predicted effect"
    again = run("predict", model, trial, "--out", out)
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_predictions_for_a_program_are_json(run, model, trial):
    found = json.loads(run("predict", model, trial, "--json").stdout)
    assert len(found["predicted effect"]) == 60


def test_cells_that_a_spreadsheet_reads_as_formulas_are_noted_or_escaped(run, model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("dose,site,note\n1,x,=1+1\n-5,x,-5\n")
    for out in ("-", tmp_path / "a.csv"):
        done = run("predict", model, path, "--keep", "--out", out)
        assert "begin with =, +, - or @: 1." in done.stderr
        assert "--spreadsheet-safe" in done.stderr
        safe = run(
            "predict", model, path, "--keep", "--spreadsheet-safe", "--force", "--out", out
        )
        assert "begin with" not in safe.stderr
        text = safe.stdout if out == "-" else out.read_text()
        assert text.splitlines()[1:] == ["1,x,'=1+1,low", "-5,x,-5,low"]
    done = run("predict", model, path, "--keep", "--out", tmp_path / "a.parquet")
    assert "begin with" not in done.stderr


def test_a_table_without_a_column_of_the_model_is_refused(run, model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("doze,site\n1,x\n")
    result = run("predict", model, path)
    assert result.exit_code == 2
    assert "dose" in result.stderr
    assert result.stdout == ""


def test_a_category_that_was_not_in_training_is_noted(run, model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("dose,site\n1,moon\n19,x\n")
    result = run("predict", model, path)
    assert result.exit_code == 0
    assert "'moon'" in result.stderr
    assert result.stdout.splitlines()[1:] == ["low", "high"]


def test_a_model_that_does_not_exist_is_one_sentence(run, trial, tmp_path):
    absent = "no.skops"
    for command in (("predict", absent, trial), ("info", absent), ("explain", tmp_path)):
        result = run(*command)
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1


def test_a_table_is_not_a_model_file(run, trial):
    result = run("predict", trial, trial)
    assert result.exit_code == 2
    assert "is not a model file" in result.stderr
    assert "ordinality.save" not in result.stderr  # a function of Python, not a command


def test_a_model_saved_in_python_is_refused(run, trial, tmp_path):
    path = tmp_path / "plain.skops"
    persist.save(OrdinalGP().fit([[0.0], [1.0], [2.0]], [0, 1, 1]), path)
    result = run("predict", path, trial)
    assert result.exit_code == 2
    assert "saved in Python" in result.stderr


# ---------------------------------------------------------------- evaluate, explain, info


def test_an_evaluation_has_a_confusion_matrix(run, model, trial):
    found = json.loads(run("evaluate", model, trial, "--json").stdout)
    assert found["rows"] == 60
    assert np.sum(found["confusion"]) == 60
    assert found["scores"]["zero-one error"] < found["frequencies"]["zero-one error"]
    shown = run("evaluate", model, trial).stdout
    assert "true \\ predicted" in shown
    assert "Better than the frequencies" in shown


def test_an_evaluation_of_a_table_without_labels_is_refused(run, model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("dose,site\n1,x\n")
    result = run("evaluate", model, path)
    assert result.exit_code == 2
    assert "no column 'effect'" in result.stderr


def test_explanations_come_from_the_file_or_from_a_table(run, model, trial):
    kept = json.loads(run("explain", model, "--json").stdout)
    anew = json.loads(run("explain", model, trial, "--json").stdout)
    assert kept["effects"][0]["column"] == anew["effects"][0]["column"] == "dose"
    np.testing.assert_allclose(
        kept["effects"][0]["above"], anew["effects"][0]["above"], atol=1e-3
    )
    shown = run("explain", model).stdout
    for words in ("P(> low)", "marginal effect on", "From low to mid"):
        assert words in shown


def test_info_reads_the_description_alone(run, model, monkeypatch):
    monkeypatch.setattr(persist, "load", None)  # calling it would be an error
    shown = run("info", model).stdout
    for words in ("low < mid < high", "60 rows", "linear", "frequencies"):
        assert words in shown
    found = json.loads(run("info", model, "--json").stdout)
    assert found["summary"]["target"] == "effect"


# ---------------------------------------------------------------- compare


def test_a_comparison_ends_in_a_verdict(run, trial):
    args = ("--target", "effect", "--order", "low,mid,high", "--features", "dose")
    models = ("--models", "linear,frequencies", "--folds", 3, "--repeats", 2)
    result = run("compare", trial, *args, *models)
    assert result.exit_code == 0, result.stderr
    assert "linear has the lower ranked probability score in all 6 folds" in result.stdout
    found = json.loads(run("compare", trial, *args, *models, "--json").stdout)
    assert found["folds"] == 6
    assert len(found["models"]["linear"]["by_fold"]) == 6


def test_an_unknown_model_is_refused_with_the_names(run, trial):
    result = run("compare", trial, "--target", "dose", "--models", "gp,oracle")
    assert result.exit_code == 2
    assert "no model named 'oracle'" in result.stderr
