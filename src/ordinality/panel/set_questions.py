"""Questions about sets of items: the best and the worst, an order; and ratings of one item.

The model learns from pairs. An answer about a set is therefore read as the pairs that it
compares, each with a weight below one: pairs of one set share the noise of its items, and with
the weight one the intervals would be too narrow (`tables.comparisons`). Ratings are learnt as
ratings.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple, Protocol

from .._answer_sets import best_worst_pairs, order_pairs, set_weight

__all__ = [
    "KINDS",
    "LARGEST",
    "LEVELS",
    "QUESTIONS",
    "SMALLEST",
    "OddAnswerError",
    "SetAnswer",
    "compared_in",
    "extensions",
    "is_set",
    "item_key",
    "pairs_within",
    "read_answer",
    "set_of",
    "size_of",
    "stored_kind",
    "weight_in",
]

# Kinds of question, with what is asked unless the study says otherwise.
QUESTIONS = {
    "pair": "Which is better?",
    "best-worst": "Which is the best, and which is the worst?",
    "rating": "How good is this?",
    "order": "Which order is right, the best first?",
}
KINDS = tuple(QUESTIONS)
BEST_WORST = 4  # items of a question for the best and the worst
SMALLEST, LARGEST = 3, 5  # items of a question for an order
LEVELS = (1, 2, 3, 4, 5)  # of ratings
TRIED = 30  # sets around one pair that are looked at


class OddAnswerError(ValueError):
    """An answer that does not fit its question; the message is for the judge."""


class SetAnswer(NamedTuple):
    """An answer as it is stored."""

    value: int | None  # of the pair that the question began with: None if it is not compared
    detail: dict[str, Any]


class _Given(Protocol):
    """An answer of any kind, as rows of the store and values made of them have it."""

    @property
    def kind(self) -> str: ...
    @property
    def left(self) -> Any: ...
    @property
    def right(self) -> Any: ...
    @property
    def value(self) -> Any: ...
    @property
    def detail(self) -> Any: ...


def stored_kind(kind: str) -> str:
    """A kind of question as the kind of its answers is stored."""
    return kind.replace("-", "_")


def is_set(kind: str) -> bool:
    """Whether answers of a kind, of a question or as it is stored, are about sets."""
    return stored_kind(kind) in ("best_worst", "order")


def size_of(kind: str, size: int) -> int:
    """Number of items of a question; ``size`` is that of an order."""
    return {"pair": 2, "rating": 1, "best-worst": BEST_WORST}.get(kind, size)


# ---------------------------------------------------------------- answers


def read_answer(
    kind: str, items: Sequence[int], sides: tuple[int, int | None], value: int, detail: Any
) -> SetAnswer:
    """What a judge said of the items that were shown, checked.

    ``sides`` is the pair that the question began with. ``detail`` has ``best`` and ``worst``,
    or ``order``, the best first; a rating is the ``value``.
    """
    sent: Mapping[str, Any] = detail or {}
    if kind == "rating":
        if value not in LEVELS:
            raise OddAnswerError(f"Choose a number from {LEVELS[0]} to {LEVELS[-1]}.")
        return SetAnswer(value, {"items": list(items)})
    read = _read_best_worst if stored_kind(kind) == "best_worst" else _read_order
    found = {"items": list(items), **read(items, sent)}
    better = set(_pairs_of(stored_kind(kind), found))
    left, right = sides
    first = 1 if (left, right) in better else -1 if (right, left) in better else None
    return SetAnswer(first, found)


def _read_best_worst(items: Sequence[int], sent: Mapping[str, Any]) -> dict[str, Any]:
    best, worst = sent.get("best"), sent.get("worst")
    if best not in items or worst not in items:
        if best in items or worst in items:
            missing = "best" if worst in items else "worst"
            raise OddAnswerError(f"Choose the {missing} as well.")
        raise OddAnswerError("Choose the best and the worst.")
    if best == worst:
        raise OddAnswerError("The best and the worst must be different items.")
    return {"best": best, "worst": worst}


def _read_order(items: Sequence[int], sent: Mapping[str, Any]) -> dict[str, Any]:
    order = sent.get("order") or ()
    if len(order) != len(items) or set(order) != set(items):
        raise OddAnswerError("The order must name every item of the question once.")
    return {"order": list(order)}


def _pairs_of(kind: str, detail: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Pairs that an answer about a set compares, the better item first."""
    if kind == "best_worst":
        return best_worst_pairs(detail["items"], detail["best"], detail["worst"])
    return order_pairs(detail["order"])


