"""Tables: from data files and data frames to the input of estimators.

`read` and `features_and_target` turn a data file into a problem of ordinal regression, and
`rows_for` prepares the rows of a new table for a fitted model. `scan` opens a table that need
not fit in memory, and `open_table` decides by its size. `suggest` recognises the order of
levels; `write` saves columns, `write_blocks` saves them as they come, and `formula_cells`
counts cells that a spreadsheet would take for formulas. `choices_to_pairs` and
`rankings_to_pairs` turn tables of choices and of ranks into comparisons, and `comparisons`
reads the answers of people, by the names of items.
"""

from ordinality.scales import Suggestion, suggest

from .choices import Comparisons, choices_to_pairs, rankings_to_pairs
from .columns import Table, TableError
from .comparisons import AnswerTable, comparisons
from .encoding import feature_names, rows_for, sources
from .read import read
from .scan import Scan, open_table, scan
from .task import Task, features_and_target
from .write import formula_cells, write, write_blocks

__all__ = [
    "AnswerTable",
    "Comparisons",
    "Scan",
    "Suggestion",
    "Table",
    "TableError",
    "Task",
    "choices_to_pairs",
    "comparisons",
    "feature_names",
    "features_and_target",
    "formula_cells",
    "open_table",
    "rankings_to_pairs",
    "read",
    "rows_for",
    "scan",
    "sources",
    "suggest",
    "write",
    "write_blocks",
]
