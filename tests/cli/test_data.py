"""The command ``ordinality data``: lists, shows one, checks shapes."""

import json

import pytest

from ordinality.datasets import CLASSICS, INVENTORY, VARIABLE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with two sets, one of them of the wrong shape."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "regression").mkdir()
    (tmp_path / "ordinal").mkdir()
    diabetes = "age,deficit,target\n" + "5.2,-8.1,4.8\n" * 42 + "8.8,-16.1,4.1\n"
    (tmp_path / "regression" / "diabetes.csv").write_text(diabetes)
    (tmp_path / "ordinal" / "balance_scale.csv").write_text("w,target\n1,1\n2,3\n3,3\n")
    return tmp_path


def test_all_tables_of_the_package_and_all_folders_are_listed(run, folder):
    result = run("data")
    assert result.exit_code == 0
    names = {line.split()[0] for line in result.stdout.splitlines() if line.strip()}
    assert names >= {*CLASSICS, *{entry.folder for entry in INVENTORY}}
    assert f"in {folder}" in result.stdout


def test_missing_files_are_listed_with_their_source(run, folder):
    result = run("data")
    at = result.stdout.index("missing, available from github.com/rebelosa/labelrankingforests")
    assert "label_ranking/iris.csv" in result.stdout[at:]
    assert "regression/diabetes.csv" not in result.stdout
    assert result.stderr == f"Set {VARIABLE} to the folder that holds the files.\n"


def test_present_and_missing_files_are_counted(run, folder):
    lines = {line.split()[0]: line.split() for line in run("data").stdout.splitlines() if line}
    assert lines["regression"][1:3] == ["1", "15"]
    assert lines["chu_partitions"][1:3] == ["0", "18"]


def test_json_holds_the_same_for_programs(run, folder):
    found = json.loads(run("data", "--json").stdout)
    assert found["folder"] == str(folder)
    assert [table["name"] for table in found["embedded"]] == list(CLASSICS)
    assert len(found["files"]) == len(INVENTORY)
    here = [file["name"] for file in found["files"] if file["here"]]
    assert here == ["regression/diabetes", "ordinal/balance_scale"]
    assert {"file", "rows", "columns", "source", "licence"} <= set(found["files"][0])


def test_a_table_of_the_package_is_shown_with_its_levels_and_source(run, folder):
    shown = run("data", "wine").stdout
    rows = [line.split() for line in shown.splitlines() if line[:1].isdigit()]
    assert rows == [["1", "5"], ["2", "22"], ["3", "26"], ["4", "12"], ["5", "7"]]
    assert "Randall (1989)" in shown
    assert "temp=warm, contact=yes" in shown
    assert run("data", "@wine").stdout == shown


def test_comparisons_are_shown_with_their_wins(run, folder):
    found = json.loads(run("data", "baseball", "--json").stdout)
    assert found["wins"]["Milwaukee"] == 50
    assert sum(found["wins"].values()) == 273


def test_counts_of_a_table_of_cells_are_those_of_its_cases(run, folder):
    levels = json.loads(run("data", "housing", "--json").stdout)["levels"]
    assert levels == {"low": 567, "medium": 446, "high": 668}


def test_a_set_of_the_folder_is_shown(run, folder):
    shown = run("data", "diabetes").stdout
    assert "4.1 to 4.8" in shown
    assert "Inputs: age, deficit" in shown
    assert json.loads(run("data", "balance_scale", "--json").stdout)["levels"] == {
        "L": 1, "B": 0, "R": 2,
    }  # fmt: skip


def test_partitions_are_described_without_being_read(run, folder):
    shown = run("data", "chu_partitions/abalone_5").stdout
    assert "1000 to train, 3177 to test" in shown


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("abalone", "regression/abalone.csv.gz is not in"),
        ("segment", "say 'multiclass/segment' or 'label_ranking/segment'"),
        ("abalon", "did you mean 'abalone'?"),
    ],
)
def test_a_set_that_cannot_be_shown_is_one_sentence(run, folder, name, message):
    result = run("data", name)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_file_of_the_wrong_shape_gives_exit_code_1(run, folder):
    result = run("data", "--verify")
    assert result.exit_code == 1
    assert "has 3 rows of 2 columns, not 625 of 5" in result.stdout
    assert "1 of 2 files have the right shape." in result.stdout
    checks = json.loads(run("data", "--verify", "--json").stdout)
    assert {check["file"]: check["ok"] for check in checks} == {
        "regression/diabetes.csv": True, "ordinal/balance_scale.csv": False,
    }  # fmt: skip


def test_one_file_can_be_checked(run, folder):
    result = run("data", "regression/diabetes", "--verify")
    assert result.exit_code == 0
    assert result.stdout == "1 of 1 files have the right shape.\n"
    absent = run("data", "orca_partitions/toy", "--verify")
    assert absent.exit_code == 1
    assert "missing; get it from" in absent.stdout


def test_an_empty_folder_is_reported(run, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    result = run("data", "--verify")
    assert result.exit_code == 0
    assert "contains none of the files" in result.stderr
