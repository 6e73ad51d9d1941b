"""What must not work: foreign tokens, hosts, origins, files, sizes and rates."""

import io
import json
import logging
import re
import zipfile

import httpx2 as httpx
import pytest

from ordinality.panel.managed_store import MediaFile, NewItem
from ordinality.web.application import application
from ordinality.web.media import look_at, type_of
from ordinality.web.safety import Rates
from ordinality.web.visits import RefusedError

from .conftest import ADDRESS, FILMS, Browser

JUDGES_PAGES = ["/s/films", "/s/films/mine", "/s/films/ranking", "/s/films/events"]
ADMIN_PAGES = ["/admin", *(f"/admin/films/{page}" for page in ("ranking", "judges", "trust",
               "items", "settings", "export.zip", "answers.csv"))]  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def test_without_a_cookie_every_page_is_one_that_does_not_exist(served):
    browser = Browser(served.app)
    for page in [*JUDGES_PAGES, *ADMIN_PAGES, "/s/none", "/m/1", "/join/films"]:
        assert browser.get(page).status_code == httpx.codes.NOT_FOUND, page


def test_a_judge_sees_neither_pages_of_the_admin_nor_other_studies(served):
    other = served.store.create_study("books", {}, settings={})
    served.store.add(other.id, [NewItem("Emma", {}), NewItem("Ulysses", {})])
    browser = served.judge()
    for page in [*ADMIN_PAGES, "/s/books", "/s/books/mine"]:
        assert browser.get(page).status_code == httpx.codes.NOT_FOUND, page


@pytest.mark.parametrize("link", ["/j/none", "/a/none", "/j/" + "x" * 500])
def test_a_link_with_a_wrong_token_is_refused(served, link):
    assert Browser(served.app).get(link).status_code == httpx.codes.NOT_FOUND


def test_a_link_of_a_judge_does_not_open_the_admins_pages(served):
    token = served.store.issue(served.store.judge(served.study.id, "ann"))
    assert Browser(served.app).get(f"/a/{token}").status_code == httpx.codes.NOT_FOUND


def test_a_withdrawn_link_ends_at_once(served):
    browser = served.judge()
    served.store.withdraw_links(served.store.judge(served.study.id, "ann"))
    assert browser.get("/s/films").status_code == httpx.codes.NOT_FOUND


def test_the_store_holds_no_token(served):
    token = served.store.issue(None)
    assert len(token) >= 22  # 128 bits
    for file in served.store_folder.iterdir():
        assert token.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "same-origin", "origin": "http://evil.example"},
        {"sec-fetch-site": "", "origin": "null"},
    ],
)
def test_a_form_of_another_site_is_refused(served, headers):
    browser = served.judge()
    page = browser.get("/s/films")
    form = browser.hidden(page) | {"act": "left"}
    refused = browser.post("/s/films/answer", data=form, headers=headers)
    assert refused.status_code == httpx.codes.FORBIDDEN
    assert served.store.answers(served.study.id) == []


def test_a_form_without_origin_or_token_is_refused(served):
    browser = served.judge()
    form = browser.hidden(browser.get("/s/films")) | {"act": "left"}
    del browser.headers["sec-fetch-site"]
    assert browser.post("/s/films/answer", data=form).status_code == httpx.codes.FORBIDDEN
    browser.headers["sec-fetch-site"] = "same-origin"
    wrong = form | {"form": "0" * 32}
    assert browser.post("/s/films/answer", data=wrong).status_code == httpx.codes.FORBIDDEN
    assert served.store.answers(served.study.id) == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8642", ""])
def test_another_host_is_refused(served, host):
    refused = served.judge().get("/s/films", headers={"host": host})
    assert refused.status_code == 421


def test_every_answer_has_the_headers_and_names_no_other_host(served):
    judge, admin = served.judge(), served.admin()
    pages = [judge.get(page) for page in ("/s/films", "/s/films/mine", "/none")]
    pages += [admin.get(page) for page in ADMIN_PAGES[:-2]]
    for page in pages:
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["referrer-policy"] == "same-origin"  # nothing to others
        for address in re.findall(
            r'(?:src|href|action|content|url)\s*[=(]\s*"?([^">)]*)', page.text
        ):
            assert "//" not in address
        assert " style=" not in page.text
        assert "<style" not in page.text
        assert "<script>" not in page.text


def test_markup_in_any_text_stays_text(served):
    admin, judge = served.admin(), served.judge(EVIL)
    served.store.add(served.study.id, [NewItem(EVIL, {}, title=EVIL, text=EVIL)])
    served.store.change_study(served.study.id, served.study.settings, EVIL, EVIL)
    page = judge.get("/s/films/start")
    assert EVIL not in page.text
    judge.submit("/s/films/start", page, start="yes", agree="1")
    judge.submit("/s/films/answer", judge.get("/s/films"), act="report", item="9", text=EVIL)
    for address in ["/s/films", "/s/films/mine"]:
        assert "<script>alert" not in judge.get(address).text
    for address in ADMIN_PAGES[:-2]:
        assert "<script>alert" not in admin.get(address).text
        assert "<img src=x" not in admin.get(address).text


