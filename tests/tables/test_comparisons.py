"""Answers from tables: what is understood, what is noted, and what is refused with its row."""

import re

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from ordinality import tables
from ordinality._answer_sets import set_weight
from ordinality.tables import TableError, comparisons
from ordinality.tables.comparisons import described_items, kind_of_answers

GOOD = "left,right,winner\nRan,Ikiru,Ran\nIkiru,Solaris,tie\nSolaris,Ran,Ran\n"


def read(text, folder, kind="pairs", **more):
    path = folder / "answers.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return comparisons(tables.read(path), kind, **more)


# ---------------------------------------------------------------- what is understood


def test_names_of_items_say_who_won(tmp_path):
    found = read(GOOD, tmp_path)
    assert found.items == ("Ikiru", "Ran", "Solaris")
    assert found.pairs.tolist() == [["Ran", "Ikiru"], ["Ikiru", "Solaris"], ["Solaris", "Ran"]]
    assert found.answers.tolist() == [1, 0, -1]
    assert found.sides
    assert not found.notes


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["left", "right", "tie"], [1, -1, 0]),
        (["A", "b", "Draw"], [1, -1, 0]),
        (["model_a", "model_b", "tie (bothbad)"], [1, -1, 0]),
        (["2", "-1", "0"], [2, -1, 0]),
        (["+1", "-2.0", "both"], [1, -2, 0]),
    ],
)
def test_words_and_numbers_are_understood(words, answers):
    frame = pl.DataFrame({"a": ["x", "x", "y"], "B": ["y", "z", "z"], "Winner": words})
    assert comparisons(frame).answers.tolist() == answers


def test_items_may_be_called_like_sides_or_numbers():
    frame = pl.DataFrame({"left": ["b", "a"], "right": ["a", "b"], "winner": ["a", "a"]})
    assert comparisons(frame).answers.tolist() == [-1, 1]
    frame = pl.DataFrame({"left": [1, 2], "right": [2, 3], "winner": [1, 3]})
    assert comparisons(frame).answers.tolist() == [1, -1]
    frame = pl.DataFrame({"left": [1, 2], "right": [2, 3], "answer": [1, -1]})
    assert comparisons(frame).answers.tolist() == [1, -1]


def test_winner_and_loser_with_counts_are_as_many_answers():
    frame = pl.DataFrame({"winner": ["x", "y"], "loser": ["y", "x"], "games": [3, 1]})
    found = comparisons(frame)
    assert found.pairs.tolist() == [["x", "y"]] * 3 + [["y", "x"]]
    assert found.answers.tolist() == [1] * 4
    assert not found.sides


def test_ranks_with_gaps_and_ties_become_pairs_with_the_weight_of_their_set(tmp_path):
    text = "judge,tea,milk,soup\n1,1,5,5\n2,3,1,\n"
    found = read(text, tmp_path, "ranking")
    assert found.pairs.tolist() == [
        ["tea", "milk"], ["tea", "soup"], ["milk", "soup"], ["milk", "tea"]
    ]  # fmt: skip
    assert found.answers.tolist() == [1, 1, 0, 1]
    assert found.judges.tolist() == ["1", "1", "1", "2"]
    assert found.weights.tolist() == [0.8, 0.8, 0.8, 1.0]
    assert found.groups.tolist() == [0, 0, 0, 1]


def test_columns_of_ranks_may_hold_the_items(tmp_path):
    found = read("rank 1,rank 2,rank 3\ntea,milk,soup\nsoup,tea,\n", tmp_path, "ranking")
    assert found.pairs.tolist() == [
        ["tea", "milk"], ["tea", "soup"], ["milk", "soup"], ["soup", "tea"]
    ]  # fmt: skip
    assert found.judges.tolist() == ["row 2"] * 3 + ["row 3"]


def test_items_that_are_numbers_may_have_ranks(tmp_path):
    found = read("1,2,3\n2,1,3\n", tmp_path, "ranking")
    assert found.pairs.tolist() == [["2", "1"], ["2", "3"], ["1", "3"]]


def test_the_best_beats_all_and_all_beat_the_worst(tmp_path):
    text = "a1,a2,a3,a4,best,worst,judge\nt,m,s,w,m,s,kim\n"
    found = read(text, tmp_path, "best-worst")
    assert sorted(map(tuple, found.pairs.tolist())) == [
        ("m", "s"), ("m", "t"), ("m", "w"), ("t", "s"), ("w", "s")
    ]  # fmt: skip
    assert set(found.weights) == {0.75}
    assert set(found.judges) == {"kim"}


