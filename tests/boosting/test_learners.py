import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinality.boosting.learners import Binned, DecisionStump, SklearnTrainer, Stump, Tree
from ordinality.boosting.perceptron import Perceptron, Sigmoid

TRAINERS = [Stump(), Stump(bins=16), Tree(depth=2), Perceptron(30), Sigmoid(updates=30)]


def problem(n=60, d=3, seed=0, whole=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    up, down = rng.exponential(size=(2, n))
    return X, down - up, down + up


def best_cut(X, g):
    """Least ``h @ g`` of all cuts and constants, one at a time."""
    values = [h @ g for x in X.T for c in x for p in (1, -1) for h in [np.where(x > c, p, -p)]]
    return min([*values, -abs(g.sum())])


@pytest.mark.parametrize("trainer", [Stump(), Stump(bins=256)])
@settings(deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_a_stump_is_as_good_as_trying_every_cut(trainer, seed, whole):
    X, g, mass = problem(20, 3, seed, whole)
    _, h = trainer.prepare(X).learn(g, mass, None)
    assert h @ g == pytest.approx(best_cut(X, g), abs=1e-12 * np.abs(g).sum())


@pytest.mark.parametrize("trainer", [Stump(), Stump(bins=256)])
def test_a_stump_cuts_midway(trainer):
    X = np.array([[1.0], [2.0], [4.0], [4.0]])
    value, _ = trainer.prepare(X).learn(np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4), None)
    assert value == DecisionStump(0, 3.0, 1.0)


@pytest.mark.parametrize("trainer", [Stump(), Stump(bins=256)])
def test_where_no_cut_helps_a_stump_is_constant(trainer):
    X, g = np.array([[1.0], [2.0]]), np.array([1.0, 1.0])
    value, h = trainer.prepare(X).learn(g, np.ones(2), None)
    np.testing.assert_array_equal(h, [-1.0, -1.0])
    np.testing.assert_array_equal(value(np.array([[-1e9], [1e9]])), [-1.0, -1.0])
    np.testing.assert_array_equal(value.relevance(1), [0.0])


def test_a_weight_of_two_is_the_row_twice_for_a_stump():
    X, g, mass = problem()
    twice = np.append(np.arange(60), [3, 8, 8])
    factor = np.bincount(twice)
    weighted, _ = Stump().prepare(X).learn(g * factor, mass * factor, None)
    repeated, _ = Stump().prepare(X[twice]).learn(g[twice], mass[twice], None)
    assert weighted == repeated


@pytest.mark.parametrize("trainer", TRAINERS, ids=repr)
def test_outputs_lie_in_the_unit_interval_and_oppose_the_gradient(trainer):
    X, g, mass = problem()
    value, h = trainer.prepare(X).learn(g, mass, np.random.default_rng(0))
    assert np.all(np.abs(h) <= 1)
    assert h @ g < 0
    np.testing.assert_array_equal(value(X), h)


@pytest.mark.parametrize("trainer", TRAINERS, ids=repr)
def test_a_pickled_function_gives_the_same_outputs(trainer):
    X, g, mass = problem()
    value, h = trainer.prepare(X).learn(g, mass, np.random.default_rng(0))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(value))(X), h)


@pytest.mark.parametrize("trainer", TRAINERS, ids=repr)
def test_relevance_is_a_share_of_each_feature(trainer):
    X, g, mass = problem()
    value, _ = trainer.prepare(X).learn(g, mass, np.random.default_rng(0))
    shares = value.relevance(3)
    assert shares.shape == (3,)
    assert np.all(shares >= 0)
    assert shares.sum() == pytest.approx(1.0)


# ---------------------------------------------------------------- bins


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 300), st.booleans())
def test_codes_and_cuts_agree(seed, bins, whole):
    X = problem(400, 2, seed, whole)[0]
    binned = Binned.of(X, bins)
    for f in range(2):
        assert binned.cuts[f].size < min(bins, 256)
        for b in {0, binned.cuts[f].size // 2, binned.cuts[f].size - 1}:
            above = X[:, f] > binned.cut(f, b)
            np.testing.assert_array_equal(above, binned.codes[f] > b)


def test_neighbouring_floats_fall_in_different_bins():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    binned = Binned.of(X, 256)
    np.testing.assert_array_equal(binned.codes, [[0, 1]])
    np.testing.assert_array_equal(X[:, 0] > binned.cut(0, 0), [False, True])


def test_bins_hold_about_as_many_rows_each():
    X = np.random.default_rng(0).exponential(size=(10_000, 1))
    counts = np.bincount(Binned.of(X, 50).codes[0])
    assert counts.size == 50
    assert counts.min() >= 190
    assert counts.max() <= 210


# ---------------------------------------------------------------- learners of others


def test_a_sklearn_trainer_gives_signs_and_weights_that_average_one():
    asked = {}

    def fit(X, target, weight, rng):
        asked.update(target=target, weight=weight)
        return lambda X: np.full(len(X), 3.0)

    X, g, mass = problem()
    value, h = SklearnTrainer(fit).prepare(X).learn(g, mass, None)
    np.testing.assert_array_equal(asked["target"], -np.sign(g))
    np.testing.assert_allclose(asked["weight"], np.abs(g) / np.abs(g).mean())
    np.testing.assert_array_equal(h, np.ones(60))  # clipped to [-1, 1]
    np.testing.assert_array_equal(value.relevance(3), np.zeros(3))


def test_a_clipped_function_uses_the_relevance_of_its_function():
    class Knows:
        def __call__(self, X):
            return np.sign(X[:, 0])

        def relevance(self, d):
            return np.eye(d)[0]

    X, g, mass = problem()
    value, _ = SklearnTrainer(lambda *_: Knows()).prepare(X).learn(g, mass, None)
    np.testing.assert_array_equal(value.relevance(3), [1.0, 0.0, 0.0])
