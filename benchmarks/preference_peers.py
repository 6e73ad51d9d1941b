"""`PreferenceGP` against BoTorch's `PairwiseGP` and against choix: cost, and what it predicts.

    python benchmarks/preference_peers.py                   # what is missing, and the tables
    python benchmarks/preference_peers.py --table           # only the tables
    python benchmarks/preference_peers.py --only ordinality,botorch --sizes 100 --fresh

Every method learns from the same pairs and is asked for 5000 new answers about random pairs of
the same items (a tenth of them seen before at 100 items, a hundredth at 800), in a process of
its own, one core for everybody, methods in turn and seed after seed. Each peer has an
environment under ``benchmarks/.envs``, made the first time (1.5 GB for both). Seconds are the
processor's. Rows are kept as they are done, tables go to stdout, progress to stderr.

Two kinds of utilities. *effects*: a smooth function of five features plus an effect of each
item's own, of half its spread. *features*: the smooth function alone, which is the model of
`PairwiseGP` exactly and leaves our effects nothing to do; methods that see no features are not
asked about these.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from bench import benchmark, compute, rows
from peers import Method, hold_to, warn_if_busy, worked
from scipy.special import log_ndtr

from ordinality import experiments

BOTORCH = (
    "botorch==0.18.1",
    "torch==2.13.0",  # the version whose build for processors alone is at hand here
)
METHODS = {
    "ordinality": Method("peer_preferences.py"),
    "botorch": Method("peer_botorch.py", BOTORCH),
    "ordinality-smooth": Method("peer_preferences.py"),
    "ordinality-ard": Method("peer_preferences.py"),
    "ordinality-laplace": Method("peer_preferences.py"),
    "ordinality-plain": Method("peer_preferences.py"),
    "choix-ep": Method("peer_choix.py", ("choix==0.4.1",)),
    "choix-opt": Method("peer_choix.py", ("choix==0.4.1",)),
}
KINDS = {"effects": 0.5, "features": 0.0}  # spread of the items' own effects
SEEDS = {100: 7, 400: 6, 800: 4}  # items: draws; five pairs for each item
BLIND = ("ordinality-plain", "choix-ep", "choix-opt")  # without features
MOST = 400  # items that they are given


class Problem(NamedTuple):
    X: np.ndarray  # (n, 5)
    pairs: np.ndarray  # (m, 2), the preferred item first
    test: np.ndarray  # (5000, 2), likewise
    floor: float  # mean negative log likelihood of somebody who knows the utilities


def drawn(name: str, number: int, noise: float = 0.3) -> Problem:
    """Items in a cube, a draw of a Gaussian process, and noisy answers to random pairs.

    The name is such as "effects, 100 items"; seeds are counted from 0.
    """
    kind, size = name.split(", ")
    n, seed = int(size.split()[0]), number - 1
    rng = np.random.default_rng([seed, n])
    X = rng.uniform(size=(n, 5))
    away = np.sum((X[:, None] - X) ** 2, axis=2)
    # A ridge against rounding; length scale 0.7, about sqrt(5) spreads of a feature.
    root = np.linalg.cholesky(np.exp(-0.5 * away / 0.7**2) + 1e-8 * np.eye(n))
    smooth = root @ rng.normal(size=n)
    f = (smooth - smooth.mean()) / smooth.std() + KINDS[kind] * rng.normal(size=n)

    def asked(m: int) -> np.ndarray:
        left = rng.integers(n, size=m)
        pairs = np.column_stack([left, (left + rng.integers(1, n, size=m)) % n])
        gap = f[pairs[:, 0]] - f[pairs[:, 1]] + np.sqrt(2) * noise * rng.normal(size=m)
        return np.where(gap[:, None] > 0, pairs, pairs[:, ::-1])

    pairs, test = asked(5 * n), asked(5000)
    floor = -np.mean(log_ndtr((f[test[:, 0]] - f[test[:, 1]]) / (np.sqrt(2) * noise)))
    return Problem(X, pairs, test, float(floor))


def measured(problem: Problem, seed: int, name: str, limit: float, version: str) -> dict:
    """What a worker reports; a failure and a worker over its time are tried again next time."""
    return {"floor": problem.floor} | worked(METHODS[name], name, problem, limit)


def spec(limit: float):
    return benchmark(
        "preference_peers", "PreferenceGP beside the models of others",
        sets=tuple(f"{kind}, {n} items" for n, kind in product(SEEDS, KINDS)),
        partitions=max(SEEDS.values()), problem=drawn, metrics=("first", "again", "nlpl"),
        methods=tuple(
            experiments.Method(name, name, partial(measured, name=name, limit=limit),
                               {"version": METHODS[name].version})
            for name in METHODS
        ),
    )  # fmt: skip


def table(kind: str, n: int, rows: list[dict]) -> list[str]:
    """Lines of one kind and size: every method beside ours on the seeds that both have."""
    found: dict[str, dict[int, dict]] = {}
    for row in rows:
        if row["set"] == f"{kind}, {n} items":
            found.setdefault(row["method"], {})[row["partition"]] = row
    ours, lines = found.get("ordinality", {}), []
    for name in METHODS:
        both = sorted(found.get(name, {}).keys() & ours.keys())
        if not both:
            continue
        own, other = ([group[s] for s in both] for group in (ours, found[name]))
        first, again, base = (
            np.median([row[key] for row in group])
            for group, key in ((other, "first"), (other, "again"), (own, "again"))
        )
        worse = [b["nlpl"] - a["nlpl"] for a, b in zip(own, other, strict=True)]
        error = np.std(worse, ddof=1) / np.sqrt(len(worse)) if len(worse) > 1 else np.nan
        nlpl = np.mean([row["nlpl"] for row in other])
        over = "" if name == "ordinality" else f"{np.mean(worse):+.4f} ± {error:.4f}"
        lines.append(
            f"| {kind} | {n} / {5 * n} | {name} {other[0]['version']} | {len(both)} | "
            f"{first:.3g} | {again:.3g} | {again / base:.3g} | {nlpl:.4f} | {over} |"
        )
    floor = np.mean([row["floor"] for row in ours.values()]) if ours else np.nan
    return [
        *lines,
        f"| {kind} | {n} / {5 * n} | the truth | {len(ours)} | | | | {floor:.4f} | |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(METHODS), help="methods, commas between")
    parser.add_argument(
        "--sizes", type=int, nargs="+", choices=list(SEEDS), default=list(SEEDS)
    )
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one worker")
    parser.add_argument("--fresh", action="store_true", help="measure again what is stored")
    parser.add_argument("--table", action="store_true", help="only print what is stored")
    args = parser.parse_args()
    chosen = spec(args.limit)
    if not args.table:
        hold_to(1)
        warn_if_busy()
        for n, kind in product(args.sizes, args.kinds):
            names = [
                name for name in args.only.split(",")
                if name not in BLIND or (kind != "features" and n <= MOST)
            ]  # fmt: skip
            seeds = range(1, SEEDS[n] + 1)
            cells = chosen.cells([f"{kind}, {n} items"], names, seeds)
            compute(chosen, cells, retry=True, fresh=args.fresh)
    print(
        "| utilities | items / pairs | method | seeds | first fit, s | later fits, s "
        "| times ours | NLPL | above ours |"
    )
    print("|---|---|---|--:|--:|--:|--:|--:|--:|")
    found = rows(chosen)
    for kind, n in product(args.kinds, args.sizes):
        print("\n".join(table(kind, n, found)))


if __name__ == "__main__":
    main()
