"""The cumulative link model as an estimator: coefficients, standard errors and tests."""

from __future__ import annotations

import re
import reprlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..cumulative import inference
from ..cumulative.group_effects import averaged_probabilities, variance_p_value
from ..cumulative.group_factor import Term
from ..cumulative.links import LINKS
from ..cumulative.mixed import add_random_effects, at_modes
from ..cumulative.penalty import Penalty, largest_alpha, net_path
from ..cumulative.regression import MANY_COLUMNS, Regression, fit_regression
from ..cumulative.structures import STRUCTURES, threshold_structure
from ..levels import as_labels
from .base_ordinal import OrdinalClassifier
from .fitting import (
    FitLog,
    atomic,
    check_choices,
    check_positive,
    check_weights,
    check_whole,
    checked_data,
    rows_of,
)
from .random_terms import (
    GroupEffects,
    RandomEffects,
    RandomTerm,
    as_table,
    check_sizes,
    find_terms,
    without_groups,
)
from .regression_summary import (
    ModelComparison,
    ProbabilityIntervals,
    RegressionSummary,
    RegularizationPath,
    TermTests,
)

__all__ = ["OrdinalRegression", "name_columns"]

_OF_ROWS = ("_regression", "_kept", "_n_rows", "_column_names")
_MOST_LEVELS = 1000  # each threshold is a row of the information matrix
_WEAK = Penalty(0.16, 0.0, True)  # a prior of deviation 2.5 on standardised columns: 1 / 2.5**2
_ROWS_PER_PARAMETER = 2  # with fewer, estimates exist at best by chance


