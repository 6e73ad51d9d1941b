"""Levels checked against every published label, comparisons, and ratings as inputs."""

import numpy as np
import pytest

from ordinality import datasets
from ordinality.datasets import (
    Dataset,
    chu_labels,
    collaborative_filtering,
    equal_frequency,
    equal_length,
    label_pairs,
    rating_matrix,
    utility_pairs,
)
from ordinality.datasets.folder import find, read

NINE = [e.name for e in datasets.INVENTORY if e.folder == "regression" and "P" in e.papers]
TWELVE = [e.name for e in datasets.INVENTORY if e.folder == "equal_frequency_partitions"]
U = np.array([0.3, 1.2, 1.2, -0.5, 2.0, 0.9])


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


# ---------------------------------------------------------------- comparisons


def unordered(pairs):
    return {frozenset(pair) for pair in pairs.tolist()}


def test_the_larger_utility_comes_first_and_equal_ones_are_not_compared():
    train, test = utility_pairs(U, 10, 500)
    for pairs in (train, test):
        assert np.all(U[pairs[:, 0]] > U[pairs[:, 1]])
    assert (train.shape, test.shape) == ((10, 2), (500, 2))


def test_training_pairs_are_distinct_and_not_among_the_test_pairs():
    train, test = utility_pairs(U, 13, 300)
    assert len(unordered(train)) == 13
    assert not unordered(train) & unordered(test)
    assert len(unordered(test)) == 1  # 15 pairs, two utilities equal, 13 trained on


def test_test_pairs_may_be_drawn_from_among_all():
    train, test = utility_pairs(U, 13, 300, disjoint=False)
    assert unordered(train) < unordered(test)
    assert len(unordered(test)) == 14
    # The stream that the experiments on table 1 were run with.
    train, test = utility_pairs(np.arange(40.0) % 17, 3, 60, disjoint=False, seed=1)
    assert train.tolist() == [[11, 4], [3, 1], [11, 21]]
    assert test[:4].tolist() == [[5, 38], [28, 23], [13, 36], [14, 20]]


def test_a_seed_determines_the_pairs_and_may_be_a_sequence():
    np.testing.assert_array_equal(
        utility_pairs(U, 5, 5, seed=[1, 2]).test, utility_pairs(U, 5, 5, seed=[1, 2]).test
    )
    drawn = {tuple(utility_pairs(U, 5, 5, seed=[1, k]).train.ravel()) for k in range(5)}
    assert len(drawn) == 5


def test_pairs_are_drawn_evenly():
    test = utility_pairs(np.arange(5.0), 1, 9000, seed=1).test
    _, counts = np.unique(test, axis=0, return_counts=True)
    # Nine pairs are left: 1000 each, within five standard deviations.
    assert len(counts) == 9
    assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(9000 / 9 * 8 / 9))


def test_noise_reverses_some_preferences():
    u = np.random.default_rng(0).normal(size=100)
    test = utility_pairs(u, 1, 5000, noise=0.5).test
    share = np.mean(u[test[:, 0]] > u[test[:, 1]])
    assert 0.7 < share < 0.95
    assert np.all(utility_pairs(np.zeros(3), 2, 10, noise=1.0).test >= 0)


@pytest.mark.parametrize(
    ("utility", "n_train", "message"),
    [
        (U, 14, "only 14 pairs of these 6 items differ"),
        ([1.0, 1.0], 1, "only 0 pairs of these 2 items differ"),
        ([1.0, np.nan], 1, "one finite number for each item"),
    ],
)
def test_more_pairs_than_there_are_is_refused(utility, n_train, message):
    with pytest.raises(ValueError, match=message):
        utility_pairs(utility, n_train, 10)


def test_labels_are_compared_within_their_group():
    y, group = [1, 2, 3, 1], ["p", "p", "q", "q"]
    assert label_pairs(y, group).tolist() == [[1, 0], [2, 3]]
    assert len(label_pairs(y)) == 5


def test_the_sizes_of_table_1_can_be_drawn(published):
    sizes = {"pyrimidines": 100, "triazines": 300, "machine_cpu": 500, "boston_housing": 700}
    for name, m in sizes.items():
        target = datasets.load(f"regression/{name}").y
        train, test = utility_pairs(target, m, 20_000)
        assert (len(train), len(test)) == (m, 20_000)


# ---------------------------------------------------------------- ratings


@pytest.fixture
def stars():
    given = [(7, 1, 5), (7, 2, 3), (9, 2, 4), (8, 3, 1), (9, 1, 2), (8, 2, 5), (5, 2, 1)]
    rows = np.array(given, dtype=float)
    return Dataset("stars", "ratings", rows[:, :2], rows[:, 2].astype(int), ("user", "item"))


def test_a_matrix_has_items_for_rows_and_users_for_columns(stars):
    matrix, items, users = rating_matrix(stars)
    assert items.tolist() == [1, 2, 3]
    assert users.tolist() == [5, 7, 8, 9]
    assert matrix[1].tolist() == [1.0, 3.0, 5.0, 4.0]
    assert np.isnan(matrix).sum() == 12 - 7


def test_rows_are_what_the_user_rated_and_columns_the_most_active_others(stars):
    problem = collaborative_filtering(stars, user=7, n_users=2)
    assert problem.aside["item"].tolist() == [1, 2]
    assert problem.y.tolist() == [5, 3]
    assert problem.feature_names == ("user 5", "user 9")  # 9 rated both; of equals the first
    np.testing.assert_array_equal(problem.X, [[np.nan, 2.0], [1.0, 4.0]])
    assert problem.kind == "ordinal"


def test_fewer_others_than_wanted_are_all_of_them(stars):
    assert collaborative_filtering(stars, user=7).X.shape == (2, 3)


def test_a_user_who_rated_nothing_is_refused(stars):
    with pytest.raises(ValueError, match="user=6 rated nothing in 'stars'"):
        collaborative_filtering(stars, user=6)


def test_only_ratings_make_a_matrix():
    with pytest.raises(ValueError, match="'wine' holds ordinal; pass ratings"):
        rating_matrix(datasets.load_wine())


def test_movielens_has_its_users_films_and_mean(published):
    ratings = datasets.load("movielens_100k_ratings")
    matrix, items, users = rating_matrix(ratings)
    assert matrix.shape == (len(items), len(users)) == (1682, 943)
    assert np.nanmean(matrix) == pytest.approx(3.52986)


def test_the_user_of_the_paper_has_the_stars_that_it_prints(published):
    """Chu & Ghahramani (2005), section 6.3: user 52647, 449 films, about 40 % observed."""
    problem = collaborative_filtering(datasets.load("eachmovie_sample_ratings"))
    assert problem.name.endswith("user 52647")
    assert problem.X.shape == (449, 1500)
    assert np.bincount(problem.y)[1:].tolist() == [40, 20, 57, 113, 145, 74]
    assert np.mean(~np.isnan(problem.X)) == pytest.approx(0.40, abs=0.005)
