"""Questions about sets and ratings by forms, for programs, and in the files of a study."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import httpx2 as httpx
import numpy as np
import pytest
from scipy.stats import spearmanr

import ordinality
from ordinality.panel import rank_answers
from ordinality.panel.managed_store import NewItem
from ordinality.panel.ranking_process import rank_into
from ordinality.panel.served_store import Act
from ordinality.panel.set_questions import compared_in
from ordinality.panel.study_model import StudyModel
from ordinality.tables import comparisons, read

from .conftest import FILMS

KINDS = ["best-worst", "order", "rating"]


def ask_for(served, kind, **more):
    """Change the kind of question of the study."""
    task = served.study
    settings = task.settings.of({**task.settings.as_dict(), "kind": kind, **more})
    served.store.change_study(task.id, settings, task.question, "")


def shown(browser):
    """The question as JSON."""
    return browser.get("/s/films", headers={"accept": "application/json"}).json()


def ids(browser):
    return [card["item"] for card in shown(browser)["cards"]]


def send(browser, **fields):
    return browser.submit("/s/films/answer", browser.get("/s/films"), **fields)


def answered(served):
    return served.store.answers(served.study.id, every_kind=True)


# ---------------------------------------------------------------- forms


def test_best_and_worst_by_radio_buttons(served):
    ask_for(served, "best-worst")
    browser = served.judge()
    first, *_, last = ids(browser)
    page = browser.get("/s/films").text
    assert page.count('type="radio" class="pick"') == 8
    page = send(browser, act="best-worst", best=first, worst=last)
    assert "Saved. Question 2." in page.text
    (given,) = answered(served)
    assert (given.detail["best"], given.detail["worst"]) == (first, last)
    assert set(ids(browser)) != set(given.items)


def test_an_order_by_buttons_that_move_an_item(served):
    ask_for(served, "order", size=3)
    browser = served.judge()
    a, b, c = ids(browser)
    order = f"{a} {b} {c}"
    for act, expected in [(f"up-{c}", [a, c, b]), (f"down-{a}", [c, a, b]),
                          (f"up-{c}", [c, a, b])]:  # fmt: skip
        page = send(browser, act=act, order=order)
        assert page.status_code == httpx.codes.OK
        (order,) = re.findall(r'name="order" value="([^"]*)"', page.text)
        assert [int(each) for each in order.split()] == expected
        assert re.search(rf'value="{act}"[^>]* autofocus', page.text)
    assert answered(served) == []
    send(browser, act="order", order=order)
    (given,) = answered(served)
    assert given.detail["order"] == [c, a, b]
    assert given.items == (a, b, c)


def test_a_rating_by_five_buttons(served):
    ask_for(served, "rating")
    browser = served.judge()
    (item,) = ids(browser)
    page = browser.get("/s/films").text
    assert re.findall(r'value="rate-(\d)"', page) == list("12345")
    send(browser, act="rate-4")
    (given,) = answered(served)
    assert (given.kind, given.left, given.value) == ("rating", item, 4)


@pytest.mark.parametrize(
    ("kind", "fields", "sentence"),
    [
        ("best-worst", {"act": "best-worst"}, "Choose the best and the worst."),
        ("best-worst", {"act": "best-worst", "best": 0}, "Choose the worst as well."),
        ("best-worst", {"act": "best-worst", "best": 0, "worst": 0}, "different items"),
        ("best-worst", {"act": "left"}, "another kind of question"),
        ("best-worst", {"act": "rate-3"}, "another kind of question"),
        ("order", {"act": "order", "order": "1 1 2 3"}, "every item of the question once"),
        ("order", {"act": "order", "order": "x" * 9}, "every item of the question once"),
        ("order", {"act": "order"}, "every item of the question once"),
        ("rating", {"act": "left"}, "another kind of question"),
        ("rating", {"act": "best-worst"}, "another kind of question"),
    ],
)
def test_an_answer_that_does_not_fit_brings_the_question_back(served, kind, fields, sentence):
    ask_for(served, kind)
    browser = served.judge()
    cards = ids(browser)
    places = {name: cards[k] for name, k in fields.items() if k == 0}
    refused = send(browser, **fields | places)
    assert refused.status_code == httpx.codes.BAD_REQUEST
    (said,) = re.findall(r'<p class="said small flag">(.*?) Question 1', refused.text)
    assert sentence in said
    assert ids(browser) == cards
    assert len(re.findall('class="pick"[^>]* checked', refused.text)) == len(places)
    assert answered(served) == []


def test_an_answer_to_a_set_is_none_to_a_pair(served):
    browser = served.judge()
    for act in ("best-worst", "order", "rate-3"):
        assert send(browser, act=act).status_code == httpx.codes.BAD_REQUEST
    assert answered(served) == []


@pytest.mark.parametrize("kind", KINDS)
def test_own_answers_are_said_in_words(served, kind):
    ask_for(served, kind)
    browser = served.judge()
    title = {i: each.title for i, each in served.study.items.items()}
    cards = ids(browser)
    fields = {"act": kind, "best": cards[0], "worst": cards[-1],
              "order": " ".join(map(str, reversed(cards)))}  # fmt: skip
    send(browser, **fields | ({"act": "rate-2"} if kind == "rating" else {}))
    send(browser, act="skip")
    page = browser.get("/s/films/mine").text
    assert "skipped" in page
    names = [title[i] for i in cards]
    words = {
        "best-worst": f"best: {names[0]}; worst: {names[-1]}",
        "order": ", ".join(f"{k}. {name}" for k, name in enumerate(reversed(names), 1)),
        "rating": "2 of 5",
    }
    assert words[kind] in page


def test_the_admin_changes_the_kind_and_what_is_asked_goes_with_it(served):
    admin = served.admin()
    page = admin.get("/admin/films/settings")
    fields = {"question": "Which is better?", "top": 0, "level": 0.95, "checks": 0.15}
    fields |= {"size": 5, "kind": "order"}
    page = admin.submit("/admin/films/settings", page, **fields)
    assert "Which order is right, the best first?" in page.text
    assert (served.study.settings.kind, served.study.settings.size) == ("order", 5)
    assert len(ids(served.judge())) == 5
    for wrong, sentence in [
        ({"kind": "grid"}, "kind of question"),
        ({"size": 6}, "put in order"),
    ]:
        page = admin.submit("/admin/films/settings", page, **fields | wrong)
        assert sentence in page.text
        assert served.study.settings.size == 5


def test_the_first_screen_says_what_is_to_be_done(served):
    browser, words = served.judge(), {"order": "3 items at a time", "rating": "from 1 to 5"}
    for kind, said in {"pair": "two items", "best-worst": "the worst", **words}.items():
        ask_for(served, kind, size=3)
        assert said in browser.get("/s/films/start").text


# ---------------------------------------------------------------- programs


def program(served):
    number = served.store.judge(served.study.id, "bot", "program")
    head = {"authorization": f"Bearer {served.store.issue(number)}"}
    browser = served.judge("unused")
    return browser, head


def test_programs_get_and_give_the_kind_of_the_study(served):
    browser, head = program(served)
    ask_for(served, "best-worst")
    found = browser.get("/api/v1/films/question", headers=head).json()
    names = [each["item"] for each in found["items"]]
    assert (found["kind"], len(names)) == ("best-worst", 4)
    one = {"client_key": "1", "kind": "best-worst", "items": names, "best": names[1],
           "worst": names[0]}  # fmt: skip
    sent = [browser.post("/api/v1/films/answers", headers=head, json={"answers": [one]})
            for _ in range(2)]  # fmt: skip
    assert sent[0].json() == sent[1].json()
    assert [given.kind for given in answered(served)] == ["best_worst"]
    ask_for(served, "rating")
    found = browser.get("/api/v1/films/question", headers=head).json()
    assert (found["kind"], found["levels"]) == ("rating", [1, 2, 3, 4, 5])
    one = {"client_key": "2", "kind": "rating", "item": found["items"][0]["item"], "value": 5}
    browser.post("/api/v1/films/answers", headers=head, json={"answers": [one]})
    ask_for(served, "order", size=3)
    one = {"client_key": "3", "kind": "order", "order": ["Ran", "Ikiru", "Mirror"]}
    browser.post("/api/v1/films/answers", headers=head, json={"answers": [one]})
    _, rated, ordered = answered(served)
    assert (rated.kind, rated.value) == ("rating", 5)
    key = {i: each.key for i, each in served.study.items.items()}
    assert [key[i] for i in ordered.detail["order"]] == ["Ran", "Ikiru", "Mirror"]


@pytest.mark.parametrize(
    ("kind", "answer", "sentence"),
    [
        ("rating", {"kind": "rating", "item": "Ran", "value": 6}, "from 1 to 5"),
        ("rating", {"kind": "rating", "item": "Ran"}, "from 1 to 5"),
        ("rating", {"kind": "rating", "item": "Rashomon", "value": 3}, "must name an item"),
        ("rating", {"kind": "rating", "item": ["Ran"], "value": 3}, "must name an item"),
        ("rating", {"left": "Ran", "right": "Ikiru", "value": 1}, "asks 'rating'"),
        ("order", {"kind": "order", "order": ["Ran"]}, "2 to 5 items"),
        ("order", {"kind": "order", "order": ["Ran", "Ran"]}, "2 to 5 items"),
        ("order", {"kind": "order", "order": "Ran"}, "2 to 5 items"),
        ("order", {"kind": "order", "order": FILMS}, "2 to 5 items"),
        ("best-worst", {"kind": "best-worst", "items": FILMS[:4], "best": "Ran"}, "the worst"),
        ("best-worst", {"kind": "best-worst", "items": FILMS[:4], "best": "Ran",
                        "worst": "Ran"}, "different items"),
        ("pair", {"kind": ["pair"]}, "asks 'pair'"),
        ("pair", {"left": "Ran", "right": "Ikiru"}, "not an answer"),
    ],
)  # fmt: skip
def test_what_a_program_sends_is_checked(served, kind, answer, sentence):
    browser, head = program(served)
    ask_for(served, kind)
    sent = {"answers": [{"client_key": "1", **answer}]}
    refused = browser.post("/api/v1/films/answers", headers=head, json=sent)
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert sentence in refused.json()["error"]
    assert answered(served) == []


# ---------------------------------------------------------------- files


def let_answer(served, count, name, seed):
    """Let a judge answer questions of the kind that the study has."""
    task, rng = served.study, np.random.default_rng(seed)
    number = served.store.judge(task.id, name)
    (judge,) = [each for each in served.store.judges(task.id) if each.id == number]
    turn = served.store.turn(judge)
    for _ in range(count):
        if turn.asked is None:
            break
        felt = {i: -0.4 * i + rng.normal() for i in turn.asked.items}
        order = sorted(turn.asked.items, key=felt.__getitem__, reverse=True)
        value = 0
        if turn.asked.kind == "rating":
            value = int(np.clip(4.5 + felt[turn.asked.items[0]], 1, 5))
        elif turn.asked.kind == "pair":
            value = 1 if order[0] == turn.asked.left else -1
        detail = {"best": order[0], "worst": order[-1], "order": order}
        turn = served.store.turn(judge, Act("answer", turn.asked.id, value, 1.0, detail))


def fitted_page(served):
    """Utilities by name, after a fit to all answers."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        model = StudyModel(served.store, served.study.id, pool)
        model.refit, model.job_ended = True, -np.inf
        model._start_job()
        model.job.result()
        model._adopt()
    key = {i: each.key for i, each in served.study.items.items()}
    rows = served.store.summary(served.study.id)["items"]
    return {key[row["id"]]: row["utility"] for row in rows}


