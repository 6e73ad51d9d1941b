"""Factorised EP for items: laws, the exact engine where it must agree, and differences."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from ordinality.gp.criteria import ItemObjective
from ordinality.gp.design import Combinations, Differences
from ordinality.gp.ep import ep
from ordinality.gp.factorised import factorised_ep
from ordinality.gp.likelihoods import Jet, Ordinal, Several, Symmetric
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.posterior.inducing_items import InducingItems, basis_of
from ordinality.gp.predict import LatentPredictor
from ordinality.kernels import Constant, Gaussian
from ordinality.kernels.items import PerItem

SMOOTH = Constant(0.8) * Gaussian(1.1)
KERNELS = {"effects": PerItem(SMOOTH, 0.3), "smooth": SMOOTH, "featureless": PerItem(None)}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def items_of(kernel, n, seed=0):
    """Inputs of n items as the kernel takes them, and features of five points."""
    rng = np.random.default_rng(seed)
    features, numbers = rng.normal(size=(n, 2)), np.arange(n, dtype=float)[:, None]
    if not isinstance(kernel, PerItem):
        return features, rng.normal(size=(5, 2))
    if kernel.kernel is None:
        return numbers, None
    return np.hstack([features, numbers]), rng.normal(size=(5, 2))


def prior(kernel, design, Z="points", seed=0):
    """The prior of what a design sees, by points of its own or at all items."""
    X, points = items_of(kernel, design.size, seed)
    Z = points if isinstance(Z, str) else Z
    Z = np.zeros((0, 1)) if Z is None else Z
    return InducingItems.on(kernel, X, basis_of(kernel, Z), design)


def exact_moments(K, design, likelihood, y, tol=1e-12):
    """Means, covariance and evidence by the exact engine."""
    a = ep(prior_of(design, K), likelihood, y, tol=tol)
    predictor = LatentPredictor.of(design, K, a)
    return predictor.mean(K), predictor.covariance(K, K), a.log_evidence


def utilities(prior, found):
    """Means and variances of the items."""
    rest, spread = found.belief.rests(prior.residual)
    half = np.linalg.solve(np.triu(found.belief.factor).T, prior.P.T)
    return prior.P @ found.belief.mean + rest, np.sum(half**2, axis=0) + spread


def solved(prior, likelihood, y, **options):
    options = {"weights": np.ones(len(y)), "tol": 1e-12, "max_iter": 500} | options
    found = factorised_ep(prior, likelihood, y, **options)
    assert found.converged
    return found


@each_kernel
def test_one_rating_has_the_exact_evidence_and_moments(kernel):
    design = Combinations(np.array([[1, 0]]), np.array([[1.0, 0.0]]), 3)
    likelihood, y = Ordinal(np.array([-0.3, 0.6]), 0.4), np.array([2])
    here = prior(kernel, design)
    found = solved(here, likelihood, y)
    sd = np.sqrt(kernel.diag(items_of(kernel, 3)[0])[1])

    def moment(k):
        def density(g):
            return norm.sf(0.6, g, 0.4) * norm.pdf(g, scale=sd) * g**k

        return quad(density, -12 * sd, 12 * sd, epsabs=1e-13)[0]

    assert found.log_evidence == pytest.approx(np.log(moment(0)), abs=1e-10)
    mean, _ = utilities(here, found)
    assert mean[1] == pytest.approx(moment(1) / moment(0), abs=1e-9)


def test_answers_without_a_loop_are_exact():
    # A chain and a star of comparisons of items without features.
    pairs = [[0, 1], [1, 2], [3, 2], [4, 5], [4, 6], [7, 4], [8, 4]]
    design, y = Differences(pairs, 10), np.array([1, 1, 0, 1, 0, 1, 1])
    likelihood = Symmetric.of(sigma=0.3)
    here = prior(PerItem(None), design)
    found = solved(here, likelihood, y)
    mean, cov, value = exact_moments(np.eye(10), design, likelihood, y)
    assert found.log_evidence == pytest.approx(value, abs=1e-10)
    ours = utilities(here, found)
    np.testing.assert_allclose(ours[0], mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours[1], np.diagonal(cov), rtol=0, atol=1e-9)


def test_without_rests_it_is_exact_ep():
    rng = np.random.default_rng(1)
    X, _ = items_of(SMOOTH, 15)
    pairs = [rng.choice(15, 2, replace=False) for _ in range(40)]
    design, y = Differences(pairs, 15), rng.integers(2, size=40)
    likelihood = Symmetric.of(sigma=0.4)
    here = prior(SMOOTH, design, Z=X)  # points at all items leave nothing
    found = solved(here, likelihood, y)
    mean, cov, value = exact_moments(SMOOTH(X), design, likelihood, y)
    assert found.log_evidence == pytest.approx(value, abs=1e-6)
    ours = utilities(here, found)
    np.testing.assert_allclose(ours[0], mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours[1], np.diagonal(cov), rtol=0, atol=1e-6)


@dataclass(frozen=True)
class Normal:
    """An observation ``target[y]`` with normal noise: its sites are Gaussian to begin with."""

    target: np.ndarray
    noise: float = 0.5
    max_precision = 4.0

    def log_expected(self, y, mean, var, power=None):
        total, gap = var + self.noise**2, self.target[y] - mean
        rows = np.zeros((12, len(y)))
        rows[0] = -0.5 * (np.log(2 * np.pi * total) + gap**2 / total)
        rows[1], rows[2], rows[11] = gap / total, -1.0 / total, self.noise**2 / total
        return Jet(rows)

    def pull(self, y, jet, *weights):
        return np.zeros(0)


@each_kernel
def test_means_are_exact_for_gaussian_sites(kernel):
    # A property of Gaussian message passing, with any loops: Weiss & Freeman (2001).
    rng = np.random.default_rng(2)
    pairs = [rng.choice(12, 2, replace=False) for _ in range(30)]
    design = Differences(pairs, 12)
    here = prior(kernel, design)
    likelihood = Normal(rng.normal(size=30))
    found = solved(here, likelihood, np.arange(30))
    A, C = design.sparse().toarray(), here.P @ here.P.T + np.diag(here.residual)
    noisy = A @ C @ A.T + 0.25 * np.eye(30)
    wanted = C @ A.T @ np.linalg.solve(noisy, likelihood.target)
    np.testing.assert_allclose(utilities(here, found)[0], wanted, rtol=0, atol=1e-9)


def mixed(kernel, seed=3):
    """Comparisons and ratings of twelve items, with weights, as an objective."""
    rng = np.random.default_rng(seed)
    X, Z = items_of(kernel, 12, seed)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(20)])
    index = np.vstack([pairs, np.column_stack([np.arange(9), np.zeros(9, int)])])
    value = np.vstack([np.tile([1.0, -1.0], (20, 1)), np.tile([1.0, 0.0], (9, 1))])
    parts = Symmetric.of([0.3], ties=True, sigma=0.4), Ordinal(np.array([-0.5, 0.4]), 0.3)
    likelihood = Several(parts, np.repeat([0, 1], [20, 9]))
    problem = ItemObjective(
        X, rng.integers(3, size=29), rng.choice([0.5, 1.0, 2.0], 29), kernel, likelihood,
        tol=1e-13, max_iter=500, design=Combinations(index, value, 12), count=5, Z=Z,
        fixed=Z is not None,
    )  # fmt: skip
    return problem.near(problem.theta)


@each_kernel
def test_gradients_agree_with_differences(kernel):
    problem, h = mixed(kernel), 1e-3  # order 4: truncation and rounding are below 1e-9
    theta, rng = problem.theta, np.random.default_rng(0)
    # All parameters at once, none with a small part: an error in any of them shows.
    e = rng.choice([-1.0, 1.0], len(theta)) * rng.uniform(0.5, 1.0, len(theta))
    at = [problem.evaluate(theta + s * h * e).value for s in (-2, -1, 1, 2)]
    numeric = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)
    assert problem.evaluate(theta).gradient @ e == pytest.approx(numeric, rel=0, abs=1e-8)


@each_kernel
def test_a_weight_of_two_is_two_answers(kernel):
    design, y = Differences([[0, 1], [1, 2], [0, 2]], 3), np.array([1, 0, 1])
    twice = Differences([[0, 1], [1, 2], [0, 2], [1, 2]], 3)
    likelihood = Symmetric.of(sigma=0.5)
    one = solved(prior(kernel, design), likelihood, y, weights=np.array([1.0, 2.0, 1.0]))
    two = solved(prior(kernel, twice), likelihood, np.append(y, 0))
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-10)
    np.testing.assert_allclose(one.belief.potential, two.belief.potential, atol=1e-9)


def test_answers_about_other_items_may_come_later():
    # Two parts of a graph that share no item: what one says does not depend on the other.
    pairs, y = np.array([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]]), np.ones(6, int)
    likelihood = Symmetric.of(sigma=0.5)
    whole = solved(prior(PerItem(None), Differences(pairs, 6)), likelihood, y)
    first = solved(prior(PerItem(None), Differences(pairs[:3], 6)), likelihood, y[:3])
    then = solved(
        prior(PerItem(None), Differences(pairs[3:], 6)), likelihood, y[3:], before=first.belief
    )
    total = first.log_evidence + then.log_evidence
    assert total == pytest.approx(whole.log_evidence, abs=1e-10)
    np.testing.assert_allclose(then.belief.potential, whole.belief.potential, atol=1e-9)


def test_a_later_answer_has_its_predictive_probability_as_evidence():
    design, likelihood = Differences([[0, 1], [1, 2], [0, 2]], 4), Symmetric.of(sigma=0.5)
    kernel = KERNELS["effects"]
    first = solved(prior(kernel, design), likelihood, np.array([1, 0, 1]))
    here = prior(kernel, Differences([[3, 0]], 4))
    later = solved(here, likelihood, np.array([1]), before=first.belief)
    rest, spread = first.belief.rests(here.residual)
    seen = here.P[3] - here.P[0]
    half = np.linalg.solve(np.triu(first.belief.factor).T, seen)
    mean = seen @ first.belief.mean + rest[3] - rest[0]
    sd = np.sqrt(half @ half + spread[3] + spread[0] + likelihood.noise**2)
    assert later.log_evidence == pytest.approx(norm.logcdf(mean / sd), abs=1e-10)


@pytest.mark.parametrize("degree", [3, 20])
def test_it_is_near_exact_ep_on_graphs_with_loops(degree):
    # Seen on eight problems of 100 to 300 items with 3 to 40 answers each: means within 0.04 to
    # 0.19 deviations of exact EP, deviations 0.89 to 1.17 times as large.
    rng = np.random.default_rng(0)
    kernel, n = PerItem(Gaussian(2.0), 0.3), 100
    features = rng.normal(size=(n, 3))
    X = np.column_stack([features, np.arange(n)])
    K = kernel(X)
    g = np.linalg.cholesky(K) @ rng.normal(size=n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(n * degree // 2)])
    gap = g[pairs[:, 0]] - g[pairs[:, 1]]
    y = (gap + np.sqrt(0.5) * rng.normal(size=len(gap)) > 0).astype(int)
    design, likelihood = Differences(pairs, n), Symmetric.of(sigma=0.5)
    here = InducingItems.on(kernel, X, basis_of(kernel, features), design)
    mean, variance = utilities(here, solved(here, likelihood, y, tol=1e-8))
    wanted, cov, _ = exact_moments(K, design, likelihood, y, 1e-8)
    sd = np.sqrt(np.diagonal(cov))
    assert np.max(np.abs(mean - wanted) / sd) < 0.2
    assert 0.85 < np.min(np.sqrt(variance) / sd) <= np.max(np.sqrt(variance) / sd) < 1.15
