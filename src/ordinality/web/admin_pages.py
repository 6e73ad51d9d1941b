"""What the admin sees and does: ranking, judges, trust, items, settings, export and import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import segno

from ..panel.set_questions import QUESTIONS
from . import exports
from .results import beside_expected, head_of, ranking_view, said, trust_view
from .views import HomeView, ItemsView, ItemView, JudgesView, SettingsView
from .visits import Download, Leads, RefusedError, Visit

__all__ = ["act", "export", "home", "item", "items", "judges", "page", "settings"]


def home(visit: Visit) -> HomeView:
    """All studies of the store."""
    rows = []
    for slug in visit.store.slugs():
        task = visit.store.served(slug)
        assert task is not None
        rows.append(
            {
                "slug": slug, "question": task.question, "items": len(task.active),
                "judges": task.judges, "answers": visit.store.count_answers(task.id),
                "closed": task.closed,
            }
        )  # fmt: skip
    return HomeView(tuple(rows), ())


def page(visit: Visit) -> Any:
    """One of the pages about a study."""
    pages: Mapping[str, Callable[[Visit], Any]] = {
        "ranking": ranking_view, "judges": judges, "trust": trust_view, "items": items,
        "item": item, "settings": settings,
    }  # fmt: skip
    name = visit.path["page"]
    if name in exports.NAMES:
        return exports.one_file(visit, name)
    if name not in pages:
        raise RefusedError(404, "There is no such page.")
    return pages[name](visit)


def export(visit: Visit) -> Download:
    """Everything about a study in one file."""
    return exports.study_zip(visit)


def judges(visit: Visit, link: str = "", link_of: str = "") -> JudgesView:
    """The judges, what their answers are like, and a link that was just made."""
    task = visit.here
    learnt = {row["judge"]: row for row in visit.store.summary(task.id).get("judges", ())}
    counts = visit.store.counts_by_judge(task.id)
    rows = []
    for each in visit.store.judges(task.id):
        answers, skipped = counts.get(each.id, (0, 0))
        quota = each.quota if each.quota is not None else task.settings.quota
        rows.append(
            {
                "id": each.id, "name": each.name, "kind": each.kind, "answers": answers,
                "skipped": skipped, "quota": quota, "left_out": each.left_out,
                "withdrawn": each.withdrawn, "linked": visit.store.has_link(each.id),
                "repeats": learnt.get(each.name, {}).get("agreed"),
                **{key: learnt.get(each.name, {}).get(key) for key in LEARNT},
            }
        )  # fmt: skip
    join = f"{visit.site.address}/join/{quote(task.slug, safe='')}"
    return JudgesView(
        head_of(visit, "judges"), tuple(rows), link, link_of, _qr(link),
        join if task.settings.open else "",
    )  # fmt: skip


LEARNT = (
    "noise", "left", "equal", "seconds", "misfit", "misfit_z", "flag", "checks",
)  # fmt: skip


def items(visit: Visit) -> ItemsView:
    """The items and what judges reported."""
    task, misfit = visit.here, _misfits(visit)
    rows: list[dict[str, Any]] = [
        {
            "id": each.id, "key": each.key, "title": each.title, "misfit": misfit.get(each.id),
            "answers": task.times_asked[each.id], "group": each.group,
            "not_for": ", ".join(sorted(each.not_for)), "retired": each.retired,
            "image": f"/m/{each.media_id}" if each.media_id is not None else None,
        }
        for each in task.items.values()
    ]  # fmt: skip
    odd = visit.query.get("by") == "misfit"
    if odd:
        rows.sort(key=lambda row: -(row["misfit"] or 0.0))
    reports = visit.store.reports(task.id)
    return ItemsView(head_of(visit, "items"), tuple(rows), tuple(reports), odd)


def _misfits(visit: Visit) -> dict[int, float]:
    """Misfit of the items that have one, by number, from the newest snapshot."""
    rows = visit.store.summary(visit.here.id).get("items", ())
    return {row["id"]: row["misfit"] for row in rows if row.get("misfit") is not None}


ABOUT = 200  # answers about an item that are shown


def item(visit: Visit) -> ItemView:
    """The newest answers about one item."""
    task, wanted = visit.here, _item_id(visit, str(visit.query.get("id", "")))
    title = {i: each.title for i, each in task.items.items()}
    given = visit.store.answers(task.id, every_kind=True)
    about = [each for each in reversed(given) if wanted in each.items]
    rows = [
        {
            "against": ", ".join(title[i] for i in each.items if i != wanted),
            "said": said(each, title), "judge": each.judge, "seconds": each.seconds,
            **beside_expected(each, wanted),
        }
        for each in about[:ABOUT]
    ]  # fmt: skip
    misfit = _misfits(visit).get(wanted)
    return ItemView(head_of(visit, "items"), title[wanted], tuple(rows), len(about), misfit)


def _item_id(visit: Visit, wanted: str) -> int:
    for each in visit.here.items.values():
        if str(each.id) == wanted:
            return each.id
    raise RefusedError(404, "This study has no such item.")


def settings(visit: Visit, errors: tuple[str, ...] = ()) -> SettingsView:
    """The settings of a study, or those that were sent with an error in them."""
    task, sent = visit.here, visit.fields
    shown = {**task.settings.as_dict(), "question": task.question}
    consent = task.consent_text or ""
    if errors:
        shown |= {name: sent.get(name, "") for name in TYPED}
        shown |= {name: sent.get(name) == "yes" for name in TICKED}
        shown["grades"], consent = 1 + (sent.get("grades") == "2"), sent.get("consent", "")
    return SettingsView(
        head_of(visit, "settings"), shown, consent, task.consent_version, task.closed, errors
    )


TYPED = (
    "question",
    "kind",
    "size",
    "top",
    "level",
    "quota",
    "checks",
    "thanks",
    "code",
    "back",
)
TICKED = ("ties", "stop", "open", "show_progress", "show_ranking")


# ---------------------------------------------------------------- acts


def act(visit: Visit) -> Any:
    """What a form of the admin asks for; every act leaves a line in the store."""
    name = visit.path["act"]
    if name not in _ACTS:
        raise RefusedError(404, "There is no such page.")
    done = _ACTS[name](visit)
    visit.store.forget_cached()
    return done


def _to(visit: Visit, page: str) -> Leads:
    return Leads(f"/admin/{quote(visit.here.slug, safe='')}/{page}")


def _invite(visit: Visit) -> JudgesView:
    """A new judge, or a new link of one; the link is shown once."""
    name = str(visit.fields.get("name", "")).strip()[:200]
    kind = "program" if visit.fields.get("kind") == "program" else "person"
    if not name:
        raise RefusedError(400, "Name the judge.")
    if any(e.name == name and e.kind == "import" for e in visit.store.judges(visit.here.id)):
        raise RefusedError(400, f"Answers of {name} were imported; invite by another name.")
    number = visit.store.judge(visit.here.id, name, kind)
    visit.store.withdraw_links(number)
    token = visit.store.issue(number)
    visit.store.note(visit.here.id, "admin", "invite", {"judge": number})
    visit.store.forget_cached()
    link = token if kind == "program" else f"{visit.site.address}/j/{token}"
    return judges(visit, link, name)


def _judge_id(visit: Visit) -> int:
    wanted = str(visit.fields.get("judge", ""))
    for each in visit.store.judges(visit.here.id):
        if str(each.id) == wanted:
            return each.id
    raise RefusedError(404, "This study has no such judge.")


def _withdraw(visit: Visit) -> Leads:
    number = _judge_id(visit)
    visit.store.withdraw_links(number)
    visit.store.note(visit.here.id, "admin", "withdraw link", {"judge": number})
    return _to(visit, "judges")


def _leave_out(visit: Visit) -> Leads:
    number, out = _judge_id(visit), visit.fields.get("out") == "yes"
    visit.store.leave_out(number, out)
    visit.store.note(visit.here.id, "admin", "leave out" if out else "take in",
                     {"judge": number})  # fmt: skip
    return _to(visit, "judges")


def _erase(visit: Visit) -> Leads:
    if visit.fields.get("sure") != "yes":
        raise RefusedError(400, "Please tick the box to say that you are sure.")
    visit.store.erase(_judge_id(visit), who="admin")
    return _to(visit, "judges")


def _retire(visit: Visit) -> Leads:
    number, back = _item_id(visit, str(visit.fields.get("item", ""))), visit.fields.get("back")
    visit.store.retire(number, back != "yes")
    visit.store.note(visit.here.id, "admin", "bring back" if back == "yes" else "retire",
                     {"item": number})  # fmt: skip
    return _to(visit, "items")


def _close(visit: Visit) -> Leads:
    closed = visit.fields.get("closed") == "yes"
    visit.store.close_study(visit.here.id, closed)
    visit.store.note(visit.here.id, "admin", "close" if closed else "open again")
    return _to(visit, "settings")


def _settings(visit: Visit) -> Any:
    try:
        changed = exports.settings_of(visit.fields, visit.here.settings)
    except ValueError as problem:
        return settings(visit, (str(problem),))
    question, old = str(visit.fields.get("question", "")).strip(), visit.here.settings.kind
    if question == QUESTIONS[old]:  # what is asked by default goes with the kind
        question = QUESTIONS[changed.kind]
    visit.store.change_study(
        visit.here.id, changed, question,
        str(visit.fields.get("consent", "")).strip(),
    )  # fmt: skip
    visit.store.note(visit.here.id, "admin", "settings", changed.as_dict())
    return _to(visit, "settings")


def _import(visit: Visit) -> Leads:
    return exports.take_in(visit) or _to(visit, "items")


def _import_answers(visit: Visit) -> Leads:
    exports.take_in_answers(visit)
    return _to(visit, "judges")


_ACTS: Mapping[str, Callable[[Visit], Any]] = {
    "invite": _invite, "withdraw": _withdraw, "leave-out": _leave_out, "erase": _erase,
    "retire": _retire, "close": _close, "settings": _settings, "import": _import,
    "import-answers": _import_answers,
}  # fmt: skip


def _qr(link: str) -> tuple[int, str] | None:
    """The modules on a side of a QR code, and its dark ones as the path of an SVG."""
    if not link.startswith("http"):  # none, or the token of a program
        return None
    rows = segno.make(link, micro=False).matrix
    dark = [f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, on in enumerate(row) if on]
    return len(rows), "".join(dark)
