"""The process behind the export: its two files are those of the ranking."""

import numpy as np
import polars as pl

import ordinality
from ordinality.panel import rank_answers
from ordinality.panel.ranking_process import rank_into

PAIRS = [["tea", "milk"], ["tea", "coffee"], ["coffee", "milk"], ["milk", "water"]] * 5
GIVEN = {"pairs": PAIRS, "answers": [1, 1, 1, -1] * 5, "judges": ["a", "b"] * 10, "top": 2}


def assert_same_posterior(found, expected):
    for one, other in zip(found.posterior(), expected.posterior(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_the_files_are_those_of_the_ranking_of_the_same_answers(tmp_path):
    rank_into(tmp_path, {name: {} for name in ("tea", "milk", "coffee", "water")}, GIVEN)
    expected = rank_answers(**GIVEN)
    assert_same_posterior(ordinality.load(tmp_path / "model.skops"), expected.model)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert report.index(expected.items[0].item) < report.index(expected.items[-1].item)


def test_a_feature_that_an_item_lacks_is_nothing(tmp_path):
    items = {"tea": {"hot": 1.0}, "milk": {}, "coffee": {"hot": 1.0}, "water": {}}
    frame = pl.DataFrame({"name": list(items), "hot": [1.0, 0.0, 1.0, 0.0]})
    rank_into(tmp_path, items, GIVEN)
    expected = rank_answers(**GIVEN, items=frame, key="name")
    assert_same_posterior(ordinality.load(tmp_path / "model.skops"), expected.model)
