"""Questions about sets and ratings in a real browser: by taps, keys, forms, and on phones."""

from pathlib import Path

import pytest

from ordinality.panel.served_store import Act

from .test_browser import (  # noqa: F401  (fixtures)
    FILMS,
    Seen,
    after,
    chromium,
    look,
    open_page,
    press,
    pytestmark,
    ready,
    served,
)

KINDS = ["best-worst", "order", "rating"]
# ruff: noqa: F811


def study(served, kind, **settings):
    return served.study("sets", FILMS, kind=kind, size=4, **settings)


def begun(served, open_page, kind, **how):
    """A question of a kind, in a browser."""
    slug, page = study(served, kind), open_page(**how)
    page.goto(served.link(slug))
    if how.get("java_script_enabled", True):
        ready(page)
    return slug, page


def answered(served, slug):
    return served.store.answers(served.of(slug).id, every_kind=True)


def answer(served, slug):
    """Let the judge answer once without a browser."""
    (judge,) = served.store.judges(served.of(slug).id)
    asked = served.store.turn(judge).asked
    detail = {"best": asked.items[0], "worst": asked.items[-1], "order": asked.items}
    served.store.turn(judge, Act("answer", asked.id, 4, 1.0, detail))


def names(page):
    return page.locator(".card .name").all_inner_texts()


def titles(served, slug, ids):
    return [served.of(slug).items[i].title for i in ids]


@pytest.fixture(scope="module")
def seen(served, chromium):
    """Every page that the kinds of question have, at every size."""
    import axe_playwright_python as axe

    source, found = (
        (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"),
        Seen(),
    )
    context = chromium.new_context()
    page = context.new_page()
    page.on("console", lambda said: found.console.append(said.text))
    page.goto(served.admin())
    for kind in KINDS:
        slug = study(served, kind, quota=9)
        page.goto(served.link(slug))
        look(page, kind, source, found)
        page.get_by_text("Report an item").click()
        look(page, f"{kind}, report", source, found)
        answer(served, slug)
        page.goto(f"{served.address}/s/{slug}/mine")
        look(page, f"{kind}, mine", source, found)
    page.goto(f"{served.address}/admin/{slug}/settings")
    look(page, "settings", source, found)
    context.close()
    return found


def test_axe_finds_nothing_and_no_page_scrolls_sideways(seen):
    assert len(seen.pages) == 10
    assert seen.faults == []
    assert seen.wide == []
    assert seen.console == []


def test_two_taps_are_the_best_and_the_worst(served, open_page):
    slug, page = begun(served, open_page, "best-worst", has_touch=True,
                       viewport={"width": 320, "height": 640})  # fmt: skip
    shown = names(page)
    page.locator(".picks label", has_text="Best").nth(1).tap()
    assert answered(served, slug) == []
    after(page, lambda: page.locator(".picks label", has_text="Worst").nth(0).tap())
    (given,) = answered(served, slug)
    picked = titles(served, slug, (given.detail["best"], given.detail["worst"]))
    assert picked == [shown[1], shown[0]]


def test_best_and_worst_by_keys(served, open_page):
    slug, page = begun(served, open_page, "best-worst")
    shown = names(page)
    for key in ("1", "1", "4"):  # the best, no longer the best, and another
        page.keyboard.press(key)
    assert page.locator(".pick:checked").count() == 1
    assert page.locator("#live").inner_text() == "Best: D"
    after(page, lambda: page.keyboard.press("2"))
    (given,) = answered(served, slug)
    picked = titles(served, slug, (given.detail["best"], given.detail["worst"]))
    assert picked == [shown[3], shown[1]]
    assert page.locator("#live").inner_text() == "Saved. Question 2."
    after(page, lambda: page.keyboard.press("s"))
    after(page, lambda: page.keyboard.press("u"))
    after(page, lambda: page.keyboard.press("u"))
    assert names(page) == shown
    # By Tab, arrow keys and Space alone: looking around with arrow keys sends nothing.
    page.get_by_role("radio", name="Best: A").focus()
    page.keyboard.press("Space")
    page.get_by_role("radio", name="Worst: A").focus()
    for key in ("Space", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_timeout(50)
    assert answered(served, slug) == []
    after(page, lambda: page.keyboard.press("Enter"))
    (given,) = answered(served, slug)
    picked = titles(served, slug, (given.detail["best"], given.detail["worst"]))
    assert picked == [shown[0], shown[2]]


def test_a_set_that_is_not_complete_is_refused_where_it_stands(served, open_page):
    slug, page = begun(served, open_page, "best-worst")
    page.keyboard.press("3")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Choose the worst as well.").first.wait_for()
    assert page.get_by_role("radio", name="Best: C").is_checked()
    assert answered(served, slug) == []


def test_ratings_by_keys(served, open_page):
    slug, page = begun(served, open_page, "rating")
    for key in ("4", "1", "5", "u", "2"):
        after(page, lambda key=key: page.keyboard.press(key))
    assert [given.value for given in answered(served, slug)] == [4, 1, 2]


def test_an_order_by_keyboard_keeps_the_focus_on_what_moves(served, open_page):
    slug, page = begun(served, open_page, "order")
    a, b, c, d = names(page)
    page.get_by_role("button", name="Move D up").focus()
    for _ in range(4):  # the last does nothing
        page.keyboard.press("Enter")
    assert names(page) == [d, a, b, c]
    assert page.evaluate("document.activeElement.ariaLabel") == "Move D up"
    assert page.locator("#live").inner_text() == f"D: {d}: 1 of 4"
    page.get_by_role("button", name="Move A down").press("Space")
    assert names(page) == [d, b, a, c]
    assert answered(served, slug) == []
    after(page, lambda: page.get_by_role("button", name="Save this order").press("Enter"))
    (given,) = answered(served, slug)
    assert titles(served, slug, given.detail["order"]) == [d, b, a, c]


def test_all_kinds_with_script_off(served, open_page):
    slug, page = begun(served, open_page, "best-worst", java_script_enabled=False)
    shown = names(page)
    page.get_by_label("Best: B").check()
    press(page, "Save")
    assert page.get_by_text("Choose the worst as well.").is_visible()
    page.get_by_label("Worst: C").check()
    press(page, "Save")
    (given,) = answered(served, slug)
    picked = titles(served, slug, (given.detail["best"], given.detail["worst"]))
    assert picked == [shown[1], shown[2]]
    press(page, "Undo last answer")
    assert names(page) == shown
    slug, page = begun(served, open_page, "order", java_script_enabled=False)
    a, b, c, d = names(page)
    for name in ("Move B up", "Move C down"):
        press(page, name)
    assert page.evaluate("document.activeElement.ariaLabel") == "Move C down"
    press(page, "Save this order")
    (given,) = answered(served, slug)
    assert titles(served, slug, given.detail["order"]) == [b, a, d, c]
    slug, page = begun(served, open_page, "rating", java_script_enabled=False)
    press(page, "3", exact=True)
    (given,) = answered(served, slug)
    assert given.value == 3
