"""The model of a server: what it knows after answers, undos and restarts, and what it asks."""

import random
from concurrent.futures import Future
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from ordinality.elicitation import Snapshot
from ordinality.panel import rank_answers
from ordinality.panel.managed_store import ManagedStore, NewItem
from ordinality.panel.served_store import Act
from ordinality.panel.snapshot_bytes import packed, unpacked
from ordinality.panel.study_model import StudyModel, _separate_places

N = 12


class AtOnce:
    """A pool whose jobs are done when they are given."""

    def submit(self, work, *args):
        done = Future()
        done.set_result(work(*args))
        return done


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr("ordinality.panel.served_store.FRESH", 0.0)
    monkeypatch.setattr("ordinality.panel.study_model.FACTS", 0.0)
    monkeypatch.setattr("ordinality.panel.study_model.BETWEEN", 0.0)
    with ManagedStore(tmp_path / "films.ordinality") as opened:
        study = opened.create_study("films", {}, settings={"seed": 3, "top": 3})
        opened.add(study.id, [NewItem(f"film {k:02d}", {}) for k in range(N)])
        opened._random = random.Random(0)
        yield opened


@pytest.fixture
def model(store):
    made = StudyModel(store, store.served("films").id, AtOnce())
    made.rng = np.random.default_rng(0)
    return made


def utilities(task):
    rng = np.random.default_rng(0)
    return dict(zip(task.items, rng.normal(size=len(task.items)), strict=True))


def ask(store, count, name="ann", noise=0.3, seed=1, tie=False):
    """Let a judge answer questions as a noisy judge would."""
    task, rng = store.served("films"), np.random.default_rng(seed)
    number = store.judge(task.id, name)
    (judge,) = [each for each in store.judges(task.id) if each.id == number]
    f, turn = utilities(task), store.turn(judge)
    for _ in range(count):
        gap = f[turn.asked.left] - f[turn.asked.right] + noise * rng.normal()
        value = 0 if tie else 1 if gap > 0 else -1
        turn = store.turn(judge, Act("answer", turn.asked.id, value, 1.5))
    return judge


def worked(model, steps=4):
    for _ in range(steps):
        model.job_ended = -np.inf  # no time has to pass between two jobs
        model.step()


def folded(model):
    """The posterior with all answers folded in, without another fit or update."""
    model._read()
    model._fold()
    return model.belief


def exported(model):
    """The answers as `rank_answers` takes them."""
    key = {i: each.key for i, each in model.task.items.items()}
    rows = model._given()
    return rank_answers(
        [[key[row.left], key[row.right]] for row in rows],
        [int(row.value) for row in rows],
        judges=[model.names[row.judge_id] for row in rows],
        weights=[model._weight(row) for row in rows],
        top=3,
    )


