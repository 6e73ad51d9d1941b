"""The criteria by which kernel, thresholds and noise are learnt."""

from dataclasses import replace

import numpy as np
import pytest

from ordinality.gp.criteria import CRITERIA, ENGINES
from ordinality.gp.hyperpriors import Hyperprior
from ordinality.gp.likelihoods import Ordinal
from ordinality.kernels import Gaussian, Precomputed


def test_theta_is_the_kernels_then_the_likelihoods(draw_problem):
    problem = draw_problem(0, 2.0 * Gaussian([1.0, 3.0]))
    expected = [*np.log([2.0, 1.0, 3.0, 0.6]), -0.7, *np.log([0.9, 0.7])]
    np.testing.assert_allclose(problem.theta, expected, rtol=0, atol=1e-14)
    kernel, likelihood = problem.model(problem.theta + 0.1)
    np.testing.assert_allclose(kernel.theta, problem.kernel.theta + 0.1)
    np.testing.assert_allclose(likelihood.theta, problem.likelihood.theta + 0.1)


def test_rows_of_a_problem_are_a_problem_of_those_rows(draw_problem):
    problem = draw_problem(0, Gaussian(1.0), weights=np.arange(1.0, 13.0))
    index = np.array([7, 0, 3])
    some = problem.subset(index)
    np.testing.assert_array_equal(some.X, problem.X[index])
    np.testing.assert_array_equal(some.y, problem.y[index])
    np.testing.assert_array_equal(some.weights, [8.0, 1.0, 4.0])


def test_rows_of_a_given_covariance_are_rows_and_columns(draw_problem):
    problem = draw_problem(0, Gaussian(1.0))
    given = replace(problem, X=problem.kernel(problem.X), kernel=Precomputed())
    index = np.array([7, 0, 3])
    one, other = problem.subset(index), given.subset(index)
    assert other.X.shape == (3, 3)
    assert other.evaluate(other.theta).value == pytest.approx(one.evaluate(one.theta).value)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_prior_adds_its_value_and_gradient(draw_problem, engine, criterion):
    plain = draw_problem(1, Gaussian([1.0, 2.0]), engine=engine, criterion=criterion)
    theta = plain.theta
    prior = Hyperprior(theta - 0.3, np.linspace(0.5, 2.0, len(theta)))
    without, found = plain.evaluate(theta), replace(plain, prior=prior).evaluate(theta)
    assert found.criterion == without.value
    assert found.value == pytest.approx(without.value + prior.value(theta), abs=1e-12)
    added = found.gradient - without.gradient
    np.testing.assert_allclose(added, prior.gradient(theta), rtol=0, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("engine", ENGINES)
def test_only_what_is_second_order_in_the_sites_is_solved_less_exactly(
    draw_problem, engine, criterion
):
    problem = draw_problem(0, Gaussian(1.0), engine=engine, criterion=criterion, tol=1e-6)
    second = engine != "laplace" and criterion == "evidence"
    assert problem.rough(1e-4).tol == (1e-4 if second else 1e-6)
    assert problem.rough(1e-9).tol == 1e-6
    exact, rough = (p.evaluate(p.theta) for p in (problem, problem.rough(1e-3)))
    assert rough.value == pytest.approx(exact.value, abs=1e-4)


def test_the_gauge_moves_thresholds_and_noise_with_the_latent_function(draw_problem):
    problem = draw_problem(0, 2.0 * Gaussian([1.0, 3.0]))
    theta = problem.theta
    level, stretch = problem.gauge(theta).T
    likelihood = problem.likelihood
    for by in (1e-5, -1e-5):
        _, shifted = problem.model(theta + by * level)
        np.testing.assert_allclose(shifted.thresholds, likelihood.thresholds + by, atol=1e-14)
        assert shifted.noise == likelihood.noise
        _, stretched = problem.model(theta + by * stretch)
        ratio = stretched.thresholds / likelihood.thresholds
        np.testing.assert_allclose(ratio, 1.0 + by, rtol=0, atol=1e-9)
        assert stretched.noise == pytest.approx(likelihood.noise * (1.0 + by), abs=1e-9)
    np.testing.assert_array_equal(level[:3], 0.0)


def test_the_box_holds_the_start_wherever_it_is(draw_problem):
    problem = draw_problem(0, 2.0 * Gaussian([1.0, 3.0]))
    assert problem.box.shape == (len(problem.theta), 2) == (len(problem.kinds), 2)
    far = replace(problem, likelihood=Ordinal(np.array([-300.0, 0.0, 1e-5]), 1e-6))
    assert np.all((far.box[:, 0] <= far.theta) & (far.theta <= far.box[:, 1]))
    np.testing.assert_array_equal(far.box[:3], problem.kernel.bounds)
    # Log noise, first threshold and the narrow gap moved the ends; the wide gap did not.
    np.testing.assert_array_equal(far.box[[3, 4, 6], 0], far.theta[[3, 4, 6]])
    assert far.box[5, 0] == problem.box[5, 0] < far.theta[5]


def test_expectation_propagation_started_where_it_ended_is_there(draw_problem):
    problem = replace(draw_problem(2, Gaussian(1.0), n=40), tol=1e-6)
    first = problem.evaluate(problem.theta)
    again = problem.evaluate(problem.theta, first.start)
    assert first.approximation.n_iter > again.approximation.n_iter == 1
    assert again.approximation.residual < first.approximation.residual
    assert again.value == pytest.approx(first.value, abs=1e-9)
