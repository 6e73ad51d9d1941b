"""Statistics of judges who compare items: fit, sides, repeats, and separation of a scale.

Wright & Masters (1982), "Rating scale analysis", chapter 5, for infit and outfit of graded
answers. Pollitt (2012), "The method of Adaptive Comparative Judgement", Assessment in
Education 19, for their use with comparisons and for scale separation; Bramley (2015),
"Investigating the reliability of Adaptive Comparative Judgment", Cambridge Assessment, for its
fault.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import owens_t

from ordinality.levels import Floats
from ordinality.metrics.checks import floats, probabilities, ratio, weights

__all__ = [
    "JudgeFit",
    "LeftShare",
    "RepeatAgreement",
    "judge_fit",
    "left_share",
    "repeat_agreement",
    "root_likelihood",
    "scale_separation",
    "standardised_residuals",
]


class JudgeFit(NamedTuple):
    """Mean squares of residuals, near 1 where the probabilities are right, and their z.

    Parameters
    ----------
    infit, infit_z : float
        Weighted by the information of each answer.
    outfit, outfit_z : float
        All answers alike.

    Examples
    --------
    >>> from ordinality.metrics import judge_fit
    >>> judge_fit([1, -1], [[0.5, 0.5], [0.5, 0.5]])
    JudgeFit(infit=1.0, infit_z=0.0, outfit=1.0, outfit_z=0.0)
    """

    infit: float
    infit_z: float
    outfit: float
    outfit_z: float


class LeftShare(NamedTuple):
    """Share of answers for the left item, and its standard error.

    Parameters
    ----------
    share : float
        From 0 to 1.
    standard_error : float
        Of the share.

    Examples
    --------
    >>> from ordinality.metrics import left_share
    >>> left_share([1, -1, 1, -1])
    LeftShare(share=0.5, standard_error=0.25)
    """

    share: float
    standard_error: float


class RepeatAgreement(NamedTuple):
    """Share of repeats with the same answer, the share to be expected, and their number.

    Parameters
    ----------
    observed, expected : float
        From 0 to 1.
    repeats : int
        Number of repeats.

    Examples
    --------
    >>> from ordinality.metrics import repeat_agreement
    >>> repeat_agreement([1, 1], [1, -1], [0.0, 0.0], [0.0, 0.0])
    RepeatAgreement(observed=0.5, expected=0.5, repeats=2)
    """

    observed: float
    expected: float
    repeats: int


def judge_fit(
    answers: ArrayLike,
    proba: ArrayLike,
    *,
    levels: ArrayLike = (-1, 1),
    sample_weight: ArrayLike | None = None,
) -> JudgeFit:
    """Infit and outfit of answers to what was expected of them.

    With E and V the mean and the variance of an answer under ``proba``, outfit is the mean of
    (y - E)**2 / V, and infit the sum of (y - E)**2 over that of V. So a few slips on easy
    questions move outfit far; infit weighs answers by V. Both are about 1 for a judge whom the
    probabilities describe, larger for one who is guided by another order or by chance, smaller
    for one who is less noisy. z is the excess over 1 in its standard deviations, without the
    cube-root transformation that some programs apply.

    Parameters
    ----------
    answers : array-like of shape (m,)
        Answers of one judge, each one of ``levels``, which are numbers.
    proba : array-like of shape (m, K)
        Probabilities of the answers, stated without this judge's own.
    levels : array-like of shape (K,), default=(-1, 1)
        The answers there are, lowest first, as the columns of ``proba`` have them: -1, 0, 1
        with ties, -2 to 2 with two grades.
    sample_weight : array-like of shape (m,), default=None
        Weight of each answer; one by default.

    Returns
    -------
    fit : JudgeFit
        ``infit``, ``infit_z``, ``outfit``, ``outfit_z``; NaN if every answer was certain
        beforehand. Where all probabilities are equal, as in 1/2 and 1/2, z is 0: then no
        answer is a surprise.

    Examples
    --------
    >>> from ordinality.metrics import judge_fit
    >>> proba = [[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]]
    >>> found = judge_fit([1, 1, -1, 1], proba)
    >>> round(found.infit, 2), round(found.outfit, 2)
    (0.43, 0.36)
    >>> contrary = judge_fit([-1, -1, 1, -1], proba)
    >>> contrary.infit > 2
    True
    """
    rank, p, weight, order = probabilities(answers, proba, levels, sample_weight)
    residual, spread, fourth = _residuals(rank, p, order)
    squared = residual**2
    open_ = (spread > 0) & (weight > 0)
    if not open_.any():
        return JudgeFit(*(float("nan"),) * 4)
    squared, spread, fourth, weight = (x[open_] for x in (squared, spread, fourth, weight))
    # The variance of a squared residual; rounding may make it negative.
    beyond = np.maximum(fourth - spread**2, 0.0)
    infit = _mean_square(squared, spread, beyond, weight)
    outfit = _mean_square(squared / spread, np.ones_like(spread), beyond / spread**2, weight)
    return JudgeFit(*infit, *outfit)


def standardised_residuals(
    answers: ArrayLike, proba: ArrayLike, levels: ArrayLike = (-1, 1)
) -> np.ndarray:
    """Residual of each answer in its standard deviation, (m,): outfit is their mean square.

    NaN where the answer was certain beforehand. Arguments are as for `judge_fit`.
    """
    rank, p, _, order = probabilities(answers, proba, levels, None)
    residual, spread, _ = _residuals(rank, p, order)
    error = np.sqrt(spread)
    return np.divide(residual, error, out=np.full(len(error), np.nan), where=error > 0.0)


def left_share(answers: ArrayLike, *, sample_weight: ArrayLike | None = None) -> LeftShare:
    """Share of the decided answers that were for the left item.

    Parameters
    ----------
    answers : array-like of shape (m,)
        Positive where the left item was preferred, negative where the right one was; ties, 0,
        are left out.
    sample_weight : array-like of shape (m,), default=None
        Weight of each answer; one by default.

    Returns
    -------
    left : LeftShare
        ``share``, and the ``standard_error`` of a share s among n answers,
        sqrt(s (1 - s) / n): zero if all are for one side. NaN if all are ties.

    Examples
    --------
    >>> from ordinality.metrics import left_share
    >>> share, error = left_share([1, 1, -1, 0, 2])
    >>> share, round(error, 3)
    (0.75, 0.217)
    """
    y = floats(answers, np.shape(answers)[:1], "answers")
    weight = weights(sample_weight, y.size) * (y != 0)
    share = ratio(float(weight @ (y > 0)), float(weight.sum()))
    # Answers of unequal weight are worth this many of equal weight.
    count = weight.sum() ** 2 / (weight @ weight) if weight.any() else np.nan
    return LeftShare(share, float(np.sqrt(share * (1.0 - share) / count)))


def repeat_agreement(
    first: ArrayLike, second: ArrayLike, mean: ArrayLike, variance: ArrayLike
) -> RepeatAgreement:
    """Agreement of a judge with the own earlier answers, beside what noise alone would leave.

    Two answers to one question differ where the items are close, however honest the judge: the
    share to be expected is not 1. Of a difference ~ N(0, v), in units of its noise, it is
    1/2 + asin(v / (1 + v)) / pi; the mean moves it up.

    Parameters
    ----------
    first, second : array-like of shape (m,)
        Answers to the same pairs, the same item named first: positive where it was preferred.
        Repeats with a tie, 0, are left out.
    mean, variance : array-like of shape (m,)
        Of the difference of the two utilities of each pair, in units of the noise of an answer,
        known without this judge's own answers.

    Returns
    -------
    agreement : RepeatAgreement
        ``observed`` and ``expected`` share of equal sides, and the number of ``repeats``; NaN
        if there are none. More than expected: the judge remembers, or has a stable opinion
        apart from the others'. A few repeats decide nothing.

    Examples
    --------
    >>> from ordinality.metrics import repeat_agreement
    >>> found = repeat_agreement([1, 1, -1, 1], [1, -1, -1, 1], [0.0] * 4, [1.0] * 4)
    >>> found.observed, round(found.expected, 3), found.repeats
    (0.75, 0.667, 4)
    """
    one = floats(first, np.shape(first)[:1], "first")
    other, m, v = (
        floats(given, one.shape, name)
        for given, name in ((second, "second"), (mean, "mean"), (variance, "variance"))
    )
    decided = (one != 0) & (other != 0)
    # The chance of two different sides is 2 (Phi(h) - Phi2(h, h; v / (1 + v))), which is four
    # times Owen's T (Owen, 1956).
    differs = 4.0 * owens_t(m / np.sqrt(1.0 + v), 1.0 / np.sqrt(1.0 + 2.0 * v))
    count = int(decided.sum())
    same = np.sign(one) == np.sign(other)
    return RepeatAgreement(
        ratio(float(same[decided].sum()), count),
        ratio(float((1.0 - differs)[decided].sum()), count),
        count,
    )


def root_likelihood(p: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Root likelihood (RLH): geometric mean of the probabilities of the answers that came.

    The measure of fit of choice models: 1/K by chance among K answers, 1 for a prophet. It is
    exp(-log score).

    Parameters
    ----------
    p : array-like of shape (m,)
        Probability of each answer, as it was stated before.
    sample_weight : array-like of shape (m,), default=None
        Weight of each answer; one by default.

    Returns
    -------
    float
        From 0 to 1, the best.

    Examples
    --------
    >>> from ordinality.metrics import root_likelihood
    >>> round(root_likelihood([0.5, 0.9, 0.8]), 3)
    0.711
    """
    p = floats(p, np.shape(p)[:1], "p")
    if np.any((p < 0) | (p > 1)):
        raise ValueError(
            f"p must hold probabilities, but entries range from {p.min():.3g} to {p.max():.3g}."
        )
    weight = weights(sample_weight, p.size)
    said = weight > 0
    with np.errstate(divide="ignore"):  # an answer of probability zero makes the product zero
        return float(np.exp(np.average(np.log(p[said]), weights=weight[said])))


