"""Thresholded ensembles: the rounds of ORBoost and RankBoost, and the margins they leave.

`boost` is ORBoost: learner, step and thresholds each lower one exponential loss over margins.
`rank_boost` is RankBoost-AE: learner and step lower a loss over pairs, in time linear in the
rows, and the thresholds are those of least training error. A fitted ensemble is judged by its
margins, the signed distances of the scores from the thresholds.

Lin & Li (2006), section 3 (margins) and section 4 (algorithms).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .learners import ConfidenceFunction, Trainer
from .losses import (
    LossTerms,
    chord_step,
    loss_terms,
    margin_terms,
    pair_offsets,
    pair_step,
    scaled_exponentials,
)
from .thresholds import finite_thresholds, least_error_thresholds

__all__ = [
    "Ensemble",
    "boost",
    "left_right_margins",
    "margin_error",
    "margins",
    "normaliser",
    "rank_boost",
]

# Thresholds, terms of the loss, and its logarithm, at given scores.
_Evaluated = tuple[np.ndarray, LossTerms, float]

# ``callback(learner, alpha, thresholds, log_losses)`` after each round, with the losses of this
# run so far, that before its first round included; True ends the run.
Callback = Callable[[ConfidenceFunction, float, np.ndarray, list[float]], bool]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Level k where ``thresholds[-1][k-1] < score(x) <= thresholds[-1][k]``."""

    learners: tuple[ConfidenceFunction, ...]  # T of them
    alphas: np.ndarray  # (T,); their weights, of either sign
    thresholds: np.ndarray  # (T + 1, K - 1), rows ascending; row t is for the first t learners
    log_losses: np.ndarray  # (T + 1,); log of the training loss; never increases

    def score(self, X: np.ndarray, rounds: int | None = None) -> np.ndarray:
        """``H(x)`` with the first `rounds` learners (default all), shape (n,)."""
        H = np.zeros(len(X))
        for learner, alpha in zip(self.learners[:rounds], self.alphas[:rounds], strict=True):
            H += alpha * learner(X)
        return H

    def staged_scores(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """``H(x)`` after each round, T new arrays of shape (n,)."""
        H = np.zeros(len(X))
        for learner, alpha in zip(self.learners, self.alphas, strict=True):
            H = H + alpha * learner(X)
            yield H

    def relevance(self, d: int) -> np.ndarray:
        """Importance of each of d features: the learners' own, weighted by |alpha|; sum one."""
        shares = np.zeros(d)
        for learner, alpha in zip(self.learners, self.alphas, strict=True):
            shares += abs(alpha) * learner.relevance(d)
        total = shares.sum()
        return shares / total if total > 0 else shares

    def first(self, rounds: int) -> Ensemble:
        """The ensemble as it was after this many rounds."""
        return Ensemble(
            self.learners[:rounds],
            self.alphas[:rounds],
            self.thresholds[: rounds + 1],
            self.log_losses[: rounds + 1],
        )

    def extended(self, more: Ensemble) -> Ensemble:
        """Append the rounds of an ensemble that was started from this one."""
        return Ensemble(
            self.learners + more.learners,
            np.append(self.alphas, more.alphas),
            np.concatenate([self.thresholds, more.thresholds[1:]]),
            np.append(self.log_losses, more.log_losses[1:]),
        )


def boost(
    X: np.ndarray,
    y: np.ndarray,
    n_levels: int,
    trainer: Trainer,
    *,
    margins: Literal["all", "left-right"] = "all",
    rounds: int,
    rate: float = 1.0,
    weights: np.ndarray | None = None,
    rng: np.random.Generator,
    start: Ensemble | None = None,
    watch: Callback | None = None,
) -> Ensemble:
    """ORBoost: minimise the exponential loss over all margins (8), or over the next two (5).

    "all" bounds the absolute error, "left-right" the classification error. `rate` is the share
    of each step that is taken. To continue `start` with the generator of its run gives the same
    as one longer run.
    """
    weights = np.ones(len(y)) if weights is None else weights

    def evaluate(H: np.ndarray) -> _Evaluated:
        best, terms = margin_terms(H, y, n_levels, weights, margins)
        return finite_thresholds(best, H), terms, terms.log_total

    return _rounds(X, trainer, evaluate, chord_step, rounds, rate, rng, start, watch)


def rank_boost(
    X: np.ndarray,
    y: np.ndarray,
    n_levels: int,
    trainer: Trainer,
    *,
    rounds: int,
    rate: float = 1.0,
    thresholding: Literal["absolute", "zero-one"] = "absolute",
    weights: np.ndarray | None = None,
    rng: np.random.Generator,
    start: Ensemble | None = None,
    watch: Callback | None = None,
) -> Ensemble:
    """RankBoost: minimise the exponential loss over pairs (3); thresholds of least error (4).

    `thresholding` is that error. The weight of a pair is the product of its rows' weights.
    """
    weights = np.ones(len(y)) if weights is None else weights

    def evaluate(H: np.ndarray) -> _Evaluated:
        e = scaled_exponentials(H, y, n_levels, weights)
        terms = loss_terms(e, y, *pair_offsets(e.log_plus, e.log_minus))
        thresholds = least_error_thresholds(H, y, n_levels, weights, thresholding)
        return thresholds, terms, terms.log_total - np.log(2.0)  # each pair twice

    return _rounds(X, trainer, evaluate, pair_step, rounds, rate, rng, start, watch)


def _rounds(
    X: np.ndarray,
    trainer: Trainer,
    evaluate: Callable[[np.ndarray], _Evaluated],
    step: Callable[[LossTerms, np.ndarray], float],
    rounds: int,
    rate: float,
    rng: np.random.Generator,
    start: Ensemble | None,
    watch: Callback | None,
) -> Ensemble:
    """Learn a confidence function, choose its step, find the thresholds anew; repeat."""
    prepared = trainer.prepare(X)
    H = np.zeros(len(X)) if start is None else start.score(X)
    theta, terms, log_loss = evaluate(H)
    learners, alphas, thresholds, log_losses = [], [], [theta], [log_loss]
    for _ in range(rounds):
        learner, h = prepared.learn(terms.gradient, terms.hessian, rng)
        alpha = rate * step(terms, h)
        H += alpha * h
        theta, terms, log_loss = evaluate(H)
        learners.append(learner)
        alphas.append(alpha)
        thresholds.append(theta)
        log_losses.append(log_loss)
        if watch is not None and watch(learner, alpha, theta, log_losses):
            break
    weights = np.array(alphas, dtype=float)
    found = Ensemble(tuple(learners), weights, np.array(thresholds), np.array(log_losses))
    return found if start is None else start.extended(found)


# ---------------------------------------------------------------- margins


def margins(H: np.ndarray, thresholds: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Margins (n, K-1) of rows to thresholds (Definition 1): positive on the correct side."""
    above = y[:, None] > np.arange(thresholds.size)
    distance = H[:, None] - thresholds
    return np.where(above, distance, -distance)


def normaliser(alphas: np.ndarray, thresholds: np.ndarray) -> float:
    """Divisor of normalised margins: ``sum |alpha| + sum |threshold|``."""
    return float(np.abs(alphas).sum() + np.abs(thresholds).sum())


def left_right_margins(rho: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Margins (n, 2) to the two thresholds next to the row's level; infinite without one."""
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
    """Share of margins of at most `delta`: the training errors of Theorems 1 and 2.

    "absolute" counts all thresholds, "boundary" the share of the one or two next to the level,
    "classification" whether any of these is too near.
    """
    if kind == "absolute":
        errors = np.sum(rho <= delta, axis=1)
    else:
        own = left_right_margins(rho, y)
        near = np.sum(own <= delta, axis=1)
        errors = near > 0 if kind == "classification" else near / np.isfinite(own).sum(axis=1)
    return float(np.average(errors, weights=weights))
