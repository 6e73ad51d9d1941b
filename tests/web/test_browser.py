"""The pages in a real browser: by keyboard, without script, on phones, and with bad luck."""

import asyncio
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn

from ordinality.panel.managed_store import ManagedStore, NewItem
from ordinality.panel.served_store import Act
from ordinality.web.application import application
from ordinality.web.media import look_at
from ordinality.web.safety import Rates
from ordinality.web.visits import Site

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (320, 1280)]
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
FILMS = ["Ran", "Stalker", "Solaris", "Ikiru", "Mirror", "Playtime", "Persona", "Vertigo"]
BAD = "</title></textarea><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}"
GUARD = 260  # milliseconds after which a question takes an answer
PATIENT = 120_000  # milliseconds


# ---------------------------------------------------------------- a server and a browser


@dataclass
class Served:
    """A server in a thread of this process, and its store."""

    store: ManagedStore
    folder: Path
    server: uvicorn.Server
    address: str
    made: Counter = field(default_factory=Counter)

    def study(self, slug, items, question="Which is better?", consent="", **settings):
        """A new study; returns its name."""
        self.made[slug] += 1
        slug = f"{slug} {self.made[slug]}"
        made = self.store.create_study(slug, {}, settings={"seed": 7, "top": 0, **settings})
        self.store.add(
            made.id, [i if isinstance(i, NewItem) else NewItem(i, {}) for i in items]
        )
        self.store.change_study(made.id, self.of(slug).settings, question, consent)
        return slug

    def of(self, slug):
        self.store.forget_cached()
        return self.store.served(slug)

    def link(self, slug, name="ann"):
        """A link of a judge."""
        return f"{self.address}/j/{self.store.issue(self.store.judge(self.of(slug).id, name))}"

    def admin(self):
        return f"{self.address}/a/{self.store.issue(None)}"

    def kinds(self, slug):
        """Kinds of the answers that count."""
        return [each.kind for each in self.store.answers(self.of(slug).id)]

    def values(self, slug):
        return [e.value for e in self.store.answers(self.of(slug).id) if e.kind == "pair"]

    def answer(self, slug, name, count):
        """Let a judge answer without a browser."""
        task = self.of(slug)
        self.store.consent(self.store.judge(task.id, name), task.consent_version)
        judge = next(j for j in self.store.judges(task.id) if j.name == name)
        for k in range(count):
            asked = self.store.turn(judge).asked
            if asked is not None:
                self.store.turn(judge, Act("answer", asked.id, (1, -1, 0)[k % 3], 2.0))

    def snapshot(self, slug, **other):
        """What the model process would say of a study."""
        task = self.of(slug)
        self.store.put_snapshot(task.id, "fit", 1, summary(task, **other))
        self.store.forget_cached()


