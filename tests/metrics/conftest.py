import numpy as np
import pytest


@pytest.fixture(scope="session")
def sample():
    """Function that draws true and predicted ranks that agree somewhat, and probabilities."""

    def draw(n=60, K=5, seed=0):
        rng = np.random.default_rng(seed)
        true = rng.integers(0, K, n)
        pred = np.clip(true + rng.integers(-2, 3, n), 0, K - 1)
        return true, pred, rng.dirichlet(np.ones(K), n)

    return draw
