"""Items and answers as arrays: equal items and equal statements are found."""

import numpy as np

from ordinality.estimators.preference_data import Answers, Items


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


def test_items_of_equal_features_are_one_unless_they_are_numbered():
    X, named = np.array([[1.0], [3.0], [1.0]]), np.empty(0, dtype=int)
    items = Items.of(X, named, "features", standardize=True, numbered=False)
    np.testing.assert_array_equal(items.twin, [0, 1, 0])
    inputs = items.inputs(np.array([1, 2]), np.arange(3))
    np.testing.assert_allclose(inputs, [[np.sqrt(2.0)], [-np.sqrt(0.5)]], rtol=1e-15)
    numbered = Items.of(X, named, "features", standardize=True, numbered=True)
    np.testing.assert_array_equal(numbered.inputs(np.arange(3), np.arange(3))[:, 1], [0, 1, 2])


def test_without_items_there_are_as_many_as_the_largest_number_named():
    items = Items.of(None, np.array([[4, 2], [0, 1]]), "features", True, True)
    assert len(items) == 5
