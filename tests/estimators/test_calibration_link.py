"""The link from scores to probabilities: true where it can be, finite where it cannot."""

import numpy as np
import pytest

from ordinality import metrics
from ordinality.estimators.calibration import (
    OrdinalLink,
    _minus_objective,
    agreeing,
    aligned,
    learn_link,
    level_order,
    out_of_fold,
)
from ordinality.gp.likelihoods import Ordinal

THRESHOLDS, WIDTH = np.array([-3.0, 0.0, 1.0, 5.0]), 1.5
TRUE = OrdinalLink(Ordinal(THRESHOLDS, WIDTH))


def simulated(n, seed=0, scores=None):
    """Scores, and ranks drawn from the true link."""
    rng = np.random.default_rng(seed)
    scores = 1.0 + 3.0 * rng.normal(size=n) if scores is None else scores
    return scores, np.digitize(scores + WIDTH * rng.normal(size=n), THRESHOLDS)


# ------------------------------------------------------------------------------ it is true


@pytest.mark.parametrize("shape", ["normal", "uniform", "two heaps", "heavy tails"])
def test_a_known_link_is_recovered_whatever_the_scores(shape):
    rng, n = np.random.default_rng(1), 20_000
    scores = {
        "normal": 3.0 * rng.normal(size=n),
        "uniform": rng.uniform(-8, 8, size=n),
        "two heaps": np.where(rng.random(n) < 0.5, -3.0, 4.0) + rng.normal(size=n),
        "heavy tails": 2.0 * rng.standard_t(2, size=n),
    }[shape]
    found = learn_link(*simulated(n, 2, scores), 5)
    # The standard error of a threshold is about width / sqrt(rows near it), 0.03 at the worst.
    np.testing.assert_allclose(found.thresholds, THRESHOLDS, atol=0.12)
    assert found.width == pytest.approx(WIDTH, rel=0.03)


def test_probabilities_are_reliable_on_new_rows():
    link = learn_link(*simulated(2000, 3), 5)
    scores, y = simulated(50_000, 4)
    for curve in metrics.reliability(y, link.proba(scores), levels=range(5)):
        many = curve.count > 500  # where chance moves a share by 0.02 at the most
        assert many.sum() > 3
        np.testing.assert_allclose(curve.observed[many], curve.predicted[many], atol=0.05)
    best = metrics.log_score(y, TRUE.proba(scores), levels=range(5))
    # K parameters from n rows cost about K / 2 n nats: 0.00125.
    assert metrics.log_score(y, link.proba(scores), levels=range(5)) < best + 0.005


def test_the_gradient_agrees_with_central_differences():
    rng = np.random.default_rng(0)
    z, y, weights = rng.normal(size=40), rng.integers(0, 4, 40), rng.uniform(0.5, 2, 40)
    blank, theta, h = np.array([0.25, 0.25, 1.25, 0.25]), np.array([0.3, -1.0, 0.1, -0.5]), 1e-5

    def value(theta):
        return _minus_objective(theta, z, y, weights, blank)[0]

    numeric = [(value(theta + e) - value(theta - e)) / (2 * h) for e in h * np.eye(4)]
    found = _minus_objective(theta, z, y, weights, blank)[1]
    np.testing.assert_allclose(found, numeric, rtol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_best_of_many_starts(seed):
    rng = np.random.default_rng(seed)
    scores, y = simulated(60, seed)
    z = (scores - scores.mean()) / scores.std()
    link = learn_link(scores, y, 5)
    b, w = (link.thresholds - scores.mean()) / scores.std(), link.width / scores.std()
    noise = w / np.hypot(1, w)
    unit = Ordinal(b * np.sqrt(1 - noise**2), noise)
    theta = np.append(-np.log(w), unit.theta[1:])
    args = z, y, np.ones(60), np.full(5, 0.2)
    best = _minus_objective(theta, *args)[0]
    for _ in range(50):
        assert best <= _minus_objective(theta + rng.normal(scale=0.1, size=5), *args)[0]


# ------------------------------------------------------------------------------ its form


@pytest.mark.parametrize("n_levels", [2, 3, 10])
def test_rows_sum_to_one_and_cumulative_probabilities_fall_with_the_score(n_levels):
    rng = np.random.default_rng(0)
    link = learn_link(rng.normal(size=200), rng.integers(0, n_levels, 200), n_levels)
    proba = link.proba(np.linspace(-50, 50, 401))
    assert np.all(proba >= 0)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    cumulative = np.cumsum(proba, axis=1)
    assert np.all(np.diff(cumulative, axis=1) >= 0)
    assert np.all(np.diff(cumulative, axis=0) <= 1e-12)


def test_one_level_or_a_lower_one_has_a_half_at_its_threshold():
    cumulative = np.cumsum(TRUE.proba(THRESHOLDS), axis=1)
    np.testing.assert_allclose(np.diag(cumulative), 0.5, rtol=1e-9)


def test_rows_are_worked_through_in_batches():
    scores = np.linspace(-5, 9, 25_001)
    np.testing.assert_allclose(TRUE.proba(scores)[::5000], TRUE.proba(scores[::5000]))


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-6), (-3.0, 1e9)])
def test_the_unit_of_the_scores_does_not_matter(shift, scale):
    scores, y = simulated(300)
    plain, odd = learn_link(scores, y, 5), learn_link(shift + scale * scores, y, 5)
    np.testing.assert_allclose(
        odd.proba(shift + scale * scores), plain.proba(scores), atol=1e-5
    )


