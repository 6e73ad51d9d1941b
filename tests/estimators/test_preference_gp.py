"""PreferenceGP: utilities from comparisons and ratings, and the conventions of scikit-learn."""

import copy
import pickle
import re

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from ordinality import PreferenceGP
from ordinality.estimators import preference_gp
from ordinality.gp.criteria import ENGINES, Objective
from ordinality.kernels import Gaussian, Linear, Precomputed

N, M = 25, 160


@pytest.fixture(scope="module")
def fitted(study):
    return PreferenceGP(study.X).fit(study.pairs[:M], study.answers[:M])


# What is learnt


@pytest.mark.parametrize("inference", ENGINES)
def test_utilities_and_answers_are_recovered(study, inference):
    model = PreferenceGP(study.X, inference=inference).fit(study.pairs[:M], study.answers[:M])
    mean, std = model.utility()
    assert model.converged_
    assert spearmanr(mean, study.f).statistic > 0.9
    assert np.all(std > 0)
    assert model.score(study.pairs[M:], study.answers[M:]) > 0.8
    proba = model.predict_proba(study.pairs[M:])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    # A constant guess has a log loss of 0.69.
    right = np.where(study.answers[M:] > 0, proba[:, 1], proba[:, 0])
    assert -np.mean(np.log(right)) < 0.45


def test_the_rank_is_the_order_of_the_means(fitted):
    mean, rank = fitted.utility().mean, fitted.rank()
    assert sorted(rank) == list(range(1, N + 1))
    assert rank[np.argmax(mean)] == 1
    assert rank[np.argmin(mean)] == N


