"""The transformer that fills missing ratings from a matrix of low rank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from ordinality import LowRankImputer, OrdinalGP
from ordinality.estimators.low_rank_imputer import low_rank, row_coefficients
from ordinality.kernels import Correlation


@pytest.fixture
def stars():
    """Ratings of 40 films by 25 people, nearly of rank two; and the same with holes."""
    rng = np.random.default_rng(0)
    whole = 3.0 + rng.normal(size=(40, 1)) @ rng.normal(size=(1, 25))
    whole += 0.05 * rng.normal(size=whole.shape)
    return whole, np.where(rng.random(whole.shape) < 0.5, whole, np.nan)


def test_holes_are_filled_nearer_to_the_truth_than_means_are(stars):
    whole, holed = stars
    filled = LowRankImputer().fit_transform(holed)
    missing = np.isnan(holed)
    of_column = np.broadcast_to(np.nanmean(holed, axis=0), whole.shape)
    ours = np.abs(filled - whole)[missing].mean()
    assert ours < 0.1 * np.abs(of_column - whole)[missing].mean()


def test_what_was_observed_is_left_as_it_is(stars):
    _, holed = stars
    before = holed.copy()
    filled = LowRankImputer().fit_transform(holed)
    there = ~np.isnan(before)
    np.testing.assert_array_equal(filled[there], before[there])
    np.testing.assert_array_equal(holed, before)
    assert not np.isnan(filled).any()


def test_new_rows_are_filled_from_the_patterns_of_the_training_rows(stars):
    whole, holed = stars
    model = LowRankImputer().fit(holed[:30])
    missing = np.isnan(holed[30:])
    assert np.abs(model.transform(holed[30:]) - whole[30:])[missing].max() < 0.5
    # A row is filled by itself, whichever come with it.
    np.testing.assert_allclose(
        model.transform(holed[30:])[3], model.transform(holed[33:34])[0], rtol=1e-12
    )


def test_a_row_without_entries_is_a_mean_row(stars):
    _, holed = stars
    model = LowRankImputer().fit(holed)
    (filled,) = model.transform(np.full((1, 25), np.nan))
    np.testing.assert_allclose(filled, model.coefficients_ @ model.components_)
    assert filled.mean() == pytest.approx(np.nanmean(holed), abs=0.3)


def test_empty_rows_and_columns_can_be_learnt_from(stars):
    _, holed = stars
    holed[5], holed[:, 6] = np.nan, np.nan
    filled = LowRankImputer().fit_transform(holed)
    assert np.all(np.isfinite(filled))
    assert filled[:, 6].mean() == pytest.approx(3.0, abs=0.5)


def test_entries_of_weight_zero_do_not_count(stars):
    _, holed = stars
    weights = np.ones(holed.shape)
    weights[:, 3] = 0.0
    wild = holed.copy()
    wild[:, 3] *= 1000.0
    one = LowRankImputer().fit(wild, weights=weights)
    other = LowRankImputer().fit(np.where(weights > 0, holed, np.nan))
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-6)


def test_attributes_say_what_was_found(stars):
    model = LowRankImputer(rank=3).fit(stars[1])
    assert model.components_.shape == (3, 25)
    assert model.singular_values_.shape == model.coefficients_.shape == (3,)
    assert len(model.objective_) == model.n_iter_ + 1
    assert np.all(np.diff(model.objective_) <= 0)
    assert model.n_features_in_ == 25


def test_a_search_that_was_cut_is_warned_of(stars):
    with pytest.warns(ConvergenceWarning, match="rank 2 did not converge in 2 iterations"):
        model = LowRankImputer(max_iter=2).fit(stars[1])
    assert not model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank=0 must be a whole number, 1 or more"),
        ({"tol": -1.0}, "tol=-1.0 must be a number above zero"),
        ({"max_iter": 2.5}, "max_iter=2.5 must be a whole number"),
    ],
)
def test_parameters_out_of_range_are_refused(stars, parameters, message):
    with pytest.raises(ValueError, match=message):
        LowRankImputer(**parameters).fit(stars[1])


def test_a_frame_keeps_its_columns(stars):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(stars[1], columns=[f"person {i}" for i in range(25)])
    filled = LowRankImputer().set_output(transform="pandas").fit_transform(frame)
    assert filled.columns.tolist() == frame.columns.tolist()


def test_filled_ratings_and_their_correlation_make_a_kernel_for_a_process():
    """Section 6.3 of Chu & Ghahramani (2005): fill in, correlate, learn one person's stars."""
    rng = np.random.default_rng(1)
    taste = rng.normal(size=(60, 2))
    ratings = taste @ rng.normal(size=(2, 40)) + 0.3 * rng.normal(size=(60, 40))
    ratings[rng.random(ratings.shape) < 0.6] = np.nan
    y = np.digitize(taste @ [1.0, -0.5], [-0.7, 0.7])
    model = make_pipeline(
        LowRankImputer(), OrdinalGP(Correlation(), inference="laplace", standardize=False)
    )
    score = model.fit(ratings[:45], y[:45]).score(ratings[45:], y[45:])
    assert score > np.bincount(y[45:]).max() / 15 + 0.1  # than the commonest level


