"""Questions chosen for what they tell against questions drawn at random.

    python benchmarks/elicitation.py [--judges 30] [--only synthetic] [--bits]

A judge has a utility for each item and answers with noise whose standard deviation, on a
difference, is 0.3 of that of the utilities: about one answer in fifteen to random questions is
wrong. All arms start from the same ten random comparisons, learn all parameters at 10, 20, 40,
80, ... answers and take the others in by `update`. Accuracy is the share of all pairs in the
right order.

- *synthetic*: 100 items, four normal features; utilities are a draw from a Gaussian process of
  them plus effects of items.
- *sushi* needs the data folder (ORDINALITY_DATA): the 100 kinds with their features; a judge's
  utilities are a draw from the posterior given the orders of 60 people of the survey, others
  for each judge.
- *few*: as synthetic, with 25 items, so that there are four times as many answers to an item.
- *many*: as synthetic, with 1000 items and up to 160 answers, by ten judges.
- *linear*: 100 items whose utilities are a weighted sum of six normal features, and nothing
  else; the model has its default kernel and is not told.

A row per judge and arm is kept; a second run computes only what is missing. The curves are
drawn to results/elicitation.svg. With --bits the rows hold the information that each question
was expected to give.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench import RESULTS, benchmark, compute, rows

from ordinality.experiments import Method

NOISE, START = 0.3, 10
LEARN = {20, 40, 80, 160, 320, 640}
_LATE = [240, 320, 400, 480, 560, 640, 720, 800]
_CHOSEN = [10, 15, 20, 25, 30, *range(40, 100, 10), *range(100, 401, 20)]
COUNTS = {
    "random": [10, 20, 30, 40, 60, 80, 100, 120, 140, 160, 180, 200, *_LATE],
    "information": _CHOSEN,
    "order": _CHOSEN,
}
LEVELS = [40, 60, 80, 100, 140, 200, *_LATE]  # random, in the report
MOST, JUDGES = {"many": 160}, {"many": 10}  # answers and judges, where they are fewer
COLOURS = {"order": "#b5482a", "information": "#c9a227", "random": "#4a6a8a"}
TITLES = {
    "synthetic": "100 synthetic items",
    "sushi": "100 sushi",
    "few": "25 synthetic items",
    "many": "1000 synthetic items",
    "linear": "100 linear utilities",
}


def synthetic(rng, n=100):
    from ordinality.kernels import Gaussian

    X = rng.normal(size=(n, 4))
    return X, rng.multivariate_normal(np.zeros(n), Gaussian(2.0)(X) + 0.1 * np.eye(n))


def few(rng):
    return synthetic(rng, 25)


def many(rng):
    return synthetic(rng, 1000)


def linear(rng):
    X = rng.normal(size=(100, 6))
    return X, X @ rng.normal(size=6)


def sushi(rng):
    from ratings_and_pairs import survey

    from ordinality import PreferenceGP

    X, orders, _ = survey()
    some = orders[rng.choice(len(orders), 60, replace=False)]
    pairs = np.stack([some[:, :-1], some[:, 1:]], axis=-1).reshape(-1, 2)
    return X, rng.multivariate_normal(
        *PreferenceGP(X, inference="laplace").fit(pairs).posterior()
    )


DRAWN = {"synthetic": synthetic, "sushi": sushi, "few": few, "many": many, "linear": linear}
SETS = tuple(DRAWN)


def accuracy(f, mean) -> float:
    i, j = np.triu_indices(len(f), 1)
    return float(np.mean((f[i] > f[j]) == (mean[i] > mean[j])))


def drawn(name: str, number: int) -> tuple:
    """The items of a judge, the utilities, and the state that all arms start from."""
    rng = np.random.default_rng([SETS.index(name), number])
    X, f = DRAWN[name](rng)
    return name, X, f, rng.integers(2**32)


class Judge:
    """Somebody with utilities f, who is asked about pairs and answers with noise."""

    def __init__(self, f, rng):
        self.f, self.rng = f, rng

    def answered(self, pairs):
        noise = NOISE * self.f.std() * self.rng.normal(size=len(pairs))
        gap = self.f[pairs[:, 0]] - self.f[pairs[:, 1]] + noise
        return np.where((gap > 0)[:, None], pairs, pairs[:, ::-1])

    def drawn(self, count):
        n = len(self.f)
        return np.array([self.rng.choice(n, 2, replace=False) for _ in range(count)])


def counts(name: str, arm: str) -> list[int]:
    return [count for count in COUNTS[arm] if count <= MOST.get(name, 800)]


def chosen(model, strategy: str, seed: int):
    from ordinality.elicitation import next_pair

    return next_pair(model, strategy, random_state=seed)


def curve(problem: tuple, seed: int, arm: str) -> dict:
    """Accuracy after each of so many answers."""
    from ordinality import PreferenceGP

    name, X, f, state = problem
    judge = Judge(f, np.random.default_rng(state))
    asked = judge.answered(judge.drawn(START))
    model = PreferenceGP(X).fit(asked)
    found = [accuracy(f, model.utility().mean)]
    for count in counts(name, arm)[1:]:
        while len(asked) < count:
            if arm == "random":
                pairs = judge.drawn(count - len(asked))
            else:
                pairs = chosen(model, arm, len(asked))
            further = judge.answered(pairs)
            asked = np.concatenate([asked, further])
            model = model.fit(asked) if len(asked) in LEARN else model.update(further)
        found.append(accuracy(f, model.utility().mean))
    return {"accuracy": found}


def bits(problem: tuple, seed: int, arm: str) -> dict:
    """The information that each question was expected to give when it was asked.

    By a model that knows all parameters beforehand, from 1500 other answers. The first entry
    is what the best question gives after a single answer: the most there is.
    """
    from ordinality import PreferenceGP
    from ordinality.elicitation import information_gain

    _, X, f, state = problem
    judge, other = Judge(f, np.random.default_rng(state)), Judge(f, np.random.default_rng(0))
    wise = PreferenceGP(X).fit(other.answered(other.drawn(1500)))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    prior = wise.kernel_(Z) + wise.item_variance_ * np.eye(len(f))
    model = PreferenceGP(
        prior, "precomputed", noise=wise.noise_, item_effects=False, optimizer=None
    ).fit(judge.answered(judge.drawn(1)))
    every = np.column_stack(np.triu_indices(len(f), 1))
    told = [round(float(information_gain(model, every).max()), 4)]
    for count in range(1, 200):
        start = arm == "random" or count < START
        pairs = judge.drawn(1) if start else chosen(model, arm, count)
        told.append(round(float(information_gain(model, pairs)[0]), 4))
        model = model.update(judge.answered(pairs))
    return {"bits": told}


def spec(what, judges: int = 30):
    name = "elicitation" if what is curve else "elicitation_bits"
    return benchmark(
        name, "Questions chosen by their information against random ones", sets=SETS,
        methods=tuple(Method(arm, arm, what, {"arm": arm}) for arm in COUNTS),
        partitions=judges,
        metrics=("accuracy",) if what is curve else ("bits",), problem=drawn,
    )  # fmt: skip


def stored(what, name: str) -> dict[str, np.ndarray]:
    """Curves of the judges that have all arms, a line each, by arm."""
    of: dict = {arm: {} for arm in COUNTS}
    for row in rows(spec(what)):
        if row["set"] == name:
            of[row["method"]][row["partition"]] = row["accuracy" if what is curve else "bits"]
    judges = sorted(set.intersection(*(set(found) for found in of.values())))
    return {arm: np.array([found[k] for k in judges]) for arm, found in of.items()}


def report() -> None:
    """How many chosen questions reach the accuracy of so many random ones, as a share.

    Of mean curves, at the first crossing, between the counts on a straight line; standard
    errors by drawing the judges anew 1000 times.
    """
    for name in SETS:
        curves = stored(curve, name)
        n = len(curves["random"])
        if not n:
            continue
        print(f"\n{name}, {n} judges\n")
        print("| random | accuracy | information | share | order | share |")
        print("|---|---|---|---|---|---|")
        drawn = np.random.default_rng(0).integers(n, size=(1000, n))
        for count in [level for level in LEVELS if level <= MOST.get(name, 800)]:
            k = COUNTS["random"].index(count)
            cells = [f"{count}", f"{curves['random'][:, k].mean():.4f}"]
            for arm in ("information", "order"):
                asked = counts(name, arm)
                needed = reached(curves, asked, arm, k, np.arange(n))
                again = [reached(curves, asked, arm, k, which) for which in drawn]
                if not np.isfinite(needed):
                    cells += [f"over {asked[-1]}", ""]
                    continue
                # Where judges drawn anew do not all get there, the error is not known.
                known = np.all(np.isfinite(again))
                error = f" ± {np.std(again) / count:.2f}" if known else ""
                cells += [f"{needed:.0f}", f"{needed / count:.2f}{error}"]
            print("| " + " | ".join(cells) + " |")


def reached(curves, asked, arm: str, k: int, judges) -> float:
    level = curves["random"][judges, k].mean()
    return first(asked, curves[arm][judges].mean(axis=0), level)


def first(counts, values, level) -> float:
    above = np.flatnonzero(np.asarray(values) >= level)
    if not len(above):
        return np.inf
    k = above[0]
    if k == 0:
        return counts[0]
    share = (level - values[k - 1]) / (values[k] - values[k - 1])
    return counts[k - 1] + share * (counts[k] - counts[k - 1])


def draw() -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "elicitation"  # the same file from the same numbers
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 5, figsize=(15, 3.2), sharey=True, layout="constrained")
    for ax, name in zip(axes, SETS, strict=True):
        curves = stored(curve, name)
        n = len(curves["random"])
        for arm, colour in COLOURS.items():
            values = curves[arm]
            if not len(values):
                continue
            mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
            x = counts(name, arm)
            ax.plot(x, mean, color=colour, label=arm)
            ax.fill_between(x, mean - error, mean + error, color=colour, alpha=0.2, lw=0)
        ax.set(title=f"{TITLES[name]}, {n} judges", xlabel="answers")
    axes[0].set_ylabel("pairs in the right order")
    axes[0].legend(frameon=False)
    figure.savefig(RESULTS / "elicitation.svg", metadata={"Date": None})


def report_bits() -> None:
    """Bits told by so many random questions, and how many others would tell as much.

    *Least* is their number if every one could tell what the best tells when nothing is known.
    """
    for name in SETS:
        curves = stored(bits, name)
        n = len(curves["random"])
        if not n:
            continue
        told = {arm: values.mean(axis=0) for arm, values in curves.items()}
        most = told["random"][0]
        total = {arm: np.cumsum(values) for arm, values in told.items()}
        print(f"\n{name}, {n} judges, at most {most:.2f} bits each\n")
        print("| random | bits | least | share | information | share | order | share |")
        print("|---|---|---|---|---|---|---|---|")
        for count in (40, 60, 80, 100, 140, 200):
            known = total["random"][count - 1]
            cells = [
                f"{count}",
                f"{known:.1f}",
                f"{known / most:.0f}",
                f"{known / most / count:.2f}",
            ]
            for arm in ("information", "order"):
                needed = 1 + np.searchsorted(total[arm], known)
                cells += [f"{needed}", f"{needed / count:.2f}"]
            print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judges", type=int, default=30)
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--bits", action="store_true", help="what questions told, instead")
    args = parser.parse_args()
    chosen = spec(bits if args.bits else curve, args.judges)
    names = [args.only] if args.only else SETS[:2] if args.bits else SETS
    cells = [c for c in chosen.cells(names) if c.partition <= JUDGES.get(c.set, args.judges)]
    compute(chosen, cells)
    if args.bits:
        return report_bits()
    report()
    draw()


if __name__ == "__main__":
    main()
