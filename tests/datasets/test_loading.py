"""Data sets as arrays: inputs, targets and names."""

import numpy as np
import pytest

from ordinality import datasets
from ordinality.datasets import Dataset
from ordinality.datasets.loading import encoded


def test_metric_targets_and_encoded_inputs(small_folder):
    small_folder("regression/abalone.csv.gz", "Sex,Length,target\nM,0.4,9\nI,,7\nF,0.5,8\n")
    found = datasets.load("abalone")
    assert found.kind == "metric"
    assert found.feature_names == ("Sex=F", "Sex=I", "Sex=M", "Length")
    np.testing.assert_array_equal(found.X[:, 3], [0.4, np.nan, 0.5])
    assert found.y.tolist() == [9.0, 7.0, 8.0]
    assert "Lin & Li (2006)" in found.description
    assert (found.source, found.licence) == ("github.com/renatopp/arff-datasets", "none stated")


def test_ordinal_labels_count_from_one_and_levels_name_them(small_folder):
    small_folder("ordinal/balance_scale.csv", "left_weight,target\n1,1\n2,3\n5,2\n")
    found = datasets.load("balance_scale")
    assert found.y.dtype == np.int64
    assert [found.levels[k - 1] for k in found.y] == ["L", "R", "B"]


def test_columns_that_are_not_inputs_are_aside(small_folder):
    small_folder(
        "ordinal/bondrate.csv", "City,Population,target\nRome,3,1\nOslo,1,2\nBonn,2,5\n"
    )
    found = datasets.load("bondrate")
    assert found.feature_names == ("Population",)
    assert found.aside["City"].tolist() == ["Rome", "Oslo", "Bonn"]


def test_classes_are_as_in_the_file(small_folder):
    small_folder("multiclass/segment.csv.gz", "hue,target\n1,sky\n2,path\n3,sky\n")
    found = datasets.load("multiclass/segment")
    assert found.y.tolist() == ["sky", "path", "sky"]
    assert found.levels == ("path", "sky")


def test_rankings_have_a_column_for_each_label(small_folder):
    small_folder("label_ranking/iris.csv", "A1,rank_a,rank_b,rank_c\n0.1,2,1,3\n0.2,3,2,1\n")
    found = datasets.load("iris")
    assert found.levels == ("a", "b", "c")
    assert found.y.tolist() == [[2, 1, 3], [3, 2, 1]]
    assert found.feature_names == ("A1",)


def test_contests_point_to_the_rows_of_what_was_measured(small_folder):
    small_folder("preference/flatlizards_contests.csv", "winner,loser\nb,a\nc,b\n")
    small_folder("preference/flatlizards_predictors.csv", "lizard,SVL\na,1\nb,2\nc,3\n")
    found = datasets.load("flatlizards_contests")
    assert found.items == ("a", "b", "c")
    assert found.pairs.tolist() == [[1, 0], [2, 1]]
    assert found.y.tolist() == [1, 1]
    assert found.X.tolist() == [[1.0], [2.0], [3.0]]


def test_partitions_are_not_loaded_as_a_set():
    with pytest.raises(ValueError, match=r"published partitions; read it with partitions\("):
        datasets.load("chu_partitions/abalone_5")


def test_a_set_has_arrays_of_its_own(small_folder):
    small_folder("regression/diabetes.csv", "age,deficit,target\n1,2,3\n")
    first = datasets.load("diabetes")
    first.X[0, 0] = first.y[0] = 99.0
    second = datasets.load("diabetes")
    assert (second.X[0, 0], second.y[0]) == (1.0, 3.0)


def test_a_set_cannot_be_changed_and_says_what_it_is():
    found = Dataset(
        "d", "ordinal", np.zeros((2, 3)), np.array([1, 2]), ("a", "b", "c"), ("l", "h")
    )
    with pytest.raises(AttributeError):
        found.name = "other"
    with pytest.raises(TypeError):
        found.aside["x"] = np.zeros(2)
    assert repr(found) == "Dataset('d', ordinal: 2 rows, 3 inputs, 2 levels)"


