"""Judges of preferences: few answers make none extreme, new ones, and answers of nobody."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from ordinality import PreferenceGP, persist
from ordinality.estimators.snapshot import varied
from ordinality.gp.likelihoods import Symmetric

HELD = {"optimizer": None, "tol": 1e-10}


def answered(counts, noise=0.5, seed=0, n=12):
    """Pairs, answers and judges; ``counts`` are of their answers."""
    rng = np.random.default_rng(seed)
    judges = np.repeat(list(counts), list(counts.values()))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in judges])
    gap = rng.normal(size=n)[pairs] @ [1.0, -1.0]
    felt = gap + np.sqrt(2.0) * noise * rng.normal(size=len(judges))
    return pairs, np.where(felt > 0, 1, -1), judges, gap


# Few answers


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("wrong", [0, 3])
def test_ten_answers_make_no_judge_extreme(seed, wrong):
    pairs, answers, judges, gap = answered({"ann": 150, "bob": 150, "new": 10}, seed=seed)
    new = np.flatnonzero(judges == "new")
    answers[new] = np.where(gap[new] > 0, 1, -1)
    answers[new[:wrong]] *= -1
    apart = {"comparison_noise": 1.0}  # independent judges, as a mapping has them
    factors = []
    for hyperprior in ("weak", apart):
        model = PreferenceGP(12, hyperprior=hyperprior).fit(pairs, answers, judges=judges)
        factors.append(np.log(model.noise_[2] / np.median(model.noise_[:2])))
    assert abs(factors[0]) < 0.7  # less than twice, or half
    assert abs(factors[0]) < 0.8 * abs(factors[1])


def test_a_judge_at_random_is_still_found():
    pairs, answers, judges, _ = answered({"ann": 60, "bob": 60, "cid": 60, "dan": 60})
    coin = np.random.default_rng(9).choice([-1, 1], 60)
    answers[judges == "dan"] = coin
    noise = PreferenceGP(12).fit(pairs, answers, judges=judges).noise_
    assert noise[3] > 2.0 * noise[:3].max()


# Judges who are new


def test_the_noise_of_a_new_judge_is_integrated_over():
    one = Symmetric.of([0.3], ties=True, sigma=0.5)
    z = np.linspace(-9.0, 9.0, 20001)
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    noise = np.sqrt(2.0) * 0.5 * np.exp(0.6 * z)
    mean, variance = 0.7, 0.2
    # Steps grow with the noise: 0.3 / (sqrt(2) * 0.5) of it.
    above = ndtr((mean - 0.3 / 0.5 / np.sqrt(2.0) * noise) / np.sqrt(noise**2 + variance))
    wanted = np.trapezoid(density * above, z)
    found = sum(w * part.proba(np.array([mean]), np.array([variance]))[0, 2]
                for w, part in varied(one, 0.6))  # fmt: skip
    assert found == pytest.approx(wanted, abs=1e-5)
    assert varied(one, 0.0) == [(1.0, one)]


def test_the_spread_is_that_of_the_known_judges_and_answers_of_new_ones_are_less_sure():
    pairs, answers, judges, gap = answered({"ann": 80, "bob": 80, "cid": 80}, noise=0.3)
    alike = PreferenceGP(12).fit(pairs, answers, judges=judges)
    answers[judges == "cid"] = np.random.default_rng(1).choice([-1, 1], 80)
    unlike = PreferenceGP(12).fit(pairs, answers, judges=judges)
    assert 0.3 < alike.snapshot().judge_spread < unlike.snapshot().judge_spread
    widest = pairs[[np.argmax(np.abs(gap))]]
    for model in (alike, alike.snapshot()):
        known = [model.predict_proba(widest, judge=name).max() for name in ("ann", "bob")]
        assert 0.5 < model.predict_proba(widest, judge="new").max() < max(known)
    typical = alike.snapshot().predict_proba(widest).max()
    assert alike.snapshot().predict_proba(widest, judge="new").max() < typical
    nobody = PreferenceGP(12).fit(pairs, answers)  # says nothing of how judges differ
    np.testing.assert_array_equal(
        nobody.predict_proba(pairs, judge="new"), nobody.predict_proba(pairs)
    )


# Answers of nobody


@pytest.mark.parametrize("none", [None, np.nan])
def test_answers_of_nobody_are_those_of_one_more_judge(none):
    pairs, answers, judges, _ = answered({"ann": 40, "bob": 40, "nobody": 40})
    given = np.where(judges == "nobody", none, judges.astype(object))
    wanted = PreferenceGP(12).fit(pairs, answers, judges=judges)  # last in the order of names
    model = PreferenceGP(12).fit(pairs, answers, judges=pd.Series(given))
    assert model.judges_.tolist() == ["ann", "bob"]
    np.testing.assert_array_equal(model.noise_, wanted.noise_[:2])
    np.testing.assert_array_equal(model.utility().mean, wanted.utility().mean)
    np.testing.assert_array_equal(model.predict_proba(pairs), wanted.predict_proba(pairs))
    np.testing.assert_allclose(model.snapshot().weights, wanted.snapshot().weights)


def test_names_may_come_after_answers_of_nobody_and_the_other_way_round(tmp_path):
    pairs, answers, judges, _ = answered({"ann": 30, "bob": 30})
    stars = (np.arange(12), np.arange(12) % 3)
    ann = judges == "ann"
    named = PreferenceGP(12, **HELD).fit(
        pairs[ann], answers[ann], judges=judges[ann], ratings=stars
    )
    named.update(pairs[~ann], answers[~ann]).update([[0, 1]], judges=["cid"])
    unnamed = PreferenceGP(12, **HELD).fit(pairs[~ann], answers[~ann], ratings=stars)
    unnamed.update(pairs[ann], answers[ann], judges=judges[ann])
    unnamed.update([[0, 1]], judges=["cid"])
    for model in (named, unnamed):
        assert model.judges_.tolist() == ["ann", "cid"]
        np.testing.assert_array_equal(model.noise_, [1.0, 1.0])
    np.testing.assert_allclose(named.utility().mean, unnamed.utility().mean, atol=1e-8)
    np.testing.assert_allclose(named.predict_ratings(), unnamed.predict_ratings(), atol=1e-8)
    persist.save(named, tmp_path / "named.skops")
    again = persist.load(tmp_path / "named.skops").update([[2, 3]], judges=[None])
    named.update([[2, 3]])
    np.testing.assert_array_equal(again.utility().mean, named.utility().mean)


def test_an_update_without_answers_adds_nobody():
    pairs, answers, judges, _ = answered({"ann": 30, "bob": 30})
    model = PreferenceGP(12, **HELD).fit(pairs, answers, judges=judges)
    before = model.predict_proba(pairs)
    model.update([])
    np.testing.assert_allclose(model.predict_proba(pairs), before, atol=1e-9)
    assert len(model.fit_.likelihood.parts) == 2
    with pytest.raises(ValueError, match=r"judges has shape \(2,\), but there are 1 pairs"):
        model.update([[0, 1]], judges=["ann", None])
    with pytest.raises(ValueError, match="the judge 7 is not text, but others are"):
        model.update([[0, 1]], judges=[7])
