"""The connection to a Dask cluster, and its failures in plain words.

Work goes to the Dask client that is current, as everywhere in Dask; without one it is done in
this process, by the scheduler of Dask's configuration.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from threadpoolctl import ThreadpoolController

from .. import __version__

__all__ = [
    "computed",
    "connect",
    "current_client",
    "dask_module",
    "mapped_calls",
    "persisted",
]

_INSTALL = (
    "Work on a cluster needs Dask, which is not installed; run: pip install 'ordinality[dask]'."
)


def dask_module() -> Any:
    """Dask, or an error that says how to install it."""
    try:
        import dask
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(_INSTALL, name=missing.name) from missing
    return dask


def connect(address: str, timeout: float = 10.0) -> Any:
    """Connect to the scheduler of a Dask cluster, and check that its workers can be used.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``"tcp://10.0.0.1:8786"``.
    timeout : float, default=10.0
        Seconds to wait for the scheduler to answer.

    Returns
    -------
    distributed.Client
        The client, current from now on; close it, or use it in a ``with`` statement.

    Raises
    ------
    ConnectionError
        If no scheduler answers.
    RuntimeError
        If a worker lacks this package or has another version of it.

    Examples
    --------
    >>> from ordinality.distributed import connect
    >>> connect("tcp://127.0.0.1:9", timeout=0.5)
    Traceback (most recent call last):
    ConnectionError: no Dask scheduler answers at tcp://127.0.0.1:9 ...
    """
    try:
        import distributed
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(_INSTALL, name=missing.name) from missing
    gc.collect()  # a forgotten client, closed while this one starts, would wait for its lock
    try:
        client = distributed.Client(address, timeout=timeout)
    except (OSError, TimeoutError, ValueError) as wrong:
        raise ConnectionError(
            f"no Dask scheduler answers at {address} within {timeout:g} s; check the address "
            "and that `dask scheduler` is running there."
        ) from wrong
    try:
        _check_versions(client)
    except BaseException:
        client.close()
        raise
    return client


def _check_versions(client: Any) -> None:
    def version() -> str | None:  # nested, so that it is sent whole: a worker may lack us
        try:
            return str(import_module("ordinality").__version__)
        except ModuleNotFoundError:
            return None

    for worker, found in client.run(version).items():
        if found != __version__:
            has = "no ordinality" if found is None else f"version {found} of ordinality"
            raise RuntimeError(
                f"worker {worker} has {has}, and this process has version {__version__}; "
                "install the same version everywhere."
            )


def current_client() -> Any:
    """The Dask client that work goes to, None for this process."""
    if "distributed" not in sys.modules:  # then nobody can have made a client
        return None
    import distributed

    try:
        return distributed.default_client()
    except ValueError:  # says that there is none
        return None


def persisted(tasks: list[Any], client: Any) -> list[Any]:
    """The same tasks, started; results stay where they are computed."""
    dask = dask_module()
    # Beliefs travel inside the graph, so that the scheduler can send them again to a new
    # worker. Dask would warn of 10 MB, which 1600 points reach. Not without a client: were
    # `distributed` imported meanwhile, its settings would be lost with this one.
    quiet = {"distributed.admin.large-graph-warning-threshold": "1GB"} if client else {}
    with _plain_errors(client), _one_thread(), dask.config.set(quiet):
        return list(dask.persist(*tasks))


def computed(tasks: list[Any], client: Any) -> list[Any]:
    """Results of tasks, in this process."""
    with _plain_errors(client), _one_thread():
        return list(dask_module().compute(*tasks))


def mapped_calls(
    client: Any, function: Callable[[Any], Any], works: Iterable[Any], *, ordered: bool
) -> Iterator[Any]:
    """Results of ``function(work)`` on a cluster, in order or as they finish."""
    import distributed

    dask = dask_module()
    with _plain_errors(client):
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            futures = client.map(function, list(works), pure=False)
        try:
            for future in futures if ordered else distributed.as_completed(futures):
                yield future.result()
        finally:
            if client.status == "running":
                client.cancel(futures)  # of a caller that has enough


def _one_thread() -> Any:
    """Hold BLAS to one thread, as Dask does in the processes of workers: tasks are parallel."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def _plain_errors(client: Any) -> Iterator[None]:
    """Say what happened to a cluster, in place of Dask's account of keys and futures."""
    gone = (
        "the connection to the Dask cluster was lost; start the cluster, make a new client, "
        "and run this again."
    )
    if client is None:
        yield
        return
    # Without its client Dask would go on in this process, where the rows are not.
    if client.status != "running":
        raise ConnectionError(gone)
    import distributed

    try:
        yield
    except distributed.KilledWorker as wrong:
        raise RuntimeError(
            f"several workers died of the task {str(wrong.task).partition('-')[0]!r} of one "
            "partition, most likely for lack of memory; make partitions smaller, or give "
            "workers more memory."
        ) from wrong
    except Exception as wrong:
        if client.status == "running" and not isinstance(wrong, distributed.CancelledError):
            raise
        raise ConnectionError(gone) from wrong
