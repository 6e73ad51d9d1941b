"""Tables 1 and 2 of Lin & Li (2006): test errors of six thresholded ensembles on eight sets.

    python benchmarks/boosting_partitions.py --jobs 2      # what is not done yet
    python benchmarks/boosting_partitions.py --table       # ours beside theirs

Ten levels of equal frequency, 20 partitions, 2000 rounds; inputs standardised on the training
rows. Needs the data folder (ORDINALITY_DATA). The small four sets have partitions there; of the
large four, 20 are drawn by seed with the papers' numbers of training rows. A line per (set,
partition, algorithm, learner) is appended to results/boosting_partitions.jsonl as it is done,
and no line is computed twice: stopping and starting again is free. First partitions come first,
so that a table over all sets exists early.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core instead

import numpy as np
import polars as pl
from joblib import Parallel, delayed

RESULTS = Path(__file__).parent / "results" / "boosting_partitions.jsonl"
LEVELS, ROUNDS, UPDATES = 10, 2000, 200
CHECKPOINTS = tuple(int(t) for t in np.unique(np.geomspace(1, ROUNDS, 22).round()))
# Training rows where partitions are drawn; None where they are published. Large sets last.
SETS = {
    "pyrimidines": None, "machine_cpu": None, "boston_housing": None, "abalone": None,
    "bank32nh": 3000, "cpu_act": 4000, "california_housing": 5000, "house_16h": 6000,
}  # fmt: skip
ALGORITHMS = ("rank", "left-right", "all")
LEARNERS = ("perceptron", "sigmoid")

# Mean and standard error over 20 trials; columns: RankBoost-AE, ORBoost-LR, ORBoost-All, each
# with perceptrons and with sigmoids.
CLASSIFICATION = """
pyrimidines        0.758 0.015  0.767 0.020  0.731 0.019  0.731 0.018  0.744 0.019  0.735 0.017
machine_cpu        0.717 0.022  0.669 0.011  0.610 0.009  0.633 0.011  0.605 0.010  0.625 0.014
boston_housing     0.603 0.006  0.578 0.008  0.580 0.006  0.549 0.007  0.579 0.006  0.558 0.006
abalone            0.759 0.001  0.765 0.002  0.740 0.002  0.716 0.002  0.749 0.002  0.731 0.002
bank32nh           0.805 0.001  0.822 0.001  0.767 0.001  0.777 0.002  0.771 0.001  0.776 0.001
cpu_act            0.598 0.002  0.616 0.001  0.498 0.001  0.491 0.001  0.499 0.001  0.505 0.001
california_housing 0.741 0.001  0.690 0.001  0.628 0.001  0.605 0.001  0.626 0.001  0.618 0.001
house_16h          0.808 0.001  0.780 0.001  0.718 0.001  0.694 0.001  0.722 0.001  0.701 0.001
"""
ABSOLUTE = """
pyrimidines        1.619 0.078  1.590 0.077  1.340 0.049  1.402 0.052  1.360 0.046  1.398 0.052
machine_cpu        1.573 0.191  1.282 0.034  0.897 0.019  0.985 0.018  0.889 0.019  0.969 0.025
boston_housing     0.842 0.014  0.829 0.014  0.788 0.013  0.758 0.015  0.791 0.013  0.777 0.015
abalone            1.517 0.005  1.738 0.008  1.442 0.004  1.537 0.007  1.432 0.003  1.403 0.004
bank32nh           1.867 0.004  2.183 0.007  1.507 0.002  1.656 0.005  1.490 0.002  1.539 0.002
cpu_act            0.841 0.003  0.945 0.004  0.631 0.002  0.634 0.003  0.626 0.002  0.634 0.002
california_housing 1.528 0.006  1.251 0.004  1.042 0.004  0.956 0.002  0.977 0.002  0.942 0.002
house_16h          2.008 0.006  1.796 0.005  1.305 0.003  1.262 0.003  1.265 0.002  1.198 0.002
"""

Cell = tuple[str, int, str, str]  # set, partition, algorithm, learner


# ---------------------------------------------------------------- data


@cache
def rows_of(name: str) -> tuple[np.ndarray, pl.DataFrame]:
    """Inputs of a set, nominal ones as indicators, and its table of labels and partitions."""
    folder = Path(os.environ["ORDINALITY_DATA"])
    table = pl.read_csv(next((folder / "regression").glob(f"{name}.csv*"))).drop("target")
    inputs = table.to_dummies([c for c in table.columns if table[c].dtype == pl.String])
    labels = pl.read_csv(folder / "equal_frequency_partitions" / f"{name}.csv.gz")
    return inputs.to_numpy().astype(float), labels


def split(name: str, partition: int) -> tuple[np.ndarray, ...]:
    """X, y, X_test, y_test of a partition; inputs standardised on the training rows."""
    X, table = rows_of(name)
    y = table["label_10"].to_numpy().astype(np.int64) - 1
    size = SETS[name]
    if size is None:
        train = table[f"train10_{partition:02d}"].to_numpy().astype(bool)
    else:
        train = np.zeros(len(y), dtype=bool)
        train[np.random.default_rng([2006, partition]).permutation(len(y))[:size]] = True
    Z = standardised(X, X[train])
    return Z[train], y[train], Z[~train], y[~train]


def standardised(X: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Inputs by mean and deviation of the known rows; what is constant in them is zero."""
    constant = np.ptp(known, axis=0) == 0  # its deviation may round to something above zero
    sd = np.where(constant, 1.0, known.std(axis=0))
    return np.where(constant, 0.0, (X - known.mean(axis=0)) / sd)


