"""Arrays as kernels take them, and working memory that is used again.

Large arrays that come and go with every evaluation are given back to the system and zeroed
anew each time, which costs a fifth of an evaluation at 500 rows. Within a `workspace` the
arrays of `scratch` stay.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BOXES",
    "Array",
    "by_rows",
    "matrix",
    "positive",
    "scratch",
    "square",
    "widened",
    "workspace",
]

Array = NDArray[np.float64]

#: Where the optimiser looks for the logarithm of each kind of parameter, for standardised
#: features. A length scale of exp(9) = 8000 spreads is a constant in that feature and one of
#: exp(-7) = 1/1000 spread tells all rows apart, so nothing is lost outside; ``relevance`` goes
#: as low as 1 / length_scale**2 does.
BOXES = {
    "length_scale": (-7.0, 9.0),
    "relevance": (-18.0, 9.0),
    "variance": (-9.0, 9.0),
    "alpha": (-5.0, 9.0),
    "offset": (-9.0, 9.0),
}


def matrix(X: ArrayLike) -> Array:
    """`X` as a float64 matrix of rows of features."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(
            f"X has shape {X.shape}, but kernels take one row per item, (n, d); "
            "use X.reshape(-1, 1) for a single feature."
        )
    return X


def by_rows(symmetric: Array) -> Array:
    """A symmetric matrix with contiguous rows; LAPACK leaves Fortran order, by columns."""
    return symmetric.T if symmetric.flags.f_contiguous else np.ascontiguousarray(symmetric)


def square(G: ArrayLike, n: int, name: str = "G") -> Array:
    """A symmetric (n, n) matrix such as dL/dK by rows; other shapes are refused.

    Compiled loops trust the shapes they are given.
    """
    G = np.asarray(G, dtype=np.float64)
    if G.shape != (n, n):
        raise ValueError(
            f"{name} has shape {G.shape}, but the pullback over {n} rows takes a matrix of "
            f"shape ({n}, {n})."
        )
    return by_rows(G)


def positive(owner: str, name: str, value: Any) -> float | Array:
    """A positive parameter as a float, or as a read-only vector."""
    if type(value) is float and 0.0 < value < math.inf:  # the most frequent case, at no cost
        return value
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim > 1 or not array.size or not np.all((array > 0) & (array < np.inf)):
        raise ValueError(f"{owner} needs {name} positive and finite, got {value!r}.")
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array


def widened(box: ArrayLike, theta: Array) -> Array:
    """Lower and upper ends, shape (p, 2), moved where they must to hold the present value."""
    box = np.asarray(box, dtype=np.float64).reshape(-1, 2)
    return np.column_stack([np.minimum(box[:, 0], theta), np.maximum(box[:, 1], theta)])


_memory = threading.local()


@contextmanager
def workspace() -> Iterator[None]:
    """Keep the arrays of `scratch` from call to call, in this thread, until the end."""
    outer = getattr(_memory, "arrays", None)
    _memory.arrays = {}
    try:
        yield
    finally:
        _memory.arrays = outer


def scratch(n: int, use: str) -> Array:
    """An (n, n) array by columns, not cleared, good until the same `use` asks again."""
    arrays = getattr(_memory, "arrays", None)
    if arrays is None:
        return np.empty((n, n), order="F")
    if use not in arrays or len(arrays[use]) != n:
        arrays[use] = np.empty((n, n), order="F")
    return arrays[use]
