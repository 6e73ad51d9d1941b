"""Scales that people use: which words, grades or intervals are in an order, and in which.

A label is recognised within a family, never across families, and every label must be: a column
with one word too many has no suggestion. And a suggestion it is, with a phrase for what was
recognised, so that a person can be asked; nothing here decides an order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["Suggestion", "order_to_state", "suggest"]


class Suggestion(NamedTuple):
    """An order for somebody to confirm.

    Attributes
    ----------
    order : tuple
        The labels as they were given, lowest first.
    what : str
        What was recognised, such as ``"a scale of agreement"``.
    """

    order: tuple[Any, ...]
    what: str


def suggest(labels: Iterable[Any]) -> Suggestion | None:
    """Recognise a scale that people use.

    Parameters
    ----------
    labels : iterable
        The levels; labels that are given more than once count once.

    Returns
    -------
    Suggestion or None
        None if the labels are of no scale known here, or of more than one.

    Examples
    --------
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
    """Text to type as a list of levels: the order recognised, else the labels as they are."""
    known = suggest(labels)
    if known is None:
        return f"{list(labels)} (put in order)"
    return f"{list(known.order)} (recognised: {known.what})"


def _plain(label: str) -> str:
    """A label without what varies in writing: case, blanks, hyphens between words."""
    text = label.strip().casefold().replace("’", "'").replace("–", "-")
    return re.sub(r"\s+", " ", re.sub(r"_|(?<=[a-z])[-/](?=[a-z])", " ", text))


# ---------------------------------------------------------------- words

# The place of one label within a family, or None if it is not of it; and of all labels.
Place = Callable[[str], float | None]
Places = Callable[[Sequence[str]], list[Any] | None]


def _each(place: Place) -> Places:
    """The places of labels that each have one, whatever the others are."""

    def places(labels: Sequence[str]) -> list[Any] | None:
        found = [place(label) for label in labels]
        return None if None in found else found

    return places


def _poles(up: str, down: str, middle: str = "") -> Places:
    """A scale between two opposites, each with a strength, around a middle."""
    ups, downs = up.split(" | "), down.split(" | ")
    pairs = [(a, b) for a in ups for b in downs] + [(b, a) for a in ups for b in downs]
    middles = {f"neither {a} {nor} {b}" for a, b in pairs for nor in ("nor", "or")}
    middles |= {"neutral", "neither", "undecided", "unsure", "not sure"}
    middles |= set(filter(None, middle.split(" | ")))

    def place(label: str) -> float | None:
        if label in middles:
            return 0.0
        strength, word = _strength(label)
        return strength if word in ups else -strength if word in downs else None

    return _each(place)


def _strength(label: str) -> tuple[float, str]:
    """How strongly a phrase is meant, and the word that is."""
    for modifier, value in STRENGTHS.items():
        if label.startswith(modifier + " "):
            return value, label[len(modifier) + 1 :]
    return PLAIN, label


def _graded(names: str) -> Places:
    """Scales like "not important", "somewhat important", "important", "very important"."""

    def place(name: str) -> Place:
        nots = {f"not at all {name}": -3.0, f"not {name} at all": -3.0, "not at all": -3.0,
                f"not {name}": -2.0, f"un{name}": -2.0, f"dis{name}": -2.0,
                f"not very {name}": -1.0, f"not so {name}": -1.0, f"not too {name}": -1.0,
                f"not particularly {name}": -1.0, "neutral": 0.0}  # fmt: skip

        def graded(label: str) -> float | None:
            strength, word = _strength(label)
            return strength if word == name else nots.get(label)

        return graded

    def places(labels: Sequence[str]) -> list[Any] | None:
        found = (_each(place(name))(labels) for name in names.split(" | "))
        return next((each for each in found if each is not None), None)

    return places


def _steps(text: str) -> Places:
    """A scale of fixed phrases, lowest first; ``|`` parts phrases for one step."""
    steps = [step.split("|") for step in text.split("<")]
    return _each({name.strip(): float(i) for i, step in enumerate(steps) for name in step}.get)


def _shifted(words: Mapping[str, float]) -> Places:
    """Words on both sides of zero, which "very" and the like push further from it."""

    def place(label: str) -> float | None:
        if label in words:
            return words[label]
        strength, word = _strength(re.sub(r"^v(?:ery)?(?=\w{3,}$)", "very ", label))
        value = words.get(word)
        # By less than half the way from "good" to "great".
        return value + (strength - PLAIN) / 5 * math.copysign(1, value) if value else None

    return _each(place)


# ---------------------------------------------------------------- grades and sizes


