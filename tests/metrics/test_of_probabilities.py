"""Metrics of probabilities agree with brute force and scikit-learn, and parts add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from ordinality import metrics

LEVELS = ["low", "mid", "high"]
OF_PROBABILITIES = [metrics.ranked_probability_score, metrics.log_score]
ranks = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


def test_ranked_probability_score_agrees_with_two_loops(sample):
    true, _, proba = sample()
    total = 0.0
    for y, p in zip(true, proba, strict=True):
        for k in range(proba.shape[1] - 1):
            total += (p[: k + 1].sum() - (y <= k)) ** 2
    score = metrics.ranked_probability_score(true, proba)
    assert score == pytest.approx(total / len(true))


def test_ranked_probability_score_of_two_levels_is_the_brier_score(sample):
    true, _, proba = sample(K=2)
    score = metrics.ranked_probability_score(true, proba)
    assert score == pytest.approx(brier_score_loss(true, proba[:, 1]))


@given(ranks)
def test_ranked_probability_score_of_certain_predictions_is_the_absolute_error(pairs):
    true, pred = np.transpose(pairs)
    score = metrics.ranked_probability_score(true, np.eye(5)[pred], levels=range(5))
    assert score == metrics.mean_absolute_error(true, pred, levels=range(5))


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), st.integers(0, 2))
def test_ranked_probability_score_is_zero_for_certain_correct_predictions_only(odds, y):
    certain, doubtful = np.eye(3)[[y]], np.array([odds]) / sum(odds)
    assert metrics.ranked_probability_score([y], certain, levels=[0, 1, 2]) == 0
    assert metrics.ranked_probability_score([y], doubtful, levels=[0, 1, 2]) > 0


def test_log_score_agrees_with_scikit_learn(sample):
    true, _, proba = sample()
    weight = np.random.default_rng(2).uniform(size=true.size)
    score = metrics.log_score(true, proba, sample_weight=weight)
    assert score == pytest.approx(log_loss(true, proba, sample_weight=weight))


def test_log_score_of_the_impossible_is_infinite_unless_it_does_not_count():
    proba = [[1.0, 0.0], [0.5, 0.5]]
    assert metrics.log_score([1, 0], proba) == np.inf
    assert metrics.log_score([1, 0], proba, sample_weight=[0, 1]) == pytest.approx(np.log(2))


@pytest.mark.parametrize("metric", OF_PROBABILITIES, ids=lambda m: m.__name__)
def test_weights_of_probabilities_count_a_row_that_many_times(sample, metric):
    true, _, proba = sample()
    times = np.arange(true.size) % 3
    repeated = metric(np.repeat(true, times), np.repeat(proba, times, axis=0), levels=range(5))
    assert metric(true, proba, sample_weight=times) == pytest.approx(repeated)


@pytest.mark.parametrize("metric", [*OF_PROBABILITIES, metrics.reliability])
@pytest.mark.parametrize(
    ("proba", "message"),
    [
        ([[0.5, 0.5]] * 2, r"shape \(2, 2\).*\['low', 'mid', 'high'\] need \(2, 3\)"),
        ([[0.2, 0.6, 1.0]] * 2, "summing to one.*sums from 1.8 to 1.8"),  # cumulative
        ([[-0.5, 0.5, 1.0]] * 2, "not negative.*range from -0.5 to 1"),
        ([[np.nan, 0.5, 0.5]] * 2, "range from nan"),
    ],
    ids=["columns", "cumulative", "negative", "missing"],
)
def test_what_is_not_a_table_of_probabilities_is_refused(metric, proba, message):
    with pytest.raises(ValueError, match=message):
        metric(["low", "high"], proba, levels=LEVELS)


# ------------------------------------------------------------------------------ c-index


def pairs_won(true, score, weight):
    """Brute force over all pairs of rows."""
    won = total = 0.0
    for i, j in np.argwhere(np.less.outer(true, true)):
        w = weight[i] * weight[j]
        won += w * ((score[i] < score[j]) + 0.5 * (score[i] == score[j]))
        total += w
    return won / total


@pytest.mark.parametrize("digits", [0, 1, 6], ids="{} digits".format)
def test_c_index_agrees_with_all_pairs(sample, digits):
    true, pred, _ = sample()
    rng = np.random.default_rng(3)
    score = np.round(pred + rng.normal(size=true.size), digits)
    weight = rng.uniform(size=true.size)
    weighted = metrics.ordinal_c_index(true, score, sample_weight=weight)
    assert weighted == pytest.approx(pairs_won(true, score, weight))
    plain = metrics.ordinal_c_index(true, score)
    assert plain == pytest.approx(pairs_won(true, score, np.ones(true.size)))


def test_c_index_of_two_levels_is_the_area_under_the_roc_curve(sample):
    true, _, proba = sample(K=2)
    score = np.round(proba[:, 1], 1)
    assert metrics.ordinal_c_index(true, score) == pytest.approx(roc_auc_score(true, score))


@given(ranks)
def test_negating_the_scores_reflects_the_c_index(pairs):
    true, score = np.transpose(pairs)
    c = metrics.ordinal_c_index(true, score)
    assert metrics.ordinal_c_index(true, -score) == pytest.approx(1 - c, nan_ok=True)


def test_c_index_of_one_level_is_not_a_number_and_scores_must_be_numbers():
    assert np.isnan(metrics.ordinal_c_index([1, 1], [0.0, 1.0]))
    assert metrics.ordinal_c_index(["low", "high"], [-np.inf, np.inf], levels=LEVELS) == 1
    with pytest.raises(ValueError, match=r"score must hold one number for each label.*1 NaN"):
        metrics.ordinal_c_index([1, 2], [0.0, np.nan])
    with pytest.raises(ValueError, match="text without an order"):
        metrics.ordinal_c_index(["low", "high"], [0.0, 1.0])


# ------------------------------------------------------------------------------ reliability


def test_reliability_counts_exceedances_of_each_level():
    proba = [[0.25, 0.5, 0.25], [0.25, 0.5, 0.25], [0.75, 0.25, 0.0], [0.0, 0.0, 1.0]]
    low, mid = metrics.reliability(
        ["low", "mid", "low", "high"], proba, levels=LEVELS, n_bins=4
    )
    assert (low.level, mid.level) == ("low", "mid")
    # P(y > low) = 0.75, 0.75, 0.25, 1: a bin holds its lower edge, and the last one both.
    assert low.predicted.tolist() == pytest.approx([0.25, (0.75 + 0.75 + 1) / 3])
    assert low.observed.tolist() == pytest.approx([0.0, 2 / 3])
    assert low.count.tolist() == [1, 3]
    # P(y > mid) = 0.25, 0.25, 0, 1
    assert mid.predicted.tolist() == [0.0, 0.25, 1.0]
    assert mid.observed.tolist() == [0.0, 0.0, 1.0]
    assert mid.count.tolist() == [1, 2, 1]


def test_reliability_conserves_weight_and_events(sample):
    true, _, proba = sample()
    weight = np.random.default_rng(4).uniform(size=true.size)
    curves = metrics.reliability(true, proba, sample_weight=weight)
    assert len(curves) == 4
    for k, curve in enumerate(curves):
        above = proba[:, k + 1 :].sum(1)
        assert curve.level == k
        assert curve.count.sum() == pytest.approx(weight.sum())
        assert curve.count @ curve.predicted == pytest.approx(weight @ above)
        assert curve.count @ curve.observed == pytest.approx(weight @ (true > k))


def test_reliability_needs_a_bin():
    with pytest.raises(ValueError, match="n_bins is 0; it must be at least 1"):
        metrics.reliability([0, 1], np.eye(2), n_bins=0)


# ------------------------------------------------------------------------------ parts


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
    parts = metrics.score_decomposition(y, proba, bins, **given)
    score = metrics.ranked_probability_score(y, proba, **given)
    assert parts.score.shape == (3,)
    assert parts.score.sum() == pytest.approx(score, rel=1e-12)


def test_uncertainty_is_the_score_of_the_overall_frequency(forecasts):
    y, proba, _ = forecasts
    climate = np.tile(np.bincount(y) / len(y), (len(y), 1))
    parts = metrics.score_decomposition(y, climate)
    score = metrics.ranked_probability_score(y, climate)
    assert parts.uncertainty.sum() == pytest.approx(score, rel=1e-12)
    assert parts.reliability == pytest.approx(0.0, abs=1e-15)
    assert parts.resolution == pytest.approx(0.0, abs=1e-15)
    same = metrics.score_decomposition(y, proba).uncertainty
    assert parts.uncertainty == pytest.approx(same, rel=1e-12)


def test_certain_and_true_forecasts_have_all_the_resolution_there_is(forecasts):
    y = forecasts[0]
    parts = metrics.score_decomposition(y, np.eye(4)[y])
    assert parts.reliability == pytest.approx(0.0, abs=1e-15)
    assert parts.resolution == pytest.approx(parts.uncertainty)


def test_reliability_is_that_of_the_curves(forecasts):
    y, proba, _ = forecasts
    parts = metrics.score_decomposition(y, proba, 7)
    for found, curve in zip(
        parts.reliability, metrics.reliability(y, proba, n_bins=7), strict=True
    ):
        gap = curve.count @ (curve.predicted - curve.observed) ** 2
        assert found == pytest.approx(gap / len(y), rel=1e-12)
    assert parts.level.tolist() == [0, 1, 2]


def test_rows_without_weight_do_not_count(forecasts):
    y, proba, weight = forecasts
    kept = weight > 0
    ours = metrics.score_decomposition(y, proba, sample_weight=weight)
    theirs = metrics.score_decomposition(y[kept], proba[kept], sample_weight=weight[kept])
    assert ours.resolution == pytest.approx(theirs.resolution, rel=1e-12)


def test_no_bins_are_refused(forecasts):
    with pytest.raises(ValueError, match="n_bins is 0; it must be at least 1"):
        metrics.score_decomposition(*forecasts[:2], n_bins=0)
