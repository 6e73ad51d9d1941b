"""The order in which rows are given says nothing, so it must change nothing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ordinality import (
    LabelRankingGP,
    LeastSquaresOrdinalGP,
    OrdinalBoost,
    OrdinalGP,
    OrdinalSVM,
    OrdinalTrees,
    PreferenceGP,
)
from ordinality.estimators.fitting import DistinctRows, canonical_order
from ordinality.kernels import Correlation, Precomputed

pytestmark = pytest.mark.filterwarnings("ignore")

GPS = {
    "ep": lambda: OrdinalGP(max_evaluations=4),
    "laplace": lambda: OrdinalGP(inference="laplace", max_evaluations=8),
    "least squares": lambda: LeastSquaresOrdinalGP(max_evaluations=8),
}
WEIGHTS = {
    "none": lambda rng, n: np.ones(n),
    "ordinary": lambda rng, n: rng.uniform(0.5, 2.0, n),
    "zeros": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "18 decades": lambda rng, n: 10.0 ** rng.uniform(-9, 9, n),
    "1e9": lambda rng, n: np.where(rng.random(n) < 0.5, 1e9, 1.0),
}
each_weighting = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
each_gp = pytest.mark.parametrize("model", GPS.values(), ids=GPS)


def rows(weights, n=18, seed=3):
    """Rows with copies among them, of equal and of other labels; and a permutation."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.digitize(np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=n), [-0.6, 0.6])
    X[1:4] = X[0]
    y[:5] = [0, 0, 1, 2, 1]
    w = weights(rng, n)
    w[:3] = np.maximum(w[:3], 0.3)
    return X, y, w, rng.permutation(n)


@each_gp
@each_weighting
def test_permuted_rows_give_the_same_gaussian_process_to_the_last_bit(model, weights):
    X, y, w, turn = rows(weights)
    one = model().fit(X, y, sample_weight=w)
    two = model().fit(X[turn], y[turn], sample_weight=w[turn])
    new = np.random.default_rng(0).normal(size=(9, 2))
    assert_array_equal(one.predict_proba(new), two.predict_proba(new))
    assert_array_equal(one.loo_proba_[turn], two.loo_proba_)
    assert_array_equal(one.thresholds_, two.thresholds_)


@each_weighting
def test_permuted_rows_of_a_kernel_matrix_give_the_same_model(weights):
    X, y, w, turn = rows(weights)
    gap = X[:, None] - X
    K, new = np.exp(-0.5 * np.sum(gap**2, axis=2)), np.exp(-0.5 * gap[5:9, :, 0] ** 2)
    one = OrdinalGP(Precomputed(), max_evaluations=8).fit(K, y, sample_weight=w)
    turned = K[np.ix_(turn, turn)]
    two = OrdinalGP(Precomputed(), max_evaluations=8).fit(
        turned, y[turn], sample_weight=w[turn]
    )
    assert_array_equal(one.predict_proba(new), two.predict_proba(new[:, turn]))
    assert_array_equal(one.loo_proba_[turn], two.loo_proba_)


