"""What people say about labels, as a list of preferences: which input, which of two labels.

A ranking, a class, a level of a scale or a hierarchy are all graphs over the labels, a set of
edges from the better to the worse for each input.

Chu & Ghahramani (2005, ICML), section 3 and figure 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import levels as _levels
from ..svm.pairs import edges_of

__all__ = ["GRAPHS", "Edges", "LabelRanker", "labels_of", "places", "read"]


GRAPHS = ("ranking", "layers", "multiclass", "ordinal", "edges")


@dataclass(frozen=True, eq=False)
class Edges:
    """Preferences in order of inputs; where ``tied``, neither of the two is preferred."""

    at: np.ndarray  # (m,)
    better: np.ndarray
    worse: np.ndarray
    tied: np.ndarray  # of bool

    @classmethod
    def of(cls, parts: Sequence[tuple[np.ndarray, ...]], tied: Sequence[bool]) -> Edges:
        """From several lists of (inputs, better, worse)."""
        at, better, worse = (np.concatenate(column) for column in zip(*parts, strict=True))
        ties = np.repeat(tied, [len(part[0]) for part in parts]).astype(bool)
        order = np.lexsort((worse, better, ties, at))
        return cls(at[order], better[order], worse[order], ties[order])

    def __len__(self) -> int:
        return len(self.at)

    def renumbered(self, order: np.ndarray) -> Edges:
        """The same preferences where row ``order[i]`` has become row i."""
        at = np.argsort(order)[self.at]
        return Edges(at, self.better, self.worse, self.tied).only(np.argsort(at, kind="stable"))

    def counts(self, n: int, L: int) -> np.ndarray:
        """How often each preference was stated about each of n rows; shape (n, 2 L^2)."""
        kind = (self.tied * L + self.better) * L + self.worse
        every = np.bincount(self.at * 2 * L**2 + kind, minlength=n * 2 * L**2)
        return every.reshape(n, -1)

    def only(self, which: np.ndarray) -> Edges:
        """Some of them."""
        arrays = (self.at, self.better, self.worse, self.tied)
        return Edges(*(array[which] for array in arrays))


def labels_of(Y: Any, graph: str, stated: Any) -> np.ndarray:
    """The labels that there are, in order where they have one."""
    if stated is not None:
        labels = np.asarray(stated)
        if labels.ndim != 1 or len(np.unique(labels)) != len(labels):
            raise ValueError(f"labels={stated!r} must be a list of different labels.")
    elif graph == "edges":
        labels = np.unique(_pairs(Y)[1])
    elif np.ndim(Y) == 2:
        labels = np.arange(np.shape(Y)[1])
    elif graph == "ordinal":
        labels = _ordered(Y)
    else:
        labels = np.unique(np.asarray(Y))
    if len(labels) < 2:
        raise ValueError(
            f"there are fewer than two labels, {labels.tolist()}, so Y states no preference "
            "and there is nothing to learn from."
        )
    return labels


def _ordered(Y: Any) -> np.ndarray:
    order = _levels.resolve(Y)
    if order.guessed:
        raise ValueError(
            f"the labels {order.levels.tolist()} are text without an order; state it with "
            "`labels=[...]`, lowest first."
        )
    return order.levels


def read(Y: Any, graph: str, labels: np.ndarray, n: int, ties: bool = False) -> Edges:
    """Preferences that Y states about n inputs."""
    if len(Y) != n:
        raise ValueError(f"Y has {len(Y)} rows and X has {n}; wanted as many in each.")
    if graph == "edges":
        return _listed(Y, labels)
    dimensions = {"ranking": (1, 2), "layers": (2,)}.get(graph, (1,))
    if np.ndim(Y) not in dimensions:
        wanted = "a label for each row" if dimensions == (1,) else "ranks of shape (n, L)"
        raise ValueError(
            f"Y has shape {np.shape(Y)}, but graph={graph!r} takes {wanted}; pass that, or "
            f"another graph of {list(GRAPHS)}."
        )
    if np.ndim(Y) == 1:
        place = _places(np.asarray(Y), labels)
        return _chains(place, len(labels)) if graph == "ordinal" else _stars(place, len(labels))
    return _ranked(_ranks(Y, len(labels)), graph, ties)


def _places(array: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Numbers of labels."""
    unknown = ~np.isin(array, labels)
    if np.any(unknown):
        raise ValueError(
            f"Y holds {array[unknown].tolist()[0]!r}, which is not one of the labels "
            f"{labels.tolist()}."
        )
    order = np.argsort(labels)
    return order[np.searchsorted(labels, array, sorter=order)]


