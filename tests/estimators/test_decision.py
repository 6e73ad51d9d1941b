"""Every ordinal classifier has the same decisions and class weights."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import BayesianRidge

from ordinality import (
    LeastSquaresOrdinalGP,
    OrdinalBoost,
    OrdinalGP,
    OrdinalRegression,
    OrdinalSVM,
    OrdinalSVMCV,
    OrdinalTrees,
    RankBoost,
    RoundedRegressor,
)
from ordinality.estimators.base_ordinal import decided, kappa_rule

LEVELS = ["low", "mid", "high"]
CLASSIFIERS = {
    "OrdinalGP": OrdinalGP(inference="laplace", levels=LEVELS),
    "LeastSquaresOrdinalGP": LeastSquaresOrdinalGP(levels=LEVELS),
    "OrdinalBoost": OrdinalBoost(n_estimators=10, calibration_folds=3, levels=LEVELS),
    "OrdinalTrees": OrdinalTrees(30, levels=LEVELS),
    "RankBoost": RankBoost(n_estimators=10, calibration_folds=3, levels=LEVELS),
    "OrdinalSVM": OrdinalSVM(calibration_folds=3, levels=LEVELS),
    "OrdinalSVMCV": OrdinalSVMCV(
        cv=2, log_C=(0, 1), log_kappa=(0, 0), fine_steps=0, calibration_folds=3, levels=LEVELS
    ),
    "OrdinalRegression": OrdinalRegression(levels=LEVELS),
    "RoundedRegressor": RoundedRegressor(BayesianRidge(), levels=LEVELS),
}
each = pytest.mark.parametrize("name", CLASSIFIERS)
SKEWED = [[0, 1, 4], [1, 0, 1], [9, 1, 0]]  # predicting "low" for "high" costs most


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    ranks = np.digitize(X[:, 0] + 0.8 * rng.normal(size=80), [-0.3, 1.0])
    return X, np.array(LEVELS)[ranks]


@each
@pytest.mark.parametrize(
    "rule", ["mode", "median", "mean", "quadratic_kappa", SKEWED, np.array(SKEWED)], ids=str
)
def test_predictions_follow_the_rule(name, rule, data):
    X, y = data
    model = clone(CLASSIFIERS[name]).set_params(decision=rule).fit(X, y)
    if name == "RoundedRegressor" and isinstance(rule, str) and rule == "mean":
        ranks = np.clip(np.round(model.predict_latent(X)), 0, 2).astype(int)
    else:
        kappa = getattr(model, "kappa_rule_", None)
        ranks = decided(model.predict_level_proba(X), rule, kappa)
    np.testing.assert_array_equal(model.predict(X), np.array(LEVELS)[ranks])


def test_each_rule_has_the_least_expected_cost_of_its_kind():
    proba = np.random.default_rng(1).dirichlet(np.ones(5), size=200)
    ranks = np.arange(5)
    costs = {
        "mode": 1.0 - np.eye(5),
        "median": np.abs(np.subtract.outer(ranks, ranks)),
        "mean": np.subtract.outer(ranks, ranks) ** 2,
    }
    for rule, cost in costs.items():
        found, least = decided(proba, rule), decided(proba, cost)
        np.testing.assert_array_equal(found, least, err_msg=rule)


def expected_kappa(proba, found):
    """One minus the ratio of expected squared errors, of the rows and of all pairs of rows."""
    ranks = np.arange(proba.shape[1])
    own = np.sum(proba * (ranks - found[:, None]) ** 2)
    pairs = np.mean([np.sum(proba * (ranks - a) ** 2) for a in found])
    return 1 - own / pairs


def test_the_rule_for_the_kappa_is_the_best_of_all_predictions():
    rng = np.random.default_rng(0)
    for _ in range(20):
        proba = rng.dirichlet(np.full(3, 0.7), size=5)
        every = np.array(list(product(range(3), repeat=5)))
        best = max(expected_kappa(proba, one) for one in every if np.ptp(one))
        kappa = kappa_rule(proba)
        found = decided(proba, "quadratic_kappa", kappa)
        assert expected_kappa(proba, found) == pytest.approx(best, rel=1e-9)
        assert kappa[1] == pytest.approx(best, rel=1e-9)


def test_a_rule_that_was_not_learnt_is_refused(data):
    X, y = data
    model = clone(CLASSIFIERS["OrdinalGP"]).fit(X, y).set_params(decision="quadratic_kappa")
    with pytest.raises(ValueError, match="learns its rule from the rows of `fit`.*fit again"):
        model.predict(X)
    model.fit(X, y).predict(X)
    model.set_params(decision="mode").fit(X, y)
    assert not hasattr(model, "kappa_rule_")


@each
def test_a_heavier_class_is_predicted_more_often(name, data):
    X, y = data
    plain, heavy = (
        clone(CLASSIFIERS[name]).set_params(class_weight=w).fit(X, y).predict(X)
        for w in (None, {"high": 20.0})
    )
    assert np.sum(heavy == "high") > np.sum(plain == "high")


@pytest.mark.parametrize("name", ["OrdinalGP", "LeastSquaresOrdinalGP", "RoundedRegressor"])
def test_class_weights_are_sample_weights(name, data):
    X, y = data
    factors = {"low": 2.0, "mid": 1.0, "high": 3.0}
    weights = np.array([factors[label] for label in y])
    # Weights of rows also count in the scale of the features, weights of classes do not.
    plain = clone(CLASSIFIERS[name])
    if "standardize" in plain.get_params():
        plain.set_params(standardize=False)
    by_class = clone(plain).set_params(class_weight=factors).fit(X, y)
    by_row = clone(plain).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(
        by_class.predict_level_proba(X), by_row.predict_level_proba(X)
    )


@each
def test_balanced_weights_are_those_of_the_frequencies(name, data):
    X, y = data
    levels, counts = np.unique(y, return_counts=True)
    stated = dict(zip(levels.tolist(), (len(y) / (3 * counts)).tolist(), strict=True))
    balanced, same = (
        clone(CLASSIFIERS[name]).set_params(class_weight=w).fit(X, y).predict_level_proba(X)
        for w in ("balanced", stated)
    )
    np.testing.assert_allclose(balanced, same, rtol=1e-8, atol=1e-10)


@each
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("toss", r"decision='toss' is not known; choose one of \['mode', 'median', 'mean', "),
        (None, "decision=None is not known"),
        ([[0, 1], [1, 0]], "decision is a matrix of 2 rows, but there are 3 levels"),
        ([[0, 1, 2]], "is not a matrix of costs; pass finite numbers of shape"),
        ([[0, np.nan], [1, 0]], "is not a matrix of costs"),
        (3, "decision=3 is not a matrix of costs"),
    ],
    ids=str,
)
def test_what_is_no_decision_is_refused(name, rule, message, data):
    with pytest.raises(ValueError, match=message):
        clone(CLASSIFIERS[name]).set_params(decision=rule).fit(*data)


@pytest.mark.parametrize("name", ["OrdinalBoost", "OrdinalSVM"])
def test_a_decision_by_probabilities_needs_calibration(name, data):
    model = clone(CLASSIFIERS[name]).set_params(calibration_folds=None, decision="median")
    with pytest.raises(ValueError, match="needs probabilities; set calibration_folds, or use"):
        model.fit(*data)


def test_a_regressor_without_deviations_or_weights_is_named(data):
    from sklearn.svm import SVR

    with pytest.raises(ValueError, match="SVR predicts no standard deviation; use decision="):
        RoundedRegressor(SVR(), decision="median", levels=LEVELS).fit(*data)
    with pytest.raises(ValueError, match="takes no sample weights; leave sample_weight and"):
        RoundedRegressor(class_weight="balanced", levels=LEVELS).fit(*data)


@each
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("even", "class_weight='even' is not known; pass 'balanced', None, or a dict"),
        ({"great": 2.0}, "class_weight names 'great', which is not one of the labels"),
        ({"low": 0.0}, r"class_weight\['low'\]=0.0 must be a number above zero"),
    ],
    ids=str,
)
def test_class_weights_that_mean_nothing_are_refused(name, weights, message, data):
    with pytest.raises(ValueError, match=message):
        clone(CLASSIFIERS[name]).set_params(class_weight=weights).fit(*data)


def test_decisions_are_those_of_the_reference_vectors():
    text = (Path(__file__).parents[1] / "linear-vectors.json").read_text("utf-8")
    case = next(c for c in json.loads(text)["cases"] if c["id"] == "decisions")
    P, expected = np.array(case["data"]["probability"]), case["expected"]
    rules = {"mode": "mode", "median": "median", "mean_rounded": "mean"}
    rules["minimum_cost"] = np.array(case["data"]["cost"])
    for name, rule in rules.items():
        assert (decided(P, rule) + 1).tolist() == expected[name]


def test_a_rule_that_is_set_after_the_fit_is_checked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    model = OrdinalRegression().fit(X, np.digitize(X[:, 0] + rng.normal(size=60), [-0.5, 0.5]))
    for rule, message in (("kappa", "'kappa' is not known; choose"), (np.eye(2), "each a row")):
        with pytest.raises(ValueError, match=message):
            model.set_params(decision=rule).predict(X)
