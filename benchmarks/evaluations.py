"""Cost of one criterion-and-gradient evaluation, in units of `dpotrf` + `dpotri` of the same n.

    python benchmarks/evaluations.py [--threads 1]

The kernel matrix and the pull of the gradient back through it are included. Cold starts from
nothing; warm from the sites of a nearby theta (3 % shorter length scale, 5 % less noise,
thresholds 2 % apart), as in an optimiser's step; least squares iterates nothing, so there the
two are the same. Memory is the peak of NumPy's allocations during one evaluation in n x n
arrays, the kernel matrix included. Units and evaluations alternate, and the quickest of each is
taken, so that a busy machine disturbs the ratio least.

Threads are held as in a fit: one below 800 rows however many there are, for evaluations and for
the unit beside them.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import threadpool_info, threadpool_limits

from ordinality.estimators.threads import one_pool
from ordinality.gp.criteria import Objective, ObjectiveValue
from ordinality.gp.least_squares import LeastSquares, Score
from ordinality.gp.likelihoods import Ordinal
from ordinality.kernels.base import workspace
from ordinality.kernels.stationary import Gaussian

# n < 500, n >= 500: cold, warm
BARS = {
    "laplace": ((8, 5), (4, 3)),
    "ep": ((13, 10), (7, 5)),
    "least-squares": ((3, 3), (2.1, 2.1)),
}


def problem(n: int, engine: str) -> Objective | LeastSquares:
    """A random function of ten features, five equally frequent levels, noise 0.4."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    kernel = Gaussian(np.sqrt(10.0))
    root = np.linalg.cholesky(kernel(X) + 1e-8 * np.eye(n))
    h = root @ rng.normal(size=n) + 0.4 * rng.normal(size=n)
    thresholds = np.quantile(h, [0.2, 0.4, 0.6, 0.8])
    y = np.searchsorted(thresholds, h)
    if engine == "least-squares":
        link = Ordinal(np.arange(4) + 0.5, 0.5)
        return LeastSquares(X, y, np.ones(n), 1.3 * kernel, 0.4, link, centre=2.0)
    tol = 1e-9 if engine == "laplace" else 1e-6
    return Objective(X, y, np.ones(n), kernel, Ordinal(thresholds, 0.4), engine=engine, tol=tol)


def unit(n: int) -> Callable[[], None]:
    """Factorise and invert a positive definite matrix."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, n))
    A = np.asfortranarray(A @ A.T / n + np.eye(n))
    memory = np.empty_like(A)

    def call() -> None:
        memory[:] = A
        factor, _ = lapack.dpotrf(memory, lower=1, clean=0, overwrite_a=1)
        lapack.dpotri(factor, lower=1, overwrite_c=1)

    return call


def quickest(calls: list[Callable[[], object]], seconds: float = 2.0) -> list[float]:
    """Least time of each call, taken in turns for about ``seconds``."""
    least = [np.inf] * len(calls)
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < end:
        rounds += 1
        for i, call in enumerate(calls):
            began = time.perf_counter()
            call()
            least[i] = min(least[i], time.perf_counter() - began)
    return least


def measure(n: int, engine: str) -> str:
    p = problem(n, engine)
    base = p.evaluate(p.theta)
    near = p.theta.copy()
    near[-6:] += [-0.03, -0.05, 0.01, 0.02, 0.02, 0.02]
    start = base.start
    one, cold, warm = quickest(
        [unit(n), lambda: p.evaluate(base.theta), lambda: p.evaluate(near, start)]
    )
    tracemalloc.start()
    with workspace():  # a new one, so that its memory counts
        p.evaluate(near, start)
    peak = tracemalloc.get_traced_memory()[1] / (8.0 * n * n)
    tracemalloc.stop()
    bars = BARS.get(engine, ((np.nan, np.nan),) * 2)[n >= 500]
    return (
        f"| {n} | {_threads()} | {engine} | {one * 1e3:.2f} | "
        f"{cold / one:.2f} {_iterations(base)}| "
        f"{bars[0]} | {warm / one:.2f} {_iterations(p.evaluate(near, start))}| {bars[1]} | "
        f"{peak:.1f} |"
    )


def _iterations(evaluation: ObjectiveValue | Score) -> str:
    return "" if isinstance(evaluation, Score) else f"({evaluation.approximation.n_iter}) "


def _threads() -> int:
    """Threads of the BLAS that factorises: the most that any of them has."""
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--sizes", default="200,500,1000,2000")
    parser.add_argument("--engines", default="laplace,ep,variational,least-squares")
    args = parser.parse_args()
    print(
        "| n | threads | engine | unit ms | cold (iterations) | bar | warm | bar | peak n x n |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for n in map(int, args.sizes.split(",")):
        for engine in args.engines.split(","):
            with threadpool_limits(args.threads, user_api="blas"), one_pool(n), workspace():
                print(measure(n, engine), flush=True)


if __name__ == "__main__":
    main()
