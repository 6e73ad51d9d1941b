"""Kernels for every Gaussian-process estimator; `ordinality.gp` has how they work."""

from ordinality.gp.kernels import (
    Constant,
    Correlation,
    Foreign,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    RationalQuadratic,
    Spline,
    Sum,
)

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
