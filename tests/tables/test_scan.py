"""Tables that are read in blocks: the same rows, however they are cut, and plain refusals."""

import gzip
import json
import random
from importlib import import_module

import numpy as np
import polars as pl
import pytest

from ordinality.tables import Scan, Table, TableError, open_table, read, scan

N = 5000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    words = np.array(["plain", 'with "quotes"', "two\nlines", "comma, semicolon;"])
    return pl.DataFrame(
        {
            "x": rng.normal(size=N).round(4),
            "count": rng.integers(0, 9, N),
            "word": words[rng.integers(0, 4, N)],
            "y": ["rare" if i == 4321 else ("low", "high")[i * i % 7 % 2] for i in range(N)],
        }
    )  # fmt: skip


@pytest.fixture
def small_blocks(monkeypatch):
    module = import_module("ordinality.tables.scan")
    monkeypatch.setattr(module, "BLOCK_ROWS", 700)
    monkeypatch.setattr(module, "BLOCK_BYTES", 9000)
    return module


def written(frame, path):
    """The frame in the format that the suffix of a path names; a folder of three files."""
    if not path.suffix:
        path.mkdir()
        for i, first in enumerate((0, 1000, 3000)):
            part = frame[first : (1000, 3000, N)[i]]
            part.write_parquet(path / f"part-{i}.parquet", row_group_size=450)
        return path
    kind = path.suffixes[0]
    content = frame.write_csv() if kind == ".csv" else frame.write_ndjson()
    if kind == ".parquet":
        frame.write_parquet(path)
    elif kind == ".arrow":
        frame.write_ipc(path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode()))
    else:
        path.write_text(content)
    return path


NAMES = ["folder", "a.parquet", "a.arrow", "a.csv", "a.csv.gz", "a.jsonl"]


@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_the_rows_in_order(name, frame, tmp_path, small_blocks):
    path = written(frame, tmp_path / name)
    found = scan(path)
    blocks = [block.frame.to_native() for block in found.batches()]
    assert len(blocks) > 5
    assert pl.concat(blocks).equals(frame)
    assert found.rows == N
    assert found.names == tuple(frame.columns)
    some = [block.frame.to_native() for block in found.batches(["y", "x"])]
    assert pl.concat(some).equals(frame.select("y", "x"))
    assert read(path).frame.to_native().equals(frame)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_depends_on_the_seed_and_not_on_the_blocks(
    name, frame, tmp_path, monkeypatch, small_blocks
):
    path = written(frame, tmp_path / name)
    one = scan(path).sample(300, seed=1).frame.to_native()
    monkeypatch.setattr(small_blocks, "BLOCK_ROWS", 333)
    monkeypatch.setattr(small_blocks, "BLOCK_BYTES", 20_000)
    assert scan(path).sample(300, seed=1).frame.to_native().equals(one)
    assert len(one) == 300
    assert not scan(path).sample(300, seed=2).frame.to_native().equals(one)


def test_a_sample_is_uniform(frame, tmp_path, small_blocks):
    numbered = frame.select(pl.int_range(N).alias("row"))
    table = scan(written(numbered, tmp_path / "folder"))
    drawn = np.concatenate(
        [table.sample(2500, seed).frame["row"].to_numpy() for seed in range(4)]
    )
    # 10,000 draws of ten tenths: counts have a standard deviation of 30 at most.
    assert np.abs(np.histogram(drawn, 10, (0, N))[0] - 1000).max() < 150


def test_a_sample_has_rows_of_every_label(frame, tmp_path, small_blocks):
    table = scan(written(frame, tmp_path / "a.csv"))
    found = table.sample(50, seed=0, target="y").frame["y"].to_list()
    assert set(found) == {"low", "high", "rare"}
    assert 50 <= len(found) <= 71
    few = table.sample(8, seed=0, target="y").frame["y"].to_list()
    assert few.count("low") >= 10  # ten of each label, though eight in all were wanted


def test_named_folders_are_columns(frame, tmp_path):
    for year in (2024, 2025):
        (tmp_path / "sales" / f"year={year}").mkdir(parents=True)
        frame[:10].write_parquet(tmp_path / "sales" / f"year={year}" / "a.parquet")
    found = read(tmp_path / "sales")
    assert found.frame["year"].to_list() == [2024] * 10 + [2025] * 10
    assert found.frame["x"].to_list() == frame["x"][:10].to_list() * 2


def test_keys_that_a_block_of_json_lacks_are_missing(tmp_path, small_blocks):
    rows = [json.dumps({"x": i, "y": i % 2} if i < 900 else {"y": i % 2}) for i in range(2000)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(rows))
    blocks = pl.concat(
        [b.frame.to_native() for b in scan(path).batches(["x", "y"])], how="vertical_relaxed"
    )
    assert blocks["x"].null_count() == 1100


