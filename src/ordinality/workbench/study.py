"""Model selection for one table: read, cross-validate, select, fit, explain.

`study` is what ``ordinality fit`` runs. The tables in the terminal, the report, the JSON output
and the summary in the model file are all read from the `Study` that it returns.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.pipeline import Pipeline

from ordinality import persist, tables
from ordinality._files import put
from ordinality.distributed.cluster import mapped_calls
from ordinality.distributed.partitions import PartitionedRows
from ordinality.estimators import OrdinalRegression
from ordinality.estimators.calibration import calibrate_from_folds, needs_link
from ordinality.estimators.ordinal_stack import row_groups
from ordinality.estimators.partitioned import InBlocks, OnCluster, fit_elsewhere
from ordinality.estimators.regression_summary import RegressionSummary
from ordinality.estimators.wrapped import fit_member
from ordinality.inspect import Effect, Effects, effects
from ordinality.tables.columns import counted

from .assess import Assessment, Choice, against_baselines, assess, difference
from .labelled import ScannedRows, load_rows
from .linear_model import (
    LinearTerms,
    coefficients,
    linear_candidate,
    linear_model,
    name_terms,
    odds_sentence,
    odds_tests,
)
from .models import BASELINES, MODELS, Model, Skipped, baselines, candidates, model
from .prediction_sets import range_bounds, range_sentence
from .problem import (
    Problem,
    Split,
    build_pipeline,
    folds,
    level_scores,
    problem_of,
    sample_of,
)
from .stacking import STACK, choose_or_stack, fitted_stack, weights_in_words
from .study_report import html_report

__all__ = ["Study", "json_value", "study", "study_of", "threshold_sentences"]

# Default time limit of the automatic choice, in budgets: an estimate for another machine may be
# wrong by a factor of a few, and a slow or busy machine must not select another model.
LIMIT_IN_BUDGETS = 10.0

MAX_EFFECTS = 12  # columns whose effects are computed, the most important first

MAX_NAMED = 3  # columns named for each threshold

MIN_CHANGE = 0.01  # smaller changes of probability are not put into words

# Rows over which effects are averaged, and refits for the standard errors of models that do not
# know their own: as many as take this share of the budget, at most so many, or none.
EFFECT_ROWS, REFITS, FEWEST_REFITS, REFIT_SHARE = 150, 50, 10, 0.5


@dataclass(frozen=True)
class Study:
    """A problem, the models assessed on it, the one selected, and what it does.

    Parameters
    ----------
    problem : Problem
        The table, or of more than 20,000 rows a sample, on which models were assessed.
    assessments : tuple of Assessment
        The stack, if there is one, and the models tried, in order of preference.
    baselines : tuple of Assessment
        The baselines.
    skipped : tuple of Skipped
        Models that were not assessed, and why.
    choice : Choice
        The selected model and the reason.
    pipeline : Pipeline
        That model behind the encoder, fitted to all rows.
    effects : Effects
        Partial dependence on the columns and marginal effects, the strongest first.
    warnings : tuple of str
        Warnings of the fits, and of the time limit.
    n_folds : int
        Number of folds.
    seed : int
        Seed of the folds and the models.
    fitted_rows : int
        Number of rows that the pipeline was fitted to; of a stack, that of the member with the
        fewest.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import study
    >>> dose = np.linspace(0, 4, 40)
    >>> frame = polars.DataFrame({"dose": dose, "effect": np.digitize(dose, [1.5, 2.8])})
    >>> found = study(frame, "effect", model="linear")
    >>> print(found.sentences[-2])
    In cross-validation it predicts the correct level for 98% of the rows, and is off by two
    levels or more for 0%.
    """

    problem: Problem
    assessments: tuple[Assessment, ...]
    baselines: tuple[Assessment, ...]
    skipped: tuple[Skipped, ...]
    choice: Choice
    pipeline: Pipeline
    effects: Effects
    warnings: tuple[str, ...]
    n_folds: int
    seed: int
    fitted_rows: int

    @property
    def whole(self) -> Any:
        """All rows of the table: the problem itself, or what it is a sample of."""
        return self.problem if self.problem.whole is None else self.problem.whole

    @property
    def model(self) -> Any:
        """The fitted estimator at the end of the pipeline."""
        return self.pipeline[-1]

    @cached_property
    def coefficients(self) -> RegressionSummary | None:
        """The table of coefficients of a linear model; None for the others."""
        return self.model.summary() if isinstance(self.model, OrdinalRegression) else None

    @cached_property
    def proportional_odds(self) -> dict[str, float]:
        """P-values of the tests of proportional odds, by column; empty without a test."""
        return odds_tests(self.pipeline)

    @cached_property
    def range_bounds(self) -> dict[str, float]:
        """Bounds of ranges of levels, by their coverage in percent."""
        return range_bounds(self.problem, self.choice.selected.proba)

    @property
    def verdict(self) -> tuple[bool, str]:
        """Whether the selected model beats both baselines, and that in a sentence."""
        return against_baselines(self.problem, self.choice.selected, self.baselines)

    @property
    def relevance(self) -> dict[str, float]:
        """Relevance of every encoded feature; empty for models without length scales."""
        values = getattr(self.model, "relevance_", None)
        if values is None or not np.all(np.isfinite(values)) or np.ptp(values) == 0:
            return {}
        names = tables.feature_names(self.pipeline["table"])
        return dict(zip(names, values.tolist(), strict=True))

    @property
    def sentences(self) -> list[str]:
        """What the model is, which columns move rows over each threshold, how often it errs."""
        problem = self.problem
        levels = [str(level) for level in problem.order.levels.tolist()]
        ranks = problem.decided(self.choice.selected.proba)
        off = np.abs(ranks - problem.order.encode(problem.y))
        far = f", and is off by two levels or more for {np.mean(off > 1):.0%}"
        return [
            self._what_it_does(levels),
            *threshold_sentences(self.effects, levels),
            *self._commonest_values(),
            *odds_sentence(self.proportional_odds),
            f"In cross-validation it predicts the correct level for {np.mean(off == 0):.0%} "
            f"of the rows{far if len(levels) > 2 else ''}.",
            range_sentence(problem, self.choice.selected.proba, self.range_bounds),
        ]

    def _what_it_does(self, levels: list[str]) -> str:
        """How the model comes to its probabilities, in a sentence."""
        which = f"levels of {self.problem.target}, from {levels[0]} to {levels[-1]}"
        if self.choice.weights:
            return (
                f"The model averages the probabilities that {len(self.choice.weights)} models "
                f"give the {which}: {weights_in_words(self.choice.weights)}."
            )
        if not hasattr(self.model, "thresholds_"):
            return f"The model gives every row a probability of each of the {which}."
        cuts = "thresholds divide" if len(levels) > 2 else "threshold divides"
        return (
            f"The model gives every row a latent score; {len(levels) - 1} {cuts} the scores "
            f"into the {which}."
        )

    def _commonest_values(self) -> list[str]:
        """Which columns have effects at some of their values only."""
        frame, found = nw.from_native(self.problem.frame, eager_only=True), []
        for effect in self.effects:
            count = frame[effect.column].drop_nulls().n_unique()
            if not frame[effect.column].dtype.is_numeric() and count > len(effect.values):
                found.append(
                    f"Effects of {effect.column} are those of its {len(effect.values)} "
                    f"commonest values, of {count}."
                )
        return found

    def summary(self) -> dict[str, Any]:
        """Collect everything but the figures.

        Returns
        -------
        dict
            Numbers and text that JSON can hold, the same on every run: no times.
        """
        problem, selected = self.problem, self.choice.selected
        better, verdict = self.verdict
        learnt = ("thresholds", "noise", "log_evidence", "loo_log_score", "log_likelihood",
                  "converged", "n_iter")  # fmt: skip
        found: dict[str, Any] = json_value(
            {
                "source": problem.source,
                "target": problem.target,
                "rows": len(self.whole),
                "compared_rows": len(problem),
                "fitted_rows": self.fitted_rows,
                "columns": problem.columns,
                "levels": problem.order.levels.tolist(),
                "counts": self.whole.counts,
                "weighted": problem.weights is not None,
                "grouped": problem.groups is not None,
                "folds": self.n_folds,
                "seed": self.seed,
                "model": {
                    "name": selected.name,
                    "words": selected.description,
                    "why": self.choice.reason,
                },
                **self._of_stack(),
                "scores": {
                    one.name: {"words": one.description, **one.scores}
                    for one in (*self.assessments, *self.baselines)
                },
                "skipped": {one.name: one.reason for one in self.skipped},
                "better_than_baselines": better,
                "verdict": verdict,
                "learnt": {
                    name: getattr(self.model, f"{name}_")
                    for name in learnt
                    if hasattr(self.model, f"{name}_")
                },
                **self._of_regression(),
                "decision": problem.decision,
                "importance": selected.importance,
                "relevance": self.relevance,
                "effects": [effect.as_dict() for effect in self.effects],
                "range_bounds": self.range_bounds,
                "words": self.sentences,
                "notes": problem.notes,
                "warnings": self.warnings,
            }
        )
        return found

    def _of_stack(self) -> dict[str, Any]:
        """Weights of the members, and the single model nearest to a stack."""
        one = self.choice.simple
        if one is None:
            return {}
        gap = difference(self.problem, one, self.choice.selected)
        nearest = {"name": one.name, "difference": gap.mean, "standard_error": gap.error}
        return {"weights": self.choice.weights, "nearest": nearest}

    def _of_regression(self) -> dict[str, Any]:
        """Coefficients and what belongs to them, for a linear model."""
        table = self.coefficients
        if table is None:
            return {}
        return {
            "coefficients": coefficients(table),
            "coefficient_notes": table.notes,
            "log_likelihood": self.model.log_likelihood_,
            "aic": self.model.aic(),
            "bic": self.model.bic(),
            "proportional_odds": self.proportional_odds,
        }

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the pipeline and the summary to a model file.

        Parameters
        ----------
        path : str or Path
            A .skops file.
        force : bool, default=False
            Replace a file that exists.
        """
        persist.save(self.pipeline, path, summary=self.summary(), force=force)

    def report(
        self,
        path: str | Path,
        *,
        model_file: str | None = None,
        force: bool = False,
        progress: Callable[[str, float], Any] = lambda what, share: None,
    ) -> None:
        """Write a report with figures as one HTML page.

        Parameters
        ----------
        path : str or Path
            An .html file.
        model_file : str, optional
            Where the model was saved, for the lines that show how to use it.
        force : bool, default=False
            Replace a file that exists.
        progress : callable, optional
            Called as ``progress(title, share)`` before every figure, with the share that is
            done.
        """
        path = Path(path)
        if path.exists() and not force:
            raise FileExistsError(
                f"{path} exists; choose another name, or set `force` to replace it."
            )
        put(path, html_report(self, model_file=model_file, progress=progress).encode())


