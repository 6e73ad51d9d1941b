"""A whole study of one table: the problem, the models tried, the one taken, what it does.

`study` is what ``ordinality fit`` runs; in Python it is the same in three lines. Everything
that a person is told afterwards, in the terminal, in the report and in the model file, is read
from the `Study` it returns.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ordinality import persist, tables
from ordinality.estimators.calibration import calibrate_from_folds, needs_link

from .assess import Assessment, Choice, Split, against_baselines, assess, choose
from .inspect import Effect, effects
from .models import BASELINES, MODELS, Skipped, baselines, candidates, model
from .problem import Problem, _table, folds, level_scores, pipeline, problem_of

__all__ = [
    "Study",
    "effect_of",
    "in_words",
    "moves",
    "plain",
    "plain_effect",
    "relevance",
    "study",
    "study_of",
    "summary",
]


MOST_EFFECTS = 12  # columns whose effects are worked out, the most important first


# The emergency stop, in budgets: an estimate for another machine may be wrong by a factor of a
# few, and a stop must not decide between models on a machine that is only slow or busy.
STOP = 10.0


@dataclass(frozen=True)
class Study:
    """What was asked, what was tried, what was taken and what it does.

    Attributes
    ----------
    problem : Problem
        The table.
    notes : tuple of str
        What was done with the columns.
    found : tuple of Assessment
        The models tried, in order of preference.
    beside : tuple of Assessment
        The baselines.
    skipped : tuple of Skipped
        Models that were left out, and why.
    choice : Choice
        The model taken and why.
    solver : Pipeline
        That model, fitted to all rows.
    effects : tuple of Effect
        What it makes of the columns, the strongest first.
    warnings : tuple of str
        What its fits warned of.
    """

    problem: Problem
    notes: tuple[str, ...]
    found: tuple[Assessment, ...]
    beside: tuple[Assessment, ...]
    skipped: tuple[Skipped, ...]
    choice: Choice
    solver: Pipeline
    effects: tuple[Effect, ...]
    warnings: tuple[str, ...]
    n_folds: int
    seed: int
    source: str = "the table"

    @property
    def verdict(self) -> tuple[bool, str]:
        """Whether the model taken beats both baselines, and that in words."""
        return against_baselines(self.problem, self.choice.taken, self.beside)

    @property
    def counts(self) -> list[int]:
        """Rows of every level, in order."""
        ranks = self.problem.order.encode(self.problem.y)
        return np.bincount(ranks, minlength=self.problem.order.n_levels).tolist()

    @property
    def model(self) -> Any:
        """The fitted estimator at the end of the pipeline."""
        return self.solver[-1]

    def some_rows(self) -> Any:
        """At most 300 rows of the table, spread evenly over it."""
        n = len(self.problem)
        return self.problem.rows(np.unique(np.linspace(0, n - 1, min(n, 300)).astype(int)))

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write what was found as one HTML page with pictures."""
        from .study_report import write_report

        write_report(self, path, force=force)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the pipeline and the summary to a model file."""
        persist.save(self.solver, path, summary=self.summary(), force=force)

    def summary(self) -> dict[str, Any]:
        """Everything but the pictures as numbers and text that fit into JSON."""
        return summary(self)


def study(table: Any, target: str, *, model: str = "auto", **options: Any) -> Study:
    """Fit, assess and explain an ordinal model of a table.

    Parameters
    ----------
    table : str, Path, Table, pandas or polars DataFrame
        A data file, or its rows.
    target : str
        Column of labels.
    model : str, default="auto"
        A name of `MODELS`; ``"auto"`` tries several and takes the one with the least
        cross-validated ranked probability score.
    **options
        ``order``, ``features``, ``drop``, ``weights``, ``counts``, ``group``, ``wide`` as
        `problem_of` takes them; ``budget``, ``max_seconds``, ``n_splits``, ``seed``,
        ``jobs``, ``tick`` as `study_of` does.

    Returns
    -------
    Study

    Examples
    --------
    >>> import numpy as np, polars
    >>> dose = np.linspace(0, 4, 40)
    >>> frame = polars.DataFrame({"dose": dose, "effect": np.digitize(dose, [1.5, 2.8])})
    >>> found = study(frame, "effect", model="linear")
    >>> found.verdict[0], found.counts
    (True, [15, 13, 12])
    """
    of_search = {"budget", "max_seconds", "n_splits", "seed", "jobs", "tick"}
    search = {name: options.pop(name) for name in of_search & set(options)}
    known = _table(table)
    problem, notes = problem_of(known, target, **options)
    return replace(study_of(problem, model, **search), notes=notes, source=known.source)


def study_of(
    problem: Problem,
    name: str = "auto",
    *,
    budget: float | None = 60.0,
    max_seconds: float | None = None,
    n_splits: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    tick: Callable[[str, float], Any] = lambda what, share: None,
) -> Study:
    """The study of a problem that is already read.

    Parameters
    ----------
    problem : Problem
        The rows.
    name : str, default="auto"
        A name of `MODELS`, or ``"auto"``.
    budget : float or None, default=60
        Processor seconds for the automatic choice, as estimated from the size of the table:
        which models are tried does not depend on the machine. None for no limit.
    max_seconds : float, optional
        Emergency stop of the automatic choice, in processor seconds that were really used. By
        default ten times the budget.
    n_splits, seed, jobs : int
        Folds of the cross-validation, seed of everything random, processes.
    tick : callable, optional
        Called as ``tick(what, share)`` before every piece of work, with words such as
        ``"boost, fold 3 of 10"`` and the share of the estimated cost that is done.

    Returns
    -------
    Study
    """
    splits = folds(problem, n_splits=n_splits, seed=seed)
    skipped: list[Skipped] = []
    if name == "auto":
        wanted, skipped = candidates(problem.size(), len(splits), budget)
        if max_seconds is None and budget is not None:
            max_seconds = STOP * max(budget, 1.0)
    else:
        wanted, max_seconds = [model(name)], None
    entries = [*wanted, *baselines(len(problem), weighted=problem.weights is not None)]
    # After the folds of all models comes the fit to all rows, about as long as one fold.
    whole = len(splits) * len(entries) / (len(splits) * len(entries) + 1)
    answers = assess(
        problem, entries, splits, max_seconds=max_seconds, seed=seed, jobs=jobs,
        tick=lambda what, share: tick(what, whole * share),
    )  # fmt: skip
    assessed = [one for one in answers if isinstance(one, Assessment)]
    stopped = [one for one in answers if isinstance(one, Skipped)]
    choice = choose(problem, [one for one in assessed if one.name not in BASELINES])
    taken = choice.taken
    if name != "auto":
        choice = Choice(taken, f"{name} ({taken.words}) was asked for.")
    tick(f"{taken.name}, all rows", whole)
    solver, said = _final(problem, taken, splits, seed)
    made = effects(solver, problem.frame, _telling(taken, problem), seed=seed)
    return Study(
        problem=problem,
        notes=(),
        found=tuple(one for one in assessed if one.name not in BASELINES),
        beside=tuple(one for one in assessed if one.name in BASELINES),
        skipped=(*stopped, *skipped),
        choice=choice,
        solver=solver,
        effects=tuple(made),
        warnings=tuple(dict.fromkeys((*said, *taken.warnings, *_emergency(stopped)))),
        n_folds=len(splits),
        seed=seed,
    )


def _final(
    problem: Problem, taken: Assessment, splits: Sequence[Split], seed: int
) -> tuple[Pipeline, list[str]]:
    """The model of all rows; its link comes from the scores of the folds, if it needs one."""
    solver = pipeline(MODELS[taken.name], problem, seed)
    estimator = solver[-1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if taken.fold_scores is None or not needs_link(estimator):
            problem.fitted(solver)
        else:
            own_folds = estimator.calibration_folds
            problem.fitted(solver.set_params(model__calibration_folds=None))
            own = level_scores(solver, problem.frame)
            calibrate_from_folds(
                estimator, own, taken.fold_scores, splits, problem.y, problem.weights
            )
            estimator.set_params(calibration_folds=own_folds)
    return solver, [str(one.message) for one in caught]


def _emergency(stopped: Sequence[Skipped]) -> list[str]:
    if not stopped:
        return []
    names = ", ".join(one.name for one in stopped)
    return [
        f"the emergency stop by the clock struck: {names} could not be assessed to the end. "
        "On a faster or less busy machine another model may be chosen."
    ]


def _telling(taken: Assessment, problem: Problem) -> list[str]:
    """The most important columns, as many as are worth explaining."""
    by_importance = sorted(taken.importance, key=lambda name: -taken.importance[name])
    return (by_importance or problem.columns)[:MOST_EFFECTS]


# ----------------------------------------------------------------
# A study as numbers and text: what ``--json`` prints and model files carry.


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


# ----------------------------------------------------------------
# A study in words: what the model is, what moves rows over each threshold, how it errs.


NAMED = 3  # columns named for each threshold


SLIGHT = 0.01  # changes of probability below this are not worth a word


def in_words(found: Study) -> list[str]:
    """Sentences about the model of a study.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import study
    >>> dose = np.linspace(0, 4, 40)
    >>> frame = polars.DataFrame({"dose": dose, "effect": np.digitize(dose, [1.5, 2.8])})
    >>> print(in_words(study(frame, "effect", model="linear"))[-1])
    Of rows it had not seen, it names the right level for 95%, and misses by two levels or
    more for 0%.
    """
    levels = [str(level) for level in found.problem.order.levels.tolist()]
    cuts = f"{len(levels) - 1} thresholds cut" if len(levels) > 2 else "one threshold cuts"
    sentences = [
        f"The model gives every row a place on a hidden scale of {found.problem.target}, from "
        f"{levels[0]} to {levels[-1]}, and {cuts} the scale into the levels."
    ]
    return [*sentences, *moves(found.effects, levels), _errors(found)]


def moves(effects: Sequence[Effect], levels: list[str]) -> list[str]:
    """For every threshold, the columns that move most rows over it."""
    sentences = []
    for k, (lower, upper) in enumerate(pairwise(levels)):
        rises = sorted(
            ((-float(np.cumsum(effect.change)[k]), effect) for effect in effects),
            key=lambda pair: -abs(pair[0]),
        )
        named = [_move(rise, effect) for rise, effect in rises[:NAMED] if abs(rise) >= SLIGHT]
        top = k == len(levels) - 2
        what = f"of {upper}" if top else f"of {upper} or higher"
        if named:
            sentences.append(
                f"Moving from {lower} to {upper}: the average probability {what} changes by "
                f"{'; '.join(named)}."
            )
        else:
            sentences.append(
                f"Moving from {lower} to {upper}: no column by itself changes the average "
                f"probability {what} by {SLIGHT:.0%} or more."
            )
    return sentences


def _move(rise: float, effect: Effect) -> str:
    low, high = effect.between
    if low.startswith("half a standard deviation"):
        return f"{rise:+.2f} when {effect.column} is one standard deviation larger"
    return f"{rise:+.2f} when {effect.column} is {high} instead of {low}"


def _errors(found: Study) -> str:
    ranks = found.problem.order.encode(found.problem.y)
    off = np.abs(found.choice.taken.proba.argmax(axis=1) - ranks)
    far = f", and misses by two levels or more for {np.mean(off > 1):.0%}"
    return (
        f"Of rows it had not seen, it names the right level for {np.mean(off == 0):.0%}"
        f"{far if found.problem.order.n_levels > 2 else ''}."
    )