def test_permuted_rows_with_missing_ratings_give_the_same_model():
    rng = np.random.default_rng(1)
    X = rng.integers(1, 6, size=(14, 6)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[3] = X[0]
    y, turn = rng.integers(0, 3, 14), rng.permutation(14)
    one = OrdinalGP(Correlation(), max_evaluations=8).fit(X, y)
    two = OrdinalGP(Correlation(), max_evaluations=8).fit(X[turn], y[turn])
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(one.loo_proba_[turn], two.loo_proba_)


@pytest.mark.parametrize("model", [OrdinalGP, LeastSquaresOrdinalGP])
def test_subsets_of_a_coarse_search_do_not_depend_on_the_order_either(model):
    X, y, _, turn = rows(WEIGHTS["none"], n=420)
    one = model(max_evaluations=2).fit(X, y)
    two = model(max_evaluations=2).fit(X[turn], y[turn])
    assert len(one.fit_.path) > 1
    assert_array_equal(one.predict_proba(X[:9]), two.predict_proba(X[:9]))


@pytest.mark.parametrize("graph", ["ranking", "multiclass"])
@each_weighting
def test_permuted_rows_give_the_same_label_rankings(weights, graph):
    X, _, w, turn = rows(weights, n=12)
    ranks = np.argsort(np.argsort(X @ np.array([[1.0, -1.0, 0.3], [0.2, 1.0, -1.0]]), axis=1))
    ranks[0] = [0, 2, 1]
    Y = ranks + 1 if graph == "ranking" else np.argmin(ranks, axis=1)
    one = LabelRankingGP(graph=graph, max_evaluations=8).fit(X, Y, sample_weight=w)
    two = LabelRankingGP(graph=graph, max_evaluations=8).fit(
        X[turn], Y[turn], sample_weight=w[turn]
    )
    found, expected = two.predict_pairs_proba(X), one.predict_pairs_proba(X)
    if np.all(w == 1.0):  # not sorted: sums of some dozen terms of size one, rounded
        np.testing.assert_allclose(found, expected, atol=1e-12)
    else:
        assert_array_equal(found, expected)


@each_weighting
@pytest.mark.parametrize("link", ["probit", "logit"])
def test_permuted_answers_give_the_same_utilities(weights, link):
    rng = np.random.default_rng(2)
    pairs = np.array([rng.permutation(4)[:2] for _ in range(20)])
    answers, w, turn = rng.choice([-1, 0, 1], 20), weights(rng, 20), rng.permutation(20)
    options = {"items": 4, "ties": True, "link": link, "inference": "laplace"}
    one = PreferenceGP(**options).fit(pairs, answers, sample_weight=w)
    two = PreferenceGP(**options).fit(pairs[turn], answers[turn], sample_weight=w[turn])
    assert_array_equal(one.predict_proba(pairs), two.predict_proba(pairs))


@each_weighting
def test_permuted_rows_give_the_same_support_vector_machine_up_to_a_sum(weights):
    X, y, w, turn = rows(weights)
    one = OrdinalSVM(calibration_folds=None).fit(X, y, sample_weight=w)
    two = OrdinalSVM(calibration_folds=None).fit(X[turn], y[turn], sample_weight=w[turn])
    assert_array_equal(one.thresholds_, two.thresholds_)
    # Support vectors are listed as they were given, so a score is summed in that order.
    rounding = len(X) * np.finfo(float).eps * np.abs(one.dual_coef_).sum()
    np.testing.assert_allclose(one.predict_latent(X), two.predict_latent(X), atol=rounding)


@each_weighting
def test_permuted_rows_give_the_same_ensemble(weights):
    X, y, w, turn = rows(weights)
    options = {"n_estimators": 5, "calibration_folds": None, "random_state": 0}
    one = OrdinalBoost(**options).fit(X, y, sample_weight=w)
    two = OrdinalBoost(**options).fit(X[turn], y[turn], sample_weight=w[turn])
    assert_array_equal(one.predict_latent(X), two.predict_latent(X))


@pytest.mark.parametrize(
    "more", [{"scale": True, "nonparallel": True}, {"loss": "multinomial"}], ids=str
)
@each_weighting
def test_permuted_rows_give_the_same_trees(weights, more):
    X, y, w, turn = rows(weights)
    options = {"n_estimators": 20, **more}
    one = OrdinalTrees(**options).fit(X, y, sample_weight=w)
    two = OrdinalTrees(**options).fit(X[turn], y[turn], sample_weight=w[turn])
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_weights_of_copies_are_added_in_an_order_of_their_own():
    X, y, w = np.zeros((3, 1)), np.zeros(3, dtype=int), np.array([1.0, 1e-16, 1e-16])
    turns = ([0, 1, 2], [1, 0, 2], [1, 2, 0])
    totals = [DistinctRows.of(X[t], y[t], w[t]).weights for t in turns]
    assert_array_equal(totals, np.full((3, 1), 1e-16 + 1e-16 + 1.0))


def test_rows_that_differ_in_label_or_weight_alone_have_an_order():
    X, y, w = np.zeros((3, 1)), np.array([1, 0, 1]), np.array([2.0, 3.0, 1.0])
    assert canonical_order(X, y, w).tolist() == [1, 2, 0]
