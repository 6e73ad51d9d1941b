"""The ordinal likelihood: three views, their gradients in the parameters, probabilities."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, ndtr

from ordinality._numerics import JET
from ordinality.gp.likelihoods import Jet, Ordinal, Several, Symmetric

THRESHOLDS = np.array([-1.1, -0.2, 0.9, 1.4])
CDF = {"probit": ndtr, "logit": expit}
VIEWS = {
    "point": lambda likelihood, y, mean, var, power: likelihood.point(y, mean),
    "expected log": lambda likelihood, y, mean, var, power: likelihood.expected_log(
        y, mean, var
    ),
    "log expected": lambda likelihood, y, mean, var, power: likelihood.log_expected(
        y, mean, var
    ),
    "tempered": lambda likelihood, y, mean, var, power: likelihood.log_expected(
        y, mean, var, power
    ),
}

each_link = pytest.mark.parametrize("link", ["probit", "logit"])
each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


def sample(n, n_levels, seed=0):
    """Levels, latent means, variances and powers of ``n`` observations."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_levels, n)
    return y, rng.normal(size=n), 10 ** rng.uniform(-2, 1, n), rng.uniform(0.1, 1, n)


# ------------------------------------------------------------ views


@each_link
def test_a_level_is_the_interval_between_its_thresholds(link):
    likelihood = Ordinal(THRESHOLDS, 0.4, link)
    y, mean, _, _ = sample(40, 5)
    below = CDF[link]((THRESHOLDS - mean[:, None]) / 0.4)
    edges = np.pad(below, ((0, 0), (1, 1)), constant_values=(0, 1))
    p = np.diff(edges)[np.arange(40), y]
    assert likelihood.n_levels == 5
    assert_allclose(np.exp(likelihood.point(y, mean).value), p, rtol=1e-12, atol=1e-15)


def test_blurring_a_probit_is_a_probit_with_more_noise():
    y, mean, _, _ = sample(40, 5)
    blurred = Ordinal(THRESHOLDS, 0.3).log_expected(y, mean, np.full(40, 0.16))
    wide = Ordinal(THRESHOLDS, 0.5).point(y, mean)  # 3, 4, 5
    assert_allclose(blurred.rows[:8], wide.rows[:8], rtol=1e-12)


@each_link
def test_all_views_meet_where_the_variance_is_zero(link):
    likelihood = Ordinal(THRESHOLDS, 0.4, link)
    y, mean, var, power = sample(40, 5)
    point = likelihood.point(y, mean)
    ones = np.ones(40)  # a power: logistic noise without one is a mixture
    exact = likelihood.log_expected(y, mean, 0 * var, None if link == "probit" else ones)
    for jet in (exact, likelihood.expected_log(y, mean, 0 * var)):
        assert_allclose(jet.rows[:JET], point.rows, rtol=1e-14, atol=1e-300)
    assert_array_equal(likelihood.log_expected(y, mean, 0 * var, power).shrink, 1.0)


@each_link
@each_view
def test_a_jet_holds_derivatives_in_the_mean(link, view):
    likelihood = Ordinal(THRESHOLDS, 0.4, link)
    y, mean, var, power = sample(40, 5)
    h = 1e-5
    there, back = (view(likelihood, y, mean + e, var, power) for e in (h, -h))
    jet = view(likelihood, y, mean, var, power)
    for name, before in [("d1", "value"), ("d2", "d1"), ("d3", "d2"), ("d4", "d3")]:
        slope = (getattr(there, before) - getattr(back, before)) / (2 * h)
        assert_allclose(getattr(jet, name), slope, rtol=1e-6, atol=1e-6)


@each_link
def test_shrinkage_is_the_curvature_of_the_log_expectation(link):
    y, mean, var, power = sample(40, 5)
    jet = Ordinal(THRESHOLDS, 0.4, link).log_expected(y, mean, var, power)
    assert_allclose(jet.shrink, 1 + var * jet.d2, rtol=1e-9)
    assert np.all((jet.shrink > 0) & (jet.shrink < 1))


def test_weights_multiply_every_row_of_a_jet():
    y, mean, _, weights = sample(10, 5)
    jet = Ordinal(THRESHOLDS).point(y, mean)
    weighted = jet.times(weights)
    assert_array_equal(weighted.rows, jet.rows * weights)
    assert_array_equal(weighted.scale[2], jet.scale[2] * weights)


def test_weighted_jets_leave_the_shrinkage_out():
    y, mean, var, weights = sample(10, 5)
    jet = Ordinal(THRESHOLDS).log_expected(y, mean, var).times(weights)
    assert len(jet.rows) == JET