def set_of(compared: Sequence[tuple[int, int, int]]) -> tuple[str, SetAnswer]:
    """The kind of question, and the answer, that compares these pairs: of `compared_in`."""
    wins, place = Counter[int](), Counter[int]()
    for left, right, said in compared:
        wins.update({left: int(said > 0), right: int(said < 0)})
        place.update({left: -1, right: 1})
    items, q = sorted(place, key=place.__getitem__), len(place)
    order = [item for item, _ in wins.most_common()]
    for kind, sent in (
        ("order", {"order": order}),
        ("best-worst", {"best": order[0], "worst": order[-1]}),
    ):
        if 2 <= q <= LARGEST:
            found = read_answer(kind, items, (items[0], items[1]), 0, sent)
            pairs = _pairs_of(stored_kind(kind), found.detail)
            given = [(a, b) if said > 0 else (b, a) for a, b, said in compared if said]
            if sorted(pairs) == sorted(given) and len(given) == len(compared):
                return kind, found
    raise OddAnswerError("These pairs are no order, and no best and worst.")


def compared_in(given: _Given) -> list[tuple[int, int, int]]:
    """Pairs that an answer compares, as left and right item and what was said of them.

    Of a set the left item is the one that was shown before the other. A rating has no pairs.
    """
    if given.kind == "pair":
        return [(given.left, given.right, int(given.value or 0))]
    if not is_set(given.kind):
        return []
    place = {item: k for k, item in enumerate(given.detail["items"])}
    return [
        (better, worse, 1) if place[better] < place[worse] else (worse, better, -1)
        for better, worse in _pairs_of(given.kind, given.detail)
    ]


def weight_in(given: _Given) -> float:
    """Weight of each pair of an answer, as `tables.comparisons` has it."""
    if not is_set(given.kind):
        return 1.0
    kind = "best-worst" if given.kind == "best_worst" else "ranking"
    return set_weight(kind, len(given.detail["items"]))


# ---------------------------------------------------------------- what is asked


def pairs_within(items: Sequence[int]) -> Iterator[tuple[int, int]]:
    """All pairs of some items, the smaller number first."""
    return combinations(sorted(items), 2)


def item_key(items: Sequence[int]) -> tuple[int, int]:
    """Two of the items of a question that stand for all of them in a reservation.

    The same set has the same two; which, a hash says, so that different sets seldom share them.
    """
    known = sorted(items)
    if len(known) < 2:
        return known[0], known[0]
    pairs = list(combinations(known, 2))
    digest = hashlib.sha256("/".join(map(str, known)).encode()).digest()
    return pairs[int.from_bytes(digest[:7]) % len(pairs)]


def extensions(
    pair: tuple[int, int],
    others: Sequence[int],
    size: int,
    worth: Callable[[int], Any],
    draws: random.Random,
) -> Iterator[tuple[int, ...]]:
    """Sets of a size around a pair, those with the items of the largest worth first.

    The items of each are in random order, as they will be shown.
    """
    ranked = sorted(others, key=worth, reverse=True)
    count = min(size - 2, len(ranked))
    for more in islice(combinations(ranked, count), TRIED):
        shown = [*pair, *more]
        draws.shuffle(shown)
        yield tuple(shown)
