"""From tables of choices and of ranks to comparisons, and from there to a model in one call."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from ordinality import PreferenceGP
from ordinality.tables import (
    Table,
    TableError,
    choices_to_pairs,
    rankings_to_pairs,
    read,
)

FRAMES = pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"]
)

TRIPS = {
    "case": ["mon", "mon", "mon", "tue", "tue", "wed", "wed"],
    "minutes": [20, 25, 40, 20, 30, 25, 30],
    "kind": ["tram", "bus", "walk", "tram", "bus", "bus", "bus"],
    "chosen": [0, 1, 0, 0, 1, 1, 0],
}
RANKS = {"tea": [1, 2, 1], "coffee": [2, 1, 3], "milk": [3, None, 2]}


def changed(**columns):
    return pl.DataFrame({**TRIPS, **columns})


# Choices


@FRAMES
def test_the_chosen_alternative_is_preferred_to_each_other_of_its_case(frame):
    found = choices_to_pairs(frame(TRIPS))
    # Rows 3 and 5 are rows 0 and 1 again, and row 6 is row 4: four items.
    np.testing.assert_array_equal(found.pairs, [[1, 0], [1, 2], [3, 0], [1, 3]])
    np.testing.assert_array_equal(found.answers, [1, 1, 1, 1])
    assert found.cases.tolist() == ["mon", "mon", "tue", "wed"]
    assert found.features == ("minutes", "kind = bus", "kind = tram", "kind = walk")
    np.testing.assert_array_equal(found.items[3], [30, 1, 0, 0])
    assert found.names == (0, 1, 2, 4)  # where they first stand
    assert found.notes == ("Encoded kind as 3 categories.",)


@FRAMES
def test_a_model_can_be_fitted_to_the_comparisons(frame):
    found = choices_to_pairs(frame(TRIPS))
    model = PreferenceGP(found.items).fit(found.pairs)
    assert model.predict(found.pairs).tolist() == [1, 1, 1, 1]
    model = PreferenceGP(found.items).fit(found.pairs, found.answers, judges=found.cases)
    assert model.judges_.tolist() == ["mon", "tue", "wed"]


@FRAMES
def test_further_alternatives_are_encoded_like_those_learnt_from(frame):
    found = choices_to_pairs(frame(TRIPS))
    coming = frame({"kind": ["walk", "bus"], "day": ["thu", "thu"], "minutes": [25, 35]})
    X = found.encoded(coming)
    np.testing.assert_array_equal(X, [[25, 0, 0, 1], [35, 1, 0, 0]])
    chance = PreferenceGP(found.items).fit(found.pairs).predict_choice(X)
    assert chance[1] > 0.5  # buses were taken, walks were not
    again = found.encoded(frame({name: TRIPS[name] for name in ("minutes", "kind")}))
    np.testing.assert_array_equal(again[list(found.names)], found.items)


@FRAMES
def test_values_not_seen_before_are_reported_in_a_warning(frame):
    found = choices_to_pairs(frame(TRIPS))
    with pytest.warns(UserWarning, match="'boat', not seen in training"):
        X = found.encoded(frame({"minutes": [50], "kind": ["boat"]}))
    np.testing.assert_array_equal(X, [[50, 0, 0, 0]])
    with pytest.raises(TableError, match="minutes"):
        found.encoded(frame({"kind": ["bus"]}))
    with pytest.raises(TableError, match="no features; refer to them by their numbers"):
        choices_to_pairs(frame(TRIPS), item="kind", features=[]).encoded(frame(TRIPS))


@FRAMES
@pytest.mark.parametrize("truth", [[0, 1], [False, True], [0.0, 1.0]], ids=str)
def test_the_choice_may_be_a_truth_value_or_a_number(frame, truth):
    said = frame({**TRIPS, "chosen": [truth[c] for c in TRIPS["chosen"]]})
    np.testing.assert_array_equal(
        choices_to_pairs(said).pairs, choices_to_pairs(frame(TRIPS)).pairs
    )


@FRAMES
def test_a_missing_feature_is_marked_and_its_item_kept(frame):
    found = choices_to_pairs(frame({**TRIPS, "minutes": [20, None, 40, 20, 30, None, 30]}))
    assert found.features[:2] == ("minutes", "minutes missing")
    np.testing.assert_array_equal(found.items[1, :2], [30, 1])  # the median, and a mark
    assert found.notes[0].startswith("minutes is missing in 2 rows")


@FRAMES
def test_items_may_be_named_and_have_no_features(frame):
    table = frame({k: TRIPS[k][:5] for k in ("case", "kind", "chosen")})
    found = choices_to_pairs(table, item="kind")
    assert found.items == 3
    assert found.names == ("tram", "bus", "walk")
    np.testing.assert_array_equal(found.pairs, [[1, 0], [1, 2], [1, 0]])
    assert PreferenceGP(found.items).fit(found.pairs).rank()[1] == 1
    wide = frame({k: v[:5] for k, v in TRIPS.items()})
    np.testing.assert_array_equal(
        choices_to_pairs(wide, item="kind", features=[]).pairs, found.pairs
    )


@FRAMES
def test_named_items_keep_their_features(frame):
    table = frame({**{k: v[:4] for k, v in TRIPS.items()}, "chosen": [0, 1, 0, 1]})
    found = choices_to_pairs(table, item="kind", features=["minutes"])
    np.testing.assert_array_equal(found.items, [[20], [25], [40]])
    assert found.notes == ("Learnt nothing from 1 case with one alternative.",)


def test_rows_of_a_case_need_not_be_adjacent():
    order = [4, 0, 6, 2, 3, 1, 5]
    mixed = pl.DataFrame({k: [v[i] for i in order] for k, v in TRIPS.items()})
    one, other = choices_to_pairs(pl.DataFrame(TRIPS)), choices_to_pairs(mixed)

    def said(c):
        return sorted(
            (str(case), *c.items[p].ravel()) for case, p in zip(c.cases, c.pairs, strict=True)
        )

    assert said(one) == said(other)


def test_an_alternative_equal_to_the_chosen_one_is_not_compared():
    found = choices_to_pairs(
        changed(minutes=[25, 25, 40, 20, 30, 25, 30]), features=["minutes"]
    )
    assert len(found.pairs) == 3
    assert found.notes == ("Left out 1 comparison of a chosen alternative with an equal one.",)


def test_a_file_that_was_read_is_a_table_too(tmp_path):
    path = tmp_path / "trips.csv"
    pl.DataFrame(TRIPS).write_csv(path)
    assert len(choices_to_pairs(read(path)).pairs) == 4
    with pytest.raises(TableError, match=r"trips.csv has no column 'day'; it has case, min"):
        choices_to_pairs(read(path), case="day")


@pytest.mark.parametrize(
    ("columns", "settings", "sentence"),
    [
        ({"chosen": [0, 0, 0, 0, 1, 1, 0]}, {}, "case 'mon' has no row that was chosen"),
        ({"chosen": [0, 1, 1, 0, 1, 1, 0]}, {}, "case 'mon' has 2 rows that were chosen"),
        ({"chosen": [0, 2, 0, 0, 1, 1, 0]}, {}, r"chosen holds 2; it must be 1 \(or true\)"),
        ({"chosen": [0, None, 0, 0, 1, 1, 0]}, {}, "chosen holds None; it must be 1"),
        ({"chosen": ["n", "y", "n", "n", "y", "y", "n"]}, {}, "chosen holds 'n'; it must"),
        (
            {"case": ["mon", None, "mon", "tue", "tue", "wed", "wed"]},
            {},
            "case is empty in row 2",
        ),
        (
            {"minutes": [20.0, np.inf, 40.0, 20.0, 30.0, 25.0, 30.0]},
            {},
            "minutes is infinite in row 2",
        ),
        (
            {"minutes": [9] * 7},
            {"features": ["minutes"]},
            r"No column is left to tell alternatives apart \(left out minutes",
        ),
        ({}, {"chosen": "choice"}, "no column 'choice'; did you mean 'chosen'"),
        ({}, {"item": "mode"}, "no column 'mode'"),
        ({}, {"features": ["speed"]}, "no column 'speed'"),
        ({}, {"item": "kind"}, "minutes of kind 'bus' differs between rows 2 and 5; leave"),
        ({}, {"features": []}, "no features and no column of items; name one of them"),
        ({"case": range(7), "chosen": [1] * 7}, {"features": ["minutes"]}, "compares nothing"),
    ],
)
def test_a_malformed_table_of_choices_is_refused_in_a_sentence(columns, settings, sentence):
    with pytest.raises(TableError, match=sentence):
        choices_to_pairs(changed(**columns), **settings)


@pytest.mark.parametrize("reader", [choices_to_pairs, rankings_to_pairs])
def test_what_is_not_a_table_is_refused(reader):
    with pytest.raises(
        TypeError, match="table is a list; expected a DataFrame of pandas or polars"
    ):
        reader([[1, 2], [2, 1]])


# Rankings


@FRAMES
def test_every_two_ranked_items_are_compared(frame):
    found = rankings_to_pairs(frame(RANKS))
    assert (found.items, found.names) == (3, ("tea", "coffee", "milk"))
    np.testing.assert_array_equal(
        found.pairs, [[0, 1], [0, 2], [1, 2], [1, 0], [0, 2], [0, 1], [2, 1]]
    )
    np.testing.assert_array_equal(found.answers, 1)
    np.testing.assert_array_equal(found.cases, [0, 0, 0, 1, 2, 2, 2])
    model = PreferenceGP(found.items).fit(found.pairs, found.answers)
    assert model.rank().tolist() == [1, 2, 3]


@FRAMES
def test_scores_are_ranks_from_the_other_end(frame):
    scores = frame({name: [None if r is None else -r for r in v] for name, v in RANKS.items()})
    one, other = rankings_to_pairs(frame(RANKS)), rankings_to_pairs(scores, best="highest")
    np.testing.assert_array_equal(one.pairs, other.pairs)


def test_neighbours_alone_make_fewer_comparisons():
    ranks = pl.DataFrame({"a": [1], "b": [2], "c": [2], "d": [4]})
    found = rankings_to_pairs(ranks, neighbours=True, ties=True)
    assert found.pairs.tolist() == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert found.answers.tolist() == [1, 1, 0, 1, 1]


def test_equal_ranks_are_ties_on_request():
    ranks = pl.DataFrame({"a": [1, 1, 1], "b": [1, 2, 2], "c": [3, 3, 2]})
    without = rankings_to_pairs(ranks)
    assert without.notes == ("Left out 2 comparisons of items with equal ranks.",)
    assert len(without.pairs) == 7
    found = rankings_to_pairs(ranks, ties=True)
    assert np.sum(found.answers == 0) == 2
    model = PreferenceGP(found.items, ties=True).fit(found.pairs, found.answers)
    assert model.rank().tolist() == [1, 2, 3]


def test_columns_of_ranks_are_named_where_there_are_others():
    table = pl.DataFrame({"who": ["ann", "bob", "eve"], **RANKS})
    with pytest.raises(TableError, match="who holds String values; ranks are numbers. Name"):
        rankings_to_pairs(table)
    found = rankings_to_pairs(table, ["milk", "tea"])
    assert found.names == ("milk", "tea")
    np.testing.assert_array_equal(found.pairs, [[1, 0], [1, 0]])


@pytest.mark.parametrize(
    ("columns", "settings", "sentence"),
    [
        (RANKS, {"columns": ["tea", "cocoa"]}, "no column 'cocoa'; it has tea, coffee, milk"),
        (RANKS, {"columns": ["tea"]}, "has 1 column of ranks; at least two are needed"),
        ({"a": [1, None], "b": [None, 1]}, {}, "compares nothing: no pair is left"),
        ({"a": [1, 2], "b": [1, 2]}, {}, "no pair is left to learn from. Left out 2 comp"),
        ({"a": [], "b": []}, {}, "has no rows"),
    ],
)
def test_a_malformed_table_of_ranks_is_refused_in_a_sentence(columns, settings, sentence):
    with pytest.raises(TableError, match=sentence):
        rankings_to_pairs(Table(nw.from_native(pl.DataFrame(columns))), **settings)


def test_notes_of_reading_are_kept_without_features():
    choices = Table(nw.from_native(pl.DataFrame(TRIPS)), notes=("Read it.",))
    assert choices_to_pairs(choices, item="kind", features=[]).notes[0] == "Read it."
    ranks = Table(nw.from_native(pl.DataFrame(RANKS)), notes=("Read it.",))
    assert rankings_to_pairs(ranks).notes == ("Read it.",)


def test_best_is_lowest_or_highest():
    with pytest.raises(ValueError, match="best is 'first'; it must be 'lowest' or 'highest'"):
        rankings_to_pairs(pl.DataFrame(RANKS), best="first")
