"""Partial dependence and marginal effects: what a fitted model makes of the columns.

Both ask what the model would predict for the same rows if one column were different, and
average over the rows. They describe the model, not what causes what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from .model_inputs import column, level_proba, partial_dependence, with_column

__all__ = ["Effect", "effects"]

MAX_ROWS = 300  # the standard error of an average of probabilities is then at most 0.03
MAX_VALUES = 8  # a number with at most so many distinct values is shown at each of them
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # at which other numbers are shown


@dataclass(frozen=True)
class Effect:
    """Predictions with one column set to each of several values.

    Parameters
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
        The low and the high value, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.inspect import Effect
    >>> proba = np.array([[0.7, 0.3], [0.25, 0.75]])
    >>> effect = Effect("temp", ("cold", "warm"), proba, proba[1] - proba[0], ("cold", "warm"))
    >>> round(effect.strength, 2)
    0.45
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

    def as_dict(self) -> dict[str, Any]:
        """Convert to values that JSON can hold, rounded to four decimals.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        return {
            "column": self.column,
            "values": list(self.values),
            "above": self.above.round(4).tolist(),
            "change": self.change.round(4).tolist(),
            "between": list(self.between),
        }

    @classmethod
    def from_dict(cls, known: dict[str, Any]) -> Effect:
        """Read back what `as_dict` gave.

        Parameters
        ----------
        known : dict
            From `as_dict`.

        Returns
        -------
        Effect
            The same up to rounding.
        """
        above = np.array(known["above"])
        edge = np.ones((len(above), 1))
        reached = np.hstack([edge, above, 0 * edge])  # probability of this level or higher
        return cls(
            known["column"],
            tuple(known["values"]),
            reached[:, :-1] - reached[:, 1:],
            np.array(known["change"]),
            (known["between"][0], known["between"][1]),
        )


def effects(
    pipeline: Any,
    frame: Any,
    columns: Iterable[str] | None = None,
    *,
    seed: int = 0,
    progress: Callable[[str, float], Any] = lambda what, share: None,
) -> list[Effect]:
    """Partial dependence and marginal effect of columns.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted; its last step is an ordinal model.
    frame : pandas or polars DataFrame
        Rows to average over; of more than 300, a random sample of 300 is used.
    columns : iterable of str, optional
        Which columns; by default all.
    seed : int, default=0
        Seed of the sample.
    progress : callable, optional
        Called as ``progress(column, share)`` before every column, with the share of the work
        that is done.

    Returns
    -------
    list of Effect
        The strongest first.

    Examples
    --------
    >>> import numpy as np, polars
    >>> from ordinality.inspect import effects
    >>> from ordinality.workbench import study
    >>> dose = np.linspace(0, 4, 40)
    >>> frame = polars.DataFrame({"dose": dose, "effect": np.digitize(dose, [1.5, 2.8])})
    >>> found = study(frame, "effect", model="linear")
    >>> [effect.column for effect in effects(found.pipeline, frame, ["dose"])]
    ['dose']
    """
    table = nw.from_native(frame, eager_only=True)
    if len(table) > MAX_ROWS:
        drawn = np.random.default_rng(seed).choice(len(table), MAX_ROWS, replace=False)
        rows = table[np.sort(drawn).tolist(), :]
    else:
        rows = table
    chosen = table.columns if columns is None else list(columns)
    found: list[Effect] = []
    for name in chosen:
        progress(name, len(found) / len(chosen))
        of = _of_number if table[name].dtype.is_numeric() else _of_category
        found.append(of(pipeline, rows.to_native(), table.columns.index(name), table[name]))
    return sorted(found, key=lambda effect: -effect.strength)


def _of_number(pipeline: Any, rows: Any, j: int, series: Any) -> Effect:
    """The effect of column j, whose values are those of the series."""
    known = series.cast(nw.Float64).to_numpy()
    known = known[np.isfinite(known)]
    distinct = np.unique(known)
    few = len(distinct) <= MAX_VALUES
    values = distinct if few else np.unique(np.quantile(known, QUANTILES))
    proba = partial_dependence(pipeline, rows, j, values.tolist())
    own = column(rows, j).astype(np.float64)
    step = float(known.std()) / 2
    lower, upper = (
        level_proba(pipeline, with_column(rows, j, (own + sign * step).tolist())).mean(axis=0)
        for sign in (-1, 1)
    )
    between = ("half a standard deviation below", "half a standard deviation above")
    return Effect(series.name, tuple(values.tolist()), proba, upper - lower, between)


def _of_category(pipeline: Any, rows: Any, j: int, series: Any) -> Effect:
    """The effect of column j, whose values are those of the series."""
    counts = series.drop_nulls().value_counts(sort=True)
    values = sorted(counts[series.name].to_list()[:MAX_VALUES])
    proba = partial_dependence(pipeline, rows, j, values)
    expected = proba @ np.arange(proba.shape[1])
    low, high = int(expected.argmin()), int(expected.argmax())
    between = (str(values[low]), str(values[high]))
    return Effect(series.name, tuple(values), proba, proba[high] - proba[low], between)
