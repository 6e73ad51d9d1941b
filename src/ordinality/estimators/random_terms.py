"""Grouping columns of a table: which columns have random effects, and their groups."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..cumulative.group_effects import EffectPosterior
from ..cumulative.group_factor import MAX_REST, Term
from ..cumulative.mixed import MixedFit
from ..levels import as_labels

__all__ = [
    "GroupEffects",
    "RandomEffects",
    "RandomTerm",
    "as_table",
    "check_sizes",
    "find_terms",
    "without_groups",
]

_FAR = 10.0  # a standard deviation that is some six of the noise


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
            _numbers(_columns_of(X, [j]), name)
            for j, name in zip(self.columns[1:], self.names[1:], strict=True)
        ]
        design = np.column_stack([np.ones(len(labels)), *slopes])
        return Term(groups, design, len(self.groups))


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """Effects of the groups of a term, at their conditional modes."""

    groups: np.ndarray  # (G,), labels, sorted
    effects: tuple[str, ...]  # what each multiplies: "intercept", then columns of slopes
    modes: np.ndarray  # (G, r)
    deviations: np.ndarray  # (G, r), given the data, with all parameters at their estimates

    def __repr__(self) -> str:
        return f"GroupEffects({len(self.groups)} groups, {', '.join(self.effects)})"


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """All terms of a fitted model, with what predictions need of them."""

    terms: tuple[RandomTerm, ...]
    factors: tuple[np.ndarray, ...]  # L of each term, (r, r)
    modes: tuple[np.ndarray, ...]  # (G, r)
    deviations: tuple[np.ndarray, ...]  # (G, r)
    posterior: EffectPosterior

    @classmethod
    def of(cls, terms: Sequence[RandomTerm], fit: MixedFit) -> RandomEffects:
        spread = (np.sqrt(np.einsum("gaa->ga", cov)) for cov in fit.mode_covariances)
        return cls(tuple(terms), fit.factors, fit.modes, tuple(spread), fit.effects)

    def moments(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the sum of effects in each row of a table."""
        read = [term.read(X) for term in self.terms]
        return self.posterior.moments([t.groups for t in read], [t.design for t in read])

    def groups(self, X: Any) -> np.ndarray:
        """Number of the group of each row in each term, (terms, n)."""
        return np.array([term.read(X).groups for term in self.terms])

    def variance_slopes(self, X: Any) -> np.ndarray:
        """Slopes of the variances of `moments` in the parameters of the terms, (n, q).

        The effects of known groups are held: only those of groups never seen have a slope.
        """
        found = []
        for term, L in zip(self.terms, self.factors, strict=True):
            read = term.read(X)
            twice = np.where(read.groups < 0, 2.0, 0.0)
            A = read.design @ L
            for a, b in zip(*np.tril_indices(len(L)), strict=True):
                unit = L[a, a] if a == b else 1.0  # of the diagonal the logarithm is estimated
                found.append(twice * read.design[:, a] * A[:, b] * unit)
        return np.column_stack(found)

    def covariances(self) -> dict[str, np.ndarray]:
        """Covariance of the effects of a group, by grouping column."""
        return {t.name: L @ L.T for t, L in zip(self.terms, self.factors, strict=True)}

    def by_group(self) -> dict[str, GroupEffects]:
        """Conditional modes with deviations, by grouping column."""
        return {
            term.name: GroupEffects(term.groups, term.effects, modes, deviations)
            for term, modes, deviations in zip(
                self.terms, self.modes, self.deviations, strict=True
            )
        }

    def facts(self) -> dict[str, str]:
        """A line on each term, for a summary."""
        lines = {}
        for term, L in zip(self.terms, self.factors, strict=True):
            sd = np.sqrt(np.sum(L**2, axis=1))
            shown = [f"{effect} sd {s:.4f}" for effect, s in zip(term.effects, sd, strict=True)]
            for a, b in itertools.combinations(range(len(L)), 2):
                if sd[a] * sd[b] > 0:
                    r = (L @ L.T)[a, b] / (sd[a] * sd[b])
                    shown.append(f"correlation {r:.3f}")
            lines[f"random effects of {term.name}"] = ", ".join(
                [f"{len(term.groups)} groups", *shown]
            )
        return lines

    def notes(self, read: Sequence[Term], nodes: int) -> list[str]:
        """What is worth knowing about the groups, in plain sentences."""
        found = []
        for term, L, rows in zip(self.terms, self.factors, read, strict=True):
            counts = np.bincount(rows.groups, minlength=rows.n_groups)
            single, mean = int(np.count_nonzero(counts == 1)), counts.mean()
            largest = np.sqrt(np.max(np.sum((rows.design @ L) ** 2, axis=1)))
            if np.any(np.diag(L) == 0.0):
                found.append(
                    f"a variance of {term.name!r} is estimated as zero: given the rest, rows "
                    "of one group are no more alike than rows of different groups."
                )
            if largest > _FAR:
                found.append(
                    f"effects of {term.name!r} have a standard deviation of {largest:.3g} in "
                    "some row, far beyond the noise: its groups nearly determine the level, "
                    "where the integral over effects is approximated badly."
                )
            if single:
                found.append(
                    f"{single} of {len(counts)} groups of {term.name!r} have one row, which "
                    "says little about their effects."
                )
            if nodes == 1 and mean < 5:
                found.append(
                    f"the groups of {term.name!r} have {mean:.1f} rows on average; with fewer "
                    "than five, Laplace's method underestimates variances."
                )
        return found


def as_table(X: Any) -> Any:
    """A data frame or an array with two axes; nested lists become an array of objects."""
    if not hasattr(X, "shape"):
        X = np.array(X, dtype=object)
    if len(X.shape) != 2:
        raise ValueError(
            f"X has shape {X.shape}; pass a table of rows and columns, one of which groups "
            "the rows."
        )
    return X


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
                f"the grouping column {term.name!r} has only one group, "
                f"{term.groups[0].item()!r}; random effects need two or more, so leave it out."
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


def without_groups(X: Any, terms: Sequence[RandomTerm]) -> Any:
    """The table with zeros in its grouping columns, which need not be numbers."""
    if hasattr(X, "columns"):
        import narwhals as nw

        names = [X.columns[term.columns[0]] for term in terms]
        zeros = [nw.lit(0.0).alias(name) for name in names]
        return nw.from_native(X, eager_only=True).with_columns(*zeros).to_native()
    if hasattr(X, "toarray"):  # numbers, and the grouping columns have no location effect
        return X
    X = X.astype(object) if X.dtype.kind in "US" else X.copy()
    X[:, [term.columns[0] for term in terms]] = 0
    return X


def _columns_of(X: Any, places: Sequence[int] | np.ndarray) -> Any:
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
    column = _columns_of(X, [place])
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
