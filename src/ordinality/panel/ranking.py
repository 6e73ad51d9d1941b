"""Rankings from answers: places with intervals, judges, a check, and what to ask next.

The ratio of signal to noise is integrated out (`PreferenceGP.snapshot`), so that coin flips are
called so. The check is made by another fit, to nine tenths of the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc, ndtr

from .. import persist
from .._files import put
from ..elicitation import (
    expected_rank_changes,
    next_pair,
    order_gain,
    rank_intervals,
    top_k_members,
    top_k_probability,
)
from ..elicitation.gains import believed, difference_variance, points_of
from ..estimators import PreferenceGP
from ..estimators.snapshot import Snapshot
from .judges import GivenAnswers, JudgeSummary, judge_summaries
from .ranking_report import ranking_page

__all__ = ["CovariateEffect", "HeldOut", "RankedItem", "Ranking", "rank_answers"]

_MOST_ITEMS = 5000  # whose joint covariance is computed: 200 megabytes
_MOST_GRADES = 10
# Judges with a noise of their own. Beyond, most have few answers, and each evaluation of the
# evidence visits every judge.
_OWN_NOISE = 100
# Standard deviations of judges' sides that are tried, in noises of a difference.
_SPREADS = (0.2, 0.4, 0.8)
# Answers times judges, and items and judges, up to which sides are learnt unless it is asked
# for: each judge is a column of every answer, and a row of every matrix.
_SIDED, _SIDED_ROWS = 1_000_000, 1000
# Sides are tried, unless it is asked for, if residuals of a model without them, added up by
# judge, have a chi-squared over all judges, or of one among them, of less chance than this.
_SIDED_CHANCE = 0.01
_CHECKED = 20  # answers, or groups of them, from which a tenth is kept aside
_LISTED = 5  # items of a part that are named


@dataclass(frozen=True)
class RankedItem:
    """An item and its place.

    Parameters
    ----------
    item : str
        Name.
    rank : int
        Place by mean utility, 1 for the best.
    utility : float
        Posterior mean.
    sd : float
        Posterior standard deviation of the utility.
    places : tuple of int
        First and last place of the interval.
    answers : int
        Number of answers about the item, ratings included.
    p_best : float
        Probability to be among the best ``top``.
    rank_of_all : int or None
        Place in the ranking of all answers, if some judges were left out.

    Examples
    --------
    >>> from ordinality.panel import rank_answers
    >>> rank_answers([["tea", "milk"]], [1]).items[0].item
    'tea'
    """

    item: str
    rank: int
    utility: float
    sd: float
    places: tuple[int, int]
    answers: int
    p_best: float
    rank_of_all: int | None = None


@dataclass(frozen=True)
class HeldOut:
    """How well answers that were kept aside were predicted.

    Parameters
    ----------
    answers : int
        Number of answers kept aside.
    right : float or None
        Share of the decided ones that were predicted; None if all were ties.
    expected : float or None
        The share that the model expected of itself.
    log_score : float
        Mean of minus the logarithm of the probability of the answer; a coin has log 2 = 0.693
        where there are no ties and grades.

    Examples
    --------
    >>> from ordinality.panel import rank_answers
    >>> pairs = [["tea", "milk"], ["tea", "coffee"], ["coffee", "milk"]] * 10
    >>> rank_answers(pairs, [1] * 30).check.answers
    3
    """

    answers: int
    right: float | None
    expected: float | None
    log_score: float


@dataclass(frozen=True)
class CovariateEffect:
    """What a difference in presentation adds to an answer.

    Parameters
    ----------
    name : str
        Of the covariate.
    coefficient : float
        Mean effect of one unit on the difference of two utilities, in units of the noise of a
        difference: a side of 1 is chosen in 84 % of toss-ups.
    interval : tuple of float
        Lower and upper end.

    Examples
    --------
    >>> from ordinality.panel import rank_answers
    >>> pairs = [["tea", "milk"], ["milk", "tea"]] * 10
    >>> found = rank_answers(pairs, [1] * 20, covariates={"side": [1] * 20})
    >>> found.covariates[0].name, found.covariates[0].interval[0] > 0
    ('side', True)
    """

    name: str
    coefficient: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Ranking:
    """A ranking of items, and how far it can be trusted.

    Parameters
    ----------
    items : tuple of RankedItem
        In order of rank.
    judges : tuple of JudgeSummary
        In order of name; empty if judges were not named.
    wrong_pairs : float
        Expected number of pairs of items in the wrong order.
    pairs : int
        Number of pairs of items.
    top : int
        How many of the best were asked about.
    but_one : float
        Probability that at least ``top - 1`` of the first ``top`` are among the best ``top``.
    level : float
        Probability of the intervals of places.
    next : tuple of (str, str, float)
        Questions to ask next, best first, with their value as `elicitation.order_gain` has it.
    check : HeldOut or None
        Answers kept aside; None if there were too few.
    notes : tuple of str
        What should be known about the data, as sentences.
    model : PreferenceGP
        Fitted to all answers.
    snapshot : Snapshot or PreferenceGP
        What the ranking was made from.
    covariates : tuple of CovariateEffect, default=()
        Effects of the presentation, with intervals of probability ``level``.
    left_out : tuple of str
        Judges whose answers do not count.
    side_spread : float, default=0.0
        Standard deviation of the judges' sides before any answer, in units of the noise of a
        difference; 0 if they have none.

    Examples
    --------
    >>> from ordinality.panel import rank_answers
    >>> found = rank_answers([["tea", "milk"], ["milk", "coffee"]], [1, 1])
    >>> [one.item for one in found.items]
    ['tea', 'milk', 'coffee']
    >>> found.as_dict()["items"][0]["rank"]
    1
    """

    items: tuple[RankedItem, ...]
    judges: tuple[JudgeSummary, ...]
    wrong_pairs: float
    pairs: int
    top: int
    but_one: float
    level: float
    next: tuple[tuple[str, str, float], ...]
    check: HeldOut | None
    notes: tuple[str, ...]
    model: PreferenceGP
    snapshot: Any
    covariates: tuple[CovariateEffect, ...] = ()
    left_out: tuple[str, ...] = ()
    side_spread: float = 0.0

    def predict_proba(
        self, pairs: Any, judge: str | None = None, covariates: Any = None
    ) -> np.ndarray:
        """Probability of each answer to each pair of items, with the judge's side.

        Parameters
        ----------
        pairs : array-like of str, shape (m, 2)
            Names of the two items, the left one first.
        judge : str, default=None
            Who is asked; None, or a judge without answers, likes no side.
        covariates : mapping or data frame with columns of shape (m,), default=None
            Differences in presentation, as for `rank_answers`. None: no difference.

        Returns
        -------
        proba : ndarray of shape (m, K)
            Columns in the order of ``model.classes_``.

        Examples
        --------
        >>> from ordinality.panel import rank_answers
        >>> found = rank_answers([["tea", "milk"], ["milk", "coffee"]], [1, 1])
        >>> bool(found.predict_proba([["tea", "coffee"]])[0, 1] > 0.5)
        True
        """
        pairs = np.asarray(pairs, dtype=str).reshape(-1, 2)
        shown = _columns(covariates, len(pairs))
        if self.side_spread:
            names = [one.name for one in self.covariates]
            shown = shown or {name: np.zeros(len(pairs)) for name in names}
            who = [one.judge for one in self.judges]
            shown = shown | _side_columns(np.full(len(pairs), judge), who)
        return np.asarray(self.snapshot.predict_proba(pairs, judge=judge, covariates=shown))

    def as_dict(self) -> dict[str, Any]:
        """Everything but the model, as values that JSON has.

        Returns
        -------
        dict
            With ``items``, ``judges``, ``covariates``, ``wrong_pairs``, ``next``, ``notes``
            and others.
        """
        return {
            "items": [{**asdict(one), "places": list(one.places)} for one in self.items],
            "judges": [asdict(one) for one in self.judges],
            "covariates": [
                {**asdict(one), "interval": list(one.interval)} for one in self.covariates
            ],
            "wrong_pairs": self.wrong_pairs,
            "pairs": self.pairs,
            "top": self.top,
            "but_one": self.but_one,
            "level": self.level,
            "next": [{"left": a, "right": b, "gain": gain} for a, b, gain in self.next],
            "check": None if self.check is None else asdict(self.check),
            "left_out": list(self.left_out),
            "side_spread": self.side_spread,
            "notes": list(self.notes),
        }

    def sentences(self) -> list[str]:
        """The result in words.

        Returns
        -------
        list of str
            On the best items, pairs in the wrong order, the check, and judges to look at.
        """
        return [*_of_order(self), *_of_check(self.check), *_of_judges(self)]

    def chances(self, count: int = 20) -> list[list[float | None]]:
        """Probability of each of the first items to be better than each of the others.

        Parameters
        ----------
        count : int, default=20
            Number of items, from the first.

        Returns
        -------
        list of list of float or None
            A row and a column for each item, in order of rank; None on the diagonal.
        """
        names = np.array([one.item for one in self.items[:count]])
        points = points_of(self.snapshot, self.snapshot.item_numbers(names))
        i, j = np.indices((len(names), len(names))).reshape(2, -1)
        better = np.zeros(len(i))
        for weight, mean, cov in zip(points.weights, points.mean, points.cov, strict=True):
            variance, gap = difference_variance(cov, i, j), mean[i] - mean[j]
            z = np.divide(gap, np.sqrt(variance), out=np.zeros(len(i)), where=variance > 0)
            better += weight * ndtr(z)
        rows = better.reshape(len(names), -1).tolist()
        return [
            [None if k == place else p for place, p in enumerate(row)]
            for k, row in enumerate(rows)
        ]

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model to a file, for `ordinality.load`.

        Parameters
        ----------
        path : str or Path
            A .skops file.
        force : bool, default=False
            Replace a file that exists.
        """
        # A file holds what was learnt of the items, not the data frame that they came in.
        model = copy(self.model).set_params(items=None, key=None)
        persist.save(model, path, force=force)

    def report(self, path: str | Path, *, command: str = "", force: bool = False) -> None:
        """Write a report as one HTML page.

        Parameters
        ----------
        path : str or Path
            An .html file.
        command : str, default=""
            What made the ranking, shown at the end.
        force : bool, default=False
            Replace a file that exists.
        """
        path = Path(path)
        if path.exists() and not force:
            raise FileExistsError(
                f"{path} exists; choose another name, or set `force` to replace it."
            )
        put(path, ranking_page(self, command).encode())


