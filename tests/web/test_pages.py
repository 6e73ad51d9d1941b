"""What pages say of a study, and that they say it of the newest snapshot."""

import re
import subprocess
import sys


def put(served, sentence, kind="update", **other):
    """A snapshot of two items, as the model process stores it."""
    rows = [
        {"id": i, "rank": k, "utility": 1.0 - k, "sd": 0.5, "first": 1, "last": 2,
         "answers": 4, "p_best": 0.5}
        for k, i in enumerate(list(served.study.items)[:2], start=1)
    ]  # fmt: skip
    summary = {
        "answers": 4, "made": "2026-11-18T20:15:03.123+00:00", "items": rows, "top": 1,
        "wrong": 0.2, "short": "Ran is the best: 60 %", "sentence": sentence,
        "trust": {"contradicted": False, "checks": {}, "bins": [], "tests": {}},
        "judges": [], "notes": [], **other,
    }  # fmt: skip
    return served.store.put_snapshot(served.study.id, kind, 1, summary)


def test_a_snapshot_that_replaces_another_one_has_a_number_of_its_own_and_is_shown(served):
    admin, numbers = served.admin(), []
    for k in range(4):
        numbers.append(put(served, f"Sentence {k}."))
        assert f"Sentence {k}." in admin.get("/admin/films/ranking").text
    assert len(set(numbers)) == len(numbers)


def test_the_interval_of_a_ranking_is_drawn_within_its_picture(served):
    put(served, "Open.")
    page = served.admin().get("/admin/films/ranking").text
    ends = [
        float(x) for pair in re.findall(r'"range" x1="(\S+)" x2="(\S+)"', page) for x in pair
    ]
    # One apart, and 90 % of a normal with deviation 0.5 is 0.8224 to each side.
    wide = 1.0 + 2 * 0.8224
    expected = [100 * x / wide for x in (1.0, wide, 0.0, 2 * 0.8224)]
    assert all(abs(a - b) < 0.01 for a, b in zip(ends, expected, strict=True))


def test_a_utility_that_rounds_to_nothing_has_no_sign(served):
    put(served, "Open.")
    summary = dict(served.store.summary(served.study.id))
    summary["items"] = [{**row, "utility": -0.001} for row in summary["items"]]
    served.store.put_snapshot(served.study.id, "fit", 1, summary)
    page = served.admin().get("/admin/films/ranking").text
    assert ">0.00<" in page
    assert "-0.00" not in page


def test_the_line_on_the_goal_stands_below_the_best(served):
    put(served, "Open.")
    page = served.admin().get("/admin/films/ranking").text
    assert page.index('class="best"') < page.index("Ran is the best: 60 %")


def test_trust_is_red_only_if_the_checks_contradict_the_model(served):
    admin = served.admin()
    for contradicted in (False, True):
        trust = {"contradicted": contradicted, "checks": {}, "bins": [], "tests": {}}
        put(served, "A sentence.", trust=trust)
        for name in ("trust", "ranking"):
            page = admin.get(f"/admin/films/{name}").text
            assert ("alarm" in page) == contradicted


def test_an_answer_is_replied_to_with_the_next_page_if_the_script_asks_for_it(served):
    browser = served.judge()
    browser.follow_redirects = False
    page = browser.get("/s/films")
    reply = browser.submit("/s/films/answer", page, act="left", reply="page")
    assert reply.status_code == 200
    assert "Saved. Question 2." in reply.text


def test_only_what_a_study_offers_has_a_button(served):
    judge, task = served.judge(), served.study
    page = judge.get("/s/films").text
    assert 'value="equal"' in page
    assert 'value="left2"' not in page
    served.store.change_study(
        task.id, type(task.settings)(ties=False, grades=2, seed=7), task.question, ""
    )
    page = judge.get("/s/films").text
    assert 'value="equal"' not in page
    assert 'value="left2"' in page


def test_a_new_link_comes_with_a_code_to_scan(served):
    admin = served.admin()
    page = admin.submit("/admin/films/invite", admin.get("/admin/films/judges"), name="kim")
    size = int(re.search(r'viewBox="-3 -3 (\d+) ', page.text)[1]) - 6
    dark = re.findall(r"M(\d+) (\d+)h1v1h-1z", page.text)
    assert size >= 21
    assert {("0", "0"), (str(size - 1), "0"), ("0", str(size - 1))} <= set(dark)  # its corners


def test_the_style_is_sent_once_and_pages_are_never_kept(served):
    browser = served.judge()
    style = browser.get("/static/style.css")
    same = {"if-none-match": style.headers["etag"]}
    assert browser.get("/static/style.css", headers=same).status_code == 304
    assert browser.get("/s/films").headers["cache-control"] == "no-store"


