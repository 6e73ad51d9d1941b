"""Metrics agree with brute force, with SciPy and with scikit-learn."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import brier_score_loss, cohen_kappa_score, log_loss, roc_auc_score

from ordinality import metrics

LEVELS = ["low", "mid", "high"]
OF_LABELS = [
    metrics.mean_absolute_error,
    metrics.zero_one_error,
    metrics.macro_mae,
    metrics.max_mae,
    metrics.off_by_one_accuracy,
    metrics.kendall_tau,
    metrics.spearman,
    metrics.linear_kappa,
    metrics.quadratic_kappa,
]
OF_PROBABILITIES = [metrics.ranked_probability_score, metrics.log_score]
by_name = pytest.mark.parametrize("metric", OF_LABELS, ids=lambda m: m.__name__)
ranks = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


def sample(n=60, K=5, seed=0):
    """True and predicted ranks that agree somewhat, and probabilities."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, K, n)
    pred = np.clip(true + rng.integers(-2, 3, n), 0, K - 1)
    return true, pred, rng.dirichlet(np.ones(K), n)


# ------------------------------------------------------------------------------ labels


def test_errors_of_a_small_example_counted_by_hand():
    true = ["low", "low", "low", "mid", "high", "high"]
    pred = ["low", "mid", "high", "mid", "high", "low"]
    value = {m.__name__: m(true, pred, levels=LEVELS) for m in OF_LABELS}
    assert value["mean_absolute_error"] == pytest.approx(5 / 6)  # 0 1 2 0 0 2
    assert value["zero_one_error"] == pytest.approx(3 / 6)
    assert value["macro_mae"] == pytest.approx((1 + 0 + 1) / 3)
    assert value["max_mae"] == pytest.approx(1)
    assert value["off_by_one_accuracy"] == pytest.approx(4 / 6)


@pytest.mark.parametrize("seed", range(3))
def test_correlations_agree_with_scipy(seed):
    true, pred, _ = sample(seed=seed)
    assert metrics.kendall_tau(true, pred) == pytest.approx(stats.kendalltau(true, pred)[0])
    assert metrics.spearman(true, pred) == pytest.approx(stats.spearmanr(true, pred)[0])


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_kappa_of_words_in_order_is_that_of_their_ranks(weights):
    true, pred, _ = sample(K=3)
    words = np.array(LEVELS)
    ours = getattr(metrics, f"{weights}_kappa")(words[true], words[pred], levels=LEVELS)
    assert ours == pytest.approx(cohen_kappa_score(true, pred, weights=weights))


@by_name
def test_weights_count_a_row_that_many_times(metric):
    true, pred, _ = sample(n=40)
    times = np.random.default_rng(1).integers(0, 4, 40)
    repeated = metric(np.repeat(true, times), np.repeat(pred, times), levels=range(5))
    weighted = metric(true, pred, levels=range(5), sample_weight=times)
    assert weighted == pytest.approx(repeated)
    halved = metric(true, pred, levels=range(5), sample_weight=times / 2)
    assert halved == pytest.approx(repeated)


@given(ranks)
def test_reversing_the_order_of_levels_changes_nothing(pairs):
    true, pred = zip(*pairs, strict=True)
    for metric in OF_LABELS:
        forwards = metric(true, pred, levels=[0, 1, 2, 3, 4])
        backwards = metric(true, pred, levels=[4, 3, 2, 1, 0])
        assert backwards == pytest.approx(forwards, nan_ok=True)


@by_name
def test_perfect_predictions_reach_the_best_value(metric):
    best = 0 if metric.__name__.endswith(("error", "mae")) else 1
    assert metric([0, 1, 2, 2], [0, 1, 2, 2]) == pytest.approx(best)


@pytest.mark.parametrize("metric", OF_LABELS[-4:], ids=lambda m: m.__name__)
def test_agreement_of_constants_is_not_a_number(metric):
    assert np.isnan(metric([1, 1], [1, 1]))
    assert np.isnan(metric([1, 1], [1, 1], levels=[1, 2, 3]))
    assert np.isnan(metric([1, 1, 1], [1, 1, 1], levels=[1, 2], sample_weight=[0.1, 0.2, 0.3]))
    # The row that differs does not count.
    assert np.isnan(metric([1, 1, 2], [1, 1, 2], sample_weight=[1, 1, 0]))