def rank_answers(
    pairs: Any,
    answers: Any,
    *,
    items: Any = None,
    key: str | None = None,
    judges: Any = None,
    weights: Any = None,
    seconds: Any = None,
    groups: Any = None,
    ratings: Any = None,
    covariates: Any = None,
    ties: bool | None = None,
    grades: int | None = None,
    sides: bool = True,
    judge_sides: bool | str = "auto",
    leave_out: Sequence[str] = (),
    top: int = 5,
    level: float = 0.9,
    n_next: int = 0,
    seed: int = 0,
    progress: Callable[[str, float], Any] = lambda what, share: None,
) -> Ranking:
    """Rank items from answers about pairs of them.

    Parameters
    ----------
    pairs : array-like of str, shape (m, 2)
        Names of the two items of each question.
    answers : array-like of int, shape (m,)
        +1 if the first was preferred, -1 if the second; 0 for a tie; larger numbers for
        stronger answers, to 10.
    items : sequence of str, or DataFrame, default=None
        Names of all items; or a data frame of them, with numbers as features. None: those in
        ``pairs`` and ``ratings``.
    key : str, default=None
        Column of names, if ``items`` is a data frame.
    judges : array-like of shape (m,), default=None
        Who answered. Up to 100 judges have a noise of their own.
    weights : array-like of shape (m,), default=None
        Weights of the answers.
    seconds : array-like of shape (m,), default=None
        How long each answer took; NaN where that is not known.
    groups : array-like of shape (m,), default=None
        Answers with equal labels were given together, such as one ranking; the check keeps
        them together.
    ratings : (items, levels), default=None
        Names of items that were rated, and the levels they got.
    covariates : mapping or data frame with columns of shape (m,), default=None
        Differences in presentation, first less second item, by name: a column of ones is the
        bias to the side of the first. The ranking is that of a fair presentation.
    ties : bool, default=None
        Whether answers may be ties; if not, those that are ties are left out. None: if some
        are.
    grades : int, default=None
        Strongest answer; stronger ones count as this. None: that of the data.
    sides : bool, default=True
        Whether the first item of a pair was shown left, so that the share of answers for it
        tells something about a judge.
    judge_sides : bool or "auto", default="auto"
        Whether each judge may like one side, by an effect of its own on every answer. The
        spread of these effects is 0, 0.2, 0.4 or 0.8 noises of a difference, as the evidence
        has it; 0 is a model without them. "auto" tries them only if judges take one
        side more often than a model without sides can explain by chance (1 %), leaves them out
        where that is slow (answers times judges above 1,000,000, items and judges above
        1,000), and where the first item always won, which tells of the table and not of the
        judges.
    leave_out : sequence of str, default=()
        Judges whose answers are not to count. They are still described beside the others, and
        each item has its ``rank_of_all``.
    top : int, default=5
        How many of the best matter; fewer than there are items.
    level : float, default=0.9
        Probability of the intervals of places.
    n_next : int, default=0
        Number of questions to propose.
    seed : int, default=0
        Of the draws for places, and of the choice of answers to keep aside.
    progress : callable, optional
        Called as ``progress(what, share)`` before every part, with the share that is done.

    Returns
    -------
    Ranking
        Items in order, judges, check, questions and notes.

    Raises
    ------
    ValueError
        If there are fewer than two items, or answers that cannot be used.

    Examples
    --------
    >>> from ordinality.panel import rank_answers
    >>> pairs = [["tea", "milk"], ["coffee", "milk"], ["tea", "coffee"], ["tea", "milk"]]
    >>> found = rank_answers(pairs, [1, 1, 1, -1])
    >>> [(one.item, one.rank, one.answers) for one in found.items]
    [('tea', 1, 3), ('coffee', 2, 2), ('milk', 3, 3)]
    """
    data = _Answers.of(
        pairs, answers, items=items, key=key, judges=judges, weights=weights, seconds=seconds,
        groups=groups, ratings=ratings, sides=sides, covariates=covariates, leave_out=leave_out,
    )  # fmt: skip
    data, settled = data.settled(ties, grades)
    progress("fitting a model", 0.0)
    data, model = _with_sides(data, judge_sides)
    progress("places", 0.5)
    state, names = believed(model), np.asarray(model.item_names_)
    numbers = np.asarray(model.item_numbers(data.pairs), dtype=np.intp).reshape(-1, 2)
    rated = _rated(model, data)
    top, n = min(top, len(names) - 1), len(names)
    items = _ranked(state, names, np.append(numbers[data.kept], rated), top, level, seed)
    if leave_out:
        items = _beside_all(items, believed(data.fitted()), names)
    progress("check", 0.6)
    check = _checked(data, seed)
    return Ranking(
        items=items,
        judges=_judged(state, model, data, numbers, level),
        wrong_pairs=float(expected_rank_changes(state, seed)),
        pairs=n * (n - 1) // 2,
        top=top,
        but_one=float(top_k_probability(state, top, random_state=seed, event="but-one")),
        level=level,
        next=_questions(state, names, numbers, data, n_next, seed),
        check=check,
        notes=(
            *settled, *_of_noise(data), *_of_sides(data),
            *_of_parts(names, numbers[data.kept], rated, data.key is not None),
        ),
        model=model,
        snapshot=state,
        covariates=_presented(state, data, level),
        left_out=tuple(sorted({str(judge) for judge in leave_out})),
        side_spread=data.spread,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers as they were given, checked."""

    pairs: np.ndarray  # (m, 2) names
    answers: np.ndarray  # (m,)
    items: Any
    key: str | None
    judges: np.ndarray | None
    weights: np.ndarray
    seconds: np.ndarray | None
    groups: np.ndarray  # (m,), numbers from 0
    ratings: tuple[np.ndarray, np.ndarray] | None
    sides: bool
    covariates: dict[str, np.ndarray] | None
    kept: np.ndarray  # (m,) bool: not by a judge who is left out
    ties: bool = False
    grades: int = 1
    spread: float = 0.0  # of the judges' sides; without these if 0

    @classmethod
    def of(cls, pairs: Any, answers: Any, **given: Any) -> _Answers:
        pairs = np.asarray(pairs, dtype=str).reshape(-1, 2)
        m = len(pairs)
        for name in ("judges", "weights", "seconds", "groups"):
            _check_length(name, given[name], m)
        judges, weights, seconds, groups, ratings = (
            given[name] for name in ("judges", "weights", "seconds", "groups", "ratings")
        )
        groups = np.arange(m) if groups is None else np.unique(groups, return_inverse=True)[1]
        if ratings is not None:
            ratings = np.asarray(ratings[0], dtype=str), np.asarray(ratings[1])
        rated = np.empty(0, dtype=str) if ratings is None else ratings[0]
        return cls(
            pairs, _whole(answers, m), _items(given["items"], pairs, rated), given["key"],
            None if judges is None or not m else np.asarray(judges, dtype=str),
            np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64),
            None if seconds is None else np.asarray(seconds, dtype=np.float64),
            groups, ratings, given["sides"], _columns(given["covariates"], m),
            _kept(judges, given["leave_out"], m),
        )  # fmt: skip

    def settled(
        self, ties: bool | None, grades: int | None
    ) -> tuple[_Answers, tuple[str, ...]]:
        """The answers with ties and grades as they are wanted, and notes on that."""
        data, notes = self, []
        tied = data.answers == 0
        if ties is False and tied.any():
            data = data.only(np.flatnonzero(~tied))
            notes.append(f"{tied.sum():,} of {len(tied):,} answers are ties, and are left out.")
        strongest = max(1, int(np.max(np.abs(data.answers), initial=0)))
        if grades is not None and not 1 <= grades <= _MOST_GRADES:
            raise ValueError(f"grades={grades}; wanted a number from 1 to {_MOST_GRADES}.")
        if grades is not None and grades < strongest:
            strong = int(np.sum(np.abs(data.answers) > grades))
            notes.append(f"{strong:,} answers are stronger than {grades}, and count as that.")
            data = replace(data, answers=np.clip(data.answers, -grades, grades))
        may_tie = bool(tied.any()) if ties is None else ties
        return replace(data, ties=may_tie, grades=grades or strongest), tuple(notes)

    def only(self, rows: np.ndarray) -> _Answers:
        """Some of the answers."""
        groups = np.unique(self.groups[rows], return_inverse=True)[1]
        return replace(
            self, pairs=self.pairs[rows], answers=self.answers[rows], groups=groups,
            judges=None if self.judges is None else self.judges[rows],
            weights=self.weights[rows],
            seconds=None if self.seconds is None else self.seconds[rows],
            covariates=self.presented(rows), kept=self.kept[rows],
        )  # fmt: skip

    def presented(self, rows: np.ndarray) -> dict[str, np.ndarray] | None:
        """Covariates of some of the answers."""
        if self.covariates is None:
            return None
        return {name: value[rows] for name, value in self.covariates.items()}

    def shown(self, rows: np.ndarray) -> dict[str, np.ndarray] | None:
        """Covariates of some of the answers, and after them the sides of the judges."""
        if self.judges is None or not self.spread:
            return self.presented(rows)
        own = _side_columns(self.judges[rows], np.unique(self.judges).tolist())
        return {**(self.presented(rows) or {}), **own}

    def may_have_sides(self, wanted: bool | str) -> bool:
        """Whether to look for judges' sides; refuses where that cannot be."""
        if wanted not in ("auto", True, False):
            raise ValueError(f"judge_sides={wanted!r}; wanted 'auto', True or False.")
        if wanted is True and (self.n_judges < 2 or not self.sides):
            raise ValueError(
                "judge_sides=True, but there are not several judges with known sides; pass "
                "`judges` and sides=True, or leave judge_sides out."
            )
        if not wanted or self.judges is None or self.n_judges < 2 or not self.sides:
            return False
        own = _side_columns(self.judges[:0], np.unique(self.judges).tolist())
        taken = sorted(set(own) & set(self.covariates or ()))
        if taken and wanted is True:
            raise ValueError(
                f"covariates has a column {taken[0]!r}, which is the name of the effect of a "
                "judge's side; rename it, or set judge_sides=False."
            )
        few = len(self.items) + len(own) <= _SIDED_ROWS
        small = few and len(self.pairs) * len(own) <= _SIDED
        said = self.answers[self.kept & (self.weights > 0)]
        both = bool(np.any(said > 0) and np.any(said < 0))
        return wanted is True or (not taken and small and both)

    def judges_take_sides(self, model: PreferenceGP) -> bool:
        """Whether judges take one side more often than a model without sides can explain."""
        assert self.judges is not None
        rows = self.kept & (self.weights > 0)
        proba = model.predict_proba(self.pairs[rows], covariates=self.presented(rows))
        above, below = (
            proba[:, side].sum(axis=1) for side in (model.classes_ > 0, model.classes_ < 0)
        )
        who = np.unique(self.judges[rows], return_inverse=True)[1]
        rest = np.bincount(who, np.sign(self.answers[rows]) - (above - below))
        squared = rest**2 / np.bincount(who, above + below - (above - below) ** 2)
        of_all, of_one = chdtrc(len(rest), squared.sum()), chdtrc(1, squared.max())
        return bool(min(of_all, len(rest) * of_one) < _SIDED_CHANCE)

    @property
    def n_judges(self) -> int:
        """Number of judges; one if they were not named."""
        return 1 if self.judges is None else len(np.unique(self.judges))

    def fitted(self, rows: np.ndarray | None = None) -> PreferenceGP:
        """A model of all answers, or of some; it knows all items, ties and grades."""
        rows = np.ones(len(self.pairs), dtype=bool) if rows is None else rows
        own_noise = self.judges is not None and 1 < self.n_judges <= _OWN_NOISE
        model = PreferenceGP(self.items, key=self.key, ties=self.ties, grades=self.grades)
        shown = self.shown(rows)
        own = list(shown or ())[len(self.covariates or ()) :]
        return model.fit(
            self.pairs[rows], self.answers[rows], ratings=self.ratings,
            judges=self.judges[rows] if own_noise and self.judges is not None else None,
            sample_weight=self.weights[rows], covariates=shown,
            covariate_spread=dict.fromkeys(own, self.spread),
        )  # fmt: skip


def _side_columns(who: np.ndarray, judges: Sequence[str]) -> dict[str, np.ndarray]:
    """For each of the judges, by the name of the covariate, which answers are theirs."""
    return {f"side of {judge}": (who == judge).astype(np.float64) for judge in judges}


def _with_sides(data: _Answers, wanted: bool | str) -> tuple[_Answers, PreferenceGP]:
    """The answers with the spread of judges' sides that has most evidence, and the model."""
    found = [(data, data.fitted(data.kept))]
    wide = data.may_have_sides(wanted)
    if wanted == "auto":
        wide = wide and data.judges_take_sides(found[0][1])
    for spread in _SPREADS if wide else ():
        # Not from where the last ended: a small spread may be worse than both none and a wide.
        wider = replace(data, spread=spread)
        found.append((wider, wider.fitted(data.kept)))
    return max(found, key=lambda one: one[1].log_evidence_)  # the first of equals


# What users pass


def _columns(covariates: Any, m: int) -> dict[str, np.ndarray] | None:
    """Columns of covariates by name."""
    if covariates is None:
        return None
    names = list(covariates if isinstance(covariates, Mapping) else covariates.columns)
    for name in names:
        _check_length(f"covariate {name}", covariates[name], m)
    return {str(name): np.asarray(covariates[name]) for name in names} or None


def _check_length(name: str, values: Any, m: int) -> None:
    if values is not None and np.shape(values) != (m,):
        raise ValueError(
            f"{name} has shape {np.shape(values)}, but there are {m} pairs; pass one for each."
        )


def _whole(answers: Any, m: int) -> np.ndarray:
    """Answers as whole numbers of at most ten grades."""
    given = np.asarray(answers, dtype=np.float64).reshape(-1)
    if len(given) != m:
        raise ValueError(f"there are {m} pairs and {len(given)} answers; pass one for each.")
    odd = ~(np.isfinite(given) & (given == np.round(given)) & (np.abs(given) <= _MOST_GRADES))
    if np.any(odd):
        raise ValueError(
            f"answers hold {given[odd][0]:g}; an answer is a whole number from -{_MOST_GRADES} "
            f"to {_MOST_GRADES}, above 0 if the first item was preferred."
        )
    return given.astype(np.intp)


def _items(items: Any, pairs: np.ndarray, rated: np.ndarray) -> Any:
    """Names of the items as an array, or the data frame that describes them."""
    if items is None:
        items = np.unique(np.append(pairs, rated))
    elif not hasattr(items, "columns"):
        items = np.asarray(items, dtype=str)
    if len(items) < 2:
        raise ValueError(f"the number of items is {len(items)}; a ranking needs two at least.")
    if len(items) > _MOST_ITEMS:
        raise ValueError(
            f"the number of items is {len(items):,}, and at most {_MOST_ITEMS:,} can be "
            "ranked; rank a part of them."
        )
    return items


def _kept(judges: Any, leave_out: Sequence[str], m: int) -> np.ndarray:
    """Which answers are not by a judge who is left out."""
    if isinstance(leave_out, str):
        raise TypeError(f"leave_out is {leave_out!r}; pass a list of names of judges.")
    names = [str(judge) for judge in leave_out]
    who = np.full(m, "") if judges is None else np.asarray(judges, dtype=str)
    unknown = sorted(set(names) - set(who.tolist() if judges is not None else ()))
    if unknown:
        raise ValueError(
            f"leave_out names {unknown[0]!r}, who gave no answer; pass names that are in "
            "`judges`."
        )
    return ~np.isin(who, names) if names else np.ones(m, dtype=bool)


def _rated(model: PreferenceGP, data: _Answers) -> np.ndarray:
    """Numbers of the items that were rated, one for each rating."""
    if data.ratings is None:
        return np.empty(0, dtype=np.intp)
    return np.asarray(model.item_numbers(data.ratings[0]), dtype=np.intp)


# Parts of a ranking


def _ranked(
    state: Any, names: np.ndarray, mentioned: np.ndarray, top: int, level: float, seed: int
) -> tuple[RankedItem, ...]:
    """The items in order of mean utility."""
    mean, sd = state.utility()
    places = rank_intervals(state, level, random_state=seed)
    p_best = top_k_members(state, top, random_state=seed)
    answers = np.bincount(mentioned, minlength=len(names))
    order = np.argsort(-mean, kind="stable")
    return tuple(
        RankedItem(
            str(names[k]), rank, float(mean[k]), float(sd[k]),
            (int(places[k, 0]), int(places[k, 1])), int(answers[k]), float(p_best[k]),
        )
        for rank, k in enumerate(order, 1)
    )  # fmt: skip


def _beside_all(
    items: tuple[RankedItem, ...], state_of_all: Any, names: np.ndarray
) -> tuple[RankedItem, ...]:
    """The items with their places in the ranking of all answers."""
    rank = dict(zip(names.tolist(), state_of_all.rank().tolist(), strict=True))
    return tuple(replace(one, rank_of_all=rank[one.item]) for one in items)


def _presented(state: Any, data: _Answers, level: float) -> tuple[CovariateEffect, ...]:
    if data.covariates is None:
        return ()
    known = _as_snapshot(state)
    intervals = (x[: len(data.covariates)] for x in known.covariate_intervals(level))
    found = zip(data.covariates, *intervals, strict=True)
    return tuple(
        CovariateEffect(name, float(mean), (float(lower), float(upper)))
        for name, mean, lower, upper in found
    )


def _as_snapshot(state: Any) -> Snapshot:
    """The snapshot; of very many items that of one ratio alone."""
    return state if isinstance(state, Snapshot) else state.snapshot(None)


def _shift(state: Any, shown: dict[str, np.ndarray] | None, m: int) -> np.ndarray | None:
    """What covariates add to m answers at each ratio, as `points_of` has its slope."""
    if shown is None:
        return None
    known = _as_snapshot(state)
    assert known.covariates is not None
    shift = known.covariates.shift(shown, m)
    return shift if known is state else shift / known.slope[:, None]


def _judged(
    state: Any, model: PreferenceGP, data: _Answers, numbers: np.ndarray, level: float
) -> tuple[JudgeSummary, ...]:
    if data.judges is None:
        return ()
    m = len(data.pairs)
    shown, side = data.shown(np.arange(m)), None
    if data.spread and shown is not None:
        none = {name: np.zeros(m) for name in data.covariates or ()}
        side = _shift(state, shown | none, m)
    given = GivenAnswers(
        numbers, data.answers, data.judges, data.weights,
        np.where(data.kept, data.weights, 0.0), data.seconds, data.sides,
        _shift(state, shown, m), side,
    )  # fmt: skip
    found = judge_summaries(state, model, given)
    return _sided(found, state, data, level) if data.spread else found


def _sided(
    judges: tuple[JudgeSummary, ...], state: Any, data: _Answers, level: float
) -> tuple[JudgeSummary, ...]:
    """Summaries with the effect of each judge's side; who is left out has none."""
    intervals = _as_snapshot(state).covariate_intervals(level)
    effects = np.column_stack(intervals)[len(data.covariates or ()) :].tolist()
    kept = set() if data.judges is None else set(data.judges[data.kept].tolist())
    return tuple(
        replace(one, side=mean, side_lower=lower, side_upper=upper)
        if one.judge in kept else one
        for one, (mean, lower, upper) in zip(judges, effects, strict=True)
    )  # fmt: skip


def _questions(
    state: Any, names: np.ndarray, asked: np.ndarray, data: _Answers, count: int, seed: int
) -> tuple[tuple[str, str, float], ...]:
    """What to ask next. One judge is not asked the same again; several may be."""
    every = len(names) * (len(names) - 1) // 2
    before = np.unique(np.sort(asked, axis=1), axis=0)
    # Answers without names may come from several judges.
    alone = data.judges is not None or every - len(before) >= count
    if data.n_judges > 1 or not alone:
        before = before[:0]
    count = min(count, every - len(before))
    if count < 1:
        return ()
    exclude = before if len(before) else None
    chosen = next_pair(state, batch=count, random_state=seed, exclude=exclude)
    gains = order_gain(state, chosen)
    return tuple(
        (str(a), str(b), float(gain)) for (a, b), gain in zip(chosen, gains, strict=True)
    )


def _checked(data: _Answers, seed: int) -> HeldOut | None:
    """Fit nine tenths of the answers, and predict the others."""
    groups = np.unique(data.groups[data.kept])
    if len(groups) < _CHECKED:
        return None
    some = np.random.default_rng(seed).permutation(groups)[: len(groups) // 10]
    aside = np.isin(data.groups, some) & data.kept
    model = data.fitted(data.kept & ~aside)
    state, proba = believed(model), np.empty((aside.sum(), len(model.classes_)))
    pairs, answers = data.pairs[aside], data.answers[aside]
    who = np.full(len(pairs), "") if data.judges is None else data.judges[aside]
    rows = np.flatnonzero(aside)
    for judge in np.unique(who):
        own = who == judge
        proba[own] = state.predict_proba(
            pairs[own], judge=judge, covariates=data.shown(rows[own])
        )
    # A probability below the smallest number would be an infinite score.
    of_answer = proba[np.arange(len(pairs)), np.searchsorted(model.classes_, answers)]
    score = -np.mean(np.log(np.maximum(of_answer, np.finfo(float).tiny)))
    better, worse = (
        proba[:, side].sum(axis=1) for side in (model.classes_ > 0, model.classes_ < 0)
    )
    decided = answers != 0
    right = expected = None
    if decided.any():
        right = float(np.mean((better > worse) == (answers > 0), where=decided))
        sure = np.maximum(better, worse) / (better + worse)
        expected = float(np.mean(sure, where=decided))
    return HeldOut(len(pairs), right, expected, float(score))


# In words


def _of_noise(data: _Answers) -> list[str]:
    if data.n_judges <= _OWN_NOISE:
        return []
    return [
        f"There are {data.n_judges:,} judges; with more than {_OWN_NOISE} all share one noise."
    ]


def _of_sides(data: _Answers) -> list[str]:
    if not data.spread:
        return []
    return [
        "Judges like one side more than the other, each to an extent of its own (spread "
        f"{data.spread:g} noises of a difference); the ranking is that of fair sides."
    ]


def _of_parts(
    names: np.ndarray, pairs: np.ndarray, rated: np.ndarray, described: bool
) -> list[str]:
    """Which items no chain of answers connects; their features may, if they are described."""
    n = len(names)
    ends = [pairs]
    if len(rated):  # ratings have one scale, so that they connect all they were given to
        ends.append(np.column_stack([np.full(len(rated), rated[0]), rated]))
    i, j = np.concatenate(ends).T
    _, part = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), False)
    alone = np.bincount(np.append(pairs, rated), minlength=n) == 0
    notes = []
    if alone.any():
        rest = "only features tell their places" if described else "their places are guesses"
        notes.append(f"No answer is about {_some(names[alone])}; {rest}.")
    parts = [names[(part == p) & ~alone] for p in np.unique(part[~alone])]
    if len(parts) > 1:
        parts.sort(key=len, reverse=True)
        listed = "; ".join(f"({k}) {_some(one)}" for k, one in enumerate(parts[:_LISTED], 1))
        more = f"; and {len(parts) - _LISTED} more" if len(parts) > _LISTED else ""
        across = "rests on their features" if described else "is a guess"
        notes.append(
            f"The answers fall into {len(parts)} parts that no answer connects: "
            f"{listed}{more}. How items of different parts compare {across}; ask about pairs "
            "across them."
        )
    return notes


