"""The figure of a spec: curves over the axis that it names, or what `Spec.draw` makes.

A table without an axis is drawn by its ranks: mean rank of each method over the sets, with the
difference that matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ordinality.experiments.compare import friedman, nemenyi_critical_difference
from ordinality.experiments.results_page import means
from ordinality.experiments.spec import Method, Metric, Spec

__all__ = ["draw"]

Rows = Mapping[str, Mapping[str, Any]]
WIDE = 30.0  # ratio of the axis' ends from which powers read better


def draw(spec: Spec, rows: Rows, to: Any, *, kind: str = "svg") -> None:
    """Draw the figure of a spec into a file."""
    from ordinality.display.curves import save

    if spec.draw is not None:
        figure = spec.draw(spec, rows)
    elif spec.axis is None and spec.along is None:
        figure = _ranks(spec, rows)
    else:
        figure = _curves(spec, rows)
    save(figure, to, kind=kind)


def _curves(spec: Spec, rows: Rows) -> Any:
    from ordinality.display.curves import Panel, curves

    panels = []
    for metric in spec.metrics:
        if spec.axis is None:
            names = [(name.replace("_", " "), [name]) for name in spec.sets]
        else:
            titles = dict.fromkeys(title for title, _ in spec.axis.values())
            names = [(t, [s for s in spec.sets if spec.axis[s][0] == t]) for t in titles]
        for title, sets in names:
            lines = [_curve(spec, m, metric, sets, rows) for m in spec.methods]
            panels.append(Panel(title, metric.title, [line for line in lines if line]))
    if not any(panel.curves for panel in panels):
        raise ValueError(f"{spec.name} has no rows yet to be drawn; run it first.")
    ends = spec.along or [place for _, place in (spec.axis or {}).values()]
    wide = min(ends) > 0 and max(ends) > WIDE * min(ends)
    return curves(panels, spec.axis_title, log=wide)


def _curve(spec: Spec, method: Method, metric: Metric, sets: list[str], rows: Rows) -> Any:
    """Mean and standard deviation over partitions along the axis; None without rows."""
    from ordinality.display.curves import Curve

    x: list[float] = []
    values: list[np.ndarray] = []
    for name in sets:
        cells = [spec.cell(name, k, method).key for k in range(1, spec.partitions + 1)]
        done = [rows[key]["metrics"] for key in cells if "metrics" in rows.get(key, {})]
        found = np.array([m[metric.name] for m in done if metric.name in m], dtype=np.float64)
        if not found.size:
            continue
        if spec.along is not None:
            x, values = list(spec.along), list(found.T)
        elif spec.axis is not None:
            x.append(spec.axis[name][1])
            values.append(found)
    if not values:
        return None
    mean = [metric.scale * v.mean() for v in values]
    spread = [metric.scale * v.std(ddof=1) if v.size > 1 else 0.0 for v in values]
    return Curve(method.title, x, mean, spread)


def _ranks(spec: Spec, rows: Rows) -> Any:
    """Critical differences of the first metric over the sets that every method has done."""
    from ordinality.display import CriticalDifferenceDisplay

    found, metric = means(spec, rows), spec.metrics[0]
    sign = -1.0 if metric.higher_is_better else 1.0
    methods = [m for m in spec.methods if not m.optional]
    scores = [
        [sign * found[name, m.name, metric.name] for m in methods]
        for name in spec.sets
        if all((name, m.name, metric.name) in found for m in methods)
    ]
    if not scores:
        raise ValueError(
            f"{spec.name} has no set that all its methods have done, so their ranks cannot be "
            "drawn; run it first."
        )
    ranks = friedman(scores).mean_ranks
    difference = nemenyi_critical_difference(len(methods), len(scores))
    names = [m.title for m in methods]
    return CriticalDifferenceDisplay.from_ranks(ranks, names, difference).figure_
