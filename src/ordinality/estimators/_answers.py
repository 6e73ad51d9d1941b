"""What people said about items, as observations: checked, turned one way round, merged.

"Left is better" and, with the sides swapped, "right is worse" are one statement. All are kept
with the lower item number first, and a statement made several times is kept once, with a
weight; so a fit does not depend on sides or repetitions, to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..gp.design import Rows

__all__ = ["Answers", "check_pairs", "check_places", "grades_of", "levels_of"]


@dataclass(frozen=True, eq=False)
class Answers:
    """Distinct statements about items; ``second`` is -1 where one item was rated.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([[3, 1], [1, 3], [1, 2]])
    >>> answers = Answers.of(np.zeros(3, int), pairs, np.array([2, 0, 1]), np.ones(3), 3)
    >>> answers.items, answers.level, answers.weight
    (array([[1, 2],
           [1, 3]]), array([1, 0]), array([1., 2.]))
    """

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
