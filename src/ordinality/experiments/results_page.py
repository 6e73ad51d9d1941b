"""Ours beside theirs: an experiment and its rows as a table with marks, a verdict, a figure.

Distances are in published standard deviations, above zero where ours is worse. A mean is
*reproduced* if it lies within half a published deviation of the published mean, on either side,
and *not worse* if it is at most half a deviation worse. Means over fewer partitions than there
are say so; a cell without any row is "missing", and one whose rows are failures "failed".

A table is written as Markdown, as a page of HTML, or as plain data for JSON; `page` writes all
tables as one page. The figure of an experiment has curves over the axis that its spec names, or
what `Spec.draw` makes. A table without an axis is drawn by its ranks: mean rank of each method
over the sets, with the difference that matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from ordinality.experiments.compare import (
    friedman,
    listed,
    nemenyi_critical_difference,
    rank_sum,
)
from ordinality.experiments.spec import Method, Metric, Published, Spec

__all__ = [
    "HALF",
    "Agreement",
    "ResultEntry",
    "ResultTable",
    "as_data",
    "by_method",
    "draw",
    "entries",
    "html",
    "markdown",
    "marked",
    "means",
    "own",
    "page",
    "shown",
    "table",
    "verdict",
]

Rows = Mapping[str, Mapping[str, Any]]  # by the key of the cell

SHOWN = 6  # places of a curve that a table lists
HALF = 0.5  # published standard deviations
WIDE = 30.0  # ratio of the axis' ends from which powers read better


@dataclass(frozen=True, eq=False)
class ResultEntry:
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
class ResultTable:
    """A report as text in lines and columns; what is bold is listed by its place."""

    spec: Spec
    titles: list[str]
    lines: list[list[str]]
    verdict: str
    bold: frozenset[tuple[int, int]] = frozenset()
    entries: list[ResultEntry] = field(default_factory=list)


def table(spec: Spec, rows: Rows) -> ResultTable:
    """Set the means of an experiment beside the published ones.

    Parameters
    ----------
    spec : Spec
        The experiment.
    rows : mapping of str to mapping
        Its rows, as `Store.rows` gives them. What has no row is "missing".

    Returns
    -------
    table : ResultTable
        With ``titles`` of the columns, ``lines`` of text, a ``verdict`` in words, and the
        numbers behind them as ``entries``.

    Examples
    --------
    >>> from ordinality.experiments import Method, Metric, Spec, table
    >>> spec = Spec("demo/table-1", "A demonstration", "nowhere", "demo", sets=("a",),
    ...             partitions=1, methods=(Method("guess", "Guess", lambda problem, seed: {}),),
    ...             metrics=(Metric("mae", "absolute error"),), problem=lambda name, k: None)
    >>> row = {"metrics": {"mae": 0.5}}
    >>> table(spec, {cell.key: row for cell in spec.cells()}).lines
    [['a', 'Guess', '0.500']]
    """
    if spec.build is not None:
        built: ResultTable = spec.build(spec, rows)
        return built
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
    return ResultTable(spec, titles, lines, verdict(spec, found), frozenset(bold), found)


# ------------------------------------------------------------------------------ entries


def entries(spec: Spec, rows: Rows) -> list[ResultEntry]:
    """Every mean of the table, set by set; methods beyond the paper only if they have rows."""
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
) -> ResultEntry:
    key = metric.name + method.suffix
    has_it = method.name in (metric.methods or [method.name])
    values = [row["metrics"].get(key) for row in done if has_it and "error" not in row]
    if at is not None:
        values = [value[at] for value in values if value is not None]
    theirs = spec.published.get((name, method.column or method.name, metric.name))
    return ResultEntry(
        name, method, metric,
        np.array([value for value in values if value is not None], dtype=np.float64),
        spec.partitions_of(name) if has_it else 0, sum("error" in row for row in done),
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
    """Means by set, method and metric, in the units of the rows, of what is complete."""
    return {
        (e.set, e.method.name, e.metric.name): float(np.mean(e.values))
        for e in entries(spec, rows)
        if 0 < e.wanted == e.values.size
    }


# ------------------------------------------------------------------------------ marks


def marked(spec: Spec, found: Sequence[ResultEntry]) -> list[ResultEntry]:
    """The entries with the marks that the paper would set, in ours and in theirs."""
    rivals: dict[Any, list[ResultEntry]] = {}
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


def _printed_marks(spec: Spec, entry: ResultEntry) -> frozenset[str]:
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


def _marks(spec: Spec, entry: ResultEntry, rivals: list[ResultEntry]) -> frozenset[str]:
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


def _worse(
    spec: Spec, entry: ResultEntry, best: ResultEntry, computed: list[ResultEntry], sign: float
) -> bool:
    named = [r for r in computed if r.method.name == spec.marks.against]
    other = named[0] if named else best
    if entry is other or sign * (entry.mean - other.mean) <= 0:
        return False
    return rank_sum(entry.values, other.values).p_value < spec.marks.level


# ------------------------------------------------------------------------------ cells as text


def shown(value: float, decimals: int, *, sign: bool = False) -> str:
    """A number with a true minus."""
    text = f"{value:+.{decimals}f}" if sign else f"{value:.{decimals}f}"
    return text.replace("-", "−")


def _ours(entry: ResultEntry) -> str:
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


def _theirs(entry: ResultEntry) -> str:
    theirs = entry.theirs
    if theirs is None:
        return ""
    numbers = [theirs.mean] if theirs.spread is None else [theirs.mean, theirs.spread]
    text = " ± ".join(theirs.printed or [shown(x, entry.metric.decimals) for x in numbers])
    return f"{text} ⋆" if "published worse" in entry.marks else text


def _away(entry: ResultEntry) -> str:
    if entry.away is None:
        return ""
    return "=" if entry.equal else shown(entry.away, 2, sign=True)


def _grouped(found: Sequence[ResultEntry]) -> list[list[ResultEntry]]:
    """Entries of one line: those of a set, a method and a place."""
    groups: dict[Any, list[ResultEntry]] = {}
    for entry in found:
        groups.setdefault((entry.set, entry.method.name, entry.at), []).append(entry)
    return list(groups.values())


# ------------------------------------------------------------------------------ agreement


@dataclass(frozen=True)
class Agreement:
    """Numbers of means that are judged, reproduced and not worse."""

    judged: int
    reproduced: int
    not_worse: int

    @classmethod
    def of(cls, found: Iterable[ResultEntry]) -> Agreement:
        """Counts over the entries that have a published mean and deviation."""
        away = [entry.away for entry in found if entry.away is not None]
        return cls(len(away), sum(abs(a) <= HALF for a in away), sum(a <= HALF for a in away))

    def __str__(self) -> str:
        return f"{self.reproduced} and {self.not_worse} of {self.judged}"


def own(found: Iterable[ResultEntry]) -> list[ResultEntry]:
    """Entries of the paper's own columns, without what is only set beside one of them."""
    return [e for e in found if not e.method.optional and not e.method.column]


