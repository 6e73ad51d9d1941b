"""Active learning: which question to ask next, and when to stop.

A model of comparisons has a posterior of every difference of utilities, and so an expected
value of every question. Chu & Ghahramani (2005, ICML), section 2.4, name it as future work:
"select from the data pool the sample with the highest expected information gain".

`next_pair` chooses questions; `order_gain`, `information_gain`, `expected_best` and
`uncertainty` give the value of questions; `rank_intervals`, `top_k_members`,
`expected_rank_changes` and `top_k_probability` tell how certain the ranking is, and `Trust`
whether that can be believed. All take a fitted `PreferenceGP`, or the `Snapshot` that
``model.snapshot()`` makes: the ratio of signal to noise is integrated out.

`next_row` chooses the rows of a pool to label next, for `OrdinalGP` and
`LeastSquaresOrdinalGP`; `next_label_pair` the labels to compare next, for `LabelRankingGP`.
"""

from ..estimators.snapshot import Snapshot
from .betting import Trust
from .gains import expected_best, information_gain, order_gain, uncertainty
from .label_questions import next_label_pair
from .questions import next_pair
from .row_questions import next_row
from .stopping import (
    expected_rank_changes,
    rank_intervals,
    top_k_members,
    top_k_probability,
)

__all__ = [
    "Snapshot",
    "Trust",
    "expected_best",
    "expected_rank_changes",
    "information_gain",
    "next_label_pair",
    "next_pair",
    "next_row",
    "order_gain",
    "rank_intervals",
    "top_k_members",
    "top_k_probability",
    "uncertainty",
]
