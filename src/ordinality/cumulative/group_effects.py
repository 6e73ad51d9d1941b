"""Effects of groups after a fit: conditional modes, and what they predict.

Given the parameters, the effects have approximately the distribution N(mode, M^-1) of Laplace's
method. A prediction averages the probabilities of the levels over it, or over the prior where a
group was never seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from .._compile import loop
from .links import Link, interval_point

__all__ = ["EffectPosterior", "averaged_density", "averaged_probabilities", "variance_p_value"]

# Half-width of the strip about the real axis in which each F is analytic and bounded.
_STRIP = {"logit": math.pi, "cloglog": math.pi / 2, "loglog": math.pi / 2, "cauchit": 1.0}


@dataclass(frozen=True, eq=False)
class EffectPosterior:
    """Effects v ~ N(mode, M^-1) in units of their prior, M^-1 as `GroupFactor` leaves it."""

    terms: tuple[int, ...]  # the eliminated term first, as in `Layout`
    first: tuple[int, ...]  # first effect of each of these, and the number of effects
    factors: tuple[np.ndarray, ...]  # L of each term, in the order of the model
    mode: np.ndarray  # (q,)
    blocks: np.ndarray  # (G, r, r), inverse blocks of the eliminated term
    multipliers: np.ndarray  # (P, r)
    ptr: np.ndarray  # (G + 1,)
    partners: np.ndarray  # (P,)
    rest_inverse: np.ndarray  # (n_rest, n_rest)

    def moments(
        self, groups: Sequence[np.ndarray], designs: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the sum of effects in each row; group -1 was never seen.

        A group never seen has effects from N(0, L L'). The effects of known groups of different
        terms are correlated, because only their sum was observed.
        """
        A = np.hstack([designs[t] @ self.factors[t] for t in self.terms])
        widths = [len(self.factors[t]) for t in self.terms]
        known = np.hstack(
            [
                np.tile(groups[t][:, None] >= 0, r)
                for t, r in zip(self.terms, widths, strict=True)
            ]
        )
        own = np.hstack(
            [
                at + groups[t][:, None] * r + np.arange(r)
                for t, at, r in zip(self.terms, self.first[:-1], widths, strict=True)
            ]
        )
        own = np.where(known, own, 0)
        mean = np.sum(np.where(known, A * self.mode[own], 0.0), axis=1)
        var = np.sum(np.where(known, 0.0, A**2), axis=1)
        _add_variances(
            *(groups[self.terms[0]], own - self.first[1], np.where(known, A, 0.0), self.blocks),
            *(self.ptr, self.partners, self.multipliers, self.rest_inverse, var),
        )
        return mean, var


@loop
def _add_variances(groups, rest, A, blocks, ptr, partners, multipliers, inverse, var):
    """Add a'M^-1 a of each row: a block, and a quadratic form in S^-1 of what is left."""
    r, m = blocks.shape[1], A.shape[1] - blocks.shape[1]
    longest = np.max(np.diff(ptr)) + m
    columns, values = np.empty(longest, np.int64), np.empty(longest)
    for i in range(var.size):
        g, count = groups[i], 0
        if g >= 0:
            for a in range(r):
                for b in range(r):
                    var[i] += A[i, a] * blocks[g, a, b] * A[i, b]
            for p in range(ptr[g], ptr[g + 1]):
                columns[count], values[count] = partners[p], 0.0
                for a in range(r):
                    values[count] -= multipliers[p, a] * A[i, a]
                count += 1
        for j in range(m):
            if A[i, r + j] != 0.0:
                columns[count], values[count] = rest[i, r + j], A[i, r + j]
                count += 1
        for j in range(count):
            for k in range(count):
                var[i] += values[j] * inverse[columns[j], columns[k]] * values[k]


def averaged_probabilities(link: Link, edges: np.ndarray, var: np.ndarray) -> np.ndarray:
    """Probabilities of the levels, (n, K), averaged over effects ~ N(0, var) of the rows.

    `edges` (n, K + 1) are the thresholds of each row less its latent value, the outermost
    infinite; a level between equal ones has probability 0.
    """
    if link.name == "probit":  # normal noise and a normal effect are one normal noise
        edges, var = edges / np.sqrt(1.0 + var)[:, None], np.zeros_like(var)
    proba = np.zeros((len(edges), edges.shape[1] - 1))
    _average(link.code, edges, np.sqrt(var), _STRIP.get(link.name, 1.0), proba)
    return proba


@loop
def _average(link, edges, sd, strip, proba):
    """Trapezoidal rule: for an analytic integrand its error is exp(-2 pi strip / step)."""
    for i in range(sd.size):
        # exp(-10 pi) = 2e-14; the normal density alone allows 0.6 (an error of 1e-24), and has
        # 2e-17 of its mass beyond 8.5 standard deviations.
        step = min(0.6, strip / (5.0 * sd[i])) if sd[i] > 0.0 else 1.0
        reach = math.ceil(8.5 / step) if sd[i] > 0.0 else 0
        total = 0.0
        for j in range(-reach, reach + 1):
            z = j * step
            weight = math.exp(-0.5 * z * z)
            total += weight
            for k in range(proba.shape[1]):
                lower, upper = edges[i, k], edges[i, k + 1]
                if upper > lower:
                    f = sd[i] * z
                    terms = interval_point(link, upper - f, lower - f, upper - lower)
                    proba[i, k] += weight * math.exp(terms[0])
        proba[i] /= total


def averaged_density(
    link: Link, cuts: np.ndarray, var: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of ``E F(cut - b)``, b ~ N(0, var) of the rows, in the cut and in var, (n, m)."""
    if link.name == "probit":
        s2 = (1.0 + var)[:, None]
        f = link.pdf(cuts / np.sqrt(s2)) / np.sqrt(s2)
        return f, -0.5 * cuts / s2 * f
    sd = np.sqrt(var)[:, None]
    step = min(0.6, _STRIP[link.name] / (5.0 * max(np.max(sd, initial=0.0), 1e-300)))
    z = np.arange(-math.ceil(8.5 / step), math.ceil(8.5 / step) + 1) * step  # as in `_average`
    weights = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    first, moment = np.zeros_like(cuts), np.zeros_like(cuts)
    for node, weight in zip(z, weights, strict=True):
        f = weight * link.pdf(cuts - sd * node)
        first += f
        moment += node * f
    # E f'(cut - b) / 2 is -E z f(cut - sd z) / (2 sd), by parts.
    return first, np.divide(-0.5 * moment, sd, out=np.zeros_like(cuts), where=sd > 0)


def variance_p_value(statistic: float, variances: int = 1, others: int = 0) -> float:
    """P-value of a likelihood ratio for `variances` and `others` more parameters.

    A variance of zero is at the edge of its range, and its estimate is there half of the time:
    the statistic is a mixture of chi-squared variables (Self & Liang 1987; several variances
    are taken as independent).
    """
    weights = special.comb(variances, np.arange(variances + 1)) * 0.5**variances
    degrees = others + np.arange(variances + 1)
    tails = np.where(
        degrees > 0,
        stats.chi2.sf(max(statistic, 0.0), np.maximum(degrees, 1)),
        statistic <= 0.0,
    )
    return float(weights @ tails)
