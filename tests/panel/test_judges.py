"""Judges: taking one out, coins against followers, repeats, and leaving judges out."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kendalltau

from ordinality import PreferenceGP
from ordinality.gp.likelihoods import Symmetric
from ordinality.panel import rank_answers
from ordinality.panel.coin_ratio import coin_log_ratio, removed, sites_of
from ordinality.panel.judges import GivenAnswers, _beside

SIGNALS = np.array([0.35, 0.5, 0.7, 1.0, 1.4, 2.0])


def comparisons(n=12, m=300, judges=4, noise=0.5, seed=0):
    """Names of pairs, answers, judges; items are called in their true order."""
    rng = np.random.default_rng(seed)
    u = np.sort(rng.standard_normal(n))[::-1]
    i = rng.integers(n, size=m)
    j = (i + rng.integers(1, n, size=m)) % n
    felt = u[i] - u[j] + np.sqrt(2) * noise * rng.standard_normal(m)
    names = np.array([f"item {k:02d}" for k in range(n)])
    who = np.array([f"judge {k}" for k in rng.integers(judges, size=m)])
    return names[np.column_stack([i, j])], np.where(felt > 0, 1, -1), who


@pytest.fixture(scope="module")
def held():
    """A model with fixed noise, its posterior without judge 0, and that judge's answers."""
    pairs, answers, judges = comparisons(n=8, m=120, judges=3)
    model = PreferenceGP(np.unique(pairs), optimizer=None, noise=0.6)
    model.fit(pairs, answers, judges=judges)
    own = judges == "judge 0"
    ones = np.ones(own.sum())
    given = GivenAnswers(
        model.item_numbers(pairs[own]), answers[own], judges[own], ones, ones, None, True
    )
    level = (given.answers + 1) // 2
    likelihood = Symmetric.of(sigma=0.6)
    sites = sites_of(*model.posterior(), 1.0, given.pairs.T, level, ones, likelihood)
    others = removed(*model.posterior(), 1.0, sites)
    return model, others, given, (pairs[~own], answers[~own], judges[~own])


def test_taking_a_judge_out_leaves_the_sites_of_the_others(held):
    model, (mean, cov), *_ = held
    a, seen = model.fit_.best.approximation, model._answers
    rest = seen.part != 0
    A = np.zeros((rest.sum(), 8))
    A[np.arange(len(A)), seen.items[rest, 0]] = 1.0
    A[np.arange(len(A)), seen.items[rest, 1]] = -1.0
    expected = np.linalg.inv(np.eye(8) + A.T @ (a.tau[rest, None] * A))
    # The engine stops where its sites move by less than 1e-6.
    np.testing.assert_allclose(cov, expected, atol=1e-4)
    np.testing.assert_allclose(mean, expected @ A.T @ a.nu[rest], atol=1e-4)


def test_it_predicts_about_what_a_model_of_the_others_does(held):
    _, (mean, cov), given, others = held
    refitted = PreferenceGP(np.unique(others[0]), optimizer=None, noise=0.6)
    refitted.fit(*others[:2], judges=others[2])
    i, j = given.pairs.T
    spread = cov[i, i] + cov[j, j] - 2.0 * cov[i, j]
    p = Symmetric.of(sigma=0.6).proba(mean[i] - mean[j], spread)[:, 1]
    np.testing.assert_allclose(p, refitted.predict_proba(given.pairs)[:, 1], atol=0.02)


def test_infit_of_two_answers_is_the_usual_formula(held):
    model, (mean, cov), given, _ = held
    i, j = given.pairs.T
    spread = cov[i, i] + cov[j, j] - 2.0 * cov[i, j]
    p = Symmetric.of(sigma=0.6).proba(mean[i] - mean[j], spread)[:, 1]
    y, v = given.answers > 0, p * (1 - p)
    infit = np.sum((y - p) ** 2) / v.sum()
    z = (infit - 1) * v.sum() / np.sqrt(np.sum(v * (1 - 2 * p) ** 2))
    found = _beside(model.snapshot(None), model.classes_, given, "judge 0")
    assert found.fit.infit == pytest.approx(infit, rel=1e-9)
    assert found.fit.infit_z == pytest.approx(z, rel=1e-9)
    assert found.rlh == pytest.approx(np.exp(np.mean(np.log(np.where(y, p, 1 - p)))), rel=1e-9)


def weight_of_signals():
    log_density = -0.5 * (np.log(SIGNALS) / 0.35) ** 2
    weight = np.exp(log_density) * np.gradient(np.log(SIGNALS))
    return weight / weight.sum()


def ratio_of(mean, cov, pairs, levels, likelihood, weights=None):
    weights = np.ones(len(levels)) if weights is None else np.asarray(weights)
    pair = np.asarray(pairs).T
    return coin_log_ratio(mean, cov, 1.0, pair, np.asarray(levels), weights, likelihood)


def test_the_ratio_of_one_answer_is_twice_its_probability():
    mean, cov = np.array([0.8, 0.0]), np.diag([0.5, 0.2])
    found = ratio_of(mean, cov, [[0, 1]], [1], Symmetric.of(sigma=0.5))
    p = ndtr(SIGNALS * 0.8 / np.sqrt(2 * 0.25 + SIGNALS**2 * 0.7))
    assert found == pytest.approx(np.log(2 * weight_of_signals() @ p), rel=1e-9)


