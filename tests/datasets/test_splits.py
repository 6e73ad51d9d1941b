"""Partitions: published ones as published, fresh ones the same everywhere."""

import hashlib

import numpy as np
import pytest

from ordinality import datasets
from ordinality.datasets import Split, fresh_partitions, partitions, standardised


def digest(rows):
    text = ";".join(",".join(map(str, part.tolist())) for r in rows for part in r)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# ---------------------------------------------------------------- fresh ones


def test_a_partition_has_every_row_once():
    for train, test in fresh_partitions(50, 30, 5, seed=3):
        assert len(train) == 30
        assert sorted([*train, *test]) == list(range(50))


def test_a_seed_gives_the_same_partitions_on_every_machine():
    # The raw stream of PCG64 is part of NumPy's promise; these were drawn with 2.4 on Linux.
    assert digest(fresh_partitions(1000, 700, 3, seed=2005)) == "b078fb7739d70f3a"


def test_more_repeats_keep_the_first_ones():
    few, many = fresh_partitions(40, 10, 2, seed=1), fresh_partitions(40, 10, 6, seed=1)
    assert digest(few) == digest(many[:2])


def test_partitions_differ_from_one_another_and_from_those_of_other_seeds():
    drawn = [*fresh_partitions(40, 10, 5, seed=1), *fresh_partitions(40, 10, 5, seed=2)]
    assert len({tuple(sorted(rows.train.tolist())) for rows in drawn}) == 10


def test_a_smaller_training_set_is_part_of_a_larger_one():
    (small,), (large,) = (fresh_partitions(40, k, 1, seed=1) for k in (10, 25))
    assert set(small.train) < set(large.train)


def test_every_row_is_trained_on_about_equally_often():
    drawn = fresh_partitions(20, 10, 2000, seed=0)
    share = np.bincount(np.concatenate([r.train for r in drawn]), minlength=20) / 2000
    # Five standard deviations of a binomial share of a half in 2000 draws.
    assert np.all(np.abs(share - 0.5) < 5 * np.sqrt(0.25 / 2000))


def test_the_test_rows_may_be_limited():
    (rows,) = fresh_partitions(800, 300, 1, seed=0, test_size=400)
    assert (len(rows.train), len(rows.test)) == (300, 400)
    assert not set(rows.train) & set(rows.test)


def test_numbers_of_rows_become_rows():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    (rows,) = fresh_partitions(6, 4, 1, seed=0)
    split = rows.of(X, y)
    np.testing.assert_array_equal(split.X[:, 0], 2.0 * split.y)
    np.testing.assert_array_equal(split.y_test, rows.test)


@pytest.mark.parametrize(("train", "test"), [(0, None), (10, None), (6, 5)])
def test_sizes_that_do_not_fit_are_refused(train, test):
    with pytest.raises(ValueError, match=f"{train} rows to learn from .* of 10"):
        fresh_partitions(10, train, 1, seed=0, test_size=test)


# ---------------------------------------------------------------- scaling


@pytest.fixture
def split():
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, 3.0, (30, 3))
    X[:, 2] = 0.1  # constant, and its mean rounds
    y = rng.integers(1, 4, 30)
    return Split(X[:20], y[:20], X[20:], y[20:])


