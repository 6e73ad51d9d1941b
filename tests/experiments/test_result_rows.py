"""A store gives every row that can be read, and reports every line that cannot."""

import gzip
import json
import re

import numpy as np
import pytest

from ordinality.experiments.result_rows import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "rows.jsonl")


def row_of(partition, **more):
    return {"experiment": "e", "set": "s", "partition": partition, "method": "m",
            "settings": {}, "metrics": {"x": partition}, **more}  # fmt: skip


DEEP = 100_000
ODD = {
    "metrics that are null": (row_of(9, metrics=None), "metrics is null, not an object"),
    "metrics that are a list": (row_of(9, metrics=[1]), r"metrics is \[1\], not an object"),
    "metrics that are text": (row_of(9, metrics="low"), 'metrics is "low", not an object'),
    "a metric that is text": (row_of(9, metrics={"x": "low"}), 'metric x is "low", not a'),
    "a metric that is an object": (row_of(9, metrics={"x": {}}), "metric x is {}, not a"),
    "a number beyond all numbers": (
        '{"metrics": {"x": 1e999}}',
        "1e999 is not a finite number",
    ),
    "a bare NaN": ('{"metrics": {"x": NaN}}', "NaN is not a finite number"),
    "a number of 5000 digits": (f'{{"x": {"9" * 5000}}}', "a number of 5000 digits"),
    "deep nesting": ("[" * DEEP + "]" * DEEP, "it is nested too deeply"),
    "settings that are a list": (row_of(9, settings=[]), r"settings is \[\], not an object"),
    "a partition that is true": (row_of(True), "partition is true, not a number"),
    "a partition that is a fraction": (row_of(1.5), "partition is 1.5, not a number"),
    "a partition that is huge": (row_of(10**20), "partition is 10000000000000000000..., not"),
    "a set that is a list": (row_of(9, set=["a"]), r'set is \["a"\], not text'),
    "no method": (row_of(9, method=None), "method is null, not text"),
    "an error that is text": (row_of(9, error="oh"), 'error is "oh", not an object'),
    "one key twice": ('{"set": "a", "set": "b"}', "a key occurs twice"),
    "no outcome": ({**row_of(9), "metrics": ...}, "neither metrics nor an error"),
    "a torn line": (json.dumps(row_of(9))[:40], "torn or corrupt"),
    "bytes that are not text": ("\udcff\udcfe", "torn or corrupt"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_line_is_reported_and_costs_no_other_row(store, name):
    odd, says = ODD[name]
    if isinstance(odd, dict):
        odd = json.dumps({key: value for key, value in odd.items() if value is not ...})
    whole = [json.dumps(row_of(1)), odd, json.dumps(row_of(2))]
    store.path.write_bytes("\n".join(whole).encode("utf-8", "surrogateescape") + b"\n")
    assert [row["partition"] for row in store.rows().values()] == [1, 2]
    (problem,) = store.problems
    assert re.fullmatch(
        f"{re.escape(str(store.path))}, line 2: .*{says}.* is left out.", problem
    )
    with store.writing() as append:  # nothing of it is lost
        append(row_of(3))
    assert len(store.path.read_bytes().splitlines()) == 4


def test_an_unfinished_last_line_is_no_problem_and_an_odd_one_is(store):
    store.path.write_text(json.dumps(row_of(1)) + "\n" + json.dumps(row_of(2))[:-9])
    assert len(store.rows()) == 1
    assert store.problems == []
    store.path.write_text(json.dumps(row_of(1)) + "\n" + json.dumps(row_of(2, metrics=None)))
    assert len(store.rows()) == 1
    assert len(store.problems) == 1


def test_infinite_metrics_are_read_as_they_were_written(store):
    with store.writing() as append:
        append(row_of(1, metrics={"x": np.inf, "y": [np.float64(-np.inf), 1], "z": None}))
    (row,) = store.rows().values()
    assert row["metrics"] == {"x": np.inf, "y": [-np.inf, 1], "z": None}
    assert store.problems == []


def test_a_row_that_could_not_be_read_again_is_not_written(store):
    with store.writing() as append, pytest.raises(ValueError, match="metric x is"):
        append(row_of(1, metrics={"x": "low"}))
    assert store.path.read_bytes() == b""


# ------------------------------------------------------------------------------ packing


def fill(store, *partitions, **more):
    with store.writing() as append:
        for partition in partitions:
            append(row_of(partition, **more))


def partitions(store):
    return [row["partition"] for row in store.rows().values()]


def test_packed_rows_and_those_appended_since_are_one_store(store):
    fill(store, 1, 2)
    before = store.rows()
    assert store.pack() == 2
    assert store.rows() == before
    assert not store.path.exists()
    fill(store, 3)
    fill(store, 2, metrics={"x": 9})  # computed again: the later row is taken
    assert [row["metrics"]["x"] for row in store.rows().values()] == [1, 9, 3]
    assert store.pack() == 3
    assert [row["metrics"]["x"] for row in store.rows().values()] == [1, 9, 3]


def test_equal_rows_give_equal_bytes_in_whatever_order_they_were_computed(tmp_path):
    one, two = Store(tmp_path / "a" / "one.jsonl"), Store(tmp_path / "two.jsonl")
    fill(one, 3, 1, 2)
    fill(two, 1)
    two.pack()
    fill(two, 2, 3)
    one.pack(), two.pack()
    assert one.packed.read_bytes() == two.packed.read_bytes()
    again = one.packed.read_bytes()
    one.pack()
    assert one.packed.read_bytes() == again
    assert again[3:8] == bytes(5)  # no flags (so no name) and no time in the header


def test_packing_that_was_killed_loses_nothing(store):
    fill(store, 1, 2)
    plain = store.path.read_bytes()
    store.pack()
    packed = store.packed.read_bytes()
    store.path.write_bytes(plain + b'{"experiment": "e", "se')  # as before the plain file went
    assert partitions(store) == [1, 2]
    assert store.problems == []
    store.pack()
    assert store.packed.read_bytes() == packed


def test_a_file_with_an_odd_line_is_read_and_not_packed(store):
    fill(store, 1)
    store.path.write_bytes(store.path.read_bytes() + b"odd\n" + b"{}\n")
    content = store.path.read_bytes()
    with pytest.raises(ValueError, match=r"line 2: .* Remove what is not a row .*\(2 in all\)"):
        store.pack()
    assert store.path.read_bytes() == content
    assert not store.packed.exists()
    store.packed.write_bytes(gzip.compress(content))
    store.path.unlink()
    assert partitions(store) == [1]
    assert store.problems[0].startswith(f"{store.packed}, line 2:")


@pytest.mark.parametrize("damage", [lambda b: b[:-20], lambda b: b[:30] + b"x" * 40 + b[70:]])
def test_a_damaged_compressed_file_is_reported_and_never_replaced(store, damage):
    fill(store, *range(1, 30))
    store.pack()
    store.packed.write_bytes(broken := damage(store.packed.read_bytes()))
    fill(store, 99)
    assert 99 in partitions(store)
    assert any("is truncated or corrupt" in problem for problem in store.problems)
    with pytest.raises(ValueError, match="Remove what is not a row"):
        store.pack()
    assert store.packed.read_bytes() == broken


def test_nothing_is_packed_while_another_run_writes(store):
    fill(store, 1)
    with store.writing() as append:
        append(row_of(2))
        with pytest.raises(ValueError, match="another run is writing"):
            Store(store.path).pack()
    assert partitions(store) == [1, 2]


def test_a_store_without_rows_is_packed_into_nothing(store):
    assert store.pack() == 0
    assert not store.path.exists()
    assert not store.packed.exists()
