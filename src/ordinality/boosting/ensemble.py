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
    """Level k where ``thresholds[-1][k-1] < score(x) <= thresholds[-1][k]``."""

    # confidence functions: each maps X (n, d) to outputs (n,) in [-1, 1]
    learners: tuple[Any, ...]
    alphas: np.ndarray  # (T,); their weights in the vote; negative ones are legitimate
    # (T + 1, K - 1); ascending in each row; row t belongs to the first t learners
    thresholds: np.ndarray
    # (T + 1,); logarithm of the training loss with the first t learners; never increases
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
    """ORBoost: minimise the exponential loss over all margins (8), or over the next two (5)."""
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
    """Margin of each row to each threshold (Definition 1): positive on the right side."""
    above = y[:, None] > np.arange(thresholds.size)
    distance = H[:, None] - thresholds
    return np.where(above, distance, -distance)


def normaliser(alphas: np.ndarray, thresholds: np.ndarray) -> float:
    """What margins are divided by to be normalised: ``sum |alpha| + sum |threshold|``."""
    return float(np.abs(alphas).sum() + np.abs(thresholds).sum())


def left_right(rho: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The margins to the two ends of a row's own interval, shape (n, 2); infinite at an end."""
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
    """Training error at a margin: what the bounds of Theorems 1 and 2 speak of."""
    if kind == "absolute":
        errors = np.sum(rho <= delta, axis=1)
    else:
        own = left_right(rho, y)
        near = np.sum(own <= delta, axis=1)
        errors = near > 0 if kind == "classification" else near / np.isfinite(own).sum(axis=1)
    return float(np.average(errors, weights=weights))
