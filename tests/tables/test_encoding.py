"""Encoding of tables: names, folds of a cross-validation, new rows."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline

from ordinality import OrdinalGP
from ordinality.tables import (
    Table,
    TableError,
    feature_names,
    features_and_target,
    read,
    rows_for,
    sources,
)

N = 30
CITIES = ["Bern", "Rome", "Riga"] * 9 + ["Oslo", None, "Rome"]
COLUMNS = {
    "age": [None if i == 4 else float(20 + i * i % 31) for i in range(N)],
    "member": [i % 4 == 0 for i in range(N)],
    "temp": ["warm" if i % 3 else "cold" for i in range(N)],
    "city": CITIES,
    "y": [i * i % 31 % 3 for i in range(N)],
}


def as_table(frame):
    """New rows as a table."""
    return Table(nw.from_native(frame, eager_only=True))


@pytest.fixture
def task(table):
    return features_and_target(table(**COLUMNS), "y")


# ---------------------------------------------------------------- names


def test_columns_are_named_in_the_words_of_the_table(task):
    encoder = task.encoder.fit(task.frame)
    assert feature_names(encoder) == [
        "age",
        "member",
        "age missing",
        "temp = warm",
        "city = Bern",
        "city = Oslo",
        "city = Riga",
        "city = Rome",
        "city missing",
    ]
    assert sources(encoder) == ["age", "member", "age", "temp"] + ["city"] * 5
    assert encoder.transform(task.frame).shape == (N, 9)


def test_a_category_may_be_called_other_itself(table):
    cells = ["other", *(f"c{i}" for i in range(59))] * 3
    made = table(city=cells, y=[i % 2 for i in range(180)])
    task = features_and_target(made, "y")
    names = feature_names(task.encoder.fit(task.frame))
    assert len(set(names)) == len(names) == 50
    assert names[-1] in ("city = other", "city = any other")


def test_names_need_a_fitted_encoder(task):
    for function in (feature_names, sources):
        with pytest.raises(NotFittedError):
            function(task.encoder)
    with pytest.raises(NotFittedError):
        rows_for(task.encoder, as_table(pl.DataFrame({"age": [1.0]})))


# ---------------------------------------------------------------- within scikit-learn


def test_every_fold_has_the_same_columns_and_none_warns(task):
    # Warnings are errors here. Oslo, the missing age and the missing city are in one row each.
    pipeline = make_pipeline(task.encoder, Ridge())
    for train in (slice(0, 20), slice(5, 30), slice(10, 12)):
        part = task.frame[train]
        fitted = clone(pipeline).fit(part, task.y[train])
        assert fitted[0].transform(task.frame).shape == (N, 9)
    left_out = cross_val_predict(pipeline, task.frame, task.y, cv=LeaveOneOut())
    assert np.isfinite(left_out).all()
    grouped = cross_val_predict(
        pipeline, task.frame, task.y, cv=GroupKFold(3), groups=np.arange(N) // 10
    )
    assert np.isfinite(grouped).all()


def test_a_fold_may_lack_every_value_of_a_column(table):
    made = table(a=[None] * 5 + [1.0, 2, 3, 4, 5], c=[None] * 5 + list("uvuvu"), y=[0, 1] * 5)
    task = features_and_target(made, "y")
    half = clone(task.encoder).fit(task.frame[:5])
    assert np.isfinite(half.transform(task.frame)).all()


def test_both_kinds_of_frame_give_the_same_matrix():
    made = [
        features_and_target(as_table(frame(COLUMNS)), "y")
        for frame in (pl.DataFrame, pd.DataFrame)
    ]
    fitted = [task.encoder.fit(task.frame) for task in made]
    for encoder in fitted:
        np.testing.assert_array_equal(
            encoder.transform(made[0].frame), encoder.transform(made[1].frame)
        )
    assert feature_names(fitted[0]) == feature_names(fitted[1])


def test_a_model_file_needs_no_type_of_ours(task):
    encoder = task.encoder.fit(task.frame)
    content = skops.io.dumps(encoder)
    untrusted = skops.io.get_untrusted_types(data=content)
    assert set(untrusted) <= {"numpy.dtype"}  # of scikit-learn's imputer
    again = skops.io.loads(content, trusted=untrusted)
    np.testing.assert_array_equal(again.transform(task.frame), encoder.transform(task.frame))
    assert feature_names(again) == feature_names(encoder)
    frame, notes = rows_for(again, as_table(task.frame))
    assert notes == ()
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(task.frame))


def test_a_pipeline_learns_and_predicts(task):
    pipeline = make_pipeline(task.encoder, OrdinalGP(optimizer=None)).fit(task.frame, task.y)
    frame, _ = rows_for(pipeline[0], as_table(task.frame))
    assert pipeline.predict(frame).shape == (N,)


# ---------------------------------------------------------------- new rows


def new_rows(**changes):
    row = {"age": [40.0], "member": [True], "temp": ["warm"], "city": ["Rome"]}
    return {**row, **changes}


def taken(task, frame):
    encoder = task.encoder.fit(task.frame)
    rows, notes = rows_for(encoder, as_table(frame))
    X = encoder.transform(rows)
    return dict(zip(feature_names(encoder), X.T.tolist(), strict=True)), notes


def test_other_columns_of_new_rows_are_ignored(task, table):
    frame = table(extra=["?"], **dict(reversed(new_rows().items()))).frame.to_native()
    found, notes = taken(task, frame)
    assert notes == ()
    assert (found["age"], found["temp = warm"], found["city = Rome"]) == ([40.0], [1.0], [1.0])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"city": ["Oslo"]}, ""),
        (
            {"city": ["Graz", "Graz"]},
            "city: 2 rows hold 'Graz', not seen in training; encoded as none of the known.",
        ),
        (
            {"temp": ["hot"]},
            "temp: 1 row holds 'hot', not seen in training; encoded as 'cold'.",
        ),
        (
            {"temp": [None, "warm"]},
            "temp: 1 row holds no value, not seen in training; encoded as 'cold'.",
        ),
        ({"age": [None, 3.0]}, ""),
        (
            {"member": [None, True]},
            "member: 1 row without a value, which no training row was; replaced by the median "
            "of training.",
        ),
    ],
)
def test_values_not_seen_in_training_are_reported_once(changes, sentence, task):
    rows = len(next(iter(changes.values())))
    frame = pl.DataFrame({**{k: v * rows for k, v in new_rows().items()}, **changes})
    found, notes = taken(task, frame)
    assert notes == ((sentence,) if sentence else ())
    assert np.isfinite([*found.values()]).all()


def test_very_many_unknown_values_are_summed_up(task):
    frame = pl.DataFrame(
        {**{k: v * 30 for k, v in new_rows().items()}, "city": [f"c{i}" for i in range(30)]}
    )
    _, notes = taken(task, frame)
    assert len(notes) == 9
    assert notes[-1].startswith("city: 22 rows with 22 other values not seen in training")


def test_an_unknown_value_is_one_of_the_rare_where_there_are_such():
    cells = [f"c{i:02}" for i in range(60)] * 3
    task = features_and_target(
        as_table(pl.DataFrame({"city": cells, "y": [i % 2 for i in range(180)]})), "y"
    )
    found, notes = taken(task, pl.DataFrame({"city": ["Graz"]}))
    assert found["city = other"] == [1.0]
    assert notes == (
        "city: 1 row holds 'Graz', not seen in training; encoded as one of the rare.",
    )


def test_numbers_may_arrive_as_text_and_text_as_numbers(table):
    made = table(n=[1, 2, 3, 4] * 5, doors=["2", "3", "4", "more"] * 5, y=[0, 1] * 10)
    task = features_and_target(made, "y")
    found, notes = taken(task, pl.DataFrame({"n": ["2.5", " 7 "], "doors": [3.0, 4.0]}))
    assert (found["n"], found["doors = 3"], found["doors = 4"]) == ([2.5, 7], [1, 0], [0, 1])
    assert notes == ()


def test_a_few_cells_that_are_not_numbers_count_as_missing_as_in_training(table):
    cells = [str(i) for i in range(39)] + ["n.a."]
    made = table(cost=cells, y=[i % 2 for i in range(40)])
    task = features_and_target(made, "y")
    found, notes = taken(task, made.frame.to_native())
    assert found["cost missing"][-1] == 1
    assert notes == ("cost: 1 row without a number ('n.a.'), read as missing.",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"age": None}, "has no column 'age'; it has"),
        ({"age": None, "Age ": [40.0]}, "has no column 'age'; did you mean 'Age '?"),
        ({"age": ["forty"]}, "age holds 'forty' in row 1, but numbers in training"),
        ({"age": [np.inf]}, "age is infinite in row 1"),
        ({"age": [[1, 2]]}, r"age holds List\(.*\) values, but numbers in training"),
    ],
)
def test_rows_that_cannot_be_encoded_are_refused(changes, message, task):
    columns = {k: v for k, v in new_rows(**changes).items() if v is not None}
    encoder = task.encoder.fit(task.frame)
    with pytest.raises(TableError, match=message):
        rows_for(encoder, as_table(pl.DataFrame(columns)))


def test_notes_of_reading_the_new_table_are_passed_on(task, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("age;member;temp;city\n40,5;true;warm;Rome\n")
    encoder = task.encoder.fit(task.frame)
    frame, notes = rows_for(encoder, read(path))
    assert notes == ("Read the commas in age as decimal points.",)
    assert frame["age"].to_list() == [40.5]
