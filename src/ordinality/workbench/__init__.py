"""Ordinal regression of a table, from reading it to a report.

`study` does it all. `Problem` is a table with ordered labels; `assess` cross-validates the
models of `MODELS` and the `baselines`; `choose` selects one and gives the reason.
"""

from .assess import SCORES, Assessment, Choice, assess, choose
from .evaluate import Evaluation, evaluation
from .labelled import labelled_rows
from .models import BASELINES, MODELS, Model, Skipped, baselines, model
from .problem import NoOrderError, Problem, folds, problem_of
from .study import Study, study, study_of

__all__ = [
    "BASELINES",
    "MODELS",
    "SCORES",
    "Assessment",
    "Choice",
    "Evaluation",
    "Model",
    "NoOrderError",
    "Problem",
    "Skipped",
    "Study",
    "assess",
    "baselines",
    "choose",
    "evaluation",
    "folds",
    "labelled_rows",
    "model",
    "problem_of",
    "study",
    "study_of",
]
