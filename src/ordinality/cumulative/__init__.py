"""Cumulative link models: ``P(y <= k) = F((theta_k(x) - x'beta - o) / s)``.

===============  =============================================================================
`links`          the five distributions F, and one observation: log P with its derivatives
===============  =============================================================================

Arrays go in and frozen values come out. McCullagh (1980), *Regression models for ordinal data*.
"""
