"""Random effects: reference vectors, exact gradients, and integrals found by brute force."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from ordinality.cumulative.effects import averaged_probabilities, variance_p_value
from ordinality.cumulative.group_factor import Term
from ordinality.cumulative.links import LINKS
from ordinality.cumulative.mixed import _Grouped, fit_mixed
from ordinality.cumulative.newton import maximise
from ordinality.cumulative.rows import Rows
from ordinality.cumulative.structures import threshold_structure

VECTORS = json.loads((Path(__file__).parents[1] / "linear-vectors.json").read_text("utf-8"))
CASES = {case["id"]: case for case in VECTORS["cases"]}

each_link = pytest.mark.parametrize("link", LINKS)


def term(labels, *columns):
    names, groups = np.unique(labels, return_inverse=True)
    return Term(groups, np.column_stack([np.ones(len(groups)), *columns]), len(names))


@dataclass(frozen=True)
class Problem:
    """Rows, sorted by level as `Rows` wants them, and the terms in the same order."""

    rows: Rows
    terms: tuple[Term, ...]


def problem(link, y, X, *terms, weights=None, offset=None, nominal=None, thresholds="flexible"):
    order, n = np.argsort(y, kind="stable"), len(y)
    rows = Rows(
        link=LINKS[link],
        structure=threshold_structure(thresholds, np.max(y) + 1),
        X=X[order],
        N=np.empty((n, 0)) if nominal is None else nominal[order],
        Z=np.empty((n, 0)),
        y=y[order],
        weights=np.ones(n) if weights is None else weights[order],
        offset=np.zeros(n) if offset is None else offset[order],
    )
    sorted_terms = (Term(t.groups[order], t.design[order], t.n_groups) for t in terms)
    return Problem(rows, tuple(sorted_terms))


def fit(model, **settings):
    return fit_mixed(model.rows, model.terms, maximise(model.rows), **settings)


def edges(thresholds, location):
    """Thresholds of each row less its latent value, between infinities."""
    n = len(location)
    inner = thresholds - location[:, None]
    return np.column_stack([np.full(n, -np.inf), inner, np.full(n, np.inf)])


@pytest.fixture(scope="module")
def wine(data_dir):
    """Ranks, (warm, yes), judges."""
    rows = np.loadtxt(
        data_dir / "ordinal" / "wine_bitterness.csv", delimiter=",", dtype=str, ndmin=2
    )
    column = {name: rows[1:, i] for i, name in enumerate(rows[0])}
    X = np.column_stack([column["temp"] == "warm", column["contact"] == "yes"]).astype(float)
    return column["target"].astype(int) - 1, X, column["judge"].astype(int)


def simulated(name):
    data = {key: np.array(values) for key, values in CASES[name]["data"].items()}
    X = np.column_stack([data["x"], data["z"]])
    if name == "simulated-slope":
        return problem("logit", data["y"] - 1, X, term(data["judge"], data["z"]))
    return problem("logit", data["y"] - 1, X, term(data["judge"]), term(data["item"]))


# ------------------------------------------------------------ reference vectors


@pytest.mark.parametrize(
    ("name", "link", "nodes"),
    [
        ("laplace", "logit", 1),
        ("aghq5", "logit", 5),
        ("aghq10", "logit", 10),
        ("probit_laplace", "probit", 1),
        ("probit_aghq10", "probit", 10),
    ],
)
def test_a_judge_of_wine_has_the_reference_effect(wine, name, link, nodes):
    y, X, judge = wine
    expected = CASES["wine-random-judge"]["expected"][name]
    found = fit(problem(link, y, X, term(judge)), nodes=nodes)
    estimate = np.concatenate([found.vector, found.log_factors])
    assert_allclose(estimate, expected["estimate"], atol=1e-8)
    assert found.log_likelihood == pytest.approx(expected["log_likelihood"], abs=1e-10)
    errors = np.sqrt(np.diag(found.covariance))
    assert_allclose(errors, expected["standard_error"], rtol=1e-6)
    assert_allclose(found.modes[0][:, 0], expected["conditional_mode"], atol=1e-8)
    deviations = np.sqrt(found.mode_covariances[0][:, 0, 0])
    assert_allclose(deviations, expected["conditional_sd"], atol=1e-8)


@pytest.mark.parametrize(
    "name", ["simulated-crossed", "simulated-crossed-edge", "simulated-slope"]
)
def test_crossed_effects_and_slopes_are_the_reference_ones(name):
    expected = CASES[name]["expected"]["laplace"]
    found = fit(simulated(name))
    estimate = np.concatenate([found.vector, found.log_factors])
    # At the edge the log of a deviation has the standard error 59: it is hardly determined.
    assert_allclose(estimate, expected["estimate"], atol=1e-6 if "edge" in name else 1e-8)
    assert found.log_likelihood == pytest.approx(expected["log_likelihood"], abs=1e-10)
    errors = np.sqrt(np.diag(found.covariance))
    assert_allclose(errors, expected["standard_error"], rtol=1e-4 if "edge" in name else 1e-6)
    for t, L in enumerate(found.factors):
        assert_allclose(L @ L.T, expected["covariance_of_effects"][t], atol=1e-6)
        assert_allclose(found.modes[t], expected["conditional_modes"][t], atol=1e-7)
        deviations = np.sqrt(np.einsum("gaa->ga", found.mode_covariances[t]))
        assert_allclose(deviations, expected["conditional_sd"][t], atol=1e-7)


@pytest.mark.parametrize(("name", "link"), [("laplace", "logit"), ("probit_laplace", "probit")])
def test_a_new_judge_is_integrated_over(wine, name, link):
    y, X, judge = wine
    expected = CASES["wine-random-judge"]["expected"][name]
    found = fit(problem(link, y, X, term(judge)))
    cells = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    mean, var = found.effects.moments([np.full(4, -1)], [np.ones((4, 1))])
    location = cells @ found.vector[4:] + mean
    proba = averaged_probabilities(LINKS[link], edges(found.vector[:4], location), var)
    assert_allclose(proba, expected["new_judge_cells"], atol=1e-8)
    mean, _ = found.effects.moments([np.zeros(1, int)], [np.ones((1, 1))])
    location = cells[3:] @ found.vector[4:] + mean
    at_mode = edges(found.vector[:4], location)
    proba = averaged_probabilities(LINKS[link], at_mode, np.zeros(1))
    assert_allclose(proba[0], expected["judge_1_warm_yes_at_mode"], atol=1e-8)


# ------------------------------------------------------------ gradients


def awkward(link, spec, K=4, n=120):
    """Rows with weights and an offset, and terms of the widths given."""
    rng = np.random.default_rng(3)
    z, groups = rng.normal(size=n), [rng.integers(0, G, n) for G, _ in spec]
    terms = [
        Term(g, np.column_stack([np.ones(n), z])[:, :r], G)
        for g, (G, r) in zip(groups, spec, strict=True)
    ]
    X = rng.normal(size=(n, 2))
    latent = X[:, 0] + sum(
        rng.normal(size=G)[g] for g, (G, _) in zip(groups, spec, strict=True)
    )
    y = np.digitize(latent + rng.logistic(size=n), np.linspace(-1.5, 1.5, K - 1))
    weights, offset = rng.integers(1, 3, n) / 1.5, 0.1 * rng.normal(size=n)
    return problem(link, y, X, *terms, weights=weights, offset=offset)


def assert_exact_gradient(model, x, nodes):
    grouped = _Grouped.of(model.rows, model.terms, nodes)
    v = np.zeros(grouped.layout.first[-1])
    gradient, h = grouped.marginal(x, v).gradient, 1e-3
    for j in range(len(x)):
        e = np.zeros(len(x))
        e[j] = h
        value = [grouped.marginal(x + k * e, v).value for k in (-2, -1, 1, 2)]
        # Order four: truncation h^4/30 times a fifth derivative, rounding 1e-13/h.
        numeric = (value[0] - 8 * value[1] + 8 * value[2] - value[3]) / (12 * h)
        assert gradient[j] == pytest.approx(numeric, rel=1e-7, abs=2e-8)


@each_link
@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        ([(9, 1)], 1),
        ([(9, 2)], 1),
        ([(9, 1), (14, 1)], 1),
        ([(9, 2), (5, 1), (7, 1)], 1),
        ([(9, 1)], 5),
        ([(9, 2)], 4),
    ],
    ids=str,
)
def test_gradients_agree_with_central_differences(link, spec, nodes):
    rng = np.random.default_rng(0)
    triangles = [
        (0.7 * np.eye(r) + 0.2)[np.tril_indices(r)] * rng.uniform(0.5, 1.5, r * (r + 1) // 2)
        for _, r in spec
    ]
    x = np.concatenate([[-1.3, 0.2, 1.4], [0.6, -0.2], *triangles])
    assert_exact_gradient(awkward(link, spec), x, nodes)


def test_gradients_are_exact_with_nominal_effects_and_few_threshold_parameters():
    model = awkward("logit", [(9, 1), (14, 1)])
    nominal = np.random.default_rng(1).normal(size=(len(model.rows.y), 1))
    for thresholds, first in (("flexible", [-1.3, 0.2, 1.4]), ("equidistant", [-1.3, 1.1])):
        rows = replace(
            model.rows,
            N=nominal,
            structure=threshold_structure(thresholds, model.rows.n_levels),
        )
        x = np.concatenate([first, 0.1 * np.arange(len(first)), [0.6, -0.2], [0.8, -0.5]])
        assert_exact_gradient(Problem(rows, model.terms), x, 1)


# ------------------------------------------------------------ integrals by brute force


def exact_log_likelihood(model, x):
    """One intercept: the integral over every group's effect, by adaptive quadrature."""
    alpha, beta, sd = np.split(x, [3, 5])
    ends = np.concatenate([[-np.inf], alpha, [np.inf]])
    eta, total = model.rows.X @ beta + model.rows.offset, 0.0
    for g in range(model.terms[0].n_groups):
        at = model.terms[0].groups == g

        def integrand(v, at=at):
            f = eta[at] + sd * v
            p = model.rows.link.cdf(ends[model.rows.y[at] + 1] - f) - model.rows.link.cdf(
                ends[model.rows.y[at]] - f
            )
            return np.prod(p ** model.rows.weights[at]) * stats.norm.pdf(v)

        total += np.log(integrate.quad(integrand, -9, 9, epsabs=0, epsrel=1e-11, limit=200)[0])
    return total


