"""A study as numbers and text: what ``--json`` prints and model files carry."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ordinality import tables

from .effects import Effect
from .words import in_words

if TYPE_CHECKING:
    from .assess import Assessment
    from .studies import Study

__all__ = ["effect_of", "plain", "plain_effect", "relevance", "summary"]


def summary(found: Study) -> dict[str, Any]:
    """Everything in a study but the pictures, as JSON takes it."""
    problem, taken = found.problem, found.choice.taken
    better, verdict = found.verdict
    return plain(
        {
            "source": found.source,
            "target": problem.target,
            "rows": len(problem),
            "columns": problem.columns,
            "levels": problem.order.levels.tolist(),
            "counts": found.counts,
            "weighted": problem.weights is not None,
            "grouped": problem.groups is not None,
            "folds": found.n_folds,
            "seed": found.seed,
            "model": {"name": taken.name, "words": taken.words, "why": found.choice.why},
            "scores": {one.name: _scored(one) for one in (*found.found, *found.beside)},
            "skipped": {one.name: one.reason for one in found.skipped},
            "better_than_baselines": better,
            "verdict": verdict,
            "learnt": _learnt(found.model),
            "importance": taken.importance,
            "relevance": relevance(found),
            "effects": [plain_effect(effect) for effect in found.effects],
            "words": in_words(found),
            "notes": found.notes,
            "warnings": found.warnings,
        }
    )


def relevance(found: Study) -> dict[str, float]:
    """Relevance of every encoded feature, where the model has one of its own for each."""
    values = getattr(found.model, "relevance_", None)
    if values is None or not np.all(np.isfinite(values)) or np.ptp(values) == 0:
        return {}
    names = tables.feature_names(found.solver["table"])
    return dict(zip(names, values.tolist(), strict=True))


def plain(value: Any) -> Any:
    """`value` as JSON has it: NumPy's numbers as Python's, what is not finite as None.

    Examples
    --------
    >>> plain({"a": np.float64(1.5), "b": (np.inf, np.int64(2))})
    {'a': 1.5, 'b': [None, 2]}
    """
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _scored(one: Assessment) -> dict[str, Any]:
    # Not the seconds: a study of the same table is to be the same to the last byte.
    return {"words": one.words, **one.scores}


def _learnt(model: Any) -> dict[str, Any]:
    wanted = (
        "thresholds_",
        "noise_",
        "log_evidence_",
        "loo_log_score_",
        "converged_",
        "n_iter_",
    )
    return {
        name.removesuffix("_"): getattr(model, name) for name in wanted if hasattr(model, name)
    }


def plain_effect(effect: Effect) -> dict[str, Any]:
    """An effect as JSON has it; `effect_of` reads it back."""
    found: dict[str, Any] = plain(
        {
            "column": effect.column,
            "values": effect.values,
            "above": effect.above.round(4),
            "change": effect.change.round(4),
            "between": effect.between,
        }
    )
    return found


def effect_of(known: dict[str, Any]) -> Effect:
    """The effect that `plain_effect` wrote.

    Examples
    --------
    >>> change, proba = np.array([-0.5, 0.5]), np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> effect = Effect("dose", (1.0, 2.0), proba, change, ("low", "high"))
    >>> effect_of(plain_effect(effect)).proba.tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    above = np.array(known["above"])
    edge = np.ones((len(above), 1))
    reached = np.hstack([edge, above, 0 * edge])  # probability of this level or a higher one
    return Effect(
        known["column"],
        tuple(known["values"]),
        reached[:, :-1] - reached[:, 1:],
        np.array(known["change"]),
        (known["between"][0], known["between"][1]),
    )
