"""Items with features and an effect of their own."""

import numpy as np
import pytest

from ordinality.kernels import Gaussian, Linear
from ordinality.kernels.items import NEGLIGIBLE, PerItem

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(6, 2))
ITEMS = np.column_stack([FEATURES, np.arange(6)])
INNER = {"gaussian": 1.5 * Gaussian([1.0, 2.0]), "linear": Linear(0.5)}

each_inner = pytest.mark.parametrize("inner", INNER.values(), ids=INNER)


@each_inner
def test_an_item_shares_its_effect_with_itself_only(inner):
    kernel = PerItem(inner, 0.4)
    expected = inner(FEATURES) + 0.4 * np.eye(6)
    np.testing.assert_allclose(kernel(ITEMS), expected, rtol=1e-15)
    np.testing.assert_allclose(kernel.diag(ITEMS), np.diag(expected), rtol=1e-15)
    np.testing.assert_allclose(kernel(ITEMS[:2], ITEMS), expected[:2], rtol=0, atol=1e-15)
    new = np.column_stack([FEATURES[:2], [-1, -1]])
    np.testing.assert_allclose(
        kernel(new, ITEMS), inner(FEATURES[:2], FEATURES), rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(kernel(new), inner(FEATURES[:2]) + 0.4 * np.eye(2), rtol=1e-15)


def test_rows_of_one_item_share_all_of_it():
    twice = ITEMS[[0, 1, 0]]
    K = PerItem(INNER["gaussian"], 0.4)(twice)
    np.testing.assert_array_equal(K[0], K[2])
    assert K[0, 2] == K[0, 0]


@each_inner
@pytest.mark.parametrize("rows", [ITEMS, ITEMS[[0, 1, 0, 2]]], ids=["distinct", "repeated"])
def test_pullback_is_the_gradient_in_theta(inner, rows):
    kernel = PerItem(inner, 0.4)
    G = RNG.normal(size=(len(rows), len(rows)))
    G = G + G.T
    h = 1e-6
    numeric = [
        np.sum(
            G
            * (
                kernel.with_theta(kernel.theta + e)(rows)
                - kernel.with_theta(kernel.theta - e)(rows)
            )
        )
        / (2 * h)
        for e in h * np.eye(kernel.n_theta)
    ]
    for K in (None, kernel(rows)):
        np.testing.assert_allclose(kernel.pullback(rows, G, K), numeric, rtol=0, atol=1e-7)
    assert len(kernel.theta_kinds) == len(kernel.theta_names) == len(kernel.bounds)
    assert kernel.theta_names[-1] == "item_variance"


def test_items_without_features_have_nothing_to_learn():
    kernel = PerItem(None)
    numbers = np.arange(3.0)[:, None]
    np.testing.assert_array_equal(kernel(numbers), np.eye(3))
    np.testing.assert_array_equal(kernel(numbers[:1], numbers), [[1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(kernel.diag(numbers), np.ones(3))
    assert kernel.n_theta == len(kernel.theta) == len(kernel.bounds) == 0
    assert kernel.pullback(numbers, np.eye(3)).size == 0
    assert kernel.with_theta([]) == kernel
    assert kernel.feature_relevance(0).size == 0


def test_the_variance_may_not_be_negative():
    with pytest.raises(ValueError, match="needs variance of zero or more, got -0.1"):
        PerItem(INNER["linear"], -0.1)


@each_inner
def test_no_effect_at_all_is_the_lower_end_of_the_box(inner):
    kernel = PerItem(inner, 0.4)
    theta = kernel.theta
    theta[-1] = kernel.bounds[-1, 0]
    none = kernel.with_theta(theta)
    assert none.variance == 0.0
    assert none.theta[-1] == theta[-1]
    np.testing.assert_array_equal(none(ITEMS), inner(FEATURES))
    # From there a first step up is worth taking: the gradient does not vanish.
    assert none.pullback(ITEMS, np.eye(6))[-1] == pytest.approx(6 * NEGLIGIBLE)
    for variance in (1e-6, 0.03, 1.0, 70.0):
        again = kernel.with_theta(PerItem(inner, variance).theta)
        assert again.variance == pytest.approx(variance, rel=1e-10)


def test_kernels_of_items_compare_and_print_by_value():
    assert PerItem(Linear(0.5), 0.4) == PerItem(Linear(0.5), 0.4)
    assert PerItem(Linear(0.5), 0.4) != PerItem(Linear(0.6), 0.4)
    assert repr(PerItem(Linear(0.5), 0.4)) == "PerItem(Linear(relevance=0.5), variance=0.4)"
    np.testing.assert_array_equal(
        PerItem(Gaussian([1.0, 2.0])).feature_relevance(2), [1.0, 0.25]
    )
