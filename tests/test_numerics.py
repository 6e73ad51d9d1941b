"""Jets of interval likelihoods: agreement with 400 digits, and the laws they obey."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, ndtr

from ordinality._numerics import (
    JET,
    LOGIT,
    PARTS,
    PROBIT,
    blurred_jets,
    interval_jets,
)

INF = math.inf
ORDER = np.array([0, 1, 2, 3, 4, 1, 2, 3, 0, 1, 2])  # a row scales as noise to minus this

each_link = pytest.mark.parametrize("link", [PROBIT, LOGIT], ids=["probit", "logit"])
many = settings(max_examples=150, deadline=None)


def jet(link, lower, upper, latent, noise):
    return interval_jets(link, *np.array([[lower], [upper], [latent]]), noise)[:, 0]


def blurred(lower, upper, mean, var, noise):
    return blurred_jets(PROBIT, *np.array([[lower], [upper], [mean], [var]]), noise)[:, 0]


def lower_rows(link, lower, upper, latent, noise):
    """(log p, d1, d2) differentiated in the lower threshold: the upper one in a mirror."""
    return np.array([-1, 1, -1]) * jet(link, -upper, -lower, -latent, noise)[5:8]


# ------------------------------------------------------------ the same in many digits


def reference(link, lower, upper, f, s):
    """A jet from derivatives of the probability itself, no cumulants; mpmath numbers."""
    lower, upper, f, s = mpf(lower), mpf(upper), mpf(f), mpf(s)
    l, u = (lower - f) / s, (upper - f) / s  # noqa: E741
    tails = (-u, -l) if l + u > 0 else (l, u)  # no number of digits tells 1 - exp(-1e11) from 1
    at_lower, at_upper = slopes(link, l, s), slopes(link, u, s)
    p = [lower_tail(link, tails[1]) - lower_tail(link, tails[0])]
    p += [a - b for a, b in zip(at_upper[0], at_lower[0], strict=True)]
    d_upper = [-a for a in at_upper[0][:3]]
    d_scale = [a - b for a, b in zip(at_upper[1], at_lower[1], strict=True)]
    return [mp.log(p[0]), *ratio(p[1:], p), *ratio(d_upper, p), *ratio(d_scale, p)]


def lower_tail(link, x):
    return mp.ncdf(x) if link == PROBIT else 1 / (1 + mp.exp(-x))


def slopes(link, x, s):
    """Derivatives of the cdf at x = (b - f)/s: 1 to 4 in f, then 0 to 2 of d/d log s."""
    if mp.isinf(x):
        return [mpf(0)] * 4, [mpf(0)] * 3
    if link == PROBIT:
        g = [mp.npdf(x) * he for he in (1, -x, x**2 - 1, 3 * x - x**3)]
    else:
        v, t = mp.sech(x / 2) ** 2 / 4, mp.tanh(x / 2)
        g = [v, -v * t, v * (t**2 - 2 * v), v * t * (8 * v - t**2)]
    in_latent = [g[k] * (-1 / s) ** (k + 1) for k in range(4)]
    in_scale = [-(x * g[k] + k * g[k - 1]) * (-1 / s) ** k for k in range(3)]
    return in_latent, in_scale


def ratio(q, p):
    """Derivatives of q/p from those of q and of p (Leibniz for q = (q/p) p)."""
    out = []
    for n, top in enumerate(q):
        known = sum(math.comb(n, k) * out[k] * p[n - k] for k in range(n))
        out.append((top - known) / p[0])
    return out


def floats(values):
    return np.array([float(value) for value in values])


def random_observations(n, seed):
    """Widths 1e-12 to 200 and infinite, at up to 1e6 noise from the latent value."""
    rng = np.random.default_rng(seed)
    w = 10 ** rng.uniform(-12, math.log10(200), n)
    far = 10 ** rng.uniform(-10, 6, n)
    near = np.abs(0.5 * w + rng.normal(scale=3, size=n))  # a few noises from a threshold
    c = np.where(rng.random(n) < 0.6, far, near) * rng.choice([-1, 1], n)
    s = 10 ** rng.uniform(-3, 3, n)
    side = rng.random(n)
    # Symmetric about zero, so that no digit of c is lost before the function sees it.
    lower = np.where(side < 0.15, -INF, -0.5 * w * s)
    upper = np.where(side > 0.85, INF, 0.5 * w * s)
    return zip(lower.tolist(), upper.tolist(), (-c * s).tolist(), s.tolist(), strict=True)


def sizes(link, lower, upper, f, s, rows):
    """What an error is relative to: the largest term where terms of both signs meet."""
    size = np.abs(rows)
    d1, d2, d3, d4 = size[1:5]
    if link == PROBIT:
        size[8:] = s**2 * np.array([d1**2 + d2, d3 + 2 * d1 * d2, d4 + 2 * d2**2 + 2 * d1 * d3])
        return size
    edges = np.array([lower - f, f - upper]) / s
    x = edges[np.isfinite(edges)]
    if len(x) == 0:
        return size
    w = (upper - lower) / s
    outside = np.sum(np.abs(x) * expit(x)) + (w / math.expm1(w) if w < 700 else 0.0)
    reach = np.abs(x).max()
    size[3], size[4] = d2 / s, d2 / s**2
    size[8:] = outside, d1 + reach * s * d2, (2 + reach) * d2
    return size


# The reference notes of these formulas measured 2e-13 (2e-12 for the fourth derivative) over
# 6000 cases: the rounding of exp(-u^2/2) at u = 36, where it is about to underflow.
TOLERANCE = np.full(JET, 5e-13)
TOLERANCE[4] = 5e-12


@each_link
def test_jets_agree_with_400_digits(link):
    for case in random_observations(320, seed=link):
        with mp.workdps(400):
            expected = floats(reference(link, *case))
        size = np.maximum(sizes(link, *case, expected), 1e-280)  # below: underflow
        error = np.abs(jet(link, *case) - expected) / size
        assert np.all(error <= TOLERANCE), f"{case}: {error}"


@pytest.mark.parametrize("w", [np.nextafter(1.5, 0), np.nextafter(1.5, 2), 0.3, 3.0, 40.0])
@pytest.mark.parametrize("seam", ["c w = 2", "l = 0"])
@pytest.mark.parametrize("side", [-1, 1])
def test_branches_meet_without_a_seam(w, seam, side):
    c = 2.0 / w if seam == "c w = 2" else 0.5 * w
    for latent in c + np.spacing(c) * np.array([-2.0, 0.0, 2.0]):
        case = (-0.5 * w, 0.5 * w, side * latent, 1.0)
        with mp.workdps(200):
            expected = floats(reference(PROBIT, *case))
        size = sizes(PROBIT, *case, expected)
        assert np.all(np.abs(jet(PROBIT, *case) - expected) <= TOLERANCE * size)


ROWS = {
    "logp": 0,
    "d1_f": 1,
    "d2_f": 2,
    "d3_f": 3,
    "d4_f": 4,
    "d_upper": 5,
    "d2_f_upper": 6,
    "dW_upper": 7,
    "d_logs": 8,
    "d2_f_logs": 9,
    "dW_logs": 10,
    "d_lower": 0,
    "d2_f_lower": 1,
    "dW_lower": 2,
}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_equals_the_published_digits(vectors, name):
    sign = -1 if name.startswith("dW") else 1  # W is minus the second derivative
    cases = [case for case in vectors["likelihood"] if name in case]
    assert len(cases) >= 15
    for case in cases:
        at = [float(case[key]) for key in ("lower", "upper", "f", "s")]
        rows = lower_rows(PROBIT, *at) if name.endswith("lower") else jet(PROBIT, *at)
        assert_allclose(sign * rows[ROWS[name]], float(case[name]), rtol=1e-11, err_msg=str(at))


def test_the_variance_of_the_truncated_normal_equals_the_published_digits(vectors):
    for case in vectors["likelihood"]:
        lower, upper, f, s = (float(case[key]) for key in ("lower", "upper", "f", "s"))
        # Without noise of its own a blurred latent value is the truncated normal itself.
        shrink = blurred(lower, upper, f, s**2, 0.0)[JET]
        assert_allclose(shrink, float(case["kappa2"]), rtol=1e-11, err_msg=str(case))


# ------------------------------------------------------------ laws


def places(reach):
    return st.floats(-reach, reach).map(lambda x: round(x, 9))  # zero, but nothing near 1e-300


@st.composite
def observations(draw):
    """A threshold within 30 noises of the latent value, another above or below it."""
    noise = 10 ** draw(st.floats(-2, 2))
    latent = draw(places(3))
    edge = latent + noise * draw(places(30))
    width = noise * 10 ** draw(st.floats(-4, 2)) if draw(st.booleans()) else INF
    lower, upper = (edge - width, edge) if draw(st.booleans()) else (edge, edge + width)
    return lower, upper, latent, noise


def moved(threshold, derivative):
    return threshold * derivative if math.isfinite(threshold) else 0.0


@each_link
@many
@given(case=observations())
def test_moving_everything_together_changes_nothing(link, case):
    rows, low = jet(link, *case), lower_rows(link, *case)
    terms = np.array([rows[1:4], rows[5:8], low])
    assert np.all(np.abs(terms.sum(axis=0)) <= 1e-11 * np.abs(terms).sum(axis=0))


@each_link
@many
@given(case=observations())
def test_stretching_everything_together_only_changes_units(link, case):
    lower, upper, f, noise = case
    rows, low = jet(link, *case), lower_rows(link, *case)
    for k in range(3):  # log p, d1 and d2 scale as noise to the power -k
        terms = [f * rows[k + 1], moved(upper, rows[k + 5]), moved(lower, low[k])]
        terms += [rows[k + 8], k * rows[k]]
        rounding = 1e-14 / noise**k  # of d1^2 + d2, which vanishes at a lone threshold
        assert abs(sum(terms)) <= 1e-11 * np.abs(terms).sum() + rounding


@each_link
@many
@given(case=observations(), power=st.integers(-20, 20))
def test_jets_are_the_same_numbers_in_units_of_any_power_of_two(link, case, power):
    unit = 2.0**power  # exact, so that every digit must agree
    scaled = jet(link, *(unit * value for value in case)) * unit**ORDER
    # Subnormal numbers have fewer digits: a density 38 noises away has three.
    assert_allclose(scaled, jet(link, *case), rtol=0, atol=1e-280)


@each_link
@many
@given(case=observations())
def test_log_probability_is_concave_with_bounded_curvature(link, case):
    noise = case[3]
    curvature = -jet(link, *case)[2] * noise**2
    assert 0 < curvature < (1.0 if link == PROBIT else 0.5)


@many
@given(case=observations())
def test_third_derivative_has_the_sign_of_the_side_the_interval_lies_on(case):
    lower, upper, f, _ = case
    side = (upper - f) + (lower - f)
    assume(abs(side) > 1e-14)  # rounding of the thresholds decides the side below this
    assert np.sign(jet(PROBIT, *case)[3]) == np.sign(side)


@each_link
@pytest.mark.parametrize("width", [50.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize("latent", [-40.0, -1.3, -0.3, 0.0, 0.3, 1.3, 5.0])
def test_a_very_wide_interval_is_as_good_as_a_one_sided_one(link, width, latent):
    above, below = jet(link, 0.0, INF, latent, 1.0), jet(link, -INF, 0.0, -latent, 1.0)
    # The far threshold is 45 noises away or more: exp(-45) = 3e-20, with logistic noise.
    assert_allclose(jet(link, 0.0, width, latent, 1.0), above, rtol=1e-12, atol=1e-19)
    assert_allclose(jet(link, -width, 0.0, -latent, 1.0), below, rtol=1e-12, atol=1e-19)


@each_link
@pytest.mark.parametrize(
    "case", [(0.3, 0.7, 0.0, 0.5), (-INF, 0.2, 1.0, 2.0), (1, INF, 0, 0.3)]
)
def test_rows_are_derivatives_of_the_rows_before_them(link, case):
    lower, upper, f, s = case
    h = 6e-6  # about eps**(1/3): truncation and rounding balance
    rows = jet(link, *case)

    def slope(step):
        there, back = (jet(link, *step(sign * h)) for sign in (1, -1))
        return (there - back) / (2 * h)

    in_latent = slope(lambda e: (lower, upper, f + e, s))
    in_upper = slope(lambda e: (lower, upper + e, f, s))
    in_scale = slope(lambda e: (lower, upper, f, s * math.exp(e)))
    assert_allclose(rows[1:5], in_latent[:4], rtol=1e-7, atol=1e-7)
    assert_allclose(rows[5:8], in_upper[:3], rtol=1e-7, atol=1e-7)
    assert_allclose(rows[8:], in_scale[:3], rtol=1e-7, atol=1e-7)


# ------------------------------------------------------------ ends of the world


@each_link
def test_an_interval_without_ends_is_certain(link):
    assert_array_equal(jet(link, -INF, INF, 3.0, 0.5), np.zeros(JET))


@each_link
@pytest.mark.parametrize("noise", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(
    "interval", [(-0.5, 0.5), (-1e-9, 1e-9), (-80, 80), (0, INF), (-INF, 0)]
)
def test_jets_stay_finite_a_hundred_million_noises_away(link, noise, side, interval):
    lower, upper = noise * np.array(interval)
    rows = jet(link, lower, upper, side * 1e8 * noise, noise)
    assert np.all(np.isfinite(rows))
    assert rows[0] <= 0
    assert rows[2] <= 0


@pytest.mark.parametrize("distance", [1e2, 1e4, 1e6, 1e8])
def test_the_normal_tail_follows_its_asymptotic_series(distance):
    rows = jet(PROBIT, 0.0, INF, -distance, 1.0)
    with mp.workdps(60):
        d = mpf(distance)
        hazard = d / (1 - d**-2 + 3 * d**-4 - 15 * d**-6 + 105 * d**-8)  # next term: 1e-17
        expected = floats([mp.log(mp.npdf(d) / hazard), hazard, hazard * (d - hazard)])
    assert_allclose(rows[:3], expected, rtol=1e-13)
    assert_allclose(rows[3], 2.0 / distance**3, rtol=13 / distance**2 + 1e-12)


def test_the_logistic_tail_is_an_exponential():
    rows = jet(LOGIT, 0.0, INF, -800.0, 2.0)
    expected = np.exp(-400.0) * -(0.5 ** np.arange(5))
    expected[:2] += [-400.0, 0.5]  # log p = x - log(1 + exp(x)) at x = f/2 = -400
    assert_allclose(rows[:5], expected, rtol=1e-13)


WIDTHS = [1e-8, 1e-3, 1.0, 3.0, 41.0, 1e4, 1e52, 1e77, 1e102, 1e104, 1e154, 1e200, 1e300]


def without_unreachable_ends(lower, upper, f, s):
    """The same observation; an end that is 1e5 noises away holds back less than exp(-1e5)."""
    lower = -INF if (f - lower) / s > 1e5 else lower
    return lower, INF if (upper - f) / s > 1e5 else upper, f, s


@each_link
@pytest.mark.parametrize("noise", [1e-3, 1.0])
@pytest.mark.parametrize("width", WIDTHS)
def test_jets_agree_with_many_digits_however_wide_the_interval(link, width, noise):
    width *= noise
    inside = [0.0, 0.25 * width, 0.5 * width, 0.5 * width * (1 + 1e-9), width]
    for latent in [*inside, *(noise * np.array([-1e3, -39.0, -3.0, 1.0, 37.0]))]:
        for side in (-1, 1):  # the same seen in a mirror
            case = (*sorted([0.0, side * width]), float(side * latent), noise)
            with mp.workdps(500):  # logistic tails at 1000 noises are 1e-434 beside 1
                expected = floats(reference(link, *without_unreachable_ends(*case)))
            size = sizes(link, *without_unreachable_ends(*case), expected)
            error = np.abs(jet(link, *case) - expected) / np.maximum(size, 1e-280)
            assert np.all(error <= TOLERANCE), f"{case}: {jet(link, *case)}, not {expected}"


@pytest.mark.parametrize("width", [1.0, 1e104, 1e300, INF])
@pytest.mark.parametrize("distance", [1e11, 1e104, 1e200, 1e300])
def test_far_from_the_interval_the_slope_is_the_distance_and_log_p_may_overflow(
    distance, width
):
    rows = jet(PROBIT, 0.0, width, -distance, 1.0)
    assert not np.any(np.isnan(rows))
    assert rows[0] == pytest.approx(-0.5 * distance**2 if distance < 1e154 else -INF)
    assert rows[1] == pytest.approx(distance)
    assert rows[2] == pytest.approx(-1.0)


# ------------------------------------------------------------ a latent value blurred

BLURS = [
    (-INF, 0.5, 0.2, 0.7, 1.3),
    (0.5, INF, -4.0, 2.5, 0.3),
    (-0.2, 0.9, 0.4, 0.09, 0.8),
    (1.0, 1.001, -2.0, 4.0, 0.1),
    (-9.0, 30.0, 1.0, 1.0, 1.0),
]


@pytest.mark.parametrize("case", BLURS)
def test_blurring_only_widens_the_noise(case):
    lower, upper, mean, var, noise = case
    wide = math.hypot(noise, math.sqrt(var))
    expected = jet(PROBIT, lower, upper, mean, wide)
    expected[8:] *= (noise / wide) ** 2  # d log(wide) / d log(noise)
    assert_allclose(blurred(*case)[:JET], expected, rtol=1e-13)


@pytest.mark.parametrize("case", BLURS)
def test_blurred_noise_rows_are_derivatives_in_log_noise(case):
    *rest, noise = case
    h = 1e-5
    there, back = (blurred(*rest, noise * math.exp(sign * h)) for sign in (1, -1))
    assert_allclose(blurred(*case)[8:JET], (there - back)[:3] / (2 * h), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("case", BLURS)
def test_the_probability_diffuses_by_the_heat_equation(case):
    lower, upper, mean, var, noise = case
    h = 1e-5 * var
    there, back = (blurred(lower, upper, mean, v, noise)[0] for v in (var + h, var - h))
    _, d1, d2 = blurred(*case)[:3]
    # dP/dvar = P''/2, here for log P
    assert_allclose((there - back) / (2 * h), 0.5 * (d2 + d1**2), rtol=1e-7)


@pytest.mark.parametrize("case", BLURS)
def test_a_variance_of_zero_leaves_the_point(case):
    lower, upper, mean, _, noise = case
    rows = blurred(lower, upper, mean, 0.0, noise)
    assert_allclose(rows[:JET], jet(PROBIT, lower, upper, mean, noise), rtol=1e-15)
    assert rows[JET] == 1.0


@pytest.mark.parametrize("var", [1e-8, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("width", [1e-9, 1e-3, 1.0, INF])
@pytest.mark.parametrize("mean", [-2.0, 0.3])
def test_shrinkage_keeps_its_digits_when_almost_nothing_is_left(var, width, mean):
    lower, upper, noise = 0.0, width, 1e-3
    with mp.workdps(120):
        wide = mp.sqrt(mpf(noise) ** 2 + mpf(var))
        expected = float(1 + mpf(var) * reference(PROBIT, lower, upper, mean, wide)[2])
    assert 0 < expected <= 1
    assert blurred(lower, upper, mean, var, noise)[JET] == pytest.approx(expected, rel=5e-13)


# ------------------------------------------------------------ logistic noise, blurred


def logistic_rows(n, seed=0):
    """Intervals, latent means and variances, for noise of 0.7."""
    rng = np.random.default_rng(seed)
    lower = rng.normal(0, 2, n)
    upper = lower + 0.05 + rng.exponential(1.5, n)
    lower[: n // 4], upper[n // 4 : n // 2] = -INF, INF
    return lower, upper, rng.normal(0, 3, n), np.exp(rng.normal(0, 1.5, n))


def test_eight_normals_have_the_tail_of_the_logistic():
    _, sigma, weight = PARTS[LOGIT]
    assert weight.sum() == pytest.approx(1.0, abs=1e-15)
    z = np.linspace(-30, 0, 3001)
    assert_allclose(ndtr(z[:, None] / sigma) @ weight, expit(z), rtol=4e-4)


def test_blurred_logistic_noise_agrees_with_40_digits_of_its_mixture():
    rows = logistic_rows(12)
    found = blurred_jets(LOGIT, *rows, 0.7)
    for i, (lower, upper, mean, var) in enumerate(zip(*rows, strict=True)):
        with mp.workdps(40):
            points = [mpf(mean) + k * mpf("1e-6") for k in range(-2, 3)]
            p = [mixture_probability(lower, upper, f, var, mpf("0.7")) for f in points]
            log_p = [mp.log(x) for x in p]
            d1 = (8 * (log_p[3] - log_p[1]) - log_p[4] + log_p[0]) / mpf("12e-6")
            d2 = (log_p[3] + log_p[1] - 2 * log_p[2]) / mpf("1e-12")
        assert found[0, i] == pytest.approx(float(log_p[2]), rel=1e-12, abs=1e-14)
        assert found[1, i] == pytest.approx(float(d1), rel=1e-11)
        # The plain second difference is off by h^2 times the fourth derivative.
        assert found[2, i] == pytest.approx(float(min(d2, 0)), rel=1e-9, abs=1e-10)


def mixture_probability(lower, upper, mean, var, noise):
    total = mpf(0)
    for sigma, weight in PARTS[LOGIT][1:].T:
        wide = mp.sqrt((noise * mpf(sigma)) ** 2 + mpf(var))
        l, u = (mpf(lower) - mean) / wide, (mpf(upper) - mean) / wide  # noqa: E741
        total += mpf(weight) * (mp.ncdf(u) - mp.ncdf(l))
    return total


def test_blurred_logistic_rows_are_derivatives_of_the_rows_before_them():
    rows, noise, h = logistic_rows(400), 0.7, 1e-5
    lower, upper, mean, var = rows
    jets = blurred_jets(LOGIT, *rows, noise)
    straight = jets[2] < 0  # else the bound of the curvature was met
    moves = {
        1: lambda e: blurred_jets(LOGIT, lower, upper, mean + e, var, noise),
        5: lambda e: blurred_jets(LOGIT, lower, upper + e, mean, var, noise),
        8: lambda e: blurred_jets(LOGIT, *rows, noise * np.exp(e)),
    }
    for first, moved in moves.items():
        slopes = (moved(h) - moved(-h)) / (2 * h)
        for k in range(4 if first == 1 else 3):
            ours, theirs = jets[first + k, straight], slopes[k, straight]
            # A width of 0.05 is moved by 2e-4 of itself: differences err by 1e-8 of 20 there.
            assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7 if first != 5 else 1e-6)
    assert_allclose(jets[JET], 1 + var * jets[2], rtol=0, atol=1e-13)
    assert straight.mean() > 0.9


def test_blurred_logistic_noise_is_log_concave_with_bounded_curvature():
    z = np.linspace(-40, 40, 801)
    for width in (0.01, 1.0, 4.0):
        for var in (0.0, 0.3, 5.0):
            jets = blurred_jets(LOGIT, z, z + width, 0 * z, np.full(z.size, var), 1.0)
            assert np.all((jets[2] <= 0) & (jets[2] >= -0.5) & (jets[JET] <= 1))


def test_blurred_logistic_noise_is_a_number_where_squares_overflow():
    jets = blurred_jets(LOGIT, *np.array([[1e160], [INF], [0.0], [1.0]]), 1.0)
    assert jets[0] == -INF
    assert not np.any(np.isnan(jets))
