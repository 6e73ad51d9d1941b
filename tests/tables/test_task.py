"""Problems of ordinal regression from tables: every rule, on frames of both kinds."""

from datetime import date, datetime
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from ordinality.tables import Table, TableError, feature_names, features_and_target, read

WINE = Path(__file__).parents[2] / "examples" / "wine.csv"
Y = [0, 1, 1, 0, 2, 1]


def encoded(task):
    """The matrix that a task's encoder makes, as named columns."""
    X = task.encoder.fit_transform(task.frame)
    return dict(zip(feature_names(task.encoder), X.T.tolist(), strict=True))


def many(make, rows=40, **columns):
    """A table of so many rows, with labels and one feature that is nothing special."""
    x, y = [i * i % 11 for i in range(rows)], [i % 3 for i in range(rows)]
    return make(x=x, y=y, **columns)


# ---------------------------------------------------------------- what stays


def test_numbers_and_truth_values_stay(table):
    task = features_and_target(table(b=[True, False] * 3, y=Y, a=[3, 4, 5, 3, 4, 9]), "y")
    assert encoded(task) == {"b": [1, 0] * 3, "a": [3, 4, 5, 3, 4, 9]}
    assert task.notes == ()
    frame = nw.from_native(task.frame)
    assert frame.schema == {"b": nw.Boolean, "a": nw.Float64}


def test_text_of_two_values_is_one_column_and_of_more_is_one_for_each(table):
    task = features_and_target(table(t=list("baabab"), s=list("zxyxzz"), y=Y), "y")
    assert encoded(task) == {
        "t = b": [1, 0, 0, 1, 0, 1],
        "s = x": [0, 1, 0, 1, 0, 0],
        "s = y": [0, 0, 1, 0, 0, 0],
        "s = z": [1, 0, 0, 0, 1, 1],
    }
    assert task.notes == ("Encoded as categories: t (2), s (3).",)


def test_missing_cells_are_filled_in_and_marked(table):
    task = features_and_target(
        table(
            a=[1.0, None, 3.0, 5.0, None, 9.0],
            b=[True, None, False, True, True, True],
            c=["u", None, "v", "u", "v", "u"],
            y=Y,
        ),
        "y",
    )
    assert encoded(task) == {
        "a": [1, 4, 3, 5, 4, 9],
        "b": [1, 1, 0, 1, 1, 1],
        "a missing": [0, 1, 0, 0, 1, 0],
        "b missing": [0, 1, 0, 0, 0, 0],
        "c = u": [1, 0, 0, 1, 0, 1],
        "c = v": [0, 0, 1, 0, 1, 0],
        "c missing": [0, 1, 0, 0, 0, 0],
    }
    assert task.notes == (
        "Cells are missing in a (2 rows), b (1 row); replaced by medians, and columns mark "
        "where.",
        "c is missing in 1 row; missing is one of its categories.",
        "Encoded c as 3 categories.",
    )
    assert nw.from_native(task.frame)["c"].is_null().to_list() == [False, True] + [False] * 4


def test_categories_of_other_types_are_text(table):
    made = table(c=["u", "v", "u", "w", "v", "u"], y=Y)
    frame = made.frame.with_columns(nw.col("c").cast(nw.Categorical))
    assert [*encoded(features_and_target(Table(frame), "y"))] == ["c = u", "c = v", "c = w"]


def test_of_very_many_categories_the_rare_ones_are_one(table):
    cells = [f"c{i:02}" for i in range(45)] * 4 + [f"r{i}" for i in range(20)]
    task = features_and_target(many(table, 200, city=cells), "y")
    found = encoded(task)
    assert len(found) == 1 + 50
    assert sum(found["city = other"]) == 16  # four of the twenty rare ones fill the 49 up
    assert task.notes == (
        "Encoded city as its 49 most frequent categories, and the others of 65 as one.",
    )


