"""The compiled steps against their definitions, pair by pair."""

import numpy as np
import pytest

from ordinality.svm.smo import brackets, classify_terms, violations
from ordinality.svm.terms import FORMULATIONS

MACHINES = [*FORMULATIONS, "comparisons"]


@pytest.fixture(params=MACHINES)
def halfway(request, toolbox):
    """Machines after a few steps: multipliers inside and at both bounds."""
    machines = [toolbox.random_machine(request.param, seed) for seed in range(10)]
    return [machine.solved(max_steps=3 + 2 * i) for i, machine in enumerate(machines)]


def may_pair(mu, chained, k, j):
    """Whether something can be moved from a low term of node k to an up term of node j."""
    if not chained:
        return j == k
    return k <= j or bool(np.all(mu[j + 1 : k + 1] > 0))


def by_pairs(found):
    """Violation of each term with its best partner, over all pairs."""
    terms, a = found.terms, found.alpha
    F = found.scores[terms.row] - terms.hinge * terms.sign
    rises, falls = a < terms.upper, a > 0
    up = np.where(terms.sign > 0, rises, falls)
    low = np.where(terms.sign > 0, falls, rises)
    worst = np.full(len(a), -np.inf)
    for two in np.flatnonzero(low):
        for one in np.flatnonzero(up):
            if may_pair(found.mu, terms.chained, terms.node[two], terms.node[one]):
                worst[[one, two]] = np.maximum(worst[[one, two]], F[two] - F[one])
    if terms.pinned:
        worst = np.maximum(worst, np.where(up, -F, -np.inf))
        worst = np.maximum(worst, np.where(low, F, -np.inf))
    return worst, F, up, low


def placed(found):
    terms = found.terms
    up, low = np.empty(len(terms.row)), np.empty(len(terms.row))
    target = terms.hinge * terms.sign
    classify_terms(terms.sign, target, terms.upper, found.alpha, up, low)
    return up, low


def test_violations_are_those_of_the_worst_pairs(halfway):
    for found in halfway:
        terms, expected = found.terms, by_pairs(found)[0]
        worst, rules = np.empty(len(terms.row)), (terms.chained, terms.pinned)
        up, low = placed(found)
        largest = violations(
            found.scores, terms.row, terms.node, up, low, found.mu, rules, worst
        )
        np.testing.assert_allclose(worst, expected, atol=1e-12)
        assert largest == pytest.approx(
            max(expected.max(), 0.0) if terms.pinned else worst.max()
        )


def test_brackets_are_the_least_up_and_the_largest_low(halfway):
    for found in halfway:
        terms, (_, F, is_up, is_low) = found.terms, by_pairs(found)
        J, every = terms.n_nodes, np.arange(len(terms.row))
        above, below = np.empty(J), np.empty(J)
        where = np.empty((2, J), dtype=np.int64)
        brackets(
            found.scores, terms.row, every, terms.first, *placed(found), False, above, below,
            *where,
        )  # fmt: skip
        for j in range(J):
            here = terms.node == j
            assert above[j] == pytest.approx(np.min(F[here & is_up], initial=np.inf))
            assert below[j] == pytest.approx(np.max(F[here & is_low], initial=-np.inf))
            if np.isfinite(above[j]):
                assert above[j] == pytest.approx(F[where[0, j]])
            if np.isfinite(below[j]):
                assert below[j] == pytest.approx(F[where[1, j]])


@pytest.mark.parametrize("formulation", MACHINES)
@pytest.mark.parametrize("seed", [3, 7, 14])
def test_no_step_lowers_the_dual(toolbox, formulation, seed):
    machine = toolbox.random_machine(formulation, seed)
    values = [machine.solved(max_steps=m).objective for m in range(25)]
    assert np.all(np.diff(values) >= -1e-12 * (1 + np.abs(values[-1])))


def test_copies_with_different_ranks_go_to_their_bounds(toolbox):
    # No curvature between them: the dual is linear, and its best point a corner.
    y, cost = np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 2.0])
    found = toolbox.Machine("implicit", np.ones((4, 4)), y, 2, cost).solved()
    assert found.report.converged
    assert found.objective == pytest.approx(8.0)
    np.testing.assert_allclose(found.alpha, found.terms.upper)
    np.testing.assert_allclose(found.scores, 0.0, atol=1e-12)
