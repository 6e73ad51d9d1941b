import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinality.boosting.ensemble import boost, rank_boost
from ordinality.boosting.learners import DecisionStump, SklearnTrainer, Stump, Tree
from ordinality.boosting.perceptron import Perceptron, Sigmoid
from ordinality.levels import rank_from_scores

TRAINERS = [Stump(), Stump(bins=8), Tree(depth=2), Perceptron(20), Sigmoid(updates=20)]


def run(name, X, y, n_levels, learner, rounds=10, rng=0, **options):
    rng = np.random.default_rng(rng) if isinstance(rng, int) else rng
    if name == "rank":
        return rank_boost(X, y, n_levels, learner, rounds=rounds, rng=rng, **options)
    return boost(X, y, n_levels, learner, margins=name, rounds=rounds, rng=rng, **options)


ALGORITHMS = ["all", "left-right", "rank"]
every_algorithm = pytest.mark.parametrize("name", ALGORITHMS)
every_learner = pytest.mark.parametrize("learner", TRAINERS, ids=repr)


# ---------------------------------------------------------------- reference values


@pytest.fixture
def example(vectors):
    case = vectors["boosting"]
    return case, np.array(case["X"]), np.array(case["y"]) - 1


@pytest.mark.parametrize(("name", "key"), [("all", "All"), ("left-right", "LR")])
def test_rounds_of_orboost_are_those_of_the_reference_vectors(example, name, key):
    case, X, y = example
    fitted = run(name, X, y, 4, Stump(), rounds=3)
    np.testing.assert_allclose(fitted.thresholds[0], case[f"theta_init_{key}"], rtol=1e-12)
    stages = zip(fitted.staged_scores(X), case[f"ORBoost-{key}"], strict=True)
    for t, (H, expected) in enumerate(stages):
        learner = fitted.learners[t]
        assert learner.feature == expected["feature"]
        assert learner.cut == pytest.approx(float(expected["threshold"]), rel=1e-12)
        assert learner.polarity == expected["polarity"]
        assert fitted.alphas[t] == pytest.approx(expected["alpha"], rel=1e-12)
        np.testing.assert_allclose(H, expected["H"], rtol=1e-12, atol=1e-12)
        near = {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(fitted.thresholds[t + 1], expected["theta"], **near)
        assert np.exp(fitted.log_losses[t + 1]) == pytest.approx(expected["loss"], rel=1e-12)


def test_rounds_of_rank_boost_are_those_of_the_reference_vectors(example):
    case, X, y = example
    fitted = run("rank", X, y, 4, Stump(), rounds=3)
    stages = zip(fitted.staged_scores(X), case["RankBoost-AE"]["iterations"], strict=True)
    for t, (H, expected) in enumerate(stages):
        assert fitted.learners[t].feature == expected["feature"]
        assert fitted.alphas[t] == pytest.approx(expected["alpha"], rel=1e-12)
        assert fitted.log_losses[t] == pytest.approx(expected["log_total_before"], rel=1e-12)
        np.testing.assert_allclose(H, expected["H"], rtol=1e-12, atol=1e-12)
    for threshold, (low, high, _) in zip(
        fitted.thresholds[-1], case["RankBoost-AE"]["theta_intervals"], strict=True
    ):
        low, high = float(low), float(high)
        middle = high - 1 if np.isinf(low) else (low + high) / 2
        assert threshold == pytest.approx(middle, rel=1e-12)


# ---------------------------------------------------------------- laws


@every_algorithm
@every_learner
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_the_loss_never_increases_and_thresholds_stay_ordered(
    make_ordinal, name, learner, seed
):
    X, y = make_ordinal(n=40, n_levels=5, seed=seed)
    fitted = run(name, X, y, 5, learner, rng=seed)
    assert np.all(np.diff(fitted.log_losses) <= 1e-12)
    assert np.all(np.diff(fitted.thresholds, axis=1) >= 0)
    assert np.all(np.isfinite(fitted.thresholds))
    assert np.all(np.isfinite(fitted.alphas))


@every_algorithm
@every_learner
def test_empty_levels_keep_their_place(make_ordinal, name, learner):
    X, y = make_ordinal(n=60, n_levels=3)
    y = np.array([1, 3, 4])[y]
    fitted = run(name, X, y, 7, learner, rounds=30)
    assert fitted.thresholds.shape == (31, 6)
    assert np.all(np.diff(fitted.thresholds, axis=1) >= 0)
    assert np.all(np.isfinite(fitted.thresholds))
    assert np.all(np.diff(fitted.log_losses) <= 1e-12)
    assert set(rank_from_scores(fitted.score(X), fitted.thresholds[-1])) <= {1, 3, 4}


@every_algorithm
@every_learner
def test_continuing_is_the_same_as_one_long_run(make_ordinal, name, learner):
    X, y = make_ordinal()
    whole = run(name, X, y, 4, learner, rounds=7)
    rng = np.random.default_rng(0)
    part = run(name, X, y, 4, learner, rounds=4, rng=rng)
    both = run(name, X, y, 4, learner, rounds=3, rng=rng, start=part)
    np.testing.assert_array_equal(both.alphas, whole.alphas)
    np.testing.assert_array_equal(both.thresholds, whole.thresholds)
    np.testing.assert_array_equal(both.log_losses, whole.log_losses)
    np.testing.assert_array_equal(both.score(X), whole.score(X))


@every_algorithm
@pytest.mark.parametrize("learner", [Perceptron(20), Sigmoid(updates=20)], ids=repr)
def test_the_seed_decides_the_ensemble(make_ordinal, name, learner):
    X, y = make_ordinal()
    one, two, other = (run(name, X, y, 4, learner, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.alphas, two.alphas)
    assert not np.array_equal(one.alphas, other.alphas)


@every_algorithm
def test_a_weight_of_two_is_the_row_twice(make_ordinal, name):
    X, y = make_ordinal(n=80)
    twice = np.append(np.arange(80), np.arange(0, 80, 3))
    weights = np.bincount(twice).astype(float)
    weighted = run(name, X, y, 4, Stump(), rounds=8, weights=weights)
    repeated = run(name, X[twice], y[twice], 4, Stump(), rounds=8)
    assert weighted.learners == repeated.learners
    np.testing.assert_allclose(weighted.alphas, repeated.alphas, rtol=1e-10)
    np.testing.assert_allclose(weighted.thresholds, repeated.thresholds, rtol=1e-10)
    np.testing.assert_allclose(weighted.log_losses, repeated.log_losses, rtol=1e-12)


@pytest.mark.parametrize("name", ["all", "left-right"])
def test_the_size_of_all_weights_does_not_matter(make_ordinal, name):
    X, y = make_ordinal(n=80)
    one, many = (run(name, X, y, 4, Stump(), weights=np.full(80, w)) for w in (1.0, 1e-8))
    np.testing.assert_allclose(one.alphas, many.alphas, rtol=1e-10)


@every_algorithm
def test_scores_by_stages_end_in_the_score(make_ordinal, name):
    X, y = make_ordinal()
    fitted = run(name, X, y, 4, Tree(2), rounds=6)
    stages = list(fitted.staged_scores(X))
    assert len(stages) == 6
    for t, H in enumerate(stages):
        np.testing.assert_array_equal(H, fitted.score(X, rounds=t + 1))
    np.testing.assert_array_equal(fitted.score(X, rounds=0), np.zeros(len(X)))
    np.testing.assert_array_equal(stages[-1], fitted.score(X))


@every_algorithm
def test_the_callback_may_end_the_run(make_ordinal, name):
    X, y = make_ordinal()
    seen, losses = [], []

    def watch(learner, alpha, thresholds, log_losses):
        seen.append((learner, alpha, thresholds))
        losses[:] = log_losses
        return len(seen) == 3

    fitted = run(name, X, y, 4, Stump(), rounds=10, watch=watch)
    assert len(fitted.learners) == 3
    assert [learner for learner, _, _ in seen] == list(fitted.learners)
    np.testing.assert_array_equal(
        [thresholds for *_, thresholds in seen], fitted.thresholds[1:]
    )
    np.testing.assert_array_equal(losses, fitted.log_losses)


@every_algorithm
def test_zero_rounds_give_an_empty_ensemble(make_ordinal, name):
    X, y = make_ordinal()
    fitted = run(name, X, y, 4, Stump(), rounds=0)
    assert fitted.learners == ()
    assert fitted.alphas.shape == (0,)
    assert fitted.thresholds.shape == (1, 3)


@every_algorithm
def test_relevance_finds_the_feature_that_matters(name):
    X = np.random.default_rng(0).normal(size=(300, 4))
    fitted = run(name, X, np.digitize(X[:, 2], [-1, 0, 1]), 4, Stump(), rounds=20)
    shares = fitted.relevance(4)
    assert shares.sum() == pytest.approx(1.0)
    assert np.argmax(shares) == 2


# ---------------------------------------------------------------- what the paper promises


def errors_of(fitted, X, y):
    away = np.abs(rank_from_scores(fitted.score(X), fitted.thresholds[-1]) - y)
    return away.mean()


@pytest.mark.parametrize("name", ["all", "left-right"])
@pytest.mark.parametrize("learner", [Perceptron(), Tree(depth=3)], ids=repr)
def test_the_training_error_of_separable_rows_goes_to_zero(make_ordinal, name, learner):
    X, y = make_ordinal(n=120, d=2, n_levels=5, noise=0.0)
    assert errors_of(run(name, X, y, 5, learner, rounds=200), X, y) == 0.0


def test_equal_rows_of_different_rank_bound_the_error_from_below():
    # Three equal rows of ranks 0, 1 and 2: at best two of them are off by one.
    X = np.repeat(np.arange(4.0), 3)[:, None]
    y = np.array([0, 0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 3])
    assert errors_of(run("all", X, y, 4, Stump(), rounds=50), X, y) == pytest.approx(2 / 12)


@every_algorithm
def test_a_perfect_learner_leaves_the_loss_finite(name):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 0, 1, 1])  # one stump is perfect: its exact step is infinite
    fitted = run(name, X, y, 2, Stump(), rounds=5)
    assert np.all(np.isfinite(fitted.log_losses))
    assert errors_of(fitted, X, y) == 0.0


