"""Questions about sets and ratings: what is asked, what is stored, what the model learns."""

import itertools
import random
from collections import Counter
from concurrent.futures import Future
from datetime import timedelta

import numpy as np
import pytest

from ordinality._answer_sets import set_weight
from ordinality.panel import rank_answers, served_store
from ordinality.panel.managed_store import GivenRow, ManagedStore, NewItem, compared_rows
from ordinality.panel.served_store import Act, BatchAnswer
from ordinality.panel.set_questions import OddAnswerError, extensions, item_key, read_answer
from ordinality.panel.store import moment
from ordinality.panel.study_model import StudyModel

SETS = [("best-worst", 4, 4), ("order", 3, 3), ("order", 5, 5)]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(served_store, "FRESH", 0.0)
    for name in ("FACTS", "BETWEEN", "SOON"):
        monkeypatch.setattr(f"ordinality.panel.study_model.{name}", 0.0)
    with ManagedStore(tmp_path / "x.ordinality") as opened:
        opened._random = random.Random(0)
        yield opened


def plain(count):
    return [NewItem(f"item {k:02d}", {}) for k in range(count)]


def begun(store, kind, items, *names, **settings):
    made = store.create_study("x", {}, settings={"seed": 5, "kind": kind, "top": 3, **settings})
    store.add(made.id, items)
    for name in names:
        store.judge(made.id, name)
    return store.judges(made.id)


def utilities(task):
    drawn = np.random.default_rng(0).normal(size=len(task.items))
    return dict(zip(task.items, drawn, strict=True))


def ask(store, judge, count, noise=0.3, seed=1):
    """Let a judge answer as a noisy judge would; returns what was asked."""
    f, rng, found = utilities(store.served("x")), np.random.default_rng(seed), []
    turn = store.turn(judge)
    for _ in range(count):
        if turn.asked is None:
            break
        found.append(turn.asked)
        felt = {i: f[i] + noise * rng.normal() for i in turn.asked.items}
        turn = store.turn(judge, said(turn.asked, felt))
    return found


def said(asked, felt):
    """An answer by felt utilities."""
    order = sorted(asked.items, key=felt.__getitem__, reverse=True)
    detail = {"best": order[0], "worst": order[-1], "order": order}
    value = int(np.clip(round(3 + 1.3 * felt[asked.items[0]]), 1, 5))
    return Act("answer", asked.id, value, 1.0, detail)


def answered(store):
    return store.answers(store.served("x").id, every_kind=True)


# ---------------------------------------------------------------- what is asked


@pytest.mark.parametrize(("kind", "size", "expected"), SETS)
def test_a_set_has_different_items_and_a_pair_that_the_judge_has_not_seen(
    store, kind, size, expected
):
    (judge,) = begun(store, kind, plain(20), "ann", size=size)
    seen = set()
    for question in ask(store, judge, 40):
        assert question.kind == kind
        assert len(set(question.items)) == len(question.items) == expected
        pairs = set(itertools.combinations(sorted(question.items), 2))
        assert {question.left, question.right} <= set(question.items)
        if question.purpose != "repeat":
            assert pairs - seen
        seen |= pairs
    assert len(seen) > 100


def test_at_first_every_item_is_in_one_set(store):
    (judge,) = begun(store, "best-worst", plain(20), "ann")
    found = ask(store, judge, 5)
    assert Counter(i for q in found for i in q.items) == dict.fromkeys(
        store.served("x").items, 1
    )
    assert {q.purpose for q in found} == {"start"}


def test_items_of_a_set_are_of_one_group_and_none_is_barred(store):
    items = [
        NewItem(f"{group}{k}", {}, group=group, not_for=["ann"] if k == 0 else [])
        for group in "pq"
        for k in range(6)
    ]
    (judge,) = begun(store, "order", items, "ann", size=4)
    task, found = store.served("x"), ask(store, judge, 20)
    assert len(found) > 4
    for question in found:
        keys = {task.items[i].key for i in question.items}
        assert len({key[0] for key in keys}) == 1
        assert not keys & {"p0", "q0"}


