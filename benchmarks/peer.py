"""What the workers share: read a problem, time one fit, write what it cost and how it predicts.

A worker runs in the environment of the method it drives, so nothing here asks for more than
NumPy and SciPy.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

NOISE = 0.5  # where the peers' noise starts, in units of the latent function


class Fit(NamedTuple):
    cost: np.ndarray  # of the whole fit as its user feels it; imports are not counted
    compiling: np.ndarray  # the part of it that went into tracing and compiling
    iterations: int
    log_likelihood: Callable  # (X_test, y_test) -> (m,) log predictive probabilities


def work(fits):
    """Run the worker: ``method problem.npz result.json`` on the command line."""
    method, source, target = sys.argv[1:]
    started = float(os.environ["PEER_STARTED"])
    with np.load(source) as problem:
        X, y, X_test, y_test = (problem[key] for key in ("X", "y", "X_test", "y_test"))
    before = time.time() - started
    fit = fits[method](X, y, int(y_test.max()) + 1)
    seconds, cpu_seconds = fit.cost - fit.compiling
    row = {
        "seconds": seconds,
        "seconds_with_compiling": fit.cost[0],
        "seconds_of_process": before + fit.cost[0],  # start of Python, imports, first fit
        "cpu_seconds": cpu_seconds,  # without compiling; other people's work does not change it
        "iterations": fit.iterations,
        "nlpl": float(-np.mean(fit.log_likelihood(X_test, y_test))),
    }
    Path(target).write_text(json.dumps(row))


def timed(call):
    """``call()``, and its cost: seconds by the clock, seconds of processor over all threads."""
    start = np.array([time.perf_counter(), time.process_time()])
    value = call()
    return value, np.array([time.perf_counter(), time.process_time()]) - start


def frequency_thresholds(y, levels, noise=NOISE):
    """Thresholds that give the observed frequencies under a latent prior of unit variance."""
    # One row more in every level, so that a level nobody chose keeps a finite interval.
    counts = np.bincount(y, minlength=levels) + (np.bincount(y, minlength=levels).min() == 0)
    return np.sqrt(1 + noise**2) * ndtri(np.cumsum(counts)[:-1] / counts.sum())
