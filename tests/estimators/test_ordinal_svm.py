"""Support vector ordinal regression as an estimator: what it learns, and the laws it keeps."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from ordinality import OrdinalSVM, kernels, metrics
from ordinality.levels import rank_from_scores

CONSTRAINTS = ["implicit", "explicit", "fixed-margin", "sum-of-margins"]
PRICE = {"sum-of-margins": 0.1}  # more, and the bands of the data below collapse
LEVELS = ["low", "mid", "high"]  # sorted: high, low, mid

every_machine = pytest.mark.parametrize("constraints", CONSTRAINTS)


def machine(constraints="implicit", **changes):
    C = PRICE.get(constraints, 1.0)
    return OrdinalSVM(**{"C": C, "constraints": constraints, "calibration_folds": 3} | changes)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=90), [-0.3, 0.6, 1.8])
    return X, y


# ------------------------------------------------------------------------------ learning


@every_machine
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_every_machine_learns_with_every_kernel(data, constraints, kernel):
    X, y = data
    X = np.column_stack([X, X[:, 1] ** 2])
    found = machine(constraints, kernel=kernel, coef0=1.0).fit(X, y)
    assert found.score(X, y) > 0.7  # the most frequent level: 0.3
    assert found.thresholds_.shape == (3,)
    assert np.all(np.diff(found.thresholds_) >= 0)
    assert found.converged_
    assert abs(found.duality_gap_) < 1e-2 * max(1.0, found.dual_objective_)
    assert found.n_support_.sum() == len(found.support_) == len(found.dual_coef_)
    np.testing.assert_array_equal(np.bincount(y[found.support_], minlength=4), found.n_support_)


@every_machine
def test_the_score_is_a_sum_of_kernels_at_the_support_vectors(data, constraints):
    X, y = data
    found = machine(constraints, standardize=False, gamma=0.3).fit(X, y)
    K = rbf_kernel(X, X[found.support_], gamma=0.3)
    np.testing.assert_allclose(found.predict_latent(X), K @ found.dual_coef_, atol=1e-10)
    ranks = rank_from_scores(found.predict_latent(X), found.thresholds_)
    np.testing.assert_array_equal(found.predict(X), ranks)


def test_rows_off_the_margin_have_no_weight_and_rows_within_pay(data):
    X, y = data
    found = machine("explicit", tol=1e-6).fit(X, y)
    edges = np.concatenate([[-np.inf], found.thresholds_, [np.inf]])
    score = found.predict_latent(X)
    margin = np.minimum(score - edges[y], edges[y + 1] - score)
    away = np.flatnonzero(margin > 1 + 1e-3)
    assert len(away) > 10
    assert not np.isin(away, found.support_).any()


@every_machine
def test_two_levels_are_the_ordinary_machine(data, constraints):
    if constraints == "sum-of-margins":
        pytest.skip("its C has another meaning")
    X, y = data
    ours = machine(constraints, standardize=False, gamma=0.5, tol=1e-6).fit(X, y > 1)
    theirs = SVC(C=1.0, gamma=0.5, tol=1e-6).fit(X, y > 1)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-4
    )
    a, V = theirs.dual_coef_[0], X[theirs.support_]
    dual = np.abs(a).sum() - 0.5 * a @ rbf_kernel(V, V, gamma=0.5) @ a
    assert ours.dual_objective_ == pytest.approx(dual, rel=1e-6)


def test_the_sum_of_margins_has_a_score_of_length_one(data):
    X, y = data
    found = machine("sum-of-margins", standardize=False, gamma=0.3).fit(X, y)
    V = X[found.support_]
    length = found.dual_coef_ @ rbf_kernel(V, V, gamma=0.3) @ found.dual_coef_
    assert length == pytest.approx(1.0, rel=1e-6)


def test_the_inverse_of_c_bounds_the_rows_beyond_a_band(data):
    X, y = data
    found = machine("sum-of-margins", C=0.095, tol=1e-6).fit(X, y)
    score, (low, high) = found.predict_latent(X), found.bands_[0]
    assert low < high
    beyond = (y == 0) & (score > low + 1e-6)
    assert np.count_nonzero(beyond) <= 10
    assert np.count_nonzero((y == 1) & (score < high - 1e-6)) <= 10
    assert np.isin(np.flatnonzero(y == 0), found.support_).sum() >= 11


@every_machine
def test_features_are_standardised_unless_told_not_to_be(data, constraints):
    X, y = data
    units = 2.0 ** np.array([-10, 0, 17])  # no rounding
    plain, other = machine(constraints).fit(X, y), machine(constraints).fit(X * units, y)
    np.testing.assert_array_equal(other.predict_latent(X * units), plain.predict_latent(X))
    if constraints == "implicit":
        raw = machine(constraints, standardize=False).fit(X * units, y)
        assert np.any(np.abs(raw.predict_latent(X * units) - plain.predict_latent(X)) > 1e-3)


# ------------------------------------------------------------------------------ kernels


@every_machine
def test_a_precomputed_kernel_is_the_kernel(data, constraints):
    X, y = data
    K = rbf_kernel(X, gamma=0.4)
    plain = machine(constraints, gamma=0.4, standardize=False, tol=1e-7).fit(X, y)
    given = machine(constraints, kernel="precomputed", tol=1e-7).fit(K, y)
    np.testing.assert_allclose(given.predict_latent(K), plain.predict_latent(X), atol=1e-4)
    np.testing.assert_allclose(given.thresholds_, plain.thresholds_, atol=1e-4)
    weight = (np.arange(90) % 3 > 0).astype(float)
    part = machine(constraints, kernel="precomputed").fit(K, y, sample_weight=weight)
    assert not np.isin(np.flatnonzero(weight == 0), part.support_).any()
    assert part.predict(K[:5]).shape == (5,)


@pytest.mark.parametrize(
    "kernel",
    [
        lambda X, Y: rbf_kernel(X, Y, gamma=0.125),
        kernels.Gaussian(2.0),
        RBF(2.0),
        kernels.Precomputed(),
    ],
    ids=["callable", "ours", "scikit-learn's", "precomputed"],
)
def test_kernels_as_functions_and_objects_are_the_named_one(data, kernel):
    X, y = data
    plain = machine(gamma=0.125, standardize=False, tol=1e-6).fit(X, y)
    inputs = rbf_kernel(X, gamma=0.125) if isinstance(kernel, kernels.Precomputed) else X
    other = machine(kernel=kernel, standardize=False, tol=1e-6).fit(inputs, y)
    np.testing.assert_allclose(other.predict_latent(inputs), plain.predict_latent(X), atol=1e-3)


def test_kernels_of_scikit_learn_that_ours_lack_are_taken_as_they_are(data):
    X, y = data
    kernel = Matern(nu=0.7) + WhiteKernel(0.1)
    assert machine(kernel=kernel).fit(X, y).score(X, y) > 0.7


def test_the_polynomial_is_scikit_learns(data):
    X, y = data
    plain = machine(kernel="polynomial", gamma=0.5, degree=2, standardize=False).fit(X, y)
    K = polynomial_kernel(X, X[plain.support_], degree=2, gamma=0.5, coef0=0.0)
    np.testing.assert_allclose(plain.predict_latent(X), K @ plain.dual_coef_, atol=1e-9)


def test_gamma_scale_is_scikit_learns(data):
    X, y = data
    scale = machine(standardize=False).fit(X, y)
    number = machine(standardize=False, gamma=1 / (3 * X.var())).fit(X, y)
    np.testing.assert_allclose(scale.predict_latent(X), number.predict_latent(X), atol=1e-2)
    auto, third = (machine(gamma=g).fit(X, y).predict_latent(X) for g in ("auto", 1 / 3))
    np.testing.assert_array_equal(auto, third)


@every_machine
def test_a_small_cache_changes_nothing_but_time(data, constraints):
    X, y = data
    whole = machine(constraints, tol=1e-6).fit(X, y)
    bits = machine(constraints, tol=1e-6, cache_size=1e-3).fit(X, y)
    np.testing.assert_allclose(bits.predict_latent(X), whole.predict_latent(X), atol=1e-4)
    np.testing.assert_allclose(bits.predict_proba(X), whole.predict_proba(X), atol=1e-3)


def test_a_linear_score_has_weights_of_features(data):
    X, y = data
    found = machine(kernel="linear", standardize=False).fit(X, y)
    np.testing.assert_allclose(found.predict_latent(X), X @ found.coef_)
    np.testing.assert_allclose(X[found.support_].T @ found.dual_coef_, found.coef_)
    assert not hasattr(found.set_params(kernel="rbf").fit(X, y), "coef_")


# ------------------------------------------------------------------------------ laws


@every_machine
def test_a_weight_of_two_is_exactly_the_row_twice(data, constraints):
    X, y = data
    weight = np.arange(90) % 4
    weighted = machine(constraints).fit(X, y, sample_weight=weight)
    copied = machine(constraints).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict_latent(X), copied.predict_latent(X))
    np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))


@every_machine
def test_the_order_of_the_rows_does_not_matter(data, constraints):
    X, y = data
    order = np.random.default_rng(5).permutation(90)
    one, other = machine(constraints).fit(X, y), machine(constraints).fit(X[order], y[order])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(np.sort(order[other.support_]), one.support_)


def test_a_class_weight_is_a_weight_of_the_rows(data):
    X, y = data
    factors = {0: 3.0, 2: 0.5}
    by_class = machine(class_weight=factors).fit(X, y)
    rows = np.array([factors.get(label, 1.0) for label in y.tolist()])
    by_row = machine(gamma=by_class._kernel.length_scale**-2 / 2).fit(X, y, sample_weight=rows)
    assert by_class.thresholds_[0] != by_row.thresholds_[0]  # which standardises by weight too
    raw = {"standardize": False, "gamma": 0.5}
    by_class = machine(class_weight=factors, **raw).fit(X, y)
    by_row = machine(**raw).fit(X, y, sample_weight=rows)
    np.testing.assert_array_equal(by_class.predict_latent(X), by_row.predict_latent(X))


def test_balanced_classes_weigh_alike(data):
    X, y = data
    few = np.flatnonzero((y > 0) | (np.arange(90) % 4 == 0))
    plain, balanced = (
        machine(class_weight=w).fit(X[few], y[few]).predict(X) for w in (None, "balanced")
    )
    assert np.count_nonzero(balanced == 0) > np.count_nonzero(plain == 0)


@every_machine
def test_a_warm_start_ends_where_a_cold_one_does(data, constraints):
    X, y = data
    # Less than 0.06 is too little for the sum of margins.
    prices = [0.08, 0.1, 0.12, 0.09] if constraints in PRICE else [0.3, 1.0, 3.0, 0.5]
    warm = machine(constraints, warm_start=True, tol=1e-6, calibration_folds=None)
    for C in prices:
        cold = machine(constraints, C=C, tol=1e-6, calibration_folds=None).fit(X, y)
        warm.set_params(C=C).fit(X, y)
        np.testing.assert_allclose(warm.predict_latent(X), cold.predict_latent(X), atol=1e-4)
        np.testing.assert_allclose(warm.thresholds_, cold.thresholds_, atol=1e-4)


def test_a_warm_start_saves_steps_and_forgets_other_data(data):
    X, y = data
    warm = OrdinalSVM(C=10.0, warm_start=True, calibration_folds=None).fit(X, y)
    steps = warm.n_iter_
    assert warm.fit(X, y).n_iter_ == 1
    other = warm.fit(X[::2], y[::2])
    fresh = OrdinalSVM(C=10.0, calibration_folds=None).fit(X[::2], y[::2])
    np.testing.assert_array_equal(other.predict_latent(X), fresh.predict_latent(X))
    assert steps > 1


# ------------------------------------------------------------------------------ labels


@every_machine
def test_labels_may_be_text_with_a_stated_order(data, constraints):
    X, y = data
    ranks = np.minimum(y, 2)
    plain = machine(constraints).fit(X, ranks)
    named = machine(constraints, levels=LEVELS).fit(X, np.array(LEVELS)[ranks])
    np.testing.assert_array_equal(named.predict_latent(X), plain.predict_latent(X))
    assert named.levels_.tolist() == LEVELS
    assert named.classes_.tolist() == sorted(LEVELS)
    np.testing.assert_array_equal(named.predict(X), np.array(LEVELS)[plain.predict(X)])
    decision = named.decision_function(X)
    np.testing.assert_array_equal(named.classes_[decision.argmax(axis=1)], named.predict(X))


def test_an_ordered_categorical_brings_its_order(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    y = pd.Series(pd.Categorical.from_codes(np.minimum(y, 2), LEVELS, ordered=True))
    table = pd.DataFrame(X, columns=["height", "width", "depth"])
    found = machine().fit(table, y)
    assert found.levels_.tolist() == LEVELS
    assert found.feature_names_in_.tolist() == ["height", "width", "depth"]
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(table[["width", "height", "depth"]])


@every_machine
def test_a_level_never_seen_keeps_its_place_and_is_never_predicted(data, constraints):
    X, y = data
    found = machine(constraints, levels=range(8)).fit(X, 2 * y + 1)  # 1, 3, 5, 7 of 0 .. 7
    assert found.thresholds_[0] == -np.inf
    assert np.all(np.isfinite(found.thresholds_[1:]))
    np.testing.assert_array_equal(found.thresholds_[1::2], found.thresholds_[2::2])
    assert set(found.predict(X)) <= {1, 3, 5, 7}
    assert found.predict_level_proba(X).shape == (90, 8)
    if constraints in ("explicit", "fixed-margin"):
        plain = machine(constraints).fit(X, y)
        np.testing.assert_array_equal(found.predict_latent(X), plain.predict_latent(X))


def test_a_gap_between_levels_is_paid_for_under_implicit_constraints(data):
    X, y = data
    once = machine(C=2.0, standardize=False, gamma=0.5).fit(X, y > 1)
    gap = machine(levels=range(3), standardize=False, gamma=0.5).fit(X, 2 * (y > 1))
    np.testing.assert_array_equal(gap.predict_latent(X), once.predict_latent(X))


# ------------------------------------------------------------------------------ probabilities


@every_machine
def test_probabilities_sum_to_one_and_agree_with_the_prediction(data, constraints):
    X, y = data
    found = machine(constraints).fit(X, y)
    proba = found.predict_level_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(proba.argmax(axis=1), found.predict(X))
    assert np.all(np.diff(found.predict_level_proba(X, cumulative=True), axis=1) >= 0)
    assert metrics.log_score(y, proba, levels=range(4)) < 1.1  # the frequencies: 1.37


def test_without_calibration_there_are_no_probabilities(data):
    X, y = data
    found = machine(calibration_folds=None)
    assert not hasattr(found, "predict_proba")
    assert not hasattr(found.fit(X, y), "predict_level_proba")
    assert found.link_ is None


# ------------------------------------------------------------------------------ scikit-learn


def test_a_linear_machine_passes_the_checks_of_scikit_learn_too():
    estimator = OrdinalSVM(constraints="explicit", kernel="linear", calibration_folds=None)
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert not [result for result in results if result["status"] == "failed"]


@pytest.mark.parametrize(
    "copier", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deep"]
)
@every_machine
def test_a_copied_model_predicts_the_same(data, constraints, copier):
    X, y = data
    found = machine(constraints).fit(X, y)
    np.testing.assert_array_equal(copier(found).predict_proba(X), found.predict_proba(X))
    fresh = clone(found)
    assert fresh.get_params() == found.get_params()
    assert not hasattr(fresh, "thresholds_")


def test_a_grid_search_in_a_pipeline_tries_machines(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), OrdinalSVM(calibration_folds=None))
    grid = {
        "ordinalsvm__C": [0.1, 10.0],
        "ordinalsvm__kernel": ["linear", "rbf"],
        "ordinalsvm__constraints": ["implicit", "explicit"],
    }
    search = GridSearchCV(pipeline, grid, scoring=metrics.scorer("mae"), cv=3).fit(X, y)
    assert search.best_params_["ordinalsvm__kernel"] == "rbf"
    assert search.best_score_ > -0.4
    K = rbf_kernel(X)
    given = GridSearchCV(OrdinalSVM(kernel="precomputed"), {"C": [1.0]}, cv=3).fit(K, y)
    assert given.best_score_ > 0.5
