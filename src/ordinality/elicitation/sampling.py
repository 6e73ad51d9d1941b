"""Draws of utilities from their joint posterior."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

__all__ = ["draws"]


def draws(
    mean: np.ndarray, cov: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws from N(mean, cov), a column each; cov may be singular.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> one, twin = draws(np.zeros(2), np.ones((2, 2)), 3, rng)
    >>> bool(np.allclose(one, twin))
    True
    """
    # With pivots, for items that are alike make the covariance singular.
    factor, pivots, rank, _ = lapack.dpstrf(np.asarray(cov, order="F"), lower=1)
    half = np.empty((len(mean), rank))
    half[pivots - 1] = np.tril(factor)[:, :rank]
    return mean[:, None] + half @ rng.standard_normal((rank, count))
