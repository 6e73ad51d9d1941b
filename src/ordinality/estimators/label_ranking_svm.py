"""Constraint classification: a support vector machine that ranks labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ..svm.kernel_rows import kernel_rows
from ..svm.pairs import EdgeRows, edges_of
from .base_gp import Scaling
from .base_svm import ComparisonMachine, chosen
from .fitting import atomic, check_weights
from .label_graphs import LabelRanker

__all__ = ["LabelRankingSVM"]

_BATCH = 2000  # rows whose scores are computed at once


class LabelRankingSVM(LabelRanker, ComparisonMachine):
    """Support vector machine that ranks labels for each input (constraint classification).

    Every label has a score, a function of the input. Where a ranking places label a before b,
    the score of a should exceed that of b by one; what lacks costs C.

    Parameters
    ----------
    C : float, default=1.0
        Price of what a difference of scores lacks to one.
    kernel : {"rbf", "linear", "poly", "precomputed"}, callable or kernel, default="rbf"
        As for `OrdinalSVM`.
    gamma, degree, coef0, standardize, tol, max_iter, cache_size, verbose
        As for `OrdinalSVM`.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
        Labels: 0 .. L - 1 for columns of rankings, or the distinct class labels.
    dual_coef_ : ndarray of shape (n, L)
        Weight of each training row's kernel in the score of each label.
    n_support_ : int
        Preferences that matter.
    dual_objective_, duality_gap_ : float
    n_iter_ : int
        Steps of the solver.
    converged_ : bool

    References
    ----------
    Har-Peled, Roth & Zimak (2002), "Constraint classification", ALT.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import LabelRankingSVM
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> Y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, np.nan, 1]]  # 1 is the best
    >>> LabelRankingSVM(kernel="linear").fit(X, Y).predict([[-3.0], [3.0]])
    array([[1, 2, 3],
           [3, 2, 1]])
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        standardize: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1_000_000,
        cache_size: float = 256,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.verbose = verbose

    @atomic
    def fit(self, X: Any, Y: Any, *, sample_weight: Any = None) -> Self:
        """Learn a score for each label.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Or the (n, n) kernel matrix if that is precomputed.
        Y : array-like of shape (n, L) or (n,)
            Ranks of the labels, 1 for the best; equal ranks say nothing about two labels, and
            NaN nothing about one. Or a class label for each row, preferred to all others.
        sample_weight : array-like of shape (n,), default=None
            Multiplies C for each row.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64)
        weights = check_weights(sample_weight, len(X))
        ranks = self._ranks(Y, len(X))
        kept = np.flatnonzero(weights > 0)
        at, better, worse = edges_of(ranks[kept])
        if not len(at):
            raise ValueError(
                "Y states no preference: no row ranks one label before another, so there is "
                "nothing to learn from."
            )
        inputs = chosen(self.kernel).inputs
        gram = chosen(self.kernel)(X) if inputs == "gram" else None
        scaled = self.standardize and inputs == "features"
        self._scaling = (
            Scaling.of(X[kept], weights[kept]) if scaled else Scaling.none(X.shape[1])
        )
        Z = self._scaling(X[kept]) if gram is None else gram[np.ix_(kept, kept)]
        self._kernel = self._kernel_of(Z, weights[kept])
        rows = kernel_rows(self._kernel, Z, self._cache_bytes())
        edges = EdgeRows(rows, len(self.classes_), at, better, worse)
        found = self._solve(weights[kept][at], edges)
        self.dual_coef_ = np.zeros((len(X), len(self.classes_)))
        self.dual_coef_[kept] = edges.gathered(found.beta)
        self._support = np.flatnonzero(np.any(self.dual_coef_ != 0, axis=1))
        self._vectors = self._scaling(X[self._support]) if gram is None else None
        return self

    def scores(self, X: Any) -> np.ndarray:
        """Score of each label, the larger the better.

        Parameters
        ----------
        X : array-like of shape (q, d)
            Kernel values with the training rows, (q, n), if the kernel is precomputed.

        Returns
        -------
        scores : ndarray of shape (q, L)
            Columns in the order of ``classes_``; known up to a shift of each row.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        coefficients = self.dual_coef_[self._support]
        if self._vectors is None:
            return X[:, self._support] @ coefficients
        scores = np.empty((len(X), len(self.classes_)))
        for batch in gen_batches(len(X), _BATCH):
            scores[batch] = self._kernel(self._scaling(X[batch]), self._vectors) @ coefficients
        return scores

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Share of the preferences in Y that are predicted rightly.

        Parameters
        ----------
        X : array-like of shape (q, d)
        Y : array-like of shape (q, L) or (q,)
            As for `fit`.
        sample_weight : array-like of shape (q,), default=None

        Returns
        -------
        score : float
        """
        scores = self.scores(X)
        at, better, worse = edges_of(_stars(Y, self.classes_, len(scores)))
        weights = check_weights(sample_weight, len(scores))[at]
        return float(np.average(scores[at, better] > scores[at, worse], weights=weights))

    def _ranks(self, Y: Any, n: int) -> np.ndarray:
        """Learn what the labels are, and read Y as rankings."""
        shape = np.shape(Y)
        if len(shape) == 1:
            self.classes_ = np.unique(np.asarray(Y))
        elif len(shape) == 2:
            self.classes_ = np.arange(shape[1])
        if len(shape) not in (1, 2) or len(self.classes_) < 2:
            raise ValueError(
                f"Y has shape {shape} and fewer than two labels; wanted ranks of shape (n, L), "
                "or a label for each row."
            )
        return _stars(Y, self.classes_, n)


def _stars(Y: Any, classes: np.ndarray, n: int) -> np.ndarray:
    """Rankings (n, L); of a class label one in which it comes before all others."""
    array = np.asarray(Y)
    if len(array) != n:
        raise ValueError(f"Y has {len(array)} rows and X has {n}; wanted as many in each.")
    if array.ndim == 1:
        unknown = ~np.isin(array, classes)
        if np.any(unknown):
            raise ValueError(
                f"Y holds {array[unknown][0]!r}, which is not one of the labels learnt, "
                f"{classes.tolist()}."
            )
        return np.where(array[:, None] == classes, 1.0, 2.0)
    if array.shape[1] != len(classes):
        raise ValueError(
            f"Y has {array.shape[1]} columns, but there are {len(classes)} labels."
        )
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("Y must hold ranks, numbers of which 1 is the best, or NaN.") from None
