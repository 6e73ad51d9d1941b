"""Kernels that users pass: names, scikit-learn kernel objects, functions.

A scikit-learn kernel is translated where a kernel of ours has the same values and the same free
parameters; it then needs no n x n x d gradient. `Foreign` wraps all others: those with
parameters that are fixed or have bounds of their own, which ours cannot state; `DotProduct`,
which lacks the relevance of our `Linear`; a `Matern` without closed form; and all other
classes, subclasses included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, Constant, Kernel, matrix, square
from .features import Linear, Polynomial, Spline
from .given import Correlation, Precomputed
from .linear_gaussian import LinearGaussian
from .stationary import Gaussian, Matern, RationalQuadratic

__all__ = ["Foreign", "Function", "translate"]

NAMED: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "spline": Spline,
    "matern": Matern,
    "correlation": Correlation,
    "precomputed": Precomputed,
}
_DEFAULT_BOUNDS = (1e-5, 1e5)  # of every hyperparameter in scikit-learn's signatures


def translate(kernel: Any, d: int = 1) -> Kernel:
    """Kernel of ours for what a user passes as ``kernel=``.

    None is `LinearGaussian` with a scale for each of the `d` features. A name stands for
    default parameters, "ard" for a Gaussian with a length scale for each feature.
    """
    if kernel is None:
        return LinearGaussian(relative_scale=np.ones(d))
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return _named(kernel, d)
    if isinstance(kernel, type):
        raise TypeError(f"kernel is the class {kernel.__name__}; pass {kernel.__name__}().")
    rule = _rules().get(type(kernel))
    translated = rule(kernel) if rule else None
    return Foreign(kernel) if translated is None else translated


def _named(name: str, d: int) -> Kernel:
    # The length scale at which the average squared distance of standardised rows is 2.
    if name in ("gaussian", "rbf"):
        return Gaussian(np.sqrt(d))
    if name == "ard":
        return Gaussian(np.full(d, np.sqrt(d)))
    if name not in NAMED:
        raise ValueError(
            f"there is no kernel named {name!r}; the names are gaussian, rbf, ard, "
            f"{', '.join(NAMED)}. Kernel objects of ordinality.kernels and of scikit-learn are "
            "accepted too."
        )
    return NAMED[name]()


def _rules() -> dict[type, Callable[[Any], Kernel | None]]:
    """How to translate each class; a rule returns None for what ours cannot express."""
    # Imported late: a caller who passes such a kernel has imported it already.
    from sklearn.gaussian_process import kernels as theirs

    return {
        theirs.RBF: lambda k: _if_free(k, lambda: Gaussian(_scale(k))),
        theirs.Matern: lambda k: _if_free(k, lambda: _matern(k)),
        theirs.RationalQuadratic: lambda k: _if_free(
            k, lambda: RationalQuadratic(_scale(k), k.alpha)
        ),
        theirs.ConstantKernel: lambda k: _if_free(k, lambda: Constant(k.constant_value)),
        theirs.Sum: lambda k: translate(k.k1) + translate(k.k2),
        theirs.Product: lambda k: translate(k.k1) * translate(k.k2),
    }


def _if_free(kernel: Any, build: Callable[[], Kernel | None]) -> Kernel | None:
    free = all(
        not known.fixed and np.all(known.bounds == _DEFAULT_BOUNDS)
        for known in kernel.hyperparameters
    )
    return build() if free else None


def _matern(kernel: Any) -> Kernel | None:
    if kernel.nu == np.inf:
        return Gaussian(_scale(kernel))
    if kernel.nu in (0.5, 1.5, 2.5):
        return Matern(_scale(kernel), kernel.nu)
    return None


def _scale(kernel: Any) -> Any:
    """The length scale; scikit-learn takes a vector of one entry as a scalar, for any d."""
    scale = np.squeeze(kernel.length_scale)
    return scale if scale.ndim else float(scale)


@dataclass(frozen=True, eq=False, repr=False)
class Foreign(Kernel):
    """A scikit-learn kernel object, with its own parameters, bounds and gradient.

    Its gradient is an n x n x n_theta array, so an equal kernel of ordinality, where there is
    one, needs less memory and time.

    Parameters
    ----------
    kernel : object
        With ``kernel(X, Y=None, eval_gradient=False)``, ``diag``, ``theta``, ``bounds`` and
        ``clone_with_theta``. It is not modified; parameters that it holds fixed stay fixed.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ExpSineSquared
    >>> from ordinality.kernels import Foreign
    >>> Foreign(ExpSineSquared(periodicity=2.0)).theta_names
    ['length_scale', 'periodicity']
    """

    kernel: Any

    def __post_init__(self) -> None:
        wanted = ("__call__", "diag", "theta", "bounds", "clone_with_theta")
        lacking = [name for name in wanted if not hasattr(self.kernel, name)]
        if isinstance(self.kernel, type):
            raise TypeError(f"got the class {self.kernel.__name__}; pass an instance of it.")
        if lacking:
            raise TypeError(
                f"{self.kernel!r} is not a kernel object: it lacks {', '.join(lacking)}; "
                "wanted a kernel of ordinality.kernels or of scikit-learn."
            )

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        X = matrix(X)
        K = np.asarray(self.kernel(X) if Y is None else self.kernel(X, matrix(Y)), np.float64)
        wanted = (len(X), len(X) if Y is None else len(matrix(Y)))
        if K.shape != wanted:
            raise ValueError(
                f"{self.kernel!r} returned an array of shape {K.shape}, but the covariance of "
                f"these rows has shape {wanted}; pass a kernel that returns one matrix."
            )
        if Y is not None:
            return np.array(K, order="C")
        K = 0.5 * (K + K.T)
        np.fill_diagonal(K, self.diag(X))
        return K

    def diag(self, X: ArrayLike) -> Array:
        return np.array(self.kernel.diag(matrix(X)), dtype=np.float64)

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        X = matrix(X)
        G = square(G, len(X))
        if not self.n_theta:
            return np.zeros(0)
        _, derivatives = self.kernel(X, eval_gradient=True)
        return np.einsum("ij,ijt->t", G, derivatives)

    @property
    def theta(self) -> Array:
        return np.array(self.kernel.theta, dtype=np.float64)

    def with_theta(self, theta: ArrayLike) -> Self:
        return type(self)(self.kernel.clone_with_theta(self._fitting(theta)))

    @property
    def theta_kinds(self) -> tuple[str, ...]:
        return ("foreign",) * len(self.theta)

    @property
    def theta_names(self) -> list[str]:
        names: list[str] = []
        for known in getattr(self.kernel, "hyperparameters", ()):
            if not known.fixed:
                entries = [f"{known.name}[{i}]" for i in range(known.n_elements)]
                names += entries if known.n_elements > 1 else [known.name]
        if len(names) == self.n_theta:
            return names
        return [f"theta[{i}]" for i in range(self.n_theta)]

    @property
    def bounds(self) -> Array:
        return np.array(self.kernel.bounds, dtype=np.float64).reshape(-1, 2)

    def feature_relevance(self, d: int) -> Array:
        return np.full(d, np.nan)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Foreign) and bool(self.kernel == other.kernel)

    def __hash__(self) -> int:
        return hash((type(self.kernel), self.theta.tobytes()))

    def __repr__(self) -> str:
        return f"Foreign({self.kernel!r})"


@dataclass(frozen=True)
class Function:
    """A user's function ``(X, Y) -> matrix`` as a kernel without learnt parameters."""

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
