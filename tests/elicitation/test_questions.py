"""What to ask next: choices against what is plainly best, stopping against draws."""

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.base import BaseEstimator

from ordinality import PreferenceGP, PreferenceSVM
from ordinality.elicitation import (
    expected_best,
    expected_rank_changes,
    gains,
    information_gain,
    next_pair,
    order_gain,
    questions,
    top_k_probability,
    uncertainty,
)
from ordinality.elicitation.stopping import draws

VALUES = {"order": order_gain, "information": information_gain, "best": expected_best}
VALUES["uncertainty"] = uncertainty
STRATEGIES = (*VALUES, "thompson", "top")


class Shop:
    """Twelve items with two features, judged with noise."""

    def __init__(self, n=12, m=40, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, 2))
        self.f = 2.0 * self.X[:, 0] + 0.3 * rng.normal(size=n)
        self.pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
        self.gap = self.f[self.pairs[:, 0]] - self.f[self.pairs[:, 1]]
        self.gap += 0.3 * rng.normal(size=m)
        self.answers = np.where(self.gap > 0, 1, -1)
        self.tied = np.where(np.abs(self.gap) < 0.5, 0, self.answers)


@pytest.fixture(scope="module")
def shop():
    return Shop()


@pytest.fixture(scope="module", params=["features", "no features", "ties", "logit", "gram"])
def process(request, shop):
    if request.param == "ties":
        return PreferenceGP(shop.X, ties=True).fit(shop.pairs, shop.tied)
    if request.param == "gram":
        gram = np.exp(-0.5 * ((shop.X[:, None] - shop.X) ** 2).sum(axis=2))
        return PreferenceGP(gram, "precomputed").fit(shop.pairs, shop.answers)
    link = "logit" if request.param == "logit" else "probit"
    items = len(shop.X) if request.param == "no features" else shop.X
    return PreferenceGP(items, link=link).fit(shop.pairs, shop.answers)


@pytest.fixture(scope="module")
def model(process):
    """What every function makes of a fitted model before all else, by nine fits."""
    return process.snapshot()


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, 1))


# Values


def test_swapping_the_sides_changes_no_value(model):
    pairs = all_pairs(12)
    for value in VALUES.values():
        np.testing.assert_allclose(
            value(model, pairs), value(model, pairs[:, ::-1]), rtol=0, atol=1e-13
        )


def test_the_expected_best_is_the_mean_of_maxima(model):
    pairs = all_pairs(12)[::7]
    f = draws(model.points(), 200_000, np.random.default_rng(0))
    sampled = np.maximum(f[pairs[:, 0]], f[pairs[:, 1]])
    error = 4.5 * sampled.std(axis=1) / np.sqrt(200_000)  # ten pairs, one in 15,000 fails
    assert np.all(np.abs(expected_best(model, pairs) - sampled.mean(axis=1)) < error)


def test_uncertainty_is_what_it_says(shop):
    model = PreferenceGP(shop.X).fit(shop.pairs, shop.answers).snapshot(None)
    pairs = all_pairs(12)
    p = model.predict_proba(pairs)[:, 1]
    (variance,) = gains.seen_by(model.points(), pairs)[1]
    share = variance / (variance + 2.0)  # in units of the noise of one utility
    np.testing.assert_allclose(uncertainty(model, pairs), 4 * p * (1 - p) * share, rtol=1e-9)


def test_one_answer_is_expected_to_tell_what_the_posterior_learns(shop):
    # With one pair of independent items the utilities' entropy falls by what was promised,
    # on average over answers, but for the posterior being taken as Gaussian.
    model = PreferenceGP(shop.X, optimizer=None, noise=1.0).fit(shop.pairs, shop.answers)
    pair, entropies = [[0, 1]], []
    for answer in (-1, 1):
        after = PreferenceGP(shop.X, optimizer=None, noise=1.0).fit(
            np.r_[shop.pairs, pair], np.r_[shop.answers, answer]
        )
        entropies.append(0.5 * np.linalg.slogdet(after.posterior()[1])[1] / np.log(2))
    before = 0.5 * np.linalg.slogdet(model.posterior()[1])[1] / np.log(2)
    learnt = before - model.predict_proba(pair)[0] @ entropies
    assert information_gain(model.snapshot(None), pair)[0] == pytest.approx(learnt, rel=0.1)


