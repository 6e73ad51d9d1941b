"""What the papers print: tables, and claims about time.

A table is kept as text: a line is a set followed by mean and spread for each column, in the
order of the paper's columns, so that it can be compared with the page. A claim about time
is set beside the processor seconds of our rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinality.experiments.papers import get
from ordinality.experiments.spec import Method, Published, Spec

__all__ = ["CLAIMS", "Claim", "read", "times"]


Key = tuple[str, str, str]  # set, method, metric


def read(
    text: str, columns: Sequence[tuple[str, str]], *, suffix: str = "", spread: bool = True
) -> dict[Key, Published]:
    """Published numbers by set, method and metric.

    Behind a mean, ``*`` is the paper's star and ``b`` its bold type; ``-`` is an empty entry.
    """
    found: dict[Key, Published] = {}
    width = 2 if spread else 1
    lines = [line.split() for line in text.strip().splitlines()]
    has_bold = any(cell.endswith("b") for _, *cells in lines for cell in cells)
    for name, *cells in lines:
        if len(cells) != width * len(columns):
            raise ValueError(
                f"the line of {name} has {len(cells)} numbers; {len(columns)} columns want "
                f"{width * len(columns)}."
            )
        for i, (method, metric) in enumerate(columns):
            mean, *more = cells[width * i : width * (i + 1)]
            if mean != "-":
                printed = (mean.rstrip("*b"), *more)
                found[name + suffix, method, metric] = Published(
                    float(printed[0]),
                    float(more[0]) if more else None,
                    printed,
                    star="*" in mean,
                    bold=mean.endswith("b") if has_bold else None,
                )
    return found


# ------------------------------------------------------------------------------ time

Rows = Mapping[str, Mapping[str, Any]]  # by the key of the cell, of all experiments


@dataclass(frozen=True)
class Claim:
    """A claim, and where our seconds for it are: methods of a spec, on some of its sets.

    With `growth` the mean seconds are compared along the spec's sets, which are sizes.
    """

    source: str
    words: str
    data: str
    spec: str
    methods: tuple[str, ...]
    sets: Callable[[str], bool] = lambda name: True
    growth: bool = False


_SEARCH = (
    "The training time of MAP and EP was substantially less than that of the SVM, whose "
    "cross-validation visits 130 points for every fold."
)

_METHODS = ("svm", "map-evidence", "ep-evidence")

CLAIMS = (
    Claim("GPOR, 6.2", _SEARCH, "nine sets, 5 levels", "gpor/table-2", _METHODS),
    Claim("GPOR, 6.2", _SEARCH, "nine sets, 10 levels", "gpor/table-3", _METHODS),
    Claim("GPOR, 6.2", _SEARCH, "seven sets, few rows", "gpor/table-4", _METHODS),
    Claim(
        "ORBoost, 5.2",
        "On census (6000 training rows) one trial of ORBoost takes about an hour.",
        "house 16h",
        "orboost/table-1",
        ("left-right-perceptron", "left-right-sigmoid", "all-perceptron", "all-sigmoid"),
        lambda name: name == "house_16h",
    ),
    Claim(
        "ORBoost, 5.2",
        "There the SVMs, with the search for their parameters, need more than four days.",
        "house 16h",
        "orboost/table-1",
        ("svm-explicit",),
        lambda name: name == "house_16h",
    ),
    Claim(
        "PLSOR, 4.1",
        "The cost of PLSOR grows with the rows as that of MAP and EP does, by O(n³).",
        "nine sets, 5 levels",
        "plsor/table-3",
        ("plsor-alone", "map-evidence", "ep-evidence"),
    ),
    Claim(
        "Preference, 4.1",
        "The time of one CC-SVM grows with the number of pairs to the power 2.2, that of one "
        "evaluation of the evidence hardly at all.",
        "documents, 100 to 1000 pairs",
        "preference/figure-2",
        ("cc-svm", "gp"),
        growth=True,
    ),
)


def times(rows: Rows) -> Iterator[list[str]]:
    """Source, claim, data, method and our seconds; what has no rows is "missing"."""
    for claim in CLAIMS:
        spec = get(claim.spec)
        sets = [name for name in spec.sets if claim.sets(name)]
        for name in claim.methods:
            method = spec.method(name)
            means = [_mean_seconds(spec, method, set_, rows) for set_ in sets]
            shown = _growth(sets, means) if claim.growth else _mean(means)
            yield [claim.source, claim.words, claim.data, method.title, shown]


def _mean_seconds(spec: Spec, method: Method, name: str, rows: Rows) -> float:
    """Over the partitions that have a row; NaN without any."""
    keys = [spec.cell(name, k, method).key for k in range(1, spec.partitions + 1)]
    found = [rows[key]["seconds"] for key in keys if key in rows]
    return float(np.mean(found)) if found else np.nan


def _mean(seconds: Sequence[float]) -> str:
    mean = float(np.mean(seconds))
    return "missing" if np.isnan(mean) else f"{mean:.2f} s" if mean < 10 else f"{mean:.0f} s"


def _growth(sizes: Sequence[str], seconds: Sequence[float]) -> str:
    """From the first size to the last, and the power by least squares on logarithms."""
    if np.isnan(seconds).any():
        return "missing"
    power = np.polyfit(np.log([float(size) for size in sizes]), np.log(seconds), 1)[0]
    return f"{_mean(seconds[:1])} to {_mean(seconds[-1:])}, power {power:.1f}"
