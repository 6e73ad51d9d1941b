"""Inducing points: growth of time and memory with the rows, a pass in flops, rows in blocks.

    python benchmarks/large_growth.py                        # what is missing, and the tables
    python benchmarks/large_growth.py --table
    python benchmarks/large_growth.py --only rows --most 200000

Smooth random functions of eight features in five levels, one thread, 500 points. Each fit runs
in a process of its own, so that its peak of memory is its own: *megabytes* are that peak less
the one before the fit, when the rows and compiled code had been loaded. A *pass* is a
visit of all rows by expectation propagation; its flops are those of the three products with M
by M matrices that it cannot do without (whitening, variances, sums), counted as the triangular
and symmetric products that they are, and the rate is that of a large matrix product in the same
process. *Blocks* come one after another to `partial_fit`, beside one fit of all the rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from functools import partial
from typing import Any

import numpy as np
from bench import benchmark, compute, rows
from peers import hold_to

from ordinality.datasets import smooth_ordinal
from ordinality.experiments import Method

ROWS = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
POINTS = (100, 300, 500)
BLOCK = 1000


def smooth(n: int, seed: int):
    return smooth_ordinal(n, 5, d=8, noise=0.25, n_test=5000, seed=seed)


def score(model: Any, data: Any) -> float:
    from ordinality.metrics import log_score

    return log_score(data.y_test, model.predict_level_proba(data.X_test))


def of_rows(n: int, seed: int) -> dict:
    """Processor seconds and memory of a whole fit."""
    from ordinality import OrdinalGP

    data = smooth(n, seed)
    OrdinalGP(inducing=50).fit(data.X[:5000], data.y[:5000])  # loads compiled code
    held, began = _peak(), time.process_time()
    model = OrdinalGP().fit(data.X, data.y)
    spent = time.process_time() - began
    beyond = _peak() - held
    return {"spent": spent, "megabytes": beyond, "log": score(model, data)}


def of_pass(points: int, seed: int) -> dict:
    """A visit of 50,000 rows in units of its flops at the rate of a matrix product."""
    from ordinality.gp.likelihoods import Ordinal
    from ordinality.gp.posterior.inducing import Basis, greedy_points
    from ordinality.gp.stream import Belief, visit
    from ordinality.kernels import Gaussian

    data, n = smooth(50_000, seed), 50_000
    kernel, likelihood = Gaussian(3.0), Ordinal(np.array([-0.8, -0.3, 0.3, 0.9]), 0.3)
    basis = Basis.of(kernel, data.X[greedy_points(kernel, data.X[:5000], points)[0]])
    belief, sites, weights = Belief.none(basis), np.zeros((2, n)), np.ones(n)
    square, ratios = np.ones((1500, 1500)), []
    for _ in range(6):  # in turn, because the rate of a shared machine changes
        began = time.process_time()
        square @ square
        rate = 2.0 * 1500**3 / (time.process_time() - began)
        began = time.process_time()
        sums = visit(belief, likelihood, data.X, data.y - 1, weights, sites)
        spent = time.process_time() - began
        belief = Belief(basis, sums.gram, sums.shift)
        ratios.append(spent * rate / (3.0 * n * points**2))
    return {"times_flops": float(np.median(ratios[1:])), "spent": spent, "gflops": rate / 1e9}


def of_blocks(blocks: int, seed: int) -> dict:
    """The same rows in blocks and at once: log scores, and seconds of early and late blocks."""
    from ordinality import OrdinalGP

    data, model, laps = smooth(blocks * BLOCK, seed), OrdinalGP(), []
    held = _peak()
    for first in range(0, blocks * BLOCK, BLOCK):
        some = slice(first, first + BLOCK)
        began = time.process_time()
        model.partial_fit(data.X[some], data.y[some], classes=[1, 2, 3, 4, 5])
        laps.append(time.process_time() - began)
    beyond = _peak() - held
    streamed = laps[len(laps) // 10 :]  # theta has been learnt by then
    early, late = np.array_split(streamed, 2)
    began = time.process_time()
    whole = OrdinalGP().fit(data.X, data.y)
    return {
        "log": score(model, data), "log_whole": score(whole, data),
        "megabytes": beyond, "early": float(np.median(early)), "late": float(np.median(late)),
        "spent": float(np.sum(laps)), "spent_whole": time.process_time() - began,
    }  # fmt: skip


def _peak() -> float:
    """Most memory of this process so far, in MB."""
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


KINDS = {"rows": of_rows, "pass": of_pass, "blocks": of_blocks}


def apart(problem: str, seed: int, kind: str, size: int) -> dict:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--cell", kind, str(size), str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def spec(sizes: dict[str, list[int]]):
    metrics = ("spent", "megabytes", "log", "times_flops", "early", "late")
    return benchmark(
        "large_growth", "Growth with the rows", metrics=metrics, sets=("smooth",),
        partitions=1, problem=lambda name, number: name,
        methods=tuple(
            Method(f"{kind} {size}", f"{size} {kind}", partial(apart, kind=kind),
                   {"size": size})
            for kind, all_sizes in sizes.items() for size in all_sizes
        ),
    )  # fmt: skip


def report(found: list[dict]) -> None:
    """The three tables."""
    for kind, columns in {
        "rows": ("spent", "megabytes", "log"),
        "pass": ("times_flops", "spent", "gflops"),
        "blocks": ("log", "log_whole", "early", "late", "megabytes", "spent", "spent_whole"),
    }.items():
        own = sorted(
            (r for r in found if r["method"].startswith(kind)), key=lambda r: r["size"]
        )
        if not own:
            continue
        print(f"| {kind} | " + " | ".join(columns) + " |\n|" + "--:|" * (1 + len(columns)))
        for row in own:
            print(f"| {row['size']} | " + " | ".join(f"{row[c]:.4g}" for c in columns) + " |")
        if kind == "rows" and len(own) > 1:
            slope = np.polyfit(*np.log([[r[c] for r in own] for c in ("size", "spent")]), 1)[0]
            print(f"\nSlope of log seconds in log rows: {slope:.3f}.")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add: Any = parser.add_argument
    add("--only", choices=list(KINDS), nargs="+", default=list(KINDS))
    add("--most", type=int, default=ROWS[-1], help="rows")
    add("--fresh", action="store_true", help="measure again what is already in the results")
    add("--table", action="store_true", help="only the tables of what is there")
    add("--cell", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    hold_to(1)
    if args.cell:
        kind, size, seed = args.cell
        print(json.dumps(KINDS[kind](int(size), int(seed))))
        return
    sizes = {"pass": list(POINTS), "rows": [n for n in ROWS if n <= args.most],
             "blocks": [args.most // BLOCK]}  # fmt: skip
    task = spec({kind: sizes[kind] for kind in sizes if kind in args.only})
    if not args.table:
        compute(task, retry=True, fresh=args.fresh)
    report(rows(task, list(task.cells())))


if __name__ == "__main__":
    main()