def ranked(folder, admin, pairs=True, ratings=False):
    """What `ordinality rank` says of the export: its options --ratings, or --format ratings."""
    files = {}
    for name in ("answers", "ratings"):
        files[name] = folder / f"{name}.csv"
        files[name].write_bytes(admin.get(f"/admin/films/{name}.csv").content)
    rated = comparisons(read(files["ratings"]), "ratings") if ratings else None
    given = comparisons(read(files["answers"]), group="set") if pairs else rated
    return rank_answers(
        given.pairs, given.answers, items=sorted({*given.items, *(rated or given).items}),
        judges=given.judges, weights=given.weights, groups=given.groups,
        ratings=rated and rated.ratings,
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_page_and_rank_on_the_export_say_the_same(served, tmp_path, kind):
    ask_for(served, kind)
    for k, name in enumerate(("ann", "bob", "cid")):
        let_answer(served, 8, name, k)
    served.store.leave_out(served.store.judge(served.study.id, "cid"), True)
    served.store.forget_cached()
    page = fitted_page(served)
    found = ranked(tmp_path, served.admin(), kind != "rating", kind == "rating")
    assert page == pytest.approx({i.item: i.utility for i in found.items}, abs=1e-9)
    truth = [-FILMS.index(name) for name in page]
    assert spearmanr(truth, list(page.values())).statistic > 0.6


def test_all_kinds_together_give_one_ranking_and_a_model_in_the_archive(
    served, tmp_path, monkeypatch
):
    monkeypatch.setattr("ordinality.web.fitted_files._rank", rank_here)
    for k, kind in enumerate(("pair", *KINDS)):
        ask_for(served, kind)
        let_answer(served, 6, "ann", k)
        let_answer(served, 6, "bob", k + 9)
    page, admin = fitted_page(served), served.admin()
    found = ranked(tmp_path, admin, ratings=True)
    assert page == pytest.approx({i.item: i.utility for i in found.items}, abs=1e-9)
    assert len(found.judges) == 2
    archive = zipfile.ZipFile(io.BytesIO(admin.get("/admin/films/export.zip").content))
    assert "ratings.csv" in archive.namelist()
    model = ordinality.load(archive.extract("model.skops", tmp_path))
    expected = found.model.posterior()[0]
    np.testing.assert_allclose(model.posterior()[0], expected, atol=1e-9)


def rank_here(sent):
    """What the process behind the export does, without starting one."""
    sent = json.loads(json.dumps(sent))
    rank_into(Path(sent.pop("folder")), sent.pop("items"), sent)


def send_file(served, content, slug):
    """Import a file of answers into a study."""
    admin = served.admin()
    form = {"form": admin.hidden(admin.get(f"/admin/{slug}/judges"))["form"]}
    return admin.post(
        f"/admin/{slug}/import-answers", data=form, files={"file": ("a.csv", content)}
    )


def test_sets_and_ratings_come_back_as_they_went_out(served):
    for k, kind in enumerate(("pair", "best-worst", "order", "rating")):
        ask_for(served, kind)
        let_answer(served, 4, "ann", k)
    other = served.store.create_study("copy", {}, settings={"seed": 1})
    served.store.add(other.id, [NewItem(name, {}) for name in FILMS])
    served.store.forget_cached()
    admin, whole = served.admin(), io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name in ("answers.csv", "ratings.csv"):
            archive.writestr(name, admin.get(f"/admin/films/{name}").content)
    for _ in range(2):  # the second time adds nothing
        send_file(served, whole.getvalue(), "copy")
    copies = served.store.answers(other.id, every_kind=True)

    def said(rows, study):
        """What answers say, by names; of a set the pairs."""
        key = {i: each.key for i, each in served.store.served_by_id(study).items.items()}
        return sorted(
            (
                each.kind, each.seconds, key[each.left] if each.kind == "rating" else "",
                each.value if each.kind == "rating" else 0,
                sorted((key[a], key[b], value) for a, b, value in compared_in(each)),
            )
            for each in rows
        )  # fmt: skip

    expected = said(answered(served), served.study.id)
    assert {kind for kind, *_ in expected} == {"best_worst", "order", "rating", "pair"}
    assert said(copies, other.id) == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "left,right,winner,set\nRan,Ikiru,Ran,1\nIkiru,Mirror,Ikiru,1\n",
            "set &#39;1&#39;, from line 2",
        ),
        ("left,right,winner,set\nRan,Ikiru,tie,1\n", "no order of items"),
        ("item,rating\nRan,7\n", "Line 2 has &#39;7&#39; as a rating; wanted 1 to 5"),
        ("item,rating\nRashomon,3\n", "no item of the study"),
        ("item,stars\nRan,3\n", "or item and rating"),
    ],
)
def test_sets_and_ratings_that_cannot_be_are_refused(served, content, sentence):
    refused = send_file(served, content.encode(), "films")
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert sentence in refused.text
    assert answered(served) == []


def test_rows_of_a_set_are_exported_together(served):
    ask_for(served, "best-worst")
    let_answer(served, 2, "ann", 0)
    content = served.admin().get("/admin/films/answers.csv").content
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert len(rows) == 10
    assert len({row["set"] for row in rows}) == 2
    assert {row["weight"] for row in rows} == {"0.75"}
