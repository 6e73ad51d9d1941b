"""Test errors of OrdinalGP on published partitions, beside the published tables.

    python benchmarks/partitions.py             # Chu's nine sets, 5 and 10 bins, MAP and EP
    python benchmarks/partitions.py --priors    # the experiment behind the default prior

Needs the data folder (ORDINALITY_DATA). A row per (set, partition, setting) is appended to
results/partitions.jsonl as it is done; a second run does only what is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core instead

import numpy as np
import polars as pl
from joblib import Parallel, delayed
from rich.progress import track
from scipy.stats import norm

RESULTS = Path(__file__).parent / "results" / "partitions.jsonl"
CHU = "diabetes pyrimidines triazines wisconsin machine_cpu auto_mpg boston_housing stocks abalone"
ORCA = (
    "contact_lenses pasture squash_stored squash_unstored tae bondrate new_thyroid automobile "
    "balance_scale esl toy"
)

# Chu & Ghahramani (2005), tables 2 and 3: zero-one error in %, mean absolute error, each as
# (mean, standard deviation) over the 20 partitions, for MAP and for EP.
PUBLISHED = {
    ("diabetes", 5): ((54.23, 13.78), (0.6615, 0.1376), (54.23, 13.78), (0.6654, 0.1373)),
}


def table(folder: str, name: str) -> pl.DataFrame:
    path = Path(os.environ["ORDINALITY_DATA"]) / folder / f"{name}.csv.gz"
    return pl.read_csv(path, infer_schema_length=None)


def split(folder: str, name: str, partition: int):
    """Training and test rows of a partition: X, y, X_test, y_test."""
    part = table(folder, name).filter(pl.col("partition") == partition)
    parts = []
    for role in ("train", "test"):
        rows = part.filter(pl.col("role") == role).drop("partition", "role")
        parts += [rows.drop("target").to_numpy().astype(float), rows["target"].to_numpy()]
    return parts


def settings(name: str, y: np.ndarray, d: int) -> dict:
    """Parameters of OrdinalGP for a named setting such as ``ep/sd=0.5`` or ``laplace/none``."""
    inference, prior, *rest = name.split("/")
    chosen: dict = {"inference": inference}
    if prior == "none":
        chosen["hyperprior"] = None
    elif prior.startswith("sd="):  # of all logarithms, or of length scale:noise:gaps
        sds = [float(sd) for sd in prior[3:].split(":")]
        length, noise, gap = sds * 3 if len(sds) == 1 else sds
        chosen["hyperprior"] = {
            "length_scale": length, "noise": noise, "gap": gap, "first_threshold": 6 * gap,
        }  # fmt: skip
    if "frequencies" in rest:
        below = np.array([np.mean(y <= level) for level in np.unique(y)[:-1]])
        chosen["thresholds"] = np.sqrt(2.0) * norm.ppf(below)
    for option in rest:
        if option.startswith("restarts="):
            chosen["restarts"] = int(option[9:])
    return chosen


def run(folder: str, name: str, partition: int, setting: str) -> dict:
    from ordinality import OrdinalGP, metrics

    X, y, X_test, y_test = split(folder, name, partition)
    began = time.perf_counter()
    model = OrdinalGP(**settings(setting, y, X.shape[1])).fit(X, y)
    seconds = time.perf_counter() - began
    levels = model.levels_
    seen = np.isin(y_test, levels)  # a level without training rows cannot be predicted
    predicted, proba = model.predict(X_test), model.predict_level_proba(X_test)
    score = {"levels": levels}
    return {
        "set": name, "partition": partition, "setting": setting, "seconds": round(seconds, 4),
        "zero_one": float(np.mean(predicted != y_test)),
        "mae": float(np.mean(np.abs(predicted - y_test))),
        "log_score": metrics.log_score(y_test[seen], proba[seen], **score),
        "rps": metrics.ranked_probability_score(y_test[seen], proba[seen], **score),
        "n_iter": model.n_iter_, "converged": model.converged_, "noise": model.noise_,
        "log_evidence": model.log_evidence_,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--priors", action="store_true")
    parser.add_argument("--sets", default=None)
    parser.add_argument("--settings", default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    args = parser.parse_args()
    cells = list(_cells(args))
    done = _stored()
    todo = [cell for cell in cells if (cell[1], cell[2], cell[3]) not in done]
    if not args.table:
        RESULTS.parent.mkdir(exist_ok=True)
        rows = Parallel(n_jobs=args.jobs, return_as="generator_unordered")(
            delayed(run)(*cell) for cell in todo
        )
        with RESULTS.open("a") as file:
            for row in track(rows, total=len(todo), description="partitions"):
                file.write(json.dumps(row) + "\n")
                file.flush()
    _report(cells)


def _cells(args):
    chosen = args.settings
    if args.priors:
        sets = [("chu_partitions", f"{s}_{b}") for s in CHU.split()[:6] for b in (5, 10)]
        sets += [("orca_partitions", s) for s in ORCA.split()]
        chosen = chosen or "ep/none,ep/sd=0.25,ep/sd=0.5,ep/sd=1,ep/sd=2"
    else:
        sets = [("chu_partitions", f"{s}_{b}") for b in (5, 10) for s in CHU.split()]
        chosen = chosen or "laplace/weak,ep/weak"
    for folder, name in sets:
        if args.sets and name not in args.sets.split(","):
            continue
        for setting in chosen.split(","):
            for partition in range(1, 21 if folder == "chu_partitions" else 31):
                yield folder, name, partition, setting


def _stored() -> dict:
    if not RESULTS.exists():
        return {}
    rows = map(json.loads, RESULTS.read_text().splitlines())
    return {(row["set"], row["partition"], row["setting"]): row for row in rows}


def _report(cells) -> None:
    stored = _stored()
    names = dict.fromkeys((name, setting) for _, name, _, setting in cells)
    print("| set | setting | zero-one % | absolute | log score | RPS | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, setting in names:
        rows = [r for (s, _, t), r in stored.items() if (s, t) == (name, setting)]
        if not rows:
            continue
        column = {key: np.array([row[key] for row in rows]) for key in rows[0] if key != "set"
                  and not isinstance(rows[0][key], str)}  # fmt: skip
        z, a = 100 * column["zero_one"], column["mae"]
        print(
            f"| {name} | {setting} | {z.mean():.2f} ± {z.std(ddof=1):.2f} | "
            f"{a.mean():.4f} ± {a.std(ddof=1):.4f} | {column['log_score'].mean():.4f} | "
            f"{column['rps'].mean():.4f} | {column['seconds'].mean():.2f} |"
        )


if __name__ == "__main__":
    main()
