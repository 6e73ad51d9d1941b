"""Grouping columns: found by name or number, never cast, refused in one sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from ordinality.cumulative.group_factor import Term
from ordinality.estimators.random_terms import check_sizes, find_terms, without_groups

TABLE = {
    "temp": [1.0, 2.0, 0.5, 4.0],
    "judge": ["ann", "bob", "ann", "cy"],
    "item": [7, 3, 3, 7],
}
FRAMES = {
    "pandas": pd.DataFrame(TABLE),
    "polars": pl.DataFrame(TABLE),
    "objects": np.array(list(zip(*TABLE.values(), strict=True)), dtype=object),
}

each_frame = pytest.mark.parametrize("X", FRAMES.values(), ids=FRAMES)


@each_frame
@pytest.mark.parametrize("random", [1, [1], -2])
def test_a_grouping_column_keeps_its_labels(X, random):
    (term,) = find_terms(random, X)
    assert term.groups.tolist() == ["ann", "bob", "cy"]
    assert_array_equal(term.read(X).groups, [0, 1, 0, 2])
    assert_array_equal(term.read(X).design, np.ones((4, 1)))
    numbers = np.asarray(without_groups(X, [term]), dtype=float)
    assert_array_equal(numbers, np.column_stack([TABLE["temp"], np.zeros(4), TABLE["item"]]))


@each_frame
def test_a_pair_is_an_intercept_and_a_slope(X):
    named = X if not hasattr(X, "columns") else None
    judge, item = find_terms(
        [(1, 0), 2] if named is not None else [("judge", "temp"), "item"], X
    )
    assert_array_equal(judge.read(X).design, np.column_stack([np.ones(4), TABLE["temp"]]))
    assert judge.effects == ("intercept", judge.names[1])
    assert len(judge.parameter_names) == 3
    assert_array_equal(item.read(X).groups, [1, 0, 0, 1])


def test_names_of_parameters_say_what_they_are():
    (term,) = find_terms([("judge", "temp")], FRAMES["pandas"])
    assert term.parameter_names == [
        "judge: log sd(intercept)",
        "judge: temp on intercept",
        "judge: log sd(temp | intercept)",
    ]


def test_a_group_never_seen_is_minus_one():
    (term,) = find_terms("judge", FRAMES["pandas"])
    X = FRAMES["pandas"].assign(judge=["zoe", "bob", "aaa", "cy"])
    assert_array_equal(term.read(X).groups, [-1, 1, -1, 2])
    (term,) = find_terms("item", FRAMES["pandas"])
    assert_array_equal(
        term.read(FRAMES["pandas"].assign(item=[3, 4, 99, -1])).groups, [0, -1, -1, -1]
    )


def test_a_categorical_column_groups_rows():
    X = FRAMES["pandas"].assign(judge=pd.Categorical(TABLE["judge"]))
    (term,) = find_terms("judge", X)
    assert_array_equal(term.read(X).groups, [0, 1, 0, 2])


@pytest.mark.parametrize(
    ("random", "message"),
    [
        ("jugde", "'jugde', which X does not have; its columns are 'temp', 'judge', 'item'"),
        (3, "column 3, which X does not have"),
        (True, "column True"),
        (None, "column None"),
        ([("judge",), "judge"], "'judge' twice"),
        ([("judge", "item"), "item"], "slope of a grouping column"),
        ([("judge", "judge")], "slope of a grouping column"),
        ([()], "empty tuple"),
    ],
)
def test_what_names_no_term_is_said(random, message):
    with pytest.raises(ValueError, match=message):
        find_terms(random, FRAMES["pandas"])


def test_missing_groups_and_text_in_a_slope_are_said():
    X = FRAMES["pandas"].assign(judge=["ann", None, "ann", "cy"])
    with pytest.raises(
        ValueError, match="grouping column 'judge' contains (None|nan) at position 1"
    ):
        find_terms("judge", X)
    X = FRAMES["pandas"].assign(item=[1.0, np.nan, 2.0, 2.0])
    with pytest.raises(ValueError, match="grouping column 'item' contains nan at position 1"):
        find_terms("item", X)
    (term,) = find_terms([("item", "judge")], FRAMES["pandas"])
    with pytest.raises(ValueError, match="'judge' has a random slope but holds text"):
        term.read(FRAMES["pandas"])
    with pytest.raises(ValueError, match="only one group"):
        find_terms("item", FRAMES["pandas"].assign(item=1))


def test_numbers_where_text_was_fitted_are_said():
    (term,) = find_terms("judge", FRAMES["pandas"])
    with pytest.raises(ValueError, match="holds numbers, but held text"):
        term.read(FRAMES["pandas"].assign(judge=[1, 2, 3, 4]))


def test_too_many_crossed_effects_are_refused():
    n = 20_000
    terms = [Term(np.arange(n) % G, np.ones((n, 1)), G) for G in (10_000, 7_000)]
    with pytest.raises(ValueError, match="17000 values, 7000 of them outside the largest term"):
        check_sizes(terms)
    check_sizes(terms[:1])
