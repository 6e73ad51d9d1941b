"""How certain the ranking is: places, members of the best, events, from joint posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.special import ndtr

from ..estimators.snapshot import PointPosteriors
from .gains import believed, difference_variance, points_of

__all__ = [
    "check_k",
    "draws",
    "expected_rank_changes",
    "intervals_and_members",
    "rank_intervals",
    "top_k_members",
    "top_k_probability",
]

_ITEMS = 1000  # whose joint covariance is computed
_NEAR = 0.2  # a difference that does not matter, in prior standard deviations of utilities


def expected_rank_changes(model: Any, random_state: Any = None) -> float:
    """Expected number of pairs of items in the wrong order, in the ranking by mean utility.

    This is the expected Kendall distance to the true ranking. It needs no draws: the joint
    posterior gives the probability of each pair. Divided by n (n - 1) / 2 it is the pair error
    that the model expects.

    Parameters
    ----------
    model : PreferenceGP or Snapshot
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
    model = believed(model)
    n = len(model.utility().mean)
    items = np.arange(n)
    if n > _ITEMS:
        items = np.random.default_rng(random_state).choice(n, _ITEMS, replace=False)
    points = points_of(model, items)
    order = np.argsort(-(points.weights @ points.mean), kind="stable")
    i, j = order[np.column_stack(np.triu_indices(len(items), 1))].T
    wrong = 0.0
    for weight, mean, cov in zip(points.weights, points.mean, points.cov, strict=True):
        variance, gap = difference_variance(cov, i, j), mean[i] - mean[j]
        # Two items that are the same to the model have no wrong order.
        z = np.divide(gap, np.sqrt(variance), out=np.full(len(gap), np.inf), where=variance > 0)
        wrong += weight * float(ndtr(-z).sum())
    return wrong * (n * (n - 1)) / (len(items) * (len(items) - 1))


def top_k_probability(
    model: Any,
    k: int = 1,
    n_samples: int = 2000,
    random_state: Any = None,
    *,
    event: str = "exact",
) -> float:
    """Probability that the k items of highest mean utility are the k best.

    Parameters
    ----------
    model : PreferenceGP or Snapshot
        Fitted.
    k : int, default=1
        How many of the best matter.
    n_samples : int, default=2000
        Draws of all utilities together; the standard error is at most 0.5 / sqrt(n_samples).
    random_state : int, Generator or None, default=None
        None is different every time.
    event : {"exact", "but-one", "near"}, default="exact"
        "exact": these k are the k best. "but-one": at least k - 1 of them are. "near": none
        that is left out is better than any of them by more than a fifth of the spread of
        items. The k-th and the next of many items are often too close to tell apart; "but-one"
        can be promised far earlier.

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
    if event not in ("exact", "but-one", "near"):
        raise ValueError(f"event is {event!r}; it must be 'exact', 'but-one' or 'near'.")
    utilities, signal = _likely_best(model, k, n_samples, random_state)
    if event == "but-one":
        if min(k, len(utilities) - k) < 2:
            return 1.0
        # Two of the others are among the best if the second of them beats the last but one.
        second = np.partition(utilities[k:].T, -2)[:, -2]
        return float(np.mean(np.partition(utilities[:k].T, 1)[:, 1] > second))
    lead = utilities[:k].min(axis=0) - utilities[k:].max(axis=0)
    return float(np.mean(lead > (-_NEAR * signal if event == "near" else 0.0)))


def top_k_members(
    model: Any, k: int = 1, n_samples: int = 2000, random_state: Any = None
) -> np.ndarray:
    """Probability of each item to be among the k best.

    Parameters
    ----------
    model : PreferenceGP or Snapshot
        Fitted.
    k : int, default=1
        How many of the best matter.
    n_samples : int, default=2000
        Draws of all utilities together.
    random_state : int, Generator or None, default=None
        None is different every time.

    Returns
    -------
    probability : ndarray of shape (n,)
        Sums to k.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import top_k_members
    >>> model = PreferenceGP().fit([[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]])
    >>> int(top_k_members(model, random_state=0).argmax())
    0
    """
    model = believed(model)
    check_k(k, len(model.utility().mean))
    return _members(_places(model, n_samples, random_state), k)


def rank_intervals(
    model: Any, level: float = 0.9, n_samples: int = 2000, random_state: Any = None
) -> np.ndarray:
    """Interval of the place of each item, 1 for the best.

    Parameters
    ----------
    model : PreferenceGP or Snapshot
        Fitted.
    level : float, default=0.9
        Probability of the place to lie in the interval, at least.
    n_samples : int, default=2000
        Draws of all utilities together.
    random_state : int, Generator or None, default=None
        None is different every time.

    Returns
    -------
    places : ndarray of int, shape (n, 2)
        First and last place of each item.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import rank_intervals
    >>> model = PreferenceGP().fit([[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]])
    >>> rank_intervals(model, random_state=0)[0].tolist()
    [1, 2]
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level!r}; it must lie between 0 and 1.")
    return _intervals(_places(believed(model), n_samples, random_state), level)


