"""What a judge sees and does: the question, the first and the last screen, own answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from ..panel.served_store import Act, Asked, ServedItem, Turn
from ..panel.set_questions import LEVELS, OddAnswerError
from .results import own_answers, ranking_view, summary_of
from .views import Card, FinishedView, MineView, PlacesView, QuestionView, WelcomeView
from .visits import Leads, RefusedError, Visit

__all__ = [
    "answer",
    "cards_of",
    "forget",
    "mine",
    "question",
    "ranking",
    "study_address",
    "welcome",
    "welcome_view",
]

VALUES = {"right2": -2, "right": -1, "equal": 0, "left": 1, "left2": 2}
RATINGS = {f"rate-{level}": level for level in LEVELS}
MOVES = ("up-", "down-")
LETTERS = "ABCDE"
SAID = {
    "saved": "Saved.",
    "skipped": "Skipped.",
    "undone": "The last answer was taken back.",
    "nothing": "There is nothing to undo.",
    "reported": "Thank you, the report was sent.",
    "already": "This was answered before.",
    "settled": "",
}
TASKS = {  # of a judge, by the kind of question
    "pair": "You see two items at a time and say which is better.",
    "best-worst": "You see four items at a time and pick the best and the worst.",
    "rating": "You see one item at a time and rate it from 1 to 5.",
    "order": "You see {} items at a time and put them in order, the best first.",
}
ENDS = {
    "quota": ("Thank you!", "You have answered all your questions."),
    "closed": ("Thank you!", "This study is closed."),
    "withdrawn": ("Your answers were deleted.", "You are no longer asked."),
    "empty": ("Thank you!", "There is nothing left to ask you."),
    "settled": ("Thank you!", ""),
}
LONGEST = 3600.0  # seconds for an answer that are believed


def study_address(visit: Visit, rest: str = "") -> str:
    """Address of the study's page for judges."""
    return f"/s/{quote(visit.here.slug, safe='')}{rest}"


# ---------------------------------------------------------------- pages


def question(visit: Visit) -> QuestionView | FinishedView | Leads:
    """The next question, or the one that is open."""
    if _must_agree(visit):
        return Leads(study_address(visit, "/start"))
    return _page(visit, visit.store.turn(visit.me, None))


def answer(visit: Visit) -> QuestionView | FinishedView | Leads:
    """Take what a judge did with a question."""
    if _must_agree(visit):
        raise RefusedError(403, "Please read and accept the first page of the study.")
    if _moves(visit):
        return _page(visit, visit.store.turn(visit.me, None))
    try:
        turn = visit.store.turn(visit.me, _act(visit))
    except OddAnswerError as problem:
        again = _page(visit, visit.store.turn(visit.me, None))
        if isinstance(again, FinishedView):
            raise RefusedError(400, str(problem)) from None
        return replace(again, problem=str(problem))
    if turn.said == "unknown":
        raise RefusedError(404, "This question is not one of yours.")
    if visit.wants_json or visit.fields.get("reply") == "page":
        return _page(visit, turn)
    said = "" if turn.said not in SAID else f"?said={turn.said}"
    return Leads(study_address(visit, said))


def welcome(visit: Visit) -> WelcomeView | Leads:
    """What, who, how long, what is stored; consent, and the start."""
    task = visit.here
    if "start" in visit.fields:
        if task.consent_version is not None and not visit.fields.get("agree"):
            raise RefusedError(400, "Please tick the box to agree, or close the page.")
        visit.store.consent(visit.me.id, task.consent_version)
        return Leads(study_address(visit))
    return welcome_view(visit, study_address(visit, "/start"), visit.form)


def welcome_view(visit: Visit, action: str, form: str) -> WelcomeView:
    """The first screen of a study, with a form that goes to an address."""
    task = visit.here
    quota = visit.judge.quota if visit.judge else None
    return WelcomeView(
        task.slug, task.question, form, task.consent_text or "", task.consent_version,
        quota if quota is not None else task.settings.quota, action,
        TASKS[task.settings.kind].format(task.settings.size),
    )  # fmt: skip


def mine(visit: Visit) -> MineView:
    """A judge's own answers."""
    rows = own_answers(visit.store, visit.here, visit.me)
    seen, paired = _sees_ranking(visit), all(len(row["items"]) == 2 for row in rows)
    task = visit.here
    return MineView(task.slug, task.question, visit.form, tuple(rows), seen, paired)


def ranking(visit: Visit) -> PlacesView:
    """The ranking, if judges may see it."""
    if not _sees_ranking(visit):
        raise RefusedError(404, "The ranking of this study is not shown.")
    found, task = ranking_view(visit), visit.here
    return PlacesView(task.slug, task.question, found.sentence, found.top, found.rows)


def forget(visit: Visit) -> Leads:
    """Delete what a judge has said."""
    if visit.fields.get("sure") != "yes":
        raise RefusedError(400, "Please tick the box to say that you are sure.")
    visit.store.erase(visit.me.id, who="judge")
    return Leads(study_address(visit))


# ---------------------------------------------------------------- what was sent


