"""Criteria that move with the sites: the paper's bound and the leave-one-out score."""

from dataclasses import replace

import numpy as np
import pytest

from ordinality.gp import criteria
from ordinality.gp.criteria import ENGINES
from ordinality.gp.variational import divergence
from ordinality.kernels import Gaussian

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
