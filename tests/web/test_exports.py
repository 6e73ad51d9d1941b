"""What an admin takes out of a study, and answers that come in."""

import io
import shutil
import zipfile

import httpx2 as httpx
import numpy as np
import pytest

import ordinality
from ordinality.panel import rank_answers
from ordinality.panel.managed_store import NewItem
from ordinality.panel.served_store import Act

from .conftest import FILMS


def answered(served, count=12, name="ann"):
    """A judge who has preferred the item with the smaller number, always."""
    number = served.store.judge(served.study.id, name)
    (judge,) = [each for each in served.store.judges(served.study.id) if each.id == number]
    turn = served.store.turn(judge)
    for _ in range(count):
        value = 1 if turn.asked.left < turn.asked.right else -1
        turn = served.store.turn(judge, Act("answer", turn.asked.id, value, 1.0))
    return judge


def test_the_archive_has_a_report_and_a_model_of_all_answers_without_names(served, tmp_path):
    answered(served)
    content = served.admin().get("/admin/films/export.zip").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert "left_out.txt" not in archive.namelist()
        report = archive.read("report.html").decode()
        model = ordinality.load(archive.extract("model.skops", tmp_path))
    assert "Stalker" in report
    assert "judge 1" in report
    assert ">ann<" not in report
    key = {i: each.key for i, each in served.study.items.items()}
    given = served.store.answers(served.study.id)
    expected = rank_answers(
        [[key[each.left], key[each.right]] for each in given],
        [each.value for each in given],
        items=sorted(FILMS), weights=[float(each.purpose != "repeat") for each in given],
    ).model  # fmt: skip
    np.testing.assert_allclose(model.posterior()[0], expected.posterior()[0], atol=1e-9)


def test_without_answers_the_archive_says_that_there_is_no_model(served):
    admin = served.admin()
    with zipfile.ZipFile(io.BytesIO(admin.get("/admin/films/export.zip").content)) as archive:
        assert b"no answers yet" in archive.read("left_out.txt")
        assert "model.skops" not in archive.namelist()
    refused = admin.get("/admin/films/report.html")
    assert refused.status_code == httpx.codes.CONFLICT
    assert "no answers yet" in refused.text


@pytest.mark.parametrize(("limit", "most"), [("MOST", 15), ("MOST_ITEMS", 7)])
def test_too_many_answers_are_not_ranked_on_request(served, monkeypatch, limit, most):
    answered(served, 2)
    monkeypatch.setattr(f"ordinality.web.fitted_files.{limit}", most)
    refused = served.admin().get("/admin/films/model.skops")
    assert refused.status_code == httpx.codes.CONFLICT
    assert "2 answers about 8 items" in refused.text


def test_a_process_that_fails_is_said_to_have_failed(served, monkeypatch):
    answered(served, 2)
    monkeypatch.setattr("ordinality.web.fitted_files.sys.executable", shutil.which("false"))
    refused = served.admin().get("/admin/films/model.skops")
    assert refused.status_code == httpx.codes.CONFLICT
    assert "could not be made;" in refused.text


def test_a_process_that_takes_too_long_is_stopped(served, monkeypatch):
    answered(served, 2)
    monkeypatch.setattr("ordinality.web.fitted_files.LONGEST", 0.01)
    refused = served.admin().get("/admin/films/model.skops")
    assert refused.status_code == httpx.codes.CONFLICT
    assert "in time" in refused.text


def send(served, content, slug="films", name="answers.csv"):
    """Import a file of answers."""
    admin = served.admin()
    form = {"form": admin.hidden(admin.get(f"/admin/{slug}/judges"))["form"]}
    files = {"file": (name, content)}
    return admin.post(f"/admin/{slug}/import-answers", data=form, files=files)


def given(served, slug="films"):
    """The answers of a study: items, value, judge, purpose and seconds of each."""
    served.store.forget_cached()
    task = served.store.served(slug)
    key = {i: each.key for i, each in task.items.items()}
    return [
        (key[each.left], key[each.right], each.value, each.judge, each.purpose, each.seconds)
        for each in served.store.answers(task.id)
    ]


def other_study(served, slug, settings):
    """A study of the same items that has no answers."""
    made = served.store.create_study(slug, {}, settings=settings)
    served.store.add(made.id, [NewItem(name, {}) for name in [*FILMS, "=1+1"]])
    return made