def test_a_choice_beats_the_other_alternatives_of_its_case(tmp_path):
    text = (
        "case,item,chosen,judge\n7,bus,0,al\n7,car,1,al\n9,bus,1,bo\n9,car,0,bo\n9,leg,0,bo\n"
    )
    found = read(text, tmp_path, "choice")
    assert found.pairs.tolist() == [["car", "bus"], ["bus", "car"], ["bus", "leg"]]
    assert found.judges.tolist() == ["al", "bo", "bo"]
    assert found.weights.tolist() == [1.0, 0.8, 0.8]


def test_ratings_are_names_and_numbers(tmp_path):
    found = read("item,stars\nx,3\ny,1\nx,\n", tmp_path, "ratings")
    names, levels = found.ratings
    assert names.tolist() == ["x", "y"]
    assert levels.tolist() == [3.0, 1.0]
    assert found.notes == ("Left out row 4 with an empty cell.",)


def test_ratings_of_weight_zero_are_left_out_and_others_count_once(tmp_path):
    text = "item,stars,weight\na,1,1\nb,2,0\nc,3,2\na,4,\n"
    found = read(text, tmp_path, "ratings")
    assert found.ratings[0].tolist() == ["a", "c", "a"]
    assert found.notes == (
        "Left out row 3 of weight 0.",
        "The weight in row 4 is taken as 1: ratings have no others.",
    )


def test_weights_of_larger_sets_go_on_from_those_that_were_measured():
    for kind, largest in (("ranking", 5), ("best-worst", 5), ("choice", 4)):
        weights = [set_weight(kind, size) for size in range(2, 12)]
        assert weights[0] == 1.0
        assert np.all(np.diff(weights) <= 0)
        before, after = set_weight(kind, largest), set_weight(kind, largest + 1)
        assert 0.75 * before < after < before


def test_items_have_names_and_features_as_numbers():
    frame = pl.DataFrame({"name": ["x", "y", "z"], "fare": [1.0, 2.0, 4.0], "by": [*"aba"]})
    table = tables.Table(nw.from_native(frame, eager_only=True))
    native, key, _ = described_items(table, "name", ["fare", "by"])
    assert key == "name"
    assert native["name"].to_list() == ["x", "y", "z"]
    assert native.drop("name").to_numpy().shape == (3, 2)


def test_a_table_of_comparisons_is_recognised_by_its_columns():
    assert kind_of_answers(["Judge", "RIGHT", "left", "winner"]) == "pairs"
    assert kind_of_answers(["winner", "loser", "games"]) == "pairs"
    assert kind_of_answers(["set", "item", "price", "Chosen"]) == "choice"
    assert kind_of_answers(["x", "y", "best", "worst"]) == "best-worst"
    assert kind_of_answers(["left", "right", "rating"]) is None


BATTLES = (
    "left,right,winner,length,prompt\n"
    "x,y,x,10,a\ny,z,tie,,a\nz,x,z,-3.5,b\nx,z,x,0,\nx,z,z,1,\n"
)


def test_covariates_are_columns_and_the_side_is_one(tmp_path):
    found = read(BATTLES, tmp_path, covariates=["side", "length"])
    assert list(found.covariates) == ["side", "length"]
    assert found.covariates["side"].tolist() == [1, 1, 1, 1]
    assert found.covariates["length"].tolist() == [10, -3.5, 0, 1]
    assert found.answers.tolist() == [1, 1, 1, -1]
    assert found.notes == ("Left out row 3 without length.",)
    own = read(BATTLES.replace("length", "side"), tmp_path, covariates=["side"])
    assert own.covariates["side"].tolist() == [10, -3.5, 0, 1]
    counted = BATTLES.replace("length", "count").replace("-3.5", "2").replace("10", "1")
    assert read(counted, tmp_path, covariates=["side"]).covariates["side"].shape == (5,)


def test_a_column_of_groups_keeps_its_values_together_and_empty_cells_apart(tmp_path):
    assert read(BATTLES, tmp_path).groups is None
    groups = read(BATTLES, tmp_path, group="prompt").groups
    assert groups[0] == groups[1]
    assert len(set(groups.tolist())) == 4
    ranks = "day,x,y,z\nmon,1,2,3\nmon,2,1,3\ntue,1,3,2\n"
    found = read(ranks, tmp_path, "ranking", group="day")
    assert found.items == ("x", "y", "z")
    assert found.groups.tolist() == [0] * 6 + [1] * 3


# ---------------------------------------------------------------- what is noted