def summary(task, sentence="Not settled yet.", contradicted=False):
    """A summary as the model process makes it."""
    n = len(task.items)
    rows = [
        {"id": i, "rank": k, "utility": 2.0 - k, "sd": 0.4, "first": max(1, k - 1),
         "last": min(n, k + 2), "answers": 3 * k, "p_best": 1.0 / k, "misfit": 0.2 * k}
        for k, i in enumerate(task.items, start=1)
    ]  # fmt: skip
    checks = {"count": 21, "right": 0.8, "low": 0.6, "high": 0.9, "expected": 0.82,
              "log_score": 0.47}  # fmt: skip
    judge = {"answers": 6, "noise": 1.0, "left": 0.9, "equal": 0.1, "seconds": 3.21,
             "misfit": 1.6, "misfit_z": 2.9, "flag": "left in 90 % of the answers"}  # fmt: skip
    return {
        "answers": 6, "last": 1, "made": "2026-11-18T20:15:03.123+00:00", "kind": "fit",
        "items": rows, "top": 3, "probability": 0.71, "wrong": 0.08,
        "short": "2 of these 3: 71 %", "sentence": sentence, "settled": False,
        "trust": {
            "contradicted": contradicted, "warning": False, "better_than_coin": True,
            "checks": checks, "bins": [{"expected": 0.7, "right": 0.6, "count": 9}],
            "tests": {"against_coin": 7.2, "against_model": -1.0, "threshold": 3.9},
        },
        "judges": [{"judge": "ann", **judge}], "ratios": [], "notes": ["A note."],
        "halves": {"mean": 0.6, "splits": 20}, "separation": 0.8, "beside": rows[::-1],
        "worths": [{"feature": "W" * 40, "step": 0.25, "worth": -1.5, "sd": 0.3}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.MonkeyPatch.context() as patch, ManagedStore(folder / "a.ordinality") as store:
        patch.setattr(Rates, "allow", lambda *_: True)  # a test is faster than a person
        patch.setattr("ordinality.panel.served_store.FRESH", 0.0)
        site = Site(store, address, mark=store.mark(), media=folder)
        config = uvicorn.Config(application(site), log_level="warning", access_log=False,
                                timeout_graceful_shutdown=1, lifespan="off")  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[taken])))
        thread.start()
        yield Served(store, folder, server, address)
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as found:
        browser = found.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """A function that opens a page in a browser of its own, which fails on an error in it."""
    contexts, wrong = [], []

    def opening(**how):
        contexts.append(chromium.new_context(**how))
        contexts[-1].set_default_timeout(20_000)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda problem: wrong.append(str(problem)))
        page.on("dialog", lambda each: (wrong.append(each.message), each.dismiss()))
        return page

    yield opening
    for each in contexts:
        each.close()
    assert wrong == []


def question(page):
    """Titles of the two items, and the number of the showing."""
    names = page.locator(".card .name").all_inner_texts()
    return frozenset(names), page.locator("#answer [name=shown]").get_attribute("value")


def ready(page):
    """Wait until the script runs and the question takes answers."""
    page.wait_for_function("() => document.documentElement.classList.contains('script')")
    page.wait_for_timeout(GUARD)


def press(page, name, **how):
    """Press a button, and wait for the page that it leads to."""
    with page.expect_navigation():
        page.get_by_role("button", name=name, **how).click()


def after(page, act):
    """Wait until an act has brought another question, and until that takes answers."""
    before = page.locator("#answer [name=shown]").get_attribute("value")
    act()
    page.wait_for_function(
        "old => document.querySelector('#answer [name=shown]')?.value !== old", arg=before
    )
    page.wait_for_timeout(GUARD)


# ---------------------------------------------------------------- every page, at every size


@dataclass
class Seen:
    """What was seen on all pages."""

    faults: list = field(default_factory=list)  # of axe
    hosts: set = field(default_factory=set)
    console: list = field(default_factory=list)
    wide: list = field(default_factory=list)  # pages that scroll sideways
    pages: list = field(default_factory=list)
    sizes: dict = field(default_factory=dict)  # bytes of what the question page loads


def studies(served):
    """Studies in the states that have pages of their own."""
    plain = served.study("films", FILMS, quota=20, grades=2, show_ranking=True, top=3)
    served.answer(plain, "ann", 4)
    served.answer(plain, "bob", 2)
    served.snapshot(plain)
    write_picture(served.folder / "p.png")
    picture = look_at(served.folder, "p.png")
    items = [
        NewItem("W" * 200, {}, text="w" * 200, media=picture),
        NewItem("أي مقال أفضل؟", {}, text="long text " * 300, group=None, not_for=["cid"]),
    ]
    rich = served.study("rich", items, "أي مقال يقدم الحجة الأفضل؟")
    served.snapshot(rich, contradicted=True, sentence="The checks contradict the model.")
    asked = served.study("consent", FILMS, consent="We keep your answers.", open=True)
    ended = served.study("ended", FILMS, quota=1, code="X-1", thanks="Good.",
                         back="https://panel.example/")  # fmt: skip
    served.answer(ended, "ann", 1)
    empty = served.study("empty", FILMS)
    return {"plain": plain, "rich": rich, "consent": asked, "ended": ended, "empty": empty}


