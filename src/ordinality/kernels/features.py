"""Kernels of weighted products of features: linear, polynomial, additive cubic splines.

Rasmussen & Williams (2006), chapter 4; Wahba (1990), chapter 1, for the splines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Kernel, matching, matrix, rectangle, shaped, square
from .stationary import symmetric

__all__ = ["FixedPolynomial", "Linear", "Polynomial", "Spline"]


@dataclass(frozen=True, eq=False, repr=False)
class Linear(Kernel):
    """``k(x, x') = sum_l relevance_l x_l x'_l``: linear functions through the origin.

    Add a `Constant` for an intercept.

    Parameters
    ----------
    relevance : float or array of shape (d,), default=1.0
        Prior variance of the coefficients; with a vector, one is learnt for each feature.

    Examples
    --------
    >>> from ordinality.kernels import Linear
    >>> Linear([1.0, 0.5])([[1.0, 2.0], [3.0, 4.0]])
    array([[ 3.,  7.],
           [ 7., 17.]])
    """

    relevance: float | Array = 1.0

    learnt = ("relevance",)
    per_feature = "relevance"

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        Z = self._weighted(X)
        K = Z @ (Z if Y is None else self._weighted(Y)).T
        if Y is None:
            np.fill_diagonal(K, self.diag(X))
        return K

    def diag(self, X: ArrayLike) -> Array:
        Z = self._weighted(X)
        return np.einsum("il,il->i", Z, Z)

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        Z = self._weighted(X)
        return self._shared(np.einsum("il,il->l", Z, square(G, len(Z)) @ Z))

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        X, Y, F = rectangle(X, Y, F)
        return self._shared(np.einsum("il,il->l", self._weighted(X), F @ self._weighted(Y)))

    def paired(self, X: ArrayLike, Y: ArrayLike) -> Array:
        X, Y = matching(X, Y)
        return np.einsum("il,il->i", self._weighted(X), self._weighted(Y))

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        X, Y = matching(X, Y)
        return self._shared(shaped(c, (len(X),), "c") @ (self._weighted(X) * self._weighted(Y)))

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        X, Y, F = rectangle(X, Y, F)
        self.check(X.shape[1])
        return (F.T @ X) * self.relevance

    def _shared(self, each: Array) -> Array:
        """Gradient in the relevance from that of each feature."""
        return each if np.ndim(self.relevance) else each.sum(keepdims=True)

    def feature_relevance(self, d: int) -> Array:
        self.check(d)
        return np.full(d, self.relevance)

    def _weighted(self, X: ArrayLike) -> Array:
        X = matrix(X)
        self.check(X.shape[1])
        return X * np.sqrt(self.relevance)


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(Kernel):
    """``k(x, x') = (offset + sum_l relevance_l x_l x'_l)**degree``.

    Parameters
    ----------
    degree : int, default=2
        Highest degree of the polynomials; not learnt.
    relevance : float or array of shape (d,), default=1.0
        Weight of the features; with a vector, one is learnt for each.
    offset : float, default=1.0
        Weight of the lower degrees against the highest.

    Examples
    --------
    >>> from ordinality.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 2
    relevance: float | Array = 1.0
    offset: float = 1.0

    learnt = ("relevance", "offset")
    per_feature = "relevance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(
                f"Polynomial needs a whole degree of 1 or more, got {self.degree!r}."
            )
        object.__setattr__(self, "degree", int(self.degree))

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        return _power(Linear(self.relevance)(X, Y) + self.offset, self.degree)

    def diag(self, X: ArrayLike) -> Array:
        return _power(Linear(self.relevance).diag(X) + self.offset, self.degree)

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        M = self._weights(Linear(self.relevance)(X))
        M *= square(G, len(M))
        return np.append(Linear(self.relevance).pullback(X, M), self.offset * M.sum())

    def _weights(self, products: Array) -> Array:
        """Derivative of the kernel in the weighted products of rows."""
        return self.degree * _power(products + self.offset, self.degree - 1)

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        X, Y, F = rectangle(X, Y, F)
        inner = Linear(self.relevance)
        M = F * self._weights(inner(X, Y))
        return np.append(inner.pullback_between(X, Y, M), self.offset * M.sum())

    def paired(self, X: ArrayLike, Y: ArrayLike) -> Array:
        return _power(Linear(self.relevance).paired(X, Y) + self.offset, self.degree)

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        inner = Linear(self.relevance)
        weights = self._weights(inner.paired(X, Y))
        weights *= shaped(c, weights.shape, "c")
        return np.append(inner.pullback_paired(X, Y, weights), self.offset * weights.sum())

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        X, Y, F = rectangle(X, Y, F)
        inner = Linear(self.relevance)
        return inner.slope(X, Y, F * self._weights(inner(X, Y)))

    def feature_relevance(self, d: int) -> Array:
        return Linear(self.relevance).feature_relevance(d)


