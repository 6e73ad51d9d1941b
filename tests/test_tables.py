"""From data files to matrices: every format, every rule, every refusal."""

import gzip
import io
import sys
from datetime import date
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from ordinality.tables import Table, TableError, features_and_target, read

WINE = Path(__file__).parent.parent / "examples" / "wine.csv"
FRAME = pl.DataFrame({"dose": [1.5, 2.0, 4.0], "effect": ["none", "some", "some"]})
CSV = "dose,effect\n1.5,none\n2.0,some\n4.0,some\n"


def table(**columns):
    return Table(nw.from_native(pl.DataFrame(columns), eager_only=True))


# ---------------------------------------------------------------- reading files

WRITERS = {
    "a.csv": lambda path: path.write_text(CSV),
    "a.CSV": lambda path: path.write_text(CSV),
    "semicolons.csv": lambda path: path.write_text(CSV.replace(",", ";")),
    "tabs.csv": lambda path: path.write_text(CSV.replace(",", "\t")),
    "windows.csv": lambda path: path.write_bytes(CSV.replace("\n", "\r\n").encode("utf-8-sig")),
    "a.tsv": lambda path: path.write_text(CSV.replace(",", "\t")),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "a.parquet": FRAME.write_parquet,
    "a.arrow": FRAME.write_ipc,
    "a.feather": FRAME.write_ipc,
    "a.jsonl": FRAME.write_ndjson,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(name, tmp_path):
    WRITERS[name](tmp_path / name)
    found = read(tmp_path / name)
    assert found.names == ("dose", "effect")
    assert found.frame.to_native().equals(FRAME)


def test_a_dash_is_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert len(read("-")) == 3


@pytest.mark.parametrize("cell", ["", "NA", "N/A", "nan", "NaN", "null", "?"])
def test_a_cell_that_says_unknown_does_not_turn_numbers_into_text(cell, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"x,y\n1.5,1\n{cell},2\n")
    assert read(path).frame["x"].to_list() == [1.5, None]


def test_a_type_is_inferred_from_all_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,1\n" * 2000 + "1a,2\n")
    assert read(path).frame["x"].dtype == nw.String


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b" \n\n", "is empty"),
        ("header.csv", b"a,b\n", "no rows"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "2 columns named 'a'"),
        ("photo.csv", b"\x89PNG\r\n\x00\x00\xff", "is not UTF-8 text"),
        ("latin.csv", "caf\xe9,b\n1,2\n".encode("latin-1"), "is not UTF-8 text"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read as .csv"),
        ("noise.parquet", b"nothing of the kind", "cannot be read as .parquet"),
        ("noise.arrow", b"nothing of the kind", "cannot be read as .arrow"),
        ("noise.jsonl", b"nothing of the kind", "cannot be read as .jsonl"),
        ("noise.csv.gz", b"nothing of the kind", "cannot be read"),
        ("cut.csv.gz", gzip.compress(CSV.encode())[:-9], "cannot be read"),
        ("table.xlsx", b"anything", "save it as one of .csv, .tsv"),
        ("table", b"anything", "save it as one of .csv, .tsv"),
    ],
)
def test_a_file_that_holds_no_table_is_refused_in_a_sentence(name, contents, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(TableError) as refusal:
        read(path)
    assert message in str(refusal.value)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_misspelt_file_is_met_with_the_nearest_name(tmp_path):
    (tmp_path / "wine.csv").write_text(CSV)
    with pytest.raises(TableError, match=r"no file .*wines.csv; did you mean 'wine.csv'\?"):
        read(tmp_path / "wines.csv")
    with pytest.raises(TableError, match="no file .*; check the path"):
        read(tmp_path / "nowhere" / "wine.csv")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(TableError, match="is a folder"):
        read(tmp_path)


# ---------------------------------------------------------------- features


def test_numbers_and_truth_values_stay_in_the_order_of_the_table():
    task = features_and_target(table(b=[True, False], y=[0, 1], a=[3, 4]), "y")
    assert task.names == ("b", "a")
    np.testing.assert_array_equal(task.X, [[1.0, 3.0], [0.0, 4.0]])
    assert task.X.dtype == np.float64
    assert task.notes == ()


def test_text_of_two_values_is_one_column_and_of_more_is_one_for_each():
    task = features_and_target(table(t=list("baab"), s=list("zxyx"), y=[0, 1, 0, 1]), "y")
    assert task.names == ("t=b", "s=x", "s=y", "s=z")
    np.testing.assert_array_equal(
        task.X, [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]]
    )
    assert task.notes == ("Encoded t as t=b.", "Encoded s as 3 columns, s=x to s=z.")


def test_columns_that_cannot_help_are_left_out_and_named():
    task = features_and_target(
        table(
            x=[1.0, 2.0, 3.0],
            id=["p", "q", "r"],
            flat=[7, 7, 7],
            void=[None, None, None],
            day=[date(2024, 1, i) for i in (1, 2, 3)],
            y=[0, 1, 1],
        ),
        "y",
    )
    assert task.names == ("x",)
    assert task.notes == (
        "Left out id, which is different in every row, like a name.",
        "Left out flat, which has no value but 7.",
        "Left out void, which is empty.",
        "Left out day, which holds neither numbers nor categories (Date).",
    )