def test_before_any_fit_each_item_is_asked_about_once(store, model):
    assert store.waiting(model.study_id) == {"start": N // 2}
    ask(store, N // 2)
    worked(model)
    asked = [i for row in model._given() for i in (row.left, row.right)]
    assert sorted(asked) == sorted(model.task.items)
    assert model.belief is None


def test_questions_wait_for_judges_after_the_first_fit(store, model):
    ask(store, 10)
    worked(model)
    waiting = store.waiting(model.study_id)
    assert waiting["chosen"] > 0
    assert waiting["check"] > 0
    assert store.summary(model.study_id)["answers"] == 10


def test_with_nothing_new_there_is_nothing_to_do(store, model):
    ask(store, 12)
    worked(model, steps=8)
    filled = store.waiting(model.study_id)
    assert not model.step()
    assert store.waiting(model.study_id) == filled


def test_a_fit_gives_the_ranking_of_the_export(store, model):
    ask(store, 40)
    ask(store, 24, name="bob", seed=2)
    worked(model)
    model.refit = True
    worked(model)
    assert model.learnt.kind == "fit"
    expected = exported(model)
    found = store.summary(model.study_id)["items"]
    key = {i: each.key for i, each in model.task.items.items()}
    assert [key[row["id"]] for row in found] == [one.item for one in expected.items]
    assert [row["utility"] for row in found] == pytest.approx(
        [one.utility for one in expected.items], abs=1e-9
    )
    assert [row["first"] for row in found] == [one.places[0] for one in expected.items]


def test_answers_folded_in_agree_with_an_update(store, model):
    ask(store, 40)
    worked(model)
    ask(store, 15, seed=5)
    found = folded(model)
    updated = model._updated(model.learnt, model._given()).belief
    assert len(model.told) == 55
    assert kendalltau(found.utility().mean, updated.utility().mean).statistic > 0.95
    ratio = found.utility().std / updated.utility().std
    assert np.median(ratio) == pytest.approx(1.0, abs=0.1)


def test_an_undone_answer_is_forgotten(store, model):
    judge = ask(store, 20)
    worked(model)
    before = model.belief.utility().mean
    ask(store, 1)
    assert not np.allclose(folded(model).utility().mean, before)
    store.turn(judge, Act("undo"))
    assert np.allclose(folded(model).utility().mean, before)
    store.turn(judge, Act("undo"))  # one that the fit has learnt from
    worked(model)
    assert len(model.learnt.rows) == 19


def test_the_first_tie_is_learnt_by_a_new_fit(store, model):
    ask(store, 20)
    worked(model)
    assert model.belief.classes_.tolist() == [-1, 1]
    ask(store, 1, tie=True)
    worked(model)
    assert model.belief.classes_.tolist() == [-1, 0, 1]


def test_a_judge_who_is_left_out_has_no_weight(store, model):
    ask(store, 30)
    loud = ask(store, 20, name="loud", noise=50.0, seed=9)
    worked(model)
    store.leave_out(loud.id, True)
    worked(model)
    others = [row for row in model._given() if row.judge_id != loud.id]
    assert sum(model._weight(row) > 0 for row in model._given()) <= len(others)
    alone = exported(model)
    assert store.summary(model.study_id)["items"][0]["utility"] == pytest.approx(
        alone.items[0].utility, abs=1e-9
    )


def test_places_with_a_judge_who_is_left_out_are_beside_those_without(store, model):
    ask(store, 30)
    loud = ask(store, 20, name="loud", noise=50.0, seed=9)
    worked(model)
    assert store.summary(model.study_id)["beside"] == []
    store.leave_out(loud.id, True)
    worked(model)
    found, key = store.summary(model.study_id), model.task.items
    rows = model._given()
    expected = rank_answers(
        [[key[row.left].key, key[row.right].key] for row in rows],
        [int(row.value) for row in rows],
        judges=[model.names[row.judge_id] for row in rows],
        weights=[float(row.purpose != "repeat") for row in rows], leave_out=["loud"],
    ).items  # fmt: skip
    beside = {key[row["id"]].key: row["rank"] for row in found["beside"]}
    assert beside == {one.item: one.rank_of_all for one in expected}
    assert beside != {key[row["id"]].key: row["rank"] for row in found["items"]}
    ask(store, 3)  # less than an update is for
    worked(model)
    assert model.learnt.kind == "update"
    assert len(store.summary(model.study_id)["beside"]) == N
    store.leave_out(loud.id, False)
    worked(model)
    assert store.summary(model.study_id)["beside"] == []


def test_an_item_that_is_judged_by_chance_has_the_largest_misfit(store, model):
    task, rng = store.served("films"), np.random.default_rng(2)
    f, odd = utilities(task), list(task.items)[4]
    for name in ("ann", "bob"):
        judge = store.judge(task.id, name)
        for left, right in combinations(task.items, 2):
            gap = np.sign(f[left] - f[right])
            value = rng.choice([-1, 1]) if odd in (left, right) else gap
            store.answer(store.show(task.id, judge, left, right), int(value))
    worked(model)
    misfit = {row["id"]: row["misfit"] for row in store.summary(model.study_id)["items"]}
    others = [each for number, each in misfit.items() if number != odd]
    assert misfit[odd] > 1.5 * max(others)
    assert np.median(others) < 1.0  # they are judged without noise


def test_what_is_looked_at_comes_before_the_jobs(store, model, monkeypatch):
    ask(store, 10)
    worked(model)
    ask(store, 1, seed=2)
    done = []

    def noted(name):
        work = getattr(model, name)

        def do(*args):
            done.append((name, store.summary(model.study_id)["answers"]))
            return work(*args)

        monkeypatch.setattr(model, name, do)

    noted("_updated")
    noted("_best")
    model.job_ended = model.summed = -np.inf
    model.step()
    assert done == [("_updated", 11), ("_best", 11)]


def test_the_separation_is_that_of_the_shown_utilities(store, model):
    ask(store, 30)
    worked(model)
    found = store.summary(model.study_id)
    mean, sd = np.array([(row["utility"], row["sd"]) for row in found["items"]]).T
    # The variance of shrunk means is that of the signal.
    signal, error = np.var(mean, ddof=1), np.mean(sd**2)
    assert found["separation"] == pytest.approx(signal / (signal + error), rel=1e-9)


def test_a_retired_item_is_asked_about_no_more(store, model):
    ask(store, 20)
    worked(model)
    gone = model.task.active[0]
    store.retire(gone)
    worked(model)
    judge = store.judges(model.study_id)[0]
    for _ in range(10):
        turn = store.turn(judge)
        if gone in (turn.asked.left, turn.asked.right):
            store.turn(judge, Act("skip", turn.asked.id))
            continue
        store.turn(judge, Act("answer", turn.asked.id, 1))
        assert gone not in (turn.asked.left, turn.asked.right)


def test_new_items_are_asked_about_first_and_learnt_by_a_fit(store, model):
    ask(store, 20)
    worked(model)
    store.add(model.study_id, [NewItem("new 1", {}), NewItem("new 2", {})])
    ask(store, 2)
    worked(model)
    assert len(model.belief) == N + 2
    last = model._given()[-1]
    assert {model.task.items[i].key for i in (last.left, last.right)} == {"new 1", "new 2"}


def test_a_restart_goes_on_from_the_stored_snapshot_without_a_fit(store, model):
    ask(store, 20)
    worked(model)
    ask(store, 3)
    again = StudyModel(store, model.study_id, None)  # without a pool it could not fit
    # Single precision keeps seven digits of each covariance.
    expected = folded(model).utility().mean
    assert folded(again).utility().mean == pytest.approx(expected, abs=1e-5)
    again._fill()
    assert store.waiting(model.study_id)["chosen"] > 0


def test_a_snapshot_survives_its_bytes(store, model):
    ask(store, 20)
    worked(model)
    state = packed(model.belief, model.told, model.now.keys, 20)
    belief, told, keys, count = unpacked(state)
    assert isinstance(belief, Snapshot)
    assert (told, keys, count) == (model.told, model.now.keys, 20)
    pairs = [[0, 1], [3, 7]]
    assert belief.predict_proba(pairs) == pytest.approx(
        model.belief.predict_proba(pairs), abs=1e-5
    )
    assert b"pickle" not in state


def test_settled_is_said_of_a_fit_to_all_answers_and_ends_the_questions(store, model):
    judge = None
    for round_ in range(30):
        turn = store.turn(store.judges(model.study_id)[0]) if judge else None
        if turn is not None and turn.asked is None:
            break
        judge = ask(store, 2 if turn else 10, noise=0.01, seed=round_)
        worked(model)
    turn = store.turn(judge)
    summary = store.summary(model.study_id)
    assert turn.reason in ("settled", "empty")
    if turn.reason == "settled":
        assert summary["settled"]
        assert summary["sentence"].startswith("Settled: at least 2 of the first 3")


def test_places_of_many_items_come_from_each_item_alone():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=3000)
    places, best = _separate_places(mean, np.full(3000, 1e-9), 5)
    rank = 1 + np.argsort(np.argsort(-mean))
    assert (places == rank[:, None]).all()
    assert (best == (rank <= 5)).all()
    wide, chance = _separate_places(mean, np.full(3000, 1.0), 5)
    assert (wide[:, 0] <= wide[:, 1]).all()
    assert chance.sum() == pytest.approx(5.0)
