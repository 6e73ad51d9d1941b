"""Ranked lists: features by relevance, items by utility, methods by mean rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ordinality.inspect.model_inputs import final, model_with, names_out

from .palette import BLACK, GOOD, NEUTRAL, Display, axes, plain, tidy

__all__ = ["CriticalDifferenceDisplay", "RelevanceDisplay", "UtilityDisplay"]

_BAND = 1.96  # standard deviations of a band that holds 95 % of a normal
# Differences that are equal must not differ by rounding. A mean of N ranks is rounded to N eps,
# 2e-12 for 10,000 data sets; two that are not equal differ by 1 / (2 N) = 5e-5 or more.
_ROUNDING = 1e-9


class RelevanceDisplay(Display):
    """Relevance of the features, the largest on top.

    Parameters
    ----------
    relevance : array-like of shape (d,)
        Not negative.
    feature_names : sequence of str, length d
        Names of the features.
    quantity : str, default="relevance"
        Label of the axis.

    Examples
    --------
    >>> from ordinality.display import RelevanceDisplay
    >>> display = RelevanceDisplay([0.1, 0.6], ["acidity", "alcohol"]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['alcohol', 'acidity']
    """

    def __init__(
        self, relevance: Any, feature_names: Sequence[str], *, quantity: str = "relevance"
    ) -> None:
        self.relevance = np.asarray(relevance, dtype=np.float64)
        self.feature_names = list(feature_names)
        self.quantity = quantity
        if self.relevance.shape != (len(self.feature_names),):
            raise ValueError(
                f"relevance has shape {self.relevance.shape}, and there are "
                f"{len(self.feature_names)} names; pass one name for each feature."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Read a fitted model's ``relevance_`` or ``feature_importances_``.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A Gaussian process (relevances differ with a length scale for each feature,
            ``kernel="ard"``) or an ensemble.
        feature_names : sequence of str, default=None
            Names of the features behind the steps of a pipeline; None takes those of the model.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        RelevanceDisplay
        """
        model = final(estimator)
        relevance = getattr(model, "relevance_", None)
        quantity = "relevance: squared inverse length scale, per standard deviation"
        if relevance is None:
            relevance = getattr(model, "feature_importances_", None)
            quantity = "share of the ensemble's votes"
        if relevance is None or not np.all(np.isfinite(relevance)):
            raise TypeError(
                f"this {type(model).__name__} has no relevance of each feature; a Gaussian "
                "process with kernel='ard' and the boosted ensembles have."
            )
        if feature_names is None:
            feature_names = names_out(estimator, len(relevance))
        return cls(relevance, feature_names, quantity=quantity).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, max_features: int = 20) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure, as high as the bars need.
        max_features : int, default=20
            Largest number of bars; the label counts the rest.

        Returns
        -------
        RelevanceDisplay
            The display itself.
        """
        order = np.argsort(-self.relevance, kind="stable")[:max_features]
        ax = axes(ax, 6.0, 1.0 + 0.28 * max(len(order), 3))
        places = np.arange(len(order))
        bars = ax.barh(places, self.relevance[order], 0.7, color=GOOD)
        ax.bar_label(bars, fmt="%.2g", padding=3, fontsize="small", color="0.3")
        ax.set_yticks(places, [plain(self.feature_names[j]) for j in order])
        ax.invert_yaxis()
        ax.margins(x=0.1)
        tidy(ax, grid="x")
        ax.tick_params(axis="y", length=0)
        left_out = len(self.relevance) - len(order)
        more = f" ({left_out} smaller ones left out)" if left_out else ""
        ax.set_xlabel(plain(self.quantity, 80) + more)
        return self._drawn(ax)


class UtilityDisplay(Display):
    """Items by utility, the best on top, with intervals that hold 95 %.

    Parameters
    ----------
    utility : array-like of shape (n,)
        Utilities of the items.
    names : sequence of str, length n
        Names of the items.
    std : array-like of shape (n,), default=None
        Standard deviations; None draws no intervals.
    quantity : str, default="utility"
        Label of the axis.

    Examples
    --------
    >>> from ordinality import PreferenceGP
    >>> from ordinality.display import UtilityDisplay
    >>> model = PreferenceGP(3).fit([[0, 1], [1, 2], [0, 2]])  # 0 beat 1, and so on
    >>> display = UtilityDisplay.from_estimator(model, names=["tea", "coffee", "milk"])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['1  tea', '2  coffee', '3  milk']
    """

    def __init__(
        self, utility: Any, names: Sequence[Any], *, std: Any = None, quantity: str = "utility"
    ) -> None:
        self.utility = np.asarray(utility, dtype=np.float64)
        self.names = [str(name) for name in names]
        self.std = None if std is None else np.asarray(std, dtype=np.float64)
        self.quantity = quantity
        if len(self.names) != len(self.utility):
            raise ValueError(
                f"there are {len(self.utility)} items and {len(self.names)} names; pass one "
                "name for each item."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        names: Sequence[Any] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Take the utilities of a fitted model of preferences.

        Comparisons do not determine a shift of all utilities. So utilities are shown relative
        to the average of all items, and the intervals are those of that difference.

        Parameters
        ----------
        estimator : PreferenceGP or PreferenceSVM
            Fitted; PreferenceSVM has no intervals.
        names : sequence of str, default=None
            Names of the items; None numbers them.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.
        **kwargs
            Passed to `plot`.

        Returns
        -------
        UtilityDisplay
        """
        model = model_with(estimator, "utility", "PreferenceGP has it.")
        if hasattr(model, "posterior"):
            mean, covariance = model.posterior()
            row = covariance.mean(axis=0)
            variance = np.diagonal(covariance) - 2.0 * row + row.mean()
            # Rounding may leave a variance of zero slightly negative.
            std = np.sqrt(np.maximum(variance, 0.0))
        else:
            mean, std = np.asarray(model.utility()), None
        names = [f"item {i}" for i in range(len(mean))] if names is None else names
        quantity = "utility, relative to the average item"
        return cls(mean - mean.mean(), names, std=std, quantity=quantity).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, max_items: int = 30) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure, as high as the items need.
        max_items : int, default=30
            Largest number of items, the best; the label counts the rest.

        Returns
        -------
        UtilityDisplay
            The display itself.
        """
        order = np.argsort(-self.utility, kind="stable")[:max_items]
        ax = axes(ax, 6.0, 1.0 + 0.26 * max(len(order), 4))
        places = np.arange(len(order))
        reach = None if self.std is None else _BAND * self.std[order]
        ax.axvline(0, color=NEUTRAL, lw=1, ls=":")
        ax.errorbar(
            self.utility[order], places, xerr=reach, fmt="o", color=GOOD, ecolor="0.55",
            elinewidth=1.4, capsize=2.5, ms=5,
        )  # fmt: skip
        labels = [f"{place + 1}  {plain(self.names[i])}" for place, i in enumerate(order)]
        ax.set_yticks(places, labels)
        ax.set_ylim(len(order) - 0.4, -0.6)
        left_out = len(self.utility) - len(order)
        more = f" ({left_out} lower ones left out)" if left_out else ""
        ax.set_xlabel(plain(self.quantity, 60) + more)
        tidy(ax, grid="x")
        ax.tick_params(axis="y", length=0)
        return self._drawn(ax)


class CriticalDifferenceDisplay(Display):
    """Critical difference diagram: methods by mean rank, bars join those that do not differ.

    The best are at the right. Two methods differ if their mean ranks differ by more than the
    critical difference of a test, such as Nemenyi's.

    Parameters
    ----------
    mean_ranks : array-like of shape (k,)
        Mean ranks over data sets, 1 the best.
    names : sequence of str, length k
        Names of the methods.
    critical_difference : float
        Largest difference of mean ranks that is not significant.

    References
    ----------
    Demšar (2006), "Statistical comparisons of classifiers over multiple data sets", JMLR 7.

    Examples
    --------
    >>> from ordinality.display import CriticalDifferenceDisplay
    >>> names = ["gp", "svm", "majority"]
    >>> display = CriticalDifferenceDisplay.from_ranks([1.2, 1.9, 2.9], names, 1.0)
    >>> display.groups
    [(0, 1), (1, 2)]
    """

    def __init__(
        self, mean_ranks: Any, names: Sequence[Any], critical_difference: float
    ) -> None:
        self.mean_ranks = np.asarray(mean_ranks, dtype=np.float64)
        self.names = [str(name) for name in names]
        self.critical_difference = float(critical_difference)
        if self.mean_ranks.shape != (len(self.names),) or not np.all(self.mean_ranks >= 1):
            raise ValueError(
                f"mean_ranks has shape {self.mean_ranks.shape} for {len(self.names)} names; "
                "pass one mean rank, 1 or more, for each."
            )

    @classmethod
    def from_ranks(
        cls,
        mean_ranks: Any,
        names: Sequence[Any],
        critical_difference: float,
        *,
        ax: Any = None,
    ) -> Self:
        """Draw mean ranks that were computed elsewhere.

        Parameters
        ----------
        mean_ranks : array-like of shape (k,)
            Mean ranks over data sets, 1 the best.
        names : sequence of str, length k
            Names of the methods.
        critical_difference : float
            Largest difference of mean ranks that is not significant.
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        return cls(mean_ranks, names, critical_difference).plot(ax=ax)

    @property
    def groups(self) -> list[tuple[int, int]]:
        """Longest runs of methods, by place in order of rank, that do not differ."""
        ranks = np.sort(self.mean_ranks)
        reach = ranks + self.critical_difference * (1 + _ROUNDING)
        ends = np.searchsorted(ranks, reach, side="right") - 1
        runs: list[tuple[int, int]] = []
        for start, end in enumerate(ends.tolist()):
            if end > start and (not runs or end > runs[-1][1]):
                runs.append((start, end))
        return runs

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        CriticalDifferenceDisplay
            The display itself.
        """
        k = len(self.names)
        depth = 1.0 + 0.34 * len(self.groups) + 0.5 * ((k + 1) // 2)
        ax = axes(ax, 7.0, 0.9 + 0.42 * depth)
        highest = max(int(np.ceil(self.mean_ranks.max())), 2)
        self._ruler(ax, highest)
        order = np.argsort(self.mean_ranks, kind="stable")
        ranks = self.mean_ranks[order]
        for row, (start, end) in enumerate(self.groups):
            y = -0.35 - 0.34 * row
            ends = [ranks[start] - 0.03, ranks[end] + 0.03]
            ax.plot(ends, [y, y], color=BLACK, lw=4, solid_capstyle="butt")
        top = -0.5 - 0.34 * len(self.groups)
        for place, i in enumerate(order):
            right = place < (k + 1) // 2
            row = place if right else k - 1 - place
            y = top - 0.5 * row
            edge = 1 - 0.05 * highest if right else highest * 1.05
            at = self.mean_ranks[i]
            ax.plot([at, at, edge], [0, y, y], color="0.35", lw=1)
            ax.plot(at, 0, "o", color=GOOD, ms=5, clip_on=False, zorder=3)
            text = f"{plain(self.names[i], 26)} ({at:.2f})"
            text = f" {text}" if right else f"{text} "
            ax.text(edge, y, text, ha="left" if right else "right", va="center", size="small")
        ax.set_ylim(top - 0.5 * ((k + 1) // 2) + 0.2, 1.1)
        return self._drawn(ax)

    def _ruler(self, ax: Any, highest: int) -> None:
        room = 0.42 * (highest - 1) + 0.2  # for names at both ends
        ax.set_xlim(highest + room, 1 - room)
        ax.plot([1, highest], [0, 0], color=BLACK, lw=1.2)
        for rank in range(1, highest + 1):
            ax.plot([rank, rank], [0, 0.12], color=BLACK, lw=1.2)
            ax.text(rank, 0.2, str(rank), ha="center", va="bottom", size="small")
        start, end = 1.0, 1.0 + self.critical_difference
        ax.plot([start, end], [0.8, 0.8], color=BLACK, lw=1.5)
        for x in (start, end):
            ax.plot([x, x], [0.73, 0.87], color=BLACK, lw=1.5)
        text = f"critical difference {self.critical_difference:.2f}"
        ax.text((start + end) / 2, 0.88, text, ha="center", va="bottom", size="small")
        ax.set_axis_off()
