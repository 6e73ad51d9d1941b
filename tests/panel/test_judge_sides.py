"""Sides of judges: each may like one, to an extent whose spread the evidence has chosen."""

import json

import numpy as np
import pytest
from scipy.special import ndtr

import ordinality
from ordinality import PreferenceGP
from ordinality.gp.likelihoods import Symmetric
from ordinality.panel import rank_answers, ranking
from ordinality.panel.coin_ratio import coin_log_ratio

LEAN = 1.2  # of the judge "lean", in noises of a difference


def panel(lean=LEAN, bias=0.0, judges=8, each=50, n=8, seed=0):
    """Names of pairs, answers, judges; "lean" likes the left side, and all have a bias."""
    rng = np.random.default_rng(seed)
    m = judges * each
    u = np.linspace(1.5, -1.5, n)
    i = rng.integers(n, size=m)
    j = (i + rng.integers(1, n, size=m)) % n
    who = np.array(["lean", *(f"fair {k}" for k in range(1, judges))])[np.arange(m) % judges]
    side = bias + lean * (who == "lean")
    felt = u[i] - u[j] + side + rng.standard_normal(m)
    names = np.array([f"item {k}" for k in range(n)])
    return names[np.column_stack([i, j])], np.where(felt > 0, 1, -1), who


@pytest.fixture(scope="module")
def found():
    pairs, answers, who = panel()
    return rank_answers(pairs, answers, judges=who, judge_sides="auto")


def test_a_one_sided_judge_among_fair_ones_is_found(found):
    sides = {one.judge: one for one in found.judges}
    lean = sides.pop("lean")
    assert found.side_spread > 0
    assert lean.side_lower > 0.3
    assert lean.side < LEAN  # the others say that such sides are rare
    assert "% left" in lean.flag
    assert lean.side > max(abs(one.side) for one in sides.values())
    assert sum(one.side_lower < 0 < one.side_upper for one in sides.values()) >= 6  # of 7
    assert not any(one.flag for one in sides.values())
    assert found.covariates == ()
    assert any("spread" in note for note in found.notes)


def test_a_one_sided_judge_is_predicted_by_the_side_and_the_others_as_before(found):
    pairs, answers, who = panel(seed=1)
    without = rank_answers(*panel()[:2], judges=panel()[2], judge_sides=False)
    own = who == "lean"

    def score(ranking, rows, judge):
        proba = ranking.predict_proba(pairs[rows], judge=judge)
        return -np.mean(np.log(np.where(answers[rows] > 0, proba[:, 1], proba[:, 0])))

    assert score(found, own, "lean") < score(without, own, "lean") - 0.05
    fair = who == "fair 1"
    assert score(found, fair, "fair 1") == pytest.approx(
        score(without, fair, "fair 1"), abs=0.05
    )


def test_a_judge_with_a_side_who_follows_the_order_is_no_coin(found):
    without = rank_answers(*panel()[:2], judges=panel()[2], judge_sides=False)
    lean, blind = (next(j for j in r.judges if j.judge == "lean") for r in (found, without))
    assert lean.coin < 0.01
    assert lean.misfit < blind.misfit


def test_the_ratio_to_a_coin_with_a_side_is_zero_for_answers_that_tell_of_no_item():
    likelihood, side = Symmetric.of([]), np.full(20, 0.7)
    items = np.array([0] * 20), np.array([1] * 20)
    same = np.zeros(2), np.zeros((2, 2))
    level = np.array([1] * 13 + [0] * 7)
    given = (*same, 1.0, items, level, np.ones(20), likelihood, side)
    assert coin_log_ratio(*given, side) == pytest.approx(0.0, abs=1e-12)
    # Against a coin without a side, by hand: the noise is that of a difference.
    p = ndtr(0.7 / (np.sqrt(2.0) * likelihood.sigma))
    by_hand = 13 * np.log(2 * p) + 7 * np.log(2 - 2 * p)
    assert coin_log_ratio(*given) == pytest.approx(by_hand, rel=1e-9)


def test_without_sides_the_ranking_is_that_of_a_model_without_them():
    pairs, answers, who = panel(lean=0.0)
    auto, off = (
        rank_answers(pairs, answers, judges=who, judge_sides=given) for given in ("auto", False)
    )
    assert auto.side_spread == 0
    assert auto.as_dict() == off.as_dict()
    assert all(one.side is None for one in auto.judges)


