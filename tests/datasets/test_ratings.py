"""Collaborative filtering: the matrix of ratings, and one user's ratings as the target."""

import numpy as np
import pytest

from ordinality import datasets
from ordinality.datasets import Dataset, collaborative_filtering, rating_matrix


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
