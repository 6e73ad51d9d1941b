"""Items as a kernel takes them: features, a Gram matrix, or nothing but a number."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

from ..kernels.base import Kernel
from ._scaling import Scaling

__all__ = ["Catalogue", "paired"]

_BLOCK = 200


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The items of a model; kernel inputs end with the item's number where it matters.

    Examples
    --------
    >>> import numpy as np
    >>> items = Catalogue.of(np.array([[1.0], [3.0], [1.0]]), "features", True, False, None)
    >>> items.inputs(np.array([1, 2]), np.arange(3))
    array([[ 1.41421356],
           [-0.70710678]])
    >>> items.twin
    array([0, 1, 0])
    """

    X: np.ndarray  # (n, d) scaled features; (n, n) covariances; (n, 0) for mere numbers
    scaling: Scaling
    gram: bool
    numbered: bool
    twin: np.ndarray  # (n,), the first item that the kernel cannot tell from each

    @classmethod
    def of(
        cls, items: Any, inputs: str, standardize: bool, numbered: bool, largest: int | None
    ) -> Catalogue:
        """Read ``items``; None is as many as the ``largest`` number mentioned demands."""
        X = _read(items, inputs, largest)
        n, d = X.shape
        scaled = standardize and inputs == "features" and d > 0
        scaling = Scaling.of(X, np.ones(n)) if scaled else Scaling.none(d)
        X = scaling(X)
        twin = np.arange(n)
        if not numbered:
            _, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
            twin = first[place.ravel()]
        return cls(X, scaling, inputs == "gram", numbered, twin)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    def inputs(self, which: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Kernel inputs of some items, beside those of the items ``seen``."""
        X = self.X[np.ix_(which, seen)] if self.gram else self.X[which]
        return np.column_stack([X, self.twin[which]]) if self.numbered else X

    def new(self, X: np.ndarray) -> np.ndarray:
        """Kernel inputs of items that are not in the catalogue, from their features."""
        X = self.scaling(X)
        return np.column_stack([X, np.full(len(X), -1.0)]) if self.numbered else X

    def covariance(self, kernel: Kernel, which: np.ndarray) -> np.ndarray:
        """Prior covariance among some items."""
        return kernel(self.inputs(which, which))

    def variances(self, kernel: Kernel, which: np.ndarray) -> np.ndarray:
        """Prior variance of some items."""
        if self.gram:  # a kernel of given covariances knows no variance but its diagonal's
            return np.diagonal(self.covariance(kernel, which))
        return kernel.diag(self.inputs(which, which))

    def differences(self, kernel: Kernel, which: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Prior variances of differences between items ``which[place]``, shape (m,)."""
        own = self.variances(kernel, which)[place].sum(axis=1)
        if self.gram:
            left, right = which[place].T
            return own - 2.0 * self.X[left, right]
        return own - 2.0 * paired(kernel, self.inputs(which, which), place)


def paired(kernel: Kernel, Z: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Prior covariance of the two inputs of each pair ``Z[place]``, shape (m,)."""
    # A kernel gives whole blocks; narrow ones waste little.
    blocks = gen_batches(len(place), _BLOCK)
    found = [np.diagonal(kernel(*Z[place[block].T])) for block in blocks]
    return np.concatenate([np.zeros(0), *found])


def _read(items: Any, inputs: str, largest: int | None) -> np.ndarray:
    if items is None:
        if largest is None:
            raise ValueError("there are no pairs, so nothing says how many items there are.")
        return np.empty((largest + 1, 0))
    if isinstance(items, Integral):
        if items < 1:
            raise ValueError(f"items={items} is a count of items; wanted 1 or more.")
        return np.empty((int(items), 0))
    finite = "allow-nan" if inputs == "ratings" else True
    X = check_array(items, dtype=np.float64, ensure_all_finite=finite, input_name="items")
    if inputs == "gram" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"items has shape {X.shape}, but with kernel='precomputed' it is the (n, n) matrix "
            "of covariances between all items; pass that, or a kernel of features."
        )
    return X
