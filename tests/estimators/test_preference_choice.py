"""PreferenceGP.predict_choice: which of several on offer would be taken."""

import numpy as np
import pytest

from ordinality import PreferenceGP

M = 160


@pytest.fixture(scope="module", params=["probit", "logit"])
def fitted(study, request):
    return PreferenceGP(study.X, link=request.param).fit(study.pairs[:M], study.answers[:M])


def test_a_choice_between_two_is_an_answer_to_a_pair(study, fitted):
    pairs = study.pairs[:40]
    known = fitted.predict_choice(pairs.ravel(), np.repeat(np.arange(40), 2)).reshape(-1, 2)
    off = 1e-9 if fitted.link == "probit" else 0.005
    expected = fitted.predict_proba(pairs)[:, ::-1]  # the first item, the second
    np.testing.assert_allclose(known, expected, rtol=0, atol=off)
    left, right = study.X[pairs.T]
    new = fitted.predict_choice(
        np.concatenate([left, right]), np.tile(np.arange(40), 2)
    ).reshape(2, -1)
    expected = fitted.predict_pairs(left, right)[:, ::-1].T
    np.testing.assert_allclose(new, expected, rtol=0, atol=off)


def test_a_choice_from_several_is_the_share_of_judges_who_prefer_it_to_all_others(fitted):
    items = np.array([3, 8, 1, 20])
    mean, covariance = fitted.posterior(items)
    rng = np.random.default_rng(0)
    f = rng.multivariate_normal(mean, covariance, 400_000)
    # A difference of two Gumbel variables is logistic, of the scale of each.
    scale = fitted.fit_.likelihood.noise
    noise = {
        "probit": lambda: fitted.noise_ * rng.normal(size=f.shape),
        "logit": lambda: scale * rng.gumbel(size=f.shape),
    }
    best = np.argmax(f + noise[fitted.link](), axis=1)
    share = np.bincount(best, minlength=4) / len(f)
    np.testing.assert_allclose(fitted.predict_choice(items), share, rtol=0, atol=0.006)


def test_cases_of_all_sizes_in_any_order_sum_to_one(fitted, monkeypatch):
    rng = np.random.default_rng(1)
    cases = np.repeat(list("abcdefg"), [1, 2, 2, 3, 5, 1, 3])
    items = rng.integers(25, size=len(cases))
    found = fitted.predict_choice(items, cases)
    for case in "abcdefg":
        assert found[cases == case].sum() == pytest.approx(1.0, abs=1e-9)
    assert found[0] == 1.0
    turn = rng.permutation(len(cases))
    np.testing.assert_allclose(
        fitted.predict_choice(items[turn], cases[turn]), found[turn], rtol=0, atol=0.003
    )
    monkeypatch.setattr("ordinality.estimators.preference_gp._TOGETHER", 3)
    np.testing.assert_allclose(fitted.predict_choice(items, cases), found, rtol=0, atol=1e-9)


def test_an_alternative_more_takes_from_all_others(fitted):
    best = np.argsort(-fitted.utility().mean)[:4]
    few, more = fitted.predict_choice(best[:3]), fitted.predict_choice(best)
    assert np.all(more[:3] < few)


def test_a_judge_without_noise_chooses_more_surely(study):
    judges = np.where(np.arange(M) % 2, "sharp", "vague")
    answers = study.answers[:M].copy()
    answers[judges == "vague"] = np.random.default_rng(0).choice([-1, 1], M // 2)
    model = PreferenceGP(study.X).fit(study.pairs[:M], answers, judges=judges)
    best, worst = np.argsort(-model.utility().mean)[[0, -1]]
    sharp, vague, either = (
        model.predict_choice([best, worst], judge=who)[0] for who in ("sharp", "vague", None)
    )
    assert sharp > vague > 0.5
    assert either == pytest.approx((sharp + vague) / 2, abs=1e-9)


@pytest.mark.parametrize(
    ("alternatives", "cases", "message"),
    [
        ([0, 99], None, "alternatives name item 99, .*there are 25 items"),
        (["tea", "milk"], None, "alternatives must hold item numbers.*look names up first"),
        (np.zeros((2, 9)), None, "alternatives has 9 features, but the items have"),
        (
            [["bus", 1.0], ["car", 2.0]],
            None,
            "not numbers .*'bus'.*encode words as the items were",
        ),
        ([0, 1, 2], [1, 1], "cases has 2 labels for 3 alternatives; wanted one for each"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(fitted, alternatives, cases, message):
    with pytest.raises(ValueError, match=message):
        fitted.predict_choice(alternatives, cases)
