"""Importing the metrics is cheap, and all of them are exported."""

import subprocess
import sys

from ordinality import metrics


def test_importing_metrics_loads_nothing_but_numpy():
    code = (
        "import sys, ordinality.metrics; "
        "print({'narwhals', 'pandas', 'polars', 'matplotlib', 'sklearn'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "set()"


def test_every_public_name_is_exported():
    assert sorted(metrics.__all__) == metrics.__all__
    assert all(callable(getattr(metrics, name)) for name in metrics.__all__)
