"""Journeys of judges, researchers and admins through a study, each in a real browser."""

import csv
import json
import math
import random
from concurrent.futures import Future

from ordinality.panel.item_sources import read_source
from ordinality.panel.managed_store import NewItem
from ordinality.panel.served_store import Act
from ordinality.panel.study_model import StudyModel

from .test_browser import (  # noqa: F401, pytest finds the fixtures by their names
    FILMS,
    after,
    chromium,
    open_page,
    press,
    pytestmark,
    ready,
    served,
)

# ruff: noqa: F811, the arguments that take the fixtures


class AtOnce:
    """A pool whose jobs are done when they are given."""

    def submit(self, work, *args):
        done = Future()
        done.set_result(work(*args))
        return done


def ranked(served, slug, monkeypatch):
    """Let the model of a study learn all answers, as its process would."""
    monkeypatch.setattr("ordinality.panel.study_model.FACTS", 0.0)
    model = StudyModel(served.store, served.of(slug).id, AtOnce())
    for _ in range(3):
        model.job_ended = -math.inf
        model.step()
    served.store.forget_cached()
    return {row["id"]: row for row in served.store.summary(model.study_id)["items"]}


def table_of(page, name):
    """Rows of a file that the admin's browser has loaded."""
    text = page.request.get(name).text()
    return list(csv.DictReader(text.splitlines()))


def test_judges_of_essays_answer_their_quota_and_report_one(
    served, open_page, monkeypatch, tmp_path
):
    for k, name in enumerate(FILMS):
        (tmp_path / f"{name}.txt").write_text(f"The argument of {name}. " * (k + 1))
    slug = served.study("essays", read_source(tmp_path).items, quota=6)
    for name in ("kim", "lee"):
        page = open_page()
        page.goto(served.link(slug, name))
        assert "The argument of" in page.locator(".card .text").first.inner_text()
        ready(page)
        page.get_by_text("Report an item").click()
        page.get_by_label("What is wrong with it?").fill(f"{name} knows it.")
        page.get_by_role("button", name="Send the report").click()
        page.get_by_text("Thank you, the report was sent.").first.wait_for()
        ready(page)
        after(page, lambda page=page: page.keyboard.press("ArrowLeft"))
        served.answer(slug, name, 4)  # the same without a browser
        page.reload()
        ready(page)
        page.keyboard.press("ArrowRight")
        page.get_by_role("heading", name="Thank you!").wait_for()
    ranked(served, slug, monkeypatch)
    page.goto(served.admin())
    home = f"{served.address}/admin/{slug}"
    page.goto(f"{home}/judges")
    for name in ("kim", "lee"):
        row = page.get_by_role("row").filter(has_text=name).first
        assert "6 of 6" in row.inner_text()
        assert float(row.locator("[data-label=Misfit] > span").inner_text().split()[0]) > 0
    page.goto(f"{home}/items")
    assert page.get_by_text("kim knows it.").is_visible()
    scores = table_of(page, f"{home}/ranking.csv")
    assert sorted(row["item"] for row in scores) == sorted(FILMS)
    assert all(float(row["sd"]) > 0.0 for row in scores)


def test_a_study_of_features_ends_in_worths_and_predictions(served, open_page, monkeypatch):
    rng = random.Random(0)
    rows = [(0.2, 1), (1.0, 0), (1.8, 0)]  # best first, and never shown
    rows += [(2.0 * rng.random(), rng.randrange(2)) for _ in range(13)]
    items = [
        NewItem(f"offer {k:02d}", {"hours": h, "direct": d}) for k, (h, d) in enumerate(rows)
    ]
    slug = served.study("offers", items, "Which flight?", "We keep them.", quota=40)
    task = served.of(slug)
    never = list(task.items)[:3]
    for number in never:
        served.store.retire(number)
    page = open_page()
    page.goto(served.link(slug))
    page.get_by_label("I agree").check()
    press(page, "Start")
    ready(page)
    after(page, lambda: page.keyboard.press("1"))
    # The rest without a browser: the judge likes short flights, and direct ones more.
    (judge,) = served.store.judges(task.id)
    liked = {i: e.features["direct"] - e.features["hours"] for i, e in task.items.items()}
    turn = served.store.turn(judge)
    while turn.asked is not None:
        gap = liked[turn.asked.left] - liked[turn.asked.right]
        turn = served.store.turn(judge, Act("answer", turn.asked.id, 1 if gap > 0 else -1, 2.0))
    found = ranked(served, slug, monkeypatch)
    page.goto(served.admin())
    page.goto(f"{served.address}/admin/{slug}/ranking")
    hours, direct = (
        page.get_by_role("table", name="What features are worth").get_by_role("row", name=name)
        for name in ("hours", "direct")
    )
    assert "-" in hours.locator(".n").first.inner_text()
    low, high = direct.locator(".n").nth(1).inner_text().split(" to ")
    assert 0.0 < float(low) < float(high)
    # Predicted by their features alone.
    assert all(found[i]["answers"] == 0 for i in never)
    assert sorted(never, key=lambda i: found[i]["rank"]) == never
    home = f"{served.address}/admin/{slug}"
    worth = {
        row["feature"]: float(row["worth"]) for row in table_of(page, f"{home}/features.csv")
    }
    assert worth["hours"] < 0.0 < worth["direct"]
    (kim,) = table_of(page, f"{home}/judges.csv")
    assert kim["consent_version"] == "1"
    times = [row["at"] for row in table_of(page, f"{home}/answers.csv")]
    assert kim["consent_at"] < times[0] <= times[-1]
    assert len(times) == 40


def test_outputs_of_models_are_compared_within_a_prompt_by_people_and_programs(
    served, open_page, monkeypatch
):
    prompts, models = range(8), ("able", "baker")
    items = [
        NewItem(f"{prompt} {model}", {"able": float(model == "able"), "words": 5.0 + prompt},
                title=f"Answer {prompt}", text=f"Text {prompt}", group=f"prompt {prompt}")
        for prompt in prompts for model in models
    ]  # fmt: skip
    slug = served.study("outputs", items)
    task, page = served.of(slug), open_page()
    page.goto(served.link(slug))
    ready(page)
    first = page.locator("main").inner_text()
    assert not any(model in first for model in models)  # blind
    for _ in range(3):
        names = page.locator(".card .name").all_inner_texts()
        assert names[0] == names[1]  # of one prompt
        after(page, lambda: page.keyboard.press("="))
    page.goto(served.admin())
    page.goto(f"{served.address}/admin/{slug}/judges")
    page.get_by_label("Name").fill("a program")
    page.get_by_label("A program").check()
    press(page, "Make a link")
    better, worse = models
    sent = [
        {"client_key": f"{k}", "left": f"{k} {better}", "right": f"{k} {worse}", "value": 1}
        for k in prompts
    ]
    reply = page.request.post(
        f"{served.address}/api/v1/{slug}/answers", data=json.dumps({"answers": sent}),
        headers={"authorization": f"Bearer {page.locator('#link').inner_text()}",
                 "content-type": "application/json"},
    )  # fmt: skip
    assert reply.ok
    ranked(served, slug, monkeypatch)
    page.goto(f"{served.address}/admin/{slug}/ranking")
    able = page.get_by_role("table", name="What features are worth").get_by_role(
        "row", name="able"
    )
    assert float(able.locator(".n").first.inner_text()) > 0.0
    noise = {each["judge"]: each["noise"] for each in served.store.summary(task.id)["judges"]}
    assert noise["ann"] > noise["a program"]
