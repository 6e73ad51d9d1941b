"""Hyperpriors: priors of the learnt parameters.

The papers maximise P(D | theta) P(theta). Evidence alone overfits small sets: with thirty rows
and ten levels a dozen parameters fit the noise of the labels. A weak Gaussian prior on the
logarithms, centred where the optimiser starts, prevents that, and data soon outweigh it.

The variance of effects of single items is different: it may well be zero. Log-normal priors
exclude that, so strictly that 4000 comparisons were not enough to remove effects that were not
there. A half-normal prior of their standard deviation s is nearly flat at zero, and so falls on
``log s**2`` by half a nat for each unit and no faster.

Relative scales of features are different, too: most features matter about alike, and a few far
more or not at all. A normal distribution that is narrow enough for the many is too narrow for
the few, so theirs is Student's t with three degrees of freedom.

Judges of comparisons differ in noise, but less than one set of answers from another: the prior
of the mean of their logarithms is wide, that of deviations from the mean narrow, so that few
answers make no judge extreme. Some answer at random, so the deviations have Student's t, too.

Gelman (2006), "Prior distributions for variance parameters in hierarchical models", Bayesian
Analysis 1, for the half-normal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["JUDGE_SPREAD", "WEAK", "Hyperprior", "hyperprior"]

#: Scale of Student's t of judges' log noises around their mean: docs/preferences.md.
JUDGE_SPREAD = 0.5

#: Standard deviations of the default prior, or centre and deviation, per kind of parameter (all
#: logarithms but those of the first threshold, the linear share and items), as chosen by
#: experiment: docs/hyperpriors.md.
WEAK: dict[str, float | tuple[float, float]] = {
    "length_scale": 1.0,
    "relevance": 2.0,  # an inverse square of a length
    "linear_share": (-1.0, 1.5),  # log odds, centred at 0.27 wherever learning starts
    "common_scale": (0.0, 1.0),  # likewise; learning starts at exp(-1), see `LinearGaussian`
    "relative_scale": 0.4,  # of Student's t
    "variance": 1.0,
    "item_variance": 0.55,  # half-normal, of the effects themselves: docs/preferences.md
    "alpha": 1.0,
    "offset": 1.0,
    "foreign": 1.0,
    "noise": 0.5,
    "noise_slope": 0.1,  # 0.25 is worse: it follows chance
    "comparison_noise": 1.0,  # more than of measurements: docs/preferences.md
    "judge_spread": JUDGE_SPREAD,
    "slope": 1.0,
    "first_threshold": 6.0,
    "gap": 1.0,
}
_HALF = ("item_variance",)  # kinds whose square root has a half-normal prior
_TAILED = ("relative_scale",)  # kinds with Student's t in place of the normal
_DEGREES = 3.0


@dataclass(frozen=True)
class Hyperprior:
    """Independent Gaussians on the free parameters; an infinite ``sd`` is flat.

    Where ``half`` is finite, ``exp(theta / 2)`` is half-normal with that standard deviation.
    Where ``degrees`` is finite, the density is Student's t with that many and scale ``sd``.
    The mean of parameters ``together`` has their ``sd``; their deviations from it are Student's
    t with three degrees and scale ``spread``.
    """

    centre: np.ndarray  # (p,)
    sd: np.ndarray  # (p,)
    half: np.ndarray | None = None  # (p,)
    degrees: np.ndarray | None = None  # (p,)
    together: np.ndarray | None = None  # which parameters, ascending numbers
    spread: float = 0.0

    def _apart(self, theta: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Of J parameters ``together``: deviations in spreads, their mean, J times its sd^2."""
        assert self.together is not None
        away, J = (theta - self.centre)[self.together], len(self.together)
        mean, sd = float(away.mean()), float(self.sd[self.together[0]])
        return (away - mean) / self.spread, mean, J * sd**2

    def value(self, theta: np.ndarray) -> float:
        """Log density up to a constant."""
        squares = ((theta - self.centre) / self.sd) ** 2
        if self.together is not None:
            z, mean, wide = self._apart(theta)
            tails = (_DEGREES + 1.0) * np.log1p(z**2 / _DEGREES)
            squares[self.together] = tails + mean**2 / wide
        if self.degrees is not None:
            tailed = np.isfinite(self.degrees)
            nu = self.degrees[tailed]
            squares[tailed] = (nu + 1.0) * np.log1p(squares[tailed] / nu)
        total = -0.5 * float(np.sum(squares))
        if self.half is None:
            return total
        # Half of theta: the density is that of theta, like all others.
        there = np.isfinite(self.half)
        at, scale = theta[there], self.half[there]
        return total + 0.5 * float(np.sum(at - np.exp(at) / scale**2))

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Derivative of `value`."""
        slope = -(theta - self.centre) / self.sd**2
        if self.together is not None:
            z, mean, wide = self._apart(theta)
            pull = (_DEGREES + 1.0) * z / (_DEGREES + z**2) / self.spread
            slope[self.together] = pull.mean() - pull - mean / wide
        if self.degrees is not None:
            tailed = np.isfinite(self.degrees)
            nu, away = self.degrees[tailed], (theta - self.centre)[tailed] / self.sd[tailed]
            slope[tailed] *= (nu + 1.0) / (nu + away**2)
        if self.half is not None:
            there = np.isfinite(self.half)
            slope[there] += 0.5 - 0.5 * np.exp(theta[there]) / self.half[there] ** 2
        return slope

    def curvature(self, theta: np.ndarray) -> np.ndarray:
        """Negative second derivative of `value`; a half-normal is not counted."""
        found = self.sd**-2.0
        if self.together is not None:
            z, _, wide = self._apart(theta)
            J, bend = len(z), (_DEGREES + 1.0) * (_DEGREES - z**2) / (_DEGREES + z**2) ** 2
            own = (1.0 - 2.0 / J) * bend + bend.mean() / J
            found[self.together] = own / self.spread**2 + 1.0 / (J * wide)
        if self.degrees is not None:
            tailed = np.isfinite(self.degrees)
            nu, away = self.degrees[tailed], (theta - self.centre)[tailed] / self.sd[tailed]
            found[tailed] *= (nu + 1.0) * (nu - away**2) / (nu + away**2) ** 2
        return found


def hyperprior(choice: Any, start: np.ndarray, kinds: tuple[str, ...]) -> Hyperprior | None:
    """The prior from a user's ``choice``, centred at ``start`` unless that says otherwise.

    A mapping gives a standard deviation, or (centre, standard deviation), for each kind of
    parameter; kinds left out are flat.
    """
    if choice is None or isinstance(choice, Hyperprior):
        return choice
    if isinstance(choice, str) and choice == "weak":
        choice = WEAK
    if not isinstance(choice, Mapping):
        raise ValueError(
            f"hyperprior={choice!r} is not understood; use 'weak', None, a mapping from "
            f"{sorted(WEAK)} to a standard deviation or a (centre, standard deviation) pair, "
            "or a Hyperprior."
        )
    unknown = sorted(set(choice) - set(WEAK))
    if unknown:
        raise ValueError(
            f"hyperprior has no parameter called {unknown[0]!r}; the names are {sorted(WEAK)}."
        )
    pairs = [_pair(k, choice.get(k, np.inf), at) for k, at in zip(kinds, start, strict=True)]
    centre, sd = np.array(pairs).reshape(-1, 2).T
    is_half = np.isin(kinds, _HALF)
    is_tailed = np.isin(kinds, _TAILED) & np.isfinite(sd)
    degrees = np.where(is_tailed, _DEGREES, np.inf) if is_tailed.any() else None
    half = None
    if np.any(is_half & np.isfinite(sd)):
        half, sd = np.where(is_half, sd, np.inf), np.where(is_half, np.inf, sd)
    judges = np.flatnonzero(np.array(kinds) == "comparison_noise")
    spread = _pair("judge_spread", choice.get("judge_spread", np.inf), 0.0)[1]
    if len(judges) < 2 or not np.isfinite(spread):
        return Hyperprior(centre, sd, half, degrees)
    return Hyperprior(centre, sd, half, degrees, judges, spread)


def _pair(kind: str, value: Any, start: float) -> tuple[float, float]:
    """Centre and standard deviation of one parameter."""
    if kind in _HALF and np.ndim(value):
        raise ValueError(
            f"hyperprior[{kind!r}] is {value!r}, but this prior has no centre; give the "
            "standard deviation of a half-normal alone, such as 0.5."
        )
    try:
        centre, sd = (start, float(value)) if np.ndim(value) == 0 else map(float, value)
        sound = np.isfinite(centre) and sd > 0
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(
            f"hyperprior[{kind!r}] is {value!r}; wanted a standard deviation above zero, or a "
            "pair (centre, standard deviation) such as (0.0, 0.5)."
        )
    return centre, sd
