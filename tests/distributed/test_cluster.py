"""Clusters that are not there, go away, or have other versions."""

import socket
import subprocess
import sys
import threading
import time

import dask
import numpy as np
import pytest
from distributed import Client, KilledWorker, LocalCluster

import ordinality
from ordinality.distributed import PartitionedRows, cluster, connect, log_evidence


def nobody():
    """An address at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize("address", [None, "no address"])
def test_a_cluster_that_is_not_there_is_one_sentence(address):
    address = address or nobody()
    with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}"):
        connect(address, timeout=0.5)


def test_a_connection_becomes_the_current_client(client):
    with connect(client.scheduler.address) as made:
        assert cluster.current_client() is made


def test_workers_of_another_version_are_refused(client, monkeypatch):
    monkeypatch.setattr(cluster, "__version__", "99.0")
    with pytest.raises(RuntimeError, match=rf"has version {ordinality.__version__}.*99.0"):
        connect(client.scheduler.address)


def slow(seconds):
    time.sleep(seconds)
    X = np.random.default_rng(0).normal(size=(50, 3))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 0] > 1)


def test_a_cluster_that_goes_away_is_one_sentence(problem):
    started = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with started, Client(started) as client:
        parts = PartitionedRows.from_loaders([(slow, 0.3)] * 4)
        threading.Timer(0.4, started.close).start()
        with pytest.raises(ConnectionError, match="connection to the Dask cluster was lost"):
            log_evidence(parts, *problem.parameters)
        assert client.status != "running"
        with pytest.raises(ConnectionError, match="connection to the Dask cluster was lost"):
            log_evidence(parts, *problem.parameters)


def test_calls_on_a_cluster_give_results_in_order_or_an_error_when_it_goes_away():
    started = LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    )
    with started, Client(started) as client:
        found = cluster.mapped_calls(client, time.sleep, [0.2, 0.0], ordered=True)
        assert list(found) == [None, None]
        assert sorted(cluster.mapped_calls(client, abs, [-3, 2], ordered=False)) == [2, 3]
        threading.Timer(0.4, started.close).start()
        with pytest.raises(ConnectionError, match="connection to the Dask cluster was lost"):
            list(cluster.mapped_calls(client, time.sleep, [0.3] * 9, ordered=False))


def test_a_partition_that_kills_workers_is_one_sentence(client, monkeypatch):
    killed = KilledWorker("_loaded-7f3a", client.run_on_scheduler(a_worker), 3)

    def fail(*tasks):
        raise killed

    monkeypatch.setattr(dask, "compute", fail)
    with pytest.raises(RuntimeError, match="died of the task '_loaded'.*lack of memory"):
        cluster.computed([], client)


def a_worker(dask_scheduler):
    return next(iter(dask_scheduler.workers.values())).clean()


def test_an_error_of_a_loader_is_shown_as_it_is(problem, client):
    parts = PartitionedRows.from_loaders([(np.load, "no/such/file.npy")])
    with pytest.raises(FileNotFoundError, match="no/such/file"):
        log_evidence(parts, *problem.parameters)


def test_work_without_a_client_leaves_the_settings_of_dask_alone():
    code = """
import dask, dask.array as da
from ordinality.distributed import PartitionedRows
X = da.zeros((10, 2), chunks=(5, 2))
PartitionedRows.from_collections(X, X[:, 0].astype(int)).persist()
import distributed
print(dask.config.get("distributed.comm.timeouts.connect"))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.strip(), found.stderr
