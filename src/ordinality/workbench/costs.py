"""Estimated cost of a model on a table: what decides which models are tried.

The time a fit takes on this machine, today, is no ground for a choice: on a busy machine the
same command would give another model. So the choice rests on an estimate that depends only on
the size of the table. One fold of a cross-validation (a fit, predictions of the rows left out,
and the importance of the columns) costs about

    fixed + scale * rows**a * columns**b * levels**c

seconds of processor time, where rows are those of the training part and columns those after
encoding. ``benchmarks/model_costs.py`` measures the constants and prints them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from ordinality._compile import watch

__all__ = ["COSTS", "Cost", "Size", "Spent", "processor_time"]


class Size(NamedTuple):
    """Size of a table: rows, columns after encoding, levels."""

    rows: int
    columns: int
    levels: int


class Cost(NamedTuple):
    """Processor seconds of one fold, ``fixed + scale * rows**a * columns**b * levels**c``."""

    fixed: float
    scale: float
    a: float
    b: float
    c: float

    def of_fold(self, size: Size) -> float:
        """Seconds of one fold whose training part has this size.

        Examples
        --------
        >>> Cost(fixed=0.5, scale=1e-6, a=2, b=1, c=0).of_fold(Size(1000, 4, 3))
        4.5
        """
        grown = size.rows**self.a * size.columns**self.b * size.levels**self.c
        return self.fixed + self.scale * grown

    def of_all(self, size: Size, n_folds: int) -> float:
        """Seconds of all folds and of the fit to all rows, for a table of this size.

        Examples
        --------
        >>> Cost(fixed=0.5, scale=1e-6, a=2, b=1, c=0).of_all(Size(1000, 4, 3), 2)
        7.5
        """
        trained = size._replace(rows=max(1, round(size.rows * (1 - 1 / n_folds))))
        return n_folds * self.of_fold(trained) + self.of_fold(size)


# Processor seconds on one core of a machine that was busy, compiled code being there. Measured
# for 3 to 36 columns, 2 to 8 levels and 40 to 4000 rows (Gaussian processes and plsor to 1500).
# A measured fold is missed by a factor of two at most, of svm 2.7; beyond, it is extrapolated.
COSTS = {
    "gp": Cost(0.074, 4.8e-8, 2, 1, 0.25),
    "linear": Cost(0.057, 2.7e-8, 2, 0.93, 0.82),
    "ard": Cost(0.078, 5.2e-8, 2, 0.84, 0.77),
    "laplace": Cost(0.073, 2.6e-8, 2, 1, 0.51),
    "plsor": Cost(0.062, 1.9e-7, 2, 0.71, 0.056),
    "boost": Cost(0.12, 1.9e-5, 1, 1, 0),
    "trees": Cost(0.085, 5.2e-6, 1, 1, 0.13),
    "rankboost": Cost(0.13, 1.3e-5, 1, 1, 0.29),
    "svm": Cost(0.054, 4.5e-9, 2, 1, 0),
    "svm-search": Cost(0.2, 7e-6, 2, 1, 0),  # of 40 and 100 rows only
    "frequencies": Cost(0.0043, 2.9e-8, 1, 1, 0.72),
    "rounded": Cost(0.017, 2.2e-8, 2.7, 0.13, 0),
    "rounded-linear": Cost(0.0068, 2.6e-6, 1, 0.55, 0.11),
}


@dataclass
class Spent:
    """Processor seconds of a block of work, once it has ended."""

    seconds: float = 0.0


@contextmanager
def processor_time() -> Iterator[Spent]:
    """Measure a block in processor seconds of this process. The only clock of the workbench.

    Compiling is left out: it happens once on a machine, and is not the cost of a model.

    Examples
    --------
    >>> with processor_time() as spent:
    ...     total = sum(range(1000))
    >>> spent.seconds < 1
    True
    """
    spent, began = Spent(), time.process_time()
    with watch(lambda: None) as compiling:
        try:
            yield spent
        finally:
            spent.seconds = time.process_time() - began - compiling.seconds
