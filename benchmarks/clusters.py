"""A pass over partitions on a cluster against the same work in one process.

    python benchmarks/clusters.py                       # 2,000,000 rows, two workers
    python benchmarks/clusters.py --rows 200000 --points 100

Evidence and gradient after a fixed number of EP visits, of rows in a file that every process
maps. *Processor* is the time of all processes together: of one process it is the work, and what
a cluster spends beyond that is its overhead. Its processes are started and have loaded compiled
code before the clock runs. The difference of the two answers is that of the order of a sum.

Dask has its workers return every freed block to the system, and each block of a pass then costs
page faults; `--trim` measures that, without it workers keep their memory as other processes do.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from threadpoolctl import threadpool_limits

from ordinality.distributed import PartitionedRows, log_evidence
from ordinality.gp.likelihoods import Ordinal
from ordinality.gp.posterior.inducing import Basis
from ordinality.gp.stream import Belief, evidence, settle_by, slopes, visit
from ordinality.kernels import Gaussian

D, THRESHOLDS, NOISE = 8, np.array([-0.8, -0.2, 0.3, 0.9]), 0.3
KEEP = {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**25}  # bytes
KERNEL = Gaussian(np.full(D, 3.0))


def write(folder: Path, rows: int) -> tuple[Path, Path]:
    """Files of inputs and levels, of any number of rows."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", shape=(rows, D))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", dtype=np.int64, shape=(rows,))
    rng = np.random.default_rng(0)
    for first in range(0, rows, 100_000):
        some = slice(first, min(first + 100_000, rows))
        X[some] = rng.normal(size=(some.stop - first, D))
        hidden = np.sin(X[some, 0]) + 0.5 * X[some, 1] * X[some, 2]
        y[some] = np.digitize(hidden + NOISE * rng.normal(size=len(hidden)), THRESHOLDS)
    return folder / "X.npy", folder / "y.npy"


def alone(files: tuple[Path, Path], Z: np.ndarray, visits: int) -> tuple[float, np.ndarray]:
    """Evidence and gradient in this process, on one thread."""
    X, y = (np.load(file) for file in files)
    weights, sites = np.ones(len(y)), np.zeros((2, len(y)))
    basis, likelihood = Basis.of(KERNEL, Z), Ordinal(THRESHOLDS, NOISE)
    belief, _ = settle_by(
        lambda belief: visit(belief, likelihood, X, y, weights, sites),
        Belief.none(basis), tol=0.0, max_visits=visits,
    )  # fmt: skip
    return evidence(belief, slopes(belief, likelihood, X, y, weights, sites))


def processor_seconds() -> float:
    """Time that this process and those below it have spent on processors."""
    here = psutil.Process()
    spent = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return sum(times.user + times.system for times in spent)


def measured(work):
    """What a function returns, with its seconds by the clock and of all processors."""
    clock, processor = time.perf_counter(), processor_seconds()
    found = work()
    return found, time.perf_counter() - clock, processor_seconds() - processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--partition", type=int, default=100_000)
    parser.add_argument("--visits", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--trim", action="store_true", help="memory as Dask sets it")
    given = parser.parse_args()
    import dask
    from distributed import Client, LocalCluster

    if not given.trim:
        dask.config.set(
            {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in KEEP.items()}
        )
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), given.rows)
        Z = np.array(np.load(files[0], mmap_mode="r")[: given.points])
        few = write(Path(tempfile.mkdtemp(dir=folder)), 2000)
        with threadpool_limits(1):
            alone(few, Z, 2)  # loads compiled code
            one, clock, work = measured(lambda: alone(files, Z, given.visits))
        print(f"{given.rows:,} rows, {given.points} points, {given.visits} visits, a gradient")
        print(f"one process      {clock:7.1f} s, processor {work:7.1f} s")
        cluster = LocalCluster(given.workers, threads_per_worker=1, dashboard_address=":0")
        with cluster, Client(cluster):

            def together(files, partition, visits):
                parts = PartitionedRows.from_npy(*files, rows=partition)
                return log_evidence(parts, KERNEL, THRESHOLDS, NOISE, Z, tol=0.0,
                                    max_passes=visits)  # fmt: skip

            together(few, 100, 2)
            many, clock, spent = measured(
                lambda: together(files, given.partition, given.visits)
            )
        parts = -(-given.rows // given.partition)
        print(
            f"{given.workers} workers, {parts} partitions  {clock:7.1f} s, processor "
            f"{spent:7.1f} s: overhead {spent / work - 1:.0%}"
        )
        apart = np.abs(many.gradient - one[1])
        print(
            f"difference: value {abs(many.value / one[0] - 1):.1e}, gradient "
            f"{apart.max() / np.abs(one[1]).max():.1e} of its largest entry, "
            f"{np.max(apart / np.abs(one[1])):.1e} of any"
        )


if __name__ == "__main__":
    main()
