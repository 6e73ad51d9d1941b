"""Report of a study as one HTML page.

The page has no scripts and fetches nothing, and all text from the table is escaped. The figures
are drawn by `ordinality.display` and stand in the page as SVG.
"""

from __future__ import annotations

import shlex
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import ordinality
from ordinality._text import visible

from .assess import SCORES, row_scores
from .models import BASELINES

if TYPE_CHECKING:
    from .study import Study

__all__ = ["html_report"]

Plan = tuple[str, Callable[[Any], Any], str]  # title, what draws on axes, caption

MAX_COLUMNS = 20  # in the table of importance

MAX_DEPENDENCES = 4  # columns whose partial dependence is drawn

MAX_ROWS = 300  # over which partial dependence is averaged


class _Figure(NamedTuple):
    title: str
    svg: Any
    caption: str


def html_report(
    study: Study,
    *,
    model_file: str | None = None,
    progress: Callable[[str, float], Any] = lambda what, share: None,
) -> str:
    """The report of a study as an HTML document.

    `model_file` is named in the lines that show how to use the model; `progress` is called as
    ``progress(title, share)`` before every figure.
    """
    summary = study.summary()
    return str(
        _template().render(
            s=summary,
            effects=study.effects,
            coefficients=_coefficients(study),
            most=max(summary["counts"]),
            score_names=SCORES,
            baseline_names=BASELINES,
            baselines=" and ".join(one.description for one in study.baselines),
            errors=_errors(study),
            importance=_importance(summary["importance"]),
            figures=_figures(study, progress),
            model_file=model_file,
            commands=_commands(model_file) if model_file else [],
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
            'install them with: pip install "ordinality[plot]"'
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


def _errors(study: Study) -> dict[str, float]:
    """Standard error of each ranked probability score; not given for weighted rows."""
    every = (*study.assessments, *study.baselines)
    if study.problem.weights is not None:
        return {one.name: 0.0 for one in every}
    root = np.sqrt(len(study.problem))
    return {
        one.name: float(row_scores(study.problem, one.proba).std(ddof=1) / root)
        for one in every
    }


def _coefficients(study: Study) -> Any:
    """The table of coefficients as markup, which escapes its names itself."""
    from markupsafe import Markup

    table = study.coefficients
    # Its names are data; the page shows control characters in them as escapes.
    return None if table is None else Markup(visible(table._repr_html_(), keep="\n\t"))


def _importance(values: dict[str, float]) -> list[tuple[str, float, float]]:
    """Column, importance, and width of its bar in percent, the most important first."""
    most = max([*values.values(), 0.0])
    ordered = sorted(values, key=lambda name: -values[name])[:MAX_COLUMNS]
    return [
        (name, values[name], 100 * max(values[name], 0.0) / most if most else 0.0)
        for name in ordered
    ]


def _commands(model_file: str) -> list[str]:
    file = shlex.quote(model_file)
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


def _figures(study: Study, progress: Callable[[str, float], Any]) -> list[_Figure]:
    """Figures of out-of-fold predictions, then of partial dependence."""
    from markupsafe import Markup

    from ordinality.display import inline_svg

    plans = [*_of_predictions(study), *_of_columns(study)]
    figures: list[_Figure] = []
    for title, draw, caption in plans:
        progress(title, len(figures) / len(plans))
        name = f"f{zlib.crc32(title.encode()):08x}"
        # Safe as markup: names and labels in the SVG are outlines, not text.
        figures.append(_Figure(title, Markup(inline_svg(draw, name)), caption))
    return figures


def _of_predictions(study: Study) -> Iterator[Plan]:
    from ordinality import display

    problem, proba = study.problem, study.choice.selected.proba
    y, levels = problem.y, problem.order.levels
    predicted = problem.order.decode(problem.decided(proba))
    yield (
        "Confusion matrix",
        lambda ax: display.OrdinalConfusionDisplay.from_predictions(
            y, predicted, levels=levels, ax=ax
        ),
        "True levels down, predicted levels across, in cross-validation. The further from the "
        "diagonal, the larger the error.",
    )
    yield (
        "Reliability of the probabilities",
        lambda ax: display.ReliabilityDisplay.from_predictions(y, proba, levels=levels, ax=ax),
        "Predicted probability of a level above each threshold, against the observed "
        "frequency, in cross-validation. Calibrated probabilities lie on the diagonal.",
    )
    relevance = study.relevance
    if relevance:
        yield (
            "Relevance",
            lambda ax: display.RelevanceDisplay([*relevance.values()], [*relevance]).plot(ax),
            "Weight of each encoded column in the kernel, per standard deviation.",
        )


def _of_columns(study: Study) -> Iterator[Plan]:
    n = len(study.problem)
    spread = np.unique(np.linspace(0, n - 1, min(n, MAX_ROWS)).astype(int))
    rows = study.problem.rows(spread)
    for effect in study.effects[:MAX_DEPENDENCES]:
        yield _dependence(study, rows, effect.column)


def _dependence(study: Study, rows: Any, column: str) -> Plan:
    from ordinality.display import LevelProbabilityDisplay

    return (
        f"Partial dependence on {column}",
        lambda ax: LevelProbabilityDisplay.from_estimator(study.pipeline, rows, column, ax=ax),
        f"Average probability of each level of {study.problem.target} if {column} had this "
        "value in every row.",
    )
