"""Laws of kernels: values against loops, gradients against differences."""

import inspect
import re
import tracemalloc

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as theirs

from ordinality.kernels import (
    Constant,
    Foreign,
    Gaussian,
    Linear,
    LinearGaussian,
    Matern,
    Polynomial,
    RationalQuadratic,
    Spline,
    stationary,
)

D = 3
ARD = [0.7, 1.5, 4.0]


def sq(x, z, scale):
    return float(np.sum(((x - z) / scale) ** 2))


def matern(nu, scale):
    def k(x, z):
        s = np.sqrt(2 * nu * sq(x, z, scale))
        return {0.5: 1.0, 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}[nu] * np.exp(-s)

    return k


def linear_gaussian(rho, c, ratio):
    return lambda x, z: (
        rho * np.mean(x * z / ratio**2) + (1 - rho) * np.exp(-sq(x, z, c * ratio) / (2 * D))
    )


def spline(x, z):
    def curve(a, b):
        # the integral of (|a| - u)_+ (|b| - u)_+ over u > 0, by exact Gauss-Legendre
        if a * b <= 0:
            return 0.0
        a, b = sorted((abs(a), abs(b)))
        nodes, weights = np.polynomial.legendre.leggauss(4)
        u = a * (nodes + 1) / 2
        return float(np.sum(weights * (a - u) * (b - u)) * a / 2)

    return 1 + sum(a * b + curve(a, b) for a, b in zip(x, z, strict=True))


# Each kernel beside its definition, one pair of rows at a time.
DEFINED = [
    (Gaussian(1.3), lambda x, z: np.exp(-sq(x, z, 1.3) / 2)),
    (Gaussian(ARD), lambda x, z: np.exp(-sq(x, z, ARD) / 2)),
    (Linear(0.6), lambda x, z: 0.6 * x @ z),
    (Linear(ARD), lambda x, z: np.sum(ARD * x * z)),
    (Polynomial(1, 0.5, 2.0), lambda x, z: 2.0 + 0.5 * x @ z),
    (Polynomial(3, 0.5, 2.0), lambda x, z: (2.0 + 0.5 * x @ z) ** 3),
    (Polynomial(2, ARD, 0.3), lambda x, z: (0.3 + np.sum(ARD * x * z)) ** 2),
    (Spline(), spline),
    *[(Matern(1.3, nu), matern(nu, 1.3)) for nu in (0.5, 1.5, 2.5)],
    *[(Matern(ARD, nu), matern(nu, ARD)) for nu in (0.5, 1.5, 2.5)],
    (RationalQuadratic(1.3, 0.8), lambda x, z: (1 + sq(x, z, 1.3) / 1.6) ** -0.8),
    (RationalQuadratic(ARD, 2.5), lambda x, z: (1 + sq(x, z, ARD) / 5) ** -2.5),
    (LinearGaussian(0.3, 1.3, ARD), linear_gaussian(0.3, 1.3, np.array(ARD))),
    (LinearGaussian(0.9, 0.7, 1.5), linear_gaussian(0.9, 0.7, np.full(D, 1.5))),
    (Constant(1.7), lambda x, z: 1.7),
    (2.0 * Gaussian(ARD), lambda x, z: 2 * np.exp(-sq(x, z, ARD) / 2)),
    (Constant(2.0) * 3.0, lambda x, z: 6.0),
    (
        0.5 + Linear(0.6) * Matern(1.3, 1.5) * 2.0,
        lambda x, z: 0.5 + 1.2 * (x @ z) * matern(1.5, 1.3)(x, z),
    ),
    (
        (Gaussian(ARD) + 0.3 * Linear()) * (RationalQuadratic() + 1.0) * Gaussian(2.0),
        lambda x, z: (
            (np.exp(-sq(x, z, ARD) / 2) + 0.3 * x @ z)
            * (1 / (1 + sq(x, z, 1) / 2) + 1)
            * np.exp(-sq(x, z, 2) / 2)
        ),
    ),
]
OURS = [kernel for kernel, _ in DEFINED]
KERNELS = [
    *OURS,
    Foreign(theirs.ExpSineSquared(1.2, 3.0)),
    Foreign(theirs.RBF(ARD) + theirs.WhiteKernel(0.3)) * 2.0,
]


def inputs(n, seed=0, d=D):
    return np.random.default_rng(seed).normal(size=(n, d))


def symmetric_matrix(n, seed=1):
    G = np.random.default_rng(seed).normal(size=(n, n))
    return G + G.T


each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
each_of_ours = pytest.mark.parametrize("kernel", OURS, ids=repr)


# Values