def test_the_ratio_of_several_answers_is_that_of_draws():
    # A million draws of three utilities; steps of rank one are off by some thousandths here.
    rng = np.random.default_rng(0)
    mean, half = np.array([0.5, 0.0, -0.4]), 0.6 * rng.standard_normal((3, 3))
    pairs, up = [[0, 1], [1, 2], [2, 0], [0, 1]], np.array([1, 0, 0, 1])
    f = mean + rng.standard_normal((1_000_000, 3)) @ half.T
    i, j = np.array(pairs).T
    each = [
        np.mean(np.prod(2 * ndtr((2 * up - 1) * r * (f[:, i] - f[:, j]) / np.sqrt(2)), axis=1))
        for r in SIGNALS
    ]
    found = ratio_of(mean, half @ half.T, pairs, up, Symmetric.of(sigma=1.0))
    assert found == pytest.approx(np.log(weight_of_signals() @ each), abs=0.02)


def test_ties_and_answers_without_weight_are_no_evidence():
    mean, cov = np.array([1.0, 0.0]), 0.1 * np.eye(2)
    likelihood = Symmetric.of([0.3], ties=True, sigma=0.5)
    assert ratio_of(mean, cov, [[0, 1]], [1], likelihood) == pytest.approx(0.0, abs=1e-12)
    with_tie = ratio_of(mean, cov, [[0, 1], [0, 1]], [0, 2], likelihood, [0.0, 1.0])
    assert with_tie == pytest.approx(ratio_of(mean, cov, [[0, 1]], [2], likelihood))
    assert with_tie > 0.3


def panel_of(coins, true, n=20, each=40, seed=0):
    """Random pairs; judges of ratio 2, and coins, whose names begin with c."""
    rng = np.random.default_rng(seed)
    f = rng.standard_normal(n)
    who = np.repeat([f"c{k}" for k in range(coins)] + [f"t{k}" for k in range(true)], each)
    i = rng.integers(n, size=len(who))
    j = (i + rng.integers(1, n, size=len(who))) % n
    follows = np.char.startswith(who, "t")
    right = ndtr(np.where(follows, 2.0, 0.0) * (f[i] - f[j]) / np.sqrt(2))
    answers = np.where(rng.random(len(who)) < right, 1, -1)
    names = np.array([f"item {k:02d}" for k in range(n)])
    return f, names[np.column_stack([i, j])], answers, who


@pytest.fixture(scope="module")
def panel():
    f, pairs, answers, who = panel_of(coins=3, true=7)
    return f, pairs, answers, who, rank_answers(pairs, answers, judges=who)


def test_coins_are_named_and_followers_are_not(panel):
    found = panel[-1]
    flagged = {one.judge for one in found.judges if one.flag}
    assert flagged == {"c0", "c1", "c2"}
    coin = {one.judge: one.coin for one in found.judges}
    assert all((coin[name] > 0.05) == (name in flagged) for name in coin)
    assert "disagrees with the others" in found.judges[0].flag


def test_who_answers_the_other_way_round_follows_no_more_than_a_coin(panel):
    _, pairs, answers, who, _ = panel
    turned = np.where(who == "t0", -answers, answers)
    found = {one.judge: one for one in rank_answers(pairs, turned, judges=who).judges}
    assert found["t0"].coin > 0.99
    assert found["t0"].rlh < 0.5 < found["t1"].rlh


def test_a_judge_who_is_left_out_has_no_say_and_is_still_described(panel):
    f, pairs, answers, who, before = panel
    coins = ["c0", "c1", "c2"]
    found = rank_answers(pairs, answers, judges=who, leave_out=coins)
    kept = ~np.isin(who, coins)
    alone = rank_answers(
        pairs[kept], answers[kept], judges=who[kept], items=sorted(set(pairs.flat))
    )
    assert [one.utility for one in found.items] == [one.utility for one in alone.items]
    assert [one.answers for one in found.items] == [one.answers for one in alone.items]
    assert found.check == alone.check
    ranks = {one.item: one.rank for one in before.items}
    assert [one.rank_of_all for one in found.items] == [ranks[one.item] for one in found.items]
    assert before.items[0].rank_of_all is None
    assert found.left_out == ("c0", "c1", "c2")
    described = {one.judge: one for one in found.judges}
    assert described["c0"].noise is None
    assert described["c0"].flag
    assert described["t0"].misfit == pytest.approx(alone.judges[0].misfit)
    assert "left out: c0, c1, c2" in found.sentences()[-1]
    place = [one.rank for one in sorted(found.items, key=lambda one: one.item)]
    assert kendalltau(place, -f).statistic > 0.7


def test_repeats_are_compared_with_the_first_answer_whichever_side_it_was():
    pairs, answers, who = comparisons(n=6, m=80, judges=2)
    more = np.concatenate([pairs, pairs[:30, ::-1]])
    who, weights = np.r_[who, who[:30]], np.r_[np.ones(80), np.zeros(30)]
    same = rank_answers(more, np.r_[answers, -answers[:30]], judges=who, weights=weights)
    other = rank_answers(more, np.r_[answers, answers[:30]], judges=who, weights=weights)
    assert sum(one.repeats for one in same.judges) >= 30
    for one, turned in zip(same.judges, other.judges, strict=True):
        assert one.agreed > turned.agreed
        assert one.agreed_expected == turned.agreed_expected
        assert 0.5 < one.agreed_expected < 1.0


@pytest.mark.parametrize(
    ("leave_out", "error", "said"),
    [
        (["judge 9"], ValueError, "names 'judge 9', who gave no answer"),
        ("judge 1", TypeError, "pass a list of names"),
    ],
)
def test_unknown_judges_cannot_be_left_out(leave_out, error, said):
    pairs, answers, who = comparisons(n=5, m=40)
    with pytest.raises(error, match=said):
        rank_answers(pairs, answers, judges=who, leave_out=leave_out)
