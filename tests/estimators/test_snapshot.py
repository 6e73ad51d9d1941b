"""Snapshots of preferences: against reference values, fits at held noise, and refits."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kendalltau

from ordinality import PreferenceGP
from ordinality.elicitation import Trust, expected_rank_changes, order_gain
from ordinality.estimators.snapshot import RATIOS, log_prior_of_ratios

# Seven answers about three items, two of which contradict others.
PAIRS = [[0, 1], [0, 2], [1, 2], [0, 1], [1, 2], [2, 0], [0, 1]]
ANSWERS = [1, 1, 1, 1, -1, -1, 1]
# By EP in an independent program, at the first eight ratios.
WEIGHTS_EP = [0.0897121996, 0.0264212022, 0.0823095369, 0.0994232180, 0.1248441781,
              0.1696842401, 0.1641703054, 0.1265869333]  # fmt: skip


@pytest.fixture(scope="module")
def vectors():
    path = Path(__file__).parents[1] / "honest-vectors.json"
    return json.loads(path.read_text(encoding="utf-8"))


def fitted(case, n):
    model = PreferenceGP(n, optimizer=None, tol=1e-10)
    return model.fit(case["pairs"], np.array(case["answers"], dtype=int))


def test_weights_are_prior_times_evidence():
    snapshot = PreferenceGP(3, optimizer=None, tol=1e-10).fit(PAIRS, ANSWERS).snapshot()
    np.testing.assert_allclose(snapshot.weights[:8], WEIGHTS_EP, rtol=0, atol=1e-9)
    assert snapshot.weights.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("name", ["eight_true", "eight_coin"])
def test_scores_orders_and_gains_are_those_of_the_reference(vectors, name):
    case = vectors[name]
    snapshot = fitted(case, 8).snapshot()
    np.testing.assert_allclose(snapshot.weights, case["weights"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(snapshot.utility().mean, case["score"], rtol=0, atol=1e-9)
    wrong = expected_rank_changes(snapshot)
    assert wrong == pytest.approx(case["expected_wrong_pairs"], abs=1e-5)
    bits = np.array(case["order_bits_lower"])
    # The reference leaves unlikely ratios out of its second term in another way.
    gain = order_gain(snapshot, bits[:, :2].astype(int))
    np.testing.assert_allclose(gain, bits[:, 2:].sum(axis=1), rtol=0, atol=3e-4)


@pytest.mark.parametrize("name", ["e_values", "e_values_coin"])
def test_bets_are_those_of_the_reference(vectors, name):
    case, trust, found = vectors[name], Trust(), []
    for p, won in zip(case["p_first_wins"], case["first_won"], strict=True):
        trust = trust.add(p if won else 1.0 - p, check=True)
        found.append((trust.log_against_coin, trust.log_against_model))
    wanted = np.column_stack([case["log_E"], case["log_M"]])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_bets_on_several_answers_at_once_are_those_on_one_after_another():
    rng = np.random.default_rng(0)
    p, first, check = rng.random(200), rng.random(200) < 0.8, rng.random(200) < 0.3
    trust = Trust()
    for k in range(201):
        assert Trust.of(p[:k], first[:k], check[:k]) == trust
        if k < 200:
            trust = trust.add(p[k], first[k], check[k])
    with pytest.raises(ValueError, match=r"p is 1\.5; a probability must lie between 0 and 1"):
        Trust.of([0.5, 1.5], [True, True], [False, False])


def test_the_prior_of_ratios_has_a_fifth_at_zero_and_sums_to_one():
    prior = np.exp(log_prior_of_ratios(np.array(RATIOS)))
    assert prior[0] == pytest.approx(0.2)
    assert prior.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["plain", "ties", "judges", "logit", "ratings"])
def test_each_ratio_is_a_fit_with_that_noise(kind):
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(6, 2, replace=False) for _ in range(30)])
    answers = rng.choice([-1, 0, 1] if kind == "ties" else [-1, 1], 30)
    link = "logit" if kind == "logit" else "probit"
    given = {"judges": ["a", "b"] * 15} if kind == "judges" else {}
    if kind == "ratings":
        given = {"ratings": (np.arange(6), [1, 2, 2, 3, 1, 3])}
    model = PreferenceGP(6, ties=kind == "ties", link=link, noise=0.7, optimizer=None)
    snapshot = model.fit(pairs, answers, **given).snapshot([0.0, 0.5, 2.0])
    for g in (1, 2):
        held = PreferenceGP(
            6, ties=kind == "ties", link=link, noise=1.0 / snapshot.ratios[g], optimizer=None
        ).fit(pairs, answers, **given)
        if kind != "ratings":  # whose thresholds start where the shares of levels are
            mean, cov = held.posterior()
            np.testing.assert_allclose(snapshot.mean[g], mean, rtol=0, atol=1e-5)
            np.testing.assert_allclose(snapshot.cov[g], cov, rtol=0, atol=1e-5)
    assert np.all(snapshot.mean[0] == 0.0)
    np.testing.assert_allclose(snapshot.cov[0], np.eye(6))


def test_coin_flips_are_called_coin_flips_and_orders_orders():
    rng = np.random.default_rng(1)
    pairs = np.array([rng.choice(8, 2, replace=False) for _ in range(160)])
    flips = PreferenceGP(8).fit(pairs, rng.choice([-1, 1], 160)).snapshot()
    told = PreferenceGP(8).fit(pairs, np.where(pairs[:, 0] < pairs[:, 1], 1, -1)).snapshot()
    assert flips.weights[0] > 0.4
    assert told.weights[0] < 1e-6
    assert expected_rank_changes(flips) > 10.0 > 2.0 > expected_rank_changes(told)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("ties", [False, True])
def test_answers_are_folded_in_nearly_as_they_are_learnt(ties, seed):
    # A hundred answers, fifty items, one after another: not the fixed point of EP, but near.
    rng = np.random.default_rng(seed)
    f = rng.normal(size=50)
    pairs = np.array([rng.choice(50, 2, replace=False) for _ in range(500)])
    felt = f[pairs[:, 0]] - f[pairs[:, 1]] + 0.7 * rng.normal(size=500)
    answers = np.where(np.abs(felt) < 0.2 * ties, 0, np.sign(felt)).astype(int)
    model = PreferenceGP(50, ties=ties).fit(pairs[:400], answers[:400])
    before = model.snapshot()
    folded = before.told(pairs[400:], answers[400:])
    refitted = model.update(pairs[400:], answers[400:]).snapshot()
    one, other = folded.utility(), refitted.utility()
    assert kendalltau(one.mean, other.mean).statistic > 0.99
    assert np.max(np.abs(one.std / other.std - 1.0)) < 0.05  # 0.12 if old sites stay
    np.testing.assert_allclose(folded.weights, refitted.weights, atol=0.02)
    halves = before.told(pairs[400:450], answers[400:450]).told(pairs[450:], answers[450:])
    # In whatever portions they come; weights are rounded between them.
    np.testing.assert_allclose(halves.cov, folded.cov, rtol=0, atol=1e-12)


def test_folding_leaves_the_snapshot_before_as_it_was():
    model = PreferenceGP(3, optimizer=None).fit(PAIRS, ANSWERS)
    before, same = model.snapshot(), model.snapshot()
    before.told([[2, 0]] * 5)
    for name in ("weights", "mean", "cov"):
        np.testing.assert_array_equal(getattr(before, name), getattr(same, name))
    for name in ("tau", "nu", "items"):
        np.testing.assert_array_equal(getattr(before.sites, name), getattr(same.sites, name))


def test_what_was_told_is_more_probable_and_a_tie_of_a_coin_says_nothing():
    model = PreferenceGP(4, ties=True).fit([[0, 1], [1, 2], [2, 3]], [1, 1, 0])
    before = model.snapshot()
    after = before.told([[3, 0]], [1])
    p, q = (s.predict_proba([[3, 0]])[0, 2] for s in (before, after))
    assert q > p
    np.testing.assert_allclose(after.mean[0], 0.0)
    assert before.weights is not after.weights  # the first did not change
    np.testing.assert_allclose(after.predict_proba([[1, 2]]).sum(), 1.0)


def test_probabilities_are_averages_over_ratios():
    snapshot = PreferenceGP(3, optimizer=None).fit(PAIRS, ANSWERS).snapshot()
    by_hand = 0.0
    for w, slope, mean, cov in zip(
        snapshot.weights, snapshot.slope, snapshot.mean, snapshot.cov, strict=True
    ):
        variance = cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]
        seen = slope * (mean[0] - mean[1]) / np.sqrt(2.0 + slope**2 * variance)
        by_hand += w * ndtr(seen)
    assert snapshot.predict_proba([[0, 1]])[0, 1] == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("ratios", [[], [0.0], [-1.0, 1.0], [np.nan], [np.inf]])
def test_ratios_that_are_none_are_refused(ratios):
    model = PreferenceGP(3, optimizer=None).fit(PAIRS, ANSWERS)
    with pytest.raises(ValueError, match="must be numbers, 0 or more, of which one"):
        model.snapshot(ratios)


def test_a_ratio_of_weight_zero_keeps_it():
    snapshot = PreferenceGP(3).fit([[0, 1], [1, 2]]).snapshot()
    weights = np.where(snapshot.ratios == 0.0, 0.0, snapshot.weights)
    found = replace(snapshot, weights=weights / weights.sum()).told([[0, 2]])
    assert found.weights[0] == 0.0
    assert found.weights.sum() == pytest.approx(1.0)
