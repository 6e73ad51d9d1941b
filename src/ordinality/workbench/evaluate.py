"""Scores of a fitted pipeline on a table with known labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ordinality.levels import Order

from .assess import SCORES, scores
from .problem import Problem, level_proba
from .study import json_value

__all__ = ["Evaluation", "evaluation", "pooled"]


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model on labelled rows.

    Parameters
    ----------
    rows : int
        Number of rows.
    scores : dict of str to float
        Scores of the model.
    baseline : dict of str to float
        Scores of the frequencies of the levels in training.
    confusion : ndarray of shape (K, K)
        Number of rows by true (down) and predicted (across) level.
    notes : tuple of str
        What was done with the table.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.workbench import Evaluation
    >>> score = "ranked probability score"
    >>> Evaluation(2, {score: 0.1}, {score: 0.3}, np.eye(2), ()).verdict
    'Better than the frequencies of the levels: ranked probability score 0.100 against 0.300.'
    """

    rows: int
    scores: dict[str, float]
    baseline: dict[str, float]
    confusion: np.ndarray
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Whether the model is better than the frequencies, in words."""
        ours, theirs = self.scores[SCORES[0]], self.baseline[SCORES[0]]
        if ours < theirs:
            return (
                f"Better than the frequencies of the levels: ranked probability score "
                f"{ours:.3f} against {theirs:.3f}."
            )
        return (
            f"Not better than the frequencies of the levels: ranked probability score "
            f"{ours:.3f} against {theirs:.3f}. These rows may differ from the training data."
        )

    def as_dict(self) -> dict[str, Any]:
        """Convert to values that JSON can hold.

        Returns
        -------
        dict
            Numbers and text; a score that is not finite is None.
        """
        found: dict[str, Any] = json_value(
            {
                "rows": self.rows,
                "scores": self.scores,
                "frequencies": self.baseline,
                "confusion": self.confusion,
                "verdict": self.verdict,
            }
        )
        return found


def evaluation(
    pipeline: Any,
    frame: Any,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    notes: tuple[str, ...] = (),
    *,
    counts: list[int] | None = None,
    proba: np.ndarray | None = None,
) -> Evaluation:
    """Score a fitted pipeline on labelled rows.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted.
    frame : pandas or polars DataFrame
        The columns it was fitted to.
    y : ndarray of shape (n,)
        Labels, all of them levels that the model knows.
    weights : ndarray of shape (n,), optional
        Weights of the rows.
    notes : tuple of str, default=()
        What was done with the table.
    counts : list of int, optional
        Rows of every level in training; by default those in `y`.
    proba : ndarray of shape (n, K), optional
        Predictions for these rows, if they are already computed.

    Returns
    -------
    Evaluation
        Scores of the model and of the frequencies of the levels.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import evaluation, study
    >>> frame = polars.DataFrame({"dose": np.arange(20.0), "effect": np.arange(20) // 10})
    >>> found = study(frame, "effect", model="linear")
    >>> evaluation(found.pipeline, frame, found.problem.y).confusion
    array([[10,  0],
           [ 0, 10]])
    """
    order = Order(pipeline[-1].levels_, "stated")
    rule = getattr(pipeline[-1], "decision", "mode")
    problem = Problem(frame, y, order, None, weights, decision=rule)
    proba = level_proba(pipeline, frame) if proba is None else proba
    ranks = order.encode(y)
    known = np.bincount(ranks, minlength=order.n_levels) if counts is None else np.array(counts)
    share = (known + 0.5) / np.sum(known + 0.5)
    return Evaluation(
        rows=len(y),
        scores=scores(problem, proba),
        baseline=scores(problem, np.tile(share, (len(y), 1))),
        confusion=confusion_matrix(
            ranks, problem.decided(proba), labels=np.arange(order.n_levels)
        ),
        notes=notes,
    )


def pooled(parts: Sequence[tuple[float, Evaluation]], notes: tuple[str, ...]) -> Evaluation:
    """The evaluation of several blocks of rows together; each comes with its weight."""
    weights = [weight for weight, _ in parts]
    found = [part for _, part in parts]

    def average(scores: list[dict[str, float]]) -> dict[str, float]:
        return {
            name: float(np.average([one[name] for one in scores], weights=weights))
            for name in SCORES
        }

    return Evaluation(
        rows=sum(one.rows for one in found),
        scores=average([one.scores for one in found]),
        baseline=average([one.baseline for one in found]),
        confusion=np.sum([one.confusion for one in found], axis=0),
        notes=notes,
    )