# Choices


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_question_is_two_items_of_the_model(process, model, strategy):
    pairs = next_pair(process, strategy, random_state=0)
    assert pairs.shape == (1, 2)
    assert 0 <= pairs.min() < pairs.max() < 12
    np.testing.assert_array_equal(pairs, next_pair(model, strategy, random_state=0))


@pytest.mark.parametrize(("strategy", "value"), VALUES.items())
def test_the_choice_is_the_largest_value_of_all_pairs(model, strategy, value):
    every = value(model, all_pairs(12))
    assert value(model, next_pair(model, strategy))[0] == pytest.approx(every.max(), rel=1e-12)


class Known(BaseEstimator):
    """A posterior by hand."""

    steps_, judges_, ties, link = np.zeros(0), None, False, "probit"

    def fit(self, mean, cov):
        self.mean, self.cov = np.asarray(mean, float), np.asarray(cov, float)
        self.noise_ = 0.1
        return self

    def posterior(self, items=None):
        items = np.arange(len(self.mean)) if items is None else items
        return self.mean[items], self.cov[np.ix_(items, items)]

    def utility(self):
        return self.mean, np.sqrt(np.diag(self.cov))


def known(mean, cov):
    return Known().fit(mean, cov)


def test_the_plainly_most_informative_pair_is_asked():
    # 0 and 1 are as uncertain as 2 and 3, but move together; 4 and 5 are certain.
    cov = np.diag([1.0, 1.0, 1.0, 1.0, 1e-4, 1e-4])
    cov[0, 1] = cov[1, 0] = 0.999
    model = known([0, 0, 0, 0, 0, 0], cov)
    model.mean[:2] = 8.0  # so that they can be asked against one another only
    assert next_pair(model).tolist() == [[2, 3]]
    assert next_pair(model, "uncertainty").tolist() == [[2, 3]]
    assert next_pair(model, "best", random_state=0)[0].max() == 1
    assert next_pair(model, "thompson", random_state=0).tolist() == [[0, 1]]


def test_best_prefers_good_items_and_information_open_ones():
    model = known([3.0, 2.9, 0.0, 0.0], np.diag([0.1, 0.1, 1.0, 1.0]))
    assert next_pair(model, "best").tolist() == [[0, 1]]
    assert next_pair(model, "information").tolist() == [[2, 3]]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_candidates_are_respected(model, strategy):
    candidates = np.array([[7, 3], [2, 9], [5, 11]])
    (pair,) = next_pair(model, strategy, candidates, random_state=1)
    assert pair.tolist() in candidates.tolist()
    (pair,) = next_pair(model, strategy, [4, 8, 2], random_state=1)
    assert set(pair) <= {2, 4, 8}
    every = next_pair(model, strategy, candidates, batch=3, random_state=1)
    assert sorted(every.tolist()) == sorted(candidates.tolist())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_excluded_pairs_are_not_asked(model, strategy):
    (first,) = next_pair(model, strategy, random_state=1)
    (second,) = next_pair(model, strategy, random_state=1, exclude=[first[::-1]])
    assert sorted(first) != sorted(second)


def test_candidates_may_stand_either_way_round(model):
    candidates = all_pairs(12)[3::5]
    one, other = (
        next_pair(model, candidates=candidates),
        next_pair(model, candidates=candidates[:, ::-1]),
    )
    np.testing.assert_array_equal(one, other[:, ::-1])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_has_no_question_twice(model, strategy):
    pairs = next_pair(model, strategy, batch=12, random_state=0)
    assert len({frozenset(pair) for pair in pairs.tolist()}) == 12
    every = next_pair(model, strategy, [0, 2, 3, 5, 8], batch=10, random_state=0)
    assert len({frozenset(pair) for pair in every.tolist()}) == 10


