"""Solutions: reference vectors, an independent solver, optimality and symmetries."""

from threading import Thread
from time import perf_counter

import numpy as np
import pytest

from ordinality.svm import solver
from ordinality.svm.kernel_rows import KernelRows
from ordinality.svm.solver import recover_thresholds, solve
from ordinality.svm.terms import FORMULATIONS

MACHINES = [*FORMULATIONS, "comparisons"]
ORDERED = ["implicit", "explicit", "sum-of-margins"]


def excess(found):
    """Residual of the constraint of each node."""
    terms, mu = found.terms, np.append(found.mu, 0.0)
    sums = np.bincount(terms.node, terms.sign * found.alpha, minlength=terms.n_nodes)
    return sums + terms.push - mu[:-1] + mu[1:]


def assert_feasible(found):
    terms = found.terms
    assert np.all((found.alpha >= 0) & (found.alpha <= terms.upper))
    assert np.all(found.mu >= 0)
    assert found.mu[0] == 0
    if not terms.chained:
        assert not found.mu.any()
    if not terms.pinned:
        np.testing.assert_allclose(excess(found), 0.0, atol=1e-10 * np.sum(terms.upper))


@pytest.mark.parametrize("case", [0, 1])
@pytest.mark.parametrize(("formulation", "key"), [("implicit", "imc"), ("explicit", "exc")])
def test_solutions_are_those_of_the_reference_vectors(toolbox, vectors, case, formulation, key):
    given = vectors["svor"][case]
    X, y, expected = np.array(given["X"]), np.array(given["y"]) - 1, given[key]
    K = np.exp(-0.25 * ((X[:, None] - X) ** 2).sum(axis=2))
    machine = toolbox.Machine(formulation, K, y, 4, np.full(len(y), given["C"]))
    found = machine.solved(tol=1e-11)
    assert found.objective == pytest.approx(expected["objective"], rel=1e-11)
    assert found.primal == pytest.approx(expected["objective"], rel=1e-9)
    np.testing.assert_allclose(found.scores, expected["f"], atol=1e-8)
    # Unique: no two inputs are the same, and then this kernel is positive definite.
    np.testing.assert_allclose(found.beta, expected["beta"], atol=1e-7)
    np.testing.assert_allclose(found.thresholds, expected["b"], atol=1e-8)
    np.testing.assert_allclose(found.lower, expected["b_low"], atol=1e-8)
    np.testing.assert_allclose(found.upper, expected["b_up"], atol=1e-8)
    np.testing.assert_allclose(found.mu[1:], expected["mu"] or [0.0, 0.0], atol=1e-8)


@pytest.mark.parametrize("formulation", MACHINES)
@pytest.mark.parametrize("seed", range(50))
def test_an_interior_point_solver_finds_the_same(toolbox, formulation, seed):
    machine = toolbox.random_machine(formulation, seed)
    found, other = machine.solved(), toolbox.by_interior_point(machine)
    assert found.report.converged
    assert found.report.violation <= 1e-9
    assert_feasible(found)
    assert found.objective == pytest.approx(other.objective, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(found.scores, other.scores, atol=1e-5)
    # A violation of tol costs at most tol for every unit of alpha, and those are bounded.
    assert -1e-9 <= found.gap / np.sum(found.terms.upper) <= 1e-8
    assert np.all(found.lower <= found.thresholds + 1e-9)
    assert np.all(found.thresholds <= found.upper + 1e-9)
    if formulation in ORDERED:
        assert np.all(np.diff(found.thresholds) >= -1e-9)
    np.testing.assert_allclose(machine.K @ found.beta, found.scores, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 2, 4, 11, 12, 17])  # bands of some width
def test_the_sum_of_margins_is_largest_on_the_unit_ball(toolbox, seed):
    machine = toolbox.random_machine("sum-of-margins", seed)
    found, other = machine.solved(), toolbox.by_interior_point(machine, within_ball=True)
    # With w = t u on a ray, |w|^2 / 2 + t g(u) is least at t = -g(u).
    norm = np.sqrt(found.beta @ found.scores)
    assert other.objective == pytest.approx(-norm, rel=1e-6)
    np.testing.assert_allclose(found.scores / norm, other.scores, atol=1e-5)


def test_bands_have_no_width_where_any_width_costs_more(toolbox):
    # Equal inputs of both ranks and a large C: any width of a band costs more than it gains.
    machine = toolbox.Machine(
        "sum-of-margins", np.ones((4, 4)), np.array([0, 1, 0, 1]), 2, np.full(4, 5.0)
    )
    found = machine.solved(tol=1e-6)
    assert found.report.converged
    assert found.objective == pytest.approx(0.0, abs=1e-12)
    assert found.thresholds[0] == pytest.approx(found.thresholds[1], abs=1e-9)


