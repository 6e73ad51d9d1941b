"""Odd values of options, odd columns and odd model files end in a sentence."""

import json
import re
import zipfile

import polars
import pytest

TABLE = "x,g,y\n" + "".join(f"{i % 7},{10**30 + i % 4},{i % 2}\n" for i in range(24))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    return path


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--order", ""],
            "--order lists fewer than two labels; list all of them",
        ),
        (
            ["--order", "0"],
            "--order lists fewer than two labels; list all of them",
        ),
        (["--order", "0,1,1"], "--order lists '1' twice; list every label once"),
        (["--order", "0,2"], "add it to --order at its place"),
        (["--features", "x\ng"], "a name with a line break must be in double quotes"),
        (["--features", '""'], "--features names no column"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--seed", str(2**32)], "is not in the range"),
    ],
)
def test_an_odd_value_is_refused_by_the_name_of_its_option(run, table, options, says):
    done = run("fit", table, "--target", "y", "--model", "linear", *options)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(
    int(polars.__version__.partition(".")[0]) < 2, reason="polars 1 reads no such integers"
)
def test_groups_may_be_integers_of_thirty_digits(run, table):
    options = ["--target", "y", "--model", "linear", "--group", "g", "--folds", 4]
    done = run("fit", table, *options)
    assert done.exit_code == 0, done.stderr


def test_labels_that_are_fractions_are_refused_without_naming_python(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{i % 3 / 10}\n" for i in range(24)))
    done = run("fit", path, "--target", "y", "--model", "linear")
    assert done.exit_code == 2
    assert "cut y into levels first or" in done.stderr
    assert "list them in --order" in done.stderr
    assert "numpy" not in done.stderr


def test_a_note_about_a_column_contains_no_command(run, tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"{i},{i % 7},{i % 2}\n" for i in range(24))
    path.write_text("id; rm -r x,x,y\n" + rows)
    done = run("fit", path, "--target", "y", "--model", "linear")
    assert "counts the rows; leave it out if it only names them" in done.stderr
    assert not re.search("--drop.*rm", done.stderr)


def test_a_file_that_exists_is_refused_with_the_option_that_replaces_it(run, fitted, trial):
    done = run("predict", fitted[0], trial, "--out", trial)
    assert done.exit_code == 2
    assert done.stderr.endswith("exists; replace it with --force.\n")


@pytest.mark.parametrize("models", ["", "linear", "linear,linear"])
def test_fewer_than_two_models_are_not_compared(run, table, models):
    done = run("compare", table, "--target", "y", "--models", models)
    assert done.exit_code == 2
    assert "--models names fewer than two models" in done.stderr


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([0, 0], "w is 0 in every row"),
        ([-1, 1], "w holds -1; weights are numbers of 0 or more"),
        (["a", "b"], "w holds 'a'; weights are numbers of 0 or more"),
    ],
)
def test_weights_of_an_evaluation_are_checked_by_the_name_of_their_column(
    run, fitted, tmp_path, weights, says
):
    path = tmp_path / "a.csv"
    polars.DataFrame(
        {"dose": [1, 19], "site": ["x", "y"], "effect": ["low", "high"], "w": weights}
    ).write_csv(path)
    done = run("evaluate", fitted[0], path, "--weights", "w")
    assert done.exit_code == 2
    assert says in done.stderr


def test_rows_with_a_weight_of_nan_are_left_out(run, fitted, tmp_path):
    path = tmp_path / "a.parquet"
    cells = {"dose": [1, 19], "site": ["x", "y"], "effect": ["low", "high"]}
    polars.DataFrame({**cells, "w": [1.0, float("nan")]}).write_parquet(path)
    done = run("evaluate", fitted[0], path, "--weights", "w", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["rows"] == 1


@pytest.mark.parametrize("cells", [[[1], [2]], [b"a", b"b"], [{"a": 1}, {"a": 2}]])
def test_columns_that_csv_cannot_hold_are_named(run, fitted, tmp_path, cells):
    path = tmp_path / "a.parquet"
    polars.DataFrame({"dose": [1, 19], "site": ["x", "y"], "z": cells}).write_parquet(path)
    done = run("predict", fitted[0], path, "--keep")
    assert done.exit_code == 2
    assert "CSV cannot hold lists, objects or bytes, as in z" in done.stderr
    assert done.stdout == ""
    kept = run("predict", fitted[0], path, "--keep", "--out", tmp_path / "b.parquet")
    assert kept.exit_code == 0


ODD = {
    "levels": [5, "low"],
    "summary": [[1], "text"],
    "summary.scores": [[1], {"gp": 1}, {"gp": {"score": [1]}}],
    "summary.columns": [5, [1, None]],
    "summary.words": [5, [None]],
    "summary.model": ["gp", {"words": 5}],
    "summary.importance": ["x", {"x": None}, {"x": "a"}],
    "summary.effects": ["abc", [{}], [{"column": "x", "values": [1], "above": [[1]]}]],
    "summary.rows": ["many"],
    "summary.verdict": [[[]]],
    "summary.target": [[1]],
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_description_of_a_model_is_refused(run, fitted, tmp_path, name):
    with zipfile.ZipFile(fitted[0]) as file:
        parts = {part: file.read(part) for part in file.namelist()}
    about = json.loads(parts["ordinality.json"])
    first, _, second = name.partition(".")
    for value in ODD[name]:
        odd = {**about, first: {**about["summary"], second: value} if second else value}
        path = tmp_path / "odd.skops"
        with zipfile.ZipFile(path, "w") as file:
            for part, content in {**parts, "ordinality.json": json.dumps(odd)}.items():
                file.writestr(part, content)
        for command in ("info", "explain"):
            done = run(command, path)
            assert done.exit_code == 2, (name, value)
            assert "is corrupt" in done.stderr
