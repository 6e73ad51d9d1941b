"""The decorator for compiled loops, and notice of compilation.

Importing numba takes a quarter of a second, and compiling a loop takes up to several seconds
the first time on a machine. Neither happens before a loop is called, so that importing an
estimator stays cheap. After that the machine code comes from numba's cache on disk.
"""

from __future__ import annotations

import functools
import os
import time
import types
from collections.abc import Callable
from typing import Any

__all__ = ["check_shape", "loop", "watch"]


class loop:  # noqa: N801 - a decorator, spelt as one
    """Compile a function of arrays with numba when it is first called.

    Options are the same for every loop of the package: machine code is cached on disk (or not
    at all where no folder is writable), the GIL is released, and division follows IEEE rules.
    Never ``fastmath``: it may assume away the infinities our outer thresholds rely on. Never
    ``parallel``: numba's threads would compete with those of BLAS.

    A loop may call other loops of its module; they are compiled with it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function: Any = function

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)

    def __getattr__(self, name: str) -> Any:
        """Make the numba dispatcher, ``compiled``, on first use."""
        if name != "compiled":
            raise AttributeError(name)
        # No lock, which a fork could leave locked in the child. Threads that come here together
        # may each make a dispatcher, but all of them use the first, which compiles once.
        return vars(self).setdefault(name, self._dispatcher())

    def _dispatcher(self) -> Any:
        import numba

        _listen()
        # numba looks names up in the function's globals and must find dispatchers there, so
        # it is given a copy of the function in which the loops it calls are compiled ones.
        function = self._function
        found = dict(function.__globals__)
        for name in function.__code__.co_names:
            if isinstance(found.get(name), loop):
                found[name] = found[name].compiled
        copy = types.FunctionType(
            function.__code__, found, None, function.__defaults__, function.__closure__
        )
        copy.__qualname__ = function.__qualname__
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        try:
            return numba.njit(cache=True, **options)(copy)
        except RuntimeError:  # no writable folder for the cache (or no source file)
            return numba.njit(**options)(copy)


def check_shape(shape: tuple[int, ...], **arrays: Any) -> None:
    """Raise a ValueError for arrays of another shape, which a loop does not check."""
    for name, array in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, but must have shape {shape}.")


class watch:  # noqa: N801 - used like a function
    """Context manager that calls ``tell`` once if anything is compiled, and counts the time.

    ``tell`` is called by the thread that compiles, and no other thread compiles until it
    returns. ``seconds`` is the processor time spent so far. Code from the cache is not
    compiled. All threads of this process are watched; other processes are not.
    """

    def __init__(self, tell: Callable[[], Any]) -> None:
        self.seconds = 0.0
        self._tell: Callable[[], Any] | None = tell

    def __enter__(self) -> watch:
        _watches.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _watches.remove(self)

    def compiling(self) -> None:
        """Tell, the first time."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()


_watches: list[watch] = []
_listeners: dict[str, Any] = {}  # at most one


def _listen() -> None:
    """Let numba report to every `watch`, from the first call on."""
    from numba.core import event
    from numba.core.compiler_lock import global_compiler_lock as lock

    class Listener(event.Listener):
        # numba compiles under its lock, so one thread at a time: plain attributes will do.
        # A loop that calls others starts their compilation inside its own: count it once.
        depth = 0
        began = 0.0

        def on_start(self, _: Any) -> None:
            if not self.depth:
                self.began = time.thread_time()
            self.depth += 1
            for seen in tuple(_watches):
                seen.compiling()

        def on_end(self, _: Any) -> None:
            self.depth -= 1
            if not self.depth:
                spent = time.thread_time() - self.began
                for seen in tuple(_watches):
                    seen.seconds += spent

    listener = Listener()
    if _listeners.setdefault("numba:compile", listener) is not listener:
        return  # there is one already
    event.register("numba:compile", listener)
    # If another thread holds numba's lock during a fork, it stays locked in the child for ever.
    # Let the fork wait until that thread has compiled its loop.
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
