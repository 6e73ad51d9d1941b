"""Fit of an ordinal Gaussian process to rows in partitions, on a Dask cluster.

Levels and scaling come from all rows, theta from a sample of them in this process, and the
inducing values from all rows again: visits until the sites settle, as for rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..distributed.partitions import PartitionedRows, PartSummary, encoded, sampled, summarised
from ..distributed.passes import Visits
from ..gp.criteria import InducingObjective
from ..gp.likelihoods import LearntLikelihood
from ..gp.stream import Belief, Settled
from .base_gp import sample_size
from .fitting import FitLog, Scaling, canonical_order

__all__ = ["fit_partitions"]

_OF_LEVEL = 10  # rows of each level at least in the sample, to learn its thresholds from


def fit_partitions(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit an `OrdinalGP` to Dask collections."""
    _check_model(model)
    parts = PartitionedRows.from_collections(X, y, sample_weight).persist()
    found = summarised(parts)
    if found.rows <= sample_size():  # theta would be learnt from all of them
        model.fit(*(None if part is None else part.compute() for part in (X, y, sample_weight)))
        return
    FitLog(model).stage(
        "%d rows in %d partitions, %d labels", found.rows, len(parts), len(found.labels)
    )
    validate_data(model, _one_row(parts), dtype=np.float64)  # keeps the names of the features
    labels = found.typed_labels
    ranks = model._learn_levels(labels, found.labels)
    factors = model._class_factors(ranks, found.totals)
    scaling = Scaling.none(len(found.centre))
    if model.standardize:
        scaling = Scaling.by_moments(found.centre, found.spread, found.rows)
    model._scaling = scaling
    rows = encoded(parts, model._order, scaling.centre, scaling.spread, factors).persist()
    del parts  # the workers keep the encoded rows alone
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
            f"kernel={model.kernel!r} takes a matrix of all rows or ratings; Dask collections "
            "need a kernel over features."
        )
    if model.inducing is None:
        raise ValueError(
            "inducing=None is exact inference, which needs all rows in one process; use "
            "inducing points for Dask collections, for instance inducing=500."
        )
    if model.criterion != "evidence":
        raise ValueError(
            f"criterion={model.criterion!r} needs exact inference, and Dask collections need "
            "inducing points; use criterion='evidence'."
        )


def _one_row(parts: PartitionedRows) -> Any:
    """A row of zeros with the names of the features, if they have names."""
    zeros = np.zeros((1, parts.n_features or 0))
    if parts.names is None:
        return zeros
    import pandas as pd

    return pd.DataFrame(zeros, columns=parts.names)


def _sample_problem(
    model: Any, rows: PartitionedRows, found: PartSummary, ranks: np.ndarray
) -> InducingObjective:
    """The problem of a random sample, from which theta is learnt and points are chosen."""
    wanted = sample_size(model.inducing)
    wanted += int(4 * np.sqrt(wanted))  # four deviations of the number that chance will take
    counts = np.zeros(len(model.levels_))
    counts[ranks] = found.counts
    shares = np.maximum(wanted / found.rows, _OF_LEVEL / np.maximum(counts, 1.0))
    seed = int(model._generator().integers(2**31))
    Z, y, weights = sampled(rows, shares, seed)
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
    model: Any, rows: PartitionedRows, n: int
) -> Callable[..., tuple[Belief, Settled]]:
    """A function that visits all rows until they settle."""

    def settle(
        belief: Belief, likelihood: LearntLikelihood, tell: Any
    ) -> tuple[Belief, Settled]:
        visits = Visits(rows, belief.basis, likelihood, model.inference)
        say = None if tell is None else (lambda value: tell(n, value))
        return visits.settle(belief, tell=say)

    return settle