def test_text_that_is_nearly_all_numbers_is_numbers(table):
    cells = [str(i) for i in range(39)] + ["n.a."]
    task = features_and_target(many(table, cost=cells), "y")
    assert task.notes == ("cost is read as numbers; 1 other cell counts as missing ('n.a.').",)
    found = encoded(task)
    assert found["cost"][-1] == 19.0
    assert found["cost missing"] == [0.0] * 39 + [1.0]


def test_text_that_is_partly_numbers_is_categories_with_a_note(table):
    task = features_and_target(many(table, doors=["2", "3", "4", "5more"] * 10), "y")
    assert [*encoded(task)][1:] == ["doors = 2", "doors = 3", "doors = 4", "doors = 5more"]
    assert task.notes[0] == (
        "doors is read as categories, because some cells are not numbers: '5more'."
    )
    cells = [str(i) if i % 10 else "n.a." for i in range(40)]
    task = features_and_target(many(table, cost=cells), "y")
    assert task.notes == (
        "Left out cost, which is numbers except for 'n.a.'; correct or empty these cells.",
    )


def test_objects_of_pandas_have_the_type_that_they_have():
    cells = {
        "flag": [True, None, False, True, True, True],
        "count": [1, None, 3, 4, 5, 6],
        "mixed": [1, "b", "b", 1, 2.5, None],
        "lists": [[1], [2], [1], [2], [1], [2]],
    }
    frame = pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in cells.items()})
    frame["y"] = pd.Series(["lo", "hi", "lo", "hi", "lo", "hi"], dtype=object)
    task = features_and_target(Table(nw.from_native(frame, eager_only=True)), "y")
    found = encoded(task)
    assert found["flag"] == [1, 1, 0, 1, 1, 1]
    assert found["count"] == [1, 4, 3, 4, 5, 6]
    assert found["mixed = 1"] == [1, 0, 0, 1, 0, 0]
    assert not any("lists" in name for name in found)
    assert task.y.tolist() == ["lo", "hi"] * 3


# ---------------------------------------------------------------- what is left out


def test_columns_that_cannot_help_are_left_out_and_named(table):
    task = features_and_target(
        many(
            table,
            id=[f"p{i}" for i in range(40)],
            nearly=[f"p{i // 2 * 2 if i < 10 else i}" for i in range(40)],
            flat=[7] * 40,
            calm=["no", None] * 20,
            void=[None] * 40,
            day=[date(2024, 1, 1 + i % 7) for i in range(40)],
            noon=[datetime(2024, 1, 1 + i % 7, 12) for i in range(40)],
            said=[f"2024-01-{1 + i % 7:02}" for i in range(40)],
        ),
        "y",
    )
    assert [*encoded(task)] == ["x"]
    notes = " ".join(task.notes)
    for sentence in (
        "Left out void, which is empty.",
        "Left out 2 columns that have one value only: flat (7), calm ('no').",
        "Left out 2 columns that are different in nearly every row, like names: id, nearly.",
        "said",
    ):
        assert sentence in notes


def test_dates_and_lists_are_left_out():
    days = [date(2024, 1, 1 + i % 7) for i in range(40)]
    frame = pl.DataFrame(
        {"x": range(40), "day": days, "pair": [[1, 2]] * 40, "y": [i % 3 for i in range(40)]}
    )
    task = features_and_target(Table(nw.from_native(frame)), "y", drop=[])
    assert task.frame.columns == ["x"]
    assert "Left out day, which holds dates" in task.notes[0]
    assert task.notes[1] == (
        "Left out pair, which holds neither numbers nor categories (List(Int64))."
    )


def test_a_long_list_of_columns_is_cut(table):
    flat = {f"f{i}": [1] * 40 for i in range(30)}
    notes = features_and_target(many(table, **flat), "y").notes
    assert len(notes) == 1
    assert notes[0].startswith("Left out 30 columns that have one value only: f0 (1), f1")
    assert notes[0].endswith("f7 (1) and 22 more.")


