"""What to ask next, and when to stop asking.

A model of comparisons knows how sure it is of every difference of utilities, so it can tell
which question would teach it most. Chu & Ghahramani (2005, ICML), section 2.4, left that for
later: "select from the data pool the sample with the highest expected information gain".

`next_pair` chooses questions; `order_gain`, `information_gain`, `expected_best` and
`uncertainty` say what given questions are worth; `expected_rank_changes` and
`top_k_probability` say whether it is time to stop.
"""

from .gains import expected_best, information_gain, uncertainty
from .order import order_gain
from .questions import next_pair
from .stopping import expected_rank_changes, top_k_probability

__all__ = [
    "expected_best",
    "expected_rank_changes",
    "information_gain",
    "next_pair",
    "order_gain",
    "top_k_probability",
    "uncertainty",
]
