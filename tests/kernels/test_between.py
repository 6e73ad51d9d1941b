"""Laws of what inducing points ask of kernels: rectangles, matching rows, slopes in inputs."""

import re
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as theirs

from ordinality.kernels import (
    Constant,
    Correlation,
    Foreign,
    Gaussian,
    Kernel,
    Linear,
    LinearGaussian,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Spline,
)
from ordinality.kernels.foreign import translate
from ordinality.kernels.items import PerItem

D = 3
ARD = [0.7, 1.5, 4.0]
OF_DISTANCES = [
    Gaussian(1.3),
    Gaussian(ARD),
    *[Matern(1.3, nu) for nu in (0.5, 1.5, 2.5)],
    *[Matern(ARD, nu) for nu in (0.5, 1.5, 2.5)],
    RationalQuadratic(1.3, 0.8),
    RationalQuadratic(ARD, 2.5),
    2.0 * Gaussian(ARD),
    Gaussian(1.3) * 0.5 * Constant(3.0),
    1.5 * Matern(ARD),
    Gaussian(ARD) * RationalQuadratic(1.3) * 0.5,
]
KERNELS = [
    *OF_DISTANCES,
    Constant(1.7),
    Constant(2.0) * 3.0,
    Linear(0.6),
    Linear(ARD),
    LinearGaussian(0.3, 1.3, ARD),
    Polynomial(1, 0.5, 2.0),
    Polynomial(3, 0.5, 2.0),
    Polynomial(2, ARD, 0.3),
    Spline(),
    0.5 * Spline() + Gaussian(1.3),
    0.5 + Linear(0.6) * Matern(1.3, 1.5) * 2.0,
    (Gaussian(ARD) + 0.3 * Linear()) * (RationalQuadratic() + 1.0) * Gaussian(2.0),
    translate(2.0 * theirs.RBF(ARD) * theirs.Matern(nu=1.5) + 0.5),
    PerItem(2.0 * Gaussian([0.7, 1.5]), 0.4),
    PerItem(Linear(0.6) + 0.2, 0.02),
    PerItem(LinearGaussian(0.9, 0.7, 1.5), 0.02),
    PerItem(None),
]
KERNELS_OF_ITEMS = [kernel for kernel in KERNELS if isinstance(kernel, PerItem)]

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def tables(kernel, n=70, m=9):
    """Rows of two tables, with copies within each and between them; 70 are two blocks."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, D)), rng.normal(size=(m, D))
    X[1], Y[0], Y[1], Y[2] = X[0], X[0], X[3], X[3]
    if isinstance(kernel, PerItem):
        X[:, -1], Y[:, -1] = rng.integers(-1, 6, n), rng.integers(-1, 6, m)
    return X, Y


def weights(*shape):
    return np.random.default_rng(1).normal(size=shape)


def difference(function, h):
    """Derivative of a function of one number at zero, by differences of order four."""
    return (8 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12 * h)


def in_theta(kernel, function):
    """Gradient in theta of a function of the kernel."""
    theta, h = kernel.theta, 1e-3  # about eps**(1/5): truncation and rounding balance
    return np.array(
        [
            difference(lambda s, e=e: function(kernel.with_theta(theta + s * e)), h)
            for e in np.eye(kernel.n_theta)
        ]
    )


def assert_close(found, expected, scale, rel=1e-10):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=rel, atol=rel * scale)


# Values


@each_kernel
def test_paired_covariances_are_the_diagonal_of_the_rectangle(kernel):
    X, Y = tables(kernel, m=70)
    K = kernel(X, Y)
    found = kernel.paired(X, Y)
    assert found.shape == (70,)
    np.testing.assert_allclose(found, np.diagonal(K), rtol=1e-12, atol=1e-13 * np.abs(K).max())


@each_kernel
def test_a_row_paired_with_itself_has_its_variance(kernel):
    X, _ = tables(kernel)
    if isinstance(kernel, PerItem):
        X = X[X[:, -1] >= 0]  # others are different items even from themselves
    np.testing.assert_allclose(kernel.paired(X, X), kernel.diag(X), rtol=1e-14)


# Gradients in theta


@each_kernel
def test_the_pullback_between_tables_agrees_with_differences(kernel):
    X, Y = tables(kernel)
    F, K = weights(len(X), len(Y)), kernel(X, Y)
    numeric = in_theta(kernel, lambda changed: np.sum(F * changed(X, Y)))
    for given in (None, K):
        found = kernel.pullback_between(X, Y, F, given)
        assert_close(found, numeric.reshape(kernel.n_theta), np.abs(F * K).sum())


@each_kernel
def test_the_pullback_of_matching_rows_agrees_with_differences(kernel):
    X, Y = tables(kernel, m=70)
    c = weights(len(X))
    numeric = in_theta(kernel, lambda changed: c @ np.diagonal(changed(X, Y)))
    found = kernel.pullback_paired(X, Y, c)
    assert_close(found, numeric.reshape(kernel.n_theta), np.abs(c * kernel.paired(X, Y)).sum())


@each_kernel
def test_between_a_table_and_itself_it_is_the_square_pullback(kernel):
    X, _ = tables(kernel)
    if isinstance(kernel, PerItem):
        X = X[X[:, -1] >= 0]
    G = weights(len(X), len(X))
    G = G + G.T
    K = kernel(X)
    expected = kernel.pullback(X, G)
    for given in (None, K):
        found = kernel.pullback_between(X, X, G, given)
        assert_close(found, expected, np.abs(G * K).sum(), rel=1e-12)


@each_kernel
def test_swapping_the_tables_transposes_the_weights(kernel):
    X, Y = tables(kernel)
    F = weights(len(X), len(Y))
    scale = np.abs(F * kernel(X, Y)).sum()
    swapped = kernel.pullback_between(Y, X, F.T)
    assert_close(swapped, kernel.pullback_between(X, Y, F), scale, rel=1e-12)


@pytest.mark.parametrize(
    "kernel", [Gaussian(ARD), 2.0 * Gaussian(1.3) * 0.5, PerItem(2.0 * Gaussian(1.3), 0.0)]
)
def test_a_given_covariance_is_not_computed_again(kernel):
    X, Y = tables(kernel)
    F, K = weights(len(X), len(Y)), kernel(X, Y)
    found = kernel.pullback_between(X, Y, F, 4.0 * K)  # a power of two: no rounding
    same = slice(None, -1) if isinstance(kernel, PerItem) else slice(None)
    np.testing.assert_array_equal(found[same], 4.0 * kernel.pullback_between(X, Y, F, K)[same])


@pytest.mark.parametrize("change", [1e-15, 1e-12, 1e-8, 1e-4])
def test_nearly_equal_rows_have_nearly_no_gradient(change):
    kernel = Matern(ARD, 0.5)  # exp(-r), whose derivative in r**2 is infinite at r = 0
    X = np.random.default_rng(0).normal(size=(40, D))
    Y = X * (1.0 + change)
    differences = ((X[:, None] - Y) / np.array(ARD)) ** 2
    r = np.sqrt(differences.sum(axis=2))
    expected = np.einsum("ij,ijl->l", np.exp(-r) / r, differences)
    found = kernel.pullback_between(X, Y, np.ones((40, 40)))
    # The 40 near pairs are each known to sqrt(eps) = 1.5e-8 times the square of their size.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    G = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((40, 40)))
    square = kernel.pullback(np.vstack([X, Y]), G)
    np.testing.assert_allclose(square, 2.0 * expected, rtol=0, atol=2e-5)


# Gradients in the inputs


@each_kernel
def test_the_slope_agrees_with_differences(kernel):
    X, Y = tables(kernel)
    F, features = weights(len(X), len(Y)), D - isinstance(kernel, PerItem)
    # Small, because the third derivative of a spline jumps where rows are equal: the error is
    # then h**2 / 6 at most. Rounding is about eps / h = 2e-12.
    h = 1e-4

    def moved(j, k, s):
        changed = Y.copy()
        changed[j, k] += s
        return F[:, j] @ kernel(X, changed)[:, j]

    numeric = np.zeros(Y.shape)
    for j, k in np.ndindex(len(Y), features):
        numeric[j, k] = difference(lambda s, j=j, k=k: moved(j, k, s), h)
    assert_close(kernel.slope(X, Y, F), numeric, np.abs(F * kernel(X, Y)).sum(), rel=1e-8)


@pytest.mark.parametrize("kernel", KERNELS_OF_ITEMS, ids=repr)
def test_the_number_of_an_item_has_no_slope(kernel):
    X, Y = tables(kernel)
    assert not kernel.slope(X, Y, weights(len(X), len(Y)))[:, -1].any()


@each_kernel
def test_among_rows_the_gradient_is_twice_the_slope(kernel):
    Z, _ = tables(kernel, n=12)
    if isinstance(kernel, PerItem):
        Z[:, -1] = np.arange(len(Z))
    Z = np.delete(Z, 1, axis=0)  # the copy: moving it is not smooth for all kernels
    F = weights(len(Z), len(Z))
    F = F + F.T
    direction = weights(*Z.shape)
    if isinstance(kernel, PerItem):
        direction[:, -1] = 0.0
    numeric = difference(lambda s: np.sum(F * kernel(Z + s * direction)), 1e-3)
    found = 2.0 * np.sum(kernel.slope(Z, Z, F) * direction)
    assert found == pytest.approx(numeric, rel=1e-8, abs=1e-8 * np.abs(F * kernel(Z)).sum())


@pytest.mark.parametrize("kernel", OF_DISTANCES, ids=repr)
def test_equal_rows_add_exactly_nothing_to_the_slope(kernel):
    Z = np.random.default_rng(0).normal(size=(70, D)) + 10.0
    Z[1] = Z[0]
    F = weights(len(Z), len(Z))
    without = F.copy()
    np.fill_diagonal(F, 1e16)
    np.fill_diagonal(without, 0.0)
    F[0, 1] = F[1, 0] = 1e16
    without[0, 1] = without[1, 0] = 0.0
    np.testing.assert_array_equal(kernel.slope(Z, Z, F), kernel.slope(Z, Z, without))


# Arrays


@each_kernel
def test_inputs_of_any_layout_are_taken_and_left_alone(kernel):
    X, Y = tables(kernel)
    F, c, K = weights(len(X), len(Y)), weights(len(Y)), kernel(X, Y)
    expected = (
        kernel.pullback_between(X, Y, F, K),
        kernel.pullback_paired(X[: len(Y)], Y, c),
        kernel.slope(X, Y, F),
    )
    for array in (X, Y, F, c, K):
        array.flags.writeable = False
    for order in ("C", "F"):
        A, B, G, C = (np.asarray(array, order=order) for array in (X, Y, F, K))
        found = (
            kernel.pullback_between(A, B, G, C),
            kernel.pullback_paired(A[: len(Y)], B, c),
            kernel.slope(A, B, G),
        )
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@each_kernel
@pytest.mark.parametrize(("n", "m"), [(0, 5), (5, 0), (0, 0)])
def test_no_rows_have_no_gradient(kernel, n, m):
    X, Y = np.ones((n, D)), np.ones((m, D))
    F = np.ones((n, m))
    np.testing.assert_array_equal(
        kernel.pullback_between(X, Y, F), np.zeros(kernel.n_theta), strict=True
    )
    np.testing.assert_array_equal(kernel.slope(X, Y, F), np.zeros((m, D)), strict=True)
    none = np.ones((0, D))
    assert kernel.paired(none, none).shape == (0,)
    np.testing.assert_array_equal(
        kernel.pullback_paired(none, none, []), np.zeros(kernel.n_theta), strict=True
    )


@pytest.mark.parametrize("kernel", OF_DISTANCES, ids=repr)
def test_a_large_offset_costs_no_digits(kernel):
    X, Y = (table + 1e6 for table in tables(kernel))
    A, B = X - 1e6, Y - 1e6  # exact: the same rows, seen from near by
    F = weights(len(X), len(Y))
    for method in (kernel.pullback_between, kernel.slope):
        near = getattr(kernel, method.__name__)(A, B, F)
        np.testing.assert_allclose(method(X, Y, F), near, rtol=1e-9, atol=1e-7)
    c = weights(len(Y))
    np.testing.assert_allclose(
        kernel.pullback_paired(X[: len(Y)], Y, c),
        kernel.pullback_paired(A[: len(Y)], B, c),
        rtol=1e-12,
    )


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(), 2.0 * Gaussian(), Matern(), Matern(nu=0.5), RationalQuadratic(), Linear()],
)
def test_no_array_has_an_entry_for_each_pair_and_feature(kernel):
    n, m, d = 800, 200, 50
    rng = np.random.default_rng(0)
    kernel, X, Y = kernel.with_ard(d), rng.normal(size=(n, d)), rng.normal(size=(m, d))
    F, K = weights(n, m), kernel(X, Y)
    for run in (lambda: kernel.pullback_between(X, Y, F, K), lambda: kernel.slope(X, Y, F)):
        run()  # so that the compiler's memory does not count
        tracemalloc.start()
        try:
            run()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2 * n * m * 8  # d = 50 of them would be 25 times as much


# Refusals


@dataclass(frozen=True, eq=False, repr=False)
class Brownian(Kernel):
    """A kernel of a user, with the three functions that every kernel has."""

    def __call__(self, X, Y=None):
        return np.minimum(X, np.transpose(X if Y is None else Y))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Foreign(theirs.ExpSineSquared(1.2, 3.0)), "Foreign(ExpSineSquared("),
        (2.0 * Foreign(theirs.WhiteKernel(0.3)) + 1.0, "Foreign(WhiteKernel("),
        (translate(theirs.DotProduct(0.4)), "Foreign(DotProduct("),
        (Correlation("mean"), "Correlation(missing='mean'"),
        (Gaussian() + Correlation(), "Correlation("),
        (Precomputed(2.0), "Precomputed("),
        (Brownian(), "Brownian("),
    ],
)
def test_a_kernel_without_rectangular_gradients_is_named(kernel, name):
    X = np.random.default_rng(0).normal(size=(4, 4))
    calls = (
        lambda: kernel.pullback_between(X, X, np.ones((4, 4))),
        lambda: kernel.paired(X, X),
        lambda: kernel.pullback_paired(X, X, np.ones(4)),
        lambda: kernel.slope(X, X, np.ones((4, 4))),
    )
    for call in calls:
        with pytest.raises(NotImplementedError) as refusal:
            call()
        message = str(refusal.value)
        assert message.startswith(name)
        assert "has no gradients of rectangular covariance matrices" in message
        assert "use a kernel of ordinality over features" in message


@each_kernel
@pytest.mark.parametrize("shape", [(6,), (24,), (4, 6), (6, 5), (6, 4, 1), ()], ids=str)
def test_weights_of_another_shape_are_refused(kernel, shape):
    X, Y = np.ones((6, D)), np.ones((4, D))
    for method in (kernel.pullback_between, kernel.slope):
        with pytest.raises(ValueError, match=re.escape(f"F has shape {shape}") + r".*\(6, 4\)"):
            method(X, Y, np.ones(shape))


@each_kernel
@pytest.mark.parametrize("shape", [(5,), (6, 1), ()], ids=str)
def test_weights_of_matching_rows_are_one_for_each(kernel, shape):
    X = np.ones((6, D))
    with pytest.raises(ValueError, match=re.escape(f"c has shape {shape}") + r".*\(6,\)"):
        kernel.pullback_paired(X, X, np.ones(shape))


@each_kernel
def test_tables_that_do_not_fit_together_are_refused(kernel):
    X = np.ones((6, D))
    with pytest.raises(ValueError, match="X has 6 rows and Y has 5.*one to one"):
        kernel.paired(X, X[:5])
    with pytest.raises(ValueError, match="X has 6 rows and Y has 5.*one to one"):
        kernel.pullback_paired(X, X[:5], np.ones(6))
    for call in (
        lambda: kernel.pullback_between(X, X[:, :2], np.ones((6, 6))),
        lambda: kernel.slope(X, X[:, :2], np.ones((6, 6))),
        lambda: kernel.paired(X, X[:, :2]),
    ):
        with pytest.raises(ValueError, match="X has 3 features and Y has 2"):
            call()
    with pytest.raises(ValueError, match=r"Y has shape \(3,\).*Y.reshape"):
        kernel.paired(X, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("kernel", [Gaussian(), 2.0 * Matern(), RationalQuadratic()], ids=repr)
def test_distances_between_rows_of_different_features_are_refused(kernel):
    with pytest.raises(ValueError, match="X has 3 features and Y has 2"):
        kernel(np.ones((6, 3)), np.ones((6, 2)))


@pytest.mark.parametrize("kernel", [Gaussian(), 2.0 * Gaussian(), 2.0 * Matern()], ids=repr)
def test_covariances_of_another_shape_are_refused(kernel):
    X, Y = np.ones((6, D)), np.ones((4, D))
    with pytest.raises(ValueError, match=r"K has shape \(4, 6\).*\(6, 4\)"):
        kernel.pullback_between(X, Y, np.ones((6, 4)), np.ones((4, 6)))


@pytest.mark.parametrize("kernel", [Gaussian(ARD), Linear(ARD), 2.0 * Polynomial(2, ARD)])
def test_a_vector_that_does_not_fit_the_features_is_named(kernel):
    X = np.ones((6, 5))
    for call in (
        lambda: kernel.pullback_between(X, X, np.ones((6, 6))),
        lambda: kernel.paired(X, X),
        lambda: kernel.pullback_paired(X, X, np.ones(6)),
        lambda: kernel.slope(X, X, np.ones((6, 6))),
    ):
        with pytest.raises(ValueError, match="has 3 .*s but X has 5 features"):
            call()