def scale_separation(
    utility: ArrayLike, standard_error: ArrayLike, *, posterior: bool = False
) -> float:
    """Scale separation reliability (SSR): the share of variance that is signal.

    Tools for comparative judgement call it reliability (Pollitt, 2012). **It is too high when
    the questions were chosen by the estimates themselves**: then items meet only those near
    which chance has put them, and little can move them from there. Bramley (2015) showed it for
    simulated judges, some of whom tossed coins. It is here for comparison with such tools.

    Parameters
    ----------
    utility : array-like of shape (n,)
        Estimates.
    standard_error : array-like of shape (n,)
        Their standard errors; or posterior standard deviations.
    posterior : bool, default=False
        Whether the estimates are posterior means. Those are shrunk, so that their variance is
        that of the signal; the variance of maximum likelihood estimates is that of signal and
        error together.

    Returns
    -------
    float
        Variance of the signal over that of signal and error, from 0 to 1; NaN if both are 0.

    Examples
    --------
    >>> from ordinality.metrics import scale_separation
    >>> round(scale_separation([-1.0, 0.0, 1.0], [0.5, 0.5, 0.5]), 3)
    0.75
    """
    u = floats(utility, np.shape(utility)[:1], "utility")
    error = float(np.mean(floats(standard_error, u.shape, "standard_error") ** 2))
    # With n - 1: the mean of the estimates is no signal.
    observed = float(np.var(u, ddof=1)) if u.size > 1 else 0.0
    if posterior:
        return ratio(observed, observed + error)
    return max(0.0, 1.0 - error / observed) if observed > 0 else float("nan")


def _residuals(rank: np.ndarray, p: Floats, order: Any) -> tuple[Floats, Floats, Floats]:
    """Residuals of answers from their expectation, with second and fourth moments."""
    value = floats(order.levels, (order.n_levels,), "levels")
    apart = value - (p @ value)[:, None]
    spread, fourth = np.sum(p * apart**2, axis=1), np.sum(p * apart**4, axis=1)
    return apart[np.arange(rank.size), rank], spread, fourth


def _mean_square(
    squared: Floats, expected: Floats, beyond: Floats, weight: Floats
) -> tuple[float, float]:
    """Weighted mean square over its expectation, and its excess in standard deviations."""
    excess, scale = weight @ (squared - expected), weight @ expected
    error = np.sqrt(weight**2 @ beyond)
    return float(1.0 + excess / scale), float(excess / error) if error > 0 else 0.0