def by_method(found: Iterable[ResultEntry]) -> dict[str, Agreement]:
    """Counts by the title of the method, of methods with something to judge."""
    judged = [entry for entry in found if entry.away is not None]
    titles = dict.fromkeys(entry.method.title for entry in judged)
    return {t: Agreement.of(e for e in judged if e.method.title == t) for t in titles}


def verdict(spec: Spec, found: Sequence[ResultEntry]) -> str:
    """How many means agree with the published ones, and which are far off, a line for each."""
    wanted = [entry for entry in found if not entry.method.optional and entry.wanted]
    computed = [entry for entry in wanted if entry.values.size]
    if not computed:
        return f"None of the {len(wanted)} means has been computed."
    paper = own(found)
    judged = [entry for entry in paper if entry.away is not None]
    beside = by_method(entry for entry in found if entry not in paper)
    words = _agreement(judged)
    if not spec.published:
        words.append("There are no published numbers to compare with.")
    if beside:
        words.append(f"Set beside the same columns: {_by_title(beside)}.")
    words += _gaps(spec, wanted, computed) + _equal(paper) + _far(judged)
    return "\n".join(words)


def _agreement(judged: Sequence[ResultEntry]) -> list[str]:
    if not judged:
        return []
    all_ = Agreement.of(judged)
    words = [
        f"Reproduced: {all_.reproduced} of {all_.judged} means "
        f"({all_.reproduced / all_.judged:.0%}) are within half a published standard deviation "
        "of the published mean, on either side.",
        f"Not worse: {all_.not_worse} of {all_.judged} ({all_.not_worse / all_.judged:.0%}) "
        "are at most half a deviation worse.",
    ]
    methods = by_method(judged)
    if len(methods) > 1:
        words.append(f"Reproduced and not worse by method: {_by_title(methods)}.")
    return words


