"""Cost of one evidence-and-gradient evaluation against the number of comparisons.

    python benchmarks/preference_scaling.py [--items 200] [--pairs 100,200,400,1000,4000]

The right half of figure 2 of Chu & Ghahramani (2005, ICML), for our engines and for our
constraint classification, drawn to results/preference_scaling.svg. The kernel is the default
of `PreferenceGP`, five features and an effect of each item; its matrix and the pull of the
gradient back through it are included, and every evaluation starts cold. For the support vector
machine it is one whole fit. Times are the processor's, the least of many, so that a busy
machine disturbs them little.

- *m-form*, *n-form* and *precision* are forms of `ordinality.gp.posterior`, the last where the
  prior can be inverted; the one that is taken by default is marked.
- *pass* is the time spent in the likelihood, one visit of every comparison per iteration, which
  no method can avoid.
- *beyond* is the time without the pass, over that of the smallest m: what the number of
  comparisons costs beyond reading them. It is given for the two forms of n x n matrices, and
  for the one that is taken.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from ordinality import PreferenceSVM
from ordinality.gp.criteria import ENGINES
from ordinality.gp.design import Differences
from ordinality.gp.likelihoods import Jet, Symmetric
from ordinality.gp.posterior import choose, observations, precision, whitened
from ordinality.kernels import Gaussian
from ordinality.kernels.base import workspace
from ordinality.kernels.items import PerItem

PLOT = Path(__file__).parent / "results" / "preference_scaling.svg"
TOL = {"laplace": 1e-9, "ep": 1e-6}
TITLES = {"laplace": "Laplace", "ep": "EP"}
NOISE = 0.3
PRICES = (1.0, 10.0)
# Comparisons for each item, and digits of the prior, from which a form is taken.
FORMS = {
    "m-form": (np.inf, 0.0),
    "n-form": (0.0, np.inf),
    "precision": (0.0, precision._CONDITION),
}
NAMES = dict(
    zip((observations.Observations, whitened.Whitened, precision.Precision), FORMS, strict=True)
)
DEFAULT = (choose._TALL, precision._CONDITION)
spent = [0.0]


class Cost(NamedTuple):
    total: float
    reading: float  # the part of it spent in the likelihood
    n_iter: int

    @property
    def beyond(self) -> float:
        return self.total - self.reading


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


def problem(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Items with five features, and random pairs judged with noise, the preferred one first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1]
    left = rng.integers(n, size=m)
    pairs = np.column_stack([left, (left + rng.integers(1, n, size=m)) % n])
    gap = f[pairs[:, 0]] - f[pairs[:, 1]] + NOISE * np.sqrt(2.0) * rng.normal(size=m)
    return X, np.where(gap[:, None] > 0, pairs, pairs[:, ::-1])


def evaluation(n: int, m: int, engine: str) -> tuple[Callable[[], int], str]:
    """A call that evaluates and tells how many iterations it took; the form it takes."""
    X, pairs = problem(n, m)
    X, design, y = np.column_stack([X, np.arange(n)]), Differences(pairs, n), np.ones(m, int)
    kernel, likelihood = PerItem(Gaussian(np.full(5, 2.0)), 0.3), Timed.of(sigma=NOISE)

    def call() -> int:
        K = kernel(X)
        prior = choose.prior_of(design, K, likelihood.max_precision)
        a = ENGINES[engine](prior, likelihood, y, tol=TOL[engine])
        kernel.pullback(X, a.d_kernel, K)
        return a.n_iter

    prior = choose.prior_of(design, kernel(X), likelihood.max_precision)
    return call, NAMES[type(prior)]


def quickest(calls: list[Callable[[], int]], seconds: float = 8.0) -> list[Cost]:
    """Least time of each call, time in the likelihood during it, and iterations.

    They are called in turn, so that a machine that is busy for a while is so for all of them,
    each a few times in a row, for the first one also finds its memory.
    """
    best = [Cost(np.inf, np.inf, call()) for call in calls]
    end = time.process_time() + seconds
    while time.process_time() < end:
        for k in np.repeat(np.arange(len(calls)), 3):
            spent[0], began = 0.0, time.process_time()
            n_iter = calls[k]()
            best[k] = min(best[k], Cost(time.process_time() - began, spent[0], n_iter))
    return best


def take(tall: float, condition: float) -> None:
    choose._TALL, precision._CONDITION = tall, condition


def measure(n: int, pairs: list[int], engine: str) -> list[dict[str, Cost]]:
    """Cost for each number of pairs in each form, and in the one that is taken."""
    calls, taken = zip(*(evaluation(n, m, engine) for m in pairs), strict=True)
    found: list[dict[str, Cost]] = [{} for _ in pairs]
    for form, settings in FORMS.items():
        take(*settings)
        few = [m <= 5 * n or form != "m-form" for m in pairs]  # it grows with the cube of m
        with workspace():
            costs = quickest([call for call, fits in zip(calls, few, strict=True) if fits])
        for row, cost in zip(found, costs, strict=False):
            row[form] = cost
    take(*DEFAULT)
    return [row | {"taken": row[form]} for row, form in zip(found, taken, strict=True)]


def line(engine: str, m: int, cost: dict[str, Cost], first: dict[str, Cost]) -> str:
    cells = [TITLES[engine], str(m), str(cost["taken"].n_iter)]
    for form in FORMS:
        mark = "*" if cost.get(form) is cost["taken"] else ""
        cells.append(f"{1e3 * cost[form].total:.2f}{mark}" if form in cost else "")
    cells.append(f"{1e3 * cost['taken'].reading:.2f}")
    for form in ("n-form", "precision", "taken"):
        cells.append(f"{cost[form].beyond / first[form].beyond:.2f}")
    return f"| {' | '.join(cells)} |"


def machine(n: int, pairs: list[int], C: float) -> list[float]:
    """Seconds of one fit of constraint classification, for each number of pairs."""

    def fit(m: int) -> Callable[[], int]:
        X, train = problem(n, m)
        return lambda: PreferenceSVM(X, C=C).fit(train).n_iter_

    return [cost.total for cost in quickest([fit(m) for m in pairs])]


def slope(pairs: list[int], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(pairs), np.log(seconds), 1)[0])


def plot(n: int, pairs: list[int], costs: dict, fits: dict) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "scaling"  # the same file from the same numbers
    figure, axis = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
    for colour, (engine, found) in zip(("C0", "C1"), costs.items(), strict=True):
        for form, style in (("taken", "o-"), ("precision", ":")):
            label = f"{TITLES[engine]}{', always n × n' if form == 'precision' else ''}"
            times = [1e3 * cost[form].total for cost in found]
            axis.loglog(pairs, times, style, color=colour, ms=4, lw=1.2, label=label)
    for marker, (C, seconds) in zip("xs", fits.items(), strict=True):
        label = f"CC-SVM, C = {C:g}: slope {slope(pairs, seconds):.1f}"
        axis.loglog(
            pairs, 1e3 * np.array(seconds), f"{marker}--", color="C3", ms=4, lw=1, label=label
        )
    axis.set_xlabel(f"comparisons of {n} items")
    axis.set_ylabel("milliseconds of one core")
    axis.set_xticks(pairs, [f"{m}" for m in pairs])
    axis.minorticks_off()
    axis.legend(fontsize=7)
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--pairs", default="100,200,300,400,700,1000,2000,4000")
    args = parser.parse_args()
    n, pairs = args.items, [int(m) for m in args.pairs.split(",")]
    print(f"{n} items; milliseconds, * the form taken by default\n")
    print(
        "| engine | m | iterations | m-form | n-form | precision | pass | beyond: n-form ",
        end="",
    )
    print("| precision | taken |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    costs: dict[str, list] = {}
    for engine in TOL:
        costs[engine] = measure(n, pairs, engine)
        for m, cost in zip(pairs, costs[engine], strict=True):
            print(line(engine, m, cost, costs[engine][0]), flush=True)
    print(f"\n| CC-SVM, one fit | {' | '.join(map(str, pairs))} | slope |")
    print(f"|---|{'--:|' * (len(pairs) + 1)}")
    fits = {C: machine(n, pairs, C) for C in PRICES}
    for C, seconds in fits.items():
        shown = " | ".join(f"{1e3 * s:.1f}" for s in seconds)
        print(f"| C = {C:g} | {shown} | {slope(pairs, seconds):.2f} |")
    plot(n, pairs, costs, fits)


if __name__ == "__main__":
    main()
