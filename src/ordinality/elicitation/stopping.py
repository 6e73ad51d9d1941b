"""Stopping rules: how certain the ranking is, from the joint posterior of utilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.special import ndtr

from .gains import check_model, difference_variance

__all__ = ["draws", "expected_rank_changes", "top_k_probability"]

_ITEMS = 1000  # whose joint covariance is computed


def expected_rank_changes(model: Any, random_state: Any = None) -> float:
    """Expected number of pairs of items in the wrong order, in the ranking by mean utility.

    This is the expected Kendall distance to the true ranking. It needs no draws: the joint
    posterior gives the probability of each pair. Divided by n (n - 1) / 2 it is the pair error
    that the model expects.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    random_state : int, Generator or None, default=None
        Draws 1000 items out of more; the number is extrapolated from their pairs.

    Returns
    -------
    changes : float
        From 0 to n (n - 1) / 4.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import expected_rank_changes
    >>> model = PreferenceGP().fit([[0, 1], [1, 2], [0, 2]])
    >>> before = expected_rank_changes(model)
    >>> bool(expected_rank_changes(model.update([[0, 1], [1, 2]])) < before)
    True
    """
    check_model(model)
    n = len(model.utility().mean)
    items = np.arange(n)
    if n > _ITEMS:
        items = np.random.default_rng(random_state).choice(n, _ITEMS, replace=False)
    mean, cov = model.posterior(items)
    i, j = np.triu_indices(len(items), 1)
    variance = difference_variance(cov, i, j)
    gap = np.abs(mean[i] - mean[j])
    # Two items that are the same to the model have no wrong order.
    z = np.divide(gap, np.sqrt(variance), out=np.full(len(gap), np.inf), where=variance > 0)
    wrong = float(ndtr(-z).sum())
    return wrong * (n * (n - 1)) / (len(items) * (len(items) - 1))


def top_k_probability(
    model: Any, k: int = 1, n_samples: int = 2000, random_state: Any = None
) -> float:
    """Probability that the k items of highest mean utility are the k best.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    k : int, default=1
        How many of the best matter.
    n_samples : int, default=2000
        Draws of all utilities together; the standard error is at most 0.5 / sqrt(n_samples).
    random_state : int, Generator or None, default=None
        None is different every time.

    Returns
    -------
    probability : float
        Of more than 1000 items, only those most likely to be among the best are drawn, so that
        it may be slightly too large.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import top_k_probability
    >>> model = PreferenceGP().fit([[0, 1], [0, 2], [1, 2]])
    >>> before = top_k_probability(model, random_state=0)
    >>> after = top_k_probability(model.update([[0, 1], [0, 2], [0, 1]]), random_state=0)
    >>> before < after
    True
    """
    check_model(model)
    mean, std = model.utility()
    n = len(mean)
    if not (isinstance(k, int | np.integer) and 1 <= k < n):
        raise ValueError(
            f"k is {k!r}, but there are {n} items; it must be a whole number from 1 to {n - 1}."
        )
    if not (isinstance(n_samples, int | np.integer) and n_samples >= 1):
        raise ValueError(f"n_samples is {n_samples!r}; it must be a whole number, 1 or more.")
    order = np.argsort(-mean, kind="stable")
    top, rest = order[:k], order[k:]
    if n > _ITEMS:
        rivals = np.argsort(-(mean + 3.0 * std)[rest], kind="stable")
        rest = rest[rivals[: max(_ITEMS - k, 1)]]
    mean, cov = model.posterior(np.concatenate([top, rest]))
    utilities = draws(mean, cov, n_samples, np.random.default_rng(random_state))
    return float(np.mean(utilities[:k].min(axis=0) > utilities[k:].max(axis=0)))


def draws(
    mean: np.ndarray, cov: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws from N(mean, cov), a column each; cov may be singular."""
    # Cholesky with pivots: equal items make the covariance singular.
    factor, pivots, rank, _ = lapack.dpstrf(np.asarray(cov, order="F"), lower=1)
    half = np.empty((len(mean), rank))
    half[pivots - 1] = np.tril(factor)[:, :rank]
    return mean[:, None] + half @ rng.standard_normal((rank, count))
