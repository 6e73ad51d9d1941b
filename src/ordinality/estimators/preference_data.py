"""Paired comparisons and ratings of items, as arrays.

`Items` are what is compared, as a kernel takes them. `Answers` are what was said about them,
each distinct statement once with its weight, so that a fit depends neither on the order of the
answers nor on which item of a pair was named first.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

from .. import levels as _levels
from ..gp.design import Combinations
from ..kernels.base import Kernel
from .fitting import Scaling

__all__ = [
    "Answers",
    "Items",
    "answer_levels",
    "check_item_numbers",
    "check_pairs",
    "check_ratings",
    "difference_variances",
    "encode_answers",
    "encode_judges",
    "judge_number",
    "rating_order",
]

_BLOCK = 200  # pairs whose covariances are computed at once, as the diagonal of a block


@dataclass(frozen=True, eq=False)
class Items:
    """The items of a model; kernel inputs end with the item's number if ``numbered``."""

    X: np.ndarray  # (n, d) scaled features; (n, n) covariances; (n, 0) without features
    scaling: Scaling
    gram: bool
    numbered: bool
    twin: np.ndarray  # (n,), the first item that the kernel cannot tell from each

    @classmethod
    def of(
        cls, items: Any, named: np.ndarray, inputs: str, standardize: bool, numbered: bool
    ) -> Items:
        """Read ``items``; None is as many as the largest of the numbers ``named`` demands."""
        X = _read(np.max(named) + 1 if items is None else items, inputs)
        n, d = X.shape
        scaled = standardize and inputs == "features" and d > 0
        scaling = Scaling.of(X, np.ones(n)) if scaled else Scaling.none(d)
        X, twin = scaling(X), np.arange(n)
        if not numbered:
            _, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
            twin = first[place.ravel()]
        return cls(X, scaling, inputs == "gram", numbered, twin)

    def __len__(self) -> int:
        return len(self.X)

    def inputs(self, which: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Kernel inputs of some items; covariances are those with the items ``seen``."""
        X = self.X[np.ix_(which, seen)] if self.gram else self.X[which]
        return np.column_stack([X, self.twin[which]]) if self.numbered else X

    def new(self, X: np.ndarray) -> np.ndarray:
        """Kernel inputs of other items, from their features."""
        X = self.scaling(X)
        return np.column_stack([X, np.full(len(X), -1.0)]) if self.numbered else X

    def cross(self, kernel: Kernel, which: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Prior covariances of some items with the items ``seen``."""
        return kernel(self.inputs(which, seen), self.inputs(seen, seen))

    def covariance(self, kernel: Kernel, which: np.ndarray) -> np.ndarray:
        """Prior covariance among some items."""
        return kernel(self.inputs(which, which))

    def variances(self, kernel: Kernel, which: np.ndarray) -> np.ndarray:
        """Prior variance of some items."""
        if self.gram:  # `diag` of a precomputed kernel is a mean, for items that are new
            return np.diagonal(self.covariance(kernel, which))
        return kernel.diag(self.inputs(which, which))

    def differences(self, kernel: Kernel, which: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Prior variances of differences between items ``which[place]``, shape (m,)."""
        if self.gram:
            K = self.covariance(kernel, which)
            return np.diagonal(K)[place].sum(axis=1) - 2.0 * K[place[:, 0], place[:, 1]]
        return difference_variances(kernel, self.inputs(which, which), place)


def _read(items: Any, inputs: str) -> np.ndarray:
    if isinstance(items, Integral):
        if items < 1:
            raise ValueError(
                f"items={items} is a number of items; pass 1 or more, or a row of features for "
                "each item."
            )
        return np.empty((int(items), 0))
    finite = "allow-nan" if inputs == "ratings" else True
    X = check_array(items, dtype=np.float64, ensure_all_finite=finite, input_name="items")
    if inputs == "gram" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"items has shape {X.shape}, but with kernel='precomputed' it is the (n, n) matrix "
            "of covariances between all items; pass that, or a kernel of features."
        )
    return X


def difference_variances(kernel: Kernel, Z: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Prior variances of differences between the two inputs of each pair ``Z[place]``."""
    blocks = gen_batches(len(place), _BLOCK)
    shared = [np.diagonal(kernel(*Z[place[block].T])) for block in blocks]
    return kernel.diag(Z)[place].sum(axis=1) - 2.0 * np.concatenate([np.zeros(0), *shared])


@dataclass(frozen=True, eq=False)
class Answers:
    """Distinct statements about items; the second item is -1 where the first was rated."""

    part: np.ndarray  # (m,), which likelihood: a judge's, or after those that of ratings
    items: np.ndarray  # (m, 2), the smaller number first
    level: np.ndarray  # (m,)
    weight: np.ndarray  # (m,), above zero

    @classmethod
    def of(
        cls,
        part: np.ndarray,
        pairs: np.ndarray,
        level: np.ndarray,
        weight: np.ndarray,
        n_levels: int,
    ) -> Answers:
        """Comparisons, given as levels of the first item over the second."""
        swapped = pairs[:, 0] > pairs[:, 1]
        items = np.where(swapped[:, None], pairs[:, ::-1], pairs)
        level = np.where(swapped, n_levels - 1 - level, level)
        return cls(part, items, level, weight).merged()

    @classmethod
    def ratings(cls, part: int, items: np.ndarray, level: np.ndarray) -> Answers:
        """Levels given to single items."""
        pairs = np.column_stack([items, np.full(len(items), -1)])
        return cls(np.full(len(items), part), pairs, level, np.ones(len(items))).merged()

    def merged(self) -> Answers:
        """Each statement once, in a fixed order; those of weight zero are dropped."""
        said = np.flatnonzero(self.weight > 0)
        # By weight: the rounding of a sum depends on the order.
        said = said[np.argsort(self.weight[said], kind="stable")]
        keys, place = np.unique(self.keys[said], axis=0, return_inverse=True)
        weight = np.bincount(place.ravel(), self.weight[said], len(keys))
        return Answers(keys[:, 0], keys[:, 1:3], keys[:, 3], weight)

    @property
    def keys(self) -> np.ndarray:
        """What was said, a row (part, first item, second item, level) each."""
        return np.column_stack([self.part, self.items, self.level])

    def joined(self, others: Answers) -> Answers:
        """These and others."""
        keys = np.concatenate([self.keys, others.keys])
        weight = np.concatenate([self.weight, others.weight])
        return Answers(keys[:, 0], keys[:, 1:3], keys[:, 3], weight).merged()

    def none(self) -> Answers:
        """No statements."""
        return Answers(self.part[:0], self.items[:0], self.level[:0], self.weight[:0])

    def judge_weights(self, n_judges: int) -> np.ndarray:
        """Total weight of the comparisons of each judge."""
        return np.bincount(self.part, self.weight, n_judges)[:n_judges]

    def seen(self) -> np.ndarray:
        """Numbers of the items of which anything was said, ascending."""
        return np.unique(self.items[self.items >= 0])

    def design(self) -> Combinations:
        """What each statement sees of the utilities of `seen`."""
        seen = self.seen()
        rated = self.items[:, 1] < 0
        index = np.searchsorted(seen, np.where(self.items < 0, seen[:1], self.items))
        value = np.column_stack([np.ones(len(rated)), np.where(rated, 0.0, -1.0)])
        return Combinations(index, value, len(seen))

    def carried(self, start: np.ndarray, before: Answers) -> np.ndarray:
        """The state of an engine for statements ``before``, for these; zero for new ones.

        A better guess for the new ones, from the posterior without them, saves no iteration.
        """
        known = {tuple(key): i for i, key in enumerate(before.keys.tolist())}
        old = np.array([known.get(tuple(key), -1) for key in self.keys.tolist()])
        pieces = start.reshape(-1, len(before.weight))  # Laplace keeps one, the others two
        return np.where(old < 0, 0.0, pieces[:, old]).ravel()


# What users pass


def check_item_numbers(values: Any, n: int | None, name: str) -> np.ndarray:
    """Numbers of items, below n if that is known, as integers in an array of any shape."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold item numbers, rows of `items` counted from 0, got "
            f"{np.asarray(values).ravel()[:1].tolist()}; look names up first."
        ) from None
    whole = np.isfinite(array) & (array == np.floor(array))
    wrong = ~whole | (array < 0) | (array >= (np.inf if n is None else n))
    if np.any(wrong):
        there = "" if n is None else f" and there are {n} items"
        raise ValueError(
            f"{name} name item {array[wrong].flat[0]:g}, but items are numbered by whole "
            f"numbers from 0{there}; use the row numbers of `items`."
        )
    return array.astype(np.intp)


def check_pairs(pairs: Any, n: int | None = None) -> np.ndarray:
    """Pairs of different items, shape (m, 2)."""
    shape = np.shape(pairs)
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(
            f"pairs has shape {shape}; wanted (m, 2), a row for each comparison with the "
            "numbers of the two items."
        )
    checked = check_item_numbers(pairs, n, "pairs")
    alone = np.flatnonzero(checked[:, 0] == checked[:, 1])
    if len(alone):
        raise ValueError(
            f"row {alone[0]} of pairs compares item {checked[alone[0], 0]} with itself, which "
            "says nothing; drop such rows."
        )
    return checked


def answer_levels(grades: int, ties: bool) -> np.ndarray:
    """The possible answers, from "much worse" (-grades) to "much better" (+grades)."""
    every = np.arange(-grades, grades + 1)
    return every if ties else every[every != 0]


def encode_answers(answers: Any, m: int, levels: np.ndarray) -> np.ndarray:
    """Answers to m pairs as places in `answer_levels`; None: the first item always won."""
    if answers is None:
        return np.full(m, np.searchsorted(levels, 1))
    array = np.asarray(answers)
    if array.shape != (m,):
        raise ValueError(
            f"answers has shape {array.shape}, but there are {m} pairs; pass one answer for "
            "each."
        )
    if array.dtype == bool:  # whether the first won
        array = np.where(array, 1, -1)
    unknown = ~np.isin(array, levels)
    if np.any(unknown):
        raise ValueError(_unknown_answer(array[unknown][0], levels))
    return np.searchsorted(levels, array.astype(np.float64))


def _unknown_answer(found: Any, levels: np.ndarray) -> str:
    found = found.item() if hasattr(found, "item") else found
    if found == 0:
        return (
            "answers hold 0, which is a tie: pass ties=True to learn how wide ties are, or "
            "drop those rows. If 0 means that the second item won, write -1."
        )
    whole = isinstance(found, (int, float)) and float(found).is_integer()
    how = (
        f"pass grades={abs(int(found))} for answers as strong as that"
        if whole and abs(found) > levels[-1]
        else "+1 says that the first item of a pair won, -1 the second"
    )
    listed = ", ".join(f"{level:+d}" if level else "0" for level in levels)
    return f"answers hold {found!r}, but with these settings an answer is {listed}; {how}."


def encode_judges(judges: Any, m: int, known: np.ndarray | None) -> np.ndarray:
    """Number of the judge of each of m answers; ``known`` None is one judge without a name."""
    if (judges is None) != (known is None):
        raise ValueError(
            "judges are named in only one of fit and update; name them in both, for every "
            "answer, or in neither."
        )
    if judges is None:
        return np.zeros(m, dtype=int)
    given = np.asarray(judges)
    if given.shape != (m,):
        raise ValueError(
            f"judges has shape {given.shape}, but there are {m} pairs; name one for each."
        )
    names, place = np.unique(given, return_inverse=True)
    return np.array([judge_number(judge, known) for judge in names], dtype=int)[place]


def judge_number(judge: Any, known: np.ndarray | None) -> int:
    """Number of one judge."""
    names = [] if known is None else known.tolist()
    judge = judge.item() if hasattr(judge, "item") else judge
    if judge not in names:
        who = f"the judges {names}" if names else "answers without judges"
        raise ValueError(f"there is no judge {judge!r}; the model was fitted to {who}.")
    return names.index(judge)


def check_ratings(ratings: Any) -> tuple[np.ndarray, Any]:
    """Items and labels of ``ratings=(items, labels)``; without ratings no items and None."""
    if ratings is None:
        return np.empty(0, dtype=np.intp), None
    if not (isinstance(ratings, (tuple, list)) and len(ratings) == 2):
        raise ValueError(
            f"ratings is a {type(ratings).__name__}; wanted a pair (items, levels): the "
            "numbers of the items that were rated, and the level that each got."
        )
    items, labels = ratings
    if np.ndim(items) != 1 or len(items) != len(labels) or not len(items):
        raise ValueError(
            f"ratings has {np.size(items)} items and {len(labels)} levels; wanted one level "
            "for each of one item or more."
        )
    return check_item_numbers(items, None, "ratings"), labels


def rating_order(labels: Any, levels: Any) -> _levels.Order:
    """Order of the labels of ratings: as stated in ``levels``, else as they carry it."""
    try:
        order = _levels.resolve(labels, levels)
    except ValueError as error:
        raise ValueError(f"in ratings, {error}") from None
    if order.guessed:
        raise ValueError(
            f"the ratings {order.levels.tolist()} are text without an order; state it with "
            "`levels=[...]`, lowest first."
        )
    return order
