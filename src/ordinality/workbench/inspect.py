"""What a fitted model makes of the columns: partial dependence and marginal effects.

Both ask what the model would say of the same people, wines or houses if one column were
different, and average over the rows. They describe the model, not what causes what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from .problem import level_proba

__all__ = ["Effect", "effects"]


ROWS = 300  # enough for averages of probabilities: their standard error is at most 0.03


MANY_VALUES = 8  # a number with fewer distinct values is shown at each of them


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Effect:
    """What the model says when one column is set to each of several values.

    Attributes
    ----------
    column : str
        The column.
    values : tuple
        What it was set to: quantiles of a number, the categories of text.
    proba : ndarray of shape (len(values), K)
        Average probability of every level, columns in order of level.
    change : ndarray of shape (K,)
        Change of the levels' probabilities from a low to a high value: of a number, one
        standard deviation about each row's own value; of text, from the category with the
        lowest expected level to that with the highest.
    between : tuple of two str
        What was changed, in words.
    """

    column: str
    values: tuple[Any, ...]
    proba: np.ndarray
    change: np.ndarray
    between: tuple[str, str]

    @property
    def above(self) -> np.ndarray:
        """Probability of a level above each threshold, (len(values), K - 1)."""
        return np.asarray(1.0 - np.cumsum(self.proba, axis=1)[:, :-1])

    @property
    def strength(self) -> float:
        """Half the sum of absolute changes: the probability that moves."""
        return float(0.5 * np.abs(self.change).sum())


def effects(
    solver: Any,
    frame: Any,
    columns: Iterable[str] | None = None,
    *,
    seed: int = 0,
    tick: Callable[[str, float], Any] = lambda what, share: None,
) -> list[Effect]:
    """Partial dependence and marginal effect of columns.

    Parameters
    ----------
    solver : Pipeline
        Fitted; its last step is an ordinal model.
    frame : pandas or polars DataFrame
        Rows to average over; of many, 300 are drawn.
    columns : iterable of str, optional
        Which columns; by default all.
    seed : int, default=0
        Which rows are drawn.
    tick : callable, optional
        Called as ``tick(column, share)`` before every column, with the share that is done.

    Returns
    -------
    list of Effect
        The strongest first.
    """
    table = nw.from_native(frame, eager_only=True)
    if len(table) > ROWS:
        drawn = np.random.default_rng(seed).choice(len(table), ROWS, replace=False)
        rows = table[np.sort(drawn).tolist(), :]
    else:
        rows = table
    chosen = table.columns if columns is None else list(columns)
    found: list[Effect] = []
    for name in chosen:
        tick(name, len(found) / len(chosen))
        of = _of_number if table[name].dtype.is_numeric() else _of_category
        found.append(of(solver, rows, table[name]))
    return sorted(found, key=lambda effect: -effect.strength)


def _of_number(solver: Any, rows: Any, series: Any) -> Effect:
    known = series.cast(nw.Float64).to_numpy()
    known = known[np.isfinite(known)]
    distinct = np.unique(known)
    few = len(distinct) <= MANY_VALUES
    values = distinct if few else np.unique(np.quantile(known, QUANTILES))
    proba = _at_each(solver, rows, series, values.tolist())
    own = rows[series.name].cast(nw.Float64).to_numpy()
    step = float(known.std()) / 2
    lower, upper = (
        level_proba(solver, _with(rows, series, (own + sign * step).tolist())).mean(axis=0)
        for sign in (-1, 1)
    )
    between = ("half a standard deviation below", "half a standard deviation above")
    return Effect(series.name, tuple(values.tolist()), proba, upper - lower, between)


def _of_category(solver: Any, rows: Any, series: Any) -> Effect:
    counts = series.drop_nulls().value_counts(sort=True)
    values = sorted(counts[series.name].to_list()[:MANY_VALUES])
    proba = _at_each(solver, rows, series, values)
    expected = proba @ np.arange(proba.shape[1])
    low, high = int(expected.argmin()), int(expected.argmax())
    between = (str(values[low]), str(values[high]))
    return Effect(series.name, tuple(values), proba, proba[high] - proba[low], between)


def _at_each(solver: Any, rows: Any, series: Any, values: list[Any]) -> np.ndarray:
    return np.array(
        [
            level_proba(solver, _with(rows, series, [value] * len(rows))).mean(axis=0)
            for value in values
        ]
    )


def _with(rows: Any, series: Any, cells: list[Any]) -> Any:
    """`rows` with one column replaced, its type kept where that loses nothing."""
    fresh = nw.new_series(
        series.name,
        cells,
        nw.Float64 if series.dtype.is_numeric() else series.dtype,
        backend=nw.get_native_namespace(rows),
    )
    return rows.with_columns(fresh).to_native()
