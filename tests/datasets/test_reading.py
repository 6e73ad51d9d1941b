"""CSV files read into arrays by rules that are written down."""

import gzip

import numpy as np
import pytest

from ordinality.datasets.reading import encode, read_csv, shape


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,c,d\n1,x,,u\n2.5,"y, or z",3,\n-1e3,x,4,v\n', encoding="utf-8")
    return path


def test_columns_of_numbers_are_floats_and_empty_cells_are_nan(table):
    read = read_csv(table)
    assert read.names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(read["a"], [1.0, 2.5, -1000.0])
    np.testing.assert_array_equal(read["c"], [np.nan, 3.0, 4.0])
    assert read["b"].tolist() == ["x", "y, or z", "x"]
    assert read.n_rows == 3


def test_text_becomes_indicators_and_of_two_values_the_second_says_everything(table):
    encoded = encode(read_csv(table))
    assert encoded.names == ("a", "b=y, or z", "c", "d=v")
    np.testing.assert_array_equal(encoded.X[:, 1], [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(encoded.X[:, 3], [0.0, 0.0, 1.0])  # an empty text is neither


def test_three_values_have_an_indicator_each_in_alphabetical_order(tmp_path):
    path = tmp_path / "sex.csv"
    path.write_text("sex\nM\nF\nI\nM\n")
    encoded = encode(read_csv(path))
    assert encoded.names == ("sex=F", "sex=I", "sex=M")
    np.testing.assert_array_equal(encoded.X.sum(axis=1), np.ones(4))


def test_numbers_that_are_names_can_be_said_to_be_so(tmp_path):
    path = tmp_path / "judges.csv"
    path.write_text("judge,score\n10,1\n2,2\n7,3\n")
    encoded = encode(read_csv(path), leave_out=["score"], nominal=["judge"])
    assert encoded.names == ("judge=2", "judge=7", "judge=10")


def test_a_packed_file_is_read_as_a_plain_one(table, tmp_path):
    packed = tmp_path / "p.csv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    for one, other in zip(read_csv(table).columns, read_csv(packed).columns, strict=True):
        np.testing.assert_array_equal(one, other)
    assert shape(packed) == shape(table) == (3, 4)


def test_a_table_is_kept_until_its_file_changes(table):
    first = read_csv(table)
    assert read_csv(table) is first
    table.write_text("a\n1\n2\n3\n4\n")
    assert read_csv(table).n_rows == 4


def test_what_was_read_cannot_be_written_to(table):
    with pytest.raises(ValueError, match="read-only"):
        read_csv(table)["a"][0] = 5.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no row under the header"),
        (b"a,b\n", "no row under the header"),
        (b"a,b\n1,2\n3\n", "row 2 has 1 cells, the header 2"),
        (b"a\n\xff\xfe\n", "cannot be read as a table"),
    ],
)
def test_what_is_no_table_is_refused_with_the_place(tmp_path, content, message):
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    for read in (read_csv, shape):
        with pytest.raises(ValueError, match=message) as caught:
            read(path)
        assert "broken.csv" in str(caught.value)
        assert "fetch the file again" in str(caught.value)


@pytest.mark.parametrize("cut", [5, 20])
def test_a_truncated_packed_file_is_refused(tmp_path, cut):
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-cut])
    with pytest.raises(ValueError, match="cannot be read as a table"):
        read_csv(path)


def test_a_csv_that_only_pretends_to_be_packed_is_refused(tmp_path):
    path = tmp_path / "plain.csv.gz"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="cannot be read as a table"):
        read_csv(path)