def study(table: Any, target: str, *, model: str = "auto", **options: Any) -> Study:
    """Fit, assess and explain an ordinal model of a table.

    Parameters
    ----------
    table : str, Path, Table, Scan, pandas or polars DataFrame
        A data file or a folder of Parquet files, or its rows.
    target : str
        Column of labels.
    model : str, default="auto"
        A name of `MODELS`; ``"auto"`` tries several and averages them with weights learnt from
        the rows that each has not seen.
    **options
        ``order``, ``features``, ``drop``, ``weights``, ``counts``, ``group``, ``wide``,
        ``decision`` as in `problem_of`; ``budget``, ``max_seconds``, ``n_splits``, ``seed``,
        ``jobs``, ``client``, ``terms``, ``simple``, ``progress`` as in `study_of`.

    Returns
    -------
    Study
        The models tried, the one selected, and what it does.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import study
    >>> dose = np.linspace(0, 4, 40)
    >>> frame = polars.DataFrame({"dose": dose, "effect": np.digitize(dose, [1.5, 2.8])})
    >>> found = study(frame, "effect", model="linear")
    >>> found.verdict[0], found.problem.counts
    (True, [15, 13, 12])
    """
    of_search = {"budget", "max_seconds", "n_splits", "seed", "jobs", "client", "terms",
                 "simple", "progress"}  # fmt: skip
    search = {name: options.pop(name) for name in of_search & set(options)}
    return study_of(problem_of(table, target, **options), model, **search)


