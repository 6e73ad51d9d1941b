"""How each judge answers: fit to the others, noise, sides, speed, repeats, and coin flips.

Infit is the mean square of residuals, weighted by the information of each answer: 1 for a judge
who is as noisy as the typical one, more for one who is not guided by the same order. The
reference must not have learnt from the judge. EP holds a Gaussian factor for each answer, its
site; dividing by those of one judge leaves a posterior of the other judges' answers. Their
sites, and the parameters, stay as they were learnt from all.

Chosen questions are open ones, where no answer is a surprise: there a coin has an infit near
1.8, on random pairs near 3.8. So whom to look at is decided by `coin_ratio`, which finds more
coins and needs no limit.

Wright & Masters (1982), "Rating scale analysis", chapter 5, for answers of several grades.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..elicitation.gains import (
    answer_likelihood,
    difference_variance,
    points_of,
    with_normal_noise,
)
from ..metrics import (
    JudgeFit,
    RepeatAgreement,
    judge_fit,
    left_share,
    repeat_agreement,
    root_likelihood,
)
from .coin_ratio import coin_log_ratio, removed, sites_of

__all__ = ["GivenAnswers", "JudgeSummary", "judge_summaries"]

_COIN = 0.05  # probability that a judge flips coins, before any answer
_ONE_SIDED = 3.0  # standard errors from what the model expects of the sides
_FEWEST = 10  # answers from which a judge is flagged
_FAST = 1 / 3  # of the median time of all judges


@dataclass(frozen=True)
class JudgeSummary:
    """What the answers of one judge are like.

    Parameters
    ----------
    judge : str
        Name.
    answers : int
        Number of answers.
    noise : float or None
        Learnt noise of one utility, in units of utilities; None where all judges share one.
    left, left_error : float or None
        Share of the decided answers that were for the left item, and its standard error; None
        if sides mean nothing.
    equal : float
        Share of ties.
    seconds : float or None
        Median time of an answer.
    misfit, misfit_z : float or None
        Infit: mean square of residuals from what the other judges' answers predict, 1 for a
        judge of typical noise; and its standard errors above 1. None with one judge.
    outfit, outfit_z : float or None
        The same with all answers alike: slips on easy questions move it further.
    rlh : float or None
        Root likelihood: geometric mean of the probabilities that the other judges' answers gave
        to those of this judge.
    repeats : int
        Questions that the judge had answered before.
    agreed, agreed_expected : float or None
        Share of the repeats with the same answer, and what it would be if each answer had noise
        of its own. Close items differ by chance: it is not 1.
    coin : float or None
        Probability that the judge flips coins, 0.05 before any answer.
    flag : str
        Why the answers should be looked at; empty if there is no reason.
    side : float or None, default=None
        Mean of what the left side adds for this judge to the difference of two utilities, in
        units of the noise of a difference; None if judges have no side effects.
    side_lower, side_upper : float or None, default=None
        Ends of its interval.

    Examples
    --------
    >>> from ordinality.panel import rank_answers
    >>> pairs = [["tea", "milk"], ["milk", "tea"], ["tea", "milk"]]
    >>> found = rank_answers(pairs, [1, -1, 1], judges=["ann", "ann", "bob"])
    >>> [(one.judge, one.answers) for one in found.judges]
    [('ann', 2), ('bob', 1)]
    """

    judge: str
    answers: int
    noise: float | None
    left: float | None
    left_error: float | None
    equal: float
    seconds: float | None
    misfit: float | None
    misfit_z: float | None
    outfit: float | None
    outfit_z: float | None
    rlh: float | None
    repeats: int
    agreed: float | None
    agreed_expected: float | None
    coin: float | None
    flag: str
    side: float | None = None
    side_lower: float | None = None
    side_upper: float | None = None


class GivenAnswers(NamedTuple):
    """Answers to pairs of numbered items, with who gave them, as they came."""

    pairs: np.ndarray  # (m, 2) numbers of items
    answers: np.ndarray  # (m,) from -G to G
    judges: np.ndarray  # (m,) names
    weights: np.ndarray  # (m,)
    learnt: np.ndarray  # (m,) weights that the model gave them: 0 if it left the judge out
    seconds: np.ndarray | None  # (m,), NaN if not known
    sides: bool  # whether the first item of a pair was the left one
    shift: np.ndarray | None = None  # (G, m), what the presentation adds at each ratio
    side: np.ndarray | None = None  # (G, m), the part of it that is the judge's own side

    def by(self, judge: Any) -> GivenAnswers:
        """The answers of one judge."""
        own = self.judges == judge
        seconds = None if self.seconds is None else self.seconds[own]
        shift, side = (x if x is None else x[:, own] for x in (self.shift, self.side))
        return self._replace(
            pairs=self.pairs[own], answers=self.answers[own], judges=self.judges[own],
            weights=self.weights[own], learnt=self.learnt[own], seconds=seconds, shift=shift,
            side=side,
        )  # fmt: skip


class _Beside(NamedTuple):
    """Answers of a judge beside what the other judges' answers predict."""

    fit: JudgeFit
    rlh: float
    to_the_left: float  # standard errors of more answers for the left than expected
    repeats: RepeatAgreement
    log_ratio: float  # likelihood of following the order over that of a coin


