"""Displays of how good predictions are."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ordinality import metrics
from ordinality.display import (
    OrdinalConfusionDisplay,
    ReliabilityDisplay,
    ScoreDecompositionDisplay,
)
from ordinality.estimators import OrdinalGP


def texts(ax):
    return [text.get_text() for text in ax.texts]


# ------------------------------------------------------------------------------ reliability


def test_each_threshold_has_its_curve(counted, drawn):
    model, X, y = counted
    display = ReliabilityDisplay.from_estimator(model, X, y, n_bins=4)
    ax = drawn(display)
    expected = metrics.reliability(y, model.predict_level_proba(X), n_bins=4)
    assert len(display.curves) == len(expected) == len(model.levels_) - 1
    lines = [line for line in ax.lines if len(line.get_xdata())][1:]  # the diagonal is first
    for line, curve in zip(
        lines, expected if len(expected) < 6 else [expected[0]], strict=False
    ):
        np.testing.assert_allclose(line.get_xdata(), curve.predicted)
        np.testing.assert_allclose(line.get_ydata(), curve.observed)
    assert ax.get_xlabel() == "predicted probability"
    assert ax.get_ylabel() == "observed frequency"


def test_of_many_thresholds_evenly_spaced_ones_are_drawn(counted, drawn):
    model, X, y = counted
    ax = drawn(ReliabilityDisplay.from_estimator(model, X, y, max_curves=3))
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    K = len(model.levels_)
    assert len(shown) == min(3, K - 1)
    assert shown[0] == f"above {K - 2}"
    assert shown[-1] == "above 0"


def test_the_number_of_bins_follows_the_number_of_rows():
    rng = np.random.default_rng(0)
    for n, most in ((20, 3), (110, 5), (4000, 10)):
        p = rng.uniform(size=n)
        y = (rng.uniform(size=n) < p).astype(int)
        y[:2] = 0, 1
        display = ReliabilityDisplay.from_predictions(y, np.column_stack([1 - p, p]))
        assert len(display.curves[0].predicted) == most


def test_a_marker_is_larger_where_more_rows_are(drawn):
    proba = np.array([[0.9, 0.1]] * 9 + [[0.2, 0.8]])
    ax = drawn(ReliabilityDisplay.from_predictions([0] * 9 + [1], proba, n_bins=5))
    (points,) = ax.collections
    assert points.get_sizes()[0] > points.get_sizes()[1]


# ------------------------------------------------------------------------------ decomposition


def test_bars_are_the_parts_and_the_title_their_sum(counted, drawn):
    model, X, y = counted
    display = ScoreDecompositionDisplay.from_estimator(model, X, y, n_bins=5)
    ax = drawn(display)
    proba = model.predict_level_proba(X)
    score = metrics.ranked_probability_score(y, proba)
    assert display.parts.score.sum() == pytest.approx(score)
    assert ax.get_title() == f"ranked probability score {score:.3f}"
    parts = (display.parts.uncertainty, display.parts.resolution, display.parts.reliability)
    for bars, part in zip(ax.containers, parts, strict=True):
        np.testing.assert_allclose([bar.get_height() for bar in bars], part)
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        f"above {level}" for level in model.levels_[:-1]
    ]


def test_bars_differ_in_hatch_for_a_grey_print(process, rows, drawn):
    ax = drawn(ScoreDecompositionDisplay.from_estimator(process, *rows))
    assert len({bars[0].get_hatch() for bars in ax.containers}) == 3


# ------------------------------------------------------------------------------ confusion


def test_counts_and_shares_are_written_into_the_cells(drawn):
    true, predicted = ["lo"] * 4 + ["hi"] * 2, ["lo", "lo", "lo", "hi", "hi", "hi"]
    display = OrdinalConfusionDisplay.from_predictions(true, predicted, levels=["lo", "hi"])
    ax = drawn(display)
    assert display.confusion.tolist() == [[3, 1], [0, 2]]
    assert texts(ax) == ["3", "75 %", "1", "25 %", "2", "100 %"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["lo", "hi"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted level", "true level")
    assert texts(drawn(display.plot(shares=False))) == ["3", "1", "2"]


def test_misses_are_darker_the_farther_they_are(drawn):
    confusion = np.array([[8, 1, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    ax = drawn(OrdinalConfusionDisplay(confusion, list("abcd")).plot())
    grey = np.asarray(ax.images[0].get_array()) @ [0.30, 0.59, 0.11]
    assert grey[0, 3] < grey[0, 1] < grey[0, 2] == pytest.approx(1.0)
    assert grey[1, 1] < grey[0, 0]  # a whole row of hits, and eight in ten


def test_levels_that_nobody_has_keep_their_row(drawn):
    display = OrdinalConfusionDisplay.from_predictions([1, 3], [3, 3], levels=[1, 2, 3])
    assert display.confusion.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 1]]
    drawn(display)


def test_models_of_any_number_of_levels_can_be_judged(counted, drawn):
    model, X, y = counted
    display = OrdinalConfusionDisplay.from_estimator(model, X, y)
    assert display.confusion.sum() == len(y)
    assert np.trace(display.confusion) == np.sum(model.predict(X) == y)
    drawn(display)


def test_a_pipeline_is_judged_as_a_whole(rows, drawn):
    X, y = rows
    model = make_pipeline(StandardScaler(), OrdinalGP(optimizer=None)).fit(X, y)
    display = OrdinalConfusionDisplay.from_estimator(model, X, y)
    assert np.trace(display.confusion) == np.sum(model.predict(X) == y)
    drawn(ReliabilityDisplay.from_estimator(model, X, y))
    drawn(ScoreDecompositionDisplay.from_estimator(model, X, y))


@pytest.mark.parametrize(
    "display", [OrdinalConfusionDisplay, ReliabilityDisplay, ScoreDecompositionDisplay]
)
def test_awkward_names_are_shown_as_they_stand(awkward, display, drawn, shows):
    model, frame, labels = awkward
    ax = drawn(display.from_estimator(model, frame, labels))
    assert shows(ax, "pay $5 or $10")