def test_a_level_no_label_shows_has_its_place_when_it_is_listed():
    assert metrics.mean_absolute_error([1, 5], [1, 1]) == 0.5
    assert metrics.mean_absolute_error([1, 5], [1, 1], levels=[1, 2, 3, 4, 5]) == 2.0


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_labels_that_carry_their_order_need_no_list(library):
    module = pytest.importorskip(library)
    enum = {"pandas": "CategoricalDtype", "polars": "Enum"}[library]
    dtype = getattr(module, enum)(LEVELS, **({"ordered": True} if library == "pandas" else {}))
    true = module.Series(["low", "high"], dtype=dtype)
    assert metrics.mean_absolute_error(true, np.array(["low", "low"])) == 1.0
    assert metrics.mean_absolute_error(["low", "low"], true) == 1.0


def test_text_without_an_order_is_refused_unless_none_is_needed():
    with pytest.raises(ValueError, match=r"\['high', 'low'\] are text without.*levels="):
        metrics.mean_absolute_error(["low", "high"], ["low", "low"])
    assert metrics.zero_one_error(["low", "high"], ["low", "low"]) == 0.5


@by_name
def test_every_metric_of_labels_refuses_what_it_cannot_measure(metric):
    with pytest.raises(ValueError, match="y_true has 2 labels and y_pred has 3"):
        metric([1, 2], [1, 2, 2])
    with pytest.raises(ValueError, match=r"contains 9.*declared levels \[1, 2\]"):
        metric([1, 2], [1, 9], levels=[1, 2])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"one number for each label, shape \(2,\).*has shape \(1,\)"),
        ([1.0, np.nan], "1 NaN"),
        ([1.0, -1.0], "nowhere negative.*smallest entry -1"),
        ([0.0, 0.0], "somewhere positive; its sum is 0"),
        ([1.0, np.inf], "finite.*its sum is inf"),
    ],
)
def test_faulty_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        metrics.mean_absolute_error([1, 2], [1, 2], sample_weight=weight)


# ------------------------------------------------------------------------------ probabilities


def test_ranked_probability_score_agrees_with_two_loops():
    true, _, proba = sample()
    total = 0.0
    for y, p in zip(true, proba, strict=True):
        for k in range(proba.shape[1] - 1):
            total += (p[: k + 1].sum() - (y <= k)) ** 2
    score = metrics.ranked_probability_score(true, proba)
    assert score == pytest.approx(total / len(true))


def test_ranked_probability_score_of_two_levels_is_the_brier_score():
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


def test_log_score_agrees_with_scikit_learn():
    true, _, proba = sample()
    weight = np.random.default_rng(2).uniform(size=true.size)
    score = metrics.log_score(true, proba, sample_weight=weight)
    assert score == pytest.approx(log_loss(true, proba, sample_weight=weight))


def test_log_score_of_the_impossible_is_infinite_unless_it_does_not_count():
    proba = [[1.0, 0.0], [0.5, 0.5]]
    assert metrics.log_score([1, 0], proba) == np.inf
    assert metrics.log_score([1, 0], proba, sample_weight=[0, 1]) == pytest.approx(np.log(2))


@pytest.mark.parametrize("metric", OF_PROBABILITIES, ids=lambda m: m.__name__)
def test_weights_of_probabilities_count_a_row_that_many_times(metric):
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
def test_c_index_agrees_with_all_pairs(digits):
    true, pred, _ = sample()
    rng = np.random.default_rng(3)
    score = np.round(pred + rng.normal(size=true.size), digits)
    weight = rng.uniform(size=true.size)
    weighted = metrics.ordinal_c_index(true, score, sample_weight=weight)
    assert weighted == pytest.approx(pairs_won(true, score, weight))
    plain = metrics.ordinal_c_index(true, score)
    assert plain == pytest.approx(pairs_won(true, score, np.ones(true.size)))


def test_c_index_of_two_levels_is_the_area_under_the_roc_curve():
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


def test_reliability_conserves_weight_and_events():
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
    with pytest.raises(ValueError, match="n_bins is 0; at least one"):
        metrics.reliability([0, 1], np.eye(2), n_bins=0)


# ------------------------------------------------------------------------------ the floor


def test_importing_metrics_loads_nothing_but_numpy():
    code = (
        "import sys, ordinality.metrics; "
        "print({'narwhals', 'pandas', 'polars', 'matplotlib', 'sklearn'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "set()"


def test_every_public_name_is_exported():
    assert sorted(metrics.__all__) == metrics.__all__
    assert all(callable(getattr(metrics, name)) for name in metrics.__all__)
