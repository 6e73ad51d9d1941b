"""Structures of thresholds: ``theta = J alpha``, a column of J for each free parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["STRUCTURES", "Structure", "threshold_structure"]

STRUCTURES = ("flexible", "symmetric", "symmetric2", "equidistant")


@dataclass(frozen=True, eq=False)
class Structure:
    """How K-1 thresholds follow from q parameters."""

    J: np.ndarray  # (K-1, q)
    names: tuple[str, ...]  # of the parameters; empty for flexible ones, which levels name
    shift: np.ndarray | None  # (q,) with J @ shift = 1: moves all; None if they cannot move

    @property
    def flexible(self) -> bool:
        """Whether the parameters are the thresholds themselves."""
        return not self.names


def threshold_structure(kind: str, n_levels: int) -> Structure:
    """The structure of the name `kind`, as R's ordinal package defines it.

    symmetric: the distances from the central threshold, or from the two central ones, are the
    same to both sides; symmetric2: likewise about zero; equidistant: one spacing.
    """
    m = n_levels - 1
    if kind == "flexible":
        return Structure(np.eye(m), (), np.ones(m))
    if kind == "equidistant":
        J = np.column_stack([np.ones(m), np.arange(m)])
        return Structure(J, ("threshold.1", "spacing"), np.array([1.0, 0.0]))
    half = m // 2
    about_zero = kind == "symmetric2"
    one = m % 2 == 1  # one central threshold, which symmetric2 holds at zero
    n_spacings = half if one or about_zero else half - 1
    outwards = np.zeros((m, n_spacings))
    for k in range(n_spacings):
        place = k + 1 if one or not about_zero else k  # steps away from the centre
        high = m - half + place - (1 if one else 0)
        outwards[high, k], outwards[m - 1 - high, k] = 1.0, -1.0
    names: tuple[str, ...]
    spacings = tuple(f"spacing.{k + 1}" for k in range(n_spacings))
    if about_zero:
        return Structure(outwards, spacings, None)
    if one:
        centre, names = np.ones((m, 1)), ("central",)
    else:
        centre = np.repeat(np.eye(2), half, axis=0)
        names = ("central.1", "central.2")
    shift = np.append(np.ones(len(names)), np.zeros(n_spacings))
    return Structure(np.hstack([centre, outwards]), (*names, *spacings), shift)
