"""Levels along a feature, and the latent function behind them."""

import io

import matplotlib as mpl
import numpy as np
import pandas
import polars
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ordinality.display import LatentDisplay, LevelProbabilityDisplay
from ordinality.estimators import OrdinalGP, RoundedRegressor

# ------------------------------------------------------------------------------ bands


def test_bands_are_as_many_as_levels_and_fill_the_axes(counted, drawn):
    model, X, _ = counted
    display = LevelProbabilityDisplay.from_estimator(model, X, 0, grid_resolution=25)
    ax = drawn(display)
    bands = [c for c in ax.collections if isinstance(c, PolyCollection)]
    assert len(bands) == len(model.levels_) == display.proba.shape[1]
    assert display.proba.sum(axis=1) == pytest.approx(1.0)
    assert ax.get_ylim() == (0.0, 1.0)
    assert ax.get_xlim() == pytest.approx((X.min(), X.max()))


def test_bands_of_a_single_feature_are_the_model_itself(counted):
    model, X, _ = counted
    display = LevelProbabilityDisplay.from_estimator(model, X, 0)
    expected = model.predict_level_proba(display.values[:, None])
    np.testing.assert_allclose(display.proba, expected)


def test_others_are_averaged_over_rows_or_held(process, rows):
    X, _ = rows
    draw = LevelProbabilityDisplay.from_estimator
    averaged = draw(process, X, 1, grid_resolution=3)
    at = np.repeat(np.linspace(X[:, 1].min(), X[:, 1].max(), 3), len(X))
    moved = np.column_stack([np.tile(X[:, 0], 3), at])
    expected = process.predict_level_proba(moved).reshape(3, len(X), 4).mean(axis=1)
    np.testing.assert_allclose(averaged.proba, expected)

    held = draw(process, X, 1, others=5, grid_resolution=3)
    moved = np.column_stack([np.full(3, X[5, 0]), held.values])
    np.testing.assert_allclose(held.proba, process.predict_level_proba(moved))

    typical = draw(process, X, 1, others="typical", grid_resolution=3)
    moved = np.column_stack([np.full(3, np.sort(X[:, 0])[30]), held.values])
    np.testing.assert_allclose(typical.proba, process.predict_level_proba(moved))

    with pytest.raises(ValueError, match="others='mean' is not known; choose 'average'"):
        draw(process, X, 1, others="mean")


@pytest.mark.parametrize("library", [pandas, polars])
def test_text_is_drawn_as_one_bar_for_each_category(rows, library, drawn):
    frame = library.DataFrame({"hue": ["red", "green", "blue"] * 20, "x": rows[0][:, 0]})
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["hue"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, OrdinalGP(optimizer=None)).fit(frame, rows[1])
    display = LevelProbabilityDisplay.from_estimator(model, frame, "hue")
    ax = drawn(display)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["blue", "green", "red"]
    assert ax.get_xlabel() == "hue"
    assert len(ax.patches) == 3 * 4
    assert display.proba.sum(axis=1) == pytest.approx(1.0)
    along = LevelProbabilityDisplay.from_estimator(model, frame, "x")
    assert drawn(along).get_xlabel() == "x"
    assert along.values.dtype == np.float64


def test_a_feature_of_two_values_is_drawn_at_these(rows, drawn):
    X = pandas.DataFrame(np.column_stack([rows[0][:, 0], rows[0][:, 1] > 0]))  # columns 0 and 1
    model = OrdinalGP(optimizer=None).fit(X, rows[1])
    display = LevelProbabilityDisplay.from_estimator(model, X, 1)
    ax = drawn(display)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1"]
    moved = np.column_stack([X[0], np.ones(60)])
    np.testing.assert_allclose(display.proba[1], model.predict_level_proba(moved).mean(axis=0))


