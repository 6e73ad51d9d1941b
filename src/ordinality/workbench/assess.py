"""Cross-validation of models on the same folds, and the choice between them.

All models are assessed on the same folds, so that their scores can be compared row by row. The
score that decides is the ranked probability score: it rewards good probabilities, and an error
of two levels costs more than an error of one. Of single models, the one with the lowest score
is selected, unless one earlier in the order of preference is within one standard error of it;
`stacking` averages several.

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

from .linear_model import fold_warnings
from .models import BASELINES, Model, Skipped, processor_time
from .problem import Problem, Split, build_pipeline, level_proba, level_scores

__all__ = [
    "SCORES",
    "Assessment",
    "Choice",
    "Difference",
    "FoldResult",
    "Shuffled",
    "against_baselines",
    "assess",
    "choose",
    "difference",
    "joined",
    "row_scores",
    "scores",
]

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]

RPS = "ranked probability score"
SCORES = (RPS, "mean absolute error", "zero-one error", "log score")

MAX_COLUMNS = 40  # of more, permutation importance would take too long

# Test rows of each fold whose columns are shuffled, and rows predicted at once for it. The
# standard error of an importance is then below 0.01; all rows would take half of a fold.
SHUFFLED = BATCH = 2000


@dataclass(frozen=True)
class Shuffled:
    """What the model of a fold predicts for test rows in which one column is shuffled.

    All models shuffle a column of a fold in the same way, so that their predictions can be
    averaged row by row.
    """

    rows: np.ndarray  # (m,), of the table
    proba: np.ndarray  # (columns, m, K), in single precision: there may be many


@dataclass(frozen=True)
class Assessment:
    """Out-of-fold predictions of a model, and their scores.

    Parameters
    ----------
    name : str
        Name of the model.
    description : str
        What it is.
    proba : ndarray of shape (n, K)
        Out-of-fold probabilities of the levels, of the first repeat.
    scores : dict of str to float
        Over all rows, by the names in `SCORES`; lower is better in all.
    by_fold : ndarray of shape (n_folds,)
        Ranked probability score of every fold.
    importance : dict of str to float
        Permutation importance of the columns: the rise of the ranked probability score when a
        column is shuffled, among at most 2000 test rows of each fold. Empty for baselines and
        for more than 40 columns.
    seconds : float
        Processor time of all fits and predictions.
    warnings : tuple of str
        Warnings of the fits.
    fold_scores : ndarray of shape (n_folds, n), optional
        Latent scores of all rows by the model of each fold, for models that need a link: the
        link of a model of all rows can be learnt from them.
    shuffled : tuple of Shuffled, default=()
        For each fold, what the importance was computed from.

    Examples
    --------
    >>> import polars
    >>> from ordinality.workbench import assess, folds, model, problem_of
    >>> frame = polars.DataFrame({"x": [1.0, 2.5, 3.0, 3.5], "y": [1, 1, 2, 2]})
    >>> problem = problem_of(frame, "y")
    >>> found = assess(problem, [model("linear")], folds(problem, n_splits=2))[0]
    >>> found.proba.shape, found.by_fold.shape
    ((4, 2), (2,))
    """

    name: str
    description: str
    proba: np.ndarray
    scores: dict[str, float]
    by_fold: np.ndarray
    importance: dict[str, float]
    seconds: float
    warnings: tuple[str, ...]
    fold_scores: np.ndarray | None = None
    shuffled: tuple[Shuffled, ...] = ()


def scores(
    problem: Problem, proba: np.ndarray, at: np.ndarray | None = None
) -> dict[str, float]:
    """The `SCORES` of probabilities (m, K) for the rows `at` (None: all).

    The absolute error and the error rate are of levels predicted by the rule of the problem.
    """
    at = np.arange(len(problem)) if at is None else at
    y, levels = problem.y[at], problem.order.levels
    given = {
        "levels": levels,
        "sample_weight": None if problem.weights is None else problem.weights[at],
    }
    predicted = problem.order.decode(problem.decided(proba))
    values = (
        metrics.ranked_probability_score(y, proba, **given),
        metrics.mean_absolute_error(y, predicted, **given),
        metrics.zero_one_error(y, predicted, **given),
        metrics.log_score(y, proba, **given),
    )
    return dict(zip(SCORES, values, strict=True))


def row_scores(
    problem: Problem, proba: np.ndarray, at: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """Ranked probability score of the rows `at`, by default of every row, (n,)."""
    ranks = problem.order.encode(problem.y[at])
    happened = ranks[:, None] <= np.arange(proba.shape[1] - 1)
    return np.asarray(np.sum((np.cumsum(proba, axis=1)[:, :-1] - happened) ** 2, axis=1))


# ---------------------------------------------------------------- cross-validation


def assess(
    problem: Problem,
    entries: Sequence[Model],
    splits: Sequence[Split],
    *,
    max_seconds: float | None = None,
    seed: int = 0,
    jobs: int = 1,
    mapper: Mapper | None = None,
    progress: Callable[[str, float], Any] = lambda what, share: None,
) -> list[Assessment | Skipped]:
    """Cross-validate models on the same folds.

    Parameters
    ----------
    problem : Problem
        The rows.
    entries : sequence of Model
        Models and baselines, in order of preference.
    splits : sequence of (train, test)
        From `folds`.
    max_seconds : float, optional
        Limit of the processor time that the models use together. When it is exceeded, the
        current model stops after its fold and the others are skipped. Baselines are always
        assessed, and if no model was finished, the one with the lowest estimated cost is.
    seed : int, default=0
        Seed of the models.
    jobs : int, default=1
        Number of processes.
    mapper : callable, optional
        ``mapper(function, works)`` gives the results of ``function(work)`` in order, in place
        of processes.
    progress : callable, optional
        Called as ``progress(what, share)`` before every fold, with text such as
        ``"boost, fold 3 of 10"`` and the share of the estimated cost that is done.

    Returns
    -------
    list of Assessment or Skipped
        In the order of `entries`.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import assess, baselines, folds, problem_of
    >>> problem = problem_of(polars.DataFrame({"x": np.arange(8.0), "y": [1, 2] * 4}), "y")
    >>> found = assess(problem, baselines(len(problem)), folds(problem, n_splits=2))
    >>> round(found[0].scores["ranked probability score"], 3)
    0.25
    """
    clock = _Clock(entries, problem, splits, max_seconds, progress)
    mapper = mapper or (_one_by_one if jobs == 1 else _processes(jobs))
    answers: dict[str, Assessment | Skipped] = {}
    # One thread of linear algebra: several gain nothing on small matrices, and the numbers
    # must not depend on the number of processes.
    with threadpool_limits(1, user_api="blas"):
        for entry in entries:
            answers[entry.name] = _assessed(problem, entry, splits, clock, seed, mapper)
        models = [entry for entry in entries if entry.name not in BASELINES]
        if models and all(isinstance(answers[entry.name], Skipped) for entry in models):
            cheapest = min(models, key=lambda entry: clock.of_fold[entry.name])
            clock.max_seconds = None
            answers[cheapest.name] = _assessed(problem, cheapest, splits, clock, seed, mapper)
    return list(answers.values())


class _Clock:
    """Reports the progress, and compares the time used with the limit."""

    def __init__(
        self,
        entries: Sequence[Model],
        problem: Problem,
        splits: Sequence[Split],
        max_seconds: float | None,
        progress: Callable[[str, float], Any],
    ) -> None:
        size = problem.size()._replace(rows=len(splits[0][0]))
        self.of_fold = {entry.name: entry.cost.of_fold(size) for entry in entries}
        self.n_folds, self.max_seconds, self.progress = len(splits), max_seconds, progress
        self.total = self.n_folds * sum(self.of_fold.values())
        self.done = self.spent = 0.0

    def begin(self, name: str, fold: int) -> None:
        """Report which fold comes next."""
        share = min(self.done / self.total, 1.0)
        self.progress(f"{name}, fold {fold + 1} of {self.n_folds}", share)
        self.done += self.of_fold[name]

    def exceeded(self, name: str) -> bool:
        """Whether a model must stop; a baseline never has to."""
        limit = np.inf if name in BASELINES or self.max_seconds is None else self.max_seconds
        return self.spent > limit


@dataclass(frozen=True)
class FoldResult:
    """One fold of one model; the predictions wait for the link if the model needs one."""

    seconds: float
    warnings: tuple[str, ...]
    proba: np.ndarray | None = None
    shuffled: Shuffled | None = None
    # Until its link is learnt:
    pipeline: Pipeline | None = None
    scores: np.ndarray | None = None  # (n,), of all rows
    seed: int = 0


def _assessed(
    problem: Problem,
    entry: Model,
    splits: Sequence[Split],
    clock: _Clock,
    seed: int,
    mapper: Mapper,
) -> Assessment | Skipped:
    """All folds of one model, unless the time limit is exceeded."""
    done: list[FoldResult] = []
    rest = _folds(problem, entry, splits, seed, mapper)
    while len(done) < len(splits):
        if clock.exceeded(entry.name):
            clock.done += (len(splits) - len(done)) * clock.of_fold[entry.name]
            reason = (
                f"stopped after {len(done)} of {len(splits)} folds by the time limit of "
                f"{clock.max_seconds:g} s for all models"
            )
            return Skipped(entry.name, entry.description, reason)
        clock.begin(entry.name, len(done))
        done.append(next(rest))
        clock.spent += 0.0 if entry.name in BASELINES else done[-1].seconds
    linked = _with_links(problem, done, splits, mapper)
    return joined(problem, entry.name, entry.description, splits, linked)


def _folds(
    problem: Problem, entry: Model, splits: Sequence[Split], seed: int, mapper: Mapper
) -> Iterator[FoldResult]:
    """The folds one after another."""
    calls = [
        (_fold, problem, entry.name, build_pipeline(entry, problem, seed), split, seed + i)
        for i, split in enumerate(splits)
    ]
    yield from mapper(_called, calls)


def _called(call: tuple[Any, ...]) -> Any:
    function, *arguments = call
    return function(*arguments)


def _one_by_one(function: Callable[[Any], Any], works: Iterable[Any]) -> Iterator[Any]:
    return (function(work) for work in works)


def _processes(jobs: int) -> Mapper:
    def mapper(function: Callable[[Any], Any], works: Iterable[Any]) -> Iterator[Any]:
        # The first one in this process: code is then compiled once and not in every process.
        first, *rest = works
        yield function(first)
        run = joblib.Parallel(n_jobs=jobs, return_as="generator", inner_max_num_threads=1)
        yield from run(joblib.delayed(function)(work) for work in rest)

    return mapper


def _fold(problem: Problem, name: str, pipeline: Any, split: Split, seed: int) -> FoldResult:
    train, test = split
    calibration_folds = None
    if needs_link(pipeline[-1]):
        calibration_folds = pipeline[-1].calibration_folds
        pipeline.set_params(model__calibration_folds=None)
    with processor_time() as spent, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem.fitted(pipeline, train)
        if calibration_folds is None:
            found: dict[str, Any] = _predicted(problem, name, pipeline, test, seed)
        else:
            latent = level_scores(pipeline, problem.frame)
            found = {"pipeline": pipeline, "scores": latent, "seed": seed}
            pipeline.set_params(model__calibration_folds=calibration_folds)
    said = fold_warnings(pipeline[-1], (str(w.message) for w in caught))
    return FoldResult(spent.seconds, said, **found)


def _predicted(
    problem: Problem, name: str, pipeline: Any, test: np.ndarray, seed: int
) -> dict[str, Any]:
    """Probabilities of the test rows, and of those with shuffled columns."""
    frame = problem.rows(test)
    shuffled = None
    if name not in BASELINES and len(problem.columns) <= MAX_COLUMNS:
        shuffled = _shuffled(problem, pipeline, frame, test, seed)
    return {"proba": level_proba(pipeline, frame), "shuffled": shuffled}


def _shuffled(
    problem: Problem, pipeline: Any, frame: Any, test: np.ndarray, seed: int
) -> Shuffled:
    """Predictions for the test rows with one column shuffled, for each column."""
    rng = np.random.default_rng(seed)
    table = nw.from_native(frame, eager_only=True)
    if len(test) > SHUFFLED:
        drawn = np.sort(rng.choice(len(test), SHUFFLED, replace=False))
        table, test = table[drawn.tolist(), :], test[drawn]
    columns, found = problem.columns, []
    # Several shuffled tables in one call: predicting few rows costs as much as predicting many.
    step = max(1, BATCH // len(test))
    for start in range(0, len(columns), step):
        some = [
            table.with_columns(table[name][rng.permutation(len(test)).tolist()])
            for name in columns[start : start + step]
        ]
        proba = level_proba(pipeline, nw.concat(some).to_native())
        found.append(proba.reshape(len(some), len(test), -1).astype(np.float32))
    return Shuffled(test, np.concatenate(found))


def _with_links(
    problem: Problem, done: list[FoldResult], splits: Sequence[Split], mapper: Mapper
) -> list[FoldResult]:
    """The folds with their predictions, where those had to wait for a link."""
    if done[0].scores is None:
        return done
    calls = []
    for part in _repeats(splits, len(problem)):
        latent = np.array([fold.scores for fold in done[part]])
        calls += [
            (_linked, problem, fold, latent, splits[part], i)
            for i, fold in enumerate(done[part])
        ]
    return list(mapper(_called, calls))


def _linked(
    problem: Problem, fold: FoldResult, latent: np.ndarray, splits: Sequence[Split], i: int
) -> FoldResult:
    assert fold.pipeline is not None
    with processor_time() as spent:
        calibrate_from_folds(
            fold.pipeline[-1], latent[i], latent, splits, problem.y, problem.weights, fold=i
        )
        found = _predicted(problem, "", fold.pipeline, splits[i][1], fold.seed)
    return replace(fold, pipeline=None, seconds=fold.seconds + spent.seconds, **found)


def _repeats(splits: Sequence[Split], n_rows: int) -> list[slice]:
    """The slice of `splits` that belongs to each repeat of a cross-validation."""
    tested = np.cumsum([len(test) for _, test in splits])
    ends = (np.flatnonzero(tested % n_rows == 0) + 1).tolist()
    return [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]


def joined(
    problem: Problem,
    name: str,
    description: str,
    splits: Sequence[Split],
    done: Sequence[FoldResult],
) -> Assessment:
    """The folds of a model as one assessment."""
    proba = np.full((len(problem), problem.order.n_levels), np.nan)
    for (_, test), fold in zip(reversed(splits), reversed(done), strict=True):
        proba[test] = fold.proba  # backwards, so that the first repeat remains
    by_fold = [
        scores(problem, fold.proba, test)[RPS]
        for (_, test), fold in zip(splits, done, strict=True)
        if fold.proba is not None
    ]
    linked = done[0].scores is not None
    rises = [_rises(problem, fold, test) for (_, test), fold in zip(splits, done, strict=True)]
    return Assessment(
        name=name,
        description=description,
        proba=proba,
        scores=scores(problem, proba),
        by_fold=np.array(by_fold),
        importance={
            column: float(np.mean([rise[column] for rise in rises])) for column in rises[0]
        },
        seconds=sum(fold.seconds for fold in done),
        warnings=tuple(dict.fromkeys(said for fold in done for said in fold.warnings)),
        fold_scores=np.array([fold.scores for fold in done]) if linked else None,
        shuffled=tuple(fold.shuffled for fold in done if fold.shuffled is not None),
    )


def _rises(problem: Problem, fold: FoldResult, test: np.ndarray) -> dict[str, float]:
    """Rise of the ranked probability score when one column of the test rows is shuffled."""
    if fold.shuffled is None or fold.proba is None:
        return {}
    rows = fold.shuffled.rows
    weights = None if problem.weights is None else problem.weights[rows]
    order = np.argsort(test)
    place = order[np.searchsorted(test, rows, sorter=order)]
    as_is = row_scores(problem, fold.proba[place], rows)
    return {
        name: float(np.average(row_scores(problem, proba, rows) - as_is, weights=weights))
        for name, proba in zip(problem.columns, fold.shuffled.proba, strict=True)
    }


# ---------------------------------------------------------------- choice


@dataclass(frozen=True)
class Choice:
    """The selected model and the reason.

    Parameters
    ----------
    selected : Assessment
        The model.
    reason : str
        Why, in a sentence.
    weights : dict of str to float, default={}
        Weights of the models that are averaged, the largest first; empty for a single model.
    simple : Assessment, optional
        The single model that would be selected in place of an average.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import study
    >>> frame = polars.DataFrame({"dose": np.arange(20.0), "effect": np.arange(20) // 10})
    >>> study(frame, "effect", model="linear").choice.reason
    'linear (cumulative link model (proportional odds)) was requested.'
    """

    selected: Assessment
    reason: str
    weights: dict[str, float] = field(default_factory=dict)
    simple: Assessment | None = None


@dataclass(frozen=True)
class Difference:
    """Ranked probability score of a model minus that of another: mean, standard error."""

    mean: float
    error: float


def difference(problem: Problem, first: Assessment, second: Assessment) -> Difference:
    """First minus second in ranked probability score, paired row by row."""
    gap = row_scores(problem, first.proba) - row_scores(problem, second.proba)
    weights = np.ones(len(gap)) if problem.weights is None else problem.weights
    mean = float(np.average(gap, weights=weights))
    spread = np.average((gap - mean) ** 2, weights=weights)
    # Kish's effective number of rows; with equal weights it is their number.
    n = weights.sum() ** 2 / np.sum(weights**2)
    return Difference(mean, float(np.sqrt(spread / max(n - 1, 1))))


def choose(problem: Problem, found: Sequence[Assessment]) -> Choice:
    """Select one of the models that were assessed on the same folds.

    Parameters
    ----------
    problem : Problem
        The rows.
    found : sequence of Assessment
        In order of preference.

    Returns
    -------
    Choice
        The first model within one standard error of the best.

    Examples
    --------
    >>> import polars
    >>> from ordinality.workbench import assess, choose, folds, model, problem_of
    >>> frame = polars.DataFrame({"x": [1.0, 2.5, 3.0, 3.5], "y": [1, 1, 2, 2]})
    >>> problem = problem_of(frame, "y")
    >>> found = assess(problem, [model("linear")], folds(problem, n_splits=2))
    >>> choose(problem, found).reason
    'linear is the only model that was assessed.'
    """
    best = min(found, key=lambda one: one.scores[RPS])
    for one in found:
        gap = difference(problem, one, best)
        if one is best or gap.mean <= gap.error:
            break
    if len(found) == 1:
        return Choice(one, f"{one.name} is the only model that was assessed.")
    if one is best:
        others = [other for other in found if other is not one]
        second = min(others, key=lambda other: other.scores[RPS])
        gap = difference(problem, one, second)
        return Choice(
            one,
            f"{one.name} ({one.description}) has the lowest ranked probability score of "
            f"{len(found)} models, {one.scores[RPS]:.3f}; the next is {second.name} with "
            f"{second.scores[RPS]:.3f} (difference {-gap.mean:.3f} ± {gap.error:.3f}).",
        )
    return Choice(
        one,
        f"{one.name} ({one.description}) has a ranked probability score of "
        f"{one.scores[RPS]:.3f}; {best.name} has {best.scores[RPS]:.3f}, but the difference "
        f"({gap.mean:.3f} ± {gap.error:.3f}) is within its standard error, and {one.name} is "
        "earlier in the order of preference.",
    )


def against_baselines(
    problem: Problem, one: Assessment, baselines: Sequence[Assessment]
) -> tuple[bool, str]:
    """Whether a model beats every baseline in ranked probability score, and that in words."""
    rival = min(baselines, key=lambda other: other.scores[RPS])
    gap = difference(problem, one, rival)
    size = f"{abs(gap.mean):.3f} ± {gap.error:.3f}"
    noise = "" if abs(gap.mean) > 2 * gap.error else ", which is within noise"
    if gap.mean >= 0:
        said = (
            f"Not better than the baseline: its ranked probability score is "
            f"{one.scores[RPS]:.3f}, that of {rival.description} {rival.scores[RPS]:.3f} "
            f"(difference {size}{noise})."
        )
        # A model as good as regression on the ranks is of use; one that knows no more than the
        # frequencies is not.
        others = [other for other in baselines if other is not rival]
        useful = (
            noise
            and others
            and all(difference(problem, one, other).mean < 0 for other in others)
        )
        return False, said if useful else (
            f"{said} Do not rely on this model; more rows or other columns may help."
        )
    return True, (
        f"Better than both baselines: ranked probability score {one.scores[RPS]:.3f} against "
        f"{rival.scores[RPS]:.3f} for the better baseline, {rival.description} "
        f"(difference {size}{noise})."
    )
