"""Which levels are taken for which, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinality.levels import order_of

from .model_inputs import final, levels_of
from .palette import BAD, GOOD, axes, name_ticks, plain

__all__ = ["OrdinalConfusionDisplay"]


class OrdinalConfusionDisplay:
    """True against predicted levels: counts, shares of each true level, and how far off.

    Hits are blue, the darker the larger their share of the row. Misses are orange, the darker
    the more they add to the row's mean absolute error: share times levels between.

    Parameters
    ----------
    confusion : ndarray of shape (K, K)
        Rows are true levels, columns predicted ones.
    levels : sequence of length K
        Labels in order, lowest first.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn.

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
    ) -> OrdinalConfusionDisplay:
        """Judge a fitted model by rows that it has not seen.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted.
        X : array-like or frame of shape (n, d)
        y : array-like of shape (n,)
            Labels.
        ax : matplotlib axes, default=None
        **kwargs
            Passed on to `plot`.

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
    ) -> OrdinalConfusionDisplay:
        """Judge predicted labels; `levels` as in `ordinality.metrics`."""
        order = order_of(y_true, y_pred, levels=levels)
        K = order.n_levels
        confusion = np.zeros((K, K), dtype=np.int64)
        np.add.at(confusion, (order.encode(y_true), order.encode(y_pred)), 1)
        return cls(confusion, order.levels.tolist()).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, shares: bool = True) -> OrdinalConfusionDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where; None makes a new figure.
        shares : bool, default=True
            Whether the share of the row is written below each count.

        Returns
        -------
        OrdinalConfusionDisplay
            Itself.
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
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_cells(self, ax: Any, share: np.ndarray, colours: np.ndarray, both: bool) -> None:
        light = colours @ [0.30, 0.59, 0.11]
        size = 9.5 if len(self.levels) <= 8 else 8.0
        for i, j in np.ndindex(*share.shape):
            count = self.confusion[i, j]
            if not count:
                continue  # emptiness reads better than zeros
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
    # A row that always misses by one, or one time in four by four, is as dark as can be.
    depth = np.where(hit, share, np.clip(share * away, 0.0, 1.0))
    ink = np.where(hit[..., None], to_rgb(GOOD), to_rgb(BAD))
    return 1.0 - depth[..., None] * (1.0 - ink)