def test_a_batch_asks_about_different_things():
    # Four kinds of three near twins: asked once, two kinds tell little more by other twins.
    block = np.full((3, 3), 0.999) + 0.001 * np.eye(3)
    model = known(np.zeros(12), np.kron(np.diag([2.0, 2.0, 1.0, 1.0]), block))
    pairs = next_pair(model, batch=3)
    kinds = [frozenset((pair // 3).tolist()) for pair in pairs]
    assert kinds[0] == {0, 1}
    assert len(set(kinds)) == 3
    # Without taking the first answer into account, twins of 0 and 1 would be asked nine times.
    every = all_pairs(12)
    best = every[np.argsort(-information_gain(model, every), kind="stable")[:9]]
    assert {frozenset((pair // 3).tolist()) for pair in best} == {frozenset((0, 1))}


def test_equal_seeds_give_equal_questions(model):
    for strategy in STRATEGIES:
        one, other = (next_pair(model, strategy, batch=5, random_state=7) for _ in range(2))
        np.testing.assert_array_equal(one, other)
    seen = {tuple(next_pair(model, "thompson", random_state=s)[0]) for s in range(20)}
    assert len(seen) > 1


def test_the_global_random_state_is_left_alone(model):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    next_pair(model, "thompson")
    top_k_probability(model)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_judges_are_asked_by_name():
    shop = Shop(m=120)
    careless = np.arange(120) % 2 == 1
    judges = np.where(careless, "bob", "ann")
    turned = careless & (np.random.default_rng(1).random(120) < 0.4)
    answers = np.where(turned, -shop.answers, shop.answers)
    model = PreferenceGP(shop.X).fit(shop.pairs, answers, judges=judges)
    model = model.snapshot()
    ann, bob, typical = (
        information_gain(model, [[0, 1]], judge=judge)[0] for judge in ("ann", "bob", None)
    )
    assert ann > typical > bob


@pytest.mark.parametrize("featured", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ten_thousand_items_are_not_too_many(featured, strategy):
    big = Shop(n=10_000, m=60)
    model = PreferenceGP(big.X if featured else 10_000, inference="laplace", optimizer=None)
    model.fit(big.pairs, big.answers)
    pairs = next_pair(model, strategy, batch=3, random_state=0)
    assert len({frozenset(pair) for pair in pairs.tolist()}) == 3
    candidates = big.pairs[np.random.default_rng(0).permutation(60)]
    many = np.concatenate([candidates, np.arange(10_000).reshape(-1, 2)])
    (pair,) = next_pair(model, strategy, many, random_state=0)
    assert pair.tolist() in many.tolist()
    # Preselection loses little: as good as nearly all of a thousand pairs drawn at random.
    if strategy == "information":
        drawn = np.random.default_rng(1).choice(10_000, (1000, 2), replace=False)
        value = information_gain(model, pairs)[0]
        assert value >= 0.999 * np.quantile(information_gain(model, drawn), 0.99)


def test_as_many_questions_are_chosen_as_many_candidates_allow(monkeypatch, shop):
    model = PreferenceGP(shop.X, optimizer=None).fit(shop.pairs, shop.answers).snapshot()
    monkeypatch.setattr(questions, "_ITEMS", 4)
    candidates = all_pairs(12)[:40]
    pairs = next_pair(model, candidates=candidates, batch=40, random_state=0)
    assert sorted(pairs.tolist()) == candidates.tolist()
    for strategy in STRATEGIES:
        (pair,) = next_pair(model, strategy, candidates, random_state=0)
        assert pair.tolist() in candidates.tolist()


def test_models_of_grades_and_of_ratings_alone_can_ask(shop):
    graded = np.where(np.abs(shop.gap) > 2.0, 2 * shop.answers, shop.tied)
    model = PreferenceGP(shop.X, ties=True, grades=2).fit(shop.pairs, graded)
    assert next_pair(model, batch=2).shape == (2, 2)
    none, stars = np.empty((0, 2), dtype=int), (np.arange(12), np.digitize(shop.f, [-1, 1]))
    rated = PreferenceGP(shop.X).fit(none, ratings=stars)
    assert next_pair(rated).shape == (1, 2)


def test_preselection_finds_a_pair_nearly_as_good_as_the_best(monkeypatch):
    big = Shop(n=300, m=150)
    model = PreferenceGP(big.X, "gaussian", inference="laplace", optimizer=None)
    model = model.fit(big.pairs, big.answers).snapshot(None)
    full = information_gain(model, next_pair(model, "information"))[0]
    every = order_gain(model, all_pairs(300))
    monkeypatch.setattr(questions, "_ITEMS", 100)
    monkeypatch.setattr(questions, "_PAIRS", 100)
    for seed in range(5):
        pair = next_pair(model, "information", random_state=seed)
        assert information_gain(model, pair)[0] > 0.95 * full
        # Items that are left out are not summed over either: good, not the best.
        pair = next_pair(model, "order", random_state=seed)
        assert order_gain(model, pair)[0] > 0.5 * every.max() > 2.0 * np.median(every)


# When to stop


def test_rank_changes_are_the_kendall_distance_of_draws(model):
    mean = model.utility().mean
    f = draws(model.points(), 1500, np.random.default_rng(0))
    distance = [(1 - kendalltau(mean, column).statistic) / 2 * 66 for column in f.T]
    error = 4 * np.std(distance) / np.sqrt(1500)
    assert expected_rank_changes(model) == pytest.approx(np.mean(distance), abs=error)


def test_the_top_is_as_probable_as_in_draws_of_another_kind(process):
    rng = np.random.default_rng(0)
    model = process.snapshot(None)
    mean, cov = model.posterior()
    f = rng.multivariate_normal(mean, cov, 20_000, method="eigh")
    top = set(np.argsort(-mean)[:3])
    share = np.mean([set(row) == top for row in np.argsort(-f, axis=1)[:, :3]])
    found = top_k_probability(model, k=3, n_samples=20_000, random_state=1)
    assert found == pytest.approx(share, abs=4 * np.sqrt(0.5 / 20_000))


def test_all_but_one_of_the_top_are_as_probable_as_counted_in_draws(process):
    model = process.snapshot(None)
    mean, cov = model.posterior()
    f = np.random.default_rng(0).multivariate_normal(mean, cov, 20_000, method="eigh")
    order, n = np.argsort(-mean), len(mean)
    for k in (2, 3, n - 2):
        best = np.argsort(-f, axis=1)[:, :k]
        share = np.mean(np.isin(best, order[:k]).sum(axis=1) >= k - 1)
        found = top_k_probability(model, k, 20_000, 1, event="but-one")
        assert found == pytest.approx(share, abs=4 * np.sqrt(0.5 / 20_000))
    assert top_k_probability(model, 1, event="but-one") == 1.0
    assert top_k_probability(model, n - 1, event="but-one") == 1.0


def test_the_stopping_rules_move_as_answers_come(shop):
    model = PreferenceGP(shop.X).fit(shop.pairs[:10], shop.answers[:10])
    changes, top = [], []
    for _ in range(7):
        seen = model.snapshot()
        changes.append(expected_rank_changes(seen))
        top.append(top_k_probability(seen, 3, random_state=0))
        pairs = next_pair(seen, batch=8)
        model.update(pairs, np.where(shop.f[pairs[:, 0]] > shop.f[pairs[:, 1]], 1, -1))
    assert np.all(np.diff(changes) < 0)
    assert top[-1] > top[0]


def test_rank_changes_of_many_items_are_extrapolated(monkeypatch):
    big = Shop(n=400, m=100)
    model = PreferenceGP(big.X, optimizer=None).fit(big.pairs, big.answers).snapshot()
    full = expected_rank_changes(model)
    from ordinality.elicitation import stopping

    monkeypatch.setattr(stopping, "_ITEMS", 150)
    assert expected_rank_changes(model, random_state=0) == pytest.approx(full, rel=0.1)
    assert 0.0 <= top_k_probability(model, 2, random_state=0) <= 1.0


def test_items_the_model_cannot_tell_apart_have_no_order(shop):
    X = np.r_[shop.X, shop.X[:1]]
    model = PreferenceGP(X, item_effects=False).fit(shop.pairs, shop.answers).snapshot()
    assert np.isfinite(expected_rank_changes(model))
    assert information_gain(model, [[0, 12]])[0] == pytest.approx(0.0, abs=1e-9)
    assert order_gain(model, [[0, 12]])[0] == pytest.approx(0.0, abs=1e-6)
    assert np.isfinite(order_gain(model, all_pairs(13))).all()
    assert next_pair(model, "thompson", random_state=0).shape == (1, 2)


def test_the_border_of_the_best_lies_among_all_items_whoever_may_be_asked():
    # Of eight items in a row, the third and fourth are where the best three end.
    model = known(np.arange(8.0)[::-1], 0.3 * np.eye(8))
    assert next_pair(model, "top", k=3).tolist() == [[2, 3]]
    (pair,) = next_pair(model, "top", k=3, candidates=[[2, 7], [6, 7]])
    assert pair.tolist() == [2, 7]


# Refusals


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"strategy": "clever"}, "strategy is 'clever'; it must be one of"),
        ({"batch": 0}, "batch is 0; it must be a whole number"),
        ({"batch": 67}, "batch is 67, but there are 66 different pairs"),
        ({"candidates": [[0, 1], [1, 0]], "batch": 2}, "there are 1 different pairs"),
        ({"candidates": [[0, 12]]}, "whole numbers from 0 to 11"),
        ({"candidates": [[0.5, 1.0]]}, "whole numbers from 0 to 11"),
        ({"candidates": [[0, 1, 2]]}, r"candidates has shape \(1, 3\)"),
        ({"candidates": []}, r"candidates has shape \(0,\)"),
        ({"candidates": [3, 3]}, "name one item; a question needs two"),
        ({"candidates": [[0, 1], [4, 4]]}, "compare item 4 with itself"),
        ({"k": 12}, "k is 12, but there are 12 items"),
        ({"exclude": [0, 1]}, r"exclude has shape \(2,\)"),
        ({"exclude": np.column_stack(np.triu_indices(12, 1))}, "there are 0 different pairs"),
    ],
)
def test_a_question_that_cannot_be_chosen_is_refused(model, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        next_pair(model, **settings)


def test_a_judge_not_heard_yet_has_the_median_noise(shop):
    model = PreferenceGP(shop.X, optimizer=None)
    model.fit(shop.pairs, shop.answers, judges=["ann"] * 40)
    pairs = all_pairs(12)
    np.testing.assert_array_equal(
        order_gain(model, pairs, judge="eve"), order_gain(model, pairs, judge=None)
    )


def test_a_model_without_a_posterior_is_refused(shop):
    machine = PreferenceSVM(shop.X).fit(shop.pairs, shop.answers)
    with pytest.raises(TypeError, match="PreferenceSVM, which has no joint posterior"):
        next_pair(machine)


def test_methods_and_counts_are_checked(shop):
    model = PreferenceGP(shop.X, ties=True, optimizer=None).fit(shop.pairs, shop.tied)
    model = model.snapshot()
    with pytest.raises(ValueError, match="the model has 3 answers.*use method='exact'"):
        information_gain(model, [[0, 1]], method="closed")
    with pytest.raises(ValueError, match="method is 'guess'"):
        information_gain(model, [[0, 1]], method="guess")
    with pytest.raises(ValueError, match=r"pairs has shape \(2,\); wanted \(m, 2\)"):
        information_gain(model, [0, 1])
    with pytest.raises(ValueError, match="k is 12, but there are 12 items"):
        top_k_probability(model, 12)
    with pytest.raises(ValueError, match="n_samples is 0"):
        top_k_probability(model, n_samples=0)
