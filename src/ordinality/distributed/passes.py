"""Passes over rows in partitions: visits until sites settle, and the gradient of the evidence.

A pass sends the belief about the inducing values to all partitions, M (M + 1) / 2 + M numbers,
and gets as many back from each by a tree of sums. The sites of a partition stay with it: they
are a task whose inputs are the rows, the belief of this pass and the sites of the pass before.
Dask computes them again from these if the worker that held them is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..gp.likelihoods import LearntLikelihood, Ordinal
from ..gp.posterior.inducing import Basis
from ..gp.stream import Belief, Settled, Slopes, Sums, evidence, settle_by, slopes, visit
from ..kernels.base import Kernel
from ..levels import Order, check_thresholds
from .cluster import computed, dask_module, persisted
from .partitions import Part, PartitionedRows, encoded, mapped, summed

__all__ = ["Evidence", "Visits", "log_evidence"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence of rows in partitions, and its gradient.

    Parameters
    ----------
    value : float
        Log marginal likelihood.
    gradient : ndarray of shape (p,)
        Derivatives in ``[kernel.theta, log noise, thresholds[0], log diff(thresholds)]``.
    n_passes : int
        Passes over all rows.
    converged : bool
        Whether the sites settled.
    residual : float
        Largest gap between the sites and matched moments.
    unexplained : float
        Share of the prior variance of the rows that the inducing points do not explain.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.distributed import Evidence
    >>> Evidence(-71.3, np.zeros(4), 9, True, 1e-7, 0.01).converged
    True
    """

    value: float
    gradient: np.ndarray
    n_passes: int
    converged: bool
    residual: float
    unexplained: float


