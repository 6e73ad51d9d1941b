"""Data sets as arrays: inputs and targets with names, levels and source.

`load` reads a set of the data folder by the rules of its kind. Labels stay 1..K as published;
`Dataset.levels` says what they are called. Published partitions are read by `partitions`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .folder import find, read
from .inventory import INVENTORY, PAPERS, Entry

__all__ = ["Dataset", "encoded", "load"]

Array = NDArray[Any]
Columns = Mapping[str, Array]
Floats = NDArray[np.float64]

LOADABLE = tuple(entry for entry in INVENTORY if entry.kind != "partitions")


@dataclass(frozen=True, eq=False)
class Dataset:
    """One data set: what is known of each row, and what is to be learnt.

    Parameters
    ----------
    name : str
        Name of the set.
    kind : str
        ``"metric"``, ``"ordinal"``, ``"classes"``, ``"rankings"``, ``"comparisons"``,
        ``"ratings"`` or ``"table"``; `load` says what ``y`` is for each.
    X : ndarray of shape (n, d)
        Inputs, NaN where missing. Of comparisons: a row for each item.
    y : ndarray
        Targets.
    feature_names : tuple of str, length d
        What each column of ``X`` is.
    levels : tuple of str, default=()
        What labels 1..K are called, lowest first; or the labels that are ranked.
    items : tuple of str, default=()
        Of comparisons: what is compared.
    pairs : ndarray of int, shape (m, 2), optional
        Of comparisons: rows of ``X``; ``y`` says which was preferred.
    weight : ndarray of shape (n,), optional
        How many cases a row stands for.
    aside : mapping of str to ndarray, default={}
        Further columns, neither inputs nor target.
    description, source, licence : str, default=""
        What the set is, where it comes from, and on which terms.

    Examples
    --------
    >>> from ordinality.datasets import load_wine
    >>> wine = load_wine()
    >>> wine
    Dataset('wine', ordinal: 72 rows, 19 inputs, 5 levels)
    >>> wine.feature_names[:2], wine.levels
    (('temp=warm', 'contact=yes'), ('1', '2', '3', '4', '5'))
    """

    name: str
    kind: str
    X: Floats
    y: Array
    feature_names: tuple[str, ...]
    levels: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    pairs: Array | None = None
    weight: Floats | None = None
    aside: Mapping[str, Array] = field(default_factory=dict)
    description: str = ""
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "aside", MappingProxyType(dict(self.aside)))

    def repeated(self) -> Dataset:
        """The same set with a row for each case, where `weight` counts them.

        Returns
        -------
        Dataset
            Without weights.
        """
        if self.weight is None:
            return self
        counts = self.weight.astype(np.int64)
        if np.any(counts != self.weight):
            raise ValueError(
                f"{self.name!r} has weights that are not whole numbers; pass them to `fit` as "
                "`sample_weight`."
            )
        rows = np.repeat(np.arange(len(counts)), counts)
        aside = {name: column[rows] for name, column in self.aside.items()}
        if self.pairs is not None:
            return replace(
                self, y=self.y[rows], pairs=self.pairs[rows], weight=None, aside=aside
            )
        return replace(self, X=self.X[rows], y=self.y[rows], weight=None, aside=aside)

    def __repr__(self) -> str:
        rows = f"{len(self.y) if self.pairs is not None else len(self.X)} rows"
        of = {"ordinal": "levels", "rankings": "labels", "classes": "classes"}.get(self.kind)
        more = f", {len(self.levels)} {of}" if of else ""
        more += f", {len(self.items)} items" if self.items else ""
        inputs = f", {self.X.shape[1]} inputs" if self.X.shape[1] else ""
        return f"Dataset({self.name!r}, {self.kind}: {rows}{inputs}{more})"


def load(name: str) -> Dataset:
    """Read a set of the data folder.

    Numbers are inputs as they are, NaN where missing; text becomes indicators. Other columns
    are in ``aside``.

    ============  ============================================================================
    kind          ``y``
    ============  ============================================================================
    metric        (n,) values in original units
    ordinal       (n,) labels 1..K; ``levels`` says what they are called, lowest first
    classes       (n,) class labels as in the file; ``levels`` lists them sorted
    rankings      (n, L) position of each label, 1 for the best, NaN if it was not ranked
    comparisons   (m,) +1 where the first item of ``pairs`` won, -1 where the second did
    ratings       (m,) labels 1..K given by user ``X[:, 0]`` to item ``X[:, 1]``
    table         (0,): rows that other sets refer to
    ============  ============================================================================

    Parameters
    ----------
    name : str
        Name of a file without its ending, such as ``"abalone"``; with its folder where two
        files share it, as in ``"label_ranking/segment"``.

    Returns
    -------
    Dataset
        Its arrays are not shared with other calls.

    Examples
    --------
    >>> load("ordinal/era")  # doctest: +SKIP
    Dataset('ordinal/era', ordinal: 1000 rows, 4 inputs, 9 levels)
    >>> load("abalon")
    Traceback (most recent call last):
    ValueError: 'abalon' is not a data set of the inventory; did you mean 'abalone'?
    """
    named = [entry for entry in INVENTORY if name in (entry.key, entry.name)]
    if named and all(entry.kind == "partitions" for entry in named):
        raise ValueError(
            f"{name!r} holds published partitions; read it with partitions(name, kind)."
        )
    entry = find(name, among=LOADABLE)
    return _READERS[entry.kind](entry, read(entry))


def encoded(
    columns: Columns, leave_out: Collection[str] = (), nominal: Collection[str] = ()
) -> tuple[Floats, tuple[str, ...]]:
    """Columns as a matrix of numbers, and the name of each of its columns.

    Text, and the numbers of `nominal` columns, become indicators ``name=value``, one for each
    value in ascending order; of two values the first is left out. An empty cell is NaN among
    numbers and zero in all indicators.
    """
    parts: dict[str, Array] = {}
    for name, column in columns.items():
        if name in leave_out:
            continue
        numbers = column.dtype.kind == "f"
        if numbers and name not in nominal:
            parts[name] = column
            continue
        values = np.unique(column[~np.isnan(column)] if numbers else column[column != ""])
        for value in values[1:] if len(values) == 2 else values:
            parts[f"{name}={value:g}" if numbers else f"{name}={value}"] = column == value
    X = np.empty((len(next(iter(columns.values()))), len(parts)))
    for i, part in enumerate(parts.values()):
        X[:, i] = part
    return X, tuple(parts)


# ---------------------------------------------------------------- a reader for each kind


def _dataset(
    entry: Entry, columns: Columns, y: Array, drop: Collection[str], **more: Any
) -> Dataset:
    """A set whose inputs are all columns but those in `drop` and those aside."""
    X, names = encoded(columns, {*drop, *entry.aside}, entry.nominal)
    used = ", ".join(PAPERS[paper].partition(":")[0] for paper in entry.papers)
    fields = {
        "X": X,
        "feature_names": names,
        "levels": entry.levels,
        "aside": {name: columns[name].copy() for name in entry.aside},
        "description": entry.about + (f"; used by {used}" if used else ""),
        "source": entry.origin.where,
        "licence": entry.origin.licence,
    }
    return Dataset(entry.key, entry.kind, y=y, **{**fields, **more})


def _metric(entry: Entry, columns: Columns) -> Dataset:
    return _dataset(entry, columns, columns["target"].copy(), ["target"])


def _ordinal(entry: Entry, columns: Columns) -> Dataset:
    weight = columns["weight"].copy() if "weight" in entry.aside else None
    y = columns["target"].astype(np.int64)
    return _dataset(entry, columns, y, ["target"], weight=weight)


def _classes(entry: Entry, columns: Columns) -> Dataset:
    target = columns["target"]
    y = target.astype(np.int64) if target.dtype.kind == "f" else target.copy()
    levels = tuple(map(str, np.unique(y).tolist()))
    return _dataset(entry, columns, y, ["target"], levels=levels)


def _rankings(entry: Entry, columns: Columns) -> Dataset:
    if entry.name.startswith("sushi3"):
        return _sushi(entry, columns)
    ranks = [name for name in columns if name.startswith("rank_")]
    y = np.column_stack([columns[name] for name in ranks])
    labels = tuple(name.removeprefix("rank_") for name in ranks)
    return _dataset(entry, columns, y, ranks, levels=labels)


def _sushi(entry: Entry, columns: Columns) -> Dataset:
    """Orders as ranks of items; the inputs of a row describe who ranked them."""
    items, users = read(find("sushi3_items")), find("sushi3_users")
    order = np.column_stack([columns[f"rank{i}"] for i in range(1, 11)]).astype(np.int64)
    if entry.name == "sushi3a_orders":
        of_a = items["id_in_set_a"]
        names = {int(i): str(n) for i, n in zip(of_a, items["name_en"], strict=True) if i >= 0}
    else:
        names = dict(enumerate(items["name_en"].tolist()))
    y = np.full((len(order), len(names)), np.nan)
    np.put_along_axis(y, order, np.arange(1.0, 11.0)[None, :], axis=1)
    labels = tuple(names[i] for i in sorted(names))
    about = _dataset(users, read(users), y, (), levels=labels)
    return replace(about, name=entry.key, kind=entry.kind, description=entry.about)


def _comparisons(entry: Entry, columns: Columns) -> Dataset:
    if entry.name == "flatlizards_contests":
        about = find("flatlizards_predictors")
        measured = read(about)
        first, second = columns["winner"], columns["loser"]
        y = np.ones(len(first), dtype=np.int64)
        items = measured["lizard"]
        made = _dataset(about, measured, y, (), aside={})
    else:
        first, second = columns["item_a"], columns["item_b"]
        y = np.where(columns["prefers_a"] == 1, 1, -1)
        items = np.unique(np.concatenate([first, second]))
        kept = ("judge", "gender", "age", "q1", "q2", "q3")
        aside = {name: columns[name].copy() for name in kept}
        made = _dataset(entry, columns, y, columns, aside=aside)
        made = replace(made, X=np.empty((len(items), 0)))
    where = {item: i for i, item in enumerate(items.tolist())}
    pairs = np.array([[where[a], where[b]] for a, b in zip(first, second, strict=True)])
    return replace(
        made, name=entry.key, kind=entry.kind, items=tuple(items.tolist()), pairs=pairs,
        description=entry.about,
    )  # fmt: skip


def _ratings(entry: Entry, columns: Columns) -> Dataset:
    column = "score" if "score" in columns else "rating"
    y = columns[column].astype(np.int64) + (1 if column == "score" else 0)
    return _dataset(entry, columns, y, [column])


def _table(entry: Entry, columns: Columns) -> Dataset:
    return _dataset(entry, columns, np.empty(0), ())


_READERS = {
    "metric": _metric,
    "ordinal": _ordinal,
    "classes": _classes,
    "rankings": _rankings,
    "comparisons": _comparisons,
    "ratings": _ratings,
    "table": _table,
}
