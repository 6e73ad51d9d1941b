"""A Dask cluster as the place where commands do their work."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from .output import say

__all__ = ["cluster_option", "on_cluster"]

TIMEOUT = 5.0  # seconds for a scheduler to answer

cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Do the work on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786.",
)


@contextmanager
def on_cluster(address: str | None) -> Iterator[Any]:
    """The client of a cluster, None without an address; closed at the end."""
    if address is None:
        yield None
        return
    from ordinality.distributed import connect

    # What goes wrong is said in a sentence; Dask would write tracebacks beside it.
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    with connect(address, timeout=TIMEOUT) as client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise ValueError(
                f"the cluster at {address} has no workers; start some with: dask worker "
                f"{address}"
            )
        say(
            [
                f"Working on {address} with {workers} worker{'' if workers == 1 else 's'}; "
                f"watch it at {client.dashboard_link}"
            ]
        )
        yield client
