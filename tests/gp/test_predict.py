"""Latent values at new inputs against the joint Gaussian written out."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ordinality.gp.design import Differences
from ordinality.gp.ep import ep
from ordinality.gp.likelihoods import Symmetric
from ordinality.gp.posterior import choose
from ordinality.gp.predict import LatentPredictor, choice_probabilities
from ordinality.kernels import Gaussian

N, NEW = 8, 5
KERNEL = 1.5 * Gaussian(1.2)


@pytest.fixture(params=[np.inf, 0.0], ids=["observations", "whitened"])
def case(request, monkeypatch):
    """A predictor, prior covariances, and the moments of new values by plain inverses."""
    monkeypatch.setattr(choose, "_TALL", request.param)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + NEW, 2))
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(14)])
    K, design = KERNEL(X), Differences(pairs, N)
    old, new = slice(0, N), slice(N, None)
    prior = choose.prior_of(design, K[old, old])
    a = ep(prior, Symmetric.of(sigma=0.5), rng.integers(2, size=14), tol=1e-12)
    A = design.see(np.eye(N))
    seen = K[:, old] @ A.T
    gain = seen @ np.linalg.inv(A @ K[old, old] @ A.T + np.diag(1 / a.tau))
    mean, cov = (gain @ (a.nu / a.tau))[new], (K - gain @ seen.T)[new, new]
    predictor = LatentPredictor.of(design, np.ascontiguousarray(K[old, old]), a)
    return predictor, np.ascontiguousarray(K[new, old]), K[new, new], mean, cov


def test_moments_are_those_of_the_joint_gaussian(case):
    predictor, cross, prior, mean, cov = case
    np.testing.assert_allclose(predictor.mean(cross), mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(predictor.covariance(cross, prior), cov, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        predictor.variance(cross, np.diag(prior)), np.diag(cov), rtol=0, atol=1e-9
    )


def test_differences_are_those_of_the_joint_gaussian(case):
    predictor, cross, prior, mean, cov = case
    place = np.array([[0, 1], [4, 2], [3, 3]])
    D = Differences(place, NEW)
    found = predictor.differences(cross, place, D.variances(prior))
    np.testing.assert_allclose(found[0], D.see(mean), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[1], D.variances(cov), rtol=0, atol=1e-9)
    assert found[1][2] == 0.0


# Which of several uncertain utilities is perceived as the largest


LINKS = ["probit", "logit"]


def drawn(L, rows=6, seed=0, spread=1.0):
    """Means and covariances, some of them nearly singular."""
    rng = np.random.default_rng([seed, L])
    roots = spread * rng.normal(size=(rows, L, L)) * np.linspace(0.01, 1.0, L)
    return rng.normal(size=(rows, L)), roots @ roots.transpose(0, 2, 1) / np.sqrt(L)


@pytest.mark.parametrize("link", LINKS)
def test_of_two_labels_it_is_the_probability_of_the_pair(link):
    mean, covariance = drawn(2, rows=20)
    noise = Symmetric.of(sigma=0.4, link=link)
    variance = covariance[:, 0, 0] + covariance[:, 1, 1] - 2.0 * covariance[:, 0, 1]
    expected = noise.proba(mean[:, 0] - mean[:, 1], variance)[:, 1]
    tolerance = 1e-12 if link == "probit" else 1e-3
    np.testing.assert_allclose(
        choice_probabilities(mean, covariance, noise)[:, 0], expected, rtol=0, atol=tolerance
    )


def test_of_three_labels_it_is_a_quarter_plane():
    # b and c both below a: a normal probability of two dimensions, known to eight digits.
    mean, covariance = drawn(3, rows=12)
    sigma = 0.5
    found = choice_probabilities(mean, covariance, Symmetric.of(sigma=sigma))
    A = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    for m, C, p in zip(mean, covariance, found, strict=True):
        perceived = A @ (C + sigma**2 * np.eye(3)) @ A.T
        exact = multivariate_normal(A @ m, perceived).cdf(np.zeros(2))
        assert p[0] == pytest.approx(exact, abs=2e-4)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("L", [4, 10])
def test_it_is_the_share_of_draws_in_which_a_label_is_perceived_best(L, link):
    mean, covariance = drawn(L)
    noise = Symmetric.of(sigma=0.3, link=link)
    rng = np.random.default_rng(1)
    roots = np.linalg.cholesky(covariance + 1e-12 * np.eye(L))
    draws = 200_000
    for m, root, p in zip(
        mean, roots, choice_probabilities(mean, covariance, noise), strict=True
    ):
        f = m + rng.normal(size=(draws, L)) @ root.T
        own = rng.normal(size=f.shape) * 0.3 if link == "probit" else rng.gumbel(size=f.shape)
        perceived = f + (own if link == "probit" else noise.noise * own)
        share = np.bincount(np.argmax(perceived, axis=1), minlength=L) / draws
        # Three standard errors of the draws, and what the average over points is off by.
        tolerance = 0.0034 + (0.001 if link == "probit" else 0.005)
        np.testing.assert_allclose(p, share, rtol=0, atol=tolerance)


@pytest.mark.parametrize("L", [2, 3, 7])
def test_labels_of_which_nothing_is_known_are_equally_probable(L):
    covariance = np.tile(np.eye(L), (2, 1, 1))
    covariance[1] += 5.0  # what they share says nothing about their order
    found = choice_probabilities(np.full((2, L), 3.0), covariance, Symmetric.of(sigma=0.1))
    np.testing.assert_allclose(found, 1.0 / L, rtol=0, atol=1e-12)


def test_a_label_that_is_surely_best_is():
    mean = np.array([[0.0, 50.0, 1.0, -50.0]])
    found = choice_probabilities(mean, 0.01 * np.eye(4)[None], Symmetric.of(sigma=0.1))
    np.testing.assert_allclose(found, [[0.0, 1.0, 0.0, 0.0]], rtol=0, atol=1e-12)


def test_the_order_of_labels_hardly_matters():
    mean, covariance = drawn(5)
    order = np.array([3, 1, 4, 0, 2])
    noise = Symmetric.of(sigma=0.3)
    found = choice_probabilities(mean, covariance, noise)[:, order]
    moved = choice_probabilities(mean[:, order], covariance[:, order][:, :, order], noise)
    np.testing.assert_allclose(moved, found, rtol=0, atol=1e-3)


def test_a_covariance_that_is_rounding_alone_still_gives_probabilities():
    # What is left of a prior of size one once 1e9 copies of each answer explained it: rounding
    # of either sign, far above the noise.
    rng = np.random.default_rng(0)
    rounding = 1e-9 * rng.normal(size=(4, 3, 3))
    covariance = rounding + np.swapaxes(rounding, 1, 2)
    covariance[3] = np.eye(3)
    mean = np.array([[1.0, 0.0, -1.0], [0.0, 2.0, 1.0], [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    proba = choice_probabilities(mean, covariance, Symmetric.of(sigma=1e-6))
    np.testing.assert_allclose(proba[:3], np.eye(3), atol=1e-12)
    sound = choice_probabilities(mean[3:], covariance[3:], Symmetric.of(sigma=1e-6))
    np.testing.assert_array_equal(proba[3:], sound)  # others are left as they are