def name_of(parameter):
    """The same name in every process: a function's address is not."""
    return "defined" if inspect.isfunction(parameter) else repr(parameter)[:60]


@pytest.mark.parametrize(("kernel", "definition"), DEFINED, ids=name_of)
def test_values_are_those_of_the_definition(kernel, definition):
    X, Y = inputs(6), inputs(4, seed=2)
    Y[0] = X[0]
    expected = [[definition(x, z) for z in Y] for x in X]
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12, atol=1e-14)
    expected = [[definition(x, z) for z in X] for x in X]
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12, atol=1e-14)


@each_kernel
@pytest.mark.parametrize("n", [1, 2, 63, 130])  # 130 rows are three blocks
def test_the_matrix_is_exactly_symmetric_with_its_diagonal(kernel, n):
    X = inputs(n)
    K = kernel(X)
    assert K.flags.c_contiguous
    assert K.dtype == np.float64
    assert K.shape == (n, n)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), kernel.diag(X))


@each_kernel
@pytest.mark.parametrize("n", [1, 63, 130])
def test_the_lower_triangle_is_that_of_the_matrix_scaled(kernel, n):
    X = inputs(n)
    K, found = kernel(X), kernel.lower(X, 3.0)
    if not kernel.own_derivative:
        np.testing.assert_array_equal(found, 3.0 * K)
    np.testing.assert_allclose(np.tril(found), np.tril(3.0 * K), rtol=1e-15)


@each_of_ours
def test_one_and_two_arguments_agree(kernel):
    X = inputs(130)
    K = kernel(X)
    np.testing.assert_allclose(kernel(X, X), K, rtol=1e-11, atol=1e-13 * np.abs(K).max())


@each_of_ours
def test_no_rows_give_an_empty_matrix(kernel):
    assert kernel(inputs(0), inputs(5)).shape == (0, 5)


@each_kernel
def test_the_result_is_new_and_inputs_are_left_alone(kernel):
    X, G = inputs(5), symmetric_matrix(5)
    before = X.copy(), G.copy()
    K = kernel(X)
    K_before = K.copy()
    kernel.pullback(X, G, K)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(G, before[1])
    np.testing.assert_array_equal(K, K_before)
    K[:] = np.nan
    assert np.isfinite(kernel(X)).all()


matrices = st.builds(
    lambda n, seed, copies, column: _awkward(n, seed, copies, column),
    st.integers(2, 25),
    st.integers(0, 10**6),
    st.integers(0, 8),
    st.integers(0, D - 1),
)


