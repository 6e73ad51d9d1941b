"""Constraint classification: a support vector machine that ranks labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ..svm.kernel_rows import kernel_rows
from ..svm.pairs import EdgeRows
from .base_svm import ComparisonMachine, chosen
from .fitting import Scaling, atomic, check_weights
from .label_graphs import LabelRanker, edges_to_learn, labels_of

__all__ = ["LabelRankingSVM"]

_BATCH = 2000  # rows whose scores are computed at once


class LabelRankingSVM(LabelRanker, ComparisonMachine):
    """Support vector machine that ranks labels for each input (constraint classification).

    Every label has a score, a function of the input. Where a ranking places label a before b,
    the score of a should exceed that of b by one; each unit below that costs C.

    Parameters
    ----------
    C : float, default=1.0
        Price of each unit that a difference of scores lacks to one.
    kernel : {"rbf", "linear", "poly", "precomputed"}, callable or kernel, default="rbf"
        By name, a function ``(X, Y) -> matrix``, or an object of `ordinality.kernels` or
        scikit-learn.
    gamma : {"scale", "auto"} or float, default="scale"
        Of "rbf" and "poly": ``1 / (d * X.var())`` of the standardised features, ``1 / d``, or a
        number.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial kernel.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first.
    tol : float, default=1e-3
        How far a preference may be off at the end, as a part of the margin.
    max_iter : int, default=1_000_000
        Most steps of the solver.
    cache_size : float, default=256
        MiB for rows of the kernel matrix; beyond, rows are computed again when needed.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
        Labels: 0 .. L - 1 for columns of rankings, or the distinct class labels.
    dual_coef_ : ndarray of shape (n, L)
        Weight of each training row's kernel in the score of each label.
    n_support_ : int
        Preferences with a weight that is not zero.
    dual_objective_ : float
        Value of the dual.
    duality_gap_ : float
        How far ``dual_objective_`` may be from the optimum at most.
    n_iter_ : int
        Steps of the solver.
    converged_ : bool
        Whether the solver met its tolerance.

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
        self : LabelRankingSVM
            The fitted model.
        """
        self._check_parameters()
        X = validate_data(self, X, dtype=np.float64)
        weights = check_weights(sample_weight, len(X))
        self.classes_ = labels_of(Y, self.graph)
        edges = edges_to_learn(Y, self.graph, self.classes_, weights)
        kept = np.flatnonzero(weights > 0)
        at = np.searchsorted(kept, edges.at)
        inputs = chosen(self.kernel).inputs
        gram = chosen(self.kernel)(X) if inputs == "gram" else None
        scaled = self.standardize and inputs == "features"
        self._scaling = (
            Scaling.of(X[kept], weights[kept]) if scaled else Scaling.none(X.shape[1])
        )
        Z = self._scaling(X[kept]) if gram is None else gram[np.ix_(kept, kept)]
        self._kernel = self._kernel_of(Z, weights[kept])
        rows = kernel_rows(self._kernel, Z, self._cache_bytes())
        edge_rows = EdgeRows(rows, len(self.classes_), at, edges.better, edges.worse)
        found = self._solve(weights[kept][at], edge_rows)
        self.dual_coef_ = np.zeros((len(X), len(self.classes_)))
        self.dual_coef_[kept] = edge_rows.gathered(found.beta)
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
