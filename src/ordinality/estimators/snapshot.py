"""Utilities of items under an unknown ratio of signal to noise, frozen between two fits.

A model that chooses its questions chooses open ones, and every ratio of signal to noise
predicts one half for those. The answers then say little about the ratio, and one best ratio
makes coin flips look like an order. So a snapshot holds a posterior of the utilities for each
of a few ratios, with zero (a coin) among them, and weighs them by prior and evidence.

With f the utilities, scaled to a prior variance of one on average, and the noise of one utility
as the unit, an answer at ratio r sees ``r (f_left - f_right)``. Its likelihood is the same at
every ratio, so that a step of one answer is a change of rank one at each of them.
Coefficients of covariates are part of the posterior, in units of the noise: a coin may prefer a
side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr, ndtri

from ..gp.likelihoods import Symmetric
from .fold_in import AnswerSites, Folding
from .preference_data import (
    Covariates,
    NamedItems,
    check_item_numbers,
    check_pairs,
    encode_answers,
)

__all__ = [
    "RATIOS",
    "CovariateIntervals",
    "CovariatePosteriors",
    "PointPosteriors",
    "Snapshot",
    "Utility",
    "check_ratios",
    "log_prior_of_ratios",
    "varied",
]

# Of signal to noise. Six points (zero, and 0.35 doubled four times) would do as well.
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6)

# Prior mass of a coin, and centre and width of the log-normal prior of the other ratios. An
# atom of 0.05 to 0.5 says nearly the same of true judges; of coins 0.45 to 0.495 of the pairs.
_COIN, _CENTRE, _WIDTH = 0.2, float(np.log(1.5)), 1.0


def check_ratios(ratios: Any) -> np.ndarray:
    """Ascending ratios of signal to noise, one at least above zero."""
    at = np.unique(np.asarray(ratios, dtype=np.float64))
    if not at.size or not np.all(np.isfinite(at)) or at[0] < 0.0 or at[-1] == 0.0:
        raise ValueError(
            f"ratios={ratios!r} must be numbers, 0 or more, of which one at least is above 0."
        )
    return at


def log_prior_of_ratios(ratios: np.ndarray) -> np.ndarray:
    """Log prior weight of each of ascending ratios: density times width in their logarithm."""
    log_weight = np.full(len(ratios), np.log(_COIN))
    above = ratios > 0.0
    x = np.log(ratios[above])
    width = np.gradient(x) if len(x) > 1 else np.ones(1)  # the outermost reach beyond the ends
    density = -0.5 * ((x - _CENTRE) / _WIDTH) ** 2 + np.log(width)
    share = np.log1p(-_COIN) if not above.all() else 0.0
    log_weight[above] = share + density - logsumexp(density)
    return log_weight


class Utility(NamedTuple):
    """Posterior mean and standard deviation of the utility of each item."""

    mean: np.ndarray
    std: np.ndarray


class PointPosteriors(NamedTuple):
    """Posteriors of the utilities of q items at G ratios of signal to noise.

    An answer about two items sees the difference of their utilities times ``slope``.
    """

    weights: np.ndarray  # (G,), sum to one
    slope: np.ndarray  # (G,)
    mean: np.ndarray  # (G, q)
    cov: np.ndarray  # (G, q, q)


class CovariateIntervals(NamedTuple):
    """Posterior mean and interval of each coefficient, in noises of a difference."""

    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True, eq=False)
class CovariatePosteriors:
    """Posteriors of c coefficients at G ratios, in units of the noise of a difference."""

    covariates: Covariates
    mean: np.ndarray  # (G, c)
    cov: np.ndarray  # (G, c, c)
    link: np.ndarray  # (G, n, c), covariances with the utilities
    unit: float  # the noise of a difference, over the typical noise of one utility

    def shift(self, covariates: Any, m: int) -> np.ndarray:
        """Mean of what covariates add to m pairs at each ratio, in typical noise, (G, m)."""
        return self.unit * self.mean @ self.covariates.checked(covariates, m).T

    def quantile(self, k: int, weights: np.ndarray, p: float) -> float:
        """Quantile of coefficient k over all ratios."""
        mean, sd = self.mean[:, k], np.sqrt(self.cov[:, k, k])
        ends = mean + sd * ndtri(p)
        # A little wider: the ends are all the same where the ratios agree. This moves p by
        # 1e-7, and rounding by 1e-15, so that the ends keep their signs.
        margin = 1e-6 * sd.max()
        low, high = ends.min() - margin, ends.max() + margin
        wide = high - low

        def excess(share: float) -> float:
            return float(weights @ ndtr((low + share * wide - mean) / sd) - p)

        return float(low + wide * brentq(excess, 0.0, 1.0))


# Of Gauss and Hermite. Probabilities are right to 1e-5 for a spread of 0.5, to 0.001 for 1.
_NODES = 15


def varied(likelihood: Symmetric, spread: float) -> list[tuple[float, Symmetric]]:
    """The likelihood of a judge whose log noise is normal around this one's, as a mixture.

    Steps are in proportion to the noise.
    """
    if not spread > 0.0:
        return [(1.0, likelihood)]
    at, weight = np.polynomial.hermite_e.hermegauss(_NODES)
    one, ties, link = likelihood, likelihood.ties, likelihood.link
    factors = np.exp(spread * at)
    parts = [
        Symmetric.of(f * one.steps, ties=ties, sigma=f * one.sigma, link=link) for f in factors
    ]
    return list(zip((weight / weight.sum()).tolist(), parts, strict=True))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The posterior of a `PreferenceGP`, with the ratio of signal to noise integrated out.

    Made by `PreferenceGP.snapshot`. All functions of `ordinality.elicitation` take it. It does
    not change: `told` returns another one.

    Parameters
    ----------
    ratios : ndarray of shape (G,)
        Ratios of signal to noise, ascending; at 0 answers are coin flips.
    weights : ndarray of shape (G,)
        Posterior probability of each ratio.
    slope : ndarray of shape (G,)
        What differences of utilities are multiplied by to be in units of noise.
    mean : ndarray of shape (G, n)
        Means of the utilities at each ratio.
    cov : ndarray of shape (G, n, n)
        Covariances of the utilities at each ratio.
    classes_ : ndarray of shape (K,)
        The answers there are.
    judges_ : ndarray or None
        Names of the judges.
    likelihoods : tuple of Symmetric
        Of the answers of each judge, in units of the typical noise; last, of a judge who is
        not among them.
    item_names_ : ndarray of shape (n,) or None, default=None
        Names of the items, if they have any.
    judge_spread : float, default=0.0
        Standard deviation of the log noise of a judge who is not known.
    covariates : CovariatePosteriors or None, default=None
        Coefficients of the covariates at each ratio.
    sites : AnswerSites or None, default=None
        What stands for each comparison, with EP. None: `told` leaves earlier ones as they are.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> model = PreferenceGP(4).fit([[0, 1], [0, 2], [1, 2], [0, 1], [0, 2]])
    >>> before = model.snapshot()
    >>> after = before.told([[3, 0]])
    >>> before.rank()
    array([1, 3, 4, 2])
    >>> after.rank()
    array([2, 3, 4, 1])
    """

    ratios: np.ndarray
    weights: np.ndarray
    slope: np.ndarray
    mean: np.ndarray
    cov: np.ndarray
    classes_: np.ndarray
    judges_: np.ndarray | None
    likelihoods: tuple[Symmetric, ...]
    item_names_: np.ndarray | None = None
    judge_spread: float = 0.0
    covariates: CovariatePosteriors | None = None
    sites: AnswerSites | None = None

    def __len__(self) -> int:
        return self.mean.shape[1]

    def told(
        self, pairs: Any, answers: Any = None, judges: Any = None, covariates: Any = None
    ) -> Snapshot:
        """Fold answers in, one after another, by changes of rank one at each ratio.

        After each answer, earlier ones about the same items are heard again where it has
        changed what they say: a first loss after many victories.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            The two items compared, by name or number.
        answers : array-like of shape (m,), default=None
            As for `PreferenceGP.fit`. None: the first always was preferred.
        judges : array-like of shape (m,), default=None
            Who answered; a judge that the model does not know has the typical noise.
        covariates : array-like, data frame or mapping of shape (m, c), default=None
            Covariates of the presentation, as for `PreferenceGP.fit`. None: no difference in
            any of them.

        Returns
        -------
        snapshot : Snapshot
            The posterior with these answers, to be replaced by that of the next `update` or
            `fit`: the order of the answers matters a little here, and not there.
        """
        pairs = check_pairs(self.item_numbers(pairs), len(self))
        level = encode_answers(answers, len(pairs), self.classes_)
        who = [None] * len(pairs) if judges is None else np.asarray(judges).tolist()
        Z = self._presented(covariates, len(pairs))
        (mean, cov), n = self._together(), len(self)
        with np.errstate(divide="ignore"):  # a ratio that many answers rule out has weight 0
            folding = Folding(self.slope, np.log(self.weights), mean, cov, self.sites)
        for items, z, answer, judge in zip(pairs, Z, level, who, strict=True):
            folding.hear(items, z, answer, self.likelihood(judge))
        effects = self.covariates
        if effects is not None:
            b, B, link = mean[:, n:], cov[:, n:, n:], cov[:, :n, n:]
            effects = replace(effects, mean=b, cov=B, link=link)
        log_weights = folding.log_weights
        weights = np.exp(log_weights - logsumexp(log_weights))
        mean, cov = mean[:, :n], cov[:, :n, :n]
        return replace(
            self, weights=weights, mean=mean, cov=cov, covariates=effects, sites=folding.sites
        )

    def _together(self) -> tuple[np.ndarray, np.ndarray]:
        """Moments of utilities and after them coefficients, (G, n + c) and its square."""
        effects = self.covariates
        if effects is None:
            return self.mean.copy(), self.cov.copy()
        below = np.concatenate([np.swapaxes(effects.link, 1, 2), effects.cov], axis=2)
        above = np.concatenate([self.cov, effects.link], axis=2)
        mean = np.concatenate([self.mean, effects.mean], axis=1)
        return mean, np.concatenate([above, below], axis=1)

    def _presented(self, covariates: Any, m: int) -> np.ndarray:
        """Covariates of m pairs, in the typical noise of one utility."""
        if self.covariates is not None:
            return self.covariates.unit * self.covariates.covariates.checked(covariates, m)
        return Covariates.of(None, m, np.ones(m), False).checked(covariates, m)

    def covariate_intervals(self, level: float = 0.9) -> CovariateIntervals:
        """Intervals for the coefficients of covariates, over all ratios.

        Parameters
        ----------
        level : float, default=0.9
            Probability of each interval.

        Returns
        -------
        mean : ndarray of shape (c,)
            Means, in the units of ``PreferenceGP.covariate_coef_``.
        lower : ndarray of shape (c,)
            Lower ends.
        upper : ndarray of shape (c,)
            Upper ends.
        """
        effects = self.covariates
        if effects is None:
            raise ValueError(
                "the model was fitted without covariates; pass those of every answer to fit."
            )
        if not 0.0 < level < 1.0:
            raise ValueError(f"level={level!r} must be a probability between 0 and 1.")
        tails = 0.5 * (1.0 - level), 0.5 * (1.0 + level)
        lower, upper = (
            np.array(
                [effects.quantile(k, self.weights, p) for k in range(effects.mean.shape[1])]
            )
            for p in tails
        )
        return CovariateIntervals(self.weights @ effects.mean, lower, upper)

    def utility(self) -> Utility:
        """Mean and standard deviation of the utility of each item, over all ratios.

        Returns
        -------
        mean : ndarray of shape (n,)
            Means; zero at the ratio of a coin.
        std : ndarray of shape (n,)
            Standard deviations.
        """
        mean = self.weights @ self.mean
        own = np.diagonal(self.cov, axis1=1, axis2=2)
        variance = self.weights @ (own + (self.mean - mean) ** 2)
        return Utility(mean, np.sqrt(variance))

    def posterior(self, items: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of the utilities of items, over all ratios.

        Parameters
        ----------
        items : array-like of shape (q,), default=None
            Items by name or number; None is all of them.

        Returns
        -------
        mean : ndarray of shape (q,)
            Posterior means.
        covariance : ndarray of shape (q, q)
            Posterior covariances. The posterior is a mixture of normals, not a normal.
        """
        weights, _, each, cov = self.points(items)
        mean = weights @ each
        apart = each - mean
        return mean, np.tensordot(weights, cov, 1) + (weights[:, None] * apart).T @ apart

    def points(self, items: Any = None) -> PointPosteriors:
        """Posteriors of the utilities of items at each ratio.

        Parameters
        ----------
        items : array-like of shape (q,), default=None
            Items by name or number; None is all of them.

        Returns
        -------
        posteriors : PointPosteriors
            Weights and slopes of the ratios, means (G, q) and covariances (G, q, q).
        """
        if items is None:
            return PointPosteriors(self.weights, self.slope, self.mean, self.cov)
        which = check_item_numbers(self.item_numbers(items), len(self), "items")
        cov = self.cov[:, which[:, None], which]
        return PointPosteriors(self.weights, self.slope, self.mean[:, which], cov)

    def rank(self) -> np.ndarray:
        """Place of each item by mean utility, 1 for the best.

        Returns
        -------
        rank : ndarray of int, shape (n,)
            Of two items with equal means the first has the better place.
        """
        return 1 + np.argsort(np.argsort(-(self.weights @ self.mean), kind="stable"))

    def predict_proba(
        self, pairs: Any, judge: Any = None, covariates: Any = None
    ) -> np.ndarray:
        """Probability of each answer to each pair of items, over all ratios.

        Parameters
        ----------
        pairs : array-like of shape (m, 2)
            The two items of each pair, by name or number.
        judge : label, default=None
            Who is asked; None has the typical noise. That of a judge whom the model does not
            know is drawn from the spread of those whom it knows.
        covariates : array-like, data frame or mapping of shape (m, c), default=None
            Covariates of the presentation. None: no difference in any of them.

        Returns
        -------
        proba : ndarray of shape (m, K)
            Columns in the order of ``classes_``.
        """
        i, j = check_pairs(self.item_numbers(pairs), len(self)).T
        gap = self.slope[:, None] * (self.mean[:, i] - self.mean[:, j])
        own = np.diagonal(self.cov, axis1=1, axis2=2)
        variance = own[:, i] + own[:, j] - self.cov[:, i, j] - self.cov[:, j, i]
        spread = self.slope[:, None] ** 2 * np.maximum(variance, 0.0)
        Z, effects = self._presented(covariates, gap.shape[1]), self.covariates
        if effects is not None and covariates is not None:
            gap = gap + effects.shift(covariates, len(Z))
            across = self.slope[:, None, None] * (effects.link[:, i] - effects.link[:, j])
            spread = spread + np.sum(Z * (Z @ effects.cov + 2.0 * across), axis=2)
            spread = np.maximum(spread, 0.0)
        unknown = judge is not None and not self._knows(judge)
        each = np.zeros((*gap.shape, len(self.classes_)))
        for share, part in varied(
            self.likelihood(judge), self.judge_spread if unknown else 0.0
        ):
            each += share * part.proba(gap.ravel(), spread.ravel()).reshape(each.shape)
        return np.tensordot(self.weights, each, 1)

    def _knows(self, judge: Any) -> bool:
        return self.judges_ is not None and judge in self.judges_.tolist()

    def item_numbers(self, items: Any) -> Any:
        """Numbers of items.

        Parameters
        ----------
        items : array-like
            Names, or numbers, which are returned as they are.

        Returns
        -------
        numbers : array-like of int
            Of the same shape.
        """
        return NamedItems(self.item_names_, None).numbers(items, "items")

    def likelihood(self, judge: Any = None) -> Symmetric:
        """Likelihood of the answers of a judge, in units of the typical noise.

        Parameters
        ----------
        judge : label, default=None
            None, or a judge that the model does not know, has the typical noise.

        Returns
        -------
        likelihood : Symmetric
            Of the difference of two utilities times ``slope``.
        """
        known = [] if self.judges_ is None else self.judges_.tolist()
        return self.likelihoods[known.index(judge) if judge in known else -1]
