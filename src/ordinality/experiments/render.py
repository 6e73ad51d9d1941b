"""A report's table as Markdown, as a page of HTML, or as plain data for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from ordinality.experiments.report import Table

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
    >>> from ordinality.experiments.specs import get
    >>> print(markdown(table(get("plsor/table-5"), {})).splitlines()[0])
    # plsor/table-5: Average ranks over nine sets, and Friedman's test
    """
    spec = table.spec
    parts = [f"{'#' * level} {spec.name}: {spec.title}", f"{spec.source}.", table.verdict]
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
    >>> from ordinality.experiments.specs import get
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
    notes = "".join(f"<li>{escape(note)}</li>\n" for note in spec.notes)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f"<style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{escape(spec.source)}.</p>\n"
        f"<p>{escape(table.verdict)}</p>\n<table><thead><tr>{head}</tr></thead>\n"
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
    >>> from ordinality.experiments.specs import get
    >>> as_data(table(get("gpor/table-2"), {}))["entries"][0]["ours"] is None
    True
    """
    found = [
        {
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
            "marks": sorted(e.marks),
        }
        for e in table.entries
    ]  # fmt: skip
    return {
        "name": table.spec.name,
        "title": table.spec.title,
        "source": table.spec.source,
        "verdict": table.verdict,
        "titles": table.titles,
        "lines": table.lines,
        "entries": found,
        "notes": list(table.spec.notes),
    }


def page(tables: Iterable[Table]) -> str:
    """All reports as one page of Markdown, which begins with what they come to.

    Examples
    --------
    >>> from ordinality.experiments.report import table
    >>> from ordinality.experiments.specs import get
    >>> page([table(get("plsor/table-5"), {})]).splitlines()[0]
    '# Beside the published tables'
    """
    tables = list(tables)
    intro = (
        "# Beside the published tables\n\n"
        "Every table and figure of four papers, ours beside theirs. This page is written by\n"
        "`ordinality reproduce --page docs/results.md --results results` from the rows in the\n"
        "folder `results`; `ordinality reproduce gpor/table-2` computes a table anew.\n\n"
        "*Away* is the difference of the means in published standard deviations, below zero\n"
        "where ours is better. Bold is what the paper's rule prints in bold: the best mean of\n"
        "a set, or what lies within one standard error of it. A star marks what Wilcoxon's\n"
        "rank-sum test finds worse than the best at the level 0.01. Cells that have not been\n"
        "computed are *missing*.\n"
    )
    summary = ["| experiment | verdict |", "|---|---|"]
    for table in tables:
        verdict = _plain(table.verdict.partition(" Beyond one:")[0])
        summary.append(f"| [{table.spec.name}](#{_anchor(table)}) | {verdict} |")
    sections = [markdown(table, level=2) for table in tables]
    return "\n".join([intro, "\n".join(summary), "", "\n".join(sections)])


def _anchor(table: Table) -> str:
    """The address that a heading of Markdown gets."""
    title = f"{table.spec.name}: {table.spec.title}".lower()
    kept = "".join(sign for sign in title if sign.isalnum() or sign in " -_")
    return kept.replace(" ", "-")
