"""Ours beside theirs: a spec and its rows as a table, with marks and a verdict.

Distances are in published standard deviations, above zero where ours is worse. Means over
fewer partitions than there are say so; a cell without any row is "missing", and one whose rows
are failures "failed".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ordinality.experiments.agreement import own, verdict
from ordinality.experiments.compare import rank_sum
from ordinality.experiments.values import Method, Metric, Published, Spec

__all__ = ["Entry", "Table", "entries", "marked", "means", "shown", "table"]

Rows = Mapping[str, Mapping[str, Any]]  # by the key of the cell
SHOWN = 6  # places of a curve that a table lists


@dataclass(frozen=True, eq=False)
class Entry:
    """One mean of a table: ours, and the published one if there is one."""

    set: str
    method: Method
    metric: Metric
    values: np.ndarray  # of the finished partitions, in the units of the rows
    wanted: int  # partitions
    failed: int
    theirs: Published | None
    sd: float | None  # published standard deviation, in the units of the table
    spread_kind: str = "sd"
    at: float | None = None  # place on a curve
    marks: frozenset[str] = frozenset()  # "best", "worse"; "published best", "published worse"

    @property
    def mean(self) -> float:
        """Our mean, in the units of the table."""
        return self.metric.scale * float(np.mean(self.values))

    @property
    def spread(self) -> float:
        """Our standard deviation, or standard error where the paper prints that."""
        if self.values.size < 2:
            return math.nan
        sd = self.metric.scale * float(np.std(self.values, ddof=1))
        return sd / math.sqrt(self.values.size) if self.spread_kind == "se" else sd

    @property
    def away(self) -> float | None:
        """Published standard deviations that ours is worse by; below zero: better."""
        if self.theirs is None or not self.sd or not self.values.size:
            return None
        sign = -1.0 if self.metric.higher_is_better else 1.0
        return sign * (self.mean - self.theirs.mean) / self.sd

    @property
    def equal(self) -> bool:
        """Whether our mean and spread have every digit that the paper prints of its own."""
        if self.theirs is None or len(self.theirs.printed) < 2 or not self.values.size:
            return False
        both = zip((self.mean, self.spread), self.theirs.printed, strict=True)
        return all(f"{x:.{len(text.partition('.')[2])}f}" == text for x, text in both)


@dataclass(frozen=True, eq=False)
class Table:
    """A report as text in lines and columns; what is bold is listed by its place."""

    spec: Spec
    titles: list[str]
    lines: list[list[str]]
    verdict: str
    bold: frozenset[tuple[int, int]] = frozenset()
    entries: list[Entry] = field(default_factory=list)


def table(spec: Spec, rows: Rows) -> Table:
    """The report of a spec.

    Examples
    --------
    >>> from ordinality.experiments.papers import get
    >>> report = table(get("gpor/table-2"), {})
    >>> report.lines[0][:4]
    ['diabetes 5', 'SVM', 'missing', '57.31 ± 12.09']
    >>> report.verdict
    'None of the 126 means has been computed.'
    """
    if spec.build is not None:
        made: Table = spec.build(spec, rows)
        return made
    found = marked(spec, entries(spec, rows))
    place = [spec.axis_title] if spec.along is not None else []
    titles = ["set", "method", *place]
    compared = [m for m in spec.metrics if any(key[2] == m.name for key in spec.published)]
    for metric in spec.metrics:
        titles += [metric.title] + (["published", "away"] if metric in compared else [])
    lines: list[list[str]] = []
    bold: set[tuple[int, int]] = set()
    for group in _grouped(found):
        at = [] if group[0].at is None else [f"{group[0].at:g}"]
        line = [group[0].set.replace("_", " "), group[0].method.title, *at]
        for entry in group:
            if "best" in entry.marks:
                bold.add((len(lines), len(line)))
            line.append(_ours(entry))
            if entry.metric in compared:
                if "published best" in entry.marks:
                    bold.add((len(lines), len(line)))
                line += [_theirs(entry), _away(entry)]
        lines.append(line)
    return Table(spec, titles, lines, verdict(spec, found), frozenset(bold), found)


# ------------------------------------------------------------------------------ entries


def entries(spec: Spec, rows: Rows) -> list[Entry]:
    """Every mean of the table, set by set; methods beyond the paper only if they have rows.

    Examples
    --------
    >>> from ordinality.experiments.papers import get
    >>> len(entries(get("gpor/table-2"), {}))
    126
    """
    found = []
    for name in spec.sets:
        for method in spec.methods:
            done = _rows_of(spec, name, method, rows)
            for at in _places(spec):
                line = [_entry(spec, name, method, m, done, at) for m in spec.metrics]
                if not method.optional or any(entry.values.size for entry in line):
                    found += line
    return found


def _rows_of(spec: Spec, name: str, method: Method, rows: Rows) -> list[Mapping[str, Any]]:
    cells = (spec.cell(name, k, method) for k in range(1, spec.partitions + 1))
    return [rows[cell.key] for cell in cells if cell.key in rows]


def _places(spec: Spec) -> list[int | None]:
    """Which entries of a curve are shown: first, last, and some between."""
    if spec.along is None:
        return [None]
    return sorted({round(i) for i in np.linspace(0, len(spec.along) - 1, SHOWN)})


def _entry(
    spec: Spec, name: str, method: Method, metric: Metric, done: list[Any], at: int | None
) -> Entry:
    key = metric.name + method.suffix
    has_it = method.name in (metric.methods or [method.name])
    values = [row["metrics"].get(key) for row in done if has_it and "error" not in row]
    if at is not None:
        values = [value[at] for value in values if value is not None]
    theirs = spec.published.get((name, method.column or method.name, metric.name))
    return Entry(
        name, method, metric,
        np.array([value for value in values if value is not None], dtype=np.float64),
        spec.partitions if has_it else 0, sum("error" in row for row in done),
        theirs, _published_sd(spec, theirs), spec.spread,
        None if at is None or spec.along is None else spec.along[at],
    )  # fmt: skip


def _published_sd(spec: Spec, theirs: Published | None) -> float | None:
    if theirs is None or theirs.spread is None:
        return None
    # A spread printed as zero is at most half of the last decimal: 0.00 up to 0.005.
    spread = theirs.spread or (0.005 if spec.spread == "sd" else 0.0005)
    return spread * math.sqrt(spec.trials) if spec.spread == "se" else spread


def means(spec: Spec, rows: Rows) -> dict[tuple[str, str, str], float]:
    """Means by set, method and metric, in the units of the rows, of what is complete.

    Examples
    --------
    >>> from ordinality.experiments.papers import get
    >>> means(get("gpor/table-2"), {})
    {}
    """
    return {
        (e.set, e.method.name, e.metric.name): float(np.mean(e.values))
        for e in entries(spec, rows)
        if e.values.size == e.wanted
    }


# ------------------------------------------------------------------------------ marks


def marked(spec: Spec, found: Sequence[Entry]) -> list[Entry]:
    """The entries with the marks that the paper would set, in ours and in theirs.

    Examples
    --------
    >>> from ordinality.experiments.papers import get
    >>> spec = get("gpor/table-2")
    >>> first, *_ = marked(spec, entries(spec, {}))
    >>> sorted(first.marks)
    []
    """
    from dataclasses import replace

    rivals: dict[Any, list[Entry]] = {}
    for entry in own(found):
        rivals.setdefault((entry.set, entry.metric.name, entry.at), []).append(entry)
    return [
        replace(
            e,
            marks=_marks(spec, e, rivals.get((e.set, e.metric.name, e.at), []))
            | _printed_marks(spec, e),
        )
        for e in found
    ]


def _printed_marks(spec: Spec, entry: Entry) -> frozenset[str]:
    """The paper's own marks; bold type that its text has lost is set by its caption's rule."""
    theirs = entry.theirs
    if theirs is None:
        return frozenset()
    sign = -1.0 if entry.metric.higher_is_better else 1.0
    column = [
        p for key, p in spec.published.items() if key[::2] == (entry.set, entry.metric.name)
    ]
    best = min(column, key=lambda p: sign * p.mean)
    slack = (best.spread or 0.0) if spec.marks.rule == "standard-error" else 0.0
    by_rule = len(column) > 1 and sign * (theirs.mean - best.mean) <= slack
    bold = by_rule if theirs.bold is None else theirs.bold
    return frozenset(["published best"] * bold + ["published worse"] * theirs.star)


def _marks(spec: Spec, entry: Entry, rivals: list[Entry]) -> frozenset[str]:
    """The marks that the paper's rule sets on our numbers."""
    computed = [r for r in rivals if r.values.size]
    if entry not in computed or len(computed) < 2:
        return frozenset()
    marks = set()
    sign = -1.0 if entry.metric.higher_is_better else 1.0
    best = min(computed, key=lambda r: sign * r.mean)
    slack = best.spread if spec.marks.rule == "standard-error" else 0.0
    if sign * (entry.mean - best.mean) <= slack:
        marks.add("best")
    # Figures carry no stars.
    starred = spec.published and spec.marks.rule == "rank-sum"
    if starred and _worse(spec, entry, best, computed, sign):
        marks.add("worse")
    return frozenset(marks)


