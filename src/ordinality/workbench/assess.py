"""How well models predict rows they have not seen, beside two baselines.

All models meet the same folds, so that their scores can be set side by side row by row. The
score that decides is the ranked probability score: it asks for good probabilities, and a miss
by two levels costs it more than a miss by one.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import narwhals as nw
import numpy as np

from ordinality import metrics

from .models import Model
from .problem import Problem, level_proba, pipeline

__all__ = ["SCORES", "Assessment", "Skipped", "assess", "row_scores", "scores"]

Split = tuple[np.ndarray, np.ndarray]

SCORES = ("ranked probability score", "mean absolute error", "zero-one error", "log score")
MANY_COLUMNS = 40  # beyond these it would take too long to shuffle them one by one
TIMED = 2  # folds by which a model's time is judged: the first may have had to be compiled


@dataclass(frozen=True)
class Assessment:
    """Predictions of rows that the model had not seen, and what they are worth.

    Attributes
    ----------
    name, words : str
        The model.
    proba : ndarray of shape (n, K)
        Probabilities of the levels, of the first repeat.
    scores : dict of str to float
        Over all rows, by the names in `SCORES`; less is better in all.
    by_fold : ndarray of shape (n_folds,)
        Ranked probability score of every fold.
    importance : dict of str to float
        By how much the ranked probability score rises when a column is shuffled.
    seconds : float
        Time of all fits and predictions.
    warnings : tuple of str
        What the fits warned of.
    """

    name: str
    words: str
    proba: np.ndarray
    scores: dict[str, float]
    by_fold: np.ndarray
    importance: dict[str, float]
    seconds: float
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Skipped:
    """A model that was not assessed, and why."""

    name: str
    words: str
    reason: str


def row_scores(problem: Problem, proba: np.ndarray) -> np.ndarray:
    """Ranked probability score of every row."""
    ranks = problem.order.encode(problem.y)
    happened = ranks[:, None] <= np.arange(proba.shape[1] - 1)
    return np.asarray(np.sum((np.cumsum(proba, axis=1)[:, :-1] - happened) ** 2, axis=1))


def scores(
    problem: Problem, proba: np.ndarray, at: np.ndarray | None = None
) -> dict[str, float]:
    """The `SCORES` of predictions for these rows (None: all); the mode is what is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.levels import resolve
    >>> y = np.array([1, 2, 3])
    >>> problem = Problem(None, y, resolve(y), None)
    >>> scores(problem, np.eye(3))["mean absolute error"]
    0.0
    """
    at = np.arange(len(problem)) if at is None else at
    y, levels = problem.y[at], problem.order.levels
    given = {
        "levels": levels,
        "sample_weight": None if problem.weights is None else problem.weights[at],
    }
    mode = problem.order.decode(proba.argmax(axis=1))
    values = (
        metrics.ranked_probability_score(y, proba, **given),
        metrics.mean_absolute_error(y, mode, **given),
        metrics.zero_one_error(y, mode, **given),
        metrics.log_score(y, proba, **given),
    )
    return dict(zip(SCORES, values, strict=True))


def assess(
    problem: Problem,
    entries: Sequence[Model],
    splits: Sequence[Split],
    *,
    budget: float | None = None,
    seed: int = 0,
    jobs: int = 1,
    tick: Callable[[], Any] = lambda: None,
) -> list[Assessment | Skipped]:
    """Cross-validate models on the same folds.

    Parameters
    ----------
    problem : Problem
        The rows.
    entries : sequence of Model
        What to try, the most wanted first.
    splits : sequence of (train, test)
        From `folds`.
    budget : float, optional
        Seconds; a model whose first two folds say that the rest would overrun them is
        skipped. If that is true of all, the quickest is assessed nevertheless.
    seed : int, default=0
        Seed of the models.
    jobs : int, default=1
        Processes.
    tick : callable, optional
        Called after every fold, and for the folds that are skipped.

    Returns
    -------
    list of Assessment or Skipped
        In the order of `entries`.
    """
    began = time.perf_counter()
    runs: list[_Run] = []
    answers: list[Assessment | Skipped] = []
    for entry in entries:
        run = _Run(entry, _parts(problem, entry, splits, seed, jobs))
        runs.append(run)
        for _ in splits[:TIMED]:
            run.advance(tick)
            left = len(splits) - len(run.parts)
            run.wanted = run.parts[-1].seconds * left / jobs
            spent = time.perf_counter() - began
            if budget is None or spent + run.wanted <= budget:
                run.finish(tick)
                break
            if spent + run.parts[-1].seconds > budget:
                break  # not even one more
    if not any(run.finished for run in runs):
        min(runs, key=lambda run: run.wanted).finish(tick)
    for run in runs:
        if run.finished:
            answers.append(_joined(problem, run.entry, splits, run.parts))
        else:
            for _ in splits[len(run.parts) :]:
                tick()
            reason = f"its folds would take about {run.wanted:.0f} s, beyond the budget"
            answers.append(Skipped(run.entry.name, run.entry.words, reason))
    return answers


@dataclass
class _Run:
    """A model on its way through the folds."""

    entry: Model
    rest: Iterator[_Part]
    parts: list[_Part] = field(default_factory=list)
    wanted: float = 0.0  # seconds for the folds after the first
    finished: bool = False

    def advance(self, tick: Callable[[], Any]) -> None:
        self.parts.append(next(self.rest))
        tick()

    def finish(self, tick: Callable[[], Any]) -> None:
        for part in self.rest:
            self.parts.append(part)
            tick()
        self.finished = True


@dataclass(frozen=True)
class _Part:
    """One fold of one model."""

    proba: np.ndarray
    rises: dict[str, float]
    seconds: float
    warnings: tuple[str, ...]


def _parts(
    problem: Problem, entry: Model, splits: Sequence[Split], seed: int, jobs: int
) -> Iterator[_Part]:
    """The folds one after another; the first here, because their time is looked at."""
    given = [
        (problem, entry.name, pipeline(entry, problem, seed), split, seed + i)
        for i, split in enumerate(splits)
    ]
    here = len(given) if jobs == 1 else TIMED
    yield from (_part(*one) for one in given[:here])
    if given[here:]:
        run = joblib.Parallel(n_jobs=jobs, return_as="generator", inner_max_num_threads=1)
        yield from run(joblib.delayed(_part)(*one) for one in given[here:])


def _part(problem: Problem, name: str, solver: Any, split: Split, seed: int) -> _Part:
    train, test = split
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem.fitted(solver, train)
        frame = problem.rows(test)
        proba = level_proba(solver, frame)
        rises = {}
        if name not in ("frequencies", "rounded") and len(problem.columns) <= MANY_COLUMNS:
            rises = _rises(problem, solver, frame, test, proba, seed)
    said = tuple(dict.fromkeys(str(w.message) for w in caught))
    return _Part(proba, rises, time.perf_counter() - began, said)


def _rises(
    problem: Problem, solver: Any, frame: Any, test: np.ndarray, proba: np.ndarray, seed: int
) -> dict[str, float]:
    """Rise of the ranked probability score when one column of the test rows is shuffled."""
    rng = np.random.default_rng(seed)
    as_is = scores(problem, proba, test)[SCORES[0]]
    table = nw.from_native(frame, eager_only=True)
    rises = {}
    for name in problem.columns:
        shuffled = table[name][rng.permutation(len(test)).tolist()]
        worse = level_proba(solver, table.with_columns(shuffled).to_native())
        rises[name] = scores(problem, worse, test)[SCORES[0]] - as_is
    return rises


def _joined(
    problem: Problem, entry: Model, splits: Sequence[Split], parts: list[_Part]
) -> Assessment:
    proba = np.full((len(problem), problem.order.n_levels), np.nan)
    for (_, test), part in zip(reversed(splits), reversed(parts), strict=True):
        proba[test] = part.proba  # backwards: the first repeat is the one that stays
    by_fold = [
        scores(problem, part.proba, test)[SCORES[0]]
        for (_, test), part in zip(splits, parts, strict=True)
    ]
    return Assessment(
        name=entry.name,
        words=entry.words,
        proba=proba,
        scores=scores(problem, proba),
        by_fold=np.array(by_fold),
        importance={
            name: float(np.mean([part.rises[name] for part in parts]))
            for name in parts[0].rises
        },
        seconds=sum(part.seconds for part in parts),
        warnings=tuple(dict.fromkeys(said for part in parts for said in part.warnings)),
    )
