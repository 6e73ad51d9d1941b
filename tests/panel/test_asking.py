"""Questions depend on the answers and the seed alone, and "settled" is not said lightly."""

from dataclasses import replace

import numpy as np
import pytest

from ordinality.elicitation import Trust
from ordinality.panel import asking
from ordinality.panel.asking import Session, Standing, percent
from ordinality.panel.store import Answer, AnswerStore, Item, StudyRecord


def study_of(n, **settings):
    items = tuple(Item(10 + i, f"item {i}", {}) for i in range(n))
    return StudyRecord(
        1, "films", "Which is better?", {"seed": 0, "ties": False, **settings}, items
    )


def session_of(n, top=0, judge="me", **settings):
    return Session(study_of(n, **settings), judge, top, 0.95)


def given_to(question, value, number, judge="me", kind="pair"):
    left, right = 10 + question.left, 10 + question.right
    return Answer(
        number,
        judge,
        kind,
        left,
        right,
        value,
        question.purpose,
        {"proba": question.proba},
        1.0,
    )


def asked(session, most, judge, answers=()):
    """A session of up to `most` more questions; `judge` maps a question to an answer."""
    answers, questions = list(answers), []
    while len(questions) < most and not session.standing(answers).settled:
        question = session.question(answers)
        if question is None:
            break
        questions.append(question)
        answers.append(given_to(question, judge(question), len(answers), session.judge))
    return questions, answers


def a_judge(n, noise, seed=0):
    """One who knows: item 0 is the best, item 1 the next, and so on, seen with some noise."""
    rng = np.random.default_rng(seed)
    utility = np.linspace(2.0, -2.0, n)
    return lambda q: (
        1 if utility[q.left] - utility[q.right] + noise * rng.standard_normal() > 0 else -1
    )


def a_coin(seed):
    rng = np.random.default_rng(seed)
    return lambda question: int(rng.choice([-1, 1]))


@pytest.fixture(scope="module")
def long_session():
    """Twelve items, a judge with little noise, every pair; no stop."""
    session = Session(study_of(12), "me", 0, 1.0)
    return session, *asked(session, 66, a_judge(12, 0.5))


# ---------------------------------------------------------------- what is asked


def test_the_first_questions_are_about_each_item_once(long_session):
    _, questions, _ = long_session
    start = [q for q in questions if q.purpose == "start"]
    assert questions[:6] == start
    assert sorted(i for q in start for i in q[:2]) == list(range(12))


def test_an_odd_item_is_asked_about_with_one_of_the_others():
    questions, _ = asked(session_of(7), 5, lambda q: 1)
    assert [q.purpose == "start" for q in questions] == [True] * 4 + [False]
    assert {i for q in questions[:4] for i in q[:2]} == set(range(7))


def test_no_pair_is_asked_twice_but_as_a_repeat_with_sides_swapped(long_session):
    _, questions, _ = long_session
    seen = {}
    for q in questions:
        if q.purpose == "repeat":
            number, sides = seen[frozenset(q[:2])]
            assert q.number - number >= asking.APART
            assert q[:2] == sides[::-1]
        else:
            assert frozenset(q[:2]) not in seen
            seen[frozenset(q[:2])] = q.number, q[:2]
    assert sum(q.purpose == "repeat" for q in questions) >= 1


@pytest.fixture(scope="module")
def questions_about_thirty():
    return asked(session_of(30, top=5), 45, a_judge(30, 0.5))[0]


def test_an_item_rests_for_three_questions_while_there_are_enough(questions_about_thirty):
    questions = questions_about_thirty
    for k, q in enumerate(questions):
        recent = {i for before in questions[max(0, k - 3) : k] for i in before[:2]}
        assert q.purpose == "repeat" or not recent & set(q[:2])