def test_whole_numbers_that_count_the_rows_are_kept_with_a_warning(table):
    for name, cells in {
        "n": range(1, 41),
        "customer_id": [7 * i % 1009 for i in range(40)],
        "rowId": [7 * i % 1009 for i in range(40)],
    }.items():
        task = features_and_target(many(table, **{name: list(cells)}), "y")
        assert name in encoded(task)
        assert task.notes == (f"{name} counts the rows; leave it out if it only names them.",)
    for name, cells in {"weight": [7 * i % 1009 for i in range(40)], "id": [1, 2] * 20}.items():
        assert features_and_target(many(table, **{name: list(cells)}), "y").notes == ()


def test_row_numbers_without_a_name_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}).to_csv(path)
    task = features_and_target(read(path), "y")
    assert task.frame.columns == ["x"]
    assert task.notes == ("Left out the column without a name.",)


# ---------------------------------------------------------------- rows


def test_rows_without_a_label_a_weight_or_a_group_are_left_out(table):
    made = table(
        x=[1.0, 2.0, 3.0, 9.0, 5.0, 6.0],
        y=[1, None, 2, None, 3, 2],
        w=[1.0, 1.0, None, 1.0, 2.0, 0.0],
        g=["a", "b", "a", None, " ", "b"],
    )
    task = features_and_target(made, "y", weights="w", group="g")
    assert encoded(task) == {"x": [1.0, 6.0]}
    assert (task.y.tolist(), task.weights.tolist()) == ([1, 2], [1.0, 0.0])
    assert task.groups.tolist() == ["a", "b"]
    assert task.notes == (
        "Left out 2 rows without y.",
        "Left out 1 row without w.",
        "Left out 1 row without g.",
    )


def test_what_varies_only_in_rows_without_a_label_is_left_out(table):
    task = features_and_target(table(x=[1, 2, 3], z=[5, 5, 6], y=[1, 2, None]), "y")
    assert [*encoded(task)] == ["x"]
    with pytest.raises(TableError, match="left out z, which has only the value 5"):
        features_and_target(table(z=[5, 5, 6], y=[1, 2, None]), "y")


def test_an_infinite_cell_is_found_by_its_row_in_the_table(table):
    big = [*(str(i) for i in range(38)), "1e999", "n.a."]
    with pytest.raises(TableError, match="cost is infinite in row 39; give the cell"):
        features_and_target(many(table, cost=big), "y")
    with pytest.raises(TableError, match="x is infinite in row 4; give the cell"):
        features_and_target(table(x=[1.0, 2.0, 3.0, np.inf], y=[None, 1, 2, 1]), "y")


def test_groups_may_be_numbers_and_weights_truth_values(table):
    made = table(x=[1, 2, 3, 5], y=[0, 1, 0, 1], w=[True, True, False, True], g=[4, 4, 7, 7])
    task = features_and_target(made, "y", weights="w", group="g")
    assert task.weights.tolist() == [1.0, 1.0, 0.0, 1.0]
    assert task.groups.tolist() == [4, 4, 7, 7]
    assert [*encoded(task)] == ["x"]


# ---------------------------------------------------------------- choosing


def test_features_choose_and_drop_leaves_out(table):
    made = table(a=[1, 2, 3], b=[3, 4, 3], c=[5, 6, 7], y=[0, 1, 0])
    assert [*encoded(features_and_target(made, "y", features=["c", "a"]))] == ["c", "a"]
    assert [*encoded(features_and_target(made, "y", drop=["a"]))] == ["b", "c"]
    chosen = features_and_target(made, "y", features=["a", "b", "a"], drop=["b"])
    assert [*encoded(chosen)] == ["a"]


