"""The rounds of boosting: learn a confidence function, choose its step, move the thresholds.

`boost` is ORBoost: learner, step and thresholds each lower one exponential loss over margins.
`rank_boost` is RankBoost-AE: learner and step lower a loss over pairs, in time linear in the
rows, and the thresholds are found afterwards by counting.

Lin & Li (2006), section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .learners import Trainer
from .losses import (
    Pulls,
    all_offsets,
    chord_step,
    exponentials,
    left_right_offsets,
    pair_offsets,
    pair_step,
    pulled,
)
from .thresholds import all_thresholds, counted, left_right_thresholds, placed

__all__ = [
    "Ensemble",
    "boost",
    "left_right",
    "margin_error",
    "margins",
    "normaliser",
    "rank_boost",
]


Watch = Callable[[Any, float, np.ndarray, list[float]], bool]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Level k where ``thresholds[-1][k-1] < score(x) <= thresholds[-1][k]``.

    Parameters
    ----------
    learners : tuple of T values
        Confidence functions: each maps X (n, d) to outputs (n,) in [-1, 1].
    alphas : ndarray of shape (T,)
        Their weights in the vote; negative ones are legitimate.
    thresholds : ndarray of shape (T + 1, K - 1)
        Ascending in each row; row t belongs to the first t learners.
    log_losses : ndarray of shape (T + 1,)
        Logarithm of the training loss with the first t learners; never increases.
    """

    learners: tuple[Any, ...]
    alphas: np.ndarray
    thresholds: np.ndarray
    log_losses: np.ndarray

    def score(self, X: np.ndarray, rounds: int | None = None) -> np.ndarray:
        """``H(x)`` with the first `rounds` learners (default all), shape (n,)."""
        H = np.zeros(len(X))
        for value, alpha in zip(self.learners[:rounds], self.alphas[:rounds], strict=True):
            H += alpha * value(X)
        return H

    def staged_scores(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """``H(x)`` after each round, T arrays of shape (n,), each its own memory."""
        H = np.zeros(len(X))
        for value, alpha in zip(self.learners, self.alphas, strict=True):
            H = H + alpha * value(X)
            yield H

    def relevance(self, d: int) -> np.ndarray:
        """How much the vote rests on each of d features: nonnegative, adding up to one.

        Each learner's own shares, weighed by the size of its alpha.
        """
        shares = np.zeros(d)
        for value, alpha in zip(self.learners, self.alphas, strict=True):
            shares += abs(alpha) * value.relevance(d)
        total = shares.sum()
        return shares / total if total > 0 else shares


@dataclass(frozen=True, eq=False)
class _Stage:
    thresholds: np.ndarray
    pulls: Pulls
    log_loss: float


Settle = Callable[[np.ndarray], _Stage]


def boost(
    X: np.ndarray,
    y: np.ndarray,
    n_levels: int,
    learner: Trainer,
    *,
    margins: Literal["all", "left-right"] = "all",
    rounds: int,
    weights: np.ndarray | None = None,
    rng: np.random.Generator,
    start: Ensemble | None = None,
    watch: Watch | None = None,
) -> Ensemble:
    """ORBoost: minimise the exponential loss over all margins (8), or over the next two (5).

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Inputs, as the learner wants them: perceptrons and sigmoids want them standardised.
    y : ndarray of shape (n,)
        Ranks 0..K-1. A rank without rows keeps its place.
    n_levels : int
        K.
    learner : Trainer
        How to learn a confidence function.
    margins : {"all", "left-right"}
        "all" bounds the absolute error, "left-right" the classification error.
    rounds : int
        Learners to add.
    weights : ndarray of shape (n,), default=None
        Positive; a weight of two is the row twice.
    rng : numpy.random.Generator
        Handed to the learner. A run of five rounds and one of three continued for two with
        the same generator are the same.
    start : Ensemble, default=None
        An ensemble to continue.
    watch : callable, default=None
        ``watch(learner, alpha, thresholds, log_losses)`` after each round, with the losses of
        this run so far, the one before its first round included; True ends the run.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.boosting.learners import Stump
    >>> from ordinality.levels import rank_from_scores
    >>> X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    >>> fitted = boost(X, y, 3, Stump(), rounds=10, rng=np.random.default_rng(0))
    >>> rank_from_scores(fitted.score(X), fitted.thresholds[-1])
    array([0, 0, 1, 1, 2, 2])
    """
    thresholds_of, offsets_of = _MARGINS[margins]
    weights = np.ones(len(y)) if weights is None else weights

    def settle(H: np.ndarray) -> _Stage:
        e = exponentials(H, y, n_levels, weights)
        thresholds = thresholds_of(e.log_plus, e.log_minus)
        pulls = pulled(e, y, *offsets_of(thresholds))
        return _Stage(placed(thresholds, H), pulls, pulls.log_total)

    return _grow(X, learner, settle, chord_step, rounds, rng, start, watch)


_MARGINS = {
    "all": (all_thresholds, all_offsets),
    "left-right": (left_right_thresholds, left_right_offsets),
}


def rank_boost(
    X: np.ndarray,
    y: np.ndarray,
    n_levels: int,
    learner: Trainer,
    *,
    rounds: int,
    thresholding: Literal["absolute", "zero-one"] = "absolute",
    weights: np.ndarray | None = None,
    rng: np.random.Generator,
    start: Ensemble | None = None,
    watch: Watch | None = None,
) -> Ensemble:
    """RankBoost: minimise the exponential loss over pairs (3), then count thresholds (4).

    Parameters are those of `boost`, but for `thresholding`, the training error that the
    thresholds minimise. The weight of a pair is the product of its rows' weights.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.boosting.learners import Stump
    >>> from ordinality.levels import rank_from_scores
    >>> X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    >>> fitted = rank_boost(X, y, 3, Stump(), rounds=5, rng=np.random.default_rng(0))
    >>> rank_from_scores(fitted.score(X), fitted.thresholds[-1])
    array([0, 0, 1, 1, 2, 2])
    """
    weights = np.ones(len(y)) if weights is None else weights

    def settle(H: np.ndarray) -> _Stage:
        e = exponentials(H, y, n_levels, weights)
        pulls = pulled(e, y, *pair_offsets(e.log_plus, e.log_minus))
        thresholds = counted(H, y, n_levels, weights, thresholding)
        return _Stage(thresholds, pulls, pulls.log_total - np.log(2.0))  # each pair twice

    return _grow(X, learner, settle, pair_step, rounds, rng, start, watch)


def _grow(
    X: np.ndarray,
    learner: Trainer,
    settle: Settle,
    step: Callable[[Pulls, np.ndarray], float],
    rounds: int,
    rng: np.random.Generator,
    start: Ensemble | None,
    watch: Watch | None,
) -> Ensemble:
    H = np.zeros(len(X)) if start is None else start.score(X)
    stage, prepared = settle(H), learner.prepare(X)
    values, alphas = [], []
    thresholds, log_losses = [stage.thresholds], [stage.log_loss]
    for _ in range(rounds):
        value, h = prepared.learn(stage.pulls.gradient, stage.pulls.mass, rng)
        alpha = step(stage.pulls, h)
        H += alpha * h
        stage = settle(H)
        values.append(value)
        alphas.append(alpha)
        thresholds.append(stage.thresholds)
        log_losses.append(stage.log_loss)
        if watch is not None and watch(value, alpha, stage.thresholds, log_losses):
            break
    grown = Ensemble(
        tuple(values), np.array(alphas, dtype=float), np.array(thresholds), np.array(log_losses)
    )
    return grown if start is None else _joined(start, grown)


def _joined(start: Ensemble, more: Ensemble) -> Ensemble:
    return Ensemble(
        start.learners + more.learners,
        np.append(start.alphas, more.alphas),
        np.concatenate([start.thresholds, more.thresholds[1:]]),
        np.append(start.log_losses, more.log_losses[1:]),
    )


# ----------------------------------------------------------------
# What an ensemble leaves between its scores and its thresholds.
#
# Lin & Li (2006), section 3: Definition 1 and the three errors at a margin.


def margins(H: np.ndarray, thresholds: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Margin of each row to each threshold (Definition 1): positive on the right side.

    Parameters
    ----------
    H : ndarray of shape (n,)
        Scores.
    thresholds : ndarray of shape (K-1,)
        Ascending.
    y : ndarray of shape (n,)
        Ranks 0..K-1.

    Returns
    -------
    ndarray of shape (n, K-1)

    Examples
    --------
    >>> import numpy as np
    >>> margins(np.array([0.5]), np.array([0.0, 2.0]), np.array([1]))
    array([[0.5, 1.5]])
    """
    above = y[:, None] > np.arange(thresholds.size)
    distance = H[:, None] - thresholds
    return np.where(above, distance, -distance)


def normaliser(alphas: np.ndarray, thresholds: np.ndarray) -> float:
    """What margins are divided by to be normalised: ``sum |alpha| + sum |threshold|``.

    Examples
    --------
    >>> import numpy as np
    >>> normaliser(np.array([1.0, -0.5]), np.array([-2.0, 1.0]))
    4.5
    """
    return float(np.abs(alphas).sum() + np.abs(thresholds).sum())


def left_right(rho: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The margins to the two ends of a row's own interval, shape (n, 2); infinite at an end.

    Examples
    --------
    >>> import numpy as np
    >>> left_right(np.array([[0.5, 1.5], [1.0, 3.0]]), np.array([1, 0]))
    array([[0.5, 1.5],
           [inf, 1. ]])
    """
    ends = np.full((len(rho), 1), np.inf)
    padded = np.hstack([ends, rho, ends])  # column k + 1 holds threshold k
    rows = np.arange(len(rho))
    return np.column_stack([padded[rows, y], padded[rows, y + 1]])


def margin_error(
    rho: np.ndarray,
    y: np.ndarray,
    delta: float = 0.0,
    kind: Literal["absolute", "boundary", "classification"] = "absolute",
    weights: np.ndarray | None = None,
) -> float:
    """Training error at a margin: what the bounds of Theorems 1 and 2 speak of.

    Parameters
    ----------
    rho : ndarray of shape (n, K-1)
        Margins, usually normalised; see `margins` and `normaliser`.
    y : ndarray of shape (n,)
        Ranks 0..K-1.
    delta : float, default=0.0
        A margin of at most this is an error.
    kind : {"absolute", "boundary", "classification"}
        How many thresholds are too near; which share of the (one or two) own ones; whether
        any own one is. Half the classification error is at most the boundary error, which is
        at most the classification error (1).
    weights : ndarray of shape (n,), default=None
        Of the rows in the mean.

    Examples
    --------
    >>> import numpy as np
    >>> rho, y = np.array([[0.5, -1.5, -0.1]]), np.array([1])
    >>> [margin_error(rho, y, kind=k) for k in ("absolute", "boundary", "classification")]
    [2.0, 0.5, 1.0]
    """
    if kind == "absolute":
        errors = np.sum(rho <= delta, axis=1)
    else:
        own = left_right(rho, y)
        near = np.sum(own <= delta, axis=1)
        errors = near > 0 if kind == "classification" else near / np.isfinite(own).sum(axis=1)
    return float(np.average(errors, weights=weights))
