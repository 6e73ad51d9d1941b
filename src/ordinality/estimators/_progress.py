"""How far a long search has come, told to a function or shown as a bar."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["ticking"]


@contextmanager
def ticking(progress: Any, total: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of pieces done, from any thread.

    Parameters
    ----------
    progress : bool or callable
        False: nothing is told. True: a bar in the terminal. Else called as
        ``progress(done, total)``.
    total : int

    Examples
    --------
    >>> with ticking(lambda done, total: print(done, "of", total), 4) as tick:
    ...     tick(3)
    ...     tick(1)
    3 of 4
    4 of 4
    """
    if progress is True:
        with _bar(total) as tell:
            yield _counting(tell, total)
    else:
        yield _counting(progress, total) if callable(progress) else lambda done: None


def _counting(tell: Callable[[int, int], Any], total: int) -> Callable[[int], None]:
    lock, done = threading.Lock(), 0

    def tick(more: int) -> None:
        nonlocal done
        with lock:
            done += more
            tell(done, total)

    return tick


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int, int], Any]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("search", total=total)
        yield lambda done, total: bar.update(task, completed=done)
