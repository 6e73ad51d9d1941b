"""Probabilistic least squares: moments, score and gradient against the long way round."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from ordinality.gp.design import Direct
from ordinality.gp.hyperpriors import Hyperprior
from ordinality.gp.least_squares import InducingLeastSquares, LeastSquares
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.optimise import maximise
from ordinality.gp.posterior import inducing
from ordinality.gp.posterior.inducing import Basis, Inducing
from ordinality.kernels import Linear, Matern, Precomputed
from ordinality.kernels.stationary import Gaussian


def draw(seed, kernel=None, *, n=12, levels=4, weights=None, noise=0.4, slope=1.7):
    """Ranks of a smooth function of two features, and a model for them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(f, np.arange(1, levels) / levels), f)
    thresholds = np.arange(levels - 1) + 0.5 + 0.2 * rng.uniform(-1, 1, levels - 1)
    kernel = 1.3 * Gaussian([0.8, 1.5]) if kernel is None else kernel
    weights = np.ones(n) if weights is None else np.asarray(weights)
    link = Ordinal(thresholds, 1.0 / slope)
    return LeastSquares(X, y, weights, kernel, noise, link, 0.5 * (levels - 1))


def sparse(problem, Z=6):
    """The same problem seen through points, given or as many drawn."""
    if isinstance(Z, int):
        Z = np.random.default_rng(Z).normal(size=(Z, 2))
    own = {f.name: getattr(problem, f.name) for f in fields(LeastSquares)}
    return InducingLeastSquares(**own, count=len(Z), Z=Z, fixed=True)


SMOOTH = [Gaussian(1.2), 1.3 * Gaussian([0.8, 1.5]), Linear() + 0.4 * Matern(1.2)]
each_kernel = pytest.mark.parametrize("kernel", SMOOTH, ids=repr)


def numeric_gradient(problem, theta, h=1e-4):
    """Central differences of fourth order."""
    steps = h * np.eye(len(theta))

    def value(t):
        return problem.evaluate(t).value

    return np.array(
        [
            (8 * (value(theta + s) - value(theta - s)) - value(theta + 2 * s))
            + value(theta - 2 * s)
            for s in steps
        ]
    ) / (12 * h)


@pytest.mark.parametrize("case", [0, 1])
def test_reference_values(vectors, case):
    v = vectors["plsor"][case]
    slope, centre = -v["alpha"], v["target_offset"] - 1.0  # its labels start at 1
    beta = v["beta1"] + np.concatenate([[0.0], np.cumsum(np.exp(v["log_delta"]))])
    kernel = np.exp(v["log_sf2"]) * Gaussian(np.exp(-0.5 * np.array(v["log_kappa"])))
    X, y = np.array(v["X"]), np.array(v["y"]) - 1
    link = Ordinal(beta / slope + centre, 1.0 / slope)
    noise = float(np.exp(0.5 * v["log_sn2"]))
    problem = LeastSquares(X, y, np.ones(len(y)), kernel, noise, link, centre)
    found = problem.evaluate(problem.theta)
    assert -found.value == pytest.approx(float(v["objective"]), abs=1e-9)
    np.testing.assert_allclose(found.mean - centre, np.array(v["loo_mean"], float), atol=1e-9)
    np.testing.assert_allclose(found.var, np.array(v["loo_var"], float), atol=1e-9)
    # theta: log variance, log lengths, log noise, -log slope, threshold, log gaps.
    d = X.shape[1]
    of_variance, of_noise = found.gradient[0], found.gradient[1 + d]
    of_link, of_first, *of_gaps = found.gradient[2 + d :]
    of_slope = -of_link - (beta[0] / slope) * of_first - np.sum(of_gaps)  # beta held
    mine = [
        -of_slope / slope, of_first / slope, *of_gaps,
        *(-0.5 * found.gradient[1 : 1 + d]), of_variance, 0.5 * of_noise,
    ]  # fmt: skip
    np.testing.assert_allclose(-np.array(mine), np.array(v["grad"], float), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_moments_equal_those_of_regressions_without_the_row(any_kernel, seed):
    problem = draw(seed, any_kernel)
    found = problem.evaluate(problem.theta)
    K = problem.kernel(problem.X)
    t = problem.y - problem.centre
    for i in range(len(t)):
        rest = np.arange(len(t)) != i
        noisy = K[np.ix_(rest, rest)] + problem.noise**2 * np.eye(rest.sum())
        weight = np.linalg.solve(noisy, K[rest, i])
        assert found.mean[i] == pytest.approx(weight @ t[rest] + problem.centre, abs=1e-10)
        var = K[i, i] - weight @ K[rest, i] + problem.noise**2
        assert found.var[i] == pytest.approx(var, abs=1e-10)


def test_score_is_the_link_averaged_over_the_moments():
    problem = draw(1)
    found = problem.evaluate(problem.theta)
    edges = np.concatenate([[-np.inf], problem.likelihood.thresholds, [np.inf]])
    slope = 1.0 / problem.likelihood.noise
    total = 0.0
    for y, mean, var in zip(problem.y, found.mean, found.var, strict=True):
        sd = np.sqrt(var)

        def share(f, y=y, mean=mean, sd=sd):  # eq. 7 times the density of eq. 3
            likelihood = ndtr(slope * (edges[y + 1] - f)) - ndtr(slope * (edges[y] - f))
            return likelihood * norm.pdf(f, mean, sd)

        total += np.log(quad(share, mean - 10 * sd, mean + 10 * sd, epsabs=1e-13)[0])
    assert found.value == pytest.approx(total, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    levels=st.integers(2, 6),
    noise=st.floats(0.02, 3.0),
    slope=st.floats(0.05, 50.0),
    weighted=st.booleans(),
)
def test_gradient_agrees_with_differences(seed, levels, noise, slope, weighted):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 4.0, 12) if weighted else None
    problem = draw(seed, levels=levels, noise=noise, slope=slope, weights=weights)
    numeric = numeric_gradient(problem, problem.theta)
    exact = problem.evaluate(problem.theta).gradient
    assert np.max(np.abs(exact - numeric)) < 1e-6 * (1.0 + np.max(np.abs(numeric)))


