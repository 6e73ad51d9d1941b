"""Panics of polars: an error in Rust that also writes a backtrace to stderr.

The text goes straight to file descriptor 2, past ``sys.stderr``. So the descriptor points to a
temporary file during the call; what is not the text of a panic is written to stderr afterwards.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["without_panic_text"]

# "thread 'name' (id) panicked at file.rs:1:2:", a message, and mostly a backtrace with a note.
PANIC = re.compile(
    rb"\n?thread '[^\n]*' (?:\(\d+\) )?panicked at [^\n]*\n"
    rb".*?(?:note: [^\n]*RUST_BACKTRACE[^\n]*\n|(?=\n?thread '[^\n]*panicked at )|\Z)",
    re.DOTALL,
)
WAIT, STEPS = 0.01, 20  # seconds; other threads of polars may still be writing their panics
_one_at_a_time = threading.Lock()  # the descriptor belongs to the whole process


@contextmanager
def without_panic_text() -> Iterator[None]:
    """Keep the text of Rust panics off stderr; errors pass through."""
    with _one_at_a_time, tempfile.TemporaryFile() as kept:
        with suppress(AttributeError, OSError, ValueError):
            sys.stderr.flush()
        try:
            stderr = os.dup(2)
        except OSError:  # closed: there is nothing to keep clean
            yield
            return
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            _settle(kept.fileno())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            kept.seek(0)
            others = PANIC.sub(b"", kept.read())
            if others:
                os.write(2, others)


def _settle(file: int) -> None:
    """Wait until a file has stopped growing."""
    size = -1
    for _ in range(STEPS):
        now = os.fstat(file).st_size
        if now == size:
            return
        size = now
        time.sleep(WAIT)
