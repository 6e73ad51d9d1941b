"""What the workers of the test cluster need, loaded once by the process they are forks of."""

import dask.dataframe  # noqa: F401
import distributed  # noqa: F401

import ordinality.distributed.passes
import ordinality.estimators  # noqa: F401

from .conftest import Problem

Problem(200, 10)  # calls the compiled loops: reading them from the cache takes a second
