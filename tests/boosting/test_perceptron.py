import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinality.boosting.perceptron import Perceptron, Sigmoid


def descend(X, g, updates, seed=0, trainer=Perceptron):
    rng = np.random.default_rng(seed)
    return trainer(updates=updates).prepare(X).learn(g, np.abs(g), rng)


def best_along(w, p, rows, g):
    """Least ``sign @ g`` over all gaps between break-points of ``rows @ (w + t p)``."""
    s, q = rows @ w, rows @ p
    cuts = np.unique(-s[q != 0] / q[q != 0])
    steps = np.concatenate([[cuts[0] - 1], 0.5 * (cuts[1:] + cuts[:-1]), [cuts[-1] + 1]])
    return min(np.where(s + t * q >= 0, 1.0, -1.0) @ g for t in steps)


@settings(deadline=None)
@given(st.integers(2, 400), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_a_line_search_is_as_good_as_trying_every_gap(n, d, seed, skewed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    g = rng.normal(size=n) * (np.exp(3 * rng.normal(size=n)) if skewed else 1.0)
    rows = np.column_stack([X, np.ones(n)])
    # The trainer's own draws: a start, then directions, of which the first is the bias.
    draws = np.random.default_rng(seed)
    w = draws.uniform(-0.05, 0.05, d + 1)
    value, h = descend(X, g, 1, seed)
    bias = np.eye(d + 1)[-1]
    assert h @ g == pytest.approx(best_along(w, bias, rows, g), abs=1e-9 * np.abs(g).sum())
    p = draws.uniform(-1, 1, (2, d + 1))[1]
    p[-1] = 0.0
    after = np.append(value.w, value.bias)
    _, h = descend(X, g, 2, seed)
    assert h @ g == pytest.approx(best_along(after, p, rows, g), abs=1e-9 * np.abs(g).sum())


@pytest.mark.parametrize("n", [3000, 20_000])  # more bins, then more rows in each
def test_a_line_search_over_many_rows_is_exact_too(n):
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(n, 1)), rng.normal(size=n)
    walk = np.cumsum(g[np.argsort(X[:, 0])])  # of g below the cut
    # The bias alone moves the cut; which side is which was drawn with the start.
    value, h = descend(X, g, 1)
    side = np.sign(value.w[0])
    best = min((side * (g.sum() - 2 * walk)).min(), side * g.sum())
    assert h @ g == pytest.approx(best, abs=1e-9 * n)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_more_updates_never_make_it_worse_even_with_ties(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(n, 3)).astype(float)
    g = rng.normal(size=n)
    errors = []
    for updates in range(1, 12):
        # The same generator gives the same directions, one more each time.
        errors.append(descend(X, g, updates, seed)[1] @ g)
    assert np.all(np.diff(errors) <= 1e-9 * np.abs(g).sum())


def test_separable_rows_are_separated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    target = np.where(X @ rng.normal(size=5) > 0.3, 1.0, -1.0)
    _, h = descend(X, -target, 400)
    np.testing.assert_array_equal(h, target)


def test_rows_without_weight_do_not_matter():
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(50, 2)), rng.normal(size=50)
    g[30:] = 0.0
    X_other = X.copy()
    X_other[30:] += 10
    kept, other = descend(X, g, 20)[1], descend(X_other, g, 20)[1]
    assert kept @ g == pytest.approx(other @ g)


def test_a_gradient_of_zeros_and_a_constant_feature_give_finite_weights():
    X = np.column_stack([np.zeros(10), np.arange(10.0)])
    for g in (np.zeros(10), np.where(np.arange(10) > 4, -1.0, 1.0)):
        value, h = descend(X, g, 50)
        assert np.all(np.isfinite(value.w))
        assert set(h) <= {-1.0, 1.0}
    assert h @ g == -10.0


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_features_of_any_size_are_searched_exactly(scale):
    rng = np.random.default_rng(1)
    X, g = scale * rng.normal(size=(200, 3)), rng.normal(size=200)
    rows = np.column_stack([X, np.ones(200)])
    w = np.random.default_rng(0).uniform(-0.05, 0.05, 4)  # the trainer's own start
    assert descend(X, g, 1)[1] @ g == pytest.approx(best_along(w, np.eye(4)[-1], rows, g))


def test_a_sigmoid_is_the_perceptron_smoothed():
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(100, 3)), rng.normal(size=100)
    hard, h = descend(X, g, 30)
    soft, output = descend(X, g, 30, trainer=Sigmoid)
    assert np.sqrt(soft.w @ soft.w + soft.bias**2) == pytest.approx(4.0)
    np.testing.assert_array_equal(np.sign(output), h)
    np.testing.assert_allclose(soft.w * hard.bias, hard.w * soft.bias, rtol=1e-9)
    np.testing.assert_array_equal(output, soft(X))


@pytest.mark.parametrize("trainer", [Perceptron, Sigmoid])
def test_the_same_seed_gives_the_same_learner(trainer):
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(100, 3)), rng.normal(size=100)
    one, two = (descend(X, g, 30, seed=5, trainer=trainer)[0] for _ in range(2))
    np.testing.assert_array_equal(one.w, two.w)
    assert one.bias == two.bias


@pytest.mark.parametrize("trainer", [Perceptron, Sigmoid])
def test_relevance_adds_up_to_one_and_finds_the_feature(trainer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    shares = descend(X, -np.sign(X[:, 1]), 200, trainer=trainer)[0].relevance(3)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[1] > 0.9
