"""Comparisons from utilities and from labels."""

import numpy as np
import pytest

from ordinality import datasets
from ordinality.datasets import label_pairs, utility_pairs

U = np.array([0.3, 1.2, 1.2, -0.5, 2.0, 0.9])


def unordered(pairs):
    return {frozenset(pair) for pair in pairs.tolist()}


def test_the_larger_utility_comes_first_and_equal_ones_are_not_compared():
    train, test = utility_pairs(U, 10, 500)
    for pairs in (train, test):
        assert np.all(U[pairs[:, 0]] > U[pairs[:, 1]])
    assert (train.shape, test.shape) == ((10, 2), (500, 2))


def test_training_pairs_are_distinct_and_not_among_the_test_pairs():
    train, test = utility_pairs(U, 13, 300)
    assert len(unordered(train)) == 13
    assert not unordered(train) & unordered(test)
    assert len(unordered(test)) == 1  # 15 pairs, two utilities equal, 13 trained on


def test_test_pairs_may_be_drawn_from_among_all():
    train, test = utility_pairs(U, 13, 300, disjoint=False)
    assert unordered(train) < unordered(test)
    assert len(unordered(test)) == 14
    # The stream that the experiments on table 1 were run with.
    train, test = utility_pairs(np.arange(40.0) % 17, 3, 60, disjoint=False, seed=1)
    assert train.tolist() == [[11, 4], [3, 1], [11, 21]]
    assert test[:4].tolist() == [[5, 38], [28, 23], [13, 36], [14, 20]]


def test_a_seed_determines_the_pairs_and_may_be_a_sequence():
    np.testing.assert_array_equal(
        utility_pairs(U, 5, 5, seed=[1, 2]).test, utility_pairs(U, 5, 5, seed=[1, 2]).test
    )
    drawn = {tuple(utility_pairs(U, 5, 5, seed=[1, k]).train.ravel()) for k in range(5)}
    assert len(drawn) == 5


def test_pairs_are_drawn_evenly():
    test = utility_pairs(np.arange(5.0), 1, 9000, seed=1).test
    _, counts = np.unique(test, axis=0, return_counts=True)
    # Nine pairs are left: 1000 each, within five standard deviations.
    assert len(counts) == 9
    assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(9000 / 9 * 8 / 9))


def test_noise_reverses_some_preferences():
    u = np.random.default_rng(0).normal(size=100)
    test = utility_pairs(u, 1, 5000, noise=0.5).test
    share = np.mean(u[test[:, 0]] > u[test[:, 1]])
    assert 0.7 < share < 0.95
    assert np.all(utility_pairs(np.zeros(3), 2, 10, noise=1.0).test >= 0)


@pytest.mark.parametrize(
    ("utility", "n_train", "message"),
    [
        (U, 14, "only 14 pairs of these 6 items differ"),
        ([1.0, 1.0], 1, "only 0 pairs of these 2 items differ"),
        ([1.0, np.nan], 1, "one finite number for each item"),
    ],
)
def test_more_pairs_than_there_are_is_refused(utility, n_train, message):
    with pytest.raises(ValueError, match=message):
        utility_pairs(utility, n_train, 10)


def test_labels_are_compared_within_their_group():
    y, group = [1, 2, 3, 1], ["p", "p", "q", "q"]
    assert label_pairs(y, group).tolist() == [[1, 0], [2, 3]]
    assert len(label_pairs(y)) == 5


def test_the_sizes_of_table_1_can_be_drawn(published):
    sizes = {"pyrimidines": 100, "triazines": 300, "machine_cpu": 500, "boston_housing": 700}
    for name, m in sizes.items():
        target = datasets.load(f"regression/{name}").y
        train, test = utility_pairs(target, m, 20_000)
        assert (len(train), len(test)) == (m, 20_000)
