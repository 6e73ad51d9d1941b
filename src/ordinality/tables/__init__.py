"""Tables: data files and frames in, what estimators take out.

`read` and `features_and_target` turn a data file into a problem of ordinal regression;
`choices_to_pairs` and `rankings_to_pairs` turn tables of choices and of ranks into comparisons.
"""

from .choices import Comparisons, choices_to_pairs, rankings_to_pairs
from .files import Table, TableError, Task, features_and_target, read

__all__ = [
    "Comparisons",
    "Table",
    "TableError",
    "Task",
    "choices_to_pairs",
    "features_and_target",
    "rankings_to_pairs",
    "read",
]
