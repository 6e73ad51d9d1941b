"""Inducing points of `PreferenceGP`: what items and pairs cost, and exact inference beside it.

    python benchmarks/preference_points.py

Utilities are a smooth random function of five normal features plus an effect of each item, of
variance 0.3 where the function's is 1; answers have noise 0.5. Pairs are random, and 20,000
others are held out. Everything is learnt, with the defaults. *truth* is the log score of the
probabilities that the answers were drawn with. Items with few answers cannot come near it.
"""

from __future__ import annotations

import os
from itertools import product
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench import benchmark, compute, rows
from scipy.special import log_ndtr

from ordinality.experiments import Method

SIZES = {"2000 x 20000": (2000, 20_000), "10000 x 100000": (10_000, 100_000),
         "100000 x 200000": (100_000, 200_000)}  # fmt: skip
EXACT = "2000 x 20000"  # the one where exact inference takes less than minutes
METRICS = ("log", "accuracy", "truth", "unexplained", "item_variance", "noise")
SPREAD, NOISE, FEATURES = np.sqrt(0.3), 0.5, 2000


class Answered(NamedTuple):
    """Items, answered pairs, and others to predict."""

    items: np.ndarray
    pairs: np.ndarray
    answers: np.ndarray
    test: np.ndarray
    truth: np.ndarray
    gap: np.ndarray  # of utilities, of the pairs to predict


def problem(name: str, number: int) -> Answered:
    n, m = SIZES[name]
    rng = np.random.default_rng(number)
    X = rng.normal(size=(n, 5))
    frequency, phase = rng.normal(size=(5, FEATURES)) / 2.0, rng.uniform(0, 2 * np.pi, FEATURES)
    weight = rng.normal(size=FEATURES) * np.sqrt(2 / FEATURES)
    blocks = np.array_split(X, max(1, n // 2000))
    utility = np.concatenate([np.cos(x @ frequency + phase) @ weight for x in blocks])
    utility += SPREAD * rng.normal(size=n)
    pairs = rng.integers(n, size=(m + 40_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][: m + 20_000]
    gap = utility[pairs[:, 0]] - utility[pairs[:, 1]]
    answers = np.where(gap + np.sqrt(2) * NOISE * rng.normal(size=len(gap)) > 0, 1, -1)
    return Answered(X, pairs[:m], answers[:m], pairs[m:], answers[m:], gap[m:])


def fitted(data: Answered, seed: int, **options) -> dict:
    from ordinality import PreferenceGP

    model = PreferenceGP(data.items, **options).fit(data.pairs, data.answers)
    proba = model.predict_proba(data.test)[:, 1]
    given = np.where(data.truth > 0, proba, 1 - proba)
    return {
        "log": -np.mean(np.log(given)),
        "accuracy": np.mean(given > 0.5),
        "truth": -np.mean(log_ndtr(data.truth * data.gap / (np.sqrt(2) * NOISE))),
        "unexplained": model.unexplained_,
        "item_variance": model.item_variance_,
        "noise": model.noise_,
    }


METHODS = (
    Method("points", "PreferenceGP()", fitted),
    Method("exact", "PreferenceGP(inducing=None)", fitted, {"inducing": None}),
)


def spec():
    return benchmark(
        "preference_points", "Items and pairs through inducing points", metrics=METRICS,
        sets=tuple(SIZES), partitions=1, problem=problem, methods=METHODS,
    )  # fmt: skip


def cells():
    return [cell for cell in spec().cells() if cell.method == "points" or cell.set == EXACT]


def main() -> None:
    compute(spec(), cells())
    every = rows(spec(), cells())
    names = (*METRICS, "seconds")
    print(f"| items x pairs | method | {' | '.join(names)} |")
    print("|---|---|" + "--:|" * len(names))
    for name, method in product(SIZES, METHODS):
        for row in every:
            if (row["set"], row["method"]) == (name, method.name):
                shown = " | ".join(f"{row[k]:.4f}" for k in METRICS)
                print(f"| {name} | {method.title} | {shown} | {row['seconds']:.1f} |")


if __name__ == "__main__":
    main()
