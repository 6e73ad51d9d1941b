"""Tables that print: coefficients and tests of an `OrdinalRegression`, and their base."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "ModelComparison",
    "PrintedTable",
    "ProbabilityIntervals",
    "RegressionSummary",
    "RegularizationPath",
    "TermTests",
]


class ProbabilityIntervals(NamedTuple):
    """Probabilities of the levels with their uncertainty, each of shape (n, K)."""

    lower: np.ndarray
    upper: np.ndarray
    proba: np.ndarray
    standard_error: np.ndarray


class RegularizationPath(NamedTuple):
    """Estimates for descending penalties, one row for each."""

    alphas: np.ndarray  # (A,)
    coef: np.ndarray  # (A, location columns)
    thresholds: np.ndarray  # (A, K - 1)
    log_likelihood: np.ndarray  # (A,)


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """Named rows of numbers, with facts above and notes below."""

    title: str
    names: tuple[str, ...]
    columns: Mapping[str, np.ndarray]
    facts: Mapping[str, str]
    notes: tuple[str, ...]

    def to_frame(self) -> Any:
        """The numbers as a pandas data frame, one row for each name, columns as printed.

        Returns
        -------
        frame : pandas.DataFrame
            Indexed by the names.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "to_frame() returns a pandas data frame, and pandas is not installed; install "
                "it with pip install pandas, or read `names` and `columns`."
            ) from None
        return pandas.DataFrame(dict(self.columns), index=list(self.names))

    def __str__(self) -> str:
        rows = [["", *self.columns], *self._cells()]
        widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = [self.title, *(f"{name}: {value}" for name, value in self.facts.items()), ""]
        for name, *cells in rows:
            numbers = [cell.rjust(w) for cell, w in zip(cells, widths[1:], strict=True)]
            lines.append("  ".join([name.ljust(widths[0]), *numbers]).rstrip())
        return "\n".join([*lines, *(f"\nNote: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *self.columns))
        body = "".join(
            "<tr><th>" + "</th><td>".join([html.escape(row[0]), "</td><td>".join(row[1:])])
            + "</td></tr>"
            for row in self._cells()
        )  # fmt: skip
        facts = "<br>".join(
            html.escape(f"{name}: {value}") for name, value in self.facts.items()
        )
        notes = "".join(f"<p>Note: {html.escape(note)}</p>" for note in self.notes)
        return (
            f"<div><strong>{html.escape(self.title)}</strong><p>{facts}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"
        )

    def _cells(self) -> list[list[str]]:
        return [
            [name, *(self._cell(key, values[i]) for key, values in self.columns.items())]
            for i, name in enumerate(self.names)
        ]

    def _cell(self, column: str, value: float) -> str:
        return _number(column, value)


def _number(column: str, value: float) -> str:
    """A number as a table shows it; nothing where there is none."""
    if np.isnan(value):
        return "-"
    if column == "p" or column.endswith(" p"):
        return "<0.0001" if value < 1e-4 else f"{value:.4f}"
    if column in ("df", "parameters"):
        return f"{value:.0f}"
    return f"{value:.4f}" if abs(value) < 1e5 else f"{value:.4g}"


@dataclass(frozen=True, eq=False)
class RegressionSummary(PrintedTable):
    """Estimates of an `OrdinalRegression` with standard errors, tests and intervals.

    Prints as a table, shows as one in notebooks, and gives a data frame by ``to_frame()``.
    """


@dataclass(frozen=True, eq=False)
class TermTests(PrintedTable):
    """Tests of one hypothesis for each term of an `OrdinalRegression`.

    ``columns`` has statistics, degrees of freedom and p-values by name, ``names`` the terms.
    """


@dataclass(frozen=True, eq=False)
class ModelComparison(PrintedTable):
    """Likelihood-ratio test of two nested `OrdinalRegression` models."""

    statistic: float  # twice the difference of the log-likelihoods
    df: int  # difference of the numbers of parameters
    p_value: float  # probability of a larger statistic if the smaller model is true
