"""The store of answers: one SQLite file, to which answers are only ever appended.

Nothing that people said is changed or deleted. An undo is a row that names the row it takes
back, and an undo can be undone in the same way; what counts is read off the rows. An answer is
on the disk before `AnswerStore.answer` returns, so that a killed process loses nothing that it
has acknowledged.

All queries are SQLAlchemy Core and run on PostgreSQL as well. Only the pragmas and the triggers
that refuse changes of answers depend on the database.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

try:
    import sqlalchemy as sa
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "Answers are stored with SQLAlchemy, which is not installed; "
        'type: pip install "ordinality[cli]"'
    ) from None

__all__ = ["Answer", "AnswerStore", "Item", "StoreError", "StudyRecord", "moment"]

VERSION = 2

PAIRED = ("pair", "skip")  # kinds of answers
NOT_PAIRED = ("best_worst", "rating", "order")
PATIENCE = 5.0  # seconds to wait for another program that is writing


class StoreError(ValueError):
    """A store that cannot be used; the message says why and what to do."""


# ---------------------------------------------------------------- tables

_tables = sa.MetaData()
_moment = sa.String(32)  # UTC as in ISO 8601, which sorts as time does
_json = sa.JSON(none_as_null=True)


def _key(name: str, table: str, **more: Any) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, sa.ForeignKey(f"{table}.id"), **more)


def _one_of(column: str, *words: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(sa.column(column).in_(words), name=f"known_{column}")


study = sa.Table(
    "study", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("slug", sa.Text, unique=True, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("settings_json", _json, nullable=False),
    sa.Column("consent_text", sa.Text),
    sa.Column("consent_version", sa.Integer),
    sa.Column("created_at", _moment, nullable=False),
    sa.Column("closed_at", _moment),
)  # fmt: skip
media = sa.Table(
    "media", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    _key("study_id", "study", nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("mime", sa.Text, nullable=False),
    sa.Column("bytes", sa.Integer, nullable=False),
    sa.Column("path_rel", sa.Text, nullable=False),
)  # fmt: skip
item = sa.Table(
    "item", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    _key("study_id", "study", nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("text", sa.Text),
    _key("media_id", "media"),
    sa.Column("group_key", sa.Text),
    sa.Column("features_json", _json),
    sa.Column("not_for_json", _json),
    sa.Column("retired_at", _moment),
    sa.UniqueConstraint("study_id", "key"),
)  # fmt: skip
judge = sa.Table(
    "judge", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    _key("study_id", "study", nullable=False),
    sa.Column("name", sa.Text),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("token_sha256", sa.String(64), unique=True),
    sa.Column("quota", sa.Integer),
    sa.Column("consent_version", sa.Integer),
    sa.Column("consent_at", _moment),
    sa.Column("left_out_at", _moment),
    sa.Column("withdrawn_at", _moment),
    _one_of("kind", "person", "program", "import"),
)  # fmt: skip
snapshot = sa.Table(
    "snapshot", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    _key("study_id", "study", nullable=False),
    sa.Column("last_answer_id", sa.Integer),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("summary_json", _json),
    sa.Column("state", sa.LargeBinary),
    sa.Column("seconds", sa.Float),
    sa.Column("made_at", _moment, nullable=False),
    _one_of("kind", "fit", "update"),
)  # fmt: skip
shown = sa.Table(
    "shown", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    _key("study_id", "study", nullable=False),
    _key("judge_id", "judge", nullable=False),
    _key("left_id", "item"),
    _key("right_id", "item"),
    sa.Column("extra_json", _json),
    sa.Column("purpose", sa.Text, nullable=False),
    _key("snapshot_id", "snapshot"),
    sa.Column("shown_at", _moment, nullable=False),
    sa.Column("expires_at", _moment),
    sa.Column("answered_at", _moment),
    _one_of("purpose", "start", "chosen", "check", "repeat"),
)  # fmt: skip
answer = sa.Table(
    "answer", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    _key("study_id", "study", nullable=False, index=True),
    _key("shown_id", "shown"),
    _key("judge_id", "judge", nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    _key("left_id", "item"),
    _key("right_id", "item"),
    sa.Column("value", sa.Float),
    sa.Column("detail_json", _json),
    _key("undoes_id", "answer"),
    sa.Column("seconds", sa.Float),
    sa.Column("client_key", sa.Text, unique=True, nullable=False),
    sa.Column("received_at", _moment, nullable=False),
    _one_of("kind", "pair", "best_worst", "rating", "order", "skip", "undo", "report"),
)  # fmt: skip
event = sa.Table(
    "event", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    _key("study_id", "study"),
    sa.Column("who", sa.Text),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("detail_json", _json),
    sa.Column("at", _moment, nullable=False),
)  # fmt: skip
schema_version = sa.Table(
    "schema_version", _tables,
    sa.Column("n", sa.Integer, primary_key=True),
    sa.Column("at", _moment, nullable=False),
)  # fmt: skip

# Of a server, since version 2. What is lost with any of these is made again.
access = sa.Table(  # links of judges; of the admin, where no judge is named
    "access", _tables,
    sa.Column("token_sha256", sa.String(64), primary_key=True),
    _key("judge_id", "judge", index=True),
    sa.Column("made_at", _moment, nullable=False),
    sa.Column("withdrawn_at", _moment),
)  # fmt: skip
queue = sa.Table(  # questions that wait for a judge, best first
    "queue", _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    _key("study_id", "study", nullable=False, index=True),
    _key("left_id", "item", nullable=False),
    _key("right_id", "item", nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("proba_json", _json),
    _one_of("purpose", "start", "chosen", "check"),
)  # fmt: skip
# A pair has one row at most: two servers cannot both reserve it.
reservation = sa.Table(
    "reservation", _tables,
    _key("study_id", "study", primary_key=True),
    _key("low_id", "item", primary_key=True),
    _key("high_id", "item", primary_key=True),
    _key("judge_id", "judge", nullable=False, index=True),
    sa.Column("expires_at", _moment, nullable=False),
)  # fmt: skip
lease = sa.Table(  # what only one program may do at a time
    "lease", _tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("detail_json", _json),
    sa.Column("seen_at", _moment, nullable=False),
)  # fmt: skip
_indexes = (
    sa.Index("ix_shown_judge_id", shown.c.judge_id),
    sa.Index("ix_answer_judge_id", answer.c.judge_id),
    sa.Index("ix_snapshot_study_id", snapshot.c.study_id),
    sa.Index("ix_event_study_id", event.c.study_id),
)


def _add_server_tables(db: sa.Connection) -> None:
    for table in (access, queue, reservation, lease):
        table.create(db)
    for index in _indexes:
        index.create(db)


# What brings a store of the version before to each version. A new store is made as the newest.
STEPS: dict[int, Callable[[sa.Connection], None]] = {2: _add_server_tables}

_TRIGGERS = {
    "sqlite": (
        "create trigger answer_never_updated before update on answer "
        "begin select raise(abort, 'answers are only appended'); end",
        "create trigger answer_never_deleted before delete on answer "
        "begin select raise(abort, 'answers are only appended'); end",
    ),
    "postgresql": (
        "create function answers_are_only_appended() returns trigger language plpgsql as "
        "$$ begin raise exception 'answers are only appended'; end $$",
        "create trigger answer_never_changed before update or delete on answer "
        "for each row execute function answers_are_only_appended()",
    ),
}


# ---------------------------------------------------------------- values


@dataclass(frozen=True)
class Item:
    """One of the things that are compared."""

    id: int
    key: str
    features: Mapping[str, float]


@dataclass(frozen=True)
class StudyRecord:
    """A set of items and how they are asked about."""

    id: int
    slug: str
    question: str
    settings: Mapping[str, Any]
    items: tuple[Item, ...]  # in the order in which they were added


@dataclass(frozen=True)
class Answer:
    """An answer or a skip that counts, with the question it answers."""

    id: int
    judge: str
    kind: str  # "pair" or "skip"; of all kinds also "best_worst", "order" and "rating"
    left: int  # ids of items; both are the same for one that was rated
    right: int
    value: int  # above zero: left is better; 0 for a tie and for a skip; a rating
    purpose: str
    extra: Mapping[str, Any]  # what was stored with the question when it was shown
    seconds: float | None
    at: str = ""  # when it came
    detail: Mapping[str, Any] = field(default_factory=dict)  # of an answer about a set

    @property
    def items(self) -> tuple[int, ...]:
        """Ids of the items that were shown, in that order."""
        return tuple(self.extra.get("items", (self.left, self.right)))


# ---------------------------------------------------------------- the store


class AnswerStore:
    """An open store. Every method that writes has written to the disk when it returns."""

    def __init__(self, where: str | Path) -> None:
        self.where = str(where)
        self.name = _without_password(self.where)
        self._file = None if "://" in self.where else Path(where)
        self._engine = _engine(self.where)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._engine.dispose()

    def study(self, slug: str) -> StudyRecord | None:
        """A study with its items that are not retired; None if there is none of that name."""
        with self._reading() as db:
            row = db.execute(sa.select(study).where(study.c.slug == slug)).one_or_none()
            if row is None:
                return None
            items = sa.select(item).where(
                item.c.study_id == row.id, item.c.retired_at.is_(None)
            )
            found = tuple(
                Item(each.id, each.key, each.features_json or {})
                for each in db.execute(items.order_by(item.c.id))
            )
        return StudyRecord(row.id, row.slug, row.question, row.settings_json, found)

    def slugs(self) -> list[str]:
        """Names of the studies there are."""
        with self._reading() as db:
            return list(db.execute(sa.select(study.c.slug).order_by(study.c.id)).scalars())

    def create_study(
        self,
        slug: str,
        items: Mapping[str, Mapping[str, float]],
        *,
        question: str = "Which is better?",
        settings: Mapping[str, Any] | None = None,
    ) -> StudyRecord:
        """Begin a study of items, given as their features by key."""
        if self.study(slug) is not None:
            raise StoreError(f"{self.name} has a study {slug!r} already; name another file.")
        with self._writing() as db:
            made = db.execute(
                sa.insert(study).values(
                    slug=slug, question=question, kind=(settings or {}).get("kind", "pair"),
                    settings_json=dict(settings or {}), created_at=moment(),
                )
            )  # fmt: skip
            _insert_items(db, _id_of(made), items)
        return self._known(slug)

    def add_items(self, slug: str, items: Mapping[str, Mapping[str, float]]) -> StudyRecord:
        """Add items to a study, after those that it has."""
        with self._writing() as db:
            _insert_items(db, self._known(slug).id, items)
        return self._known(slug)

    def judge(self, study_id: int, name: str, kind: str = "person") -> int:
        """The number of a judge, who is added if the study does not know the name."""
        same = sa.select(judge.c.id).where(judge.c.study_id == study_id, judge.c.name == name)
        with self._writing() as db:
            known = db.execute(same.order_by(judge.c.id)).scalars().first()
            if known is not None:
                return known
            new = sa.insert(judge).values(study_id=study_id, name=name, kind=kind)
            return _id_of(db.execute(new))

    def show(
        self,
        study_id: int,
        judge_id: int,
        left: int,
        right: int,
        purpose: str = "chosen",
        extra: Mapping[str, Any] | None = None,
    ) -> int:
        """Note that a pair of items (by id) is shown to a judge; returns its number."""
        with self._writing() as db:
            row = sa.insert(shown).values(
                study_id=study_id, judge_id=judge_id, left_id=left, right_id=right,
                purpose=purpose, extra_json=dict(extra or {}), shown_at=moment(),
            )  # fmt: skip
            return _id_of(db.execute(row))

    def answer(
        self,
        shown_id: int,
        value: int,
        *,
        client_key: str | None = None,
        seconds: float | None = None,
    ) -> int:
        """Append the answer to a question; the same ``client_key`` again is the same answer."""
        return self._append("pair", shown_id, int(value), client_key, seconds)

    def skip(
        self,
        shown_id: int,
        *,
        client_key: str | None = None,
        seconds: float | None = None,
    ) -> int:
        """Note that a judge passed a question over."""
        return self._append("skip", shown_id, None, client_key, seconds)

    def undo(self, answer_id: int, *, client_key: str | None = None) -> int:
        """Take an answer, a skip or an undo back, by a row that says so."""
        with self._reading() as db:
            row = db.execute(sa.select(answer).where(answer.c.id == answer_id)).one_or_none()
        if row is None:
            raise StoreError(
                f"{self.name} has no answer {answer_id}; there is nothing to undo."
            )
        return self._insert_once(
            client_key, kind="undo", study_id=row.study_id, judge_id=row.judge_id,
            undoes_id=row.id,
        )  # fmt: skip

    def answers(self, study_id: int, every_kind: bool = False) -> list[Answer]:
        """What was answered and skipped and not taken back, in the order in which it came.

        These are pairs and skips; of ``every_kind`` also answers about sets, and ratings.
        """
        kinds = (*PAIRED, *NOT_PAIRED) if every_kind else PAIRED
        with self._reading() as db:
            undos = sa.select(answer.c.id, answer.c.undoes_id).where(
                answer.c.study_id == study_id, answer.c.kind == "undo"
            )
            taken_back = _taken_back(db.execute(undos.order_by(answer.c.id.desc())).all())
            rows = db.execute(
                sa.select(
                    answer, judge.c.name, shown.c.purpose,
                    shown.c.extra_json, shown.c.left_id.label("l"), shown.c.right_id.label("r"),
                )
                .join(shown, answer.c.shown_id == shown.c.id)
                .join(judge, answer.c.judge_id == judge.c.id)
                .where(answer.c.study_id == study_id, answer.c.kind.in_(kinds))
                .order_by(answer.c.id)
            ).all()  # fmt: skip
        return [
            Answer(
                row.id, row.name, row.kind, row.l, row.l if row.r is None else row.r,
                int(row.value or 0), row.purpose, row.extra_json or {}, row.seconds,
                row.received_at, detail=row.detail_json or {},
            )
            for row in rows
            if row.id not in taken_back and (every_kind or row.r is not None)
        ]  # fmt: skip

    # Writing

    def _known(self, slug: str) -> StudyRecord:
        found = self.study(slug)
        if found is None:
            raise StoreError(f"{self.name} has no study {slug!r}.")
        return found

    def _append(
        self,
        kind: str,
        shown_id: int,
        value: int | None,
        client_key: str | None,
        seconds: float | None,
    ) -> int:
        with self._reading() as db:
            asked = db.execute(sa.select(shown).where(shown.c.id == shown_id)).one_or_none()
        if asked is None:
            raise StoreError(f"{self.name} has no question {shown_id}; show it first.")
        return self._insert_once(
            client_key, kind=kind, study_id=asked.study_id, judge_id=asked.judge_id,
            shown_id=shown_id, left_id=asked.left_id, right_id=asked.right_id, value=value,
            seconds=seconds,
        )  # fmt: skip

    def _insert_once(self, client_key: str | None, **row: Any) -> int:
        """Append a row of answers unless one with its key is there; returns its number."""
        key = client_key or secrets.token_hex(16)
        same = sa.select(answer.c.id).where(answer.c.client_key == key)
        try:
            with self._writing() as db:
                known = db.execute(same).scalar_one_or_none()
                if known is not None:
                    return known
                at = moment()
                new = db.execute(
                    sa.insert(answer).values(client_key=key, received_at=at, **row)
                )
                if row.get("shown_id") is not None:
                    asked = sa.update(shown).where(shown.c.id == row["shown_id"])
                    db.execute(asked.values(answered_at=at))
                return _id_of(new)
        except sa.exc.IntegrityError:
            # Two at once with one key, on a database that lets both look before either writes.
            with self._reading() as db:
                known = db.execute(same).scalar_one_or_none()
            if known is None:
                raise
            return known

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._errors_as_sentences(), self._engine.connect() as db:
            yield db

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """One transaction, on the disk when the block ends, or undone if it fails."""
        engine = self._engine.execution_options(writes=True)
        with self._errors_as_sentences(), engine.begin() as db:
            yield db

    def _let_change(self, db: sa.Connection, may: bool) -> None:
        """Let answers be changed within a transaction, or no more."""
        if db.dialect.name == "postgresql":
            word = "disable" if may else "enable"
            db.exec_driver_sql(f"alter table answer {word} trigger answer_never_changed")
        elif may:
            db.exec_driver_sql("drop trigger answer_never_updated")
        else:
            db.exec_driver_sql(_TRIGGERS["sqlite"][0])

    # Opening

    def _prepare(self) -> None:
        """Make the tables of a new store; bring an old one to the newest version."""
        if self._file is not None:
            _refuse_file(self._file)
        with self._reading() as db:
            there = set(sa.inspect(db).get_table_names())
            version = _version(db) if "schema_version" in there else 0
        if there and not version:
            raise StoreError(
                f"{self.name} is a database, but not a store of answers; name another file."
            )
        if version > VERSION:
            raise StoreError(
                f"{self.name} was written by a newer ordinality (version {version} of the "
                f"store; this one knows {VERSION}); install the newest ordinality."
            )
        if version < VERSION:
            with self._writing() as db:
                _bring_up_to_date(db)

    @contextmanager
    def _errors_as_sentences(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except (sa.exc.DBAPIError, sqlite3.Error) as problem:  # the latter from pragmas
            raise StoreError(self._sentence(getattr(problem, "orig", problem))) from problem

    def _sentence(self, problem: Any) -> str:
        name = getattr(problem, "sqlite_errorname", "")
        for start, what in _FAILURES.items():
            if name.startswith(start):
                return f"{self.name} {what}"
        return f"{self.name} cannot be used: {' '.join(str(problem).split())}."


_FAILURES = {
    "SQLITE_NOTADB": "is not a store of answers; name another file.",
    "SQLITE_CORRUPT": "is damaged; restore it from a copy.",
    "SQLITE_BUSY": "is in use by another program; close that one, or wait, and try again.",
    "SQLITE_READONLY": "may not be written; change its permissions or copy it elsewhere.",
    "SQLITE_FULL": "cannot grow: the disk is full; make room and try again.",
    "SQLITE_IOERR": "cannot be written: the disk reports an error; check the disk.",
    "SQLITE_CANTOPEN": "cannot be opened; check the folder and its permissions.",
}


def _engine(where: str) -> sa.Engine:
    """A connection pool; on SQLite with pragmas and explicit transactions."""
    if "://" in where:
        return sa.create_engine(_with_driver(where))
    url = sa.URL.create("sqlite", database=where)
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE})

    @sa.event.listens_for(engine, "connect")
    def _set_pragmas(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say, DDL included
        for pragma in ("journal_mode = wal", "synchronous = full", "foreign_keys = on"):
            connection.execute(f"pragma {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        # A transaction that begins by reading and then writes may be refused at once, without
        # waiting; one that takes the right to write first waits for it.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("begin immediate" if writes else "begin")

    return engine


def _without_password(where: str) -> str:
    """The place of a store as messages name it."""
    if "://" not in where:
        return where
    return _with_driver(where).set(drivername="postgresql").render_as_string()


def _with_driver(where: str) -> sa.URL:
    """A database URL, with the driver that the extra `postgres` installs."""
    try:
        url = sa.make_url(where)
    except sa.exc.ArgumentError:
        raise StoreError(
            "The URL of the store cannot be read; wanted postgresql://..."
        ) from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise StoreError(
            f"A store cannot be kept in {url.drivername!r}; name a file, or postgresql://..."
        )
    return url.set(drivername="postgresql+psycopg")


def _refuse_file(path: Path) -> None:
    """Refuse what SQLite would refuse with other words, or would create by mistake."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it.")
    if not path.absolute().parent.is_dir():
        raise StoreError(f"There is no folder {path.parent}; create it first.")
    if path.exists() and not os.access(path, os.W_OK):
        raise StoreError(f"{path} {_FAILURES['SQLITE_READONLY']}")