def test_partial_matching_does_not_stop_later_learners():
    # A first learner that orders no pair wrongly but cannot tell ranks 2 and 3 apart.
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.arange(4)
    queue = [
        DecisionStump(0, 1.5, 1.0),
        DecisionStump(0, 2.5, 1.0),
        DecisionStump(0, 0.5, 1.0),
    ] * 20
    fitted = run("rank", X, y, 4, SklearnTrainer(lambda *_: queue.pop(0)), rounds=60)
    assert errors_of(fitted, X, y) == 0.0


def adaboost_with_a_constant(X, z, rounds):
    """AdaBoost on targets z = +1, -1 whose constant classifier is re-weighted every round."""
    F, constant, alphas, constants = np.zeros(len(z)), 0.0, [], []

    def refit(F):
        # The constant c minimises sum exp(-z (F + c)), everything else held.
        return 0.5 * np.log(np.exp(-F)[z > 0].sum() / np.exp(F)[z < 0].sum())

    constant = refit(F)
    for _ in range(rounds):
        w = np.exp(-z * (F + constant))
        w /= w.sum()
        cuts = [
            np.where(x > c, p, -p)
            for x in X.T
            for c in 0.5 * (np.unique(x)[1:] + np.unique(x)[:-1])
            for p in (1.0, -1.0)
        ]
        h = min(cuts, key=lambda h: w @ (h != z))
        error = w @ (h != z)
        alphas.append(0.5 * np.log((1 - error) / error))
        F = F + alphas[-1] * h
        constant = refit(F)
        constants.append(constant)
    return F, np.array(alphas), np.array(constants)


@pytest.mark.parametrize("name", ["all", "left-right"])
def test_two_levels_are_adaboost_with_a_constant_classifier(make_ordinal, name):
    X, y = make_ordinal(n=60, n_levels=2)
    F, alphas, constants = adaboost_with_a_constant(X, 2.0 * y - 1.0, rounds=12)
    fitted = run(name, X, y, 2, Stump(), rounds=12)
    np.testing.assert_allclose(fitted.alphas, alphas, rtol=1e-9)
    np.testing.assert_allclose(fitted.score(X), F, rtol=1e-9)
    np.testing.assert_allclose(fitted.thresholds[1:, 0], -constants, rtol=1e-9, atol=1e-12)