# ---------------------------------------------------------------- cells


def run(cell: Cell) -> dict:
    """Fit one ensemble; errors on both parts at checkpoints, the last of them the table's."""
    from ordinality.boosting.ensemble import boost, rank_boost
    from ordinality.boosting.perceptron import Perceptron, Sigmoid

    name, partition, algorithm, learner = cell
    X, y, X_test, y_test = split(name, partition)
    trainer = Perceptron(UPDATES) if learner == "perceptron" else Sigmoid(4.0, UPDATES)
    options = {"rounds": ROUNDS, "rng": np.random.default_rng([1, partition])}
    began = time.process_time()  # of the processor: a run may be suspended, or share its core
    if algorithm == "rank":
        fitted = rank_boost(X, y, LEVELS, trainer, **options)
    else:
        fitted = boost(X, y, LEVELS, trainer, margins=algorithm, **options)
    seconds = time.process_time() - began
    train, test = errors_by_round(fitted, X, y), errors_by_round(fitted, X_test, y_test)
    return {
        "set": name, "partition": partition, "algorithm": algorithm, "learner": learner,
        "rounds": ROUNDS, "updates": UPDATES, "seconds": round(seconds, 2),
        "zero_one": test[-1][0], "mae": test[-1][1],
        "checkpoints": CHECKPOINTS, "train": train, "test": test,
    }  # fmt: skip


def errors_by_round(fitted, X: np.ndarray, y: np.ndarray) -> list[tuple[float, float]]:
    """Classification and absolute error at each checkpoint."""
    from ordinality.levels import rank_from_scores

    errors = []
    for t, H in enumerate(fitted.staged_scores(X), start=1):
        if t in CHECKPOINTS:
            away = np.abs(rank_from_scores(H, fitted.thresholds[t]) - y)
            errors.append((round(float(np.mean(away > 0)), 6), round(float(away.mean()), 6)))
    return errors


def cells(args: argparse.Namespace) -> Iterator[Cell]:
    for partition in range(1, args.partitions + 1):
        for name in args.sets:
            for algorithm in ALGORITHMS:
                for learner in LEARNERS:
                    yield name, partition, algorithm, learner


