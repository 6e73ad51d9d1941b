"""Kernels without learnt parameters: correlation of incomplete rows, a given Gram matrix.

`Correlation` is the kernel of collaborative filtering: items are rows of ratings, most of them
missing. Chu & Ghahramani (2005), section 6.3, set missing ratings to the row's mean. The
correlation over the ratings that two rows share is more accurate, but may not be positive
definite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigvalsh, lapack

from .base import Array, Kernel, matrix

__all__ = ["Correlation", "Precomputed"]

_EPS = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(Kernel):
    """Pearson correlation between rows, NaN marking a missing entry.

    A pair with fewer than two entries in common, or with a row that does not vary over them,
    has correlation zero; every row has variance one.

    Parameters
    ----------
    missing : {"pairwise", "mean"}, default="pairwise"
        ``"pairwise"`` correlates two rows over the entries both have. Each pair then has means
        and variances of its own, and the matrix may have negative eigenvalues, which `prepared`
        removes. ``"mean"`` sets missing entries to their row's mean: always positive
        semi-definite, but correlations shrink towards zero where rows share few entries.
        Without missing entries the two agree.
    shrinkage : float in [0, 1), default=0.0
        Correlations of different rows are multiplied by ``1 - shrinkage``. The rest is variance
        that a row shares with no other.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.kernels import Correlation
    >>> ratings = [[1, 2, 3, np.nan], [1, 3, 4, 2], [5, np.nan, 2, 2]]
    >>> Correlation()(ratings).round(2)
    array([[ 1.  ,  0.98, -1.  ],
           [ 0.98,  1.  , -0.76],
           [-1.  , -0.76,  1.  ]])
    """

    missing: str = "pairwise"
    shrinkage: float = 0.0

    _inputs = "ratings"

    def __post_init__(self) -> None:
        if self.missing not in ("pairwise", "mean"):
            raise ValueError(f"missing is {self.missing!r}; choose 'pairwise' or 'mean'.")
        if not 0 <= self.shrinkage < 1:
            raise ValueError(
                f"shrinkage is {self.shrinkage!r}; it must be at least 0 (correlations as they "
                "are) and below 1 (no correlation left)."
            )

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        rows = _unit_rows(matrix(X))
        others = rows if Y is None else _unit_rows(matrix(Y))
        complete = not (np.isnan(rows).any() or np.isnan(others).any())
        if complete or self.missing == "mean":
            filled = np.nan_to_num(rows)
            C = filled @ (filled if Y is None else np.nan_to_num(others)).T
        else:
            C = _pairwise(rows, others)
        np.clip(C, -1.0, 1.0, out=C)
        C *= 1.0 - self.shrinkage
        if Y is None:
            C = 0.5 * (C + C.T)  # a general product may round the two triangles differently
            np.fill_diagonal(C, 1.0)
        return C

    def diag(self, X: ArrayLike) -> Array:
        return np.ones(len(matrix(X)))

    def prepared(self, X: ArrayLike) -> Correlation:
        """Copy of the kernel with the least shrinkage that makes it positive semi-definite.

        Shrinkage moves the smallest eigenvalue ``e`` to ``(1 - shrinkage) e + shrinkage``. New
        rows are shrunk alike, but may add negative eigenvalues; read a negative predictive
        variance as zero.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of ratings.

        Returns
        -------
        Correlation
            ``kernel(X)`` has no negative eigenvalue, up to rounding.
        """
        C = replace(self, shrinkage=0.0)(X)
        # An eigenvalue is known to about n eps times the largest, which is at most n.
        lowest = eigvalsh(C, subset_by_index=[0, 0])[0] - len(C) ** 2 * _EPS
        needed = float(-lowest / (1.0 - lowest)) if lowest < 0 else 0.0
        return replace(self, shrinkage=max(self.shrinkage, needed))

    def feature_relevance(self, d: int) -> Array:
        return np.full(d, np.nan)


def _unit_rows(X: Array) -> Array:
    """Rows with mean zero and length one over their entries; rows that do not vary are zero."""
    present = ~np.isnan(X)
    count = np.maximum(present.sum(axis=1, keepdims=True), 1)
    mean = np.where(present, X, 0.0).sum(axis=1, keepdims=True) / count
    Z = X - mean
    largest = np.where(present, np.abs(X), 0.0).max(axis=1, initial=0.0, keepdims=True)
    spread = np.where(present, np.abs(Z), 0.0).max(axis=1, initial=0.0, keepdims=True)
    # The mean is known to count * eps * largest: a spread below that is rounding.
    varies = spread > count * _EPS * largest
    Z /= np.where(varies, spread, np.inf)  # before squaring: tiny rows would underflow
    length = np.sqrt(np.where(present, Z * Z, 0.0).sum(axis=1, keepdims=True))
    return Z / np.where(varies, length, 1.0)


def _pairwise(rows: Array, others: Array) -> Array:
    """Correlation of each of `rows` with each of `others` over the entries both have."""
    present, present_too = (~np.isnan(Z) * 1.0 for Z in (rows, others))
    left, right = np.nan_to_num(rows), np.nan_to_num(others)
    count = present @ present_too.T
    n = np.maximum(count, 1.0)
    # For every pair: sums and sums of squares over the common entries, as matrix products.
    sum_left, sum_right = left @ present_too.T, present @ right.T
    var_left = _about_mean((left * left) @ present_too.T, sum_left, n)
    var_right = _about_mean(present @ (right * right).T, sum_right, n)
    C = left @ right.T
    C -= sum_left * sum_right / n
    var_left *= var_right
    np.sqrt(var_left, out=var_left)
    usable = (count >= 2) & (var_left > 0)
    return np.divide(C, var_left, out=np.zeros_like(C), where=usable)


def _about_mean(squares: Array, sums: Array, n: Array) -> Array:
    """Sum of squares about the mean; exactly zero where it is only rounding."""
    # Sums of n terms are known to n eps of their size, the difference to 4 n eps of squares.
    centred = squares - sums * sums / n
    return np.where(centred > 4 * n * _EPS * squares, centred, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """The input is the covariance: a Gram matrix computed elsewhere.

    Train on the Gram matrix of the n training items, (n, n); predict from the (m, n)
    covariances of new items with them. In a call with two arguments the new items are the
    first: ``kernel(new, gram)`` is ``new``.

    Parameters
    ----------
    diagonal : float, default=None
        Prior variance of new items, which their rows do not contain. By default the mean of
        that of the training items, or 1 before fitting.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.kernels import Precomputed
    >>> gram = np.array([[2.0, 0.5], [0.5, 2.0]])
    >>> kernel = Precomputed().prepared(gram)
    >>> kernel(np.array([[1.0, 0.2]]), gram), kernel.diag([[1.0, 0.2]])
    (array([[1. , 0.2]]), array([2.]))
    """

    diagonal: float | None = None

    _inputs = "gram"

    def __post_init__(self) -> None:
        if self.diagonal is not None and not 0 < self.diagonal < np.inf:
            raise ValueError(
                f"diagonal is {self.diagonal!r}; wanted the prior variance of new items, > 0."
            )

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        X = matrix(X)
        if Y is None:
            return _gram(X)
        shape = matrix(Y).shape
        if shape != (X.shape[1], X.shape[1]):
            raise ValueError(
                f"Precomputed was called with shapes {X.shape} and {shape}; pass the (m, n) "
                "covariances of new items first, then the (n, n) Gram matrix of training."
            )
        return X.copy(order="C")

    def diag(self, X: ArrayLike) -> Array:
        return np.full(len(matrix(X)), 1.0 if self.diagonal is None else float(self.diagonal))

    def prepared(self, X: ArrayLike) -> Precomputed:
        """Copy of the kernel with the variance of new items set.

        Parameters
        ----------
        X : array-like of shape (n, n)
            Gram matrix of the training items; an error if it is not positive semi-definite.

        Returns
        -------
        Precomputed
            `diagonal` is the mean of the diagonal of `X` if it was None.
        """
        K = _gram(matrix(X))
        own = float(K.diagonal().mean())
        lifted = K + _TOLERANCE * max(own, 0.0) * np.eye(len(K))  # so that rounding passes
        if lapack.dpotrf(lifted, overwrite_a=1)[1] != 0:
            raise ValueError(
                "the Gram matrix is not positive semi-definite: it has a negative eigenvalue, "
                "so it is not a covariance; check its kernel, or add to its diagonal."
            )
        return self if self.diagonal is not None else replace(self, diagonal=own)

    def feature_relevance(self, d: int) -> Array:
        return np.full(d, np.nan)


# Entries that are sums of d products are known to d eps of the largest one. This allows for
# d = 1e-8 / eps, some 4e7 features.
_TOLERANCE = 1e-8


def _gram(X: Array) -> Array:
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"Precomputed needs the Gram matrix of the training items, (n, n), got {X.shape}; "
            "pass kernel values, not features."
        )
    if _asymmetry(X) > _TOLERANCE:
        raise ValueError(
            f"the Gram matrix is not symmetric: K and K.T differ by {_asymmetry(X):.1e} of its "
            "largest entry; symmetrise it as (K + K.T) / 2 if that is rounding."
        )
    return 0.5 * (X + X.T)


def _asymmetry(X: Array) -> float:
    """Largest difference across the diagonal, relative to the largest entry."""
    largest = np.abs(X).max(initial=0.0)
    return float(np.abs(X - X.T).max(initial=0.0) / largest) if largest else 0.0
