"""Choosing the next questions among all pairs of many items.

Pairs of n items are too many to look at one by one once n is in the thousands, so questions
are sifted three times, each time by something dearer and better:

1. items, by mean and standard deviation alone, down to a few hundred: half of them those that
   promise most for the strategy, half drawn at random from the others, for a pair is as good
   as the *difference* of its items, and standard deviations cannot tell which move together
   (given pairs are sifted likewise, by their value if all utilities were independent);
2. all pairs of those, by a rough value from their joint covariance, down to a thousand;
3. those by the exact value.

What "order" values is felt by other items too. It looks at all of them, or at those few
hundred, filled up by chance if fewer may be asked about.

Several questions at once are taken one after another. Each is followed by the covariance as
its answer, whatever it will be, is expected to leave it: a rank-one change. So the next one
asks about something else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..gp.likelihoods import Symmetric
from .gains import answers_of, best_of, exact_gain, openness, rough_gain
from .order import exact_slope, order_bits, rough_slope, spread
from .stopping import draws

__all__ = ["next_pair"]

_ITEMS = 400  # whose joint covariance is worked out: 80,000 pairs
_PAIRS = 1000  # valued exactly


@dataclass(frozen=True)
class _Pool:
    """Items, what is known of their utilities together, and pairs of them."""

    items: np.ndarray  # (q,), numbers
    mean: np.ndarray  # (q,)
    cov: np.ndarray  # (q, q)
    place: np.ndarray  # (m, 2), into the above
    likelihood: Symmetric

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the difference of each pair."""
        i, j = self.place.T
        own = np.diagonal(self.cov)
        variance = own[i] + own[j] - self.cov[i, j] - self.cov[j, i]
        return self.mean[i] - self.mean[j], np.maximum(variance, 0.0)

    def only(self, which: np.ndarray) -> _Pool:
        """The pool with some of its pairs."""
        return replace(self, place=self.place[which])

    def asked(self, pair: int) -> _Pool:
        """After a question, its answer being unknown: the expected covariance."""
        i, j = self.place[pair]
        mean, variance = (x[pair] for x in self.moments())
        if variance == 0.0:
            return self
        K = self.likelihood.n_levels
        one = np.ones(K)
        jet = self.likelihood.log_expected(np.arange(K), mean * one, variance * one)
        left = np.exp(jet.value) @ jet.shrink  # share of the variance that stays
        c = self.cov[:, i] - self.cov[:, j]
        return replace(self, cov=self.cov - np.outer(c, c * (1.0 - left) / variance))


Value = Callable[[_Pool, np.random.Generator], np.ndarray]


