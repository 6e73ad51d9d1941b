"""What to ask next, what is settled, and how far that can be trusted.

Everything here is a function of the answers that count, in their order, and of a seed: a
session that is resumed from its store goes on as if it had never stopped, and an undo brings
the same question back. Chance is drawn from hashes of the seed, the judge and the number of the
question.

First each item is asked about once, in random pairs. Then the model asks for the goal of the
session. About 15 % of the questions are pairs drawn at random. They are scored before they are
learnt from, so that the model cannot choose its own examination. Another 3 % are repeats. Since
people repeat themselves, a repeat is kept but not learnt from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from ..elicitation import (
    Snapshot,
    Trust,
    expected_rank_changes,
    next_pair,
    top_k_probability,
)
from ..elicitation.stopping import draws
from ..estimators.preference_gp import PreferenceGP
from .ranking import Ranking, rank_answers
from .store import Answer, StudyRecord

__all__ = ["Question", "Session", "Standing", "percent", "probability_of_order"]

CHECKS, REPEATS = 0.15, 0.03  # shares of questions
EARLY, EARLY_CHECKS = 20, 0.5  # of several judges: the first questions of each, half random
APART = 20  # questions between a pair and its repeat
PASSED_OVER = 50  # questions for which a skipped pair is not asked again
REST = 3  # questions for which an item is not asked about again
LOOK = 5  # answers between two looks at whether the goal is reached

FIRST_FIT, UPDATE = 10, 20  # answers: parameters are learnt at 10, 20, 40, 80, ...
WRONG_PAIRS = 0.1  # an order is settled if a smaller share of pairs is in the wrong order
DRAWS, PAIRS = 4000, 5000  # for probabilities; pairs whose order is looked at, at most
_NAMES = "\n"  # a column of names that cannot be one of the features


class Question(NamedTuple):
    """Two items, by number, and what the model expected of the answer."""

    left: int
    right: int
    purpose: str  # "start", "chosen", "check" or "repeat"
    number: int  # of the judge's questions, from 0
    proba: tuple[float, ...]  # of each answer, lowest first: right is (much) better, ...


@dataclass(frozen=True)
class Standing:
    """How far a session is."""

    answers: int
    best: tuple[str, ...]  # the items that the goal is about, best first; none for an order
    probability: float  # that the goal is reached
    wrong: float  # expected share of pairs in the wrong order
    trust: Trust
    settled: bool
    tested: bool = True  # whether some answers compare items, which the trust is about

    @property
    def short(self) -> str:
        """The state of the goal in a few words, for the line above a question."""
        if self.trust.contradicted:
            return ""
        if not self.best:
            return f"pairs in the wrong order: {percent(self.wrong)}"
        if len(self.best) == 1:
            return f"{self.best[0]} is the best: {percent(self.probability)}"
        k = len(self.best)
        return f"{k - 1} of these {k}: {percent(self.probability)}"

    @property
    def sentence(self) -> str:
        """What can be said, in one sentence."""
        k, chance = len(self.best), percent(self.probability)
        if self.trust.contradicted:
            return (
                "The check questions come out worse than the model expects; its certainty is "
                "not shown."
            )
        if self.trust.warning:
            return "The answers do not agree enough to settle an order."
        event = f"at least {k - 1} of the first {k} are among the best {k}"
        if k == 0:
            event = f"fewer than {percent(WRONG_PAIRS)} of all pairs are in the wrong order"
        elif k == 1:
            event = f"{self.best[0]} is the best"
        if self.settled:
            return f"Settled: {event} ({chance})."
        found = f"Not settled yet: the probability that {event} is {chance}"
        if self.trust.better_than_coin:
            return f"{found}."
        if not self.tested:
            return (
                f"{found}. Ratings alone settle nothing: only answers that compare items test "
                "whether they agree better than chance."
            )
        return f"{found}; so far, answers by chance could do the same."


class Session:
    """Questions of one study for one judge; it remembers fits, and nothing else."""

    def __init__(self, study: StudyRecord, judge: str, top: int, level: float) -> None:
        self.study, self.judge = study, judge
        self.top, self.level = top, level  # top: how many of the best matter; 0 is the order
        self._number = {item.id: i for i, item in enumerate(study.items)}
        self._belief = _Belief(study)
        self._rankings: dict[tuple[Any, ...], Ranking] = {}  # the last one

    def question(self, answers: Sequence[Answer]) -> Question | None:
        """The next question; None if the judge has been asked about every pair."""
        past = [a for a in answers if a.judge == self.judge]
        k = len(past)
        rng, chance = _generator(self._seed, self.judge, k), _share(self._seed, self.judge, k)
        others = any(a.judge != self.judge for a in answers)
        share = EARLY_CHECKS if others and k < EARLY else CHECKS
        pair, purpose = self._start(answers, past), "start"
        if pair is None and share <= chance < share + REPEATS:
            pair, purpose = self._repeat(past, rng), "repeat"
        if pair is None:
            pairs = np.column_stack(np.triu_indices(len(self._number), 1))
            allowed = self._allowed(pairs, past)
            if not allowed.any():
                return None
            purpose = "check" if chance < share else "chosen"
            if purpose == "check":
                pair = _both(rng.choice(pairs[allowed]))
            else:
                pair = self._chosen(answers, pairs[~allowed], rng)
        if purpose != "repeat" and rng.random() < 0.5:
            pair = pair[1], pair[0]
        proba = self._belief.after(self._told(answers)).predict_proba([pair], self.judge)[0]
        return Question(*pair, purpose, k, tuple(proba.tolist()))

    def standing(self, answers: Sequence[Answer], final: bool = False) -> Standing:
        """How far the session is; "settled" is looked at after every fifth answer.

        A goal that seems to be reached is confirmed by a fit to all answers, and so is the
        ``final`` state, which then belongs to the `ranking`.
        """
        if final:
            return self._standing(answers, self.ranking(answers).snapshot)
        found = self._standing(answers, self._belief.after(self._told(answers)))
        return self.standing(answers, final=True) if found.settled else found

    def ranking(self, answers: Sequence[Answer]) -> Ranking:
        """All items, best first, by a fit to all answers; repeats have no weight."""
        said = [a for a in answers if a.kind == "pair"]
        key = tuple((a.left, a.right, a.value, a.judge, a.purpose) for a in said)
        if key not in self._rankings:
            name = {item.id: item.key for item in self.study.items}
            ranking = rank_answers(
                [[name[a.left], name[a.right]] for a in said],
                [a.value for a in said],
                items=_frame(self.study),
                key=_NAMES,
                judges=[a.judge for a in said],
                weights=[0.0 if a.purpose == "repeat" else 1.0 for a in said],
                top=max(self.top, 1),
            )
            self._rankings = {key: ranking}
        return self._rankings[key]

    def _standing(self, answers: Sequence[Answer], belief: Snapshot) -> Standing:
        said = [a for a in answers if a.kind == "pair"]
        trust, m, n = self._trust(said), len(said), len(self._number)
        top = min(self.top, n - 1)
        if top:
            event = "but-one" if top > 1 else "exact"
            probability = top_k_probability(belief, top, DRAWS, 0, event=event)
        else:
            probability = probability_of_order(belief)
        best = np.argsort(belief.rank())[:top]
        looked = m >= n and m % LOOK == 0
        return Standing(
            m, tuple(self.study.items[i].key for i in best), probability,
            2.0 * expected_rank_changes(belief, 0) / (n * (n - 1)), trust,
            looked and trust.settled(probability, self.level),
        )  # fmt: skip

    # Questions

    @property
    def _seed(self) -> str:
        return f"{self.study.slug}/{self.study.settings.get('seed', 0)}"

    def _told(self, answers: Sequence[Answer]) -> tuple[_Told, ...]:
        """What the model learns from: no skips, no repeats."""
        return tuple(
            _Told(*self._pair(a), a.value, a.judge)
            for a in answers
            if a.kind == "pair" and a.purpose != "repeat"
        )

    def _pair(self, given: Answer) -> tuple[int, int]:
        return self._number[given.left], self._number[given.right]

    def _barred(self, past: Sequence[Answer]) -> set[frozenset[int]]:
        """Pairs that the judge has answered, or has skipped a short time ago."""
        return {
            frozenset(self._pair(a))
            for k, a in enumerate(past)
            if a.kind == "pair" or k >= len(past) - PASSED_OVER
        }

    def _start(
        self, answers: Sequence[Answer], past: Sequence[Answer]
    ) -> tuple[int, int] | None:
        """Two items that nobody has been asked about, or the last one and any other."""
        seen = {i for a in answers if a.kind == "pair" for i in self._pair(a)}
        items = sorted(
            range(len(self._number)),
            key=lambda i: (i in seen, _share(self._seed, "start", self.study.items[i].key)),
        )
        new, barred = len(items) - len(seen), self._barred(past)
        first = items[:new] if new > 1 else items
        found = (
            pair
            for pair in combinations(first, 2)
            if not seen.issuperset(pair) and frozenset(pair) not in barred
        )
        return next(found, None) if new else None

    def _repeat(
        self, past: Sequence[Answer], rng: np.random.Generator
    ) -> tuple[int, int] | None:
        """A pair that the judge has answered once, long ago, sides swapped."""
        again = {frozenset(self._pair(a)) for a in past if a.purpose == "repeat"}
        old = [
            self._pair(a)
            for a in past[: max(0, len(past) - APART)]
            if a.kind == "pair" and frozenset(self._pair(a)) not in again
        ]
        if not old:
            return None
        left, right = old[rng.integers(len(old))]
        return right, left

    def _allowed(self, pairs: np.ndarray, past: Sequence[Answer]) -> np.ndarray:
        """Which of all pairs may be asked; items rest where as many pairs as items remain."""
        n, barred = len(self._number), self._barred(past)
        allowed = np.ones(len(pairs), dtype=bool)
        if barred:
            gone = np.array([sorted(pair) for pair in barred]) @ [n, 1]
            allowed = ~np.isin(pairs @ [n, 1], gone)
        for rest in range(REST, 0, -1):
            resting = [i for a in past[-rest:] for i in self._pair(a)]
            rested = allowed & ~np.isin(pairs, resting).any(axis=1)
            if rested.sum() >= n:
                return rested
        return allowed

    def _chosen(
        self, answers: Sequence[Answer], exclude: np.ndarray, rng: np.random.Generator
    ) -> tuple[int, int]:
        belief, n = self._belief.after(self._told(answers)), len(self._number)
        strategy, k = ("top", min(self.top, n - 1)) if self.top else ("order", 1)
        (pair,) = next_pair(
            belief, strategy, random_state=rng, judge=self.judge, k=k, exclude=exclude
        )
        return _both(pair)

    def _trust(self, said: Sequence[Answer]) -> Trust:
        """The two tests, from the probabilities that were stored with the questions."""
        pairs = [frozenset(self._pair(given)) for given in said]
        first = {pair: k for k, pair in reversed(list(enumerate(pairs)))}
        return Trust.of(
            [_probability_of_side(given) for given in said],
            [first[pair] == k for k, pair in enumerate(pairs)],
            [given.purpose == "check" for given in said],
        )


# ---------------------------------------------------------------- the model


class _Told(NamedTuple):
    """An answer as the model takes it."""

    left: int
    right: int
    value: int
    judge: str


class _Belief:
    """The posterior after a sequence of answers: a fit, an update, and steps of rank one.

    Which answers each of the three takes depends on their number alone, so that the way by
    which a session came to them leaves no trace.
    """

    def __init__(self, study: StudyRecord) -> None:
        names = sorted({name for item in study.items for name in item.features})
        X = np.array([[item.features[name] for name in names] for item in study.items])
        self._items = X if names else len(study.items)
        self._ties = bool(study.settings.get("ties", True))
        self._grades = int(study.settings.get("grades", 1))
        self._fits: dict[tuple[_Told, ...], PreferenceGP] = {}
        self._snapshots: dict[tuple[_Told, ...], Snapshot] = {}
        self._last: tuple[tuple[_Told, ...], Snapshot] | None = None

    def after(self, said: tuple[_Told, ...]) -> Snapshot:
        """The posterior after these answers; the last one is remembered."""
        if self._last is None or self._last[0] != said:
            self._last = said, self._after(said)
        return self._last[1]

    def _after(self, said: tuple[_Told, ...]) -> Snapshot:
        fitted, m = 0, len(said)
        while (following := 2 * fitted or FIRST_FIT) <= m:
            fitted = following
        updated = max(fitted, m - m % UPDATE)
        base, rest = said[:updated], said[updated:]
        if base not in self._snapshots:
            self._snapshots = {base: self._updated(base, fitted)}
        known = self._snapshots[base]
        heard, last = self._last or ((), known)
        if updated < len(heard) and heard == said[: len(heard)]:  # the same steps, fewer to do
            known, rest = last, said[len(heard) :]
        for answer in rest:  # together they would differ by rounding
            known = known.told(*_columns([answer]))
        return known

    def _updated(self, said: tuple[_Told, ...], fitted: int) -> Snapshot:
        """The posterior at the parameters that the first answers gave."""
        first, rest = said[:fitted], said[fitted:]
        if first not in self._fits:
            model = PreferenceGP(self._items, ties=self._ties, grades=self._grades)
            pairs, values, judges = _columns(first)
            self._fits = {first: model.fit(pairs, values, judges=judges or None)}
        model = copy(self._fits[first])
        if rest:
            pairs, values, judges = _columns(rest)
            model.update(pairs, values, judges=judges)
        return model.snapshot()


def _frame(study: StudyRecord) -> Any:
    """Names and features of the items as a data frame."""
    columns: dict[str, list[Any]] = {_NAMES: [item.key for item in study.items]}
    for name in study.items[0].features:
        columns[name] = [item.features[name] for item in study.items]
    return nw.from_dict(columns, backend="polars").to_native()


def _columns(said: Sequence[_Told]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Pairs, (m, 2), answers, (m,), and judges."""
    pairs = np.array([[told.left, told.right] for told in said], dtype=np.intp)
    values = np.array([told.value for told in said], dtype=np.intp)
    return pairs.reshape(-1, 2), values, [told.judge for told in said]