def test_sides_are_tried_only_where_judges_differ_by_more_than_chance(monkeypatch):
    tried = []
    fitted = ranking._Answers.fitted

    def watched(data, rows=None):
        tried.append(data.spread)
        return fitted(data, rows)

    monkeypatch.setattr(ranking._Answers, "fitted", watched)
    for lean, wanted in ((0.0, {0.0}), (LEAN, {0.0, 0.2, 0.4, 0.8})):
        tried.clear()
        pairs, answers, who = panel(lean=lean)
        rank_answers(pairs, answers, judges=who)
        assert set(tried) == wanted


def test_the_spread_is_that_of_most_evidence_and_the_prior_of_each_side():
    pairs, answers, who = panel(each=20, seed=1)
    found = rank_answers(pairs, answers, judges=who, judge_sides="auto")
    names = [f"side of {judge}" for judge in np.unique(who)]
    columns = {name: 1.0 * (who == name[len("side of ") :]) for name in names}

    def fitted(spread):
        return PreferenceGP(np.unique(pairs)).fit(
            pairs, answers, judges=who, covariates=columns,
            covariate_spread=dict.fromkeys(names, spread),
        )  # fmt: skip

    evidence = {s: fitted(s).log_evidence_ for s in (0.2, 0.4, 0.8)}
    without = rank_answers(pairs, answers, judges=who, judge_sides=False).model.log_evidence_
    assert max(evidence.values()) > without
    assert found.side_spread == max(evidence, key=evidence.get)
    assert found.model.log_evidence_ == pytest.approx(max(evidence.values()), abs=1e-6)
    assert np.all(found.model.covariate_sd_ < found.side_spread)


def test_a_bias_of_all_is_an_effect_beside_the_sides_of_each():
    pairs, answers, who = panel(bias=0.6)
    common = {"side": np.ones(len(who))}
    found = rank_answers(pairs, answers, judges=who, judge_sides=True, covariates=common)
    (side,) = found.covariates
    lean = next(one for one in found.judges if one.judge == "lean")
    assert side.name == "side"
    assert side.interval[0] < 0.6 < side.interval[1]
    assert lean.side_lower > 0
    one = found.predict_proba(pairs[:1], judge="lean", covariates={"side": [1.0]})
    assert one[0, 1] > found.predict_proba(pairs[:1], judge="lean")[0, 1]


def test_a_judge_who_is_left_out_has_no_side():
    pairs, answers, who = panel()
    found = rank_answers(pairs, answers, judges=who, judge_sides="auto", leave_out=["fair 1"])
    sides = {one.judge: one.side for one in found.judges}
    assert found.side_spread > 0
    assert sides["fair 1"] is None
    assert sides["lean"] > 0


def test_sides_are_saved_and_are_json(found, tmp_path):
    found.save(tmp_path / "m.skops")
    loaded, pairs = ordinality.load(tmp_path / "m.skops"), panel()[0][:9]
    np.testing.assert_array_equal(
        loaded.snapshot().predict_proba(pairs), found.snapshot.predict_proba(pairs)
    )
    said = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert said["side_spread"] == found.side_spread
    assert {"side", "side_lower", "side_upper"} <= said["judges"][0].keys()
    found.report(tmp_path / "r.html")
    lean = next(one for one in found.judges if one.judge == "lean")
    assert (
        f"{lean.side_lower:.2f} to {lean.side_upper:.2f}" in (tmp_path / "r.html").read_text()
    )


def test_a_table_in_which_the_first_always_won_tells_of_no_side():
    pairs, answers, who = panel(lean=0.0)
    won = np.where(answers[:, None] > 0, pairs, pairs[:, ::-1])
    found = rank_answers(won, np.ones(len(won)), judges=who, judge_sides="auto")
    assert found.side_spread == 0
    assert found.items == rank_answers(won, np.ones(len(won)), judges=who, sides=False).items


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"judge_sides": "yes"}, "judge_sides='yes'; wanted 'auto', True or False"),
        ({"judge_sides": True, "judges": None}, "not several judges with known sides"),
        ({"judge_sides": True, "sides": False}, "not several judges with known sides"),
        (
            {"judge_sides": True, "covariates": {"side of lean": np.ones(400)}},
            "rename it, or set judge_sides=False",
        ),
    ],
)
def test_sides_that_cannot_be_are_refused_in_words(more, said):
    pairs, answers, who = panel()
    with pytest.raises(ValueError, match=said):
        rank_answers(pairs, answers, **({"judges": who, "judge_sides": "auto"} | more))
