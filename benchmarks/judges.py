"""Whether judges who flip coins are found, and true ones left alone.

    python benchmarks/judges.py [--sessions 30] [--ratios 2,1] [--coins 5]

30 judges answer in turn what `panel.asking` asks about the order of 40 items without features,
40 questions each: coins, and true judges who answer with probability
Phi(r (f_left - f_right) / sqrt 2), f standard normal, r log-normal (0.3) about the ratio. After
10, 20 and 40 answers of each judge (repeats left out) `rank_answers` says who is flagged, and
infit z above 2.5 stands beside it. Kendall's tau with the truth is that of all answers, and of
those without the coins. A row for each session is kept as soon as it is done.
Exits with 1 if a bar is missed: at ratio 2, after 40 answers, 90 % of the coins and at most 5 %
of the true judges are flagged, and tau is not lower than without the coins by more than 0.01.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench import benchmark, compute, rows
from scipy.special import ndtr
from scipy.stats import kendalltau

from ordinality.experiments import Method

ITEMS, JUDGES, EACH = 40, 30, 40
FIRST = (10, 20, 40)
SETS = tuple(f"{ratio}/{coins}" for ratio in ("2", "1") for coins in (5, 15))
COUNTED = ("coins", "true", "coins by infit", "true by infit", "tau", "tau without")
METRICS = tuple(f"{name}, {k}" for k in FIRST for name in COUNTED)


class Simulated(NamedTuple):
    """A panel of judges, and the utilities that guide the true ones."""

    utility: np.ndarray
    ratio: np.ndarray  # of each judge; 0 for coins
    rng: np.random.Generator


def panel(name: str, number: int) -> Simulated:
    ratio, coins = name.split("/")
    rng = np.random.default_rng([11, number])
    f, spread = rng.standard_normal(ITEMS), rng.standard_normal(JUDGES)
    true = np.arange(JUDGES) >= int(coins)
    return Simulated(f, np.where(true, float(ratio) * np.exp(0.3 * spread), 0.0), rng)


def session(who: Simulated, seed: int) -> dict[str, float]:
    """Ask everybody 40 questions in turn, and look at the judges three times."""
    from ordinality.panel.asking import Session
    from ordinality.panel.store import Answer, Item, StudyRecord

    items = tuple(Item(i, f"item {i:02d}", {}) for i in range(ITEMS))
    settings = {"ties": False, "grades": 1, "seed": seed}
    asked = Session(StudyRecord(1, "j", "", settings, items), "", 0, 0.95)
    answers: list[Answer] = []
    found: dict[str, float] = {}
    for k in range(1, EACH + 1):
        for j in who.rng.permutation(JUDGES):
            asked.judge = f"j{j:02d}"
            q = asked.question(answers)
            assert q is not None
            gap = who.utility[q.left] - who.utility[q.right]
            value = 1 if who.rng.random() < ndtr(who.ratio[j] * gap / np.sqrt(2.0)) else -1
            answers.append(
                Answer(len(answers), asked.judge, "pair", q.left, q.right, value, q.purpose,
                       {"proba": q.proba}, None)
            )  # fmt: skip
        if k in FIRST:
            found |= {f"{name}, {k}": v for name, v in looked_at(who, answers).items()}
    return found


def looked_at(who: Simulated, answers: list) -> dict[str, float]:
    """Shares of coins and true judges who are flagged, and both orders."""
    from ordinality.panel import rank_answers

    said = [a for a in answers if a.purpose != "repeat"]
    pairs = np.array([[f"item {a.left:02d}", f"item {a.right:02d}"] for a in said])
    values, judges = np.array([a.value for a in said]), np.array([a.judge for a in said])
    names, coin = [f"j{j:02d}" for j in range(JUDGES)], who.ratio == 0.0
    coins = [name for name, flips in zip(names, coin, strict=True) if flips]
    items = [f"item {i:02d}" for i in range(ITEMS)]
    both = [
        rank_answers(pairs, values, judges=judges, items=items, leave_out=out)
        for out in ((), coins)
    ]
    found = both[0].judges
    flagged = np.array([one.coin > 0.05 for one in found])
    misfit = np.array([one.misfit_z > 2.5 for one in found])
    utility = [{one.item: one.utility for one in r.items} for r in both]
    tau = [kendalltau([u[item] for item in items], who.utility).statistic for u in utility]
    shares = (x[which].mean() for x in (flagged, misfit) for which in (coin, ~coin))
    return dict(zip(COUNTED, [*map(float, shares), *map(float, tau)], strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--ratios", default="2,1")
    parser.add_argument("--coins", default="5")
    args = parser.parse_args()
    spec = benchmark(
        "judges", "Judges who flip coins", metrics=METRICS, sets=SETS,
        partitions=args.sessions, methods=(Method("session", "session", session),),
        problem=panel,
    )  # fmt: skip
    wanted = [f"{r}/{c}" for r in args.ratios.split(",") for c in args.coins.split(",")]
    cells = list(spec.cells(sets=wanted))
    compute(spec, cells)
    print("| ratio/coins | sessions | answers | " + " | ".join(COUNTED) + " |")
    print("|---" * (3 + len(COUNTED)) + "|")
    missed = False
    for name in wanted:
        done = [row for row in rows(spec, cells) if row["set"] == name]
        for k in FIRST:
            means = {m: float(np.mean([row[f"{m}, {k}"] for row in done])) for m in COUNTED}
            shown = " | ".join(f"{value:.3f}" for value in means.values())
            print(f"| {name} | {len(done)} | {k} | {shown} |")
        if name == "2/5":  # after all answers
            better = means["tau"] > means["tau without"] - 0.01
            missed = not (means["coins"] >= 0.9 and means["true"] <= 0.05 and better)
    sys.exit(missed)


if __name__ == "__main__":
    main()
