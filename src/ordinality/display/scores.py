"""Evaluation of predictions: confusion matrix, reliability curves, score decomposition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ordinality.inspect.model_inputs import final, level_proba, levels_of
from ordinality.levels import order_of
from ordinality.metrics import (
    Reliability,
    ScoreDecomposition,
    reliability,
    score_decomposition,
)

from .palette import (
    BAD,
    GOOD,
    NEUTRAL,
    Display,
    axes,
    level_legend,
    name_ticks,
    plain,
    strokes,
    tidy,
)

__all__ = ["OrdinalConfusionDisplay", "ReliabilityDisplay", "ScoreDecompositionDisplay"]


class OrdinalConfusionDisplay(Display):
    """Confusion matrix of ordered levels: counts, and shares of each true level.

    Hits are blue, darker with their share of the row. Misses are orange, darker with what they
    add to the row's mean absolute error: share times distance in levels.

    Parameters
    ----------
    confusion : ndarray of shape (K, K)
        Rows are true levels, columns predicted ones.
    levels : sequence of length K
        Labels in order, lowest first.

    Examples
    --------
    >>> from ordinality.display import OrdinalConfusionDisplay
    >>> display = OrdinalConfusionDisplay.from_predictions([1, 1, 2, 3], [1, 2, 2, 1])
    >>> display.confusion
    array([[1, 1, 0],
           [0, 1, 0],
           [1, 0, 0]])
    """

    def __init__(self, confusion: Any, levels: Sequence[Any]) -> None:
        self.confusion = np.asarray(confusion)
        self.levels = list(levels)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Evaluate a fitted model.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted.
        X : array-like or frame of shape (n, d)
            Rows; of the test set, unless overfitting is to be shown.
        y : array-like of shape (n,)
            Labels.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        OrdinalConfusionDisplay
        """
        final(estimator)
        levels = levels_of(estimator)
        return cls.from_predictions(y, estimator.predict(X), levels=levels, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, levels: Any = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Evaluate predicted labels.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels.
        y_pred : array-like of shape (n,)
            Predicted labels.
        levels : sequence of length K, default=None
            Labels in order, lowest first; None takes the sorted labels.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        OrdinalConfusionDisplay
        """
        order = order_of(y_true, y_pred, levels=levels)
        K = order.n_levels
        confusion = np.zeros((K, K), dtype=np.int64)
        np.add.at(confusion, (order.encode(y_true), order.encode(y_pred)), 1)
        return cls(confusion, order.levels.tolist()).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, shares: bool = True) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        shares : bool, default=True
            Whether the share of the row is written below each count.

        Returns
        -------
        OrdinalConfusionDisplay
            The display itself.
        """
        K = len(self.levels)
        ax = axes(ax, 2.2 + 0.62 * max(K, 3), 1.6 + 0.55 * max(K, 3))
        share = self.confusion / np.maximum(self.confusion.sum(axis=1, keepdims=True), 1)
        colours = _cell_colours(share)
        ax.imshow(colours, aspect="auto")
        self._write_cells(ax, share, colours, shares and K <= 8)
        names = [plain(level, 18) for level in self.levels]
        name_ticks(ax, names, room=9 * K)
        ax.set_yticks(np.arange(K), names)
        ax.set_xticks(np.arange(K + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(K + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", lw=1.5)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
        ax.set(xlabel="predicted level", ylabel="true level")
        return self._drawn(ax)

    def _write_cells(self, ax: Any, share: np.ndarray, colours: np.ndarray, both: bool) -> None:
        light = colours @ [0.30, 0.59, 0.11]
        size = 9.5 if len(self.levels) <= 8 else 8.0
        for i, j in np.ndindex(*share.shape):
            count = self.confusion[i, j]
            if not count:
                continue  # an empty cell reads better than a zero
            ink = "black" if light[i, j] > 0.55 else "white"
            look = {"ha": "center", "va": "center", "color": ink}
            ax.text(j, i - 0.13 * both, str(count), size=size, **look)
            if both:
                ax.text(j, i + 0.22, f"{100 * share[i, j]:.0f} %", size=0.72 * size, **look)


def _cell_colours(share: np.ndarray) -> np.ndarray:
    """Blue on the diagonal by share, orange elsewhere by share times distance; (K, K, 3)."""
    from matplotlib.colors import to_rgb

    K = len(share)
    away = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    hit = away == 0
    # A row that always misses by one, or one time in four by four, is the darkest.
    depth = np.where(hit, share, np.clip(share * away, 0.0, 1.0))
    ink = np.where(hit[..., None], to_rgb(GOOD), to_rgb(BAD))
    return 1.0 - depth[..., None] * (1.0 - ink)


class _ProbabilityDisplay(Display):
    """Base of the displays that evaluate predicted probabilities."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a fitted model.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, with probabilities.
        X : array-like or frame of shape (n, d)
            Rows; of the test set, unless overfitting is to be shown.
        y : array-like of shape (n,)
            Labels.
        n_bins : int, default=None
            Bins of equal width. None is ten for a score decomposition, and for reliability
            curves one for every twenty rows, from three to ten.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        display
            Drawn.
        """
        proba, levels = level_proba(estimator, X), levels_of(estimator)
        return cls.from_predictions(y, proba, levels=levels, n_bins=n_bins, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        levels: Any = None,
        n_bins: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels.
        proba : array-like of shape (n, K)
            Probabilities, columns in order of level.
        levels : sequence of length K, default=None
            Labels in order, lowest first; None takes the sorted labels.
        n_bins : int, default=None
            As for `from_estimator`.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        display
            Drawn.
        """
        return cls._computed(y_true, proba, levels, n_bins).plot(ax, **kwargs)

    @classmethod
    @abstractmethod
    def _computed(cls, y_true: Any, proba: Any, levels: Any, n_bins: int | None) -> Self:
        """The display of these predictions, not drawn."""


class ReliabilityDisplay(_ProbabilityDisplay):
    """Reliability curves: observed frequency against predicted probability.

    There is one curve for each threshold, of the event that the label is above it. Calibrated
    probabilities lie on the diagonal. The size of a marker shows the number of rows in its bin.

    Parameters
    ----------
    curves : list of Reliability
        From `ordinality.metrics.reliability`.

    Examples
    --------
    >>> from ordinality.display import ReliabilityDisplay
    >>> proba = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.6, 0.3, 0.1]]
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 2, 1], proba, n_bins=5)
    >>> len(display.curves)
    2
    """

    def __init__(self, curves: Sequence[Reliability]) -> None:
        self.curves = list(curves)

    @classmethod
    def _computed(cls, y_true: Any, proba: Any, levels: Any, n_bins: int | None) -> Self:
        bins = min(max(len(y_true) // 20, 3), 10) if n_bins is None else n_bins
        return cls(reliability(y_true, proba, levels=levels, n_bins=bins))

    def plot(self, ax: Any = None, *, legend: bool = True, max_curves: int = 5) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        legend : bool, default=True
            Whether the thresholds are listed beside the axes.
        max_curves : int, default=5
            Thresholds at most; of more, evenly spaced ones are drawn.

        Returns
        -------
        ReliabilityDisplay
            The display itself.
        """
        ax = axes(ax, 5.6, 4.2)
        shown = np.linspace(0, len(self.curves) - 1, min(max_curves, len(self.curves)))
        curves = [self.curves[k] for k in shown.round().astype(int)]
        ax.plot([0, 1], [0, 1], color=NEUTRAL, lw=1, ls=":", zorder=1)
        most = max(float(curve.count.max()) for curve in curves)
        handles = []
        for curve, look in zip(curves, strokes(len(curves)), strict=True):
            line = {**look, "marker": None}
            ax.plot(curve.predicted, curve.observed, lw=1.5, **line)
            ax.scatter(
                curve.predicted, curve.observed, 12 + 60 * curve.count / most,
                color=look["color"], marker=look["marker"], edgecolor="white", lw=0.6, zorder=3,
            )  # fmt: skip
            handles.extend(ax.plot([], [], lw=1.5, ms=5, **look))
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set(xlabel="predicted probability", ylabel="observed frequency")
        tidy(ax, grid="both")
        if legend:
            level_legend(ax, handles, [f"above {c.level}" for c in curves], "the label is")
        return self._drawn(ax)


class ScoreDecompositionDisplay(_ProbabilityDisplay):
    """Decomposition of the ranked probability score, threshold by threshold.

    Reliability is the loss from probabilities that are not calibrated; uncertainty is the score
    of the overall frequency; resolution is the gain from predicting different rows differently.
    The score is reliability - resolution + uncertainty.

    Parameters
    ----------
    parts : ScoreDecomposition
        From `ordinality.metrics.score_decomposition`.

    Examples
    --------
    >>> from ordinality.display import ScoreDecompositionDisplay
    >>> proba = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.6, 0.3, 0.1]]
    >>> display = ScoreDecompositionDisplay.from_predictions([0, 1, 2, 1], proba)
    >>> round(float(display.parts.score.sum()), 4)
    0.1925
    """

    def __init__(self, parts: ScoreDecomposition) -> None:
        self.parts = parts

    @classmethod
    def _computed(cls, y_true: Any, proba: Any, levels: Any, n_bins: int | None) -> Self:
        bins = 10 if n_bins is None else n_bins
        return cls(score_decomposition(y_true, proba, bins, levels=levels))

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ScoreDecompositionDisplay
            The display itself.
        """
        parts = self.parts
        n = len(parts.level)
        ax = axes(ax, max(5.6, 3.4 + 0.6 * n), 3.6)
        looks = {
            "uncertainty": (NEUTRAL, ""),
            "resolution\n(the more, the better)": (GOOD, "//"),
            "reliability\n(the less, the better)": (BAD, "xx"),
        }
        values = (parts.uncertainty, parts.resolution, parts.reliability)
        for i, ((name, (colour, hatch)), heights) in enumerate(
            zip(looks.items(), values, strict=True)
        ):
            ax.bar(
                np.arange(n) + 0.25 * (i - 1), heights, 0.25, label=name,
                color=colour, hatch=hatch, edgecolor="white", lw=0.5,
            )  # fmt: skip
        ax.plot(np.arange(n), parts.score, "D", color="black", ms=5, label="score")
        labels = [f"above {plain(level, 16)}" for level in parts.level.tolist()]
        name_ticks(ax, labels, room=max(36, 9 * n))
        ax.axhline(0, color="black", lw=0.8)
        ax.set_ylabel("part of the ranked probability score")
        ax.set_title(f"ranked probability score {parts.score.sum():.3f}", size="medium")
        tidy(ax, grid="y")
        ax.margins(y=0.08)
        ax.legend(
            loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize="small"
        )
        return self._drawn(ax)