def test_gradient_agrees_with_differences_for_every_kernel(any_kernel):
    problem = draw(3, any_kernel, weights=np.linspace(0.3, 3.0, 12))
    prior = Hyperprior(problem.theta + 0.3, np.full(len(problem.theta), 0.7))
    problem = replace(problem, prior=prior)
    numeric = numeric_gradient(problem, problem.theta)
    np.testing.assert_allclose(problem.evaluate(problem.theta).gradient, numeric, atol=1e-6)


def test_a_whole_weight_is_that_many_rows():
    weights = np.array([1, 2, 3, 1, 1, 4, 1, 2, 1, 1, 1, 1])
    weighted = draw(5, weights=weights.astype(float))
    copies = np.repeat(np.arange(12), weights)
    written = replace(
        weighted, X=weighted.X[copies], y=weighted.y[copies], weights=np.ones(len(copies))
    )
    short, long = (p.evaluate(weighted.theta) for p in (weighted, written))
    assert short.value == pytest.approx(long.value, abs=1e-9)
    np.testing.assert_allclose(short.gradient, long.gradient, atol=1e-8)
    np.testing.assert_allclose(short.mean[copies], long.mean, atol=1e-9)
    np.testing.assert_allclose(short.var[copies], long.var, atol=1e-9)
    new = np.random.default_rng(0).normal(size=(5, 2))
    kernel = weighted.kernel
    latents = [
        p.predictor(p.theta).latent(kernel(new, p.X), kernel.diag(new))
        for p in (weighted, written)
    ]
    np.testing.assert_allclose(*latents, atol=1e-10)


def test_less_than_a_row_is_left_out_whole():
    weights = np.ones(12)
    weights[4] = 0.25
    problem = draw(6, weights=weights)
    found = problem.evaluate(problem.theta)
    rest = np.arange(12) != 4
    K, t = problem.kernel(problem.X), problem.y - problem.centre
    noisy = K[np.ix_(rest, rest)] + problem.noise**2 * np.eye(11)
    weight = np.linalg.solve(noisy, K[rest, 4])
    assert found.mean[4] == pytest.approx(weight @ t[rest] + problem.centre, abs=1e-10)
    expected = K[4, 4] - weight @ K[rest, 4] + problem.noise**2  # of one whole new row
    assert found.var[4] == pytest.approx(expected, abs=1e-10)


