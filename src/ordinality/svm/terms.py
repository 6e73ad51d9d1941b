"""Hinge terms of the formulations: four machines for ordinal regression, and comparisons.

With ``t_ij = +1`` if row i lies above threshold j and -1 if not, a term is
``[1 - t_ij (f_i - b_j)]_+`` and costs ``C w_i``. The machines differ in which terms they have:

- fixed margin (Shashua and Levin, 2003): those of the two thresholds next to the row's level;
- explicit constraints (Chu and Keerthi, 2005): the same, and ``b_1 <= b_2 <= ...``;
- implicit constraints (Chu and Keerthi, 2005): those of all thresholds; the optimum is ordered;
- sum of margins (Shashua and Levin, 2003): a band ``a_j <= b_j`` for each threshold, the sum of
  whose widths is maximised while ``|w| <= 1``; slack is how far a row lies beyond a side;
- comparisons (constraint classification, Har-Peled et al., 2002): ``[1 - f_p]_+`` for the score
  of a pair, with no threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

__all__ = ["FORMULATIONS", "Terms", "comparisons", "explicit", "fixed_margin", "implicit",
           "sum_of_margins"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Terms:
    """Hinge terms ``upper [hinge - sign (f[row] - b[node])]_+``, sorted by node."""

    n_rows: int  # number of scores
    n_nodes: int  # number of thresholds J
    row: np.ndarray  # (M,); score of each term
    node: np.ndarray  # (M,); threshold of each term
    sign: np.ndarray  # (M,); +1 for a row that should lie above the threshold, -1 below
    upper: np.ndarray  # (M,); cost of a unit of slack, the bound of the multiplier
    hinge: float  # margin: 1, or 0 for the sum of margins, where the bands are the margin
    push: np.ndarray  # (J,); cost of raising a threshold: zero, or +1, -1 for sides of a band
    chained: bool = False  # whether the thresholds are constrained to be ordered
    pinned: bool = False  # whether the one threshold is fixed at zero

    @property
    def first(self) -> np.ndarray:
        """Where the terms of each node begin, shape (J + 1,); the last entry is M."""
        return np.searchsorted(self.node, np.arange(self.n_nodes + 1)).astype(np.int64)

    def scaled(self, factor: float) -> Terms:
        """The same terms at another C."""
        return replace(self, upper=factor * self.upper)


def _sorted_terms(
    n_rows: int,
    n_nodes: int,
    parts: list[tuple[np.ndarray, np.ndarray, float]],
    cost: np.ndarray,
    hinge: float = 1.0,
    chained: bool = False,
) -> Terms:
    """Terms from parts (rows, nodes, one sign), without nodes out of range and zero costs."""
    row = np.concatenate([part[0] for part in parts])
    node = np.concatenate([part[1] for part in parts])
    sign = np.concatenate([np.full(len(part[0]), part[2]) for part in parts])
    there = np.flatnonzero((node >= 0) & (node < n_nodes) & (cost[row] > 0))
    order = there[np.argsort(node[there], kind="stable")]
    row, node, sign = row[order].astype(np.int64), node[order].astype(np.int64), sign[order]
    push = np.zeros(n_nodes)
    return Terms(n_rows, n_nodes, row, node, sign, cost[row], hinge, push, chained)


def fixed_margin(y: np.ndarray, n_levels: int, cost: np.ndarray) -> Terms:
    """Terms of the two thresholds next to each row's rank; ``cost`` is C times the weight."""
    rows = np.arange(len(y))
    return _sorted_terms(len(y), n_levels - 1, [(rows, y - 1, 1.0), (rows, y, -1.0)], cost)


def explicit(y: np.ndarray, n_levels: int, cost: np.ndarray) -> Terms:
    """The terms of `fixed_margin`, with thresholds constrained to be ordered."""
    return replace(fixed_margin(y, n_levels, cost), chained=True)


def implicit(y: np.ndarray, n_levels: int, cost: np.ndarray) -> Terms:
    """Terms of all thresholds for each row."""
    parts = []
    for j in range(n_levels - 1):
        for rows, sign in ((np.flatnonzero(y > j), 1.0), (np.flatnonzero(y <= j), -1.0)):
            parts.append((rows, np.full(len(rows), j), sign))
    return _sorted_terms(len(y), n_levels - 1, parts, cost)


def sum_of_margins(y: np.ndarray, n_levels: int, cost: np.ndarray) -> Terms:
    """Terms of the bands between levels.

    Nodes are ``a_1 <= b_1 <= a_2 <= b_2 <= ...``: rows of level j should lie below a_j and
    above b_{j-1}.
    """
    rows, n_nodes = np.arange(len(y)), 2 * (n_levels - 1)
    parts = [(rows, 2 * y - 1, 1.0), (rows, 2 * y, -1.0)]
    terms = _sorted_terms(len(y), n_nodes, parts, cost, hinge=0.0, chained=True)
    return replace(terms, push=np.tile([1.0, -1.0], n_levels - 1))


def comparisons(cost: np.ndarray) -> Terms:
    """One term for the score of each pair, which should be at least one."""
    m = len(cost)
    terms = _sorted_terms(m, 1, [(np.arange(m), np.zeros(m, dtype=np.int64), 1.0)], cost)
    return replace(terms, pinned=True)


FORMULATIONS = {
    "implicit": implicit,
    "explicit": explicit,
    "fixed-margin": fixed_margin,
    "sum-of-margins": sum_of_margins,
}
