"""Average ranks of methods over sets, with Friedman's test, as PLSOR's table 5 has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinality.experiments.compare import friedman
from ordinality.experiments.report import Table, means, shown
from ordinality.experiments.values import Spec

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

    Examples
    --------
    >>> from ordinality.experiments.specs import get
    >>> table(get("plsor/table-5"), {}).lines[0][:3]
    ['5', 'zero-one error %', 'missing']
    """
    ours = means(spec, rows)
    lines, agree = [], 0
    for (bins, error), (their_ranks, their_F) in TABLE_5.items():
        metric = spec.metric(error)
        sets = [name for name in spec.sets if name.endswith(f"_{bins}")]
        scores = np.array(
            [[ours.get((name, m.name, error), np.nan) for m in spec.methods] for name in sets]
        )
        line = [bins, metric.title]
        if np.isnan(scores).any():
            line += ["missing"] * 2
        else:
            # Ranked on the decimals that the paper prints, which make its ties.
            found = friedman(np.round(metric.scale * scores, DECIMALS[error]))
            line += [_ranks(found.mean_ranks), shown(found.statistic, 2)]
            agree += (found.statistic > CRITICAL) == (their_F > CRITICAL)
        lines.append([*line[:3], _ranks(their_ranks), *line[3:], shown(their_F, 2)])
    titles = ["levels", "error", "ranks, ours", "ranks, published", "F, ours", "F, published"]
    verdict = (
        f"{agree} of {len(TABLE_5)} tests come out as published (critical value {CRITICAL}; "
        "the paper finds no significant difference)."
    )
    return Table(spec, titles, lines, verdict)


def _ranks(ranks: Any) -> str:
    return ", ".join(f"{rank:.3f}" for rank in ranks)
