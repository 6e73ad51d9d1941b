"""The store as a server uses it: judges by their links, open questions, and the queue.

Everything that a judge does is one transaction: it appends the answer and shows the next
question, or neither. Nothing here grows with the number of answers of the study. Which question
comes next is the matter of `next_question`.
"""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from .next_question import (
    Asked,
    JudgeRecord,
    NextQuestion,
    Past,
    ServedItem,
    ServedStudy,
    insert_into,
    pair_of,
    share_of,
)
from .set_questions import OddAnswerError, item_key, read_answer, stored_kind
from .store import (
    NOT_PAIRED,
    AnswerStore,
    access,
    answer,
    event,
    item,
    judge,
    lease,
    moment,
    queue,
    reservation,
    shown,
    snapshot,
    study,
)
from .study_settings import StudySettings

__all__ = [
    "Act",
    "Asked",
    "BatchAnswer",
    "JudgeRecord",
    "ServedItem",
    "ServedStore",
    "ServedStudy",
    "Turn",
    "hashed",
    "pair_of",
    "share_of",
]

FRESH = 1.0  # seconds for which what was read of a study is used again

# ---------------------------------------------------------------- values


@dataclass(frozen=True)
class Act:
    """What a judge does with a question: an answer, a skip, an undo or a report."""

    kind: str
    shown_id: int = 0
    value: int = 0
    seconds: float | None = None
    detail: Mapping[str, Any] | None = None
    question: str = ""  # the kind that an answer is meant for; empty: whatever was asked


class BatchAnswer(NamedTuple):
    """An answer that a program gives without being asked."""

    key: str  # of the program; the same again is the same answer
    left: int
    right: int
    value: int
    seconds: float | None
    kind: str = "pair"  # of question
    items: tuple[int, ...] = ()  # of a set, or the one that is rated
    detail: Mapping[str, Any] | None = None  # as for `set_questions.read_answer`


class Turn(NamedTuple):
    """Where a judge is after an act."""

    asked: Asked | None
    answers: int  # of the judge
    questions: int  # that the judge has answered or skipped
    said: str  # what became of the act
    reason: str  # why nothing is asked: "", "quota", "closed", "withdrawn", "settled", "empty"
    undoes: int  # number of the last answer or skip, which an undo takes back; 0 if none


# ---------------------------------------------------------------- chance


def hashed(token: str) -> str:
    """What is stored of a token, which has 128 bits and needs no salt."""
    return hashlib.sha256(token.encode()).hexdigest()


# ---------------------------------------------------------------- the store