@each_link
def test_many_nodes_give_the_exact_integral(link):
    model = awkward(link, [(12, 1)], n=50)
    x = np.array([-1.3, 0.2, 1.4, 0.6, -0.2, 0.9])
    exact = exact_log_likelihood(model, x)
    errors = []
    for nodes in (1, 10, 40):
        rows = _Grouped.of(model.rows, model.terms, nodes)
        errors.append(abs(rows.marginal(x, np.zeros(12)).value - exact))
    # Cauchy noise has integrands that no polynomial follows.
    assert errors[2] < (1e-4 if link == "cauchit" else 1e-9)
    assert errors[1] < 0.1 * errors[0]


def test_two_dimensional_nodes_give_the_exact_integral():
    model = awkward("logit", [(4, 2)], n=20)
    x = np.array([-1.3, 0.2, 1.4, 0.6, -0.2, 0.9, 0.3, 0.7])
    fine = np.linspace(-8, 8, 161)  # trapezoidal: exact to rounding for such integrands
    a, b = (grid.ravel() for grid in np.meshgrid(fine, fine))
    log_prior = -0.5 * (a**2 + b**2) - np.log(2 * np.pi) + 2 * np.log(fine[1] - fine[0])
    L = np.array([[0.9, 0.0], [0.3, 0.7]])
    scaled = model.terms[0].design / np.sqrt(np.mean(model.terms[0].design ** 2, axis=0))
    ends = np.concatenate([[-np.inf], x[:3], [np.inf]])
    exact = 0.0
    for g in range(4):
        at = model.terms[0].groups == g
        f = (model.rows.X[at] @ x[3:5] + model.rows.offset[at])[:, None]
        f = f + scaled[at] @ L @ np.stack([a, b])
        y = model.rows.y[at][:, None]
        p = model.rows.link.cdf(ends[y + 1] - f) - model.rows.link.cdf(ends[y] - f)
        exact += np.log(np.sum(np.exp(log_prior + model.rows.weights[at] @ np.log(p))))
    rows = _Grouped.of(model.rows, model.terms, 20)
    assert rows.marginal(x, np.zeros(8)).value == pytest.approx(exact, abs=1e-7)


