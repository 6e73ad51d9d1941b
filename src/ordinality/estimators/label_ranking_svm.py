"""Constraint classification: a support vector machine that ranks labels."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ..svm.kernel_rows import EdgeRows, KernelRows, kernel_rows
from .base_svm import ComparisonMachine, chosen
from .fitting import Scaling, atomic, check_weights
from .label_graphs import LabelRanker, edges_to_learn, labels_of, read_edges
from .svm_search import ComparisonSearch, Fold

__all__ = ["LabelRankingSVM", "LabelRankingSVMCV"]


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


class _Split(NamedTuple):
    train: np.ndarray
    test: np.ndarray
    edges: tuple[np.ndarray, ...]  # of the training rows
    held_out: tuple[np.ndarray, ...]
    squares: np.ndarray | None  # distances of training rows, then test rows, to training rows


class LabelRankingSVMCV(ComparisonSearch, LabelRankingSVM):
    """`LabelRankingSVM` with C and the width of the kernel chosen by cross-validation.

    The paper's search: a grid of whole powers of ten for C and for kappa, where the kernel is
    ``exp(-kappa / 2 |x - x'|^2)``, then a finer grid in steps of 0.2 of the logarithm around
    the best point. Of equally good points of the last grid the smallest C is taken, then the
    smallest kappa. Other kernels than "rbf" are taken as they are, and only C is searched.
    Features are standardised once, by all rows.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "precomputed"}, callable or kernel, default="rbf"
        As for `OrdinalSVM`.
    cv : int, splitter or iterable of splits, default=5
        Folds of the rows. A number takes them in their order, with equal parts of each class
        if Y holds class labels.
    log_C : (int, int), default=(-2, 4)
        Range of C in the coarse grid, as logarithms to base ten.
    log_kappa : (int, int), default=(-3, 3)
        Range of kappa in the coarse grid, as logarithms to base ten.
    fine_steps : int, default=4
        Points of the fine grid on either side of the best; 0 leaves it at the coarse one.
    search_max_iter : int, default=100_000
        Most steps of each fit in the search; ``cv_results_`` notes where that was too few.
    gamma : {"scale", "auto"} or float, default="scale"
        Of the polynomial kernel.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Of the polynomial kernel.
    standardize : bool, default=True
        Whether features are scaled to mean 0 and standard deviation 1.
    tol : float, default=1e-3
        Tolerance of the solver.
    max_iter : int, default=1_000_000
        Most steps of the last fit.
    cache_size : float, default=256
        Megabytes for kernel rows.
    verbose : int, default=0
        Whether fits are logged.

    Attributes
    ----------
    C_ : float
        The chosen price.
    gamma_ : float
        The chosen width, if the kernel is "rbf"; kappa is twice ``gamma_``.
    best_score_ : float
        Mean share of held-out preferences predicted correctly there.
    cv_results_ : dict of ndarray
        As for `PreferenceSVMCV`.
    classes_, dual_coef_, n_support_, dual_objective_, duality_gap_, n_iter_, converged_
        As for `LabelRankingSVM`, of the last fit to all rows.

    References
    ----------
    Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import LabelRankingSVMCV
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.digitize(X[:, 0], [-0.5, 0.5])
    >>> model = LabelRankingSVMCV(log_C=(0, 2), log_kappa=(-1, 1), fine_steps=0).fit(X, y)
    >>> model.predict([[-2.0, 0.0], [2.0, 0.0]])[:, [0, 2]]
    array([[1, 3],
           [3, 1]])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        cv: Any = 5,
        log_C: tuple[int, int] = (-2, 4),
        log_kappa: tuple[int, int] = (-3, 3),
        fine_steps: int = 4,
        search_max_iter: int = 100_000,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        standardize: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1_000_000,
        cache_size: float = 256,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.cv = cv
        self.log_C = log_C
        self.log_kappa = log_kappa
        self.fine_steps = fine_steps
        self.search_max_iter = search_max_iter
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
        """Choose C and the width, then learn a score for each label from all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Or the (n, n) kernel matrix if that is precomputed.
        Y : array-like of shape (n, L) or (n,)
            Ranks of the labels, 1 for the best, or a class label for each row; as for
            `LabelRankingSVM`.
        sample_weight : array-like of shape (n,), default=None
            Multiplies C for each row, in training and in the score of held-out rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_search()
        given = X
        X = validate_data(self, X, dtype=np.float64)
        weights = check_weights(sample_weight, len(X))
        self.classes_ = labels_of(Y, self.graph)
        read_edges(Y, self.graph, self.classes_, len(X))  # refuses what is not a ranking
        ranks = np.asarray(Y, dtype=None if np.ndim(Y) == 1 else np.float64)
        if ranks.ndim == 1:  # a class comes before every other
            ranks = np.where(ranks[:, None] == self.classes_, 1.0, 2.0)
        kept = weights > 0
        if self.standardize and chosen(self.kernel).inputs == "features" and np.any(kept):
            X = Scaling.of(X[kept], weights[kept])(X)
        self._data = X, ranks, weights
        parts = self._indices(np.asarray(Y), weights, np.ndim(Y) == 1)
        splits = [self._split(*part) for part in parts]
        splits = [s for s in splits if len(s.edges[0]) and len(s.held_out[0])]
        if not splits:
            raise ValueError(
                f"cv={self.cv!r} leaves no fold with preferences both to learn from and to "
                "predict; choose C yourself with LabelRankingSVM."
            )
        self._fit_best(splits, given, Y, sample_weight=sample_weight)
        return self

    def _machine(self, C: float, gamma: Any, **changes: Any) -> LabelRankingSVM:
        kept = LabelRankingSVM().get_params(deep=False)
        given = {k: v for k, v in self.get_params(deep=False).items() if k in kept}
        return LabelRankingSVM(**{**given, "C": C, "gamma": gamma, **changes})

    def _split(self, train: np.ndarray, test: np.ndarray) -> _Split:
        X, ranks, _ = self._data
        edges, held_out = self._edges(ranks[train]), self._edges(ranks[test])
        dense = 8 * len(edges[0]) ** 2 <= self.cache_size * 2**20
        squares = None
        if self._wide and dense and len(train):
            squares = euclidean_distances(
                np.vstack([X[train], X[test]]), X[train], squared=True
            )
        return _Split(train, test, edges, held_out, squares)

    def _edges(self, ranks: np.ndarray) -> tuple[np.ndarray, ...]:
        """Inputs, better labels and worse labels of all preferences in some rows."""
        edges = read_edges(ranks, self.graph, self.classes_, len(ranks))
        return edges.at, edges.better, edges.worse

    def _at(self, kappa: float) -> float:
        return kappa

    def _fold(self, at: Any, split: _Split) -> Fold | None:
        if split.squares is None:
            return None
        K, n, weights = np.exp(-0.5 * at * split.squares), len(split.train), self._data[2]
        inputs = KernelRows.of_matrix(K[:n])
        edges = EdgeRows(inputs, len(self.classes_), *split.edges)
        row, better, worse = split.held_out
        held_out, every = weights[split.test][row], np.arange(len(edges))

        def share(beta: np.ndarray) -> float:
            F = K[n:] @ edges.gathered(beta)
            return float(np.average(F[row, better] > F[row, worse], weights=held_out))

        return Fold(edges.block(every, every), weights[split.train][split.edges[0]], share)

    def _share(self, machine: Any, split: _Split) -> float:
        X, ranks, weights = self._data
        machine.set_params(standardize=False)  # X has been, by all rows
        gram = chosen(self.kernel).inputs == "gram"
        inner, across = (
            (X[np.ix_(rows, split.train)] if gram else X[rows]) for rows in split[:2]
        )
        machine.fit(inner, ranks[split.train], sample_weight=weights[split.train])
        return float(machine.score(across, ranks[split.test], weights[split.test]))