@each_link
@each_view
def test_no_view_curves_more_than_the_largest_precision(link, view):
    narrow = np.array([-1.0, -1e-6, 1e-6, 1.0])
    likelihood = Ordinal(narrow, 0.7, link)
    y, mean, var, power = sample(200, 5)
    curvature = -view(likelihood, y, mean, var, power).d2
    assert np.all((curvature > 0) & (curvature <= likelihood.max_precision))


@each_link
def test_the_largest_precision_is_reached_at_the_centre_of_a_narrow_level(link):
    likelihood = Ordinal(np.array([-1e-6, 1e-6]), 0.7, link)
    curvature = -likelihood.point(np.array([1]), np.zeros(1)).d2
    assert_allclose(curvature, likelihood.max_precision, rtol=1e-9)


# ------------------------------------------------------------ parameters


@each_link
@pytest.mark.parametrize("thresholds", [THRESHOLDS, [0.3], [-1.0, -0.999]], ids=len)
@each_view
def test_pulled_weights_agree_with_central_differences(link, thresholds, view):
    likelihood = Ordinal(np.asarray(thresholds), 0.6, link)
    y, mean, var, power = sample(30, likelihood.n_levels)
    w = np.random.default_rng(1).normal(size=(3, 30))

    def total(theta):
        jet = view(likelihood.with_theta(theta), y, mean, var, power)
        return w[0] @ jet.value + w[1] @ jet.d1 + w[2] @ jet.d2

    h = 1e-5  # about eps**(1/3): truncation and rounding balance
    steps = h * np.eye(likelihood.n_levels)
    numeric = [
        (total(likelihood.theta + e) - total(likelihood.theta - e)) / (2 * h) for e in steps
    ]
    pulled = likelihood.pull(y, view(likelihood, y, mean, var, power), *w)
    assert_allclose(pulled, numeric, rtol=1e-6, atol=1e-6)


@each_link
def test_levels_nobody_chose_still_have_their_gaps_in_the_gradient(link):
    likelihood = Ordinal(THRESHOLDS, 0.6, link)
    y = np.array([0, 3, 3])  # levels 1, 2 and 4 are empty
    jet = likelihood.point(y, np.array([-1.0, 0.2, 1.0]))
    gradient = likelihood.pull(y, jet, np.ones(3), np.zeros(3), np.zeros(3))
    gaps = np.diff(THRESHOLDS)
    above = -jet.d1[1:].sum()  # what raising everything above an empty level does
    expected = [jet.scale[0].sum(), -jet.d1.sum(), gaps[0] * above, gaps[1] * above]
    assert_allclose(gradient, [*expected, gaps[2] * jet.upper[0, 1:].sum()], rtol=1e-13)


def test_the_gradient_of_a_closing_gap_keeps_its_digits():
    # As the gap closes the level's probability is proportional to it: d log p / d log gap = 1.
    for gap in (1e-3, 1e-6, 1e-9):
        likelihood = Ordinal(np.array([0.0, gap]), 0.5)
        y = np.array([1])
        jet = likelihood.point(y, np.array([0.2]))
        gradient = likelihood.pull(y, jet, np.ones(1), np.zeros(1), np.zeros(1))
        assert gradient[2] == pytest.approx(1.0, abs=gap)


theta_lists = st.lists(st.floats(-5, 3), min_size=2, max_size=7)


@each_link
@given(theta=theta_lists)
def test_free_parameters_survive_the_round_trip(link, theta):
    likelihood = Ordinal(THRESHOLDS, 0.4, link).with_theta(np.array(theta))
    assert likelihood.link == link
    assert likelihood.noise == pytest.approx(math.exp(theta[0]))
    assert np.all(np.diff(likelihood.thresholds) > 0)
    assert len(likelihood.thresholds) == len(theta) - 1
    # A gap of exp(-5) between thresholds near 100 keeps eleven digits.
    assert_allclose(likelihood.theta, theta, rtol=0, atol=1e-10)


def test_free_parameters_are_log_noise_first_threshold_and_log_gaps():
    theta = Ordinal(np.array([-1.0, 1.0, 1.5]), noise=2.0).theta
    assert_allclose(theta, [math.log(2), -1.0, math.log(2), math.log(0.5)], rtol=1e-15)


def test_likelihoods_are_values():
    likelihood = Ordinal(THRESHOLDS, 0.4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        likelihood.noise = 1.0
    likelihood.with_theta(np.zeros(5))
    assert likelihood.noise == 0.4
    with pytest.raises(dataclasses.FrozenInstanceError):
        Jet(np.zeros((JET, 1))).rows = 0


# ------------------------------------------------------------ probabilities


@each_link
def test_levels_share_out_all_the_probability(link):
    likelihood = Ordinal(THRESHOLDS, 0.3, link)
    _, mean, var, _ = sample(60, 5)
    mean, var = np.concatenate([mean, 100 * mean]), np.concatenate([var, var])
    shares = [
        np.exp(likelihood.log_expected(np.full(120, k), mean, var).value) for k in range(5)
    ]
    # Before `proba` makes the sum one by division.
    assert_allclose(np.sum(shares, axis=0), 1.0, rtol=0, atol=1e-12)
    proba = likelihood.proba(mean, var)
    assert proba.shape == (120, 5)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert_allclose(proba.T, shares, rtol=1e-12)


def test_probit_probabilities_are_differences_of_the_normal_cdf():
    _, mean, var, _ = sample(60, 5)
    proba = Ordinal(THRESHOLDS, 0.3).proba(mean, var)
    below = ndtr((THRESHOLDS - mean[:, None]) / np.sqrt(0.09 + var)[:, None])
    expected = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=(0, 1)))
    assert_allclose(proba, expected, rtol=1e-12, atol=1e-14)


