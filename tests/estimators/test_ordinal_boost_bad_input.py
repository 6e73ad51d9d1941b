"""What thresholded ensembles cannot learn from is refused; what is merely odd is not."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from ordinality import OrdinalBoost, RankBoost

LEVELS = ["low", "mid", "high"]  # sorted: high, low, mid
N = 90
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
RANK = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=N), [-0.6, 0.6])
Y = np.array(LEVELS)[RANK]

both = pytest.mark.parametrize("kind", [OrdinalBoost, RankBoost])


def fit(X=X, y=RANK, sample_weight=None, kind=OrdinalBoost, **changes):
    found = kind(**{"n_estimators": 10, "learner": "sigmoid", **changes})
    return found.fit(X, y, sample_weight=sample_weight)


def refused(message, error=ValueError):
    return pytest.raises(error, match=message)


# ------------------------------------------------------------------------------ what is given


def changed(value):
    Z = X.copy()
    Z[3, 1] = value
    return Z


@both
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (changed(np.nan), ValueError, "X contains NaN"),
        (changed(np.inf), ValueError, "X contains infinity"),
        (X[:, 0], ValueError, "Expected 2D array, got 1D.*reshape"),
        (csr_array(X), TypeError, r"Sparse data.*dense data is required"),
        (X[:-1], ValueError, "inconsistent numbers of samples"),
    ],
    ids=["NaN", "infinity", "1-D", "sparse", "too few"],
)
def test_features_that_are_no_table_of_numbers_are_refused(kind, given, error, message):
    with refused(f"(?s){message}", error):
        fit(given, kind=kind)


@both
@pytest.mark.parametrize(
    ("y", "levels", "message"),
    [
        (np.where(RANK == 1, "great", Y), LEVELS, "'great'.*declared levels.*add it to"),
        (np.zeros(N, dtype=int), None, "only one class, 0; .*at least two levels"),
        (np.full(N, "mid"), LEVELS, "only one class, 'mid'"),
        (X[:, 0], None, "Unknown label type: continuous"),
        (None, None, "requires y to be passed"),
    ],
    ids=["unknown", "one", "one of three", "continuous", "None"],
)
def test_labels_without_a_place_in_an_order_are_refused(kind, y, levels, message):
    with refused(message):
        fit(y=y, levels=levels, kind=kind)


@both
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(N), "negative, infinite or missing values; use 0 to drop a row"),
        (np.zeros(N), "all sample weights are zero"),
        (np.ones(3), r"sample_weight has shape \(3,\), but there are 90 rows"),
        ((RANK == 0).astype(float), "only one class, 0"),
    ],
    ids=["negative", "zero", "short", "one level left"],
)
def test_weights_that_count_nothing_are_refused(kind, weight, message):
    with refused(message):
        fit(sample_weight=weight, kind=kind)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (OrdinalBoost, {"margins": "none"}, r"margins='none' is not known; choose one of \['a"),
        (RankBoost, {"thresholding": "mae"}, "thresholding='mae' is not known.*'zero-one'"),
        (OrdinalBoost, {"learner": "svm"}, "learner='svm' is not known; choose one of.*'tree'"),
        (OrdinalBoost, {"n_estimators": 0}, "n_estimators=0 must be a whole number, 1 or more"),
        (OrdinalBoost, {"n_estimators": 1.5}, "n_estimators=1.5 must be a whole number"),
        (OrdinalBoost, {"steepness": 0}, "steepness=0 must be a number above zero"),
        (OrdinalBoost, {"max_depth": 0}, "max_depth=0 must be a whole number, 1 or more"),
        (OrdinalBoost, {"max_depth": 40}, "max_depth=40 is too deep; 12 is the most"),
        (OrdinalBoost, {"updates": -1}, "updates=-1 must be a whole number, 1 or more"),
        (OrdinalBoost, {"max_bins": 1}, "max_bins=1 must be a whole number, 2 or more"),
        (OrdinalBoost, {"max_bins": 1000}, "max_bins=1000 is too many; 256 is the most"),
        (OrdinalBoost, {"standardize": "yes"}, "standardize='yes' is not known"),
        (OrdinalBoost, {"calibration_folds": 1}, "calibration_folds=1 must be.*2 or more"),
        (OrdinalBoost, {"validation_fraction": 1.0}, "validation_fraction=1.0 must lie betw"),
        (OrdinalBoost, {"validation_fraction": "a"}, "validation_fraction='a' must lie betw"),
        (OrdinalBoost, {"patience": 0}, "patience=0 must be a whole number, 1 or more"),
        (OrdinalBoost, {"tol": -1}, "tol=-1 must be a number, zero or more"),
        (OrdinalBoost, {"warm_start": 2}, "warm_start=2 is not known"),
        (
            OrdinalBoost,
            {"warm_start": True, "validation_fraction": 0.1},
            "warm_start cannot continue a fit with early stopping; leave",
        ),
        (OrdinalBoost, {"learner": KNeighborsClassifier()}, "KNeighbors.*takes no sample"),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "",
)  # fmt: skip
def test_parameters_that_mean_nothing_are_refused(kind, changes, message):
    with refused(message):
        fit(kind=kind, **changes)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (LogisticRegression, r"the class LogisticRegression; pass LogisticRegression\(\)"),
        (
            LinearRegression(),
            r"learner=LinearRegression\(\) is not a classifier; choose one of",
        ),
        (3, "learner=3 is not a classifier"),
        (None, "learner=None is not a classifier"),
    ],
    ids=["class", "regressor", "number", "None"],
)
def test_learners_that_cannot_vote_are_refused(learner, message):
    with refused(message, TypeError):
        fit(learner=learner)


def test_a_warm_start_refuses_other_levels_columns_and_fewer_rounds():
    found = fit(warm_start=True)
    with refused("n_estimators=5, but the model to continue has 10; ask for at least"):
        found.set_params(n_estimators=5).fit(X, RANK)
    found.set_params(n_estimators=12)
    with refused(r"levels \[0, 1\], but the model to continue has \[0, 1, 2\]; state them"):
        found.fit(X, np.minimum(RANK, 1))
    with refused("X has 1 features, but OrdinalBoost is expecting 2"):
        found.fit(X[:, :1], RANK)
    assert found.levels_.tolist() == [0, 1, 2]
    assert found.set_params(levels=[0, 1, 2]).fit(X, np.minimum(RANK, 1)).n_estimators_ == 12


def test_a_warm_start_refuses_to_go_on_from_a_run_that_was_stopped_early():
    stopped = fit(validation_fraction=0.2)
    stopped.set_params(validation_fraction=None, warm_start=True)
    with refused("warm_start cannot continue a fit with early stopping"):
        stopped.fit(X, RANK)


def test_too_few_rows_to_hold_out_are_refused():
    with refused("validation_fraction=0.5 of 3 distinct rows holds out none"):
        fit([[0.0], [1.0], [2.0]], [0, 1, 2], validation_fraction=0.5)


METHODS = ["predict", "predict_latent", "decision_function", "predict_proba",
           "predict_level_proba"]  # fmt: skip


@pytest.mark.parametrize("method", [*METHODS, "staged_predict", "staged_decision_function"])
def test_nothing_is_predicted_before_fit_or_from_other_columns(method):
    def call(found, Z):
        result = getattr(found, method)(Z)
        return list(result) if method.startswith("staged") else result

    with refused("not fitted yet. Call 'fit'", NotFittedError):
        call(OrdinalBoost(), X)
    with refused("X has 1 features, but OrdinalBoost is expecting 2 features"):
        call(fit(), X[:, :1])
    with refused("X contains NaN"):
        call(fit(), changed(np.nan))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.margin_error(X, RANK, kind="mae"), "kind='mae' is not known; choose one"),
        (lambda m: m.margins_of(X, RANK[:-1]), "inconsistent numbers of samples"),
        (lambda m: m.margins_of(X, RANK + 1), "y contains 3.*declared levels"),
        (lambda m: m.bound_terms(X, RANK, 0.0), "delta=0.0 must be a number above zero"),
        (lambda m: m.bound_terms(X, RANK, 0.1, confidence=1), "confidence=1 must lie between"),
    ],
    ids=["kind", "length", "label", "delta", "confidence"],
)
def test_margins_of_what_cannot_be_judged_are_refused(call, message):
    with refused(message):
        call(fit())


def test_the_richness_of_strangers_must_be_stated():
    found = fit(learner=LogisticRegression(), n_estimators=2, calibration_folds=None)
    with refused("VC dimension of LogisticRegression is not known here; state it with vc_dim"):
        found.bound_terms(X, RANK, 0.1)
    assert found.bound_terms(X, RANK, 0.1, vc_dimension=3).d_hat == 5


# ------------------------------------------------------------------------------ odd but lawful


@both
@pytest.mark.parametrize("learner", ["perceptron", "sigmoid", "stump", "tree"])
def test_two_rows_are_enough(kind, learner):
    found = fit([[0.0], [1.0]], ["no", "yes"], kind=kind, learner=learner, levels=["no", "yes"])
    assert found.predict([[0.0], [1.0]]).tolist() == ["no", "yes"]
    # Nobody can be left out, and two rows of two levels are even odds.
    np.testing.assert_allclose(found.predict_proba([[0.0], [1.0]]), 0.5, atol=1e-3)


@both
@pytest.mark.parametrize("learner", ["perceptron", "sigmoid", "stump", "tree"])
@pytest.mark.parametrize("Z", [np.zeros((N, 2)), np.full((N, 2), 1e6 + 0.1)], ids=["0", "1e6"])
def test_features_that_never_vary_leave_the_frequencies_of_the_levels(kind, learner, Z):
    found = fit(Z, kind=kind, learner=learner)
    share = (np.bincount(RANK) + 1 / 3) / (N + 1)
    own = found.link_.proba(found.predict_latent(Z[:1]))[0]
    np.testing.assert_allclose(own, share, atol=0.01)
    assert len(set(found.predict(Z))) == 1


@both
@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
def test_units_however_odd_do_not_matter(kind, scale):
    plain, odd = fit(X, kind=kind), fit(X * scale, kind=kind)  # a power of two: no rounding
    np.testing.assert_array_equal(odd.predict_proba(X * scale), plain.predict_proba(X))


def test_inputs_are_left_as_they_were():
    Z, y, weight, levels = X.copy(), RANK.copy(), np.ones(N), np.arange(3)
    for array in (Z, y, weight, levels):
        array.flags.writeable = False
    fit(Z, y, weight, levels=levels).predict_proba(Z)
    np.testing.assert_array_equal(Z, X)
