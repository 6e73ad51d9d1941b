"""Experiments: cells computed once and kept, set side by side, tested and reported.

- `Spec`, `Method`, `Metric`: what an experiment is, as a value; `papers` holds four papers',
  `large_data` one of our own.
- `run` and `Store`: cells to rows, stopped and resumed at any time.
- `table`: the means of an experiment, beside published ones where there are any.
- `rank_sum`, `signed_rank`, `corrected_t`, `bayesian_signed_rank`, `friedman`,
  `nemenyi_critical_difference`, `holm`, `verdict`: which of several methods is better, and how
  certain that is; for your own scores too.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cells import run
    from .compare import (
        bayesian_signed_rank,
        corrected_t,
        friedman,
        holm,
        nemenyi_critical_difference,
        rank_sum,
        signed_rank,
        verdict,
    )
    from .result_rows import Store
    from .results_page import table
    from .spec import Method, Metric, Spec

_HOMES = {
    "Method": "spec",
    "Metric": "spec",
    "Spec": "spec",
    "Store": "result_rows",
    "bayesian_signed_rank": "compare",
    "corrected_t": "compare",
    "friedman": "compare",
    "holm": "compare",
    "nemenyi_critical_difference": "compare",
    "rank_sum": "compare",
    "run": "cells",
    "signed_rank": "compare",
    "table": "results_page",
    "verdict": "compare",
}

__all__ = [
    "Method",
    "Metric",
    "Spec",
    "Store",
    "bayesian_signed_rank",
    "corrected_t",
    "friedman",
    "holm",
    "nemenyi_critical_difference",
    "rank_sum",
    "run",
    "signed_rank",
    "table",
    "verdict",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
