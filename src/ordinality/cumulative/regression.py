"""Fit a cumulative link model to a table: scale, find dependent columns, maximise, diagnose.

The search sees columns of mean zero and spread one (sparse ones are only scaled); estimates and
their covariance are returned in the units of the columns given.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .collinearity import independent_columns
from .jeffreys import jeffreys_maximum
from .links import Link
from .newton import Maximum, maximise
from .penalty import Penalty, elastic_net
from .rows import Rows
from .separation import Separation, separation
from .structures import Structure, threshold_structure

__all__ = ["Regression", "Scaled", "fit_regression", "inverse_information"]

MANY_COLUMNS = 5_000  # above, a matrix of all pairs of columns takes more than 200 MB
_SUSPICIOUS = 1e3  # standard error of a standardised column that asks for a look at separation
_SINGULAR = 1e-12  # eigenvalues of a scaled information are rounded by some dozens of eps
_DYING = 1e-9  # the same under separation: far above what is left where the search ends
_SHARE = 1e-6  # of a direction without information: those are known to the root of that

Progress = Callable[[int, float, float], None]


@dataclass(frozen=True, eq=False)
class Scaled:
    """Columns ``(x - centre) / spread`` of rows in some order."""

    columns: Any  # (n, d), dense or CSR
    centre: np.ndarray  # (d,)
    spread: np.ndarray  # (d,)

    @classmethod
    def of(cls, X: Any, order: np.ndarray, weights: np.ndarray, *, centred: bool) -> Scaled:
        """The rows in `order`; `weights` are of those."""
        if sparse.issparse(X):
            return cls._of_sparse(X, order, weights)
        out = np.array(X[order], dtype=np.float64, order="C")
        share = weights / weights.sum()
        mean = share @ out
        out -= mean
        unit = np.maximum(out.max(axis=0, initial=0.0), -out.min(axis=0, initial=0.0))
        out /= np.where(unit > 0, unit, 1.0)  # squares of 1e200 overflow
        spread = np.sqrt(np.einsum("i,ij,ij->j", share, out, out))
        # Below this a column is constant up to the rounding of its mean.
        floor = 10 * np.finfo(float).eps * np.sqrt(len(out)) * np.abs(mean)
        varies = unit * spread > floor
        out[:, ~varies] = 0.0
        out /= np.where(varies, spread, 1.0)
        spread = np.where(varies, unit * spread, 1.0)
        if not centred:
            out += mean / spread
            mean = np.zeros_like(mean)
        return cls(out, mean, spread)

    @classmethod
    def _of_sparse(cls, X: Any, order: np.ndarray, weights: np.ndarray) -> Scaled:
        out = sparse.csr_matrix(X)[order].astype(np.float64)
        share = weights / weights.sum()
        mean, square = share @ out, share @ out.multiply(out).tocsr()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        # The difference of squares has lost all digits below this.
        spread = np.where(spread > 1e-7 * np.sqrt(square), spread, np.sqrt(square))
        spread = np.where(spread > 0, spread, 1.0)
        out = out @ sparse.diags(1 / spread)
        return cls(out.tocsr(), np.zeros(X.shape[1]), spread)

    def take(self, kept: np.ndarray) -> Scaled:
        """Some of the columns."""
        if np.all(kept):
            return self
        return Scaled(self.columns[:, kept], self.centre[kept], self.spread[kept])


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted model. Parameters: thresholds, nominal, location and scale effects."""

    rows: Rows  # sorted by level, columns scaled
    location: Scaled
    nominal: Scaled
    scale: Scaled
    order: np.ndarray  # (n,), where each row was among those given
    maximum: Maximum  # of the scaled columns
    observed: np.ndarray  # ranks of the levels that have thresholds of their own
    kept_location: np.ndarray  # masks over the columns given: False for dependent ones
    kept_nominal: np.ndarray
    kept_scale: np.ndarray
    covariance: np.ndarray | None  # of `estimate`; None after a penalty or with many columns
    separation: Separation | None
    vague: np.ndarray  # (parameters,): very large standard error, and no separation found
    disordered: int  # rows at which nominal effects leave the thresholds out of order
    effective_df: float  # number of parameters, less what a penalty takes

    @property
    def units(self) -> Any:
        """The matrix that takes scaled parameters to those of the columns given, sparse."""
        rows, structure = self.rows, self.rows.structure
        q, p = structure.J.shape[1], rows.N.shape[1]
        scales = np.concatenate([
            np.ones(q), np.repeat(1 / self.nominal.spread, q), 1 / self.location.spread,
            1 / self.scale.spread,
        ])  # fmt: skip
        at: list[int] = []
        to: list[int] = []
        by: list[float] = []
        for j, moved in enumerate(self.nominal.centre / self.nominal.spread):
            at += range(q)
            to += range((1 + j) * q, (2 + j) * q)
            by += [-moved] * q
        if structure.shift is not None and np.any(self.location.centre):
            for a in np.flatnonzero(structure.shift):
                d = len(self.location.centre)
                at += [int(a)] * d
                to += range((1 + p) * q, (1 + p) * q + d)
                by += list(structure.shift[a] * self.location.centre / self.location.spread)
        shifts = sparse.csr_matrix((by, (at, to)), shape=(len(scales), len(scales)))
        return sparse.diags(scales).tocsr() + shifts

    @property
    def estimate(self) -> np.ndarray:
        """All parameters in the units of the columns given."""
        return np.asarray(self.units @ self.maximum.vector)


