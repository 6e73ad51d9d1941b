"""What all displays share: base class, colours, line styles, labels, and figures as SVG.

Ordered levels take colours whose lightness falls from the lowest to the highest, so that a grey
print keeps the order. Unordered things take the colours of Okabe and Ito, which colour-blind
readers can tell apart, and each has its line style and marker. A figure for a page is an SVG
element with no prolog, unique ids and no external references.

Okabe & Ito (2008), "Color universal design"; van der Walt & Smith (2015), viridis.
"""

from __future__ import annotations

import io
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import Any, Self

__all__ = [
    "BAD", "BLACK", "GOOD", "MARKERS", "NEUTRAL", "OTHER", "STROKES", "Display", "axes",
    "inline_svg", "level_legend", "name_ticks", "plain", "shades", "strokes", "tidy",
]  # fmt: skip

BLACK = "#000000"
GOOD, BAD, NEUTRAL = "#0072B2", "#D55E00", "#999999"  # blue, vermilion, grey
OTHER = "#E69F00"  # orange, the lightest beside blue
STROKES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")

_LONGEST = 32  # characters of a name; the middle of a longer one is left out
_LEGEND = 14  # entries that still read as a list
# The lightest yellow of viridis is hardly seen on white, and its darkest violet hides points.
_LIGHTEST, _DARKEST = 0.06, 0.94


class Display(ABC):
    """Base of all displays: keeps the matplotlib axes and figure, once drawn."""

    ax_: Any
    figure_: Any

    @abstractmethod
    def plot(self, *args: Any, **kwargs: Any) -> Self:
        """Draw the display, on given axes or in a new figure."""

    def _drawn(self, ax: Any) -> Self:
        self.ax_, self.figure_ = ax, ax.figure
        return self


def shades(n: int) -> list[Any]:
    """Colours of `n` levels, lowest first: light yellow, green, dark violet."""
    from matplotlib import colormaps

    ramp = colormaps["viridis_r"]
    step = (_DARKEST - _LIGHTEST) / max(n - 1, 1)
    return [tuple(ramp(_LIGHTEST + step * i)[:3]) for i in range(n)]


def strokes(n: int) -> list[dict[str, Any]]:
    """Keywords for `n` ordered lines: darkening, each with its stroke and marker."""
    colours = shades(n + 1)[1:]  # a line of the lightest colour could not be seen
    patterns = zip(cycle(STROKES), cycle(MARKERS), strict=False)
    return [
        {"color": colour, "linestyle": stroke, "marker": marker}
        for colour, (stroke, marker) in zip(colours, islice(patterns, n), strict=True)
    ]


def plain(text: Any, longest: int = _LONGEST) -> str:
    """A user's label so that matplotlib shows it unchanged: on one line, no mathematics."""
    text = " ".join(str(text).split())
    if len(text) > longest:
        kept = longest // 2
        text = f"{text[:kept].rstrip()}… {text[-(longest - kept - 4) :].lstrip()}"
    return text.replace("$", r"\$")


def axes(ax: Any, width: float = 6.0, height: float = 4.0) -> Any:
    """The axes to draw on: those given, or new ones in a figure of that size (inches)."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def tidy(ax: Any, *, grid: str | None = None) -> None:
    """Remove the upper and right spine; draw a faint grid along ``grid`` ("x", "y", "both")."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)


def name_ticks(ax: Any, labels: Sequence[str], room: int = 44) -> None:
    """Names along the horizontal axis, rotated where they would overlap."""
    widest = max(len(label) for label in labels) + 2
    turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(labels)), labels, **(turned if widest * len(labels) > room else {}))


def level_legend(
    ax: Any, handles: Sequence[Any], levels: Sequence[Any], title: str = ""
) -> Any:
    """Legend beside the axes, highest level on top; of many levels, evenly spaced ones."""
    n = len(levels)
    step = -(-n // _LEGEND)
    shown = sorted({*range(0, n, step), n - 1}, reverse=True)
    return ax.legend(
        [handles[i] for i in shown],
        [plain(levels[i]) for i in shown],
        title=plain(title),
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        alignment="left",
    )


# ---------------------------------------------------------------- figures for a page


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
