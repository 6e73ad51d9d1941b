import numpy as np
import pytest

from ordinality.boosting.learners import Tree


def learn(X, g, mass=None, depth=3, bins=256):
    mass = np.abs(g) if mass is None else mass
    return Tree(depth, bins).prepare(X).learn(g, mass, None)


def test_a_tree_of_depth_one_takes_the_cut_with_the_largest_gain():
    rng = np.random.default_rng(0)
    X, g, mass = rng.normal(size=(40, 3)), rng.normal(size=40), rng.exponential(size=40)
    value, _ = learn(X, g, mass, depth=1)

    def gain(x, cut):
        sides = [x <= cut, x > cut]
        return sum(g[s].sum() ** 2 / mass[s].sum() for s in sides) - g.sum() ** 2 / mass.sum()

    best = max(gain(x, c) for x in X.T for c in np.sort(x)[:-1])
    assert gain(X[:, value.feature[0]], value.cut[0]) == pytest.approx(best)
    assert value.gain[0] == pytest.approx(best)


def test_leaves_are_newton_steps_over_the_longest():
    rng = np.random.default_rng(0)
    X, g, mass = rng.normal(size=(200, 2)), rng.normal(size=200), 1 + rng.exponential(size=200)
    _, h = learn(X, g, mass, depth=2)
    steps = {v: -g[h == v].sum() / mass[h == v].sum() for v in np.unique(h)}
    longest = max(map(abs, steps.values()))
    for v, step in steps.items():
        assert v == pytest.approx(step / longest)
    assert np.abs(h).max() == 1.0


def test_a_checkerboard_needs_two_cuts():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 2))
    X[:20] = [0.5, 0.9]  # on an even board no first cut gains anything
    target = np.sign(X[:, 0] * X[:, 1])
    _, h = learn(X, -target, depth=4)
    assert np.mean(np.sign(h) == target) > 0.95


def test_a_node_that_cannot_be_cut_keeps_its_rows_together():
    X, g = np.zeros((5, 2)), np.array([1.0, 1.0, -1.0, 1.0, 1.0])
    value, h = learn(X, g)
    np.testing.assert_array_equal(h, -np.ones(5))
    np.testing.assert_array_equal(value.relevance(2), np.zeros(2))
    assert np.all(value.cut == np.inf)


def test_a_gradient_of_zeros_gives_a_tree_that_abstains():
    X = np.random.default_rng(0).normal(size=(10, 2))
    _, h = learn(X, np.zeros(10), np.ones(10))
    np.testing.assert_array_equal(h, np.zeros(10))
