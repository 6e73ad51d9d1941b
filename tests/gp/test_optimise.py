"""The search: subsets, growth of curvature, several starts, the fit."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from ordinality.gp import optimise
from ordinality.gp.criteria import CRITERIA, ENGINES, InducingObjective, Objective
from ordinality.gp.design import Differences
from ordinality.gp.hyperpriors import Hyperprior, hyperprior
from ordinality.gp.likelihoods import Ordinal, Symmetric
from ordinality.gp.optimise import (
    NextStep,
    curvature,
    lbfgs,
    learn_points,
    maximise,
    refine,
)
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


def test_a_hessian_that_is_not_definite_grows_without_harm(draw_problem):
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


def test_coarse_to_fine_ends_where_a_direct_search_does(table, direct):
    fit = maximise(table)
    assert fit.converged
    assert fit.best.value == pytest.approx(direct.best.value, abs=3e-3)
    assert [rows for rows, _ in fit.path] == [250, 600]
    assert fit.n_evaluations == fit.path[-1][1] < direct.n_evaluations / 2
    again = maximise(table)
    np.testing.assert_array_equal(again.best.theta, fit.best.theta)


def test_the_end_of_a_rough_search_is_evaluated_with_the_exact_engine(table):
    fit = maximise(table)
    assert fit.problem is table
    assert fit.best.approximation.residual < table.tol < table.rough(1e-3).tol
    exact = table.evaluate(fit.best.theta)
    assert fit.best.value == pytest.approx(exact.value, abs=1e-8)
    assert fit.best.criterion == pytest.approx(exact.criterion, abs=1e-8)
    np.testing.assert_allclose(fit.best.gradient, exact.gradient, rtol=0, atol=1e-4)


def test_a_direct_search_ends_at_the_maximum(table, direct):
    assert direct.path == ((600, direct.n_evaluations),)
    hessian = curvature(table.evaluate, direct.best, np.full((6, 2), [-50.0, 50.0]))
    assert np.all(np.linalg.eigvalsh(hessian) < 0)
    left = -0.5 * direct.best.gradient @ np.linalg.solve(hessian, direct.best.gradient)
    assert left < 1e-3  # nats that a Newton step is still expected to gain


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
    # Length scales so long that nothing but a constant is in sight: a lower maximum is near.
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
    # Each start was searched from as it is alone; only the best was evaluated exactly.
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
    problem = Objective(X, y, np.ones(1500), kernel, likelihood, design=Differences(pairs, 300))
    assert problem.effort == 450
    assert [len(s) for s in optimise._subsets(y, np.random.default_rng(0))] == [250, 612]
    fit = maximise(problem)
    assert [rows for rows, _ in fit.path] == [250, 1500]  # 612 pairs see nearly all items
    direct = maximise(problem, coarse_to_fine=False, gain=1e-5)
    assert fit.best.value == pytest.approx(direct.best.value, abs=0.02)


# Optimisers, on functions whose maximum is known


WIDE = np.array([[-10.0, 10.0], [-10.0, 10.0]])


def evaluated(function, converged=True, credible=lambda theta: True):
    """`function` of theta (value and gradient) as optimisers call it, recording its calls."""

    def evaluate(theta, start=None):
        value, gradient = function(theta)
        calls.append((theta, value, start))
        return SimpleNamespace(
            theta=theta,
            value=value,
            gradient=gradient,
            start=len(calls),
            converged=converged,
            credible=credible(theta),
        )

    calls = []
    return evaluate, calls


H = np.array([[-3.0, 1.0], [1.0, -2.0]])
MAXIMUM = np.array([1.0, -0.5])


def quadratic(theta):
    d = theta - MAXIMUM
    return 0.5 * d @ H @ d, H @ d


def valley(theta):
    """Rosenbrock's, upside down: the maximum is at (1, 1)."""
    x, y = theta
    bend = y - x**2
    return -((1 - x) ** 2) - 100 * bend**2, np.array(
        [2 * (1 - x) + 400 * x * bend, -200 * bend]
    )


