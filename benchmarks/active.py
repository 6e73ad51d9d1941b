"""Labels and answers asked for what they tell against such drawn at random.

    python benchmarks/active.py [--seeds 10] [--only abalone] [--known]

Needs the data folder (ORDINALITY_DATA). The labels of a pool of 500 rows (or of as many as
there are beside the test rows) are hidden and can be asked for.

- *rows*: which row to label next for `OrdinalGP`: 20 labels drawn at random, then ten at a time
  up to 120. Metric targets are cut at their quintiles.
- *labels*: which two labels to compare next, and for which row, for `LabelRankingGP`: 20
  comparisons drawn at random, then ten at a time up to 220. Answers are those of the ranking.

All arms of a seed start from the same questions. Kernel, noise and thresholds are learnt when
the number of answers has grown by half since the last time, and held between; with --known
they are those of a fit to all labels of the pool, which tells what learning them costs. Scores
are those of 1000 test rows at most: the log score, and the absolute error of the median level
or the share of pairs of labels in the wrong order.

A row per seed and arm is kept in results/active.jsonl.gz; a second run computes only what is
missing. The curves are drawn to results/active.svg.
"""

from __future__ import annotations

import argparse
import os
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench import RESULTS, benchmark, compute, rows
from elicitation import first

from ordinality.experiments import Method

START, BATCH = 20, 10
MOST = {"rows": 120, "labels": 220}
ROWS = {
    "abalone": "regression/abalone",
    "stocks": "regression/stocks",
    "skillcraft": "ordinal/skillcraft",
    "car": "ordinal/car",
    "computer": "regression/cpu_small",
}
LABELS = {name: f"label_ranking/{name}" for name in ("vehicle", "glass", "housing", "segment")}
SETS = (*ROWS, *LABELS)
ARMS = {
    "rows": ("random", "information", "prediction"),
    "labels": ("random", "information", "prediction", "order"),
}
COLOURS = {"random": "#4a6a8a", "information": "#c9a227"}
COLOURS |= {"prediction": "#b5482a", "order": "#5b8a4a"}


def kind_of(name: str) -> str:
    return "rows" if name in ROWS else "labels"


