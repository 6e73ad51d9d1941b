"""The decorators for compiled loops.

A compiled loop costs two things before it computes anything: importing numba (a quarter of a
second) and loading machine code from the cache. `loop` pays neither until the first call, so
that importing an estimator stays cheap. `leaf` never pays the first, but for the one time that
a machine compiles it: its machine code needs nothing of numba and is kept as an object file,
which LLVM alone loads in milliseconds (on Linux; elsewhere a leaf is a loop).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import secrets
import sys
import threading
import types
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["leaf", "loop"]


class loop:  # noqa: N801 - a decorator, spelt as one
    """Compile a function of arrays with numba when it is first called.

    Options are the same for every loop of the package: machine code is cached on disk (or not
    at all where no folder is writable), the GIL is released, and division follows IEEE rules.
    Never ``fastmath``: it may assume away the infinities our outer thresholds rely on. Never
    ``parallel``: numba's threads would fight with those of BLAS.

    A loop may call other loops of its module; they are compiled with it.

    Examples
    --------
    >>> from ordinality._compile import loop
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
        self._function: Any = function

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)

    @functools.cached_property
    def compiled(self) -> Any:
        """The numba dispatcher, made on first use."""
        called = {name: value.compiled for name, value in self._calls().items()}
        try:
            return self._dispatcher(called, cache=True)
        except RuntimeError:  # no writable folder for the cache (or no source file)
            return self._dispatcher(called)

    def _calls(self) -> dict[str, loop]:
        """The loops of the module that this one may call, by name."""
        names = self._function.__code__.co_names
        found = self._function.__globals__.items()
        return {name: x for name, x in found if name in names and isinstance(x, loop)}

    def _dispatcher(self, called: dict[str, Any], **more: Any) -> Any:
        import numba

        # numba looks names up in the function's globals and must find dispatchers there, so
        # it is given a copy of the function in which the loops it calls are compiled ones.
        function = self._function
        copy = types.FunctionType(
            function.__code__,
            {**function.__globals__, **called},
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        copy.__qualname__ = function.__qualname__
        return numba.njit(**more, **_OPTIONS)(copy)

    def _bare(self) -> Any:
        """A dispatcher for compiled callers alone, which takes less time to make."""
        called = {name: value._bare() for name, value in self._calls().items()}
        return self._dispatcher(called, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def leaf(signature: str) -> Callable[[Callable[..., Any]], loop]:
    """Make a function a `loop` that is loaded without numba once it has been compiled.

    It returns nothing, makes no array, raises nothing, and calls loops of its own file alone.
    Arguments of other types than those stated are taken too, but by way of numba.

    Parameters
    ----------
    signature : str
        Types of the arguments as numba writes them: ``f8`` and ``i8`` for numbers, and arrays
        of these by rows (``f8[::1]``, ``f8[:, ::1]``) or by columns (``f8[::1, :]``).

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality._compile import leaf
    >>> @leaf("f8[::1], f8")
    ... def shift(x, by):
    ...     for i in range(x.size):
    ...         x[i] += by
    >>> x = np.zeros(2)
    >>> shift(x, 3.0)
    >>> x
    array([3., 3.])
    """
    return lambda function: _Leaf(function, signature)


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_DTYPES = {"f8": np.dtype(np.float64), "i8": np.dtype(np.int64)}
_NUMBERS = {"f8": ctypes.c_double, "i8": ctypes.c_int64}
_lock = threading.Lock()

# Where an array object keeps the address of its data, and that of its sizes: the part of
# NumPy's layout that compiled extensions rely on. Counted in words.
_DATA = object.__basicsize__ // 8
_SIZES = _DATA + 2

# What machine code may ask of the process that loads it: C's mathematics, and what numba puts
# around every function to report an exception. A leaf never gets there; all that would have to
# come from numba is replaced by a call of `abort`.
_KNOWN = re.compile(
    r"llvm\.|Py|mem(set|cpy|move)$|(erfc?|expm1|exp|log1p|log|sqrt|pow|floor|ceil|fabs)$"
)
_NEVER = (
    "NRT_Free",
    "NRT_MemInfo_call_dtor",
    "numba_do_raise",
    "numba_gil_ensure",
    "numba_gil_release",
    "numba_runtime_build_excinfo_struct",
    "numba_unpickle",
)


class _Leaf(loop):
    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        super().__init__(function)
        self._signature = signature
        self._kinds = re.findall(r"([fi]8)(\[[^]]*\])?", signature)
        self._names = [f"x{i}" for i in range(len(self._kinds))]

    def __call__(self, *args: Any) -> Any:
        return self._called(*args)

    @functools.cached_property
    def _called(self) -> Callable[..., Any]:
        """What a call comes to: machine code for the arguments stated, numba for others."""
        with _lock:
            try:
                address = _load(self._name, self._object())
            # Whatever a version of LLVM or a platform may object to: numba will do.
            except (OSError, RuntimeError, AttributeError, LookupError, TypeError, ValueError):
                return self.compiled
        types_: list[Any] = [
            ctypes.py_object if shape else _NUMBERS[kind] for kind, shape in self._kinds
        ]
        fit = [
            f"{x}.dtype is {kind} and {x}.flags.{_layout(shape)}_contiguous"
            for x, (kind, shape) in zip(self._names, self._kinds, strict=True)
            if shape
        ]
        listed = ", ".join(self._names)
        # Written out, because a loop over the arguments would take longer than the call.
        return _defined(
            f"({listed}):\n"
            f"    if {' and '.join(fit)}: entry({listed})\n"
            f"    else: leaf.compiled({listed})",
            entry=ctypes.CFUNCTYPE(None, *types_)(address), leaf=self, **_DTYPES,
        )  # fmt: skip

    @property
    def _name(self) -> str:
        return f"{self._function.__module__}.{self._function.__qualname__}"

    def _object(self) -> bytes:
        """The object file, from the cache or made and put there."""
        if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
            raise RuntimeError("compiled code is not wanted")
        source = Path(self._function.__code__.co_filename)
        # How the code is called is said in this very file.
        texts = source.read_bytes(), Path(__file__).read_bytes(), self._signature.encode()
        stamp = _digest(b"".join(map(_digest, texts)))
        path = _folder(source) / f"{self._name}-{_machine().name}.o"
        kept = path.read_bytes() if path.exists() else b""
        code = kept[64:]
        if kept[:64] != stamp + _digest(code):
            code = _translated(self._entry(), self._name)
            _put(path, stamp + _digest(code) + code)
        return code

    def _entry(self) -> Any:
        """The loop as a C function of array objects and numbers."""
        import numba

        known = {"f8": numba.types.float64, "i8": numba.types.int64}
        words = numba.types.CPointer(numba.types.voidptr)
        signature, views = [], []
        for x, (kind, shape) in zip(self._names, self._kinds, strict=True):
            signature.append(words if shape else known[kind])
            axes = shape.count(",") + 1
            sizes = "".join(f"c({x}[{_SIZES}], ({axes},), i8)[{k}]," for k in range(axes))
            views.append(f"{_layout(shape)}({x}[{_DATA}], ({sizes}), {kind})" if shape else x)
        entry = _defined(
            f"({', '.join(self._names)}):\n    body({', '.join(views)})",
            body=self._bare(), c=numba.carray, f=numba.farray, **_DTYPES,
        )  # fmt: skip
        return numba.cfunc(numba.types.void(*signature), **_OPTIONS)(entry)


def _folder(source: Path) -> Path:
    """Where object files are kept: beside the source, as numba's are, if that can be."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    beside = source.parent / "__pycache__"
    there = beside if beside.exists() else source.parent
    if there.is_dir() and os.access(there, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ordinality")


def _layout(shape: str) -> str:
    """``c`` for an array by rows, ``f`` for one by columns."""
    return "c" if shape.endswith("::1]") else "f"


def _defined(rest: str, **names: Any) -> Any:
    """A function written out for its number of arguments, in sight of some names."""
    exec("def written" + rest, names)
    return names["written"]


class _Machine:
    """LLVM for this processor: what writes object files, and what holds loaded ones."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise RuntimeError("object files were not tried elsewhere; numba will do")
        binding = import_module("llvmlite.binding")  # which comes with numba
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        cpu, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
        target = binding.Target.from_default_triple()
        self.llvm: Any = binding
        self.engines: list[Any] = []
        self.target = target.create_target_machine(cpu=cpu, features=features, opt=3, jit=True)
        about = (binding.llvm_version_info, target.triple, cpu, features, _DATA)
        self.name = _digest(repr(about).encode()).hex()[:12]
        probe = np.empty((2, 3))
        fields = (ctypes.c_void_p * (_SIZES + 1)).from_address(id(probe))
        sizes = (ctypes.c_int64 * 2).from_address(fields[_SIZES] or 0)
        if (fields[_DATA], *sizes) != (probe.ctypes.data, 2, 3):
            raise RuntimeError("arrays are not laid out as expected")


@functools.cache
def _machine() -> _Machine:
    return _Machine()


def _translated(entry: Any, name: str) -> bytes:
    """The object file of a C function compiled by numba, under another name."""
    machine = _machine()
    module = machine.llvm.parse_assembly(entry.inspect_llvm())
    asked = [f.name for f in module.functions if f.is_declaration and f.name not in _NEVER]
    if strange := [f for f in asked if not _KNOWN.match(f)]:
        raise RuntimeError(f"the code of {name} needs {strange[0]}")
    module.get_function(entry.native_name).name = name
    stubs = "".join(
        f"define weak void @{never}() {{ call void @abort() unreachable }}\n"
        for never in _NEVER
    )
    module.link_in(machine.llvm.parse_assembly(stubs + "declare void @abort()\n"))
    return machine.target.emit_object(module)


def _load(name: str, code: bytes) -> int:
    """Address of a function whose object file is given."""
    machine = _machine()
    engine = machine.llvm.create_mcjit_compiler(machine.llvm.parse_assembly(""), machine.target)
    engine.add_object_file(machine.llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address(name)
    if not address:
        raise RuntimeError(f"LLVM has not found {name}")
    machine.engines.append(engine)  # it owns the memory of the code
    return address


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _put(path: Path, content: bytes) -> None:
    """Keep a file, all of it or none; the next process compiles again if that fails."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
