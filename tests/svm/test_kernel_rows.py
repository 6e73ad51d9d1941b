import numpy as np
import pytest

from ordinality.svm.kernel_rows import KernelRows, RowCache


class Counted:
    """A kernel that records how many rows were computed."""

    def __init__(self, n=200, seed=0):
        X = np.random.default_rng(seed).normal(size=(n, 3))
        self.K, self.asked = X @ X.T, []
        self.rows = KernelRows(self.block, np.diag(self.K))

    def block(self, rows, columns):
        self.asked.append(len(rows))
        return self.K[np.ix_(rows, columns)]


def held(cache):
    """Places of the rows that are kept."""
    return np.flatnonzero(cache.slot >= 0)


def assert_true_to(cache, K, active):
    """The rows kept are those of the kernel, at the active columns."""
    for place in held(cache):
        np.testing.assert_array_equal(cache.store[cache.slot[place]], K[active[place], active])


@pytest.mark.parametrize("n_support", [0, 1, 150])
def test_scores_are_the_product_with_the_kernel(n_support):
    kernel = Counted()
    beta, at = np.zeros(200), np.array([3, 199, 0])
    beta[:n_support] = np.random.default_rng(1).normal(size=n_support)
    expected = kernel.K @ beta
    np.testing.assert_allclose(kernel.rows.times(beta), expected, atol=1e-12)
    np.testing.assert_allclose(kernel.rows.times(beta, at), expected[at], atol=1e-12)
    assert kernel.rows.times(beta, at[:0]).shape == (0,)


def test_a_given_matrix_is_not_copied():
    K = Counted(5).K
    assert RowCache(KernelRows.of_matrix(K), 0).store is K


def test_a_matrix_that_fits_is_computed_once():
    kernel = Counted(100)
    cache = RowCache(kernel.rows, 8 * 100 * 100)
    cache.shrink(np.arange(0, 100, 3))
    assert_true_to(cache, kernel.K, np.arange(0, 100, 3))
    cache.unshrink()
    assert_true_to(cache, kernel.K, np.arange(100))
    assert kernel.asked == [100]


def test_rows_kept_stay_within_the_bound():
    kernel = Counted()
    cache = RowCache(kernel.rows, 8 * 200 * 80)
    for start in range(0, 200, 20):
        cache.fetch(np.arange(start, start + 20))
        assert cache.store.nbytes <= 8 * 200 * 80
        assert set(range(start, start + 20)) <= set(held(cache))
        assert_true_to(cache, kernel.K, np.arange(200))
    assert len(held(cache)) == 80


def test_the_least_recently_used_row_is_replaced_first():
    kernel = Counted()
    cache = RowCache(kernel.rows, 0)  # as few rows as possible
    capacity = len(cache.store)
    for place in range(capacity):
        cache.fetch(np.array([place]))
    cache.stamp[-1] += 1
    cache.stamp[cache.slot[0]] = cache.stamp[-1]  # as a step does that uses row 0
    cache.fetch(np.array([150]))
    assert set(held(cache)) == {0, 150, *range(2, capacity)}


def test_a_row_that_is_kept_is_not_computed_again():
    kernel = Counted()
    cache = RowCache(kernel.rows, 8 * 200 * 80)
    cache.fetch(np.arange(10))
    cache.fetch(np.arange(5, 15))
    assert kernel.asked == [10, 5]


def test_shrinking_keeps_rows_and_makes_room_for_more():
    kernel = Counted()
    cache = RowCache(kernel.rows, 8 * 200 * 70)
    cache.fetch(np.arange(0, 30))
    cache.fetch(np.arange(100, 130))
    keep = np.arange(0, 200, 2)
    cache.shrink(keep)
    assert len(cache.store) == 100  # the same bytes hold twice as many rows of half the width
    np.testing.assert_array_equal(keep[held(cache)], [*range(0, 30, 2), *range(100, 130, 2)])
    assert_true_to(cache, kernel.K, keep)
    again = np.arange(1, 100, 3)
    cache.shrink(again)
    assert_true_to(cache, kernel.K, keep[again])
    cache.fetch(np.array([10]))  # row 62 of all
    assert_true_to(cache, kernel.K, keep[again])
    cache.unshrink()
    cache.fetch(np.array([7]))
    assert_true_to(cache, kernel.K, np.arange(200))
    assert kernel.asked == [30, 30, 1, 1]


def test_rows_are_computed_ahead_only_while_there_is_room():
    cache = RowCache(Counted().rows, 0)
    assert cache.ahead > 1
    cache.fetch(np.arange(cache.ahead))
    cache.fetch(np.arange(100, 100 + cache.ahead))
    assert cache.ahead == 1


def test_rows_of_features_are_their_products():
    X = np.random.default_rng(0).normal(size=(7, 3))
    rows, K = KernelRows.of_features(X), X @ X.T
    some, beta = np.array([4, 1]), np.arange(7.0)
    np.testing.assert_allclose(rows.block(some, np.arange(7)), K[some])
    np.testing.assert_allclose(rows.diag, np.diag(K))
    np.testing.assert_allclose(rows.times(beta), K @ beta)
    np.testing.assert_allclose(rows.times(beta, some), K[some] @ beta)


def test_several_rows_are_given_unless_they_would_replace_others():
    kernel = Counted()
    cache = RowCache(kernel.rows, 8 * 200 * 70)
    cache.fetch(np.arange(0, 30))
    cache.fetch(np.arange(100, 130))
    wanted = np.array(
        [3, 150, 0, 199]
    )  # among them the first fetched, which would be replaced first
    cache.fetch(np.arange(40, 50))
    np.testing.assert_array_equal(cache.several(wanted), kernel.K[wanted])
    assert_true_to(cache, kernel.K, np.arange(200))
    most = np.arange(60, 95)
    np.testing.assert_array_equal(cache.several(most), kernel.K[most])
    assert cache.several(np.arange(36)) is None
    whole = RowCache(KernelRows.of_matrix(kernel.K), 0)
    np.testing.assert_array_equal(whole.several(np.arange(190)), kernel.K[:190])
