"""Label rankings with inducing points: beside exact inference, and from all rows of a set.

    python benchmarks/label_points.py

Needs the data folder (ORDINALITY_DATA). Of each set the same 2000 rows are the test; 1000
others (500 from nine labels on), or all others, are learnt from. Everything is learnt, with the
defaults of `LabelRankingGP` but for what is named. A row per fit is kept as soon as it is done;
a second run computes only what is missing.
"""

from __future__ import annotations

import os
from itertools import product

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench import benchmark, compute, rows

from ordinality.datasets import Split, load
from ordinality.experiments import Method

FEW = {"calhousing": 1000, "fried": 1000, "elevators": 500}
SETS = tuple(f"{name}, {size}" for name in FEW for size in ("few rows", "all rows"))
METRICS = ("rows", "labels", "points", "pair error", "pair log", "top error", "unexplained")
_TEST = 2000


def problem(name: str, number: int) -> Split:
    which, _, size = name.partition(", ")
    whole = load(f"label_ranking/{which}")
    order = np.random.default_rng(number).permutation(len(whole.y))
    test, train = np.split(order, [_TEST])
    train = train[: FEW[which]] if size == "few rows" else train
    return Split(whole.X[train], whole.y[train], whole.X[test], whole.y[test])


def gp(split: Split, seed: int, **options) -> dict:
    from ordinality import LabelRankingGP

    model = LabelRankingGP(**options).fit(split.X, split.y)
    proba = model.predict_pairs_proba(split.X_test)
    points, ahead = model.inducing_points_, split.y_test[:, :, None] < split.y_test[:, None, :]
    best = np.argmin(split.y_test, axis=1)
    return {
        "rows": len(split.X),
        "labels": len(model.classes_),
        "points": 0 if points is None else len(points),
        "pair error": 1.0 - model.score(split.X_test, split.y_test),
        "pair log": -float(np.mean(np.log(proba[ahead]))),
        "top error": float(np.mean(model.predict_top(split.X_test) != best)),
        "unexplained": model.unexplained_,
    }


METHODS = (
    Method("exact", "exact", gp, {"inducing": None}),
    Method("auto", "default points", gp),
    Method("100 points", "100 points", gp, {"inducing": 100}),
    Method("auto, EP", "default points, EP", gp, {"inference": "ep"}),
)


def spec():
    return benchmark(
        "label_points", "Label rankings with inducing points", metrics=METRICS, sets=SETS,
        partitions=1, problem=problem, methods=METHODS,
    )  # fmt: skip


def cells():
    """Exact inference of few rows only; EP on all rows of a few labels."""
    for cell in spec().cells():
        few = cell.set.endswith("few rows")
        left_out = "auto, EP" if few or cell.set.startswith("elevators") else None
        if cell.method != left_out and (few or cell.method != "exact"):
            yield cell


def report() -> None:
    every = rows(spec(), cells())
    print("| data | labels | rows | method | points | pair error % | log score | top error % "
          "| unexplained % | seconds |")  # fmt: skip
    print("|---|--:|--:|---|--:|--:|--:|--:|--:|--:|")
    for name, method in product(SETS, METHODS):
        for r in (r for r in every if (r["set"], r["method"]) == (name, method.name)):
            print(f"| {name.partition(',')[0]} | {r['labels']} | {r['rows']} | {method.title} "
                  f"| {r['points'] or ''} | {100 * r['pair error']:.1f} | {r['pair log']:.3f} "
                  f"| {100 * r['top error']:.1f} | {100 * r['unexplained']:.1f} "
                  f"| {r['seconds']:.0f} |")  # fmt: skip


if __name__ == "__main__":
    compute(spec(), cells())
    report()
