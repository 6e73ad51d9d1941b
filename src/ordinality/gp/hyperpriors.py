"""Priors of the learnt parameters.

The papers maximise P(D | theta) P(theta). Evidence alone overfits small sets: with thirty rows
and ten levels a dozen parameters fit the labels' accidents. A weak Gaussian prior on the
logarithms, centred where the optimiser starts, mends that and is soon outvoted by data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["WEAK", "Hyperprior", "hyperprior"]

#: Standard deviations of the default prior, per kind of parameter (all logarithms but the first
#: threshold's), as chosen by experiment: docs/hyperpriors.md.
WEAK: dict[str, float] = {
    "length_scale": 1.0,
    "relevance": 2.0,  # an inverse square of a length
    "variance": 1.0,
    "alpha": 1.0,
    "offset": 1.0,
    "foreign": 1.0,
    "noise": 0.5,
    "comparison_noise": 1.0,  # judges differ more than measurements: docs/preferences.md
    "slope": 1.0,
    "first_threshold": 6.0,
    "gap": 1.0,
}


@dataclass(frozen=True)
class Hyperprior:
    """Independent Gaussians on the free parameters; an infinite ``sd`` is flat.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.gp.hyperpriors import Hyperprior
    >>> prior = Hyperprior(centre=np.zeros(2), sd=np.array([1.0, np.inf]))
    >>> prior.value(np.array([2.0, 5.0]))
    -2.0
    """

    centre: np.ndarray  # (p,)
    sd: np.ndarray  # (p,)

    def value(self, theta: np.ndarray) -> float:
        """Log density up to a constant."""
        return -0.5 * float(np.sum(((theta - self.centre) / self.sd) ** 2))

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Derivative of `value`."""
        return -(theta - self.centre) / self.sd**2


def hyperprior(choice: Any, start: np.ndarray, kinds: tuple[str, ...]) -> Hyperprior | None:
    """The prior a user asked for, centred where learning starts.

    Parameters
    ----------
    choice : "weak", None, mapping or Hyperprior
        A mapping gives a standard deviation, or a pair (centre, standard deviation), per kind
        of parameter; kinds left out are flat.
    start : ndarray of shape (p,)
        The free parameters where learning starts.
    kinds : tuple of str
        What each of them is.
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
    centre, sd = np.array(pairs).T
    return Hyperprior(centre, sd)


def _pair(kind: str, value: Any, start: float) -> tuple[float, float]:
    """Centre and standard deviation of one parameter."""
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
