"""Items by name, items and judges that come later, and models of no answers at all."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ordinality import PreferenceGP, persist
from ordinality.elicitation import (
    expected_rank_changes,
    next_pair,
    order_gain,
    top_k_members,
)

FILMS = ["Ran", "Stalker", "Solaris", "Ikiru"]
SAID = [["Ran", "Ikiru"], ["Stalker", "Solaris"], ["Ran", "Solaris"], ["Solaris", "Ikiru"]]
NUMBERS = [[FILMS.index(name) for name in pair] for pair in SAID]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def test_names_are_numbers_to_the_model():
    named, numbered = PreferenceGP(FILMS).fit(SAID), PreferenceGP(4).fit(NUMBERS)
    np.testing.assert_array_equal(named.utility().mean, numbered.utility().mean)
    np.testing.assert_array_equal(named.item_names_, FILMS)
    ask = [["Ran", "Stalker"], ["Ikiru", "Ran"]]
    np.testing.assert_array_equal(
        named.predict_proba(ask), numbered.predict_proba([[0, 1], [3, 0]])
    )
    np.testing.assert_array_equal(named.predict(ask), named.predict([[0, 1], [3, 0]]))
    np.testing.assert_array_equal(
        named.predict_choice(["Ran", "Solaris"]), numbered.predict_choice([0, 2])
    )
    mean, _ = named.posterior(["Solaris"])
    assert mean[0] == named.utility().mean[2]


def test_names_that_only_the_pairs_have_are_sorted():
    model = PreferenceGP().fit(SAID, ratings=(["Amour", "Ran"], [1, 2]))
    assert model.item_names_.tolist() == sorted([*FILMS, "Amour"])


@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_of_a_frame_has_the_names(kind):
    frame = FRAMES[kind]({"hours": [2.7, 2.7, 2.8, 2.4], "film": FILMS})
    named = PreferenceGP(frame, key="film").fit(SAID)
    plain = PreferenceGP([[2.7], [2.7], [2.8], [2.4]]).fit(NUMBERS)
    np.testing.assert_array_equal(named.rank(), plain.rank())
    assert named.relevance_.shape == (1,)
    alone = PreferenceGP(FRAMES[kind]({"film": FILMS}), key="film").fit(SAID)
    assert alone.item_names_.tolist() == FILMS


def test_questions_and_their_values_speak_of_names():
    model = PreferenceGP(FILMS).fit(SAID)
    (pair,) = next_pair(model)
    assert set(pair) <= set(FILMS)
    (other,) = next_pair(model, exclude=[pair])
    assert set(other) != set(pair)
    assert set(next_pair(model, candidates=["Ran", "Ikiru"])[0]) == {"Ran", "Ikiru"}
    numbers = [FILMS.index(name) for name in pair]
    np.testing.assert_array_equal(order_gain(model, [pair]), order_gain(model, [numbers]))
    told = model.snapshot().told([pair])
    assert set(next_pair(told)[0]) <= set(FILMS)


def test_named_models_are_saved(tmp_path):
    model = PreferenceGP(FILMS).fit(SAID)
    persist.save(model, tmp_path / "films.skops")
    again = persist.load(tmp_path / "films.skops")
    assert again.item_names_.tolist() == FILMS
    np.testing.assert_array_equal(again.predict_proba(SAID), model.predict_proba(SAID))


REFUSED = {
    "unknown": (lambda: PreferenceGP(FILMS).fit([["Ran", "Ikirru"]]), "did you mean 'Ikiru'"),
    "twice": (lambda: PreferenceGP(["a", "b", "a"]).fit([["a", "b"]]), "names 'a' twice"),
    "no column": (
        lambda: PreferenceGP(pd.DataFrame({"x": [1.0]}), key="film").fit([]),
        "no column 'film'; its columns are x",
    ),
    "no cell": (
        lambda: PreferenceGP(pd.DataFrame({"film": ["a", None]}), key="film").fit([]),
        "has an empty cell",
    ),
    "numbers": (
        lambda: PreferenceGP(pd.DataFrame({"id": [101, 205]}), key="id").fit([]),
        "column 'id' of items holds numbers, which cannot be told from row numbers",
    ),
    "text": (
        lambda: PreferenceGP(pd.DataFrame({"film": ["a"], "by": ["b"]}), key="film").fit([]),
        "column 'by' of items is not of numbers",
    ),
    "both": (
        lambda: PreferenceGP(FILMS).fit(SAID).update([], items=2),
        "some items have names and some have none",
    ),
    "known": (
        lambda: PreferenceGP(FILMS).fit(SAID).update([], items=["Ran"]),
        "names 'Ran' twice",
    ),
    "width": (
        lambda: PreferenceGP(np.eye(3)).fit([[0, 1]]).update([], items=[[1.0]]),
        "the new items have 1 features, but the others have 3",
    ),
    "gram": (
        lambda: PreferenceGP(np.eye(3), "precomputed").fit([[0, 1]]).update([], items=1),
        "covariances of their own, so that none can be added",
    ),
    "ratings": (
        lambda: PreferenceGP(3).fit([[0, 1]]).update([], ratings=([0], [1])),
        "the model was fitted without any",
    ),
    "nothing": (lambda: PreferenceGP().fit([]), "there are no items, no pairs and no ratings"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_names_that_cannot_be_used_are_refused(case):
    call, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_key_without_a_frame_is_refused():
    with pytest.raises(TypeError, match="pass a pandas or polars data frame"):
        PreferenceGP(np.eye(2), key="film").fit([])


# No answers, and what comes later


@pytest.mark.parametrize("items", [4, FILMS, np.arange(8.0).reshape(4, 2)], ids=str)
def test_no_answers_are_the_prior(items):
    model = PreferenceGP(items).fit([])
    np.testing.assert_array_equal(model.utility().mean, np.zeros(4))
    np.testing.assert_allclose(model.predict_proba([[0, 1]]), 0.5)
    assert model.log_evidence_ == 0.0
    assert next_pair(model).shape == (1, 2)
    assert expected_rank_changes(model) == pytest.approx(3.0)  # half of six pairs
    assert top_k_members(model, 2, random_state=0).sum() == pytest.approx(2.0)
    later = model.update(NUMBERS)
    at_once = PreferenceGP(items, optimizer=None).fit(NUMBERS)
    np.testing.assert_allclose(later.utility().mean, at_once.utility().mean, atol=1e-6)


def test_a_model_of_no_answers_is_saved(tmp_path):
    model = PreferenceGP(FILMS).fit([])
    persist.save(model, tmp_path / "films.skops")
    again = persist.load(tmp_path / "films.skops")
    np.testing.assert_allclose(again.predict_proba([["Ran", "Ikiru"]]), 0.5)


@pytest.mark.parametrize("points", [None, 6])
def test_items_that_come_later_are_as_if_they_had_been_there(points):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2))
    pairs = np.array([[0, 1], [2, 3], [4, 0], [1, 5], [2, 5]])
    later = np.array([[6, 0], [7, 2], [6, 7]])
    given = {"optimizer": None, "standardize": False, "inducing": points and X[:points]}
    model = PreferenceGP(X[:6], **given).fit(pairs).update(later, items=X[6:])
    whole = PreferenceGP(X, **given).fit(pairs).update(later)
    np.testing.assert_allclose(model.utility().mean, whole.utility().mean, atol=1e-9)
    np.testing.assert_allclose(model.posterior()[1], whole.posterior()[1], atol=1e-9)


def test_a_judge_who_comes_later_has_the_median_noise_and_is_then_known():
    rng = np.random.default_rng(1)
    pairs = np.array([rng.choice(6, 2, replace=False) for _ in range(60)])
    answers = np.where(pairs[:, 0] < pairs[:, 1], 1, -1)
    judges = np.repeat(["ann", "bob", "cid"], 20)
    answers[20:40] = rng.choice([-1, 1], 20)
    model = PreferenceGP(6, ties=True).fit(
        pairs, answers, judges=judges, ratings=(np.arange(6), [1, 1, 2, 2, 3, 3])
    )
    before, stars = model.noise_.copy(), model.predict_ratings().copy()
    model.update([[0, 5]], [1], judges=["dan"], ratings=([2], [3]))
    assert model.judges_.tolist() == ["ann", "bob", "cid", "dan"]
    np.testing.assert_allclose(model.noise_, [*before, np.median(before)])
    assert model.predict_ratings()[2, 2] > stars[2, 2]
    assert next_pair(model, judge="dan").shape == (1, 2)
