"""PreferenceGP with inducing points: beside exact inference, updates, files, refusals."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from ordinality import PreferenceGP, persist
from ordinality.elicitation import expected_rank_changes, information_gain, next_pair
from ordinality.estimators import preference_gp
from ordinality.kernels import Correlation, Gaussian

HELD = {"kernel": Gaussian(2.0), "noise": 0.5, "optimizer": None, "standardize": False}


def answered(n=60, m=240, d=2, seed=0):
    """Items, pairs and answers by a smooth utility with effects of items."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, -1] + 0.4 * rng.normal(size=n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    gap = f[pairs[:, 0]] - f[pairs[:, 1]] + 0.7 * rng.normal(size=m)
    return X, pairs, np.where(gap > 0, 1, -1)


@pytest.fixture(scope="module")
def problem():
    return answered()


@pytest.fixture(scope="module")
def model(problem):
    X, pairs, answers = problem
    return PreferenceGP(X, inducing=25, **HELD).fit(pairs, answers)


@pytest.fixture
def soon(monkeypatch):
    """Let "auto" choose points for small problems."""
    monkeypatch.setattr(preference_gp, "_EXACT", 20)


def log_score(model, pairs, answers):
    proba = model.predict_proba(pairs)
    return -np.mean(np.log(np.where(answers > 0, proba[:, 1], proba[:, 0])))


def test_points_at_all_items_without_effects_are_exact_inference(problem):
    X, pairs, answers = problem
    options = HELD | {"item_effects": False, "kernel": Gaussian(0.7)}
    exact = PreferenceGP(X, inducing=None, **options).fit(pairs, answers)
    ours = PreferenceGP(X, inducing=X, **options).fit(pairs, answers)
    # Sites have settled to 1e-2, of which probabilities see the square.
    np.testing.assert_allclose(ours.utility(), exact.utility(), rtol=0, atol=2e-3)
    new = np.random.default_rng(1).normal(size=(5, 2))
    np.testing.assert_allclose(ours.utility(new), exact.utility(new), rtol=0, atol=2e-3)
    assert ours.log_evidence() == pytest.approx(exact.log_evidence_, abs=1e-4)


def test_few_answers_are_exact(problem):
    X, pairs, answers = problem
    model = PreferenceGP(X, max_evaluations=2, hyperprior=None, optimizer=None)
    model.fit(pairs, answers)
    assert model.inducing_points_ is None
    assert model.unexplained_ == 0.0


def test_learning_ends_near_the_exact_model(soon):
    X, pairs, answers = answered(n=200, m=2000)
    train, test = slice(0, 1500), slice(1500, None)
    exact = PreferenceGP(X, inducing=None).fit(pairs[train], answers[train])
    ours = PreferenceGP(X).fit(pairs[train], answers[train])
    assert ours.inducing_points_.shape[1] == 2
    assert ours.unexplained_ < 0.01
    scores = [log_score(one, pairs[test], answers[test]) for one in (ours, exact)]
    assert scores[0] == pytest.approx(scores[1], abs=0.005)  # the answers' own spread is 0.02
    new = np.random.default_rng(2).normal(size=(2, 40, 2))
    np.testing.assert_allclose(
        ours.predict_pairs(*new), exact.predict_pairs(*new), rtol=0, atol=0.05
    )


def test_items_without_features_need_no_points(soon):
    chain = np.column_stack([np.arange(40), np.arange(1, 41)])  # no loops: factors are exact
    answers = np.where(np.arange(40) % 3, 1, -1)
    fixed = {"optimizer": None, "noise": 0.4}
    ours = PreferenceGP(45, **fixed).fit(chain, answers)
    exact = PreferenceGP(45, inducing=None, **fixed).fit(chain, answers)
    assert ours.inducing_points_ is None
    assert type(ours.predictor_) is not type(exact.predictor_)
    np.testing.assert_allclose(ours.utility(), exact.utility(), rtol=0, atol=5e-3)
    assert ours.log_evidence() == pytest.approx(exact.log_evidence_, abs=1e-6)


def test_items_without_features_can_be_kept_and_updated(soon, tmp_path):
    pairs = np.column_stack([np.arange(40), np.arange(1, 41)])
    model = PreferenceGP(45).fit(pairs)
    persist.save(model, tmp_path / "model.skops")
    kept = persist.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(kept.utility(), model.utility())
    assert kept.utility().mean[44] == 0.0
    kept.update([[44, 0]] * 3)
    assert kept.utility().mean[44] > 0.0 > kept.utility().mean[0]
    with pytest.raises(ValueError, match="the items of this model have none"):
        kept.utility([[1.0]])