def cliff(theta):
    """So steep that first steps go too far; the maximum is at asinh(0.3) / 8."""
    return float(np.sum(2.4 * theta - np.cosh(8 * theta))), 2.4 - 8 * np.sinh(8 * theta)


def misled(theta):
    """A gradient that points the wrong way, as that of an engine that did not converge may."""
    return -float(theta @ theta), 2.0 * theta


@pytest.mark.parametrize("most", [10, 20, 60])
def test_lbfgs_stays_within_its_evaluations(most):
    evaluate, calls = evaluated(valley)
    result = lbfgs(evaluate, np.array([-1.2, 1.0]), WIDE, np.ones(2), most, 1e-12)
    assert result.n_evaluations == len(calls) <= most
    assert result.best.value == max(value for _, value, _ in calls)
    assert result.converged == (most == 60)


@pytest.mark.parametrize(("function", "most"), [(cliff, 1), (misled, 8)])
def test_lbfgs_stays_within_its_evaluations_where_steps_fail(function, most):
    evaluate, calls = evaluated(function)
    lbfgs(evaluate, np.array([0.5, 0.5]), WIDE, np.ones(2), most, 1e-12)
    assert len(calls) <= most


def test_lbfgs_finds_the_maximum_in_any_units():
    for scale in (np.ones(2), np.array([0.1, 3.0])):
        evaluate, _ = evaluated(valley)
        result = lbfgs(evaluate, np.array([-1.2, 1.0]), WIDE, scale, 200, 1e-12)
        np.testing.assert_allclose(result.best.theta, 1.0, rtol=0, atol=1e-4)


def test_lbfgs_stops_once_steps_gain_little():
    patient, brief = (
        lbfgs(evaluated(valley)[0], np.array([-1.2, 1.0]), WIDE, np.ones(2), 200, gain)
        for gain in (1e-12, 0.5)
    )
    assert brief.n_evaluations < patient.n_evaluations
    assert brief.converged
    assert brief.best.value < patient.best.value


def test_lbfgs_stays_in_its_box_and_hands_on_the_best_start():
    box = np.array([[-0.5, 0.5], [-10.0, 10.0]])
    evaluate, calls = evaluated(quadratic)
    result = lbfgs(evaluate, np.zeros(2), box, np.ones(2), 60, 1e-12)
    thetas = np.array([theta for theta, _, _ in calls])
    assert np.all((thetas[:, 0] >= -0.5) & (thetas[:, 0] <= 0.5))
    # On the edge x = 1/2 the maximum is where the second derivative alone vanishes.
    np.testing.assert_allclose(result.best.theta, [0.5, -0.75], rtol=0, atol=1e-6)
    for i, (_, _, start) in enumerate(calls):
        values = [value for _, value, _ in calls[:i]]
        assert start == (1 + int(np.argmax(values)) if values else None)


def pit(theta):
    """A straight slope, a maximum at a ratio near 9.6, then a plateau with wrong gradients.

    As the evidence of a linear kernel, it depends on the ratio of variance and noise alone.
    """
    ratio = theta[0] - 2.0 * theta[1]
    value = -20.0 * np.logaddexp(0.0, 4.0 - ratio) - 5.0 * expit(2.0 * (ratio - 12.0))
    slope = 20.0 * expit(4.0 - ratio) - 10.0 * expit(2 * ratio - 24) * expit(24 - 2 * ratio)
    if ratio > 20:  # an engine that did not converge: the gradient is not that of the value
        slope = -2.0
    return value, slope * np.array([1.0, -2.0])


def test_lbfgs_comes_back_from_a_corner_of_the_box():
    box = np.array([[-18.0, 9.0], [-7.0, 3.0]])
    evaluate, calls = evaluated(pit)
    result = lbfgs(evaluate, np.zeros(2), box, np.full(2, 0.1), 150, 2e-4)
    assert any(theta[0] - 2.0 * theta[1] > 20 for theta, _, _ in calls)
    assert result.converged
    assert result.n_evaluations == len(calls)
    assert result.best.theta @ [1.0, -2.0] == pytest.approx(9.56, abs=0.05)


