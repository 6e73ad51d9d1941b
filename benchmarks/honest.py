"""Whether "settled" can be relied on: simulated judges answer what `ordinality ask` asks.

    python benchmarks/honest.py [--sessions 200] [--judges coin,2,4]

40 items without features, the best five, 95 %. A judge of ratio r answers with probability
Phi(r (f_left - f_right) / sqrt 2), utilities f standard normal; a coin by chance; a one-sided
judge takes the left item in 80 % of all questions. Sessions are those of `panel.asking`, with
15 % check questions and no pair twice but as a repeat, of up to 400 answers (a coin: 10 answers
an item). A row for each session is kept as soon as it is done; a second run computes what is
missing. Prints shares with standard errors, and exits with 1 if a bar is missed: a coin is
settled in at most 2 % of the sessions, warned of in 90 % and said to have 45 % of pairs wrong;
of the settled sessions of ratios 2 and 4, 92 % at least are right.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench import benchmark, compute, rows
from scipy.special import ndtr, ndtri

from ordinality.experiments import Method

ITEMS, BEST, LEVEL, MOST = 40, 5, 0.95, 400
JUDGES = ("coin", "left", "1", "2", "4")
METRICS = ("settled", "right", "answers", "warning", "said", "true")


class Simulated(NamedTuple):
    """A judge, and the utilities that guide the answers."""

    utility: np.ndarray
    ratio: float
    push: float  # to the left, in units of the noise of an answer
    rng: np.random.Generator

    def answer(self, left: int, right: int) -> int:
        """Above zero if the left item is taken."""
        gap = (self.utility[left] - self.utility[right]) / np.sqrt(2.0)
        return 1 if self.rng.random() < ndtr(self.ratio * gap + self.push) else -1


def judge(name: str, number: int) -> Simulated:
    rng = np.random.default_rng([JUDGES.index(name), number])
    ratio = 0.0 if name in ("coin", "left") else float(name)
    push = ndtri(0.8) if name == "left" else 0.0
    return Simulated(rng.standard_normal(ITEMS), ratio, push, rng)


def begun(seed: int, best: int) -> Any:
    """A session of questions about the best items; 0 asks for the order."""
    from ordinality.panel.asking import Session
    from ordinality.panel.store import Item, StudyRecord

    items = tuple(Item(i, f"item {i}", {}) for i in range(ITEMS))
    settings = {"ties": False, "grades": 1, "seed": seed}
    return Session(StudyRecord(1, "honest", "", settings, items), "judge", best, LEVEL)


def answered(question: Any, number: int, who: Simulated, name: str = "judge") -> Any:
    """The answer of a judge, as the store has it."""
    from ordinality.panel.store import Answer

    value = who.answer(question.left, question.right)
    return Answer(
        number, name, "pair", question.left, question.right, value, question.purpose,
        {"proba": question.proba}, None,
    )  # fmt: skip


def session(who: Simulated, seed: int) -> dict[str, float]:
    """Ask until settled, or for as many answers as there may be."""
    from ordinality.panel.asking import LOOK

    asked, answers = begun(seed, BEST), []
    while len(answers) < MOST:
        # "Settled" can only be said after every fifth answer.
        if len(answers) % LOOK == 0 and asked.standing(answers).settled:
            break
        question = asked.question(answers)
        if question is None:
            break
        answers.append(answered(question, len(answers), who))
    standing, ranking = asked.standing(answers, final=True), asked.ranking(answers)
    order = np.array([int(one.item.split()[1]) for one in ranking.items])
    best = set(np.argsort(-who.utility)[:BEST].tolist())
    i, j = np.triu_indices(ITEMS, 1)
    return {
        "settled": float(standing.settled),
        "right": float(len(best & set(order[:BEST].tolist())) >= BEST - 1),
        "answers": float(len(answers)),
        "warning": float(standing.trust.warning),
        "said": ranking.wrong_pairs / ranking.pairs,
        "true": float(np.mean(who.utility[order[i]] < who.utility[order[j]])),
    }


def share(values: list[float]) -> str:
    if not values:
        return "-"
    return f"{np.mean(values):.3f} ± {np.std(values) / np.sqrt(len(values)):.3f}"


def missed(name: str, found: list[dict]) -> list[str]:
    """The bars that these sessions of a judge miss."""
    settled = [row for row in found if row["settled"]]
    if name == "coin":
        bars = {
            "settled in at most 2 %": len(settled) <= 0.02 * len(found),
            "warned of in 90 %": np.mean([row["warning"] for row in found]) >= 0.9,
            "45 % of pairs said to be wrong": np.mean([row["said"] for row in found]) >= 0.45,
        }
    elif name in ("2", "4") and settled:
        bars = {"right in 92 %": np.mean([row["right"] for row in settled]) >= 0.92}
    else:
        bars = {}
    return [bar for bar, met in bars.items() if not met]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--judges", default=",".join(JUDGES))
    args = parser.parse_args()
    spec = benchmark(
        "honest", "Sessions of simulated judges", metrics=METRICS, sets=JUDGES,
        partitions=args.sessions, methods=(Method("session", "session", session),),
        problem=judge,
    )  # fmt: skip
    cells = list(spec.cells(sets=args.judges.split(",")))
    compute(spec, cells)
    print("| judge | sessions | settled | right of those | answers | warning | said | true |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    wrong = []
    for name in args.judges.split(","):
        found = [row for row in rows(spec, cells) if row["set"] == name]
        settled = [row for row in found if row["settled"]]
        columns = [share([row[m] for row in found]) for m in ("warning", "said", "true")]
        asked = f"{np.median([row['answers'] for row in settled]):.0f}" if settled else "-"
        shown = [share([row["settled"] for row in found]),
                 share([row["right"] for row in settled]), asked, *columns]  # fmt: skip
        print(f"| {name} | {len(found)} | {' | '.join(shown)} |")
        wrong += [f"{name}: {bar}" for bar in missed(name, found)]
    for bar in wrong:
        print(f"missed: {bar}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
