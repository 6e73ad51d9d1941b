"""A drawing as SVG that can stand in a page: no prolog, names of its own, nothing to fetch."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["inline_svg"]


def inline_svg(
    draw: Callable[[Any], Any], name: str, *, size: tuple[float, float] = (5.2, 3.4)
) -> str:
    """Draw on fresh axes and return the picture as an SVG element.

    Letters are drawn as paths, so that the picture looks alike everywhere and labels from a
    table are never read as markup; dollar signs in them do not begin a formula.

    Parameters
    ----------
    draw : callable
        Called with matplotlib axes.
    name : str
        Prefix of the element's names, different for every picture of a page.
    size : tuple of two floats
        Width and height in inches.

    Examples
    --------
    >>> svg = inline_svg(lambda ax: ax.plot([0, 1], [0, 1]), "line")
    >>> svg.startswith("<svg"), 'id="line-axes_1"' in svg
    (True, True)
    """
    import matplotlib
    from matplotlib.figure import Figure

    written = io.StringIO()
    # A salt instead of a random number: the same picture is the same text.
    with (
        matplotlib.rc_context(
            {"svg.hashsalt": name, "svg.fonttype": "path", "text.parse_math": False}
        ),
        warnings.catch_warnings(),
    ):
        # A character that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=size, layout="constrained")  # not pyplot: nothing to close
        draw(figure.add_subplot())
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    svg = written.getvalue()
    svg = re.sub(r"<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
