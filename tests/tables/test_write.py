"""Files are written whole, in every format that is read, and not replaced without `force`."""

import io
import os

import numpy as np
import polars
import pytest

from ordinality.tables import TableError, formula_cells, read, write, write_blocks

COLUMNS = {
    "level": np.array(["low", "=1+1", "<b>high</b>", 'a "b", c']),
    "rank": np.array([0, 2, 1, -1]),
    "probability": [0.25, 1 / 3, 1e-300, None],
}
NAMES = ["a.csv", "a.tsv", "a.csv.gz", "a.parquet", "a.arrow", "a.feather", "a.jsonl"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_back(name, tmp_path):
    write(tmp_path / name, COLUMNS)
    found = read(tmp_path / name).frame
    assert found.columns == [*COLUMNS]
    for column, cells in COLUMNS.items():
        assert found[column].to_list() == list(cells)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_columns_are_the_same_bytes(name, tmp_path):
    write(tmp_path / name, COLUMNS)
    before = (tmp_path / name).read_bytes()
    write(tmp_path / name, COLUMNS, force=True)
    assert (tmp_path / name).read_bytes() == before


def test_a_dash_is_standard_output(capsys):
    write("-", {"a": [1, 2], "b": ["x", "=y"]})
    assert capsys.readouterr().out == "a,b\n1,x\n2,=y\n"


def test_nothing_is_replaced_without_force(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("precious")
    with pytest.raises(TableError, match=r"a\.csv exists; add `force` to replace it"):
        write(path, COLUMNS)
    assert path.read_text() == "precious"
    write(path, COLUMNS, force=True)
    assert len(read(path)) == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/a.csv", "There is no folder .*no to write a.csv into"),
        ("a.xlsx", r"choose one of \.csv"),
        ("a", r"choose one of \.csv"),
        ("", "is a folder; name a file in it"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(name, message, tmp_path):
    with pytest.raises(TableError, match=message):
        write(tmp_path / name, COLUMNS)
    assert not [*tmp_path.iterdir()]


def test_a_disk_that_fills_up_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("precious")

    class Full(io.BytesIO):
        def write(self, content):
            raise OSError(28, "No space left on device")

    def full(place, mode):
        os.close(os.open(place, os.O_CREAT))
        return Full()

    monkeypatch.setattr("builtins.open", full)
    with pytest.raises(TableError, match=r"cannot be written \(No space left on device\)"):
        write(path, COLUMNS, force=True)
    monkeypatch.undo()
    assert path.read_text() == "precious"
    assert [found.name for found in tmp_path.iterdir()] == ["a.csv"]


# ---------------------------------------------------------------- spreadsheets

FORMULAS = {
    "=name": ["=1+1", "+1+1", "-x", "@sum", "\tx", "\rx", "-5", "+2.5e3", "a=b", "", None],
    "number": [-1.0, 2.0, None, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
}
SAFE = ["'=1+1", "'+1+1", "'-x", "'@sum", "'\tx", "'\rx", "-5", "+2.5e3", "a=b", "", None]


def test_cells_that_a_spreadsheet_would_calculate_are_counted():
    assert formula_cells(FORMULAS) == 7
    assert formula_cells({"a": [-1, -2], "b": ["-1", "x"]}) == 0
    assert formula_cells({"a": [None, None], "b": []} | {"b": [None, None]}) == 0


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_a_file_for_spreadsheets_has_an_apostrophe_before_formulas(name, tmp_path):
    write(tmp_path / name, FORMULAS, spreadsheet_safe=True)
    found = polars.read_csv(
        tmp_path / name,
        separator="\t" if name == "a.tsv" else ",",
    )
    assert found.columns == ["'=name", "number"]
    assert found["'=name"].to_list() == SAFE
    assert found["number"].to_list() == FORMULAS["number"]
    assert formula_cells({name: found[name].to_list() for name in found.columns}) == 0


def test_formats_with_types_and_files_without_the_option_are_unchanged(tmp_path):
    write(tmp_path / "a.parquet", FORMULAS, spreadsheet_safe=True)
    assert polars.read_parquet(tmp_path / "a.parquet").to_dict(as_series=False) == FORMULAS
    write(tmp_path / "a.csv", {"a": ["=1", "-x"]})
    assert (tmp_path / "a.csv").read_text() == "a\n=1\n-x\n"


@pytest.mark.parametrize("name", [*NAMES, "a.parquet.gz"])
def test_blocks_are_read_back_as_one_table(name, tmp_path):
    path = tmp_path / name
    with write_blocks(path) as append:
        for first in (0, 3, 6):
            append({"x": [first + 0.5, 1.0, 2.0], "word": ["a", "b,c", "d\ne"]})
        assert not path.exists()
    found = read(path).frame
    assert found["x"].to_list() == [0.5, 1.0, 2.0, 3.5, 1.0, 2.0, 6.5, 1.0, 2.0]
    assert found["word"].to_list() == ["a", "b,c", "d\ne"] * 3
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_blocks_that_are_not_finished_leave_the_old_file(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"old")

    def interrupted():
        with write_blocks(path, force=True) as append:
            append({"x": [1, 2]})
            append({"x": [1, 2]})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_blocks_of_other_types_are_refused_where_they_cannot_be_joined(tmp_path):
    with write_blocks(tmp_path / "a.parquet") as append:
        append({"x": [1, 2]})
        with pytest.raises(TableError, match="x holds values of different types"):
            append({"x": ["a", "b"]})
