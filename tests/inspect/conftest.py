"""Rows that tests of effects share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def rows():
    """Rows of two features, and ranks of four levels."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(60, 2))
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=60), [-0.4, 0.2, 0.8])
