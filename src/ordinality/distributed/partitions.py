"""Rows in partitions: loaded where they are used, checked, summarised, sampled.

A partition is a task that loads rows: a range of a file, a row group, a block of a Dask
collection. It is never sent from this process, so that a worker that takes the place of a lost
one can load it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from os import PathLike
from typing import Any

import numpy as np

from ..levels import Order, as_labels, order_of
from .cluster import computed, current_client, dask_module, persisted

__all__ = [
    "Part",
    "PartSummary",
    "PartitionedRows",
    "drawn_part",
    "encoded",
    "encoded_part",
    "loaded_part",
    "mapped",
    "sampled",
    "summarised",
    "summed",
]

_BRANCHES = 8  # of the tree by which sums are added
_MOST_LEVELS = 1000  # more are numbers, not levels; all would be sent to one process


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one partition that have a weight above zero."""

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,), labels; ranks once they are encoded
    weights: np.ndarray  # (n,)
    carried: tuple[Any, ...] | None = None  # the order of the labels, if their type has one


@dataclass(frozen=True, eq=False)
class PartSummary:
    """What has to be known of all rows before a fit: numbers of labels, moments of features."""

    rows: int
    weight: float
    centre: np.ndarray  # (d,), weighted mean of the features
    spread: np.ndarray  # (d,), standard deviation
    labels: np.ndarray  # distinct labels
    counts: np.ndarray  # rows of each
    totals: np.ndarray  # weight of each
    carried: tuple[Any, ...] | None

    @classmethod
    def of(cls, part: Part) -> PartSummary:
        """The summary of one partition."""
        d, n, w = part.X.shape[1], len(part.y), part.weights
        if not n:
            none, zero = np.empty(0), np.zeros(d)
            return cls(0, 0.0, zero, zero, part.y, none, none, part.carried)
        centre = np.average(part.X, axis=0, weights=w)
        reach = np.max(np.abs(part.X - centre), axis=0)
        unit = np.where(reach > 0, reach, 1.0)  # squares of 1e200 overflow
        squares = np.average(((part.X - centre) / unit) ** 2, axis=0, weights=w)
        labels, at = np.unique(part.y, return_inverse=True)
        if len(labels) > _MOST_LEVELS:
            raise ValueError(
                f"y has more than {_MOST_LEVELS} distinct labels, such as "
                f"{labels[0].item()!r} and {labels[1].item()!r}; cut it into levels first, for "
                "instance with dask.array.digitize."
            )
        return cls(
            n, float(w.sum()), centre, unit * np.sqrt(squares), labels,
            np.bincount(at), np.bincount(at, w), part.carried,
        )  # fmt: skip

    def plus(self, other: PartSummary) -> PartSummary:
        """The summary of both."""
        if len(self.centre) != len(other.centre):
            raise ValueError(
                f"one partition has {len(self.centre)} features and another "
                f"{len(other.centre)}; all partitions need the same columns."
            )
        if not other.rows:
            return replace(self, carried=self.carried or other.carried)
        if not self.rows:
            return other.plus(self)
        if self.carried != other.carried:
            raise ValueError(
                "the labels of two partitions have different categories, "
                f"{_short(self.carried)} and {_short(other.carried)}; give all partitions the "
                "same, or make the labels text and state their order with `levels`."
            )
        if (self.labels.dtype.kind == "U") != (other.labels.dtype.kind == "U"):
            raise ValueError(
                f"one partition has the label {self.labels[0].item()!r} and another "
                f"{other.labels[0].item()!r}; write all labels as text or all as numbers."
            )
        both = np.concatenate([self.labels, other.labels])
        labels, at = np.unique(both, return_inverse=True)
        return PartSummary(
            self.rows + other.rows, self.weight + other.weight, *_pooled(self, other), labels,
            np.bincount(at, np.concatenate([self.counts, other.counts])),
            np.bincount(at, np.concatenate([self.totals, other.totals])), self.carried,
        )  # fmt: skip

    @property
    def typed_labels(self) -> Any:
        """The distinct labels, in a container that carries their order if they had one."""
        if self.carried is None:
            return self.labels
        import pandas as pd

        return pd.Categorical(self.labels, categories=list(self.carried), ordered=True)