@dataclass(eq=False)
class Visits:
    """The sites of rows in encoded partitions, and passes that refresh and use them."""

    parts: PartitionedRows
    basis: Basis
    likelihood: LearntLikelihood
    engine: str = "ep"
    _model: list[Any] = field(init=False)  # on the cluster, sent there once
    _sites: list[Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        delayed = dask_module().delayed
        # Rows need the factor of K_uu and not the matrix itself.
        light = replace(self.basis, K=np.empty((0, 0)))
        parts = [delayed(value, traverse=False) for value in (light, self.likelihood)]
        self._model = persisted(parts, self.parts.client)

    def __call__(self, belief: Belief) -> Sums:
        """One pass: new sites of all rows under a belief, and what they say together."""
        tasks = mapped(self.parts, _visited, *self._model, _Sent.of(belief), self.engine,
                       each=self._sites)  # fmt: skip
        said = dask_module().delayed(_said)
        total = summed([said(task) for task in tasks], _plus)
        *self._sites, total = persisted([*tasks, total], self.parts.client)
        (sums,) = computed([total], self.parts.client)
        return replace(sums, gram=_unpacked(sums.gram))

    def slopes(self, belief: Belief) -> Slopes:
        """One pass: what all rows add to EP's evidence and its gradient at the last sites."""
        tasks = mapped(self.parts, _sloped, *self._model, _Sent.of(belief), each=self._sites)
        (sums,) = computed([summed(tasks, _plus)], self.parts.client)
        return replace(sums, gram=_unpacked(sums.gram))

    def settle(
        self,
        belief: Belief,
        tol: float | None = None,
        max_visits: int = 20,
        tell: Callable[[float], None] | None = None,
    ) -> tuple[Belief, Settled]:
        """Visit all rows until their sites settle, as `gp.stream.settle` does for arrays."""
        return settle_by(
            self, belief, engine=self.engine, tol=tol, max_visits=max_visits, tell=tell
        )


def log_evidence(
    parts: PartitionedRows,
    kernel: Kernel,
    thresholds: Any,
    noise: float,
    points: Any,
    *,
    levels: Any = None,
    link: str = "probit",
    tol: float = 1e-6,
    max_passes: int = 100,
) -> Evidence:
    """Log marginal likelihood of rows in partitions and its gradient, by EP.

    The same as in one process up to the order of the sum, which depends on the number of
    partitions alone.

    Parameters
    ----------
    parts : PartitionedRows
        Rows, taken as they are: standardise them first if the kernel expects that.
    kernel : kernel
        From `ordinality.kernels`, with rectangular gradients.
    thresholds : array-like of shape (K - 1,)
        Thresholds between the levels, increasing.
    noise : float
        Scale of the noise.
    points : array-like of shape (M, d)
        Inducing points.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first; None is 0, 1, ..., K - 1.
    link : {"probit", "logit"}, default="probit"
        Normal or logistic noise.
    tol : float, default=1e-6
        Bound of the gap between sites and matched moments; the error of the gradient is of
        this order, that of the value of its square.
    max_passes : int, default=100
        Most visits of all rows.

    Returns
    -------
    Evidence
        Value, gradient, and how they were reached.

    Examples
    --------
    >>> import dask
    >>> import dask.array as da
    >>> from ordinality.distributed import PartitionedRows, log_evidence
    >>> from ordinality.kernels import Gaussian
    >>> X = da.random.default_rng(0).normal(size=(600, 2), chunks=(200, 2))
    >>> y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1).astype(int)
    >>> with dask.config.set(scheduler="synchronous"):
    ...     parts = PartitionedRows.from_collections(X, y)
    ...     found = log_evidence(parts, Gaussian(1.0), [0.0, 1.0], 0.3, X[:20].compute())
    >>> found.converged, found.gradient.shape
    (True, (4,))
    """
    order = Order(np.arange(np.size(thresholds) + 1) if levels is None else np.asarray(levels),
                  "stated")  # fmt: skip
    likelihood = Ordinal(check_thresholds(thresholds, order.n_levels), float(noise), link)
    Z = np.asarray(points, dtype=np.float64)
    if Z.ndim != 2 or not len(Z):
        raise ValueError(f"points has shape {Z.shape}; wanted (M, d), a row for each point.")
    one, zero = np.ones(Z.shape[1]), np.zeros(Z.shape[1])
    rows = encoded(parts, order, zero, one, np.ones(order.n_levels)).persist()
    basis = Basis.of(kernel, Z)
    visits = Visits(rows, basis, likelihood)
    belief, done = visits.settle(Belief.none(basis), tol, max_passes)
    sums = visits.slopes(belief)
    value, gradient = evidence(belief, sums)
    return Evidence(
        value, gradient, done.n_iter + 1, done.converged, sums.residual, done.unexplained
    )


@dataclass(frozen=True, eq=False)
class _Sent:
    """A belief without its basis, half of its matrix: what every pass sends to all."""

    gram: np.ndarray  # (M (M + 1) / 2,)
    shift: np.ndarray
    step: float

    @classmethod
    def of(cls, belief: Belief) -> _Sent:
        return cls(_packed(belief.gram), belief.shift, belief.step)

    def on(self, basis: Basis) -> Belief:
        return Belief(basis, _unpacked(self.gram), self.shift, step=self.step)


def _packed(upper: np.ndarray) -> np.ndarray:
    """The upper triangle of a matrix as a vector."""
    return lapack.dtrttp(upper)[0]


def _unpacked(half: np.ndarray) -> np.ndarray:
    """A matrix with this upper triangle, in Fortran order."""
    return lapack.dtpttr(int(np.sqrt(2 * len(half))), half)[0]


_Visited = tuple[np.ndarray, Sums]  # sites (2, n) of a partition, and what they say


def _visited(
    place: int,
    part: Part,
    basis: Basis,
    likelihood: LearntLikelihood,
    sent: _Sent,
    engine: str,
    before: _Visited | None = None,
) -> _Visited:
    """New sites of a partition, from those of the pass before."""
    sites = np.zeros((2, len(part.y))) if before is None else before[0].copy()
    sums = visit(sent.on(basis), likelihood, part.X, part.y, part.weights, sites, engine=engine)
    return sites, replace(sums, gram=_packed(sums.gram))


def _said(visited: _Visited) -> Sums:
    """The sums of a partition alone: sites do not travel."""
    return visited[1]


def _sloped(
    place: int,
    part: Part,
    basis: Basis,
    likelihood: LearntLikelihood,
    sent: _Sent,
    visited: _Visited,
) -> Slopes:
    """What a partition adds to evidence and gradient."""
    sums = slopes(sent.on(basis), likelihood, part.X, part.y, part.weights, visited[0])
    return replace(sums, gram=_packed(sums.gram))


def _plus(one: Any, other: Any) -> Any:
    """The sum of two, both of which others may still need."""
    total = replace(one, **{
        name: value.copy() for name, value in vars(one).items() if isinstance(value, np.ndarray)
    })  # fmt: skip
    total.add(other)
    return total
