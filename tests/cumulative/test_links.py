"""Links: agreement with many digits and with the reference vectors, and the laws they obey."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose, assert_array_equal

from ordinality.cumulative.links import LINKS, interval_terms

INF = math.inf
VECTORS = json.loads((Path(__file__).parents[1] / "linear-vectors.json").read_text("utf-8"))
CASES = {case["id"]: case for case in VECTORS["cases"]}

each_link = pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)


def terms(link, lower, upper, width, third=True):
    arrays = [np.atleast_1d(np.asarray(a, dtype=float)) for a in (upper, lower, width)]
    return interval_terms(link, *arrays, third=third)


# ------------------------------------------------------------ the same in many digits


def cdf(link, x):
    return {
        "logit": lambda: 1 / (1 + mp.exp(-x)),
        "probit": lambda: mp.ncdf(x),
        "cloglog": lambda: 1 - mp.exp(-mp.exp(x)),
        "loglog": lambda: mp.exp(-mp.exp(-x)),
        "cauchit": lambda: mpf(1) / 2 + mp.atan(x) / mp.pi,
    }[link]()


def derivatives(link, x):
    """f, f' and f'' at x."""
    if mp.isinf(x):
        return mpf(0), mpf(0), mpf(0)
    if link == "logit":
        v, t = mp.sech(x / 2) ** 2 / 4, mp.tanh(x / 2)
        return v, -v * t, v * (t**2 - 2 * v)
    if link == "probit":
        v = mp.npdf(x)
        return v, -x * v, (x**2 - 1) * v
    if link == "cloglog":
        e = mp.exp(x)
        v = e * mp.exp(-e)
        return v, v * (1 - e), v * ((1 - e) ** 2 - e)
    if link == "loglog":
        v, slope, bend = derivatives("cloglog", -x)
        return v, -slope, bend
    s = 1 + x**2
    return 1 / (mp.pi * s), -2 * x / (mp.pi * s**2), (6 * x**2 - 2) / (mp.pi * s**3)


def reference(link, lower, upper):
    """The seven terms by quotients of derivatives of P, in 420 digits."""
    u, l = derivatives(link, upper), derivatives(link, lower)  # noqa: E741
    P = cdf(link, upper) - cdf(link, lower)
    r_u, r_l = u[0] / P, l[0] / P
    p1, p2 = (l[0] - u[0]) / P, (u[1] - l[1]) / P  # of P in a shift of the latent value
    om_u = r_u**2 - u[1] / P - r_u * r_l
    om_l = l[1] / P + r_l**2 - r_u * r_l
    # Of p2 - p1^2 in either end.
    k_u = u[2] / P - p2 * r_u - 2 * p1 * (-u[1] / P - p1 * r_u)
    k_l = -l[2] / P + p2 * r_l - 2 * p1 * (l[1] / P + p1 * r_l)
    return [mp.log(P), r_u, r_l, om_u, om_l, k_u, k_l]


REACH = {"logit": 300.0, "probit": 30.0, "cloglog": 5.0, "loglog": 5.0, "cauchit": 1e6}


def intervals(link, n=150):
    """Ends over the reach of a link, widths from 1e-9 to 30, some intervals open."""
    rng = np.random.default_rng(20)
    reach = REACH[link.name]
    lower = rng.choice([0.03, 0.3, 1.0], n) * reach * rng.uniform(-1, 1, n)
    width = 10 ** rng.uniform(-9, 1.5, n)
    upper = lower + width
    for i in range(0, n, 10):
        lower[i] = -INF
        upper[i + 1] = INF
    return lower, upper, width


@each_link
def test_terms_agree_with_420_digits(link):
    lower, upper, width = intervals(link)
    found = terms(link, lower, upper, width)
    with mp.workdps(420):
        for i in range(lower.size):
            ends = mpf(lower[i]), mpf(upper[i])
            if math.isfinite(lower[i]) and math.isfinite(upper[i]):
                ends = mpf(lower[i]), mpf(lower[i]) + mpf(width[i])
            wanted = np.array([float(x) for x in reference(link.name, *ends)])
            assert_allclose(found[0, i], wanted[0], rtol=1e-14, atol=1e-14)
            assert_allclose(found[1:3, i], wanted[1:3], rtol=2e-13)
            scale = np.abs(wanted[3:5]) + 1e-3 * np.abs(wanted[3:5]).max()
            assert np.all(np.abs(found[3:5, i] - wanted[3:5]) <= 2e-13 * scale)
            # Where nearly all is inside, kappa is a difference of numbers of the size of r.
            scale = np.abs(wanted[3:]).max() + 1e-3 * np.abs(wanted[1:3]).max()
            assert np.all(np.abs(found[5:, i] - wanted[5:]) <= 1e-12 * scale)


