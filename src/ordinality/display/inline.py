"""Figures as SVG elements for a page: no prolog, unique ids, no external references."""

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
    """Draw on new axes and return the figure as an SVG element.

    Text is drawn as paths, so that the figure looks the same everywhere and labels from a
    table are never read as markup; dollar signs in them do not begin a formula.

    Parameters
    ----------
    draw : callable
        Called with matplotlib axes.
    name : str
        Prefix of the ids in the element, different for every figure of a page.
    size : tuple of two floats, default=(5.2, 3.4)
        Width and height in inches.

    Returns
    -------
    str
        The element, from ``<svg`` to ``</svg>``.

    Examples
    --------
    >>> svg = inline_svg(lambda ax: ax.plot([0, 1], [0, 1]), "line")
    >>> svg.startswith("<svg"), 'id="line-axes_1"' in svg
    (True, True)
    """
    import matplotlib
    from matplotlib.figure import Figure

    written = io.StringIO()
    # A fixed salt: the same figure gives the same text.
    with (
        matplotlib.rc_context(
            {"svg.hashsalt": name, "svg.fonttype": "path", "text.parse_math": False}
        ),
        warnings.catch_warnings(),
    ):
        # A character that is not in the font is drawn as a box.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=size, layout="constrained")  # not pyplot: nothing to close
        draw(figure.add_subplot())
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    svg = written.getvalue()
    svg = re.sub(r"<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
