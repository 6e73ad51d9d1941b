"""The experiment behind the default hyperprior: the numbers of docs/hyperpriors.md.

    python benchmarks/hyperpriors.py                  # what is not done yet, and the tables
    python benchmarks/hyperpriors.py restarts --jobs 2
    python benchmarks/hyperpriors.py --table          # only print what is stored

`priors`: nine hyperpriors, expectation propagation, 23 sets. `restarts`: one start and the best
of six on four small sets. `squares`: least squares without a prior, beside the published PLSOR.

A setting is a method and the deviations of its hyperprior, one for all logarithms or those of
length scale, noise and gaps, as in ``ep/sd=1:0.5:1``, which is the default. Needs the data
folder (ORDINALITY_DATA). A row per set, partition and setting is kept as soon as it is done; a
second run computes only what is missing.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from itertools import product

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core instead

import numpy as np
from bench import benchmark, compute, rows
from scipy.stats import norm, rankdata

from ordinality import LeastSquaresOrdinalGP, OrdinalGP, datasets, metrics
from ordinality.experiments import Method
from ordinality.experiments.papers import plsor

CHU = (
    "diabetes", "pyrimidines", "triazines", "wisconsin", "machine_cpu", "auto_mpg",
    "boston_housing", "stocks", "abalone",
)  # fmt: skip
ORCA = (
    "contact_lenses", "pasture", "squash_stored", "squash_unstored", "tae", "bondrate",
    "new_thyroid", "automobile", "balance_scale", "esl", "toy",
)  # fmt: skip
BINS = (5, 10)
SMALL = ("diabetes_5", "diabetes_10", "pyrimidines_5", "pyrimidines_10")
PRIORS = (
    "ep/none", "ep/sd=0.25", "ep/sd=0.5", "ep/sd=1", "ep/sd=2", "ep/sd=0.5/frequencies",
    "ep/sd=1/frequencies", "ep/sd=1:0.7:1", "ep/sd=1:0.5:1",
)  # fmt: skip
STARTED = (
    "laplace/none", "laplace/sd=0.5", "laplace/sd=0.7", "laplace/sd=1", "laplace/sd=1:0.5:1",
    "laplace/sd=1:0.7:1", "laplace/sd=0.5:0.5:1", "laplace/sd=1:0.5:0.5",
    "laplace/sd=0.7:0.5:0.7", "ep/none", "ep/sd=1:0.5:1",
)  # fmt: skip
AGAIN = "/restarts=5"
KEPT = ("n_iter", "converged", "noise", "slope", "log_evidence", "loo_log_score")

EQUAL_LENGTH = [f"{name}_{bins}" for name, bins in product(CHU, BINS)]
PARTS = {
    "priors": ([*EQUAL_LENGTH[:12], *ORCA], PRIORS),
    "restarts": (SMALL, [*STARTED, *(setting + AGAIN for setting in STARTED)]),
    "squares": (EQUAL_LENGTH, ["plsor/none"]),
}


# ---------------------------------------------------------------- cells


def split(name: str, partition: int) -> datasets.Split:
    """Training and test rows of a published partition."""
    if name in ORCA:
        return datasets.partitions(name, "orca")[partition - 1]
    stem, _, bins = name.rpartition("_")
    return datasets.partitions(stem, "chu", bins=int(bins))[partition - 1]


def model(setting: str, y: np.ndarray):
    """The estimator of a setting such as ``ep/sd=0.5/frequencies``."""
    method, prior, *rest = setting.split("/")
    chosen: dict = {"hyperprior": None}
    if prior != "none":
        sds = [float(sd) for sd in prior.removeprefix("sd=").split(":")]
        length, noise, gap = sds * 3 if len(sds) == 1 else sds
        chosen["hyperprior"] = {
            "length_scale": length, "noise": noise, "gap": gap, "first_threshold": 6 * gap,
        }  # fmt: skip
    for option in rest:
        if option == "frequencies":  # start, and so centre, thresholds at their quantiles
            below = np.array([np.mean(y <= level) for level in np.unique(y)[:-1]])
            chosen["thresholds"] = np.sqrt(2.0) * norm.ppf(below)
        else:
            chosen["n_restarts"] = int(option.removeprefix("restarts="))
    if method == "plsor":
        return LeastSquaresOrdinalGP(**chosen)
    return OrdinalGP("gaussian", link="probit", inference=method, **chosen)


def tested(problem: datasets.Split, seed: int, setting: str) -> dict:
    """Fit a model and test it."""
    X, y, X_test, y_test = problem
    fitted = model(setting, y).fit(X, y)
    seen = np.isin(y_test, fitted.levels_)  # what was never trained on cannot be predicted
    predicted, proba = fitted.predict(X_test), fitted.predict_level_proba(X_test)[seen]
    levels = {"levels": fitted.levels_}
    return {
        "zero_one": float(np.mean(predicted != y_test)),
        "mae": float(np.mean(np.abs(predicted - y_test))),
        "log_score": metrics.log_score(y_test[seen], proba, **levels),
        "rps": metrics.ranked_probability_score(y_test[seen], proba, **levels),
        **{name: getattr(fitted, f"{name}_") for name in KEPT if hasattr(fitted, f"{name}_")},
    }


SPEC = benchmark(
    "hyperpriors", "Hyperpriors, starts, and least squares without a prior",
    sets=(*EQUAL_LENGTH, *ORCA), partitions=30, problem=split,
    methods=tuple(
        Method(setting, setting, partial(tested, setting=setting))
        for setting in dict.fromkeys(s for _, settings in PARTS.values() for s in settings)
    ),
    metrics=("zero_one", "mae", "log_score", "rps"),
)  # fmt: skip


def cells(part: str) -> list:
    """The cells of a part; a cell of two parts is computed once."""
    sets, settings = PARTS[part]
    return [
        SPEC.cell(name, partition, SPEC.method(setting))
        for name, setting in product(sets, settings)
        for partition in range(1, 31 if name in ORCA else 21)
    ]


# ---------------------------------------------------------------- tables


def means(part: str, metric: str) -> dict[tuple[str, str], float]:
    """Means over partitions, by set and setting."""
    done = {(r["set"], r["partition"], r["method"]): r[metric] for r in rows(SPEC)}
    found: dict[tuple[str, str], list[float]] = {}
    for cell in cells(part):
        value = done.get((cell.set, cell.partition, cell.method), np.nan)
        found.setdefault((cell.set, cell.method), []).append(value)
    return {key: float(np.mean(values)) for key, values in found.items()}


def priors() -> None:
    """Means over all sets, and in brackets the mean rank, 1 for the best."""
    print("| setting | zero-one | absolute | log score | ranked probability |")
    print("|---|---|---|---|---|")
    columns = []
    for metric in ("zero_one", "mae", "log_score", "rps"):
        found = means("priors", metric)
        table = np.reshape(list(found.values()), (-1, len(PRIORS)))  # a line for each set
        # Equal errors must tie, whatever the last digits of the stored ones.
        ranks = np.mean(rankdata(table.round(5), axis=1), axis=0)
        both = zip(table.mean(axis=0), ranks, strict=True)
        columns.append([f"{mean:.4f} ({rank:.2f})" for mean, rank in both])
    for setting, *scores in zip(PRIORS, *columns, strict=True):
        print(f"| {setting} | {' | '.join(scores)} |")


def restarts() -> None:
    """Zero-one error in per cent of one start and of the best of six."""
    found = means("restarts", "zero_one")
    print("| setting | " + " | ".join(SMALL) + " |\n|---|---|---|---|---|")
    for setting in STARTED:
        pairs = [(found[name, setting], found[name, setting + AGAIN]) for name in SMALL]
        shown = " | ".join(f"{100 * one:.1f} / {100 * six:.1f}" for one, six in pairs)
        print(f"| {setting} | {shown} |")


def squares() -> None:
    """Errors of least squares without a prior; distances in published deviations."""
    published = {**plsor.SPECS[1].published, **plsor.SPECS[2].published}
    zero_one, mae = means("squares", "zero_one"), means("squares", "mae")
    print("| set | zero-one % | published | away | absolute | published | away |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, setting in zero_one:
        line = [name]
        for metric, ours, decimals in (
            ("zero_one", 100 * zero_one[name, setting], 2),
            ("mae", mae[name, setting], 4),
        ):
            theirs = published[name, "plsor-alone", metric]
            spread = theirs.spread or 0.005  # the largest that the paper's decimals print as 0
            line += [f"{ours:.{decimals}f}", f"{theirs.mean:g} ± {theirs.spread:g}"]
            line += [f"{(ours - theirs.mean) / spread:+.2f}"]
        print("| " + " | ".join(line) + " |")


TABLES = {"priors": priors, "restarts": restarts, "squares": squares}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="priors, restarts, squares; default all")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {unknown.pop()!r}; choose from {', '.join(PARTS)}.")
    chosen = args.parts or list(PARTS)
    if not args.table:
        compute(SPEC, [cell for part in chosen for cell in cells(part)], jobs=args.jobs)
    for part in chosen:
        print(f"\n{part}\n")
        TABLES[part]()


if __name__ == "__main__":
    # As a module, so that worker processes find its functions by name.
    from hyperpriors import main as run_all

    run_all()
