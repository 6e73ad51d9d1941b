"""Missing entries filled in by a matrix of low rank."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..lowrank import low_rank, row_coefficients
from ._atomic import atomic
from ._progress import FitLog
from ._validation import check_positive, check_whole

__all__ = ["LowRankImputer"]


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
