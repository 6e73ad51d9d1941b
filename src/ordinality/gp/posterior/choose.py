"""The posterior of what is observed, in two forms of one expression.

Sites (tau, nu) on ``h = A g``, ``g ~ N(0, K)``, give whatever the design

    precision = K^-1 + A' diag(tau) A,    precision @ mean = A' nu.

Engines ask for the moments of h only, and for ``alpha = nu - tau E[h]``, the pull of the
observations with ``K^-1 E[g] = A' alpha``. With m observations of n latent values:

`Observations`, the m-form
    works on ``B = I + sq A K A' sq``, m x m. Right for few observations, and for `Direct`.
`Whitened`, the n-form
    writes ``K = U U'``, ``g = U e``, and works on ``B = I + U' Lambda U``, n x n, where
    ``Lambda = A' diag(tau) A`` costs one pass over the observations. Neither K nor Lambda is
    inverted: both may be singular (repeated items; disconnected comparisons).

The two determinants are equal, and both have eigenvalues of at least one. Where K is far from
singular, `ordinality.gp.posterior.precision` does the work of the n-form at half its price.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from ..design import Combinations, Design
from .contrasts import Contrasts, Labels
from .observations import Observations
from .one_vs_rest import OneVsRest
from .precision import Precision
from .whitened import Whitened

__all__ = ["Posterior", "Prior", "prior_of"]


# One step of EP costs 2/3 m^3 in the m-form and about 2 n^3 in the n-form, one of Laplace 1/3
# and 4/3: the forms break even near m = 1.5 n.
_TALL = 1.5


_SOONER = 0.8  # of that ratio, where K can be inverted and the n-form costs half as much


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
        """``1 - tau_i var_i``, the share of itself each h_i owes to the others; and var."""
        ...

    def latent(self, nu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean under shifts ``nu`` and covariance of the vector that `Prior.view` looks at."""
        ...

    def evidence_gradient(self, alpha: np.ndarray, implicit: np.ndarray) -> np.ndarray:
        """``(a a' - G + v a' + a v') / 2``, ``a = A' alpha``, ``v = A' implicit``: in K.

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

    ``precision`` is the largest that sites may have: sharp ones need more digits.
    """
    if isinstance(design, Labels):
        contrasts = Contrasts.of(design, K)
        stars = OneVsRest.of(contrasts, float(np.max(precision)))
        if stars is not None and stars.is_cheaper:
            return stars
        return contrasts if contrasts.is_cheaper else Observations.of(design, K)
    if isinstance(design, Combinations) and len(design) > _SOONER * _TALL * len(K):
        inverted = Precision.of(design, K, float(np.max(precision)))
        if inverted is not None:
            return inverted
        if len(design) > _TALL * len(K):
            return Whitened.of(design, K)
    return Observations.of(design, K)
