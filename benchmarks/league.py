"""The peers of the league that have an environment of their own, and the tables of its page.

    python benchmarks/league.py                              # all cells without a row
    python benchmarks/league.py --only mord,ogboost --sets heart,tae --splits 1-2
    python benchmarks/league.py --page docs/league.md        # compute nothing, write the tables

Ours and the other peers are computed by `ordinality reproduce league --results results`. Rows
go to ``results/league.jsonl`` beside those, as soon as they are done; one process writes there
at a time, so name another folder with `--results` to run both, and append its rows later. Each
package gets an environment under ``benchmarks/.envs``, made the first time; one that cannot be
made is said and left out. One thread for each method; seconds are of the processor. Needs the
data folder (ORDINALITY_DATA).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench import say, tell
from peers import HERE, Method, worked

from ordinality.cli.reproduce import Numbers
from ordinality.datasets import Split
from ordinality.experiments import Spec, Store, run
from ordinality.experiments.league import PEERS, SPECS, league_page, scored

(LEAGUE,) = SPECS
RESULTS = HERE.parent / "results"
BLOCK = re.compile(r"(?<=<!-- tables -->\n).*?(?=<!-- end of tables -->)", re.DOTALL)


class Task(NamedTuple):
    """What a worker gets."""

    X: np.ndarray
    y: np.ndarray  # ranks from 0, none missing
    X_test: np.ndarray
    seed: int


def measured(split: Split, seed: int, name: str, packages: str) -> dict[str, float]:
    """Scores of one peer, fitted in a process of its own."""
    levels, y = np.unique(split.y, return_inverse=True)
    task = Task(split.X, y, split.X_test, seed)
    try:
        found = worked(environment(packages), name, task)
    except RuntimeError as failure:  # a row keeps what went wrong, not the paths of a machine
        raise RuntimeError(str(failure).splitlines()[-1]) from failure
    return scored(split, levels, np.array(found["proba"]), found["seconds"])


def environment(packages: str) -> Method:
    return Method("peer_league.py", tuple(packages.split()))


def ready(name: str) -> bool:
    """Whether the environment of a peer is there, made if need be."""
    try:
        environment(LEAGUE.method(name).settings["packages"]).python()
    except subprocess.CalledProcessError as problem:
        say(f"The environment of {name} could not be made ({problem}); its cells are left out.")
        return False
    return True


def with_workers() -> Spec:
    """The league whose peers are computed here."""
    names = {peer.name for peer in PEERS}
    return replace(
        LEAGUE,
        methods=tuple(
            replace(m, function=partial(measured, name=m.name)) if m.name in names else m
            for m in LEAGUE.methods
        ),
    )


def write_tables(page: Path, store: Store) -> None:
    text = page.read_text(encoding="utf-8")
    tables = league_page(LEAGUE, store.rows())
    page.write_text(BLOCK.sub(lambda _: f"\n{tables}\n\n", text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add, names = parser.add_argument, ",".join(peer.name for peer in PEERS)
    add("--only", default=names, help=f"peers, with commas between: {names}")
    add("--sets", help="sets, with commas between")
    add("--splits", help="such as 1-2")
    add("--results", type=Path, default=RESULTS, help="folder of rows")
    add("--fresh", action="store_true", help="compute again what has a row")
    add("--page", type=Path, help="write the tables into this page, and compute nothing")
    args = parser.parse_args()
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"  # of the workers
    store = Store(args.results / "league.jsonl")
    if args.page:
        return write_tables(args.page, store)
    if unknown := set(args.only.split(",")) - set(names.split(",")):
        parser.error(f"{', '.join(sorted(unknown))} not known; choose from {names}")
    sets = args.sets.split(",") if args.sets else None
    splits = Numbers().convert(args.splits, None, None) if args.splits else None
    there = [name for name in args.only.split(",") if ready(name)]
    cells = [
        cell
        for cell in LEAGUE.cells(sets, there, splits)
        if there and (cell.set, cell.method) not in LEAGUE.apart
    ]
    run(with_workers(), store, cells=cells, progress=tell, retry=True, fresh=args.fresh)


if __name__ == "__main__":
    main()
