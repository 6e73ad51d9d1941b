"""The base class of kernels, their sums and products, and working memory for matrices.

A kernel is a frozen value with three maps: inputs to covariance, inputs to its diagonal, and
from a matrix of derivatives dL/dK to the derivatives in the logarithms of its parameters. The
last is a contraction, so no array of size n x n x d ever exists. For inducing points there are
the same maps of rectangular matrices and of matching rows, and the gradient in the inputs. Sums
and products of kernels are kernels; a number in such an expression is a `Constant`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from inspect import isfunction
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BOXES",
    "Array",
    "Constant",
    "Kernel",
    "Product",
    "Sum",
    "alike",
    "matching",
    "matrix",
    "rectangle",
    "scratch",
    "shaped",
    "square",
    "widened",
    "workspace",
]


Array = NDArray[np.float64]


#: Bounds of the logarithm of each kind of parameter, for standardised features. With a length
#: scale of exp(9) = 8000 standard deviations the function is constant in that feature, with
#: one of exp(-7) = 1/1000 all rows are independent, so nothing is lost outside; ``relevance``
#: goes as low as 1 / length_scale**2 does.
BOXES = {
    "length_scale": (-7.0, 9.0),
    "relevance": (-18.0, 9.0),
    "variance": (-9.0, 9.0),
    "linear_share": (-9.0, 9.0),  # log odds
    "common_scale": (-7.0, 9.0),
    "relative_scale": (-8.0, 8.0),
    "alpha": (-5.0, 9.0),
    "offset": (-9.0, 9.0),
}


@dataclass(frozen=True, eq=False, repr=False)
class Kernel:
    """A covariance function: the base class of all kernels, and their contract.

    ``kernel(X, Y=None)`` is a new C-contiguous (n, m) matrix, exactly symmetric without `Y`;
    ``kernel.diag(X)`` is its diagonal, to the last bit; ``kernel.pullback(X, G, K=None)``
    is ``sum_ij G_ij dK_ij / dtheta`` for a symmetric `G`. `theta` holds the logarithms of the
    learnt parameters in the order they are read. Kernels compare and hash by value.

    `pullback_between`, `paired`, `pullback_paired` and `slope` serve inducing points; kernels
    of ordinality over features have them, others raise a NotImplementedError.

    Examples
    --------
    >>> from ordinality.kernels import Gaussian, Kernel
    >>> isinstance(2.0 * Gaussian() + 1.0, Kernel)
    True
    """

    learnt: ClassVar[tuple[str, ...]] = ()  # fields that theta holds, in order
    per_feature: ClassVar[str] = ""  # the one of them that may be a vector (ARD)
    _inputs: ClassVar[str] = "features"

    __array_ufunc__ = None  # so that np.float64(2.0) * kernel reaches __rmul__

    def __init_subclass__(cls) -> None:
        # A method that a kernel overrides without a docstring has that of the contract.
        for name, member in vars(cls).items():
            if isfunction(member) and not member.__doc__:
                member.__doc__ = getattr(getattr(super(cls, cls), name, None), "__doc__", None)

    def __post_init__(self) -> None:
        for name in self.learnt:
            value = _positive(type(self).__name__, name, getattr(self, name))
            if not isinstance(value, float) and name != self.per_feature:
                raise ValueError(f"{type(self).__name__} takes one {name}, got {value!r}.")
            object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Copied and unpickled arrays are writeable; those of a frozen value must not be.
        self.__dict__.update(state)
        self.__post_init__()

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """Covariance of the rows of `X` with those of `Y`, by default with those of `X`."""
        raise NotImplementedError(f"{type(self).__name__} does not define its covariance.")

    def diag(self, X: ArrayLike) -> Array:
        """Prior variance of each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.

        Returns
        -------
        ndarray of shape (n,)
            The diagonal of ``kernel(X)``, to the last bit.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define its diagonal.")

    @property
    def own_derivative(self) -> bool:
        """Whether pullbacks are linear in K, of which `pullback` reads the lower triangle."""
        return False

    def lower(self, X: ArrayLike, scale: float = 1.0) -> Array:
        """Covariance of rows with each other, as far as `pullback` reads it.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        scale : float, default=1.0
            Factor of all entries.

        Returns
        -------
        ndarray of shape (n, n)
            ``scale * kernel(X)``. Above the diagonal it may hold anything if the kernel is its
            `own_derivative`.
        """
        K = self(X)
        return K if scale == 1.0 else np.multiply(K, scale, out=K)

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        """Gradient in `theta` of a function L of the covariance matrix.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        G : ndarray of shape (n, n)
            Derivatives dL/dK, symmetric. With `K`, a kernel that is its `own_derivative` reads
            only the lower triangle, or, in Fortran order, the upper one.
        K : ndarray of shape (n, n), default=None
            ``kernel(X)`` or ``kernel.lower(X)``, if it is at hand: it is not computed again.

        Returns
        -------
        ndarray of shape (n_theta,)
            ``sum_ij G_ij dK_ij / dtheta``.
        """
        square(G, len(matrix(X)))
        return np.zeros(0)

    def pullback_and_total(self, X: ArrayLike, G: Array, K: Array) -> tuple[Array, float]:
        """Gradient in `theta`, and the sum of ``G * K``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        G : ndarray of shape (n, n)
            Derivatives dL/dK, as for `pullback`.
        K : ndarray of shape (n, n)
            ``kernel.lower(X, scale)``; both results are proportional to the scale if the kernel
            is its `own_derivative`.

        Returns
        -------
        gradient : ndarray of shape (n_theta,)
            As from `pullback`.
        total : float
            Sum of ``G * K``.
        """
        return self.pullback(X, G, K), float(np.vdot(square(G, len(K)), K))

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        """Gradient in `theta` of a function L of the covariance between two sets of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        Y : array-like of shape (m, d)
            Other inputs.
        F : array-like of shape (n, m)
            Derivatives dL/dK. C-contiguous float64 is taken without a copy.
        K : ndarray of shape (n, m), default=None
            ``kernel(X, Y)``, if it is at hand: it is not computed again.

        Returns
        -------
        ndarray of shape (n_theta,)
            ``sum_ij F_ij dk(x_i, y_j) / dtheta``.
        """
        raise self._not_rectangular()

    def paired(self, X: ArrayLike, Y: ArrayLike) -> Array:
        """Covariance of each row with the matching row of another table.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        Y : array-like of shape (n, d)
            Other inputs.

        Returns
        -------
        ndarray of shape (n,)
            ``k(x_i, y_i)``, the diagonal of ``kernel(X, Y)``.
        """
        raise self._not_rectangular()

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        """Gradient in `theta` of a function L of the covariances of matching rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        Y : array-like of shape (n, d)
            Other inputs.
        c : array-like of shape (n,)
            Derivatives of L in the entries of ``kernel.paired(X, Y)``.

        Returns
        -------
        ndarray of shape (n_theta,)
            ``sum_i c_i dk(x_i, y_i) / dtheta``.
        """
        raise self._not_rectangular()

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        """Gradient in the rows of `Y` of a function L of the covariance between `X` and `Y`.

        `X` is held: if both are the same rows, and `F` is symmetric, the gradient is twice the
        slope. A kernel of distances is flat where two rows are equal: such a pair adds exactly
        zero.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Inputs.
        Y : array-like of shape (m, d)
            Other inputs.
        F : array-like of shape (n, m)
            Derivatives dL/dK. C-contiguous float64 is taken without a copy.

        Returns
        -------
        ndarray of shape (m, d)
            ``sum_i F_ij dk(x_i, y_j) / dy_j``.
        """
        raise self._not_rectangular()

    def _not_rectangular(self) -> NotImplementedError:
        return NotImplementedError(
            f"{self!r} has no gradients of rectangular covariance matrices, which inducing "
            "points need; use a kernel of ordinality over features, such as Gaussian()."
        )

    def _pulled_between(
        self, X: Array, Y: Array, F: Array, K: Array | None
    ) -> tuple[Array, float]:
        """Gradient in `theta`, and the sum of ``F * K``."""
        K = self(X, Y) if K is None else shaped(K, F.shape, "K")
        return self.pullback_between(X, Y, F, K), float(np.vdot(F, K))

    @property
    def theta(self) -> Array:
        """Logarithms of the learnt parameters, shape (n_theta,)."""
        return np.log(np.hstack([np.zeros(0), *(getattr(self, name) for name in self.learnt)]))

    def with_theta(self, theta: ArrayLike) -> Self:
        """Copy of the kernel with other parameters.

        Parameters
        ----------
        theta : array-like of shape (n_theta,)
            Logarithms of the learnt parameters, in the order of `theta_names`.

        Returns
        -------
        Kernel
            A kernel of the same type.
        """
        values, changes = np.exp(self._fitting(theta)), {}
        for name in self.learnt:
            old = getattr(self, name)
            changes[name] = float(values[0]) if isinstance(old, float) else values[: len(old)]
            values = values[_size(old) :]
        return replace(self, **changes)

    def _fitting(self, theta: ArrayLike) -> Array:
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape != (self.n_theta,):
            raise ValueError(
                f"theta has shape {theta.shape}, but {self!r} has {self.n_theta} learnt "
                "parameters; pass one logarithm for each, in the order of `theta_names`."
            )
        return theta

    @property
    def n_theta(self) -> int:
        """Number of learnt parameters."""
        return len(self.theta_kinds)

    @property
    def theta_kinds(self) -> tuple[str, ...]:
        """Kind of parameter of each entry of `theta`: a key of `BOXES`, or "foreign"."""
        return sum(((name,) * _size(getattr(self, name)) for name in self.learnt), ())

    @property
    def theta_names(self) -> list[str]:
        """A distinct name for each entry of `theta`: ``"alpha"``, ``"length_scale[3]"``."""
        names = []
        for name in self.learnt:
            value = getattr(self, name)
            names += [f"{name}[{i}]" for i in range(len(value))] if np.ndim(value) else [name]
        return names

    @property
    def bounds(self) -> Array:
        """Bounds of `theta`, shape (n_theta, 2): `BOXES`, widened to hold its present value."""
        return widened([BOXES[kind] for kind in self.theta_kinds], self.theta)

    @property
    def inputs(self) -> str:
        """What a row of `X` is.

        "features" may be rescaled; "ratings" may not, and entries may be missing; "gram" are
        covariances with the training items.
        """
        return self._inputs

    def prepared(self, X: ArrayLike) -> Self:
        """Copy of the kernel adapted to the training inputs; most kernels return themselves.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training inputs.

        Returns
        -------
        Kernel
            A kernel of the same type.
        """
        return self

    def check(self, d: int) -> None:
        """Raise a ValueError unless the kernel can take rows of `d` features.

        Parameters
        ----------
        d : int
            Number of features.
        """
        value = getattr(self, self.per_feature, 0.0)
        if np.ndim(value) and np.size(value) != d:
            what = self.per_feature.replace("_", " ")
            raise ValueError(
                f"{type(self).__name__} has {np.size(value)} {what}s but X has {d} features; "
                f"pass one {what} for each feature, or a single number for all of them."
            )

    def with_ard(self, d: int) -> Self:
        """Copy of the kernel with a length scale or relevance for each feature.

        Parameters
        ----------
        d : int
            Number of features.

        Returns
        -------
        Kernel
            The same covariances, more parameters to learn.
        """
        self.check(d)
        if not self.per_feature:
            return self
        value = np.broadcast_to(getattr(self, self.per_feature), d)
        return replace(self, **{self.per_feature: value})

    def feature_relevance(self, d: int) -> Array:
        """How much each feature matters.

        Parameters
        ----------
        d : int
            Number of features.

        Returns
        -------
        ndarray of shape (d,)
            The weight of a feature's squares or products inside the kernel: 1 /
            length_scale**2, or the relevance of a linear kernel. Sums and products add up their
            parts; a constant adds nothing; NaN for kernels that do not weigh features one by
            one.
        """
        return np.zeros(d)

    def __add__(self, other: Kernel | float) -> Sum:
        return Sum((self, _as_kernel(other)))

    def __radd__(self, other: float) -> Sum:
        return Sum((_as_kernel(other), self))

    def __mul__(self, other: Kernel | float) -> Product:
        return Product((self, _as_kernel(other)))

    def __rmul__(self, other: float) -> Product:
        return Product((_as_kernel(other), self))

    def _key(self) -> tuple[Any, ...]:
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __repr__(self) -> str:
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        shown = (f"{n}={v.tolist() if isinstance(v, np.ndarray) else v!r}" for n, v in values)
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Kernel):
    """``k(x, x') = variance``: a common offset in a sum, a signal variance in a product.

    Parameters
    ----------
    variance : float, default=1.0
        Prior variance.

    Examples
    --------
    >>> from ordinality.kernels import Constant, Gaussian
    >>> 2.0 * Gaussian() == Constant(2.0) * Gaussian()
    True
    """

    variance: float = 1.0

    learnt = ("variance",)

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        n = len(matrix(X))
        return np.full((n, n if Y is None else len(matrix(Y))), self.variance)

    def diag(self, X: ArrayLike) -> Array:
        return np.full(len(matrix(X)), self.variance)

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        return np.array([self.variance * square(G, len(matrix(X))).sum()])

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        return np.array([self.variance * rectangle(X, Y, F)[2].sum()])

    def paired(self, X: ArrayLike, Y: ArrayLike) -> Array:
        return self.diag(matching(X, Y)[0])

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        X, _ = matching(X, Y)
        return np.array([self.variance * shaped(c, (len(X),), "c").sum()])

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        return np.zeros(rectangle(X, Y, F)[1].shape)


