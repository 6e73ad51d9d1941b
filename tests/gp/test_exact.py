"""The engines against the truth: published digits, integrals, long sampling, classification."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from ordinality._numerics import LOGIT, PARTS
from ordinality.gp.criteria import ENGINES, Objective
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.posterior.observations import Predictor
from ordinality.kernels import Gaussian

SMOOTH = 1.5 * Gaussian([1.0, 2.0])

each_link = pytest.mark.parametrize("link", ["probit", "logit"])
published = pytest.mark.parametrize(
    "case", [0, 1, 2], ids=["n6_r3", "n7_low_noise", "n6_binary"]
)
published_engine = pytest.mark.parametrize("engine", ["laplace", "ep"])


def from_vectors(case, engine):
    """A published problem; the signal variance is the first parameter of its kernel."""
    length_scale = np.exp(-0.5 * np.array(case["log_kappa"]))
    thresholds = case["b1"] + np.cumsum([0.0, *np.exp(case["log_delta"])])
    return Objective(
        np.array(case["X"]),
        np.array(case["y"]) - 1,
        np.ones(len(case["y"])),
        np.exp(case["log_sf2"]) * Gaussian(length_scale),
        Ordinal(thresholds, np.exp(case["log_s"])),
        engine=engine,
        tol=1e-18 if engine == "laplace" else 1e-12,
    )


def floats(values):
    return np.array(values, dtype=float)


def between(cdf, lower, upper):
    """Probability of an interval; in the right tail from the left, where digits are kept."""
    return np.where(lower > 0, cdf(-lower) - cdf(-upper), cdf(upper) - cdf(lower))


def logistic_mixture(z):
    """What stands for logistic noise where the weight is one."""
    _, sigma, weight = PARTS[LOGIT]
    return ndtr(z[:, None] / sigma) @ weight


# Published values, 40-digit arithmetic


@published_engine
@published
def test_evidence_and_gradient_are_the_published_ones(vectors, case, engine):
    case = vectors["gpor"][case]
    problem = from_vectors(case, engine)
    found = problem.evaluate(problem.theta)
    d = len(case["log_kappa"])
    # Published order: log kappa = -2 log length scale, log sf2, then the likelihood as ours.
    variance, scales, rest = np.split(found.gradient, [1, 1 + d])
    gradient = np.concatenate([-0.5 * scales, variance, rest])
    assert found.value == pytest.approx(float(case[engine]["log_evidence"]), abs=1e-9)
    np.testing.assert_allclose(gradient, floats(case[engine]["grad"]), rtol=0, atol=1e-9)


@published
def test_sites_and_moments_are_the_published_ones(vectors, solve, case):
    case = vectors["gpor"][case]
    ep, laplace = (solve(from_vectors(case, engine)) for engine in ("ep", "laplace"))
    pairs = [
        (ep.tau, case["ep"]["site_precision"]),
        (ep.nu, case["ep"]["site_linear"]),
        (ep.mean, case["ep"]["mean"]),
        (ep.var, case["ep"]["var"]),
        (laplace.mean, case["laplace"]["f_map"]),
        (laplace.tau, case["laplace"]["W"]),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, floats(theirs), rtol=0, atol=1e-9)


@published_engine
@published
def test_predictions_and_leave_one_out_are_the_published_ones(vectors, solve, case, engine):
    case = vectors["gpor"][case]
    problem, X_new = from_vectors(case, engine), np.array(case["X_test"])
    a, likelihood, kernel = solve(problem), problem.likelihood, problem.kernel
    predictor = Predictor.from_sites(kernel(problem.X), a.tau, a.nu)
    mean, var = predictor.latent(kernel(X_new, problem.X), kernel.diag(X_new))
    theirs = case[f"predict_{engine}"]
    left_out = likelihood.log_expected(problem.y, a.cavity_mean, a.cavity_var).value
    np.testing.assert_allclose(mean, theirs["mean"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(var, theirs["var"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(likelihood.proba(mean, var), theirs["probs"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(left_out, case[engine]["loo_log_pred"], rtol=0, atol=1e-9)


# Nothing approximated: integrals over the latent values


@pytest.mark.parametrize("case", [0, 2])
def test_published_exact_evidence_is_the_integral_found_here(vectors, exact_evidence, case):
    case = vectors["gpor"][case]
    exact = exact_evidence(from_vectors(case, "ep"), nodes=16)  # 16: within 5e-8 at six rows
    assert exact == pytest.approx(float(case["exact"]["log_evidence"]), abs=1e-7)


@published
def test_published_exact_evidence_is_above_the_bound_and_near_that_of_ep(vectors, solve, case):
    case = vectors["gpor"][case]
    exact, error = float(case["exact"]["log_evidence"]), case["exact"]["abs_error"]
    assert solve(from_vectors(case, "variational")).log_evidence < exact + error
    # The published evidences of EP are themselves off by 0.002 to 0.014.
    assert solve(from_vectors(case, "ep")).log_evidence == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("noise", "near"), [(0.1, 0.1), (0.5, 0.02), (2.0, 0.002)])
def test_bound_is_below_and_ep_near_the_exact_evidence(
    draw_problem, solve, exact_evidence, seed, noise, near
):
    problem = draw_problem(seed, SMOOTH, n=4, noise=noise)
    exact = exact_evidence(problem)
    error = {e: solve(replace(problem, engine=e)).log_evidence - exact for e in ENGINES}
    assert error["variational"] < 0
    assert abs(error["ep"]) < min(near, abs(error["variational"]))


@pytest.mark.parametrize("weights", [1.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_bound_is_below_the_exact_evidence_of_logistic_noise(
    draw_problem, solve, seed, weights
):
    problem = draw_problem(
        seed, SMOOTH, n=3, link="logit", engine="variational", weights=np.full(3, weights)
    )
    x, w = np.polynomial.hermite_e.hermegauss(60)
    e = np.stack(np.meshgrid(x, x, x), axis=-1).reshape(-1, 3)
    w = np.prod(np.stack(np.meshgrid(w, w, w), axis=-1).reshape(-1, 3), axis=1) / w.sum() ** 3
    f = e @ np.linalg.cholesky(problem.kernel(problem.X)).T
    edges = np.concatenate([[-np.inf], problem.likelihood.thresholds, [np.inf]])
    upper, lower = edges[problem.y + 1], edges[problem.y]
    p = between(expit, (lower - f) / 0.6, (upper - f) / 0.6)
    exact = np.log(w @ np.prod(p**weights, axis=1))
    found = solve(problem).log_evidence
    assert exact - 0.2 < found < exact


@each_link
@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_one_observation_gives_exact_moments_under_ep(solve, link, weight, level):
    problem = Objective(
        np.zeros((1, 1)), np.array([level]), np.array([weight]), 2.3 * Gaussian(),
        Ordinal(np.array([-0.4, 0.5]), 0.3, link), tol=1e-12,
    )  # fmt: skip
    # The trapezoidal rule is exact to rounding for functions that vanish at both ends.
    f = np.linspace(-15.0, 15.0, 20001)
    cdf = ndtr if link == "probit" else expit if weight < 1 else logistic_mixture
    edges = np.array([-np.inf, -0.4, 0.5, np.inf])
    p = between(cdf, (edges[level] - f) / 0.3, (edges[level + 1] - f) / 0.3)
    density = p**weight * norm.pdf(f, scale=np.sqrt(2.3))
    density, evidence = density / density.sum(), density.sum() * (f[1] - f[0])
    mean = density @ f
    a = solve(problem)
    assert a.log_evidence == pytest.approx(np.log(evidence), abs=1e-10)
    assert a.mean[0] == pytest.approx(mean, abs=1e-10)
    assert a.var[0] == pytest.approx(density @ (f - mean) ** 2, abs=1e-10)


def test_ep_agrees_with_long_sampling_where_laplace_does_not(draw_problem, solve):
    problem = draw_problem(5, 4.0 * Gaussian([1.0, 2.0]), n=30, noise=1.0)
    chains = elliptical_slices(problem, chains=200, burn=200, keep=500, seed=0)

    def errors(engine):
        """Of means and variances, in units of the Monte-Carlo error seen between chains."""
        a = solve(replace(problem, engine=engine))
        moments = (chains - a.mean).mean(axis=1), ((chains - a.mean) ** 2).mean(axis=1) - a.var
        return [np.abs(m.mean(axis=0) / m.std(axis=0)).max() * len(m) ** 0.5 for m in moments]

    # Sixty comparisons: four standard errors would be met by chance once in 260 draws.
    assert max(errors("ep")) < 4.0
    assert min(errors("laplace")) > 6.0


def elliptical_slices(problem, chains, burn, keep, seed):
    """Samples (chains, keep, n) of the exact posterior: Murray, Adams & MacKay (2010)."""
    rng, n = np.random.default_rng(seed), len(problem.y)
    edges = np.concatenate([[-np.inf], problem.likelihood.thresholds, [np.inf]])
    lower, upper, s = edges[problem.y], edges[problem.y + 1], problem.likelihood.noise
    L = np.linalg.cholesky(problem.kernel(problem.X) + 1e-10 * np.eye(n))

    def log_p(f):
        with np.errstate(divide="ignore"):  # outside by many deviations: never accepted
            return np.log(between(ndtr, (lower - f) / s, (upper - f) / s)).sum(axis=1)

    f, kept = np.zeros((chains, n)), []
    for _ in range(burn + keep):
        other = rng.normal(size=(chains, n)) @ L.T
        floor = log_p(f) + np.log(rng.uniform(size=chains))
        angle = rng.uniform(0.0, 2 * np.pi, chains)
        low, high, new, todo = angle - 2 * np.pi, angle.copy(), f.copy(), np.arange(chains)
        while todo.size:
            t = angle[todo, None]
            new[todo] = f[todo] * np.cos(t) + other[todo] * np.sin(t)
            todo = todo[log_p(new[todo]) < floor[todo]]
            low[todo] = np.where(angle[todo] < 0, angle[todo], low[todo])
            high[todo] = np.where(angle[todo] < 0, high[todo], angle[todo])
            angle[todo] = rng.uniform(low[todo], high[todo])
        f = new
        kept.append(f)
    return np.stack(kept[burn:], axis=1)


# Two levels are classification


def test_two_levels_with_logistic_noise_are_laplace_classification(draw_problem, solve):
    problem = draw_problem(
        3, Gaussian([0.7, 1.5]), n=40, thresholds=(0.0,), noise=1.0, link="logit",
        engine="laplace",
    )  # fmt: skip
    theirs = GaussianProcessClassifier(RBF([0.7, 1.5]), optimizer=None).fit(
        problem.X, problem.y
    )
    a = solve(problem)
    assert a.log_evidence == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-6)
    np.testing.assert_allclose(expit(a.mean), theirs.base_estimator_.pi_, rtol=0, atol=1e-6)


def test_two_levels_with_normal_noise_are_probit_classification(draw_problem, solve):
    problem = draw_problem(4, 3.0 * Gaussian(1.0), n=15, thresholds=(0.0,), noise=1.0)
    evidence, tau, nu = probit_ep(problem.kernel(problem.X), 2.0 * problem.y - 1.0)
    a = solve(problem)
    assert a.log_evidence == pytest.approx(evidence, abs=1e-10)
    np.testing.assert_allclose(a.tau, tau, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.nu, nu, rtol=0, atol=1e-9)


def probit_ep(K, sign, sweeps=40):
    """Rasmussen & Williams (2006), algorithm 3.5, with the evidence of their equation 3.65."""
    tau, nu = np.zeros(len(K)), np.zeros(len(K))
    cov, mean = K.copy(), np.zeros(len(K))
    for _ in range(sweeps):
        for i, s in enumerate(sign):
            rest = 1.0 / cov[i, i] - tau[i]
            m, v = (mean[i] / cov[i, i] - nu[i]) / rest, 1.0 / rest
            z = s * m / np.sqrt(1.0 + v)
            ratio = norm.pdf(z) / ndtr(z)
            tilted_mean = m + s * v * ratio / np.sqrt(1.0 + v)
            tilted_var = v - v**2 * ratio / (1.0 + v) * (z + ratio)
            change = 1.0 / tilted_var - rest - tau[i]
            tau[i], nu[i] = tau[i] + change, tilted_mean / tilted_var - m / v
            cov = cov - change / (1.0 + change * cov[i, i]) * np.outer(cov[i], cov[i])
            mean = cov @ nu
    v = 1.0 / (1.0 / np.diag(cov) - tau)
    m = v * (mean / np.diag(cov) - nu)
    width, target = v + 1.0 / tau, nu / tau
    C = K + np.diag(1.0 / tau)
    evidence = np.sum(np.log(ndtr(sign * m / np.sqrt(1.0 + v))) + 0.5 * np.log(width))
    evidence += 0.5 * np.sum((m - target) ** 2 / width) - 0.5 * np.linalg.slogdet(C)[1]
    return evidence - 0.5 * target @ np.linalg.solve(C, target), tau, nu
