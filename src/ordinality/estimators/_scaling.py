"""Features shifted and scaled to unit spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Scaling"]


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(x - centre) / spread``: features of mean zero and standard deviation one.

    Examples
    --------
    >>> import numpy as np
    >>> scaling = Scaling.of(np.array([[1.0, 7.0], [3.0, 7.0]]), np.ones(2))
    >>> scaling(np.array([[5.0, 8.0]]))
    array([[3., 1.]])
    """

    centre: np.ndarray  # (d,)
    spread: np.ndarray  # (d,), one for a feature that never varies

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> Scaling:
        """The scaling under which these rows are standardised."""
        centre = np.average(X, axis=0, weights=weights)
        reach = np.max(np.abs(X - centre), axis=0)
        unit = np.where(reach > 0, reach, 1.0)  # squares of 1e200 overflow
        squares = ((X - centre) / unit) ** 2
        spread = unit * np.sqrt(np.average(squares, axis=0, weights=weights))
        # Below this a column is constant up to the rounding of its mean.
        floor = 10 * np.finfo(float).eps * np.abs(centre) * np.sqrt(len(X))
        return cls(centre, np.where(spread > floor, spread, 1.0))

    @classmethod
    def none(cls, d: int) -> Scaling:
        """Features as they are."""
        return cls(np.zeros(d), np.ones(d))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (X - self.centre) / self.spread
