"""Rows in partitions: what is known of them together, and what is refused."""

from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from ordinality.distributed import PartitionedRows
from ordinality.distributed.partitions import encoded, sampled, summarised
from ordinality.estimators.fitting import Scaling
from ordinality.levels import Order

pytestmark = pytest.mark.usefixtures("here")
rng = np.random.default_rng(0)


def of_loaders(*parts):
    return PartitionedRows.from_loaders([(tuple, part) for part in parts])


def test_moments_and_counts_are_those_of_all_rows():
    X = rng.normal(size=(500, 4)) * [1.0, 1e-5, 1e180, 0.0] + [1e6, 3.0, 0.0, 7.0]
    y, w = rng.integers(0, 3, 500), rng.choice([0.0, 0.5, 2.0], 500)
    cuts = [0, 3, 3, 200, 201, 500]
    spans = [slice(a, b) for a, b in pairwise(cuts)]
    found = summarised(of_loaders(*[(X[s], y[s], w[s]) for s in spans]))
    kept = w > 0
    wanted = Scaling.of(X[kept], w[kept])
    ours = Scaling.by_moments(found.centre, found.spread, found.rows)
    np.testing.assert_allclose(ours.centre, wanted.centre, rtol=1e-12)
    np.testing.assert_allclose(ours.spread, wanted.spread, rtol=1e-9)
    assert found.rows == kept.sum()
    np.testing.assert_array_equal(found.counts, np.bincount(y[kept]))
    np.testing.assert_allclose(found.totals, np.bincount(y, w))


def test_text_labels_of_different_length_are_counted_together():
    found = summarised(of_loaders((np.ones((2, 1)), ["a", "bbb"]), (np.ones((1, 1)), ["a"])))
    assert found.labels.tolist() == ["a", "bbb"]
    assert found.counts.tolist() == [2, 1]


