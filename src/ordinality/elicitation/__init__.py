"""Active learning of preferences: which pair to compare next, and when to stop.

A model of comparisons has a posterior of every difference of utilities, and so an expected
value of every question. Chu & Ghahramani (2005, ICML), section 2.4, name it as future work:
"select from the data pool the sample with the highest expected information gain".

`next_pair` chooses questions; `order_gain`, `information_gain`, `expected_best` and
`uncertainty` give the value of questions; `expected_rank_changes` and `top_k_probability` tell
when to stop.
"""

from .gains import expected_best, information_gain, order_gain, uncertainty
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
