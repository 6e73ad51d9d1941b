"""Tables: from data files and frames to what estimators take.

`read` and `features_and_target` turn a data file into a problem of ordinal regression, and
`rows_for` gives a fitted model the rows of a new one; `suggest` recognises how levels are
ordered, `write` saves columns (`formula_cells` counts what a spreadsheet would
calculate). `choices_to_pairs` and `rankings_to_pairs` turn tables of
choices and of ranks into comparisons.
"""

from ordinality.scales import Suggestion, suggest

from .choices import Comparisons, choices_to_pairs, rankings_to_pairs
from .encoding import feature_names, rows_for, sources
from .frames import Table, TableError
from .read import read
from .task import Task, features_and_target
from .write import formula_cells, write

__all__ = [
    "Comparisons",
    "Suggestion",
    "Table",
    "TableError",
    "Task",
    "choices_to_pairs",
    "feature_names",
    "features_and_target",
    "formula_cells",
    "rankings_to_pairs",
    "read",
    "rows_for",
    "sources",
    "suggest",
    "write",
]
