"""Missing entries filled in by a matrix of low rank."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .fit_log import FitLog
from .fitting import atomic, check_positive, check_whole

__all__ = ["LowRank", "LowRankImputer", "low_rank", "row_coefficients"]


class LowRankImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing entries from the nearest matrix of low rank.

    Ratings of films by people are the case in mind: films differ in a few ways, people care for
    these differently, and the products of the two fill the holes. The approximation counts only
    the entries that are there and is found by expectation-maximisation (Srebro & Jaakkola,
    2003); Chu & Ghahramani (2005) use rank 2. What was observed is left as it is.

    Parameters
    ----------
    rank : int, default=2
        Of the approximation; no more than rows or columns count. A high rank fits the entries
        that are there closely and may fill the others wildly.
    tol : float, default=1e-5
        Stop when an iteration changes the approximation by less than this share of its length.
    max_iter : int, default=1000
    random_state : int, RandomState or None, default=0
        Of the search for the first subspace, which the result hardly depends on.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    components_ : ndarray of shape (rank, d)
        Orthonormal patterns over the columns, the strongest first.
    singular_values_ : ndarray of shape (rank,)
    coefficients_ : ndarray of shape (rank,)
        Mean coefficients of the training rows, which a row without entries is given.
    objective_ : ndarray of shape (n_iter_ + 1,)
        Weighted squares left after each iteration, never increasing.
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import LowRankImputer
    >>> stars = np.array([[1, 2, 3], [2, 4, np.nan], [3, np.nan, 9], [np.nan, 2, 3]])
    >>> LowRankImputer(rank=1, tol=1e-8).fit_transform(stars).round(4)
    array([[1., 2., 3.],
           [2., 4., 6.],
           [3., 6., 9.],
           [1., 2., 3.]])
    """

    def __init__(
        self,
        rank: int = 2,
        *,
        tol: float = 1e-5,
        max_iter: int = 1000,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.rank = rank
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, y: Any = None, *, weights: Any = None) -> Self:
        """Find the patterns over the columns.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN marks a missing entry.
        y : None
            Ignored.
        weights : array-like of shape (n, d), optional
            How much each entry counts, zero or above.

        Returns
        -------
        self : LowRankImputer
        """
        check_whole(self, rank=1, max_iter=1)
        check_positive(self, "tol")
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        log = FitLog(self)
        found = low_rank(
            X, self.rank, weights=weights, tol=self.tol, max_iter=self.max_iter, seed=seed,
            tell=partial(log.step, "iteration %d: objective %.6g") if log.wanted else None,
        )  # fmt: skip
        log.stage("%d iterations: objective %.6g", found.n_iter, found.objective[-1])
        self.components_, self.singular_values_ = found.V.T.copy(), found.S
        self.coefficients_ = (found.U * found.S).mean(axis=0)
        self.objective_, self.converged_ = found.objective, found.converged
        self.n_iter_ = found.n_iter
        if not found.converged:
            warnings.warn(
                f"the approximation of rank {len(found.S)} was still moving after "
                f"{found.n_iter} iterations; where a row or column has hardly more entries "
                "than the rank it may never settle. Raise max_iter or tol, or lower rank.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Fill what is missing by least squares of what is there on the patterns.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN marks a missing entry.

        Returns
        -------
        X : ndarray of shape (n, d)
            Without NaN.
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False, copy=True
        )
        missing = np.isnan(X)
        holes = np.flatnonzero(missing.any(axis=1))
        if len(holes):
            V = self.components_.T
            c = row_coefficients(X[holes], V, around=self.coefficients_)
            X[missing] = (c @ self.components_)[missing[holes]]
        return X

    def __sklearn_tags__(self) -> Any:
        """A transformer that takes missing entries."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


# ----------------------------------------------------------------
# Weighted low-rank approximation of a partly observed matrix.
#
# Find the matrix X of rank r that makes ``sum_ij W_ij (A_ij - X_ij)^2`` least, where W_ij is
# one for an entry that was observed and zero for one that was not. Without weights the
# singular value decomposition answers; with them there is no closed form, and Srebro &
# Jaakkola (2003) take A for a blend of what was observed and of what X says, which is
# expectation-maximisation:
#
#     Z = W * A + (1 - W) * X          fill in what is missing with the current approximation
#     X = best rank-r matrix for Z     truncated singular values
#
# The second line is costly and need not be exact: one step of block power iteration from the
# last subspace lowers ``|Z - X|^2``, and so the objective. Chu & Ghahramani (2005), section
# 6.3, fill in the ratings of films in this way with rank 2.


Floats = NDArray[np.float64]


START_STEPS = 12  # power iterations for the subspace to start from, more columns than needed


OVERSAMPLED = 8


# A step starts beyond X by a share of the last change, which grows by this share of what it
# lacks to one. On ratings of films a fifth to a quarter of the iterations of plain EM remain.
GATHERED = 0.15


_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class LowRank:
    """``U * S @ V.T``, and how it was found."""

    U: Floats  # (m, r), orthonormal columns
    S: Floats  # (r,), descending
    V: Floats  # (n, r), orthonormal columns
    objective: (
        Floats  # (n_iter + 1,), never increasing: at the start, then after each iteration
    )
    converged: bool
    n_iter: int

    def matrix(self) -> Floats:
        """The approximation, (m, n)."""
        return (self.U * self.S) @ self.V.T


def low_rank(
    A: ArrayLike,
    rank: int,
    *,
    weights: ArrayLike | None = None,
    tol: float = 1e-5,
    max_iter: int = 1000,
    seed: int | np.random.Generator = 0,
    tell: Callable[[int, float], None] | None = None,
) -> LowRank:
    """Approximate a matrix with missing entries by one of low rank."""
    observed, W, scale = _checked(A, rank, weights)
    X, V = _start(observed, W, min(rank, *observed.shape), np.random.default_rng(seed))
    history = [_objective(observed, W, X)]
    floor = _EPS * float(np.vdot(W * observed, observed))  # rounding of the squares
    last, ahead, n_iter, converged = X, 0.0, 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        for push in dict.fromkeys((ahead, 0.0)):  # from beyond X, else from X itself
            new, new_V = _step(observed, W, X + push * (X - last), V)
            value = _objective(observed, W, new)
            if value <= history[-1]:
                break
        else:  # no step from X lowers the objective: nothing but rounding is left
            new, new_V, value = X, V, history[-1]
        last, X, V = X, new, new_V
        history.append(value)
        if tell is not None:
            tell(n_iter, value * scale)
        still = np.linalg.norm(X - last) <= tol * np.linalg.norm(X)
        converged = bool(still or value <= floor)
        ahead = push + (1.0 - push) * GATHERED
    return _result(X, V, np.array(history) * scale, converged, n_iter)


def _checked(
    A: ArrayLike, rank: int, weights: ArrayLike | None
) -> tuple[Floats, Floats, float]:
    """Entries with zero where missing, weights in [0, 1], and what these were divided by."""
    given = np.array(A, dtype=np.float64)
    if given.ndim != 2 or not given.size:
        raise ValueError(f"A has shape {given.shape}; pass a matrix with rows and columns.")
    if rank != int(rank) or rank < 1:
        raise ValueError(f"rank={rank!r} must be a whole number, 1 or more.")
    present = ~np.isnan(given)
    if not np.all(np.isfinite(given[present])):
        raise ValueError("A holds infinite entries; mark missing ones by NaN.")
    W = present.astype(np.float64)
    if weights is not None:
        cells = np.asarray(weights, dtype=np.float64)
        if cells.shape != given.shape:
            raise ValueError(
                f"weights have shape {cells.shape} and A {given.shape}; pass one weight for "
                "each entry."
            )
        W = np.where(present, cells, 0.0)
        if not np.all((W >= 0) & (np.inf > W)):
            raise ValueError("weights hold negative, infinite or missing values.")
    most = float(W.max())
    if most == 0:
        raise ValueError("A has no entry that counts; at least one must be observed.")
    given[~present] = 0.0
    return given, W / most, most


def _start(A: Floats, W: Floats, rank: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Best approximation of the matrix whose holes are filled by means of rows and columns."""
    total = W.sum()
    grand = np.vdot(W, A) / total
    of_row, of_column = W.sum(axis=1), W.sum(axis=0)
    row = np.where(of_row > 0, (W * A).sum(axis=1) / np.where(of_row > 0, of_row, 1.0), grand)
    column = np.where(
        of_column > 0, (W * A).sum(axis=0) / np.where(of_column > 0, of_column, 1.0), grand
    )
    means = row[:, None] + column[None, :] - grand
    Z = means + W * (A - means)
    block = min(rank + OVERSAMPLED, *A.shape)
    V = np.linalg.qr(rng.standard_normal((A.shape[1], block)))[0]
    for _ in range(START_STEPS):
        Q = np.linalg.qr(Z @ V)[0]
        V = np.linalg.qr(Z.T @ Q)[0]
    _, _, vt = np.linalg.svd(Z @ V, full_matrices=False)
    V = V @ vt[:rank].T
    return (Z @ V) @ V.T, V