def fit_regression(
    X: Any,
    N: np.ndarray,
    Z: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    offset: np.ndarray,
    *,
    n_levels: int,
    link: Link,
    thresholds: str = "flexible",
    penalty: Penalty | None = None,
    jeffreys: bool = False,
    tol: float = 1e-10,
    max_iter: int = 100,
    tell: Progress | None = None,
) -> Regression:
    """Fit location columns X, nominal columns N and scale columns Z to ranks y."""
    observed, y, structure = _observed(y, n_levels, thresholds)
    order = np.argsort(y, kind="stable")
    weights, offset = weights[order], offset[order]
    movable = structure.shift is not None
    scaled = [Scaled.of(X, order, weights, centred=movable),
              Scaled.of(N, order, weights, centred=True),
              Scaled.of(Z, order, weights, centred=False)]  # fmt: skip
    kept = _kept(scaled, movable, penalty)
    location, nominal, scale = (s.take(k) for s, k in zip(scaled, kept, strict=True))
    rows = Rows(link, structure, location.columns, nominal.columns, scale.columns,
                y[order], weights, offset)  # fmt: skip
    if jeffreys:
        found = jeffreys_maximum(rows, tol, max_iter, tell)
    else:
        found = _search(rows, location, penalty, tol, max_iter, tell)
    draft = Regression(
        rows, location, nominal, scale, order, found, observed, *kept,
        covariance=None, separation=None, vague=np.zeros(len(found.vector), dtype=bool),
        disordered=_disordered(rows, found.vector),
        effective_df=_degrees(rows, found, location, penalty),
    )  # fmt: skip
    return draft if penalty else _with_covariance(draft, look=not jeffreys)


def _observed(
    y: np.ndarray, n_levels: int, thresholds: str
) -> tuple[np.ndarray, np.ndarray, Structure]:
    """Levels to model, ranks among them, and the structure of their thresholds."""
    observed = np.unique(y)
    if thresholds == "flexible":  # a level without rows has no threshold of its own
        return (
            observed,
            np.searchsorted(observed, y),
            threshold_structure("flexible", len(observed)),
        )
    structure = threshold_structure(thresholds, n_levels)
    used = np.unique(np.append(observed, observed - 1))
    used = used[(used >= 0) & (used < n_levels - 1)]
    if np.linalg.matrix_rank(structure.J[used]) < structure.J.shape[1]:
        raise ValueError(
            f"thresholds={thresholds!r} has {structure.J.shape[1]} parameters, which rows of "
            f"only {len(observed)} of {n_levels} levels do not determine; use flexible "
            "thresholds, or leave levels without rows out of `levels`."
        )
    return np.arange(n_levels), y, structure


