"""`OrdinalGP` with inducing points beside SVGP of GPyTorch and of GPflow: score against time.

    python benchmarks/large_peers.py                         # what is missing, and the tables
    python benchmarks/large_peers.py --table                 # only the tables
    python benchmarks/large_peers.py --only ordinality,gpytorch --sets "10000 rows" --points 500
    python benchmarks/large_peers.py --python gpytorch=/path/to/bin/python

Every method learns from the same rows, in a process of its own on one core, with as many
inducing points and the same form of kernel: isotropic on smooth random functions (eight
features, five levels), a length scale for each feature on the sets of the data folder
(ORDINALITY_DATA). Peers train for a given processor time and are scored on the way; the time
of scoring, imports, tracing and loading compiled code is counted for nobody. Each peer has an
environment under ``benchmarks/.envs``, made the first time, unless an interpreter that has its
packages is named. Rows are kept as they are done; tables go to stdout, progress to stderr.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from bench import benchmark, compute, rows
from peers import GPFLOW, Method, hold_to, worked

from ordinality import experiments
from ordinality.datasets import equal_frequency, load, smooth_ordinal

GPYTORCH = (
    "gpytorch==1.15.2",
    "torch==2.13.0",  # the version whose build for processors alone is at hand here
)
METHODS = {
    "ordinality": Method("peer_inducing.py"),
    "gpytorch": Method("peer_gpytorch.py", GPYTORCH),
    "gpflow": Method("peer_gpflow_svgp.py", GPFLOW),
}
SMOOTH = {"10000 rows": 10_000, "100000 rows": 100_000, "1000000 rows": 1_000_000}
CUT = ("abalone", "california_housing", "house_16h")  # numbers, cut at equal frequencies
SETS = (*CUT, "skillcraft", "nursery", "winequality_white")
POINTS = (500, 100)
LONG, SHORT = 300.0, 100.0  # seconds of the processor on smooth functions, and on real sets


class Problem(NamedTuple):
    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,), ranks from 0
    X_test: np.ndarray
    y_test: np.ndarray
    limit: float  # seconds that a peer has at most
    ard: bool  # whether each feature has a length scale
    points: int = 0


def problem(name: str, number: int) -> Problem:
    """Rows of a smooth function, or a set of which a random fifth is for the test."""
    if name in SMOOTH:
        X, y, X_test, y_test, *_ = smooth_ordinal(
            SMOOTH[name], 5, d=8, noise=0.25, n_test=5000, seed=number
        )
        return Problem(X, y - 1, X_test, y_test - 1, LONG, ard=False)
    whole = load(f"regression/{name}" if name in CUT else f"ordinal/{name}")
    y = equal_frequency(whole.y, 5) if name in CUT else whole.y
    ranks = np.unique(y, return_inverse=True)[1]
    test, train = np.split(np.random.default_rng(number).permutation(len(y)), [len(y) // 5])
    return Problem(whole.X[train], ranks[train], whole.X[test], ranks[test], SHORT, ard=True)


def measured(
    given: Problem, seed: int, peer: Method, limit: float, points: int, version: str
) -> dict:
    """What a worker reports: scores after so many seconds, and the best of them."""
    given = given._replace(points=points, limit=min(limit, given.limit))
    found = worked(peer, peer.worker, given)
    best = int(np.argmin(found["curve_log"]))
    names = {"log": "curve_log", "rps": "curve_rps", "spent": "curve_seconds"}
    return found | {name: found[curve][best] for name, curve in names.items()}


def spec(interpreters: dict[str, str], limit: float):
    peers = {n: replace(m, interpreter=interpreters.get(n, "")) for n, m in METHODS.items()}
    return benchmark(
        "large_peers", "Inducing points beside SVGP", metrics=("log", "rps", "spent"),
        sets=(*SMOOTH, *SETS), partitions=1, problem=problem,
        methods=tuple(
            experiments.Method(
                f"{name} {points}", f"{name}, {points} points",
                partial(measured, peer=peer, limit=limit),
                {"points": points, "version": peer.version},
            )
            for points in POINTS for name, peer in peers.items()
        ),
    )  # fmt: skip


def cells(spec: experiments.Spec, args: argparse.Namespace):
    """Our cell, then the peers' with as many points; GPflow on 10,000 rows alone."""
    names = [f"{name} {points}" for points in args.points for name in args.only]
    for cell in spec.cells(sets=args.sets, methods=names):
        once = cell.set == "10000 rows" or not cell.method.startswith("gpflow")
        if once and (cell.set in SMOOTH or cell.settings["points"] == POINTS[0]):
            yield cell


def stopped(row: dict, limit: float) -> bool:
    """Whether a peer was given less time than it is to have now."""
    if "curve_seconds" not in row:  # it failed
        return False
    ours = row["method"].startswith("ordinality")
    wanted = min(limit, LONG if row["set"] in SMOOTH else SHORT)
    return not ours and row["curve_seconds"][-1] < wanted


def table(found: list[dict]) -> list[str]:
    """A line for each peer's cell, beside ours with as many points."""
    ours = {(r["set"], r["points"]): r for r in found if r["method"].startswith("ordinality")}
    lines = [
        "| data | points | ours: s | log | rps | peer | within s | log | rps | after s | "
        "ours / theirs | theirs at our log, s |",
        "|---|--:|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in found:
        own = ours.get((row["set"], row["points"]))
        if own is None or row is own or "curve_seconds" not in row:
            continue
        curve = np.stack([row[f"curve_{name}"] for name in ("seconds", "log", "rps")], axis=1)
        as_good = curve[curve[:, 1] <= own["log"], 0]
        reached = f"{as_good[0]:.0f}" if len(as_good) else "never"
        for limit in (SHORT, LONG)[: 1 + (curve[-1, 0] > 1.02 * SHORT)]:
            within = curve[curve[:, 0] <= 1.02 * limit]  # the last step ends behind it
            seconds, log, rps = within[np.argmin(within[:, 1])]
            peer = f"{row['method'].split()[0]} {row['version']}"
            lines.append(
                f"| {row['set']} | {row['points']} | {own['spent']:.1f} | {own['log']:.4f} | "
                f"{own['rps']:.4f} | {peer} | {limit:g} | {log:.4f} | {rps:.4f} | "
                f"{seconds:.0f} | {own['spent'] / seconds:.2f} | {reached} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add: Any = parser.add_argument
    add("--only", type=lambda text: text.split(","), default=list(METHODS), metavar="NAMES")
    add("--sets", nargs="+", default=None, help="some of the sets")
    add("--points", type=int, nargs="+", default=list(POINTS))
    add("--python", type=lambda text: text.split("=", 1), nargs="+", default=[],
        metavar="NAME=PATH", help="interpreters that have the packages of a peer")  # fmt: skip
    add("--limit", type=float, default=LONG, help="seconds of the processor for a peer")
    add("--fresh", action="store_true", help="measure again what is already in the results")
    add("--table", action="store_true", help="only the tables of what is there")
    args = parser.parse_args()
    hold_to(1)
    task = spec(dict(args.python), args.limit)
    chosen = list(cells(task, args))
    if not args.table:
        compute(task, chosen, retry=True, fresh=args.fresh)
        again = [(r["set"], r["method"]) for r in rows(task, chosen) if stopped(r, args.limit)]
        compute(task, [c for c in chosen if (c.set, c.method) in again], fresh=True)
    print("\n".join(table(rows(task, chosen))))


if __name__ == "__main__":
    main()
