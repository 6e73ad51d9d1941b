"""Partial dependence of the level probabilities on a feature, as stacked bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .model_inputs import (
    column,
    column_number,
    levels_of,
    names_in,
    partial_dependence,
    row,
    thinned,
    typical,
)
from .palette import Display, axes, level_legend, name_ticks, plain, shades, tidy

__all__ = ["LevelProbabilityDisplay"]

ROWS = 200  # to average over: more change an average of probabilities by a pixel or two


class LevelProbabilityDisplay(Display):
    """Predicted distribution of the levels along one feature.

    Parameters
    ----------
    values : array-like of shape (g,)
        Values of the feature: numbers, or names of categories.
    proba : ndarray of shape (g, K)
        Probability of each level there, columns in order of level.
    levels : sequence of length K
        Labels in order, lowest first.
    feature_name : str, default="feature"
        Label of the axis.
    deciles : array-like, default=None
        Deciles of the data, drawn as ticks; beyond them a model has little data.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalGP
    >>> from ordinality.display import LevelProbabilityDisplay
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.digitize(X[:, 0], [2, 4])
    >>> display = LevelProbabilityDisplay.from_estimator(OrdinalGP().fit(X, y), X, 0)
    >>> display.proba.shape, display.ax_.get_ylabel()
    ((60, 3), 'probability')
    """

    def __init__(
        self,
        values: Any,
        proba: np.ndarray,
        levels: Sequence[Any],
        *,
        feature_name: str = "feature",
        deciles: Any = None,
    ) -> None:
        self.values = np.asarray(values)
        self.proba = np.asarray(proba, dtype=np.float64)
        self.levels = list(levels)
        self.feature_name = feature_name
        self.deciles = deciles
        shape = (len(self.values), len(self.levels))
        if self.proba.shape != shape:
            raise ValueError(
                f"proba has shape {self.proba.shape}; {shape[0]} values of {shape[1]} levels "
                f"need {shape}."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        feature: int | str,
        *,
        others: str | int = "average",
        grid_resolution: int = 60,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the probabilities of a fitted model, with one feature set to each value.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, with probabilities.
        X : array-like or frame of shape (n, d)
            Rows to average over, and to take the range of the feature from.
        feature : int or str
            Place (from 0) or name of a column of `X`.
        others : "average", "typical" or int, default="average"
            The other columns: as in each row, averaged over rows (partial dependence; of many
            rows, 200); those of one typical row (medians, commonest categories); or those of
            the row of that number.
        grid_resolution : int, default=60
            Number of values of a numerical feature; a feature of two values is shown at these.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        LevelProbabilityDisplay
        """
        names = names_in(estimator, X)
        j = column_number(names, feature)
        cells = column(X, j)
        values = _grid(cells, grid_resolution)
        proba = partial_dependence(estimator, _rows(X, others), j, values.tolist())
        deciles = None
        if cells.dtype == np.float64 and len(values) > 2:
            deciles = np.nanquantile(cells, np.linspace(0.1, 0.9, 9))
        elif cells.dtype == np.float64:  # yes or no: there is nothing in between
            values = np.array([f"{value:g}" for value in values], dtype=object)
        levels = levels_of(estimator)
        display = cls(values, proba, levels, feature_name=names[j], deciles=deciles)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        values: Any,
        proba: Any,
        levels: Sequence[Any],
        *,
        feature_name: str = "feature",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw probabilities that were computed elsewhere; numbers are sorted first.

        Parameters
        ----------
        values : array-like of shape (g,)
            Values of the feature: numbers, or names of categories.
        proba : array-like of shape (g, K)
            Probability of each level there, columns in order of level.
        levels : sequence of length K
            Labels in order, lowest first.
        feature_name : str, default="feature"
            Label of the axis.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        LevelProbabilityDisplay
        """
        values, proba = np.asarray(values), np.asarray(proba)
        if values.dtype.kind in "iuf":
            order = np.argsort(values, kind="stable")
            values, proba = values[order], proba[order]
        return cls(values, proba, levels, feature_name=feature_name).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether the levels are listed beside the axes.

        Returns
        -------
        LevelProbabilityDisplay
            The display itself.
        """
        ax = axes(ax)
        handles = self._bands(ax) if self.values.dtype.kind in "iuf" else self._bars(ax)
        tidy(ax)
        ax.set(ylim=(0, 1), xlabel=plain(self.feature_name, 60), ylabel="probability")
        if legend:
            level_legend(ax, handles, self.levels)
        return self._drawn(ax)

    def _bands(self, ax: Any) -> list[Any]:
        colours = shades(len(self.levels))
        # White edges: neighbours of many levels have similar colours.
        handles = ax.stackplot(
            self.values, self.proba.T, colors=colours, edgecolor="white", linewidth=0.6
        )
        if self.deciles is not None:
            marks = ax.plot(
                self.deciles, np.zeros(len(self.deciles)), "|", color="black", ms=9, mew=1.2
            )
            marks[0].set_clip_on(False)
        ax.set_xlim(self.values.min(), self.values.max())
        return list(handles)

    def _bars(self, ax: Any) -> list[Any]:
        places, floor, handles = np.arange(len(self.values)), np.zeros(len(self.values)), []
        for share, colour in zip(self.proba.T, shades(len(self.levels)), strict=True):
            bars = ax.bar(places, share, 0.8, floor, color=colour, edgecolor="white", lw=0.6)
            handles.append(bars)
            floor = floor + share
        name_ticks(ax, [plain(value) for value in self.values])
        return handles


def _grid(cells: np.ndarray, resolution: int) -> np.ndarray:
    if cells.dtype == np.float64:
        known = cells[np.isfinite(cells)]
        if not len(known):
            raise ValueError("the feature has no finite value; choose another feature.")
        low, high = known.min(), known.max()
        if len(distinct := np.unique(known)) == 2:
            return distinct
        pad = 0.5 if low == high else 0.0  # a constant needs some width to be drawn
        return np.linspace(low - pad, high + pad, resolution)
    known = sorted({str(cell) for cell in cells if cell is not None and cell == cell})
    return np.array(known, dtype=object)


def _rows(X: Any, others: str | int) -> Any:
    if others == "average":
        return thinned(X, ROWS)
    if others == "typical":
        return typical(X)
    if isinstance(others, str):
        raise ValueError(
            f"others={others!r} is not known; choose 'average', 'typical' or a row's number."
        )
    return row(X, others)
