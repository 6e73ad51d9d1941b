"""Which features a model rests on: bars of relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .model_inputs import final, names_out
from .palette import GOOD, axes, plain, tidy

__all__ = ["RelevanceDisplay"]


class RelevanceDisplay:
    """Relevance of the features, the largest on top.

    Parameters
    ----------
    relevance : array-like of shape (d,)
        Not negative.
    feature_names : sequence of str, length d
    quantity : str, default="relevance"
        What the axis calls it.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure, once drawn.

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
    ) -> RelevanceDisplay:
        """Read a fitted model's ``relevance_`` or ``feature_importances_``.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A Gaussian process (relevances differ with a length scale for each feature,
            ``kernel="ard"``) or an ensemble.
        feature_names : sequence of str, default=None
            Names of what the model itself sees; None asks the model and its pipeline.
        ax : matplotlib axes, default=None
        **kwargs
            Passed on to `plot`.

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
                f"this {type(model).__name__} does not weigh its features one by one; a "
                "Gaussian process with kernel='ard' and the boosted ensembles do."
            )
        names = feature_names or names_out(estimator, len(relevance))
        return cls(relevance, names, quantity=quantity).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, max_features: int = 20) -> RelevanceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where; None makes a new figure, as high as the bars need.
        max_features : int, default=20
            Bars at most; the rest is counted in words.

        Returns
        -------
        RelevanceDisplay
            Itself.
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
        self.ax_, self.figure_ = ax, ax.figure
        return self