def _school(label: str) -> float | None:
    """F < D < C < B < A, each with a minus and a plus; E stands between F and D."""
    found = re.fullmatch(r"([a-f])(\+{1,2}|-{1,2})?", label)
    if not found:
        return None
    sign = found[2] or ""
    return 10.0 * (ord("f") - ord(found[1])) + 3 * sign.count("+") - 3 * sign.count("-")


BONDS = ["d", "c", "cc", "ccc", "b", "bb", "bbb", "a", "aa", "aaa"]
MOODYS = ["c", "ca", "caa", "b", "ba", "baa", "a", "aa", "aaa"]


def _bond(label: str) -> float | None:
    """Standard & Poor's letters and Fitch's, from default up."""
    found = re.fullmatch(r"(aaa|aa|a|bbb|bb|b|ccc|cc|c|d)([+-])?", label)
    if found:
        rank = BONDS.index(found[1])
        return 10.0 * rank + {"+": 3, "-": -3}.get(found[2], 0)
    return None


def _moody(label: str) -> float | None:
    """Moody's letters, where 1 is better than 3."""
    found = re.fullmatch(r"(aaa|aa|a|baa|ba|b|caa|ca|c)([123])?", label)
    if not found:
        return None
    rank = MOODYS.index(found[1])
    return 10.0 * rank - 3 * (int(found[2] or 2) - 2)


def _size(label: str) -> float | None:
    """XS < S < M < L < XL, with any number of X, or the words."""
    found = re.fullmatch(r"(\d*)(x*)([sml])", label)
    if found and not (found[3] == "m" and (found[1] or found[2])):
        extra = int(found[1]) * max(len(found[2]), 1) if found[1] else len(found[2])
        return {"s": -1.0, "m": 0.0, "l": 1.0}[found[3]] * (1 + extra)
    words = {"tiny": -3.0, "extra small": -2.0, "very small": -2.0, "small": -1.0,
             "medium": 0.0, "medium sized": 0.0, "mid": 0.0, "big": 1.0, "large": 1.0,
             "very large": 2.0, "extra large": 2.0, "very big": 2.0, "huge": 3.0,
             "one": None, "med": 0.0}  # fmt: skip
    return words.get(label)


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


# ---------------------------------------------------------------- numbers within labels

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


# ---------------------------------------------------------------- families


def _families() -> Iterator[tuple[str, Places]]:
    """What each family is called, and where it puts labels; the first that fits is taken."""
    yield "sizes, smallest first", _each(_size)
    yield "low to high", _shifted(LOW_HIGH)
    yield "a Likert scale of agreement", _poles("agree", "disagree")
    yield "poor to excellent", _shifted(POOR_GOOD)
    for up, down, middle in OPPOSITES:
        up_word, down_word = up.split(" | ")[0], down.split(" | ")[0]
        yield f"a Likert scale, {down_word} to {up_word}", _poles(up, down, middle)
    yield "a scale of degree, least first", _graded(GRADED)
    for what, steps in STEPS.items():
        yield what, _steps(steps)
    yield "school grades, worst first", _each(_school)
    yield "bond ratings, worst first", _each(_bond)
    yield "bond ratings, worst first", _each(_moody)
    yield "stages in Roman numerals", _each(_roman)
    yield "intervals of numbers", _intervals
    yield "labels that begin with a number", _leading
    yield "labels that end in a number", _following


# ---------------------------------------------------------------- vocabulary

# How strongly a word is meant; an unmodified one is 3.
PLAIN = 3.0
STRENGTHS = {
    "extremely": 5.0, "completely": 4.8, "totally": 4.8, "absolutely": 4.8, "fully": 4.8,
    "strongly": 4.5, "highly": 4.4, "very": 4.0, "v": 4.0, "much": 4.0, "quite": 3.5,
    "mostly": 2.8, "generally": 2.8, "rather": 2.5, "fairly": 2.4, "moderately": 2.2,
    "somewhat": 2.0, "tend to": 2.0, "partly": 1.8, "partially": 1.8, "slightly": 1.0,
    "a little": 1.0, "a bit": 1.0,
}  # fmt: skip

# Words on both sides of zero.
LOW_HIGH = {"none": -4.0, "lowest": -3.0, "minimal": -2.5, "minimum": -2.5, "low": -1.0,
            "lo": -1.0, "lower": -1.0, "below average": -0.7, "medium low": -0.5,
            "low medium": -0.5, "medium": 0.0, "med": 0.0, "mid": 0.0, "middle": 0.0,
            "moderate": 0.0, "average": 0.0, "intermediate": 0.0, "normal": 0.0,
            "medium high": 0.5, "high medium": 0.5, "above average": 0.7, "high": 1.0,
            "hi": 1.0, "higher": 1.0, "maximal": 2.5, "maximum": 2.5,
            "highest": 3.0}  # fmt: skip