def test_lbfgs_has_converged_where_nothing_is_left_to_gain_however_it_ended():
    def cut(most):
        start = np.array([-0.5, 0.5])
        return lbfgs(evaluated(valley)[0], start, WIDE, np.ones(2), most, 1e-6)

    needed = cut(100).n_evaluations
    ends = [cut(most) for most in range(needed - 5, needed)]  # all cut before they saw the end
    left = [0.5 * float(np.sum(end.best.gradient**2)) for end in ends]
    assert [end.converged for end in ends] == [nats < 1e-6 for nats in left]
    assert left[0] > 1e-6 > left[-1]


def test_refine_is_at_the_maximum_of_a_quadratic_after_two_evaluations():
    evaluate, _ = evaluated(quadratic)
    result = refine(evaluate, NextStep.of(np.zeros(2), H), WIDE, 60, 1e-9)
    assert result.n_evaluations == 2
    assert result.converged
    np.testing.assert_allclose(result.best.theta, MAXIMUM, rtol=0, atol=1e-12)


def test_refine_stays_in_its_box_and_finds_the_maximum_on_its_edge():
    box = np.array([[-0.5, 0.5], [-10.0, 10.0]])
    evaluate, calls = evaluated(quadratic)
    result = refine(evaluate, NextStep.of(np.array([-3.0, 0.0]), H), box, 60, 1e-9)
    thetas = np.array([theta for theta, _, _ in calls])
    assert np.all((thetas[:, 0] >= -0.5) & (thetas[:, 0] <= 0.5))
    assert result.converged
    np.testing.assert_allclose(result.best.theta, [0.5, -0.75], rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "wrong", [np.diag([2.0, -1e-9]), np.diag([-1e4, -0.1]), np.zeros((2, 2))]
)
def test_refine_finds_the_maximum_whatever_hessian_it_is_given(wrong):
    evaluate, calls = evaluated(valley)
    result = refine(evaluate, NextStep.of(np.array([-0.5, 0.5]), wrong), WIDE, 200, 1e-9)
    assert result.converged
    assert result.n_evaluations == len(calls)
    np.testing.assert_allclose(result.best.theta, 1.0, rtol=0, atol=1e-2)


@pytest.mark.parametrize("most", [1, 2, 7])
def test_refine_stays_within_its_evaluations(most):
    evaluate, calls = evaluated(valley)
    result = refine(evaluate, NextStep.of(np.array([-1.2, 1.0]), -np.eye(2)), WIDE, most, 1e-12)
    assert result.n_evaluations == len(calls) == most
    assert not result.converged
    assert result.best.value == max(value for _, value, _ in calls)


@pytest.mark.parametrize(
    ("at", "edge"), [(MAXIMUM + 1e-6, 10.0), (np.array([0.5, -0.75]), 0.5)]
)
def test_refine_does_not_leave_a_maximum_inside_or_on_the_edge(at, edge):
    evaluate, _ = evaluated(quadratic)
    box = np.array([[-10.0, edge], [-10.0, 10.0]])
    result = refine(evaluate, NextStep.of(at, H), box, 60, 1e-9)
    assert result.n_evaluations == 1
    assert result.converged


def test_a_search_goes_on_from_its_next_step():
    evaluate, calls = evaluated(valley)
    first = refine(evaluate, NextStep.of(np.array([-0.5, 0.5]), -np.eye(2)), WIDE, 3, 1e-9)
    assert not first.converged
    then = refine(evaluate, first.next_step, WIDE, 200, 1e-9)
    theta, _, start = calls[3]
    np.testing.assert_array_equal(theta, first.next_step.theta)
    assert start == first.next_step.start is not None
    assert then.converged
    assert then.n_evaluations == len(calls) - 3
    np.testing.assert_allclose(then.best.theta, 1.0, rtol=0, atol=1e-2)


