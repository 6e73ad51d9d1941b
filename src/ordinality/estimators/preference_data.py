"""Items, answers and judges as a preference model takes them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

from .. import levels as _levels
from ..gp.design import Rows
from ..gp.likelihoods import Likelihood, Ordinal, Several, Symmetric
from ..kernels.base import Kernel
from .base_gp import Scaling

__all__ = [
    "Answers",
    "Catalogue",
    "Panel",
    "check_pairs",
    "check_places",
    "check_ratings",
    "grades_of",
    "levels_of",
    "paired",
]


@dataclass(frozen=True, eq=False)
class Answers:
    """Distinct statements about items; ``second`` is -1 where one item was rated."""

    part: np.ndarray  # (m,), which likelihood: a judge's, or that of ratings
    items: np.ndarray  # (m, 2)
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
        """What was said, a row each."""
        return np.column_stack([self.part, self.items, self.level])

    def joined(self, others: Answers) -> Answers:
        """These and others."""
        columns = zip(self._arrays, others._arrays, strict=True)
        return Answers(*(np.concatenate(both) for both in columns)).merged()

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.part, self.items, self.level, self.weight

    def seen(self) -> np.ndarray:
        """Numbers of the items of which anything was said, ascending."""
        return np.unique(self.items[self.items >= 0])

    def design(self) -> Rows:
        """What each statement sees of the utilities of `seen`."""
        seen = self.seen()
        rated = self.items[:, 1] < 0
        index = np.searchsorted(seen, np.where(self.items < 0, seen[:1], self.items))
        value = np.column_stack([np.ones(len(rated)), np.where(rated, 0.0, -1.0)])
        return Rows(index, value, len(seen))

    def carried(self, start: np.ndarray, before: Answers) -> np.ndarray:
        """The state of an engine for statements ``before``, for these; zero for new ones.

        A better guess for the new ones, from the posterior without them, saves no iteration.
        """
        known = {tuple(key): i for i, key in enumerate(before.keys.tolist())}
        old = np.array([known.get(tuple(key), -1) for key in self.keys.tolist()])
        pieces = start.reshape(-1, len(before.weight))  # Laplace keeps one, the others two
        return np.where(old < 0, 0.0, pieces[:, old]).ravel()


def levels_of(grades: int, ties: bool) -> np.ndarray:
    """The answers that there are, from "much worse" to "much better"."""
    every = np.arange(-grades, grades + 1)
    return every if ties else every[every != 0]


def check_places(values: Any, n: int | None, name: str) -> np.ndarray:
    """Item numbers as integers, in an array of any shape."""
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


def check_pairs(pairs: Any, n: int | None) -> np.ndarray:
    """Pairs of different items, shape (m, 2)."""
    shape = np.shape(pairs)
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(
            f"pairs has shape {shape}; wanted (m, 2), a row for each comparison with the "
            "numbers of the two items."
        )
    checked = check_places(pairs, n, "pairs")
    alone = np.flatnonzero(checked[:, 0] == checked[:, 1])
    if len(alone):
        raise ValueError(
            f"row {alone[0]} of pairs compares item {checked[alone[0], 0]} with itself, which "
            "says nothing; drop such rows."
        )
    return checked


def grades_of(answers: Any, m: int, grades: int, ties: bool) -> np.ndarray:
    """Answers to m pairs as levels from 0; None says that the first item always won."""
    levels = levels_of(grades, ties)
    if answers is None:
        return np.full(m, np.searchsorted(levels, 1))
    array = np.asarray(answers)
    if array.shape != (m,):
        raise ValueError(
            f"answers has shape {array.shape}, but there are {m} pairs; give one answer each."
        )
    if array.dtype == bool:  # whether the first won
        array = np.where(array, 1, -1)
    unknown = ~np.isin(array, levels)
    if np.any(unknown):
        raise ValueError(_unknown_answer(array[unknown][0], levels, grades))
    return np.searchsorted(levels, array.astype(np.float64))


def _unknown_answer(found: Any, levels: np.ndarray, grades: int) -> str:
    found = found.item() if hasattr(found, "item") else found
    listed = ", ".join(f"{level:+d}" if level else "0" for level in levels)
    if found == 0:
        return (
            "answers hold 0, which is a tie: pass ties=True to learn how wide ties are, or "
            "drop them. If 0 was to say that the second item won, that is -1."
        )
    whole = isinstance(found, (int, float)) and float(found).is_integer()
    how = (
        f"pass grades={abs(int(found))} for answers as strong as that"
        if whole and abs(found) > grades
        else "+1 says that the first item of a pair won, -1 the second"
    )
    return f"answers hold {found!r}, but with these settings an answer is {listed}; {how}."


# ----------------------------------------------------------------
# Items as a kernel takes them: features, a Gram matrix, or nothing but a number.


_BLOCK = 200


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The items of a model; kernel inputs end with the item's number where it matters."""

    X: np.ndarray  # (n, d) scaled features; (n, n) covariances; (n, 0) for mere numbers
    scaling: Scaling
    gram: bool
    numbered: bool
    twin: np.ndarray  # (n,), the first item that the kernel cannot tell from each

    @classmethod
    def of(
        cls, items: Any, inputs: str, standardize: bool, numbered: bool, largest: int | None
    ) -> Catalogue:
        """Read ``items``; None is as many as the ``largest`` number mentioned demands."""
        X = _read(items, inputs, largest)
        n, d = X.shape
        scaled = standardize and inputs == "features" and d > 0
        scaling = Scaling.of(X, np.ones(n)) if scaled else Scaling.none(d)
        X = scaling(X)
        twin = np.arange(n)
        if not numbered:
            _, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
            twin = first[place.ravel()]
        return cls(X, scaling, inputs == "gram", numbered, twin)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    def inputs(self, which: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Kernel inputs of some items, beside those of the items ``seen``."""
        X = self.X[np.ix_(which, seen)] if self.gram else self.X[which]
        return np.column_stack([X, self.twin[which]]) if self.numbered else X

    def new(self, X: np.ndarray) -> np.ndarray:
        """Kernel inputs of items that are not in the catalogue, from their features."""
        X = self.scaling(X)
        return np.column_stack([X, np.full(len(X), -1.0)]) if self.numbered else X

    def covariance(self, kernel: Kernel, which: np.ndarray) -> np.ndarray:
        """Prior covariance among some items."""
        return kernel(self.inputs(which, which))

    def variances(self, kernel: Kernel, which: np.ndarray) -> np.ndarray:
        """Prior variance of some items."""
        if self.gram:  # a kernel of given covariances knows no variance but its diagonal's
            return np.diagonal(self.covariance(kernel, which))
        return kernel.diag(self.inputs(which, which))

    def differences(self, kernel: Kernel, which: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Prior variances of differences between items ``which[place]``, shape (m,)."""
        if self.gram:
            K = self.covariance(kernel, which)
            return np.diagonal(K)[place].sum(axis=1) - 2.0 * K[place[:, 0], place[:, 1]]
        own = self.variances(kernel, which)[place].sum(axis=1)
        return own - 2.0 * paired(kernel, self.inputs(which, which), place)


def paired(kernel: Kernel, Z: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Prior covariance of the two inputs of each pair ``Z[place]``, shape (m,)."""
    # A kernel gives whole blocks; narrow ones waste little.
    blocks = gen_batches(len(place), _BLOCK)
    found = [np.diagonal(kernel(*Z[place[block].T])) for block in blocks]
    return np.concatenate([np.zeros(0), *found])


def _read(items: Any, inputs: str, largest: int | None) -> np.ndarray:
    if items is None:
        if largest is None:
            raise ValueError("there are no pairs, so nothing says how many items there are.")
        return np.empty((largest + 1, 0))
    if isinstance(items, Integral):
        if items < 1:
            raise ValueError(f"items={items} is a count of items; wanted 1 or more.")
        return np.empty((int(items), 0))
    finite = "allow-nan" if inputs == "ratings" else True
    X = check_array(items, dtype=np.float64, ensure_all_finite=finite, input_name="items")
    if inputs == "gram" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"items has shape {X.shape}, but with kernel='precomputed' it is the (n, n) matrix "
            "of covariances between all items; pass that, or a kernel of features."
        )
    return X


# ----------------------------------------------------------------
# Who answered, and on which scale: the parts of the likelihood.


@dataclass(frozen=True, eq=False)
class Panel:
    """The judges (None: one, unnamed) and the order of the levels of ratings (None: none).

    The likelihood has a part for each judge, then one for ratings.
    """

    judges: np.ndarray | None
    order: _levels.Order | None

    @classmethod
    def of(cls, judges: Any, labels: Any, levels: Any) -> Panel:
        """From the columns of the data."""
        try:
            order = None if labels is None else _levels.resolve(labels, levels)
        except ValueError as error:
            raise ValueError(f"in ratings, {error}") from None
        if order is not None and order.guessed:
            raise ValueError(
                f"the ratings {order.levels.tolist()} are text without an order; state it with "
                "`levels=[...]`, lowest first."
            )
        return cls(None if judges is None else np.unique(np.asarray(judges)), order)

    @property
    def n_judges(self) -> int:
        return 1 if self.judges is None else len(self.judges)

    def places(self, judges: Any, m: int) -> np.ndarray:
        """Number of the judge of each of m answers."""
        if (judges is None) != (self.judges is None):
            raise ValueError(
                "judges must be named either for all answers, in fit and in update, or for "
                "none of them."
            )
        if self.judges is None:
            return np.zeros(m, dtype=int)
        given = np.asarray(judges)
        if given.shape != (m,):
            raise ValueError(
                f"judges has shape {given.shape}, but there are {m} pairs; name one for each."
            )
        return np.array([self.place(judge) for judge in given], dtype=int)

    def place(self, judge: Any) -> int:
        """Number of one judge."""
        known = [] if self.judges is None else self.judges.tolist()
        judge = judge.item() if hasattr(judge, "item") else judge
        if judge not in known:
            who = known or "one, unnamed"
            raise ValueError(f"there is no judge {judge!r}; the model was fitted to {who}.")
        return known.index(judge)

    def rank(self, labels: Any) -> np.ndarray:
        """Ratings as levels from 0."""
        assert self.order is not None
        return self.order.encode(labels)

    def likelihood(
        self, model: Any, part: np.ndarray, level: np.ndarray, weight: np.ndarray
    ) -> Likelihood:
        """Where learning starts: every judge alike, thresholds of ratings from frequencies."""
        noise = float(model.noise)
        # A tie is where a judge's noise decides; each further grade is one noise further.
        steps = noise * np.concatenate([[0.5] * model.ties, np.ones(model.grades - 1)])
        one = Symmetric.of(steps, ties=model.ties, sigma=noise, link=model.link)
        parts: list[Ordinal] = [one] * self.n_judges
        if self.order is not None:
            rated = part == self.n_judges
            counts = np.bincount(level[rated], weight[rated], self.order.n_levels) + 0.5
            share = np.cumsum(counts)[:-1] / counts.sum()
            thresholds = np.sqrt(1.0 + noise**2) * ndtri(share)
            parts.append(Ordinal(thresholds, noise, model.link))
        return parts[0] if len(parts) == 1 else Several(tuple(parts), part)


def check_ratings(ratings: Any) -> tuple[Any, Any]:
    """Items and labels of ``ratings=(items, labels)``; two times None without."""
    if ratings is None:
        return None, None
    if not (isinstance(ratings, (tuple, list)) and len(ratings) == 2):
        raise ValueError(
            "ratings must be a pair (items, levels): the numbers of the items that were rated, "
            "and the level that each got."
        )
    items, labels = ratings
    if np.ndim(items) != 1 or len(items) != len(labels) or not len(items):
        raise ValueError(
            f"ratings has {np.size(items)} items and {len(labels)} levels; wanted one level "
            "for each of one item or more."
        )
    return items, labels