def write_picture(path):
    """A picture of 3 by 2 points, as small as PNG has them."""
    import struct
    import zlib

    def chunk(kind, body):
        whole = kind + body
        return struct.pack(">I", len(body)) + whole + struct.pack(">I", zlib.crc32(whole))

    rows = zlib.compress(b"\0\xff\x00\x00\x00\xff\x00\x00\x00\xff" * 2)
    size = struct.pack(">IIBBBBB", 3, 2, 8, 2, 0, 0, 0)
    head = b"\x89PNG\r\n\x1a\n"
    path.write_bytes(head + chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def addresses(served, slugs):
    """Addresses of all pages, for the admin who is a judge of every study too."""
    plain, rich = slugs["plain"], slugs["rich"]
    found = [f"/s/{slug}" for slug in slugs.values()]  # asks for consent in one, ends in one
    found += [f"/s/{plain}/{page}" for page in ("mine", "ranking")]
    for page in ("ranking", "judges", "trust", "items", "settings"):
        found += [f"/admin/{plain}/{page}", f"/admin/{rich}/{page}"]
    found += [
        f"/admin/{slug}/item?id={next(iter(served.of(slug).items))}" for slug in (plain, rich)
    ]
    return [*found, f"/admin/{slugs['empty']}/ranking", f"/join/{slugs['consent']}", "/admin",
            "/nowhere"]  # fmt: skip


@pytest.fixture(scope="module")
def seen(served, chromium):
    """All pages, looked at light and dark, on a phone and on a desk."""
    import axe_playwright_python as axe

    slugs, found = studies(served), Seen()
    source = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    context = chromium.new_context()
    page = context.new_page()
    page.on("request", lambda sent: found.hosts.add(urlsplit(sent.url).netloc))
    page.on("console", lambda said: found.console.append(said.text))
    page.goto(served.admin())
    for slug in slugs.values():
        page.goto(served.link(slug))
    for address in addresses(served, slugs):
        page.goto(served.address + address)
        look(page, address, source, found)
    page.goto(served.address + f"/admin/{slugs['plain']}/judges")
    page.get_by_label("Name").fill("dora")
    page.get_by_role("button", name="Make a link").click()
    page.wait_for_selector("#link")
    look(page, "a new link", source, found)
    page.goto(served.address + f"/s/{slugs['plain']}")
    page.keyboard.press("?")
    look(page, "the keys", source, found)
    context.close()
    found.sizes = sizes(chromium, served.link(slugs["plain"]))
    return found


def sizes(chromium, link):
    """Bytes of all that a browser that was never here loads with a question, by path."""
    context, loaded = chromium.new_context(), []
    page = context.new_page()
    page.on("response", lambda got: loaded.append(got))
    page.goto(link, wait_until="networkidle")
    found = {urlsplit(got.url).path: len(got.body()) for got in loaded if got.status == 200}
    context.close()
    return found


def look(page, name, source, found):
    """Look at a page as it is."""
    page.evaluate(source)
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 700})
        got = page.evaluate(
            "tags => axe.run({runOnly: tags, resultTypes: ['violations']})", LEVELS
        )
        found.faults += [
            (name, scheme, width, fault["id"], fault["nodes"][0]["html"][:200])
            for fault in got["violations"]
        ]
        root = "document.documentElement"
        if page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"):
            found.wide.append((name, width))
    found.pages.append(name)


def test_axe_finds_nothing_on_any_page(seen):
    assert len(seen.pages) > 20
    assert seen.faults == []


def test_no_page_scrolls_sideways(seen):
    assert seen.wide == []


def test_pages_load_from_their_own_host_only(seen, served):
    assert seen.hosts == {urlsplit(served.address).netloc}


