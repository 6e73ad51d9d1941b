"""Support vector machines against the clock: the authors' own program, growth, memory.

    python benchmarks/svm.py                        # what is not measured yet, and the tables
    python benchmarks/svm.py --only theirs --fresh  # measure one part again

`theirs`: the C of Chu and Keerthi as it ships in the `SVOR` of skordinal (an environment of its
own is made under benchmarks/.envs the first time), the same problem to the same tolerance, each
fit in a process of its own, ours and theirs in turn. `growth`: cost against rows, drawn to
results/svm.svg. `memory`: 20,000 rows. One core for everybody. Fits go to results/svm.jsonl as
they are done, tables to stdout, talk to stderr.
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
RESULTS, PLOT = HERE / "results" / "svm.jsonl", HERE / "results" / "svm.svg"
PACKAGES = ("skordinal==0.2.0",)
TOLERANCE, GAMMA, LEVELS = 1e-3, 0.1, 5
RIDGE = 1e-3  # what their program adds to the diagonal of the kernel while it trains
CONSTRAINTS, PRICES = ("implicit", "explicit"), (1.0, 10.0)
KEY = ("part", "who", "constraints", "C", "n")


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


def measure(part: str, who: str, constraints: str, C: float, n: int) -> None:
    """Run a worker by the Python it needs, and keep what it reports."""
    from peers import Method, say

    options = {"constraints": constraints, "C": C, "n": n}
    python = Method("", PACKAGES if who == "theirs" else ()).python()
    say(f"{part}: {who} {options} ...", end=" ")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "row.json")
        command = [python, __file__, "--work", who, json.dumps(options), target]
        subprocess.run(command, check=True)
        row = {"part": part, "who": who, **options, **json.loads(target.read_text())}
    say(f"{row['seconds']:.3f} s, {row['processor']:.3f} s of processor")
    with RESULTS.open("a") as file:
        file.write(json.dumps(row) + "\n")


def rows(*key) -> list[dict]:
    """What was measured, of a part or more closely."""
    kept = map(json.loads, RESULTS.read_text().splitlines()) if RESULTS.exists() else ()
    return [row for row in kept if all(row[k] == v for k, v in zip(KEY, key, strict=False))]


def median(what: str, *key) -> float:
    return float(np.median([row[what] for row in rows(*key)]))


def missing(times: int, *keys) -> None:
    """Measure each of some fits so many times, in turn."""
    for turn in range(times):
        for key in keys:
            if len(rows(*key)) <= turn:
                measure(*key)


# ---------------------------------------------------------------- tables


def theirs() -> None:
    fits = product((1000, 2000, 4000), CONSTRAINTS, PRICES, ("theirs", "ours"))
    missing(3, *(("theirs", who, constraints, C, n) for n, constraints, C, who in fits))
    print("| constraints | C | n | theirs, s | ours, s | ratio | our objective over theirs |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for constraints, C, n in product(CONSTRAINTS, PRICES, (1000, 2000, 4000)):
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
    grid = [500, 1000, 2000, 4000, 8000]
    print("\n| constraints | C | cost grows as n to the | theirs |\n|---|--:|--:|--:|")
    for axis, constraints in zip(axes, CONSTRAINTS, strict=True):
        for C in PRICES:
            missing(3, *(("growth", "ours", constraints, C, n) for n in grid))
            ours = line(axis, "growth", "ours", constraints, C, grid)
            other = line(axis, "theirs", "theirs", constraints, C, [1000, 2000, 4000])
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
    for C in PRICES:
        missing(1, *(("memory", "ours", constraints, C, 20_000) for constraints in CONSTRAINTS))
    print("\n| 20,000 rows | C | s | steps | converged | support rows | peak, GB |")
    print("|---|--:|--:|--:|---|--:|--:|")
    for row in rows("memory"):
        print(
            f"| {row['constraints']} | {row['C']:g} | {row['seconds']:.1f} | {row['steps']} | "
            f"{row['converged']} | {row['support']} | {row['peak_gb']:.2f} |"
        )


PARTS = {"theirs": theirs, "growth": growth, "memory": memory}


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:])
        return
    from peers import hold_to, warn_if_busy

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--fresh", action="store_true", help="forget what was measured")
    args = parser.parse_args()
    if args.fresh:
        kept = [row for row in rows() if row["part"] not in args.only]
        RESULTS.write_text("".join(json.dumps(row) + "\n" for row in kept))
    hold_to(1)
    warn_if_busy()
    for part in args.only:
        PARTS[part]()


if __name__ == "__main__":
    main()
