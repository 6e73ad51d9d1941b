"""Log score on answers kept aside: `rank` beside choix and Bradley-Terry with judges' effects.

    pip install choix
    python benchmarks/kept_aside.py [--splits 20] [--sets topmodel,lizards,sushi]

Needs the data folder (ORDINALITY_DATA). "topmodel" are 192 judges of 15 pairs of six items,
"lizards" 100 contests of 77 lizards, "sushi" 20 comparisons by each of 60 people, drawn anew in
every split, of their orders of ten among 100 kinds. A fifth of the answers is kept aside at
random. All models know items by name alone.

"rank" is the model of `panel.rank_answers`. "choix" is its mode under
logistic noise, `opt_pairwise`. "fixed effects" is a logistic regression on items and, for each
judge, on the side, as `LogisticRegression` fits it. Both have no default for their penalty: it
is chosen by the log score of five folds of the answers that are learnt from. A row for each
split is kept as soon as it is done; a second run computes what is missing. Prints means, and
the difference to "rank" paired over splits, and exits with 1 if one is better by more than two
standard errors.

Strobl, Wickelmaier & Zeileis (2011); Whiting et al. (2006); Kamishima (2003).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import polars as pl
from bench import benchmark, compute, rows
from scipy.special import expit

from ordinality.experiments import Method

SETS = ("topmodel", "lizards", "sushi")
PENALTIES = np.logspace(-2, 2, 9)
PEOPLE, EACH, FOLDS = 60, 20, 5


class Answers(NamedTuple):
    """Answers about pairs of items, both by number, and who gave them."""

    items: int
    pairs: np.ndarray  # (m, 2)
    first: np.ndarray  # (m,), whether the first item won
    judges: np.ndarray  # (m,)

    def at(self, rows: np.ndarray) -> Answers:
        return self._replace(
            pairs=self.pairs[rows], first=self.first[rows], judges=self.judges[rows]
        )


def read(name: str, rng: np.random.Generator) -> Answers:
    """The answers of a set, all of them or some that are drawn."""
    folder = Path(os.environ["ORDINALITY_DATA"])
    if name == "topmodel":
        table = pl.read_csv(folder / "preference" / "topmodel2007.csv.gz")
        names, place = np.unique(table["item_a", "item_b"].to_numpy(), return_inverse=True)
        won = table["prefers_a"].to_numpy() == 1
        return Answers(len(names), place.reshape(-1, 2), won, table["judge"].to_numpy())
    if name == "lizards":
        table = pl.read_csv(folder / "preference" / "flatlizards_contests.csv")
        names, place = np.unique(table.to_numpy(), return_inverse=True)
        m = len(table)
        return turned(len(names), place.reshape(-1, 2), np.zeros(m, dtype=int), rng)
    orders = pl.read_csv(folder / "research_only" / "sushi3b_orders.csv.gz").drop("user")
    people = np.repeat(rng.choice(len(orders), PEOPLE, replace=False), EACH)
    places = np.concatenate([drawn_pairs(rng) for _ in range(PEOPLE)])
    pairs = orders.to_numpy()[people[:, None], np.sort(places, axis=1)]
    return turned(100, pairs, people, rng)


def drawn_pairs(rng: np.random.Generator) -> np.ndarray:
    """Different pairs of ten places."""
    every = np.column_stack(np.triu_indices(10, 1))
    return rng.permutation(every)[:EACH]


def turned(n: int, pairs: np.ndarray, judges: np.ndarray, rng: np.random.Generator) -> Answers:
    """Pairs of which the first won, half of them turned round."""
    turn = rng.random(len(pairs)) < 0.5
    return Answers(n, np.where(turn[:, None], pairs[:, ::-1], pairs), ~turn, judges)


def split(name: str, number: int) -> tuple[Answers, Answers]:
    """Answers to learn from, and answers kept aside."""
    rng = np.random.default_rng([40, SETS.index(name), number])
    answers = read(name, rng)
    order = rng.permutation(len(answers.pairs))
    aside = len(order) // 5
    return answers.at(order[aside:]), answers.at(order[:aside])


# ---------------------------------------------------------------- models


def by_rank(train: Answers, test: Answers) -> np.ndarray:
    from ordinality.panel import rank_answers

    names = np.array([f"item {k:03}" for k in range(train.items)])
    judges = train.judges.astype(str)
    found = rank_answers(
        names[train.pairs], np.where(train.first, 1, -1), items=names,
        judges=judges if len(np.unique(judges)) > 1 else None,
    )  # fmt: skip
    return np.array([
        found.predict_proba(names[[pair]], judge=str(judge))[0, 1]
        for pair, judge in zip(test.pairs, test.judges, strict=True)
    ])  # fmt: skip


def by_choix(train: Answers, test: Answers, penalty: float) -> np.ndarray:
    import choix

    won = np.where(train.first[:, None], train.pairs, train.pairs[:, ::-1])
    strength = choix.opt_pairwise(train.items, won.tolist(), penalty)
    return expit(strength[test.pairs[:, 0]] - strength[test.pairs[:, 1]])


def by_effects(train: Answers, test: Answers, penalty: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    who = np.unique(train.judges)

    def design(given: Answers) -> np.ndarray:
        every = np.arange(len(given.pairs))
        D = np.zeros((len(every), train.items + len(who)))
        D[every, given.pairs[:, 0]], D[every, given.pairs[:, 1]] = 1.0, -1.0
        D[:, train.items :] = given.judges[:, None] == who  # a new judge has none
        return D

    model = LogisticRegression(C=1.0 / penalty, fit_intercept=False, max_iter=2000)
    return model.fit(design(train), train.first).predict_proba(design(test))[:, 1]


Model = Callable[[Answers, Answers, float], np.ndarray]


def tuned(model: Model, train: Answers, test: Answers) -> np.ndarray:
    """Predictions with the penalty that is best in folds of the answers learnt from."""
    fold = np.random.default_rng(0).permutation(len(train.pairs)) % FOLDS

    def score(penalty: float) -> float:
        found = [
            log_score(model(train.at(fold != k), train.at(fold == k), penalty),
                      train.at(fold == k).first)
            for k in range(FOLDS)
        ]  # fmt: skip
        return float(np.mean(found))

    return model(train, test, min(PENALTIES.tolist(), key=score))


def log_score(proba: np.ndarray, first: np.ndarray) -> float:
    """Mean of minus the logarithm of the probability of the answer."""
    return float(-np.mean(np.log(np.where(first, proba, 1.0 - proba))))


def of_rank(given: tuple[Answers, Answers], seed: int) -> dict[str, float]:
    return {"log_score": log_score(by_rank(*given), given[1].first)}


def of_choix(given: tuple[Answers, Answers], seed: int) -> dict[str, float]:
    return {"log_score": log_score(tuned(by_choix, *given), given[1].first)}


def of_effects(given: tuple[Answers, Answers], seed: int) -> dict[str, float]:
    return {"log_score": log_score(tuned(by_effects, *given), given[1].first)}


METHODS = (
    Method("rank", "rank", of_rank),
    Method("choix", "choix", of_choix),
    Method("effects", "fixed effects", of_effects),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--sets", default=",".join(SETS))
    args = parser.parse_args()
    spec = benchmark(
        "kept_aside", "Answers kept aside", metrics=("log_score",), sets=SETS,
        partitions=args.splits, methods=METHODS, problem=split,
    )  # fmt: skip
    cells = list(spec.cells(sets=args.sets.split(",")))
    compute(spec, cells)
    print("| answers | splits | rank | choix | fixed effects |\n|---|--:|--:|--:|--:|")
    wrong = []
    for name in args.sets.split(","):
        found = {(row["method"], row["partition"]): row["log_score"]
                 for row in rows(spec, cells) if row["set"] == name}  # fmt: skip
        done = [k for k in range(args.splits + 1)
                if all((method.name, k) in found for method in METHODS)]  # fmt: skip
        scores = {m.name: np.array([found[m.name, k] for k in done]) for m in METHODS}
        shown = [f"{scores['rank'].mean():.4f}"]
        for peer in ("choix", "effects"):
            apart = scores[peer] - scores["rank"]
            error = apart.std(ddof=1) / np.sqrt(len(apart))
            shown.append(f"{apart.mean():+.4f} ± {error:.4f}")
            if apart.mean() < -2.0 * error:
                wrong.append(f"{name}: {peer} is better by {-apart.mean():.4f}")
        print(f"| {name} | {len(done)} | {' | '.join(shown)} |")
    for bar in wrong:
        print(f"missed: {bar}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
