"""Pictures of models and of their predictions, in scikit-learn's manner.

A display is computed by ``from_estimator`` or ``from_predictions`` and drawn at once; what was
computed stays on it, so that ``plot`` can draw it again, elsewhere or otherwise. Estimators may
stand at the end of a pipeline, tables may be frames of pandas or polars, and axes speak in the
words of whoever made the table: names of columns, names of levels.

Colours of ordered levels run from light to dark and those of different things are told apart
by the colour-blind; in grey, levels keep their order and lines differ in stroke. matplotlib is
imported when something is drawn.
"""

from .ensembles import MarginDisplay, StagesDisplay
from .inline import inline_svg
from .latent import LatentDisplay
from .level_probability import LevelProbabilityDisplay
from .rank_plots import CriticalDifferenceDisplay, RelevanceDisplay, UtilityDisplay
from .scores import OrdinalConfusionDisplay, ReliabilityDisplay, ScoreDecompositionDisplay

__all__ = [
    "CriticalDifferenceDisplay",
    "LatentDisplay",
    "LevelProbabilityDisplay",
    "MarginDisplay",
    "OrdinalConfusionDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "ScoreDecompositionDisplay",
    "StagesDisplay",
    "UtilityDisplay",
    "inline_svg",
]