def _gaps(
    spec: Spec, wanted: Sequence[ResultEntry], computed: Sequence[ResultEntry]
) -> list[str]:
    words = []
    if len(computed) < len(wanted):
        words.append(f"{len(wanted) - len(computed)} of {len(wanted)} means are missing.")
    partial = sum(entry.values.size < entry.wanted for entry in computed)
    if partial:
        words.append(f"{partial} are over fewer than {spec.partitions} partitions.")
    return words


def _equal(paper: Sequence[ResultEntry]) -> list[str]:
    """Of each method, how many means and deviations have every printed digit."""
    equal = [entry.method.title for entry in paper if entry.equal]
    if not equal:
        return []
    counts = [f"{title} {equal.count(title)}" for title in dict.fromkeys(equal)]
    return [
        "Mean and deviation equal the published ones in every printed digit (=): "
        f"{'; '.join(counts)}."
    ]


def _far(judged: Sequence[ResultEntry]) -> list[str]:
    """Names of what is more than one published deviation worse, the furthest first."""
    distance = {entry: entry.away for entry in judged if entry.away is not None}
    off = sorted((e for e in distance if distance[e] > 1), key=distance.__getitem__)[::-1]
    names = [
        f"{e.set.replace('_', ' ')} {e.method.title} {e.metric.title} ({distance[e]:+.2f})"
        for e in off
    ]
    words = [f"Worse by more than one deviation: {listed(names)}."] if names else []
    better = sum(away < -1 for away in distance.values())
    if better:
        words.append(f"{better} better by more than one deviation.")
    return words


def _by_title(methods: dict[str, Agreement]) -> str:
    return "; ".join(f"{title} {counts}" for title, counts in methods.items())


# ------------------------------------------------------------------------------ as a document


STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}th,td{padding:.15em .7em;text-align:right}"
    "th:nth-child(-n+2),td:nth-child(-n+2){text-align:left}"
    "thead th{border-bottom:1px solid}@media print{body{margin:0}}"
)