@dataclass(frozen=True, eq=False, repr=False)
class _Compound(Kernel):
    """Several kernels joined by one operation; nested ones of the same kind are flattened."""

    parts: tuple[Kernel, ...]

    join: ClassVar[np.ufunc]

    def __post_init__(self) -> None:
        flat: list[Kernel] = []
        for part in self.parts:
            flat += part.parts if isinstance(part, type(self)) else [_as_kernel(part)]
        if not flat:
            raise ValueError(f"{type(self).__name__} needs at least one kernel, got none.")
        object.__setattr__(self, "parts", tuple(flat))

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        n = len(matrix(X))
        shape = (n, n if Y is None else len(matrix(Y)))
        # A constant joins as a number, not as a matrix.
        values = (p.variance if isinstance(p, Constant) else p(X, Y) for p in self.parts)
        return self._joined(values, shape)

    def diag(self, X: ArrayLike) -> Array:
        return self._joined((part.diag(X) for part in self.parts), (len(matrix(X)),))

    def paired(self, X: ArrayLike, Y: ArrayLike) -> Array:
        X, Y = matching(X, Y)
        return self._joined((part.paired(X, Y) for part in self.parts), (len(X),))

    def _joined(self, values: Iterable[Array | float], shape: tuple[int, ...]) -> Array:
        total: Any = None
        for value in values:
            # Every matrix is new, so one of the two can take the result.
            out = next((a for a in (value, total) if isinstance(a, np.ndarray)), None)
            total = value if total is None else self.join(total, value, out=out)
        return total if isinstance(total, np.ndarray) else np.full(shape, total)

    @property
    def theta(self) -> Array:
        return np.concatenate([part.theta for part in self.parts])

    def with_theta(self, theta: ArrayLike) -> Self:
        theta, parts = self._fitting(theta), []
        for part in self.parts:
            parts.append(part.with_theta(theta[: part.n_theta]))
            theta = theta[part.n_theta :]
        return replace(self, parts=tuple(parts))

    def _map(self, change: Any) -> Self:
        return replace(self, parts=tuple(change(part) for part in self.parts))

    @property
    def theta_kinds(self) -> tuple[str, ...]:
        return tuple(kind for part in self.parts for kind in part.theta_kinds)

    @property
    def theta_names(self) -> list[str]:
        """As for single kernels, with the position of the part in front if names repeat."""
        pairs = [(i, name) for i, part in enumerate(self.parts) for name in part.theta_names]
        names = [name for _, name in pairs]
        return names if len(set(names)) == len(names) else [f"{i}.{name}" for i, name in pairs]

    @property
    def bounds(self) -> Array:
        return np.concatenate([part.bounds for part in self.parts])

    @property
    def inputs(self) -> str:
        """Kind of the parts; features joined with another kind count as the other."""
        return next((p.inputs for p in self.parts if p.inputs != "features"), "features")

    def prepared(self, X: ArrayLike) -> Self:
        return self._map(lambda part: part.prepared(X))

    def check(self, d: int) -> None:
        for part in self.parts:
            part.check(d)

    def with_ard(self, d: int) -> Self:
        return self._map(lambda part: part.with_ard(d))

    def feature_relevance(self, d: int) -> Array:
        return np.sum([part.feature_relevance(d) for part in self.parts], axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class Sum(_Compound):
    """Sum of kernels, written ``a + b``: the covariance of a sum of independent functions.

    Parameters
    ----------
    parts : tuple of Kernel
        The terms; sums among them are flattened.

    Examples
    --------
    >>> from ordinality.kernels import Gaussian, Linear
    >>> kernel = Linear() + 0.5 * Gaussian(2.0)
    >>> kernel.theta_names
    ['relevance', 'variance', 'length_scale']
    """

    join = np.add

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        return np.concatenate([part.pullback(X, G) for part in self.parts])

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        X, Y, F = rectangle(X, Y, F)
        return np.concatenate([part.pullback_between(X, Y, F) for part in self.parts])

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        return np.concatenate([part.pullback_paired(X, Y, c) for part in self.parts])

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        X, Y, F = rectangle(X, Y, F)
        return np.sum([part.slope(X, Y, F) for part in self.parts], axis=0)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


@dataclass(frozen=True, eq=False, repr=False)
class Product(_Compound):
    """Product of kernels, written ``a * b``.

    Parameters
    ----------
    parts : tuple of Kernel
        The factors; products among them are flattened.

    Examples
    --------
    >>> from ordinality.kernels import Constant, Gaussian
    >>> Constant(2.0) * Gaussian([1.0, 3.0])
    Constant(variance=2.0) * Gaussian(length_scale=[1.0, 3.0])
    """

    join = np.multiply

    @property
    def own_derivative(self) -> bool:
        return [factor.own_derivative for factor in self._split()[1]] == [True]

    def lower(self, X: ArrayLike, scale: float = 1.0) -> Array:
        if not self.own_derivative:
            return super().lower(X, scale)
        own, (factor,) = self._split()
        return factor.lower(X, own * scale)

    def _split(self) -> tuple[float, list[Kernel]]:
        """Product of the constants, and the other factors."""
        scale = math.prod(part.variance for part in self.parts if isinstance(part, Constant))
        return scale, [part for part in self.parts if not isinstance(part, Constant)]

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        scale, factors = self._split()
        if not factors:
            return np.full(self.n_theta, scale * square(G, len(matrix(X))).sum())
        return self._ordered(*_pulled(factors, scale, X, G, K))

    def _ordered(self, gradients: list[Array], total: float) -> Array:
        """Gradient from those of the factors and the one of every constant, the total."""
        ordered = [[total] if isinstance(p, Constant) else gradients.pop(0) for p in self.parts]
        return np.concatenate(ordered)

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        X, Y, F = rectangle(X, Y, F)
        scale, factors = self._split()
        if self.own_derivative:  # a given K holds the scale already
            gradient, total = factors[0]._pulled_between(X, Y, F, K)
            by = scale if K is None else 1.0
            return self._ordered([by * gradient], by * total)
        if not factors:
            return np.full(self.n_theta, scale * F.sum())
        if len(factors) > 1 or K is None:
            values = [factor(X, Y) for factor in factors]
        else:
            values = [shaped(K, F.shape, "K") / scale]
        gradients = []
        for factor, value, F_i in zip(factors, values, _cofactors(values, F), strict=True):
            gradients.append(scale * factor.pullback_between(X, Y, F_i, value))
        return self._ordered(gradients, scale * float(np.vdot(F_i, values[-1])))

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        X, Y = matching(X, Y)
        c = shaped(c, (len(X),), "c")
        values = [part.paired(X, Y) for part in self.parts]
        terms = zip(self.parts, _cofactors(values, c), strict=True)
        return np.concatenate([part.pullback_paired(X, Y, c_i) for part, c_i in terms])

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        X, Y, F = rectangle(X, Y, F)
        scale, factors = self._split()
        if len(factors) == 1:
            return scale * factors[0].slope(X, Y, F)
        total = np.zeros(Y.shape)
        values = [factor(X, Y) for factor in factors]
        for factor, F_i in zip(factors, _cofactors(values, F), strict=True):
            total += factor.slope(X, Y, F_i)
        return scale * total

    def __repr__(self) -> str:
        return " * ".join(f"({p!r})" if isinstance(p, Sum) else repr(p) for p in self.parts)


def _pulled(
    factors: list[Kernel], scale: float, X: ArrayLike, G: Array, K: Array | None
) -> tuple[list[Array], float]:
    """Gradient of each factor of ``scale * prod(factors)``, and the sum of ``G * K``."""
    if len(factors) > 1 or K is None:
        values = [factor(X) for factor in factors]
    elif factors[0].own_derivative:  # K holds the scale already
        gradient, total = factors[0].pullback_and_total(X, G, K)
        return [gradient], total
    else:
        values = [K / scale]
    G, gradients = square(G, len(values[0])), []
    for factor, value, G_i in zip(factors, values, _cofactors(values, G), strict=True):
        # dL/dK_i without the scale, which multiplies the gradient and not a matrix.
        gradients.append(scale * factor.pullback(X, G_i, value))
    return gradients, scale * float(np.vdot(G_i, values[-1]))


def _cofactors(values: list[Array], G: Array) -> Iterator[Array]:
    """`G` times the product of all values but one, for each of them in turn."""
    for i in range(len(values)):
        yield math.prod(values[:i] + values[i + 1 :], start=G)


def _size(value: float | Array) -> int:
    return 1 if isinstance(value, float) else len(value)


def _as_kernel(value: Any) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Real):
        return Constant(float(value))
    # Do not return NotImplemented: scikit-learn's kernels would wrap ours as a constant.
    raise TypeError(
        f"a kernel cannot be combined with {value!r}; wanted another kernel of ordinality or a "
        "number (wrap a scikit-learn kernel as ordinality.kernels.Foreign(kernel))."
    )