def test_nothing_that_a_page_does_is_against_its_policy(seen):
    said = [each for each in seen.console if "status of 404" not in each]  # a page of ours
    assert said == []


def test_the_question_page_is_light(seen):
    assert seen.sizes["/static/script.js"] <= 10_000
    assert sum(seen.sizes.values()) <= 60_000
    assert {path.split("/")[1] for path in seen.sizes} == {"s", "static"}


# ---------------------------------------------------------------- whole sessions


def test_a_whole_session_by_keyboard_alone(served, open_page):
    slug = served.study("keys", FILMS, "Which film?", "We keep them.", quota=8, grades=2,
                        code="K-7")  # fmt: skip
    page = open_page()
    page.goto(served.link(slug))
    for key in ("Tab", "Space", "Tab", "Enter"):  # agree, and start
        page.keyboard.press(key)
    page.wait_for_selector("#answer")
    ready(page)
    for key in ("ArrowLeft", "2", "Shift+ArrowRight", "Shift+Digit1", "=", "s", "u", "0", "1"):
        after(page, lambda key=key: page.keyboard.press(key))
    assert served.values(slug) == [1, -1, -2, 2, 0, 0, 1]
    # The live region says what happened, and the heading of the question has the focus.
    assert page.locator("#live").inner_text() == "Saved. Question 8 of 8."
    assert page.evaluate("document.activeElement.tagName") == "H1"
    for _ in range(30):  # to "B is better", through all that can be reached
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "right":
            break
    page.keyboard.press("Enter")
    page.get_by_text("K-7").wait_for()
    assert served.values(slug)[-1] == -1
    assert page.evaluate("document.activeElement.textContent") == "Thank you!"


def test_a_whole_session_with_script_off(served, open_page):
    slug = served.study("forms", FILMS, consent="We keep them.", quota=3, grades=2)
    page = open_page(java_script_enabled=False)
    page.goto(served.link(slug))
    page.get_by_role("button", name="Start").click()  # the browser asks for the tick
    assert page.get_by_text("We keep them.").is_visible()
    page.get_by_label("I agree").check()
    press(page, "Start")
    page.get_by_role("button", name="Keys").wait_for(state="hidden")
    first = question(page)[0]
    press(page, "A is much better")
    assert page.get_by_text("Saved. Question 2 of 3.").is_visible()
    press(page, "Undo last answer")
    assert question(page)[0] == first
    page.get_by_text("Report an item").click()
    page.get_by_label("What is wrong with it?").fill("It is cut off.")
    press(page, "Send the report")
    assert question(page)[0] == first
    for name in ("Skip", "About equal", "A is better", "B is better"):
        press(page, name, exact=True)
    assert page.get_by_role("heading", name="Thank you!").is_visible()
    assert served.values(slug) == [0, 1, -1]
    page.get_by_role("link", name="My answers", exact=True).click()
    page.get_by_label("I am sure").wait_for()
    assert page.locator("tbody tr").count() == 4  # the skip too
    page.get_by_label("I am sure").check()
    press(page, "Delete my answers")
    assert page.get_by_role("heading", name="Your answers were deleted.").is_visible()
    assert served.values(slug) == []
    report = served.store.reports(served.of(slug).id)
    assert report == []


