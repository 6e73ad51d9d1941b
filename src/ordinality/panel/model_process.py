"""The process that thinks for a server: ``python -m ordinality.panel.model_process``.

It reads the store's place from its standard input, and ends when that is closed, so that it
never outlives its server. All else goes through the store: it reads answers, and writes
snapshots and the queue. Answers are taken whether it runs or not.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from .managed_store import ManagedStore
from .store import StoreError
from .study_model import StudyModel

__all__ = ["main", "work"]

NICE = 10
PAUSE = 0.1  # seconds between two looks at the store
HEARTBEAT, SILENT = 2.0, timedelta(seconds=10)


def main() -> None:
    """Work for a server until it ends."""
    where = sys.stdin.readline().strip()
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    with contextlib.suppress(AttributeError):  # Windows
        os.nice(NICE)
    with ManagedStore(where) as store:
        work(store)


def _end_with_the_server() -> None:
    while sys.stdin.read(1):
        pass
    os._exit(0)  # nothing is lost: the store has every answer


def work(store: ManagedStore) -> None:
    """Keep the models of all studies of a store, in turn."""
    holder = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
    facts = {"host": socket.gethostname(), "process": os.getpid()}
    models: dict[str, StudyModel] = {}
    beaten = -HEARTBEAT
    with ThreadPoolExecutor(1) as pool:
        while True:
            if time.monotonic() - beaten > HEARTBEAT:
                # Of several servers on one database, one has the model.
                if _busy(store, holder, facts):
                    models.clear()
                    time.sleep(HEARTBEAT)
                    continue
                beaten = time.monotonic()
            if not _step(store, models, pool):
                time.sleep(PAUSE)


def _busy(store: ManagedStore, holder: str, facts: dict[str, object]) -> bool:
    """Whether another process has the model; keeps the lease if not."""
    try:
        return store.hold("model", holder, facts, SILENT) is not None
    except StoreError:
        return False


def _step(store: ManagedStore, models: dict[str, StudyModel], pool: ThreadPoolExecutor) -> bool:
    """One step of each study; whether there was something to do."""
    worked = False
    for slug in store.slugs():
        if slug not in models:
            task = store.served(slug)
            assert task is not None
            models[slug] = StudyModel(store, task.id, pool)
        worked |= models[slug].step()
    return worked


if __name__ == "__main__":
    main()