def intervals_and_members(
    model: Any, level: float, k: int, n_samples: int = 2000, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """`rank_intervals` and `top_k_members` from the same draws, in half of the time."""
    model = believed(model)
    check_k(k, len(model.utility().mean))
    places = _places(model, n_samples, random_state)
    return _intervals(places, level), _members(places, k)


def check_k(k: Any, n: int) -> None:
    """Refuse a number of best items that is not from 1 to n - 1."""
    if not (isinstance(k, int | np.integer) and 1 <= k < n):
        raise ValueError(
            f"k is {k!r}, but there are {n} items; it must be a whole number from 1 to {n - 1}."
        )


def draws(points: PointPosteriors, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of utilities, a column each: of each ratio as many as its weight asks for."""
    share = count * points.weights
    each = np.floor(share).astype(np.intp)
    # What is left goes to a ratio each, drawn by what the floor took from it.
    left = count - each.sum()
    if left:
        rest = (share - each) / np.sum(share - each)
        each += rng.multinomial(left, rest)
    found = [
        _normal(mean, cov, size, rng)
        for mean, cov, size in zip(points.mean, points.cov, each, strict=True)
        if size
    ]
    return np.concatenate(found, axis=1)


def _normal(
    mean: np.ndarray, cov: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws from N(mean, cov), a column each; cov may be singular."""
    # Cholesky with pivots: equal items make the covariance singular.
    factor, pivots, rank, _ = lapack.dpstrf(np.asarray(cov, order="F"), lower=1)
    half = np.empty((len(mean), rank))
    half[pivots - 1] = np.tril(factor)[:, :rank]
    return mean[:, None] + half @ rng.standard_normal((rank, count))


def _places(model: Any, n_samples: Any, random_state: Any) -> np.ndarray:
    """Places of all items, from 0, in each draw of their utilities, (n, n_samples)."""
    _check_samples(n_samples)
    points = points_of(model, np.arange(len(model.utility().mean)))
    utilities = draws(points, n_samples, np.random.default_rng(random_state))
    # Draws as rows: sorting what lies together in memory is faster.
    order = np.argsort(-np.ascontiguousarray(utilities.T), axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(order.shape[1])[None], axis=1)
    return places.T


def _intervals(places: np.ndarray, level: float) -> np.ndarray:
    tail = 0.5 * (1.0 - level)
    low = np.quantile(places, tail, axis=1, method="lower")
    high = np.quantile(places, 1.0 - tail, axis=1, method="higher")
    return 1 + np.column_stack([low, high]).astype(np.intp)


def _members(places: np.ndarray, k: int) -> np.ndarray:
    return np.mean(places < k, axis=1)


def _likely_best(
    model: Any, k: Any, n_samples: Any, random_state: Any
) -> tuple[np.ndarray, float]:
    """Draws of utilities, those of highest mean first, and the prior deviation of utilities.

    Of more than 1000 items, only those most likely to be among the best.
    """
    model = believed(model)
    mean, std = model.utility()
    check_k(k, len(mean))
    _check_samples(n_samples)
    order = np.argsort(-mean, kind="stable")
    top, rest = order[:k], order[k:]
    if len(mean) > _ITEMS:
        rivals = np.argsort(-(mean + 3.0 * std)[rest], kind="stable")
        rest = rest[rivals[: max(_ITEMS - k, 1)]]
    points = points_of(model, np.concatenate([top, rest]))
    utilities = draws(points, n_samples, np.random.default_rng(random_state))
    ratios = getattr(model, "ratios", None)
    if ratios is None:  # of other models utilities have a prior variance of about one
        return utilities, 1.0
    return utilities, float(ratios[-1] / points.slope[-1])


def _check_samples(n_samples: Any) -> None:
    if not (isinstance(n_samples, int | np.integer) and n_samples >= 1):
        raise ValueError(f"n_samples is {n_samples!r}; it must be a whole number, 1 or more.")
