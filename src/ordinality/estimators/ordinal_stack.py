"""Several classifiers pooled: their probabilities weighted as held-out rows advise.

With p_m(y_i | x_i) the probability that member m, fitted without row i, gives the level that
was observed, the weights w of the members maximise

    sum_i v_i log sum_m w_m p_m(y_i | x_i) + alpha sum_m log w_m

on the simplex, v the weights of the rows. The function is concave. EM raises it in every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, get_tags

from ..gp.posterior.inducing import InducingPoints
from ..levels import Order
from .base_ordinal import OrdinalClassifier
from .calibration import calibrate_from_folds, fold_splits, needs_link
from .fitting import (
    FitLog,
    atomic,
    check_labels,
    check_weights,
    check_whole,
    rows_of,
    take_rows,
)
from .ordinal_gp import OrdinalGP
from .threads import thread_map
from .wrapped import (
    checked_rows,
    fit_member,
    last_step,
    ordered_proba,
    own_levels,
    ready_copy,
)

__all__ = [
    "OrdinalStack",
    "cross_fitted",
    "floored",
    "learn_weights",
    "row_groups",
    "stack_of_fitted",
]

# A member may give an observed level the probability zero, as a forest does, and would then be
# out whatever it knows about other rows. One such row in 10,000 is an error that no set of some
# thousand rows can tell from none.
_FLOOR = 1e-4

# EM has come within `total * _SLACK` of the maximum when no weight would grow by more than this
# share: for concave f, f(best) - f(w) <= sum_m best_m df/dw_m - total. Its steps shrink by a
# constant factor, so that 10,000 are far more than members with different errors need.
_SLACK, _STEPS = 1e-10, 10_000


class OrdinalStack(MetaEstimatorMixin, OrdinalClassifier):
    """Several classifiers whose probabilities are averaged with weights learnt out of fold.

    Each member predicts rows that it has not seen. The weights are those under which the
    average of the predictions gives these rows the largest probability; then every member is
    fitted to all rows. Where one member is best its weight is near one; where members err on
    different rows the average is better than each of them.

    Parameters
    ----------
    estimators : list of (str, classifier)
        Names and classifiers with `predict_proba`: of this package, of scikit-learn, or
        pipelines.
    cv : int, splitter or iterable of (train, test), default=5
        Folds for the predictions of rows that a member has not seen. Of an int, the folds have
        the levels in equal shares, and rows that agree in all features are in one fold. An
        exact `OrdinalGP` with ``inference="ep"`` needs no folds: it predicts each row without
        that row.
    alpha : float, default=1.0
        Rows' worth of prior belief in each member (Dirichlet), at least zero: more pulls the
        weights together, and keeps those of a small table from being decided by chance.
    decision : str or array-like of shape (K, K), default="mode"
        How `predict` reads the probabilities: "mode", "median", "mean", "quadratic_kappa", or a
        matrix of costs (true level, predicted level).
    class_weight : dict, "balanced" or None, default=None
        What the weights of the rows of each label are multiplied by.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: those that a member states, else the order `y`
        carries, else sorted. Members that state none are told.
    random_state : int, RandomState or None, default=None
        Chooses the folds, and seeds members whose own seed is None; None is a fixed seed.
    n_jobs : int, default=None
        Members and folds are fitted in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr. The logger "ordinality" gets them in any
        case.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    weights_ : ndarray of shape (M,)
        Weights of the members; they sum to one.
    estimators_ : list of classifiers
        The members, fitted to all rows.
    member_log_scores_ : ndarray of shape (M,)
        Mean of minus the log probability that each member gives a level it has not seen; lower
        is better. NaN for a single member, which is not compared with anything.
    log_score_ : float
        The same of the stack. The weights for the rows of a fold are learnt on the others.

    See Also
    --------
    OrdinalConformal : Sets of levels around any classifier, a stack too.

    Notes
    -----
    Probabilities of members are raised to 0.0001 before they are averaged, and scaled to sum to
    one. Boosting and support vector machines are fitted once in each fold, and the link to
    their probabilities is learnt on the rows of the other folds.

    References
    ----------
    Wolpert (1992), "Stacked generalization", Neural Networks 5; Yao, Vehtari, Simpson & Gelman
    (2018), "Using stacking to average Bayesian predictive distributions", Bayesian Analysis 13.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ordinality import OrdinalRegression, OrdinalStack
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.digitize(X[:, 0] + 0.5 * rng.logistic(size=200), [-1, 0, 1]) + 1
    >>> model = OrdinalStack(
    ...     [("linear", OrdinalRegression()), ("forest", RandomForestClassifier(30))]
    ... ).fit(X, y)
    >>> model.predict([[-2.0, 0.0], [2.0, 0.0]])
    array([1, 4])
    >>> bool(model.weights_[0] > 0.8)
    True
    """

    def __init__(
        self,
        estimators: Any,
        *,
        cv: Any = 5,
        alpha: Any = 1.0,
        decision: Any = "mode",
        class_weight: Any = None,
        levels: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.cv = cv
        self.alpha = alpha
        self.decision = decision
        self.class_weight = class_weight
        self.levels = levels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator, and if ``deep`` the members and theirs.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add each member under its name, and its parameters as
            ``name__parameter``.

        Returns
        -------
        params : dict
            Names and values.
        """
        found: dict[str, Any] = super().get_params(deep=False)
        for name, member in self._named().items() if deep else ():
            inner = member.get_params() if hasattr(member, "get_params") else {}
            found |= {name: member, **{f"{name}__{key}": inner[key] for key in inner}}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, replace members, or set theirs.

        Parameters
        ----------
        **params
            As `get_params` names them.

        Returns
        -------
        self : OrdinalStack
            The same object.
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        if params.keys() & self._named().keys():
            self.estimators = [(name, params.pop(name, one)) for name, one in self.estimators]
        super().set_params(**params)
        return self

    def _named(self) -> dict[str, Any]:
        """The members by name; none if there is something else, which `fit` refuses."""
        try:
            return dict(self.estimators)
        except (TypeError, ValueError):
            return {}

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights out of fold, and fit every member to all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Whatever the members take.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows; 0 drops a row. All members must take them.

        Returns
        -------
        self : OrdinalStack
            The fitted estimator.
        """
        self._check_parameters()
        log = FitLog(self)
        X = checked_rows(self, X, reset=True)
        checked = check_labels(y, X.shape[0])
        weights = check_weights(sample_weight, X.shape[0])
        kept = np.flatnonzero(weights > 0)
        ranks = self._learn_levels(rows_of(y, checked, kept), checked)
        X, weights = take_rows(X, kept), weights[kept]
        weights = weights * self._class_factors(ranks, weights)[ranks]
        given = None if sample_weight is None and self.class_weight is None else weights
        seed = 0 if self.random_state is None else self.random_state
        rng = np.random.default_rng(check_random_state(seed).randint(2**31))
        groups = row_groups(X)
        splits = self._splits(ranks, kept, groups, rng)
        rows = _Rows(X, checked[kept], given, self._order, splits, len(np.unique(groups)))
        found = self._members(rows, rng, log)
        self.estimators_ = [model for model, _ in found]
        self._weigh(np.stack([proba for _, proba in found], axis=1), ranks, weights, splits)
        self._learn_decision(lambda: self._level_proba(X))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(member).input_tags for member in self._named().values()]
        tags.input_tags.allow_nan = all(one.allow_nan for one in inner)
        tags.input_tags.sparse = all(one.sparse for one in inner)
        return tags

    def _check_parameters(self) -> None:
        self._check_decision()
        if isinstance(self.cv, Integral):
            check_whole(self, cv=2)
        if not (isinstance(self.alpha, Real) and 0 <= float(self.alpha) < np.inf):
            raise ValueError(f"alpha={self.alpha!r} must be a number, 0 or more.")
        _check_members(self.estimators, list(super().get_params(deep=False)))

    def _resolve(self, y: Any, given: Any) -> Order:
        """Order of the labels; that of the members if none was stated here."""
        stated = [levels for _, one in self.estimators for levels in own_levels(one)]
        if self.levels is not None or not stated:
            return super()._resolve(y, given)
        if any(list(levels) != list(stated[0]) for levels in stated):
            raise ValueError(
                "the members state different levels, such as "
                f"{next(list(one) for one in stated if list(one) != list(stated[0]))} and "
                f"{list(stated[0])}; state them once, in `levels` of OrdinalStack."
            )
        return clone(self).set_params(levels=stated[0])._resolve(y, given)

    def _splits(
        self, ranks: np.ndarray, kept: np.ndarray, groups: np.ndarray, rng: np.random.Generator
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and test rows of each fold; none for a single member, which needs none."""
        if len(self.estimators) == 1:
            return []
        if isinstance(self.cv, Integral):
            return fold_splits(ranks, int(self.cv), rng, groups)
        place = np.full(kept.max() + 1, -1)  # of the rows given, among those kept
        place[kept] = np.arange(len(kept))
        level = np.zeros(len(place), dtype=np.int64)
        level[kept] = ranks
        return [
            (place[train][place[train] >= 0], place[test][place[test] >= 0])
            for train, test in check_cv(self.cv, level, classifier=True).split(level, level)
        ]

    def _members(
        self, rows: _Rows, rng: np.random.Generator, log: FitLog
    ) -> list[tuple[Any, np.ndarray]]:
        """Each member fitted to all rows, and its probabilities of rows it has not seen."""
        copies = [ready_copy(one, self.levels_, rng) for _, one in self.estimators]
        tick = log.counter("member", len(copies))

        def learn(place: int) -> tuple[Any, np.ndarray]:
            name = self.estimators[place][0]
            try:
                found = rows.learn(copies[place])
            except Exception as wrong:
                kind = TypeError if isinstance(wrong, TypeError) else ValueError
                raise kind(f"the member {name!r} failed: {wrong}") from wrong
            tick(1)
            return found

        return list(thread_map(self.n_jobs)(learn, range(len(copies))))

    def _weigh(
        self, proba: np.ndarray, ranks: np.ndarray, weights: np.ndarray, splits: Sequence[Any]
    ) -> None:
        """Learn the weights from held-out probabilities, shape (n, M, K), NaN where none."""
        seen = np.flatnonzero(np.all(np.isfinite(proba), axis=(1, 2)))
        of_truth = proba[seen, :, ranks[seen]]
        v, alpha = weights[seen], float(self.alpha)
        self.weights_ = learn_weights(of_truth, v, alpha)
        self.member_log_scores_ = np.full(len(self.weights_), np.nan)
        self.log_score_ = np.nan
        if len(seen):
            fold = np.zeros(len(ranks), dtype=np.int64)
            for k, (_, test) in enumerate(splits):
                fold[test] = k
            pooled = np.sum(cross_fitted(of_truth, v, fold[seen], alpha) * of_truth, axis=1)
            self.member_log_scores_ = -np.average(np.log(of_truth), axis=0, weights=v)
            self.log_score_ = -float(np.average(np.log(pooled), weights=v))

    def _level_proba(self, X: Any) -> np.ndarray:
        X = checked_rows(self, X)
        proba = np.zeros((X.shape[0], len(self.levels_)))
        for weight, member in zip(self.weights_, self.estimators_, strict=True):
            proba += weight * floored(ordered_proba(member, X, self._order))
        return proba