def test_a_weight_of_two_is_the_row_twice():
    scores, y = simulated(100)
    weights = np.arange(100) % 4 + 1
    weighted = learn_link(scores, y, 5, weights.astype(float))
    copied = learn_link(np.repeat(scores, weights), np.repeat(y, weights), 5)
    np.testing.assert_allclose(weighted.thresholds, copied.thresholds, rtol=1e-4)
    assert weighted.width == pytest.approx(copied.width, rel=1e-4)


# ------------------------------------------------------------------------------ it is finite


def test_scores_that_say_nothing_leave_the_frequencies():
    y = np.repeat([0, 1, 3], [5, 3, 2])
    expected = (np.bincount(y) + 0.25) / 11
    link = learn_link(np.full(10, 7.0), y, 4)
    np.testing.assert_allclose(link.proba(np.array([7.0, 7.1]))[1], expected, atol=1e-3)


def test_scores_that_run_backwards_count_as_saying_nothing():
    link = learn_link(-np.arange(30.0), np.arange(30) // 10, 3)
    np.testing.assert_allclose(link.proba(np.array([-29.0, 0.0])), 1 / 3, atol=1e-3)


@pytest.mark.parametrize("n", [1, 5, 50, 5000])
def test_perfect_scores_give_more_certainty_the_more_there_are(n):
    scores, y = np.repeat([-1.0, 1.0], n), np.repeat([0, 1], n)
    sure = learn_link(scores, y, 2).proba(np.array([1.0]))[0, 1]
    # Between guessing and the rule of succession with a hundredth of a failure.
    assert 1 - 1 / (n + 1) < sure < 1 - 0.01 / (n + 2)


def test_scores_apart_by_next_to_nothing_stay_finite():
    scores = np.repeat([1.0, 1.0 + 1e-9, 1000.0], 5)
    link = learn_link(scores, np.repeat([0, 1, 2], 5), 3)
    assert np.all(np.isfinite(link.proba(scores)))
    assert np.all(np.diff(link.thresholds) > 0)


@pytest.mark.parametrize("unseen", [[0], [4], [0, 1], [2], [1, 3], [0, 4]], ids=str)
def test_levels_without_rows_keep_a_little(unseen):
    scores, y = simulated(400)
    kept = ~np.isin(y, unseen)
    link = learn_link(scores[kept], y[kept], 5)
    share = link.proba(scores[kept]).mean(axis=0)
    n = kept.sum()
    np.testing.assert_allclose(share, (np.bincount(y[kept], minlength=5) + 0.2) / (n + 1),
                               atol=0.02)  # fmt: skip
    assert np.all(share[unseen] > 0.02 / (n + 1))


def test_rows_without_a_score_count_for_the_frequencies():
    y = np.array([0, 0, 1, 1, 2])
    link = learn_link(np.full(5, np.nan), y, 3)
    expected = (np.array([2, 2, 1]) + 1 / 3) / 6
    np.testing.assert_allclose(link.proba(np.zeros(1))[0], expected, atol=1e-3)


def test_one_row_is_enough():
    proba = learn_link(np.array([2.0]), np.array([1]), 3).proba(np.array([-5.0, 2.0]))
    np.testing.assert_allclose(proba[1], np.array([1, 4, 1]) / 6, atol=1e-3)


# ------------------------------------------------------------------------------ agreement


def test_predicted_levels_become_the_most_probable_and_others_keep_their_ratios():
    rng = np.random.default_rng(0)
    proba, ranks = rng.dirichlet(np.ones(4), size=500), rng.integers(0, 4, 500)
    found = agreeing(proba, ranks)
    assert np.all(found.argmax(axis=1) == ranks)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    right = proba.argmax(axis=1) == ranks
    np.testing.assert_allclose(found[right], proba[right], rtol=1e-14)
    others = np.arange(4) != ranks[:, None]
    ratio = (found / proba)[others].reshape(500, 3)
    np.testing.assert_allclose(ratio, ratio[:, :1] * np.ones(3), rtol=1e-12)


# ------------------------------------------------------------------------------ out of fold


def test_aligned_scores_have_the_mean_and_spread_of_the_other_model():
    rng = np.random.default_rng(0)
    own, weights = rng.normal(size=50), rng.uniform(1, 2, size=50)
    moved = aligned(own, own, 7.0 - 3.0 * own, weights)
    np.testing.assert_allclose(moved, 7.0 + 3.0 * (own - 2 * np.average(own, weights=weights)))
    alike = aligned(own, np.ones(50), np.ones(50), weights)  # no spread to go by
    np.testing.assert_allclose(alike, own, atol=1e-14)


def remember(calls):
    def fit_score(train, test):
        calls.append((train, test))
        return test.astype(float)

    return fit_score


def test_every_row_is_scored_once_by_a_fit_without_it():
    y, calls = np.arange(47) % 4, []
    scores = out_of_fold(remember(calls), y, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(scores, np.arange(47))
    for train, test in calls:
        np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(47))


def test_folds_hold_equal_parts_of_each_level_and_few_rows_are_spread():
    y, calls = np.repeat([0, 1, 2, 3], [50, 23, 3, 1]), []
    out_of_fold(remember(calls), y, 5, np.random.default_rng(0))
    counts = np.array([np.bincount(y[test], minlength=4) for _, test in calls])
    assert np.all(np.ptp(counts, axis=0) <= 1)
    assert np.all(np.ptp(counts.sum(axis=1)) <= 1)


def test_rows_of_a_group_share_a_fold():
    groups, calls = np.repeat(np.arange(12), 3), []
    out_of_fold(remember(calls), groups % 2, 5, np.random.default_rng(0), groups=groups)
    assert len(calls) == 5
    for train, test in calls:
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize(
    ("y", "missing"),
    [([0, 1], [True, True]), ([0, 0, 0, 1], [False, False, False, True])],
    ids=["a row each", "one of the other"],
)
def test_rows_that_a_fit_cannot_do_without_have_no_score(y, missing):
    scores = out_of_fold(remember([]), np.array(y), 5, np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(scores), missing)


def test_folds_depend_on_the_seed_alone_and_may_run_in_threads():
    y = np.arange(60) % 3

    def fit_score(train, test):
        return np.full(len(test), train[:20].sum(), dtype=float)

    one, again, other = (
        out_of_fold(fit_score, y, 5, np.random.default_rng(seed), n_jobs=n_jobs)
        for seed, n_jobs in [(0, None), (0, 2), (1, None)]
    )
    np.testing.assert_array_equal(one, again)
    assert np.any(one != other)


def test_every_so_many_in_order_of_level_is_a_stratified_sample():
    y = np.repeat([2, 0, 1], [30, 60, 10])
    order = level_order(y, np.arange(100), np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(y[order[::10]]), [6, 1, 3])
