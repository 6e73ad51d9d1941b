"""Tables and pipelines, reduced to what displays need."""

import numpy as np
import pandas
import polars
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from ordinality.estimators import OrdinalGP
from ordinality.inspect import model_inputs

COLUMNS = {
    "age": [30, 40, 20, 60],
    "colour": ["red", "blue", "red", "green"],
    "weight": [1.5, None, 2.5, 3.5],
}
FRAMES = {
    "pandas": lambda: pandas.DataFrame(COLUMNS, index=[7, 7, 3, 1]),  # not in order, not unique
    "polars": lambda: polars.DataFrame(COLUMNS),
}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]()


def test_columns_are_numbers_or_objects(frame):
    assert model_inputs.column(frame, 0).tolist() == [30.0, 40.0, 20.0, 60.0]
    assert model_inputs.column(frame, 1).tolist() == ["red", "blue", "red", "green"]
    np.testing.assert_array_equal(model_inputs.column(frame, 2), [1.5, np.nan, 2.5, 3.5])


def test_a_typical_row_has_medians_and_the_commonest_category(frame):
    row = model_inputs.typical(frame)
    assert type(row) is type(frame)
    assert [model_inputs.column(row, j)[0] for j in range(3)] == [40.0, "red", 2.5]


def test_rows_are_repeated_with_a_column_set(frame):
    rows = model_inputs.repeated(frame, {1: ["blue", "white"], 0: [1.5, 2.5]})
    assert type(rows) is type(frame)
    assert model_inputs.column(rows, 0).tolist() == [1.5] * 4 + [2.5] * 4
    assert model_inputs.column(rows, 1).tolist() == ["blue"] * 4 + ["white"] * 4
    np.testing.assert_array_equal(model_inputs.column(rows, 2), [1.5, np.nan, 2.5, 3.5] * 2)


def test_a_category_of_pandas_stays_one():
    frame = pandas.DataFrame({"size": pandas.Categorical(["s", "m", "s"])})
    rows = model_inputs.repeated(frame, {0: ["m", "s"]})
    assert model_inputs.column(rows, 0).tolist() == ["m"] * 3 + ["s"] * 3


@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame])
def test_a_column_of_booleans_stays_one(kind):
    frame = kind({"flag": [True, False]})
    rows = model_inputs.repeated(frame, {0: [True, False]})
    assert list(rows["flag"]) == [True, True, False, False]
    assert rows["flag"].dtype == frame["flag"].dtype


def test_arrays_of_whole_numbers_take_fractions():
    rows = model_inputs.repeated(np.array([[1, 2], [3, 4]]), {0: [0.5]})
    assert rows.tolist() == [[0.5, 2.0], [0.5, 4.0]]


def test_rows_are_thinned_evenly(frame):
    assert model_inputs.column(model_inputs.thinned(frame, 2), 0).tolist() == [30.0, 60.0]
    assert model_inputs.thinned(frame, 9) is frame


def test_one_row_is_taken_by_its_place(frame):
    assert model_inputs.column(model_inputs.row(frame, -1), 0).tolist() == [60.0]
    with pytest.raises(ValueError, match="there is no row 4; there are 4, from 0 on"):
        model_inputs.row(frame, 4)


def test_features_are_called_by_name_or_by_place():
    names = ["age", "colour"]
    assert (
        model_inputs.column_number(names, "colour")
        == model_inputs.column_number(names, -1)
        == 1
    )
    with pytest.raises(ValueError, match="no feature 'size'; the features are age, colour"):
        model_inputs.column_number(names, "size")
    with pytest.raises(ValueError, match="there is no feature 2; there are 2, from 0 on"):
        model_inputs.column_number(names, 2)


def test_names_come_from_the_frame_the_model_or_their_place(rows):
    X, y = rows
    named = OrdinalGP(optimizer=None).fit(pandas.DataFrame(X, columns=["a", "b"]), y)
    assert model_inputs.names_in(named) == ["a", "b"]
    assert model_inputs.names_in(named, polars.DataFrame({"c": [1]})) == ["c"]
    assert model_inputs.names_in(OrdinalGP(optimizer=None).fit(X, y)) == [
        "feature 1",
        "feature 2",
    ]


def test_a_pipeline_names_what_its_model_sees(rows):
    frame = pandas.DataFrame({"hue": ["r", "g", "b"] * 20, "x": rows[0][:, 0]})
    encoder = ColumnTransformer(
        [("hue", OneHotEncoder(sparse_output=False), ["hue"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    model = make_pipeline(encoder, OrdinalGP(optimizer=None)).fit(frame, rows[1])
    assert model_inputs.names_out(model, 4) == ["hue_b", "hue_g", "hue_r", "x"]
    silent = make_pipeline(FunctionTransformer(np.abs), OrdinalGP(optimizer=None)).fit(*rows)
    assert model_inputs.names_out(silent, 2) == ["feature 1", "feature 2"]


def test_probabilities_pass_through_a_pipeline_in_order_of_level(rows):
    X, y = rows
    words = np.array(["d worst", "c", "b", "a best"])[y]
    levels = ["d worst", "c", "b", "a best"]
    scaler = StandardScaler().fit(X)
    alone = OrdinalGP(optimizer=None, levels=levels).fit(scaler.transform(X), words)
    behind = make_pipeline(
        StandardScaler(), "passthrough", alone.__class__(**alone.get_params())
    )
    behind.fit(X, words)
    found = model_inputs.level_proba(behind, X)
    np.testing.assert_allclose(found, alone.predict_level_proba(scaler.transform(X)))
    assert model_inputs.levels_of(behind) == levels


def test_a_model_without_the_method_is_refused(rows):
    model = make_pipeline(StandardScaler(), Ridge()).fit(*rows)
    with pytest.raises(TypeError, match="Ridge has no method predict_level_proba; choose"):
        model_inputs.level_proba(model, rows[0])
