"""Halves of the judges: camps lower their agreement, and nothing else does."""

import numpy as np
import pytest
from scipy.special import ndtr

from ordinality.panel import rank_answers, split_half


def answered(camps, seed, n=15, judges=8, each=60, ratio=3.0):
    """Random pairs; judges belong to camps in turn, each camp with utilities of its own."""
    rng = np.random.default_rng(seed)
    f = rng.standard_normal((camps, n))
    who = np.repeat(np.arange(judges), each)
    i = rng.integers(n, size=len(who))
    j = (i + rng.integers(1, n, size=len(who))) % n
    gap = f[who % camps, i] - f[who % camps, j]
    answers = np.where(rng.random(len(who)) < ndtr(ratio * gap / np.sqrt(2)), 1, -1)
    return np.column_stack([i, j]), answers, who


def lost(camps, **more):
    """By how much judges agree less than answers, mean over three panels."""
    found = [split_half(*answered(camps, seed, **more), splits=8) for seed in range(3)]
    return float(np.mean([one.pearson_of_answers - one.pearson for one in found]))


def test_two_camps_show_in_the_halves_of_the_judges_and_one_camp_does_not():
    # When this was written: one camp -0.004, two camps 0.143.
    assert abs(lost(camps=1)) < 0.03
    assert lost(camps=2) > 0.1


def test_judges_of_one_mind_who_are_less_sharp_are_no_camps():
    assert abs(lost(camps=1, ratio=1.0)) < 0.1


def test_camps_do_not_show_in_the_check_on_answers():
    # Nor in betting tests: the model of noise about one order fits their mean.
    pairs, answers, who = answered(camps=2, seed=0)
    found = rank_answers(pairs, answers, judges=[f"j{k}" for k in who])
    assert found.check.right == pytest.approx(found.check.expected, abs=0.15)


def test_the_whole_panel_is_twice_as_long_as_a_half():
    found = split_half(*answered(1, seed=1), splits=3)
    assert found.spearman_brown == pytest.approx(2 * found.pearson / (1 + found.pearson))
    assert found.pearson < found.spearman_brown < 1
    assert 0 < found.kendall < found.pearson
    assert found == split_half(*answered(1, seed=1), splits=3)
    assert found != split_half(*answered(1, seed=1), splits=3, seed=1)


def test_names_ties_grades_and_weights_are_taken_as_in_a_ranking():
    pairs, answers, who = answered(1, seed=2, n=6)
    answers = np.where(np.arange(len(answers)) % 7 == 0, 0, 2 * answers)
    weights = np.where(who == 0, 0.0, 1.0)
    found = split_half(pairs.astype(str), answers, who.astype(str), weights=weights, splits=2)
    assert 0 < found.kendall <= 1


def test_halves_that_say_nothing_do_not_agree():
    found = split_half([[0, 1], [1, 2]] * 2, [0] * 4, ["a", "a", "b", "b"], splits=2)
    assert (found.pearson, found.kendall, found.spearman_brown) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("judges", "splits", "said"),
    [
        (["a", "a"], 20, "1 judges and 20 splits"),
        (["a", "b"], 0, "0 splits"),
        (["a"], 2, "1 judges and 2 weights"),
    ],
)
def test_panels_that_cannot_be_halved_are_refused(judges, splits, said):
    with pytest.raises(ValueError, match=said):
        split_half([["x", "y"]] * 2, [1, 1], judges, splits=splits)
