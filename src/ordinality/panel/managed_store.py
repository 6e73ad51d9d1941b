"""The store as an admin and the model process use it: items, judges, erasure, the queue."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from .served_store import ServedStore, hashed
from .set_questions import compared_in, stored_kind, weight_in
from .store import (
    answer,
    event,
    item,
    judge,
    lease,
    media,
    moment,
    queue,
    reservation,
    schema_version,
    shown,
    snapshot,
    study,
)
from .study_settings import StudySettings

__all__ = [
    "GivenRow",
    "ImportedAnswer",
    "ManagedStore",
    "MediaFile",
    "NewItem",
    "compared_rows",
]

SILENT = timedelta(seconds=15)  # after which the model process counts as gone
PART = 200  # answers of an import that are written at once
OVERLAP = 200  # rows read again: on PostgreSQL a smaller number may be written later


class NewItem(NamedTuple):
    """An item to be added."""

    key: str
    features: Mapping[str, float]
    title: str | None = None
    text: str | None = None
    media: MediaFile | None = None
    group: str | None = None
    not_for: Sequence[str] = ()


class MediaFile(NamedTuple):
    """A picture in the folder of pictures."""

    path: str  # from that folder
    mime: str
    size: int
    sha256: str


class ImportedAnswer(NamedTuple):
    """An answer that was given elsewhere."""

    key: str  # the same again is the same answer
    judge_id: int
    left: int
    right: int | None  # None of a rating
    value: int | None
    seconds: float | None
    purpose: str
    kind: str = "pair"  # of question
    detail: Mapping[str, Any] | None = None  # of an answer about a set, or a rating


class GivenRow(NamedTuple):
    """A row of answers as the model reads it."""

    id: int
    kind: str
    undoes: int | None
    left: int | None
    right: int | None
    value: float | None
    judge_id: int
    purpose: str | None
    proba: Sequence[float] | None
    seconds: float | None
    detail: Mapping[str, Any] | None = None  # of an answer about a set, or a rating
    weight: float = 1.0  # of a pair of a set

    @property
    def items(self) -> Sequence[int | None]:
        """Ids of the items that the answer is about."""
        return (self.detail or {}).get("items") or (self.left, self.right)

    def compared(self) -> list[GivenRow]:
        """The pairs that the answer compares, of a set with their weight; a rating has none."""
        if self.kind == "pair":
            return [self]
        weight = weight_in(self)
        return [
            self._replace(kind="pair", left=a, right=b, value=float(said), weight=weight)
            for a, b, said in compared_in(self)
        ]


def compared_rows(given: Iterable[GivenRow]) -> list[GivenRow]:
    """The pairs that answers compare, in order."""
    return [pair for row in given for pair in row.compared()]


class ManagedStore(ServedStore):
    """An open store, with what changes a study and what the model reads and writes."""

    def mark(self) -> str:
        """A few letters that tell this store from others."""
        first = sa.select(schema_version.c.at).order_by(schema_version.c.n).limit(1)
        with self._reading() as db:
            return hashed(f"{self.where}/{db.execute(first).scalar()}")[:8]

    # Items

    def add(self, study_id: int, new: Sequence[NewItem]) -> None:
        """Add items after those that a study has, and queue first questions about them."""
        with self._writing() as db:
            for each in new:
                number = None
                if each.media is not None:
                    kept = sa.insert(media).values(
                        study_id=study_id, sha256=each.media.sha256, mime=each.media.mime,
                        bytes=each.media.size, path_rel=each.media.path,
                    )  # fmt: skip
                    key = db.execute(kept).inserted_primary_key
                    assert key is not None
                    number = key[0]
                db.execute(
                    sa.insert(item).values(
                        study_id=study_id, key=each.key, title=each.title or each.key,
                        text=each.text, media_id=number, group_key=each.group,
                        features_json=dict(each.features),
                        not_for_json=list(each.not_for) or None,
                    )
                )  # fmt: skip
        self.begin_questions(study_id)

    def retire(self, item_id: int, out: bool = True) -> None:
        """Ask no more about an item, or ask again."""
        with self._writing() as db:
            rows = sa.update(item).where(item.c.id == item_id)
            db.execute(rows.values(retired_at=moment() if out else None))
            waiting = (queue.c.left_id == item_id) | (queue.c.right_id == item_id)
            db.execute(sa.delete(queue).where(waiting))

    def media_file(self, number: int) -> tuple[int, MediaFile] | None:
        """The study of a picture, and where it is."""
        with self._reading() as db:
            row = db.execute(sa.select(media).where(media.c.id == number)).one_or_none()
        if row is None:
            return None
        return row.study_id, MediaFile(row.path_rel, row.mime, row.bytes, row.sha256)

    # Studies

    def change_study(
        self, study_id: int, settings: StudySettings, question: str, consent: str
    ) -> None:
        """Change how a study is run; a new text of consent is a new version."""
        with self._writing() as db:
            row = db.execute(sa.select(study).where(study.c.id == study_id)).one()
            values: dict[str, Any] = {
                "settings_json": {**row.settings_json, **settings.as_dict()},
                "question": question or row.question,
                "kind": settings.kind,
            }
            if consent != (row.consent_text or ""):
                version = (row.consent_version or 0) + 1 if consent else None
                values |= {"consent_text": consent or None, "consent_version": version}
            db.execute(sa.update(study).where(study.c.id == study_id).values(**values))

    def close_study(self, study_id: int, closed: bool = True) -> None:
        """Ask nobody any more, or ask again."""
        with self._writing() as db:
            rows = sa.update(study).where(study.c.id == study_id)
            db.execute(rows.values(closed_at=moment() if closed else None))

    # Judges

    def new_guest(self, study_id: int) -> int:
        """A new judge, whose name is a number."""
        with self._writing() as db:
            new = db.execute(sa.insert(judge).values(study_id=study_id, kind="person"))
            key = new.inserted_primary_key
            assert key is not None
            named = sa.update(judge).where(judge.c.id == key[0])
            db.execute(named.values(name=f"guest {key[0]}"))
            return int(key[0])

    def leave_out(self, judge_id: int, out: bool) -> None:
        """Keep the answers of a judge from the model, or let it learn from them again."""
        self.change_judge(judge_id, left_out_at=moment() if out else None)

    def counts_by_judge(self, study_id: int) -> dict[int, tuple[int, int]]:
        """Number of answers and of skips of each judge, those taken back left out."""
        undone = sa.select(answer.c.undoes_id).where(
            answer.c.study_id == study_id, answer.c.kind == "undo"
        )
        rows = (
            sa.select(answer.c.judge_id, answer.c.kind, sa.func.count())
            .where(
                answer.c.study_id == study_id, answer.c.kind.not_in(("undo", "report")),
                answer.c.id.not_in(undone),
            )
            .group_by(answer.c.judge_id, answer.c.kind)
        )  # fmt: skip
        found: dict[int, tuple[int, int]] = {}
        with self._reading() as db:
            for who, kind, count in db.execute(rows):
                answers, skips = found.get(who, (0, 0))
                more = (answers, skips + count) if kind == "skip" else (answers + count, skips)
                found[who] = more
        return found

    def count_answers(self, study_id: int) -> int:
        """How many answers there are, those taken back and skips left out."""
        return sum(answers for answers, _ in self.counts_by_judge(study_id).values())

    def reports(self, study_id: int) -> list[dict[str, Any]]:
        """What judges reported about items, newest first."""
        rows = (
            sa.select(answer.c.detail_json, answer.c.received_at, judge.c.name)
            .join_from(answer, judge, answer.c.judge_id == judge.c.id)
            .where(answer.c.study_id == study_id, answer.c.kind == "report")
            .order_by(answer.c.id.desc())
        )
        title = {i: each.title for i, each in self.served_by_id(study_id).items.items()}
        with self._reading() as db:
            return [
                {"item": title.get(detail.get("item"), ""), "text": detail.get("text", ""),
                 "judge": name or "", "at": at}
                for detail, at, name in db.execute(rows)
                if detail and "erased" not in detail
            ]  # fmt: skip

    def erase(self, judge_id: int, who: str) -> None:
        """Replace all that a judge said by rows that say nothing.

        The one exception to answers being only appended. The rows stay, so that their numbers
        lead where they led. That it was done, and by whom, is noted in the same transaction.
        """
        with self._writing() as db:
            row = db.execute(sa.select(judge).where(judge.c.id == judge_id)).one()
            self._let_change(db, True)
            nothing = {"left_id": None, "right_id": None, "value": None, "seconds": None,
                       "shown_id": None, "undoes_id": None}  # fmt: skip
            own = sa.update(answer).where(answer.c.judge_id == judge_id)
            db.execute(own.values(kind="report", detail_json={"erased": True}, **nothing))
            self._let_change(db, False)
            seen = sa.update(shown).where(shown.c.judge_id == judge_id)
            db.execute(seen.values(left_id=None, right_id=None, extra_json=None,
                                   expires_at=None))  # fmt: skip
            db.execute(sa.delete(reservation).where(reservation.c.judge_id == judge_id))
            own_row = sa.update(judge).where(judge.c.id == judge_id)
            db.execute(own_row.values(name=f"deleted {judge_id}", withdrawn_at=moment()))
            db.execute(
                sa.insert(event).values(
                    study_id=row.study_id, who=who, what="erase",
                    detail_json={"judge": judge_id}, at=moment(),
                )
            )  # fmt: skip
        self.forget_cached()

    def import_answers(self, study_id: int, given: Sequence[ImportedAnswer]) -> int:
        """Append answers that were given elsewhere; returns how many are new.

        They are written in parts, and judges have as much time between two of them. What is
        there already is not written again, so that an import which broke off can be repeated.
        """
        new = 0
        for start in range(0, len(given), PART):
            began = time.monotonic()
            new += self._import_part(study_id, given[start : start + PART])
            if start + PART < len(given):
                time.sleep(time.monotonic() - began)
        return new

    def _import_part(self, study_id: int, given: Sequence[ImportedAnswer]) -> int:
        now = moment()
        with self._writing() as db:
            keys = answer.c.client_key.in_([each.key for each in given])
            known = set(db.execute(sa.select(answer.c.client_key).where(keys)).scalars())
            fresh = [each for each in given if each.key not in known]
            if not fresh:
                return 0
            rows = [
                {"study_id": study_id, "judge_id": each.judge_id, "left_id": each.left,
                 "right_id": each.right}
                for each in fresh
            ]  # fmt: skip
            asked = db.execute(
                sa.insert(shown).returning(shown.c.id, sort_by_parameter_order=True),
                [
                    {**row, "purpose": each.purpose, "shown_at": now, "expires_at": now,
                     "answered_at": now, "extra_json": {} if each.detail is None else
                     {"kind": each.kind, "items": each.detail["items"]}}
                    for row, each in zip(rows, fresh, strict=True)
                ],
            ).scalars()  # fmt: skip
            db.execute(
                sa.insert(answer),
                [
                    {**row, "shown_id": number, "kind": stored_kind(each.kind),
                     "value": None if each.value is None else float(each.value),
                     "detail_json": each.detail, "seconds": each.seconds,
                     "client_key": each.key, "received_at": now}
                    for row, number, each in zip(rows, asked, fresh, strict=True)
                ],
            )  # fmt: skip
        return len(fresh)

    # The model

    def given_after(self, study_id: int, number: int) -> list[GivenRow]:
        """Rows of answers after a number, in order; some before it may be among them."""
        if "://" not in self.where:  # numbers are given in the order of writing
            number += OVERLAP
        rows = (
            sa.select(
                answer.c.id, answer.c.kind, answer.c.undoes_id, answer.c.left_id,
                answer.c.right_id, answer.c.value, answer.c.judge_id, shown.c.purpose,
                shown.c.extra_json, answer.c.seconds, answer.c.detail_json,
            )
            .join_from(answer, shown, answer.c.shown_id == shown.c.id, isouter=True)
            .where(answer.c.study_id == study_id, answer.c.id > number - OVERLAP)
            .order_by(answer.c.id)
        )  # fmt: skip
        with self._reading() as db:
            return [
                GivenRow(*row[:8], (row[8] or {}).get("proba"), *row[9:])
                for row in db.execute(rows)
            ]

    def active_judges(self, study_id: int, since: str) -> int:
        """Number of judges who were shown something since a moment."""
        rows = sa.select(sa.func.count(sa.distinct(shown.c.judge_id))).where(
            shown.c.study_id == study_id, shown.c.shown_at > since
        )
        with self._reading() as db:
            return db.execute(rows).scalar() or 0

    def waiting(self, study_id: int) -> dict[str, int]:
        """Number of questions in the queue, by purpose."""
        rows = sa.select(queue.c.purpose, sa.func.count()).where(queue.c.study_id == study_id)
        with self._reading() as db:
            return {row[0]: row[1] for row in db.execute(rows.group_by(queue.c.purpose))}

    def reserved(self, study_id: int) -> list[tuple[int, int]]:
        """Pairs that judges are being asked about; of a set, two of its items."""
        rows = sa.select(reservation.c.low_id, reservation.c.high_id)
        with self._reading() as db:
            found = db.execute(rows.where(reservation.c.study_id == study_id))
            return [(low, high) for low, high in found if low != high]

    def replace_queue(
        self,
        study_id: int,
        purpose: str,
        questions: Sequence[tuple[int, int, Sequence[float]]],
    ) -> None:
        """Put new questions of one purpose in the place of those that wait."""
        with self._writing() as db:
            old = (queue.c.study_id == study_id) & (queue.c.purpose == purpose)
            db.execute(sa.delete(queue).where(old))
            rows = [
                {"study_id": study_id, "left_id": left, "right_id": right,
                 "purpose": purpose, "proba_json": list(proba)}
                for left, right, proba in questions
            ]  # fmt: skip
            if rows:
                db.execute(sa.insert(queue), rows)

    def put_snapshot(
        self,
        study_id: int,
        kind: str,
        last_answer_id: int,
        summary: Mapping[str, Any],
        state: bytes | None = None,
        seconds: float | None = None,
    ) -> int:
        """Keep a snapshot in the place of the older ones of its kind; returns its number."""
        with self._writing() as db:
            new = sa.insert(snapshot).values(
                study_id=study_id, kind=kind, last_answer_id=last_answer_id,
                summary_json=dict(summary), state=state, seconds=seconds, made_at=moment(),
            )  # fmt: skip
            key = db.execute(new).inserted_primary_key
            assert key is not None
            # After the new one is there: SQLite gives the number of a last row out again, and
            # whoever waits for another number would not see it.
            old = (snapshot.c.study_id == study_id) & (snapshot.c.kind == kind)
            db.execute(sa.delete(snapshot).where(old, snapshot.c.id != key[0]))
            return int(key[0])

    def newest_fit(self, study_id: int) -> tuple[Mapping[str, Any], bytes] | None:
        """Summary and state of the newest fit."""
        rows = sa.select(snapshot.c.summary_json, snapshot.c.state).where(
            snapshot.c.study_id == study_id, snapshot.c.kind == "fit"
        )
        with self._reading() as db:
            row = db.execute(rows.order_by(snapshot.c.id.desc()).limit(1)).one_or_none()
        return None if row is None or row.state is None else (row.summary_json, row.state)

    def last_answer(self) -> int:
        """Number of the newest row of answers of all studies."""
        with self._reading() as db:
            return db.execute(sa.select(sa.func.max(answer.c.id))).scalar() or 0

    def model_runs(self) -> bool:
        """Whether a model process has been heard of in the last seconds."""
        seen = sa.select(lease.c.seen_at).where(lease.c.name == "model")
        with self._reading() as db:
            return (db.execute(seen).scalar() or "") > moment(-SILENT)

    def health(self) -> dict[str, Any]:
        """How the store and the model process are."""
        waiting = sa.select(sa.func.count()).select_from(queue)
        made = sa.select(sa.func.max(snapshot.c.made_at))
        model = sa.select(lease.c.seen_at, lease.c.detail_json).where(lease.c.name == "model")
        with self._reading() as db:
            seen = db.execute(model).one_or_none()
            return {
                "store": "ok", "queue": db.execute(waiting).scalar(),
                "snapshot": db.execute(made).scalar(),
                "model": None if seen is None else {"seen": seen[0], **(seen[1] or {})},
            }  # fmt: skip
