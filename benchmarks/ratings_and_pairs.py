"""Ratings and comparisons together, against either alone, on the sushi survey.

    python benchmarks/ratings_and_pairs.py [--draws 20] [--answers 50,100,200]

Needs the data folder (ORDINALITY_DATA). Each of 5000 people scored ten of 100 kinds of sushi
and put them in order. A draw takes so many comparisons, each of two kinds by another person,
and so many scores, each by yet another person; models of the utility that people share are
asked about 4000 comparisons of further people. *twice* has twice the answers of one kind, as
many as *both* has of two. A line per draw is appended to results/ratings_and_pairs.jsonl; a
second run does only what is missing.

Kamishima (2003), "Nantonac collaborative filtering: recommendation based on order responses".
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import polars as pl
from rich.progress import track

RESULTS = Path(__file__).parent / "results" / "ratings_and_pairs.jsonl"
N_TEST = 4000
MODELS = ("pairs", "ratings", "both", "pairs twice", "ratings twice")


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


def run(number: int, m: int) -> dict:
    from ordinality import PreferenceGP

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
    row: dict = {"draw": number, "answers": m}
    for name, (compared, rated) in data.items():
        model = PreferenceGP(X).fit(compared, ratings=rated)
        proba = model.predict_proba(test)[:, 1]
        row[name] = {
            "error": float(np.mean(proba < 0.5)),
            "log": float(-np.mean(np.log(proba))),
        }
    return row


def stored() -> list[dict]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def report(sizes: list[int]) -> None:
    print("| answers of a kind | learnt from | pair error % | log score | both wins |")
    print("|---|---|---|---|---|")
    for m in sizes:
        rows = [row for row in stored() if row["answers"] == m]
        for name in MODELS if rows else ():
            error = 100 * np.array([row[name]["error"] for row in rows])
            log = np.array([row[name]["log"] for row in rows])
            wins = np.mean([row["both"]["error"] < row[name]["error"] for row in rows])
            shown = "" if name == "both" else f"{wins:.0%}"
            print(f"| {m} | {name} | {error.mean():.2f} | {log.mean():.4f} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--answers", default="50,100,200,400")
    args = parser.parse_args()
    sizes = [int(m) for m in args.answers.split(",")]
    done = {(row["draw"], row["answers"]) for row in stored()}
    cells = [(k, m) for m in sizes for k in range(1, args.draws + 1) if (k, m) not in done]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        for cell in track(cells, description="draws"):
            file.write(json.dumps(run(*cell)) + "\n")
            file.flush()
    report(sizes)


if __name__ == "__main__":
    main()
