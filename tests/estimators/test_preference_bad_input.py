"""What PreferenceGP cannot learn from is refused with what was found, wanted and to do."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ordinality import PreferenceGP
from ordinality.estimators.preference_data import Answers
from ordinality.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(6, 2))
PAIRS = np.array([[0, 1], [1, 2], [3, 4], [5, 0], [2, 4], [3, 1]])
ANSWERS = np.array([1, -1, 1, 1, -1, 1])


def refused(message, error=ValueError):
    return pytest.raises(error, match=f"(?s){message}")


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (PAIRS.ravel(), r"pairs has shape \(12,\); wanted \(m, 2\)"),
        (PAIRS[:, [0, 1, 1]], r"pairs has shape \(6, 3\)"),
        ([[0, 6]], "name item 6, .*there are 6 items; use the row numbers"),
        ([[0, -1]], "name item -1"),
        ([[0.5, 1]], "name item 0.5, but items are numbered by whole numbers"),
        ([[np.nan, 1]], "name item nan"),
        ([["a", "b"]], "must hold item numbers.*'a'.*look names up first"),
        ([[0, 1], [2, 2]], "row 1 of pairs compares item 2 with itself.*drop such rows"),
        (np.empty((0, 2)), "no pairs and no ratings, .*; pass at least one"),
    ],
    ids=[
        "flat",
        "wide",
        "beyond",
        "negative",
        "fraction",
        "missing",
        "names",
        "itself",
        "none",
    ],
)
def test_what_are_no_pairs_of_items_is_refused(pairs, message):
    with refused(message):
        PreferenceGP(X).fit(pairs)


@pytest.mark.parametrize(
    ("answers", "settings", "message"),
    [
        (ANSWERS[:4], {}, r"answers has shape \(4,\), but there are 6 pairs"),
        (ANSWERS * [1, 1, 1, 0, 1, 1], {}, "hold 0, which is a tie: pass ties=True"),
        (2 * ANSWERS, {}, r"answers hold 2, but .* is -1, \+1; pass grades=2"),
        (2 * ANSWERS, {"ties": True}, r"is -1, 0, \+1; pass grades=2"),
        (0.5 * ANSWERS, {}, r"hold 0.5, .*\+1 says that the first"),
        (ANSWERS + np.nan, {}, "hold nan"),
        (
            np.array(["left"] * 6),
            {},
            r"hold 'left'.*\+1 says that the first item of a pair won",
        ),
    ],
    ids=["few", "tie", "grade", "grade with ties", "fraction", "missing", "words"],
)
def test_answers_that_are_none_are_refused(answers, settings, message):
    with refused(message):
        PreferenceGP(X, **settings).fit(PAIRS, answers)


@pytest.mark.parametrize(
    ("items", "settings", "message"),
    [
        (0, {}, "items=0 is a number of items; pass 1 or more"),
        (X[:, 0], {}, "Expected 2D array, got 1D"),
        (X * np.nan, {}, "items contains NaN"),
        (6, {"kernel": Gaussian()}, "needs features, but items=6 has none"),
        (X, {"kernel": "precomputed"}, r"items has shape \(6, 2\).*covariances"),
        (X, {"kernel": Gaussian(np.ones(3))}, "3 length scales but X has 2 features"),
        (X, {"kernel": "gausian"}, "no kernel named 'gausian'"),
        (X, {"noise": 0.0}, "noise=0.0 must be a number above zero"),
        (X, {"grades": 0}, "grades=0 must be a whole number, 1 or more"),
        (X, {"ties": "yes"}, "ties='yes' is not known"),
        (X, {"inference": "map"}, "inference='map' is not known; choose one of"),
        (X, {"hyperprior": "strong"}, "hyperprior='strong' is not understood"),
    ],
)
def test_items_and_settings_that_make_no_model_are_refused(items, settings, message):
    with refused(message):
        PreferenceGP(items, **settings).fit(PAIRS, ANSWERS)


def test_nothing_at_all_is_refused_also_if_items_are_not_given():
    with refused("no pairs and no ratings"):
        PreferenceGP().fit(np.empty((0, 2)))


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ([1, 2, 3], r"ratings is a list; wanted a pair \(items, levels\)"),
        (([0, 1], [1]), "2 items and 1 levels"),
        (([], []), "0 items and 0 levels"),
        (([0, 9], [1, 2]), "ratings name item 9"),
        (([0, 1], [3, 3]), "in ratings, y contains only one class, 3"),
        (([0, 1], ["good", "bad"]), r"text without an order; state it with `levels=\[...\]`"),
    ],
)
def test_ratings_that_are_none_are_refused(ratings, message):
    with refused(message):
        PreferenceGP(X).fit(PAIRS, ANSWERS, ratings=ratings)


def test_weights_that_are_none_are_refused():
    with refused("sample_weight has shape"):
        PreferenceGP(X).fit(PAIRS, ANSWERS, sample_weight=[1.0])
    with refused("all sample weights are zero"):
        PreferenceGP(X).fit(PAIRS, ANSWERS, sample_weight=np.zeros(6))


def test_judges_are_named_for_every_answer_or_for_none():
    judges = list("aabbab")
    with refused(r"judges has shape \(5,\), but there are 6 pairs"):
        PreferenceGP(X).fit(PAIRS, ANSWERS, judges=judges[:5])
    model = PreferenceGP(X).fit(PAIRS, ANSWERS, judges=judges)
    with refused("judges are named in only one of fit and update; name them in both"):
        model.update(PAIRS, ANSWERS)
    with refused("there is no judge 'c'; the model was fitted to the judges \\['a', 'b'\\]"):
        model.update(PAIRS[:1], judges=["c"])
    with refused("there is no judge 'c'"):
        model.predict_proba(PAIRS, judge="c")
    with refused("there is no judge 'a'; the model was fitted to answers without judges"):
        PreferenceGP(X).fit(PAIRS, ANSWERS).predict_proba(PAIRS, judge="a")


def test_features_of_new_items_must_be_like_those_of_the_old():
    model = PreferenceGP(X).fit(PAIRS, ANSWERS)
    with refused("X has 3 features, but the items have 2"):
        model.utility(np.ones((2, 3)))
    with refused("X_left has 2 rows and X_right 3"):
        model.predict_pairs(X[:2], X[:3])
    with refused(
        "items of this model have none; ask about items of the model by their numbers"
    ):
        PreferenceGP(6).fit(PAIRS, ANSWERS).utility(X)
    with refused(r"fitted without ratings; pass ratings=\(items, levels\)"):
        model.predict_ratings()
    with refused("theta has shape"):
        model.log_evidence([0.0])


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.utility(),
        lambda m: m.predict(PAIRS),
        lambda m: m.predict_proba(PAIRS),
        lambda m: m.predict_pairs(X, X),
        lambda m: m.update(PAIRS),
        lambda m: m.log_evidence(),
    ],
)
def test_a_model_that_has_learnt_nothing_says_so(ask):
    with pytest.raises(NotFittedError, match="PreferenceGP instance is not fitted"):
        ask(PreferenceGP(X))


def test_an_engine_cut_short_is_reported():
    with pytest.warns(ConvergenceWarning, match="ep did not converge in 1 iterations"):
        model = PreferenceGP(X, inference="ep", max_iter=1, optimizer=None).fit(PAIRS, ANSWERS)
    assert not model.converged_


def test_a_search_cut_short_is_reported():
    with pytest.warns(ConvergenceWarning, match="after 1 evaluations while the evidence was"):
        PreferenceGP(X, max_evaluations=1).fit(PAIRS, ANSWERS)


def test_statements_are_kept_once_whichever_way_round_they_were_made():
    pairs = np.array([[3, 1], [1, 3], [1, 3], [0, 2]])
    level = np.array([2, 0, 2, 1])  # of 0, 1, 2
    kept = Answers.of(np.zeros(4, dtype=int), pairs, level, np.array([1.0, 2.0, 1.0, 0.0]), 3)
    np.testing.assert_array_equal(kept.items, [[1, 3], [1, 3]])
    np.testing.assert_array_equal(kept.level, [0, 2])
    np.testing.assert_array_equal(kept.weight, [3.0, 1.0])
    rated = Answers.ratings(1, np.array([2]), np.array([4]))
    both = kept.joined(rated)
    np.testing.assert_array_equal(both.seen(), [1, 2, 3])
    np.testing.assert_array_equal(
        both.design().see(np.array([1.0, 10.0, 100.0])), [-99, -99, 10]
    )
    start = both.carried(np.array([1.0, 2.0, 3.0, 4.0]), kept)
    np.testing.assert_array_equal(start, [1.0, 2.0, 0.0, 3.0, 4.0, 0.0])


def test_a_fit_that_was_refused_leaves_nothing_that_predicts():
    model = PreferenceGP(X)
    with refused("which is a tie"):
        model.fit(PAIRS, 0 * ANSWERS)
    with pytest.raises(NotFittedError):
        model.predict(PAIRS)


def test_an_update_that_was_refused_leaves_the_model_as_it_was():
    model = PreferenceGP(X).fit(PAIRS, ANSWERS)
    before = model.utility().mean
    with refused("which is a tie"):
        model.update(PAIRS, 0 * ANSWERS)
    np.testing.assert_array_equal(model.utility().mean, before)