def _step(A: Floats, W: Floats, X: Floats, V: Floats) -> tuple[Floats, Floats]:
    """Fill in with X, then one power iteration from the subspace V.

    Least squares of Z on V, then of Z' on the columns found: neither raises ``|Z - X|``.
    """
    Z = A - X
    Z *= W
    Z += X
    Q = np.linalg.qr(Z @ V)[0]
    B = Z.T @ Q
    return Q @ B.T, np.linalg.qr(B)[0]


def _objective(A: Floats, W: Floats, X: Floats) -> float:
    residual = A - X
    return float(np.einsum("ij,ij,ij->", W, residual, residual))


def _result(X: Floats, V: Floats, history: Floats, converged: bool, n_iter: int) -> LowRank:
    U, S, vt = np.linalg.svd(X @ V, full_matrices=False)  # V spans the rows of X
    return LowRank(U, S, V @ vt.T, history, converged, n_iter)


def row_coefficients(rows: ArrayLike, V: Floats, *, around: ArrayLike | None = None) -> Floats:
    """Coefficients c with which ``V @ c`` comes nearest to the observed entries of each row."""
    given = np.asarray(rows, dtype=np.float64)
    present = ~np.isnan(given)
    centre = np.zeros(V.shape[1]) if around is None else np.asarray(around, dtype=np.float64)
    residual = np.where(present, given - V @ centre, 0.0)
    r = V.shape[1]
    outer = (V[:, :, None] * V[:, None, :]).reshape(len(V), r * r)
    gram = (present @ outer).reshape(len(given), r, r)
    # Squared singular values: below about n eps they are rounding, not information.
    inverse = np.linalg.pinv(gram, rcond=len(V) * _EPS, hermitian=True)
    return centre + np.einsum("ijk,ik->ij", inverse, residual @ V)
