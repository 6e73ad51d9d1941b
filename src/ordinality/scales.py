"""Rating scales in common use: which words, grades or intervals have an order, and which.

Labels are recognised within one family, never across families, and only if all of them are. The
result is a suggestion, with a phrase for what was recognised, for a person to confirm.

The words are in ``scales.json``, where a bar separates phrases for one place on a scale.
"signed" words lie on both sides of zero; "opposites" list the upper pole, the lower pole and
the middle; "steps" begin with the lowest; "grades" list letters, worst first, and their signs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Suggestion", "order_to_state", "suggest"]


class Suggestion(NamedTuple):
    """An order for a person to confirm.

    Parameters
    ----------
    order : tuple
        The labels as they were given, lowest first.
    what : str
        What was recognised.

    Examples
    --------
    >>> from ordinality.tables import suggest
    >>> suggest(["yes", "no"]).order
    ('no', 'yes')
    """

    order: tuple[Any, ...]
    what: str


def suggest(labels: Iterable[Any]) -> Suggestion | None:
    """Recognise a rating scale in common use.

    Parameters
    ----------
    labels : iterable
        The levels; labels that are given more than once count once.

    Returns
    -------
    Suggestion or None
        None if no known scale contains all the labels.

    Examples
    --------
    >>> from ordinality.tables import suggest
    >>> suggest(["High", "very low", "Medium", "low"])
    Suggestion(order=('very low', 'low', 'Medium', 'High'), what='low to high')
    >>> suggest(["B+", "A", "B-", "C"])
    Suggestion(order=('C', 'B-', 'B+', 'A'), what='school grades, worst first')
    >>> suggest(["red", "green"]) is None
    True
    """
    found = list(dict.fromkeys(labels))
    if len(found) < 2 or not all(isinstance(label, str) for label in found):
        return None
    plain = [_plain(label) for label in found]
    for what, places in _families():
        known = places(plain)
        # Two labels in one place, "ok" and "okay", are not known to be in an order.
        if known is not None and len(set(known)) == len(found):
            in_order = sorted(range(len(found)), key=known.__getitem__)
            return Suggestion(tuple(found[i] for i in in_order), what)
    return None


def order_to_state(labels: Sequence[str]) -> str:
    """Text for a list of levels: the recognised order, else the labels as they are."""
    known = suggest(labels)
    if known is None:
        return f"{list(labels)} (put in order)"
    return f"{list(known.order)} (recognised: {known.what})"


def _plain(label: str) -> str:
    """A label in lower case, with single blanks, and without hyphens between words."""
    text = label.strip().casefold().replace("’", "'").replace("–", "-")
    return re.sub(r"\s+", " ", re.sub(r"_|(?<=[a-z])[-/](?=[a-z])", " ", text))


# The place of one label within a family, or None if it has none; and the places of all labels.
Place = Callable[[str], float | None]
Places = Callable[[Sequence[str]], list[Any] | None]
Words = Mapping[str, float]


@cache
def _families() -> list[tuple[str, Places]]:
    """What each family is called, and where it puts labels; the first that fits is taken."""
    known = json.loads(Path(__file__).with_name("scales.json").read_text("utf-8"))
    sizes, strengths, middles = known["sizes"], known["strengths"], known["middles"]
    words: list[tuple[str, Words]] = []
    for what, places in known["signed"].items():
        words.append((what, _signed(places, strengths)))
    for what, poles in known["opposites"].items():
        words.append((what, _opposites(strengths, middles, *poles)))
    for name in known["degrees"]:
        negated = {text.format(name): value for text, value in known["negations"].items()}
        degrees = negated | _modified({name: PLAIN}, strengths)
        words.append(("a scale of degree, least first", degrees))
    for what, steps in known["steps"].items():
        names = {name: float(i) for i, step in enumerate(steps) for name in step.split(" | ")}
        words.append((what, names))
    for what, letters, signs in known["grades"]:
        ranks = enumerate(letters.split())
        words.append((what, {a + b: 10 * i + signs[b] for i, a in ranks for b in signs}))
    return [
        ("sizes, smallest first", _each(lambda label: sizes.get(label, _size(label)))),
        *((what, _each(places.get)) for what, places in words),
        ("stages in Roman numerals", _each(_roman)),
        ("intervals of numbers", _intervals),
        ("labels that begin with a number", _leading),
        ("labels that end in a number", _following),
    ]


def _each(place: Place) -> Places:
    """The places of labels that each have one, whatever the others are."""

    def places(labels: Sequence[str]) -> list[Any] | None:
        found = [place(label) for label in labels]
        return None if None in found else found

    return places


PLAIN = 3.0  # the strength of a word without a modifier


def _modified(words: Words, strengths: Words) -> dict[str, float]:
    """Words of strength `PLAIN` and their opposites, bare and with each modifier."""
    pairs = product(words.items(), strengths.items())
    modified = {f"{m} {word}": math.copysign(s, value) for (word, value), (m, s) in pairs}
    return {**words, **modified}


def _opposites(
    strengths: Words, middles: Sequence[str], up: str, down: str, middle: str = ""
) -> Words:
    """A scale between two opposites, each with a strength, around a middle."""
    ups, downs = up.split(" | "), down.split(" | ")
    poles = dict.fromkeys(ups, PLAIN) | dict.fromkeys(downs, -PLAIN)
    pairs = [*product(ups, downs), *product(downs, ups)]
    between = [f"neither {a} {nor} {b}" for a, b in pairs for nor in ("nor", "or")]
    named = middle.split(" | ") if middle else []
    return _modified(poles, strengths) | dict.fromkeys([*middles, *between, *named], 0.0)


def _signed(words: Words, strengths: Words) -> Words:
    """Words on both sides of zero, which "very" and the like move further from it."""
    places: dict[str, float] = {}
    for (word, value), (modifier, strength) in product(words.items(), strengths.items()):
        if value:
            # By less than half the way from "good" to "great".
            moved = value + (strength - PLAIN) / 5 * math.copysign(1, value)
            places[f"{modifier} {word}"] = moved
            if modifier == "very" and re.fullmatch(r"\w{3,}", word):
                places[f"v{word}"] = places[f"very{word}"] = moved
    return {**places, **words}


def _size(label: str) -> float | None:
    """XS < S < M < L < XL, with any number of X."""
    found = re.fullmatch(r"(\d*)(x*)([sml])", label)
    if not found or (found[3] == "m" and (found[1] or found[2])):
        return None
    extra = int(found[1]) * max(len(found[2]), 1) if found[1] else len(found[2])
    return {"s": -1.0, "m": 0.0, "l": 1.0}[found[3]] * (1 + extra)


def _roman(label: str) -> float | None:
    """I < II < III < IV, perhaps called stages, with a, b, c within each."""
    found = re.fullmatch(
        r"(?:(?:stage|grade|class|phase|level|nyha) )*(x|ix|iv|v?i{0,3})([abc])?", label
    )
    if not found or not found[1]:
        return None
    numeral = found[1].replace("ix", "viiii").replace("iv", "iiii")
    value = 10 * ("x" in numeral) + 5 * ("v" in numeral) + numeral.count("i")
    return value + 0.2 * " abc".index(found[2] or " ")


NUMBER = r"([+-]?\d+(?:[.,]\d+)?)"
UNIT = r" ?([a-z%°]*)"
BELOW = r"(?:<=?|≤|under|below|less than|up to|at most|fewer than)"
ABOVE = r"(?:>=?|≥|over|above|more than|at least)"
OR_LESS = r"(?:or less|or fewer|or under|and under|or below|and below|or lower|and less)"
OR_MORE = r"(?:\+|plus|more|or more|and more|or over|and over|or above|and above|or higher)"
FORMS = [  # pattern, and which of its numbers begins and ends the interval
    (rf"{BELOW} ?{NUMBER}{UNIT}", (None, 0)),
    (rf"{NUMBER}{UNIT} ?{OR_LESS}", (None, 0)),
    (rf"{ABOVE} ?{NUMBER}{UNIT}", (0, None)),
    (rf"{NUMBER}{UNIT} ?{OR_MORE}", (0, None)),
    (
        rf"[\[(]?{NUMBER}{UNIT} ?(?:-|to|,|;|and|until) ?{NUMBER}{UNIT}[\])]?",
        (0, 1),
    ),
    (rf"{NUMBER}{UNIT}", (0, 0)),
]


def _intervals(labels: Sequence[str]) -> list[Any] | None:
    """Intervals that do not overlap, all in one unit: "<10", "10-20", "20 or more"."""
    found: list[tuple[float, float] | None] = []
    units: set[str] = set()
    for label in labels:
        if label in ("none", "zero", "no"):
            found.append((0.0, 0.0))
            continue
        interval, named = _interval(label)
        units |= named
        found.append(interval)
    known = sorted(interval for interval in found if interval is not None)
    touching = pairwise(known)
    if len(known) < len(labels) or len(units) > 1 or any(a[1] > b[0] for a, b in touching):
        return None
    return found


def _interval(label: str) -> tuple[tuple[float, float] | None, set[str]]:
    """Ends of an interval, and the units that it names."""
    bare = re.sub(r"[$€£] ?", "", label)
    for pattern, (start, end) in FORMS:
        match = re.fullmatch(pattern, bare)
        if match:
            values = [float(text.replace(",", ".")) for text in match.groups()[::2]]
            named = {unit.removesuffix("s") for unit in match.groups()[1::2] if unit}
            lower = -math.inf if start is None else values[start]
            return (lower, math.inf if end is None else values[end]), named
    return None, set()


def _leading(labels: Sequence[str]) -> list[Any] | None:
    """Labels such as "1 - bad", "2: fair", "3 (good)", "4", by the number that leads."""
    led = [re.fullmatch(rf"{NUMBER}(?: ?[-:.)=] ?| ?\()(?=[^\d\s]).*", each) for each in labels]
    alone = [re.fullmatch(NUMBER, each) for each in labels]
    found = [a or b for a, b in zip(led, alone, strict=True)]
    if not any(led) or not all(found):
        return None
    return [float(match[1].replace(",", ".")) for match in found if match]


def _following(labels: Sequence[str]) -> list[Any] | None:
    """Labels such as "level 1", "level 2", by the number that follows the same word."""
    found = [re.fullmatch(r"([a-z][a-z ]*?) ?(\d+(?:\.\d+)?)", label) for label in labels]
    if not all(found) or len({match[1] for match in found if match}) > 1:
        return None
    return [float(match[2]) for match in found if match]