def test_row_numbers_without_a_name_are_left_out(tmp_path):
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}).to_csv(path)
    task = features_and_target(read(path), "y")
    assert (task.names, task.notes) == (("x",), ("Left out the column without a name.",))


def test_rows_without_a_label_are_left_out():
    task = features_and_target(table(x=[1.0, 2.0, 3.0, 9.0], y=[1, None, 2, None]), "y")
    assert task.X.ravel().tolist() == [1.0, 3.0]
    assert task.y.tolist() == [1, 2]
    assert task.notes == ("Left out 2 rows without y.",)


def test_what_varies_only_in_rows_without_a_label_is_left_out():
    task = features_and_target(table(x=[1, 2, 3], z=[5, 5, 6], y=[1, 2, None]), "y")
    assert task.names == ("x",)


def test_features_choose_and_drop_leaves_out():
    found = table(a=[1, 2], b=[3, 4], c=[5, 6], y=[0, 1])
    assert features_and_target(found, "y", features=["c", "a"]).names == ("c", "a")
    assert features_and_target(found, "y", drop=["a"]).names == ("b", "c")
    assert features_and_target(found, "y", features=["a", "b"], drop=["b"]).names == ("a",)


def test_missing_and_infinite_cells_are_counted_by_column():
    found = table(
        a=[1.0, None, None, 2.0], b=[1.0, np.inf, 2.0, 3.0], c=[None] * 4, y=[0, 1] * 2
    )
    with pytest.raises(TableError, match=r"missing or infinite in a \(2\), b \(1\);.*fill"):
        features_and_target(found, "y")
    found = table(c=["u", None, "v", "v"], y=[0, 1, 1, 0])
    with pytest.raises(TableError, match=r"in c \(1\)"):
        features_and_target(found, "y")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"target": "Rating"}, "has no column 'Rating'; did you mean 'rating'?"),
        ({"target": "zzz"}, "has no column 'zzz'; it has x, rating, flat, void."),
        ({"target": "rating", "features": ["xx"]}, "has no column 'xx'; did you mean 'x'?"),
        ({"target": "rating", "drop": ["w"]}, "has no column 'w'"),
        ({"target": "rating", "features": ["rating"]}, "rating is the target"),
        ({"target": "rating", "drop": ["rating"]}, "rating is the target"),
        ({"target": "rating", "features": ["flat"]}, "No column is left to predict rating"),
        ({"target": "void"}, "void is empty in every row"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(more, message):
    found = table(x=[1, 2], rating=[0, 1], flat=[1, 1], void=[None, None])
    with pytest.raises(TableError) as refusal:
        features_and_target(found, **more)
    assert message in str(refusal.value)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 1, 2], [3, 1, 2]),
        ([3.0, 1.0, 2.0], [3, 1, 2]),
        (["lo", "hi", "lo"], ["lo", "hi", "lo"]),
        ([True, False, True], [True, False, True]),
        ([0.5, 1.0, 0.5], [0.5, 1.0, 0.5]),
    ],
)
def test_labels_keep_their_values(labels, expected):
    task = features_and_target(table(x=[1, 2, 3], y=labels), "y")
    assert task.y.tolist() == expected
    assert type(task.y.tolist()[0]) is type(expected[0])
    assert task.order is None


def test_an_enum_and_an_ordered_categorical_bring_their_order():
    enum = pl.Series(["lo", "hi"], dtype=pl.Enum(["lo", "mid", "hi"]))
    assert features_and_target(table(x=[1, 2], y=enum), "y").order == ("lo", "mid", "hi")
    ordered = pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True)
    frame = pd.DataFrame({"x": [1, 2], "y": ordered})
    task = features_and_target(Table(nw.from_native(frame, eager_only=True)), "y")
    assert task.order == ("lo", "mid", "hi")
    assert task.y.tolist() == ["lo", "hi"]


def test_a_measurement_is_not_taken_for_levels():
    with pytest.raises(TableError, match="y has 30 different values in 30 rows"):
        features_and_target(table(x=range(30), y=[i / 7 for i in range(30)]), "y")
    with pytest.raises(TableError, match="y holds Date values"):
        features_and_target(table(x=[1, 2], y=[date(2024, 1, 1), date(2024, 1, 2)]), "y")


def test_the_wine_table_is_the_published_design():
    task = features_and_target(read(WINE), "rating")
    assert task.X.shape == (72, 2 + 9 + 8)
    columns = dict(zip(task.names, task.X.T, strict=True))
    for judge in range(1, 10):  # everyone tasted every bottle once
        assert columns[f"judge=j{judge}"].sum() == 8
    bottles = [columns[f"bottle=b{b}"] for b in range(1, 9)]
    np.testing.assert_array_equal(columns["temp=warm"], sum(bottles[4:]))
    np.testing.assert_array_equal(columns["contact=yes"], sum(bottles[2:4] + bottles[6:]))
    # Sums of the 36 ratings each: warm wine is the bitterer.
    warm = columns["temp=warm"] == 1
    assert (task.y[warm].sum(), task.y[~warm].sum()) == (126, 84)
