"""Metrics of comparisons and rankings, against counting."""

from itertools import permutations

import numpy as np
import pytest

from ordinality import metrics


def test_a_pair_is_wrong_when_the_signs_differ():
    assert metrics.pair_error([1, -1, 2, -2], [1, -1, 1, 1]) == 0.25
    assert metrics.pair_error([1, -1], [0.0, 0.0]) == 0.5
    assert metrics.pair_error([1, 0], [1.0, -1.0]) == 0.0  # a tie has no winner


def test_reversed_predictions_err_where_the_others_do_not():
    rng = np.random.default_rng(0)
    true, pred = rng.normal(size=(2, 50))
    assert metrics.pair_error(true, pred) + metrics.pair_error(true, -pred) == pytest.approx(1)
    assert metrics.pair_error(-true, -pred) == metrics.pair_error(true, pred)


def test_a_weight_counts_a_pair_so_often():
    assert metrics.pair_error([1, 1], [1, -1], sample_weight=[1.0, 3.0]) == 0.75


def test_nothing_but_ties_leaves_nothing_to_measure():
    assert np.isnan(metrics.pair_error([0, 0], [1, -1]))


def test_overlap_is_counted_over_every_way_to_break_ties():
    true, pred = np.array([3.0, 2.0, 2.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0, 1.0, 5.0])
    for k in range(1, 6):
        shares = []
        for one in permutations(range(5)):
            for other in permutations(range(5)):
                best = [
                    set(sorted(range(5), key=lambda i: (-u[i], order[i]))[:k])
                    for u, order in ((true, one), (pred, other))
                ]
                shares.append(len(best[0] & best[1]) / k)
        assert metrics.top_k_overlap(true, pred, k) == pytest.approx(np.mean(shares))


def test_all_items_are_among_all_items():
    assert metrics.top_k_overlap([1.0, 2.0], [5.0, 4.0], k=2) == 1.0


@pytest.mark.parametrize("k", [0, 4, 1.5])
def test_more_places_than_items_are_refused(k):
    with pytest.raises(ValueError, match="whole number from 1 to .* 3"):
        metrics.top_k_overlap([1, 2, 3], [1, 2, 3], k)


def test_what_is_no_number_for_each_pair_is_refused():
    with pytest.raises(ValueError, match="y_pred must hold one number for each"):
        metrics.pair_error([1, -1], [1.0])
    with pytest.raises(ValueError, match="y_true must hold one number.*1 NaN"):
        metrics.top_k_overlap([1.0, np.nan], [1.0, 2.0], 1)