NOTED = {
    "left equal to right": (GOOD + "Ran,Ran,Ran\n", "Left out row 5 of an item with itself"),
    "an empty item": (GOOD + "Ran,,Ran\n", "Left out row 5 with an empty cell"),
    "an empty answer": (
        GOOD + "Ran,Ikiru,\nRan,Ikiru,NA\n",
        r"2 rows \(first: row 5\) with an",
    ),
    "a repeated row": (GOOD + "Ran,Ikiru,Ran\n", "repeated in row 5; each counts"),
    "a judge without a name": (
        "left,right,winner,judge\nx,y,x,\ny,z,y,kim\n",
        r"judge is empty in row 2, .*\(not named\)",
    ),
}


@pytest.mark.parametrize(("text", "says"), NOTED.values(), ids=NOTED)
def test_rows_that_say_nothing_new_are_counted_in_a_note(tmp_path, text, says):
    found = read(text, tmp_path)
    assert len(found.notes) == 1
    assert re.search(says, found.notes[0])


# ---------------------------------------------------------------- what is refused

REFUSED = {
    "an unknown word": (GOOD + "Ran,Ikiru,lfet\n", "winner is 'lfet' in row 5 .*left, a,.*tie"),
    "another item": (GOOD + "Ran,Ikiru,Solaris\n", "'Solaris' in row 5.* 'Ran' or 'Ikiru'"),
    "a name in other letters": (GOOD + "Ran,Ikiru,ran\n", "winner is 'ran' in row 5"),
    "too strong an answer": ("left,right,answer\nx,y,1\ny,z,11\n", "answer is '11' in row 3"),
    "half an answer": ("left,right,answer\nx,y,1\ny,z,0.5\n", "answer is '0.5' in row 3"),
    "an infinite answer": ("left,right,answer\nx,y,1\ny,z,inf\n", "answer is 'inf' in row 3"),
    "words and numbers": ("left,right,winner\nx,y,left\ny,z,right\nx,z,1\n", "'1' in row 4"),
    "control characters": (
        GOOD + 20 * "Ran,Ikiru,Ran\n" + "Ran,Ikiru,\x1b[3m\n",
        r"'\\x1b\[3m' in row 25",
    ),
    "a digit of another script": (
        "left,right,answer\nx,y,1\ny,z,\u0661\n",
        "answer is '\u0661' in row 3",
    ),
    "no winner": ("left,right\nx,y\n", "no column winner or answer; it has left, right"),
    "no sides": ("winner,judge\nx,kim\n", "no column left or a, right or b"),
    "no columns at all": ("x,y,1\ny,z,0\n", "no column left or a"),
    "a header alone": ("left,right,winner\n", "names columns but has no rows"),
    "nothing": ("", "is empty"),
    "blank lines": ("\n\n\n", "is empty"),
    "one item": (
        "left,right,winner\nx,x,x\nx,x,x\n",
        r"compares nothing.*2 rows \(first: row 2",
    ),
    "only empty cells": ("left,right,winner\nx,,\n,y,\n", "compares nothing.*empty cell"),
    "duplicated columns": ("left,left,right,winner\nx,x,y,x\n", "2 columns named 'left'"),
    "columns that mean the same": (
        "left,Left,right,winner\nx,x,y,x\n",
        "'left', 'Left', which",
    ),
    "winner and answer": (
        "left,right,winner,answer\nx,y,x,1\n",
        "'winner', 'answer', which mean",
    ),
    "a weight of text": ("left,right,winner,weight\nx,y,x,much\n", "weight is 'much' in row 2"),
    "a negative weight": ("left,right,winner,weight\nx,y,x,1\ny,x,x,-2\n", "'-2' in row 3"),
    "seconds of text": (
        "left,right,winner,seconds\nx,y,x,fast\n",
        "seconds is 'fast' in row 2",
    ),
    "half a game": ("winner,loser,games\nx,y,1.5\n", "games is 1.5 in row 2"),
    "too many games": ("winner,loser,games\nx,y,1e12\n", "adds up to 1,000,000,000,000"),
    "no games": ("winner,loser,games\nx,y,0\n", "compares nothing"),
    "a short row": (GOOD + "Ran,Ikiru\n", "2 cells in line 5"),
    "an open quote": (GOOD + '"Ran,Ikiru,Ran\n', "quotation mark in line 5"),
}


