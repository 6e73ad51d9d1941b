"""The store loses nothing, changes nothing, and says in a sentence why it cannot be used."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from ordinality.panel import store as rooms
from ordinality.panel.managed_store import ManagedStore
from ordinality.panel.store import AnswerStore, StoreError

ITEMS = {"Ran": {"year": 1985.0}, "Stalker": {"year": 1979.0}, "Solaris": {"year": 1972.0}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "films.ordinality"


@pytest.fixture
def store(path):
    with AnswerStore(path) as opened:
        yield opened


def begun(store):
    """A study, a judge, and a function that shows the first two items."""
    study = store.create_study("films", ITEMS, settings={"seed": 3})
    judge = store.judge(study.id, "ann")
    left, right = study.items[:2]
    return study, lambda: store.show(study.id, judge, left.id, right.id, extra={"p": 0.1})


def values(store, study):
    return [given.value for given in store.answers(study.id)]


# ---------------------------------------------------------------- what is kept


def test_a_study_is_read_back_as_it_was_made(store):
    study, _ = begun(store)
    assert {item.key: item.features for item in study.items} == ITEMS
    assert study == store.study("films")
    assert store.study("books") is None
    assert store.slugs() == ["films"]
    assert store.judge(study.id, "ann") == store.judge(study.id, "ann")


def test_items_are_added_after_the_others(store):
    begun(store)
    grown = store.add_items("films", {"Ikiru": {"year": 1952.0}})
    assert [item.key for item in grown.items] == [*ITEMS, "Ikiru"]


def test_an_answer_comes_with_what_was_stored_when_it_was_asked(store):
    study, show = begun(store)
    store.answer(show(), -1, seconds=1.5)
    (given,) = store.answers(study.id)
    assert (given.judge, given.value, given.purpose, given.seconds) == (
        "ann",
        -1,
        "chosen",
        1.5,
    )
    assert given.extra == {"p": 0.1}
    assert (given.left, given.right) == tuple(item.id for item in study.items[:2])


def test_an_undo_can_be_undone_as_often_as_one_likes(store):
    study, show = begun(store)
    store.answer(show(), 1)
    last = store.answer(show(), -1)
    for count in range(1, 6):
        last = store.undo(last)
        assert values(store, study) == ([1] if count % 2 else [1, -1])


def test_a_skip_is_no_answer_and_can_be_undone(store):
    study, show = begun(store)
    skipped = store.skip(show())
    assert [given.kind for given in store.answers(study.id)] == ["skip"]
    store.undo(skipped)
    assert store.answers(study.id) == []


def test_the_same_key_again_is_the_same_answer(store):
    study, show = begun(store)
    shown = show()
    first = store.answer(shown, 1, client_key="k")
    assert store.answer(shown, -1, client_key="k") == first
    assert store.undo(first, client_key="u") == store.undo(first, client_key="u")
    assert values(store, study) == []


@pytest.mark.parametrize("change", ["update answer set value = 0", "delete from answer"])
def test_the_file_itself_refuses_to_change_an_answer(store, path, change):
    study, show = begun(store)
    store.answer(show(), 1)
    db = sqlite3.connect(path)  # as any other program may try
    with pytest.raises(sqlite3.IntegrityError, match="only appended"):
        db.execute(change)
    db.close()
    assert values(store, study) == [1]


def test_every_connection_waits_for_the_disk_and_checks_references(store):
    with store._reading() as db:
        found = [
            db.exec_driver_sql(f"pragma {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert found == ["wal", 2, 1]  # 2 is FULL
    with pytest.raises(sa.exc.IntegrityError):
        store.show(99, 99, 1, 2)


# It imports once, and is three processes one after another, each of which writes until killed.
WRITER = """
import os, sys
from ordinality.panel.store import AnswerStore
for _ in range(3):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        print("killed", flush=True)
        continue
    with AnswerStore(sys.argv[1]) as store:
        print(os.getpid(), flush=True)
        study = store.study("films")
        judge = store.judge(study.id, "ann")
        left, right = (item.id for item in study.items[:2])
        while True:
            print(store.answer(store.show(study.id, judge, left, right), 1), flush=True)
