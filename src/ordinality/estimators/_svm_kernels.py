"""Kernels of the support vector machines: by name, by function, or as objects.

Nothing is learnt, so all that counts is the matrix between two sets of rows and its diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ordinality import kernels as ours

from ..kernels.foreign import translate
from ..kernels.stationary import exponentials
from ..svm.rows import KernelRows

__all__ = [
    "NAMES",
    "Function",
    "Powers",
    "check_shape",
    "chosen",
    "gamma_of",
    "kernel_rows",
    "part",
]

NAMES = ("rbf", "linear", "poly", "polynomial", "precomputed")


@dataclass(frozen=True)
class Function:
    """A function ``(X, Y) -> matrix`` of a user's as a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = Function(lambda X, Y: X @ Y.T)
    >>> kernel.diag(np.array([[1.0], [3.0]]))
    array([1., 9.])
    """

    function: Callable[[np.ndarray, np.ndarray], Any]
    inputs = "features"

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        Y = X if Y is None else Y
        K = np.asarray(self.function(X, Y), dtype=np.float64, order="C")
        if K.shape != (len(X), len(Y)):
            raise ValueError(
                f"the kernel function gave shape {K.shape} for {len(X)} and {len(Y)} rows; "
                f"it must give {(len(X), len(Y))}."
            )
        return K

    def diag(self, X: np.ndarray) -> np.ndarray:
        """The diagonal, from blocks along it."""
        blocks = (X[start : start + 32] for start in range(0, len(X), 32))
        return np.concatenate([np.diagonal(self(block, block)) for block in blocks])


@dataclass(frozen=True)
class Powers:
    """``(gamma x'y + coef0)**degree``; unlike `Polynomial` it may lack the offset.

    Examples
    --------
    >>> import numpy as np
    >>> Powers(0.5, 2, 0.0)(np.array([[2.0]]), np.array([[3.0]]))
    array([[9.]])
    """

    gamma: float
    degree: int
    coef0: float
    inputs = "features"

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        return self._power(X @ (X if Y is None else Y).T)

    def diag(self, X: np.ndarray) -> np.ndarray:
        """``(gamma |x|^2 + coef0)**degree``."""
        return self._power(np.einsum("il,il->i", X, X))

    def _power(self, products: np.ndarray) -> np.ndarray:
        products *= self.gamma
        products += self.coef0
        return products**self.degree


def chosen(
    kernel: Any, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0
) -> ours.Kernel | Function | Powers:
    """What a user may pass as ``kernel=`` as something to call.

    Examples
    --------
    >>> chosen("rbf", gamma=0.5)
    Gaussian(length_scale=1.0)
    """
    if isinstance(kernel, str):
        if kernel not in NAMES:
            raise ValueError(
                f"there is no kernel named {kernel!r}; the names are {', '.join(NAMES)}, and a "
                "function (X, Y) -> matrix or a kernel object will do."
            )
        if kernel == "rbf":
            return ours.Gaussian((2.0 * gamma) ** -0.5)
        if kernel == "precomputed":
            return ours.Precomputed()
        return ours.Linear() if kernel == "linear" else Powers(gamma, degree, coef0)
    if isinstance(kernel, ours.Kernel | type) or hasattr(kernel, "clone_with_theta"):
        return translate(kernel)
    if callable(kernel):
        return Function(kernel)
    raise TypeError(
        f"kernel={kernel!r} is no kernel; pass one of {list(NAMES)}, a function (X, Y) -> "
        "matrix, or a kernel object of ordinality.kernels or scikit-learn."
    )


def check_shape(gamma: Any, coef0: Any) -> None:
    """Refuse a gamma or coef0 that a kernel cannot have."""
    named = isinstance(gamma, str) and gamma in ("scale", "auto")
    if not (named or (isinstance(gamma, Real) and 0 < float(gamma) < np.inf)):
        raise ValueError(f"gamma={gamma!r} must be 'scale', 'auto' or a number above zero.")
    if not (isinstance(coef0, Real) and 0 <= float(coef0) < np.inf):
        raise ValueError(f"coef0={coef0!r} must be a number, zero or more.")


def gamma_of(gamma: Any, X: np.ndarray, weights: np.ndarray) -> float:
    """The number behind "scale", 1 / (d variance of X), or "auto", 1 / d.

    Examples
    --------
    >>> import numpy as np
    >>> gamma_of("scale", np.array([[0.0, 2.0], [2.0, 0.0]]), np.ones(2))
    0.5
    """
    if not isinstance(gamma, str):
        return float(gamma)
    d = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    entries = np.broadcast_to(weights[:, None], X.shape)
    variance = np.average((X - np.average(X, weights=entries)) ** 2, weights=entries)
    # Nothing varies: any number will do.
    return 1.0 / (d * float(variance)) if variance > 0 else 1.0


def kernel_rows(kernel: Any, X: np.ndarray, n_bytes: int) -> KernelRows:
    """Rows of the kernel matrix of `X`: all at once if they fit, else when asked for."""
    if getattr(kernel, "inputs", "") == "gram":
        return KernelRows.of_matrix(np.ascontiguousarray(X))
    if isinstance(kernel, ours.Linear) and _few_features(X):
        return KernelRows.of_features(X * np.sqrt(kernel.relevance))
    if 8 * len(X) ** 2 <= n_bytes:
        return KernelRows.of_matrix(kernel(X))
    if isinstance(kernel, ours.Gaussian):
        return KernelRows(_gaussian_block(X / kernel.length_scale), np.ones(len(X)))
    return KernelRows(lambda i, j: kernel(X[i], X[j]), kernel.diag(X))


def _gaussian_block(Z: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Exponentials of ``z_i'z_j - |z_i|^2 / 2 - |z_j|^2 / 2``, the squares computed once."""
    Z = Z - Z.mean(axis=0)  # squares and products of large offsets would eat digits
    half, one = 0.5 * np.einsum("il,il->i", Z, Z)[:, None], np.ones((len(Z), 1))
    left, right = np.hstack([Z, half, one]), np.hstack([Z, -one, -half])
    held: tuple[np.ndarray | None, np.ndarray] = (None, right)

    def columns(j: np.ndarray) -> np.ndarray:
        """The solver asks for the same columns again and again, until it leaves some out."""
        nonlocal held
        last, there = held
        if last is not j:
            last, there = held = j, right[j]
        return there

    def block(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        t = left[i] @ columns(j).T
        exponentials(t, t, 0, 1.0, False)
        return t

    return block


def _few_features(X: np.ndarray) -> bool:
    """Whether the way over the weights of the features is the shorter one.

    With 1000 rows of 50 features it took 0.02 s, and pairwise steps were far from done after
    0.5 s. Its time grows with the square of the features.
    """
    return X.shape[1] <= min(len(X), 2000)


def part(rows: KernelRows, index: np.ndarray) -> KernelRows:
    """The kernel matrix of some of the rows."""
    features, matrix = getattr(rows, "features", None), getattr(rows, "matrix", None)
    if features is not None:
        return KernelRows.of_features(features[index])
    if matrix is not None:
        return KernelRows.of_matrix(matrix[np.ix_(index, index)])
    return KernelRows(lambda i, j: rows.block(index[i], index[j]), rows.diag[index])