def _ranks(Y: Any, L: int) -> np.ndarray:
    try:
        ranks = np.asarray(Y).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("Y must hold ranks, numbers of which 1 is the best, or NaN.") from None
    if ranks.shape[1] != L:
        raise ValueError(f"Y has {ranks.shape[1]} columns, but there are {L} labels.")
    return ranks


def _stars(place: np.ndarray, L: int) -> Edges:
    """One label before all others."""
    at, other = np.nonzero(place[:, None] != np.arange(L))
    return Edges.of([(at, place[at], other)], [False])


def _chains(place: np.ndarray, L: int) -> Edges:
    """From the right label outwards, each before its outer neighbour."""
    at, worse = np.nonzero(place[:, None] != np.arange(L))
    better = worse + np.sign(place[at] - worse)
    return Edges.of([(at, better, worse)], [False])


def _ranked(ranks: np.ndarray, graph: str, ties: bool) -> Edges:
    """Of a ranking all pairs of different ranks, of layers those of neighbours."""
    at, better, worse = edges_of(ranks)
    if graph == "layers":
        layer = _layers(ranks)
        near = layer[at, worse] - layer[at, better] == 1.0
        at, better, worse = at[near], better[near], worse[near]
    parts = [(at, better, worse)]
    if ties:
        parts.append(_equal(ranks))
    return Edges.of(parts, [False, True][: len(parts)])


def _layers(ranks: np.ndarray) -> np.ndarray:
    """Ranks as numbers of layers 0, 1, ... that are all present in their row."""
    out = np.full(ranks.shape, np.nan)
    for i, row in enumerate(ranks):
        known = np.isfinite(row)
        out[i, known] = np.unique(row[known], return_inverse=True)[1].ravel()
    return out


def _equal(ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = np.triu_indices(ranks.shape[1], 1)
    at, pair = np.nonzero(ranks[:, a] == ranks[:, b])  # NaN equals nothing
    return at, a[pair], b[pair]


def _listed(Y: Any, labels: np.ndarray) -> Edges:
    at, pairs = _pairs(Y)
    places = _places(pairs.ravel(), labels).reshape(-1, 2)
    return Edges.of([(at, places[:, 0], places[:, 1])], [False])


def _pairs(Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (m,) and labels (m, 2) of explicit (better, worse) pairs."""
    at: list[int] = []
    pairs: list[Any] = []
    for i, row in enumerate(Y):
        for edge in row if np.iterable(row) else [row]:
            if np.shape(edge) != (2,) or edge[0] == edge[1]:
                raise ValueError(
                    f"row {i} of Y holds {edge!r}; an edge is a pair (better, worse) of two "
                    "different labels, and a row is a list of edges."
                )
            at.append(i)
            pairs.append(edge)
    return np.array(at, dtype=int), np.array(pairs).reshape(-1, 2)


# ----------------------------------------------------------------
# Places by score, and what follows from the scores of labels.


class LabelRanker:
    """Predictions of an estimator with a score for each label, `scores`."""

    classes_: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """A score for each label, shape (q, L)."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Ranks of the labels, 1 for the best, whatever Y was; `predict_top` names one label.

        Parameters
        ----------
        X : array-like of shape (q, d)

        Returns
        -------
        ranks : ndarray of int, shape (q, L)
        """
        return places(self.scores(X))

    def predict_top(self, X: Any) -> np.ndarray:
        """The best label of each row.

        Parameters
        ----------
        X : array-like of shape (q, d)

        Returns
        -------
        labels : ndarray of shape (q,)
        """
        return self.classes_[np.argmax(self.scores(X), axis=1)]


def places(scores: np.ndarray) -> np.ndarray:
    """Places by descending score, 1 for the largest, in each row; the first of equals wins."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty(scores.shape, dtype=int)
    np.put_along_axis(ranks, order, np.arange(1, scores.shape[1] + 1), axis=1)
    return ranks
