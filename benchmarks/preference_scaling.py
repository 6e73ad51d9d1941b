"""Cost of one evidence-and-gradient evaluation against the number of comparisons.

    python benchmarks/preference_scaling.py [--items 200] [--pairs 100,200,400,1000,4000]

The right half of figure 2 of Chu & Ghahramani (2005, ICML), for our engines. The kernel matrix
and the pull of the gradient back through it are included; every evaluation starts cold. Times
are the processor's, so that a busy machine disturbs them least.

- *m-form* and *n-form* are the two forms of `ordinality.gp.forms`; the one that is taken by
  default is marked.
- *pass* is the time spent in the likelihood, one visit of every comparison per iteration, which
  no method can avoid.
- *beyond* is the time of the n-form without the pass, over that of the smallest m: what the
  number of comparisons costs beyond reading them.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from ordinality.gp import forms
from ordinality.gp.arrays import workspace
from ordinality.gp.comparisons import Symmetric
from ordinality.gp.design import Differences
from ordinality.gp.evidence import ENGINES
from ordinality.gp.likelihoods import Jet
from ordinality.kernels import Gaussian

TOL = {"laplace": 1e-9, "ep": 1e-6}
NOISE = 0.3
spent = [0.0]


class Timed(Symmetric):
    """Adds up the time spent in it."""

    def point(self, *args) -> Jet:
        return _timed(super().point, *args)

    def log_expected(self, *args) -> Jet:
        return _timed(super().log_expected, *args)


def _timed(function, *args) -> Jet:
    began = time.process_time()
    jet = function(*args)
    spent[0] += time.process_time() - began
    return jet


def problem(n: int, m: int):
    """Items with five features, and random pairs of them judged with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1]
    left = rng.integers(n, size=m)
    pairs = np.column_stack([left, (left + rng.integers(1, n, size=m)) % n])
    gap = f[pairs[:, 0]] - f[pairs[:, 1]] + NOISE * np.sqrt(2.0) * rng.normal(size=m)
    return X, Differences(pairs, n), (gap > 0).astype(int)


def evaluation(n: int, m: int, engine: str):
    """A call that evaluates, and tells how many iterations it took."""
    X, design, y = problem(n, m)
    kernel, likelihood = Gaussian(np.full(5, 2.0)), Timed.of(sigma=NOISE)

    def call() -> int:
        K = kernel(X)
        a = ENGINES[engine](K, design, likelihood, y, tol=TOL[engine])
        kernel.pullback(X, a.d_kernel, K)
        return a.n_iter

    return call


def quickest(call, seconds: float = 1.5) -> tuple[float, float, int]:
    """Least time of a call, time in the likelihood during it, and iterations."""
    n_iter, best, end = call(), (np.inf, np.inf), time.process_time() + seconds
    while time.process_time() < end:
        spent[0], began = 0.0, time.process_time()
        call()
        best = min(best, (time.process_time() - began, spent[0]))
    return (*best, n_iter)


def measure(n: int, m: int, engine: str, base: float | None) -> tuple[str, float]:
    call, default, found = evaluation(n, m, engine), forms._TALL, {}
    for form, tall in (("m-form", np.inf), ("n-form", 0.0)):
        forms._TALL = tall
        if form == "n-form" or m <= 5 * n:  # the m-form grows with the cube of m
            found[form] = quickest(call)
    forms._TALL = default
    chosen = "n-form" if m > default * n else "m-form"
    shown = [
        f"{1e3 * found[form][0]:.2f}{'*' if form == chosen else ''}" if form in found else "-"
        for form in ("m-form", "n-form")
    ]
    total, reading, n_iter = found["n-form"]
    beyond = total - reading
    line = f"| {engine} | {m} | {n_iter} | {shown[0]} | {shown[1]} | {1e3 * reading:.2f} |"
    return f"{line} {beyond / (base or beyond):.2f} |", base or beyond


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--pairs", default="100,200,300,400,700,1000,2000,4000")
    args = parser.parse_args()
    print(f"{args.items} items; milliseconds, * the form taken by default\n")
    print("| engine | m | iterations | m-form | n-form | pass | beyond |")
    print("|---|---|---|---|---|---|---|")
    for engine in ("laplace", "ep"):
        base = None
        for m in map(int, args.pairs.split(",")):
            with workspace():
                line, base = measure(args.items, m, engine, base)
            print(line, flush=True)


if __name__ == "__main__":
    main()
