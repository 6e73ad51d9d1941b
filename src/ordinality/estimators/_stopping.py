"""Early stopping: rows to hold out, how to watch them, and the way back to the best round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..boosting.ensemble import Ensemble
from ..levels import rank_from_scores
from ._link import level_order
from ._rows import Rows

__all__ = ["Watch", "first_rounds", "held_out"]


def held_out(rows: Rows, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """Indices of a share of the rows of each level; every level keeps one to learn from.

    Rows that agree in all features are held out together or not at all.
    """
    order = level_order(rows.y, rows.groups, rng)
    first = np.unique(rows.groups, return_index=True)[1]
    order = order[np.append(False, np.diff(rows.y[first][order]) == 0)]
    steps = np.ceil(fraction * np.arange(len(order) + 1))  # one at least
    held = np.flatnonzero(np.isin(rows.groups, order[np.diff(steps) > 0]))
    if not len(held):
        raise ValueError(
            f"validation_fraction={fraction} of {len(first)} distinct rows leaves none to "
            "watch: every level keeps one to learn from. Leave it out, or give more rows."
        )
    return held


@dataclass(eq=False)
class Watch:
    """Error of held-out rows after each round; says when it has not fallen for long enough."""

    rows: Rows
    absolute: bool
    patience: int
    tol: float
    errors: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._scores = np.zeros(len(self.rows))
        self._best, self._since = np.inf, 0

    def __call__(
        self, learner: Any, alpha: float, thresholds: np.ndarray, log_losses: list[float]
    ) -> bool:
        self._scores += alpha * learner(self.rows.X)
        away = np.abs(rank_from_scores(self._scores, thresholds) - self.rows.y)
        wrong = away if self.absolute else away > 0
        self.errors.append(float(np.average(wrong, weights=self.rows.weights)))
        self._since += 1
        if self.errors[-1] < self._best - self.tol:
            self._best, self._since = self.errors[-1], 0
        return self._since >= self.patience


def first_rounds(ensemble: Ensemble, rounds: int) -> Ensemble:
    """The ensemble as it was after so many rounds."""
    return Ensemble(
        ensemble.learners[:rounds],
        ensemble.alphas[:rounds],
        ensemble.thresholds[: rounds + 1],
        ensemble.log_losses[: rounds + 1],
    )
