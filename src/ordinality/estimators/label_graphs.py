"""Label preference graphs: rankings, classes, levels and hierarchies as pairs of labels.

What Y says about an input is a graph over the labels, with an edge from the better to the worse
of two labels. `LabelRanker` holds the predictions that follow from a score for each label.

Chu & Ghahramani (2005, ICML), section 3 and figure 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import levels as _levels
from .fitting import check_weights

__all__ = ["GRAPHS", "Edges", "LabelRanker", "edges_to_learn", "labels_of", "read_edges"]


GRAPHS = ("ranking", "layers", "multiclass", "ordinal", "edges")


class LabelRanker:
    """Predictions of an estimator with a score for each label, `scores`."""

    graph: str = "ranking"  # what Y says, one of `GRAPHS`
    classes_: np.ndarray

    def scores(self, X: Any) -> np.ndarray:
        """A score for each label, shape (q, L)."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Ranks of the labels, 1 for the best, whatever Y was; `predict_top` names one label.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Inputs; kernel values with the training rows, (q, n), if the kernel is precomputed.

        Returns
        -------
        ranks : ndarray of int, shape (q, L)
            Columns in the order of ``classes_``; of two equal scores the first label wins.
        """
        order = np.argsort(-self.scores(X), axis=1, kind="stable")
        return 1 + np.argsort(order, axis=1)

    def predict_top(self, X: Any) -> np.ndarray:
        """The best label of each row.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Inputs; kernel values with the training rows, (q, n), if the kernel is precomputed.

        Returns
        -------
        labels : ndarray of shape (q,)
            Of ``classes_``.
        """
        return self.classes_[np.argmax(self.scores(X), axis=1)]

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Share of the preferences in Y that are predicted correctly.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Inputs; kernel values with the training rows, (q, n), if the kernel is precomputed.
        Y : array-like
            What is true of each row, as for `fit`; ties do not count.
        sample_weight : array-like of shape (q,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        scores = self.scores(X)
        edges = read_edges(Y, self.graph, self.classes_, len(scores))
        weights = check_weights(sample_weight, len(scores))[edges.at]
        if not np.any(weights > 0):
            raise ValueError(
                "Y states no preference, so there is nothing to score; pass rows that put one "
                "label before another."
            )
        right = scores[edges.at, edges.better] > scores[edges.at, edges.worse]
        return float(np.average(right, weights=weights))


@dataclass(frozen=True, eq=False)
class Edges:
    """Preferences in order of inputs; where ``tied``, neither of the two is preferred."""

    at: np.ndarray  # (m,), inputs
    better: np.ndarray  # (m,), numbers of labels
    worse: np.ndarray
    tied: np.ndarray  # (m,) of bool

    @classmethod
    def of(
        cls,
        at: np.ndarray,
        better: np.ndarray,
        worse: np.ndarray,
        tied: np.ndarray | None = None,
    ) -> Edges:
        """Preferences given in any order; without ties if ``tied`` is None."""
        tied = np.zeros(len(at), dtype=bool) if tied is None else tied
        return cls(at, better, worse, tied).only(np.lexsort((worse, better, tied, at)))

    def only(self, which: np.ndarray) -> Edges:
        """Some of them."""
        arrays = (self.at, self.better, self.worse, self.tied)
        return Edges(*(array[which] for array in arrays))

    def renumbered(self, order: np.ndarray) -> Edges:
        """The same preferences where row ``order[i]`` has become row i."""
        at = np.argsort(order)[self.at]
        return Edges(at, self.better, self.worse, self.tied).only(np.argsort(at, kind="stable"))

    def counts(self, n: int, L: int) -> np.ndarray:
        """How often each preference was stated about each of n rows; shape (n, 2 L^2)."""
        kind = (self.tied * L + self.better) * L + self.worse
        every = np.bincount(self.at * 2 * L**2 + kind, minlength=n * 2 * L**2)
        return every.reshape(n, -1)


def labels_of(Y: Any, graph: str, stated: Any = None) -> np.ndarray:
    """The labels that there are, in order where they have one."""
    if stated is not None:
        labels = np.asarray(stated)
        if labels.ndim != 1 or len(np.unique(labels)) != len(labels):
            raise ValueError(
                f"labels={stated!r} is not a list of different labels; name each label once."
            )
    elif graph == "edges":
        labels = np.unique(_listed_pairs(Y)[1])
    elif np.ndim(Y) == 2:
        labels = np.arange(np.shape(Y)[1])
    elif graph == "ordinal":
        labels = _ordered_labels(Y)
    else:
        labels = np.unique(np.asarray(Y))
    if len(labels) < 2:
        raise ValueError(
            f"there are fewer than two labels, {labels.tolist()}, so Y states no preference "
            "and there is nothing to learn from."
        )
    return labels


def _ordered_labels(Y: Any) -> np.ndarray:
    order = _levels.resolve(Y)
    if order.guessed:
        raise ValueError(
            f"the labels {order.levels.tolist()} are text without an order; state it with "
            "`labels=[...]`, lowest first."
        )
    return order.levels


def edges_to_learn(
    Y: Any, graph: str, labels: np.ndarray, weights: np.ndarray, ties: bool = False
) -> Edges:
    """Preferences that Y states about rows of positive weight; at least one is demanded."""
    edges = read_edges(Y, graph, labels, len(weights), ties)
    edges = edges.only(weights[edges.at] > 0)
    if not np.any(~edges.tied):
        raise ValueError(
            "Y states no preference, so there is nothing to learn from; pass at least one row "
            "that puts one label before another."
        )
    return edges


def read_edges(Y: Any, graph: str, labels: np.ndarray, n: int, ties: bool = False) -> Edges:
    """Preferences that Y states about n inputs; with ``ties``, equal ranks state a tie."""
    if len(Y) != n:
        raise ValueError(f"Y has {len(Y)} rows and X has {n}; wanted as many in each.")
    if graph == "edges":
        at, pairs = _listed_pairs(Y)
        better, worse = _label_numbers(pairs, labels).T
        return Edges.of(at, better, worse)
    dimensions = {"ranking": (1, 2), "layers": (2,)}.get(graph, (1,))
    if np.ndim(Y) not in dimensions:
        wanted = "a label for each row" if dimensions == (1,) else "ranks of shape (n, L)"
        raise ValueError(
            f"Y has shape {np.shape(Y)}, but graph={graph!r} takes {wanted}; pass that, or "
            f"another graph of {list(GRAPHS)}."
        )
    if np.ndim(Y) == 2:
        return _ranking_edges(_ranks(Y, len(labels)), graph, ties)
    label = _label_numbers(np.asarray(Y), labels)
    at, worse = np.nonzero(label[:, None] != np.arange(len(labels)))
    # A class comes before every other. From a level outwards, each comes before its neighbour.
    chain = graph == "ordinal"
    return Edges.of(at, worse + np.sign(label[at] - worse) if chain else label[at], worse)


def _label_numbers(array: np.ndarray, labels: np.ndarray) -> np.ndarray:
    unknown = ~np.isin(array, labels)
    if np.any(unknown):
        raise ValueError(
            f"Y holds {array[unknown].tolist()[0]!r}, which is not one of the labels "
            f"{labels.tolist()}; correct it, or drop those rows."
        )
    order = np.argsort(labels)
    return order[np.searchsorted(labels, array, sorter=order)]


def _ranks(Y: Any, L: int) -> np.ndarray:
    try:
        ranks = np.asarray(Y).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "Y holds values that are not numbers; pass ranks, 1 for the best and NaN for a "
            "label that was not ranked."
        ) from None
    if ranks.shape[1] != L:
        raise ValueError(
            f"Y has {ranks.shape[1]} columns, but there are {L} labels; pass a column of ranks "
            "for each label."
        )
    return ranks


def _ranking_edges(ranks: np.ndarray, graph: str, ties: bool) -> Edges:
    """Of a ranking all pairs of different ranks, of layers those of neighbouring layers."""
    ahead = np.stack(np.nonzero(ranks[:, :, None] < ranks[:, None, :]))  # NaN says nothing
    if graph == "layers":
        layer = _layers(ranks)
        at, better, worse = ahead
        ahead = ahead[:, layer[at, worse] - layer[at, better] == 1.0]
    if not ties:
        return Edges.of(*ahead)
    a, b = np.triu_indices(ranks.shape[1], 1)
    at, pair = np.nonzero(ranks[:, a] == ranks[:, b])
    equal = np.stack([at, a[pair], b[pair]])
    tied = np.repeat([False, True], [ahead.shape[1], equal.shape[1]])
    at, better, worse = np.concatenate([ahead, equal], axis=1)
    return Edges.of(at, better, worse, tied)


def _layers(ranks: np.ndarray) -> np.ndarray:
    """Ranks as numbers of layers 0, 1, ... that are all present in their row."""
    out = np.full(ranks.shape, np.nan)
    for i, row in enumerate(ranks):
        known = np.isfinite(row)
        out[i, known] = np.unique(row[known], return_inverse=True)[1].ravel()
    return out


def _listed_pairs(Y: Any) -> tuple[np.ndarray, np.ndarray]:
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
