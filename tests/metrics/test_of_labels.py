"""Metrics of labels agree with counts by hand, with SciPy and with scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

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
by_name = pytest.mark.parametrize("metric", OF_LABELS, ids=lambda m: m.__name__)
ranks = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


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
def test_correlations_agree_with_scipy(sample, seed):
    true, pred, _ = sample(seed=seed)
    assert metrics.kendall_tau(true, pred) == pytest.approx(stats.kendalltau(true, pred)[0])
    assert metrics.spearman(true, pred) == pytest.approx(stats.spearmanr(true, pred)[0])


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_kappa_of_words_in_order_is_that_of_their_ranks(sample, weights):
    true, pred, _ = sample(K=3)
    words = np.array(LEVELS)
    ours = getattr(metrics, f"{weights}_kappa")(words[true], words[pred], levels=LEVELS)
    assert ours == pytest.approx(cohen_kappa_score(true, pred, weights=weights))


@by_name
def test_weights_count_a_row_that_many_times(sample, metric):
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
        ([1.0, -1.0], "not negative.*smallest entry -1"),
        ([0.0, 0.0], "not all zero, but its sum is 0"),
        ([1.0, np.inf], "finite.*its sum is inf"),
    ],
)
def test_faulty_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        metrics.mean_absolute_error([1, 2], [1, 2], sample_weight=weight)
