"""Evidence and gradient of EP as sums over rows, against the engine."""

import numpy as np
import pytest

from ordinality.gp.criteria import InducingObjective
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.posterior.inducing import Basis
from ordinality.gp.stream import Belief, evidence, settle_by, slopes, visit
from ordinality.kernels import Gaussian, Linear, Matern

KERNELS = [Gaussian(1.3), 1.5 * Gaussian([0.9, 1.7]), Linear() + 0.4 * Matern(1.2)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sums_over_rows_are_the_engines_evidence_and_gradient(kernel, link, weighted):
    rng = np.random.default_rng(3)
    n = 90
    X, Z = rng.normal(size=(n, 2)), rng.normal(size=(12, 2))
    y = np.digitize(np.sin(X[:, 0]) + 0.4 * rng.normal(size=n), [-0.5, 0.5])
    weights = rng.choice([0.4, 1.0, 2.5], n) if weighted else np.ones(n)
    likelihood = Ordinal(np.array([-0.5, 0.5]), 0.5, link)
    problem = InducingObjective(X, y, weights, kernel, likelihood, "ep", tol=1e-12, Z=Z)
    wanted = problem.evaluate(problem.theta)
    sites = np.zeros((2, n))

    def visit_all(belief):
        return visit(belief, likelihood, X, y, weights, sites)

    start = Belief.none(Basis.of(kernel, Z))
    belief, done = settle_by(visit_all, start, tol=1e-11, max_visits=200)
    assert done.converged
    halves = [
        slopes(belief, likelihood, X[some], y[some], weights[some], sites[:, some])
        for some in (slice(0, 40), slice(40, n))
    ]
    halves[0].add(halves[1])
    value, gradient = evidence(belief, halves[0])
    assert value == pytest.approx(wanted.value, rel=1e-12)
    np.testing.assert_allclose(gradient, wanted.gradient, rtol=0, atol=1e-9)