def _act(visit: Visit) -> Act:
    sent = visit.fields
    what, shown = str(sent.get("act", "")), _whole(sent.get("shown"))
    if what == "undo":
        return Act("undo", value=_whole(sent.get("undoes")))
    if what == "skip":
        return Act("skip", shown, seconds=_seconds(sent.get("seconds")))
    if what == "report":
        about = {"item": _whole(sent.get("item")), "text": str(sent.get("text", ""))[:2000]}
        return Act("report", shown, detail=about)
    taken = _seconds(sent.get("seconds"))
    if what == "best-worst":
        picked = {name: _whole(sent[name]) for name in ("best", "worst") if name in sent}
        return Act("answer", shown, 0, taken, picked, what)
    if what == "order":
        order = {"order": _order(sent.get("order"))}
        return Act("answer", shown, 0, taken, order, what)
    if what in RATINGS:
        return Act("answer", shown, RATINGS[what], taken, None, "rating")
    settings = visit.here.settings
    value = VALUES.get(what)
    if value is None or (value == 0 and not settings.ties) or abs(value) > settings.grades:
        raise RefusedError(400, "This is not an answer of this study.")
    return Act("answer", shown, value, taken, None, "pair")


def _order(sent: Any) -> list[int]:
    """Numbers of items, in an order, as a form or JSON has them."""
    numbers = sent if isinstance(sent, list) else str(sent or "").split()
    return [_whole(each) for each in numbers[: len(LETTERS)]]


def _moves(visit: Visit) -> bool:
    """Whether a judge only moves an item within an order that is not yet sent."""
    return str(visit.fields.get("act", "")).startswith(MOVES)


def _whole(sent: Any) -> int:
    try:
        number = int(str(sent))
    except ValueError:
        return 0
    return number if 0 <= number < 2**31 else 0


def _seconds(sent: Any) -> float | None:
    """Seconds that a page says an answer took, if they can be believed."""
    try:
        seconds = float(str(sent))
    except ValueError:
        return None
    return round(seconds, 3) if math.isfinite(seconds) and 0 <= seconds <= LONGEST else None


def _must_agree(visit: Visit) -> bool:
    version = visit.here.consent_version
    return version is not None and visit.me.consent_version != version


def _sees_ranking(visit: Visit) -> bool:
    return visit.here.settings.show_ranking


# ---------------------------------------------------------------- what is shown


def _page(visit: Visit, turn: Turn) -> QuestionView | FinishedView:
    task, me = visit.here, visit.me
    found = summary_of(visit.store, task.id)
    asked = turn.asked
    if asked is None:
        title, sentence = ENDS[turn.reason]
        if turn.reason == "settled":
            sentence = str(found.get("sentence", ""))
        return FinishedView(
            task.slug, task.question, visit.form, title, sentence, turn.answers,
            task.settings.thanks, task.settings.code if turn.reason == "quota" else "",
            task.settings.back, turn.undoes, _sees_ranking(visit),
        )  # fmt: skip
    quota = me.quota if me.quota is not None else task.settings.quota
    said = turn.said or visit.query.get("said", "")
    mine = _whole(visit.fields.get("shown")) == asked.id  # what was sent is about it
    sent = visit.fields if mine else {}
    order = _moved(_order(sent.get("order")), str(sent.get("act", "")))
    return QuestionView(
        slug=task.slug, question=task.question, shown=asked.id, form=visit.form,
        kind=asked.kind, levels=LEVELS if asked.kind == "rating" else (),
        picked={name: _whole(sent.get(name)) for name in ("best", "worst") if name in sent},
        moved=str(sent.get("act", "")) if _moves(visit) else "",
        cards=_in_order(cards_of(visit, asked), order),
        ties=task.settings.ties, grades=task.settings.grades,
        number=turn.answers + 1, quota=quota,
        share=None if not quota else min(1.0, turn.answers / quota),
        standing=str(found.get("short", "")) if task.settings.show_progress else "",
        said=SAID.get(said, ""), undoes=turn.undoes, see_ranking=_sees_ranking(visit),
    )  # fmt: skip


def cards_of(visit: Visit, asked: Asked) -> tuple[Card, ...]:
    """The items of a question as they are shown."""
    items = [visit.here.items[i] for i in asked.items]
    return tuple(_card(each, LETTERS[k]) for k, each in enumerate(items))


def _moved(order: list[int], act: str) -> list[int]:
    """An order with one item up or down."""
    way, _, number = act.partition("-")
    if act.startswith(MOVES) and _whole(number) in order:
        k = order.index(_whole(number))
        to = min(max(k + (-1 if way == "up" else 1), 0), len(order) - 1)
        order[k], order[to] = order[to], order[k]
    return order


def _in_order(cards: tuple[Card, ...], order: Sequence[int]) -> tuple[Card, ...]:
    """Cards in an order, if it is one of theirs."""
    if sorted(order) != sorted(card.item for card in cards):
        return cards
    return tuple(sorted(cards, key=lambda card: order.index(card.item)))


def _card(each: ServedItem, letter: str) -> Card:
    image = f"/m/{each.media_id}" if each.media_id is not None else None
    return Card(each.id, letter, each.title, each.text, image)
