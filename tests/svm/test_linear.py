"""The interior-point method finds the solution of the general solver, for any C."""

import numpy as np
import pytest

from ordinality.svm.kernel_rows import KernelRows
from ordinality.svm.linear import solve_linear
from ordinality.svm.solver import solve
from ordinality.svm.terms import FORMULATIONS, comparisons


def machine_terms(formulation, y, n_levels, C):
    cost = np.full(len(y), C)
    if formulation == "comparisons":
        return comparisons(cost)
    return FORMULATIONS[formulation](y, n_levels, cost)


@pytest.mark.parametrize("C", [0.02, 1.0, 30.0])
@pytest.mark.parametrize("formulation", ["implicit", "explicit", "fixed-margin", "comparisons"])
def test_the_optimum_is_that_of_the_general_solver(toolbox, formulation, C):
    X, y = toolbox.ordinal(120, 4, d=3)
    terms = machine_terms(formulation, y, 4, C)
    ours = solve_linear(terms, X, tol=1e-5)
    other = solve(terms, KernelRows.of_matrix(X @ X.T), tol=1e-8, max_steps=3_000_000)
    assert ours.report.converged
    assert other.report.converged
    assert ours.objective == pytest.approx(other.objective, rel=1e-8)
    assert ours.primal == pytest.approx(ours.objective, rel=1e-7)
    np.testing.assert_allclose(ours.scores, other.scores, atol=1e-5)
    np.testing.assert_allclose(X @ ours.weights, ours.scores)


def test_bands_are_as_wide_as_the_general_solver_makes_them(toolbox):
    X, y = toolbox.ordinal(200, 4, d=3, noise=0.1)
    terms = machine_terms("sum-of-margins", y, 4, 0.025)
    ours = solve_linear(terms, X, tol=1e-6)
    other = solve(terms, KernelRows.of_matrix(X @ X.T), tol=1e-8)
    assert ours.objective == pytest.approx(other.objective, rel=1e-7)
    np.testing.assert_allclose(ours.scores, other.scores, atol=1e-6)
    assert np.all(np.diff(ours.thresholds) > -1e-9)
    assert np.all(ours.thresholds > other.lower - 1e-6)
    assert np.all(ours.thresholds < other.upper + 1e-6)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("formulation", ["implicit", "explicit", "fixed-margin", "comparisons"])
def test_any_small_problem_agrees_with_an_independent_solver(toolbox, formulation, seed):
    machine = toolbox.random_machine(formulation, 3 * seed + 1)  # linear kernels
    found = solve_linear(machine.terms, toolbox.features(machine.K), tol=1e-5)
    expected = toolbox.by_interior_point(machine)
    assert found.objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)


def test_ordered_thresholds_come_with_an_active_chain():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 1)), rng.integers(0, 5, 60)  # levels without an order
    found = solve_linear(machine_terms("explicit", y, 5, 1.0), X)
    assert np.all(np.diff(found.thresholds) >= -1e-8)
    assert found.mu.max() > 0


def test_multipliers_satisfy_their_constraints(toolbox):
    X, y = toolbox.ordinal(300, 5, d=2)
    for formulation in ("implicit", "explicit"):
        terms = machine_terms(formulation, y, 5, 2.0)
        found = solve_linear(terms, X)
        sums = np.bincount(terms.node, terms.sign * found.alpha)
        np.testing.assert_allclose(sums, found.mu - np.append(found.mu[1:], 0.0), atol=1e-3)
        assert np.all((found.alpha >= 0) & (found.alpha <= terms.upper))
        assert np.any(found.alpha == 0)
        assert np.any(found.alpha == terms.upper)


def test_rows_beyond_the_first_block_count(toolbox, monkeypatch):
    X, y = toolbox.ordinal(150, 3, d=2)
    terms = machine_terms("implicit", y, 3, 1.0)
    whole = solve_linear(terms, X)
    monkeypatch.setattr("ordinality.svm.linear._ROWS", 7)
    np.testing.assert_allclose(solve_linear(terms, X).weights, whole.weights, atol=1e-9)


def test_too_few_steps_are_reported(toolbox):
    X, y = toolbox.ordinal(50, 3, d=2)
    found = solve_linear(machine_terms("implicit", y, 3, 1.0), X, max_steps=2)
    assert not found.report.converged
    assert found.report.n_steps == 2
    assert np.all(np.isfinite(found.thresholds))


def test_a_cost_too_small_for_bands_is_refused(toolbox):
    X, y = toolbox.ordinal(30, 3, d=2)
    with pytest.raises(ValueError, match="C is too small for the sum of margins"):
        solve_linear(machine_terms("sum-of-margins", y, 3, 0.01), X)


@pytest.mark.parametrize("C", [1e3, 1e5, 1e7])
def test_many_separable_comparisons_are_solved_at_any_cost(C):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(1500, 20)), rng.normal(size=20)
    X *= np.sign(X @ w)[:, None]
    X = X[X @ w > 0.1]  # an objective far below the cost of all slack
    found = solve_linear(comparisons(np.full(len(X), C)), X)
    assert found.report.converged
    assert np.min(X @ found.weights) == pytest.approx(1.0, abs=1e-6)
    assert found.primal == pytest.approx(found.objective, rel=1e-6)