def test_far_more_columns_than_rows_need_wide(table):
    made = table(**{f"g{i}": [i, 1, 2] for i in range(1001)}, y=[0, 1, 1])
    with pytest.raises(TableError, match="1,001 columns to learn from and only 3 rows; is it"):
        features_and_target(made, "y")
    assert len(encoded(features_and_target(made, "y", wide=True))) == 1001
    assert len(encoded(features_and_target(made, "y", features=["g0", "g5"]))) == 2


def test_notes_of_reading_come_first(tmp_path):
    (tmp_path / "a.csv").write_text("x;c;y\n1,5;u;0\n2,5;v;1\n3,5;u;1\n")
    task = features_and_target(read(tmp_path / "a.csv"), "y")
    assert task.notes == (
        "Read the commas in x as decimal points.",
        "Encoded c as 2 categories.",
    )


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 1, 2], [3, 1, 2]),
        ([3.0, 1.0, 2.0], [3, 1, 2]),
        (["lo", "hi", "lo"], ["lo", "hi", "lo"]),
        (["lo ", " hi", "lo "], ["lo", "hi", "lo"]),
        ([True, False, True], [True, False, True]),
        ([0.5, 1.0, 0.5], [0.5, 1.0, 0.5]),
        (["0", "1-2", "3+"], ["0", "1-2", "3+"]),
        (["none", "1", "2 or more"], ["none", "1", "2 or more"]),
    ],
)
def test_labels_keep_their_values(labels, expected, table):
    task = features_and_target(table(x=[1, 2, 3], y=labels), "y")
    assert task.y.tolist() == expected
    assert type(task.y.tolist()[0]) is type(expected[0])
    assert task.order is None


def test_integer_labels_beside_missing_ones_stay_integers(table):
    task = features_and_target(table(x=[1, 2, 3], y=[1, None, 2]), "y")
    assert task.y.dtype == np.int64


def test_an_enum_and_an_ordered_categorical_bring_their_order():
    enum = pl.DataFrame(
        {"x": [1, 2], "y": pl.Series(["lo", "hi"], dtype=pl.Enum(["lo", "mid", "hi"]))}
    )
    ordered = pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True)
    for frame in (enum, pd.DataFrame({"x": [1, 2], "y": ordered})):
        task = features_and_target(Table(nw.from_native(frame, eager_only=True)), "y")
        assert task.order == ("lo", "mid", "hi")
        assert task.y.tolist() == ["lo", "hi"]


def test_many_labels_with_many_rows_each_are_levels(table):
    made = table(x=range(300), y=[i % 30 for i in range(300)])
    assert len(np.unique(features_and_target(made, "y").y)) == 30
    with pytest.raises(TableError, match="y has 30 different values in 290 rows"):
        features_and_target(table(x=range(290), y=[i % 30 for i in range(290)]), "y")


# ---------------------------------------------------------------- published tables


def test_the_wine_table_is_the_published_design():
    task = features_and_target(read(WINE), "rating")
    columns = {name: np.array(cells) for name, cells in encoded(task).items()}
    assert len(columns) == 2 + 9 + 8
    for judge in range(1, 10):  # everyone tasted every bottle once
        assert columns[f"judge = j{judge}"].sum() == 8
    bottles = [columns[f"bottle = b{b}"] for b in range(1, 9)]
    np.testing.assert_array_equal(columns["temp = warm"], sum(bottles[4:]))
    np.testing.assert_array_equal(columns["contact = yes"], sum(bottles[2:4] + bottles[6:]))
    # Sums of the 36 ratings each: warm wine is the bitterer.
    warm = columns["temp = warm"] == 1
    assert (task.y[warm].sum(), task.y[~warm].sum()) == (126, 84)


def test_every_published_table_is_encoded(data_dir):
    for path in sorted((data_dir / "ordinal").glob("*.csv*")):
        task = features_and_target(read(path), "target")
        found = encoded(task)
        assert len(found) >= 2, path.name
        assert np.isfinite([*found.values()]).all(), path.name
        assert all(len(note) < 400 for note in task.notes), path.name
