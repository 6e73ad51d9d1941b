"""`PreferenceGP` as it comes on the data of table 1 of Chu & Ghahramani (2005, ICML).

    python benchmarks/preference_pairs.py              # what is not done yet, and the table
    python benchmarks/preference_pairs.py --table      # only print what is stored

The draws are those of `ordinality reproduce preference/table-1`, which has the paper's own
methods; this adds the default, whose items have effects of their own beside their features.
Needs the data folder (ORDINALITY_DATA). A line per (set, draw) is appended to
results/preference_pairs.jsonl as it is done; a second run does only what is missing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.progress import track

from ordinality import PreferenceGP
from ordinality.experiments.specs import preference, problems

RESULTS = Path(__file__).parent / "results" / "preference_pairs.jsonl"
DRAWS = 20
TABLE_1 = preference.SPECS[0]


def run(name: str, number: int) -> dict:
    """Fit the default to the training pairs of a draw, and test it."""
    X, train, test = problems.items(name, number)
    began = time.process_time()
    fitted = PreferenceGP(X).fit(train)
    return {
        "set": name, "draw": number, "seconds": round(time.process_time() - began, 3),
        "pair_error": float(np.mean(fitted.predict(test) != 1)),
        "log_score": float(-np.mean(np.log(fitted.predict_proba(test)[:, 1]))),
        "noise": fitted.noise_, "item_variance": fitted.item_variance_,
    }  # fmt: skip


def stored() -> dict[tuple[str, int], dict]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {(row["set"], row["draw"]): row for row in map(json.loads, lines)}


def report() -> None:
    """A line for each set; distances from the column GP in published deviations."""
    print("| set | m | draws | GP, paper | default | away | log score | seconds |")
    print("|---|--:|--:|---|---|--:|--:|--:|")
    for name in TABLE_1.sets:
        rows = [row for (of, _), row in stored().items() if of == name]
        error = 100 * np.array([row["pair_error"] for row in rows])
        score = np.mean([row["log_score"] for row in rows])
        seconds = np.mean([row["seconds"] for row in rows])
        theirs = TABLE_1.published[name, "gp", "pair_error"]
        away = (error.mean() - theirs.mean) / theirs.spread
        print(
            f"| {name} | {problems.N_PAIRS[name]} | {len(rows)} | {theirs.mean:.2f} ± "
            f"{theirs.spread:.2f} | {error.mean():.2f} ± {error.std(ddof=1):.2f} | {away:+.2f} "
            f"| {score:.4f} | {seconds:.2f} |"
        )


def main() -> None:
    if "--table" not in sys.argv[1:]:
        RESULTS.parent.mkdir(exist_ok=True)
        done = stored()
        cells = product(TABLE_1.sets, range(1, DRAWS + 1))
        with RESULTS.open("a") as file:
            for cell in track([c for c in cells if c not in done], description="draws"):
                file.write(json.dumps(run(*cell)) + "\n")
                file.flush()
    report()


if __name__ == "__main__":
    main()
