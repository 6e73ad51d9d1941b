"""Log-likelihood by blocks: derivatives by differences, structures, and laws of the sums."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from ordinality.cumulative import rows as _rows
from ordinality.cumulative.links import LINKS
from ordinality.cumulative.newton import maximise, start_vector
from ordinality.cumulative.rows import Rows
from ordinality.cumulative.structures import STRUCTURES, threshold_structure


def draw(link="logit", thresholds="flexible", K=5, n=120, p=0, c=0, seed=0):
    rng = np.random.default_rng(seed)
    X, N, Z = (rng.normal(size=(n, size)) for size in (2, p, c))
    y = np.sort(np.append(np.arange(K), rng.integers(K, size=n - K)))
    weights, offset = rng.uniform(0.5, 2.0, size=n), 0.3 * rng.normal(size=n)
    structure = threshold_structure(thresholds, K)
    return Rows(LINKS[link], structure, X, N, Z, y, weights, offset)


def at(rows, seed=1):
    """A vector inside the domain."""
    vector = start_vector(rows)
    return vector + 0.05 * np.random.default_rng(seed).normal(size=len(vector))


CASES = [
    *({"link": link, "p": 1, "c": 1} for link in LINKS),
    *({"thresholds": kind, "K": K, "c": 1} for kind in STRUCTURES[1:] for K in (3, 4, 5, 6)),
    {"thresholds": "equidistant", "p": 1},
    {"K": 2, "p": 1, "c": 2},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derivatives_agree_with_differences(case):
    rows = draw(**case)
    vector = at(rows)
    now, h = rows.evaluate(vector), 1e-5  # about eps**(1/3)
    for j in range(len(vector)):
        step = h * (np.arange(len(vector)) == j)
        up, down = rows.evaluate(vector + step), rows.evaluate(vector - step)
        # Differences of values near 200 round at 200 eps / h = 4e-9.
        assert now.gradient[j] == pytest.approx((up.value - down.value) / (2 * h), abs=1e-6)
        numeric = (down.gradient - up.gradient) / (2 * h)
        assert_allclose(now.information[j], numeric, rtol=1e-6, atol=1e-6)
    scores = np.vstack([g for _, g in rows.scores(vector)])
    assert_allclose(scores.sum(axis=0), now.gradient, atol=1e-10)
    assert rows.value(vector) == pytest.approx(now.value, rel=1e-14)


def test_blocks_do_not_matter(monkeypatch):
    rows = draw(n=3000, p=1, c=1)
    whole = rows.evaluate(at(rows))
    monkeypatch.setattr(_rows, "_BLOCK", 1)  # blocks of 256 rows, the least
    small = replace(rows)
    assert len(small.blocks) > len(rows.blocks)
    parts = small.evaluate(at(rows))
    assert_allclose(parts.information, whole.information, rtol=1e-11, atol=1e-9)
    assert_allclose(parts.gradient, whole.gradient, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("p", [0, 1])
def test_sums_without_pairs_are_those_with_pairs(p):
    rows = draw(p=p)
    vector, t = at(rows), rows.sizes[0]
    for X in (rows.X, sparse.csr_array(rows.X)):
        one, other = rows.evaluate(vector), replace(rows, X=X).evaluate_rows(vector)
        assert_allclose(other.gradient, one.gradient, atol=1e-12)
        assert_allclose(other.T, one.information[:t, :t], atol=1e-12)
        assert_allclose(other.TX, one.information[:t, t:], atol=1e-12)
        product = rows.X.T @ (other.a[:, None] * rows.X)
        assert_allclose(product, one.information[t:, t:], atol=1e-12)
        assert_allclose(other.diagonal, np.diagonal(product), atol=1e-12)


def test_outside_the_domain_there_is_no_likelihood():
    rows = draw()
    vector = start_vector(rows)
    vector[1] = vector[0] - 1.0
    assert rows.evaluate(vector) is None
    assert rows.value(vector) == -np.inf


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("K", range(3, 9))
def test_structures_are_what_their_names_say(kind, K):
    structure = threshold_structure(kind, K)
    J = structure.J
    assert np.linalg.matrix_rank(J) == J.shape[1]
    if structure.names:
        assert len(structure.names) == J.shape[1]
    rng = np.random.default_rng(K)
    theta = J @ rng.normal(size=J.shape[1])
    gaps = np.diff(theta)
    if kind.startswith("symmetric"):
        assert_allclose(gaps, gaps[::-1], atol=1e-12)
    if kind == "symmetric2":
        assert_allclose(theta, -theta[::-1], atol=1e-12)
        assert structure.shift is None
    else:
        assert_allclose(J @ structure.shift, 1.0)
    if kind == "equidistant":
        assert_allclose(gaps, gaps[0])


@pytest.mark.parametrize("link", LINKS)
def test_a_constraint_holds_and_is_a_maximum_along_it(link):
    rows = draw(link)
    top = maximise(rows)
    a = np.eye(len(top.vector))[4]
    moved = top.vector + 0.3 * a
    found = maximise(rows, start=moved, constraint=a)
    assert a @ found.vector == pytest.approx(a @ moved, abs=1e-12)
    left = np.delete(found.evaluation.gradient, 4)
    assert np.max(np.abs(left)) < 1e-5
    assert found.evaluation.value < top.evaluation.value


def test_conjugate_gradients_find_the_same_maximum():
    rows = draw(n=300)
    ridge = np.append(np.zeros(4), np.ones(2))
    one, other = maximise(rows, ridge=ridge), maximise(rows, ridge=ridge, pairs=False)
    assert_allclose(other.vector, one.vector, atol=1e-9)
    assert_array_equal(one.converged, other.converged)
