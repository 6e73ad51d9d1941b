"""What the tests of boosting share: small problems."""

import numpy as np
import pytest


def ordinal(n=200, d=3, n_levels=4, seed=0, noise=0.5):
    """Rows, and ranks cut at equal frequencies from a nonlinear function of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d) + np.sin(2 * X[:, 0]) + noise * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(f, np.arange(1, n_levels) / n_levels), f)


@pytest.fixture(scope="session")
def make_ordinal():
    return ordinal