def _pooled(a: PartSummary, b: PartSummary) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of two sets of rows together."""
    of_a, of_b = a.weight / (a.weight + b.weight), b.weight / (a.weight + b.weight)
    centre = of_a * a.centre + of_b * b.centre
    parts = (
        np.sqrt(share) * np.hypot(one.spread, one.centre - centre)
        for share, one in ((of_a, a), (of_b, b))
    )
    return centre, np.hypot(*parts)  # without squares that overflow


def _short(values: tuple[Any, ...] | None) -> str:
    return "none" if values is None else str(list(values))


@dataclass(frozen=True, eq=False)
class PartitionedRows:
    """Rows of a table in partitions, each loaded by the worker that needs it.

    Made by `from_collections`, `from_npy` or `from_loaders`. Work goes to the Dask client that
    is current when they are made.

    Parameters
    ----------
    parts : list of dask.delayed.Delayed
        A task for each partition.
    n_features : int or None
        Number of features, if it is known without loading.
    names : list or None
        Names of the features.
    client : distributed.Client or None
        Where the work is done; None is this process.

    Examples
    --------
    >>> import dask
    >>> import dask.array as da
    >>> from ordinality.distributed import PartitionedRows
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> len(PartitionedRows.from_collections(X, y))
    4
    """

    parts: list[Any] = field(repr=False)
    n_features: int | None = None
    names: list[Any] | None = None
    client: Any = field(default_factory=current_client, repr=False)

    def __len__(self) -> int:
        return len(self.parts)

    @classmethod
    def from_collections(
        cls, X: Any, y: Any, sample_weight: Any = None, *, missing: bool = False
    ) -> PartitionedRows:
        """From Dask arrays, or a data frame and a series.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame of shape (n, d)
            Features. Numbers of rows in the blocks need not be known.
        y : dask.array.Array or dask.dataframe.Series of shape (n,)
            Labels, in the same partitions as X.
        sample_weight : dask.array.Array or dask.dataframe.Series, default=None
            Weights of the rows.
        missing : bool, default=False
            Whether X may hold missing values (NaN).

        Returns
        -------
        PartitionedRows
            A partition for each block of rows of X.
        """
        others = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
        for name, given in {"X": X, **others}.items():
            _check_collection(name, given)
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; wanted two, rows and features.")
        names, check = _names(X), dask_module().delayed(_checked)
        d = int(X.shape[1]) if names is None else len(names)
        columns = _matching_blocks(X, others)
        parts = [
            check(i, x, y, w[0] if w else None, d, names, missing)
            for i, (x, y, *w) in enumerate(zip(*columns, strict=True))
        ]
        return cls(parts, d, names)

    @classmethod
    def from_npy(
        cls,
        X: str | PathLike[str],
        y: str | PathLike[str],
        rows: int = 100_000,
        sample_weight: str | PathLike[str] | None = None,
    ) -> PartitionedRows:
        """From files of NumPy, of which each worker maps the rows that it needs.

        Parameters
        ----------
        X : path
            File with an array of shape (n, d), on a file system that all workers see.
        y : path
            File with labels, shape (n,).
        rows : int, default=100000
            Rows of a partition.
        sample_weight : path, default=None
            File with weights, shape (n,).

        Returns
        -------
        PartitionedRows
            Ranges of rows.
        """
        files = [X, y] if sample_weight is None else [X, y, sample_weight]
        lengths = [len(np.load(file, mmap_mode="r")) for file in files]
        if len(set(lengths)) > 1:
            raise ValueError(f"the files have {lengths} rows; all need the same number.")
        ranges = [
            (first, min(first + rows, lengths[0])) for first in range(0, lengths[0], rows)
        ]
        return cls.from_loaders([(_mapped, *span, *map(str, files)) for span in ranges])

    @classmethod
    def from_loaders(cls, loaders: Iterable[Sequence[Any]]) -> PartitionedRows:
        """From functions that load rows.

        Parameters
        ----------
        loaders : iterable of tuple
            ``(function, *arguments)`` for each partition; the function returns X and y, or X, y
            and weights. It must return the same rows whenever and wherever it is called.

        Returns
        -------
        PartitionedRows
            A partition for each loader.
        """
        delayed = dask_module().delayed
        parts = [
            delayed(loaded_part)(i, function, *arguments)
            for i, (function, *arguments) in enumerate(loaders)
        ]
        if not parts:
            raise ValueError("there are no partitions; pass at least one loader.")
        return cls(parts)

    def persist(self) -> PartitionedRows:
        """Load the rows and keep them in the memory of the workers.

        Dask writes to disk what does not fit, and loads again what is lost.

        Returns
        -------
        PartitionedRows
            The same rows, loaded once.
        """
        return replace(self, parts=persisted(self.parts, self.client))


def mapped(
    parts: PartitionedRows, function: Callable[..., Any], *arguments: Any, each: Any = None
) -> list[Any]:
    """Tasks ``function(place, part, *arguments)`` for each partition, with one of ``each``."""
    delayed = dask_module().delayed
    shared = [delayed(value, traverse=False) for value in arguments]
    own = [()] * len(parts) if each is None else [(one,) for one in each]
    call = delayed(function)
    return [call(i, part, *shared, *own[i]) for i, part in enumerate(parts.parts)]


def summarised(parts: PartitionedRows) -> PartSummary:
    """Numbers of rows and labels, and moments of the features, of all rows."""
    total = summed(mapped(parts, _summarised), PartSummary.plus)
    (found,) = computed([total], parts.client)
    return found


def encoded(
    parts: PartitionedRows,
    order: Order,
    centre: np.ndarray,
    spread: np.ndarray,
    factors: np.ndarray,
) -> PartitionedRows:
    """Standardised rows, with ranks for labels and weights times the factor of each level."""
    return replace(parts, parts=mapped(parts, encoded_part, order, centre, spread, factors))


def sampled(
    parts: PartitionedRows, shares: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random rows of encoded partitions, those of each level with a probability of its own."""
    drawn = computed(mapped(parts, drawn_part, shares, seed), parts.client)
    X, y, weights = (np.concatenate(column) for column in zip(*drawn, strict=True))
    return X, y, weights


