"""Choice of the next comparisons among all pairs of many items.

Thousands of items have too many pairs to evaluate each, so they are preselected in three steps,
each more expensive and more accurate than the one before:

1. items, by mean and standard deviation alone, down to 400: half of them by the best score for
   the strategy, half drawn from the others, since the value of a pair depends on the
   *difference* of its items, and standard deviations do not tell which are correlated
   (given pairs are preselected likewise, by their value if utilities were independent);
2. all pairs of those, by a rough value from their joint covariance, down to 1000;
3. those by the exact value.

The value of "order" depends on other items too: on all of them, or on as many as make 400.

A batch is chosen greedily. After each question the covariance is replaced by the one that is
expected after its answer, whatever it will be: a change of rank one. So the next question asks
about something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..estimators.snapshot import PointPosteriors
from ..gp.likelihoods import Symmetric
from .gains import (
    OfAnswer,
    answer_likelihood,
    answer_uncertainty,
    believed,
    best_of_two,
    exact_gain,
    expected_max,
    fisher_information,
    information_of,
    numbers_of,
    order_of,
    points_of,
    rough_fisher_information,
    rough_gain,
    seen_by,
    top_of,
)
from .stopping import check_k, draws

__all__ = ["next_pair", "preselected"]

_ITEMS = 400  # whose joint covariance is computed: 80,000 pairs
_PAIRS = 1000  # with an exact value


def next_pair(
    model: Any,
    strategy: str = "order",
    candidates: Any = None,
    batch: int = 1,
    random_state: Any = None,
    *,
    judge: Any = None,
    k: int = 1,
    exclude: Any = None,
) -> np.ndarray:
    """Choose the pair, or the pairs, of items to compare next.

    Parameters
    ----------
    model : PreferenceGP or Snapshot
        Fitted. A snapshot saves computing it anew for every question.
    strategy : {"order", "top", "information", "best", "thompson", "uncertainty"}
        "order", the default, asks where the answer tells most about which is the better of any
        two items, see `order_gain`. "top" asks where it tells most about which items are the
        `k` best. "information" asks where it tells most about all utilities, even
        where these do not change the order, see `information_gain`. "best" looks for the best
        item, see `expected_best`. "thompson" does too: it compares the best item of one draw
        of the utilities with the best of another. "uncertainty" asks where the answer is most
        uncertain, see `uncertainty`.
    candidates : array-like of int, shape (m, 2) or (q,), default=None
        Pairs that may be asked, or items of which any two may; None is all items.
    batch : int, default=1
        Number of different questions to choose before the next answer.
    random_state : int, Generator or None, default=None
        For the draws of "thompson", and to draw 400 items out of more. None is different
        every time.
    judge : label, default=None
        Who is asked; None, or one whom the model does not know, has the median noise.
    k : int, default=1
        How many of the best matter, for "top".
    exclude : array-like of int, shape (m, 2), default=None
        Pairs that must not be asked, such as those that the judge has answered, either way
        round.

    Returns
    -------
    pairs : ndarray of shape (batch, 2)
        Best first, by name if the items have names; as `PreferenceGP.update` takes them.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.elicitation import next_pair
    >>> model = PreferenceGP(5).fit([[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]])
    >>> next_pair(model)  # items 3 and 4 were never compared
    array([[3, 4]])
    >>> model = model.update(next_pair(model), [+1])
    >>> next_pair(model, candidates=[[0, 2], [2, 4]])
    array([[2, 4]])
    """
    model = believed(model)
    likelihood = answer_likelihood(model, judge)
    if strategy not in _CRITERIA:
        raise ValueError(f"strategy is {strategy!r}; it must be one of {list(_CRITERIA)}.")
    if not (isinstance(batch, int | np.integer) and batch >= 1):
        raise ValueError(f"batch is {batch!r}; it must be a whole number, 1 or more.")
    check_k(k, len(model.utility()[0]))
    rng = np.random.default_rng(random_state)
    criterion = _CRITERIA[strategy]
    candidates, exclude = (
        None if items is None else numbers_of(model, items) for items in (candidates, exclude)
    )
    pool = _pool(model, likelihood, candidates, criterion, batch, rng)
    pool = replace(pool, k=k, place=_without(pool, exclude))
    if batch > len(pool.place):
        raise ValueError(
            f"batch is {batch}, but there are {len(pool.place)} different pairs to choose "
            "from; ask for fewer, allow more candidates, or exclude fewer pairs."
        )
    most = max(_PAIRS, 20 * batch)
    if criterion.rough is not None and len(pool.place) > most:
        rough = criterion.rough(pool, rng)
        # In their old order, so that the first of several equal ones is the first of all.
        few = np.sort(np.argpartition(-rough, most)[:most])
        pool = replace(pool, place=pool.place[few])
    taken: list[int] = []
    for _ in range(batch):
        if taken:
            pool = pool.after_asking(taken[-1])
        value = criterion.value(pool, rng)
        value[taken] = -np.inf
        taken.append(int(np.argmax(value)))
    chosen, names = pool.items[pool.place[taken]], getattr(model, "item_names_", None)
    return chosen if names is None else names[chosen]


# ---------------------------------------------------------------- values of the pairs of a pool


@dataclass(frozen=True)
class _Pool:
    """Items, the joint posteriors of their utilities, and pairs of them."""

    items: np.ndarray  # (q,), numbers
    points: PointPosteriors  # of the items
    place: np.ndarray  # (m, 2), into the items
    likelihood: Symmetric
    k: int = 1  # how many of the best matter to "top"

    def after_asking(self, pair: int) -> _Pool:
        """The pool with the covariances that are expected after the answer to a pair."""
        (i, j), points = self.place[pair], self.points
        mean, variance = (x[:, 0] for x in seen_by(points, self.place[pair : pair + 1]))
        G, K = len(mean), self.likelihood.n_levels
        levels = np.tile(np.arange(K), G)
        jet = self.likelihood.log_expected(levels, np.repeat(mean, K), np.repeat(variance, K))
        # Share of the variance that stays.
        left = np.sum((np.exp(jet.value) * jet.shrink).reshape(G, K), axis=1)
        c = points.slope[:, None] * (points.cov[:, :, i] - points.cov[:, :, j])
        known = np.divide(1.0 - left, variance, out=np.zeros(G), where=variance > 0.0)
        told = points.cov - (known[:, None] * c)[:, :, None] * c[:, None, :]
        return replace(self, points=points._replace(cov=told))


Value = Callable[[_Pool, np.random.Generator], np.ndarray]


def _information(gain: OfAnswer) -> Value:
    """Bits about the utilities."""
    return lambda pool, rng: information_of(gain, pool.likelihood, pool.points, pool.place)


def _order(fisher: OfAnswer) -> Value:
    """Bits about the order of all items of the pool."""
    return lambda pool, rng: order_of(fisher, pool.likelihood, pool.points, pool.place)


def _top(fisher: OfAnswer) -> Value:
    """Bits about which items are the best."""
    return lambda pool, rng: top_of(
        fisher, pool.likelihood, pool.points, pool.place, min(pool.k, len(pool.items) - 1)
    )


def _uncertainty(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    return answer_uncertainty(pool.likelihood, pool.points, pool.place)


def _best(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    return best_of_two(pool.points, pool.place)


def _thompson(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    """The best item of one draw of the utilities against the best of another."""
    one, other = draws(pool.points, 2, rng).T
    i, j = pool.place.T
    return np.maximum(one[i] + other[j], one[j] + other[i])


@dataclass(frozen=True)
class _Criterion:
    """How a strategy values the pairs of a pool, and which items it looks at."""

    value: Value
    rough: Value | None = None  # faster, to preselect; None: `value` is fast
    optimism: float = np.inf  # items are preselected by mean + optimism * std
    all_items: bool = False  # whether values depend on other items than the candidates


_CRITERIA = {
    "order": _Criterion(
        _order(fisher_information), _order(rough_fisher_information), all_items=True
    ),
    "top": _Criterion(
        _top(fisher_information), _top(rough_fisher_information), optimism=2.0, all_items=True
    ),
    "information": _Criterion(_information(exact_gain), _information(rough_gain)),
    "best": _Criterion(_best, optimism=1.0),
    "thompson": _Criterion(_thompson, optimism=2.0),
    "uncertainty": _Criterion(_uncertainty),
}


# ---------------------------------------------------------------- candidates


def _pool(
    model: Any,
    likelihood: Symmetric,
    candidates: Any,
    criterion: _Criterion,
    batch: int,
    rng: np.random.Generator,
) -> _Pool:
    """At most about 400 items, and all pairs of them that may be asked."""
    mean, std = model.utility()
    allowed = _checked(candidates, len(mean))
    by_std = np.isinf(criterion.optimism)
    if allowed.ndim == 1:
        score = std if by_std else mean + criterion.optimism * std
        items = allowed[preselected(score[allowed], _ITEMS, rng)]
        place = np.column_stack(np.triu_indices(len(items), 1))
    else:
        if len(np.unique(allowed)) > _ITEMS:
            left, right = allowed.T
            apart = std[left] ** 2 + std[right] ** 2  # as if utilities were independent
            if by_std:
                z = (mean[left] - mean[right]) / np.sqrt(apart)
                score = ndtr(z) * ndtr(-z) * apart
            else:
                score = expected_max(mean[left], mean[right], apart)
            few = preselected(score, max(_ITEMS // 2, batch), rng)
            # Other pairs of the same items cost nothing.
            allowed = allowed[np.isin(allowed, np.unique(allowed[few])).all(axis=1)]
        items, flat = np.unique(allowed, return_inverse=True)
        place = flat.reshape(-1, 2)
    if criterion.all_items:
        others, room = np.setdiff1d(np.arange(len(mean)), items), max(_ITEMS - len(items), 0)
        if len(others) > room:
            others = rng.choice(others, room, replace=False)
        every = np.union1d(items, others)
        items, place = every, np.searchsorted(every, items)[place]
    return _Pool(items, points_of(model, items), place, likelihood)


def _without(pool: _Pool, exclude: Any) -> np.ndarray:
    """Pairs of the pool, as places, that are not excluded."""
    if exclude is None or not len(exclude):
        return pool.place
    barred = np.asarray(exclude)
    if barred.ndim != 2 or barred.shape[1] != 2:
        raise ValueError(f"exclude has shape {barred.shape}; wanted pairs, shape (m, 2).")
    # A pair as one number, the smaller item first.
    unit = 1 + max(int(pool.items[-1]), int(barred.max()))
    asked, never = (
        np.sort(pairs, axis=1) @ [unit, 1] for pairs in (pool.items[pool.place], barred)
    )
    return pool.place[~np.isin(asked, never)]


def preselected(score: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Places of ``count`` entries: half by the largest score, half drawn from the rest."""
    if len(score) <= count:
        return np.arange(len(score))
    order, half = np.argsort(-score, kind="stable"), count // 2
    chance = rng.choice(order[half:], count - half, replace=False)
    return np.sort(np.concatenate([order[:half], chance]))


def _checked(candidates: Any, n: int) -> np.ndarray:
    """Different items, shape (q,), or different pairs of them, shape (m, 2)."""
    if candidates is None:
        candidates = np.arange(n)
    given = np.asarray(candidates)
    shaped = given.ndim == 1 or (given.ndim == 2 and given.shape[1] == 2)
    if not shaped or not given.size:
        raise ValueError(
            f"candidates has shape {given.shape}; wanted pairs of items, shape (m, 2), or "
            "items, shape (q,)."
        )
    if given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n:
        raise ValueError(
            f"candidates must name items by whole numbers from 0 to {n - 1}, the rows of "
            "`items`."
        )
    if given.ndim == 1:
        given = np.unique(given)
        if len(given) < 2:
            raise ValueError("candidates name one item; a question needs two.")
        return given.astype(np.intp)
    if np.any(given[:, 0] == given[:, 1]):
        alone = given[given[:, 0] == given[:, 1]][0, 0]
        raise ValueError(f"candidates compare item {alone} with itself; drop such pairs.")
    _, first = np.unique(np.sort(given, axis=1), axis=0, return_index=True)
    return given[np.sort(first)].astype(np.intp)