def probability_of_order(belief: Snapshot) -> float:
    """Probability that few pairs are in the wrong order, from joint draws."""
    rng = np.random.default_rng(0)
    order = np.argsort(belief.rank())
    pairs = order[np.column_stack(np.triu_indices(len(order), 1))]
    if len(pairs) > PAIRS:
        pairs = pairs[rng.choice(len(pairs), PAIRS, replace=False)]
    utilities = draws(belief.points(), DRAWS, rng)
    wrong = np.zeros(DRAWS)
    for better, worse in pairs:
        wrong += utilities[better] < utilities[worse]
    return float(np.mean(wrong < WRONG_PAIRS * len(pairs)))


def _probability_of_side(given: Answer) -> float:
    """What the model gave, among the two sides, to the one that was taken; a tie is a half."""
    proba = given.extra.get("proba")
    if given.value == 0 or not proba:
        return 0.5
    half = len(proba) // 2
    right, left = sum(proba[:half]), sum(proba[-half:])
    return (left if given.value > 0 else right) / (left + right)


# ---------------------------------------------------------------- chance, and words


def _both(pair: np.ndarray) -> tuple[int, int]:
    return int(pair[0]), int(pair[1])


def _digest(*words: object) -> bytes:
    return hashlib.sha256("/".join(map(str, words)).encode()).digest()


def _share(*words: object) -> float:
    """A number from 0 to 1 that nobody can predict who does not know the words."""
    return int.from_bytes(_digest(*words)[:7]) / 2**56


def _generator(*words: object) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(_digest("draws", *words)))


def percent(share: float) -> str:
    """A share as whole percent; never 0 or 100 unless it is."""
    if 0.0 < share < 0.005:
        return "below 1 %"
    if 0.995 <= share < 1.0:
        return "above 99 %"
    return f"{100.0 * share:.0f} %"
