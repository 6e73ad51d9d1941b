"""Columns that are linear combinations of a constant and of columns before them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["independent_columns"]

# Relative size of what is left of a column. Products X'X square the condition, so they decide
# only to 1e-7; they are enough to see that no column is near the others.
_TOLERANCE = 1e-9
_TOLERANCE_SPARSE = 1e-6
_CLEAR = 1e-6
_BLOCK = 1 << 20


def independent_columns(X: Any, *, constant: bool = True) -> np.ndarray:
    """Whether each column says something new, shape (d,); of two equal ones the first does.

    Columns should be scaled to like size. Sparse ones are not made dense.
    """
    n, d = X.shape
    if not d:
        return np.zeros(0, dtype=bool)
    sums = np.asarray(X.sum(axis=0)).ravel()
    gram = X.T @ X
    gram = gram.toarray() if hasattr(gram, "toarray") else gram
    if constant:
        gram = np.block([[np.full((1, 1), float(n)), sums[None]], [sums[:, None], gram]])
    size = np.sqrt(np.diagonal(gram))
    size = np.where(size > 0, size, 1.0)
    correlation = gram / size[:, None] / size
    values, vectors = np.linalg.eigh(correlation)
    if values[0] > _CLEAR:
        return np.ones(d, dtype=bool)
    if hasattr(X, "toarray"):
        # A square root of the correlations has the same geometry, to the digits they have.
        R = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return _first_of_each(R, _TOLERANCE_SPARSE)[int(constant) :]
    return _first_of_each(_triangle(X, constant), _TOLERANCE)[int(constant) :]


def _triangle(X: np.ndarray, constant: bool) -> np.ndarray:
    """R of a QR factorisation of the columns, by blocks of rows."""
    step = max(_BLOCK // (X.shape[1] + 1), X.shape[1] + 1)
    R = np.zeros((0, X.shape[1] + int(constant)))
    for a in range(0, len(X), step):
        block = X[a : a + step]
        if constant:
            block = np.column_stack([np.ones(len(block)), block])
        R = np.asarray(np.linalg.qr(np.vstack([R, block]), mode="r"))
    return R


def _first_of_each(R: np.ndarray, tolerance: float) -> np.ndarray:
    """Gram-Schmidt, twice for the sake of rounding, in the order of the columns."""
    basis = np.zeros((len(R), 0))
    kept = np.zeros(R.shape[1], dtype=bool)
    for j, column in enumerate(R.T):
        left = column - basis @ (basis.T @ column)
        left = left - basis @ (basis.T @ left)
        size = np.linalg.norm(left)
        kept[j] = size > tolerance * np.linalg.norm(column)
        if kept[j]:
            basis = np.column_stack([basis, left / size])
    return kept
