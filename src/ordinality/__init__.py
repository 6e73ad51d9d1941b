"""Learning from ordered labels and preferences.

The public names are loaded on first use: importing the package costs nothing, so that command
lines start at once and a program pays only for what it touches.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinality import elicitation, kernels, levels, metrics
    from ordinality.estimators import (
        LabelRankingGP,
        LabelRankingSVM,
        LeastSquaresOrdinalGP,
        OrdinalBoost,
        OrdinalGP,
        OrdinalSVM,
        OrdinalSVMCV,
        PreferenceGP,
        PreferenceSVM,
        RankBoost,
        RoundedRegressor,
    )

__version__ = "0.1.0"

__all__ = [
    "LabelRankingGP",
    "LabelRankingSVM",
    "LeastSquaresOrdinalGP",
    "OrdinalBoost",
    "OrdinalGP",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "PreferenceGP",
    "PreferenceSVM",
    "RankBoost",
    "RoundedRegressor",
    "__version__",
    "elicitation",
    "kernels",
    "levels",
    "metrics",
]

_MODULES = {"elicitation", "kernels", "levels", "metrics"}
_ESTIMATORS = {
    "LabelRankingGP",
    "LabelRankingSVM",
    "LeastSquaresOrdinalGP",
    "OrdinalBoost",
    "OrdinalGP",
    "OrdinalSVM",
    "OrdinalSVMCV",
    "PreferenceGP",
    "PreferenceSVM",
    "RankBoost",
    "RoundedRegressor",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"ordinality.{name}")  # which also binds it here
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'ordinality' has no attribute {name!r}")
    value = getattr(import_module("ordinality.estimators"), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
