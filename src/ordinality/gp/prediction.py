"""Latent values at new inputs, given sites on any design.

With ``K^-1 E[g] = beta`` and ``K^-1 - K^-1 Cov[g] K^-1 = G``, whatever the observations saw,

    E[g*] = k*' beta,    Cov[g*, g*'] = k** - k*' G k*.

Chu & Ghahramani (2005, ICML), eqs. 17 and 18, without the inverse of a singular matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._compile import loop
from .design import Rows
from .forms import prior_of
from .inference import Approximation

__all__ = ["LatentPredictor"]


@dataclass(frozen=True)
class LatentPredictor:
    """Posterior moments from covariances with the n latent values that were learnt from."""

    beta: np.ndarray  # (n,)
    G: np.ndarray  # (n, n)

    @classmethod
    def of(cls, design: Rows, K: np.ndarray, approximation: Approximation) -> LatentPredictor:
        """From a settled approximation."""
        tau = approximation.tau
        posterior = prior_of(design, K, tau).given(tau).inverted()
        zero = np.zeros(len(design))
        G = -2.0 * posterior.evidence_gradient(zero, zero)
        return cls(design.gather(approximation.alpha), G)

    def mean(self, cross: np.ndarray) -> np.ndarray:
        """Means from prior covariances ``cross``, shape (q, n)."""
        return cross @ self.beta

    def variance(self, cross: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Variances from prior variances, shape (q,)."""
        explained = np.einsum("ij,ij->i", cross @ self.G, cross)
        return np.maximum(prior - explained, 0.0)

    def differences(
        self, cross: np.ndarray, place: np.ndarray, prior: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of differences between new latent values.

        Parameters
        ----------
        cross : ndarray of shape (q, n)
            Prior covariances of the new values with the old.
        place : ndarray of int, shape (m, 2)
            The two of each difference.
        prior : ndarray of shape (m,)
            Prior variances of the differences.
        """
        mean, half = self.mean(cross), cross @ self.G  # once a value, however many pairs it has
        explained = np.empty(len(place))
        _explained(half, cross, np.ascontiguousarray(place), explained)
        return mean[place[:, 0]] - mean[place[:, 1]], np.maximum(prior - explained, 0.0)

    def covariance(self, cross: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Covariances from prior covariances, shape (q, q)."""
        return prior - cross @ self.G @ cross.T


@loop
def _explained(half, cross, place, total):
    for k in range(len(place)):
        i, j = place[k, 0], place[k, 1]
        total[k] = 0.0
        for a in range(cross.shape[1]):
            total[k] += (half[i, a] - half[j, a]) * (cross[i, a] - cross[j, a])