class ServedStore(AnswerStore):
    """An open store, with what a server needs beside the answers."""

    def __init__(self, where: Any) -> None:
        super().__init__(where)
        self._numbers: dict[str, int] = {}  # of studies, which they keep
        self._studies: dict[int, tuple[float, ServedStudy]] = {}
        self._summaries: dict[int, tuple[float, int, Mapping[str, Any]]] = {}
        self._moments: dict[int, tuple[int, Mapping[int, tuple[float, float]]]] = {}
        self._random = random.Random()

    # Studies

    def served(self, slug: str) -> ServedStudy | None:
        """A study by its name."""
        number = self._numbers.get(slug)
        if number is None:
            with self._reading() as db:
                row = sa.select(study.c.id).where(study.c.slug == slug)
                number = db.execute(row).scalar()
            if number is None:
                return None
            self._numbers[slug] = number
        return self.served_by_id(number)

    def served_by_id(self, study_id: int) -> ServedStudy:
        """A study as it was a second ago at most, or as it is now after `forget_cached`."""
        at, known = self._studies.get(study_id, (0.0, None))
        if known is None or time.monotonic() - at > FRESH:
            with self._reading() as db:
                known = self._read_study(db, study_id, known)
            self._studies[study_id] = (time.monotonic(), known)
        return known

    def forget_cached(self) -> None:
        """Read studies anew when they are asked for."""
        self._studies.clear()
        self._summaries.clear()

    def _read_study(
        self, db: sa.Connection, study_id: int, known: ServedStudy | None
    ) -> ServedStudy:
        row = db.execute(sa.select(study).where(study.c.id == study_id)).one()
        judges = sa.select(sa.func.count()).where(judge.c.study_id == study_id)
        head: dict[str, Any] = {
            "id": row.id, "slug": row.slug, "question": row.question,
            "settings": StudySettings.of(row.settings_json), "consent_text": row.consent_text,
            "consent_version": row.consent_version, "closed": row.closed_at is not None,
            "judges": db.execute(judges).scalar() or 0,
        }  # fmt: skip
        stamp = sa.select(sa.func.count(), sa.func.count(item.c.retired_at))
        count, retired = db.execute(stamp.where(item.c.study_id == study_id)).one()
        if known is not None and (count, count - retired) == (
            len(known.items),
            len(known.active),
        ):
            more: dict[str, Any] = {"items": known.items, "active": known.active}
            return ServedStudy(**head, **more, times_asked=known.times_asked)
        rows = db.execute(
            sa.select(item).where(item.c.study_id == study_id).order_by(item.c.id)
        )
        items = {each.id: _item_of(each) for each in rows}
        active = tuple(each.id for each in items.values() if not each.retired)
        return ServedStudy(**head, items=items, active=active, times_asked=_asked(db, study_id))

    def begin_questions(self, study_id: int) -> None:
        """Queue each item that nobody has been asked about, in random pairs."""
        self.forget_cached()
        task = self.served_by_id(study_id)
        with self._writing() as db:
            waiting = sa.select(queue.c.left_id, queue.c.right_id).where(
                queue.c.study_id == study_id, queue.c.purpose == "start"
            )
            seen = {i for i, count in _asked(db, study_id).items() if count}
            seen |= {i for row in db.execute(waiting) for i in row}
            rows: list[tuple[int, int]] = []
            for group in {task.items[i].group for i in task.active}:
                mine = [i for i in task.active if task.items[i].group == group]
                mine.sort(key=lambda i: share_of(task.slug, task.settings.seed, "start", i))
                new = [i for i in mine if i not in seen]
                if len(new) % 2 and len(mine) > 1:  # the last one with any other
                    new += [next(i for i in mine if i != new[-1])]
                rows += zip(new[::2], new[1::2], strict=False)
            if rows:
                db.execute(
                    sa.insert(queue),
                    [{"study_id": study_id, "left_id": a, "right_id": b, "purpose": "start"}
                     for a, b in rows],
                )  # fmt: skip

    # Judges and links

    def issue(self, judge_id: int | None) -> str:
        """A new link of a judge, or of the admin: returns its token, which is not stored."""
        token = secrets.token_urlsafe(16)
        with self._writing() as db:
            db.execute(
                sa.insert(access).values(
                    token_sha256=hashed(token), judge_id=judge_id, made_at=moment()
                )
            )
        return token

    def withdraw_links(self, judge_id: int) -> None:
        """Make all links of a judge end."""
        with self._writing() as db:
            rows = sa.update(access).where(
                access.c.judge_id == judge_id, access.c.withdrawn_at.is_(None)
            )
            db.execute(rows.values(withdrawn_at=moment()))

    def has_link(self, judge_id: int) -> bool:
        """Whether a judge has a link that works."""
        rows = sa.select(access.c.token_sha256).where(
            access.c.judge_id == judge_id, access.c.withdrawn_at.is_(None)
        )
        with self._reading() as db:
            return db.execute(rows).first() is not None

    def is_admin(self, token: str) -> bool:
        """Whether a token is one of the admin."""
        row = sa.select(access.c.token_sha256).where(
            access.c.token_sha256 == hashed(token), access.c.judge_id.is_(None),
            access.c.withdrawn_at.is_(None),
        )  # fmt: skip
        with self._reading() as db:
            return db.execute(row).first() is not None

    def judge_by_token(self, token: str) -> JudgeRecord | None:
        """The judge whose link has this token."""
        row = (
            sa.select(judge)
            .join(access, access.c.judge_id == judge.c.id)
            .where(access.c.token_sha256 == hashed(token), access.c.withdrawn_at.is_(None))
        )
        with self._reading() as db:
            found = db.execute(row).one_or_none()
        return None if found is None else _judge_of(found)

    def judges(self, study_id: int) -> list[JudgeRecord]:
        """All judges of a study."""
        rows = sa.select(judge).where(judge.c.study_id == study_id).order_by(judge.c.id)
        with self._reading() as db:
            return [_judge_of(row) for row in db.execute(rows)]

    def change_judge(self, judge_id: int, **values: Any) -> None:
        """Change what is known of a judge: quota, consent, left_out_at, withdrawn_at."""
        with self._writing() as db:
            db.execute(sa.update(judge).where(judge.c.id == judge_id).values(**values))

    def consent(self, judge_id: int, version: int | None) -> None:
        """Note that a judge agrees to the text of a version."""
        self.change_judge(judge_id, consent_version=version, consent_at=moment())

    # Questions and answers

    def turn(self, of: JudgeRecord, act: Act | None = None) -> Turn:
        """Append what a judge did, if anything, and show the next question."""
        task = self.served_by_id(of.study_id)
        with self._writing() as db:
            past, said, again = _past(db, of.id), "", None
            if act is not None and not of.withdrawn:
                said, again = self._record(db, task, of, act, past)
            answers = sum(each.kind != "skip" for each in past)
            reason = _reason(task, of, answers)
            if not reason and task.settings.stop and self.summary(task.id).get("settled"):
                reason = "settled"
            asked = None
            if not reason:
                choice = NextQuestion(
                    db, task, of, past, lambda: self.moments(task.id), self._random
                )
                asked = (
                    (again and choice.again(again)) or _open_question(db, of) or choice.found()
                )
                reason = "" if asked else "empty"
            last = past[-1].answer_id if past else 0
            return Turn(asked, answers, len(past), said, reason, last)

    def append_batch(
        self, of: JudgeRecord, given: Sequence[BatchAnswer]
    ) -> list[tuple[str, int]]:
        """Append answers of a program, all or none; returns their keys and numbers.

        An answer about a pair that is open for the program belongs to that question.
        """
        task = self.served_by_id(of.study_id)
        with self._writing() as db:
            found = []
            for each in given:
                key = f"program/{of.id}/{each.key}"
                known = sa.select(answer.c.id).where(answer.c.client_key == key)
                number = db.execute(known).scalar()
                if number is None:
                    self._append_given(db, task, of, each, key)
                    number = db.execute(known).scalar_one()
                found.append((each.key, number))
            return found

    def _append_given(
        self, db: sa.Connection, task: ServedStudy, of: JudgeRecord, each: BatchAnswer, key: str
    ) -> None:
        now, pair = moment(), each.kind == "pair"
        items = (each.left, each.right) if pair else each.items
        right = None if each.kind == "rating" else each.right
        asked = _open_question(db, of)
        if asked is not None and asked.kind == each.kind and _same(asked.items, items, pair):
            number, items = asked.id, asked.items
            sides: tuple[int, int | None] = asked.left, right and asked.right
        else:
            sides = each.left, right
            new = sa.insert(shown).values(
                study_id=task.id, judge_id=of.id, left_id=each.left, right_id=right,
                purpose="start", shown_at=now, expires_at=now,
                extra_json={} if pair else {"kind": each.kind, "items": list(items)},
            )  # fmt: skip
            primary = db.execute(new).inserted_primary_key
            assert primary is not None
            number = primary[0]
        value: int | None = each.value
        detail: Mapping[str, Any] | None = None
        if not pair:
            value, detail = read_answer(each.kind, items, sides, each.value, each.detail)
        _append(
            db, key, stored_kind(each.kind), study_id=task.id, judge_id=of.id,
            shown_id=number, left_id=sides[0], right_id=sides[1], detail_json=detail,
            value=None if value is None else float(value), seconds=each.seconds,
        )  # fmt: skip
        db.execute(sa.update(shown).where(shown.c.id == number).values(answered_at=now))
        _release(db, task.id, of.id, items)

    def _record(
        self,
        db: sa.Connection,
        task: ServedStudy,
        of: JudgeRecord,
        act: Act,
        past: list[Past],
    ) -> tuple[str, Any]:
        """What became of an act, and the question that an undo brings back.

        ``past`` is brought up to date.
        """
        if act.kind == "undo":
            return self._undone(db, task, of, act, past)
        row = db.execute(
            sa.select(shown).where(shown.c.id == act.shown_id, shown.c.judge_id == of.id)
        ).one_or_none()
        if row is None:
            return "unknown", None
        asked = Asked.of(row)
        common = {"study_id": task.id, "judge_id": of.id, "shown_id": row.id,
                  "left_id": row.left_id, "right_id": row.right_id,
                  "detail_json": act.detail, "seconds": act.seconds}  # fmt: skip
        if act.kind == "report":
            about = (act.detail or {}).get("item")
            about = about if about in asked.items else row.left_id
            common["detail_json"] = {**(act.detail or {}), "item": about}
            added = _append(db, f"report/{row.id}/{about}", "report", **common)
            return ("reported" if added else "already"), None
        if any(p.shown_id == row.id or (set(p.items) == set(asked.items) and p.kind != "skip"
               and row.purpose != "repeat") for p in past):  # fmt: skip
            return "already", None
        skip = act.kind == "skip"
        if not skip and act.question not in ("", asked.kind):
            raise OddAnswerError("That was an answer to another kind of question.")
        value: int | None = None if skip else act.value
        if not skip and asked.kind != "pair":
            sides = row.left_id, row.right_id
            value, said = read_answer(asked.kind, asked.items, sides, act.value, act.detail)
            common["detail_json"] = said
        kind = "skip" if skip else stored_kind(asked.kind)
        number = _append(
            db, f"shown/{row.id}", kind, value=None if value is None else float(value),
            **common,
        )  # fmt: skip
        if number is None:
            return "already", None
        past.append(_past_of(number, kind, asked))
        db.execute(sa.update(shown).where(shown.c.id == row.id).values(answered_at=moment()))
        _release(db, task.id, of.id, asked.items)
        return ("skipped" if skip else "saved"), None

    def _undone(
        self,
        db: sa.Connection,
        task: ServedStudy,
        of: JudgeRecord,
        act: Act,
        past: list[Past],
    ) -> tuple[str, Any]:
        """Take the last answer or skip back; a retry of the same undo does nothing."""
        if not past:
            return "nothing", None
        last = past[-1]
        if act.value and act.value != last.answer_id:  # the page names what it takes back
            return "already", None
        if not _append(db, f"undo/{last.answer_id}", "undo", study_id=task.id,
                       judge_id=of.id, undoes_id=last.answer_id):  # fmt: skip
            return "already", None
        past.pop()
        # What was open makes way, and the old question comes again.
        now = moment()
        still = sa.update(shown).where(
            shown.c.judge_id == of.id, shown.c.answered_at.is_(None), shown.c.expires_at > now
        )
        db.execute(still.values(expires_at=now))
        db.execute(sa.delete(reservation).where(reservation.c.judge_id == of.id))
        row = db.execute(sa.select(shown).where(shown.c.id == last.shown_id)).one()
        gone = any(task.items[i].retired for i in last.items)
        return "undone", None if gone else row

    def moments(self, study_id: int) -> Mapping[int, tuple[float, float]]:
        """Mean and standard deviation of utilities by item, from the newest snapshot."""
        rows, number = self.summary(study_id).get("items", ()), self.newest_snapshot(study_id)
        if self._moments.get(study_id, (-1,))[0] != number:
            found = {row["id"]: (row["utility"], row["sd"]) for row in rows}
            self._moments[study_id] = (number, found)
        return self._moments[study_id][1]

    def summary(self, study_id: int) -> Mapping[str, Any]:
        """Summary of the newest snapshot, a second old at most; empty if there is none."""
        at, number, found = self._summaries.get(study_id, (-1e9, 0, {}))
        if time.monotonic() - at > FRESH:
            newest = sa.select(sa.func.max(snapshot.c.id)).where(
                snapshot.c.study_id == study_id
            )
            with self._reading() as db:
                latest = db.execute(newest).scalar() or 0
                if latest != number:
                    row = sa.select(snapshot.c.summary_json).where(snapshot.c.id == latest)
                    number, found = latest, db.execute(row).scalar() or {}
            self._summaries[study_id] = (time.monotonic(), number, found)
        return found

    def newest_snapshot(self, study_id: int) -> int:
        """Number of the newest snapshot; 0 if there is none."""
        self.summary(study_id)
        return self._summaries[study_id][1]

    def end_reservations(self) -> None:
        """Let pairs go that were reserved ten minutes ago."""
        with self._writing() as db:
            db.execute(sa.delete(reservation).where(reservation.c.expires_at < moment()))

    # What only one program may do

    def hold(
        self, name: str, holder: str, detail: Mapping[str, Any], silent: timedelta
    ) -> Mapping[str, Any] | None:
        """Take or keep a lease; returns what is known of the holder if that is another one.

        A lease ends when its holder was ``silent`` for some time, or at once if the process
        that holds it was one of this machine and has ended.
        """
        row = {"holder": holder, "detail_json": dict(detail), "seen_at": moment()}
        with self._writing() as db:
            other = db.execute(sa.select(lease).where(lease.c.name == name)).one_or_none()
            known = {} if other is None else other.detail_json or {}
            free = (lease.c.holder == holder) | (lease.c.seen_at < moment(-silent))
            if other is not None and _has_ended(known):
                free = free | (lease.c.holder == other.holder)
            upsert = insert_into(db, lease).values(name=name, **row)
            upsert = upsert.on_conflict_do_update(index_elements=["name"], set_=row, where=free)
            taken = db.execute(upsert.returning(lease.c.name)).first()
            return known if taken is None else None

    def let_go(self, name: str, holder: str | None = None) -> None:
        """End a lease, of one holder or of any."""
        rows = sa.delete(lease).where(lease.c.name == name)
        with self._writing() as db:
            db.execute(rows if holder is None else rows.where(lease.c.holder == holder))

    # Events

    def note(self, study_id: int | None, who: str, what: str, detail: Any = None) -> None:
        """Keep a line on what an admin, or the server, did."""
        with self._writing() as db:
            db.execute(
                sa.insert(event).values(
                    study_id=study_id, who=who, what=what, detail_json=detail, at=moment()
                )
            )


