"""From a table to a model that can be trusted: assess, choose, explain, report.

`study` does it all. `Problem` is a table with ordered labels; `assess` cross-validates the
models of `MODELS` beside `baselines`; `choose` takes one and says why; `effects` shows what it
makes of the columns; `report` writes it up.
"""

from .assess import (
    SCORES,
    Assessment,
    Choice,
    Difference,
    against_baselines,
    assess,
    choose,
    difference,
    row_scores,
    scores,
)
from .evaluate import Evaluation, evaluation, labelled
from .inspect import Effect, effects
from .models import (
    BASELINES,
    COSTS,
    MODELS,
    Cost,
    Frequencies,
    Model,
    Size,
    Skipped,
    baselines,
    candidates,
    model,
    named,
)
from .problem import NoOrderError, Problem, folds, level_proba, pipeline, problem_of
from .study import (
    Study,
    effect_of,
    in_words,
    moves,
    plain,
    plain_effect,
    relevance,
    study,
    study_of,
    summary,
)
from .study_report import report, write_report

__all__ = [
    "BASELINES",
    "COSTS",
    "MODELS",
    "SCORES",
    "Assessment",
    "Choice",
    "Cost",
    "Difference",
    "Effect",
    "Evaluation",
    "Frequencies",
    "Model",
    "NoOrderError",
    "Problem",
    "Size",
    "Skipped",
    "Study",
    "against_baselines",
    "assess",
    "baselines",
    "candidates",
    "choose",
    "difference",
    "effect_of",
    "effects",
    "evaluation",
    "folds",
    "in_words",
    "labelled",
    "level_proba",
    "model",
    "moves",
    "named",
    "pipeline",
    "plain",
    "plain_effect",
    "problem_of",
    "relevance",
    "report",
    "row_scores",
    "scores",
    "study",
    "study_of",
    "summary",
    "write_report",
]