def test_logit_probabilities_are_integrals_of_differences_of_the_logistic_cdf():
    mean, var, noise = 0.4, 1.7, 0.3
    proba = Ordinal(THRESHOLDS, noise, "logit").proba(np.array([mean]), np.array([var]))

    def below(threshold):
        def integrand(f):
            return mp.npdf(f, mean, mp.sqrt(var)) / (1 + mp.exp((f - threshold) / noise))

        return mp.quad(integrand, [-13, -6, -3, -1, threshold, 2, 3, 5, 8, 15])

    with mp.workdps(20):
        cumulative = np.array([0.0, *(float(below(b)) for b in THRESHOLDS), 1.0])
    assert_allclose(proba[0], np.diff(cumulative), rtol=4e-4)


@each_link
def test_unlikely_levels_keep_their_digits(link):
    # 1 - cdf would be exactly zero here; the far level mirrors the near one.
    right = Ordinal(np.array([-6.0, 6.0]), 0.05, link).proba(np.array([2.0]), np.array([0.01]))
    left = Ordinal(np.array([-6.0, 6.0]), 0.05, link).proba(np.array([-2.0]), np.array([0.01]))
    assert 0 < right[0, 2] < 1e-16
    assert_allclose(right[0, ::-1], left[0], rtol=1e-11)


@each_link
@settings(max_examples=50, deadline=None)
@given(
    gaps=st.lists(st.floats(0.01, 5), min_size=1, max_size=5),
    noise=st.floats(0.05, 5),
    var=st.floats(0, 10, allow_subnormal=False),
)
def test_a_higher_latent_value_makes_every_lower_set_of_levels_less_likely(
    link, gaps, noise, var
):
    likelihood = Ordinal(np.cumsum([-1.0, *gaps]), noise, link)
    mean = np.linspace(-4, 4, 9)
    cumulative = np.cumsum(likelihood.proba(mean, np.full(9, var)), axis=1)
    assert np.all(np.diff(cumulative, axis=1) >= 0)
    inner = cumulative[:, :-1]
    assert np.all(np.diff(inner, axis=0) <= 1e-14)
    decided = (inner[:-1] > 1e-6) & (inner[:-1] < 1 - 1e-6)
    assert np.all(np.diff(inner, axis=0)[decided] < 0)


def test_predictive_probabilities_equal_the_published_digits(vectors):
    for problem in vectors["gpor"]:
        theta = [problem["log_s"], problem["b1"], *problem["log_delta"]]
        likelihood = Ordinal(np.zeros(1)).with_theta(np.array(theta))
        for method in ("predict_laplace", "predict_ep"):
            given = problem[method]
            mean, var = (np.array(given[key], dtype=float) for key in ("mean", "var"))
            expected = np.array(given["probs"], dtype=float)
            assert_allclose(likelihood.proba(mean, var), expected, rtol=0, atol=1e-9)


# Mirrored thresholds, and likelihoods of several kinds


KINDS = {
    "two": Symmetric.of(sigma=0.7),
    "ties": Symmetric.of([0.4], ties=True, sigma=0.7),
    "four": Symmetric.of([0.9], sigma=1.2),
    "five": Symmetric.of([0.3, 1.1], ties=True, sigma=0.5),
    "logit": Symmetric.of([0.3, 1.1], ties=True, sigma=0.5, link="logit"),
}
each_kind = pytest.mark.parametrize("likelihood", KINDS.values(), ids=KINDS)


def test_a_preference_is_eq_5_of_the_paper():
    delta, sigma = np.array([-1.3, 0.0, 0.4]), 0.6
    proba = Symmetric.of(sigma=sigma).proba(delta, np.zeros(3))
    np.testing.assert_allclose(proba[:, 1], ndtr(delta / (np.sqrt(2) * sigma)), rtol=1e-14)


def test_thresholds_are_the_steps_from_zero_outwards_and_their_mirror_images():
    np.testing.assert_allclose(
        Symmetric.of([0.2, 1.0], ties=True).thresholds, [-1.2, -0.2, 0.2, 1.2]
    )
    np.testing.assert_allclose(Symmetric.of([0.2]).thresholds, [-0.2, 0.0, 0.2])


