"""Which question a judge is asked next: of the queue, a repeat, or one drawn here.

Nothing here computes: the questions in the queue were valued by another process. If that is
dead, random pairs take their place. A set is a pair of the queue and items around it.

Two judges are never asked the same at a time: a reservation has the pair as its key, or two
items that stand for a set, so that the database refuses the second, also where several servers
share it.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from .set_questions import extensions, is_set, item_key, pairs_within, size_of, stored_kind
from .store import moment, queue, reservation, shown
from .study_settings import StudySettings

__all__ = [
    "Asked",
    "JudgeRecord",
    "NextQuestion",
    "Past",
    "ServedItem",
    "ServedStudy",
    "insert_into",
    "pair_of",
    "share_of",
]

REPEATS = 0.03  # share of questions
EARLY, EARLY_CHECKS = 20, 0.5  # of several judges: the first questions of each, half random
APART = 20  # questions between a pair and its repeat
PASSED_OVER = 50  # questions for which a skipped pair is not asked again
REST = 3  # questions for which an item is not asked about again
RESERVED = timedelta(minutes=10)
LOOKED = 300  # questions of the queue that are looked at
TRIED = 50  # items that are tried for a rating
DRAWN = 200  # random pairs that are looked at where the queue has nothing
Pair = tuple[int, int]  # ids of items, the smaller first


# ---------------------------------------------------------------- values


@dataclass(frozen=True)
class ServedItem:
    """An item with what is shown of it."""

    id: int
    key: str
    title: str
    text: str | None
    media_id: int | None
    group: str | None
    not_for: frozenset[str]
    features: Mapping[str, float]
    retired: bool


@dataclass(frozen=True)
class ServedStudy:
    """A study with its items, as it was a moment ago."""

    id: int
    slug: str
    question: str
    settings: StudySettings
    consent_text: str | None
    consent_version: int | None
    closed: bool
    judges: int  # how many there are
    items: Mapping[int, ServedItem]
    active: tuple[int, ...]  # ids of items that are not retired
    times_asked: Counter[int] = field(default_factory=Counter, compare=False)


@dataclass(frozen=True)
class JudgeRecord:
    """A judge of a study."""

    id: int
    study_id: int
    name: str
    kind: str
    quota: int | None
    consent_version: int | None
    left_out: bool
    withdrawn: bool
    consent_at: str | None = None


class Asked(NamedTuple):
    """A question that a judge sees."""

    id: int
    left: int
    right: int  # the same as the left one where one item is rated
    purpose: str
    kind: str = "pair"
    shown: tuple[int, ...] = ()  # items in the order in which they are seen, if not a pair

    @property
    def items(self) -> tuple[int, ...]:
        """The items that the judge sees, in order."""
        return self.shown or (self.left, self.right)

    @classmethod
    def of(cls, row: Any) -> Asked:
        """A row of what was shown as a question."""
        extra = row.extra_json or {}
        right = row.left_id if row.right_id is None else row.right_id
        return cls(
            row.id, row.left_id, right, row.purpose, extra.get("kind", "pair"),
            tuple(extra.get("items", ())),
        )  # fmt: skip


class Past(NamedTuple):
    """A question that a judge has answered or skipped."""

    answer_id: int
    shown_id: int
    kind: str
    pair: Pair
    sides: tuple[int, int]
    purpose: str
    asked: Asked

    @property
    def items(self) -> tuple[int, ...]:
        """The items that were shown."""
        return self.asked.items


# ---------------------------------------------------------------- chance, and rows


def share_of(*words: object) -> float:
    """A number from 0 to 1 that nobody can predict who does not know the words."""
    digest = hashlib.sha256("/".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:7]) / 2**56


def pair_of(one: int, other: int) -> Pair:
    """A pair whichever way round."""
    return (one, other) if one < other else (other, one)


def insert_into(db: sa.Connection, table: sa.Table) -> Any:
    """An insert that may say what happens where there is a row with its key."""
    return (postgresql if db.dialect.name == "postgresql" else sqlite).insert(table)


def _openness(gap: float, one: float, other: float) -> float:
    """How open a pair is: the variance of its difference over the square of that."""
    variance = one * one + other * other
    return variance / (1.0 + variance + gap * gap)


# ---------------------------------------------------------------- the choice


class NextQuestion:
    """The choice of a question for a judge, within a transaction that also shows it."""

    def __init__(
        self,
        db: sa.Connection,
        task: ServedStudy,
        of: JudgeRecord,
        past: Sequence[Past],
        moments: Callable[[], Mapping[int, tuple[float, float]]],
        draws: random.Random,
    ) -> None:
        self.db, self.task, self.of, self.past = db, task, of, past
        self.moments, self.draws = moments, draws  # mean and sd of utilities, by item

    @cached_property
    def barred(self) -> _Barred:
        """What the judge must not be asked now."""
        return _Barred.of(self.db, self.task, self.of, self.past)

    def found(self) -> Asked | None:
        """The next question; None if there is none that may be asked."""
        task, of, past = self.task, self.of, self.past
        if task.settings.kind == "rating":
            return self._next_rating()
        chance = share_of(task.slug, task.settings.seed, of.id, len(past))
        early = task.judges > 1 and len(past) < EARLY
        checks = max(EARLY_CHECKS, task.settings.checks) if early else task.settings.checks
        found = self._from_queue("start")
        if found is None and checks <= chance < checks + REPEATS:
            found = self._repeat()
        if found is None:
            purpose = "check" if chance < checks else "chosen"
            found = self._from_queue(purpose)
        return found or self._drawn()

    def _from_queue(self, purpose: str) -> Asked | None:
        """The first question of the queue that may be asked; items rest if there is one."""
        db, barred, rows = self.db, self.barred, self._waiting(purpose)
        for rest in (True, False):
            for row in rows:
                if barred.allows(row.left_id, row.right_id, rest):
                    asked = self._show(row, purpose)
                    if asked is not None:
                        db.execute(sa.delete(queue).where(queue.c.id == row.id))
                        return asked
        return None

    def _waiting(self, purpose: str) -> Sequence[Any]:
        """The first questions of the queue."""
        own = (queue.c.study_id == self.task.id) & (queue.c.purpose == purpose)
        rows = sa.select(queue).where(own).order_by(queue.c.id).limit(LOOKED)
        return self.db.execute(rows).all()

    def _repeat(self) -> Asked | None:
        """What the judge has answered once, long ago, sides swapped."""
        task, past, barred = self.task, self.past, self.barred
        again = {each.pair for each in past if each.purpose == "repeat"}
        old = [
            each
            for each in past[: max(0, len(past) - APART)]
            if each.kind == stored_kind(task.settings.kind)
            and each.pair not in again | barred.reserved
            and set(each.items) <= set(task.active)
        ]  # fmt: skip
        if not old:
            return None
        chosen = self.draws.choice(old)
        right, left = chosen.sides
        extra = None
        if is_set(task.settings.kind):
            extra = {"kind": task.settings.kind, "items": list(reversed(chosen.items))}
        return self._insert_shown((left, right), "repeat", extra)

    def _drawn(self) -> Asked | None:
        """The most telling of some random pairs, or the one asked about least."""
        for pair in self._random_pairs():
            if is_set(self.task.settings.kind):
                asked = self._with_more(pair, "start", None)
            else:
                sides = pair if self.draws.random() < 0.5 else pair[::-1]
                asked = self._insert_shown(sides, "start", None)
            if asked is not None:
                return asked
        return None

    def _random_pairs(self) -> list[Pair]:
        """Random pairs that may be asked, best first; all there are, if they are few."""
        task, barred = self.task, self.barred
        active, known = task.active, self.moments()
        if len(active) ** 2 <= 4 * DRAWN:
            some = [(a, b) for k, a in enumerate(active) for b in active[k + 1 :]]
            self.draws.shuffle(some)
        else:
            some = [pair_of(*self.draws.sample(active, 2)) for _ in range(DRAWN)]

        def value(pair: Pair) -> float:
            (a, s), (b, t) = (known.get(each, (0.0, 1.0)) for each in pair)
            asked = task.times_asked[pair[0]] + task.times_asked[pair[1]]
            return _openness(a - b, s, t) / (1.0 + asked)

        allowed = [pair for pair in some if barred.allows(*pair, True)]
        allowed = allowed or [pair for pair in some if barred.allows(*pair, False)]
        if not allowed and len(some) == DRAWN:  # a judge who is near the end of all pairs
            every = [(a, b) for k, a in enumerate(active) for b in active[k + 1 :]]
            allowed = [pair for pair in every if barred.allows(*pair, False)]
        return sorted(allowed, key=value, reverse=True)

    def _with_more(self, pair: Pair, purpose: str, proba: Any) -> Asked | None:
        """Show a set that holds a pair, whose answer was predicted, and other items.

        The others of a check are random, as its pair is. At the start they are those of the
        next pairs, so that each item is in one set. Else they are those whose comparison with
        the pair is most open, and of these the ones that were asked about least.
        """
        task, barred = self.task, self.barred
        active, group = task.active, task.items[pair[0]].group
        some = active if len(active) <= DRAWN else self.draws.sample(active, DRAWN)
        others = [i for i in some if i not in pair and barred.fits(i, group)]
        if group is not None and len(others) < len(some) // 2:  # a small group
            others = [i for i in active if i not in pair and barred.fits(i, group)]
        known, draws = self.moments(), self.draws
        begun = self._waiting("start") if purpose == "start" else ()
        new = [i for row in begun for i in (row.left_id, row.right_id)]
        soon = {i: -k for k, i in reversed(list(enumerate(new)))}

        def worth(one: int) -> tuple[bool, float, int, float]:
            a, s = known.get(one, (0.0, 1.0))
            ends = [known.get(each, (0.0, 1.0)) for each in pair]
            open_to = sum(_openness(a - b, s, t) for b, t in ends)
            seen = sum(pair_of(one, each) in barred.asked for each in pair)
            tells = 1.0 if purpose == "check" else open_to / (1.0 + task.times_asked[one])
            # Where all are alike, chance decides: not the order in which they were added.
            by_chance = 1.0 if purpose == "check" else 1e-6
            tells += by_chance * draws.random()
            return one not in barred.resting, soon.get(one, -len(new)), -seen, tells

        size = size_of(task.settings.kind, task.settings.size)
        for items in extensions(pair, others, size, worth, draws):
            sides = pair if items.index(pair[0]) < items.index(pair[1]) else pair[::-1]
            told = proba if sides == pair else proba and proba[::-1]
            extra = {"kind": task.settings.kind, "items": list(items)}
            extra |= {"proba": told} if told else {}
            asked = self._insert_shown(sides, purpose, extra)
            if asked is not None:
                within = queue.c.left_id.in_(items) & queue.c.right_id.in_(items)
                own = (queue.c.study_id == task.id) & (queue.c.purpose == "start")
                self.db.execute(sa.delete(queue).where(own & within))
                return asked
        return None

    def _next_rating(self) -> Asked | None:
        """The item of the largest variance for the answers that it has; first those with none.

        An item is open for one judge only, where there are enough. There are no checks: a
        rating predicts no pair. There are no repeats: nothing is learnt from them.
        """
        task, past, barred = self.task, self.past, self.barred
        skipped = len(past) - PASSED_OVER
        done = {p.items[0] for k, p in enumerate(past)
                if len(p.items) == 1 and (p.kind != "skip" or k >= skipped)}  # fmt: skip
        known, asked, draws = self.moments(), task.times_asked, self.draws

        def worth(one: int) -> tuple[bool, bool, float, float]:
            sd = known.get(one, (0.0, 1.0))[1]
            free = (one, one) not in barred.reserved
            return free, not asked[one], sd * sd / (1.0 + asked[one]), draws.random()

        may = [i for i in task.active if i not in done and barred.fits(i, None, any_group=True)]
        for one in sorted(may, key=worth, reverse=True)[:TRIED]:
            extra = {"kind": "rating", "items": [one]}
            purpose = "chosen" if asked[one] else "start"
            shared = (one, one) in barred.reserved  # by now there is nothing else
            found = self._insert_shown((one, None), purpose, extra, shared)
            if found is not None:
                return found
        return None

    def again(self, row: Any) -> Asked | None:
        """Show what was shown before and undone, as it was."""
        return self._insert_shown((row.left_id, row.right_id), row.purpose, row.extra_json)

    def _show(self, row: Any, purpose: str) -> Asked | None:
        """Show a question of the queue, sides as they fall."""
        sides, proba = (row.left_id, row.right_id), row.proba_json
        if is_set(self.task.settings.kind):
            return self._with_more(sides, purpose, proba)
        extra = {"proba": proba}
        if self.draws.random() < 0.5:
            sides = sides[::-1]
            extra = {"proba": proba and proba[::-1]}
        return self._insert_shown(sides, purpose, extra if proba else None)

    def _insert_shown(
        self,
        sides: tuple[int, int | None],
        purpose: str,
        extra: Any,
        shared: bool = False,
    ) -> Asked | None:
        """Reserve a pair, a set or an item, and show it; None if another judge has it."""
        db, task, of, until = self.db, self.task, self.of, moment(RESERVED)
        items = (extra or {}).get("items", sides)
        low, high = item_key(items)
        reserved = insert_into(db, reservation).values(
            study_id=task.id, low_id=low, high_id=high, judge_id=of.id, expires_at=until
        )
        reserved = reserved.on_conflict_do_nothing().returning(reservation.c.judge_id)
        if db.execute(reserved).first() is None and not shared:
            return None
        new = db.execute(
            sa.insert(shown).values(
                study_id=task.id, judge_id=of.id, left_id=sides[0], right_id=sides[1],
                purpose=purpose, extra_json=extra or {}, shown_at=moment(), expires_at=until,
            )
        )  # fmt: skip
        task.times_asked.update(items)
        key = new.inserted_primary_key
        assert key is not None
        left, right = sides
        seen, kind = (tuple(items), extra["kind"]) if "kind" in (extra or {}) else ((), "pair")
        right = left if right is None else right
        return Asked(int(key[0]), left, right, purpose, kind, seen)


class _Barred(NamedTuple):
    """What a judge must not be asked now."""

    asked: set[Pair]  # also within sets: by this judge answered, or skipped a short time ago
    reserved: set[Pair]  # by other judges
    resting: set[int]  # items that were asked about a short time ago
    judge: str
    items: Mapping[int, ServedItem]

    @classmethod
    def of(
        cls, db: sa.Connection, task: ServedStudy, of: JudgeRecord, past: Sequence[Past]
    ) -> _Barred:
        rows = sa.select(reservation.c.low_id, reservation.c.high_id)
        reserved = db.execute(rows.where(reservation.c.study_id == task.id))
        first = len(past) - PASSED_OVER
        return cls(
            {pair for k, p in enumerate(past) if p.kind != "skip" or k >= first
             for pair in pairs_within(p.items)},
            {(low, high) for low, high in reserved},
            {i for each in past[-REST:] for i in each.items},
            of.name,
            task.items,
        )  # fmt: skip

    def fits(self, one: int, group: str | None, any_group: bool = False) -> bool:
        """Whether the judge may see an item, and it is of a group."""
        item = self.items[one]
        mine = any_group or item.group == group
        return mine and not item.retired and self.judge not in item.not_for

    def allows(self, left: int, right: int, rest: bool) -> bool:
        """Whether a pair may be asked; with ``rest``, also whether its items have rested."""
        pair = pair_of(left, right)
        if pair in self.asked or pair in self.reserved:
            return False
        group = self.items[left].group
        if not (self.fits(left, group) and self.fits(right, group)):
            return False
        return not (rest and (left in self.resting or right in self.resting))
