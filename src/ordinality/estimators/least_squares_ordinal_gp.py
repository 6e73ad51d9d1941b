"""Probabilistic least squares ordinal regression: the estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import levels as _levels
from ..gp.least_squares import InducingLeastSquares, LeastSquares
from ..gp.likelihoods import Ordinal
from ..gp.optimise import Fit
from ..gp.posterior.inducing import InducingPredictor
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from .base_gp import MUCH, GaussianProcessClassifier, inducing_points, warn_unexplained
from .fitting import FitLog, check_choices, check_positive, check_whole

__all__ = ["LeastSquaresOrdinalGP"]


class LeastSquaresOrdinalGP(GaussianProcessClassifier):
    """Gaussian-process regression on the ranks, with an ordinal link on top (PLSOR).

    The ranks 0, 1, ... are fitted as numbers, which needs no approximation; a link with a
    slope and thresholds of its own turns the predicted mean and variance into probabilities of
    the levels. Kernel, noise, slope and thresholds are learnt by the leave-one-out log
    probability of the training labels.

    Parameters
    ----------
    kernel : kernel, str or None, default=None
        From `ordinality.kernels`, or a scikit-learn kernel; its values are where learning
        starts. None is ``1.0 * Gaussian(sqrt(d))``, the paper's sigma_f^2 = 1, kappa = 1/d.
        The variance is in squared ranks. A vector of length scales learns the relevance of
        each feature.
    inducing : "auto", int, array-like of shape (M, d) or None, default="auto"
        Inducing points: rows are seen through the values of the regression at M points, which
        costs n M^2 instead of n^3. A number chooses as many among the rows, an array gives
        them, None is exact. "auto" is exact up to 2000 rows and for kernels that have no
        rectangular gradients, and 500 points for more rows.
    noise : float, default=0.5
        Standard deviation of a rank about the regression where learning starts.
    slope : float, default=2.0
        Steepness of the link, per rank, where learning starts.
    thresholds : array-like of shape (K - 1,), default=None
        Thresholds on the scale of the ranks where learning starts. None tries two starts:
        half-way between the ranks (0.5, 1.5, ...), and the paper's.
    hyperprior : "weak", None or mapping, default="weak"
        Prior of the learnt parameters, as in `OrdinalGP`; None is the pure leave-one-out
        score.
    standardize : bool, default=True
        Whether features are shifted and scaled to unit spread first.
    optimizer : {"lbfgs", None}, default="lbfgs"
        None keeps kernel, noise, slope and thresholds as given.
    n_restarts : int, default=0
        Further starts, drawn around the first; the best is kept.
    coarse_to_fine : bool, default=True
        Learn on growing subsets first when there are more than about 400 rows. Deterministic
        for a given ``random_state``.
    decision : {"mode", "median", "mean", "quadratic_kappa"} or array, default="mode"
        How `predict` chooses a level: the most probable (least zero-one error), the median
        (least absolute error), the rounded mean of the ranks (least squared error), or the one
        of least expected cost, where entry (i, j) is the cost of predicting level j when level
        i is true.
        "quadratic_kappa" stretches the rounded mean for the largest quadratic kappa, as the
        rows of `fit` tell.
    class_weight : dict, "balanced" or None, default=None
        Weights of labels, ``{label: weight}``, by which the weights of their rows are
        multiplied; "balanced" gives every level the same total weight.
    levels : array-like of shape (K,), default=None
        The labels in order, lowest first. None: the order `y` carries, else sorted.
    max_evaluations : int, default=150
        Most evaluations of the leave-one-out score, per start and per subset.
    random_state : int, RandomState or None, default=None
        Chooses restarts and subsets; None is a fixed seed, so equal calls give equal models.
    n_jobs : int, default=None
        Starts run in this many threads.
    verbose : int, default=0
        1 writes the stages of a long fit to stderr, 2 every step. The logger "ordinality" gets
        them in any case, as INFO and DEBUG.

    Attributes
    ----------
    levels_ : ndarray of shape (K,)
        Labels in order. ``classes_`` holds the same, sorted.
    thresholds_ : ndarray of shape (K - 1,)
        Learnt thresholds, increasing, on the scale of the ranks 0 .. K - 1.
    slope_ : float
        Learnt steepness of the link, per rank; above zero. With ``centre = (K - 1) / 2`` the
        paper's parameters are ``alpha = -slope_``, ``beta = slope_ * (thresholds_ - centre)``.
    noise_ : float
        Learnt noise of the regression, in ranks.
    inducing_points_ : ndarray of shape (M, d) or None
        The inducing points, in the units of X; None if the regression was exact.
    unexplained_ : float
        Share of the prior variance of the rows that the inducing points do not explain, 0 if
        the regression was exact. A warning says where it is large.
    kernel_ : kernel
        Learnt kernel, of the standardised features.
    loo_log_score_ : float
        Sum over the rows of the log probability of their label given all the others: minus
        eq. 11 of the paper, without the hyperprior.
    loo_proba_ : ndarray of shape (n, K)
        Probabilities of the levels (in order) of every training row, given all the others.
    relevance_ : ndarray of shape (d,)
        Weight of each feature in the kernel, per standard deviation of the feature: larger
        matters more. NaN where the kernel does not look at features one by one.
    length_scale_ : ndarray of shape (d,)
        The same as a distance in the units of each feature.
    converged_ : bool
        Whether the search met its tolerance.
    n_iter_ : int
        Evaluations of the leave-one-out score on all rows.

    References
    ----------
    Srijith, Shevade & Sundararajan (2012), "A probabilistic least squares approach to ordinal
    regression", AI 2012, LNCS 7691.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import LeastSquaresOrdinalGP
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.array(["low", "mid", "high"])[np.digitize(np.sin(X[:, 0]), [-0.4, 0.4])]
    >>> model = LeastSquaresOrdinalGP(levels=["low", "mid", "high"]).fit(X, y)
    >>> model.predict([[1.5], [3.1], [4.7]])
    array(['high', 'mid', 'low'], dtype='<U4')
    >>> bool(np.mean(np.argmax(model.loo_proba_, axis=1) == [model.levels_.tolist().index(v)
    ...     for v in y]) > 0.8)
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        inducing: Any = "auto",
        noise: float = 0.5,
        slope: float = 2.0,
        thresholds: Any = None,
        hyperprior: Any = "weak",
        standardize: bool = True,
        optimizer: str | None = "lbfgs",
        n_restarts: int = 0,
        coarse_to_fine: bool = True,
        decision: Any = "mode",
        class_weight: Any = None,
        levels: Any = None,
        max_evaluations: int = 150,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.inducing = inducing
        self.noise = noise
        self.slope = slope
        self.thresholds = thresholds
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.coarse_to_fine = coarse_to_fine
        self.decision = decision
        self.class_weight = class_weight
        self.levels = levels
        self.max_evaluations = max_evaluations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def loo_objective(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> float | tuple[float, np.ndarray]:
        """Leave-one-out log probability of the training labels at other parameters.

        Parameters
        ----------
        theta : array-like of shape (p,), default=None
            ``[kernel_.theta, log noise, -log slope, thresholds[0], log diff(thresholds)]``;
            None is the fit.
        eval_gradient : bool, default=False
            Whether the gradient in theta is wanted too.

        Returns
        -------
        value : float
            Eq. 11 of the paper with its sign reversed: larger is better.
        gradient : ndarray of the shape of theta
            Only if ``eval_gradient``.
        """
        return self._criterion_at(theta, eval_gradient)

    def _check_parameters(self) -> None:
        check_choices(
            self,
            optimizer=("lbfgs", None),
            standardize=(True, False),
            coarse_to_fine=(True, False),
        )
        check_positive(self, "noise", "slope")
        check_whole(self, n_restarts=0, max_evaluations=1)
        self._check_decision()

    def _start_kernel(self, d: int) -> Kernel:
        return 1.0 * Gaussian(np.sqrt(d)) if self.kernel is None else super()._start_kernel(d)

    def _objective(
        self, Z: np.ndarray, ranks: np.ndarray, weights: np.ndarray, kernel: Kernel
    ) -> LeastSquares:
        K = len(self.levels_)
        start = np.arange(K - 1) + 0.5 if self.thresholds is None else self.thresholds
        likelihood = Ordinal(_levels.check_thresholds(start, K), 1.0 / float(self.slope))
        centre = 0.5 * (K - 1)
        noise = float(self.noise)
        objective = LeastSquares(Z, ranks, weights, kernel, noise, likelihood, centre)
        objective = replace(objective, prior=self._prior(objective))
        points = inducing_points(self.inducing, Z, kernel, self._scaling)
        if points is None:
            return objective
        return InducingLeastSquares(**vars(objective), **points)

    def _starts(self, problem: LeastSquares, rng: np.random.Generator) -> list[np.ndarray]:
        """The paper's fixed start beside ours, then random ones."""
        random = super()._starts(problem, rng)
        if self.thresholds is not None:
            return random
        K = len(self.levels_)
        # beta_1 = -1, Delta = 2 / K, alpha = -1; the noise, which it does not state, as sigma_f
        published = Ordinal(problem.centre - 1.0 + 2.0 / K * np.arange(K - 1), 1.0)
        return [replace(problem, noise=1.0, likelihood=published).theta, *random]

    def _keep(self, fit: Fit[LeastSquares]) -> tuple[np.ndarray, np.ndarray]:
        self._keep_latent(fit)
        _, self.noise_, likelihood = fit.problem.model(fit.best.theta)
        self.slope_ = 1.0 / likelihood.noise
        if isinstance(fit.problem, InducingLeastSquares):  # `_learn` has kept its predictor
            self.inducing_points_: Any = self._scaling.undone(fit.problem.support)
        else:
            self.predictor_ = fit.problem.predictor(fit.best.theta)
            self.inducing_points_ = None
        self.unexplained_ = fit.best.unexplained
        self.loo_log_score_ = fit.best.criterion
        self.converged_ = fit.converged
        return fit.best.mean, fit.best.var

    def _settle(
        self, fit: Fit[Any], whole: Any, elsewhere: Any = None
    ) -> tuple[InducingPredictor, Any, int]:
        if len(fit.problem.y) == len(whole.y):
            return whole.predictor(fit.best.theta), fit.best, 1
        predictor, best = whole.settle(fit.best)
        FitLog(self).stage(
            "%d observations, 1 evaluation: criterion %.6g", len(whole.y), best.value
        )
        return predictor, best, 1

    def _latent(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # The link was learnt on the variance of a noisy rank, so it is used on one.
        return mean + self.fit_.problem.centre, variance + self.noise_**2

    def _warn_unless_converged(self) -> None:
        if not self.fit_.converged:
            self._warn_of_search("the leave-one-out score")
        if self.unexplained_ > MUCH:
            warn_unexplained(self.unexplained_, len(self.fit_.problem.support), stacklevel=5)