def _version(db: sa.Connection) -> int:
    return db.execute(sa.select(sa.func.max(schema_version.c.n))).scalar() or 0


def _bring_up_to_date(db: sa.Connection) -> None:
    """Make all tables, or run the steps that are missing, in one transaction."""
    if "schema_version" not in sa.inspect(db).get_table_names():
        _tables.create_all(db)
        for trigger in _TRIGGERS[db.dialect.name]:
            db.exec_driver_sql(trigger)
    else:  # read again: another program may have come first
        for n in range(_version(db) + 1, VERSION + 1):
            STEPS[n](db)
    if _version(db) < VERSION:
        db.execute(sa.insert(schema_version).values(n=VERSION, at=moment()))


def _insert_items(
    db: sa.Connection, study_id: int, items: Mapping[str, Mapping[str, float]]
) -> None:
    rows = [
        {"study_id": study_id, "key": key, "title": key, "features_json": dict(features)}
        for key, features in items.items()
    ]
    if rows:
        db.execute(sa.insert(item), rows)


def _id_of(result: sa.CursorResult[Any]) -> int:
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])


def _taken_back(undos: Sequence[Any]) -> set[int]:
    """Numbers of rows that were undone; the undos come with the newest first."""
    gone: set[int] = set()
    for row in undos:
        if row.id not in gone:  # an undo that was undone takes nothing back
            gone.add(row.undoes_id)
    return gone


def moment(later: timedelta = timedelta()) -> str:
    """Now, or some time later, as the store has it."""
    return (datetime.now(UTC) + later).isoformat(timespec="milliseconds")
