"""Inducing points: how many are enough, what rows cost, and gradient-boosted trees beside them.

    python benchmarks/inducing_points.py [--splits 3]

Needs the data folder (ORDINALITY_DATA). Smooth random functions of three features with 25 to
200 points, and of eight features with 10,000 and 100,000 rows; and four sets of the data folder
in five levels of equal frequency, a random fifth for the test. On the smooth function of 10,000
rows and on two of the sets, points that are learnt beside as many that are chosen. Everything
else is learnt, with the defaults of `OrdinalGP` but for what is named. A row per fit is kept as
soon as it is done; a second run computes only what is missing.
"""

from __future__ import annotations

import argparse
import os
from itertools import product

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench import benchmark, compute, rows

from ordinality.datasets import Split, equal_frequency, load, smooth_ordinal
from ordinality.experiments import Method

SMOOTH = {"3 features": (3000, 3), "10000 rows": (10_000, 8), "100000 rows": (100_000, 8)}
SETS = ("cpu_act", "bank32nh", "california_housing", "house_16h")
MOVED = ("10000 rows", "california_housing", "cpu_act")  # where points are learnt too
METRICS = ("log", "rps", "loo", "unexplained", "noise", "total_noise", "length_scale")


def problem(name: str, number: int) -> Split:
    if name in SMOOTH:
        n, d = SMOOTH[name]
        return Split(*smooth_ordinal(n, 5, d=d, noise=0.25, seed=number)[:4])
    whole = load(f"regression/{name}")
    y = equal_frequency(whole.y, 5)
    test, train = np.split(np.random.default_rng(number).permutation(len(y)), [len(y) // 5])
    return Split(whole.X[train], y[train], whole.X[test], y[test])


def scored(proba: np.ndarray, y: np.ndarray) -> dict:
    from ordinality import metrics

    return {
        "log": metrics.log_score(y, proba),
        "rps": metrics.ranked_probability_score(y, proba),
    }


def gp(split: Split, seed: int, **options) -> dict:
    from ordinality import OrdinalGP, metrics

    model = OrdinalGP(**options).fit(split.X, split.y)
    return {
        **scored(model.predict_level_proba(split.X_test), split.y_test),
        "loo": metrics.log_score(split.y, model.loo_proba_),
        "unexplained": model.unexplained_,
        "noise": model.noise_,
        "total_noise": model.total_noise_,
        "length_scale": model.kernel_.length_scale,
    }


def trees(split: Split, seed: int) -> dict:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(random_state=seed).fit(split.X, split.y)
    return scored(model.predict_proba(split.X_test), split.y_test)


POINTS = tuple(Method(f"{M} points", f"{M} points", gp, {"inducing": M})
               for M in (25, 50, 100, 200))  # fmt: skip
LEARNT = tuple(
    Method(f"{M} points learnt", f"{M} points, learnt", gp,
           {"inducing": M, "learn_points": True})
    for M in (50, 100, 200)
)  # fmt: skip
MODELS = (
    Method("gp", "OrdinalGP()", gp),
    Method("ard", 'OrdinalGP("ard")', gp, {"kernel": "ard"}),
    Method("trees", "HistGradientBoostingClassifier", trees),
)


def spec(splits: int):
    return benchmark(
        "inducing_points", "Inducing points, and trees beside them", metrics=METRICS,
        sets=(*SMOOTH, *SETS), partitions=splits, problem=problem,
        methods=(*POINTS, *LEARNT, *MODELS),
    )  # fmt: skip


def cells(splits: int):
    """Points on three features; both kernels on real sets; the first split of smooth rows."""
    for cell in spec(splits).cells():
        name, method = cell.set, cell.method
        few, first = name == "3 features", cell.partition == 1
        if "points" in method:
            moved = name in MOVED and method != POINTS[0].name  # of which none are learnt
            wanted = first and (moved or (few and "learnt" not in method))
        else:
            wanted = name in SETS or (first and not few and method != "ard")
        if wanted:
            yield cell


def report(splits: int) -> None:
    every = rows(spec(splits), cells(splits))
    print("| data | method | splits | log | rps | loo | unexplained | noise | seconds |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, method in product((*SMOOTH, *SETS), (*POINTS, *LEARNT, *MODELS)):
        own = [r for r in every if (r["set"], r["method"]) == (name, method.name)]
        if not own:
            continue
        names = (*METRICS[:5], "seconds")
        means = {k: np.mean([r[k] for r in own]) if k in own[0] else np.nan for k in names}
        shown = " | ".join("" if np.isnan(x) else f"{x:.4f}" for x in means.values())
        print(f"| {name} | {method.title} | {len(own)} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    args = parser.parse_args()
    compute(spec(args.splits), cells(args.splits))
    report(args.splits)


if __name__ == "__main__":
    main()
