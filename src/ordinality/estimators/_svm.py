"""What the support vector classifiers share: kernel rows, training, probabilities."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ..kernels.features import Linear
from ..svm.kernel_rows import KernelRows, kernel_rows, part
from ..svm.terms import FORMULATIONS
from ._atomic import atomic
from ._progress import FitLog
from ._rows import Rows
from ._scaling import Scaling
from ._scored import ScoredClassifier
from ._threads import one_pool
from ._validation import check_choices, check_positive, check_weights, check_whole, rows_of
from .base_svm import Machine, Trained, check_shape, chosen, gamma_of

__all__ = ["Given", "SupportVectorClassifier"]

_ENTRIES = 2**22  # of a kernel matrix at once in prediction


class Given(NamedTuple):
    """What was passed to fit: all rows, the ranks of those that count, and all weights."""

    X: np.ndarray
    ranks: np.ndarray
    weights: np.ndarray


class SupportVectorClassifier(ScoredClassifier):
    """A score that is a sum of kernels at support vectors, cut into levels by thresholds.

    Subclasses say what C and which kernel to train with (`_settle`).
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
        """
        self._check_parameters()
        X, checked = validate_data(
            self, X, y, dtype=np.float64, y_numeric=False, ensure_all_finite=self._finite()
        )
        weights = check_weights(sample_weight, len(X))
        kept = np.flatnonzero(weights > 0)
        ranks = self._learn_levels(rows_of(y, checked, kept), checked)
        rows = self._prepared(X, ranks, weights, kept)
        price = self._label_weights(rows.y, rows.weights)[rows.y]
        cost = price * rows.weights
        with one_pool(len(rows)):
            C, kernel = self._settle(rows, price, Given(X, ranks, weights))
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
        self._warn(found)
        self._warn_of_search(cost)
        return self

    def predict_score(self, X: Any) -> np.ndarray:
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

    # What subclasses say.

    def _settle(self, rows: Rows, price: np.ndarray, given: Given) -> tuple[float, Any]:
        """The C and the kernel to train with; slack of a row costs ``price`` at C = 1."""
        raise NotImplementedError

    def _earlier(self, rows: Rows, cost: np.ndarray, kernel: Any) -> Trained | None:
        """A solution of the same problem at another price."""
        return None

    def _remember(self, rows: Rows, cost: np.ndarray, kernel: Any, found: Trained) -> None:
        """Keep what the next fit may start from."""

    def _warn_of_search(self, cost: np.ndarray) -> None:
        """Say if a search for C was cut short; ``cost`` is what slack of each row costs."""

    # The rest is the same for all.

    def _check_parameters(self) -> None:
        check_choices(self, constraints=tuple(FORMULATIONS), standardize=(True, False))
        check_positive(self, "tol", "cache_size")
        check_whole(self, degree=1, max_iter=1)
        if self.calibration_folds is not None:
            check_whole(self, calibration_folds=2)
        chosen(self.kernel)
        check_shape(self.gamma, self.coef0)

    def _inputs(self) -> str:
        """What the kernel takes; a wrong kernel is for `fit` to refuse."""
        try:
            return chosen(self.kernel).inputs
        except (TypeError, ValueError):
            return "features"

    def _finite(self) -> bool | str:
        return "allow-nan" if self._inputs() == "ratings" else True

    def _prepared(
        self, X: np.ndarray, ranks: np.ndarray, weights: np.ndarray, kept: np.ndarray
    ) -> Rows:
        """Rows of positive weight, scaled; of a kernel matrix their columns too."""
        inputs, d = self._inputs(), X.shape[1]
        if inputs == "gram":
            gram = chosen(self.kernel)(X)  # refuses what is no such matrix
            self._scaling = Scaling.none(d)
            each = np.arange(len(kept))
            return Rows(gram[np.ix_(kept, kept)], ranks, weights[kept], each, each)
        rows = Rows.of(X[kept], ranks, weights[kept])
        scaled = self.standardize and inputs == "features"
        self._scaling = Scaling.of(rows.X, rows.weights) if scaled else Scaling.none(d)
        return replace(rows, X=self._scaling(rows.X))

    def _label_weights(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What C is multiplied by for each level, shape (K,)."""
        factors, given = np.ones(len(self.levels_)), self.class_weight
        if given is None:
            return factors
        if isinstance(given, str) and given == "balanced":
            total = np.bincount(y, weights, len(factors))
            seen = total > 0
            factors[seen] = weights.sum() / (np.count_nonzero(seen) * total[seen])
            return factors
        if not isinstance(given, dict):
            raise ValueError(
                f"class_weight={given!r} is not known; pass 'balanced', None, or a dict "
                "{label: weight}."
            )
        # As stated: `levels_` holds their codes where a tool has recoded the labels.
        names = self.levels_ if self.levels is None else np.asarray(self.levels)
        for label, weight in given.items():
            at = np.flatnonzero(names == label)
            if not len(at):
                raise ValueError(
                    f"class_weight names {label!r}, which is not one of the labels "
                    f"{names.tolist()}."
                )
            if not (isinstance(weight, Real) and 0 < float(weight) < np.inf):
                raise ValueError(
                    f"class_weight[{label!r}]={weight!r} must be a number above zero; drop "
                    "rows with sample_weight 0."
                )
            factors[at] = float(weight)
        return factors

    def _kernel_at(self, gamma: float) -> Any:
        return chosen(self.kernel, gamma, self.degree, self.coef0)

    def _gamma(self, rows: Rows) -> float:
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

    def _keep(self, found: Trained, rows: Rows, kept: np.ndarray, kernel: Any) -> None:
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
        self, rows: Rows, cost: np.ndarray, C: float, kernels: KernelRows, found: Trained
    ) -> None:
        def fit_score(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            machine = Machine.of(
                self.constraints, rows.y[train], len(self.levels_), cost[train]
            )
            # A part of the rows may need a higher price than all of them; at the least one
            # itself, rounding would decide.
            price = max(C, (1 + 1e-9) * machine.least_C)
            fold = machine.solve(part(kernels, train), price, **self._limits())
            beta = np.zeros(len(rows))
            beta[train] = fold.beta
            return fold.scores, kernels.times(beta, test)

        self._learn_link(rows, lambda: found.scores, fit_score, self._generator(1))

    def _warn(self, found: Trained) -> None:
        if found.collapsed:
            warnings.warn(
                "the bands between levels collapsed: no direction keeps the levels apart at "
                "this price of an error, so predictions are arbitrary. Use a smaller C.",
                UserWarning,
                stacklevel=4,
            )
        elif not self.converged_:
            warnings.warn(
                f"training stopped after {self.n_iter_} steps with thresholds still uncertain "
                f"by {found.solution.report.violation:.1e}, tol being {self.tol:g}. Raise "
                "max_iter, or lower C or gamma, or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )
