"""Interval likelihoods of one observation, to full accuracy everywhere.

A level is seen when a noisy latent value falls between two thresholds. With normal noise
everything inference needs of such a likelihood (derivatives in the latent value, in the noise
and in a threshold) is a cumulant of a *truncated normal*: shifting the latent
value tilts the truncated density exponentially, so log P is a cumulant generating function
minus a parabola. Other noises have closed forms of their own (products of sigmoids for the
logistic), until the latent value is blurred: then the noise is taken for a mixture of normals,
and the derivatives are those of its parts, pooled. A symmetric noise is a mixture over scales
(Student's exactly, over the chi-square distribution); the Gumbel distribution is skewed, and
its parts differ in their means, too.

The plain formulas lose digits: ``Phi(u) - Phi(l)`` in the right tail, ``u - l`` for narrow
intervals, ``1 - variance`` in the far tail. Three branches avoid this, see `_normal_cumulants`.

Every function here returns *jets*: arrays whose rows are named by the constants below.
"""

from __future__ import annotations

import math

import numpy as np

from ._compile import check_shape, loop

__all__ = [
    "CLOGLOG",
    "JET",
    "LOGIT",
    "LOGLOG",
    "PARTS",
    "PROBIT",
    "STUDENT",
    "blurred_jets",
    "concave_jet",
    "interval_jets",
    "point_jet",
    "pooled_jet",
    "truncated_normal",
]

PROBIT, LOGIT, CLOGLOG, LOGLOG, STUDENT = range(5)

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


#: Normals whose mixture stands for a noise that is blurred: means, standard deviations and
#: weights, the widest last. Minimax fits of the *relative* error of both tails, recomputed by
#: benchmarks/noise_mixtures.py. Logistic: 3.2e-4 up to 30 from the centre. Gumbel: 2.3e-3 from
#: -20 to 2.5, beyond which there is a mass of 5e-6. Student, four degrees of freedom: 3.1e-4 up
#: to 60. Farther out the tails are those of the widest normal.
PARTS = {
    LOGIT: np.array([
        [0.0] * 8,
        [1.07219539, 1.54811124, 2.1159954, 2.74729215,
         3.42033575, 4.13640433, 4.92486195, 5.87569544],
        [0.194236003, 0.436783706, 0.271596399, 0.082503402,
         0.0136491474, 0.00118586807, 4.50608804e-5, 4.13510461e-7],
    ]),
    CLOGLOG: np.array([
        [1.82611719, 1.34180613, 0.783354742, 0.110493003, -0.691629863, -1.62456122,
         -2.70347356, -3.91217305, -5.20356037, -6.49974874, -7.6684929, -8.39705816],
        [0.250890598, 0.308832142, 0.383016393, 0.487363679, 0.629515026, 0.815402315,
         1.05065805, 1.3479027, 1.71847848, 2.17902165, 2.77780889, 3.67331243],
        [0.000720627195, 0.019731933, 0.128529847, 0.298968703, 0.299593393, 0.16864282,
         0.0629888372, 0.0169429436, 0.00334841785, 0.000482217502, 4.79365429e-5,
         2.32358748e-6],
    ]),
    STUDENT: np.array([
        [0.0] * 10,
        [0.679169009, 1.02632081, 1.536504, 2.29458134, 3.42319299,
         5.10995284, 7.65498676, 11.6547996, 18.899061, 38.0942121],
        [0.210432748, 0.438068713, 0.247333666, 0.0790068245, 0.0196487579,
         0.00436405414, 0.000919820459, 0.000187593803, 3.42595846e-5, 3.56239136e-6],
    ]),
}  # fmt: skip
PARTS[LOGLOG] = PARTS[CLOGLOG] * np.array([[-1.0], [1.0], [1.0]])
for _parts in PARTS.values():
    _parts[2] /= _parts[2].sum()  # the tables have nine digits

# The same as compiled loops read it: one row a link, its parts first.
_MOST = max(parts.shape[1] for parts in PARTS.values())
_COUNT = np.array([PARTS[link].shape[1] if link in PARTS else 0 for link in range(5)])
_SHIFT, _SIGMA, _LOGW = np.zeros((5, _MOST)), np.ones((5, _MOST)), np.zeros((5, _MOST))
for _link, _parts in PARTS.items():
    _SHIFT[_link, : _COUNT[_link]], _SIGMA[_link, : _COUNT[_link]] = _parts[:2]
    _LOGW[_link, : _COUNT[_link]] = np.log(_parts[2])

_LATEST = 230.0  # exp(230) is 1e100: powers of it do not overflow, and no label is less likely
_FARTHEST = 1e50  # likewise for the tails of Student's t, which fall like powers


def interval_jets(
    link: int,
    lower: np.ndarray,
    upper: np.ndarray,
    latent: np.ndarray,
    noise: float | np.ndarray,
) -> np.ndarray:
    """Jets of log p(lower < latent + noise * e <= upper), (11, n).

    `link` says what e is: ``PROBIT`` standard normal, ``LOGIT`` standard logistic, ``CLOGLOG``
    the logarithm of an exponential variable, ``LOGLOG`` its negative, ``STUDENT`` Student's t
    with four degrees of freedom. The outer thresholds are infinite.
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
    *,
    concave: bool = True,
) -> np.ndarray:
    """Jets of log E[p] over a latent value ~ N(mean, var); (12, n).

    Blurring adds ``var`` to the variance of normal noise, nothing else; all other noise is a
    mixture of normals here. The last row is the variance of the latent value given the level,
    in units of ``var``, free of cancellation. ``concave`` makes jets fit for sites: where one
    is convex, `concave_jet` takes its place.
    """
    check_shape((mean.size,), lower=lower, upper=upper, mean=mean, var=var)
    jets = np.empty((JET + 1, mean.size))
    _blurred_jets(link, lower, upper, mean, var, np.full(mean.size, noise), concave, jets)
    return jets


@loop
def _blurred_jets(link, lower, upper, mean, var, noise, concave, jets):
    logw, points = np.empty(_MOST), np.empty((_MOST, JET + 1))
    for i in range(mean.size):
        row = lower[i], upper[i], mean[i], var[i], noise[i]
        if link == PROBIT:
            _blurred_normal(*row, jets[:, i])
        else:
            _blurred_mixture(link, *row, logw, points, jets[:, i])
        if concave and jets[2, i] > 0.0:
            concave_jet(link, *row, 1.0, jets[:, i])
        elif concave:
            jets[JET, i] = min(jets[JET, i], 1.0)  # it rounds to either side


@loop
def _blurred_normal(lower, upper, mean, var, noise, out):
    """Write the jet for normal noise and a blurred latent value, with its shrinkage."""
    wide2 = noise**2 + var
    k2 = _normal_jet(lower, upper, mean, math.sqrt(wide2), out)
    out[JET] = (noise**2 + var * k2) / wide2
    for j in range(8, JET):
        out[j] *= noise**2 / wide2  # d log(wide) / d log(noise)


@loop
def _blurred_mixture(link, lower, upper, mean, var, noise, logw, points, out):
    """Write the same for noise that is a mixture of normals."""
    count = _COUNT[link]
    for m in range(count):
        point, shift = points[m], noise * _SHIFT[link, m]
        _blurred_normal(lower, upper, mean + shift, var, noise * _SIGMA[link, m], point)
        for j in range(3):  # the mean of the part moves with the noise
            point[8 + j] += shift * point[1 + j]
        logw[m] = _LOGW[link, m] + point[0]
    if logw[count - 1] == -math.inf:  # squares overflow so far out; the widest part is left
        out[:] = points[count - 1]
        return
    pooled_jet(logw[:count], points[:count], out)
    out[JET] = 0.0
    for m in range(count):
        out[JET] += logw[m] * (points[m, JET] + var * (points[m, 1] - out[1]) ** 2)


@loop
def concave_jet(link, lower, upper, mean, var, noise, power, out):
    """Write a jet without curvature in place of one of log E[p^power] that is convex.

    The site of a convex observation would have a negative precision, and the posterior might
    not be proper. Mixtures for log-concave noise are convex by ripples only (at most 0.0014 /
    noise^2 for the logistic): there the curvature is cut off. Student's t is convex in its
    tails, at outliers. There log p is replaced by its tangent at ``f = mean + var * slope``, at
    which the expectation is stationary: of a tangent all derivatives are exact, and so is then
    the gradient of the evidence, which a curvature cut off would leave wrong by a tenth.
    """
    if link == STUDENT:
        f = mean
        for _ in range(50):
            point_jet(link, lower, upper, f, noise, out[:JET])
            excess = mean + power * var * out[1] - f
            # Newton; where the tangent turns as fast as f moves, a step of at most twice.
            step = excess / max(1.0 - power * var * out[2], 0.5)
            f += step
            if abs(step) <= 1e-12 * (noise + abs(f)):
                break
        point_jet(link, lower, upper, f, noise, out[:JET])
        out[:JET] *= power
        out[0] -= 0.5 * var * out[1] ** 2
        out[6] = out[9] = 0.0
    out[2] = out[3] = out[4] = out[7] = out[10] = 0.0
    out[JET] = 1.0


@loop
def point_jet(link, lower, upper, f, s, out):
    """Write the jet of one observation into ``out``."""
    if link == PROBIT:
        _normal_jet(lower, upper, f, s, out)
    elif link == LOGIT:
        _logistic_jet(lower, upper, f, s, out)
    elif link == CLOGLOG:
        _gumbel_jet(lower, upper, f, s, False, out)
    elif link == LOGLOG:
        _gumbel_jet(-upper, -lower, -f, s, True, out)
    else:
        _student_jet(lower, upper, f, s, out)


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


@loop
def _gumbel_jet(lower, upper, f, s, mirrored, out):
    """Noise of the complementary log-log link, P(e <= z) = 1 - exp(-exp(z)), or its mirror.

    ``P = exp(-a) (1 - exp(-D))`` with ``a = e^l`` and ``D = e^u - e^l``, which a shift of f
    multiplies alike: derivatives in f are Euler's ``D d/dD`` of ``log(1 - e^-D)``, whose first
    is the generating function of Bernoulli's numbers, ``B = D / (e^D - 1)``.
    """
    a, w, log_d = 0.0, math.inf, math.inf
    l = u = 0.0  # noqa: E741 - an infinite threshold contributes nothing below
    inside, inverse = 1.0, 0.0  # 1 - e^-w and 1 / (e^w - 1)
    if math.isfinite(lower):
        l = min((lower - f) / s, _LATEST)  # noqa: E741
        a = math.exp(l)
    if math.isfinite(upper):
        u = log_d = min((upper - f) / s, _LATEST)
    if math.isfinite(lower) and math.isfinite(upper):
        w = (upper - lower) / s
        inside = -math.expm1(-w)
        inverse = math.exp(-w) / inside
        log_d = u + math.log(inside)
    log_q, b0, b1, b2, b3 = _euler_family(log_d)
    sign = 1.0 if mirrored else -1.0  # of a shift of l and u as f grows
    out[0] = log_q - a
    out[1] = sign * (b0 - a) / s
    out[2] = (b1 - a) / s**2
    out[3] = sign * (b2 - a) / s**3
    out[4] = (b3 - a) / s**4
    if mirrored:  # the upper threshold is minus the lower one here
        out[5] = (a + inverse * b0) / s
        out[6] = (a + inverse * b1) / s**2
        out[7] = (a + inverse * b2) / s**3
    else:
        top = 1.0 / inside if math.isfinite(upper) else 0.0
        out[5] = top * b0 / s
        out[6] = -top * b1 / s**2
        out[7] = top * b2 / s**3
    # By the end that is there: -u and -l times the derivatives in u and l.
    base, rest = (l, w / inside) if math.isfinite(lower) else (u, 0.0)
    if not math.isfinite(upper):
        rest = 0.0
    out[8] = base * (a - b0) - rest * b0
    out[9] = -out[1] - sign * (base * (b1 - a) + rest * b1) / s
    out[10] = -2.0 * out[2] - (base * (b2 - a) + rest * b2) / s**2


@loop
def _euler_family(log_d):
    """log(1 - e^-D) and its first four derivatives by D d/dD, from log D."""
    if log_d > 6.6:  # D > 735: e^-D is 0
        return 0.0, 0.0, 0.0, 0.0, 0.0
    D = math.exp(log_d)
    if D < 0.1:  # 1 - D - B, by its series: the next term is 2e-8 D^9 of the first
        s = D * D
        log_q = math.log(-math.expm1(-D)) if log_d > -600.0 else log_d  # before D underflows
        gap = -0.5 * D - s / 12.0 * (1.0 - s / 60.0 * (1.0 - s / 42.0 * (1.0 - s / 40.0)))
        B = 1.0 - D - gap
    else:
        log_q = math.log(-math.expm1(-D)) if D < 1.0 else math.log1p(-math.exp(-D))
        B = D * math.exp(-D) / -math.expm1(-D)
        gap = 1.0 - D - B
    b1 = B * gap
    gap1 = -D - b1
    b2 = B * (gap * gap + gap1)
    gap2 = -D - b2
    return log_q, B, b1, b2, B * (gap**3 + 3.0 * gap * gap1 + gap2)


@loop
def _student_jet(lower, upper, f, s, out):
    """Student's t with four degrees of freedom, from integrals of derivatives of its pdf."""
    if not (math.isfinite(lower) or math.isfinite(upper)):
        out[:JET] = 0.0
        return
    l, u = _bounded((lower - f) / s), _bounded((upper - f) / s)  # noqa: E741
    w, c = math.inf, 0.0
    if math.isfinite(lower) and math.isfinite(upper):
        # Width and centre come from the thresholds: u - l and (l + u)/2 cancel.
        w, c = (upper - lower) / s, _bounded((0.5 * (upper + lower) - f) / s)
    at_l, at_u = _student_pdf(l), _student_pdf(u)
    # An interval that is short beside its distance from the poles of the pdf at +-2i: values
    # at its ends would cancel, and twelve nodes give all digits.
    if w <= max(1.0, 0.5 * abs(c)):
        p, i1, i2, i3, i4 = _student_narrow(w, c)
    else:
        p = _student_wide(l, u)
        i1, i2 = at_u[0] - at_l[0], at_u[1] - at_l[1]
        i3, i4 = at_u[2] - at_l[2], at_u[3] - at_l[3]
    p1, p2, p3, p4 = -i1 / p, i2 / p, -i3 / p, i4 / p
    d2, d3 = p2 - p1**2, p3 - 3.0 * p1 * p2 + 2.0 * p1**3
    out[0], out[1], out[2], out[3] = math.log(p), p1 / s, d2 / s**2, d3 / s**3
    out[4] = (p4 - 4.0 * p1 * p3 - 3.0 * p2**2 + 12.0 * p1**2 * p2 - 6.0 * p1**4) / s**4
    top, bottom = _student_end(at_u, p, p1, p2), _student_end(at_l, p, p1, p2)
    for j in range(3):
        out[5 + j] = top[j] / s ** (1 + j)
    # Derivatives in log s are -u and -l times those in u and l; with both ends by the centre,
    # because they cancel where a level is narrow.
    if math.isfinite(w):
        r0, r1, r2 = top[0] + bottom[0], top[1] + bottom[1], top[2] + bottom[2]
        out[8] = c * p1 - 0.5 * w * r0
        out[9] = (c * d2 - p1 - 0.5 * w * r1) / s
        out[10] = (c * d3 - 2.0 * d2 - 0.5 * w * r2) / s**2
    else:
        x = u if math.isfinite(upper) else l
        out[8] = x * p1
        out[9] = (x * d2 - p1) / s
        out[10] = (x * d3 - 2.0 * d2) / s**2


