"""Gaussian processes and trees on a cluster: the same sums over rows, computed by Dask.

With inducing points one pass over the rows is a sum of M x M matrices, whatever machine the
rows are on. A partition of the rows is loaded where it is used, a task for each partition and
pass gives its sums, and a tree adds them up. `ordinality.OrdinalGP` takes Dask arrays and data
frames, and so does `ordinality.OrdinalTrees`; `log_evidence` gives the evidence of all rows
with its gradient, for a search of your own. Scheduling, transport and recovery are Dask's:
whatever runs Dask, runs this.
"""

from .cluster import connect
from .partitions import PartitionedRows
from .passes import Evidence, log_evidence

__all__ = ["Evidence", "PartitionedRows", "connect", "log_evidence"]
