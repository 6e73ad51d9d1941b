"""Estimators in scikit-learn's manner: validate, encode, call the workshop, keep the result."""

from .boosting import OrdinalBoost, RankBoost
from .label_ranking_gp import LabelRankingGP
from .label_ranking_svm import LabelRankingSVM
from .least_squares import LeastSquaresOrdinalGP
from .low_rank_imputer import LowRankImputer
from .ordinal_gp import OrdinalGP
from .preference_gp import PreferenceGP
from .preference_svm import PreferenceSVM
from .rounded import RoundedRegressor
from .svm import OrdinalSVM, OrdinalSVMCV

__all__ = [
    "LabelRankingGP",
    "LabelRankingSVM",
    "LeastSquaresOrdinalGP",
    "LowRankImputer",
    "OrdinalBoost",
    "OrdinalGP",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "PreferenceGP",
    "PreferenceSVM",
    "RankBoost",
    "RoundedRegressor",
]
