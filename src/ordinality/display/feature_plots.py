"""Displays of a model along its features: level probabilities, and the latent function.

The probabilities are a partial dependence on one feature, as stacked bands; the latent function
is drawn with its thresholds, along one feature or over two.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, Self

import numpy as np

from ordinality.inspect.model_inputs import (
    column,
    column_number,
    final,
    levels_of,
    names_in,
    partial_dependence,
    repeated,
    row,
    thinned,
    transformed,
    typical,
)
from ordinality.levels import Order

from .palette import (
    BLACK,
    GOOD,
    MARKERS,
    Display,
    axes,
    level_legend,
    name_ticks,
    plain,
    shades,
    tidy,
)

__all__ = ["LatentDisplay", "LevelProbabilityDisplay"]

ROWS = 200  # to average over: more change an average of probabilities by a pixel or two
_BAND = 1.96  # standard deviations of a band that holds 95 % of a normal


# ---------------------------------------------------------------- level probabilities


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


# ---------------------------------------------------------------- latent function


class LatentDisplay(Display):
    """Latent function with thresholds, as in the papers' figures of one and two features.

    Along one feature: mean, a band that holds 95 %, thresholds as lines with the levels' names
    between them, and each row of the data as a tick in the lane of its level. Over two: the
    regions in which the mean lies between two thresholds (the median level), their borders,
    and the rows, marked by level. Ensembles and support vector machines have a score in place
    of the latent function, and no band.

    Parameters
    ----------
    grid : list of one or two ndarray
        Values of each feature, shapes (g,) and (h,).
    mean : ndarray of shape (g,) or (h, g)
        Latent mean, rows along the second feature.
    thresholds : ndarray of shape (K - 1,)
        Thresholds between the levels, increasing.
    levels : sequence of length K
        Labels in order, lowest first.
    std : ndarray of shape (g,) or (h, g), default=None
        Standard deviation of the latent function.
    feature_names : sequence of str, default=("feature 1", "feature 2")
        Labels of the axes.
    data : ndarray of shape (n, 1) or (n, 2), default=None
        Where the rows lie.
    ranks : ndarray of shape (n,), default=None
        Their levels, as numbers from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalGP
    >>> from ordinality.display import LatentDisplay
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.digitize(np.sin(X[:, 0]), [-0.4, 0.4])
    >>> display = LatentDisplay.from_estimator(OrdinalGP().fit(X, y), X, y)
    >>> display.ax_.get_ylabel()
    'latent function'
    """

    def __init__(
        self,
        grid: Sequence[np.ndarray],
        mean: np.ndarray,
        thresholds: np.ndarray,
        levels: Sequence[Any],
        *,
        std: np.ndarray | None = None,
        feature_names: Sequence[str] = ("feature 1", "feature 2"),
        data: np.ndarray | None = None,
        ranks: np.ndarray | None = None,
    ) -> None:
        self.grid = [np.asarray(values) for values in grid]
        self.mean = np.asarray(mean)
        self.thresholds = np.asarray(thresholds)
        self.levels = list(levels)
        self.std = std
        self.feature_names = list(feature_names)
        self.data = data
        self.ranks = ranks

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[int | str] | int | str | None = None,
        grid_resolution: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the latent function of a fitted model along one feature, or over two.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted; with ``predict_latent``.
        X : array-like or frame of shape (n, d)
            Rows to take the range of the features from.
        y : array-like of shape (n,), default=None
            Their labels, to be drawn with them.
        features : one or two int or str, default=None
            Places (from 0) or names of numerical columns; None is all, of one or two. Other
            columns are held at their median or commonest value.
        grid_resolution : int, default=None
            Number of values of each feature: 200 of one, 50 of two.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        LatentDisplay
        """
        names = names_in(estimator, X)
        chosen = _chosen(names, features)
        data = np.column_stack([_numbers(column(X, j), names[j]) for j in chosen])
        resolution = grid_resolution or (200 if len(chosen) == 1 else 50)
        grid = [_span(values, resolution) for values in data.T]
        mesh = np.meshgrid(*grid)
        settings = {j: values.ravel().tolist() for j, values in zip(chosen, mesh, strict=True)}
        mean, std = _latent(estimator, repeated(typical(X), settings))
        shape = mesh[0].shape
        model = final(estimator)
        levels = levels_of(estimator)
        order = Order(np.asarray(model.levels_), "stated")
        return cls(
            grid,
            mean.reshape(shape),
            model.thresholds_,
            levels,
            std=None if std is None else std.reshape(shape),
            feature_names=[names[j] for j in chosen],
            data=data,
            ranks=None if y is None else order.encode(y),
        ).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether the levels are listed beside a plot of two features.

        Returns
        -------
        LatentDisplay
            The display itself.
        """
        ax = axes(ax, 6.0, 4.2)
        if len(self.grid) == 1:
            self._line(ax)
        else:
            self._map(ax, legend)
        tidy(ax)
        return self._drawn(ax)

    # ------------------------------------------------------------ one feature

    def _line(self, ax: Any) -> None:
        x = self.grid[0]
        low, high = self.mean.min(), self.mean.max()
        if self.std is not None:
            lower, upper = self.mean - _BAND * self.std, self.mean + _BAND * self.std
            ax.fill_between(x, lower, upper, color="0.87", lw=0)
            low, high = lower.min(), upper.max()
        for threshold in self.thresholds:
            ax.axhline(threshold, color=GOOD, lw=1, ls="--")
        ax.plot(x, self.mean, color=BLACK, lw=1.8)
        edges = [low, *self.thresholds, high]
        pad = 0.05 * (max(edges) - min(edges))
        low, high = min(edges) - pad, max(edges) + pad
        ax.set(xlim=(x.min(), x.max()), xlabel=plain(self.feature_names[0], 60))
        ax.set_ylabel("score" if self.std is None else "latent function")
        self._name_levels(ax, low, high)
        ax.set_ylim(self._rug(ax, low, high), high)
        ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])

    def _name_levels(self, ax: Any, low: float, high: float) -> None:
        """Names of the levels at the right, each in the middle of its interval."""
        edges = np.clip([low, *self.thresholds, high], low, high)
        line = 0.045 * (high - low)  # the height of a name; nearer ones would overlap
        last = -np.inf
        for name, middle in zip(self.levels, (edges[:-1] + edges[1:]) / 2, strict=True):
            if middle - last >= line:
                beside = {"transform": ax.get_yaxis_transform(), "va": "center"}
                ax.text(1.01, middle, plain(name, 20), size="small", **beside)
                last = middle

    def _rug(self, ax: Any, low: float, high: float) -> float:
        """Rows as ticks below the plot, a lane for each level; returns the lower limit."""
        if self.ranks is None or self.data is None:
            return low
        lane = min(0.05, 0.3 / len(self.levels)) * (high - low)
        for rank, colour in enumerate(shades(len(self.levels))):
            at = self.data[self.ranks == rank, 0]
            # The highest level has the highest lane, as in the plot above.
            below = low - lane * (len(self.levels) - rank)
            ax.vlines(at, below + 0.1 * lane, below + 0.9 * lane, color=colour, lw=1.4)
        ax.axhline(low, color="0.8", lw=0.8)
        return float(low - lane * (len(self.levels) + 0.3))

    # ------------------------------------------------------------ two features

    def _map(self, ax: Any, legend: bool) -> None:
        colours = shades(len(self.levels))
        pale = [tuple(1 - 0.6 * (1 - part) for part in colour) for colour in colours]
        low, high = self.mean.min(), self.mean.max()
        lowest = int(np.searchsorted(self.thresholds, low))
        crossed = self.thresholds[(self.thresholds > low) & (self.thresholds < high)]
        fills = pale[lowest : lowest + len(crossed) + 1]
        edges = [low - 1, *crossed, high + 1]
        ax.contourf(*self.grid, self.mean, levels=edges, colors=fills)
        if len(crossed):
            look = {"colors": BLACK, "linewidths": 1, "linestyles": "solid"}
            ax.contour(*self.grid, self.mean, levels=crossed, **look)
        handles = self._points(ax, colours) or self._patches(pale)
        x, y = self.grid
        ax.set(xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
        ax.set_xlabel(plain(self.feature_names[0], 60))
        ax.set_ylabel(plain(self.feature_names[1], 60))
        if legend:
            level_legend(ax, handles, self.levels)

    def _points(self, ax: Any, colours: list[Any]) -> list[Any]:
        """The rows, marked by level."""
        if self.ranks is None or self.data is None:
            return []
        handles: list[Any] = []
        for rank, (colour, marker) in enumerate(zip(colours, cycle(MARKERS), strict=False)):
            look = {"color": colour, "marker": marker, "ls": "none", "ms": 6, "mec": "black"}
            handles += ax.plot(*self.data[self.ranks == rank].T, mew=0.7, **look)
        return handles

    def _patches(self, colours: list[Any]) -> list[Any]:
        from matplotlib.patches import Patch

        return [Patch(facecolor=colour, edgecolor="0.6") for colour in colours]


def _chosen(names: Sequence[str], features: Any) -> list[int]:
    if features is None:
        features = range(len(names))
    elif isinstance(features, int | str):
        features = [features]
    chosen = [column_number(names, feature) for feature in features]
    if len(chosen) not in (1, 2) or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"LatentDisplay draws one or two different features, and there are {len(chosen)}; "
            "name them with features=[...]."
        )
    return chosen


def _numbers(cells: np.ndarray, name: str) -> np.ndarray:
    if cells.dtype != np.float64:
        raise ValueError(
            f"{name!r} holds text, and a latent function is drawn along numbers; "
            "LevelProbabilityDisplay draws categories."
        )
    return cells


def _span(values: np.ndarray, resolution: int) -> np.ndarray:
    low, high = np.nanmin(values), np.nanmax(values)
    pad = 0.05 * (high - low) or 0.5
    return np.linspace(low - pad, high + pad, resolution)


def _latent(estimator: Any, rows: Any) -> tuple[np.ndarray, np.ndarray | None]:
    model, X = final(estimator), transformed(estimator, rows)
    if not (hasattr(model, "predict_latent") and hasattr(model, "thresholds_")):
        raise TypeError(
            f"{type(model).__name__} has no latent function; LatentDisplay takes a Gaussian "
            "process, an ensemble or a support vector machine for ordered labels."
        )
    latent = model.predict_latent(X)
    if isinstance(latent, tuple):
        return latent[0], np.sqrt(latent[1])
    return latent, None
