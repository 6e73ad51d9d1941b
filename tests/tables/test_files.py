"""From data files to tables: every format, and what is guessed said aloud."""

import gzip
import io
import sys
from pathlib import Path

import narwhals as nw
import polars as pl
import pytest

from ordinality.tables import TableError, read

FRAME = pl.DataFrame({"dose": [1.5, 2.0, 4.0], "effect": ["none", "some", "some"]})
CSV = "dose,effect\n1.5,none\n2.0,some\n4.0,some\n"

WRITERS = {
    "a.csv": lambda path: path.write_text(CSV),
    "a.CSV": lambda path: path.write_text(CSV),
    "semicolons.csv": lambda path: path.write_text(CSV.replace(",", ";")),
    "tabs.csv": lambda path: path.write_text(CSV.replace(",", "\t")),
    "bars.csv": lambda path: path.write_text(CSV.replace(",", "|")),
    "windows.csv": lambda path: path.write_bytes(CSV.replace("\n", "\r\n").encode("utf-8-sig")),
    "quoted.csv": lambda path: path.write_text(CSV.replace("some", '"some"')),
    "packed.csv": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "a.tsv": lambda path: path.write_text(CSV.replace(",", "\t")),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "a.parquet": FRAME.write_parquet,
    "a.arrow": FRAME.write_ipc,
    "a.feather": FRAME.write_ipc,
    "a.ipc": FRAME.write_ipc,
    "a.jsonl": FRAME.write_ndjson,
    "a.ndjson": FRAME.write_ndjson,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(name, tmp_path):
    WRITERS[name](tmp_path / name)
    found = read(tmp_path / name)
    assert found.names == ("dose", "effect")
    assert found.frame.to_native().equals(FRAME)
    assert found.source == str(tmp_path / name)
    assert found.notes == ()


@pytest.mark.parametrize("name", [n for n in WRITERS if n != "a.CSV"])
def test_a_dash_is_standard_input_in_any_format(name, tmp_path, monkeypatch):
    WRITERS[name](tmp_path / name)
    content = io.BytesIO((tmp_path / name).read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    found = read("-")
    assert found.source == "standard input"
    assert found.frame.to_native().equals(FRAME)


def text(tmp_path, content, name="a.csv"):
    (tmp_path / name).write_text(content, newline="")
    return read(tmp_path / name)


# ---------------------------------------------------------------- cells


@pytest.mark.parametrize("cell", ["", "NA", "N/A", "nan", "NaN", "null", "?", " ", " NA "])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_cell_that_says_unknown_does_not_turn_numbers_into_text(cell, quote, tmp_path):
    found = text(tmp_path, f"x,y\n{quote}1.5{quote},1\n{quote}{cell}{quote},2\n")
    assert found.frame["x"].to_list() == [1.5, None]


def test_blanks_around_numbers_do_not_turn_them_into_text(tmp_path):
    found = text(tmp_path, "x,y\n 1.5 ,a \n2, b\n")
    assert found.frame["x"].to_list() == [1.5, 2.0]
    assert found.frame["y"].to_list() == ["a ", "b"]  # a blank behind a word is kept


def test_a_type_is_inferred_from_all_rows(tmp_path):
    found = text(tmp_path, "x,y\n" + "1,1\n" * 2000 + "1a,2\n")
    assert found.frame["x"].dtype == nw.String


def test_truth_values_are_recognised(tmp_path):
    found = text(tmp_path, "x,y\nTrue,false\nFalse,true\n")
    assert found.frame["x"].to_list() == [True, False]
    assert found.frame["y"].to_list() == [False, True]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["3,14", "2"], [3.14, 2.0]),
        (["-0,5", "+1,5e3"], [-0.5, 1500.0]),
        (["1.234,5", "10"], [1234.5, 10.0]),
        (["1,234", "5,678"], [1.234, 5.678]),  # no marks of thousands beside semicolons
        (["3,14", "NA"], [3.14, None]),
    ],
)
def test_decimal_commas_are_read_and_said(cells, expected, tmp_path):
    found = text(tmp_path, "x;y\n" + "".join(f"{cell};1\n" for cell in cells))
    assert found.frame["x"].to_list() == expected
    assert found.notes == ("Read the commas in x as decimal points.",)


