"""Acquisition functions of given moments: against brute force and many digits."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import entr
from scipy.stats import logistic, norm

from ordinality.elicitation import gains, questions
from ordinality.elicitation.stopping import draws
from ordinality.estimators.snapshot import PointPosteriors
from ordinality.gp.likelihoods import Symmetric

LIKELIHOODS = {
    "probit": Symmetric.of(sigma=0.5),
    "ties": Symmetric.of([0.3], ties=True, sigma=0.2),
    "logit": Symmetric.of(sigma=0.5, link="logit"),
    "grades": Symmetric.of([0.3, 1.0], ties=True, sigma=0.6, link="logit"),
}
MOMENTS = [(0.0, 1e-3), (0.4, 0.2), (-1.0, 0.24), (2.0, 3.0), (0.5, 400.0)]


def one_ratio(mean, cov):
    """A posterior whose ratio of signal to noise is known."""
    return PointPosteriors(np.ones(1), np.ones(1), np.array([mean]), np.array([cov]))


def order_value(mean, cov, asked):
    """Bits about the order, of an answer with unit information."""
    unit = gains.order_of(
        lambda likelihood, m, v: np.ones(len(m)), LIKELIHOODS["probit"],
        one_ratio(mean, cov), np.array(asked),
    )  # fmt: skip
    return 2 * np.log(2) * unit


def brute_force(likelihood, mean, variance):
    """H[E p] - E H[p] in bits, on 100,001 equal steps: rounding adds up to some 1e-12."""
    s, c = np.sqrt(variance), likelihood.noise
    d = np.linspace(mean - 10 * s, mean + 10 * s, 100_001)
    weight = norm.pdf(d, mean, s)
    weight /= weight.sum()
    scale = {"probit": norm, "logit": logistic}[likelihood.link]
    edges = np.r_[-np.inf, likelihood.thresholds, np.inf]
    # The upper tail from its own side, where it keeps its digits.
    proba = [
        np.where(d < a, scale.sf((a - d) / c) - scale.sf((b - d) / c),
                 scale.cdf((b - d) / c) - scale.cdf((a - d) / c))
        for a, b in pairwise(edges)
    ]  # fmt: skip
    before = sum(entr(p @ weight) for p in proba)
    return (before - sum(entr(p) for p in proba) @ weight) / np.log(2)


@pytest.mark.parametrize("kind", LIKELIHOODS)
@pytest.mark.parametrize("at", MOMENTS, ids=str)
def test_information_is_that_of_brute_force(kind, at):
    likelihood, arrays = LIKELIHOODS[kind], [np.array([x]) for x in at]
    truth = brute_force(likelihood, *at)
    assert gains.exact_gain(likelihood, *arrays)[0] == pytest.approx(truth, abs=1e-11)
    rough = gains.rough_gain(likelihood, *arrays)[0]
    # Normal for logistic noise is the larger error; either only preselects.
    assert rough == pytest.approx(truth, abs=2e-5 if likelihood.link == "probit" else 0.02)


@pytest.mark.parametrize(
    ("kind", "mean", "variance", "truth"),
    [  # mpmath, 25 digits, adaptive quadrature between break-points at the thresholds
        ("probit", 0.4, 0.2, 0.13275516898518028),
        ("probit", 3.0, 0.05, 3.1312032819997074e-05),
        ("ties", -1.0, 0.24, 0.26590351960686476),
        ("logit", 2.0, 3.0, 0.2704060940489648),
        ("grades", 0.5, 400.0, 1.0949894066637258),
    ],
)
def test_information_is_that_of_many_digits(kind, mean, variance, truth):
    found = gains.exact_gain(LIKELIHOODS[kind], np.array([mean]), np.array([variance]))[0]
    assert found == pytest.approx(truth, abs=1e-15)


def test_the_closed_form_is_off_by_less_than_three_thousandths_of_a_bit():
    mean, variance = (g.ravel() for g in np.meshgrid(np.r_[0:5:41j], np.logspace(-2, 2, 41)))
    one = Symmetric.of(sigma=np.sqrt(0.5))  # noise 1 on a difference
    off = np.abs(gains.closed_gain(one, mean, variance) - gains.exact_gain(one, mean, variance))
    assert 1e-3 < off.max() < 3e-3


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_information_is_between_nothing_and_the_entropy_of_the_answer(kind):
    likelihood = LIKELIHOODS[kind]
    mean, variance = np.r_[0.0, 0.0, 30.0, 0.0], np.r_[0.0, 1.0, 1.0, 1e8]
    gain = gains.exact_gain(likelihood, mean, variance)
    assert gain[0] == pytest.approx(0.0, abs=1e-15)  # nothing is left to learn
    assert gain[2] < 1e-9  # the answer is known
    # Noise and ties are nothing beside differences of ten thousand.
    assert gain[3] == pytest.approx(1.0, abs=3e-3)


def test_without_doubt_the_best_is_the_larger_mean():
    best = gains.expected_max(np.array([1.0, -2.0]), np.array([0.5, -2.0]), np.zeros(2))
    np.testing.assert_allclose(best, [1.0, -2.0], rtol=1e-14)


def test_an_unknown_answer_leaves_the_covariance_expected_of_it():
    rng = np.random.default_rng(3)
    half = rng.normal(size=(4, 4))
    mean, cov = rng.normal(size=4), half @ half.T
    likelihood = LIKELIHOODS["ties"]
    points = one_ratio(mean, cov)
    pool = questions._Pool(np.arange(4), points, np.array([[1, 3]]), likelihood)
    f = draws(points, 400_000, rng)
    felt = f[1] - f[3] + likelihood.noise * rng.normal(size=f.shape[1])
    answer = np.searchsorted(likelihood.thresholds, felt)
    within = sum(np.mean(answer == k) * np.cov(f[:, answer == k]) for k in range(3))
    np.testing.assert_allclose(pool.after_asking(0).points.cov[0], within, rtol=0, atol=0.02)


# The order of all pairs


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_the_fisher_information_is_that_of_the_probabilities(kind):
    likelihood = LIKELIHOODS[kind]
    mean, variance = (np.array(x) for x in zip(*MOMENTS[:-1], strict=True))
    h = 1e-4
    up, down = (likelihood.proba(mean + step, variance) for step in (h, -h))
    truth = np.sum(((up - down) / (2 * h)) ** 2 / likelihood.proba(mean, variance), axis=1)
    np.testing.assert_allclose(
        gains.fisher_information(likelihood, mean, variance), truth, rtol=1e-6
    )
    rough = gains.rough_fisher_information(likelihood, mean, variance)
    np.testing.assert_allclose(rough, truth, rtol=1e-6 if likelihood.link == "probit" else 0.2)


def test_answers_that_are_known_have_no_fisher_information():
    far = np.array([60.0]), np.array([0.5])
    for information in (gains.fisher_information, gains.rough_fisher_information):
        assert information(LIKELIHOODS["probit"], *far)[0] == pytest.approx(0.0, abs=1e-12)


def test_the_value_for_the_order_is_a_sum_over_all_pairs():
    rng = np.random.default_rng(5)
    half = rng.normal(size=(5, 5))
    mean, cov = rng.normal(size=5), half @ half.T
    asked, total = np.array([[0, 3], [4, 1]]), np.zeros(2)
    for u in range(5):
        for v in range(u):
            variance = cov[u, u] + cov[v, v] - 2 * cov[u, v]
            z = (mean[u] - mean[v]) / np.sqrt(variance)
            worth = norm.pdf(z) ** 2 / (variance * norm.cdf(z) * norm.sf(z))
            for k, (i, j) in enumerate(asked):
                total[k] += worth * (cov[u, i] - cov[u, j] - cov[v, i] + cov[v, j]) ** 2
    np.testing.assert_allclose(order_value(mean, cov, asked), total, rtol=1e-12)


def test_orders_that_are_known_are_worth_nothing():
    mean, cov = np.array([0.0, 100.0, 300.0]), np.eye(3)
    assert order_value(mean, cov, [[0, 1]])[0] == pytest.approx(0.0, abs=1e-12)


def test_an_order_beside_many_is_worth_more_than_one_apart():
    # 0 and 1 are far above the others: only the order of the two is open there.
    mean, cov = np.array([8.0, 8.0, 0.0, 0.0, 0.0, 0.0]), 0.5 * np.eye(6)
    apart, among = order_value(mean, cov, [[0, 1], [2, 3]])
    # Of the pairs that 2 or 3 is in, five are open, and four of them are moved half as far.
    assert among / apart == pytest.approx(2.0, rel=1e-6)


def test_draws_of_equal_items_are_equal():
    points = one_ratio(np.zeros(2), np.ones((2, 2)))
    one, twin = draws(points, 3, np.random.default_rng(0))
    np.testing.assert_allclose(one, twin)
