"""What is said of columns: each thing that may happen to one, in words.

A table may have thousands of columns. So what happened is kept as remarks, one for each column,
and spoken at the end: many of one kind in one sentence, the worst first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .frames import listed

__all__ = ["MANY_CATEGORIES", "Remark", "sentences"]

MANY_CATEGORIES = 50  # columns one text column may become, the one for all others included

# Kind of remark -> what is said of one column, and of several.
SAID: dict[str, tuple[str, str]] = {
    "unnamed": (
        "Left out the column without a name.",
        "Left out {count} columns without a name.",
    ),
    "empty": ("Left out {name}, which is empty.", "Left out {count} empty columns: {names}."),
    "constant": (
        "Left out {name}, which has no value but {detail}.",
        "Left out {count} columns that have one value only: {details}.",
    ),
    "names": (
        "Left out {name}, which is different in nearly every row, like a name.",
        "Left out {count} columns that are different in nearly every row, like names: {names}.",
    ),
    "dates": (
        "Left out {name}, which holds dates; as numbers, such as days, they could be used.",
        "Left out {count} columns of dates: {names}; as numbers, such as days, they could be "
        "used.",
    ),
    "nested": (
        "Left out {name}, which holds neither numbers nor categories ({detail}).",
        "Left out {count} columns that hold neither numbers nor categories: {details}.",
    ),
    "spoilt": (
        "Left out {name}, which would be numbers but for {detail}; mend or empty these cells.",
    )
    * 2,
    "odd": ("{name} is taken as numbers; {detail}.",) * 2,
    "mixed": (
        "{name} is taken as categories, because some cells are no numbers: {detail}.",
        "Taken as categories, because some cells are no numbers: {details}.",
    ),
    "holed": (
        "{name} is missing in {detail}; its median stands in, and a column marks where.",
        "Cells are missing in {details}; medians stand in, and columns mark where.",
    ),
    "gap": (
        "{name} is missing in {detail}, which is a category of its own.",
        "Cells are missing in {details}, which is a category of its own in each.",
    ),
    "categories": (
        "Encoded {name} as {detail} categories.",
        "Encoded as categories: {details}.",
    ),
    "many": (
        f"Encoded {{name}} as its {MANY_CATEGORIES - 1} commonest categories, and the others "
        "of {detail} as one.",
    )
    * 2,
    "counter": (
        "{name} counts the rows; leave it out if it only names them.",
        "{count} columns count the rows: {names}; leave them out if they only name them.",
    ),
}
SEPARATELY = {"spoilt", "odd", "many"}  # each column has its own story


class Remark(NamedTuple):
    """Something that happened to one column: a kind of `SAID`, the column, and particulars."""

    kind: str
    name: str
    detail: str = ""


def sentences(remarks: Iterable[Remark]) -> list[str]:
    """Remarks in words, those of one kind together.

    Parameters
    ----------
    remarks : iterable of Remark

    Examples
    --------
    >>> sentences([Remark("constant", "b", "7"), Remark("empty", "a"), Remark("empty", "c")])
    ['Left out 2 empty columns: a, c.', 'Left out b, which has no value but 7.']
    """
    found = list(remarks)
    said: list[str] = []
    for kind in SAID:
        alike = [remark for remark in found if remark.kind == kind]
        said += _said(kind, alike) if alike else []
    return said


def _said(kind: str, alike: list[Remark]) -> list[str]:
    one, several = SAID[kind]
    if len(alike) == 1 or kind in SEPARATELY:
        return [one.format(name=r.name, detail=r.detail) for r in alike]
    names = listed([r.name for r in alike])
    details = listed([f"{r.name} ({r.detail})" for r in alike])
    return [several.format(count=f"{len(alike):,}", names=names, details=details)]
