"""Panels: what people answered about items, and the ranking that follows from it.

`rank_answers` turns answers to "which of these two?" into a ranking with intervals of places,
a summary of each judge, a check on answers kept aside and the questions to ask next.
`leaderboard` shows one as a table, also on the scale of Elo. `split_half` compares rankings by
halves of the judges, which shows camps.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .judges import JudgeSummary
    from .leaderboards import Leaderboard, leaderboard
    from .ranking import CovariateEffect, HeldOut, RankedItem, Ranking, rank_answers
    from .split_halves import SplitHalf, split_half

__all__ = [
    "CovariateEffect",
    "HeldOut",
    "JudgeSummary",
    "Leaderboard",
    "RankedItem",
    "Ranking",
    "SplitHalf",
    "leaderboard",
    "rank_answers",
    "split_half",
]

_HOMES = {  # of whatever is not in `ranking`
    "JudgeSummary": "judges",
    "Leaderboard": "leaderboards",
    "SplitHalf": "split_halves",
    "leaderboard": "leaderboards",
    "split_half": "split_halves",
}


def __getattr__(name: str) -> object:
    # Loaded on first use: a server that takes answers needs the store, and no numerics.
    if name not in __all__:
        raise AttributeError(f"module 'ordinality.panel' has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'ranking')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
