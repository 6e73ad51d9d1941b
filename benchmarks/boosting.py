"""Boosting against the clock: the authors' own program, straight lines, a million rows.

    python benchmarks/boosting.py                     # all of it: about five minutes
    python benchmarks/boosting.py --only theirs lines

`theirs`: the C++ of Lin and Li as it ships in skordinal (an environment of its own is made
under benchmarks/.envs the first time), same rounds, same 200 coordinate-descent updates;
seconds of processor time.
`census`: the size of the paper's largest set, which took its authors about an hour a trial.
`million`: time and peak memory beside scikit-learn's histogram gradient boosting with as many
trees. `lines`: cost against rows and rounds, drawn to results/boosting.svg. One core for
everybody. Tables go to stdout, progress to stderr.
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
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two on one core would wait for each other

import numpy as np

HERE = Path(__file__).parent
PLOT = HERE / "results" / "boosting.svg"
PACKAGES = ("skordinal==0.2.0",)
ROUNDS, UPDATES = 200, 200  # the updates are compiled into their program
MARGINS = {"all": "full", "left-right": "lr"}  # our name, theirs


def problem(n: int, d: int = 10, levels: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Normal inputs, and equal-frequency levels of a bent function of them with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d) + 2 * np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(f, np.arange(1, levels) / levels), f)


# ---------------------------------------------------------------- workers


def fit_ours(X, y, learner: str, margins: str = "all", rounds: int = ROUNDS) -> dict:
    from ordinality.boosting.ensemble import boost
    from ordinality.boosting.learners import Stump, Tree
    from ordinality.boosting.perceptron import Perceptron, Sigmoid
    from ordinality.levels import rank_from_scores

    trainers = {
        "perceptron": Perceptron(UPDATES), "sigmoid": Sigmoid(4.0, UPDATES), "stump": Stump(),
        "binned stump": Stump(bins=256), "tree of depth 3": Tree(depth=3),
    }  # fmt: skip
    levels = int(y.max()) + 1

    def fit(rows, rounds):
        return boost(
            X[:rows], y[:rows], levels, trainers[learner],
            margins=margins, rounds=rounds, rng=np.random.default_rng(0),
        )  # fmt: skip

    fit(100, 2)  # compiled, or loaded from the cache, before the clock starts
    began = time.process_time()
    fitted = fit(len(y), rounds)
    seconds = time.process_time() - began
    ranks = rank_from_scores(fitted.score(X), fitted.thresholds[-1])
    return {"seconds": seconds, "error": float(np.abs(ranks - y).mean())}


def fit_theirs(X, y, learner: str, margins: str) -> dict:
    from skordinal.classifiers import ORBoost

    model = ORBoost(n_estimators=ROUNDS, base_learner=learner, loss_form=MARGINS[margins])
    began = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    return {"seconds": seconds, "error": float(np.abs(model.predict(X) - y).mean())}


def fit_histogram(X, y) -> dict:
    from sklearn.ensemble import HistGradientBoostingClassifier

    # It grows a tree for every level in every round.
    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS // (int(y.max()) + 1), max_depth=3, early_stopping=False, random_state=0
    )
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "error": float(np.abs(model.predict(X) - y).mean())}


WORKERS = {"ours": fit_ours, "theirs": fit_theirs, "histogram": fit_histogram}


def work(name: str, size: str, options: str, target: str) -> None:
    """In a process of its own: fit, and report with the peak of memory."""
    row = WORKERS[name](*problem(*json.loads(size)), **json.loads(options))
    row["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    Path(target).write_text(json.dumps(row))


def measure(name: str, size: tuple, **options) -> dict:
    """What a worker reports, run by the Python it needs."""
    from bench import say
    from peers import Method

    python = Method("", PACKAGES if name == "theirs" else ()).python()
    say(f"{name}: {size} {options} ...", end=" ")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "row.json")
        command = [python, __file__, "--work", name, json.dumps(size), json.dumps(options)]
        subprocess.run([*command, target], check=True)
        row = json.loads(target.read_text())
    say(f"{row['seconds']:.3f} s")
    return row


def speed(row: dict) -> float:
    return row["seconds"]


# ---------------------------------------------------------------- tables


def theirs() -> None:
    print("| learner | n | margins | theirs, s | ours, s | ratio | error: theirs | ours |")
    print("|---|--:|---|--:|--:|--:|--:|--:|")
    for learner, n in (
        ("perceptron", 2000), ("stump", 500), ("stump", 2000), ("stump", 20_000),
    ):  # fmt: skip
        for margins in MARGINS:
            options = {"learner": learner, "margins": margins}
            other, own = (
                min((measure(who, (n,), **options) for _ in range(2)), key=speed)
                for who in ("theirs", "ours")
            )
            print(
                f"| {learner} | {n} | {margins} | {other['seconds']:.2f} | "
                f"{own['seconds']:.3f} | 1/{other['seconds'] / own['seconds']:.1f} | "
                f"{other['error']:.3f} | {own['error']:.3f} |",
                flush=True,
            )


def census() -> None:
    print("\n| 6000 rows, 16 inputs, 10 levels, 2000 rounds | s |\n|---|--:|")
    for margins in MARGINS:
        row = measure("ours", (6000, 16, 10), learner="sigmoid", margins=margins, rounds=2000)
        print(f"| sigmoids, margins {margins} | {row['seconds']:.1f} |", flush=True)


def million() -> None:
    print("\n| 1,000,000 rows, 8 inputs, 5 levels, 200 trees | s | peak, GB | error |")
    print("|---|--:|--:|--:|")
    rows = {
        f"ours, {learner}": measure("ours", (10**6, 8), learner=learner)
        for learner in ("binned stump", "stump", "tree of depth 3")
    }
    rows["scikit-learn, trees of depth 3"] = measure("histogram", (10**6, 8))
    for name, row in rows.items():
        print(f"| {name} | {row['seconds']:.1f} | {row['peak_gb']:.2f} | {row['error']:.3f} |")


def lines() -> None:
    """Cost against rows and against rounds, with the slope of the logarithms."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    grids = {
        "rows": [1000, 2000, 4000, 8000, 16_000, 32_000],
        "rounds": [25, 50, 100, 200, 400],
    }
    print("\n| cost against | learner | slope in logarithms |\n|---|---|--:|")
    for axis, (what, grid) in zip(axes, grids.items(), strict=True):
        for learner in ("perceptron", "sigmoid", "stump", "binned stump", "tree of depth 3"):
            seconds = [fastest(what, size, learner) for size in grid]
            slope = np.polyfit(np.log(grid), np.log(seconds), 1)[0]
            axis.loglog(grid, seconds, "o-", label=f"{learner}: {slope:.2f}", markersize=3)
            print(f"| {what} | {learner} | {slope:.2f} |", flush=True)
        axis.set_xlabel(what)
        axis.set_xticks(grid, [f"{size}" for size in grid])
        axis.minorticks_off()
        axis.legend(fontsize=7)
    axes[0].set_ylabel("seconds")
    axes[0].set_title("100 rounds, 10 inputs, 5 levels")
    axes[1].set_title("8000 rows, 10 inputs, 5 levels")
    PLOT.parent.mkdir(exist_ok=True)
    figure.savefig(PLOT)


def fastest(what: str, size: int, learner: str) -> float:
    n, rounds = (size, 100) if what == "rows" else (8000, size)
    X, y = problem(n)
    return min(fit_ours(X, y, learner, rounds=rounds)["seconds"] for _ in range(2))


PARTS = {"theirs": theirs, "census": census, "million": million, "lines": lines}


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:])
        return
    from peers import hold_to, warn_if_busy

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    args = parser.parse_args()
    hold_to(1)
    warn_if_busy()
    for part in args.only:
        PARTS[part]()


if __name__ == "__main__":
    main()
