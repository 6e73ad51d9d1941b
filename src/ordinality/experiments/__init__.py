"""Experiments: cells computed once and kept, set side by side, tested and reported.

- `Spec`, `Method`, `Metric`: what an experiment is, as a value; `papers` holds four papers',
  `defaults`, `large_data` and `league` our own.
- `run` and `Store`: cells to rows, stopped and resumed at any time.
- `table`: the means of an experiment, beside published ones where there are any.
- `rank_sum`, `signed_rank`, `corrected_t`, `bayesian_signed_rank`, `friedman`,
  `nemenyi_critical_difference`, `holm`, `verdict`: which of several methods is better, and how
  certain that is; for your own scores too.
"""

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
