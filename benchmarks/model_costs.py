"""What one fold of each model of the workbench costs, as a function of the table's size.

    python benchmarks/model_costs.py [--only gp,boost] [--most 20]

For made-up tables of several sizes, the folds of `ordinality.workbench.assess` are timed in
seconds of processor time, after a small table for which compiled code is loaded. Through the
seconds of each model goes the curve

    fixed + scale * rows**a * columns**b * levels**c

by least squares of the logarithms. The power of the rows is at least one, and two for models
with a kernel matrix, so that the curve does not fall short beyond the sizes measured; columns
and levels have powers of at most one. The lines that are printed are the constants of
`ordinality.workbench.models.COSTS`, and the largest factor by which the curve misses a
measurement.
Rows are no longer added when two folds took `--most` seconds.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import polars
from scipy.optimize import least_squares

from ordinality.workbench import (
    MODELS,
    Assessment,
    Model,
    assess,
    baselines,
    folds,
    problem_of,
)

# One thing varies at a time about 250 rows, 12 columns and 4 levels.
SIZES = (
    *((n, 12, 4) for n in (40, 100, 250, 600, 1500, 4000)),
    *((250, d, 4) for d in (3, 36)),
    *((250, 12, K) for K in (2, 8)),
)
# Models whose cost is linear in the rows, if there are many of them.
LINEAR = (
    "linear", "mlr", "boost", "trees", "class-trees", "boost-trees", "forest", "rankboost",
    "frequencies", "rounded-linear",
)  # fmt: skip


def table(n: int, d: int, K: int) -> polars.DataFrame:
    """Normal columns; a smooth function of three of them, with noise, cut at equal shares."""
    rng = np.random.default_rng([n, d, K])
    X = rng.normal(size=(n, d))
    latent = np.sin(X[:, 0]) + X[:, 1] - 0.5 * X[:, -1] + rng.normal(scale=0.7, size=n)
    y = np.digitize(latent, np.quantile(latent, np.arange(1, K) / K))
    return polars.DataFrame({**{f"x{i}": X[:, i] for i in range(d)}, "y": y})


def seconds(entry: Model, n: int, d: int, K: int) -> float:
    """Processor seconds of a fold that trains on `n` rows."""
    n_folds = 5 if n < 1000 else 2  # of large tables each fold is reliable by itself
    problem = problem_of(table(round(n * n_folds / (n_folds - 1)), d, K), "y", wide=True)
    splits = folds(problem, n_splits=n_folds)
    found = assess(problem, [entry], splits)[0]
    assert isinstance(found, Assessment)
    return found.seconds / len(splits)


def measured(entry: Model, most: float) -> list[tuple[int, int, int, float]]:
    """Rows, columns, levels and seconds of every size that is not too expensive."""
    seconds(entry, 40, 3, 3)
    rows: list[tuple[int, int, int, float]] = []
    for n, d, K in SIZES:
        if rows and n > rows[-1][0] and 2 * rows[-1][3] > most:
            continue
        rows.append((n, d, K, seconds(entry, n, d, K)))
        print(entry.name, *rows[-1], file=sys.stderr, flush=True)
    return rows


def fitted(name: str, rows: list[tuple[int, int, int, float]]) -> tuple[np.ndarray, float]:
    """The five constants, and the largest factor by which they miss."""
    n, d, K, cost = np.array(rows).T

    def curve(theta: np.ndarray) -> np.ndarray:
        return (
            np.exp(theta[0]) + np.exp(theta[1]) * n ** theta[2] * d ** theta[3] * K ** theta[4]
        )

    start = [np.log(cost.min() / 2), np.log(cost.max() / n.max() ** 2), 2.5, 0.5, 0.5]
    least = 1 if name in LINEAR else 2
    bounds = ([-20, -40, least, 0, 0], [5, 5, 3, 1, 1])
    found = least_squares(lambda theta: np.log(curve(theta) / cost), start, bounds=bounds)
    constants = np.array([*np.exp(found.x[:2]), *found.x[2:]])
    return constants, float(np.exp(np.abs(found.fun).max()))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of models, with commas between")
    parser.add_argument("--most", type=float, default=15.0, help="seconds for one size")
    given = parser.parse_args()
    entries = {**MODELS, **{one.name: one for one in baselines(100)}}
    entries["rounded-linear"] = baselines(1000)[1]
    for name in given.only.split(",") if given.only else entries:
        constants, worst = fitted(name, measured(entries[name], given.most))
        numbers = ", ".join(f"{value:.2g}" for value in constants)
        print(f'    "{name}": Cost({numbers}),  # {worst:.1f}', flush=True)


if __name__ == "__main__":
    main()
