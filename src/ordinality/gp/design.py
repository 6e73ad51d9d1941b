"""What an observation sees of the latent vector.

Observation ``i`` sees ``h_i = a_i' g`` of a latent vector ``g ~ N(0, K)``; the rows ``a_i``
make the design. The engines never look at rows: they ask for the prior covariance of ``h`` and
send back a gradient in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["Design", "Direct"]


class Design(Protocol):
    """The two questions an engine asks of a design."""

    def covariance(self, K: np.ndarray) -> np.ndarray:
        """Prior covariance of what the observations see, ``A K A'``."""
        ...

    def pullback(self, G: np.ndarray) -> np.ndarray:
        """Turn a gradient in ``A K A'`` into a gradient in ``K``: ``A' G A``."""
        ...


@dataclass(frozen=True)
class Direct:
    """Each observation sees its own latent value: ordinal regression.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinality.gp.design import Direct
    >>> Direct().covariance(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    def covariance(self, K: np.ndarray) -> np.ndarray:
        """``A`` is the identity."""
        return K

    def pullback(self, G: np.ndarray) -> np.ndarray:
        """``A`` is the identity."""
        return G
