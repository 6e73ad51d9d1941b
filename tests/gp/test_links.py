"""Gumbel and Student noise: distributions, jets, mirror images, moments and gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy.special import ndtr

from ordinality._numerics import (
    CLOGLOG,
    JET,
    LOGLOG,
    PARTS,
    STUDENT,
    blurred_jets,
    interval_jets,
)
from ordinality.gp.criteria import Objective
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.quadrature import expected_log_jets, log_expected_jets
from ordinality.kernels.stationary import Gaussian

INF = np.inf
NOISES = {
    "cloglog": (CLOGLOG, stats.gumbel_l),
    "loglog": (LOGLOG, stats.gumbel_r),
    "student": (STUDENT, stats.t(4)),
}
THRESHOLDS = np.array([-1.1, -0.2, 0.9, 1.4])
each_noise = pytest.mark.parametrize(("link", "noise"), NOISES.values(), ids=NOISES)
each_name = pytest.mark.parametrize("name", NOISES)


def rows(n=120, seed=0):
    """Intervals of all widths, some open, and latent values."""
    rng = np.random.default_rng(seed)
    lower = 2.0 * rng.normal(size=n)
    upper = lower + 10 ** rng.uniform(-2, 1, n)
    lower[: n // 5], upper[n // 5 : 2 * n // 5] = -INF, INF
    return lower, upper, rng.normal(size=n)


def parts_cdf(link, z):
    mean, sd, weight = PARTS[link]
    return ndtr((z[:, None] - mean) / sd) @ weight


@pytest.mark.parametrize(("name", "lowest", "highest", "error"), [
    ("cloglog", -20.0, 2.5, 2.4e-3), ("student", -60.0, 60.0, 3.2e-4),
])  # fmt: skip
def test_a_mixture_has_both_tails_of_its_noise(name, lowest, highest, error):
    link, noise = NOISES[name]
    below, above = np.linspace(lowest, 0.5, 2000), np.linspace(-1.0, highest, 2000)
    assert_allclose(parts_cdf(link, below), noise.cdf(below), rtol=error)
    mirrored = LOGLOG if link == CLOGLOG else link
    assert_allclose(parts_cdf(mirrored, -above), noise.sf(above), rtol=error)


@each_noise
def test_a_level_has_the_probability_of_its_interval(link, noise):
    lower, upper, f = rows()
    jets = interval_jets(link, lower, upper, f, 0.7)
    l, u = (lower - f) / 0.7, (upper - f) / 0.7  # noqa: E741
    p = np.where(l > 0, noise.sf(l) - noise.sf(u), noise.cdf(u) - noise.cdf(l))
    likely = p > 1e-10  # scipy's differences keep few digits below
    assert np.mean(likely) > 0.8
    assert_allclose(jets[0][likely], np.log(p[likely]), rtol=0, atol=1e-10)


@each_noise
@pytest.mark.parametrize("view", ["point", "blurred"])
def test_jets_hold_derivatives_in_mean_threshold_and_noise(link, noise, view):
    lower, upper, f = rows()

    def jets(at=0.0, top=0.0, scale=0.0):
        place = lower, upper + top, f + at
        if view == "point":
            return interval_jets(link, *place, 0.7 * np.exp(scale))
        var, s = np.full(len(f), 0.5), 0.7 * np.exp(scale)
        return blurred_jets(link, *place, var, s, concave=False)

    def slope(h=1e-3, **along):
        (step,) = along
        inner, outer = (jets(**{step: k * h}) - jets(**{step: -k * h}) for k in (1, 2))
        return (8 * inner - outer) / (12 * h)

    here = jets()
    assert_allclose(here[1:5], slope(at=1)[:4], rtol=1e-6, atol=1e-6)
    assert_allclose(here[8:11], slope(scale=1)[:3], rtol=1e-6, atol=1e-6)
    wide = upper - lower > 0.1  # the difference must not close the level
    assert_allclose(here[5:8, wide], slope(top=1)[:3, wide], rtol=1e-6, atol=1e-6)


@each_noise
def test_quadrature_of_the_noise_itself_agrees_with_its_mixture(link, noise):
    lower, upper, f = rows()
    s, var = np.full(len(f), 0.7), np.full(len(f), 0.8)
    exact = log_expected_jets(link, lower, upper, f, var, s, np.ones(len(f)))
    closed = blurred_jets(link, lower, upper, f, var, 0.7)
    same = (exact[2] < 0) == (closed[2] < 0)  # rows near the boundary may fall to either side
    likely = same & (exact[0] > np.log(1e-5))
    assert np.mean(likely) > 0.8
    # Probabilities to the error of the mixtures; derivatives lose a digit each.
    assert_allclose(closed[0][likely], exact[0][likely], rtol=0, atol=2.4e-2)
    assert_allclose(closed[1][likely], exact[1][likely], rtol=0, atol=0.05)


def integral(function, mean, sd):
    """Of the function times a normal density."""
    scale = sd * np.sqrt(2 * np.pi)
    return integrate.quad(  # SciPy's own density takes most of the time
        lambda x: function(x) * np.exp(-0.5 * ((x - mean) / sd) ** 2) / scale,
        mean - 8 * sd,
        mean + 8 * sd,
        epsabs=1e-13,
        limit=200,
    )[0]


@each_noise
def test_quadrature_agrees_with_adaptive_integration(link, noise):
    lower, upper, f = (a[::6] for a in rows())
    s, sd = np.full(len(f), 0.7), 0.5
    var, power = np.full(len(f), sd**2), np.full(len(f), 0.6)
    plain = expected_log_jets(link, lower, upper, f, var, s)[0]
    tilted = log_expected_jets(link, lower, upper, f, var, s, power)
    for i in range(len(f)):

        def log_p(x, i=i):
            return interval_jets(link, lower[[i]], upper[[i]], np.array([x]), 0.7)[0, 0]

        assert plain[i] == pytest.approx(integral(log_p, f[i], sd), rel=1e-7, abs=1e-8)
        # Elsewhere it is the tangent's, or too small for the reference.
        if tilted[2, i] < 0 and tilted[0, i] > -10:
            found = integral(lambda x, log_p=log_p: np.exp(0.6 * log_p(x)), f[i], sd)
            assert tilted[0, i] == pytest.approx(np.log(found), rel=1e-7, abs=1e-8)


def test_loglog_mirrors_cloglog():
    y, mean, var = np.arange(40) % 5, np.linspace(-2, 2, 40), np.linspace(0.1, 2.0, 40)
    one = Ordinal(THRESHOLDS, 0.6, "cloglog")
    other = Ordinal(-THRESHOLDS[::-1], 0.6, "loglog")
    assert_allclose(other.proba(-mean, var), one.proba(mean, var)[:, ::-1], rtol=1e-12)
    for view in ("point", "expected_log", "log_expected"):
        moments = (mean,) if view == "point" else (mean, var)
        here = getattr(one, view)(y, *moments).rows
        there = getattr(other, view)(4 - y, -moments[0], *moments[1:]).rows
        signs = np.array([1, -1, 1, -1, 1])[:, None]
        assert_allclose(there[:5], signs * here[:5], rtol=1e-9, atol=1e-12)


@each_name
def test_levels_share_out_all_probability_at_outliers_too(name):
    mean = np.linspace(-30, 30, 61)
    likelihood = Ordinal(THRESHOLDS, 0.3, name)
    shares = np.exp(likelihood.log_proba(mean, np.full(61, 0.4)))
    assert_allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@each_name
def test_without_noise_a_level_is_known(name):
    proba = Ordinal(THRESHOLDS, 1e-6, name).proba(np.array([0.3]), np.zeros(1))
    assert_allclose(proba[0], [0, 0, 1, 0, 0], atol=1e-12)


@each_noise
def test_no_jet_overflows_far_out(link, noise):
    lower, upper = np.array([1e120, -INF, 3.0, -1e120]), np.array([INF, -1e120, 4.0, 1e120])
    f = np.array([0.0, 0.0, 1e60, 0.0])
    assert np.all(np.isfinite(interval_jets(link, lower, upper, f, 1.0)))
    assert np.all(np.isfinite(blurred_jets(link, lower, upper, f, np.ones(4), 1.0)))


def test_an_outlier_of_student_noise_is_seen_through_its_tangent():
    lower, upper, mean, var = np.array([6.0]), np.array([INF]), np.zeros(1), np.array([0.5])
    jet = blurred_jets(STUDENT, lower, upper, mean, var, 1.0)[:, 0]
    at = mean + var * jet[1]
    tangent = interval_jets(STUDENT, lower, upper, at, 1.0)[:, 0]
    assert tangent[2] > 0  # convex there
    assert jet[1] == pytest.approx(tangent[1], rel=1e-12)
    assert jet[0] == pytest.approx(tangent[0] - 0.25 * jet[1] ** 2, rel=1e-12)
    assert (jet[2], jet[JET]) == (0.0, 1.0)
    # A tangent of a convex function lies below it; and not far.
    exact = blurred_jets(STUDENT, lower, upper, mean, var, 1.0, concave=False)[0, 0]
    assert -0.03 < jet[0] - exact < 0.0


def outliers(link, n=40, **options):
    """A smooth function in four levels, two labels of it at the wrong end."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    thresholds = np.array([-0.6, 0.0, 0.6])
    y = np.searchsorted(thresholds, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n))
    low, high = np.argsort(X[:, 0])[[n // 5, -n // 5]]
    y[low], y[high] = 3, 0
    likelihood = Ordinal(thresholds, 0.3, link)
    options = {"weights": np.ones(n), "tol": 1e-12} | options
    return Objective(X, y, kernel=Gaussian(1.5), likelihood=likelihood, **options)


@each_name
def test_the_gradient_of_the_evidence_is_exact_with_outliers(name, assert_gradient_is_exact):
    problem = outliers(name)
    tau = problem.evaluate(problem.theta).approximation.tau
    assert (name == "student") == bool(np.any(tau == 0.0))
    assert_gradient_is_exact(problem, step=5e-4, rel=1e-6)


def test_the_gradient_is_exact_with_weights_below_one(assert_gradient_is_exact):
    assert_gradient_is_exact(outliers("student", weights=np.full(40, 0.7)), 5e-4, 1e-6)


@pytest.mark.parametrize("engine", ["laplace", "variational"])
@pytest.mark.parametrize("link", ["cloglog", "loglog"])
def test_gumbel_noise_serves_every_engine(engine, link, assert_gradient_is_exact):
    tol = 1e-18 if engine == "laplace" else 1e-12
    assert_gradient_is_exact(outliers(link, engine=engine, tol=tol), 5e-4, 1e-6)


@each_noise
def test_one_observation_has_the_moments_of_its_posterior(link, noise):
    s, v = 0.6, 0.9
    jet = blurred_jets(link, *np.array([[0.2], [1.1], [0.3], [v]]), s)[:, 0]

    def p(x):
        return noise.cdf((1.1 - x) / s) - noise.cdf((0.2 - x) / s)

    prior = stats.norm(0.3, np.sqrt(v)).pdf
    m = [integrate.quad(lambda x, k=k: x**k * p(x) * prior(x), -7, 7)[0] for k in range(3)]
    mean, var = m[1] / m[0], m[2] / m[0] - (m[1] / m[0]) ** 2
    assert jet[0] == pytest.approx(np.log(m[0]), abs=2.4e-3)
    assert 0.3 + v * jet[1] == pytest.approx(mean, abs=2e-3)
    assert v * jet[JET] == pytest.approx(var, rel=5e-3)
