"""Estimators in scikit-learn's manner: validate, encode, call the workshop, keep the result."""

from .boosting import OrdinalBoost, RankBoost
from .least_squares import LeastSquaresOrdinalGP
from .ordinal_gp import OrdinalGP
from .rounded import RoundedRegressor

__all__ = [
    "LeastSquaresOrdinalGP",
    "OrdinalBoost",
    "OrdinalGP",
    "RankBoost",
    "RoundedRegressor",
]