def test_a_cost_too_low_for_the_sum_of_margins_is_refused(toolbox):
    _, y = toolbox.ordinal(20, 4)
    machine = toolbox.Machine("sum-of-margins", np.eye(20), y, 4, np.full(20, 0.1))
    with pytest.raises(ValueError, match=r"C is too small.*at least 1, and is 0\.5"):
        machine.solved()


# ---------------------------------------------------------------- symmetries


@pytest.mark.parametrize("formulation", MACHINES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_another_order_of_rows_permutes_the_scores(toolbox, formulation, seed):
    machine = toolbox.random_machine(formulation, seed)
    p = np.random.default_rng(seed).permutation(len(machine.cost))
    y = None if machine.y is None else machine.y[p]
    K, cost = machine.K[np.ix_(p, p)], machine.cost[p]
    other = toolbox.Machine(formulation, K, y, machine.n_levels, cost).solved()
    found = machine.solved()
    np.testing.assert_allclose(other.scores, found.scores[p], atol=1e-6)
    np.testing.assert_allclose(other.thresholds, found.thresholds, atol=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
# Explicit constraints: in some seeds rounding left mu of 1e-16, which tied free thresholds.
@pytest.mark.parametrize("seed", [0, 1, 2, 46, 109, 131, 229])
def test_reversed_levels_negate_scores_and_thresholds(toolbox, formulation, seed):
    machine = toolbox.random_machine(formulation, seed)
    k = machine.n_levels
    other = toolbox.Machine(formulation, machine.K, k - 1 - machine.y, k, machine.cost)
    found, mirrored = machine.solved(), other.solved()
    np.testing.assert_allclose(mirrored.scores, -found.scores, atol=1e-6)
    np.testing.assert_allclose(mirrored.thresholds, -found.thresholds[::-1], atol=1e-6)


@pytest.mark.parametrize("formulation", MACHINES)
def test_a_weight_counts_as_copies_of_a_row(toolbox, formulation):
    machine = toolbox.random_machine(formulation, 12)
    n = len(machine.cost)
    times = np.random.default_rng(0).integers(0, 4, n)
    times[[machine.y.argmin(), machine.y.argmax()] if machine.y is not None else []] = 2
    each = np.full(n, machine.cost.max())
    weighted = toolbox.Machine(
        formulation, machine.K, machine.y, machine.n_levels, each * times
    ).solved()
    c = np.repeat(np.arange(n), times)
    y = None if machine.y is None else machine.y[c]
    K = machine.K[np.ix_(c, c)]
    copied = toolbox.Machine(formulation, K, y, machine.n_levels, each[c]).solved()
    assert copied.objective == pytest.approx(weighted.objective, rel=1e-8)
    np.testing.assert_allclose(copied.scores, weighted.scores[c], atol=1e-6)
    np.testing.assert_allclose(copied.thresholds, weighted.thresholds, atol=1e-6)


# ---------------------------------------------------------------- ways to the solution


@pytest.mark.parametrize("formulation", MACHINES)
def test_warm_starts_at_other_costs_end_where_cold_ones_do(toolbox, formulation):
    machine = toolbox.random_machine(formulation, 9)
    found = machine.solved()
    for factor in (1.5, 4.0, 1.2):
        other = machine.at_cost(factor)
        found, cold = other.solved(start=found), other.solved()
        assert_feasible(found)
        assert found.objective == pytest.approx(cold.objective, rel=1e-8)
        np.testing.assert_allclose(found.scores, cold.scores, atol=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_start_at_the_solution_takes_no_steps(toolbox, formulation):
    machine = toolbox.random_machine(formulation, 6)
    found = machine.solved(tol=1e-6)
    assert machine.solved(tol=1e-6, start=found).report.n_steps <= 1


@pytest.fixture(scope="module", params=FORMULATIONS)
def large(request, toolbox):
    """Machines with enough rows for shrinking, and their solutions."""
    n, formulation = 600, request.param
    X, y = toolbox.ordinal(n, 5, seed=1, d=3)
    cost = np.full(n, 1.1 / (n // 5) if formulation == "sum-of-margins" else 10.0)
    machine = toolbox.Machine(formulation, toolbox.kernel("rbf", X, X), y, 5, cost)
    return machine, machine.solved(tol=1e-6)


def assert_same(found, expected):
    assert_feasible(found)
    assert found.report.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)
    scale = np.ptp(expected.scores)
    np.testing.assert_allclose(found.scores, expected.scores, atol=2e-5 * scale)
    np.testing.assert_allclose(found.thresholds, expected.thresholds, atol=2e-5 * scale)


def test_shrinking_does_not_change_the_solution(large, monkeypatch):
    machine, expected = large
    shrunk = []
    shrink = solver._ActiveProblem.shrink
    monkeypatch.setattr(
        solver._ActiveProblem, "shrink", lambda work: (shrink(work), shrunk.append(work.shrunk))
    )
    assert_same(machine.solved(tol=1e-6), expected)
    assert any(shrunk)
    monkeypatch.setattr(solver, "_SHRINK_SIZE", 10**9)
    assert_same(machine.solved(tol=1e-6), expected)


def test_few_kernel_rows_in_memory_do_not_change_the_solution(large):
    machine, expected = large
    K = machine.K
    rows = KernelRows(lambda i, j: K[np.ix_(i, j)], np.diag(K))
    found = solve(machine.terms, rows, tol=1e-6, cache_bytes=8 * len(K) * 100)
    assert_same(found, expected)
    np.testing.assert_allclose(K @ found.beta, found.scores, atol=1e-10)


def test_a_budget_of_steps_ends_at_a_feasible_point(large):
    machine, expected = large
    for max_steps in (0, 1, 100, 1100):  # the last after shrinking
        found = machine.solved(tol=1e-9, max_steps=max_steps)
        assert not found.report.converged
        assert found.report.n_steps == max_steps
        assert found.report.violation > 1e-9
        assert_feasible(found)
        np.testing.assert_allclose(machine.K @ found.beta, found.scores, atol=1e-10)
        assert found.objective <= expected.objective * (1 + 1e-6 * np.sign(expected.objective))


def test_the_gap_shrinks_with_the_tolerance(large):
    machine, _ = large
    gaps = [machine.solved(tol=tol).gap for tol in (1e-1, 1e-3, 1e-5)]
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2] > 0


def test_other_threads_run_during_the_steps(toolbox, monkeypatch):
    X, y = toolbox.ordinal(600, 5, d=3)
    machine = toolbox.Machine(
        "implicit", toolbox.kernel("rbf", X, X), y, 5, np.full(len(y), 1000.0)
    )
    machine.solved(tol=10.0)  # compiled before the clock starts
    monkeypatch.setattr(solver, "_SHRINK_PERIOD", 10**9)  # one compiled call for all steps
    seen, solving = [], Thread(target=machine.solved, kwargs={"tol": 1e-2})
    solving.start()
    while solving.is_alive():
        seen.append(perf_counter())
    solving.join()
    assert np.diff(seen).max() < 0.5 * (
        seen[-1] - seen[0]
    )  # with the GIL held it would be nearly all


# ---------------------------------------------------------------- thresholds


def test_free_thresholds_lie_in_the_middle_of_their_brackets():
    lower, upper, middle = recover_thresholds(
        np.array([0.0, -np.inf, 3.0, -np.inf]), np.array([1.0, 2.0, np.inf, np.inf]),
        np.zeros(4), False,
    )  # fmt: skip
    np.testing.assert_array_equal(middle, [0.5, 2.0, 3.0, 3.0])
    np.testing.assert_array_equal(lower, [0.0, -np.inf, 3.0, -np.inf])
    np.testing.assert_array_equal(upper, [1.0, 2.0, np.inf, np.inf])


def test_a_chain_cuts_brackets_and_ties_runs():
    below, above = np.array([0.0, -1.0, 2.0]), np.array([5.0, 4.0, 9.0])
    _, _, middle = recover_thresholds(below.copy(), above.copy(), np.zeros(3), True)
    np.testing.assert_array_equal(middle, [2.0, 2.0, 5.5])
    _, _, tied = recover_thresholds(below, above, np.array([0.0, 0.3, 0.1]), True)
    np.testing.assert_array_equal(tied, [3.0, 3.0, 3.0])


def test_thresholds_of_an_empty_level_are_finite(toolbox):
    X, y = toolbox.ordinal(30, 3)
    K = toolbox.kernel("rbf", X, X)
    for formulation in ("implicit", "explicit", "fixed-margin"):
        found = toolbox.Machine(formulation, K, y + 1, 6, np.ones(30)).solved()
        assert np.all(np.isfinite(found.thresholds))
        between = toolbox.Machine(formulation, K, y, 3, np.ones(30)).solved()
        np.testing.assert_allclose(found.scores, between.scores, atol=1e-6)
        np.testing.assert_allclose(found.thresholds[1:3], between.thresholds, atol=1e-6)


def test_rows_with_equal_violations_converge(toolbox):
    _, y = toolbox.ordinal(1500, 4)
    machine = toolbox.Machine("explicit", np.eye(1500), y, 4, np.full(1500, 10.0))
    found = machine.solved(tol=1e-3, max_steps=200_000)
    assert found.report.converged
    assert found.gap < 1e-2 * found.objective