# ---------------------------------------------------------------- pictures


def test_a_picture_is_for_the_judges_of_its_study(served):
    (served.store_folder / "a.png").write_bytes(PNG)
    picture = look_at(served.store_folder, "a.png")
    served.store.add(served.study.id, [NewItem("with picture", {}, media=picture)])
    found = served.judge().get("/m/1")
    assert (found.status_code, found.headers["content-type"]) == (200, "image/png")
    assert found.content == PNG
    assert Browser(served.app).get("/m/1").status_code == httpx.codes.NOT_FOUND
    assert served.judge().get("/m/2").status_code == httpx.codes.NOT_FOUND
    assert served.judge().get("/m/../films.ordinality").status_code == httpx.codes.NOT_FOUND


@pytest.mark.parametrize("name", ["../secret.png", "link.png", "/etc/hostname"])
def test_a_picture_outside_the_folder_is_refused(served, tmp_path_factory, name):
    outside = tmp_path_factory.mktemp("outside") / "secret.png"
    outside.write_bytes(PNG)
    folder = outside.parent / "pictures"
    folder.mkdir()
    (folder / "link.png").symlink_to(outside)
    with pytest.raises(RefusedError):
        look_at(folder, name)
    served.store.add(
        served.study.id,
        [NewItem("evil", {}, media=MediaFile(name, "image/png", 28, "0"))],
    )
    assert served.judge().get("/m/1").status_code == httpx.codes.NOT_FOUND


def test_a_picture_is_what_its_bytes_say(tmp_path):
    assert type_of(PNG) == "image/png"
    assert type_of(b"\xff\xd8\xff\xe0") == "image/jpeg"
    assert type_of(b"RIFF0000WEBPVP8 ") == "image/webp"
    assert type_of(b"GIF89a") == "image/gif"
    assert type_of(b"\0\0\0\x1cftypavif") == "image/avif"
    assert type_of(b"<svg xmlns") is None
    (tmp_path / "x.png").write_bytes(b"<svg onload='alert(1)'/>")
    with pytest.raises(RefusedError, match="not a picture in PNG"):
        look_at(tmp_path, "x.png")


# ---------------------------------------------------------------- sizes and rates


