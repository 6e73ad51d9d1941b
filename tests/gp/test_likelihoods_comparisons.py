"""Mirrored thresholds, and likelihoods of several kinds."""

import numpy as np
import pytest
from scipy.special import ndtr

from ordinality.gp.likelihoods import Ordinal, Several, Symmetric

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
