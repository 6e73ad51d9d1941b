"""Targets cut into levels, checked against every published label."""

import numpy as np
import pytest

from ordinality import datasets
from ordinality.datasets import chu_labels, equal_frequency, equal_length
from ordinality.datasets.folder import find, read

NINE = [e.name for e in datasets.INVENTORY if e.folder == "regression" and "P" in e.papers]
TWELVE = [e.name for e in datasets.INVENTORY if e.folder == "equal_frequency_partitions"]


def test_bins_of_equal_length_are_closed_on_the_right():
    assert equal_length([0, 1, 2, 2.5, 10], 5).tolist() == [1, 1, 1, 2, 5]


def test_an_edge_that_rounding_misses_still_belongs_to_the_bin_on_its_left():
    target = np.arange(0, 11) / 10  # 0.1 + 0.2 is not 0.3
    assert equal_length(target, 10).tolist() == [1, *range(1, 11)]


def test_ends_may_be_given_and_what_lies_outside_falls_into_the_outer_bins():
    assert equal_length([-9, 1, 5, 99], 2, low=0, high=10).tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize("n", [7, 10, 23])
@pytest.mark.parametrize("bins", [2, 3, 5])
def test_shares_of_equal_frequency_differ_by_one_at_most_and_the_first_are_longer(n, bins):
    sizes = np.bincount(equal_frequency(np.zeros(n), bins))[1:]
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1
    assert np.all(np.diff(sizes) <= 0)


def test_labels_do_not_fall_where_the_target_rises():
    target = np.random.default_rng(0).integers(0, 6, 50)
    for labels in (equal_frequency(target, 4), equal_length(target, 4)):
        assert np.all(np.diff(labels[np.lexsort([labels, target])]) >= 0)


@pytest.mark.parametrize(
    ("cut", "target", "bins", "message"),
    [
        (equal_length, [1.0, np.nan], 2, "1 values that are not finite"),
        (equal_length, [[1.0]], 2, r"shape \(1, 1\)"),
        (equal_length, [1.0, 2.0], 1, "bins=1 must be a whole number, 2 or more"),
        (equal_frequency, [1.0, 2.0], 3, "bins=3 is more than the 2 values"),
    ],
)
def test_what_cannot_be_cut_is_refused(cut, target, bins, message):
    with pytest.raises(ValueError, match=message):
        cut(target, bins)


# ---------------------------------------------------------------- published labels


@pytest.mark.parametrize("name", TWELVE)
def test_published_labels_of_equal_frequency_are_reproduced(published, name):
    target = datasets.load(f"regression/{name}").y
    theirs = read(find(f"equal_frequency_partitions/{name}"))
    for bins in (5, 10):
        np.testing.assert_array_equal(equal_frequency(target, bins), theirs[f"label_{bins}"])


@pytest.mark.parametrize("bins", [5, 10])
@pytest.mark.parametrize("name", NINE)
def test_chus_labels_are_reproduced_row_by_row(published, name, bins):
    metric = datasets.load(f"regression/{name}")
    X, y, X_test, y_test = datasets.partitions(name, "chu", bins)[0]
    theirs = np.concatenate([X, X_test])
    if name == "abalone":  # his indicators of the sex are M, F, I
        theirs = theirs[:, [1, 2, 0, *range(3, 10)]]
    ours = np.column_stack([metric.X, chu_labels(name, metric.y, bins)])
    theirs = np.column_stack([theirs, np.concatenate([y, y_test])])
    ours, theirs = _sorted(ours), _sorted(theirs)
    np.testing.assert_allclose(ours[:, :-1], theirs[:, :-1], atol=2e-3)  # five decimals
    moved = 6 if (name, bins) == ("diabetes", 10) else 0  # by hand, to fill every level
    assert np.sum(ours[:, -1] != theirs[:, -1]) == moved


def _sorted(rows):
    return rows[np.lexsort(np.round(rows, 3).T[::-1])]
