"""Learning from ordered labels and preferences.

The public names are loaded on first use: importing the package costs nothing, so that command
lines start at once and a program pays only for what it touches.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinality import (
        datasets,
        display,
        distributed,
        elicitation,
        inspect,
        kernels,
        levels,
        metrics,
        panel,
        persist,
        tables,
        workbench,
    )
    from ordinality.estimators import (
        LabelRankingGP,
        LabelRankingSVM,
        LabelRankingSVMCV,
        LeastSquaresOrdinalGP,
        LowRankImputer,
        OrdinalBoost,
        OrdinalConformal,
        OrdinalGP,
        OrdinalRegression,
        OrdinalStack,
        OrdinalSVM,
        OrdinalSVMCV,
        OrdinalTrees,
        PreferenceGP,
        PreferenceSVM,
        PreferenceSVMCV,
        RankBoost,
        RoundedRegressor,
    )
    from ordinality.persist import load, save
    from ordinality.workbench.study import study

__version__ = "0.1.0"

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
    "__version__",
    "datasets",
    "display",
    "distributed",
    "elicitation",
    "inspect",
    "kernels",
    "levels",
    "load",
    "metrics",
    "panel",
    "persist",
    "save",
    "study",
    "tables",
    "workbench",
]

_MODULES = {
    "datasets",
    "display",
    "distributed",
    "elicitation",
    "inspect",
    "kernels",
    "levels",
    "metrics",
    "panel",
    "persist",
    "tables",
    "workbench",
}
_HOMES = {  # of whatever is not an estimator
    "load": "ordinality.persist",
    "save": "ordinality.persist",
    "study": "ordinality.workbench",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"ordinality.{name}")  # which also binds it here
    if name not in __all__:
        raise AttributeError(f"module 'ordinality' has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "ordinality.estimators")), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
