"""What tests of tables share: a table from columns, of either kind of frame."""

import narwhals as nw
import pandas as pd
import polars as pl
import pytest

from ordinality.tables import Table


@pytest.fixture(params=[pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def table(request):
    """A function that makes a table of named columns."""

    def make(**columns):
        return Table(nw.from_native(request.param(columns), eager_only=True))

    return make
