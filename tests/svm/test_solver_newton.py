"""Newton steps on a face of the box, alone and in the solver."""

import numpy as np
import pytest

from ordinality.svm import solver
from ordinality.svm.kernel_rows import KernelRows
from ordinality.svm.solver import (
    _distance_to_bounds,
    _projected_line_search,
    newton_on_face,
    solve,
)
from ordinality.svm.terms import comparisons


def face(seed, q=12, rank=None):
    """A kernel of some rank, multipliers within a box, and slopes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(q, rank or q))
    upper = rng.uniform(0.5, 2.0, q)
    return X @ X.T, rng.uniform(0.01, 0.99, q) * upper, rng.normal(size=q), upper


def increase(K, slope, step):
    return slope @ step - 0.5 * step @ K @ step


def projected(alpha, upper, direction, t):
    return np.clip(alpha + t * direction, 0.0, upper)


def test_within_a_wide_box_the_optimum_is_that_of_the_linear_system():
    K, alpha, slope, _ = face(0)
    found = newton_on_face(K, alpha + 1e4, slope, np.full(12, 1e5), 0.0)
    np.testing.assert_allclose(found - alpha - 1e4, np.linalg.solve(K, slope), rtol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_newton_steps_increase_the_dual_within_the_box(seed):
    K, alpha, slope, upper = face(seed, rank=(None, 3)[seed % 2])
    found = newton_on_face(K, alpha, slope, upper, 1e-12)
    assert np.all((found >= 0) & (found <= upper))
    assert increase(K, slope, found - alpha) > 0
    free = (found > 0) & (found < upper)
    left = slope - K @ (found - alpha)
    np.testing.assert_allclose(left[free], 0.0, atol=1e-6)
    assert np.all(free | (found == 0) | (found == upper))


@pytest.mark.parametrize("seed", range(20))
def test_the_line_search_finds_the_largest_dual(seed):
    K, alpha, slope, upper = face(seed)
    direction = 3 * np.random.default_rng([seed, 1]).normal(size=12)
    direction *= np.sign(direction @ slope)
    reach = _distance_to_bounds(alpha, upper, direction)
    t = _projected_line_search(K, slope, direction, reach, np.argsort(reach))
    at = increase(K, slope, projected(alpha, upper, direction, t) - alpha)
    tried = [
        increase(K, slope, projected(alpha, upper, direction, s) - alpha)
        for s in np.arange(1001) / 1000
    ]
    assert 0 < t <= 1
    assert at >= max(tried) - 1e-12


def test_duplicate_terms_are_solved():
    K, alpha, slope, _ = face(1)
    twice = np.r_[np.arange(12), np.arange(12)]
    begin = alpha[twice] + 1e4
    K2, upper = K[np.ix_(twice, twice)], np.full(24, 1e5)
    step = newton_on_face(K2, begin, slope[twice], upper, 0.0) - begin
    np.testing.assert_allclose(K @ (step[:12] + step[12:]), slope, atol=1e-6)


def test_an_indefinite_matrix_leaves_the_multipliers_unchanged():
    alpha = np.array([0.5, 0.5])
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    found = newton_on_face(K, alpha, np.ones(2), np.ones(2), 1e-12)
    np.testing.assert_array_equal(found, alpha)


# ------------------------------------------------------------------------------ in the solver


def machine(toolbox, seed, C, *, n=25, m=60, noise=0.3, kernel="rbf", width=1.0):
    """Comparisons of items, some of which are copies; some pairs twice, some contradicted."""
    rng = np.random.default_rng(seed)
    X = width * rng.normal(size=(n, 2))
    X[: n // 5] = X[-(n // 5) :]
    felt = X @ [1.0, -0.5] + np.sin(2 * X[:, 0] / width) + noise * rng.normal(size=n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    pairs = np.where((felt[pairs[:, 0]] > felt[pairs[:, 1]])[:, None], pairs, pairs[:, ::-1])
    pairs[: m // 6] = pairs[-(m // 6) :]
    pairs[m // 6 : m // 4] = pairs[m // 2 : m // 2 + m // 4 - m // 6, ::-1]
    K, (v, u) = toolbox.kernel(kernel, X, X), pairs.T
    P = K[np.ix_(v, v)] - K[np.ix_(v, u)] - K[np.ix_(u, v)] + K[np.ix_(u, u)]
    return toolbox.Machine("comparisons", P, None, 0, np.full(m, C))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_comparisons_agree_with_an_independent_solver(toolbox, seed, C, kernel):
    problem = machine(toolbox, seed, C, kernel=kernel)
    found = problem.solved(tol=1e-6)
    expected = toolbox.by_interior_point(problem)
    assert found.report.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-4)


@pytest.mark.parametrize("C", [1e-2, 1.0, 30.0])
def test_newton_steps_do_not_change_the_solution(toolbox, monkeypatch, C):
    problem = machine(toolbox, 5, C, m=400, n=80)
    with_newton = problem.solved(tol=1e-6)
    monkeypatch.setattr(solver._ActiveProblem, "newton_step", lambda *_: False)
    without = problem.solved(tol=1e-6)
    assert with_newton.objective == pytest.approx(without.objective, rel=1e-9)
    np.testing.assert_allclose(with_newton.scores, without.scores, atol=1e-5)
    assert with_newton.report.n_steps <= without.report.n_steps


def test_newton_steps_converge_where_pair_steps_are_slow(toolbox, monkeypatch):
    problem = machine(toolbox, 2, 1e4, m=300, n=60, width=0.3)
    found = problem.solved(tol=1e-3, max_steps=30_000)
    assert found.report.converged
    assert found.gap < 1e-3 * found.objective
    monkeypatch.setattr(solver._ActiveProblem, "newton_step", lambda *_: False)
    without = problem.solved(tol=1e-3, max_steps=30_000)
    assert not without.report.converged
    assert without.objective < found.objective


def test_newton_steps_with_a_small_cache_find_the_same_solution(toolbox):
    problem = machine(toolbox, 3, 1e3, m=400, n=80)
    K = problem.K
    rows = KernelRows(lambda i, j: K[np.ix_(i, j)], np.diag(K))
    whole = problem.solved(tol=1e-6)
    for n_bytes in (8 * 400 * 300, 8 * 400 * 100):  # the rows of a Newton step fit, and do not
        bits = solve(problem.terms, rows, tol=1e-6, cache_bytes=n_bytes, max_steps=3_000_000)
        assert bits.report.converged
        assert bits.objective == pytest.approx(whole.objective, rel=1e-9)


def test_a_start_at_another_cost_leads_to_the_same_solution(toolbox):
    problem = machine(toolbox, 4, 1.0, m=200, n=50)
    before = problem.solved(tol=1e-6)
    for C in (30.0, 0.1):
        terms = comparisons(np.full(200, C))
        warm = solve(terms, problem.rows, start=before, tol=1e-6)
        cold = solve(terms, problem.rows, tol=1e-6)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
        assert np.all((warm.alpha >= 0) & (warm.alpha <= C))


def test_a_start_at_a_smaller_cost_needs_fewer_steps(toolbox):
    problem = machine(toolbox, 4, 1.0, m=200, n=50)
    before = problem.solved(tol=1e-3)
    terms = comparisons(np.full(200, 1.2))
    warm = solve(terms, problem.rows, start=before)
    assert warm.report.n_steps < 0.5 * solve(terms, problem.rows).report.n_steps


def test_weights_of_pairs_count_as_copies(toolbox):
    problem = machine(toolbox, 6, 100.0)
    twice = np.r_[np.arange(60), np.arange(60)]
    copied = solve(
        comparisons(np.full(120, 100.0)), KernelRows.of_matrix(problem.K[np.ix_(twice, twice)]),
        tol=1e-6,
    )  # fmt: skip
    weighed = solve(comparisons(np.full(60, 200.0)), problem.rows, tol=1e-6)
    assert copied.objective == pytest.approx(weighed.objective, rel=1e-8)
