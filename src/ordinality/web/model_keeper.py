"""Keeps the model process running: starts it, and starts it again when it has died."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time

from ..panel.managed_store import ManagedStore

__all__ = ["ModelKeeper"]

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds before a process that died is started again
log = logging.getLogger("ordinality.web")


class ModelKeeper:
    """One model process for all studies of a store."""

    def __init__(self, store: ManagedStore) -> None:
        self.store = store

    async def run(self) -> None:
        """Keep a process until this is cancelled."""
        wait = FIRST_WAIT
        while True:
            began = time.monotonic()
            code = await self._once()
            if time.monotonic() - began > 60.0:  # it did some work
                wait = FIRST_WAIT
            log.warning("The model process ended (%s); it is started again.", code)
            with contextlib.suppress(Exception):
                self.store.note(None, "server", "model process ended", {"code": code})
            await asyncio.sleep(wait)
            wait = min(2.0 * wait, LONGEST_WAIT)

    async def _once(self) -> int | None:
        """Run a process to its end. It ends by itself when its standard input is closed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ordinality.panel.model_process",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
            # Ctrl-C is for the server, which then closes the input.
            start_new_session=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert process.stdin is not None
        try:
            # Not as an argument: a database URL may hold a password.
            process.stdin.write(f"{self.store.where}\n".encode())
            await process.stdin.drain()
            return await process.wait()
        except asyncio.CancelledError:
            process.stdin.close()
            with contextlib.suppress(TimeoutError, ProcessLookupError):
                await asyncio.wait_for(process.wait(), 2.0)
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
        except (BrokenPipeError, ConnectionResetError):
            return await process.wait()
