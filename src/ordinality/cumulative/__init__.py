"""Cumulative link models: ``P(y <= k) = F((theta_k(x) - x'beta - o) / s)``.

================  ==============================================================================
`links`           the five distributions F, and one observation: log P with its derivatives
`structures`      thresholds as functions of fewer parameters: symmetric, equidistant
`rows`            the data sorted by level: log-likelihood, gradient and information in one pass
`newton`          the maximum, by Newton's method with halving, or conjugate gradients
`penalty`         ridge and elastic net
`jeffreys`        Jeffreys' prior, against separation and the bias of few rows
`collinearity`    columns that say nothing new
`separation`      data without a finite maximum, by a linear programme
`regression`      all of it for a table, in the units of its columns
`inference`       covariances, intervals, tests, residuals, effects
`group_factor`    effects of groups, eliminated one term after another
`mixed`           random effects by Laplace's method and adaptive quadrature
`effects`         conditional modes, and predictions for known and for new groups
================  ==============================================================================

Arrays go in and frozen values come out. McCullagh (1980), *Regression models for ordinal data*.
"""
