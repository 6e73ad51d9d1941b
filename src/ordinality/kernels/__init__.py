"""Kernels for every Gaussian-process estimator; `ordinality.gp` has how they work."""

from .base import Constant, Kernel, Product, Sum
from .features import Linear, Polynomial, Spline
from .foreign import Foreign
from .given import Correlation, Precomputed
from .stationary import Gaussian, Matern, RationalQuadratic

__all__ = [
    "Constant",
    "Correlation",
    "Foreign",
    "Gaussian",
    "Kernel",
    "Linear",
    "Matern",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Spline",
    "Sum",
]
