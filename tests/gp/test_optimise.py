"""The search: subsets, growth of curvature, several starts, the fit."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from ordinality.gp import optimise
from ordinality.gp.criteria import CRITERIA, ENGINES, Problem
from ordinality.gp.design import Differences
from ordinality.gp.hyperpriors import Hyperprior, hyperprior
from ordinality.gp.likelihoods import Ordinal, Symmetric
from ordinality.gp.optimise import curvature, maximise
from ordinality.kernels import Gaussian


def with_weak_prior(problem):
    return replace(problem, prior=hyperprior("weak", problem.theta, problem.kinds))


# Subsets


def test_subsets_are_nested_and_grow_by_at_most_four_and_a_bit():
    y = np.random.default_rng(0).integers(0, 5, 20000)
    subsets = optimise._subsets(y, np.random.default_rng(1))
    sizes = [*map(len, subsets), len(y)]
    assert sizes[0] == 250
    ratios = np.divide(sizes[1:], sizes[:-1])
    assert np.all((ratios > 2.0) & (ratios < 4.0**1.35))
    for small, large in pairwise(subsets):
        assert np.all(np.isin(small, large))
    for subset in subsets:
        assert np.all(np.diff(subset) > 0)  # each row once, in the order of the table


def test_subsets_keep_the_proportions_of_the_levels():
    y = np.random.default_rng(0).choice(4, 3000, p=[0.9, 0.06, 0.03, 0.01])
    for subset in optimise._subsets(y, np.random.default_rng(1)):
        expected = np.bincount(y) * len(subset) / len(y)
        assert np.all(np.abs(np.bincount(y[subset], minlength=4) - expected) <= 1.0)


def test_the_same_generator_gives_the_same_subsets_and_another_gives_others():
    y = np.random.default_rng(0).integers(0, 3, 2000)
    first, again, other = (optimise._subsets(y, np.random.default_rng(s)) for s in (1, 1, 2))
    assert len(first) == 2
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


@pytest.mark.parametrize("n", [1, 30, 250, 400])
def test_small_sets_have_no_subsets(n):
    assert optimise._subsets(np.zeros(n, dtype=int), np.random.default_rng(0)) == []


@pytest.mark.parametrize("sd", [np.inf, 0.5])
def test_curvature_of_the_data_grows_with_rows_and_that_of_the_prior_stays(draw_problem, sd):
    prior = Hyperprior(np.zeros(5), np.full(5, sd))
    coarse, fine = (draw_problem(0, Gaussian(), n=n, prior=prior) for n in (10, 30))
    without = SimpleNamespace(
        prior=prior, weights=coarse.weights, gauge=lambda theta: np.zeros((5, 0))
    )
    of_data, of_prior = -np.diag(np.arange(1.0, 6.0)), -np.eye(5) / sd**2
    grown = optimise._grown(of_data + of_prior, coarse.theta, without, fine)
    np.testing.assert_allclose(grown, 3.0 * of_data + of_prior, rtol=0, atol=1e-12)


def test_level_and_scale_of_the_latent_function_are_hardly_better_known(draw_problem):
    coarse, fine = (draw_problem(0, Gaussian(), n=n) for n in (10, 40))
    data = np.random.default_rng(0).normal(size=(7, 5))
    data = data.T @ data
    grown = -optimise._grown(-data, coarse.theta, coarse, fine)
    gauge = coarse.gauge(coarse.theta)
    along = np.linalg.pinv(gauge)

    def known(precision):
        return np.linalg.inv(along @ np.linalg.inv(precision) @ along.T)

    before, after = known(data), known(grown)
    np.testing.assert_allclose(
        np.diag(after) / np.diag(before),
        [4.0**optimise._LEVEL, 4.0**optimise._SCALE],
        rtol=1e-9,
    )
    # Given level and scale, the rest is known as much better as there are more rows.
    rest = np.linalg.svd(gauge.T)[2][2:]
    np.testing.assert_allclose(rest @ grown @ rest.T, 4.0 * rest @ data @ rest.T, atol=1e-9)


def test_a_curvature_that_is_none_grows_without_harm(draw_problem):
    coarse, fine = (draw_problem(0, Gaussian(), n=n) for n in (10, 40))
    saddle = np.diag([1.0, -1.0, -2.0, -3.0, 0.0])
    grown = optimise._grown(saddle, coarse.theta, coarse, fine)
    np.testing.assert_allclose(grown, 4.0 * saddle, rtol=0, atol=1e-12)


# The fit


@pytest.fixture(scope="module")
def table(draw_problem):
    """Six hundred rows, of which the second feature says little, begun at plain values."""
    problem = draw_problem(3, Gaussian([0.7, 4.0]), n=600, noise=0.4, tol=1e-6)
    start = Gaussian([1.4, 1.4]), Ordinal(np.array([-1.0, 0.0, 1.0]), 1.0)
    return with_weak_prior(replace(problem, kernel=start[0], likelihood=start[1]))


@pytest.fixture(scope="module")
def direct(table):
    return maximise(table, coarse_to_fine=False, gain=1e-5)


def test_coarse_to_fine_ends_where_the_direct_way_does(table, direct):
    fit = maximise(table)
    assert fit.converged
    assert fit.best.value == pytest.approx(direct.best.value, abs=3e-3)
    assert [rows for rows, _ in fit.path] == [250, 600]
    assert fit.n_evaluations == fit.path[-1][1] < direct.n_evaluations / 2
    again = maximise(table)
    np.testing.assert_array_equal(again.best.theta, fit.best.theta)


def test_what_a_rough_search_found_is_settled_as_exactly_as_was_asked(table):
    fit = maximise(table)
    assert fit.problem is table
    assert fit.best.approximation.residual < table.tol < table.rough(1e-3).tol
    exact = table.evaluate(fit.best.theta)
    assert fit.best.value == pytest.approx(exact.value, abs=1e-8)
    assert fit.best.criterion == pytest.approx(exact.criterion, abs=1e-8)
    np.testing.assert_allclose(fit.best.gradient, exact.gradient, rtol=0, atol=1e-4)


def test_the_direct_way_ends_at_the_top(table, direct):
    assert direct.path == ((600, direct.n_evaluations),)
    hessian = curvature(table.evaluate, direct.best, np.full((6, 2), [-50.0, 50.0]))
    assert np.all(np.linalg.eigvalsh(hessian) < 0)
    left = -0.5 * direct.best.gradient @ np.linalg.solve(hessian, direct.best.gradient)
    assert left < 1e-3  # nats that a Newton step still promises


def test_the_fit_holds_the_model_it_found(table, direct):
    theta = np.concatenate([direct.kernel.theta, direct.likelihood.theta])
    np.testing.assert_allclose(theta, direct.best.theta, rtol=0, atol=1e-12)
    first, second = direct.kernel.length_scale
    assert first < 1.2 < 2.0 < second
    likelihood = direct.likelihood
    # Drawn with thresholds from -0.7 to 0.9 and noise 0.4; their ratio has no scale.
    assert np.ptp(likelihood.thresholds) / likelihood.noise == pytest.approx(4.0, rel=0.15)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_criterion_of_every_engine_is_raised(draw_problem, engine, criterion):
    problem = draw_problem(4, Gaussian(1.0), n=25, engine=engine, criterion=criterion)
    problem = with_weak_prior(problem)
    problem = replace(problem, tol=1e-9 if engine == "laplace" else 1e-6)
    fit = maximise(problem, gain=1e-4)
    assert fit.converged
    assert fit.best.value > problem.evaluate(problem.theta).value
    assert np.abs(fit.best.gradient).max() < 0.1


def test_the_best_of_several_starts_is_kept(draw_problem):
    problem = draw_problem(5, Gaussian([1.0, 2.0]), n=25, tol=1e-6)
    # Length scales so long that nothing but a constant is in sight: a lower top is near.
    far = replace(
        problem,
        kernel=Gaussian([55.0, 110.0]),
        likelihood=Ordinal(problem.likelihood.thresholds, 4.4),
    )
    good, poor = maximise(problem), maximise(far)
    assert poor.best.value < good.best.value - 1.0
    asked = []

    def mapper(function, starts):
        asked.extend(starts)
        return map(function, starts)

    both = maximise(far, starts=[problem.theta], mapper=mapper)
    np.testing.assert_array_equal(asked, [far.theta, problem.theta])
    np.testing.assert_array_equal(both.best.theta, good.best.theta)
    # Each start was searched from as it is alone; only the best was settled exactly.
    assert both.n_evaluations == good.n_evaluations + poor.n_evaluations - 1


@pytest.mark.parametrize(
    ("coarse_to_fine", "most"), [(True, 1), (True, 3), (False, 1), (False, 2), (False, 7)]
)
def test_a_search_cut_short_says_so(table, coarse_to_fine, most):
    fit = maximise(table, coarse_to_fine=coarse_to_fine, max_evaluations=most)
    assert not fit.converged
    assert all(count <= most for _, count in fit.path)
    assert fit.best.approximation.residual < table.tol
    assert fit.best.value > table.evaluate(table.theta).value - 1e-9


def test_subsets_that_see_most_of_the_items_are_passed_over():
    rng = np.random.default_rng(0)
    X, left = rng.normal(size=(300, 2)), rng.integers(300, size=1500)
    pairs = np.column_stack([left, (left + rng.integers(1, 300, size=1500)) % 300])
    y = (X[pairs[:, 0], 0] > X[pairs[:, 1], 0] + 0.5 * rng.normal(size=1500)).astype(int)
    kernel, likelihood = Gaussian(1.4), Symmetric.of(sigma=0.5)
    problem = Problem(X, y, np.ones(1500), kernel, likelihood, design=Differences(pairs, 300))
    assert problem.effort == 450
    assert [len(s) for s in optimise._subsets(y, np.random.default_rng(0))] == [250, 612]
    fit = maximise(problem)
    assert [rows for rows, _ in fit.path] == [250, 1500]  # 612 pairs see nearly all items
    direct = maximise(problem, coarse_to_fine=False, gain=1e-5)
    assert fit.best.value == pytest.approx(direct.best.value, abs=0.02)
