"""Dependent columns, separation, elastic nets: what makes a fit impossible, and a cure."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from ordinality.cumulative.collinearity import independent_columns
from ordinality.cumulative.links import LINKS
from ordinality.cumulative.newton import maximise
from ordinality.cumulative.penalty import largest_alpha, net_path
from ordinality.cumulative.rows import Rows
from ordinality.cumulative.separation import separation
from ordinality.cumulative.structures import threshold_structure


def rows_of(X, y, N=None, link="logit"):
    order, none = np.argsort(y, kind="stable"), np.zeros((len(y), 0))
    structure = threshold_structure("flexible", len(np.unique(y)))
    N = none if N is None else N
    n = len(y)
    return Rows(
        LINKS[link], structure, X[order], N[order], none, y[order], np.ones(n), np.zeros(n)
    )


# ------------------------------------------------------------ dependent columns


@pytest.mark.parametrize("of", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_later_copies_and_combinations_are_found(of):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 4))
    X = np.column_stack([A[:, 0], np.ones(300), A[:, 1], A[:, 0] - 2 * A[:, 1] + 3, A[:, 2],
                         0 * A[:, 0], A[:, 2] + 1e-4 * A[:, 3]])  # fmt: skip
    assert_array_equal(independent_columns(of(X)), [1, 0, 1, 0, 1, 0, 1])
    assert_array_equal(independent_columns(of(X[:, :3]), constant=False), [1, 1, 1])


def test_what_differs_by_a_hundred_millionth_is_told_apart_and_less_is_not():
    rng = np.random.default_rng(0)
    x, e = rng.normal(size=(2, 500))
    assert independent_columns(np.column_stack([x, x + 1e-8 * e])).all()
    assert_array_equal(independent_columns(np.column_stack([x, x + 1e-10 * e])), [1, 0])


def test_many_rows_are_judged_by_blocks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    assert_array_equal(independent_columns(X), [1, 1, 0])


# ------------------------------------------------------------ separation


def diverges(rows):
    """Whether Newton's method runs away: a standard error beyond all reason."""
    found = maximise(rows, max_iter=60)
    V = np.linalg.pinv(found.evaluation.information, hermitian=True)
    return found.singular or np.max(np.diagonal(V)) > 1e8


def test_the_programme_and_diverging_steps_agree():
    seen = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n, d, K = rng.integers(6, 20), rng.integers(1, 4), rng.integers(2, 5)
        X = rng.integers(0, 3, size=(n, d)) * 1.0
        latent = X[:, 0] + rng.choice([0.1, 2.0]) * rng.normal(size=n)
        y = np.unique(np.digitize(latent, np.arange(K - 1) + 0.5), return_inverse=True)[1]
        if len(np.unique(y)) < 2:
            continue
        X = X[:, independent_columns(X)]
        rows = rows_of(X, y)
        seen.append(separation(rows) is not None)
        assert seen[-1] == diverges(rows), seed
    assert 10 < sum(seen) < 110  # both happen


def test_a_direction_raises_no_lower_end_and_lowers_no_upper_end():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.digitize(X[:, 1], [-0.5, 0.5])
    rows = rows_of(X, y)
    found = separation(rows)
    theta, beta = found.direction[:2], found.direction[2:]
    assert_array_equal(beta != 0, [False, True, False])
    assert_array_equal(found.levels, [0, 1, 2])
    assert theta.shape == (2,)


def test_rows_that_overlap_are_not_separated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    assert separation(rows_of(X, np.arange(200) % 3)) is None


# ------------------------------------------------------------ elastic net


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_nets_satisfy_their_optimality_conditions(link, share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = np.digitize(X[:, 0] - X[:, 1] + rng.logistic(size=200), [-1.0, 1.0])
    rows, factors = rows_of(X, y, link=link), rng.uniform(0.5, 2.0, size=12)
    top = largest_alpha(rows, factors, share)
    assert not np.any(net_path(rows, factors, [top * 1.0001], share)[0].vector[2:])
    alphas = [top / 3, top / 30]
    for alpha, found in zip(alphas, net_path(rows, factors, alphas, share), strict=True):
        beta = found.vector[2:]
        slope = rows.evaluate(found.vector).gradient / 200
        assert np.max(np.abs(slope[:2])) < 1e-8  # thresholds are free
        left = slope[2:] - alpha * (1 - share) * factors**2 * beta
        used = beta != 0
        assert 0 < used.sum() <= 12
        assert_allclose(left[used], (alpha * share * factors * np.sign(beta))[used], atol=1e-8)
        assert np.all(np.abs(left[~used]) <= alpha * share * factors[~used] + 1e-10)
        assert found.converged
