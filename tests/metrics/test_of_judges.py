"""Statistics of judges, against sampling, bivariate normals and the usual formulas."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from ordinality import metrics


def drawn(proba, values, rng):
    return np.array([rng.choice(values, p=row) for row in proba])


def test_fit_of_two_answers_is_the_usual_formula():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 30)
    y = (rng.random(30) < p).astype(float)
    w = p * (1 - p)
    found = metrics.judge_fit(2 * y - 1, np.column_stack([1 - p, p]))
    assert found.infit == pytest.approx(np.sum((y - p) ** 2) / w.sum(), rel=1e-12)
    assert found.outfit == pytest.approx(np.mean((y - p) ** 2 / w), rel=1e-12)
    z = (found.infit - 1) * w.sum() / np.sqrt(np.sum(w * (1 - 2 * p) ** 2))
    assert found.infit_z == pytest.approx(z, rel=1e-9)
    # Wright & Masters (1982), table 5.4: variance of outfit is sum(C / W**2) / n**2 - 1 / n.
    fourth = w * ((1 - p) ** 3 + p**3)
    spread = np.sum(fourth / w**2) / 30**2 - 1 / 30
    assert found.outfit_z == pytest.approx((found.outfit - 1) / np.sqrt(spread), rel=1e-9)


@pytest.mark.parametrize("values", [(-1, 1), (-1, 0, 1), (-2, -1, 0, 1, 2)])
def test_fit_is_one_and_z_standard_where_the_probabilities_are_right(values):
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(len(values)), 200)
    found = np.array([metrics.judge_fit(drawn(proba, values, rng), proba, levels=values)
                      for _ in range(100)])  # fmt: skip
    # Means over 100 judges; four standard errors of z, and of a deviation.
    assert np.abs(found.mean(axis=0)[[1, 3]]).max() < 0.4
    assert np.abs(found.std(axis=0)[[1, 3]] - 1).max() < 0.3
    assert np.abs(found.mean(axis=0)[[0, 2]] - 1).max() < 0.1


def test_who_contradicts_has_a_large_fit_and_who_is_sharper_a_small_one():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.6, 0.95, 100)
    proba = np.column_stack([1 - p, p])
    assert metrics.judge_fit(-np.ones(100), proba).infit_z > 5
    assert metrics.judge_fit(np.ones(100), proba).infit_z < -2


def test_one_slip_on_an_easy_question_moves_outfit_more_than_infit():
    p = np.array([0.999] + [0.6] * 30)
    answers = [-1] + [1] * 18 + [-1] * 12
    found = metrics.judge_fit(answers, np.column_stack([1 - p, p]))
    assert found.outfit > 20
    assert found.infit < 1.3


def test_a_weight_counts_an_answer_so_often():
    p = np.array([0.7, 0.2, 0.4])
    proba, y = np.column_stack([1 - p, p]), np.array([1, 1, -1])
    twice = metrics.judge_fit(np.r_[y, y[:1]], np.r_[proba, proba[:1]])
    found = metrics.judge_fit(y, proba, sample_weight=[2.0, 1.0, 1.0])
    assert found.infit == pytest.approx(twice.infit)
    assert found.outfit == pytest.approx(twice.outfit)
    nothing = metrics.judge_fit(y, proba, sample_weight=[0.0, 0.0, 1.0])
    assert nothing.infit == pytest.approx(0.4**2 / 0.24)


def test_open_questions_surprise_nobody_and_certain_ones_measure_nothing():
    assert metrics.judge_fit([1, -1], [[0.5, 0.5]] * 2)[:2] == (1.0, 0.0)
    assert np.isnan(metrics.judge_fit([1, 1], [[0.0, 1.0]] * 2)).all()


def test_the_share_of_left_answers_leaves_ties_out():
    share, error = metrics.left_share([1, 2, -1, 0, 0, 1])
    assert share == 0.75
    assert error == pytest.approx(np.sqrt(0.75 * 0.25 / 4))
    weighted = metrics.left_share([1, -1], sample_weight=[3.0, 3.0])
    assert weighted == pytest.approx((0.5, np.sqrt(0.25 / 2)))
    assert np.isnan(metrics.left_share([0, 0])).all()


@pytest.mark.parametrize("variance", [0.0, 0.3, 1.0, 9.0])
def test_expected_agreement_without_a_mean_is_the_closed_form(variance):
    found = metrics.repeat_agreement([1], [1], [0.0], [variance])
    expected = 0.5 + np.arcsin(variance / (1 + variance)) / np.pi
    assert found.expected == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("mean", "variance"), [(0.7, 0.5), (-1.5, 2.0), (3.0, 0.1)])
def test_expected_agreement_is_that_of_two_answers_to_one_difference(mean, variance):
    both = multivariate_normal([mean] * 2, np.eye(2) + variance)
    same = both.cdf([0.0, 0.0]) + multivariate_normal([-mean] * 2, both.cov).cdf([0.0, 0.0])
    found = metrics.repeat_agreement([1, -1], [1, 1], [mean] * 2, [variance] * 2)
    assert found.expected == pytest.approx(same, abs=1e-5)  # of SciPy's integration
    assert (found.observed, found.repeats) == (0.5, 2)


def test_repeats_with_a_tie_are_left_out():
    found = metrics.repeat_agreement([1, 0, 2], [-1, 1, 1], [0.0, 5.0, 0.0], [0.0] * 3)
    assert found == (0.5, 0.5, 2)
    assert np.isnan(metrics.repeat_agreement([0], [1], [0.0], [1.0])[:2]).all()


def test_root_likelihood_is_the_log_score_turned_round():
    p = np.array([0.9, 0.3, 0.6])
    proba = np.column_stack([1 - p, p])
    score = metrics.log_score([1, 1, 1], proba, levels=[-1, 1])
    assert metrics.root_likelihood(p) == pytest.approx(np.exp(-score), rel=1e-12)
    assert metrics.root_likelihood([0.25] * 8) == pytest.approx(0.25)
    assert metrics.root_likelihood([0.5, 0.0]) == 0.0
    assert metrics.root_likelihood([0.5, 0.0], sample_weight=[1.0, 0.0]) == 0.5


def test_separation_of_estimates_and_of_posterior_means_agree_with_the_truth():
    rng = np.random.default_rng(3)
    true, error = rng.standard_normal(20_000), np.full(20_000, 0.5)
    estimate = true + error * rng.standard_normal(20_000)
    share = 1 / (1 + 0.25)  # of the signal
    assert metrics.scale_separation(estimate, error) == pytest.approx(share, abs=0.01)
    found = metrics.scale_separation(share * estimate, np.sqrt(share) * error, posterior=True)
    assert found == pytest.approx(share, abs=0.01)
    assert np.corrcoef(true, estimate)[0, 1] ** 2 == pytest.approx(share, abs=0.01)


def test_estimates_that_differ_less_than_their_errors_are_not_separated():
    assert metrics.scale_separation([0.1, -0.1], [1.0, 1.0]) == 0.0
    assert np.isnan(metrics.scale_separation([1.0, 1.0], [0.0, 0.0]))
    assert np.isnan(metrics.scale_separation([1.0], [0.0], posterior=True))


def test_a_coin_agrees_with_itself_half_of_the_time():
    assert metrics.repeat_agreement([1], [1], [0.0], [0.0]).expected == pytest.approx(0.5)
    assert metrics.repeat_agreement([1], [1], [9.0], [0.0]).expected == pytest.approx(1.0)
    p = norm.cdf(0.4)
    found = metrics.repeat_agreement([1], [1], [0.4], [0.0]).expected
    assert found == pytest.approx(p**2 + (1 - p) ** 2, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: metrics.judge_fit([2], [[0.5, 0.5]]), "2, which is not one"),
        (lambda: metrics.judge_fit([1, 1], [[0.5, 0.5]]), "proba has shape"),
        (lambda: metrics.repeat_agreement([1], [1, 1], [0.0], [1.0]), "second must hold"),
        (lambda: metrics.root_likelihood([1.2]), "p must hold probabilities"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words(call, said):
    with pytest.raises(ValueError, match=said):
        call()
