"""Priors of the learnt parameters."""

import numpy as np
import pytest
from scipy.stats import halfnorm, norm
from scipy.stats import t as student

from ordinality.gp.hyperpriors import WEAK, Hyperprior, hyperprior
from ordinality.gp.likelihoods import Ordinal
from ordinality.kernels import Gaussian, Linear, RationalQuadratic

KERNEL = 2.0 * Gaussian([1.0, 3.0]) + Linear()
LIKELIHOOD = Ordinal(np.array([-1.0, 0.5, 2.5]), 0.5)
KINDS = (
    "variance", "length_scale", "length_scale", "relevance",
    "noise", "first_threshold", "gap", "gap",
)  # fmt: skip
THETA = np.concatenate([KERNEL.theta, LIKELIHOOD.theta])


def test_kinds_follow_the_order_of_theta():
    assert (*KERNEL.theta_kinds, *LIKELIHOOD.theta_kinds) == KINDS
    assert Ordinal(np.zeros(1)).theta_kinds == ("noise", "first_threshold")


@pytest.mark.parametrize("choice", ["weak", WEAK])
def test_weak_is_centred_where_the_search_starts(choice):
    prior = hyperprior(choice, THETA, KINDS)
    np.testing.assert_array_equal(prior.centre, THETA)
    np.testing.assert_array_equal(prior.sd, [WEAK[kind] for kind in KINDS])
    assert prior.value(THETA) == 0.0


def test_weak_has_a_width_for_every_kind_of_parameter():
    kinds = (*(KERNEL + RationalQuadratic()).theta_kinds, "slope", *LIKELIHOOD.theta_kinds)
    assert set(kinds) <= set(WEAK)
    assert np.all(np.isfinite(hyperprior("weak", np.zeros(len(kinds)), kinds).sd))


def test_a_mapping_states_widths_and_centres_and_leaves_the_rest_flat():
    prior = hyperprior({"noise": 0.3, "gap": (-1.0, 2.0)}, THETA, KINDS)
    inf = np.inf
    np.testing.assert_array_equal(prior.sd, [inf, inf, inf, inf, 0.3, inf, 2.0, 2.0])
    np.testing.assert_array_equal(prior.centre[-2:], -1.0)
    assert prior.centre[4] == np.log(0.5)
    moved = THETA + np.array([9.0, 9.0, 9.0, 9.0, 0.6, 9.0, 0.0, 0.0])
    # Two widths of noise, and the gaps' own distance from -1.
    gaps = (LIKELIHOOD.theta[2:] + 1.0) / 2.0
    assert prior.value(moved) == pytest.approx(-2.0 - 0.5 * gaps @ gaps)
    np.testing.assert_array_equal(prior.gradient(moved)[[0, 1, 2, 3, 5]], 0.0)


def test_an_empty_mapping_is_flat():
    prior = hyperprior({}, THETA, KINDS)
    assert prior.value(THETA + 7.0) == 0.0


@pytest.mark.parametrize("choice", [None, Hyperprior(np.zeros(8), np.ones(8))])
def test_nothing_and_a_finished_prior_are_taken_as_they_are(choice):
    assert hyperprior(choice, THETA, KINDS) is choice


