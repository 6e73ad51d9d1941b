"""Data sets: small tables of the package, the data folder, partitions and generators.

*Embedded*: `load_wine`, `load_housing` and the other classics come with the package. *Folder*:
the benchmark sets of the papers do not; `load` and `partitions` read them from `data_folder`,
and `available`, `missing` and `verify` say what it holds. *Derived*: levels are cut from metric
targets, comparisons drawn from utilities or labels, and ratings arranged as inputs.
*Synthetic*: the generators draw what the papers' figures show, and smooth problems of any size.
"""

from .classics import (
    CLASSICS,
    embedded_path,
    load_arthritis,
    load_baseball,
    load_cheese,
    load_citations,
    load_embedded,
    load_housing,
    load_mental,
    load_pneumoconiosis,
    load_wine,
)
from .derived import (
    PairSplit,
    chu_labels,
    collaborative_filtering,
    equal_frequency,
    equal_length,
    label_pairs,
    rating_matrix,
    utility_pairs,
)
from .folder import (
    VARIABLE,
    Check,
    MissingDataError,
    available,
    data_folder,
    find,
    missing,
    verify,
)
from .inventory import FOLDERS, INVENTORY, PAPERS, Entry
from .loading import Dataset, load
from .splits import Partitions, RowSplit, Split, fresh_partitions, partitions, standardised
from .synthetic import (
    SmoothProblem,
    bands_2d,
    expected_utilities,
    five_levels_1d,
    smooth_ordinal,
    three_ranks_2d,
)

__all__ = [
    "CLASSICS",
    "FOLDERS",
    "INVENTORY",
    "PAPERS",
    "VARIABLE",
    "Check",
    "Dataset",
    "Entry",
    "MissingDataError",
    "PairSplit",
    "Partitions",
    "RowSplit",
    "SmoothProblem",
    "Split",
    "available",
    "bands_2d",
    "chu_labels",
    "collaborative_filtering",
    "data_folder",
    "embedded_path",
    "equal_frequency",
    "equal_length",
    "expected_utilities",
    "find",
    "five_levels_1d",
    "fresh_partitions",
    "label_pairs",
    "load",
    "load_arthritis",
    "load_baseball",
    "load_cheese",
    "load_citations",
    "load_embedded",
    "load_housing",
    "load_mental",
    "load_pneumoconiosis",
    "load_wine",
    "missing",
    "partitions",
    "rating_matrix",
    "smooth_ordinal",
    "standardised",
    "three_ranks_2d",
    "utility_pairs",
    "verify",
]