def test_training_rows_are_standardised_by_themselves(split):
    scaled = standardised(split)
    np.testing.assert_allclose(scaled.X[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.X[:, :2].std(axis=0), 1.0)
    assert np.all(scaled.X[:, 2] == 0)
    assert np.all(scaled.X_test[:, 2] == 0)
    assert abs(scaled.X_test[:, 0].mean()) > 1e-6


def test_all_rows_are_standardised_together_where_a_paper_did(split):
    scaled = standardised(split, by="all", ddof=1)
    both = np.concatenate([scaled.X, scaled.X_test])
    np.testing.assert_allclose(both[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(both[:, :2].std(axis=0, ddof=1), 1.0)


def test_labels_are_left_alone_and_an_unknown_way_is_refused(split):
    np.testing.assert_array_equal(standardised(split).y, split.y)
    with pytest.raises(ValueError, match="by='test' is not known"):
        standardised(split, by="test")


# ---------------------------------------------------------------- published ones


@pytest.mark.parametrize(
    ("name", "kind", "bins", "message"),
    [
        ("abalone", "chus", 5, "kind='chus' is not known"),
        ("abalone", "chu", None, "bins=None was not published for chu partitions; say 5 or 10"),
        ("abalone", "equal-frequency", 7, "bins=7 was not published"),
        ("era", "orca", 5, "bins=5 has no meaning"),
        ("era", "chu", 5, "'era_5' is not a data set of the inventory"),
    ],
)
def test_partitions_that_were_not_published_are_refused(name, kind, bins, message):
    with pytest.raises(ValueError, match=message):
        partitions(name, kind, bins)


def test_partitions_listed_in_a_file_are_read_by_role(small_folder):
    lines = ["partition,role,x1,target"]
    for k in (1, 2):
        lines += [f"{k},{'test' if i == k else 'train'},{i},{i + 1}" for i in range(3)]
    small_folder("orca_partitions/toy.csv.gz", "\n".join(lines) + "\n")
    X, y, X_test, y_test = partitions("toy", "orca")[1]
    assert X.ravel().tolist() == [0.0, 1.0]
    assert y.tolist() == [1, 2]
    assert (X_test.tolist(), y_test.tolist()) == ([[2.0]], [3])


def test_partitions_kept_as_masks_are_rows_of_the_metric_set(small_folder):
    small_folder("regression/stocks.csv.gz", "company1,target\n10,1\n20,2\n30,3\n")
    small_folder(
        "equal_frequency_partitions/stocks.csv.gz",
        "row,label_5,train5_01,train5_20\n0,1,1,0\n1,2,0,1\n2,3,1,1\n",
    )
    found = partitions("stocks", "equal-frequency", 5)
    assert found[0].X.ravel().tolist() == [10.0, 30.0]
    assert found[-1].X_test.tolist() == [[10.0]]
    assert found[-1].y.tolist() == [2, 3]


def test_partitions_are_a_sequence(small_folder):
    found = partitions("toy", "orca")
    assert len(found) == 30
    with pytest.raises(IndexError):
        found[30]
    assert found[3:3] == []
    assert repr(found) == "Partitions('toy', orca: 30)"


def test_a_missing_file_of_partitions_is_an_error(small_folder):
    with pytest.raises(datasets.MissingDataError, match="orca_partitions/toy.csv.gz is not in"):
        partitions("toy", "orca")[0]


@pytest.mark.parametrize(
    ("name", "kind", "bins", "train", "test", "d"),
    [
        ("diabetes", "chu", 5, 30, 13, 2),
        ("boston_housing", "chu", 10, 300, 206, 13),
        ("abalone", "chu", 5, 1000, 3177, 10),
        ("pyrimidines", "equal-frequency", 10, 50, 24, 27),
        ("bank8fm", "equal-frequency", 10, 50, 8142, 8),
        ("esl", "orca", None, 366, 122, 4),
    ],
)
def test_published_partitions_have_the_published_sizes(
    published, name, kind, bins, train, test, d
):
    found = partitions(name, kind, bins)
    for split in (found[0], found[-1]):
        assert split.X.shape == (train, d)
        assert split.X_test.shape == (test, d)
        assert len(split.y) == train
        assert np.issubdtype(split.y.dtype, np.integer)


def test_every_partition_divides_the_same_rows(published):
    whole = [
        np.sort(np.concatenate([s.X, s.X_test]), axis=0)
        for s in partitions("machine_cpu", "chu", 5)
    ]
    assert len(whole) == 20
    for rows in whole[1:]:
        np.testing.assert_array_equal(rows, whole[0])
