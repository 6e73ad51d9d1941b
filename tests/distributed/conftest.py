"""A client of the cluster, and rows of a smooth function."""

from importlib.util import find_spec

import numpy as np
import pytest

from ordinality.gp.criteria import InducingObjective
from ordinality.gp.likelihoods import Ordinal
from ordinality.kernels import Gaussian

# Without Dask there is nothing to test here.
collect_ignore_glob = [] if find_spec("distributed") else ["test_*.py"]


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as made:
        yield made


@pytest.fixture
def here():
    """Dask in this process, one task after another."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


class Problem:
    """Rows, parameters, and the evidence of these in one process."""

    kernel, thresholds, noise = Gaussian([1.2, 2.0, 1.6]), [-0.5, 0.4], 0.4

    def __init__(self, n=3000, points=40):
        rng = np.random.default_rng(5)
        self.X = rng.normal(size=(n, 3))
        f = np.sin(2 * self.X[:, 0]) + 0.5 * self.X[:, 1]
        self.y = np.digitize(f + self.noise * rng.normal(size=n), self.thresholds)
        self.Z = self.X[:points]
        likelihood = Ordinal(np.array(self.thresholds), self.noise)
        objective = InducingObjective(
            self.X, self.y, np.ones(n), self.kernel, likelihood, "ep", tol=1e-12, Z=self.Z
        )
        self.found = objective.evaluate(objective.theta)

    @property
    def parameters(self):
        return self.kernel, self.thresholds, self.noise, self.Z


@pytest.fixture(scope="session")
def problem():
    return Problem()
