"""Programs as judges: questions and answers as JSON, with a token in a header."""

from __future__ import annotations

from typing import Any

from ..panel.served_store import BatchAnswer
from ..panel.set_questions import LARGEST, LEVELS, OddAnswerError, read_answer
from .judge_pages import ENDS
from .visits import RefusedError, Visit

__all__ = ["answers", "question"]

MOST = 1000  # answers at once


def question(visit: Visit) -> dict[str, Any]:
    """The next question for a program."""
    turn = visit.store.turn(visit.me, None)
    if turn.asked is None:
        return {"question": None, "reason": ENDS[turn.reason][1]}
    asked, known = turn.asked, visit.here.items
    shown = [
        {"item": known[i].key, "title": known[i].title, "text": known[i].text}
        for i in asked.items
    ]
    head = {"question": visit.here.question, "shown": asked.id, "kind": asked.kind}
    if asked.kind == "pair":
        return {**head, "left": shown[0], "right": shown[1]}
    levels = {"levels": LEVELS} if asked.kind == "rating" else {}
    return {**head, "items": shown, **levels}


def answers(visit: Visit) -> dict[str, Any]:
    """Take several answers; one that was sent before is known by its key and not doubled."""
    if visit.me.kind != "program":
        raise RefusedError(403, "This link belongs to a person; ask for a token for programs.")
    if visit.me.withdrawn or visit.here.closed:
        raise RefusedError(403, "This study is closed.")
    sent = visit.fields.get("answers")
    if not isinstance(sent, list) or len(sent) > MOST:
        raise RefusedError(400, f"Send answers as a list of {MOST} at most.")
    given = [_given(visit, each, k) for k, each in enumerate(sent)]
    found = visit.store.append_batch(visit.me, given)
    return {"answers": [{"client_key": key, "id": number} for key, number in found]}


def _given(visit: Visit, sent: Any, place: int) -> BatchAnswer:
    """One answer as it was sent, checked."""
    where = f"Answer {place}"
    if not isinstance(sent, dict):
        raise RefusedError(400, f"{where} is not an object.")
    key = sent.get("client_key")
    if not isinstance(key, str) or not 1 <= len(key) <= 100:
        raise RefusedError(400, f"{where} needs a client_key of 1 to 100 characters.")
    seconds = sent.get("seconds")
    if seconds is not None and not (isinstance(seconds, int | float) and 0 <= seconds < 1e6):
        raise RefusedError(400, f"{where} has seconds that are not a number, 0 or more.")
    kind, settings = sent.get("kind", "pair"), visit.here.settings
    if kind != settings.kind:
        raise RefusedError(
            400, f"{where} is of the kind {kind!r}, and this study asks {settings.kind!r}."
        )
    numbers = {each.key: each.id for each in visit.here.items.values()}
    value = sent.get("value", 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise RefusedError(400, f"{where} has a value that is not a whole number.")
    if kind != "pair":
        return _given_of_set(visit, sent, where, BatchAnswer(key, 0, 0, value, seconds, kind))
    left, right = (numbers.get(str(sent.get(side))) for side in ("left", "right"))
    if left is None or right is None or left == right:
        raise RefusedError(400, f"{where} does not name two items of the study.")
    if (
        "value" not in sent
        or abs(value) > settings.grades
        or (value == 0 and not settings.ties)
    ):
        raise RefusedError(400, f"{where} has a value that is not an answer of this study.")
    return BatchAnswer(key, left, right, value, seconds)


def _given_of_set(visit: Visit, sent: Any, where: str, found: BatchAnswer) -> BatchAnswer:
    """An answer about a set, or a rating, checked as those of people are."""
    names = {"best-worst": "items", "order": "order", "rating": "item"}[found.kind]
    given = [sent.get(names)] if found.kind == "rating" else sent.get(names)
    numbers = {each.key: each.id for each in visit.here.items.values()}
    known = isinstance(given, list) and [numbers.get(str(name)) for name in given]
    least, most = (1, 1) if found.kind == "rating" else (2, LARGEST)
    if not known or None in known or not least <= len(set(known)) == len(known) <= most:
        count = "an item" if found.kind == "rating" else f"{least} to {most} items"
        raise RefusedError(400, f"{where} must name {count} of the study as {names!r}.")
    items = tuple(each for each in known if each is not None)
    detail: dict[str, Any] = {"order": list(items)}
    if found.kind == "order":  # the best first is not how they were shown
        items = tuple(sorted(items))
    if found.kind == "best-worst":
        detail = {name: numbers.get(str(sent.get(name))) for name in ("best", "worst")}
    found = found._replace(left=items[0], right=items[-1], items=items, detail=detail)
    try:
        read_answer(found.kind, items, (found.left, found.right), found.value, detail)
    except OddAnswerError as problem:
        raise RefusedError(400, f"{where} does not fit: {problem}") from None
    return found