def test_counts_can_be_repeated_as_rows():
    counted = Dataset(
        "d", "ordinal", np.array([[1.0], [2.0], [3.0]]), np.array([1, 2, 1]), ("a",),
        weight=np.array([2.0, 0.0, 1.0]), aside={"cell": np.array(["p", "q", "r"])},
    )  # fmt: skip
    spelt = counted.repeated()
    assert spelt.X.ravel().tolist() == [1.0, 1.0, 3.0]
    assert spelt.y.tolist() == [1, 1, 1]
    assert spelt.aside["cell"].tolist() == ["p", "p", "r"]
    assert spelt.weight is None
    assert spelt.repeated() is spelt


def test_weights_that_are_not_counts_cannot_be_repeated():
    found = Dataset("d", "ordinal", np.ones((1, 1)), np.ones(1), ("a",), weight=np.array([0.5]))
    with pytest.raises(ValueError, match="'d' has weights that are not whole"):
        found.repeated()


# ---------------------------------------------------------------- encoding


def test_text_of_two_values_becomes_one_indicator():
    X, names = encoded({"a": np.array([1.0, np.nan, 2.0]), "d": np.array(["u", "", "v"])})
    assert names == ("a", "d=v")
    np.testing.assert_array_equal(X[:, 0], [1.0, np.nan, 2.0])
    np.testing.assert_array_equal(X[:, 1], [0.0, 0.0, 1.0])  # an empty text is neither


def test_text_of_three_values_becomes_an_indicator_for_each_in_alphabetical_order():
    X, names = encoded({"sex": np.array(["M", "F", "I", "M"])})
    assert names == ("sex=F", "sex=I", "sex=M")
    np.testing.assert_array_equal(X.sum(axis=1), np.ones(4))


def test_nominal_numbers_become_indicators():
    columns = {"judge": np.array([10.0, 2.0, 7.0]), "score": np.array([1.0, 2.0, 3.0])}
    assert encoded(columns, ["score"], ["judge"])[1] == ("judge=2", "judge=7", "judge=10")


# ---------------------------------------------------------------- the published sets


SMALL = [
    e for e in datasets.INVENTORY if e.kind != "partitions" and e.rows * e.columns < 200_000
]


@pytest.mark.parametrize("entry", SMALL, ids=lambda e: e.key)
def test_a_published_set_is_a_problem_of_its_kind(published, entry):
    found = datasets.load(entry.key)
    assert found.X.shape[1] == len(found.feature_names)
    assert len(set(found.feature_names)) == len(found.feature_names)
    assert not np.isinf(found.X).any()
    if found.kind == "ordinal":
        assert set(np.unique(found.y)) == set(range(1, len(found.levels) + 1))
    elif found.kind == "rankings":
        assert found.y.shape == (entry.rows, len(found.levels))
        ranks = np.sort(found.y, axis=1)
        ranked = np.sum(~np.isnan(ranks), axis=1)
        assert np.all(ranks[:, : ranked.min()] == np.arange(1, ranked.min() + 1))
    elif found.kind == "comparisons":
        assert found.pairs.shape == (entry.rows, 2)
        assert found.pairs.max() < len(found.items) == len(found.X)


def test_class_sizes_are_those_that_were_published(published):
    sizes = {
        "affairs": [451, 34, 17, 19, 42, 38],  # Fair (1978)
        "winequality_white": [20, 163, 1457, 2198, 880, 175, 5],  # Cortez et al. (2009)
        "car": [1210, 384, 69, 65],  # UCI
    }
    for name, expected in sizes.items():
        assert np.bincount(datasets.load(name).y)[1:].tolist() == expected


def test_housing_of_the_folder_is_that_of_the_package(published):
    theirs, ours = datasets.load("housing_satisfaction"), datasets.load_housing()
    assert np.bincount(theirs.y, theirs.weight).tolist() == (
        np.bincount(ours.y, ours.weight).tolist()
    )
    assert sorted(theirs.weight) == sorted(ours.weight)
