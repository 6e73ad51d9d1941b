"""Constraint classification: a support vector machine of comparisons of items."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array, check_is_fitted

from ..kernels.foreign import Function
from ..svm.kernel_rows import kernel_rows
from ..svm.pairs import PairRows
from .base_svm import ComparisonMachine, chosen
from .fitting import atomic, check_weights
from .preference_data import Answers, Items, answer_levels, check_pairs, encode_answers

__all__ = ["PreferenceSVM"]

_BATCH = 2000  # items whose utility is computed at once


class PreferenceSVM(ComparisonMachine):
    """Support vector machine for comparisons of items (constraint classification).

    Every item has a utility, a function of its features. Where v was preferred to u, its
    utility should exceed that of u by one; what lacks costs C. There are no probabilities:
    see `PreferenceGP` for those.

    Parameters
    ----------
    items : array-like of shape (n, d), int or None, default=None
        Features of the items, a row each, or their (n, n) kernel matrix if that is
        precomputed; or how many items there are, if they have none, and then each has a
        utility of its own; None is as many as the pairs name.
    C : float, default=1.0
        Price of what a difference of utilities lacks to one.
    kernel : {"rbf", "linear", "poly", "precomputed"}, callable or kernel, default="rbf"
        As for `OrdinalSVM`.
    gamma, degree, coef0, standardize, tol, max_iter, cache_size, verbose
        As for `OrdinalSVM`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The answers, -1 and +1.
    dual_coef_ : ndarray of shape (n,)
        Weight of each item's kernel in the utility; zero for items that do not matter.
    n_support_ : int
        Comparisons that matter.
    dual_objective_, duality_gap_ : float
    n_iter_ : int
        Steps of the solver.
    converged_ : bool

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
        self : object
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
        self._kernel = self._items_kernel()
        rows = kernel_rows(self._kernel, self._X(), self._cache_bytes())
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
        width = self._items.n_features
        if not width:
            raise ValueError("the items have no features, so nothing is known of new ones.")
        X = check_array(X, dtype=np.float64, input_name="X")
        if X.shape[1] != width:
            raise ValueError(f"X has {X.shape[1]} columns, but items have {width}.")
        if self._items.gram:
            return X @ self.dual_coef_
        known, utility = np.flatnonzero(self.dual_coef_), np.zeros(len(X))
        for batch in gen_batches(len(X), _BATCH):
            cross = self._kernel(self._items.scaling(X[batch]), self._items.X[known])
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
        rank : ndarray of int
        """
        order = np.argsort(-self.utility(X), kind="stable")
        return 1 + np.argsort(order)

    def decision_function(self, pairs: Any) -> np.ndarray:
        """Utility of the first item of each pair beyond that of the second.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)

        Returns
        -------
        difference : ndarray of shape (m,)
        """
        check_is_fitted(self)
        first, second = check_pairs(pairs, len(self._items)).T
        return self._scores[first] - self._scores[second]

    def predict(self, pairs: Any) -> np.ndarray:
        """Answer to each pair: +1 if the first item has the larger utility, else -1.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)

        Returns
        -------
        answers : ndarray of shape (m,)
        """
        return np.where(self.decision_function(pairs) > 0, 1, -1)

    def score(self, pairs: Any, answers: Any = None, sample_weight: Any = None) -> float:
        """Share of answers predicted rightly.

        Parameters
        ----------
        pairs : array-like of int, shape (m, 2)
        answers : array-like of shape (m,), default=None
            None: the first always won.
        sample_weight : array-like of shape (m,), default=None

        Returns
        -------
        score : float
        """
        predicted = self.predict(pairs)
        truth = self.classes_[encode_answers(answers, len(predicted), self.classes_)]
        weights = check_weights(sample_weight, len(predicted))
        return float(np.average(predicted == truth, weights=weights))

    def _X(self) -> np.ndarray:
        X = self._items.X
        return X if X.shape[1] else np.arange(len(X), dtype=float)[:, None]

    def _items_kernel(self) -> Any:
        X = self._X()
        if not self._items.n_features:
            return Function(_alike)
        if self._items.gram:
            chosen(self.kernel)(X)  # refuses what is no such matrix
        return self._kernel_of(X, np.ones(len(X)))


def _alike(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Kernel of items that are known by number only: one with itself, else nothing."""
    return (X == Y.T).astype(np.float64)
