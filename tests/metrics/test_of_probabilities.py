"""The ranked probability score in parts."""

import numpy as np
import pytest

from ordinality.metrics import ranked_probability_score, reliability, score_decomposition


@pytest.fixture
def forecasts():
    rng = np.random.default_rng(4)
    proba = rng.dirichlet([0.7, 1.0, 0.5, 1.2], size=300)
    y = np.array([rng.choice(4, p=row) for row in proba**0.7 / (proba**0.7).sum(1)[:, None]])
    return y, proba, rng.integers(0, 4, size=300).astype(float)


@pytest.mark.parametrize("bins", [1, 2, 10, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_parts_add_up_to_the_score_whatever_the_bins(forecasts, bins, weighted):
    y, proba, weight = forecasts
    given = {"sample_weight": weight if weighted else None}
    parts = score_decomposition(y, proba, bins, **given)
    score = ranked_probability_score(y, proba, **given)
    assert parts.score.shape == (3,)
    assert parts.score.sum() == pytest.approx(score, rel=1e-12)


def test_uncertainty_is_the_score_of_the_overall_frequency(forecasts):
    y, proba, _ = forecasts
    climate = np.tile(np.bincount(y) / len(y), (len(y), 1))
    parts = score_decomposition(y, climate)
    score = ranked_probability_score(y, climate)
    assert parts.uncertainty.sum() == pytest.approx(score, rel=1e-12)
    assert parts.reliability == pytest.approx(0.0, abs=1e-15)
    assert parts.resolution == pytest.approx(0.0, abs=1e-15)
    same = score_decomposition(y, proba).uncertainty
    assert parts.uncertainty == pytest.approx(same, rel=1e-12)


def test_certain_and_true_forecasts_have_all_the_resolution_there_is(forecasts):
    y = forecasts[0]
    parts = score_decomposition(y, np.eye(4)[y])
    assert parts.reliability == pytest.approx(0.0, abs=1e-15)
    assert parts.resolution == pytest.approx(parts.uncertainty)


def test_reliability_is_that_of_the_curves(forecasts):
    y, proba, _ = forecasts
    parts = score_decomposition(y, proba, 7)
    for found, curve in zip(parts.reliability, reliability(y, proba, n_bins=7), strict=True):
        gap = curve.count @ (curve.predicted - curve.observed) ** 2
        assert found == pytest.approx(gap / len(y), rel=1e-12)
    assert parts.level.tolist() == [0, 1, 2]


def test_rows_without_weight_do_not_count(forecasts):
    y, proba, weight = forecasts
    kept = weight > 0
    ours = score_decomposition(y, proba, sample_weight=weight)
    theirs = score_decomposition(y[kept], proba[kept], sample_weight=weight[kept])
    assert ours.resolution == pytest.approx(theirs.resolution, rel=1e-12)


def test_no_bins_are_refused(forecasts):
    with pytest.raises(ValueError, match="n_bins is 0; at least one"):
        score_decomposition(*forecasts[:2], bins=0)
