"""Boosted ensembles: distribution of margins, and errors after each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ordinality import metrics
from ordinality.inspect.model_inputs import levels_of, model_with, transformed
from ordinality.levels import order_of

from .palette import BAD, BLACK, GOOD, NEUTRAL, OTHER, Display, axes, plain, tidy

__all__ = ["MarginDisplay", "StagesDisplay"]

ERRORS: dict[str, Callable[..., float]] = {
    "mean absolute error": metrics.mean_absolute_error,
    "zero-one error": metrics.zero_one_error,
}


class MarginDisplay(Display):
    """Cumulative distribution of the margins of an ensemble.

    A margin is the distance of a row on the right side of a threshold, as a share of the
    largest possible. The solid curve takes for each row the nearer of the thresholds next to
    its label: where it crosses zero is the share of wrong predictions. The dashed curve takes
    all thresholds: where it crosses zero, times their number, is the mean absolute error.

    Parameters
    ----------
    margins : ndarray of shape (n, K - 1)
        From ``margins_of``.
    ranks : ndarray of shape (n,)
        Levels of the rows, as numbers from 0.
    name : str, default=None
        What the rows are: "train", "test".

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalBoost
    >>> from ordinality.display import MarginDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.digitize(X[:, 0], [-0.5, 0.5])
    >>> model = OrdinalBoost(n_estimators=10).fit(X, y)
    >>> MarginDisplay.from_estimator(model, X, y).margins.shape
    (60, 2)
    """

    def __init__(self, margins: Any, ranks: Any, *, name: str | None = None) -> None:
        self.margins = np.asarray(margins, dtype=np.float64)
        self.ranks = np.asarray(ranks)
        self.name = name

    @property
    def nearest(self) -> np.ndarray:
        """Margin from the nearer of the thresholds next to each row's label, (n,)."""
        rows, last = np.arange(len(self.ranks)), self.margins.shape[1] - 1
        below = self.margins[rows, np.clip(self.ranks - 1, 0, last)]
        above = self.margins[rows, np.clip(self.ranks, 0, last)]
        return np.minimum(below, above)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the margins of a fitted ensemble.

        Parameters
        ----------
        estimator : estimator or Pipeline
            An `OrdinalBoost` or `RankBoost`.
        X : array-like or frame of shape (n, d)
            Rows; of the test set, unless overfitting is to be shown.
        y : array-like of shape (n,)
            Labels.
        name : str, default=None
            What the rows are: "train", "test".
        ax : matplotlib axes, default=None
            Where to draw, on those of another MarginDisplay to compare the two; None makes a
            new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        MarginDisplay
        """
        model = model_with(estimator, "margins_of", "OrdinalBoost and RankBoost have it.")
        found = model.margins_of(transformed(estimator, X), y, normalized=True)
        order = order_of(y, levels=levels_of(estimator))
        return cls(found, order.encode(y), name=name).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, color: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        color : colour, default=None
            None is blue on empty axes, and orange on those of another display.

        Returns
        -------
        MarginDisplay
            The display itself.
        """
        ax = axes(ax)
        fresh = not ax.lines
        color = color or (GOOD if fresh else OTHER)
        before = f"{plain(self.name)}: " if self.name else ""
        if fresh:
            ax.axvline(0, color=NEUTRAL, lw=1, ls=":")
        near, every = self.nearest, self.margins.ravel()
        ax.ecdf(near, color=color, lw=1.8, label=f"{before}thresholds next to the label")
        ax.ecdf(every, color=color, lw=1.2, ls="--", label=f"{before}all thresholds")
        ax.set(ylim=(0, 1.01), xlabel="margin", ylabel="share with at most this margin")
        tidy(ax, grid="y")
        ax.legend(frameon=False, fontsize="small", loc="lower right")
        return self._drawn(ax)


class StagesDisplay(Display):
    """Errors after each round of an ensemble, on the training rows and on others.

    Parameters
    ----------
    errors : mapping of str to array-like of shape (rounds,)
        What the rows are, and the errors on them.
    metric : str, default="mean absolute error"
        What the axis calls the error.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality import OrdinalBoost
    >>> from ordinality.display import StagesDisplay
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> y = np.digitize(X[:, 0], [-0.5, 0.5])
    >>> model = OrdinalBoost(n_estimators=10).fit(X[:40], y[:40])
    >>> display = StagesDisplay.from_estimator(model, X[:40], y[:40], X[40:], y[40:])
    >>> {name: len(errors) for name, errors in display.errors.items()}
    {'train': 10, 'test': 10}
    """

    def __init__(self, errors: dict[str, Any], *, metric: str = "mean absolute error") -> None:
        self.errors = {name: np.asarray(found) for name, found in errors.items()}
        self.metric = metric

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any = None,
        y_test: Any = None,
        *,
        metric: str | Callable[..., float] = "mean absolute error",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the errors of a fitted ensemble after each round.

        Parameters
        ----------
        estimator : estimator or Pipeline
            An `OrdinalBoost` or `RankBoost`.
        X, y : array-like of shape (n, d) and (n,)
            Training rows and their labels.
        X_test, y_test : array-like, default=None
            Test rows and their labels.
        metric : {"mean absolute error", "zero-one error"} or callable
            ``metric(y_true, y_pred, levels=...)``, lower is better.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        StagesDisplay
        """
        model = model_with(estimator, "staged_predict", "OrdinalBoost and RankBoost have it.")
        if isinstance(metric, str) and metric not in ERRORS:
            raise ValueError(f"metric={metric!r} is not known; choose one of {list(ERRORS)}.")
        error = ERRORS[metric] if isinstance(metric, str) else metric
        levels = levels_of(estimator)

        def stages(X: Any, y: Any) -> list[float]:
            staged = model.staged_predict(transformed(estimator, X))
            return [error(y, predicted, levels=levels) for predicted in staged]

        errors = {"train": stages(X, y)}
        if X_test is not None:
            errors["test"] = stages(X_test, y_test)
        name = metric if isinstance(metric, str) else getattr(metric, "__name__", "error")
        return cls(errors, metric=name.replace("_", " ")).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display, and mark the round of the least error on the last rows.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        StagesDisplay
            The display itself.
        """
        ax = axes(ax)
        looks: Sequence[dict[str, Any]] = (
            {"color": GOOD, "ls": "--", "lw": 1.4},
            {"color": BLACK, "ls": "-", "lw": 1.8},
        )
        for (name, found), look in zip(self.errors.items(), looks, strict=False):
            ax.plot(np.arange(1, len(found) + 1), found, label=plain(name), **look)
        name, found = list(self.errors.items())[-1]
        best = int(np.argmin(found))
        label = f"least on {plain(name)}: {found[best]:.3g} after {best + 1} rounds"
        ax.plot(best + 1, found[best], "o", color=BAD, ms=6, label=label)
        ax.set(xlabel="rounds", ylabel=plain(self.metric, 60))
        ax.set_xlim(1, max(2, max(len(found) for found in self.errors.values())))
        ax.set_ylim(bottom=0)
        tidy(ax, grid="y")
        ax.legend(frameon=False, fontsize="small")
        return self._drawn(ax)
