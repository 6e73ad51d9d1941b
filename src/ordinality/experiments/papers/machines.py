"""The papers' search for C and kappa of constraint classification, fold by fold.

Chu & Ghahramani (2005, ICML) tried whole powers of ten and then steps of 0.2 of the logarithm
around the best, 130 points of five folds each. Distances are computed once for all of them, the
kernel once for each kappa, and every fit starts from that of the next smaller C.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinality.datasets import Split
from ordinality.experiments.papers.problems import Pairs

__all__ = [
    "FOLDS",
    "STEPS",
    "class_shares",
    "folds_of",
    "pair_shares",
    "preference_error",
    "searched",
]

STEPS = 30_000  # of a support vector fit in a search: what is not done by then is judged as is
FOLDS = 5

Floats = NDArray[np.float64]
Shares = Callable[[Floats, float | None], Floats]  # of what is right, for rising C and a kappa


def searched(shares: Shares, *, with_kappa: bool) -> tuple[float, float | None]:
    """The best C and kappa: whole powers of ten, then steps of 0.2 around the best.

    Of equally good points the smallest C is taken, then the smallest kappa.

    Examples
    --------
    >>> searched(lambda C, kappa: -abs(np.log10(C) - 1) - abs(kappa - 1), with_kappa=True)
    (10.0, 1.0)
    """
    log_C, log_kappa = np.arange(-2.0, 5.0), np.arange(-3.0, 4.0) if with_kappa else None
    C, kappa = _best(shares, log_C, log_kappa)
    fine = 0.2 * np.arange(-4, 5)
    return _best(shares, np.log10(C) + fine, None if kappa is None else np.log10(kappa) + fine)


def _best(
    shares: Shares, log_C: Floats, log_kappa: Floats | None
) -> tuple[float, float | None]:
    kappas = [None] if log_kappa is None else [float(10.0**k) for k in log_kappa]
    found = np.column_stack([shares(10.0**log_C, kappa) for kappa in kappas])
    # Sums of the same shares in another order differ in the last digits.
    c, k = np.unravel_index(np.argmax(np.round(found, 12)), found.shape)
    return float(10.0 ** log_C[c]), kappas[k]


def folds_of(n: int, seed: int) -> NDArray[np.int64]:
    """The fold of each of n, at random and of equal sizes."""
    return np.random.default_rng([5, seed]).permutation(n) % FOLDS


def pair_shares(pairs: Pairs, seed: int) -> Shares:
    """Comparisons of items with a Gaussian kernel: shares of left-out pairs told rightly.

    Examples
    --------
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> up = np.array([[i + 1, i] for i in range(11)])
    >>> pair_shares(Pairs(X, up, up), 1)(np.array([1.0, 10.0]), 0.01)
    array([1., 1.])
    """
    from sklearn.metrics.pairwise import euclidean_distances
    from sklearn.preprocessing import StandardScaler

    seen, places = np.unique(pairs.train, return_inverse=True)
    first, second = places.reshape(-1, 2).T
    X = StandardScaler().fit(pairs.X).transform(pairs.X[seen])
    squares = euclidean_distances(X, squared=True)
    folds = folds_of(len(first), seed)

    def shares(Cs: Floats, kappa: float | None) -> Floats:
        K = np.exp(-0.5 * (kappa or 1.0) * squares)
        K = K[first] - K[second]
        K = K[:, first] - K[:, second]
        return np.mean([_right(K, folds == fold, Cs) for fold in range(FOLDS)], axis=0)

    return shares


def _right(K: Floats, left: NDArray[np.bool_], Cs: Floats) -> list[float]:
    """Shares of the left-out pairs whose score is positive, given the kernel of all pairs."""
    across = K[np.ix_(left, ~left)]
    rising = _rising(K[np.ix_(~left, ~left)], Cs)
    return [float(np.mean(across @ alpha > 0)) for alpha in rising]


def class_shares(split: Split, seed: int) -> Shares:
    """Classes with a Gaussian kernel: shares of the preferences of left-out rows told rightly.

    Examples
    --------
    >>> x = np.r_[np.linspace(-2, -1, 10), np.linspace(1, 2, 10)][:, None]
    >>> split = Split(x, (x[:, 0] > 0).astype(int), x, (x[:, 0] > 0).astype(int))
    >>> class_shares(split, 1)(np.array([1.0, 10.0]), 1.0)
    array([1., 1.])
    """
    from sklearn.metrics.pairwise import euclidean_distances

    folds, parts = folds_of(len(split.y), seed), []
    for fold in range(FOLDS):
        kept, left = split.X[folds != fold], split.X[folds == fold]
        squares = euclidean_distances(np.vstack([kept, left]), kept, squared=True)
        parts.append((squares, split.y[folds != fold], split.y[folds == fold]))

    def shares(Cs: Floats, kappa: float | None) -> Floats:
        gamma = 0.5 * (kappa or 1.0)
        right = [_told(np.exp(-gamma * squares), y, z, Cs) for squares, y, z in parts]
        return np.mean(right, axis=0)

    return shares


def _told(K: Floats, y: NDArray[Any], left: NDArray[Any], Cs: Floats) -> list[float]:
    """Shares told rightly of left-out rows, which come last in the kernel's rows."""
    classes, own = np.unique(y, return_inverse=True)
    n, L = len(y), len(classes)
    every = np.eye(L)
    # A row's own class is preferred to each of the others: L - 1 edges, (n (L - 1), L).
    signs = (every[own][:, None] - every)[own[:, None] != np.arange(L)]
    edges = np.repeat(np.repeat(K[:n], L - 1, axis=0), L - 1, axis=1)
    edges *= signs @ signs.T
    truth, found = np.searchsorted(classes, left), []
    for alpha in _rising(edges, Cs):
        weights = (alpha[:, None] * signs).reshape(n, L - 1, L).sum(axis=1)
        found.append(1.0 - preference_error(K[n:] @ weights, truth))
    return found


def preference_error(scores: Floats, own: NDArray[np.int64]) -> float:
    """Share of the other classes that score as high as the true one.

    Examples
    --------
    >>> preference_error(np.array([[3.0, 1.0, 2.0], [0.0, 0.0, 1.0]]), np.array([0, 1]))
    0.5
    """
    true = np.take_along_axis(scores, own[:, None], axis=1)
    return float((np.sum(scores >= true, axis=1) - 1).mean() / (scores.shape[1] - 1))


def _rising(K: Floats, Cs: Floats) -> Iterator[Floats]:
    """Multipliers of comparisons at rising prices, each fit starting from the last."""
    from sklearn.exceptions import ConvergenceWarning

    from ordinality.svm.kernel_rows import KernelRows
    from ordinality.svm.solver import solve
    from ordinality.svm.terms import comparisons

    rows, found = KernelRows.of_matrix(K), None
    for C in Cs:
        found = solve(comparisons(np.full(len(K), C)), rows, start=found, max_steps=STEPS)
        if not found.report.converged:
            warnings.warn(
                f"at C = {C:.3g} a fit of the search stopped after {STEPS} steps with "
                f"comparisons still off by {found.report.violation:.1e}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        yield found.alpha
