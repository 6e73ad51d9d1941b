"""Leaderboards: places and scores with intervals, as utilities or on the scale of Elo.

Elo's formula says that i beats j with probability 1 / (1 + 10**((R_j - R_i) / 400)): it is the
model of Bradley & Terry (1952), whose log strengths are R log(10) / 400. Normal noise, as in
Thurstone's model, gives Phi(d / s), and Phi(x) is within 0.0095 of 1 / (1 + exp(-1.702 x)).

Elo (1978), "The rating of chessplayers, past and present".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from ..elicitation import rank_intervals, top_k_members
from ..elicitation.gains import answer_likelihood, believed, points_of
from ..estimators.regression_summary import PrintedTable
from ..estimators.snapshot import PointPosteriors
from .ranking import Ranking

__all__ = ["Leaderboard", "leaderboard"]

_CENTRE, _POINTS = 1500.0, 400.0 / np.log(10.0)  # points for one unit of log odds
# Log odds for one unit of noise (1.702: Haley, 1952), and standard deviation of that unit.
_LOGISTIC = {"probit": (1.702, 1.0), "logit": (1.0, np.pi / np.sqrt(3.0))}
_FIRST = 300  # items of which all pairs are compared with the formula


@dataclass(frozen=True, eq=False)
class Leaderboard(PrintedTable):
    """Items in order, with the intervals of their places and scores.

    Made by `leaderboard`. It prints as a table, shows as one in notebooks, and gives a data
    frame by ``to_frame()``.

    Parameters
    ----------
    title : str
        What the table is.
    names : tuple of str
        Items, best first.
    columns : dict of str to ndarray of shape (n,)
        ``place``, ``first`` and ``last`` (the interval of the place), ``score``, ``lower`` and
        ``upper`` (its interval), ``answers`` and ``P(best)``.
    facts : dict of str to str
        Scale and level.
    notes : tuple of str
        What should be known of the scale.
    scale : str
        "utility" or "elo".
    level : float
        Probability of the intervals.

    Examples
    --------
    >>> from ordinality.panel import leaderboard, rank_answers
    >>> board = leaderboard(rank_answers([["tea", "milk"], ["milk", "coffee"]], [1, 1]))
    >>> board.names
    ('tea', 'milk', 'coffee')
    """

    scale: str
    level: float

    def _cell(self, column: str, value: float) -> str:
        if np.isnan(value):
            return "-"
        scored = column in ("score", "lower", "upper")
        digits = 3 if column == "P(best)" else 2 if scored and self.scale == "utility" else 0
        return f"{value:.{digits}f}"


def leaderboard(
    model: Any, scale: str = "utility", level: float = 0.9, *, seed: int = 0
) -> Leaderboard:
    """Table of items by place, with intervals, as utilities or Elo scores.

    Parameters
    ----------
    model : Ranking, PreferenceGP or Snapshot
        A ranking, or a fitted model of comparisons. A ranking also knows how many answers there
        were about each item.
    scale : {"utility", "elo"}, default="utility"
        "utility": posterior means, in units of the spread of items before any answer. "elo":
        400 / log(10) * 1.702 / s points for one unit of utility, s the standard deviation of
        the noise of a difference (1 in place of 1.702 for logistic noise; a tie is half a win,
        which adds the square of the width of ties to that of s), with a mean of 1500.
        Of known utilities, Elo's formula then is within 0.0095 of the probability that one item
        beats another. The model's own prediction is nearer to 1/2, since utilities are not
        known exactly: the note says by how much.
    level : float, default=0.9
        Probability of the intervals.
    seed : int, default=0
        Of the draws for places.

    Returns
    -------
    board : Leaderboard
        A row for each item, best first.

    Examples
    --------
    >>> from ordinality.panel import leaderboard, rank_answers
    >>> pairs = [["tea", "milk"], ["coffee", "milk"], ["tea", "coffee"], ["tea", "milk"]] * 5
    >>> found = rank_answers(pairs, [1, 1, 1, -1] * 5)
    >>> board = leaderboard(found, scale="elo")
    >>> board.names
    ('tea', 'coffee', 'milk')
    >>> board.columns["score"].round()
    array([1531., 1500., 1469.])
    """
    if scale not in ("utility", "elo"):
        raise ValueError(f"scale is {scale!r}; it must be 'utility' or 'elo'.")
    ranked = model if isinstance(model, Ranking) else None
    state = believed(model if ranked is None else ranked.snapshot)
    n = len(state.utility().mean)
    named = getattr(state, "item_names_", None)
    names = np.arange(n).astype(str) if named is None else np.asarray(named, dtype=str)
    places = rank_intervals(state, level, random_state=seed)
    points, notes = points_of(state, np.arange(n)), []
    if scale == "elo":
        points = _rated(state, points)
        notes = [_apart(state, points)]
    score = points.weights @ points.mean
    lower, upper = _quantiles(points, level)
    counts = {} if ranked is None else {one.item: one.answers for one in ranked.items}
    order = np.argsort(-score, kind="stable")
    columns = {
        "place": np.argsort(order) + 1, "first": places[:, 0], "last": places[:, 1],
        "score": score, "lower": lower, "upper": upper,
        "answers": np.array([counts.get(name, np.nan) for name in names]),
        "P(best)": top_k_members(state, 1, random_state=seed),
    }  # fmt: skip
    return Leaderboard(
        title=f"Leaderboard of {n} items", names=tuple(names[order].tolist()),
        columns={name: values[order] for name, values in columns.items()},
        facts={"Scale": scale, "Intervals": f"{level:.0%}"}, notes=tuple(notes),
        scale=scale, level=level,
    )  # fmt: skip


def _rated(state: Any, points: PointPosteriors) -> PointPosteriors:
    """Posteriors of Elo scores at each ratio of signal to noise; their mean is 1500."""
    likelihood = answer_likelihood(state)
    odds, sd = _LOGISTIC[likelihood.link]
    # Elo counts a tie as half a win: as a coin added to the noise that decides it.
    tie = float(likelihood.thresholds[likelihood.thresholds > 0][0]) if likelihood.ties else 0.0
    noise = likelihood.noise * np.hypot(1.0, tie / (sd * likelihood.noise))
    unit = _POINTS * odds / noise * points.slope[:, None]
    mean, cov = unit * points.mean, unit[:, :, None] ** 2 * points.cov
    # No answer says anything about the mean of all utilities.
    rows = cov.mean(axis=2, keepdims=True)
    cov = cov - rows - np.swapaxes(rows, 1, 2) + rows.mean(axis=1, keepdims=True)
    mean = _CENTRE + mean - mean.mean(axis=1, keepdims=True)
    return points._replace(slope=np.ones(len(unit)), mean=mean, cov=cov)


def _quantiles(points: PointPosteriors, level: float) -> np.ndarray:
    """Ends of the interval of each utility: quantiles of a mixture of normals, (2, n)."""
    mean = points.mean
    sd = np.sqrt(np.maximum(np.diagonal(points.cov, axis1=1, axis2=2), np.finfo(float).tiny))
    tails = np.array([0.5 * (1.0 - level), 0.5 * (1.0 + level)])[:, None]
    low = np.tile((mean - 40.0 * sd).min(axis=0), (2, 1))
    high = np.tile((mean + 40.0 * sd).max(axis=0), (2, 1))
    for _ in range(60):  # halvings: to rounding
        x = 0.5 * (low + high)
        below = np.tensordot(points.weights, ndtr((x - mean[:, None]) / sd[:, None]), 1) < tails
        low, high = np.where(below, x, low), np.where(below, high, x)
    return 0.5 * (low + high)


def _apart(state: Any, points: PointPosteriors) -> str:
    """How far Elo's formula is from what the model predicts, in words."""
    score = points.weights @ points.mean
    i, j = np.triu_indices(min(len(score), _FIRST), 1)
    proba = state.predict_proba(np.column_stack([i, j]))
    wins = proba @ (0.5 + 0.5 * np.sign(state.classes_))  # half of the ties
    away = np.abs(expit((score[i] - score[j]) / _POINTS) - wins)
    return (
        "Elo's formula says more than the model, which does not know the scores exactly: its "
        f"probabilities are off by {away.mean():.3f} on average, by {away.max():.3f} at most."
    )
