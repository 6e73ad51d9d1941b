"""Serve a store until told to stop: the lease, the address, the links, the model process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import anyio
import uvicorn

from ..panel.managed_store import ManagedStore
from ..panel.store import StoreError
from .application import application
from .model_keeper import ModelKeeper
from .visits import Site

__all__ = ["listening", "only_server", "serve"]

HEARTBEAT = 2.0  # seconds
SILENT = timedelta(seconds=8)  # after which a server counts as gone
GRACE = 3  # seconds for requests under way when the server ends
KEPT = 60  # seconds that a browser may think between two requests of a connection


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
    except OSError as problem:
        made.close()
        raise ValueError(
            f"{host}:{port} cannot be used ({problem.strerror}); choose another port."
        ) from None
    return made


@contextlib.contextmanager
def only_server(store: ManagedStore, address: str) -> Iterator[str]:
    """Hold the lease of a file, or say who has it; yields the name of this holder."""
    holder = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
    if "://" in store.where:  # a database of several servers
        yield holder
        return
    other = store.hold("server", holder, _facts(address), SILENT)
    if other is not None:
        raise StoreError(
            f"{store.where} is served already at {other.get('address')} by process "
            f"{other.get('process')} on {other.get('host')}; use that one, or end it first."
        )
    try:
        yield holder
    finally:
        with contextlib.suppress(StoreError):
            store.let_go("server", holder)


def _facts(address: str) -> dict[str, Any]:
    return {"address": address, "host": socket.gethostname(), "process": os.getpid()}


def serve(site: Site, taken: socket.socket, holder: str) -> None:
    """Answer requests until Ctrl-C or SIGTERM."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(_keep_alive(site, holder)),
            asyncio.create_task(ModelKeeper(site.store).run()),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    config = uvicorn.Config(
        application(site, lifespan), log_level="warning", access_log=False, lifespan="on",
        timeout_graceful_shutdown=GRACE, timeout_keep_alive=KEPT, server_header=False,
        proxy_headers=site.secure,
    )  # fmt: skip
    server = uvicorn.Server(config)
    # When it has ended in order, uvicorn sends the signal that ended it once more.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _beat(site, holder)  # with the address, which the port has decided
        # Ctrl-C is how a server is ended: requests under way were answered, tasks cancelled.
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[taken])
    finally:
        signal.signal(signal.SIGTERM, before)


async def _keep_alive(site: Site, holder: str) -> None:
    """Say from time to time that this server is there; let old reservations go."""
    while True:
        with contextlib.suppress(StoreError):
            await anyio.to_thread.run_sync(_beat, site, holder)
        await asyncio.sleep(HEARTBEAT)


def _beat(site: Site, holder: str) -> None:
    if "://" not in site.store.where:
        site.store.hold("server", holder, _facts(site.address), SILENT)
    site.store.end_reservations()