# The approximation


def incomplete(seed=0, shape=(30, 20), rank=2, share=0.6, noise=0.1):
    """A noisy matrix of low rank, and the same with holes."""
    rng = np.random.default_rng(seed)
    m, n = shape
    whole = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    whole += noise * rng.normal(size=shape)
    return whole, np.where(rng.random(shape) < share, whole, np.nan)


def plain_em(A, rank, iterations):
    """Fill in and truncate, with whole singular value decompositions."""
    seen = ~np.isnan(A)
    means = np.nanmean(A, 1)[:, None] + np.nanmean(A, 0)[None, :] - np.nanmean(A)
    X = np.where(seen, A, means)
    for _ in range(iterations):
        u, s, vt = np.linalg.svd(np.where(seen, A, X), full_matrices=False)
        X = (u[:, :rank] * s[:rank]) @ vt[:rank]
    return X


def test_a_complete_matrix_is_approximated_by_its_largest_singular_values():
    whole, _ = incomplete(noise=0.5)
    u, s, vt = np.linalg.svd(whole)
    found = low_rank(whole, 3, tol=1e-10)
    np.testing.assert_allclose(found.S, s[:3], rtol=1e-8)
    np.testing.assert_allclose(found.matrix(), (u[:, :3] * s[:3]) @ vt[:3], atol=1e-6)
    assert found.objective[-1] == pytest.approx(np.sum(s[3:] ** 2))


def test_factors_are_orthonormal_and_strongest_first():
    found = low_rank(incomplete()[1], 3)
    np.testing.assert_allclose(found.U.T @ found.U, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found.V.T @ found.V, np.eye(3), atol=1e-12)
    assert np.all(np.diff(found.S) <= 0)


def test_holes_of_a_matrix_of_that_rank_are_filled_with_the_truth():
    whole, holed = incomplete(noise=0.0)
    np.testing.assert_allclose(low_rank(holed, 2, tol=1e-9).matrix(), whole, atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6), share=st.floats(0.2, 1.0), rank=st.integers(1, 4),
    weighted=st.booleans(),
)  # fmt: skip
def test_the_objective_never_rises_and_is_that_of_the_result(seed, share, rank, weighted):
    _, A = incomplete(seed, (12, 9), share=share, noise=0.5)
    A[0, 0] = 1.0
    W = np.random.default_rng(seed).uniform(0.1, 3.0, A.shape) if weighted else None
    found = low_rank(A, rank, weights=W, max_iter=40)
    assert np.all(np.diff(found.objective) <= 0)
    assert len(found.objective) == found.n_iter + 1
    squares = np.nansum((1.0 if W is None else W) * (A - found.matrix()) ** 2)
    assert found.objective[-1] == pytest.approx(squares, rel=1e-6, abs=1e-9)


