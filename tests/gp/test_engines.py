"""Laws of every engine: gradients, symmetries, weights, hard problems, and the report."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from ordinality.gp.criteria import CRITERIA, ENGINES
from ordinality.gp.design import Direct
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.posterior.choose import prior_of
from ordinality.kernels import Gaussian

SMOOTH = 1.5 * Gaussian([1.0, 2.0])

each_engine = pytest.mark.parametrize("engine", ENGINES)
each_link = pytest.mark.parametrize("link", ["probit", "logit"])
each_criterion = pytest.mark.parametrize("criterion", CRITERIA)


# Gradients and symmetries


@each_link
@each_engine
def test_evidence_gradient_agrees_with_differences(
    draw_problem, assert_gradient_is_exact, any_kernel, engine, link
):
    seed = 10 * len(engine) + any_kernel.n_theta  # another problem for most combinations
    assert_gradient_is_exact(draw_problem(seed, any_kernel, engine=engine, link=link))


@each_link
@each_criterion
@each_engine
def test_latent_units_do_not_matter(draw_problem, engine, criterion, link):
    problem = draw_problem(7, SMOOTH, engine=engine, criterion=criterion, link=link)
    here = problem.evaluate(problem.theta)
    # theta: log variance, two log length scales, log noise, first threshold, two log gaps
    direction = np.array([2.0, 0.0, 0.0, 1.0, problem.likelihood.thresholds[0], 1.0, 1.0])
    assert here.gradient @ direction == pytest.approx(0.0, abs=1e-9)
    c = 1.7
    scaled = problem.theta + np.log(c) * np.array([2.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    scaled[4] *= c
    there = problem.evaluate(scaled)
    assert there.value == pytest.approx(here.value, abs=1e-10)
    np.testing.assert_allclose(
        there.approximation.mean, c * here.approximation.mean, rtol=0, atol=1e-9
    )


@each_link
@each_engine
def test_reversing_the_levels_reverses_the_latent_values(draw_problem, solve, engine, link):
    problem = draw_problem(8, SMOOTH, engine=engine, link=link)
    likelihood = replace(problem.likelihood, thresholds=-problem.likelihood.thresholds[::-1])
    here = solve(problem)
    there = solve(replace(problem, y=3 - problem.y, likelihood=likelihood))
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-10)
    np.testing.assert_allclose(there.mean, -here.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(there.var, here.var, rtol=0, atol=1e-9)


@each_engine
def test_sites_give_the_posterior_and_its_cavities(draw_problem, solve, engine):
    problem = draw_problem(9, SMOOTH, engine=engine)
    a, K = solve(problem), problem.kernel(problem.X)
    cov = np.linalg.inv(np.linalg.inv(K) + np.diag(a.tau))
    np.testing.assert_allclose(a.mean, cov @ a.nu, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.mean, K @ a.alpha, rtol=0, atol=1e-10)
    np.testing.assert_allclose(a.var, np.diag(cov), rtol=0, atol=1e-9)
    np.testing.assert_allclose(1 / a.cavity_var, 1 / a.var - a.tau, rtol=1e-8)
    shift = a.mean / a.var - a.nu
    np.testing.assert_allclose(a.cavity_mean / a.cavity_var, shift, rtol=0, atol=1e-8)


@dataclass(frozen=True)
class Rows:
    """Observations of any combinations of the latent values."""

    A: np.ndarray

    def covariance(self, K):
        return self.A @ K @ self.A.T

    def pullback(self, G):
        return self.A.T @ G @ self.A


@each_engine
def test_a_design_is_asked_for_covariances_and_given_the_gradient(draw_problem, engine):
    problem = draw_problem(20, SMOOTH, engine=engine)
    A, K = np.random.default_rng(0).normal(size=(12, 7)), problem.kernel(problem.X[:7])
    seen, direct = (
        ENGINES[engine](prior_of(design, C), problem.likelihood, problem.y, tol=problem.tol)
        for C, design in ((K, Rows(A)), (A @ K @ A.T, Direct()))
    )
    assert seen.log_evidence == pytest.approx(direct.log_evidence, abs=1e-12)
    assert seen.d_kernel.shape == (7, 7)
    np.testing.assert_allclose(seen.d_kernel, A.T @ direct.d_kernel @ A, rtol=0, atol=1e-9)


# Weights


@each_link
@each_criterion
@each_engine
def test_a_weight_is_so_many_copies_of_a_row(draw_problem, engine, criterion, link):
    problem = draw_problem(10, SMOOTH, n=8, engine=engine, criterion=criterion, link=link)
    copies = np.array([1, 3, 1, 2, 1, 1, 4, 1])
    weighted = replace(problem, weights=copies.astype(float))
    repeated = problem.subset(np.repeat(np.arange(8), copies))
    one, many = (p.evaluate(p.theta) for p in (weighted, repeated))
    assert one.value == pytest.approx(many.value, abs=1e-9)
    np.testing.assert_allclose(one.gradient, many.gradient, rtol=0, atol=1e-8)
    for name in ("mean", "var", "cavity_mean", "cavity_var"):
        ours, theirs = (getattr(e.approximation, name) for e in (one, many))
        np.testing.assert_allclose(np.repeat(ours, copies), theirs, rtol=0, atol=1e-8)


@each_link
@each_criterion
@each_engine
def test_gradients_are_exact_for_any_weights(
    draw_problem, assert_gradient_is_exact, engine, criterion, link
):
    weights = np.random.default_rng(0).uniform(0.2, 2.5, 8)
    assert_gradient_is_exact(
        draw_problem(
            11, SMOOTH, n=8, engine=engine, criterion=criterion, link=link, weights=weights
        )
    )


@each_engine
def test_a_row_of_vanishing_weight_is_no_row(draw_problem, solve, engine):
    problem = draw_problem(12, SMOOTH, engine=engine)
    weights = np.append(np.ones(11), 1e-9)
    one, without = solve(replace(problem, weights=weights)), solve(problem.subset(range(11)))
    assert one.log_evidence == pytest.approx(without.log_evidence, abs=1e-7)
    np.testing.assert_allclose(one.mean[:11], without.mean, rtol=0, atol=1e-7)


# Hard problems, and the report


@each_engine
def test_repeated_rows_with_different_levels_are_fine(draw_problem, solve, engine):
    problem = draw_problem(13, SMOOTH, engine=engine)
    twice = problem.subset(np.r_[0:12, 0:12])
    twice = replace(twice, y=np.r_[problem.y, 3 - problem.y])
    a = solve(twice)
    assert a.converged
    np.testing.assert_allclose(a.mean[:12], a.mean[12:], rtol=0, atol=1e-10)
    np.testing.assert_allclose(a.var[:12], a.var[12:], rtol=0, atol=1e-10)


@each_engine
def test_little_noise_leaves_gradients_exact(draw_problem, assert_gradient_is_exact, engine):
    # The bound is stationary in the sites, and the last digits of those take hundreds of steps.
    tol = 1e-10 if engine == "variational" else 1e-12
    problem = draw_problem(
        17, Gaussian([0.8, 1.5]), noise=1e-3, engine=engine, tol=tol, max_iter=2000
    )
    # A step must be small against the noise, in whose units the thresholds matter.
    assert_gradient_is_exact(problem, step=1e-5, rel=1e-6)


@each_link
@each_engine
def test_a_level_that_is_certain_says_nothing(draw_problem, solve, engine, link):
    problem = draw_problem(15, SMOOTH, thresholds=(-90.0, 90.0), engine=engine, link=link)
    a = solve(replace(problem, likelihood=replace(problem.likelihood, noise=0.1)))
    assert a.converged
    assert a.tau.max() < 1e-100
    assert a.log_evidence == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(a.mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(a.var, 1.5, rtol=1e-12)
    assert np.all(np.isfinite(a.d_kernel))


@each_link
@each_engine
def test_a_warm_start_reaches_the_same_point_in_fewer_iterations(
    draw_problem, solve, engine, link
):
    problem = draw_problem(16, SMOOTH, n=20, engine=engine, link=link)
    near = replace(problem, kernel=1.6 * Gaussian([1.05, 1.9]))
    cold, warm = solve(near), solve(near, start=solve(problem).start)
    assert warm.n_iter < cold.n_iter
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)
    np.testing.assert_allclose(warm.mean, cold.mean, rtol=0, atol=1e-8)


@each_engine
def test_a_far_start_ends_at_the_same_point(draw_problem, solve, engine):
    problem = draw_problem(17, 9.0 * Gaussian(0.7), noise=0.1, engine=engine)
    cold = solve(problem)
    start = -20.0 * cold.start if engine == "laplace" else np.full_like(cold.start, 1e-3)
    far = solve(problem, start=start)
    assert far.converged
    np.testing.assert_allclose(far.mean, cold.mean, rtol=0, atol=1e-7)


@each_link
@each_engine
def test_one_iteration_reports_that_it_has_not_converged(draw_problem, solve, engine, link):
    problem = draw_problem(18, SMOOTH, engine=engine, link=link)
    a = solve(problem, max_iter=1)
    assert not a.converged
    assert a.residual > 1e-6
    for value in (a.log_evidence, a.d_kernel, a.d_likelihood, a.mean, a.cavity_var):
        assert np.all(np.isfinite(value))


@each_engine
def test_a_gradient_not_wanted_changes_nothing_else(draw_problem, solve, engine):
    problem = draw_problem(19, SMOOTH, engine=engine)
    whole, part = solve(problem), solve(problem, gradient=False)
    assert part.d_kernel is None
    assert part.log_evidence == whole.log_evidence
    np.testing.assert_array_equal(part.d_likelihood, whole.d_likelihood)


def test_laplace_stops_where_no_part_of_a_step_is_an_improvement():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(18, 2)), rng.integers(0, 3, 18)
    weights = np.where(rng.random(18) < 0.5, 1e9, 1.0)
    X[1:4] = X[0]
    likelihood = Ordinal(np.array([-1.0, 1.0]))
    found = ENGINES["laplace"](
        prior_of(Direct(), Gaussian(1.4)(X)), likelihood, y, weights=weights, tol=1e-6
    )
    assert not found.converged
    assert found.n_iter < 50  # 201 when the same step was refused again and again
