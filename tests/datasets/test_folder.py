"""The data folder: found, listed, checked, and missed in a sentence."""

import sys
from pathlib import Path

import pytest

from ordinality import datasets
from ordinality.datasets import INVENTORY, VARIABLE, MissingDataError
from ordinality.datasets.inventory import FOLDERS, PAPERS


def test_the_variable_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert datasets.data_folder() == tmp_path
    monkeypatch.setenv(VARIABLE, "~/sets")
    assert datasets.data_folder() == Path.home() / "sets"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, ".local/share/ordinality"),
        ("linux", {"XDG_DATA_HOME": "/x"}, "/x/ordinality"),
        ("darwin", {}, "Library/Application Support/ordinality"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/ordinality"),
        ("win32", {}, "AppData/Local/ordinality"),
    ],
)
def test_without_it_the_folder_is_where_the_platform_keeps_data(
    monkeypatch, platform, variables, expected
):
    for name in (VARIABLE, "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert datasets.data_folder() == Path.home() / expected


def test_every_file_of_the_inventory_is_described():
    keys = [entry.key for entry in INVENTORY]
    assert len(set(keys)) == len(keys) == 124
    for entry in INVENTORY:
        assert entry.rows > 0
        assert entry.columns > 0
        assert entry.folder in FOLDERS
        assert set(entry.papers) <= set(PAPERS)
        assert entry.origin.where
        assert entry.origin.licence
        assert entry.about


def test_the_sets_of_the_papers_are_those_of_their_tables():
    def of(paper, folder):
        return {e.name for e in INVENTORY if paper in e.papers and e.folder == folder}

    nine = of("P", "regression")
    assert len(nine) == 9  # Srijith et al., table 2
    assert len(of("G", "regression")) == 16  # Chu & Ghahramani, table 1
    assert len(of("O", "regression")) == 8  # Lin & Li, footnote 3
    assert len(of("L", "regression")) == len(of("L", "multiclass")) == 5
    assert of("G", "chu_partitions") == {f"{name}_{k}" for name in nine for k in (5, 10)}


def test_an_empty_folder_has_everything_missing(small_folder):
    assert datasets.available() == ()
    assert datasets.missing() == INVENTORY


def test_a_file_is_available_packed_or_not(small_folder):
    small_folder("regression/diabetes.csv.gz", "age,deficit,target\n1,2,3\n")
    assert [entry.key for entry in datasets.available()] == ["regression/diabetes"]
    assert len(datasets.missing()) == len(INVENTORY) - 1
    assert datasets.load("diabetes").X.tolist() == [[1.0, 2.0]]


def test_a_missing_file_is_one_sentence_with_where_to_get_it(small_folder, tmp_path):
    with pytest.raises(MissingDataError) as caught:
        datasets.load("abalone")
    said = str(caught.value)
    assert said.startswith(f"regression/abalone.csv.gz is not in {tmp_path}; get it from ")
    assert "github.com/renatopp/arff-datasets" in said
    assert f"set {VARIABLE} to the folder that holds regression/." in said
    assert isinstance(caught.value, FileNotFoundError)


def test_shapes_are_compared_with_what_they_must_be(small_folder):
    assert datasets.verify("regression/diabetes").problem.startswith("missing; get it from")
    small_folder("regression/diabetes.csv", "age,deficit,target\n1,2,3\n")
    check = datasets.verify("regression/diabetes")
    assert not check.ok
    assert (check.rows, check.columns) == (1, 3)
    assert check.problem == "has 1 rows of 3 columns, not 43 of 3"
    small_folder("regression/diabetes.csv", "age,deficit,target\n" + "1,2,3\n" * 43)
    assert datasets.verify("regression/diabetes").ok
    small_folder("regression/diabetes.csv", "age,deficit,target\n1,2\n")
    assert datasets.verify("regression/diabetes").problem.startswith("cannot be read:")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "segment",
            "more than one folder; say 'multiclass/segment' or 'label_ranking/segment'",
        ),
        ("abalon", "did you mean 'abalone'"),
        ("ordinal/er", "did you mean 'ordinal/era'"),
        ("quite something else", "`ordinality data --json` lists them all"),
    ],
)
def test_a_name_that_is_not_one_set_is_refused_with_what_may_be_meant(name, message):
    with pytest.raises(ValueError, match=message):
        datasets.load(name)


def test_the_published_folder_has_the_right_shapes_throughout(published):
    assert datasets.missing() == ()
    # The larger ones are for `ordinality data --verify`.
    small = [entry for entry in INVENTORY if entry.rows * entry.columns < 200_000]
    assert len(small) > 90
    assert [check.problem for check in map(datasets.verify, [e.key for e in small])] == [
        ""
    ] * len(small)
