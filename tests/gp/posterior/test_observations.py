"""The Gaussian of a prior and sites, against plain inverses where those are safe."""

import mpmath
import numpy as np
import pytest

from ordinality.gp.posterior import observations
from ordinality.gp.posterior.observations import Predictor, factorise
from ordinality.kernels import Gaussian

N = 70  # more than two blocks of the loop that writes the gradient


@pytest.fixture
def prior():
    """A covariance matrix with sites; plain inverses of it keep ten digits."""
    rng = np.random.default_rng(0)
    M = rng.normal(size=(N, N))
    K = M @ M.T / N + 0.1 * np.eye(N)
    return K, rng.uniform(0.1, 30.0, N), rng.normal(size=N) * 5.0


def test_solutions_and_determinant_are_those_of_the_written_out_matrix(prior):
    K, tau, x = prior
    sq = np.sqrt(tau)
    B = np.eye(N) + sq[:, None] * K * sq
    factor = factorise(K, tau)
    assert factor.half_log_det == pytest.approx(0.5 * np.linalg.slogdet(B)[1], rel=1e-12)
    plain, scaled = np.linalg.solve(B, x), np.linalg.solve(np.eye(N) + tau[:, None] * K, x)
    np.testing.assert_allclose(factor.solve_plain(x), plain, rtol=0, atol=1e-11)
    np.testing.assert_allclose(factor.solve(x), scaled, rtol=0, atol=1e-11)
    inverted = factor.inverted()
    np.testing.assert_allclose(inverted.solve_plain(x), plain, rtol=0, atol=1e-11)
    np.testing.assert_allclose(inverted.solve(x), scaled, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        inverted.inverse_diagonal(), np.diag(np.linalg.inv(B)), rtol=0, atol=1e-12
    )


def test_variances_are_the_diagonal_of_the_posterior_covariance(prior):
    K, tau, _ = prior
    cov = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    factor = factorise(K, tau)
    np.testing.assert_allclose(factor.covariance(K), cov, rtol=0, atol=1e-10)
    factor = factor.inverted()
    var = factor.variances(K, factor.inverse_diagonal())
    np.testing.assert_allclose(var, np.diag(cov), rtol=1e-9)


def test_evidence_gradient_is_full_and_symmetric(prior):
    K, tau, alpha = prior
    v = np.linspace(-1.0, 1.0, N)
    G = factorise(K, tau).inverted().evidence_gradient(alpha, v)
    expected = np.outer(alpha, alpha) - np.linalg.inv(K + np.diag(1 / tau))
    expected += np.outer(v, alpha) + np.outer(alpha, v)
    np.testing.assert_allclose(G, 0.5 * expected, rtol=0, atol=1e-11)


def test_factor_lives_in_the_memory_given(prior):
    K, tau, x = prior
    memory = np.empty((N, N), order="F")
    factor = factorise(K, tau, memory)
    np.testing.assert_array_equal(factor.solve(x), factorise(K, tau).solve(x))
    memory[:] = np.nan
    assert np.all(np.isnan(factor.solve(x)))


def test_sites_from_vague_to_sharp_keep_their_digits():
    # Length scale 3 over a unit interval: K has condition 1e9 and its inverse few digits.
    K = Gaussian(3.0)(np.linspace(0, 1, 5)[:, None])
    tau = np.array([1e-14, 1e-9, 1e-3, 1e3, 1e8])
    nu = np.array([1e-14, -1e-9, 1e-3, -3e3, 2e8])
    with mpmath.workdps(60):
        inverse = mpmath.inverse(mpmath.matrix(K.tolist()))
        cov = mpmath.inverse(inverse + mpmath.diag(tau.tolist()))
        mean = cov * mpmath.matrix(nu.tolist())
        exact_alpha, exact_mean = (np.array(v.tolist(), float) for v in (inverse * mean, mean))
        exact_var = np.array([cov[i, i] for i in range(5)], float)
    factor = factorise(K, tau)
    alpha = factor.solve(nu)
    np.testing.assert_allclose(alpha, exact_alpha[:, 0], rtol=1e-12)
    np.testing.assert_allclose(K @ alpha, exact_mean[:, 0], rtol=1e-12)
    factor = factor.inverted()
    var = factor.variances(K, factor.inverse_diagonal())
    np.testing.assert_allclose(var, exact_var, rtol=1e-9)


