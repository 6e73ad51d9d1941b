"""Data sets as problems: inputs and targets as arrays, with names, levels and source.

`load` reads a set of the data folder by the rules of its kind. Labels stay 1..K as published;
`Dataset.levels` says what they are called. Published partitions are read by `partitions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinality.datasets.folder import find, read
from ordinality.datasets.inventory import INVENTORY, PAPERS, Entry
from ordinality.datasets.reading import Table, encode

__all__ = ["Dataset", "load"]


Array = NDArray[Any]


Floats = NDArray[np.float64]


LOADABLE = tuple(entry for entry in INVENTORY if entry.kind != "partitions")


@dataclass(frozen=True, eq=False)
class Dataset:
    """One data set: what is known of each row, and what is to be learnt.

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
    kind: str  # metric, ordinal, classes, rankings, comparisons, ratings or table
    X: Floats  # (n, d); NaN is missing. Of comparisons: a row for each item
    y: Array  # labels 1..K, metric values, classes; ranks (n, L); answers +1, 0, -1
    feature_names: tuple[str, ...]
    levels: tuple[str, ...] = ()  # what 1..K are called, lowest first; labels that are ranked
    items: tuple[str, ...] = ()  # of comparisons: what is compared
    pairs: Array | None = None  # of comparisons: (m, 2) rows of X, `y` says who won
    weight: Floats | None = None  # how many cases a row stands for
    aside: Mapping[str, Array] = field(default_factory=dict)  # further columns of the rows
    description: str = ""
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "aside", MappingProxyType(dict(self.aside)))

    def repeated(self) -> Dataset:
        """The same set with a row for each case, where `weight` counts them."""
        if self.weight is None:
            return self
        counts = self.weight.astype(np.int64)
        if np.any(counts != self.weight):
            raise ValueError(
                f"{self.name!r} has weights that are not whole; pass them on as weights."
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

    Inputs are encoded as `reading.encode` says: numbers as they are, NaN where missing, text as
    indicators. What else a file holds is in ``aside``.

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
        Of a file without its ending, such as ``"abalone"``; with its folder where two have the
        same, as in ``"label_ranking/segment"``.

    Returns
    -------
    Dataset
        With arrays of its own.

    Examples
    --------
    >>> load("ordinal/era")  # doctest: +SKIP
    Dataset('ordinal/era', ordinal: 1000 rows, 4 inputs, 9 levels)
    >>> load("abalon")
    Traceback (most recent call last):
    ValueError: 'abalon' is no data set of the inventory; did you mean 'abalone'?
    """
    entry = _loadable(name)
    table = read(entry)
    return _READERS[entry.kind](entry, table)


def _loadable(name: str) -> Entry:
    try:
        return find(name, among=LOADABLE)
    except ValueError:
        if any(name in (e.key, e.name) for e in INVENTORY if e.kind == "partitions"):
            raise ValueError(
                f"{name!r} holds published partitions; read it with partitions(name, kind)."
            ) from None
        raise


# ---------------------------------------------------------------- one reader a kind


def _dataset(
    entry: Entry, table: Table, y: Array, drop: tuple[str, ...], **more: Any
) -> Dataset:
    """Columns but those in `drop` and those aside are inputs."""
    left_out = (*drop, *entry.aside)
    inputs = encode(table, left_out, nominal=entry.nominal)
    used = ", ".join(PAPERS[paper].partition(":")[0] for paper in entry.papers)
    settled = {
        "X": inputs.X,
        "feature_names": inputs.names,
        "levels": entry.levels,
        "aside": {name: table[name].copy() for name in entry.aside},
        "description": entry.about + (f"; used by {used}" if used else ""),
        "source": entry.origin.where,
        "licence": entry.origin.licence,
    }
    return Dataset(entry.key, entry.kind, y=y, **{**settled, **more})


def _metric(entry: Entry, table: Table) -> Dataset:
    return _dataset(entry, table, table["target"].copy(), ("target",))


def _ordinal(entry: Entry, table: Table) -> Dataset:
    y = table["target"].astype(np.int64)
    more: dict[str, Any] = {}
    if "weight" in entry.aside:
        more["weight"] = table["weight"].copy()
    return _dataset(entry, table, y, ("target",), **more)


def _classes(entry: Entry, table: Table) -> Dataset:
    target = table["target"]
    y = target.astype(np.int64) if target.dtype.kind == "f" else target.copy()
    return _dataset(entry, table, y, ("target",), levels=tuple(map(str, np.unique(y).tolist())))


def _rankings(entry: Entry, table: Table) -> Dataset:
    if entry.name.startswith("sushi3"):
        return _sushi(entry, table)
    ranks = tuple(name for name in table.names if name.startswith("rank_"))
    y = np.column_stack([table[name] for name in ranks])
    labels = tuple(name.removeprefix("rank_") for name in ranks)
    return _dataset(entry, table, y, ranks, levels=labels)


def _sushi(entry: Entry, table: Table) -> Dataset:
    """Orders become ranks of items; who ranked them is what is known of a row."""
    items, users = read(find("sushi3_items")), find("sushi3_users")
    order = np.column_stack([table[f"rank{i}"] for i in range(1, 11)]).astype(np.int64)
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


def _comparisons(entry: Entry, table: Table) -> Dataset:
    if entry.name == "flatlizards_contests":
        about = find("flatlizards_predictors")
        measured = read(about)
        first, second = table["winner"], table["loser"]
        y = np.ones(table.n_rows, dtype=np.int64)
        items = measured["lizard"]
        made = _dataset(about, measured, y, (), aside={})
    else:
        first, second = table["item_a"], table["item_b"]
        y = np.where(table["prefers_a"] == 1, 1, -1)
        items = np.unique(np.concatenate([first, second]))
        kept = ("judge", "gender", "age", "q1", "q2", "q3")
        made = _dataset(entry, table, y, table.names, aside={k: table[k].copy() for k in kept})
        made = replace(made, X=np.empty((len(items), 0)))
    where = {item: i for i, item in enumerate(items.tolist())}
    pairs = np.array([[where[a], where[b]] for a, b in zip(first, second, strict=True)])
    return replace(
        made, name=entry.key, kind=entry.kind, items=tuple(items.tolist()), pairs=pairs,
        description=entry.about,
    )  # fmt: skip


def _ratings(entry: Entry, table: Table) -> Dataset:
    column = "score" if "score" in table.names else "rating"
    y = table[column].astype(np.int64) + (1 if column == "score" else 0)
    return _dataset(entry, table, y, (column,))


def _table(entry: Entry, table: Table) -> Dataset:
    return _dataset(entry, table, np.empty(0), ())


_READERS = {
    "metric": _metric,
    "ordinal": _ordinal,
    "classes": _classes,
    "rankings": _rankings,
    "comparisons": _comparisons,
    "ratings": _ratings,
    "table": _table,
}
