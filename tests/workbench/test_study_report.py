"""The report: complete, safe, and in agreement with the study."""

from html.parser import HTMLParser

import numpy as np
import polars
import pytest

from ordinality.workbench import study
from ordinality.workbench.study_report import html_report

VOID = {"meta", "br", "link", "img", "hr"}
EVIL = '<script>alert("1")</script>'


class Page(HTMLParser):
    """Tags with their attributes, the text outside of figures, and whether all tags close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"svg", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(found):
    return Page(html_report(found, model_file="trial.skops"))


@pytest.fixture(scope="module")
def evil(few_refits):
    """A table whose column names and levels are HTML and template code."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    levels = ["<b>low</b>", EVIL, "{{ 7 * 7 }} & 'so'"]
    frame = polars.DataFrame(
        {
            f"x{EVIL}": x,
            '"><img src=x onerror=alert(2)>': np.array([EVIL, "--></svg>"])[
                (x > 0.3).astype(int)
            ],
            EVIL: np.array(levels)[np.digitize(x, [-0.5, 0.5])],
        }
    )
    return html_report(study(frame, EVIL, order=levels, model="linear", n_splits=3))


def test_the_page_contains_the_summary(page, found):
    summary = found.summary()
    assert summary["verdict"] in page.text
    for sentence in summary["words"]:
        assert sentence in page.text
    for count in found.problem.counts:
        assert str(count) in page.text
    for words in ("Task", "Data", "Scores", "Figures", "Columns", "Usage"):
        assert words in page.text
    assert "ordinality predict trial.skops" in page.text
    assert "linear (cumulative link model (proportional odds)) was requested." in page.text


def test_every_figure_is_in_the_page_with_unique_identifiers(page, found):
    assert sum(tag == "svg" for tag, _ in page.tags) == 2 + len(found.effects)
    names = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(names) == len(set(names))


def test_the_page_fetches_nothing_and_has_no_scripts(page):
    for tag, attrs in page.tags:
        assert tag not in {"script", "iframe", "object", "embed", "link", "img", "base", "form"}
        assert not any(name.startswith("on") for name in attrs)
        for name in ("src", "href", "xlink:href", "action"):
            assert attrs.get(name, "#").startswith(("#", "data:image/png;base64,"))


def test_the_content_of_a_table_is_escaped(evil):
    page = Page(evil)
    assert not {tag for tag, _ in page.tags} & {"script", "img", "b"}
    assert EVIL in page.text
    assert "<b>low</b>" in page.text
    assert "{{ 7 * 7 }} & 'so'" in page.text
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)


def test_the_same_study_is_the_same_page(found):
    assert html_report(found) == html_report(found)


def test_a_page_that_exists_is_kept_unless_forced(found, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists; choose another name"):
        found.report(path)
    assert path.read_text() == "mine"
    found.report(path, force=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_page_that_fails_leaves_nothing_behind(found, tmp_path, monkeypatch):
    monkeypatch.setattr("os.replace", lambda *args: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        found.report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_report_of_a_model_that_was_not_saved_says_how_to_save_it(found):
    assert "The model was not saved." in Page(html_report(found)).text


def test_a_verdict_against_the_model_is_marked(few_refits):
    rng = np.random.default_rng(1)
    frame = polars.DataFrame({"x": rng.normal(size=40), "y": np.arange(40) % 2})
    found = study(frame, "y", model="linear", n_splits=3)
    assert not found.verdict[0]
    page = Page(html_report(found))
    assert any(attrs.get("class") == "verdict bad" for _, attrs in page.tags)
