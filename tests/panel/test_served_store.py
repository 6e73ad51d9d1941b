"""What a judge is asked: checks, repeats, rest, bars, reservations, and late answers."""

import random
import socket
import subprocess
import sys
from collections import Counter
from datetime import timedelta

import pytest
import sqlalchemy as sa

from ordinality.panel import served_store
from ordinality.panel.managed_store import ManagedStore, NewItem
from ordinality.panel.served_store import Act, pair_of, share_of
from ordinality.panel.store import moment


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(served_store, "FRESH", 0.0)
    with ManagedStore(tmp_path / "x.ordinality") as opened:
        opened._random = random.Random(0)
        yield opened


def begun(store, items, *names):
    """A study whose queue holds every pair, once as chosen and once as a check."""
    made = store.create_study("x", {}, settings={"seed": 5})
    store.add(made.id, items)
    for name in names:
        store.judge(made.id, name)
    active = store.served("x").active
    every = [(a, b, [0.3, 0.7]) for k, a in enumerate(active) for b in active[k + 1 :]]
    store.replace_queue(made.id, "start", [])
    for purpose in ("chosen", "check"):
        store.replace_queue(made.id, purpose, every)
    return store.judges(made.id)


def plain(count):
    return [NewItem(f"item {k}", {}) for k in range(count)]


def asked(store, judge, count):
    """Answer questions; returns what was asked."""
    turn, found = store.turn(judge), []
    for _ in range(count):
        if turn.asked is None:
            break
        found.append(turn.asked)
        turn = store.turn(judge, Act("answer", turn.asked.id, 1))
    return found


def test_checks_and_repeats_have_their_shares_by_a_hash(store):
    (judge,) = begun(store, plain(40), "ann")
    found = [question.purpose for question in asked(store, judge, 400)]
    for k, purpose in enumerate(found):
        chance = share_of("x", 5, judge.id, k)
        assert (purpose == "check") == (chance < 0.15)
        assert (purpose == "repeat") <= (0.15 <= chance < 0.18)
    assert 40 < Counter(found)["check"] < 80
    assert 4 < Counter(found)["repeat"] < 25


def test_of_several_judges_half_of_the_first_twenty_are_random(store):
    judges = begun(store, plain(30), *(f"judge {k}" for k in range(8)))
    found = [asked(store, judge, 30) for judge in judges]
    early = Counter(q.purpose for each in found for q in each[:20])
    late = Counter(q.purpose for each in found for q in each[20:])
    assert 0.4 < early["check"] / 160 < 0.6
    assert late["check"] / 80 < 0.3


def test_a_repeat_is_an_old_pair_with_the_sides_swapped(store):
    (judge,) = begun(store, plain(40), "ann")
    found = asked(store, judge, 300)
    for k, question in enumerate(found):
        if question.purpose != "repeat":
            continue
        before = [(q.left, q.right) for q in found[: k - 19]]
        assert (question.right, question.left) in before
    first = [pair_of(q.left, q.right) for q in found if q.purpose != "repeat"]
    assert len(set(first)) == len(first)


def test_an_item_rests_for_three_questions(store):
    (judge,) = begun(store, plain(20), "ann")
    found = [q for q in asked(store, judge, 60) if q.purpose != "repeat"]
    for k, question in enumerate(found):
        near = {i for q in found[max(0, k - 2) : k] for i in (q.left, q.right)}
        assert not near & {question.left, question.right}


def test_sides_fall_at_random_and_the_probabilities_with_them(store):
    (judge,) = begun(store, plain(40), "ann")
    found = [q for q in asked(store, judge, 200) if q.purpose == "chosen"]
    swapped = [q.left > q.right for q in found]
    assert 0.35 < sum(swapped) / len(swapped) < 0.65
    with store._reading() as db:
        rows = db.execute(sa.text("select left_id, right_id, extra_json, purpose from shown"))
        for left, right, extra, purpose in rows:
            if purpose == "chosen":
                assert (
                    extra == '{"proba": [0.3, 0.7]}' if left < right else "[0.7, 0.3]" in extra
                )


def test_a_judge_is_not_asked_about_barred_items_or_across_groups(store):
    items = [
        NewItem(f"{group}{k}", {}, group=group, not_for=["ann"] if k == 0 else [])
        for group in "pq"
        for k in range(5)
    ]
    (judge,) = begun(store, items, "ann")
    task, found = store.served("x"), asked(store, judge, 50)
    keys = [{task.items[q.left].key, task.items[q.right].key} for q in found]
    assert not [pair for pair in keys if {"p0", "q0"} & pair]
    assert all(len({key[0] for key in pair}) == 1 for pair in keys)
    assert len(set(map(frozenset, keys))) == 2 * 6  # all pairs of four in two groups


def test_a_skipped_pair_is_passed_over_for_fifty_questions(store):
    (judge,) = begun(store, plain(12), "ann")
    turn = store.turn(judge)
    pair = pair_of(turn.asked.left, turn.asked.right)
    store.turn(judge, Act("skip", turn.asked.id))
    found = [pair_of(q.left, q.right) for q in asked(store, judge, 60)]
    assert pair not in found[:49]


def test_a_reservation_ends_after_ten_minutes_and_a_late_answer_counts(store, monkeypatch):
    ann, bob = begun(store, plain(2), "ann", "bob")
    shown = store.turn(ann).asked
    assert store.turn(bob).asked is None  # the only pair is taken
    monkeypatch.setattr(
        "ordinality.panel.served_store.moment",
        lambda later=timedelta(): moment(later + timedelta(minutes=11)),
    )
    store.end_reservations()
    assert store.turn(bob).asked is not None
    assert store.turn(ann, Act("answer", shown.id, 1)).said == "saved"
    assert [given.judge for given in store.answers(1)] == ["ann"]


def test_a_pair_is_answered_once_in_two_tabs_of_one_judge(store):
    (judge,) = begun(store, plain(10), "ann")
    one, other = store.turn(judge).asked, store.turn(judge).asked
    assert one == other
    assert store.turn(judge, Act("answer", one.id, 1)).said == "saved"
    assert store.turn(judge, Act("answer", other.id, -1)).said == "already"
    assert [given.value for given in store.answers(1)] == [1]


def test_a_question_of_another_judge_cannot_be_answered(store):
    ann, bob = begun(store, plain(10), "ann", "bob")
    shown = store.turn(ann).asked
    assert store.turn(bob, Act("answer", shown.id, 1)).said == "unknown"
    assert store.answers(1) == []


def test_without_a_queue_the_least_asked_items_come_first(store):
    (judge,) = begun(store, plain(12), "ann")
    for purpose in ("chosen", "check"):
        store.replace_queue(1, purpose, [])
    found = asked(store, judge, 12)
    times = Counter(i for q in found for i in (q.left, q.right))
    assert min(times.values()) >= 1
    assert len(times) == 12


def test_a_second_holder_is_told_who_has_a_lease_until_that_one_ends(store):
    long = timedelta(seconds=60)
    assert store.hold("server", "a", {"address": "here"}, long) is None
    assert store.hold("server", "a", {"address": "here"}, long) is None
    assert store.hold("server", "b", {}, long) == {"address": "here"}
    store.let_go("server", "b")
    assert store.hold("server", "b", {}, long) is not None
    store.let_go("server", "a")
    assert store.hold("server", "b", {}, long) is None


def test_a_process_of_this_machine_that_has_ended_holds_nothing(store):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    facts = {"host": socket.gethostname(), "process": gone.pid}
    assert store.hold("server", "a", facts, timedelta(seconds=60)) is None
    assert store.hold("server", "b", {}, timedelta(seconds=60)) is None