def drawn(name: str, seed: int) -> dict:
    """Pool and test rows, in units of the spread of the pool, and what is true of them."""
    from ordinality import datasets

    data = datasets.load((ROWS | LABELS)[name])
    X, y = data.X, data.y
    if data.kind == "metric":
        y = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    elif data.kind == "ordinal":
        y = y - 1
    rng = np.random.default_rng([crc32(name.encode()), seed])
    order, n = rng.permutation(len(X)), min(1000, len(X) // 2)
    test, pool = order[:n], order[n : n + 500]
    spread = X[pool].std(axis=0)
    X = (X - X[pool].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    asker = Rows if kind_of(name) == "rows" else Labels
    return {"asker": asker(X[pool], y[pool], X[test], y[test]), "seed": rng.integers(2**32)}


class Rows:
    """Rows whose levels can be asked for."""

    def __init__(self, X, y, X_test, y_test):
        self.X, self.y, self.X_test, self.y_test = X, y, X_test, y_test
        self.questions = list(range(len(X)))
        self.levels, self.most = np.arange(max(y.max(), y_test.max()) + 1), MOST["rows"]

    def fit(self, asked, like):
        from ordinality import OrdinalGP

        held = {} if like is None else {
            "kernel": like.kernel_, "noise": like.noise_, "thresholds": like.thresholds_,
            "optimizer": None,
        }  # fmt: skip
        model = OrdinalGP(levels=self.levels, standardize=False, **held)
        return model.fit(self.X[asked], self.y[asked])

    def next(self, model, arm, asked, seed):
        from ordinality.elicitation import next_row

        chosen = next_row(model, self.X, arm, batch=BATCH, exclude=asked, random_state=seed)
        return chosen.tolist()

    def scores(self, model):
        proba = model.predict_level_proba(self.X_test)
        median = np.argmax(np.cumsum(proba, axis=1) >= 0.5, axis=1)
        log_score = -np.log(proba[np.arange(len(proba)), self.y_test]).mean()
        return log_score, np.abs(median - self.y_test).mean()


class Labels:
    """Rows for which it can be asked which of two labels comes first."""

    def __init__(self, X, ranks, X_test, ranks_test):
        self.X, self.ranks, self.X_test = X, ranks, X_test
        self.L, self.most = ranks.shape[1], MOST["labels"]
        self.pairs = np.triu_indices(self.L, 1)
        a, b = self.pairs
        self.ahead = ranks_test[:, a] < ranks_test[:, b]
        each = list(zip(a.tolist(), b.tolist(), strict=True))
        self.questions = [(i, *pair) for i in range(len(X)) for pair in each]

    def fit(self, asked, like):
        from ordinality import LabelRankingGP

        answers = [[] for _ in self.X]
        for i, a, b in asked:
            answers[i].append((a, b) if self.ranks[i, a] < self.ranks[i, b] else (b, a))
        held = {} if like is None else {
            "kernel": like.kernel_, "noise": like.noise_, "optimizer": None
        }  # fmt: skip
        model = LabelRankingGP(graph="edges", labels=range(self.L), standardize=False, **held)
        return model.fit(self.X, answers)

    def next(self, model, arm, asked, seed):
        from ordinality.elicitation import next_label_pair

        return next_label_pair(
            model, self.X, arm, batch=BATCH, exclude=asked, random_state=seed
        )

    def scores(self, model):
        a, b = self.pairs
        proba = model.predict_pairs_proba(self.X_test)
        right = np.where(self.ahead, proba[:, a, b], proba[:, b, a])
        f = model.scores(self.X_test)
        return -np.log(right).mean(), np.mean((f[:, a] > f[:, b]) != self.ahead)


def curve(problem: dict, seed: int, arm: str, known: bool = False) -> dict:
    """Log score and error after each batch of answers.

    Where the parameters are known they are those of a fit to all answers of the pool.
    """
    asker = problem["asker"]
    order = np.random.default_rng(problem["seed"]).permutation(len(asker.questions))
    every = [asker.questions[k] for k in order]
    asked, learnt, found = every[:START], 0, []
    model = asker.fit(every, None) if known else None
    while True:
        again = len(asked) >= 1.5 * learnt and not known
        learnt = len(asked) if again else learnt
        model = asker.fit(asked, None if again else model)
        found.append(asker.scores(model))
        if len(asked) >= asker.most:
            break
        if arm == "random":
            asked = every[: len(asked) + BATCH]
        else:
            asked = asked + asker.next(model, arm, asked, len(asked))
    log_score, error = np.transpose(found).tolist()
    return {"log_score": log_score, "error": error}


def spec(seeds: int = 10):
    plain = [Method(arm, arm, curve, {"arm": arm}) for arm in ARMS["labels"]]
    known = [
        Method(f"{arm}, known", arm, curve, {"arm": arm, "known": True}, optional=True)
        for arm in ARMS["rows"]
    ]
    return benchmark(
        "active", "Labels asked for what they tell against random ones", sets=SETS,
        methods=(*plain, *known), partitions=seeds, metrics=("log_score", "error"),
        problem=drawn,
    )  # fmt: skip


def stored(name: str, metric: str, known: bool = False) -> dict[str, np.ndarray]:
    """Curves of the seeds that have all arms, a line each, by arm."""
    of: dict = {}
    for row in rows(spec()):
        if row["set"] == name and row.get("known", False) == known:
            of.setdefault(row["arm"], {})[row["partition"]] = row[metric]
    complete = len(of) == len(ARMS[kind_of(name)])
    seeds = sorted(set.intersection(*map(set, of.values()))) if complete else []
    arms = ARMS[kind_of(name)] if seeds else ()
    return {arm: np.array([of[arm][k] for k in seeds]) for arm in arms}


def needed(counts, curves, arm, which) -> float:
    """Answers until the mean curve of an arm is as good as random ones are at the end."""
    level = curves["random"][which, -1].mean()
    return first(counts, -curves[arm][which].mean(axis=0), -level)


def report() -> None:
    """What is gained over random questions in the same seeds, with the standard error of that.

    And the answers needed for the score of random ones at the end, by the mean curve, with 5 %
    and 95 % quantiles by drawing the seeds anew 1000 times.
    """
    head = ["set", "seeds", "arm", "random", "gain half-way", "gain", "needed", "of"]
    for metric in ("log_score", "error"):
        print(f"\n{metric}\n\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
        for name in SETS:
            for known in (False, True):
                curves = stored(name, metric, known)
                of = f"{name}, known" if known else name
                for arm in [arm for arm in curves if arm != "random"]:
                    print("| " + " | ".join([of, *line(curves, arm)]) + " |")


def line(curves, arm) -> list[str]:
    n, steps = curves["random"].shape
    counts = [START + BATCH * k for k in range(steps)]
    gain = curves["random"] - curves[arm]
    mean, error = gain.mean(axis=0), gain.std(axis=0, ddof=min(n - 1, 1)) / np.sqrt(n)
    gains = [f"{mean[k]:+.3f} ± {error[k]:.3f}" for k in (steps // 2, steps - 1)]
    again = np.random.default_rng(0).integers(n, size=(1000, n))
    each = [needed(counts, curves, arm, which) for which in again]
    low, high = np.quantile(each, [0.05, 0.95], method="nearest")
    count, low, high = (
        f"{k:.0f}" if np.isfinite(k) else f"over {counts[-1]}"
        for k in (needed(counts, curves, arm, np.arange(n)), low, high)
    )
    end = f"{curves['random'][:, -1].mean():.3f}"
    return [f"{n}", arm, end, *gains, f"{count} ({low} to {high})", f"{counts[-1]}"]


def draw() -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "active"  # the same file from the same numbers
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 5, figsize=(15, 5.6), layout="constrained")
    axes[1, -1].set_axis_off()
    for ax, name in zip(axes.flat, SETS, strict=False):
        for arm, values in stored(name, "log_score").items():
            x = START + BATCH * np.arange(values.shape[1])
            mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
            ax.plot(x, mean, color=COLOURS[arm], label=arm)
            ax.fill_between(x, mean - error, mean + error, color=COLOURS[arm], alpha=0.2, lw=0)
        ax.set(title=name, xlabel="labels" if name in ROWS else "comparisons")
    for ax in axes[:, 0]:
        ax.set_ylabel("negative log score")
    axes[1, 0].legend(frameon=False)
    figure.savefig(RESULTS / "active.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", choices=SETS, action="append")
    parser.add_argument("--known", action="store_true", help="rows, with known parameters")
    args = parser.parse_args()
    chosen = spec(args.seeds)
    if args.known:
        arms = [f"{arm}, known" for arm in ARMS["rows"]]
        compute(chosen, chosen.cells(args.only or list(ROWS), arms))
    else:
        cells = chosen.cells(args.only)
        compute(chosen, [cell for cell in cells if cell.method in ARMS[kind_of(cell.set)]])
    report()
    draw()


if __name__ == "__main__":
    main()
