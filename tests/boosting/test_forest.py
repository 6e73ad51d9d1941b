"""Trees read from LightGBM predict what it predicts, and unsound arrays are noticed."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest

from ordinality.boosting.forest import forests_of, gains_of

FIXED = {"verbosity": -1, "num_threads": 1, "num_leaves": 15, "min_data_in_leaf": 5}


def trained(X, y, rounds=20, categorical=(), **more):
    data = lightgbm.Dataset(X, y, categorical_feature=list(categorical))
    return lightgbm.train(FIXED | more, data, rounds)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(600, 3)), rng.integers(0, 70, 600)])
    y = X[:, 0] + (X[:, 3] % 3) + 0.3 * rng.normal(size=600)
    X[rng.random((600, 4)) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("categorical", [(), (3,)])
def test_a_forest_scores_rows_as_lightgbm_does(table, categorical):
    X, y = table
    booster = trained(X, y, categorical=categorical)
    (forest,) = forests_of(booster)
    new = np.vstack([X, np.full((1, 4), np.nan), [[0.0, 1e300, -1e300, 5000.0]]])
    np.testing.assert_allclose(forest.score(new), booster.predict(new), rtol=1e-12)
    assert np.any(forest.n_words > 0) == bool(categorical)
    assert forest.is_sound(4)
    assert not forest.is_sound(3)


def test_every_output_has_a_forest(table):
    X, y = table
    ranks = np.digitize(y, [0.5, 1.5])
    booster = trained(X, ranks, objective="multiclass", num_class=3)
    scores = np.column_stack([forest.score(X) for forest in forests_of(booster)])
    np.testing.assert_allclose(scores, booster.predict(X, raw_score=True), rtol=1e-12)


def test_a_tree_without_splits_is_a_constant():
    booster = trained(np.zeros((50, 1)), np.arange(50.0), rounds=3)
    (forest,) = forests_of(booster)
    np.testing.assert_allclose(
        forest.score(np.zeros((2, 1))), booster.predict(np.zeros((2, 1)))
    )
    assert forest.is_sound(1)


def test_a_missing_value_that_training_never_saw_follows_the_larger_part():
    X = np.repeat([1.0, 2.0, 3.0, 4.0], 25)[:, None]
    booster = trained(X, (X[:, 0] > 3) * 1.0, rounds=1, num_leaves=2)
    (forest,) = forests_of(booster)
    missing, small = forest.score(np.array([[np.nan], [1.0]]))
    assert missing == small  # 75 of 100 rows; LightGBM would take 0 for the missing value


def test_gains_are_those_that_lightgbm_counts(table):
    X, y = table
    booster = trained(X, y)
    np.testing.assert_allclose(
        gains_of(booster, 4)[0], booster.feature_importance("gain"), rtol=1e-5
    )


UNSOUND = {
    "a cycle": ("left", lambda a: np.zeros_like(a)),
    "a child beyond the nodes": ("right", lambda a: np.full_like(a, len(a))),
    "a leaf beyond the leaves": ("left", lambda a: np.full_like(a, -(10**6))),
    "a root beyond the nodes": ("root", lambda a: a + 10**6),
    "a negative feature": ("feature", lambda a: a - 10),
    "words beyond the words": ("n_words", lambda a: a + 10**6),
    "words before the words": ("first_word", lambda a: a - 1),
}


@pytest.mark.parametrize("case", UNSOUND)
def test_arrays_that_a_walk_would_leave_are_unsound(table, case):
    (forest,) = forests_of(trained(*table, categorical=(3,)))
    name, changed = UNSOUND[case]
    assert not replace(forest, **{name: changed(getattr(forest, name))}).is_sound(4)