@pytest.mark.parametrize("name", ["folder", "a.parquet", "a.csv", "a.jsonl"])
def test_a_table_is_scanned_if_it_is_large(name, frame, tmp_path, monkeypatch, small_blocks):
    path = written(frame, tmp_path / name)
    assert isinstance(open_table(path), Table)
    monkeypatch.setattr(small_blocks, "IN_MEMORY", 20_000)
    assert isinstance(open_table(path), Scan)


# ---------------------------------------------------------------- refusals


def test_damage_in_the_middle_of_a_folder_names_the_file(frame, tmp_path, small_blocks):
    path = written(frame, tmp_path / "folder")
    table = scan(path)
    part = path / "part-1.parquet"
    content = bytearray(part.read_bytes())
    content[4:-2000] = random.Random(1).randbytes(len(content) - 2004)  # not its end
    part.write_bytes(content)
    with pytest.raises(TableError, match=r"part-1.parquet cannot be read: .* corrupt"):
        list(table.batches())


@pytest.mark.parametrize("seed", range(8))
def test_damaged_bytes_never_end_this_process(seed, frame, tmp_path, small_blocks):
    path = written(frame, tmp_path / "a.parquet")
    content, rng = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(40):
        content[rng.randrange(4, len(content) - 4)] = rng.randrange(256)
    path.write_bytes(content)
    read, said = len(frame), "a.parquet"  # what the damage hit may be harmless
    try:
        read = sum(len(block) for block in scan(path).batches())
    except TableError as refused:
        said = str(refused)
    assert read == len(frame)
    assert "a.parquet" in said


def test_a_bomb_is_refused_and_an_honest_file_is_not(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"x": [7] * 1_000_000, "y": [1] * 1_000_000}).write_parquet(path)
    monkeypatch.setenv("ORDINALITY_MAX_UNPACKED", "1000000")
    with pytest.raises(TableError, match="unpacks to more than 200 times its compressed size"):
        scan(path)
    monkeypatch.setenv("ORDINALITY_MAX_UNPACKED", "16000000")
    assert scan(path).rows == 1_000_000
    monkeypatch.setenv("ORDINALITY_MAX_UNPACKED", "1000000")
    pl.DataFrame({"x": np.random.default_rng(0).normal(size=200_000)}).write_parquet(path)
    assert scan(path).rows == 200_000


@pytest.mark.parametrize(
    ("name", "row", "says"),
    [
        (
            "a.csv",
            "1,2,3\n",
            "has 3 cells in line 4001, more than the 2 columns that line 1",
        ),
        ("a.csv", '1,"2\n', "opens a quotation mark in line 4001 that is never closed"),
        ("a.jsonl", "{\n", "a.jsonl is broken in line 4001 "),
    ],
)
def test_a_wrong_line_is_counted_from_the_first(name, row, says, tmp_path, small_blocks):
    of_text = name == "a.csv"
    good = ["x,y\n", *["1,0\n"] * 3999] if of_text else ['{"x": 1, "y": 0}\n'] * 4000
    path = tmp_path / name
    path.write_text("".join([*good, row, *good[1:100]]))
    with pytest.raises(TableError, match=says):
        list(scan(path).batches())


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", "x,y\n1,2\n".encode("utf-16"), "is UTF-16 text and too large"),
        ("a.csv.gz", gzip.compress(b"x,y\n" + b"1,2\n" * 9000)[:-20], "truncated or corrupt"),
        ("a.parquet.gz", gzip.compress(b"PAR1"), "is compressed as a whole; unpack it"),
        ("a.parquet", b"x,y\n1,2\n", "does not begin as Parquet files do"),
    ],
    ids=["empty", "UTF-16", "cut off", "packed Parquet", "no Parquet"],
)
def test_a_file_that_cannot_be_scanned_is_refused(name, content, says, tmp_path, small_blocks):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TableError, match=says):
        list(scan(path).batches())


def test_an_unknown_column_is_refused_with_the_nearest(frame, tmp_path):
    table = scan(written(frame, tmp_path / "folder"))
    with pytest.raises(TableError, match="no column 'cuont'; did you mean 'count'"):
        list(table.batches(["cuont"]))


def test_a_row_without_an_end_is_refused(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr(small_blocks, "LONGEST_ROW", 30_000)
    path = tmp_path / "a.csv"
    path.write_text("x,y\r" + "1,2\r" * 20_000)
    with pytest.raises(TableError, match="has a row of more than .* MB, or opens a quotation"):
        list(scan(path).batches())
