"""The one decorator for compiled loops.

A compiled loop costs two things before it computes anything: importing numba (a quarter of a
second) and loading machine code from the cache. `loop` pays neither until the first call, so
that importing an estimator stays cheap.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

__all__ = ["loop"]


class loop:  # noqa: N801 - a decorator, spelt as one
    """Compile a function of arrays with numba when it is first called.

    Options are the same for every loop of the package: machine code is cached on disk (or not
    at all where no folder is writable), the GIL is released, and division follows IEEE rules.
    Never ``fastmath``: it may assume away the infinities our outer thresholds rely on. Never
    ``parallel``: numba's threads would fight with those of BLAS.

    A loop may call other loops of its module; they are compiled with it.

    Examples
    --------
    >>> from ordinality._jit import loop
    >>> @loop
    ... def total(x):
    ...     s = 0.0
    ...     for value in x:
    ...         s += value
    ...     return s
    >>> import numpy as np
    >>> float(total(np.arange(4.0)))
    6.0
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)

    @functools.cached_property
    def compiled(self) -> Any:
        """The numba dispatcher, made on first use."""
        import numba

        # numba looks names up in the function's globals and must find dispatchers there, so
        # it is given a copy of the function in which the loops it calls are compiled ones.
        function = self._function
        assert isinstance(function, types.FunctionType)
        names = function.__code__.co_names
        called = {
            name: value.compiled
            for name, value in function.__globals__.items()
            if name in names and isinstance(value, loop)
        }
        copy = types.FunctionType(
            function.__code__,
            {**function.__globals__, **called},
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        copy.__qualname__ = function.__qualname__
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        try:
            return numba.njit(cache=True, **options)(copy)
        except RuntimeError:  # no writable folder for the cache (or no source file)
            return numba.njit(**options)(copy)
