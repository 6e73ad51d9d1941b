"""Ordinal regression: what a fit costs beside R's clm and statsmodels, and at sizes of its own.

    python benchmarks/linear.py [--repeats 3] [--statsmodels PYTHON] [--rscript Rscript]

Normal columns, five levels, logit link. R needs the package ordinal; statsmodels may live in
another environment, whose Python is named. Peers read the same file of numbers; only the fit
with its standard errors is timed, in seconds of processor, after one small fit that compiles or
loads code. Memory is the peak of the process above the one before the fit, blank where an
earlier fit held more. A row per fit is kept as soon as it is done; a second run computes only
what is missing.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from bench import benchmark, compute, rows
from scipy import sparse

from ordinality.datasets import Split
from ordinality.experiments import Method

SETS = {
    "1,000 x 10": (1_000, 10),
    "100,000 x 10": (100_000, 10),
    "1,000,000 x 20": (1_000_000, 20),
    "sparse 100,000 x 20,000": (100_000, 20_000),
}
SHARED = ("1,000 x 10", "100,000 x 10")
METRICS = ("cpu", "log_likelihood", "megabytes")
STATSMODELS = """
import sys, time, numpy as np
from statsmodels.miscmodels.ordinal_model import OrderedModel
data = np.loadtxt(sys.argv[1], delimiter=",")
X, y = data[:, 1:], data[:, 0].astype(int)
OrderedModel(y[:200], X[:200], distr="logit").fit(method="bfgs", disp=0)
start = time.process_time()
fit = OrderedModel(y, X, distr="logit").fit(method="bfgs", disp=0, maxiter=1000)
fit.bse
print(time.process_time() - start, fit.llf)
"""
R = """
suppressMessages(library(ordinal))
data <- read.csv(commandArgs(TRUE)[1], header = FALSE)
data$V1 <- factor(data$V1, ordered = TRUE)
invisible(clm(V1 ~ V2, data = data[1:200, ]))
start <- proc.time()
fit <- clm(V1 ~ ., data = data)
cost <- proc.time() - start
cat(cost[["user.self"]] + cost[["sys.self"]], format(as.numeric(logLik(fit)), digits = 15))
"""
PEERS = {"statsmodels": sys.executable, "clm": "Rscript"}


def problem(name: str, number: int) -> Split:
    n, d = SETS[name]
    rng = np.random.default_rng(number)
    if name.startswith("sparse"):  # 20 entries a row: density 1e-3
        at = np.repeat(np.arange(n), 20), rng.integers(d, size=20 * n)
        X = sparse.csr_matrix((rng.normal(size=20 * n), at), shape=(n, d))
    else:
        X = rng.normal(size=(n, d))
    latent = X @ (rng.normal(size=d) / np.sqrt(d if d < 100 else 20))
    y = np.digitize(latent + rng.logistic(size=n), [-1.5, -0.5, 0.5, 1.5])
    return Split(X, y, X[:1], y[:1])


def ours(split: Split, seed: int) -> dict:
    from ordinality import OrdinalRegression

    OrdinalRegression().fit(np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    model = OrdinalRegression().fit(split.X, split.y)
    cost = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "cpu": cost,
        "log_likelihood": model.log_likelihood_,
        "megabytes": (peak - before) / 1024,
    }


def peer(split: Split, seed: int, program: str, script: str, ending: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        data, code = Path(folder) / "rows.csv", Path(folder) / f"fit{ending}"
        np.savetxt(data, np.column_stack([split.y, split.X]), delimiter=",", fmt="%.17g")
        code.write_text(script)
        told = subprocess.run(
            [PEERS[program], code, data], capture_output=True, text=True, check=True
        )
    cost, value = map(float, told.stdout.split()[-2:])
    return {"cpu": cost, "log_likelihood": value}


METHODS = (
    Method("ours", "OrdinalRegression", ours),
    Method("clm", "R's clm", lambda split, seed: peer(split, seed, "clm", R, ".R")),
    Method("statsmodels", "statsmodels' OrderedModel",
           lambda split, seed: peer(split, seed, "statsmodels", STATSMODELS, ".py")),
)  # fmt: skip


def spec(repeats: int):
    return benchmark(
        "linear", "Ordinal regression beside others", metrics=METRICS, sets=tuple(SETS),
        partitions=repeats, problem=problem, methods=METHODS,
    )  # fmt: skip


def cells(repeats: int):
    """Peers on what they can fit in a minute; the largest sets once."""
    for cell in spec(repeats).cells():
        if cell.set in SHARED or (cell.method == "ours" and cell.partition == 1):
            yield cell


def report(repeats: int) -> None:
    every = rows(spec(repeats), cells(repeats))
    print("| rows | method | seconds of processor | times ours | log-likelihood | MB |")
    print("|---|---|--:|--:|--:|--:|")
    for name in SETS:
        of_set = [row for row in every if row["set"] == name]
        first = min((row["partition"] for row in of_set), default=1)
        base = np.median([row["cpu"] for row in of_set if row["method"] == "ours"])
        for method in METHODS:
            own = [row for row in of_set if row["method"] == method.name]
            if not own:
                continue
            cost = np.median([row["cpu"] for row in own])
            value = next(r["log_likelihood"] for r in own if r["partition"] == first)
            memory = max((row.get("megabytes", np.nan) for row in own), default=np.nan)
            print(
                f"| {name} | {method.title} | {cost:.4f} | {cost / base:.1f} | {value:.6f} | "
                f"{f'{memory:.0f}' if memory >= 1 else ''} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--statsmodels", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rscript", default="Rscript")
    args = parser.parse_args()
    PEERS.update(statsmodels=args.statsmodels, clm=args.rscript)
    compute(spec(args.repeats), cells(args.repeats))
    report(args.repeats)


if __name__ == "__main__":
    main()
