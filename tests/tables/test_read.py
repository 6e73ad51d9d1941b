"""Reading data files: every format, with notes on what is guessed."""

import gzip
import io
import os
import sys
import tracemalloc
from pathlib import Path

import narwhals as nw
import polars as pl
import pytest

from ordinality.tables import TableError, binary, read
from ordinality.tables.read import unpacked

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
def test_a_missing_cell_does_not_turn_numbers_into_text(cell, quote, tmp_path):
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
        (["1,234", "5,678"], [1.234, 5.678]),  # no thousands separators beside semicolons
        (["3,14", "NA"], [3.14, None]),
    ],
)
def test_decimal_commas_are_read_with_a_note(cells, expected, tmp_path):
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


def test_a_file_without_permission_is_refused(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.csv").write_text(CSV)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(TableError, match=r"a\.csv cannot be read: permission denied"):
        read(tmp_path / "a.csv")


def test_an_impossible_path_is_refused():
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
        with pytest.raises(TableError, match="does not begin|truncated or corrupt"):
            read(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_damaged_binary_file_leaves_no_panic_on_stderr(kind, tmp_path, capfd):
    path = tmp_path / f"a.{kind}"
    WRITERS[path.name](path)
    whole = path.read_bytes()
    refused = 0
    for place in range(8, len(whole) - 8, len(whole) // 12):
        content = bytearray(whole)
        content[place] ^= 0xFF
        path.write_bytes(content)
        try:
            read(path)
        except TableError:
            refused += 1
    assert refused > 2
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("end", ["os.abort()", "os._exit(7)", "raise SystemExit(1)"])
def test_a_reader_that_dies_is_a_refusal(end, tmp_path, monkeypatch, capfd):
    """As polars does, for one, where a page claims to need more memory than there is."""
    script = tmp_path / "reader.py"
    script.write_text(f"import os\nos.write(2, b'memory allocation failed')\n{end}\n")
    path = tmp_path / "a.parquet"
    WRITERS[path.name](path)
    monkeypatch.setattr(binary, "__file__", str(script))
    with pytest.raises(TableError, match="the Parquet file is truncated or corrupt; write or"):
        read(path)
    assert capfd.readouterr().err == ""


def test_a_reader_that_the_system_kills_ran_out_of_memory(tmp_path, monkeypatch):
    script = tmp_path / "reader.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    path = tmp_path / "a.parquet"
    WRITERS[path.name](path)
    monkeypatch.setattr(binary, "__file__", str(script))
    with pytest.raises(MemoryError, match="does not fit into memory"):
        read(path)


def test_no_module_of_the_current_folder_is_run(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    WRITERS[path.name](path)
    (tmp_path / "polars.py").write_text("open('ran', 'w').close()")
    monkeypatch.chdir(tmp_path)
    assert len(read(path).frame)
    assert not (tmp_path / "ran").exists()


# ---------------------------------------------------------------- limits


def test_a_limit_of_unpacked_bytes_can_be_stated(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode() + b"1.0,some\n" * 10_000_000))
    with pytest.raises(
        TableError, match="more than 200 times its compressed size, the limit"
    ) as found:
        read(path)
    assert "set the environment variable ORDINALITY_MAX_UNPACKED" in str(found.value)
    monkeypatch.setenv("ORDINALITY_MAX_UNPACKED", "50000000")
    with pytest.raises(TableError, match="unpacks to more than 50 MB, the limit"):
        read(path)
    monkeypatch.setenv("ORDINALITY_MAX_UNPACKED", "200000000")
    assert len(unpacked(path.read_bytes(), "a")) == len(CSV) + 90_000_000
    monkeypatch.setenv("ORDINALITY_MAX_UNPACKED", "0")
    with pytest.raises(TableError, match="unpacks to more than 0 bytes, the limit"):
        read(path)
    monkeypatch.setenv("ORDINALITY_MAX_UNPACKED", "many")
    with pytest.raises(TableError, match="is 'many'; set it to a number of bytes or unset it"):
        read(path)


def test_a_bomb_is_refused_without_unpacking_it(tmp_path):
    """Ten gigabytes of zeros in ten megabytes: less than a hundred megabytes are unpacked."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(bytes(10_000_000)) * 1000)
    tracemalloc.start()
    with pytest.raises(TableError, match="unpacks to more than 200 times its compressed size"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000_000


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_binary_file_of_too_many_cells_is_refused(name, tmp_path, monkeypatch):
    path = tmp_path / name
    frame = pl.DataFrame({"x": [7] * 1_000_000, "y": [1] * 1_000_000})
    frame.write_parquet(path) if name == "a.parquet" else frame.write_ipc(path)
    assert len(read(path)) == 1_000_000
    monkeypatch.setenv("ORDINALITY_MAX_UNPACKED", "15000000")
    with pytest.raises(TableError, match="unpacks to more than 15 MB, the limit"):
        read(path)


# ---------------------------------------------------------------- names


def test_a_file_name_that_is_not_text_gets_a_source_that_is(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.csv"))
    try:
        path.write_text(CSV)
    except OSError:
        pytest.skip("the file system takes text alone")
    assert read(path).source.endswith(r"a\udcff.csv")
    with pytest.raises(TableError, match=r"There is no file .*b\\udcff\.csv"):
        read(path.with_name("b\udcff.csv"))


def test_without_polars_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text(CSV)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "ordinality\[cli\]"'):
        read(tmp_path / "a.csv")
