"""Questions chosen for what they tell against questions drawn at random.

    python benchmarks/elicitation.py [--judges 30] [--only synthetic]

A judge has a utility for each item and answers with noise whose standard deviation, on a
difference, is 0.3 of that of the utilities: about one answer in fifteen to random questions is
wrong. Both arms start from the same ten random comparisons, learn all parameters at 10, 20, 40,
80 and 160 answers and take the others in by `update`. Accuracy is the share of all pairs in the
right order.

- *synthetic*: 100 items, four normal features; utilities are a draw from a Gaussian process of
  them plus effects of items.
- *sushi* needs the data folder (ORDINALITY_DATA): the 100 kinds with their features; a judge's
  utilities are a draw from the posterior given the orders of 60 people of the survey, others
  for each judge.
- *few*: as synthetic, with 25 items, so that there are four times as many answers to an item.

A line per judge is appended to results/elicitation.jsonl; a second run does only what is
missing. The curves are drawn to results/elicitation.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

RESULTS = Path(__file__).parent / "results" / "elicitation.jsonl"
NOISE, START = 0.3, 10
LEARN = {20, 40, 80, 160}
COUNTS = {
    "random": [10, 20, 30, 40, 60, 80, 100, 120, 140, 160, 180, 200],
    "information": [10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100],
}
SETS = ("synthetic", "sushi", "few")
TITLES = {"synthetic": "100 synthetic items", "sushi": "100 sushi", "few": "25 synthetic items"}


def synthetic(rng, n=100):
    from ordinality.kernels import Gaussian

    X = rng.normal(size=(n, 4))
    return X, rng.multivariate_normal(np.zeros(n), Gaussian(2.0)(X) + 0.1 * np.eye(n))


def few(rng):
    return synthetic(rng, 25)


def sushi(rng):
    import polars as pl

    from ordinality import PreferenceGP

    folder = Path(os.environ["ORDINALITY_DATA"]) / "research_only"
    items = pl.read_csv(folder / "sushi3_items.csv")
    features = items.select("style", "oiliness", "freq_eaten", "price", "freq_sold")
    group = items.select(pl.col("minor_group").cast(pl.String)).to_dummies()
    X = np.column_stack([features.to_numpy(), group.to_numpy()]).astype(float)
    orders = pl.read_csv(folder / "sushi3b_orders.csv.gz").drop("user").to_numpy()
    some = orders[rng.choice(len(orders), 60, replace=False)]
    pairs = np.stack([some[:, :-1], some[:, 1:]], axis=-1).reshape(-1, 2)
    return X, rng.multivariate_normal(
        *PreferenceGP(X, inference="laplace").fit(pairs).posterior()
    )


def accuracy(f, mean) -> float:
    i, j = np.triu_indices(len(f), 1)
    return float(np.mean((f[i] > f[j]) == (mean[i] > mean[j])))


def run(name: str, number: int) -> dict:
    rng = np.random.default_rng([SETS.index(name), number])
    X, f = {"synthetic": synthetic, "sushi": sushi, "few": few}[name](rng)
    row = {"set": name, "judge": number}
    state = rng.integers(2**32)
    for arm in COUNTS:
        began = time.process_time()
        row[arm] = curve(X, f, arm, np.random.default_rng(state))
        row[f"{arm} seconds"] = round(time.process_time() - began, 2)
    return row


def curve(X, f, arm: str, rng) -> list[float]:
    """Accuracy at each of the counts of an arm."""
    from ordinality import PreferenceGP
    from ordinality.elicitation import next_pair

    def answered(pairs):
        gap = f[pairs[:, 0]] - f[pairs[:, 1]] + NOISE * f.std() * rng.normal(size=len(pairs))
        return np.where((gap > 0)[:, None], pairs, pairs[:, ::-1])

    def drawn(count):
        return np.array([rng.choice(len(f), 2, replace=False) for _ in range(count)])

    asked = answered(drawn(START))
    model = PreferenceGP(X).fit(asked)
    found = [accuracy(f, model.utility().mean)]
    for count in COUNTS[arm][1:]:
        while len(asked) < count:
            chosen = arm == "information"
            further = answered(next_pair(model) if chosen else drawn(count - len(asked)))
            asked = np.concatenate([asked, further])
            model = model.fit(asked) if len(asked) in LEARN else model.update(further)
        found.append(accuracy(f, model.utility().mean))
    return found


def stored() -> list[dict]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def report() -> None:
    for name in SETS:
        rows = [row for row in stored() if row["set"] == name]
        if not rows:
            continue
        means = {arm: np.mean([row[arm] for row in rows], axis=0) for arm in COUNTS}
        print(f"\n{name}, {len(rows)} judges\n")
        print("| random | accuracy | chosen reach it | share | chosen, half as many | ahead |")
        print("|---|---|---|---|---|---|")
        for k, count in enumerate(COUNTS["random"]):
            half = COUNTS["information"].index(count // 2) if count >= 40 else None
            if half is None:
                continue
            level = means["random"][k]
            # The first time the mean curve gets there, between the counts on a straight line.
            reached = first(COUNTS["information"], means["information"], level)
            ahead = np.mean([r["information"][half] >= r["random"][k] for r in rows])
            print(
                f"| {count} | {level:.4f} | {reached:.0f} | {reached / count:.2f} | "
                f"{means['information'][half]:.4f} | {ahead:.0%} |"
            )


def first(counts, values, level) -> float:
    above = np.flatnonzero(np.asarray(values) >= level)
    if not len(above):
        return np.inf
    k = above[0]
    if k == 0:
        return counts[0]
    share = (level - values[k - 1]) / (values[k] - values[k - 1])
    return counts[k - 1] + share * (counts[k] - counts[k - 1])


def draw() -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "elicitation"  # the same file from the same numbers
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
    for ax, name in zip(axes, SETS, strict=True):
        rows = [row for row in stored() if row["set"] == name]
        for arm, colour in (("information", "#b5482a"), ("random", "#4a6a8a")):
            values = np.array([row[arm] for row in rows])
            if not len(values):
                continue
            mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
            ax.plot(COUNTS[arm], mean, color=colour, label=arm)
            ax.fill_between(
                COUNTS[arm], mean - error, mean + error, color=colour, alpha=0.2, lw=0
            )
        ax.set(title=f"{TITLES[name]}, {len(rows)} judges", xlabel="answers")
    axes[0].set_ylabel("pairs in the right order")
    axes[0].legend(frameon=False)
    figure.savefig(RESULTS.with_suffix(".svg"), metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judges", type=int, default=30)
    parser.add_argument("--only", choices=SETS)
    args = parser.parse_args()
    done = {(row["set"], row["judge"]) for row in stored()}
    names = [args.only] if args.only else SETS
    cells = [(s, k) for k in range(1, args.judges + 1) for s in names if (s, k) not in done]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        for cell in cells:
            file.write(json.dumps(run(*cell)) + "\n")
            file.flush()
    report()
    draw()


if __name__ == "__main__":
    main()