def test_a_display_is_drawn_again_from_what_it_keeps(counted, drawn):
    model, X, _ = counted
    display = LevelProbabilityDisplay.from_estimator(model, X, 0)
    first = display.ax_
    assert display.plot() is display
    assert drawn(display) is not first
    assert display.plot(ax=first).ax_ is first
    assert display.plot(legend=False).ax_.get_legend() is None


def test_predictions_are_put_in_order_first(drawn):
    proba = np.array([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]])
    display = LevelProbabilityDisplay.from_predictions(
        [3.0, 1.0, 2.0], proba, ["no", "yes"], feature_name="dose"
    )
    assert display.values.tolist() == [1.0, 2.0, 3.0]
    assert display.proba[:, 0].tolist() == [0.8, 0.5, 0.1]
    assert drawn(display).get_xlabel() == "dose"


def test_probabilities_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\); 2 values of 2 levels need \(2, 2\)"):
        LevelProbabilityDisplay([1, 2], np.zeros((2, 3)), ["no", "yes"])


def test_a_constant_feature_is_still_a_picture(rows, drawn):
    X = np.column_stack([rows[0], np.full(60, 2.0)])
    model = OrdinalGP(optimizer=None).fit(X, rows[1])
    assert drawn(LevelProbabilityDisplay.from_estimator(model, X, 2)).get_xlim() == (1.5, 2.5)
    with pytest.raises(ValueError, match="no finite value; choose another feature"):
        LevelProbabilityDisplay.from_estimator(model, np.full((3, 3), np.nan), 2)


def test_a_model_without_probabilities_is_refused(rows):
    model = RoundedRegressor(Ridge()).fit(*rows)
    with pytest.raises(TypeError, match="RoundedRegressor has no method .*; choose"):
        LevelProbabilityDisplay.from_estimator(model, rows[0], 0)


# ------------------------------------------------------------------------------ one feature


def test_the_latent_function_is_a_line_with_a_band_and_thresholds(counted, drawn):
    model, X, y = counted
    display = LatentDisplay.from_estimator(model, X, y)
    ax = drawn(display)
    mean, variance = model.predict_latent(display.grid[0][:, None])
    (curve,) = [line for line in ax.lines if len(line.get_xdata()) == 200]
    np.testing.assert_allclose(curve.get_ydata(), mean)
    np.testing.assert_allclose(display.std, np.sqrt(variance))
    heights = {float(line.get_ydata()[0]) for line in ax.lines if line.get_linestyle() == "--"}
    assert heights == set(model.thresholds_.tolist())
    assert ax.get_ylabel() == "latent function"
    assert len([c for c in ax.collections if isinstance(c, PolyCollection)]) == 1


def test_every_row_is_a_tick_in_the_lane_of_its_level(counted, drawn):
    model, X, y = counted
    ax = drawn(LatentDisplay.from_estimator(model, X, y))
    lanes = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert [len(lane.get_segments()) for lane in lanes] == np.bincount(y).tolist()
    floors = [lane.get_segments()[0][0][1] for lane in lanes]
    assert floors == sorted(floors)  # higher levels have higher lanes
    assert ax.get_ylim()[0] < floors[0]
    bare = drawn(LatentDisplay.from_estimator(model, X))
    assert not [c for c in bare.collections if isinstance(c, LineCollection)]


def test_names_of_levels_stand_beside_their_intervals(process, rows, drawn):
    X, y = rows
    words = ["low", "so-so", "fine", "best"]
    model = OrdinalGP(optimizer=None, levels=words).fit(X, np.array(words)[y])
    ax = drawn(LatentDisplay.from_estimator(model, X, np.array(words)[y], features=0))
    shown = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert list(shown) == words
    heights = list(shown.values())
    for low, threshold, high in zip(heights, model.thresholds_, heights[1:], strict=False):
        assert low < threshold < high


def test_a_score_has_no_band(ensemble, rows, drawn):
    display = LatentDisplay.from_estimator(ensemble, *rows, features=[1])
    assert display.std is None
    assert drawn(display).get_ylabel() == "score"