# ---------------------------------------------------------------- rows as values


def _item_of(row: Any) -> ServedItem:
    return ServedItem(
        row.id, row.key, row.title, row.text, row.media_id, row.group_key,
        frozenset(row.not_for_json or ()), row.features_json or {}, row.retired_at is not None,
    )  # fmt: skip


def _judge_of(row: Any) -> JudgeRecord:
    return JudgeRecord(
        row.id, row.study_id, row.name or "", row.kind, row.quota, row.consent_version,
        row.left_out_at is not None, row.withdrawn_at is not None, row.consent_at,
    )  # fmt: skip


def _asked(db: sa.Connection, study_id: int) -> Counter[int]:
    """How often each item was asked about."""
    found: Counter[int] = Counter()
    for side in (answer.c.left_id, answer.c.right_id):
        rows = sa.select(side, sa.func.count()).where(answer.c.study_id == study_id)
        for which, count in db.execute(rows.group_by(side)):
            if which is not None:
                found[which] += count
    sets = sa.select(answer.c.detail_json, answer.c.left_id, answer.c.right_id).where(
        answer.c.study_id == study_id, answer.c.kind.in_(NOT_PAIRED)
    )
    for detail, *sides in db.execute(sets):
        found.update(i for i in (detail or {}).get("items", ()) if i not in sides)
    return found