def test_a_large_body_is_refused_before_it_is_read(served):
    browser = served.judge()
    form = browser.hidden(browser.get("/s/films")) | {"act": "left", "text": "x" * 2**20}
    assert browser.post("/s/films/answer", data=form).status_code == 413

    def parts():
        yield from [b"act=left&text="] + [b"x" * 1024] * 1024

    refused = browser.post(
        "/s/films/answer", content=parts(),
        headers={"content-type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    assert refused.status_code == 413


def test_only_the_admin_may_send_a_large_body(served):
    for browser in (Browser(served.app), served.judge()):
        refused = browser.post("/admin/films/import", content=b"x" * 2**20)
        assert refused.status_code == httpx.codes.NOT_FOUND


@pytest.mark.parametrize("body", [b"[1]", b"{", b"[" * 60_000, b"\xff"])
def test_json_that_is_no_object_is_refused(served, body):
    browser = served.judge()
    sent = {"content-type": "application/json"}
    refused = browser.post("/s/films/answer", content=body, headers=sent)
    assert refused.status_code == httpx.codes.BAD_REQUEST


def test_a_rate_is_a_burst_and_then_a_trickle(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("ordinality.web.safety.time.monotonic", lambda: now[0])
    rates = Rates(rate=5.0, burst=20)
    assert [rates.allow("ann") for _ in range(25)] == [True] * 20 + [False] * 5
    assert rates.allow("bob")
    now[0] += 1.0
    assert [rates.allow("ann") for _ in range(7)] == [True] * 5 + [False] * 2


def test_too_many_requests_of_a_judge_are_refused(served, monkeypatch):
    monkeypatch.undo()
    browser = Browser(application(served.site))
    browser.get(f"/j/{served.store.issue(served.store.judge(served.study.id, 'ann'))}")
    codes = [browser.get("/s/films").status_code for _ in range(40)]
    assert codes[0] == 200
    assert codes[-1] == 429


# ---------------------------------------------------------------- out and in


def test_a_cell_that_looks_like_a_formula_is_text(served):
    served.store.add(served.study.id, [NewItem("=1+1", {}), NewItem("@x", {})])
    admin = served.admin()
    rows = admin.get("/admin/films/items.csv").text.splitlines()
    assert [row.split(",")[0] for row in rows[-2:]] == ["'=1+1", "'@x"]


def test_names_of_judges_are_exported_on_request_alone(served, monkeypatch):
    monkeypatch.setattr("ordinality.web.fitted_files.MOST", 0)  # tested with the exports
    browser = served.judge("ann")
    browser.submit("/s/films/answer", browser.get("/s/films"), act="left")
    admin = served.admin()
    assert "ann" not in admin.get("/admin/films/answers.csv").text
    assert "ann" in admin.get("/admin/films/answers.csv?names=yes").text
    with zipfile.ZipFile(io.BytesIO(admin.get("/admin/films/export.zip").content)) as archive:
        assert b"ann" not in archive.read("answers.csv")
        assert json.loads(archive.read("study.json"))["study"] == "films"


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (zipped(items_csv=b"name\nA", a__b=b""), "no folders"),
        (zipped(other_csv=b""), "has no items.csv"),
        (zipped(items_csv=bytes(110 * 2**20)), "too large"),
        (zipped(items_csv=b"name\nA")[:-30], "not text|damaged|name"),
        (b"name\n\xff\xfe", "not text in UTF-8"),
        (b"name\nRan\n", "no new items"),
    ],
)
def test_an_upload_that_cannot_be_used_is_refused_with_a_reason(served, content, said):
    admin = served.admin()
    form = {"form": admin.hidden(admin.get("/admin/films/items"))["form"]}
    files = {"file": ("items.csv", content)}
    refused = admin.post("/admin/films/import", data=form, files=files)
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert any(part in refused.text for part in said.split("|"))
    assert [each.key for each in served.study.items.values()] == FILMS


def test_an_export_can_be_taken_in_again(served):
    admin = served.admin()
    export = admin.get("/admin/films/export.zip").content
    other = served.store.create_study("copy", {}, settings={})
    served.store.add(other.id, [NewItem("Ran", {}), NewItem("first", {})])
    served.store.forget_cached()
    form = {"form": admin.hidden(admin.get("/admin/copy/items"))["form"]}
    admin.post("/admin/copy/import", data=form, files={"file": ("x.zip", export)})
    served.store.forget_cached()
    found = [each.key for each in served.store.served("copy").items.values()]
    assert found == ["Ran", "first", *FILMS[1:]]


def test_no_token_is_logged(served, caplog):
    caplog.set_level(logging.DEBUG, "ordinality")
    caplog.set_level(logging.DEBUG, "uvicorn")
    token = served.store.issue(None)
    Browser(served.app).get(f"/a/{token}")
    assert token not in "".join(record.getMessage() for record in caplog.records)


# ---------------------------------------------------------------- programs


def program(served):
    number = served.store.judge(served.study.id, "bot", "program")
    browser = Browser(served.app)
    del browser.headers["sec-fetch-site"]
    browser.headers["authorization"] = f"Bearer {served.store.issue(number)}"
    return browser


def test_a_program_sends_answers_once_whatever_it_repeats(served):
    bot = program(served)
    asked = bot.get("/api/v1/films/question").json()
    sent = {"answers": [
        {"client_key": "1", "left": asked["left"]["item"], "right": asked["right"]["item"],
         "value": 1},
        {"client_key": "2", "left": "Ran", "right": "Vertigo", "value": 0, "seconds": 0.1},
    ]}  # fmt: skip
    first = bot.post("/api/v1/films/answers", json=sent)
    assert first.status_code == 200
    assert bot.post("/api/v1/films/answers", json=sent).json() == first.json()
    assert [g.value for g in served.store.answers(served.study.id)] == [1, 0]
    assert bot.get("/api/v1/films/question").json()["shown"] != asked["shown"]


@pytest.mark.parametrize(
    "answer",
    [
        {"left": "Ran", "right": "Vertigo", "value": 1},
        {"client_key": "1", "left": "Ran", "right": "Ran", "value": 1},
        {"client_key": "1", "left": "Ran", "right": "none", "value": 1},
        {"client_key": "1", "left": "Ran", "right": "Vertigo", "value": 5},
        {"client_key": "1", "left": "Ran", "right": "Vertigo", "value": True},
        {"client_key": "1", "left": "Ran", "right": "Vertigo", "value": 1, "seconds": "x"},
        7,
    ],
)
def test_a_batch_with_one_bad_answer_is_refused_as_a_whole(served, answer):
    good = {"client_key": "0", "left": "Ran", "right": "Ikiru", "value": 1}
    refused = program(served).post("/api/v1/films/answers", json={"answers": [good, answer]})
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert "Answer 1" in refused.json()["error"]
    assert served.store.answers(served.study.id) == []


def test_programs_need_a_token_of_their_own(served):
    assert Browser(served.app).post("/api/v1/films/answers", json={}).status_code == 401
    person = Browser(served.app)
    number = served.store.judge(served.study.id, "ann")
    person.headers["authorization"] = f"Bearer {served.store.issue(number)}"
    assert person.post("/api/v1/films/answers", json={"answers": []}).status_code == 403
    assert person.base_url == ADDRESS
