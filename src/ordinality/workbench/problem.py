"""A table as a problem to be solved, and pipelines that solve it.

A pipeline takes rows of the table as they are: its first step encodes the columns, its last is
one of the models. What is kept in a model file is such a pipeline, whole.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import levels, tables
from ordinality.levels import Order

from .models import Model, Size

__all__ = [
    "NoOrderError",
    "Problem",
    "folds",
    "level_proba",
    "level_scores",
    "pipeline",
    "problem_of",
]


@dataclass(frozen=True)
class Problem:
    """Rows of a table with ordered labels.

    Attributes
    ----------
    frame : pandas or polars DataFrame
        The columns to learn from.
    y : ndarray of shape (n,)
        Labels.
    order : Order
        The labels in order.
    encoder : transformer
        Makes numbers of the columns; not fitted.
    weights, groups : ndarray of shape (n,) or None
        Weights of the rows; names of groups whose rows must not be parted.
    target : str
        What the labels are called.
    """

    frame: Any
    y: np.ndarray
    order: Order
    encoder: Any
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    target: str = "the label"

    def __len__(self) -> int:
        return len(self.y)

    @property
    def columns(self) -> list[str]:
        """Names of the columns to learn from."""
        return list(nw.from_native(self.frame, eager_only=True).columns)

    def size(self) -> Size:
        """Rows, columns after encoding, levels."""
        encoded = clone(self.encoder).fit_transform(self.frame, self.y)
        return Size(len(self), encoded.shape[1], self.order.n_levels)

    def rows(self, at: np.ndarray) -> Any:
        """The frame's rows at these places."""
        return nw.from_native(self.frame, eager_only=True)[at.tolist(), :].to_native()

    def fitted(self, solver: Pipeline, at: np.ndarray | None = None) -> Pipeline:
        """`solver`, fitted to these rows (None: all)."""
        at = np.arange(len(self)) if at is None else at
        weights = None if self.weights is None else self.weights[at]
        given = {} if weights is None else {"model__sample_weight": weights}
        return solver.fit(self.rows(at), self.y[at], **given)


def pipeline(entry: Model, problem: Problem, seed: int = 0) -> Pipeline:
    """The model `entry` behind the problem's encoder; not fitted.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from ordinality.levels import resolve
    >>> from ordinality.workbench import Problem, model, pipeline
    >>> y = np.array([1, 2, 3, 3])
    >>> frame = polars.DataFrame({"dose": [1.0, 2.0, 3.0, 4.0]})
    >>> problem = Problem(frame, y, resolve(y), FunctionTransformer())
    >>> [name for name, _ in pipeline(model("gp"), problem).steps]
    ['table', 'model']
    """
    estimator = entry.build(levels=problem.order.levels.tolist(), random_state=seed)
    steps = [("table", clone(problem.encoder)), ("model", estimator)]
    if entry.name == "rounded" and estimator.regressor is not None:
        steps.insert(1, ("scale", StandardScaler()))  # ours scale features themselves
    return Pipeline(steps)


def level_proba(solver: Pipeline, frame: Any) -> np.ndarray:
    """Probabilities of the levels of rows of a table, columns in order of level."""
    proba: np.ndarray = solver[-1].predict_level_proba(solver[:-1].transform(frame))
    return proba


def level_scores(solver: Pipeline, frame: Any) -> np.ndarray:
    """Scores of rows of a table, for models that cut a score into levels."""
    scores: np.ndarray = solver[-1].predict_latent(solver[:-1].transform(frame))
    return scores


