"""Average ranks of methods over sets, with Friedman's test, as PLSOR's table 5 has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinality.experiments.compare import Friedman, friedman
from ordinality.experiments.report import Table, means, shown
from ordinality.experiments.values import Method, Spec

__all__ = ["TABLE_5", "table"]

# Bins and error -> average ranks of MAP, EP and PLSOR, and the statistic F.
TABLE_5 = {
    ("5", "zero_one"): ((1.944, 1.722, 2.333), 0.8266),
    ("5", "mae"): ((1.778, 1.778, 2.444), 1.3880),
    ("10", "zero_one"): ((2.167, 1.500, 2.333), 1.8449),
    ("10", "mae"): ((1.833, 1.611, 2.556), 2.5841),
}
CRITICAL = 3.63  # of F with 2 and 16 degrees of freedom at 0.05, as the paper has it
DECIMALS = {"zero_one": 2, "mae": 2}  # of percent and of levels: what the tables print


def table(spec: Spec, rows: dict[str, Any]) -> Table:
    """Ranks and F of each number of bins and error, beside the published ones.

    The first three methods of the spec are the paper's, the last three ours.

    Examples
    --------
    >>> from ordinality.experiments.papers import get
    >>> table(get("plsor/table-5"), {}).lines[0][:4]
    ['5', 'zero-one error %', 'as published', 'missing']
    """
    ours = means(spec, rows)
    groups = {"as published": spec.methods[:3], "ours, weak prior": spec.methods[3:]}
    lines, agree = [], dict.fromkeys(groups, 0)
    for (bins, error), (their_ranks, their_F) in TABLE_5.items():
        for group, methods in groups.items():
            found = _friedman(spec, ours, methods, bins, error)
            line = [bins, spec.metric(error).title, group, "missing", "missing"]
            if found is not None:
                line[3:] = [_ranks(found.mean_ranks), shown(found.statistic, 2)]
                agree[group] += (found.statistic > CRITICAL) == (their_F > CRITICAL)
            lines.append([*line[:4], _ranks(their_ranks), line[4], shown(their_F, 2)])
    titles = ["levels", "error", "methods", "ranks", "published", "F", "published"]
    counts = " and ".join(f"{count} of {len(TABLE_5)} ({g})" for g, count in agree.items())
    verdict = (
        f"{counts} tests come out as published (critical value {CRITICAL}; the paper finds no "
        "significant difference). Ranks are of MAP, EP and PLSOR."
    )
    return Table(spec, titles, lines, verdict)


def _friedman(
    spec: Spec, ours: dict[Any, float], methods: Sequence[Method], bins: str, error: str
) -> Friedman | None:
    """The test over the sets with so many bins; None if a mean is missing."""
    metric = spec.metric(error)
    sets = [name for name in spec.sets if name.endswith(f"_{bins}")]
    scores = np.array(
        [[ours.get((name, m.name, error), np.nan) for m in methods] for name in sets]
    )
    if np.isnan(scores).any():
        return None
    # Ranked on the decimals that the paper prints, which make its ties.
    return friedman(np.round(metric.scale * scores, DECIMALS[error]))


def _ranks(ranks: Any) -> str:
    return ", ".join(f"{rank:.3f}" for rank in ranks)
