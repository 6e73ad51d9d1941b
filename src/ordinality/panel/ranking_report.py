"""Report of a ranking as one HTML page.

The page has no scripts and fetches nothing, and all text from the data is escaped. The template
draws the intervals as SVG.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ordinality
from ordinality._text import visible

if TYPE_CHECKING:
    from .ranking import Ranking

__all__ = ["ranking_page"]

CHANCES = 20  # items in the matrix of chances


def ranking_page(found: Ranking, command: str = "") -> str:
    """The report of a ranking as an HTML document; ``command`` is shown as what made it."""
    try:
        import jinja2
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reports need jinja2, which is not installed; "
            'install it with: pip install "ordinality[plot]"'
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    page = environment.get_template("ranking.html").render(
        r=found,
        sentences=found.sentences(),
        chances=found.chances(CHANCES),
        command=command,
        version=ordinality.__version__,
    )
    return str(page)


def _shown(value: Any) -> Any:
    """A value as the page has it: in text, control characters are shown as escapes."""
    return visible(value, keep="\n\t") if type(value) is str else value
