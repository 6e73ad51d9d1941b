"""Constraint classification of items: support vector machines of comparisons."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array, check_is_fitted

from ..kernels.foreign import Function
from ..svm.kernel_rows import KernelRows, PairRows, kernel_rows
from .base_svm import ComparisonMachine, chosen
from .fitting import atomic, check_weights
from .preference_data import Answers, Items, answer_levels, check_pairs, encode_answers
from .svm_search import ComparisonSearch, Fold

__all__ = ["PreferenceSVM", "PreferenceSVMCV"]


_BATCH = 2000  # items whose utility is computed at once


class PreferenceSVM(ComparisonMachine):
    """Support vector machine for comparisons of items (constraint classification).

    Every item has a utility, a function of its features. Where v was preferred to u, its
    utility should exceed that of u by one; each unit below that costs C. There are no
    probabilities: see `PreferenceGP` for those.

    Parameters
    ----------
    items : array-like of shape (n, d), int or None, default=None
        Features of the items, a row each, or their (n, n) kernel matrix if that is
        precomputed; or how many items there are, if they have none, and then each has a
        utility of its own; None is as many as the pairs name.
    C : float, default=1.0
        Price of each unit that a difference of utilities lacks to one.
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
        How far a comparison may be off at the end, as a part of the margin.
    max_iter : int, default=1_000_000
        Most steps of the solver.
    cache_size : float, default=256
        MiB for rows of the kernel matrix; beyond, rows are computed again when needed.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The answers, -1 and +1.
    dual_coef_ : ndarray of shape (n,)
        Weight of each item's kernel in the utility; zero for items that do not matter.
    n_support_ : int
        Comparisons with a weight that is not zero.
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
    Har-Peled, Roth & Zimak (2002), "Constraint classification", ALT; Chu & Ghahramani (2005),
    "Preference learning with Gaussian processes", ICML.

    Examples
    --------
    >>> from ordinality import PreferenceSVM
    >>> items = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = PreferenceSVM(items, kernel="linear").fit([[3, 1], [2, 0]])
    >>> model.rank()
    array([4, 3, 2, 1])
    >>> model.predict([[0, 1], [3, 2]])
    array([-1,  1])
    """

    def __init__(
        self,
        items: Any = None,
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
        self.items = items
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
    def fit(self, pairs: Any, answers: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn utilities from comparisons.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
            Numbers of the two items compared, rows of ``items`` counted from 0.
        answers : array-like of shape (m,), default=None
            +1 if the first was preferred, -1 if the second. None: the first always was.
        sample_weight : array-like of shape (m,), default=None
            Multiplies C for each answer: 2 counts as two equal answers, 0 as none.

        Returns
        -------
        self : PreferenceSVM
            The fitted model.
        """
        self._check_parameters()
        pairs = check_pairs(pairs)
        if not len(pairs):
            raise ValueError("there are no pairs to learn from; pass at least one comparison.")
        inputs = chosen(self.kernel).inputs
        self._items = Items.of(self.items, pairs, inputs, self.standardize, numbered=False)
        self.classes_, self.n_features_in_ = answer_levels(1, ties=False), 2
        pairs = check_pairs(pairs, len(self._items))
        levels = encode_answers(answers, len(pairs), self.classes_)
        weights = check_weights(sample_weight, len(pairs))
        said = Answers.of(np.zeros(len(pairs), dtype=int), pairs, levels, weights, 2)
        winners = np.where(said.level == 1, *said.items.T)
        losers = np.where(said.level == 1, *said.items.T[::-1])
        X, self._kernel = self._kernel_inputs()
        rows = kernel_rows(self._kernel, X, self._cache_bytes())
        pair_rows = PairRows(rows, winners, losers)
        found = self._solve(said.weight, pair_rows)
        self.dual_coef_ = pair_rows.gathered(found.beta)
        self._scores = rows.times(self.dual_coef_)
        return self

    def utility(self, X: Any = None) -> np.ndarray:
        """Utility of items: of all of them, or of new ones with features X.

        Parameters
        ----------
        X : array-like of shape (q, d), default=None
            Kernel values with all items, (q, n), if the kernel is precomputed.

        Returns
        -------
        utility : ndarray of shape (n,) or (q,)
            Known up to a shift.
        """
        check_is_fitted(self)
        if X is None:
            return self._scores.copy()
        items = self._items
        if not items.X.shape[1]:
            raise ValueError(
                "the items have no features, so nothing is known of new ones; fit the model to "
                "features of the items."
            )
        X = check_array(X, dtype=np.float64, input_name="X")
        if X.shape[1] != items.X.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} columns, but the items have {items.X.shape[1]}; pass the "
                "same columns in the same order."
            )
        if items.gram:
            return X @ self.dual_coef_
        known, utility = np.flatnonzero(self.dual_coef_), np.zeros(len(X))
        for batch in gen_batches(len(X), _BATCH):
            cross = self._kernel(items.scaling(X[batch]), items.X[known])
            utility[batch] = cross @ self.dual_coef_[known]
        return utility

    def rank(self, X: Any = None) -> np.ndarray:
        """Place of each item by utility, 1 for the best.

        Parameters
        ----------
        X : array-like of shape (q, d), default=None
            Features of new items; None ranks all items of the model.

        Returns
        -------
        rank : ndarray of int, shape (n,) or (q,)
            Of two items with equal utilities the first has the better place.
        """
        order = np.argsort(-self.utility(X), kind="stable")
        return 1 + np.argsort(order)

    def decision_function(self, pairs: Any) -> np.ndarray:
        """Utility of the first item of each pair minus that of the second.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
            Numbers of the two items of each pair.

        Returns
        -------
        difference : ndarray of shape (m,)
            Above zero where the first item is preferred.
        """
        check_is_fitted(self)
        first, second = check_pairs(pairs, len(self._items)).T
        return self._scores[first] - self._scores[second]

    def predict(self, pairs: Any) -> np.ndarray:
        """Answer to each pair: +1 if the first item has the larger utility, else -1.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
            Numbers of the two items of each pair.

        Returns
        -------
        answers : ndarray of shape (m,)
            Of ``classes_``.
        """
        return np.where(self.decision_function(pairs) > 0, 1, -1)

    def score(self, pairs: Any, answers: Any = None, sample_weight: Any = None) -> float:
        """Share of answers predicted correctly.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
            Numbers of the two items of each pair.
        answers : array-like of shape (m,), default=None
            The true answers. None: the first always won.
        sample_weight : array-like of shape (m,), default=None
            Weights of the answers.

        Returns
        -------
        score : float
            Between 0 and 1.
        """
        predicted = self.predict(pairs)
        truth = self.classes_[encode_answers(answers, len(predicted), self.classes_)]
        weights = check_weights(sample_weight, len(predicted))
        return float(np.average(predicted == truth, weights=weights))

    def _kernel_inputs(self) -> tuple[np.ndarray, Any]:
        """Rows of the items and a kernel of these; items without features are their numbers."""
        X = self._items.X
        if not X.shape[1]:
            return np.arange(len(X), dtype=float)[:, None], Function(_same_item)
        if self._items.gram:
            chosen(self.kernel)(X)  # refuses what is not a kernel matrix
        return X, self._kernel_of(X, np.ones(len(X)))


