"""Paired comparisons and ratings of items, as arrays.

`Items` are what is compared, as a kernel takes them. `Answers` are what was said about them,
each distinct statement once with its weight, so that a fit depends neither on the order of the
answers nor on which item of a pair was named first. `Covariates` are what the presentation of a
pair adds: the side, or how much longer the left text is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from numbers import Integral
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

from .. import levels as _levels
from ..gp.design import Combinations
from ..kernels.base import Kernel
from .fitting import Scaling

__all__ = [
    "Answers",
    "Covariates",
    "Items",
    "NamedItems",
    "all_different",
    "answer_levels",
    "check_item_numbers",
    "check_pairs",
    "check_ratings",
    "difference_variances",
    "encode_answers",
    "encode_judges",
    "named_judges",
    "rating_order",
]

_MOST = 1e100  # of a covariate: squares of what is larger, or smaller, are no numbers
_BLOCK = 200  # pairs whose covariances are computed at once, as the diagonal of a block


class NamedItems(NamedTuple):
    """Names of items, if they have any, and what is left of ``items`` without them."""

    names: np.ndarray | None  # (n,), all different
    items: Any  # as `Items.of` takes them

    @classmethod
    def of(cls, items: Any, key: Any, *said: Any) -> NamedItems:
        """Read the names of ``items``; without items, those that were ``said``.

        ``items`` may be a list of names, or a data frame whose column ``key`` has them.
        """
        if key is not None:
            return cls._of_frame(items, key)
        if items is None:
            given = [np.asarray(part).ravel() for part in said if np.size(part)]
            if not any(part.dtype.kind in "OUS" for part in given):
                return cls(None, None)
            names = np.unique(np.concatenate([part.astype(str) for part in given]))
            return cls(names, len(names))
        if np.ndim(items) == 1 and not hasattr(items, "columns"):
            names = np.asarray(items)
            if names.dtype.kind in "OUS" and len(names):
                return cls(all_different(names.astype(str), "items"), len(names))
        return cls(None, items)

    @classmethod
    def _of_frame(cls, items: Any, key: Any) -> NamedItems:
        try:
            frame = nw.from_native(items, eager_only=True)
        except TypeError:
            raise TypeError(
                f"key={key!r} names a column, but items is a {type(items).__name__}; pass a "
                "pandas or polars data frame as `items`, or leave `key` out."
            ) from None
        if key not in frame.columns:
            raise ValueError(
                f"items has no column {key!r}; its columns are {', '.join(frame.columns)}."
            )
        column = frame[key]
        if column.is_null().any():
            raise ValueError(f"column {key!r} of items has an empty cell; name every item.")
        if column.dtype.is_numeric():
            raise ValueError(
                f"column {key!r} of items holds numbers, which cannot be told from row "
                "numbers; make them text."
            )
        names = all_different(column.to_numpy().astype(str), key)
        rest = frame.drop(key)
        text = [name for name in rest.columns if not rest[name].dtype.is_numeric()]
        if text:
            raise ValueError(
                f"column {text[0]!r} of items is not of numbers; encode it first, or drop it."
            )
        return cls(names, rest.to_numpy() if rest.columns else len(names))

    def numbers(self, values: Any, what: str) -> Any:
        """Numbers of items that are given by name; of items without names, as they are."""
        array = np.asarray(values)
        if self.names is None or not array.size:
            return values
        if array.dtype.kind in "iuf":
            return values  # numbers are row numbers
        given, place = np.unique(array.astype(str), return_inverse=True)
        known = {name: i for i, name in enumerate(self.names.tolist())}
        found = [known.get(name, -1) for name in given.tolist()]
        if -1 in found:
            raise ValueError(self._unknown(given[found.index(-1)], what))
        return np.array(found, dtype=np.intp)[place].reshape(array.shape)

    def _unknown(self, name: Any, what: str) -> str:
        assert self.names is not None
        near = get_close_matches(str(name), [str(known) for known in self.names], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "use the names that `items` has."
        return f"{what} name {name.item()!r}, which is not one of the items; {hint}"


def all_different(names: np.ndarray, what: str) -> np.ndarray:
    """Names of items, refused where two are equal."""
    found, count = np.unique(names, return_counts=True)
    if len(found) < len(names):
        twice = found[np.argmax(count > 1)].item()
        raise ValueError(f"{what} names {twice!r} twice; every item needs a name of its own.")
    return names


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

    def with_more(self, items: Any) -> Items:
        """These items and others after them, scaled in the same way."""
        if self.gram:
            raise ValueError(
                "the items have covariances of their own, so that none can be added; fit the "
                "model to the covariances of all items."
            )
        more = _read(items, "features")
        if more.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"the new items have {more.shape[1]} features, but the others have "
                f"{self.X.shape[1]}; pass the same columns in the same order."
            )
        X = np.concatenate([self.X, self.scaling(more)])
        twin = np.arange(len(X))
        if not self.numbered:
            _, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
            twin = first[place.ravel()]
        return replace(self, X=X, twin=twin)

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
class Covariates:
    """Differences in presentation, left minus right, in units of their root mean square.

    Not less their mean: a pair shown the other way round has the opposite differences.
    """

    names: np.ndarray  # (c,)
    scale: np.ndarray  # (c,), one for a covariate that is always zero
    is_named: bool  # whether the names came with the values

    @classmethod
    def of(
        cls, given: Any, m: int, weight: np.ndarray, standardize: bool, spread: Any = None
    ) -> Covariates:
        """Names and scales of the covariates of m answers; None has none."""
        if given is None:
            none = cls(np.empty(0, dtype=str), np.empty(0), False)
            return none._spread(spread)
        names, Z = _columns(given)
        own = np.array([f"x{k}" for k in range(Z.shape[1])])
        own = own if names is None else all_different(names, "covariates")
        found = cls(own, np.ones(Z.shape[1]), names is not None)
        found.checked(given, m)
        if standardize and weight.any():
            scale = np.sqrt(weight @ Z**2 / weight.sum())
            found = replace(found, scale=np.where(scale > 1.0 / _MOST, scale, 1.0))
        return found._spread(spread)

    def _spread(self, spread: Any) -> Covariates:
        """With standard deviations before any answer, by name, of one unit of some."""
        scale = self.scale.copy()
        for name, sd in ({} if spread is None else spread).items():
            if str(name) not in self.names.tolist():
                raise ValueError(
                    f"covariate_spread names {str(name)!r}, which is not among the covariates; "
                    "pass names of their columns."
                )
            if not 1.0 / _MOST < sd < _MOST:
                raise ValueError(
                    f"covariate_spread has {sd!r} for {str(name)!r}; wanted a number "
                    "above zero."
                )
            scale[self.names == str(name)] = 1.0 / sd
        return replace(self, scale=scale)

    def __len__(self) -> int:
        return len(self.names)

    def checked(self, given: Any, m: int) -> np.ndarray:
        """Differences of m pairs as they are, shape (m, c); None is no difference in any."""
        if given is None:
            return np.zeros((m, len(self)))
        if not len(self):
            raise ValueError(
                "covariates are given, but the model was fitted without any; pass those of "
                "every answer to fit."
            )
        names, Z = _columns(given)
        if self.is_named and names is not None and not np.array_equal(names, self.names):
            raise ValueError(
                f"covariates has the columns {', '.join(names)}, but the model was fitted to "
                f"{', '.join(self.names)}; pass the same columns in the same order."
            )
        if Z.shape != (m, len(self)):
            raise ValueError(
                f"covariates has shape {Z.shape}, but there are {m} pairs and "
                f"{len(self)} covariates; pass a row for each pair, left minus right."
            )
        odd = np.argwhere(~(np.abs(Z) < _MOST))
        if len(odd):
            row, column = odd[0]
            raise ValueError(
                f"covariates has {Z[row, column]} in row {row} of {str(self.names[column])!r}; "
                "fill it in, or leave that answer out."
            )
        return Z

    def scaled(self, given: Any, m: int) -> np.ndarray:
        """Differences of m pairs in units of their scales; see `checked`."""
        return self.checked(given, m) / self.scale


def _columns(given: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """Names of columns, if there are any, and the columns as numbers."""
    own = list(given) if isinstance(given, Mapping) else getattr(given, "columns", None)
    names = None if own is None else np.array([str(name) for name in own])
    if isinstance(given, Mapping) and given:
        given = np.column_stack(list(given.values()))
    try:
        Z = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "covariates hold a value that is not a number; encode words as numbers first."
        ) from None
    if Z.ndim != 2 or not Z.shape[1]:
        raise ValueError(
            f"covariates has shape {Z.shape}; wanted (m, c), a row for each pair and a column "
            "for each covariate."
        )
    return names, Z


@dataclass(frozen=True, eq=False)
class Answers:
    """Distinct statements about items; the second item is -1 where the first was rated."""

    part: np.ndarray  # (m,), which likelihood: a judge's, or after those that of ratings
    items: np.ndarray  # (m, 2), the smaller number first
    level: np.ndarray  # (m,)
    weight: np.ndarray  # (m,), above zero
    covariates: np.ndarray  # (m, c), of the smaller number less those of the other

    @classmethod
    def of(
        cls,
        part: np.ndarray,
        pairs: np.ndarray,
        level: np.ndarray,
        weight: np.ndarray,
        n_levels: int,
        covariates: np.ndarray | None = None,
    ) -> Answers:
        """Comparisons, given as levels of the first item over the second."""
        swapped = pairs[:, 0] > pairs[:, 1]
        items = np.where(swapped[:, None], pairs[:, ::-1], pairs)
        level = np.where(swapped, n_levels - 1 - level, level)
        Z = np.zeros((len(part), 0)) if covariates is None else covariates
        return cls(part, items, level, weight, np.where(swapped[:, None], -Z, Z)).merged()

    @classmethod
    def ratings(cls, part: int, items: np.ndarray, level: np.ndarray, c: int = 0) -> Answers:
        """Levels given to single items, among answers with c covariates."""
        pairs = np.column_stack([items, np.full(len(items), -1)])
        one, none = np.ones(len(items)), np.zeros((len(items), c))
        return cls(np.full(len(items), part), pairs, level, one, none).merged()

    def merged(self) -> Answers:
        """Each statement once, in a fixed order; those of weight zero are dropped."""
        said = np.flatnonzero(self.weight > 0)
        # By weight: the rounding of a sum depends on the order.
        said = said[np.argsort(self.weight[said], kind="stable")]
        keys, place = np.unique(self.keys[said], axis=0, return_inverse=True)
        weight = np.bincount(place.ravel(), self.weight[said], len(keys))
        # Without statements `bincount` counts in whole numbers.
        return Answers._of_keys(keys, weight.astype(np.float64))

    @classmethod
    def _of_keys(cls, keys: np.ndarray, weight: np.ndarray) -> Answers:
        whole = keys[:, :4].astype(np.intp)
        Z = keys[:, 4:].astype(np.float64)
        return cls(whole[:, 0], whole[:, 1:3], whole[:, 3], weight, Z)

    @property
    def keys(self) -> np.ndarray:
        """What was said, a row (part, first item, second item, level, covariates) each."""
        whole = np.column_stack([self.part, self.items, self.level])
        if not self.covariates.shape[1]:
            return whole
        return np.column_stack([whole, self.covariates + 0.0])  # no minus zero

    def joined(self, others: Answers) -> Answers:
        """These and others."""
        keys = np.concatenate([self.keys, others.keys])
        return Answers._of_keys(keys, np.concatenate([self.weight, others.weight])).merged()

    def none(self) -> Answers:
        """No statements."""
        return Answers._of_keys(self.keys[:0], self.weight[:0])

    def judge_weights(self, n_judges: int) -> np.ndarray:
        """Total weight of the comparisons of each judge."""
        return np.bincount(self.part, self.weight, n_judges)[:n_judges].astype(np.float64)

    def seen(self) -> np.ndarray:
        """Numbers of the items of which anything was said, ascending."""
        return np.unique(self.items[self.items >= 0])

    def design(self) -> Combinations:
        """What each statement sees of the utilities of `seen`, and then of coefficients."""
        seen, (m, c) = self.seen(), self.covariates.shape
        rated = self.items[:, 1] < 0
        index = np.searchsorted(seen, np.maximum(self.items, 0))  # -1 has weight 0, anywhere
        index = np.column_stack([index, np.tile(len(seen) + np.arange(c), (m, 1))])
        value = np.column_stack([np.ones(m), np.where(rated, 0.0, -1.0), self.covariates])
        return Combinations(index, value, len(seen) + c)

    def covariate_design(self) -> Combinations:
        """What each statement sees of the coefficients alone."""
        m, c = self.covariates.shape
        return Combinations(np.tile(np.arange(c), (m, 1)), self.covariates, c)

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
    """Pairs of different items, shape (m, 2); an empty list is no pairs."""
    shape = np.shape(pairs)
    if shape == (0,):
        return np.empty((0, 2), dtype=np.intp)
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


def named_judges(judges: Any, m: int) -> tuple[np.ndarray | None, bool]:
    """Names of the judges of m answers, sorted, and whether some answers have none.

    A judge is nobody where the name is None or NaN.
    """
    if judges is None:
        return None, m > 0
    names, nobody = _who(judges)
    return np.unique(names) if len(names) else None, bool(nobody.any())


def _who(judges: Any) -> tuple[np.ndarray, np.ndarray]:
    """Names of the judges who have one, in order, and which of all are nobody."""
    given = np.asarray(judges)
    nobody = np.zeros(given.shape, dtype=bool)
    if given.dtype.kind in "fO":
        nobody = np.array([one is None or one != one for one in given.flat], dtype=bool)
        nobody = nobody.reshape(given.shape)
    names = given[~nobody]
    # Without None among them the names have a type of their own again.
    return np.asarray(names.tolist()) if given.dtype.kind == "O" else names, nobody


def encode_judges(judges: Any, m: int, known: np.ndarray | None) -> np.ndarray:
    """Number of the judge of each of m answers; nobody comes after the ``known``."""
    number = {} if known is None else {name: k for k, name in enumerate(known.tolist())}
    place = np.full(m, len(number), dtype=int)
    if judges is None:
        return place
    names, nobody = _who(judges)
    if nobody.shape != (m,):
        raise ValueError(
            f"judges has shape {nobody.shape}, but there are {m} pairs; name one for each."
        )
    unlike = [name for name in names.tolist() if name not in number]
    if unlike:  # all were admitted, as text if some were
        raise ValueError(
            f"the judge {unlike[0]!r} is not text, but others are; name judges in one way."
        )
    place[~nobody] = [number[name] for name in names.tolist()]
    return place


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
    return np.asarray(items), labels


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
