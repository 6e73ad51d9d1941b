"""Expectations of interval likelihoods: against many digits, closed forms, and inequalities."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from mpmath.calculus.quadrature import GaussLegendre
from numpy.testing import assert_allclose, assert_array_equal

from ordinality._numerics import JET, LOGIT, PROBIT, blurred_jets, interval_jets
from ordinality.gp.quadrature import expected_log_jets, log_expected_jets

INF = math.inf
# A row is judged relative to itself and to noise to minus this: features are as wide as the
# noise, and derivatives under a wide Gaussian are small differences of theirs.
ORDER = np.array([0, 1, 2, 3, 4, 1, 2, 3, 0, 1, 2, 0])

each_link = pytest.mark.parametrize("link", [PROBIT, LOGIT], ids=["probit", "logit"])


def expected_log(link, lower, upper, mean, var, noise):
    return expected_log_jets(
        link, *np.array([[lower], [upper], [mean], [var]]), np.array([noise])
    )[:, 0]


def log_expected(link, lower, upper, mean, var, noise, power):
    columns = np.array([[lower], [upper], [mean], [var]])
    return log_expected_jets(link, *columns, np.array([noise]), np.array([power]))[:, 0]


def assert_close(ours, expected, noise, tol):
    size = np.abs(expected) + noise ** -ORDER[: len(ours)].astype(float)
    error = np.abs(ours - expected) / size
    assert np.all(error <= tol), error


# ------------------------------------------------------------ the same in many digits


def probability(link, lower, upper, f, s):
    """p(f), and its derivatives in the upper threshold and in log noise."""
    l, u = (lower - f) / s, (upper - f) / s  # noqa: E741
    cdf = mp.ncdf if link == PROBIT else lambda x: 1 / (1 + mp.exp(-x))
    p = (
        cdf(-l) - cdf(-u) if l + u > 0 else cdf(u) - cdf(l)
    )  # in the left tail, where cdf is small
    at_lower, at_upper = (
        mpf(0) if mp.isinf(x) else mp.npdf(x) if link == PROBIT else mp.sech(x / 2) ** 2 / 4
        for x in (l, u)
    )
    tilt = (0 if mp.isinf(l) else l * at_lower) - (0 if mp.isinf(u) else u * at_upper)
    return p, at_upper / s, tilt


def moments(integrand, lower, upper, mean, var, s):
    """Derivatives in the mean of E[g(f)], f ~ N(mean, var): 4 of the first g, 2 of the others.

    A derivative of the Gaussian in its mean is the Gaussian times a Hermite polynomial, so g
    itself is never differentiated. Panels have 24 Gauss-Legendre nodes; a singularity of
    log p, pi noises off the real line, is no nearer to one than a third of its width.
    """
    mean, sd, rule = mpf(mean), mp.sqrt(mpf(var)), GaussLegendre(mp)
    near = [b + k * mpf(s) for b in (lower, upper) if math.isfinite(b) for k in NEAR]
    inside = [x for x in near if abs(x - mean) < 12 * sd]  # exp(-12^2 / 2) = 5e-32
    cuts = sorted({*(mean + k * sd for k in range(-12, 13, 2)), *inside})
    total = np.zeros((3, 5), dtype=object)
    for a, b in pairwise(cuts):
        for x, weight in rule.get_nodes(a, b, 4, mp.prec):
            z = (x - mean) / sd
            hermite = np.array([1, z, z**2 - 1, z**3 - 3 * z, z**4 - 6 * z**2 + 3])
            total += np.outer(integrand(x), weight * mp.npdf(z) / sd * hermite)
    total = total / np.array([sd**k for k in range(5)])
    return total[0], total[1, :3], total[2, :3]


NEAR = (-96, -48, -24, -12, -6, -3, 0, 3, 6, 12, 24, 48, 96)


def reference_expected_log(link, lower, upper, mean, var, s):
    def integrand(f):
        p, d_upper, d_scale = probability(link, lower, upper, f, mpf(s))
        return np.array([mp.log(p), d_upper / p, d_scale / p])

    with mp.workdps(40):
        return np.concatenate(moments(integrand, lower, upper, mean, var, s)).astype(float)


def reference_log_expected(link, lower, upper, mean, var, s, power):
    def integrand(f):
        p, d_upper, d_scale = probability(link, lower, upper, f, mpf(s))
        slope = mpf(power) * p ** (mpf(power) - 1)
        return np.array([p ** mpf(power), slope * d_upper, slope * d_scale])

    with mp.workdps(40):
        z, d_upper, d_scale = moments(integrand, lower, upper, mean, var, s)
        slopes = ratio(z[1:], z)
        shrink = 1 + mpf(var) * slopes[1]  # variance of the tilted density over var
        rows = [mp.log(z[0]), *slopes, *ratio(d_upper, z), *ratio(d_scale, z), shrink]
        return np.array(rows).astype(float)


def ratio(q, p):
    """Derivatives of q/p from those of q and of p (Leibniz for q = (q/p) p)."""
    out = []
    for n, top in enumerate(q):
        known = sum(math.comb(n, k) * out[k] * p[n - k] for k in range(n))
        out.append((top - known) / p[0])
    return out


# lower, upper, mean, noise; then standard deviations in units of the noise: nodes of
# Gauss-Hermite serve up to 0.7 of them, panels beyond.
CASES = [
    ((-1.0, 1.0, 0.3, 1.0), 0.01),
    ((-INF, 0.5, 2.0, 1.0), 0.3),
    ((0.5, 0.52, -1.0, 0.7), 0.69),
    ((0.2, INF, -0.4, 0.1), 0.71),
    ((-0.2, 1.4, -5.0, 0.5), 3.0),
    ((0.5, 0.6, 4.0, 0.02), 50.0),
    ((-INF, -1.0, 9.0, 0.2), 50.0),
]
each_case = pytest.mark.parametrize(("case", "spread"), CASES)


@each_link
@each_case
def test_expected_log_agrees_with_40_digits(link, case, spread):
    lower, upper, mean, noise = case
    at = (link, lower, upper, mean, (spread * noise) ** 2, noise)
    assert_close(expected_log(*at), reference_expected_log(*at), noise, 1e-12)


@each_link
@each_case
def test_log_expected_agrees_with_40_digits(link, case, spread):
    lower, upper, mean, noise = case
    power = 0.05 + 0.95 / (1.0 + spread)  # from 1 to 0.07 as the Gaussian widens
    at = (link, lower, upper, mean, (spread * noise) ** 2, noise, power)
    assert_close(log_expected(*at), reference_log_expected(*at), noise, 1e-12)


# ------------------------------------------------------------ closed forms


def random_problems(n, seed, reach=30.0):
    """Intervals, means within ``reach`` noises, standard deviations 0.01 to 100 noises."""
    rng = np.random.default_rng(seed)
    noise, side = 0.7, rng.random(n)
    lower = rng.normal(size=n)
    upper = np.where(side > 0.8, INF, lower + noise * 10 ** rng.uniform(-2, 1.5, n))
    lower = np.where(side < 0.2, -INF, lower)
    mean = noise * rng.uniform(-reach, reach, n)
    var = (noise * 10 ** rng.uniform(-2, 2, n)) ** 2
    return lower, upper, mean, var, noise


def test_power_one_with_normal_noise_equals_the_closed_form():
    *columns, noise = random_problems(400, seed=0)
    ours = log_expected_jets(PROBIT, *columns, np.full(400, noise), np.ones(400))
    closed = blurred_jets(PROBIT, *columns, noise)
    error = np.abs(ours - closed) / (np.abs(closed) + noise ** -ORDER[:, None].astype(float))
    assert np.all(error < 1e-11)
    assert_allclose(ours[0], closed[0], rtol=1e-12, atol=1e-14)
    assert_allclose(ours[JET], closed[JET], rtol=1e-12)


def test_power_one_with_logistic_noise_is_near_the_closed_form():
    rng = np.random.default_rng(3)
    lower = rng.normal(0, 2, 300)
    columns = lower, lower + 0.05 + rng.exponential(1.5, 300), rng.normal(0, 3, 300)
    var, noise = np.exp(rng.normal(0, 1.5, 300)), 0.7
    exact = log_expected_jets(LOGIT, *columns, var, np.full(300, noise), np.ones(300))
    closed = blurred_jets(LOGIT, *columns, var, noise)
    # In units of the noise. Probabilities have a relative error of 3.2e-4, derivatives more.
    for row, bound in {0: 2e-3, 1: 5e-3 / noise, 2: 1e-2 / noise**2, JET: 2e-3}.items():
        assert_allclose(closed[row], exact[row], rtol=0, atol=bound)


@each_link
@pytest.mark.parametrize(("case", "spread"), CASES)
def test_a_variance_of_zero_leaves_the_point(link, case, spread):
    lower, upper, mean, noise = case
    point = interval_jets(link, *np.array([[lower], [upper], [mean]]), noise)[:, 0]
    assert_array_equal(expected_log(link, lower, upper, mean, 0.0, noise), point)
    tilted = log_expected(link, lower, upper, mean, 0.0, noise, 0.3)
    assert_array_equal(tilted[:JET], 0.3 * point)
    assert tilted[JET] == 1.0


@each_link
@each_case
def test_a_vanishing_variance_approaches_the_point(link, case, spread):
    lower, upper, mean, noise = case
    point = interval_jets(link, *np.array([[lower], [upper], [mean]]), noise)[:, 0]
    var = (1e-9 * noise) ** 2
    size = np.abs(mean / noise)  # nodes are rounded by this many ulps of the variance
    assert_close(expected_log(link, lower, upper, mean, var, noise), point, noise, 1e-12)
    tilted = log_expected(link, lower, upper, mean, var, noise, 1.0)
    assert_close(tilted[:JET], point, noise, 1e-12)
    assert tilted[JET] == pytest.approx(1.0, abs=1e-6 * (1 + size))


@each_link
def test_an_interval_without_ends_is_certain(link):
    for var in (0.0, 0.1, 100.0):
        assert_array_equal(expected_log(link, -INF, INF, 0.3, var, 1.0), np.zeros(JET))
        certain = [*np.zeros(JET), 1.0]
        assert_allclose(log_expected(link, -INF, INF, 0.3, var, 1.0, 0.5), certain, atol=1e-13)


# ------------------------------------------------------------ laws


@st.composite
def problems(draw):
    noise = 10 ** draw(st.floats(-1, 1))
    lower = noise * draw(st.floats(-5, 5))
    upper = lower + (noise * 10 ** draw(st.floats(-2, 1.5)) if draw(st.booleans()) else INF)
    mean = noise * draw(st.floats(-20, 20))
    var = (noise * 10 ** draw(st.floats(-2, 2))) ** 2
    return lower, upper, mean, var, noise


@each_link
@settings(max_examples=100, deadline=None)
@given(case=problems(), power=st.floats(0.01, 1.0))
def test_jensen_orders_the_views(link, case, power):
    below = power * expected_log(link, *case)[0]
    between = log_expected(link, *case, power)[0]
    above = power * log_expected(link, *case, 1.0)[0]
    slack = 1e-13 * (1 - below)
    assert below - slack <= between <= above + slack


@each_link
@settings(max_examples=100, deadline=None)
@given(case=problems(), power=st.floats(0.01, 1.0))
def test_both_views_are_concave_with_the_curvature_of_the_likelihood_at_most(link, case, power):
    noise = case[4]
    ceiling = (1.0 if link == PROBIT else 0.5) / noise**2
    assert 0 <= -expected_log(link, *case)[2] <= ceiling * (1 + 1e-12)
    tilted = log_expected(link, *case, power)
    assert 0 <= -tilted[2] <= power * ceiling * (1 + 1e-12)
    assert 0 < tilted[JET] <= 1 + 1e-11


@each_link
@pytest.mark.parametrize("distance", [30.0, 100.0, 1000.0])
@pytest.mark.parametrize("spread", [0.01, 0.5, 1.0, 5.0])
def test_curvature_is_never_negative_far_from_the_interval(link, distance, spread):
    # Logistic tails are straight: rounding must not bend them the wrong way, or a site of
    # expectation propagation would get a negative precision.
    for lower, upper in [(0.0, INF), (0.0, 1.0), (-INF, -2 * distance)]:
        rows = log_expected(link, lower, upper, -distance, spread**2, 1.0, 1.0)
        assert rows[2] <= 0
        assert np.all(np.isfinite(rows))


@each_link
@each_case
def test_expected_log_moves_with_the_variance_by_half_the_curvature(link, case, spread):
    lower, upper, mean, noise = case
    var = (spread * noise) ** 2
    h = 1e-4 * var  # value and difference are smooth to the sixth digit and beyond
    there, back = (expected_log(link, lower, upper, mean, v, noise) for v in (var + h, var - h))
    half_curvature = 0.5 * expected_log(link, lower, upper, mean, var, noise)[2]
    rounding = 1e-15 * (1 + abs(there[0])) / h
    assert (there - back)[0] / (2 * h) == pytest.approx(
        half_curvature, rel=1e-6, abs=10 * rounding
    )


@pytest.mark.parametrize("link", [PROBIT, LOGIT])
def test_a_gaussian_narrower_than_the_rounding_of_its_mean_is_a_point(link):
    edges = np.array([1e6 - 1.0]), np.array([1e6 + 1.0])
    mean, var, noise = np.array([1e6]), np.array([1e-24]), np.array([1e-9])
    at = interval_jets(link, *edges, mean, noise)
    found = log_expected_jets(link, *edges, mean, var, noise, np.ones(1))
    assert_array_equal(found[:-1], at)
    assert found[-1] == 1.0
    assert_array_equal(expected_log_jets(link, *edges, mean, var, noise), at)
