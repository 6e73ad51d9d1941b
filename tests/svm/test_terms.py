import numpy as np
import pytest

from ordinality.svm.terms import FORMULATIONS, comparisons, implicit


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("seed", range(10))
def test_terms_are_those_of_the_definitions(toolbox, formulation, seed):
    machine = toolbox.random_machine(formulation, seed)
    terms, (found, margin, push, ordered) = machine.terms, toolbox.hinges(machine)
    ours = zip(terms.row, terms.node, terms.sign, terms.upper, strict=True)
    paid = [(i, j, s, machine.cost[i]) for i, j, s in found if machine.cost[i] > 0]
    assert sorted(ours) == sorted(paid)
    assert (terms.hinge, terms.chained, terms.pinned) == (margin, ordered, False)
    np.testing.assert_array_equal(terms.push, push)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_terms_are_sorted_by_node_and_first_gives_the_starts(toolbox, formulation):
    terms = toolbox.random_machine(formulation, 4).terms
    for j in range(terms.n_nodes):
        assert set(terms.node[terms.first[j] : terms.first[j + 1]]) <= {j}
    assert (terms.first[0], terms.first[-1]) == (0, len(terms.row))


def test_with_two_levels_three_machines_are_the_same():
    y, cost = np.array([0, 1, 1, 0]), np.arange(1.0, 5.0)
    first, *others = (
        FORMULATIONS[name](y, 2, cost) for name in ("implicit", "explicit", "fixed-margin")
    )
    for other in others:
        for field in ("row", "node", "sign", "upper"):
            np.testing.assert_array_equal(
                np.sort(getattr(other, field)), np.sort(getattr(first, field))
            )


def test_a_row_that_costs_nothing_has_no_terms():
    terms = implicit(np.array([0, 1, 2]), 3, np.array([1.0, 0.0, 2.0]))
    assert set(terms.row) == {0, 2}
    assert terms.n_rows == 3  # its score is computed nevertheless


def test_scaling_changes_the_costs_alone():
    terms = comparisons(np.array([1.0, 3.0]))
    scaled = terms.scaled(2.0)
    np.testing.assert_array_equal(scaled.upper, [2.0, 6.0])
    assert scaled.pinned
    assert scaled.row is terms.row


def test_comparisons_have_one_term_each_at_a_threshold_of_zero():
    terms = comparisons(np.array([1.0, 0.0, 3.0]))
    np.testing.assert_array_equal(terms.row, [0, 2])
    np.testing.assert_array_equal(terms.sign, [1.0, 1.0])
    assert terms.n_nodes == 1