def test_prediction_is_regression_on_the_ranks():
    problem = draw(7)
    new = np.random.default_rng(1).normal(size=(6, 2))
    kernel = problem.kernel
    cross = kernel(new, problem.X)
    mean, var = problem.predictor(problem.theta).latent(cross, kernel.diag(new))
    noisy = kernel(problem.X) + problem.noise**2 * np.eye(12)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(noisy, problem.y - 1.5))
    explained = np.einsum("ij,ij->i", cross, np.linalg.solve(noisy, cross.T).T)
    np.testing.assert_allclose(var, kernel.diag(new) - explained, atol=1e-12)


def test_scores_of_one_sign_need_one_product_only():
    # Ranks that the regression explains exactly, and a link so flat that nothing is learnt
    # from the variances' sign: every diagonal derivative points one way, either way.
    for slope in (0.01, 30.0):
        problem = draw(8, levels=2, noise=2.0, slope=slope)
        numeric = numeric_gradient(problem, problem.theta)
        np.testing.assert_allclose(problem.evaluate(problem.theta).gradient, numeric, atol=1e-6)


def test_rows_of_a_given_covariance_are_rows_and_columns():
    problem = draw(9)
    K = problem.kernel(problem.X)
    given = replace(problem, X=K, kernel=1.0 * Precomputed().prepared(K))
    index = np.array([8, 2, 5, 0, 11])
    a, b = (p.subset(index) for p in (problem, given))
    at = [0.0, *problem.theta[3:]]
    assert b.evaluate(np.array(at)).value == pytest.approx(a.evaluate(a.theta).value, abs=1e-10)


def test_learning_raises_the_score_and_names_its_parameters():
    problem = draw(10, n=40)
    fit = maximise(problem, gain=1e-6, max_evaluations=200)
    assert fit.best.value > problem.evaluate(problem.theta).value + 0.1
    assert problem.kinds == (
        "variance", "length_scale", "length_scale", "noise", "slope", "first_threshold",
        "gap", "gap",
    )  # fmt: skip
    assert problem.box.shape == (8, 2)
    inside = (problem.box[:, 0] < fit.best.theta) & (fit.best.theta < problem.box[:, 1])
    assert np.abs(fit.best.gradient[inside]).max() < 0.05


@each_kernel
def test_all_rows_as_points_are_the_exact_regression(kernel):
    weights = np.linspace(0.3, 3.0, 25)
    problem = draw(1, kernel, n=25, weights=weights)
    exact, found = (p.evaluate(p.theta) for p in (problem, sparse(problem, problem.X)))
    assert found.value == pytest.approx(exact.value, abs=1e-9)
    np.testing.assert_allclose(found.gradient, exact.gradient, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.mean, exact.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.var, exact.var, rtol=0, atol=1e-9)
    assert found.unexplained < 1e-9


@each_kernel
def test_points_are_the_exact_regression_of_their_covariance(kernel):
    problem = sparse(draw(2, kernel, n=25))
    prior = Inducing.of(kernel, problem.X, problem.Z, Direct())
    Q = prior.P @ prior.P.T + np.diag(prior.residual)
    assert 0.01 < problem.evaluate(problem.theta).unexplained < 0.9
    given = replace(draw(2, kernel, n=25), X=Q, kernel=Precomputed().prepared(Q))
    exact, found = (p.evaluate(p.theta) for p in (given, problem))
    assert found.value == pytest.approx(exact.value, abs=1e-9)
    np.testing.assert_allclose(found.mean, exact.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.var, exact.var, rtol=0, atol=1e-9)
    # Noise and link; the kernel of the one is given, and has no parameters.
    own = found.gradient[kernel.n_theta :]
    np.testing.assert_allclose(own, exact.gradient, rtol=0, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    levels=st.integers(2, 6),
    noise=st.floats(0.02, 3.0),
    slope=st.floats(0.05, 50.0),
    weighted=st.booleans(),
    kernel=st.sampled_from(SMOOTH),
)
def test_gradient_with_points_agrees_with_differences(
    seed, levels, noise, slope, weighted, kernel
):
    weights = np.random.default_rng(seed).uniform(0.1, 4.0, 12) if weighted else None
    problem = draw(seed, kernel, levels=levels, noise=noise, slope=slope, weights=weights)
    problem = sparse(problem)
    numeric = numeric_gradient(problem, problem.theta)
    exact = problem.evaluate(problem.theta).gradient
    assert np.max(np.abs(exact - numeric)) < 1e-6 * (1.0 + np.max(np.abs(numeric)))


