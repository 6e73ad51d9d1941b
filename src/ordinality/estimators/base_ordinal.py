"""What every ordinal classifier shares: the order of its labels and what follows from it."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import levels as _levels
from ..scales import order_to_state

__all__ = ["OrdinalClassifier", "decided", "kappa_rule"]

_RULES = ("mode", "median", "mean", "quadratic_kappa")


class OrdinalClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose labels have an order.

    Subclasses have parameters ``levels``, ``decision`` and ``class_weight`` and a method
    ``_level_proba``; in ``fit`` they call `_learn_levels` and `_class_factors`, and at its end
    `_learn_decision`. Fitted to codes
    of text levels, as some tools of scikit-learn assign them, a model predicts codes:
    ``classes_`` holds them sorted and ``levels_`` in order of level.
    """

    kappa_rule_: np.ndarray  # (2,), only with decision="quadratic_kappa"
    levels: Any
    decision: Any
    class_weight: Any

    def predict(self, X: Any) -> np.ndarray:
        """Level of each row, by the rule ``decision`` from the probabilities of the levels.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n,)
            Predicted labels.
        """
        rule = getattr(self, "kappa_rule_", None)
        proba = self.predict_level_proba(X)
        self._check_decision()  # it may have been set after the fit
        self._check_costs(self._order)
        ranks = decided(proba, self.decision, rule)
        return self._order.decode(ranks)

    @available_if(lambda self: self._has_proba())
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each label, columns in the order of ``classes_`` (sorted).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n, K)
            Probabilities; `predict_level_proba` has the columns in order of level.
        """
        return self.predict_level_proba(X)[:, self._order.columns]

    @available_if(lambda self: self._has_proba())
    def predict_level_proba(self, X: Any, *, cumulative: bool = False) -> np.ndarray:
        """Probability of each level, columns in the order of ``levels_``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.
        cumulative : bool, default=False
            Probability of each level *or a lower one* instead.

        Returns
        -------
        proba : ndarray of shape (n, K)
            Probabilities, lowest level first.
        """
        check_is_fitted(self)
        proba = self._level_proba(X)
        return np.minimum(np.cumsum(proba, axis=1), 1.0) if cumulative else proba

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's accuracy check uses blobs whose classes lie in no order.
        tags.classifier_tags.poor_score = True
        return tags

    def _has_proba(self) -> bool:
        """Whether there are probabilities; where not, their methods do not exist."""
        return True

    def _level_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the levels in order, shape (n, K)."""
        raise NotImplementedError

    def _check_decision(self) -> None:
        """Refuse a rule that is neither a known name nor a matrix of costs."""
        rule = self.decision
        if isinstance(rule, str) or rule is None:
            if rule not in _RULES:
                raise ValueError(
                    f"decision={rule!r} is not known; choose one of {list(_RULES)}, or pass a "
                    "matrix of costs (true level, predicted level)."
                )
            return
        try:
            cost = np.asarray(rule, dtype=np.float64)
        except (TypeError, ValueError):
            cost = np.empty(0)
        if cost.ndim != 2 or cost.shape[0] != cost.shape[1] or not np.all(np.isfinite(cost)):
            shown = reprlib.repr(np.asarray(rule, dtype=object).tolist())
            raise ValueError(
                f"decision={shown} is not a matrix of costs; pass finite numbers of shape "
                f"(K, K), rows true and columns predicted levels, or one of {list(_RULES)}."
            )

    def _check_costs(self, order: _levels.Order) -> None:
        """Refuse a matrix of costs of another number of levels."""
        if not isinstance(self.decision, str) and len(self.decision) != order.n_levels:
            raise ValueError(
                f"decision is a matrix of {len(self.decision)} rows, but there are "
                f"{order.n_levels} levels: {order.levels.tolist()}; give each a row and a "
                "column."
            )

    def _learn_decision(self, proba: Callable[[], np.ndarray]) -> None:
        """Learn what ``decision="quadratic_kappa"`` needs, from the rows learnt."""
        if hasattr(self, "kappa_rule_"):
            del self.kappa_rule_  # of an earlier fit
        if isinstance(self.decision, str) and self.decision == "quadratic_kappa":
            self.kappa_rule_ = kappa_rule(proba())

    def _learn_levels(self, y: Any, given: Any) -> np.ndarray:
        """Find the order of the labels, warn of what was assumed, return the ranks of `y`.

        `given` holds the labels of all rows, also of those that `y` lacks for their weight 0.
        """
        order = self._resolve(y, given)
        if order.guessed:
            warnings.warn(_guessed(order.levels.tolist()), UserWarning, stacklevel=4)
        if order.source == "coded" and np.any(order.levels != order.classes):
            warnings.warn(_coded(_levels.as_labels(self.levels)), UserWarning, stacklevel=4)
        self._check_costs(order)
        self._order = order
        self.levels_ = order.levels
        self.classes_ = order.classes
        return order.encode(y)

    def _resolve(self, y: Any, given: Any) -> _levels.Order:
        """Order of the labels; of their codes, where a tool has recoded the stated levels."""
        codes = None if self.levels is None else _levels.codes_in_order(given, self.levels)
        if codes is None:
            return _levels.resolve(y, self.levels)
        return replace(_levels.resolve(y, codes), source="coded")

    def _class_factors(self, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """What ``class_weight`` multiplies the weight of a row of each level by, shape (K,)."""
        factors, given = np.ones(len(self.levels_)), self.class_weight
        if given is None:
            return factors
        if isinstance(given, str) and given == "balanced":
            total = np.bincount(ranks, weights, len(factors))
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


def decided(proba: np.ndarray, rule: Any, kappa: np.ndarray | None = None) -> np.ndarray:
    """Ranks that a rule predicts from probabilities of the levels, shape (n, K).

    ``"quadratic_kappa"`` stretches the means as `kappa_rule` has found for a set of rows.
    """
    if not isinstance(rule, str):  # cost[i, j] of predicting level j where level i is true
        return np.argmin(proba @ np.asarray(rule, dtype=np.float64), axis=1)
    if rule == "median":
        return np.argmax(np.cumsum(proba, axis=1) >= 0.5, axis=1)
    if rule == "mean":  # rounded half up: NumPy rounds half to even
        return np.floor(proba @ np.arange(proba.shape[1]) + 0.5).astype(np.int64)
    if rule == "quadratic_kappa":
        if kappa is None:
            raise ValueError(
                "decision='quadratic_kappa' learns its rule from the rows of `fit`, and was "
                "not set then, or they came in parts; fit again, with all rows at once."
            )
        return _stretched(proba, kappa[0], kappa[1])
    return np.argmax(proba, axis=1)


def kappa_rule(proba: np.ndarray) -> np.ndarray:
    """Centre m and kappa of the rule of largest expected quadratic kappa on a set of rows.

    Kappa is one minus a ratio N / D of squared errors, of the predictions and of the same
    predictions shuffled. Given its value, N - (1 - kappa) D is least for the level nearest to
    ``m + (mu - m) / kappa``, mu the mean rank of a row and m that of all rows; that gives a
    better kappa, until nothing changes (Dinkelbach, 1967).
    """
    ranks = np.arange(proba.shape[1])
    mu, square = proba @ ranks, proba @ ranks**2
    # From below kappa only rises. This one sends every row to the lowest or highest level.
    m, kappa = float(mu.mean()), 1e-9
    for _ in range(100):  # a few steps: no set of predictions comes twice
        found = _stretched(proba, m, kappa)
        errors = np.mean(square - 2 * found * mu + found**2)
        shuffled = np.mean(square.mean() - 2 * found * m + found**2)
        better = 1 - errors / shuffled if shuffled > 0 else 0.0
        if better <= kappa:
            break
        kappa = better
    # No row differs from the others: no rule is better than chance, and the means will do.
    return np.array([m, kappa if kappa > 1e-9 else 1.0])


def _stretched(proba: np.ndarray, m: float, kappa: float) -> np.ndarray:
    """Level nearest to the mean rank stretched about m."""
    K = proba.shape[1]
    ranks = np.floor(m + (proba @ np.arange(K) - m) / kappa + 0.5)
    return np.clip(ranks, 0, K - 1).astype(np.int64)


def _guessed(labels: list[str]) -> str:
    """What to say of text without an order, with the line to type."""
    return (
        "The labels are text and no order was stated, so they are taken in alphabetical order: "
        f"{', '.join(map(repr, labels))}. State the order, lowest first, with "
        f"levels={order_to_state(labels)}, or pass an ordered pandas Categorical or a polars "
        "Enum."
    )


def _coded(labels: np.ndarray) -> str:
    """What to say of codes that mean something else as places in the stated order."""
    read = ", ".join(f"{code} is {name!r}" for code, name in enumerate(sorted(labels.tolist())))
    return (
        f"y holds the codes 0 to {len(labels) - 1} in place of the stated levels. They are "
        f"read as scikit-learn's tools assign them, by sorted label: {read}. If you numbered "
        "the labels yourself, 0 for the lowest, leave `levels` out."
    )