def test_gradient_of_the_evidence_agrees_with_differences(problem):
    X, pairs, answers = problem
    model = PreferenceGP(X, inducing=10, **HELD | {"tol": 1e-12}).fit(pairs, answers)
    theta, h = model.fit_.best.theta, 1e-4
    value, gradient = model.log_evidence(theta, eval_gradient=True)
    for e, found in zip(np.eye(len(theta)), gradient, strict=True):
        up, down = (model.log_evidence(theta + s * h * e) for s in (1, -1))
        assert found == pytest.approx((up - down) / (2 * h), abs=1e-5)  # h^2 of order two
    assert value == pytest.approx(model.log_evidence_, abs=1e-3)


def test_all_predictions_are_of_one_posterior(model):
    pairs = np.array([[0, 1], [5, 3], [7, 20]])
    mean, cov = model.posterior()
    utility = model.utility()
    np.testing.assert_allclose(utility.mean, mean, atol=1e-12)
    np.testing.assert_allclose(utility.std**2, np.diagonal(cov), atol=1e-12)
    i, j = pairs.T
    variance = cov[i, i] + cov[j, j] - 2 * cov[i, j]
    proba = model.fit_.likelihood.proba(mean[i] - mean[j], variance)
    np.testing.assert_allclose(model.predict_proba(pairs), proba, atol=1e-12)
    np.testing.assert_array_equal(model.predict(pairs), np.where(mean[i] > mean[j], 1, -1))
    chosen = model.predict_choice(pairs.ravel(), cases=np.repeat([0, 1, 2], 2))
    np.testing.assert_allclose(chosen[::2], proba[:, 1], atol=1e-9)
    twice, shared = model.posterior([4, 4])
    assert twice[0] == twice[1]
    assert shared[0, 1] == shared[0, 0]  # an item is the same as itself
    assert sorted(model.rank()) == list(range(1, 61))


def test_new_items_have_the_prior_of_an_effect(model, problem):
    X = problem[0]
    mean, std = model.utility(X[:3])
    known = model.utility()
    assert np.all(std > known.std[:3])
    proba = model.predict_pairs(X[:3], X[3:6])
    variance = model.fit_.likelihood.noise**2
    both = model._posterior_of_new(model._items.new(X[:6]))
    gap = both[0][:3] - both[0][3:]
    spread = (
        np.diagonal(both[1])[:3] + np.diagonal(both[1])[3:] - 2 * np.diagonal(both[1][:3, 3:])
    )
    np.testing.assert_allclose(proba, model.fit_.likelihood.proba(gap, spread), atol=1e-12)
    assert np.all(spread + variance > 0)
    np.testing.assert_allclose(mean, both[0][:3], atol=1e-12)


def test_updates_in_blocks_end_near_the_batch_fit(problem, model):
    X, pairs, answers = problem
    part = PreferenceGP(X, inducing=model.inducing_points_, **HELD)
    part.fit(pairs[:60], answers[:60])
    proba, std = model.predict_proba(pairs), model.utility().std
    at_first = np.mean(np.abs(part.predict_proba(pairs) - proba))
    for block in np.array_split(np.arange(60, 240), 6):
        part.update(pairs[block], answers[block])
    # Old answers are not visited again. Seen here: means 0.10 deviations off, at the worst item
    # 0.33; probabilities 0.016, and 0.12 before the updates.
    off = np.abs(part.utility().mean - model.utility().mean) / std
    assert off.mean() < 0.15
    assert np.mean(np.abs(part.predict_proba(pairs) - proba)) < 0.2 * at_first
    np.testing.assert_allclose(part.utility().std, std, rtol=0.05)
    assert part.log_evidence_ == pytest.approx(model.log_evidence_, abs=3.0)  # seen: 1.7


def test_an_update_needs_no_earlier_answers(model, problem, tmp_path):
    _, pairs, answers = problem
    path = tmp_path / "model.skops"
    persist.save(model, path)
    kept = persist.load(path)
    assert len(kept.fit_.problem.y) == len(kept._answers.weight) == 0
    np.testing.assert_array_equal(kept.utility(), model.utility())
    np.testing.assert_array_equal(kept.predict_proba(pairs), model.predict_proba(pairs))
    with pytest.raises(ValueError, match="are not kept in a file or a copy"):
        kept.log_evidence()
    before = kept.utility().mean
    kept.update(pairs[:1], -answers[:1])
    changed = kept.utility().mean - before
    left, right = pairs[0]
    assert np.sign(changed[left] - changed[right]) == -answers[0]
    again = PreferenceGP(problem[0], inducing=model.inducing_points_, **HELD)
    again.fit(pairs, answers).update(pairs[:1], -answers[:1])
    np.testing.assert_allclose(kept.utility(), again.utility(), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="nor after an update"):
        again.log_evidence()


def test_an_update_without_answers_changes_nothing(model):
    same = copy.copy(model).update(np.zeros((0, 2), dtype=int))
    np.testing.assert_array_equal(same.utility(), model.utility())
    assert same.log_evidence_ == model.log_evidence_


