"""Models averaged with weights that are learnt from their out-of-fold probabilities.

The weights are those of `OrdinalStack`, learnt from the folds that the models were assessed on.
For the stack's own scores the weights of a fold are learnt on the other folds, so that they are
of rows that neither a model nor a weight has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from ordinality.estimators.ordinal_stack import (
    cross_fitted,
    floored,
    learn_weights,
    stack_of_fitted,
)
from ordinality.tables import feature_names

from .assess import (
    RPS,
    SCORES,
    Assessment,
    Choice,
    FoldResult,
    Shuffled,
    choose,
    difference,
    joined,
)
from .problem import Problem, Split

__all__ = ["STACK", "choose_or_stack", "fitted_stack", "weights_in_words"]

STACK = "stack"  # its name in tables

# Prior of the weights: as in OrdinalStack for up to 300 rows, and falling like 1 / n beyond.
# Each member of no use costs the average some alpha / n of log score, which is worth paying
# where members cannot be told apart. On splits of ten tables of more rows the log score falls
# by .0007 to .003 on eight, and rises by .0006 on two.
ALPHA, PRIOR_ROWS = 1.0, 300

# Below, weights are chance, and so is the choice of one model: on 30 to 50 rows neither was
# better than the Gaussian process (24 problems).
FEWEST_ROWS, ALONE = 60, "gp"

# A member of less weight changes no probability by more than 0.01, which no table of some
# thousand rows can see, and a model file need not carry it.
LEAST = 0.01


def choose_or_stack(
    problem: Problem, found: Sequence[Assessment], splits: Sequence[Split], simple: bool = False
) -> tuple[Assessment | None, Choice]:
    """The stack of all models if there is one, and the choice: it, or a single model.

    There is none below 60 rows, of a single model, and where one model gets all weight. With
    ``simple`` a single model is chosen in any case.
    """
    if len(problem) < FEWEST_ROWS:
        return None, _below(problem, found)
    single = choose(problem, found)
    if len(found) == 1:
        return None, single
    stack, weights = _stacked(problem, found, splits)
    if len(weights) == 1:
        (name,) = weights
        only = next(one for one in found if one.name == name)
        reason = f"{name} ({only.description}) gets all weight in an average of {len(found)}"
        return None, single if simple else Choice(only, f"{reason} models.")
    if simple:
        return stack, single
    return stack, Choice(
        stack, _reason(problem, stack, weights, single), weights, single.selected
    )


def _below(problem: Problem, found: Sequence[Assessment]) -> Choice:
    """The choice for a table of few rows."""
    alone = next((one for one in found if one.name == ALONE), None)
    if alone is None or len(found) == 1:
        return choose(problem, found)
    return Choice(
        alone,
        f"{ALONE} ({alone.description}) is taken: with fewer than {FEWEST_ROWS} rows, scores "
        "are too uncertain to choose between models or to average them.",
    )


def _reason(
    problem: Problem, stack: Assessment, weights: dict[str, float], single: Choice
) -> str:
    one, gap = single.selected, difference(problem, single.selected, stack)
    return (
        f"{STACK}, an average of {weights_in_words(weights)}, with the weights under which "
        "out-of-fold rows are most probable. The nearest single model is "
        f"{one.name}: its ranked probability score is {one.scores[RPS]:.3f} against "
        f"{stack.scores[RPS]:.3f} (difference {gap.mean:.3f} ± {gap.error:.3f})."
    )


def weights_in_words(weights: dict[str, float]) -> str:
    """Names of models with their weights, such as ``gp (0.80) and linear (0.20)``."""
    *most, last = (f"{name} ({weight:.2f})" for name, weight in weights.items())
    return f"{', '.join(most)} and {last}" if most else last


def _stacked(
    problem: Problem, found: Sequence[Assessment], splits: Sequence[Split]
) -> tuple[Assessment, dict[str, float]]:
    """The stack of models, assessed out of fold, and the weights that are not negligible."""
    n = len(problem)
    every = np.stack([floored(one.proba) for one in found], axis=1)  # (n, M, K)
    of_truth = every[np.arange(n), :, problem.order.encode(problem.y)]
    v = _row_weights(problem)
    fold = np.zeros(n, dtype=np.int64)
    for k, (_, test) in enumerate(splits):
        fold[test] = k
    alpha = _alpha(v)
    learnt = _kept(learn_weights(of_truth, v, alpha), v)
    of_rows = _kept(cross_fitted(of_truth, v, fold, alpha), v)
    done = [
        _pooled(found, every[test], of_rows[test[0]], k) for k, (_, test) in enumerate(splits)
    ]
    order = np.argsort(-learnt, kind="stable")
    weights = {found[m].name: float(learnt[m]) for m in order if learnt[m] > 0.0}
    stack = joined(problem, STACK, f"average of {', '.join(weights)}", splits, done)
    members = [one for one in found if one.name in weights]
    said = tuple(dict.fromkeys(warning for one in members for warning in one.warnings))
    seconds = sum(one.seconds for one in found)
    return replace(stack, seconds=seconds, warnings=said), weights


def _row_weights(problem: Problem) -> np.ndarray:
    """Weights of the rows, one where none are given."""
    return np.ones(len(problem)) if problem.weights is None else problem.weights


def _pooled(
    found: Sequence[Assessment], proba: np.ndarray, weights: np.ndarray, k: int
) -> FoldResult:
    """Fold k of the stack: the models' predictions, also for shuffled columns, averaged."""
    average = np.einsum("m,nmk->nk", weights, proba)
    if not all(one.shuffled for one in found):
        return FoldResult(0.0, (), average)
    rows = found[0].shuffled[k].rows
    shuffled = np.zeros_like(found[0].shuffled[k].proba)
    for weight, one in zip(weights, found, strict=True):
        assert np.array_equal(one.shuffled[k].rows, rows)  # the same seed in all models
        if weight > 0.0:
            shuffled += np.float32(weight) * floored(one.shuffled[k].proba)
    return FoldResult(0.0, (), average, Shuffled(rows, shuffled))


