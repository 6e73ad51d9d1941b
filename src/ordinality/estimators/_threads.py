"""One pool of BLAS threads.

The wheels of NumPy and SciPy each bring an OpenBLAS with threads of its own. Calls that
alternate between the two leave one pool spinning while the other works; on two cores that made
fits up to 100 times slower. The engines factorise with SciPy's, so NumPy's is held to one
thread meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

__all__ = ["one_pool", "thread_map"]

_FEW = 400  # rows below which a second thread gains nothing and may wait for a busy core


_lock = threading.Lock()
_holders: dict[str, int] = {}  # fits at work in this process, by what they hold
_limits: dict[str, Any] = {}


@contextmanager
def one_pool(rows: int | None = None) -> Iterator[None]:
    """Hold NumPy's own BLAS to one thread; every BLAS if there are few ``rows``.

    Fits may overlap in several threads: the first one in limits, the last one out restores.
    """
    what = "all" if rows is not None and rows < _FEW else "numpy"
    with _lock:
        if _holders.get(what, 0) == 0:
            _limits[what] = _chosen(what).limit(limits=1)
        _holders[what] = _holders.get(what, 0) + 1
    try:
        yield
    finally:
        with _lock:
            _holders[what] -= 1
            if _holders[what] == 0:
                _limits.pop(what).restore_original_limits()


def _chosen(what: str) -> ThreadpoolController:
    """All BLAS libraries, or NumPy's own if SciPy has another."""
    controller = ThreadpoolController().select(user_api="blas")
    if what == "all":
        return controller
    home = Path(np.__file__).parent
    numpys = [
        info["filepath"]
        for info in controller.info()
        if Path(info["filepath"]).parent.name == "numpy.libs"
        or home in Path(info["filepath"]).parents
    ]
    alone = len(numpys) == len(controller)  # one BLAS for all: nothing to fight with
    return controller.select(filepath=[] if alone else numpys)


def thread_map(n_jobs: int | None) -> Callable[..., Iterable[Any]]:
    """A ``map`` over threads (loops and BLAS release the GIL), one BLAS thread in each."""

    def parallel_map(function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        with one_pool(None if n_jobs in (None, 1) else 0):
            calls = (delayed(function)(item) for item in items)
            return list(Parallel(n_jobs=n_jobs, prefer="threads")(calls))

    return parallel_map
