"""Ranges of levels from out-of-fold probabilities: reference values and coverage."""

import json
from pathlib import Path

import numpy as np
import polars
import pytest

from ordinality.estimators.ordinal_conformal import growth_scores, score_bound
from ordinality.workbench import problem_of, study_of
from ordinality.workbench.prediction_sets import level_ranges
from ordinality.workbench.problem import level_proba

VECTORS = json.loads((Path(__file__).parents[1] / "linear-vectors.json").read_text("utf-8"))
CASE = next(case for case in VECTORS["cases"] if case["id"] == "conformal")


@pytest.mark.parametrize("alpha", [0.1, 0.2])
def test_bounds_and_ranges_are_the_reference_ones(alpha):
    data, expected = CASE["data"], CASE["expected"]["grow_mass_before"]
    proba, ranks = np.array(data["P_calibration"]), np.array(data["y_level"]) - 1
    scores = growth_scores(proba)[np.arange(len(ranks)), ranks]
    np.testing.assert_allclose(scores, expected["scores_calibration"], atol=1e-12)
    bound = score_bound(scores, np.ones(len(scores)), alpha)
    assert bound == pytest.approx(expected[f"alpha_{alpha}"]["threshold"], abs=1e-12)
    fresh = np.array(data["P_test"])
    np.testing.assert_allclose(growth_scores(fresh), expected["scores_test"], atol=1e-12)
    np.testing.assert_array_equal(
        level_ranges(fresh, bound) + 1, expected[f"alpha_{alpha}"]["sets"]
    )


def test_new_rows_lie_in_their_range_as_often_as_is_asked():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1400)
    y = np.digitize(x + rng.logistic(size=1400), [-1.5, -0.5, 0.5, 1.5])
    frame = polars.DataFrame({"x": x, "y": y})
    found = study_of(problem_of(frame[:400], "y"), "linear", n_splits=5)
    proba = level_proba(found.pipeline, frame[400:].select("x"))
    for percent in (80, 90):
        first, last = level_ranges(proba, found.range_bounds[str(percent)]).T
        covered = np.mean((first <= y[400:]) & (y[400:] <= last))
        # Four deviations: of 1000 new rows 0.013, of 400 calibrating ones 0.02.
        assert abs(covered - percent / 100) < 0.09
    assert found.sentences[-1].startswith("Nine times in ten the answer lies in a range of")