def test_words_with_commas_stay_words(tmp_path):
    found = text(tmp_path, "x;y\n3,14;1\nabout 3,14;2\n")
    assert found.frame["x"].to_list() == ["3,14", "about 3,14"]
    assert found.notes == ()


def test_one_column_with_decimal_commas_is_one_column(tmp_path):
    assert text(tmp_path, "x\n3,14\n2,5\n").frame["x"].to_list() == [3.14, 2.5]


# ---------------------------------------------------------------- separators


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ('a;"b,c,d";e\n1;2;3\n4;5;6\n', ("a", "b,c,d", "e")),  # commas within quotes
        ("a;b\n1,5;2,5\n3,5;4,5\n", ("a", "b")),  # in every row, but not between columns
        ("size, cm;weight, kg\n1,5;2\n3;4\n", ("size, cm", "weight, kg")),  # in the header
        ("a|b,c\n1|2,5\n3|4\n5|6\n", ("a", "b,c")),
        ('"a";"b"\n"x;y";"1"\n"z";"2"\n', ("a", "b")),
        ("a\tb;c\n1;1\t2\n3\t4\n", ("a", "b;c")),
        ("only\n1\n2\n", ("only",)),
    ],
)
def test_the_separator_is_the_one_that_cuts_rows_evenly(content, names, tmp_path):
    assert text(tmp_path, content).names == names


def test_a_tsv_file_is_cut_at_tabs_whatever_else_it_holds(tmp_path):
    found = text(tmp_path, "a,b\tc\n1,2\t3\n4,5\t6\n", "a.tsv")
    assert found.names == ("a,b", "c")


def test_a_stray_quotation_mark_within_a_cell_is_kept(tmp_path):
    found = text(tmp_path, 'pipe,y\n5" wide,1\n6" wide,2\n')
    assert found.frame["pipe"].to_list() == ['5" wide', '6" wide']


def test_ten_thousand_columns_are_read(tmp_path):
    names = [f"c{i}" for i in range(10_000)]
    row = ",".join("1" for _ in names)
    found = text(tmp_path, ",".join(names) + f"\n{row}\n{row}\n")
    assert found.names == tuple(names)


# ---------------------------------------------------------------- JSON lines


def test_json_lines_may_lack_keys_and_mix_numbers(tmp_path):
    rows = '{"x": 1, "y": "a"}\n\n{"x": 2.5}\n{"y": "b", "z": true, "w": [1, 2]}\n'
    found = text(tmp_path, rows, "a.jsonl")
    assert found.names == ("x", "y", "z", "w")
    assert found.frame["x"].to_list() == [1.0, 2.5, None]
    assert found.frame["y"].to_list() == ["a", None, "b"]
    assert found.frame["z"].to_list() == [None, None, True]


def test_what_json_mixes_is_still_a_column(tmp_path):
    found = text(
        tmp_path, '{"x": [1], "y": 1}\n{"x": "a", "y": 2}\n{"x": 3, "y": 3}\n', "a.jsonl"
    )
    assert len(found) == 3


# ---------------------------------------------------------------- trouble


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.csv").write_text(CSV)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(TableError, match=r"a\.csv may not be read by you"):
        read(tmp_path / "a.csv")


def test_a_path_that_cannot_be_is_refused():
    with pytest.raises(TableError, match="cannot be read|There is no file"):
        read("a\0b.csv")
    with pytest.raises(TableError, match="is a folder"):
        read("")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_binary_file_broken_anywhere_is_refused(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    WRITERS[path.name](path)
    whole = path.read_bytes()
    for share in range(1, 20):
        path.write_bytes(whole[: len(whole) * share // 20])
        with pytest.raises(TableError, match="does not begin|cut off or damaged"):
            read(path)


def test_without_polars_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text(CSV)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "ordinality\[cli\]"'):
        read(tmp_path / "a.csv")
