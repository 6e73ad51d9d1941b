"""Answers about sets of items, read as the pairs that they compare, and the weight of these.

Without numerics, because the server of the pages starts without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

__all__ = ["best_worst_pairs", "order_pairs", "set_weight"]

# Weights of the pairs of one set that keep intervals honest, found by simulation at ratios of
# signal to noise of 1 to 4: pairs of one set share the noise of its items.
SET_WEIGHTS = {
    "ranking": {2: 1.0, 3: 0.8, 4: 0.75, 5: 0.65},
    "best-worst": {2: 1.0, 3: 0.8, 4: 0.75, 5: 0.65},
    "choice": {2: 1.0, 3: 0.8, 4: 0.8},
}
# Without any signal the weight is the variance that independent pairs would give the score of
# an item, over the true one: proportional to these for sets of q.
DECREASE: dict[str, Callable[[int], float]] = {
    "ranking": lambda q: 1 / (q + 1),
    "best-worst": lambda q: (2 * q - 3) / (q - 1) ** 2,
    "choice": lambda q: 1 / q,
}


def set_weight(kind: str, size: int) -> float:
    """Weight of each pair of an answer about a set of items."""
    known = SET_WEIGHTS[kind]
    largest = max(known)
    if size <= largest:
        return known.get(size, 1.0)
    return known[largest] * DECREASE[kind](size) / DECREASE[kind](largest)


def best_worst_pairs(offered: Sequence[Any], best: Any, worst: Any) -> list[tuple[Any, Any]]:
    """Pairs that the best and the worst of a set compare, the better item first."""
    middle = [one for one in offered if one not in (best, worst)]
    return [(best, worst), *((best, one) for one in middle), *((one, worst) for one in middle)]


def order_pairs(order: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs that an order, the best first, compares, the better item first."""
    return list(combinations(order, 2))
