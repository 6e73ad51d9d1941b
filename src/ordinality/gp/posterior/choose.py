"""The protocols of prior and posterior forms, and the choice of the cheapest.

The forms and their costs are listed in `ordinality.gp.posterior`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from ..design import Combinations, Design, Labels
from .contrasts import Contrasts
from .observations import Observations
from .one_vs_rest import OneVsRest
from .precision import Precision
from .whitened import Whitened

__all__ = ["Posterior", "Prior", "labels_effort", "prior_of"]

# One step of EP costs 2/3 m^3 by observations and about 2 n^3 whitened, one of Laplace 1/3 and
# 4/3: the forms break even near m = 1.5 n.
_TALL = 1.5
_SOONER = 0.8  # of that ratio, where K can be inverted: that form costs half the whitened one


class Posterior(Protocol):
    """What engines ask of the posterior under some sites."""

    @property
    def half_log_det(self) -> float:
        """Half the log determinant of B."""
        ...

    def moments(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean of h under shifts ``nu``, and alpha: both linear in ``nu``."""
        ...

    def inverted(self) -> Self:
        """The same posterior, ready for `marginals`; overwrites the memory of this one."""
        ...

    def marginals(self) -> tuple[np.ndarray, np.ndarray]:
        """``1 - tau_i var_i``, the share of h_i that is not due to its own site; and var."""
        ...

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean under shifts ``nu`` and covariance of the vector that `Prior.view` takes."""
        ...

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> Any:
        """``(a a' - G + v a' + a v') / 2``, ``a = A' alpha``, ``v = A' implicit``: in K.

        With inducing points there is no such matrix, but an `InducingGradient`.
        Needs the inverted posterior and overwrites its memory.
        """
        ...


class Prior(Protocol):
    """What engines ask of the prior of h."""

    @property
    def effort(self) -> float:
        """Rows of a matrix whose Cholesky factor costs what `given` costs."""
        ...

    @property
    def diagonal(self) -> np.ndarray:
        """Prior variances of h, shape (m,)."""
        ...

    def __matmul__(self, alpha: np.ndarray) -> np.ndarray:
        """``A K A' alpha``."""
        ...

    def given(self, tau: np.ndarray) -> Posterior:
        """The posterior under sites of precision ``tau``."""
        ...

    def view(self, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """What observations ``block`` see of the vector of `Posterior.latent`."""
        ...


def prior_of(design: Design, K: np.ndarray, precision: ArrayLike = 0.0) -> Prior:
    """The prior of what ``design`` sees of ``g ~ N(0, K)``, in the cheapest form.

    ``precision`` is the largest that sites may have; the larger, the more digits are needed.
    """
    if isinstance(design, Labels):
        contrasts = Contrasts.of(design, K)
        one_vs_rest = OneVsRest.of(contrasts, float(np.max(precision)))
        if one_vs_rest is not None and one_vs_rest.is_cheaper:
            return one_vs_rest
        return contrasts if contrasts.is_cheaper else Observations.of(design, K)
    if isinstance(design, Combinations) and len(design) > _SOONER * _TALL * len(K):
        inverted = Precision.of(design, K, float(np.max(precision)))
        if inverted is not None:
            return inverted
        if len(design) > _TALL * len(K):
            return Whitened.of(design, K)
    return Observations.of(design, K)


def labels_effort(design: Labels) -> float:
    """Rows of the matrices that exact inference of label preferences works on, about."""
    sides = len(design), design.n * (design.L - 1)  # preferences, contrasts
    return min(*sides, OneVsRest.effort_of(design))
