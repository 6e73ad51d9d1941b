"""Files are written whole, in every format that is read, and nothing is replaced unasked."""

import io
import os

import numpy as np
import pytest

from ordinality.tables import TableError, read, write

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


def test_nothing_is_replaced_unasked(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("precious")
    with pytest.raises(TableError, match=r"a\.csv exists; --force replaces it"):
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
def test_a_place_that_cannot_be_is_refused(name, message, tmp_path):
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
