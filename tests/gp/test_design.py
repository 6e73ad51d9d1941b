"""Designs against the matrix A written out."""

import numpy as np
import pytest

from ordinality.gp.design import Combinations, Differences, Direct


@pytest.fixture
def mixed():
    """Comparisons, direct looks and a general row over seven latent values, and A itself."""
    pairs, items = [[0, 3, 0], [3, 6, 0], [0, 3, 0], [2, 2, 0]], [[6, 0, 0], [1, 0, 0]]
    signs = [[1.0, -1.0, 0.0]] * 4 + [[1.0, 0.0, 0.0]] * 2
    index, value = np.array([*pairs, *items, [1, 2, 5]]), np.array([*signs, [0.5, -2.0, 1.5]])
    rows = Combinations(index, value, 7)
    A = np.zeros((7, 7))
    A[[0, 1, 2], [0, 3, 0]] = 1.0
    A[[0, 1, 2], [3, 6, 3]] = -1.0
    A[[4, 5], [6, 1]] = 1.0
    A[6, [1, 2, 5]] = 0.5, -2.0, 1.5
    return rows, A


@pytest.fixture
def K():
    M = np.random.default_rng(0).normal(size=(7, 7))
    return M @ M.T


def test_rows_see_and_gather_as_the_matrix_does(mixed):
    rows, A = mixed
    g, M = np.random.default_rng(1).normal(size=7), np.random.default_rng(2).normal(size=(7, 3))
    assert len(rows) == 7
    np.testing.assert_allclose(rows.see(g), A @ g, rtol=0, atol=1e-15)
    np.testing.assert_allclose(rows.see(M), A @ M, rtol=0, atol=1e-15)
    np.testing.assert_allclose(rows.gather(g), A.T @ g, rtol=0, atol=1e-15)


def test_covariances_and_gradients_go_through_the_matrix(mixed, K):
    rows, A = mixed
    C = rows.covariance(K)
    np.testing.assert_allclose(C, A @ K @ A.T, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(C, C.T)
    np.testing.assert_allclose(rows.variances(np.triu(K)), np.diag(C), rtol=0, atol=1e-13)
    np.testing.assert_allclose(rows.pullback(C), A.T @ C @ A, rtol=1e-13, atol=1e-12)


def test_precisions_of_comparisons_make_a_graph_laplacian():
    pairs = np.array([[0, 1], [1, 2], [3, 4]])  # two components
    out = np.full((5, 5), 9.0)
    laplacian = Differences(pairs, 5).precision(np.array([1.0, 2.0, 4.0]), out)
    assert laplacian is out
    np.testing.assert_array_equal(np.diag(laplacian), [1.0, 3.0, 2.0, 4.0, 4.0])
    np.testing.assert_array_equal(laplacian @ [1.0, 1.0, 1.0, 0.0, 0.0], np.zeros(5))
    np.testing.assert_array_equal(laplacian @ [0.0, 0.0, 0.0, 1.0, 1.0], np.zeros(5))


def test_some_rows_over_the_latent_values_they_see_are_the_same_rows(mixed, K):
    rows, _ = mixed
    kept, compact = rows.take(np.array([1, 4, 6])).compact()
    np.testing.assert_array_equal(kept, [1, 2, 3, 5, 6])
    np.testing.assert_allclose(
        compact.covariance(K[np.ix_(kept, kept)]),
        rows.covariance(K)[np.ix_([1, 4, 6], [1, 4, 6])],
        rtol=0,
        atol=1e-13,
    )


def test_moved_latent_values_are_found_where_they_went(mixed):
    rows, _ = mixed
    order = np.random.default_rng(3).permutation(7)
    place = np.argsort(order)
    g = np.arange(7.0)
    np.testing.assert_array_equal(rows.renumbered(place).see(g[order]), rows.see(g))


def test_a_direct_design_changes_nothing(K):
    assert Direct().covariance(K) is K
    assert Direct().pullback(K) is K


def test_connected_values_have_many_rows_among_themselves():
    rng = np.random.default_rng(0)
    pairs = rng.integers(2000, size=(4000, 2))
    design = Differences(pairs[pairs[:, 0] != pairs[:, 1]], 2000)
    some = design.connected(150, rng)
    assert len(set(some)) == len(some)
    inside = np.isin(design.index, some).all(axis=1)
    assert 100 <= np.sum(inside) <= 160  # of as many random ones, 4000 (len / 2000)^2 = 20
    assert np.sum(np.isin(design.index, rng.choice(2000, len(some))).all(axis=1)) < 50


def test_connected_values_are_all_if_there_are_few():
    design = Combinations(np.array([[0, 1], [2, 0], [3, 0]]), np.array([[1.0, -1]] * 3), 5)
    assert sorted(design.connected(100, np.random.default_rng(0))) == [0, 1, 2, 3, 4]
