"""Jeffreys' prior for a cumulative link model: estimates that are finite under separation.

The log-likelihood gains ``log det I / 2``, where I is the expected information of all
parameters. That takes away most of the bias of few rows, and the maximum is finite where that
of the likelihood is not. With the derivatives D of the standardised thresholds T, the density f
and the probabilities P of the levels,

    dP_k = f(T_k) D_k - f(T_k-1) D_k-1 ,   I = sum over rows and levels of dP_k dP_k' / P_k

and steps are I^-1 times the gradient (Fisher scoring).

Firth (1993), "Bias reduction of maximum likelihood estimates", Biometrika 80.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve

from .newton import Maximum, damped_cholesky, maximise
from .rows import Expansion, Rows

__all__ = ["jeffreys_maximum"]

_BLOCK = 1 << 20  # numbers of an array of derivatives


def jeffreys_maximum(
    rows: Rows, tol: float, max_iter: int, tell: Callable[[int, float, float], None] | None
) -> Maximum:
    """Maximise the penalised log-likelihood; the evaluation is that of the likelihood."""
    # Scoring converges linearly: what is left may be ten times the last step.
    found = maximise(
        rows, tol=0.01 * tol, max_iter=max_iter, tell=tell,
        evaluate=lambda vector: _penalised(rows, vector),
    )  # fmt: skip
    return replace(found, evaluation=rows.evaluate(found.vector))


def _penalised(rows: Rows, vector: np.ndarray) -> Expansion | None:
    """Penalised log-likelihood with its gradient, and the expected information."""
    own = rows.evaluate(vector)
    if own is None:
        return None
    information = np.zeros((len(vector), len(vector)))
    for v, D, f, _, P in _derivatives(rows, vector):
        dP = _by_level(f, D)
        information += np.einsum("n,nkp,nkq->pq", v, dP / P, dP, optimize=True)
    (factor, lower), singular = damped_cholesky(information)
    if singular:
        return None
    inverse, gradient = cho_solve((factor, lower), np.eye(len(vector))), own.gradient.copy()
    for v, D, f, df, P in _derivatives(rows, vector):
        dP = _by_level(f, D)
        S = (dP / P) @ inverse
        h = np.einsum("nkp,nkp->nk", S, dP / P)
        along = np.einsum("nkp,nkp->nk", D, S[:, :-1] - S[:, 1:])
        gradient += np.einsum(
            "n,nk,nkp->p", v, df * along + 0.5 * f * np.diff(h, axis=1), D, optimize=True
        )
    value = own.value + float(np.sum(np.log(np.diagonal(factor))))
    return Expansion(value, gradient, information)


def _by_level(f: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Derivatives of the probabilities of the levels, (b, K, parameters)."""
    steps = np.pad(f[:, :, None] * D, ((0, 0), (1, 1), (0, 0)))
    return np.diff(steps, axis=1)


def _derivatives(rows: Rows, vector: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """By blocks of rows: weights, D, f and its slope at the thresholds, P with an axis more."""
    p, J, (n, d) = rows.parts(vector), rows.structure.J, rows.X.shape
    m, size = len(J), len(vector)
    step = max(1, _BLOCK // (m * size))
    for a in range(0, n, step):
        at = slice(a, a + step)
        X = rows.X[at].toarray() if sparse.issparse(rows.X) else rows.X[at]
        M = np.column_stack([np.ones(len(X)), rows.N[at]])
        T = M @ (p.A @ J.T) - (X @ p.beta + rows.offset[at])[:, None]
        D = np.empty((len(X), m, size))
        D[:, :, : size - d] = np.einsum("nj,ka->nkja", M, J).reshape(len(X), m, -1)
        D[:, :, size - d :] = -X[:, None]
        f = rows.link.pdf(T)
        edges = np.pad(T, ((0, 0), (1, 1)), constant_values=(-np.inf, np.inf))
        P = rows.link.probability(edges[:, :-1], edges[:, 1:], np.diff(edges, axis=1))
        # A level whose probability underflows has no information: f**2 / P is zero before P is.
        P = np.where(P > 0, P, np.inf)[:, :, None]
        yield rows.weights[at], D, f, f * rows.link.dlog_pdf(T), P
