"""Utilities of items by inducing values, each item with an independent rest.

The utility of item j is ``g_j = p_j' e + r_j``: what the values at M points say of a smooth
function of its features, and a rest ``r_j ~ N(0, s_j)`` of its own. The rest is what the points
leave of the smooth part together with the item's own effect (`kernels.items.PerItem`), so that
``s_j = k(x_j, x_j) - |p_j|^2 + variance``. An answer sees ``a_i' (P e + r)``.

Items without features have no points. There e is one value that no item sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.base import Kernel
from ...kernels.items import PerItem
from ..design import Combinations
from .inducing import Adjoint, Basis, InducingCombinations, PriorGradient, add_gram

__all__ = ["InducingItems", "ItemGradient", "basis_of", "features_of"]


def features_of(kernel: Kernel, X: np.ndarray) -> tuple[Kernel, np.ndarray]:
    """The kernel of the smooth part of the utility, and its inputs."""
    if isinstance(kernel, PerItem) and kernel.kernel is not None:
        return kernel.kernel, X[:, :-1]
    return kernel, X


def basis_of(kernel: Kernel, Z: np.ndarray) -> Basis:
    """Points of the smooth part; a value that no item sees if the items have no features."""
    smooth, _ = features_of(kernel, Z[:0])
    if isinstance(smooth, PerItem):
        one = np.ones((1, 1), order="F")
        return Basis(smooth, -one, one, one)  # -1 is the number of no item
    return Basis.of(smooth, Z)


@dataclass(frozen=True, eq=False)
class InducingItems(InducingCombinations):
    """The prior of ``A (P e + r)``; ``explained`` and ``residual`` are those of the items."""

    kernel: Kernel  # of the utilities
    inputs: np.ndarray  # of that kernel

    @classmethod
    def on(
        cls, kernel: Kernel, inputs: np.ndarray, basis: Basis, design: Combinations
    ) -> InducingItems:
        """Project the items on the values at the points of a basis."""
        smooth, X = features_of(kernel, inputs)
        P = np.empty((len(X), len(basis)))
        for rows in basis.blocks(len(X)):
            P[rows] = basis.whitened(X[rows])
        explained = np.einsum("ij,ij->i", P, P)
        # Rounding may leave a small negative number.
        left = np.maximum(smooth.diag(X) - explained, 0.0)
        if smooth is not kernel:
            left = left + kernel.variance  # type: ignore[attr-defined]
        return cls(basis, X, P, explained, left, design, kernel, inputs)

    def unexplained(self, weights: np.ndarray) -> float:
        """Share of the smooth part's prior variance that the points do not explain."""
        if isinstance(self.basis.kernel, PerItem):
            return 0.0
        prior = self.basis.kernel.diag(self.X)
        return float(np.maximum(prior - self.explained, 0.0).sum() / prior.sum())

    def pulled_variances(self, c: np.ndarray) -> np.ndarray:
        return self.kernel.pullback_paired(self.inputs, self.inputs, c)


@dataclass(frozen=True, eq=False)
class ItemGradient(PriorGradient):
    """The gradient of a factorised evidence in the prior of the items.

    ``c`` of `pullback` are the derivatives in the variances of the rests.
    """

    items: InducingItems
    factor: np.ndarray  # upper factor of the precision of e
    mean: np.ndarray  # (M,), of e
    tau: np.ndarray  # (m,), precisions of the sites of what is seen of e
    alpha: np.ndarray  # (m,), their shifts less precision times mean

    @property
    def prior(self) -> InducingItems:
        return self.items

    @cached_property
    def _adjoint(self) -> Adjoint:
        return Adjoint.of(self.factor, self.mean, np.zeros(len(self.mean)))

    def by_whitened(self, c: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        P, alpha = self.items.P, self.items.gather(self.alpha)
        assert P is not None
        for rows, (tau_P,) in self.items.weighed(self.tau):
            two_c_P = (2.0 * c[rows])[:, None] * P[rows]
            none = np.zeros(len(two_c_P))
            yield rows, self._adjoint.by_whitened(tau_P, two_c_P, alpha[rows], none)

    def inner(self, c: np.ndarray) -> np.ndarray:
        P = self.items.P
        assert P is not None
        gram = np.zeros((P.shape[1],) * 2, order="F")
        add_gram(P, 2.0 * c, gram)
        return self._adjoint.inner(gram)
