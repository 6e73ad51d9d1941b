r"""Text from data, made safe to print: control characters shown as escapes such as ``\x1b``."""

from __future__ import annotations

import re

__all__ = ["ACTIVE", "visible"]

# Characters that act on a terminal or cannot be encoded: C0, DEL and C1 controls, line and
# paragraph separators, overrides and isolates of the writing direction, lone surrogates.
ACTIVE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, keep: str = "") -> str:
    r"""Text whose control characters are shown as escapes, except those in `keep`.

    Examples
    --------
    >>> print(visible("\x1b[2Jlow\u202e\n", keep="\n"), end="")
    \x1b[2Jlow\u202e
    """

    def shown(found: re.Match[str]) -> str:
        character = found[0]
        return character if character in keep else character.encode("unicode_escape").decode()

    return ACTIVE.sub(shown, text)
