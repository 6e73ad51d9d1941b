"""Whether our support vector machines predict what those of Chu and Keerthi's own program do.

    ORDINALITY_DATA=... python benchmarks/svm_agreement.py --partitions 3

ERA, ESL and balance-scale on the published hold-outs of the ORCA review, inputs standardised on
the training rows, a few prices and kernel widths, tolerance 1e-3. Their program (`SVOR` of
skordinal, in an environment of its own) adds 0.001 to the diagonal of the kernel while it
trains, which is no part of the machine and matters when C is large; so ours is trained without
it, and once more with it, and objectives are compared on the same problem. A row per fit is
kept and not computed twice. Table to stdout, progress to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from itertools import product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

PACKAGES = ("skordinal==0.2.0",)
SETS, CONSTRAINTS = ("era", "esl", "balance_scale"), ("implicit", "explicit")
PRICES, WIDTHS = (0.1, 1.0, 10.0), (0.1, 1.0)
TOLERANCE, RIDGE = 1e-3, 1e-3


@cache
def partition(name: str, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, their ranks, and test rows."""
    import polars as pl

    source = Path(os.environ["ORDINALITY_DATA"], "orca_partitions", f"{name}.csv.gz")
    rows = pl.read_csv(source).filter(pl.col("partition") == number)
    train, test = (
        rows.filter(pl.col("role") == role).drop("partition", "role").to_numpy().astype(float)
        for role in ("train", "test")
    )
    X, mean, scale = train[:, :-1], train[:, :-1].mean(axis=0), train[:, :-1].std(axis=0)
    y = np.unique(train[:, -1], return_inverse=True)[1]
    return (X - mean) / scale, y, (test[:, :-1] - mean) / scale


def gaussian(X: np.ndarray, Z: np.ndarray, gamma: float) -> np.ndarray:
    return np.exp(-gamma * ((X[:, None] - Z) ** 2).sum(axis=2))


# ---------------------------------------------------------------- fits


def work(source: str, target: str) -> None:
    """Their fit, in their environment."""
    from skordinal.classifiers import SVOR

    with np.load(source) as file:
        X, y, Z, options = file["X"], file["y"], file["Z"], json.loads(str(file["options"]))
    model = SVOR(tol=TOLERANCE, **options).fit(X, y)
    beta = np.array(model.model_["alpha"])
    np.savez(target, beta=beta, thresholds=model.thresholds_, ranks=model.predict(Z))


def theirs(X, y, Z, **options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from peers import Method

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "fit.npz")
        np.savez(source, X=X, y=y, Z=Z, options=json.dumps(options))
        python = Method("", PACKAGES).python()
        subprocess.run([python, __file__, "--work", source, target], check=True)
        with np.load(target) as file:
            return file["beta"], file["thresholds"], file["ranks"]


def compared(problem: tuple, seed: int, constraints: str, C: float, gamma: float) -> dict:
    """Rows predicted differently, and objectives of both fits on the same problem."""
    from ordinality.svm.kernel_rows import KernelRows
    from ordinality.svm.solver import solve
    from ordinality.svm.terms import FORMULATIONS

    X, y, Z = problem
    beta, thresholds, ranks = theirs(X, y, Z, constraints=constraints, C=C, gamma=gamma)
    terms = FORMULATIONS[constraints](y, int(y.max()) + 1, np.full(len(y), C))
    K, across = gaussian(X, X, gamma), gaussian(Z, X, gamma)
    row = {"rows": len(Z)}
    for kind, ridge in (("plain", 0.0), ("ridge", RIDGE)):
        matrix = K + ridge * np.eye(len(K))
        found = solve(terms, KernelRows.of_matrix(matrix), tol=TOLERANCE)
        f = across @ found.beta
        ours = (f[:, None] > found.thresholds).sum(axis=1)
        away = np.abs(f[ours != ranks, None] - found.thresholds).min(axis=1)
        row |= {
            f"{kind}_differ": int(np.count_nonzero(ours != ranks)),
            f"{kind}_away": float(np.max(away, initial=0.0)),
            f"{kind}_gap": found.gap,
            f"{kind}_ours": found.primal,
            f"{kind}_theirs": primal(terms, matrix, beta, thresholds),
        }
    return row


def primal(terms, K, beta, thresholds) -> float:
    f = K @ beta
    margin = terms.sign * (f[terms.row] - thresholds[terms.node])
    return float(0.5 * beta @ f + terms.upper @ np.maximum(1 - margin, 0.0))


# ---------------------------------------------------------------- table


def spec(partitions: int):
    from bench import benchmark

    from ordinality.experiments import Method

    return benchmark(
        "svm_agreement", "Support vector machines beside Chu and Keerthi's program",
        sets=SETS, partitions=partitions, problem=partition, metrics=("rows",),
        methods=tuple(
            Method(f"{constraints}, C {C:g}, gamma {gamma:g}", constraints, compared,
                   {"constraints": constraints, "C": C, "gamma": gamma})
            for C, gamma, constraints in product(PRICES, WIDTHS, CONSTRAINTS)
        ),
    )  # fmt: skip


def table(rows: list[dict]) -> None:
    print("| set | constraints | fits | test rows | same | same with the ridge | ", end="")
    print(
        "farthest from a threshold | our objective higher in | largest excess: ours | theirs |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, constraints in product(SETS, CONSTRAINTS):
        fits = [r for r in rows if (r["set"], r["constraints"]) == (name, constraints)]
        total = sum(r["rows"] for r in fits)
        plain, ridge = (
            1 - sum(r[f"{k}_differ"] for r in fits) / total for k in ("plain", "ridge")
        )
        away = max(r["ridge_away"] for r in fits)
        # Relative to the better of the two.
        excess = np.array([r["ridge_ours"] / r["ridge_theirs"] - 1 for r in fits])
        print(
            f"| {name} | {constraints} | {len(fits)} | {total} | {plain:.2%} | {ridge:.2%} | "
            f"{away:.1e} | {np.count_nonzero(excess > 0)} | {max(excess.max(), 0):.0e} | "
            f"{max(-excess.min(), 0):.0e} |"
        )


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:])
        return
    from bench import compute, rows

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=3, help="of 30")
    args = parser.parse_args()
    wanted = spec(args.partitions)
    compute(wanted)
    table(rows(wanted, wanted.cells()))


if __name__ == "__main__":
    main()