def test_settings_with_a_mistake_come_back_as_they_were_sent_and_change_nothing(served):
    admin, before = served.admin(), served.study.settings
    page = admin.submit(
        "/admin/films/settings", admin.get("/admin/films/settings"), question="Which one?",
        top="3", level="0.9", checks="0.15", quota="many", code="K-1", open="yes",
        consent="A new text.",
    )  # fmt: skip
    assert "The quota must be a whole number" in page.text
    for sent in ("Which one?", "K-1", "A new text.", 'value="many"'):
        assert sent in page.text
    assert re.search(r'name="open"[^>]* checked', page.text)
    assert not re.search(r'name="ties"[^>]* checked', page.text)
    assert served.study.settings == before


def said_of(admin, served, name):
    """What the page of an item says: against which, what and by whom, a row each."""
    number = next(i for i, each in served.study.items.items() if each.key == name)
    page = admin.get(f"/admin/films/item?id={number}").text
    return [
        tuple(re.findall(r">([^<>]+)<", row)[:3])
        for row in re.findall(r"<tr><th scope=\"row\">.*</tr>", page)
    ]


def test_the_page_of_an_item_has_its_answers_newest_first_without_those_undone(served):
    key = {each.key: i for i, each in served.study.items.items()}
    ann, bob = (served.store.judge(served.study.id, name) for name in ("ann", "bob"))

    def show(judge, left, right):
        return served.store.show(served.study.id, judge, key[left], key[right])

    served.store.answer(show(ann, "Ran", "Ikiru"), 1)
    served.store.answer(show(bob, "Mirror", "Ran"), 1)
    served.store.answer(show(bob, "Mirror", "Ikiru"), 0)
    served.store.skip(show(ann, "Ran", "Persona"))
    served.store.undo(served.store.answer(show(ann, "Ran", "Vertigo"), -1))
    admin = served.admin()
    assert said_of(admin, served, "Ran") == [
        ("Persona", "skipped", "ann"),
        ("Mirror", "Mirror is better", "bob"),
        ("Ikiru", "Ran is better", "ann"),
    ]
    assert said_of(admin, served, "Vertigo") == []
    assert said_of(admin, served, "Ikiru")[0] == ("Mirror", "about equal", "bob")
    assert admin.get("/admin/films/item?id=999").status_code == 404


def test_the_page_of_an_item_says_so_where_there_are_more_answers(served, monkeypatch):
    monkeypatch.setattr("ordinality.web.admin_pages.ABOUT", 2)
    first, second, third = list(served.study.items)[:3]
    ann = served.store.judge(served.study.id, "ann")
    for other in (second, third, second):
        served.store.answer(served.store.show(served.study.id, ann, first, other), 1)
    page = served.admin().get(f"/admin/films/item?id={first}").text
    assert "the last 2 of 3" in page
    assert page.count("is better</td>") == 2


def test_the_page_of_an_item_says_what_was_expected_of_each_answer(served):
    first, second = list(served.study.items)[:2]
    ann = served.store.judge(served.study.id, "ann")
    asked = [(first, second, 1, [0.2, 0.8]), (second, first, 1, [0.2, 0.8]),
             (first, second, 0, [0.25, 0.5, 0.25]), (first, second, 0, [0.5, 0.5]),
             (first, second, -1, None)]  # fmt: skip
    for left, right, value, proba in asked:
        extra = {"proba": proba} if proba else None
        shown = served.store.show(served.study.id, ann, left, right, extra=extra)
        served.store.answer(shown, value)
    page = served.admin().get(f"/admin/films/item?id={first}").text
    cells = [re.findall(rf'data-label="{name}">([^<]*)<', page)[::-1]
             for name in ("Expected", "Residual")]  # fmt: skip
    # Twice expected, once for and once against the item; a tie that was no surprise; two of
    # which nothing was known.
    assert cells[0] == ["80 %", "80 %", "50 %", "", ""]
    assert cells[1] == ["0.5", "-0.5", "0.0", "", ""]


def test_items_are_listed_by_misfit_where_the_model_knows_it(served):
    page = served.admin().get("/admin/films/items").text
    assert "Misfit" not in page
    names = list(served.study.items)
    rows = [{"id": i, "utility": 0.0, "sd": 1.0, "misfit": m}
            for i, m in zip(names, (0.9, 2.46, None), strict=False)]  # fmt: skip
    put(served, "", items=rows)
    admin = served.admin()
    for query, wanted in (("", ["0.9", "2.5", ""]), ("?by=misfit", ["2.5", "0.9", ""])):
        page = admin.get(f"/admin/films/items{query}").text
        assert re.findall(r'data-label="Misfit">([^<]*)<', page)[:3] == wanted
    assert "Misfit 2.5" in admin.get(f"/admin/films/item?id={names[1]}").text


def test_the_server_starts_without_numerics():
    source = (
        "import sys, ordinality.web.application, ordinality.panel.managed_store\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'narwhals'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert run.stdout == "[]\n", run.stderr