def test_curvature_is_the_hessian_and_steps_inwards_at_the_edge():
    evaluate, calls = evaluated(quadratic)
    box = np.array([[-10.0, 0.3], [-10.0, 10.0]])
    at = evaluate(np.array([0.3, 0.0]))
    found = curvature(evaluate, at, box)
    np.testing.assert_allclose(found, H, rtol=0, atol=1e-9)
    assert all(theta[0] <= 0.3 for theta, _, _ in calls)
    assert [start for _, _, start in calls[1:]] == [1, 1]


def test_a_search_gives_up_when_a_tenth_of_its_evaluations_did_not_converge():
    evaluate, calls = evaluated(valley, converged=False)
    result = lbfgs(evaluate, np.array([-1.2, 1.0]), WIDE, np.ones(2), 60, 1e-12)
    assert len(calls) == result.n_evaluations == result.n_unconverged == 7
    assert not result.converged
    evaluate, calls = evaluated(valley, converged=False)
    refine(evaluate, NextStep(np.array([-1.2, 1.0]), np.eye(2)), WIDE, 60, 1e-12)
    assert len(calls) == 7


def test_a_search_does_not_end_where_its_criterion_is_not_credible():
    def slope(theta):  # rises to the right without end
        return float(theta.sum()), np.ones(1)

    evaluate, _ = evaluated(slope, credible=lambda theta: theta[0] < 2.0)
    box = np.array([[-10.0, 10.0]])
    result = lbfgs(evaluate, np.zeros(1), box, np.ones(1), 60, 1e-6)
    assert result.best.credible
    assert 1.0 < result.best.theta[0] < 2.0


def test_a_search_leaves_a_start_that_is_not_credible_for_any_that_is():
    evaluate, _ = evaluated(valley, credible=lambda theta: theta[0] > -1.0)
    result = lbfgs(evaluate, np.array([-1.2, 1.0]), WIDE, np.ones(2), 60, 1e-12)
    assert result.best.credible


# Inducing points that are learnt


def with_points(n=150, M=7, engine="ep", tol=1e-11):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 2))
    y = np.digitize(np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n), [-0.4, 0.4])
    problem = InducingObjective(
        X, y, np.ones(n), Gaussian([1.0, 2.0]), Ordinal(np.array([-0.4, 0.4]), 0.4), engine,
        tol=tol, count=M, Z=X[:M] + 0.05,
    )  # fmt: skip
    return with_weak_prior(problem)


@pytest.mark.parametrize(
    ("engine", "tol"), [("ep", 1e-12), ("laplace", 1e-22), ("variational", 1e-12)]
)
def test_the_gradient_in_theta_and_points_agrees_with_differences(engine, tol):
    problem = with_points(engine=engine, tol=tol)
    p, h = len(problem.theta), 1e-4  # truncation h^2 and rounding of the engine / h balance
    evaluate = optimise._of_theta_and_points(problem, p)
    at = np.append(problem.theta, problem.Z)
    gradient = evaluate(at).gradient
    assert len(gradient) == p + problem.Z.size
    for i in (0, p - 1, p, p + 5, len(at) - 1):
        step = h * (np.arange(len(at)) == i)
        slope = (evaluate(at + step).value - evaluate(at - step).value) / (2 * h)
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_learnt_points_raise_the_evidence_and_stop_where_steps_gain_little():
    problem = with_points(tol=1e-6)
    at, told = problem.evaluate(problem.theta), []
    fit = learn_points(problem, at, 60, lambda rows, value: told.append((rows, value)))
    assert fit.converged
    assert fit.best.value > at.value + 5.0
    assert fit.best.value == pytest.approx(max(value for _, value in told), abs=1e-3)
    assert fit.path == ((150, len(told) + 1),)  # the last one is exact
    assert len(fit.best.theta) == len(problem.theta)
    assert not np.allclose(fit.problem.Z, problem.Z)


def test_learning_points_ends_when_evaluations_do():
    problem = with_points(tol=1e-6)
    fit = learn_points(problem, problem.evaluate(problem.theta), 3)
    assert fit.n_evaluations == 4
    assert not fit.converged
