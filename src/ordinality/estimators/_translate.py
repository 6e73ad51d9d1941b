"""scikit-learn kernel objects as kernels of ours.

A translated kernel has the same values, the same free parameters and no n x n x d gradient.
Where those cannot all be had, the object is kept as it is inside `Foreign`: parameters that are
held fixed or given bounds of their own (ours have none to state), `DotProduct` (our `Linear`
would bring a relevance that it does not have), a `Matern` without closed form, and every class,
subclasses included, that is not named here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ordinality import kernels as ours

__all__ = ["translate"]

NAMED: dict[str, type[ours.Kernel]] = {
    "gaussian": ours.Gaussian,
    "rbf": ours.Gaussian,
    "linear": ours.Linear,
    "polynomial": ours.Polynomial,
    "spline": ours.Spline,
    "matern": ours.Matern,
    "correlation": ours.Correlation,
    "precomputed": ours.Precomputed,
}

_DEFAULT_BOUNDS = (1e-5, 1e5)  # of every hyperparameter in scikit-learn's signatures


def translate(kernel: Any, d: int = 1) -> ours.Kernel:
    """A kernel of ours for what a user may pass as ``kernel=``.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel, or str
        One of ours is returned as it is; a name stands for the kernel with its default
        parameters, ``"ard"`` for a Gaussian with a length scale for each feature.
    d : int, default=1
        Number of features, which ``"ard"`` needs.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> translate(2.0 * RBF([1.0, 3.0]))
    Constant(variance=2.0) * Gaussian(length_scale=[1.0, 3.0])
    >>> translate(WhiteKernel(0.1))
    Foreign(WhiteKernel(noise_level=0.1))
    """
    if isinstance(kernel, ours.Kernel):
        return kernel
    if isinstance(kernel, str):
        # The length scale at which the average squared distance of standardised rows is 2.
        return ours.Gaussian(np.full(d, np.sqrt(d))) if kernel == "ard" else _named(kernel)
    if isinstance(kernel, type):
        raise TypeError(f"kernel is the class {kernel.__name__}; pass {kernel.__name__}().")
    rule = _rules().get(type(kernel))
    translated = rule(kernel) if rule else None
    return ours.Foreign(kernel) if translated is None else translated


def _named(name: str) -> ours.Kernel:
    if name not in NAMED:
        raise ValueError(
            f"there is no kernel named {name!r}; the names are {', '.join(NAMED)}, ard, "
            "and any kernel object of ordinality.kernels or scikit-learn will do."
        )
    return NAMED[name]()


def _rules() -> dict[type, Callable[[Any], ours.Kernel | None]]:
    """How to translate each class; a rule answers None for what ours cannot express."""
    # Imported late: whoever passes such a kernel has paid for this import already.
    from sklearn.gaussian_process import kernels as theirs

    return {
        theirs.RBF: lambda k: _if_free(k, lambda: ours.Gaussian(_scale(k))),
        theirs.Matern: lambda k: _if_free(k, lambda: _matern(k)),
        theirs.RationalQuadratic: lambda k: _if_free(
            k, lambda: ours.RationalQuadratic(_scale(k), k.alpha)
        ),
        theirs.ConstantKernel: lambda k: _if_free(k, lambda: ours.Constant(k.constant_value)),
        theirs.Sum: lambda k: translate(k.k1) + translate(k.k2),
        theirs.Product: lambda k: translate(k.k1) * translate(k.k2),
    }


def _if_free(kernel: Any, build: Callable[[], ours.Kernel | None]) -> ours.Kernel | None:
    free = all(
        not known.fixed and np.all(known.bounds == _DEFAULT_BOUNDS)
        for known in kernel.hyperparameters
    )
    return build() if free else None


def _matern(kernel: Any) -> ours.Kernel | None:
    if kernel.nu == np.inf:
        return ours.Gaussian(_scale(kernel))
    if kernel.nu in (0.5, 1.5, 2.5):
        return ours.Matern(_scale(kernel), kernel.nu)
    return None


def _scale(kernel: Any) -> Any:
    """The length scale; to scikit-learn a vector of one is a scalar, whatever d is."""
    scale = np.squeeze(kernel.length_scale)
    return scale if scale.ndim else float(scale)
