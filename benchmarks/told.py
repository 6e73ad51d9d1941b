"""Answers folded in one after another (`Snapshot.told`) against `PreferenceGP.update`.

    python benchmarks/told.py [--seeds 3] [--each 10] [--more 100]

50, 200 and 1000 items with so many random answers each by a judge of ratio 2, a fit, and 100
answers more, folded in and learnt by an update at the same parameters. Prints Kendall tau of
the two orders, the range of the quotient of the standard deviations of utilities, the share of
items where it is within a tenth, and processor seconds of both. Exits with 1 if tau is below
0.99, or a standard deviation off by more than a tenth.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import ndtr
from scipy.stats import kendalltau

SIZES, RATIO = (50, 200, 1000), 2.0


def answers(f: np.ndarray, count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Random pairs, and +1 where the first won."""
    left = rng.integers(len(f), size=count)
    right = (left + rng.integers(1, len(f), size=count)) % len(f)
    p = ndtr(RATIO * (f[left] - f[right]) / np.sqrt(2.0))
    return np.column_stack([left, right]), np.where(rng.random(count) < p, 1, -1)


def compared(n: int, each: int, more: int, seed: int) -> tuple[float, np.ndarray, float, float]:
    """Tau, quotients of standard deviations, and seconds of folding in and of the update."""
    from ordinality import PreferenceGP

    rng = np.random.default_rng([50, n, seed])
    f = rng.standard_normal(n)
    model = PreferenceGP(n).fit(*answers(f, each * n, rng))
    snapshot, new = model.snapshot(), answers(f, more, rng)
    began = time.process_time()
    told = snapshot.told(*new).utility()
    folded = time.process_time()
    updated = model.update(*new).snapshot().utility()
    ended = time.process_time()
    tau = kendalltau(told.mean, updated.mean).statistic
    return float(tau), told.std / updated.std, folded - began, ended - folded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--more", type=int, default=100)
    args = parser.parse_args()
    wrong = []
    print("| items | seed | tau | sd | within a tenth | told | update |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for n in SIZES:
        for seed in range(args.seeds):
            tau, sd, folded, updated = compared(n, args.each, args.more, seed)
            within = np.mean(np.abs(sd - 1.0) <= 0.1)
            print(f"| {n} | {seed} | {tau:.4f} | {sd.min():.3f} to {sd.max():.3f} | "
                  f"{within:.3f} | {folded:.2f} s | {updated:.2f} s |", flush=True)  # fmt: skip
            if tau < 0.99 or within < 1.0:
                wrong.append(f"{n} items, seed {seed}")
    for bar in wrong:
        print(f"missed: {bar}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
