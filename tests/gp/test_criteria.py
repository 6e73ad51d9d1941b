"""The criteria by which kernel, thresholds and noise are learnt."""

from dataclasses import replace

import numpy as np
import pytest

from ordinality.gp import criteria
from ordinality.gp.criteria import CRITERIA, ENGINES
from ordinality.gp.hyperpriors import Hyperprior
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.variational import divergence
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


# Criteria that move with the sites: the paper's bound and the leave-one-out score


SMOOTH = 1.5 * Gaussian([1.0, 2.0])

each_engine = pytest.mark.parametrize("engine", ENGINES)
each_link = pytest.mark.parametrize("link", ["probit", "logit"])
each_criterion = pytest.mark.parametrize("criterion", ["bound", "loo"])


@each_link
@each_criterion
@each_engine
def test_gradient_agrees_with_differences(
    draw_problem, assert_gradient_is_exact, any_kernel, engine, criterion, link
):
    seed = len(engine) + any_kernel.n_theta  # another problem for most combinations
    assert_gradient_is_exact(
        draw_problem(seed, any_kernel, engine=engine, criterion=criterion, link=link)
    )


@each_criterion
def test_gradient_is_the_same_when_the_iterative_solver_gives_up(
    draw_problem, monkeypatch, criterion
):
    problem = draw_problem(1, SMOOTH, criterion=criterion)
    patient = problem.evaluate(problem.theta)
    monkeypatch.setattr(criteria, "gmres", lambda operator, rhs, **options: (0.0 * rhs, 1))
    dense = problem.evaluate(problem.theta)
    np.testing.assert_allclose(dense.gradient, patient.gradient, rtol=0, atol=1e-9)


# The bound


@each_link
def test_the_bound_of_the_variational_posterior_is_its_evidence(draw_problem, link):
    problem = draw_problem(2, SMOOTH, engine="variational", link=link)
    direct = problem.evaluate(problem.theta)
    there = replace(problem, criterion="bound").evaluate(problem.theta)
    assert there.value == pytest.approx(direct.value, abs=1e-11)
    # Stationary sites on one side, sites followed as they move on the other.
    np.testing.assert_allclose(there.gradient, direct.gradient, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
@each_link
def test_no_posterior_has_a_higher_bound_than_the_variational_one(draw_problem, link, seed):
    problem = draw_problem(seed, SMOOTH, criterion="bound", link=link, noise=0.3)
    bound = {
        engine: replace(problem, engine=engine, tol=1e-10).evaluate(problem.theta).value
        for engine in ENGINES
    }
    assert bound["variational"] > max(bound["ep"], bound["laplace"])


@each_engine
def test_the_bound_is_below_the_exact_evidence(draw_problem, exact_evidence, engine):
    problem = draw_problem(4, SMOOTH, n=4, engine=engine, criterion="bound")
    bound, exact = problem.evaluate(problem.theta).value, exact_evidence(problem)
    assert exact - 0.3 < bound < exact


def test_divergence_is_that_of_kullback_and_leibler(draw_problem, solve):
    problem = draw_problem(5, SMOOTH)
    a, K = solve(problem), problem.kernel(problem.X)
    cov = np.linalg.inv(np.linalg.inv(K) + np.diag(a.tau))
    B = np.eye(12) + np.sqrt(a.tau)[:, None] * K * np.sqrt(a.tau)
    found = divergence(
        0.5 * np.linalg.slogdet(B)[1], np.diag(np.linalg.inv(B)), a.alpha, a.mean
    )
    expected = np.trace(np.linalg.solve(K, cov)) - 12 + a.mean @ np.linalg.solve(K, a.mean)
    expected += np.linalg.slogdet(K)[1] - np.linalg.slogdet(cov)[1]
    assert found == pytest.approx(0.5 * expected, rel=1e-8)


# Leave one out


@each_engine
def test_the_score_is_the_sum_of_the_cavities_log_probabilities(draw_problem, solve, engine):
    problem = draw_problem(6, SMOOTH, engine=engine, criterion="loo")
    a = solve(problem)
    proba = problem.likelihood.proba(a.cavity_mean, a.cavity_var)
    expected = np.log(proba[np.arange(12), problem.y]).sum()
    assert problem.evaluate(problem.theta).value == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_the_score_of_ep_is_near_that_of_leaving_rows_out_for_real(
    draw_problem, exact_evidence, seed
):
    problem = draw_problem(seed, SMOOTH, n=5, criterion="loo")
    evidence = exact_evidence(problem, nodes=20)
    rest = [exact_evidence(problem.subset(np.delete(np.arange(5), i))) for i in range(5)]
    exact = 5 * evidence - sum(rest)  # log p(y_i | the others), summed
    assert problem.evaluate(problem.theta).value == pytest.approx(exact, abs=0.1)