def stack_of_fitted(
    members: Sequence[tuple[str, Any]],
    weights: np.ndarray,
    X: Any,
    y: Any,
    *,
    member_log_scores: np.ndarray,
    log_score: float,
    **parameters: Any,
) -> OrdinalStack:
    """A stack of members that are fitted already, with weights that are known.

    ``X`` and ``y`` are rows as the members take them: for the order of the labels, the number
    of features and the rule of decision. Nothing is fitted again.
    """
    stack = OrdinalStack([(name, clone(one)) for name, one in members], **parameters)
    stack._check_parameters()
    X = checked_rows(stack, X, reset=True)
    stack._learn_levels(y, y)
    stack.estimators_ = [one for _, one in members]
    stack.weights_ = np.asarray(weights, dtype=np.float64)
    stack.member_log_scores_ = np.asarray(member_log_scores, dtype=np.float64)
    stack.log_score_ = float(log_score)
    stack._learn_decision(lambda: stack._level_proba(X))
    return stack


class _Rows:
    """The rows of a fit, their folds, and how a member learns from both."""

    def __init__(
        self, X: Any, y: np.ndarray, weights: np.ndarray | None, order: Order,
        splits: Sequence[tuple[np.ndarray, np.ndarray]], n_distinct: int,
    ) -> None:  # fmt: skip
        self.X, self.y, self.weights, self.order, self.splits = X, y, weights, order, splits
        self.has_copies = n_distinct < len(y)

    def learn(self, model: Any) -> tuple[Any, np.ndarray]:
        """The model fitted to all rows, and held-out probabilities (n, K), NaN where none."""
        last = last_step(model)
        if not self.splits or not needs_link(last):
            whole = self._fit(clone(model))
            return whole, self._held_out(model, whole)
        wanted = {"calibration_folds": last.calibration_folds, "decision": last.decision}
        last.set_params(calibration_folds=None, decision="mode")  # another needs a link
        whole, parts = (
            self._fit(clone(model)),
            [self._fit(clone(model), a) for a, _ in self.splits],
        )
        scores = np.array([_scores(part, self.X) for part in parts])
        for k, part in enumerate(parts):
            self._calibrate(part, scores[k], scores, k)
        self._calibrate(whole, _scores(whole, self.X), scores)
        last_step(whole).set_params(**wanted)
        return whole, self._predicted(parts)

    def _fit(self, model: Any, at: np.ndarray | None = None) -> Any:
        at = np.arange(len(self.y)) if at is None else at
        weights = None if self.weights is None else self.weights[at]
        return fit_member(model, take_rows(self.X, at), self.y[at], weights)

    def _held_out(self, model: Any, whole: Any) -> np.ndarray:
        if self.splits and not self.has_copies and _leaves_one_out(whole):
            return floored(whole.loo_proba_)
        return self._predicted([self._fit(clone(model), train) for train, _ in self.splits])

    def _predicted(self, parts: Sequence[Any]) -> np.ndarray:
        """What the models of the folds say of the rows that they have not seen."""
        proba = np.full((len(self.y), self.order.n_levels), np.nan)
        for part, (_, test) in zip(parts, self.splits, strict=True):
            proba[test] = floored(ordered_proba(part, take_rows(self.X, test), self.order))
        return proba

    def _calibrate(
        self, model: Any, own: np.ndarray, scores: np.ndarray, fold: int | None = None
    ) -> None:
        last = last_step(model)
        calibrate_from_folds(last, own, scores, self.splits, self.y, self.weights, fold=fold)