def test_one_person_ranks_a_list_with_one_command(tmp_path, open_page):
    rows = [f"{name},{1950 + k}" for k, name in enumerate(FILMS)]
    films = tmp_path / "films.csv"
    films.write_text("\n".join(["name,year", *rows]) + "\n")
    run = "from ordinality.cli import main; main()"
    command = [sys.executable, "-c", run, "serve", films, "--port", "0", "--no-open", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            page = open_page()
            page.goto(json.loads(server.stdout.readline())["judge"])
            ready(page)
            for _ in range(12):
                left, right = page.locator(".card .name").all_inner_texts()
                better = "1" if FILMS.index(left) < FILMS.index(right) else "2"
                after(page, lambda better=better: page.keyboard.press(better))
            page.get_by_role("link", name="Ranking", exact=True).click()
            # The ranking comes by itself when the model process has made its first fit.
            page.locator("tbody tr").nth(len(FILMS) - 1).wait_for(timeout=90_000)
            found = page.locator(".places .some").all_inner_texts()
        finally:
            server.send_signal(signal.SIGINT)
            said = server.communicate(timeout=30)[1]
    assert sorted(found) == sorted(FILMS)
    # Answered without a contradiction: the first half is ahead of the second on the whole.
    assert sum(FILMS.index(name) for name in found[:4]) < 14
    assert "keeps 12 answers" in said
    assert server.returncode == 0


def test_whoever_opens_the_open_link_on_a_phone_answers_and_gets_a_code(served, open_page):
    slug = served.study("open", FILMS, quota=2, open=True, code="DONE-9",
                        back="https://panel.example/back")  # fmt: skip
    page = open_page(viewport={"width": 320, "height": 640}, is_mobile=True, has_touch=True)
    page.goto(f"{served.address}/join/{slug}")
    with page.expect_navigation():
        page.get_by_role("button", name="Start").tap()
    bar = page.locator(".answers").bounding_box()
    assert bar["y"] + bar["height"] <= 640  # within reach of a thumb, without scrolling
    assert not page.get_by_role("button", name="Keys").is_visible()
    ready(page)
    after(page, lambda: page.get_by_role("button", name="A is better").tap())
    page.get_by_role("button", name="B is better").tap()
    page.get_by_text("DONE-9").wait_for()
    back = page.get_by_role("link", name="Go back")
    assert back.get_attribute("href") == "https://panel.example/back"
    assert [j.name[:5] for j in served.store.judges(served.of(slug).id)] == ["guest"]


def test_an_admin_invites_a_judge_follows_the_answers_and_takes_the_files(served, open_page):
    slug = served.study("panel", FILMS, quota=70)
    admin, judge = open_page(), open_page()
    admin.goto(served.admin())
    admin.get_by_role("link", name=slug).click()
    admin.get_by_role("link", name="Judges", exact=True).click()
    admin.get_by_label("Name").fill("Zoë")
    admin.get_by_role("button", name="Make a link").click()
    link = admin.locator("#link").inner_text()
    assert admin.get_by_role("img", name="The link as a QR code").is_visible()
    judge.goto(link)
    assert link not in judge.url
    judge.wait_for_timeout(GUARD)
    after(judge, lambda: judge.keyboard.press("ArrowLeft"))
    served.store.forget_cached()
    admin.get_by_role("link", name="Judges", exact=True).click()
    row = admin.get_by_role("row").filter(has_text="Zoë")
    assert "1 of 70" in row.inner_text()
    # A process fits a model for the archive: minutes on a machine under load.
    with admin.expect_download(timeout=PATIENT) as got:
        admin.get_by_role("link", name="Ranking", exact=True).click()
        admin.get_by_role("link", name=f"{slug}.zip").click(timeout=PATIENT)
    with zipfile.ZipFile(got.value.path()) as archive:
        answers = archive.read("answers.csv").decode()
    assert len(answers.splitlines()) == 2
    assert "Zoë" not in answers
    admin.get_by_role("link", name="Judges", exact=True).click()
    admin.locator("summary").filter(has_text="Zoë").click()
    admin.get_by_role("button", name="Withdraw link").click()
    assert judge.goto(judge.url).status == 404


def test_a_program_gets_a_token_and_its_answers_are_marked(served, open_page):
    slug = served.study("models", FILMS)
    page = open_page()
    page.goto(served.admin())
    page.goto(f"{served.address}/admin/{slug}/judges")
    page.get_by_label("Name").fill("a program")
    page.get_by_label("A program").check()
    press(page, "Make a link")
    token = page.locator("#link").inner_text()
    sent = {"answers": [{"client_key": "1", "left": "Ran", "right": "Ikiru", "value": 1}]}
    for _ in range(2):  # the same again is the same answer
        reply = page.request.post(
            f"{served.address}/api/v1/{slug}/answers", data=json.dumps(sent),
            headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
        )  # fmt: skip
        assert reply.ok
    assert served.values(slug) == [1]
    with page.expect_navigation():
        page.get_by_role("link", name="Judges", exact=True).click()
    assert page.get_by_role("row").filter(has_text="a program").locator(".tag").is_visible()


def test_results_follow_the_model_while_they_are_looked_at(served, open_page):
    slug = served.study("live", FILMS, show_ranking=True)
    admin, judge = open_page(), open_page()
    admin.goto(served.admin())
    admin.goto(f"{served.address}/admin/{slug}/ranking")
    judge.goto(served.link(slug))
    judge.get_by_role("link", name="Ranking", exact=True).click()
    served.snapshot(slug, sentence="First.")
    for page in (admin, judge):
        page.get_by_text("First.").wait_for()
        assert page.locator("tbody tr").count() >= len(FILMS)
    served.snapshot(slug, sentence="Second.", contradicted=True)
    admin.locator(".alarm").get_by_text("Second.").wait_for()


# ---------------------------------------------------------------- keys


def test_a_key_that_is_held_down_counts_once(served, open_page):
    page, slug = open_page(), served.study("held", FILMS)
    page.goto(served.link(slug))
    ready(page)
    after(page, lambda: page.keyboard.down("ArrowLeft"))
    for _ in range(3):  # the browser repeats it
        page.keyboard.down("ArrowLeft")
    page.keyboard.up("ArrowLeft")
    page.wait_for_timeout(GUARD)
    assert served.values(slug) == [1]


def test_a_double_click_is_one_answer(served, open_page):
    page, slug = open_page(), served.study("double", FILMS)
    page.goto(served.link(slug))
    ready(page)
    after(page, lambda: page.get_by_role("button", name="A is better").dblclick())
    assert served.values(slug) == [1]


def test_a_question_takes_no_answer_in_its_first_moment(served, open_page):
    page, slug = open_page(), served.study("moment", FILMS)
    page.goto(served.link(slug))
    ready(page)
    page.evaluate(
        """() => new MutationObserver((_, self) => {
            self.disconnect();
            const key = new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true });
            document.body.dispatchEvent(key); // as soon as the next question is there
        }).observe(document.body, { childList: true })"""
    )
    after(page, lambda: page.keyboard.press("ArrowRight"))
    assert served.values(slug) == [-1]


def test_keys_are_letters_in_a_text_field_and_can_be_switched_off(served, open_page):
    page, slug = open_page(), served.study("off", FILMS)
    page.goto(served.link(slug))
    ready(page)
    page.get_by_text("Report an item").click()
    page.get_by_label("What is wrong with it?").press_sequentially("1 su=0")
    page.keyboard.press("ArrowLeft")
    assert page.get_by_label("What is wrong with it?").input_value() == "1 su=0"
    page.get_by_role("button", name="Keys").click()
    page.keyboard.press("1")  # nor behind a dialog
    page.get_by_label("Use these keys").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    ready(page)
    for key in ("1", "ArrowLeft", "s"):
        page.keyboard.press(key)
    page.wait_for_timeout(GUARD)
    assert served.kinds(slug) == []
    assert page.locator("kbd").first.is_hidden()


def test_keys_can_be_changed_and_stay_changed(served, open_page):
    page, slug = open_page(), served.study("own keys", FILMS, grades=2)
    page.goto(served.link(slug))
    ready(page)
    page.keyboard.press("?")
    for name, key in (("A is better", "f"), ("About equal", "S"), ("Undo", "?")):
        page.get_by_role("textbox", name=name, exact=True).fill(key)
    page.keyboard.press("Tab")
    # A key means one thing, and none takes the place of help.
    assert page.get_by_label("Skip", exact=True).input_value() == ""
    assert page.get_by_label("Undo", exact=True).input_value() == "u"
    page.get_by_role("button", name="Close").click()
    page.reload()
    ready(page)
    for key in ("f", "Shift+F", "s", "ArrowLeft", "Shift+Digit2"):
        after(page, lambda key=key: page.keyboard.press(key))
    for key in ("1", "0", "="):
        page.keyboard.press(key)
    page.wait_for_timeout(GUARD)
    assert served.values(slug) == [1, 2, 0, 1, -2]
    assert page.get_by_role("button", name="Skip").locator("kbd").is_hidden()
    page.keyboard.press("?")
    with page.expect_navigation():
        page.get_by_role("button", name="Keys as they were").click()
    ready(page)
    for key in ("1", "s"):
        after(page, lambda key=key: page.keyboard.press(key))
    assert served.kinds(slug)[-2:] == ["pair", "skip"]


def test_the_arrow_down_scrolls_where_there_is_something_to_scroll(served, open_page):
    long = [NewItem(name, {}, text="word " * 900) for name in FILMS]
    page, slug = open_page(), served.study("long", long)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(served.link(slug))
    ready(page)
    page.locator(".card .text").first.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.querySelector('.card .text').scrollTop > 0")
    assert served.kinds(slug) == []
    page.locator("h1").focus()
    after(page, lambda: page.keyboard.press("ArrowDown"))
    assert served.values(slug) == [0]


def test_a_picture_opens_large_and_closes_by_escape(served, open_page):
    write_picture(served.folder / "large.png")
    picture = look_at(served.folder, "large.png")
    slug = served.study("pictures", [NewItem(n, {}, media=picture) for n in FILMS])
    page = open_page()
    page.goto(served.link(slug))
    page.get_by_role("link", name="Enlarge the picture of A").click()
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").is_visible()
    assert page.locator(".zoom img").first.evaluate("image => image.naturalWidth") == 3


# ---------------------------------------------------------------- bad luck


def test_an_undo_after_a_skip_brings_the_skipped_question_back(served, open_page):
    page, slug = open_page(), served.study("undo", FILMS)
    page.goto(served.link(slug))
    ready(page)
    first = question(page)[0]
    for key in ("s", "u"):
        after(page, lambda key=key: page.keyboard.press(key))
    assert question(page)[0] == first
    assert served.kinds(slug) == []


@pytest.mark.parametrize("act", ["ArrowLeft", "s"])
def test_an_answer_whose_reply_was_lost_is_sent_again_and_is_one(served, open_page, act):
    page, slug = open_page(), served.study("lost", FILMS)
    page.goto(served.link(slug))
    ready(page)
    sent = []

    def lose(route):
        sent.append(re.sub("seconds=[^&]*", "", route.request.post_data))
        if len(sent) == 1:
            route.fetch()  # it arrives, and the reply does not
            route.abort()
        elif len(sent) == 2:
            route.fulfill(status=503, body="no")
        else:
            route.continue_()

    page.route("**/answer", lose)
    after(page, lambda: page.keyboard.press(act))
    assert len(sent) == 3
    assert len(set(sent)) == 1
    assert len(served.kinds(slug)) == 1
    assert "Question" in page.locator("#live").inner_text()


def test_a_reply_that_is_no_page_leads_back_to_the_question(served, open_page):
    page, slug = open_page(), served.study("proxy", FILMS)
    page.goto(served.link(slug))
    ready(page)
    page.route("**/answer", lambda route: route.fulfill(status=413, body="too large"))
    with page.expect_navigation():
        page.keyboard.press("1")
    assert len(question(page)[0]) == 2
    assert served.kinds(slug) == []


def test_two_tabs_of_one_judge_give_one_answer_to_a_question(served, open_page):
    page, slug = open_page(), served.study("tabs", FILMS)
    page.goto(served.link(slug))
    other = page.context.new_page()
    other.goto(page.url)
    assert question(page) == question(other)
    other.wait_for_timeout(GUARD)
    after(page, lambda: page.keyboard.press("1"))
    after(other, lambda: other.keyboard.press("2"))
    assert served.values(slug) == [1]
    assert "answered before" in other.locator("#live").inner_text()
    assert question(page) == question(other)


@pytest.mark.parametrize("script", [True, False])
def test_the_back_button_leads_to_the_question_that_is_open(served, open_page, script):
    page, slug = open_page(java_script_enabled=script), served.study("back", FILMS)
    page.goto(served.link(slug))
    for _ in range(2):
        time.sleep(GUARD / 1000)
        old = question(page)[1]
        page.get_by_role("button", name="A is better").click()
        page.locator(f"[name=shown]:not([value='{old}'])").first.wait_for(state="attached")
    now = question(page)
    page.get_by_role("link", name="My answers", exact=True).click()
    page.get_by_role("heading", name="My answers", exact=True).wait_for()
    page.go_back()
    page.locator("#answer").wait_for()
    assert question(page) == now
    assert served.values(slug) == [1, 1]


def test_html_in_every_text_field_is_shown_as_text(served, open_page):
    items = [
        NewItem(f"{BAD}{k}", {}, title=f"{BAD} {k}", text=f"{BAD} text", group=None,
                not_for=[f"{BAD} kim"])
        for k in range(4)
    ]  # fmt: skip
    settings = {"quota": 2, "thanks": BAD, "code": BAD, "show_ranking": True, "open": True}
    slug = served.study(BAD.replace("/", "|"), items, BAD, BAD, **settings)
    served.answer(slug, f"{BAD} judge", 1)
    served.snapshot(slug, sentence=BAD)
    page = open_page()
    page.goto(served.link(slug, f"{BAD} judge"))
    ready(page)
    page.get_by_text("Report an item").click()
    page.get_by_label("What is wrong with it?").fill(f"{BAD} report")
    page.get_by_role("button", name="Send the report").click()
    page.get_by_text("Thank you, the report was sent.").first.wait_for()
    page.wait_for_timeout(GUARD)
    shown = {"question": seen_text(page)}
    page.keyboard.press("1")
    page.get_by_role("heading", name="Thank you!").wait_for()
    shown["finished"] = seen_text(page)
    page.goto(served.admin())
    own, admin = page_of(served, "s", slug), page_of(served, "admin", slug)
    one = f"item?id={next(iter(served.of(slug).items))}"
    names = ("ranking", "judges", "trust", "items", one, "settings")
    for address in [f"{own}/mine", f"{own}/ranking", f"{served.address}/admin",
                    *(f"{admin}/{name}" for name in names)]:  # fmt: skip
        page.goto(address)
        shown[address] = seen_text(page)
    page.goto(f"{admin}/judges")
    page.get_by_label("Name").fill(f"{BAD} invited")
    press(page, "Make a link")
    shown["invited"] = seen_text(page)
    page.goto(page_of(served, "join", slug), wait_until="load")
    shown["join"] = seen_text(page)
    assert all(BAD in text for text in shown.values()), [
        k for k in shown if BAD not in shown[k]
    ]
    assert f"{BAD} invited" in shown["invited"]
    assert f"{BAD} report" in shown[f"{admin}/items"]


def page_of(served, room, slug):
    from urllib.parse import quote

    return f"{served.address}/{room}/{quote(slug, safe='')}"


def seen_text(page):
    """Text of a page with the values of its fields; no element of ours came from data."""
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("script:not([src='/static/script.js'])").count() == 0
    fields = "Array.from(document.querySelectorAll('input, textarea'), each => each.value)"
    return page.evaluate(f"[document.title, document.body.textContent, ...{fields}].join(' ')")