def _worse(spec: Spec, entry: Entry, best: Entry, computed: list[Entry], sign: float) -> bool:
    named = [r for r in computed if r.method.name == spec.marks.against]
    other = named[0] if named else best
    if entry is other or sign * (entry.mean - other.mean) <= 0:
        return False
    return rank_sum(entry.values, other.values).p_value < spec.marks.level


# ------------------------------------------------------------------------------ cells as text


def shown(value: float, decimals: int, *, sign: bool = False) -> str:
    """A number with a true minus.

    Examples
    --------
    >>> shown(-0.5, 2), shown(0.25, 1, sign=True)
    ('−0.50', '+0.2')
    """
    text = f"{value:+.{decimals}f}" if sign else f"{value:.{decimals}f}"
    return text.replace("-", "−")


def _ours(entry: Entry) -> str:
    n = entry.values.size
    if not entry.wanted or (entry.method.optional and not n):
        return ""
    if not n:
        return f"failed ({entry.failed})" if entry.failed else "missing"
    text = shown(entry.mean, entry.metric.decimals)
    if n > 1:
        text += f" ± {shown(entry.spread, entry.metric.decimals)}"
    if "worse" in entry.marks:
        text += " ⋆"
    if n < entry.wanted:
        text += f" ({n} of {entry.wanted}"
        text += f", {entry.failed} failed)" if entry.failed else ")"
    return text


def _theirs(entry: Entry) -> str:
    theirs = entry.theirs
    if theirs is None:
        return ""
    numbers = [theirs.mean] if theirs.spread is None else [theirs.mean, theirs.spread]
    text = " ± ".join(theirs.printed or [shown(x, entry.metric.decimals) for x in numbers])
    return f"{text} ⋆" if "published worse" in entry.marks else text


def _away(entry: Entry) -> str:
    if entry.away is None:
        return ""
    return "=" if entry.equal else shown(entry.away, 2, sign=True)


def _grouped(found: Sequence[Entry]) -> list[list[Entry]]:
    """Entries of one line: those of a set, a method and a place."""
    groups: dict[Any, list[Entry]] = {}
    for entry in found:
        groups.setdefault((entry.set, entry.method.name, entry.at), []).append(entry)
    return list(groups.values())
