"""`OrdinalTrees` beside LightGBM's multiclass model and K - 1 binary ones, and a million rows.

    python benchmarks/trees.py [--splits 3]   # those that the defaults were chosen by
    python benchmarks/trees.py --first 101 --splits 5 --only california_housing house_16h ...
    python benchmarks/trees.py --million      # 100 rounds on 1,000,000 rows of 10 columns

Needs the data folder (ORDINALITY_DATA) and the extra `trees`. The rivals have the same learning
rate, leaves, share of held-out rows, patience and floor; `refitted` ones are grown again from
all rows, as ours is. One thread; seconds are of the processor, from the rows to the scores of
the test rows. Differences are paired over splits. A row per fit is kept as soon as it is done;
a second run computes only what is missing.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import product

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench import benchmark, compute, rows

from ordinality.datasets import Split, equal_frequency, load
from ordinality.experiments import Method

TRAIN = {"california_housing": 15_000, "house_16h": 15_000, "abalone": 3177}  # in ten levels
SETS = (*TRAIN, "winequality_white", "skillcraft", "affairs", "heart_cleveland")
METRICS = ("log", "rps", "mae", "rounds", "scale", "pool")
FLOORS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


def problem(name: str, number: int) -> Split:
    whole = load(name)
    y = equal_frequency(whole.y, 10) if name in TRAIN else whole.y
    y = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng(number).permutation(len(y))
    train, test = np.split(order, [TRAIN.get(name, 3 * len(y) // 4)])
    return Split(whole.X[train], y[train], whole.X[test], y[test])


def scored(proba: np.ndarray, y: np.ndarray) -> dict:
    from ordinality import metrics
    from ordinality.estimators.base_ordinal import decided

    levels = np.arange(proba.shape[1])
    return {
        "log": metrics.log_score(y, proba, levels=levels),
        "rps": metrics.ranked_probability_score(y, proba, levels=levels),
        "mae": float(np.mean(np.abs(decided(proba, "median") - y))),
    }


def ours(split: Split, seed: int, **options) -> dict:
    from ordinality import OrdinalTrees

    levels = np.arange(max(split.y.max(), split.y_test.max()) + 1)
    model = OrdinalTrees(levels=levels, **options).fit(split.X, split.y)
    return {
        **scored(model.predict_level_proba(split.X_test), split.y_test),
        "rounds": model.n_estimators_,
        "scale": int(model.scale_),
        "pool": model.pool_weight_,
    }


def boosted(X, y, held, X_test, objective: str, refit: bool, **more):
    """Probabilities of held-out and of test rows, and rounds, by LightGBM alone."""
    import lightgbm

    fixed = {
        "objective": objective, "learning_rate": 0.05, "num_threads": 1, "verbosity": -1,
        "num_leaves": 31 if len(y) >= 1000 else 15, "seed": 0, **more,
    }  # fmt: skip
    train = lightgbm.Dataset(np.delete(X, held, axis=0), np.delete(y, held))
    judge = train.create_valid(X[held], y[held])
    stop = lightgbm.early_stopping(50, verbose=False)
    model = lightgbm.train(fixed, train, 2000, valid_sets=[judge], callbacks=[stop])
    proba, rounds = model.predict(X[held]), model.best_iteration
    if refit:
        model = lightgbm.train(fixed, lightgbm.Dataset(X, y), rounds)
    return proba, model.predict(X_test), rounds


def lightgbm(split: Split, seed: int, *, binary: bool, refit: bool) -> dict:
    from sklearn.model_selection import StratifiedShuffleSplit

    X, y, X_test = split.X, split.y, split.X_test
    K = max(y.max(), split.y_test.max()) + 1
    counts = np.bincount(y, minlength=K)
    strata = np.where(counts[y] < 2, y[np.argmax(counts[y])], y)
    held = next(StratifiedShuffleSplit(1, test_size=0.15, random_state=0).split(X, strata))[1]
    if binary:
        seen = [k for k in range(K - 1) if 0 < np.sum(np.delete(y, held) > k) < len(y)]
        found = [boosted(X, (y > k) * 1, held, X_test, "binary", refit) for k in seen]
        rounds = np.mean([one[2] for one in found])
        chosen, proba = (
            levels_of(np.column_stack([one[i] for one in found]), seen, K) for i in (0, 1)
        )
    else:
        chosen, proba, rounds = boosted(
            X, y, held, X_test, "multiclass", refit, num_class=int(K)
        )
    shares = (counts + 1 / K) / (len(y) + 1)
    floor = max(FLOORS, key=lambda e: np.mean(np.log(
        np.maximum(((1 - e) * chosen + e * shares)[np.arange(len(held)), y[held]], 1e-300)
    )))  # fmt: skip
    floor = max(floor, 1e-4)  # as ours: an infinite score compares with nothing
    return {**scored((1 - floor) * proba + floor * shares, split.y_test), "rounds": rounds}


def levels_of(above: np.ndarray, seen: list[int], K: int) -> np.ndarray:
    """Probabilities of K levels from those of ``y > k``, sorted where they cross."""
    every = np.zeros((len(above), K + 1))
    every[:, 0] = 1.0
    every[:, np.array(seen) + 1] = above
    return -np.diff(-np.sort(-every, axis=1), axis=1)


METHODS = (
    Method("trees", "OrdinalTrees()", ours),
    Method("no pool", "nonparallel=False", ours, {"nonparallel": False}),
    Method("plain", "and scale=False", ours, {"nonparallel": False, "scale": False}, True),
    *(
        Method(f"{kind}{', refitted' * refit}", f"LightGBM {kind}", lightgbm,
               {"binary": kind == "binary", "refit": refit})
        for kind, refit in product(("multiclass", "binary"), (False, True))
    ),
)  # fmt: skip


def spec(last: int):
    return benchmark(
        "trees", "Trees for ordered labels beside LightGBM", metrics=METRICS, sets=SETS,
        partitions=last, problem=problem, methods=METHODS,
    )  # fmt: skip


def report(every: list[dict]) -> None:
    print("| data | method | log | rps | mae | rounds | seconds | log - ours | rps - ours |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, method in product(SETS, METHODS):
        base = [r for r in every if (r["set"], r["method"]) == (name, METHODS[0].name)]
        own = [r for r in every if (r["set"], r["method"]) == (name, method.name)]
        if not own or len(own) != len(base):
            continue
        means = [np.mean([r[k] for r in own]) for k in ("log", "rps", "mae")]
        rounds, seconds = (np.mean([r[k] for r in own]) for k in ("rounds", "seconds"))
        shown = " | ".join(f"{x:.4f}" for x in means)
        paired = [
            np.array([a[k] - b[k] for a, b in zip(own, base, strict=True)])
            for k in ("log", "rps")
        ]
        against = " | ".join(
            f"{d.mean():+.4f} ± {d.std(ddof=1) / np.sqrt(len(d)):.4f}" if len(d) > 1 else ""
            for d in paired
        )
        print(
            f"| {name} | {method.name} | {shown} | {rounds:.0f} | {seconds:.1f} | {against} |"
        )


def million() -> None:
    from ordinality import OrdinalTrees
    from ordinality.datasets import smooth_ordinal

    X, y, X_test, y_test = smooth_ordinal(1_000_000, 5, d=10, noise=0.25, seed=0)[:4]
    for options in ({"scale": False, "nonparallel": False}, {"nonparallel": False}):
        began, clock = time.process_time(), time.perf_counter()
        model = OrdinalTrees(100, learning_rate=0.1, n_jobs=-1, **options).fit(X, y)
        spent, waited = time.process_time() - began, time.perf_counter() - clock
        found = scored(model.predict_level_proba(X_test), y_test - model.levels_[0])
        print(options, f"{spent:.0f} s of the processor, {waited:.0f} s by the clock", found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=1, help="number of the first split")
    parser.add_argument("--only", nargs="+", choices=SETS, help="these data sets")
    parser.add_argument("--million", action="store_true")
    args = parser.parse_args()
    if args.million:
        return million()
    last = args.first + args.splits - 1
    wanted = spec(last)
    cells = list(wanted.cells(sets=args.only, partitions=range(args.first, last + 1)))
    compute(wanted, cells)
    report(rows(wanted, cells))


if __name__ == "__main__":
    main()