@each_kind
def test_free_parameters_go_there_and_back(likelihood):
    again = likelihood.with_theta(likelihood.theta)
    np.testing.assert_allclose(again.thresholds, likelihood.thresholds, rtol=1e-14)
    assert again.noise == pytest.approx(likelihood.noise, rel=1e-15)
    assert (again.ties, again.link) == (likelihood.ties, likelihood.link)
    assert len(likelihood.theta_kinds) == len(likelihood.theta) == len(likelihood.bounds)
    np.testing.assert_array_equal(again.thresholds, -again.thresholds[::-1])


@each_kind
def test_swapping_sides_reverses_the_levels(likelihood):
    h, var = np.array([-2.0, 0.1, 3.0]), np.array([0.5, 1.0, 0.1])
    np.testing.assert_allclose(
        likelihood.proba(-h, var), likelihood.proba(h, var)[:, ::-1], rtol=1e-13
    )


@each_kind
def test_pull_is_the_gradient_in_the_free_parameters(likelihood):
    rng = np.random.default_rng(0)
    y = np.arange(40) % likelihood.n_levels
    h, *weights = rng.normal(size=(4, 40))

    def value(theta):
        jet = likelihood.with_theta(theta).point(y, h)
        return weights[0] @ jet.value + weights[1] @ jet.d1 + weights[2] @ jet.d2

    theta = likelihood.theta
    numeric = []
    for e in np.eye(len(theta)) * 1e-3:  # fourth order: truncation near 1e-11
        inner, outer = (value(theta + k * e) - value(theta - k * e) for k in (1, 2))
        numeric.append((8 * inner - outer) / 12e-3)
    found = likelihood.pull(y, likelihood.point(y, h), *weights)
    np.testing.assert_allclose(found, numeric, rtol=1e-7, atol=1e-8)


@pytest.fixture
def several():
    """Ratings, a judge who may call a tie, and one who may not, interleaved."""
    parts = (Ordinal(np.array([-0.5, 0.4]), 0.8), KINDS["ties"], KINDS["two"])
    kind = np.array([0, 2, 1, 0, 1, 2, 2])
    return Several(parts, kind), np.array([2, 0, 1, 0, 2, 1, 1])


def test_each_observation_is_judged_by_its_own_part(several):
    likelihood, y = several
    mean, var = np.linspace(-1, 1, 7), np.linspace(0.1, 0.7, 7)
    power = np.linspace(0.4, 1.0, 7)
    views = [
        (likelihood.point(y, mean), lambda p, i: p.point(y[i], mean[i])),
        (
            likelihood.expected_log(y, mean, var),
            lambda p, i: p.expected_log(y[i], mean[i], var[i]),
        ),
        (
            likelihood.log_expected(y, mean, var),
            lambda p, i: p.log_expected(y[i], mean[i], var[i]),
        ),
        (
            likelihood.log_expected(y, mean, var, power),
            lambda p, i: p.log_expected(y[i], mean[i], var[i], power[i]),
        ),
    ]
    for jet, alone in views:
        for i in range(7):
            part = likelihood.parts[likelihood.kind[i]]
            np.testing.assert_array_equal(jet.rows[:, [i]], alone(part, slice(i, i + 1)).rows)
    assert likelihood.noise[1] == KINDS["two"].noise
    assert likelihood.max_precision[0] == likelihood.parts[0].max_precision


def test_free_parameters_of_several_are_those_of_the_parts_in_turn(several):
    likelihood, y = several
    np.testing.assert_array_equal(
        likelihood.theta, np.concatenate([part.theta for part in likelihood.parts])
    )
    rated, tied, plain = (part.theta_kinds for part in likelihood.parts)
    assert rated == ("noise", "first_threshold", "gap")
    assert tied == ("comparison_noise", "gap")
    assert likelihood.theta_kinds == (*rated, *tied, *plain)
    assert likelihood.bounds.shape == (6, 2)
    moved = likelihood.with_theta(likelihood.theta + 0.1)
    assert moved.parts[2].sigma == pytest.approx(0.7 * np.exp(0.1))
    ones, jet = np.ones(7), likelihood.point(y, np.zeros(7))
    pulled = likelihood.pull(y, jet, ones)
    own = likelihood.kind == 1
    np.testing.assert_allclose(
        pulled[3:5],
        KINDS["ties"].pull(y[own], KINDS["ties"].point(y[own], np.zeros(2)), ones[own]),
    )


def test_some_of_several_observations_keep_their_parts(several):
    likelihood, y = several
    some = likelihood.only(slice(2, 4))
    whole = likelihood.point(y, np.zeros(7))
    np.testing.assert_array_equal(some.point(y[2:4], np.zeros(2)).rows, whole.rows[:, 2:4])