@pytest.mark.parametrize("name", ["answers.csv?names=yes", "export.zip?names=yes"])
@pytest.mark.parametrize("grades", [1, 2])
def test_exported_answers_can_be_imported(served, monkeypatch, name, grades):
    monkeypatch.setattr("ordinality.web.fitted_files.MOST", 0)  # they are not looked at
    first = other_study(served, "first", {"grades": grades})
    other_study(served, "second", {"grades": grades})
    item = {each.key: i for i, each in served.store.served("first").items.items()}
    ann, bob = (served.store.judge(first.id, who) for who in ("ann", "bob"))
    for judge, left, right, purpose, value in (
        (ann, "Ran", "=1+1", "start", grades), (bob, "Ran", "Ikiru", "chosen", -grades),
        (bob, "Ikiru", "Ran", "repeat", 1), (ann, "Mirror", "Ran", "check", 0),
    ):  # fmt: skip
        shown = served.store.show(first.id, judge, item[left], item[right], purpose)
        served.store.answer(shown, value, seconds=1.5)
    expected = [
        (*row[:4], "repeat" if row[4] == "repeat" else "start", row[5])
        for row in given(served, "first")
    ]
    content = served.admin().get(f"/admin/first/{name}").content
    assert send(served, content, "second").status_code == httpx.codes.OK
    assert given(served, "second") == expected
    task = served.store.served("second")
    assert {(each.name, each.kind) for each in served.store.judges(task.id)} == {
        ("ann", "import"), ("bob", "import"),
    }  # fmt: skip
    assert sum(task.times_asked.values()) == 2 * len(expected)


def test_the_same_rows_are_imported_once(served, monkeypatch):
    monkeypatch.setattr("ordinality.panel.managed_store.PART", 2)
    rows = ["left,right,winner", "Ran,Ikiru,Ran", "Ran,Ikiru,Ran", "Ran,Mirror,tie"]
    send(served, "\n".join(rows))
    expected = [("Ran", "Ikiru", 1), ("Ran", "Ikiru", 1), ("Ran", "Mirror", 0)]
    assert [row[:3] for row in given(served)] == expected
    again = send(served, "\n".join(rows))
    assert again.status_code == httpx.codes.BAD_REQUEST
    assert "no new answers" in again.text
    send(served, "\n".join([*rows, "Mirror,Ikiru,Ikiru"]))
    assert [row[:3] for row in given(served)] == [*expected, ("Mirror", "Ikiru", -1)]


def test_what_was_deleted_is_not_imported_again(served):
    content = "left,right,winner,judge\nRan,Ikiru,Ran,kim"
    send(served, content)
    (judge,) = served.store.judges(served.study.id)
    served.store.erase(judge.id, "admin")
    assert "no new answers" in send(served, content).text
    assert given(served) == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("Ran,Nobody,Ran,kim,1", "is no item"),
        ("Ran,Ran,Ran,kim,1", "same item twice"),
        ("Ran,Ikiru,Mirror,kim,1", "is no answer"),
        ("Ran,Ikiru,2,kim,1", "is no answer"),
        ("Ran,Ikiru,,kim,1", "is no answer"),
        ("Ran,Ikiru,Ran,kim,nan", "as seconds"),
        ("Ran,Ikiru,Ran,kim,soon", "as seconds"),
        ("Ran,Ikiru,Ran,ann,1", "is a judge of this study"),
        ("Ran", "is no item"),
    ],
)
def test_an_import_with_one_bad_row_is_refused_as_a_whole(served, row, said):
    served.store.judge(served.study.id, "ann")
    content = f"left,right,winner,judge,seconds\nRan,Ikiru,Ran,kim,1\n{row}\n"
    refused = send(served, content)
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert said in refused.text
    assert given(served) == []
    assert [each.name for each in served.store.judges(served.study.id)] == ["ann"]


@pytest.mark.parametrize("content", ["", "winner\nRan\n", "left,right,winner\n", "\0", b"\xff"])
def test_a_file_without_answers_is_refused(served, content):
    assert send(served, content).status_code == httpx.codes.BAD_REQUEST
    assert given(served) == []


def test_a_judge_whose_answers_were_imported_gets_no_link(served):
    send(served, "left,right,winner,judge\nRan,Ikiru,Ran,kim")
    admin = served.admin()
    page = admin.get("/admin/films/judges")
    assert "New link" not in page.text
    refused = admin.submit("/admin/films/invite", page, name="kim")
    assert refused.status_code == httpx.codes.BAD_REQUEST
    assert "were imported" in refused.text
