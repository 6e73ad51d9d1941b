"""From a table to a model that can be trusted: assess, choose, explain, report.

`study` does it all. `Problem` is a table with ordered labels; `assess` cross-validates the
models of `MODELS` beside `baselines`; `choose` takes one and says why; `effects` shows what it
makes of the columns; `report` writes it up.
"""

from .assess import SCORES, Assessment, assess, row_scores, scores
from .choose import Choice, Difference, against_baselines, choose, difference
from .costs import COSTS, Cost, Size
from .effects import Effect, effects
from .evaluate import Evaluation, evaluation, labelled
from .models import (
    BASELINES,
    MODELS,
    Frequencies,
    Model,
    Skipped,
    baselines,
    candidates,
    model,
    named,
)
from .problem import Problem, folds, level_proba, pipeline
from .report import report, write_report
from .studies import NoOrderError, Study, problem_of, study, study_of
from .summary import effect_of, plain, plain_effect, relevance, summary
from .words import in_words, moves

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
