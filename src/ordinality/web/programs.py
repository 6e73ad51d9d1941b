"""Programs as judges: questions and answers as JSON, with a token in a header."""

from __future__ import annotations

from typing import Any

from ..panel.served_store import BatchAnswer
from .judge_pages import ENDS
from .visits import RefusedError, Visit

__all__ = ["answers", "question"]

MOST = 1000  # answers at once


def question(visit: Visit) -> dict[str, Any]:
    """The next question for a program."""
    turn = visit.store.turn(visit.me, None)
    if turn.asked is None:
        return {"question": None, "reason": ENDS[turn.reason][1]}
    left, right = (visit.here.items[i] for i in (turn.asked.left, turn.asked.right))
    sides = {
        side: {"item": each.key, "title": each.title, "text": each.text}
        for side, each in (("left", left), ("right", right))
    }
    return {"question": visit.here.question, "shown": turn.asked.id, **sides}


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
    numbers = {each.key: each.id for each in visit.here.items.values()}
    left, right = (numbers.get(str(sent.get(side))) for side in ("left", "right"))
    if left is None or right is None or left == right:
        raise RefusedError(400, f"{where} does not name two items of the study.")
    value, settings = sent.get("value"), visit.here.settings
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or abs(value) > settings.grades
        or (value == 0 and not settings.ties)
    ):
        raise RefusedError(400, f"{where} has a value that is not an answer of this study.")
    seconds = sent.get("seconds")
    if seconds is not None and not (isinstance(seconds, int | float) and 0 <= seconds < 1e6):
        raise RefusedError(400, f"{where} has seconds that are not a number, 0 or more.")
    return BatchAnswer(key, left, right, value, seconds)
