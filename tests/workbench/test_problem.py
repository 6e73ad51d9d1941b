import numpy as np
import pandas
import pytest
from sklearn.base import clone

from ordinality.workbench import NoOrderError, folds, model, problem_of
from ordinality.workbench.problem import build_pipeline, level_proba

LEVELS = ["none", "some", "full"]


def test_every_row_is_tested_once_in_each_repeat(problem):
    splits = folds(problem, n_splits=5, repeats=2, seed=1)
    assert len(splits) == 10
    for repeat in (splits[:5], splits[5:]):
        assert sorted(np.concatenate([test for _, test in repeat])) == list(range(len(problem)))
    assert any(
        not np.array_equal(a[1], b[1]) for a, b in zip(splits[:5], splits[5:], strict=True)
    )


def test_the_same_seed_gives_the_same_folds(problem):
    for first, second in zip(folds(problem, seed=4), folds(problem, seed=4), strict=True):
        np.testing.assert_array_equal(first[1], second[1])


def test_rows_of_a_group_stay_in_one_fold(frame):
    problem = problem_of(frame, "effect", order=LEVELS, group="patient")
    for train, test in folds(problem, n_splits=5):
        assert not set(problem.groups[train]) & set(problem.groups[test])


def test_a_single_group_is_refused(frame):
    alone = frame.with_columns(patient=np.repeat("p", len(frame)))
    with pytest.raises(ValueError, match="patient has only the group p"):
        problem_of(alone, "effect", order=LEVELS, group="patient")


def test_a_level_with_one_row_does_not_stop_the_folds(frame):
    rare = frame.with_columns(effect=np.array(["none", *["some"] * (len(frame) - 1)]))
    problem = problem_of(rare, "effect", order=["none", "some"])
    assert len(folds(problem, n_splits=5)) == 5


def test_fewer_rows_of_every_level_than_folds_give_fewer_folds(frame):
    few = frame[[int(np.argmax(frame["effect"].to_numpy() == level)) for level in LEVELS] * 2]
    problem = problem_of(few, "effect", order=LEVELS, features=["dose"])
    assert len(folds(problem)) == 2


def test_text_without_an_order_is_refused_with_a_suggestion(frame):
    graded = frame.with_columns(effect=frame["effect"].replace({"some": "mid", "full": "high"}))
    graded = graded.with_columns(effect=graded["effect"].replace({"none": "low"}))
    with pytest.raises(NoOrderError, match="low.*mid.*high") as asked:
        problem_of(graded, "effect")
    assert asked.value.labels == ["low", "mid", "high"]
    assert asked.value.family


def test_labels_of_no_known_scale_are_listed_without_a_suggestion(frame):
    odd = frame.with_columns(effect=frame["effect"].replace({"some": "blue"}))
    with pytest.raises(NoOrderError) as asked:
        problem_of(odd, "effect")
    assert asked.value.family == ""
    assert asked.value.labels == ["blue", "full", "none"]


def test_an_order_typed_as_text_becomes_the_numbers_of_the_labels(frame):
    numbered = frame.with_columns(effect=np.arange(len(frame)) % 3)
    problem = problem_of(numbered, "effect", order=["2", "1", "0"])
    assert problem.order.levels.tolist() == [2, 1, 0]
    with pytest.raises(ValueError, match="the labels are numbers such as 0"):
        problem_of(numbered, "effect", order=["a", "b", "c"])


def test_an_order_without_one_of_the_labels_is_refused(frame):
    with pytest.raises(ValueError, match="effect holds 'full', .* add it to `order`"):
        problem_of(frame, "effect", order=["none", "some"])


def test_pandas_and_polars_give_the_same_predictions(frame):
    same = pandas.DataFrame({name: frame[name].to_list() for name in frame.columns})
    proba = []
    for table in (frame, same):
        problem = problem_of(table, "effect", order=LEVELS, features=["dose", "site"])
        pipeline = problem.fitted(clone(build_pipeline(model("linear"), problem)))
        proba.append(level_proba(pipeline, problem.frame))
    np.testing.assert_array_equal(*proba)


def test_counts_become_rows(frame):
    problem = problem_of(frame, "effect", order=LEVELS, features=["dose"], counts="weight")
    assert len(problem) == frame["weight"].sum()
    assert problem.weights is None
    expected = np.repeat(frame["dose"].to_numpy(), frame["weight"].to_numpy())
    np.testing.assert_array_equal(problem.frame["dose"].to_numpy(), expected)
    assert problem.notes[-1] == "Repeated each row as often as weight says."


def test_counts_that_are_not_whole_are_refused(frame):
    with pytest.raises(ValueError, match="dose holds .*; counts are whole numbers"):
        problem_of(frame, "effect", order=LEVELS, features=["site"], counts="dose")
    many = frame.with_columns(weight=np.full(len(frame), 10**6))
    with pytest.raises(ValueError, match="weight adds up to 90,000,000 cases"):
        problem_of(many, "effect", order=LEVELS, features=["site"], counts="weight")
    with pytest.raises(ValueError, match="`weights` and `counts` are both given"):
        problem_of(frame, "effect", order=LEVELS, weights="weight", counts="weight")


def test_weights_reach_the_model(frame):
    options = {"order": LEVELS, "features": ["dose"]}
    plain = problem_of(frame, "effect", **options)
    heavy = problem_of(frame, "effect", weights="weight", **options)
    proba = [
        level_proba(one.fitted(build_pipeline(model("linear"), one)), one.frame)
        for one in (plain, heavy)
    ]
    assert np.abs(proba[0] - proba[1]).max() > 1e-4


def test_labels_that_are_codes_of_another_order_are_refused_by_the_name_of_the_column(frame):
    numbered = frame.with_columns(effect=np.arange(len(frame)) % 3)
    with pytest.raises(ValueError, match="effect holds 0, which is not in the order 1 < 2 < 3"):
        problem_of(numbered, "effect", order=["1", "2", "3"])


def test_labels_that_are_fractions_need_an_order(frame):
    halves = frame.with_columns(effect=np.arange(len(frame)) % 3 / 2)
    with pytest.raises(ValueError, match="effect holds 0.5, which is not a whole number"):
        problem_of(halves, "effect")
    assert len(problem_of(halves, "effect", order=[0.0, 0.5, 1.0])) == len(frame)