def _positive(owner: str, name: str, value: Any) -> float | Array:
    """A positive parameter as a float, or as a read-only vector."""
    if type(value) is float and 0.0 < value < math.inf:  # the usual case, without an array
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


def matrix(X: ArrayLike, name: str = "X") -> Array:
    """`X` as a float64 matrix of rows of features."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(
            f"{name} has shape {X.shape}, but kernels take one row per item, (n, d); "
            f"use {name}.reshape(-1, 1) for a single feature."
        )
    return X


def rectangle(X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> tuple[Array, Array, Array]:
    """Two tables of rows with equal features, and a matrix of derivatives between them."""
    X, Y = alike(X, Y)
    return X, Y, shaped(F, (len(X), len(Y)), "F")


def matching(X: ArrayLike, Y: ArrayLike) -> tuple[Array, Array]:
    """Two tables with equal features whose rows match one to one."""
    X, Y = alike(X, Y)
    if len(X) != len(Y):
        raise ValueError(
            f"X has {len(X)} rows and Y has {len(Y)}, but rows are paired one to one; pass as "
            "many of one as of the other."
        )
    return X, Y


def alike(X: ArrayLike, Y: ArrayLike) -> tuple[Array, Array]:
    """Two tables of rows with equal features."""
    X, Y = matrix(X), matrix(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features and Y has {Y.shape[1]}; pass rows with the same "
            "features."
        )
    return X, Y


def shaped(array: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """An array of derivatives or covariances by rows; other shapes are refused."""
    array = np.asarray(array, dtype=np.float64, order="C")
    if array.shape != shape:
        rows = " and ".join(map(str, shape))
        raise ValueError(f"{name} has shape {array.shape}, but {rows} rows take shape {shape}.")
    return array


def square(G: ArrayLike, n: int, name: str = "G") -> Array:
    """A symmetric (n, n) matrix, such as dL/dK, by rows; other shapes are refused."""
    G = np.asarray(G, dtype=np.float64)
    if G.shape != (n, n):
        raise ValueError(
            f"{name} has shape {G.shape}, but the pullback over {n} rows takes a matrix of "
            f"shape ({n}, {n})."
        )
    # LAPACK leaves Fortran order, whose transpose is the same matrix by rows.
    return G.T if G.flags.f_contiguous else np.ascontiguousarray(G)


def widened(box: ArrayLike, theta: Array) -> Array:
    """Bounds, shape (p, 2), moved outwards where they would exclude the present value."""
    box = np.asarray(box, dtype=np.float64).reshape(-1, 2)
    return np.column_stack([np.minimum(box[:, 0], theta), np.maximum(box[:, 1], theta)])


# Large arrays that are allocated anew for every evaluation are zeroed by the system each time,
# a fifth of an evaluation at 500 rows. Within a `workspace` the arrays of `scratch` are kept.
_memory = threading.local()


@contextmanager
def workspace() -> Iterator[None]:
    """Keep the arrays of `scratch` in this thread until the block ends."""
    outer = getattr(_memory, "arrays", None)
    _memory.arrays = {}
    try:
        yield
    finally:
        _memory.arrays = outer


def scratch(n: int, use: str) -> Array:
    """An (n, n) array in Fortran order, not cleared, valid until `use` is asked for again."""
    arrays = getattr(_memory, "arrays", None)
    if arrays is None:
        return np.empty((n, n), order="F")
    if use not in arrays or len(arrays[use]) != n:
        arrays[use] = np.empty((n, n), order="F")
    return arrays[use]