@pytest.mark.parametrize(("text", "says"), REFUSED.values(), ids=REFUSED)
def test_malformed_answers_are_refused_in_one_sentence_with_the_row(tmp_path, text, says):
    with pytest.raises(TableError, match=says) as refused:
        read(text, tmp_path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


OTHERS = {
    "a rank of text": ("ranking", "tea,milk\n1,2\nx,1\n", "rank of tea is 'x' in row 3"),
    "judges without a column": (
        "ranking",
        "who,tea,milk\nkim,1,2\n",
        "rank of who is 'kim' in row",
    ),
    "one item to rank": ("ranking", "tea\n1\n", "ranks 1 item"),
    "single ranks": (
        "ranking",
        "tea,milk\n1,\n,1\n",
        r"compares nothing.*2 rows \(first: row 2",
    ),
    "an item at two ranks": ("ranking", "rank 1,rank 2\ntea,tea\n", "Row 2 .* 'tea' twice"),
    "a best that was not shown": (
        "best-worst",
        "p,q,best,worst\nx,y,z,y\n",
        "Row 2 .*'z' as best",
    ),
    "a best that is the worst": (
        "best-worst",
        "p,q,best,worst\nx,y,x,x\n",
        "Row 2 .*must differ",
    ),
    "an item shown twice": ("best-worst", "p,q,r,best,worst\nx,x,y,x,y\n", "Row 2 .*'x' twice"),
    "no worst": ("best-worst", "p,q,best\nx,y,x\n", "no column worst"),
    "nothing shown": ("best-worst", "best,worst\nx,y\n", "compares nothing"),
    "chosen by word": ("choice", "case,item,chosen\n1,x,maybe\n1,y,no\n", "'maybe' in row 2"),
    "chosen twice": ("choice", "case,item,chosen\n1,x,1\n1,y,1\n", "case 1 has 2 rows"),
    "a case without a name": (
        "choice",
        "case,item,chosen\n1,x,1\n,y,0\n",
        "case is empty in row 3",
    ),
    "no items to choose from": ("choice", "case,chosen\n1,1\n1,0\n", "no column item or"),
    "a rating of text": ("ratings", "item,rating\nx,5\ny,good\n", "rating is 'good' in row 3"),
    "one rating": ("ratings", "item,rating\nx,5\ny,5\n", "1 different value"),
    "measured ratings": (
        "ratings",
        "item,rating\n" + "".join(f"x{k},{k}.5\n" for k in range(30)),
        "30 different",
    ),
    "no rating": ("ratings", "item,judge\nx,kim\n", "no column rating or stars"),
}


@pytest.mark.parametrize(("kind", "text", "says"), OTHERS.values(), ids=OTHERS)
def test_other_malformed_formats_are_refused_in_one_sentence(tmp_path, kind, text, says):
    with pytest.raises(TableError, match=says) as refused:
        read(text, tmp_path, kind)
    assert "\n" not in str(refused.value)


def test_an_item_that_is_not_listed_is_refused_with_its_row(tmp_path):
    with pytest.raises(TableError, match=r"Row 3 .* names 'Solaris', .*one of the items"):
        read(GOOD, tmp_path, items=["Ran", "Ikiru"])
    with pytest.raises(TableError, match=r"Row 2 .*'Rann'.*did you mean 'Ran'\?"):
        read(GOOD.replace("Ran,Ikiru,Ran", "Rann,Ikiru,Rann"), tmp_path, items=["Ran", "Ikiru"])


@pytest.mark.parametrize(
    ("kind", "text", "more", "says"),
    [
        ("pairs", BATTLES, {"covariates": ["lenght"]}, "no column 'lenght'; did you mean"),
        (
            "pairs",
            BATTLES,
            {"covariates": ["tokens"]},
            "it has left, right, winner",
        ),
        ("pairs", BATTLES, {"covariates": ["prompt"]}, "prompt is 'a' in row 2"),
        ("pairs", BATTLES, {"group": "promt"}, "no column 'promt'; did you mean 'prompt'"),
        ("pairs", "winner,loser\nx,y\n", {"covariates": ["side"]}, "do not tell the side"),
        ("pairs", "left,right,winner,z\nx,y,x,\n", {"covariates": ["z"]}, "compares nothing"),
        ("ranking", "x,y\n1,2\n", {"covariates": ["side"]}, "they need a table of pairs"),
        ("ratings", "item,rating\nx,1\ny,2\n", {"group": "item"}, "none are kept together"),
    ],
)
def test_covariates_and_groups_that_are_not_there_are_refused(tmp_path, kind, text, more, says):
    with pytest.raises(TableError, match=says) as refused:
        read(text, tmp_path, kind, **more)
    assert "\n" not in str(refused.value)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="must be one of pairs, ranking"):
        comparisons(pl.DataFrame({"x": [1]}), "pair")