def stored() -> dict[Cell, dict]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    rows = [json.loads(line) for line in lines]
    return {
        (row["set"], row["partition"], row["algorithm"], row["learner"]): row
        for row in rows
        if (row["rounds"], row["updates"]) == (ROUNDS, UPDATES)
    }


def main() -> None:
    args = arguments()
    done = stored()
    todo = [cell for cell in cells(args) if cell not in done]
    if not args.table and todo:
        RESULTS.parent.mkdir(exist_ok=True)
        rows = Parallel(n_jobs=args.jobs, return_as="generator_unordered")(
            delayed(run)(cell) for cell in todo
        )
        clock = Clock(todo)
        with RESULTS.open("a") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
                file.flush()
                clock.tick(row)
    report(stored())


class Clock:
    """Says how far a run is; a cell is expected to cost what its rows and inputs suggest."""

    def __init__(self, todo: list[Cell]) -> None:
        self.began, self.count, self.spent = time.monotonic(), 0, 0.0
        self.total, self.length = sum(cost(cell[0]) for cell in todo), len(todo)

    def tick(self, row: dict) -> None:
        self.count, self.spent = self.count + 1, self.spent + cost(row["set"])
        gone = time.monotonic() - self.began
        left = gone * (self.total - self.spent) / self.spent
        print(
            "{set} {partition} {algorithm} {learner}: {zero_one:.3f} {mae:.3f}, "
            "{seconds:.0f} s".format(**row)
            + f" [{self.count}/{self.length}, {left / 60:.0f} minutes left]",
            file=sys.stderr, flush=True,
        )  # fmt: skip


@cache
def cost(name: str) -> float:
    X, table = rows_of(name)
    train = SETS[name] or int(table["train10_01"].sum())
    # A row costs a line search what 20 inputs cost a product; 100 rows' worth is overhead.
    return (train + 100.0) * (X.shape[1] + 20.0)


# ---------------------------------------------------------------- tables


def published(text: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    columns = [(a, b) for a in ALGORITHMS for b in LEARNERS]
    table = {}
    for line in text.strip().splitlines():
        name, *numbers = line.split()
        pairs = np.array(numbers, dtype=float).reshape(-1, 2)
        for column, (mean, error) in zip(columns, pairs, strict=True):
            table[name, *column] = (float(mean), float(error))
    return table


def report(done: dict[Cell, dict]) -> None:
    """Markdown: a line for each set, algorithm and learner; distances in standard errors."""
    tables = {"zero_one": published(CLASSIFICATION), "mae": published(ABSOLUTE)}
    print("| set | algorithm | learner | trials | classification | published | away |", end="")
    print(" absolute | published | away | s |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    misses: dict[str, int] = {}
    for key in tables["mae"]:
        rows = [row for (s, _, a, b), row in done.items() if (s, a, b) == key]
        if len(rows) < 2:
            continue
        line = [*key, str(len(rows))]
        for measure, table in tables.items():
            ours = np.array([row[measure] for row in rows])
            mean, error = ours.mean(), ours.std(ddof=1) / np.sqrt(len(ours))
            away = (mean - table[key][0]) / np.hypot(error, table[key][1])
            misses[key[0]] = misses.get(key[0], 0) + (away > 3)
            line += [f"{mean:.3f} ± {error:.3f}", "{:.3f} ± {:.3f}".format(*table[key])]
            line += [f"{away:+.1f}" + (" **worse**" if away > 3 else "")]
        line.append(f"{np.median([row['seconds'] for row in rows]):.1f}")
        print("| " + " | ".join(line) + " |")
    good = sum(count == 0 for count in misses.values())
    print(f"\nSets without a cell worse by over three standard errors: {good}/{len(misses)}.")
    print("Cells worse by more: " + ", ".join(f"{s} {n}/12" for s, n in misses.items()) + ".")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--partitions", type=int, default=20, help="the first so many")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    return parser.parse_args()


if __name__ == "__main__":
    # As a module, so that worker processes find its functions by name.
    from boosting_partitions import main as run_all

    run_all()
