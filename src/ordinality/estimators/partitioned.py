"""Fit of an ordinal Gaussian process to rows that are not in this process's memory.

Rows are in partitions on a Dask cluster, or in blocks that are read again for every pass:
ranges of a memory-mapped array, pieces of a file. Levels and scaling come from all rows, theta
from a sample of them in this process, and the inducing values from all rows again: visits until
the sites settle, as for rows in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, BinaryIO

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d, gen_batches
from sklearn.utils.validation import validate_data

from ..distributed.partitions import (
    Part,
    PartitionedRows,
    PartSummary,
    drawn_part,
    encoded,
    encoded_part,
    loaded_part,
    sampled,
    summarised,
)
from ..distributed.passes import Visits
from ..gp.criteria import InducingObjective
from ..gp.likelihoods import LearntLikelihood
from ..gp.stream import Belief, Settled, Sums, settle_by, visit
from .base_gp import sample_size
from .fitting import FitLog, Scaling, canonical_order

__all__ = ["InBlocks", "OnCluster", "fit_elsewhere", "fit_mapped", "fit_partitions"]

_OF_LEVEL = 10  # rows of each level at least in the sample, to learn its thresholds from
_BLOCK = 2**16  # rows of a memory-mapped array that are read at once


def fit_partitions(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit an `OrdinalGP` to Dask collections."""
    _check_model(model)
    rows = OnCluster(PartitionedRows.from_collections(X, y, sample_weight).persist())
    fit_elsewhere(model, rows)


def fit_mapped(model: Any, X: np.memmap, y: Any, sample_weight: Any) -> None:
    """Fit an `OrdinalGP` to a memory-mapped array, of which a block at a time is read."""
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; wanted two, rows and features.")
    check_consistent_length(X, y, sample_weight)
    y = y if hasattr(y, "iloc") else column_or_1d(y)

    def blocks() -> Iterator[tuple[Any, ...]]:
        for rows in gen_batches(len(X), _BLOCK):
            labels = y.iloc[rows] if hasattr(y, "iloc") else y[rows]
            weights = () if sample_weight is None else (np.asarray(sample_weight[rows]),)
            yield np.asarray(X[rows]), labels, *weights

    fit_elsewhere(model, InBlocks(blocks))


