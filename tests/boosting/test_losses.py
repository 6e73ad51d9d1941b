import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from ordinality.boosting.ensemble import left_right_margins, margins
from ordinality.boosting.losses import (
    LossTerms,
    all_offsets,
    all_thresholds,
    chord_step,
    left_right_offsets,
    left_right_thresholds,
    loss_terms,
    margin_terms,
    pair_offsets,
    pair_step,
    scaled_exponentials,
)

scores = arrays(np.float64, 12, elements=st.floats(-20, 20))
ranks = arrays(np.int64, 12, elements=st.integers(0, 3))
THRESHOLDS = np.array([-1.0, 0.3, 2.0])


def terms_of(H, y, offsets, weights=None, n_levels=4):
    e = scaled_exponentials(H, y, n_levels, np.ones(len(y)) if weights is None else weights)
    return loss_terms(e, y, *(offsets(e) if callable(offsets) else offsets))


def pairs(e):
    return pair_offsets(e.log_plus, e.log_minus)


@settings(deadline=None)
@given(scores, ranks)
def test_the_loss_over_all_margins_is_its_definition(H, y):
    expected = np.exp(-margins(H, THRESHOLDS, y)).sum()  # (8)
    terms = terms_of(H, y, all_offsets(THRESHOLDS))
    assert terms.log_total == pytest.approx(np.log(expected), abs=1e-12)


@settings(deadline=None)
@given(scores, ranks)
def test_the_loss_over_left_and_right_margins_is_its_definition(H, y):
    expected = np.exp(-left_right_margins(margins(H, THRESHOLDS, y), y)).sum()  # (5)
    terms = terms_of(H, y, left_right_offsets(THRESHOLDS))
    assert terms.log_total == pytest.approx(np.log(expected), abs=1e-12)


@settings(deadline=None)
@given(scores, ranks, arrays(np.float64, 12, elements=st.floats(0.1, 5)))
def test_sums_over_ranks_equal_sums_over_pairs(H, y, w):
    y[:2] = 0, 1  # at least one pair
    above = y[:, None] > y  # row i above row j
    each = above * np.exp(H - H[:, None]) * w * w[:, None]
    terms = terms_of(H, y, pairs, w)
    unit = np.exp(terms.log_unit)
    # Twelve scores within 20 of zero: terms span e^80, so errors are relative to the largest.
    near = {"rtol": 1e-12, "atol": 1e-13 * each.sum()}
    np.testing.assert_allclose(terms.falling * unit, each.sum(axis=1), **near)
    np.testing.assert_allclose(terms.rising * unit, each.sum(axis=0), **near)
    assert terms.log_total == pytest.approx(np.log(2 * each.sum()), abs=1e-12)


def test_offsets_of_zero_scores_count_rows():
    rising, falling = pair_offsets(np.log([2.0, 3.0]), np.log([2.0, 3.0]))
    np.testing.assert_allclose(np.exp(rising), [3.0, 0.0])  # rows above
    np.testing.assert_allclose(np.exp(falling), [0.0, 2.0])  # rows below


@pytest.mark.parametrize("offsets", [all_offsets, left_right_offsets])
def test_the_gradient_agrees_with_central_differences(offsets):
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=20), rng.integers(0, 4, 20)
    terms, h = terms_of(H, y, offsets(THRESHOLDS)), 1e-5  # about eps**(1/3)
    for i in range(20):
        ahead, back = H.copy(), H.copy()
        ahead[i] += h
        back[i] -= h
        ends = [np.exp(terms_of(x, y, offsets(THRESHOLDS)).log_total) for x in (ahead, back)]
        slope = terms.gradient[i] * np.exp(terms.log_unit)
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("size", [1e3, 1e6])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_score_is_too_large(size, sign):
    H, y = sign * np.array([-size, 0.0, 1.0, size]), np.array([0, 1, 2, 3])
    e = scaled_exponentials(H, y, 4, np.ones(4))
    for offsets in (
        pair_offsets(e.log_plus, e.log_minus),
        all_offsets(all_thresholds(e.log_plus, e.log_minus)),
        left_right_offsets(left_right_thresholds(e.log_plus, e.log_minus)),
    ):
        terms = loss_terms(e, y, *offsets)
        assert np.isfinite(terms.log_total)
        assert max(terms.rising.max(), terms.falling.max()) == 1.0


