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

from ordinality.experiments.compare import rank_sum
from ordinality.experiments.values import Method, Metric, Published, Spec
from ordinality.experiments.words import listed

__all__ = ["Entry", "Table", "agreement", "entries", "marked", "means", "shown", "table"]

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
    marks: frozenset[str] = frozenset()  # "best", "worse"; "published best"

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
    >>> from ordinality.experiments.specs import get
    >>> report = table(get("gpor/table-2"), {})
    >>> report.lines[0][:4]
    ['diabetes 5', 'SVM', 'missing', '57.31 ± 12.09']
    >>> report.verdict
    'None of the 54 cells has been computed.'
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
    return Table(spec, titles, lines, agreement(spec, found), frozenset(bold), found)


# ------------------------------------------------------------------------------ entries


def entries(spec: Spec, rows: Rows) -> list[Entry]:
    """Every mean of the table, set by set; methods beyond the paper only if they have rows.

    Examples
    --------
    >>> from ordinality.experiments.specs import get
    >>> len(entries(get("gpor/table-2"), {}))
    54
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
    >>> from ordinality.experiments.specs import get
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
    >>> from ordinality.experiments.specs import get
    >>> spec = get("gpor/table-2")
    >>> first, *_ = marked(spec, entries(spec, {}))
    >>> sorted(first.marks)
    []
    """
    from dataclasses import replace

    rivals: dict[Any, list[Entry]] = {}
    for entry in found:
        if not entry.method.optional:
            rivals.setdefault((entry.set, entry.metric.name, entry.at), []).append(entry)
    return [
        replace(e, marks=_marks(spec, e, rivals.get((e.set, e.metric.name, e.at), [])))
        for e in found
    ]


def _marks(spec: Spec, entry: Entry, rivals: list[Entry]) -> frozenset[str]:
    marks = set()
    sign = -1.0 if entry.metric.higher_is_better else 1.0
    printed = [r for r in rivals if r.theirs is not None]
    if entry in rivals and entry.theirs is not None and len(printed) > 1:
        lowest = min(printed, key=lambda r: sign * r.theirs.mean)  # type: ignore[union-attr]
        assert lowest.theirs is not None
        slack = (lowest.theirs.spread or 0.0) if spec.marks.rule == "standard-error" else 0.0
        if sign * (entry.theirs.mean - lowest.theirs.mean) <= slack:
            marks.add("published best")
    computed = [r for r in rivals if r.values.size]
    if entry in computed and len(computed) > 1:
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
    if entry.theirs is None:
        return ""
    text = shown(entry.theirs.mean, entry.metric.decimals)
    if entry.theirs.spread is None:
        return text
    return f"{text} ± {shown(entry.theirs.spread, entry.metric.decimals)}"


def _away(entry: Entry) -> str:
    return "" if entry.away is None else shown(entry.away, 2, sign=True)


def _grouped(found: Sequence[Entry]) -> list[list[Entry]]:
    """Entries of one line: those of a set, a method and a place."""
    groups: dict[Any, list[Entry]] = {}
    for entry in found:
        groups.setdefault((entry.set, entry.method.name, entry.at), []).append(entry)
    return list(groups.values())


# ------------------------------------------------------------------------------ verdict


def agreement(spec: Spec, found: Sequence[Entry]) -> str:
    """How many means agree with the published ones, and which do not.

    Examples
    --------
    >>> from ordinality.experiments.specs import get
    >>> agreement(get("preference/figure-3"), entries(get("preference/figure-3"), {}))
    'None of the 36 cells has been computed.'
    """
    own = [entry for entry in found if not entry.method.optional and entry.wanted]
    computed = [entry for entry in own if entry.values.size]
    if not computed:
        return f"None of the {len(own)} cells has been computed."
    words = []
    judged = [entry for entry in computed if entry.away is not None]
    if judged:
        words += _near(judged)
    elif not spec.published:
        words.append("The paper prints no numbers to compare with.")
    words += _beside(found)
    missing = len(own) - len(computed)
    if missing:
        words.append(f"{missing} of {len(own)} cells are missing.")
    partial = sum(entry.values.size < entry.wanted for entry in computed)
    if partial:
        words.append(f"{partial} are over fewer than {spec.partitions} partitions.")
    return " ".join([*words, *_far(judged)])


def _near(judged: Sequence[Entry]) -> list[str]:
    n, half = len(judged), sum(_distance(e) <= 0.5 for e in judged)
    one = sum(_distance(e) <= 1 for e in judged)
    words = [
        f"{half} of {n} cells ({half / n:.0%}) are within half a published standard deviation "
        f"or better, {one - half} more within one, {n - one} are not."
    ]
    if len({e.method.name for e in judged}) > 1:
        words.append(f"Within half: {_counts(judged)}.")
    return words


def _far(judged: Sequence[Entry]) -> list[str]:
    """What is beyond one published deviation, the furthest first."""
    off = sorted((e for e in judged if _distance(e) > 1), key=_distance, reverse=True)
    names = [
        f"{e.set.replace('_', ' ')} {e.method.title} {e.metric.title} ({_away(e)})" for e in off
    ]
    return [f"Beyond one: {listed(names)}."] if names else []


def _beside(found: Sequence[Entry]) -> list[str]:
    """How the methods beyond the paper stand to the columns they are set beside."""
    judged = [e for e in found if e.method.optional and e.away is not None]
    if not judged:
        return []
    return [f"Beside the same columns: {_counts(judged)}."]


def _counts(judged: Sequence[Entry]) -> str:
    titles = dict.fromkeys(e.method.title for e in judged)
    near = {t: [_distance(e) <= 0.5 for e in judged if e.method.title == t] for t in titles}
    return ", ".join(f"{t} {sum(of)} of {len(of)}" for t, of in near.items())


def _distance(entry: Entry) -> float:
    assert entry.away is not None
    return entry.away
