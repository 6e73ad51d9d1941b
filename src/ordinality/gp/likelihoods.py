"""The ordinal likelihood: a level is an interval between thresholds, seen through noise.

One likelihood, three views of it, each a scalar function L(mean, var) of an observation:

=================  ====================================  =====================
view               L                                     asked for by
=================  ====================================  =====================
``point``          log p(y | f = mean)                   Laplace
``log_expected``   log E[p(y | f)^power], f ~ N          EP, leave-one-out
``expected_log``   E[log p(y | f)], f ~ N                variational, eq. 13
=================  ====================================  =====================

All return a `Jet`: L with its derivatives in the mean and in the parameters.

Chu & Ghahramani (2005), section 2.1; the parameters are those of their appendix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from .. import _math
from .._compile import check_shape
from .._math import JET, LOGIT, PROBIT
from ..kernels.base import widened
from ..levels import free_to_thresholds, thresholds_to_free
from . import quadrature

__all__ = ["Jet", "Likelihood", "Ordinal"]

_LINKS = {"probit": PROBIT, "logit": LOGIT}

#: Where each kind of parameter is looked for: logarithms, but for the first threshold.
_BOXES = {
    "noise": (-7.0, 3.0),
    "comparison_noise": (-7.0, 3.0),
    "first_threshold": (-20.0, 20.0),
    "gap": (-8.0, 3.0),
}


@dataclass(frozen=True)
class Jet:
    """A function of the latent mean, one column an observation, and its derivatives.

    ``upper`` and ``scale`` hold (L, dL/dmean, d2L/dmean2) differentiated once more in the
    threshold above the level, and in log noise; ``shrink`` (of ``log_expected`` only) is the
    variance of f given its level over the variance before.
    """

    rows: np.ndarray  # (11, n) or (12, n)

    @property
    def value(self) -> np.ndarray:
        return self.rows[0]

    @property
    def d1(self) -> np.ndarray:
        return self.rows[1]

    @property
    def d2(self) -> np.ndarray:
        return self.rows[2]

    @property
    def d3(self) -> np.ndarray:
        return self.rows[3]

    @property
    def d4(self) -> np.ndarray:
        return self.rows[4]

    @property
    def upper(self) -> np.ndarray:
        return self.rows[5:8]

    @property
    def scale(self) -> np.ndarray:
        return self.rows[8:JET]

    @property
    def shrink(self) -> np.ndarray:
        return self.rows[JET]

    def times(self, weights: np.ndarray) -> Jet:
        """The jet of the weighted function."""
        return Jet(self.rows[:JET] * weights)


class Likelihood(Protocol):
    """What engines and the search ask of the likelihood of all observations."""

    @property
    def noise(self) -> float | np.ndarray:
        """Scale of the noise, of all observations or of each."""
        ...

    @property
    def max_precision(self) -> float | np.ndarray: ...
    @property
    def theta(self) -> np.ndarray: ...
    @property
    def theta_kinds(self) -> tuple[str, ...]: ...
    @property
    def bounds(self) -> np.ndarray: ...
    def with_theta(self, theta: np.ndarray) -> Self: ...
    def point(self, y: np.ndarray, mean: np.ndarray) -> Jet: ...
    def log_expected(
        self, y: np.ndarray, mean: np.ndarray, var: np.ndarray, power: np.ndarray | None = None
    ) -> Jet: ...
    def expected_log(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Jet: ...
    def pull(self, y: np.ndarray, jet: Jet, *weights: np.ndarray) -> np.ndarray: ...
    def only(self, which: slice | np.ndarray) -> Likelihood:
        """The likelihood of some of the observations."""
        ...


@dataclass(frozen=True)
class Ordinal:
    """Level ``k`` is seen when ``thresholds[k-1] < f + noise * e <= thresholds[k]``.

    Parameters
    ----------
    thresholds : ndarray of shape (K - 1,)
        Increasing; the outer ones are infinite and not stored.
    noise : float
        Scale of e.
    link : {"probit", "logit"}
        e is standard normal or standard logistic.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.gp.likelihoods import Ordinal
    >>> likelihood = Ordinal(np.array([-1.0, 1.0]), noise=1.0)
    >>> likelihood.proba(np.zeros(1), np.zeros(1)).round(4)
    array([[0.1587, 0.6827, 0.1587]])
    """

    thresholds: np.ndarray
    noise: float = 1.0
    link: str = "probit"

    @property
    def n_levels(self) -> int:
        return len(self.thresholds) + 1

    @property
    def theta(self) -> np.ndarray:
        """Free parameters: log noise, first threshold, log gaps."""
        return np.concatenate([[np.log(self.noise)], thresholds_to_free(self.thresholds)])

    def with_theta(self, theta: np.ndarray) -> Ordinal:
        """The same likelihood at other free parameters."""
        return replace(
            self, noise=float(np.exp(theta[0])), thresholds=free_to_thresholds(theta[1:])
        )

    @property
    def theta_kinds(self) -> tuple[str, ...]:
        """What each entry of `theta` is."""
        return ("noise", "first_threshold", *("gap",) * (self.n_levels - 2))

    @property
    def bounds(self) -> np.ndarray:
        """Box for `theta`, shape (K, 2), widened to hold the present value."""
        return widened([_BOXES[kind] for kind in self.theta_kinds], self.theta)

    @property
    def max_precision(self) -> float:
        """Largest curvature of -log p: no site is ever more precise."""
        return (1.0 if self.link == "probit" else 0.5) / self.noise**2

    def point(self, y: np.ndarray, mean: np.ndarray) -> Jet:
        """log p(y | f) at f = mean."""
        lower, upper = self._interval(y)
        link = _LINKS[self.link]
        return Jet(_math.interval_jets(link, lower, upper, mean, self.noise))

    def log_expected(
        self, y: np.ndarray, mean: np.ndarray, var: np.ndarray, power: np.ndarray | None = None
    ) -> Jet:
        """log E[p(y | f)^power] under f ~ N(mean, var)."""
        lower, upper = self._interval(y)
        if self.link == "probit" and power is None:
            return Jet(_math.blurred_jets(lower, upper, mean, var, self.noise))
        if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(var))):
            raise FloatingPointError("the latent values are not finite; lower the weights.")
        power = np.ones(len(y)) if power is None else power
        check_shape(lower.shape, mean=mean, var=var, power=power)
        link = _LINKS[self.link]
        return Jet(
            quadrature.log_expected_jets(link, lower, upper, mean, var, self.noise, power)
        )

    def expected_log(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Jet:
        """E[log p(y | f)] under f ~ N(mean, var)."""
        lower, upper = self._interval(y)
        check_shape(lower.shape, mean=mean, var=var)
        link = _LINKS[self.link]
        return Jet(quadrature.expected_log_jets(link, lower, upper, mean, var, self.noise))

    def proba(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Probability of each level for latent values ~ N(mean, var); (n, K), rows sum to 1."""
        proba = np.exp(self.log_proba(mean, var))
        return proba / proba.sum(axis=1, keepdims=True)

    def log_proba(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Log probability of each level, finite however improbable; (n, K)."""
        n, K = len(mean), self.n_levels
        levels = np.tile(np.arange(K), n)
        value = self.log_expected(levels, np.repeat(mean, K), np.repeat(var, K)).value
        return value.reshape(n, K)

    def pull(self, y: np.ndarray, jet: Jet, *weights: np.ndarray) -> np.ndarray:
        """Gradient in ``theta`` of ``w0 @ L + w1 @ dL/dmean + w2 @ d2L/dmean2``, weights held.

        Weights left out are zero.

        All thresholds above a moved gap shift together, and a shift of all thresholds is a
        shift of f the other way: the sample's own upper threshold is the only one that needs a
        derivative of its own (differences of two would cancel for narrow levels).
        """
        orders = range(len(weights))
        shift = -sum(weights[i] * jet.rows[1 + i] for i in orders)
        own = sum(weights[i] * jet.upper[i] for i in orders)
        by_noise = sum(weights[i] @ jet.scale[i] for i in orders)
        shift_by_level = np.bincount(y, shift, self.n_levels)
        own_by_level = np.bincount(y, own, self.n_levels)
        above = np.cumsum(shift_by_level[::-1])[::-1]  # levels k and higher
        gaps = np.diff(self.thresholds) * (own_by_level[1:-1] + above[2:])
        return np.concatenate([[by_noise, above[0]], gaps])

    def only(self, which: slice | np.ndarray) -> Ordinal:
        """The likelihood of some of the observations: the same for all."""
        return self

    def _interval(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        return edges[y], edges[y + 1]