@pytest.mark.parametrize("field", ["precision", "potential"])
def test_a_predictor_of_other_items_is_not_saved(model, field, tmp_path):
    wrong = copy.copy(model)
    short = getattr(model.predictor_, field)[:-1]
    wrong.predictor_ = replace(model.predictor_, **{field: short})
    with pytest.raises(ValueError, match=f"ItemPredictor.{field}.*has 59 where i = 60"):
        persist.save(wrong, tmp_path / "model.skops")


def test_ties_grades_judges_ratings_and_weights(problem):
    X, pairs, answers = problem
    rng = np.random.default_rng(3)
    graded, judges = answers * rng.integers(0, 3, len(pairs)), rng.choice(["a", "b"], 240)
    stars = np.arange(60), rng.integers(1, 4, 60)
    options = {**HELD, "ties": True, "grades": 2, "inducing": 20}
    weights = rng.choice([1.0, 2.0], 240)
    model = PreferenceGP(X, **options).fit(
        pairs, graded, ratings=stars, judges=judges, sample_weight=weights
    )
    twice = np.repeat(np.arange(240), weights.astype(int))
    same = PreferenceGP(X, **options).fit(
        pairs[twice], graded[twice], ratings=stars, judges=judges[twice]
    )
    np.testing.assert_allclose(model.utility(), same.utility(), rtol=0, atol=1e-12)
    assert model.predict_ratings().shape == (60, 3)
    for judge in (None, "a"):
        proba = model.predict_proba(pairs[:4], judge=judge)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    model.update(pairs[:3], graded[:3], judges=judges[:3])
    assert model.log_evidence_ < same.log_evidence_


def test_a_judge_who_was_not_heard_in_learning_is_like_the_others(problem, monkeypatch):
    X, pairs, answers = problem
    monkeypatch.setattr(preference_gp, "_LEARNT", 20)
    judges = np.where(np.arange(240) % 2, "a", "b")
    judges[-1] = "c"
    model = PreferenceGP(X, inducing=20).fit(pairs, answers, judges=judges)
    a, b, c = model.noise_
    assert a != b
    assert c == pytest.approx(np.sqrt(a * b))


def test_stages_are_logged(problem, caplog):
    X, pairs, answers = problem
    with caplog.at_level("INFO", logger="ordinality"):
        PreferenceGP(X, inducing=20, **HELD).fit(pairs, answers)
    assert "iterations: evidence" in caplog.text


def test_order_and_side_of_answers_change_nothing(problem, model):
    X, pairs, answers = problem
    turn = np.random.default_rng(4).permutation(len(pairs))
    other = PreferenceGP(X, inducing=25, **HELD).fit(pairs[turn][:, ::-1], -answers[turn])
    np.testing.assert_array_equal(other.utility(), model.utility())


def test_a_large_share_unexplained_is_told(problem):
    X, pairs, answers = problem
    said = "3 inducing points leave .* try inducing=6"
    with pytest.warns(UserWarning, match=said) as caught:
        PreferenceGP(X, inducing=3, **HELD | {"kernel": Gaussian(0.3)}).fit(pairs, answers)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("strategy", ["order", "information", "best", "thompson"])
def test_questions_are_asked(model, strategy):
    asked = next_pair(model, strategy, batch=2, random_state=0)
    assert asked.shape == (2, 2)
    assert np.all(information_gain(model, asked) > 0)
    assert expected_rank_changes(model) > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"inducing": 61},
            "inducing=61 must be a number from 1 to the 60 distinct rows of items",
        ),
        ({"inducing": 0}, "inducing=0 must be a number from 1 to"),
        ({"inducing": "some"}, "inducing='some' is not understood"),
        ({"inducing": np.ones((3, 5))}, r"shape \(3, 5\), but items has 2 features"),
        ({"inducing": np.full((3, 2), np.nan)}, "inducing has values that are not finite"),
        ({"inducing": 5, "inference": "laplace"}, "inference='laplace' needs exact inference"),
        (
            {"inducing": 5, "items": 60},
            "inducing=5 states points among features, but the items",
        ),
    ],
)
def test_wrong_points_are_refused(problem, settings, message):
    X, pairs, answers = problem
    with pytest.raises(ValueError, match=message):
        PreferenceGP(**{"items": X, **settings}).fit(pairs, answers)


@pytest.mark.parametrize("kernel", ["precomputed", Correlation()], ids=["gram", "correlation"])
def test_kernels_without_rectangular_gradients_stay_exact(problem, soon, kernel):
    X, pairs, answers = problem
    items = Gaussian()(X) if kernel == "precomputed" else np.clip(np.round(X), 1, 3)
    model = PreferenceGP(items, kernel, optimizer=None).fit(pairs, answers)
    assert model.inducing_points_ is None
    with pytest.raises(NotImplementedError, match="which inducing points need"):
        PreferenceGP(items, kernel, inducing=5).fit(pairs, answers)


def test_exact_inference_beyond_memory_is_refused():
    n = 30_000
    pairs = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    with pytest.raises(ValueError, match="30000 answers about 30001 items .* 14 GB"):
        PreferenceGP(inducing=None).fit(pairs)
