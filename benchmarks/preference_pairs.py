"""Pair errors on the data of table 1 of Chu & Ghahramani (2005, ICML), beside the table.

    python benchmarks/preference_pairs.py               # columns GP and GPARD, and defaults
    python benchmarks/preference_pairs.py --settings gp/laplace/none --sets triazines
    python benchmarks/preference_pairs.py --table       # only print what is stored

Needs the data folder (ORDINALITY_DATA). Rows of a regression set are items, and the larger
target is preferred. A draw has m training pairs and 20,000 test pairs, all of different
targets; no training pair is tested. A line per (set, draw, setting) is appended to
results/preference_pairs.jsonl as it is done; a second run does only what is missing.

The draws of the paper were not published, so ours are others of the same kind: a difference of
a fraction of the published standard deviation is to be expected.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import polars as pl
from rich.progress import track

RESULTS = Path(__file__).parent / "results" / "preference_pairs.jsonl"
N_TEST = 20_000
DRAWS = 20
# Training pairs, then error in % (mean, standard deviation) of CC-SVM, GP and GPARD.
TABLE_1 = {
    "pyrimidines": (100, (16.01, 2.29), (14.43, 2.02), (16.56, 1.76)),
    "triazines": (300, (20.37, 1.32), (17.78, 0.97), (18.26, 1.45)),
    "machine_cpu": (500, (15.31, 1.26), (12.12, 1.49), (12.86, 0.71)),
    "boston_housing": (700, (13.30, 1.08), (12.85, 0.46), (10.44, 0.64)),
    "abalone": (1000, (18.76, 0.35), (17.29, 0.38), (17.35, 0.38)),
}
COLUMN = {"cc-svm": 1, "gp": 2, "gpard": 3}


def items(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, categories as indicators, and targets."""
    folder = Path(os.environ["ORDINALITY_DATA"]) / "regression"
    path = next(folder.glob(f"{name}.csv*"))
    table = pl.read_csv(path, infer_schema_length=None)
    target = table["target"].to_numpy().astype(float)
    return table.drop("target").to_dummies(pl.selectors.string()).to_numpy().astype(
        float
    ), target


def draw(target: np.ndarray, m: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test pairs of one draw, the preferred item first."""
    rng = np.random.default_rng(number)
    n, seen = len(target), set()
    train, test = np.empty((0, 2), dtype=int), np.empty((0, 2), dtype=int)
    while len(train) < m or len(test) < N_TEST:
        pairs = rng.integers(n, size=(4 * N_TEST, 2))
        pairs = pairs[target[pairs[:, 0]] > target[pairs[:, 1]]]
        if len(train) < m:
            train = np.unique(pairs[: m + 50], axis=0)  # no pair twice
            train = rng.permutation(train)[:m]
            seen = {tuple(pair) for pair in train.tolist()}
        new = [pair for pair in pairs.tolist() if tuple(pair) not in seen]
        test = np.concatenate([test, new])[:N_TEST]
    return train, test


def model(setting: str, X: np.ndarray):
    """The estimator of a setting such as ``gpard/ep/none``: kernel, engine, hyperprior."""
    from ordinality import PreferenceGP
    from ordinality.kernels import Gaussian

    method, *options = setting.split("/")
    d = X.shape[1]
    chosen: dict = {"items": X}
    if method != "default":
        chosen["item_effects"] = False
        chosen["kernel"] = Gaussian(np.full(d, np.sqrt(d)) if method == "gpard" else np.sqrt(d))
    for option in options:
        if option in ("laplace", "ep", "variational"):
            chosen["inference"] = option
        elif option == "none":
            chosen["hyperprior"] = None
    return PreferenceGP(**chosen)


def run(name: str, number: int, setting: str) -> dict:
    X, target = items(name)
    train, test = draw(target, TABLE_1[name][0], number)
    began = time.perf_counter()
    fitted = model(setting, X).fit(train)
    seconds = time.perf_counter() - began
    proba = fitted.predict_proba(test)
    return {
        "set": name, "draw": number, "setting": setting, "seconds": round(seconds, 4),
        "pair_error": float(np.mean(fitted.predict(test) != 1)),
        "log_score": float(-np.mean(np.log(proba[:, 1]))),
        "n_iter": fitted.n_iter_, "converged": fitted.converged_, "noise": fitted.noise_,
        "item_variance": fitted.item_variance_, "log_evidence": fitted.log_evidence_,
    }  # fmt: skip


def stored() -> dict:
    if not RESULTS.exists():
        return {}
    rows = map(json.loads, RESULTS.read_text().splitlines())
    return {(row["set"], row["draw"], row["setting"]): row for row in rows}


def report(cells) -> None:
    """A line a set and setting; beside it what was published, in published deviations."""
    rows = stored()
    print("| set | m | setting | draws | pair error % | published | log score | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, setting in dict.fromkeys((name, setting) for name, _, setting in cells):
        found = [row for (s, _, t), row in rows.items() if (s, t) == (name, setting)]
        if not found:
            continue
        error = 100 * np.array([row["pair_error"] for row in found])
        score, seconds = (np.mean([row[k] for row in found]) for k in ("log_score", "seconds"))
        spread = error.std(ddof=1) if len(error) > 1 else np.nan
        mean, sd = TABLE_1[name][COLUMN.get(setting.split("/")[0], 2)]
        print(
            f"| {name} | {TABLE_1[name][0]} | {setting} | {len(found)} | {error.mean():.2f} ± "
            f"{spread:.2f} | {mean:.2f} ± {sd:.2f} ({(error.mean() - mean) / sd:+.2f}) | "
            f"{score:.4f} | {seconds:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(TABLE_1))
    parser.add_argument("--settings", default="gp/laplace,gpard/laplace,gp/ep,gpard/ep,default")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    args = parser.parse_args()
    cells = [
        (name, number, setting)
        for name in args.sets.split(",")
        for setting in args.settings.split(",")
        for number in range(1, args.draws + 1)
    ]
    todo = [cell for cell in cells if cell not in stored()]
    if not args.table:
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a") as file:
            for cell in track(todo, description="draws"):
                file.write(json.dumps(run(*cell)) + "\n")
                file.flush()
    report(cells)


if __name__ == "__main__":
    main()
