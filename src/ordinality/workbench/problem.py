"""Ordinal regression problems read from tables, their pipelines and their folds.

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
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import levels, tables
from ordinality.estimators.base_ordinal import decided, kappa_rule
from ordinality.levels import Order
from ordinality.tables.scan import lowest

from .labelled import ScannedRows
from .models import MODELS, Model, Size

__all__ = [
    "COMPARED",
    "NoOrderError",
    "Problem",
    "Split",
    "build_pipeline",
    "folds",
    "level_proba",
    "level_scores",
    "problem_of",
    "sample_of",
]

Split = tuple[np.ndarray, np.ndarray]  # indices of the training rows and of the test rows

# Rows on which models are compared, at most. The standard error of a ranked probability score
# is then about 0.002, and no model needs more rows to show whether it suits the table.
COMPARED = 20_000

MAX_CASES = 1_000_000  # rows that counts may add up to


@dataclass(frozen=True)
class Problem:
    """Rows of a table with ordered labels.

    Parameters
    ----------
    frame : pandas or polars DataFrame
        The feature columns.
    y : ndarray of shape (n,)
        Labels.
    order : Order
        The labels in order.
    encoder : transformer
        Turns the columns into numbers; not fitted.
    weights : ndarray of shape (n,), optional
        Weights of the rows.
    groups : ndarray of shape (n,), optional
        Group of each row; a group is never split between folds.
    target : str, default="the label"
        Name of the label column.
    notes : tuple of str, default=()
        What was done with the columns, as sentences.
    source : str, default="the table"
        Where the rows come from.
    whole : Problem or ScannedRows, optional
        All rows of the table, if these are a sample of them.
    decision : str or ndarray of shape (K, K), default="mode"
        Rule by which a level is predicted from the probabilities, as in the estimators.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.workbench import problem_of
    >>> problem = problem_of(polars.DataFrame({"x": [1.0, 2.5, 3.0], "y": [1, 2, 2]}), "y")
    >>> problem.columns, problem.counts
    (['x'], [1, 2])
    """

    frame: Any
    y: np.ndarray
    order: Order
    encoder: Any
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    target: str = "the label"
    notes: tuple[str, ...] = ()
    source: str = "the table"
    whole: Any = None
    decision: Any = "mode"

    def __len__(self) -> int:
        return len(self.y)

    @property
    def columns(self) -> list[str]:
        """Names of the feature columns."""
        return list(nw.from_native(self.frame, eager_only=True).columns)

    @property
    def counts(self) -> list[int]:
        """Number of rows of each level, in order."""
        return np.bincount(self.order.encode(self.y), minlength=self.order.n_levels).tolist()

    def decided(self, proba: np.ndarray) -> np.ndarray:
        """Predict ranks by the rule of the problem.

        Parameters
        ----------
        proba : ndarray of shape (m, K)
            Probabilities of the levels.

        Returns
        -------
        ndarray of shape (m,)
            Ranks; for the largest quadratic kappa, that on these rows.
        """
        kappa = isinstance(self.decision, str) and self.decision == "quadratic_kappa"
        return decided(proba, self.decision, kappa_rule(proba) if kappa else None)

    def size(self) -> Size:
        """Count rows, encoded columns and levels.

        Returns
        -------
        Size
            A named tuple of the three; the estimated cost of a model depends on it.
        """
        encoded = clone(self.encoder).fit_transform(self.frame, self.y)
        return Size(len(self), encoded.shape[1], self.order.n_levels)

    def rows(self, at: np.ndarray) -> Any:
        """Select rows of the frame.

        Parameters
        ----------
        at : ndarray of int
            Indices of the rows.

        Returns
        -------
        pandas or polars DataFrame
            These rows, as in `frame`.
        """
        return nw.from_native(self.frame, eager_only=True)[at.tolist(), :].to_native()

    def fitted(self, pipeline: Pipeline, at: np.ndarray | None = None) -> Pipeline:
        """Fit a pipeline to some rows.

        Parameters
        ----------
        pipeline : Pipeline
            With the steps ``table`` and ``model``; it is fitted in place.
        at : ndarray of int, optional
            Indices of the rows; by default all.

        Returns
        -------
        Pipeline
            The same object.
        """
        at = np.arange(len(self)) if at is None else at
        weights = None if self.weights is None else self.weights[at]
        given = {} if weights is None else {"model__sample_weight": weights}
        return pipeline.fit(self.rows(at), self.y[at], **given)


class NoOrderError(ValueError):
    """The labels are text, and no order was stated.

    Parameters
    ----------
    target : str
        Name of the label column.
    labels : list of str
        The labels, in a suggested order if `family` is not empty, else sorted.
    family : str
        The kind of scale they seem to be; empty if they are not recognised.

    Examples
    --------
    >>> import polars
    >>> from ordinality.workbench import NoOrderError, problem_of
    >>> try:
    ...     problem_of(polars.DataFrame({"x": [1, 2, 3], "y": ["mid", "low", "high"]}), "y")
    ... except NoOrderError as error:
    ...     error.labels
    ['low', 'mid', 'high']
    """

    def __init__(self, target: str, labels: list[str], family: str) -> None:
        self.target, self.labels, self.family = target, labels, family
        advice = (
            f"it looks like {family}; if so, state it: order={labels}"
            if family
            else f"state it in `order`, lowest first; the labels are {', '.join(labels)}"
        )
        super().__init__(f"{target} holds text without a stated order; {advice}.")


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
    decision: Any = "mode",
    seed: int = 0,
) -> Problem:
    """Read a table as a problem of ordinal regression.

    Parameters
    ----------
    table : str, Path, Table, Scan, pandas or polars DataFrame
        A data file, or its rows. Of a file larger than 256 MB or a `Scan`, the problem is a
        random sample of 20,000 rows with some of each level; its `whole` has all of them.
    target : str
        Column of labels.
    order : sequence, optional
        The labels, lowest first. Not needed for numbers and for columns that carry an order.
    features : sequence of str, optional
        Columns to learn from; by default all others.
    drop : iterable of str, default=()
        Columns to leave out.
    weights : str, optional
        Column of row weights.
    counts : str, optional
        Column with the number of cases that a row stands for. Each case becomes a row of its
        own, so that folds split cases and not kinds of cases.
    group : str, optional
        Column of groups that folds must not split.
    wide : bool, default=False
        Accept many more columns than rows.
    decision : str or array-like of shape (K, K), default="mode"
        Rule by which a level is predicted from the probabilities: "mode", "median", "mean",
        "quadratic_kappa" or costs, as in the estimators.
    seed : int, default=0
        Seed of the sample.

    Returns
    -------
    Problem
        The rows; its `notes` say what was done with the columns.

    Examples
    --------
    >>> import polars
    >>> from ordinality.workbench import problem_of
    >>> frame = polars.DataFrame({"dose": [1.0, 2.5, 3.0], "effect": ["low", "high", "high"]})
    >>> problem_of(frame, "effect", order=["low", "high"]).counts
    [1, 2]
    """
    if weights is not None and counts is not None:
        raise ValueError(
            "`weights` and `counts` are both given; give one of them: a count is a weight."
        )
    opened, known = _table(table), None
    if isinstance(opened, tables.Scan):
        if counts is not None:
            raise ValueError(
                f"{opened.source} is too large to repeat its rows as often as {counts} says; "
                "give the column as `weights`."
            )
        known = opened.sample(COMPARED, seed, target=_known(opened, target))
    task = tables.features_and_target(
        known or opened, target, features, drop, weights=weights or counts, group=group,
        wide=wide,
    )  # fmt: skip
    problem = Problem(
        frame=task.frame,
        y=task.y,
        order=_order(task.y, target, task.order if order is None else order),
        encoder=task.encoder,
        weights=task.weights,
        groups=task.groups,
        target=target,
        notes=task.notes,
        source=opened.source,
        decision=decision,
    )
    if known is not None:
        return _of_sample(problem, ScannedRows(opened, target, weights, problem.order))
    return problem if counts is None else _one_row_per_case(problem, counts)


def _known(scan: tables.Scan, target: str) -> str | None:
    """The target, unless there is no such column: that is refused when the sample is read."""
    return target if target in scan.names else None


def _table(table: Any) -> Any:
    if isinstance(table, tables.Table | tables.Scan):
        return table
    if isinstance(table, str | Path):
        return tables.open_table(table)
    return tables.Table(nw.from_native(table, eager_only=True))


def sample_of(problem: Problem, seed: int) -> Problem:
    """A problem of 20,000 of the rows, with some of each level; the same if it is smaller."""
    if len(problem) <= COMPARED:
        return problem
    keys = np.random.default_rng(seed).random(len(problem))
    at = lowest(keys, problem.order.encode(problem.y), COMPARED)
    part = replace(
        problem,
        frame=problem.rows(at),
        y=problem.y[at],
        weights=None if problem.weights is None else problem.weights[at],
        groups=None if problem.groups is None else problem.groups[at],
    )
    return _of_sample(part, problem)


def _of_sample(part: Problem, whole: Any) -> Problem:
    said = (
        f"{len(whole):,} rows have a label; models are compared on a random sample of "
        f"{len(part):,}."
    )
    return replace(part, whole=whole, notes=(*part.notes, said))


def _order(y: np.ndarray, target: str, stated: Sequence[Any] | None) -> Order:
    """The order that was stated or that numbers have; text without one is refused."""
    stated = _like_labels(stated, y)
    if stated is None and y.dtype.kind == "f" and np.any(y % 1):
        raise ValueError(
            f"{target} holds {y[y % 1 != 0][0]:g}, which is not a whole number; cut {target} "
            "into levels first or, if its values are the levels, list them in `order`."
        )
    known = None if stated is None else list(stated)
    extra = next((label for label in y.tolist() if known and label not in known), None)
    if known and extra is not None:
        raise ValueError(
            f"{target} holds {extra!r}, which is not in the order "
            f"{' < '.join(map(str, known))}; add it to `order` at its place, or leave those "
            "rows out."
        )
    order = levels.resolve(y, stated)
    if order.guessed:
        labels = order.levels.tolist()
        scale = tables.suggest(labels)
        if scale is None:
            raise NoOrderError(target, labels, "")
        raise NoOrderError(target, list(scale.order), scale.what)
    return order


def _like_labels(order: Sequence[Any] | None, y: np.ndarray) -> Sequence[Any] | None:
    """An order that was typed as text, as the numbers or truth values that `y` holds."""
    if order is None or y.dtype.kind == "U" or not all(isinstance(one, str) for one in order):
        return order
    try:
        return [json.loads(one.lower()) for one in order]
    except json.JSONDecodeError:
        raise ValueError(
            f"the order lists {', '.join(order)}, but the labels are numbers such as "
            f"{y[0].item()}; list those, lowest first."
        ) from None


def _one_row_per_case(problem: Problem, counts: str) -> Problem:
    times = problem.weights
    assert times is not None  # the column was read as weights
    if np.any(times != np.rint(times)) or times.sum() > MAX_CASES:
        odd = times[times != np.rint(times)]
        found = f"holds {odd[0]:g}" if odd.size else f"adds up to {times.sum():,.0f} cases"
        raise ValueError(
            f"{counts} {found}; counts are whole numbers of at most {MAX_CASES:,} in all. "
            "Give other numbers as `weights`."
        )
    at = np.repeat(np.arange(len(problem)), times.astype(np.int64))
    return replace(
        problem,
        frame=problem.rows(at),
        y=problem.y[at],
        weights=None,
        groups=None if problem.groups is None else problem.groups[at],
        notes=(*problem.notes, f"Repeated each row as often as {counts} says."),
    )


def build_pipeline(entry: Model, problem: Problem, seed: int = 0) -> Pipeline:
    """A model behind the encoder of a problem; not fitted."""
    given: dict[str, Any] = {"levels": problem.order.levels.tolist(), "random_state": seed}
    if entry.name in MODELS:
        given["decision"] = problem.decision
    estimator = entry.build(**given)
    encode = clone if entry.encode is None else entry.encode
    steps = [("table", encode(problem.encoder)), ("model", estimator)]
    if entry.name == "rounded" and estimator.regressor is not None:
        steps.insert(1, ("scale", StandardScaler()))  # ours scale features themselves
    return Pipeline(steps)


def level_proba(pipeline: Pipeline, frame: Any) -> np.ndarray:
    """Probabilities (n, K) of the levels for rows of a table, columns in order of level."""
    proba: np.ndarray = pipeline[-1].predict_level_proba(pipeline[:-1].transform(frame))
    return proba


def level_scores(pipeline: Pipeline, frame: Any) -> np.ndarray:
    """Latent scores (n,) of rows of a table, for models that learn a score and then a link."""
    scores: np.ndarray = pipeline[-1].predict_latent(pipeline[:-1].transform(frame))
    return scores


def folds(
    problem: Problem, *, n_splits: int | None = None, repeats: int = 1, seed: int = 0
) -> list[Split]:
    """Training and test rows of a stratified cross-validation.

    Parameters
    ----------
    problem : Problem
        The rows. Rows of one group stay in one fold.
    n_splits : int, optional
        Number of folds; by default ten for at most 500 rows, else five. Fewer if there are
        fewer groups or fewer rows of every level.
    repeats : int, default=1
        How often the rows are assigned to folds.
    seed : int, default=0
        Seed of the assignment.

    Returns
    -------
    list of (train, test)
        Index arrays; every row is in the test part once in each repeat.

    Examples
    --------
    >>> import polars
    >>> from ordinality.workbench import folds, problem_of
    >>> frame = polars.DataFrame({"x": [1.0, 2.5, 3.0, 3.5], "y": [1, 1, 2, 2]})
    >>> [len(test) for train, test in folds(problem_of(frame, "y"), n_splits=2)]
    [2, 2]
    """
    n_splits = n_splits or (10 if len(problem) <= 500 else 5)
    if problem.groups is not None:
        n_splits = min(n_splits, len(np.unique(problem.groups)))
    n_splits = min(n_splits, len(problem))
    ranks = problem.order.encode(problem.y)
    splits: list[Split] = []
    with warnings.catch_warnings():
        # Rare levels are common in ordinal data: fewer rows than folds is not worth a warning.
        warnings.filterwarnings(
            "ignore", message=".*least populated class", category=UserWarning
        )
        for repeat in range(repeats):
            splitter = _splitter(problem, ranks, n_splits, seed + repeat)
            splits += list(splitter.split(ranks[:, None], ranks, problem.groups))
    return splits


def _splitter(problem: Problem, ranks: np.ndarray, n_splits: int, seed: int) -> Any:
    rare = np.bincount(ranks).max() < n_splits  # then scikit-learn refuses to stratify
    if problem.groups is not None:
        kind = GroupKFold if rare else StratifiedGroupKFold
        return kind(n_splits, shuffle=True, random_state=seed)
    if rare:
        n_splits = max(2, int(np.bincount(ranks).max()))
    return StratifiedKFold(n_splits, shuffle=True, random_state=seed)