def test_the_variance_given_to_close_points_moves_with_the_kernel():
    problem = draw(9, 20.0 * Gaussian([1.5, 2.5]), n=60, noise=0.012, slope=5.0)
    problem = sparse(problem, problem.X[:40])
    assert Basis.of(problem.kernel, problem.Z).jitter > 0.0
    numeric = numeric_gradient(problem, problem.theta, h=1e-3)
    exact = problem.evaluate(problem.theta).gradient
    # A condition of 1e8 leaves eight digits of a value near 1e2, divided by the step. With the
    # jitter held the derivative in the variance would be wrong by 8.
    np.testing.assert_allclose(exact, numeric, rtol=0, atol=2e-3)


def test_moments_with_points_equal_predictions_without_the_row():
    weights = np.ones(12)
    weights[4] = 0.25  # goes whole, and comes back as one row
    problem = sparse(draw(6, weights=weights))
    found, kernel = problem.evaluate(problem.theta), problem.kernel
    for i in range(12):
        rest = problem.on_rows(np.arange(12) != i)
        cross = kernel(problem.X[i : i + 1], problem.Z)
        prior = kernel.diag(problem.X[i : i + 1])
        (mean,), (var,) = rest.predictor(rest.theta).latent(cross, prior)
        assert found.mean[i] == pytest.approx(mean + problem.centre, abs=1e-10)
        assert found.var[i] == pytest.approx(var + problem.noise**2, abs=1e-10)


def test_a_whole_weight_with_points_is_that_many_rows():
    weights = np.array([1, 2, 3, 1, 1, 4, 1, 2, 1, 1, 1, 1])
    weighted = sparse(draw(5, weights=weights.astype(float)))
    copies = np.repeat(np.arange(12), weights)
    written = replace(weighted.on_rows(copies), weights=np.ones(len(copies)))
    short, long = (p.evaluate(weighted.theta) for p in (weighted, written))
    assert short.unexplained > 0.01
    assert short.value == pytest.approx(long.value, abs=1e-10)
    np.testing.assert_allclose(short.gradient, long.gradient, atol=1e-9)
    np.testing.assert_allclose(short.mean[copies], long.mean, atol=1e-10)
    np.testing.assert_allclose(short.var[copies], long.var, atol=1e-10)
    new = np.random.default_rng(0).normal(size=(5, 2))
    cross, prior = weighted.kernel(new, weighted.Z), weighted.kernel.diag(new)
    latents = [p.predictor(p.theta).latent(cross, prior) for p in (weighted, written)]
    np.testing.assert_allclose(*latents, atol=1e-12)


def test_blocks_of_rows_give_what_all_rows_at_once_give(monkeypatch):
    problem = sparse(draw(3, n=200, weights=np.linspace(0.5, 2.0, 200)))
    once = problem.evaluate(problem.theta)
    monkeypatch.setattr(inducing, "_BLOCK", 1)  # 64 rows at least
    monkeypatch.setattr(inducing, "_KEPT", 0)
    found = problem.evaluate(problem.theta)
    assert found.value == pytest.approx(once.value, abs=1e-10)
    np.testing.assert_allclose(found.gradient, once.gradient, rtol=0, atol=1e-9)


def test_rows_that_were_not_searched_are_settled_at_once():
    prior = Hyperprior(np.full(8, 0.1), np.full(8, 0.7))
    problem = replace(sparse(draw(4, n=60)), prior=prior)
    some = problem.on_rows(np.arange(20)).evaluate(problem.theta)
    predictor, settled = problem.settle(some)
    wanted = problem.evaluate(problem.theta)
    for name in ("value", "criterion", "unexplained", "mean", "var"):
        np.testing.assert_array_equal(getattr(settled, name), getattr(wanted, name))
    np.testing.assert_array_equal(predictor.mean, problem.predictor(problem.theta).mean)
    assert len(settled.without_rows().mean) == 0


def test_learning_with_points_starts_without_them_and_chooses_its_own():
    exact = draw(11, n=900)
    own = {f.name: getattr(exact, f.name) for f in fields(LeastSquares)}
    problem = InducingLeastSquares(**own, count=150)
    assert type(problem.subset(np.arange(300))) is LeastSquares
    assert replace(problem, count=80).near(problem.theta).Z.shape == (80, 2)
    assert replace(problem, count=500).subset(np.arange(840)).count == 210
    fit = maximise(problem)
    assert fit.path[0][0] < 900  # begins on a subset
    assert fit.best.value == pytest.approx(maximise(exact).best.value, abs=1.0)
