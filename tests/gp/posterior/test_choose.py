"""The forms of the posterior against plain inverses and against one another."""

import numpy as np
import pytest

from ordinality.gp.design import Combinations, Differences, Direct
from ordinality.gp.posterior import choose, precision
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.posterior.observations import Observations
from ordinality.gp.posterior.precision import Precision
from ordinality.gp.posterior.whitened import Whitened
from ordinality.kernels import Gaussian

N, M = 150, 260  # a factor is divided by halves from 120 rows on

each_form = pytest.mark.parametrize("form", [Observations, Whitened, Precision])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(M - 20)])
    rated = np.column_stack([rng.integers(N, size=20), np.zeros(20, dtype=int)])
    value = np.repeat([[1.0, -1.0], [1.0, 0.0]], [M - 20, 20], axis=0)
    rows = Combinations(np.concatenate([pairs, rated]), value, N)
    K = 2.0 * Gaussian(0.9)(X) + 0.3 * np.eye(N)
    return rows, K, rng.uniform(0.01, 4.0, M), rng.normal(size=M)


@pytest.fixture(scope="module")
def written_out(problem):
    """A, the posterior covariance of the latent values, and G, by plain inverses."""
    rows, K, tau, _ = problem
    A = rows.see(np.eye(N))
    cov = np.linalg.inv(np.linalg.inv(K) + A.T @ (tau[:, None] * A))
    return A, cov, A.T @ np.linalg.inv(A @ K @ A.T + np.diag(1 / tau)) @ A


@each_form
def test_moments_are_those_of_the_written_out_posterior(problem, written_out, form):
    rows, K, tau, nu = problem
    A, cov, _ = written_out
    prior = form.of(rows, K)
    expected = A @ cov @ A.T @ nu
    for ready in (False, True):  # one after the other: they share their memory
        posterior = prior.given(tau).inverted() if ready else prior.given(tau)
        mean, alpha = posterior.moments(nu)
        np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-11)
        np.testing.assert_allclose(alpha, nu - tau * expected, rtol=0, atol=1e-11)
    beta, var = posterior.marginals()
    np.testing.assert_allclose(var, np.diag(A @ cov @ A.T), rtol=1e-10)
    np.testing.assert_allclose(beta, 1 - tau * var, rtol=0, atol=1e-11)
    np.testing.assert_allclose(prior @ nu, A @ K @ A.T @ nu, rtol=0, atol=1e-11)
    np.testing.assert_allclose(prior.diagonal, np.diag(A @ K @ A.T), rtol=1e-12)


@each_form
def test_determinant_and_gradient_are_those_of_the_written_out_posterior(
    problem, written_out, form
):
    rows, K, tau, nu = problem
    A, cov, G = written_out
    posterior = form.of(rows, K).given(tau)
    half_log_det = 0.5 * (np.linalg.slogdet(K)[1] - np.linalg.slogdet(cov)[1])
    assert posterior.half_log_det == pytest.approx(half_log_det, abs=1e-10)
    alpha, v = A.T @ nu, A.T @ tau
    expected = np.outer(alpha, alpha) + np.outer(alpha, v) + np.outer(v, alpha) - G
    found = posterior.inverted().evidence_gradient(nu, tau)
    np.testing.assert_allclose(found, 0.5 * expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-13)


@each_form
def test_a_view_of_the_latent_vector_is_what_a_block_sees(problem, written_out, form):
    rows, K, tau, nu = problem
    A, cov, _ = written_out
    prior, block = form.of(rows, K), np.array([3, 250, 7])
    mean, covariance = prior.given(tau).latent(nu)
    view = prior.view(block)
    np.testing.assert_allclose(view(mean), A[block] @ cov @ A.T @ nu, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        view(view(covariance).T), A[block] @ cov @ A[block].T, rtol=0, atol=1e-11
    )


def test_a_singular_prior_is_whitened_without_jitter(problem):
    rows, _, tau, nu = problem
    X = np.linspace(0, 1, N)[:, None]
    K = 2.0 * Gaussian(0.5)(X)  # of numerical rank ten or so
    K[:, 9], K[9, :] = K[:, 4], K[4, :]  # and an item twice
    K[9, 9] = K[4, 4]
    prior = Whitened.of(rows, K)
    ordered = K[np.ix_(prior.order, prior.order)]
    U = np.triu(prior.upper)
    np.testing.assert_allclose(U @ U.T, ordered, rtol=0, atol=1e-12)
    assert np.linalg.matrix_rank(K) < 20
    one, other = (form.of(rows, K).given(tau).inverted() for form in (Observations, Whitened))
    assert one.half_log_det == pytest.approx(other.half_log_det, abs=1e-9)
    for ours, theirs in zip(one.moments(nu), other.moments(nu), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_the_form_is_chosen_by_size():
    far, near = np.eye(4), np.ones((4, 4))  # from singular
    taken = {
        (name, m): type(prior_of(Differences([[0, 1]] * m, 4), K))
        for name, K in (("far", far), ("near", near))
        for m in (4, 5, 6, 7)
    }
    assert [taken["far", m] for m in (4, 5)] == [Observations, Precision]
    assert [taken["near", m] for m in (6, 7)] == [Observations, Whitened]
    assert isinstance(prior_of(Direct(), far), Observations)


def test_a_prior_is_inverted_only_where_that_leaves_digits():
    many = Differences([[0, 1], [1, 2]] * 4, 3)
    ones = np.ones((3, 3))
    assert isinstance(prior_of(many, ones + np.eye(3), precision=1e4), Precision)
    assert isinstance(prior_of(many, ones + np.eye(3), precision=1e6), Whitened)  # sharp sites
    assert isinstance(prior_of(many, ones + 1e-3 * np.eye(3)), Precision)
    assert isinstance(prior_of(many, ones + 1e-9 * np.eye(3)), Whitened)  # nearly singular
    assert isinstance(prior_of(many, ones), Whitened)


@pytest.mark.parametrize("share", [0.0, np.inf], ids=["full", "by rows"])
def test_both_ways_to_the_gradient_lead_to_the_same(monkeypatch, problem, written_out, share):
    rows, K, tau, _ = problem
    monkeypatch.setattr(precision, "_FULL", share)
    zero = np.zeros(M)
    found = Precision.of(rows, K).given(tau).inverted().evidence_gradient(zero, zero)
    np.testing.assert_allclose(-2.0 * found, written_out[2], rtol=0, atol=1e-10)


def test_the_gradient_keeps_its_digits_where_there_is_little_noise(problem):
    rows, K, tau, _ = problem
    zero, tau = np.zeros(M), 1e4 * tau
    one, other = (
        form.of(rows, K).given(tau).inverted().evidence_gradient(zero, zero)
        for form in (Observations, Precision)
    )
    # The difference Lambda - Lambda Cov Lambda would be off by 3e-8 of it here.
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10 * np.abs(one).max())


def test_a_kernel_that_is_not_finite_is_refused_in_either_form(monkeypatch):
    K, design = np.full((3, 3), np.nan), Differences([[0, 1], [1, 2]], 3)
    for tall in (0.0, 9.0):
        monkeypatch.setattr(choose, "_TALL", tall)
        with pytest.raises(FloatingPointError, match="not finite; scale the features"):
            prior_of(design, K).given(np.ones(2))


def test_noise_with_no_digits_left_is_refused():
    K, design = 1e200 * np.eye(3), Differences([[0, 1], [1, 2]] * 3, 3)
    refused = pytest.raises(FloatingPointError, match="raise the noise or lower")
    with np.errstate(over="ignore"), refused:
        prior_of(design, K).given(np.full(6, 1e200))
