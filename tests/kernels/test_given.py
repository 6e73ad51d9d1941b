"""Correlation of rows with missing entries against brute force, and matrices given."""

import numpy as np
import pytest

from ordinality.kernels import Correlation, Gaussian, Precomputed


def inputs(n, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


# Correlation


def ratings(n=30, d=12, share=0.4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 6, size=(n, d)).astype(float)
    X[rng.random((n, d)) < share] = np.nan
    return X


def brute_force_correlation(x, z):
    both = ~np.isnan(x) & ~np.isnan(z)
    x, z = x[both], z[both]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(z) == 0:
        return 0.0
    return np.corrcoef(x, z)[0, 1]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_correlation_is_pearsons_over_the_common_entries(share, shift):
    X, Y = ratings(share=share) + shift, ratings(8, share=share, seed=1)
    X[0], X[1, :], X[2, 1:] = 3.1, np.nan, np.nan  # constant, empty, one entry
    expected = [[brute_force_correlation(x, y) for y in Y] for x in X]
    np.testing.assert_allclose(Correlation()(X, Y), expected, atol=1e-9)
    expected = np.array([[brute_force_correlation(x, y) for y in X] for x in X])
    np.fill_diagonal(expected, 1.0)
    C = Correlation()(X)
    np.testing.assert_allclose(C, expected, atol=1e-9)
    np.testing.assert_array_equal(C, C.T)
    np.testing.assert_array_equal(Correlation().diag(X), 1.0)


def test_complete_rows_have_numpys_correlation_either_way():
    X = inputs(20, d=7)
    for missing in ("pairwise", "mean"):
        np.testing.assert_allclose(Correlation(missing)(X), np.corrcoef(X), atol=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e150])
def test_correlation_does_not_depend_on_the_units(scale):
    X = ratings()
    np.testing.assert_allclose(Correlation()(X * scale), Correlation()(X), atol=1e-12)


def test_the_mean_stands_in_for_missing_entries():
    X = ratings()
    Z = X - np.nanmean(X, axis=1, keepdims=True)
    Z /= np.sqrt(np.nansum(Z**2, axis=1, keepdims=True))
    Z = np.nan_to_num(Z)
    C = Correlation("mean")(X)
    np.testing.assert_allclose(C, Z @ Z.T, atol=1e-13)
    assert np.linalg.eigvalsh(C)[0] > -1e-12


def test_pairwise_correlation_is_repaired_by_the_least_shrinkage():
    X = ratings(share=0.6)
    assert np.linalg.eigvalsh(Correlation()(X))[0] < -0.1  # why a repair is needed
    repaired = Correlation().prepared(X)
    assert np.linalg.eigvalsh(repaired(X))[0] == pytest.approx(0.0, abs=1e-10)
    assert np.linalg.eigvalsh(repaired(X))[0] > -1e-14
    np.testing.assert_allclose(
        repaired(X[:3], X), (1 - repaired.shrinkage) * Correlation()(X[:3], X), atol=1e-15
    )
    assert Correlation(shrinkage=0.9).prepared(X).shrinkage == 0.9


def test_correlation_takes_a_signal_variance():
    X, G = ratings(), np.cov(inputs(30))
    kernel = 2.0 * Correlation()
    np.testing.assert_allclose(kernel.pullback(X, G), [2 * np.sum(G * Correlation()(X))])


# Precomputed


def test_a_precomputed_matrix_is_the_covariance():
    X = inputs(9)
    gram, new = Gaussian()(X[:6]), Gaussian()(X[6:], X[:6])
    kernel = 3.0 * Precomputed()
    np.testing.assert_array_equal(kernel(gram), 3 * gram)
    np.testing.assert_array_equal(kernel(new, gram), 3 * new)
    np.testing.assert_array_equal(kernel.diag(new), 3.0)
    np.testing.assert_array_equal(kernel.diag(gram), 3 * gram.diagonal())
    assert kernel.pullback(gram, np.eye(6)) == pytest.approx(18.0)


def test_as_many_new_items_as_old_are_not_taken_for_a_gram_matrix():
    X = inputs(12)
    new = 5 * Gaussian()(X[6:], X[:6])
    np.testing.assert_array_equal(Precomputed(diagonal=5.0).diag(new), 5.0)


def test_a_precomputed_matrix_of_the_wrong_shape_is_explained():
    with pytest.raises(ValueError, match=r"Gram matrix of the training items.*\(4, 3\)"):
        Precomputed()(inputs(4))
    with pytest.raises(ValueError, match="not symmetric"):
        Precomputed()(inputs(3))
    with pytest.raises(ValueError, match=r"shapes \(6, 6\) and \(2, 6\)"):
        Precomputed()(np.eye(6), np.ones((2, 6)))
