"""Estimators in scikit-learn's manner: validate, encode, call the workshop, keep the result."""

from .ordinal_gp import OrdinalGP

__all__ = ["OrdinalGP"]