def markdown(table: ResultTable, *, level: int = 1) -> str:
    """The report in Markdown: heading, source, verdict, table, notes."""
    spec = table.spec
    said = table.verdict.splitlines()
    parts = [f"{'#' * level} {spec.name}: {spec.title}", f"{spec.source}."]
    parts.append("\n".join(f"- {_plain(line)}" for line in said) if len(said) > 1 else said[0])
    parts.append("\n".join(_markdown_lines(table)))
    parts.append("\n".join(f"- {_plain(note)}" for note in spec.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_lines(table: ResultTable) -> Iterable[str]:
    yield f"| {' | '.join(map(_plain, table.titles))} |"
    yield f"|{'|'.join('---' if i < 2 else '--:' for i in range(len(table.titles)))}|"
    for i, line in enumerate(table.lines):
        cells = [
            f"**{_plain(text)}**" if (i, j) in table.bold else _plain(text)
            for j, text in enumerate(line)
        ]
        yield f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, inside a table too."""
    for sign in "\\|<`":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")


def html(table: ResultTable) -> str:
    """The report as one page of HTML that needs nothing else."""
    spec = table.spec
    title = escape(f"{spec.name}: {spec.title}")
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in table.titles)
    body = "\n".join(
        "<tr>" + "".join(_html_cell(table, i, j) for j in range(len(line))) + "</tr>"
        for i, line in enumerate(table.lines)
    )
    verdict = escape(table.verdict).replace("\n", "<br>")
    notes = "".join(f"<li>{escape(note)}</li>\n" for note in spec.notes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f"<style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{escape(spec.source)}.</p>\n"
        f"<p>{verdict}</p>\n<table><thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table>\n<ul>\n{notes}</ul>\n</body></html>\n"
    )


def _html_cell(table: ResultTable, i: int, j: int) -> str:
    text = escape(table.lines[i][j])
    return f"<td><b>{text}</b></td>" if (i, j) in table.bold else f"<td>{text}</td>"


def as_data(table: ResultTable) -> dict[str, Any]:
    """The report as dicts and lists."""
    return {
        "name": table.spec.name,
        "title": table.spec.title,
        "source": table.spec.source,
        "verdict": table.verdict,
        "agreement": {
            **asdict(Agreement.of(own(table.entries))),
            "methods": {t: asdict(of) for t, of in by_method(table.entries).items()},
        },
        "titles": table.titles,
        "lines": table.lines,
        "entries": [_rendered_entry(entry) for entry in table.entries],
        "notes": list(table.spec.notes),
    }


def _rendered_entry(e: ResultEntry) -> dict[str, Any]:
    return {
        "set": e.set,
        "method": e.method.name,
        "metric": e.metric.name,
        "at": e.at,
        "ours": {"mean": e.mean, "spread": e.spread if e.values.size > 1 else None,
                 "partitions": int(e.values.size)} if e.values.size else None,
        "failed": e.failed,
        "published": None if e.theirs is None
        else {"mean": e.theirs.mean, "spread": e.theirs.spread},
        "away": e.away,
        "reproduced": None if e.away is None else abs(e.away) <= HALF,
        "not_worse": None if e.away is None else e.away <= HALF,
        "equal": e.equal,
        "marks": sorted(e.marks),
    }  # fmt: skip


# ------------------------------------------------------------------------------ one page


INTRO = """\
# Beside the published tables

Every table and figure of four papers, ours beside theirs, and two experiments of our own,
[the league](league.md) and [schemes for large data](large-data.md). This page is written by
`ordinality reproduce --page docs/results.md --results results` from the rows in the
folder `results`; `ordinality reproduce gpor/table-2` computes a table anew, and
`ordinality reproduce gpor/table-2 --check 10` computes ten stored rows again and compares.

*Away* is the difference of the means in published standard deviations, below zero
where ours is better; `=` says that mean and deviation have every printed digit.
A mean is *reproduced* if it is within half a published deviation of the published mean,
on either side, and *not worse* if it is at most half a deviation worse.

Bold is what the paper's rule prints in bold: the best mean of a set, or what lies within
one standard error of it. A star marks what Wilcoxon's rank-sum test finds worse than
the best at the level 0.01. In published columns, stars are those that the paper prints.
So is the bold type of the preference paper; the texts of the other three have lost it, and it
is set by the rule of the caption. What has not been computed is *missing*.

The *prior* is that of the parameters which a method learns (kernel, noise, thresholds).
*Weak prior* is the default of this package, see [hyperpriors](hyperpriors.md); *evidence alone*
is no prior, as in the papers.
"""


TIME = """\
## Time

What the papers say about time, and the processor seconds of our rows: mean over sets and
partitions of one cell, which is everything from the training rows to the errors on the test
rows. The cell of an SVM holds a search for each error; they share the coarse grid. Rows that
were computed before processor time was kept hold seconds of the clock on the wall.
"""


def page(tables: Iterable[ResultTable], times: Iterable[Sequence[str]] = ()) -> str:
    """All reports as one page of Markdown, which begins with what they come to.

    `times` are lines of the table of time: source, claim, data, method, seconds.
    """
    tables = list(tables)
    summary = [
        "| experiment | means | reproduced | not worse | set beside: reproduced, not worse |",
        "|---|--:|--:|--:|---|",
        *map(_summary, tables),
        "",
    ]
    sections = [markdown(table, level=2) for table in tables]
    return "\n".join([INTRO, "\n".join(summary), _time(times), "\n".join(sections)])


def _summary(table: ResultTable) -> str:
    """A line of the table that opens the page; the verdict where nothing is counted."""
    name = f"[{table.spec.name}](#{_anchor(table)})"
    paper = own(table.entries)
    counts = Agreement.of(paper)
    if not counts.judged:
        return f"| {name} | | | | {_plain(table.verdict)} |"
    beside = by_method(entry for entry in table.entries if entry not in paper)
    others = "; ".join(f"{title} {of}" for title, of in beside.items())
    numbers = f"{counts.judged} | {counts.reproduced} | {counts.not_worse}"
    return f"| {name} | {numbers} | {_plain(others)} |"


def _time(times: Iterable[Sequence[str]]) -> str:
    """The section about time; a claim is written once, before the first of its lines."""
    lines, said = [], ""
    for source, claim, data, method, seconds in times:
        words = "" if claim == said else f"{source}: {claim}"
        said = claim
        lines.append(f"| {_plain(words)} | {data} | {_plain(method)} | {seconds} |")
    if not lines:
        return ""
    head = ["| the paper | data | ours | seconds |", "|---|---|---|--:|"]
    return "\n".join([TIME, *head, *lines, ""])


def _anchor(table: ResultTable) -> str:
    """The address that a heading of Markdown gets."""
    title = f"{table.spec.name}: {table.spec.title}".lower()
    kept = "".join(sign for sign in title if sign.isalnum() or sign in " -_")
    return kept.replace(" ", "-")


# ------------------------------------------------------------------------------ figure


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