class OrdinalRegression(OrdinalClassifier):
    """Cumulative link model: proportional odds and its relatives, by maximum likelihood.

    A latent value ``x @ coef_`` plus noise is cut into levels by thresholds, so that
    ``P(y <= k) = F((thresholds_[k] - x @ coef_) / s)``. With the logit link this is the
    proportional odds model; a positive coefficient moves rows to higher levels, and ``exp`` of
    it is an odds ratio. R calls it ``clm`` (package ordinal) or ``polr``.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog", "loglog", "cauchit"}, default="logit"
        Distribution F of the noise: logistic, normal, that of minima (proportional hazards) or
        maxima, Cauchy.
    nominal : column or list of columns, default=None
        Columns, by name or number, with an effect of their own on each threshold (partial
        proportional odds). They have no location effect.
    scale : column or list of columns, default=None
        Columns that change the noise, ``s = exp(z @ scale_coef_)``, beside their location
        effect.
    random : column, tuple or list of these, default=None
        Grouping columns (judge, person, item), by name or number, each group of which has an
        effect drawn from a normal distribution: ``"judge"``; ``["judge", "item"]`` for crossed
        or nested groups; ``("judge", "temp")`` for an intercept and a slope of ``temp`` in each
        group, correlated. They may hold text, and have no location effect. A list holds terms,
        a tuple is one term.
    quadrature : "auto" or int, default="auto"
        Nodes of adaptive Gauss-Hermite quadrature for one term; 1 is Laplace's method, which
        several terms take. "auto": 10 for one term without slopes, else 1.
    thresholds : {"flexible", "symmetric", "symmetric2", "equidistant"}, default="flexible"
        Free thresholds; at the same distances to both sides of the centre, or of zero; or with
        one spacing.
    penalty : {None, "l2", "elasticnet", "jeffreys", "auto"}, default=None
        What is taken from the log-likelihood: nothing, so that estimates have standard errors;
        ``alpha / 2`` times the sum of squares of ``coef_``; or, from the mean log-likelihood,
        ``alpha * (l1_ratio * |coef_|_1 + (1 - l1_ratio) / 2 * |coef_|^2)``, which sets some
        coefficients to zero. Thresholds, nominal and scale effects are free. "jeffreys" adds
        half the log determinant of the expected information of all parameters: finite
        estimates under separation, less bias of few rows, and standard errors. "auto" takes
        nothing where the likelihood has a finite maximum and there are two rows a parameter,
        else "l2" with ``alpha=0.16`` and ``standardize=True``; a note says so.
    alpha : float, default=1.0
        Strength of the penalty.
    l1_ratio : float, default=0.5
        Share of the absolute values in the elastic net, above 0 and at most 1.
    standardize : bool, default=False
        Whether the penalty is of the coefficients of columns scaled to unit spread, and not in
        the units of X. Without a penalty it makes no difference.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which the weights of their rows are
        multiplied; "balanced" gives every level the same total weight.
    decision : {"mode", "median", "mean", "quadratic_kappa"} or array-like of shape (K, K)
        How `predict` chooses a level: the most probable, the median, the rounded mean of the
        ranks, for the largest expected quadratic kappa, or the one of least expected cost,
        where entry (i, j) is the cost of predicting level j when level i is true. Default
        "mode".
    tol : float, default=1e-10
        The search ends when a step promises less than half of this in log-likelihood.
    max_iter : int, default=100
        Most steps.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    coef_ : ndarray of shape (number of location columns,)
        Location effects, in the order of the columns of X that are not nominal; NaN for a
        column that is a combination of earlier ones.
    thresholds_ : ndarray of shape (K - 1,)
        Thresholds, where nominal columns are zero. A level without rows has equal thresholds
        on both sides, infinite ones at an end.
    nominal_coef_ : ndarray of shape (number of nominal columns, K - 1)
        What each nominal column adds to each threshold.
    scale_coef_ : ndarray of shape (number of scale columns,)
        Effects on the log of the noise.
    random_sd_ : dict
        By grouping column, the standard deviation of its effects: a number, or with slopes an
        array. Only with random effects, as the next two.
    random_covariance_ : dict
        By grouping column, the covariance of the effects of a group, shape (r, r).
    random_effects_ : dict
        By grouping column, the labels of the groups with the conditional modes of their
        effects and their standard deviations: ``groups``, ``effects``, ``modes``,
        ``deviations``.
    parameter_names_ : ndarray of str
        Estimated parameters: thresholds, nominal, location and scale effects; then of each
        random term the lower triangle of the Cholesky factor of its covariance, by rows, with
        the logarithm of its diagonal (for an intercept: the log standard deviation).
    parameters_ : ndarray of the same shape
        Their estimates.
    penalty_ : {None, "l2", "elasticnet", "jeffreys"}
        The penalty that was used.
    covariance_ : ndarray of shape (parameters, parameters) or None
        Inverse of the observed information; NaN for parameters without finite estimate. None
        after "l2" and "elasticnet", and for more than 5000 columns.
    log_likelihood_ : float
        At the estimates, without the penalty.
    null_log_likelihood_ : float
        Of thresholds alone.
    effective_df_ : float
        Number of parameters; after a penalty, the effective number.
    n_observations_ : float
        Sum of the weights.
    notes_ : list of str
        What was found about the data: dependent columns, levels without rows, separation.
    n_iter_ : int
        Steps of the search.
    converged_ : bool
        Whether it met its tolerance at a finite maximum.

    See Also
    --------
    OrdinalGP : For effects that are not linear.

    Notes
    -----
    A weight of two equals the row twice. Pickles and model files do not hold the rows, which
    `residuals`, the tests and profile intervals need.

    References
    ----------
    McCullagh (1980), "Regression models for ordinal data", JRSS B 42; Agresti (2010),
    "Analysis of Ordinal Categorical Data".

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0] + rng.logistic(size=300), [-1.0, 1.0])
    >>> model = OrdinalRegression().fit(X, y)
    >>> print(model.summary())
    Ordinal regression, logit link, flexible thresholds
    rows: 300, levels: 3, parameters: 4, confidence of intervals: 0.95
    log-likelihood: -289.4116, null: -325.8871
    AIC: 586.8231, BIC: 601.6383
    McFadden R2: 0.1119, Nagelkerke R2: 0.2436
    <BLANKLINE>
         estimate      se        z        p    lower    upper  odds ratio
    0|1   -1.0373  0.1401  -7.4031  <0.0001  -1.3120  -0.7627           -
    1|2    1.0503  0.1407   7.4675  <0.0001   0.7747   1.3260           -
    x0     1.0156  0.1309   7.7596  <0.0001   0.7591   1.2722      2.7611
    x1     0.1317  0.1123   1.1726   0.2410  -0.0884   0.3519      1.1408
    >>> model.predict([[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    array([0, 1, 2])
    """

    def __init__(
        self,
        link: str = "logit",
        *,
        nominal: Any = None,
        scale: Any = None,
        random: Any = None,
        quadrature: int | str = "auto",
        thresholds: str = "flexible",
        penalty: str | None = None,
        alpha: float = 1.0,
        l1_ratio: float = 0.5,
        standardize: bool = False,
        levels: Any = None,
        class_weight: Any = None,
        decision: Any = "mode",
        tol: float = 1e-10,
        max_iter: int = 100,
        verbose: int = 0,
    ) -> None:
        self.link = link
        self.nominal = nominal
        self.scale = scale
        self.random = random
        self.quadrature = quadrature
        self.thresholds = thresholds
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.standardize = standardize
        self.levels = levels
        self.class_weight = class_weight
        self.decision = decision
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
    ) -> OrdinalRegression:
        """Estimate thresholds and effects by maximum likelihood.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Finite numbers.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows: 2 counts as two copies of a row, 0 as none.
        offset : array-like of shape (n,), default=None
            Known part of the latent value, added to ``x @ coef_``. Predictions are for zero.

        Returns
        -------
        self : OrdinalRegression
            The fitted estimator.
        """
        self._check_parameters()
        table, terms = self._find_terms(X)
        X, checked = checked_data(
            self, without_groups(table, terms) if terms else X, y,
            dtype=np.float64, accept_sparse="csr", y_numeric=False,
        )  # fmt: skip
        read = [term.read(table) for term in terms]
        log = FitLog(self)
        weights = check_weights(sample_weight, X.shape[0])
        shifts = _check_offset(offset, X.shape[0])
        kept = np.flatnonzero(weights > 0)
        ranks = self._learn_levels(rows_of(y, checked, kept), checked)
        self._check_levels(ranks)
        weights = weights[kept]
        weights = weights * self._class_factors(ranks, weights)[ranks]
        self._nominal, self._scale = self._columns("nominal"), self._columns("scale")
        self._grouping = np.array([term.columns[0] for term in terms], dtype=np.int64)
        self._check_roles()
        self._check_jeffreys()
        rows = X if len(kept) == X.shape[0] else X[kept]
        found, why = self._estimate((*self._parts(rows), ranks, weights, shifts[kept]), log)
        self._keep(found, kept, len(checked))
        self.notes_ += why
        if terms:
            self._keep_random(found, terms, [term.take(kept) for term in read])
        self._learn_decision(lambda: self._level_proba(table if terms else X))
        self._warn(found)
        log.stage("log-likelihood %.10g after %d steps", self.log_likelihood_, self.n_iter_)
        return self

    def _estimate(self, data: tuple[Any, ...], log: FitLog) -> tuple[Regression, list[str]]:
        """Fit with the penalty asked for, or the one that is needed; why it is needed."""

        def fit(penalty: Penalty | None) -> Regression:
            return fit_regression(
                *data, n_levels=len(self.levels_), link=LINKS[self.link],
                thresholds=self.thresholds, penalty=penalty,
                jeffreys=self.penalty == "jeffreys", tol=float(self.tol),
                max_iter=int(self.max_iter),
                tell=lambda i, value, gain: log.step(
                    "step %d: log-likelihood %.10g, decrement %.2g", i, value, gain
                ),
            )  # fmt: skip

        self.penalty_ = None if self.penalty == "auto" else self.penalty
        if self.penalty != "auto":
            return fit(self._penalty()), []
        X, N, Z, y = data[:4]
        size = (1 + N.shape[1]) * (len(np.unique(y)) - 1) + X.shape[1] + Z.shape[1]
        weak = "so a weak ridge (0.16, of standardised columns) is taken from it"
        why = f"{len(y)} rows hardly determine a likelihood of {size} parameters, {weak}."
        if len(y) >= _ROWS_PER_PARAMETER * size:
            found = fit(None)
            if found.covariance is not None and np.all(np.isfinite(found.covariance)):
                return found, []
            why = f"the likelihood does not determine all coefficients, {weak}."
            if found.separation is not None:
                why = f"{self._about_separation(found)}, {weak}."
        self.penalty_ = "l2"
        return fit(_WEAK), [why]

    def _check_parameters(self) -> None:
        check_choices(
            self,
            link=tuple(LINKS),
            thresholds=STRUCTURES,
            penalty=(None, "l2", "elasticnet", "jeffreys", "auto"),
            standardize=(True, False),
        )
        check_positive(self, "tol", "alpha")
        check_whole(self, max_iter=1)
        share: Any = self.l1_ratio
        if not (isinstance(share, Real) and 0 < float(share) <= 1):
            raise ValueError(
                f"l1_ratio={self.l1_ratio!r} must be a number above 0 and at most 1; for 0 use "
                "penalty='l2'."
            )
        if self.quadrature != "auto":
            check_whole(self, quadrature=1)
        self._check_decision()

    def _check_levels(self, ranks: np.ndarray) -> None:
        """Refuse numbers of levels that the thresholds cannot have."""
        K = len(self.levels_)
        if K > _MOST_LEVELS:
            raise ValueError(
                f"y has {K} levels, but at most {_MOST_LEVELS} can be modelled; join levels, "
                "for instance with numpy.digitize."
            )
        if K == 2 and self.thresholds != "flexible":
            raise ValueError(
                f"thresholds={self.thresholds!r} needs three levels or more, but there are "
                "two; use thresholds='flexible'."
            )

    def _penalty(self) -> Penalty | None:
        if self.penalty in (None, "jeffreys"):
            return None
        share = float(self.l1_ratio) if self.penalty == "elasticnet" else 0.0
        return Penalty(float(self.alpha), share, bool(self.standardize))

    def _columns(self, role: str) -> np.ndarray:
        """Numbers of the columns that a parameter names."""
        given = getattr(self, role)
        if given is None:
            return np.empty(0, dtype=np.int64)
        single = isinstance(given, str) or not np.iterable(given)
        named = [given] if single else list(given)
        found = np.array([self._column(role, name) for name in named], dtype=np.int64)
        if len(np.unique(found)) < len(found):
            raise ValueError(f"{role}={given!r} names a column twice; name each once.")
        return found

    def _column(self, role: str, name: Any) -> int:
        d = self.n_features_in_
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            if not -d <= int(name) < d:
                raise ValueError(
                    f"{role} names column {name}, but X has {d} columns; use 0 to {d - 1}."
                )
            return int(name) % d
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                f"{role} names column {name!r}, but X has no column names; pass a data frame, "
                "or give the number of the column."
            )
        at = np.flatnonzero(names == name)
        if not len(at):
            raise ValueError(
                f"{role} names column {name!r}, which X does not have; its columns are "
                f"{_listed(names)}."
            )
        return int(at[0])

    def _find_terms(self, X: Any) -> tuple[Any, list[RandomTerm]]:
        """The table as it can be read by columns, and its random terms."""
        if self.random is None:
            return X, []
        for other, found in (("scale", self.scale), ("penalty", self.penalty)):
            if found is not None:
                raise ValueError(
                    f"random effects cannot be combined with {other}={found!r}; leave one out."
                )
        table = as_table(X)
        terms = find_terms(self.random, table)
        if len(terms) > 1 and self.quadrature not in ("auto", 1):
            raise ValueError(
                f"quadrature={self.quadrature} takes one random term, but there are "
                f"{len(terms)}; use 1, Laplace's method."
            )
        return table, terms

    def _check_roles(self) -> None:
        """A grouping column has no other role."""
        both = np.intersect1d(self._grouping, np.append(self._nominal, self._scale))
        if len(both):
            raise ValueError(
                f"column {self._feature_names()[both[0]]!r} groups rows and cannot have a "
                "nominal effect too; leave it out of one."
            )

    def _check_jeffreys(self) -> None:
        """Refuse models whose expected information is not at hand."""
        if self.penalty != "jeffreys":
            return
        if len(self._scale):
            raise ValueError(
                "penalty='jeffreys' cannot be combined with scale effects; leave one out."
            )
        if self.n_features_in_ > MANY_COLUMNS:
            raise ValueError(
                f"penalty='jeffreys' takes at most {MANY_COLUMNS} columns, but there are "
                f"{self.n_features_in_}; use fewer, or penalty='l2'."
            )

    def _parts(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Location, nominal and scale columns of checked rows."""
        columns = (X[:, at] for at in (self._nominal, self._scale))
        N, Z = (part.toarray() if sparse.issparse(part) else part for part in columns)
        location = self._location
        return (X[:, location] if len(location) < X.shape[1] else X), N, Z

    @property
    def _location(self) -> np.ndarray:
        """Numbers of the columns with location effects."""
        others = np.append(self._nominal, self._grouping)
        return np.setdiff1d(np.arange(self.n_features_in_), others)

    # ------------------------------------------------------------ what was learnt

    def _keep(self, found: Regression, kept: np.ndarray, n: int) -> None:
        """Set the fitted attributes, and say what was noticed."""
        self._regression, self._kept, self._n_rows = found, kept, n
        self._column_names: list[str] | None = None
        self._observed = found.observed
        estimate, structure = found.estimate, found.rows.structure
        thresholds, location, scale = found.rows.places
        A = estimate[thresholds].reshape(-1, structure.J.shape[1])
        self._keep_thresholds(found, A)
        self.coef_ = _filled(found.kept_location, estimate[location])
        self.scale_coef_ = _filled(found.kept_scale, estimate[scale])
        self.parameters_, self.covariance_ = estimate, found.covariance
        self.parameter_names_ = np.array(self._names(found))
        self.log_likelihood_ = float(found.maximum.evaluation.value)
        self.null_log_likelihood_ = inference.null_log_likelihood(found.rows)
        self.effective_df_ = found.effective_df
        self.n_observations_ = float(found.rows.weights.sum())
        self.n_iter_ = found.maximum.n_iter
        self.converged_ = bool(found.maximum.converged and found.separation is None)
        self.notes_ = self._noticed(found)
        self._random: RandomEffects | None = None

    def _keep_random(
        self, found: Regression, terms: list[RandomTerm], read: list[Term]
    ) -> None:
        """Fit the random effects, and put what changes with them in its place."""
        check_sizes(read)
        if not hasattr(found.maximum.evaluation, "information"):
            raise ValueError(
                f"random effects take at most {MANY_COLUMNS} columns beside them, but there "
                f"are {len(self.coef_)}; use fewer."
            )
        nodes = self._nodes(terms)
        mixed = add_random_effects(found, read, nodes=nodes)
        thresholds, location, _ = found.rows.places
        J = found.rows.structure.J
        A = mixed.vector[thresholds].reshape(-1, J.shape[1])
        self._keep_thresholds(found, A)
        self.coef_ = _filled(found.kept_location, mixed.vector[location])
        self.parameters_ = np.concatenate([mixed.vector, mixed.log_factors])
        names = [name for term in terms for name in term.parameter_names]
        self.parameter_names_ = np.append(self.parameter_names_, names)
        self.covariance_ = mixed.covariance
        zero = np.diagonal(mixed.covariance) == 0.0
        if found.separation is not None and found.covariance is not None:
            zero[: len(mixed.vector)] |= np.isnan(np.diagonal(found.covariance))
        self.covariance_[zero] = self.covariance_[:, zero] = np.nan
        self.log_likelihood_ = mixed.log_likelihood
        self.effective_df_ = float(len(self.parameters_))
        self.n_iter_ = mixed.n_iter
        self._random = effects = RandomEffects.of(terms, mixed)
        self._regression = at_modes(found, mixed, read)
        self.converged_ = bool(self.converged_ and mixed.decrement < 1e-6)
        self.notes_ += effects.notes(read, nodes)

    def _nodes(self, terms: Sequence[RandomTerm]) -> int:
        """Nodes of the quadrature over random effects; 1 is Laplace's method."""
        if self.quadrature != "auto":
            return int(self.quadrature)
        return 10 if len(terms) == 1 and len(terms[0].columns) == 1 else 1

    def _keep_thresholds(self, found: Regression, A: np.ndarray) -> None:
        """Thresholds and nominal effects at all levels, from their parameters."""
        J = found.rows.structure.J
        effects = np.full((len(self._nominal), A.shape[1]), np.nan)
        effects[found.kept_nominal] = A[1:]
        self.thresholds_ = self._every_threshold(J @ A[0], outside=True)
        self.nominal_coef_ = self._every_threshold(effects @ J.T, outside=False)

    def _every_threshold(self, values: np.ndarray, *, outside: bool) -> np.ndarray:
        """Values at thresholds between observed levels, as values at all K - 1."""
        K = len(self.levels_)
        below = np.searchsorted(self._observed, np.arange(K - 1), side="right")
        ends = (-np.inf, np.inf) if outside else (0.0, 0.0)
        first, last = (np.full((*values.shape[:-1], 1), end) for end in ends)
        return np.concatenate([first, values, last], axis=-1)[..., below]

    def _names(self, found: Regression) -> list[str]:
        labels = [str(self.levels_[k]) for k in found.observed]
        cuts = list(found.rows.structure.names)
        if not cuts:
            cuts = [f"{a}|{b}" for a, b in pairwise(labels)]
        names = self._feature_names()
        nominal = names[self._nominal][found.kept_nominal]
        location = names[self._location][found.kept_location]
        scale = names[self._scale][found.kept_scale]
        return [
            *cuts, *(f"{name}:{cut}" for name in nominal for cut in cuts), *location,
            *(f"scale:{name}" for name in scale),
        ]  # fmt: skip

    def _feature_names(self) -> np.ndarray:
        default = getattr(self, "_column_names", None)
        if default is None:
            default = [f"x{j}" for j in range(self.n_features_in_)]
        return np.asarray(getattr(self, "feature_names_in_", default), dtype=object)

    def _noticed(self, found: Regression) -> list[str]:
        """Notes about the data, in plain sentences."""
        notes, names = [], self._feature_names()
        missing = np.setdiff1d(np.arange(len(self.levels_)), found.rows.y)
        if self.thresholds == "flexible":
            missing = np.setdiff1d(np.arange(len(self.levels_)), found.observed)
        if len(missing):
            notes.append(
                f"no row has level {_listed(self.levels_[missing])}; "
                + ("its probability is 0." if self.thresholds == "flexible" else
                   "its probability follows from the structure of the thresholds.")
            )  # fmt: skip
        roles = [("location", names[self._location], found.kept_location),
                 ("nominal", names[self._nominal], found.kept_nominal),
                 ("scale", names[self._scale], found.kept_scale)]  # fmt: skip
        for role, of_role, kept in roles:
            if not np.all(kept):
                notes.append(
                    f"the {role} effect of {_listed(of_role[~kept])} cannot be told from the "
                    "thresholds and the columns before it (a constant, or a combination of "
                    "them); it is left out and its coefficient is NaN."
                )
        far = np.abs(found.rows.Z.mean(axis=0)) > 10
        if np.any(far):
            of_scale = names[self._scale][found.kept_scale]
            notes.append(
                f"the scale column {_listed(of_scale[far])} lies far from zero, where all "
                "other effects are multiplied by a very large or small number; subtract its "
                "mean."
            )
        if found.separation is not None:
            notes.append(self._of_separation(found))
        if found.disordered:
            notes.append(self._about_order(found))
        if np.any(found.vague):
            vague = np.array(self._names(found), dtype=object)[found.vague]
            notes.append(
                f"{_listed(vague)} can hardly be told from the other parameters: columns are "
                "nearly dependent, or separate levels; leave some out, or use a penalty."
            )
        if found.covariance is None and self.penalty_ is None:
            notes.append(
                "for so many columns there are no standard errors, and separation is not "
                "looked for."
            )
        return notes

    def _about_order(self, found: Regression) -> str:
        return (
            f"at {found.disordered} rows thresholds are out of order, and some levels have "
            "probability 0 there; make fewer columns nominal, or leave out levels without rows."
        )

    def _about_separation(self, found: Regression) -> str:
        assert found.separation is not None
        direction = found.separation.direction
        q = found.rows.structure.J.shape[1]
        thresholds, location, _ = found.rows.places
        names = self._feature_names()
        by_nominal = np.any(direction[thresholds].reshape(-1, q)[1:] != 0, axis=1)
        involved = [
            *names[self._nominal][found.kept_nominal][by_nominal],
            *names[self._location][found.kept_location][direction[location] != 0],
        ]
        levels = self.levels_[found.observed[found.separation.levels]]
        return (
            f"{_listed(np.array(involved, dtype=object))} "
            f"{'separates' if len(involved) == 1 else 'together separate'} rows of level "
            f"{_listed(levels)} from others without error, so the likelihood grows without "
            "end in that direction and has no finite estimate"
        )

    def _of_separation(self, found: Regression) -> str:
        """What was separated, and what to do."""
        assert found.separation is not None
        thresholds, q = found.rows.places[0], found.rows.structure.J.shape[1]
        remedy = (
            "use penalty='jeffreys', or penalty='l2' with alpha=0.16 and standardize=True, "
        )
        if self.random is not None:  # which allow no penalty
            remedy = ""
        if np.any(found.separation.direction[thresholds][q:] != 0):
            remedy = "make it a location effect, "
        return (
            f"{self._about_separation(found)}; {remedy}leave the column out, or join levels "
            "(likelihood-ratio tests stay valid, standard errors do not)."
        )

    def _warn(self, found: Regression) -> None:
        if found.separation is not None:
            warnings.warn(self._of_separation(found), ConvergenceWarning, stacklevel=4)
        elif not found.maximum.converged:
            warnings.warn(
                f"The search stopped after {self.n_iter_} steps with decrement "
                f"{found.maximum.decrement:.1e} above tol {self.tol:.1e}; raise max_iter, or "
                "remove nominal or scale effects that the data do not determine.",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif not self.converged_:
            warnings.warn(
                "The likelihood with random effects has no maximum that the search could "
                "reach: a standard deviation grows without end because groups determine the "
                "level, or the link is not log-concave; merge small groups, leave a term "
                "out, or take another link.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if found.disordered:
            warnings.warn(self._about_order(found), UserWarning, stacklevel=4)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        # The rows, which a file should not hold, and what is needed with them only.
        return {name: value for name, value in state.items() if name not in _OF_ROWS}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def random_sd_(self) -> dict[str, Any]:
        """Standard deviations of the random effects, by grouping column."""
        found = {name: np.sqrt(np.diagonal(V)) for name, V in self.random_covariance_.items()}
        return {name: float(sd[0]) if len(sd) == 1 else sd for name, sd in found.items()}

    @property
    def random_covariance_(self) -> dict[str, np.ndarray]:
        """Covariances of the random effects of a group, by grouping column."""
        return self._effects().covariances()

    @property
    def random_effects_(self) -> dict[str, GroupEffects]:
        """Conditional modes of the random effects with deviations, by grouping column."""
        return self._effects().by_group()

    def _effects(self) -> RandomEffects:
        found = getattr(self, "_random", None)
        if found is None:
            raise AttributeError("the model has no random effects; fit it with random=...")
        return found

    # ------------------------------------------------------------ prediction

    def predict_latent(self, X: Any) -> np.ndarray:
        """The location ``x @ coef_`` with the random effects, which the thresholds cut.

        A group never seen has the effect 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows to predict.

        Returns
        -------
        latent : ndarray of shape (n,)
            On the scale of ``thresholds_``; where there are scale effects, before division by
            the noise of the row.
        """
        latent = self._latent(*self._checked(X))
        return latent if self._random is None else latent + self._random.moments(as_table(X))[0]

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores as scikit-learn expects them: log-probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows to predict.

        Returns
        -------
        scores : ndarray of shape (n,) or (n, K)
            In the order of ``classes_``; with two levels the log-odds of ``classes_[1]``.
        """
        # The smallest positive number stands for a probability that underflows.
        scores = np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_interval(self, X: Any, level: float = 0.95) -> ProbabilityIntervals:
        """Confidence intervals of the probabilities of the levels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows to predict.
        level : float, default=0.95
            Confidence.

        Returns
        -------
        ProbabilityIntervals
            ``lower``, ``upper``, ``proba`` and ``standard_error``, each of shape (n, K) with
            columns in the order of ``levels_``: the delta method on the logit scale.

        Notes
        -----
        With random effects the intervals are of the probabilities of `predict_level_proba`,
        which are averaged over what is not known of the effects. Conditional modes and
        deviations of known groups are held; for a new group the estimated variance counts too.
        """
        _check_level(level)
        check_is_fitted(self)
        self._covariance()
        if not self.has_covariance:
            raise ValueError(
                "some coefficients have no finite estimate, so probabilities have no standard "
                "errors; leave out the columns that notes_ names, or set penalty='jeffreys'."
            )
        slopes, parts, covariance = self._delta(X)
        P, se, lower, upper = inference.intervals_of_probabilities(
            slopes, covariance, parts, self._n_modelled, level=level
        )
        if P.shape[1] < len(self.levels_):  # levels without rows
            spread = np.zeros((4, len(P), len(self.levels_)))
            spread[:, :, self._observed] = [lower, upper, P, se]
            return ProbabilityIntervals(*spread)
        return ProbabilityIntervals(lower, upper, P, se)

    def average_proba_root(self, X: Any, size: int) -> np.ndarray | None:
        """Root of the covariance of average probabilities, by the delta method.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (size * m, d)
            Rows, in blocks of equal length.
        size : int
            Number of blocks.

        Returns
        -------
        ndarray of shape (parameters, size, K) or None
            Squares sum over the first axis to the variances of the average over each block,
            also after a linear map. None where estimates have no covariance (after a penalty,
            or with separation), and where blocks differ in the groups of random effects, whose
            modes are held.
        """
        if not self.has_covariance:
            return None
        if self._random is not None:
            blocks = self._random.groups(as_table(X)).reshape(-1, size, X.shape[0] // size)
            if np.any(blocks != blocks[:, :1]):
                return None
        slopes, parts, covariance = self._delta(X)
        mean = inference.mean_slopes(slopes, parts, (size, self._n_modelled, len(covariance)))
        values, axes = np.linalg.eigh(covariance)
        root = np.tensordot(axes * np.sqrt(np.maximum(values, 0.0)), mean, (0, 2))
        whole = np.zeros((*root.shape[:2], len(self.levels_)))
        whole[..., self._observed if root.shape[2] < whole.shape[2] else slice(None)] = root
        return whole

    @property
    def has_covariance(self) -> bool:
        """Whether probabilities have standard errors.

        They have if the covariance is known and finite. A variance of random effects that was
        estimated as zero is taken as known.
        """
        covariance = self.covariance_
        if covariance is None:
            return False
        held = np.isnan(np.diagonal(covariance))
        held[: self._n_fixed] = False
        return bool(np.all(np.isfinite(covariance[~held][:, ~held])))

    def _delta(self, X: Any) -> tuple[Callable[..., Any], tuple[Any, ...], np.ndarray]:
        """Probabilities with slopes as a function of parts of rows, these, the covariance."""
        covariance, model = self._covariance().copy(), self._linear()
        if self._random is None:
            return model.slopes, self._estimated(X), covariance
        held = np.isnan(np.diagonal(covariance))  # variances of zero
        covariance[held] = covariance[:, held] = 0.0
        table = as_table(X)
        moments = (*self._random.moments(table), self._random.variance_slopes(table))
        return model.averaged_slopes, (*self._estimated(X)[:2], *moments), covariance

    @property
    def _n_modelled(self) -> int:
        """Number of levels that have thresholds of their own."""
        return len(self._observed) if self.thresholds == "flexible" else len(self.levels_)

    def _coefficients(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One number for each location, nominal and scale column: NaN if it was left out."""
        nominal = self.nominal_coef_
        return (
            self.coef_,
            nominal.sum(axis=1) if len(nominal) else np.empty(0),
            self.scale_coef_,
        )

    def _linear(self) -> inference.UnitParameters:
        """The estimated parameters, without those left out."""
        J = threshold_structure(self.thresholds, self._n_modelled).J
        location, nominal, _ = (~np.isnan(coef) for coef in self._coefficients())
        size = (1 + np.count_nonzero(nominal)) * J.shape[1]
        split = size + np.count_nonzero(location)
        A = self.parameters_[:size].reshape(-1, J.shape[1])
        effects = self.parameters_[size:split], self.parameters_[split : self._n_fixed]
        return inference.UnitParameters(LINKS[self.link], J, A, *effects)

    def _checked(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        check_is_fitted(self)
        if self._random is not None:
            X = without_groups(as_table(X), self._random.terms)
        return self._parts(
            checked_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
        )

    def _estimated(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """The columns of `_checked` that were not left out."""
        location, nominal, scale = (
            part[:, ~np.isnan(coef)] if np.any(np.isnan(coef)) else part
            for part, coef in zip(self._checked(X), self._coefficients(), strict=True)
        )
        return location, nominal, scale

    def _latent(self, X: Any, N: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return np.asarray(X @ np.nan_to_num(self.coef_))

    def _level_proba(self, X: Any) -> np.ndarray:
        checked = self._checked(X)
        n = checked[0].shape[0]
        centre = self._latent(*checked)[:, None]
        cuts = self.thresholds_ + checked[1] @ np.nan_to_num(self.nominal_coef_)
        s = np.exp(checked[2] @ np.nan_to_num(self.scale_coef_))[:, None]
        # Where nominal effects cross, a threshold below the one before it leaves no room.
        cuts = np.maximum.accumulate(cuts, axis=1)
        edges = np.column_stack([np.full(n, -np.inf), cuts, np.full(n, np.inf)])
        with np.errstate(invalid="ignore"):  # of infinite thresholds next to each other
            width = (edges[:, 1:] - edges[:, :-1]) / s
            ends = (edges - centre) / s
        if self._random is not None:
            mean, var = self._random.moments(as_table(X))
            proba = averaged_probabilities(LINKS[self.link], ends - mean[:, None], var)
        else:
            proba = LINKS[self.link].probability(ends[:, :-1], ends[:, 1:], width)
        return proba / proba.sum(axis=1, keepdims=True)

    # ------------------------------------------------------------ inference

    def summary(self, level: float = 0.95) -> RegressionSummary:
        """Table of estimates with standard errors, tests and intervals.

        Parameters
        ----------
        level : float, default=0.95
            Confidence of the Wald intervals.

        Returns
        -------
        RegressionSummary
            Prints as a table, shows as one in notebooks; ``to_frame()`` gives a data frame.
        """
        check_is_fitted(self)
        _check_level(level)
        estimate = self.parameters_
        se = np.full(len(estimate), np.nan)
        if self.covariance_ is not None:
            se = np.sqrt(np.diagonal(self.covariance_))
        z = estimate / se
        z[self._n_fixed :] = np.nan  # a log deviation of 0 is no hypothesis
        reach = norm.ppf(0.5 + 0.5 * level) * se
        columns = {"estimate": estimate, "se": se, "z": z, "p": 2 * norm.sf(np.abs(z)),
                   "lower": estimate - reach, "upper": estimate + reach}  # fmt: skip
        if self.link == "logit":
            ratio = np.full(len(estimate), np.nan)
            at = self._location_places()
            with np.errstate(over="ignore"):
                ratio[at] = np.exp(estimate[at])
            columns["odds ratio"] = ratio
        notes = list(self.notes_)
        if self.penalty_ == "jeffreys":
            notes.append("estimates are those of Jeffreys' prior.")
        elif self.penalty_ is not None:
            notes.append("after a penalty estimates have no standard errors or p-values.")
        title = f"Ordinal regression, {self.link} link, {self.thresholds} thresholds"
        return RegressionSummary(
            title, tuple(self.parameter_names_), columns, self._facts(level), tuple(notes)
        )

    def _location_places(self) -> slice:
        """Where location effects stand among the parameters."""
        scale = int(np.count_nonzero(~np.isnan(self.scale_coef_)))
        location = int(np.count_nonzero(~np.isnan(self.coef_)))
        stop = self._n_fixed - scale
        return slice(stop - location, stop)

    @property
    def _n_fixed(self) -> int:
        """Number of parameters before those of random effects, which come last."""
        terms = () if self._random is None else self._random.terms
        return len(self.parameters_) - sum(len(term.parameter_names) for term in terms)

    def _facts(self, level: float) -> dict[str, str]:
        fit, null = self.log_likelihood_, self.null_log_likelihood_
        n, df = self.n_observations_, self.effective_df_
        return {
            "rows": f"{n:.10g}, levels: {len(self.levels_)}, parameters: {df:.6g}, "
            f"confidence of intervals: {level:g}",
            "log-likelihood": f"{fit:.4f}, null: {null:.4f}",
            "AIC": f"{self.aic():.4f}, BIC: {self.bic():.4f}",
            "McFadden R2": f"{self.pseudo_r2('mcfadden'):.4f}, "
            f"Nagelkerke R2: {self.pseudo_r2('nagelkerke'):.4f}",
            **({} if self._random is None else self._random.facts()),
        }

    def aic(self) -> float:
        """Akaike's information criterion, with the effective number of parameters.

        Returns
        -------
        float
            ``2 df - 2 log_likelihood_``; smaller is better.
        """
        check_is_fitted(self)
        return float(2 * self.effective_df_ - 2 * self.log_likelihood_)

    def bic(self) -> float:
        """Bayesian information criterion; n is the sum of the weights.

        Returns
        -------
        float
            ``log(n) df - 2 log_likelihood_``; smaller is better.
        """
        check_is_fitted(self)
        return float(
            np.log(self.n_observations_) * self.effective_df_ - 2 * self.log_likelihood_
        )

    def pseudo_r2(self, kind: Literal["mcfadden", "nagelkerke"] = "mcfadden") -> float:
        """Gain in log-likelihood over thresholds alone, as a share.

        Parameters
        ----------
        kind : {"mcfadden", "nagelkerke"}, default="mcfadden"
            One minus the ratio of the log-likelihoods, or the generalised R2 divided by its
            largest value.

        Returns
        -------
        float
            0 for no gain.
        """
        check_is_fitted(self)
        if kind not in ("mcfadden", "nagelkerke"):
            raise ValueError(f"kind={kind!r} is not known; choose 'mcfadden' or 'nagelkerke'.")
        fit, null, n = self.log_likelihood_, self.null_log_likelihood_, self.n_observations_
        if kind == "mcfadden":
            return float(1 - fit / null)
        return float(np.expm1(2 * (null - fit) / n) / np.expm1(2 * null / n))

    def conf_int(
        self, level: float = 0.95, method: Literal["wald", "profile"] = "wald"
    ) -> np.ndarray:
        """Confidence intervals of the parameters.

        Parameters
        ----------
        level : float, default=0.95
            Confidence.
        method : {"wald", "profile"}, default="wald"
            Estimate plus and minus multiples of the standard error, or where twice the profile
            log-likelihood has fallen by a quantile of chi-squared: slower, better for few rows,
            and valid, with an infinite end, under separation.

        Returns
        -------
        ndarray of shape (parameters, 2)
            In the order of ``parameter_names_``.
        """
        check_is_fitted(self)
        _check_level(level)
        if method == "wald":
            se = np.sqrt(np.diagonal(self._covariance()))
            reach = norm.ppf(0.5 + 0.5 * level) * se
            return np.column_stack([self.parameters_ - reach, self.parameters_ + reach])
        if method != "profile":
            raise ValueError(f"method={method!r} is not known; choose 'wald' or 'profile'.")
        self._covariance()
        fit = self._rows(
            "there are no profile intervals",
            "set method='wald', or compare() this model with one without the column",
        )
        return np.array(
            [inference.profile_interval(fit, j, level) for j in range(len(self.parameters_))]
        )

    def covariance(
        self,
        kind: Literal["observed", "robust", "cluster", "survey"] = "observed",
        groups: Any = None,
        strata: Any = None,
    ) -> np.ndarray:
        """Covariance of the estimates.

        Parameters
        ----------
        kind : {"observed", "robust", "cluster", "survey"}, default="observed"
            The inverse of the observed information; the sandwich, valid if weights are
            sampling weights or the model is only an approximation; the sandwich of sums
            within groups of dependent rows; or the linearised covariance of a sample of whole
            groups that were drawn within strata, with the factor m / (m - 1) for m groups. The
            two others have no small-sample factor.
        groups : array-like of shape (n,), default=None
            Group of each row given to `fit`, for ``kind="cluster"`` and ``"survey"`` (sampling
            units; None: every row is one). Groups of the same name in two strata are two.
        strata : array-like of shape (n,), default=None
            Stratum of each row, for ``kind="survey"``; None: there is one.

        Returns
        -------
        ndarray of shape (parameters, parameters)
            In the order of ``parameter_names_``.
        """
        check_is_fitted(self)
        if kind not in ("observed", "robust", "cluster", "survey"):
            raise ValueError(
                f"kind={kind!r} is not known; choose 'observed', 'robust', 'cluster' or "
                "'survey'."
            )
        if kind != "survey" and (kind == "cluster") != (groups is not None):
            raise ValueError(
                "groups and kind='cluster' or 'survey' belong together; give the group of each "
                "row, or another kind."
            )
        if kind != "survey" and strata is not None:
            raise ValueError("strata and kind='survey' belong together; give both, or neither.")
        observed = self._covariance()
        if kind == "observed":
            return observed.copy()
        fit = self._rows(
            f"there is no covariance of kind={kind!r}",
            "fit without `random` for covariance(kind='cluster', groups=...)",
        )
        if kind == "survey":
            return inference.survey_covariance(fit, *self._units(groups, strata))
        return inference.sandwich(fit, None if groups is None else self._codes(groups))

    def _codes(self, of_rows: Any, what: str = "groups") -> np.ndarray:
        """Numbers of the groups of the rows that were used."""
        given = np.asarray(of_rows)
        if given.shape != (self._n_rows,):
            raise ValueError(
                f"{what} has shape {given.shape}, but fit saw {self._n_rows} rows; give one "
                "entry for each."
            )
        found, codes = np.unique(as_labels(given[self._kept], what), return_inverse=True)
        if what == "groups" and len(found) < 2:
            raise ValueError(
                f"groups has only one group, {found[0].item()!r}, which says nothing about how "
                "groups differ; give two or more, or take kind='robust'."
            )
        return codes

    def _units(self, groups: Any, strata: Any) -> tuple[np.ndarray, np.ndarray]:
        """Sampling unit of each row, and stratum of each unit."""
        n = self._n_rows
        unit = self._codes(np.arange(n) if groups is None else groups)
        stratum = self._codes(np.zeros(n) if strata is None else strata, "strata")
        count = int(unit.max()) + 1
        known, units = np.unique(stratum * count + unit, return_inverse=True)
        of_unit = known // count
        alone = int(np.count_nonzero(np.bincount(of_unit) == 1))
        if alone:
            raise ValueError(
                f"{alone} strata have a single group, which says nothing about their variance; "
                "join them with others."
            )
        return units, of_unit

    def residuals(
        self,
        kind: Literal["surrogate", "quantile", "probability"] = "surrogate",
        random_state: Any = None,
    ) -> np.ndarray:
        """Residuals of the rows given to `fit`; plot them against each column.

        Parameters
        ----------
        kind : {"surrogate", "quantile", "probability"}, default="surrogate"
            With U uniform between the model's probabilities of a lower level and of this level
            or a lower one: the quantile of the noise at U; U itself, uniform if the model is
            right; or ``P(lower) - P(higher)``, without randomness.
        random_state : int, RandomState or None, default=None
            Draws U; None is a fixed seed.

        Returns
        -------
        ndarray of shape (n,)
            NaN for rows of weight zero.

        Notes
        -----
        With random effects they are those given the conditional modes of the groups.
        """
        check_is_fitted(self)
        if kind not in ("surrogate", "quantile", "probability"):
            raise ValueError(
                f"kind={kind!r} is not known; choose 'surrogate', 'quantile' or 'probability'."
            )
        lower, upper = inference.residual_bounds(self._kept_rows("residuals need"))
        out = np.full(self._n_rows, np.nan)
        if kind == "probability":
            out[self._kept] = lower + upper - 1.0
            return out
        rng = check_random_state(0 if random_state is None else random_state)
        U = lower + (upper - lower) * rng.uniform(size=len(lower))
        # Inside (0, 1), whose ends have no finite quantile: half a unit of rounding.
        U = np.clip(U, np.finfo(float).tiny, 1.0 - 0.5 * np.finfo(float).eps)
        out[self._kept] = U if kind == "quantile" else LINKS[self.link].ppf(U)
        return out

    def test_proportional_odds(
        self, terms: Mapping[str, Sequence[Any]] | None = None
    ) -> TermTests:
        """Test whether effects are the same at all thresholds.

        Parameters
        ----------
        terms : dict of str to list of columns, default=None
            Columns to test together, such as the indicators of one factor. None: each alone.

        Returns
        -------
        TermTests
            For each term the likelihood-ratio test of the model with the term nominal, the
            score test of the same, and for the logit link without scale effects Brant's test
            of K-1 binary models; small p-values speak against one effect for all.
        """
        fit, groups = self._testable(
            "there are no tests of proportional odds",
            "compare() this model with one where the column is nominal",
            terms,
        )
        if fit.rows.n_levels < 3:
            raise ValueError(
                "with two levels there is one threshold, and nothing to test; proportional "
                "odds need three levels or more."
            )
        ratio = [inference.likelihood_ratio(fit, g, "nominal") for g in groups.values()]
        score = [inference.score_test(fit, g) for g in groups.values()]
        columns: dict[str, Any] = {
            "LR": [t.statistic for t in ratio],
            "df": [t.df for t in ratio],
            "LR p": [t.p_value for t in ratio],
            "score": [t.statistic for t in score],
            "score p": [t.p_value for t in score],
        }
        notes = []
        if self.link == "logit" and not fit.rows.Z.shape[1]:
            brant = inference.brant_test(fit, list(groups.values()))
            if brant is None:
                notes.append("Brant's test does not exist: a binary model has no finite fit.")
            else:
                columns["Brant"] = [t.statistic for t in brant]
                columns["Brant p"] = [t.p_value for t in brant]
        return _tests("Tests of proportional odds", groups, columns, notes)

    def test_scale(self, terms: Mapping[str, Sequence[Any]] | None = None) -> TermTests:
        """Test whether columns change the noise, by likelihood ratios.

        Parameters
        ----------
        terms : dict of str to list of columns, default=None
            Columns to test together. None: each alone.

        Returns
        -------
        TermTests
            For each term the test of the model with its scale effects against this model.
        """
        fit, groups = self._testable(
            "there are no tests of scale effects", "fit without `random`", terms
        )
        found = [inference.likelihood_ratio(fit, g, "scale") for g in groups.values()]
        columns = {"LR": [t.statistic for t in found], "df": [t.df for t in found],
                   "p": [t.p_value for t in found]}  # fmt: skip
        return _tests("Tests of scale effects", groups, columns, [])

    def compare(self, other: OrdinalRegression) -> ModelComparison:
        """Likelihood-ratio test of this model and another, one of which contains the other.

        Parameters
        ----------
        other : OrdinalRegression
            Fitted to the same rows, without a penalty, with more or fewer effects.

        Returns
        -------
        ModelComparison
            Prints as a table of both models; has ``statistic``, ``df`` and ``p_value``. A
            variance of random effects is zero in the smaller model, at the edge of its range,
            and the p-value is that of the mixture of chi-squared variables that follows.
        """
        check_is_fitted(self)
        if not isinstance(other, OrdinalRegression):
            raise TypeError(f"other is a {type(other).__name__}; pass an OrdinalRegression.")
        check_is_fitted(other)
        if self.penalty_ is not None or other.penalty_ is not None:
            raise ValueError(
                "a penalised model has no likelihood-ratio test; set penalty=None."
            )
        if (self.n_observations_, *self.levels_) != (other.n_observations_, *other.levels_):
            raise ValueError(
                f"the models saw different data ({self.n_observations_:g} and "
                f"{other.n_observations_:g} rows); fit both to the same rows."
            )
        nodes = {m._nodes(m._random.terms) for m in (self, other) if m._random is not None}
        if len(nodes) > 1:
            raise ValueError(
                f"the models integrate over random effects with {min(nodes)} and {max(nodes)} "
                "nodes, so their likelihoods differ for that alone; set "
                f"quadrature={min(nodes)} in both."
            )
        small, large = sorted([self, other], key=lambda model: model.effective_df_)
        df = int(large.effective_df_ - small.effective_df_)
        if df == 0 or large.link != small.link:
            raise ValueError(
                "neither model contains the other: they have "
                + ("different links" if df else "the same number of parameters")
                + "; compare them by aic() or by cross-validation."
            )
        statistic = max(2 * (large.log_likelihood_ - small.log_likelihood_), 0.0)
        variances = max(large._n_variances - small._n_variances, 0)
        p = variance_p_value(statistic, variances, df - variances)
        columns = {"parameters": np.array([m.effective_df_ for m in (small, large)]),
                   "log-likelihood": np.array([m.log_likelihood_ for m in (small, large)]),
                   "AIC": np.array([m.aic() for m in (small, large)]),
                   "LR": np.array([np.nan, statistic]), "df": np.array([np.nan, df]),
                   "p": np.array([np.nan, p])}  # fmt: skip
        return ModelComparison(
            "Likelihood-ratio test", ("smaller", "larger"), columns, {}, (), statistic, df, p
        )

    @property
    def _n_variances(self) -> int:
        """Number of variances of random effects."""
        terms = () if self._random is None else self._random.terms
        return sum(len(term.columns) for term in terms)

    def regularization_path(self, n_alphas: int = 100) -> RegularizationPath:
        """Elastic nets of the rows given to `fit`, from no effects down to weak penalties.

        Parameters
        ----------
        n_alphas : int, default=100
            Number of penalties, evenly spaced on a log scale.

        Returns
        -------
        RegularizationPath
            ``alphas``, from the smallest that leaves no effect to a thousandth of it (a
            hundredth if there are more columns than rows), and for each of them ``coef``,
            ``thresholds`` and ``log_likelihood``.
        """
        check_is_fitted(self)
        if self.penalty != "elasticnet":
            raise ValueError(
                f"penalty={self.penalty!r} has no path; set penalty='elasticnet' and fit again."
            )
        if not (isinstance(n_alphas, int | np.integer) and n_alphas >= 2):
            raise ValueError(f"n_alphas={n_alphas!r} must be a whole number, 2 or more.")
        fit = self._kept_rows("paths need")
        factors = Penalty(1.0, 1.0, bool(self.standardize)).factors(fit.location.spread)
        share = float(self.l1_ratio)
        top = largest_alpha(fit.rows, factors, share)
        if top == 0.0:
            raise ValueError(
                "no column has an effect under any penalty, so there is no path; give X a "
                "column that varies."
            )
        n, d = fit.rows.X.shape
        alphas = np.geomspace(top, top * (1e-2 if d > n else 1e-3), int(n_alphas))
        path = net_path(fit.rows, factors, alphas, share, tol=float(self.tol))
        estimates = np.array([replace(fit, maximum=point).estimate for point in path])
        cuts = estimates[:, : fit.rows.structure.J.shape[1]] @ fit.rows.structure.J.T
        return RegularizationPath(
            alphas,
            estimates[:, fit.rows.places[1]],
            self._every_threshold(cuts, outside=True),
            np.array([point.evaluation.value for point in path]),
        )

    def _covariance(self) -> np.ndarray:
        """The covariance, or why there is none."""
        if self.covariance_ is None:
            raise ValueError(
                "a penalised fit has no standard errors; set penalty=None, or 'jeffreys'."
                if self.penalty_ is not None
                else f"there are no standard errors for {len(self.coef_)} columns; use fewer."
            )
        return self.covariance_

    def _kept_rows(self, what: str) -> Regression:
        """The fit with its rows, or that they are not here."""
        fit: Regression | None = getattr(self, "_regression", None)
        if fit is None:
            raise ValueError(
                f"{what} the training rows, which a loaded or unpickled model does not hold; "
                "fit it again."
            )
        return fit

    def _rows(self, what: str, instead: str) -> Regression:
        """The fit of a likelihood that has no prior and no random effects, with its rows."""
        if self._random is not None:
            raise ValueError(f"{what} with random effects; {instead}.")
        if self.penalty_ == "jeffreys":
            raise ValueError(f"{what} with Jeffreys' prior; set penalty=None.")
        return self._kept_rows("profiles, sandwiches and tests need")

    def _testable(
        self, what: str, instead: str, terms: Mapping[str, Sequence[Any]] | None
    ) -> tuple[Regression, dict[str, list[int]]]:
        """The fit, and for each term its places among the location effects."""
        check_is_fitted(self)
        self._covariance()
        fit = self._rows(what, instead)
        location = self._location[fit.kept_location]
        places = {int(column): at for at, column in enumerate(location)}
        if terms is None:
            names = self._feature_names()
            return fit, {str(names[column]): [at] for column, at in places.items()}
        if not isinstance(terms, Mapping):
            raise TypeError(
                f"terms={terms!r} is not a dict; pass the columns of each term under its name, "
                "such as {'colour': ['red', 'blue']}."
            )
        groups = {}
        for name, given in terms.items():
            columns = [given] if isinstance(given, str | Integral) else list(given)
            found = [self._column("terms", column) for column in columns]
            if not found or any(column not in places for column in found):
                raise ValueError(
                    f"terms[{name!r}]={given!r} names no column, or one without a location "
                    "effect; name columns that are neither nominal nor left out."
                )
            if len(set(found)) < len(found):
                raise ValueError(
                    f"terms[{name!r}]={given!r} names a column twice; name it once."
                )
            groups[str(name)] = [places[column] for column in found]
        return fit, groups


def name_columns(model: OrdinalRegression, names: Sequence[str]) -> None:
    """Name the columns of a model that was just fitted to an array."""
    fit = model._regression
    model._column_names = list(names)
    random = model._random
    if random is not None:
        named = tuple(
            replace(term, names=tuple(names[j] for j in term.columns)) for term in random.terms
        )
        model._random = random = replace(random, terms=named)
    terms = () if random is None else random.terms
    model.parameter_names_ = np.array(
        [*model._names(fit), *(name for term in terms for name in term.parameter_names)]
    )
    model.notes_ = [
        re.sub(r"'x(\d+)'", lambda found: repr(names[int(found[1])]), note)
        for note in model.notes_
    ]


def _check_level(level: Any) -> None:
    """Refuse a confidence that is not between 0 and 1."""
    if not (isinstance(level, Real) and 0 < float(level) < 1):
        raise ValueError(f"level={level!r} must be a number between 0 and 1, such as 0.95.")


def _check_offset(offset: Any, n: int) -> np.ndarray:
    """The offset as floats, one a row; zeros if None."""
    if offset is None:
        return np.zeros(n)
    try:
        checked = np.asarray(offset, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"offset is {reprlib.repr(offset)}; pass one number for each row."
        ) from None
    if checked.shape != (n,):
        raise ValueError(
            f"offset has shape {checked.shape}, but there are {n} rows; pass one number for "
            "each."
        )
    if not np.all(np.isfinite(checked)):
        raise ValueError("offset holds infinite or missing values; fill or drop those rows.")
    return checked


def _filled(kept: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at their places, NaN at the others."""
    out = np.full(len(kept), np.nan)
    out[kept] = values
    return out


def _listed(values: np.ndarray, most: int = 8) -> str:
    """Some values as text for a message."""
    shown = [repr(value.item() if hasattr(value, "item") else value) for value in values[:most]]
    return ", ".join(shown) + (f" and {len(values) - most} more" if len(values) > most else "")


def _tests(
    title: str, groups: dict[str, list[int]], columns: Mapping[str, Any], notes: list[str]
) -> TermTests:
    arrays = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
    return TermTests(title, tuple(groups), arrays, {}, tuple(notes))
