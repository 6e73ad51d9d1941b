"""Synthetic problems: those of the papers' figures, and smooth random ones of any size.

Where a paper says how its data were drawn, they are drawn so; where it only shows them, the
docstring says what the figure shows and what was chosen. The seed determines every draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from .splits import Split

__all__ = [
    "SmoothProblem",
    "bands_2d",
    "expected_utilities",
    "five_levels_1d",
    "smooth_ordinal",
    "three_ranks_2d",
]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

FEATURES = 2000  # random Fourier features of a smooth function
BLOCK = 4096  # rows whose features are held in memory at once


class SmoothProblem(NamedTuple):
    """Ordered labels of a smooth function, with the smallest loss that can be expected.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Inputs to learn from.
    y : ndarray of int, shape (n,)
        Their labels 1..K.
    X_test : ndarray of shape (m, d)
        Inputs to be tested on.
    y_test : ndarray of int, shape (m,)
        Their labels.
    thresholds : ndarray of shape (K-1,)
        Where the noisy function is cut into levels.
    floor : float
        Mean negative log-likelihood of the test labels under the true function, noise and
        thresholds.

    Examples
    --------
    >>> smooth_ordinal(10, 3, n_test=50).thresholds.shape
    (2,)
    """

    X: Floats
    y: Labels
    X_test: Floats
    y_test: Labels
    thresholds: Floats
    floor: float


def three_ranks_2d(
    n: int = 60, noise: float = 0.2, *, n_test: int = 1000, seed: int = 0
) -> Split:
    """Three ranks in the plane, in the manner of figure 2 of Chu & Ghahramani (2005).

    The figure shows inputs in [0, 4] x [-3, 3] with curved boundaries, at a lower and a higher
    noise; how they were drawn is not said. Here they are uniform in that rectangle, and
    ``x2 - 1.5 sin(pi x1 / 2)``, seen through normal noise, is cut at -1 and 1.

    Parameters
    ----------
    n : int, default=60
        Number of rows to learn from.
    noise : float, default=0.2
        Standard deviation of the noise; 0.8 makes a case of higher noise.
    n_test : int, default=1000
        Number of rows to test on.
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    Split
        Labels are 1, 2 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, X_test, y_test = three_ranks_2d()
    >>> X.shape, np.unique(y).tolist(), len(y_test)
    ((60, 2), [1, 2, 3], 1000)
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform([0.0, -3.0], [4.0, 3.0], size=(n + n_test, 2))
    f = X[:, 1] - 1.5 * np.sin(0.5 * np.pi * X[:, 0])
    y = 1 + np.searchsorted([-1.0, 1.0], f + noise * rng.standard_normal(len(f)))
    return Split(X[:n], y[:n], X[n:], y[n:])


def five_levels_1d(seed: int = 0) -> Split:
    """Five levels on a line: figure 1 of Srijith, Shevade & Sundararajan (2012).

    Two points in [2, 4] of level 1, three in [4, 6] of level 2, ten in [8, 14] of level 3, five
    in [14, 18] of level 4 and one in [18, 20] of level 5, here uniform in their intervals; the
    paper mentions 20 points, while the numbers it lists make 21. The test points are
    0.1, 0.2, ..., 20; their levels change at the ends of the intervals, and at 7 in the middle
    of the gap.

    Parameters
    ----------
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    Split
        Labels are 1 to 5.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, X_test, y_test = five_levels_1d()
    >>> np.bincount(y)[1:].tolist(), X_test.shape
    ([2, 3, 10, 5, 1], (200, 1))
    """
    rng = np.random.default_rng(seed)
    counts = [2, 3, 10, 5, 1]
    low, high = np.array([2.0, 4.0, 8.0, 14.0, 18.0]), np.array([4.0, 6.0, 14.0, 18.0, 20.0])
    y = np.repeat(np.arange(1, 6), counts)
    X = np.sort(rng.uniform(low[y - 1], high[y - 1]))
    grid = np.arange(1, 201) / 10
    y_test = 1 + np.searchsorted([4.0, 7.0, 14.0, 18.0], grid)
    return Split(X[:, None], y, grid[:, None], y_test)


def bands_2d(n: int = 300, noise: float = 0.125, *, n_test: int = 1000, seed: int = 0) -> Split:
    """Five bands of a product surface in the unit square (Herbrich, Graepel & Obermayer, 2000).

    ``10 (x1 - 0.5) (x2 - 0.5)`` plus normal noise of standard deviation 0.125, cut at -1, -0.1,
    0.25 and 1: no boundary is a straight line. The set of 300 rows known as "toy" is
    reproduced without the noise. Figure 2 of Lin & Li (2006) shows a two-dimensional set that
    is not described; this one takes its place.

    Parameters
    ----------
    n : int, default=300
        Number of rows to learn from.
    noise : float, default=0.125
        Standard deviation of the noise.
    n_test : int, default=1000
        Number of rows to test on.
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    Split
        Labels are 1 to 5.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, X_test, y_test = bands_2d()
    >>> X.shape, np.unique(y).tolist()
    ((300, 2), [1, 2, 3, 4, 5])
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n + n_test, 2))
    f = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    seen = f + noise * rng.standard_normal(len(f))
    y = 1 + np.searchsorted([-1.0, -0.1, 0.25, 1.0], seen)
    return Split(X[:n], y[:n], X[n:], y[n:])


def expected_utilities(
    labels: int, n: int = 50, *, states: int = 10, n_test: int = 1000, seed: ArrayLike = 0
) -> Split:
    """Actions ranked by expected utility: figure 3 of Chu & Ghahramani (2005, ICML).

    An input is a probability vector over the states of the world, uniform on the simplex; each
    action has uniform utilities in [0, 1] in each state, and the ranking is that of the
    expected utilities, without noise. The paper has 10 states, 50 rows and 2 to 10 actions; it
    does not say how many rows it tested.

    Parameters
    ----------
    labels : int
        Number of actions.
    n : int, default=50
        Number of rows to learn from.
    states : int, default=10
        Number of states of the world.
    n_test : int, default=1000
        Number of rows to test on.
    seed : int or sequence of int, default=0
        Seed of the draws.

    Returns
    -------
    Split
        ``y`` has shape (n, labels): the rank of each action, 1 for the best.

    Examples
    --------
    >>> P, ranks, P_test, ranks_test = expected_utilities(3)
    >>> P.shape, ranks.shape, sorted(ranks[0].tolist())
    ((50, 10), (50, 3), [1, 2, 3])
    """
    rng = np.random.default_rng(seed)  # type: ignore[arg-type]
    utilities = rng.uniform(size=(labels, states))
    P = rng.dirichlet(np.ones(states), size=n + n_test)
    ranks = 1 + np.argsort(np.argsort(-P @ utilities.T, axis=1), axis=1)
    return Split(P[:n], ranks[:n], P[n:], ranks[n:])


def smooth_ordinal(
    n: int,
    levels: int = 5,
    *,
    d: int = 8,
    n_test: int = 2000,
    noise: float = 0.4,
    length_scale: float | None = None,
    seed: int = 0,
) -> SmoothProblem:
    """Ordered labels of a smooth random function of normal inputs.

    The function is a draw from a Gaussian process with a Gaussian kernel, by 2000 random
    Fourier features, scaled to unit variance; memory grows with the rows, not with their
    square. Thresholds cut the noisy function into levels of equal frequency. For one seed,
    function, thresholds and test rows do not depend on `n`, and the rows of a smaller problem
    are the first of a larger one.

    Parameters
    ----------
    n : int
        Number of rows to learn from.
    levels : int, default=5
        Number of levels.
    d : int, default=8
        Number of inputs.
    n_test : int, default=2000
        Number of rows to test on.
    noise : float, default=0.4
        Standard deviation of the noise; that of the function is one.
    length_scale : float, optional
        Length scale of the kernel; by default sqrt(d).
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    SmoothProblem
        Rows, labels 1..levels, thresholds, and the smallest loss that can be expected.

    Examples
    --------
    >>> import numpy as np
    >>> problem = smooth_ordinal(200, 5)
    >>> problem.X.shape, np.bincount(problem.y_test)[1:].tolist()
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
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    y_test = 1 + np.searchsorted(thresholds, seen)
    p = ndtr((edges[y_test] - f_test) / noise) - ndtr((edges[y_test - 1] - f_test) / noise)
    y = 1 + np.searchsorted(thresholds, f + noise * e)
    return SmoothProblem(X, y, X_test, y_test, thresholds, float(-np.mean(np.log(p))))


def _random_function(
    rng: np.random.Generator, d: int, length_scale: float
) -> Callable[[Floats], Floats]:
    frequency = rng.standard_normal((d, FEATURES)) / length_scale
    phase = rng.uniform(0, 2 * np.pi, FEATURES)
    weight = rng.standard_normal(FEATURES) * np.sqrt(2 / FEATURES)

    def value(X: Floats) -> Floats:
        f = np.empty(len(X))
        for rows in _blocks(len(X)):
            f[rows] = np.cos(X[rows] @ frequency + phase) @ weight
        return f

    return value


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def _rows(
    rng: np.random.Generator, n: int, d: int, function: Callable[[Floats], Floats]
) -> tuple[Any, ...]:
    """Inputs, function values and standard normal noise, drawn row by row so that the first n
    rows do not depend on how many follow.
    """
    draws = rng.standard_normal((n, d + 1))
    X = np.ascontiguousarray(draws[:, :d])
    return X, function(X), draws[:, d]