@loop
def _bounded(x):
    """x, or an end of the range in which no power used here overflows; infinities stay."""
    return math.copysign(_FARTHEST, x) if _FARTHEST < abs(x) < math.inf else x


@loop
def _student_end(at, p, p1, p2):
    """pdf / P at an end of the interval and its first two derivatives in the latent value."""
    r, r1, r2 = at[0] / p, -at[1] / p, at[2] / p
    return r, r1 - r * p1, r2 - 2.0 * r1 * p1 - r * p2 + 2.0 * r * p1**2


@loop
def _student_pdf(x):
    """The pdf and its first four derivatives; 0 at the infinite ends.

    ``(4 + x^2) f' = -5 x f``, differentiated, gives each from the two before it.
    """
    if math.isinf(x):
        return 0.0, 0.0, 0.0, 0.0, 0.0
    square = 4.0 + x * x
    f0 = 12.0 / (square * square * math.sqrt(square))
    f1 = -5.0 * x * f0 / square
    f2 = -(7.0 * x * f1 + 5.0 * f0) / square
    f3 = -(9.0 * x * f2 + 12.0 * f1) / square
    f4 = -(11.0 * x * f3 + 21.0 * f2) / square
    return f0, f1, f2, f3, f4


@loop
def _student_narrow(w, c):
    """Integrals of the pdf and of its first four derivatives over an interval."""
    i0 = i1 = i2 = i3 = i4 = 0.0
    for j in range(_NARROW_X.size):
        f0, f1, f2, f3, f4 = _student_pdf(c + w * (_NARROW_X[j] - 0.5))
        mass = w * _NARROW_W[j]
        i0 += mass * f0
        i1 += mass * f1
        i2 += mass * f2
        i3 += mass * f3
        i4 += mass * f4
    return i0, i1, i2, i3, i4


@loop
def _student_wide(l, u):  # noqa: E741
    """P(l < X <= u), from the tail that is the smaller."""
    if l + u < 0.0:
        l, u = -u, -l  # noqa: E741
    if l >= 0.0:
        return _student_tail(l) - _student_tail(u)
    return 1.0 - _student_tail(-l) - _student_tail(u)


@loop
def _student_tail(x):
    """P(X > x) for x >= 0."""
    if math.isinf(x):
        return 0.0
    # With q = x / sqrt(4 + x^2) it is (1 - q)^2 (2 + q) / 4.
    root = math.sqrt(4.0 + x * x)
    rest = 4.0 / (root * (root + x))
    return 0.25 * rest * rest * (3.0 - rest)
