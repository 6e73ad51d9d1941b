"""A report's table as Markdown, as a page of HTML, or as plain data for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from ordinality.experiments.agreement import HALF, Agreement, by_method, own
from ordinality.experiments.report import Entry, Table

__all__ = ["as_data", "html", "markdown", "page"]

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}th,td{padding:.15em .7em;text-align:right}"
    "th:nth-child(-n+2),td:nth-child(-n+2){text-align:left}"
    "thead th{border-bottom:1px solid}@media print{body{margin:0}}"
)


def markdown(table: Table, *, level: int = 1) -> str:
    """The report in Markdown: heading, source, verdict, table, notes.

    Examples
    --------
    >>> from ordinality.experiments.report import table
    >>> from ordinality.experiments.papers import get
    >>> print(markdown(table(get("plsor/table-5"), {})).splitlines()[0])
    # plsor/table-5: Average ranks over nine sets, and Friedman's test
    """
    spec = table.spec
    said = table.verdict.splitlines()
    parts = [f"{'#' * level} {spec.name}: {spec.title}", f"{spec.source}."]
    parts.append("\n".join(f"- {_plain(line)}" for line in said) if len(said) > 1 else said[0])
    parts.append("\n".join(_markdown_lines(table)))
    parts.append("\n".join(f"- {_plain(note)}" for note in spec.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_lines(table: Table) -> Iterable[str]:
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


def html(table: Table) -> str:
    """The report as one page of HTML that needs nothing else.

    Examples
    --------
    >>> from ordinality.experiments.report import table
    >>> from ordinality.experiments.papers import get
    >>> html(table(get("plsor/table-5"), {})).startswith("<!doctype html>")
    True
    """
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


def _html_cell(table: Table, i: int, j: int) -> str:
    text = escape(table.lines[i][j])
    return f"<td><b>{text}</b></td>" if (i, j) in table.bold else f"<td>{text}</td>"


def as_data(table: Table) -> dict[str, Any]:
    """The report as dicts and lists.

    Examples
    --------
    >>> from ordinality.experiments.report import table
    >>> from ordinality.experiments.papers import get
    >>> as_data(table(get("gpor/table-2"), {}))["entries"][0]["ours"] is None
    True
    """
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
        "entries": [_entry(entry) for entry in table.entries],
        "notes": list(table.spec.notes),
    }


def _entry(e: Entry) -> dict[str, Any]:
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


INTRO = """\
# Beside the published tables

Every table and figure of four papers, ours beside theirs. This page is written by
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


def page(tables: Iterable[Table], times: Iterable[Sequence[str]] = ()) -> str:
    """All reports as one page of Markdown, which begins with what they come to.

    `times` are lines of the table of time: source, claim, data, method, seconds.

    Examples
    --------
    >>> from ordinality.experiments.report import table
    >>> from ordinality.experiments.papers import get
    >>> page([table(get("plsor/table-5"), {})]).splitlines()[0]
    '# Beside the published tables'
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


def _summary(table: Table) -> str:
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


def _anchor(table: Table) -> str:
    """The address that a heading of Markdown gets."""
    title = f"{table.spec.name}: {table.spec.title}".lower()
    kept = "".join(sign for sign in title if sign.isalnum() or sign in " -_")
    return kept.replace(" ", "-")