@dataclass(frozen=True, eq=False)
class OnCluster:
    """Rows in partitions that workers of Dask hold."""

    parts: PartitionedRows

    def summary(self) -> PartSummary:
        """What has to be known of all rows before a fit."""
        return summarised(self.parts)

    def whole(self) -> Part:
        """All rows, here."""
        from ..distributed.cluster import computed

        return _joined(computed(self.parts.parts, self.parts.client))

    def encoded(self, *how: Any) -> OnCluster:
        """Standardised rows with ranks for labels, kept by the workers."""
        return OnCluster(encoded(self.parts, *how).persist())

    def sampled(self, shares: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
        """Random rows, those of each level with a probability of its own."""
        return sampled(self.parts, shares, seed)

    def settle(
        self, belief: Belief, likelihood: LearntLikelihood, engine: str, tell: Any
    ) -> tuple[Belief, Settled]:
        """Visit all rows until they settle."""
        return Visits(self.parts, belief.basis, likelihood, engine).settle(belief, tell=tell)


@dataclass(frozen=True, eq=False)
class InBlocks:
    """Rows in blocks; ``blocks()`` gives (X, y) or (X, y, weights), the same in every pass."""

    blocks: Callable[[], Iterator[tuple[Any, ...]]]
    how: tuple[Any, ...] | None = None  # order, centre, spread, factors of levels

    def parts(self) -> Iterator[Part]:
        """The blocks, checked, and encoded if that is wanted."""
        for i, block in enumerate(self.blocks()):
            part = loaded_part(i, lambda given: given, block)
            yield part if self.how is None else encoded_part(i, part, *self.how)

    def summary(self) -> PartSummary:
        """What has to be known of all rows before a fit."""
        return reduce(PartSummary.plus, map(PartSummary.of, self.parts()))

    def whole(self) -> Part:
        """All rows."""
        return _joined(list(self.parts()))

    def encoded(self, *how: Any) -> InBlocks:
        """The same blocks, standardised, with ranks for labels."""
        return InBlocks(self.blocks, how)

    def sampled(self, shares: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
        """Random rows, those of each level with a probability of its own."""
        drawn = [drawn_part(i, part, shares, seed) for i, part in enumerate(self.parts())]
        return tuple(np.concatenate(column) for column in zip(*drawn, strict=True))

    def settle(
        self, belief: Belief, likelihood: LearntLikelihood, engine: str, tell: Any
    ) -> tuple[Belief, Settled]:
        """Visit all rows until they settle; sites, two numbers a row, wait in a file."""
        with tempfile.TemporaryFile() as sites:

            def visit_all(belief: Belief) -> Sums:
                return reduce(_plus, self._visits(belief, likelihood, engine, sites))

            return settle_by(visit_all, belief, engine=engine, tell=tell)

    def _visits(
        self, belief: Belief, likelihood: LearntLikelihood, engine: str, file: BinaryIO
    ) -> Iterator[Sums]:
        """One pass: what each block says, its sites before and after being in the file."""
        at = 0
        for part in self.parts():
            sites = np.zeros((2, len(part.y)))
            file.seek(at)
            if before := file.read(sites.nbytes):  # none in the first pass
                sites[:] = np.frombuffer(before).reshape(sites.shape)
            if len(part.y):
                yield visit(
                    belief, likelihood, part.X, part.y, part.weights, sites, engine=engine
                )
            file.seek(at)
            file.write(sites.tobytes())
            at += sites.nbytes


def _plus(sums: Sums, more: Sums) -> Sums:
    sums.add(more)
    return sums


def _joined(parts: list[Part]) -> Part:
    X, y, weights = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("X", "y", "weights")
    )
    return Part(X, y, weights, parts[0].carried)


def fit_elsewhere(model: Any, rows: OnCluster | InBlocks) -> None:
    """Fit an `OrdinalGP` to rows that are not in memory."""
    _check_model(model)
    found = rows.summary()
    if found.rows <= sample_size():  # theta would be learnt from all of them
        part = rows.whole()
        y = part.y if part.carried is None else replace(found, labels=part.y).typed_labels
        model.fit(_named(rows, part.X), y, part.weights)
        return
    FitLog(model).stage("%d rows, %d labels", found.rows, len(found.labels))
    zeros = np.zeros((1, len(found.centre)))
    validate_data(model, _named(rows, zeros), dtype=np.float64)  # keeps names and number
    labels = found.typed_labels
    ranks = model._learn_levels(labels, found.labels)
    factors = model._class_factors(ranks, found.totals)
    scaling = Scaling.none(len(found.centre))
    if model.standardize:
        scaling = Scaling.by_moments(found.centre, found.spread, found.rows)
    model._scaling = scaling
    rows = rows.encoded(model._order, scaling.centre, scaling.spread, factors)
    problem = _sample_problem(model, rows, found, ranks)
    model.__dict__.pop("loo_proba_", None)  # of an earlier fit
    model._kept = np.empty(0, dtype=np.int64)
    elsewhere = (found.rows, _settled_by(model, rows, found.rows))
    model._keep(model._learn_inducing(problem, model.coarse_to_fine, elsewhere=elsewhere))
    model._warn_unless_converged()


def _check_model(model: Any) -> None:
    """Refuse what needs all rows in one place, before any is loaded."""
    if model._inputs() != "features":
        raise ValueError(
            f"kernel={model.kernel!r} takes a matrix of all rows or ratings; rows that "
            "are read in parts need a kernel over features."
        )
    if model.inducing is None:
        raise ValueError(
            "inducing=None is exact inference, which needs all rows in one process; use "
            "inducing points for rows that are read in parts, for instance inducing=500."
        )
    if model.criterion != "evidence":
        raise ValueError(
            f"criterion={model.criterion!r} needs exact inference, and rows that are read in "
            "parts need inducing points; use criterion='evidence'."
        )


def _named(rows: OnCluster | InBlocks, X: np.ndarray) -> Any:
    """Rows with the names of the features, if they have names."""
    names = rows.parts.names if isinstance(rows, OnCluster) else None
    if names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names)


def _sample_problem(
    model: Any, rows: OnCluster | InBlocks, found: PartSummary, ranks: np.ndarray
) -> InducingObjective:
    """The problem of a random sample, from which theta is learnt and points are chosen."""
    wanted = sample_size(model.inducing)
    wanted += int(4 * np.sqrt(wanted))  # four deviations of the number that chance will take
    counts = np.zeros(len(model.levels_))
    counts[ranks] = found.counts
    shares = np.maximum(wanted / found.rows, _OF_LEVEL / np.maximum(counts, 1.0))
    seed = int(model._generator().integers(2**31))
    Z, y, weights = rows.sampled(shares, seed)
    order = canonical_order(Z, y, weights)
    Z, y, weights = Z[order], y[order], weights[order]
    d = Z.shape[1]
    kernel = model._start_kernel(d)
    problem = model._objective(Z, y, weights, kernel.prepared(Z))
    if not isinstance(problem, InducingObjective):
        raise ValueError(
            f"kernel={model.kernel!r} has no gradients for inducing points, which Dask "
            "collections need; use a kernel of ordinality over features."
        )
    return replace(problem, pool=Z)


def _settled_by(
    model: Any, rows: OnCluster | InBlocks, n: int
) -> Callable[..., tuple[Belief, Settled]]:
    """A function that visits all rows until they settle."""

    def settle(
        belief: Belief, likelihood: LearntLikelihood, tell: Any
    ) -> tuple[Belief, Settled]:
        say = None if tell is None else (lambda value: tell(n, value))
        return rows.settle(belief, likelihood, model.inference, say)

    return settle
