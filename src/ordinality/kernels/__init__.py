"""Covariance functions (kernels) for Gaussian processes and support vector machines.

A kernel is a frozen value. ``kernel(X, Y=None)`` is the covariance of rows, ``kernel.diag(X)``
its diagonal, and ``kernel.pullback(X, G)`` turns the derivatives dL/dK of a function of the
covariance matrix into its gradient in ``kernel.theta``, the logarithms of the parameters.
``kernel.with_theta(theta)`` is a copy with others. ``a + b``, ``a * b``, ``2 * a`` are kernels.
For inducing points, ``pullback_between(X, Y, F)`` does the same for ``kernel(X, Y)``,
``slope(X, Y, F)`` is the gradient in the rows of Y, and ``paired`` and ``pullback_paired`` are
of matching rows.

- A linear function plus a smooth one: `LinearGaussian`.
- Of distances, with one length scale or one per feature: `Gaussian`, `Matern`,
  `RationalQuadratic`. Of products of features: `Linear`, `Polynomial`, `Spline`.
- Without parameters: `Correlation` of incomplete rows, `Precomputed` Gram matrices.
- Of other kernels: `Constant`, `Sum`, `Product`; `Foreign` wraps those of scikit-learn.

To write one, derive a frozen dataclass from `Kernel`, list its positive parameters in
``learnt`` (their bounds are those of ``base.BOXES``), and define the three functions (those for
inducing points too, if it is to be used with them):

>>> from dataclasses import dataclass
>>> import numpy as np
>>> @dataclass(frozen=True, eq=False, repr=False)
... class Brownian(Kernel):
...     variance: float = 1.0
...     learnt = ("variance",)
...     def __call__(self, X, Y=None):
...         return self.variance * np.minimum(X, np.transpose(X if Y is None else Y))
...     def diag(self, X):
...         return self.variance * np.ravel(X)
...     def pullback(self, X, G, K=None):
...         return np.array([np.sum(G * self(X))])
>>> (Brownian() + 0.5)([[1.0], [2.0]]).tolist()
[[1.5, 1.5], [1.5, 2.5]]
"""

from .base import Constant, Kernel, Product, Sum
from .features import Linear, Polynomial, Spline
from .foreign import Foreign
from .given import Correlation, Precomputed
from .linear_gaussian import LinearGaussian
from .stationary import Gaussian, Matern, RationalQuadratic

__all__ = [
    "Constant",
    "Correlation",
    "Foreign",
    "Gaussian",
    "Kernel",
    "Linear",
    "LinearGaussian",
    "Matern",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Spline",
    "Sum",
]
