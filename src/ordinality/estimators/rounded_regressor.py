"""The naive baseline: regression on the ranks, rounded."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from .base_ordinal import OrdinalClassifier
from .fitting import atomic, check_weights, rows_of

__all__ = ["RoundedRegressor"]


class RoundedRegressor(OrdinalClassifier):
    """Any regressor on the ranks 0, 1, ..., its prediction rounded to the nearest rank.

    The baseline of the papers: it takes the levels to be equally far apart. Worth beating, and
    on labels that were cut from a number into equal pieces not easy to beat. Where the
    regressor's ``predict`` takes ``return_std``, a level's probability is that of its normal
    distribution within half a rank; elsewhere there is no `predict_proba`.

    Parameters
    ----------
    regressor : scikit-learn regressor, default=None
        None is the papers' choice, Gaussian-process regression with a Gaussian kernel whose
        signal, length scale and noise are learnt by type-II maximum likelihood, on
        standardised features.
    decision : {"mean", "mode", "median", "quadratic_kappa"} or array, default="mean"
        How `predict` chooses a level: the regressor's prediction, rounded; or from the
        probabilities the most probable level, the median, or the level of least expected cost,
        where entry (i, j) is the cost of predicting level j when level i is true.
        "quadratic_kappa" stretches the rounded mean for the largest quadratic kappa, as the
        rows of `fit` tell.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which the weights of their rows are
        multiplied; "balanced" gives every level the same total weight. For regressors that take
        sample weights.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Half-way between the ranks: 0.5, 1.5, ...
    regressor_ : regressor
        The fitted regressor.

    Examples
    --------
    >>> from ordinality import RoundedRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["bad", "fair", "fair", "good"]
    >>> model = RoundedRegressor(LinearRegression(), levels=["bad", "fair", "good"]).fit(X, y)
    >>> model.predict([[-2.0], [1.4], [9.0]])
    array(['bad', 'fair', 'good'], dtype='<U4')
    """

    def __init__(
        self,
        regressor: Any = None,
        *,
        decision: Any = "mean",
        class_weight: Any = None,
        levels: Any = None,
    ) -> None:
        self.regressor = regressor
        self.decision = decision
        self.class_weight = class_weight
        self.levels = levels

    @atomic
    def fit(self, X: Any, y: Any, **fit_params: Any) -> RoundedRegressor:
        """Fit the regressor to the ranks of the labels.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Whatever the regressor takes.
        y : array-like of shape (n,)
            Labels: integers, strings, booleans, an ordered Categorical or Enum.
        **fit_params : dict
            Handed to the regressor, such as ``sample_weight`` where it takes one.

        Returns
        -------
        self : RoundedRegressor
            The fitted estimator.
        """
        default = self.regressor is None
        if not (default or _is_regressor(self.regressor)):
            raise TypeError(
                f"regressor={self.regressor!r} is not a regressor; pass an instance, such as "
                "RandomForestRegressor(), or None for Gaussian-process regression."
            )
        self._check_decision()
        if default:
            X, checked = validate_data(self, X, y, dtype=np.float64, y_numeric=False)
        else:  # the regressor knows what it takes: text, missing cells, a frame
            validate_data(self, X, skip_check_array=True)
            checked = column_or_1d(y, warn=True)
        ranks = self._learn_levels(rows_of(y, checked, np.arange(len(checked))), checked)
        regressor = _naive(X.shape[1]) if default else clone(self.regressor)
        if self.class_weight is not None:
            weights = check_weights(fit_params.get("sample_weight"), len(ranks))
            fit_params["sample_weight"] = weights * self._class_factors(ranks, weights)[ranks]
        if "sample_weight" in fit_params and not has_fit_parameter(regressor, "sample_weight"):
            raise ValueError(
                f"{type(regressor).__name__} takes no sample weights; leave sample_weight and "
                "class_weight out, or choose a regressor that takes them, such as RidgeCV or "
                "RandomForestRegressor."
            )
        self.thresholds_ = np.arange(len(self.levels_) - 1) + 0.5
        with warnings.catch_warnings():
            # At an end of its generous bounds a parameter no longer changes the prediction.
            warnings.filterwarnings("ignore", ".*close to the specified", ConvergenceWarning)
            self.regressor_ = regressor.fit(X, ranks.astype(np.float64), **fit_params)
        self._learn_decision(lambda: self._level_proba(X))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The level whose rank is nearest to the prediction, or another ``decision``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n,)
            Predicted labels.
        """
        if not (isinstance(self.decision, str) and self.decision == "mean"):
            return super().predict(X)
        # Rounded half up: NumPy rounds half to even, which would favour every other level.
        ranks = np.floor(self.predict_latent(X) + 0.5)
        return self._order.decode(np.clip(ranks, 0, len(self.levels_) - 1).astype(int))

    def predict_latent(self, X: Any) -> np.ndarray:
        """The regressor's own prediction, a number on the scale of the ranks 0 .. K - 1.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows to predict.

        Returns
        -------
        rank : ndarray of shape (n,)
            Predictions, on the scale of ``thresholds_``.
        """
        X = self._checked(X)
        return np.ravel(self.regressor_.predict(X))

    def _check_decision(self) -> None:
        super()._check_decision()
        if not (
            _gives_deviation(self.regressor) or np.all(np.asarray(self.decision) == "mean")
        ):
            raise ValueError(
                f"decision={self.decision!r} needs probabilities, but "
                f"{type(self.regressor).__name__} predicts no standard deviation; use "
                "decision='mean', or a regressor such as BayesianRidge."
            )

    def _has_proba(self) -> bool:
        return _gives_deviation(getattr(self, "regressor_", self.regressor))

    def _level_proba(self, X: Any) -> np.ndarray:
        X = self._checked(X)
        mean, sd = self.regressor_.predict(X, return_std=True)
        edges = np.concatenate([[-np.inf], self.thresholds_, [np.inf]])
        sd = np.maximum(sd, np.finfo(float).tiny)  # certain: all on one level
        return np.diff(ndtr((edges - mean[:, None]) / sd[:, None]), axis=1)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        if self.regressor is None:
            return validate_data(self, X, dtype=np.float64, reset=False)
        validate_data(self, X, skip_check_array=True, reset=False)
        return X


def _naive(d: int) -> BaseEstimator:
    """The papers' regression, started at kappa = 1/d and noise of half a rank."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    wide = (1e-5, 1e5)
    kernel = ConstantKernel(1.0, wide) * RBF(np.sqrt(d), wide) + WhiteKernel(0.25, wide)
    regression = GaussianProcessRegressor(kernel, normalize_y=True)
    return make_pipeline(StandardScaler(), regression)


def _is_regressor(value: Any) -> bool:
    # scikit-learn asks the tags, which only its own kind of object has.
    return isinstance(value, BaseEstimator) and is_regressor(value)


def _gives_deviation(regressor: Any) -> bool:
    if regressor is None:
        return True
    last = regressor[-1] if hasattr(regressor, "named_steps") else regressor
    return "return_std" in inspect.signature(last.predict).parameters
