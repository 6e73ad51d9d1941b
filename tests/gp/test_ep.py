"""Iteration of sites: all at once with acceleration, and one after another."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from ordinality.gp import ep as ep_module
from ordinality.gp.design import Direct
from ordinality.gp.ep import swept
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.site_loop import iterate
from ordinality.kernels import Gaussian

SMOOTH = 1.5 * Gaussian([1.0, 2.0])


@dataclass(frozen=True)
class State:
    """What `iterate` asks of a state."""

    proposal: np.ndarray
    residual: float


def iterated(step, x, *, copies=None, ceiling=np.inf, mixing=1.0, tol=1e-9, max_iter=30):
    """Iterate ``x <- step(x)``, and the points visited on the way."""
    path, n = [], len(x) // 2

    def update(x):
        path.append(x)
        proposal = step(x)
        return State(proposal, float(np.abs(proposal - x).max()))

    copies = np.ones(n) if copies is None else copies
    report = iterate(
        update, x, ceiling=np.full(n, ceiling), copies=copies, mixing=mixing, tol=tol,
        max_iter=max_iter,
    )  # fmt: skip
    return report, np.array(path)


# All at once


def test_a_linear_map_that_diverges_is_made_to_converge():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(4, 4))
    M = basis @ np.diag([-1.6, 1.3, 0.9, -0.8]) @ np.linalg.inv(basis)
    goal = np.array([5.0, 6.0, -1.0, 2.0])
    x = goal + 0.1

    def step(x):
        return goal + M @ (x - goal)

    plain = x
    for _ in range(30):
        plain = step(plain)
    assert np.abs(plain - goal).max() > 1e4
    report, path = iterated(step, x)
    assert report.converged
    # Four unknown directions: exact after as many differences, but for rounding.
    assert report.n_iter == len(path) <= 8
    np.testing.assert_allclose(report.x, goal, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(report.x, path[-1])


def test_precisions_beyond_the_ceiling_take_the_plain_step():
    def step(x):  # never proposes more than 9, though it heads for 10
        return np.minimum(x + 0.1 * (10.0 - x), 9.0)

    report, path = iterated(step, np.zeros(2), ceiling=9.0, max_iter=100)
    free, _ = iterated(step, np.zeros(2), max_iter=100)
    assert path[:, 0].max() <= 9.0
    assert report.converged
    assert report.x[0] == pytest.approx(9.0, abs=1e-8)
    assert free.n_iter < report.n_iter  # the ceiling was in the way


def test_negative_precisions_take_the_plain_step():
    def step(x):  # the extrapolated precision is below zero; shifts may be
        return np.maximum(x - 0.1 * (x + 1.0), [0.5, -np.inf])

    report, path = iterated(step, np.array([3.0, 3.0]), max_iter=100)
    assert path[:, 0].min() >= 0.0
    np.testing.assert_allclose(report.x, [0.5, -1.0], rtol=0, atol=1e-7)


def test_a_mixed_step_goes_part_of_the_way():
    _, path = iterated(lambda x: 0.5 * x, np.array([4.0, 8.0]), mixing=0.25, max_iter=2)
    np.testing.assert_allclose(path[1], [3.5, 7.0])


def test_copies_of_a_site_go_the_way_of_the_repeated_site():
    rng = np.random.default_rng(1)
    goal, pull = np.array([3.0, 4.0, 1.0, -1.0]), rng.uniform(-0.9, 0.9, 4)
    pick = np.array([0, 1, 1, 1, 2, 3, 3, 3])  # precisions, then shifts, of a site and three

    def one(x):
        return goal + pull * (x - goal)

    def many(x):
        return goal[pick] + pull[pick] * (x - goal[pick])

    start = np.array([2.0, 3.0, 0.5, 0.5])
    _, weighted = iterated(one, start, copies=np.array([1.0, 3.0]))
    _, repeated = iterated(many, start[pick])
    assert len(weighted) > 3
    np.testing.assert_allclose(weighted[:4][:, pick], repeated[:4], rtol=0, atol=1e-10)


def test_the_best_point_is_returned_when_none_is_good_enough():
    residuals, path = iter([3.0, 1.0, 2.0, 4.0, 1.0]), []

    def update(x):
        path.append(x)
        return State(x + 1.0, next(residuals))

    one = np.ones(1)
    report = iterate(
        update, np.zeros(2), ceiling=np.inf * one, copies=one, mixing=1.0, tol=0.5, max_iter=4
    )
    assert not report.converged
    assert report.n_iter == 4
    np.testing.assert_array_equal(report.x, path[1])
    # Computed again, because states share their memory.
    assert len(path) == 5
    np.testing.assert_array_equal(path[4], path[1])


# One after another


def test_a_sweep_refreshes_each_site_after_those_before_it(draw_problem):
    problem = draw_problem(0, SMOOTH, n=70)  # more than one block
    rng = np.random.default_rng(0)
    tau, nu = rng.uniform(0.0, 2.0, 70), rng.normal(size=70)
    copies = rng.choice([1.0, 2.0, 3.5], 70)
    K = problem.kernel(problem.X)

    def match(i, mu, lam):
        jet = problem.likelihood.log_expected(problem.y[[i]], np.array([mu]), np.array([lam]))
        return -jet.d2[0] / jet.shrink[0], (jet.d1[0] - mu * jet.d2[0]) / jet.shrink[0]

    found = swept(prior_of(Direct(), K), copies, tau, nu, match)
    for i in range(70):  # everything from the start for every site
        C = K + np.diag(1 / (copies * tau))
        gain = np.linalg.solve(C, K).T
        mean, var = gain @ (nu / tau), (K - gain @ K)[i, i]
        lam = 1 / (1 / var - tau[i])
        mu = lam * (mean[i] / var - nu[i])
        tau[i], nu[i] = match(i, mu, lam)
    np.testing.assert_allclose(found[0], tau, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[1], nu, rtol=0, atol=1e-9)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("weights", [1.0, 2.0, 0.5])
def test_sweeps_end_where_all_at_once_ends(draw_problem, solve, monkeypatch, link, weights):
    problem = draw_problem(1, SMOOTH, link=link, weights=np.full(12, weights), tol=1e-10)
    together = solve(problem)
    monkeypatch.setattr(ep_module, "_PARALLEL", 1)
    apart = solve(problem)
    assert apart.converged
    assert apart.n_iter > 2
    assert apart.log_evidence == pytest.approx(together.log_evidence, abs=1e-10)
    for name in ("tau", "nu", "mean", "var", "d_likelihood", "d_kernel"):
        np.testing.assert_allclose(
            getattr(apart, name), getattr(together, name), rtol=0, atol=1e-7, err_msg=name
        )


def test_a_sweep_does_not_move_a_fixed_point(draw_problem, solve, monkeypatch):
    problem = draw_problem(2, SMOOTH)
    start = solve(problem).start
    monkeypatch.setattr(ep_module, "_PARALLEL", 1)
    once = solve(replace(problem, tol=0.0), start=start, max_iter=2)
    assert not once.converged
    assert once.n_iter == 2
    np.testing.assert_allclose(once.start, start, rtol=0, atol=1e-10)


def test_too_few_sweeps_are_reported_with_the_best_of_them(draw_problem, solve, monkeypatch):
    problem = draw_problem(3, SMOOTH)
    monkeypatch.setattr(ep_module, "_PARALLEL", 1)
    few, more = (solve(problem, max_iter=k) for k in (2, 4))
    assert not few.converged
    assert not more.converged
    assert more.n_iter == 4
    assert problem.tol < more.residual < few.residual
    assert np.all(np.isfinite(more.d_kernel))
