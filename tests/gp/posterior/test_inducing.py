"""Inducing points against the exact engines, stated values and differences."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ordinality.gp.criteria import ENGINES, InducingObjective, Objective
from ordinality.gp.design import Combinations, Differences, Direct
from ordinality.gp.likelihoods import Blurred, Ordinal, Several, Symmetric
from ordinality.gp.posterior import inducing
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.posterior.inducing import Basis, Inducing, greedy_points
from ordinality.kernels import Constant, Gaussian, Linear, Matern
from ordinality.kernels.items import PerItem

VECTORS = json.loads((Path(__file__).parents[2] / "scale-vectors.json").read_text("utf-8"))
TIGHT = {"ep": 1e-13, "laplace": 1e-20, "variational": 1e-12}
KERNELS = [Gaussian(1.3), 1.5 * Gaussian([0.9, 1.7]), Linear() + 0.4 * Matern(1.2)]

each_engine = pytest.mark.parametrize("engine", ENGINES)


def case_of(vector, engine):
    """The objective of a stated case."""
    X, Z = np.array(vector["X"]), np.array(vector.get("Z", vector["X"]))
    if "pairs" in vector:
        design = Differences(vector["pairs"], len(X))
        y = np.ones(len(design), dtype=int)
        likelihood = Ordinal(np.zeros(1), vector["noise_of_the_difference"])
    else:
        design, y = Direct(), np.array(vector["y"])
        likelihood = Ordinal(np.array(vector["thresholds"]), vector["noise"])
    kernel = Gaussian(vector["length_scale"])
    return InducingObjective(
        X, y, np.ones(len(y)), kernel, likelihood, engine, tol=TIGHT[engine], design=design,
        Z=Z,
    )  # fmt: skip


def drawn(engine, kernel, m=14, n=30, seed=0, link="probit"):
    """Ordered labels of a function, and as many inducing points as asked for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = np.linalg.cholesky(kernel(X) + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    y = np.searchsorted([-0.6, 0.5], f + 0.3 * rng.normal(size=n))
    likelihood = Ordinal(np.array([-0.6, 0.5]), 0.3, link)
    Z = rng.normal(size=(m, 2))
    return InducingObjective(
        X, y, np.ones(n), kernel, likelihood, engine, tol=TIGHT[engine], Z=Z
    )


def solved(problem):
    """The prior of an objective at its own theta, and the engine's answer."""
    prior = Inducing.of(problem.kernel, problem.X, problem.Z, problem.design)
    blurred = Blurred(problem.likelihood, prior.residual)
    options = {"weights": problem.weights, "tol": problem.tol}
    return prior, ENGINES[problem.engine](prior, blurred, problem.y, **options)


def assert_gradient_is_exact(problem, h=1e-3):
    """Compare the gradient along a direction that no parameter is left out of."""
    direction = np.random.default_rng(9).uniform(0.5, 1.0, len(problem.theta))
    at = [problem.evaluate(problem.theta + s * h * direction).value for s in (-2, -1, 1, 2)]
    numeric = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)
    found = problem.evaluate(problem.theta).gradient
    assert found @ direction == pytest.approx(numeric, abs=2e-6)


@each_engine
@pytest.mark.parametrize(
    "vector", VECTORS["sparse"], ids=lambda v: f"{v['kind']}-{len(v['Z'])}"
)
def test_stated_values_and_gradients(vector, engine):
    stated, problem = vector["engines"][engine], case_of(vector, engine)
    prior, a = solved(problem)
    np.testing.assert_allclose(prior.residual, vector["residual"], rtol=0, atol=1e-9)
    for name, ours in {"tau": a.tau, "nu": a.nu, "mean_q": a.mean, "var_q": a.var,
                       "alpha": a.alpha}.items():  # fmt: skip
        np.testing.assert_allclose(ours, stated[name], rtol=0, atol=1e-8, err_msg=name)
    found = problem.evaluate(problem.theta)
    assert found.criterion == pytest.approx(stated["value"], abs=1e-9)
    wanted = stated["d_log_length_scale"] + stated["d_likelihood"]
    np.testing.assert_allclose(found.gradient, wanted, rtol=0, atol=1e-7)
    _, by_points = problem.evaluate_with_points(problem.theta)
    np.testing.assert_allclose(by_points, stated["d_Z"], rtol=0, atol=1e-7)


@each_engine
@pytest.mark.parametrize("vector", VECTORS["exact"], ids=lambda v: str(len(v["X"])))
def test_points_at_all_rows_are_the_exact_engine(vector, engine):
    problem = case_of(vector, engine)
    exact = Objective(
        problem.X, problem.y, problem.weights, problem.kernel, problem.likelihood, engine,
        tol=problem.tol,
    )  # fmt: skip
    ours, theirs = (p.evaluate(problem.theta) for p in (problem, exact))
    assert ours.value == pytest.approx(vector["exact_value"][engine], abs=1e-8)
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("m", [3, 14])
def test_ep_is_exact_ep_on_the_prior_that_the_points_make(kernel, m):
    problem = drawn("ep", kernel, m)
    _, ours = solved(problem)
    basis = Basis.of(kernel, problem.Z)
    P = basis.whitened(problem.X)
    C = P @ P.T
    C[np.diag_indices_from(C)] = kernel.diag(problem.X)
    theirs = ENGINES["ep"](
        prior_of(Direct(), C), problem.likelihood, problem.y, tol=problem.tol
    )
    assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-10)
    np.testing.assert_allclose(ours.d_likelihood, theirs.d_likelihood, rtol=0, atol=1e-9)


