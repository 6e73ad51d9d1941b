"""A linear function plus a smooth one, of features that matter more or less.

Most data are linear to first order, and some features matter more than others. A Gaussian
kernel alone has to learn straight lines from rows; one length scale for each feature fits the
noise of small samples. So the linear part has a share of the prior variance, and every length
scale is a common one times a ratio, which a prior holds near one: docs/hyperpriors.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, logit

from .base import Array, Constant, Kernel, Sum, matrix
from .features import Linear
from .stationary import Gaussian

__all__ = ["LinearGaussian"]


@dataclass(frozen=True, eq=False, repr=False)
class LinearGaussian(Kernel):
    """A linear function plus a smooth one, whose prior variances add up to one.

    With ``c`` the `common_scale` and ``r`` the `relative_scale`,

        k(x, x') = linear_share * mean_j(x_j x'_j / r_j**2)
                   + (1 - linear_share) * exp(-1/2 mean_j(((x_j - x'_j) / (c r_j))**2)),

    so that the length scale of feature ``j`` is ``sqrt(d) c r_j``. For standardised features
    and ratios of one the prior variance of a row is one on average.

    Parameters
    ----------
    linear_share : float, default=0.27
        Share of the prior variance that the linear function has, between 0 and 1. `theta` holds
        its log odds.
    common_scale : float, default=0.37
        Distance over which the smooth function changes appreciably, as a root mean square over
        features.
    relative_scale : float or array of shape (d,), default=1.0
        Length scale of each feature divided by the common one, which weighs the feature in both
        parts; with a vector, one is learnt for each.

    Examples
    --------
    >>> from ordinality.kernels import LinearGaussian
    >>> kernel = LinearGaussian(0.5, 1.0, [1.0, 4.0])
    >>> kernel([[0.0, 0.0], [2.0, 0.0]]).round(4)
    array([[0.5   , 0.1839],
           [0.1839, 1.5   ]])
    >>> kernel.theta_names
    ['linear_share', 'common_scale', 'relative_scale[0]', 'relative_scale[1]']
    """

    # Where a search should start. The criterion may have a second maximum at a long common
    # scale, where the smooth part only bends the linear one. Of 112 problems of 30 to 400 rows,
    # with a normal prior of the ratios, a search from 0.27 and 0.37 ended below the best of
    # seven starts by more than 0.05 nats in 6, and by 1.04 at most; from a scale of 1, the
    # centre of its prior, in 15, by 2.2 at most.
    linear_share: float = 0.27
    common_scale: float = 0.37
    relative_scale: float | Array = 1.0

    learnt = ("linear_share", "common_scale", "relative_scale")
    per_feature = "relative_scale"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linear_share >= 1.0:
            raise ValueError(
                f"LinearGaussian needs linear_share between 0 and 1, got {self.linear_share!r}."
            )

    def _sum(self, X: ArrayLike) -> Sum:
        """The same kernel of as many features as `X` has, as a sum."""
        self.check(d := matrix(X).shape[1])
        ratio = np.broadcast_to(self.relative_scale, d)
        linear = Linear(self.linear_share * ratio**-2.0 / d)
        length_scale = np.sqrt(d) * self.common_scale * ratio
        smooth = Constant(1.0 - self.linear_share) * Gaussian(length_scale)
        return linear + smooth

    def _chained(self, gradient: Array) -> Array:
        """Gradient in `theta` from that of the sum, by the chain rule."""
        d = len(gradient) // 2
        relevance, variance, length = gradient[:d], gradient[d], gradient[d + 1 :]
        share = self.linear_share
        by_share = (1.0 - share) * relevance.sum() - share * variance
        each = length - 2.0 * relevance
        if not np.ndim(self.relative_scale):
            each = each.sum(keepdims=True)
        return np.concatenate([[by_share, length.sum()], each])

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        return self._sum(X)(X, Y)

    def diag(self, X: ArrayLike) -> Array:
        return self._sum(X).diag(X)

    def pullback(self, X: ArrayLike, G: Array, K: Array | None = None) -> Array:
        return self._chained(self._sum(X).pullback(X, G))

    def pullback_between(
        self, X: ArrayLike, Y: ArrayLike, F: ArrayLike, K: Array | None = None
    ) -> Array:
        return self._chained(self._sum(X).pullback_between(X, Y, F))

    def paired(self, X: ArrayLike, Y: ArrayLike) -> Array:
        return self._sum(X).paired(X, Y)

    def pullback_paired(self, X: ArrayLike, Y: ArrayLike, c: ArrayLike) -> Array:
        return self._chained(self._sum(X).pullback_paired(X, Y, c))

    def slope(self, X: ArrayLike, Y: ArrayLike, F: ArrayLike) -> Array:
        return self._sum(X).slope(X, Y, F)

    @property
    def theta(self) -> Array:
        theta = super().theta
        theta[0] = logit(self.linear_share)
        return theta

    def with_theta(self, theta: ArrayLike) -> Self:
        theta = self._fitting(theta).copy()
        theta[0] = log_expit(theta[0])
        return super().with_theta(theta)

    def feature_relevance(self, d: int) -> Array:
        """How much each feature matters.

        Parameters
        ----------
        d : int
            Number of features.

        Returns
        -------
        ndarray of shape (d,)
            Prior variance of the slope along each feature, of both parts together.
        """
        self.check(d)
        each = np.full(d, self.relative_scale) ** -2.0
        smooth = (1.0 - self.linear_share) / self.common_scale**2
        return (self.linear_share + smooth) * each / d
