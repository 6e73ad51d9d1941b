"""A store gives every row that can be read, and reports every line that cannot."""

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
