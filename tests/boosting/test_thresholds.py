from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from ordinality.boosting.losses import (
    all_thresholds,
    left_right_thresholds,
    scaled_exponentials,
)
from ordinality.boosting.thresholds import finite_thresholds, least_error_thresholds
from ordinality.levels import rank_from_scores

RULES = [all_thresholds, left_right_thresholds]


def sums(H, y, n_levels, weights=None):
    e = scaled_exponentials(H, y, n_levels, np.ones(len(y)) if weights is None else weights)
    return e.log_plus, e.log_minus


@pytest.mark.parametrize(
    ("rule", "key"), [(all_thresholds, "theta_All"), (left_right_thresholds, "theta_LR")]
)
def test_thresholds_are_those_of_the_reference_vectors(vectors, rule, key):
    example = vectors["boosting"]["theta_update_example"]
    H, y = np.array(example["H"]), np.array(example["y"]) - 1
    np.testing.assert_allclose(rule(*sums(H, y, 4)), example[key], rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None)
@given(
    arrays(np.float64, 15, elements=st.floats(-1e3, 1e3)),
    arrays(np.int64, 15, elements=st.integers(0, 5)),
)
def test_thresholds_are_ordered_and_finite_even_with_empty_ranks(rule, H, y):
    y[:2] = 1, 3
    thresholds = finite_thresholds(rule(*sums(H, y, 6)), H)
    assert np.all(np.isfinite(thresholds))
    assert np.all(np.diff(thresholds) >= 0)


@settings(deadline=None)
@example(  # on which L-BFGS stops at 11.244
    np.array([1.953125e-03, -2.75, 0.0, 2.375, 0.0]),
    np.array([0.63476562, -3.0, -1.703125, -1.0, 0.63476562]),
)
@given(
    arrays(np.float64, 5, elements=st.floats(-3, 3)),
    arrays(np.float64, 5, elements=st.floats(-3, 3)),
)
def test_pooling_finds_the_minimum_under_the_order(log_plus, log_minus):
    ours = left_right_thresholds(log_plus, log_minus)
    a, b = np.exp(log_plus[:-1]), np.exp(log_minus[1:])

    def loss(free):  # first threshold, then gaps: the order becomes bounds
        t = np.cumsum(free)
        slope = b * np.exp(t) - a * np.exp(-t)
        return a @ np.exp(-t) + b @ np.exp(t), np.cumsum(slope[::-1])[::-1]

    bounds = [(None, None)] + [(0, None)] * 3
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
    found = minimize(loss, np.zeros(4), jac=True, bounds=bounds, options=options)
    free = np.diff(ours, prepend=0.0)
    value, slope = loss(free)
    assert value <= found.fun * (1 + 1e-12)
    # The loss is convex, so these conditions are enough; L-BFGS may stop short of the minimum.
    assert abs(slope[0]) <= 1e-12 * value
    assert np.all(slope[1:] >= -1e-12 * value)
    np.testing.assert_allclose(slope[1:][free[1:] > 0], 0.0, atol=1e-12 * value)


@pytest.mark.parametrize("rule", RULES)
def test_an_empty_rank_inside_shares_its_threshold(rule):
    H, y = np.array([-2.0, -1.0, 1.0, 2.5]), np.array([0, 0, 2, 2])
    inside, without = rule(*sums(H, y, 3)), rule(*sums(H, y // 2, 2))
    np.testing.assert_allclose(inside, np.repeat(without, 2), rtol=1e-14)


@pytest.mark.parametrize("rule", RULES)
def test_empty_ranks_at_the_ends_change_nothing_between_the_others(rule):
    H, y = np.array([-2.0, -1.0, 1.0, 2.5]), np.array([0, 0, 1, 1])
    wide = finite_thresholds(rule(*sums(H, y + 2, 6)), H)
    assert wide[2] == pytest.approx(rule(*sums(H, y, 2))[0], rel=1e-14)
    np.testing.assert_array_equal(rank_from_scores(H, wide), y + 2)
    np.testing.assert_array_equal(wide[[0, 1, 3, 4]], [-3.0, -3.0, 3.5, 3.5])


@pytest.mark.parametrize("rule", RULES)
def test_mirrored_labels_mirror_the_thresholds(rule):
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=30), rng.integers(0, 5, 30)
    mirrored = rule(*sums(-H, 4 - y, 5))
    np.testing.assert_allclose(mirrored, -rule(*sums(H, y, 5))[::-1], rtol=1e-12, atol=1e-14)


# ---------------------------------------------------------------- counting


def least_error(H, y, n_levels, weights, error):
    """Over all ordered choices of gaps, one at a time."""
    distinct = np.unique(H)
    cuts = np.concatenate([[distinct[0] - 1], distinct])
    best = np.inf
    for chosen in combinations_with_replacement(cuts, n_levels - 1):
        away = np.abs(rank_from_scores(H, chosen) - y)
        best = min(best, weights @ (away if error == "absolute" else away > 0))
    return best


@pytest.mark.parametrize("error", ["absolute", "zero-one"])
@settings(deadline=None)
@given(
    arrays(np.float64, 9, elements=st.integers(-3, 3).map(float)),  # many ties
    arrays(np.int64, 9, elements=st.integers(0, 3)),
    arrays(np.float64, 9, elements=st.sampled_from([1.0, 1.0, 2.0, 0.3])),
)
def test_counting_finds_the_least_error_of_all(error, H, y, w):
    thresholds = least_error_thresholds(H, y, 4, w, error)
    away = np.abs(rank_from_scores(H, thresholds) - y)
    ours = w @ (away if error == "absolute" else away > 0)
    assert ours == pytest.approx(least_error(H, y, 4, w, error), abs=1e-12)
    assert np.all(np.diff(thresholds) >= 0)


def test_a_counted_threshold_lies_in_the_middle_of_the_lowest_best_gap():
    H, y = np.array([0.0, 1.0, 1.0, 5.0]), np.array([0, 1, 0, 1])
    # One error with the threshold between 0 and 1, one between 1 and 5: the lower is taken.
    np.testing.assert_array_equal(least_error_thresholds(H, y, 2, np.ones(4)), [0.5])


def test_a_threshold_separates_neighbouring_floats():
    low = 1.0
    high = np.nextafter(low, 2.0)
    H, y = np.array([low, high]), np.array([0, 1])
    thresholds = least_error_thresholds(H, y, 2, np.ones(2))
    np.testing.assert_array_equal(rank_from_scores(H, thresholds), y)


@pytest.mark.parametrize("error", ["absolute", "zero-one"])
def test_equal_scores_share_a_rank(error):
    thresholds = least_error_thresholds(
        np.zeros(5), np.array([0, 1, 1, 1, 2]), 3, np.ones(5), error
    )
    assert rank_from_scores([0.0], thresholds) == [1]


def test_empty_ranks_get_no_rows():
    H, y = np.arange(4.0), np.array([1, 1, 3, 3])
    thresholds = least_error_thresholds(H, y, 6, np.ones(4))
    np.testing.assert_array_equal(rank_from_scores(H, thresholds), y)
    assert np.all(np.isfinite(thresholds))
