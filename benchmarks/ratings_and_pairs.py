"""Ratings and comparisons together, against either alone, on the sushi survey.

    python benchmarks/ratings_and_pairs.py [--draws 20] [--answers 50,100,200]

Needs the data folder (ORDINALITY_DATA). Each of 5000 people scored ten of 100 kinds of sushi
and put them in order. A draw takes so many comparisons, each of two kinds by another person,
and so many scores, each by yet another person; models of the utility that people share are
asked about 4000 comparisons of further people. *twice* has twice the answers of one kind, as
many as *both* has of two. A row per draw and model is kept as soon as it is done; a second run
computes only what is missing.

Kamishima (2003), "Nantonac collaborative filtering: recommendation based on order responses".
"""

from __future__ import annotations

import argparse
import os
from functools import cache
from itertools import product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import polars as pl
from bench import benchmark, compute, rows

from ordinality.experiments import Method

N_TEST = 4000
MODELS = ("pairs", "ratings", "both", "pairs twice", "ratings twice")


@cache
def survey() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of the items; of each person ten items in order, and the scores of those."""
    folder = Path(os.environ["ORDINALITY_DATA"]) / "research_only"
    items = pl.read_csv(folder / "sushi3_items.csv")
    features = items.select("style", "oiliness", "freq_eaten", "price", "freq_sold")
    group = items.select(pl.col("minor_group").cast(pl.String)).to_dummies()
    X = np.column_stack([features.to_numpy(), group.to_numpy()]).astype(float)
    orders = pl.read_csv(folder / "sushi3b_orders.csv.gz").drop("user").to_numpy()
    scores = pl.read_csv(folder / "sushi3b_scores.csv.gz")
    given = np.full((len(orders), len(X)), -1)
    given[scores["user"].to_numpy(), scores["item"].to_numpy()] = scores["score"].to_numpy()
    return X, orders, np.take_along_axis(given, orders, axis=1)


def answers(orders, scores, people, rng):
    """A comparison by each of some people, the preferred item first, and a score by each."""
    places = np.sort([rng.choice(10, 2, replace=False) for _ in people], axis=1)
    place = rng.integers(10, size=len(people))
    return orders[people[:, None], places], (orders[people, place], scores[people, place])


def drawn(name: str, number: int) -> tuple:
    """Features, test pairs, and what each model learns from; `name` is so many answers."""
    m = int(name)
    X, orders, scores = survey()
    rng = np.random.default_rng(number)
    people = rng.permutation(len(orders))
    test, _ = answers(orders, scores, rng.choice(people[4 * m :], N_TEST), rng)
    pairs, _ = answers(orders, scores, people[: 2 * m], rng)
    _, (items, levels) = answers(orders, scores, people[2 * m : 4 * m], rng)
    none = np.empty((0, 2), dtype=int)
    data = {
        "pairs": (pairs[:m], None),
        "ratings": (none, (items[:m], levels[:m])),
        "both": (pairs[:m], (items[:m], levels[:m])),
        "pairs twice": (pairs, None),
        "ratings twice": (none, (items, levels)),
    }
    return X, test, data


def tested(problem: tuple, seed: int, data: str) -> dict:
    from ordinality import PreferenceGP

    X, test, every = problem
    compared, rated = every[data]
    proba = PreferenceGP(X).fit(compared, ratings=rated).predict_proba(test)[:, 1]
    return {"error": np.mean(proba < 0.5), "log": -np.mean(np.log(proba))}


def spec(sizes: list[int], draws: int):
    return benchmark(
        "ratings_and_pairs", "Ratings and comparisons together, against either alone",
        sets=tuple(map(str, sizes)), partitions=draws, problem=drawn, metrics=("error", "log"),
        methods=tuple(Method(name, name, tested, {"data": name}) for name in MODELS),
    )  # fmt: skip


def report(sizes: list[int]) -> None:
    print("| answers of a kind | learnt from | pair error % | log score | both wins |")
    print("|---|---|---|---|---|")
    every = rows(spec(sizes, 1))
    for m, name in product(sizes, MODELS):
        own, both = (
            {r["partition"]: r for r in every if (r["set"], r["method"]) == (str(m), kind)}
            for kind in (name, "both")
        )
        if not own:
            continue
        error = 100 * np.mean([r["error"] for r in own.values()])
        log = np.mean([r["log"] for r in own.values()])
        wins = np.mean([both[k]["error"] < own[k]["error"] for k in own if k in both])
        shown = "" if name == "both" else f"{wins:.0%}"
        print(f"| {m} | {name} | {error:.2f} | {log:.4f} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--answers", default="50,100,200,400")
    args = parser.parse_args()
    sizes = [int(m) for m in args.answers.split(",")]
    compute(spec(sizes, args.draws))
    report(sizes)


if __name__ == "__main__":
    main()
