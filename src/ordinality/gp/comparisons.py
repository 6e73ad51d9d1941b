"""Likelihoods of comparisons, and of observations of several kinds in one problem.

A comparison is an ordinal observation of a difference of utilities: "better" and "worse" are
two levels with a threshold at zero, a tie is a third between them, "much better" lies beyond
one more threshold. Both sides are treated alike, so thresholds mirror one another about zero.

Chu & Ghahramani (2005, ICML), eq. 5: with noise sigma on each of two utilities, their
difference is seen through noise sqrt(2) sigma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .likelihoods import Jet, Ordinal

__all__ = ["Several", "Symmetric"]

_HALF_LOG_2 = 0.5 * np.log(2.0)


@dataclass(frozen=True)
class Symmetric(Ordinal):
    """An `Ordinal` whose thresholds mirror one another; made by `Symmetric.of`.

    Its free parameters are log sigma, the noise of one utility, and the logarithms of the
    steps from zero outwards.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.gp.comparisons import Symmetric
    >>> graded = Symmetric.of([0.2, 1.0], ties=True)  # much worse, worse, tie, ...
    >>> graded.thresholds
    array([-1.2, -0.2,  0.2,  1.2])
    >>> Symmetric.of().proba(np.array([1.0]), np.zeros(1)).round(4)
    array([[0.2398, 0.7602]])
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
class Several:
    """Observations of several kinds, each with a likelihood of its own.

    Ratings beside comparisons, or the answers of several judges. The free parameters are those
    of the parts, one after another.

    Parameters
    ----------
    parts : tuple of Ordinal
    kind : ndarray of int, shape (m,)
        Which part each observation belongs to.
    """

    parts: tuple[Ordinal, ...]
    kind: np.ndarray

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