def _power(base: Array, exponent: int) -> Array:
    # Repeated products are several times faster than the general power.
    result = base.copy() if exponent else np.ones_like(base)
    for _ in range(exponent - 1):
        result *= base
    return result


@dataclass(frozen=True)
class FixedPolynomial:
    """``(gamma x'y + coef0)**degree``, the polynomial kernel of support vector machines.

    Unlike in `Polynomial` nothing is learnt, and `coef0` may be zero or negative.
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


@dataclass(frozen=True, eq=False, repr=False)
class Spline(Kernel):
    """Additive cubic splines: ``k(x, x') = 1 + sum_l (x_l x'_l + c(x_l, x'_l))``.

    Each feature contributes a straight line plus twice integrated white noise that starts at
    zero in both directions: for x and x' of the same sign, with a the smaller and b the larger
    of their absolute values,

        c(x, x') = integral_0^a (a - u) (b - u) du = a**2 (3 b - a) / 6,

    and zero for opposite signs, where the two halves are independent. The usual formula, for
    inputs in [0, 1], is not positive definite below zero; this one is everywhere, and equals
    it on [0, 1]. Variances grow like ``|x|**3``, so standardise the features. There are no
    learnt parameters; multiply by a number for a signal variance.

    Examples
    --------
    >>> from ordinality.kernels import Spline
    >>> Spline()([[0.0], [1.0], [-1.0]]).round(4)
    array([[1.    , 1.    , 1.    ],
           [1.    , 2.3333, 0.    ],
           [1.    , 0.    , 2.3333]])
    """

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        X = matrix(X)
        if Y is not None:
            return _spline(X, matrix(Y))
        K = symmetric(len(X), lambda rows, columns: _spline(X[rows], X[columns]))
        np.fill_diagonal(K, self.diag(X))
        return K

    def diag(self, X: ArrayLike) -> Array:
        X = matrix(X)
        return 1.0 + np.sum(X**2 + np.abs(X) ** 3 / 3.0, axis=1)

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        rectangle(X, Y, F)
        return np.zeros(0)

    def paired(self, X: ArrayLike, Y: ArrayLike) -> Array:
        X, Y = matching(X, Y)
        x_size, y_size = np.abs(X), np.abs(Y)
        a = np.minimum(x_size, y_size) * ((X > 0) == (Y > 0))
        b = np.maximum(x_size, y_size)
        return 1.0 + np.sum(X * Y + a**2 * (3.0 * b - a) / 6.0, axis=1)

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        shaped(c, (len(matching(X, Y)[0]),), "c")
        return np.zeros(0)

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        X, Y, F = rectangle(X, Y, F)
        total = F.T @ X
        for x, y, of_feature in zip(X.T, Y.T, total.T, strict=True):
            # dc/d|x'| = a (|x| - a / 2), whichever of the two is the smaller.
            a = np.minimum.outer(np.abs(x), np.abs(y))
            a *= np.equal.outer(x > 0, y > 0)
            of_feature += np.sign(y) * np.einsum(
                "ij,ij,ij->j", F, a, np.abs(x)[:, None] - 0.5 * a
            )
        return total

    def feature_relevance(self, d: int) -> Array:
        return np.ones(d)


def _spline(X: Array, Y: Array) -> Array:
    K = X @ Y.T
    K += 1.0
    for x, y in zip(X.T, Y.T, strict=True):
        x_size, y_size = np.abs(x), np.abs(y)
        a = np.minimum.outer(x_size, y_size)
        a *= np.equal.outer(x > 0, y > 0)
        b = np.maximum.outer(x_size, y_size)
        b *= 3.0
        b -= a
        a *= a
        a *= b
        a /= 6.0
        K += a
    return K
