"""A study as one HTML page: no scripts, nothing fetched, everything from the table escaped.

The pictures are drawn by `ordinality.display` and stand in the page as SVG.
"""

from __future__ import annotations

import shlex
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ordinality
from ordinality._files import put
from ordinality._text import visible

from .assess import SCORES, row_scores
from .models import BASELINES
from .study import Study, relevance

__all__ = ["report", "write_report"]


Plan = tuple[str, Callable[[Any], Any], str]  # title, what draws on axes, caption


SHOWN = 20  # columns in the table of importance


ALONG = 4  # columns along which the levels are drawn


class _Figure(NamedTuple):
    """A picture in the page."""

    title: str
    svg: Any
    caption: str


def write_report(
    found: Study,
    path: str | Path,
    *,
    model_file: str | None = None,
    force: bool = False,
    tick: Callable[[str, float], Any] = lambda what, share: None,
) -> None:
    """Write the report of a study; an existing file is kept unless `force` is true.

    Parameters
    ----------
    found : Study
        What to report.
    path : str or Path
        An .html file.
    model_file : str, optional
        Where the model was saved, for the lines that show how to use it.
    force : bool, default=False
        Replace a file that exists.
    tick : callable, optional
        Called as ``tick(title, share)`` before every picture, with the share that is done.
    """
    path = Path(path)
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or set force=True.")
    page = report(found, model_file=model_file, tick=tick)
    put(path, page.encode())


def report(
    found: Study,
    *,
    model_file: str | None = None,
    tick: Callable[[str, float], Any] = lambda what, share: None,
) -> str:
    """The page as text.

    Parameters
    ----------
    found : Study
        What to report.
    model_file : str, optional
        Where the model was saved.
    tick : callable, optional
        Called as ``tick(title, share)`` before every picture, with the share that is done.

    Returns
    -------
    str
        A whole HTML document.
    """
    summary = found.summary()
    return str(
        _template().render(
            s=summary,
            most=max(summary["counts"]),
            score_names=SCORES,
            baseline_names=BASELINES,
            beside=" and ".join(one.words for one in found.beside),
            errors=_errors(found),
            importance=_importance(summary["importance"]),
            figures=_figures(found, tick),
            model_file=model_file,
            commands=_commands(model_file, summary),
            python=_python(model_file),
            version=ordinality.__version__,
        )
    )


def _template() -> Any:
    try:
        import jinja2
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Reports need jinja2 and matplotlib, which are not installed; "
            'type: pip install "ordinality[plot]"'
        ) from None
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    return environment.get_template("report.html")


def _shown(value: Any) -> Any:
    """A value as the page has it: in text, control characters are shown as escapes."""
    return visible(value, keep="\n\t") if type(value) is str else value


def _errors(found: Study) -> dict[str, float]:
    """Standard error of each ranked probability score; not given for weighted rows."""
    if found.problem.weights is not None:
        return {one.name: 0.0 for one in (*found.found, *found.beside)}
    root = np.sqrt(len(found.problem))
    return {
        one.name: float(row_scores(found.problem, one.proba).std(ddof=1) / root)
        for one in (*found.found, *found.beside)
    }


def _importance(values: dict[str, float]) -> list[tuple[str, float, float]]:
    most = max([*values.values(), 0.0])
    ordered = sorted(values, key=lambda name: -values[name])[:SHOWN]
    return [
        (name, values[name], 100 * max(values[name], 0.0) / most if most else 0.0)
        for name in ordered
    ]


def _commands(model_file: str | None, summary: dict[str, Any]) -> list[str]:
    file = shlex.quote(model_file or "model.skops")
    return [
        f"ordinality predict {file} new-rows.csv --proba --out predictions.csv",
        f"ordinality evaluate {file} labelled-rows.csv",
        f"ordinality explain {file}",
    ]


def _python(model_file: str | None) -> list[str]:
    return [
        "import ordinality, pandas",
        f"model = ordinality.load({str(model_file)!r})",
        'model.predict_proba(pandas.read_csv("new-rows.csv"))  # columns as in model.classes_',
    ]


def _figures(found: Study, tick: Callable[[str, float], Any]) -> list[_Figure]:
    """Pictures of predictions for unseen rows, then of what the model makes of the columns."""
    from markupsafe import Markup

    from ordinality.display import inline_svg

    plans = [*_judged(found), *_along(found)]
    figures: list[_Figure] = []
    for title, draw, caption in plans:
        tick(title, len(figures) / len(plans))
        name = f"f{zlib.crc32(title.encode()):08x}"
        # The picture is ours; names and labels in it are outlines, not text.
        figures.append(_Figure(title, Markup(inline_svg(draw, name)), caption))
    return figures


def _judged(found: Study) -> Iterator[Plan]:
    from ordinality import display

    problem, proba = found.problem, found.choice.taken.proba
    y, levels = problem.y, problem.order.levels
    mode = problem.order.decode(proba.argmax(axis=1))
    yield (
        "Right and wrong",
        lambda ax: display.OrdinalConfusionDisplay.from_predictions(
            y, mode, levels=levels, ax=ax
        ),
        "True levels down, predicted levels across, for rows the model had not seen. "
        "Further from the diagonal is a worse miss.",
    )
    yield (
        "Can the probabilities be believed?",
        lambda ax: display.ReliabilityDisplay.from_predictions(y, proba, levels=levels, ax=ax),
        "Predicted probability of a level above each threshold, against how often that "
        "happened. On the diagonal they can be taken at their word.",
    )
    relevances = relevance(found)
    if relevances:
        yield (
            "Relevance",
            lambda ax: display.RelevanceDisplay([*relevances.values()], [*relevances]).plot(ax),
            "Weight of each encoded column in the kernel, per standard deviation.",
        )


def _along(found: Study) -> Iterator[Plan]:
    from ordinality.display import LevelProbabilityDisplay

    rows = found.some_rows()
    for effect in found.effects[:ALONG]:
        column = effect.column
        yield (
            f"{found.problem.target} along {column}",
            # Bound now: the picture is drawn when the loop has moved on.
            partial(_draw_along, LevelProbabilityDisplay, found.solver, rows, column),
            f"Average probability of each level if {column} had this value in every row.",
        )


def _draw_along(kind: Any, solver: Any, rows: Any, column: str, ax: Any) -> None:
    kind.from_estimator(solver, rows, column, ax=ax)