# ---------------------------------------------------------------- steps

positive = arrays(np.float64, 8, elements=st.floats(0.01, 10))


@settings(deadline=None)
@given(positive, positive, arrays(np.float64, 8, elements=st.sampled_from([-1.0, 0.0, 1.0])))
def test_the_step_of_a_binary_learner_is_the_exact_minimiser(rising, falling, h):
    h[:2] = -1.0, 1.0
    step = chord_step(LossTerms(rising, falling, 0.0), h)
    found = minimize_scalar(lambda a: rising @ np.exp(a * h) + falling @ np.exp(-a * h))
    assert step == pytest.approx(found.x, abs=1e-6)


@settings(deadline=None)
@given(positive, positive, arrays(np.float64, 8, elements=st.floats(-1, 1)))
# One of the two sums is subnormal and the other zero.
@example(np.full(8, 0.01), np.ones(8), np.eye(8)[0] * 5e-324)
@example(np.ones(8), np.full(8, 0.01), np.eye(8)[0] * 5e-324)
def test_a_step_lowers_the_loss(rising, falling, h):
    step = chord_step(LossTerms(rising, falling, 0.0), h)
    after = rising @ np.exp(step * h) + falling @ np.exp(-step * h)
    assert after <= (rising + falling).sum() * (1 + 1e-12)


def test_a_learner_without_a_wrong_row_gets_a_long_but_finite_step():
    terms = LossTerms(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0)
    right = np.array([-1.0, 1.0])
    assert chord_step(terms, right) == pytest.approx(np.log(1e10) / 2)
    assert chord_step(terms, -right) == pytest.approx(-np.log(1e10) / 2)
    assert pair_step(terms, right) == pytest.approx(np.log(1e10) / 4)
    assert chord_step(terms, 5e-324 * right) == pytest.approx(np.log(1e10) / 2)


def test_a_learner_that_abstains_gets_no_step():
    terms = LossTerms(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0)
    assert chord_step(terms, np.zeros(2)) == 0.0
    assert pair_step(terms, np.zeros(2)) == 0.0


def test_partial_matching_leaves_the_step_of_rank_boost_finite():
    # Section 4.1: (rank, output) (1, -1), (2, 0), (3, 1), (4, 1) has no pair the wrong way
    # round, and the exact step would be infinite.
    y, h = np.arange(4), np.array([-1.0, 0.0, 1.0, 1.0])
    terms = terms_of(np.zeros(4), y, pairs)
    # r = (sum of half differences) / 6 pairs = (1/2 + 1 + 1 + 1/2 + 1/2 + 0) / 6
    r = 3.5 / 6
    assert pair_step(terms, h) == pytest.approx(np.log((1 + r) / (1 - r)) / 4, rel=1e-14)


@pytest.mark.parametrize(
    ("kind", "rule", "offsets"),
    [
        ("all", all_thresholds, all_offsets),
        ("left-right", left_right_thresholds, left_right_offsets),
    ],
)
@settings(deadline=None)
@given(scores, ranks)
def test_one_pass_gives_the_best_thresholds_and_the_terms_there(kind, rule, offsets, H, y):
    weights = np.linspace(0.5, 2.0, len(y))
    e = scaled_exponentials(H, y, 4, weights)
    best, terms = margin_terms(H, y, 4, weights, kind)
    wanted = rule(e.log_plus, e.log_minus)
    np.testing.assert_array_equal(best, wanted)
    apart = loss_terms(e, y, *offsets(wanted))
    np.testing.assert_array_equal(terms.rising, apart.rising)
    np.testing.assert_array_equal(terms.falling, apart.falling)
    assert terms.log_unit == apart.log_unit