def study_of(
    problem: Problem,
    name: str = "auto",
    *,
    budget: float | None = 180.0,
    max_seconds: float | None = None,
    n_splits: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    client: Any = None,
    terms: LinearTerms | None = None,
    simple: bool = False,
    progress: Callable[[str, float], Any] = lambda what, share: None,
) -> Study:
    """Fit, assess and explain an ordinal model of a problem.

    Parameters
    ----------
    problem : Problem
        The rows. Of more than 20,000, models are assessed on a random sample of as many.
    name : str, default="auto"
        A name of `MODELS`, or ``"auto"``: the average of several models, or below 60 rows the
        Gaussian process.
    budget : float or None, default=180
        Processor seconds for the automatic choice, as estimated from the size of the table:
        which models are tried does not depend on the machine. None for no limit. Models of
        more than 20,000 rows that cannot read them in blocks are fitted to as many as are
        estimated to take the budget, or ten times the budget if the model is named.
    max_seconds : float, optional
        Limit of the processor seconds that the automatic choice really uses. By default ten
        times the budget.
    n_splits : int, optional
        Folds of the cross-validation; by default ten for at most 500 rows, else five.
    seed : int, default=0
        Seed of the folds and the models.
    jobs : int, default=1
        Number of processes.
    client : distributed.Client, optional
        A Dask cluster that takes the folds in place of processes, and the rows of a scanned
        folder. Its workers must see the files.
    terms : LinearTerms, optional
        Link, nominal, scale and random effects of the model ``"linear"``.
    simple : bool, default=False
        Whether ``"auto"`` selects the single model nearest to the average of several.
    progress : callable, optional
        Called as ``progress(what, share)`` before every step, with text such as
        ``"boost, fold 3 of 10"`` and the share of the estimated cost that is done.

    Returns
    -------
    Study
        The models tried, the one selected, and what it does.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import problem_of, study_of
    >>> dose = np.linspace(0, 4, 40)
    >>> frame = polars.DataFrame({"dose": dose, "effect": np.digitize(dose, [1.5, 2.8])})
    >>> study_of(problem_of(frame, "effect"), "linear").choice.selected.name
    'linear'
    """
    if simple and name != "auto":
        raise ValueError(
            f"`simple` selects among the models of 'auto', but the model is {name!r}; leave "
            "one of the two out."
        )
    if problem.whole is None:
        problem = sample_of(problem, seed)
    splits = folds(problem, n_splits=n_splits, seed=seed)
    skipped: list[Skipped] = []
    if name == "auto":
        wanted, skipped = candidates(problem.size(), len(splits), budget)
        wanted, skipped = _without_mlr(problem, splits, wanted, skipped)
        if max_seconds is None and budget is not None:
            max_seconds = LIMIT_IN_BUDGETS * max(budget, 1.0)
    else:
        wanted, max_seconds = [model(name)], None
    wanted = [
        one if one.name != "linear"
        else linear_candidate(problem) if name == "auto"
        else linear_model(problem, terms)
        for one in wanted
    ]  # fmt: skip
    entries = [*wanted, *baselines(len(problem), weighted=problem.weights is not None)]
    whole = _share_of_folds(problem, wanted, len(splits))
    mapper = None if client is None else partial(mapped_calls, client, ordered=True)
    answers = assess(
        problem, entries, splits, max_seconds=max_seconds, seed=seed, jobs=jobs, mapper=mapper,
        progress=lambda what, share: progress(what, whole * share),
    )  # fmt: skip
    assessed = [one for one in answers if isinstance(one, Assessment)]
    stopped = [one for one in answers if isinstance(one, Skipped)]
    tried = [one for one in assessed if one.name not in BASELINES]
    stack, choice = choose_or_stack(problem, tried, splits, simple)
    selected = choice.selected
    if name != "auto":
        choice = Choice(selected, f"{name} ({selected.description}) was requested.")
    seconds = budget if budget is None or name == "auto" else LIMIT_IN_BUDGETS * budget
    fit = _FitToAll(problem, seed, seconds, progress, whole, client)
    pipeline, n_fitted, warned = _final(fit, choice, wanted, tried, splits)
    said = (*_of_rows(problem, splits), *warned, *selected.warnings, *_of_the_limit(stopped))
    return Study(
        problem=problem,
        assessments=tuple(tried if stack is None else [stack, *tried]),
        baselines=tuple(one for one in assessed if one.name in BASELINES),
        skipped=(*stopped, *skipped),
        choice=choice,
        pipeline=pipeline,
        effects=_effects(problem, pipeline, selected, budget, seed, progress, (1 + whole) / 2),
        warnings=tuple(dict.fromkeys(said)),
        n_folds=len(splits),
        seed=seed,
        fitted_rows=n_fitted,
    )


