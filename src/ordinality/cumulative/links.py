"""Links of cumulative models, and the log-probability of an interval under each of them.

An observation says that a standard variable X with distribution F fell between ``l`` and ``u``.
With ``g = (log f)'`` every derivative of its log-probability ell is an expectation over X given
that interval: a shift of the latent value gives ``ell_f = -E[g]``. The rows of the result are

    LOG_P             log P(l < X <= u)
    R_U, R_L          f(u) / P and f(l) / P, so that ell_u = R_U and ell_l = -R_L
    OM_U, OM_L        derivatives of ell_f in u and in l
    KAPPA_U, KAPPA_L  derivatives of ell_ff in u and in l (only if asked for)

and from them ``ell_f = R_L - R_U``, ``ell_ff = -(OM_U + OM_L)``, ``ell_fff = -(KAPPA_U +
KAPPA_L)``. The curvature is a sum of squares, ``-d2 ell = OM_U du^2 + OM_L dl^2 + R_U R_L
(du - dl)^2``, and OM is never negative if f is log-concave, which all but the Cauchy density
are. The width ``w`` is taken from the thresholds: ``u - l`` loses its digits where a level is
narrow.

Agresti (2010), *Analysis of Ordinal Categorical Data*, sections 3 and 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._compile import check_shape, loop
from .._numerics import LOGIT, PROBIT, truncated_normal

__all__ = [
    "KAPPA_L",
    "KAPPA_U",
    "LINKS",
    "LOG_P",
    "OM_L",
    "OM_U",
    "R_L",
    "R_U",
    "Link",
    "interval_point",
    "interval_terms",
]

CLOGLOG, LOGLOG, CAUCHIT = 2, 3, 4
LOG_P, R_U, R_L, OM_U, OM_L, KAPPA_U, KAPPA_L = range(7)

_HALF_LOG_2PI = 0.9189385332046727
_LOG_PI = 1.1447298858494002


@dataclass(frozen=True)
class Link:
    """One distribution F of the noise of a cumulative model."""

    name: str
    code: int  # as `interval_terms` and compiled loops take it

    @property
    def log_concave(self) -> bool:
        """Whether the log-likelihood is concave in latent values and thresholds."""
        return self.code != CAUCHIT

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """F(x), 0 and 1 at the infinite ends."""
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(over="ignore"):  # exp of a large number: F is 0 or 1 there
            if self.code == LOGIT:
                return special.expit(x)
            if self.code == PROBIT:
                return special.ndtr(x)
            if self.code == CLOGLOG:
                return -np.expm1(-np.exp(x))
            if self.code == LOGLOG:
                return np.exp(-np.exp(-x))
        # Not 1/2 + atan(x)/pi, which rounds small probabilities away.
        return np.arctan2(1.0, -x) / np.pi

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """f(x), 0 at the infinite ends."""
        x = np.asarray(x, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.code == LOGIT:
                return special.expit(x) * special.expit(-x)
            if self.code == PROBIT:
                return np.exp(-0.5 * x * x - _HALF_LOG_2PI)
            if self.code == CLOGLOG:
                return np.where(x < np.inf, np.exp(x - np.exp(x)), 0.0)
            if self.code == LOGLOG:
                return np.where(x > -np.inf, np.exp(-x - np.exp(-x)), 0.0)
            return 1.0 / (np.pi * (1.0 + x * x))

    def ppf(self, p: ArrayLike) -> np.ndarray:
        """The quantile: x with F(x) = p."""
        p = np.asarray(p, dtype=np.float64)
        with np.errstate(divide="ignore"):
            if self.code == LOGIT:
                return special.logit(p)
            if self.code == PROBIT:
                return special.ndtri(p)
            if self.code == CLOGLOG:
                return np.log(-np.log1p(-p))
            if self.code == LOGLOG:
                return -np.log(-np.log(p))
            return np.where(p < 0.5, -1.0, 1.0) / np.tan(np.pi * np.minimum(p, 1.0 - p))

    def dlog_pdf(self, x: ArrayLike) -> np.ndarray:
        """g(x) = d log f / dx, for finite x."""
        x = np.asarray(x, dtype=np.float64)
        if self.code == LOGIT:
            return -np.tanh(0.5 * x)
        if self.code == PROBIT:
            return -x
        if self.code == CLOGLOG:
            return -np.expm1(x)
        if self.code == LOGLOG:
            return np.expm1(-x)
        return -2.0 * x / (1.0 + x * x)

    def probability(self, lower: np.ndarray, upper: np.ndarray, w: np.ndarray) -> np.ndarray:
        """P(lower < X <= upper) with its relative digits; 0 where ``w`` is not positive."""
        flat = [np.ascontiguousarray(a, dtype=np.float64).ravel() for a in (upper, lower, w)]
        out = np.empty(flat[0].size)
        _probabilities(self.code, *flat, out)
        return out.reshape(np.shape(upper))


#: The links by name.
LINKS = {
    name: Link(name, code)
    for name, code in {
        "logit": LOGIT,
        "probit": PROBIT,
        "cloglog": CLOGLOG,
        "loglog": LOGLOG,
        "cauchit": CAUCHIT,
    }.items()
}


def interval_terms(
    link: Link,
    u: np.ndarray,
    l: np.ndarray,  # noqa: E741
    w: np.ndarray,
    *,
    third: bool = False,
) -> np.ndarray:
    """Terms of log P(l < X <= u), shape (5, n), or (7, n) with third derivatives.

    ``w`` is ``u - l`` where both are finite, and is not looked at elsewhere.
    """
    check_shape((u.size,), u=u, l=l, w=w)
    terms = np.empty((7 if third else 5, u.size))
    _interval_terms(link.code, u, l, w, terms)
    return terms


@loop
def _interval_terms(link, u, l, w, out):  # noqa: E741
    for i in range(u.size):
        terms = interval_point(link, u[i], l[i], w[i])
        for j in range(out.shape[0]):
            out[j, i] = terms[j]


@loop
def _probabilities(link, u, l, w, out):  # noqa: E741
    for i in range(u.size):
        closed = math.isfinite(l[i]) and math.isfinite(u[i])
        if u[i] <= l[i] or (closed and w[i] <= 0.0):
            out[i] = 0.0
        else:
            out[i] = math.exp(interval_point(link, u[i], l[i], w[i])[0])


@loop
def interval_point(link, u, l, w):  # noqa: E741
    """The seven terms of one observation."""
    if link == LOGIT:
        return _logit(u, l, w)
    if link == PROBIT:
        logp, _, _, _, _, _, lower, upper = truncated_normal(l, u, w, 0.5 * (l + u))
        return logp, upper[0], lower[0], upper[1], lower[1], upper[2], -lower[2]
    if link == CLOGLOG:
        return _cloglog(u, l, w)
    if link == LOGLOG:  # the mirror image
        logp, r_u, r_l, om_u, om_l, k_u, k_l = _cloglog(-l, -u, w)
        return logp, r_l, r_u, om_l, om_u, -k_l, -k_u
    return _cauchit(u, l, w)


@loop
def _logit(u, l, w):  # noqa: E741
    """P = sigma(u) sigma(-l) (1 - exp(-w)): no difference cancels."""
    logp = 0.0
    r_u = r_l = om_u = om_l = k_u = k_l = inverse = 0.0
    if u < math.inf and l > -math.inf:
        logp = math.log1p(-math.exp(-w)) if w > 1.0 else math.log(-math.expm1(-w))
        inverse = 1.0 / math.expm1(w) if w < 700.0 else 0.0  # exp overflows; the term is 0
    if u < math.inf:
        e = math.exp(-abs(u))
        logp -= math.log1p(e) - min(u, 0.0)
        above = (e if u > 0.0 else 1.0) / (1.0 + e)
        om_u = e / (1.0 + e) ** 2
        k_u = math.copysign(-math.expm1(-abs(u)) / (1.0 + e), u) * om_u
        r_u = above + inverse
    if l > -math.inf:
        e = math.exp(-abs(l))
        logp -= math.log1p(e) + max(l, 0.0)
        below = (e if l < 0.0 else 1.0) / (1.0 + e)
        om_l = e / (1.0 + e) ** 2
        k_l = math.copysign(-math.expm1(-abs(l)) / (1.0 + e), l) * om_l
        r_l = below + inverse
    return logp, r_u, r_l, om_u, om_l, k_u, k_l


@loop
def _cloglog(u, l, w):  # noqa: E741
    """P = exp(-e^l) (1 - exp(-D)), D = e^u - e^l; all terms are functions of D and an end."""
    if u == math.inf and l == -math.inf:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    e_l = math.exp(l)  # 0 for the lowest level
    if u == math.inf:
        return -e_l, 0.0, e_l, 0.0, e_l, 0.0, -e_l
    if u < -600.0:  # F(x) is e^x, which is about to underflow
        inside = -math.expm1(-w) if l > -math.inf else 1.0
        e_u = math.exp(u)
        r_u, r_l = 1.0 / inside, math.exp(-w) / inside if l > -math.inf else 0.0
        return math.log(inside) + u, r_u, r_l, 0.5 * e_u, 0.5 * e_l, -0.5 * e_u, -0.5 * e_l
    if l == -math.inf:
        D = math.exp(u)
    elif w > 1.0:  # expm1(w) may overflow where e^l underflows
        D = -math.exp(u) * math.expm1(-w)
    else:
        D = e_l * math.expm1(w)
    inside = -math.expm1(-D)
    r_u = math.exp(u - D) / inside
    r_l = e_l / inside
    # Differences of numbers near 1 and 2 for small D, by series: the next terms are below
    # D^10 / 4.8e7 of the first, and at 0.1 the plain forms are good to 4e-15.
    s = D * D
    odd = s / 12.0 * (1.0 - s / 60.0 * (1.0 - s / 42.0 * (1.0 - s / 40.0)))
    if D < 0.1:
        q = math.exp(-D) / inside
        up, down = 0.5 * D + odd, 0.5 * D - odd
        bend = 2.0 * odd
    elif D < 700.0:
        q = math.exp(-D) / inside
        up, down = D / inside - 1.0, 1.0 - D * q
        bend = D * (1.0 + 2.0 * q) - 2.0
    else:  # nothing is left of the upper end
        logp = -e_l + math.log(inside)
        return logp, 0.0, r_l, 0.0, r_l, 0.0, -r_l
    logp = -e_l + (math.log(inside) if D < 0.6931471805599453 else math.log1p(-math.exp(-D)))
    om_u, om_l = r_u * up, r_l * down
    k_u = r_u * bend * D / inside - om_u
    k_l = -r_l * q * bend * D - om_l
    return logp, r_u, r_l, om_u, om_l, k_u, k_l


@loop
def _cauchit(u, l, w):  # noqa: E741
    """With x = tan(phi) the angle phi is uniform over the interval, of length t."""
    if u == math.inf and l == -math.inf:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if u == math.inf:
        t = math.atan2(1.0, l)
    elif l == -math.inf:
        t = math.atan2(1.0, -u)
    else:
        t = math.atan2(w, 1.0 + u * l)
    # Means over s uniform on (0, t): 1 - cos 2s and sin 2s, 1 - cos 4s and sin 4s.
    A, B = _one_minus_sinc(2.0 * t), math.sin(t) ** 2 / t
    A4, B4 = _one_minus_sinc(4.0 * t), 0.5 * math.sin(2.0 * t) ** 2 / t
    r_u = r_l = om_u = om_l = k_u = k_l = 0.0
    if u < math.inf:
        r_u, sin2, cos2 = _angle(u)
        r_u /= t
        gap = -(sin2 * A + cos2 * B)  # g(u) - E[g]
        cos4, sin4 = (cos2 - sin2) * (cos2 + sin2), 2.0 * sin2 * cos2
        turn = -(cos2 * A - sin2 * B) - (cos4 * A4 - sin4 * B4)  # of g' + g^2, likewise
        om_u = -r_u * gap
        k_u = r_u * (turn + 2.0 * (sin2 + gap) * gap)
    if l > -math.inf:
        r_l, sin2, cos2 = _angle(l)
        r_l /= t
        gap = cos2 * B - sin2 * A
        cos4, sin4 = (cos2 - sin2) * (cos2 + sin2), 2.0 * sin2 * cos2
        turn = -(cos2 * A + sin2 * B) - (cos4 * A4 + sin4 * B4)
        om_l = r_l * gap
        k_l = -r_l * (turn + 2.0 * (sin2 + gap) * gap)
    return math.log(t) - _LOG_PI, r_u, r_l, om_u, om_l, k_u, k_l


@loop
def _angle(x):
    """1 / (1 + x^2), sin(2 phi) and cos(2 phi) for x = tan(phi)."""
    if abs(x) > 1e8:  # 1 is lost beside x^2, which may overflow
        return (1.0 / x) / x, 2.0 / x, -1.0
    inverse = 1.0 / (1.0 + x * x)
    return inverse, 2.0 * x * inverse, (1.0 - x) * (1.0 + x) * inverse


@loop
def _one_minus_sinc(x):
    """1 - sin(x)/x; below 0.5 by its series, whose next term is 1e-13 x^12 of the first."""
    if x > 0.5:
        return 1.0 - math.sin(x) / x
    s = x * x
    tail = 1.0 - s / 72.0 * (1.0 - s / 110.0 * (1.0 - s / 156.0))
    return s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * tail))