# ------------------------------------------------------------------------------ two features


def test_regions_lie_between_the_thresholds(process, rows, drawn):
    display = LatentDisplay.from_estimator(process, *rows, grid_resolution=30)
    ax = drawn(display)
    assert display.mean.shape == (30, 30)
    xx, yy = np.meshgrid(*display.grid)
    mean, _ = process.predict_latent(np.column_stack([xx.ravel(), yy.ravel()]))
    np.testing.assert_allclose(display.mean.ravel(), mean)
    fills, lines = ax.collections[:2]
    crossed = process.thresholds_[
        (process.thresholds_ > mean.min()) & (process.thresholds_ < mean.max())
    ]
    assert lines.levels.tolist() == crossed.tolist()
    assert fills.levels[1:-1].tolist() == crossed.tolist()
    assert ax.get_xlabel() == "feature 1"
    assert ax.get_ylabel() == "feature 2"


def test_points_are_marked_by_level(process, rows, drawn):
    X, y = rows
    ax = drawn(LatentDisplay.from_estimator(process, X, y))
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in points] == np.bincount(y).tolist()
    assert len({line.get_marker() for line in points}) == 4
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["3", "2", "1", "0"]


def test_a_map_of_one_level_alone_is_a_picture_too(process, drawn):
    near = np.array([[0.0, 0.0], [0.001, 0.001]])
    assert drawn(LatentDisplay.from_estimator(process, near))


def test_two_of_many_features_are_drawn_and_the_rest_held(rows, drawn):
    X, y = rows
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "hue": ["r", "g"] * 30})
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False, drop="first"), ["hue"]), remainder="passthrough"
    )
    model = make_pipeline(encoder, OrdinalGP(optimizer=None)).fit(frame, y)
    ax = drawn(LatentDisplay.from_estimator(model, frame, y, features=["b", "a"]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "a")
    with pytest.raises(
        ValueError, match="one or two different features, and there are 3; name"
    ):
        LatentDisplay.from_estimator(model, frame, y)
    with pytest.raises(ValueError, match="'hue' holds text"):
        LatentDisplay.from_estimator(model, frame, y, features="hue")


def test_a_model_without_a_latent_function_is_refused(rows):
    model = LogisticRegression().fit(*rows)
    with pytest.raises(
        TypeError, match="LogisticRegression has no latent function; LatentDisplay takes"
    ):
        LatentDisplay.from_estimator(model, *rows)


def test_the_latent_function_of_a_regression_on_the_ranks_is_drawn(rows):
    X, y = rows
    model = RoundedRegressor(Ridge()).fit(X, y)
    shown = LatentDisplay.from_estimator(model, X, y, features=0)
    assert shown.thresholds.tolist() == model.thresholds_.tolist()


# ------------------------------------------------------------------------------ words


def test_awkward_names_are_shown_as_they_stand(awkward, drawn, shows):
    model, frame, labels = awkward
    display = LevelProbabilityDisplay.from_estimator(model, frame, 0)
    ax = drawn(display)
    for words in (
        "$x_1$ and $y$",
        "pay $5 or $10",
        "<script>alert(1)</script>",
        "100 % of it_",
    ):
        assert shows(ax, words)
    assert shows(drawn(LatentDisplay.from_estimator(model, frame, labels)), "<b> & 50 %")
    one = LatentDisplay.from_estimator(model, frame, labels, features=1)
    assert shows(drawn(one), "pay $5 or $10")


def test_a_drawing_in_a_page_brings_no_script(awkward):
    model, frame, _ = awkward
    display = LevelProbabilityDisplay.from_estimator(model, frame, 1)
    for kind in ("path", "none"):
        with mpl.rc_context({"svg.fonttype": kind}):
            page = io.StringIO()
            display.figure_.savefig(page, format="svg")
        assert "<script" not in page.getvalue()
        assert "&lt;script&gt;" in page.getvalue()
