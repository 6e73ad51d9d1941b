"""What the tests of the engines share: random problems, fine differences, exact evidences.

Fixtures that return functions: test modules are not importable from one another.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtr

from ordinality.gp.criteria import ENGINES, Objective, ObjectiveValue
from ordinality.gp.design import Direct
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.posterior.choose import prior_of
from ordinality.gp.site_loop import Approximation
from ordinality.kernels.base import Kernel
from ordinality.kernels.features import Linear
from ordinality.kernels.stationary import Gaussian, Matern

# So tight that what is left is rounding; Laplace's is a squared decrement.
TIGHT = {"laplace": 1e-18, "ep": 1e-12, "variational": 1e-12}
KERNELS = {
    "gaussian": Gaussian([0.8, 1.5]),
    "linear": Linear([1.2, 0.5]),
    "matern": Matern([1.0, 2.0], 1.5),
    "sum": 2.0 * Gaussian(1.3) + Linear(0.3),
    "product": 1.5 * Matern(1.5, 2.5) * Linear([0.5, 1.0]),
}


@pytest.fixture(scope="session", params=KERNELS.values(), ids=KERNELS)
def any_kernel(request: pytest.FixtureRequest) -> Kernel:
    """Kernels of every make over two features, one after another."""
    return request.param


@pytest.fixture(scope="session")
def draw_problem() -> Callable[..., Objective]:
    """Draw inputs, a function and its levels from the model itself."""
    return _draw_problem


def _draw_problem(
    seed: int,
    kernel: Kernel,
    *,
    n: int = 12,
    d: int = 2,
    thresholds: tuple[float, ...] = (-0.7, 0.2, 0.9),
    noise: float = 0.6,
    link: str = "probit",
    engine: str = "ep",
    **options,
) -> Objective:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    # The jitter is for the factor only: a linear kernel has rank d.
    f = np.linalg.cholesky(kernel(X) + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    error = rng.normal(size=n) if link == "probit" else rng.logistic(size=n)
    y = np.searchsorted(thresholds, f + noise * error)
    options = {"weights": np.ones(n), "tol": TIGHT[engine]} | options
    likelihood = Ordinal(np.array(thresholds), noise, link)
    return Objective(X, y, kernel=kernel, likelihood=likelihood, engine=engine, **options)


@pytest.fixture(scope="session")
def solve() -> Callable[..., Approximation]:
    """Run the engine of a problem on its own kernel matrix."""

    def run(problem: Objective, **options) -> Approximation:
        options = {"weights": problem.weights, "tol": problem.tol} | options
        prior = prior_of(Direct(), problem.kernel(problem.X))
        return ENGINES[problem.engine](prior, problem.likelihood, problem.y, **options)

    return run


@pytest.fixture(scope="session")
def assert_gradient_is_exact() -> Callable[..., None]:
    """Compare a problem's gradient with differences along a direction with all parameters in.

    One direction costs four evaluations however many parameters there are; an error in any of
    them shows, because no component of the direction is small.
    """

    def check(problem: Objective, step: float = 2e-3, rel: float = 1e-7) -> None:
        here = problem.evaluate(problem.theta)
        assert here.approximation.converged
        rng = np.random.default_rng(len(problem.theta))
        direction = rng.choice([-1.0, 1.0], len(problem.theta))
        direction *= rng.uniform(0.5, 1.0, len(problem.theta))
        numeric = _slope(problem, here, step * direction) / step
        scale = np.linalg.norm(here.gradient) * np.linalg.norm(direction)
        assert here.gradient @ direction == pytest.approx(numeric, abs=rel * scale)

    return check


def _slope(problem: Objective, here: ObjectiveValue, direction: np.ndarray) -> float:
    """Central difference of fourth order: truncation is near 1e-10 for steps of 2e-3."""

    def value(steps: int) -> float:
        theta = here.theta + steps * direction
        return problem.evaluate(theta, here.approximation.start).value

    return (8.0 * (value(1) - value(-1)) - (value(2) - value(-2))) / 12.0


@pytest.fixture(scope="session")
def exact_evidence() -> Callable[..., float]:
    """Log evidence of normal noise with nothing approximated, for half a dozen rows at most.

    With the noise integrated out the labels say that ``z ~ N(0, K + noise^2 I)`` lies in a
    box. Writing ``z = L e`` makes the sides intervals of e_i given those before, the last of
    which has a closed form; Gauss-Legendre nodes serve the others.
    """

    def integrate(problem: Objective, nodes: int = 24) -> float:
        likelihood = problem.likelihood
        edges = np.concatenate([[-np.inf], likelihood.thresholds, [np.inf]])
        C = problem.kernel(problem.X) + likelihood.noise**2 * np.eye(len(problem.y))
        return np.log(_box(C, edges[problem.y], edges[problem.y + 1], nodes))

    return integrate


def _box(C: np.ndarray, lower: np.ndarray, upper: np.ndarray, nodes: int) -> float:
    x, w = np.polynomial.legendre.leggauss(nodes)
    narrow_first = np.argsort(upper - lower, kind="stable")
    C, lower, upper = (
        C[np.ix_(narrow_first, narrow_first)],
        lower[narrow_first],
        upper[narrow_first],
    )
    L = np.linalg.cholesky(C)
    e, weight = np.empty((1, 0)), np.ones(1)
    for i, row in enumerate(L):
        shift = e @ row[:i]
        a, b = ((np.clip((side - shift) / row[i], -9.0, 9.0)) for side in (lower[i], upper[i]))
        if i == len(L) - 1:
            return float(weight @ (ndtr(b) - ndtr(a)))
        half = 0.5 * (b - a)[:, None]
        new = a[:, None] + half * (1.0 + x)
        weight = (
            weight[:, None] * half * w * np.exp(-0.5 * new**2) / np.sqrt(2 * np.pi)
        ).ravel()
        e = np.column_stack([np.repeat(e, nodes, axis=0), new.ravel()])
    raise AssertionError("no rows")