def test_gradient_agrees_with_differences():
    prior = hyperprior("weak", THETA, KINDS)
    at, h = THETA + np.linspace(-1.0, 1.5, 8), 1e-4
    steps = h * np.eye(8)
    numeric = [(prior.value(at + step) - prior.value(at - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(prior.gradient(at), numeric, rtol=0, atol=1e-9)


@pytest.mark.parametrize("choice", ["weak", {"noise": 0.5, "item_variance": 0.7}])
def test_effects_of_items_are_half_normal(choice):
    kinds = ("noise", "item_variance")
    prior = hyperprior(choice, np.array([0.2, -1.0]), kinds)
    scale = WEAK["item_variance"] if choice == "weak" else 0.7
    rest = hyperprior(choice, np.array([0.2]), kinds[:1])

    def density(theta):  # of log s**2 when s is half-normal; ds / dtheta = s / 2
        s = np.exp(theta[1] / 2)
        return rest.value(theta[:1]) + halfnorm.logpdf(s, scale=scale) + np.log(s / 2)

    one, other = np.array([0.4, -9.0]), np.array([-0.7, 0.6])
    gained = prior.value(other) - prior.value(one)
    assert gained == pytest.approx(density(other) - density(one), rel=1e-12)
    h = 1e-5
    for at in (one, other):
        numeric = [(prior.value(at + e) - prior.value(at - e)) / (2 * h) for e in h * np.eye(2)]
        np.testing.assert_allclose(prior.gradient(at), numeric, rtol=0, atol=1e-8)


def test_effects_of_items_are_flat_where_a_mapping_leaves_them_out():
    prior = hyperprior({"noise": 0.5}, np.zeros(2), ("noise", "item_variance"))
    assert prior.value(np.array([0.0, -5.0])) == prior.value(np.array([0.0, 3.0])) == 0.0


@pytest.mark.parametrize("choice", ["weak", {"noise": 0.3, "relative_scale": (0.1, 0.7)}])
def test_relative_scales_have_long_tails(choice):
    start, kinds = np.array([0.2, 0.5]), ("noise", "relative_scale")
    prior = hyperprior(choice, start, kinds)
    (noise, centre, scale) = (0.5, 0.5, 0.4) if choice == "weak" else (0.3, 0.1, 0.7)

    def density(theta):
        return norm.logpdf(theta[0], 0.2, noise) + student.logpdf(theta[1], 3, centre, scale)

    one, other = np.array([0.4, -9.0]), np.array([-0.7, 0.6])
    gained = prior.value(other) - prior.value(one)
    assert gained == pytest.approx(density(other) - density(one), rel=1e-12)
    h = 1e-5
    for at in (one, other):
        numeric = [(prior.value(at + e) - prior.value(at - e)) / (2 * h) for e in h * np.eye(2)]
        np.testing.assert_allclose(prior.gradient(at), numeric, rtol=0, atol=1e-8)
        slopes = [prior.gradient(at - e) - prior.gradient(at + e) for e in h * np.eye(2)]
        curvature = np.diag(slopes) / (2 * h)
        np.testing.assert_allclose(prior.curvature(at), curvature, rtol=0, atol=1e-8)


def test_relative_scales_are_flat_where_a_mapping_leaves_them_out():
    prior = hyperprior({"noise": 0.5}, np.zeros(2), ("noise", "relative_scale"))
    assert prior.degrees is None
    assert prior.value(np.array([0.0, -5.0])) == 0.0


def test_a_half_normal_has_no_centre():
    with pytest.raises(ValueError, match="item_variance.*has no centre; give the standard dev"):
        hyperprior({"item_variance": (0.0, 0.5)}, np.zeros(1), ("item_variance",))


@pytest.mark.parametrize("choice", ["strong", 3.0, ["noise"]])
def test_a_choice_that_is_not_understood_is_shown_with_those_that_are(choice):
    with pytest.raises(ValueError, match="not understood; use 'weak', None, a mapping") as info:
        hyperprior(choice, THETA, KINDS)
    assert repr(choice) in str(info.value)


def test_an_unknown_parameter_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="no parameter called 'nose'.*'linear_share', 'noise'"):
        hyperprior({"noise": 1.0, "nose": 1.0}, THETA, KINDS)


@pytest.mark.parametrize("width", [0.0, -1.0, np.nan, (0.0, -2.0)])
def test_a_width_that_is_not_positive_is_refused(width):
    with pytest.raises(ValueError, match="standard deviation above zero"):
        hyperprior({"noise": width}, THETA, KINDS)


# Judges


def test_the_mean_of_noises_of_judges_is_normal_and_deviations_are_of_students_t():
    kinds = ("variance", *("comparison_noise", "gap") * 4)
    rng = np.random.default_rng(0)
    theta = rng.normal(size=9)
    prior = hyperprior("weak", np.zeros(9), kinds)
    noises, others = theta[1::2], theta[[0, 2, 4, 6, 8]]
    t, mean = student(3, scale=WEAK["judge_spread"]), noises.mean()
    wanted = np.sum(t.logpdf(noises - mean) - t.logpdf(0.0))
    wanted += norm.logpdf(mean, scale=WEAK["comparison_noise"]) - norm.logpdf(0.0)
    wanted += np.sum(norm.logpdf(others, scale=prior.sd[[0, 2, 4, 6, 8]]) - norm.logpdf(0.0))
    wanted += np.sum(np.log(prior.sd[[0, 2, 4, 6, 8]]))
    assert prior.value(theta) == pytest.approx(wanted, rel=1e-12)
    h = 1e-5
    steps = h * np.eye(9)
    slope = [(prior.value(theta + e) - prior.value(theta - e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(prior.gradient(theta), slope, rtol=1e-8)
    bend = [(prior.gradient(theta - e) - prior.gradient(theta + e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(prior.curvature(theta), np.diagonal(bend), rtol=1e-7)


def test_one_judge_has_a_prior_alone_and_a_mapping_may_leave_judges_apart():
    assert hyperprior("weak", np.zeros(1), ("comparison_noise",)).together is None
    kinds = ("comparison_noise",) * 3
    assert hyperprior({"comparison_noise": 1.0}, np.zeros(3), kinds).together is None
    flat = hyperprior({"judge_spread": 0.35}, np.zeros(3), kinds)
    assert flat.value(np.full(3, 7.0)) == 0.0  # the mean is free
    assert flat.value(np.array([0.0, 0.0, 1.0])) < -1.0
