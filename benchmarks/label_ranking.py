"""Ranking actions by expected utility: figure 3 of Chu & Ghahramani (2005, ICML).

    python benchmarks/label_ranking.py [--draws 20] [--labels 2,3,4] [--models laplace,ep,svm]

An input is a probability vector over d = 10 states of the world, uniform on the simplex; a
label is one of L actions with uniform utilities in [0, 1] in each state; the ranking is that of
the expected utilities, without noise. 50 training rows with all L (L - 1) / 2 preferences, 1000
further rows to test (the paper does not say how many it had). Linear kernel of the
probabilities as they are, for all:

- *laplace*, *ep*: `LabelRankingGP`, the evidence alone without a prior, as in the paper.
- *svm*: `LabelRankingSVM` with C = 100, fixed.
- *tuned*: the same with C by five-fold cross-validation, 10^-2 to 10^4 by powers of ten, then
  nine values around the best by steps of 0.2 in the exponent, as in the paper.

A line per cell is appended to results/label_ranking.jsonl; a second run does only what is
missing. The figure goes to results/label_ranking.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.progress import track

HERE = Path(__file__).parent
RESULTS, PLOT = HERE / "results" / "label_ranking.jsonl", HERE / "results" / "label_ranking.svg"
D, N, N_TEST, FOLDS = 10, 50, 1000, 5
MODELS = ("laplace", "ep", "svm", "tuned")
STYLES = {"laplace": "o-", "ep": "D-", "svm": "s--", "tuned": "^:"}
STEPS = 200_000  # of the support vector solver; with C near 10^4 it may want more


def problem(number: int, L: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of states, and the ranks of the actions."""
    rng = np.random.default_rng([number, L])
    utilities = rng.uniform(size=(L, D))
    P = rng.dirichlet(np.ones(D), size=N + N_TEST)
    return P, 1 + np.argsort(np.argsort(-P @ utilities.T, axis=1), axis=1)


def machine(C: float):
    from ordinality import LabelRankingSVM

    return LabelRankingSVM(C, "linear", standardize=False, max_iter=STEPS)


def tuned(X: np.ndarray, Y: np.ndarray):
    """The machine with the C of the best share of preferences in order, the least of equals."""
    from sklearn.model_selection import cross_val_score

    def best(exponents: np.ndarray) -> float:
        shares = [cross_val_score(machine(10.0**e), X, Y, cv=FOLDS).mean() for e in exponents]
        return float(exponents[int(np.argmax(shares))])

    coarse = best(np.arange(-2.0, 5.0))
    return machine(10.0 ** best(coarse + 0.2 * np.arange(-4, 5)))


def run(number: int, L: int, name: str) -> dict:
    from ordinality import LabelRankingGP

    P, ranks = problem(number, L)
    X, Y = P[:N], ranks[:N]
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that were cut; the report shows what they got
        if name in ("laplace", "ep"):
            model = LabelRankingGP("linear", inference=name, hyperprior=None, standardize=False)
        else:
            model = tuned(X, Y) if name == "tuned" else machine(100.0)
        model.fit(X, Y)
    seconds = time.process_time() - begun
    gaps = np.sum((model.predict(P[N:]) - ranks[N:]) ** 2, axis=1)
    return {
        "draw": number, "labels": L, "model": name, "seconds": round(seconds, 3),
        "right": model.score(P[N:], ranks[N:]),
        "spearman": float(np.mean(1 - 6 * gaps / (L * (L**2 - 1)))),
        "C": getattr(model, "C", None),
    }  # fmt: skip


def stored() -> list[dict]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def cell(name: str, L: int, what: str) -> np.ndarray:
    return np.array([r[what] for r in stored() if (r["model"], r["labels"]) == (name, L)])


def report(labels: list[int]) -> None:
    print("| labels | model | draws | preferences right % | Spearman | seconds |")
    print("|--:|---|--:|---|---|--:|")
    for L in labels:
        for name in MODELS:
            right, rho = 100 * cell(name, L, "right"), cell(name, L, "spearman")
            if len(right):
                seconds = np.median(cell(name, L, "seconds"))
                print(
                    f"| {L} | {name} | {len(right)} | {right.mean():.2f} ± {right.std():.2f} "
                    f"| {rho.mean():.4f} ± {rho.std():.4f} | {seconds:.2f} |"
                )


def plot(labels: list[int]) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "label ranking"  # the same file from the same numbers
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    parts = (("right", "share of test preferences right"), ("spearman", "rank correlation"))
    for axis, (what, title) in zip(axes, parts, strict=True):
        for shift, name in enumerate(MODELS):
            at = [L for L in labels if len(cell(name, L, what))]
            if not at:
                continue
            values = [cell(name, L, what) for L in at]
            label = f"{name}, {min(len(v) for v in values)} draws"
            axis.errorbar(
                np.array(at) + 0.08 * (shift - 1.5), [v.mean() for v in values],
                [v.std() for v in values], fmt=STYLES[name], ms=4, lw=1, capsize=2, label=label,
            )  # fmt: skip
        axis.set_title(title)
        axis.set_xlabel("labels")
    axes[0].legend(fontsize=8)
    figure.savefig(PLOT, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--labels", default="2,3,4,5,6,7,8,9,10")
    parser.add_argument("--models", default=",".join(MODELS))
    args = parser.parse_args()
    labels = [int(L) for L in args.labels.split(",")]
    done = {(r["draw"], r["labels"], r["model"]) for r in stored()}
    draws, models = range(1, args.draws + 1), args.models.split(",")
    cells = [(k, L, name) for k in draws for L in labels for name in models]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        for one in track([c for c in cells if c not in done], description="cells"):
            file.write(json.dumps(run(*one)) + "\n")
            file.flush()
    report(labels)
    plot(labels)


if __name__ == "__main__":
    main()