def _without_mlr(
    problem: Problem, splits: Sequence[Split], wanted: list[Model], skipped: list[Skipped]
) -> tuple[list[Model], list[Skipped]]:
    """The candidates without the one that cannot learn from rows of a single level."""
    ranks = problem.order.encode(problem.y)
    # Three rows: its inner folds, of a third of the rows each, must have two levels as well.
    enough = all(np.sum(np.bincount(ranks[train]) >= 3) > 1 for train, _ in splits)
    if len(wanted) == 1 or enough:
        return wanted, skipped
    reason = "in some folds fewer than two levels have three training rows"
    left = [Skipped(one.name, one.description, reason) for one in wanted if one.name == "mlr"]
    return [one for one in wanted if one.name != "mlr"], [*left, *skipped]


def _share_of_folds(problem: Problem, entries: Sequence[Model], n_folds: int) -> float:
    """The estimated share of the folds in all work; after them comes the fit to all rows."""
    size = problem.size()
    rows = size.rows if problem.whole is None else len(problem.whole)
    of_folds = sum(entry.cost.of_folds(size, n_folds) for entry in entries)
    of_all = sum(entry.cost.of_fold(size._replace(rows=rows)) for entry in entries)
    return of_folds / (of_folds + of_all)


@dataclass(frozen=True)
class _FitToAll:
    """The fit of a model to all rows of a table, or to as many as are worth their time."""

    problem: Problem
    seed: int
    seconds: float | None  # for a model that cannot read blocks
    progress: Callable[[str, float], Any]
    share: float  # of the work, when this begins
    client: Any  # of a cluster, if there is one

    def __call__(self, entry: Model, pipeline: Pipeline) -> int:
        """Fit a pipeline in place; how many rows its model was fitted to.

        The encoder learns from all rows that are in memory, so that it is the same for all
        models.
        """
        problem, whole = self.problem, self.problem.whole
        self.progress(f"{entry.name}, all rows", self.share)
        if whole is None:
            problem.fitted(pipeline)
            return len(problem)
        if entry.by_blocks:
            count = len(whole)
        else:
            size = problem.size()._replace(rows=len(whole))
            count = entry.cost.rows_within(self.seconds, size)
        if isinstance(whole, ScannedRows):
            pipeline[0].fit(problem.frame, problem.y)
            return self._scanned(entry, pipeline, whole, count)
        pipeline[0].fit(whole.frame, whole.y)
        keys = np.random.default_rng(self.seed).random(len(whole))
        at = np.sort(np.argsort(keys)[:count])
        X, weights = pipeline[0].transform(whole.rows(at)), whole.weights
        fit_member(pipeline[-1], X, whole.y[at], None if weights is None else weights[at])
        return count

    def _scanned(self, entry: Model, pipeline: Pipeline, whole: ScannedRows, count: int) -> int:
        if entry.by_blocks and self.client is not None and whole.scan.files:
            loaders = [(load_rows, part, pipeline[0]) for part in whole.parts()]
            fit_elsewhere(
                pipeline[-1], OnCluster(PartitionedRows.from_loaders(loaders).persist())
            )
            return count
        if entry.by_blocks and count > len(self.problem):
            passes = 0

            def blocks() -> Iterator[tuple[np.ndarray, ...]]:
                nonlocal passes
                passes += 1
                what = f"{entry.name}, {len(whole):,} rows, pass {passes}"

                def tell(read: float) -> None:
                    # Levels, a sample, and two or three visits: about five passes.
                    done = min((passes - 1 + read) / 5, 1.0)
                    self.progress(what, self.share + (1 - self.share) * done)

                yield from whole.blocks(pipeline[0], tell)

            fit_elsewhere(pipeline[-1], InBlocks(blocks))
            return count
        X, y, *weights = whole.sample(pipeline[0], count, self.seed)
        pipeline[-1].fit(X, y, **({"sample_weight": weights[0]} if weights else {}))
        return len(y)


