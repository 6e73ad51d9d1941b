"""Evidence and gradient of rows in partitions, against one process."""

import itertools
import os
import signal
import threading
import time
from collections import Counter

import dask
import dask.array as da
import numpy as np
import pytest

from ordinality.distributed import Evidence, PartitionedRows, log_evidence
from ordinality.distributed.partitions import encoded, summed
from ordinality.distributed.passes import Visits
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.posterior.inducing import Basis
from ordinality.gp.stream import Belief, evidence
from ordinality.levels import Order


def assert_is_that_of_one_process(found, problem):
    wanted = problem.found
    assert found.converged
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    largest = np.abs(wanted.gradient).max()
    np.testing.assert_allclose(
        found.gradient, wanted.gradient, rtol=1e-10, atol=1e-11 * largest
    )


def arrays(problem, rows, columns=3):
    return da.from_array(problem.X, chunks=(rows, columns)), da.from_array(problem.y, rows)


@pytest.mark.parametrize("rows", [3000, 1700, 130])
def test_evidence_and_gradient_are_those_of_one_process(problem, rows, here):
    parts = PartitionedRows.from_collections(*arrays(problem, rows))
    found = log_evidence(parts, *problem.parameters, tol=1e-11)
    assert_is_that_of_one_process(found, problem)


def test_two_processes_give_the_same_evidence_and_gradient(problem, client):
    parts = PartitionedRows.from_collections(*arrays(problem, 700))
    found = log_evidence(parts, *problem.parameters, tol=1e-11)
    assert_is_that_of_one_process(found, problem)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_sums_are_added_in_an_order_that_their_number_decides(scheduler):
    def slowest_first(i):
        time.sleep(0.002 * (10 - i))
        return str(i)

    tasks = [dask.delayed(slowest_first)(i) for i in range(10)]
    with dask.config.set(scheduler=scheduler):
        total = summed(tasks, lambda a, b: f"({a}{b})").compute()
    assert total == "((((((((01)2)3)4)5)6)7)(89))"


def load(folder, first, last):
    """Some rows; every call leaves a line in a file."""
    with open(folder / "loaded", "a", encoding="utf-8") as log:
        log.write(f"{first}\n")
    return np.load(folder / "X.npy")[first:last], np.load(folder / "y.npy")[first:last]


def settled_while(client, problem, folder, disturb):
    """Evidence of rows that are loaded from a folder; `disturb` is called after each pass."""
    client.wait_for_workers(2)
    np.save(folder / "X.npy", problem.X)
    np.save(folder / "y.npy", problem.y)
    loaders = [(load, folder, first, first + 500) for first in range(0, 3000, 500)]
    order = Order(np.arange(3), "stated")
    rows = encoded(
        PartitionedRows.from_loaders(loaders), order, np.zeros(3), np.ones(3), np.ones(3)
    ).persist()
    basis = Basis.of(problem.kernel, problem.Z)
    visits = Visits(rows, basis, Ordinal(np.array(problem.thresholds), problem.noise))
    passes = itertools.count(1)
    belief, done = visits.settle(
        Belief.none(basis), 1e-11, 100, lambda value: disturb(next(passes))
    )
    value, gradient = evidence(belief, visits.slopes(belief))
    return Evidence(value, gradient, done.n_iter, done.converged, 0.0, 0.0)


def test_the_answer_is_the_same_if_a_worker_is_killed_during_a_pass(problem, client, tmp_path):
    victim = min(client.run(os.getpid).values())

    def disturb(count):
        if count == 4:
            threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()

    found = settled_while(client, problem, tmp_path, disturb)
    assert_is_that_of_one_process(found, problem)
    client.wait_for_workers(2)
    assert victim not in client.run(os.getpid).values()


def test_rows_and_sites_that_nobody_holds_are_computed_again(problem, client, tmp_path):
    def disturb(count):
        if count == 4:
            for victim in client.run(os.getpid).values():
                os.kill(victim, signal.SIGKILL)

    found = settled_while(client, problem, tmp_path, disturb)
    assert_is_that_of_one_process(found, problem)
    loaded = Counter((tmp_path / "loaded").read_text().split())
    assert len(loaded) == 6
    assert min(loaded.values()) >= 2


def test_partitions_without_rows_add_nothing(problem, here):
    none = (np.empty((0, 3)), np.empty(0))
    halves = [(problem.X[:1000], problem.y[:1000]), none, (problem.X[1000:], problem.y[1000:])]
    parts = PartitionedRows.from_loaders([(tuple, half) for half in [none, *halves]])
    found = log_evidence(parts, *problem.parameters, tol=1e-11)
    assert_is_that_of_one_process(found, problem)


def test_weights_are_copies_and_zero_is_none(problem, here):
    X, y = problem.X[:600], problem.y[:600]
    weights = np.tile([0.0, 1.0, 2.0], 200)
    copies = np.repeat(np.arange(600), weights.astype(int))
    weighted = PartitionedRows.from_loaders([(tuple, (X, y, weights))])
    copied = PartitionedRows.from_loaders([(tuple, (X[copies], y[copies]))])
    one = log_evidence(weighted, *problem.parameters, tol=1e-9)
    other = log_evidence(copied, *problem.parameters, tol=1e-9)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-8)


def test_labels_are_taken_in_the_stated_order(problem, here):
    words = np.array(["low", "mid", "high"])
    parts = PartitionedRows.from_loaders([(tuple, (problem.X, words[problem.y]))])
    found = log_evidence(parts, *problem.parameters, levels=words, tol=1e-11)
    assert_is_that_of_one_process(found, problem)


def test_a_label_outside_the_levels_is_named(problem, here):
    parts = PartitionedRows.from_loaders([(tuple, (problem.X, problem.y + 1))])
    with pytest.raises(ValueError, match="y contains 3.*declared levels"):
        log_evidence(parts, *problem.parameters)


def test_too_few_passes_are_reported(problem, here):
    parts = PartitionedRows.from_collections(*arrays(problem, 1000))
    found = log_evidence(parts, *problem.parameters, max_passes=3)
    assert not found.converged
    assert found.n_passes == 4  # one more for the gradient
    assert found.residual > 1e-6


@pytest.mark.parametrize("points", [[1.0, 2.0], np.empty((0, 3))])
def test_points_have_a_row_each(problem, here, points):
    parts = PartitionedRows.from_collections(*arrays(problem, 1000))
    with pytest.raises(ValueError, match="points has shape.*wanted"):
        log_evidence(parts, *problem.parameters[:3], points)
