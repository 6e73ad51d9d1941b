"""How many means agree with the published ones, counted and in words.

A mean is *reproduced* if it lies within half a published standard deviation of the published
mean, on either side, and *not worse* if it is at most half a deviation worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ordinality.experiments.words import listed

if TYPE_CHECKING:
    from ordinality.experiments.report import Entry
    from ordinality.experiments.values import Spec

__all__ = ["HALF", "Agreement", "by_method", "own", "verdict"]

HALF = 0.5  # published standard deviations


@dataclass(frozen=True)
class Agreement:
    """Numbers of means that are judged, reproduced and not worse.

    Examples
    --------
    >>> print(Agreement(judged=18, reproduced=14, not_worse=17))
    14 and 17 of 18
    """

    judged: int
    reproduced: int
    not_worse: int

    @classmethod
    def of(cls, found: Iterable[Entry]) -> Agreement:
        """Counts over the entries that have a published mean and deviation."""
        away = [entry.away for entry in found if entry.away is not None]
        return cls(len(away), sum(abs(a) <= HALF for a in away), sum(a <= HALF for a in away))

    def __str__(self) -> str:
        return f"{self.reproduced} and {self.not_worse} of {self.judged}"


def own(found: Iterable[Entry]) -> list[Entry]:
    """Entries of the paper's own columns, without what is only set beside one of them."""
    return [e for e in found if not e.method.optional and not e.method.column]


def by_method(found: Iterable[Entry]) -> dict[str, Agreement]:
    """Counts by the title of the method, of methods with something to judge."""
    judged = [entry for entry in found if entry.away is not None]
    titles = dict.fromkeys(entry.method.title for entry in judged)
    return {t: Agreement.of(e for e in judged if e.method.title == t) for t in titles}


def verdict(spec: Spec, found: Sequence[Entry]) -> str:
    """How many means agree with the published ones, and which are far off, a line for each.

    Examples
    --------
    >>> from ordinality.experiments.report import entries
    >>> from ordinality.experiments.papers import get
    >>> verdict(get("preference/figure-3"), entries(get("preference/figure-3"), {}))
    'None of the 36 means has been computed.'
    """
    wanted = [entry for entry in found if not entry.method.optional and entry.wanted]
    computed = [entry for entry in wanted if entry.values.size]
    if not computed:
        return f"None of the {len(wanted)} means has been computed."
    paper = own(found)
    judged = [entry for entry in paper if entry.away is not None]
    beside = by_method(entry for entry in found if entry not in paper)
    words = _counted(judged)
    if not spec.published:
        words.append("The paper prints no numbers to compare with.")
    if beside:
        words.append(f"Set beside the same columns: {_listed(beside)}.")
    words += _gaps(spec, wanted, computed) + _equal(paper) + _far(judged)
    return "\n".join(words)


def _counted(judged: Sequence[Entry]) -> list[str]:
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
        words.append(f"Reproduced and not worse by method: {_listed(methods)}.")
    return words


def _gaps(spec: Spec, wanted: Sequence[Entry], computed: Sequence[Entry]) -> list[str]:
    words = []
    if len(computed) < len(wanted):
        words.append(f"{len(wanted) - len(computed)} of {len(wanted)} means are missing.")
    partial = sum(entry.values.size < entry.wanted for entry in computed)
    if partial:
        words.append(f"{partial} are over fewer than {spec.partitions} partitions.")
    return words


def _equal(paper: Sequence[Entry]) -> list[str]:
    """Of each method, how many means and deviations have every printed digit."""
    equal = [entry.method.title for entry in paper if entry.equal]
    if not equal:
        return []
    counts = [f"{title} {equal.count(title)}" for title in dict.fromkeys(equal)]
    return [
        "Mean and deviation equal the published ones in every printed digit (=): "
        f"{'; '.join(counts)}."
    ]


def _far(judged: Sequence[Entry]) -> list[str]:
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


def _listed(methods: dict[str, Agreement]) -> str:
    return "; ".join(f"{title} {counts}" for title, counts in methods.items())
