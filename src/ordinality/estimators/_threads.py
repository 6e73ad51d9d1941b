"""One pool of BLAS threads.

The wheels of NumPy and SciPy each bring an OpenBLAS with threads of its own. Calls that
alternate between the two leave one pool spinning while the other works; on two cores that made
fits up to 100 times slower. The engines factorise with SciPy's, so NumPy's is held to one
thread meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

__all__ = ["one_pool", "thread_map"]


@contextmanager
def one_pool(threads: int | None = None) -> Iterator[None]:
    """Hold NumPy's own BLAS to one thread; all BLAS to ``threads`` if given."""
    controller = ThreadpoolController().select(user_api="blas")
    if threads is None:
        home = Path(np.__file__).parent
        numpys = [
            info["filepath"]
            for info in controller.info()
            if Path(info["filepath"]).parent.name == "numpy.libs"
            or home in Path(info["filepath"]).parents
        ]
        if len(numpys) == len(controller):  # one BLAS for all: nothing to fight with
            yield
            return
        controller, threads = controller.select(filepath=numpys), 1
    with controller.limit(limits=threads):
        yield


def thread_map(n_jobs: int | None) -> Callable[..., Iterable[Any]]:
    """A ``map`` over threads (loops and BLAS release the GIL), one BLAS thread in each."""

    def parallel_map(function: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
        with one_pool(None if n_jobs in (None, 1) else 1):
            calls = (delayed(function)(item) for item in items)
            return list(Parallel(n_jobs=n_jobs, prefer="threads")(calls))

    return parallel_map