def test_checks_and_repeats_come_in_their_shares():
    shares = np.array([asking._share("films/0", "me", k) for k in range(20_000)])
    # Four standard errors of a binomial share.
    assert np.mean(shares < 0.15) == pytest.approx(0.15, abs=0.0101)
    assert np.mean((shares >= 0.15) & (shares < 0.18)) == pytest.approx(0.03, abs=0.0049)


def test_of_a_second_judge_half_of_the_first_questions_are_random():
    _, answers = asked(session_of(16), 12, a_judge(16, 0.5))
    second = Session(study_of(16), "bob", 0, 1.0)
    questions, _ = asked(second, 20, a_judge(16, 0.5, seed=1), answers)
    checks = sum(q.purpose == "check" for q in questions)
    # The hash decides: 20 draws of one half; between 4 and 16 in 99.7 % of all seeds.
    assert 4 <= checks <= 16
    assert [q.number for q in questions] == list(range(20))


def test_both_sides_are_used(questions_about_thirty):
    left = sum(q.left < q.right for q in questions_about_thirty)
    assert 10 <= left <= 35  # 45 coins: outside in 2e-4 of all seeds


def test_a_skipped_pair_is_not_asked_again_for_fifty_questions(monkeypatch):
    monkeypatch.setattr(asking, "PASSED_OVER", 4)
    session, answers = session_of(4), []
    first = session.question(answers)
    answers.append(given_to(first, 0, 0, kind="skip"))
    pair = frozenset(first[:2])
    for k in range(1, 5):
        question = session.question(answers)
        assert frozenset(question[:2]) != pair
        answers.append(given_to(question, 1, k))
    rest = asked(session, 6, lambda q: 1, answers)[0]
    assert pair in {frozenset(q[:2]) for q in rest}


def test_a_session_ends_when_every_pair_has_been_asked():
    session = Session(study_of(4), "me", 0, 1.0)
    questions, answers = asked(session, 50, lambda q: 1 if q.left < q.right else -1)
    assert len(questions) == 6
    assert session.question(answers) is None


# ---------------------------------------------------------------- the same state again


def test_a_new_session_continues_exactly_where_another_stopped(long_session):
    _, questions, answers = long_session
    for k in (0, 10, 21, 55):
        assert session_of(12).question(answers[:k]) == questions[k]


def test_the_way_to_the_answers_leaves_no_trace(long_session):
    _, questions, answers = long_session
    straight = session_of(12)
    winding = session_of(12)
    for k in (41, 20, 39, 40, 5, 41):  # undone, answered again, and so on
        winding.question(answers[:k])
    assert winding.question(answers[:41]) == straight.question(answers[:41]) == questions[41]
    ours, theirs = winding.standing(answers[:41]), straight.standing(answers[:41])
    assert ours == theirs
    assert winding.ranking(answers[:41]).items == straight.ranking(answers[:41]).items


def test_another_seed_asks_other_questions():
    first = [session_of(12, seed=seed).question([]) for seed in range(4)]
    assert len({q[:2] for q in first}) > 1


def test_a_store_gives_the_same_next_question_after_it_was_closed(tmp_path):
    path, judge = tmp_path / "films.ordinality", a_judge(8, 0.5)

    def visit(count):
        with AnswerStore(path) as store:
            study = store.study("films") or store.create_study(
                "films", {f"item {i}": {} for i in range(8)}, settings={"ties": False}
            )
            session, me = Session(study, "me", 0, 0.95), store.judge(study.id, "me")
            for _ in range(count):
                q = session.question(store.answers(study.id))
                left, right = (study.items[i].id for i in q[:2])
                shown = store.show(study.id, me, left, right, q.purpose, {"proba": q.proba})
                store.answer(shown, judge(q))
            answers = store.answers(study.id)
            last = answers[-1] if answers else None
            return session.question(answers), session.standing(answers), last

    visit(11)
    question, standing, last = visit(0)
    assert (question, standing, last) == visit(0)
    visit(1)
    with AnswerStore(path) as store:
        study = store.study("films")
        store.undo(store.answers(study.id)[-1].id)
    assert (question, standing, last) == visit(0)


