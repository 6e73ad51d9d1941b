"""What PreferenceGP cannot learn from or answer is refused: what was found, wanted, to do."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ordinality import PreferenceGP
from ordinality.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(6, 2))
PAIRS = np.array([[0, 1], [1, 2], [3, 4], [5, 0], [2, 4], [3, 1]])
ANSWERS = np.array([1, -1, 1, 1, -1, 1])
NONE = np.empty((0, 2))


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
        (NONE, "no pairs and no ratings, .*; pass at least one"),
    ],
    ids=[
        "flat", "wide", "beyond", "negative", "fraction", "missing", "names", "itself", "none",
    ],
)  # fmt: skip
def test_pairs_that_do_not_name_two_items_are_refused(pairs, message):
    with refused(message):
        PreferenceGP(X).fit(pairs)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"answers": ANSWERS[:4]}, r"answers has shape \(4,\), but there are 6 pairs"),
        ({"answers": ANSWERS * [1, 1, 1, 0, 1, 1]}, "hold 0, which is a tie: pass ties=True"),
        ({"answers": 2 * ANSWERS}, r"answers hold 2, but .* is -1, \+1; pass grades=2"),
        ({"answers": 0.5 * ANSWERS}, r"hold 0.5, .*\+1 says that the first"),
        ({"answers": ANSWERS + np.nan}, "hold nan"),
        ({"answers": ["left"] * 6}, r"hold 'left'.*\+1 says that the first item of a pair won"),
        ({"ratings": [1, 2, 3]}, r"ratings is a list; wanted a pair \(items, levels\)"),
        ({"ratings": ([0, 1], [1])}, "2 items and 1 levels"),
        ({"ratings": ([], [])}, "0 items and 0 levels"),
        ({"ratings": ([0, 9], [1, 2])}, "ratings name item 9"),
        ({"ratings": ([0, 1], [3, 3])}, "in ratings, y contains only one class, 3"),
        ({"ratings": ([0, 1], ["good", "bad"])}, r"without an order; .*`levels=\[...\]`"),
        ({"judges": list("aabba")}, r"judges has shape \(5,\), but there are 6 pairs"),
        ({"sample_weight": [1.0]}, "sample_weight has shape"),
        ({"sample_weight": np.zeros(6)}, "all sample weights are zero"),
    ],
)
def test_data_that_do_not_fit_the_pairs_are_refused(given, message):
    with refused(message):
        PreferenceGP(X).fit(PAIRS, **{"answers": ANSWERS, **given})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"items": 0}, "items=0 is a number of items; pass 1 or more"),
        ({"items": X[:, 0]}, "Expected 2D array, got 1D"),
        ({"items": X * np.nan}, "items contains NaN"),
        ({"items": 6, "kernel": Gaussian()}, "needs features, but items=6 has none"),
        ({"kernel": "precomputed"}, r"items has shape \(6, 2\).*covariances"),
        ({"kernel": Gaussian(np.ones(3))}, "3 length scales but X has 2 features"),
        ({"kernel": "gausian"}, "no kernel named 'gausian'"),
        ({"noise": 0.0}, "noise=0.0 must be a number above zero"),
        ({"grades": 0}, "grades=0 must be a whole number, 1 or more"),
        ({"ties": "yes"}, "ties='yes' is not known"),
        ({"inference": "map"}, "inference='map' is not known; choose one of"),
        ({"hyperprior": "strong"}, "hyperprior='strong' is not understood"),
    ],
)
def test_items_and_settings_that_make_no_model_are_refused(settings, message):
    with refused(message):
        PreferenceGP(**{"items": X, **settings}).fit(PAIRS, ANSWERS)


def test_an_answer_stronger_than_the_grades_is_refused_with_the_answers_that_there_are():
    with refused(r"is -1, 0, \+1; pass grades=2"):
        PreferenceGP(X, ties=True).fit(PAIRS, 2 * ANSWERS)


def test_nothing_at_all_is_refused_also_if_items_are_not_given():
    with refused("no pairs and no ratings"):
        PreferenceGP().fit(NONE)


@pytest.fixture(scope="module")
def models():
    """Fitted to features, to features and judges, and to mere numbers of items."""
    return {
        "plain": PreferenceGP(X).fit(PAIRS, ANSWERS),
        "judged": PreferenceGP(X).fit(PAIRS, ANSWERS, judges=list("aabbab")),
        "numbers": PreferenceGP(6).fit(PAIRS, ANSWERS),
    }


@pytest.mark.parametrize(
    ("name", "ask", "message"),
    [
        ("judged", lambda m: m.update(PAIRS, ANSWERS), "in only one of fit and update; name"),
        (
            "judged",
            lambda m: m.update(PAIRS[:1], judges=["c"]),
            r"no judge 'c'; .*\['a', 'b'\]",
        ),
        ("judged", lambda m: m.predict_proba(PAIRS, judge="c"), "there is no judge 'c'"),
        ("plain", lambda m: m.predict_proba(PAIRS, judge="a"), "to answers without judges"),
        ("plain", lambda m: m.utility(np.ones((2, 3))), "X has 3 features, but .* have 2"),
        ("plain", lambda m: m.predict_pairs(X[:2], X[:3]), "X_left has 2 rows and X_right 3"),
        ("numbers", lambda m: m.utility(X), "this model have none; ask .* by their numbers"),
        ("plain", lambda m: m.predict_ratings(), r"without ratings; pass ratings=\(items"),
        ("plain", lambda m: m.log_evidence([0.0]), "theta has shape"),
    ],
)
def test_questions_that_the_model_cannot_answer_are_refused(models, name, ask, message):
    with refused(message):
        ask(models[name])


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.utility(),
        lambda m: m.predict(PAIRS),
        lambda m: m.predict_proba(PAIRS),
        lambda m: m.predict_pairs(X, X),
        lambda m: m.predict_ratings(),
        lambda m: m.update(PAIRS),
        lambda m: m.log_evidence(),
    ],
)
def test_a_model_that_was_not_fitted_says_so(ask):
    with refused("PreferenceGP instance is not fitted", NotFittedError):
        ask(PreferenceGP(X))


def test_an_engine_cut_short_is_reported():
    with pytest.warns(
        ConvergenceWarning, match="ep did not converge in 1 iterations"
    ) as caught:
        model = PreferenceGP(X, inference="ep", max_iter=1, optimizer=None).fit(PAIRS, ANSWERS)
    assert not model.converged_
    assert caught[0].filename == __file__


def test_a_search_cut_short_is_reported():
    with pytest.warns(ConvergenceWarning, match="after 1 evaluations while the evidence was"):
        PreferenceGP(X, max_evaluations=1).fit(PAIRS, ANSWERS)


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
