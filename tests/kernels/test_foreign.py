"""scikit-learn's kernels become ours with the same values, or stay what they are."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as theirs

from ordinality import OrdinalGP
from ordinality import kernels as ours
from ordinality.kernels.foreign import NAMED, Function, translate

ARD = [0.7, 1.5, 4.0]
WHITE = theirs.WhiteKernel(0.3)

TRANSLATED = [
    (theirs.RBF(1.3), ours.Gaussian(1.3)),
    (theirs.RBF([1.3]), ours.Gaussian(1.3)),
    (theirs.RBF(ARD), ours.Gaussian(ARD)),
    (theirs.Matern(1.3, nu=0.5), ours.Matern(1.3, 0.5)),
    (theirs.Matern(ARD, nu=1.5), ours.Matern(ARD, 1.5)),
    (theirs.Matern(ARD, nu=2.5), ours.Matern(ARD, 2.5)),
    (theirs.Matern(ARD, nu=np.inf), ours.Gaussian(ARD)),
    (theirs.RationalQuadratic(1.3, 0.8), ours.RationalQuadratic(1.3, 0.8)),
    (theirs.ConstantKernel(2.0), ours.Constant(2.0)),
    (2.0 * theirs.RBF(ARD), 2.0 * ours.Gaussian(ARD)),
    (
        2.0 * theirs.RBF(ARD) * theirs.Matern() + WHITE + 0.5,
        2.0 * ours.Gaussian(ARD) * ours.Matern(nu=1.5) + ours.Foreign(WHITE) + 0.5,
    ),
]
KEPT = [
    theirs.DotProduct(0.4),
    theirs.DotProduct(0.0, "fixed"),
    WHITE,
    theirs.ExpSineSquared(1.2, 3.0),
    theirs.Matern(1.3, nu=2.0),
    theirs.RBF(1.3) ** 2,
    theirs.RBF(1.3, "fixed"),
    theirs.RBF(ARD, (1e-2, 1e2)),
    theirs.RationalQuadratic(alpha_bounds="fixed"),
    theirs.ConstantKernel(2.0, "fixed"),
    theirs.PairwiseKernel(metric="laplacian"),
]


def inputs(n=20):
    return np.random.default_rng(0).normal(size=(n, 3))


@pytest.mark.parametrize(("kernel", "expected"), TRANSLATED, ids=lambda k: repr(k)[:60])
def test_known_kernels_become_ours(kernel, expected):
    assert translate(kernel) == expected


@pytest.mark.parametrize("kernel", [k for k, _ in TRANSLATED] + KEPT, ids=repr)
def test_a_translation_has_the_same_values_and_as_many_free_parameters(kernel):
    X, Y = inputs(), inputs(5) + 0.1
    translated = translate(kernel)
    np.testing.assert_allclose(translated(X), kernel(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(translated(X, Y), kernel(X, Y), rtol=0, atol=1e-12)
    np.testing.assert_allclose(translated.diag(X), kernel.diag(X), rtol=0, atol=1e-12)
    assert translated.n_theta == kernel.n_dims


@pytest.mark.parametrize("kernel", KEPT, ids=repr)
def test_what_ours_cannot_express_is_kept_as_it_is(kernel):
    translated = translate(kernel)
    assert isinstance(translated, ours.Foreign)
    assert translated.kernel is kernel


def test_a_subclass_may_mean_something_else_and_is_kept():
    class Halved(theirs.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            return super().__call__(np.asarray(X) / 2, None if Y is None else Y / 2)

    assert isinstance(translate(Halved()), ours.Foreign)


def test_only_the_fixed_part_of_a_product_stays_foreign():
    translated = translate(theirs.ConstantKernel(2.0, "fixed") * theirs.RBF(ARD))
    assert translated.parts[1] == ours.Gaussian(ARD)
    assert translated.theta_kinds == ("length_scale",) * 3


def test_ours_pass_through():
    kernel = 2.0 * ours.Gaussian(ARD) + ours.Spline()
    assert translate(kernel) is kernel


@pytest.mark.parametrize("name", NAMED)
def test_a_name_stands_for_the_default_kernel(name):
    assert translate(name) == NAMED[name]()


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(
        ValueError, match="no kernel named 'sigmoid'; the names are gaussian, rbf"
    ):
        translate("sigmoid")


def test_names_of_gaussians_start_where_standardised_rows_are_at_that_distance():
    X = np.random.default_rng(0).normal(size=(400, 9))
    distance = np.sqrt(np.mean((X[::2] - X[1::2]) ** 2) * 9 / 2)
    for name in ("gaussian", "rbf", "ard"):
        np.testing.assert_allclose(translate(name, 9).length_scale, distance, rtol=0.05)


def test_none_is_a_linear_plus_a_smooth_function_with_a_scale_for_each_feature():
    kernel = translate(None, 3)
    assert isinstance(kernel, ours.LinearGaussian)
    np.testing.assert_array_equal(kernel.relative_scale, np.ones(3))


@pytest.mark.parametrize("value", [3.0, np.eye(2), np.sin])
def test_what_is_no_kernel_is_a_type_error(value):
    with pytest.raises(TypeError, match="is not a kernel object: it lacks"):
        translate(value)


@pytest.mark.parametrize("cls", [theirs.RBF, ours.Gaussian])
def test_a_class_in_place_of_an_object_is_pointed_out(cls):
    with pytest.raises(TypeError, match=rf"the class {cls.__name__}; pass {cls.__name__}\(\)"):
        translate(cls)


def test_ard_is_a_gaussian_with_a_length_scale_for_each_feature():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 1], [-0.5, 0.5])
    model = OrdinalGP(kernel="ard").fit(X, y)
    assert model.kernel_.length_scale.shape == (3,)
    assert model.relevance_.argmax() == 1
    same = OrdinalGP(kernel=ours.Gaussian(np.full(3, np.sqrt(3)))).fit(X, y)
    assert model.log_evidence_ == same.log_evidence_


def test_a_foreign_kernel_keeps_its_values_bounds_and_fixed_parameters():
    inner = theirs.RBF([1.0, 2.0, 3.0], (1e-2, 1e2)) * theirs.ConstantKernel(2.0, "fixed")
    kernel, X = ours.Foreign(inner), inputs(7)
    np.testing.assert_allclose(kernel(X), inner(X), rtol=1e-14)
    np.testing.assert_allclose(kernel(X[:2], X), inner(X[:2], X), rtol=1e-14)
    np.testing.assert_allclose(kernel.bounds, np.log([[1e-2, 1e2]] * 3))
    assert kernel.theta_names == [f"k1__length_scale[{i}]" for i in range(3)]
    assert kernel.with_theta([0.0, 0.0, 0.0]).kernel.k2.constant_value == 2.0
    assert inner.k1.length_scale == [1.0, 2.0, 3.0]  # left alone


def test_a_foreign_kernel_without_free_parameters_has_an_empty_gradient():
    kernel = ours.Foreign(theirs.RBF(1.0, "fixed"))
    assert kernel.n_theta == 0
    assert kernel.bounds.shape == (0, 2)
    assert kernel.pullback(inputs(4), np.eye(4)).shape == (0,)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(TypeError, match="it lacks diag, theta, bounds, clone_with_theta"):
        ours.Foreign(np.sin)
    with pytest.raises(TypeError, match="the class RBF; pass an instance"):
        ours.Foreign(theirs.RBF)
    with pytest.raises(ValueError, match=r"shape \(4, 4, 2\)"):
        ours.Foreign(theirs.CompoundKernel([theirs.RBF(), theirs.RBF(2.0)]))(inputs(4))


def test_a_function_is_a_kernel_whose_diagonal_comes_from_blocks():
    X = inputs(70)  # three blocks
    kernel = Function(lambda X, Y: X @ Y.T)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-12)
    np.testing.assert_array_equal(kernel(X[:2], X), X[:2] @ X.T)
