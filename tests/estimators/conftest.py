"""What tests of preferences share: items with known utilities, and answers about them.

Fixtures that return classes: test modules are not importable from one another.
"""

import numpy as np
import pytest

N, M = 25, 160


class Study:
    """Items, their true utilities, and what judges with noise said of them."""

    def __init__(self, seed=0, noise=0.3, own=0.3):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(N, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 2.0]
        Z = (self.X - self.X.mean(0)) / self.X.std(0)
        self.f = np.sin(1.5 * Z[:, 0]) + 0.7 * Z[:, 1] + own * rng.normal(size=N)
        self.pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(2 * M)])
        felt = self.f[self.pairs] + noise * rng.normal(size=(2 * M, 2))
        self.gap = felt[:, 0] - felt[:, 1]
        self.answers = np.where(self.gap > 0, 1, -1)
        self.tied = np.where(np.abs(self.gap) < 0.5, 0, self.answers)
        self.graded = np.where(np.abs(self.gap) > 1.2, 2 * self.answers, self.tied)
        self.stars = np.digitize(self.f + noise * rng.normal(size=N), [-0.8, 0.0, 0.8]) + 1


@pytest.fixture(scope="session")
def draw_study():
    """The class, to draw other studies."""
    return Study


@pytest.fixture(scope="module")
def study():
    """One of them."""
    return Study()