def test_no_set_is_open_for_two_judges_and_no_item_that_is_rated(store):
    for kind in ("best-worst", "order", "rating"):
        for slug in store.slugs():
            store._numbers.pop(slug, None)
        made = store.create_study(kind, {}, settings={"kind": kind})
        store.add(made.id, plain(9))
        for k in range(6):
            store.judge(made.id, f"judge {k}")
        judges = store.judges(made.id)
        f = dict(zip(store.served(kind).items, range(9), strict=True))
        for turn in range(3):
            shown = [store.turn(judge).asked for judge in judges]
            there = [frozenset(q.items) for q in shown if q is not None]
            assert len(there) >= 5
            assert len(set(there)) == len(there), (kind, turn)
            for judge, question in zip(judges, shown, strict=True):
                if question is not None:
                    store.turn(judge, said(question, f))


def test_an_item_is_rated_once_by_each_judge_also_where_there_are_few(store):
    judges = begun(store, "rating", plain(3), "ann", "bob", "cid", "dan")
    shown = [store.turn(judge).asked for judge in judges]
    assert len({q.items for q in shown[:3]}) == 3  # as many as there are
    found = [ask(store, judge, 9) for judge in judges]
    assert all(sorted(q.items[0] for q in each) == [1, 2, 3] for each in found)
    assert store.turn(judges[0]).reason == "empty"


def test_a_set_stands_for_itself_in_a_reservation_whatever_its_order():
    sets = list(itertools.combinations(range(1, 9), 4))
    for items in sets:
        assert item_key(items) == item_key(items[::-1])
        assert set(item_key(items)) <= set(items)
    # 70 sets share 28 pairs, and hashed evenly none has many.
    assert max(Counter(map(item_key, sets)).values()) <= 8
    assert item_key([3]) == (3, 3)


def test_a_repeat_is_an_old_set_the_other_way_round(store):
    (judge,) = begun(store, "best-worst", plain(60), "ann")
    found = ask(store, judge, 80)
    repeats = [k for k, q in enumerate(found) if q.purpose == "repeat"]
    assert repeats
    for k in repeats:
        assert found[k].items[::-1] in [q.items for q in found[: k - 19]]
    model = StudyModel(store, store.served("x").id, AtOnce())
    model._read()
    weights = {row.purpose: model._weight(row) for row in compared_rows(model._given())}
    assert weights["repeat"] == 0.0
    assert weights["start"] == 0.75


# ---------------------------------------------------------------- what is stored


@pytest.mark.parametrize("kind", ["best-worst", "order", "rating"])
def test_undo_skip_and_a_second_post_are_as_for_pairs(store, kind):
    (judge,) = begun(store, kind, plain(12), "ann")
    f = utilities(store.served("x"))
    first = store.turn(judge).asked
    for expected in ("saved", "already"):
        turn = store.turn(judge, said(first, f))
        assert turn.said == expected
    assert store.turn(judge, Act("skip", turn.asked.id)).said == "skipped"
    turn = store.turn(judge, Act("undo"))
    assert store.turn(judge, Act("undo")).asked.items == first.items  # as it was shown
    assert answered(store) == []
    back = store.turn(judge).asked
    detail = {"item": back.items[-1], "text": "blurred"}
    assert store.turn(judge, Act("report", back.id, detail=detail)).said == "reported"
    assert store.reports(store.served("x").id)[0]["item"] == f"item {back.items[-1] - 1:02d}"


@pytest.mark.parametrize("kind", ["best-worst", "rating"])
def test_what_is_open_is_free_after_ten_minutes_and_a_late_answer_counts(
    store, kind, monkeypatch
):
    ann, bob = begun(store, kind, plain(4 if kind == "best-worst" else 1), "ann", "bob")
    late, f = store.turn(ann).asked, utilities(store.served("x"))
    if kind == "best-worst":
        assert store.turn(bob).asked is None  # the only set is taken
    monkeypatch.setattr(
        served_store, "moment", lambda later=timedelta(): moment(later + timedelta(minutes=11))
    )
    store.end_reservations()
    assert set(store.turn(bob).asked.items) == set(late.items)
    assert store.turn(ann, said(late, f)).said == "saved"
    assert [given.judge for given in answered(store)] == ["ann"]