POOR_GOOD = {"worst": -4.0, "terrible": -3.0, "awful": -2.9, "horrible": -2.9,
             "unacceptable": -2.5, "unacc": -2.5, "bad": -2.0, "poor": -1.5,
             "inadequate": -1.3, "unsatisfactory": -1.3, "below average": -1.0,
             "mediocre": -0.9, "fair": -0.5, "average": -0.1, "neutral": -0.1, "ok": 0.1,
             "okay": 0.1, "acceptable": 0.2, "acc": 0.2, "adequate": 0.2, "sufficient": 0.2,
             "satisfactory": 0.3, "above average": 0.6, "good": 1.0, "great": 1.7,
             "excellent": 2.5, "outstanding": 3.0, "exceptional": 3.0, "superb": 3.0,
             "perfect": 3.5, "best": 4.0}  # fmt: skip

# Upper pole, lower pole, and the middle between them.
OPPOSITES = [
    ("satisfied", "dissatisfied | unsatisfied", ""),
    ("likely | probable", "unlikely | improbable", "possible"),
    ("important", "unimportant", ""),
    ("positive", "negative", "zero"),
    ("better | improved", "worse | worsened", "same | the same | about the same | no change"),
    ("increase | increased", "decrease | decreased", "same | the same | no change | unchanged"),
    ("easy", "difficult | hard", ""),
    ("happy", "unhappy | sad", ""),
    ("comfortable", "uncomfortable", ""),
    ("interested", "uninterested | disinterested", ""),
    ("approve", "disapprove", ""),
    ("support", "oppose", ""),
    ("in favour | in favor | favour | favor", "against | opposed", ""),
    ("safe", "unsafe", ""),
    ("fast", "slow", ""),
    ("true", "false", ""),
    ("like", "dislike", ""),
]
# What one may be not at all, somewhat or very.
GRADED = (
    "important | likely | satisfied | concerned | confident | familiar | useful | interested | "
    "helpful | worried | happy | aware | comfortable | effective | relevant | difficult | "
    "easy | active | often | true | much"
)
# Phrases in order, lowest first; bars part phrases for one step.
STEPS = {
    "never to always": "never < almost never | hardly ever | very rarely < rarely | seldom < "
    "occasionally | once in a while < sometimes < often | frequently | regularly < usually | "
    "very often | very frequently | most of the time < almost always | nearly always < always",
    "how often, least first": "never < yearly | once a year < monthly | once a month < "
    "weekly | once a week < daily | every day < hourly",
    "none to severe": "none | no | absent | healthy < trace | minimal | very mild < mild | "
    "slight < moderate < moderately severe < severe | marked | serious < very severe | "
    "critical | extreme < fatal | death",
    "a scale of degree, least first": "not at all | none < slightly | a little | "
    "a little bit < somewhat | moderately | to some extent < quite a bit | considerably < "
    "very | very much | a lot < extremely | a great deal | completely",
    "ordinal numbers": "first | 1st < second | 2nd < third | 3rd < fourth | 4th < fifth | "
    "5th < sixth | 6th < seventh | 7th < eighth | 8th < ninth | 9th < tenth | 10th",
    "primary to tertiary": "none | no schooling < primary < secondary < tertiary < quaternary",
    "education, least first": "none | no schooling | illiterate < primary | primary school | "
    "elementary | elementary school < middle school | secondary < high school | "
    "secondary school < some college | vocational < college | university | bachelor | "
    "bachelor's | bachelors < master | master's | masters < doctorate | phd | doctoral",
    "no to yes": "no | definitely not | definitely no < probably not | probably no < maybe | "
    "perhaps | unsure | undecided | possibly < probably | probably yes < yes | definitely | "
    "definitely yes",
    "cold to hot": "freezing < very cold < cold < cool < lukewarm < warm < hot < very hot",
    "beginner to expert": "none < novice < beginner < elementary < intermediate < "
    "upper intermediate < advanced < proficient < expert < master",
    "bronze to platinum": "iron < bronze < silver < gold < platinum < diamond",
    "young to old": "infant < child < adolescent | teenager < young | young adult | youth < "
    "middle aged | middle age | adult < old | elderly | senior < very old",
    "thin to fat": "underweight < normal | normal weight < overweight < obese < severely obese",
    "light to heavy": "very light < light < medium < heavy < very heavy",
    "short to long": "very short < short < medium < long | tall < very long | very tall",
    "fewest first": "none < one < two < three < four < five < six < seven < eight < nine < ten",
}
