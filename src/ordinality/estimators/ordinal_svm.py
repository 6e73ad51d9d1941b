"""Support vector ordinal regression: four formulations, and the papers' search for C."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import metrics
from ..kernels.features import Linear
from ..svm.kernel_rows import KernelRows, kernel_rows, part
from ..svm.terms import FORMULATIONS
from .base_svm import Machine, Trained, check_shape, chosen, gamma_of
from .calibration import ScoredClassifier, fold_splits
from .fitting import (
    DistinctRows,
    FitLog,
    Scaling,
    atomic,
    check_choices,
    check_positive,
    check_weights,
    check_whole,
    rows_of,
)
from .svm_search import COSTLY, Search, coarse_to_fine, distinct_split, n_points, whole_powers
from .threads import one_pool, thread_map

__all__ = ["Given", "OrdinalSVM", "OrdinalSVMCV", "SupportVectorClassifier"]


_ENTRIES = 2**22  # of a kernel matrix at once in prediction


class Given(NamedTuple):
    """What was passed to fit: all rows, the ranks of those that count, and all weights."""

    X: np.ndarray
    ranks: np.ndarray
    weights: np.ndarray


class SupportVectorClassifier(ScoredClassifier):
    """A score that is a sum of kernels at support vectors, cut into levels by thresholds.

    Subclasses say what C and which kernel to train with (`_price_and_kernel`).
    """

    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    constraints: str
    class_weight: Any
    standardize: bool
    tol: float
    max_iter: int
    cache_size: float
    random_state: Any
    coef_: np.ndarray

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the support vectors, their weights and the thresholds.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Numbers; the (n, n) kernel matrix if the kernel is precomputed.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum.
        sample_weight : array-like of shape (n,), default=None
            Multiplies C for each row: 2 counts as two copies of a row, 0 as none.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        X, checked = validate_data(
            self, X, y, dtype=np.float64, y_numeric=False, ensure_all_finite=self._finite()
        )
        weights = check_weights(sample_weight, len(X))
        kept = np.flatnonzero(weights > 0)
        ranks = self._learn_levels(rows_of(y, checked, kept), checked)
        rows = self._prepared(X, ranks, weights, kept)
        price = self._class_factors(rows.y, rows.weights)[rows.y]
        cost = price * rows.weights
        with one_pool(len(rows)):
            C, kernel = self._price_and_kernel(rows, price, Given(X, ranks, weights))
            kernels = kernel_rows(kernel, rows.X, self._cache_bytes())
            machine = Machine.of(self.constraints, rows.y, len(self.levels_), cost)
            before = self._earlier(rows, cost, kernel)
            log = FitLog(self)
            found = machine.solve(
                kernels, C, before, **self._limits(), tell=log.solver if log.wanted else None
            )
            self._keep(found, rows, kept, kernel)
            self._remember(rows, cost, kernel, found)
            log.stage(
                "%d rows, %d steps of the solver: %d support vectors",
                *(len(rows), self.n_iter_, len(self.support_)),
            )
            self._calibrate(rows, cost, C, kernels, found)
        self._learn_decision(lambda: self._level_proba(X[kept]))
        self._warn(found)
        self._warn_of_search(cost)
        return self

    def predict_latent(self, X: Any) -> np.ndarray:
        """The score that the thresholds cut, ``sum_i dual_coef_[i] k(x, X[support_[i]])``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Or kernel values with the training rows, (n, number of training rows).

        Returns
        -------
        scores : ndarray of shape (n,)
            On the scale of ``thresholds_``.
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=np.float64, reset=False, ensure_all_finite=self._finite()
        )
        if self._vectors is None:
            return X[:, self.support_] @ self.dual_coef_
        if isinstance(self._kernel, Linear):
            return self._scaling(X) @ self.coef_
        scores = np.zeros(len(X))
        if len(self.support_):
            for batch in gen_batches(len(X), max(1, _ENTRIES // len(self.support_))):
                K = self._kernel(self._scaling(X[batch]), self._vectors)
                scores[batch] = K @ self.dual_coef_
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = self._inputs()
        tags.input_tags.pairwise = inputs == "gram"
        tags.input_tags.allow_nan = inputs == "ratings"
        return tags

    def _price_and_kernel(
        self, rows: DistinctRows, price: np.ndarray, given: Given
    ) -> tuple[float, Any]:
        """The C and the kernel to train with; slack of a row costs ``price`` at C = 1."""
        raise NotImplementedError

    def _earlier(self, rows: DistinctRows, cost: np.ndarray, kernel: Any) -> Trained | None:
        """A solution of the same problem at another price."""
        return None

    def _remember(
        self, rows: DistinctRows, cost: np.ndarray, kernel: Any, found: Trained
    ) -> None:
        """Keep what the next fit may start from."""

    def _warn_of_search(self, cost: np.ndarray) -> None:
        """Say if a search for C was cut short; ``cost`` is what slack of each row costs."""

    def _check_parameters(self) -> None:
        check_choices(self, constraints=tuple(FORMULATIONS), standardize=(True, False))
        check_positive(self, "tol", "cache_size")
        check_whole(self, degree=1, max_iter=1)
        self._check_decision()
        if self.calibration_folds is not None:
            check_whole(self, calibration_folds=2)
        chosen(self.kernel)
        check_shape(self.gamma, self.coef0)

    def _inputs(self) -> str:
        """What the kernel takes; `fit` refuses a wrong kernel."""
        try:
            return chosen(self.kernel).inputs
        except (TypeError, ValueError):
            return "features"

    def _finite(self) -> bool | str:
        return "allow-nan" if self._inputs() == "ratings" else True

    def _prepared(
        self, X: np.ndarray, ranks: np.ndarray, weights: np.ndarray, kept: np.ndarray
    ) -> DistinctRows:
        """Rows of positive weight, scaled; of a kernel matrix their columns too."""
        inputs, d = self._inputs(), X.shape[1]
        if inputs == "gram":
            gram = chosen(self.kernel)(X)  # refuses a matrix that is not square or symmetric
            self._scaling = Scaling.none(d)
            each, one = np.arange(len(kept)), np.ones(len(kept), dtype=np.int64)
            gram = gram[np.ix_(kept, kept)]
            return DistinctRows(gram, ranks, weights[kept], each, each, one)
        rows = DistinctRows.of(X[kept], ranks, weights[kept])
        scaled = self.standardize and inputs == "features"
        self._scaling = Scaling.of(rows.X, rows.weights) if scaled else Scaling.none(d)
        return replace(rows, X=self._scaling(rows.X))

    def _kernel_at(self, gamma: float) -> Any:
        return chosen(self.kernel, gamma, self.degree, self.coef0)

    def _gamma(self, rows: DistinctRows) -> float:
        return gamma_of(self.gamma, rows.X, rows.weights)

    def _cache_bytes(self) -> int:
        return int(self.cache_size * 2**20)

    def _limits(self) -> dict[str, Any]:
        return {
            "tol": self.tol,
            "max_steps": self.max_iter,
            "cache_bytes": self._cache_bytes(),
        }

    def _generator(self, purpose: int) -> np.random.Generator:
        seed = 0 if self.random_state is None else self.random_state
        return np.random.default_rng([int(check_random_state(seed).randint(2**31)), purpose])

    def _keep(self, found: Trained, rows: DistinctRows, kept: np.ndarray, kernel: Any) -> None:
        support = np.flatnonzero(found.beta)
        support = support[np.argsort(rows.first[support])]
        self.support_ = kept[rows.first[support]]
        self.dual_coef_ = found.beta[support]
        self.n_support_ = np.bincount(rows.y[support], minlength=len(self.levels_))
        self._vectors = None if self._inputs() == "gram" else rows.X[support]
        self._kernel = kernel
        if hasattr(self, "coef_"):
            del self.coef_  # of an earlier fit
        if isinstance(kernel, Linear):
            self.coef_ = kernel.relevance * (self.dual_coef_ @ rows.X[support])
        self.thresholds_, self.bands_ = found.thresholds, found.bands
        solution = found.solution
        self.dual_objective_, self.duality_gap_ = solution.objective, solution.gap
        self.n_iter_ = max(1, solution.report.n_steps)
        self.converged_ = solution.report.converged

    def _calibrate(
        self,
        rows: DistinctRows,
        cost: np.ndarray,
        C: float,
        kernels: KernelRows,
        found: Trained,
    ) -> None:
        def fit_score(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            machine = Machine.of(
                self.constraints, rows.y[train], len(self.levels_), cost[train]
            )
            # A part of the rows may need a higher price than all of them. Exactly at the
            # least price rounding would decide whether there is a solution.
            above = 1 + 1e-9  # a sum of n costs errs by n 1e-16; `tol` moves scores by 1e-3
            price = max(C, above * machine.least_C)
            fold = machine.solve(part(kernels, train), price, **self._limits())
            beta = np.zeros(len(rows))
            beta[train] = fold.beta
            return fold.scores, kernels.times(beta, test)

        self._learn_link(rows, lambda: found.scores, fit_score, self._generator(1))

    def _warn(self, found: Trained) -> None:
        if found.collapsed:
            warnings.warn(
                "the bands between levels have no width: no direction separates the levels at "
                "this C, so predictions are arbitrary. Use a smaller C.",
                UserWarning,
                stacklevel=4,
            )
        elif not self.converged_:
            warnings.warn(
                f"the solver did not converge in {self.n_iter_} steps: violation "
                f"{found.solution.report.violation:.1e} is above tol={self.tol:g}. Raise "
                "max_iter, lower C or gamma, or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )


class OrdinalSVM(SupportVectorClassifier):
    """Support vector ordinal regression: a score of large margin, cut by thresholds.

    The score is a sum of kernels at the support vectors, the training rows near or beyond a
    threshold. Rows should keep a distance of one from the thresholds; a smaller distance costs
    C times the difference. Probabilities come from a link calibrated on held-out rows.

    Parameters
    ----------
    C : float, default=1.0
        Price of slack: small for a smooth score, large for one that fits every row. For
        ``constraints="sum-of-margins"`` see the notes.
    kernel : {"rbf", "linear", "poly", "precomputed"}, callable or kernel, default="rbf"
        ``exp(-gamma |x - x'|^2)``, ``x'x``, ``(gamma x'x + coef0)^degree``; "precomputed" takes
        the (n, n) kernel matrix as X; a callable ``(X, Y) -> matrix``; or a kernel object of
        `ordinality.kernels` or scikit-learn, whose parameters are used as they are.
    gamma : {"scale", "auto"} or float, default="scale"
        ``1 / (d * X.var())`` of the standardised X, ``1 / d``, or a number. The papers' kappa
        is twice gamma.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial kernel.
    constraints : {"implicit", "explicit", "fixed-margin", "sum-of-margins"}, default="implicit"
        Which thresholds a row is compared with: all of them ("implicit", which bounds the
        absolute error); the two next to its level, kept in order ("explicit", which bounds the
        classification error) or not ("fixed-margin"); or bands between levels, the sum of whose
        widths is maximised.
    decision : {"mode", "median", "mean", "quadratic_kappa"} or array, default="mode"
        How `predict` chooses a level: the one whose thresholds enclose the score, which is also
        the most probable; the median or the rounded mean of the probabilities; or the level of
        least expected cost, where entry (i, j) is the cost of predicting level j when level i
        is true. All but the first need ``calibration_folds``.
        "quadratic_kappa" stretches the rounded mean for the largest quadratic kappa, as the
        rows of `fit` tell.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which C is multiplied; "balanced" gives every
        level the same total. Probabilities are calibrated without them.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first.
    calibration_folds : int or None, default=5
        Parts in which rows are left out in turn to calibrate probabilities; each costs one
        more fit. None: no probabilities, and `predict_proba` does not exist.
    warm_start : bool, default=False
        Whether `fit` starts from the last solution if only C has changed since.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    tol : float, default=1e-3
        How far the thresholds' brackets may overlap, as a part of the margin.
    max_iter : int, default=1_000_000
        Most steps of the solver, each of which moves two multipliers. Linear kernels of at
        most as many features as rows have another solver, of some twenty steps.
    cache_size : float, default=256
        MiB for rows of the kernel matrix; beyond, rows are computed again when needed.
    random_state : int, RandomState or None, default=None
        Chooses the folds; None is a fixed seed, so equal calls give equal models.
    n_jobs : int, default=None
        The folds of the calibration run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Ascending, on the scale of the score; equal on both sides of a level that was declared
        but not seen, infinite beyond the outermost that were.
    bands_ : ndarray of shape (K - 1, 2)
        What rows should keep out of around each threshold: one to either side, or the band of
        the sum of margins.
    support_ : ndarray of shape (n_SV,)
        Rows of X with a weight in the score; of equal rows the first stands for all.
    dual_coef_ : ndarray of shape (n_SV,)
        Their weights.
    n_support_ : ndarray of shape (K,)
        How many of them each level has.
    coef_ : ndarray of shape (d,)
        Weights of the standardised features in the score; only with a linear kernel.
    dual_objective_ : float
        Value of the dual problem.
    duality_gap_ : float
        Upper bound on the distance of ``dual_objective_`` from the optimum.
    n_iter_ : int
        Steps of the solver.
    converged_ : bool
        Whether the solver met ``tol``.
    link_ : OrdinalLink or None
        Turns scores into probabilities; has ``thresholds``, ``width`` and ``proba``.

    See Also
    --------
    OrdinalSVMCV : Chooses C and gamma by cross-validation.

    Notes
    -----
    The sum of margins has ``|w| = 1``, so C does not trade fit for smoothness: while all bands
    have a width, at most ``1 / C`` rows (by weight) lie beyond a side of a band, and at least
    ``1 / C`` on or beyond it. C times the number of rows of the lowest level, and of the
    highest, must therefore be at least one; and with a large C the bands have no width unless
    the levels can be separated.

    A fit does not depend on the order of the rows, and a weight of two is exactly the row
    twice (not with a precomputed kernel).

    References
    ----------
    Chu & Keerthi (2007), "Support vector ordinal regression", Neural Computation 19;
    Shashua & Levin (2003), "Ranking with large margin principle: two approaches", NIPS 15.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalSVM
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> y = np.array(["low", "mid", "high"])[np.digitize(np.hypot(*X.T), [0.5, 0.9])]
    >>> model = OrdinalSVM(C=10.0, levels=["low", "mid", "high"]).fit(X, y)
    >>> model.predict([[0.1, 0.1], [-0.6, 0.4], [0.9, -0.9]])
    array(['low', 'mid', 'high'], dtype='<U4')
    >>> len(model.support_) < 100
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        constraints: str = "implicit",
        decision: Any = "mode",
        class_weight: Any = None,
        standardize: bool = True,
        calibration_folds: int | None = 5,
        warm_start: bool = False,
        levels: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1_000_000,
        cache_size: float = 256,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.constraints = constraints
        self.decision = decision
        self.class_weight = class_weight
        self.standardize = standardize
        self.calibration_folds = calibration_folds
        self.warm_start = warm_start
        self.levels = levels
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self, "C")
        check_choices(self, warm_start=(True, False))

    def _price_and_kernel(
        self, rows: DistinctRows, price: np.ndarray, given: Given
    ) -> tuple[float, Any]:
        return float(self.C), self._kernel_at(self._gamma(rows))

    def _earlier(self, rows: DistinctRows, cost: np.ndarray, kernel: Any) -> Trained | None:
        before = getattr(self, "_before", None) if self.warm_start else None
        if before is None:
            return None
        old_rows, old_cost, old_kernel, constraints, found = before
        same = (
            constraints == self.constraints
            and old_kernel == kernel
            and np.array_equal(old_rows.X, rows.X)
            and np.array_equal(old_rows.y, rows.y)
            and np.array_equal(old_cost, cost)
        )
        return found if same else None

    def _remember(
        self, rows: DistinctRows, cost: np.ndarray, kernel: Any, found: Trained
    ) -> None:
        keep = (rows, cost, kernel, self.constraints, found)
        self._before = keep if self.warm_start else None


class OrdinalSVMCV(SupportVectorClassifier):
    """`OrdinalSVM` with C and the width of the kernel chosen by cross-validation.

    The papers' search: a grid of whole powers of ten for C and for kappa, where the kernel is
    ``exp(-kappa / 2 |x - x'|^2)``, then a finer grid in steps of 0.2 of the logarithm around
    the best point. Of equally good points the smallest C is taken, then the smallest kappa.
    Other kernels than "rbf" are taken as they are, and only C is searched. Features are
    standardised once, by all rows, as in the papers.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "precomputed"}, callable or kernel, default="rbf"
        ``exp(-gamma |x - x'|^2)``, ``x'x``, ``(gamma x'x + coef0)^degree``; "precomputed" takes
        the (n, n) kernel matrix as X; a callable ``(X, Y) -> matrix``; or a kernel object of
        `ordinality.kernels` or scikit-learn, whose parameters are used as they are.
    constraints : {"implicit", "explicit", "fixed-margin", "sum-of-margins"}, default="implicit"
        Which thresholds a row is compared with: all of them ("implicit", which bounds the
        absolute error); the two next to its level, kept in order ("explicit", which bounds the
        classification error) or not ("fixed-margin"); or bands between levels, the sum of whose
        widths is maximised.
    cv : int, splitter or iterable of splits, default=5
        Folds with equal parts of each level, in which equal rows stay together; or anything
        that scikit-learn takes for ``cv``.
    scoring : str, default="mae"
        Score of held-out rows to optimise: "mae", "zero_one", or another name of
        `ordinality.metrics.scorer` that takes labels.
    log_C : (int, int), default=(-3, 3)
        Range of C in the coarse grid, as logarithms to base ten.
    log_kappa : (int, int), default=(-3, 3)
        Range of kappa in the coarse grid, as logarithms to base ten.
    fine_steps : int, default=4
        Points of the fine grid on either side of the best; 0 leaves it at the coarse one.
    search_max_iter : int, default=100_000
        Most steps of each fit in the search; ``cv_results_`` notes where that was too few.
    gamma : {"scale", "auto"} or float, default="scale"
        Of the polynomial kernel, as for `OrdinalSVM`.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial kernel.
    decision : {"mode", "median", "mean", "quadratic_kappa"} or array, default="mode"
        How `predict` chooses a level: the one whose thresholds enclose the score, which is also
        the most probable; the median or the rounded mean of the probabilities; or the level of
        least expected cost, where entry (i, j) is the cost of predicting level j when level i
        is true. All but the first need ``calibration_folds``.
        "quadratic_kappa" stretches the rounded mean for the largest quadratic kappa, as the
        rows of `fit` tell.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which C is multiplied; "balanced" gives every
        level the same total. Probabilities are calibrated without them.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first.
    calibration_folds : int or None, default=5
        Parts in which rows are left out in turn to calibrate probabilities; each costs one
        more fit. None: no probabilities, and `predict_proba` does not exist.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    tol : float, default=1e-3
        How far the thresholds' brackets may overlap, as a part of the margin.
    max_iter : int, default=1_000_000
        Most steps of the solver, each of which moves two multipliers. Linear kernels of at
        most as many features as rows have another solver, of some twenty steps.
    cache_size : float, default=256
        MiB for rows of the kernel matrix; beyond, rows are computed again when needed.
    random_state : int, RandomState or None, default=None
        Chooses the folds; None is a fixed seed, so equal calls give equal models.
    n_jobs : int, default=None
        The folds of the search and of the calibration run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    C_ : float
        The C that was chosen.
    gamma_ : float
        The gamma that was chosen; kappa is twice as large.
    best_score_ : float
        Mean score of the left-out rows there, the larger the better (errors are negated).
    cv_results_ : dict of ndarray
        A column for each of "C", "kappa", "gamma", "stage" ("coarse" or "fine"), mean and
        standard deviation over folds of "mae", "zero_one" and "score" (such as
        "mean_test_mae"), "mean_n_iter" and "converged". Both errors are there whatever
        ``scoring`` is. NaN where C is too small for the sum of margins.
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Ascending, on the scale of the score; equal on both sides of a level that was declared
        but not seen, infinite beyond the outermost that were.
    bands_ : ndarray of shape (K - 1, 2)
        What rows should keep out of around each threshold: one to either side, or the band of
        the sum of margins.
    support_ : ndarray of shape (n_SV,)
        Rows of X with a weight in the score; of equal rows the first stands for all.
    dual_coef_ : ndarray of shape (n_SV,)
        Their weights.
    n_support_ : ndarray of shape (K,)
        How many of them each level has.
    coef_ : ndarray of shape (d,)
        Weights of the standardised features in the score; only with a linear kernel.
    dual_objective_ : float
        Value of the dual problem.
    duality_gap_ : float
        Upper bound on the distance of ``dual_objective_`` from the optimum.
    n_iter_ : int
        Steps of the solver.
    converged_ : bool
        Whether the solver met ``tol``.
    link_ : OrdinalLink or None
        Turns scores into probabilities; has ``thresholds``, ``width`` and ``proba``.

    References
    ----------
    Chu & Ghahramani (2005), "Gaussian processes for ordinal regression", JMLR 6;
    Chu & Keerthi (2007), "Support vector ordinal regression", Neural Computation 19.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalSVMCV
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 2))
    >>> y = np.digitize(np.hypot(*X.T), [0.5, 0.9])
    >>> model = OrdinalSVMCV(log_C=(0, 2), log_kappa=(-1, 1), fine_steps=0).fit(X, y)
    >>> model.C_, model.cv_results_["C"].shape
    (100.0, (9,))
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        constraints: str = "implicit",
        cv: Any = 5,
        scoring: str = "mae",
        log_C: tuple[int, int] = (-3, 3),
        log_kappa: tuple[int, int] = (-3, 3),
        fine_steps: int = 4,
        search_max_iter: int = 100_000,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        decision: Any = "mode",
        class_weight: Any = None,
        standardize: bool = True,
        calibration_folds: int | None = 5,
        levels: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1_000_000,
        cache_size: float = 256,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.constraints = constraints
        self.cv = cv
        self.scoring = scoring
        self.log_C = log_C
        self.log_kappa = log_kappa
        self.fine_steps = fine_steps
        self.search_max_iter = search_max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.decision = decision
        self.class_weight = class_weight
        self.standardize = standardize
        self.calibration_folds = calibration_folds
        self.levels = levels
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole(self, fine_steps=0, search_max_iter=1)
        if isinstance(self.cv, Integral):
            check_whole(self, cv=2)
        _check_scoring(self.scoring)
        for name in ("log_C", "log_kappa"):
            whole_powers(name, getattr(self, name))

    def _price_and_kernel(
        self, rows: DistinctRows, price: np.ndarray, given: Given
    ) -> tuple[float, Any]:
        wide = isinstance(self.kernel, str) and self.kernel == "rbf"
        log_C = whole_powers("log_C", self.log_C)
        log_kappa = whole_powers("log_kappa", self.log_kappa) if wide else np.array([np.nan])
        own, n_bytes, fine = self._gamma(rows), self._cache_bytes(), int(self.fine_steps)

        def kernel_at(kappa: float) -> Any:
            return self._kernel_at(0.5 * kappa if wide else own)

        search = Search(
            rows.y, len(self.levels_), self.constraints, self._splits(rows, given), price,
            rows.weights, self.scoring.replace("-", "_"), self.tol,
            min(self.search_max_iter, self.max_iter), n_bytes,
        )  # fmt: skip
        total, log = n_points(log_C, log_kappa, fine) * len(search.splits), FitLog(self)
        tried, at = coarse_to_fine(
            search, lambda kappa: kernel_rows(kernel_at(kappa), rows.X, n_bytes),
            log_C, log_kappa, fine,
            mapper=thread_map(self.n_jobs), tick=log.counter("search: fit", total),
        )  # fmt: skip
        self.C_, kappa = float(tried.C[at]), float(tried.kappa[at])
        self.gamma_ = 0.5 * kappa if wide else own
        self.best_score_ = float(tried.score[at].mean())
        self.cv_results_ = tried.columns()
        log.stage(
            "search: %d fits, C %.3g, gamma %.3g, score %.4g",
            *(total, self.C_, self.gamma_, self.best_score_),
        )
        return self.C_, kernel_at(kappa)

    def _warn_of_search(self, cost: np.ndarray) -> None:
        costly = self.cv_results_["C"] * np.max(cost) > COSTLY
        cut = int(np.sum(costly & ~self.cv_results_["converged"]))
        if cut:
            most, mean = np.max(self.cv_results_["C"]) * np.max(cost), np.mean(cost)
            warnings.warn(
                f"the search for C stopped early at {cut} of {len(costly)} points: C times the "
                f"sample weight reaches {most:.1e}, and such fits take too many steps. The "
                "best point tried is kept. Divide the weights by their mean "
                f"({mean:.2g}), or choose smaller C with log_C.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _splits(self, rows: DistinctRows, given: Given) -> list[Any]:
        """Folds of equal rows together, or those of a splitter, whose copies may part."""
        if isinstance(self.cv, Integral):
            rng = self._generator(2)
            splits: list[Any] = fold_splits(rows.y, int(self.cv), rng, rows.groups)
        else:
            kept = np.flatnonzero(given.weights > 0)
            place = np.full(len(given.X), -1)
            gram = self._inputs() == "gram"
            same = np.arange(len(kept))
            rows_given = given.X[kept], given.ranks, given.weights[kept]
            place[kept] = same if gram else DistinctRows.places(*rows_given)
            labels = np.zeros(len(given.X), dtype=np.int64)
            labels[kept] = given.ranks
            parts = check_cv(self.cv, labels, classifier=True).split(given.X, labels)
            splits = [distinct_split(place, given.weights, *part) for part in parts]
            splits = [s for s in splits if len(s[1]) and len(np.unique(rows.y[s[0]])) > 1]
        if not splits:
            raise ValueError(
                f"cv={self.cv!r} leaves no fold with two levels to learn from; there are too "
                "few distinct rows for a search, so choose C yourself with OrdinalSVM."
            )
        return splits


def _check_scoring(scoring: Any) -> None:
    name = scoring.replace("-", "_") if isinstance(scoring, str) else str(scoring)
    metrics.scorer(name)  # refuses unknown names
    if name in ("rps", "log_score"):
        raise ValueError(
            f"scoring={scoring!r} needs probabilities, which the search does not compute; "
            "choose a score of labels, such as 'mae' or 'zero_one'."
        )
