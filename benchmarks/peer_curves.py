"""What the workers of `large_peers.py` share: train for some time, and score on the way.

A worker runs in the environment of the method it drives, so nothing here asks for more than
NumPy. Seconds are the processor's; those of scoring are not counted.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

FIRST, GROWTH = 2.0, 1.15  # seconds of the first score, and of each further one


class Training(NamedTuple):
    step: Callable  # () -> None, some of the work
    proba: Callable  # (X_test,) -> (m, K) probabilities at the present state
    once: bool = False  # whether one step is all


def work(start):
    """Run the worker: ``method problem.npz result.json`` on the command line.

    ``start(X, y, levels, points, ard)`` prepares the method's training.
    """
    _, source, target = sys.argv[1:]
    with np.load(source) as problem:
        X, y, X_test, y_test = (problem[key] for key in ("X", "y", "X_test", "y_test"))
        points, limit, ard = (problem[key].item() for key in ("points", "limit", "ard"))
    training = start(X, y, int(max(y.max(), y_test.max())) + 1, points, ard)
    spent, due, curve = 0.0, FIRST, []
    while not curve or curve[-1][0] < limit:
        began = time.process_time()
        training.step()
        spent += time.process_time() - began
        if spent >= min(due, limit) or training.once:
            curve.append([spent, *scores(training.proba(X_test), y_test)])
            due = GROWTH * spent
        if training.once:
            break
    names = ("curve_seconds", "curve_log", "curve_rps")
    Path(target).write_text(json.dumps(dict(zip(names, zip(*curve, strict=True), strict=True))))


def standardised(X):
    """A function that shifts and scales columns to those of X at unit spread."""
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1.0  # a constant column stays zero
    return lambda rows: (rows - mean) / spread


def scores(proba, y):
    """Log score and ranked probability score, as `ordinality.metrics` has them."""
    occurred = y[:, None] <= np.arange(proba.shape[1] - 1)
    missed = np.cumsum(proba, axis=1)[:, :-1] - occurred
    log = -np.mean(np.log(proba[np.arange(len(y)), y]))
    return float(log), float(np.mean(np.sum(missed**2, axis=1)))
