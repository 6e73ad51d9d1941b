"""Whether bad judges are found: coins among thirty judges, and one who prefers a side.

    python benchmarks/honest_judges.py [--sessions 200] [--sets coins,side,fair]

"coins": 25 judges of ratio 2 exp(0.3 z), z standard normal, and 5 who flip coins answer 40
questions each about 40 items, in turn, as `panel.asking` asks them. `panel.rank_answers` must
flag 90 % of the coins and at most 5 % of the others, and the order from all answers may have a
Kendall tau at most 0.01 below that from the answers without the five. "side": one judge of
ratio 2 who takes the left item in 80 % of all random pairs answers 60 questions. The interval
of 95 % of the side, `PreferenceGP.fit(covariates=...)`, must exclude zero in 90 % of the
sessions. "fair": the same without a side; its share, which should be at most 5 %, is shown.
A row for each session is kept as soon as it is done; a second run computes what is missing.
Prints shares with standard errors, and exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from bench import benchmark, compute, rows
from honest import ITEMS, Simulated, answered, begun, share
from scipy.special import ndtri
from scipy.stats import kendalltau

from ordinality.experiments import Method

SETS = ("coins", "side", "fair")
TRUE, COINS, EACH, RATIO, SPREAD = 25, 5, 40, 2.0, 0.3
ONE_SIDED, LEFT = 60, 0.8
METRICS = ("coins", "true", "lost", "tau", "excluded", "coef")


def people(name: str, number: int) -> list[Simulated]:
    """The judges of a session; all know the same utilities."""
    rng = np.random.default_rng([20, SETS.index(name), number])
    utility = rng.standard_normal(ITEMS)
    if name == "coins":
        ratios = RATIO * np.exp(SPREAD * rng.standard_normal(TRUE))
        every = [*ratios.tolist(), *[0.0] * COINS]
        return [Simulated(utility, ratio, 0.0, rng) for ratio in every]
    # Of random pairs, what is felt is N(0, 1 + ratio**2).
    push = ndtri(LEFT) * np.sqrt(1.0 + RATIO**2) if name == "side" else 0.0
    return [Simulated(utility, RATIO, float(push), rng)]


def session(judges: list[Simulated], seed: int) -> dict[str, float]:
    return of_coins(judges, seed) if len(judges) > 1 else of_side(judges[0], seed)


def of_coins(judges: list[Simulated], seed: int) -> dict[str, float]:
    """Shares of coins and of others who are flagged; what the coins cost the order."""
    asked, answers = begun(seed, 0), []
    for _ in range(EACH):
        for k, who in enumerate(judges):
            asked.judge = f"judge {k:02}"
            question = asked.question(answers)
            answers.append(answered(question, len(answers), who, asked.judge))
    found = ranking(answers)
    flagged = np.array([bool(one.flag) for one in found.judges])
    true = [given for given in answers if given.judge < f"judge {TRUE:02}"]
    tau = agreement(found, judges[0].utility)
    return {
        "coins": float(np.mean(flagged[TRUE:])), "true": float(np.mean(flagged[:TRUE])),
        "lost": agreement(ranking(true), judges[0].utility) - tau, "tau": tau,
    }  # fmt: skip


def ranking(answers: list[Any]) -> Any:
    from ordinality.panel import rank_answers

    said = [given for given in answers if given.purpose != "repeat"]
    return rank_answers(
        [[f"{given.left:02}", f"{given.right:02}"] for given in said],
        [given.value for given in said], judges=[given.judge for given in said],
    )  # fmt: skip


def agreement(found: Any, utility: np.ndarray) -> float:
    """Kendall tau of a ranking and the true utilities."""
    place = [one.rank for one in sorted(found.items, key=lambda one: one.item)]
    return float(kendalltau(-np.array(place), utility).statistic)


def of_side(who: Simulated, seed: int) -> dict[str, float]:
    """Whether the interval of the side excludes zero."""
    from ordinality import PreferenceGP

    asked, answers = begun(seed, 0), []
    while len(answers) < ONE_SIDED:
        answers.append(answered(asked.question(answers), len(answers), who))
    said = [given for given in answers if given.purpose != "repeat"]
    model = PreferenceGP(ITEMS).fit(
        [[given.left, given.right] for given in said], [given.value for given in said],
        covariates=np.ones((len(said), 1)),
    )  # fmt: skip
    side, sd = model.covariate_coef_[0], model.covariate_sd_[0]
    return {"coef": float(side), "excluded": float(abs(side) > ndtri(0.975) * sd)}


def report(name: str, found: list[dict]) -> list[str]:
    """Print the line of a set; the bars that it misses."""
    columns = {
        metric: share([row[metric] for row in found])
        for metric in METRICS if metric in found[0]
    }  # fmt: skip
    print(f"{name}, {len(found)} sessions: " + ", ".join(map(" ".join, columns.items())))
    mean = {metric: np.mean([row[metric] for row in found]) for metric in columns}
    if name == "coins":
        bars = {
            "90 % of the coins flagged": mean["coins"] >= 0.9,
            "at most 5 % of the others flagged": mean["true"] <= 0.05,
            "at most 0.01 of tau lost": mean["lost"] <= 0.01,
        }
    elif name == "side":
        bars = {"a side found in 90 %": mean["excluded"] >= 0.9}
    else:
        bars = {}
    return [f"{name}: {bar}" for bar, met in bars.items() if not met]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--sets", default=",".join(SETS))
    args = parser.parse_args()
    spec = benchmark(
        "honest_judges", "Bad judges among simulated ones", metrics=METRICS, sets=SETS,
        partitions=args.sessions, methods=(Method("session", "session", session),),
        problem=people,
    )  # fmt: skip
    cells = list(spec.cells(sets=args.sets.split(",")))
    compute(spec, cells)
    wrong = []
    for name in args.sets.split(","):
        found = [row for row in rows(spec, cells) if row["set"] == name]
        wrong += report(name, found) if found else [f"{name}: no session was computed"]
    for bar in wrong:
        print(f"missed: {bar}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
