"""Results as pages show them: the newest summary of the model, and answers from the store."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..panel.managed_store import ManagedStore
from ..panel.served_store import JudgeRecord, ServedStudy
from ..panel.set_questions import LEVELS
from .views import AdminView, RankingView, TrustView
from .visits import Visit

__all__ = [
    "beside_expected",
    "head_of",
    "own_answers",
    "ranking_view",
    "said",
    "summary_of",
    "trust_view",
]

SIDE = 1.645  # standard deviations on each side of a mean: 90 % of a normal


def summary_of(store: ManagedStore, study_id: int) -> Mapping[str, Any]:
    """What the model says of a study; empty if it has said nothing yet."""
    return store.summary(study_id)


def head_of(visit: Visit, page: str) -> AdminView:
    """What all pages of the admin about a study have."""
    task, found = visit.here, visit.store.summary(visit.here.id)
    notes, answers = list(found.get("notes", ())), visit.store.count_answers(task.id)
    if not visit.store.model_runs():
        notes.append(
            "The model process is not running: answers are kept, and random pairs are asked."
        )
    elif found and answers - found["answers"] > max(50, answers // 10):
        notes.append(f"This knows {found['answers']} of {answers} answers; more will come.")
    return AdminView(task.slug, task.question, page, visit.form, answers, tuple(notes))


def own_answers(
    store: ManagedStore, task: ServedStudy, of: JudgeRecord
) -> list[dict[str, Any]]:
    """What a judge has answered, newest first."""
    title = {i: each.title for i, each in task.items.items()}
    return [
        {
            "items": [title[i] for i in given.items], "said": said(given, title),
            "seconds": given.seconds,
        }
        for given in reversed(store.answers(task.id, every_kind=True))
        if given.judge == of.name
    ]  # fmt: skip


def said(given: Any, title: Mapping[int, str]) -> str:
    """An answer in words."""
    if given.kind == "skip":
        return "skipped"
    detail = given.detail
    if given.kind == "best_worst":
        return f"best: {title[detail['best']]}; worst: {title[detail['worst']]}"
    if given.kind == "order":
        return ", ".join(f"{k}. {title[i]}" for k, i in enumerate(detail["order"], 1))
    if given.kind == "rating":
        return f"{given.value} of {LEVELS[-1]}"
    if given.value == 0:
        return "about equal"
    better = title[given.left if given.value > 0 else given.right]
    return f"{better} is {'much ' if abs(given.value) > 1 else ''}better"


def beside_expected(given: Any, wanted: int) -> dict[str, float | None]:
    """How probable an answer was when it was asked for, and its residual for one item.

    The residual is in standard deviations, and above zero if the item did better than expected.
    None for both where nothing was expected, or another kind of answer.
    """
    # A few lines without numpy: the server starts without numerics.
    proba = given.extra.get("proba")
    none: dict[str, float | None] = {"expected": None, "residual": None}
    if given.kind != "pair" or not proba:
        return none
    half, total = len(proba) // 2, sum(proba)  # they were rounded
    levels = [k for k in range(-half, half + 1) if k or len(proba) % 2]  # odd: with a tie
    p = dict(zip(levels, (each / total for each in proba), strict=True))
    if given.value not in p:
        return none
    mean = sum(k * share for k, share in p.items())
    error = math.sqrt(sum((k - mean) ** 2 * share for k, share in p.items()))
    side = 1.0 if given.left == wanted else -1.0
    residual = side * (given.value - mean) / error if error > 0.0 else None
    return {"expected": p[given.value], "residual": residual}


def ranking_view(visit: Visit) -> RankingView:
    """The ranking of the newest snapshot."""
    task, found = visit.here, visit.store.summary(visit.here.id)
    head = head_of(visit, "ranking")
    if not found:
        sentence = "There is no ranking yet; it comes some seconds after the first answers."
        return RankingView(head, sentence, "", task.settings.top, ())
    return RankingView(
        head, found["sentence"], found["made"], found["top"],
        tuple(_rows(found["items"], task)), tuple(found.get("beside", ())),
        found["short"], found["trust"]["contradicted"],
        tuple(_drawn(found.get("worths", ()), "worth")),
    )  # fmt: skip


def _rows(rows: list[dict[str, Any]], task: ServedStudy) -> list[dict[str, Any]]:
    """Places with the titles of their items."""
    return [
        {**row, "item": task.items[row["id"]].title}
        for row in _drawn(rows, "utility")
        if row["id"] in task.items
    ]


def _drawn(rows: Sequence[Mapping[str, Any]], what: str) -> list[dict[str, Any]]:
    """Rows with the interval of a number as shares of the widest of all."""
    if not rows:
        return []
    low = min(row[what] - SIDE * row["sd"] for row in rows)
    wide = max(row[what] + SIDE * row["sd"] for row in rows) - low or 1.0
    return [
        {
            **row,
            "low": (row[what] - SIDE * row["sd"] - low) / wide,
            "middle": (row[what] - low) / wide,
            "high": (row[what] + SIDE * row["sd"] - low) / wide,
            "least": row[what] - SIDE * row["sd"],
            "most": row[what] + SIDE * row["sd"],
        }
        for row in rows
    ]


def trust_view(visit: Visit) -> TrustView:
    """How far the ranking can be trusted, from the newest snapshot."""
    found, head = visit.store.summary(visit.here.id), head_of(visit, "trust")
    if not found:
        sentence = "Nothing can be said yet; it comes some seconds after the first answers."
        return TrustView(head, sentence, False, {}, (), None, None, None, {})
    trust = found["trust"]
    return TrustView(
        head, found["sentence"], trust["contradicted"], trust["checks"], tuple(trust["bins"]),
        found.get("halves"), found.get("separation"), found["wrong"], trust["tests"],
    )  # fmt: skip
