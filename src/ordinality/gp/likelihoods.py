"""Ordinal likelihoods: a level is an interval between thresholds, seen through noise.

`Ordinal` has three views, each a scalar function L(mean, var) of an observation:

=================  ====================================  =====================
view               L                                     asked for by
=================  ====================================  =====================
``point``          log p(y | f = mean)                   Laplace
``log_expected``   log E[p(y | f)^power], f ~ N          EP, leave-one-out
``expected_log``   E[log p(y | f)], f ~ N                variational, eq. 13
=================  ====================================  =====================

All return a `Jet`: L with its derivatives in the mean and in the parameters.

A comparison is an ordinal observation of a difference of utilities: "better" and "worse" are
two levels with a threshold at zero, a tie is a third between them, "much better" lies beyond
one more threshold. Both sides are treated alike, so thresholds mirror one another about zero
(`Symmetric`). Observations of several kinds in one problem are `Several`.

Chu & Ghahramani (2005), section 2.1; the parameters are those of their appendix. Comparisons:
Chu & Ghahramani (2005, ICML), eq. 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from .. import _numerics
from .._compile import check_shape
from .._numerics import CLOGLOG, JET, LOGIT, LOGLOG, PARTS, PROBIT, STUDENT
from ..kernels.base import widened
from ..levels import free_to_thresholds, thresholds_to_free
from . import quadrature

__all__ = [
    "Blurred",
    "Jet",
    "LearntLikelihood",
    "Likelihood",
    "LogLinear",
    "Ordinal",
    "Several",
    "Symmetric",
]

_LINKS = {
    "probit": PROBIT,
    "logit": LOGIT,
    "cloglog": CLOGLOG,
    "loglog": LOGLOG,
    "student": STUDENT,
}
#: Largest curvature of -log p for noise one, that of a narrow level. For Gumbel noise there is
#: none, but its mixture curves no more than its narrowest part.
_SHARPEST = {"probit": 1.0, "logit": 0.5, "student": 1.25} | dict.fromkeys(
    ("cloglog", "loglog"), float(PARTS[CLOGLOG][1].min() ** -2)
)
#: Bounds of the search for each kind of parameter: logarithms, except for the first threshold.
_BOXES = {
    "noise": (-7.0, 3.0),
    "comparison_noise": (-7.0, 3.0),
    "first_threshold": (-20.0, 20.0),
    "gap": (-8.0, 3.0),
    "noise_slope": (-2.0, 2.0),
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

    def by_variance(self, weights: np.ndarray | float = 1.0, *along: np.ndarray) -> np.ndarray:
        """Derivative in the variance of a ``log_expected``, or of ``along @ (L, L', L'', ..)``.

        By the heat equation: ``dL/dvar = (L'' + L'^2) / 2``, and so on for its derivatives.
        ``weights`` are those by which the jet was multiplied.
        """
        d1, d2, d3, d4 = self.d1, self.d2, self.d3, self.d4
        by = 0.5 * (d2 + d1**2 / weights)
        if not along:
            return by
        by_first, by_second = (
            d3 + 2.0 * d1 * d2 / weights,
            d4 + 2.0 * (d2**2 + d1 * d3) / weights,
        )
        return along[0] * by + 0.5 * (along[1] * by_first + along[2] * by_second)

    def matched_site(self, mean: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Precision and shift that turn the cavity's moments into those of the tilted density.

        Of ``log_expected`` at cavity means ``mean``: GPML 3.56 to 3.59, in natural parameters.
        """
        d1, d2, shrink = self.d1, self.d2, self.shrink
        return -d2 / shrink, (d1 - mean * d2) / shrink


class Likelihood(Protocol):
    """What engines ask of the likelihood of all observations."""

    @property
    def noise(self) -> float | np.ndarray:
        """Scale of the noise, of all observations or of each."""
        ...

    @property
    def max_precision(self) -> float | np.ndarray: ...
    def point(self, y: np.ndarray, mean: np.ndarray) -> Jet: ...
    def log_expected(
        self, y: np.ndarray, mean: np.ndarray, var: np.ndarray, power: np.ndarray | None = None
    ) -> Jet: ...
    def expected_log(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Jet: ...
    def pull(self, y: np.ndarray, jet: Jet, *weights: np.ndarray) -> np.ndarray: ...
    def only(self, which: slice | np.ndarray) -> Self:
        """The likelihood of some of the observations."""
        ...


class LearntLikelihood(Likelihood, Protocol):
    """A likelihood with free parameters."""

    @property
    def theta(self) -> np.ndarray: ...
    @property
    def theta_kinds(self) -> tuple[str, ...]: ...
    @property
    def bounds(self) -> np.ndarray: ...
    def with_theta(self, theta: np.ndarray) -> Self: ...


@dataclass(frozen=True)
class Ordinal:
    """Level ``k`` is seen when ``thresholds[k-1] < f + noise * e <= thresholds[k]``."""

    thresholds: np.ndarray  # (K - 1,), increasing; the outer ones, infinite, are not stored
    noise: float = 1.0  # scale of e
    link: str = "probit"  # the distribution of e

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
        return _SHARPEST[self.link] / self.noise**2

    def point(self, y: np.ndarray, mean: np.ndarray) -> Jet:
        """log p(y | f) at f = mean."""
        lower, upper = self._interval(y)
        link = _LINKS[self.link]
        return Jet(_numerics.interval_jets(link, lower, upper, mean, self.noise))

    def log_expected(
        self, y: np.ndarray, mean: np.ndarray, var: np.ndarray, power: np.ndarray | None = None
    ) -> Jet:
        """log E[p(y | f)^power] under f ~ N(mean, var).

        Power one has closed forms: noise that is not normal is a mixture of normals there, with
        a relative error of tails below 4e-4 (Gumbel noise: 2.4e-3).
        """
        lower, upper = self._interval(y)
        link = _LINKS[self.link]
        if power is None:
            return Jet(_numerics.blurred_jets(link, lower, upper, mean, var, self.noise))
        if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(var))):
            raise FloatingPointError("the latent values are not finite; lower the weights.")
        check_shape(lower.shape, mean=mean, var=var, power=power)
        noise = np.full(len(y), self.noise)
        return Jet(quadrature.log_expected_jets(link, lower, upper, mean, var, noise, power))

    def expected_log(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Jet:
        """E[log p(y | f)] under f ~ N(mean, var)."""
        lower, upper = self._interval(y)
        check_shape(lower.shape, mean=mean, var=var)
        noise = np.full(len(y), self.noise)
        link = _LINKS[self.link]
        return Jet(quadrature.expected_log_jets(link, lower, upper, mean, var, noise))

    def proba(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Probability of each level for latent values ~ N(mean, var); (n, K), rows sum to 1."""
        proba = np.exp(self.log_proba(mean, var))
        return proba / proba.sum(axis=1, keepdims=True)

    def log_proba(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Log probability of each level, finite however improbable; (n, K)."""
        n, K = len(mean), self.n_levels
        levels = np.tile(np.arange(K), n)
        moments = np.repeat(mean, K), np.repeat(var, K)
        interval, link = self._interval(levels), _LINKS[self.link]
        jets = _numerics.blurred_jets(link, *interval, *moments, self.noise, concave=False)
        return jets[0].reshape(n, K)

    def pull(self, y: np.ndarray, jet: Jet, *weights: np.ndarray) -> np.ndarray:
        """Gradient in ``theta`` of ``w0 @ L + w1 @ dL/dmean + w2 @ d2L/dmean2``, weights held.

        Weights left out are zero.
        """
        # All thresholds above a moved gap shift together, and a shift of all thresholds is a
        # shift of f the other way: only an observation's own upper threshold needs a derivative
        # of its own (differences of two would cancel for narrow levels).
        orders = range(len(weights))
        shift = -sum(weights[i] * jet.rows[1 + i] for i in orders)
        own = sum(weights[i] * jet.upper[i] for i in orders)
        by_noise = sum(weights[i] @ jet.scale[i] for i in orders)
        shift_by_level = np.bincount(y, shift, self.n_levels)
        own_by_level = np.bincount(y, own, self.n_levels)
        above = np.cumsum(shift_by_level[::-1])[::-1]  # levels k and higher
        gaps = np.diff(self.thresholds) * (own_by_level[1:-1] + above[2:])
        return np.concatenate([[by_noise, above[0]], gaps])

    def only(self, which: slice | np.ndarray) -> Self:
        """The likelihood of some of the observations: the same for all."""
        return self

    def _interval(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        edges = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        return edges[y], edges[y + 1]


_HALF_LOG_2 = 0.5 * np.log(2.0)


@dataclass(frozen=True)
class Symmetric(Ordinal):
    """An `Ordinal` whose thresholds mirror one another; made by `Symmetric.of`.

    Its free parameters are log sigma and the logarithms of the steps from zero outwards. Sigma
    is the noise of one utility, so that of a difference of two is sqrt(2) sigma.
    """

    @classmethod
    def of(
        cls,
        steps: ArrayLike = (),
        *,
        ties: bool = False,
        sigma: float = 1.0,
        link: str = "probit",
    ) -> Symmetric:
        """From the steps between thresholds, from zero outwards.

        With ``ties`` the middle is a level, as wide as twice the first step; without, zero is
        a threshold.
        """
        side = np.cumsum(np.asarray(steps, dtype=np.float64))
        middle = [] if ties else [0.0]
        thresholds = np.concatenate([-side[::-1], middle, side])
        return cls(thresholds, float(np.sqrt(2.0) * sigma), link)

    @property
    def ties(self) -> bool:
        """Whether the middle is a level."""
        return self.n_levels % 2 == 1

    @property
    def sigma(self) -> float:
        """Noise of one utility."""
        return self.noise / float(np.sqrt(2.0))

    @property
    def steps(self) -> np.ndarray:
        """Steps between thresholds, from zero outwards."""
        return np.diff(self.thresholds[self.thresholds > 0], prepend=0.0)

    @property
    def theta(self) -> np.ndarray:
        return np.concatenate([[np.log(self.noise) - _HALF_LOG_2], np.log(self.steps)])

    def with_theta(self, theta: np.ndarray) -> Symmetric:
        sigma, *steps = np.exp(theta)
        return Symmetric.of(steps, ties=self.ties, sigma=sigma, link=self.link)

    @property
    def theta_kinds(self) -> tuple[str, ...]:
        return ("comparison_noise", *("gap",) * len(self.steps))

    def pull(self, y: np.ndarray, jet: Jet, *weights: np.ndarray) -> np.ndarray:
        """Gradient in ``theta``; see `Ordinal.pull`."""
        by_noise, first, *gaps = super().pull(y, jet, *weights)
        # above[j]: all thresholds from number j on move up together.
        above = np.array([first, *(gaps / np.diff(self.thresholds)), 0.0])
        q = len(self.steps)
        right = above[self.n_levels - 1 - q : -1]
        left = above[0] - above[q:0:-1]  # the mirror images
        return np.concatenate([[by_noise], self.steps * (right - left)])


@dataclass(frozen=True)
class LogLinear:
    """An `Ordinal` whose noise depends on features: ``log noise_i = log noise + X[i] @ zeta``.

    The free parameters are those of ``base``, then ``zeta``.
    """

    base: Ordinal
    zeta: np.ndarray  # (d,)
    X: np.ndarray  # (n, d), of the observations

    @property
    def noise(self) -> np.ndarray:
        """Of each observation."""
        return self.base.noise * np.exp(self.X @ self.zeta)

    @property
    def max_precision(self) -> np.ndarray:
        """Of each observation."""
        return self.base.max_precision * np.exp(-2.0 * (self.X @ self.zeta))

    @property
    def thresholds(self) -> np.ndarray:
        return self.base.thresholds

    @property
    def n_levels(self) -> int:
        return self.base.n_levels

    @property
    def theta(self) -> np.ndarray:
        """Those of the base, then zeta."""
        return np.concatenate([self.base.theta, self.zeta])

    def with_theta(self, theta: np.ndarray) -> LogLinear:
        """The same likelihood at other free parameters."""
        k = len(theta) - len(self.zeta)
        return replace(self, base=self.base.with_theta(theta[:k]), zeta=theta[k:])

    @property
    def theta_kinds(self) -> tuple[str, ...]:
        """What each entry of `theta` is."""
        return (*self.base.theta_kinds, *("noise_slope",) * len(self.zeta))

    @property
    def bounds(self) -> np.ndarray:
        """Box for `theta`."""
        slopes = widened([_BOXES["noise_slope"]] * len(self.zeta), self.zeta)
        return np.concatenate([self.base.bounds, slopes])

    def point(self, y: np.ndarray, mean: np.ndarray) -> Jet:
        """log p(y | f) at f = mean."""
        return self._each(1).point(y, mean)

    def log_expected(
        self, y: np.ndarray, mean: np.ndarray, var: np.ndarray, power: np.ndarray | None = None
    ) -> Jet:
        """log E[p(y | f)^power] under f ~ N(mean, var)."""
        return self._each(1).log_expected(y, mean, var, power)

    def expected_log(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Jet:
        """E[log p(y | f)] under f ~ N(mean, var)."""
        return self._each(1).expected_log(y, mean, var)

    def proba(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Probability of each level; see `Ordinal.proba`."""
        return self._each(self.n_levels).proba(mean, var)

    def log_proba(self, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
        """Log probability of each level; see `Ordinal.log_proba`."""
        return self._each(self.n_levels).log_proba(mean, var)

    def pull(self, y: np.ndarray, jet: Jet, *weights: np.ndarray) -> np.ndarray:
        """Gradient in ``theta``; see `Ordinal.pull`."""
        by_row = sum(w * jet.scale[i] for i, w in enumerate(weights))
        return np.concatenate([self.base.pull(y, jet, *weights), self.X.T @ by_row])

    def only(self, which: slice | np.ndarray) -> LogLinear:
        """The likelihood of some of the observations."""
        return replace(self, X=self.X[which])

    def _each(self, copies: int) -> Ordinal:
        """The base with the noise of each observation, ``copies`` times in a row."""
        noise: Any = np.repeat(self.noise, copies)
        return replace(self.base, noise=noise)


@dataclass(frozen=True)
class Several:
    """Observations of several kinds, each with a likelihood of its own.

    Ratings beside comparisons, or the answers of several judges. The free parameters are those
    of the parts, one after another.
    """

    parts: tuple[Ordinal, ...]
    kind: np.ndarray  # (m,), the part of each observation

    @cached_property
    def _places(self) -> list[np.ndarray]:
        return [np.flatnonzero(self.kind == i) for i in range(len(self.parts))]

    @property
    def noise(self) -> np.ndarray:
        """Of each observation."""
        return np.array([part.noise for part in self.parts])[self.kind]

    @property
    def max_precision(self) -> np.ndarray:
        """Of each observation."""
        return np.array([part.max_precision for part in self.parts])[self.kind]

    @property
    def theta(self) -> np.ndarray:
        """Those of the parts, one after another."""
        return np.concatenate([part.theta for part in self.parts])

    def with_theta(self, theta: np.ndarray) -> Several:
        """The same likelihood at other free parameters."""
        ends = np.cumsum([len(part.theta) for part in self.parts])[:-1]
        pieces = zip(self.parts, np.split(theta, ends), strict=True)
        return replace(self, parts=tuple(part.with_theta(piece) for part, piece in pieces))

    @property
    def theta_kinds(self) -> tuple[str, ...]:
        """What each entry of `theta` is."""
        return tuple(kind for part in self.parts for kind in part.theta_kinds)

    @property
    def bounds(self) -> np.ndarray:
        """Box for `theta`."""
        return np.concatenate([part.bounds for part in self.parts])

    def point(self, y: np.ndarray, mean: np.ndarray) -> Jet:
        """log p(y | h) at h = mean."""
        return self._each(lambda part, i: part.point(y[i], mean[i]))

    def log_expected(
        self, y: np.ndarray, mean: np.ndarray, var: np.ndarray, power: np.ndarray | None = None
    ) -> Jet:
        """log E[p(y | h)^power] under h ~ N(mean, var)."""
        return self._each(
            lambda part, i: part.log_expected(
                y[i], mean[i], var[i], None if power is None else power[i]
            )
        )

    def expected_log(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Jet:
        """E[log p(y | h)] under h ~ N(mean, var)."""
        return self._each(lambda part, i: part.expected_log(y[i], mean[i], var[i]))

    def pull(self, y: np.ndarray, jet: Jet, *weights: np.ndarray) -> np.ndarray:
        """Gradient in ``theta``; see `Ordinal.pull`."""
        parts = zip(self.parts, self._places, strict=True)
        return np.concatenate(
            [p.pull(y[i], Jet(jet.rows[:, i]), *(w[i] for w in weights)) for p, i in parts]
        )

    def only(self, which: slice | np.ndarray) -> Several:
        """The likelihood of some of the observations."""
        return replace(self, kind=self.kind[which])

    def _each(self, view: Callable[[Ordinal, np.ndarray], Jet]) -> Jet:
        jets = [view(part, i).rows for part, i in zip(self.parts, self._places, strict=True)]
        rows = np.empty((jets[0].shape[0], len(self.kind)))
        for jet, i in zip(jets, self._places, strict=True):
            rows[:, i] = jet
        return Jet(rows)


@dataclass(frozen=True)
class Blurred:
    """A likelihood of ``q + r``, seen as one of q: r is normal with a known variance.

    What inducing values do not say of a latent value is such an r. It is integrated out where
    the likelihood is asked: ``log_expected`` and ``point`` are then exact, and ``expected_log``
    is the part of the variational bound that belongs to q.
    """

    likelihood: Likelihood
    variance: np.ndarray  # (m,), of r

    @property
    def noise(self) -> np.ndarray:
        """Of each observation."""
        return np.sqrt(np.square(self.likelihood.noise) + self.variance)

    @property
    def max_precision(self) -> np.ndarray:
        """Of each observation: a precision of at most t, blurred, is at most 1 / (1/t + v)."""
        return 1.0 / (1.0 / self.likelihood.max_precision + self.variance)

    def point(self, y: np.ndarray, mean: np.ndarray) -> Jet:
        """log p(y | q) at q = mean."""
        return self.likelihood.log_expected(y, mean, self.variance)

    def log_expected(
        self, y: np.ndarray, mean: np.ndarray, var: np.ndarray, power: np.ndarray | None = None
    ) -> Jet:
        """log E[p(y | q + r)^power] under q ~ N(mean, var)."""
        rows = self.likelihood.log_expected(y, mean, var + self.variance, power).rows
        # Shrinking is that of q + r, 1 + (var + variance) d2; that of q is wanted.
        rows[JET] -= self.variance * rows[2]
        return Jet(rows)

    def expected_log(self, y: np.ndarray, mean: np.ndarray, var: np.ndarray) -> Jet:
        """E[log p(y | q + r)] under q ~ N(mean, var)."""
        return self.likelihood.expected_log(y, mean, var + self.variance)

    def pull(self, y: np.ndarray, jet: Jet, *weights: np.ndarray) -> np.ndarray:
        """Gradient in the likelihood's ``theta``; see `Ordinal.pull`."""
        return self.likelihood.pull(y, jet, *weights)

    def only(self, which: slice | np.ndarray) -> Blurred:
        """The likelihood of some of the observations."""
        return Blurred(self.likelihood.only(which), self.variance[which])