def test_the_joint_posterior_is_that_of_utilities_and_of_answers(fitted):
    mean, covariance = fitted.posterior()
    utility = fitted.utility()
    np.testing.assert_allclose(mean, utility.mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.diag(covariance), utility.std**2, rtol=1e-9)
    some, their = fitted.posterior([7, 2])
    np.testing.assert_allclose(some, mean[[7, 2]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(their, covariance[np.ix_([7, 2], [7, 2])], rtol=0, atol=1e-12)
    # Eq. 19 of the paper.
    width = 2 * fitted.noise_**2 + their[0, 0] + their[1, 1] - 2 * their[0, 1]
    assert fitted.predict_proba([[7, 2]])[0, 1] == pytest.approx(
        norm.cdf((some[0] - some[1]) / np.sqrt(width)), abs=1e-12
    )


def test_a_scaled_precomputed_kernel_scales_the_variance_of_differences(study):
    gram = Gaussian(1.5)(study.X)
    model = PreferenceGP(gram, 3.0 * Precomputed(), optimizer=None)
    model.fit(study.pairs[:M], study.answers[:M])
    same = PreferenceGP(3.0 * gram, "precomputed", optimizer=None)
    same.fit(study.pairs[:M], study.answers[:M])
    np.testing.assert_allclose(
        model.predict_proba(study.pairs), same.predict_proba(study.pairs), rtol=0, atol=1e-9
    )


def test_answers_left_out_say_that_the_first_won(study):
    won = np.where((study.answers > 0)[:, None], study.pairs, study.pairs[:, ::-1])
    one = PreferenceGP(study.X).fit(study.pairs, study.answers)
    other = PreferenceGP(study.X).fit(won)
    np.testing.assert_array_equal(one.utility().mean, other.utility().mean)
    assert one.score(study.pairs, study.answers) == other.score(won)


def test_booleans_say_whether_the_first_won(study, fitted):
    model = PreferenceGP(study.X).fit(study.pairs[:M], study.gap[:M] > 0)
    np.testing.assert_array_equal(model.utility().mean, fitted.utility().mean)


def test_items_without_features_are_independent(study):
    few = PreferenceGP(N).fit(study.pairs, study.answers)
    assert spearmanr(few.utility().mean, study.f).statistic > 0.9
    assert few.kernel_ is None
    assert few.item_variance_ == 1.0  # the noise sets the scale
    counted = PreferenceGP().fit(study.pairs, study.answers)
    np.testing.assert_array_equal(counted.utility().mean, few.utility().mean)


def test_an_item_never_compared_has_the_utility_that_its_features_predict(draw_study):
    study = draw_study(own=1.0)
    asked = ~np.any(study.pairs == 3, axis=1)
    model = PreferenceGP(study.X).fit(study.pairs[asked], study.answers[asked])
    mean, std = model.utility()
    new_mean, new_std = model.utility(study.X[[3]])
    assert mean[3] == pytest.approx(new_mean[0], abs=1e-12)
    assert std[3] == pytest.approx(new_std[0], abs=1e-12)
    assert std[3] > 1.1 * std[np.arange(N) != 3].mean()


def test_items_have_effects_of_their_own_in_proportion_to_what_features_leave_open(draw_study):
    variances = []
    for own in (0.02, 1.5):
        study = draw_study(own=own, noise=0.2)
        model = PreferenceGP(study.X, "gaussian").fit(study.pairs, study.answers)
        variances.append(model.item_variance_)
    assert variances[0] < 0.3 * variances[1]
    without = PreferenceGP(study.X, "gaussian", item_effects=False)
    without.fit(study.pairs, study.answers)
    assert without.item_variance_ == 0.0
    assert without.log_evidence_ < model.log_evidence_ - 2.0


@pytest.mark.parametrize("hyperprior", ["weak", None])
def test_items_have_no_effect_where_features_tell_all(hyperprior):
    # 200 items in a cube, a smooth utility of two features of three, five answers an item.
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(200, 3))
    f = 3.0 * np.sin(2.0 * X[:, 0]) + 2.0 * X[:, 1] ** 2
    pairs = np.array([rng.choice(200, 2, replace=False) for _ in range(1000)])
    felt = f[pairs] + 0.5 * rng.normal(size=pairs.shape)
    answers = np.where(felt[:, 0] > felt[:, 1], 1, -1)
    given = {"kernel": "gaussian", "hyperprior": hyperprior}
    model = PreferenceGP(X, **given).fit(pairs, answers)
    plain = PreferenceGP(X, item_effects=False, **given).fit(pairs, answers)
    assert model.item_variance_ == 0.0
    assert model.log_evidence_ == pytest.approx(plain.log_evidence_, abs=0.02)
    one, other = (each.predict_proba(pairs)[:, 1] for each in (model, plain))
    np.testing.assert_allclose(one, other, rtol=0, atol=0.01)


def test_relevance_shows_the_feature_that_says_nothing(study):
    ard = PreferenceGP(study.X, Gaussian(np.full(3, 1.7))).fit(study.pairs, study.answers)
    assert ard.relevance_.shape == (3,)
    assert ard.relevance_[2] == ard.relevance_.min()
    assert ard.kernel_.length_scale.shape == (3,)


# Laws


@pytest.mark.parametrize("inference", ENGINES)
def test_swapping_sides_reverses_answers_to_the_last_bit(study, inference):
    settings = {"items": study.X, "inference": inference, "ties": True, "grades": 2}
    pairs, graded = study.pairs[:60], study.graded[:60]
    one = PreferenceGP(**settings).fit(pairs, graded)
    other = PreferenceGP(**settings).fit(pairs[:, ::-1], -graded)
    np.testing.assert_array_equal(one.utility().mean, other.utility().mean)
    np.testing.assert_array_equal(
        one.predict_proba(study.pairs), one.predict_proba(study.pairs[:, ::-1])[:, ::-1]
    )
    left, right = study.X[study.pairs.T]
    np.testing.assert_array_equal(
        one.predict_pairs(left, right), one.predict_pairs(right, left)[:, ::-1]
    )


def test_the_order_of_answers_and_their_repetition_do_not_matter(study, fitted):
    order = np.random.default_rng(1).permutation(M)
    shuffled = PreferenceGP(study.X).fit(study.pairs[order], study.answers[order])
    np.testing.assert_array_equal(shuffled.utility().mean, fitted.utility().mean)
    weights = np.where(np.arange(M) < 40, 2.0, 1.0)
    weighted = PreferenceGP(study.X).fit(
        study.pairs[:M], study.answers[:M], sample_weight=weights
    )
    twice = np.r_[0:M, 0:40]
    repeated = PreferenceGP(study.X).fit(study.pairs[twice], study.answers[twice])
    np.testing.assert_array_equal(weighted.utility().mean, repeated.utility().mean)


def test_an_answer_of_weight_zero_does_not_count(study, fitted):
    weights = np.where(np.arange(2 * M) < M, 1.0, 0.0)
    model = PreferenceGP(study.X).fit(study.pairs, study.answers, sample_weight=weights)
    np.testing.assert_array_equal(model.utility().mean, fitted.utility().mean)


def test_relabelling_items_permutes_utilities(study, fitted):
    order = np.random.default_rng(2).permutation(N)
    place = np.argsort(order)
    moved = PreferenceGP(study.X[order]).fit(place[study.pairs[:M]], study.answers[:M])
    np.testing.assert_allclose(
        moved.utility().mean, fitted.utility().mean[order], rtol=0, atol=1e-3
    )
    assert moved.log_evidence_ == pytest.approx(fitted.log_evidence_, abs=1e-3)


def test_items_of_equal_features_are_one_where_they_have_no_effect_of_their_own(study):
    X = np.vstack([study.X, study.X[:5]])
    pairs = np.where((study.pairs < 5) & (study.pairs % 2 == 0), study.pairs + N, study.pairs)
    settings = {"item_effects": False}
    twins = PreferenceGP(X, **settings).fit(pairs[:M], study.answers[:M])
    single = PreferenceGP(study.X, **settings).fit(study.pairs[:M], study.answers[:M])
    assert len(twins.fit_.problem.X) == len(single.fit_.problem.X)
    np.testing.assert_allclose(
        twins.utility().mean[N:], twins.utility().mean[:5], rtol=0, atol=1e-12
    )
    # The standardised features differ a little, for the twins count twice there.
    assert spearmanr(twins.utility().mean[:N], single.utility().mean).statistic > 0.99


def test_evidence_at_the_fit_is_stationary_and_its_gradient_exact(draw_study):
    study = draw_study(own=1.0)
    model = PreferenceGP(study.X, hyperprior=None, tol=1e-12).fit(study.pairs, study.answers)
    value, gradient = model.log_evidence(eval_gradient=True)
    theta = model.fit_.best.theta
    assert value == pytest.approx(model.log_evidence_, abs=1e-9)
    assert len(theta) == model.kernel_.n_theta + 2  # item variance, noise
    assert np.all(np.abs(gradient) < 1.0)
    h = 1e-4
    for i, e in enumerate(np.eye(len(theta))):
        up, down = model.log_evidence(theta + h * e), model.log_evidence(theta - h * e)
        assert gradient[i] == pytest.approx((up - down) / (2 * h), abs=1e-5)


def test_a_search_begins_on_few_items_and_what_was_said_of_them(study, fitted):
    problem = fitted.fit_.problem
    assert type(problem) is Objective  # what is kept knows nothing of the search
    searched = preference_gp._ItemSubsets(**vars(problem))
    few, more = searched.subset(np.arange(20)), searched.subset(np.arange(60))
    assert (len(few.y), len(more.y)) == (20, 60)
    # As many answers drawn at random would see nearly all of the items.
    assert len(few.X) < 0.6 * len(problem.subset(np.arange(0, 120, 6)).X)
    assert {*few.X[:, -1]} < {*more.X[:, -1]} <= {*problem.X[:, -1]}
    # All that was said among most of those items: only the last to come may lack some.
    numbers = problem.X[:, -1][problem.design.index]
    inside = np.isin(numbers, few.X[:, -1]).all(axis=1)
    assert 20 <= inside.sum() < 20 + np.bincount(problem.design.index.ravel()).max()


def test_many_pairs_are_asked_in_batches(study, fitted, monkeypatch):
    pairs = np.array([(i, j) for i in range(N) for j in range(N) if i != j])
    whole = fitted.predict_proba(pairs)
    monkeypatch.setattr("ordinality.estimators.preference_gp._ENTRIES", 10)
    np.testing.assert_allclose(fitted.predict_proba(pairs), whole, rtol=0, atol=1e-12)


# New items, further answers


def test_new_items_are_compared_by_their_features(study, fitted):
    left, right = study.X[study.pairs[:30].T]
    proba = fitted.predict_pairs(left, right)
    assert proba.shape == (30, 2)
    # Items of the model are known better than new ones that look like them.
    known = fitted.predict_proba(study.pairs[:30])
    assert np.mean(np.abs(known - 0.5)) > np.mean(np.abs(proba - 0.5))
    assert np.corrcoef(proba[:, 1], known[:, 1])[0, 1] > 0.9
    assert (
        fitted.rank(study.X[:4]).tolist()
        == (np.argsort(np.argsort(-fitted.utility(study.X[:4]).mean)) + 1).tolist()
    )


@pytest.mark.parametrize("inference", ENGINES)
def test_an_update_is_a_fit_with_the_parameters_held(study, inference):
    first, both = slice(0, 100), slice(0, 104)
    settings = {"items": study.X, "inference": inference, "tol": 1e-9}
    model = PreferenceGP(**settings).fit(study.pairs[first], study.answers[first])
    kernel, noise = model.kernel_, model.noise_
    model.update(study.pairs[100:104], study.answers[100:104])
    held = PreferenceGP(**settings).fit(study.pairs[both], study.answers[both])
    theta = np.append([*kernel.theta, np.log(model.item_variance_ + 0.01)], np.log(noise))
    assert model.kernel_ == kernel
    assert model.noise_ == noise
    assert model.log_evidence_ == pytest.approx(held.log_evidence(theta), abs=1e-6)
    cold = model.fit_.problem.evaluate(theta).approximation
    assert model.fit_.best.approximation.n_iter < cold.n_iter
    again = copy.deepcopy(model).update(np.empty((0, 2)))
    np.testing.assert_allclose(again.utility().mean, model.utility().mean, rtol=0, atol=1e-6)


def test_an_update_may_name_items_not_compared_before(study):
    early = np.all(study.pairs < 20, axis=1)
    model = PreferenceGP(study.X).fit(study.pairs[early], study.answers[early])
    before = model.utility().std
    model.update(study.pairs[~early], study.answers[~early])
    assert np.all(model.utility().std[20:] < before[20:])


def test_large_studies_are_learnt_coarse_to_fine(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    pairs = rng.integers(300, size=(600, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    gap = f[pairs[:, 0]] - f[pairs[:, 1]] + 0.3 * rng.normal(size=len(pairs))
    settings = {"items": X, "inference": "laplace"}
    stepwise = PreferenceGP(**settings).fit(pairs, gap > 0)
    monkeypatch.setattr(preference_gp, "_LARGE", np.inf)
    at_once = PreferenceGP(**settings).fit(pairs, gap > 0)
    assert len(stepwise.fit_.path) > len(at_once.fit_.path) == 1
    assert stepwise.fit_.best.value == pytest.approx(at_once.fit_.best.value, abs=0.02)


# scikit-learn's manners


@pytest.mark.parametrize(
    "copier", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "copy"]
)
def test_a_copied_model_predicts_the_same(study, fitted, copier):
    copied = copier(fitted)
    np.testing.assert_array_equal(
        copied.predict_proba(study.pairs), fitted.predict_proba(study.pairs)
    )
    assert copied.log_evidence() == fitted.log_evidence()


def test_parameters_are_stored_as_given_and_cloned(study):
    items, kernel = study.X.tolist(), Linear()
    model = PreferenceGP(items, kernel, ties=True)
    assert model.items is items
    assert model.kernel is kernel
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert "ties=True" in repr(model)


def test_fitting_again_forgets_the_first_fit(study):
    model = PreferenceGP(study.X).fit(
        study.pairs, study.answers, ratings=([0, 1, 2], [1, 2, 2])
    )
    model.fit(study.pairs[:M], study.answers[:M])
    fresh = PreferenceGP(study.X).fit(study.pairs[:M], study.answers[:M])
    assert vars(model).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(model.utility().mean, fresh.utility().mean)


def test_answers_can_be_cross_validated(study):
    model = PreferenceGP(study.X)
    accuracy = cross_val_score(model, study.pairs, study.answers, cv=4)
    assert np.all(accuracy > 0.75)
    loss = cross_val_score(model, study.pairs, study.answers, cv=4, scoring="neg_log_loss")
    assert np.all(loss > -0.5)
    predicted = cross_val_predict(model, study.pairs, study.answers, cv=3)
    assert np.mean(predicted == study.answers) > 0.75
    grid = {"kernel": [None, "linear"], "item_effects": [True, False]}
    search = GridSearchCV(model, grid, cv=3).fit(study.pairs, study.answers)
    assert search.best_score_ > 0.75


def test_answers_that_scikit_learn_has_recoded_are_refused_and_not_misread(study):
    # For probabilities it turns -1 and +1 into 0 and 1 before it calls fit.
    with pytest.raises(ValueError, match="0, which is a tie"):
        cross_val_predict(
            PreferenceGP(study.X), study.pairs, study.answers, method="predict_proba"
        )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_items_may_be_a_data_frame(study, fitted, library):
    frame = pytest.importorskip(library).DataFrame(dict(zip("abc", study.X.T, strict=True)))
    model = PreferenceGP(frame).fit(study.pairs[:M], study.answers[:M])
    np.testing.assert_allclose(model.utility().mean, fitted.utility().mean, rtol=1e-9)


def test_precomputed_covariances_replace_features(study):
    Z = (study.X - study.X.mean(0)) / study.X.std(0)
    gram = Gaussian(1.5)(Z)
    given = PreferenceGP(gram, "precomputed", optimizer=None).fit(study.pairs, study.answers)
    kernel = PreferenceGP(study.X, Gaussian(1.5), optimizer=None).fit(
        study.pairs, study.answers
    )
    assert given.log_evidence_ == pytest.approx(kernel.log_evidence_, abs=1e-9)
    for ours, theirs in zip(given.utility(), kernel.utility(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        given.predict_proba(study.pairs), kernel.predict_proba(study.pairs), rtol=0, atol=1e-9
    )


def test_restarts_do_not_find_less(study, fitted):
    again = PreferenceGP(study.X, n_restarts=2, random_state=1, n_jobs=2)
    again.fit(study.pairs[:M], study.answers[:M])
    assert again.fit_.best.value >= fitted.fit_.best.value - 1e-3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inference", ["ep", "laplace", "variational"])
@pytest.mark.parametrize("weight", [1e9, 1e12, 1e15])
@pytest.mark.parametrize("hyperprior", ["weak", None])
def test_very_large_weights_give_a_model_or_an_error(inference, weight, hyperprior):
    model = PreferenceGP(
        items=2, ties=True, link="logit", inference=inference, hyperprior=hyperprior,
        max_evaluations=20,
    )  # fmt: skip
    for answers in ([-1, 0], [1, 0, 0], [-1, 0, 1]):
        pairs, said = np.tile([0, 1], (len(answers), 1)), ""
        try:
            model.fit(pairs, answers, sample_weight=np.full(len(answers), weight))
        except ValueError as refusal:
            said = str(refusal)
        if said:
            assert weight == 1e15
            assert re.match(r"sample weights reach \d\.0e\+15, .* divide the weights", said)
        else:
            assert np.isclose(model.predict_proba([[0, 1]]).sum(), 1.0)
