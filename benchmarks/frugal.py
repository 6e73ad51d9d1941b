"""How many answers `ordinality ask` saves, beside pairs drawn at random.

    python benchmarks/frugal.py [--sessions 200] [--sets 2,4]

40 items, judges of ratio 2 or 4 (see `honest.py`), and the order as the goal. "asked" are the
questions of `panel.asking`, with its checks; three judges are asked in turn, since no judge is
asked about a pair twice, and at ratio 2 all 780 pairs once are too few. "random" are random
pairs, which may come again. After every 20 answers a `PreferenceGP` learns from all of them,
and the first number at which its order has a Kendall tau of 0.9 is kept. A row for each
session is kept as soon as it is done; a second run computes what is missing. Prints medians,
since some sessions are not done after 1600 answers, with standard errors, and exits with 1 if
chosen questions need more than 0.6 of the answers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from bench import benchmark, compute, rows
from honest import ITEMS, Simulated, answered, begun
from scipy.stats import kendalltau

from ordinality.experiments import Method

SETS = ("2", "4")
TAU, LOOK, MOST, BAR = 0.9, 20, 1600, 0.6
JUDGES = 3


class Problem(NamedTuple):
    """Utilities, the ratio, and where chance begins."""

    utility: np.ndarray
    ratio: float
    state: int

    def judge(self) -> Simulated:
        return Simulated(self.utility, self.ratio, 0.0, np.random.default_rng(self.state))


def problem(name: str, number: int) -> Problem:
    rng = np.random.default_rng([30, SETS.index(name), number])
    return Problem(rng.standard_normal(ITEMS), float(name), int(rng.integers(2**32)))


def asked(given: Problem, seed: int) -> dict[str, float]:
    """Answers that chosen questions need."""
    session, answers, who = begun(seed, 0), [], given.judge()

    def further() -> tuple[int, int, int]:
        session.judge = f"judge {len(answers) % JUDGES}"
        question = session.question(answers)
        answers.append(answered(question, len(answers), who, session.judge))
        return question.left, question.right, answers[-1].value

    return {"answers": float(needed(further, given.utility))}


def random(given: Problem, seed: int) -> dict[str, float]:
    """Answers that random pairs need."""
    rng, who = np.random.default_rng(seed), given.judge()

    def further() -> tuple[int, int, int]:
        left, right = rng.choice(ITEMS, 2, replace=False).tolist()
        return left, right, who.answer(left, right)

    return {"answers": float(needed(further, given.utility))}


def needed(further: Callable[[], tuple[int, int, int]], utility: np.ndarray) -> int:
    """The number of answers after which the order is right enough; `MOST` if it never is."""
    from ordinality import PreferenceGP

    found: list[tuple[int, int, int]] = []
    model, learnt = PreferenceGP(ITEMS), 0
    while len(found) < MOST:
        found += [further() for _ in range(LOOK)]
        said = np.array(found)
        if len(said) >= 2 * learnt:
            model, learnt = model.fit(said[:, :2], said[:, 2]), len(said)
        else:
            model.update(said[-LOOK:, :2], said[-LOOK:, 2])
        if kendalltau(model.utility().mean, utility).statistic >= TAU:
            break
    return len(found)


METHODS = (Method("asked", "asked", asked), Method("random", "random", random))


def error(values: np.ndarray) -> float:
    """Standard error of the quotient of two medians, or of one, by resampling sessions."""
    rng = np.random.default_rng(0)
    drawn = values[:, rng.integers(values.shape[1], size=(values.shape[1], 1000))]
    medians = np.median(drawn, axis=1)
    return float(np.std(medians[0] / medians[-1] if len(values) > 1 else medians[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--sets", default=",".join(SETS))
    args = parser.parse_args()
    spec = benchmark(
        "frugal", "Answers to an order", metrics=("answers",), sets=SETS,
        partitions=args.sessions, methods=METHODS, problem=problem,
    )  # fmt: skip
    cells = list(spec.cells(sets=args.sets.split(",")))
    compute(spec, cells)
    print("| ratio | sessions | asked | random | share | not done |")
    print("|--:|--:|--:|--:|--:|--:|")
    wrong = []
    for name in args.sets.split(","):
        chosen, drawn = (
            {row["partition"]: row["answers"] for row in rows(spec, cells)
             if (row["set"], row["method"]) == (name, method.name)}
            for method in METHODS
        )  # fmt: skip
        both = sorted(chosen.keys() & drawn.keys())
        if not both:
            wrong.append(f"{name}: no session was computed")
            continue
        counts = np.array([[of[k] for k in both] for of in (chosen, drawn)])
        medians = np.median(counts, axis=1)
        shown = [
            f"{m:.0f} ± {error(c[None]):.0f}" for m, c in zip(medians, counts, strict=True)
        ]
        share, late = medians[0] / medians[1], np.sum(counts >= MOST, axis=1)
        print(f"| {name} | {len(both)} | {' | '.join(shown)} | {share:.2f} ± "
              f"{error(counts):.2f} | {late[0]}, {late[1]} |")  # fmt: skip
        if share > BAR:
            wrong.append(f"{name}: {share:.2f} of the answers")
    for bar in wrong:
        print(f"missed: {bar}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