def test_the_reference_vectors_are_met():
    for name, lower, width, *wanted in CASES["kernel"]["data"]["rows"]:
        lower, width = float(lower), float(width)
        upper = width if lower == -INF else lower + width
        found = terms(LINKS[name], lower, upper, width, third=False)[:, 0]
        wanted = np.array([float(x) for x in wanted])
        assert_allclose(found[0], wanted[0], rtol=1e-12, atol=1e-12)
        assert_allclose(found[1:], wanted[1:], rtol=1e-11)


@each_link
def test_functions_of_a_link_agree_with_many_digits(link):
    x = np.array([-4.0, -1.3, -0.2, 0.0, 0.4, 1.7, 3.0])
    with mp.workdps(50):
        F = [float(cdf(link.name, mpf(value))) for value in x]
        f = [[float(d) for d in derivatives(link.name, mpf(value))] for value in x]
    f = np.array(f)
    assert_allclose(link.cdf(x), F, rtol=1e-14)
    assert_allclose(link.pdf(x), f[:, 0], rtol=1e-14)
    assert_allclose(link.dlog_pdf(x), f[:, 1] / f[:, 0], rtol=1e-13, atol=1e-15)
    # A quantile is as exact as the probability is: 1 - F has fewer digits the nearer F is to 1.
    rounding = np.finfo(float).eps * np.array(F) / f[:, 0]
    assert np.all(np.abs(link.ppf(F) - x) <= 2 * rounding + 1e-14)


# ------------------------------------------------------------ laws


@each_link
def test_ends_at_infinity_are_the_limits(link):
    x = np.array([-INF, INF])
    assert_array_equal(link.cdf(x), [0.0, 1.0])
    assert_array_equal(link.pdf(x), [0.0, 0.0])
    assert_array_equal(link.ppf(link.cdf(x)), x)
    assert_array_equal(terms(link, -INF, INF, INF)[:, 0], np.zeros(7))


@each_link
def test_probabilities_of_levels_sum_to_one(link):
    cuts = np.array([-INF, -2.0, -0.5, 1e-7, 2.5, INF])
    lower, upper = cuts[:-1], cuts[1:]
    assert link.probability(lower, upper, upper - lower).sum() == pytest.approx(1.0, abs=1e-15)


@each_link
def test_an_empty_interval_has_probability_zero(link):
    lower, upper = np.array([1.0, 1.0, INF, -INF]), np.array([1.0, 0.5, INF, -INF])
    width = np.array([0.0, -0.5, np.nan, np.nan])
    assert_array_equal(link.probability(lower, upper, width), np.zeros(4))


@each_link
def test_reflecting_the_variable_swaps_the_ends(link):
    mirror = {"cloglog": "loglog", "loglog": "cloglog"}.get(link.name, link.name)
    lower, upper, width = intervals(link, 50)
    here, there = (
        terms(link, lower, upper, width),
        terms(LINKS[mirror], -upper, -lower, width),
    )
    assert_allclose(there[[0, 2, 1, 4, 3]], here[:5], rtol=1e-13, atol=0)
    assert_allclose(-there[[6, 5]], here[5:], rtol=1e-9, atol=1e-13)


@each_link
def test_curvature_is_never_negative_for_a_log_concave_density(link):
    om = terms(link, *intervals(link))[3:5]
    assert link.log_concave == bool(np.all(om >= 0))


@each_link
def test_far_ends_give_no_nan(link):
    # Ends where exp overflows or underflows on one side.
    lower = np.array([-800.0, -800.0, -1e9, 5.0, -1e300])
    upper = np.array([-799.0, 3.0, 1e9, 700.0, 1e300])
    found = terms(link, lower, upper, upper - lower)
    assert not np.any(np.isnan(found))
