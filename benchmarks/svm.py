"""Support vector machines against the clock: the authors' own program, growth, memory.

    python benchmarks/svm.py                        # what is not measured yet, and the tables
    python benchmarks/svm.py --only theirs --fresh  # measure one part again

`theirs`: the C of Chu and Keerthi as it ships in the `SVOR` of skordinal (an environment of its
own is made under benchmarks/.envs the first time), the same problem to the same tolerance, each
fit in a process of its own, ours and theirs in turn. `growth`: cost against rows, drawn to
results/svm.svg. `memory`: 20,000 rows. One core for everybody. Fits are kept as they are done;
tables go to stdout, progress to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two on one core would wait for each other

import numpy as np

HERE = Path(__file__).parent
PLOT = HERE / "results" / "svm.svg"
PACKAGES = ("skordinal==0.2.0",)
TOLERANCE, GAMMA, LEVELS = 1e-3, 0.1, 5
RIDGE = 1e-3  # what their program adds to the diagonal of the kernel while it trains
CONSTRAINTS, PRICES = ("implicit", "explicit"), (1.0, 10.0)
ROWS = {
    "theirs": [1000, 2000, 4000],
    "growth": [500, 1000, 2000, 4000, 8000],
    "memory": [20_000],
}


def problem(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Normal inputs, and equal-frequency levels of a bent function of them with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d) + 2 * np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(f, np.arange(1, LEVELS) / LEVELS), f)


def primal(X, y, beta, thresholds, constraints: str, C: float) -> float:
    """What is minimised, in blocks: half the squared length of w, and the price of slack."""
    squares, value = (X**2).sum(axis=1), 0.0
    for part in np.array_split(np.arange(len(y)), max(1, len(y) // 1000)):
        away = squares[part][:, None] + squares - 2 * X[part] @ X.T
        f = np.exp(-GAMMA * np.maximum(away, 0.0)) @ beta + RIDGE * beta[part]
        j = np.arange(len(thresholds))
        t = np.where(y[part][:, None] > j, 1.0, -1.0)
        slack = np.maximum(1 - t * (f[:, None] - thresholds), 0.0)
        if constraints == "explicit":
            slack *= (j == y[part][:, None]) | (j == y[part][:, None] - 1)
        value += 0.5 * f @ beta[part] + C * slack.sum()
    return float(value)


# ---------------------------------------------------------------- workers


def fit_ours(X, y, constraints: str, C: float) -> dict:
    """Kernel rows on demand within the default bound of memory, as an estimator would."""
    from ordinality.kernels import Gaussian
    from ordinality.svm.kernel_rows import KernelRows
    from ordinality.svm.solver import solve
    from ordinality.svm.terms import FORMULATIONS

    kernel = Gaussian((2 * GAMMA) ** -0.5)

    def fit(n):
        def block(i, j):
            K = kernel(X[i], X[j])
            K[np.equal.outer(i, j)] += RIDGE
            return K

        terms = FORMULATIONS[constraints](y[:n], LEVELS, np.full(n, C))
        return solve(terms, KernelRows(block, np.full(n, 1 + RIDGE)), tol=TOLERANCE)

    fit(500)  # compiled, or loaded from the cache, before the clock starts
    found, cost = timed(lambda: fit(len(y)))
    return cost | {
        "steps": found.report.n_steps, "converged": found.report.converged,
        "beta": found.beta, "thresholds": found.thresholds,
    }  # fmt: skip


def fit_theirs(X, y, constraints: str, C: float) -> dict:
    from skordinal.classifiers import SVOR

    model = SVOR(C=C, gamma=GAMMA, tol=TOLERANCE, constraints=constraints)
    _, cost = timed(lambda: model.fit(X, y))
    beta = np.array(model.model_["alpha"])
    return cost | {"beta": beta, "thresholds": model.thresholds_}


def timed(call):
    began, worked = time.perf_counter(), time.process_time()
    value = call()
    seconds, processor = time.perf_counter() - began, time.process_time() - worked
    return value, {"seconds": seconds, "processor": processor}


def work(who: str, options: str, target: str) -> None:
    """In a process of its own: fit, and report with the peak of memory."""
    options = json.loads(options)
    X, y = problem(options.pop("n"))
    row = {"ours": fit_ours, "theirs": fit_theirs}[who](X, y, **options)
    row["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    beta, thresholds = row.pop("beta"), row.pop("thresholds")
    row["support"] = int(np.count_nonzero(beta))
    row["primal"] = primal(X, y, beta, thresholds, **options)
    Path(target).write_text(json.dumps(row))


# ---------------------------------------------------------------- measuring


def measured(n: int, seed: int, who: str, **options) -> dict:
    """Run a worker by the Python it needs; what it reports."""
    from peers import Method

    python = Method("", PACKAGES if who == "theirs" else ()).python()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "row.json")
        given = json.dumps({**options, "n": n})
        subprocess.run([python, __file__, "--work", who, given, target], check=True)
        # A row has seconds of its own, of the process that waits.
        found = json.loads(target.read_text())
        return {"clock": found.pop("seconds"), **found}


def spec(part: str):
    """A part: each of its fits several times, in turn."""
    from bench import benchmark

    from ordinality.experiments import Method

    whose = ("theirs", "ours") if part == "theirs" else ("ours",)
    return benchmark(
        f"svm_{part}", f"Support vector machines: {part}",
        sets=tuple(map(str, ROWS[part])), partitions=1 if part == "memory" else 3,
        problem=lambda name, turn: int(name), metrics=("processor",),
        methods=tuple(
            Method(f"{who}, {constraints}, C {C:g}", who, measured,
                   {"who": who, "constraints": constraints, "C": C})
            for constraints, C, who in product(CONSTRAINTS, PRICES, whose)
        ),
    )  # fmt: skip


def rows(part: str, **wanted) -> list[dict]:
    """What was measured of a part, or more closely."""
    import bench

    found = bench.rows(spec(part))
    return [row for row in found if all(row[k] == v for k, v in wanted.items())]


def median(what: str, part: str, who: str, constraints: str, C: float, n: int) -> float:
    fits = rows(part, who=who, constraints=constraints, C=C, set=str(n))
    return float(np.median([row[what] for row in fits]))


# ---------------------------------------------------------------- tables


def theirs() -> None:
    print("| constraints | C | n | theirs, s | ours, s | ratio | our objective over theirs |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for constraints, C, n in product(CONSTRAINTS, PRICES, ROWS["theirs"]):
        # Of processor: other people's work on the machine hardly changes it.
        other, own = (
            median("processor", "theirs", who, constraints, C, n) for who in ("theirs", "ours")
        )
        reached, ours = (
            median("primal", "theirs", who, constraints, C, n) for who in ("theirs", "ours")
        )
        print(
            f"| {constraints} | {C:g} | {n} | {other:.2f} | {own:.3f} | 1/{other / own:.1f} | "
            f"{ours / reached - 1:+.0e} |"
        )


def growth() -> None:
    """Cost against rows, with the slope of the logarithms."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    grid = ROWS["growth"]
    print("\n| constraints | C | cost grows as n to the | theirs |\n|---|--:|--:|--:|")
    for axis, constraints in zip(axes, CONSTRAINTS, strict=True):
        for C in PRICES:
            ours = line(axis, "growth", "ours", constraints, C, grid)
            other = line(axis, "theirs", "theirs", constraints, C, ROWS["theirs"])
            print(f"| {constraints} | {C:g} | {ours:.2f} | {other:.2f} |", flush=True)
        axis.set_title(f"{constraints} constraints, 10 inputs, 5 levels")
        axis.set_xlabel("rows")
        axis.set_xticks(grid, [f"{n}" for n in grid])
        axis.minorticks_off()
        axis.legend(fontsize=7)
    axes[0].set_ylabel("seconds of processor")
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT)