def _kept(
    scaled: list[Scaled], movable: bool, penalty: Penalty | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which columns are no combination of the constant and of columns before them."""
    location, nominal, scale = scaled
    kept_scale = independent_columns(scale.columns)
    kept_nominal = independent_columns(nominal.columns)
    d = location.columns.shape[1]
    if d > MANY_COLUMNS or penalty is not None:  # a penalty shares an effect among copies
        return np.ones(d, dtype=bool), kept_nominal, kept_scale
    N, X = nominal.columns, location.columns
    if N.shape[1]:
        both = sparse.hstack([N, X], format="csr") if sparse.issparse(X) else np.hstack([N, X])
    else:
        both = X
    found = independent_columns(both, constant=movable)
    return found[N.shape[1] :], kept_nominal, kept_scale


def _search(
    rows: Rows, location: Scaled, penalty: Penalty | None, tol: float, max_iter: int,
    tell: Progress | None,
) -> Maximum:  # fmt: skip
    """Maximise by the method that suits penalty and size."""
    if penalty is not None and penalty.l1_ratio > 0:
        return elastic_net(rows, penalty.factors(location.spread), penalty, tol, max_iter, tell)
    ridge = None if penalty is None else _ridge(rows, location, penalty)
    n, d = rows.X.shape
    dense = not sparse.issparse(rows.X)
    if ridge is not None and dense and d > n:
        return _search_wide(rows, ridge, tol, max_iter, tell)
    return maximise(
        rows, ridge=ridge, start=_scale_start(rows, ridge, max_iter), tol=tol,
        max_iter=max_iter, pairs=dense or d <= MANY_COLUMNS, tell=tell,
    )  # fmt: skip


def _scale_start(rows: Rows, ridge: np.ndarray | None, max_iter: int) -> np.ndarray | None:
    """Estimates by way of centred scale columns, where those given lie far from zero.

    Centring multiplies the noise of all rows by a number, and so all other effects; that holds
    without a known offset only. Far from zero the search would creep along that curve.
    """
    if not rows.Z.shape[1] or np.any(rows.offset):
        return None
    centre = rows.weights @ rows.Z / rows.weights.sum()
    if np.all(np.abs(centre) < 2.0):
        return None
    found = maximise(replace(rows, Z=rows.Z - centre), ridge=ridge, max_iter=max_iter)
    vector, scale = found.vector.copy(), rows.places[2]
    with np.errstate(over="ignore"):
        vector[: scale.start] *= np.exp(centre @ vector[scale])
    return vector if np.all(np.isfinite(vector)) and rows.value(vector) > -np.inf else None


def _ridge(rows: Rows, location: Scaled, penalty: Penalty) -> np.ndarray:
    """What each squared parameter costs."""
    ridge = np.zeros(sum(rows.sizes))
    ridge[rows.places[1]] = penalty.alpha * penalty.factors(location.spread) ** 2
    return ridge


def _disordered(rows: Rows, vector: np.ndarray) -> int:
    """At how many rows some threshold is not above the one before."""
    theta = rows.parts(vector).A @ rows.structure.J.T
    if theta.shape[0] == 1:
        return len(rows.y) * int(np.any(np.diff(theta[0]) <= 0))
    bad = 0
    for block in rows.blocks:
        bad += int(np.count_nonzero(np.any(np.diff(block.M @ theta, axis=1) <= 0, axis=1)))
    return bad


def _search_wide(
    rows: Rows, ridge: np.ndarray, tol: float, max_iter: int, tell: Progress | None
) -> Maximum:
    """More columns than rows: the answer lies in the span of the rows, of dimension n."""
    # With X = X~ D, D the square roots of the ridge, and X~' = Q R: X~ b = R' (Q' b), and the
    # penalty of b is that of Q' b.
    root = np.sqrt(ridge[rows.places[1]])
    Q, R = np.linalg.qr((rows.X / root).T)
    small = replace(rows, X=np.ascontiguousarray(R.T))
    unit = np.zeros(sum(small.sizes))
    unit[small.places[1]] = 1.0
    found = maximise(small, ridge=unit, tol=tol, max_iter=max_iter, tell=tell)
    in_thresholds, in_location, in_scale = (found.vector[at] for at in small.places)
    vector = np.concatenate([in_thresholds, Q @ in_location / root, in_scale])
    return replace(found, vector=vector)


def _degrees(rows: Rows, found: Maximum, location: Scaled, penalty: Penalty | None) -> float:
    """Effective number of parameters: the trace of (I + ridge)^-1 I, or the non-zero ones."""
    if penalty is None:
        return float(len(found.vector))
    if penalty.l1_ratio > 0:
        return float(np.count_nonzero(found.vector))
    information = getattr(found.evaluation, "information", np.empty(0))
    if len(information) != len(found.vector):  # of other columns, or of none
        return float("nan")
    ridge = _ridge(rows, location, penalty)
    try:
        factor = cho_factor(information + np.diag(ridge))
    except LinAlgError:
        return float("nan")
    return float(np.trace(cho_solve(factor, information)))


def _with_covariance(draft: Regression, *, look: bool) -> Regression:
    """Add the inverse of the information; look for separation if standard errors suggest it."""
    information = getattr(draft.maximum.evaluation, "information", None)
    if information is None:
        return draft
    inverse, unseen = inverse_information(information)
    weight = draft.rows.weights.mean()  # or tiny weights would look like separation
    vague = np.diagonal(inverse) * weight > _SUSPICIOUS**2
    vague |= np.any(np.abs(unseen) > _SHARE, axis=1)
    split = None
    if look and (np.any(vague) or not draft.maximum.converged):
        split = separation(draft.rows)
    if split is not None:
        inverse, unseen = inverse_information(information, separated=True)
    units = draft.units
    covariance = np.asarray(units @ np.asarray(units @ inverse).T)
    # No finite estimate, no standard error: not of these, nor of what moves with them.
    moving = np.any(np.abs(units @ unseen) > _SHARE, axis=1)
    if split is not None:
        moved = np.append(split.direction, np.zeros(draft.rows.Z.shape[1]))
        moved = np.abs(units @ moved)
        moving |= moved > 1e-9 * moved.max()
    covariance[moving] = covariance[:, moving] = np.nan
    return replace(
        draft, separation=split, vague=vague & (split is None),
        # Thresholds that run to infinity are in no order.
        disordered=draft.disordered if split is None else 0,
        covariance=0.5 * (covariance + covariance.T),
    )  # fmt: skip


def inverse_information(
    information: np.ndarray, *, separated: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The inverse, and directions (parameters, m) in which a singular matrix has none.

    Where levels are `separated`, information dies away in some direction, however far the
    search has gone there; that is taken for none, so that the rest keeps its digits.
    """
    size = np.sqrt(np.abs(np.diagonal(information)))
    size = np.where(size > 0, size, 1.0)
    scaled, unseen = information / size[:, None] / size, np.empty((len(size), 0))
    inverse = None
    with suppress(LinAlgError):
        inverse = cho_solve(cho_factor(scaled), np.eye(len(size)))
    if separated or inverse is None:
        values, axes = np.linalg.eigh(scaled)
        known = values > (_DYING if separated else _SINGULAR)
        unseen = axes[:, ~known] / size[:, None]
        unseen /= np.abs(unseen).max(axis=0, initial=0.0)
        inverse = (axes[:, known] / values[known]) @ axes[:, known].T
    return inverse / size[:, None] / size, unseen
