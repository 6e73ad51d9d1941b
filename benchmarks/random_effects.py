"""Random effects of `OrdinalRegression` against R's ``clmm``: processor time and agreement.

    python benchmarks/random_effects.py
    python benchmarks/random_effects.py --fresh

Needs ``Rscript`` with the package ordinal. Both fit the same simulated rows with one thread;
ours is timed after a first fit that compiles, theirs without the start of R. The table goes to
stdout, progress to stderr, and finished rows are kept.
"""

import argparse
import json
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench import benchmark, compute, rows
from peers import hold_to

from ordinality import OrdinalRegression, experiments

METRICS = ("cpu_seconds", "log_likelihood")

# Groups of each term; whether the first has a slope too.
SETS = {
    "one of 100, 2,000 rows": ((100,), False, 2_000),
    "one of 100 with a slope, 2,000 rows": ((100,), True, 2_000),
    "crossed 100 x 30, 3,000 rows": ((100, 30), False, 3_000),
    "crossed 1,000 x 200, 20,000 rows": ((1_000, 200), False, 20_000),
}

R_PROGRAM = """
library(ordinal)
args <- commandArgs(TRUE)
d <- read.csv(args[1]); d$y <- factor(d$y)
for (g in grep("^g", names(d))) d[[g]] <- factor(d[[g]])
seconds <- system.time(m <- clmm(as.formula(args[2]), data=d, Hess=TRUE))
cat(sprintf('{"cpu_seconds": %.4f, "log_likelihood": %.10f}',
            seconds[1] + seconds[2], as.numeric(logLik(m))), file=args[3])
"""


@dataclass(frozen=True)
class Problem:
    """Grouping columns first, then two numbers."""

    X: np.ndarray
    y: np.ndarray
    n_terms: int
    slope: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="measure again what has a row")
    args = parser.parse_args()
    hold_to(1)
    spec = benchmark(
        "random_effects", "Random effects beside R's clmm",
        sets=tuple(SETS), partitions=1, problem=drawn, metrics=METRICS,
        methods=(experiments.Method("ordinality", "ordinality", ours, {}),
                 experiments.Method("clmm", "R, ordinal::clmm", theirs, {})),
    )  # fmt: skip
    compute(spec, retry=True, fresh=args.fresh)
    print(table(rows(spec)))


def drawn(name: str, number: int) -> Problem:
    """Rows of effects with standard deviation 1, 0.7, ..., five levels."""
    sizes, slope, n = SETS[name]
    rng = np.random.default_rng(number)
    groups = [rng.permutation(np.arange(n) % size) for size in sizes]
    x = rng.normal(size=(n, 2))
    latent = 0.8 * x[:, 0] - 0.5 * x[:, 1] + rng.logistic(size=n)
    for t, (group, size) in enumerate(zip(groups, sizes, strict=True)):
        latent += 0.7**t * rng.normal(size=size)[group]
    if slope:
        latent += 0.5 * rng.normal(size=sizes[0])[groups[0]] * x[:, 0]
    y = np.digitize(latent, [-2.0, -0.5, 1.0, 2.5])
    return Problem(np.column_stack([*groups, x]), y, len(sizes), slope)


def ours(problem: Problem, seed: int) -> dict:
    random = [(0, problem.n_terms)] if problem.slope else list(range(problem.n_terms))
    # Laplace's method for all, as R's default.
    model = OrdinalRegression(random=random, quadrature=1)
    model.fit(problem.X[:300], problem.y[:300])  # compiles
    start = time.process_time()
    model.fit(problem.X, problem.y)
    seconds = time.process_time() - start
    return {"cpu_seconds": seconds, "log_likelihood": model.log_likelihood_}


def theirs(problem: Problem, seed: int) -> dict:
    names = [*(f"g{t}" for t in range(problem.n_terms)), "x0", "x1", "y"]
    terms = [f"(1{' + x0' if problem.slope else ''} | {g})" for g in names[: problem.n_terms]]
    formula = " + ".join(["y ~ x0 + x1", *terms])
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "rows.csv"), Path(folder, "result.json")
        whole = np.column_stack([problem.X, problem.y])
        np.savetxt(source, whole, "%.17g", ",", header=",".join(names), comments="")
        program = Path(folder, "fit.R")
        program.write_text(R_PROGRAM)
        command = ["Rscript", str(program), str(source), formula, str(target)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(target.read_text())


def table(found: list[dict]) -> str:
    """Markdown: seconds of both, their ratio, and the difference of the log-likelihoods."""
    lines = [
        "| data | ordinality, s | clmm, s | times ours | log-likelihood, ours less theirs |",
        "|:--|--:|--:|--:|--:|",
    ]
    by_set = {(row["set"], row["method"]): row for row in found}
    for name in SETS:
        if (name, "ordinality") in by_set and (name, "clmm") in by_set:
            a, b = by_set[name, "ordinality"], by_set[name, "clmm"]
            gain = a["log_likelihood"] - b["log_likelihood"]
            lines.append(
                f"| {name} | {a['cpu_seconds']:.2f} | {b['cpu_seconds']:.1f} | "
                f"{b['cpu_seconds'] / a['cpu_seconds']:.0f} | {gain:.1e} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