@pytest.mark.parametrize(
    ("kind", "value", "detail", "sentence"),
    [
        ("best-worst", 0, {}, "Choose the best and the worst"),
        ("best-worst", 0, {"best": 1}, "Choose the worst as well"),
        ("best-worst", 0, {"worst": 1, "best": 9}, "Choose the best as well"),
        ("best-worst", 0, {"best": 1, "worst": 1}, "must be different items"),
        ("order", 0, {"order": [1, 2]}, "every item of the question once"),
        ("order", 0, {"order": [1, 2, 3, 3]}, "every item of the question once"),
        ("order", 0, None, "every item of the question once"),
        ("rating", 6, None, "from 1 to 5"),
        ("rating", 0, None, "from 1 to 5"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_a_sentence(kind, value, detail, sentence):
    with pytest.raises(OddAnswerError, match=sentence):
        read_answer(kind, [1, 2, 3, 4], (1, 2), value, detail)


def test_a_refused_answer_leaves_nothing_and_the_question_open(store):
    (judge,) = begun(store, "best-worst", plain(8), "ann")
    asked = store.turn(judge).asked
    with pytest.raises(OddAnswerError):
        store.turn(judge, Act("answer", asked.id, 0, 1.0, {"best": asked.items[0]}))
    assert answered(store) == []
    assert store.turn(judge).asked == asked


def test_the_kind_can_change_and_an_open_question_stays_what_it_is(store):
    (judge,) = begun(store, "pair", plain(10), "ann")
    f = utilities(store.served("x"))
    task, asked = store.served("x"), store.turn(judge).asked
    for kind in ("best-worst", "rating", "order"):
        changed = task.settings.of({**task.settings.as_dict(), "kind": kind})
        store.change_study(task.id, changed, task.question, "")
        assert store.turn(judge).asked == asked
        asked = store.turn(judge, said(asked, f)).asked
        assert asked.kind == kind
    store.turn(judge, said(asked, f))
    kinds = [given.kind for given in answered(store)]
    assert kinds == ["pair", "best_worst", "rating", "order"]
    assert [given.kind for given in store.answers(task.id)] == ["pair"]


def test_programs_give_sets_and_ratings_and_the_same_once(store):
    (judge,) = begun(store, "best-worst", plain(8), "bot")
    asked = store.turn(judge).asked
    detail = {"best": asked.items[0], "worst": asked.items[1]}
    other = tuple(i for i in store.served("x").items if i not in asked.items)
    more = {"best": other[2], "worst": other[3]}
    given = [
        BatchAnswer("1", *asked.items[:2], 0, None, "best-worst", asked.items[::-1], detail),
        BatchAnswer("2", *other[:2], 0, 2.0, "best-worst", other, more),
    ]
    assert store.append_batch(judge, given) == store.append_batch(judge, given)
    found = answered(store)
    assert [each.detail["best"] for each in found] == [asked.items[0], other[2]]
    assert found[0].items == asked.items  # it belongs to the question that was open


# ---------------------------------------------------------------- what is learnt


class AtOnce:
    """A pool whose jobs are done when they are given."""

    def submit(self, work, *args):
        done = Future()
        done.set_result(work(*args))
        return done


def modelled(store):
    made = StudyModel(store, store.served("x").id, AtOnce())
    made.rng = np.random.default_rng(0)
    return made


def worked(model, steps=3):
    for _ in range(steps):
        model.job_ended = -np.inf
        model.step()


def test_pairs_of_a_set_come_as_they_were_shown_with_the_weights_of_tables():
    head = (1, "best_worst", None, 7, 9, 1.0, 1, "start", None, 2.0)
    row = GivenRow(*head, {"items": [7, 9, 3, 5], "best": 9, "worst": 3})
    found = {(r.left, r.right): r.value for r in row.compared()}
    assert found == {(9, 3): 1, (7, 9): -1, (9, 5): 1, (7, 3): 1, (3, 5): -1}
    assert {r.weight for r in row.compared()} == {set_weight("best-worst", 4)}
    row = row._replace(kind="order", detail={"items": [7, 9, 3], "order": [3, 7, 9]})
    assert {(r.left, r.right): r.value for r in row.compared()} == {
        (7, 3): -1, (9, 3): -1, (7, 9): 1
    }  # fmt: skip
    assert {r.weight for r in row.compared()} == {set_weight("ranking", 3)}


@pytest.mark.parametrize("kind", ["best-worst", "order", "rating"])
def test_the_model_finds_the_order_and_learns_without_another_fit(store, kind):
    judges = begun(store, kind, plain(12), "ann", "bob", "cid")
    model = modelled(store)
    for k, judge in enumerate(judges[:2]):
        ask(store, judge, 12, seed=k)
    worked(model)
    assert model.learnt.kind == "fit"
    before = model.learnt.belief
    ask(store, judges[2], 3, seed=5)
    worked(model)
    assert model.learnt.kind == "update"
    assert len(model.learnt.rows) == len(model._given()) == store.summary(1)["answers"]
    assert not np.allclose(model.belief.utility()[0], before.utility()[0])
    f = utilities(store.served("x"))
    truth = [f[i] for i in model.now.keys]
    assert np.corrcoef(model.belief.utility()[0], truth)[0, 1] > 0.85
    asked = {row["id"]: row["answers"] for row in store.summary(1)["items"]}
    assert asked == Counter(i for given in answered(store) for i in given.items)


def test_a_rating_of_a_new_level_is_learnt_by_a_fit(store):
    (judge,) = begun(store, "rating", plain(14), "ann")
    model, turn = modelled(store), store.turn(judge)

    def rate(value):
        nonlocal turn
        turn = store.turn(judge, Act("answer", turn.asked.id, value))

    for _ in range(10):
        rate(3)
    worked(model)
    assert model.learnt.model.rating_levels_ is None  # one level has no threshold
    rate(4)
    worked(model)
    assert model.learnt.model.rating_levels_.tolist() == [3, 4]
    rate(5)
    worked(model)
    assert model.learnt.kind == "fit"
    assert model.learnt.model.rating_levels_.tolist() == [3, 4, 5]


def test_the_tested_pair_of_a_set_is_even_for_a_judge_who_flips_coins():
    draws, values = random.Random(3), []
    for _ in range(3000):
        (items, *_) = extensions((1, 2), range(3, 9), 4, lambda one: -one, draws)
        sides = tuple(sorted((1, 2), key=items.index))
        # One who always picks the first place as best has no side either: places are random.
        best = items[0] if draws.random() < 0.3 else draws.choice(items)
        worst = draws.choice([i for i in items if i != best])
        values.append(read_answer("best-worst", items, sides, 0,
                                  {"best": best, "worst": worst}).value)  # fmt: skip
    compared = [value * (1 if k % 2 else -1) for k, value in enumerate(values) if value]
    # Of four items with a best and a worst one pair in six is not compared.
    assert abs(values.count(None) / len(values) - 1 / 6) < 0.03
    assert abs(sum(compared)) < 3 * len(compared) ** 0.5


def test_answers_about_sets_are_found_to_be_better_than_a_coin(store):
    judges = begun(store, "order", plain(16), "ann", "bob", "cid", size=3)
    model = modelled(store)
    for k, judge in enumerate(judges):
        ask(store, judge, 14, noise=0.1, seed=k)
        worked(model)
        ask(store, judge, 14, noise=0.1, seed=k)
    worked(model)
    assert store.summary(1)["trust"]["better_than_coin"]
    assert store.summary(1)["trust"]["checks"]["count"] > 5


def test_ratings_alone_are_never_settled_and_the_sentence_says_why(store):
    judges = begun(store, "rating", plain(6), *"abcdefgh", stop=False)
    model = modelled(store)
    for k, judge in enumerate(judges):
        ask(store, judge, 6, noise=0.05, seed=k)
    worked(model)
    found = store.summary(1)
    assert found["probability"] > 0.9
    assert not found["settled"]
    assert "Ratings alone settle nothing" in found["sentence"]
    assert found["trust"]["checks"]["count"] == 0


def test_a_judge_who_is_left_out_rates_nothing(store):
    judges = begun(store, "rating", plain(10), "ann", "bob")
    for k, judge in enumerate(judges):
        ask(store, judge, 10, seed=k)
    model = modelled(store)
    worked(model)
    assert store.summary(1)["beside"] == []
    store.leave_out(judges[1].id, True)
    worked(model, 5)
    own = [given for given in answered(store) if given.judge == "ann"]
    key = {i: each.key for i, each in store.served("x").items.items()}
    names = sorted(key.values())
    expected = rank_answers(
        np.empty((0, 2)), [], items=names,
        ratings=([key[g.left] for g in own], [g.value for g in own]),
    )  # fmt: skip
    found = {key[row["id"]]: row["utility"] for row in store.summary(1)["items"]}
    assert found == pytest.approx({i.item: i.utility for i in expected.items}, abs=1e-9)
    assert len(store.summary(1)["beside"]) == 10
