"""The data folder: where it is, what it holds, and how its files are read."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

from ordinality import datasets
from ordinality.datasets import INVENTORY, VARIABLE, MissingDataError
from ordinality.datasets.folder import read_columns
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
        ("quite something else", "`INVENTORY` lists them all"),
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


# ---------------------------------------------------------------- reading files


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,c,d\n1,x,,u\n2.5,"y, or z",3,\n-1e3,x,4,v\n', encoding="utf-8")
    return path


def test_columns_of_numbers_are_floats_and_empty_cells_are_nan(table):
    columns = read_columns(table)
    assert [*columns] == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(columns["a"], [1.0, 2.5, -1000.0])
    np.testing.assert_array_equal(columns["c"], [np.nan, 3.0, 4.0])
    assert columns["b"].tolist() == ["x", "y, or z", "x"]


def test_a_packed_file_is_read_as_a_plain_one(table, tmp_path):
    packed = tmp_path / "p.csv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    one, other = read_columns(table), read_columns(packed)
    assert [*one] == [*other]
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def test_columns_are_kept_until_the_file_changes(table):
    first = read_columns(table)
    assert read_columns(table) is first
    table.write_text("a\n1\n2\n3\n4\n")
    assert len(read_columns(table)["a"]) == 4


def test_columns_cannot_be_written_to(table):
    with pytest.raises(ValueError, match="read-only"):
        read_columns(table)["a"][0] = 5.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no row under the header"),
        (b"a,b\n", "no row under the header"),
        (b"a,b\n1,2\n3\n", "row 2 has 1 cells, the header 2"),
        (b"a\n\xff\xfe\n", "cannot be read as a table"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused_with_the_place(small_folder, content, message):
    path = small_folder("regression/diabetes.csv", "")
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_columns(path)
    assert "diabetes.csv" in str(caught.value)
    assert "download the file again" in str(caught.value)
    assert message in datasets.verify("regression/diabetes").problem


@pytest.mark.parametrize("cut", [5, 20])
def test_a_truncated_packed_file_is_refused(tmp_path, cut):
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-cut])
    with pytest.raises(ValueError, match="cannot be read as a table"):
        read_columns(path)


def test_a_plain_file_named_as_packed_is_refused(tmp_path):
    path = tmp_path / "plain.csv.gz"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="cannot be read as a table"):
        read_columns(path)
