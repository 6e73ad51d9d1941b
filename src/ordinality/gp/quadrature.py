"""Expectations of interval likelihoods under a Gaussian, where no closed form exists.

Two integrals over ``f ~ N(mean, var)``:

* ``E[log p(f)]``, the variational view;
* ``log E[p(f)^power]``, the view of expectation propagation, for sample weights below one
  (power one has a closed form: `ordinality._numerics.blurred_jets`).

The integrands have features as wide as the noise. While the Gaussian is narrower than that, 32
Gauss-Hermite nodes give full accuracy; otherwise Gauss-Legendre panels are laid between
break-points around the mean and around each threshold, which costs about 300 points whatever
the ratio of the widths (more Hermite nodes would not help: their error at a ratio of 10 is
still 1e-3 with 100 nodes).
"""

from __future__ import annotations

import math

import numpy as np

from .._compile import loop
from .._numerics import JET, concave_jet, point_jet, pooled_jet

__all__ = ["expected_log_jets", "log_expected_jets"]

_HERMITE_X, _HERMITE_W = np.polynomial.hermite_e.hermegauss(32)
_HERMITE_LOGW = np.log(_HERMITE_W / _HERMITE_W.sum())
_PANEL_X, _PANEL_W = np.polynomial.legendre.leggauss(12)
# Half a panel is about 1.3 of the scale it resolves; log p is analytic within 2.5 of it.
_STEPS = np.array([2.5, 5.5, 12.0, 30.0])
_NARROW = 0.7  # standard deviation over noise up to which 32 Hermite nodes reach 1e-13
_REACH = 9.0  # a Gaussian has 1e-19 of its mass beyond nine standard deviations
_MAX_NODES = 64 * 12


@loop
def expected_log_jets(link, lower, upper, mean, var, noise):
    """Jets of E[log p(f)] under f ~ N(mean, var), one column an observation; (11, n)."""
    jets = np.zeros((JET, mean.size))
    x, logw, one = np.empty(_MAX_NODES), np.empty(_MAX_NODES), np.empty(JET)
    for i in range(mean.size):
        sd = math.sqrt(var[i])
        if _is_point(mean[i], sd):
            point_jet(link, lower[i], upper[i], mean[i], noise[i], jets[:, i])
            continue
        count = _nodes(lower[i], upper[i], mean[i], sd, sd, noise[i], x, logw)
        for j in range(count):
            point_jet(link, lower[i], upper[i], x[j], noise[i], one)
            jets[:, i] += math.exp(logw[j]) * one
    return jets


@loop
def log_expected_jets(link, lower, upper, mean, var, noise, power):
    """Jets of log E[p(f)^power] under f ~ N(mean, var); (12, n).

    The last row is the variance of f under the tilted density p^power N, in units of ``var``.
    """
    jets = np.empty((JET + 1, mean.size))
    x, logw = np.empty(_MAX_NODES), np.empty(_MAX_NODES)
    points = np.empty((_MAX_NODES, JET))
    for i in range(mean.size):
        sd = math.sqrt(var[i])
        if _is_point(mean[i], sd):
            point_jet(link, lower[i], upper[i], mean[i], noise[i], jets[:JET, i])
            jets[:JET, i] *= power[i]
            jets[JET, i] = 1.0
            continue
        mode, width = _tilted_mode(
            link, lower[i], upper[i], mean[i], var[i], noise[i], power[i], points[0]
        )
        count = _nodes(lower[i], upper[i], mode, width, sd, noise[i], x, logw)
        for j in range(count):
            point_jet(link, lower[i], upper[i], x[j], noise[i], points[j])
            points[j] *= power[i]
            # The nodes integrate against N(mode, width^2) or N(mode, var); swap it for N(mean,
            # var).
            reference = width if sd < _NARROW * noise[i] else sd
            logw[j] += points[j, 0] + 0.5 * ((x[j] - mode) / reference) ** 2
            logw[j] += math.log(reference / sd) - 0.5 * ((x[j] - mean[i]) / sd) ** 2
        _tilted_jet(x[:count], logw[:count], points[:count], var[i], jets[:, i])
        if jets[2, i] > 0.0:  # in the tails of Student's t; elsewhere by rounding
            row = lower[i], upper[i], mean[i], var[i], noise[i]
            concave_jet(link, *row, power[i], jets[:, i])
    return jets