# ---------------------------------------------------------------- what is said


def test_a_judge_with_little_noise_gets_the_right_order(long_session):
    session, _, answers = long_session
    places = session.ranking(answers).items
    found = [int(place.item.split()[1]) for place in places]
    wrong = sum(a > b for i, a in enumerate(found) for b in found[i + 1 :])
    assert wrong <= 6  # of 66 pairs: neighbours differ by less than the noise
    assert [place.rank for place in places] == list(range(1, 13))
    assert all(place.places[0] <= place.rank <= place.places[1] for place in places)
    assert sum(place.answers for place in places) == 2 * len(answers)


def test_a_true_judge_settles_the_best_of_a_list_and_it_is_true():
    session = session_of(12, top=3)
    questions, answers = asked(session, 66, a_judge(12, 0.5))
    standing = session.standing(answers)
    assert standing.settled
    assert 12 <= len(questions) < 66
    assert len(questions) % asking.LOOK == 0
    assert len({"item 0", "item 1", "item 2"} & set(standing.best)) >= 2
    assert standing.sentence.startswith("Settled: at least 2 of the first 3 are among the best")


@pytest.mark.parametrize(("seed", "top"), [(0, 0), (1, 3)])
def test_a_coin_is_never_told_settled(seed, top):
    session = session_of(12, top, seed=seed)
    _, answers = asked(session, 66, a_coin(seed))
    assert len(answers) == 66
    assert session.standing(answers).sentence.startswith("Not settled yet")


def test_many_checks_without_agreement_are_a_warning(monkeypatch):
    monkeypatch.setattr(asking, "CHECKS", 0.5)
    session = session_of(12)
    _, answers = asked(session, 60, a_coin(0))
    standing = session.standing(answers)
    assert standing.trust.warning
    assert standing.sentence == "The answers do not agree enough to settle an order."


def test_checks_that_contradict_the_model_hide_its_certainty():
    contradicted = Trust.of([0.05] * 10, [True] * 10, [True] * 10)
    standing = Standing(10, ("Ran", "Ikiru"), 0.97, 0.1, contradicted, False)
    assert standing.short == ""
    assert standing.sentence.startswith("The check questions come out worse than the model")
    assert "97" in replace(standing, trust=Trust()).short


def test_the_tests_use_what_was_stored_and_not_what_is_known_now(long_session):
    session, _, answers = long_session
    flat = [replace(given, extra={"proba": (0.5, 0.5)}) for given in answers]
    assert session.standing(answers).trust.log_peak > 0.0
    assert session.standing(flat).trust.log_peak == 0.0


def test_repeats_are_kept_but_not_learnt_from(long_session):
    session, _, answers = long_session
    repeats = [given for given in answers if given.purpose == "repeat"]
    assert repeats
    turned = [
        replace(given, value=-given.value) if given in repeats else given for given in answers
    ]
    before, after = (session.ranking(given).items for given in (answers, turned))
    assert before == after


def test_ties_and_grades_and_features_are_learnt_from():
    items = tuple(Item(10 + i, f"item {i}", {"size": float(i)}) for i in range(8))
    study = replace(study_of(8, ties=True, grades=2), items=items)
    session = Session(study, "me", 0, 0.95)

    def judge(question):
        return int(np.clip(question.right - question.left, -3, 3) / 1.5)

    _, answers = asked(session, 20, judge)
    assert {given.value for given in answers} >= {-2, 0, 2}
    assert session.ranking(answers).items[0].item in ("item 0", "item 1")


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0 %"), (0.001, "below 1 %"), (0.38, "38 %"), (0.999, "above 99 %"), (1.0, "100 %")],
)
def test_a_share_is_not_rounded_to_certainty(share, words):
    assert percent(share) == words