def test_the_end_is_that_of_plain_em_which_takes_longer():
    _, A = incomplete()
    found = low_rank(A, 2, tol=1e-10)
    np.testing.assert_allclose(found.matrix(), plain_em(A, 2, 3000), atol=1e-6)
    after_as_many = plain_em(A, 2, found.n_iter // 2)
    assert np.nansum((A - after_as_many) ** 2) > found.objective[-1] * (1 + 1e-9)


def test_an_entry_of_weight_zero_counts_as_missing():
    _, A = incomplete()
    W = np.ones(A.shape)
    W[3, 4] = W[7, 2] = 0.0
    holed = np.where(W > 0, A, np.nan)
    wild = np.where(W > 0, A, 99.0)
    np.testing.assert_allclose(
        low_rank(wild, 2, weights=W).matrix(), low_rank(holed, 2).matrix(), atol=1e-9
    )


def test_only_the_ratios_of_weights_matter():
    _, A = incomplete()
    W = np.random.default_rng(1).uniform(0.2, 1.0, A.shape)
    one, ten = low_rank(A, 2, weights=W), low_rank(A, 2, weights=10 * W)
    np.testing.assert_allclose(one.matrix(), ten.matrix(), atol=1e-9)
    np.testing.assert_allclose(10 * one.objective, ten.objective)


def test_a_heavier_entry_is_fitted_more_closely():
    _, A = incomplete(noise=1.0)
    i, j = np.argwhere(~np.isnan(A))[0]
    W = np.ones(A.shape)
    W[i, j] = 100.0
    light, heavy = low_rank(A, 2), low_rank(A, 2, weights=W)
    assert abs(heavy.matrix()[i, j] - A[i, j]) < abs(light.matrix()[i, j] - A[i, j]) / 5


def test_empty_rows_and_columns_are_filled_with_finite_values_of_the_right_size():
    _, A = incomplete(noise=0.2)
    A += 5.0
    A[4], A[:, 7] = np.nan, np.nan
    found = low_rank(A, 2)
    assert found.converged
    X = found.matrix()
    assert np.all(np.isfinite(X))
    assert X[4].mean() == pytest.approx(np.nanmean(A), abs=1.0)
    assert X[:, 7].mean() == pytest.approx(np.nanmean(A), abs=1.0)
    others = np.delete(np.delete(A, 4, 0), 7, 1)
    np.testing.assert_allclose(
        np.delete(np.delete(X, 4, 0), 7, 1), low_rank(others, 2).matrix(), atol=2e-3
    )


def test_the_seed_hardly_matters_and_the_same_seed_gives_the_same():
    _, A = incomplete()
    one = low_rank(A, 2, seed=1)
    np.testing.assert_array_equal(one.matrix(), low_rank(A, 2, seed=1).matrix())
    np.testing.assert_allclose(one.matrix(), low_rank(A, 2, seed=2).matrix(), atol=1e-3)


def test_transposing_the_matrix_transposes_the_result():
    _, A = incomplete()
    one, other = low_rank(A, 2, tol=1e-9), low_rank(A.T, 2, tol=1e-9)
    np.testing.assert_allclose(one.matrix(), other.matrix().T, atol=1e-6)


def test_a_rank_beyond_the_shape_counts_as_the_shape_and_leaves_nothing():
    whole, _ = incomplete(shape=(5, 4), noise=1.0)
    found = low_rank(whole, 9)
    assert found.V.shape == (4, 4)
    assert found.objective[-1] < 1e-20 * np.sum(whole**2)


def test_a_cut_search_says_that_it_did_not_converge():
    found = low_rank(incomplete()[1], 2, max_iter=3)
    assert (found.converged, found.n_iter) == (False, 3)


@pytest.mark.parametrize("scale", [1e-150, 1e100])
def test_the_size_of_the_entries_does_not_matter(scale):
    _, A = incomplete()
    np.testing.assert_allclose(
        low_rank(A * scale, 2).matrix() / scale, low_rank(A, 2).matrix(), atol=1e-6
    )


@pytest.mark.parametrize(
    ("X", "weights", "message"),
    [
        ([1.0, 2.0], None, "Expected 2D array, got 1D"),
        ([[np.nan]], None, "no entry that counts"),
        ([[np.inf, 1.0]], None, "X contains infinity"),
        ([[1.0, 2.0]], [[1.0]], r"weights has shape \(1, 1\), but X has shape \(1, 2\)"),
        ([[1.0, 2.0]], [[1.0, -1.0]], "negative, infinite or missing values; use 0"),
    ],
)
def test_what_cannot_be_approximated_is_refused(X, weights, message):
    with pytest.raises(ValueError, match=message):
        LowRankImputer(rank=1).fit(X, weights=weights)


# New rows


def test_coefficients_are_those_of_least_squares_over_what_is_there():
    _, A = incomplete()
    V = np.linalg.qr(np.random.default_rng(3).normal(size=(20, 3)))[0]
    found = row_coefficients(A, V)
    for row, c in zip(A, found, strict=True):
        there = ~np.isnan(row)
        expected = np.linalg.lstsq(V[there], row[there], rcond=None)[0]
        np.testing.assert_allclose(c, expected, atol=1e-8)


def test_what_entries_leave_open_is_taken_from_the_centre():
    V = np.eye(3)
    c = row_coefficients([[np.nan, 5.0, np.nan], [np.nan] * 3], V, around=[1.0, 2.0, 3.0])
    np.testing.assert_allclose(c, [[1.0, 5.0, 3.0], [1.0, 2.0, 3.0]])
