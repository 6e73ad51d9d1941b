"""The tables of docs/thresholded-ensembles.md: which margins, links, and which trees.

    python benchmarks/boosting_choices.py           # all
    python benchmarks/boosting_choices.py links     # or some: margins, links, depths, trees

`margins`: test errors of 200 sigmoids with all margins, with left and right ones, and of
RankBoost, over ten published partitions. `links`: log score on test rows of the frequencies, of
a link fitted to the training rows' own scores, and of the link fitted to left-out rows.
`depths`: best log score over rounds of rows that were neither learnt from nor among the test
rows of the split, by depth and learning rate; the defaults of trees were chosen from it.
`trees`: fixed trees of depth 3, 200 rounds, and the defaults, on test rows of other splits and
of two sets that did not choose. Needs the data folder (ORDINALITY_DATA); some minutes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.progress import track

from ordinality import OrdinalBoost, RankBoost, datasets, metrics
from ordinality.boosting.ensemble import boost
from ordinality.boosting.learners import Tree
from ordinality.estimators.calibration import learn_link

MODELS = {
    "all": OrdinalBoost("all"),
    "left-right": OrdinalBoost("left-right"),
    "rank": RankBoost(),
}
PUBLISHED = ("era", "esl", "car")  # levels of their own; the others are cut into ten
CUT = ("abalone", "boston_housing", "stocks")


def parts(name: str, count: int) -> Iterator[datasets.Split]:
    """X, y, X_test, y_test of the first partitions, labels from 1."""
    kind, bins = ("equal-frequency", 10) if name in CUT else ("orca", None)
    yield from track(datasets.partitions(name, kind, bins)[:count], description=name)


def levels_of(*labels: np.ndarray) -> np.ndarray:
    return np.arange(1, max(y.max() for y in labels) + 1)


def margins() -> None:
    print(
        "| set | rows | " + " | ".join(f"{m}: errors, off" for m in MODELS) + " | difference |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for name in (*PUBLISHED, *CUT):
        errors: dict[str, list] = {m: [] for m in MODELS}
        for X, y, X_test, y_test in parts(name, 10):
            for m, model in MODELS.items():
                model.set_params(
                    learner="sigmoid", calibration_folds=None, levels=levels_of(y, y_test)
                )
                off = np.abs(model.fit(X, y).predict(X_test) - y_test)
                errors[m].append((np.mean(off > 0), off.mean()))
        means = {m: np.mean(e, axis=0).round(3) for m, e in errors.items()}
        paired = np.array(errors["left-right"]) - np.array(errors["all"])
        error = paired.std(axis=0, ddof=1) / np.sqrt(len(paired))
        shown = " | ".join(f"{a:.3f}, {b:.3f}" for a, b in means.values())
        difference = ", ".join(
            f"{d:+.3f} ± {e:.3f}" for d, e in zip(paired.mean(axis=0), error, strict=True)
        )
        print(f"| {name} | {len(y)} | {shown} | {difference} |", flush=True)


def links() -> None:
    print("| set | rows | frequencies | link on training rows | link on left-out rows |")
    print("|---|--:|--:|--:|--:|")
    for name in ("esl", "balance_scale", "automobile", "bondrate"):
        scores = []
        for X, y, X_test, y_test in parts(name, 5):
            levels = levels_of(y, y_test)
            K, rows = len(levels), np.arange(len(y_test))
            model = OrdinalBoost(levels=levels).fit(X, y)
            seen = np.bincount(y - 1, minlength=K)
            frequencies = np.tile((seen + 1 / K) / (len(y) + 1), (len(y_test), 1))
            own = learn_link(model.predict_latent(X), y - 1, K).proba(
                model.predict_latent(X_test)
            )
            rivals = (frequencies, own, model.predict_level_proba(X_test))
            scores.append([-np.mean(np.log(p[rows, y_test - 1])) for p in rivals])
        shown = " | ".join(f"{score:.2f}" for score in np.mean(scores, axis=0))
        print(f"| {name} | {len(y)} | {shown} |", flush=True)


# ---------------------------------------------------------------- trees

FIXED = {"n_estimators": 200, "max_depth": 3, "learning_rate": 1.0, "early_stopping": False}
TREES: dict[str, dict] = {"fixed": FIXED, "default": {}}
SIZES = (
    ("california_housing", 15_000), ("california_housing", 1000), ("abalone", 3000),
    ("winequality_white", 3600), ("skillcraft", 2400), ("bank8fm", 6000), ("diabetes", 330),
)  # fmt: skip
CHOICES = (
    ("california_housing", 300), ("abalone", 300), ("cpu_act", 1000), ("skillcraft", 2000),
    ("california_housing", 3000), ("california_housing", 10_000), ("house_16h", 10_000),
)  # fmt: skip
STAGES = (10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 700, 1000)


def halves(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Three quarters of the rows (15,000 at most) to learn from, the others to test."""
    data = datasets.load(name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    if np.unique(y).size > 10:
        y = datasets.equal_frequency(y, 10)
    known = np.isfinite(X).all(axis=1)
    X, y = X[known], np.unique(y[known], return_inverse=True)[1]
    turn = np.random.default_rng(seed).permutation(len(y))
    learnt, other = np.split(turn, [min(15_000, 3 * len(y) // 4)])
    return X[learnt], y[learnt], X[other], y[other]


def depths() -> None:
    print("| set, rows | rate | " + " | ".join(f"depth {d}" for d in (2, 3, 4, 5, 6, 8)) + " |")
    print("|---|--:" + "|--:" * 6 + "|")
    for name, n in CHOICES:
        X, y, *_ = halves(name, 0)
        left_out = slice(max(n, len(y) - 2000), None)
        for rate in (1.0, 0.3, 0.15):
            found = []
            for depth in (2, 3, 4, 5, 6, 8):
                fitted = boost(
                    X[:n], y[:n], int(y.max()) + 1, Tree(depth), rounds=STAGES[-1], rate=rate,
                    rng=np.random.default_rng(0),
                )  # fmt: skip
                found.append(best_stage(fitted, X[left_out], y[left_out]))
            shown = " | ".join(f"{score:.3f} at {t}" for score, t in found)
            print(f"| {name}, {n} | {rate} | {shown} |", flush=True)


def best_stage(fitted, X: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Least log score over the rounds, each half judged by a link of the other; the round."""
    K, parts = int(y.max()) + 1, np.arange(len(y)) % 2
    best = (np.inf, 0)
    for t, s in enumerate(fitted.staged_scores(X), start=1):
        if t in STAGES:
            score = 0.0
            for k in (0, 1):
                p = learn_link(s[parts != k], y[parts != k], K).proba(s[parts == k])
                score -= np.log(p[np.arange(len(p)), y[parts == k]]).sum() / len(y)
            best = min(best, (score, t))
    return best


def trees() -> None:
    print(
        "| set, rows | " + " | ".join(f"{m}: RPS, log score, s" for m in TREES) + " | rounds |"
    )
    print("|---|--:|--:|--:|")
    for name, n in SIZES:
        found: dict[str, list] = {m: [] for m in TREES}
        rounds = []
        for seed in (1, 2, 3):
            X, y, X_test, y_test = halves(name, seed)
            levels = np.arange(max(y.max(), y_test.max()) + 1)
            for m, given in TREES.items():
                model = OrdinalBoost(learner="tree", levels=levels, **given)
                began = time.process_time()
                model.fit(X[:n], y[:n])
                seconds = time.process_time() - began
                p = model.predict_level_proba(X_test)
                rps = metrics.ranked_probability_score(y_test, p, levels=levels)
                found[m].append((rps, metrics.log_score(y_test, p, levels=levels), seconds))
            rounds.append(model.n_estimators_)
        shown = " | ".join(
            "{:.4f}, {:.4f}, {:.1f}".format(*np.mean(f, axis=0)) for f in found.values()
        )
        print(f"| {name}, {n} | {shown} | {rounds} |", flush=True)


if __name__ == "__main__":
    tables = (margins, links, depths, trees)
    chosen = sys.argv[1:] or [table.__name__ for table in tables]
    for table in tables:
        if table.__name__ in chosen:
            table()