def _order(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    reach = spread(pool.mean, pool.cov, pool.place)
    return order_bits(exact_slope(pool.likelihood, *pool.moments()), reach)


def _order_roughly(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    reach = spread(pool.mean, pool.cov, pool.place)
    return order_bits(rough_slope(pool.likelihood, *pool.moments()), reach)


def _information(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    return exact_gain(pool.likelihood, *pool.moments())


def _information_roughly(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    return rough_gain(pool.likelihood, *pool.moments())


def _best(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    i, j = pool.place.T
    return best_of(pool.mean[i], pool.mean[j], pool.moments()[1])


def _uncertainty(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    return openness(pool.likelihood, *pool.moments())


def _thompson(pool: _Pool, rng: np.random.Generator) -> np.ndarray:
    """The best item of one draw of the utilities against the best of another."""
    one, other = draws(pool.mean, pool.cov, 2, rng).T
    i, j = pool.place.T
    return np.maximum(one[i] + other[j], one[j] + other[i])


# How a strategy values pairs, how it does so roughly, and how many standard deviations make up
# for one unit of mean utility in an item that is worth looking at.
_STRATEGIES: dict[str, tuple[Value, Value, float]] = {
    "order": (_order, _order_roughly, np.inf),
    "information": (_information, _information_roughly, np.inf),
    "best": (_best, _best, 1.0),
    "thompson": (_thompson, _thompson, 2.0),
    "uncertainty": (_uncertainty, _uncertainty, np.inf),
}


def next_pair(
    model: Any,
    strategy: str = "order",
    candidates: Any = None,
    batch: int = 1,
    random_state: Any = None,
    *,
    judge: Any = None,
) -> np.ndarray:
    """The pair, or the pairs, of items to be compared next.

    Parameters
    ----------
    model : PreferenceGP
        Fitted.
    strategy : {"order", "information", "best", "thompson", "uncertainty"}, default="order"
        "order" asks where the answer tells most about which is the better of any two items,
        see `order_gain`. "information" asks where it tells most about all utilities, however
        little they matter to the order, see `information_gain`. "best" looks for the best
        item, see `expected_best`. "thompson" does too, and sets the best of one draw of the
        utilities against the best of another. "uncertainty" asks where the answer is most
        open, see `uncertainty`.
    candidates : array-like of int, shape (m, 2) or (q,), default=None
        Pairs that may be asked, or items of which any two may; None is any two of all.
    batch : int, default=1
        How many different questions are wanted before the next answer comes.
    random_state : int, Generator or None, default=None
        For the draws of "thompson", and for those of 400 items out of more. None is a fresh
        start every time.
    judge : label, default=None
        Who is asked, if the model has several; None is one with the median noise.

    Returns
    -------
    pairs : ndarray of int, shape (batch, 2)
        Best first; as `PreferenceGP.update` takes them.

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
    likelihood = answers_of(model, judge)
    if strategy not in _STRATEGIES:
        raise ValueError(f"strategy is {strategy!r}; it must be one of {list(_STRATEGIES)}.")
    if not (isinstance(batch, int | np.integer) and batch >= 1):
        raise ValueError(f"batch is {batch!r}; it must be a whole number from 1 on.")
    rng = np.random.default_rng(random_state)
    value, roughly, deviations = _STRATEGIES[strategy]
    witnesses = strategy == "order"
    pool = _pool(model, likelihood, candidates, deviations, batch, witnesses, rng)
    if batch > len(pool.place):
        raise ValueError(
            f"batch is {batch}, but there are {len(pool.place)} different pairs to choose "
            "from; ask for fewer, or allow more candidates."
        )
    most = max(_PAIRS, 20 * batch)
    if value is not roughly and len(pool.place) > most:
        rough = roughly(pool, rng)
        # In their old order, so that the first of several equal ones is the first of all.
        pool = pool.only(np.sort(np.argpartition(-rough, most)[:most]))
    return _greedy(pool, value, batch, rng)


def _greedy(pool: _Pool, value: Value, batch: int, rng: np.random.Generator) -> np.ndarray:
    taken: list[int] = []
    for _ in range(batch):
        worth = value(pool, rng)
        worth[taken] = -np.inf
        taken.append(int(np.argmax(worth)))
        if len(taken) < batch:
            pool = pool.asked(taken[-1])
    return pool.items[pool.place[taken]]


# Candidates


def _pool(
    model: Any,
    likelihood: Symmetric,
    candidates: Any,
    deviations: float,
    batch: int,
    witnesses: bool,
    rng: np.random.Generator,
) -> _Pool:
    """Some hundred items, and all pairs of them that may be asked."""
    mean, std = model.utility()
    allowed = _checked(candidates, len(mean))
    if allowed.ndim == 1:
        promise = std if np.isinf(deviations) else mean + deviations * std
        items = allowed[_promising(promise[allowed], _ITEMS, rng)]
        place = np.column_stack(np.triu_indices(len(items), 1))
    else:
        if len(np.unique(allowed)) > _ITEMS:
            left, right = allowed.T
            apart = std[left] ** 2 + std[right] ** 2  # as if utilities were independent
            if np.isinf(deviations):
                promise = openness(likelihood, mean[left] - mean[right], apart)
            else:
                promise = best_of(mean[left], mean[right], apart)
            few = _promising(promise, max(_ITEMS // 2, batch), rng)
            # Pairs that come along with the items of the chosen ones cost nothing.
            there = np.isin(allowed, np.unique(allowed[few])).all(axis=1)
            allowed = allowed[there]
        items, flat = np.unique(allowed, return_inverse=True)
        place = flat.reshape(-1, 2)
    if witnesses:
        every = _filled_up(items, len(mean), rng)
        items, place = every, np.searchsorted(every, items)[place]
    mean, cov = model.posterior(items)
    return _Pool(items, mean, cov, place, likelihood)


def _filled_up(items: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """The items with all others, or with as many drawn from them as there is room for."""
    others, room = np.setdiff1d(np.arange(n), items), max(_ITEMS - len(items), 0)
    if len(others) > room:
        others = rng.choice(others, room, replace=False)
    return np.union1d(items, others)


def _promising(promise: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Where to look: half the places the most promising, half drawn from the others."""
    if len(promise) <= count:
        return np.arange(len(promise))
    order, half = np.argsort(-promise, kind="stable"), count // 2
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
        raise ValueError(f"candidates set item {alone} against itself; drop such pairs.")
    _, first = np.unique(np.sort(given, axis=1), axis=0, return_index=True)
    return given[np.sort(first)].astype(np.intp)
