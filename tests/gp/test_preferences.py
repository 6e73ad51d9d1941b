"""The engines on comparisons: published digits, integrals, and laws of preferences."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from ordinality.gp import ep as ep_module
from ordinality.gp.criteria import ENGINES, Objective
from ordinality.gp.design import Combinations, Differences, Direct
from ordinality.gp.likelihoods import Ordinal, Several, Symmetric
from ordinality.gp.posterior import choose, precision
from ordinality.kernels import Gaussian

TIGHT = {"laplace": 1e-18, "ep": 1e-12, "variational": 1e-12}
SMOOTH = 1.5 * Gaussian([1.0, 2.0])
# Observations for each latent value, and digits of the prior, from which a form is taken.
FORMS = {"observations": (np.inf, 0.0), "whitened": (0.0, np.inf), "precision": (0.0, 1e-7)}

each_engine = pytest.mark.parametrize("engine", ENGINES)
published_engine = pytest.mark.parametrize("engine", ["laplace", "ep"])
published = pytest.mark.parametrize("case", [0, 1], ids=["m<n", "m>n"])


@pytest.fixture(params=FORMS)
def each_form(request, monkeypatch):
    """All problems of the test in one form, whatever their size."""
    take(monkeypatch, request.param)


def take(monkeypatch, form):
    tall, condition = FORMS[form]
    monkeypatch.setattr(choose, "_TALL", tall)
    monkeypatch.setattr(precision, "_CONDITION", condition)


def in_form(monkeypatch, form, problem):
    take(monkeypatch, form)
    return problem.evaluate(problem.theta)


def from_vectors(case, engine):
    """A published problem; the signal variance is the first parameter of its kernel."""
    X, pairs = np.array(case["X"]), np.array(case["pairs"])
    return Objective(
        X,
        np.ones(len(pairs), dtype=int),
        np.ones(len(pairs)),
        np.exp(case["log_sf2"]) * Gaussian(np.exp(-0.5 * np.array(case["log_kappa"]))),
        Symmetric.of(sigma=np.exp(case["log_sigma"])),
        engine=engine,
        tol=TIGHT[engine],
        design=Differences(pairs, len(X)),
    )


def draw(engine, *, n=7, m=10, seed=0, likelihood=None, kernel=SMOOTH, **options):
    """Random pairs of random items, judged by the model itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    likelihood = Symmetric.of([0.4], ties=True, sigma=0.5) if likelihood is None else likelihood
    f = np.linalg.cholesky(kernel(X) + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    h = f[pairs[:, 0]] - f[pairs[:, 1]] + likelihood.noise * rng.normal(size=m)
    y = np.searchsorted(likelihood.thresholds, h)
    options = {"weights": np.ones(m), "tol": TIGHT[engine]} | options
    return Objective(
        X, y, kernel=kernel, likelihood=likelihood, engine=engine, design=Differences(pairs, n),
        **options,
    )  # fmt: skip


def mixed(engine, *, n=7, seed=0):
    """Ratings in four levels, a judge with five grades and one who only says which."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = np.linalg.cholesky(SMOOTH(X)) @ rng.normal(size=n)
    parts = (
        Ordinal(np.array([-0.7, 0.2, 0.9]), 0.6),
        Symmetric.of([0.3, 0.8], ties=True, sigma=0.4),
        Symmetric.of(sigma=0.8),
    )
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(12)])
    rated = np.column_stack([rng.integers(n, size=6), np.zeros(6, dtype=int)])
    value = np.repeat([[1.0, 0.0], [1.0, -1.0]], [6, 12], axis=0)
    design = Combinations(np.concatenate([rated, pairs]), value, n)
    kind = np.repeat([0, 1, 2], [6, 7, 5])
    likelihood = Several(parts, kind)
    h = design.see(f) + likelihood.noise * rng.normal(size=18)
    y = np.array(
        [np.searchsorted(parts[k].thresholds, v) for k, v in zip(kind, h, strict=True)]
    )
    weights = rng.uniform(0.5, 2.5, 18)
    return Objective(
        X, y, weights, SMOOTH, likelihood, engine=engine, tol=TIGHT[engine], design=design
    )


# Published values


@published_engine
@published
def test_evidence_and_gradient_are_the_published_ones(vectors, each_form, case, engine):
    case = vectors["preference"][case]
    problem = from_vectors(case, engine)
    found = problem.evaluate(problem.theta)
    # Published order: log kappa = -2 log length scale, log sf2, log sigma.
    variance, scales, sigma = np.split(found.gradient, [1, 1 + len(case["log_kappa"])])
    gradient = np.concatenate([-0.5 * scales, variance, sigma])
    assert found.value == pytest.approx(float(case[f"log_evidence_{engine}"]), abs=1e-9)
    np.testing.assert_allclose(
        gradient, np.array(case[f"grad_{engine}"], dtype=float), rtol=0, atol=1e-9
    )


@published
def test_mode_pull_and_probability_are_the_published_ones(vectors, each_form, case):
    case = vectors["preference"][case]
    problem = from_vectors(case, "laplace")
    a, K = problem.evaluate(problem.theta).approximation, problem.kernel(problem.X)
    f_map, beta = (np.array(case[name], dtype=float) for name in ("f_map", "beta"))
    np.testing.assert_allclose(problem.design.gather(a.alpha), beta, rtol=0, atol=1e-9)
    np.testing.assert_allclose(K @ problem.design.gather(a.alpha), f_map, rtol=0, atol=1e-9)
    asked = case["train_pair_prob"]
    prior = choose.prior_of(problem.design, K).given(a.tau).inverted()
    zero = np.zeros(len(a.tau))
    G = -2 * prior.evidence_gradient(zero, zero)
    t = K[asked["pair"][0]] - K[asked["pair"][1]]
    pair = Differences([asked["pair"]], len(K))
    variance = pair.variances(K)[0] - t @ G @ t + problem.likelihood.noise**2
    assert ndtr(pair.see(f_map)[0] / np.sqrt(variance)) == pytest.approx(
        asked["laplace"], abs=1e-9
    )


@published
def test_published_exact_evidence_is_above_the_bound_and_near_that_of_ep(vectors, case):
    case = vectors["preference"][case]
    exact = float(case["exact"]["log_evidence"])
    bound, ep = (
        problem.evaluate(problem.theta).value
        for problem in (from_vectors(case, engine) for engine in ("variational", "ep"))
    )
    assert bound < exact
    assert ep == pytest.approx(exact, abs=2e-3)  # the published evidence of EP is as far off


# Nothing approximated


@pytest.mark.parametrize("likelihood", [Symmetric.of(), Symmetric.of([0.5], ties=True)])
def test_moments_of_ep_are_near_those_of_the_integral(each_form, likelihood):
    problem = draw("ep", n=3, m=6, likelihood=likelihood)
    K = problem.kernel(problem.X)
    x, w = np.polynomial.hermite_e.hermegauss(48)
    e = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    weight = (w[:, None, None] * w[:, None] * w).ravel()
    h = problem.design.see((e @ np.linalg.cholesky(K).T).T)  # (m, nodes)
    for y, row in zip(problem.y, h, strict=True):
        weight = weight * likelihood.proba(row, np.zeros_like(row))[:, y]
    weight /= weight.sum()
    mean = h @ weight
    var = (h - mean[:, None]) ** 2 @ weight
    a = problem.evaluate(problem.theta).approximation
    np.testing.assert_allclose(a.mean, mean, rtol=0, atol=0.01)
    np.testing.assert_allclose(a.var, var, rtol=0.03)


def test_one_comparison_has_the_exact_moments_under_ep(each_form):
    problem = draw("ep", n=2, m=1, likelihood=Symmetric.of(sigma=0.4))
    a = problem.evaluate(problem.theta).approximation
    prior = problem.design.variances(problem.kernel(problem.X))[0]
    width = np.sqrt(prior + problem.likelihood.noise**2)
    sign = 1.0 if problem.y[0] else -1.0
    # The skew normal: mean prior / width sqrt(2 / pi).
    assert a.log_evidence == pytest.approx(np.log(0.5), abs=1e-12)
    assert a.mean[0] == pytest.approx(sign * prior / width * np.sqrt(2 / np.pi), abs=1e-10)
    assert a.var[0] == pytest.approx(prior - (prior / width) ** 2 * 2 / np.pi, abs=1e-10)


# Gradients and forms


@each_engine
def test_gradients_are_exact_for_every_kind_of_observation(
    assert_gradient_is_exact, each_form, engine
):
    assert_gradient_is_exact(mixed(engine))


@each_engine
@pytest.mark.parametrize("m", [4, 30])
def test_gradients_of_comparisons_are_exact(assert_gradient_is_exact, each_form, engine, m):
    assert_gradient_is_exact(draw(engine, m=m, seed=m))


@each_engine
@pytest.mark.parametrize("problem", [mixed, draw], ids=["mixed", "comparisons"])
@pytest.mark.parametrize("form", ["whitened", "precision"])
def test_all_forms_are_the_same_posterior(monkeypatch, engine, problem, form):
    problem = problem(engine)
    one, other = (in_form(monkeypatch, each, problem) for each in ("observations", form))
    assert one.value == pytest.approx(other.value, abs=1e-9)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=0, atol=1e-9)
    for name in ("tau", "nu", "mean", "var", "alpha", "cavity_mean", "cavity_var"):
        ours, theirs = (getattr(found.approximation, name) for found in (one, other))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9, err_msg=name)


@each_engine
def test_noise_and_kernel_variance_share_one_scale(each_form, engine):
    problem = draw(engine)
    gradient = problem.evaluate(problem.theta).gradient
    # theta: log variance, two log length scales, log sigma, log tie width
    assert gradient @ [2.0, 0.0, 0.0, 1.0, 1.0] == pytest.approx(0.0, abs=1e-9)


@each_engine
@pytest.mark.parametrize("form", ["whitened", "precision"])
def test_little_noise_leaves_the_forms_in_agreement(monkeypatch, engine, form):
    problem = draw(engine, m=25, likelihood=Symmetric.of(sigma=0.01), tol=1e-9, max_iter=2000)
    one, other = (in_form(monkeypatch, each, problem) for each in ("observations", form))
    assert one.approximation.converged
    assert other.approximation.converged
    assert one.value == pytest.approx(other.value, abs=1e-7)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-6, atol=1e-6)


# Laws of preferences


@each_engine
def test_swapping_sides_and_reversing_answers_changes_nothing(each_form, engine):
    problem = draw(engine)
    pairs = problem.design.index[:, ::-1]
    swapped = replace(problem, y=2 - problem.y, design=Differences(pairs, 7))
    one, other = (p.evaluate(p.theta) for p in (problem, swapped))
    assert one.value == pytest.approx(other.value, abs=1e-11)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        one.approximation.mean, -other.approximation.mean, rtol=0, atol=1e-10
    )


@each_engine
def test_relabelling_items_changes_nothing_that_is_seen(each_form, engine):
    problem = draw(engine)
    order = np.random.default_rng(0).permutation(7)
    moved = replace(
        problem, X=problem.X[order], design=problem.design.renumbered(np.argsort(order))
    )
    one, other = (p.evaluate(p.theta) for p in (problem, moved))
    assert one.value == pytest.approx(other.value, abs=1e-11)
    np.testing.assert_allclose(
        one.approximation.mean, other.approximation.mean, rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=0, atol=1e-9)


@each_engine
def test_a_repeated_answer_is_one_answer_with_a_weight(each_form, engine):
    problem = draw(engine, m=6)
    copies = np.array([1, 3, 1, 2, 1, 4])
    weighted = replace(problem, weights=copies.astype(float))
    index = np.repeat(np.arange(6), copies)
    repeated = replace(
        problem, design=problem.design.take(index), y=problem.y[index], weights=np.ones(12)
    )
    one, many = (p.evaluate(p.theta) for p in (weighted, repeated))
    assert one.value == pytest.approx(many.value, abs=1e-9)
    np.testing.assert_allclose(one.gradient, many.gradient, rtol=0, atol=1e-8)


@each_engine
def test_comparisons_that_do_not_connect_are_independent_where_the_prior_is(each_form, engine):
    whole = draw(engine, n=8, m=12, seed=3)
    pairs = whole.design.index % 4 + 4 * (np.arange(12) % 2)[:, None]
    pairs[:, 1] = np.where(pairs[:, 0] == pairs[:, 1], pairs[:, 0] ^ 1, pairs[:, 1])
    X = np.repeat([[0.0, 0.0], [90.0, 90.0]], 4, axis=0) + 0.3 * whole.X
    whole = replace(whole, X=X, design=Differences(pairs, 8))
    parts = [whole.subset(np.flatnonzero(np.arange(12) % 2 == i)) for i in (0, 1)]
    total = sum(p.evaluate(p.theta).value for p in parts)
    assert whole.evaluate(whole.theta).value == pytest.approx(total, abs=1e-9)


@each_engine
def test_items_that_are_the_same_may_be_compared(each_form, engine):
    problem = draw(engine, n=6, m=14)
    X = problem.X.copy()
    X[3] = X[0]  # K is singular
    pairs = problem.design.index.copy()
    pairs[0] = 0, 3
    same = replace(problem, X=X, design=Differences(pairs, 6))
    merged = replace(same, design=same.design.renumbered(np.array([0, 1, 2, 0, 4, 5])))
    one, other = (p.evaluate(p.theta) for p in (same, merged))
    assert one.approximation.converged
    assert one.value == pytest.approx(other.value, abs=1e-9)
    assert one.approximation.var[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=0, atol=1e-9)


@each_engine
def test_a_certain_tie_pulls_two_items_together(each_form, engine):
    problem = draw(engine, n=5, m=8, seed=1)
    pairs = np.vstack([problem.design.index, [0, 1]])
    tied = replace(
        problem,
        y=np.append(problem.y, 1),
        weights=np.append(problem.weights, 200.0),  # said again and again
        likelihood=Symmetric.of([1e-3], ties=True, sigma=0.5),
        design=Differences(pairs, 5),
    )
    a = tied.evaluate(tied.theta).approximation
    assert abs(a.mean[-1]) < 0.05 < np.abs(a.mean[:-1]).max()
    assert a.var[-1] < 0.01


@pytest.mark.parametrize("weights", [1.0, 2.0])
def test_sweeps_end_where_all_at_once_ends(monkeypatch, each_form, weights):
    problem = draw("ep", m=14, weights=np.full(14, weights), tol=1e-10)
    together = problem.evaluate(problem.theta)
    monkeypatch.setattr(ep_module, "_PARALLEL", 1)
    apart = problem.evaluate(problem.theta)
    assert apart.approximation.converged
    assert apart.value == pytest.approx(together.value, abs=1e-10)
    np.testing.assert_allclose(apart.gradient, together.gradient, rtol=0, atol=1e-7)


def test_sweeps_know_the_kind_of_each_observation(monkeypatch, each_form):
    problem = replace(mixed("ep"), weights=np.ones(18), tol=1e-10)
    together = problem.evaluate(problem.theta)
    monkeypatch.setattr(ep_module, "_PARALLEL", 1)
    apart = problem.evaluate(problem.theta)
    assert apart.approximation.converged
    assert apart.value == pytest.approx(together.value, abs=1e-10)


@each_engine
def test_a_warm_start_takes_fewer_iterations(each_form, engine):
    problem = draw(engine, m=20)
    cold = problem.evaluate(problem.theta + 0.02)
    warm = problem.evaluate(problem.theta + 0.02, problem.evaluate(problem.theta).start)
    assert warm.approximation.n_iter < cold.approximation.n_iter
    assert warm.value == pytest.approx(cold.value, abs=1e-9)


# Label preferences: several latent values of each input, stacked


def label_pairs(n, L, seed=0):
    """For every input a ranking of L labels as its L - 1 consecutive preferences."""
    rng = np.random.default_rng(seed)
    rankings = [rng.permutation(L) for _ in range(n)]
    return np.array([(i, a, b) for i, r in enumerate(rankings) for a, b in pairwise(r)])


@each_engine
def test_a_contrast_basis_leaves_the_evidence_of_label_preferences(each_form, engine):
    n, L = 6, 4
    X = np.random.default_rng(0).normal(size=(n, 2))
    K, edges = SMOOTH(X), label_pairs(n, L)
    i, a, b = edges.T
    likelihood, y = Symmetric.of(sigma=0.5), np.ones(len(edges), dtype=int)
    stacked = Differences(np.column_stack([a * n + i, b * n + i]), n * L)
    # Orthonormal columns that sum to zero: the mean of an input's labels is never seen.
    H = np.linalg.qr(np.column_stack([np.ones(L), np.eye(L)[:, 1:]]))[0][:, 1:]
    index = np.arange(L - 1) * n + i[:, None]
    contrasts = Combinations(index, H[a] - H[b], n * (L - 1))
    one, other = (
        ENGINES[engine](
            choose.prior_of(design, np.kron(np.eye(k), K), likelihood.max_precision),
            likelihood,
            y,
            tol=TIGHT[engine],
        )
        for k, design in ((L, stacked), (L - 1, contrasts))
    )
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-9)
    np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.d_likelihood, other.d_likelihood, rtol=0, atol=1e-8)
    means = K @ stacked.gather(one.alpha).reshape(L, n).T
    np.testing.assert_allclose(means.sum(axis=1), 0.0, atol=1e-9)


@each_engine
def test_two_labels_are_binary_classification(each_form, engine):
    n = 9
    rng = np.random.default_rng(1)
    K, y = SMOOTH(rng.normal(size=(n, 2))), rng.integers(2, size=n)
    pairs = Differences(np.column_stack([np.arange(n) + n, np.arange(n)]), 2 * n)
    likelihood = Symmetric.of(sigma=0.5)
    both = choose.prior_of(pairs, np.kron(np.eye(2), K), likelihood.max_precision)
    two = ENGINES[engine](both, likelihood, y, tol=TIGHT[engine])
    binary = Ordinal(np.zeros(1), np.sqrt(2.0) * 0.5)
    one = ENGINES[engine](choose.prior_of(Direct(), 2.0 * K), binary, y, tol=TIGHT[engine])
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-9)
    np.testing.assert_allclose(two.mean, one.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(two.var, one.var, rtol=0, atol=1e-9)
