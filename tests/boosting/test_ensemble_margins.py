import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ordinality.boosting.ensemble import left_right_margins, margin_error, margins, normaliser
from ordinality.levels import rank_from_scores

scores = arrays(np.float64, 10, elements=st.floats(-5, 5))
ranks = arrays(np.int64, 10, elements=st.integers(0, 3))
THRESHOLDS = np.array([-1.5, 0.25, 2.0])


@settings(deadline=None)
@given(scores, ranks)
def test_margins_are_signed_distances_to_the_thresholds(H, y):
    above = y[:, None] > np.arange(3)
    expected = np.where(above, 1, -1) * (H[:, None] - THRESHOLDS)
    np.testing.assert_array_equal(margins(H, THRESHOLDS, y), expected)


@settings(deadline=None)
@given(scores, ranks)
def test_without_a_margin_the_errors_are_the_usual_ones(H, y):
    rho, away = margins(H, THRESHOLDS, y), np.abs(rank_from_scores(H, THRESHOLDS) - y)
    if np.all(rho != 0):  # a score on a threshold has margin zero and may be correct
        assert margin_error(rho, y) == pytest.approx(away.mean())
        assert margin_error(rho, y, kind="classification") == pytest.approx(np.mean(away > 0))


@settings(deadline=None)
@given(scores, ranks, st.floats(-2, 2))
def test_the_boundary_error_lies_between_half_and_all_of_the_classification_error(H, y, delta):
    rho = margins(H, THRESHOLDS, y)
    boundary = margin_error(rho, y, delta, "boundary")
    classification = margin_error(rho, y, delta, "classification")
    assert classification / 2 - 1e-12 <= boundary <= classification + 1e-12  # (1)


@settings(deadline=None)
@given(scores, ranks, st.floats(-2, 2))
def test_exponential_losses_bound_the_errors_at_a_margin(H, y, delta):
    rho = margins(H, THRESHOLDS, y)
    all_margins = np.exp(-rho).sum(axis=1).mean()
    two_margins = np.exp(-left_right_margins(rho, y)).sum(axis=1).mean()
    slack = 1 + 1e-12
    assert np.exp(-delta) * margin_error(rho, y, delta) <= all_margins * slack
    assert np.exp(-delta) * margin_error(rho, y, delta, "boundary") <= two_margins * slack


def test_errors_of_one_row_are_counted_by_hand():
    rho, y = np.array([[0.5, -1.5, -0.1]]), np.array([1])
    kinds = ("absolute", "boundary", "classification")
    assert [margin_error(rho, y, kind=kind) for kind in kinds] == [2.0, 0.5, 1.0]


def test_the_margin_beyond_the_last_threshold_is_infinite():
    rho = margins(np.array([0.0, 0.0]), THRESHOLDS, np.array([0, 3]))
    np.testing.assert_array_equal(
        left_right_margins(rho, np.array([0, 3])), [[np.inf, -1.5], [-2.0, np.inf]]
    )


def test_a_weight_of_two_is_the_row_twice():
    H, y = np.array([-3.0, 0.0, 1.0]), np.array([1, 1, 0])
    twice = np.array([0, 0, 1, 2])
    for kind in ("absolute", "boundary", "classification"):
        weighted = margin_error(
            margins(H, THRESHOLDS, y), y, 0.5, kind, np.array([2.0, 1.0, 1.0])
        )
        repeated = margin_error(margins(H[twice], THRESHOLDS, y[twice]), y[twice], 0.5, kind)
        assert weighted == pytest.approx(repeated)


def test_normalised_margins_stay_within_one():
    alphas, H = np.array([0.5, -1.0]), np.array([-1.5, 1.5])  # the extremes of any score
    rho = margins(H, THRESHOLDS, np.array([0, 3])) / normaliser(alphas, THRESHOLDS)
    assert np.all(np.abs(rho) <= 1)
