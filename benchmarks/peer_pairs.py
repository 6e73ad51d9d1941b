"""What the workers on comparisons share: read items and pairs, time some fits, write the cost.

A worker runs in the environment of the method it drives, so nothing here asks for more than
NumPy and SciPy.
"""

import json
import sys
from pathlib import Path

import numpy as np
from peer import timed
from scipy.special import ndtr

TIMES = 5  # fits after the first, at most,
PATIENCE = 10.0  # and none is begun after so many seconds of processor


def work(fits):
    """Run the worker: ``method problem.npz result.json`` on the command line.

    ``fits[method](X, pairs)`` learns from pairs with the preferred item first and returns a
    function that maps pairs to the probability that their first item is preferred.
    """
    method, source, target = sys.argv[1:]
    with np.load(source) as problem:
        X, pairs, test = (problem[key] for key in ("X", "pairs", "test"))
    costs = []
    while not costs or (len(costs) <= TIMES and np.sum(costs, axis=0)[1] < PATIENCE):
        proba, cost = timed(lambda: fits[method](X, pairs))
        costs.append(cost)
    first, again = costs[0], np.median(costs[1:] or costs, axis=0)
    p, *more = np.atleast_2d(proba(test))
    row = {
        "first": first[1],  # of processor, in a process that has fitted nothing yet
        "again": again[1],
        "first_by_clock": first[0],
        "again_by_clock": again[0],
        "fits": len(costs),
        "nlpl": float(-np.mean(np.log(p))),
        "nlpl_elsewhere": [float(-np.mean(np.log(q))) for q in more],
    }
    Path(target).write_text(json.dumps(row))


def expected(mean, covariance, pairs, noise):
    """Probability that the first is preferred, by normal noise of a difference of utilities."""
    i, j = pairs.T
    var = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    return ndtr((mean[i] - mean[j]) / np.sqrt(noise**2 + var))