def _same_item(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Kernel of items without features: one of an item with itself, else zero."""
    return (X == Y.T).astype(np.float64)


class PreferenceSVMCV(ComparisonSearch, PreferenceSVM):
    """`PreferenceSVM` with C and the width of the kernel chosen by cross-validation.

    The paper's search: a grid of whole powers of ten for C and for kappa, where the kernel is
    ``exp(-kappa / 2 |x - x'|^2)``, then a finer grid in steps of 0.2 of the logarithm around
    the best point. Of equally good points of the last grid the smallest C is taken, then the
    smallest kappa. Other kernels than "rbf" are taken as they are, and only C is searched.

    Parameters
    ----------
    items : array-like of shape (n, d), int or None, default=None
        As for `PreferenceSVM`.
    kernel : {"rbf", "linear", "poly", "precomputed"}, callable or kernel, default="rbf"
        As for `OrdinalSVM`.
    cv : int, splitter or iterable of splits, default=5
        Folds of the comparisons. A number takes them in their order; pass
        ``KFold(5, shuffle=True)`` where that order means something.
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
        Whether features are scaled to mean 0 and standard deviation 1 over all items.
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
        Mean share of held-out comparisons predicted correctly there.
    cv_results_ : dict of ndarray
        A column for each of "C", "kappa", "gamma", "stage" ("coarse" or "fine"),
        "mean_test_score", "std_test_score", "mean_n_iter" and "converged".
    classes_, dual_coef_, n_support_, dual_objective_, duality_gap_, n_iter_, converged_
        As for `PreferenceSVM`, of the last fit to all comparisons.

    References
    ----------
    Chu & Ghahramani (2005), "Preference learning with Gaussian processes", ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import PreferenceSVMCV
    >>> rng = np.random.default_rng(0)
    >>> items = rng.normal(size=(30, 2))
    >>> pairs = rng.permuted(np.tile(np.arange(30), (60, 1)), axis=1)[:, :2]
    >>> answers = np.where(items[pairs[:, 0], 0] > items[pairs[:, 1], 0], 1, -1)
    >>> model = PreferenceSVMCV(items, log_C=(0, 2), log_kappa=(-2, 0), fine_steps=0)
    >>> model.fit(pairs, answers).score(pairs, answers) > 0.9
    True
    >>> model.cv_results_["C"].shape
    (9,)
    """

    def __init__(
        self,
        items: Any = None,
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
        self.items = items
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
    def fit(self, pairs: Any, answers: Any = None, *, sample_weight: Any = None) -> Self:
        """Choose C and the width, then learn utilities from all comparisons.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
            Numbers of the two items compared, rows of ``items`` counted from 0.
        answers : array-like of shape (m,), default=None
            +1 if the first was preferred, -1 if the second. None: the first always was.
        sample_weight : array-like of shape (m,), default=None
            Multiplies C for each answer, in training and in the score of held-out answers.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_search()
        checked = check_pairs(pairs)
        if not len(checked):
            raise ValueError("there are no pairs to learn from; pass at least one comparison.")
        inputs = chosen(self.kernel).inputs
        items = Items.of(self.items, checked, inputs, self.standardize, numbered=False)
        checked = check_pairs(pairs, len(items))
        level = encode_answers(answers, len(checked), answer_levels(1, ties=False))
        weights = check_weights(sample_weight, len(checked))
        self._data = _Comparisons(items.X, checked, level, weights)
        splits = self._indices(level, weights, False)
        self._fit_best(splits, pairs, answers, sample_weight=sample_weight)
        return self

    def _machine(self, C: float, gamma: Any, **changes: Any) -> PreferenceSVM:
        kept = PreferenceSVM().get_params(deep=False)
        given = {k: v for k, v in self.get_params(deep=False).items() if k in kept}
        return PreferenceSVM(**{**given, "C": C, "gamma": gamma, **changes})

    @property
    def _wide(self) -> bool:  # items without features have no distances
        return super()._wide and self._data.X.shape[1] > 0

    def _at(self, kappa: float) -> Any:
        """The (m, m) kernel of all comparisons at one width; the width itself if too large."""
        dense = 8 * len(self._data.level) ** 2 <= self.cache_size * 2**20
        return self._data.gaussian(kappa) if self._wide and dense else kappa

    def _fold(self, at: Any, split: Any) -> Fold | None:
        if not isinstance(at, np.ndarray):
            return None
        train, test = split
        across, held_out = at[np.ix_(test, train)], self._data.weights[test]

        def share(beta: np.ndarray) -> float:
            return float(np.average(across @ beta > 0, weights=held_out))

        return Fold(at[np.ix_(train, train)], self._data.weights[train], share)

    def _share(self, machine: Any, split: Any) -> float:
        (pairs, said, weight), left = (self._data.part(rows) for rows in split)
        return float(machine.fit(pairs, said, sample_weight=weight).score(*left))


class _Comparisons:
    """Comparisons with their items, ready for the folds."""

    def __init__(
        self, X: np.ndarray, pairs: np.ndarray, level: np.ndarray, weights: np.ndarray
    ) -> None:
        self.X, self.pairs, self.level, self.weights = X, pairs, level, weights
        self._squares: np.ndarray | None = None

    def part(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs, answers and weights of some."""
        return self.pairs[rows], 2 * self.level[rows] - 1, self.weights[rows]

    def gaussian(self, kappa: float) -> np.ndarray:
        """Kernel of all comparisons, from distances of the items that occur, computed once."""
        seen, place = np.unique(self.pairs, return_inverse=True)
        if self._squares is None:
            self._squares = euclidean_distances(self.X[seen], squared=True)
        first, second = place.reshape(-1, 2).T
        won = self.level == 1
        items = KernelRows.of_matrix(np.exp(-0.5 * kappa * self._squares))
        rows = PairRows(items, np.where(won, first, second), np.where(won, second, first))
        every = np.arange(len(rows))
        return rows.block(every, every)