def test_a_sample_takes_rows_of_each_level_by_its_share():
    X = np.arange(4000.0)[:, None]
    y = (np.arange(4000) % 10 == 0).astype(int)
    parts = PartitionedRows.from_collections(da.from_array(X, 600), da.from_array(y, 600))
    rows = encoded(parts, Order(np.arange(2), "stated"), np.zeros(1), np.ones(1), np.ones(2))
    taken, ranks, _ = sampled(rows, np.array([0.1, 1.0]), seed=3)
    assert ranks.sum() == 400
    # 3600 rows with probability 0.1: four deviations are 72.
    assert abs(np.sum(ranks == 0) - 360) < 72
    assert len(np.unique(taken)) == len(taken)
    np.testing.assert_array_equal(taken, sampled(rows, np.array([0.1, 1.0]), seed=3)[0])
    places = [taken[(ranks == 0) & (taken[:, 0] // 600 == i)] % 600 for i in range(2)]
    assert set(places[0].ravel()) != set(places[1].ravel())  # each has its own random numbers


def test_unknown_chunk_sizes_are_enough():
    X, y = (
        da.from_array(np.arange(40.0).reshape(20, 2), (5, 2)),
        da.from_array(np.arange(20), 5),
    )
    some = y % 3 == 0
    parts = PartitionedRows.from_collections(X[some], y[some])
    found = summarised(parts)
    assert found.rows == 7
    assert found.labels.tolist() == [0, 3, 6, 9, 12, 15, 18]


def test_files_of_numpy_are_read_by_ranges(tmp_path):
    X, y, w = np.arange(30.0).reshape(10, 3), np.arange(10), np.ones(10)
    for name, values in {"X": X, "y": y, "w": w}.items():
        np.save(tmp_path / f"{name}.npy", values)
    files = [tmp_path / f"{name}.npy" for name in "Xyw"]
    parts = PartitionedRows.from_npy(*files[:2], rows=4, sample_weight=files[2])
    loaded = dask.compute(*parts.parts)
    assert [len(part.y) for part in loaded] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate([part.X for part in loaded]), X)
    np.save(files[1], y[:9])
    with pytest.raises(ValueError, match=r"the files have \[10, 9\] rows"):
        PartitionedRows.from_npy(*files[:2])


def test_parquet_row_groups_are_partitions(tmp_path):
    table = pd.DataFrame({"a": np.arange(10.0), "b": 1.0, "level": np.arange(10) % 2})
    table.to_parquet(tmp_path / "t.parquet", row_group_size=4)
    read = dd.read_parquet(tmp_path / "t.parquet", split_row_groups=True)
    parts = PartitionedRows.from_collections(read[["a", "b"]], read["level"])
    assert len(parts) == 3
    assert summarised(parts).counts.tolist() == [5, 5]


# ---------------------------------------------------------------- refusals


def two(change, at=1):
    """A data frame of two partitions, the second of them changed."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": 1.0, "y": [0, 1, 1, 0]})
    whole = dd.from_pandas(frame, npartitions=2)

    def changed(part, partition_info=None):
        return change(part.copy()) if partition_info["number"] == at else part

    # The metadata of the first partition, as a reader of files declares it.
    return whole.map_partitions(changed, meta=frame.iloc[:0])


def summary_of(frame):
    return summarised(PartitionedRows.from_collections(frame[["a", "b"]], frame["y"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.assign(a=["x", "y"]), "partition 1 of X.*not numbers"),
        (lambda part: part.assign(a=[np.nan, 1.0]), "partition 1 of X holds missing"),
        (
            lambda part: part.assign(y=[1.0, np.nan]),
            "partition 1: y contains nan at position 1",
        ),
        (
            lambda part: part.assign(y=["x", "y"]),
            "one partition has the label 0 and another 'x'",
        ),
        (lambda part: part.assign(y=[2, "y"]), "partition 1: y mixes text and numbers"),
    ],
)
def test_a_bad_partition_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        summary_of(two(change))


def test_a_partition_with_other_columns_is_named():
    renamed = dask.delayed(lambda part: part.rename(columns={"b": "c"}))
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": 1.0})
    blocks = [dask.delayed(frame), renamed(frame)]
    X = dd.from_delayed(blocks, meta=frame, verify_meta=False)
    y = dd.from_delayed([dask.delayed(pd.Series([0, 1]))] * 2, meta=pd.Series([0]))
    parts = PartitionedRows.from_collections(X, y)
    with pytest.raises(
        ValueError, match=r"partition 1 has the columns \['a', 'c'\].*\['a', 'b'\]"
    ):
        summarised(parts)


@pytest.mark.parametrize("index", [[1, 0], [0, 1]])
def test_rows_with_another_index_are_refused(index):
    frame, labels = pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([0, 1], index=index)
    X = dd.from_delayed([dask.delayed(frame)], meta=frame)
    y = dd.from_delayed([dask.delayed(labels)], meta=labels)
    parts = PartitionedRows.from_collections(X, y)
    if index == [0, 1]:
        assert summarised(parts).rows == 2
    else:
        with pytest.raises(ValueError, match="partition 0 of y has another index"):
            summarised(parts)


def test_loaders_with_different_numbers_of_features_are_refused():
    parts = of_loaders((np.ones((2, 2)), [0, 1]), (np.ones((2, 3)), [0, 1]))
    with pytest.raises(ValueError, match="one partition has 2 features and another 3"):
        summarised(parts)


def test_partitions_of_different_length_are_refused():
    X, y = da.ones((10, 2), chunks=(5, 2)), da.from_array(np.arange(10), 5)
    unknown = y[y >= 0]
    with pytest.raises(ValueError, match="partition 1 has 5 rows in X, but y has shape"):
        summarised(PartitionedRows.from_collections(X, y[y < 8]))
    with pytest.raises(ValueError, match="y has 2 partitions and X 5"):
        PartitionedRows.from_collections(X.rechunk((2, 2)), unknown)
    with pytest.raises(ValueError, match="y has 8 rows and X 10"):
        PartitionedRows.from_collections(X, y[:8])


def test_what_is_no_dask_collection_is_refused():
    X = da.ones((10, 2))
    for y in (np.arange(10), list(range(10)), dask.delayed(np.arange)(10)):
        with pytest.raises(TypeError, match="y is a .*; pass X, y and weights as Dask"):
            PartitionedRows.from_collections(X, y)
    with pytest.raises(ValueError, match="no partitions"):
        PartitionedRows.from_loaders([])


def test_numbers_that_are_no_levels_are_refused():
    with pytest.raises(ValueError, match="more than 1000 distinct labels"):
        summarised(of_loaders((np.ones((2000, 1)), rng.normal(size=2000))))


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="sample_weight holds negative.*in partition 0"):
        summarised(of_loaders((np.ones((2, 1)), [0, 1], [1.0, -1.0])))


def test_different_categories_are_refused():
    def ordered(*categories):
        return pd.Series(pd.Categorical(["a", "b"], list(categories), ordered=True))

    parts = of_loaders(
        (np.ones((2, 1)), ordered("a", "b")), (np.ones((2, 1)), ordered("b", "a"))
    )
    with pytest.raises(
        ValueError, match=r"different categories, \['a', 'b'\] and \['b', 'a'\]"
    ):
        summarised(parts)
