"""Interval likelihoods of one observation, to full accuracy everywhere.

A level is seen when a noisy latent value falls between two thresholds. With normal noise
everything inference needs of such a likelihood (derivatives in the latent value, in the noise
and in a threshold) is a cumulant of a *truncated normal*: shifting the latent
value tilts the truncated density exponentially, so log P is a cumulant generating function
minus a parabola. With logistic noise the same quantities are products of sigmoids, until the
latent value is blurred: then logistic noise is taken for a mixture of eight normals, and the
derivatives are those of its parts, pooled.

The plain formulas lose digits: ``Phi(u) - Phi(l)`` in the right tail, ``u - l`` for narrow
intervals, ``1 - variance`` in the far tail. Three branches avoid this, see `_normal_cumulants`.

Every function here returns *jets*: arrays whose rows are named by the constants below.
"""

from __future__ import annotations

import math

import numpy as np

from ._compile import check_shape, loop

__all__ = [
    "JET",
    "LOGISTIC_PARTS",
    "LOGIT",
    "PROBIT",
    "blurred_jets",
    "interval_jets",
    "point_jet",
    "pooled_jet",
    "truncated_normal",
]

PROBIT, LOGIT = 0, 1

# Rows of a jet: log p; its first four derivatives in the latent value; then (log p, first,
# second derivative) differentiated once more in the upper threshold, and in the log of the
# noise.
JET = 11

_HALF_LOG_2PI = 0.9189385332046727
_SQRT_HALF = 0.7071067811865476
_INV_SQRT_2PI = 0.3989422804014327


