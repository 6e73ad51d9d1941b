"""How well models predict rows they have not seen, beside two baselines.

All models meet the same folds, so that their scores can be compared row by row. The score that
decides is the ranked probability score: it rewards good probabilities, and a miss by two levels
costs more than a miss by one.

Models that learn a score and then a link from scores to probabilities (boosting, support vector
machines) are fitted once in each fold. The link of a fold is learnt on the rows of the other
folds, from the scores of the models that had not seen them; see `calibrate_from_folds`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import joblib
import narwhals as nw
import numpy as np
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ordinality import metrics
from ordinality.estimators.calibration import calibrate_from_folds, needs_link

from .models import BASELINES, Model, Skipped, processor_time
from .problem import Problem, level_proba, level_scores, pipeline

__all__ = [
    "SCORES",
    "Assessment",
    "Choice",
    "Difference",
    "against_baselines",
    "assess",
    "choose",
    "difference",
    "repeats",
    "row_scores",
    "scores",
]


Split = tuple[np.ndarray, np.ndarray]


SCORES = ("ranked probability score", "mean absolute error", "zero-one error", "log score")


MANY_COLUMNS = 40  # beyond these it would take too long to shuffle them one by one


TOGETHER = 2000  # rows predicted at once when columns are shuffled


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
        Processor time of all fits and predictions.
    warnings : tuple of str
        What the fits warned of.
    fold_scores : ndarray of shape (n_folds, n) or None
        Scores of all rows by the model of each fold, for models whose probabilities come from
        scores: the link of a model of all rows can be learnt from them.
    """

    name: str
    words: str
    proba: np.ndarray
    scores: dict[str, float]
    by_fold: np.ndarray
    importance: dict[str, float]
    seconds: float
    warnings: tuple[str, ...]
    fold_scores: np.ndarray | None = None


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
    max_seconds: float | None = None,
    seed: int = 0,
    jobs: int = 1,
    tick: Callable[[str, float], Any] = lambda what, share: None,
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
    max_seconds : float, optional
        Emergency stop: when the models have used this much processor time, the one at work is
        broken off after its fold and the others are skipped. Baselines are always assessed,
        and if no model was finished, the one with the least estimated cost is.
    seed : int, default=0
        Seed of the models.
    jobs : int, default=1
        Processes.
    tick : callable, optional
        Called as ``tick(what, share)`` before every fold, with words such as
        ``"boost, fold 3 of 10"`` and the share of the estimated cost that is done.

    Returns
    -------
    list of Assessment or Skipped
        In the order of `entries`.
    """
    clock = _Clock(entries, problem, splits, max_seconds, tick)
    answers: dict[str, Assessment | Skipped] = {}
    # One thread of linear algebra: what several would gain on small matrices they lose in
    # waiting, and the numbers must not depend on the number of processes.
    with threadpool_limits(1, user_api="blas"):
        for entry in entries:
            answers[entry.name] = _assessed(problem, entry, splits, clock, seed, jobs)
        models = [entry for entry in entries if entry.name not in BASELINES]
        if models and all(isinstance(answers[entry.name], Skipped) for entry in models):
            cheapest = min(models, key=lambda entry: clock.of_fold[entry.name])
            clock.max_seconds = None
            answers[cheapest.name] = _assessed(problem, cheapest, splits, clock, seed, jobs)
    return list(answers.values())


class _Clock:
    """Tells how far the work is, and when it has taken too long."""

    def __init__(
        self,
        entries: Sequence[Model],
        problem: Problem,
        splits: Sequence[Split],
        max_seconds: float | None,
        tick: Callable[[str, float], Any],
    ) -> None:
        size = problem.size()._replace(rows=len(splits[0][0]))
        self.of_fold = {entry.name: entry.cost.of_fold(size) for entry in entries}
        self.n_folds, self.max_seconds, self.tick = len(splits), max_seconds, tick
        self.total = self.n_folds * sum(self.of_fold.values())
        self.done = self.spent = 0.0

    def begin(self, name: str, fold: int) -> None:
        """Say which fold comes next."""
        share = min(self.done / self.total, 1.0)
        self.tick(f"{name}, fold {fold + 1} of {self.n_folds}", share)
        self.done += self.of_fold[name]

    def too_late(self, name: str) -> bool:
        """Whether the emergency stop strikes."""
        limit = np.inf if name in BASELINES or self.max_seconds is None else self.max_seconds
        return self.spent > limit


def _assessed(
    problem: Problem,
    entry: Model,
    splits: Sequence[Split],
    clock: _Clock,
    seed: int,
    jobs: int,
) -> Assessment | Skipped:
    """All folds of one model, unless the emergency stop strikes."""
    done: list[_Fold] = []
    rest = _folds(problem, entry, splits, seed, jobs)
    while len(done) < len(splits):
        if clock.too_late(entry.name):
            clock.done += (len(splits) - len(done)) * clock.of_fold[entry.name]
            reason = (
                f"stopped by the clock after {len(done)} of {len(splits)} folds: the models "
                f"had used {clock.spent:.0f} s of processor time, and {clock.max_seconds:g} s "
                "is the limit"
            )
            return Skipped(entry.name, entry.words, reason)
        clock.begin(entry.name, len(done))
        done.append(next(rest))
        clock.spent += 0.0 if entry.name in BASELINES else done[-1].seconds
    return _joined(problem, entry, splits, _with_links(problem, done, splits, jobs))


@dataclass(frozen=True)
class _Fold:
    """One fold of one model."""

    seconds: float
    warnings: tuple[str, ...]
    proba: np.ndarray | None = None
    rises: dict[str, float] = field(default_factory=dict)
    # Until its link is learnt:
    solver: Pipeline | None = None
    scores: np.ndarray | None = None  # (n,), of all rows
    seed: int = 0


def _folds(
    problem: Problem, entry: Model, splits: Sequence[Split], seed: int, jobs: int
) -> Iterator[_Fold]:
    """The folds one after another."""
    calls = [
        (problem, entry.name, pipeline(entry, problem, seed), split, seed + i)
        for i, split in enumerate(splits)
    ]
    # The first here: what has to be compiled is compiled once, not in every process.
    yield _fold(*calls[0])
    yield from _mapped(_fold, calls[1:], jobs)


def _mapped(function: Callable[..., Any], calls: Sequence[Any], jobs: int) -> Iterable[Any]:
    if jobs == 1:
        return (function(*call) for call in calls)
    run = joblib.Parallel(n_jobs=jobs, return_as="generator", inner_max_num_threads=1)
    found: Iterable[Any] = run(joblib.delayed(function)(*call) for call in calls)
    return found


def _fold(problem: Problem, name: str, solver: Any, split: Split, seed: int) -> _Fold:
    train, test = split
    folds_of_its_own = None
    if needs_link(solver[-1]):
        folds_of_its_own = solver[-1].calibration_folds
        solver.set_params(model__calibration_folds=None)
    with processor_time() as spent, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem.fitted(solver, train)
        if folds_of_its_own is None:
            found: dict[str, Any] = _predicted(problem, name, solver, test, seed)
        else:
            scores = level_scores(solver, problem.frame)
            found = {"solver": solver, "scores": scores, "seed": seed}
            solver.set_params(model__calibration_folds=folds_of_its_own)
    said = tuple(dict.fromkeys(str(w.message) for w in caught))
    return _Fold(spent.seconds, said, **found)


def _predicted(
    problem: Problem, name: str, solver: Any, test: np.ndarray, seed: int
) -> dict[str, Any]:
    """Probabilities of the rows left out, and the importance of the columns for them."""
    frame = problem.rows(test)
    proba, rises = level_proba(solver, frame), {}
    if name not in BASELINES and len(problem.columns) <= MANY_COLUMNS:
        rises = _rises(problem, solver, frame, test, proba, seed)
    return {"proba": proba, "rises": rises}


def _with_links(
    problem: Problem, done: list[_Fold], splits: Sequence[Split], jobs: int
) -> list[_Fold]:
    """The folds with their predictions, where those had to wait for a link."""
    if done[0].scores is None:
        return done
    calls = []
    for part in repeats(splits, len(problem)):
        scores = np.array([fold.scores for fold in done[part]])
        calls += [(problem, fold, scores, splits[part], i) for i, fold in enumerate(done[part])]
    return list(_mapped(_linked, calls, jobs))


def _linked(
    problem: Problem, fold: _Fold, scores: np.ndarray, splits: Sequence[Split], i: int
) -> _Fold:
    assert fold.solver is not None
    with processor_time() as spent:
        calibrate_from_folds(
            fold.solver[-1], scores[i], scores, splits, problem.y, problem.weights, fold=i
        )
        found = _predicted(problem, "", fold.solver, splits[i][1], fold.seed)
    return replace(fold, solver=None, seconds=fold.seconds + spent.seconds, **found)


def repeats(splits: Sequence[Split], n_rows: int) -> list[slice]:
    """Where each repeat of a cross-validation lies among its splits."""
    tested = np.cumsum([len(test) for _, test in splits])
    ends = (np.flatnonzero(tested % n_rows == 0) + 1).tolist()
    return [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]


def _rises(
    problem: Problem, solver: Any, frame: Any, test: np.ndarray, proba: np.ndarray, seed: int
) -> dict[str, float]:
    """Rise of the ranked probability score when one column of the test rows is shuffled."""
    rng = np.random.default_rng(seed)
    as_is = scores(problem, proba, test)[SCORES[0]]
    table = nw.from_native(frame, eager_only=True)
    columns, rises = problem.columns, {}
    # Several shuffled tables at once: of few rows, a prediction costs as much as of many.
    step = max(1, TOGETHER // len(test))
    for start in range(0, len(columns), step):
        some = columns[start : start + step]
        shuffled = [
            table.with_columns(table[name][rng.permutation(len(test)).tolist()])
            for name in some
        ]
        worse = level_proba(solver, nw.concat(shuffled).to_native())
        for name, part in zip(some, np.split(worse, len(some)), strict=True):
            rises[name] = scores(problem, part, test)[SCORES[0]] - as_is
    return rises


def _joined(
    problem: Problem, entry: Model, splits: Sequence[Split], done: list[_Fold]
) -> Assessment:
    proba = np.full((len(problem), problem.order.n_levels), np.nan)
    for (_, test), fold in zip(reversed(splits), reversed(done), strict=True):
        proba[test] = fold.proba  # backwards: the first repeat is the one that stays
    by_fold = [
        scores(problem, fold.proba, test)[SCORES[0]]
        for (_, test), fold in zip(splits, done, strict=True)
        if fold.proba is not None
    ]
    linked = done[0].scores is not None
    return Assessment(
        name=entry.name,
        words=entry.words,
        proba=proba,
        scores=scores(problem, proba),
        by_fold=np.array(by_fold),
        importance={
            name: float(np.mean([fold.rises[name] for fold in done])) for name in done[0].rises
        },
        seconds=sum(fold.seconds for fold in done),
        warnings=tuple(dict.fromkeys(said for fold in done for said in fold.warnings)),
        fold_scores=np.array([fold.scores for fold in done]) if linked else None,
    )


# ----------------------------------------------------------------
# Which of several assessed models to take, and the sentence that says why.
#
# The one with the least ranked probability score, unless one that comes earlier in the list is
# not worse by more than the standard error of the difference: then the earlier one, because
# the folds cannot tell them apart.


RPS = SCORES[0]


@dataclass(frozen=True)
class Difference:
    """How much lower the first model's ranked probability score is, per row.

    Attributes
    ----------
    mean, error : float
        Mean of first minus second over the rows, and its standard error.
    share : float
        Share of the rows in which the first is strictly better.
    """

    mean: float
    error: float
    share: float


@dataclass(frozen=True)
class Choice:
    """The model taken and why, in a sentence."""

    taken: Assessment
    why: str


def difference(problem: Problem, first: Assessment, second: Assessment) -> Difference:
    """First minus second in ranked probability score, paired row by row."""
    gap = row_scores(problem, first.proba) - row_scores(problem, second.proba)
    weights = np.ones(len(gap)) if problem.weights is None else problem.weights
    mean = float(np.average(gap, weights=weights))
    spread = np.average((gap - mean) ** 2, weights=weights)
    # Kish's effective number of rows; with equal weights it is their number.
    n = weights.sum() ** 2 / np.sum(weights**2)
    error = float(np.sqrt(spread / max(n - 1, 1)))
    return Difference(mean, error, float(np.average(gap < 0, weights=weights)))


def choose(problem: Problem, found: Sequence[Assessment]) -> Choice:
    """The model to take of those assessed on the same folds.

    Parameters
    ----------
    problem : Problem
        The rows.
    found : sequence of Assessment
        In order of preference.

    Returns
    -------
    Choice
        The first model that is within one standard error of the best.
    """
    best = min(found, key=lambda one: one.scores[RPS])
    for one in found:
        gap = difference(problem, one, best)
        if one is best or gap.mean <= gap.error:
            break
    if len(found) == 1:
        return Choice(one, f"{one.name} was the only model that could be tried.")
    if one is best:
        others = [other for other in found if other is not one]
        second = min(others, key=lambda other: other.scores[RPS])
        gap = difference(problem, one, second)
        return Choice(
            one,
            f"{one.name} ({one.words}) has the least ranked probability score of "
            f"{len(found)} models, {one.scores[RPS]:.3f}; next is {second.name} with "
            f"{second.scores[RPS]:.3f} (difference {-gap.mean:.3f} ± {gap.error:.3f}).",
        )
    return Choice(
        one,
        f"{one.name} ({one.words}) has a ranked probability score of {one.scores[RPS]:.3f}; "
        f"{best.name} has {best.scores[RPS]:.3f}, but the difference is within its standard "
        f"error ({gap.mean:.3f} ± {gap.error:.3f}), and {one.name} comes first in the list.",
    )


def against_baselines(
    problem: Problem, one: Assessment, baselines: Sequence[Assessment]
) -> tuple[bool, str]:
    """Whether a model beats every baseline in ranked probability score, and that in words.

    Parameters
    ----------
    problem : Problem
        The rows.
    one : Assessment
        The model.
    baselines : sequence of Assessment
        What it should beat.

    Returns
    -------
    better : bool
        Whether its score is less than all of theirs.
    sentence : str
        The same for a person, with the difference and its standard error.
    """
    rival = min(baselines, key=lambda other: other.scores[RPS])
    gap = difference(problem, one, rival)
    size = f"{abs(gap.mean):.3f} ± {gap.error:.3f}"
    if gap.mean >= 0:
        return False, (
            f"Not better than the baseline: its ranked probability score is "
            f"{one.scores[RPS]:.3f}, that of {rival.words} {rival.scores[RPS]:.3f} "
            f"(difference {size}). Do not rely on this model; more rows or other columns "
            "may help."
        )
    firm = "" if -gap.mean > 2 * gap.error else ", which may be luck"
    return True, (
        f"Better than both baselines: ranked probability score {one.scores[RPS]:.3f} against "
        f"{rival.scores[RPS]:.3f} for {rival.words}, the better of them "
        f"(difference {size}{firm})."
    )