def judge_summaries(believed: Any, model: Any, given: GivenAnswers) -> tuple[JudgeSummary, ...]:
    """A summary of each judge; ``believed`` is the model or a snapshot of it."""
    names = np.unique(given.judges)
    known = [] if model.judges_ is None else model.judges_.tolist()
    typical = _median_seconds(given.seconds)
    found = []
    for judge in names.tolist():
        own = given.by(judge)
        beside = _beside(believed, model.classes_, own, judge) if len(names) > 1 else None
        noise = float(model.noise_[known.index(judge)]) if judge in known else None
        left, error = left_share(own.answers) if given.sides else (np.nan, np.nan)
        seconds = _median_seconds(own.seconds)
        flag = _flag(own, beside, left, seconds, typical)
        found.append(
            JudgeSummary(
                judge=judge, answers=len(own.answers), noise=noise, left=_known(left),
                left_error=_known(error), equal=float(np.mean(own.answers == 0)),
                seconds=seconds, repeats=len(_repeated(own)), flag=flag, **_numbers(beside),
            )
        )  # fmt: skip
    return tuple(found)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _numbers(beside: _Beside | None) -> dict[str, float | None]:
    """What a summary says of a judge beside the others."""
    names = ("misfit", "misfit_z", "outfit", "outfit_z", "rlh", "agreed", "agreed_expected")
    if beside is None:
        return dict.fromkeys((*names, "coin"))
    observed, expected, _ = beside.repeats
    values = (*beside.fit, beside.rlh, _known(observed), _known(expected))
    coin = expit(np.log(_COIN / (1.0 - _COIN)) - beside.log_ratio)
    return {**dict(zip(names, values, strict=True)), "coin": float(coin)}


def _median_seconds(seconds: np.ndarray | None) -> float | None:
    if seconds is None or np.all(np.isnan(seconds)):
        return None
    return float(np.nanmedian(seconds))


def _flag(
    own: GivenAnswers,
    beside: _Beside | None,
    left: float,
    seconds: float | None,
    typical: float | None,
) -> str:
    """Why a judge should be looked at, in words."""
    if len(own.answers) < _FEWEST:
        return ""
    reasons = []
    if beside is not None and beside.log_ratio < 0.0:
        reasons.append(f"disagrees with the others, misfit {beside.fit.infit:.1f}")
    if beside is not None and own.sides and abs(beside.to_the_left) > _ONE_SIDED:
        side, share = ("left", left) if beside.to_the_left > 0 else ("right", 1.0 - left)
        reasons.append(f"{share:.0%} {side}")
    if seconds is not None and typical is not None and seconds < _FAST * typical:
        reasons.append(f"{seconds:.1f} s a question")
    return ", ".join(reasons)


def _beside(
    believed: Any, classes: np.ndarray, own: GivenAnswers, judge: Any
) -> _Beside | None:
    """Answers of a judge against the posterior without them.

    None if nothing was open: all weights are zero, or every answer was certain to rounding.
    """
    if not np.any(own.weights > 0.0):
        return None
    items, place = np.unique(own.pairs, return_inverse=True)
    i, j = place.reshape(-1, 2).T
    points = points_of(believed, items)
    # The most probable ratio of signal to noise; a coin predicts nothing.
    g = int(np.argmax(np.where(points.slope > 0.0, points.weights, -1.0)))
    slope, mean, cov = points.slope[g], points.mean[g], points.cov[g]
    level = np.searchsorted(classes, own.answers)
    likelihood, typical = answer_likelihood(believed, judge), answer_likelihood(believed)
    # Coefficients of covariates are taken as known: they are those of all judges.
    shift = np.zeros(len(i)) if own.shift is None else own.shift[g]
    sites = sites_of(mean, cov, slope, (i, j), level, own.learnt, likelihood, shift)
    mean, cov = removed(mean, cov, slope, sites)
    seen = slope * (mean[i] - mean[j]) + shift
    variance = slope**2 * difference_variance(cov, i, j)
    proba = typical.proba(seen, variance)
    fit = judge_fit(own.answers, proba, levels=classes, sample_weight=own.weights)
    if np.isnan(fit.infit):
        return None
    came = proba[np.arange(len(level)), level]
    rlh = root_likelihood(came, sample_weight=own.weights)
    side = None if own.side is None else own.side[g]
    ratio = coin_log_ratio(mean, cov, slope, (i, j), level, own.weights, typical, shift, side)
    again = _repeats(own, seen, variance, with_normal_noise(likelihood).noise)
    if side is not None:  # a liking for one side is not explained by itself
        proba = typical.proba(seen - side, variance)
    return _Beside(fit, rlh, _to_the_left(own, proba, classes), again, ratio)


def _to_the_left(own: GivenAnswers, proba: np.ndarray, classes: np.ndarray) -> float:
    """Standard errors by which answers exceed their expectation."""
    expected = proba @ classes
    spread, w = np.sum(proba * (classes - expected[:, None]) ** 2, axis=1), own.weights
    return float((w @ (own.answers - expected)) / np.sqrt(w**2 @ spread))


def _repeats(
    own: GivenAnswers, seen: np.ndarray, variance: np.ndarray, noise: float
) -> RepeatAgreement:
    """Agreement with the previous answer about the same pair."""
    before, again = _repeated(own).T
    # The first answer about a pair may have named it the other way round.
    turned = own.pairs[before, 0] != own.pairs[again, 0]
    first = np.where(turned, -1, 1) * own.answers[before]
    moments = seen[again] / noise, variance[again] / noise**2
    return repeat_agreement(first, own.answers[again], *moments)


def _repeated(own: GivenAnswers) -> np.ndarray:
    """Rows (before, again) of questions asked again, shape (r, 2)."""
    low, high = np.sort(own.pairs, axis=1).T
    order = np.lexsort((high, low))  # stable: answers about one pair stay in their order
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    return np.column_stack([order[:-1][same], order[1:][same]])