def line(axis, part: str, who: str, constraints: str, C: float, grid: list[int]) -> float:
    seconds = [median("processor", part, who, constraints, C, n) for n in grid]
    slope = float(np.polyfit(np.log(grid), np.log(seconds), 1)[0])
    style = "o-" if who == "ours" else "s--"
    axis.loglog(grid, seconds, style, label=f"{who}, C = {C:g}: {slope:.2f}", markersize=3)
    return slope


def memory() -> None:
    print("\n| 20,000 rows | C | s | steps | converged | support rows | peak, GB |")
    print("|---|--:|--:|--:|---|--:|--:|")
    for row in rows("memory"):
        print(
            f"| {row['constraints']} | {row['C']:g} | {row['clock']:.1f} | {row['steps']} | "
            f"{row['converged']} | {row['support']} | {row['peak_gb']:.2f} |"
        )


PARTS = {"theirs": theirs, "growth": growth, "memory": memory}


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:])
        return
    from bench import compute
    from peers import hold_to, warn_if_busy

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--fresh", action="store_true", help="measure again what is stored")
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    args = parser.parse_args()
    if not args.table:
        hold_to(1)
        warn_if_busy()
    for part in args.only:
        if not args.table:
            compute(spec(part), retry=True, fresh=args.fresh)
        PARTS[part]()


if __name__ == "__main__":
    main()
