r"""Untrusted text: control characters as escapes (``\x1b``), and the depth of parsed JSON."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["ACTIVE", "nested_deeper", "visible"]

# Characters that act on a terminal or cannot be encoded: C0, DEL and C1 controls, line and
# paragraph separators, overrides and isolates of the writing direction, lone surrogates.
ACTIVE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, keep: str = "") -> str:
    """Text with control characters replaced by escapes, except those in `keep`."""

    def shown(found: re.Match[str]) -> str:
        character = found[0]
        return character if character in keep else character.encode("unicode_escape").decode()

    return ACTIVE.sub(shown, text)


def nested_deeper(value: Any, levels: int) -> bool:
    """Whether the lists and dicts of parsed JSON are nested more than `levels` deep."""
    inside = [value]
    for _ in range(levels):  # not recursive: the data decide how deep this goes
        inside = [
            part
            for outer in inside
            for part in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(part, dict | list)
        ]
        if not inside:
            return False
    return True
