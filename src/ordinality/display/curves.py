"""Figures of experiments: curves with error bars, regions of levels, bands along an input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .palette import plain, shades, strokes, tidy

__all__ = ["Curve", "Panel", "bands_along", "curves", "regions", "save"]

WIDTH, HEIGHT = 4.2, 3.3  # inches of a panel


@dataclass(frozen=True, eq=False)
class Curve:
    """Means at points of the axis, with their spread; without one, a line without markers."""

    label: str
    x: ArrayLike
    mean: ArrayLike
    spread: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves that share their axes."""

    title: str
    y_title: str
    curves: Sequence[Curve]


def curves(
    panels: Sequence[Panel],
    x_title: str,
    *,
    log: bool = False,
    columns: int = 2,
    ticks: Sequence[float] | None = None,
) -> Any:
    """Panels side by side; curves of one label have the same line style in all."""
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    style = dict(zip(labels, strokes(len(labels)), strict=True))
    figure, axes = _panels(len(panels), columns)
    for ax, panel in zip(axes, panels, strict=False):
        for shift, curve in enumerate(panel.curves):
            if curve.spread is None:
                stroke = {**style[curve.label], "marker": ""}
                ax.plot(curve.x, curve.mean, label=plain(curve.label), linewidth=1.4, **stroke)
                continue
            x = _apart(np.asarray(curve.x, dtype=float), shift, len(panel.curves), log)
            ax.errorbar(
                x, curve.mean, curve.spread, label=plain(curve.label), **style[curve.label],
                markersize=3.5, linewidth=1.2, elinewidth=0.7, capsize=1.5,
            )  # fmt: skip
        if log:
            ax.set_xscale("log")
        if ticks is not None:
            ax.set_xticks(ticks)
        ax.set(title=plain(panel.title, 60), xlabel=plain(x_title), ylabel=plain(panel.y_title))
        tidy(ax, grid="y")
    named = {plain(label): None for label in labels}
    for ax in axes:
        named |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    if labels:
        figure.legend(
            list(named.values()), list(named), loc="outside lower center", frameon=False,
            ncols=min(len(named), 3),
        )  # fmt: skip
    return figure


def _apart(x: NDArray[Any], number: int, count: int, log: bool) -> NDArray[Any]:
    """Positions moved slightly, so that error bars of several curves do not overlap."""
    place = number - (count - 1) / 2
    if log:
        return x * 1.02**place
    gap = np.min(np.diff(np.unique(x))) if len(np.unique(x)) > 1 else 1.0
    return x + 0.06 * gap * place


def regions(
    panels: Sequence[tuple[str, Callable[[Any], Any], ArrayLike, ArrayLike]], *, columns: int
) -> Any:
    """Predicted levels over the plane, with the training rows: (title, predict, X, y) each."""
    figure, axes = _panels(len(panels), columns)
    levels = np.unique(np.concatenate([np.asarray(y) for *_, y in panels]))
    colours = shades(len(levels))
    for ax, (title, predict, X, y) in zip(axes, panels, strict=False):
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        low, high = X.min(axis=0), X.max(axis=0)
        x1, x2 = (np.linspace(a, b, 160) for a, b in zip(low, high, strict=True))
        grid = np.stack(np.meshgrid(x1, x2), axis=-1)
        rank = np.searchsorted(levels, predict(grid.reshape(-1, 2))).reshape(grid.shape[:2])
        edges = np.arange(len(levels) + 1) - 0.5
        ax.contourf(x1, x2, rank, levels=edges, colors=colours, alpha=0.45)
        if np.ptp(rank):
            ax.contour(x1, x2, rank, levels=edges[1:-1], colors="black", linewidths=0.8)
        for level, colour, marker in zip(levels, colours, "osD^vPX*<>" * 9, strict=False):
            ax.scatter(
                *X[y == level].T, s=14, color=colour, marker=marker, edgecolor="black",
                linewidth=0.5, label=str(level),
            )  # fmt: skip
        ax.set(title=plain(title, 60), xlabel="first input", ylabel="second input")
    handles, words = axes[0].get_legend_handles_labels()
    figure.legend(
        handles[::-1], words[::-1], title="level", loc="outside right upper", frameon=False
    )
    return figure


def bands_along(
    panels: Sequence[tuple[str, ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]],
    *,
    x_title: str,
    y_title: str,
) -> Any:
    """Predicted levels along an input: (title, x, mean, sd, x_train, y_train) each."""
    figure, axes = _panels(len(panels), columns=2)
    for ax, (title, x, mean, sd, x_seen, y_seen) in zip(axes, panels, strict=False):
        mean, sd = np.asarray(mean, dtype=float), np.asarray(sd, dtype=float)
        band = ax.fill_between(x, mean - 2 * sd, mean + 2 * sd, color="0.85")
        band.set_label("two standard deviations")
        ax.plot(x, mean, color="black", linewidth=1.2, label="mean")
        ax.plot(x_seen, y_seen, "+", color=shades(2)[1], markersize=7, label="training rows")
        ax.set(title=plain(title), xlabel=plain(x_title), ylabel=plain(y_title))
        tidy(ax)
    axes[0].legend(frameon=False, fontsize="small")
    return figure


def save(figure: Any, path: Any, *, kind: str = "svg") -> None:
    """Write a figure as "svg" or "png", the same file from the same numbers."""
    import matplotlib
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "ordinality"}):
        figure.savefig(
            path, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None
        )
    plt.close(figure)


def _panels(count: int, columns: int) -> tuple[Any, list[Any]]:
    """A figure with ``count`` axes in rows of ``columns``; the unused ones are hidden."""
    import matplotlib.pyplot as plt

    columns = min(columns, max(count, 1))
    lines = -(-max(count, 1) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(WIDTH * columns, HEIGHT * lines), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    flat = list(axes.ravel())
    for ax in flat[count:]:
        ax.set_visible(False)
    return figure, flat
