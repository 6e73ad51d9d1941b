"""Kernels as values: parameters, copies, sums and products, and those of others."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as theirs

from ordinality import kernels
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
    Product,
    RationalQuadratic,
    Spline,
    Sum,
)

D = 3
ARD = [0.7, 1.5, 4.0]
OURS = [
    Constant(1.7),
    Correlation("mean", 0.1),
    Gaussian(1.3),
    Gaussian(ARD),
    Linear(ARD),
    Matern(ARD, 1.5),
    LinearGaussian(0.3, 1.3, ARD),
    Polynomial(3, ARD, 2.0),
    Precomputed(2.0),
    RationalQuadratic(ARD, 2.5),
    Spline(),
    2.0 * Gaussian(ARD) + Linear(),
    (Gaussian(ARD) + 0.3 * Linear()) * (RationalQuadratic() + 1.0) * Gaussian(2.0),
]
KERNELS = [
    *OURS,
    Foreign(theirs.ExpSineSquared(1.2, 3.0)),
    Foreign(theirs.RBF(ARD) + theirs.WhiteKernel(0.3)) * 2.0,
]

each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def inputs(n, d=D):
    return np.random.default_rng(0).normal(size=(n, d))


# Parameters


@each_kernel
def test_theta_goes_round(kernel):
    theta = np.linspace(-1.0, 1.0, kernel.n_theta)
    changed = kernel.with_theta(theta)
    np.testing.assert_allclose(changed.theta, theta, atol=1e-14)
    assert type(changed) is type(kernel)
    assert kernel.with_theta(kernel.theta).theta == pytest.approx(kernel.theta, abs=1e-14)
    assert len(kernel.theta_names) == len(kernel.theta_kinds) == kernel.n_theta
    assert len(set(kernel.theta_names)) == kernel.n_theta
    assert kernel.bounds.shape == (kernel.n_theta, 2)
    assert np.all((kernel.bounds[:, 0] <= kernel.theta) & (kernel.theta <= kernel.bounds[:, 1]))


def test_theta_holds_logs_in_reading_order():
    kernel = 2.0 * Gaussian([1.0, 3.0]) + Linear(0.5) + RationalQuadratic(4.0, alpha=5.0)
    np.testing.assert_allclose(np.exp(kernel.theta), [2.0, 1.0, 3.0, 0.5, 4.0, 5.0])
    assert kernel.theta_names == [
        "variance",
        "length_scale[0]",
        "length_scale[1]",
        "relevance",
        "length_scale",
        "alpha",
    ]
    assert kernel.theta_kinds == (
        "variance",
        "length_scale",
        "length_scale",
        "relevance",
        "length_scale",
        "alpha",
    )


def test_names_that_would_clash_say_which_part_they_belong_to():
    names = (2.0 * Gaussian() + 0.5 * Gaussian(9.0)).theta_names
    assert names == ["0.variance", "0.length_scale", "1.variance", "1.length_scale"]


def test_a_theta_of_the_wrong_length_is_an_error():
    with pytest.raises(ValueError, match=r"shape \(2,\).*has 3 learnt parameters"):
        Gaussian(ARD).with_theta([0.0, 0.0])


def test_the_box_holds_a_start_that_lies_outside():
    assert Gaussian(1e6).bounds[0, 1] == pytest.approx(np.log(1e6))
    assert Gaussian(1.0).bounds.tolist() == [[-7.0, 9.0]]


def test_relevance_is_the_weight_of_a_feature():
    np.testing.assert_allclose(Gaussian([0.5, 2.0]).feature_relevance(2), [4.0, 0.25])
    np.testing.assert_allclose(Matern(2.0).feature_relevance(3), [0.25] * 3)
    np.testing.assert_allclose(Linear([1.0, 3.0]).feature_relevance(2), [1.0, 3.0])
    mixed = 5.0 * Gaussian([0.5, 2.0]) + Linear(0.1)
    np.testing.assert_allclose(mixed.feature_relevance(2), [4.1, 0.35])
    assert np.isnan(Correlation().feature_relevance(2)).all()
    assert np.isnan(Precomputed().feature_relevance(2)).all()


def test_ard_gives_every_feature_its_own_scale_and_the_same_values():
    kernel = 2.0 * Gaussian(1.5) + Linear(0.3) + Spline()
    expanded = kernel.with_ard(D)
    assert expanded.n_theta == 1 + D + D
    np.testing.assert_allclose(expanded(inputs(5)), kernel(inputs(5)), rtol=1e-14)
    assert expanded.with_ard(D) == expanded


@pytest.mark.parametrize("kernel", [Gaussian(ARD), 2.0 * Gaussian(ARD) + 1.0])
def test_a_vector_that_does_not_fit_the_features_is_named(kernel):
    with pytest.raises(ValueError, match="Gaussian has 3 length scales but X has 5 features"):
        kernel.check(5)
    with pytest.raises(ValueError, match="Gaussian has 3 length scales but X has 5 features"):
        kernel(inputs(4, d=5))
    kernel.check(3)


@pytest.mark.parametrize(
    "bad", [0.0, -1.0, np.nan, np.inf, [1.0, -2.0], [], [[1.0]], "wide", None]
)
def test_a_parameter_must_be_positive(bad):
    for build in (Gaussian, Linear, Matern, RationalQuadratic, lambda v: Polynomial(2, v)):
        with pytest.raises(ValueError, match="positive and finite, got"):
            build(bad)


def test_other_parameters_are_checked_too():
    with pytest.raises(ValueError, match="Constant takes one variance"):
        Constant([1.0, 2.0])
    with pytest.raises(ValueError, match=r"nu 0.5, 1.5 and 2.5, got 3"):
        Matern(nu=3)
    with pytest.raises(ValueError, match="whole degree"):
        Polynomial(degree=1.5)
    with pytest.raises(ValueError, match="'pairwise' or 'mean'"):
        Correlation(missing="zero")
    with pytest.raises(ValueError, match="shrinkage is 1"):
        Correlation(shrinkage=1.0)
    with pytest.raises(ValueError, match="diagonal is -1"):
        Precomputed(-1.0)
    with pytest.raises(ValueError, match=r"X has shape \(3,\).*reshape"):
        Gaussian()([1.0, 2.0, 3.0])


# Frozen values


@pytest.mark.parametrize("kernel", OURS, ids=repr)
def test_a_kernel_survives_repr_copy_and_pickle(kernel):
    names = {name: getattr(kernels, name) for name in kernels.__all__}
    for twin in (
        eval(repr(kernel), names),
        copy.deepcopy(kernel),
        pickle.loads(pickle.dumps(kernel)),
    ):
        assert twin == kernel
        assert hash(twin) == hash(kernel)
        np.testing.assert_array_equal(twin.theta, kernel.theta)


def test_a_foreign_kernel_survives_copy_and_pickle():
    kernel = KERNELS[-1]
    for twin in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert twin == kernel
        assert hash(twin) == hash(kernel)


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))])
def test_length_scales_cannot_be_written_to(twin):
    mine = np.array(ARD)
    kernel = Gaussian(mine)
    mine[0] = 99.0
    assert kernel.length_scale[0] == ARD[0]
    for frozen in (kernel, twin(kernel)):
        with pytest.raises(ValueError, match="read-only"):
            frozen.length_scale[0] = 1.0


def test_equality_is_by_type_and_value():
    assert Gaussian(1.0) == Gaussian(1) != Gaussian(2.0)
    assert Gaussian([1.0, 2.0]) == Gaussian(np.array([1.0, 2.0]))
    assert Gaussian(1.0) != Gaussian([1.0])
    assert Gaussian() != Matern()
    assert Gaussian() != 1.0
    assert Gaussian() + Linear() != Linear() + Gaussian()
    assert len({Gaussian(), Gaussian(1.0), 2.0 * Gaussian(), Constant(2.0) * Gaussian()}) == 2


def test_scikit_learn_clones_a_parameter_that_is_a_kernel():
    kernel = 2.0 * Gaussian(ARD)
    assert clone(GaussianProcessRegressor(kernel=kernel)).kernel == kernel


# Algebra


def test_sums_and_products_are_flat_and_take_numbers_on_either_side():
    a, b, c = Gaussian(), Linear(), Spline()
    assert (a + b) + c == a + (b + c) == Sum((a, b, c))
    assert (a * b) * c == a * (b * c) == Product((a, b, c))
    assert 2 * a == np.float64(2.0) * a == Product((Constant(2.0), a))
    assert a * 2.0 == Product((a, Constant(2.0)))
    assert 1.0 + a == Sum((Constant(), a))
    assert (
        repr((a + 1.0) * c)
        == "(Gaussian(length_scale=1.0) + Constant(variance=1.0)) * Spline()"
    )


@pytest.mark.parametrize("other", ["x", None, theirs.RBF()])
def test_a_kernel_combines_with_kernels_and_numbers_only(other):
    with pytest.raises(TypeError, match=r"cannot be combined with.*Foreign"):
        Gaussian() + other


def test_an_empty_sum_is_an_error():
    with pytest.raises(ValueError, match="at least one kernel"):
        Sum(())


def test_every_public_name_is_a_kernel():
    assert all(issubclass(getattr(kernels, name), Kernel) for name in kernels.__all__)


@pytest.mark.parametrize("name", kernels.__all__)
def test_every_method_has_the_documentation_of_the_contract(name):
    inducing = ("pullback_between", "paired", "pullback_paired", "slope")
    for method in ("diag", "pullback", *inducing, "with_theta", "feature_relevance"):
        assert "Parameters\n" in getattr(getattr(kernels, name), method).__doc__
