"""Plots of models and predictions, in the form of scikit-learn's Display classes.

A display is computed by ``from_estimator`` or ``from_predictions`` and drawn at once; it keeps
what was computed, so that ``plot`` can draw it again, on other axes or with other options.
``ax_`` and ``figure_`` are the matplotlib axes and figure of the last drawing. An estimator may
be the last step of a pipeline, a table may be a frame of pandas or polars, and axes have the
names of its columns and levels.

Colours of ordered levels run from light to dark, and other colours are safe for colour-blind
readers; printed in grey, levels keep their order and lines differ in dash pattern. matplotlib
is imported when something is drawn.
"""

from .ensembles import MarginDisplay, StagesDisplay
from .feature_plots import LatentDisplay, LevelProbabilityDisplay
from .palette import inline_svg
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