@pytest.mark.parametrize("tau", [0.0, 1e-300, 1e-12, 1e-9, 1e-7, 1.0, 1e12])
def test_a_single_site_of_any_precision_gives_the_textbook_variance(tau):
    K = np.array([[2.0]])
    factor = factorise(K, np.array([tau])).inverted()
    var = factor.variances(K, factor.inverse_diagonal())
    assert var[0] == pytest.approx(2.0 / (1.0 + 2.0 * tau), rel=2e-9)


def test_a_site_of_no_precision_is_predicted_from_the_others(prior):
    K, tau, nu = prior
    tau, nu = np.append(0.0, tau[1:]), np.append(0.0, nu[1:])
    mean, var = Predictor.from_sites(K[1:, 1:], tau[1:], nu[1:]).latent(K[:1, 1:], K[0, :1])
    factor = factorise(K, tau)
    assert (K @ factor.solve(nu))[0] == pytest.approx(mean[0], rel=1e-10)
    factor = factor.inverted()
    found = factor.variances(K, factor.inverse_diagonal())
    assert found[0] == pytest.approx(var[0], rel=1e-10)


def test_predictions_are_the_conditional_gaussian(prior):
    K, tau, nu = prior
    old, new = slice(0, 50), slice(50, N)
    mean, var = Predictor.from_sites(K[old, old], tau[old], nu[old]).latent(
        K[new, old], np.diag(K)[new]
    )
    gain = np.linalg.solve(K[old, old] + np.diag(1 / tau[old]), K[old, new]).T
    np.testing.assert_allclose(mean, gain @ (nu[old] / tau[old]), rtol=0, atol=1e-10)
    cov = K[new, new] - gain @ K[old, new]
    np.testing.assert_allclose(var, np.diag(cov), rtol=1e-9)


def test_repeated_rows_share_a_posterior_and_two_sites_count_as_one():
    X = np.array([[0.0], [1.0], [1.0]])
    tau, nu = np.array([2.0, 3.0, 4.0]), np.array([1.0, -1.0, 2.0])
    kernel = Gaussian(0.8)
    merged = Predictor.from_sites(kernel(X[:2]), np.array([2.0, 7.0]), np.array([1.0, 1.0]))
    apart = Predictor.from_sites(kernel(X), tau, nu)
    X_new = np.array([[-0.5], [0.3], [1.0], [40.0]])
    for ours, theirs in zip(
        apart.latent(kernel(X_new, X), kernel.diag(X_new)),
        merged.latent(kernel(X_new, X[:2]), kernel.diag(X_new)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14)


def test_predictions_at_the_training_inputs_are_the_posterior_there(prior):
    K, tau, nu = prior
    mean, var = Predictor.from_sites(K, tau, nu).latent(K, np.diag(K))
    cov = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    np.testing.assert_allclose(mean, cov @ nu, rtol=0, atol=1e-9)
    np.testing.assert_allclose(var, np.diag(cov), rtol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_matrix_that_is_not_finite_is_refused(bad):
    K = np.eye(3)
    K[1, 1] = bad
    with pytest.raises(FloatingPointError, match="kernel matrix.*not finite"):
        factorise(K, np.ones(3))


def test_what_is_above_the_diagonal_of_the_kernel_matrix_is_not_read(prior):
    K, tau, x = prior
    expected = factorise(K, tau).solve(x)
    K[np.triu_indices(N, 1)] = np.nan
    np.testing.assert_array_equal(factorise(K, tau).solve(x), expected)
    K[0, 0] = 1e40  # leaves no digits for the identity
    K[1, :2] = 1e40
    with pytest.raises(FloatingPointError, match="times the squared noise"):
        factorise(K, tau)


@pytest.mark.parametrize("n", [1, 7, 100, 101, 333, 575, 576])
def test_a_triangle_is_inverted_by_halves_or_whole(n):
    rng = np.random.default_rng(n)
    upper = np.asfortranarray(np.triu(rng.normal(size=(n, n)) / np.sqrt(n), 1) + 2 * np.eye(n))
    upper += np.tril(np.full((n, n), 7.0), -1)  # what is below the diagonal must not matter
    found = np.triu(observations._inverse(upper.copy("F")))
    np.testing.assert_allclose(np.triu(upper) @ found, np.eye(n), atol=1e-12)
