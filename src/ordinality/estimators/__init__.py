"""Estimators in scikit-learn's manner: validate, encode, call the workshop, keep the result.

Each is loaded when it is first asked for: one of them needs little of what the others need.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .label_ranking_gp import LabelRankingGP
    from .label_ranking_svm import LabelRankingSVM, LabelRankingSVMCV
    from .least_squares_ordinal_gp import LeastSquaresOrdinalGP
    from .low_rank_imputer import LowRankImputer
    from .ordinal_boost import OrdinalBoost, RankBoost
    from .ordinal_conformal import OrdinalConformal
    from .ordinal_gp import OrdinalGP
    from .ordinal_regression import OrdinalRegression
    from .ordinal_stack import OrdinalStack
    from .ordinal_svm import OrdinalSVM, OrdinalSVMCV
    from .ordinal_trees import OrdinalTrees
    from .preference_gp import PreferenceGP
    from .preference_svm import PreferenceSVM, PreferenceSVMCV
    from .rounded_regressor import RoundedRegressor

__all__ = [
    "LabelRankingGP",
    "LabelRankingSVM",
    "LabelRankingSVMCV",
    "LeastSquaresOrdinalGP",
    "LowRankImputer",
    "OrdinalBoost",
    "OrdinalConformal",
    "OrdinalGP",
    "OrdinalRegression",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "OrdinalStack",
    "OrdinalTrees",
    "PreferenceGP",
    "PreferenceSVM",
    "PreferenceSVMCV",
    "RankBoost",
    "RoundedRegressor",
]

_HOMES = {
    "LabelRankingGP": "label_ranking_gp",
    "LabelRankingSVM": "label_ranking_svm",
    "LabelRankingSVMCV": "label_ranking_svm",
    "LeastSquaresOrdinalGP": "least_squares_ordinal_gp",
    "LowRankImputer": "low_rank_imputer",
    "OrdinalBoost": "ordinal_boost",
    "OrdinalConformal": "ordinal_conformal",
    "OrdinalGP": "ordinal_gp",
    "OrdinalRegression": "ordinal_regression",
    "OrdinalSVM": "ordinal_svm",
    "OrdinalSVMCV": "ordinal_svm",
    "OrdinalStack": "ordinal_stack",
    "OrdinalTrees": "ordinal_trees",
    "PreferenceGP": "preference_gp",
    "PreferenceSVM": "preference_svm",
    "PreferenceSVMCV": "preference_svm",
    "RankBoost": "ordinal_boost",
    "RoundedRegressor": "rounded_regressor",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