def folds(
    problem: Problem, *, n_splits: int | None = None, repeats: int = 1, seed: int = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of a cross-validation, levels spread evenly.

    Rows of one group stay together. Ten folds for at most 500 rows, else five.

    Parameters
    ----------
    problem : Problem
        The rows.
    n_splits : int, optional
        Number of folds.
    repeats : int, default=1
        How often the rows are dealt anew.
    seed : int, default=0
        How they are dealt.

    Returns
    -------
    list of (train, test)
        Index arrays; every row is in the test part once in each repeat.
    """
    n_splits = n_splits or (10 if len(problem) <= 500 else 5)
    if problem.groups is not None:
        n_splits = min(n_splits, len(np.unique(problem.groups)))
    n_splits = min(n_splits, len(problem))
    ranks = problem.order.encode(problem.y)
    dealt = []
    with warnings.catch_warnings():
        # A level with fewer rows than folds is no fault of anybody's.
        warnings.filterwarnings(
            "ignore", message=".*least populated class", category=UserWarning
        )
        for repeat in range(repeats):
            dealer = _dealer(problem, ranks, n_splits, seed + repeat)
            dealt += list(dealer.split(ranks[:, None], ranks, problem.groups))
    return dealt


def _dealer(problem: Problem, ranks: np.ndarray, n_splits: int, seed: int) -> Any:
    rare = np.bincount(ranks).max() < n_splits  # then scikit-learn refuses to stratify
    if problem.groups is not None:
        kind = GroupKFold if rare else StratifiedGroupKFold
        return kind(n_splits, shuffle=True, random_state=seed)
    if rare:
        n_splits = max(2, int(np.bincount(ranks).max()))
    return StratifiedKFold(n_splits, shuffle=True, random_state=seed)


MOST_CASES = 1_000_000  # rows that counts may add up to


class NoOrderError(ValueError):
    """Labels that are text and whose order nobody stated.

    Attributes
    ----------
    labels : list of str
        The labels, in a suggested order if `family` is not empty, else sorted.
    family : str
        What kind of scale they seem to be, empty if they are not recognised.
    """

    def __init__(self, target: str, labels: list[str], family: str) -> None:
        self.target, self.labels, self.family = target, labels, family
        seems = f"they look like {family}" if family else "put them lowest first"
        super().__init__(
            f"{target} is text without a stated order; {seems}: order={labels}, if that is so."
        )


def problem_of(
    table: Any,
    target: str,
    *,
    order: Sequence[Any] | None = None,
    features: Sequence[str] | None = None,
    drop: Iterable[str] = (),
    weights: str | None = None,
    counts: str | None = None,
    group: str | None = None,
    wide: bool = False,
) -> tuple[Problem, tuple[str, ...]]:
    """Read a table as a problem of ordinal regression.

    Parameters
    ----------
    table : str, Path, Table, pandas or polars DataFrame
        A data file, or its rows.
    target : str
        Column of labels.
    order : sequence, optional
        The labels, lowest first. Not needed for numbers and for columns that carry an order.
    features, drop : sequence of str, optional
        Columns to learn from, columns to leave out.
    weights, group : str, optional
        Column of row weights; column of groups that folds must not part.
    counts : str, optional
        Column that says how many cases a row stands for. Each case becomes a row of its own,
        so that folds part cases and not kinds of them.
    wide : bool, default=False
        Whether many more columns than rows are meant.

    Returns
    -------
    problem : Problem
    notes : tuple of str
        What was done with the table, as sentences.
    """
    if weights is not None and counts is not None:
        raise ValueError("state weights or counts, not both: a count is a weight already.")
    known = _table(table)
    task = tables.features_and_target(
        known, target, features, drop, weights=weights or counts, group=group, wide=wide
    )
    ranking = _ranking(task.y, target, task.order if order is None else order)
    problem = Problem(
        task.frame, task.y, ranking, task.encoder, task.weights, task.groups, target
    )
    if counts is None:
        return problem, task.notes
    return _cases(problem, counts), (*task.notes, f"Repeated every row {counts} times.")


def _table(table: Any) -> tables.Table:
    if isinstance(table, tables.Table):
        return table
    if isinstance(table, str | Path):
        return tables.read(table)
    return tables.Table(nw.from_native(table, eager_only=True))


def _cases(problem: Problem, counts: str) -> Problem:
    """A row for every case that a row stands for."""
    times = problem.weights
    assert times is not None  # the column was read as weights
    if np.any(times != np.rint(times)) or times.sum() > MOST_CASES:
        odd = times[times != np.rint(times)]
        found = f"holds {odd[0]:g}" if odd.size else f"adds up to {times.sum():,.0f} cases"
        raise ValueError(
            f"{counts} {found}; counts are whole numbers of at most {MOST_CASES:,} in all. "
            "State other numbers as weights."
        )
    at = np.repeat(np.arange(len(problem)), times.astype(np.int64))
    return replace(
        problem,
        frame=problem.rows(at),
        y=problem.y[at],
        weights=None,
        groups=None if problem.groups is None else problem.groups[at],
    )


def _ranking(y: np.ndarray, target: str, order: Sequence[Any] | None) -> Order:
    ranking = levels.resolve(y, _like_labels(order, y))
    if ranking.guessed:
        labels = ranking.levels.tolist()
        known = tables.suggest(labels)
        if known is None:
            raise NoOrderError(target, labels, "")
        raise NoOrderError(target, list(known.order), known.what)
    return ranking


def _like_labels(order: Sequence[Any] | None, y: np.ndarray) -> Sequence[Any] | None:
    """An order that was typed, as the numbers or truth values that `y` holds."""
    if order is None or y.dtype.kind == "U" or not all(isinstance(one, str) for one in order):
        return order
    try:
        return [json.loads(one.lower()) for one in order]
    except json.JSONDecodeError:
        raise ValueError(
            f"the order lists {', '.join(order)}, but the labels are numbers such as "
            f"{y[0].item()}; list those, lowest first."
        ) from None
