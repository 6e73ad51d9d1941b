"""Synthetic problems for the benchmarks.

One smooth function, seen through noise and thresholds: the model every method here assumes, so
that a difference in likelihood is a difference in fitting and not in taste.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr


class Problem(NamedTuple):
    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,) levels 0..K-1
    X_test: np.ndarray  # (m, d)
    y_test: np.ndarray  # (m,)
    floor: float  # NLPL of someone who knows the function, the noise and the thresholds


def smooth_ordinal(
    n: int,
    levels: int,
    *,
    d: int = 8,
    n_test: int = 2000,
    noise: float = 0.4,
    length_scale: float | None = None,
    seed: int = 0,
) -> Problem:
    """Draw ordered labels from a smooth random function of normal inputs.

    The function is a draw from a Gaussian process with a Gaussian kernel (2000 random Fourier
    features), scaled to unit variance. Thresholds cut the noisy function into levels of equal
    frequency. For one seed, function, thresholds and test rows are the same whatever `n`, and
    the training rows of a smaller problem are the first rows of a larger one.

    Parameters
    ----------
    n, levels : int
        Training rows, and how many levels.
    d, n_test : int
        Inputs, and test rows.
    noise : float
        Standard deviation of the noise, where the function's is one.
    length_scale : float, default sqrt(d)
        Of the kernel. At the default, regression on the noisy function before it is cut
        explains three quarters of its variance from 200 rows, 19/20 from 2000 (seed 0).
    seed : int
        Of the random numbers.

    Returns
    -------
    Problem
        `X, y, X_test, y_test` and `floor`, the mean negative log predictive likelihood on the
        test rows under the truth.

    Examples
    --------
    >>> problem = smooth_ordinal(200, 5)
    >>> problem.X.shape, np.bincount(problem.y_test).tolist()
    ((200, 8), [400, 400, 400, 400, 400])
    """
    scale = np.sqrt(d) if length_scale is None else length_scale
    of_function, of_test, of_train = (
        np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3)
    )
    function = _random_function(of_function, d, scale)
    X_test, f_test, e_test = _rows(of_test, n_test, d, function)
    X, f, e = _rows(of_train, n, d, function)
    centre, spread = f_test.mean(), f_test.std()
    f, f_test = (f - centre) / spread, (f_test - centre) / spread

    seen = f_test + noise * e_test
    thresholds = np.quantile(seen, np.arange(1, levels) / levels)
    y_test = np.searchsorted(thresholds, seen)
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    p = ndtr((edges[y_test + 1] - f_test) / noise) - ndtr((edges[y_test] - f_test) / noise)
    y = np.searchsorted(thresholds, f + noise * e)
    return Problem(X, y, X_test, y_test, float(-np.mean(np.log(p))))


def _random_function(rng, d, length_scale, features=2000):
    frequency = rng.standard_normal((d, features)) / length_scale
    phase = rng.uniform(0, 2 * np.pi, features)
    weight = rng.standard_normal(features) * np.sqrt(2 / features)
    return lambda X: np.cos(X @ frequency + phase) @ weight


def _rows(rng, n, d, function):
    """Inputs, function values and standard normal noise, drawn row by row."""
    draws = rng.standard_normal((n, d + 1))
    return draws[:, :d], function(draws[:, :d]), draws[:, d]
