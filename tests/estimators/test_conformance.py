"""Every estimator keeps scikit-learn's contract and works inside its tools."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_estimator,
    estimator_checks_generator,
    parametrize_with_checks,
)
from threadpoolctl import threadpool_info, threadpool_limits

from ordinality import OrdinalGP, estimators, metrics
from ordinality.estimators.threads import one_pool
from ordinality.gp.criteria import CRITERIA, ENGINES
from ordinality.kernels import Gaussian, Linear

# The default model is among all estimators below. The engines and the criterion here have a
# cheaper kernel and link, but for one. A criterion changes nothing but what is maximised:
# every engine learns under every one at the end of this file.
CHEAP = {"kernel": "gaussian", "link": "probit"}
VARIANTS = [
    OrdinalGP(inference="laplace", optimizer=None),
    OrdinalGP(**CHEAP, inference="variational", optimizer=None, tol=1e-9),  # costs quadrature
    OrdinalGP(**CHEAP, optimizer=None),
    OrdinalGP(**CHEAP, inference="laplace", criterion="bound", decision="median"),
]


# Their X is no table of features: scikit-learn's checks would feed them rows of random numbers
# where they want numbers of items. Checks that fit nothing hold for them as for all.
OF_PAIRS = {
    "LabelRankingGP", "LabelRankingSVM", "LabelRankingSVMCV", "PreferenceGP", "PreferenceSVM",
    "PreferenceSVMCV",
}  # fmt: skip
DATALESS = {
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}


# A search of 130 points in five folds, or hundreds of rounds six times, would take minutes.
SMALL = {
    "OrdinalBoost": {"n_estimators": 20, "calibration_folds": 2},
    "OrdinalTrees": {"n_estimators": 20},
    "RankBoost": {"n_estimators": 20, "calibration_folds": 2},
    "OrdinalSVMCV": {"log_C": (0, 1), "log_kappa": (-1, 0), "fine_steps": 0, "cv": 2},
    "OrdinalConformal": {
        "estimator": OrdinalGP(**CHEAP, optimizer=None, inference="laplace"),
        "calibration_folds": 2,
    },
    "OrdinalStack": {
        "estimators": [
            ("gp", OrdinalGP(**CHEAP, optimizer=None, inference="laplace")),
            ("lines", LogisticRegression()),
        ],
        "cv": 2,
    },
}  # fmt: skip


def every_estimator(of_pairs=False):
    names = [name for name in estimators.__all__ if (name in OF_PAIRS) == of_pairs]
    return [getattr(estimators, name)(**SMALL.get(name, {})) for name in names]


def name_of(value):
    return repr(value) if isinstance(value, BaseEstimator) else value.func.__name__


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=60), [-0.7, 0.6])
    return X, y


# ------------------------------------------------------------------------------ the checks


NO_WEIGHTS = {"check_class_weight_classifiers": "its default regressor takes no sample weights"}


def expected_failures(estimator):
    return NO_WEIGHTS if repr(estimator) == "RoundedRegressor()" else {}


@pytest.mark.filterwarnings("ignore:.*separates? rows")  # OrdinalRegression, of blobs
@pytest.mark.filterwarnings("ignore:.*rows calibrate")  # OrdinalConformal, of few or weighted
@parametrize_with_checks(every_estimator(), expected_failed_checks=expected_failures)
def test_every_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", every_estimator(of_pairs=True), ids=name_of)
def test_estimators_of_pairs_pass_every_check_that_needs_no_table(estimator):
    passed = set()
    for model, check in estimator_checks_generator(estimator):
        if name_of(check) in DATALESS:
            check(clone(model))
            passed.add(name_of(check))
    assert passed == DATALESS


@pytest.mark.parametrize("estimator", VARIANTS, ids=name_of)
def test_other_engines_links_and_criteria_pass_every_check_too(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert not [result for result in results if result["status"] == "failed"]


# ------------------------------------------------------------------------------ copies


@pytest.mark.parametrize(
    "copier",
    [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
@pytest.mark.parametrize("inference", ENGINES)
def test_a_copied_model_predicts_the_same(data, inference, copier):
    X, y = data
    kernel = 2.0 * Gaussian(np.ones(3)) + Linear()
    model = OrdinalGP(kernel, inference=inference, optimizer=None).fit(X, y)
    copied = copier(model)
    assert copied.kernel_ == model.kernel_
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(copied.levels_, model.levels_)
    assert copied.log_evidence() == model.log_evidence()


def test_a_clone_has_the_parameters_and_nothing_learnt(data):
    X, y = data
    model = OrdinalGP(Gaussian(np.ones(3)), levels=[0, 1, 2], noise=0.5).fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "thresholds_")


def test_parameters_can_be_set_and_are_stored_as_given():
    kernel, thresholds, levels = Gaussian([1.0, 2.0]), (0, 1), ("a", "b", "c")
    model = OrdinalGP().set_params(kernel=kernel, thresholds=thresholds, levels=levels)
    assert model.kernel is kernel
    assert model.thresholds is thresholds
    assert model.levels is levels
    with pytest.raises(ValueError, match="Invalid parameter 'lenght_scale'"):
        model.set_params(lenght_scale=1.0)


def test_fitting_again_forgets_the_first_fit(data):
    X, y = data
    model = OrdinalGP(inference="laplace").fit(X, y)
    model.fit(X[:, :2], y[::-1] > 0)
    fresh = OrdinalGP(inference="laplace").fit(X[:, :2], y[::-1] > 0)
    assert vars(model).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(model.predict_proba(X[:, :2]), fresh.predict_proba(X[:, :2]))


# ------------------------------------------------------------------------------ tools


@pytest.mark.parametrize("name", ["mae", "rps"])
def test_a_grid_search_tries_kernels_and_engines(data, name):
    X, y = data
    grid = {"kernel": [None, "linear", Gaussian(np.ones(3))], "inference": ["ep", "laplace"]}
    search = GridSearchCV(OrdinalGP(), grid, scoring=metrics.scorer(name), cv=3).fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_score_ > {"mae": -0.6, "rps": -0.4}[name]  # the middle level: 0.68, 0.41
    assert search.score(X, y) == metrics.scorer(name)(search.best_estimator_, X, y)


def test_a_pipeline_with_a_scaler_changes_nothing_for_features_are_standardised(data):
    X, y = data
    plain = OrdinalGP(inference="laplace").fit(X, y)
    pipeline = make_pipeline(StandardScaler(), OrdinalGP(inference="laplace"))
    pipeline.fit([1.0, 100.0, 1e-3] * X + 5.0, y)
    np.testing.assert_allclose(
        pipeline.predict_proba([1.0, 100.0, 1e-3] * X + 5.0), plain.predict_proba(X), rtol=1e-6
    )
    scores = cross_val_score(pipeline, X, y, cv=3, scoring=metrics.scorer("rps"))
    assert np.all(scores > -0.4)


def test_parameters_of_a_model_in_a_pipeline_can_be_searched(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), OrdinalGP(optimizer=None, inference="laplace"))
    grid = {"ordinalgp__noise": [0.1, 1.0], "ordinalgp__decision": ["mode", "median"]}
    search = GridSearchCV(pipeline, grid, scoring=metrics.scorer("mae"), cv=3).fit(X, y)
    assert set(search.best_params_) == set(grid)


def test_a_table_leaves_its_column_names(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame(X, columns=["height", "width", "depth"])
    model = OrdinalGP(inference="laplace").fit(table, y)
    assert model.feature_names_in_.tolist() == ["height", "width", "depth"]
    assert model.n_features_in_ == 3
    plain = OrdinalGP(inference="laplace").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(table), plain.predict_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["width", "height", "depth"]])


def test_a_polars_table_serves_as_well(data):
    pl = pytest.importorskip("polars")
    X, y = data
    table = pl.DataFrame(X, schema=["height", "width", "depth"])
    model = OrdinalGP(inference="laplace").fit(table, pl.Series(y))
    assert model.feature_names_in_.tolist() == ["height", "width", "depth"]
    plain = OrdinalGP(inference="laplace").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(table), plain.predict_proba(X), rtol=1e-9)


def test_a_classifier_is_no_transformer_and_has_no_output_to_set():
    assert not hasattr(OrdinalGP(), "set_output")
    with sklearn.config_context(transform_output="pandas"):
        proba = OrdinalGP().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).predict_proba([[0.5]])
    assert type(proba) is np.ndarray


def test_sample_weights_are_routed_to_fit_and_to_the_scorer(data):
    X, y = data
    weight = (np.arange(60) % 2).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = OrdinalGP(inference="laplace").set_fit_request(sample_weight=True)
        asked.set_score_request(sample_weight=True)
        routed = cross_validate(
            asked, X, y, cv=3, params={"sample_weight": weight}, return_estimator=True
        )["estimator"][0]
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, asked).fit(X, y, sample_weight=weight)
    # Every second row has weight zero and is dropped.
    assert len(routed.fit_.problem.y) == 20
    assert len(pipeline[-1].fit_.problem.y) == 30


def test_fits_in_several_threads_at_once_give_what_one_gives(data):
    X, y = data
    search = GridSearchCV(
        OrdinalGP(), {"noise": [0.3, 1.0]}, scoring=metrics.scorer("rps"), cv=3
    )
    alone = search.fit(X, y).cv_results_["mean_test_score"]
    with parallel_config("threading", n_jobs=4):
        together = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(together, alone, rtol=1e-6)


@pytest.fixture
def two_threads():
    """Every BLAS with two threads, and a function that tells how many they have now."""
    with threadpool_limits(2, user_api="blas"):
        yield lambda: {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}


def test_a_fit_gives_the_threads_of_blas_back_even_when_it_fails(data, two_threads):
    X, y = data
    before = two_threads()
    OrdinalGP(optimizer=None).fit(X, y)
    assert two_threads() == before
    with pytest.raises(ValueError, match="thresholds"):
        OrdinalGP(thresholds=[1.0, 0.0]).fit(X, y)
    assert two_threads() == before


def test_fits_that_overlap_give_the_threads_of_blas_back(two_threads):
    before = two_threads()
    first, second = one_pool(), one_pool()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert two_threads() == before


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("inference", ENGINES)
def test_every_engine_learns_under_every_criterion(data, inference, criterion):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OrdinalGP(inference=inference, criterion=criterion).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > 0.7  # the most frequent level: 0.43
