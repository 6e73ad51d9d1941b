"""Threads of the BLAS libraries, and a map over threads.

The wheels of NumPy and SciPy each bring an OpenBLAS with threads of its own. Calls that
alternate between the two leave one pool spinning while the other works; on two cores that made
fits up to 100 times slower. The engines factorise with SciPy's, so NumPy's is held to one
thread during a fit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

__all__ = ["one_pool", "thread_map"]


_FEW = 800  # rows below which a second thread gains little and may wait for a busy core


_lock = threading.Lock()


_holders = {"all": 0, "numpy": 0}  # fits at work in this process, by what they hold


_original: dict[str, int] = {}  # threads of each library before the first of them


@contextmanager
def one_pool(rows: int | None = None) -> Iterator[None]:
    """Hold NumPy's own BLAS to one thread; every BLAS if there are few ``rows``.

    Fits may overlap in several threads; when none is left, all is as it was.
    """
    what = "all" if rows is not None and rows < _FEW else "numpy"
    _hold(what, +1)
    try:
        yield
    finally:
        _hold(what, -1)


def _hold(what: str, change: int) -> None:
    with _lock:
        libraries = _libraries()
        if not any(_holders.values()):
            _original.update({lib.filepath: lib.num_threads for lib, _ in libraries})
        _holders[what] += change
        for lib, is_numpys in libraries:
            held = _holders["all"] or (is_numpys and _holders["numpy"])
            lib.set_num_threads(1 if held else _original[lib.filepath])


@cache
def _libraries() -> list[tuple[Any, bool]]:
    """The BLAS libraries of this process; whether each is NumPy's own, SciPy having another."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    home = Path(np.__file__).parent
    folders = [Path(lib.filepath).parent for lib in found]
    own = [
        folder.name == "numpy.libs" or home in (folder, *folder.parents) for folder in folders
    ]
    return [(lib, is_own and not all(own)) for lib, is_own in zip(found, own, strict=True)]


def thread_map(n_jobs: int | None) -> Callable[..., Iterable[Any]]:
    """A ``map`` over threads (loops and BLAS release the GIL), one BLAS thread in each."""

    def parallel_map(function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        with one_pool(None if n_jobs in (None, 1) else 0):
            calls = (delayed(function)(item) for item in items)
            return list(Parallel(n_jobs=n_jobs, prefer="threads")(calls))

    return parallel_map