"""


def test_a_killed_process_loses_nothing_that_it_acknowledged(store, path):
    study, _ = begun(store)
    acknowledged = []
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True
    ) as writer:
        for patience in (0.02, 0.05, 0.11):
            child = int(writer.stdout.readline())
            acknowledged.append(int(writer.stdout.readline()))
            time.sleep(patience)
            os.kill(child, signal.SIGKILL)
            said = iter(writer.stdout.readline, "")
            lines = list(itertools.takewhile(lambda line: not line.endswith("killed\n"), said))
            acknowledged += [int(line) for line in lines]
            found = [given.id for given in store.answers(study.id)]
            # At most one was written whose number could not be said any more, each time.
            assert set(acknowledged) <= set(found)
            assert found == sorted(set(found))
    assert len(found) <= len(acknowledged) + 3


def test_two_programs_may_write_in_turn(store, path):
    study, show = begun(store)
    with AnswerStore(path) as other:
        store.answer(show(), 1)
        other.answer(show(), -1)
        assert values(store, study) == values(other, study) == [1, -1]


# ---------------------------------------------------------------- versions


def test_an_old_store_is_brought_to_the_newest_version_once(store, path, monkeypatch):
    study, show = begun(store)
    store.answer(show(), 1)
    store.close()
    newest = rooms.VERSION + 1
    monkeypatch.setattr(rooms, "VERSION", newest)
    step = sa.text("create table later (n integer)")
    monkeypatch.setattr(rooms, "STEPS", {newest: lambda db: db.execute(step)})
    for _ in range(2):
        with AnswerStore(path) as newer, newer._reading() as db:
            assert rooms._version(db) == newest
            assert "later" in sa.inspect(db).get_table_names()
            assert values(newer, study) == [1]


def test_a_store_of_version_1_gets_what_a_server_needs(store, path):
    study, show = begun(store)
    store.answer(show(), 1)
    store.close()
    with sqlite3.connect(path) as db:
        for table in ("access", "queue", "reservation", "lease"):
            db.execute(f"drop table {table}")
        for index in ("shown_judge_id", "answer_judge_id", "snapshot_study_id",
                      "event_study_id"):  # fmt: skip
            db.execute(f"drop index ix_{index}")
        db.execute("update schema_version set n = 1")
    db.close()
    with ManagedStore(path) as newer:
        assert values(newer, study) == [1]
        newer.begin_questions(study.id)
        (judge,) = newer.judges(study.id)
        assert newer.turn(judge).asked is not None


def test_a_step_that_fails_leaves_the_store_as_it_was(store, path, monkeypatch):
    begun(store)
    store.close()

    def broken(db):
        db.execute(sa.text("create table half (n integer)"))
        raise RuntimeError

    now = rooms.VERSION
    with monkeypatch.context() as newer:
        newer.setattr(rooms, "VERSION", now + 1)
        newer.setattr(rooms, "STEPS", {now + 1: broken})
        with pytest.raises(RuntimeError):
            AnswerStore(path)
    with AnswerStore(path) as same, same._reading() as db:
        assert rooms._version(db) == now
        assert "half" not in sa.inspect(db).get_table_names()


def test_the_tables_can_be_made_on_postgresql():
    for table in rooms._tables.sorted_tables:
        made = str(sa.schema.CreateTable(table).compile(dialect=postgresql.dialect()))
        assert f"CREATE TABLE {table.name}" in made


# ---------------------------------------------------------------- what cannot be used


def test_a_file_that_is_no_store_is_named(path):
    path.write_bytes(b"title,year\nRan,1985\n" * 100)
    with pytest.raises(StoreError, match="films.ordinality is not a store of answers"):
        AnswerStore(path)
    assert path.read_bytes().startswith(b"title")


def test_a_database_of_others_is_left_alone(path):
    with sqlite3.connect(path) as db:
        db.execute("create table mine (n integer)")
    db.close()
    with pytest.raises(StoreError, match="is a database, but not a store of answers"):
        AnswerStore(path)


def test_a_store_of_a_newer_version_is_refused(store, path):
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("insert into schema_version values (7, '')")
    db.close()
    with pytest.raises(StoreError, match=r"newer ordinality \(version 7.*install the newest"):
        AnswerStore(path)


def test_a_store_in_use_is_refused_after_some_patience(store, path, monkeypatch):
    study, _ = begun(store)
    store.close()
    monkeypatch.setattr(rooms, "PATIENCE", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    with AnswerStore(path) as waiting:
        other.execute("begin immediate")
        with pytest.raises(StoreError, match="in use by another program; close that one"):
            waiting.judge(study.id, "bob")
        other.execute("rollback")
        assert waiting.judge(study.id, "bob")
    other.close()


def test_a_read_only_file_is_refused(store, path, monkeypatch):
    store.close()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anything
    with pytest.raises(StoreError, match="may not be written; change its permissions"):
        AnswerStore(path)


def test_a_full_disk_is_said_and_what_was_acknowledged_stays(store):
    study, show = begun(store)
    store.answer(show(), 1)
    with store._reading() as db:
        db.exec_driver_sql("pragma max_page_count = 1")  # as many as it has: no room for more
    with pytest.raises(StoreError, match="the disk is full; make room"):
        store.create_study("large", {f"item {i}": {} for i in range(2000)})
    assert store.study("large") is None
    assert values(store, study) == [1]


def test_a_folder_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(StoreError, match="is a folder"):
        AnswerStore(tmp_path)
    with pytest.raises(StoreError, match="There is no folder .*nowhere; create it"):
        AnswerStore(tmp_path / "nowhere" / "films.ordinality")


def test_what_does_not_exist_cannot_be_answered_or_undone(store):
    begun(store)
    with pytest.raises(StoreError, match="has no question 9"):
        store.answer(9, 1)
    with pytest.raises(StoreError, match="has no answer 9"):
        store.undo(9)
    with pytest.raises(StoreError, match="has a study 'films' already"):
        begun(store)
