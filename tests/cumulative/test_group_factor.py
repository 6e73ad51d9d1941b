"""Elimination of effects: the same as with the whole matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ordinality.cumulative.group_factor import GroupFactor, Layout, Term

# (groups, width) of each term: one, a slope, crossed, a slope among three, wide ones
TERMS = [
    [(20, 1)],
    [(20, 2)],
    [(20, 1), (7, 1)],
    [(6, 1), (20, 2), (5, 1)],
    [(3, 1), (9, 3), (5, 2)],
]


@pytest.fixture(params=TERMS, ids=str)
def parts(request):
    """A layout, A by the effects of its rows, the weights, and A as a whole matrix."""
    rng, n = np.random.default_rng(0), 300
    terms = [Term(rng.integers(0, G, n), np.ones((n, r)), G) for G, r in request.param]
    layout = Layout.of(terms)
    A, W = rng.normal(size=layout.own.shape), 3 * rng.random(n)
    whole = np.zeros((n, layout.first[-1]))
    np.put_along_axis(whole, layout.own, A, axis=1)
    return layout, A, W, whole


def test_products_are_those_of_the_whole_matrix(parts):
    layout, A, W, whole = parts
    v = np.random.default_rng(1).normal(size=layout.first[-1])
    assert_allclose(layout.gather(A, v), whole @ v, rtol=1e-12, atol=1e-13)
    assert_allclose(layout.scatter(A, W), whole.T @ W, rtol=1e-12, atol=1e-12)


def test_factor_solves_and_inverts_like_the_whole_matrix(parts):
    layout, A, W, whole = parts
    M = np.eye(whole.shape[1]) + whole.T @ (W[:, None] * whole)
    factor, inverse = GroupFactor.of(layout, A, W), np.linalg.inv(M)
    b = np.random.default_rng(1).normal(size=len(M))
    assert factor.log_det == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-13)
    assert_allclose(factor.solve(b), inverse @ b, rtol=1e-10, atol=1e-13)
    own, blocks, rest = factor.selected_inverse(A)
    assert_allclose(own, np.take_along_axis(whole @ inverse, layout.own, axis=1), atol=1e-13)
    at, r = layout.first[1], layout.width
    diagonal = inverse[:at, :at].reshape(at // r, r, at // r, r)
    assert_allclose(blocks, np.einsum("gagb->gab", diagonal), atol=1e-13)
    assert_allclose(rest, inverse[at:, at:], atol=1e-13)


def test_the_largest_term_is_eliminated():
    n = np.arange(12)
    few, many = (Term(n % G, np.ones((12, 1)), G) for G in (3, 6))
    assert Layout.of([few, many]).terms == (1, 0)
    assert Layout.of([many, few]).n_rest == 3


def test_a_matrix_that_is_not_positive_definite_has_no_factor(parts):
    layout, A, W, _ = parts
    assert GroupFactor.of(layout, A, -10 * W) is None