def _alpha(v: np.ndarray) -> float:
    """Rows' worth of prior belief in each model, for rows of these weights."""
    return float(ALPHA * min(1.0, PRIOR_ROWS / v.sum()))


def _kept(weights: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Weights without those that are negligible, or come from the prior more than from rows."""
    alpha = _alpha(v)
    prior = alpha / (v.sum() + weights.shape[-1] * alpha)
    # The largest stays in any case: of few rows, all may be near the prior.
    least = np.minimum(max(LEAST, 2 * prior), weights.max(axis=-1, keepdims=True))
    kept = np.where(weights >= least, weights, 0.0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


# ---------------------------------------------------------------- the model of all rows


def fitted_stack(
    problem: Problem,
    choice: Choice,
    pipelines: dict[str, Pipeline],
    assessments: Sequence[Assessment],
    seed: int,
) -> Pipeline:
    """One pipeline of the fitted pipelines of a stack: one encoder, and the members behind it.

    Encoders differ at most in which columns they keep, since all were fitted to the same rows.
    """
    encoder = max(
        (one[0] for one in pipelines.values()), key=lambda one: len(feature_names(one))
    )
    X = encoder.transform(problem.frame)
    log_scores = {one.name: one.scores[SCORES[-1]] for one in assessments}
    stack = stack_of_fitted(
        [(name, _behind(encoder, X, pipelines[name])) for name in choice.weights],
        np.array([*choice.weights.values()]),
        X,
        problem.y,
        member_log_scores=np.array([log_scores[name] for name in choice.weights]),
        log_score=choice.selected.scores[SCORES[-1]],
        alpha=_alpha(_row_weights(problem)),
        levels=problem.order.levels.tolist(),
        decision=problem.decision,
        random_state=seed,
    )
    return Pipeline([("table", encoder), ("model", stack)])


def _behind(encoder: Any, X: np.ndarray, pipeline: Pipeline) -> Any:
    """The model of a pipeline, as one that takes what another encoder gives."""
    names, wanted = feature_names(encoder), feature_names(pipeline[0])
    if wanted == names:
        return pipeline[-1]
    # Both have their columns in the order of the table: look for each behind the one before.
    kept: list[int] = []
    for name in wanted:
        kept.append(names.index(name, kept[-1] + 1 if kept else 0))
    select = ColumnTransformer([("kept", "passthrough", kept)]).fit(X)
    return Pipeline([("columns", select), ("model", pipeline[-1])])
