"""Synthetic problems: shape, noise and seed."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import kstest

from ordinality import datasets
from ordinality.datasets import (
    bands_2d,
    expected_utilities,
    five_levels_1d,
    smooth_ordinal,
    synthetic,
    three_ranks_2d,
)

GENERATORS = {
    "three_ranks_2d": three_ranks_2d,
    "five_levels_1d": five_levels_1d,
    "bands_2d": bands_2d,
    "expected_utilities": lambda seed: expected_utilities(4, seed=seed),
    "smooth_ordinal": lambda seed: smooth_ordinal(50, seed=seed, n_test=100),
}


@pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS)
def test_a_seed_determines_every_draw(generate):
    one, again, other = generate(seed=3), generate(seed=3), generate(seed=4)
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one.X, other.X)


def test_three_ranks_fill_the_rectangle_of_the_figure():
    X, y, X_test, _ = three_ranks_2d(n_test=5000)
    assert np.all((X_test >= [0, -3]) & (X_test <= [4, 3]))
    assert np.bincount(y)[1:].min() >= 10
    assert X.shape == (60, 2)


def test_more_noise_makes_ranks_harder_to_tell():
    def wrong(noise):
        _, _, X, y = three_ranks_2d(noise=noise, n_test=5000)
        f = X[:, 1] - 1.5 * np.sin(np.pi * X[:, 0] / 2)
        return np.mean(1 + np.digitize(f, [-1.0, 1.0], right=True) != y)

    assert wrong(0.0) == 0
    assert wrong(0.2) < 0.1 < 0.15 < wrong(0.8)


def test_five_levels_lie_in_the_intervals_of_the_paper():
    low, high = np.array([2, 4, 8, 14, 18]), np.array([4, 6, 14, 18, 20])
    for seed in range(20):
        X, y, X_test, y_test = five_levels_1d(seed)
        assert np.all((X[:, 0] >= low[y - 1]) & (X[:, 0] <= high[y - 1]))
        assert np.bincount(y)[1:].tolist() == [2, 3, 10, 5, 1]
    np.testing.assert_allclose(np.diff(X_test[:, 0]), 0.1)
    assert np.all(np.diff(y_test) >= 0)
    inside = (X_test[:, 0] > 8) & (X_test[:, 0] <= 14)
    assert np.all(y_test[inside] == 3)


def test_bands_without_noise_are_those_of_the_published_set(published):
    toy = datasets.load("toy")
    f = 10 * (toy.X[:, 0] - 0.5) * (toy.X[:, 1] - 0.5)
    np.testing.assert_array_equal(toy.y, 1 + np.digitize(f, [-1.0, -0.1, 0.25, 1.0]))


def test_bands_blur_with_noise():
    X, y, *_ = bands_2d(5000, noise=0.125)
    f = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    share = np.mean(1 + np.digitize(f, [-1.0, -0.1, 0.25, 1.0]) == y)
    assert 0.75 < share < 0.95


@pytest.mark.parametrize("labels", [2, 5])
def test_actions_are_ranked_by_their_expected_utilities(labels):
    P, ranks, P_test, ranks_test = expected_utilities(labels)
    assert (P.shape, P_test.shape) == ((50, 10), (1000, 10))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        np.sort(ranks, axis=1), np.tile(np.arange(labels) + 1, (50, 1))
    )
    # The ranks are those of utilities linear in P: least squares on P must recover most.
    scores, *_ = np.linalg.lstsq(P_test, -ranks_test.astype(float), rcond=None)
    order = np.argmax(P_test @ scores, axis=1) == np.argmin(ranks_test, axis=1)
    assert order.mean() > 0.85


def test_probabilities_are_uniform_on_the_simplex():
    # A coordinate of the uniform distribution on ten states is Beta(1, 9).
    P = expected_utilities(2, n_test=4000).X_test
    assert kstest(P[:, 0], lambda x: 1 - (1 - x) ** 9).pvalue > 0.01


# ---------------------------------------------------------------- smooth functions


def test_levels_are_equally_frequent_and_count_from_one():
    problem = smooth_ordinal(500, 4)
    assert np.bincount(problem.y_test)[1:].tolist() == [500] * 4
    assert problem.y.min() == 1
    assert problem.y.max() == 4
    assert len(problem.thresholds) == 3


def test_rows_of_a_smaller_problem_are_the_first_of_a_larger_one():
    small, large = smooth_ordinal(20, n_test=100), smooth_ordinal(5000, n_test=100)
    np.testing.assert_array_equal(small.X, large.X[:20])
    np.testing.assert_array_equal(small.y, large.y[:20])
    np.testing.assert_array_equal(small.thresholds, large.thresholds)


def test_neighbours_have_similar_labels_and_less_noise_a_smaller_loss():
    rough, smooth = smooth_ordinal(10, d=2, noise=1.0), smooth_ordinal(10, d=2, noise=0.1)
    assert smooth.floor < rough.floor < np.log(5)  # of one who knows only the frequencies
    X, y = (
        smooth_ordinal(2000, d=1, noise=0.05).X[:, 0],
        smooth_ordinal(2000, d=1, noise=0.05).y,
    )
    assert np.abs(np.diff(y[np.argsort(X)])).mean() < 0.3


def test_memory_grows_with_the_rows_not_with_their_square(monkeypatch):
    monkeypatch.setattr(synthetic, "FEATURES", 100)
    tracemalloc.start()
    try:
        smooth_ordinal(20_000, d=3, n_test=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A block of features, and a few vectors of rows: far below 20 000 x 100 numbers.
    assert peak < 20_000 * 100 * 8
