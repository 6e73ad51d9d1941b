"""Latent values at new inputs against the joint Gaussian written out."""

import numpy as np
import pytest

from ordinality.gp.design import Differences
from ordinality.gp.ep import ep
from ordinality.gp.likelihoods import Symmetric
from ordinality.gp.posterior import choose
from ordinality.gp.predict import LatentPredictor
from ordinality.kernels import Gaussian

N, NEW = 8, 5
KERNEL = 1.5 * Gaussian(1.2)


@pytest.fixture(params=[np.inf, 0.0], ids=["m-form", "n-form"])
def case(request, monkeypatch):
    """A predictor, prior covariances, and the moments of new values by plain inverses."""
    monkeypatch.setattr(choose, "_TALL", request.param)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + NEW, 2))
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(14)])
    K, design = KERNEL(X), Differences(pairs, N)
    old, new = slice(0, N), slice(N, None)
    a = ep(K[old, old], design, Symmetric.of(sigma=0.5), rng.integers(2, size=14), tol=1e-12)
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