def _past(db: sa.Connection, judge_id: int) -> list[Past]:
    """What a judge has answered and skipped and not taken back, in order."""
    rows = db.execute(
        sa.select(
            answer.c.id.label("number"), answer.c.kind, answer.c.undoes_id, shown.c.id,
            shown.c.left_id, shown.c.right_id, shown.c.purpose, shown.c.extra_json,
        )
        .join_from(answer, shown, answer.c.shown_id == shown.c.id, isouter=True)
        .where(answer.c.judge_id == judge_id, answer.c.kind != "report")
        .order_by(answer.c.id)
    ).all()  # fmt: skip
    gone: set[int] = set()
    for row in reversed(rows):
        if row.kind == "undo" and row.number not in gone:
            gone.add(row.undoes_id)
    return [
        _past_of(row.number, row.kind, Asked.of(row))
        for row in rows
        if row.kind != "undo" and row.number not in gone and row.left_id is not None
    ]


def _past_of(number: int, kind: str, asked: Asked) -> Past:
    """What became of a question."""
    sides = asked.left, asked.right
    return Past(number, asked.id, kind, pair_of(*sides), sides, asked.purpose, asked)


def _open_question(db: sa.Connection, of: JudgeRecord) -> Asked | None:
    """What a judge was shown, has not answered, and is still reserved."""
    row = db.execute(
        sa.select(shown)
        .where(
            shown.c.judge_id == of.id, shown.c.answered_at.is_(None),
            shown.c.expires_at > moment(),
        )
        .order_by(shown.c.id.desc())
        .limit(1)
    ).one_or_none()  # fmt: skip
    return None if row is None else Asked.of(row)