@each_engine
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("link", ["probit", "logit"])
def test_gradients_agree_with_differences(engine, kernel, link):
    problem = drawn(engine, kernel, m=6, link=link)
    rng = np.random.default_rng(5)
    problem = replace(problem, weights=rng.choice([0.5, 1.0, 2.0], len(problem.y)))
    assert_gradient_is_exact(problem)


@each_engine
def test_gradients_of_ratings_with_comparisons_agree_with_differences(engine):
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(9, 2)), rng.normal(size=(5, 2))
    index = np.vstack([rng.permuted(np.arange(9)[None].repeat(12, 0), axis=1)[:, :2],
                       np.column_stack([np.arange(9), np.zeros(9, int)])])  # fmt: skip
    value = np.vstack([np.tile([1.0, -1.0], (12, 1)), np.tile([1.0, 0.0], (9, 1))])
    kind = np.repeat([0, 1], [12, 9])
    likelihood = Several((Symmetric.of(sigma=0.4), Ordinal(np.array([-0.5, 0.4]), 0.3)), kind)
    y = np.concatenate([rng.integers(2, size=12), rng.integers(3, size=9)])
    problem = InducingObjective(
        X, y, np.ones(21), Constant(0.8) * Gaussian(1.1), likelihood, engine,
        tol=TIGHT[engine], design=Combinations(index, value, 9), Z=Z,
    )  # fmt: skip
    assert_gradient_is_exact(problem)


@each_engine
def test_rows_in_blocks_give_what_rows_at_once_give(engine, monkeypatch):
    problem = drawn(engine, KERNELS[1], n=150)
    whole = problem.evaluate(problem.theta)
    monkeypatch.setattr(inducing, "_BLOCK", 64 * 14)
    monkeypatch.setattr(inducing, "_KEPT", 0)
    parts = problem.evaluate(problem.theta)
    assert parts.value == pytest.approx(whole.value, abs=1e-10)
    np.testing.assert_allclose(parts.gradient, whole.gradient, rtol=0, atol=1e-8)


def test_the_bound_grows_with_the_points_to_the_exact_bound():
    problem = drawn("variational", KERNELS[0], n=40)
    order, _ = greedy_points(problem.kernel, problem.X, 40, tol=0.0)
    bounds = [
        replace(problem, Z=problem.X[order[:m]]).evaluate(problem.theta).criterion
        for m in (2, 5, 10, 20, 30)
    ]
    exact = Objective(
        problem.X, problem.y, problem.weights, problem.kernel, problem.likelihood,
        "variational", tol=1e-12,
    )  # fmt: skip
    top = exact.evaluate(problem.theta).criterion
    assert np.all(np.diff(bounds) > -1e-9)
    assert bounds[-1] == pytest.approx(top, abs=1e-3)
    assert max(bounds) <= top + 1e-9


def test_points_are_nested_and_explain_what_they_leave():
    kernel, X = Gaussian(1.2), np.random.default_rng(0).normal(size=(200, 3))
    few, _ = greedy_points(kernel, X, 10)
    many, left = greedy_points(kernel, X, 25)
    np.testing.assert_array_equal(many[:10], few)
    P = Basis.of(kernel, X[many]).whitened(X)
    np.testing.assert_allclose(left, 1.0 - np.sum(P**2, axis=1), atol=1e-10)


def test_copies_of_rows_are_not_chosen_twice():
    X = np.repeat(np.random.default_rng(0).normal(size=(12, 2)), 5, axis=0)
    chosen, left = greedy_points(Gaussian(0.3), X, 40)
    assert len(chosen) == len(np.unique(X[chosen], axis=0)) == 12
    assert np.max(left) < 1e-6


def test_points_in_the_same_place_are_no_harm():
    problem = drawn("ep", KERNELS[0])
    doubled = replace(problem, Z=np.vstack([problem.Z, problem.Z]))
    one, two = (p.evaluate(problem.theta) for p in (problem, doubled))
    assert two.value == pytest.approx(one.value, abs=1e-4)
    assert np.all(np.isfinite(two.gradient))


def test_sequential_sweeps_serve_inducing_points_too(monkeypatch):
    from ordinality.gp import ep as engine

    problem = drawn("ep", KERNELS[0])
    _, plain = solved(problem)
    monkeypatch.setattr(engine, "_PARALLEL", 1)
    _, swept = solved(problem)
    assert swept.log_evidence == pytest.approx(plain.log_evidence, abs=1e-9)


def test_effects_of_items_that_no_point_has_are_left_to_the_residual():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(8, 2)), np.arange(8)])
    Z = np.column_stack([rng.normal(size=(4, 2)), np.full(4, -1)])
    kernel = PerItem(Gaussian(1.0), 0.7)
    prior = Inducing.of(kernel, X, Z, Differences([[0, 1], [2, 2]], 8))
    assert prior.residual[0] > 2 * 0.7 - 1e-9
    assert prior.residual[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("apart", "inverts"), [(1.0, True), (1e-4, False)])
def test_whitened_rows_give_back_the_covariances(apart, inverts):
    X = np.random.default_rng(0).normal(size=(200, 3))
    basis = Basis.of(Gaussian(1.5), np.vstack([X[:20], X[:1] + apart * np.ones(3)]))
    # Two points 1e-4 apart have a pivot of 1e-8: a solution, because an inverse loses digits.
    assert (basis._inverse is not None) == inverts
    back = basis.whitened(X) @ basis.lower.T
    np.testing.assert_allclose(back, basis.kernel(X, basis.Z), rtol=0, atol=1e-13)
    solution = basis.by_rows(back.T.copy("F"))  # which it overwrites
    rounding = 21 * np.finfo(float).eps * np.max(np.abs(solution))  # of sums of 21 terms
    np.testing.assert_allclose(solution @ basis.lower, back, rtol=0, atol=rounding)
