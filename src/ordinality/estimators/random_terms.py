"""Grouping columns of a table: which columns have random effects, and their groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..cumulative.group_factor import MAX_REST, Term
from ..levels import as_labels

__all__ = ["GroupEffects", "RandomTerm", "check_sizes", "columns_of", "find_terms", "rest_of"]


@dataclass(frozen=True, eq=False)
class RandomTerm:
    """Effects of the groups of one column: an intercept, and slopes of other columns."""

    names: tuple[str, ...]  # of the grouping column and of the slopes
    columns: tuple[int, ...]  # their places
    groups: np.ndarray  # (G,), labels, sorted

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def effects(self) -> tuple[str, ...]:
        """What each effect of a group multiplies."""
        return ("intercept", *self.names[1:])

    @property
    def parameter_names(self) -> list[str]:
        """Of the lower triangle of L by rows, with the log of its diagonal."""
        found = []
        for a, row in enumerate(self.effects):
            found += [f"{self.name}: {row} on {column}" for column in self.effects[:a]]
            held = " | " + ", ".join(self.effects[:a]) if a else ""
            found.append(f"{self.name}: log sd({row}{held})")
        return found

    def read(self, X: Any) -> Term:
        """Groups and design of the rows; -1 is the group of a label never seen."""
        labels = _labels(X, self.columns[0], self.name)
        if labels.dtype.kind != self.groups.dtype.kind and "U" in (
            labels.dtype.kind, self.groups.dtype.kind
        ):  # fmt: skip
            kinds = ("text", "numbers") if labels.dtype.kind == "U" else ("numbers", "text")
            raise ValueError(
                f"the grouping column {self.name!r} holds {kinds[0]}, but held {kinds[1]} when "
                "the model was fitted; write its labels in the same way."
            )
        at = np.minimum(np.searchsorted(self.groups, labels), len(self.groups) - 1)
        groups = np.where(self.groups[at] == labels, at, -1)
        slopes = [
            _numbers(columns_of(X, [j]), name)
            for j, name in zip(self.columns[1:], self.names[1:], strict=True)
        ]
        design = np.column_stack([np.ones(len(labels)), *slopes])
        return Term(groups, design, len(self.groups))


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """Effects of the groups of a term, at their conditional modes.

    Attributes
    ----------
    groups : ndarray of shape (G,)
        Labels of the groups, sorted.
    effects : tuple of str
        What each effect multiplies: ``"intercept"``, then the columns of the slopes.
    modes : ndarray of shape (G, r)
        Conditional modes.
    deviations : ndarray of shape (G, r)
        Their standard deviations given the data, with all parameters at their estimates.
    """

    groups: np.ndarray
    effects: tuple[str, ...]
    modes: np.ndarray
    deviations: np.ndarray

    def __repr__(self) -> str:
        return f"GroupEffects({len(self.groups)} groups, {', '.join(self.effects)})"


def find_terms(random: Any, X: Any) -> list[RandomTerm]:
    """The terms that `random` names: a column, a tuple (group, slope), a list of these."""
    given = random if isinstance(random, list) else [random]
    names, terms = _column_names(X), []
    for term in given:
        parts = term if isinstance(term, tuple) else (term,)
        if not parts:
            raise ValueError("random holds an empty tuple; name the grouping column in it.")
        places = tuple(_place(part, names) for part in parts)
        labels = _labels(X, places[0], names[places[0]])
        found = tuple(names[p] for p in places)
        terms.append(RandomTerm(found, places, np.unique(labels)))
    _check_distinct(terms)
    return terms


def _check_distinct(terms: Sequence[RandomTerm]) -> None:
    grouping = [term.columns[0] for term in terms]
    for term in terms:
        if grouping.count(term.columns[0]) > 1:
            raise ValueError(
                f"random names the grouping column {term.name!r} twice; write its slopes in "
                "one tuple, which has the intercept too."
            )
        if len(set(term.columns)) < len(term.columns) or set(term.columns[1:]) & set(grouping):
            raise ValueError(
                f"random has a slope of a grouping column in the term of {term.name!r}; a "
                "slope takes a column of numbers."
            )
        if len(term.groups) < 2:
            raise ValueError(
                f"the grouping column {term.name!r} has only one group, {term.groups[0]!r}; "
                "random effects need two or more, so leave it out."
            )


def check_sizes(terms: Sequence[Term]) -> None:
    """Refuse terms whose Schur complement would not fit."""
    sizes = sorted(term.size for term in terms)
    if sum(sizes[:-1]) > MAX_REST:
        raise ValueError(
            f"the random effects have {sum(sizes)} values, {sum(sizes[:-1])} of them outside "
            f"the largest term; at most {MAX_REST} can be fitted there, so leave a term out or "
            "merge small groups."
        )


def rest_of(X: Any, terms: Sequence[RandomTerm]) -> np.ndarray:
    """Places of the columns that group nothing."""
    grouping = [term.columns[0] for term in terms]
    return np.setdiff1d(np.arange(len(_column_names(X))), grouping)


def columns_of(X: Any, places: Sequence[int] | np.ndarray) -> Any:
    """Some columns of a data frame or an array."""
    places = [int(p) for p in places]
    return X.iloc[:, places] if hasattr(X, "iloc") else X[:, places]


def _column_names(X: Any) -> list[str]:
    """Names of the columns; of an array their numbers."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(X.shape[1])]


def _place(column: Any, names: list[str]) -> int:
    """The place of a column given by its name or number."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    whole = isinstance(column, Integral) and not isinstance(column, bool)
    if whole and -len(names) <= int(column) < len(names):
        return int(column) % len(names)
    shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise ValueError(
        f"random names the column {column!r}, which X does not have; its columns are {shown}."
    )


def _labels(X: Any, place: int, name: str) -> np.ndarray:
    """The labels of a grouping column."""
    column = columns_of(X, [place])
    if hasattr(column, "toarray"):
        column = column.toarray()
    column = column.iloc[:, 0] if hasattr(column, "iloc") else column[:, 0]
    return as_labels(column, f"the grouping column {name!r}")


def _numbers(column: Any, name: str) -> np.ndarray:
    """A column of a slope."""
    if hasattr(column, "toarray"):
        column = column.toarray()
    try:
        values = np.asarray(column, dtype=np.float64)[:, 0]
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not np.all(np.isfinite(values)):
        raise ValueError(
            f"the column {name!r} has a random slope but holds text or missing values; encode "
            "it as numbers first."
        )
    return values