def _has_ended(known: Mapping[str, Any]) -> bool:
    """Whether a process of this machine has ended without saying so."""
    if known.get("host") != socket.gethostname() or "process" not in known:
        return False
    try:
        os.kill(int(known["process"]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _append(db: sa.Connection, key: str, kind: str, **row: Any) -> int | None:
    """Append a row of answers, and return its number; None if there is one with its key."""
    new = insert_into(db, answer).values(client_key=key, kind=kind, received_at=moment(), **row)
    new = new.on_conflict_do_nothing().returning(answer.c.id)
    return db.execute(new).scalar()


def _release(db: sa.Connection, study_id: int, judge_id: int, items: Sequence[int]) -> None:
    low, high = item_key(items)
    db.execute(
        sa.delete(reservation).where(
            reservation.c.study_id == study_id, reservation.c.low_id == low,
            reservation.c.high_id == high, reservation.c.judge_id == judge_id,
        )
    )  # fmt: skip


def _same(some: Sequence[int], others: Sequence[int], in_order: bool) -> bool:
    """Whether two questions have the same items, of a pair on the same sides."""
    return tuple(some) == tuple(others) if in_order else set(some) == set(others)


def _reason(task: ServedStudy, of: JudgeRecord, answers: int) -> str:
    """Why a judge is asked nothing."""
    quota = of.quota if of.quota is not None else task.settings.quota
    if of.withdrawn:
        return "withdrawn"
    if task.closed:
        return "closed"
    return "quota" if quota is not None and answers >= quota else ""
