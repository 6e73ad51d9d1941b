"""A judge answers, skips, undoes and reports by forms, and nothing is doubled."""

import httpx2 as httpx
import pytest


def answers(served):
    return [given.kind for given in served.store.answers(served.study.id)]


def test_a_link_leads_to_a_question_and_leaves_the_address_bar(served):
    browser = served.judge()
    page = browser.get("/s/films")
    assert page.status_code == httpx.codes.OK
    assert "Which is better?" in page.text
    assert not [old for old in page.history if "/j/" in str(old.url)]


def test_every_act_is_stored_and_leads_to_the_next_question(served):
    browser = served.judge()
    page = browser.get("/s/films")
    for act, stored in [("left", "pair"), ("equal", "pair"), ("skip", "skip")]:
        before = page.text
        page = browser.submit("/s/films/answer", page, act=act)
        assert page.status_code == httpx.codes.OK
        assert page.text != before
        assert answers(served)[-1] == stored


def test_an_undo_brings_the_same_question_back_as_often_as_one_likes(served):
    browser = served.judge()
    pages = [browser.get("/s/films", headers={"accept": "application/json"}).json()]
    for _ in range(3):
        page = browser.submit("/s/films/answer", browser.get("/s/films"), act="left")
        pages.append(browser.get("/s/films", headers={"accept": "application/json"}).json())
    for expected in reversed(pages[:-1]):
        page = browser.submit("/s/films/answer", browser.get("/s/films"), act="undo")
        found = browser.get("/s/films", headers={"accept": "application/json"}).json()
        assert found["cards"] == expected["cards"]
    assert answers(served) == []
    assert 'value="undo"' not in page.text


def test_the_same_form_twice_is_one_answer(served):
    browser = served.judge()
    page = browser.get("/s/films")
    for _ in range(3):
        last = browser.submit("/s/films/answer", page, act="left")
        assert last.status_code == httpx.codes.OK
    assert answers(served) == ["pair"]


def test_a_retry_of_an_undo_takes_one_answer_back(served):
    browser = served.judge()
    for _ in range(3):
        browser.submit("/s/films/answer", browser.get("/s/films"), act="right")
    page = browser.get("/s/films")
    for _ in range(3):
        browser.submit("/s/films/answer", page, act="undo")
    assert answers(served) == ["pair"] * 2


def test_a_report_is_stored_and_the_question_stays(served):
    browser = served.judge()
    page = browser.get("/s/films")
    shown = browser.get("/s/films", headers={"accept": "application/json"}).json()
    item = shown["cards"][0]["item"]
    browser.submit("/s/films/answer", page, act="report", item=item, text="<b>blurred")
    again = browser.get("/s/films", headers={"accept": "application/json"}).json()
    assert again["cards"] == shown["cards"]
    page = served.admin().get("/admin/films/items").text
    assert "&lt;b&gt;blurred" in page


def test_no_pair_comes_twice_and_two_judges_never_have_the_same_one(served):
    browsers = [served.judge(name) for name in ("ann", "bob", "cid")]
    seen = {k: [] for k in range(3)}
    for turn in range(12):
        shown = []
        for k, browser in enumerate(browsers):
            found = browser.get("/s/films", headers={"accept": "application/json"}).json()
            if found["page"] != "question":
                continue
            pair = frozenset(card["item"] for card in found["cards"])
            shown.append(pair)
            seen[k].append(pair)
        assert len(set(shown)) == len(shown)
        for browser in browsers:
            act = "skip" if turn == 5 else "left"
            browser.submit("/s/films/answer", browser.get("/s/films"), act=act)
    assert all(len(set(pairs)) == len(pairs) for pairs in seen.values())


def test_a_judge_with_a_quota_is_thanked_at_its_end(served):
    browser = served.judge()
    judge = served.store.judge(served.study.id, "ann")
    served.store.change_judge(judge, quota=2)
    for _ in range(2):
        page = browser.submit("/s/films/answer", browser.get("/s/films"), act="left")
    assert "You have answered all your questions" in page.text


@pytest.mark.parametrize("act", ["left2", "", "best", "9"])
def test_an_act_that_is_no_answer_of_the_study_is_refused(served, act):
    browser = served.judge()
    refused = browser.submit("/s/films/answer", browser.get("/s/films"), act=act)
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert answers(served) == []


def test_consent_comes_before_the_first_question(served):
    browser, settings = served.judge(), served.study.settings
    served.store.change_study(served.study.id, settings, "Which?", "We keep your answers.")
    page = browser.get("/s/films")
    assert "We keep your answers." in page.text
    assert browser.submit("/s/films/start", page, start="yes").status_code == 400
    page = browser.submit("/s/films/start", page, start="yes", agree="1")
    assert "A is better" in page.text


def test_erasure_leaves_nothing_that_a_judge_said(served):
    browser = served.judge()
    browser.submit("/s/films/answer", browser.get("/s/films"), act="left")
    mine = browser.get("/s/films/mine")
    assert browser.submit("/s/films/forget", mine).status_code == 400
    page = browser.submit("/s/films/forget", mine, sure="yes")
    assert "Your answers were deleted" in page.text
    assert answers(served) == []
    assert "ann" not in served.admin().get("/admin/films/judges").text


def test_who_has_deleted_all_answers_gives_no_more(served):
    browser = served.judge()
    page = browser.get("/s/films")
    browser.submit("/s/films/forget", page, sure="yes")
    browser.submit("/s/films/answer", page, act="left")
    assert answers(served) == []