def _some(names: Sequence[Any]) -> str:
    """The first few of some names, and how many there are."""
    first = ", ".join(str(name) for name in names[:_LISTED])
    return first if len(names) <= _LISTED else f"{first} and {len(names) - _LISTED} more"


def _of_order(found: Ranking) -> list[str]:
    k = found.top
    wrong = f"{found.wrong_pairs:.0f} of {found.pairs:,} pairs"
    sentences = [f"{wrong} are expected to be in the wrong order."]
    if 1 < k < len(found.items) - 1:  # or it would be so whatever the order
        at_least = f"At least {k - 1} of the first {k} are among the best {k}"
        sure = ">99%" if found.but_one > 0.99 else f"{found.but_one:.0%}"
        sentences.insert(0, f"{at_least} ({sure}).")
    return [" ".join(sentences)]


def _of_check(check: HeldOut | None) -> list[str]:
    if check is None:
        return ["Too few answers to keep some aside as a check."]
    what = f"On {check.answers:,} answers kept aside"
    if check.right is None:
        return [f"{what}, all ties, the log score was {check.log_score:.2f}."]
    return [
        f"{what} the model was right in {check.right:.0%} (it expected {check.expected:.0%}), "
        f"log score {check.log_score:.2f}."
    ]


def _of_judges(found: Ranking) -> list[str]:
    if not found.judges:
        return []
    flagged = [f'"{one.judge}" ({one.flag})' for one in found.judges if one.flag]
    look = f"; look at {_some(flagged)}" if flagged else ""
    out = f"; left out: {_some(found.left_out)}" if found.left_out else ""
    return [f"Judges: {len(found.judges)}{look}{out}."]