def summed(tasks: list[Any], plus: Callable[[Any, Any], Any]) -> Any:
    """A task that adds up the results of tasks, by a tree that depends on their number alone.

    The order of the additions, and so the rounding, does not depend on which task is first.
    """
    add = dask_module().delayed(_added)
    while len(tasks) > 1:
        groups = [tasks[at : at + _BRANCHES] for at in range(0, len(tasks), _BRANCHES)]
        tasks = [add(plus, group) for group in groups]
    return tasks[0]


def _added(plus: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    return reduce(plus, parts)


def _check_collection(name: str, given: Any) -> None:
    if not type(given).__module__.startswith(("dask.array", "dask.dataframe")):
        raise TypeError(
            f"{name} is a {type(given).__name__}; pass X, y and weights as Dask arrays, or as "
            "columns of one Dask data frame."
        )


def _matching_blocks(X: Any, others: dict[str, Any]) -> list[list[Any]]:
    """Tasks of the blocks of rows of each collection, as many of each."""
    columns = [_row_blocks(X)]
    for name, part in others.items():
        columns.append(_row_blocks(_aligned(part, X, name)))
        if len(columns[-1]) != len(columns[0]):
            raise ValueError(
                f"{name} has {len(columns[-1])} partitions and X {len(columns[0])}; split them "
                "alike, for instance by taking both from one data frame."
            )
    return columns


def _row_blocks(collection: Any) -> list[Any]:
    """Tasks of the blocks of rows of a Dask collection."""
    if hasattr(collection, "simplify"):
        # Not `optimize`: it joins small partitions of X and of y differently. To read the
        # columns that are wanted and no others, `simplify` is enough.
        return list(collection.simplify().to_delayed(optimize_graph=False))
    if len(collection.chunks) == 2:
        collection = collection.rechunk({1: -1})  # whole rows
    return list(np.ravel(collection.to_delayed()))


def _aligned(part: Any, X: Any, name: str) -> Any:
    """A Dask array with the blocks of X, where both are arrays of known sizes."""
    if part.ndim != 1:
        raise ValueError(f"{name} has {part.ndim} dimensions; wanted one.")
    if not (hasattr(part, "chunks") and hasattr(X, "chunks")):
        return part
    rows, own = X.chunks[0], part.chunks[0]
    if np.any(np.isnan(rows)) or np.any(np.isnan(own)) or rows == own:
        return part
    if sum(rows) != sum(own):
        raise ValueError(f"{name} has {sum(own)} rows and X {sum(rows)}; wanted as many.")
    return part.rechunk((rows,))


def _names(X: Any) -> list[Any] | None:
    """Names of the columns of a data frame."""
    return list(X.columns) if hasattr(X, "columns") else None


def _mapped(first: int, last: int, *files: str) -> list[np.ndarray]:
    """A range of rows of some files of NumPy."""
    return [np.array(np.load(file, mmap_mode="r")[first:last]) for file in files]


def loaded_part(place: int, function: Callable[..., Any], *arguments: Any) -> Part:
    """What a loader loads, checked."""
    X, y, *weights = function(*arguments)
    names = _names(X)
    return _checked(place, X, y, weights[0] if weights else None, np.shape(X)[-1], names)


def _checked(
    place: int,
    X: Any,
    y: Any,
    weights: Any,
    d: int,
    names: list[Any] | None,
    missing: bool = False,
) -> Part:
    """The rows of a partition as arrays; refuses what cannot be learnt from."""
    if (found := _names(X)) != names:
        raise ValueError(
            f"partition {place} has the columns {found}, but {names} were declared; all "
            "partitions need the same columns in the same order."
        )
    given = {"y": y} if weights is None else {"y": y, "sample_weight": weights}
    for name, column in given.items():
        _check_matching(place, X, name, column)
    features = _features(place, X, d, missing)
    w = np.ones(len(features)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not np.all((w >= 0) & (w < np.inf)):
        raise ValueError(
            f"sample_weight holds negative, infinite or missing values in partition {place}; "
            "use 0 to drop a row."
        )
    labels, carried = _labels(y, place)
    kept = slice(None) if np.all(w > 0) else w > 0
    return Part(features[kept], labels[kept], w[kept], carried)


def _check_matching(place: int, X: Any, name: str, column: Any) -> None:
    """Refuse a column whose rows are not those of X."""
    if np.shape(column) != (len(X),):
        raise ValueError(
            f"partition {place} has {len(X)} rows in X, but {name} has shape "
            f"{np.shape(column)}; split {name} as X is split."
        )
    of_frames = hasattr(X, "iloc") and hasattr(column, "iloc")
    if of_frames and not X.index.equals(column.index):
        raise ValueError(
            f"partition {place} of {name} has another index than that of X; take both from one "
            "data frame."
        )


def _features(place: int, X: Any, d: int, missing: bool) -> np.ndarray:
    """Features of a partition as finite or, if allowed, missing numbers, shape (n, d)."""
    try:
        features = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as wrong:
        raise ValueError(
            f"partition {place} of X holds values that are not numbers ({wrong}); encode "
            "text as numbers first."
        ) from None
    if features.ndim != 2 or features.shape[1] != d:
        raise ValueError(
            f"partition {place} of X has shape {features.shape}; wanted (rows, {d})."
        )
    if not np.all(np.isfinite(features) | (missing & np.isnan(features))):
        what = "infinite" if missing else "missing or infinite"
        raise ValueError(
            f"partition {place} of X holds {what} values; fill them in or drop those rows."
        )
    return features


def _labels(y: Any, place: int) -> tuple[np.ndarray, tuple[Any, ...] | None]:
    """Labels of a partition as an array, and the order that their type carries."""
    if not len(y):
        return np.empty(0), None
    try:
        labels = as_labels(y)
    except ValueError as wrong:
        raise ValueError(f"partition {place}: {wrong}") from None
    order = order_of(y.head(1)) if hasattr(y, "head") else None
    if order is None or order.source != "carried":
        return labels, None
    return labels, tuple(order.levels.tolist())


def _summarised(place: int, part: Part) -> PartSummary:
    return PartSummary.of(part)


def encoded_part(
    place: int,
    part: Part,
    order: Order,
    centre: np.ndarray,
    spread: np.ndarray,
    factors: np.ndarray,
) -> Part:
    """A partition with standardised features, ranks and factored weights."""
    ranks = order.encode(part.y) if len(part.y) else np.empty(0, dtype=np.int64)
    return Part((part.X - centre) / spread, ranks, part.weights * factors[ranks])


def drawn_part(
    place: int, part: Part, shares: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random rows of a partition."""
    taken = np.random.default_rng([seed, place]).random(len(part.y)) < shares[part.y]
    return part.X[taken], part.y[taken], part.weights[taken]
