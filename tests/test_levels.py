"""Labels keep their order, thresholds theirs, and every refusal says what to do."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ordinality.levels import (
    Order,
    as_labels,
    check_thresholds,
    codes_in_order,
    free_to_thresholds,
    order_of,
    rank_from_scores,
    resolve,
    thresholds_to_free,
)

LEVELS = ["low", "mid", "high"]

label_lists = st.one_of(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=8, unique=True),
    # NumPy drops trailing NUL characters from text, so they are no part of a label.
    st.lists(
        st.text(st.characters(exclude_characters="\0"), max_size=4), min_size=2, unique=True
    ),
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8, unique=True),
    st.permutations([False, True]),
)


# ------------------------------------------------------------------------------ the order


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([3, 1, 2, 1], [1, 2, 3]),
        ([40, 10, 20], [10, 20, 40]),
        (np.array([2.0, -1.0, 2.0]), [-1.0, 2.0]),
        (np.array([True, False]), [False, True]),
        (np.array([7, 5], dtype=np.uint8), [5, 7]),
        (np.array([2, 1], dtype=object), [1, 2]),
        ((9, 8), [8, 9]),
    ],
    ids=["integers", "gaps", "integral floats", "booleans", "unsigned", "objects", "tuple"],
)
def test_numbers_are_taken_in_their_own_order(y, expected):
    order = resolve(y)
    assert order.levels.tolist() == expected
    assert order.source == "sorted"
    assert not order.guessed


@pytest.mark.parametrize("dtype", [str, object, np.dtypes.StringDType()], ids=str)
def test_sorted_strings_are_reported_as_a_guess(dtype):
    order = resolve(np.array(["low", "mid", "high"], dtype=dtype))
    assert order.levels.tolist() == ["high", "low", "mid"]
    assert order.guessed


def test_a_stated_order_is_kept_and_unseen_levels_keep_their_place():
    order = resolve(["high", "low"], levels=LEVELS)
    assert order.source == "stated"
    assert not order.guessed
    assert order.n_levels == 3
    assert order.encode(["high", "low"]).tolist() == [2, 0]
    assert order.decode([1]).tolist() == ["mid"]


def test_half_star_ratings_are_levels_once_they_are_listed():
    order = resolve([1.5, 0.5], levels=[0.5, 1, 1.5])
    assert order.encode([0.5, 1, 1.5]).tolist() == [0, 1, 2]


def test_classes_are_sorted_and_columns_lead_from_levels_to_classes():
    order = Order(np.array(LEVELS), "stated")
    assert order.classes.tolist() == ["high", "low", "mid"]
    by_level = np.array([[0.1, 0.2, 0.7]])  # low, mid, high
    assert by_level[:, order.columns].tolist() == [[0.7, 0.1, 0.2]]


@given(label_lists, st.data())
def test_decoding_undoes_encoding(levels, data):
    order = order_of(levels=levels)
    y = data.draw(st.lists(st.sampled_from(levels), min_size=1))
    ranks = order.encode(y)
    assert ranks.dtype == np.int64
    assert ranks.tolist() == [levels.index(label) for label in y]
    assert order.decode(ranks).tolist() == y


@given(label_lists)
def test_columns_put_the_classes_in_scikit_learn_order(levels):
    order = order_of(levels=levels)
    assert order.classes.tolist() == np.unique(levels).tolist()
    assert order.levels[order.columns].tolist() == order.classes.tolist()


def test_several_sets_of_labels_are_ordered_together():
    assert order_of([5, 5], [1, 3]).levels.tolist() == [1, 3, 5]
    assert order_of([2]).levels.tolist() == [2]  # a test set may hold one level only


# ------------------------------------------------------------------------------ tables


@pytest.mark.parametrize("kind", ["Series", "Categorical", "CategoricalIndex"])
def test_an_ordered_pandas_categorical_brings_its_order(kind):
    pd = pytest.importorskip("pandas")
    y = pd.Categorical(["high", "low"], categories=LEVELS, ordered=True)
    y = y if kind == "Categorical" else getattr(pd, kind)(y)
    order = resolve(y)
    assert order.source == "carried"
    assert order.levels.tolist() == LEVELS
    assert order.encode(y).tolist() == [2, 0]


@pytest.mark.parametrize("kind", ["Series", "Categorical", "Index"])
def test_an_unordered_pandas_categorical_counts_as_plain_labels(kind):
    pd = pytest.importorskip("pandas")
    y = pd.Categorical(["low", "high"], categories=LEVELS)
    y = y if kind == "Categorical" else getattr(pd, kind)(y)
    order = resolve(y)
    assert order.levels.tolist() == ["high", "low"]
    assert order.guessed


def test_an_ordered_categorical_of_numbers_need_not_ascend():
    pd = pytest.importorskip("pandas")
    y = pd.Series(pd.Categorical([1, 3], categories=[3, 2, 1], ordered=True))
    assert resolve(y).encode(y).tolist() == [2, 0]


def test_a_polars_enum_brings_its_order_and_a_categorical_does_not():
    pl = pytest.importorskip("polars")
    enum = pl.Series(["high", "low"], dtype=pl.Enum(LEVELS))
    assert resolve(enum).source == "carried"
    assert resolve(enum).encode(enum).tolist() == [2, 0]
    assert resolve(enum.cast(pl.Categorical)).guessed


def test_a_stated_order_goes_before_a_carried_one():
    pl = pytest.importorskip("polars")
    y = pl.Series(["high", "low"], dtype=pl.Enum(LEVELS))
    assert resolve(y, levels=LEVELS[::-1]).levels.tolist() == LEVELS[::-1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("values", [[3, 1], ["b", "a"], [True, False], [2.0, 1.0]], ids=str)
def test_plain_series_are_read_like_lists(library, values):
    series = pytest.importorskip(library).Series(values)
    assert resolve(series).levels.tolist() == resolve(values).levels.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("values", [["a", None], [1, None]], ids=["text", "numbers"])
def test_a_missing_label_in_a_series_is_refused(library, values):
    series = pytest.importorskip(library).Series(values)
    with pytest.raises(ValueError, match=r"y contains .* at position 1; a label must be text"):
        resolve(series)


def test_intervals_are_no_labels():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"categories of y contains \(.*write labels .* text"):
        resolve(pd.cut(pd.Series([1.0, 2.0, 3.0]), 2))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_refused_as_two_dimensional(library):
    frame = pytest.importorskip(library).DataFrame({"quality": [1, 2]})
    with pytest.raises(ValueError, match=r"one-dimensional.*shape \(2, 1\)"):
        resolve(frame)


# ------------------------------------------------------------------------------ refusals


def test_an_unknown_label_is_named_in_the_error():
    with pytest.raises(ValueError, match=r"'great'.*declared levels \['low', 'mid', 'high'\]"):
        resolve(["low", "great", "mid"], levels=LEVELS)


@pytest.mark.parametrize("label", [0, 4, 2])
def test_a_number_outside_or_between_the_levels_is_unknown(label):
    with pytest.raises(ValueError, match=f"contains {label}.*add it to `levels`"):
        Order(np.array([1, 3]), "stated").encode([1, label])


def test_codes_in_place_of_strings_hint_at_the_tools_that_recode():
    with pytest.raises(ValueError, match=r"contains 1.*voting.*alphabetically before fit"):
        resolve([1, 0, 2], levels=LEVELS)


def test_codes_of_which_some_are_missing_are_named():
    with pytest.raises(ValueError, match="only if all occur, but y lacks 0"):
        resolve([1, 2], levels=LEVELS)


@given(st.lists(st.text("aBz 1é", max_size=3), min_size=2, max_size=9, unique=True))
def test_codes_by_sorted_label_are_read_back(levels):
    codes = np.unique(levels, return_inverse=True)[1]
    np.testing.assert_array_equal(codes_in_order(codes, levels), codes)


@pytest.mark.parametrize(
    ("y", "levels"),
    [
        ([0, 1], LEVELS),
        ([0, 1, 3], LEVELS),
        ([0, 1, 2, 3], LEVELS),
        ([0.0, 1.0, 2.0], LEVELS),
        (["0", "1", "2"], LEVELS),
        ([0, 1, 2], [1, 2, 3]),
    ],
    ids=["one missing", "a gap", "one too many", "floats", "text", "levels are numbers"],
)
def test_what_is_not_a_full_set_of_codes_of_text_is_none(y, levels):
    assert codes_in_order(y, levels) is None


@pytest.mark.parametrize("y", [[10, 20], [0.5, 1.0]], ids=str)
def test_other_numbers_in_place_of_strings_do_not(y):
    with pytest.raises(ValueError, match="declared levels.*must be of one kind") as error:
        resolve(y, levels=LEVELS)
    assert "voting" not in str(error.value)


def test_strings_in_place_of_numbers_are_unknown():
    with pytest.raises(ValueError, match=r"contains '1'.*declared levels \[1, 2\]"):
        resolve(["1", "2"], levels=[1, 2])


def test_a_continuous_target_is_refused_in_the_words_of_scikit_learn():
    with pytest.raises(ValueError, match=r"Unknown label type: continuous.*0\.25.*digitize"):
        resolve([1.0, 0.25, 3.0])


@pytest.mark.parametrize(
    ("y", "levels"),
    [([2, 2], None), ([2, 2], [1, 2, 3])],
    ids=["distinct labels", "declared levels"],
)
def test_labels_all_alike_are_refused_as_one_class(y, levels):
    with pytest.raises(ValueError, match=r"only one class, 2; .*at least two levels"):
        resolve(y, levels)


def test_a_categorical_with_one_category_is_one_class():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y contains only one class, 'low'"):
        resolve(pd.Categorical(["low"], ordered=True))


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (["low", "mid", "low"], "levels lists 'low' more than once"),
        ([1, 2.0, 2], "levels lists 2.0 more than once"),
        (["low"], "levels lists only one class, 'low'"),
        ([], "levels is empty"),
        ("low", r"levels must be one-dimensional.*shape \(\)"),
        ({"low", "high"}, r"levels must be one-dimensional.*pass a list"),
        (["low", 1], "levels mixes text and numbers, such as 'low' and 1"),
        (["low", None], "levels contains None at position 1"),
        ([1.0, np.inf], "levels contains inf at position 1"),
    ],
)
def test_a_faulty_list_of_levels_is_refused(levels, message):
    with pytest.raises(ValueError, match=message):
        resolve(["low", "mid"], levels)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([], "y is empty"),
        ([[1, 2], [2, 1]], r"one-dimensional.*shape \(2, 2\)"),
        (np.array([1.0, np.nan]), "y contains nan at position 1.*drop entries"),
        (["low", np.nan], "y contains nan at position 1"),
        (["low", None], "y contains None at position 1"),
        (["low", 3], "y mixes text and numbers"),
        (
            np.array(["2020-01-01"], dtype="datetime64[D]"),
            "type datetime64.*convert them first",
        ),
        (np.array([b"low", b"mid"]), "type .S3; labels must be numbers or text"),
    ],
)
def test_faulty_labels_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        resolve(y)


def test_text_and_numbers_are_not_ordered_together():
    with pytest.raises(ValueError, match="mixes text and numbers"):
        order_of([1, 2], ["1", "2"])


def test_labels_keep_the_type_they_have():
    assert as_labels(np.array([1, 2], dtype=np.int8)).dtype == np.int8
    assert as_labels([1, 2]).dtype.kind == "i"
    assert as_labels([np.True_, np.False_]).dtype.kind == "b"


# ------------------------------------------------------------------------------ thresholds


increasing = st.lists(st.floats(0.01, 100), min_size=1, max_size=9).map(np.cumsum)


@given(increasing, st.floats(-100, 100))
def test_free_parameters_give_the_thresholds_back(thresholds, shift):
    thresholds = thresholds + shift
    # Cancellation in the gaps: an absolute error of a few units in the last place of 1000.
    np.testing.assert_allclose(
        free_to_thresholds(thresholds_to_free(thresholds)), thresholds, atol=1e-11
    )


@given(arrays(np.float64, st.integers(1, 9), elements=st.floats(-5, 5)))
def test_any_free_parameters_give_increasing_thresholds(free):
    thresholds = free_to_thresholds(free)
    assert np.all(np.diff(thresholds) > 0)
    np.testing.assert_allclose(thresholds_to_free(thresholds), free, atol=1e-9)


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([0.0], r"shape \(1,\), but 3 levels are divided by 2 thresholds"),
        ([[0.0, 1.0]], r"shape \(1, 2\)"),
        ([1.0, 0.0], r"must increase, but they are \[1.0, 0.0\]"),
        ([1.0, 1.0], "must increase.*equal apart"),
        ([-np.inf, 0.0], "must be finite.*leave them out"),
        ([0.0, np.nan], "must be finite"),
    ],
)
def test_faulty_thresholds_are_refused(thresholds, message):
    with pytest.raises(ValueError, match=message):
        check_thresholds(thresholds, n_levels=3)


def test_thresholds_that_fall_have_no_free_parameters():
    with pytest.raises(ValueError, match="must increase"):
        thresholds_to_free([1.0, 0.0])


def test_a_score_on_a_threshold_belongs_to_the_level_below():
    assert rank_from_scores([-9, 0, 0.5, 1, 1.1], [0.0, 1.0]).tolist() == [0, 0, 1, 1, 2]


@given(increasing, arrays(np.float64, 5, elements=st.floats(-10, 1000)))
def test_the_rank_counts_the_thresholds_below_the_score(thresholds, scores):
    counted = (scores[:, None] > thresholds).sum(1)
    assert rank_from_scores(scores, thresholds).tolist() == counted.tolist()


# ------------------------------------------------------------------------------ the floor


def test_lists_and_arrays_load_nothing_but_numpy():
    code = (
        "import sys, ordinality.levels as l; l.resolve(['a', 'b']); l.resolve([1, 2]); "
        "print({'narwhals', 'pandas', 'polars', 'scipy', 'sklearn'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "set()"