def _awkward(n, seed, copies, column):
    """Random rows, some of them repeated, one column constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * rng.choice([0.1, 1.0, 5.0])
    X[:, column] = rng.normal()
    return np.vstack([X, X[rng.integers(n, size=copies)]])


@settings(max_examples=25, deadline=None)
@given(X=matrices)
def test_matrices_are_positive_semidefinite(X):
    for kernel in OURS:
        K = kernel(X)
        assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.trace(K), kernel


@settings(max_examples=25, deadline=None)
@given(X=matrices)
def test_equal_rows_have_correlation_one(X):
    for kernel in [Gaussian(0.1), *(Matern(0.1, nu) for nu in (0.5, 1.5, 2.5))]:
        K = kernel(np.vstack([X, X]))
        np.testing.assert_allclose(K.diagonal(len(X)), 1.0, rtol=0, atol=1e-9)
        assert K.max() <= 1.0


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(ARD), RationalQuadratic(ARD), *(Matern(ARD, v) for v in (0.5, 1.5, 2.5))],
)
def test_a_large_offset_costs_no_digits(kernel):
    X = inputs(40) + 1e6
    centred = X - 1e6  # exact: the same rows, seen from near by
    np.testing.assert_allclose(kernel(X), kernel(centred), rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        kernel(X[:3], X), kernel(centred[:3], centred), rtol=0, atol=1e-9
    )
    G = symmetric_matrix(40)
    np.testing.assert_allclose(
        kernel.pullback(X, G), kernel.pullback(centred, G), rtol=1e-9, atol=1e-9
    )


def test_the_spline_equals_the_formula_for_the_unit_interval():
    X = np.random.default_rng(3).random((20, 1))
    x, z = X, X.T
    m = np.minimum(x, z)
    np.testing.assert_allclose(
        Spline()(X), 1 + x * z + x * z * m - (x + z) * m**2 / 2 + m**3 / 3, rtol=1e-13
    )


# Gradients


@each_kernel
def test_the_pullback_agrees_with_central_differences(kernel):
    X = inputs(70)  # two blocks
    X[1] = X[0]  # equal rows, where exp(-r) has its kink
    G = symmetric_matrix(len(X))
    h = 1e-5  # about eps**(1/3): truncation and rounding balance
    theta, steps = kernel.theta, h * np.eye(kernel.n_theta)
    numeric = [
        np.sum(G * (kernel.with_theta(theta + s)(X) - kernel.with_theta(theta - s)(X)))
        / (2 * h)
        for s in steps
    ]
    scale = np.abs(G * kernel(X)).sum()
    for given_K in (None, kernel(X)):
        gradient = kernel.pullback(X, G, given_K)
        assert gradient.shape == (kernel.n_theta,)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-9 * scale)


@each_kernel
def test_the_pullback_does_not_depend_on_memory_order(kernel):
    X, G = inputs(70), symmetric_matrix(70)
    K = kernel(X)
    np.testing.assert_allclose(
        kernel.pullback(X, np.asfortranarray(G), np.asfortranarray(K)),
        kernel.pullback(X, G, K),
        rtol=1e-12,
        atol=1e-12 * np.abs(G).sum(),
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kernel", [Gaussian(ARD), 2.0 * Gaussian(1.3) * 0.5], ids=repr)
def test_its_own_derivative_is_pulled_back_from_one_triangle(kernel, order):
    assert kernel.own_derivative
    X, G = inputs(70), symmetric_matrix(70)
    expected = kernel.pullback(X, G, kernel(X))
    above = np.triu_indices(len(X), 1)
    K = kernel.lower(X)
    K[above] = G[above] = np.nan  # must not be read
    G = G if order == "C" else G.T
    np.testing.assert_array_equal(kernel.pullback(X, G, K), expected)


@pytest.mark.parametrize("shape", [(6,), (36,), (6, 5), (5, 5), (6, 6, 1), ()], ids=str)
@each_kernel
def test_the_pullback_refuses_a_gradient_of_another_shape(kernel, shape):
    with pytest.raises(ValueError, match=re.escape(f"G has shape {shape}") + r".*\(6, 6\)"):
        kernel.pullback(inputs(6), np.ones(shape))


def test_the_pullback_refuses_covariances_of_another_shape():
    with pytest.raises(ValueError, match=r"K has shape \(6,\).*\(6, 6\)"):
        Gaussian(1.0).pullback(inputs(6), np.ones((6, 6)), np.ones(6))


@each_kernel
def test_arrays_that_are_read_only_are_taken(kernel):
    X, G = inputs(6), symmetric_matrix(6)
    value, pulled = kernel(X), kernel.pullback(X, G)
    X.flags.writeable = G.flags.writeable = False
    np.testing.assert_array_equal(kernel(X), value)
    np.testing.assert_array_equal(kernel.pullback(X, G), pulled)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(), RationalQuadratic(), Linear()])
def test_one_length_scale_has_the_gradient_of_all_together(kernel):
    X, G = inputs(20), symmetric_matrix(20)
    every, single = kernel.with_ard(D).pullback(X, G), kernel.pullback(X, G)
    assert every[:D].sum() == pytest.approx(single[0], rel=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(), 2.0 * Gaussian(), Matern(), Matern(nu=0.5), RationalQuadratic(), Linear()],
)
def test_the_pullback_never_holds_an_array_for_each_feature(kernel):
    n, d = 400, 50
    kernel, X, G = kernel.with_ard(d), inputs(n, d=d), symmetric_matrix(n)
    K = kernel(X)
    kernel.pullback(X, G, K)  # so that the compiler's memory does not count
    tracemalloc.start()
    try:
        kernel.pullback(X, G, K)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * n * n * 8  # d = 50 of them would be 25 times as much


def test_exponentials_keep_their_digits_down_to_the_smallest():
    rng = np.random.default_rng(0)
    t = -np.exp(rng.uniform(np.log(1e-18), np.log(708.0), (40, 30)))
    t[0, :4] = 0.0, -708.0, -np.log(2.0) / 2.0, -1e-300
    found = t.copy()
    stationary.exponentials(found, found, 0, 1.0, False)
    exact = np.array([float(mpmath.exp(mpmath.mpf(x))) for x in t.ravel()]).reshape(t.shape)
    assert np.max(np.abs(found - exact) / exact) < 3e-16
    assert found[0, 0] == 1.0
    far = np.array([[-709.0, -1e6, -np.inf]])
    stationary.exponentials(far, far, 0, 1.0, False)
    assert np.all((far > 0.0) & (far < 1e-300))
    missing = np.array([[np.nan, -1.0]])
    stationary.exponentials(missing, missing, 0, 1.0, False)
    assert np.isnan(missing[0, 0])
    assert missing[0, 1] == pytest.approx(np.exp(-1.0))