def learn_weights(proba: np.ndarray, weights: np.ndarray, alpha: float) -> np.ndarray:
    """Weights of members, shape (M,), from the probabilities (n, M) of what was observed."""
    M = proba.shape[1]
    w, total = np.full(M, 1.0 / M), float(weights.sum()) + M * alpha
    if M == 1 or total == 0.0:
        return w
    for _ in range(_STEPS):
        last = w
        w = (last * (proba.T @ (weights / (proba @ last))) + alpha) / total
        if np.all(w <= last * (1.0 + _SLACK)):
            break
    return w / w.sum()


def cross_fitted(
    proba: np.ndarray, weights: np.ndarray, fold: np.ndarray, alpha: float
) -> np.ndarray:
    """Weights of members for each row, learnt on the rows of the other folds, shape (n, M)."""
    found = np.empty_like(proba)
    for k in np.unique(fold):
        others = fold != k
        found[~others] = learn_weights(proba[others], weights[others], alpha)
    return found


def floored(proba: np.ndarray) -> np.ndarray:
    """Probabilities (..., K) raised to a floor, which sum to one over the last axis."""
    raised = np.maximum(proba, _FLOOR)
    return raised / raised.sum(axis=-1, keepdims=True)


def row_groups(X: Any) -> np.ndarray:
    """A number for each row; rows that agree in all columns share one."""
    if sparse.issparse(X):
        # Equal rows have equal products with any vector; others differ with a random one.
        X = (X @ np.random.default_rng(0).random(X.shape[1]))[:, None]
    elif hasattr(X, "columns"):
        X = np.column_stack([_codes(np.asarray(X[name])) for name in X.columns])
    elif X.dtype.kind not in "biuf":
        X = np.column_stack([_codes(column) for column in X.T])
    table = np.ascontiguousarray(X + 0)  # -0.0 becomes 0.0
    rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    return np.unique(rows, return_inverse=True)[1]