def _unit_gauss_legendre(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return 0.5 * (nodes + 1.0), 0.5 * weights


# Against 120-digit arithmetic on 1500 intervals: 12 narrow nodes are as good as 20; 32 tail
# nodes over a depth of 60 lose only a digit of the fourth cumulant (3e-12) to 40 over 90.
_NARROW_X, _NARROW_W = _unit_gauss_legendre(12)
_TAIL_X, _TAIL_W = _unit_gauss_legendre(32)
_TAIL_DEPTH = 60.0  # exp(-60) is below rounding beside the mass at the near boundary


#: Standard deviations and weights of the normals whose mixture stands for logistic noise: the
#: minimax fit of the *relative* error of the tail, 3.2e-4 up to 30 from the centre.
LOGISTIC_PARTS = np.array(
    [
        [1.07219539, 1.54811124, 2.1159954, 2.74729215,
         3.42033575, 4.13640433, 4.92486195, 5.87569544],
        [0.194236003, 0.436783706, 0.271596399, 0.082503402,
         0.0136491474, 0.00118586807, 4.50608804e-5, 4.13510461e-7],
    ]
)  # fmt: skip
LOGISTIC_PARTS[1] /= LOGISTIC_PARTS[1].sum()  # the table has nine digits
_SIGMA, _LOGW = LOGISTIC_PARTS[0], np.log(LOGISTIC_PARTS[1])


def interval_jets(
    link: int,
    lower: np.ndarray,
    upper: np.ndarray,
    latent: np.ndarray,
    noise: float | np.ndarray,
) -> np.ndarray:
    """Jets of log p(lower < latent + noise * e <= upper), (11, n).

    `link` is ``PROBIT`` for standard normal e, ``LOGIT`` for standard logistic e. The outer
    thresholds are infinite.
    """
    check_shape((latent.size,), lower=lower, upper=upper, latent=latent)
    jets = np.empty((JET, latent.size))
    _interval_jets(link, lower, upper, latent, np.full(latent.size, noise), jets)
    return jets


@loop
def _interval_jets(link, lower, upper, latent, noise, jets):
    for i in range(latent.size):
        point_jet(link, lower[i], upper[i], latent[i], noise[i], jets[:, i])


def blurred_jets(
    link: int,
    lower: np.ndarray,
    upper: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    noise: float | np.ndarray,
) -> np.ndarray:
    """Jets of log E[p] over a latent value ~ N(mean, var); (12, n).

    Blurring adds ``var`` to the variance of normal noise, nothing else; logistic noise is a
    mixture of normals here. The last row is the variance of the latent value given the level,
    in units of ``var``, free of cancellation.
    """
    check_shape((mean.size,), lower=lower, upper=upper, mean=mean, var=var)
    jets = np.empty((JET + 1, mean.size))
    _blurred_jets(link, lower, upper, mean, var, np.full(mean.size, noise), jets)
    return jets


@loop
def _blurred_jets(link, lower, upper, mean, var, noise, jets):
    logw, points = np.empty(_SIGMA.size), np.empty((_SIGMA.size, JET + 1))
    for i in range(mean.size):
        row = lower[i], upper[i], mean[i], var[i], noise[i]
        if link == LOGIT:
            _blurred_logistic(*row, logw, points, jets[:, i])
        else:
            _blurred_normal(*row, jets[:, i])


@loop
def _blurred_normal(lower, upper, mean, var, noise, out):
    """Write the jet for normal noise and a blurred latent value, with its shrinkage."""
    wide2 = noise**2 + var
    k2 = _normal_jet(lower, upper, mean, math.sqrt(wide2), out)
    out[JET] = (noise**2 + var * k2) / wide2
    for j in range(8, JET):
        out[j] *= noise**2 / wide2  # d log(wide) / d log(noise)


@loop
def _blurred_logistic(lower, upper, mean, var, noise, logw, points, out):
    """Write the same for logistic noise, by its parts."""
    for m in range(_SIGMA.size):
        _blurred_normal(lower, upper, mean, var, noise * _SIGMA[m], points[m])
        logw[m] = _LOGW[m] + points[m, 0]
    if logw[-1] == -math.inf:  # so far out that squares overflow; the widest part is left
        out[:] = points[-1]
        return
    pooled_jet(logw, points, out)
    out[JET] = 0.0
    for m in range(_SIGMA.size):
        out[JET] += logw[m] * (points[m, JET] + var * (points[m, 1] - out[1]) ** 2)
    # The logistic is log-concave, the mixture but for ripples: d2 reaches 0.0014 / noise^2.
    # Without the bounds the precision of a site could be negative.
    out[2], out[JET] = min(out[2], 0.0), min(out[JET], 1.0)


@loop
def point_jet(link, lower, upper, f, s, out):
    """Write the jet of one observation into ``out``."""
    if link == LOGIT:
        _logistic_jet(lower, upper, f, s, out)
    else:
        _normal_jet(lower, upper, f, s, out)


@loop
def pooled_jet(logw, points, out):
    """Write the jet of log(sum_j exp(c_j + L_j)) into ``out``, from jets of L_j in ``points``.

    ``logw`` holds c_j + L_j, and afterwards the share of each term in the sum. Derivatives are
    cumulants of those of the L_j under the shares: Faa di Bruno.
    """
    top = logw.max()
    total = 0.0
    for j in range(logw.size):
        logw[j] = math.exp(logw[j] - top)
        total += logw[j]
    out[:JET] = 0.0
    for j in range(logw.size):
        logw[j] /= total
        for k in range(1, JET):
            out[k] += logw[j] * points[j, k]
    out[0] = top + math.log(total)
    m1, m2, m3 = out[1], out[2], out[3]
    e11 = e111 = e1111 = e21 = e31 = e22 = e211 = 0.0
    for j in range(logw.size):
        a, b = points[j, 1] - m1, points[j, 2] - m2
        wa = logw[j] * a
        e11 += wa * a
        e111 += wa * a * a
        e1111 += wa * a * a * a
        e21 += wa * b
        e31 += wa * (points[j, 3] - m3)
        e22 += logw[j] * b * b
        e211 += wa * a * b
    out[2] += e11
    out[3] += 3.0 * e21 + e111
    out[4] += 4.0 * e31 + 3.0 * e22 + 6.0 * e211 + e1111 - 3.0 * e11**2
    for k in (5, 8):  # derivatives in the upper threshold and in log noise
        p01 = p11 = p02 = p011 = 0.0
        for j in range(logw.size):
            a, b = points[j, 1] - m1, points[j, 2] - m2
            wp = logw[j] * (points[j, k] - out[k])
            p01 += wp * a
            p11 += logw[j] * (points[j, k + 1] - out[k + 1]) * a
            p02 += wp * b
            p011 += wp * a * a
        out[k + 1] += p01
        out[k + 2] += 2.0 * p11 + p02 + p011


@loop
def _normal_jet(lower, upper, f, s, out):
    """Write the jet for normal noise; return the variance of the truncated normal."""
    logp, k1, deficit, k2, k3, k4, r_u, e_u, q_u = _normal_cumulants(lower, upper, f, s)
    out[0] = logp
    out[1] = k1 / s
    out[2] = -deficit / s**2
    out[3] = k3 / s**3
    out[4] = k4 / s**4
    out[5] = r_u / s
    out[6] = e_u / s**2
    out[7] = q_u / s**3
    # The heat equation dP/d(s^2) = P''/2 turns noise derivatives into latent ones.
    out[8] = k1**2 - deficit
    out[9] = (k3 - 2.0 * k1 * deficit) / s
    out[10] = (k4 + 2.0 * deficit**2 + 2.0 * k1 * k3) / s**2
    return k2


@loop
def _normal_cumulants(lower, upper, f, s):
    """Cumulants of the standard normal truncated to ((lower - f)/s, (upper - f)/s).

    Returns log P, k1, 1 - k2, k2, k3, k4 and, at the upper boundary u with r = phi(u)/P,
    r, r (u - k1) and r ((u - k1)^2 - k2).
    """
    w = c = math.inf
    if math.isfinite(lower) and math.isfinite(upper):
        # Width and centre come from the thresholds: u - l and (l + u)/2 cancel.
        w = (upper - lower) / s
        c = (0.5 * (upper + lower) - f) / s
    l, u = (lower - f) / s, (upper - f) / s  # noqa: E741
    logp, k1, deficit, k2, k3, k4, _, (r, e, q) = truncated_normal(l, u, w, c)
    return logp, k1, deficit, k2, k3, k4, r, e, q


@loop
def truncated_normal(l, u, w, c):  # noqa: E741
    """Cumulants of the standard normal truncated to (l, u), of width w and centre c.

    Returns log P, k1, 1 - k2, k2, k3, k4 and, for the lower and for the upper boundary b with
    r = phi(b)/P, the three r, r |b - k1| and r ((b - k1)^2 - k2).
    """
    if math.isfinite(l) and math.isfinite(u):
        flip = c < 0.0
        c = abs(c)
    elif math.isfinite(l) or math.isfinite(u):
        w = c = math.inf
        flip = not math.isfinite(l)
    else:
        none = (0.0, 0.0, 0.0)
        return 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, none, none
    # Reflected so that the interval lies to the right of the latent value (c >= 0). The near
    # boundary comes from its threshold: c - w/2 cancels for intervals that are very wide.
    l = -u if flip else l  # noqa: E741
    if l <= 0.0 and w > 1.5:
        logp, k1, deficit, k2, k3, k4, near, far = _wide(l, w, c)
    elif w <= 1.5 and c * w < 2.0:
        logp, k1, deficit, k2, k3, k4, near, far = _narrow(w, c)
    else:
        logp, k1, deficit, k2, k3, k4, near, far = _tail(l, w, c)
    if flip:
        return logp, -k1, deficit, k2, -k3, k4, far, near
    return logp, k1, deficit, k2, k3, k4, near, far


@loop
def _wide(l, w, c):  # noqa: E741
    """The interval covers 0 and is wider than 1.5: P is not small, no cancellation."""
    p_outside = 0.5 * math.erfc(-l * _SQRT_HALF)
    r_u, u, shrink = 0.0, 0.0, 1.0  # shrink = 1 - phi(u)/phi(l)
    if math.isfinite(w):
        u = c + 0.5 * w
        p_outside += 0.5 * math.erfc(u * _SQRT_HALF)
        shrink = -math.expm1(-w * c)
    p = 1.0 - p_outside
    r_l = _INV_SQRT_2PI * math.exp(-0.5 * l * l) / p
    # From 39 noises on the density underflows to 0, but powers of the distance overflow from
    # 1e103 on, and 0 * inf is NaN. Nothing crosses such a boundary: any finite place will do.
    if r_l == 0.0:
        l = 0.0  # noqa: E741
    a2 = r_l * l * l
    if math.isfinite(w):
        r_u = _INV_SQRT_2PI * math.exp(-0.5 * u * u) / p
        if r_u == 0.0:
            u = 0.0
        # l^2 - u^2 e^-wc: squares cancel near the centre, the rewritten form away from it.
        near_centre = -2.0 * c * w + u * u * shrink
        a2 = r_l * near_centre if c * w < 1.0 else r_l * l * l - r_u * u * u
    a0 = k1 = r_l * shrink
    a1 = l * r_l - u * r_u
    a3 = l**3 * r_l - u**3 * r_u
    deficit = k1 * k1 - a1
    if not math.isfinite(w):
        deficit = k1 * (k1 - l)
    k2 = 1.0 - deficit
    d0 = a1 - a0 * a0
    d1 = -a0 + a2 - a0 * a1
    d2 = -2.0 * a1 + a3 - a0 * a2
    k3 = a2 - k1 - 3.0 * k1 * a1 + 2.0 * k1**3
    k4 = d2 - d0 - 3.0 * (d0 * a1 + a0 * d1) + 6.0 * a0 * a0 * d0
    near = (r_l, r_l * (k1 - l), r_l * ((k1 - l) ** 2 - k2))
    far = (r_u, r_u * (u - k1), r_u * ((u - k1) ** 2 - k2))
    return math.log1p(-p_outside), k1, deficit, k2, k3, k4, near, far


@loop
def _narrow(w, c):
    """Quadrature over the interval, folded about its centre: relative accuracy as w, c -> 0."""
    a, q, h = 0.5 * c * w, 0.125 * w * w, 0.5 * w
    i0 = i1 = i2 = i3 = i4 = 0.0
    for j in range(_NARROW_X.size):
        y = _NARROW_X[j]
        weight = _NARROW_W[j] * math.exp(-q * y * y)
        e = math.expm1(a * y)
        ratio = e / (e + 1.0)  # cosh and sinh from one exponential, to relative accuracy
        even, odd = weight * (1.0 + 0.5 * e * ratio), -0.5 * weight * (e + ratio)
        i0 += even
        i1 += odd * y
        i2 += even * y**2
        i3 += odd * y**3
        i4 += even * y**4
    m1, m2, m3, m4 = i1 / i0, i2 / i0, i3 / i0, i4 / i0
    k1 = c + h * m1
    k2 = h**2 * (m2 - m1**2)
    k3 = h**3 * (m3 - 3.0 * m1 * m2 + 2.0 * m1**3)
    k4 = h**4 * (m4 - 4.0 * m3 * m1 - 3.0 * m2**2 + 12.0 * m2 * m1**2 - 6.0 * m1**4)
    r_u, r_l = math.exp(-a - q) / (w * i0), math.exp(a - q) / (w * i0)
    up, down = h * (1.0 - m1), h * (1.0 + m1)  # u - k1 and k1 - l
    near = (r_l, r_l * down, r_l * (down**2 - k2))
    far = (r_u, r_u * up, r_u * (up**2 - k2))
    logp = -0.5 * c * c - _HALF_LOG_2PI + math.log(w * i0)
    return logp, k1, 1.0 - k2, k2, k3, k4, near, far


@loop
def _tail(l, w, c):  # noqa: E741
    """The interval lies at l > 0: quadrature in t = x - l, as deep as the mass reaches."""
    depth = min(w, 2.0 * _TAIL_DEPTH / (l + _hypotenuse(l, 2.0 * _TAIL_DEPTH)))
    # Moments about a guess of the mean (that of an exponential cut off at the depth), near
    # enough for nothing to cancel when they are moved to the mean itself.
    rate = 0.5 * (l + _hypotenuse(l, 4.0))
    guess = 1.0 / rate - depth / math.expm1(min(rate * depth, 700.0))  # exp(710) overflows
    i0 = i1 = i2 = i3 = i4 = 0.0
    for j in range(_TAIL_X.size):
        x = _TAIL_X[j]
        t = depth * x * x  # nodes crowd at the near boundary, where the mass is
        d = t - guess
        mass = 2.0 * x * _TAIL_W[j] * math.exp(-(l + 0.5 * t) * t)
        i0 += mass
        i1 += mass * d
        i2 += mass * d**2
        i3 += mass * d**3
        i4 += mass * d**4
    e, m2, m3, m4 = i1 / i0, i2 / i0, i3 / i0, i4 / i0
    mean = guess + e
    k2 = m2 - e**2
    k3 = m3 - 3.0 * e * m2 + 2.0 * e**3
    k4 = m4 - 4.0 * e * m3 + 6.0 * e**2 * m2 - 3.0 * e**4 - 3.0 * k2**2
    k1, r_l = l + mean, 1.0 / (depth * i0)
    deficit = 1.0 - k2
    r_u = e_u = q_u = 0.0
    if math.isfinite(w):
        r_u = r_l * math.exp(-w * c)
        if r_u > 0.0:  # or w^2, which may overflow, meets a density of 0
            e_u = r_u * (w - mean)
            q_u = r_u * ((w - mean) ** 2 - k2)
    else:
        deficit = k1 * mean
    # The direct form of the near boundary cancels here: an exponential has mean^2 = variance.
    near = (r_l, r_l * mean, k3 + q_u)
    logp = -0.5 * l * l - _HALF_LOG_2PI + math.log(depth * i0)
    return logp, k1, deficit, k2, k3, k4, near, (r_u, e_u, q_u)


@loop
def _hypotenuse(x, square):
    """sqrt(x^2 + square) for squares up to 120, beside which x^2 may overflow."""
    return x if x > 1e10 else math.sqrt(x * x + square)  # above, the square is lost in rounding


@loop
def _logistic_jet(lower, upper, f, s, out):
    """Logistic noise: P = sigma(u) sigma(-l) (1 - exp(l - u)) has no cancelling difference."""
    logp = 0.0
    below = above = 0.0  # sigma(l) and sigma(-u): the odds of falling outside on either side
    v_l = v_u = dv_l = dv_u = ddv_l = ddv_u = 0.0
    l = u = 0.0  # noqa: E741 - an infinite threshold contributes nothing below
    inverse = 0.0  # 1 / (exp(w) - 1)
    if math.isfinite(lower):
        l = (lower - f) / s  # noqa: E741
        below, v_l, dv_l, ddv_l = _sigmoid_family(l)
        logp += _log_sigmoid(-l)
    if math.isfinite(upper):
        u = (upper - f) / s
        above, v_u, dv_u, ddv_u = _sigmoid_family(-u)
        logp += _log_sigmoid(u)
        dv_u = -dv_u  # derivative in u, not in -u
    d1 = below - above
    w = 0.0
    if math.isfinite(lower) and math.isfinite(upper):
        w = (upper - lower) / s
        # log(1 - e^-w): each form is exact where the other rounds.
        logp += math.log1p(-math.exp(-w)) if w > 1.0 else math.log(-math.expm1(-w))
        inverse = 1.0 / math.expm1(w) if w < 700.0 else 0.0  # exp overflows; the term is 0
        c2 = (upper + lower - 2.0 * f) / s
        # sigma(l) - sigma(-u) by the product form: it vanishes at the centre of the interval.
        big, small = (1.0 - above, below) if c2 >= 0.0 else (1.0 - below, above)
        d1 = math.copysign(-math.expm1(-abs(c2)) * big * small, c2)
    out[0] = logp
    out[1] = d1 / s
    out[2] = -(v_l + v_u) / s**2
    out[3] = (dv_l + dv_u) / s**3
    out[4] = -(ddv_l + ddv_u) / s**4
    out[5] = out[6] = out[7] = 0.0
    if math.isfinite(upper):
        out[5] = (above + inverse) / s
        out[6] = v_u / s**2
        out[7] = -dv_u / s**3
    out[8] = l * below - u * above - w * inverse
    out[9] = -out[1] - (l * v_l + u * v_u) / s
    out[10] = -2.0 * out[2] + (l * dv_l + u * dv_u) / s**2


@loop
def _sigmoid_family(x):
    """sigma(x), sigma(1 - sigma), and the next two derivatives."""
    e = math.exp(-abs(x))
    p = 1.0 / (1.0 + e)
    sigma = p if x >= 0.0 else e * p
    v = e * p * p
    odd = math.copysign(-math.expm1(-abs(x)) * p, x)  # 2 sigma - 1 = tanh(x / 2)
    dv = -v * odd
    return sigma, v, dv, v * (odd * odd - 2.0 * v)


@loop
def _log_sigmoid(x):
    return -math.log1p(math.exp(-x)) if x >= 0.0 else x - math.log1p(math.exp(x))