@loop
def _is_point(mean, sd):
    """Whether a Gaussian has no width beside the rounding of its mean."""
    return mean - _REACH * sd == mean + _REACH * sd


@loop
def _nodes(lower, upper, centre, width, sd, noise, x, logw):
    """Nodes and log weights for N(centre, width^2) if narrow, else for N(centre, sd^2)."""
    if sd < _NARROW * noise:
        x[: _HERMITE_X.size] = centre + width * _HERMITE_X
        logw[: _HERMITE_X.size] = _HERMITE_LOGW
        return _HERMITE_X.size
    cuts = _breakpoints(lower, upper, centre, width, sd, noise)
    count = 0
    for k in range(cuts.size - 1):
        half = 0.5 * (cuts[k + 1] - cuts[k])
        if half <= 0.0:
            continue
        for j in range(_PANEL_X.size):
            x[count] = cuts[k] + half * (1.0 + _PANEL_X[j])
            z = (x[count] - centre) / sd
            # 0.3989... = 1 / sqrt(2 pi)
            logw[count] = math.log(0.3989422804014327 * _PANEL_W[j] * half / sd) - 0.5 * z * z
            count += 1
    return count


@loop
def _breakpoints(lower, upper, centre, width, sd, noise):
    """Sorted ends of the panels within nine standard deviations of the centre."""
    cuts = np.empty(4 * 2 * _STEPS.size + 5)
    cuts[0], cuts[1], cuts[2] = centre - _REACH * sd, centre, centre + _REACH * sd
    cuts[3], cuts[4] = lower, upper
    count = 5
    for step in _STEPS:
        for sign in (-1.0, 1.0):
            cuts[count] = centre + sign * step * sd
            cuts[count + 1] = centre + sign * step * width
            cuts[count + 2] = lower + sign * step * noise
            cuts[count + 3] = upper + sign * step * noise
            count += 4
    cuts = np.minimum(np.maximum(cuts, cuts[0]), cuts[2])
    cuts.sort()
    return cuts


@loop
def _tilted_mode(link, lower, upper, mean, var, noise, power, jet):
    """Mode of p(f)^power N(f; mean, var) and the width of the peak, by safeguarded Newton.

    The slope decreases in f and changes sign between the mean and the nearest point of the
    interval, so bisection always has a bracket to fall back on.
    """
    near = min(max(mean, lower), upper)
    # Nine times the noise inside its interval, log p has a slope below rounding.
    low, high = min(mean, near) - 9.0 * noise, max(mean, near) + 9.0 * noise
    f, curvature = mean, 1.0 / var
    for _ in range(60):
        point_jet(link, lower, upper, f, noise, jet)
        slope = power * jet[1] - (f - mean) / var
        curvature = 1.0 / var - power * jet[2]
        if slope > 0.0:
            low = f
        else:
            high = f
        step = slope / curvature
        # A mode within a thousandth of the peak's width is near enough to centre nodes on.
        if abs(step) * math.sqrt(curvature) < 1e-3:
            break
        f = f + step if low < f + step < high else 0.5 * (low + high)
    return f, 1.0 / math.sqrt(curvature)


@loop
def _tilted_jet(x, logw, points, var, out):
    """Write the jet of log E[p^power], ``logw`` being the nodes of the tilted density."""
    pooled_jet(logw, points, out)
    centre = spread = 0.0
    for j in range(x.size):
        centre += logw[j] * x[j]
    for j in range(x.size):
        spread += logw[j] * (x[j] - centre) ** 2
    out[JET] = spread / var