def _final(
    fit: _FitToAll,
    choice: Choice,
    wanted: Sequence[Model],
    tried: Sequence[Assessment],
    splits: Sequence[Split],
) -> tuple[Pipeline, int, list[str]]:
    """The selected model of all rows, the number of rows it was fitted to, and warnings."""
    entries = {one.name: one for one in wanted}
    known = {one.name: one for one in tried}
    names = [*choice.weights] or [choice.selected.name]
    if fit.seconds is not None:  # the members share the time
        fit = replace(fit, seconds=fit.seconds / len(names))
    pipelines: dict[str, Pipeline] = {}
    counts, said = [], list[str]()
    for i, name in enumerate(names):
        share = fit.share + (1 - fit.share) * i / (2 * len(names))  # effects: the other half
        pipelines[name], count, warned = _fitted_to_all(
            replace(fit, share=share), entries[name], known[name], splits
        )
        counts.append(count)
        said += warned
    if not choice.weights:
        return pipelines[names[0]], counts[0], said
    pipeline = fitted_stack(fit.problem, choice, pipelines, tried, fit.seed)
    return pipeline, min(counts), said


def _fitted_to_all(
    fit: _FitToAll, entry: Model, assessed: Assessment, splits: Sequence[Split]
) -> tuple[Pipeline, int, list[str]]:
    """The model of all rows; its link comes from the scores of the folds, if it needs one."""
    problem = fit.problem
    pipeline = build_pipeline(entry, problem, fit.seed)
    estimator = pipeline[-1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if assessed.fold_scores is None or not needs_link(estimator):
            n_fitted = fit(entry, pipeline)
        else:
            calibration_folds = estimator.calibration_folds
            n_fitted = fit(entry, pipeline.set_params(model__calibration_folds=None))
            own = level_scores(pipeline, problem.frame)
            calibrate_from_folds(
                estimator, own, assessed.fold_scores, splits, problem.y, problem.weights
            )
            estimator.set_params(calibration_folds=calibration_folds)
    return pipeline, n_fitted, name_terms(pipeline, [str(one.message) for one in caught])


def _effects(
    problem: Problem,
    pipeline: Pipeline,
    selected: Assessment,
    budget: float | None,
    seed: int,
    progress: Callable[[str, float], Any],
    begun: float,
) -> Effects:
    """Effects of the most important columns, with refits if the model is cheap enough.

    A stack is never refitted: its intervals are those of its members.

    ``begun`` is the share of all work that is done before.
    """
    count = REFITS if selected.name != STACK else 0
    if budget is not None and count:
        one = MODELS[selected.name].cost.of_fold(problem.size())
        if needs_link(pipeline[-1]):  # folds share a link, a refit learns one of its own
            one *= 1 + pipeline[-1].calibration_folds
        count = min(count, int(REFIT_SHARE * budget / one))
    y = problem.y if count >= FEWEST_REFITS else None
    with warnings.catch_warnings():
        # A sample of the rows may lack what all of them determine; the spread shows it.
        warnings.simplefilter("ignore")
        return effects(
            pipeline, problem.frame, _most_important(selected, problem), y=y,
            sample_weight=problem.weights, n_refits=count, max_rows=EFFECT_ROWS, seed=seed,
            progress=lambda what, share: progress(
                f"effects, {what}", begun + (1 - begun) * share
            ),
        )  # fmt: skip


def _most_important(selected: Assessment, problem: Problem) -> list[str]:
    by_importance = sorted(selected.importance, key=lambda name: -selected.importance[name])
    return (by_importance or problem.columns)[:MAX_EFFECTS]


def _of_rows(problem: Problem, splits: Sequence[Split]) -> list[str]:
    """Warnings of levels with fewer rows than folds, and of copies of rows in other folds."""
    found, n_folds = [], len(splits)
    levels = [str(level) for level in problem.order.levels.tolist()]
    rare = [
        f"{level} ({counted(count, 'row')})"
        for level, count in zip(levels, problem.counts, strict=True)
        if 0 < count < n_folds
    ]
    if rare:
        found.append(
            f"fewer rows than the {n_folds} folds have these levels of {problem.target}: "
            f"{', '.join(rare)}. What the scores say of them rests on few rows."
        )
    copies = _copies(problem, splits)
    if copies:
        found.append(
            f"{counted(copies, 'row')} agree with a row of another fold in all columns and in "
            f"{problem.target}. If they are copies, the scores are too good: leave copies out, "
            "or name a column of groups that belong together."
        )
    return found


def _copies(problem: Problem, splits: Sequence[Split]) -> int:
    """Rows that have a copy in another fold; none where most rows share their features."""
    fold = np.zeros(len(problem), dtype=np.int64)
    for k, (_, test) in enumerate(splits):
        fold[test] = k
    groups = row_groups(problem.frame)
    if 2 * (groups.max() + 1) < len(groups):  # few columns with few values: not copies
        return 0
    row = row_groups(np.column_stack([groups, problem.order.encode(problem.y)]))
    pairs = np.unique(np.column_stack([row, fold]), axis=0)[:, 0]
    return int(np.sum(np.bincount(pairs)[row] > 1))


def _of_the_limit(stopped: Sequence[Skipped]) -> list[str]:
    """A warning that models were stopped, if any were."""
    if not stopped:
        return []
    names = ", ".join(one.name for one in stopped)
    return [
        f"the time limit was reached before these models were assessed: {names}. On a faster "
        "or less busy machine another model may be selected."
    ]


def threshold_sentences(effects: Sequence[Effect], levels: list[str]) -> list[str]:
    """For every threshold, the columns that move most probability over it.

    A change is named only if its interval does not hold zero.
    """
    if effects and all(effect.rise_se is None for effect in effects):
        return ["Effects of the columns have no intervals here, so none is put into words."]
    sentences = []
    for k, (lower, upper) in enumerate(pairwise(levels)):
        sure = [effect for effect in effects if _is_sure(effect, k)]
        sure.sort(key=lambda effect: -abs(effect.rise[k]))
        named = [_rise(effect, k) for effect in sure[:MAX_NAMED]]
        what = f"of {upper}" if k == len(levels) - 2 else f"of {upper} or higher"
        change = (
            f"the average probability {what} changes by {'; '.join(named)}"
            if named
            else f"no single column is sure to change the average probability {what} by "
            f"{MIN_CHANGE:.0%} or more"
        )
        sentences.append(f"From {lower} to {upper}: {change}.")
    return sentences


def _is_sure(effect: Effect, k: int) -> bool:
    """Whether a change over threshold k is large enough, and its interval without zero."""
    low, high = effect.interval("rise")[k]
    return abs(effect.rise[k]) >= MIN_CHANGE and low * high > 0.0


def _rise(effect: Effect, k: int) -> str:
    """The change over threshold k in words, with its interval of 95 %."""
    (low, high), (less, more) = effect.between, effect.interval("rise")[k]
    change = f"{effect.rise[k]:+.2f} ({less:+.2f} to {more:+.2f})"
    if low.startswith("half a standard deviation"):
        return f"{change} when {effect.column} is one standard deviation larger"
    return f"{change} when {effect.column} is {high} instead of {low}"


def json_value(value: Any) -> Any:
    """`value` as JSON can hold it: NumPy numbers as Python's, numbers not finite as None."""
    if isinstance(value, dict):
        return {str(key): json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [json_value(one) for one in value]
    if isinstance(value, np.generic):
        return json_value(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
