"""The cumulative logit loss: derivatives, information, thresholds."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from ordinality.boosting.cumulative_loss import (
    fitted_thresholds,
    gradients,
    level_proba,
    log_proba,
    scale_information,
    thresholds_of_shares,
)

NONE = np.empty(0)
THRESHOLDS = np.array([-1.2, -0.1, 0.05, 2.0])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    n = 200
    y = np.concatenate([np.arange(5), rng.integers(0, 5, n - 5)])
    return y, rng.uniform(0.5, 2.0, n), 2 * rng.normal(size=n), 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("scaled", [False, True])
def test_the_derivatives_in_the_score_agree_with_central_differences(rows, scaled):
    y, weights, f, log_s = rows
    log_s = log_s if scaled else NONE
    first, second = gradients(y, weights, f, log_s, THRESHOLDS, np.ones(log_s.size))
    h = 1e-4  # about eps**(1/4): truncation and rounding of a second difference balance
    low, mid, high = (-weights * log_proba(y, f + d, log_s, THRESHOLDS) for d in (-h, 0, h))
    # LightGBM takes single precision: 6e-8 relative.
    np.testing.assert_allclose(first[: len(y)], (high - low) / (2 * h), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(second[: len(y)], (high - 2 * mid + low) / h**2, atol=2e-6)


def test_the_derivative_in_the_log_noise_agrees_with_central_differences(rows):
    y, weights, f, log_s = rows
    first, _ = gradients(y, weights, f, log_s, THRESHOLDS, np.ones(len(y)))
    h = 1e-5
    low, high = (-weights * log_proba(y, f, log_s + d, THRESHOLDS) for d in (-h, h))
    np.testing.assert_allclose(first[len(y) :], (high - low) / (2 * h), rtol=1e-6, atol=1e-6)


def test_the_information_is_the_expected_square_of_the_derivative(rows):
    _, _, f, log_s = rows
    total, n = np.zeros(len(f)), len(f)
    for k in range(5):
        y, h = np.full(n, k), 1e-5
        low, high = (log_proba(y, f, log_s + d, THRESHOLDS) for d in (-h, h))
        total += np.exp(log_proba(y, f, log_s, THRESHOLDS)) * ((high - low) / (2 * h)) ** 2
    np.testing.assert_allclose(scale_information(f, log_s, THRESHOLDS), total, rtol=1e-7)


@pytest.mark.parametrize(("k", "f", "log_s"), [(2, 0.3, 0.0), (2, 40.0, -1.0), (0, 90.0, 0.0)])
def test_log_probabilities_keep_their_digits_in_the_tails(k, f, log_s):
    with mpmath.workdps(60):
        edges = [mpmath.mpf("-inf"), *map(mpmath.mpf, THRESHOLDS.tolist()), mpmath.mpf("inf")]
        s = mpmath.exp(log_s)

        def cumulative(edge):
            return 1 / (1 + mpmath.exp(-(edge - mpmath.mpf(f)) / s))

        exact = float(mpmath.log(cumulative(edges[k + 1]) - cumulative(edges[k])))
    found = log_proba(np.array([k]), np.array([f]), np.array([log_s]), THRESHOLDS)
    assert found[0] == pytest.approx(exact, rel=1e-13)


def test_probabilities_of_the_levels_sum_to_one_and_are_those_of_the_loss(rows):
    y, _, f, log_s = rows
    proba = level_proba(f, log_s, THRESHOLDS)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(
        proba[np.arange(len(y)), y], np.exp(log_proba(y, f, log_s, THRESHOLDS)), rtol=1e-12
    )


@pytest.mark.parametrize("scaled", [False, True])
def test_newton_finds_the_thresholds_of_least_loss(rows, scaled):
    y, weights, f, log_s = rows
    log_s = log_s if scaled else NONE

    def loss(free):
        return -weights @ log_proba(y, f, log_s, np.cumsum([free[0], *np.exp(free[1:])]))

    start = thresholds_of_shares(np.bincount(y, weights))
    found = fitted_thresholds(y, weights, f, log_s, start, 20)
    free = minimize(loss, np.append(start[0], np.log(np.diff(start))), tol=1e-12).x
    np.testing.assert_allclose(found, np.cumsum([free[0], *np.exp(free[1:])]), atol=1e-5)


def test_at_equal_scores_the_thresholds_give_the_frequencies():
    totals = np.array([1.0, 5.0, 2.0])
    proba = level_proba(np.zeros(1), NONE, thresholds_of_shares(totals))
    np.testing.assert_allclose(proba[0], totals / 8, rtol=1e-12)


def test_newton_leaves_ordered_thresholds_where_scores_separate_the_levels():
    y = np.repeat(np.arange(3), 10)
    f = 200.0 * (y - 1.0)
    found = fitted_thresholds(y, np.ones(30), f, NONE, np.array([-0.7, 0.7]), 50)
    assert np.all(np.isfinite(found))
    assert np.all(np.diff(found) > 0)
    assert np.all(log_proba(y, f, NONE, found) > -1e-3)
