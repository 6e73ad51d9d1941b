"""Time and memory of `ordinality rank`, and the right order where an item never loses.

    python benchmarks/rank.py

Tables are drawn in a folder of their own: 100,000 answers about 300 items by 30 judges of
ratio 2 exp(0.3 z), and 10,000 answers about 1,000 items by one. The command runs in a process
of its own, with one BLAS thread. Processor seconds and the largest resident memory are those
of that process. Before them comes a table with an item that never loses. Exits with 1 if
the first takes more than 60 s or 1 GB, or if the order of the last is not what was drawn.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import kendalltau

SECONDS, BYTES = 60.0, 1e9


class Size(NamedTuple):
    """How many answers, items and judges."""

    answers: int
    items: int
    judges: int


def drawn(size: Size, where: Path, seed: int = 0) -> np.ndarray:
    """Write a table of answers; the utilities that are behind it."""
    rng = np.random.default_rng(seed)
    utility = rng.standard_normal(size.items)
    left = rng.integers(size.items, size=size.answers)
    right = (left + rng.integers(1, size.items, size=size.answers)) % size.items
    who = rng.integers(size.judges, size=size.answers)
    ratio = 2.0 * np.exp(0.3 * rng.standard_normal(size.judges))[who]
    gap = (utility[left] - utility[right]) / np.sqrt(2.0)
    winner = np.where(rng.random(size.answers) < ndtr(ratio * gap), left, right)
    rows = zip(left, right, winner, who, strict=True)
    lines = [f"item {a:04},item {b:04},item {c:04},judge {d:02}" for a, b, c, d in rows]
    where.write_text("\n".join(["left,right,winner,judge", *lines]) + "\n")
    return utility


def trap(where: Path) -> list[str]:
    """An item that never loses, and eight of which each wins four of five against the next."""
    names = ["never", *(f"i{k}" for k in range(1, 9))]
    rows = [pair for other in names[1:] for pair in [("never", other)] * 2]
    for a, b in combinations(names[1:], 2):
        rows += [(a, b)] * 4 + [(b, a)]
    where.write_text("winner,loser\n" + "\n".join(",".join(row) for row in rows) + "\n")
    return names


def ranked(where: Path) -> tuple[list[dict], float, float]:
    """The items in order, processor seconds and bytes of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = "from ordinality.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", code, "rank", str(where), "--json"],
        stdout=subprocess.PIPE, check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(found.stdout)["items"], seconds, 1024.0 * after.ru_maxrss


def main() -> None:
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "answers.csv"
        names = trap(table)
        items = ranked(table)[0]
        order = [one["item"] for one in items]
        print(f"an item that never lost: {', '.join(order)}; {items[0]['utility']:.2f}")
        if order != names or not all(np.isfinite(one["utility"]) for one in items):
            wrong.append("the order with an item that never lost")
        # The memory of a child is the largest of all so far: that with a bar comes first.
        for size in (Size(100_000, 300, 30), Size(10_000, 1_000, 1)):
            utility = drawn(size, table)
            items, seconds, memory = ranked(table)
            found = {one["item"]: one["utility"] for one in items}
            tau = kendalltau(utility, [found[name] for name in sorted(found)]).statistic
            print(f"{size}: {seconds:.1f} s, {memory / 1e6:.0f} MB, tau {tau:.3f}")
            if size.answers == 100_000 and (seconds > SECONDS or memory > BYTES):
                wrong.append(f"{seconds:.0f} s and {memory / 1e6:.0f} MB")
    for bar in wrong:
        print(f"missed: {bar}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