def _codes(cells: np.ndarray) -> np.ndarray:
    """Equal cells as equal numbers."""
    known = cells if cells.dtype.kind in "biuf" else np.array([str(cell) for cell in cells])
    return np.unique(known, return_inverse=True)[1]


def _leaves_one_out(model: Any) -> bool:
    """Whether a fit has predicted each row without that row, as if it had not seen it."""
    return (
        isinstance(model, OrdinalGP)
        and model.inference == "ep"
        and model.criterion == "evidence"
        and not isinstance(model.fit_.problem, InducingPoints)
        # Of a row of weight two both copies are left out, of two rows one.
        and bool(np.all(model.fit_.problem.weights == 1.0))
    )


def _scores(model: Any, X: Any) -> np.ndarray:
    """Latent scores of the classifier at the end of a pipeline, or of the model."""
    last = last_step(model)
    front = model
    while front is not last:
        X = front[:-1].transform(X) if len(front.steps) > 1 else X
        front = front.steps[-1][1]
    scores: np.ndarray = last.predict_latent(X)
    return scores


def _check_members(members: Any, reserved: Sequence[str]) -> None:
    """Refuse what is no list of names and classifiers with probabilities."""
    try:
        names = [name for name, _ in members]
    except (TypeError, ValueError):
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"estimators={members!r} must be a list of pairs of a name and a classifier, such "
            "as [('gp', OrdinalGP()), ('forest', RandomForestClassifier())]."
        )
    for name, member in members:
        if names.count(name) > 1 or "__" in name or name in reserved:
            raise ValueError(
                f"a member is named {name!r}; names must differ from each other and from the "
                "parameters of OrdinalStack, and have no double underscore."
            )
        if not hasattr(member, "predict_proba"):
            raise TypeError(
                f"the member {name!r} is {member!r}, which has no predict_proba; pass a "
                "classifier with probabilities, such as OrdinalGP()."
            )