# ------------------------------------------------------------ laws


def test_a_variance_of_zero_is_found_and_is_the_model_without_the_term():
    rng, n = np.random.default_rng(5), 200
    X, group = rng.normal(size=(n, 1)), np.arange(n) % 20
    y = np.digitize(X[:, 0] + rng.logistic(size=n), [-1.0, 1.0])
    y = y[np.argsort(group, kind="stable")][np.argsort(np.argsort(group, kind="stable"))]
    found = fit(problem("logit", y, X, term(group), term(group // 5)))
    zero = [L[0, 0] == 0.0 for L in found.factors]
    assert any(zero)
    kept = [t for t, z in zip((term(group), term(group // 5)), zero, strict=True) if not z]
    if kept:
        smaller = fit(problem("logit", y, X, *kept))
        assert found.log_likelihood == pytest.approx(smaller.log_likelihood, abs=1e-9)
        assert_allclose(found.vector, smaller.vector, atol=1e-6)
    assert np.all(np.isfinite(found.covariance))
    for t, z in enumerate(zero):
        if z:
            assert np.all(found.modes[t] == 0)
            assert np.all(found.covariance[3 + t] == 0)


def test_a_weight_of_two_is_a_row_given_twice():
    model = simulated("simulated-crossed")
    twice = np.repeat(np.arange(len(model.rows.y)), 1 + (np.arange(len(model.rows.y)) % 3 == 0))
    weighted = fit(problem("logit", model.rows.y, model.rows.X, *model.terms,
                           weights=1.0 + (np.arange(len(model.rows.y)) % 3 == 0)))  # fmt: skip
    terms = [Term(t.groups[twice], t.design[twice], t.n_groups) for t in model.terms]
    repeated = fit(problem("logit", model.rows.y[twice], model.rows.X[twice], *terms))
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, abs=1e-9)
    assert_allclose(weighted.vector, repeated.vector, atol=1e-8)
    assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-5, atol=1e-9)


def test_units_of_a_slope_do_not_matter():
    model = simulated("simulated-slope")
    t = model.terms[0]
    large = Term(t.groups, t.design * [1.0, 1e4], t.n_groups)
    a, b = fit(model), fit(problem("logit", model.rows.y, model.rows.X, large))
    assert a.log_likelihood == pytest.approx(b.log_likelihood, abs=1e-9)
    assert_allclose(a.factors[0], b.factors[0] * [[1.0], [1e4]], atol=1e-8)
    scale = np.r_[np.ones(6), 1e4, 1.0]
    assert_allclose(a.covariance, b.covariance * np.outer(scale, scale), rtol=1e-5, atol=1e-8)


def test_moments_are_those_of_the_whole_covariance():
    model = simulated("simulated-crossed")
    found = fit(model)
    judge, item = model.terms
    Z = np.hstack([np.eye(9)[judge.groups], np.eye(10)[item.groups]])
    sd = [L[0, 0] for L in found.factors]
    A = Z * np.repeat(sd, [9, 10])
    b = np.concatenate([m[:, 0] for m in found.modes])
    eta = model.rows.X @ found.vector[3:] + Z @ b
    ends = np.concatenate([[-np.inf], found.vector[:3], [np.inf]])
    u, lo = ends[model.rows.y + 1] - eta, ends[model.rows.y] - eta
    W = model.rows.link.pdf(u) + model.rows.link.pdf(lo)  # of the logistic noise
    M = np.eye(19) + A.T @ (W[:, None] * A)
    # A judge and an item that never met, ones that did, and one of them new.
    groups = [np.array([0, 3, -1, 2, -1]), np.array([6, 0, 4, -1, -1])]
    mean, var = found.effects.moments(groups, [np.ones((5, 1))] * 2)
    for i, (j, k) in enumerate(zip(*groups, strict=True)):
        a, new = np.zeros(19), 0.0
        for g, at, s in ((j, 0, sd[0]), (k, 9, sd[1])):
            if g >= 0:
                a[at + g] = s
            else:
                new += s**2
        assert var[i] == pytest.approx(a @ np.linalg.solve(M, a) + new, rel=1e-9)
        expected = (found.modes[0][j, 0] if j >= 0 else 0) + (
            found.modes[1][k, 0] if k >= 0 else 0
        )
        assert mean[i] == pytest.approx(expected, abs=1e-12)


@each_link
@pytest.mark.parametrize("sd", [0.0, 0.3, 2.0, 9.0])
def test_averaged_probabilities_agree_with_adaptive_quadrature(link, sd):
    thresholds, location = np.array([-1.0, 0.3, 2.5]), 0.4
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
    rows = edges(thresholds, np.array([location]))
    found = averaged_probabilities(LINKS[link], rows, np.array([sd**2]))
    assert found.sum() == pytest.approx(1.0, abs=1e-12)

    def integrand(z, k):
        F = LINKS[link].cdf(ends - location - sd * z)
        return (F[k + 1] - F[k]) * stats.norm.pdf(z)

    points = (ends[1:-1] - location) / sd if sd else None
    for k in range(4):
        exact = integrate.quad(integrand, -9, 9, (k,), points=points, epsabs=1e-13, limit=500)[
            0
        ]
        assert found[0, k] == pytest.approx(exact, abs=1e-11)


def test_the_p_value_of_a_variance_is_halved():
    # linear-vectors.json, wine-random-judge
    expected = CASES["wine-random-judge"]["expected"]["variance_test"]
    assert variance_p_value(expected["statistic"]) == pytest.approx(expected["p_half_half"])
    assert variance_p_value(0.0) == variance_p_value(-1e-9) == 1.0
    # A slope beside an intercept: half of it has one degree of freedom, half has two.
    mixture = 0.5 * (stats.chi2.sf(3.0, 1) + stats.chi2.sf(3.0, 2))
    assert variance_p_value(3.0, variances=1, others=1) == pytest.approx(mixture)
    assert variance_p_value(3.0, variances=0, others=2) == pytest.approx(stats.chi2.sf(3.0, 2))
